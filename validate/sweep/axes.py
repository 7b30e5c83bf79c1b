"""What is swept: keys of the system file and the values that each takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from airtight.analytics import checks, parameters
from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference.system import InferenceSystem
from airtight.validate.system_file import units
from airtight.validate.system_file.config import keys, meant

Value = float | int | bool | str
TABLES = ("inference", "inference.features", "inference.selection", "federated", "energy")
QUESTIONS = {"at_epsilon": "inference"}  # asked of a system, and in no file: where delta is taken
_NO_AXES = {"variants", "features", "selection", "file"}
_TYPES: dict[str, type] = {"inference": InferenceSystem, "federated": FederatedSystem, "energy": DeviceFleet}
_KEY = re.compile(r"([A-Za-z_.0-9]+?)(?:\[(\d+)\])?")


@dataclass(frozen=True)
class Key:
    """A key of a table, or one entry of its list.

    Attributes
    ----------
    table, name : str
    index : int or None
    label : str
        As it was given.
    """

    table: str
    name: str
    index: int | None
    label: str

    @property
    def meaning(self) -> str:
        """The linear key that one in dB stands for, or itself."""
        return units.ALTERNATIVES[self.name][0] if self.name in units.ALTERNATIVES else self.name

    @property
    def declared(self) -> parameters.Parameter[Any, Any] | None:
        """How a value type declares it."""
        if self.table not in _TYPES:
            return None
        name = f"beta_{self.index + 1}" if self.name == "beta" and self.index is not None else self.name
        return parameters.of(_TYPES[self.table]).get(name)

    @property
    def attributes(self) -> dict[str, str]:
        """Unit, symbol and meaning, for a coordinate."""
        row = self.declared
        unit = units.ALTERNATIVES[self.name][2] if self.name in units.ALTERNATIVES else (row.unit if row else "")
        known = {"units": unit or "1", "table": self.table}
        if row is not None:
            known |= {"symbol": row.symbol, "long_name": row.meaning, "allowed": row.interval}
        return {name: text for name, text in known.items() if text}


@dataclass(frozen=True)
class Axis:
    """One dimension: a key, or several that move together, and the values of each.

    Attributes
    ----------
    keys : tuple of Key
    values : tuple of tuple
        One tuple of values for each key.
    """

    keys: tuple[Key, ...]
    values: tuple[tuple[Value, ...], ...]

    @property
    def name(self) -> str:
        """Of the dimension: its first key."""
        return self.keys[0].label

    @property
    def size(self) -> int:
        return len(self.values[0])

    def only(self, start: int, stop: int) -> Axis:
        """A stretch of it."""
        return Axis(self.keys, tuple(each[start:stop] for each in self.values))


def parsed(
    texts: Iterable[str], together: Iterable[str] = (), *, option: str = "--over"
) -> dict[str | tuple[str, ...], Sequence[Any]]:
    """Axes from the command line: ``KEY=VALUES``, and lists ``KEY,KEY`` of those that move together; `option` gave them.

    ``a:b:n`` are n values from a to b, ``a:b:n:log`` with equal ratios; commas separate values and stretches.

    Raises
    ------
    ParameterError
        Naming what cannot be read.

    Examples
    --------
    >>> parsed(["participation=0.5:1:3", "dimension=1,8", "clip=1,2"], ["dimension,clip"])
    {'participation': [0.5, 0.75, 1.0], ('dimension', 'clip'): [(1, 1), (8, 2)]}
    """
    found: dict[str, list[Value]] = {}
    for text in texts:
        key, sign, values = text.partition("=")
        if not sign or not key:
            raise ParameterError(option, text, "KEY=VALUES, such as participation=0.1:1:10 or adjacency=absent,silent")
        if key in found:
            raise ParameterError(option, text, f"given once; {key} is there twice")
        found[key] = [
            value for part in values.split(",") if part.strip() for value in _values(key, part.strip(), option)
        ]
        if not found[key]:
            raise ParameterError(option, text, "at least one value; the product would be empty")
    axes: dict[Any, Sequence[Any]] = dict(found)
    for text in together:
        group = tuple(part.strip() for part in text.split(","))
        missing = [key for key in group if key not in axes]
        if missing or len(group) < 2 or len(set(group)) < len(group):
            raise ParameterError(
                "--zip", text, f"two or more of the keys that are swept, each in one --zip: {', '.join(found)}"
            )
        columns = [axes.pop(key) for key in group]
        if len({len(column) for column in columns}) > 1:
            counts = ", ".join(f"{key} has {len(column)}" for key, column in zip(group, columns, strict=True))
            raise ParameterError("--zip", text, f"of equal length: {counts}")
        axes[group] = list(zip(*columns, strict=True))
    return axes


def _values(key: str, text: str, option: str) -> list[Value]:
    parts = text.split(":")
    if len(parts) == 1:
        return [_value(text)]
    try:
        first, last, count = float(parts[0]), float(parts[1]), int(parts[2])
        spread = np.geomspace if parts[3:] == ["log"] else np.linspace if not parts[3:] else None
        if spread is None or count < 1 or not np.isfinite([first, last]).all():
            raise ValueError
        if spread is np.geomspace and not first * last > 0:
            raise ValueError
    except (ValueError, IndexError):
        raise ParameterError(
            option, f"{key}={text}", "FIRST:LAST:COUNT or FIRST:LAST:COUNT:log (of one sign), COUNT at least 1"
        ) from None
    return [float(value) for value in spread(first, last, count)]


def _value(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def resolved(
    over: Mapping[str | tuple[str, ...], Iterable[Any]], present: Iterable[str], meant_for: Iterable[str] = ()
) -> tuple[Axis, ...]:
    """Axes from a mapping of keys, or of tuples of keys that move together, to their values.

    Parameters
    ----------
    over : mapping
        From ``"participation"`` to values, from ``("clip", "weight")`` to pairs.
    present : iterable of str
        The tables that there are.
    meant_for : iterable of str
        Those that the quantities asked for read: a key that stands in several tables is of these.

    Raises
    ------
    ParameterError
        For a key that is unknown, ambiguous or swept twice, for no value, for one that is not allowed or there twice.
    """
    tables = [table for table in TABLES if table in set(present)]
    first = set(meant_for)
    axes = tuple(_axis(given, list(values), tables, first) for given, values in over.items())
    swept = [(key.table, key.meaning, key.index) for axis in axes for key in axis.keys]
    for axis in axes:
        for key in axis.keys:
            same = [other for other in swept if other[:2] == (key.table, key.meaning)]
            whole = len(same) > 1 and any(index is None for *_, index in same)
            if whole or len(set(same)) < len(same):
                raise ParameterError("over", key.label, "swept once")
    return axes


def _axis(given: str | tuple[str, ...], values: list[Any], tables: list[str], first: set[str]) -> Axis:
    labels = (given,) if isinstance(given, str) else tuple(given)
    name = ", ".join(labels)
    if not labels or not values:
        raise ParameterError("over", name, "with at least one value; the product would be empty")
    found = tuple(_key(label, tables, first) for label in labels)
    rows = [(value,) if isinstance(given, str) else tuple(value) for value in values]
    if any(len(row) != len(labels) for row in rows):
        raise ParameterError(
            name, next(row for row in rows if len(row) != len(labels)), f"{len(labels)} values a point"
        )
    columns = tuple(_checked(key, [row[i] for row in rows]) for i, key in enumerate(found))
    points = list(zip(*columns, strict=True))
    if len(set(points)) < len(points):
        twice = next(point for point in points if points.count(point) > 1)
        raise ParameterError(name, twice[0] if len(twice) == 1 else twice, "there once")
    return Axis(found, columns)


def _key(label: str, tables: list[str], first: set[str]) -> Key:
    matched = _KEY.fullmatch(label)
    path, index = (matched[1], matched[2]) if matched else (label, None)
    table, _, name = path.rpartition(".")
    known = {each: _swept(each) for each in tables}
    homes = [each for each in tables if name in known[each] and table in ("", each)]
    homes = [home for home in homes if home in first] or homes
    if len(homes) > 1:
        raise ParameterError("over", label, "one of " + ", ".join(f"{home}.{name}" for home in homes))
    if not homes:
        everything = sorted({key for each in tables if table in ("", each) for key in known[each]} or set(tables))
        raise ParameterError("over", label, f"a key of the system file; {meant(name or label, everything)}")
    if name == "beta" and index not in ("0", "1"):
        raise ParameterError("over", label, "beta[0] or beta[1]")
    return Key(homes[0], name, None if index is None else int(index), label)


def _swept(table: str) -> list[str]:
    asked = [name for name, home in QUESTIONS.items() if home == table]
    return [key for key in [*keys(table.split(".")), *asked] if key not in _NO_AXES]


def _checked(key: Key, values: list[Any]) -> tuple[Value, ...]:
    """The values as TOML would hold them, each allowed for itself."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    for value in plain:
        if not isinstance(value, float | int | bool | str):
            raise ParameterError(key.label, value, "one number or name; a list for each device stays in the file")
    row = key.declared
    if isinstance(row, parameters.Count):
        whole = [int(v) if isinstance(v, float) and v.is_integer() else v for v in plain]
        return tuple(checks.count(key.label, v, row.interval) for v in whole)
    if isinstance(row, parameters.Number | parameters.Vector):
        return tuple(checks.real(key.label, plain, row.interval).tolist())
    if row is not None:
        for value in dict.fromkeys(plain):
            try:
                row.checked(value)
            except ParameterError as error:
                raise ParameterError(key.label, error.value, error.allowed) from None
    elif any(isinstance(value, float) and not np.isfinite(value) for value in plain):
        raise ParameterError(key.label, next(v for v in plain if isinstance(v, float) and not np.isfinite(v)), "finite")
    kinds = {str if isinstance(v, str) else bool if isinstance(v, bool) else float for v in plain}
    if len(kinds) > 1:
        raise ParameterError(key.label, values, "of one kind: numbers, or names")
    return tuple(plain)


def changed(raw: dict[str, Any], keys: Sequence[Key], values: Sequence[Value]) -> dict[str, Any]:
    """The tables with other values; what is not changed is shared.

    Raises
    ------
    ParameterError
        When an entry is asked of a list that has none such.
    """
    out = dict(raw)
    for key, value in zip(keys, values, strict=True):
        *outer, last = key.table.split(".")
        place = out
        for name in outer:
            place[name] = dict(place[name])
            place = place[name]
        table = dict(place[last])
        place[last] = table
        if key.index is None:
            for form in [form for form in table if _meaning(form) == key.meaning]:
                del table[form]
            table[key.name] = value
        else:
            table[key.name] = _with_entry(table, key, value)
    return out


def _meaning(name: str) -> str:
    return units.ALTERNATIVES[name][0] if name in units.ALTERNATIVES else name


def _with_entry(table: dict[str, Any], key: Key, value: Value) -> list[Any]:
    row = key.declared
    held = table.get(key.name, None if row is None or row.required else row.default)
    if not isinstance(held, list):
        length = table.get("devices") if held is not None else None
        if not isinstance(length, int):
            raise ParameterError(key.label, value, f"an entry of a list; {key.name} is none")
        held = [held] * length
    if not key.index < len(held):  # type: ignore[operator]
        raise ParameterError(key.label, value, f"one of the {len(held)} entries of {key.name}")
    return [value if i == key.index else old for i, old in enumerate(held)]
