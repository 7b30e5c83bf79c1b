"""Reads TOML of limited size, which a stranger may have written."""

from __future__ import annotations

import sys
import tomllib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

_MOST_BYTES = 1 << 26


def toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file, of standard input for ``-``; a byte order mark is skipped.

    Raises
    ------
    OSError
        When the file cannot be read.
    ValueError
        When it is not TOML in UTF-8, or too long or too deep.
    """
    with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"longer than {_MOST_BYTES} bytes")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
