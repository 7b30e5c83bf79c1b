"""A joint problem and its answer: the choice of the method, and the proved bound on all other designs.

:meth:`Job._best` decides for which designs the bound is, and what proves it:

* *All designs*, by boxes: branch and bound applies, and equal values suffice (:meth:`Job._alike_suffices`).
  :mod:`.equal_devices` splits them; :mod:`.box_bounds` bounds their delta, :mod:`.moments` error and energy.
* *Designs that treat devices alike*, by the same boxes: the user wants `alike`.
* *All designs*, by a relaxation: the convex steps apply, and clips and participation are given (:mod:`.convex`, by its
  multipliers).
* *None* otherwise: branch and bound and local search only propose designs.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import accuracy, decoding, distortion
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.progress import reported
from airtight.solvers.design.effort import Effort
from airtight.solvers.design.known import DOMAIN, LOCAL, Designs, Known, Method
from airtight.solvers.design.over_the_air import box_bounds, convex, equal_devices, local_search, unequal_devices
from airtight.solvers.design.over_the_air.box_bounds import delta_test
from airtight.solvers.design.over_the_air.joint_design import ANY_ENERGY, DesignRequest, JointDesign, Nothing, Purpose
from airtight.solvers.design.over_the_air.moments import Moments
from airtight.solvers.design.over_the_air.units import Units
from airtight.solvers.design.peak import Peak
from airtight.solvers.design.requirements import Free, Goal, InferenceRequirements
from airtight.solvers.errors import InfeasibleError

_GAP, _COSTLY_GAP = 1e-3, 1e-2  # default relative gap where epsilon has a closed form, and where it has none
_SETTLED_FACTOR = 10.0  # a default gap times this still counts as settled
_ROUNDING = 1e-10  # relative distance that a design keeps from its limit
_POWER_ROUNDING = 1 + 1e-6  # rounding error allowed for the peak power
# share by which proposed points stay below epsilon: the first and the greatest that is tried
_LEAST_MARGIN, _GREATEST_MARGIN = 6e-3, 0.05


@dataclass(frozen=True)
class Answer:
    """The best design found, and what is proved about all others.

    Attributes
    ----------
    system : InferenceSystem or None
    value : float
    known : Known
        The bound is infinite where no design of its class keeps the constraints.
    boxes : int
    settled : bool
    excluded : str
        The proof that no design keeps the constraints, for the message; empty where that is not proved.
    excluded_alike : str
        The proof that none does that treats all devices alike.
    """

    system: InferenceSystem | None
    value: float
    known: Known
    boxes: int
    settled: bool
    excluded: str = ""
    excluded_alike: str = ""

    @property
    def least(self) -> float:
        """The bound; minus infinity where there is none."""
        return -math.inf if self.known.lower is None else self.known.lower


class Job:
    """One joint problem, in the solvers' unit.

    Parameters
    ----------
    units : Units
        Of the numbers in messages.
    system : InferenceSystem
    wanted : InferenceRequirements
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
        units: Units,
        system: InferenceSystem,
        wanted: InferenceRequirements,
        purpose: Purpose | None,
        rounds: int,
        observer: Observer,
        gap: float | None,
        progress: bool = False,
    ) -> None:
        self.units, self.system, self.wanted, self.purpose = units, system, wanted, purpose
        self.rounds, self.observer = rounds, observer
        self.error = error_limit(wanted, purpose)
        self.always_present = Free.PARTICIPATION not in wanted.free and bool(np.all(system.participation == 1))
        # one word for both options of idle noise: a bound of the problem is no better than that of its worst option
        screens = [
            delta_test(option, 1.0, observer, rounds, always_present=self.always_present, margin=0.0) for option in self.options
        ]
        self.closed, self.proved = (all(getattr(option, name) for option in screens) for name in ("closed", "proved"))
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

    def asking(self, wanted: InferenceRequirements) -> Job:
        """The same problem with other requirements and a quarter of the effort."""
        reduced = replace(wanted, effort=max(wanted.effort // 4, 1))
        job = Job(self.units, self.system, reduced, self.purpose, self.rounds, self.observer, self.asked_gap)
        job.moments = self.moments
        return job

    def solved(self) -> Answer:
        """The best design found, over all options of idle noise."""
        options = self.options
        answers = [self._best(option, self.effort.part(1 / (len(options) - i))) for i, option in enumerate(options)]
        best = min(answers, key=lambda answer: math.inf if answer.system is None else answer.value)
        # an option that is not settled matters only if its bound allows a better design
        unsettled = [answer for answer in answers if not answer.settled and not answer.least >= best.value]
        excluded, excluded_alike = (
            "; ".join(dict.fromkeys(texts)) if best.system is None and all(texts) else ""
            for texts in zip(*((answer.excluded, answer.excluded_alike) for answer in answers), strict=True)
        )
        return replace(
            best,
            known=Known.of_all([answer.known for answer in answers]),
            boxes=sum(answer.boxes for answer in answers),
            settled=not unsettled,
            excluded=excluded,
            excluded_alike=excluded_alike,
        )

    def _certifiable(self, system: InferenceSystem) -> bool:
        """Whether branch and bound has bounds for this problem."""
        free = self.wanted.free
        gauge_free = Free.ALIGNMENT not in free or {Free.WEIGHT, Free.NOISE} <= set(free)
        gain_best = self.purpose is not None and Free.GAIN in free
        clip_bounded = Free.CLIP not in free or Free.WEIGHT in free  # else thresholds below every code matter, too
        return gauge_free and gain_best and clip_bounded and box_bounds.certifiable(system, self.observer)

    def _alike_suffices(self, system: InferenceSystem) -> bool:
        """Whether the best of the designs of equal devices that treat them alike is the best of all designs.

        Of one device it is. With given weights, clips and participations, and noise that is always present, epsilon, error and
        energy depend on the noise of all devices together only; equal shares of it keep the peak power where any shares do.
        Against any m colluders epsilon depends on the least noise of K - m devices together, a share (K - m)/K of the whole at
        most, which equal shares attain.
        """
        free = set(self.wanted.free)
        given = not free & {Free.WEIGHT, Free.CLIP, Free.PARTICIPATION}
        return system.devices == 1 or (
            given and (Free.NOISE not in free or convex.ratios_are(system, self.observer, self.rounds) is convex.Ratios.EXACT)
        )

    def _best(self, system: InferenceSystem, effort: Effort) -> Answer:
        """The best design for one option of idle noise.

        Branch and bound treats equal devices alike. Their features may differ, so unequal values may be better: its design is
        then a start of the convex steps, and its bound is none.
        """
        certifiable, suffices = self._certifiable(system), self._alike_suffices(system)
        if certifiable and self.proved and (suffices or self.wanted.alike):
            return self._by_boxes(system, effort, Designs.ALL if suffices else Designs.ALIKE)
        steps = not self.wanted.alike and unequal_devices.applies(system, self.wanted, self.purpose)
        of_equal_devices = Answer(None, math.inf, LOCAL, 0, True)
        if certifiable:
            of_equal_devices = self._by_boxes(system, effort.part(1 / 2 if steps else 1), Designs.ALIKE)
            excluded = of_equal_devices.excluded if self.proved else ""
            of_equal_devices = replace(of_equal_devices, known=LOCAL, excluded="", excluded_alike=excluded)
        answer = self._by_steps(system, effort, of_equal_devices.system) if steps else Answer(None, math.inf, LOCAL, 0, True)
        if answer.system is None and (of_equal_devices.system is None or not of_equal_devices.settled):
            point = local_search.best(system, self.wanted, self.purpose, self.error, self.rounds, self.observer, effort)
            if point is not None:
                answer = replace(answer, system=point[0], value=point[1])
        if of_equal_devices.value < answer.value:
            answer = replace(answer, system=of_equal_devices.system, value=of_equal_devices.value)
        return replace(
            answer,
            known=answer.known.below(answer.value),
            boxes=of_equal_devices.boxes,
            settled=answer.system is not None and not effort.exhausted,
            excluded_alike=of_equal_devices.excluded_alike,
        )

    def _by_boxes(self, system: InferenceSystem, effort: Effort, bound_for: Designs) -> Answer:
        """The best design that treats equal devices alike, by branch and bound."""
        margin = _LEAST_MARGIN
        while True:
            answer = self._global(system, margin, effort.part(1.0 if self.closed else 1 / 2), bound_for)
            if answer.system is None or self.keeps(answer.system):
                return answer
            margin *= 2
            # epsilon is exceeded by rounding, or the bound on delta is not tight enough to propose a design
            if self.closed or margin > _GREATEST_MARGIN or effort.exhausted:
                return replace(answer, system=None, value=math.inf, settled=False)

    def _by_steps(self, system: InferenceSystem, effort: Effort, start: InferenceSystem | None) -> Answer:
        """The best design of devices that may differ, by convex steps."""
        assert self.purpose is not None
        problem = unequal_devices.UnequalProblem(self.wanted, self.purpose, self.error, self.rounds, self.observer)
        best = unequal_devices.best(system, problem, effort, start)
        known = LOCAL if best.lower is None else Known(Method.RELAXATION, best.lower, Designs.ALL)
        return Answer(best.system, best.value, known, 0, True)

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
        return local_search.error(system, self.purpose)

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

    def shown(self, goal: Goal, value: float) -> str:
        """A bound or a limit in the given unit, rounded down."""
        return down(value * self.units.factor(goal))

    @staticmethod
    def _excluded(method: Method, bound_for: Designs, boxes: int, reason: str) -> Answer:
        """The answer where it is proved that no design of the class keeps the constraints."""
        return Answer(None, math.inf, Known(method, math.inf, bound_for), boxes, True, f"{bound_for}: {reason}")

    def _global(self, system: InferenceSystem, margin: float, effort: Effort, bound_for: Designs) -> Answer:
        """The answer by branch and bound.

        Where the minimised quantity has a limit itself and the least value found is above it, the search is repeated
        until it finds a value within the limit or proves that there is none.
        """
        goal, method = self.wanted.minimise, Method.BOXES
        limit = {Goal.ENERGY: self.wanted.energy_at_most, Goal.ERROR: self.error, Goal.EPSILON: None}[goal]
        if goal is Goal.EPSILON:
            return self._least_epsilon(system, margin, effort, bound_for)
        problem = self._problem(system, goal, self.wanted.epsilon_at_most, margin)
        search = equal_devices.solve(problem, gap=self.gap, effort=effort)
        boxes, lower = search.boxes, search.lower
        if limit is not None and search.value > limit >= lower:
            search = equal_devices.solve(problem, gap=self.gap, effort=effort, enough=limit)
            boxes, lower = boxes + search.boxes, max(lower, search.lower)
        if lower == math.inf:
            reason = f"branch and bound excludes every design that keeps the constraints ({boxes} boxes, {DOMAIN})"
            return self._excluded(method, bound_for, boxes, reason)
        if limit is not None and lower > limit:
            reason = (
                f"{goal} is at least {self.shown(goal, lower)} where the constraints are kept ({boxes} boxes, {DOMAIN}), "
                f"above {goal}_at_most = {limit * self.units.factor(goal):g}"
            )
            return self._excluded(method, bound_for, boxes, reason)
        known = Known(method, lower, bound_for)
        if search.point is None or (limit is not None and search.value > limit):
            return Answer(None, math.inf, known, boxes, False)
        designed = self._system(problem, search.point)
        return Answer(designed, search.value, known, boxes, self._near(search.value, lower))

    def _problem(
        self, system: InferenceSystem, goal: Goal, epsilon: float | None, margin: float
    ) -> equal_devices.Problem:
        wanted = self.wanted
        if self.moments is None:
            tasks = () if self.purpose is None else self.purpose.features
            self.moments = Moments.of(tasks, None if Free.CLIP in wanted.free else float(system.clip[0]))
        test = None
        if epsilon is not None:
            test = delta_test(system, epsilon, self.observer, self.rounds, always_present=self.always_present, margin=margin)
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

    def _least_epsilon(
        self, system: InferenceSystem, margin: float, effort: Effort, bound_for: Designs
    ) -> Answer:
        """The answer for the goal epsilon, by bisection.

        It starts from a design that keeps all other constraints at any epsilon. At each epsilon of the bisection a
        design is found, or it is proved that there is none, or neither succeeds within a share of the effort.
        """
        method = Method.BISECTION
        epsilon_limit = math.inf if self.wanted.epsilon_at_most is None else self.wanted.epsilon_at_most
        energy_limit = self.wanted.energy_at_most
        goal, limit = (
            (Goal.ENERGY, ANY_ENERGY if energy_limit is None else energy_limit)
            if self.error is None
            else (Goal.ERROR, self.error)
        )
        problem = self._problem(system, goal, None, margin)
        search = equal_devices.solve(problem, gap=self.gap, effort=effort.part(1 / 3), enough=limit * (1 - _ROUNDING))
        boxes = search.boxes
        if search.lower > limit:
            reason = (
                f"branch and bound excludes every design that keeps the other constraints ({boxes} boxes, {DOMAIN})"
                if search.lower == math.inf
                else f"{goal} is at least {self.shown(goal, search.lower)} at any epsilon ({boxes} boxes, {DOMAIN}), "
                f"above {limit * self.units.factor(goal):g}"
            )
            return self._excluded(method, bound_for, boxes, reason)
        best, value = None, math.inf
        if search.point is not None and search.value <= limit:
            best = self._system(problem, search.point)
            value = float(np.max(self.epsilons(best)))
        low, high, unsettled = 0.0, value, list[float]()
        epsilon = 1.0 if not value < 1 else value / 4
        while epsilon and 1e-6 < epsilon < 1e6 and not effort.exhausted:
            problem = self._problem(system, Goal.EPSILON, epsilon, margin)
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
            reason = (
                f"epsilon is above {down(low)} where the constraints are kept ({boxes} boxes, {DOMAIN}), "
                f"above epsilon_at_most = {epsilon_limit:g}"
            )
            return self._excluded(method, bound_for, boxes, reason)
        if best is None or value > epsilon_limit:
            return Answer(None, math.inf, Known(method, low, bound_for), boxes, False)
        return Answer(best, value, Known(method, min(low, value), bound_for), boxes, self._near(value, low))

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

    def reported(
        self, answer: Answer, wanted: InferenceRequirements, purpose: Purpose | None, seconds: float
    ) -> JointDesign:
        """The design in the given unit, with all its properties evaluated by the library there."""
        assert answer.system is not None
        system = self.units.outside(answer.system)
        epsilon = self.epsilons(system)
        energy = local_search.energy(system, purpose)
        error, accuracy_mean = local_search.error(system, purpose), None
        nothing = Nothing(error=distortion.worst_constant_output(system))
        if purpose is not None:
            tasks, margin = purpose.features, purpose.margin
            accuracy_of_constant = None
            if margin is not None:
                options: dict[str, Any] = {"margin": margin, "ideal_accuracy": purpose.ideal_accuracy}
                accuracy_mean = float(np.mean([accuracy.exact(system, task, **options).estimate for task in tasks]))
                accuracy_of_constant = decoding.constant_accuracy(tasks, **options)
            nothing = Nothing(error=decoding.constant_output(tasks), accuracy=accuracy_of_constant)
        values = {Goal.ENERGY: energy, Goal.EPSILON: float(np.max(epsilon)), Goal.ERROR: error}
        value = values[wanted.minimise]
        known = answer.known.scaled(self.units.factor(wanted.minimise)).below(value)
        return JointDesign(
            system=system,
            minimised=wanted.minimise,
            value=value,
            lower_bound=known.lower,
            bound_for=known.bound_for,
            epsilon=epsilon,
            error=error,
            accuracy=accuracy_mean,
            energy=energy,
            nothing=nothing,
            worst_codes=purpose is None,
            method=known.method,
            boxes=answer.boxes,
            settled=answer.settled,
            seconds=seconds,
            request=DesignRequest(wanted=wanted, purpose=purpose, rounds=self.rounds, observer=self.observer),
        )


def error_limit(wanted: InferenceRequirements, purpose: Purpose | None) -> float | None:
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
    return _rounded(value, decimal.ROUND_CEILING)


def down(value: float) -> str:
    """Six digits, rounded down."""
    return _rounded(value, decimal.ROUND_FLOOR)


def _rounded(value: float, rounding: str) -> str:
    """Six digits; infinite values and the smallest ones, too."""
    return f"{float(decimal.Context(prec=6, rounding=rounding).create_decimal_from_float(value)):.6g}"
