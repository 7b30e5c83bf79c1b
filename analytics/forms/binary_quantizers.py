r"""CorBin-FL: LDPQ, the pair and its covariance, worst cases, and what Theorems 2, 3, 4 print."""

from __future__ import annotations

import sympy as sp

from airtight.analytics.forms.form import Face, Form, collected

epsilon, radius = sp.symbols("epsilon_p r", positive=True)
x, y = sp.symbols("x y", real=True)  # offsets from the center
bits = sp.Symbol("d", integer=True, nonnegative=True)
n, m = sp.symbols("n m", integer=True, positive=True)
share, p, slack, leftover, delta = sp.symbols("gamma p s delta_1 delta", nonnegative=True)

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
_pair = {"w1": x, "w2": y, **_scale}
_odd = (1 - (-1) ** n) / sp.Integer(2)  # who is left over
_clients = {"clients": n, **_scale}

k = sp.Symbol("k", integer=True, positive=True)  # bits of a key
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

FORMS = collected(
    [
        Form("alpha", "CB Algorithm 1", Face.EXACT, alpha, {"epsilon": epsilon}),
        Form("LDPQ, variance", "CB-A1", Face.EXACT, A**2 - x**2, {"w": x, **_scale}),
        Form("pair, limit", "CB-T1*", Face.EXACT, limit, _pair),
        Form("pair, d shared bits", "CB-T1*", Face.EXACT, limit + shared, {**_pair, "bits": bits}),
        Form("slack", "CB-T1*", Face.PROVEN, 2 * A**2 / 2**bits, {**_scale, "bits": bits}),
        Form("slack as printed", "CB (4)", Face.PUBLISHED, 64 * A**2 / 2**bits, {**_scale, "bits": bits}),
        Form("worst pair", "CB-T1*-minimax", Face.EXACT, minimax, _scale),
        Form("average pair", "CB-T1*-average", Face.EXACT, (4 * radius * A - 2 * radius**2) / 3, _scale),
        Form("worst LDP-FL", "CB-T2*", Face.EXACT, A**2 / n, _clients),
        Form("worst CorBin-FL", "CB-T2*-worst", Face.EXACT, (_odd * A**2 + (n - _odd) / 2 * minimax) / n**2, _clients),
        Form("Theorem 2", "CB Theorem 2", Face.PUBLISHED, printed_pair / (2 * n), _clients),
        Form(
            "Theorem 3, MSE",
            "CB Theorem 3",
            Face.PUBLISHED,
            share * A**2 / n + (1 - share) * printed_pair / (2 * n),
            {**_clients, "fraction": share},
        ),
        Form(
            "Theorem 3, epsilon",
            "CB (5)",
            Face.PUBLISHED,
            printed_central,
            {
                "clients": n,
                "parameters": m,
                "local_epsilon": epsilon,
                "delta": delta,
                "fraction": share,
                "radius": radius,
            },
        ),
        Form("Theorem 4, MSE", "CB Theorem 4", Face.PUBLISHED, printed_dropout, _dropout),
        Form("Theorem 4, gamma", "CB Theorem 4", Face.PUBLISHED, _middle - _width, _dropout),
        Form("Theorem 4, theta'", "CB Theorem 4", Face.PUBLISHED, _middle + _reach, _dropout),
        Form(
            "improvement over LDP-FL",
            "CB-rem",
            Face.EXACT,
            sp.Piecewise((2, alpha <= 2), (alpha**2 / (2 * (alpha - 1)), True)),
            {"epsilon": epsilon},
        ),
        Form("Laplace, variance", "CB-X1-mse", Face.EXACT, 8 * radius**2 / epsilon**2, _scale),
        Form("delta against the server", "CB-PLDP*", Face.EXACT, sp.tanh(epsilon / 2), {"local": epsilon}),
        Form("epsilon of an update", "CB-E3", Face.EXACT, m * epsilon, {"epsilon": epsilon, "parameters": m}),
        Form("bits of a round, printed", "CB-cost", Face.PUBLISHED, 32 * m + n * k + bits * m * k + m, _sent),
        Form("bits of a round, stream cipher", "CB-cost", Face.EXACT, 32 * m + n * k + bits * m + m, _sent),
        Form("bits of a round, common seed", "CB-cost", Face.EXACT, 32 * m + k + m, _sent),
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
