"""The work of the command ``airtight sweep``: plan, run, report, export."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import numpy as np

from airtight.analytics.checks import ParameterError
from airtight.results import result
from airtight.running import progress
from airtight.sweeps.axes import parsed
from airtight.sweeps.plan import Sweep
from airtight.sweeps.run import Outcome, cost, run
from airtight.sweeps.verb import folder, prepared, workforce
from airtight.validate.files import whole

_BLOCKS_IN_PROCESS = 3  # up to this many blocks are computed in this process: starting another takes longer


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
    replace: bool,
    failed: bool,
    source: dict[str, Any] | None = None,
) -> None:
    """Plan the sweep, then either print its cost (`explain`) or run it and report; `source` are other tables than the file's."""
    plan = prepared(str(file) if source is None else source, parsed(over, together), wanted, where=str(file))
    if explain:
        _print_cost(plan, out)
        return
    if out is None:
        raise click.UsageError("--out: missing; a folder for the store, or a file for a table, except with --explain")
    blocks, is_table = sum(work.count for work in plan.works), out.suffix in result.EXTRA
    if is_table:
        result.check(out)
    elif out.is_file():
        raise ParameterError("--out", str(out), f"a folder, or a file that ends in {', '.join(result.EXTRA)}")
    from airtight.sweeps.dataset import opened

    with ExitStack() as stack:
        store = stack.enter_context(folder(None if is_table else out))
        executor, workers, alive = stack.enter_context(
            workforce(scheduler, 1 if blocks <= _BLOCKS_IN_PROCESS else blocks)
        )
        outcome = run(
            plan,
            store,
            executor=executor,
            workers=workers,
            alive=alive,
            replace=replace,
            failed=failed,
            started=lambda left: stack.enter_context(progress("sweeping", left)),
        )
        if is_table:
            with opened(store) as dataset:
                result.write(out, dataset.to_dict(), dataset.airtight.table(file.stem))
        _report(str(file), plan, out, store, outcome)
        if netcdf is not None:
            _export_netcdf(store, netcdf)


def _print_cost(plan: Sweep, out: Path | None) -> None:
    from airtight.console import Sheet, next_step, say, screen

    headings = ("quantity", "dimensions", "cells", "blocks missing", "processor time (s)", "size (MB)")
    table = Sheet(headings, left=headings[:2])
    rows = cost(plan, out)
    for row in rows:
        dimensions = " x ".join(f"{axis.name} ({axis.size})" for axis in row.work.axes) or "none"
        names = ", ".join(quantity.name for quantity in row.work.quantities)
        seconds = "0" if np.isnan(row.seconds) else f"{row.seconds:.3g}"
        table.add_row(
            names,
            dimensions,
            f"{row.work.cells}",
            f"{row.blocks} of {row.work.count}",
            seconds,
            f"{row.bytes / 1e6:.3g}",
        )
    total = float(np.nansum([row.seconds for row in rows]))
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    console = screen()
    say(
        console,
        f"{plan.cells} points would take {total:.3g} s of one processor, {total / workers:.3g} s on {workers} "
        "(estimated from a sample).",
        style="bold",
    )
    console.print(table)
    next_step(console, ("the same without --explain, with --out FOLDER", "computes them"))


def _report(file: str, plan: Sweep, out: Path, store: Path, outcome: Outcome) -> None:
    from airtight.console import next_step, say, screen
    from airtight.sweeps.dataset import opened

    for note in outcome.notes:
        click.echo(f"airtight: {out}: {note}", err=True)
    for name, count in outcome.failed.items():
        click.echo(
            f"airtight: warning: {out}: {count} cells failed; they are nan, and the variable {name} holds the messages "
            "(--failed computes them again)",
            err=True,
        )
    ranges = []
    with opened(store) as stored:
        for name in dict.fromkeys(quantity.name for work in plan.works for quantity in work.quantities):
            values = stored[name].values if name in stored else np.array([])
            if values.dtype.kind == "f" and np.any(~np.isnan(values)):
                ranges.append(f"{name} {np.nanmin(values):.4g} to {np.nanmax(values):.4g}")
    console = screen()
    say(console, f"{out}: {plan.cells} points; {', '.join(ranges) or 'stored'}.", style="bold")
    if out == store:
        say(console, f"Blocks of points: {outcome.computed} computed now, {outcome.kept} kept from before.")
    steps = [(f"airtight bounds {file}", "one system with its verdict")]
    if out == store:
        steps.insert(0, (f"python -c \"import xarray; print(xarray.open_zarr('{out}'))\"", "all numbers, by axis"))
    next_step(console, *steps)


def _export_netcdf(store: Path, target: Path) -> None:
    """Copy the store to NetCDF 3, which needs no further library: integers have 32 bits, booleans become 0 and 1."""
    from airtight.sweeps.dataset import opened

    dataset = opened(store).load()
    content = dataset.to_netcdf(engine="scipy")
    with whole(target) as stream:
        stream.write(bytes(content))
    click.echo(f"{target}: copy written")
