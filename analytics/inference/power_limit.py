r"""The exact MSE when the peak power binds: each device's signal is shortened to the reach of its transmitter.

With the correct rule (:func:`~analytics.inference.transmission.exact_limit`) the server receives, per participant,
:math:`\tilde z\,\min(1, R/\|\tilde z\|)`, :math:`\tilde z \sim N(wz, \sigma^2I_r)`, :math:`R = h\sqrt P/\gamma`. For any
function c of the squared norm

.. math:: E[\tilde z\,c] = wz\,E[c(\sigma^2\chi^2_{r+2}(\delta))],\qquad
          E[\tilde z\tilde z^T c] = \sigma^2 I\,E[c(\sigma^2\chi^2_{r+2}(\delta))] + w^2zz^T\,E[c(\sigma^2\chi^2_{r+4}(\delta))],

:math:`\delta = \|wz\|^2/\sigma^2`, so mean and covariance, and with them the MSE, are one-dimensional.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from analytics.inference.distortion import Breakdown
from analytics.inference.features import Features, matched
from analytics.inference.system import InferenceSystem
from analytics.inference.transmission import reach_of

_POINTS = 4000


def exact_mse(system: InferenceSystem, features: Features, *, gain: ArrayLike, power: ArrayLike) -> Breakdown:
    r"""The MSE under the peak-power constraint, by cause; equals ``distortion.breakdown`` when power abounds.

    Parameters
    ----------
    system : InferenceSystem
        Without idle noise.
    features : Features
    gain : array_like, shape (K,) or scalar
        Channel amplitudes h_k >= 0.
    power : array_like, shape (K,) or scalar
        P_k > 0.

    Returns
    -------
    Breakdown
        Relative error below 1e-8 of each term. ``local_noise`` holds what the noise adds to the variance of the shortened
        signals, ``participation`` what their random presence adds.

    Examples
    --------
    >>> from analytics.inference.distortion import _lossless, exact
    >>> system, views = _lossless()
    >>> round(exact_mse(system, views, gain=1.0, power=1e6).total - exact(system, views), 9)
    0.0
    """
    matched(system, features)
    reach = reach_of(system, gain, power)
    p, z = system.participation, features.clipped(system.clip)
    signal = system.weight[:, None] * z
    length2 = np.sum(signal**2, axis=1)
    shrink, square2, square4 = (np.empty(system.devices) for _ in range(3))
    for k in range(system.devices):
        shrink[k], square2[k], square4[k] = _shortening(
            float(system.noise_variance[k]), float(length2[k]), float(reach[k]), system.dimension
        )
    mean = shrink[:, None] * signal @ features.D.T
    decoded = np.sum((signal @ features.D.T) ** 2, axis=1)
    decoder = float(np.sum(features.D**2))
    bias = float(np.sum((p @ mean - features.target) ** 2))
    presence = float(np.sum(p * (1 - p) * np.sum(mean**2, axis=1)))
    local = float(np.sum(p * (system.noise_variance * square2 * decoder + (square4 - shrink**2) * decoded)))
    return Breakdown(bias, presence, local, system.decoded_receiver_noise * decoder)


def _shortening(variance: float, length2: float, reach: float, dimension: int) -> tuple[float, float, float]:
    """E c over chi^2_{r+2}, E c^2 over chi^2_{r+2} and over chi^2_{r+4}, for c = min(1, reach / norm)."""
    if variance == 0:
        c = min(1.0, reach / np.sqrt(length2)) if length2 > 0 else 1.0
        return c, c * c, c * c
    delta, limit = length2 / variance, reach**2 / variance
    first = _expectation(dimension + 2, delta, limit, 0.5)
    return first, _expectation(dimension + 2, delta, limit, 1.0), _expectation(dimension + 4, delta, limit, 1.0)


def _expectation(degrees: int, delta: float, limit: float, power: float) -> float:
    """E min(1, limit / X)^power for X ~ chi^2_degrees(delta): a Poisson mixture of incomplete gamma functions."""
    centre, spread = delta / 2, np.sqrt(delta / 2)
    low, high = max(0.0, np.floor(centre - 9 * spread - 40)), np.ceil(centre + 9 * spread + 60)
    j = np.arange(low, high + 1, max((high - low) // _POINTS, 1))
    half = degrees / 2 + j
    log_weight = special.xlogy(j, centre) - centre - special.gammaln(j + 1)
    weight = np.exp(log_weight)
    weight /= weight.sum()
    inside = special.gammainc(half, limit / 2)
    # E[X^-power; X > limit] of a central chi-square: a chi-square of fewer degrees, times a ratio of gamma functions
    if limit == 0:
        return 0.0
    ratio = np.exp(power * np.log(limit / 2) + special.gammaln(half - power) - special.gammaln(half))
    return float(weight @ (inside + ratio * special.gammaincc(half - power, limit / 2)))
