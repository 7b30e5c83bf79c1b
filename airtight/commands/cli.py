"""The ``airtight`` command."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from airtight.analytics.checks import AirtightError, ConvergenceError, ParameterError
from airtight.analytics.extras import require
from airtight.commands import plain_text
from airtight.commands.attack_command import attack
from airtight.commands.design_command import calibrate, design
from airtight.commands.meter_command import meter
from airtight.commands.options import DEVICES, FEATURES, LEAVE_OUT, as_typed, demand_plain, print_json
from airtight.commands.options import EFFORT as _EFFORT
from airtight.commands.options import FILE as _FILE
from airtight.commands.options import IDS as _IDS
from airtight.commands.options import JSON as _JSON
from airtight.commands.options import LIMIT as _LIMIT
from airtight.commands.options import QUIET as _QUIET
from airtight.commands.options import SEED as _SEED
from airtight.commands.quantities_command import quantities
from airtight.commands.report_command import card, figures, paper, report
from airtight.commands.sweep_command import sweep
from airtight.running import audited, pool_for_claims, progress
from airtight.solvers.errors import InfeasibleError, NotSettledError
from airtight.system_file.config import SystemFileError, load
from airtight.validate.packages import COMMANDS, SourceError, brought

if TYPE_CHECKING:
    from airtight.analytics.federated.fair.device import DeviceFleet
    from airtight.results.bounds import Part
    from airtight.system_file.contents import SystemFile
    from airtight.validate.claims.sources import Source


_READER_GONE = 141  # 128 + SIGPIPE, as a shell counts a program that ends so
_WORDS = "airtight.words"  # key of what was typed in the meta data of the click context


def _warn(message: Warning | str, *_: Any) -> None:
    click.echo(f"airtight: warning: {message}", err=True)


def _interruptible() -> None:
    """From now on what ends a program by a signal ends it as Ctrl-C does: quietly, and with its workers."""
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores it
                signal.signal(number, signal.default_int_handler)


def _give_up(error: OSError) -> NoReturn:
    """End with what an error of the operating system says; quietly where the reader of standard output has gone (head -1)."""
    with suppress(OSError, ValueError, AttributeError):  # what is still in its buffer is not to fail once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        sys.exit(_READER_GONE)
    plain_text.tell(f"{error.filename or 'standard output'}: {error.strerror or error}")
    sys.exit(2)


class _Group(click.Group):
    """Turns every expected error into one line on stderr and exit code 2; knows the commands of installed packages."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        try:
            return sorted({*super().list_commands(ctx), *self._of_packages()})
        except SourceError as error:  # --help lists the commands before anything is invoked
            raise click.UsageError(str(error)) from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or self._of_packages().get(cmd_name)

    def _of_packages(self) -> dict[str, click.Command]:
        """The commands of other installed packages, by the entry points ``airtight.commands``."""
        found: dict[str, click.Command] = {}
        for each in brought(COMMANDS, click.Command):
            command = each.object
            if not command.name or command.name in self.commands or command.name in found:
                raise SourceError(f"{each.place}: {command.name!r} must be the name of a new command")
            found[command.name] = command
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _warn  # type: ignore[assignment]
            return self._invoke(ctx)

    def main(self, *arguments: Any, **options: Any) -> Any:
        plain_text.fall_back()
        _interruptible()
        try:
            return super().main(*arguments, **options)
        finally:
            try:
                if sys.stdout is not None:
                    sys.stdout.flush()  # here an error can still be told
            except OSError as error:
                _give_up(error)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **options)
        except OSError as error:  # of --help and --version
            _give_up(error)

    def _invoke(self, ctx: click.Context) -> Any:
        try:
            demand_plain(self, ctx.meta[_WORDS])
            return super().invoke(ctx)
        except KeyboardInterrupt:
            plain_text.tell("interrupted")
            ctx.exit(130)
        except InfeasibleError as error:
            plain_text.tell(f"infeasible: {error}")
            ctx.exit(3)
        except NotSettledError as error:
            plain_text.tell(f"not settled: {error}")
            ctx.exit(4)
        except AirtightError as error:
            plain_text.tell(str(as_typed(error, self, ctx.meta[_WORDS]) if isinstance(error, ParameterError) else error))
            ctx.exit(1 if isinstance(error, ConvergenceError) else 2)
        except click.UsageError as error:
            plain_text.tell(error.format_message())
            ctx.exit(2)
        except MemoryError as error:
            plain_text.tell(f"not enough memory: {error}")
            ctx.exit(2)
        except OSError as error:
            _give_up(error)


@click.group(cls=_Group)
@click.version_option(package_name="airtight-dp")
def main() -> None:
    """Bounds, exact values and machine-checked theorems for private wireless learning."""


@main.command()
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE...")
@DEVICES
@FEATURES
@_JSON
def bounds(files: tuple[Path, ...], devices: Path | None, features: Path | None, as_json: bool) -> None:
    """Every bound of the systems in FILE: published, proven, exact. For several files the JSON is an object by file."""
    from airtight.commands import fleet_csv as fleets
    from airtight.results.bounds import Bounds, each
    from airtight.results.inference_results import InferenceBounds

    def warned(description: SystemFile) -> Iterator[tuple[str, Part]]:
        for name, part in each(description):
            if isinstance(part, InferenceBounds) and part.accuracy is not None and part.accuracy.constant_output > 0:
                _warn(
                    f"{name}: margin: exceeds the norm of the target, so that an output that ignores y is within it too"
                )
            yield name, part

    if (devices is not None or features is not None) and len(files) > 1:
        raise click.UsageError(f"{'--features' if devices is None else '--devices'}: with one FILE")
    descriptions = {str(file): fleets.load(file, devices, channel=True, features=features)[0] for file in files}
    if as_json:
        found = {file: Bounds.joined(warned(description)) for file, description in descriptions.items()}
        print_json(found if len(files) > 1 else found[str(files[0])])
        return
    from airtight.report import tables

    for description in descriptions.values():
        tables.bounds(warned(description))


@main.group()
def solve() -> None:
    """Design problems."""


@solve.command()
@_FILE
@click.option(
    "--method", type=click.Choice(["published", "cvxpy", "structured"]), default="structured", show_default=True
)
@click.option(
    "--objective",
    type=click.Choice(["exact", "published"]),
    help="Which MSE to minimise; exact by default, published for --method published.",
)
@click.option(
    "--cap",
    type=click.Choice(["exact", "proven", "theorem1", "eq23", "none"]),
    default="exact",
    show_default=True,
    help="What the privacy cap is reckoned with.",
)
@click.option("--free", is_flag=True, help="Drop the constraint that the weights sum to one.")
@click.option("--variant", help="Solve for this variant of the system.")
@DEVICES
@FEATURES
@_JSON
def weights(
    file: Path,
    method: str,
    objective: str | None,
    cap: str,
    free: bool,
    variant: str | None,
    devices: Path | None,
    features: Path | None,
    as_json: bool,
) -> None:
    """The weights that minimise the MSE of the system in FILE under its privacy cap."""
    import numpy as np

    from airtight.commands import fleet_csv as fleets
    from airtight.results.weights import WeightResult
    from airtight.solvers import weights as problem

    description = fleets.load(file, devices, "inference" if devices is not None else None, features=features)[0]
    task, base = description.task, description.inference
    if task is None or base is None:
        raise SystemFileError(f"{file}: inference.features: missing; the weight problem needs it")
    if variant is not None and variant not in description.variants:
        raise ParameterError(
            "--variant", variant, "one of " + (", ".join(description.variants) or "none: FILE has no variants")
        )
    solution = problem.solve(
        base if variant is None else description.variants[variant],
        task.features,
        epsilon_cap=np.inf if task.epsilon_cap is None else task.epsilon_cap,
        cap=cap,
        objective=objective or ("published" if method == "published" else "exact"),
        method=method,
        sums_to_one=not free,
    )
    found = WeightResult.of(solution, task.features)
    if as_json:
        print_json(found)
    else:
        from airtight.report import tables

        tables.weights(variant or description.name, found)


@solve.command()
@_FILE
@click.option(
    "--method", type=click.Choice(["closed-form", "cvxpy", "published"]), default="closed-form", show_default=True
)
@click.option("--integer", is_flag=True, help="Whole iterations, the transmission re-optimised for them.")
@DEVICES
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="CSV|DIR",
    help="Write the answer, a device a row; - to print it. With --export a folder.",
)
@LEAVE_OUT
@click.option(
    "--export",
    type=click.Choice(["C"]),
    help="Write the policy of every device, iterations and power by the gain of its channel, as a header and a test program.",
)
@click.option(
    "--loss",
    type=float,
    default=1e-4,
    show_default=True,
    help="Of --export: relative loss of utility that its table may have.",
)
@_JSON
def energy(
    file: Path,
    method: str,
    integer: bool,
    devices: Path | None,
    out: Path | None,
    leave_out: bool,
    export: str | None,
    loss: float,
    as_json: bool,
) -> None:
    """The iterations and the transmit power of greatest utility for every device in FILE, or in a CSV file beside it."""
    from airtight.commands import fleet_csv as fleets
    from airtight.results.energy import EnergyResult
    from airtight.solvers import energy as energy_utility

    description, rows, left = fleets.load(file, devices, "energy", leave_out=leave_out, channel=True)
    if description.energy is None:
        raise SystemFileError(f"{file}: energy: missing; the energy-utility problem needs it")
    fleet = description.energy
    if leave_out:
        fleet, rows, late = fleets.in_time(fleet, rows, integer=integer)
        for one in sorted([*left, *late]):
            click.echo(f"airtight: left out: {one}", err=True)
    if export is not None:
        _export(fleet, out, loss, as_json)
        return
    if out is not None and out.is_dir():
        raise click.UsageError(f"--out: {out} is a folder; a CSV file is written, except with --export")
    solution = energy_utility.solve(fleet, method=method, integer=integer)
    if out is not None:
        fleets.write(out, fleets.plan(solution, rows))
        if str(out) == "-":
            return
    printed = solution if method == "published" else energy_utility.solve(fleet, method="published")
    found = EnergyResult.of(solution, printed, fleet)
    if as_json:
        print_json(found)
    else:
        from airtight.report import tables

        tables.energy(description.name, method, found, [row.name for row in rows])


def _export(fleet: DeviceFleet, out: Path | None, loss: float, as_json: bool) -> None:
    """Write the policies as C, and say what they lose."""
    from airtight.solvers.energy import c_policy
    from airtight.solvers.energy.policy import policy
    from airtight.validate.files import OutputFolder

    if out is None or str(out) == "-":
        raise click.UsageError("--export: needs --out DIR")
    with progress("tables", fleet.devices) as advance:
        policies = []
        for k in range(fleet.devices):
            policies.append(policy(fleet, device=k, loss=loss))
            advance(f"device {k}")
    with OutputFolder(out) as folder:
        folder.write(c_policy.files(policies))
    if as_json:
        print_json([one.to_dict() for one in policies])
        return
    for k, one in enumerate(policies):
        click.echo(
            f"device {k}: {one.gain.size} entries for gains {one.gain[0]:.4g} to {one.greatest:.4g}, loss at most {one.loss:.2g}"
        )
    click.echo(f"cc -std=c99 -o test {out / c_policy.TEST} -lm && ./test")


@solve.command()
@_FILE
@click.option("--bits", type=click.IntRange(1, 6), default=2, show_default=True, help="Bits of one parameter's output.")
@click.option("--pairs", is_flag=True, help="For two clients that share randomness, so that their outputs cancel.")
@click.option("--prove", is_flag=True, help="Two bits: prove a bound for alphabets of this size too (half a minute).")
@_JSON
def quantizer(file: Path, bits: int, pairs: bool, prove: bool, as_json: bool) -> None:
    """The unbiased quantizer of so many bits with the least worst error at the epsilon of FILE, and a bound for any."""
    from airtight.results import quantizer as results

    if pairs and (prove or bits > 4):
        raise click.UsageError("--pairs: at most 4 bits, and not together with --prove")
    if prove and bits != 2:
        raise click.UsageError("--prove: with --bits 2")
    description = load(file, channel=True)
    system = description.federated
    if system is None:
        raise SystemFileError(f"{file}: federated: missing; the quantizer needs its epsilon and radius")
    found = results.paired(bits, system) if pairs else results.alone(bits, system, prove=prove)
    if as_json:
        print_json(found)
        return
    from airtight.report import tables

    if isinstance(found, results.PairResult):
        tables.pair(description.name, found)
    else:
        tables.quantizer(description.name, found)


@main.command()
@_IDS
@_SEED
@_EFFORT
@_LIMIT
@click.option(
    "--all", "complete", is_flag=True, help="Definitions and what cannot be decided too: every numbered item."
)
@_JSON
@_QUIET
def verify(ids: tuple[str, ...], seed: int, effort: int, limit: float, complete: bool, as_json: bool) -> None:
    """Try the published theorems: all claims, those named, or those that begin with a name (FDP, CB, UF-E)."""
    from airtight.validate.claims.evidence import item_as_json
    from airtight.validate.claims.sources import INSTALLED

    if complete and ids:
        raise click.UsageError("--all: not together with an ID")
    evidence = audited(ids, seed, effort, limit)
    others = list(INSTALLED.items().values()) if complete else []
    if as_json:
        print_json([e.as_json() for e in evidence] + [item_as_json(item) for item in others])
    else:
        from airtight.report import verdicts

        verdicts.verdicts(evidence)
        if others:
            verdicts.items(others)
        verdicts.packages(dict.fromkeys(e.claim.paper for e in evidence))
    if not all(e.as_expected for e in evidence):
        sys.exit(1)


@main.command("try")
@click.argument("file", type=click.Path(path_type=Path))
@_IDS
@_SEED
@_EFFORT
@_LIMIT
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for a page, evidence.json and certificates."
)
@_JSON
@_QUIET
def try_(
    file: Path, ids: tuple[str, ...], seed: int, effort: int, limit: float, out: Path | None, as_json: bool
) -> None:
    """Put the claims of a Python FILE on trial: a Paper, or Claims at its top level."""
    if out is not None:
        require("report")
    from airtight.validate.claims.sources import Source

    evidence = audited(ids, seed, effort, limit, Source(str(file)))
    if out is not None:
        from airtight.report import page

        page.tried(out, file.stem, evidence, seed=seed, effort=effort)
        _certified(ids, out / "certificates", Source(str(file)), quiet=as_json)
    if as_json:
        print_json([e.as_json() for e in evidence])
    else:
        from airtight.report import verdicts

        verdicts.verdicts(evidence)
    broken = [e for e in evidence if e.error]
    for e in broken:
        click.echo(f"airtight: {file}: {e.claim.id}: {e.fault}", err=True)
    if broken:
        sys.exit(2)
    if not all(e.as_expected for e in evidence):
        sys.exit(1)


@main.command()
@_IDS
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@click.option(
    "--coq", is_flag=True, help="Also OUT/ID/theorem.v for coqc with coq-interval, where it has the functions."
)
@_QUIET
def certify(ids: tuple[str, ...], out: Path, coq: bool) -> None:
    """Write what a stranger needs to check the verdicts: OUT/ID/*.json and OUT/check.py, plain Python without packages.

    Exit code 1 where no claim can be certified: the lines say why.
    """
    from airtight.validate.claims.sources import INSTALLED

    if not _certified(ids, out, INSTALLED, quiet=False):
        sys.exit(1)
    if coq:
        from airtight.validate.claims.certificates.coq import write

        done, left = write(out)
        for name, reason in left.items():
            click.echo(f"{name}: no theorem.v: {reason}")
        click.echo(f"{len(done)} theorems for coqc")


def _certified(ids: Sequence[str], out: Path, source: Source, *, quiet: bool) -> int:
    """Certify the claims, say which were certified, and return their number; only what check.py rebuilds is a certificate."""
    from airtight.validate.claims import audit
    from airtight.validate.claims.certificates import writing

    wanted = audit.selected(ids, source)
    found = []
    with progress("certifying", len(wanted)) as advance, pool_for_claims(len(wanted)) as (pool, _):
        for one in writing.certify(out, wanted, source, executor=pool):
            advance(f"certified {one.id}" if one.certified else f"skipped {one.id}")
            found.append(one)
    certified = sum(one.certified for one in found)
    if quiet:
        return certified
    for one in found:
        click.echo(f"{one.id}: {one.note}" if one.certified else f"{one.id}: skipped: {one.note}")
    next_step = f"; python {out / 'check.py'} rebuilds them" if certified else ""
    click.echo(f"{certified} certified, {len(found) - certified} skipped{next_step}")
    return certified


@main.command()
@_FILE
@click.option(
    "--checkpoints",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of checkpoints: an interrupted training goes on from there.",
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    type=click.Choice(["federated", "inference", "energy"]),
    help="Only this part of FILE; may be given several times.",
)
@click.option(
    "--data",
    "own",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="NPZ|CSV",
    help="Features and labels to learn from, instead of the digits: arrays X and y, or a column label beside the features.",
)
@DEVICES
@_JSON
@_QUIET
def train(
    file: Path, checkpoints: Path | None, parts: tuple[str, ...], own: Path | None, devices: Path | None, as_json: bool
) -> None:
    """Learn with the systems in FILE from handwritten digits, or from data of your own.

    Federated learning by every mechanism, collaborative inference by every scheme, and learning under energy policies.
    """
    from airtight.commands import fleet_csv as fleets
    from airtight.report import tables
    from airtight.results import training_run
    from airtight.validate.experiments.training.own_data import OwnData
    from airtight.validate.experiments.training.training_plan import plan as planned

    description, _, _ = fleets.load(file, devices, channel=True)
    there = training_run.described(description)
    wanted = [training_run.Part(part) for part in parts] or there
    missing = [part.value for part in wanted if part not in there] or ([] if there else ["federated"])
    if missing:
        raise SystemFileError(f"{file}: {missing[0]}: missing; training needs it")
    plan = description.training or planned({})
    source = None if own is None else OwnData.read(own)
    if checkpoints is not None:
        checkpoints.mkdir(parents=True, exist_ok=True)
    with progress("training", training_run.rounds(description, wanted, plan)) as advance:
        found = training_run.train(description, wanted, plan, checkpoints=checkpoints, advance=advance, source=source)
    if as_json:
        print_json(found.tree)
    else:
        tables.training(description.name, {**found.tree})


@main.command()
@click.option("--results", is_flag=True, help="The schema of what the commands print with --json.")
def schema(results: bool) -> None:
    """The JSON Schema of the system file, with which editors complete and check its keys."""
    if results:
        from airtight.report.results_schema import text
    else:
        from airtight.system_file.file_schema import text

    click.echo(text(), nl=False)


main.add_command(report)
main.add_command(card)
main.add_command(figures)
main.add_command(paper)
main.add_command(sweep)
main.add_command(meter)
main.add_command(attack)
main.add_command(calibrate)
main.add_command(design)
main.add_command(quantities)
