"""The parts of a redrawn figure: data, computed or shipped, and the function that plots and describes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from airtight.validate.experiments.figures.finding import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from airtight.validate.experiments.figures.table import Table

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
    finding : Finding or None
        None where the paper makes no statement about the figure that can be measured.
    """

    about: str
    figure: Figure | Table
    finding: Finding | None = None

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
    finding : Finding or None
    """

    id: str
    caption: str
    data: xr.Dataset
    figure: Figure | Table
    finding: Finding | None = None


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
    """

    id: str
    compute: Callable[[Effort, Advance], xr.Dataset]
    show: Callable[[xr.Dataset], Shown]

    def drawn(self, data: xr.Dataset) -> Redrawn:
        """Draw existing data."""
        shown = self.show(data)
        return Redrawn(self.id, shown.caption, data, shown.figure, shown.finding)

    def __call__(self, effort: Effort, advance: Advance) -> Redrawn:
        """Train and draw."""
        data = self.compute(effort, advance)
        advance(self.id)
        return self.drawn(data)
