"""The joint problem: least energy, epsilon or error over weights, noise, clip, participation, gain and idle noise.

:func:`design` solves it. Where it is infeasible, :func:`design_or_raise` states the nearest feasible limit of each constraint,
the others unchanged.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import distortion
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design.known import LOCAL
from airtight.solvers.design.over_the_air import box_bounds, local_search
from airtight.solvers.design.over_the_air.joint_design import ANY_ENERGY, JointDesign, Purpose
from airtight.solvers.design.over_the_air.joint_problem import Answer, Job, up
from airtight.solvers.design.over_the_air.units import Units
from airtight.solvers.design.peak import Peak
from airtight.solvers.design.requirements import Free, Goal, InferenceRequirements
from airtight.solvers.errors import InfeasibleError, Interrupted, NotSettledError

_ROOM = 1 + 5e-4  # factor on a named limit, so that a design for it is found
_STEPS = 8  # bisection steps for the peak power


def design_or_raise(job: Job, answer: Answer, *, explain: bool) -> Answer:
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
                return replace(
                    answer,
                    system=relaxed.system,
                    value=value,
                    known=answer.known.below(value),
                    settled=False,
                    excluded="",
                )
            if limit < relaxed.least:
                proofs.append(
                    f"{goal} is at least {job.shown(goal, relaxed.least)} with the other constraints kept, "
                    f"above the limit {limit * job.units.factor(goal):.9g}"
                )
            if relaxed.system is not None:
                nearest_limits += _limits_kept(job, goal, relaxed.system)
                least = float(np.max(job.epsilons(relaxed.system))) if goal is Goal.EPSILON else least
        if job.wanted.power_at_most is not None and (power := _least_power(job)):
            nearest_limits.append(f"power_at_most = {up(power * job.units.factor(Goal.ENERGY))}")
    remedy = f"; nearest feasible limits, if changed each alone: {', '.join(nearest_limits)}" if nearest_limits else ""
    if proofs:
        raise InfeasibleError(f"no design keeps the constraints: {'; '.join(proofs)}{remedy}", least_epsilon=least)
    goal = job.wanted.minimise
    bound = "" if answer.known.lower is None else f", {goal} at least {job.shown(goal, answer.least)}"
    alike = f"; {answer.excluded_alike}" if answer.excluded_alike else ""
    raise NotSettledError(
        f"effort = {job.wanted.effort}: not enough to find a design that keeps the constraints or to prove that "
        f"none exists{bound}{alike}{remedy}",
        lower_bound=math.nan if answer.known.lower is None else answer.least * job.units.factor(goal),
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
        energy = local_search.energy(system, job.purpose) * job.units.factor(Goal.ENERGY)
        return [f"energy_at_most = {up(energy * _ROOM)}"]
    assert job.purpose is not None
    limits = []
    error = float(np.mean([distortion.exact(system, task) for task in job.purpose.features])) * _ROOM
    if wanted.error_at_most is not None:
        limits.append(f"error_at_most = {up(error * job.units.factor(Goal.ERROR))}")
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


def design(
    system: InferenceSystem,
    requirements: InferenceRequirements,
    features: Features | Sequence[Features] | None = None,
    *,
    margin: float | None = None,
    ideal_accuracy: float = 1.0,
    rounds: int = 1,
    observer: Observer | str = Observer.AUTO,
    gap: float | None = None,
    effort: int | None = None,
    explain: bool = True,
    progress: bool = False,
) -> JointDesign:
    """The best values of the free variables.

    Parameters
    ----------
    system : InferenceSystem
        The values of all variables that are not free. For some free variables, unequal devices keep the proportions
        that they have here.
    requirements : InferenceRequirements
    features : Features or sequence of Features, optional
        The tasks of the server. Without them only epsilon and energy can be constrained or minimised.
    margin, ideal_accuracy : float
        Needed for an accuracy.
    rounds : int
        T >= 1, the number of queries over which epsilon is composed.
    observer : {"auto", "participants", "others", "signal"}
    gap : float, optional
        The relative gap at which branch and bound stops. By default it is 1e-3, or 1e-2 where epsilon has no closed
        form, and ten times this gap counts as settled.
    effort : int, optional
        Evaluations, instead of ``requirements.effort``. When they are spent first, the best design found is returned
        with its gap and is not ``settled``.
    explain : bool
        Whether to search, where there is no design, for the nearest feasible limit of each constraint.
    progress : bool
        Whether to say on stderr every two seconds how many evaluations are spent.

    Returns
    -------
    JointDesign
        `bound_for` says for which designs the lower bound is. Where weights and gain are free and clips and participations are
        given, it is for every design, whatever the values of the single devices, by a relaxation
        (:mod:`airtight.solvers.design.over_the_air.unequal_devices`); not where a ``silent`` or ``replace`` device is hidden.
        With ``alike`` it is for designs that treat all devices alike, by branch and bound
        (:mod:`airtight.solvers.design.over_the_air.equal_devices`), over noise up to 1e8 times that of the receiver. All other
        results are "local". Every number is in the units of the arguments; the solvers see another one, so that the unit does
        not matter (:mod:`airtight.solvers.design.over_the_air.units`).

    Raises
    ------
    InfeasibleError
        When it is proved that no design keeps the constraints. The message states the bound that proves it and, for
        each constraint, the nearest feasible limit with the other constraints unchanged.
    NotSettledError
        When the effort was spent before a design was found or all designs were excluded.
    ParameterError
        When the requirements are inconsistent with each other, the system or the features.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> system, views = _example()
    >>> wanted = InferenceRequirements(minimise="energy", epsilon_at_most=2.0, error_at_most=0.5, alike=True)
    >>> best = design(system, wanted, views)
    >>> bool(np.max(best.epsilon) <= 2.0 and best.error <= 0.5), best.settled, best.gap <= 1e-2 * best.value
    (True, True, True)
    """
    started = time.monotonic()
    observer_kind = checks.choice("observer", observer, Observer)
    rounds = checks.count("rounds", rounds)
    purpose = None if features is None else Purpose.of(features, margin, ideal_accuracy)
    consistent(system, requirements, purpose)
    effective = requirements if effort is None else replace(requirements, effort=effort)
    units = Units.of(system, purpose)
    job = Job(
        units,
        units.inside(system),
        units.requirements(effective),
        None if purpose is None else units.purpose(purpose),
        rounds,
        observer_kind,
        gap,
        progress,
    )
    try:
        answer = job.solved()
        if answer.system is None:
            answer = design_or_raise(job, answer, explain=explain)
    except KeyboardInterrupt:
        if (met := job.effort.best.get(effective.minimise)) is None:
            raise
        answer = Answer(met[1], met[0], LOCAL, 0, settled=False)
        raise Interrupted(job.reported(answer, effective, purpose, time.monotonic() - started)) from None
    return job.reported(answer, effective, purpose, time.monotonic() - started)


def consistent(system: InferenceSystem, wanted: InferenceRequirements, purpose: Purpose | None) -> None:
    """Raise ParameterError where the requirements are inconsistent or have a trivial or no optimum."""
    error = wanted.error_at_most is not None or wanted.accuracy_at_least is not None
    if purpose is None and wanted.accuracy_at_least is not None:
        raise ParameterError(
            "accuracy_at_least", wanted.accuracy_at_least, "absent without features, which the accuracy depends on"
        )
    if purpose is None and (error or wanted.minimise is Goal.ERROR) and Free.CLIP in wanted.free:
        raise ParameterError(
            "free", "clip", "another variable without features: the error is then that of the worst codes within the clips"
        )
    if wanted.accuracy_at_least is not None and purpose is not None and purpose.margin is None:
        raise ParameterError("margin", None, "given where accuracy_at_least is given")
    if not isinstance(system.colluding, int):
        allowed = f"a number of devices, as {len(system.colluding)}: a design counts any so many and no named ones"
        raise ParameterError("colluding", list(system.colluding), allowed)
    if wanted.alike and not box_bounds.equal(system):
        raise ParameterError("alike", True, "false, or the devices equal: these differ")
    relevant = {Free.NOISE, Free.WEIGHT, Free.CLIP, Free.PARTICIPATION, Free.ALIGNMENT, Free.IDLE}
    if wanted.epsilon_at_most is not None and Free.WEIGHT not in wanted.free and not np.any(system.weight > 0):
        raise ParameterError("weight", 0.0, "positive for some device: otherwise epsilon depends on no free variable")
    if wanted.minimise is not Goal.ERROR and not relevant & set(wanted.free):
        raise ParameterError("free", [f.value for f in wanted.free], f"a variable on which {wanted.minimise} depends")
    if wanted.minimise is Goal.ENERGY and not error and Free.WEIGHT in wanted.free:
        raise ParameterError("error_at_most", None, "given, or accuracy_at_least: otherwise weight 0 is optimal")
    if wanted.minimise is Goal.EPSILON and not error and Free.WEIGHT in wanted.free:
        raise ParameterError("error_at_most", None, "given, or accuracy_at_least: otherwise weight 0 is optimal")
    if system.receiver_noise_variance == 0 and {Free.WEIGHT, Free.NOISE} <= set(wanted.free):
        raise ParameterError("receiver_noise_variance", 0.0, "positive: otherwise arbitrarily weak signals are optimal")
