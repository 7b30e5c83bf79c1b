"""Reads the files of features: arrays f, W, D, and a public centre."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from airtight.analytics.inference.features import Features


@lru_cache(maxsize=2)
def tasks(archive: Path, written: int) -> tuple[Features, ...]:
    """The tasks of a features file, with the public centre subtracted; a KeyError names missing arrays."""
    with np.load(archive, allow_pickle=False) as arrays:
        missing = [name for name in ("f", "W", "D") if name not in arrays]
        if missing:
            raise KeyError(", ".join(missing))
        f = arrays["f"] - arrays["c"] if "c" in arrays else arrays["f"]
        tasks = f if f.ndim == 3 and len(f) else f[None]
        return tuple(Features(f=one, W=arrays["W"], D=arrays["D"]) for one in tasks)
