"""The axes of a sweep: keys of the system file and the values that each key takes."""

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
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.system import InferenceSystem
from airtight.system_file import units
from airtight.system_file.config import keys
from airtight.system_file.tables import meant
from airtight.validate import untrusted

Value = float | int | bool | str
TABLES = ("inference", "inference.features", "inference.selection", "inference.channel", "federated", "energy")
QUESTIONS = {"at_epsilon": "inference"}  # keys of a sweep that no system file has; at_epsilon: where delta is computed
_NO_AXES = {
    "variants",
    "features",
    "selection",
    "channel",
    "eavesdropper",
    "file",
    "table",
}  # keys that hold tables, or the name of a file
_TYPES: dict[str, type] = {
    "inference": InferenceSystem,
    "inference.channel": Channel,
    "federated": FederatedSystem,
    "energy": DeviceFleet,
}
_KEY = re.compile(r"([A-Za-z_.0-9]+?)(?:\[([0-9]+)\])?")  # "table.key" or "key[3]"


@dataclass(frozen=True)
class Key:
    """A key of a table of the system file, or one entry of the list that it holds.

    Attributes
    ----------
    table, name : str
    index : int or None
        Position of the entry in the list; None for the whole key.
    label : str
        The key as the user wrote it.
    """

    table: str
    name: str
    index: int | None
    label: str

    @property
    def meaning(self) -> str:
        """The linear key that a key in dB stands for; the name itself for any other key."""
        return units.linear_key(self.name)

    @property
    def declared(self) -> parameters.Parameter[Any, Any] | None:
        """The declaration of the parameter in its value type; None where there is none."""
        if self.table not in _TYPES:
            return None
        name = f"beta_{self.index + 1}" if self.name == "beta" and self.index is not None else self.name
        return parameters.of(_TYPES[self.table]).get(name)

    @property
    def attributes(self) -> dict[str, str]:
        """Unit, symbol and meaning, as attributes of a coordinate of the Dataset."""
        row = self.declared
        unit = units.ALTERNATIVES[self.name][2] if self.name in units.ALTERNATIVES else (row.unit if row else "")
        known = {"units": unit or "1", "table": self.table}
        if row is not None:
            known |= {"symbol": row.symbol, "long_name": re.split("[;:]", row.meaning)[0], "allowed": row.interval}
        return {name: text for name, text in known.items() if text}


@dataclass(frozen=True)
class Axis:
    """One dimension of the grid: a key, or several keys that change together, and the values of each.

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
        """Name of the dimension: the label of its first key."""
        return self.keys[0].label

    @property
    def size(self) -> int:
        return len(self.values[0])

    def only(self, start: int, stop: int) -> Axis:
        """The same axis with the points from `start` up to, not including, `stop`."""
        return Axis(self.keys, tuple(each[start:stop] for each in self.values))


def parsed(
    texts: Iterable[str], together: Iterable[str] = (), *, option: str = "--over"
) -> dict[str | tuple[str, ...], Sequence[Any]]:
    """Read axes from the command line: ``KEY=VALUES``, and lists ``KEY,KEY`` of keys that change together.

    ``a:b:n`` stands for n values from a to b, ``a:b:n:log`` for n values with equal ratios. Commas separate
    single values and such ranges.

    Parameters
    ----------
    texts, together : iterable of str
    option : str
        The command-line option that gave `texts`, for error messages.

    Raises
    ------
    ParameterError
        When a text cannot be read; the message quotes it.

    Examples
    --------
    >>> parsed(["participation=0.5:1:3", "dimension=1,8", "clip=1,2"], ["dimension,clip"])
    {'participation': [0.5, 0.75, 1.0], ('dimension', 'clip'): [(1, 1), (8, 2)]}
    """
    values_of: dict[str, list[Value]] = {}
    for text in texts:
        key, sign, values = text.partition("=")
        if not sign or not key:
            raise ParameterError(option, text, "KEY=VALUES, such as participation=0.1:1:10 or adjacency=absent,silent")
        if key in values_of:
            raise ParameterError(option, text, f"given once; {key} occurs twice")
        values_of[key] = [
            value for part in values.split(",") if part.strip() for value in _range_values(key, part.strip(), option)
        ]
        if not values_of[key]:
            raise ParameterError(option, text, "at least one value; the product would be empty")
    axes: dict[Any, Sequence[Any]] = dict(values_of)
    for text in together:
        group = tuple(part.strip() for part in text.split(","))
        missing = [key for key in group if key not in axes]
        if missing or len(group) < 2 or len(set(group)) < len(group):
            raise ParameterError(
                "--zip", text, f"two or more of the keys that are swept, each in one --zip: {', '.join(values_of)}"
            )
        columns = [axes.pop(key) for key in group]
        if len({len(column) for column in columns}) > 1:
            counts = ", ".join(f"{key} has {len(column)}" for key, column in zip(group, columns, strict=True))
            raise ParameterError("--zip", text, f"of equal length: {counts}")
        axes[group] = list(zip(*columns, strict=True))
    return axes


_MOST = 10**7  # values of an axis


def _range_values(key: str, text: str, option: str) -> list[Value]:
    parts = text.split(":")
    if len(parts) == 1:
        return [_value(text)]
    try:
        first, last, count = untrusted.number(parts[0]), untrusted.number(parts[1]), untrusted.whole(parts[2])
        spread = np.geomspace if parts[3:] == ["log"] else np.linspace if not parts[3:] else None
        if spread is None or not 1 <= count <= _MOST or not np.isfinite([first, last]).all():
            raise ValueError
        if spread is np.geomspace and not first * last > 0:
            raise ValueError
    except (ValueError, IndexError):
        raise ParameterError(
            option,
            f"{key}={text}",
            f"FIRST:LAST:COUNT or FIRST:LAST:COUNT:log (of one sign), COUNT at least 1 and at most {_MOST}",
        ) from None
    return [float(value) for value in spread(first, last, count)]


def _value(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    for convert in (untrusted.whole, untrusted.number):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def resolved(
    over: Mapping[str | tuple[str, ...], Iterable[Any]], present: Iterable[str], meant_for: Iterable[str] = ()
) -> tuple[Axis, ...]:
    """Axes from a mapping: from a key, or from a tuple of keys that change together, to values.

    Parameters
    ----------
    over : mapping
        From ``"participation"`` to values, from ``("clip", "weight")`` to pairs.
    present : iterable of str
        The tables that the system file has.
    meant_for : iterable of str
        The tables that the requested quantities read: a key that occurs in several tables is taken from these.

    Raises
    ------
    ParameterError
        When a key is unknown, ambiguous or swept twice, or when its values are none, not allowed or not distinct.
    """
    tables = [table for table in TABLES if table in set(present)]
    preferred = set(meant_for)
    axes = tuple(_axis(given, list(values), tables, preferred) for given, values in over.items())
    swept = [(key.table, key.meaning, key.index) for axis in axes for key in axis.keys]
    for axis in axes:
        for key in axis.keys:
            # a key must not be swept both as a whole and by entries, nor one entry twice
            same_key = [other for other in swept if other[:2] == (key.table, key.meaning)]
            whole_key = len(same_key) > 1 and any(index is None for *_, index in same_key)
            if whole_key or len(set(same_key)) < len(same_key):
                raise ParameterError("over", key.label, "swept once")
    return axes


def _axis(label_or_labels: str | tuple[str, ...], values: list[Any], tables: list[str], preferred: set[str]) -> Axis:
    labels = (label_or_labels,) if isinstance(label_or_labels, str) else tuple(label_or_labels)
    name = ", ".join(labels)
    if not labels or not values:
        raise ParameterError("over", name, "a key with at least one value; the product would be empty")
    axis_keys = tuple(_key(label, tables, preferred) for label in labels)
    rows = [(value,) if isinstance(label_or_labels, str) else tuple(value) for value in values]
    if any(len(row) != len(labels) for row in rows):
        raise ParameterError(
            name, next(row for row in rows if len(row) != len(labels)), f"{len(labels)} values per point"
        )
    columns = tuple(_checked(key, [row[i] for row in rows]) for i, key in enumerate(axis_keys))
    points = list(zip(*columns, strict=True))
    if len(set(points)) < len(points):
        duplicate = next(point for point in points if points.count(point) > 1)
        raise ParameterError(name, duplicate[0] if len(duplicate) == 1 else duplicate, "listed once")
    return Axis(axis_keys, columns)


def _key(label: str, tables: list[str], preferred: set[str]) -> Key:
    matched = _KEY.fullmatch(label)
    path, index = (matched[1], matched[2]) if matched else (label, None)
    table, _, name = path.rpartition(".")
    known = {each: _sweepable_keys(each) for each in tables}
    matching_tables = [each for each in tables if name in known[each] and table in ("", each)]
    matching_tables = [
        matching_table for matching_table in matching_tables if matching_table in preferred
    ] or matching_tables
    if len(matching_tables) > 1:
        raise ParameterError(
            "over", label, "one of " + ", ".join(f"{matching_table}.{name}" for matching_table in matching_tables)
        )
    if not matching_tables:
        candidates = sorted({key for each in tables if table in ("", each) for key in known[each]} or set(tables))
        raise ParameterError("over", label, f"a key of the system file; {meant(name or label, candidates)}")
    if name == "beta" and index not in ("0", "1"):
        raise ParameterError("over", label, "beta[0] or beta[1]")
    return Key(matching_tables[0], name, None if index is None else int(index), label)


def _sweepable_keys(table: str) -> list[str]:
    questions = [name for name, home in QUESTIONS.items() if home == table]
    return [key for key in [*keys(table.split(".")), *questions] if key not in _NO_AXES]


def _checked(key: Key, values: list[Any]) -> tuple[Value, ...]:
    """The values as plain Python objects, as TOML would hold them, each checked on its own."""
    scalars = [value.item() if isinstance(value, np.generic) else value for value in values]
    for value in scalars:
        if not isinstance(value, float | int | bool | str):
            raise ParameterError(
                key.label, value, "one number or name; a list with a value per device belongs in the system file"
            )
    row = key.declared
    if isinstance(row, parameters.Count):
        counts = [int(v) if isinstance(v, float) and v.is_integer() else v for v in scalars]
        return tuple(checks.count(key.label, v, row.interval) for v in counts)
    if isinstance(row, parameters.Number | parameters.Vector):
        for text in (value for value in scalars if isinstance(value, str)):
            raise ParameterError(key.label, text, f"a number in {row.interval}")
        return tuple(checks.real(key.label, scalars, row.interval).tolist())
    if row is not None:
        for value in dict.fromkeys(scalars):
            try:
                row.checked(value)
            except ParameterError as error:
                raise ParameterError(key.label, error.value, error.allowed) from None
    elif any(isinstance(value, float) and not np.isfinite(value) for value in scalars):
        raise ParameterError(
            key.label, next(v for v in scalars if isinstance(v, float) and not np.isfinite(v)), "finite"
        )
    types = {str if isinstance(v, str) else bool if isinstance(v, bool) else float for v in scalars}
    if len(types) > 1:
        raise ParameterError(key.label, values, "all numbers, all names or all booleans")
    return tuple(scalars)


def changed(raw: dict[str, Any], keys: Sequence[Key], values: Sequence[Value]) -> dict[str, Any]:
    """A copy of the tables in which the keys have these values; tables that do not change are shared with `raw`.

    Raises
    ------
    ParameterError
        When a key with an index names an entry that its list does not have.
    """
    out = dict(raw)
    for key, value in zip(keys, values, strict=True):
        *outer, last = key.table.split(".")
        parent = out
        for name in outer:
            parent[name] = dict(parent[name])
            parent = parent[name]
        table = dict(parent[last])
        parent[last] = table
        if key.index is None:
            for old_name in [old_name for old_name in table if units.linear_key(old_name) == key.meaning]:
                del table[old_name]
            table[key.name] = value
        else:
            table[key.name] = _with_entry(table, key, value)
    return out


def _with_entry(table: dict[str, Any], key: Key, value: Value) -> list[Any]:
    row = key.declared
    entries = table.get(key.name, None if row is None or row.required else row.default)
    if not isinstance(entries, list):
        length = table.get("devices") if entries is not None else None
        if not isinstance(length, int):
            raise ParameterError(key.label, value, f"an entry of a list; {key.name} is no list")
        entries = [entries] * length
    if not key.index < len(entries):  # type: ignore[operator]
        raise ParameterError(key.label, value, f"one of the {len(entries)} entries of {key.name}")
    return [value if i == key.index else entry for i, entry in enumerate(entries)]
