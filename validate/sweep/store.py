"""The store of a sweep: a zarr group with a record of what every chunk was computed from.

Every array has a record for each of its chunks: the digest of everything that the chunk depends on, a checksum of its
file, and the messages of the cells that failed. A chunk is written before its record, and each write is atomic, so that
a process may be killed at any time: a chunk without a record, or with another digest or checksum, is computed anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import AirtightError, FloatArray
from airtight.validate.files import whole
from airtight.validate.sweep.axes import Axis
from airtight.validate.sweep.plan import DEVICE, Index, Sweep, Work, sources
from airtight.validate.sweep.quantities import Place
from airtight.validate.sweep.task import Block

_AXES_ATTRIBUTE = "sweep"  # attribute of the group that holds the keys of the axes
_RECORDS = ".records"  # folder of the records inside the folder of an array


class StoreError(AirtightError):
    """A store that cannot be used; the message names its folder and the reason."""


def _label(index: Index) -> str:
    return ".".join(map(str, index)) or "all"


@dataclass(frozen=True)
class Kept:
    """The cells of a new grid whose numbers an older grid in the store has: a mask, and the arrays on the new grid."""

    known: NDArray[np.bool_]
    arrays: dict[str, FloatArray]


class Store:
    """The zarr group of a sweep.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[tuple[str, str]] = []  # (variable, what was wrong with a chunk)
        self.removed: list[str] = []

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the store for this process.

        Raises
        ------
        StoreError
            When another process has locked it.
        """
        try:
            import fcntl
        except ModuleNotFoundError:  # Windows has no such locks
            yield
            return
        self.path.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StoreError(f"{self.path}: in use by another sweep") from None
            yield
        finally:
            os.close(handle)

    def group(self) -> Any:
        """The zarr group; created if it does not exist."""
        import zarr

        return zarr.open_group(self.path, mode="a", zarr_format=3, use_consolidated=False)

    def prepare(self, sweep: Sweep) -> dict[str, Kept]:
        """Create the arrays and coordinates of the sweep; return reusable cells of an older grid, by part."""
        for leftover in [*self.path.rglob("*.partial"), *self.path.rglob(".*.json.*")]:
            leftover.unlink()
        group = self.group()
        kept = {
            work.part.name: reusable
            for work in sweep.works
            if (reusable := self._reusable_cells(group, work)) is not None
        }
        attributes = {_AXES_ATTRIBUTE: [[key.label for key in axis.keys] for axis in sweep.axes], **sweep.attributes}
        self._attributes(group, attributes)
        self._coordinates(group, sweep)
        for work in sweep.works:
            for quantity in work.quantities:
                for name, place in quantity.variables.items():
                    self._array(group, work, name, place, sweep.described(work, quantity, name))
        return kept

    def demand(self, sweep: Sweep) -> None:
        """Check that the folder is empty or holds this sweep, finished or not.

        Raises
        ------
        StoreError
            When the folder holds something else, or a sweep over other keys.
        """
        if not self.path.is_dir() or not any(self.path.iterdir()):
            return
        try:
            stored_keys = json.loads((self.path / "zarr.json").read_text(encoding="utf-8"))["attributes"][
                _AXES_ATTRIBUTE
            ]
        except (OSError, ValueError, KeyError):
            raise StoreError(f"{self.path}: the folder is not a sweep of airtight; choose another one") from None
        mine = [[key.label for key in axis.keys] for axis in sweep.axes]
        if stored_keys != mine:
            stored_axes, own_axes = (" x ".join(",".join(keys) for keys in axes) for axes in (stored_keys, mine))
            raise StoreError(
                f"{self.path}: holds a sweep over {stored_axes}, this one is over {own_axes}; choose another folder"
            )

    @staticmethod
    def _attributes(node: Any, wanted: dict[str, Any]) -> None:
        if dict(node.attrs) != wanted:
            node.attrs.put(wanted)

    def _coordinates(self, group: Any, sweep: Sweep) -> None:
        for axis in sweep.axes:
            for key, values in zip(axis.keys, axis.values, strict=True):
                self._coordinate(group, key.label, axis.name, np.array(values), key.attributes)
        lengths = {work.devices for work in sweep.works for place in work.variables.values() if place.per_device}
        if len(lengths) > 1:
            raise StoreError(
                f"{self.path}: quantities of {' and '.join(map(str, sorted(lengths)))} devices; sweep them separately"
            )
        for length in lengths:
            self._coordinate(group, DEVICE, DEVICE, np.arange(length), {"units": "1"})

    def _coordinate(
        self, group: Any, name: str, dimension: str, values: NDArray[Any], attributes: dict[str, str]
    ) -> None:
        if name in group:
            stored = group[name]
            same_layout = stored.shape == values.shape and stored.dtype.kind == values.dtype.kind.replace("U", "T")
            if same_layout and np.array_equal(np.asarray(stored[:]).astype(values.dtype), values):
                return
            del group[name]
        is_text = values.dtype.kind == "U"
        array = group.create_array(
            name,
            shape=values.shape,
            chunks=values.shape,
            dtype="string" if is_text else values.dtype,
            dimension_names=[dimension],
            attributes=attributes,
        )
        array[:] = values.astype(object) if is_text else values

    def _array(self, group: Any, work: Work, name: str, place: Place, attributes: dict[str, Any]) -> None:
        shape, chunks, dimensions = work.layout(place)
        if name in group:
            stored: Any = group[name]
            if (stored.shape, stored.chunks) == (shape, chunks) and list(
                stored.metadata.dimension_names or []
            ) == dimensions:
                self._attributes(stored, attributes)
                return
            del group[name]
        group.create_array(
            name,
            shape=shape,
            chunks=chunks,
            dtype="float64",
            fill_value=np.nan,
            dimension_names=dimensions,
            attributes=attributes,
            config={"write_empty_chunks": True},
        )

    def _reusable_cells(self, group: Any, work: Work) -> Kept | None:
        """The cells of the grid in the store that the new grid has too, where both depend on the same input.

        None where the store has no such arrays, or where grid and blocks are the same, so that every chunk stays where
        it is.
        """
        names = list(work.variables)
        stored: list[Any] = [group.get(name) for name in names]
        if any(stored_array is None or stored_array.attrs.get("work") != work.digest for stored_array in stored):
            return None
        layouts = [work.layout(place) for place in work.variables.values()]
        if any(stored_array.ndim != len(shape) for stored_array, (shape, _, _) in zip(stored, layouts, strict=True)):
            return None
        axis_positions, stored_axes = [], []
        for axis in work.axes:
            columns = tuple(tuple(np.asarray(group[key.label][:]).tolist()) for key in axis.keys)
            stored_axes.append(Axis(axis.keys, columns))
            stored_index = {point: i for i, point in enumerate(zip(*columns, strict=True))}
            axis_positions.append(
                np.array([stored_index.get(point, -1) for point in zip(*axis.values, strict=True)], dtype=np.int64)
            )
        stored_work = replace(work, axes=tuple(stored_axes), block=stored[0].chunks[: len(stored_axes)])
        if stored_work.axes == work.axes and stored_work.block == work.block:
            return None  # the chunks stay where they are
        valid = np.ones(stored_work.shape, dtype=bool)
        for name, place in work.variables.items():
            valid &= self._valid_cells(stored_work, name, place)
        reusable = valid[np.ix_(*axis_positions)] if axis_positions else valid
        for i, positions in enumerate(axis_positions):
            reusable &= (positions >= 0).reshape([-1 if i == j else 1 for j in range(len(axis_positions))])
        arrays = {}
        for name, array, (shape, _, _) in zip(names, stored, layouts, strict=True):
            values = np.asarray(array[...])[np.ix_(*axis_positions)]
            if values.shape != shape:
                return None
            arrays[name] = values
        return Kept(reusable, arrays)

    def _valid_cells(self, work: Work, name: str, place: Place) -> NDArray[np.bool_]:
        """A mask of the cells of an array on disk that did not fail and whose chunk is up to date and undamaged."""
        valid = np.zeros(work.shape, dtype=bool)
        for index in work.blocks():
            record = self._read(self._record(name, index))
            if record is None or record["digest"] != work.address(index, place):
                continue
            if record["checksum"] == self._checksum(name, index, len(work.layout(place)[0])):
                block_valid = np.ones(valid[work.region(index)].shape, dtype=bool)
                block_valid.ravel()[[int(i) for i in record["failed"]]] = False
                valid[work.region(index)] = block_valid
        return valid

    def _chunk(self, name: str, index: Index, dimensions: int) -> Path:
        return self.path.joinpath(name, "c", *map(str, index + (0,) * (dimensions - len(index))))

    def _record(self, name: str, index: Index) -> Path:
        return self.path / name / _RECORDS / f"{_label(index)}.json"

    @staticmethod
    def _read(path: Path) -> dict[str, Any] | None:
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) and {"digest", "checksum", "failed"} <= set(record) else None

    def _checksum(self, name: str, index: Index, dimensions: int) -> str | None:
        try:
            return hashlib.sha256(self._chunk(name, index, dimensions).read_bytes()).hexdigest()
        except OSError:
            return None

    def missing(self, work: Work, index: Index) -> bool:
        """Whether a block has to be computed; damaged chunks, and chunks computed by other code, are noted."""
        is_missing = False
        for name, place in work.variables.items():
            record = self._read(self._record(name, index))
            if record is None:
                if self._record(name, index).exists():
                    self.notes.append((name, f"the record of chunk {_label(index)} is damaged"))
                is_missing = True
            elif record["digest"] != work.address(index, place):
                if record.get("sources") != sources():
                    self.notes.append((name, "of another version"))
                is_missing = True
            elif record["checksum"] != self._checksum(name, index, len(work.layout(place)[0])):
                self.notes.append((name, f"chunk {_label(index)} is damaged"))
                is_missing = True
        return is_missing

    def write(self, group: Any, work: Work, index: Index, block: Block) -> None:
        """Write a block of every array, and after each array's block its record."""
        failed = {str(number): message for number, message in sorted(block.failed.items())}
        for (name, place), values in zip(work.variables.items(), block.arrays, strict=True):
            record = self._record(name, index)
            record.parent.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):
                record.unlink()
            group[name][work.region(index) + (slice(None),) * (values.ndim - len(index))] = values
            shape = work.layout(place)[0]
            content = {
                "digest": work.address(index, place),
                "sources": sources(),
                "checksum": self._checksum(name, index, len(shape)),
                "failed": failed,
            }
            with whole(record) as stream:
                stream.write(json.dumps(content, sort_keys=True).encode())

    def finish(self, sweep: Sweep) -> dict[str, int]:
        """Write the messages of failed cells, one array per part that has any; return their numbers by array."""
        import warnings

        import zarr

        group, count = self.group(), dict[str, int]()
        for work in sweep.works:
            name, first = work.message, next(iter(work.variables))
            if name in group:
                del group[name]
            failed = {}
            for index in work.blocks():
                record = self._read(self._record(first, index))
                if record and record["failed"]:
                    failed[index] = record["failed"]
            if not failed:
                continue
            dimensions = [axis.name for axis in work.axes]
            array = group.create_array(
                name, shape=work.shape, chunks=work.block, dtype="string", fill_value="", dimension_names=dimensions
            )
            for index, messages in failed.items():
                region = work.region(index)
                texts = np.full([span.stop - span.start for span in region], "", dtype=object)
                for number, message in messages.items():
                    texts.ravel()[int(number)] = message
                array[region] = texts
            count[name] = sum(map(len, failed.values()))
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # zarr warns that version 3 of the format does not define consolidated metadata yet
            zarr.consolidate_metadata(group.store)
        return count

    def forget(self, names: set[str]) -> None:
        """Remove arrays."""
        for name in names:
            shutil.rmtree(self.path / name)

    def others(self, wanted: set[str]) -> dict[str, set[str]]:
        """Quantities in the store that are not in `wanted`, and the names of their arrays."""
        if not (self.path / "zarr.json").exists():
            return {}
        array_names: dict[str, set[str]] = {}
        for name, array in self.group().arrays():
            quantity = array.attrs.get("quantity")
            if isinstance(quantity, str) and quantity not in wanted:
                array_names.setdefault(quantity, set()).add(name)
        return array_names

    def complete(self, sweep: Sweep) -> bool:
        """Whether the store has every block of the sweep."""
        group = self.group()
        for work in sweep.works:
            for name, place in work.variables.items():
                array: Any = group.get(name)
                if array is None or (array.shape, array.chunks) != work.layout(place)[:2]:
                    return False
            if any(self.missing(work, index) for index in work.blocks()):
                return False
        return True
