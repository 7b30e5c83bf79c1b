r"""One Gaussian release, its composition, and Laplace noise (FDP Sec. III, UF Sec. II)."""

from __future__ import annotations

import sympy as sp

from airtight.analytics.forms.form import Face, Form, collected, normal_cdf

epsilon, sensitivity, sigma = sp.symbols("epsilon Delta sigma", positive=True)
delta, slack = sp.symbols("delta delta'", positive=True)
count = sp.Symbol("M", positive=True, integer=True)
mu, order, divergence, scale = sp.symbols("mu a D b", positive=True)

_ratio = sensitivity / sigma
curve = normal_cdf(_ratio / 2 - epsilon / _ratio) - sp.exp(epsilon) * normal_cdf(-_ratio / 2 - epsilon / _ratio)
classical = _ratio * sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta))
_rho = count * mu**2 / 2
_one = {"epsilon": epsilon, "delta": delta, "count": count}

FORMS = collected(
    [
        Form(
            "Gaussian, delta",
            "Balle and Wang 2018; FDP-D2",
            Face.EXACT,
            curve,
            {"epsilon": epsilon, "sensitivity": sensitivity, "sigma": sigma},
        ),
        Form(
            "Gaussian, classical epsilon",
            "FDP (10); UF (9)",
            Face.PUBLISHED,
            classical,
            {"delta": delta, "sensitivity": sensitivity, "sigma": sigma},
        ),
        Form(
            "Laplace, delta",
            "FDP Remark 6",
            Face.EXACT,
            sp.Max(0, 1 - sp.exp((epsilon - sensitivity / scale) / 2)),
            {"epsilon": epsilon, "sensitivity": sensitivity, "scale": scale},
        ),
        Form(
            "strong composition, epsilon", "UF-C2", Face.PUBLISHED, epsilon * sp.sqrt(count * sp.log(1 / delta)), _one
        ),
        Form(
            "advanced composition, epsilon",
            "Dwork, Rothblum and Vadhan 2010",
            Face.PROVEN,
            epsilon * sp.sqrt(2 * count * sp.log(1 / slack)) + count * epsilon * (sp.exp(epsilon) - 1),
            {**_one, "slack": slack},
        ),
        Form(
            "advanced composition, improved",
            "Kairouz, Oh and Viswanath 2015",
            Face.PROVEN,
            epsilon * sp.sqrt(2 * count * sp.log(1 / slack))
            + count * epsilon * (sp.exp(epsilon) - 1) / (sp.exp(epsilon) + 1),
            {**_one, "slack": slack},
        ),
        Form(
            "zero-concentrated, epsilon",
            "Bun and Steinke 2016",
            Face.PROVEN,
            _rho + 2 * sp.sqrt(_rho * sp.log(1 / delta)),
            {"mu": mu, "count": count, "delta": delta},
        ),
        Form(
            "Renyi, epsilon",
            "Canonne, Kamath and Steinke 2020",
            Face.PROVEN,
            divergence + sp.log((order - 1) / order) - (sp.log(delta) + sp.log(order)) / (order - 1),
            {"order": order, "divergence": divergence, "delta": delta},
        ),
    ]
)


def optimal_delta(releases: int) -> Form:
    r"""The exact delta of so many (epsilon, delta) releases (Kairouz, Oh and Viswanath 2015).

    .. math:: 1 - (1-\delta)^M\Bigl(1 - \sum_l\binom Ml
              \frac{\bigl(e^{(M-l)\epsilon} - e^{E+l\epsilon}\bigr)_+}{(1+e^\epsilon)^M}\Bigr)

    Examples
    --------
    >>> optimal_delta(1).evaluate(epsilon=1.0, delta=0.0, total_epsilon=1.0)
    mpf('0.0')
    """
    total = sp.Symbol("E", nonnegative=True)
    terms = [
        sp.binomial(releases, lies) * sp.Max(0, sp.exp((releases - lies) * epsilon) - sp.exp(total + lies * epsilon))
        for lies in range(releases + 1)
    ]
    inner = sum(terms) / (1 + sp.exp(epsilon)) ** releases
    kept = (1 - delta) ** releases
    return Form(
        f"optimal composition, {releases} releases",
        "UF-C*",
        Face.EXACT,
        1 - kept * (1 - inner),
        {"epsilon": epsilon, "delta": delta, "total_epsilon": total},
    )


def hockey_stick(epsilon: sp.Expr, sensitivity: sp.Expr, sigma: sp.Expr) -> sp.Expr:
    """The least delta of Gaussian noise at these arguments.

    Examples
    --------
    >>> hockey_stick(0, 1, 1).free_symbols
    set()
    """
    return FORMS["Gaussian, delta"].at(epsilon=epsilon, sensitivity=sensitivity, sigma=sigma)
