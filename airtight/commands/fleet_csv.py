"""Fleets as CSV files: each row is a device, and the header names keys of the system file."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airtight.analytics import parameters, tidy
from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.parameters import Number, OptionalNumber, OptionalVector, Vector
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
NAMES = "device", "name"  # columns of names, one of which a table may have
LABELS = (*NAMES, "epsilon")  # columns that are no keys: names, and the epsilon that is written beside a design
_OF_CHANNEL = {  # keys of [inference.channel] that a column may replace: lists, and numbers that all devices share
    name: row
    for name, row in parameters.of(Channel).items()
    if isinstance(row, OptionalVector | OptionalNumber | Number)
}
_EXCLUDED = {  # keys of [inference.channel] that the file must not have beside such a column
    "distance": ("mean_power",),
    "mean_power": ("distance", "path_loss_exponent", "reference_gain"),
}


@dataclass(frozen=True, order=True)
class Row:
    """A row of the table: its number, 1 for the first below the header, and the name of its device, if it has one.

    Examples
    --------
    >>> Row(3, "hall").label, Row(3, "").label
    ('2 hall', '2')
    """

    number: int
    name: str

    @property
    def label(self) -> str:
        """Number of the device, counted from 0, and its name."""
        number = str(self.number - 1)
        return f"{number} {self.name}" if self.name not in ("", number) else number

    @property
    def written(self) -> str:
        """What a table says of the device: its name, or else its number, counted from 0."""
        return self.name or str(self.number - 1)


@dataclass(frozen=True, order=True)
class SkippedDevice:
    """A device that was left out, and the reason."""

    row: Row
    reason: str

    def __str__(self) -> str:
        return f"device {self.row.label}: {self.reason}"


def load(
    path: Path,
    devices: Path | None,
    table: str | None = None,
    *,
    leave_out: bool = False,
    channel: bool = False,
    uncertain: bool = False,
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
    channel, uncertain : bool
        Whether the caller computes over a channel and counts what is uncertain; see :func:`airtight.system_file.config.load`.
    features : Path, optional
        CSV file that takes the place of the key `table` of [inference.features].

    Returns
    -------
    SystemFile
    rows : list of Row
        The devices that are kept: their rows, or their names in the system file.
    left : list of SkippedDevice

    Raises
    ------
    SystemFileError
        An error in either file; it names column, row, value and what is allowed.
    """
    raw, rows, left = tables(path, devices, table, leave_out=leave_out, features=features)
    try:
        system_file = described(raw, path, channel=channel, uncertain=uncertain)
        names = system_file.fleet_names if _own_table(raw, table) == "energy" else system_file.names
        return system_file, rows or numbered(len(names), names), left
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
    of_channel = [key for key in held if name == "inference" and key in _OF_CHANNEL]
    if of_channel and not isinstance(kept.get("channel"), dict):
        raise SystemFileError(
            f"{path}: inference.channel: missing; the column {of_channel[0]} of {devices} is a key of it, and a file "
            "without it has no channel"
        )
    merged = _merged(kept, held, name)
    if any(row.name for row in rows):
        merged["names"] = [row.written for row in rows]
    return {**raw, name: merged}, rows, left


def _merged(table: Mapping[str, Any], columns: Mapping[str, list[float]], name: str) -> dict[str, Any]:
    """The table with the columns instead of its own keys, whatever the unit of either."""
    linear = {units.linear_key(key) for key in columns}
    other = {key for key, (meant_key, _, _) in units.ALTERNATIVES.items() if meant_key in linear}
    out = {key: value for key, value in table.items() if key not in linear | other}
    if name == "inference":
        of_system = {key: values for key, values in columns.items() if key not in _OF_CHANNEL}
        merged = {**out, **of_system, "devices": len(next(iter(columns.values())))}
        if of_channel := {key: values for key, values in columns.items() if key in _OF_CHANNEL}:
            merged["channel"] = _over_channel(table["channel"], of_channel)
        return merged
    beta = list(table["beta"]) if isinstance(table.get("beta"), list) else [None, None]
    for i, key in enumerate(("beta_1", "beta_2")):
        if key in columns:
            beta[i : i + 1] = [columns[key]]
            out["beta"] = beta
    return {**out, **{key: values for key, values in columns.items() if not key.startswith("beta_")}}


def _over_channel(table: Mapping[str, Any], columns: Mapping[str, list[float]]) -> dict[str, Any]:
    """The table [inference.channel] with the columns instead of its own keys; a number that devices share stays one."""
    absent = {name for key in columns for name in _EXCLUDED.get(key, ()) if name not in columns}
    lists = {key: values for key, values in columns.items() if isinstance(_OF_CHANNEL[key], OptionalVector)}
    shared = {key: values[0] for key, values in columns.items() if key not in lists}
    return {**{key: value for key, value in table.items() if key not in absent}, **shared, **lists}


def _columns(path: Path, table: str) -> tuple[dict[str, list[float]], list[Row]]:
    allowed = _allowed(table)
    try:
        header, *lines = csv_rows(path, untrusted.content(path))
        named = [name for name in NAMES if name in header]
        if len(named) > 1:
            raise TableError(f"{path}: columns {' and '.join(named)}: one of them may name the devices")
        names = [line[header.index(named[0])] for line in lines] if named else []
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
    of_channel = _OF_CHANNEL if table == "inference" else {}
    shared = [name for name in columns if name in of_channel and not isinstance(of_channel[name], OptionalVector)]
    for row, line in enumerate(lines, start=1):
        for name, cell in zip(header, line, strict=True):
            if name in columns:
                columns[name].append(value := _value(path, name, row, cell))
                if name in shared and value != columns[name][0]:
                    raise SystemFileError(
                        f"{path}: {name}[row {row}] = {value!r}: must be {columns[name][0]!r}, as in row 1: all devices share it"
                    )
    return columns, numbered(len(lines), names)


def numbered(devices: int, names: Sequence[str] = ()) -> list[Row]:
    """Rows for so many devices."""
    return [Row(k, names[k - 1] if names else "") for k in range(1, devices + 1)]


def _value(path: Path, name: str, row: int, cell: str) -> float:
    try:
        return untrusted.number(cell)
    except ValueError:
        raise SystemFileError(f"{path}: {name}[row {row}] = {cell!r}: must be a number") from None


def _allowed(table: str) -> list[str]:
    own = [name for name, row in parameters.of(_KINDS[table]).items() if isinstance(row, Vector)]
    if table == "inference":
        own += [name for name in _OF_CHANNEL if name not in own]
    return own + [key for key, (name, _, _) in units.ALTERNATIVES.items() if table == "inference" and name in own]


def _usable(columns: Mapping[str, Sequence[float]], table: str, rows: Iterable[Row]) -> tuple[list[Row], list[SkippedDevice]]:
    kept, left = list[Row](), list[SkippedDevice]()
    held = {**(_OF_CHANNEL if table == "inference" else {}), **parameters.of(_KINDS[table])}
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
    text = tidy.csv_text(columns, zip(*columns.values(), strict=True))
    if str(path) == "-":
        if sys.stdout is None:
            raise OSError(errno.EBADF, "is closed")
        sys.stdout.write(text)
        return
    with files.whole(path) as stream:
        stream.write(text.encode())


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
        "device": [row.written for row in rows or numbered(solution.gap.size)],
        **columns,
        "gap": solution.gap.tolist(),
    }


def designed(design: JointDesign, rows: Sequence[Row]) -> dict[str, Sequence[Any]]:
    """A joint design as columns that :func:`load` reads, and the epsilon of every device."""
    system, K = design.system, design.system.devices
    columns = {
        name: np.broadcast_to(getattr(system, name), (K,)).tolist()
        for name, row in parameters.of(InferenceSystem).items()
        if isinstance(row, Vector)
    }
    return {"device": [row.written for row in rows or numbered(K)], **columns, "epsilon": design.epsilon.tolist()}


def planned(design: FleetDesign, rows: Sequence[Row]) -> dict[str, Sequence[Any]]:
    """The design of a fleet as columns."""
    names = ("iterations", "power", "transmit_time", "energy", "utility", "deviation", "heard", "own_epsilon")
    columns = {name: getattr(design, name).tolist() for name in names}
    return {"device": [row.written for row in rows or numbered(design.energy.size)], **columns}
