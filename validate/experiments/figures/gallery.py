"""All figures by identifier, and their files: an SVG (HTML for a table), and a JSON of caption and data."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from airtight.validate import packages, program
from airtight.validate.claims import sources
from airtight.validate.experiments.figures import (
    collaborative,
    corbin,
    few_bits_figures,
    figure,
    inference_figures,
    style,
    utility_figures,
)
from airtight.validate.experiments.figures.figure import Advance, Effort, Redrawn, Study, Table
from airtight.validate.files import OutputFolder


def _of_packages(
    ours: Mapping[str, Callable[[Effort, Advance], Redrawn]],
) -> dict[str, Callable[[Effort, Advance], Redrawn]]:
    """The figures of other installed packages: mappings like ``FIGURES``, by the entry points ``airtight.figures``."""
    figures: dict[str, Callable[[Effort, Advance], Redrawn]] = {}
    for each in packages.brought(packages.FIGURES, Mapping):  # type: ignore[type-abstract]
        for name, draw in each.object.items():
            if name in ours or name in figures or not callable(draw):
                raise packages.SourceError(f"{each.place}: {name!r} must be a new identifier of a function")
            figures[name] = draw
    return figures


_OURS: dict[str, Callable[[Effort, Advance], Redrawn]] = {
    **collaborative.FIGURES,
    **inference_figures.FIGURES,
    **corbin.FIGURES,
    **utility_figures.FIGURES,
    **few_bits_figures.FIGURES,
}
FIGURES: dict[str, Callable[[Effort, Advance], Redrawn]] = {**_OURS, **_of_packages(_OURS)}
_LONG = (
    "CB-3c",
    "CB-2a",
    "CB-2b",
    "CB-2c",
    "CB-1",
    "CB-3a",
    "CB-3b",
)  # the longest ones, which an executor starts first


def selected(ids: Sequence[str]) -> list[str]:
    """The figures whose identifiers are, or begin with, one of these; all by default.

    Examples
    --------
    >>> selected(["CB-2", "UF-1"])
    ['CB-2a', 'CB-2b', 'CB-2c', 'UF-1']
    """
    return sources.select(ids, list(FIGURES))


@dataclass(frozen=True)
class Rendered:
    """A redrawn figure as text, which is passed between processes and written to disk."""

    id: str
    caption: str
    markup: str  # SVG, or the HTML of a table
    data: str
    points: str = ""  # what is drawn, or the table, as CSV
    about: str = ""  # whether it is exact or an analogue, and of what: the caption without the finding
    statement: str = ""  # what the paper says of it
    compared: tuple[tuple[str, str, str, str], ...] = ()  # number, what the paper prints, ours, outcome

    @property
    def file(self) -> str:
        """The file name of the markup."""
        return f"{self.id}.svg" if self.markup.startswith("<svg") else f"{self.id}.html"


def redrawn(name: str, effort: Effort | None = None) -> Redrawn:
    """Draw one figure: computed with this effort, or from the shipped data if it is None.

    A figure of another package is drawn in our style and colours.

    Examples
    --------
    >>> redrawn("FDP-6").caption[:30]
    'Exact formulas of FDP Fig. 6 ('
    """
    study = FIGURES[name]
    if effort is None and isinstance(study, Study):
        return study.shipped()
    with style.applied() if name not in _OURS else nullcontext():
        return study(effort or Effort.full(), lambda done: None)


def rendered(name: str, effort: Effort | None) -> Rendered:
    """Draw one figure, as text."""
    drawn = redrawn(name, effort)
    tree = {"id": drawn.id, "caption": drawn.caption, "data": drawn.data.to_dict()}
    if isinstance(drawn.figure, Table):
        markup, points = str(drawn.figure.html(drawn.id)), drawn.figure.csv()
    else:
        markup, points = style.svg(drawn.figure, drawn.id, drawn.caption), style.data(drawn.figure)
    said = drawn.finding
    compared: tuple[tuple[str, str, str, str], ...] = ()
    if said is not None:
        compared = tuple(
            (one.name, one.printed, one.measured(said.level) or "no interval", one.outcome(said.level).value)
            for one in said.comparisons
        )
    return Rendered(
        drawn.id,
        drawn.caption,
        markup,
        json.dumps(figure.plain(tree)),
        points,
        drawn.caption if said is None else drawn.caption.removesuffix(said.text()).strip(),
        "" if said is None else said.statement,
        compared,
    )


def draw(ids: Sequence[str], effort: Effort | None, executor: Executor | None = None) -> Iterator[Rendered]:
    """The selected figures: in the order in which an executor finishes them, or one after the other without one."""
    identifiers = selected(ids)
    if executor is None:
        yield from (rendered(name, effort) for name in identifiers)
        return
    identifiers.sort(key=lambda name: name not in _LONG)
    for done in as_completed([executor.submit(rendered, name, effort) for name in identifiers]):
        yield done.result()


def write(out: Path, found: Rendered) -> None:
    """Write OUT/ID.svg (OUT/ID.html for a table), OUT/ID.csv and OUT/ID.json (data and caption), each atomically."""
    with OutputFolder(out) as folder:
        folder.write({found.file: found.markup, f"{found.id}.csv": found.points, f"{found.id}.json": found.data})


def main(names: list[str]) -> None:
    """Run the named studies, by default all, with full effort, and write their results for shipping."""
    folder = Path(figure.__file__).with_name(figure.FOLDER)
    folder.mkdir(exist_ok=True)
    for name in selected(names):
        study = FIGURES[name]
        if isinstance(study, Study) and not study.data:
            drawn = study(Effort.full(), lambda done: print(done, file=sys.stderr))
            if drawn.finding is not None:
                figure.write(folder, name, drawn.data, drawn.finding.text())


if __name__ == "__main__":
    program.run(main, "airtight.validate.experiments.figures.gallery [ID ...]")
