"""CorBin-FL's central privacy and dropout in ball arithmetic: binomial tails, divergences from below."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import flint

from airtight.analytics.forms.balls.ball import Ball, ball


def binomial_pmf(trials: int, probability: Fraction | Ball, k: int) -> Ball:
    """One probability of the binomial law."""
    p = ball(probability)
    return ball(comb(trials, k)) * p**k * (1 - p) ** (trials - k)


def upper_tail(trials: int, probability: Fraction | Ball, start: int) -> Ball:
    """P(X >= start): the sum of terms while they matter, and a ball for the remainder."""
    p = ball(probability)
    if start <= 0:
        return ball(1)
    if start > trials:
        return ball(0)
    term = binomial_pmf(trials, p, start)
    odds, total = p / (1 - p), ball(0)
    for k in range(start, trials + 1):
        total += term
        term = term * (trials - k) / (k + 1) * odds
        if k > trials * float(p.mid()) and term < total * ball(Fraction(1, 10**25)):
            return total + ball(0).union(term * (trials - k))
    return total


def unpaired_delta_from_below(others: int, share: Fraction, epsilon: Ball, start: int) -> Ball:
    """P(S >= start) - e^eps Q(S >= start): a lower bound of delta, with all others at the upper end of their interval.

    S counts the plus outputs of one client, at the upper end under P and at the lower under Q, and of the others;
    `share` is 1/alpha.
    """
    high, low = (1 + share) / 2, (1 - share) / 2
    tail = upper_tail(others, high, start)
    edge = binomial_pmf(others, high, start - 1) if start >= 1 else ball(0)
    factor = epsilon.exp()
    return tail * (1 - factor) + edge * (ball(high) - factor * ball(low))


def dropout_mse(n: int, p: Fraction, alpha: Fraction) -> Ball:
    """The worst MSE of CorBin-FL with dropout for even n and radius 1; a lower bound if the best s cannot be decided."""
    with flint.ctx.workprec(128):

        def inverse_square(offset: int) -> Ball:
            return sum((binomial_pmf(n - 2, 1 - p, k) / (k + offset) ** 2 for k in range(n - 1)), ball(0))

        a = ball(alpha)
        broken, whole = ball(2 * p * (1 - p)) * inverse_square(1), ball((1 - p) ** 2) * inverse_square(2)
        top = a * whole / (broken / 4 + whole)
        s = top if top < 2 else ball(2)
        return n * (broken * (a * a - s * s / 4) + whole * s * (2 * a - s)) / 2
