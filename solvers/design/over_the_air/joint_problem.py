"""A joint problem and its answer: the choice of the method, and the proved bound on all other designs."""

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
from airtight.analytics.progress import reported
from airtight.solvers.design.effort import Effort
from airtight.solvers.design.over_the_air import box_bounds, equal_devices, local_search, unequal_devices
from airtight.solvers.design.over_the_air.box_bounds import screen_of
from airtight.solvers.design.over_the_air.moments import Moments
from airtight.solvers.design.over_the_air.requirements import (
    Free,
    Goal,
    JointDesign,
    Nothing,
    Purpose,
    Question,
    Requirements,
)
from airtight.solvers.design.peak import Peak
from airtight.solvers.errors import InfeasibleError

_GAP, _COSTLY_GAP = 1e-3, 1e-2  # default relative gap where epsilon has a closed form, and where it has none
_SETTLED_FACTOR = 10.0  # a default gap times this still counts as settled
_ROUNDING = 1e-10  # relative distance that a design keeps from its limit
_POWER_ROUNDING = 1 + 1e-6  # rounding error allowed for the peak power
_DOMAIN = "noise up to 1e8 times the receiver's"  # the domain of branch and bound, for messages
# share by which proposed points stay below epsilon: the first and the greatest that is tried
_LEAST_MARGIN, _GREATEST_MARGIN = 6e-3, 0.05
ANY_ENERGY = 1e300  # a limit that every design keeps


@dataclass(frozen=True)
class Answer:
    """The best design found, and what is proved about all others.

    Attributes
    ----------
    system : InferenceSystem or None
    value : float
    lower : float or None
        A lower bound of the value of every design that keeps the constraints; infinite where none does, None where
        nothing is proved.
    boxes : int
    method : str
    settled : bool
    excluded : str
        The proof that no design keeps the constraints, for the message; empty where that is not proved.
    """

    system: InferenceSystem | None
    value: float
    lower: float | None
    boxes: int
    method: str
    settled: bool
    excluded: str = ""


class Job:
    """One joint problem.

    Parameters
    ----------
    system : InferenceSystem
    wanted : Requirements
    purpose : Purpose or None
        Tasks, margin and ideal accuracy.
    rounds : int
    observer : Observer
    gap : float or None
        The relative gap of branch and bound; None for the default.
    progress : bool
        Whether to say on stderr how many evaluations are spent.
    """

    def __init__(
        self,
        system: InferenceSystem,
        wanted: Requirements,
        purpose: Purpose | None,
        rounds: int,
        observer: Observer,
        gap: float | None,
        progress: bool = False,
    ) -> None:
        self.system, self.wanted, self.purpose = system, wanted, purpose
        self.rounds, self.observer = rounds, observer
        self.error = error_limit(wanted, purpose)
        self.steady = Free.PARTICIPATION not in wanted.free and bool(np.all(system.participation == 1))
        self.closed = screen_of(system, 1.0, observer, rounds, steady=self.steady, short=0.0).closed
        self.asked_gap = gap
        self.gap = (_GAP if self.closed else _COSTLY_GAP) if gap is None else gap
        self.enough = _SETTLED_FACTOR * self.gap if gap is None else gap
        self.effort = Effort(wanted.effort, spent=reported(wanted.effort, "evaluations", progress=progress))
        self.moments: Moments | None = None

    @property
    def options(self) -> list[InferenceSystem]:
        """The systems with and without idle noise where that is free, else the given system."""
        if Free.IDLE not in self.wanted.free:
            return [self.system]
        return [replace(self.system, idle_noise=idle) for idle in (False, True)]

    def asking(self, wanted: Requirements) -> Job:
        """The same problem with other requirements and a quarter of the effort."""
        reduced = replace(wanted, effort=max(wanted.effort // 4, 1))
        job = Job(self.system, reduced, self.purpose, self.rounds, self.observer, self.asked_gap)
        job.moments = self.moments
        return job

    def solved(self) -> Answer:
        """The best design found, over all options of idle noise."""
        options = self.options
        answers = [self._best(option, self.effort.part(1 / (len(options) - i))) for i, option in enumerate(options)]
        best = min(answers, key=lambda answer: math.inf if answer.system is None else answer.value)
        bounds = [answer.lower for answer in answers if answer.lower is not None]
        lower = min(bounds) if len(bounds) == len(answers) else None
        # an option that is not settled matters only if its bound allows a better design
        unsettled = [
            answer for answer in answers if not answer.settled and not (answer.lower or -math.inf) >= best.value
        ]
        excluded = best.excluded if best.system is None and all(answer.excluded for answer in answers) else ""
        boxes = sum(answer.boxes for answer in answers)
        return replace(best, lower=lower, boxes=boxes, settled=not unsettled, excluded=excluded)

    def _certifiable(self, system: InferenceSystem) -> bool:
        """Whether branch and bound has bounds for this problem."""
        free = self.wanted.free
        gauge_free = Free.ALIGNMENT not in free or {Free.WEIGHT, Free.NOISE} <= set(free)
        gain_best = self.purpose is not None and Free.GAIN in free
        clip_bounded = Free.CLIP not in free or Free.WEIGHT in free  # else thresholds below every code matter, too
        return gauge_free and gain_best and clip_bounded and box_bounds.certifiable(system, self.observer)

    def _best(self, system: InferenceSystem, effort: Effort) -> Answer:
        """The best design for one option of idle noise."""
        if not self._certifiable(system):
            return self._without_boxes(system, effort)
        short, answer = _LEAST_MARGIN, None
        while True:
            answer = self._global(system, short, effort.part(1.0 if self.closed else 1 / 2))
            if answer.system is None or self.keeps(answer.system):
                return answer
            short *= 2
            # epsilon is exceeded by rounding, or the bound on delta is not tight enough to propose a design
            if self.closed or short > _GREATEST_MARGIN or effort.exhausted:
                return replace(answer, system=None, value=math.inf, settled=False)

    def _without_boxes(self, system: InferenceSystem, effort: Effort) -> Answer:
        """The best design of unequal devices, or of a problem that branch and bound has no bounds for."""
        if self.purpose is not None and unequal_devices.applies(system, self.wanted, self.purpose):
            asked = unequal_devices.Question(self.wanted, self.purpose, self.error, self.rounds, self.observer)
            design = unequal_devices.best(system, asked, effort)
            if design is not None:
                method = "local" if design.lower is None else "convex steps, lower bound by a relaxation"
                return Answer(design.system, design.value, design.lower, 0, method, not effort.exhausted)
        point = local_search.best(system, self.wanted, self.purpose, self.error, self.rounds, self.observer, effort)
        if point is None:
            return Answer(None, math.inf, None, 0, "local", False)
        return Answer(*point, None, 0, "local", not effort.exhausted)

    def keeps(self, system: InferenceSystem) -> bool:
        """Whether the limit on epsilon is kept by its upper bound, evaluated by the library."""
        target = self.wanted.epsilon_at_most
        return target is None or bool(np.all(self.epsilons(system) <= target))

    def value(self, system: InferenceSystem) -> float:
        """The minimised quantity of a system."""
        if self.wanted.minimise is Goal.EPSILON:
            return float(np.max(self.epsilons(system)))
        return (
            local_search.energy(system, self.purpose) if self.wanted.minimise is Goal.ENERGY else self._error_of(system)
        )

    def _error_of(self, system: InferenceSystem) -> float:
        if self.purpose is None:
            return math.nan
        return float(np.mean([distortion.exact(system, task) for task in self.purpose.features]))

    def keeps_all(self, system: InferenceSystem) -> bool:
        """Whether a system keeps every constraint, evaluated by the library."""
        wanted, energy = self.wanted, self.wanted.energy_at_most
        return (
            self.keeps(system)
            and (self.error is None or self._error_of(system) <= self.error)
            and (energy is None or local_search.energy(system, self.purpose) <= energy)
            and (
                wanted.power_at_most is None
                or Peak.needed(system, wanted.outage_at_most) <= wanted.power_at_most * _POWER_ROUNDING
            )
        )

    def _near(self, value: float, lower: float) -> bool:
        """Whether the gap is small enough to count as settled."""
        return value - lower <= self.enough * abs(value) * (1 + 1e-9)

    def _global(self, system: InferenceSystem, short: float, effort: Effort) -> Answer:
        """The answer by branch and bound.

        Where the minimised quantity has a limit itself and the least value found is above it, the search is repeated
        until it finds a value within the limit or proves that there is none.
        """
        goal, method = self.wanted.minimise, "global: branch and bound"
        limit = {Goal.ENERGY: self.wanted.energy_at_most, Goal.ERROR: self.error, Goal.EPSILON: None}[goal]
        if goal is Goal.EPSILON:
            return self._least_epsilon(system, short, effort)
        problem = self._problem(system, goal, self.wanted.epsilon_at_most, short)
        search = equal_devices.solve(problem, gap=self.gap, effort=effort)
        boxes, lower = search.boxes, search.lower
        if limit is not None and search.value > limit >= lower:
            search = equal_devices.solve(problem, gap=self.gap, effort=effort, enough=limit)
            boxes, lower = boxes + search.boxes, max(lower, search.lower)
        if lower == math.inf:
            reason = f"branch and bound excludes every design that keeps the constraints ({boxes} boxes, {_DOMAIN})"
            return Answer(None, math.inf, lower, boxes, method, True, reason)
        if limit is not None and lower > limit:
            reason = f"{goal} is at least {down(lower)} where the constraints are kept ({boxes} boxes, {_DOMAIN}), "
            return Answer(None, math.inf, math.inf, boxes, method, True, f"{reason}above {goal}_at_most = {limit:g}")
        if search.point is None or (limit is not None and search.value > limit):
            return Answer(None, math.inf, lower, boxes, method, False)
        designed = self._system(problem, search.point)
        return Answer(designed, search.value, lower, boxes, method, self._near(search.value, lower))

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
        """The system with the best gain, where the gain is free."""
        if self.purpose is None or Free.GAIN not in self.wanted.free:
            return system
        gain = decoding.best_gain(system, self.purpose.features).gain
        return replace(system, decoder_gain=gain) if gain > 0 else system

    def _least_epsilon(self, system: InferenceSystem, short: float, effort: Effort) -> Answer:
        """The answer for the goal epsilon, by bisection.

        It starts from a design that keeps all other constraints at any epsilon. At each epsilon of the bisection a
        design is found, or it is proved that there is none, or neither succeeds within a share of the effort.
        """
        method = "global: branch and bound at each epsilon of a bisection"
        epsilon_limit = math.inf if self.wanted.epsilon_at_most is None else self.wanted.epsilon_at_most
        energy_limit = self.wanted.energy_at_most
        goal, limit = (
            (Goal.ENERGY, ANY_ENERGY if energy_limit is None else energy_limit)
            if self.error is None
            else (Goal.ERROR, self.error)
        )
        problem = self._problem(system, goal, None, short)
        search = equal_devices.solve(problem, gap=self.gap, effort=effort.part(1 / 3), enough=limit * (1 - _ROUNDING))
        boxes = search.boxes
        if search.lower > limit:
            reason = (
                f"{goal} is at least {down(search.lower)} at any epsilon ({boxes} boxes, {_DOMAIN}), above {limit:g}"
            )
            return Answer(None, math.inf, math.inf, boxes, method, True, reason)
        best, value = None, math.inf
        if search.point is not None and search.value <= limit:
            best = self._system(problem, search.point)
            value = float(np.max(self.epsilons(best)))
        low, high, unsettled = 0.0, value, list[float]()
        epsilon = 1.0 if not value < 1 else value / 4
        while epsilon and 1e-6 < epsilon < 1e6 and not effort.exhausted:
            problem = self._problem(system, Goal.EPSILON, epsilon, short)
            delta_limit = system.delta * (1 - equal_devices.MARGIN)
            search = equal_devices.solve(problem, gap=self.gap, effort=effort.part(1 / 3), enough=delta_limit)
            boxes += search.boxes
            if search.point is not None and search.value <= delta_limit:
                designed = self._system(problem, search.point)
                reached = float(np.max(self.epsilons(designed)))
                best, value = (designed, reached) if reached < value else (best, value)
                high = min(epsilon, value)
            elif search.lower > system.delta:
                low = epsilon
            else:
                unsettled.append(epsilon)
            unsettled = [y for y in unsettled if low < y < high]
            epsilon = self._between(low, high, unsettled)
        if low > epsilon_limit:
            reason = f"epsilon is above {down(low)} where the constraints are kept ({boxes} boxes, {_DOMAIN}), "
            return Answer(
                None, math.inf, math.inf, boxes, method, True, reason + f"above epsilon_at_most = {epsilon_limit:g}"
            )
        if best is None or value > epsilon_limit:
            return Answer(None, math.inf, low, boxes, method, False)
        return Answer(best, value, min(low, value), boxes, method, self._near(value, low))

    def _between(self, low: float, high: float, unsettled: list[float]) -> float:
        """The next epsilon, in the wider of the gaps beside the unsettled ones; 0 where both gaps are small."""
        if high == math.inf:
            return 4 * max(low, *unsettled, 0.0)
        if low == 0:
            return min(high, *unsettled, math.inf) / 4
        spans = [(low, min(unsettled, default=high)), (max(unsettled, default=low), high)]
        span_low, span_high = max(spans, key=lambda span: span[1] / span[0])
        return math.sqrt(span_low * span_high) if span_high > span_low * (1 + self.gap) else 0.0

    def epsilons(self, system: InferenceSystem) -> FloatArray:
        """Upper bounds of the epsilon of every device over all rounds."""
        return local_search.epsilons(system, self.observer, self.rounds)

    def reported(self, answer: Answer, system: InferenceSystem, seconds: float) -> JointDesign:
        """The design with all its properties evaluated by the library."""
        epsilon = self.epsilons(system)
        energy = local_search.energy(system, self.purpose)
        error = accuracy_mean = nothing = None
        if self.purpose is not None:
            tasks, margin = self.purpose.features, self.purpose.margin
            error = float(np.mean([distortion.exact(system, task) for task in tasks]))
            accuracy_of_constant = None
            if margin is not None:
                options: dict[str, Any] = {"margin": margin, "ideal_accuracy": self.purpose.ideal_accuracy}
                accuracy_mean = float(np.mean([accuracy.exact(system, task, **options).estimate for task in tasks]))
                accuracy_of_constant = decoding.constant_accuracy(tasks, **options)
            nothing = Nothing(error=decoding.constant_output(tasks), accuracy=accuracy_of_constant)
        values = {Goal.ENERGY: energy, Goal.EPSILON: float(np.max(epsilon)), Goal.ERROR: error}
        value = values[self.wanted.minimise]
        return JointDesign(
            system=system,
            minimised=self.wanted.minimise,
            value=math.nan if value is None else value,
            lower_bound=answer.lower if answer.lower is None or value is None else min(answer.lower, value),
            epsilon=epsilon,
            error=error,
            accuracy=accuracy_mean,
            energy=energy,
            nothing=nothing,
            method=answer.method,
            boxes=answer.boxes,
            settled=answer.settled,
            seconds=seconds,
            question=Question(wanted=self.wanted, purpose=self.purpose, rounds=self.rounds, observer=self.observer),
        )


def error_limit(wanted: Requirements, purpose: Purpose | None) -> float | None:
    """The limit on the MSE that keeps both constraints, the accuracy by Markov's inequality; None without either."""
    limits = [] if wanted.error_at_most is None else [wanted.error_at_most]
    if wanted.accuracy_at_least is not None and purpose is not None and purpose.margin is not None:
        if wanted.accuracy_at_least >= purpose.ideal_accuracy:
            raise InfeasibleError(
                f"accuracy_at_least = {wanted.accuracy_at_least:g}: must be below the ideal accuracy "
                f"{purpose.ideal_accuracy:g}"
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
