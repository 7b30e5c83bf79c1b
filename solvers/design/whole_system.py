"""Calibration and joint design of a whole system over the air, its channel, rounds and observer counted.

The solvers below state their problems for a system at one look and are told rounds and observer; here they are chosen, and
what they find gets the channel, the rounds and the observer back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design import calibrate as calibration
from airtight.solvers.design import channel_design, channel_noise
from airtight.solvers.design.calibrate import Calibration, Variable
from airtight.solvers.design.over_the_air import joint
from airtight.solvers.design.over_the_air.joint_design import JointDesign
from airtight.solvers.design.requirements import Free, Goal, InferenceRequirements
from airtight.solvers.errors import InfeasibleError, Interrupted

_SILENCING = (
    Free.WEIGHT,
    Free.CLIP,
    Free.PARTICIPATION,
    Free.ALIGNMENT,
)  # with which a design can come near to silence


class _Options(TypedDict):
    rounds: int
    observer: Observer
    progress: bool


class _OfTask(TypedDict):
    margin: float | None
    ideal_accuracy: float


def calibrate(
    system: InferenceSystem,
    epsilon: float,
    *,
    variable: Variable | str = Variable.NOISE,
    rounds: int | None = None,
    observer: Observer | str | None = None,
    effort: int | None = None,
    progress: bool = False,
) -> Calibration:
    """The least noise, the greatest clips or the greatest participation with which every device keeps epsilon.

    See :func:`airtight.solvers.design.calibrate.calibrate`, and over a channel
    :func:`airtight.solvers.design.channel_noise.calibrate`, which calibrates the noise alone. `rounds` and `observer` are by
    default those of the system.

    Against any m colluders every device keeps epsilon whichever others collude. Devices that are named as colluders keep the
    values that they have: what they send protects nobody from them, and nothing is asked of their own epsilon.
    """
    count, resolved = _asked(system, rounds, observer)
    options: _Options = {"rounds": count, "observer": resolved, "progress": progress}
    if np.any(system.partners):
        return _among_honest(system, lambda honest: calibrate(honest, epsilon, variable=variable, effort=effort, **options))
    with _in_the_best(lambda best: replace(best, system=_whole(best.system, system, count, resolved))):
        if system.channel is None:
            result = calibration.calibrate(system.one_round, epsilon, variable=variable, effort=effort, **options)
        elif checks.choice("variable", variable, Variable) is not Variable.NOISE:
            raise ParameterError("variable", str(variable), "noise over a channel")
        else:
            result = channel_noise.calibrate(system.one_round, system.channel, epsilon, effort=effort, **options)
    whole = _whole(result.system, system, count, resolved)
    if np.all(whole.never_sends):
        raise InfeasibleError(
            f"epsilon = {epsilon:g}: it is kept only where no device ever sends (participation at most delta = "
            f"{system.delta:g}): silence protects nothing that is of use. Allow a greater epsilon, or change the noise, the "
            "clips or the adjacency"
        )
    return replace(result, system=whole)


def design(
    system: InferenceSystem,
    requirements: InferenceRequirements,
    features: Features | Sequence[Features] | None = None,
    *,
    margin: float | None = None,
    ideal_accuracy: float = 1.0,
    rounds: int | None = None,
    observer: Observer | str | None = None,
    progress: bool = False,
) -> JointDesign:
    """The best values of the free variables; see :func:`airtight.solvers.design.over_the_air.joint.design`.

    Over a channel see :func:`airtight.solvers.design.channel_design.design`. `rounds` and `observer` are by default those of
    the system.
    """
    count, resolved = _asked(system, rounds, observer)
    if system.colluding and system.channel is not None:
        raise ParameterError("colluding", system.colluding, "0 where a design is sought over a channel (`calibrate` counts them)")
    _demand_purpose(system, requirements)
    options: _Options = {"rounds": count, "observer": resolved, "progress": progress}
    task: _OfTask = {"margin": margin, "ideal_accuracy": ideal_accuracy}
    with _in_the_best(lambda best: replace(best, system=_whole(best.system, system, count, resolved))):
        if system.channel is None:
            result = joint.design(system.one_round, requirements, features, **task, **options)
        else:
            result = channel_design.design(system.one_round, system.channel, requirements, features, **task, **options)
    whole = _whole(result.system, system, count, resolved)
    if np.all(whole.never_sends):
        raise InfeasibleError(
            f"the {result.minimised} is least where no device ever sends (participation at most delta = {system.delta:g}): add "
            "error_at_most or accuracy_at_least, or a greater one"
        )
    return replace(result, system=whole)


def _among_honest(system: InferenceSystem, solved: Callable[[InferenceSystem], Calibration]) -> Calibration:
    """The calibration of the system without the named colluders, whose values stay."""
    if system.channel is not None:
        raise ParameterError("colluding", system.colluding, "0 or a number of devices where a channel is calibrated")
    honest = ~system.partners
    columns = {name: getattr(system, name)[honest] for name in ("participation", "noise_variance", "weight", "clip")}
    honest_system = system.derived(devices=int(np.sum(honest)), channel_gain=1.0, colluding=0, **columns)

    def among_all(result: Calibration) -> Calibration:
        held = getattr(system, result.variable.key)
        value, kept, reached = held.copy(), held.copy(), np.full(system.devices, np.inf)
        value[honest], reached[honest] = result.value, result.epsilon
        kept[honest] = getattr(result.system, result.variable.key)
        whole = system.derived(rounds=result.system.rounds, observer=result.system.observer, **{result.variable.key: kept})
        return replace(result, value=value, epsilon=reached, system=whole)

    with _in_the_best(among_all):
        result = solved(honest_system)
    return among_all(result)


@contextmanager
def _in_the_best(change: Callable[[Any], Any]) -> Iterator[None]:
    """Change the best of a search that is interrupted, as its result is changed."""
    try:
        yield
    except Interrupted as stop:
        raise Interrupted(change(stop.best)) from None


def _demand_purpose(system: InferenceSystem, wanted: InferenceRequirements) -> None:
    """Raise InfeasibleError where sending nothing is the best design, because nothing bounds error or accuracy."""
    bounded = wanted.minimise is Goal.ERROR or wanted.error_at_most is not None or wanted.accuracy_at_least is not None
    silencing = [free for free in wanted.free if free in _SILENCING]
    if bounded or not (silencing or system.power_decides):
        return
    means = ", ".join(silencing) if silencing else "more noise, with which the power does not suffice"
    raise InfeasibleError(
        f"nothing bounds the error: the least {wanted.minimise} is that of sending nothing (by {means}). Add error_at_most or "
        "accuracy_at_least"
    )


def _asked(system: InferenceSystem, rounds: int | None, observer: Observer | str | None) -> tuple[int, Observer]:
    count = system.rounds if rounds is None else checks.count("rounds", rounds)
    return count, system.observer if observer is None else checks.choice("observer", observer, Observer)


def _whole(designed: InferenceSystem, system: InferenceSystem, rounds: int, observer: Observer) -> InferenceSystem:
    return designed.derived(channel=system.channel, rounds=rounds, observer=observer)
