"""All figures by identifier, and how they are written: an SVG (tables: HTML), and a JSON of caption and data."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from airtight.validate import papers
from airtight.validate.claims import names
from airtight.validate.experiments.figures import (
    collaborative,
    corbin,
    few_bits_figures,
    inference_figures,
    shipped_results,
    style,
    utility_figures,
)
from airtight.validate.experiments.figures.figure import Advance, Effort, Redrawn, Study
from airtight.validate.experiments.figures.table import Table
from airtight.validate.files import whole


def _of_papers() -> dict[str, Callable[[Effort, Advance], Redrawn]]:
    """The figures that a paper brings along: ``FIGURES`` of a module ``figures`` in its folder of
    ``airtight.validate.papers``."""
    found: dict[str, Callable[[Effort, Advance], Redrawn]] = {}
    for folder in sorted(Path(papers.__path__[0]).glob("*/figures.py")):
        found |= import_module(f"{papers.__name__}.{folder.parent.name}.figures").FIGURES
    return found


FIGURES: dict[str, Callable[[Effort, Advance], Redrawn]] = {
    **collaborative.FIGURES,
    **inference_figures.FIGURES,
    **corbin.FIGURES,
    **utility_figures.FIGURES,
    **few_bits_figures.FIGURES,
    **_of_papers(),
}
_LONG = ("CB-3c", "CB-2a", "CB-2b", "CB-2c", "CB-1", "CB-3a", "CB-3b")  # begun first


def selected(ids: Sequence[str]) -> list[str]:
    """The figures with these identifiers, or beginning with them; all by default.

    Examples
    --------
    >>> selected(["CB-2", "UF-1"])
    ['CB-2a', 'CB-2b', 'CB-2c', 'UF-1']
    """
    return names.select(ids, list(FIGURES))


@dataclass(frozen=True)
class Rendered:
    """A redrawn figure as text: what crosses processes and goes to disk."""

    id: str
    caption: str
    markup: str  # SVG, or the HTML of a table
    data: str

    @property
    def file(self) -> str:
        """What the markup is called on disk."""
        return f"{self.id}.svg" if self.markup.startswith("<svg") else f"{self.id}.html"


def redrawn(name: str, effort: Effort | None = None) -> Redrawn:
    """Draw one figure: with this effort, or of what is shipped.

    Examples
    --------
    >>> redrawn("FDP-6").caption[:30]
    'Exact formulas of FDP Fig. 6 ('
    """
    study = FIGURES[name]
    if effort is None and isinstance(study, Study):
        return study.drawn(shipped_results.read(name))
    return study(effort or Effort.full(), lambda done: None)


def rendered(name: str, effort: Effort | None) -> Rendered:
    """The same as text."""
    found = redrawn(name, effort)
    tree = {"id": found.id, "caption": found.caption, "data": found.data.to_dict()}
    if isinstance(found.figure, Table):
        markup = str(found.figure.html(found.id))
    else:
        markup = style.svg(found.figure, found.id, found.caption)
    return Rendered(found.id, found.caption, markup, json.dumps(shipped_results.plain(tree)))


def draw(ids: Sequence[str], effort: Effort | None, executor: Executor | None = None) -> Iterator[Rendered]:
    """The selected figures, as they come; one after the other without an executor."""
    wanted = selected(ids)
    if executor is None:
        yield from (rendered(name, effort) for name in wanted)
        return
    wanted.sort(key=lambda name: name not in _LONG)
    for done in as_completed([executor.submit(rendered, name, effort) for name in wanted]):
        yield done.result()


def write(out: Path, found: Rendered) -> None:
    """OUT/ID.svg (tables: ID.html), OUT/ID.json (data and caption); each appears whole or not at all."""
    out.mkdir(parents=True, exist_ok=True)
    for name, text in ((found.file, found.markup), (f"{found.id}.json", found.data)):
        with whole(out / name) as stream:
            stream.write(text.encode())


def main(names: list[str]) -> None:
    """Run the studies with full effort, all or those named, and write what they found."""
    folder = Path(shipped_results.__file__).with_name(shipped_results.FOLDER)
    folder.mkdir(exist_ok=True)
    for name in selected(names):
        study = FIGURES[name]
        if isinstance(study, Study):
            found = study(Effort.full(), lambda done: print(done, file=sys.stderr))
            if found.finding is not None:
                shipped_results.write(folder, name, found.data, found.finding.text())


if __name__ == "__main__":
    main(sys.argv[1:])
