"""Local search for the joint problem: Nelder-Mead from several starts, with exact evaluations but no proved bound.

Each free variable is scaled by one factor common to all devices.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import optimize

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import decoding, distortion, transmission
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.solvers.design.effort import Effort, EffortSpent
from airtight.solvers.design.over_the_air.joint_design import Purpose
from airtight.solvers.design.requirements import Free, Goal, InferenceRequirements

_STARTS = 8  # the given system and random starts; the better half is used
_STEPS = 160  # evaluations from each start
_SPAN = {  # greatest logarithm of the factor of each variable in a random start
    Free.WEIGHT: 6.0,
    Free.NOISE: 8.0,
    Free.CLIP: 2.0,
    Free.PARTICIPATION: 2.0,
    Free.ALIGNMENT: 3.0,
    Free.GAIN: 3.0,
}
_PENALTY = 50.0  # weight of the logarithmic excess over the limits, in the logarithm of the value


def epsilons(system: InferenceSystem, observer: Observer, rounds: int) -> FloatArray:
    """Upper bounds of the epsilon of every device over all rounds."""
    return np.asarray(system_privacy.epsilon(system, rounds=rounds, observer=observer))


def error(system: InferenceSystem, purpose: Purpose | None) -> float:
    """The mean error over the tasks; without tasks, that of the worst codes within the clips."""
    if purpose is None:
        return distortion.worst_case(system).total
    return float(np.mean([distortion.exact(system, task) for task in purpose.features]))


def energy(system: InferenceSystem, purpose: Purpose | None) -> float:
    """Energy of all devices in one query: the mean over the tasks; without tasks, for codes as long as the clips."""
    if purpose is None:
        return float(np.sum(transmission.transmit_energy(system)))
    return float(np.mean([np.sum(transmission.transmit_energy(system, task)) for task in purpose.features]))


def best(
    system: InferenceSystem,
    wanted: InferenceRequirements,
    purpose: Purpose | None,
    error_limit: float | None,
    rounds: int,
    observer: Observer,
    effort: Effort,
) -> tuple[InferenceSystem, float] | None:
    """The best feasible design found within the effort, and its value; None when none was found."""
    axes = axes_of(wanted, gain=purpose is None)

    def adapted(changed: InferenceSystem) -> InferenceSystem:
        if purpose is not None and Free.GAIN in wanted.free:
            gain = decoding.best_gain(changed, purpose.features).gain
            return replace(changed, decoder_gain=gain) if gain > 0 else changed
        return changed

    def reached(candidate: InferenceSystem) -> dict[Goal, float]:
        return {
            Goal.EPSILON: float(np.max(epsilons(candidate, observer, rounds))),
            Goal.ENERGY: energy(candidate, purpose),
            Goal.ERROR: error(candidate, purpose),
        }

    return searched(system, wanted, axes, error_limit, reached, effort, adapted=adapted)


def axes_of(wanted: InferenceRequirements, *, gain: bool) -> list[Free]:
    """The free variables that the search scales; the alignment is redundant beside weight and noise."""
    axes = [f for f in _SPAN if f in wanted.free and (gain or f is not Free.GAIN)]
    if Free.ALIGNMENT in axes and {Free.WEIGHT, Free.NOISE} <= set(axes):
        axes.remove(Free.ALIGNMENT)
    return axes


def searched(
    system: InferenceSystem,
    wanted: InferenceRequirements,
    axes: list[Free],
    error_limit: float | None,
    reached: Callable[[InferenceSystem], dict[Goal, float]],
    effort: Effort,
    *,
    cost: int = 1,
    adapted: Callable[[InferenceSystem], InferenceSystem] = lambda changed: changed,
) -> tuple[InferenceSystem, float] | None:
    """The best feasible design found on these axes, and its value.

    Parameters
    ----------
    error_limit : float, optional
    reached : callable
        Epsilon, energy and error of a system.
    cost : int
        Evaluations of the effort that one call of `reached` counts for.
    adapted : callable
        Chooses what has a closed form, such as the gain.
    """
    feasible: list[tuple[float, InferenceSystem]] = []

    def scaled_system(x: FloatArray) -> InferenceSystem:
        factors = dict(zip(axes, np.exp(np.clip(x, -40, 40)), strict=True))
        changes: dict[str, Any] = {}
        for free, factor in factors.items():
            value = getattr(system, free.value) * factor
            if free is Free.NOISE and not np.any(system.noise_variance > 0):
                value = np.full(system.devices, factor)
            changes[free.value] = np.minimum(value, 1.0) if free is Free.PARTICIPATION else value
        for free in (Free.ALIGNMENT, Free.GAIN):
            if free in factors:
                changes[free.value] = float(np.ravel(changes[free.value])[0])
        return adapted(replace(system, **changes))

    def penalised(x: FloatArray) -> float:
        if effort.left < cost:
            raise EffortSpent
        effort.spend(cost)
        candidate = scaled_system(x)
        properties = reached(candidate)
        limits = {Goal.EPSILON: wanted.epsilon_at_most, Goal.ENERGY: wanted.energy_at_most, Goal.ERROR: error_limit}
        excess = 0.0
        for goal, limit in limits.items():
            if limit is not None:
                excess += max(math.log(max(min(properties[goal], 1e300), 1e-300) / max(limit, 1e-300)), 0.0)
        value = properties[wanted.minimise]
        if excess == 0 and math.isfinite(value):
            feasible.append((value, candidate))
            effort.met(wanted.minimise, value, candidate)
        return math.log(max(min(value, 1e300), 1e-300)) + _PENALTY * excess

    rng = np.random.default_rng(0)
    spans = np.array([_SPAN[f] for f in axes])
    starts = [np.zeros(len(axes))] + [rng.uniform(-spans, spans) for _ in range(_STARTS - 1)]
    with contextlib.suppress(EffortSpent):
        ranked = sorted(starts, key=penalised)
        for start in ranked[: _STARTS // 2]:
            optimize.minimize(
                penalised, start, method="Nelder-Mead", options={"maxfev": _STEPS, "xatol": 1e-4, "fatol": 1e-5}
            )
    if feasible:
        least = min(feasible, key=lambda candidate: candidate[0])
        return least[1], least[0]
    return None
