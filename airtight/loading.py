"""System files and value types, as the verbs take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference.system import InferenceSystem
from airtight.commands import fleet_csv
from airtight.system_file.contents import SystemFile


def load(path: str | Path, *, devices: str | Path | None = None, features: str | Path | None = None) -> SystemFile:
    """Read and check a system file; ``-`` is standard input.

    Parameters
    ----------
    path : str or Path
        A TOML file.
    devices : str or Path, optional
        A CSV file with a row for each device, whose columns are keys of the table [inference], or else [energy].
    features : str or Path, optional
        A CSV file that takes the place of the key `table` of [inference.features].

    Returns
    -------
    SystemFile
        `.inference`, `.variants`, `.features`, `.requirements`, `.federated`, `.fleet`, `.training`: value types, or None
        where the file has no such table.

    Raises
    ------
    SystemFileError
        It names file, key, value and what is allowed.
    """

    def file(name: str, value: str | Path | None) -> Path:
        checks.instance(name, value, str, Path)
        return Path(str(value))

    table = None if devices is None else file("devices", devices)
    views = None if features is None else file("features", features)
    return fleet_csv.load(file("path", path), table, channel=True, features=views)[0]


def opened(source: Any, *, uncertain: bool = False) -> SystemFile:
    """The system file that a verb is given: itself, its path, or a value type as if a file held it alone.

    A verb says whether it counts what is `uncertain`; a file that has it is an error for all others.
    """
    match source:
        case SystemFile():
            return source
        case str() | Path():
            return fleet_csv.load(Path(source), None, channel=True, uncertain=uncertain)[0]
        case InferenceSystem():
            return SystemFile("system", inference=source)
        case FederatedSystem():
            return SystemFile("system", federated=source)
        case DeviceFleet():
            return SystemFile("system", energy=source)
    allowed = "a system file, its path, an InferenceSystem, a FederatedSystem or a DeviceFleet"
    raise ParameterError("system", type(source).__name__, allowed)


def inference(file: SystemFile) -> InferenceSystem:
    """The inference system of a file."""
    if file.inference is None:
        raise ParameterError("inference", None, f"a table of {file.name}")
    return file.inference
