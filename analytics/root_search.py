"""Search for the root of a falling function of which few evaluations can be afforded."""

from __future__ import annotations

import math
from collections.abc import Callable

_EVALUATIONS = 100  # at most
_PATIENCE = (
    4  # secants that may fail to halve the interval before it is bisected, at first; one less after each failure
)
_ASIDE = 0.4  # distance of the next argument from the root of the secant, as share of the length that is asked for


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
    the root. Only the length of the interval, never its ends' signs, depends on the function being falling.

    Examples
    --------
    >>> low, high = falling_root(lambda x: 2 - x * x, 0.0, 2.0, 2.0, 1.0, lambda high: 1e-9)
    >>> low * low < 2 <= high * high, high - low <= 1e-9
    (True, True)
    """
    previous, before, x = low, at_low, start
    width, patience, allowed = high - low, _PATIENCE, _PATIENCE
    for _ in range(_EVALUATIONS):
        here = value(x)
        low, high = (x, high) if here > 0 else (low, x)
        if high - low <= length(high):
            break
        patience -= 1
        if high - low <= width / 2:
            width, patience = high - low, allowed
        secant = x - here * (x - previous) / (here - before) if math.isfinite(here) and here != before else math.nan
        previous, before = x, here
        aside = _ASIDE * length(high)
        allowed -= patience == 0 and allowed > 0
        x = secant - aside if patience > 0 and math.isfinite(secant) else (low + high) / 2
        x = min(max(x, low + aside), high - aside)
    return low, high
