r"""The joint problem of equal devices with a proved gap: branch and bound over participation, noise and clip.

The gauge :math:`(w, \sigma, \gamma, g) \to (cw, c\sigma, \gamma/c, g/c)` changes neither epsilon nor MSE nor energy,
so the alignment is not changed. The gain is the best one, in closed form. The weight is eliminated: at a given
participation, noise and clip, the MSE decreases with the weight, and epsilon and energy increase. The remaining
variables are a box of at most three dimensions. On each smaller box every quantity has a bound from the corners of the
box (docs/howto-design.md):

* epsilon, over several rounds too: :mod:`airtight.solvers.design.over_the_air.box_bounds`;
* the MSE of :mod:`airtight.solvers.design.over_the_air.moments` decreases with participation and weight and increases
  with the noise; as a function of the clip, its parts are monotone;
* the energy :math:`\frac{\gamma^2}{|h|^2}(pw^2\sum_k\|z_k\|^2 + qKr\sigma^2)`, at the least weight that keeps the MSE,
  is bounded in the same way.

Clipping thresholds are those of a fine grid; the boxes bound all quantities between its points as well.
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
from airtight.solvers.design.over_the_air.box_bounds import Box, DeltaTest
from airtight.solvers.design.over_the_air.moments import Moments
from airtight.solvers.design.peak import Peak
from airtight.solvers.design.requirements import Free, Goal

BATCH = 4096  # boxes that are split in one step
_TRIALS = 8  # in one of this number of boxes, the middle and both ends are evaluated
_MOST_BOXES = 3_000_000  # boxes after which the search stops: the memory is limited

Bound = Callable[[FloatArray, FloatArray, float], FloatArray]
Value = Callable[[FloatArray, float], FloatArray]


@dataclass(frozen=True)
class Found:
    """The best point (None when none was found), its value, a lower bound, and the numbers of boxes and evaluations."""

    point: FloatArray | None
    value: float
    lower: float
    boxes: int
    evaluations: int


def minimise(
    bound: Bound,
    value: Value,
    dimensions: int,
    *,
    gap: float,
    effort: int,
    enough: float = -np.inf,
    batch: int = BATCH,
) -> Found:
    """Minimise a function over the unit cube.

    Parameters
    ----------
    bound : callable
        From the lower and the upper ends of n boxes, shape (n, dimensions), and a number: a lower bound of the value
        on each box. Bounds above the number need not be sharp. Infinite where no point of the box is feasible.
    value : callable
        From n points and the least value so far: their values. Infinite where a point is infeasible; any number that
        is not less than the least value so far is allowed where the value is not less either.
    gap : float
        The relative gap at which the search stops.
    effort : int
        The number of bounds and values, counted per box and point, after which the search stops.
    enough : float
        A value at which the search stops. Until it is reached, a box is kept unless its bound is above it.
    batch : int
        Boxes split in one step.

    Notes
    -----
    Boxes are split in the middle of their longest side. A box is dropped when its bound is at least the best value
    minus the gap, so at the end no point of the cube has a value below that. When effort or memory ends first, the
    least bound of all boxes is proved instead. The value is infinite when no point was found; the lower bound is then
    infinite only where every box was excluded, so that no point is feasible.

    Examples
    --------
    >>> def square(x, least=np.inf):
    ...     return 1 + np.sum((x - 0.3) ** 2, axis=1)
    >>> best = minimise(lambda low, high, _: square(np.clip(0.3, low, high)), square, 2, gap=1e-3, effort=10_000)
    >>> 0.999 <= best.lower <= best.value <= 1.001
    True
    """
    low, high = np.zeros((1, dimensions)), np.ones((1, dimensions))
    bounds = bound(low, high, np.inf)
    best, point, boxes, evaluations = np.inf, None, 1, 1
    just_above_enough = float(np.nextafter(enough, np.inf)) if enough > -np.inf else -np.inf
    least_dropped = np.inf
    while low.shape[0]:
        batch_size = min(batch, max((effort - evaluations) // 3, 1))
        order = np.argsort(bounds, kind="stable")[:batch_size]
        middle = (low[order] + high[order]) / 2
        trial_count = max(order.size // _TRIALS, 1)
        for trial in (middle[:trial_count], high[order[:trial_count]], low[order[:trial_count]]):
            values = value(trial, best)
            evaluations += values.size
            k = int(np.argmin(values))
            if values[k] < best:
                best, point = float(values[k]), trial[k].copy()
        cutoff = (
            max(best - gap * abs(best), just_above_enough)
            if best < np.inf
            else (just_above_enough if just_above_enough > -np.inf else np.inf)
        )
        if best <= enough or float(bounds.min()) >= cutoff or boxes > _MOST_BOXES or evaluations >= effort:
            break
        side = np.argmax(high[order] - low[order], axis=1)
        rows = np.arange(order.size)
        lower_half_high, upper_half_low = high[order].copy(), low[order].copy()
        lower_half_high[rows, side] = upper_half_low[rows, side] = middle[rows, side]
        new_low, new_high = np.concatenate([low[order], upper_half_low]), np.concatenate([lower_half_high, high[order]])
        new_bounds = bound(new_low, new_high, cutoff)
        boxes += new_bounds.size
        evaluations += new_bounds.size
        unsplit = np.ones(low.shape[0], bool)
        unsplit[order] = False
        low, high = np.concatenate([low[unsplit], new_low]), np.concatenate([high[unsplit], new_high])
        bounds = np.concatenate([bounds[unsplit], new_bounds])
        keep = bounds < cutoff
        least_dropped = min(least_dropped, float(bounds[~keep].min(initial=np.inf)))
        low, high, bounds = low[keep], high[keep], bounds[keep]
    return Found(point, best, min(float(bounds.min(initial=np.inf)), least_dropped, best), boxes, evaluations)


_RAREST = 1e-3  # least participation other than 0, which is only the end of a box
_QUIETEST, _LOUDEST = 1e-6, 1e8  # least and greatest noise other than 0, in units of :attr:`Problem.unit` and `loudest_unit`
MARGIN = 1e-6  # relative distance that proposed points keep from the limit on delta
_NEGLIGIBLE_NOISE = 1e-9  # share of the constant output's error that noise may cause where every weight keeps epsilon
_ROUNDING = 1e-10  # relative distance that proposed points keep from the limits on error and energy
_SEARCH_COST = 10  # tests that the search for the greatest weight counts as
_COSTLY_BATCH = 64  # boxes per step where a test has no closed form


@dataclass(frozen=True)
class Problem:
    """The problem on the unit cube of the free variables among participation, noise and clip.

    With the goal epsilon, it minimises delta at the epsilon of the screen, at the least weight that keeps the error.
    """

    system: InferenceSystem
    free: frozenset[Free]
    moments: Moments
    screen: DeltaTest | None
    error: float | None
    energy: float | None
    goal: Goal
    peak: Peak | None = None

    @property
    def axes(self) -> tuple[Free, ...]:
        """The free variables among participation, noise and clip: the dimensions of the cube."""
        candidates = (Free.PARTICIPATION, Free.NOISE, Free.CLIP)
        return tuple(f for f in candidates if f in self.free and (f is not Free.CLIP or self.moments.clip.size > 1))

    def _at(self, cube: FloatArray, axis: Free, default: float) -> FloatArray:
        if axis not in self.axes:
            return np.full(cube.shape[0], default)
        t = cube[:, self.axes.index(axis)]
        if axis is Free.PARTICIPATION:
            return np.where(t > 0, _RAREST ** (1 - t), 0.0)
        unit = self.unit
        return np.where(t > 0, unit * _QUIETEST * (_LOUDEST * (self.loudest_unit / unit) / _QUIETEST) ** t, 0.0)

    @property
    def unit(self) -> float:
        """The unit of noise variances: the decoded receiver noise or, if it is 0, the square of the weighted clip."""
        floor = self.system.decoded_receiver_noise
        return floor if floor > 0 else float(self.system.weight[0] * self.system.clip[0]) ** 2 or 1.0

    @property
    def loudest_unit(self) -> float:
        """The unit of the greatest noise: a code of a given weight may be far above the receiver noise, and needs as much."""
        if Free.WEIGHT in self.free:
            return self.unit
        return max(self.unit, float(self.system.weight[0] * self.moments.clip[-1]) ** 2)

    def _clips(self, cube: FloatArray, rounding: Callable[[FloatArray], FloatArray]) -> IntArray:
        last = self.moments.clip.size - 1
        if Free.CLIP not in self.axes:
            return np.zeros(cube.shape[0], dtype=np.int64)
        return np.asarray(np.clip(rounding(cube[:, self.axes.index(Free.CLIP)] * last), 0, last), dtype=np.int64)

    def bound(self, low: FloatArray, high: FloatArray, enough: float = np.inf) -> FloatArray:
        """Lower bounds of the goal on boxes; epsilon is not tested where the bound without it is at least `enough`."""
        p, s = float(self.system.participation[0]), float(self.system.noise_variance[0])
        p_own, p_others = self._at(low, Free.PARTICIPATION, p), self._at(high, Free.PARTICIPATION, p)
        quiet, loud = self._at(low, Free.NOISE, s), self._at(high, Free.NOISE, s)
        i, j = self._clips(low, np.floor), self._clips(high, np.ceil)
        return self._corner(self._received(p_own, p_others, quiet, loud), i, j, enough)[0]

    def value(self, points: FloatArray, enough: float = np.inf) -> FloatArray:
        """The goal at points; infinite where a constraint is violated.

        Where the goal is not below `enough`, the result may be any number that is not below it either.
        """
        return self.at(points, enough)[0]

    def at(self, points: FloatArray, enough: float = np.inf) -> tuple[FloatArray, FloatArray]:
        """The goal at points, and the weights that attain it."""
        p = self._at(points, Free.PARTICIPATION, float(self.system.participation[0]))
        s = self._at(points, Free.NOISE, float(self.system.noise_variance[0]))
        i = self._clips(points, np.round)
        p = np.maximum(p, _RAREST) if Free.PARTICIPATION in self.axes else p
        return self._corner(self._received(p, p, s, s), i, i, enough, point=True)

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

    def _received(self, p_own: FloatArray, p_others: FloatArray, quiet: FloatArray, loud: FloatArray) -> Box:
        """The boxes with the noise variances at the receiver."""
        scale = self.system.alignment**2
        return Box(p_own, p_others, scale * quiet, scale * loud)

    def _corner(
        self, box: Box, i: IntArray, j: IntArray, enough: float, *, point: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """The goal at the most favourable corner and the weight there; infinite where a constraint cannot be kept."""
        system, moments = self.system, self.moments
        K, gamma, floor = system.devices, system.alignment, system.decoded_receiver_noise
        p_own, p_others, quiet = box.own, box.others, box.quiet / gamma**2
        sends = np.ones_like(p_own) if system.idle_noise else p_own
        cost = float(np.max(gamma**2 / system.channel_gain))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # p^2 V: variance of the noise in the decoded mean, times p^2
            received_variance = K * quiet + floor if system.idle_noise else K * quiet * p_others + floor
            decoded_noise = moments.decoder * received_variance / p_others**2
            noise_energy = cost * sends * system.dimension * K * quiet
            least_weight = np.zeros_like(p_own)
            if self.error is not None:
                room = moments.room(i, j, p_others, self.error * (1 - _ROUNDING if point else 1))
                least_weight = np.where(room > 0, np.sqrt(decoded_noise / room), np.inf)
            weight_limit = np.full_like(p_own, np.inf)
            factor = 2.0 if system.adjacency is Adjacency.REPLACE else 1.0
            sensitivity_per_weight = factor * gamma * moments.clip[i]
            if Free.WEIGHT not in self.free:
                fixed_weight = float(system.weight[0])
                least_weight, weight_limit = (
                    np.where(fixed_weight >= least_weight * (1 - 1e-12), fixed_weight, np.inf),
                    np.full_like(p_own, fixed_weight),
                )
            if self.peak is not None:
                peak_weight = self.peak.greatest_weight(moments.clip[i], quiet)
                least_weight = np.where(
                    least_weight <= peak_weight * (1 if point else 1 + MARGIN), least_weight, np.inf
                )
                weight_limit = np.where(
                    peak_weight < 0,
                    0.0,
                    np.minimum(weight_limit, peak_weight) if Free.WEIGHT in self.free else weight_limit,
                )
                weight_limit = np.where(weight_limit <= peak_weight * (1 + MARGIN), weight_limit, 0.0)
            if self.goal is Goal.ENERGY:
                # p w^2 decreases in p where w is the least weight that keeps the MSE
                power = np.where(Free.WEIGHT in self.free, least_weight**2 * p_others, least_weight**2 * p_own)
                spent = np.where(np.isfinite(least_weight), cost * power * moments.energy[i] + noise_energy, np.inf)
                return self._screened(box, least_weight * sensitivity_per_weight, spent, enough, point), least_weight
            if self.goal is Goal.EPSILON:
                power = np.where(Free.WEIGHT in self.free, least_weight**2 * p_others, least_weight**2 * p_own)
                spent = np.where(np.isfinite(least_weight), cost * power * moments.energy[i] + noise_energy, np.inf)
                budget = np.inf if self.energy is None else self.energy * (1 - _ROUNDING if point else 1)
                return self._deltas(
                    box, least_weight * sensitivity_per_weight, (spent <= budget) & np.isfinite(spent), point
                ), least_weight
            if self.screen is not None:
                exceeds_epsilon = self._exceeds_epsilon(box, decoded_noise, sensitivity_per_weight, i, j, enough, point)
                greatest_sensitivity = self._greatest_sensitivity(box, ~exceeds_epsilon, point)
                weight_limit = np.minimum(weight_limit, greatest_sensitivity / sensitivity_per_weight)
            if (
                point and Free.WEIGHT in self.free
            ):  # where every weight keeps epsilon: one at which the noise is negligible
                negligible_noise_weight = np.where(
                    decoded_noise * moments.target_power > 0,
                    np.sqrt(decoded_noise / (_NEGLIGIBLE_NOISE * moments.target_power)),
                    1 / sensitivity_per_weight,
                )
                weight_limit = np.where(weight_limit < np.inf, weight_limit, negligible_noise_weight)
            noise = np.where(weight_limit < np.inf, decoded_noise / weight_limit**2, 0.0)
            violated = weight_limit < (least_weight if Free.WEIGHT not in self.free else 0.0) * (1 - 1e-12)
            if self.energy is not None:
                energy_left = self.energy * (1 - _ROUNDING if point else 1) - noise_energy
                violated |= energy_left <= 0
                energy_weight = np.sqrt(np.maximum(energy_left, 0.0) / (cost * moments.energy[i] * p_others))
                if Free.WEIGHT in self.free:
                    noise = np.maximum(noise, decoded_noise / energy_weight**2)
                    weight_limit = np.minimum(weight_limit, energy_weight)
                else:
                    violated |= cost * p_own * weight_limit**2 * moments.energy[i] > energy_left * (1 + 1e-12)
            violated |= ~(weight_limit > 0)
            mse = np.where(violated, np.inf, moments.error(i, j, p_others, noise))
            if self.screen is not None:
                mse = np.where(exceeds_epsilon, np.inf if point else enough, mse)
            return mse, weight_limit

    def _exceeds_epsilon(
        self,
        box: Box,
        decoded_noise: FloatArray,
        sensitivity_per_weight: FloatArray,
        i: IntArray,
        j: IntArray,
        enough: float,
        point: bool,
    ) -> NDArray[np.bool_]:
        """Whether the weight for an error of `enough` exceeds epsilon: faster than a search for the greatest weight."""
        if self.screen is None or self.screen.closed or not enough < np.inf or Free.WEIGHT not in self.free:
            return np.zeros(box.own.shape, bool)
        room = self.moments.room(i, j, box.others, enough)
        weight = np.where(room > 0, np.sqrt(decoded_noise / np.maximum(room, 1e-300)), np.inf)
        exceeds = ~np.isfinite(weight)
        rows = np.flatnonzero(~exceeds)
        screen = self.screen.safe if point else self.screen
        exceeds[rows] = screen.delta(box.only(rows), (weight * sensitivity_per_weight)[rows]) > self._total(point)
        return exceeds

    def _greatest_sensitivity(self, box: Box, selected: NDArray[np.bool_], point: bool) -> FloatArray:
        """The greatest sensitivity on the `selected` boxes; infinite on the others."""
        assert self.screen is not None
        screen, rows = self.screen.safe if point else self.screen, np.flatnonzero(selected)
        sensitivities = np.full(box.own.shape, np.inf)
        sensitivities[rows] = screen.greatest(box.only(rows), self._total(point), kept=point)
        return sensitivities

    def _total(self, point: bool) -> float:
        return self.system.delta * (1 - MARGIN if point else 1)

    def _deltas(self, box: Box, sensitivity: FloatArray, allowed: NDArray[np.bool_], point: bool) -> FloatArray:
        """delta where all other constraints are kept, infinite elsewhere."""
        assert self.screen is not None
        screen, rows = self.screen.safe if point else self.screen, np.flatnonzero(allowed)
        out = np.full(sensitivity.shape, np.inf)
        out[rows] = screen.delta(box.only(rows), sensitivity[rows])
        return out

    def _screened(self, box: Box, sensitivity: FloatArray, spent: FloatArray, enough: float, point: bool) -> FloatArray:
        """`spent`, set to infinity where epsilon is exceeded; tested only where `spent` is below `enough`."""
        rows = np.flatnonzero(spent < enough)
        if self.screen is None or not rows.size:
            return spent
        screen = self.screen.safe if point else self.screen
        safe = screen.delta(box.only(rows), sensitivity[rows]) <= self._total(point)
        spent[rows[~safe]] = np.inf
        return spent


def solve(problem: Problem, *, gap: float, effort: Effort, enough: float = -np.inf) -> Found:
    """Branch and bound on the problem, until it is settled or the effort is spent.

    Parameters
    ----------
    problem : Problem
    gap : float
        The relative gap at which the search stops.
    effort : Effort
        Its remaining evaluations limit the search, and are reduced by it.
    enough : float
        A value at which the search stops.
    """
    dimensions = max(len(problem.axes), 1)
    costly = problem.screen is not None and not problem.screen.closed
    cost = 1 if problem.screen is None else problem.screen.cost
    if problem.screen is not None and problem.screen.closed and problem.goal is Goal.ERROR:
        cost *= _SEARCH_COST
    search = minimise(
        problem.bound,
        problem.value,
        dimensions,
        gap=gap,
        effort=max(effort.left // cost, 1),
        enough=enough,
        batch=_COSTLY_BATCH if costly else BATCH,
    )
    effort.spend(cost * search.evaluations)
    return search
