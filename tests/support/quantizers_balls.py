"""CorBin-FL's laws and errors as exact rationals for rational inputs and odds e^epsilon; the divergence of the count in balls."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import flint

from airtight.analytics.forms.balls import selection_probability
from airtight.analytics.forms.balls.ball import Ball, ball, refine


def alpha(odds: Fraction) -> Fraction:
    """(e^epsilon + 1)/(e^epsilon - 1) for odds = e^epsilon > 1.

    Examples
    --------
    >>> alpha(Fraction(3))
    Fraction(2, 1)
    """
    return (odds + 1) / (odds - 1)


def pair_law(
    w1: Fraction, w2: Fraction, *, odds: Fraction, radius: Fraction, bits: int
) -> dict[tuple[int, int], Fraction]:
    """Joint law of the signs of CorBinQ's outputs, by adding up every shared number and both private coins.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> pair_law(half, -half, odds=Fraction(3), radius=Fraction(1), bits=3)[1, -1]
    Fraction(5, 8)
    """
    A = radius * alpha(odds)
    a = Fraction(1, 2) + w1 / (2 * A)  # first is + below this level of Z
    b = Fraction(1, 2) - w2 / (2 * A)  # second is - below this one
    cells = 2**bits

    def below(level: Fraction, z: int) -> Fraction:
        whole = floor(level * cells)
        return Fraction(1) if z < whole else level * cells - whole if z == whole else Fraction(0)

    law = dict.fromkeys([(1, 1), (1, -1), (-1, 1), (-1, -1)], Fraction(0))
    for z in range(cells):
        plus, minus = below(a, z), below(b, z)
        for first, chance in ((1, plus), (-1, 1 - plus)):
            for second, other in ((-1, minus), (1, 1 - minus)):
                law[first, second] += chance * other / cells
    return law


def pair_mse(w1: Fraction, w2: Fraction, *, odds: Fraction, radius: Fraction, bits: int) -> Fraction:
    """Squared error of the pair's sum, from its law.

    Examples
    --------
    >>> pair_mse(Fraction(1), Fraction(1), odds=Fraction(3), radius=Fraction(1), bits=0)
    Fraction(6, 1)
    """
    A = radius * alpha(odds)
    law = pair_law(w1, w2, odds=odds, radius=radius, bits=bits)
    return sum((chance * (A * (i + j) - w1 - w2) ** 2 for (i, j), chance in law.items()), Fraction(0))


def count_delta(own: Fraction, other: Fraction, rest: list[Fraction], *, factor: Fraction) -> Ball:
    r"""Divergence of the number of pluses when one client's probability is `own` instead of `other`, the rest's as given.

    :math:`\sum_k (P_k - \lambda Q_k)_+`, of either direction the greater; `factor` is lambda = e^epsilon >= 1.

    Examples
    --------
    >>> float(count_delta(Fraction(3, 4), Fraction(1, 4), [], factor=Fraction(1)).mid())
    0.5
    """
    return refine(lambda: _count_delta(own, other, rest, factor))


def _count_delta(own: Fraction, other: Fraction, rest: list[Fraction], factor: Fraction) -> Ball:
    law = selection_probability.pmf(rest)
    first, second = (
        [a * (1 - ball(q)) + b * ball(q) for a, b in zip([*law, flint.arb(0)], [flint.arb(0), *law], strict=True)]
        for q in (own, other)
    )
    forward, backward = flint.arb(0), flint.arb(0)
    for p, q in zip(first, second, strict=True):
        forward += _positive(p - ball(factor) * q)
        backward += _positive(q - ball(factor) * p)
    return forward.max(backward)


def worst_count_delta(others: int, *, odds: Fraction, factor: Fraction) -> Ball:
    """The same at the worst corner: all clients at an end of their interval (CB-T3*, unpaired), greatest over the N + 1 corners.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(worst_count_delta(99, odds=Fraction(float(np.e)), factor=Fraction(float(np.exp(0.1)))).mid()), 6)
    0.010829
    """
    share = 1 / alpha(odds)
    high, low = (1 + share) / 2, (1 - share) / 2
    corners = ([high] * j + [low] * (others - j) for j in range(others + 1))
    worst = flint.arb(0)
    for rest in corners:
        worst = worst.max(count_delta(high, low, rest, factor=factor))
    return worst


def _positive(value: Ball) -> Ball:
    return value.max(flint.arb(0))
