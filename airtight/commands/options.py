"""Options and arguments that several commands share, and the JSON that they print."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from numpy.typing import NDArray

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.extras import require
from airtight.results import result
from airtight.running import QUIET as SILENT
from airtight.validate import untrusted
from airtight.validate.claims import EFFORT as EVALUATIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILE = click.argument("file", type=click.Path(path_type=Path))
QUIET = click.option(
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=lambda ctx, option, value: ctx.meta.update({SILENT: value}),
    help="Print no progress.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")

ALL = click.option("--all", "complete", is_flag=True, help="Print every number, and every device in a row of its own.")
DEVICES = click.option(
    "--devices",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CSV",
    help="Table with a row for each device; its header names keys of FILE, which it replaces.",
)
FEATURES = click.option(
    "--features",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CSV",
    help="Table with the features, a row for each device; it replaces that of FILE.",
)
PLAN = click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CSV",
    help="Write the answer to a CSV file that --devices reads, a device a row (- prints it).",
)


def _table_file(ctx: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    return None if path is None else result.check(path)


WRITES = "Write all numbers to a file too, a row each: FILE.csv, .xlsx, .parquet or .mat; FILE.json is what --json prints."
OUT = click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_table_file,
    metavar="FILE",
    help=WRITES,
)
PICTURES = (".svg", ".png", ".pdf")


def _picture_file(ctx: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix not in PICTURES:
        raise ParameterError("--plot", str(path), f"a file that ends in {', '.join(PICTURES)}")
    if path is not None:
        require("report")
    return path


PLOT = click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_picture_file,
    metavar="FILE",
    help="Draw a picture: FILE.svg, .png or .pdf.",
)
LEAVE_OUT = click.option(
    "--leave-out", is_flag=True, help="Leave out devices of the CSV file that cannot be used, and name them on stderr."
)


def as_given(file: Path | str, devices: Path | None = None, features: Path | None = None) -> str:
    """The file and the tables that replace parts of it, as they are typed after the name of a command.

    Examples
    --------
    >>> as_given("mine.toml", Path("fleet.csv"))
    'mine.toml --devices fleet.csv'
    """
    options = (("--devices", devices), ("--features", features))
    return shlex.join(
        [str(file), *(word for flag, table in options if table is not None for word in (flag, str(table)))]
    )


def _identifiers(ctx: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Identifiers of our claims for the completion in a shell, from the evidence, which is read faster than the papers."""
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


_FLAGS = {"budget_epsilon": "budget"}  # parameters of the library whose option has another name


def as_typed(error: ParameterError, command: click.Command, words: Sequence[str]) -> ParameterError:
    """The error with the option in the place of the parameter, where the user typed this option with this value.

    Examples
    --------
    >>> @click.command()
    ... @click.option("--epsilon", type=float)
    ... def run(epsilon): ...
    >>> wrong = ParameterError("epsilon", -1.0, "a number in (0, inf)")
    >>> print(as_typed(wrong, run, ["a.toml", "--epsilon", "-1"]))
    --epsilon = -1.0: must be a number in (0, inf)
    >>> print(as_typed(wrong, run, ["a.toml", "--epsilon", "2"]))
    epsilon = -1.0: must be a number in (0, inf)
    """
    name = _FLAGS.get(error.name, error.name)
    for flag, value, option in _typed(command, words):
        if option.name == name and _same(value, error.value):
            return ParameterError(flag, error.value, error.allowed)
        if value.startswith(f"{error.name}="):  # KEY=VALUES
            return ParameterError(f"{flag} {error.name}", error.value, error.allowed, error.index)
    return error


def _typed(command: click.Command, words: Sequence[str]) -> Iterator[tuple[str, str, click.Option]]:
    """The options that were typed: as the user wrote each, its value, and its declaration."""
    for word in words:
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word) or command
    options = {flag: each for each in command.params if isinstance(each, click.Option) for flag in each.opts}
    pairs = [*pairwise(words), *(word.split("=", 1) for word in words if word.startswith("--") and "=" in word)]
    for flag, value in pairs:
        if flag in options:
            yield flag, value, options[flag]


def demand_plain(command: click.Command, words: Sequence[str]) -> None:
    """Check that what was typed can be printed, and that numbers are written as a system file may write them.

    Raises
    ------
    click.UsageError
    """
    for word in words:
        if not word.isprintable():
            raise click.UsageError(f"{word!r}: must have printable characters only")
    for flag, value, option in _typed(command, words):
        if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType):
            try:
                untrusted.number(value)
            except ValueError:
                raise click.UsageError(
                    f"{flag} {value}: must be a number, in ASCII digits without underscores"
                ) from None


def _same(typed: str, value: object) -> bool:
    try:
        return repr(float(typed)) == repr(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return typed == str(value) or typed.startswith(f"{value}=")


def print_json(tree: Any) -> None:
    """Strict JSON of any result; see :mod:`airtight.results.schema`."""
    from airtight.results.schema import as_json

    click.echo(json.dumps(as_json(tree), indent=2, allow_nan=False))


def draw(path: Path | None, plot: Callable[[Axes], object]) -> None:
    """Write the picture of ``--plot``, where one is asked for."""
    if path is not None:
        from airtight.validate import files
        from airtight.validate.experiments.figures import style

        with files.whole(path) as stream:
            style.save(style.drawn(plot), stream, path.suffix[1:])
        click.echo(f"airtight: {path} is written", err=True)


def save(out: Path | None, tree: object, table: Mapping[str, NDArray[Any]]) -> None:
    """Write the file of ``--out``, where one is asked for: the JSON of `tree`, or the table."""
    if out is not None:
        result.write(out, tree, table)
        click.echo(f"airtight: {out} is written", err=True)
