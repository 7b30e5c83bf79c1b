"""Systems over a positive scale: the first on the way that keeps a target epsilon, proved by bounds on cells.

What is bounded and why is said in :mod:`airtight.solvers.design.calibration.calibrate`.
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

_NEAR = 2e-6  # relative distance to the limit: where the law of the others' noise is on a grid, no evaluation is nearer
_CELL = 1.05  # ratio of the ends of the last cells where it is not, before the edge is sought inside one
_WIDE = 16.0  # ratio of the ends of the first one
_GROWTH = 1.6  # of its logarithm after each that was settled
_CELLS = 2000
_EDGES = 8


@dataclass(frozen=True)
class Target:
    """The target, and how epsilon is evaluated."""

    epsilon: float
    rounds: int
    observer: Observer

    def upper(self, system: InferenceSystem, device: IntArray | None = None) -> FloatArray:
        """Epsilon of the devices, all by default, from above."""
        if self.rounds > 1:
            return np.atleast_1d(many.epsilon(system, rounds=self.rounds, device=device, observer=self.observer))
        return np.atleast_1d(observers.exact_epsilon(system, device=device, observer=self.observer))

    def excess(self, system: InferenceSystem, device: int) -> float:
        """The upper end of a measure of how far the device is from the target: positive where it breaks it, in a mild unit."""
        with np.errstate(divide="ignore"):
            if self.rounds > 1:
                found = many.epsilon(system, rounds=self.rounds, device=device, observer=self.observer)
                return float(np.clip(np.log(float(found) / self.epsilon), -1e3, 1e3))
            found = observers.exact_delta(system, self.epsilon, device=device, observer=self.observer)
            upper = math.sqrt(-2 * max(float(np.log(min(float(found), 1.0))), -1e6))
        return math.sqrt(-2 * math.log(system.delta)) - upper

    def broken(self, system: InferenceSystem, device: int, *, quieter: bool = False) -> bool:
        """Whether the device is proved to break the target; with all lower noises too, where it takes its own along.

        What one query gives away, all of them do.
        """
        if observers.exceeds(system, self.epsilon, device=device, observer=self.observer, quieter=quieter):
            return True
        if self.rounds == 1 or quieter:
            return False
        lower, _ = many.bracket(system, rounds=self.rounds, device=device, observer=self.observer)
        return bool(lower > self.epsilon)


class Family:
    """A family of systems over a positive scale, and the device that was last found to break the target.

    `louder`: whether the scale is that of the noise.
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
        """Of all devices, from above; the last ones are kept."""
        if self.last is None or self.last[0] != scale:
            self.last = scale, self.asked.upper(self.at(scale))
        return self.last[1]

    def settles(self, scale: float) -> bool:
        """Whether all devices keep the target; the worst of them is remembered."""
        found = self.epsilons(scale)
        self.worst = int(np.argmax(found))
        if found[self.worst] < self.least:
            self.least, self.where = float(found[self.worst]), scale
        return bool(found[self.worst] <= self.asked.epsilon)

    def excess(self, scale: float) -> float:
        """Of the worst device, from above."""
        return self.asked.excess(self.at(scale), self.worst)

    def kept(self, scale: float) -> bool:
        """Whether all devices keep the target; the others are tried where the worst one does."""
        if self.excess(scale) > 0:
            return False
        alone = self.asked.upper(self.at(scale), np.array([self.worst]))
        return bool(alone[0] <= self.asked.epsilon) and self.settles(scale)

    def broken(self, low: float, high: float) -> bool:
        """Whether the whole cell is proved to break the target."""
        if self.louder and high < math.inf and self.asked.broken(self.at(high), self.worst, quieter=True):
            return True
        return self.asked.broken(self.best(low, high, self.worst), self.worst)

    def edge(self, bad: float, good: float) -> float:
        """Between a scale that breaks the target and one that keeps it, the first that keeps it, to relative 2e-6."""
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
            if self.worst == worst:  # no more than the rounding of the evaluation
                x, step = x + step, 4 * step

    def first(self, start: float, stop: float) -> tuple[float | None, list[tuple[float, float]]]:
        """The first scale on the way from start to stop that keeps the target, and the cells before it left open."""
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
                found = self.edge(here, there)
                proved = self._proved(here, found)
                return found, joined([*unsettled, (min(proved, found), max(proved, found))])
            if not self.broken(low, high):  # by the device that breaks it now
                unsettled.append((low, high))
            here = there
        return None, joined([*unsettled, (min(here, stop), max(here, stop))])

    def _proved(self, far: float, near: float) -> float:
        """How far from the one end towards the other the target is proved to be broken."""
        proved, beyond = far, near
        for _ in range(_EDGES):
            middle = (proved + beyond) / 2
            if self.broken(min(proved, middle), max(proved, middle)):
                proved = middle
            else:
                beyond = middle
        return proved


def joined(cells: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Cells in order, those that touch made one."""
    out: list[tuple[float, float]] = []
    for low, high in sorted(cells):
        if out and low <= out[-1][1]:
            out[-1] = out[-1][0], max(high, out[-1][1])
        else:
            out.append((low, high))
    return out
