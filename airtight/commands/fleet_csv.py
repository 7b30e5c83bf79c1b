"""Fleets as CSV files: each row is a device, and the header names keys of the system file."""

from __future__ import annotations

import csv
import errno
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airtight.analytics import parameters
from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.parameters import Vector
from airtight.results.energy import EnergyResult
from airtight.solvers.errors import InfeasibleError
from airtight.system_file import units
from airtight.system_file.config import SystemFileError, described, read
from airtight.system_file.contents import SystemFile
from airtight.system_file.tables import meant
from airtight.validate import files, untrusted
from airtight.validate.number_tables import TableError, csv_rows, demand_distinct

if TYPE_CHECKING:
    from airtight.solvers.design.fleet.fleet_design import FleetDesign
    from airtight.solvers.design.over_the_air.joint_design import JointDesign
    from airtight.solvers.energy.utility import EnergySolution

_KINDS: dict[str, type] = {"energy": DeviceFleet, "inference": InferenceSystem}
LABELS = (
    "device",
    "epsilon",
)  # columns that are no keys: the name of a device, and the epsilon that is written beside a design


@dataclass(frozen=True, order=True)
class Row:
    """A row of the table: its number, 1 for the first below the header, and its name from the column ``device``, if any."""

    number: int
    name: str


@dataclass(frozen=True, order=True)
class SkippedDevice:
    """A device that was left out, and the reason."""

    row: Row
    reason: str

    def __str__(self) -> str:
        return f"device {self.row.name}: {self.reason}"


def load(
    path: Path,
    devices: Path | None,
    table: str | None = None,
    *,
    leave_out: bool = False,
    channel: bool = False,
    features: Path | None = None,
) -> tuple[SystemFile, list[Row], list[SkippedDevice]]:
    """Read a system file whose devices, in one of its tables, come from a CSV file.

    Parameters
    ----------
    path : Path
        System file; it gives the keys that the CSV file has no column for, equal for every device.
    devices : Path or None
        None where the system file holds all devices.
    table : {"energy", "inference"}, optional
        By default [inference] where the file has it, and [energy] otherwise.
    leave_out : bool
        Whether devices with a value out of range are left out and listed instead of refused.
    channel : bool
        Whether the caller computes over a channel; see :func:`airtight.system_file.config.load`.
    features : Path, optional
        CSV file that takes the place of the key `table` of [inference.features].

    Returns
    -------
    SystemFile
    rows : list of Row
        The rows of the devices that are kept.
    left : list of SkippedDevice

    Raises
    ------
    SystemFileError
        An error in either file; it names column, row, value and what is allowed.
    """
    raw, rows, left = tables(path, devices, table, leave_out=leave_out, features=features)
    try:
        return described(raw, path, channel=channel), rows, left
    except SystemFileError as error:
        text = str(error)
        if features is not None:  # the user named the file by an option, not by a key
            text = text.replace(f"{path}: inference.features.table = {str(features.resolve())!r}", f"--features {features}")
        if devices is not None:
            text += f" ({_own_table(raw, table)} with the {len(rows)} devices of {devices})"
        raise SystemFileError(text) from None


def _own_table(raw: Mapping[str, Any], table: str | None) -> str:
    return table or ("inference" if "inference" in raw else "energy")


def tables(
    path: Path,
    devices: Path | None,
    table: str | None = None,
    *,
    leave_out: bool = False,
    features: Path | None = None,
) -> tuple[dict[str, Any], list[Row], list[SkippedDevice]]:
    """The tables that :func:`load` checks, with the rows of the devices that are kept, and those left out."""
    raw = read(path)
    if features is not None:
        inference = raw.get("inference")
        if not isinstance(inference, dict):
            raise SystemFileError(f"{path}: inference: missing; --features needs it")
        kept_keys = inference.get("features", {})
        named = {**(kept_keys if isinstance(kept_keys, dict) else {}), "table": str(features.resolve())}
        raw = {**raw, "inference": {**inference, "features": named}}
    if devices is None:
        return raw, [], []
    name = _own_table(raw, table)
    columns, rows = _columns(devices, name)
    left = list[SkippedDevice]()
    if leave_out:
        rows, left = _usable(columns, name, rows)
        if not rows:
            raise SystemFileError(f"{devices}: no device left; the first: {left[0]}")
    held = {key: [values[row.number - 1] for row in rows] for key, values in columns.items()}
    kept = raw.get(name)
    if not isinstance(kept, dict):
        raise SystemFileError(f"{path}: {name}: missing; what is not in {devices} must stand there")
    return {**raw, name: _merged(kept, held, name)}, rows, left


def _merged(table: Mapping[str, Any], columns: Mapping[str, list[float]], name: str) -> dict[str, Any]:
    """The table with the columns instead of its own keys, whatever the unit of either."""
    linear = {units.ALTERNATIVES[key][0] if key in units.ALTERNATIVES else key for key in columns}
    other = {key for key, (meant_key, _, _) in units.ALTERNATIVES.items() if meant_key in linear}
    out = {key: value for key, value in table.items() if key not in linear | other}
    if name == "inference":
        return {**out, **columns, "devices": len(next(iter(columns.values())))}
    beta = list(table["beta"]) if isinstance(table.get("beta"), list) else [None, None]
    for i, key in enumerate(("beta_1", "beta_2")):
        if key in columns:
            beta[i : i + 1] = [columns[key]]
            out["beta"] = beta
    return {**out, **{key: values for key, values in columns.items() if not key.startswith("beta_")}}


def _columns(path: Path, table: str) -> tuple[dict[str, list[float]], list[Row]]:
    allowed = _allowed(table)
    try:
        header, *lines = csv_rows(path, untrusted.content(path))
        names = [line[header.index("device")] for line in lines] if "device" in header else []
        demand_distinct(path, names)
    except TableError as error:
        raise SystemFileError(str(error)) from None
    except OSError as error:
        raise SystemFileError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise SystemFileError(f"{path}: {error}") from None
    for name in header:
        if name not in allowed and name not in LABELS:
            raise SystemFileError(f"{path}: column {name!r}: unknown key; {meant(name, allowed)}")
    columns: dict[str, list[float]] = {name: [] for name in header if name not in LABELS}
    if not columns:
        raise SystemFileError(f"{path}: no column with a key of [{table}]; allowed: {', '.join(allowed)}")
    for row, line in enumerate(lines, start=1):
        for name, cell in zip(header, line, strict=True):
            if name in columns:
                columns[name].append(_value(path, name, row, cell))
    return columns, numbered(len(lines), names)


def numbered(devices: int, names: Sequence[str] = ()) -> list[Row]:
    """Rows for so many devices, named by their numbers."""
    return [Row(k, names[k - 1] if names else str(k)) for k in range(1, devices + 1)]


def _value(path: Path, name: str, row: int, cell: str) -> float:
    try:
        return untrusted.number(cell)
    except ValueError:
        raise SystemFileError(f"{path}: {name}[row {row}] = {cell!r}: must be a number") from None


def _allowed(table: str) -> list[str]:
    own = [name for name, row in parameters.of(_KINDS[table]).items() if isinstance(row, Vector)]
    return own + [key for key, (name, _, _) in units.ALTERNATIVES.items() if table == "inference" and name in own]


def _usable(columns: Mapping[str, Sequence[float]], table: str, rows: Iterable[Row]) -> tuple[list[Row], list[SkippedDevice]]:
    kept, left = list[Row](), list[SkippedDevice]()
    held = parameters.of(_KINDS[table])
    for row in rows:
        try:
            for name, values in columns.items():
                if name in held:
                    held[name].checked(values[row.number - 1])
        except ParameterError as error:
            left.append(SkippedDevice(row, str(error)))
        else:
            kept.append(row)
    return kept, left


def write(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns as CSV with all digits of each number; ``-`` is standard output."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    if str(path) == "-":
        if sys.stdout is None:
            raise OSError(errno.EBADF, "is closed")
        sys.stdout.write(text.getvalue())
        return
    with files.whole(path) as stream:
        stream.write(text.getvalue().encode())


def in_time(fleet: DeviceFleet, rows: Sequence[Row], *, integer: bool) -> tuple[DeviceFleet, list[Row], list[SkippedDevice]]:
    """The devices that can keep their deadlines, and those that cannot.

    Raises
    ------
    InfeasibleError
        When none can.
    """
    rows = list(rows) or numbered(fleet.devices)
    asked = replace(fleet, min_iterations=np.ceil(fleet.min_iterations)) if integer else fleet
    able = asked.feasible
    left = [
        SkippedDevice(row, f"misses its deadline of {limit:g} s: needs {least:.6g} s for {count:g} iterations and an update")
        for row, fits, limit, least, count in zip(
            rows, able, asked.deadline, asked.least_deadline, asked.min_iterations, strict=True
        )
        if not fits
    ]
    if not np.any(able):
        raise InfeasibleError(f"no device keeps its deadline; {left[0]}")
    kept = DeviceFleet(**{name: getattr(fleet, name)[able] for name in parameters.of(DeviceFleet)})
    return kept, [row for row, fits in zip(rows, able, strict=True) if fits], left


def plan(solution: EnergySolution, rows: Sequence[Row]) -> dict[str, Sequence[Any]]:
    """The plan of every device, as columns."""
    names = [field.name for field in fields(EnergyResult) if hasattr(solution, field.name)]
    columns = {name: getattr(solution, name).tolist() for name in names}
    return {
        "device": [row.name for row in rows or numbered(solution.gap.size)],
        **columns,
        "gap": solution.gap.tolist(),
    }


def designed(found: JointDesign, rows: Sequence[Row]) -> dict[str, Sequence[Any]]:
    """A joint design as columns that :func:`load` reads, and the epsilon of every device."""
    system, K = found.system, found.system.devices
    columns = {
        name: np.broadcast_to(getattr(system, name), (K,)).tolist()
        for name, row in parameters.of(InferenceSystem).items()
        if isinstance(row, Vector)
    }
    return {"device": [row.name for row in rows or numbered(K)], **columns, "epsilon": found.epsilon.tolist()}


def planned(found: FleetDesign, rows: Sequence[Row]) -> dict[str, Sequence[Any]]:
    """The design of a fleet as columns."""
    names = ("iterations", "power", "transmit_time", "energy", "utility", "deviation", "heard", "own_epsilon")
    columns = {name: getattr(found, name).tolist() for name in names}
    return {"device": [row.name for row in rows or numbered(found.energy.size)], **columns}
