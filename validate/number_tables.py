"""Reads tables of numbers that others wrote: archives of NumPy and CSV files. The header is read and judged before the data."""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from airtight.analytics.checks import AirtightError, FloatArray
from airtight.validate import untrusted

LARGEST = 10**9  # entries of an array, or of a table, that are read at most
_PART = 1 << 20  # bytes that are unpacked at a time
_INDEX = re.compile(r"index|unnamed(:.*)?", re.IGNORECASE)  # what pandas calls an index when it writes it as a column
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)
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
    """Columns by name, every entry a finite number; and the texts of the columns that hold no numbers."""

    names: tuple[str, ...]
    values: FloatArray  # shape (rows, columns)
    texts: dict[str, list[str]]

    def column(self, name: str) -> FloatArray | None:
        """The column of this name, if there is one."""
        return self.values[:, self.names.index(name)] if name in self.names else None

    def without(self, names: Collection[str]) -> FloatArray:
        """The other columns, shape (rows, columns)."""
        return self.values[:, [j for j, name in enumerate(self.names) if name not in names]]


def csv_rows(path: Path, content: bytes | None = None) -> Iterator[list[str]]:
    """The header of a CSV file, whose names are distinct, and its rows, as long as the header; all stripped and printable.

    `content` is what the file held when it was read before; by default it is read now.

    Raises
    ------
    TableError
        It names row and column; rows are counted from 1 below the header.
    """
    header: list[str] = []
    number = -1
    try:
        with io.TextIOWrapper(_stream(path, content), newline="", encoding="utf-8-sig") as stream:
            for line in csv.reader(stream):
                cells = [cell.strip() for cell in line]
                if not any(cells):
                    continue
                number += 1
                for cell in cells:
                    if not cell.isprintable():
                        raise TableError(f"{path}: row {number}: {cell[:40]!r}: must have printable characters only")
                if not number:
                    _demand_names(path, header := cells)
                elif len(cells) != len(header):
                    raise TableError(
                        f"{path}: row {number}: must have {len(header)} values, as the header; has {len(cells)}"
                    )
                yield cells
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path}: not a CSV file: {error}") from None
    if number < 0:
        raise TableError(f"{path}: empty; must have a header and rows")
    if number < 1:
        raise TableError(f"{path}: must have a row below the header")


def _demand_names(path: Path, header: Sequence[str]) -> None:
    """Check that the first line names columns: an index without a name, or a row of numbers, is no name of a feature."""
    for j, name in enumerate(header, start=1):
        if not name or _INDEX.fullmatch(name):
            raise TableError(
                f"{path}: column {j}: {name!r}: must have a name in the header; a column that counts the rows must be left out"
            )
    if twice := {name for name in header if header.count(name) > 1}:
        raise TableError(f"{path}: column {min(twice)!r}: twice")
    if all(_NUMBER.fullmatch(name) for name in header) and not all(name.isdigit() for name in header):
        raise TableError(f"{path}: the first line holds numbers; it must be a header of names")


def demand_distinct(path: Path, devices: Sequence[str]) -> None:
    """Check that no two rows name one device."""
    seen = set[str]()
    for row, name in enumerate(devices, start=1):
        if name in seen:
            raise TableError(f"{path}: row {row}: device {name!r}: must be a name that no other row has")
        seen.add(name)


def read_csv(
    path: Path, *, required: Sequence[str] = (), texts: Collection[str] = (), content: bytes | None = None
) -> Table:
    """A table all of whose cells are finite numbers, except those of the columns `texts`; else as :func:`csv_rows`."""
    lines = csv_rows(path, content)
    header = next(lines)
    for name in required:
        if name not in header:
            raise TableError(f"{path}: column {name!r}: missing in the header {', '.join(header[:8])}")
    kept = [j for j, name in enumerate(header) if name not in texts]
    labels: dict[str, list[str]] = {name: [] for name in header if name in texts}
    rows: list[list[float]] = []
    for number, line in enumerate(lines, start=1):
        if number * len(header) > LARGEST:
            raise TableError(f"{path}: row {number}: a table must have at most {LARGEST:,} cells")
        rows.append([_cell(path, header[j], number, line[j]) for j in kept])
        for name, column in labels.items():
            column.append(line[header.index(name)])
    return Table(tuple(header[j] for j in kept), np.array(rows, dtype=float), labels)


def _cell(path: Path, name: str, row: int, cell: str) -> float:
    try:
        value = untrusted.number(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TableError(f"{path}: row {row}, column {name!r}: {cell[:40]!r}: must be a finite number")
    return value


def _stream(path: Path, content: bytes | None) -> IO[bytes]:
    return untrusted.opened(path) if content is None else io.BytesIO(content)


def read_npz(
    path: Path,
    names: Sequence[str],
    optional: Sequence[str] = (),
    *,
    largest: int = 1 << 27,
    content: bytes | None = None,
) -> dict[str, NDArray[Any]]:
    """Arrays of an archive by name; their headers, with type and shape, are judged before any data is read.

    Parameters
    ----------
    largest : int
        Entries of all arrays together at most; by default those of a gigabyte of doubles.
    content : bytes, optional
        What the file held when it was read before; by default it is read now.

    Raises
    ------
    TableError
        When an array is missing, has no numbers (pickled objects are never loaded), is too large, or is shorter than its
        header says.
    """
    try:
        with _stream(path, content) as stream, zipfile.ZipFile(stream) as archive:
            held = {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}
            there = _present(path, names, optional, held)
            left = largest
            for name in there:
                left -= _entries(path, archive, name, left)
            arrays = {}
            for name in there:
                with archive.open(f"{name}.npy") as entry:
                    arrays[name] = npy.read_array(entry, allow_pickle=False)
            return arrays
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or 'not an .npz file'}") from None
    except _DAMAGED as error:
        raise TableError(f"{path}: must be an .npz file of numeric arrays: {' '.join(str(error).split())}") from None


def _present(path: Path, names: Sequence[str], optional: Sequence[str], held: Collection[str]) -> list[str]:
    """The arrays to read of those that a file holds; `names` must be among them."""
    if missing := [name for name in names if name not in held]:
        wanted = f"the array{'s' if len(names) > 1 else ''} {', '.join(names)}"
        raise TableError(f"{path}: must hold {wanted}; missing: {', '.join(missing)}")
    return [name for name in (*names, *optional) if name in held]


MATLAB = ".mat"
_CLASSES = {"double", "single", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
_COMPRESSED = 15  # type of an element of a MATLAB file that holds another one, deflated


def read_arrays(
    path: Path,
    names: Sequence[str],
    optional: Sequence[str] = (),
    *,
    largest: int = 1 << 27,
    content: bytes | None = None,
) -> dict[str, NDArray[Any]]:
    """Arrays by name of an ``.npz``, ``.npy`` or ``.mat`` file; an ``.npy`` file holds the first name alone.

    All are judged alike before their data are read, see :func:`read_npz`. Of MATLAB's formats up to 7 are read; 7.3 is HDF5.

    Raises
    ------
    TableError
    """
    if path.suffix == ".npy":
        return {names[0]: _read_npy(path, names, largest, content)}
    if path.suffix == MATLAB:
        return _read_mat(path, names, optional, largest, content)
    return read_npz(path, names, optional, largest=largest, content=content)


def _read_npy(path: Path, names: Sequence[str], largest: int, content: bytes | None) -> NDArray[Any]:
    if len(names) > 1:
        raise TableError(
            f"{path}: must hold the arrays {', '.join(names)}; an .npy file holds one, an .npz or .mat file several"
        )
    try:
        data = untrusted.content(path) if content is None else content
        stream = io.BytesIO(data)
        _, size = _header(path, names[0], stream, largest)
        if len(data) != size:
            raise TableError(f"{path}: {names[0]}: must be as long as its header says")
        stream.seek(0)
        return np.asarray(npy.read_array(stream, allow_pickle=False))
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or 'not an .npy file'}") from None
    except _DAMAGED as error:
        raise TableError(f"{path}: must be an .npy file of numbers: {' '.join(str(error).split())}") from None


def _read_mat(
    path: Path, names: Sequence[str], optional: Sequence[str], largest: int, content: bytes | None
) -> dict[str, NDArray[Any]]:
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import MatReadError

    try:
        data = untrusted.content(path) if content is None else content
        if data[:10] == b"MATLAB 7.3" or data[:8] == b"\x89HDF\r\n\x1a\n":
            raise TableError(f"{path}: a MATLAB file of version 7.3; save it with save(file, {names[0]!r}, '-v7')")
        # a deflated element may unpack to a thousand times its size: it is measured before anything is kept
        _demand_moderate(path, data, 16 * largest)
        held = {name: (shape, kind) for name, shape, kind in whosmat(io.BytesIO(data))}
        there = _present(path, names, optional, held)
        left = largest
        for name in there:
            shape, kind = held[name]
            if kind not in _CLASSES:
                raise TableError(f"{path}: {name}: must be numbers, not of class {kind}")
            entries = math.prod(shape)
            if entries > left:
                raise TableError(f"{path}: {name}: must have at most {left:,} entries; its header says {entries:,}")
            left -= entries
        arrays = loadmat(io.BytesIO(data), variable_names=there, mat_dtype=False)
        return {name: np.asarray(arrays[name]) for name in there}
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or 'not a MATLAB file'}") from None
    except (*_DAMAGED, MatReadError, LookupError, OverflowError, MemoryError) as error:
        raise TableError(f"{path}: must be a MATLAB file of numeric arrays: {' '.join(str(error).split())}") from None


def _demand_moderate(path: Path, data: bytes, most: int) -> None:
    """Check that the deflated elements of a MATLAB file of version 5 to 7 unpack to so many bytes at most, all together."""
    if data[126:128] not in (b"IM", b"MI"):
        return  # version 4, which deflates nothing
    order: Literal["little", "big"] = "little" if data[126:128] == b"IM" else "big"
    place, left = 128, most
    while place + 8 <= len(data):
        kind = int.from_bytes(data[place : place + 4], order)
        size = int.from_bytes(data[place + 4 : place + 8], order)
        if kind == _COMPRESSED:
            unpacking, rest = zlib.decompressobj(), data[place + 8 : place + 8 + size]
            while rest and not unpacking.eof:
                left -= len(unpacking.decompress(rest, _PART))
                rest = unpacking.unconsumed_tail
                if left < 0:
                    raise TableError(f"{path}: must unpack to at most {most:,} bytes")
        place += 8 + size


def _entries(path: Path, archive: zipfile.ZipFile, name: str, most: int) -> int:
    entry = f"{name}.npy"
    with archive.open(entry) as stream:
        entries, size = _header(path, name, stream, most)
    if archive.getinfo(entry).file_size != size:
        raise TableError(f"{path}: {name}: must be as long as its header says")
    return entries


def _header(path: Path, name: str, stream: IO[bytes], most: int) -> tuple[int, int]:
    """Number of entries of an array in NumPy's format, and of bytes with its header; its type and size are judged."""
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
    return entries, head + entries * kind.itemsize
