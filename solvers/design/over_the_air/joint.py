"""The joint problem: weights, noise, clip, participation, gain, idle noise together, for least energy, epsilon or error."""

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
        Relative, at which branch and bound stops. By default 1e-3, or 1e-2 where epsilon has no closed form, and ten times
        as much counts as settled.
    effort : int, optional
        Evaluations, in the place of ``requirements.effort``. Where they are spent first, the best design met is returned with
        the gap reached, and is not ``settled``.
    explain : bool
        Whether to find out, where there is no design, what could be kept of each constraint.

    Returns
    -------
    JointDesign
        Equal devices and a free gain: proved to the gap (see
        :mod:`airtight.solvers.design.over_the_air.equal_devices`), over participations from 1e-3 and
        noise up to 1e8 of the receiver's, up to the rounding of doubles; but for ``silent`` and ``replace`` before a server
        that does not see the participants. All else is "local".

    Raises
    ------
    InfeasibleError
        When it is proved that no design keeps the constraints: it says by which bound, and the nearest that could be kept of
        each, the others unchanged.
    NotSettledError
        When the effort was spent before a design was found or all were excluded.
    ParameterError

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
    seen = checks.choice("observer", observer, Observer)
    count = checks.count("rounds", rounds)
    purpose = None if features is None else Purpose.of(features, margin, ideal_accuracy)
    _consistent(system, requirements, purpose)
    asked = requirements if effort is None else replace(requirements, effort=effort)
    job = Job(system, asked, purpose, count, seen, gap)
    answer = job.solved()
    if answer.system is None:
        answer = nearest.found_or_raised(job, answer, explain=explain)
        assert answer.system is not None
    return job.reported(answer, answer.system, time.monotonic() - started)


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
