"""A block of a sweep: the task to compute it, and the computed numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from airtight.analytics.checks import AirtightError, FloatArray, IntArray
from airtight.sweeps.axes import Axis, Value, changed
from airtight.sweeps.quantities import Place


class SweepError(AirtightError):
    """A run that had to stop before the sweep was complete."""


@dataclass(frozen=True)
class Task:
    """The numbers of one part of the results that are to be computed on a block of the grid.

    Attributes
    ----------
    part : str
    places : tuple of Place
    raw : dict
        The tables that the part reads.
    where : str
        The system file, for error messages.
    files : mapping
        The contents of the files that the tables name: what the plan was made from is what every worker computes with.
    sources : str
        Digest of the code of the plan.
    axes : tuple of Axis
        The axes that the part depends on, restricted to the block.
    devices : int
        Length of an array with one value per device.
    """

    part: str
    places: tuple[Place, ...]
    raw: dict[str, Any]
    where: str
    files: Mapping[str, bytes]
    sources: str
    axes: tuple[Axis, ...]
    devices: int

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(np.prod(self.shape, dtype=np.int64))

    def cells(self) -> Iterator[tuple[Value, ...]]:
        """The values of all swept keys of every cell, in the order of the axes."""
        points = [list(zip(*axis.values, strict=True)) for axis in self.axes]
        for point in itertools.product(*points):
            yield tuple(value for axis_values in point for value in axis_values)

    def tables(self, cell: tuple[Value, ...]) -> dict[str, Any]:
        """The tables of one cell."""
        return changed(self.raw, [key for axis in self.axes for key in axis.keys], cell)

    def some(self, cell_indices: IntArray) -> Task:
        """A task with the cells at these flat indices, as the points of one axis."""
        keys = tuple(key for axis in self.axes for key in axis.keys)
        axis_indices = np.unravel_index(cell_indices, self.shape) if keys else ()
        values = tuple(
            tuple(column[i] for i in positions.tolist())
            for axis, positions in zip(self.axes, axis_indices, strict=True)
            for column in axis.values
        )
        return replace(self, axes=(Axis(keys, values),) if keys else ())


@dataclass(frozen=True)
class Block:
    """The numbers of a block: an array for each place; and the messages of failed cells by their flat index."""

    arrays: tuple[FloatArray, ...]
    failed: dict[int, str]
