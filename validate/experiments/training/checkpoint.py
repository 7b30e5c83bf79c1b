"""The state between two rounds, on disk."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.checks import ParameterError
from validate.files import whole

State = dict[str, NDArray[Any]]


def store(path: Path | None, label: str, state: State) -> None:
    """Replace the checkpoint, if there is to be one; `label` says which run it belongs to."""
    if path is not None:
        with whole(path) as stream:
            arrays: dict[str, Any] = {f"state_{name}": value for name, value in state.items()}
            np.savez(stream, label=np.array(label), **arrays)


def restore(path: Path | None, label: str) -> State | None:
    """The state that was saved; None when there is none yet.

    Raises
    ------
    ParameterError
        When the file is unreadable or of another run.
    """
    if path is None or not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as kept:
            if str(kept["label"]) == label:
                return {name.removeprefix("state_"): kept[name] for name in kept.files if name != "label"}
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ParameterError("checkpoint", str(path), f"readable: {error}") from None
    raise ParameterError("checkpoint", str(path), "of the same run: system, settings and mechanism")
