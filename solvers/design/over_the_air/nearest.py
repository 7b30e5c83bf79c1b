"""For a design problem without solution: the nearest limit of each constraint that could be kept, the others unchanged."""

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

_ROOM = 1 + 5e-4
_STEPS = 8  # of the bisection of a power


def found_or_raised(job: Job, answer: Answer, *, explain: bool) -> Answer:
    """A design that keeps everything after all, met on the way to what could be kept; where there is none, an error is raised.

    Each constraint is dropped in turn and what it is on made least. A design met that keeps all constraints settles that they
    can be kept; a lower bound above the limit of a constraint proves that they cannot.

    Raises
    ------
    InfeasibleError
        Where that is proved, with the bound.
    NotSettledError
    """
    proofs = [answer.excluded] if answer.excluded else []
    named: list[str] = []
    least = math.nan
    if explain:
        for goal, limit, dropped in _constraints(job):
            relaxed = _least(job, goal, **dropped)
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
                named += _nearest(job, goal, relaxed.system)
                least = float(np.max(job.epsilons(relaxed.system))) if goal is Goal.EPSILON else least
        if job.wanted.power_at_most is not None and (power := _power(job)):
            named.append(f"power_at_most = {up(power)}")
    remedy = f"; nearest that can be kept, each alone: {', '.join(named)}" if named else ""
    if proofs:
        raise InfeasibleError(f"no design keeps the constraints: {'; '.join(proofs)}{remedy}", least_epsilon=least)
    bound = "" if answer.lower is None else f", {job.wanted.minimise} at least {down(answer.lower)}"
    raise NotSettledError(
        f"effort = {job.wanted.effort}: no design found that keeps the constraints, none proved not to exist{bound}{remedy}",
        lower_bound=math.nan if answer.lower is None else answer.lower,
        effort=job.wanted.effort,
    )


def _constraints(job: Job) -> list[tuple[Goal, float, dict[str, Any]]]:
    """What is kept: on what, its limit, and the requirements without it."""
    wanted = job.wanted
    out: list[tuple[Goal, float, dict[str, Any]]] = []
    if wanted.epsilon_at_most is not None:
        out.append((Goal.EPSILON, wanted.epsilon_at_most, {"epsilon_at_most": None}))
    if job.error is not None:
        out.append((Goal.ERROR, job.error, {"error_at_most": None, "accuracy_at_least": None}))
    if wanted.energy_at_most is not None:
        out.append((Goal.ENERGY, wanted.energy_at_most, {"energy_at_most": None}))
    return out


def _nearest(job: Job, goal: Goal, found: InferenceSystem) -> list[str]:
    """What a design without a constraint keeps of it, as keys of the table [design]."""
    wanted = job.wanted
    if goal is Goal.EPSILON:
        return [f"epsilon_at_most = {up(float(np.max(job.epsilons(found))))}"]
    if goal is Goal.ENERGY:
        return [f"energy_at_most = {up(local.energy(found, job.purpose) * _ROOM)}"]
    assert job.purpose is not None
    named = []
    error = float(np.mean([distortion.exact(found, one) for one in job.purpose.features])) * _ROOM
    if wanted.error_at_most is not None:
        named.append(f"error_at_most = {up(error)}")
    if wanted.accuracy_at_least is not None and job.purpose.margin is not None:
        reached = job.purpose.ideal_accuracy * max(0.0, 1 - error / job.purpose.margin**2)
        named.append(f"accuracy_at_least = {math.floor(reached * 1e6) / 1e6:.6g}")
    return named


def _least(job: Job, goal: Goal, **dropped: Any) -> Answer | None:
    """The design with the least of what a constraint is on, without it."""
    changes: dict[str, Any] = {"minimise": goal, **dropped}
    try:
        wanted = replace(job.wanted, **changes)
    except ParameterError:  # it was the only one
        if goal is Goal.ENERGY:
            return None
        wanted = replace(job.wanted, **{**changes, "energy_at_most": ANY_ENERGY})
    return job.asking(wanted).solved()


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
