"""Branch and bound on boxes, many at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray

BATCH = 4096
_TRIALS = 8  # one of so many boxes has its middle and its ends tried
_MOST = 3_000_000

Bound = Callable[[FloatArray, FloatArray, float], FloatArray]
Value = Callable[[FloatArray, float], FloatArray]


@dataclass(frozen=True)
class Found:
    """The best point (None when none was found), its value, a lower bound, how many boxes were examined, and at what cost."""

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
    """Least value over the unit cube.

    Parameters
    ----------
    bound : callable
        A lower bound of the value on each of n boxes, from their lower and upper ends, shape (n, dimensions), and a number beyond
        which it need be no sharper; infinite where nothing in the box is feasible.
    value : callable
        Of n points, and the least value so far; infinite where infeasible, and at will where it is no less.
    gap : float
        Relative, at which to stop.
    effort : int
        Bounds and values, of one box or point each, after which to stop.
    enough : float
        A value at which to stop; until it is reached no box leaves whose bound does not exclude it.
    batch : int
        Boxes split at a time.

    Notes
    -----
    Boxes are split in the middle of their longest side. A box leaves when its bound is above the best value less the gap, so at
    the end no point of the cube has a value below that; when effort or memory ends first, the least bound of the boxes left is
    what is proved. The value is infinite without a point; then the lower bound is infinite, too, only where every box was
    excluded: no point is feasible.

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
    above = float(np.nextafter(enough, np.inf)) if enough > -np.inf else -np.inf
    dropped = np.inf
    while low.shape[0]:
        most = min(batch, max((effort - evaluations) // 3, 1))
        order = np.argsort(bounds, kind="stable")[:most]
        middle = (low[order] + high[order]) / 2
        few = max(order.size // _TRIALS, 1)
        for trial in (middle[:few], high[order[:few]], low[order[:few]]):
            values = value(trial, best)
            evaluations += values.size
            k = int(np.argmin(values))
            if values[k] < best:
                best, point = float(values[k]), trial[k].copy()
        floor = max(best - gap * abs(best), above) if best < np.inf else (above if above > -np.inf else np.inf)
        if best <= enough or float(bounds.min()) >= floor or boxes > _MOST or evaluations >= effort:
            break
        side = np.argmax(high[order] - low[order], axis=1)
        rows = np.arange(order.size)
        left, right = high[order].copy(), low[order].copy()
        left[rows, side] = right[rows, side] = middle[rows, side]
        fresh_low, fresh_high = np.concatenate([low[order], right]), np.concatenate([left, high[order]])
        fresh = bound(fresh_low, fresh_high, floor)
        boxes += fresh.size
        evaluations += fresh.size
        rest = np.ones(low.shape[0], bool)
        rest[order] = False
        low, high = np.concatenate([low[rest], fresh_low]), np.concatenate([high[rest], fresh_high])
        bounds = np.concatenate([bounds[rest], fresh])
        keep = bounds < floor
        dropped = min(dropped, float(bounds[~keep].min(initial=np.inf)))
        low, high, bounds = low[keep], high[keep], bounds[keep]
    return Found(point, best, min(float(bounds.min(initial=np.inf)), dropped, best), boxes, evaluations)
