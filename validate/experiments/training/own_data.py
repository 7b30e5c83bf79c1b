"""A table of features and labels that a user brings: read from a file or from arrays, checked, and shared among devices."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.validate.number_tables import LARGEST, TableError, read_csv, read_npz

LABEL, CLIENT = "label", "client"  # columns of a CSV file that are no features
_LEAST_ROWS = 10  # so that the parts for training, validation and test have a row each, and training more than one


@dataclass(frozen=True, eq=False)
class OwnData:
    """Samples in [0, 1], their labels, and the client that each one belongs to.

    Attributes
    ----------
    name : str
    x : ndarray, shape (N, d) or (N, K, d)
        One table, or K views of every sample.
    y : ndarray of int, shape (N,)
        Numbers of the classes, which `classes` holds in increasing order.
    classes : tuple of int
    client : ndarray of int, shape (N,), or None
        Numbers of the clients, from 0; None where the samples are to be distributed at random.
    digest : str
        SHA-256 of all of it: a checkpoint of other data is not continued.
    """

    name: str
    x: FloatArray
    y: IntArray
    classes: tuple[int, ...]
    client: IntArray | None
    digest: str

    @classmethod
    def of(cls, X: ArrayLike, y: ArrayLike, clients: ArrayLike | None = None, *, name: str = "arrays") -> OwnData:
        """Checked data from arrays.

        Parameters
        ----------
        X : array_like, shape (N, d) or (N, K, d)
            Finite numbers. Where all lie in [0, 1] they are used as they are; otherwise every feature (of every view) is mapped
            to [0, 1] by its least and greatest value, which count as public.
        y : array_like, shape (N,)
            Whole numbers, of two classes at least.
        clients : array_like, shape (N,), optional
            Whole numbers.

        Raises
        ------
        ParameterError

        Examples
        --------
        >>> OwnData.of([[0.0, 10.0], [5.0, 20.0]] * 5, [3, 7] * 5).x[:2]
        array([[0., 0.],
               [1., 1.]])
        """
        x = _plain("X", X)
        if x.ndim not in (2, 3) or not x.size:
            raise ParameterError(
                "X", f"array of shape {x.shape}", "of shape (samples, features) or (samples, views, features)"
            )
        if len(x) < _LEAST_ROWS:
            raise ParameterError("X", f"array of shape {x.shape}", f"of {_LEAST_ROWS} samples at least")
        labels = _whole("y", y, len(x))
        classes, numbered = np.unique(labels, return_inverse=True)
        if classes.size < 2:
            raise ParameterError("y", int(classes[0]), "of two classes at least; all samples have this one")
        owner = None if clients is None else np.unique(_whole("clients", clients, len(x)), return_inverse=True)[1]
        if np.min(x) < 0 or np.max(x) > 1:
            low, high = x.min(axis=0), x.max(axis=0)
            span = high / 2 - low / 2  # halves, because high - low may overflow
            x = (x / 2 - low / 2) / np.where(span > 0, span, 1.0)
        digest = hashlib.sha256()
        for part in (x, labels, *([] if owner is None else [owner])):
            digest.update(repr(part.shape).encode() + np.ascontiguousarray(part).tobytes())
        return cls(name, x, numbered.astype(np.int64), tuple(classes.tolist()), owner, digest.hexdigest())

    @classmethod
    def read(cls, path: str | Path) -> OwnData:
        """Data from a file: ``.npz`` with arrays X and y (and client), or CSV with a column label (and client).

        Raises
        ------
        TableError
        """
        path = Path(path)
        if path.suffix.lower() == ".npz":
            arrays = read_npz(path, ("X", "y"), (CLIENT,), largest=LARGEST)
            given: tuple[Any, ...] = (arrays["X"], arrays["y"], arrays.get(CLIENT))
        else:
            table = read_csv(path, required=(LABEL,))
            given = (table.without((LABEL, CLIENT)), table.column(LABEL), table.column(CLIENT))
        try:
            return cls.of(*given, name=path.name)
        except ParameterError as error:
            raise TableError(f"{path}: {error}") from None

    def views(self, devices: int) -> FloatArray:
        """What each device sees of every sample, shape (K, N, d).

        The K views, or else an equal share of the columns for each device, in their order.

        Raises
        ------
        ParameterError
            When there is another number of views, or K does not divide the number of columns.

        Examples
        --------
        >>> OwnData.of(np.arange(40).reshape(10, 4), [0, 1] * 5).views(2).shape
        (2, 10, 2)
        """
        samples, columns = self.x.shape[:2]
        if self.x.ndim == 3:
            if columns != devices:
                raise ParameterError("X", f"array of {columns} views", f"of a view for each of the {devices} devices")
            return np.moveaxis(self.x, 1, 0)
        if columns % devices:
            raise ParameterError(
                "X",
                f"array of {columns} features",
                f"of as many for each of the {devices} devices, or of shape (samples, {devices}, features)",
            )
        return np.moveaxis(self.x.reshape(samples, devices, columns // devices), 1, 0)

    @property
    def flat(self) -> FloatArray:
        """All features of every sample, shape (N, K d)."""
        return self.x.reshape(len(self.x), -1)


def _plain(name: str, value: ArrayLike) -> FloatArray:
    if isinstance(value, np.ma.MaskedArray):
        raise ParameterError(name, "a masked array", "an array without a mask")
    return checks.real(name, value)


def _whole(name: str, value: ArrayLike, samples: int) -> NDArray[np.int64]:
    numbers = _plain(name, value.astype(int) if isinstance(value, np.ndarray) and value.dtype == bool else value)
    if numbers.shape != (samples,):
        raise ParameterError(name, f"array of shape {numbers.shape}", f"one for each of the {samples} samples")
    odd = np.flatnonzero((numbers != np.round(numbers)) | (np.abs(numbers) > 2**53))
    if odd.size:
        raise ParameterError(name, float(numbers[odd[0]]), "a whole number", (int(odd[0]),))
    return numbers.astype(np.int64)
