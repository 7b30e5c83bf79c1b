"""From a privacy curve to the errors of an attack: the lines below a trade-off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airtight.analytics.checks import FloatArray

_GOLDEN = (np.sqrt(5) - 1) / 2
_STEPS = 60  # of a golden section
_REACH = 1e-12
_GREATEST = 700.0


def greater(one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """The greater of two falling curves at the breaks of both; between its breaks each is held at the one before."""
    eps = np.union1d(one[0], other[0])
    return eps, np.maximum(*(np.append(1.0, d)[np.searchsorted(e, eps, side="right")] for e, d in (one, other)))


def least_error(delta: Callable[[float], float], alpha: float) -> float:
    """The greatest of the lines 1 - delta(log lambda) - lambda alpha: concave in lambda."""
    if alpha == 1:
        return 0.0

    def line(eps: float) -> float:
        return 1 - delta(eps) - float(np.exp(eps)) * alpha

    low, high = -30.0, 1.0
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
