"""Enclosures of the privacy curve of the Gaussian mechanism."""

from __future__ import annotations

from fractions import Fraction

import flint

from airtight.analytics.forms.balls.ball import Ball, Number, ball, refine


def upper_tail(x: Ball) -> Ball:
    """Q(x) = Pr(N(0, 1) > x)."""
    return (x / flint.arb(2).sqrt()).erfc() / 2


def delta(epsilon: Number, *, sensitivity: Number, sigma: Number) -> Ball:
    """Enclosure of the exact delta(epsilon), see :func:`airtight.analytics.privacy.mechanisms.gaussian.delta`.

    Examples
    --------
    >>> from airtight.analytics.forms.balls.ball import ends
    >>> ends(delta(1, sensitivity=1, sigma=1))
    (0.12693673750664..., 0.12693673750664...)
    """

    return curve(epsilon, sensitivity, Fraction(sigma) ** 2)


def curve(epsilon: Number | Ball, distance: Number | Ball, variance: Number | Ball) -> Ball:
    """delta(epsilon) of two Gaussians of equal variance at the given distance."""
    if ball(distance) == 0:
        return flint.arb(0)

    def compute() -> Ball:
        eps, mu = ball(epsilon), ball(distance) / ball(variance).sqrt()
        return upper_tail(eps / mu - mu / 2) - eps.exp() * upper_tail(eps / mu + mu / 2)

    return refine(compute)


def classical_epsilon(delta: Number, *, sensitivity: Number, sigma: Number) -> Ball:
    """Enclosure of FDP Eq. (10), see :func:`airtight.analytics.privacy.mechanisms.gaussian.classical_epsilon`."""
    return refine(lambda: ball(sensitivity) / ball(sigma) * (2 * (ball("1.25") / ball(delta)).log()).sqrt())
