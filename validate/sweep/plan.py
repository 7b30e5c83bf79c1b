"""A sweep before it runs: its axes, its variables, the blocks they are computed in, and what each block depends on."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from airtight.analytics.checks import ParameterError
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.validate.sweep import batches, quantities
from airtight.validate.sweep.axes import TABLES, Axis, resolved
from airtight.validate.sweep.parts import Part
from airtight.validate.sweep.quantities import Place, Quantity
from airtight.validate.sweep.task import Task
from airtight.validate.system_file import units

DEVICE = "device"  # the dimension of what is one number a device
_TOGETHER, _HIDING, _ALONE = 4096, 64, 16  # cells of a block: solved together, together but slowly, each for itself
_CODE = ("analytics", "solvers", "validate/results", "validate/sweep")
Index = tuple[int, ...]


@dataclass(frozen=True)
class Work:
    """What is computed of one part of the results, on the axes that it depends on.

    Attributes
    ----------
    part : airtight.validate.sweep.parts.Part
    quantities : tuple of Quantity
    axes : tuple of Axis
    raw : dict
        The tables that it reads.
    where : str
    devices : int
    block : tuple of int
        Cells of a block along each axis.
    digest : str
        Of everything that its numbers depend on but the values of the axes.
    """

    part: Part
    quantities: tuple[Quantity, ...]
    axes: tuple[Axis, ...]
    raw: dict[str, Any]
    where: str
    devices: int
    block: tuple[int, ...]
    digest: str

    @property
    def variables(self) -> dict[str, Place]:
        """All arrays, by name."""
        return {name: place for quantity in self.quantities for name, place in quantity.variables.items()}

    @property
    def message(self) -> str:
        """The name of the array that says why cells have failed."""
        return f"{self.part.name}.message"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def cells(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def layout(self, place: Place) -> tuple[tuple[int, ...], tuple[int, ...], list[str]]:
        """Shape, chunks and dimensions of an array."""
        more = (self.devices,) if place.per_device else ()
        dimensions = [axis.name for axis in self.axes] + ([DEVICE] if more else [])
        return self.shape + more, self.block + more, dimensions

    def blocks(self) -> Iterator[Index]:
        """The numbers of all blocks."""
        return itertools.product(*(range(-(-n // b)) for n, b in zip(self.shape, self.block, strict=True)))

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return int(np.prod([-(-n // b) for n, b in zip(self.shape, self.block, strict=True)], dtype=np.int64))

    def region(self, index: Index) -> tuple[slice, ...]:
        """Where a block lies."""
        corners = zip(index, self.block, self.shape, strict=True)
        return tuple(slice(i * b, min((i + 1) * b, n)) for i, b, n in corners)

    def task(self, index: Index) -> Task:
        """The block's task."""
        axes = tuple(axis.only(part.start, part.stop) for axis, part in zip(self.axes, self.region(index), strict=True))
        return Task(self.part.name, tuple(self.variables.values()), self.raw, self.where, axes, self.devices)

    def address(self, index: Index, place: Place) -> str:
        """The digest of everything that a block of an array depends on."""
        values = [axis.values for axis in self.task(index).axes]
        return _digest([self.digest, place.path, place.reduction, values])


@dataclass(frozen=True)
class Sweep:
    """All of it.

    Attributes
    ----------
    axes : tuple of Axis
    works : tuple of Work
    attributes : dict
        Of the Dataset.
    """

    axes: tuple[Axis, ...]
    works: tuple[Work, ...]
    attributes: dict[str, Any]
    raw: dict[str, Any]
    where: str

    def asking(self, names: Sequence[str]) -> Sweep:
        """Of the same systems, other quantities."""
        asked = [quantities.named(name, _tables(self.raw)) for name in names]
        return replace(self, works=_works(asked, self.axes, self.raw, self.where))

    @property
    def cells(self) -> int:
        """Points of the grid."""
        return int(np.prod([axis.size for axis in self.axes], dtype=np.int64))

    def described(self, work: Work, quantity: Quantity, name: str) -> dict[str, Any]:
        """Attributes of a variable."""
        place = quantity.variables[name]
        known: dict[str, Any] = {"units": place.units, "quantity": quantity.name, "work": work.digest}
        known["place"] = ".".join(filter(None, (place.part, place.path, place.reduction)))
        if name != quantity.name:
            known["long_name"] = f"{'lower' if place == quantity.lower else 'upper'} end of {quantity.name}"
        elif quantity.meaning:
            known["long_name"] = quantity.meaning
        if name == quantity.name and (quantity.lower or quantity.upper):
            low = f"{name}_lower" if quantity.lower else name
            known["interval"] = f"{low} {f'{name}_upper' if quantity.upper else name}"
        return known | _against(work, place)


def _against(work: Work, place: Place) -> dict[str, str]:
    """Which neighbours a privacy number speaks of and, where it matters, which observer."""
    claimed = place.path.split(".")[-1] != "true_delta"
    match place.part:
        case "federated.central" | "federated.server" | "federated.dropout" if "mse" not in place.path:
            return {"adjacency": Adjacency.REPLACE.value}
        case "inference.privacy.published" if claimed:
            return {"adjacency": Adjacency.ABSENT.value}
        case "inference.privacy.observers":
            return {"adjacency": _given(work, "adjacency"), "observer": place.path.split(".")[0]}
        case "inference.privacy.interval" | "inference.privacy.delta_at":
            return {"adjacency": _given(work, "adjacency"), "observer": _given(work, "observer")}
        case name if name.startswith("inference.privacy"):
            return {"adjacency": _given(work, "adjacency"), "observer": Observer.AUTO.value}
        case "inference.selection" if "privacy" in place.path:
            return {"adjacency": _given(work, "adjacency")}
        case _:
            return {}


def _given(work: Work, name: str) -> str:
    """What the file says, or that it is swept."""
    if name in {key.name for axis in work.axes for key in axis.keys}:
        return "see the coordinate"
    default = Observer.AUTO if name == "observer" else Adjacency.ABSENT
    return str(work.raw["inference"].get(name, default.value))


def planned(
    raw: dict[str, Any], where: str, over: Mapping[str | tuple[str, ...], Iterable[Any]], wanted: Sequence[str] = ()
) -> Sweep:
    """The sweep of the tables `raw` over some keys.

    Parameters
    ----------
    raw : dict
        Of the system file.
    where : str
        The file, which those that it names are relative to.
    over : mapping
        See :func:`airtight.validate.sweep.axes.resolved`.
    wanted : sequence of str
        Quantities; by default the usual ones of the tables that there are, as far as they depend on an axis.

    Raises
    ------
    ParameterError
        For an axis or a quantity that there is not, for no axis, and for an axis on which nothing depends.
    """
    tables = _tables(raw)
    asked = [quantities.named(name, tables) for name in dict.fromkeys(wanted)]
    axes = resolved(over, tables, {table for one in asked for table in one.part.reads})
    if not axes:
        raise ParameterError("over", {}, "at least one key with values (KEY=VALUES); the product would be empty")
    if not wanted:
        usual = [quantities.named(name, tables) for name in quantities.usual(tables)]
        asked = [one for one in usual if any(_matters(axis, one.part) for axis in axes)]
    for axis in axes:
        if not any(_matters(axis, one.part) for one in asked):
            names = ", ".join(one.name for one in asked) or "any quantity"
            raise ParameterError(
                "--over", axis.name, f"a key on which a quantity depends; {names} does not on this one"
            )
    works = _works(asked, axes, raw, where)
    attributes = {
        "title": f"airtight sweep over {', '.join(axis.name for axis in axes)}",
        "airtight_version": _version(),
        "sources": sources(),
        "input": _digest([work.digest for work in works]),
    }
    return Sweep(axes, works, attributes, raw, where)


def _works(asked: Sequence[Quantity], axes: tuple[Axis, ...], raw: dict[str, Any], where: str) -> tuple[Work, ...]:
    parts = {one.part.name: one.part for one in asked}
    return tuple(
        _work(part, tuple(one for one in asked if one.part is part), axes, raw, where) for part in parts.values()
    )


def _tables(raw: dict[str, Any]) -> list[str]:
    def there(name: str) -> bool:
        place: Any = raw
        for part in name.split("."):
            place = place.get(part) if isinstance(place, dict) else None
        return isinstance(place, dict)

    return [name for name in TABLES if there(name)]


def _matters(axis: Axis, part: Part) -> bool:
    return any(part.depends_on(key) for key in axis.keys)


def _work(part: Part, asked: tuple[Quantity, ...], axes: tuple[Axis, ...], raw: dict[str, Any], where: str) -> Work:
    """On the axes that matter."""
    own = [axis for axis in axes if _matters(axis, part)]
    tables = _read(part, raw)
    swept = {(key.table, key.meaning) for axis in own for key in axis.keys if key.index is None}
    devices = _devices(part, tables, own)
    places = tuple(place for one in asked for place in one.variables.values())
    whole = Task(part.name, places, tables, where, tuple(axis.only(0, 1) for axis in own), devices)
    one_observer = Task(part.name, places, tables, where, tuple(own), devices)
    cells = _ALONE
    if batches.batch(whole) is not None:
        cells = _HIDING if batches.costly(one_observer) else _TOGETHER
    content = {
        "part": part.name,
        "sources": sources(),
        "tables": {name: _fixed(name, tables, part, swept) for name in part.reads},
        "files": _files(tables, where),
        "keys": [[key.label for key in axis.keys] for axis in own],
    }
    shape = [axis.size for axis in own]
    return Work(part, asked, tuple(own), tables, where, devices, _block(shape, cells), _digest(content))


def _read(part: Part, raw: dict[str, Any]) -> dict[str, Any]:
    """The tables that a part reads, without those inside that it does not."""
    out: dict[str, Any] = {}
    for name in part.reads:
        outer, _, inner = name.partition(".")
        if inner:
            out[outer][inner] = raw[outer][inner]
        else:
            nested = {"variants", "features", "selection"} if outer == "inference" else set()
            out[outer] = {key: value for key, value in raw[outer].items() if key not in nested}
    return out


def _fixed(name: str, tables: dict[str, Any], part: Part, swept: set[tuple[str, str]]) -> dict[str, Any]:
    """What of a table the numbers depend on and no axis changes."""
    outer, _, inner = name.partition(".")
    table = tables[outer][inner] if inner else tables[outer]
    kept = {}
    for key, value in table.items():
        meaning = units.ALTERNATIVES[key][0] if key in units.ALTERNATIVES else key
        if not isinstance(value, dict) and meaning not in part.ignores and (name, meaning) not in swept:
            kept[key] = value
    return kept


def _files(tables: dict[str, Any], where: str) -> dict[str, str]:
    """Digests of the files that the tables name."""
    named = tables.get("inference", {}).get("features", {}).get("file")
    if named is None:
        return {}
    with (Path(where).parent / named).open("rb") as stream:
        return {"features": hashlib.file_digest(stream, "sha256").hexdigest()}


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


def _block(shape: Sequence[int], cells: int) -> tuple[int, ...]:
    """So many cells at most, the last axes whole if they may."""
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


@lru_cache(maxsize=1)
def sources() -> str:
    """The digest of the code that numbers come from, and of the libraries that it computes with."""
    import scipy

    root = Path(__file__).parents[2]
    found = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    for room in _CODE:
        for path in sorted((root / room).rglob("*.py")):
            found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]
