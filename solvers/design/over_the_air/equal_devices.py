r"""The joint problem of equal devices, to a proved gap: branch and bound over participation, noise and clip.

The gauge :math:`(w, \sigma, \gamma, g) \to (cw, c\sigma, \gamma/c, g/c)` changes neither epsilon nor MSE nor energy, so the
alignment stays where it is. The gain is the best one (closed form), and the weight is eliminated: at given participation, noise
and clip the MSE falls with it, epsilon and energy rise. What is left is a box of at most three dimensions, and on each smaller
box every quantity has a bound from its corners (docs/design.md):

* epsilon: :mod:`airtight.solvers.design.over_the_air.screen`, over many rounds
  :mod:`airtight.solvers.design.over_the_air.rounds`;
* the MSE of :mod:`airtight.solvers.design.over_the_air.moments` falls with participation and weight, rises with the noise;
  in the clip its parts are monotone;
* so does the energy :math:`\frac{\gamma^2}{|h|^2}(pw^2\sum_k\|z_k\|^2 + qKr\sigma^2)` at the least weight that keeps the MSE.

Thresholds are those of a fine grid; boxes bound everything between its points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design.effort import Effort
from airtight.solvers.design.over_the_air import branching
from airtight.solvers.design.over_the_air.moments import Moments
from airtight.solvers.design.over_the_air.requirements import Free, Goal
from airtight.solvers.design.over_the_air.screen import Box, Screen
from airtight.solvers.design.peak import Peak

_RAREST = 1e-3  # participation, but for 0 as the end of a box
_QUIETEST, _LOUDEST = 1e-6, 1e8  # noise, in units of the receiver's, but for 0
MARGIN = 1e-6  # of delta, kept off its limit by what is proposed
_DROWNED = 1e-9  # of the error of the constant output, left of the noise where any weight may be had
_ROUNDING = 1e-10  # of an error or an energy, likewise
_SEARCHED = 10  # tests that the search for the greatest weight counts as
_FEW = 64  # boxes at a time where a test is costly


@dataclass(frozen=True)
class Problem:
    """The problem on the unit cube of what is free among participation, noise, clip.

    With the goal epsilon, what is least is delta at the epsilon of the screen, at the least weight that keeps the error.
    """

    system: InferenceSystem
    free: frozenset[Free]
    moments: Moments
    screen: Screen | None
    error: float | None
    energy: float | None
    goal: Goal
    peak: Peak | None = None

    @property
    def axes(self) -> tuple[Free, ...]:
        """The dimensions of the cube; with nothing free but the weight one that changes nothing."""
        wanted = (Free.PARTICIPATION, Free.NOISE, Free.CLIP)
        return tuple(f for f in wanted if f in self.free and (f is not Free.CLIP or self.moments.clip.size > 1))

    def _at(self, cube: FloatArray, axis: Free, given: float) -> FloatArray:
        if axis not in self.axes:
            return np.full(cube.shape[0], given)
        t = cube[:, self.axes.index(axis)]
        if axis is Free.PARTICIPATION:
            return np.where(t > 0, _RAREST ** (1 - t), 0.0)
        unit = self.unit
        return np.where(t > 0, unit * _QUIETEST * (_LOUDEST / _QUIETEST) ** t, 0.0)

    @property
    def unit(self) -> float:
        """Of noise variances: the receiver's before the alignment, or else the square of the weighted clip."""
        floor = self.system.decoded_receiver_noise
        return floor if floor > 0 else float(self.system.weight[0] * self.system.clip[0]) ** 2 or 1.0

    def _clips(self, cube: FloatArray, rounding: Callable[[FloatArray], FloatArray]) -> IntArray:
        most = self.moments.clip.size - 1
        if Free.CLIP not in self.axes:
            return np.zeros(cube.shape[0], dtype=np.int64)
        return np.asarray(np.clip(rounding(cube[:, self.axes.index(Free.CLIP)] * most), 0, most), dtype=np.int64)

    def bound(self, low: FloatArray, high: FloatArray, enough: float = np.inf) -> FloatArray:
        """Of the goal, at least, on every box; where it is at least `enough` without it, privacy is not asked for."""
        p, s = float(self.system.participation[0]), float(self.system.noise_variance[0])
        own, others = self._at(low, Free.PARTICIPATION, p), self._at(high, Free.PARTICIPATION, p)
        quiet, loud = self._at(low, Free.NOISE, s), self._at(high, Free.NOISE, s)
        i, j = self._clips(low, np.floor), self._clips(high, np.ceil)
        return self._least(self._heard(own, others, quiet, loud), i, j, enough)[0]

    def value(self, points: FloatArray, enough: float = np.inf) -> FloatArray:
        """Of the goal at points; infinite where a constraint is broken, and where it is not below `enough`."""
        return self.at(points, enough)[0]

    def at(self, points: FloatArray, enough: float = np.inf) -> tuple[FloatArray, FloatArray]:
        """Values and the weights that go with them."""
        p = self._at(points, Free.PARTICIPATION, float(self.system.participation[0]))
        s = self._at(points, Free.NOISE, float(self.system.noise_variance[0]))
        i = self._clips(points, np.round)
        p = np.maximum(p, _RAREST) if Free.PARTICIPATION in self.axes else p
        return self._least(self._heard(p, p, s, s), i, i, enough, point=True)

    def designed(self, point: FloatArray) -> dict[Free, float]:
        """The variables at a point."""
        points = point[None, :]
        p = self._at(points, Free.PARTICIPATION, float(self.system.participation[0]))
        p = np.maximum(p, _RAREST) if Free.PARTICIPATION in self.axes else p
        return {
            Free.PARTICIPATION: float(p[0]),
            Free.NOISE: float(self._at(points, Free.NOISE, float(self.system.noise_variance[0]))[0]),
            Free.CLIP: float(self.moments.clip[self._clips(points, np.round)[0]]),
            Free.WEIGHT: float(self.at(points)[1][0]),
        }

    def _heard(self, own: FloatArray, others: FloatArray, quiet: FloatArray, loud: FloatArray) -> Box:
        """With the noise as it arrives."""
        scale = self.system.alignment**2
        return Box(own, others, scale * quiet, scale * loud)

    def _least(
        self, box: Box, i: IntArray, j: IntArray, enough: float, *, point: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """The goal at its most favourable corner, and the weight there; infinite where a constraint cannot be kept."""
        system, moments = self.system, self.moments
        K, gamma, floor = system.devices, system.alignment, system.decoded_receiver_noise
        own, others, quiet = box.own, box.others, box.quiet / gamma**2
        sends = np.ones_like(own) if system.idle_noise else own
        cost = float(np.max(gamma**2 / system.channel_gain))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # p^2 V: noise in the decoded mean, times p
            heard = K * quiet + floor if system.idle_noise else K * quiet * others + floor
            noisy = moments.decoder * heard / others**2
            hiss = cost * sends * system.dimension * K * quiet
            least = np.zeros_like(own)
            if self.error is not None:
                room = moments.room(i, j, others, self.error * (1 - _ROUNDING if point else 1))
                least = np.where(room > 0, np.sqrt(noisy / room), np.inf)
            most = np.full_like(own, np.inf)
            factor = 2.0 if system.adjacency is Adjacency.REPLACE else 1.0
            reach = factor * gamma * moments.clip[i]
            if Free.WEIGHT not in self.free:
                given = float(system.weight[0])
                least, most = np.where(given >= least * (1 - 1e-12), given, np.inf), np.full_like(own, given)
            if self.peak is not None:
                loudest = self.peak.greatest_weight(moments.clip[i], quiet)
                least = np.where(least <= loudest * (1 if point else 1 + MARGIN), least, np.inf)
                most = np.where(loudest < 0, 0.0, np.minimum(most, loudest) if Free.WEIGHT in self.free else most)
                most = np.where(most <= loudest * (1 + MARGIN), most, 0.0)
            if self.goal is Goal.ENERGY:
                # p w^2 falls with p where w is the least that keeps the MSE
                power = np.where(Free.WEIGHT in self.free, least**2 * others, least**2 * own)
                spent = np.where(np.isfinite(least), cost * power * moments.energy[i] + hiss, np.inf)
                return self._screened(box, least * reach, spent, enough, point), least
            if self.goal is Goal.EPSILON:
                power = np.where(Free.WEIGHT in self.free, least**2 * others, least**2 * own)
                spent = np.where(np.isfinite(least), cost * power * moments.energy[i] + hiss, np.inf)
                budget = np.inf if self.energy is None else self.energy * (1 - _ROUNDING if point else 1)
                return self._deltas(box, least * reach, (spent <= budget) & np.isfinite(spent), point), least
            if self.screen is not None:
                hopeless = self._hopeless(box, noisy, reach, i, j, enough, point)
                safest = self._safest(box, ~hopeless, point)
                most = np.minimum(most, safest / reach)
            if point and Free.WEIGHT in self.free:  # where epsilon holds at any weight, one that drowns the noise
                drowned = np.where(noisy * moments.own > 0, np.sqrt(noisy / (_DROWNED * moments.own)), 1 / reach)
                most = np.where(most < np.inf, most, drowned)
            noise = np.where(most < np.inf, noisy / most**2, 0.0)
            broken = most < (least if Free.WEIGHT not in self.free else 0.0) * (1 - 1e-12)
            if self.energy is not None:
                left = self.energy * (1 - _ROUNDING if point else 1) - hiss
                broken |= left <= 0
                limit = np.sqrt(np.maximum(left, 0.0) / (cost * moments.energy[i] * others))
                if Free.WEIGHT in self.free:
                    noise = np.maximum(noise, noisy / limit**2)
                    most = np.minimum(most, limit)
                else:
                    broken |= cost * own * most**2 * moments.energy[i] > left * (1 + 1e-12)
            broken |= ~(most > 0)
            found = np.where(broken, np.inf, moments.error(i, j, others, noise))
            if self.screen is not None:
                found = np.where(hopeless, np.inf if point else enough, found)
            return found, most

    def _hopeless(
        self, box: Box, noisy: FloatArray, reach: FloatArray, i: IntArray, j: IntArray, enough: float, point: bool
    ) -> NDArray[np.bool_]:
        """Whether the weight for an error of `enough` is tested to break epsilon: cheaper than to find the greatest weight."""
        if self.screen is None or self.screen.closed or not enough < np.inf or Free.WEIGHT not in self.free:
            return np.zeros(box.own.shape, bool)
        room = self.moments.room(i, j, box.others, enough)
        weight = np.where(room > 0, np.sqrt(noisy / np.maximum(room, 1e-300)), np.inf)
        out = ~np.isfinite(weight)
        rows = np.flatnonzero(~out)
        screen = self.screen.safe if point else self.screen
        out[rows] = screen.delta(box.only(rows), (weight * reach)[rows]) > self._total(point)
        return out

    def _safest(self, box: Box, wanted: NDArray[np.bool_], point: bool) -> FloatArray:
        """The greatest sensitivity of the boxes wanted; infinite of the others."""
        assert self.screen is not None
        screen, rows = self.screen.safe if point else self.screen, np.flatnonzero(wanted)
        out = np.full(box.own.shape, np.inf)
        out[rows] = screen.greatest(box.only(rows), self._total(point), kept=point)
        return out

    def _total(self, point: bool) -> float:
        return self.system.delta * (1 - MARGIN if point else 1)

    def _deltas(self, box: Box, sensitivity: FloatArray, allowed: NDArray[np.bool_], point: bool) -> FloatArray:
        """delta where everything else is kept, infinite elsewhere."""
        assert self.screen is not None
        screen, rows = self.screen.safe if point else self.screen, np.flatnonzero(allowed)
        out = np.full(sensitivity.shape, np.inf)
        out[rows] = screen.delta(box.only(rows), sensitivity[rows])
        return out

    def _screened(self, box: Box, sensitivity: FloatArray, spent: FloatArray, enough: float, point: bool) -> FloatArray:
        """Infinite where epsilon is broken; asked for where it matters alone."""
        rows = np.flatnonzero(spent < enough)
        if self.screen is None or not rows.size:
            return spent
        screen = self.screen.safe if point else self.screen
        safe = screen.delta(box.only(rows), sensitivity[rows]) <= self._total(point)
        spent[rows[~safe]] = np.inf
        return spent


def solve(problem: Problem, *, gap: float, effort: Effort, enough: float = -np.inf) -> branching.Found:
    """Branch and bound on the problem, until it is settled or the effort is spent."""
    dimensions = max(len(problem.axes), 1)
    few = problem.screen is not None and not problem.screen.closed
    cost = 1 if problem.screen is None else problem.screen.cost
    if problem.screen is not None and problem.screen.closed and problem.goal is Goal.ERROR:
        cost *= _SEARCHED
    found = branching.minimise(
        problem.bound,
        problem.value,
        dimensions,
        gap=gap,
        effort=max(effort.left // cost, 1),
        enough=enough,
        batch=_FEW if few else branching.BATCH,
    )
    effort.spend(cost * found.evaluations)
    return found
