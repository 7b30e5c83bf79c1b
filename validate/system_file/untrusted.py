"""Reads files that strangers may have made: TOML of limited size, and archives whose headers are read before their data."""

from __future__ import annotations

import math
import sys
import tomllib
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import ParameterError

_MOST_BYTES = 1 << 26  # of a TOML file
_MOST_NUMBERS = 1 << 27  # of all arrays of an archive: a gigabyte of doubles
BROKEN = (
    ValueError,
    EOFError,
    AttributeError,
    TypeError,
    RuntimeError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy and zipfile raise where an archive is damaged."""


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


def arrays(path: Path, names: Sequence[str], optional: Sequence[str] = ()) -> dict[str, NDArray[Any]]:
    """The named arrays of an .npz archive; how large they are is known before any of them is read.

    Raises
    ------
    ParameterError
        When they are larger than a gigabyte.
    KeyError
        When arrays are missing; it names them.
    OSError, and those in BROKEN
        When the file cannot be read, or is no archive of arrays.
    """
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if missing := [name for name in names if name not in members]:
            raise KeyError(", ".join(missing))
        there = [*names, *(name for name in optional if name in members)]
        total = 0
        for name in there:
            with archive.open(members[name]) as stream:
                version = np.lib.format.read_magic(stream)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(stream)
                size = math.prod(shape)
                total += size
                if total > _MOST_NUMBERS:
                    raise ParameterError(name, f"array of shape {shape}", f"of at most {_MOST_NUMBERS} numbers")
                if dtype.hasobject or stream.tell() + size * dtype.itemsize != members[name].file_size:
                    raise ValueError(f"{name} has another size than its header says")
    with np.load(path, allow_pickle=False) as found:
        return {name: found[name] for name in there}
