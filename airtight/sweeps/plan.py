"""The plan of a sweep: axes, variables, blocks of cells to compute, and digests of what each block depends on."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from airtight.analytics.checks import ParameterError
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.sweeps import batches, quantities
from airtight.sweeps.axes import TABLES, Axis, resolved
from airtight.sweeps.code_version import sources
from airtight.sweeps.parts import Part
from airtight.sweeps.quantities import Place, Quantity
from airtight.sweeps.task import Task
from airtight.system_file import config, units

DEVICE = "device"  # the dimension of variables with one value per device
# cells of a block that is computed as one batch, as one costly batch, and cell by cell
_BATCH_CELLS, _COSTLY_BATCH_CELLS, _SINGLE_CELLS = 4096, 64, 16
_MOST_POINTS = 10**8  # of a grid
_LONGEST_VALUE = 100  # characters of a value that the attributes of a store show
SWEPT = "see the coordinate"  # attribute of a variable for what is an axis
Index = tuple[int, ...]


@dataclass(frozen=True)
class Work:
    """The quantities of one part of the results, on the axes that the part depends on.

    Attributes
    ----------
    part : airtight.sweeps.parts.Part
    quantities : tuple of Quantity
    axes : tuple of Axis
    raw : dict
        The tables that the part reads.
    where : str
        The system file.
    files : mapping
        The contents of the files that these tables name, by their names.
    devices : int
        Length of a variable with one value per device: the greatest number of devices of any cell.
    block : tuple of int
        Cells of a block along each axis.
    digest : str
        Digest of everything that the numbers depend on, except the values of the axes.
    fixed : dict
        The keys of the file on which the numbers depend and that no axis changes, with their values as text.
    """

    part: Part
    quantities: tuple[Quantity, ...]
    axes: tuple[Axis, ...]
    raw: dict[str, Any]
    where: str
    files: Mapping[str, bytes]
    devices: int
    block: tuple[int, ...]
    digest: str
    fixed: dict[str, str]

    @property
    def variables(self) -> dict[str, Place]:
        """All arrays of the quantities, by name."""
        return {name: place for quantity in self.quantities for name, place in quantity.variables.items()}

    @property
    def message(self) -> str:
        """The name of the array that holds the messages of failed cells."""
        return f"{self.part.name}.message"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def cells(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def layout(self, place: Place) -> tuple[tuple[int, ...], tuple[int, ...], list[str]]:
        """Shape, chunks and dimensions of an array."""
        device_dimension = (self.devices,) if place.per_device else ()
        dimensions = [axis.name for axis in self.axes] + ([DEVICE] if device_dimension else [])
        return self.shape + device_dimension, self.block + device_dimension, dimensions

    def blocks(self) -> Iterator[Index]:
        """The index of every block: its position along each axis."""
        return itertools.product(*(range(-(-n // b)) for n, b in zip(self.shape, self.block, strict=True)))

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return int(np.prod([-(-n // b) for n, b in zip(self.shape, self.block, strict=True)], dtype=np.int64))

    def region(self, index: Index) -> tuple[slice, ...]:
        """The slices of the grid that a block covers."""
        corners = zip(index, self.block, self.shape, strict=True)
        return tuple(slice(i * b, min((i + 1) * b, n)) for i, b, n in corners)

    def task(self, index: Index) -> Task:
        """The task that computes a block."""
        axes = tuple(axis.only(part.start, part.stop) for axis, part in zip(self.axes, self.region(index), strict=True))
        places = tuple(self.variables.values())
        return Task(self.part.name, places, self.raw, self.where, self.files, sources(), axes, self.devices)

    def address(self, index: Index, place: Place) -> str:
        """The digest of everything that a block of an array depends on."""
        values = [axis.values for axis in self.task(index).axes]
        return _digest([self.digest, place.path, place.reduction, values])


@dataclass(frozen=True)
class Sweep:
    """A planned sweep.

    Attributes
    ----------
    axes : tuple of Axis
    works : tuple of Work
    attributes : dict
        Attributes of the Dataset.
    raw : dict
        The tables of the system file.
    where : str
        The system file.
    files : mapping
        The contents of the files that the tables name, by their names.
    """

    axes: tuple[Axis, ...]
    works: tuple[Work, ...]
    attributes: dict[str, str]
    raw: dict[str, Any]
    where: str
    files: Mapping[str, bytes]

    def asking(self, names: Sequence[str]) -> Sweep:
        """A sweep of the same systems for other quantities."""
        requested = [quantities.named(name, _tables(self.raw)) for name in names]
        return replace(self, works=_works(requested, self.axes, self.raw, self.where, self.files))

    @property
    def cells(self) -> int:
        """Number of points of the grid."""
        return int(np.prod([axis.size for axis in self.axes], dtype=np.int64))

    def described(self, work: Work, quantity: Quantity, name: str) -> dict[str, Any]:
        """Attributes of a variable in the store."""
        place = quantity.variables[name]
        described_as: dict[str, Any] = {"units": place.units, "quantity": quantity.name, "part": work.part.name}
        described_as["work"] = work.digest
        described_as["place"] = ".".join(filter(None, (place.part, place.path, place.reduction)))
        if name != quantity.name:
            described_as["long_name"] = f"{'lower' if place == quantity.lower else 'upper'} bound of {quantity.name}"
        elif quantity.meaning:
            described_as["long_name"] = quantity.meaning
        if name == quantity.name and (quantity.lower or quantity.upper):
            lower_name = f"{name}_lower" if quantity.lower else name
            described_as["interval"] = f"{lower_name} {f'{name}_upper' if quantity.upper else name}"
        return described_as | _privacy_facts(work, place)


def _privacy_facts(work: Work, place: Place) -> dict[str, str | int]:
    """The adjacency of a privacy number and, where they matter, observer and rounds; empty for other numbers."""
    theorem_claim = place.path.split(".")[-1] != "true_delta"
    match place.part:
        case "federated.central" | "federated.server" | "federated.dropout" if "mse" not in place.path:
            return {"adjacency": Adjacency.REPLACE.value}
        case "inference.privacy.published" if theorem_claim:
            return {"adjacency": Adjacency.ABSENT.value, "rounds": 1}
        case "inference.privacy.observers":
            return {"adjacency": _file_value(work, "adjacency"), "observer": place.path.split(".")[0], "rounds": 1}
        case "inference.channel" if place.path.startswith("epsilon."):
            return {"adjacency": _file_value(work, "adjacency"), "observer": place.path.split(".")[1], "rounds": 1}
        case (
            "inference.privacy.interval"
            | "inference.privacy.delta_at"
            | "inference.channel.interval"
            | "inference.channel.delta_at"
        ):
            return {name: _file_value(work, name) for name in ("adjacency", "observer", "rounds")}
        case name if name.startswith("inference.privacy"):
            return {"adjacency": _file_value(work, "adjacency"), "observer": Observer.AUTO.value, "rounds": 1}
        case "inference.selection" if "privacy" in place.path:
            return {"adjacency": _file_value(work, "adjacency")}
        case _:
            return {}


def _file_value(work: Work, name: str) -> str | int:
    """The value of a key in the file, or a reference to the coordinate where the key is swept."""
    if name in {key.name for axis in work.axes for key in axis.keys}:
        return SWEPT
    default = {"adjacency": Adjacency.ABSENT.value, "observer": Observer.AUTO.value, "rounds": 1}[name]
    value = work.raw["inference"].get(name, default)
    return value if name == "rounds" else str(value)


def planned(
    raw: dict[str, Any],
    where: str,
    files: Mapping[str, bytes],
    over: Mapping[str | tuple[str, ...], Iterable[Any]],
    wanted: Sequence[str] = (),
) -> Sweep:
    """Plan the sweep of the tables `raw` over some keys.

    Parameters
    ----------
    raw : dict
        The tables of the system file.
    where : str
        The system file, for error messages.
    files : mapping
        The contents of the files that the tables name, by their names.
    over : mapping
        See :func:`airtight.sweeps.axes.resolved`.
    wanted : sequence of str
        Quantities; by default the usual ones of the tables that the file has, as far as they depend on an axis.

    Raises
    ------
    ParameterError
        When an axis or a quantity does not exist, when there is no axis, or when no quantity depends on an axis.
    """
    tables = _tables(raw)
    requested = [quantities.named(name, tables) for name in dict.fromkeys(wanted)]
    axes = resolved(over, tables, {table for quantity in requested for table in quantity.part.reads})
    if not axes:
        raise ParameterError("over", {}, "at least one key with values (KEY=VALUES); the product would be empty")
    points = math.prod(axis.size for axis in axes)
    if points > _MOST_POINTS:
        raise ParameterError("over", f"{points:,} points", f"a product of at most {_MOST_POINTS:,}")
    if not wanted:
        usual = [quantities.named(name, tables) for name in quantities.usual(tables)]
        requested = [quantity for quantity in usual if any(_depends(axis, quantity.part) for axis in axes)]
    for axis in axes:
        if not any(_depends(axis, quantity.part) for quantity in requested):
            names = ", ".join(quantity.name for quantity in requested) or "any quantity"
            raise ParameterError(
                "--over", axis.name, f"a key on which a quantity depends; {names} does not depend on this one"
            )
    works = _works(requested, axes, raw, where, files)
    attributes = {
        "title": f"airtight sweep over {', '.join(axis.name for axis in axes)}",
        "airtight_version": _version(),
        "sources": sources(),
        "input": _digest([work.digest for work in works]),
    }
    return Sweep(axes, works, attributes, raw, where, files)


def _works(
    requested: Sequence[Quantity],
    axes: tuple[Axis, ...],
    raw: dict[str, Any],
    where: str,
    files: Mapping[str, bytes],
) -> tuple[Work, ...]:
    parts = {quantity.part.name: quantity.part for quantity in requested}
    return tuple(
        _work(part, tuple(quantity for quantity in requested if quantity.part is part), axes, raw, where, files)
        for part in parts.values()
    )


def _tables(raw: dict[str, Any]) -> list[str]:
    def has_table(name: str) -> bool:
        place: Any = raw
        for part in name.split("."):
            place = place.get(part) if isinstance(place, dict) else None
        return isinstance(place, dict)

    return [name for name in TABLES if has_table(name)]


def _depends(axis: Axis, part: Part) -> bool:
    return any(part.depends_on(key) for key in axis.keys)


def _work(
    part: Part,
    requested: tuple[Quantity, ...],
    axes: tuple[Axis, ...],
    raw: dict[str, Any],
    where: str,
    files: Mapping[str, bytes],
) -> Work:
    """One part with the axes on which it depends, its block size and its digest."""
    relevant_axes = [axis for axis in axes if _depends(axis, part)]
    tables = _read(part, raw)
    swept = {(key.table, key.meaning) for axis in relevant_axes for key in axis.keys if key.index is None}
    devices = _devices(part, tables, relevant_axes)
    places = tuple(place for quantity in requested for place in quantity.variables.values())
    named = config.named_files(tables)
    files = {name: files[name] for name in named.values()}
    all_cells = Task(part.name, places, tables, where, files, sources(), tuple(relevant_axes), devices)
    first_cell = replace(all_cells, axes=tuple(axis.only(0, 1) for axis in relevant_axes))
    cells = _SINGLE_CELLS
    if batches.batch(first_cell) is not None:
        cells = _COSTLY_BATCH_CELLS if batches.costly(all_cells) else _BATCH_CELLS
    content: dict[str, Any] = {
        "part": part.name,
        "sources": sources(),
        "tables": {name: _fixed(name, tables, part, swept) for name in part.reads},
        "files": {key: hashlib.sha256(files[name]).hexdigest() for key, name in named.items()},
        "keys": [[key.label for key in axis.keys] for axis in relevant_axes],
    }
    fixed = {f"{name}.{key}": _text(value) for name, row in content["tables"].items() for key, value in row.items()}
    fixed |= {key.removeprefix("inference."): digest[:16] for key, digest in content["files"].items()}
    block = _block_shape([axis.size for axis in relevant_axes], cells)
    return Work(part, requested, tuple(relevant_axes), tables, where, files, devices, block, _digest(content), fixed)


def _text(value: Any) -> str:
    """A value of the file as text; of a long one its digest."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else f"{type(value).__name__} {_digest(value)[:16]}"


def _read(part: Part, raw: dict[str, Any]) -> dict[str, Any]:
    """The tables that a part reads, without the nested tables that it does not read."""
    out: dict[str, Any] = {}
    for name in part.reads:
        outer, _, inner = name.partition(".")
        if inner:
            out[outer][inner] = raw[outer][inner]
        else:
            nested = {"variants", "features", "selection", "channel"} if outer == "inference" else set()
            out[outer] = {key: value for key, value in raw[outer].items() if key not in nested}
    return out


def _fixed(name: str, tables: dict[str, Any], part: Part, swept: set[tuple[str, str]]) -> dict[str, Any]:
    """The keys of a table on which the numbers depend and which no axis changes."""
    outer, _, inner = name.partition(".")
    table = tables[outer][inner] if inner else tables[outer]
    fixed_values = {}
    for key, value in table.items():
        meaning = units.linear_key(key)
        if (
            not (isinstance(value, dict) and name == "inference")
            and meaning not in part.ignores
            and (name, meaning) not in swept
        ):
            fixed_values[key] = value
    return fixed_values


def _devices(part: Part, tables: dict[str, Any], axes: Sequence[Axis]) -> int:
    """The greatest number of devices of any cell."""
    if part.reads[0] == "energy":
        lists = [value for key, value in tables["energy"].items() if isinstance(value, list) and key != "beta"]
        lists += [value for value in tables["energy"].get("beta", []) if isinstance(value, list)]
        return max((len(value) for value in lists), default=1)
    columns = [
        column for axis in axes for key, column in zip(axis.keys, axis.values, strict=True) if key.name == "devices"
    ]
    swept = [int(count) for column in columns for count in column]
    return max(swept) if swept else int(tables.get(part.reads[0], {}).get("devices", 1))


def _block_shape(shape: Sequence[int], cells: int) -> tuple[int, ...]:
    """The shape of a block of at most `cells` cells; it covers the last axes completely first."""
    block = []
    for size in reversed(shape):
        block.append(max(min(size, cells), 1))
        cells //= block[-1]
    return tuple(reversed(block))


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _version() -> str:
    try:
        return version("airtight-dp")
    except PackageNotFoundError:
        return "unknown"
