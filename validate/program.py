"""Modules that are programs: ``python -m MODULE WORDS``."""

from __future__ import annotations

import sys
from collections.abc import Callable

from airtight.analytics.checks import AirtightError


def run(main: Callable[[list[str]], int | None], usage: str, *, least: int = 0) -> None:
    """Call `main` with the words of the command line and exit with what it returns.

    An error of the package or of the operating system, and fewer than `least` words, end in one line on stderr and exit code 2.

    Parameters
    ----------
    main : callable
        Returns the exit code; None stands for 0.
    usage : str
        What follows ``python -m``.
    least : int
        Words that are needed.

    Examples
    --------
    >>> import contextlib
    >>> with contextlib.suppress(SystemExit):
    ...     run(lambda words: print("called"), "airtight.somewhere")
    called
    """
    words = sys.argv[1:]
    if len(words) < least:
        _end(f"usage: python -m {usage}")
    try:
        sys.exit(main(words))
    except AirtightError as error:
        _end(f"airtight: {' '.join(str(error).split(chr(10)))}")
    except OSError as error:
        _end(f"airtight: {error.filename or 'standard output'}: {error.strerror or error}")


def _end(line: str) -> None:
    print(line, file=sys.stderr)
    sys.exit(2)
