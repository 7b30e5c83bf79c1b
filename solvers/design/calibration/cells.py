"""A family of systems over a positive scale: the first scale that keeps a target epsilon, proved by bounds on cells.

The bounds are derived in :mod:`airtight.solvers.design.calibration.calibrate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.privacy.over_the_air import rounds as many

# relative accuracy of the edge: where the law of the others' noise is on a grid, epsilon is no more accurate
_NEAR = 2e-6
_CELL = 1.05  # ratio of the ends of a cell below which it is not divided further
_WIDE = 16.0  # ratio of the ends of the first cell
_GROWTH = 1.6  # factor on the logarithm of this ratio after each cell that was proved
_CELLS = 2000  # most cells
_EDGES = 8  # bisection steps for the proved part of the last cell


@dataclass(frozen=True)
class Target:
    """The target epsilon, the number of rounds and the observer."""

    epsilon: float
    rounds: int
    observer: Observer

    def upper(self, system: InferenceSystem, device: IntArray | None = None) -> FloatArray:
        """An upper bound of the epsilon of the devices, by default of all."""
        if self.rounds > 1:
            return np.atleast_1d(many.epsilon(system, rounds=self.rounds, device=device, observer=self.observer))
        return np.atleast_1d(observers.exact_epsilon(system, device=device, observer=self.observer))

    def excess(self, system: InferenceSystem, device: int) -> float:
        """An upper bound of how far the device exceeds the target; positive where it exceeds it.

        Over several rounds it is the logarithm of epsilon over the target. In one round delta at the target is mapped
        to z = sqrt(-2 log delta), which is nearly linear in the logarithm of the scale, and compared with z of the
        allowed delta.
        """
        with np.errstate(divide="ignore"):
            if self.rounds > 1:
                value = many.epsilon(system, rounds=self.rounds, device=device, observer=self.observer)
                return float(np.clip(np.log(float(value) / self.epsilon), -1e3, 1e3))
            value = observers.exact_delta(system, self.epsilon, device=device, observer=self.observer)
            upper = math.sqrt(-2 * max(float(np.log(min(float(value), 1.0))), -1e6))
        return math.sqrt(-2 * math.log(system.delta)) - upper

    def broken(self, system: InferenceSystem, device: int, *, quieter: bool = False) -> bool:
        """Whether it is proved that the device exceeds the target.

        With `quieter` it is proved for all lower noises as well, where the device takes its noise along. A proof for
        one round holds for several rounds: they reveal no less.
        """
        if observers.exceeds(system, self.epsilon, device=device, observer=self.observer, quieter=quieter):
            return True
        if self.rounds == 1 or quieter:
            return False
        lower, _ = many.bracket(system, rounds=self.rounds, device=device, observer=self.observer)
        return bool(lower > self.epsilon)


class Family:
    """A family of systems over a positive scale, and the device that was last found to exceed the target.

    Parameters
    ----------
    asked : Target
    at : callable
        The system at a scale.
    best : callable
        From the ends of a cell and a device: a system whose epsilon for this device is a lower bound on the whole cell.
    start : float
        The first scale.
    louder : bool
        Whether the scale is that of the noise.
    """

    def __init__(
        self,
        asked: Target,
        at: Callable[[float], InferenceSystem],
        best: Callable[[float, float, int], InferenceSystem],
        start: float,
        *,
        louder: bool = False,
    ) -> None:
        self.asked, self.at, self.best, self.louder = asked, at, best, louder
        self.least, self.where, self.worst = math.inf, math.nan, 0
        self.last: tuple[float, FloatArray] | None = None
        self.settles(start)

    def epsilons(self, scale: float) -> FloatArray:
        """Upper bounds of the epsilon of all devices; the last result is cached."""
        if self.last is None or self.last[0] != scale:
            self.last = scale, self.asked.upper(self.at(scale))
        return self.last[1]

    def settles(self, scale: float) -> bool:
        """Whether all devices keep the target; the device of greatest epsilon is stored."""
        reached = self.epsilons(scale)
        self.worst = int(np.argmax(reached))
        if reached[self.worst] < self.least:
            self.least, self.where = float(reached[self.worst]), scale
        return bool(reached[self.worst] <= self.asked.epsilon)

    def excess(self, scale: float) -> float:
        """An upper bound of the excess of the worst device."""
        return self.asked.excess(self.at(scale), self.worst)

    def kept(self, scale: float) -> bool:
        """Whether all devices keep the target; all are evaluated only if the worst known device keeps it."""
        if self.excess(scale) > 0:
            return False
        alone = self.asked.upper(self.at(scale), np.array([self.worst]))
        return bool(alone[0] <= self.asked.epsilon) and self.settles(scale)

    def broken(self, low: float, high: float) -> bool:
        """Whether it is proved that every scale of the cell exceeds the target."""
        if self.louder and high < math.inf and self.asked.broken(self.at(high), self.worst, quieter=True):
            return True
        return self.asked.broken(self.best(low, high, self.worst), self.worst)

    def edge(self, bad: float, good: float) -> float:
        """The first scale that keeps the target, between one that does not and one that does, to relative 2e-6."""
        x, end = math.log(bad), math.log(good)
        step = math.copysign(_NEAR, end - x)
        while True:
            worst = self.worst
            if self.excess(math.exp(x)) > 0 and self.excess(good) <= 0:
                x = optimize.brentq(lambda x: self.excess(math.exp(x)), x, end, xtol=_NEAR / 4)
            if abs(end - x) <= abs(step):
                return good
            if self.kept(math.exp(x)):
                return math.exp(x)
            if self.worst == worst:  # the same device: it exceeds the target only by the error of the evaluation
                x, step = x + step, 4 * step

    def first(self, start: float, stop: float) -> tuple[float | None, list[tuple[float, float]]]:
        """The first scale from start to stop that keeps the target, and the cells before it without a proof."""
        sign = math.copysign(1.0, stop - start)
        here, ratio = start, _WIDE
        unsettled: list[tuple[float, float]] = []
        for _ in range(_CELLS):
            if here == stop:
                return None, joined(unsettled)
            there = sign * min(sign * here * ratio**sign, sign * stop)
            low, high = min(here, there), max(here, there)
            if self.broken(low, high):
                here, ratio = there, ratio**_GROWTH
                continue
            if high > low * _CELL:
                ratio = math.sqrt(high / low)
                continue
            if self.kept(there):
                first_kept = self.edge(here, there)
                proved_end = self._proved(here, first_kept)
                return first_kept, joined([*unsettled, (min(proved_end, first_kept), max(proved_end, first_kept))])
            if not self.broken(low, high):  # `kept` may have found another worst device
                unsettled.append((low, high))
            here = there
        return None, joined([*unsettled, (min(here, stop), max(here, stop))])

    def _proved(self, far: float, near: float) -> float:
        """The scale between `far` and `near` up to which it is proved, from `far` on, that the target is exceeded."""
        proved_end, unproved_end = far, near
        for _ in range(_EDGES):
            middle = (proved_end + unproved_end) / 2
            if self.broken(min(proved_end, middle), max(proved_end, middle)):
                proved_end = middle
            else:
                unproved_end = middle
        return proved_end


def joined(cells: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The cells in increasing order, with touching cells joined."""
    merged: list[tuple[float, float]] = []
    for low, high in sorted(cells):
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged
