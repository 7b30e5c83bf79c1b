"""Reads tables of numbers that others wrote: archives of NumPy and CSV files. The header is read and judged before the data."""

from __future__ import annotations

import csv
import math
import zipfile
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from airtight.analytics.checks import AirtightError, FloatArray

LARGEST = 10**9  # entries of an array, or of a table, that are read at most
_DAMAGED = (  # what NumPy and zipfile raise where an archive is damaged
    ValueError,
    EOFError,
    AttributeError,
    TypeError,
    RuntimeError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


class TableError(AirtightError):
    """A file of numbers that cannot be used; the message names the file, the place, the value and what is allowed."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name; every entry is a finite number."""

    names: tuple[str, ...]
    values: FloatArray  # shape (rows, columns)

    def column(self, name: str) -> FloatArray | None:
        """The column of this name, if there is one."""
        return self.values[:, self.names.index(name)] if name in self.names else None

    def without(self, names: Collection[str]) -> FloatArray:
        """The other columns, shape (rows, columns)."""
        return self.values[:, [j for j, name in enumerate(self.names) if name not in names]]


def read_csv(path: Path, *, required: Sequence[str] = (), ignored: Collection[str] = ()) -> Table:
    """A table with a header, all of whose cells are finite numbers except those of the `ignored` columns.

    Raises
    ------
    TableError
        It names row and column; rows are counted from 1 below the header.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            lines = csv.reader(stream)
            header = [cell.strip() for cell in next(lines, [])]
            _demand_header(path, header, required)
            kept = [j for j, name in enumerate(header) if name not in ignored]
            rows: list[list[float]] = []
            for line in lines:
                if not any(cell.strip() for cell in line):
                    continue
                number = len(rows) + 1
                if len(line) != len(header):
                    raise TableError(
                        f"{path}: row {number}: must have {len(header)} values, as the header; has {len(line)}"
                    )
                if number * len(header) > LARGEST:
                    raise TableError(f"{path}: row {number}: a table must have at most {LARGEST:,} cells")
                rows.append([_cell(path, header[j], number, line[j]) for j in kept])
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path}: not a CSV file: {error}") from None
    if not rows:
        raise TableError(f"{path}: must have a row below the header")
    return Table(tuple(header[j] for j in kept), np.array(rows, dtype=float))


def _demand_header(path: Path, header: list[str], required: Sequence[str]) -> None:
    if not any(header):
        raise TableError(f"{path}: empty; must have a header and rows")
    for name in required:
        if name not in header:
            raise TableError(f"{path}: column {name!r}: missing in the header {', '.join(header[:8])}")
    if twice := {name for name in header if header.count(name) > 1}:
        raise TableError(f"{path}: column {min(twice)!r}: twice")


def _cell(path: Path, name: str, row: int, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        shown = cell.strip()[:40]
        raise TableError(f"{path}: row {row}, column {name!r}: {shown!r}: must be a finite number")
    return value


def read_npz(
    path: Path, names: Sequence[str], optional: Sequence[str] = (), *, largest: int = 1 << 27
) -> dict[str, NDArray[Any]]:
    """Arrays of an archive by name; their headers, with type and shape, are judged before any data is read.

    Parameters
    ----------
    largest : int
        Entries of all arrays together at most; by default those of a gigabyte of doubles.

    Raises
    ------
    TableError
        When an array is missing, has no numbers (pickled objects are never loaded), is too large, or is shorter than its
        header says.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            held = set(archive.namelist())
            if missing := [name for name in names if f"{name}.npy" not in held]:
                wanted = f"the array{'s' if len(names) > 1 else ''} {', '.join(names)}"
                raise TableError(f"{path}: must hold {wanted}; missing: {', '.join(missing)}")
            there = [name for name in (*names, *optional) if f"{name}.npy" in held]
            left = largest
            for name in there:
                left -= _entries(path, archive, name, left)
            found = {}
            for name in there:
                with archive.open(f"{name}.npy") as stream:
                    found[name] = npy.read_array(stream, allow_pickle=False)
            return found
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or 'not an .npz file'}") from None
    except _DAMAGED as error:
        raise TableError(f"{path}: must be an .npz file of numeric arrays: {error}") from None


def _entries(path: Path, archive: zipfile.ZipFile, name: str, most: int) -> int:
    entry = f"{name}.npy"
    with archive.open(entry) as stream:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, kind = read(stream)
        head = stream.tell()
    if kind.hasobject:
        raise TableError(f"{path}: {name}: must be numbers; pickled objects are not loaded")
    if kind.kind not in "iufc":
        raise TableError(f"{path}: {name}: must be numbers, not of type {kind}")
    entries = math.prod(shape)
    if entries > most:
        raise TableError(f"{path}: {name}: must have at most {most:,} entries; its header says {entries:,}")
    if archive.getinfo(entry).file_size != head + entries * kind.itemsize:
        raise TableError(f"{path}: {name}: must be as long as its header says")
    return entries
