"""Branch and bound over the unit cube, with many boxes per step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray

BATCH = 4096  # boxes that are split in one step
_TRIALS = 8  # in one of this number of boxes, the middle and both ends are evaluated
_MOST_BOXES = 3_000_000  # boxes after which the search stops: the memory is limited

Bound = Callable[[FloatArray, FloatArray, float], FloatArray]
Value = Callable[[FloatArray, float], FloatArray]


@dataclass(frozen=True)
class Found:
    """The best point (None when none was found), its value, a lower bound, and the numbers of boxes and evaluations."""

    point: FloatArray | None
    value: float
    lower: float
    boxes: int
    evaluations: int


def minimise(
    bound: Bound,
    value: Value,
    dimensions: int,
    *,
    gap: float,
    effort: int,
    enough: float = -np.inf,
    batch: int = BATCH,
) -> Found:
    """Minimise a function over the unit cube.

    Parameters
    ----------
    bound : callable
        From the lower and the upper ends of n boxes, shape (n, dimensions), and a number: a lower bound of the value
        on each box. Bounds above the number need not be sharp. Infinite where no point of the box is feasible.
    value : callable
        From n points and the least value so far: their values. Infinite where a point is infeasible; any number that
        is not less than the least value so far is allowed where the value is not less either.
    gap : float
        The relative gap at which the search stops.
    effort : int
        The number of bounds and values, counted per box and point, after which the search stops.
    enough : float
        A value at which the search stops. Until it is reached, a box is kept unless its bound is above it.
    batch : int
        Boxes split in one step.

    Notes
    -----
    Boxes are split in the middle of their longest side. A box is dropped when its bound is at least the best value
    minus the gap, so at the end no point of the cube has a value below that. When effort or memory ends first, the
    least bound of all boxes is proved instead. The value is infinite when no point was found; the lower bound is then
    infinite only where every box was excluded, so that no point is feasible.

    Examples
    --------
    >>> def square(x, least=np.inf):
    ...     return 1 + np.sum((x - 0.3) ** 2, axis=1)
    >>> found = minimise(lambda low, high, _: square(np.clip(0.3, low, high)), square, 2, gap=1e-3, effort=10_000)
    >>> 0.999 <= found.lower <= found.value <= 1.001
    True
    """
    low, high = np.zeros((1, dimensions)), np.ones((1, dimensions))
    bounds = bound(low, high, np.inf)
    best, point, boxes, evaluations = np.inf, None, 1, 1
    just_above_enough = float(np.nextafter(enough, np.inf)) if enough > -np.inf else -np.inf
    least_dropped = np.inf
    while low.shape[0]:
        batch_size = min(batch, max((effort - evaluations) // 3, 1))
        order = np.argsort(bounds, kind="stable")[:batch_size]
        middle = (low[order] + high[order]) / 2
        trial_count = max(order.size // _TRIALS, 1)
        for trial in (middle[:trial_count], high[order[:trial_count]], low[order[:trial_count]]):
            values = value(trial, best)
            evaluations += values.size
            k = int(np.argmin(values))
            if values[k] < best:
                best, point = float(values[k]), trial[k].copy()
        cutoff = (
            max(best - gap * abs(best), just_above_enough)
            if best < np.inf
            else (just_above_enough if just_above_enough > -np.inf else np.inf)
        )
        if best <= enough or float(bounds.min()) >= cutoff or boxes > _MOST_BOXES or evaluations >= effort:
            break
        side = np.argmax(high[order] - low[order], axis=1)
        rows = np.arange(order.size)
        lower_half_high, upper_half_low = high[order].copy(), low[order].copy()
        lower_half_high[rows, side] = upper_half_low[rows, side] = middle[rows, side]
        new_low, new_high = np.concatenate([low[order], upper_half_low]), np.concatenate([lower_half_high, high[order]])
        new_bounds = bound(new_low, new_high, cutoff)
        boxes += new_bounds.size
        evaluations += new_bounds.size
        unsplit = np.ones(low.shape[0], bool)
        unsplit[order] = False
        low, high = np.concatenate([low[unsplit], new_low]), np.concatenate([high[unsplit], new_high])
        bounds = np.concatenate([bounds[unsplit], new_bounds])
        keep = bounds < cutoff
        least_dropped = min(least_dropped, float(bounds[~keep].min(initial=np.inf)))
        low, high, bounds = low[keep], high[keep], bounds[keep]
    return Found(point, best, min(float(bounds.min(initial=np.inf)), least_dropped, best), boxes, evaluations)
