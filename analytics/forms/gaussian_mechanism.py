r"""One Gaussian release, its composition, and Laplace noise (FDP Sec. III, UF Sec. II)."""

from __future__ import annotations

import math
from functools import partial

import sympy as sp

from airtight.analytics.forms.domain import COUNT, DELTA, EPSILON, POSITIVE, Parameter, Range
from airtight.analytics.forms.quantity import Quantity, collected, normal_cdf
from airtight.analytics.guarantee import Face
from airtight.analytics.privacy.accounting import composition_theorems
from airtight.analytics.privacy.mechanisms import gaussian, laplace

epsilon = Parameter("epsilon", EPSILON)
sensitivity = Parameter("Delta", Range(1e-3, 1e3, logarithmic=True))
sigma = Parameter("sigma", Range(1e-2, 1e2, logarithmic=True))
delta, slack = Parameter("delta", DELTA), Parameter("delta'", DELTA)
count, mu, scale = Parameter("M", COUNT), Parameter("mu", POSITIVE), Parameter("b", POSITIVE)
order, divergence = Parameter("a", Range(1.001, 1e6, logarithmic=True)), Parameter("D", POSITIVE)

_ratio = sensitivity / sigma
curve = normal_cdf(_ratio / 2 - epsilon / _ratio) - sp.exp(epsilon) * normal_cdf(-_ratio / 2 - epsilon / _ratio)
classical = _ratio * sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta))
_rho = count * mu**2 / 2
_advanced = epsilon * sp.sqrt(2 * count * sp.log(1 / slack))
_gain = count * epsilon * (sp.exp(epsilon) - 1)
_noise = {"sensitivity": sensitivity, "sigma": sigma}
_one = {"epsilon": epsilon, "delta": delta, "count": count}

QUANTITIES = collected(
    [
        Quantity(
            "Gaussian, delta",
            "Balle and Wang 2018; FDP-D2",
            Face.EXACT,
            curve,
            {"epsilon": epsilon, **_noise},
            gaussian.delta,
            tolerance=1e-11,
            defined=lambda epsilon, **v: float(gaussian.log_delta(epsilon, **v)) > -600,
        ),
        Quantity(
            "Gaussian, classical epsilon",
            "FDP (10); UF (9)",
            Face.PUBLISHED,
            classical,
            {"delta": delta, **_noise},
            gaussian.classical_epsilon,
        ),
        Quantity(
            "Laplace, delta",
            "FDP Remark 6",
            Face.EXACT,
            sp.Max(0, 1 - sp.exp((epsilon - sensitivity / scale) / 2)),
            {"epsilon": epsilon, "sensitivity": sensitivity, "scale": scale},
            laplace.delta,
            domain={"sensitivity": POSITIVE},
            tolerance=1e-11,
            defined=lambda epsilon, sensitivity, scale: abs(epsilon - sensitivity / scale) > 1e-3 * epsilon,
        ),
        Quantity(
            "strong composition, epsilon",
            "UF-C2",
            Face.PUBLISHED,
            epsilon * sp.sqrt(count * sp.log(1 / delta)),
            _one,
            lambda **v: composition_theorems.strong_published(**v).epsilon,
            scalar=True,
        ),
        Quantity(
            "advanced composition, epsilon",
            "Dwork, Rothblum and Vadhan 2010",
            Face.PROVEN,
            _advanced + _gain,
            {**_one, "slack": slack},
            lambda **v: composition_theorems.advanced(**v, improved=False).epsilon,
            scalar=True,
        ),
        Quantity(
            "advanced composition, improved",
            "Kairouz, Oh and Viswanath 2015",
            Face.PROVEN,
            _advanced + _gain / (sp.exp(epsilon) + 1),
            {**_one, "slack": slack},
            lambda **v: composition_theorems.advanced(**v, improved=True).epsilon,
            scalar=True,
        ),
        Quantity(
            "zero-concentrated, epsilon",
            "Bun and Steinke 2016",
            Face.PROVEN,
            _rho + 2 * sp.sqrt(_rho * sp.log(1 / delta)),
            {"mu": mu, "count": count, "delta": delta},
            composition_theorems.gaussian_zcdp,
            scalar=True,
        ),
        Quantity(
            "Renyi, epsilon",
            "Canonne, Kamath and Steinke 2020",
            Face.PROVEN,
            divergence + sp.log((order - 1) / order) - (sp.log(delta) + sp.log(order)) / (order - 1),
            {"order": order, "divergence": divergence, "delta": delta},
            composition_theorems.renyi_to_epsilon,
            scale=lambda order, divergence, delta: divergence + (abs(math.log(delta)) + math.log(order)) / (order - 1),
        ),
    ]
)


def optimal_delta(releases: int) -> Quantity:
    r"""The exact delta of so many (epsilon, delta) releases (Kairouz, Oh and Viswanath 2015).

    .. math:: 1 - (1-\delta)^M\Bigl(1 - \sum_l\binom Ml
              \frac{\bigl(e^{(M-l)\epsilon} - e^{E+l\epsilon}\bigr)_+}{(1+e^\epsilon)^M}\Bigr)

    Examples
    --------
    >>> optimal_delta(1).evaluate(epsilon=1.0, delta=0.0, total_epsilon=1.0)
    mpf('0.0')
    """
    total = Parameter("E", Range(1e-6, 200.0, logarithmic=True, extra=(0.0,)))
    terms = [
        sp.binomial(releases, lies) * sp.Max(0, sp.exp((releases - lies) * epsilon) - sp.exp(total + lies * epsilon))
        for lies in range(releases + 1)
    ]
    inner = sum(terms) / (1 + sp.exp(epsilon)) ** releases
    kept = (1 - delta) ** releases
    return Quantity(
        f"optimal composition, {releases} releases",
        "UF-C*",
        Face.EXACT,
        1 - kept * (1 - inner),
        {"epsilon": epsilon, "delta": delta, "total_epsilon": total},
        partial(composition_theorems.optimal_delta, count=releases),
        domain={
            "epsilon": Range(1e-6, 30.0, logarithmic=True),
            "delta": Range(1e-300, 0.9, logarithmic=True, extra=(0.0,)),
        },
        scale=lambda **v: 1.0,
        scalar=True,
    )


def least_delta(epsilon: sp.Expr, sensitivity: sp.Expr, sigma: sp.Expr) -> Quantity:
    """The least delta of Gaussian noise at these arguments.

    Examples
    --------
    >>> least_delta(0, 1, 1).arguments
    {}
    """
    return QUANTITIES["Gaussian, delta"].subs(epsilon=epsilon, sensitivity=sensitivity, sigma=sigma)


def hockey_stick(epsilon: sp.Expr, sensitivity: sp.Expr, sigma: sp.Expr) -> sp.Expr:
    """The expression of this quantity.

    Examples
    --------
    >>> hockey_stick(0, 1, 1).free_symbols
    set()
    """
    return least_delta(epsilon, sensitivity, sigma).expression
