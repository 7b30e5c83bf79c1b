"""Exchange with ``dp_accounting``: import and export of its privacy loss distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.accounting import connect_the_dots
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Mechanism, register
from airtight.analytics.rounding import SMALLEST, UNIT

_MISSING = 1e-6  # an upper bound that lacks more mass than rounding explains is refused; what is lacking counts as infinite loss


@dataclass(frozen=True)
class Tabulated(Mechanism):
    """Loss distributions of both orders on a grid, which another library computed as upper or as lower bounds.

    Attributes
    ----------
    step : float
        Distance of the grid points.
    first : tuple of int
        Number of the first grid point, of either order.
    mass : tuple of tuple of float
        Masses at consecutive grid points, of either order.
    infinite : tuple of float
        Mass of the infinite loss, of either order.
    pessimistic : bool
        Whether the laws are upper bounds; otherwise they are lower bounds. The other bound of the curve is then 0 or 1.
    """

    step: float
    first: tuple[int, int]
    mass: tuple[tuple[float, ...], tuple[float, ...]]
    infinite: tuple[float, float]
    pessimistic: bool = True
    unit: str = ""

    def __post_init__(self) -> None:
        checks.scalar("step", self.step, "(0, inf)")
        checks.flag("pessimistic", self.pessimistic)
        for name in ("first", "mass", "infinite"):
            if not isinstance(getattr(self, name), list | tuple) or len(getattr(self, name)) != 2:
                raise ParameterError(name, getattr(self, name), "two entries, one for each order")
        object.__setattr__(self, "first", tuple(checks.integer("first", first).item() for first in self.first))
        object.__setattr__(self, "infinite", tuple(checks.scalar("infinite", x, "[0, 1]") for x in self.infinite))
        object.__setattr__(self, "mass", tuple(tuple(checks.real("mass", x, "[0, 1]").tolist()) for x in self.mass))
        for law, infinite in zip(self.mass, self.infinite, strict=True):
            total = math.fsum((*law, infinite))
            if self.pessimistic and total < 1 - _MISSING:
                raise ParameterError("mass", total, "masses whose sum with the infinite mass is at least 1")
            if not self.pessimistic and total > 1 + 4 * UNIT:
                raise ParameterError(
                    "mass", total, "masses whose sum with the infinite mass is at most 1 in a lower bound"
                )

    @property
    def spacing(self) -> float:  # type: ignore[override]
        return self.step

    @cached_property
    def symmetric(self) -> bool:  # type: ignore[override]
        return all(entry[0] == entry[1] for entry in (self.first, self.mass, self.infinite))

    def law(self, *, reverse: bool = False) -> LossDistribution:
        """Loss distribution of one order; mass that an upper bound lacks is at the infinite loss."""
        i = int(reverse)
        missing = max(1 - math.fsum((*self.mass[i], self.infinite[i])), 0.0) if self.pessimistic else 0.0
        return LossDistribution(self.step, self.first[i], np.asarray(self.mass[i]), self.infinite[i] + missing)

    @cached_property
    def _curves(self) -> tuple[_Chords, _Chords]:
        return _Chords.of(self.law()), _Chords.of(self.law(reverse=True))

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        chords = self._curves[int(reverse)]
        value, room = chords.at(epsilon), chords.rounding
        if self.pessimistic:
            return np.zeros(epsilon.shape), np.minimum(value * (1 + room) + np.where(value > 0, SMALLEST, 0.0), 1.0)
        return np.maximum(value * (1 - room) - SMALLEST, 0.0), np.ones(epsilon.shape)


@dataclass(frozen=True)
class _Chords:
    r"""The hockey-stick curve of a loss distribution: straight in :math:`e^\epsilon` between the grid points."""

    losses: FloatArray
    curve: FloatArray  # at the losses
    finite: float  # mass of the finite losses
    infinite: float

    @classmethod
    def of(cls, law: LossDistribution) -> _Chords:
        curve, total = connect_the_dots.summed(law.mass, law.infinite, law.step)
        return cls(law.losses, curve[: law.mass.size], total - law.infinite, law.infinite)

    @property
    def rounding(self) -> float:
        """Relative error: every sum has positive terms, and no more of them than there are losses."""
        return float((8 * self.losses.size + 64) * UNIT)

    def at(self, epsilon: FloatArray) -> FloatArray:
        """At each epsilon in [0, inf]."""
        if not self.losses.size:
            return np.full(epsilon.shape, self.infinite)
        right = np.clip(np.searchsorted(self.losses, epsilon, side="left"), 1, max(self.losses.size - 1, 1))
        left, right = right - 1, np.minimum(right, self.losses.size - 1)
        place = np.minimum(epsilon, self.losses[-1])
        width = np.expm1(self.losses[left] - self.losses[right])
        share = np.clip(np.expm1(place - self.losses[right]) / np.where(width < 0, width, -1.0), 0.0, 1.0)
        chord = self.curve[right] + share * (self.curve[left] - self.curve[right])
        # below all losses each of them counts: the sum of m (1 - e^(epsilon - l)) in terms of that at the first loss
        decay = np.exp(np.minimum(epsilon - self.losses[0], 0.0))
        below = (self.finite + self.infinite) * (1 - decay) + decay * self.curve[0]
        return np.asarray(np.where(epsilon < self.losses[0], below, chord))


def distribution(law: LossDistribution, pessimistic: bool) -> Any:
    """A ``PrivacyLossDistribution`` of one order.

    The library takes it for both orders. A guarantee needs the composition of this one and that of the other order.
    """
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    mass = pld_pmf.DensePLDPmf(law.step, law.first, law.mass, law.infinite, pessimistic)
    return privacy_loss_distribution.PrivacyLossDistribution(mass)


def tabulated(pld: Any, optimistic: bool, unit: str) -> Tabulated:
    """A release from the two loss distributions that a ``PrivacyLossDistribution`` holds."""
    if not hasattr(pld, "_pmf_remove"):
        raise ParameterError("source", type(pld).__name__, "a PrivacyLossDistribution or a DpEvent of dp_accounting")
    pmfs = [pld._pmf_remove, pld._pmf_add]
    pessimistic = bool(pmfs[0]._pessimistic_estimate)
    if not pessimistic and not optimistic:
        raise ParameterError("pld", "an optimistic estimate", "a pessimistic estimate unless optimistic=True is given")
    laws = [_law(pmf) for pmf in pmfs]
    step = float(pmfs[0]._discretization)
    return Tabulated(
        step,
        (laws[0][0], laws[1][0]),
        (tuple(laws[0][1].tolist()), tuple(laws[1][1].tolist())),
        (float(pmfs[0]._infinity_mass), float(pmfs[1]._infinity_mass)),
        pessimistic,
        unit,
    )


def _law(pmf: Any) -> tuple[int, FloatArray]:
    dense = pmf.to_dense_pmf()
    return int(dense._lower_loss), np.asarray(dense._probs, dtype=np.float64)


register(Tabulated, "tabulated")
