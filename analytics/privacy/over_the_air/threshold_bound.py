r"""A lower bound of delta from one threshold test along the code, for a system and for every quieter one at once.

Given who else takes part, let v be the variance of the noise without device k, s what its own noise adds,
:math:`\lambda = e^\epsilon`, and A the event :math:`\langle y, e\rangle > \tau`, e the direction of its code. What neighbours
differ by in A is, with the codes' ends n > f along e,

.. math:: \text{absent:}\quad p\,\Phi\bigl(\tfrac{n-\tau}{\sqrt{v+s}}\bigr)
              - (\lambda - 1 + p)\,\Phi\bigl(\tfrac{-\tau}{\sqrt v}\bigr), \qquad n = d,

.. math:: \text{hidden:}\quad p\,\Phi\bigl(\tfrac{n-\tau}{\sqrt{v+s}}\bigr)
              - p\lambda\,\Phi\bigl(\tfrac{f-\tau}{\sqrt{v+s}}\bigr) - (1-p)(\lambda-1)\,\Phi\bigl(\tfrac{-\tau}{\sqrt v}\bigr),

:math:`n, f = d, 0` for ``silent`` and :math:`d/2, -d/2` for ``replace``. For :math:`0 < \tau \le n` every term falls when v or s
rises. Beyond n the first term rises, from what it is at the receiver's noise alone. So at noises no lower than the true ones, the
first term there at the receiver's, it is a lower bound of delta, whichever :math:`\tau` is taken for each set of others; here the
best of a few.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from airtight.analytics.guarantee import Adjacency
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.over_the_air.noise_mixture import Participation
from airtight.analytics.rounding import UNIT

_PLACES = np.arange(1, 49) / 48  # of thresholds, in units of the nearer end
_ABOUT = np.geomspace(0.7, 1.6, 24)  # and in units of what is best at the receiver's noise alone
_ROUNDING = 1e-12  # of the magnitudes added


def delta_at_least(part: Participation, epsilon: float, row: int = 0) -> float:
    """What one threshold shows of kind `row` of a law whose device takes its noise along, or hides that it does.

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
    alone = near / 2 + subsampling.unamplified(epsilon, p) * receiver / near
    at = np.concatenate([near * _PLACES, alone * _ABOUT])
    with np.errstate(all="ignore"):
        shown = p * special.ndtr((near - at) / np.sqrt(np.where(at <= near, v + own, receiver)))
        away = special.log_ndtr(-at / np.sqrt(v))
        doubt = _ROUNDING + 8 * UNIT * (epsilon - away)
        if part.adjacency is Adjacency.ABSENT:
            lost = np.exp(epsilon + np.log1p((p - 1) * np.exp(-epsilon)) + away)
        else:
            far = special.log_ndtr((near - d - at) / np.sqrt(v + own))
            lost = p * np.exp(epsilon + far) + (1 - p) * np.exp(epsilon + np.log1p(-np.exp(-epsilon)) + away)
        gained = np.nan_to_num(shown * (1 - _ROUNDING) - lost * (1 + doubt))
        total = np.sum(part.weights[row] * np.max(gained, axis=1, initial=0.0))
    rounding = part.error + (8 + v.size) * UNIT
    return float(max(total * (1 - rounding) - 2 * p * part.missing[row], 0.0))
