"""The ``airtight`` command."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analytics import checks
from analytics.checks import AirtightError, ConvergenceError, ParameterError
from solvers.solution import InfeasibleError
from validate.claims import EFFORT
from validate.config import SystemFileError, load
from validate.running import pool_of, progress

if TYPE_CHECKING:
    from validate.claims.evidence import Evidence
    from validate.claims.sources import Source
    from validate.description import Description
    from validate.experiments.figures.gallery import Rendered

_EXTRAS = {
    "verify": ("flint", "mpmath", "sympy"),
    "design": ("clarabel", "cvxpy"),
    "train": ("mlxtend", "networkx", "sklearn"),
    "report": ("jinja2", "latex2mathml", "matplotlib", "xarray"),
}
_ALONE = 4  # so few claims are tried sooner than another process starts
_FILE = click.argument("file", type=click.Path(path_type=Path))
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")


def _warn(message: Warning | str, *_: Any) -> None:
    click.echo(f"airtight: warning: {message}", err=True)


class _Group(click.Group):
    """Turns every foreseen error into one line on stderr and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _warn  # type: ignore[assignment]
            return self._invoke(ctx)

    def _invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("airtight: interrupted", err=True)
            ctx.exit(130)
        except InfeasibleError as error:
            click.echo(f"airtight: infeasible: {error}", err=True)
            ctx.exit(3)
        except AirtightError as error:
            click.echo(f"airtight: {error}", err=True)
            ctx.exit(1 if isinstance(error, ConvergenceError) else 2)
        except ModuleNotFoundError as error:
            extra = next((name for name, modules in _EXTRAS.items() if error.name in modules), None)
            if extra is None:
                raise
            click.echo(f"airtight: needs {error.name}: pip install 'airtight-dp[{extra}]'", err=True)
            ctx.exit(2)
        except click.UsageError as error:
            click.echo(f"airtight: {error.format_message()}", err=True)
            ctx.exit(2)
        except OSError as error:
            click.echo(f"airtight: {error.filename}: {error.strerror}", err=True)
            ctx.exit(2)


@click.group(cls=_Group)
@click.version_option(package_name="airtight-dp")
def main() -> None:
    """Bounds, exact values and machine-checked theorems for private wireless learning."""


@main.command()
@_FILE
@_JSON
def bounds(file: Path, as_json: bool) -> None:
    """Every bound of the systems in FILE: published, proven, exact."""
    from validate.results.bounds import Bounds

    description = load(file)
    found = Bounds.of(description)
    for name, part in found.inference.named(description.name).items() if found.inference is not None else ():
        if part.accuracy is not None and part.accuracy.constant_output > 0:
            _warn(f"{name}: margin: exceeds the norm of the target, so that an output that ignores y is within it too")
    if as_json:
        _print_json(found)
    else:
        from validate.report import tables

        tables.bounds(description.name, found)


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
@_JSON
def weights(
    file: Path, method: str, objective: str | None, cap: str, free: bool, variant: str | None, as_json: bool
) -> None:
    """The weights that minimise the MSE of the system in FILE under its privacy cap."""
    import numpy as np

    from solvers import weights as problem
    from validate.results.weights import WeightResult

    description = load(file)
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
        _print_json(found)
    else:
        from validate.report import tables

        tables.weights(variant or description.name, found)


@solve.command()
@_FILE
@click.option(
    "--method", type=click.Choice(["closed-form", "cvxpy", "published"]), default="closed-form", show_default=True
)
@click.option("--integer", is_flag=True, help="Whole iterations, the transmission re-optimised for them.")
@_JSON
def energy(file: Path, method: str, integer: bool, as_json: bool) -> None:
    """The iterations and the transmit power of greatest utility for every device in FILE."""
    from solvers import energy as energy_utility
    from validate.results.energy import EnergyResult

    description = load(file)
    if description.energy is None:
        raise SystemFileError(f"{file}: energy: missing; the energy-utility problem needs it")
    solution = energy_utility.solve(description.energy, method=method, integer=integer)
    printed = solution if method == "published" else energy_utility.solve(description.energy, method="published")
    found = EnergyResult.of(solution, printed)
    if as_json:
        _print_json(found)
    else:
        from validate.report import tables

        tables.energy(description.name, method, found)


_IDS = click.argument("ids", nargs=-1, metavar="[ID]...")
_SEED = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
_EFFORT = click.option(
    "--effort", type=click.IntRange(min=1), default=EFFORT, show_default=True, help="Evaluations of each claim."
)


def _limit(ctx: click.Context, option: click.Parameter, seconds: float | None) -> float:
    return math.inf if seconds is None else checks.scalar("--limit", seconds, "(0, inf]")


_LIMIT = click.option(
    "--limit", type=float, callback=_limit, help="Seconds after which what is left stays unsettled; none by default."
)


@main.command()
@_IDS
@_SEED
@_EFFORT
@_LIMIT
@click.option(
    "--all", "complete", is_flag=True, help="Definitions and what cannot be decided too: every numbered item."
)
@_JSON
def verify(ids: tuple[str, ...], seed: int, effort: int, limit: float, complete: bool, as_json: bool) -> None:
    """Try the published theorems: all claims, those named, or those that begin with a name (FDP, CB, UF-E)."""
    from validate.claims.evidence import item_as_json
    from validate.claims.sources import INSTALLED

    if complete and ids:
        raise click.UsageError("--all: not together with an ID")
    evidence = audited(ids, seed, effort, limit)
    others = list(INSTALLED.items().values()) if complete else []
    if as_json:
        _print_json([e.as_json() for e in evidence] + [item_as_json(item) for item in others])
    else:
        from validate.report import verdicts

        verdicts.verdicts(evidence)
        if others:
            verdicts.items(others)
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
def try_(
    file: Path, ids: tuple[str, ...], seed: int, effort: int, limit: float, out: Path | None, as_json: bool
) -> None:
    """Put the claims of a Python FILE on trial: a Paper, or Claims at its top level."""
    from validate.claims.sources import Source

    evidence = audited(ids, seed, effort, limit, Source(str(file)))
    if out is not None:
        from validate.report import page

        page.tried(out, file.stem, evidence, seed=seed, effort=effort)
        _certified(ids, out / "certificates", Source(str(file)), quiet=as_json)
    if as_json:
        _print_json([e.as_json() for e in evidence])
    else:
        from validate.report import verdicts

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
def certify(ids: tuple[str, ...], out: Path) -> None:
    """Write what a stranger needs to check the verdicts: OUT/ID/*.json and OUT/check.py, plain Python without packages."""
    from validate.claims.sources import INSTALLED

    _certified(ids, out, INSTALLED, quiet=False)


def _certified(ids: Sequence[str], out: Path, source: Source, *, quiet: bool) -> None:
    """Certify, and say what was and what was not; what check.py does not rebuild is none."""
    from validate.claims import audit, certificates

    wanted = audit.selected(ids, source)
    found = []
    with progress("certifying", len(wanted)) as advance:
        for one in certificates.certify(out, wanted, source):
            advance(f"certified {one.id}" if one.certified else f"skipped {one.id}")
            found.append(one)
    checked = certificates.check(out)
    if checked.returncode:
        raise ConvergenceError(
            f"{out / 'check.py'} does not rebuild its certificates:\n{checked.stdout}{checked.stderr}"
        )
    if quiet:
        return
    for one in found:
        click.echo(f"{one.id}: {one.note}" if one.certified else f"{one.id}: skipped: {one.note}")
    certified = sum(one.certified for one in found)
    click.echo(f"{certified} certified, {len(found) - certified} skipped; python {out / 'check.py'} rebuilds them")


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
@_JSON
def train(file: Path, checkpoints: Path | None, parts: tuple[str, ...], as_json: bool) -> None:
    """Learn from handwritten digits with the systems in FILE.

    Federated learning by every mechanism, collaborative inference by every scheme, and learning under energy policies.
    """
    from validate.experiments.training import command
    from validate.plan import plan as planned
    from validate.report import tables

    description = load(file)
    there = command.described(description)
    wanted = [command.Part(part) for part in parts] or there
    missing = [part.value for part in wanted if part not in there] or ([] if there else ["federated"])
    if missing:
        raise SystemFileError(f"{file}: {missing[0]}: missing; training needs it")
    plan = description.training or planned({})
    if checkpoints is not None:
        checkpoints.mkdir(parents=True, exist_ok=True)
    with progress("training", command.rounds(description, wanted, plan)) as advance:
        found = command.train(description, wanted, plan, checkpoints=checkpoints, advance=advance)
    if as_json:
        _print_json(found.tree)
    else:
        tables.training(description.name, found.tree)


@main.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@click.option("--quick", is_flag=True, help="Fewer seeds and rounds.")
def figures(ids: tuple[str, ...], out: Path, quick: bool) -> None:
    """Redraw the papers' figures: all, those named, or those that begin with a name (FDP, CB-2, UF)."""
    from validate.experiments.figures import gallery
    from validate.experiments.figures.figure import Effort

    wanted = gallery.selected(ids)
    with progress("drawing", len(wanted)) as advance, pool_of(len(wanted)) as (executor, _):
        for found in gallery.draw(wanted, Effort.quick() if quick else Effort.full(), executor):
            gallery.write(out, found)
            advance(found.id)
            click.echo(f"{out / found.id}.svg: {found.caption}")


@main.command()
@_FILE
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@_SEED
@_EFFORT
@_LIMIT
@click.option("--audit", "anew", is_flag=True, help="Try all claims anew; else the evidence of this version is shown.")
@click.option("--gallery", is_flag=True, help="Redraw the papers' figures too (quickly, which takes minutes).")
def report(file: Path, out: Path, seed: int, effort: int, limit: float, anew: bool, gallery: bool) -> None:
    """Bounds, plots and the verdicts on the theorems for one system: OUT/index.html, OUT/report.json, OUT/figures."""
    from validate.report import page  # isort: skip
    from validate.claims.shipped import Shipped, shipped
    from validate.results.bounds import Bounds

    description = load(file)
    out.mkdir(parents=True, exist_ok=True)
    found = Bounds.of(description)
    audit = Shipped(seed, effort, audited((), seed, effort, limit)) if anew else shipped()
    drawn = _redrawn(description) if gallery else []
    page.write(
        out, description, found, audit.evidence, drawn, audit=f"seed {audit.seed}, {audit.effort} evaluations a claim"
    )
    click.echo(f"{out / 'index.html'}")


def _redrawn(description: Description) -> list[Rendered]:
    """The figures of the papers that speak of what is described, with little effort, in the order of the gallery."""
    from validate.experiments.figures import gallery
    from validate.experiments.figures.figure import Effort

    papers = {"inference": "FDP-", "federated": "CB-", "energy": "UF-"}
    wanted = gallery.selected([prefix for part, prefix in papers.items() if getattr(description, part) is not None])
    with progress("drawing", len(wanted)) as advance, pool_of(len(wanted)) as (executor, _):
        found = {}
        for one in gallery.draw(wanted, Effort.quick(), executor):
            found[one.id] = one
            advance(one.id)
    return [found[name] for name in wanted]


def audited(
    ids: Sequence[str], seed: int, effort: int, limit: float = math.inf, source: Source | None = None
) -> list[Evidence]:
    """The evidence in the order of the papers, with a progress bar on stderr when that is a terminal."""
    from validate.claims import audit
    from validate.claims.sources import INSTALLED

    source = INSTALLED if source is None else source
    wanted = audit.selected(ids, source)
    order = {claim.id: i for i, claim in enumerate(wanted)}
    found = []
    with progress("trying", len(wanted)) as advance, pool_of(len(wanted) if len(wanted) > _ALONE else 1) as (pool, _):
        for one in audit.run(ids, seed=seed, effort=effort, limit=limit, source=source, executor=pool):
            advance(f"tried {one.claim.id}")
            found.append(one)
    return sorted(found, key=lambda e: order[e.claim.id])


def _print_json(result: Any) -> None:
    from validate.results.tree import as_json

    click.echo(json.dumps(as_json(result), indent=2, allow_nan=False))
