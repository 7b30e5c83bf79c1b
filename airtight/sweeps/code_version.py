"""The code that computes the numbers of a sweep: its digest, and whether a process computes with that code."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import scipy

from airtight.sweeps.task import SweepError

_FOLDERS = ("analytics", "solvers", "validate/results", "validate/sweep", "validate/system_file")


def _on_disk() -> str:
    """Digest of the source files as they are now, and of the versions of NumPy and SciPy."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


_LOADED = _on_disk()  # of the modules in memory: as this process imported them


def sources() -> str:
    """Digest of the code in memory."""
    return _LOADED


def demand(planned: str) -> None:
    """Check that this process computes with the code of the plan, and that no file of it has changed since it was loaded.

    Modules that are imported late are read from the changed file, so that a block may mix two versions.

    Raises
    ------
    SweepError
    """
    if not planned == sources() == _on_disk():
        raise SweepError(
            "a worker has another version of airtight, NumPy or SciPy, or their files have changed since the start; "
            "the block was not stored"
        )
