"""Tables of the system file that other installed packages add, by the entry points ``airtight.tables``."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from airtight.analytics import parameters
from airtight.analytics.checks import AirtightError, FloatArray, ParameterError
from airtight.system_file.tables import meant
from airtight.validate import packages

_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class PackageTable:
    """A table of the system file that an installed package adds.

    Parameters
    ----------
    name : str
        Name of the table: lower-case letters, digits and underscores, and no name of ours (nor of a member of the model).
    record : type
        A frozen dataclass that derives from :class:`~airtight.analytics.parameters.Described`; its parameters are the keys.
    quantities : callable, optional
        Takes a record and returns numbers or arrays by name, which ``airtight bounds`` shows.

    Raises
    ------
    ParameterError
        When the name or the record is of another form.

    Examples
    --------
    >>> from airtight.analytics.federated.corbin.federated_system import FederatedSystem
    >>> table = PackageTable("pairs", FederatedSystem, lambda system: {"pairs": system.pairs})
    >>> table.values(FederatedSystem(clients=50, parameters=10, epsilon=1.0))
    {'pairs': 25.0}
    """

    name: str
    record: type[parameters.Described]
    quantities: Callable[[Any], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ParameterError("name", self.name, "lower-case letters, digits and underscores, a letter first")
        described = isinstance(self.record, type) and issubclass(self.record, parameters.Described)
        if not described or not parameters.of(self.record):
            raise ParameterError("record", self.record, "a class of Described with parameters")

    def problems(self, values: Any) -> dict[str, str]:
        """What is wrong with a table of a file, by key: values that are not allowed, unknown and missing keys."""
        if not isinstance(values, dict):
            return {"": f"{self.name} = {values!r}: must be a table"}
        rows, wrong = parameters.of(self.record), dict[str, str]()
        for key, value in values.items():
            try:
                if key in rows:
                    rows[key].checked(value)
                else:
                    wrong[key] = f"{self.name}.{key}: unknown key; {meant(key, list(rows))}"
            except ParameterError as error:
                wrong[key] = f"{self.name}.{error}"
        guessed = {near for key in values if key not in rows for near in difflib.get_close_matches(key, rows, 1)}
        missing = [key for key, row in rows.items() if row.required and key not in values and key not in guessed]
        return wrong | {key: f"{self.name}.{key}: missing; it is required" for key in missing}

    def values(self, record: Any) -> dict[str, float | FloatArray]:
        """The quantities of a record; empty where the package gives no function.

        Raises
        ------
        SourceError
            When the function fails, or returns something else than real numbers by name.
        """
        if self.quantities is None:
            return {}
        try:
            tables = {str(name): np.asarray(value) for name, value in self.quantities(record).items()}
        except AirtightError:
            raise
        except Exception as error:
            raise packages.SourceError(f"quantities of the table {self.name}: {packages.error_text(error)}") from error
        for name, value in tables.items():
            if value.dtype.kind not in "iuf":
                raise packages.SourceError(
                    f"quantities of the table {self.name}: {name} = {value!r}: must be real numbers"
                )
        return {name: value.astype(float) if value.ndim else float(value) for name, value in tables.items()}


def installed(ours: frozenset[str] = frozenset()) -> dict[str, PackageTable]:
    """The tables of the installed packages by name; `ours` are the names that are taken.

    Raises
    ------
    SourceError
        When an entry point does not import, names an object of another kind, or a table whose name is taken.
    """
    result: dict[str, PackageTable] = {}
    for each in packages.brought(packages.TABLES, PackageTable):
        table = each.object
        if table.name in ours or table.name in result:
            raise packages.SourceError(f"{each.place}: {table.name!r} must be the name of a new table")
        result[table.name] = table
    return result


def to_toml(**records: parameters.Described) -> str:
    """Tables of a system file by name, as text that reads back to equal records.

    Examples
    --------
    >>> from airtight.analytics.federated.corbin.federated_system import FederatedSystem
    >>> print(to_toml(federated=FederatedSystem(clients=50, parameters=10, epsilon=0.1)).splitlines()[:3])
    ['[federated]', 'clients = 50', 'parameters = 10']
    """
    return "\n".join(
        f"[{name}]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in record.to_dict().items())
        for name, record in records.items()
    )


def toml(value: Any) -> str:
    """A value as TOML.

    Examples
    --------
    >>> toml(True), toml(1e-05), toml(["a", "b"]), toml(float("inf"))
    ('true', '1e-05', '["a", "b"]', 'inf')
    """
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)
