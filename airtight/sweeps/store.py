"""The store of a sweep: a zarr group with a record of what every chunk was computed from.

Every array has a record for each of its chunks: the digest of everything that the chunk depends on, a checksum of its
file, and the messages of the cells that failed. A chunk is written before its record, and each write is atomic, so that
a process may be killed at any time: a chunk without a record, or with another digest or checksum, is computed anew.
Chunks hold a checksum too, so that whoever reads the store without airtight meets an error in place of a wrong number.
The metadata of an array is compared as a whole with what zarr writes for such an array.
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
from airtight.sweeps.axes import Axis
from airtight.sweeps.code_version import sources
from airtight.sweeps.plan import DEVICE, Index, Sweep, Work
from airtight.sweeps.quantities import Place
from airtight.sweeps.task import Block
from airtight.validate.files import whole

_AXES_ATTRIBUTE = "sweep"  # attribute of the group that holds the keys of the axes
_FIXED_ATTRIBUTE = "fixed"  # attribute of the group that holds the values of the keys that are no axis, by part
_OLD = "of another version"
_DOCUMENT = "zarr.json"
_RECORDS = ".records"  # folder of the records inside the folder of an array


class StoreError(AirtightError):
    """A store that cannot be used; the message names its folder and the reason."""


def _codecs() -> list[Any]:
    """What a chunk goes through: compression, and a checksum of what was compressed."""
    from zarr.codecs import Crc32cCodec, ZstdCodec

    return [ZstdCodec(level=0, checksum=False), Crc32cCodec()]


def sound(path: Path, name: str) -> bool:
    """Whether the metadata of an array is, apart from its attributes, what zarr writes for such an array of a sweep."""
    import warnings

    import zarr

    try:
        document = json.loads((path / name / _DOCUMENT).read_text(encoding="utf-8"))
        kind = document["data_type"]
        is_variable = "quantity" in document["attributes"]
        if is_variable and kind != "float64":
            return False
        empty = np.nan if is_variable else "" if kind == "string" else 0
        memory: dict[str, Any] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zarr.create_array(
                zarr.storage.MemoryStore(memory),
                shape=document["shape"],
                chunks=document["chunk_grid"]["configuration"]["chunk_shape"],
                dtype=kind,
                fill_value=empty,
                compressors=_codecs(),
                dimension_names=document.get("dimension_names"),
            )
        written = json.loads(memory[_DOCUMENT].to_bytes())
    except Exception:  # whatever zarr or JSON meets
        return False
    return isinstance(document.get("attributes"), dict) and document | {"attributes": {}} == written | {
        "attributes": {}
    }


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
        """The zarr group, which exists."""
        import zarr

        return zarr.open_group(self.path, mode="r+", zarr_format=3, use_consolidated=False)

    def _mark(self, attributes: dict[str, Any]) -> None:
        """Write the document of the group with these attributes, at once: there is no group without its mark."""
        document = {"attributes": attributes, "zarr_format": 3, "node_type": "group"}
        if self._document("") != document:
            with whole(self.path / _DOCUMENT) as stream:
                stream.write(json.dumps(document, indent=2).encode())

    def _document(self, name: str) -> dict[str, Any] | None:
        """The metadata of an array, or of the group without what finish() adds; None where there is none, or no object."""
        try:
            document = json.loads((self.path / name / _DOCUMENT).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(document, dict) or not isinstance(document.get("attributes"), dict):
            return None
        return {key: value for key, value in document.items() if key != "consolidated_metadata"}

    def prepare(self, sweep: Sweep, *, failed: bool = False) -> dict[str, Kept]:
        """Create the arrays and coordinates of the sweep; return reusable cells of an older grid, by part.

        Where `failed` cells are to be computed again, those of the same grid too.
        """
        for leftover in [*self.path.rglob("*.partial"), *self.path.rglob(".*.json.*")]:
            leftover.unlink()
        if self._document("") is None:
            self._mark(self._attributes(sweep, {}))
        group = self.group()
        for work in sweep.works:
            for name in [*work.variables, work.message]:
                if (self.path / name).exists() and not sound(self.path, name):
                    self.notes.append((name, "its metadata is damaged" if self._of_this_version() else _OLD))
                    shutil.rmtree(self.path / name)
        kept = {
            work.part.name: reusable
            for work in sweep.works
            if (reusable := self._reusable_cells(group, work, failed=failed)) is not None
        }
        self._mark(self._attributes(sweep, self._fixed()))
        self._coordinates(group, sweep)
        for work in sweep.works:
            for quantity in work.quantities:
                for name, place in quantity.variables.items():
                    self._array(group, work, name, place, sweep.described(work, quantity, name))
        return kept

    def _attribute(self, name: str) -> Any:
        """An attribute of the group; None where there is none, or where its text is no JSON. Older versions wrote no text."""
        value = (self._document("") or {"attributes": {}})["attributes"].get(name)
        try:
            return json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            return None

    def _of_this_version(self) -> bool:
        """Whether the code that wrote the group is the one that runs."""
        return bool((self._document("") or {"attributes": {}})["attributes"].get("sources") == sources())

    def _fixed(self) -> dict[str, Any]:
        attribute = self._attribute(_FIXED_ATTRIBUTE)
        return attribute if isinstance(attribute, dict) else {}

    def _attributes(self, sweep: Sweep, fixed: dict[str, Any]) -> dict[str, str]:
        """The attributes of the group, all of them text; `fixed` of the parts that it has beside those of this sweep."""
        there = {part: values for part, values in fixed.items() if part in self._parts()}
        return {
            _AXES_ATTRIBUTE: json.dumps([[key.label for key in axis.keys] for axis in sweep.axes]),
            _FIXED_ATTRIBUTE: json.dumps(there | {work.part.name: work.fixed for work in sweep.works}, sort_keys=True),
            **sweep.attributes,
        }

    def _parts(self) -> set[str]:
        """The parts of which the store has arrays."""
        documents = (self._document(path.parent.name) for path in self.path.glob(f"*/{_DOCUMENT}"))
        places = (str(each["attributes"].get("part")) for each in documents if each)
        return set(places)

    def demand(self, sweep: Sweep, *, replace: bool = False) -> None:
        """Check that the folder is empty or holds this sweep, finished or not.

        Raises
        ------
        StoreError
            When the folder holds something else, or a sweep over other keys, or, unless `replace`, with other values of
            the keys that are no axis.
        """
        if not self.path.is_dir() or not any(
            not entry.name.startswith(f".{_DOCUMENT}.") and not entry.name.endswith(".partial")
            for entry in self.path.iterdir()
        ):
            return
        document = self._document("")
        if document is None or _AXES_ATTRIBUTE not in document["attributes"]:
            raise StoreError(
                f"{self.path}: the folder is not a sweep of airtight, or its {_DOCUMENT} is damaged; choose another one"
            )
        stored_keys = self._attribute(_AXES_ATTRIBUTE)
        mine = [[key.label for key in axis.keys] for axis in sweep.axes]
        if stored_keys != mine:
            try:
                stored_axes, own_axes = (" x ".join(",".join(keys) for keys in axes) for axes in (stored_keys, mine))
            except TypeError:
                raise StoreError(f"{self.path}: its {_DOCUMENT} is damaged; choose another folder") from None
            raise StoreError(
                f"{self.path}: holds a sweep over {stored_axes}, this one is over {own_axes}; choose another folder"
            )
        if not replace:
            self._demand_fixed(sweep)

    def _demand_fixed(self, sweep: Sweep) -> None:
        stored, works = self._fixed(), list(sweep.works)
        for name in self.others({quantity.name for work in works for quantity in work.quantities}):
            try:
                works += sweep.asking([name]).works
            except (AirtightError, OSError):
                raise StoreError(
                    f"{self.path}: contains {name}, which the system no longer produces; choose another folder, or replace it "
                    "(--replace, replace=True)"
                ) from None
        for work in works:
            theirs, own = stored.get(work.part.name), work.fixed
            if not isinstance(theirs, dict) or theirs == own:
                continue
            key = next(key for key in [*own, *theirs] if own.get(key) != theirs.get(key))
            raise StoreError(
                f"{self.path}: holds {', '.join(work.variables)} with {key} = {theirs.get(key, 'absent')}, this sweep has "
                f"{own.get(key, 'absent')}; choose another folder, or replace it (--replace, replace=True)"
            )

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
        if (self.path / name).exists():
            if sound(self.path, name):
                with suppress(Exception):  # whatever zarr meets in a damaged chunk
                    stored = group[name]
                    if stored.shape == values.shape and stored.dtype.kind == values.dtype.kind.replace("U", "T"):
                        same = np.array_equal(np.asarray(stored[:]).astype(values.dtype), values)
                        if same and all((self.path / name / "c" / "0").is_file() for _ in values[:1]):
                            return
            shutil.rmtree(self.path / name)
        is_text = values.dtype.kind == "U"
        array = group.create_array(
            name,
            shape=values.shape,
            chunks=values.shape,
            dtype="string" if is_text else values.dtype,
            compressors=_codecs(),
            dimension_names=[dimension],
            attributes=attributes,
            config={"write_empty_chunks": True},
        )
        array[:] = values.astype(object) if is_text else values

    def _array(self, group: Any, work: Work, name: str, place: Place, attributes: dict[str, Any]) -> None:
        shape, chunks, dimensions = work.layout(place)
        if (self.path / name).exists():
            stored: Any = group[name]  # sound: see prepare
            names = list(stored.metadata.dimension_names or [])
            if (stored.shape, stored.chunks, names) == (shape, chunks, dimensions):
                if dict(stored.attrs) != attributes:
                    stored.attrs.put(attributes)
                return
            shutil.rmtree(self.path / name)
        group.create_array(
            name,
            shape=shape,
            chunks=chunks,
            dtype="float64",
            fill_value=np.nan,
            compressors=_codecs(),
            dimension_names=dimensions,
            attributes=attributes,
            config={"write_empty_chunks": True},
        )

    def _reusable_cells(self, group: Any, work: Work, *, failed: bool) -> Kept | None:
        """The cells of the grid in the store that the new grid has too, where both depend on the same input.

        None where the store has no such arrays, or where grid and blocks are the same, so that every chunk stays where
        it is, unless the cells that `failed` are computed again.
        """
        names = list(work.variables)
        stored: list[Any] = [group.get(name) if (self.path / name).exists() else None for name in names]
        if any(stored_array is None or stored_array.attrs.get("work") != work.digest for stored_array in stored):
            return None
        layouts = [work.layout(place) for place in work.variables.values()]
        if any(stored_array.ndim != len(shape) for stored_array, (shape, _, _) in zip(stored, layouts, strict=True)):
            return None
        axis_positions, stored_axes = [], []
        for axis in work.axes:
            try:
                columns = tuple(tuple(np.asarray(group[key.label][:]).tolist()) for key in axis.keys)
            except Exception:  # whatever zarr meets in damaged coordinates: nothing is reused
                return None
            stored_axes.append(Axis(axis.keys, columns))
            stored_index = {point: i for i, point in enumerate(zip(*columns, strict=True))}
            axis_positions.append(
                np.array([stored_index.get(point, -1) for point in zip(*axis.values, strict=True)], dtype=np.int64)
            )
        stored_work = replace(work, axes=tuple(stored_axes), block=stored[0].chunks[: len(stored_axes)])
        if not failed and stored_work.axes == work.axes and stored_work.block == work.block:
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
            record = self._read(work, name, index)
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

    def _read(self, work: Work, name: str, index: Index) -> dict[str, Any] | None:
        """The record of a chunk; None where there is none, or where it is damaged."""
        try:
            record = json.loads(self._record(name, index).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(record, dict) or not {"digest", "checksum", "failed"} <= set(record):
            return None
        cells = int(np.prod([span.stop - span.start for span in work.region(index)], dtype=np.int64))
        failed = record["failed"]
        numbered = isinstance(failed, dict) and all(
            number.isascii() and number.isdigit() and int(number[:19]) < cells and isinstance(message, str)
            for number, message in failed.items()
        )
        return record if numbered else None

    def _checksum(self, name: str, index: Index, dimensions: int) -> str | None:
        try:
            return hashlib.sha256(self._chunk(name, index, dimensions).read_bytes()).hexdigest()
        except OSError:
            return None

    def missing(self, work: Work, index: Index, *, failed: bool = False) -> bool:
        """Whether a block has to be computed, be it for the cells in it that `failed`.

        Damaged chunks, and chunks computed by other code, are noted.
        """
        is_missing = False
        for name, place in work.variables.items():
            record = self._read(work, name, index)
            if record is None:
                if self._record(name, index).exists():
                    self.notes.append((name, f"the record of chunk {_label(index)} is damaged"))
                is_missing = True
            elif record["digest"] != work.address(index, place):
                if record.get("sources") != sources():
                    self.notes.append((name, _OLD))
                is_missing = True
            elif record["checksum"] != self._checksum(name, index, len(work.layout(place)[0])):
                self.notes.append((name, f"chunk {_label(index)} is damaged"))
                is_missing = True
            elif failed and record["failed"]:
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
            chunk = self._chunk(name, index, len(work.layout(place)[0]))
            if chunk.is_dir():
                try:
                    chunk.rmdir()
                except OSError:
                    raise StoreError(f"{chunk}: a folder where a chunk belongs; remove it") from None
            array = group[name].with_config({"write_empty_chunks": True})  # of a block whose cells all failed, too
            array[work.region(index) + (slice(None),) * (values.ndim - len(index))] = values
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
            if (self.path / name).exists():
                shutil.rmtree(self.path / name)
            failed = {}
            for index in work.blocks():
                record = self._read(work, first, index)
                if record and record["failed"]:
                    failed[index] = record["failed"]
            if not failed:
                continue
            dimensions = [axis.name for axis in work.axes]
            array = group.create_array(
                name,
                shape=work.shape,
                chunks=work.block,
                dtype="string",
                fill_value="",
                compressors=_codecs(),
                dimension_names=dimensions,
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
        for path in sorted(self.path.glob(f"*/{_DOCUMENT}")):
            quantity = (self._document(path.parent.name) or {"attributes": {}})["attributes"].get("quantity")
            if isinstance(quantity, str) and quantity not in wanted:
                array_names.setdefault(quantity, set()).add(path.parent.name)
        return array_names

    def complete(self, sweep: Sweep) -> bool:
        """Whether the store has every block of the sweep."""
        group = self.group()
        for work in sweep.works:
            for name, place in work.variables.items():
                array: Any = group[name] if (self.path / name).exists() and sound(self.path, name) else None
                if array is None or (array.shape, array.chunks) != work.layout(place)[:2]:
                    return False
            if any(self.missing(work, index) for index in work.blocks()):
                return False
        return True


def verified(path: Path) -> dict[str, NDArray[np.bool_]]:
    """Check a store as far as it tells itself; return by array which blocks of the grid are computed.

    Raises
    ------
    StoreError
        When the folder is no store of a sweep, or when metadata, a chunk or a record of it is damaged.
    """
    store = Store(path)
    document = store._document("")
    if document is None or _AXES_ATTRIBUTE not in document["attributes"]:
        raise StoreError(f"{path}: is not a sweep of airtight, or its {_DOCUMENT} is damaged")
    again = "the same sweep, run again, mends it"
    computed = {}
    for name in sorted(folder.parent.name for folder in path.glob(f"*/{_DOCUMENT}")):
        if not sound(path, name):
            if not store._of_this_version():
                raise StoreError(f"{path}: {name} is {_OLD} of airtight; the same sweep, run again, computes it anew")
            raise StoreError(f"{path}: the metadata of {name} is damaged; {again}")
        array = json.loads((path / name / _DOCUMENT).read_text(encoding="utf-8"))
        chunks = array["chunk_grid"]["configuration"]["chunk_shape"]
        counts = [-(-size // chunk) for size, chunk in zip(array["shape"], chunks, strict=True)]
        if "quantity" not in array["attributes"]:
            is_coordinate = not name.endswith(".message")
            if is_coordinate and not all((path / name / "c" / str(i)).is_file() for i in range(counts[0])):
                raise StoreError(f"{path}: the coordinate {name} lacks its values; {again}")
            continue
        blocks = counts[: -1 if (array.get("dimension_names") or [])[-1:] == [DEVICE] else None]
        computed[name] = done = np.zeros(blocks, dtype=bool)
        for index in np.ndindex(*blocks):
            try:
                record = json.loads(store._record(name, index).read_text(encoding="utf-8"))
                checksum, _ = record["checksum"], record["failed"].items()
            except FileNotFoundError:
                continue
            except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
                raise StoreError(f"{path}: the record of chunk {_label(index)} of {name} is damaged; {again}") from None
            if checksum is None or checksum != store._checksum(name, index, len(counts)):
                raise StoreError(f"{path}: chunk {_label(index)} of {name} is damaged; {again}")
            done[index] = True
    return computed
