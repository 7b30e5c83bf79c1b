"""Scores, thresholds and selection among few devices, enclosed."""

from __future__ import annotations

from fractions import Fraction

import flint

from analytics.enclosures.ball import Ball, ball, refine
from analytics.enclosures.gaussian import upper_tail


def below(gap: Fraction, first: Fraction, second: Fraction) -> Ball:
    """Phi(gap / sqrt(first^2 + second^2)): the probability that a score stays below another one that is `gap` higher."""
    return refine(lambda: upper_tail(-ball(gap) / ball(first**2 + second**2).sqrt()))


def lowest_of_three_equal(spread: Fraction) -> Ball:
    """Pr(X_1 < X_2, X_1 < X_3) for centred normals of standard deviations `spread`, 1, 1: an orthant probability."""
    rho = spread**2 / (spread**2 + 1)
    return refine(lambda: ball(Fraction(1, 4)) + ball(rho).asin() / (2 * flint.arb.pi()))


def log2(x: Fraction) -> Ball:
    """Binary logarithm."""
    return refine(lambda: ball(x).log() / ball(2).log())
