"""The joint problem of different devices: convex steps by turns with what is exact for the noise found, and a lower bound."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import optimize, special

from airtight.analytics.checks import ConvergenceError, FloatArray
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import decoding, distortion
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design.calibration.calibrate import Variable, calibrate
from airtight.solvers.design.effort import Effort, Spent
from airtight.solvers.design.over_the_air import convex, local
from airtight.solvers.design.over_the_air.convex import Limits, Model, Relaxed
from airtight.solvers.design.over_the_air.requirements import Free, Goal, Purpose, Requirements
from airtight.solvers.design.peak import Peak
from airtight.solvers.errors import InfeasibleError

_TURNS = 6
_NEAR = 1 - 1e-6  # limits are kept away from by what the solver may miss
_SETTLED = 1e-4
_CROSSED = 1e-8  # of a value, that rounding may put its lower bound above it
_ROUGHLY = 1e-3  # of a least epsilon that turns have to be made for
_GROWTH, _STEPS = 20.0, 40
_TRIES = 60  # of common scales of clips and participations
_LESS = (0.1, 0.0)  # times the noise of the relaxation: where turns begin, too
_FROM = (0.1, 1.0, 10.0)  # times the noise: where turns begin if nothing is known
_CONE = 100  # what a cone program, or a calibration, counts as
_HOPELESS = 1e3  # a logarithm above those of all designs: with infinity the simplex would subtract infinities
_PLENTY = 1e9  # times the energy of the system as it is: as good as unlimited


@dataclass(frozen=True)
class Question:
    """A joint problem with features and a free gain; `error` is the MSE that all constraints on it allow."""

    wanted: Requirements
    purpose: Purpose
    error: float | None
    rounds: int
    observer: Observer


@dataclass(frozen=True)
class Best:
    """A design that keeps everything, its value, and a lower bound where there is one."""

    system: InferenceSystem
    value: float
    lower: float | None


def applies(system: InferenceSystem, wanted: Requirements, purpose: Purpose | None) -> bool:
    """Whether the convex steps are those of this problem."""
    free = set(wanted.free)
    gauge = Free.ALIGNMENT not in free or Free.NOISE in free
    return purpose is not None and {Free.WEIGHT, Free.GAIN} <= free and gauge and system.decoded_receiver_noise > 0


def best(system: InferenceSystem, asked: Question, effort: Effort) -> Best | None:
    """The best design met, and what no design has less than; None when none was met."""
    if asked.wanted.minimise is Goal.EPSILON and convex.exact(system, asked.observer, asked.rounds) is not True:
        return _least_epsilon(system, asked, effort)
    outer = [free for free in (Free.CLIP, Free.PARTICIPATION) if free in asked.wanted.free]
    if not outer:
        return _Turns(system, asked, effort).best()

    def scaled(x: FloatArray) -> InferenceSystem:
        named = dict(zip(outer, np.exp(x), strict=True))
        changes: dict[str, Any] = {free.value: getattr(system, free.value) * factor for free, factor in named.items()}
        if Free.PARTICIPATION in changes:
            changes[Free.PARTICIPATION.value] = np.minimum(changes[Free.PARTICIPATION.value], 1.0)
        return replace(system, **changes)

    def measured(x: FloatArray) -> float:
        if effort.out:
            raise Spent
        found = _Turns(scaled(x), asked, effort).relaxed()
        value = _HOPELESS if found is None else math.log(max(found[0], 1e-300))
        if value < met[0][0]:
            met.insert(0, (value, x.copy()))
        return value

    starts = [np.zeros(len(outer)), np.full(len(outer), 0.7), np.full(len(outer), -0.7)]
    met = [(math.inf, starts[0])]
    with contextlib.suppress(Spent):
        start = min(starts, key=measured)
        optimize.minimize(measured, start, method="Nelder-Mead", options={"maxfev": _TRIES, "xatol": 1e-3})
    done = None
    for _, x in (met[0], met[-1]):  # the last turns are made even if the effort is spent
        done = done or _Turns(scaled(x), asked, effort).best()
    return None if done is None else replace(done, lower=None)


def _least_epsilon(system: InferenceSystem, asked: Question, effort: Effort) -> Best | None:
    """The least at which the least error met keeps its limit, by bisection; the bound is that of the relaxation."""
    if asked.error is None:
        return None
    error, found = asked.error, dict[float, Best]()

    def excess(log_epsilon: float) -> float:
        wanted = replace(
            asked.wanted,
            minimise=Goal.ERROR,
            epsilon_at_most=math.exp(log_epsilon),
            error_at_most=None,
            accuracy_at_least=None,
        )
        done = best(system, replace(asked, wanted=wanted, error=None), effort)
        if done is None or done.value > error:
            return math.inf
        found[log_epsilon] = done
        return 0.0

    span = _root(excess, 0.0, 6.0, near=_ROUGHLY, effort=effort)
    if span is None:
        return None
    designed = found[span[1]].system
    relaxed = (
        _Turns(system, asked, effort).relaxed() if convex.exact(system, asked.observer, asked.rounds) is False else None
    )
    outer = {Free.CLIP, Free.PARTICIPATION} & set(asked.wanted.free)
    value = float(np.max(local.epsilons(designed, asked.observer, asked.rounds)))
    return Best(designed, value, None if relaxed is None or outer else min(relaxed[2], value))


class _Turns:
    """At given participations and clips."""

    def __init__(self, system: InferenceSystem, asked: Question, effort: Effort) -> None:
        self.system, self.asked, self.effort, wanted = system, asked, effort, asked.wanted
        self.model = Model.of(system, asked.purpose)
        self.exact = convex.exact(system, asked.observer, asked.rounds)
        self.given = None if Free.NOISE in wanted.free else system.noise_variance
        self.peak = None
        self.reach = self.variance = np.full(system.devices, np.inf)
        if wanted.power_at_most is not None:
            self.peak = Peak.of(system, wanted.power_at_most, wanted.outage_at_most)
            self.reach = np.broadcast_to(np.asarray(self.peak.reach), (system.devices,)).astype(float)
            most = special.chndtrix(1 - wanted.outage_at_most, float(system.dimension), 0.0)
            self.variance = self.reach**2 / most
        start = local.energy(system, asked.purpose)
        self.start = start if start > 0 else 1.0

    def best(self) -> Best | None:
        """With ratios that are exact for the noise found, by turns; the last with that noise and these ratios."""
        if self.exact is not None:
            relaxed = self.relaxed()
            if relaxed is None:
                return None
            starts, lower = [relaxed[1]], relaxed[2]
            if not self.exact and self.given is None:
                level = relaxed[1].noise_variance
                starts += [replace(relaxed[1], noise_variance=level * factor) for factor in _LESS]
        else:
            level = np.where(self.system.noise_variance > 0, self.system.noise_variance, self._unit())
            starts = [replace(self.system, noise_variance=level * factor) for factor in _FROM]
            starts, lower = (starts if self.given is None else [self.system]), None
        found = [done for start in starts if (done := self._turned(start)) is not None]
        if not found:
            return None
        top = min(found, key=lambda one: one.value)
        if lower is not None and lower > top.value * (1 + _CROSSED):
            raise ConvergenceError(f"the lower bound {lower!r} is above a design's {top.value!r}")
        return replace(top, lower=lower if lower is None else min(lower, top.value))

    def _unit(self) -> float:
        return self.system.decoded_receiver_noise / self.system.devices

    def _turned(self, system: InferenceSystem) -> Best | None:
        """From the noise of a system on."""
        if self.exact and self.peak is None:
            return self._kept(system)
        found = [self._at_noise_of(system)]
        before = math.inf
        for _ in range(_TURNS if self.given is None else 0):
            limits = self._exact_limits(system, fixed=False)
            step = None if limits is None else self._solved(limits)
            if step is None:
                break
            system = step[1]
            if abs(step[0] / before - 1) < _SETTLED:
                break
            before = step[0]
        if math.isfinite(before):
            found.append(self._at_noise_of(system))
        return min((one for one in found if one is not None), key=lambda one: one.value, default=None)

    def _at_noise_of(self, system: InferenceSystem) -> Best | None:
        """With the noise of a system and what is exact for it."""
        limits = self._exact_limits(system, fixed=True)
        step = None if limits is None else self._solved(limits)
        return None if step is None else self._kept(step[1])

    def relaxed(self) -> tuple[float, InferenceSystem, float] | None:
        """Value, system and lower bound of the relaxation; where there is none, of ratios as if there were."""
        epsilon = self.asked.wanted.epsilon_at_most
        return self._solved(self._limits(self._ratios(epsilon)))

    def _ratios(self, epsilon: float | None) -> FloatArray:
        if epsilon is None:
            return np.full(self.system.devices, np.inf)
        return convex.ratios(self.system, epsilon, self.asked.observer, self.asked.rounds)

    def _limits(self, ratio: FloatArray) -> Limits:
        energy = self.asked.wanted.energy_at_most
        most = self.start * _PLENTY if energy is None else energy
        return Limits(ratio, most, self.reach, self.variance, self.given)

    def _exact_limits(self, system: InferenceSystem, *, fixed: bool) -> Limits | None:
        """For the noise of a system: what its devices may send."""
        ratio, reach = np.full(system.devices, np.inf), self.reach
        epsilon = self.asked.wanted.epsilon_at_most
        if epsilon is not None:
            level = np.where(system.weight > 0, system.weight, np.max(system.weight) or 1.0)
            sent = replace(system, weight=level)
            options: dict[str, Any] = {"rounds": self.asked.rounds, "observer": self.asked.observer}
            self.effort.spend(_CONE)
            try:
                clip = calibrate(sent, epsilon, variable=Variable.CLIP, **options).value
            except InfeasibleError:
                return None
            noise = float(np.sum(system.received_noise_variance)) + system.receiver_noise_variance
            ratio = self.model.clip / system.clip * system.alignment * level * clip / math.sqrt(noise)
        if self.peak is not None:
            reach = self.peak.greatest_weight(system.clip, system.noise_variance) * system.clip
            if np.any(reach <= 0):
                return None
        variance = np.minimum(self.variance, system.noise_variance) if self.peak is not None else self.variance
        return replace(
            self._limits(ratio), reach=reach, variance=variance, fixed=system.noise_variance if fixed else self.given
        )

    def _solved(self, limits: Limits) -> tuple[float, InferenceSystem, float] | None:
        """Value of the goal, the system, and a lower bound, under limits that stand for the constraints."""
        goal, error = self.asked.wanted.minimise, self.asked.error
        if goal is Goal.ERROR:
            found = self._least_error(limits)
            if found is None:
                return None
            return found.error, found.system, convex.error_at_least(self.model, limits, found.multipliers)
        if goal is Goal.ENERGY and error is not None:
            return self._least_energy(limits, error)
        if goal is Goal.EPSILON and error is not None:
            return self._least_epsilon(limits, error)
        return None

    def _least_error(self, limits: Limits) -> Relaxed | None:
        self.effort.spend(_CONE)
        near = replace(limits, ratio=limits.ratio * _NEAR, energy=limits.energy * _NEAR, reach=limits.reach * _NEAR)
        return convex.least_error(self.model, near)

    def _least_energy(self, limits: Limits, error: float) -> tuple[float, InferenceSystem, float] | None:
        """The root in the energy of what the least error exceeds the limit by."""
        tried: dict[float, Relaxed] = {}

        def excess(log_energy: float) -> float:
            found = self._least_error(replace(limits, energy=math.exp(log_energy)))
            if found is None:
                return math.inf
            tried[log_energy] = found
            return found.error - error * _NEAR

        most = math.log(limits.energy)
        span = _root(excess, min(math.log(self.start), most), most)
        if span is None:
            return None
        good = tried[span[1]]
        bounds = [convex.energy_at_least(self.model, limits, tried[x].multipliers, error) for x in span if x in tried]
        return math.exp(span[1]), good.system, max(bounds)

    def _least_epsilon(self, limits: Limits, error: float) -> tuple[float, InferenceSystem, float] | None:
        """The root in epsilon."""
        tried: dict[float, tuple[Relaxed, Limits]] = {}

        def excess(log_epsilon: float) -> float:
            here = replace(limits, ratio=self._ratios(math.exp(log_epsilon)))
            found = self._least_error(here)
            if found is None:
                return math.inf
            tried[log_epsilon] = found, here
            return found.error - error * _NEAR

        span = _root(excess, 0.0, 6.0)
        if span is None:
            return None
        lower = 0.0
        for x, (found, here) in sorted(tried.items()):
            if convex.error_at_least(self.model, here, found.multipliers) > error:
                lower = max(lower, math.exp(x))
        return math.exp(span[1]), tried[span[1]][0].system, lower

    def _kept(self, system: InferenceSystem) -> Best | None:
        """With the best gain, if the library finds all constraints kept."""
        wanted, tasks = self.asked.wanted, self.asked.purpose.features
        gain = decoding.best_gain(system, tasks).gain
        if not gain > 0:
            return None
        system = replace(system, decoder_gain=gain)
        error = float(np.mean([distortion.exact(system, one) for one in tasks]))
        energy = local.energy(system, self.asked.purpose)
        epsilon = float(np.max(local.epsilons(system, self.asked.observer, self.asked.rounds)))
        peak = 0.0 if self.peak is None else Peak.needed(system, wanted.outage_at_most)
        limits = (
            (epsilon, wanted.epsilon_at_most),
            (error, self.asked.error),
            (energy, wanted.energy_at_most),
            (peak, wanted.power_at_most),
        )
        if any(limit is not None and not reached <= limit for reached, limit in limits):
            return None
        return Best(system, {Goal.EPSILON: epsilon, Goal.ERROR: error, Goal.ENERGY: energy}[wanted.minimise], None)


def _root(
    excess: Callable[[float], float], start: float, most: float, *, near: float = 1e-5, effort: Effort | None = None
) -> tuple[float, float] | None:
    """Around the root of a falling function: the last point above 0, and the first that is not; None where all are above."""
    known: dict[float, float] = {}

    def at(x: float) -> float:
        known[x] = excess(x)
        return known[x]

    x, step = start, math.log(_GROWTH)
    if at(x) <= 0:
        low = x - step
        while at(low) <= 0:
            x, low = low, low - step
            if start - low > _STEPS * step:
                return x, x
    else:
        low, x = x, min(x + step, most)
        while at(x) > 0:
            if x >= most:
                return None
            low, x = x, min(x + step, most)
    if math.isfinite(known[low]) and known[x] < 0:
        optimize.brentq(at, low, x, xtol=near / 4, rtol=1e-15, maxiter=_STEPS)
        at(min(y for y, value in known.items() if value <= 0) - 0.9 * near)
    while True:
        x = min(y for y, value in known.items() if value <= 0)
        low = max((y for y, value in known.items() if value > 0 and y < x), default=-math.inf)
        if x - low <= near or (effort is not None and effort.out) or len(known) > 4 * _STEPS:
            return low, x
        at((low + x) / 2)
