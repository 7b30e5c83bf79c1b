"""Designs as tables on stdout."""

from __future__ import annotations

from rich import box
from rich.table import Table

from validate.report.tables import groups, number, screen
from validate.results.calibration import CalibrationResult

_SOUGHT = {"noise": "least noise variance", "clip": "greatest clip", "participation": "greatest participation"}


def calibration(name: str, found: CalibrationResult) -> None:
    """Print the quantity that keeps epsilon, and what is proved about it."""
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
