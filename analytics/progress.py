"""Progress of long work that Python code starts: lines on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from airtight.analytics import checks

_SECONDS = 2.0  # between two lines, at least
Item = TypeVar("Item")


def reported(total: int | None, what: str, *, progress: bool) -> Callable[[int], None]:
    """A function of how much is done; where `progress` is true, it says so on stderr, at most every two seconds.

    With `total` it estimates the time that is left, from the time per part so far; `total` is None where it is not known
    beforehand, as in a search for a root.

    Examples
    --------
    >>> done = reported(1000, "evaluations", progress=False)
    >>> done(250)
    """
    told = checks.flag("progress", progress)
    start = last = time.monotonic()

    def done(number: int) -> None:
        nonlocal last
        now = time.monotonic()
        if told and number and now - last >= _SECONDS:
            part, left = f"{number}" if total is None else f"{number} of {total}", ""
            if total is not None and total > number:
                left = f", about {(now - start) / number * (total - number):.0f} s left"
            print(f"airtight: {part} {what} ({now - start:.0f} s{left})", file=sys.stderr, flush=True)
            last = now

    return done


def each_reported(total: int | None, what: str, *, progress: bool) -> Callable[[str], None]:
    """As :func:`reported`, a function that is called after every single part, with its name."""
    done, number = reported(total, what, progress=progress), 0

    def advance(part: str) -> None:
        nonlocal number
        number += 1
        done(number)

    return advance


def counted(items: Iterable[Item], total: int, what: str, *, progress: bool) -> Iterator[Item]:
    """The items; where `progress` is true, a line on stderr says every two seconds how many of them are done.

    Examples
    --------
    >>> list(counted([3, 5], 2, "devices", progress=False))
    [3, 5]
    """
    done = reported(total, what, progress=progress)
    for number, item in enumerate(items):
        done(number)
        yield item
