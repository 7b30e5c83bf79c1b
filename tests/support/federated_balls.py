"""Federated quantities by other methods than the code's: sets of survivors, permutations of strata, characteristic functions.

All are balls or exact rationals, and every float is the number that it exactly is.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import comb, prod

import flint

from airtight.analytics.federated.corbin.federated_system import alone
from airtight.analytics.forms.balls.ball import Ball, ball, refine


def dropout_worst_mse(clients: int, *, dropout: float, epsilon: float, radius: float, independent: float) -> Ball:
    r"""Enclosure of :func:`airtight.analytics.federated.corbin.dropout.worst_mse` by enumeration, for some ten clients.

    Notes
    -----
    For every set of N survivors the error of the mean is :math:`N^{-2}` times the sum of :math:`A^2` for each client that is
    unpaired, :math:`A^2 - s^2/4` for each that has lost its partner, and :math:`2As - s^2` for each whole pair. The two updates
    of a pair are s/2 each. The mean over the sets is a concave parabola :math:`a + bs - cs^2`, greatest on [0, 2r] at
    :math:`\min(b/2c, 2r)`.

    Examples
    --------
    >>> round(float(dropout_worst_mse(4, dropout=0.0, epsilon=0.5, radius=1.0, independent=0.0).mid()), 6)
    1.541494
    """
    singles, p, r = alone(clients, independent), Fraction(dropout), ball(radius)
    pairs = (clients - singles) // 2
    chances = [Fraction(0)] * 3  # of A^2, of - s^2/4 and of 2 A s - s^2
    for stays in product((0, 1), repeat=clients):
        N = sum(stays)
        if N == 0:
            continue
        share = prod((1 - p if here else p for here in stays), start=Fraction(1)) / N**2
        both = [stays[singles + 2 * i] + stays[singles + 2 * i + 1] for i in range(pairs)]
        broken, whole = both.count(1), both.count(2)
        chances[0] += share * (sum(stays[:singles]) + broken)
        chances[1] += share * broken
        chances[2] += share * whole
    fixed, lost, kept = chances

    def value() -> Ball:
        A = r / (ball(epsilon) / 2).tanh()
        if not pairs:
            return ball(fixed) * A * A
        s = (A * ball(kept) / (ball(lost) / 4 + ball(kept))).min(2 * r)
        return ball(fixed) * A * A - ball(lost) * s * s / 4 + ball(kept) * s * (2 * A - s)

    return refine(value)


def outside(clients: int, *, dropout: float, first: int, last: int) -> Fraction:
    """Probability that fewer than `first` or more than `last` of the pairs are broken."""
    p, half = Fraction(dropout), clients // 2
    q = 2 * p * (1 - p)
    return sum(
        (comb(half, k) * q**k * (1 - q) ** (half - k) for k in range(half + 1) if not first <= k <= last), Fraction(0)
    )


def stratified_mse(w: list[float], *, radius: float) -> Fraction:
    r"""Exactly :func:`airtight.analytics.federated.few_bits.baselines.stratified_mse`, by every permutation of the strata.

    Given the permutation the bits are independent, each 1 with the share of its stratum that lies below its level.
    """
    n, r = len(w), Fraction(radius)
    levels = [(Fraction(x) / r + 1) / 2 for x in w]
    total, count, square = sum(levels), 0, Fraction(0)
    for strata in permutations(range(n)):
        ones = [min(max(n * q - s, Fraction(0)), Fraction(1)) for q, s in zip(levels, strata, strict=True)]
        square += sum(x * (1 - x) for x in ones) + (sum(ones) - total) ** 2
        count += 1
    return square / count * (2 * r / n) ** 2


def skellam_modulo(variance: Fraction, bits: int) -> list[Ball]:
    r"""Masses of a Skellam variable of this variance modulo :math:`M = 2^b`, by its characteristic function.

    Notes
    -----
    :math:`E e^{itN} = e^{v(\cos t-1)}`, so that :math:`P(N \equiv k) = \frac1M\sum_j e^{v(\cos(2\pi j/M)-1)}\cos(2\pi jk/M)`, a
    finite sum; its terms cancel to the mass, so the working precision must exceed that of the least mass that counts.

    Examples
    --------
    >>> round(float(skellam_modulo(Fraction(3), 3)[0].mid()), 6)
    0.243081
    """
    v, M = ball(variance), 2**bits
    cosine = [flint.arb.cos_pi_fmpq(flint.fmpq(2 * j, M)) for j in range(M)]
    values = [(v * (c - 1)).exp() for c in cosine]
    return [sum((x * cosine[j * k % M] for j, x in enumerate(values)), flint.arb(0)) / M for k in range(M)]


def discrete_gaussian_modulo(variance: float, bits: int, count: int) -> list[Ball]:
    r"""Masses of the sum of so many discrete Gaussian variables modulo :math:`2^b`.

    Notes
    -----
    Masses :math:`e^{-k^2/2v}` beyond K add up to less than :math:`2e^{-K^2/2v}/(1-e^{-K/v})` on both sides together, a geometric
    series. The sum's law is the power of a polynomial, its exponents taken modulo :math:`2^b`.
    """
    v, M = ball(variance), 2**bits
    reach = int((1500 * variance) ** 0.5) + M + 2  # beyond it there is less than 1e-320
    law = [flint.arb(0)] * M
    for k in range(-reach, reach + 1):
        law[k % M] += (-ball(k * k) / (2 * v)).exp()
    last = flint.arb(reach + 1)
    left = 2 * (-last * last / (2 * v)).exp() / (1 - (-last / v).exp())
    law = [x + left.union(flint.arb(0)) for x in law]
    whole = sum(law, flint.arb(0))
    one, total = flint.arb_poly([x / whole for x in law]), flint.arb_poly([1])
    for _ in range(count):
        coefficients = (total * one).coeffs()
        folded = [flint.arb(0)] * M
        for k, x in enumerate(coefficients):
            folded[k % M] += x
        total = flint.arb_poly(folded)
    found = total.coeffs()
    return [*found, *[flint.arb(0)] * (M - len(found))]


def paired_count_delta(others: int, *, epsilon: float, factor: Fraction) -> Ball:
    r"""Divergence of the number of pluses when a paired client moves, infinitely many bits, worst over the N + 1 corners.

    With an update of its own that cancels its partner's, exactly one of the pair sends a plus; with the other one a second plus
    comes with probability :math:`1/\alpha`.
    """

    def value() -> Ball:
        share, worst = (ball(epsilon) / 2).tanh(), flint.arb(0)
        high, low, odds = (1 + share) / 2, (1 - share) / 2, ball(factor)
        for j in range(others + 1):
            law = (flint.arb_poly([1 - high, high]) ** j * flint.arb_poly([1 - low, low]) ** (others - j)).coeffs()
            law = [*law, *[flint.arb(0)] * (others + 1 - len(law))]
            still = [*law, flint.arb(0)]
            moved = [(1 - share) * a + share * b for a, b in zip(still, [flint.arb(0), *law], strict=True)]
            for p, q in ((still, moved), (moved, still)):
                worst = worst.max(
                    sum(((a - odds * b).max(flint.arb(0)) for a, b in zip(p, q, strict=True)), flint.arb(0))
                )
        return worst

    return refine(value)
