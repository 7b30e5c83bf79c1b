"""The command ``airtight meter``: the log of a fleet's budgets, a line a round."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airtight.analytics.checks import ParameterError
from airtight.commands.options import ALL, JSON, OUT, print_json, save
from airtight.running import heard, progress
from airtight.system_file.config import SystemFileError
from airtight.validate import untrusted

if TYPE_CHECKING:
    from airtight.analytics.privacy.over_the_air.meter import Meter

REFUSED, RECORDED = 3, 5
LONG = 1000  # rounds from which on a file beside the log says how far it was checked


@click.command(short_help="Count privacy spent by real rounds, refuse overspending.")
@click.argument("log", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--add",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="ROUND",
    help="Record the round of this TOML file, or refuse it.",
)
@click.option(
    "--budget", type=float, metavar="EPSILON", help="Begin a new log with this epsilon as the budget of every device."
)
@click.option("--delta", type=float, help="Delta of the privacy budget (required for a new log).")
@click.option("--devices", type=click.IntRange(min=1), help="Number of devices (required for a new log).")
@click.option("--order", type=float, help="Order of the Renyi filter of a new log that takes releases of all kinds.")
@click.option(
    "--colluding",
    metavar="M|[I,J]",
    help="Devices that help the server in a new log: any M of the others, or those of a list (none by default).",
)
@OUT
@ALL
@JSON
def meter(
    log: Path,
    add: Path | None,
    budget: float | None,
    delta: float | None,
    devices: int | None,
    order: float | None,
    colluding: str | None,
    out: Path | None,
    complete: bool,
    as_json: bool,
) -> None:
    """Count the privacy spent by the rounds in LOG; with --add record the next one, or refuse it (exit 3).

    Without --add every line is checked and every round computed again. From 1000 rounds on, --add does so only for lines that
    have changed since the last check, which LOG.checked holds, and refuses a log that has become shorter. Exit 5: the round is
    recorded, but standard output failed.
    """
    from airtight.analytics.privacy.over_the_air.meter import Meter, OverspentError
    from airtight.validate import files

    new = {"--budget": budget, "--delta": delta, "--devices": devices}
    if any(value is not None for value in (*new.values(), order, colluding)) and (
        missing := [k for k, v in new.items() if v is None]
    ):
        raise click.UsageError(f"a new log needs {', '.join(missing)}, too")
    if log.exists() and not log.is_file():
        raise SystemFileError(f"{log}: no regular file")
    if budget is None and not log.exists():
        raise SystemFileError(f"{log}: No such file; --budget, --delta and --devices begin a new log")
    given = None if add is None else _round(add)
    if budget is None and given is None:
        _print(log, read(log), None, out, complete, as_json)
        return
    allowed: bool | None = None
    if budget is not None and log.exists() and log.stat().st_size:
        raise SystemFileError(f"{log}: exists already; a new log needs a new file")
    helpers = _colluders(colluding)
    fresh = None if budget is None else Meter(budget, delta or 0.0, devices=devices or 1, order=order, colluding=helpers)
    beside = _beside(log)
    if fresh is not None and beside.exists():
        raise SystemFileError(
            f"{beside}: tells of a log that is gone; delete this file, too, if you mean to begin anew"
        )
    with files.appending(log) as stream:
        stream.seek(0)
        content = stream.read()
        whole = content.rfind(b"\n") + 1
        if fresh is not None and content:
            raise SystemFileError(f"{log}: exists already; a new log needs a new file")
        account = _meter(log, content, _text(beside)) if fresh is None else fresh
        known = 0 if fresh is not None else len(account.lines)
        if given is not None:
            try:
                release, *who = given
                account.record(release, participants=who[0] if who else None)
                allowed = True
            except OverspentError as error:
                allowed = False
                _refused(account, given, error)
            except ParameterError as error:
                raise SystemFileError(f"{add}: {error}") from None
        if len(account.lines) > known:
            if whole < len(content):
                stream.truncate(whole)  # the rest of a line that a crash cut off: its round was never allowed
            files.append(stream, "".join(line + "\n" for line in account.lines[known:]).encode())
            if account.rounds >= LONG:
                # without it the next run checks all; the round is recorded, whatever comes between
                with suppress(OSError, KeyboardInterrupt), files.whole(beside) as state:
                    state.write(account.checked().encode())
    try:
        _print(log, account, allowed, out, complete, as_json)
    except (OSError, SystemExit, KeyboardInterrupt) as error:  # rich ends the program where a pipe is closed
        if len(account.lines) == known:
            raise
        done = f"round {account.rounds} is recorded" if allowed else "the new log is written"
        why = getattr(error, "strerror", None) or "it was closed, or the run interrupted"
        click.echo(f"airtight: {log}: {done}, but standard output failed: {why}", err=True)
        raise click.exceptions.Exit(RECORDED) from None
    if allowed is False:
        raise click.exceptions.Exit(REFUSED)


def _colluders(given: str | None) -> Any:
    """The value of the option, a number or a list as in a system file; the meter checks its range."""
    try:
        return 0 if given is None else json.loads(given)
    except ValueError:
        raise ParameterError("--colluding", given, "a number of devices, or a list such as [3, 7]") from None


def read(log: Path) -> Meter:
    """The meter of a log of which every line is checked and that is not shorter than LOG.checked says.

    What was checked is read first: a run that adds a round meanwhile makes the log longer than that.
    """
    checked = _text(_beside(log))
    return _meter(log, log.read_bytes(), checked, again=True)


def _beside(log: Path) -> Path:
    """The file that says how far a log was checked: one for all links to the log."""
    target = log.resolve()
    return target.with_name(f"{target.name}.checked")


def _meter(log: Path, content: bytes, checked: str | None, *, again: bool = False) -> Meter:
    """The meter of what a log contains; an error names the file and the line."""
    from airtight.analytics.privacy.over_the_air.meter import Meter

    try:
        with progress("checking the log"):
            return Meter.from_json(content.decode(), checked=checked, again=again, progress=heard())
    except UnicodeDecodeError:
        raise SystemFileError(f"{log}: not a text in UTF-8") from None
    except ParameterError as error:
        raise SystemFileError(f"{log}: {error}") from None


def _text(path: Path) -> str | None:
    """The text of a file; None where there is none that can be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _round(path: Path) -> tuple[Any, ...]:
    """What a TOML file asks for: a :class:`Round` by its keys, or a `curve` as in JSON, with its `participants`."""
    from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
    from airtight.analytics.privacy.over_the_air.meter import Round

    try:
        values = untrusted.toml(path)
        if "curve" not in values:
            return (Round.from_dict(values),)
        if unknown := set(values) - {"curve", "participants"}:
            raise ParameterError(min(unknown), values[min(unknown)], "absent beside a curve")
        return PrivacyCurve.from_json(json.dumps(values["curve"])), values.get("participants")
    except OSError as error:
        raise SystemFileError(f"{path}: {error.strerror or error}") from None
    except (ParameterError, TypeError) as error:
        raise SystemFileError(f"{path}: {error}") from None
    except ValueError as error:
        raise SystemFileError(f"{path}: not valid TOML: {error}") from None


def _refused(account: Meter, given: tuple[Any, ...], error: Exception) -> None:
    """Say why a round is refused and, of a round over the air, who of its participants may send."""
    from airtight.analytics.privacy.over_the_air.meter import Round
    from airtight.results.headline import devices

    click.echo(f"airtight: refused, nothing recorded: {error}", err=True)
    if isinstance(given[0], Round):
        able = account.who(given[0]).nonzero()[0].tolist()
        who = f"of its participants {devices(able)} may send" if able else "none of its participants may send"
        click.echo(f"airtight: {who}", err=True)


def _print(
    log: Path, account: Meter, allowed: bool | None, out: Path | None, complete: bool, as_json: bool
) -> None:
    summary = account.summary()
    tree = summary if allowed is None else {**summary, "allowed": allowed}
    save(out, tree, account.table(log.stem))
    if as_json:
        print_json(tree)
        return
    from airtight.report.screens import meter_screen

    meter_screen.metered(str(log), account, complete=complete)
