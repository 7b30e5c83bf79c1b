"""What ``airtight sweep`` does and prints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click
import numpy as np

from airtight.validate.running import progress
from airtight.validate.sweep.axes import parsed
from airtight.validate.sweep.plan import Sweep
from airtight.validate.sweep.run import Outcome, cost, run
from airtight.validate.sweep.verb import prepared, workforce

_HERE = 3  # so few blocks are computed sooner than a process starts


def swept(
    file: Path,
    over: Sequence[str],
    together: Sequence[str],
    wanted: Sequence[str],
    out: Path | None,
    *,
    scheduler: str | None,
    explain: bool,
    netcdf: Path | None,
) -> None:
    """Plan, and explain or run; what comes without an option is an axis where it has ``=``, else a quantity."""
    plan = prepared(str(file), parsed(over, together), wanted)
    if explain:
        _explained(plan, out)
        return
    if out is None:
        raise click.UsageError("--out: missing; a folder for the store, which only --explain needs not")
    blocks = sum(work.count for work in plan.works)
    with ExitStack() as stack:
        found = stack.enter_context(workforce(scheduler, 1 if blocks <= _HERE else blocks))
        outcome = run(
            plan,
            out,
            executor=found[0],
            workers=found[1],
            started=lambda left: stack.enter_context(progress("sweeping", left)),
        )
    _told(plan, out, outcome)
    if netcdf is not None:
        _exported(out, netcdf)


def _explained(plan: Sweep, out: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("quantity", "dimensions", "cells", "blocks missing", "CPU s", "MB", box=None)
    rows = cost(plan, out)
    for row in rows:
        dimensions = " x ".join(f"{axis.name} ({axis.size})" for axis in row.work.axes) or "none"
        names = ", ".join(one.name for one in row.work.quantities)
        seconds = "0" if np.isnan(row.seconds) else f"{row.seconds:.3g}"
        table.add_row(
            names,
            dimensions,
            f"{row.work.cells}",
            f"{row.blocks} of {row.work.count}",
            seconds,
            f"{row.bytes / 1e6:.3g}",
        )
    console = Console(width=None if Console().is_terminal else 160)
    console.print(table)
    total = float(np.nansum([row.seconds for row in rows]))
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    click.echo(
        f"{plan.cells} points; by a sample about {total:.3g} s of one processor, {total / workers:.3g} s on {workers}"
    )


def _told(plan: Sweep, out: Path, outcome: Outcome) -> None:
    for note in outcome.notes:
        click.echo(f"airtight: {out}: {note}", err=True)
    for name, count in outcome.failed.items():
        click.echo(f"airtight: warning: {out}: {count} cells failed; they are nan, {name} says why", err=True)
    click.echo(f"{out}: {plan.cells} points; {outcome.computed} blocks computed, {outcome.kept} kept")


def _exported(store: Path, target: Path) -> None:
    """A copy as NetCDF (version 3, which needs no further library): whole numbers of 32 bits, truth as 0 and 1."""
    from airtight.validate.sweep.dataset import opened

    found = opened(store).load()
    found.attrs = {name: str(value) for name, value in found.attrs.items()}
    found.to_netcdf(target, engine="scipy")
    click.echo(f"{target}: a copy")
