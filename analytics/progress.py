"""Progress of long work that Python code starts: lines on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from airtight.analytics import checks

_SECONDS = 2.0  # between two lines, at least
Item = TypeVar("Item")


def counted(items: Iterable[Item], total: int, what: str, *, progress: bool) -> Iterator[Item]:
    """The items; where `progress` is true, a line on stderr says every two seconds how many of them are done.

    Examples
    --------
    >>> list(counted([3, 5], 2, "devices", progress=False))
    [3, 5]
    """
    told = checks.flag("progress", progress)
    start = last = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if told and done and now - last >= _SECONDS:
            print(f"airtight: {done} of {total} {what} ({now - start:.0f} s)", file=sys.stderr, flush=True)
            last = now
        yield item
