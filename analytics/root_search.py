"""Search for the root of a function of which few evaluations can be afforded."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray

_EVALUATIONS = 100  # at most
_PATIENCE = (
    4  # secants that may fail to halve the interval before it is bisected, at first; one less after each failure
)
_ASIDE = 0.4  # distance of the next argument from the root of the secant, as share of the length that is asked for
_POINTS, _NARROWINGS = 33, 5  # arguments at a time, and how often their range is narrowed
_START, _GROWTH, _GREATEST = 1.0, 32.0, 32.0**6  # of the range


def falling_root(
    value: Callable[[float], float],
    low: float,
    at_low: float,
    high: float,
    start: float,
    length: Callable[[float], float],
) -> tuple[float, float]:
    """An interval about a root: the function is positive at its lower end and not positive at its upper end.

    Parameters
    ----------
    value : callable
        A falling function; it may be infinite.
    low, at_low, high, start : float
        The function is `at_low` > 0 at `low` and not positive at `high`; `start`, between them, is evaluated first.
    length : callable
        The search ends at an interval of at most this length, as a function of the upper end.

    Notes
    -----
    The next argument is the root of the secant through the last two evaluations, moved aside so that both ends come near
    the root. Where one of them is infinite, or the secant leaves an interval at the end of which the function is, there is no
    secant, and the interval is halved. Only the length of the interval, never its ends' signs, depends on the function being
    falling.

    Examples
    --------
    >>> low, high = falling_root(lambda x: 2 - x * x, 0.0, 2.0, 2.0, 1.0, lambda high: 1e-9)
    >>> low * low < 2 <= high * high, high - low <= 1e-9
    (True, True)
    """
    previous, before, x, at_high = low, at_low, start, 0.0
    width, patience, allowed = high - low, _PATIENCE, _PATIENCE
    for _ in range(_EVALUATIONS):
        here = value(x)
        low, high, at_high = (x, high, at_high) if here > 0 else (low, x, here)
        if high - low <= length(high):
            break
        patience -= 1
        if high - low <= width / 2:
            width, patience = high - low, allowed
        usable = math.isfinite(here) and math.isfinite(before) and here != before
        secant = x - here * (x - previous) / (here - before) if usable else math.nan
        if secant >= high and not math.isfinite(at_high):
            secant = math.nan
        previous, before = x, here
        aside = _ASIDE * length(high)
        allowed -= patience == 0 and allowed > 0
        x = secant - aside if patience > 0 and math.isfinite(secant) else (low + high) / 2
        x = min(max(x, low + aside), high - aside)
    return low, high


def least_safe(safe: Callable[[FloatArray], NDArray[np.bool_]], side: int) -> float:
    """The least argument from which on all are safe, from below (side 0) or above (side 1).

    Beyond 1e9 it is infinite from above, and from below only where infinity is not safe.

    Many arguments are asked for at a time, in a range that is narrowed.

    Examples
    --------
    >>> [round(least_safe(lambda x: x * x >= 2, side), 6) for side in (0, 1)]
    [1.414214, 1.414214]
    """
    low, high = 0.0, _START
    while high <= _GREATEST:
        points = np.linspace(low, high, _POINTS)
        kept = safe(points)
        if kept[0]:
            return 0.0
        if np.any(kept):
            break
        low, high = high, high * _GROWTH
    else:
        return low if side == 0 and safe(np.array([np.inf]))[0] else np.inf
    for _ in range(_NARROWINGS):
        first = int(np.argmax(kept))
        low, high = float(points[first - 1]), float(points[first])
        points = np.linspace(low, high, _POINTS)
        kept = safe(points)
        kept[0], kept[-1] = False, True
    first = int(np.argmax(kept))
    return float(points[first - 1 + side])
