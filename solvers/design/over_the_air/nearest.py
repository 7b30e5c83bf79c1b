"""For an infeasible design problem: the nearest feasible limit of each constraint with the other limits unchanged."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from airtight.analytics.checks import ParameterError
from airtight.analytics.inference import distortion
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design.over_the_air import local
from airtight.solvers.design.over_the_air.job import ANY_ENERGY, Answer, Job, down, up
from airtight.solvers.design.over_the_air.requirements import Goal
from airtight.solvers.design.peak import Peak
from airtight.solvers.errors import InfeasibleError, NotSettledError

_ROOM = 1 + 5e-4  # factor on a named limit, so that a design for it is found
_STEPS = 8  # bisection steps for the peak power


def found_or_raised(job: Job, answer: Answer, *, explain: bool) -> Answer:
    """A design that keeps all constraints, if the search for the nearest limits finds one; else an error is raised.

    Each constraint is dropped in turn and the quantity that it limits is minimised. A design found in this way that
    keeps all constraints shows that they are feasible; a lower bound above the dropped limit proves that they are not.

    Raises
    ------
    InfeasibleError
        Where it is proved that no design keeps the constraints; the message states the bound.
    NotSettledError
        Where neither a design nor a proof was found.
    """
    proofs = [answer.excluded] if answer.excluded else []
    nearest_limits: list[str] = []
    least = math.nan
    if explain:
        for goal, limit, dropped in _constraints(job):
            relaxed = _least_without(job, goal, **dropped)
            if relaxed is None:
                continue
            if relaxed.system is not None and job.keeps_all(relaxed.system):
                value = job.value(relaxed.system)
                lower = None if answer.lower is None else min(answer.lower, value)
                return replace(answer, system=relaxed.system, value=value, lower=lower, settled=False, excluded="")
            if relaxed.lower is not None and limit < relaxed.lower < math.inf:
                others = "the other constraints kept"
                proofs.append(f"{goal} is at least {down(relaxed.lower)} with {others}, above the limit {limit:.9g}")
            if relaxed.system is not None:
                nearest_limits += _limits_kept(job, goal, relaxed.system)
                least = float(np.max(job.epsilons(relaxed.system))) if goal is Goal.EPSILON else least
        if job.wanted.power_at_most is not None and (power := _least_power(job)):
            nearest_limits.append(f"power_at_most = {up(power)}")
    remedy = f"; nearest feasible limits, if changed each alone: {', '.join(nearest_limits)}" if nearest_limits else ""
    if proofs:
        raise InfeasibleError(f"no design keeps the constraints: {'; '.join(proofs)}{remedy}", least_epsilon=least)
    bound = "" if answer.lower is None else f", {job.wanted.minimise} at least {down(answer.lower)}"
    raise NotSettledError(
        f"effort = {job.wanted.effort}: not enough to find a design that keeps the constraints or to prove that "
        f"none exists{bound}{remedy}",
        lower_bound=math.nan if answer.lower is None else answer.lower,
        effort=job.wanted.effort,
    )


def _constraints(job: Job) -> list[tuple[Goal, float, dict[str, Any]]]:
    """The constraints: the quantity that is limited, its limit, and the changes of the requirements that drop it."""
    wanted = job.wanted
    constraints: list[tuple[Goal, float, dict[str, Any]]] = []
    if wanted.epsilon_at_most is not None:
        constraints.append((Goal.EPSILON, wanted.epsilon_at_most, {"epsilon_at_most": None}))
    if job.error is not None:
        constraints.append((Goal.ERROR, job.error, {"error_at_most": None, "accuracy_at_least": None}))
    if wanted.energy_at_most is not None:
        constraints.append((Goal.ENERGY, wanted.energy_at_most, {"energy_at_most": None}))
    return constraints


def _limits_kept(job: Job, goal: Goal, system: InferenceSystem) -> list[str]:
    """The limits that a design found without a constraint on the goal keeps, as entries of the table [design]."""
    wanted = job.wanted
    if goal is Goal.EPSILON:
        return [f"epsilon_at_most = {up(float(np.max(job.epsilons(system))))}"]
    if goal is Goal.ENERGY:
        return [f"energy_at_most = {up(local.energy(system, job.purpose) * _ROOM)}"]
    assert job.purpose is not None
    limits = []
    error = float(np.mean([distortion.exact(system, task) for task in job.purpose.features])) * _ROOM
    if wanted.error_at_most is not None:
        limits.append(f"error_at_most = {up(error)}")
    if wanted.accuracy_at_least is not None and job.purpose.margin is not None:
        reached = job.purpose.ideal_accuracy * max(0.0, 1 - error / job.purpose.margin**2)
        limits.append(f"accuracy_at_least = {math.floor(reached * 1e6) / 1e6:.6g}")
    return limits


def _least_without(job: Job, goal: Goal, **dropped: Any) -> Answer | None:
    """The design of least goal when the constraint on it is dropped."""
    changes: dict[str, Any] = {"minimise": goal, **dropped}
    try:
        wanted = replace(job.wanted, **changes)
    except ParameterError:  # it was the only constraint
        if goal is Goal.ENERGY:
            return None
        wanted = replace(job.wanted, **{**changes, "energy_at_most": ANY_ENERGY})
    return job.asking(wanted).solved()


def _least_power(job: Job) -> float | None:
    """The least peak power found with which the other constraints can be kept."""
    limit = job.wanted.power_at_most
    best, low = None, limit
    unlimited = job.asking(replace(job.wanted, power_at_most=None)).solved().system
    if unlimited is None or limit is None or low is None:
        return None
    best = Peak.needed(unlimited, job.wanted.outage_at_most)
    for _ in range(_STEPS):
        if best <= low * _ROOM:
            break
        middle = math.sqrt(low * best)
        design = job.asking(replace(job.wanted, power_at_most=middle)).solved().system
        if design is None:
            low = middle
        else:
            best = min(Peak.needed(design, job.wanted.outage_at_most), middle)
    return best
