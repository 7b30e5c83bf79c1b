"""The parts of a redrawn figure: data, computed or shipped, and the function that plots and describes them.

A table of a paper becomes HTML. Results of the full effort are shipped as JSON next to this module, so that captions
and ledger rows need no long run; ``make findings`` computes them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr
from markupsafe import Markup

from airtight.analytics import tidy
from airtight.validate.experiments.figures.finding import FigureStatement
from airtight.validate.files import whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Table:
    """A table: headings and rows of text.

    Examples
    --------
    >>> print(Table(("scheme", "epsilon"), (("2.1", "< 1"),)).html("One scheme"))
    <div class="scroll" tabindex="0" role="region" aria-label="One scheme"><table>
    <tr><th scope="col">scheme</th><th scope="col">epsilon</th></tr>
    <tr><td>2.1</td><td>&lt; 1</td></tr>
    </table></div>
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def html(self, title: str) -> Markup:
        """The table as HTML; a wide table scrolls horizontally."""
        head = Markup("").join(Markup('<th scope="col">{}</th>').format(text) for text in self.headings)
        cells = [Markup("").join(Markup("<td>{}</td>").format(text) for text in row) for row in self.rows]
        body = Markup("").join(Markup("<tr>{}</tr>\n").format(row) for row in (head, *cells))
        frame = Markup('<div class="scroll" tabindex="0" role="region" aria-label="{}"><table>\n{}</table></div>')
        return frame.format(title, body)

    def csv(self) -> str:
        """The table as CSV."""
        return tidy.csv_text(self.headings, self.rows)


Advance = Callable[[str], None]  # called with a text after each step


@dataclass(frozen=True)
class Effort:
    """The amount of work of an experiment.

    Attributes
    ----------
    seeds : int
        Number of reported seeds: 0, 1, ...
    rounds : int
        Number of rounds of training.
    smoothing : tuple of float
        Candidates for the factor lambda.
    clients : tuple of int
        Numbers of clients.
    validation : int
        Number of validation seeds, which choose hyperparameters and are not reported: 1000, 1001, ...
    """

    seeds: int
    rounds: int
    smoothing: tuple[float, ...]
    clients: tuple[int, ...]
    validation: int = 1

    @classmethod
    def full(cls) -> Effort:
        """The effort of the shipped results."""
        return cls(10, 40, (0.1, 0.2, 0.3, 0.5, 0.7, 1.0), (50, 200, 500), 2)

    @classmethod
    def quick(cls) -> Effort:
        """An effort of some minutes."""
        return cls(5, 20, (0.2, 0.5), (50, 200))

    @property
    def choosing(self) -> range:
        """The validation seeds."""
        return range(1000, 1000 + self.validation)


@dataclass(frozen=True)
class Shown:
    """A plot of data, with its description.

    Attributes
    ----------
    about : str
        Begins with "Exact" or "Analogue", and names the figure of the paper.
    figure : matplotlib.figure.Figure or Table
    finding : FigureStatement or None
        None where the paper makes no statement about the figure that can be measured.
    """

    about: str
    figure: Figure | Table
    finding: FigureStatement | None = None

    @property
    def caption(self) -> str:
        """The description, and the outcome of the paper's statement."""
        return self.about if self.finding is None else f"{self.about} {self.finding.text()}"


@dataclass(frozen=True)
class Redrawn:
    """One figure or table of a paper, computed and drawn again.

    Attributes
    ----------
    id : str
        Paper and number, as in "CB-2a".
    caption : str
        Begins with "Exact" or "Analogue", names the figure of the paper, and gives the outcome of the paper's
        statement.
    data : xarray.Dataset
        Everything that is drawn.
    figure : matplotlib.figure.Figure or Table
    finding : FigureStatement or None
    """

    id: str
    caption: str
    data: xr.Dataset
    figure: Figure | Table
    finding: FigureStatement | None = None


@dataclass(frozen=True)
class Study:
    """An experiment with training: the data of its full effort are shipped, so that it can be drawn without training.

    Attributes
    ----------
    id : str
    compute : callable
        Trains with an effort, calls its second argument after each step, and returns everything that is drawn.
    show : callable
        Plots and describes these data.
    data : str
        Identifier of the study whose shipped data these are, where the same figure is printed twice; by default its own.
    """

    id: str
    compute: Callable[[Effort, Advance], xr.Dataset]
    show: Callable[[xr.Dataset], Shown]
    data: str = ""

    def shipped(self) -> Redrawn:
        """Draw the shipped data."""
        return self.drawn(read(self.data or self.id))

    def drawn(self, data: xr.Dataset) -> Redrawn:
        """Draw existing data."""
        shown = self.show(data)
        return Redrawn(self.id, shown.caption, data, shown.figure, shown.finding)

    def __call__(self, effort: Effort, advance: Advance) -> Redrawn:
        """Train and draw."""
        data = self.compute(effort, advance)
        advance(self.id)
        return self.drawn(data)


FOLDER = "full"
_DIGITS = 6  # significant digits of shipped numbers


def finding(name: str) -> str:
    """The outcome of the paper's statement about a figure, in one sentence.

    Examples
    --------
    >>> finding("CB-1").startswith('"the proposed mechanisms outperform')
    True
    """
    return str(_tree(name)["finding"])


def read(name: str) -> xr.Dataset:
    """The shipped data of a figure."""
    import xarray as xr

    dataset = xr.Dataset.from_dict(_tree(name)["data"])
    return dataset.map(lambda values: values.astype(float) if values.dtype.kind in "Oiuf" else values, keep_attrs=True)


def write(folder: Path, name: str, data: xr.Dataset, finding: str) -> None:
    """Write FOLDER/NAME.json, with numbers of six significant digits."""
    tree = {"id": name, "finding": finding, "data": _rounded(plain(data.to_dict()))}
    with whole(folder / f"{name}.json") as stream:
        stream.write((json.dumps(tree, separators=(",", ":")) + "\n").encode())


def plain(value: object) -> object:
    """The value with nan replaced by None, for strict JSON."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and value != value:
        return None
    return value


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _tree(name: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath(FOLDER, f"{name}.json").read_text(encoding="utf-8")
    tree: dict[str, Any] = json.loads(text)
    return tree
