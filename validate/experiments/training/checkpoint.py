"""The state between two rounds, on disk."""

from __future__ import annotations

import json
import zipfile
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import ParameterError
from airtight.validate.files import whole

State = dict[str, NDArray[Any]]


def label(*parts: Any) -> str:
    """What tells one run from another: every digit of its system and settings.

    Examples
    --------
    >>> label({"noise": np.array([0.1, 1 / 3])}, "corbin")
    '[{"noise": [0.1, 0.3333333333333333]}, "corbin"]'
    """
    return json.dumps(parts, default=_plain)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)


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
