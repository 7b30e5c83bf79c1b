"""The command ``airtight sweep``."""

from __future__ import annotations

from pathlib import Path

import click

from airtight.analytics.extras import require
from airtight.commands.options import DEVICES, FEATURES, FILE, QUIET


@click.command(short_help="Any quantity over a grid of systems.")
@FILE
@click.argument("more", nargs=-1, metavar="[KEY=VALUES | NAME]...")
@click.option(
    "--over",
    multiple=True,
    metavar="KEY=VALUES",
    help="Vary KEY over a,b,c or FIRST:LAST:COUNT[:log]; several axes make a product.",
)
@click.option("--zip", "together", multiple=True, metavar="KEY,KEY", help="Move these axes together instead of in a product.")
@click.option("--quantity", multiple=True, metavar="NAME", help="Compute this quantity; the usual ones by default.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR|FILE",
    help="Folder of the store, in which an unfinished sweep goes on; or FILE.csv, .xlsx, .parquet, .mat or .json for a table.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Compute on the workers of this Dask scheduler, such as tcp://host:8786.")
@click.option("--explain", is_flag=True, help="Print what the sweep would cost, and compute nothing.")
@click.option("--replace", is_flag=True, help="Overwrite the numbers of a system with other values of its fixed keys.")
@click.option("--failed", is_flag=True, help="Compute the cells of the store that failed again.")
@click.option("--netcdf", type=click.Path(path_type=Path, dir_okay=False), help="Write a copy as NetCDF.")
@DEVICES
@FEATURES
@QUIET
def sweep(
    file: Path,
    more: tuple[str, ...],
    over: tuple[str, ...],
    together: tuple[str, ...],
    quantity: tuple[str, ...],
    out: Path | None,
    scheduler: str | None,
    explain: bool,
    replace: bool,
    failed: bool,
    netcdf: Path | None,
    devices: Path | None,
    features: Path | None,
) -> None:
    """Compute quantities over a grid of systems. Every KEY of FILE may be an axis; what is stored is not computed again."""
    from airtight.commands import fleet_csv

    if not explain:
        require("sweep" if scheduler is None else "cluster")
    from airtight.sweeps.command import swept

    axes = [*over, *(word for word in more if "=" in word)]
    wanted = [*quantity, *(word for word in more if "=" not in word)]
    source = fleet_csv.tables(file, devices, features=features)[0] if devices or features else None
    swept(
        file,
        axes,
        together,
        wanted,
        out,
        scheduler=scheduler,
        explain=explain,
        netcdf=netcdf,
        source=source,
        replace=replace,
        failed=failed,
    )
