"""Where a sweep is kept: a zarr group whose chunks know by what they were computed.

Beside an array lie records, one a chunk: the digest of everything that the chunk depends on, a checksum of its file, and the
messages of the cells that failed. A chunk is written before its record, each whole or not at all, so that a process may be
killed at any time: what has no record, or another digest, or another checksum, is computed anew.
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

_MARK = "sweep"  # attribute of the group: its dimensions
_RECORDS = ".records"


class StoreError(AirtightError):
    """A store that cannot be used; the message names it and says why."""


def _label(index: Index) -> str:
    return ".".join(map(str, index)) or "all"


@dataclass(frozen=True)
class Kept:
    """Cells of an older grid that the new one has too: which, and their numbers."""

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
        self.notes: list[tuple[str, str]] = []  # of which variable, and what was wrong with a chunk
        self.removed: list[str] = []

    @contextmanager
    def held(self) -> Iterator[None]:
        """For this process alone.

        Raises
        ------
        StoreError
            When another process has it.
        """
        try:
            import fcntl
        except ModuleNotFoundError:  # no such locks there
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
        """The group; made if there is none."""
        import zarr

        return zarr.open_group(self.path, mode="a", zarr_format=3, use_consolidated=False)

    def prepare(self, sweep: Sweep) -> dict[str, Kept]:
        """Arrays and coordinates for the sweep; what of an older grid can be used again, by the name of its part."""
        for leftover in [*self.path.rglob("*.partial"), *self.path.rglob(".*.json.*")]:
            leftover.unlink()
        group = self.group()
        kept = {work.part.name: found for work in sweep.works if (found := self._kept(group, work)) is not None}
        attributes = {_MARK: [[key.label for key in axis.keys] for axis in sweep.axes], **sweep.attributes}
        self._attributes(group, attributes)
        self._coordinates(group, sweep)
        for work in sweep.works:
            for quantity in work.quantities:
                for name, place in quantity.variables.items():
                    self._array(group, work, name, place, sweep.described(work, quantity, name))
        return kept

    def demand(self, sweep: Sweep) -> None:
        """That nothing is there, or the sweep, finished or not.

        Raises
        ------
        StoreError
            When the folder holds something else, or a sweep over other keys.
        """
        if not self.path.is_dir() or not any(self.path.iterdir()):
            return
        try:
            found = json.loads((self.path / "zarr.json").read_text(encoding="utf-8"))["attributes"][_MARK]
        except (OSError, ValueError, KeyError):
            raise StoreError(f"{self.path}: not a sweep of airtight; choose another folder") from None
        mine = [[key.label for key in axis.keys] for axis in sweep.axes]
        if found != mine:
            there, here = (" x ".join(",".join(keys) for keys in axes) for axes in (found, mine))
            raise StoreError(f"{self.path}: holds a sweep over {there}, this one is over {here}; choose another folder")

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
                f"{self.path}: quantities of {' and '.join(map(str, sorted(lengths)))} devices; sweep them apart"
            )
        for length in lengths:
            self._coordinate(group, DEVICE, DEVICE, np.arange(length), {"units": "1"})

    def _coordinate(
        self, group: Any, name: str, dimension: str, values: NDArray[Any], attributes: dict[str, str]
    ) -> None:
        if name in group:
            old = group[name]
            alike = old.shape == values.shape and old.dtype.kind == values.dtype.kind.replace("U", "T")
            if alike and np.array_equal(np.asarray(old[:]).astype(values.dtype), values):
                return
            del group[name]
        text = values.dtype.kind == "U"
        array = group.create_array(
            name,
            shape=values.shape,
            chunks=values.shape,
            dtype="string" if text else values.dtype,
            dimension_names=[dimension],
            attributes=attributes,
        )
        array[:] = values.astype(object) if text else values

    def _array(self, group: Any, work: Work, name: str, place: Place, attributes: dict[str, Any]) -> None:
        shape, chunks, dimensions = work.layout(place)
        if name in group:
            old: Any = group[name]
            if (old.shape, old.chunks) == (shape, chunks) and list(old.metadata.dimension_names or []) == dimensions:
                self._attributes(old, attributes)
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

    def _kept(self, group: Any, work: Work) -> Kept | None:
        """Cells of another grid over the same keys whose numbers depend on the same."""
        names = list(work.variables)
        old: list[Any] = [group.get(name) for name in names]
        if any(each is None or each.attrs.get("work") != work.digest for each in old):
            return None
        layouts = [work.layout(place) for place in work.variables.values()]
        if any(each.ndim != len(shape) for each, (shape, _, _) in zip(old, layouts, strict=True)):
            return None
        places, before = [], []
        for axis in work.axes:
            columns = tuple(tuple(np.asarray(group[key.label][:]).tolist()) for key in axis.keys)
            before.append(Axis(axis.keys, columns))
            where = {point: i for i, point in enumerate(zip(*columns, strict=True))}
            places.append(np.array([where.get(point, -1) for point in zip(*axis.values, strict=True)], dtype=np.int64))
        its = replace(work, axes=tuple(before), block=old[0].chunks[: len(before)])
        if its.axes == work.axes and its.block == work.block:
            return None  # nothing moves
        sound = np.ones(its.shape, dtype=bool)
        for name, place in work.variables.items():
            sound &= self._sound(its, name, place)
        known = sound[np.ix_(*places)] if places else sound
        for i, found in enumerate(places):
            known &= (found >= 0).reshape([-1 if i == j else 1 for j in range(len(places))])
        arrays = {}
        for name, array, (shape, _, _) in zip(names, old, layouts, strict=True):
            values = np.asarray(array[...])[np.ix_(*places)]
            if values.shape != shape:
                return None
            arrays[name] = values
        return Kept(known, arrays)

    def _sound(self, work: Work, name: str, place: Place) -> NDArray[np.bool_]:
        """Which cells of an array on disk are what they should be and have not failed."""
        sound = np.zeros(work.shape, dtype=bool)
        for index in work.blocks():
            record = self._read(self._record(name, index))
            if record is None or record["digest"] != work.address(index, place):
                continue
            if record["checksum"] == self._checksum(name, index, len(work.layout(place)[0])):
                part = np.ones(sound[work.region(index)].shape, dtype=bool)
                part.ravel()[[int(i) for i in record["failed"]]] = False
                sound[work.region(index)] = part
        return sound

    def _chunk(self, name: str, index: Index, dimensions: int) -> Path:
        return self.path.joinpath(name, "c", *map(str, index + (0,) * (dimensions - len(index))))

    def _record(self, name: str, index: Index) -> Path:
        return self.path / name / _RECORDS / f"{_label(index)}.json"

    @staticmethod
    def _read(path: Path) -> dict[str, Any] | None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and {"digest", "checksum", "failed"} <= set(found) else None

    def _checksum(self, name: str, index: Index, dimensions: int) -> str | None:
        try:
            return hashlib.sha256(self._chunk(name, index, dimensions).read_bytes()).hexdigest()
        except OSError:
            return None

    def missing(self, work: Work, index: Index) -> bool:
        """Whether a block has to be computed; a damaged chunk, and one by other code, is noted."""
        out = False
        for name, place in work.variables.items():
            record = self._read(self._record(name, index))
            if record is None:
                if self._record(name, index).exists():
                    self.notes.append((name, f"the record of chunk {_label(index)} is damaged"))
                out = True
            elif record["digest"] != work.address(index, place):
                if record.get("sources") != sources():
                    self.notes.append((name, "of another version"))
                out = True
            elif record["checksum"] != self._checksum(name, index, len(work.layout(place)[0])):
                self.notes.append((name, f"chunk {_label(index)} is damaged"))
                out = True
        return out

    def write(self, group: Any, work: Work, index: Index, block: Block) -> None:
        """A block of every array, then its records."""
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
        """Messages of failed cells as arrays, one for each part that has any; how many, by the array's name."""
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
                texts = np.full([part.stop - part.start for part in region], "", dtype=object)
                for number, message in messages.items():
                    texts.ravel()[int(number)] = message
                array[region] = texts
            count[name] = sum(map(len, failed.values()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that version 3 of the format does not define this yet
            zarr.consolidate_metadata(group.store)
        return count

    def forget(self, names: set[str]) -> None:
        """Remove arrays."""
        for name in names:
            shutil.rmtree(self.path / name)

    def others(self, wanted: set[str]) -> dict[str, set[str]]:
        """Quantities in the store that are not asked for now, and their arrays."""
        if not (self.path / "zarr.json").exists():
            return {}
        found: dict[str, set[str]] = {}
        for name, array in self.group().arrays():
            quantity = array.attrs.get("quantity")
            if isinstance(quantity, str) and quantity not in wanted:
                found.setdefault(quantity, set()).add(name)
        return found

    def complete(self, sweep: Sweep) -> bool:
        """Whether all of a sweep is there."""
        group = self.group()
        for work in sweep.works:
            for name, place in work.variables.items():
                array: Any = group.get(name)
                if array is None or (array.shape, array.chunks) != work.layout(place)[:2]:
                    return False
            if any(self.missing(work, index) for index in work.blocks()):
                return False
        return True
