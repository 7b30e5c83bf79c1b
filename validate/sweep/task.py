"""A chunk of a sweep: what is asked of it, and what was found."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.validate.sweep.axes import Axis, Value, changed
from airtight.validate.sweep.quantities import Place


@dataclass(frozen=True)
class Task:
    """Some numbers of one part of the results on a block of the grid.

    Attributes
    ----------
    part : str
    places : tuple of Place
    raw : dict
        The tables that the part reads.
    where : str
        The system file, which the files that it names are relative to.
    axes : tuple of Axis
        Those that the part depends on, each only as far as the block reaches.
    devices : int
        Length of what is one number a device.
    """

    part: str
    places: tuple[Place, ...]
    raw: dict[str, Any]
    where: str
    axes: tuple[Axis, ...]
    devices: int

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many cells."""
        return int(np.prod(self.shape, dtype=np.int64))

    def cells(self) -> Iterator[tuple[Value, ...]]:
        """The values of all keys, one after the other, of every cell."""
        points = [list(zip(*axis.values, strict=True)) for axis in self.axes]
        for point in itertools.product(*points):
            yield tuple(value for part in point for value in part)

    def tables(self, cell: tuple[Value, ...]) -> dict[str, Any]:
        """The tables of one cell."""
        return changed(self.raw, [key for axis in self.axes for key in axis.keys], cell)

    def some(self, wanted: IntArray) -> Task:
        """Some of its cells, as points of one axis."""
        keys = tuple(key for axis in self.axes for key in axis.keys)
        places = np.unravel_index(wanted, self.shape) if keys else ()
        values = tuple(
            tuple(column[i] for i in place.tolist())
            for axis, place in zip(self.axes, places, strict=True)
            for column in axis.values
        )
        return replace(self, axes=(Axis(keys, values),) if keys else ())


@dataclass(frozen=True)
class Block:
    """What was found: an array for each place, in the shape of the block, and why cells have failed, by their number."""

    arrays: tuple[FloatArray, ...]
    failed: dict[int, str]
