"""Frontiers of what a file's table [design] asks for: one design for every value of what is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from airtight.analytics.checks import ParameterError
from airtight.solvers.design.federated.federated_requirements import FederatedRequirements
from airtight.solvers.design.fleet.fleet_requirements import FleetRequirements
from airtight.solvers.design.over_the_air import pareto
from airtight.solvers.design.over_the_air.requirements import Requirements
from airtight.validate.results.frontier import FrontierResult
from airtight.validate.sweep import axes
from airtight.validate.system_file.config import SystemFileError
from airtight.validate.system_file.description import Description

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Asked = Requirements | FederatedRequirements | FleetRequirements


def solver(description: Description, *, effort: int | None = None) -> Callable[[Any], Any]:
    """What designs a description for its requirements, with another effort than that of its table [design] if one is given."""
    wanted, system, task = description.design, description.inference, description.task
    if isinstance(wanted, FederatedRequirements) and description.federated is not None:
        from airtight.solvers.design.federated import federated_design

        return partial(federated_design.design, description.federated)
    if isinstance(wanted, FleetRequirements) and description.energy is not None:
        from airtight.solvers.design.fleet import fleet_design

        return partial(fleet_design.design, description.energy)
    if wanted is None or system is None:
        raise SystemFileError(f"{description.name}: design: missing; it says what is free and what is kept")
    from airtight.solvers.design.over_the_air import joint

    options: dict[str, Any] = {} if task is None else {"margin": task.margin, "ideal_accuracy": task.ideal_accuracy}
    features = None if task is None else task.samples
    options |= {"observer": description.observer, "rounds": description.rounds, "effort": effort}
    return lambda one: joint.design(system, one, features, explain=False, **options)


def limits(wanted: Asked) -> list[str]:
    """What a design may keep, by its keys in [design]."""
    names = [field.name for field in fields(wanted)]
    return [name for name in names if name.endswith(("_at_most", "_at_least")) and name != "outage_at_most"]


def traced(
    description: Description,
    texts: Sequence[str],
    *,
    effort: int | None = None,
    heard: Callable[[str], None] = lambda point: None,
) -> FrontierResult:
    """The designs over ``KEY=VALUES``, one or two of them.

    Raises
    ------
    ParameterError
        Naming a key that is not kept, or values that cannot be read.
    """
    solve, wanted = solver(description, effort=effort), description.design
    assert wanted is not None
    allowed = limits(wanted)
    over: dict[str, Any] = {}
    for key, values in axes.parsed(texts, option="--frontier").items():
        if key not in allowed:
            raise ParameterError("--frontier", key, f"one of {', '.join(allowed)}")
        if not all(isinstance(value, int | float) for value in values):
            raise ParameterError("--frontier", f"{key}={values}", "numbers")
        over[str(key)] = values
    if len(over) > 2:
        raise ParameterError("--frontier", ", ".join(over), "given once or twice")
    goal = wanted.goal if isinstance(wanted, FleetRequirements) else wanted.minimise
    return FrontierResult.of(goal.value, pareto.traced(solve, wanted, over, heard=heard))


def plot(name: str, found: FrontierResult) -> Figure:
    """What is sought over the first axis, a line for each value of the second; shaded up to what is proved."""
    import matplotlib as mpl

    from airtight.validate.experiments.figures.style import STYLE, figure_of

    first, *others = found.axes
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes_ = figure.add_subplot()
        for value in found.axes[others[0]] if others else [None]:
            rows = [one for one in found.points if value is None or one[others[0]] == value]
            x, y, bound = (_column(rows, key) for key in (first, "value", "bound"))
            label = None if value is None else f"{others[0]} {value:g}"
            (line,) = axes_.plot(x, y, marker="o", markersize=4, label=label)
            axes_.fill_between(x, bound, y, alpha=0.2, color=line.get_color())
        if np.all(np.array(found.axes[first]) > 0):
            axes_.set_xscale("log")
        axes_.set(xlabel=first.replace("_", " "), ylabel=found.sought)
        axes_.set_title(f"{name}: what can be had", fontsize=9)
        if others:
            axes_.legend(fontsize=8)
    return figure


def _column(rows: Sequence[dict[str, float | None]], key: str) -> list[float]:
    return [np.nan if (value := one.get(key)) is None else value for one in rows]


def usual(description: Description) -> list[str]:
    """A frontier that is cheap to draw: around what the file keeps first; none where it keeps nothing that moves."""
    wanted = description.design
    if wanted is None:
        return []
    joint = isinstance(wanted, Requirements)
    for key in limits(wanted):
        value = getattr(wanted, key)
        moves = not isinstance(wanted, FleetRequirements) or key in ("energy_at_most", "utility_at_least")
        if value is not None and value > 0 and moves and key not in ("bits_at_most", "accuracy_at_least"):
            return [f"{key}={value / 4!r}:{value * 4!r}:{5 if joint else 9}:log"]
    return []
