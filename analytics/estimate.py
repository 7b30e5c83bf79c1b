"""A value known up to sampling error: an estimate with a confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray


@dataclass(frozen=True)
class Interval:
    """An estimate with a confidence interval; both bounds equal the estimate if nothing was sampled."""

    estimate: float
    lower: float
    upper: float


def mean_interval(values: FloatArray, failure: float) -> Interval:
    """Empirical Bernstein interval for the mean of independent values in [0, 1].

    For every law, the interval misses the mean with probability at most `failure` (Maurer and Pontil 2009, Theorem 4,
    on each side).

    Examples
    --------
    >>> mean_interval(np.zeros(1000), 1e-3)
    Interval(estimate=0.0, lower=0.0, upper=0.0193...)
    """
    n = values.size
    log_term = np.log(4 / failure)
    half_width = float(np.sqrt(2 * np.var(values, ddof=1) * log_term / n) + 7 * log_term / (3 * (n - 1)))
    mean = float(np.mean(values))
    return Interval(mean, max(mean - half_width, 0.0), min(mean + half_width, 1.0))
