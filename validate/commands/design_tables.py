"""Prints designs as tables."""

from __future__ import annotations

import numpy as np
from rich import box
from rich.table import Table

from airtight.validate.report.tables import groups, number, screen
from airtight.validate.results.calibration import CalibrationResult
from airtight.validate.results.design import DesignResult, FederatedDesignResult, FleetDesignResult
from airtight.validate.results.frontier import FrontierResult

_SOUGHT = {"noise": "least noise variance", "clip": "greatest clip", "participation": "greatest participation"}


def calibration(name: str, found: CalibrationResult) -> None:
    """Print the calibrated quantity and its certificate."""
    console = screen()
    sought = _SOUGHT[found.variable]
    queries = "one query" if found.rounds == 1 else f"{found.rounds} queries"
    table = Table(
        title=f"{name}: {sought} for epsilon at most {number(found.target)} at delta = {number(found.delta)}, {queries}, "
        f"adjacency {found.adjacency}, observer {found.observer}",
        box=box.SIMPLE_HEAD,
        title_justify="left",
    )
    for heading in ("devices", sought, "epsilon"):
        table.add_column(heading, justify="left" if heading == "devices" else "right")
    for devices, values in groups(list(zip(found.value.tolist(), found.epsilon.tolist(), strict=True))):
        table.add_row(devices, *map(number, values))
    console.print(table)
    if found.monotone or found.variable == "clip":
        return
    console.print(
        f"  epsilon is not monotone in the {found.variable}: proved cell by cell that nothing beyond keeps it",
        highlight=False,
    )
    for low, high in found.unsettled:
        console.print(f"  not settled: {low:.9g} to {high:.9g}", highlight=False)


def design(name: str, found: DesignResult) -> None:
    """Print a joint design, the values that it reaches, and its certificate."""
    console = screen()
    table = Table(title=f"{name}: least {found.minimised}", box=box.SIMPLE_HEAD, title_justify="left")
    for heading in ("variable", "value"):
        table.add_column(heading, justify="left")
    for key, value in found.variables.items():
        listed = str(value) if isinstance(value, bool) else ", ".join(number(float(x)) for x in np.ravel(value))
        table.add_row(key, listed)
    console.print(table)
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "design", "as described", "output that ignores y"):
        table.add_column(heading, justify="right" if heading else "left")
    before = {} if found.baseline is None else found.baseline.published_design
    nothing = {} if found.baseline is None else found.baseline.constant_output

    def shown(value: float | None) -> str:
        return "" if value is None else number(value)

    table.add_row("epsilon, greatest", number(float(np.max(found.epsilon))), shown(before.get("epsilon")), "0")
    for key, reached in (("error", found.error), ("accuracy", found.accuracy)):
        if reached is not None:
            table.add_row(key, number(reached), shown(before.get(key)), shown(nothing.get(key)))
    table.add_row("energy of a query", number(found.energy), "", "0")
    console.print(table)
    if found.beats_constant is False:
        console.print("  NO BETTER THAN NOTHING: an output that ignores y has no greater error", highlight=False)
    proved = "nothing is proved of other designs"
    if found.lower_bound is not None:
        proved = f"no design has less than {number(found.lower_bound)} (gap {found.value - found.lower_bound:.2g})"
    console.print(f"  {found.method}: {found.minimised} {number(found.value)}; {proved}", highlight=False)
    console.print(f"  {found.boxes} boxes, {found.seconds:.3g} s", highlight=False)
    if not found.settled:
        console.print(
            "  NOT SETTLED: the effort was spent before the gap was reached; this is the best met", highlight=False
        )


def federated_design(name: str, found: FederatedDesignResult) -> None:
    """Print a design of CorBin-FL."""
    console = screen()
    table = Table(title=f"{name}: least {found.minimised}", box=box.SIMPLE_HEAD, title_justify="left")
    for heading in ("", "design", "constant mean"):
        table.add_column(heading, justify="right" if heading else "left")
    for key, value in found.variables.items():
        table.add_row(key, number(float(value)), "")
    nothing = found.baseline["constant_output"]["error"]
    table.add_row("epsilon of a parameter and uplink", number(found.epsilon), "0")
    table.add_row("worst error, proven", number(found.error), number(nothing))
    table.add_row("bits of a client and round", number(found.bits), "0")
    console.print(table)
    if not found.beats_constant:
        console.print("  NO BETTER THAN NOTHING: the centre of the interval has no greater error", highlight=False)
    console.print(f"  {found.method}; {found.seconds:.3g} s", highlight=False)


def fleet_design(name: str, found: FleetDesignResult) -> None:
    """Print a design of a utility-fair fleet."""
    console = screen()
    sought = f"least {found.minimised}" if found.minimised else f"greatest {found.maximised}"
    table = Table(title=f"{name}: {sought}", box=box.SIMPLE_HEAD, title_justify="left")
    columns = {
        "iterations": found.variables["iterations"],
        "power, W": found.variables["power"],
        "energy, J": found.energy,
        "utility": found.utility,
        "noise heard": found.noise_heard,
        "epsilon of its copy": found.own_epsilon,
    }
    for heading in ("devices", *columns):
        table.add_column(heading, justify="left" if heading == "devices" else "right")
    for devices, values in groups(list(zip(*(column.tolist() for column in columns.values()), strict=True))):
        table.add_row(devices, *map(number, values))
    console.print(table)
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("of all devices, a round", "design", "greatest power"):
        table.add_column(heading, justify="left" if heading.startswith("of") else "right")
    before = found.baseline["greatest_power"]
    table.add_row("energy, J", number(float(np.sum(found.energy))), number(before["energy"]))
    table.add_row("utility", number(float(np.sum(found.utility))), number(before["utility"]))
    console.print(table)
    heard = "its own copy" if found.hears == "own" else "all copies"
    console.print(
        f"  noise {number(float(found.variables['noise']))} times the sensitivity: epsilon {number(found.epsilon)} at delta = "
        f"{number(found.delta)} over {found.rounds} rounds, for one that hears {heard}, whatever the deviations",
        highlight=False,
    )
    bound = found.lower_bound if found.upper_bound is None else found.upper_bound
    assert bound is not None
    side = "more" if found.maximised else "less"
    console.print(f"  {found.method}: no design has {side} than {number(bound)} (gap {found.gap:.2g})", highlight=False)


def frontier(name: str, found: FrontierResult) -> None:
    """Print one design for every combination of constraints."""
    console = screen()
    sought = f"{'greatest' if found.sought == 'utility' else 'least'} {found.sought}"
    table = Table(title=f"{name}: what can be had, {sought}", box=box.SIMPLE_HEAD, title_justify="left")
    columns = [key for key in found.points[0] if any(one[key] is not None for one in found.points)]
    shown = [key for key in columns if key != found.sought]  # its column is called value
    for key in shown:
        table.add_column({"value": sought}.get(key, key.replace("_", " ")), justify="right")
    for one in found.points:
        table.add_row(*("" if (value := one[key]) is None else number(value) for key in shown))
    console.print(table)
    if any(one["value"] is None for one in found.points):
        console.print(
            "  empty: no design found that keeps all; none exists where the bound is infinite", highlight=False
        )
