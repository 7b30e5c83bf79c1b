r"""A lower bound of delta from one threshold test along the code, for a system and for all systems with less noise.

Given the other participants, let v be the variance of the noise without device k, s the variance that its own noise
adds, :math:`\lambda = e^\epsilon`, and A the event :math:`\langle y, e\rangle > \tau`, with e the direction of its
code. With n > f the coordinates of the two neighbours' codes along e, the difference :math:`P(A) - \lambda Q(A)` of the
neighbours is

.. math:: \text{absent:}\quad p\,\Phi\bigl(\tfrac{n-\tau}{\sqrt{v+s}}\bigr)
              - (\lambda - 1 + p)\,\Phi\bigl(\tfrac{-\tau}{\sqrt v}\bigr), \qquad n = d,

.. math:: \text{hidden:}\quad p\,\Phi\bigl(\tfrac{n-\tau}{\sqrt{v+s}}\bigr)
              - p\lambda\,\Phi\bigl(\tfrac{f-\tau}{\sqrt{v+s}}\bigr) - (1-p)(\lambda-1)\,\Phi\bigl(\tfrac{-\tau}{\sqrt v}\bigr),

:math:`n, f = d, 0` for ``silent`` and :math:`d/2, -d/2` for ``replace``. For :math:`0 < \tau \le n`, every term falls
when v or s rises. For :math:`\tau > n`, the first term rises with the noise, so it is at least its value at the
receiver's noise alone. So, if v and s are no lower than the true ones, and the first term for :math:`\tau > n` is taken
at the receiver's noise, the difference is a lower bound of delta for any choice of :math:`\tau` for each set of others.
The code takes the best of a few thresholds.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from airtight.analytics.guarantee import Adjacency
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.over_the_air.noise_mixture import Participation
from airtight.analytics.rounding import UNIT

_PLACES = np.arange(1, 49) / 48  # thresholds, in units of n
_ABOUT = np.geomspace(0.7, 1.6, 24)  # thresholds, in units of the optimal one at the receiver's noise alone
_ROUNDING = 1e-12  # bound of the rounding error, relative to the magnitudes of the terms


def delta_at_least(part: Participation, epsilon: float, row: int = 0) -> float:
    """The lower bound for kind `row` of a mixture; its device is ``absent`` in the neighbour, or its participation is
    hidden.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> from airtight.analytics.privacy.over_the_air import mixtures, observers
    >>> system = InferenceSystem(devices=4, participation=0.9, noise_variance=0.01, weight=1.0, clip=4.0, alignment=1.0,
    ...     receiver_noise_variance=1.0, dimension=1, delta=1e-5, delta_prime=1e-5)
    >>> (part,) = mixtures.participations(system, np.array([0]), 0.0)
    >>> low, high = delta_at_least(part, 2.0), float(observers.exact_delta(system, 2.0, device=0))
    >>> bool(0.99 < low / high < 1)
    True
    """
    part = part.unrounded()
    p, d = float(part.participation[row]), float(part.sensitivity[row])
    v, own = (part.variance[row] + part.slack)[:, None], part.own_noise[row] * (1 + _ROUNDING)
    near = d / 2 if part.adjacency is Adjacency.REPLACE else d
    receiver = float(part.receiver[row])
    if not (p > 0 and near > 0 and receiver > 0):
        return 0.0
    receiver_optimum = near / 2 + subsampling.unamplified(epsilon, p) * receiver / near
    thresholds = np.concatenate([near * _PLACES, receiver_optimum * _ABOUT])
    with np.errstate(all="ignore"):
        gain = p * special.ndtr((near - thresholds) / np.sqrt(np.where(thresholds <= near, v + own, receiver)))
        log_common_tail = special.log_ndtr(-thresholds / np.sqrt(v))
        doubt = _ROUNDING + 8 * UNIT * (epsilon - log_common_tail)
        if part.adjacency is Adjacency.ABSENT:
            loss = np.exp(epsilon + np.log1p((p - 1) * np.exp(-epsilon)) + log_common_tail)
        else:
            log_far_tail = special.log_ndtr((near - d - thresholds) / np.sqrt(v + own))
            loss = p * np.exp(epsilon + log_far_tail) + (1 - p) * np.exp(
                epsilon + np.log1p(-np.exp(-epsilon)) + log_common_tail
            )
        difference = np.nan_to_num(gain * (1 - _ROUNDING) - loss * (1 + doubt))
        total = np.sum(part.weights[row] * np.max(difference, axis=1, initial=0.0))
    rounding = part.error + (8 + v.size) * UNIT
    return float(max(total * (1 - rounding) - 2 * p * part.missing[row], 0.0))
