r"""Gradient descent (UF Theorem 1): the printed rate, the tight contraction, and their differences as products of factors >= 0.

With :math:`s = \eta L` and :math:`k = \mu/L`, on 0 < s < 2 and 0 < k <= 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from airtight.analytics.federated.fair import iteration_bounds
from airtight.analytics.forms.comparison import TINY
from airtight.analytics.forms.domain import POSITIVE, Parameter, Range, constant
from airtight.analytics.forms.quantity import Quantity, collected
from airtight.analytics.guarantee import Face

accuracy = Parameter("Phi", Range(1e-300, 0.99, logarithmic=True))
step = Parameter("eta", Range(1e-6, 1.99, logarithmic=True))
mu, L = Parameter("mu", Range(1e-6, 1.0, logarithmic=True, extra=(1.0,))), Parameter("L", constant(1.0))
iterations = Parameter("j", Range(1, 10**4, logarithmic=True, integer=True))
s, k = sp.symbols("s k", positive=True)

printed_rate = step**2 * L**2 / 2 - step * L + 1
printed_factor = 1 - mu * step + mu * step**2 * L / 2
contraction = sp.Max(sp.Abs(1 - step * mu), sp.Abs(1 - step * L))
descent = 1 - 2 * mu * step * (1 - step * L / 2)

_class = {"step": step, "strong_convexity": mu, "smoothness": L}
_goal = {"accuracy": accuracy, **_class}
_after = {"iterations": iterations, **_class}


def _away(step: float, strong_convexity: float = 0.0, **rest: Any) -> bool:
    """Whether the step is away from steps that solve a quadratic at once, and from those with rate 1."""
    return min(abs(1 - step), abs(1 - step * strong_convexity)) > 1e-6


def _visible(value: Callable[..., Any]) -> Callable[..., bool]:
    return lambda **v: _away(**v) and float(value(**v)) > TINY


_EXACT, _PROVEN, _PUBLISHED = Face.EXACT, Face.PROVEN, Face.PUBLISHED
QUANTITIES = collected(
    [
        Quantity(
            "Theorem 1, iterations",
            "UF (22)",
            _PUBLISHED,
            sp.log(accuracy) / sp.log(printed_rate),
            _goal,
            iteration_bounds.published_iterations,
            domain={"step": Range(0.51, 1.99)},
            tolerance=1e-11,
        ),
        Quantity(
            "Theorem 1, rate",
            "UF (53)",
            _PUBLISHED,
            printed_rate,
            {"step": step, "smoothness": L},
            iteration_bounds.published_rate,
            domain={"step": POSITIVE, "smoothness": POSITIVE},
        ),
        Quantity(
            "accuracy as printed",
            "UF (41)",
            _PUBLISHED,
            printed_factor ** (iterations + 1),
            _after,
            iteration_bounds.published_accuracy,
            tolerance=1e-11,
            defined=_visible(iteration_bounds.published_accuracy),
        ),
        Quantity(
            "contraction",
            "UF-T1*",
            _EXACT,
            contraction,
            _class,
            iteration_bounds.contraction,
            tolerance=1e-10,
            defined=_away,
        ),
        Quantity(
            "worst accuracy",
            "UF-T1*",
            _EXACT,
            contraction ** (2 * iterations),
            _after,
            iteration_bounds.worst_accuracy,
            tolerance=1e-11,
            defined=_visible(iteration_bounds.worst_accuracy),
        ),
        Quantity(
            "sufficient iterations",
            "UF-T1*",
            _EXACT,
            sp.log(accuracy) / (2 * sp.log(contraction)),
            _goal,
            iteration_bounds.sufficient_iterations,
            tolerance=1e-12,
            defined=_away,
        ),
        Quantity(
            "iterations by descent",
            "UF-T1*-PL",
            _PROVEN,
            sp.log(accuracy) / sp.log(descent),
            _goal,
            iteration_bounds.descent_iterations,
            tolerance=1e-12,
            defined=_away,
        ),
        Quantity(
            "necessary iterations",
            "UF-T1*",
            _PROVEN,
            sp.log(accuracy) / (2 * sp.log(1 - step * L)),
            _goal,
            iteration_bounds.necessary_iterations,
            domain={"step": Range(1e-6, 0.99, logarithmic=True)},
            tolerance=1e-12,
        ),
    ]
)

_units = {step: s / L, mu: k * L}


def identities() -> dict[str, tuple[sp.Expr, sp.Expr]]:
    r"""Differences and what they equal: products of factors that are >= 0 on 0 < s < 2, 0 < k <= 1.

    The tight squared contraction is at most the factor of the descent lemma with PL, and :math:`\rho \le q` of (41), for either
    branch of rho.

    Examples
    --------
    >>> [sp.expand(difference - product) for difference, product in identities().values()]
    [0, 0, 0, 0, 0]
    """
    descends, printed = (sp.expand(f.subs(_units)) for f in (descent, printed_factor))
    rate = sp.expand(printed_rate.subs(_units))
    return {
        "PL - (1 - eta mu)^2": (descends - (1 - s * k) ** 2, s**2 * k * (1 - k)),
        "PL - (1 - eta L)^2": (descends - (1 - s) ** 2, s * (1 - k) * (2 - s)),
        "q of (41) - (1 - eta mu)": (printed - (1 - s * k), k * s**2 / 2),
        "q of (41) - (eta L - 1)": (printed - (s - 1), (2 - s) * (2 - k * s) / 2),
        "printed rate - 1/2": (rate - sp.Rational(1, 2), (1 - s) ** 2 / 2),
    }


def other_signs() -> tuple[sp.Expr, sp.Expr]:
    r"""The other signs of both absolute values are smaller: (1 - sk) - (1 - s) and (s - 1) - (sk - 1), both s (1 - k).

    Examples
    --------
    >>> other_signs()
    (0, 0)
    """
    return sp.expand((1 - s * k) - (1 - s) - s * (1 - k)), sp.expand((s - 1) - (s * k - 1) - s * (1 - k))


def ratio_on_a_quadratic() -> sp.Expr:
    r"""F(x_1)/F(x_0) of :math:`F = Lx^2/2`: the square of 1 - eta L, so that (51), ||F'||^2 <= L (F - F*), fails by a factor 2.

    Examples
    --------
    >>> ratio_on_a_quadratic()
    (L*eta - 1)**2
    """
    x = sp.Symbol("x", positive=True)
    F = L * x**2 / 2
    after = F.subs(x, x - step * sp.diff(F, x))
    return sp.factor(sp.simplify(after / F))


def equation_51_on_a_quadratic() -> sp.Expr:
    """The squared gradient over L (F - F*) for F = Lx^2/2; (51) says that it is at most 1.

    Examples
    --------
    >>> equation_51_on_a_quadratic()
    2
    """
    x = sp.Symbol("x", positive=True)
    F = L * x**2 / 2
    return sp.simplify(sp.diff(F, x) ** 2 / (L * F))
