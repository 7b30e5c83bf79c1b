"""Which processors a test computes on: one for each worker of xdist, all on request.

Pools of processes inside of tests compute no sooner where every processor has a test of its own, and each of their processes
imports everything anew.
"""

import os
from concurrent.futures import Executor, Future
from contextlib import contextmanager

_ALL = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()


def take_one():
    """A worker of xdist, and what it starts, computes on one processor from now on."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and _ALL:
        os.sched_setaffinity(0, {sorted(_ALL)[int(worker.removeprefix("gw")) % len(_ALL)]})


@contextmanager
def every_processor():
    """What starts inside computes on all processors, as commands of users do."""
    if not _ALL:
        yield
        return
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, _ALL)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


class Here(Executor):
    """Computes in this process, which has imported everything, what it is given."""

    def submit(self, function, /, *args, **kwargs):
        future = Future()
        future.set_result(function(*args, **kwargs))
        return future
