"""A joint problem and its answer: which method solves it, and what is proved of all other designs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import accuracy, decoding, distortion
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design.effort import Effort
from airtight.solvers.design.over_the_air import equal_devices, local, screen, unequal_devices
from airtight.solvers.design.over_the_air.moments import Moments
from airtight.solvers.design.over_the_air.requirements import Free, Goal, JointDesign, Nothing, Purpose, Requirements
from airtight.solvers.design.over_the_air.rounds import screen_of
from airtight.solvers.design.peak import Peak
from airtight.solvers.errors import InfeasibleError

_GAP, _COSTLY_GAP = 1e-3, 1e-2
_ROUGHLY = 10.0  # times these gaps: what settles a design that no gap is asked of
_ROUNDING = 1e-10  # of an error that has to be kept
_PEAK = 1 + 1e-6  # likewise of a power
_DOMAIN = "noise up to 1e8 times the receiver's"  # what boxes cover
_SHORT, _FARTHEST = 6e-3, 0.05  # share of epsilon that proposed points stay below it
ANY_ENERGY = 1e300  # an energy that every design has


@dataclass(frozen=True)
class Answer:
    """The best design met, and what is proved of all others.

    Attributes
    ----------
    system : InferenceSystem or None
    value : float
    lower : float or None
        No design that keeps the constraints has less: infinite where there is none.
    boxes : int
    method : str
    settled : bool
    excluded : str
        Why no design keeps the constraints; empty where that is not proved.
    """

    system: InferenceSystem | None
    value: float
    lower: float | None
    boxes: int
    method: str
    settled: bool
    excluded: str = ""


class Job:
    """One joint problem."""

    def __init__(
        self,
        system: InferenceSystem,
        wanted: Requirements,
        purpose: Purpose | None,
        rounds: int,
        observer: Observer,
        gap: float | None,
    ) -> None:
        self.system, self.wanted, self.purpose = system, wanted, purpose
        self.rounds, self.observer = rounds, observer
        self.error = _error(wanted, purpose)
        self.steady = Free.PARTICIPATION not in wanted.free and bool(np.all(system.participation == 1))
        self.closed = screen_of(system, 1.0, observer, rounds, steady=self.steady, short=0.0).closed
        self.asked_gap = gap
        self.gap = (_GAP if self.closed else _COSTLY_GAP) if gap is None else gap
        self.enough = _ROUGHLY * self.gap if gap is None else gap
        self.effort = Effort(wanted.effort)
        self.moments: Moments | None = None

    @property
    def options(self) -> list[InferenceSystem]:
        """With and without idle noise, where that is free."""
        if Free.IDLE not in self.wanted.free:
            return [self.system]
        return [replace(self.system, idle_noise=idle) for idle in (False, True)]

    def asking(self, wanted: Requirements) -> Job:
        """The same with other requirements, for a quarter of the effort."""
        less = replace(wanted, effort=max(wanted.effort // 4, 1))
        job = Job(self.system, less, self.purpose, self.rounds, self.observer, self.asked_gap)
        job.moments = self.moments
        return job

    def solved(self) -> Answer:
        """The best design met."""
        options = self.options
        found = [self._best(option, self.effort.part(1 / (len(options) - i))) for i, option in enumerate(options)]
        best = min(found, key=lambda one: math.inf if one.system is None else one.value)
        bounds = [one.lower for one in found if one.lower is not None]
        lower = min(bounds) if len(bounds) == len(found) else None
        # an option that has not settled matters only as long as it may hold something better
        open_ = [one for one in found if not one.settled and not (one.lower or -math.inf) >= best.value]
        excluded = best.excluded if best.system is None and all(one.excluded for one in found) else ""
        boxes = sum(one.boxes for one in found)
        return replace(best, lower=lower, boxes=boxes, settled=not open_, excluded=excluded)

    def _certifiable(self, system: InferenceSystem) -> bool:
        """Whether branch and bound has bounds for it."""
        free = self.wanted.free
        gauge = Free.ALIGNMENT not in free or {Free.WEIGHT, Free.NOISE} <= set(free)
        known = self.purpose is not None and Free.GAIN in free
        scaled = Free.CLIP not in free or Free.WEIGHT in free  # else shorter clips than every code are other designs
        return gauge and known and scaled and screen.certifiable(system, self.observer)

    def _best(self, system: InferenceSystem, effort: Effort) -> Answer:
        """The best design of one kind of idle noise."""
        if not self._certifiable(system):
            return self._different(system, effort)
        short, found = _SHORT, None
        while True:
            found = self._global(system, short, effort.part(1.0 if self.closed else 1 / 2))
            if found.system is None or self.keeps(found.system):
                return found
            short *= 2
            if self.closed or short > _FARTHEST or effort.out:  # rounding, or epsilon is not known near enough
                return replace(found, system=None, value=math.inf, settled=False)

    def _different(self, system: InferenceSystem, effort: Effort) -> Answer:
        """Of different devices, or where nothing is proved."""
        if self.purpose is not None and unequal_devices.applies(system, self.wanted, self.purpose):
            asked = unequal_devices.Question(self.wanted, self.purpose, self.error, self.rounds, self.observer)
            found = unequal_devices.best(system, asked, effort)
            if found is not None:
                method = "local" if found.lower is None else "convex steps, lower bound by a relaxation"
                return Answer(found.system, found.value, found.lower, 0, method, not effort.out)
        point = local.best(system, self.wanted, self.purpose, self.error, self.rounds, self.observer, effort)
        if point is None:
            return Answer(None, math.inf, None, 0, "local", False)
        return Answer(*point, None, 0, "local", not effort.out)

    def keeps(self, system: InferenceSystem) -> bool:
        """Whether the library's own epsilon is kept."""
        target = self.wanted.epsilon_at_most
        return target is None or bool(np.all(self.epsilons(system) <= target))

    def value(self, system: InferenceSystem) -> float:
        """What is least, of a system."""
        if self.wanted.minimise is Goal.EPSILON:
            return float(np.max(self.epsilons(system)))
        return local.energy(system, self.purpose) if self.wanted.minimise is Goal.ENERGY else self._error_of(system)

    def _error_of(self, system: InferenceSystem) -> float:
        if self.purpose is None:
            return math.nan
        return float(np.mean([distortion.exact(system, one) for one in self.purpose.features]))

    def keeps_all(self, system: InferenceSystem) -> bool:
        """Whether the library finds every constraint kept."""
        wanted, energy = self.wanted, self.wanted.energy_at_most
        return (
            self.keeps(system)
            and (self.error is None or self._error_of(system) <= self.error)
            and (energy is None or local.energy(system, self.purpose) <= energy)
            and (
                wanted.power_at_most is None
                or Peak.needed(system, wanted.outage_at_most) <= wanted.power_at_most * _PEAK
            )
        )

    def _near(self, value: float, lower: float) -> bool:
        """Whether a gap is what was asked for."""
        return value - lower <= self.enough * abs(value) * (1 + 1e-9)

    def _global(self, system: InferenceSystem, short: float, effort: Effort) -> Answer:
        """By branch and bound; a limit on what is least is asked for where the least value met is above it."""
        goal, method = self.wanted.minimise, "global: branch and bound"
        limit = {Goal.ENERGY: self.wanted.energy_at_most, Goal.ERROR: self.error, Goal.EPSILON: None}[goal]
        if goal is Goal.EPSILON:
            return self._least_epsilon(system, short, effort)
        problem = self._problem(system, goal, self.wanted.epsilon_at_most, short)
        found = equal_devices.solve(problem, gap=self.gap, effort=effort)
        boxes, lower = found.boxes, found.lower
        if limit is not None and found.value > limit >= lower:
            found = equal_devices.solve(problem, gap=self.gap, effort=effort, enough=limit)
            boxes, lower = boxes + found.boxes, max(lower, found.lower)
        if lower == math.inf:
            why = f"branch and bound excludes every design that keeps the constraints ({boxes} boxes, {_DOMAIN})"
            return Answer(None, math.inf, lower, boxes, method, True, why)
        if limit is not None and lower > limit:
            why = f"{goal} is at least {down(lower)} where the constraints are kept ({boxes} boxes, {_DOMAIN}), "
            return Answer(None, math.inf, math.inf, boxes, method, True, f"{why}above {goal}_at_most = {limit:g}")
        if found.point is None or (limit is not None and found.value > limit):
            return Answer(None, math.inf, lower, boxes, method, False)
        designed = self._system(problem, found.point)
        return Answer(designed, found.value, lower, boxes, method, self._near(found.value, lower))

    def _problem(
        self, system: InferenceSystem, goal: Goal, epsilon: float | None, short: float
    ) -> equal_devices.Problem:
        wanted = self.wanted
        if self.moments is None:
            tasks = () if self.purpose is None else self.purpose.features
            self.moments = Moments.of(tasks, None if Free.CLIP in wanted.free else float(system.clip[0]))
        test = None
        if epsilon is not None:
            test = screen_of(system, epsilon, self.observer, self.rounds, steady=self.steady, short=short)
        return equal_devices.Problem(
            system,
            frozenset(wanted.free),
            self.moments,
            test,
            self.error,
            wanted.energy_at_most,
            goal,
            None if wanted.power_at_most is None else Peak.of(system, wanted.power_at_most, wanted.outage_at_most),
        )

    def _system(self, problem: equal_devices.Problem, point: np.ndarray) -> InferenceSystem:
        named = problem.designed(point)
        changes: dict[str, Any] = {name.value: value for name, value in named.items() if name in self.wanted.free}
        return self.tuned(replace(problem.system, **changes))

    def tuned(self, system: InferenceSystem) -> InferenceSystem:
        """With the best gain, where it is free."""
        if self.purpose is None or Free.GAIN not in self.wanted.free:
            return system
        gain = decoding.best_gain(system, self.purpose.features).gain
        return replace(system, decoder_gain=gain) if gain > 0 else system

    def _least_epsilon(self, system: InferenceSystem, short: float, effort: Effort) -> Answer:
        """By bisection: at each epsilon a design is found, or it is proved that there is none, or neither within a share of
        the effort. It begins at a design that keeps everything else, at whatever epsilon."""
        method = "global: branch and bound at each epsilon of a bisection"
        most = math.inf if self.wanted.epsilon_at_most is None else self.wanted.epsilon_at_most
        budget = self.wanted.energy_at_most
        goal, limit = (
            (Goal.ENERGY, ANY_ENERGY if budget is None else budget) if self.error is None else (Goal.ERROR, self.error)
        )
        problem = self._problem(system, goal, None, short)
        found = equal_devices.solve(problem, gap=self.gap, effort=effort.part(1 / 3), enough=limit * (1 - _ROUNDING))
        boxes = found.boxes
        if found.lower > limit:
            why = f"{goal} is at least {down(found.lower)} at any epsilon ({boxes} boxes, {_DOMAIN}), above {limit:g}"
            return Answer(None, math.inf, math.inf, boxes, method, True, why)
        best, value = None, math.inf
        if found.point is not None and found.value <= limit:
            best = self._system(problem, found.point)
            value = float(np.max(self.epsilons(best)))
        low, high, unsettled = 0.0, value, list[float]()
        x = 1.0 if not value < 1 else value / 4
        while x and 1e-6 < x < 1e6 and not effort.out:
            problem = self._problem(system, Goal.EPSILON, x, short)
            kept = system.delta * (1 - equal_devices.MARGIN)
            found = equal_devices.solve(problem, gap=self.gap, effort=effort.part(1 / 3), enough=kept)
            boxes += found.boxes
            if found.point is not None and found.value <= kept:
                designed = self._system(problem, found.point)
                reached = float(np.max(self.epsilons(designed)))
                best, value = (designed, reached) if reached < value else (best, value)
                high = min(x, value)
            elif found.lower > system.delta:
                low = x
            else:
                unsettled.append(x)
            unsettled = [y for y in unsettled if low < y < high]
            x = self._between(low, high, unsettled)
        if low > most:
            why = f"epsilon is above {down(low)} where the constraints are kept ({boxes} boxes, {_DOMAIN}), "
            return Answer(None, math.inf, math.inf, boxes, method, True, why + f"above epsilon_at_most = {most:g}")
        if best is None or value > most:
            return Answer(None, math.inf, low, boxes, method, False)
        return Answer(best, value, min(low, value), boxes, method, self._near(value, low))

    def _between(self, low: float, high: float, unsettled: list[float]) -> float:
        """Where to ask next, in the wider of the gaps beside what is unsettled; 0 where both are small."""
        if high == math.inf:
            return 4 * max(low, *unsettled, 0.0)
        if low == 0:
            return min(high, *unsettled, math.inf) / 4
        spans = [(low, min(unsettled, default=high)), (max(unsettled, default=low), high)]
        a, b = max(spans, key=lambda span: span[1] / span[0])
        return math.sqrt(a * b) if b > a * (1 + self.gap) else 0.0

    def epsilons(self, system: InferenceSystem) -> FloatArray:
        """Over all rounds."""
        return local.epsilons(system, self.observer, self.rounds)

    def reported(self, answer: Answer, system: InferenceSystem, seconds: float) -> JointDesign:
        """With everything evaluated by the library itself."""
        epsilon = self.epsilons(system)
        energy = local.energy(system, self.purpose)
        error = chance = nothing = None
        if self.purpose is not None:
            tasks, margin = self.purpose.features, self.purpose.margin
            error = float(np.mean([distortion.exact(system, one) for one in tasks]))
            none = None
            if margin is not None:
                radius: dict[str, Any] = {"margin": margin, "ideal_accuracy": self.purpose.ideal_accuracy}
                chance = float(np.mean([accuracy.exact(system, one, **radius).estimate for one in tasks]))
                none = decoding.constant_accuracy(tasks, **radius)
            nothing = Nothing(error=decoding.constant_output(tasks), accuracy=none)
        known = {Goal.ENERGY: energy, Goal.EPSILON: float(np.max(epsilon)), Goal.ERROR: error}
        value = known[self.wanted.minimise]
        return JointDesign(
            system=system,
            minimised=self.wanted.minimise,
            value=math.nan if value is None else value,
            lower_bound=answer.lower if answer.lower is None or value is None else min(answer.lower, value),
            epsilon=epsilon,
            error=error,
            accuracy=chance,
            energy=energy,
            nothing=nothing,
            method=answer.method,
            boxes=answer.boxes,
            settled=answer.settled,
            seconds=seconds,
        )


def _error(wanted: Requirements, purpose: Purpose | None) -> float | None:
    """The MSE that keeps both constraints, the accuracy by Markov's inequality."""
    limits = [] if wanted.error_at_most is None else [wanted.error_at_most]
    if wanted.accuracy_at_least is not None and purpose is not None and purpose.margin is not None:
        if wanted.accuracy_at_least >= purpose.ideal_accuracy:
            raise InfeasibleError(
                f"accuracy_at_least = {wanted.accuracy_at_least:g}: not below the ideal accuracy {purpose.ideal_accuracy:g}"
            )
        limits.append(purpose.margin**2 * (1 - wanted.accuracy_at_least / purpose.ideal_accuracy))
    return min(limits) if limits else None


def up(value: float) -> str:
    """Six digits, rounded up."""
    return _rounded(value, math.ceil)


def down(value: float) -> str:
    """Six digits, rounded down."""
    return _rounded(value, math.floor)


def _rounded(value: float, towards: Callable[[float], int]) -> str:
    if not value > 0:
        return f"{value:.6g}"
    digits = 5 - math.floor(math.log10(value))
    return f"{towards(value * 10.0**digits) / 10.0**digits:.6g}"
