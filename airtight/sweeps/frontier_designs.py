"""Pareto frontiers of the table [design] of a system file: one design for every value of a limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from airtight.analytics.checks import ParameterError
from airtight.results.design import FrontierResult
from airtight.solvers.design.over_the_air import frontier
from airtight.solvers.design.requirements import FederatedRequirements, FleetRequirements, InferenceRequirements
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
    return FrontierResult.of(requirements.goal.value, requirements.designs, designs)


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
