r"""Matrix mechanisms: noise that is correlated over the steps of a training, as its Gaussian equivalent.

The release is :math:`CX + Z` with a lower triangular matrix C of strategy, the sums :math:`x_i` of a step as rows of X, and
normal noise Z of deviation sigma in every entry.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.accounting.dp_events import EMPTIED
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.rounding import UNIT

_LARGEST = 1e150  # of an entry, whose square does not overflow


def matrix_gaussian(matrix: ArrayLike, sigma: float, *, participations: int = 1, separation: int = 1) -> PrivacyCurve:
    r"""The curve of a banded matrix mechanism where a record takes part at most so often, so many steps apart.

    Adjacency: one record is replaced by an empty one, in all steps in which it takes part; each time it moves a sum by a vector
    of norm at most 1.

    Parameters
    ----------
    matrix : array_like, shape (n, n)
        Lower triangular, with at most `separation` bands: entry (i, j) is 0 unless 0 <= i - j < separation.
    sigma : float
        At least 0: the deviation of the noise.
    participations : int
        At least 1.
    separation : int
        At least 1: a record that takes part in step i does so again in step i + separation at the earliest.

    Returns
    -------
    PrivacyCurve
        That of one Gaussian release, also where sums depend on what was released before.

    Notes
    -----
    *Proof.* Where a record takes part in the steps I, moving :math:`x_i` by :math:`g_i`, it moves CX by
    :math:`\sum_{i\in I}c_ig_i^\top` with the columns :math:`c_i`, whose squared norm is :math:`\sum_{i,j}\langle c_i,c_j\rangle
    \langle g_i,g_j\rangle`. Columns that are `separation` apart have disjoint supports, so that it is at most
    :math:`\sum_{i\in I}|c_i|^2`, which is attained. Its greatest value over the sets I is found step by step: the best set that
    ends in step i adds :math:`|c_i|^2` to the best shorter one that ends `separation` steps before. As C is lower triangular, the
    i-th row needs no later sum, and sums may be chosen by what was released (Denisov, McMahan, Rush, Smith and Thakurta 2022).

    Examples
    --------
    >>> import numpy as np
    >>> strategy = np.eye(6) + 0.5 * np.eye(6, k=-1)
    >>> curve = matrix_gaussian(strategy, 2.0, participations=3, separation=2)
    >>> round(float(curve.epsilon(1e-6)), 4), round(float(matrix_gaussian(np.eye(6), 2.0).epsilon(1e-6)), 4)
    (4.7105, 2.2541)
    """
    table = checks.rectangular("matrix", matrix)
    deviation = checks.scalar("sigma", sigma, "[0, inf]")
    often, apart = checks.count("participations", participations), checks.count("separation", separation)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size or table.dtype.kind not in "fiu":
        raise ParameterError("matrix", f"array of shape {table.shape}", "a square of real numbers")
    strategy = np.asarray(table, dtype=np.float64)
    if not np.all(np.abs(strategy) <= _LARGEST):
        raise ParameterError("matrix", checks.array_text(strategy), f"numbers of at most {_LARGEST:g}")
    row, column = np.nonzero(strategy)
    if np.any(row < column) or np.any(row - column >= apart):
        raise ParameterError("matrix", "other bands", f"lower triangular, with at most separation = {apart} bands")
    greatest = _greatest_sum(np.sum(strategy * strategy, axis=0), often, apart)
    if greatest == 0:
        return PrivacyCurve.of(Gaussian(0.0, EMPTIED))
    mu = float(np.sqrt(greatest)) / deviation if deviation else np.inf
    return PrivacyCurve.of(Gaussian(mu, EMPTIED, slack=(8 + 2 * strategy.shape[0]) * UNIT))


def _greatest_sum(values: FloatArray, often: int, apart: int) -> float:
    """The greatest sum of at most `often` values, of which no two are nearer than `apart`."""
    ending = values  # sums that end with each value
    for _ in range(min(often, -(-values.size // apart)) - 1):
        before = np.maximum.accumulate(ending)[: values.size - apart]
        ending = values + np.concatenate([np.zeros(min(apart, values.size)), before])
    return float(np.max(ending))
