"""The command ``airtight map``."""

from __future__ import annotations

import math
from pathlib import Path

import click

from airtight.analytics.checks import ParameterError
from airtight.analytics.extras import require
from airtight.commands.options import PICTURES, QUIET, draw
from airtight.running import progress


@click.command("map", short_help="Where in a plane of two parameters a claim is true.")
@click.argument("claim", metavar="ID")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), required=False)
@click.option(
    "--over", multiple=True, required=True, metavar="NAME=VALUES",
    help="One of the two parameters, over a,b,c or FIRST:LAST:COUNT[:log].",
)  # fmt: skip
@click.option(
    "--at", multiple=True, metavar="NAME=VALUE", help="Value of another parameter; by default that of FILE or of the paper."
)
@click.option("--certify", is_flag=True, help="Prove each violation in ball arithmetic; the picture marks those that are proved.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, metavar="FILE",
    help="Picture FILE.svg, .png or .pdf; or FILE.csv, a row for each point.",
)  # fmt: skip
@QUIET
def map_(claim: str, file: Path | None, over: tuple[str, ...], at: tuple[str, ...], certify: bool, out: Path) -> None:
    """Try the claim ID at every point of a grid: true, false, vacuous, by what factor.

    FILE is a Python file of claims, or a system file (.toml), whose values replace those of the paper and are marked.
    A claim is vacuous where it claims nothing, outside where a hypothesis fails, unsettled where its test gives no answer.
    """
    require("report")
    from airtight import loading
    from airtight.analytics import tidy
    from airtight.console import say, screen
    from airtight.sweeps.axes import parsed
    from airtight.system_file import claim_points
    from airtight.validate import files
    from airtight.validate.claims import claim_map
    from airtight.validate.claims.sources import named

    if out.suffix not in (*PICTURES, ".csv"):
        raise ParameterError("--out", str(out), f"a file that ends in {', '.join(PICTURES)} or .csv")
    axes = {str(name): list(values) for name, values in parsed(over).items()}
    fixed = parsed(at, option="--at")
    if several := [name for name, values in fixed.items() if len(values) > 1]:
        raise ParameterError("--at", several[0], "one value; --over has several")
    others = {str(name): values[0] for name, values in fixed.items()}
    given: dict[str, float] = {}
    if file is not None and claim_points.is_system_file(file):
        tried = named(claim, None)
        given = claim_points.point_of(loading.load(file), tried.domain)
    else:
        tried = named(claim, file)
    with progress("mapping", math.prod(map(len, axes.values()))) as advance:
        mapped = claim_map.map_claim(tried, axes, others, system=given, certify=certify, advance=advance)
    if out.suffix == ".csv":
        table = mapped.to_dataframe().reset_index()
        with files.whole(out) as stream:
            stream.write(tidy.csv_text(table.columns, table.itertuples(index=False)).encode())
    draw(None if out.suffix == ".csv" else out, lambda axes: claim_map.plot(mapped, axes))
    console = screen()
    say(console, f"{claim_map.finding(mapped)}.", style="bold")
    if "first_error" in mapped.attrs:
        say(console, f"Unsettled, at the first such point: {mapped.attrs['first_error']}")
    say(console, f"Written: {out}.")
