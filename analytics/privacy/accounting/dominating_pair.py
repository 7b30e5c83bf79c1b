"""A dominating pair from upper bounds of a curve at some epsilons: the curve of its chords."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.mechanisms.mechanism import Ends, Mechanism
from airtight.analytics.rounding import UNIT


@dataclass(frozen=True, eq=False)
class Majorant(Mechanism):
    r"""What dominates every pair whose curve is nowhere above `delta`, in either order.

    Attributes
    ----------
    epsilon, delta : ndarray
        Rising, at least 0; falling. Below the first delta is 1, beyond the last it does not fall.
    pure : float
        Beyond which delta is 0.
    shift : float
        All losses may be greater by so much.

    Notes
    -----
    A curve is convex in :math:`e^\epsilon` and falls, so it is below the chords of values that are not below it. With losses
    moved by s, :math:`\delta(\epsilon) \le \delta'(\epsilon - s)`; also, as :math:`(1-e^{-x})_+` has slope 1 at most,
    :math:`\delta(\epsilon) \le \delta'(\epsilon) + s`.
    """

    epsilon: FloatArray
    delta: FloatArray
    pure: float = np.inf
    shift: float = 0.0
    unit: str = ""
    symmetric = True
    bounded_below = False

    def parameters(self) -> dict[str, Any]:
        raise NotImplementedError("a bound is made anew from what it bounds")

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return self.pure

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        moved = np.maximum(epsilon - self.shift, 0.0)
        early = -np.expm1(-np.maximum(self.shift - epsilon, 0.0))  # at negative arguments a curve rises no faster
        found = np.minimum(self._chords(moved) + early, self._chords(epsilon) + self.shift)
        found = np.where((epsilon >= self.pure) & (self.pure < np.inf), 0.0, found)
        upper = np.minimum(found * (1 + 16 * UNIT), 1.0)
        return np.zeros(epsilon.shape), upper

    def _chords(self, at: FloatArray) -> FloatArray:
        after = np.clip(np.searchsorted(self.epsilon, at, side="left"), 1, self.epsilon.size - 1)
        x, left, right = np.minimum(at, self.epsilon[-1]), self.epsilon[after - 1], self.epsilon[after]
        share = np.clip(np.expm1(np.minimum(x - right, 0.0)) / np.expm1(left - right), 0.0, 1.0)
        chord = self.delta[after] + share * (self.delta[after - 1] - self.delta[after])
        return np.where(at < self.epsilon[0], 1.0, chord)
