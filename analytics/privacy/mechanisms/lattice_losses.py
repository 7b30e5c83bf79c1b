r"""Noise on the integers: a pair whose privacy losses are equally spaced, and whose curve is known at these losses.

Let P be the law of the noise moved by a whole number s, and Q its law. If the loss at the integer k is :math:`L_k = (2k
- s)h`, it increases in k, and

.. math:: D_\lambda(P\|Q) = \max_k\; P(K > k) - \lambda Q(K > k)

is a convex function of :math:`\lambda` with breaks at the :math:`e^{L_k}` alone: between two breaks it is a chord. The
law is symmetric, so both orders have the same curve. The maximum rises with s, as :math:`P(K > k)` does: the shift s
dominates every smaller one, in either direction, at every :math:`\lambda > 0`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Mechanism
from airtight.analytics.rounding import SMALLEST, UNIT

_GREATEST_SHIFT = 2.0**50  # a place between two losses is then known to a quarter
_FARTHEST = 1e300  # a place where every curve is below the least double
_SHIFT = 16 * UNIT  # relative error of the place of an epsilon between the losses, as a shift of epsilon


@dataclass(frozen=True)
class LatticeLosses(Mechanism, ABC):
    """Noise on the integers, for a whole number of the greatest absolute value `sensitivity`."""

    sensitivity: int
    unit: str = ""
    symmetric = True

    def __post_init__(self) -> None:
        super().__post_init__()
        shift = checks.count("sensitivity", self.sensitivity, "[1, inf)")
        if shift > _GREATEST_SHIFT:
            raise ParameterError("sensitivity", shift, f"a whole number in [1, {_GREATEST_SHIFT:.0f}]")
        object.__setattr__(self, "sensitivity", shift)

    @property
    @abstractmethod
    def half_spacing(self) -> float:
        """The h of this module, with a relative error of at most three units."""

    @abstractmethod
    def at_losses(self, place: FloatArray) -> BracketArrays:
        """Lower and upper bound of delta at each loss 2 h place >= 0, where place + s/2 is a whole number."""

    @property
    def spacing(self) -> float:  # type: ignore[override]
        return self.half_spacing * (1 if self.sensitivity % 2 else 2)

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        possible = epsilon < np.inf  # no loss is infinite
        return np.where(possible, self._chord(epsilon, 1)[0], 0.0), np.where(possible, self._chord(epsilon, -1)[1], 0.0)

    def _chord(self, epsilon: FloatArray, side: int) -> BracketArrays:
        """Bounds of the chord at an epsilon that is moved up (`side` = 1) or down (-1) by more than rounding moves its place.

        The place is clipped to its interval between two losses. So wherever rounding puts it, the result is the curve at a point
        that is on the safe side of epsilon.
        """
        width, odd = 2 * self.half_spacing, self.sensitivity % 2 / 2  # of whole numbers, or of those and a half
        finite = np.minimum(epsilon, np.finfo(float).max / 4)
        with np.errstate(over="ignore"):
            place = np.minimum((finite + side * _SHIFT * (finite + width)) / width, _FARTHEST)
        left = np.maximum(np.floor(place - odd), -2 * odd) + odd
        right = left + 1
        share = np.clip(np.expm1((np.minimum(place, right) - right) * width) / np.expm1(-width), 0.0, 1.0)
        at_left, at_right = self._reflected(left), self.at_losses(right)
        lower, upper = (share * one + (1 - share) * other for one, other in zip(at_left, at_right, strict=True))
        positive = np.where(upper > 0, SMALLEST, 0.0)
        return np.maximum(lower * (1 - 8 * UNIT) - SMALLEST, 0.0), np.minimum(upper * (1 + 8 * UNIT) + positive, 1.0)

    def _reflected(self, place: FloatArray) -> BracketArrays:
        r"""As :meth:`at_losses`, also at the loss -h: :math:`\delta(-h) = 1 - e^{-h} + e^{-h}\delta(h)`."""
        lower, upper = self.at_losses(np.abs(place))
        loss = np.minimum(place, 0.0) * 2 * self.half_spacing
        rest, factor = 0.0 - np.expm1(loss), np.exp(loss)
        return (rest + factor * lower) * (1 - 8 * UNIT), (rest + factor * upper) * (1 + 8 * UNIT)
