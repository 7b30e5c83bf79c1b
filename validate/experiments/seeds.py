"""Statistics of a number measured once per seed: mean, confidence interval, paired difference from a base."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

import numpy as np

LEVEL = 0.95  # confidence level of every interval over seeds


def student(values: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    r"""Student's confidence interval of the mean, :math:`\bar x \pm t_{n-1}\,s/\sqrt n`.

    The interval is the whole real line for a single seed, or when a run diverged.

    Examples
    --------
    >>> student((0.01, 0.02, 0.03))
    (-0.0048..., 0.0448...)
    """
    from scipy import stats

    n = len(values)
    if n < 2 or not np.all(np.isfinite(values)):
        return -math.inf, math.inf
    half_width = float(stats.t.ppf((1 + level) / 2, n - 1)) * float(np.std(values, ddof=1)) / math.sqrt(n)
    mean = float(np.mean(values))
    return mean - half_width, mean + half_width


class Comparison(TypedDict):
    """A number of every seed, its mean, and its mean paired difference from a base, with intervals of 95 %."""

    values: list[float]
    mean: float
    interval: list[float]
    difference: float
    difference_interval: list[float]


def compared(values: Sequence[float], base: Sequence[float]) -> Comparison:
    """Mean and confidence interval over the seeds, and those of the paired differences from a base.

    The level holds for each interval alone, not for all of them together.

    Examples
    --------
    >>> found = compared((0.9, 0.8, 0.7), (0.8, 0.7, 0.6))
    >>> [round(x, 3) for x in (found["mean"], *found["difference_interval"])]
    [0.8, 0.1, 0.1]
    """
    differences = [x - y for x, y in zip(values, base, strict=True)]
    return {
        "values": [float(x) for x in values],
        "mean": float(np.mean(values)),
        "interval": list(student(values)),
        "difference": float(np.mean(differences)),
        "difference_interval": list(student(differences)),
    }
