"""From a privacy curve to the trade-off function: the supporting lines of the errors of an attack."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airtight.analytics.checks import FloatArray

_GOLDEN = (np.sqrt(5) - 1) / 2  # ratio of a golden section
_STEPS = 60  # greatest number of golden sections
_REACH = 1e-12  # relative length of the interval of epsilon at which the search ends
_GREATEST = 700.0  # from here on the interval is not extended: exp overflows above 709


def greater(one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """The maximum of two decreasing curves at the breaks of both; between breaks a curve keeps the value before."""
    eps = np.union1d(one[0], other[0])
    return eps, np.maximum(
        *(np.append(1.0, deltas)[np.searchsorted(breaks, eps, side="right")] for breaks, deltas in (one, other))
    )


def least_error(delta: Callable[[float], float], alpha: float) -> float:
    """The greatest of the lines 1 - delta(log lambda) - lambda alpha, which are concave in lambda; at least 0."""
    if alpha == 1:
        return 0.0

    def line(eps: float) -> float:
        return 1 - delta(eps) - float(np.exp(eps)) * alpha

    low, high = -30.0, 1.0  # epsilon; the maximum is sought by golden sections, and every point gives a valid bound
    while line(high) > line(high - 1e-3) and high < _GREATEST:
        low, high = high / 2, high * 2
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = line(a), line(b)
    for _ in range(_STEPS):
        if high - low < _REACH * max(abs(low), abs(high), 1.0):
            break
        if at_a < at_b:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = line(b)
        else:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = line(a)
    return max(float(at_a), float(at_b), 0.0)
