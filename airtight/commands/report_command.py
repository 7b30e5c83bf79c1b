"""The commands that write pages: ``report``, ``card``, ``figures``, ``paper``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airtight.analytics.checks import AirtightError
from airtight.analytics.extras import require
from airtight.commands.meter_command import read
from airtight.commands.options import DEVICES, EFFORT, FEATURES, FILE, LIMIT, QUIET, SEED, as_given
from airtight.running import audited, heard, pool_of, progress, steps
from airtight.system_file import config
from airtight.validate.files import OutputFolder

if TYPE_CHECKING:
    from airtight.system_file.contents import SystemFile
    from airtight.validate.claims.evidence import Shipped
    from airtight.validate.experiments.figures.gallery import Rendered

_LOOK_AGAIN = 1000  # ms after which files are looked at even where the system has told nothing
_PAPERS = {
    "inference": "FDP",
    "federated": "CB",
    "energy": "UF",
}  # prefix of the figures that belong to each table of a system file


@click.command(short_help="The same as a page with sliders and figures.")
@FILE
@DEVICES
@FEATURES
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@SEED
@EFFORT
@LIMIT
@click.option(
    "--audit",
    "anew",
    is_flag=True,
    help="Try the claims of the papers again (default: show the evidence shipped with this version).",
)
@click.option(
    "--thorough", is_flag=True, help="Train all rounds and seeds of [training] (default: a few, and the page says so)."
)
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Show what has been spent by the rounds in this log of airtight meter.",
)
@click.option("--gallery", is_flag=True, help="Redraw the figures of the papers too.")
@click.option("--watch", "watching", is_flag=True, help="Write the page again whenever FILE or a file that it names is saved.")
@QUIET
def report(
    file: Path,
    devices: Path | None,
    features: Path | None,
    out: Path,
    seed: int,
    effort: int,
    limit: float,
    anew: bool,
    thorough: bool,
    log: Path | None,
    gallery: bool,
    watching: bool,
) -> None:
    """Write a page on one system: OUT/index.html, OUT/audit.html, OUT/report.json, OUT/figures, part by part."""
    require("report")
    from airtight.commands import fleet_csv as fleets
    from airtight.console import next_step, say, screen
    from airtight.report import assembly

    def write() -> None:
        description = fleets.load(file, devices, channel=True, features=features)[0]
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
            report_written = assembly.report(
                out,
                description,
                source=_written(file, devices, features).decode().replace("\r\n", "\n"),
                audit=audit,
                thorough=thorough,
                meter=meter,
                gallery=(lambda: _redrawn(description)) if gallery else None,
                heard=steps(),
            )
        console = screen()
        for sentence in report_written.headline or [f"{description.name}: no [inference] system."]:
            say(console, sentence)
        say(console, f"Written: {out / 'index.html'}, {out / 'audit.html'}, {out / 'report.json'}.")
        next_step(console, (f"python -m webbrowser {out / 'index.html'}", "sliders, figures, tables"))

    if watching:
        _watched(write, file, {path for path in (devices, features, log) if path is not None})
    else:
        write()


def _watched(write: Callable[[], None], file: Path, inputs: set[Path]) -> None:
    """Write now and after every save; what is wrong with a later file is said, and the next save is waited for."""
    require("watch")
    if str(file) == "-":
        raise click.UsageError("--watch: needs a FILE that can be saved, not standard input")
    _named(file)  # a file that cannot be read now is an error
    for _ in _saves(file, inputs):
        try:
            write()
        except AirtightError as error:
            click.echo(f"airtight: {error}", err=True)
        click.echo(f"airtight: waiting until {file} is saved (Ctrl-C ends)", err=True)


def _named(file: Path) -> set[Path]:
    """The system file and the files that it names."""
    names = config.named_files(config.read(file)).values()
    return {file.resolve(), *((file.parent / name).resolve() for name in names)}


def _saves(file: Path, inputs: set[Path]) -> Iterator[None]:
    """Once at the start, and whenever the file, one that it names or an input has changed since, be it during the work."""
    import watchfiles

    while True:
        try:
            files = _named(file)
        except AirtightError:  # no TOML now; it is read again when it is saved
            files = {file.resolve()}
        files |= {path.resolve() for path in inputs}
        before = _stamps(files)
        yield
        folders = {path.parent for path in files}
        for _ in watchfiles.watch(*folders, yield_on_timeout=True, rust_timeout=_LOOK_AGAIN):
            if _stamps(files) != before:
                break


def _stamps(files: set[Path]) -> dict[Path, tuple[int, int] | None]:
    """Time and size of each file; None for one that an editor is just replacing."""
    stats = {path: path.stat() if path.exists() else None for path in files}
    return {path: stat and (stat.st_mtime_ns, stat.st_size) for path, stat in stats.items()}


@click.command(short_help="One page in plain words, to file.")
@FILE
@DEVICES
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@QUIET
def card(file: Path, devices: Path | None, out: Path) -> None:
    """Write one page in plain words on the privacy of FILE: OUT/card.html, card.json and card.tex."""
    require("report")
    from airtight.commands import fleet_csv as fleets
    from airtight.console import headline, next_step, say, screen
    from airtight.report.card import Card

    description = fleets.load(file, devices, channel=True)[0]
    with progress("card", len(description.systems) or None) as advance:
        made = Card.of(description, _written(file, devices) or None, done=advance, progress=heard())
    written = made.write(out)
    console = screen()
    for one in made.systems:
        headline(console, one.name, one.headline)
    say(console, f"Written: {', '.join(map(str, written))}.")
    next_step(console, (f"airtight report {as_given(file, devices)} --out report", "error and usefulness too"))


def _written(file: Path, *replaced: Path | None) -> bytes:
    """The system file and the tables that replace parts of it, one after the other; nothing where one came by standard input."""
    tables = [table for table in replaced if table is not None]
    if "-" in map(str, (file, *tables)):
        return b""
    return file.read_bytes() + b"".join(f"\n# {table}\n".encode() + table.read_bytes() for table in tables)


def _redrawn(description: SystemFile) -> list[Rendered]:
    """The figures of the papers that belong to the tables of the file, from shipped results, in the order of the gallery."""
    from airtight.validate.experiments.figures import gallery

    wanted = gallery.selected([f"{p}-" for part, p in _PAPERS.items() if getattr(description, part) is not None])
    with progress("drawing", len(wanted)) as advance, pool_of(len(wanted)) as (executor, _):
        by_id = {}
        for one in gallery.draw(wanted, None, executor):
            by_id[one.id] = one
            advance(one.id)
    return [by_id[name] for name in wanted]


@click.command(short_help="Redraw the figures of the papers.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@click.option("--quick", is_flag=True, help="Train again with five seeds and fewer rounds (minutes).")
@click.option("--anew", is_flag=True, help="Train again with full effort (half an hour; default: draw shipped results).")
@QUIET
def figures(ids: tuple[str, ...], out: Path, quick: bool, anew: bool) -> None:
    """Redraw the papers' figures: all, those named, or those that begin with a name (FDP, CB-2, UF).

    OUT/index.html has each with what the paper prints and what we find, OUT/ID.csv what is drawn.
    """
    require("report")
    from airtight.console import next_step, say, screen
    from airtight.report import page
    from airtight.validate.experiments.figures import gallery
    from airtight.validate.experiments.figures.figure import Effort
    from airtight.validate.experiments.figures.gallery import Rendered

    wanted = gallery.selected(ids)
    console, drawn = screen(), list[Rendered]()
    effort = Effort.quick() if quick else Effort.full() if anew else None
    with OutputFolder(out) as folder, progress("drawing", len(wanted)) as advance, pool_of(len(wanted)) as (executor, _):
        folder.check(["index.html"])
        for figure in gallery.draw(wanted, effort, executor):
            gallery.write(out, figure)
            advance(figure.id)
            drawn.append(figure)
        drawn.sort(key=lambda figure: wanted.index(figure.id))
        folder.write({"index.html": page.figure_index(drawn)})
    say(console, f"{len(drawn)} figures drawn in {out}; each caption says whether it confirms the paper.", style="bold")
    for figure in drawn:
        say(console, f"{figure.file}: {figure.caption}", indent=2)
    next_step(
        console,
        (f"python -m webbrowser {out / 'index.html'}", "each beside what the paper prints"),
        ("airtight verify --refuted", "the statements that are false"),
    )


@click.command(short_help="Write the corrected theorems of a paper, with proofs, as LaTeX.")
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
def paper(name: str, out: Path) -> None:
    """Write the true statements of the paper NAME, or of a Python file, with proofs and what they correct: LaTeX in OUT."""
    require("report")
    from airtight.console import next_step, say, screen
    from airtight.report.paper import write
    from airtight.validate.claims.sources import INSTALLED, Source

    source = Source(name) if name.endswith(".py") else INSTALLED
    papers = source.papers()
    if source == INSTALLED and name not in papers:
        raise click.UsageError(f"{name}: unknown paper; there are {', '.join(papers)}, or a Python file")
    written = [file for one in (papers if source != INSTALLED else [name]) for file in write(one, out, source=source)]
    console = screen()
    holds = {".tex": "statements with proofs", ".bib": "references"}
    say(console, f"Written: {', '.join(f'{file} ({holds[file.suffix]})' for file in written)}.")
    next_step(console, *((f"latexmk -pdf -cd {file}", "a PDF") for file in written if file.suffix == ".tex"))
