"""Options and arguments that several commands share, and the JSON that they print."""

from __future__ import annotations

import json
import math
from importlib import resources
from pathlib import Path
from typing import Any

import click

from airtight.analytics import checks
from airtight.validate.claims import EFFORT as EVALUATIONS
from airtight.validate.running import QUIET as SILENT

FILE = click.argument("file", type=click.Path(path_type=Path))
QUIET = click.option(
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=lambda ctx, option, value: ctx.meta.update({SILENT: value}),
    help="Say nothing on the way.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")

DEVICES = click.option(
    "--devices",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CSV",
    help="A device a row, the header names keys of FILE; they take the place of those in FILE.",
)
FEATURES = click.option(
    "--features",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CSV",
    help="Features, a device a row; they take the place of those in FILE.",
)
PLAN = click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CSV",
    help="Write the answer, a device a row; - to print it.",
)
LEAVE_OUT = click.option(
    "--leave-out", is_flag=True, help="Leave out devices of the CSV file that cannot be used, and name them on stderr."
)


def _identifiers(ctx: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Identifiers of claims for the completion in a shell, from the evidence, which is read faster than the papers."""
    rows = json.loads(
        resources.files("airtight.validate.papers").joinpath("evidence.json").read_text(encoding="utf-8")
    )["rows"]
    return [name for name in rows if name.startswith(begun)]


IDS = click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=_identifiers)
SEED = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
EFFORT = click.option(
    "--effort", type=click.IntRange(min=1), default=EVALUATIONS, show_default=True, help="Evaluations of each claim."
)


def _limit(ctx: click.Context, option: click.Parameter, seconds: float | None) -> float:
    return math.inf if seconds is None else checks.scalar("--limit", seconds, "(0, inf]")


LIMIT = click.option(
    "--limit", type=float, callback=_limit, help="Seconds after which what is left stays unsettled; none by default."
)


def print_json(result: Any) -> None:
    """Strict JSON of any result; see :mod:`airtight.validate.results.schema`."""
    from airtight.validate.results.schema import as_json

    click.echo(json.dumps(as_json(result), indent=2, allow_nan=False))
