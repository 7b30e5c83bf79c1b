"""A dominating pair from upper bounds of a curve at some epsilons: its curve is their chords."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.mechanisms.mechanism import Ends, Mechanism
from airtight.analytics.rounding import UNIT


@dataclass(frozen=True, eq=False)
class Majorant(Mechanism):
    r"""A pair that dominates every pair whose curve is nowhere above `delta`, in either order.

    Attributes
    ----------
    epsilon, delta : ndarray
        `epsilon` is increasing and at least 0, `delta` is decreasing. Below the first epsilon delta is 1; beyond the
        last epsilon delta keeps its last value.
    pure : float
        The epsilon from which on delta is 0.
    shift : float
        Amount by which every loss may be greater than that of the curve.

    Notes
    -----
    A curve is convex in :math:`e^\epsilon` and decreasing, so it is below the chords of its upper bounds. Let
    :math:`\delta'` be the curve before all losses are raised by at most s. Then :math:`\delta(\epsilon) \le
    \delta'(\epsilon - s)`; and, since :math:`(1-e^{-x})_+` has a slope of at most 1, :math:`\delta(\epsilon) \le
    \delta'(\epsilon) + s`.
    """

    epsilon: FloatArray
    delta: FloatArray
    pure: float = np.inf
    shift: float = 0.0
    unit: str = ""
    symmetric = True
    bounded_below = False

    def parameters(self) -> dict[str, Any]:
        raise NotImplementedError("a Majorant has no JSON form: make it again from the curve that it bounds")

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return self.pure

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        moved = np.maximum(epsilon - self.shift, 0.0)
        # at -x < 0 a curve is at most its value at 0 plus 1 - exp(-x)
        excess = -np.expm1(-np.maximum(self.shift - epsilon, 0.0))
        bound = np.minimum(self._chords(moved) + excess, self._chords(epsilon) + self.shift)
        bound = np.where((epsilon >= self.pure) & (self.pure < np.inf), 0.0, bound)
        upper = np.minimum(bound * (1 + 16 * UNIT), 1.0)
        return np.zeros(epsilon.shape), upper

    def _chords(self, at: FloatArray) -> FloatArray:
        """The chords of `delta`, which are straight in exp(epsilon)."""
        right_index = np.clip(np.searchsorted(self.epsilon, at, side="left"), 1, self.epsilon.size - 1)
        x, left, right = np.minimum(at, self.epsilon[-1]), self.epsilon[right_index - 1], self.epsilon[right_index]
        share = np.clip(np.expm1(np.minimum(x - right, 0.0)) / np.expm1(left - right), 0.0, 1.0)
        chord = self.delta[right_index] + share * (self.delta[right_index - 1] - self.delta[right_index])
        return np.where(at < self.epsilon[0], 1.0, chord)
