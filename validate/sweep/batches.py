"""Cells that share structure: systems of equal devices are solved together, and so are fleets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from airtight.analytics import parameters
from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.homogeneous import HomogeneousSystems
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import mixtures, observers
from airtight.solvers.energy.utility import EnergySolution
from airtight.validate.sweep.axes import Key
from airtight.validate.sweep.parts import DEFAULT_EPSILON
from airtight.validate.sweep.quantities import Place
from airtight.validate.sweep.task import Task
from airtight.validate.system_file import units

Batch = Callable[[Task], list[FloatArray]]

_COLUMNS = tuple(each.name for each in fields(HomogeneousSystems))
_IRRELEVANT = {"delta_prime", "decoder_gain", "channel_gain"}  # to privacy
_KNOWN = {*_COLUMNS, *_IRRELEVANT, "observer", "at_epsilon"}
_COMMON = ("adjacency", "idle_noise", "observer")
_PRIVACY = {
    "inference.privacy.interval",
    "inference.privacy.delta_at",
    "inference.privacy.exact",
    "inference.privacy.proven",
    "inference.privacy.observers",
}


def batch(task: Task) -> Batch | None:
    """How to compute all cells of a task together; None where each is for itself.

    What it returns is a flat array for each place of the task; a cell that is nan in all has to be computed alone.
    """
    if task.part in _PRIVACY and _homogeneous(task):
        return _privacy
    if task.part in ("energy", "energy.device"):
        return _energy
    return None


def costly(task: Task) -> bool:
    """Whether one cell of the batch takes milliseconds: a device that hides behind its own participation."""
    asked = {task.raw.get("inference", {}).get("observer", "auto")}
    for axis in task.axes:
        for key, values in zip(axis.keys, axis.values, strict=True):
            if key.name == "observer":
                asked |= set(values)
    hiding = task.part in ("inference.privacy.interval", "inference.privacy.delta_at") and bool(
        asked & {Observer.OTHERS.value, Observer.SIGNAL.value}
    )
    return hiding or task.part == "inference.privacy.observers"


def _homogeneous(task: Task) -> bool:
    """Whether the devices of every cell are equal, as far as the tables say so, and all keys are known."""
    table = task.raw["inference"]
    swept = [key for axis in task.axes for key in axis.keys]
    meanings = {units.ALTERNATIVES[key][0] if key in units.ALTERNATIVES else key for key in table}
    known = meanings <= _KNOWN and all(key.meaning in _KNOWN and key.index is None for key in swept)
    replaced = {key.meaning for key in swept}
    lists = [key for key, value in table.items() if isinstance(value, list) and key not in replaced | _IRRELEVANT]
    return known and not lists


def _columns(task: Task, keys: list[Key]) -> dict[str, list[Any]]:
    """The values of the swept keys, one entry a cell."""
    every = list(zip(*task.cells(), strict=True)) if keys else []
    return {key.label: list(values) for key, values in zip(keys, every, strict=True)}


def _privacy(task: Task) -> list[FloatArray]:
    keys = [key for axis in task.axes for key in axis.keys]
    swept = _columns(task, keys)
    size = task.size
    defaults = {name: row.default for name, row in parameters.of(InferenceSystem).items() if not row.required}
    base = {**defaults, "observer": "auto", "at_epsilon": DEFAULT_EPSILON}
    replaced = {key.meaning for key in keys}
    given = {name: value for name, value in task.raw["inference"].items() if _meaning(name) not in replaced}
    if any(key.name in units.ALTERNATIVES for key in keys) or any(name in units.ALTERNATIVES for name in given):
        rows = [units.linear({**given, **{key.name: swept[key.label][i] for key in keys}}) for i in range(size)]
        columns = {name: [row.get(name, base.get(name)) for row in rows] for name in {*base, *rows[0]}}
    else:
        columns = {name: [value] * size for name, value in {**base, **given}.items()}
        columns |= {key.name: swept[key.label] for key in keys}
    kinds = np.array([" ".join(map(str, point)) for point in zip(*(columns[name] for name in _COMMON), strict=True)])
    out = [np.full((size, task.devices) if place.per_device else (size,), np.nan) for place in task.places]
    for kind in np.unique(kinds):
        part = np.flatnonzero(kinds == kind)
        common = {name: columns[name][part[0]] for name in _COMMON}
        systems = HomogeneousSystems(
            **{name: np.array([columns[name][i] for i in part]) for name in _COLUMNS if name not in _COMMON},
            adjacency=common["adjacency"],
            idle_noise=common["idle_noise"],
        )
        at_epsilon = np.array([columns["at_epsilon"][i] for i in part], dtype=float)
        values = _of_systems(task, systems, str(common["observer"]), at_epsilon)
        for target, place in zip(out, task.places, strict=True):
            target[part] = _over_devices(values[place.path], place, systems.devices, task.devices)
    return out


def _meaning(name: str) -> str:
    return units.ALTERNATIVES[name][0] if name in units.ALTERNATIVES else name


def _of_systems(
    task: Task, systems: HomogeneousSystems, observer: str, at_epsilon: FloatArray
) -> dict[str, FloatArray]:
    """The numbers of one device of every system, by path."""
    every, wanted = np.arange(systems.size), {place.path for place in task.places}
    found: dict[str, Any] = {"delta": systems.delta}
    if task.part == "inference.privacy.proven":
        found["epsilon"] = mixtures.proven_epsilon(systems, every, systems.delta)
    elif task.part == "inference.privacy.delta_at":
        found["lower"], found["delta"] = observers.exact_delta_bracket(systems, at_epsilon, observer=observer)
    elif task.part == "inference.privacy.observers":
        for each in ("participants", "others"):
            if each in wanted or each == "others":
                found[each] = observers.exact_epsilon(systems, observer=each)
        found["signal.epsilon"] = found["others"]
        if "signal.lower" in wanted:
            found["signal.lower"] = observers.signal_lower(systems, found["others"], systems.delta, every)
    elif "lower" in wanted:
        found["lower"], found["epsilon"] = observers.epsilon_bracket(systems, observer=observer)
    else:
        found["epsilon"] = observers.exact_epsilon(systems, observer=observer)
    return found


def _over_devices(value: FloatArray, place: Place, devices: IntArray, length: int) -> FloatArray:
    """The same for all devices of a system."""
    if place.per_device:
        return np.where(np.arange(length) < devices[:, None], value[:, None], np.nan)
    return devices * value if place.reduction == "sum" else value


def _energy(task: Task) -> list[FloatArray]:
    from airtight.solvers import energy

    keys = [key for axis in task.axes for key in axis.keys]
    size = task.size
    table = dict(task.raw["energy"])
    table["beta_1"], table["beta_2"] = table.pop("beta")
    defaults = {name: row.default for name, row in parameters.of(DeviceFleet).items() if not row.required}
    given = {**defaults, **table}
    length = max((len(value) for value in given.values() if isinstance(value, list)), default=1)
    columns = {
        name: np.broadcast_to(np.asarray(value, dtype=float), (size, length)).copy() for name, value in given.items()
    }
    for key, values in zip(keys, _columns(task, keys).values(), strict=True):
        if key.name == "beta":
            columns[f"beta_{key.index + 1}"][:] = np.array(values)[:, None]  # type: ignore[operator]
        elif key.index is None:
            columns[key.name][:] = np.array(values)[:, None]
        else:
            columns[key.name][:, key.index] = values
    fleet = DeviceFleet(**{name: column.ravel() for name, column in columns.items()})
    if task.part == "energy.device":
        found = {place.path: np.asarray(getattr(fleet, place.path), dtype=float) for place in task.places}
    else:
        found = _solved(fleet, {place.path for place in task.places}, energy.solve)
    out = []
    for place in task.places:
        rows = found[place.path].reshape(size, length)
        if task.part == "energy":
            rows = np.where(np.isnan(rows).any(axis=1, keepdims=True), np.nan, rows)  # the whole fleet, or none
        out.append(rows if place.reduction is None else getattr(np, place.reduction)(rows, axis=1))
    return out


def _solved(
    fleet: DeviceFleet, paths: set[str], solve: Callable[[DeviceFleet], EnergySolution]
) -> dict[str, FloatArray]:
    """Device after device; nan where one cannot keep its deadline."""
    able = np.flatnonzero(fleet.feasible)
    found = {path: np.full(fleet.devices, np.nan) for path in paths}
    if able.size:
        some = DeviceFleet(**{name: getattr(fleet, name)[able] for name in parameters.of(DeviceFleet)})
        solution = solve(some)
        for path in paths:
            found[path][able] = getattr(solution, path)
    return found
