"""Batches of cells: systems of equal devices are computed together in one vectorised call, and so are fleets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from airtight.analytics import parameters
from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, observers, system_privacy
from airtight.analytics.privacy.over_the_air.participation_mixture import build
from airtight.solvers.energy.utility import EnergySolution
from airtight.sweeps.axes import Key
from airtight.sweeps.parts import DEFAULT_EPSILON, NO_PRIVACY_EFFECT
from airtight.sweeps.quantities import Place
from airtight.sweeps.task import Task
from airtight.system_file import units

Batch = Callable[[Task], list[FloatArray]]

_COLUMNS = tuple(each.name for each in fields(HomogeneousSystems))
_KNOWN_KEYS = {*_COLUMNS, *NO_PRIVACY_EFFECT, "observer", "at_epsilon"}
_COMMON_TO_BATCH = ("adjacency", "idle_noise", "observer")  # must be equal for all systems of one vectorised call
_CLAIMED = ("t", "mean_noise", "vacuous", "epsilon", "delta")  # by Theorem 1
_CHECKED = {"true_delta": Observer.AUTO, "hidden_delta": Observer.OTHERS}
_PRIVACY = {
    "inference.privacy.interval",
    "inference.privacy.delta_at",
    "inference.privacy.exact",
    "inference.privacy.proven",
    "inference.privacy.observers",
    "inference.privacy.published",
}


def batch(task: Task) -> Batch | None:
    """The function that computes all cells of a task together; None where each cell has to be computed alone.

    The function returns one flat array for each place of the task. A cell that is nan in all of them has to be
    computed alone.
    """
    if task.part in _PRIVACY and _homogeneous(task):
        return _privacy
    if task.part in ("energy", "energy.device"):
        return _energy
    return None


def costly(task: Task) -> bool:
    """Whether one cell of the batch takes milliseconds: the observer does not see whether the device takes part."""
    observer_names = {task.raw.get("inference", {}).get("observer", "auto")}
    for axis in task.axes:
        for key, values in zip(axis.keys, axis.values, strict=True):
            if key.name == "observer":
                observer_names |= set(values)
    participation_unseen = task.part in ("inference.privacy.interval", "inference.privacy.delta_at") and bool(
        observer_names & {Observer.OTHERS.value, Observer.SIGNAL.value}
    )
    return participation_unseen or task.part == "inference.privacy.observers"


def _homogeneous(task: Task) -> bool:
    """Whether the tables make the devices of every cell equal (no lists remain), and all keys are known."""
    table = task.raw["inference"]
    swept = [key for axis in task.axes for key in axis.keys]
    meanings = {units.linear_key(key) for key in table}
    all_known = meanings <= _KNOWN_KEYS and all(key.meaning in _KNOWN_KEYS and key.index is None for key in swept)
    replaced = {key.meaning for key in swept}
    per_device = [
        key for key, value in table.items() if isinstance(value, list) and key not in replaced | NO_PRIVACY_EFFECT
    ]
    return all_known and not per_device


def _columns(task: Task, keys: list[Key]) -> dict[str, list[Any]]:
    """The values of the swept keys by label, one entry per cell."""
    value_lists = list(zip(*task.cells(), strict=True)) if keys else []
    return {key.label: list(values) for key, values in zip(keys, value_lists, strict=True)}


def _privacy(task: Task) -> list[FloatArray]:
    keys = [key for axis in task.axes for key in axis.keys]
    swept = _columns(task, keys)
    size = task.size
    defaults = {name: row.default for name, row in parameters.of(InferenceSystem).items() if not row.required}
    base = {**defaults, "observer": "auto", "at_epsilon": DEFAULT_EPSILON}
    replaced = {key.meaning for key in keys}
    from_file = {name: value for name, value in task.raw["inference"].items() if units.linear_key(name) not in replaced}
    if any(key.name in units.ALTERNATIVES for key in keys) or any(name in units.ALTERNATIVES for name in from_file):
        rows = [units.linear({**from_file, **{key.name: swept[key.label][i] for key in keys}}) for i in range(size)]
        columns = {name: [row.get(name, base.get(name)) for row in rows] for name in {*base, *rows[0]}}
    else:
        columns = {name: [value] * size for name, value in {**base, **from_file}.items()}
        columns |= {key.name: swept[key.label] for key in keys}
    groups = np.array(
        [" ".join(map(str, point)) for point in zip(*(columns[name] for name in _COMMON_TO_BATCH), strict=True)]
    )
    out = [np.full((size, task.devices) if place.per_device else (size,), np.nan) for place in task.places]
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        common = {name: columns[name][members[0]] for name in _COMMON_TO_BATCH}
        systems = HomogeneousSystems(
            **{
                name: np.array([columns[name][i] for i in members]) for name in _COLUMNS if name not in _COMMON_TO_BATCH
            },
            adjacency=common["adjacency"],
            idle_noise=common["idle_noise"],
        )
        at_epsilon = np.array([columns["at_epsilon"][i] for i in members], dtype=float)
        values = _of_systems(task, systems, str(common["observer"]), at_epsilon)
        for out_array, place in zip(out, task.places, strict=True):
            out_array[members] = _over_devices(values[place.path], place, systems.devices, task.devices)
    return out


def _of_systems(
    task: Task, systems: HomogeneousSystems, observer: str, at_epsilon: FloatArray
) -> dict[str, FloatArray]:
    """The numbers of one device of every system, by path; all devices of a system have the same ones."""
    indices, paths = np.arange(systems.size), {place.path for place in task.places}
    numbers: dict[str, Any] = {"delta": systems.delta}
    if task.part == "inference.privacy.published":
        for form in amplification.TheoremForm:
            claim = amplification.published(systems, form=form)
            numbers |= {f"{form}.{name}": getattr(claim, name) for name in _CLAIMED}
            for name, seen in _CHECKED.items():
                if f"{form}.{name}" in paths:
                    numbers[f"{form}.{name}"] = system_privacy.delta(systems, claim.epsilon, observer=seen)
    elif task.part == "inference.privacy.proven":
        numbers["epsilon"] = build.proven_epsilon(systems, indices, systems.delta)
    elif task.part == "inference.privacy.delta_at":
        numbers["lower"], numbers["delta"] = system_privacy.delta_bracket(systems, at_epsilon, observer=observer)
    elif task.part == "inference.privacy.observers":
        for each in ("participants", "others"):
            if each in paths or each == "others":
                numbers[each] = system_privacy.epsilon(systems, observer=each)
        numbers["signal.epsilon"] = numbers["others"]
        if "signal.lower" in paths:
            numbers["signal.lower"] = observers.signal_lower(systems, numbers["others"], systems.delta, indices)
    elif "lower" in paths:
        numbers["lower"], numbers["epsilon"] = system_privacy.epsilon_bracket(systems, observer=observer)[:2]
    else:
        numbers["epsilon"] = system_privacy.epsilon(systems, observer=observer)
    return numbers


def _over_devices(value: FloatArray, place: Place, devices: IntArray, length: int) -> FloatArray:
    """The number of one device repeated for all devices of its system, or reduced over them."""
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
    parameter_values = {**defaults, **table}
    length = max((len(value) for value in parameter_values.values() if isinstance(value, list)), default=1)
    # all fleets of the task form one long fleet: rows are cells, columns are devices
    columns = {
        name: np.broadcast_to(np.asarray(value, dtype=float), (size, length)).copy()
        for name, value in parameter_values.items()
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
        numbers = {place.path: np.asarray(getattr(fleet, place.path), dtype=float) for place in task.places}
    else:
        numbers = _solved(fleet, {place.path for place in task.places}, energy.solve)
    out = []
    for place in task.places:
        rows = numbers[place.path].reshape(size, length)
        if task.part == "energy":
            rows = np.where(
                np.isnan(rows).any(axis=1, keepdims=True), np.nan, rows
            )  # a fleet with an infeasible device has no solution
        out.append(rows if place.reduction is None else getattr(np, place.reduction)(rows, axis=1))
    return out


def _solved(
    fleet: DeviceFleet, paths: set[str], solve: Callable[[DeviceFleet], EnergySolution]
) -> dict[str, FloatArray]:
    """The solution of every device by path; nan for a device that cannot keep its deadline."""
    feasible_devices = np.flatnonzero(fleet.feasible)
    numbers = {path: np.full(fleet.devices, np.nan) for path in paths}
    if feasible_devices.size:
        feasible_fleet = DeviceFleet(
            **{name: getattr(fleet, name)[feasible_devices] for name in parameters.of(DeviceFleet)}
        )
        solution = solve(feasible_fleet)
        for path in paths:
            numbers[path][feasible_devices] = getattr(solution, path)
    return numbers
