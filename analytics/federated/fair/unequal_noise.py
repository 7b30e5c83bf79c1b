"""A release with normal noise whose variance, too, may differ between neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.mechanisms import gaussian_pair
from airtight.analytics.privacy.mechanisms.mechanism import Ends, Mechanism, register
from airtight.analytics.rounding import SMALLEST, UNIT


@dataclass(frozen=True)
class UnequalNoise(Mechanism):
    r"""N(d e_1, s_P^2 I_r) against N(0, s_Q^2 I_r).

    Attributes
    ----------
    distance : float
        d, at most, of the means.
    deviation, neighbour : float
        s_P and s_Q > 0.
    dimension : int
        r.

    Notes
    -----
    :math:`D_\lambda(P\|Q) = 1 - \int\min(f_x, \lambda g)` for :math:`\lambda > 0`, x the difference of the means, f and g
    radially decreasing: layer by layer the volume of the intersection of two balls falls with :math:`|x|`. So the pair of
    greatest distance dominates all with these deviations, in either order.
    """

    distance: float
    deviation: float
    neighbour: float
    dimension: int
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "distance", checks.scalar("distance", self.distance, "[0, inf)"))
        for name in ("deviation", "neighbour"):
            object.__setattr__(self, name, checks.scalar(name, getattr(self, name), "(0, inf)"))
        object.__setattr__(self, "dimension", checks.count("dimension", self.dimension))

    def _variances(self, reverse: bool) -> tuple[float, float]:
        """In units of the neighbour's noise, so that nothing overflows."""
        ratio = (self.deviation / self.neighbour) ** 2
        return (1.0, ratio) if reverse else (ratio, 1.0)

    def greatest_loss(self, *, reverse: bool = False) -> float:
        first, second = self._variances(reverse)
        if first >= second:
            return np.inf if first > second or self.distance > 0 else 0.0
        d = self.distance / self.neighbour
        return float((self.dimension / 2 * np.log(second / first) + d * d / (2 * (second - first))) * (1 + 64 * UNIT))

    def reached_loss(self, *, reverse: bool = False) -> float:
        return self.greatest_loss(reverse=reverse) * (1 - 128 * UNIT)

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        first, second = self._variances(reverse)
        finite = epsilon < np.inf
        low, high = gaussian_pair.log_bracket(
            np.where(finite, epsilon, 0.0),
            distance=self.distance / self.neighbour,
            variance_p=first,
            variance_q=second,
            dimension=self.dimension,
        )
        room = 32 * UNIT  # of the ratios
        with np.errstate(under="ignore"):
            lower, upper = np.exp(low) * (1 - room), np.exp(high) * (1 + room) + SMALLEST
        upper = np.where(high > -np.inf, np.minimum(upper, 1.0), 0.0)
        return np.where(finite, lower, 0.0), np.where(finite, upper, 0.0)


register(UnequalNoise, "unequal_noise")
