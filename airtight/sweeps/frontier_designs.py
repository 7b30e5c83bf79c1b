"""Pareto frontiers of the table [design] of a system file: one design for every value of a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from airtight.analytics.checks import ParameterError
from airtight.analytics.guarantee import Adjacency, AdjacencyName
from airtight.analytics.limits.energy_floor import energy_floor
from airtight.analytics.limits.minimax import minimax_error
from airtight.analytics.privacy.accounting.privacy_curve import approximate
from airtight.results.design import FrontierResult
from airtight.solvers.design.over_the_air import frontier
from airtight.solvers.design.requirements import (
    FederatedRequirements,
    FleetRequirements,
    Free,
    Goal,
    InferenceRequirements,
)
from airtight.sweeps import axes
from airtight.system_file.config import SystemFileError
from airtight.system_file.contents import SystemFile


def solver(description: SystemFile, *, effort: int | None = None) -> Callable[[Any], Any]:
    """The function that designs a description for given requirements; `effort` replaces that of its table [design]."""
    requirements, system, task = description.design, description.inference, description.task
    if isinstance(requirements, FederatedRequirements) and description.federated is not None:
        from airtight.solvers.design.federated import federated_design

        return partial(federated_design.design, description.federated)
    if isinstance(requirements, FleetRequirements) and description.energy is not None:
        from airtight.solvers.design.fleet import fleet_design

        return partial(fleet_design.design, description.energy)
    if requirements is None or system is None:
        raise SystemFileError(
            f"{description.name}: design: missing; the table says which parameters are free and which limits are kept"
        )
    from airtight.solvers.design.over_the_air import joint

    options: dict[str, Any] = {} if task is None else {"margin": task.margin, "ideal_accuracy": task.ideal_accuracy}
    features = None if task is None else task.samples
    options |= {"observer": system.observer, "rounds": system.rounds, "effort": effort}
    alone = system.at_one_look()
    return lambda needs: joint.design(alone, needs, features, explain=False, **options)


def traced(
    description: SystemFile,
    texts: Sequence[str],
    *,
    effort: int | None = None,
    heard: Callable[[str], None] = lambda point: None,
) -> FrontierResult:
    """The designs over one or two axes ``KEY=VALUES``, each of them a limit.

    Raises
    ------
    ParameterError
        When a key is no limit of this design, or when values cannot be read.
    """
    solve, requirements = solver(description, effort=effort), description.design
    assert requirements is not None
    allowed = requirements.limits
    over: dict[str, Any] = {}
    for key, values in axes.parsed(texts, option="--frontier").items():
        if key not in allowed:
            raise ParameterError("--frontier", key, f"one of {', '.join(allowed)}")
        if not all(isinstance(value, int | float) for value in values):
            raise ParameterError("--frontier", f"{key}={values}", "numbers")
        over[str(key)] = values
    if len(over) > 2:
        raise ParameterError("--frontier", ", ".join(over), "given once or twice")
    designs = frontier.traced(solve, requirements, over, heard=heard)
    result = FrontierResult.of(requirements.goal.value, requirements.designs, designs)
    for point in result.points:
        least = _any_scheme(description, point)
        if least is not None:
            point["any_scheme"] = least
    return result


def _any_scheme(description: SystemFile, limits: Mapping[str, float | None]) -> float | None:
    """The least error, or energy, for the worst codes that any scheme has under a limit; None where nothing is proved.

    A limit on the epsilon of all rounds is one of each query. For ``absent`` devices an error is known only where all
    others are present, and so is left out.
    """
    system, wanted = description.inference, description.design
    if not isinstance(wanted, InferenceRequirements) or system is None or description.task is not None:
        return None
    epsilon, error = (limits.get(key, getattr(wanted, key)) for key in ("epsilon_at_most", "error_at_most"))
    if wanted.goal is Goal.ENERGY and error:
        return energy_floor(system.at_one_look(), error)
    stays = system.adjacency is not Adjacency.ABSENT or (system.idle_noise and Free.IDLE not in wanted.free)
    if wanted.goal is not Goal.ERROR or epsilon is None or not stays:
        return None
    lacks: AdjacencyName = "replace" if system.adjacency is Adjacency.REPLACE else "silent"
    guarantee = approximate(epsilon, system.delta)
    return minimax_error(guarantee, devices=system.devices, dimension=system.dimension, clip=system.clip, adjacency=lacks).error


def usual(description: SystemFile) -> list[str]:
    """A frontier that is quick to compute, around the first limit of the file that can vary; empty if there is none."""
    requirements = description.design
    if requirements is None:
        return []
    joint = isinstance(requirements, InferenceRequirements)
    for key in requirements.limits:
        value = getattr(requirements, key)
        can_vary = not isinstance(requirements, FleetRequirements) or key in ("energy_at_most", "utility_at_least")
        if value is not None and value > 0 and can_vary and key not in ("bits_at_most", "accuracy_at_least"):
            return [f"{key}={value / 4!r}:{value * 4!r}:{5 if joint else 9}:log"]
    return []
