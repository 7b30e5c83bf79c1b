"""What every result can do: JSON, a tidy table, display in a notebook; and a file of it in the usual formats."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import extras, tidy
from airtight.analytics.checks import ParameterError
from airtight.results.schema import as_json
from airtight.validate import files

EXTRA = {".csv": None, ".json": None, ".mat": None, ".parquet": "tables", ".xlsx": "tables"}  # extra that writes each format
_SHEET = 1_048_576  # rows of a sheet of Excel


class Result(tidy.Tabular):
    """Base class of the results of commands."""

    def by_system(self, system: str = "system") -> list[tuple[str, object]]:
        """The parts of the result with the names of their systems."""
        return [(system, self)]

    def table(self, system: str = "system") -> dict[str, NDArray[Any]]:
        """The tidy table by columns: a row for each quantity and device."""
        return tidy.columns(self.by_system(system))

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the command: numbers that are not finite become strings."""
        tree: dict[str, Any] = as_json(self)
        return tree

    def _repr_html_(self) -> str:
        return tidy.html(type(self).__name__, getattr(self, "headline", []), self.by_system())


def silent(devices: Sequence[int]) -> tidy.Entry:
    """The devices that never send, as rows of value 1."""
    return tidy.Entry(value=np.ones(len(devices)), device=np.asarray(devices, dtype=int))


def check(path: Path) -> Path:
    """The path of a file to be written, before the work: its format, the extra that it needs and its folder.

    Raises
    ------
    ParameterError, MissingExtraError
    """
    if path.suffix not in EXTRA:
        raise ParameterError("--out", str(path), f"a file that ends in {', '.join(EXTRA)}")
    if not path.parent.is_dir():
        raise ParameterError("--out", str(path), f"in a folder that exists; {path.parent} does not")
    if (extra := EXTRA[path.suffix]) is not None:
        extras.require(extra)
    return path


def write(path: Path, tree: object, table: Mapping[str, NDArray[Any]]) -> None:
    """Write the JSON of `tree`, or the table, in the format of the suffix; the file appears whole or not at all.

    Raises
    ------
    ParameterError
        When the table does not fit the format.
    """
    if path.suffix == ".xlsx" and (rows := len(next(iter(table.values())))) >= _SHEET:
        raise ParameterError("--out", str(path), f".csv or .parquet: {rows} rows do not fit a sheet of {_SHEET}")
    with files.whole(path) as stream:
        match path.suffix:
            case ".json":
                stream.write((json.dumps(as_json(tree), indent=2, allow_nan=False) + "\n").encode())
            case ".csv":
                stream.write(csv_of(table).encode())
            case ".mat":
                _mat(stream, table)
            case ".parquet":
                tidy.frame(table).to_parquet(stream, engine="pyarrow", index=False)
            case ".xlsx":
                _xlsx(stream, table)


def csv_of(table: Mapping[str, NDArray[Any]]) -> str:
    """A tidy table as CSV."""
    return tidy.csv_text(table, zip(*(_cells(name, column) for name, column in table.items()), strict=True))


def _cells(name: str, column: NDArray[Any]) -> list[Any]:
    """The cells of a column; None where a number is missing."""
    if column.dtype.kind != "f":
        return list(column.tolist())
    whole = name in tidy.WHOLE
    return [None if x != x else int(x) if whole else x for x in column.tolist()]


def _mat(stream: IO[bytes], table: Mapping[str, NDArray[Any]]) -> None:
    """Columns as variables, texts as cells: ``struct2table(load("x.mat"))`` is the table in MATLAB."""
    from scipy import io as formats

    content = io.BytesIO()  # of a temporary file SciPy knows no method to write
    formats.savemat(content, {name: column[:, np.newaxis] for name, column in table.items()})
    stream.write(content.getvalue())


def _xlsx(stream: IO[bytes], table: Mapping[str, NDArray[Any]]) -> None:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("airtight")
    sheet.freeze_panes = "A2"
    sheet.append(list(table))
    for row in zip(*(_cells(name, column) for name, column in table.items()), strict=True):
        cells = [WriteOnlyCell(sheet, repr(value) if isinstance(value, float) else value) for value in row]
        for cell, value in zip(cells, row, strict=True):
            if isinstance(value, float) and np.isfinite(value):
                cell.data_type = "n"  # all digits: openpyxl would round to 16, perhaps below a bound
            elif cell.data_type == "f":
                cell.data_type = "s"  # a name that begins with = is a text, no formula
        sheet.append(cells)
    book.save(stream)
