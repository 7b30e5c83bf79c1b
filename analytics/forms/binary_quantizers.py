r"""CorBin-FL: LDPQ, the pair and its covariance, worst cases, and what Theorems 2, 3, 4 print."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from airtight.analytics.federated.corbin import (
    central_privacy,
    communication,
    dropout,
    mean_estimation,
    quantizers,
    two_output_bounds,
)
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.few_bits import baselines
from airtight.analytics.forms.domain import COUNT, DELTA, EPSILON, POSITIVE, Parameter, Range, constant
from airtight.analytics.forms.quantity import Quantity, collected
from airtight.analytics.guarantee import Face

epsilon, radius = Parameter("epsilon_p", EPSILON), Parameter("r", POSITIVE)
x, y = (Parameter(letter, Range(-1.0, 1.0, extra=(0.0,))) for letter in ("x", "y"))  # offsets from the center
bits = Parameter("d", Range(0, 60, integer=True))
n, m = Parameter("n", Range(2, 10**6, logarithmic=True, integer=True)), Parameter("m", COUNT)
share, p = Parameter("gamma", Range(0.0, 1.0)), Parameter("p", Range(1e-3, 0.99))
slack, leftover = Parameter("s", Range(1e-6, 0.9, logarithmic=True)), Parameter("delta_1", Range(0.0, 0.5))
delta = Parameter("delta", DELTA)

alpha = (sp.exp(epsilon) + 1) / (sp.exp(epsilon) - 1)
A = radius * alpha
_root = sp.sqrt(2)
printed_pair = radius**2 * ((_root - 1) * alpha + 1) * ((_root + 1) * alpha - 1)
minimax = sp.Piecewise((radius**2 * alpha**2, alpha <= 2), (4 * radius**2 * (alpha - 1), True))
limit = 2 * A * sp.Abs(x + y) - (x + y) ** 2

_first, _second = 2**bits * (sp.Rational(1, 2) + x / (2 * A)), 2**bits * (sp.Rational(1, 2) - y / (2 * A))
_f1, _f2 = _first - sp.floor(_first), _second - sp.floor(_second)
shared = sp.Piecewise(
    (8 * A**2 / 2**bits * (sp.Min(_f1, _f2) - _f1 * _f2), sp.Eq(sp.floor(_first), sp.floor(_second))), (0, True)
)

_scale = {"epsilon": epsilon, "radius": radius}
_shared = {**_scale, "bits": bits}
_pair = {"w1": x, "w2": y, **_scale}
_odd = (1 - (-1) ** n) / sp.Integer(2)  # who is left over
_clients = {"clients": n, **_scale}

k = Parameter("k", Range(1, 4096, logarithmic=True, integer=True))  # bits of a key
_sent = {"clients": n, "parameters": m, "bits": bits, "key_bits": k}

_middle = p * (1 - p)
_width = sp.sqrt(_middle * (1 - 2 * _middle) / (4 * slack * n))
_reach = sp.sqrt(_middle / (slack * n))
_theta = _middle - _reach
printed_dropout = (
    (_middle + _width) * A**2 / (n * _theta)
    + 8 * A**2 * leftover
    + (1 - _middle + _width) / (2 * n * _theta) * printed_pair
)
_dropout = {"clients": n, "dropout": p, "slack": slack, "delta_1": leftover, **_scale}

_noise = n * share - 1
_e, _b = 1 + alpha**-2, (1 + alpha**-2) / 3 + 1 / alpha
printed_central = A * (
    sp.sqrt(8 * m * sp.log(sp.Rational(5, 4) / delta) / (_noise * _e))
    + 8 * (sp.log(sp.Rational(5, 4) / delta) + sp.log(20 * m / delta) * sp.log(10 / delta)) / (3 * _noise)
    + 4
    * _b
    * sp.sqrt(2 * m)
    * (sp.Rational(7, 4) + sp.Rational(15, 4) / alpha**2)
    * sp.sqrt(sp.log(10 / delta))
    / (_noise * (1 - delta / 10) * _e)
)

_UNIT = {"epsilon": Range(1e-6, 30.0, logarithmic=True), "radius": constant(1.0)}  # in units of the radius
_MODERATE = {"epsilon": Range(1e-9, 30.0, logarithmic=True)}  # beyond, alpha is 1 in doubles
_SYSTEM: dict[str, Any] = {"system": FederatedSystem}
_SQUARE: dict[str, Any] = {"unit": "square of the parameter's unit", **_SYSTEM}
_BITS: dict[str, Any] = {"keys": {"bits": "shared_bits"}}


def _square(**v: Any) -> float:
    return float(v["radius"] * quantizers.alpha(v["epsilon"])) ** 2


def _far_from_edges(**v: Any) -> bool:
    """Whether no level is within rounding of an integer, where a floor would be decided by rounding."""
    magnitude = float(quantizers.alpha(v["epsilon"]))
    levels = 2.0 ** v["bits"] * np.array([0.5 + v["w1"] / (2 * magnitude), 0.5 - v["w2"] / (2 * magnitude)])
    return bool(np.all(np.abs(levels - np.rint(levels)) > 1e-6))


def _far_from_zero(**v: Any) -> bool:
    bound = dropout.published(**v)
    return abs(bound.theta) > 1e-2 and abs(bound.gamma) > 1e-2 and bound.mse != 0


def _total(cost: Callable[..., communication.Cost]) -> Callable[..., float]:
    return lambda clients, parameters, **v: float(cost(clients, parameters, **v).total)


def _theorem_3_epsilon(clients: int, parameters: int, **v: Any) -> float:
    return central_privacy.published(clients, parameters, **v).value


def _theorem_4(field: str) -> Callable[..., float]:
    return lambda **v: getattr(dropout.published(**v), field)


def _law_variance(w: float, epsilon: float, radius: float) -> float:
    return float(mean_estimation.ldp([w], epsilon=epsilon, radius=radius))


def _largest_of_theorem_4(**v: Any) -> float:
    return abs(dropout.published(**v).mse) + 8 * _square(**v)


_EXACT, _PROVEN, _PUBLISHED = Face.EXACT, Face.PROVEN, Face.PUBLISHED
_dropped: dict[str, Any] = {"domain": {"epsilon": Range(1e-3, 30.0, logarithmic=True)}, "tolerance": 1e-12}
_key_bits: dict[str, Any] = {"unit": "bit", "domain": {"clients": COUNT, "bits": Range(0, 30, integer=True)}}
QUANTITIES = collected(
    [
        Quantity(
            "alpha",
            "CB Algorithm 1",
            _EXACT,
            alpha,
            {"epsilon": epsilon},
            quantizers.alpha,
            meaning="magnitude of the quantizer's outputs over the radius",
            **_SYSTEM,
        ),
        Quantity(
            "LDPQ, variance",
            "CB-A1",
            _EXACT,
            A**2 - x**2,
            {"w": x, **_scale},
            _law_variance,
            domain=_UNIT,
            scale=_square,
            scalar=True,
        ),
        Quantity(
            "pair, limit",
            "CB-T1*",
            _EXACT,
            limit,
            _pair,
            lambda **v: quantizers.pair_mse(bits=None, **v),
            domain=_UNIT,
            defined=lambda **v: abs(v["w1"] + v["w2"]) > 1e-9,
            scale=_square,
        ),
        Quantity(
            "pair, d shared bits",
            "CB-T1*",
            _EXACT,
            limit + shared,
            {**_pair, "bits": bits},
            quantizers.pair_mse,
            domain={**_UNIT, "bits": Range(0, 12, integer=True)},
            defined=_far_from_edges,
            scale=_square,
            tolerance=1e-12,
            scalar=True,
        ),
        Quantity(
            "slack",
            "CB-T1*",
            _PROVEN,
            2 * A**2 / 2**bits,
            _shared,
            quantizers.slack,
            scalar=True,
            **_BITS,
            meaning="bound of the error that finitely many shared bits add to a pair",
            **_SQUARE,
        ),
        Quantity(
            "slack as printed",
            "CB (4)",
            _PUBLISHED,
            64 * A**2 / 2**bits,
            _shared,
            quantizers.published_slack,
            scalar=True,
            **_BITS,
            meaning="what the paper allows for finitely many shared bits",
            **_SQUARE,
        ),
        Quantity(
            "worst pair",
            "CB-T1*-minimax",
            _EXACT,
            minimax,
            _scale,
            two_output_bounds.minimax_mse,
            tolerance=1e-12,
            defined=lambda **v: v["epsilon"] < 30,
            meaning="greatest error of the sum of a pair's updates, infinitely many shared bits",
            **_SQUARE,
        ),
        Quantity(
            "average pair",
            "CB-T1*-average",
            _EXACT,
            (4 * radius * A - 2 * radius**2) / 3,
            _scale,
            two_output_bounds.average_mse,
            meaning="error of the sum of a pair's updates, mean over independent uniform updates",
            **_SQUARE,
        ),
        Quantity(
            "worst LDP-FL",
            "CB-T2*",
            _EXACT,
            A**2 / n,
            _clients,
            mean_estimation.worst_ldp,
            meaning="greatest error of the mean update, independent quantizers",
            scalar=True,
            **_SQUARE,
        ),
        Quantity(
            "worst CorBin-FL",
            "CB-T2*-worst",
            _EXACT,
            (_odd * A**2 + (n - _odd) / 2 * minimax) / n**2,
            _clients,
            mean_estimation.worst,
            domain=_MODERATE,
            tolerance=1e-12,
            meaning="greatest error of the mean update, pairs with shared bits",
            scalar=True,
            **_SQUARE,
        ),
        Quantity(
            "Theorem 2, MSE",
            "CB Theorem 2",
            _PUBLISHED,
            printed_pair / (2 * n),
            _clients,
            mean_estimation.published,
            meaning="error of the mean update that Theorem 2 claims",
            scalar=True,
            **_SQUARE,
        ),
        Quantity(
            "Theorem 3, MSE",
            "CB Theorem 3",
            _PUBLISHED,
            share * A**2 / n + (1 - share) * printed_pair / (2 * n),
            {**_clients, "fraction": share},
            mean_estimation.published_augmented,
            keys={"fraction": "ldp_fraction"},
            meaning="error of the mean update that Theorem 3 claims, a fraction of clients independent",
            scalar=True,
            **_SQUARE,
        ),
        Quantity(
            "Theorem 3, epsilon",
            "CB (5)",
            _PUBLISHED,
            printed_central,
            {
                "clients": n,
                "parameters": m,
                "local_epsilon": epsilon,
                "delta": delta,
                "fraction": share,
                "radius": radius,
            },
            _theorem_3_epsilon,
            keys={"local_epsilon": "epsilon", "fraction": "ldp_fraction"},
            scalar=True,
            **_SYSTEM,
            domain={
                "clients": Range(100, 10**6, logarithmic=True, integer=True),
                "local_epsilon": Range(1e-3, 50.0, logarithmic=True),
                "fraction": Range(0.1, 1.0),
            },
            meaning="epsilon of a whole update that Theorem 3 claims, one update for another, observer of the mean",
        ),
        Quantity(
            "Theorem 4, MSE",
            "CB Theorem 4",
            _PUBLISHED,
            printed_dropout,
            _dropout,
            _theorem_4("mse"),
            defined=_far_from_zero,
            scale=_largest_of_theorem_4,
            scalar=True,
            **{**_dropped, "tolerance": 1e-11},
        ),
        Quantity(
            "Theorem 4, gamma",
            "CB Theorem 4",
            _PUBLISHED,
            _middle - _width,
            _dropout,
            _theorem_4("gamma"),
            defined=_far_from_zero,
            scalar=True,
            **_dropped,
        ),
        Quantity(
            "Theorem 4, theta'",
            "CB Theorem 4",
            _PUBLISHED,
            _middle + _reach,
            _dropout,
            _theorem_4("theta_prime"),
            scalar=True,
            **_dropped,
        ),
        Quantity(
            "improvement over LDP-FL",
            "CB-rem",
            _EXACT,
            sp.Piecewise((2, alpha <= 2), (alpha**2 / (2 * (alpha - 1)), True)),
            {"epsilon": epsilon},
            mean_estimation.improvement,
            domain=_MODERATE,
            meaning="greatest error of LDP-FL over that of CorBin-FL",
            **_SYSTEM,
        ),
        Quantity(
            "Laplace, variance",
            "CB-X1-mse",
            _EXACT,
            8 * radius**2 / epsilon**2,
            _scale,
            baselines.laplace_variance,
            meaning="error of a client's parameter with Laplace noise at the same epsilon",
            **_SQUARE,
        ),
        Quantity(
            "delta against the server",
            "CB-PLDP*",
            _EXACT,
            sp.tanh(epsilon / 2),
            {"local": epsilon},
            lambda local: central_privacy.server_delta(1.0, local=local),
            keys={"local": "epsilon"},
            meaning="delta at epsilon 0 of a client's parameter, one value for another, its server",
            **_SYSTEM,
        ),
        Quantity(
            "epsilon of an update",
            "CB-E3",
            _EXACT,
            m * epsilon,
            {"epsilon": epsilon, "parameters": m},
            central_privacy.local_epsilon,
            meaning="epsilon of a client's whole update, one update for another, against the server that receives it",
            scalar=True,
            **_SYSTEM,
        ),
        Quantity(
            "bits of a round, printed",
            "CB-cost",
            _PUBLISHED,
            32 * m + n * k + bits * m * k + m,
            _sent,
            _total(communication.published),
            scalar=True,
            **_key_bits,
        ),
        Quantity(
            "bits of a round, stream cipher",
            "CB-cost",
            _EXACT,
            32 * m + n * k + bits * m + m,
            _sent,
            _total(communication.stream),
            scalar=True,
            **_key_bits,
        ),
        Quantity(
            "bits of a round, common seed",
            "CB-cost",
            _EXACT,
            32 * m + k + m,
            _sent,
            _total(communication.seeded),
            scalar=True,
            **_key_bits,
        ),
    ]
)

half, q1, q2 = sp.symbols("A q_1 q_2", positive=True)
both = sp.Symbol("t", nonnegative=True)  # probability of two pluses


def pair_mse_of_law() -> sp.Expr:
    r"""E of the squared error of the sum for outputs +-A, marginals q_1, q_2 and P(++) = t, by enumeration.

    Examples
    --------
    >>> sp.diff(pair_mse_of_law(), both)
    8*A**2
    """
    law = {(1, 1): both, (1, -1): q1 - both, (-1, 1): q2 - both, (-1, -1): 1 - q1 - q2 + both}
    s = half * (2 * q1 - 1) + half * (2 * q2 - 1)
    return sp.expand(sum(chance * (half * (a + b) - s) ** 2 for (a, b), chance in law.items()))


def covariance() -> sp.Expr:
    r"""Of the two outputs: :math:`4A^2(t - q_1q_2)`.

    Examples
    --------
    >>> sp.expand(covariance() - 4 * half**2 * (both - q1 * q2))
    0
    """
    law = {(1, 1): both, (1, -1): q1 - both, (-1, 1): q2 - both, (-1, -1): 1 - q1 - q2 + both}
    product = sum(chance * half * a * half * b for (a, b), chance in law.items())
    return sp.expand(product - half**2 * (2 * q1 - 1) * (2 * q2 - 1))


def greatest_covariance() -> tuple[sp.Expr, sp.Expr]:
    r"""For a sum s >= 0 of the inputs: the covariance where their product is least, one at the end r; and its slope in s.

    The slope A - r is not negative, so the greatest is at s = 2r: :math:`-(A-r)^2`, the bound of App. C.

    Examples
    --------
    >>> greatest, slope = greatest_covariance()
    >>> sp.expand(greatest + (half - radius) ** 2), slope
    (0, A - r)
    """
    s = sp.Symbol("s", nonnegative=True)
    levels = {q1: sp.Rational(1, 2) + radius / (2 * half), q2: sp.Rational(1, 2) + (s - radius) / (2 * half)}
    value = sp.expand(covariance().subs(both, q1 + q2 - 1).subs(levels))
    return sp.expand(value.subs(s, 2 * radius)), sp.factor(sp.diff(value, s))


def least_pair_mse() -> tuple[sp.Expr, sp.Expr]:
    r"""At the least possible t, 0 or q_1 + q_2 - 1 (Frechet): for s <= 0 and for s >= 0, in x and y with q = 1/2 + x/(2A).

    Examples
    --------
    >>> low, high = least_pair_mse()
    >>> sp.expand(low + 2 * half * (x + y) + (x + y) ** 2), sp.expand(high - 2 * half * (x + y) + (x + y) ** 2)
    (0, 0)
    """
    levels = {q1: sp.Rational(1, 2) + x / (2 * half), q2: sp.Rational(1, 2) + y / (2 * half)}
    mse = pair_mse_of_law()
    least = (mse.subs(both, 0), mse.subs(both, q1 + q2 - 1))
    return sp.expand(least[0].subs(levels)), sp.expand(least[1].subs(levels))


def worst_case() -> tuple[sp.Expr, sp.Expr]:
    r"""Greatest :math:`2As - s^2` on [0, 2r]: at its top s = A when A <= 2r, else at s = 2r.

    Examples
    --------
    >>> worst_case()
    (A**2, 4*A*r - 4*r**2)
    """
    s = sp.Symbol("s", nonnegative=True)
    curve = 2 * half * s - s**2
    top = sp.solve(sp.diff(curve, s), s)[0]
    return sp.expand(curve.subs(s, top)), sp.expand(curve.subs(s, 2 * radius))


def average_case() -> sp.Expr:
    r"""Mean of :math:`2A|s| - s^2` over independent uniform inputs on [-r, r].

    Examples
    --------
    >>> sp.expand(average_case() - 2 * radius * (2 * half - radius) / 3)
    0
    """
    s = sp.Symbol("s", nonnegative=True)
    density = (2 * radius - s) / (4 * radius**2)
    return sp.factor(2 * sp.integrate((2 * half * s - s**2) * density, (s, 0, 2 * radius)))


def theorem_2_exceeds_the_worst_case() -> tuple[sp.Expr, sp.Expr]:
    r"""Printed minus worst case of a pair, in units of r squared: squares or products of positive factors for alpha >= 1.

    Examples
    --------
    >>> for_small, for_large = theorem_2_exceeds_the_worst_case()
    >>> for_small, for_large
    (2*a - 1, (a - 1)**2 + 2)
    """
    a = sp.Symbol("a", positive=True)
    printed = sp.expand(((_root - 1) * a + 1) * ((_root + 1) * a - 1))
    square = sp.expand(printed - 4 * (a - 1))
    return sp.simplify(printed - a**2), (a - 1) ** 2 + sp.simplify(square - (a - 1) ** 2)
