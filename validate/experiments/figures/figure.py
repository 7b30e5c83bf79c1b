"""What a redrawn figure consists of: data that are computed (or shipped), and how they are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from airtight.validate.experiments.figures.finding import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from airtight.validate.experiments.figures.table import Table

Advance = Callable[[str], None]


@dataclass(frozen=True)
class Effort:
    """How much work an experiment may be.

    Attributes
    ----------
    seeds : int
        That are reported: 0, 1, ...
    rounds : int
    smoothing : tuple of float
        Factors lambda to choose from.
    clients : tuple of int
        Numbers of clients.
    validation : int
        Seeds that choose between hyperparameters and are not reported: 1000, 1001, ...
    """

    seeds: int
    rounds: int
    smoothing: tuple[float, ...]
    clients: tuple[int, ...]
    validation: int = 1

    @classmethod
    def full(cls) -> Effort:
        """What is shipped."""
        return cls(10, 40, (0.1, 0.2, 0.3, 0.5, 0.7, 1.0), (50, 200, 500), 2)

    @classmethod
    def quick(cls) -> Effort:
        """Minutes."""
        return cls(5, 20, (0.2, 0.5), (50, 200))

    @property
    def choosing(self) -> range:
        """The seeds that choose."""
        return range(1000, 1000 + self.validation)


@dataclass(frozen=True)
class Shown:
    """Data, drawn and described.

    Attributes
    ----------
    about : str
        Begins with "Exact" or "Analogue", and says of what.
    figure : matplotlib.figure.Figure or Table
    finding : Finding or None
        None where the paper says nothing of it that could be measured.
    """

    about: str
    figure: Figure | Table
    finding: Finding | None = None

    @property
    def caption(self) -> str:
        """What it is, and what became of what the paper says of it."""
        return self.about if self.finding is None else f"{self.about} {self.finding.text()}"


@dataclass(frozen=True)
class Redrawn:
    """One figure or table of a paper, computed again.

    Attributes
    ----------
    id : str
        As in "CB-2a": paper and number.
    caption : str
        Begins with "Exact" or "Analogue", and says of what and what became of the paper's finding.
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
    """An experiment that learns: its data of the full effort are shipped, and drawn without learning anew.

    Attributes
    ----------
    id : str
    compute : callable
        Of an effort and a callable that hears of progress; returns everything that is drawn.
    show : callable
        Of these data.
    """

    id: str
    compute: Callable[[Effort, Advance], xr.Dataset]
    show: Callable[[xr.Dataset], Shown]

    def drawn(self, data: xr.Dataset) -> Redrawn:
        """From data that are there."""
        shown = self.show(data)
        return Redrawn(self.id, shown.caption, data, shown.figure, shown.finding)

    def __call__(self, effort: Effort, advance: Advance) -> Redrawn:
        """Learn, and draw."""
        data = self.compute(effort, advance)
        advance(self.id)
        return self.drawn(data)
