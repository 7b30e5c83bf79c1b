"""The ``airtight`` command."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import click

from airtight.analytics import tidy
from airtight.analytics.checks import AirtightError, ConvergenceError, ParameterError
from airtight.analytics.extras import require
from airtight.commands import plain_text
from airtight.commands.attack_command import attack
from airtight.commands.coverage_command import coverage
from airtight.commands.curve_command import curve
from airtight.commands.design_command import calibrate, design
from airtight.commands.file_commands import explain, init
from airtight.commands.map_command import map_
from airtight.commands.meter_command import meter
from airtight.commands.options import (
    ALL,
    DEVICES,
    FEATURES,
    LEAVE_OUT,
    OUT,
    PLAN,
    PLOT,
    WRITES,
    as_given,
    as_typed,
    demand_plain,
    draw,
    print_json,
    save,
)
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
from airtight.results import result as results
from airtight.running import audited, pool_for_claims, progress
from airtight.solvers.errors import InfeasibleError, NotSettledError
from airtight.system_file.config import SystemFileError, load
from airtight.validate.packages import COMMANDS, SourceError, brought

if TYPE_CHECKING:
    from airtight.analytics.federated.fair.device import DeviceFleet
    from airtight.analytics.inference.link_budget import LinkBudget
    from airtight.results.bounds import Part
    from airtight.system_file.contents import SystemFile
    from airtight.validate.claims.sources import Source


_READER_GONE = 141  # 128 + SIGPIPE, as a shell counts a program that ends so
_REASONS = 5  # for which claims were skipped: the most frequent ones are printed
_UNCUT = 10_000  # characters of a line of help
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


class _WholeHelp(click.Group):
    """A group whose help shows its commands in groups of their own, with whole sentences."""

    sections: ClassVar[dict[str, tuple[str, ...]]] = {}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        left = self.list_commands(ctx)
        for title, names in {**self.sections, "Further commands" if self.sections else "Commands": tuple(left)}.items():
            shown = [name for name in names if name in left]
            left = [name for name in left if name not in shown]
            commands = {name: self.get_command(ctx, name) for name in shown}
            lines = [
                (name, command.get_short_help_str(_UNCUT)) for name, command in commands.items() if command is not None
            ]
            if lines:
                formatter.write_paragraph()
                formatter.write(f"{title}\n")
                with formatter.indentation():
                    formatter.write_dl(lines)


class _Group(_WholeHelp):
    """Turns every expected error into one line on stderr and exit code 2; knows the commands of installed packages."""

    sections: ClassVar[dict[str, tuple[str, ...]]] = {
        "Is my system private and useful?": ("bounds", "report", "attack", "card", "curve"),
        "What should my devices do?": ("calibrate", "design", "solve", "sweep", "meter", "train"),
        "Is a theorem true?": ("verify", "try", "map", "certify", "coverage", "paper", "figures", "quantities"),
        "Write a system file": ("init", "explain", "schema"),
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        try:
            return sorted({*super().list_commands(ctx), *self._of_packages()})
        except SourceError as error:  # --help lists the commands before anything is invoked
            raise click.UsageError(str(error)) from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or self._of_packages().get(cmd_name)

    def _of_packages(self) -> dict[str, click.Command]:
        """The commands of other installed packages, by the entry points ``airtight.commands``."""
        commands: dict[str, click.Command] = {}
        for each in brought(COMMANDS, click.Command):
            command = each.object
            if not command.name or command.name in self.commands or command.name in commands:
                raise SourceError(f"{each.place}: {command.name!r} must be the name of a new command")
            commands[command.name] = command
        return commands

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
            plain_text.tell(
                str(as_typed(error, self, ctx.meta[_WORDS]) if isinstance(error, ParameterError) else error)
            )
            ctx.exit(1 if isinstance(error, ConvergenceError) else 2)
        except click.UsageError as error:
            plain_text.tell(error.format_message())
            ctx.exit(2)
        except MemoryError as error:
            plain_text.tell(f"not enough memory: {error}")
            ctx.exit(2)
        except OSError as error:
            _give_up(error)


@click.group(cls=_Group, epilog="airtight COMMAND --help shows the options of a command.")
@click.version_option(package_name="airtight-dp")
def main() -> None:
    """Exact privacy and error of learning over wireless channels.

    Start with: airtight bounds examples/good.toml
    """


@main.command(short_help="Epsilon and error of each system in FILE, with a verdict.")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE...")
@DEVICES
@FEATURES
@click.option(
    "--link",
    is_flag=True,
    help="Print the link budget instead: path loss, received power, margin, probability, energy.",
)
@click.option(
    "--theorem1",
    is_flag=True,
    help="Print instead in which dimensions Theorem 1 is true, and the least constants with which it would be.",
)
@click.option("--rounds", metavar="T,T,T", help="Print epsilon after these numbers of rounds instead, such as 1,10,100.")
@click.option("--budget", "limit", type=float, metavar="EPSILON", help="With --rounds: say how many rounds keep this epsilon.")
@OUT
@PLOT
@ALL
@_JSON
def bounds(
    files: tuple[Path, ...],
    devices: Path | None,
    features: Path | None,
    link: bool,
    theorem1: bool,
    rounds: str | None,
    limit: float | None,
    out: Path | None,
    plot: Path | None,
    complete: bool,
    as_json: bool,
) -> None:
    """Say whether the systems in FILE are private and useful: exact, proven and published bounds.

    PRIVATE means an epsilon of at most 10 for every device, USEFUL an error below that of a constant answer.

    For several files the JSON is an object by file.
    """
    from airtight.analytics.inference.link_budget import link_budget
    from airtight.commands import fleet_csv as fleets
    from airtight.results.bounds import Bounds, each
    from airtight.results.inference_results import InferenceBounds

    def budget(description: SystemFile) -> LinkBudget:
        if description.inference is None:
            raise ParameterError("--link", description.name, "a file with [inference.channel]")
        return link_budget(description.inference)

    def warned(description: SystemFile) -> Iterator[tuple[str, Part]]:
        for name, part in each(description):
            if isinstance(part, InferenceBounds) and part.accuracy is not None and part.accuracy.constant_output > 0:
                _warn(
                    f"{name}: margin: larger than the norm of the target: the answer 0 counts as right; choose a smaller one"
                )
            yield name, part

    if (devices is not None or features is not None) and len(files) > 1:
        raise click.UsageError(f"{'--features' if devices is None else '--devices'}: with one FILE")
    uncertain = not (link or theorem1) and rounds is None
    descriptions = {
        str(file): fleets.load(file, devices, channel=True, uncertain=uncertain, features=features)[0] for file in files
    }
    if link and any(option is not None for option in (out, rounds, plot)):
        raise click.UsageError("--link: not together with --out, --plot or --rounds")
    if theorem1 and (link or any(option is not None for option in (out, rounds, plot))):
        raise click.UsageError("--theorem1: not together with --link, --out, --plot or --rounds")
    if (rounds is not None or plot is not None) and len(files) > 1:
        raise click.UsageError(f"{'--plot' if rounds is None else '--rounds'}: with one FILE")
    if rounds is not None:
        ((file, description),) = descriptions.items()
        _over_rounds(as_given(file, devices, features), description, rounds, limit, out, plot, as_json)
        return
    if limit is not None:
        raise click.UsageError("--budget: needs --rounds")
    if theorem1:
        _theorem1({as_given(Path(file), devices, features): held for file, held in descriptions.items()}, complete, as_json)
        return

    def write(by_file: dict[str, Any]) -> object:
        """The JSON of all files, written to the file of --out."""
        tree = by_file if len(files) > 1 else by_file[str(files[0])]
        if out is not None:
            save(out, tree, tidy.columns(part for one in by_file.values() for part in one.by_system()))
        draw(plot, lambda axes: by_file[str(files[0])].plot(axes))
        return tree

    if as_json:
        compute = budget if link else lambda description: Bounds.joined(warned(description))
        print_json(write({file: compute(description) for file, description in descriptions.items()}))
        return
    from airtight.report.screens import bounds_screen

    computed: dict[str, Bounds] = {}
    for number, (file, description) in enumerate(descriptions.items()):
        if number:
            click.echo()
        given = as_given(file, devices, features)
        if link:
            bounds_screen.link(given, description, budget(description), complete=complete)
            continue
        parts: dict[str, list[Part]] = {}
        try:
            with progress("bounds", len(description.systems) or None) as advance:
                for name, part in warned(description):
                    parts.setdefault(name, []).append(part)
                    advance(name)
        except KeyboardInterrupt:  # what is done is shown, and the exit status is that of an interruption
            if parts:
                bounds_screen.bounds(given, description, parts, complete=complete)
            raise
        bounds_screen.bounds(given, description, parts, complete=complete)
        computed[file] = Bounds.joined((name, part) for name, each in parts.items() for part in each)
    if computed:
        write(computed)


def _over_rounds(
    given: str,
    description: SystemFile,
    texts: str,
    budget: float | None,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Print epsilon after several numbers of rounds, of the system and its variants."""
    from airtight.report.screens import bounds_screen
    from airtight.results.inference_results import EpsilonOverRounds
    from airtight.validate import untrusted

    if not description.systems:
        raise SystemFileError(f"{description.name}: inference: missing; rounds are counted for it")
    try:
        counts = [untrusted.whole(text.strip()) for text in texts.split(",")]
    except ValueError:
        raise ParameterError("--rounds", texts, "whole numbers with commas between them, such as 1,10,100") from None
    with progress("rounds", len(description.systems)) as advance:
        by_system = {}
        for name, system in description.systems.items():
            by_system[name] = EpsilonOverRounds.of(system, counts, budget)
            advance(name)
    save(out, by_system, tidy.columns(by_system.items()))
    draw(plot, by_system[description.name].plot)
    if as_json:
        print_json(by_system)
    else:
        bounds_screen.over_rounds(given, by_system)


def _theorem1(descriptions: Mapping[str, SystemFile], complete: bool, as_json: bool) -> None:
    """Print where Theorem 1 is true for each system of some files."""
    from airtight.analytics.privacy.over_the_air.amplification import TheoremForm
    from airtight.analytics.privacy.over_the_air.theorem1_region import theorem1_region
    from airtight.report.screens import bounds_screen

    trees = {}
    for number, (given, description) in enumerate(descriptions.items()):
        if not description.systems:
            raise SystemFileError(f"{description.name}: inference: missing; Theorem 1 is about it")
        with progress("theorem 1", len(description.systems)) as advance:
            regions = {}
            for name, system in description.systems.items():
                regions[name] = {form.value: theorem1_region(system.replace(rounds=1), form=form) for form in TheoremForm}
                advance(name)
        trees[given] = regions
        if not as_json:
            if number:
                click.echo()
            bounds_screen.theorem1(given, description, regions, complete=complete)
    if as_json:
        print_json(trees if len(trees) > 1 else next(iter(trees.values())))


@main.group(cls=_WholeHelp, short_help="One design problem: weights, energy or a quantizer.")
def solve() -> None:
    """Solve one design problem: weights, energy or a quantizer."""


@solve.command(short_help="The weights with the least error under a cap on epsilon.")
@_FILE
@click.option(
    "--method", type=click.Choice(["published", "cvxpy", "structured"]), default="structured", show_default=True
)
@click.option(
    "--objective",
    type=click.Choice(["exact", "published"]),
    help="Which mean squared error to minimise; exact by default, published for --method published.",
)
@click.option(
    "--cap",
    type=click.Choice(["exact", "proven", "theorem1", "eq23", "none"]),
    default="exact",
    show_default=True,
    help="Bound of epsilon that the privacy cap is computed with.",
)
@click.option("--free", is_flag=True, help="Drop the constraint that the weights sum to one.")
@click.option("--variant", help="Solve for this variant of the system.")
@DEVICES
@FEATURES
@OUT
@ALL
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
    out: Path | None,
    complete: bool,
    as_json: bool,
) -> None:
    """Find the weights with the least mean squared error of the system in FILE under its privacy cap."""
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
    system = base if variant is None else description.variants[variant]
    solution = problem.solve(
        system,
        task.features,
        epsilon_cap=np.inf if task.epsilon_cap is None else task.epsilon_cap,
        cap=cap,
        objective=objective or ("published" if method == "published" else "exact"),
        method=method,
        sums_to_one=not free,
    )
    result = WeightResult.of(solution, task.features)
    name = variant or description.name
    save(out, result, result.table(name))
    if as_json:
        print_json(result)
    else:
        from airtight.report.screens import solve_screens

        limit = "Nothing bounds epsilon."
        if cap != "none" and task.epsilon_cap is not None:
            promise = ", which the published bound does not guarantee" if cap in ("theorem1", "eq23") else ""
            limit = f"Epsilon at most {task.epsilon_cap:g} for every device{promise}."
        given, labels = as_given(file, devices, features), description.labels_of(name)
        solve_screens.weights(given, name, result, system, limit, labels, complete=complete)


@solve.command(short_help="Iterations and power of greatest utility for each device.")
@_FILE
@click.option(
    "--method", type=click.Choice(["closed-form", "cvxpy", "published"]), default="closed-form", show_default=True
)
@click.option("--integer", is_flag=True, help="Take whole numbers of iterations, and the best transmission for them.")
@DEVICES
@PLAN
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help=f"{WRITES} With --export the folder that it writes to.",
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
    help="Relative loss of utility that the table of --export may have.",
)
@ALL
@_JSON
def energy(
    file: Path,
    method: str,
    integer: bool,
    devices: Path | None,
    plan: Path | None,
    out: Path | None,
    leave_out: bool,
    export: str | None,
    loss: float,
    complete: bool,
    as_json: bool,
) -> None:
    """Find the iterations and the transmit power of greatest utility for every device in FILE, or in a CSV file beside it."""
    from airtight.commands import fleet_csv as fleets
    from airtight.results.energy import EnergyResult
    from airtight.solvers import energy as energy_utility

    if out is not None and export is None:
        results.check(out)
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
    solution = energy_utility.solve(fleet, method=method, integer=integer)
    if plan is not None:
        fleets.write(plan, fleets.plan(solution, rows))
        if str(plan) == "-":
            return
    printed = solution if method == "published" else energy_utility.solve(fleet, method="published")
    result = EnergyResult.of(solution, printed, fleet)
    save(out, result, tidy.columns([(description.name, result)]))
    if as_json:
        print_json(result)
    else:
        from airtight.report.screens import solve_screens

        labels = [row.label for row in rows]
        solve_screens.energy(as_given(file, devices), description.name, method, result, labels, complete=complete)


def _export(fleet: DeviceFleet, out: Path | None, loss: float, as_json: bool) -> None:
    """Write the policies as C, and say what they lose."""
    from airtight.results.numerals import rounded_up
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
            f"device {k}: {one.gain.size} entries for gains {one.gain[0]:.4g} to {one.greatest:.4g}, loss at most "
            f"{rounded_up(one.loss, 2)}"
        )
    click.echo(f"cc -std=c99 -o test {out / c_policy.TEST} -lm && ./test")


@solve.command(short_help="The unbiased quantizer with the least worst error.")
@_FILE
@click.option(
    "--bits", type=click.IntRange(1, 6), default=2, show_default=True, help="Number of bits of one parameter's output."
)
@click.option(
    "--pairs", is_flag=True, help="Design for two clients that share randomness, so that their outputs cancel."
)
@click.option("--prove", is_flag=True, help="Prove a bound for alphabets of this size too (two bits; half a minute).")
@OUT
@_JSON
def quantizer(file: Path, bits: int, pairs: bool, prove: bool, out: Path | None, as_json: bool) -> None:
    """Find the unbiased quantizer of so many bits with the least worst error at the epsilon of FILE, and a bound for any."""
    from airtight.results import quantizer as quantizers

    if pairs and (prove or bits > 4):
        raise click.UsageError("--pairs: at most 4 bits, and not together with --prove")
    if prove and bits != 2:
        raise click.UsageError("--prove: with --bits 2")
    description = load(file, channel=True)
    system = description.federated
    if system is None:
        raise SystemFileError(f"{file}: federated: missing; the quantizer needs its epsilon and radius")
    result = quantizers.paired(bits, system) if pairs else quantizers.alone(bits, system, prove=prove)
    save(out, result, result.table(description.name))
    if as_json:
        print_json(result)
        return
    from airtight.report.screens import solve_screens

    if isinstance(result, quantizers.PairResult):
        solve_screens.pair(str(file), description.name, result)
    else:
        solve_screens.quantizer(str(file), description.name, result)


@main.command(short_help="Try published theorems: true, or a counterexample.")
@_IDS
@_SEED
@_EFFORT
@_LIMIT
@click.option("--list", "listed", is_flag=True, help="Print every claim with its counterexample.")
@click.option("--refuted", is_flag=True, help="Print every refuted claim with its counterexample.")
@click.option(
    "--all", "complete", is_flag=True, help="Print every numbered item: definitions and what cannot be decided too."
)
@OUT
@_JSON
@_QUIET
def verify(
    ids: tuple[str, ...],
    seed: int,
    effort: int,
    limit: float,
    listed: bool,
    refuted: bool,
    complete: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Try published theorems: all claims, those named, or those that begin with a name (FDP, CB, UF-E).

    Exit code 1 where a verdict differs from ours.
    """
    from airtight.validate.claims.evidence import item_as_json
    from airtight.validate.claims.sources import INSTALLED

    if complete and ids:
        raise click.UsageError("--all: not together with an ID")
    evidence = audited(ids, seed, effort, limit)
    others = list(INSTALLED.items().values()) if complete else []
    tree = [e.as_json() for e in evidence] + [item_as_json(item) for item in others]
    save(out, tree, tidy.columns((e.claim.id, e) for e in evidence))
    if as_json:
        print_json(tree)
    else:
        from airtight.report import verdicts
        from airtight.validate.claims.certificates.writing import writable

        # and not by boxes, of which there is a certificate
        in_coq = [e for e in evidence if e.in_coq and (e.boxes is None or e.claim.derivation is not None)]
        computed = [e for e in evidence if e.witness is not None and not writable(e.claim, e.witness)]
        if ids and len(in_coq) + len(computed) == len(evidence):
            why = "; no certificate, as Python code is needed" if computed else ", and the name of the theorem in Coq"
            steps = [(f"airtight verify {' '.join(ids)} --json", f"all digits{why}")]
        else:
            named = "".join(f"{name} " for name in ids)
            steps = [(f"airtight certify {named}--out certificates", "proofs as files, with a checker in plain Python")]
        if not ids and not listed:
            steps.insert(0, ("airtight verify --refuted", "each refuted claim; --list for all, or name one"))
        verdicts.verdicts(evidence, listed=listed or complete or bool(ids), refuted_only=refuted, steps=steps)
        if others:
            verdicts.items(others)
        verdicts.packages(dict.fromkeys(e.claim.paper for e in evidence))
    if not all(e.as_expected for e in evidence):
        sys.exit(1)


@main.command("try", short_help="Try claims of your own, written in Python.")
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
    """Try the claims of a Python FILE: a Paper, or Claims at its top level.

    Exit code 1 where a verdict differs from the one that FILE expects.
    """
    if out is not None:
        require("report")
    from airtight.validate.claims.sources import Source

    evidence = audited(ids, seed, effort, limit, Source(str(file)))
    if out is not None:
        from airtight.report import page

        page.tried(out, file.stem, evidence, seed=seed, effort=effort)
    if not as_json:
        from airtight.console import say, screen
        from airtight.report import verdicts

        steps = [] if out is not None else [(f"airtight try {file} --out trial", "a page and certificates")]
        verdicts.verdicts(evidence, steps=steps)
        if out is not None:
            screen().print()
            say(screen(), f"Written: {out / 'index.html'}, {out / 'evidence.json'}.")
    if out is not None:
        _certified(ids, out / "certificates", Source(str(file)), quiet=as_json)
    if as_json:
        print_json([e.as_json() for e in evidence])
    broken = [e for e in evidence if e.error]
    for e in broken:
        click.echo(f"airtight: {file}: {e.claim.id}: {e.fault}", err=True)
    if broken:
        sys.exit(2)
    if not all(e.as_expected for e in evidence):
        sys.exit(1)


@main.command(short_help="Write proofs and counterexamples for a checker in plain Python.")
@_IDS
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@click.option(
    "--coq", is_flag=True, help="Write OUT/ID/theorem.v too, for coqc with coq-interval, where it has the functions."
)
@click.option(
    "--all", "complete", is_flag=True, help="Print a line for each claim: its certificate, or why it has none."
)
@_QUIET
def certify(ids: tuple[str, ...], out: Path, coq: bool, complete: bool) -> None:
    """Write certificates and a checker that needs only Python: a folder OUT/ID for each, and OUT/check.py.

    Exit code 1 where no claim can be certified.
    """
    from airtight.validate.claims.sources import INSTALLED

    if not _certified(ids, out, INSTALLED, quiet=False, listed=complete or bool(ids)):
        sys.exit(1)
    if coq:
        from airtight.validate.claims.certificates.coq import write

        done, left = write(out)
        for name, reason in left.items():
            click.echo(f"{name}: no theorem.v: {reason}")
        click.echo(f"{len(done)} theorems for coqc")


def _certified(ids: Sequence[str], out: Path, source: Source, *, quiet: bool, listed: bool = False) -> int:
    """Certify the claims, say which were certified, and return their number; only what check.py rebuilds is a certificate."""
    from collections import Counter

    from airtight.validate.claims import audit
    from airtight.validate.claims.certificates import writing
    from airtight.validate.claims.sources import INSTALLED

    wanted = audit.selected(ids, source)
    certificates = []
    with progress("certifying", len(wanted)) as advance, pool_for_claims(len(wanted)) as (pool, _):
        for certificate in writing.certify(out, wanted, source, executor=pool):
            advance(f"certified {certificate.id}" if certificate.certified else f"skipped {certificate.id}")
            certificates.append(certificate)
    certified = sum(certificate.certified for certificate in certificates)
    if quiet:
        return certified
    from airtight.console import next_step, say, screen

    console = screen()
    count, skipped_count = len(certificates), len(certificates) - certified
    verdicts = f"{certified} of {count} verdict{'' if count == 1 else 's'} {'is' if certified == 1 else 'are'} certified in {out}"
    if not certified:
        verdicts = f"No certificate for {'this verdict' if count == 1 else f'these {count} verdicts'}; nothing is written"
    say(console, f"{verdicts}; {skipped_count} skipped." if certified and skipped_count else f"{verdicts}.", style="bold")
    if listed:
        for one in certificates:
            say(console, f"{one.id}: {one.note}" if one.certified else f"{one.id}: skipped: {one.note}", indent=2)
    else:
        skipped = Counter(one.note for one in certificates if not one.certified)
        for note, count in skipped.most_common(_REASONS):
            say(console, f"{count} skipped: {note}", indent=2)
    steps = [(f"python {out / 'check.py'}", "rebuilds them with nothing installed")] if certified else []
    if not listed and source == INSTALLED:
        steps.append((f"airtight certify --out {out} --all", "a line for each claim"))
    if steps:
        next_step(console, *steps)
    return certified


@main.command(short_help="Train on digits, or on your own data.")
@_FILE
@click.option(
    "--checkpoints",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of checkpoints, from which an interrupted training goes on.",
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    type=click.Choice(["federated", "inference", "energy"]),
    help="Train this part of FILE only; may be given several times.",
)
@click.option(
    "--data",
    "own",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="NPZ|CSV",
    help="Features and labels to learn from, instead of the digits: arrays X and y, or a column label beside the features.",
)
@DEVICES
@OUT
@_JSON
@_QUIET
def train(
    file: Path,
    checkpoints: Path | None,
    parts: tuple[str, ...],
    own: Path | None,
    devices: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Train the systems in FILE on handwritten digits, or on your own data.

    Federated learning by every mechanism, collaborative inference by every scheme, and learning under energy policies.
    """
    from airtight.commands import fleet_csv as fleets
    from airtight.report.screens import training_screens
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
        result = training_run.train(description, wanted, plan, checkpoints=checkpoints, advance=advance, source=source)
    save(out, result.tree, result.table(description.name))
    if as_json:
        print_json(result.tree)
    else:
        training_screens.training(str(file), description.name, {**result.tree})


@main.command(short_help="The keys of a system file, as JSON Schema for editors.")
@click.option("--results", is_flag=True, help="Print the schema of what the commands print with --json.")
def schema(results: bool) -> None:
    """Print the JSON Schema of the system file, with which editors complete and check its keys."""
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
main.add_command(map_)
main.add_command(meter)
main.add_command(attack)
main.add_command(curve)
main.add_command(calibrate)
main.add_command(design)
main.add_command(coverage)
main.add_command(quantities)
main.add_command(init)
main.add_command(explain)
