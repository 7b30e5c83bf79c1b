"""Computes the cells of one chunk of a sweep: in a batch where they allow it, otherwise one by one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from airtight.analytics.checks import AirtightError, FloatArray, IntArray
from airtight.sweeps import batches, code_version
from airtight.sweeps.axes import QUESTIONS, Value
from airtight.sweeps.parts import DEFAULT_EPSILON, REDUCTIONS, part
from airtight.sweeps.quantities import Place
from airtight.sweeps.task import Block, SweepError, Task
from airtight.system_file import config
from airtight.validate.packages import error_text


def compute(task: Task) -> Block:
    """Compute all cells of a task; a cell whose system is not allowed is nan, and its message is recorded.

    Raises
    ------
    SweepError
        When anything else happened: a machine that is short of memory, or a library that is away, says nothing about a
        system, and no number of the block may be kept.
    """
    code_version.demand(task.sources)
    size = task.size
    flat = [np.full((size, task.devices) if place.per_device else (size,), np.nan) for place in task.places]
    failed: dict[int, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the plan has already warned about the file itself
        remaining = np.arange(size)
        if (together := batches.batch(task)) is not None:
            remaining = _in_batches(task, together, remaining, flat)
        cell_values = list(task.cells()) if remaining.size else []
        for i in remaining.tolist():
            try:
                _one_cell(task, cell_values[i], i, flat)
            except Exception as error:
                if not isinstance(error, AirtightError) or isinstance(error, OSError | ImportError):
                    raise SweepError(f"{_cell_name(task, cell_values[i])}: {error_text(error)}") from error
                failed[i] = _message(task, error)
    code_version.demand(task.sources)
    shape = task.shape
    return Block(tuple(x.reshape(shape + x.shape[1:]) for x in flat), failed)


def _in_batches(
    task: Task, batch: Callable[[Task], list[FloatArray]], cells: IntArray, flat: list[FloatArray]
) -> IntArray:
    """Compute cells in a batch, in two halves where the batch fails; the indices of the cells that are left.

    A cell is left where it fails as a batch of one, or where it is nan in all arrays.
    """
    try:
        batch_task = task if cells.size == flat[0].shape[0] else task.some(cells)
        arrays = batch(batch_task)
    except Exception:
        if cells.size == 1:
            return cells
        halves = np.array_split(cells, 2)
        return np.concatenate([_in_batches(task, batch, half, flat) for half in halves])
    for flat_array, array in zip(flat, arrays, strict=True):
        flat_array[cells] = array
    return cells[np.all([np.isnan(array.reshape(cells.size, -1)).all(axis=1) for array in arrays], axis=0)]


def _one_cell(task: Task, cell: tuple[Value, ...], number: int, flat: list[FloatArray]) -> None:
    result = part(task.part)
    tables = task.tables(cell)
    at_epsilon = DEFAULT_EPSILON
    if "inference" in tables:
        tables["inference"] = dict(tables["inference"])
        questions = {name: tables["inference"].pop(name) for name in QUESTIONS if name in tables["inference"]}
        at_epsilon = float(questions.get("at_epsilon", DEFAULT_EPSILON))
    description = config.described(tables, Path(task.where), channel="inference.channel" in result.reads, files=task.files)
    numbers = result.values(description, {place.path for place in task.places}, at_epsilon)
    for flat_array, place in zip(flat, task.places, strict=True):
        flat_array[number] = _as_cell(numbers[place.path], place, task.devices)


def _as_cell(value: Any, place: Place, devices: int) -> FloatArray | float:
    array = np.asarray(value, dtype=float)
    if place.reduction is not None:
        return float(REDUCTIONS[place.reduction](array))
    if not place.per_device:
        return float(array)
    out = np.full(devices, np.nan)
    out[: array.size] = array.ravel()
    return out


def _cell_name(task: Task, cell: tuple[Value, ...]) -> str:
    labels = [key.label for axis in task.axes for key in axis.keys]
    return ", ".join(f"{label} = {value}" for label, value in zip(labels, cell, strict=True)) or task.part


def _message(task: Task, error: Exception) -> str:
    text = str(error) or type(error).__name__
    return text.removeprefix(f"{task.where}: ")
