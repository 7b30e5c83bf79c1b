"""The joint problem: weights, noise, clip, participation, gain, idle noise together, for least energy, epsilon or error."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analytics import checks
from analytics.checks import FloatArray, ParameterError
from analytics.guarantee import Observer
from analytics.inference import accuracy, decoding, distortion
from analytics.inference.features import Features
from analytics.inference.system import InferenceSystem
from solvers.design import different, equal, local, nearest, screen
from solvers.design.moments import Moments
from solvers.design.peak import Peak
from solvers.design.requirements import Free, Goal, JointDesign, Nothing, Purpose, Requirements
from solvers.solution import InfeasibleError

_GAP, _COSTLY_GAP = 1e-3, 1e-2
_SECONDS, _COSTLY_SECONDS = 10.0, 120.0
_LEAST_SECONDS = 0.05  # of a branch and bound
_SHORT, _FARTHEST = 6e-3, 0.05  # share of epsilon that proposed points stay below it
_ANY = 1e300  # an energy that every design has


def design(
    system: InferenceSystem,
    requirements: Requirements,
    features: Features | Sequence[Features] | None = None,
    *,
    margin: float | None = None,
    ideal_accuracy: float = 1.0,
    rounds: int = 1,
    observer: Observer | str = Observer.AUTO,
    gap: float | None = None,
    seconds: float | None = None,
    explain: bool = True,
) -> JointDesign:
    """The best values of what is free.

    Parameters
    ----------
    system : InferenceSystem
        What is not free stays as it is here; different devices keep the proportions that they have here.
    requirements : Requirements
    features : Features or sequence of Features, optional
        What the server wants to know; without it there are only epsilon and energy.
    margin, ideal_accuracy : float
        For an accuracy.
    rounds : int
        T >= 1 queries that epsilon is of together.
    observer : {"auto", "participants", "others", "signal"}
    gap : float, optional
        Relative, at which branch and bound stops: 1e-3, or 1e-2 where epsilon has no closed form.
    seconds : float, optional
        At most; then the gap reached is given. 10, or 120 where epsilon has no closed form.
    explain : bool
        Whether to find out, where there is no design, what could be kept of each constraint.

    Returns
    -------
    JointDesign
        Equal devices and a free gain: proved to the gap (see :mod:`solvers.design.equal`), over participations from 1e-3 and
        noise up to 1e8 of the receiver's, up to the rounding of doubles; but for ``silent`` and ``replace`` before a server
        that does not see the participants. All else is "local".

    Raises
    ------
    InfeasibleError
        When no design keeps the constraints, with the nearest that could be kept of each, the others unchanged.
    ParameterError

    Examples
    --------
    >>> from solvers.weights.problem import _example
    >>> system, views = _example()
    >>> wanted = Requirements(minimise="energy", epsilon_at_most=2.0, error_at_most=0.5)
    >>> found = design(system, wanted, views)
    >>> bool(np.max(found.epsilon) <= 2.0 and found.error <= 0.5), found.gap <= 1e-3 * found.value
    (True, True)
    """
    started = time.monotonic()
    seen = checks.choice("observer", observer, Observer)
    count = checks.count("rounds", rounds)
    purpose = None if features is None else Purpose.of(features, margin, ideal_accuracy)
    _consistent(system, requirements, purpose)
    job = Job(system, requirements, purpose, count, seen, gap, seconds)
    answer = job.solved()
    if answer.system is None:
        raise nearest.infeasible(job) if explain else InfeasibleError("no design found that keeps the constraints")
    return job.reported(answer, answer.system, time.monotonic() - started)


@dataclass(frozen=True)
class Answer:
    """The best design of one kind of idle noise."""

    system: InferenceSystem | None
    value: float
    lower: float | None
    boxes: int
    method: str


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
        seconds: float | None,
    ) -> None:
        self.system, self.wanted, self.purpose = system, wanted, purpose
        self.rounds, self.observer = rounds, observer
        self.error = _error(wanted, purpose)
        self.steady = Free.PARTICIPATION not in wanted.free and bool(np.all(system.participation == 1))
        self.closed = screen.of(system, 1.0, observer, rounds, steady=self.steady, short=0.0).closed
        self.gap = (_GAP if self.closed else _COSTLY_GAP) if gap is None else gap
        self.seconds = (_SECONDS if self.closed else _COSTLY_SECONDS) if seconds is None else seconds
        self.deadline = time.monotonic() + self.seconds

    @property
    def options(self) -> list[InferenceSystem]:
        """With and without idle noise, where that is free."""
        if Free.IDLE not in self.wanted.free:
            return [self.system]
        return [replace(self.system, idle_noise=idle) for idle in (False, True)]

    def asking(self, wanted: Requirements) -> Job:
        """The same with other requirements, in a quarter of the time."""
        return Job(self.system, wanted, self.purpose, self.rounds, self.observer, self.gap, self.seconds / 4)

    def solved(self) -> Answer:
        """The best design there is."""
        found = [self._best(option) for option in self.options]
        best = min(found, key=lambda one: math.inf if one.system is None else one.value)
        bounds = [one.lower for one in found if one.lower is not None]
        lower = min(bounds) if len(bounds) == len(found) else None
        return replace(best, lower=lower, boxes=sum(one.boxes for one in found))

    def _certifiable(self, system: InferenceSystem) -> bool:
        """Whether branch and bound has bounds for it."""
        free = self.wanted.free
        gauge = Free.ALIGNMENT not in free or {Free.WEIGHT, Free.NOISE} <= set(free)
        known = self.purpose is not None and Free.GAIN in free
        scaled = Free.CLIP not in free or Free.WEIGHT in free  # else shorter clips than every code are other designs
        return gauge and known and scaled and screen.certifiable(system, self.observer)

    def _best(self, system: InferenceSystem) -> Answer:
        """The best design of one kind of idle noise."""
        if not self._certifiable(system):
            return self._different(system)
        short = _SHORT
        while True:
            found = self._global(system, short)
            if found.system is None or self.keeps(found.system):
                return found
            if self.closed:
                raise checks.ConvergenceError(
                    f"epsilon of the design is {float(np.max(self.epsilons(found.system)))!r}, above the target by rounding"
                )
            short *= 2
            if short > _FARTHEST:
                return replace(found, system=None, value=math.inf)
            self.deadline = max(self.deadline, time.monotonic() + self.seconds / 4)

    def _different(self, system: InferenceSystem) -> Answer:
        """Of different devices, or where nothing is proved."""
        if self.purpose is not None and different.applies(system, self.wanted, self.purpose):
            asked = different.Question(self.wanted, self.purpose, self.error, self.rounds, self.observer)
            found = different.best(system, asked, self.deadline)
            if found is not None:
                method = "local" if found.lower is None else "convex steps, lower bound by a relaxation"
                return Answer(found.system, found.value, found.lower, 0, method)
        point = local.best(system, self.wanted, self.purpose, self.error, self.rounds, self.observer)
        return Answer(None, math.inf, None, 0, "local") if point is None else Answer(*point, None, 0, "local")

    def keeps(self, system: InferenceSystem) -> bool:
        """Whether the library's own epsilon is kept."""
        target = self.wanted.epsilon_at_most
        return target is None or bool(np.all(self.epsilons(system) <= target))

    def _left(self, share: float = 1.0) -> float:
        return max((self.deadline - time.monotonic()) * share, _LEAST_SECONDS)

    def _global(self, system: InferenceSystem, short: float) -> Answer:
        goal = self.wanted.minimise
        if goal is Goal.EPSILON:
            return self._least_epsilon(system, short)
        problem = self._problem(system, goal, self.wanted.epsilon_at_most, short)
        found = equal.solve(problem, gap=self.gap, seconds=self._left())
        designed = None if found.point is None else self._system(problem, found.point)
        limit = self.wanted.energy_at_most
        if goal is Goal.ENERGY and limit is not None and found.value > limit:
            designed = None
        return Answer(designed, found.value, found.lower, found.boxes, "global: branch and bound")

    def _problem(self, system: InferenceSystem, goal: Goal, epsilon: float | None, short: float) -> equal.Problem:
        tasks = () if self.purpose is None else self.purpose.features
        wanted = self.wanted
        test = None
        if epsilon is not None:
            test = screen.of(system, epsilon, self.observer, self.rounds, steady=self.steady, short=short)
        return equal.Problem(
            system,
            frozenset(wanted.free),
            Moments.of(tasks, None if Free.CLIP in wanted.free else float(system.clip[0])),
            test,
            self.error,
            wanted.energy_at_most,
            goal,
            None if wanted.power_at_most is None else Peak.of(system, wanted.power_at_most, wanted.outage_at_most),
        )

    def _system(self, problem: equal.Problem, point: np.ndarray) -> InferenceSystem:
        named = problem.designed(point)
        changes: dict[str, Any] = {name.value: value for name, value in named.items() if name in self.wanted.free}
        return self.tuned(replace(problem.system, **changes))

    def tuned(self, system: InferenceSystem) -> InferenceSystem:
        """With the best gain, where it is free."""
        if self.purpose is None or Free.GAIN not in self.wanted.free:
            return system
        gain = decoding.best_gain(system, self.purpose.features).gain
        return replace(system, decoder_gain=gain) if gain > 0 else system

    def _least_epsilon(self, system: InferenceSystem, short: float) -> Answer:
        """By bisection: at each epsilon a design is found, or it is proved that there is none, or time runs out on it."""
        budget = self.wanted.energy_at_most
        enough = _ANY if budget is None else budget
        low, high, best, boxes = 0.0, math.inf, None, 0
        unsettled: list[float] = []
        x = 1.0
        while 1e-6 < x < 1e6:
            problem = self._problem(system, Goal.ENERGY, x, short)
            found = equal.solve(problem, gap=self.gap, seconds=self._left(1 / 3), enough=enough)
            boxes += found.boxes
            if found.point is not None and found.value <= enough:
                high, best = x, self._system(problem, found.point)
            elif found.lower > enough:
                low = x
            else:
                unsettled.append(x)
            x = self._between(low, high, unsettled)
            if not x or time.monotonic() > self.deadline:
                break
        value = math.inf if best is None else float(np.max(self.epsilons(best)))
        return Answer(best, value, min(low, value), boxes, "global: branch and bound at each epsilon of a bisection")

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


def _consistent(system: InferenceSystem, wanted: Requirements, purpose: Purpose | None) -> None:
    """Raise ParameterError where the question makes no sense."""
    error = wanted.error_at_most is not None or wanted.accuracy_at_least is not None
    if purpose is None and (error or wanted.minimise is Goal.ERROR):
        name = "accuracy_at_least" if wanted.accuracy_at_least is not None else "error_at_most"
        raise ParameterError(
            name, "given without features", "absent: without features there are only epsilon and energy"
        )
    if wanted.accuracy_at_least is not None and purpose is not None and purpose.margin is None:
        raise ParameterError("margin", None, "given: accuracy_at_least needs it")
    moves = {Free.NOISE, Free.WEIGHT, Free.CLIP, Free.PARTICIPATION, Free.ALIGNMENT, Free.IDLE}
    if wanted.epsilon_at_most is not None and Free.WEIGHT not in wanted.free and not np.any(system.weight > 0):
        raise ParameterError("weight", 0.0, "positive for some device: epsilon does not move")
    if wanted.minimise is not Goal.ERROR and not moves & set(wanted.free):
        raise ParameterError("free", [f.value for f in wanted.free], f"something that moves {wanted.minimise}")
    if wanted.minimise is Goal.ENERGY and not error and Free.WEIGHT in wanted.free:
        raise ParameterError("error_at_most", None, "given, or accuracy_at_least: else it is best to send nothing")
    if wanted.minimise is Goal.EPSILON and not error and Free.WEIGHT in wanted.free:
        raise ParameterError("error_at_most", None, "given, or accuracy_at_least: else it is best to send nothing")
    if system.receiver_noise_variance == 0 and {Free.WEIGHT, Free.NOISE} <= set(wanted.free):
        raise ParameterError("receiver_noise_variance", 0.0, "positive: else ever weaker signals do as well")
