"""What a redrawn figure consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Advance = Callable[[str], None]


@dataclass(frozen=True)
class Redrawn:
    """One figure of a paper, computed again.

    Attributes
    ----------
    id : str
        As in "CB-2a": paper and number.
    caption : str
        Begins with "Exact" or "Analogue", and says of what.
    data : xarray.Dataset
        Everything that is drawn.
    figure : matplotlib.figure.Figure
    """

    id: str
    caption: str
    data: xr.Dataset
    figure: Figure


@dataclass(frozen=True)
class Effort:
    """How much work an experiment may be: seeds to average over, rounds, smoothing factors to choose from, numbers of clients."""

    seeds: int
    rounds: int
    smoothing: tuple[float, ...]
    clients: tuple[int, ...]

    @classmethod
    def full(cls) -> Effort:
        return cls(5, 40, (0.1, 0.2, 0.3, 0.5, 0.7, 1.0), (50, 200, 500))

    @classmethod
    def quick(cls) -> Effort:
        return cls(2, 20, (0.2, 0.5), (50, 200))
