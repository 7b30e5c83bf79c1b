"""The commands that write pages: ``report``, ``card``, ``figures``, ``paper``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from airtight.analytics.extras import require
from airtight.commands.meter_command import read
from airtight.commands.options import EFFORT, FILE, LIMIT, QUIET, SEED
from airtight.running import audited, pool_of, progress, steps
from airtight.system_file.config import load
from airtight.validate.files import OutputFolder

if TYPE_CHECKING:
    from airtight.system_file.contents import SystemFile
    from airtight.validate.claims.evidence import Shipped
    from airtight.validate.experiments.figures.gallery import Rendered

_PAPERS = {
    "inference": "FDP",
    "federated": "CB",
    "energy": "UF",
}  # prefix of the figures that belong to each table of a system file


@click.command()
@FILE
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@SEED
@EFFORT
@LIMIT
@click.option(
    "--audit",
    "anew",
    is_flag=True,
    help="Try the claims of the papers that FILE speaks of anew; else the evidence of this version is shown.",
)
@click.option(
    "--thorough", is_flag=True, help="Train all rounds and seeds of [training]; else a few, and the page says so."
)
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A log of airtight meter: show what has been spent.",
)
@click.option("--gallery", is_flag=True, help="Redraw the papers' figures too.")
@QUIET
def report(
    file: Path,
    out: Path,
    seed: int,
    effort: int,
    limit: float,
    anew: bool,
    thorough: bool,
    log: Path | None,
    gallery: bool,
) -> None:
    """A page on one system: OUT/index.html, OUT/audit.html, OUT/report.json, OUT/figures. It is written as parts are done."""
    require("report")
    from airtight.report import assembly

    description = load(file, channel=True)
    meter = None if log is None else read(log)

    def audit() -> tuple[Shipped, str]:
        from airtight.validate.claims.evidence import Shipped, shipped
        from airtight.validate.claims.sources import OURS

        known = shipped(OURS)
        if not anew:
            return known, f"evidence shipped with the version: seed {known.seed}, {known.effort} evaluations a claim"
        spoken = [prefix for part, prefix in _PAPERS.items() if getattr(description, part) is not None]
        fresh = audited(spoken or (), seed, effort, limit, OURS)
        return Shipped(seed, effort, fresh), f"tried for this report: seed {seed}, {effort} evaluations a claim"

    with OutputFolder(out) as folder:
        folder.check(["index.html", "audit.html", "report.json"])
        assembly.report(
            out,
            description,
            source="" if str(file) == "-" else file.read_text(encoding="utf-8"),
            audit=audit,
            thorough=thorough,
            meter=meter,
            gallery=(lambda: _redrawn(description)) if gallery else None,
            heard=steps(),
        )
    click.echo(f"{out / 'index.html'}")


@click.command()
@FILE
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
def card(file: Path, out: Path) -> None:
    """A page to file on the privacy of FILE: OUT/card.html, card.json and card.tex."""
    require("report")
    from airtight.report.card import Card

    description = load(file, channel=True)
    content = None if str(file) == "-" else file.read_bytes()
    for path in Card.of(description, content).write(out):
        click.echo(str(path))


def _redrawn(description: SystemFile) -> list[Rendered]:
    """The figures of the papers that belong to the tables of the file, from shipped results, in the order of the gallery."""
    from airtight.validate.experiments.figures import gallery

    wanted = gallery.selected([f"{p}-" for part, p in _PAPERS.items() if getattr(description, part) is not None])
    with progress("drawing", len(wanted)) as advance, pool_of(len(wanted)) as (executor, _):
        found = {}
        for one in gallery.draw(wanted, None, executor):
            found[one.id] = one
            advance(one.id)
    return [found[name] for name in wanted]


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@click.option("--quick", is_flag=True, help="Learn anew, with five seeds and fewer rounds: minutes.")
@click.option("--anew", is_flag=True, help="Learn anew with full effort: half an hour. Else shipped results are drawn.")
@QUIET
def figures(ids: tuple[str, ...], out: Path, quick: bool, anew: bool) -> None:
    """Redraw the papers' figures: all, those named, or those that begin with a name (FDP, CB-2, UF)."""
    require("report")
    from airtight.validate.experiments.figures import gallery
    from airtight.validate.experiments.figures.figure import Effort

    wanted = gallery.selected(ids)
    effort = Effort.quick() if quick else Effort.full() if anew else None
    with OutputFolder(out), progress("drawing", len(wanted)) as advance, pool_of(len(wanted)) as (executor, _):
        for found in gallery.draw(wanted, effort, executor):
            gallery.write(out, found)
            advance(found.id)
            click.echo(f"{out / found.file}: {found.caption}")


@click.command()
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
def paper(name: str, out: Path) -> None:
    """The true statements of the paper NAME, or of a Python file, with proofs, and what they correct: LaTeX in OUT."""
    require("report")
    from airtight.report.paper import write
    from airtight.validate.claims.sources import INSTALLED, Source

    source = Source(name) if name.endswith(".py") else INSTALLED
    papers = source.papers()
    if source == INSTALLED and name not in papers:
        raise click.UsageError(f"{name}: unknown paper; there are {', '.join(papers)}, or a Python file")
    for one in papers if source != INSTALLED else [name]:
        for file in write(one, out, source=source):
            click.echo(f"{file}")
