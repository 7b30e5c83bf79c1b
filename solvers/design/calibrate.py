r"""Calibration: the least noise, the greatest clip or the greatest participation that keeps a target epsilon.

Epsilon is monotone in the clip of the device itself. In a common scale of the noise of all devices it is monotone in
three cases: where the observer sees who takes part and the adjacency leaves the device's noise in place, with idle
noise, and without receiver noise. It is not monotone under the adjacency ``absent`` or where participation is hidden,
because the noise of a device may reveal that the device left. In a common scale of the participation it is not
monotone either, because absent devices remove their noise. In these cases the values that keep the target need not
form an interval, and bounds on cells prove that the returned value is the extreme one:

* *Noise* :math:`t\sigma_k^2`, t in [a, b]. Scaling y by :math:`\sqrt{b/t} \ge 1` changes no likelihood
  ratio. It gives the noises :math:`b\sigma_k^2`, a receiver noise of :math:`(b/t)\sigma_m^2 \le (b/a)\sigma_m^2` and a
  longer code. Epsilon decreases with the receiver noise (post-processing) and increases with the length of the code.
  So on the whole cell it is at least that of the system with noises :math:`b\sigma_k^2`, receiver noise
  :math:`(b/a)\sigma_m^2` and the unscaled code. In the same way, on :math:`[a, \infty)` it is at least that of noises
  :math:`a\sigma_k^2` and codes of length 0. On :math:`[0, b]` the test whether the signal exceeds a threshold along
  the code distinguishes the neighbours, and the better the less noise there is
  (:mod:`airtight.analytics.privacy.over_the_air.participation_mixture.signal_lower_bound`).
* *Participation* :math:`tp_k`, t in [a, b]. Epsilon of device k increases with its own participation and decreases
  with that of the others (by post-processing, for both observers). So it is at least that of :math:`ap_k` among others
  of :math:`bp_j`.

A pair that dominates in one round also dominates under composition over any number of rounds.

*Colluders.* Where any m devices may collude, epsilon is the greatest over their sets. It is monotone where that of every set is,
and what is proved of one set on a cell, its members fixed, holds for the worst.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, TypeAlias

import numpy as np
from scipy import optimize

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers, system_privacy
from airtight.analytics.progress import reported
from airtight.analytics.records import Record
from airtight.solvers.design.effort import Effort, EffortSpent
from airtight.solvers.errors import InfeasibleError, Interrupted, NotSettledError
from airtight.solvers.weights import caps

_CELL = 1.05  # ratio of the ends of a cell below which it is not divided further
_WIDE = 16.0  # ratio of the ends of the first cell
_GROWTH = 1.6  # factor on the logarithm of this ratio after each cell that was proved
_CELLS = 2000  # most cells
_SEARCHED = 24  # points of the grid in the search for the scale of least epsilon, and of the refinement around the best one
_EDGES = 8  # bisection steps for the proved part of the last cell


@dataclass
class Target:
    """The target epsilon, the number of rounds, the observer and the effort, and the best that was found to keep the target."""

    epsilon: float
    rounds: int
    observer: Observer
    effort: Effort
    best: Calibration | None = None

    def evaluate(self) -> None:
        """Count an evaluation, or stop the search where none is left."""
        if self.effort.exhausted:
            raise EffortSpent
        self.effort.spend(1)

    def upper(self, system: InferenceSystem, device: IntArray | None = None) -> FloatArray:
        """An upper bound of the epsilon of the devices, by default of all."""
        self.evaluate()
        return np.atleast_1d(
            system_privacy.epsilon(system, rounds=self.rounds, device=device, observer=self.observer)
        )

    def excess(self, system: InferenceSystem, device: int) -> float:
        """An upper bound of how far the device exceeds the target; positive where it exceeds it.

        Over several rounds it is the logarithm of epsilon over the target. In one round delta at the target is mapped
        to z = sqrt(-2 log delta), which is nearly linear in the logarithm of the scale, and compared with z of the
        allowed delta.
        """
        self.evaluate()
        with np.errstate(divide="ignore"):
            if self.rounds > 1:
                value = system_privacy.epsilon(system, rounds=self.rounds, device=device, observer=self.observer)
                return float(np.clip(np.log(float(value) / self.epsilon), -1e3, 1e3))
            value = system_privacy.delta(system, self.epsilon, device=device, observer=self.observer)
            upper = math.sqrt(-2 * max(float(np.log(min(float(value), 1.0))), -1e6))
        return math.sqrt(-2 * math.log(system.delta)) - upper

    def broken(self, system: InferenceSystem, device: int, *, quieter: bool = False) -> bool:
        """Whether it is proved that the device exceeds the target.

        With `quieter` it is proved for all lower noises as well, where the device takes its noise along. A proof for
        one round holds for several rounds: they reveal no less.
        """
        self.evaluate()
        if system_privacy.exceeds(system, self.epsilon, device=device, observer=self.observer, quieter=quieter):
            return True
        if self.rounds == 1 or quieter:
            return False
        lower, _ = system_privacy.epsilon_bracket(system, rounds=self.rounds, device=device, observer=self.observer)
        return bool(lower > self.epsilon)


class Family:
    """A family of systems over a positive scale, and the device that was last found to exceed the target.

    Parameters
    ----------
    target : Target
    at : callable
        The system at a scale.
    best : callable
        From the ends of a cell and a device: a system whose epsilon for this device is a lower bound on the whole cell.
    start : float
        The first scale.
    variable : Variable
        Noise, of which the least is sought, or participation.
    monotone : bool
        Whether epsilon is monotone in the scale.
    """

    def __init__(
        self,
        target: Target,
        at: Callable[[float], InferenceSystem],
        best: Callable[[float, float, int], InferenceSystem],
        start: float,
        variable: Variable,
        *,
        monotone: bool,
    ) -> None:
        self.target, self.at, self.best = target, at, best
        self.variable, self.monotone = variable, monotone
        self.least, self.where, self.worst = math.inf, math.nan, 0
        self.last: tuple[float, FloatArray] | None = None
        self.settles(start)

    def epsilons(self, scale: float) -> FloatArray:
        """Upper bounds of the epsilon of all devices; the last result is cached."""
        if self.last is None or self.last[0] != scale:
            self.last = scale, self.target.upper(self.at(scale))
        return self.last[1]

    def settles(self, scale: float) -> bool:
        """Whether all devices keep the target; the device of greatest epsilon is stored."""
        reached = self.epsilons(scale)
        self.worst = int(np.argmax(reached))
        if reached[self.worst] < self.least:
            self.least, self.where = float(reached[self.worst]), scale
        keeps = bool(reached[self.worst] <= self.target.epsilon)
        if keeps:
            self._remember(scale, reached)
        return keeps

    def _remember(self, scale: float, reached: FloatArray) -> None:
        """Keep a scale, as the answer if the search is stopped: nothing is proved of those beyond it."""
        noise, best = self.variable is Variable.NOISE, self.target.best
        current = self.calibration(scale, reached, [(0.0, scale) if noise else (scale, 1.0)], settled=False)
        if best is None or (np.max(current.value) < np.max(best.value) if noise else np.max(current.value) > np.max(best.value)):
            self.target.best = current

    def calibration(
        self, scale: float, reached: FloatArray, unsettled: Sequence[tuple[float, float]], *, settled: bool = True
    ) -> Calibration:
        """The calibration at a scale with these epsilons."""
        system = self.at(scale)
        value = np.asarray(getattr(system, self.variable.key))
        return Calibration(self.variable, value, reached, system, self.monotone, tuple(unsettled), settled)

    def excess(self, scale: float) -> float:
        """An upper bound of the excess of the worst device."""
        return self.target.excess(self.at(scale), self.worst)

    def kept(self, scale: float) -> bool:
        """Whether all devices keep the target; all are evaluated only if the worst known device keeps it."""
        if self.excess(scale) > 0:
            return False
        worst_epsilon = self.target.upper(self.at(scale), np.array([self.worst]))
        return bool(worst_epsilon[0] <= self.target.epsilon) and self.settles(scale)

    def searched(self, low: float, high: float) -> None:
        """Look for the scale of least epsilon: on a geometric grid, then around its best point by golden sections."""
        grid = np.geomspace(low, high, _SEARCHED)
        for scale in grid:
            self.settles(float(scale))
        best = int(np.searchsorted(grid, self.where))  # 0 where no noise at all is best
        ends = np.log([grid[max(best - 1, 0)], grid[min(best + 1, _SEARCHED - 1)]])

        def epsilon_at(log_scale: float) -> float:
            self.settles(math.exp(log_scale))
            return float(self.epsilons(math.exp(log_scale))[self.worst])

        optimize.minimize_scalar(epsilon_at, bounds=tuple(ends), method="bounded", options={"maxiter": _SEARCHED})

    def broken(self, low: float, high: float) -> bool:
        """Whether it is proved that every scale of the cell exceeds the target."""
        if self.variable is Variable.NOISE and high < math.inf and self.target.broken(self.at(high), self.worst, quieter=True):
            return True
        return self.target.broken(self.best(low, high, self.worst), self.worst)

    def edge(self, exceeding: float, keeping: float) -> float:
        """The first scale that keeps the target, between one that does not and one that does, to relative 2e-6."""
        x, end = math.log(exceeding), math.log(keeping)
        step = math.copysign(_NEAR, end - x)
        while True:
            worst = self.worst
            if self.excess(math.exp(x)) > 0 and self.excess(keeping) <= 0:
                x = optimize.brentq(lambda x: self.excess(math.exp(x)), x, end, xtol=_NEAR / 4)
            if abs(end - x) <= abs(step):
                return keeping
            if self.kept(math.exp(x)):
                return math.exp(x)
            if self.worst == worst:  # the same device: it exceeds the target only by the error of the evaluation
                x, step = x + step, 4 * step

    def first(self, start: float, stop: float) -> tuple[float | None, list[tuple[float, float]]]:
        """The first scale from start to stop that keeps the target, and the cells before it without a proof."""
        sign = math.copysign(1.0, stop - start)
        position, ratio = start, _WIDE
        unsettled: list[tuple[float, float]] = []
        for _ in range(_CELLS):
            if position == stop:
                return None, joined(unsettled)
            next_position = sign * min(sign * position * ratio**sign, sign * stop)
            low, high = min(position, next_position), max(position, next_position)
            if self.broken(low, high):
                position, ratio = next_position, ratio**_GROWTH
                continue
            if high > low * _CELL:
                ratio = math.sqrt(high / low)
                continue
            if self.kept(next_position):
                first_kept = self.edge(position, next_position)
                proved_end = self._proved(position, first_kept)
                return first_kept, joined([*unsettled, (min(proved_end, first_kept), max(proved_end, first_kept))])
            if not self.broken(low, high):  # `kept` may have found another worst device
                unsettled.append((low, high))
            position = next_position
        return None, joined([*unsettled, (min(position, stop), max(position, stop))])

    def _proved(self, exceeding: float, keeping: float) -> float:
        """The scale up to which it is proved, from `exceeding` towards `keeping`, that the target is exceeded."""
        proved_end, unproved_end = exceeding, keeping
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


# relative accuracy of the root: where the law of the others' noise is on a grid, epsilon is no more accurate
_NEAR = 2e-6
# relative corrections of a value that rounding put past the limit
_STEPS = tuple(float(4.0**n) * 1e-6 for n in range(9))
_LONGEST = 300.0  # log of a clip from which on the clip counts as unlimited
_SHORTEST = -700.0  # log of a clip below which there is none
_FARTHEST = 1e15  # greatest noise variance, in squares of the longest weighted code
_NEAREST = 1e-4  # least noise of all devices together, relative to that of the receiver


class Variable(StrEnum):
    """The calibrated quantity: the least noise, the greatest clip or the greatest participation."""

    NOISE = "noise"
    CLIP = "clip"
    PARTICIPATION = "participation"

    @property
    def key(self) -> str:
        """The name of the system's parameter."""
        return "noise_variance" if self is Variable.NOISE else self.value


VariableName: TypeAlias = Variable | Literal["noise", "clip", "participation"]


@dataclass(frozen=True, eq=False)
class Calibration(Record):
    """Values that keep the target, and what is proved about the values beyond them.

    Attributes
    ----------
    variable : Variable
    value : ndarray, shape (K,)
        Variances, clips or probabilities. A clip is infinite where a device takes part so seldom that every clip keeps
        the target.
    epsilon : ndarray, shape (K,)
        An upper bound of epsilon with these values, at most the target.
    system : InferenceSystem
        The system with these values; an infinite clip is replaced by the system's own.
    monotone : bool
        Whether epsilon is monotone in the variable.
    unsettled : tuple of (float, float)
        Where epsilon is not monotone: intervals beyond `value`, of the common scale of the variances (of the greatest
        variance) or of the participations, on which it is not proved that the target is exceeded. On the rest beyond
        `value` it is proved.
    settled : bool
        False where the search was stopped, by its effort or by Ctrl-C: less noise, or more participation, may do.
    """

    variable: Variable
    value: FloatArray
    epsilon: FloatArray
    system: InferenceSystem
    monotone: bool
    unsettled: tuple[tuple[float, float], ...] = ()
    settled: bool = True


def calibrate(
    system: InferenceSystem,
    epsilon: float,
    *,
    variable: Variable | str = Variable.NOISE,
    rounds: int = 1,
    observer: Observer | str = Observer.AUTO,
    effort: int | None = None,
    progress: bool = False,
) -> Calibration:
    """The least noise, the greatest clips or the greatest participation with which every device keeps epsilon.

    Parameters
    ----------
    system : InferenceSystem
        All devices share one scale of the noise or of the participation: the ratios of the given variances
        (probabilities) are kept, and equal values are used where all are 0. Participations are capped at 1. Each
        device has a clip of its own.
    epsilon : float
        The target in (0, inf), at the system's delta, for its adjacency, over all rounds.
    variable : {"noise", "clip", "participation"}
    rounds : int
        T >= 1.
    observer : {"auto", "participants", "others", "signal"}
        For `signal`, the target is kept by the upper bound of epsilon, which is that of `others`.
    effort : int, optional
        Evaluations of epsilon after which the best value found so far is returned, unsettled; without it the search ends when it
        is settled.
    progress : bool
        Whether to say on stderr every two seconds how many evaluations of epsilon are done.

    Returns
    -------
    Calibration

    Raises
    ------
    InfeasibleError
        When no noise or no clip keeps the target; for the noise, the error states the least epsilon that was found.
    ParameterError
        When epsilon does not depend on the variable because a weight is 0.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> result = calibrate(_example()[0], 1.0)
    >>> result.value.round(4), result.monotone, bool(np.all(result.epsilon <= 1.0))
    (array([2.456, 2.456, 2.456]), True, True)
    """
    variable_kind = checks.choice("variable", variable, Variable)
    observer_kind = checks.choice("observer", observer, Observer)
    epsilon_limit = checks.scalar("epsilon", epsilon, "(0, inf)")
    budget = budgeted(effort, "evaluations", progress=progress)
    target = Target(epsilon_limit, checks.count("rounds", rounds), observer_kind.seeing_others, budget)
    search = {Variable.CLIP: _clips, Variable.NOISE: _noise, Variable.PARTICIPATION: _participation}[variable_kind]
    try:
        return search(system, target)
    except (EffortSpent, KeyboardInterrupt) as stop:
        return stopped(stop, target.best, effort)


def budgeted(effort: int | None, unit: str, *, progress: bool) -> Effort:
    """The budget of a calibration in `unit`; unlimited by default."""
    count = None if effort is None else checks.count("effort", effort)
    return Effort(sys.maxsize if count is None else count, spent=reported(count, unit, progress=progress))


def stopped(stop: BaseException, best: Calibration | None, effort: int | None) -> Calibration:
    """The best that was found when the search was stopped.

    Raises
    ------
    Interrupted
        With the best, where Ctrl-C stopped it.
    NotSettledError
        Where the effort was spent before anything kept the target.
    """
    if isinstance(stop, KeyboardInterrupt):
        raise stop if best is None else Interrupted(best)
    if best is None:
        raise NotSettledError(
            f"effort = {effort}: spent before a value was found that keeps epsilon", effort=effort or 0
        ) from None
    return best


def _noise(system: InferenceSystem, target: Target) -> Calibration:
    sees_participants = observers.resolved(system, target.observer).sees_device
    noise_leaves = system.adjacency is Adjacency.ABSENT and not system.idle_noise
    longest = float(np.max(system.weight * system.clip))
    if longest == 0 and not noise_leaves:
        raise ParameterError("weight", 0.0, "positive for some device: otherwise epsilon does not depend on the noise")
    greatest_variance = float(np.max(system.noise_variance))
    profile = system.noise_variance / greatest_variance if greatest_variance > 0 else np.ones(system.devices)
    unit = longest**2 if longest > 0 else greatest_variance or 1.0

    def at(scale: float) -> InferenceSystem:
        return replace(system, noise_variance=scale * profile)

    def most_private(low: float, high: float, device: int) -> InferenceSystem:
        if high == math.inf:
            return replace(at(low), weight=0.0)
        return replace(at(high), receiver_noise_variance=high / low * system.receiver_noise_variance)

    receiver_noise = system.decoded_receiver_noise
    monotone = (sees_participants and not noise_leaves) or system.idle_noise or receiver_noise == 0
    family = Family(target, at, most_private, unit, Variable.NOISE, monotone=monotone)
    if family.kept(0.0):
        return _result(family, 0.0)
    if monotone:
        scale = _least_scale(family, unit)
        if scale is None:
            raise _infeasible(family, system)
        return _result(family, scale)
    start = _NEAREST * receiver_noise / float(np.sum(profile))
    stop = max(_FARTHEST * unit, start / _NEAREST)
    unsettled: list[tuple[float, float]]
    scale, unsettled = (None, []) if family.broken(start, math.inf) else family.first(start, stop)
    if scale is None:
        family.searched(start, stop)
        raise _infeasible(family, system)
    quietest = [] if family.target.broken(family.at(start), family.worst, quieter=True) else [(0.0, start)]
    return _result(family, scale, joined([*quietest, *unsettled]))


def _participation(system: InferenceSystem, target: Target) -> Calibration:
    greatest_probability = float(np.max(system.participation))
    profile = system.participation / greatest_probability if greatest_probability > 0 else np.ones(system.devices)
    if not np.any(system.weight > 0) and (system.adjacency is not Adjacency.ABSENT or system.idle_noise):
        raise ParameterError(
            "weight", 0.0, "positive for some device: otherwise epsilon does not depend on the participation"
        )

    def at(scale: float) -> InferenceSystem:
        return replace(system, participation=np.minimum(scale * profile, 1.0))

    def most_private(low: float, high: float, device: int) -> InferenceSystem:
        changed = np.minimum(high * profile, 1.0)
        changed[device] = low * profile[device]
        return replace(system, participation=changed)

    monotone = system.idle_noise or not np.any(system.noise_variance > 0)
    family = Family(target, at, most_private, 1.0, Variable.PARTICIPATION, monotone=monotone)
    if family.kept(1.0):
        return _result(family, 1.0)
    rare = system.delta / target.rounds / 2  # delta is at most T p
    scale, unsettled = family.first(1.0, rare)
    return _result(family, rare if scale is None else scale, unsettled)


def _clips(system: InferenceSystem, target: Target) -> Calibration:
    if np.any(system.weight == 0):
        k = int(np.flatnonzero(system.weight == 0)[0])
        raise ParameterError("weight", 0.0, "positive: otherwise epsilon does not depend on the clip", (k,))
    if target.rounds == 1 and not system.colluding:
        value = caps.greatest_clips(system, target.epsilon, observer=target.observer)
    else:
        value = _composed_clips(system, target)
    without_clip = np.flatnonzero(np.isnan(value) | (value == 0))
    if without_clip.size:
        raise InfeasibleError(
            f"epsilon = {target.epsilon:g}: no clip of device {without_clip[0]} keeps it (adjacency {system.adjacency})"
        )
    for step in _STEPS:
        kept = replace(system, clip=np.where(np.isfinite(value), value, system.clip))
        epsilons = target.upper(kept)
        if np.all(epsilons <= target.epsilon):
            break
        value = np.where(epsilons > target.epsilon, value * (1 - step), value)
    return Calibration(Variable.CLIP, value, epsilons, kept, True)


def _composed_clips(system: InferenceSystem, target: Target) -> FloatArray:
    """The greatest clips over several rounds or against colluders: one root for each class of devices with equal parameters.

    One round without colluders has a method of its own, :func:`airtight.solvers.weights.caps.greatest_clips`.
    """
    keys = np.stack([system.participation, system.noise_variance, system.weight])
    _, first, class_of = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    total_variance = float(np.sum(system.received_noise_variance)) + system.receiver_noise_variance
    clips = np.empty(first.size)
    for row, k in enumerate(first):
        if system.participation[k] * target.rounds <= system.delta:  # delta is at most T p
            clips[row] = np.inf
            continue

        def excess(x: float, k: int = int(k)) -> float:
            clip = system.clip.copy()
            clip[k] = math.exp(x)
            return target.excess(replace(system, clip=clip), k)

        if target.excess(replace(system, weight=0.0), int(k)) > 0:
            clips[row] = np.nan
            continue
        low = high = 0.5 * math.log(total_variance or 1.0) - math.log(system.alignment * system.weight[k])
        while high < _LONGEST and excess(high) <= 0:
            low, high = high, high + 2
        if high >= _LONGEST:
            clips[row] = np.inf
            continue
        while low > _SHORTEST and excess(low) > 0:
            low, high = low - 2, low
        if low <= _SHORTEST:  # no noise at all: every code is told
            clips[row] = np.nan
            continue
        root = optimize.brentq(excess, low, high, xtol=_NEAR)
        while excess(root) > 0:
            root -= _NEAR
        clips[row] = math.exp(root)
    return np.asarray(clips[class_of.ravel()])


def _least_scale(family: Family, start: float) -> float | None:
    """The least scale that keeps the target, from above, where epsilon decreases in it; None when there is none."""
    low, high = start, start
    while not family.kept(high):
        low, high = high, 16 * high
        if high > _FARTHEST * start:
            return None
    while low == high or family.kept(low):
        high, low = low, low / 16
    return family.edge(low, high)


def _result(family: Family, scale: float, unsettled: Sequence[tuple[float, float]] = ()) -> Calibration:
    """The result at a scale that keeps the target, corrected where its evaluation erred by rounding."""
    for step in _STEPS:
        reached = family.epsilons(scale)
        if np.all(reached <= family.target.epsilon):
            break
        scale *= 1 + step if family.variable is Variable.NOISE else 1 - step
    return family.calibration(scale, reached, unsettled)


def _infeasible(family: Family, system: InferenceSystem) -> InfeasibleError:
    """The refusal: the least epsilon that the search reached, where, and what makes smaller ones possible."""
    levers = ["less weight or clip"]
    if system.adjacency is Adjacency.ABSENT and not system.idle_noise:
        levers = ["idle_noise = true (an absent device takes its noise away)", 'adjacency = "silent"']
    return InfeasibleError(
        f"epsilon = {family.target.epsilon:g}: no noise was found that keeps it (adjacency {system.adjacency}, "
        f"dimension {system.dimension}, {family.target.rounds} rounds); "
        f"the least epsilon found over all scales of the noise is {family.least:.6g}, at a variance of {family.where:.3g}; "
        f"to reach less: {' or '.join(levers)}",
        least_epsilon=family.least,
    )
