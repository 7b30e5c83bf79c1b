"""The gain of a channel that is known up to an estimation error: what it falls short of with a given probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray

LEAST_OUTAGE = 1e-20  # down to which SciPy's quantile is accurate; at 1e-50 it can be too great by a factor of three
_LEAST_ERROR = 2e-6  # down to which SciPy's quantile is used
_ERROR = 1e-9  # assumed relative error of SciPy's quantile; at most 1.2e-10 met, against contour integrals


def reliable_share(csi_error: ArrayLike, outage: ArrayLike) -> FloatArray:
    r"""Share s of the estimated gain: the true gain is below s times the estimate with probability `outage` at most.

    Parameters
    ----------
    csi_error : array_like
        v >= 0, the variance of e: the true coefficient is the estimate times 1 + e, e circular Gaussian.
    outage : array_like
        o in [1e-20, 1) where v is positive.

    Returns
    -------
    ndarray
        1 for v = 0. The outage quantile of :math:`|1+e|^2` less 1e-9 of itself, the assumed error of SciPy's quantile, for v from
        2e-6 on; below, a lower bound of it, which is within about v.

    Notes
    -----
    :math:`\tfrac2v|1+e|^2` is noncentral chi-square with two degrees of freedom and noncentrality 2/v. The bound:
    :math:`|1+e| \ge 1+\mathrm{Re}\,e`, so that :math:`\Pr(|1+e| \le x) \le \Phi\bigl((x-1)\sqrt{2/v}\bigr)`.

    Examples
    --------
    >>> reliable_share([0.0, 0.01, 0.1, 0.1], [0.0, 0.01, 0.01, 0.5]).round(4)
    array([1.    , 0.7026, 0.2649, 1.0504])
    """
    from scipy import special, stats

    v, o = np.broadcast_arrays(np.asarray(csi_error, dtype=np.float64), np.asarray(outage, dtype=np.float64))
    uncertain, near = v > 0, v >= _LEAST_ERROR
    o = np.where(uncertain, o, 0.5)
    along = 1 + np.sqrt(np.where(near, 0.0, v) / 2) * special.ndtri(o)
    variance = np.where(near, v, 1.0)
    quantile = stats.ncx2.ppf(o, 2, 2 / variance) * variance / 2
    return np.where(uncertain, np.where(near, quantile, along**2) * (1 - _ERROR), 1.0)
