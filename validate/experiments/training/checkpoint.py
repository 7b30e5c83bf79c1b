"""Checkpoints: the state of a run between two rounds, on disk."""

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
    """A text that identifies a run: its system and settings, numbers with all their digits.

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
    """Replace the checkpoint at `path`, if there is a path; `label` says to which run it belongs."""
    if path is not None:
        with whole(path) as stream:
            arrays: dict[str, Any] = {f"state_{name}": value for name, value in state.items()}
            np.savez(stream, label=np.array(label), **arrays)


def restore(path: Path | None, label: str) -> State | None:
    """The saved state of the run; None when there is no checkpoint yet.

    Raises
    ------
    ParameterError
        When the file is unreadable or belongs to another run.
    """
    if path is None or not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as archive:
            if str(archive["label"]) == label:
                return {name.removeprefix("state_"): archive[name] for name in archive.files if name != "label"}
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ParameterError("checkpoint", str(path), f"a readable checkpoint: {error}") from None
    raise ParameterError("checkpoint", str(path), "a checkpoint of the same run: system, settings and mechanism")
