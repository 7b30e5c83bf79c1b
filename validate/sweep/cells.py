"""The cells of one chunk of a sweep, computed: alone, or many together where they share structure."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.validate.sweep import batches
from airtight.validate.sweep.axes import QUESTIONS, Value
from airtight.validate.sweep.parts import DEFAULT_EPSILON, PARTS, REDUCTIONS, Part
from airtight.validate.sweep.quantities import Place
from airtight.validate.sweep.task import Block, Task
from airtight.validate.system_file import config


def compute(task: Task) -> Block:
    """All cells of a task; one that fails is nan, with its message."""
    size = task.size
    flat = [np.full((size, task.devices) if place.per_device else (size,), np.nan) for place in task.places]
    failed: dict[int, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the file itself has been warned of
        left = np.arange(size)
        if (together := batches.batch(task)) is not None:
            left = _together(task, together, left, flat)
        every = list(task.cells()) if left.size else []
        for i in left.tolist():
            try:
                _alone(task, every[i], i, flat)
            except Exception as error:
                failed[i] = _message(task, error)
    shape = task.shape
    return Block(tuple(x.reshape(shape + x.shape[1:]) for x in flat), failed)


def _together(
    task: Task, batch: Callable[[Task], list[FloatArray]], cells: IntArray, flat: list[FloatArray]
) -> IntArray:
    """Compute cells together, in halves where that fails; the numbers of those that fail alone too."""
    try:
        part = task if cells.size == flat[0].shape[0] else task.some(cells)
        found = batch(part)
    except Exception:
        if cells.size == 1:
            return cells
        halves = np.array_split(cells, 2)
        return np.concatenate([_together(task, batch, half, flat) for half in halves])
    for target, values in zip(flat, found, strict=True):
        target[cells] = values
    return cells[np.all([np.isnan(values.reshape(cells.size, -1)).all(axis=1) for values in found], axis=0)]


def _alone(task: Task, cell: tuple[Value, ...], number: int, flat: list[FloatArray]) -> None:
    part = PARTS[task.part]
    tables = task.tables(cell)
    at_epsilon = DEFAULT_EPSILON
    if "inference" in tables:
        tables["inference"] = dict(tables["inference"])
        asked = {name: tables["inference"].pop(name) for name in QUESTIONS if name in tables["inference"]}
        at_epsilon = float(asked.get("at_epsilon", DEFAULT_EPSILON))
    description = config.described(tables, Path(task.where))
    found = part.values(description, {place.path for place in task.places}, at_epsilon)
    for target, place in zip(flat, task.places, strict=True):
        target[number] = _shaped(found[place.path], place, part, task.devices)


def _shaped(value: Any, place: Place, part: Part, devices: int) -> FloatArray | float:
    array = np.asarray(value, dtype=float)
    if place.reduction is not None:
        return float(REDUCTIONS[place.reduction](array))
    if not place.per_device:
        return float(array)
    out = np.full(devices, np.nan)
    out[: array.size] = array.ravel()
    return out


def _message(task: Task, error: Exception) -> str:
    text = str(error) or type(error).__name__
    return text.removeprefix(f"{task.where}: ")
