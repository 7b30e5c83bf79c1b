"""The code that computes the numbers of a sweep: its digest, and whether a process computes with that code."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import scipy

from airtight import analytics, results, solvers, sweeps, system_file
from airtight.sweeps.task import SweepError
from airtight.validate import number_tables

_PLACES = [  # of all that a number of a sweep is computed by: folders, and a module that reads tables
    *(Path(str(package.__file__)).parent for package in (analytics, solvers, results, sweeps, system_file)),
    Path(number_tables.__file__),
]


def _on_disk() -> str:
    """Digest of the source files as they are now, and of the versions of NumPy and SciPy."""
    digest = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    for place in _PLACES:
        for path in sorted(place.rglob("*.py")) or [place]:
            name = f"{place.name}/{path.relative_to(place).as_posix()}"
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
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
