"""The joint problem: weights, noise, clip, participation, gain, idle noise together, for least energy, epsilon or error."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analytics import checks
from analytics.checks import ParameterError
from analytics.guarantee import Observer
from analytics.inference import accuracy, decoding, distortion
from analytics.inference.features import Features
from analytics.inference.system import InferenceSystem
from solvers.design import equal, local
from solvers.design.moments import Moments
from solvers.design.requirements import Free, Goal, JointDesign, Nothing, Purpose, Requirements
from solvers.solution import InfeasibleError

_GAP = 1e-3
_SECONDS = 10.0
_RATIO = 1 + _GAP / 2


def design(
    system: InferenceSystem,
    requirements: Requirements,
    features: Features | Sequence[Features] | None = None,
    *,
    margin: float | None = None,
    ideal_accuracy: float = 1.0,
    rounds: int = 1,
    observer: Observer | str = Observer.AUTO,
    gap: float = _GAP,
    seconds: float = _SECONDS,
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
    gap : float
        Relative, at which branch and bound stops.
    seconds : float
        At most, for each branch and bound; then the gap reached is given.

    Returns
    -------
    JointDesign
        Equal devices with ``silent`` or ``replace`` before who sees the participants, or with idle noise, and a free gain: proved
        to the gap (see :mod:`solvers.design.equal`), over participations from 1e-3 and noise up to 1e8 of the receiver's, up to
        the rounding of doubles; several rounds with participation 1 that is not free. All else is "local".

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
    job = _Job(system, requirements, purpose, count, seen, gap, seconds)
    options = (
        [replace(system, idle_noise=idle) for idle in (False, True)] if Free.IDLE in requirements.free else [system]
    )
    found = [job.best(option) for option in options]
    best = min(found, key=lambda one: math.inf if one[0] is None else one[1])
    if best[0] is None:
        raise job.infeasible(options)
    bounds = [one[2] for one in found if one[2] is not None]
    lower = min(bounds) if len(bounds) == len(found) else None
    return job.reported(best[0], lower, sum(one[3] for one in found), best[4], time.monotonic() - started)


Answer = tuple[InferenceSystem | None, float, float | None, int, str]


class _Job:
    """One joint problem."""

    def __init__(
        self,
        system: InferenceSystem,
        wanted: Requirements,
        purpose: Purpose | None,
        rounds: int,
        observer: Observer,
        gap: float,
        seconds: float,
    ) -> None:
        self.system, self.wanted, self.purpose = system, wanted, purpose
        self.rounds, self.observer, self.gap, self.seconds = rounds, observer, gap, seconds
        self.error = _error(wanted, purpose)

    def certifiable(self, system: InferenceSystem) -> bool:
        """Whether branch and bound has bounds for it."""
        free = self.wanted.free
        gauge = Free.ALIGNMENT not in free or {Free.WEIGHT, Free.NOISE} <= set(free)
        steady = self.rounds == 1 or (Free.PARTICIPATION not in free and bool(np.all(system.participation == 1)))
        known = self.purpose is not None and Free.GAIN in free
        return gauge and steady and known and equal.certifiable(system, self.observer)

    def best(self, system: InferenceSystem) -> Answer:
        """The best design of one kind of idle noise: itself, value, lower bound, boxes, method."""
        if not self.certifiable(system):
            point = local.best(system, self.wanted, self.purpose, self.error, self.rounds, self.observer)
            return (None, math.inf, None, 0, "local") if point is None else (*point, None, 0, "local")
        goal, target = self.wanted.minimise, self.wanted.epsilon_at_most
        if goal is Goal.EPSILON:
            return self._least_epsilon(system)
        problem = self._problem(system, goal, target, self.error, self.wanted.energy_at_most)
        found = equal.solve(problem, gap=self.gap, seconds=self.seconds)
        designed = None if found.point is None else self._system(problem, found.point)
        limit = self.wanted.energy_at_most
        if goal is Goal.ENERGY and limit is not None and found.value > limit:
            designed = None
        return designed, found.value, found.lower, found.boxes, "global: branch and bound"

    def _problem(
        self, system: InferenceSystem, goal: Goal, epsilon: float | None, error: float | None, energy: float | None
    ) -> equal.Problem:
        free = frozenset(self.wanted.free)
        tasks = () if self.purpose is None else self.purpose.features
        moments = Moments.of(tasks, None if Free.CLIP in free else float(system.clip[0]))
        screen = None if epsilon is None else equal.Screen(system, epsilon, self.observer, self.rounds)
        return equal.Problem(system, free, moments, screen, error, energy, goal)

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

    def _least_epsilon(self, system: InferenceSystem, error: float | None = None) -> Answer:
        """By bisection: at each epsilon a design is found, or it is proved that there is none."""
        error = self.error if error is None else error
        budget = self.wanted.energy_at_most
        low, high, best, boxes = 0.0, math.inf, None, 0
        x = 1.0
        while high > low * (1 + self.gap) and 1e-6 < x < 1e6:
            problem = self._problem(system, Goal.ENERGY, x, error, None)
            enough = 1e300 if budget is None else budget
            found = equal.solve(problem, gap=self.gap, seconds=self.seconds, enough=enough)
            boxes += found.boxes
            if found.point is not None and found.value <= enough:
                high, best = x, self._system(problem, found.point)
            elif found.lower > (1e300 if budget is None else budget * (1 - self.gap)):
                low = x
            else:  # time ran out on it
                break
            x = math.sqrt(low * high) if low > 0 and high < math.inf else (x / 4 if high < math.inf else 4 * x)
        value = math.inf if best is None else float(np.max(self.epsilons(best)))
        return best, value, min(low, value), boxes, "global: branch and bound at each epsilon of a bisection"

    def epsilons(self, system: InferenceSystem) -> np.ndarray:
        """Over all rounds."""
        return local.epsilons(system, self.observer, self.rounds)

    def infeasible(self, options: Sequence[InferenceSystem]) -> InfeasibleError:
        """What could be kept of each constraint, the others unchanged."""
        wanted, nearest, least = self.wanted, [], math.nan
        if all(map(self.certifiable, options)) and wanted.epsilon_at_most is not None and self.error is not None:
            epsilons = [self._least_epsilon(system)[1] for system in options]
            if min(epsilons) < math.inf:
                least = min(epsilons)
                nearest.append(f"epsilon_at_most = {least:.6g}")
            errors = [
                equal.solve(
                    self._problem(system, Goal.ERROR, wanted.epsilon_at_most, None, wanted.energy_at_most),
                    gap=self.gap,
                    seconds=self.seconds,
                ).value
                for system in options
            ]
            if min(errors) < math.inf:
                nearest.append(f"error_at_most = {min(errors) * _RATIO:.6g}")
                nearest += self._nearest_accuracy(min(errors) * _RATIO)
            if wanted.energy_at_most is not None:
                energies = [
                    equal.solve(
                        self._problem(system, Goal.ENERGY, wanted.epsilon_at_most, self.error, None),
                        gap=self.gap,
                        seconds=self.seconds,
                    ).value
                    for system in options
                ]
                if min(energies) < math.inf:
                    nearest.append(f"energy_at_most = {min(energies) * _RATIO:.6g}")
        remedy = f"; nearest that can be kept, each alone: {', '.join(nearest)}" if nearest else ""
        return InfeasibleError(f"no design found that keeps the constraints{remedy}", least_epsilon=least)

    def _nearest_accuracy(self, error: float) -> list[str]:
        if self.wanted.accuracy_at_least is None or self.purpose is None or self.purpose.margin is None:
            return []
        reached = self.purpose.ideal_accuracy * max(0.0, 1 - error / self.purpose.margin**2)
        return [f"accuracy_at_least = {reached:.6g}"]

    def reported(
        self, system: InferenceSystem, lower: float | None, boxes: int, method: str, seconds: float
    ) -> JointDesign:
        """With everything evaluated by the library itself."""
        epsilon = self.epsilons(system)
        target = self.wanted.epsilon_at_most
        if target is not None and not np.all(epsilon <= target):
            raise checks.ConvergenceError(f"epsilon of the design is {float(np.max(epsilon))!r}, not {target!r}")
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
            lower_bound=lower if lower is None or value is None else min(lower, value),
            epsilon=epsilon,
            error=error,
            accuracy=chance,
            energy=energy,
            nothing=nothing,
            method=method,
            boxes=boxes,
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
