"""Runs a sweep: computes missing blocks in this process, on all cores or on a cluster, and stores each when done."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from airtight.analytics.checks import AirtightError
from airtight.sweeps.cells import compute
from airtight.sweeps.plan import Index, Sweep, Work
from airtight.sweeps.store import Kept, Store
from airtight.sweeps.task import Block, SweepError
from airtight.validate.files import naming

_AHEAD = 4  # blocks submitted per worker, so that none waits for this process
_PATIENCE, _ASKED = 5.0, 4  # s between questions whether the cluster has a worker, and how often the answer may be no
_SAMPLES = (2, 16, 128, 1024, 8192)  # cells of the samples from which the cost is estimated
_MEASURABLE = 0.3  # s of CPU time: a sample that takes longer is measured accurately enough


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes
    ----------
    computed, kept : int
        Number of blocks that were computed, and of those that the store had already.
    failed : dict
        Number of failed cells in the store, by the variable that holds their messages.
    notes : tuple of str
        Which chunks were damaged or of another version, and which quantities were removed.
    """

    computed: int
    kept: int
    failed: dict[str, int]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Cost:
    """The estimated cost of a part of a sweep.

    Attributes
    ----------
    work : Work
    blocks : int
        Number of blocks that are missing.
    seconds : float
        CPU seconds for the missing blocks, estimated from a sample; nan where none is missing.
    """

    work: Work
    blocks: int
    seconds: float

    @property
    def bytes(self) -> int:
        """Size of all numbers before compression."""
        return 8 * sum(int(np.prod(self.work.layout(place)[0])) for place in self.work.variables.values())


def run(
    sweep: Sweep,
    path: Path,
    *,
    executor: Executor | None = None,
    workers: int = 1,
    started: Callable[[int], Callable[[str], None]] | None = None,
    alive: Callable[[], bool] | None = None,
    replace: bool = False,
    failed: bool = False,
) -> Outcome:
    """Compute the blocks of a sweep that the store at `path` does not have, and store them.

    Parameters
    ----------
    sweep : Sweep
    path : Path
        The folder of the store; created if it does not exist.
    executor : Executor, optional
        Where blocks are computed; by default in this process.
    workers : int
        Number of workers of the executor; four times as many blocks are submitted at a time.
    started : callable, optional
        Called with the number of missing blocks; returns a function that is called with the part of every finished
        block.
    alive : callable, optional
        Asked whether the executor has any worker, while none has finished a block for some seconds.
    replace : bool
        Whether numbers of other values of the keys that are no axis may be replaced.
    failed : bool
        Whether cells that failed are computed again.

    Raises
    ------
    StoreError
        When the folder cannot be used, or, unless `replace`, holds numbers of another system.
    SweepError
        When a worker was lost, had another version of the code, or met an error that says nothing about the system, or
        when there has been no worker for twenty seconds. Finished blocks are kept.
    """
    store = Store(path)
    with store.held(), naming(path):
        store.demand(sweep, replace=replace)
        _remove_outdated(store, sweep)
        reusable = store.prepare(sweep, failed=failed)
        missing_blocks = [
            (work, index) for work in sweep.works for index in work.blocks() if store.missing(work, index, failed=failed)
        ]
        total = sum(work.count for work in sweep.works)
        advance = (lambda _: None) if started is None else started(len(missing_blocks))
        group = store.group()
        computed = 0
        for work, index, block, reused in _blocks(missing_blocks, reusable, executor, workers, alive):
            store.write(group, work, index, block)
            computed += not reused
            advance(work.part.name)
        return Outcome(computed, total - computed, store.finish(sweep), _summary(store))


def _blocks(
    missing_blocks: list[tuple[Work, Index]],
    kept: dict[str, Kept],
    executor: Executor | None,
    workers: int,
    alive: Callable[[], bool] | None,
) -> Iterator[tuple[Work, Index, Block, bool]]:
    """The finished blocks; true where all cells came from an older grid in the store."""
    running: dict[Future[Block], tuple[Work, Index]] = {}
    try:
        for work, index in missing_blocks:
            old = _known_cells(kept.get(work.part.name), work, index)
            if old is not None and old.known.all():
                yield work, index, Block(tuple(old.arrays.values()), {}), True
                continue
            task = work.task(index)
            if old is not None:
                task = task.some(np.flatnonzero(~old.known))
            if executor is None:
                with _executor_errors():
                    block = compute(task)
                yield work, index, _merged(old, block), False
                continue
            with _executor_errors(), warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph")  # of Dask: the files of the system
                running[executor.submit(compute, task)] = work, index
            while len(running) >= _AHEAD * workers:
                yield from _done(running, kept, alive)
        while running:
            yield from _done(running, kept, alive)
    finally:
        for future in running:
            future.cancel()


def _done(
    running: dict[Future[Block], tuple[Work, Index]], kept: dict[str, Kept], alive: Callable[[], bool] | None
) -> Iterator[tuple[Work, Index, Block, bool]]:
    silent = 0
    while not (done := wait(running, None if alive is None else _PATIENCE, FIRST_COMPLETED).done):
        silent = 0 if alive is None or alive() else silent + 1
        if silent == _ASKED:
            raise SweepError(
                f"the cluster has had no worker for {_PATIENCE * _ASKED:.0f} s; the finished blocks are kept, the same "
                "command goes on with the rest"
            )
    for future in done:
        work, index = running.pop(future)
        with _executor_errors():
            block = future.result()
        yield work, index, _merged(_known_cells(kept.get(work.part.name), work, index), block), False


@contextmanager
def _executor_errors() -> Iterator[None]:
    """Turn an exception of the executor into a SweepError, and say in those of `compute` what is kept."""
    try:
        yield
    except Exception as error:
        text = str(error).partition("\n")[0] or type(error).__name__
        if not isinstance(error, SweepError):
            lost = "the scheduler" if isinstance(error, CancelledError) else "a worker"
            text = f"{lost} was lost ({text})"
        raise SweepError(f"{text}; the finished blocks are kept, the same command goes on with the rest") from error


def _known_cells(kept: Kept | None, work: Work, index: Index) -> Kept | None:
    """The cells of a block that an older grid has too; None where it has none."""
    if kept is None:
        return None
    region = work.region(index)
    known = kept.known[region]
    return Kept(known, {name: array[region] for name, array in kept.arrays.items()}) if known.any() else None


def _merged(old: Kept | None, computed: Block) -> Block:
    """The whole block from its known cells and the newly computed ones."""
    if old is None:
        return computed
    missing = np.flatnonzero(~old.known)
    arrays = []
    for known, values in zip(old.arrays.values(), computed.arrays, strict=True):
        merged = known.copy().reshape((old.known.size, *known.shape[old.known.ndim :]))
        merged[missing] = values
        arrays.append(merged.reshape(known.shape))
    return Block(tuple(arrays), {int(missing[number]): message for number, message in computed.failed.items()})


def _remove_outdated(store: Store, sweep: Sweep) -> None:
    """Remove stored quantities that are not requested and that belong to another input."""
    requested = {quantity.name for work in sweep.works for quantity in work.quantities}
    for name, arrays in store.others(requested).items():
        try:
            up_to_date = store.complete(sweep.asking([name]))
        except (AirtightError, OSError):
            up_to_date = False
        store.notes.clear()
        if not up_to_date:
            store.forget(arrays)
            store.removed.append(name)


def _summary(store: Store) -> tuple[str, ...]:
    """One line for all chunks of a variable that were computed anew for the same reason."""
    lines = []
    for (variable, reason), count in Counter(store.notes).items():
        lines.append(f"{variable}: {reason if count == 1 else f'{reason} ({count} chunks)'}: computed anew")
    lines += [f"{name}: of another input and not requested: removed" for name in store.removed]
    return tuple(lines)


def cost(sweep: Sweep, path: Path | None) -> list[Cost]:
    """Number and estimated CPU time of the blocks that the store does not have, for every part."""
    store = Store(path) if path is not None and path.exists() else None
    if store is not None:
        store.demand(sweep, replace=True)
    costs = []
    for work in sweep.works:
        blocks = work.count
        if store is not None:
            blocks = sum(store.missing(work, index) for index in work.blocks())
        costs.append(Cost(work, blocks, _seconds(work) * work.cells * blocks / work.count if blocks else np.nan))
    return costs


def _seconds(work: Work) -> float:
    """CPU seconds per cell, from ever larger samples spread over the grid, until one takes long enough to measure."""
    first_index = next(iter(work.blocks()))
    whole_task = replace(work, block=work.shape).task(first_index)
    largest_sample = min(work.cells, int(np.prod(work.block, dtype=np.int64)))
    for count in _SAMPLES:
        cells = np.unique(np.linspace(0, work.cells - 1, min(count, largest_sample)).astype(np.int64))
        start = time.process_time()
        compute(whole_task.some(cells))
        seconds = time.process_time() - start
        if seconds > _MEASURABLE or cells.size == largest_sample:
            break
    return seconds / cells.size
