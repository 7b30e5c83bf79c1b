"""Long work on the command line: pools of processes, progress on stderr, and claims tried with both."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, InvalidStateError, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from airtight.validate.claims.evidence import Evidence
    from airtight.validate.claims.sources import Source

QUIET = "airtight.quiet"  # key in the meta data of the click context
_ALONE = 4  # up to so many claims are tried without a pool, because starting one takes longer


def one_thread_each() -> None:
    """Let NumPy compute with one thread, here if it is not loaded yet, and in processes that are started from here.

    Matrices are small here, and more threads take more time; how they share a sum may change its last digit. Who sets
    another number in the environment gets it.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


@contextmanager
def pool_of(tasks: int) -> Iterator[tuple[Executor | None, int]]:
    """A pool of at most one process per task and usable processor, and its size; (None, 1) where one process suffices.

    Each process computes with one thread, unless the environment asks for another number.
    """
    workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, tasks)
    if workers <= 1:
        yield None, 1
        return
    one_thread_each()  # the processes inherit the environment
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_start_worker) as pool:
        try:
            yield pool, workers
        except BaseException:
            threading.excepthook = _unless_cancelled
            pool.shutdown(wait=False, cancel_futures=True)
            for child in active_children():
                child.terminate()
            raise


def _unless_cancelled(failure: threading.ExceptHookArgs) -> None:
    """Print the traceback of a thread, but not that of the pool's thread which tells a cancelled future that its worker ended."""
    if failure.exc_type is not InvalidStateError:
        threading.__excepthook__(failure)


def pool_for_claims(count: int) -> AbstractContextManager[tuple[Executor | None, int]]:
    """A pool of processes for so many claims, or None for a few, which are tried in this process."""
    return pool_of(count if count > _ALONE else 1)


def _start_worker() -> None:
    """Prepare a worker: it ignores Ctrl-C, on which the command ends it, and it does not outlive the command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if (parent := parent_process()) is not None:
        threading.Thread(target=_orphaned, args=(parent,), daemon=True).start()


def _orphaned(parent: BaseProcess) -> None:
    """End this worker when the command has ended in whatever way; else it would wait for work forever."""
    parent.join()
    os._exit(1)


def quiet() -> bool:
    """Whether the running command was asked to print no progress."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def heard() -> bool:
    """Whether the running command says how far it is: stderr is a terminal, and it was not asked to be quiet."""
    # sys.stderr is None where the process started with it closed
    return sys.stderr is not None and sys.stderr.isatty() and not quiet()


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[[str], None]]:
    """A progress bar on stderr where that is a terminal; the yielded function advances it by one and names what was done.

    It is there at once and shows the time that has passed; without `total`, where nobody knows how much is to do, no estimate.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True, markup=False, emoji=False)
    if quiet() or not console.is_terminal:
        yield lambda done: None
        return
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    left = TextColumn("left"), TimeRemainingColumn()
    with Progress(*columns, *left, console=console, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, advance=1, description=done)


def steps() -> Callable[[str], None]:
    """A function that prints a finished part of some long work and its seconds on stderr, also where that is no terminal."""
    last, silent = time.monotonic(), quiet() or sys.stderr is None

    def done(part: str) -> None:
        nonlocal last
        now = time.monotonic()
        if not silent:
            print(f"airtight: {part} ({now - last:.1f} s)", file=sys.stderr, flush=True)
        last = now

    return done


def audited(
    ids: Sequence[str], seed: int, effort: int, limit: float = math.inf, source: Source | None = None
) -> list[Evidence]:
    """The evidence in the order of the papers, with a progress bar on stderr when that is a terminal."""
    from airtight.validate.claims import audit
    from airtight.validate.claims.sources import INSTALLED

    source = INSTALLED if source is None else source
    wanted = audit.selected(ids, source)
    order = {claim.id: i for i, claim in enumerate(wanted)}
    results = []
    with progress("trying", len(wanted)) as advance, pool_for_claims(len(wanted)) as (pool, _):
        for one in audit.run(ids, seed=seed, effort=effort, limit=limit, source=source, executor=pool):
            advance(f"tried {one.claim.id}")
            results.append(one)
    return sorted(results, key=lambda e: order[e.claim.id])
