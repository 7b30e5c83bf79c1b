"""Composition in ball arithmetic: the optimal delta of M releases, and Gaussian curves at balls."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from analytics.enclosures.ball import Ball, ball


def optimal_delta(odds: Fraction, delta: Fraction, count: int, total_epsilon: Ball) -> Ball:
    """Kairouz, Oh and Viswanath: the exact delta of M mechanisms with e^eps = odds, at a total epsilon."""
    bound, total = total_epsilon.exp(), ball(0)
    for wrong in range(count + 1):
        gain = ball(odds ** (count - wrong)) - bound * ball(odds**wrong)
        if gain > 0:
            total += comb(count, wrong) * gain
    inner = total / ball((1 + odds) ** count)
    kept = ball((1 - delta) ** count)
    return 1 - kept * (1 - inner)


def printed_strong_epsilon(odds: Fraction, delta: Fraction, count: int) -> Ball:
    """eps sqrt(M log 1/delta) with eps = log odds."""
    return ball(odds).log() * (-count * ball(delta).log()).sqrt()


def classical_sigma(epsilon: Fraction, delta: Fraction) -> Ball:
    """sqrt(2 log(1.25/delta))/eps: UF Eq. (9)."""
    return (2 * (ball("1.25") / ball(delta)).log()).sqrt() / ball(epsilon)
