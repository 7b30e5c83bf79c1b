"""The joint problem of unequal devices: alternating convex steps, and a lower bound by a convex relaxation.

A convex step finds weights and noise for given privacy ratios (:mod:`airtight.solvers.design.over_the_air.convex`).
The exact ratios for this noise are the input of the next step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import optimize

from airtight.analytics.checks import ConvergenceError, FloatArray
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import decoding, distortion
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers, system_privacy
from airtight.solvers.design.calibrate import Variable, calibrate
from airtight.solvers.design.effort import Effort, EffortSpent
from airtight.solvers.design.over_the_air import convex, local_search
from airtight.solvers.design.over_the_air.convex import Limits, Model, Relaxed
from airtight.solvers.design.over_the_air.joint_design import ANY_ENERGY, Purpose
from airtight.solvers.design.peak import Peak
from airtight.solvers.design.requirements import Free, Goal, InferenceRequirements
from airtight.solvers.errors import InfeasibleError

_ALTERNATIONS = 6  # most alternating steps from one start
_TIGHTENING = 1 - 1e-6  # factor on the limits, because the solver may violate them slightly
_SETTLED = 1e-4  # relative change of the value at which the alternating steps end
_CROSSED = 1e-8  # relative amount by which rounding may put a lower bound above a value
_EPSILON_ACCURACY = 1e-3  # accuracy in log epsilon of a least epsilon that needs alternating steps at each epsilon
_GROWTH, _STEPS = 20.0, 40  # factor of a step of the root search, and most steps
_TRIES = 60  # most evaluations of the search over the common scales of clips and participations
_NOISE_FACTORS = (0.1, 0.0)  # further starts: the noise of the relaxation times these factors
_START_FACTORS = (0.1, 1.0, 10.0)  # starts where there is no relaxation: the noise of the system times these factors
_CONE_COST = 100  # evaluations that a cone program or a calibration counts as
_INFEASIBLE_LOG = 1e3  # log value of an infeasible point, above all others; Nelder-Mead would subtract infinities
_UNLIMITED_ENERGY = 1e9  # the greater of the given system's and the receiver noise's energy times this counts as unlimited
_GREATEST_EPSILON = math.log(700.0)  # log of the greatest epsilon at which a design is sought
_BEYOND = (1e-5, 1e-3, 0.1)  # relative distances beyond a greatest code at which it is tried to prove that epsilon is exceeded


@dataclass(frozen=True)
class UnequalProblem:
    """A joint problem with features and a free gain; `error` is the limit on the MSE from all constraints on it."""

    wanted: InferenceRequirements
    purpose: Purpose
    error: float | None
    rounds: int
    observer: Observer


@dataclass(frozen=True)
class Best:
    """A design that keeps all constraints, if one was found, its value, and a lower bound of all values where one is proved."""

    system: InferenceSystem | None = None
    value: float = math.inf
    lower: float | None = None


def applies(system: InferenceSystem, wanted: InferenceRequirements, purpose: Purpose | None) -> bool:
    """Whether the convex steps apply: features, free weights and gain, a free gauge and receiver noise."""
    free = set(wanted.free)
    gauge = Free.ALIGNMENT not in free or Free.NOISE in free
    return purpose is not None and {Free.WEIGHT, Free.GAIN} <= free and gauge and system.decoded_receiver_noise > 0


def best(
    system: InferenceSystem, problem: UnequalProblem, effort: Effort, start: InferenceSystem | None = None
) -> Best:
    """The best design found, with a lower bound where one is proved.

    `start` is a further start, and its clips and participations are tried as they are.
    """
    if problem.wanted.minimise is Goal.EPSILON and _ratios_are(system, problem) is not convex.Ratios.EXACT:
        return _least_epsilon(system, problem, effort, start)
    scaled_variables = [free for free in (Free.CLIP, Free.PARTICIPATION) if free in problem.wanted.free]
    if not scaled_variables:
        return _Alternation(system, problem, effort).best(start)

    def scaled(x: FloatArray) -> InferenceSystem:
        factors = dict(zip(scaled_variables, np.exp(x), strict=True))
        changes: dict[str, Any] = {free.value: getattr(system, free.value) * factor for free, factor in factors.items()}
        if Free.PARTICIPATION in changes:
            changes[Free.PARTICIPATION.value] = np.minimum(changes[Free.PARTICIPATION.value], 1.0)
        return replace(system, **changes)

    def log_value(x: FloatArray) -> float:
        if effort.exhausted:
            raise EffortSpent
        relaxation = _Alternation(scaled(x), problem, effort).relaxed()
        value = _INFEASIBLE_LOG if relaxation is None else math.log(max(relaxation[0], 1e-300))
        if value < improvements[0][0]:
            improvements.insert(0, (value, x.copy()))
        return value

    origins = [
        np.zeros(len(scaled_variables)),
        np.full(len(scaled_variables), 0.7),
        np.full(len(scaled_variables), -0.7),
    ]
    improvements = [(math.inf, origins[0])]
    interrupted = False
    try:
        origin = min(origins, key=log_value)
        optimize.minimize(log_value, origin, method="Nelder-Mead", options={"maxfev": _TRIES, "xatol": 1e-3})
    except EffortSpent:
        pass
    except KeyboardInterrupt:
        interrupted = True
    # made even if the search was stopped: so far there are only values of relaxations
    design = _Alternation(scaled(improvements[0][1]), problem, effort).best()
    if interrupted:
        raise KeyboardInterrupt
    if design.system is None:
        design = _Alternation(scaled(improvements[-1][1]), problem, effort).best()
    if start is not None:
        design = min(design, _Alternation(start, problem, effort).best(start), key=lambda candidate: candidate.value)
    return replace(design, lower=None)


def _least_epsilon(
    system: InferenceSystem, problem: UnequalProblem, effort: Effort, start: InferenceSystem | None
) -> Best:
    """The least epsilon at which the least error found keeps its limit, by bisection.

    The lower bound is the greatest epsilon at which a lower bound of the error exceeds its limit, that of the relaxation, or with
    given noise the epsilon of codes of length 0.
    """
    designs, excluded = dict[float, InferenceSystem](), [0.0]
    error = math.inf if problem.error is None else problem.error

    def excess(log_epsilon: float) -> float:
        wanted = replace(
            problem.wanted,
            minimise=Goal.ERROR,
            epsilon_at_most=math.exp(log_epsilon),
            error_at_most=None,
            accuracy_at_least=None,
        )
        design = best(system, replace(problem, wanted=wanted, error=None), effort, start)
        if design.lower is not None and design.lower > error:
            excluded.append(math.exp(log_epsilon))
        if design.system is None or design.value > error:
            return math.inf
        designs[log_epsilon] = design.system
        effort.met(Goal.EPSILON, math.exp(log_epsilon), design.system)
        return 0.0

    at_given = _Alternation(system, problem, effort)
    fixed = not {Free.CLIP, Free.PARTICIPATION} & set(problem.wanted.free)
    if fixed and at_given.relaxed_at_least and (relaxed := at_given.relaxed()) is not None:
        excluded.append(relaxed[2])
    if fixed and at_given.fixed_noise is not None:
        observer = problem.observer.seeing_others
        silent = replace(system, weight=0.0)
        excluded.append(float(np.max(system_privacy.epsilon_bracket(silent, rounds=problem.rounds, observer=observer).lower)))
    bracket = None
    if problem.error is not None:
        bracket = _root(excess, 0.0, _GREATEST_EPSILON, tolerance=_EPSILON_ACCURACY, effort=effort)
    design = Best()
    if bracket is not None:
        reached = float(np.max(local_search.epsilons(designs[bracket[1]], problem.observer, problem.rounds)))
        design = Best(designs[bracket[1]], reached)
    if not (fixed and at_given.bounded):
        return design
    return replace(design, lower=min(max(excluded), design.value))


def _ratios_are(system: InferenceSystem, asked: UnequalProblem) -> convex.Ratios:
    """What the ratios are: with colluders, who take noise away, a relaxation where they are exact without."""
    alone = convex.ratios_are(system, asked.observer, asked.rounds)
    return convex.Ratios.RELAXED if system.colluding and alone is convex.Ratios.EXACT else alone


class _Alternation:
    """The alternating steps at given participations and clips."""

    def __init__(self, system: InferenceSystem, problem: UnequalProblem, effort: Effort) -> None:
        self.system, self.problem, self.effort, wanted = system, problem, effort, problem.wanted
        self.model = Model.of(system, problem.purpose)
        ratios_are = _ratios_are(system, problem)
        self.exact, self.relaxed_at_least = ratios_are is convex.Ratios.EXACT, ratios_are is not convex.Ratios.NEITHER
        self.fixed_noise = None if Free.NOISE in wanted.free else system.noise_variance
        # with given noise, epsilon limits each code on its own, whatever the observer sees
        self.bounded = self.relaxed_at_least or self.fixed_noise is not None
        self.peak = None
        self.reach = self.variance = np.full(system.devices, np.inf)
        if wanted.power_at_most is not None:
            self.peak = Peak.of(system, wanted.power_at_most, wanted.outage_at_most)
            self.reach = np.broadcast_to(np.asarray(self.peak.reach), (system.devices,)).astype(float)
            self.variance = np.broadcast_to(self.peak.greatest_variance(), (system.devices,))
        received = float(np.max(self.model.noise)) * system.decoded_receiver_noise
        self.start = max(local_search.energy(system, problem.purpose), received)

    def best(self, start: InferenceSystem | None = None) -> Best:
        """The best design of the alternating steps from all starts, with the lower bound of the relaxation."""
        if self.bounded:
            relaxed = self.relaxed()
            if relaxed is None:
                return Best()
            starts, lower = [relaxed[1]], relaxed[2]
            if not self.exact and self.fixed_noise is None:
                level = relaxed[1].noise_variance
                starts += [replace(relaxed[1], noise_variance=level * factor) for factor in _NOISE_FACTORS]
        else:
            level = np.where(self.system.noise_variance > 0, self.system.noise_variance, self._unit())
            starts = [replace(self.system, noise_variance=level * factor) for factor in _START_FACTORS]
            starts, lower = (starts if self.fixed_noise is None else [self.system]), None
        if start is not None and not self.exact:
            starts.append(start)
        least = min((self._alternated(start) for start in starts), key=lambda design: design.value)
        if lower is not None and lower > least.value * (1 + _CROSSED):
            raise ConvergenceError(f"the lower bound {lower!r} is above the value {least.value!r} of a design")
        return replace(least, lower=lower if lower is None else min(lower, least.value))

    def _unit(self) -> float:
        return self.system.decoded_receiver_noise / self.system.devices

    def _alternated(self, system: InferenceSystem) -> Best:
        """The best design of the alternating steps that start at the noise of a system.

        Each step uses the ratios that are exact for the noise of the previous one. The last step also fixes this noise.
        """
        if self.exact and self.peak is None:
            return self._checked(system)
        designs = [self._at_noise_of(system)]
        last_value = math.inf
        for _ in range(_ALTERNATIONS if self.fixed_noise is None else 0):
            limits = self._exact_limits(system, fixed=False)
            step = None if limits is None else self._solution_under(limits)
            if step is None:
                break
            system = step[1]
            if abs(step[0] / last_value - 1) < _SETTLED:
                break
            last_value = step[0]
        if math.isfinite(last_value):
            designs.append(self._at_noise_of(system))
        return min(designs, key=lambda design: design.value)

    def _at_noise_of(self, system: InferenceSystem) -> Best:
        """The best design with the noise of a system and the ratios that are exact for it."""
        limits = self._exact_limits(system, fixed=True)
        step = None if limits is None else self._solution_under(limits)
        return Best() if step is None else self._checked(step[1])

    def relaxed(self) -> tuple[float, InferenceSystem, float] | None:
        """Value, system and lower bound of the relaxation.

        Where the ratios are no relaxation, the same computation gives a start, and its lower bound is not valid.
        """
        epsilon = self.problem.wanted.epsilon_at_most
        return self._solution_under(self._limits(self._ratios(epsilon)))

    def _ratios(self, epsilon: float | None) -> FloatArray:
        """Upper bounds of the ratios that keep epsilon."""
        if epsilon is None:
            return np.full(self.system.devices, np.inf)
        ratio = np.full(self.system.devices, np.inf)
        if self.relaxed_at_least or self.fixed_noise is None:
            ratio = convex.ratios(self.system, epsilon, self.problem.observer, self.problem.rounds)
        if self.exact or self.fixed_noise is None:
            return ratio
        return np.asarray(np.minimum(ratio, self._ratios_at_given_noise(epsilon)))

    def _ratios_at_given_noise(self, epsilon: float) -> FloatArray:
        """Upper bounds of the ratios at the given noise: codes that are proved to exceed epsilon; infinite where none is.

        Epsilon increases with the code of the device itself, and does not depend on those of others.
        """
        ratio, system = np.full(self.system.devices, np.inf), self.system
        reached = self._calibrated(system, epsilon)
        if reached is None:
            return ratio
        level, clip, kept = reached
        observer = observers.resolved(system, self.problem.observer).seeing_others
        for beyond in _BEYOND:
            open_rows = np.flatnonzero(np.isinf(ratio) & np.isfinite(clip))
            if not open_rows.size:
                break
            longer = np.where(np.isfinite(clip), clip, system.clip) * (1 + beyond)
            sending = replace(system, weight=level, clip=longer)
            if self.problem.rounds == 1:
                lower, _ = system_privacy.delta_bracket(sending, epsilon, observer=observer, device=open_rows)
                exceeded = np.atleast_1d(lower) > system.delta
            else:
                bracket = system_privacy.epsilon_bracket(sending, rounds=self.problem.rounds, observer=observer, device=open_rows)
                exceeded = np.atleast_1d(bracket.lower) > epsilon
            proved = open_rows[exceeded]
            ratio[proved] = kept[proved] * (1 + beyond) * (1 + 1e-9)
        return ratio

    def _limits(self, ratio: FloatArray) -> Limits:
        energy = self.problem.wanted.energy_at_most
        energy_limit = self.start * _UNLIMITED_ENERGY if energy is None or energy >= ANY_ENERGY else energy
        return Limits(ratio, energy_limit, self.reach, self.variance, self.fixed_noise)

    def _calibrated(self, system: InferenceSystem, epsilon: float) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Weights, the greatest clips for them that keep epsilon at the noise of a system, and their ratios; None without any."""
        positive_weight = np.where(system.weight > 0, system.weight, np.max(system.weight) or 1.0)
        sending = replace(system, weight=positive_weight)
        options: dict[str, Any] = {"rounds": self.problem.rounds, "observer": self.problem.observer}
        self.effort.spend(_CONE_COST)
        try:
            clip = calibrate(sending, epsilon, variable=Variable.CLIP, **options).value
        except InfeasibleError:
            return None
        noise = float(np.sum(system.received_noise_variance)) + system.receiver_noise_variance
        ratio = self.model.clip / system.clip * system.alignment * positive_weight * clip / math.sqrt(noise)
        return positive_weight, clip, np.asarray(ratio)

    def _exact_limits(self, system: InferenceSystem, *, fixed: bool) -> Limits | None:
        """The limits that are exact for the noise of a system; None where epsilon or the peak power cannot be kept."""
        ratio, reach = np.full(system.devices, np.inf), self.reach
        epsilon = self.problem.wanted.epsilon_at_most
        if epsilon is not None:
            reached = self._calibrated(system, epsilon)
            if reached is None:
                return None
            ratio = reached[2]
        if self.peak is not None:
            reach = self.peak.greatest_weight(system.clip, system.noise_variance) * system.clip
            if np.any(reach <= 0):
                return None
        variance = np.minimum(self.variance, system.noise_variance) if self.peak is not None else self.variance
        return replace(
            self._limits(ratio),
            reach=reach,
            variance=variance,
            fixed=system.noise_variance if fixed else self.fixed_noise,
        )

    def _solution_under(self, limits: Limits) -> tuple[float, InferenceSystem, float] | None:
        """Value of the goal, the system, and a lower bound, under limits that represent the constraints."""
        goal, error = self.problem.wanted.minimise, self.problem.error
        if goal is Goal.ERROR:
            relaxed = self._least_error(limits)
            if relaxed is None:
                return None
            return relaxed.error, relaxed.system, self._error_at_least(limits, relaxed)
        if goal is Goal.ENERGY and error is not None:
            return self._least_energy(limits, error)
        if goal is Goal.EPSILON and error is not None:
            return self._least_epsilon(limits, error)
        return None

    def _error_at_least(self, limits: Limits, relaxed: Relaxed) -> float:
        """A lower bound of the error; without a limit on the energy it is for every energy."""
        energy, multipliers = self.problem.wanted.energy_at_most, relaxed.multipliers
        if energy is None or energy >= ANY_ENERGY:
            limits, multipliers = replace(limits, energy=math.inf), replace(multipliers, energy=0.0)
        return convex.error_at_least(self.model, limits, multipliers)

    def _least_error(self, limits: Limits) -> Relaxed | None:
        self.effort.spend(_CONE_COST)
        tightened = replace(
            limits,
            ratio=limits.ratio * _TIGHTENING,
            energy=limits.energy * _TIGHTENING,
            reach=limits.reach * _TIGHTENING,
        )
        return convex.least_error(self.model, tightened)

    def _least_energy(self, limits: Limits, error: float) -> tuple[float, InferenceSystem, float] | None:
        """The least energy at which the least error keeps its limit, as a root in the energy."""
        solutions: dict[float, Relaxed] = {}

        def excess(log_energy: float) -> float:
            relaxed = self._least_error(replace(limits, energy=math.exp(log_energy)))
            if relaxed is None:
                return math.inf
            solutions[log_energy] = relaxed
            return relaxed.error - error * _TIGHTENING

        greatest = math.log(limits.energy)
        bracket = _root(excess, min(math.log(self.start), greatest), greatest)
        if bracket is None:
            return None
        solution = solutions[bracket[1]]
        bounds = [
            convex.energy_at_least(self.model, limits, solutions[x].multipliers, error)
            for x in bracket
            if x in solutions
        ]
        return math.exp(bracket[1]), solution.system, max(bounds)

    def _least_epsilon(self, limits: Limits, error: float) -> tuple[float, InferenceSystem, float] | None:
        """The least epsilon at which the least error keeps its limit, as a root in epsilon."""
        solutions: dict[float, tuple[Relaxed, Limits]] = {}

        def excess(log_epsilon: float) -> float:
            limits_here = replace(limits, ratio=self._ratios(math.exp(log_epsilon)))
            relaxed = self._least_error(limits_here)
            if relaxed is None:
                return math.inf
            solutions[log_epsilon] = relaxed, limits_here
            return relaxed.error - error * _TIGHTENING

        bracket = _root(excess, 0.0, _GREATEST_EPSILON)
        if bracket is None:
            return None
        lower = 0.0
        for x, (relaxed, limits_here) in sorted(solutions.items()):
            if self._error_at_least(limits_here, relaxed) > error:
                lower = max(lower, math.exp(x))
        return math.exp(bracket[1]), solutions[bracket[1]][0].system, lower

    def _checked(self, system: InferenceSystem) -> Best:
        """The system with the best gain, or no design if it violates a constraint, evaluated by the library."""
        wanted, tasks = self.problem.wanted, self.problem.purpose.features
        gain = decoding.best_gain(system, tasks).gain
        if not gain > 0:
            return Best()
        system = replace(system, decoder_gain=gain)
        error = float(np.mean([distortion.exact(system, task) for task in tasks]))
        energy = local_search.energy(system, self.problem.purpose)
        epsilon = float(np.max(local_search.epsilons(system, self.problem.observer, self.problem.rounds)))
        peak = 0.0 if self.peak is None else Peak.needed(system, wanted.outage_at_most)
        limits = (
            (epsilon, wanted.epsilon_at_most),
            (error, self.problem.error),
            (energy, wanted.energy_at_most),
            (peak, wanted.power_at_most),
        )
        if any(limit is not None and not reached <= limit for reached, limit in limits):
            return Best()
        value = {Goal.EPSILON: epsilon, Goal.ERROR: error, Goal.ENERGY: energy}[wanted.minimise]
        self.effort.met(wanted.minimise, value, system)
        return Best(system, value)


def _root(
    excess: Callable[[float], float], start: float, greatest: float, *, tolerance: float = 1e-5, effort: Effort | None = None
) -> tuple[float, float] | None:
    """A bracket of the root of a decreasing function: a point where it is positive and a point where it is not.

    None where the function is positive up to `greatest`. Where it is not positive at the left end of the search either,
    both points are equal.
    """
    values: dict[float, float] = {}

    def evaluated(x: float) -> float:
        values[x] = excess(x)
        return values[x]

    x, step = start, math.log(_GROWTH)
    if evaluated(x) <= 0:
        low = x - step
        while evaluated(low) <= 0:
            x, low = low, low - step
            if start - low > _STEPS * step:
                return x, x
    else:
        low, x = x, min(x + step, greatest)
        while evaluated(x) > 0:
            if x >= greatest:
                return None
            low, x = x, min(x + step, greatest)
    if math.isfinite(values[low]) and values[x] < 0:
        optimize.brentq(evaluated, low, x, xtol=tolerance / 4, rtol=1e-15, maxiter=_STEPS)
        evaluated(min(y for y, value in values.items() if value <= 0) - 0.9 * tolerance)
    while True:
        x = min(y for y, value in values.items() if value <= 0)
        low = max((y for y, value in values.items() if value > 0 and y < x), default=-math.inf)
        if x - low <= tolerance or (effort is not None and effort.exhausted) or len(values) > 4 * _STEPS:
            return low, x
        evaluated((low + x) / 2)
