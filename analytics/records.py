"""Base class of results: comparison by value, conversion to JSON, display in a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from html import escape
from typing import Any

import numpy as np

from airtight.analytics.tidy import Tabular

_FEW = 6  # entries of an array that are displayed


class Record(Tabular):
    """Base class of dataclasses of results; with ``eq=False`` they use the comparison of this class, which handles
    arrays.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(frozen=True, eq=False)
    ... class Found(Record):
    ...     w: np.ndarray
    ...     gap: float
    >>> found = Found(np.array([0.5, np.inf]), 1e-12)
    >>> found == Found(np.array([0.5, np.inf]), 1e-12), found == Found(np.array([0.5, 1.0]), 1e-12)
    (True, False)
    >>> found.to_dict()
    {'w': [0.5, 'inf'], 'gap': 1e-12}
    >>> found._repr_html_()[:68]
    '<table><caption>Found</caption><tr><td><code>w</code></td><td>0.5, i'
    """

    def to_dict(self) -> dict[str, Any]:
        """The values by name, suitable for JSON: arrays become lists, infinite and NaN values become strings."""
        return {name: plain(value) for name, value in _fields_of(self)}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        compared = {field.name for field in fields(self) if field.compare}  # type: ignore[arg-type]
        pairs = zip(_fields_of(self), _fields_of(other), strict=True)
        return all(_same(a, b) for (name, a), (_, b) in pairs if name in compared)

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        return table(type(self).__name__, [(name, format_value(value)) for name, value in _fields_of(self)])


def table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """An HTML table of names and texts.

    Examples
    --------
    >>> table("Found", [("gap", "< 1e-9")])
    '<table><caption>Found</caption><tr><td><code>gap</code></td><td>&lt; 1e-9</td></tr></table>'
    """
    body = "".join(f"<tr><td><code>{escape(name)}</code></td><td>{escape(text)}</td></tr>" for name, text in rows)
    return f"<table><caption>{escape(caption)}</caption>{body}</table>"


def _fields_of(record: Any) -> Iterator[tuple[str, Any]]:
    return ((field.name, getattr(record, field.name)) for field in fields(record) if field.repr)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(plain(a) == plain(b))
    if is_dataclass(a) and type(a) is type(b):
        return all(_same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a) if field.compare)
    return bool(a == b)


def plain(value: Any) -> Any:
    """Convert a value to a tree that strict JSON can hold.

    Examples
    --------
    >>> plain((np.float64(1.0), float("nan"), {"a": np.arange(2)}))
    [1.0, 'nan', {'a': [0, 1]}]
    """
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(item) for name, item in _fields_of(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def format_value(value: Any) -> str:
    """Text of a value in one line: four digits, and the first entries of an array.

    Examples
    --------
    >>> format_value(np.linspace(0, 1, 100)), format_value(2 / 3), format_value(None)
    ('0, 0.0101, 0.0202, 0.0303, 0.0404, 0.05051, ... (100)', '0.6667', '-')
    """
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    if isinstance(value, list | tuple):
        return ", ".join(map(format_value, value[:_FEW])) + (f", ... ({len(value)})" if len(value) > _FEW else "")
    if hasattr(value, "_repr_html_"):
        return type(value).__name__
    if is_dataclass(value):
        return "; ".join(f"{name} {format_value(item)}" for name, item in _fields_of(value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return "-" if value is None else str(value.value if isinstance(value, Enum) else value)
