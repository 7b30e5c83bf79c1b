"""Reads files that a stranger may have written: regular files only, of limited size, with printable names and texts."""

from __future__ import annotations

import os
import stat
import sys
import tomllib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

_MOST_TOML = 1 << 26  # bytes
_PART = 1 << 20  # bytes read at a time
_MOST = 1 << 32  # bytes of any other file that is held in memory as it is


def opened(path: Path) -> IO[bytes]:
    """A regular file, open for reading; a pipe or a device, from which nothing may ever come, is an OSError at once."""
    # without O_NONBLOCK the opening of a pipe waits for a writer
    stream = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(None, "must be a regular file; - stands for standard input")
    return stream


def content(path: Path, most: int = _MOST) -> bytes:
    """All bytes of a regular file, or of standard input for ``-``.

    Raises
    ------
    OSError
        When the file cannot be read.
    ValueError
        When it is too long.
    """
    with nullcontext(sys.stdin.buffer) if str(path) == "-" else opened(path) as stream:
        parts, left = [], most
        while part := stream.read(_PART):
            left -= len(part)
            if left < 0:
                raise ValueError(f"longer than {most:,} bytes")
            parts.append(part)
    return b"".join(parts)


def toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file, of standard input for ``-``; a byte order mark is skipped.

    Raises
    ------
    OSError
        When the file cannot be read.
    ValueError
        When it is not TOML in UTF-8, too long or too deep, or when a key or a text in it is not printable: a terminal would
        obey its control characters, and a line break in a name would forge a line of ours.
    """
    try:
        tables = tomllib.loads(content(path, _MOST_TOML).decode("utf-8-sig"))
        for text in _texts(tables):
            if not text.isprintable():
                raise ValueError(f"{text!r}: must have printable characters only")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return tables


def _texts(tree: Any) -> Iterator[str]:
    """All keys and all texts of a tree."""
    if isinstance(tree, str):
        yield tree
    for part in [*tree, *tree.values()] if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _texts(part)


def number(text: str) -> float:
    """The number that a text of ASCII digits stands for; Python would also read ``1_0``, and digits of other scripts.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> number("-1e-3")
    -0.001
    """
    return float(_plain(text))


def whole(text: str) -> int:
    """The whole number that a text of ASCII digits stands for; see :func:`number`."""
    return int(_plain(text))


def _plain(text: str) -> str:
    if not text.isascii() or "_" in text:
        raise ValueError(f"{text!r}: must have ASCII digits only, without underscores")
    return text
