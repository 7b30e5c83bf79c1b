"""Balls of numbers whose terms cancel to their last digits."""

from __future__ import annotations

import math
from collections.abc import Callable

import flint

from airtight.analytics.forms.balls.ball import Ball, refine


def settled(compute: Callable[[], Ball], *, digits: int = 15, bits: int = 96, most: int = 2048) -> Ball:
    """As :func:`airtight.analytics.forms.balls.ball.refine`, which gives up where two precisions in turn leave no digit.

    Here the precision is raised to `most` bits whatever is left.
    """
    value = flint.arb.nan()
    while bits <= most and not value.rel_accuracy_bits() > digits * math.log2(10):
        value, bits = refine(compute, digits=digits, bits=bits, most=bits), 2 * bits
    return value


def root(function: Callable[[Ball], Ball], low: Ball, high: Ball, *, bits: int = 192) -> Ball:
    r"""Encloses the place where a decreasing function on [low, high] passes 0.

    Notes
    -----
    The function is proved positive at the lower end and negative at the upper one of the ball that is returned; it is decreasing,
    so its zero lies between them. Bisection stops where balls no longer decide the sign.

    Examples
    --------
    >>> place = root(lambda x: 2 - x * x, flint.arb(0), flint.arb(2))
    >>> bool(abs(place * place - 2) < 1e-15), float(place.rad()) < 1e-40
    (True, True)
    """
    with flint.ctx.workprec(bits):
        if not (function(low) > 0 and function(high) < 0):
            return low.union(high)
        for _ in range(bits):
            middle = ((low + high) / 2).mid()
            value = function(middle)
            if value > 0:
                low = middle
            elif value < 0:
                high = middle
            else:
                break
        return low.union(high)
