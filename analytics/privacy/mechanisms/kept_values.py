"""Values of a costly function, kept at the arguments at which it was computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray


@dataclass
class KeptValues:
    """Values at arguments in increasing order: rows of an array with some room at its end, in the order in which they came.

    Examples
    --------
    >>> kept = KeptValues.empty(columns=1)
    >>> kept.add(np.array([2.0]), np.array([[4.0]]))
    >>> kept.missing(np.array([3.0, 1.0, 2.0, 3.0]))
    array([1., 3.])
    >>> kept.at(np.array([2.0]), 0)
    array([4.])
    """

    arguments: FloatArray
    row: IntArray
    values: FloatArray

    @classmethod
    def empty(cls, columns: int) -> KeptValues:
        """Without values, for functions of so many values each."""
        return cls(np.empty(0), np.empty(0, dtype=np.int64), np.empty((0, columns)))

    @property
    def count(self) -> int:
        """How many values are kept."""
        return int(self.values.shape[1]) * self.arguments.size

    def missing(self, arguments: FloatArray) -> FloatArray:
        """Those of the arguments that have no values yet; each once, sorted."""
        if not self.arguments.size:
            return np.unique(arguments)
        place = np.minimum(np.searchsorted(self.arguments, arguments), self.arguments.size - 1)
        return np.unique(arguments[self.arguments[place] != arguments])

    def add(self, arguments: FloatArray, values: FloatArray) -> None:
        """Values, shape (arguments, columns), at arguments that have none yet."""
        start, stop = self.arguments.size, self.arguments.size + arguments.size
        if stop > self.values.shape[0]:
            room = np.empty((2 * stop, values.shape[1]))
            room[:start] = self.values[:start]
            self.values = room
        self.values[start:stop] = values
        together = np.append(self.arguments, arguments)
        order = np.argsort(together)
        self.arguments, self.row = together[order], np.append(self.row, np.arange(start, stop))[order]

    def at(self, arguments: FloatArray, column: int) -> FloatArray:
        """The values of one column at arguments that have values."""
        return np.asarray(self.values[self.row[np.searchsorted(self.arguments, arguments)], column])
