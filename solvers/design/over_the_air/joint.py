"""The joint problem: least energy, epsilon or error over weights, noise, clip, participation, gain and idle noise."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design.over_the_air import nearest
from airtight.solvers.design.over_the_air.job import Job
from airtight.solvers.design.over_the_air.requirements import Free, Goal, JointDesign, Purpose, Requirements


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
    effort: int | None = None,
    explain: bool = True,
) -> JointDesign:
    """The best values of the free variables.

    Parameters
    ----------
    system : InferenceSystem
        The values of all variables that are not free. For some free variables, unequal devices keep the proportions
        that they have here.
    requirements : Requirements
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

    Returns
    -------
    JointDesign
        For equal devices with a free gain, the lower bound is proved up to rounding by branch and bound (see
        :mod:`airtight.solvers.design.over_the_air.equal_devices`), over participations from 1e-3 and noise up to 1e8
        times that of the receiver. This excludes the adjacencies ``silent`` and ``replace`` with a server that does
        not see the participants. For unequal devices a relaxation proves a lower bound in some cases
        (:mod:`airtight.solvers.design.over_the_air.unequal_devices`). All other results are "local".

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
    >>> wanted = Requirements(minimise="energy", epsilon_at_most=2.0, error_at_most=0.5)
    >>> found = design(system, wanted, views)
    >>> bool(np.max(found.epsilon) <= 2.0 and found.error <= 0.5), found.settled, found.gap <= 1e-2 * found.value
    (True, True, True)
    """
    started = time.monotonic()
    observer_kind = checks.choice("observer", observer, Observer)
    count = checks.count("rounds", rounds)
    purpose = None if features is None else Purpose.of(features, margin, ideal_accuracy)
    _consistent(system, requirements, purpose)
    effective = requirements if effort is None else replace(requirements, effort=effort)
    job = Job(system, effective, purpose, count, observer_kind, gap)
    answer = job.solved()
    if answer.system is None:
        answer = nearest.found_or_raised(job, answer, explain=explain)
        assert answer.system is not None
    return job.reported(answer, answer.system, time.monotonic() - started)


def _consistent(system: InferenceSystem, wanted: Requirements, purpose: Purpose | None) -> None:
    """Raise ParameterError where the requirements are inconsistent or have a trivial or no optimum."""
    error = wanted.error_at_most is not None or wanted.accuracy_at_least is not None
    if purpose is None and (error or wanted.minimise is Goal.ERROR):
        name = "accuracy_at_least" if wanted.accuracy_at_least is not None else "error_at_most"
        raise ParameterError(
            name, "given without features", "absent: without features only epsilon and energy are defined"
        )
    if wanted.accuracy_at_least is not None and purpose is not None and purpose.margin is None:
        raise ParameterError("margin", None, "given where accuracy_at_least is given")
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
