"""A sweep carried out: what is missing is computed, here, on all cores or on a cluster, and kept as it comes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from airtight.analytics.checks import AirtightError
from airtight.validate.sweep.cells import compute
from airtight.validate.sweep.plan import Index, Sweep, Work
from airtight.validate.sweep.store import Kept, Store
from airtight.validate.sweep.task import Block

_AHEAD = 4  # blocks handed out for each worker
_SAMPLES = (2, 16, 128, 1024, 8192)  # cells by which the cost is estimated
_MEASURED = 0.3  # s


class SweepError(AirtightError):
    """A sweep that could not be carried on."""


@dataclass(frozen=True)
class Outcome:
    """What a run has done.

    Attributes
    ----------
    computed, kept : int
        Blocks.
    failed : dict
        How many cells in the store have failed, by the variable that holds their messages.
    notes : tuple of str
        Chunks that were damaged or of another version, and quantities that were removed.
    """

    computed: int
    kept: int
    failed: dict[str, int]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Cost:
    """What a part of a sweep will take.

    Attributes
    ----------
    work : Work
    blocks : int
        That are missing.
    seconds : float
        CPU seconds for these, estimated from a sample; nan where nothing is missing.
    """

    work: Work
    blocks: int
    seconds: float

    @property
    def bytes(self) -> int:
        """Of all numbers, before compression."""
        return 8 * sum(int(np.prod(self.work.layout(place)[0])) for place in self.work.variables.values())


def run(
    sweep: Sweep,
    path: Path,
    *,
    executor: Executor | None = None,
    workers: int = 1,
    started: Callable[[int], Callable[[str], None]] | None = None,
) -> Outcome:
    """Compute what of a sweep is not in the store at `path`, and keep it there.

    Parameters
    ----------
    sweep : Sweep
    path : Path
        A folder; made if there is none.
    executor : Executor, optional
        Where blocks are computed; by default in this process.
    workers : int
        How many it has: four times as many blocks are handed out at a time.
    started : callable, optional
        Is told how many blocks are missing, and returns what is told of each that is done.

    Raises
    ------
    StoreError
        When the folder cannot be used.
    """
    store = Store(path)
    with store.held():
        store.demand(sweep)
        _tidy(store, sweep)
        kept = store.prepare(sweep)
        todo = [(work, index) for work in sweep.works for index in work.blocks() if store.missing(work, index)]
        total = sum(work.count for work in sweep.works)
        advance = (lambda _: None) if started is None else started(len(todo))
        group = store.group()
        computed = 0
        for work, index, block, reused in _blocks(todo, kept, executor, workers):
            store.write(group, work, index, block)
            computed += not reused
            advance(work.part.name)
        failed = store.finish(sweep)
        return Outcome(computed, total - computed, failed, _summary(store))


def _blocks(
    todo: list[tuple[Work, Index]], kept: dict[str, Kept], executor: Executor | None, workers: int
) -> Iterator[tuple[Work, Index, Block, bool]]:
    """The blocks as they are done; true where all cells were known."""
    running: dict[Future[Block], tuple[Work, Index]] = {}
    try:
        for work, index in todo:
            old = _known(kept.get(work.part.name), work, index)
            if old is not None and old.known.all():
                yield work, index, Block(tuple(old.arrays.values()), {}), True
                continue
            task = work.task(index)
            if old is not None:
                task = task.some(np.flatnonzero(~old.known))
            if executor is None:
                yield work, index, _merged(old, compute(task)), False
                continue
            with _losing_no_worker():
                running[executor.submit(compute, task)] = work, index
            while len(running) >= _AHEAD * workers:
                yield from _done(running, kept)
        while running:
            yield from _done(running, kept)
    finally:
        for future in running:
            future.cancel()


def _done(
    running: dict[Future[Block], tuple[Work, Index]], kept: dict[str, Kept]
) -> Iterator[tuple[Work, Index, Block, bool]]:
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        work, index = running.pop(future)
        with _losing_no_worker():
            block = future.result()
        yield work, index, _merged(_known(kept.get(work.part.name), work, index), block), False


@contextmanager
def _losing_no_worker() -> Iterator[None]:
    """A block itself never raises: what does is the executor."""
    try:
        yield
    except Exception as error:
        text = str(error).partition("\n")[0] or type(error).__name__
        raise SweepError(f"a worker was lost ({text}); what is done is kept, the same command goes on") from error


def _known(kept: Kept | None, work: Work, index: Index) -> Kept | None:
    """What of a block is known; None where nothing is."""
    if kept is None:
        return None
    region = work.region(index)
    known = kept.known[region]
    return Kept(known, {name: array[region] for name, array in kept.arrays.items()}) if known.any() else None


def _merged(old: Kept | None, found: Block) -> Block:
    if old is None:
        return found
    missing = np.flatnonzero(~old.known)
    arrays = []
    for known, values in zip(old.arrays.values(), found.arrays, strict=True):
        out = known.copy().reshape((old.known.size, *known.shape[old.known.ndim :]))
        out[missing] = values
        arrays.append(out.reshape(known.shape))
    return Block(tuple(arrays), {int(missing[number]): message for number, message in found.failed.items()})


def _tidy(store: Store, sweep: Sweep) -> None:
    """Remove quantities that are not asked for and are not of this input any more."""
    asked = {quantity.name for work in sweep.works for quantity in work.quantities}
    for name, arrays in store.others(asked).items():
        try:
            sound = store.complete(sweep.asking([name]))
        except (AirtightError, OSError):
            sound = False
        store.notes.clear()
        if not sound:
            store.forget(arrays)
            store.removed.append(name)


def _summary(store: Store) -> tuple[str, ...]:
    """A line for all chunks of a variable with which the same was wrong."""
    lines = []
    for (variable, reason), count in Counter(store.notes).items():
        lines.append(f"{variable}: {reason if count == 1 else f'{reason} ({count} chunks)'}: computed anew")
    lines += [f"{name}: of another input, and not asked for now: removed" for name in store.removed]
    return tuple(lines)


def cost(sweep: Sweep, path: Path | None) -> list[Cost]:
    """What is missing in the store, and how long it will take, from a sample of cells spread over the grid."""
    store = Store(path) if path is not None and path.exists() else None
    if store is not None:
        store.demand(sweep)
    found = []
    for work in sweep.works:
        blocks = work.count
        if store is not None:
            blocks = sum(store.missing(work, index) for index in work.blocks())
        found.append(Cost(work, blocks, _seconds(work) * work.cells * blocks / work.count if blocks else np.nan))
    return found


def _seconds(work: Work) -> float:
    """CPU seconds of a cell, from samples spread over the grid, each larger, until one takes long enough to be measured."""
    whole = next(iter(work.blocks()))
    everything = replace(work, block=work.shape).task(whole)
    most = min(work.cells, int(np.prod(work.block, dtype=np.int64)))
    for count in _SAMPLES:
        cells = np.unique(np.linspace(0, work.cells - 1, min(count, most)).astype(np.int64))
        start = time.process_time()
        compute(everything.some(cells))
        spent = time.process_time() - start
        if spent > _MEASURED or cells.size == most:
            break
    return spent / cells.size
