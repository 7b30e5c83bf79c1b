"""One tidy table of any result: a row for each number, with device, face, observer, rounds, bounds and unit in columns.

A result is read as a tree. A number is named by its path: the words published, proven and exact of the path go to the column
`face`. A word, such as a verdict, is a row ``verdict = false`` of value 1. A class says more of its numbers by a method ``tidy``,
which returns them by name: as :class:`Entry` where they have an observer, rounds or bounds.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from html import escape
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas

    Numbers: TypeAlias = float | NDArray[np.float64]

COLUMNS = ("system", "device", "quantity", "face", "observer", "rounds", "value", "lower", "upper", "unit")
WHOLE = ("device", "rounds")  # columns of whole numbers, of which some are missing
NUMBERS = (*WHOLE, "value", "lower", "upper")
FACES = ("published", "proven", "exact")  # the values of :class:`airtight.analytics.guarantee.Face`, which imports this module
_UNTOLD = {"headline", "seconds"}  # sentences, and how long a computation took: no two runs have the same table with it
_SHOWN = 60  # quantities that are shown in a notebook


@dataclass(frozen=True, kw_only=True, eq=False)
class Entry:
    """A quantity of a system: one number, or one for each device.

    Attributes
    ----------
    value : float or ndarray, shape (K,)
    lower, upper : float or ndarray
        Proved bounds of the quantity; nan where there are none.
    face, observer, unit : str
    rounds : int, optional
        Rounds that the number is for.
    device : int or ndarray, optional
        Numbers of the devices; by default those of an array are 0, 1, ...
    """

    value: Numbers
    lower: Numbers = math.nan
    upper: Numbers = math.nan
    face: str = ""
    observer: str = ""
    rounds: int | None = None
    unit: str = ""
    device: int | NDArray[np.int64] | None = None


class Tabular:
    """Base class of what has a tidy table."""

    def table(self, system: str = "system") -> dict[str, NDArray[Any]]:
        """The tidy table by columns: a row for each quantity and device, with the name of the system in the first column."""
        return columns([(system, self)])

    def to_frame(self, system: str = "system") -> pandas.DataFrame:
        """The tidy table as a DataFrame of pandas: a row for each quantity and device."""
        return frame(self.table(system))


def entries(value: object, name: str = "", unit: str = "") -> Iterator[tuple[str, Entry]]:
    """The numbers of a result with their names.

    Examples
    --------
    >>> [(name, entry.value) for name, entry in entries({"mse": {"exact": 0.5, "gap": None}, "method": "local"})]
    [('mse.exact', 0.5), ('method = local', 1.0)]
    """
    if value is None:
        return
    if isinstance(value, Entry):
        yield name, value
    elif isinstance(value, str):
        yield f"{name} = {value}", Entry(value=1.0)
    elif isinstance(value, Real | np.generic):
        yield name, Entry(value=float(value), unit=unit)
    elif isinstance(value, np.ndarray):
        yield from _of_array(value, name, unit)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            for path, entry in entries(each, name, unit):
                numbered = entry if isinstance(each, Entry) else replace(entry, device=number)
                yield path, numbered
    else:
        units = getattr(type(value), "UNITS", {})
        for key, each in _tree(value).items():
            if key not in _UNTOLD:
                yield from entries(each, ".".join(filter(None, (name, str(key)))), units.get(key, unit))


def _tree(value: object) -> Mapping[str, object]:
    """The numbers of an object by name."""
    numbers: Callable[[], Mapping[str, object]] | None = getattr(value, "tidy", None)
    if numbers is not None:
        return numbers()
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.repr}
    raise TypeError(f"{type(value).__name__}: has no numbers for a table")


def _of_array(value: NDArray[Any], name: str, unit: str) -> Iterator[tuple[str, Entry]]:
    """One number for each device, or a word for each; of more dimensions the further ones are in the name."""
    if value.ndim > 1:
        for column in range(value.shape[1]):
            yield from _of_array(value[:, column], f"{name}.{column}", unit)
    elif value.dtype.kind in "biuf":
        yield name, Entry(value=value.astype(float), unit=unit)
    else:
        words = value.astype(str)
        for word in np.unique(words):
            devices = np.flatnonzero(words == word)
            yield f"{name} = {word}", Entry(value=np.ones(devices.size), device=devices)


def _faced(name: str) -> tuple[str, str]:
    """The name of a quantity without its face, and the face.

    Examples
    --------
    >>> _faced("mse.exact"), _faced("published_epsilon"), _faced("gap")
    (('mse', 'exact'), ('epsilon', 'published'), ('gap', ''))
    """
    for face in FACES:
        shorter, count = re.subn(rf"(?:^|(?<=[._])){face}(?:[._]|$)", "", name, count=1)
        if count:
            return shorter.rstrip("._"), face
    return name, ""


def columns(systems: Iterable[tuple[str, object]]) -> dict[str, NDArray[Any]]:
    """The table by columns, of pairs of a system's name and a result; whole numbers are floats, of which nan is missing.

    Examples
    --------
    >>> table = columns([("paper", {"exact_epsilon": np.array([1.0, 2.0])})])
    >>> table["quantity"].tolist(), table["device"].tolist(), table["face"].tolist()
    (['epsilon', 'epsilon'], [0.0, 1.0], ['exact', 'exact'])
    """
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in COLUMNS}
    for system, quantity, entry in _rows(systems):
        value = np.atleast_1d(np.asarray(entry.value, dtype=float))
        devices: Any = entry.device
        if devices is None:
            devices = np.arange(value.size) if np.ndim(entry.value) else math.nan
        rounds = math.nan if entry.rounds is None else entry.rounds
        cells: tuple[Any, ...] = (
            *(system, devices, quantity, entry.face, str(entry.observer), rounds),
            *(value, entry.lower, entry.upper, entry.unit),
        )
        for (name, column), cell in zip(parts.items(), cells, strict=True):
            held = np.asarray(cell, dtype=float if name in NUMBERS else object)
            column.append(np.broadcast_to(held, value.shape))
    empty = {name: np.array([], dtype=float if name in NUMBERS else object) for name in COLUMNS}
    return {name: np.concatenate([empty[name], *column]) for name, column in parts.items()}


def over(axes: Mapping[str, NDArray[Any]], table: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The table of a grid of systems, whose entries hold a number for each point instead of each device, with its axes in front.

    Parameters
    ----------
    axes : mapping
        Value of each axis at each point.
    table : mapping
        As :func:`columns` makes it, of entries with a value for each point.
    """
    points = len(next(iter(axes.values())))
    repeated = {name: np.tile(values, len(table["value"]) // points) for name, values in axes.items()}
    return {**repeated, **table, "device": np.full(len(table["value"]), math.nan)}


def _rows(systems: Iterable[tuple[str, object]]) -> Iterator[tuple[str, str, Entry]]:
    """Each quantity of each system, its face apart from its name."""
    for system, result in systems:
        for name, entry in entries(result):
            quantity, face = (name, entry.face) if entry.face else _faced(name)
            yield system, quantity, replace(entry, face=face)


def frame(table: Mapping[str, NDArray[Any]]) -> pandas.DataFrame:
    """A table by columns as a DataFrame of pandas."""
    import pandas

    made = pandas.DataFrame(dict(table))
    return made.astype(dict.fromkeys(WHOLE, "Int64") | {name: "str" for name in COLUMNS if name not in NUMBERS})


def csv_text(headings: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV with all digits of each number; a text that a spreadsheet would run as a formula begins with an apostrophe.

    Examples
    --------
    >>> csv_text(["name", "value"], [["=1+1", -2.5], ["-2.5", None]]).splitlines()
    ['name,value', "'=1+1,-2.5", '-2.5,']
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_guarded(cell) for cell in row] for row in (headings, *rows))
    return text.getvalue()


def _guarded(cell: Any) -> Any:
    """A cell, no formula: the number that a text holds is none."""
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def html(caption: str, sentences: Iterable[str], systems: Iterable[tuple[str, object]]) -> str:
    """Sentences, and a table of the quantities with their least and their greatest value over the devices.

    Examples
    --------
    >>> html("<Found>", [], [("a", {"gap": 1e-12})]).count("&lt;Found&gt;")
    1
    """
    values: dict[tuple[str, ...], list[Numbers]] = {}
    for system, quantity, entry in _rows(systems):
        rounds = "" if entry.rounds is None else str(entry.rounds)
        key = (system, quantity, entry.face, str(entry.observer), rounds, entry.unit)
        values.setdefault(key, []).append(entry.value)
    lines = []
    for (*names, unit), held in list(values.items())[:_SHOWN]:
        each = np.concatenate([np.atleast_1d(one) for one in held])
        ends = (f"{end:.4g}" for end in (np.min(each, initial=np.inf), np.max(each, initial=-np.inf)))
        lines.append("".join(f"<td>{escape(cell)}</td>" for cell in (*names, *ends, unit)))
    headings = ("system", "quantity", "face", "observer", "rounds", "least", "greatest", "unit")
    if len(values) > _SHOWN:
        lines.append(f'<td colspan="{len(headings)}">and {len(values) - _SHOWN} more in to_frame()</td>')
    head = "".join(f'<th scope="col">{name}</th>' for name in headings)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return f"{said}<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>"
