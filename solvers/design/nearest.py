"""Where no design keeps the constraints: what could be kept of each, the others unchanged."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from analytics.checks import ParameterError
from analytics.inference import distortion
from analytics.inference.system import InferenceSystem
from solvers.design import local
from solvers.design.peak import Peak
from solvers.design.requirements import Goal
from solvers.solution import InfeasibleError

if TYPE_CHECKING:
    from solvers.design.joint import Job

_ROOM = 1 + 5e-4
_ANY = 1e300  # an energy that every design has
_STEPS = 8  # of the bisection of a power


def infeasible(job: Job) -> InfeasibleError:
    """The error to raise; what it names can be kept, for a design that keeps it was found."""
    wanted, named, least = job.wanted, [], math.nan
    if wanted.epsilon_at_most is not None and (found := _least(job, Goal.EPSILON, epsilon_at_most=None)):
        least = float(np.max(job.epsilons(found)))
        named.append(f"epsilon_at_most = {_up(least)}")
    if job.error is not None and (found := _least(job, Goal.ERROR, error_at_most=None, accuracy_at_least=None)):
        assert job.purpose is not None
        error = float(np.mean([distortion.exact(found, one) for one in job.purpose.features])) * _ROOM
        if wanted.error_at_most is not None:
            named.append(f"error_at_most = {_up(error)}")
        if wanted.accuracy_at_least is not None and job.purpose.margin is not None:
            reached = job.purpose.ideal_accuracy * max(0.0, 1 - error / job.purpose.margin**2)
            named.append(f"accuracy_at_least = {math.floor(reached * 1e6) / 1e6:.6g}")
    if wanted.energy_at_most is not None and (found := _least(job, Goal.ENERGY, energy_at_most=None)):
        named.append(f"energy_at_most = {_up(local.energy(found, job.purpose) * _ROOM)}")
    if wanted.power_at_most is not None and (power := _power(job)):
        named.append(f"power_at_most = {_up(power)}")
    remedy = f"; nearest that can be kept, each alone: {', '.join(named)}" if named else ""
    return InfeasibleError(f"no design found that keeps the constraints{remedy}", least_epsilon=least)


def _up(value: float) -> str:
    """Six digits, rounded up."""
    digits = 5 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{math.ceil(value * 10.0**digits) / 10.0**digits:.6g}"


def _least(job: Job, goal: Goal, **dropped: Any) -> InferenceSystem | None:
    """The design with the least of what a constraint is on, without it."""
    changes: dict[str, Any] = {"minimise": goal, **dropped}
    try:
        wanted = replace(job.wanted, **changes)
    except ParameterError:  # it was the only one
        if goal is Goal.ENERGY:
            return None
        wanted = replace(job.wanted, **{**changes, "energy_at_most": _ANY})
    return job.asking(wanted).solved().system


def _power(job: Job) -> float | None:
    """The least peak power met with which the other constraints can be kept."""
    given = job.wanted.power_at_most
    best, low = None, given
    free = job.asking(replace(job.wanted, power_at_most=None)).solved().system
    if free is None or given is None or low is None:
        return None
    best = Peak.needed(free, job.wanted.outage_at_most)
    for _ in range(_STEPS):
        if best <= low * _ROOM:
            break
        middle = math.sqrt(low * best)
        found = job.asking(replace(job.wanted, power_at_most=middle)).solved().system
        if found is None:
            low = middle
        else:
            best = min(Peak.needed(found, job.wanted.outage_at_most), middle)
    return best
