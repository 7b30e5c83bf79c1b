r"""AT-L: our own theorems on what no scheme can beat (page Limits): steps of the proofs, and the Gaussian mechanism.

d is the dimension, kappa the square of n mu over the dimension, g is :math:`(k - 1)\sqrt a` of theorem 1.
"""

from __future__ import annotations

import sympy as sp

from airtight.analytics.forms.domain import Range, parameter
from airtight.analytics.limits.minimax import minimax_error
from airtight.analytics.privacy.accounting.privacy_curve import gaussian
from airtight.validate.claims.claim import Claim, holds
from airtight.validate.claims.relation import absolute, at_most, equal

x = parameter("x", 0.01, 50.0, logarithmic=True, typical=(0.5, 5.0))
dimension = parameter("d", 1.0, 1000.0, logarithmic=True, typical=(3.0, 784.0))
turn = parameter("u", 0.01, 0.99, typical=(0.3, 0.7))
ratio = parameter("g", 0.0, 50.0, typical=(0.5, 3.0))
shrinkage = parameter("l", 0.0, 1.5, typical=(0.3, 1.0), latex=r"\lambda")
strength = parameter("kappa", 0.01, 100.0, logarithmic=True, typical=(0.1, 10.0), latex=r"\kappa")

# 1 / A = the derivative of log E exp(x u_1) is at most G; beta = nu + 2, nu = d / 2 - 1
_NU = dimension / 2 - 1
_ROOT = sp.sqrt(x**2 + (_NU + 2) ** 2)
_UPPER = x / (_NU + _ROOT)
_RICCATI = sp.diff(_UPPER, x) - 1 + (2 * _NU + 1) / x * _UPPER + _UPPER**2


def _exponent(d: int) -> sp.Expr:
    """The bound of log E exp(x u_1) in dimension d."""
    w = sp.sqrt(x**2 + (sp.Rational(d, 2) + 1) ** 2) - sp.Rational(d, 2) - 1
    return w - (sp.Rational(d, 2) - 1) * sp.log(1 + w / d)


def _limit(n: int, r: int, mu: float) -> float:
    return minimax_error(gaussian(mu), devices=n, dimension=r, clip=1.0).error


_AWAY = {"x": Range(0.5, 50.0, logarithmic=True, typical=(0.5, 5.0))}

LIMITS: tuple[Claim, ...] = (
    Claim(
        "AT-L-Riccati",
        "what no scheme can beat, by information: the difference in the Riccati equation",
        equal((_NU + _ROOT) ** 2 * _RICCATI, (_ROOT - _NU - 2) ** 2 / _ROOT),
        holds("It is not negative. So G is at least the logarithmic derivative of E exp(x u), in every dimension, by hand."),
    ),
    Claim(
        "AT-L-line",
        "the moment generating function of a sign (d = 1)",
        at_most(sp.log(sp.cosh(x)), _exponent(1)),
        holds("The bound by information for one coordinate; the sides differ by x^6/405 near 0."),
        domain=_AWAY,
        scale=absolute("nats"),
    ),
    Claim(
        "AT-L-sphere",
        "the moment generating function of a coordinate on the sphere (d = 3)",
        at_most(sp.log(sp.sinh(x) / x), _exponent(3)),
        holds("The bound by information in three dimensions."),
        domain={"x": Range(1.0, 50.0, logarithmic=True, typical=(1.0, 5.0))},
        scale=absolute("nats"),
    ),
    Claim(
        "AT-L-groups",
        "theorem 1: the inner product of the groups' vectors",
        equal(1 / (1 - turn) + ratio**2 / turn - (1 + ratio) ** 2, (turn * (1 + ratio) - ratio) ** 2 / (turn * (1 - turn))),
        holds("A square over u (1 - u). So the denominator is least, (1 + g)^2, at u = g / (1 + g), by hand."),
        scale=absolute("denominator"),
    ),
    Claim(
        "AT-L-shrinkage",
        "the Gaussian mechanism: the best shrinkage",
        equal(
            (1 - shrinkage) ** 2 + shrinkage**2 / strength - 1 / (1 + strength),
            (shrinkage * (1 + strength) - strength) ** 2 / (strength * (1 + strength)),
        ),
        holds("Its worst error is 1/(1 + kappa), with the factor kappa/(1 + kappa)."),
        scale=absolute("error"),
    ),
    Claim(
        "AT-L-code",
        "minimax_error beside the Gaussian mechanism with the best shrinkage",
        at_most(_limit, lambda n, r, mu: 1 / (1 + (n * mu) ** 2 / r)),
        holds("No scheme's limit may exceed what a scheme reaches."),
        {
            "n": Range(1, 1000, logarithmic=True, integer=True, typical=(12, 50)),
            "r": Range(1, 1000, logarithmic=True, integer=True, typical=(16, 784)),
            "mu": Range(0.01, 5.0, logarithmic=True, typical=(0.1, 1.0), symbol=r"\mu"),
        },
        statement=r"E^* \le \frac1{1+(n\mu)^2/r}",
        slack=3.0,
        effort=0.25,
    ),
)
