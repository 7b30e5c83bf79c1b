r"""Energy of a block :math:`wz + n`, n normal: a level that it rarely exceeds.

A peak limit of a transmitter (:class:`~airtight.analytics.inference.channel.PowerLimit`,
:mod:`airtight.solvers.design.peak`) asks for the energy that a block as long as its clip exceeds with a given probability.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics.checks import FloatArray

_GREATEST_NONCENTRALITY, _LEAST_OUTAGE = 1e6, 1e-100  # up to and from which SciPy's noncentral law is used
_ROUNDING = 1e-13  # of sums, roots and of the quantiles of a normal and a central law, which are accurate to as much
_DOUBT = 1e-9  # more than the relative error of SciPy's probabilities and quantiles there


def peak_energy(code: ArrayLike, noise: ArrayLike, dimension: int, outage: float) -> FloatArray:
    r"""An energy that a block, received at gain 1, exceeds with a probability of at most `outage`.

    Parameters
    ----------
    code : array_like
        :math:`s^2 = w^2\|z\|^2 \ge 0`, the energy without noise.
    noise : array_like
        :math:`\sigma^2 \ge 0`, per coordinate.
    dimension : int
        r.
    outage : float
        :math:`\eta`, in (0, 1).

    Notes
    -----
    :math:`\|wz + n\|^2/\sigma^2` is noncentral :math:`\chi^2` of r degrees and noncentrality :math:`s^2/\sigma^2`. Its
    quantile is raised by 1e-9 of itself, more than the error of SciPy's. For a noncentrality above 1e6 or an outage below
    1e-100, where SciPy's is not accurate, the energy is the lesser of two bounds.

    * :math:`(\sqrt{s^2 + r\sigma^2} + \sigma\sqrt{2\ln(1/\eta)})^2`. *Proof.* The norm of the block has at most the first term
      as its mean, and is a :math:`\sigma`-Lipschitz function of a standard normal vector.
    * :math:`(s + \sigma\Phi^{-1}(1 - .998\eta))^2 + \sigma^2F_{r-1}^{-1}(1 - \eta/1000)`, F the central law, for a noncentrality
      above 1e6. *Proof.* The part of n along z exceeds its quantile with probability :math:`.998\eta`, the square of the others
      theirs with :math:`\eta/1000`. That the first falls below -2s has a probability below exp(-2e6).

    Examples
    --------
    >>> peak_energy(1.0, [0.0, 0.1], 8, 0.01).round(4)
    array([1.    , 3.9209])
    """
    from scipy import stats

    near, unit, noncentrality, bound = _energy_law(code, noise, dimension, outage)
    return np.where(near, unit * stats.ncx2.isf(outage, dimension, noncentrality) * (1 + _DOUBT), bound)


def keeps_peak(
    energy: ArrayLike, code: ArrayLike, noise: ArrayLike, dimension: int, outage: float
) -> NDArray[np.bool_]:
    """Whether :func:`peak_energy` is at most `energy`; this needs no quantile and costs a tenth.

    Examples
    --------
    >>> keeps_peak([3.92, 3.93], 1.0, 0.1, 8, 0.01)
    array([False,  True])
    """
    from scipy import stats

    near, unit, noncentrality, bound = _energy_law(code, noise, dimension, outage)
    exceeded = stats.ncx2.sf(np.asarray(energy) / (1 + _DOUBT) / unit, dimension, noncentrality)
    return np.where(near, exceeded <= outage, bound <= np.asarray(energy))


def _energy_law(
    code: ArrayLike, noise: ArrayLike, dimension: int, outage: float
) -> tuple[NDArray[np.bool_], FloatArray, FloatArray, FloatArray]:
    """Where SciPy's noncentral law is accurate, its unit and noncentrality there, and the bound of :func:`peak_energy`."""
    from scipy import special

    s2, sigma2 = np.broadcast_arrays(np.asarray(code, dtype=np.float64), np.asarray(noise, dtype=np.float64))
    near = (sigma2 > 0) & (s2 <= _GREATEST_NONCENTRALITY * sigma2) & (outage >= _LEAST_OUTAGE)
    unit = np.where(near, sigma2, 1.0)
    sigma = np.sqrt(sigma2)
    bound = (np.sqrt(s2 + dimension * sigma2) + sigma * np.sqrt(-2 * np.log(outage))) ** 2
    along = np.sqrt(s2) - sigma * special.ndtri(0.998 * outage)
    across = 2 * special.gammainccinv((dimension - 1) / 2, outage / 1000) if dimension > 1 else 0.0
    far = s2 > _GREATEST_NONCENTRALITY * sigma2
    bound = np.where(far, np.minimum(bound, along**2 + sigma2 * across), bound) * (1 + _ROUNDING)
    return near, unit, np.where(near, s2 / unit, 0.0), bound
