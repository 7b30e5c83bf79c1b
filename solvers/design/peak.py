r"""Peak power: the greatest weight with which a device can send aligned in all but a given share of the queries.

A device sends :math:`(\gamma/h)(wz + n)` if its power suffices, :math:`\|wz + n\| \le R = h\sqrt P/\gamma` (Eq. (6)
corrected). The noise is unbounded, so the constraint limits the probability that the power does not suffice for the
longest code,

.. math:: \Pr\bigl(\sigma^2\chi_r^2(w^2C^2/\sigma^2) > R^2\bigr) \le \text{outage}.

This probability increases with w C. It also increases with the noise as long as w C <= R: measured in standard
deviations of the noise, the ball of radius R around -wz contains the origin and shrinks towards it. Where w C > R,
more than half of all queries fail, but the outage is at most 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from airtight.analytics.checks import FloatArray
from airtight.analytics.inference.block_energy import keeps_peak, peak_energy
from airtight.analytics.inference.system import InferenceSystem

_HALVINGS = 50  # bisection steps for the weight; the bracket shrinks to 2^-50 of its width


@dataclass(frozen=True)
class Peak:
    """The peak power constraint of every device.

    Attributes
    ----------
    reach : ndarray or float
        R > 0, h sqrt(P) / gamma.
    outage : float
        In (0, 1/2].
    dimension : int
    """

    reach: FloatArray | float
    outage: float
    dimension: int

    @classmethod
    def of(cls, system: InferenceSystem, power: float, outage: float) -> Peak:
        """The constraint for a peak power over a block of r symbols."""
        return cls(np.sqrt(system.channel_gain * power) / system.alignment, outage, system.dimension)

    @staticmethod
    def needed(system: InferenceSystem, outage: float) -> float:
        """The least peak power with which every device of a system keeps the outage."""
        energy = peak_energy((system.weight * system.clip) ** 2, system.noise_variance, system.dimension, outage)
        return float(np.max(energy * system.alignment**2 / system.channel_gain))

    def greatest_variance(self) -> FloatArray:
        """An upper bound of the noise variance with which a device can send at any weight."""
        least_quantile = 2 * special.gammainccinv(self.dimension / 2, self.outage) * (1 - 1e-9)
        return np.asarray(np.square(self.reach) / least_quantile)

    def greatest_weight(self, clip: FloatArray, noise: FloatArray) -> FloatArray:
        """A lower bound of the greatest weight at a clip and a noise variance; negative where no weight is allowed.

        Examples
        --------
        >>> Peak(2.0, 0.01, 4).greatest_weight(np.array([1.0]), np.array([0.0, 0.1, 0.5])).round(3)
        array([ 2.   ,  1.167, -1.   ])
        """
        reach, clip, variance = np.broadcast_arrays(np.asarray(self.reach, dtype=np.float64), clip, noise)
        low, high = np.zeros(reach.shape), np.array(reach)
        infeasible = ~self._kept(low, variance)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            safe = self._kept(middle, variance)
            low, high = np.where(safe, middle, low), np.where(safe, high, middle)
        return np.where(infeasible, -1.0, np.where(variance > 0, low, reach) / clip)

    def _kept(self, length: FloatArray, variance: FloatArray) -> NDArray[np.bool_]:
        """Whether a code of this length can be sent aligned with the outage."""
        return keeps_peak(np.square(self.reach), length * length, variance, self.dimension, self.outage)
