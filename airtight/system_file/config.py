"""Reads and checks the system file; each error is one line that names the file and the key."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from airtight.analytics import checks, parameters
from airtight.analytics.checks import AirtightError, ParameterError
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem, groups_of_devices
from airtight.solvers.design.requirements import (
    JOINTLY_FREE,
    FederatedRequirements,
    FleetRequirements,
    Free,
    InferenceRequirements,
    Requirements,
)
from airtight.system_file import package_tables, units
from airtight.system_file.contents import NoiseRange, Scenarios, Scores, SystemFile, Task
from airtight.system_file.package_tables import PackageTable
from airtight.system_file.tables import (
    ChannelTable,
    DesignTable,
    EavesdropperTable,
    EnergyTable,
    FeaturesTable,
    FederatedTable,
    FileTables,
    InferenceTable,
    ScenariosTable,
    SelectionTable,
    Table,
    TrainingTable,
    VariantTable,
    meant,
    numbered,
)
from airtight.validate import untrusted
from airtight.validate.experiments.training.training_plan import Plan, plan
from airtight.validate.number_tables import MATLAB, TableError, demand_distinct, read_arrays, read_csv
from airtight.validate.packages import TABLES, SourceError


@lru_cache(maxsize=2)
def tasks(archive: Path, archived: bytes) -> tuple[Features, ...]:
    """The tasks of a features file with this content, with the public centre subtracted."""
    arrays = read_arrays(archive, ("f", "W", "D"), ("c",), content=archived)
    f = arrays["f"] - arrays["c"] if "c" in arrays else arrays["f"]
    tasks = f if f.ndim == 3 and len(f) else f[None]
    return tuple(Features(f=one, W=arrays["W"], D=arrays["D"]) for one in tasks)


@lru_cache(maxsize=2)
def tabled(
    table: Path, content: bytes, archive: Path | None, archived: bytes | None, devices: int, dimension: int
) -> tuple[Features, ...]:
    """The tasks of a CSV file: a device a row, so many rows a task. W and D come from an archive, or else from the table.

    Without an archive the code of a feature is the feature itself where the dimension is that of a feature, or greater, and
    else its components along the leading right singular vectors of the table. A longer code is padded with 0.
    """
    read = read_csv(table, texts=("device",), content=content)
    held = read.values
    if len(held) % devices:
        raise TableError(f"{table}: {len(held)} rows: must be a multiple of {devices}, a row for each device")
    names = read.texts.get("device", [])
    demand_distinct(table, names[:devices])
    for row, name in enumerate(names):
        if name != names[row % devices]:
            raise TableError(
                f"{table}: row {row + 1}: device {name!r}: must be {names[row % devices]!r}: a task follows the other, each "
                "with the devices in the same order"
            )
    d = held.shape[1]
    if not d:
        raise TableError(f"{table}: must have a column of features")
    centre: Any = 0.0
    if archive is None:
        if dimension >= d:
            W = np.eye(dimension, d)
        else:
            # as many vectors as the table has rows: all others are orthogonal to every feature and stand in no code
            leading = np.linalg.svd(held, full_matrices=False)[2][:dimension]
            W = np.zeros((dimension, d))
            W[: len(leading)] = leading
        D = W.T
    else:
        arrays = read_arrays(archive, ("W", "D"), ("c",), content=archived)
        W, D, centre = arrays["W"], arrays["D"], arrays.get("c", 0.0)
    return tuple(Features(f=f, W=W, D=D) for f in held.reshape(-1, devices, d) - centre)


class SystemFileError(AirtightError):
    """A system file that cannot be used; the message names the file, the key, the value and the allowed values."""


# the requirements that the table [design] holds, by the table of the designed system
REQUIREMENTS: dict[str, type[Requirements]] = {
    "inference": InferenceRequirements,
    "federated": FederatedRequirements,
    "energy": FleetRequirements,
}


def installed() -> dict[str, PackageTable]:
    """The tables that installed packages add, by name."""
    return package_tables.installed(frozenset([*FileTables.model_fields, *dir(FileTables)]))


def load(path: str | Path, *, channel: bool = False, uncertain: bool = False) -> SystemFile:
    """Read and check a system file; ``-`` is standard input, where paths are relative to the working directory.

    A caller that computes over a channel says so; for all others a file with the table [inference.channel] is an error, lest
    its privacy be computed without it. So is one with `noise_variance_range` or [inference.scenarios] for a caller who does not
    say that it counts what is `uncertain`.

    Raises
    ------
    SystemFileError
        When the file cannot be read, is not TOML, or contains a key or a value that is not allowed.
    """
    return described(read(path), Path(path), channel=channel, uncertain=uncertain)


def read(path: str | Path) -> dict[str, Any]:
    """The tables of a system file, unchecked.

    Raises
    ------
    SystemFileError
        When the file cannot be read or is not TOML.
    """
    path = Path(path)
    try:
        return untrusted.toml(path)
    except OSError as error:
        raise SystemFileError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise SystemFileError(f"{path}: not valid TOML: {error}") from None


_FILES = (("features", "file"), ("features", "table"), ("channel", "file"))  # keys of [inference.TABLE] that name files


def named_files(raw: Mapping[str, Any]) -> dict[str, str]:
    """The names of files that the tables hold, by key."""
    result = dict[str, str]()
    for table, key in _FILES:
        inference = raw.get("inference")
        values = inference.get(table) if isinstance(inference, dict) else None
        if isinstance(values, dict) and isinstance(name := values.get(key), str):
            result[f"inference.{table}.{key}"] = name
    return result


def attached(raw: Mapping[str, Any], path: Path) -> dict[str, bytes]:
    """The contents of the files that the tables name, by their names.

    Raises
    ------
    SystemFileError
        When one cannot be read.
    """
    return {name: _content(path, key, name, {}) for key, name in named_files(raw).items()}


def _content(path: Path, key: str, name: str, files: Mapping[str, bytes]) -> bytes:
    """The content of a file that a key names: one of `files`, or what stands in the file now."""
    if name in files:
        return files[name]
    try:
        return untrusted.content(path.parent / name)
    except OSError as error:
        raise SystemFileError(f"{path}: {key} = {name!r}: {error.strerror or error}") from None
    except ValueError as error:
        raise SystemFileError(f"{path}: {key} = {name!r}: {error}") from None


def described(
    raw: dict[str, Any],
    path: Path,
    *,
    channel: bool = False,
    uncertain: bool = False,
    files: Mapping[str, bytes] | None = None,
) -> SystemFile:
    """Check the tables of a system file; `path` is the file, for error messages and for relative paths in it.

    `files` are contents of files that the tables name (:func:`attached`); others are read.

    Raises
    ------
    SystemFileError
        When they contain a key or a value that is not allowed.
    """
    try:
        raw = units.linearised(raw)
    except ParameterError as error:
        raise SystemFileError(f"{path}: {error}") from None
    raw = _participation_by_scenario(path, _participation_by_power(path, raw, channel), uncertain)
    try:
        tables = {} if raw.keys() <= FileTables.model_fields.keys() else installed()
    except SourceError as error:
        raise SystemFileError(f"{path}: {error}") from None
    file = _checked(path, raw, tables)
    complaints = _Errors(path)
    parts = (
        complaints.unless(_inference, file.inference, complaints, files or {}) or {},
        complaints.unless(_federated, file.federated),
        complaints.unless(_energy, file.energy) or {},
        complaints.unless(_training, file.training),
        complaints.unless(_design, file.design, file.inference, file.federated, file.energy),
    )
    records = {name: complaints.unless(_record, raw[name], table) for name, table in tables.items() if name in raw}
    complaints.raised()
    inference, federated, fleet, training, design = parts
    name = "stdin" if str(path) == "-" else path.stem
    return SystemFile(
        name, **inference, **fleet, federated=federated, training=training, design=design, packages=records
    )


def _participation_by_power(path: Path, raw: dict[str, Any], channel: bool) -> dict[str, Any]:
    """The tables with a participation where a power limit decides it, which the channel then decides."""
    inference = raw.get("inference")
    table = inference.get("channel") if isinstance(inference, dict) else None
    if not isinstance(inference, dict) or table is None:
        return raw
    if not channel:
        raise SystemFileError(
            f"{path}: inference.channel: this command has no formulas for several antennas or fading; bounds, calibrate, attack, "
            "design, sweep, train, report and card compute over a channel, and load(path, channel=True) reads it"
        )
    if not isinstance(table, dict) or "max_power" not in table:
        return raw
    variants = inference.get("variants")
    for name, keys in {"": inference, **(variants if isinstance(variants, dict) else {})}.items():
        if isinstance(keys, dict) and "participation" in keys:
            where = f"inference.variants.{name}" if name else "inference"
            raise SystemFileError(
                f"{path}: {where}.participation = {keys['participation']!r}: must be absent: max_power decides it"
            )
    return {**raw, "inference": {**inference, "participation": 1.0}}


_UNCERTAIN = {  # keys and tables that what is uncertain must not stand beside: nothing counts both
    "noise_variance_range": ("scenarios", "channel", "variants", "groups", "selection"),
    "scenarios": ("participation", "channel", "variants", "groups", "selection", "features"),
}


def _participation_by_scenario(path: Path, raw: dict[str, Any], uncertain: bool) -> dict[str, Any]:
    """The tables with a participation where scenarios decide it, whose mean takes its place; refuses what is counted nowhere."""
    inference = raw.get("inference")
    if not isinstance(inference, dict):
        return raw
    for name in _UNCERTAIN.keys() & inference.keys():
        if not uncertain:
            raise SystemFileError(
                f"{path}: inference.{name}: this command takes one noise variance and independent participation; "
                "`airtight bounds FILE`, without --link, --rounds or --theorem1, and airtight.bounds(path) count it"
            )
        for other in _UNCERTAIN[name]:
            if other in inference:
                raise SystemFileError(f"{path}: inference.{other}: must be absent beside inference.{name}")
    return {**raw, "inference": {**inference, "participation": 1.0}} if "scenarios" in inference else raw


class _Errors:
    """Collects the errors of all parts of a file, so that one exception reports all of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[str] = []

    def unless(self, build: Callable[..., Any], table: Table | Mapping[str, Any] | None, *rest: Any) -> Any:
        """The result of `build` for a table; None, with the error recorded, where it fails, and None for no table."""
        if table is None:
            return None
        try:
            return build(self.path, table, *rest)
        except SystemFileError as error:
            self.lines.append(str(error))
            return None

    def raised(self) -> None:
        """Raise one exception for all recorded errors, if there are any."""
        if self.lines:
            raise SystemFileError("\n".join(self.lines))


def _checked(path: Path, raw: dict[str, Any], tables: Mapping[str, PackageTable]) -> FileTables:
    """Check that every required key is there, and that every value has the right type and lies in its interval."""
    inference = raw.get("inference")
    shared = inference if isinstance(inference, dict) else {}  # by the variants, which do not repeat it
    of_packages = {name: raw[name] for name in tables if name in raw}
    file, problems = None, dict[tuple[str, ...], str]()
    try:
        own = {name: values for name, values in raw.items() if name not in of_packages}
        file = FileTables.model_validate(own, context={key: shared.get(key) for key in ("devices", "names")})
    except ValidationError as error:
        problems = _messages(error, tables)
    for name, values in of_packages.items():
        problems |= {(name, key): text for key, text in tables[name].problems(values).items()}
    if file is None or problems:
        raise SystemFileError("\n".join(f"{path}: {text}" for text in problems.values()))
    if not file.model_fields_set and not of_packages:
        raise SystemFileError(
            f"{path}: empty; it must contain at least one of the tables {', '.join(FileTables.model_fields)}"
        )
    return file


def _inference(path: Path, table: InferenceTable, complaints: _Errors, files: Mapping[str, bytes]) -> dict[str, Any]:
    of_file = {"variants", "features", "selection", "scenarios", "channel", "names", "groups", "noise_variance_range"}
    base = table.model_dump(exclude=of_file)
    uncertainty = _scenarios(path, table.scenarios, table.devices)
    if uncertainty is not None:
        base["participation"] = np.minimum(uncertainty.probability @ uncertainty.participation, 1.0)
    if table.channel is not None:
        base["channel"] = _channel(path, table.channel, files)
        if base["channel"].decides_participation:
            del base["participation"]
    variants = {}
    for name, variant in table.variants.items():
        changes = variant.model_dump(exclude_none=True)
        variants[name] = _system(path, f"inference.variants.{name}", {**base, **changes}, set(changes))
    system = _system(path, "inference", base, set(base))
    return {
        "inference": system,
        "variants": variants,
        "task": complaints.unless(_task, table.features, system, files),
        "scores": complaints.unless(_scores, table.selection, system.devices),
        "names": complaints.unless(_names, table, "inference", system.devices),
        "groups": complaints.unless(_groups, table, system),
        "uncertainty": complaints.unless(_noise_range, table, system) or uncertainty,
    }


def _noise_range(path: Path, table: InferenceTable, system: InferenceSystem) -> NoiseRange | None:
    if table.noise_variance_range is None:
        return None
    from airtight.analytics.privacy.over_the_air import uncertain_noise

    try:
        low, high = uncertain_noise.ends(system, table.noise_variance_range)
    except ParameterError as error:
        raise SystemFileError(f"{path}: inference.{error}") from None
    outside = np.flatnonzero((system.noise_variance < low) | (system.noise_variance > high))
    if outside.size:
        k = int(outside[0])
        raise SystemFileError(
            f"{path}: inference.noise_variance = {system.noise_variance[k]:g} (device {k}): must be in its noise_variance_range "
            f"[{low[k]:g}, {high[k]:g}]"
        )
    return NoiseRange(np.stack([low, high], axis=1))


def _scenarios(path: Path, table: ScenariosTable | None, devices: int) -> Scenarios | None:
    if table is None:
        return None
    from airtight.analytics.privacy.over_the_air import scenarios

    try:
        rows = [checks.vector("participation", row, devices, "[0, 1]") for row in table.participation]
        return Scenarios(*scenarios.checked(table.probability, rows, devices), table.hidden)
    except ParameterError as error:
        raise SystemFileError(f"{path}: inference.scenarios.{error}") from None


def _groups(path: Path, table: InferenceTable, system: InferenceSystem) -> tuple[tuple[int, ...], ...]:
    """The devices of each person, by number."""
    try:
        numbers = [numbered("groups", group, table.names or ()) for group in table.groups or ()]
        return groups_of_devices(system, numbers) if numbers else ()
    except ParameterError as error:
        raise SystemFileError(f"{path}: inference.{error}") from error


def _names(path: Path, table: InferenceTable | EnergyTable, name: str, devices: int) -> tuple[str, ...]:
    if table.names is not None and len(table.names) != devices:
        raise SystemFileError(f"{path}: {name}.names: must have {devices} entries; has {len(table.names)}")
    return tuple(table.names or ())


def _design(
    path: Path, table: Table, inference: InferenceTable | None, federated: FederatedTable | None, energy: EnergyTable | None
) -> Requirements:
    values = {name: value for name, value in table.model_dump().items() if value is not None}
    present_tables = [
        name
        for name, system_table in zip(REQUIREMENTS, (inference, federated, energy), strict=True)
        if system_table is not None
    ]
    if not present_tables:
        raise SystemFileError(f"{path}: design: needs the table [inference], [federated] or [energy]")
    if inference is not None and "decoder_gain" in inference.model_fields_set:
        if "decoder_gain" in values.get("free", ()):
            raise SystemFileError(
                f"{path}: inference.decoder_gain = {inference.decoder_gain}: must be absent, or absent from design.free: "
                "it cannot be both fixed and free"
            )
        values.setdefault("free", [free for free in JOINTLY_FREE if free is not Free.GAIN])
    requirements_type = REQUIREMENTS[present_tables[0]]
    for name, value in values.items():
        if name not in parameters.of(requirements_type):
            raise SystemFileError(
                f"{path}: design.{name} = {value!r}: must be absent in a design of [{present_tables[0]}]"
            )
    try:
        return requirements_type.of(values)
    except ParameterError as error:
        raise SystemFileError(f"{path}: design.{error}") from None


def _federated(path: Path, table: FederatedTable) -> FederatedSystem:
    try:
        return FederatedSystem(**table.model_dump())
    except ParameterError as error:
        raise SystemFileError(f"{path}: federated.{error}") from None


def _energy(path: Path, table: EnergyTable) -> dict[str, Any]:
    values = table.model_dump(exclude={"names"})
    beta_1, beta_2 = values.pop("beta")
    try:
        fleet = DeviceFleet(**values, beta_1=beta_1, beta_2=beta_2)
        return {"energy": fleet, "fleet_names": _names(path, table, "energy", fleet.devices)}
    except ParameterError as error:
        message = str(error).replace("beta_1", "beta[0]", 1).replace("beta_2", "beta[1]", 1)
        raise SystemFileError(f"{path}: energy.{message}") from None


def _record(path: Path, values: Mapping[str, Any], package: PackageTable) -> Any:
    try:
        return package.record(**values)
    except ParameterError as error:
        raise SystemFileError(f"{path}: {package.name}.{error}") from None


def _training(path: Path, table: TrainingTable) -> Plan:
    try:
        return plan(table.model_dump(exclude_none=True))
    except ParameterError as error:
        raise SystemFileError(f"{path}: training.{error}") from None


def _task(path: Path, table: FeaturesTable, system: InferenceSystem, files: Mapping[str, bytes]) -> Task:
    if table.file is None and table.table is None:
        raise SystemFileError(f"{path}: inference.features.file: missing; it is required, or else table")
    key, name = ("file", table.file) if table.table is None else ("table", table.table)
    where = f"{path}: inference.features.{key} = {name!r}"
    archive, archived = None, None
    if table.file is not None:
        archive, archived = path.parent / table.file, _content(path, "inference.features.file", table.file, files)
    try:
        if table.table is None and archive is not None and archived is not None:
            samples = tasks(archive, archived)
        else:
            source = path.parent / str(table.table)
            content = _content(path, "inference.features.table", str(table.table), files)
            samples = tabled(source, content, archive, archived, system.devices, system.dimension)
        for features in samples:
            matched(system, features)
    except (TableError, ParameterError) as error:
        raise SystemFileError(f"{where}: {error}") from None
    try:
        return Task(
            samples[0],
            checks.scalar("margin", table.margin, "(0, inf)"),
            checks.scalar("ideal_accuracy", table.ideal_accuracy, "[0, 1]"),
            None if table.epsilon_cap is None else checks.scalar("epsilon_cap", table.epsilon_cap, "(0, inf)"),
            samples,
        )
    except ParameterError as error:
        raise SystemFileError(f"{path}: inference.features.{error}") from None


def _channel(path: Path, table: ChannelTable, files: Mapping[str, bytes]) -> Channel:
    values = table.model_dump(exclude_none=True)
    if (file := values.pop("file", None)) is not None:
        values["looks"] = _load_coefficients(path, file, files)
    try:
        return Channel(**values)
    except ParameterError as error:
        raise SystemFileError(f"{path}: inference.channel.{error}") from None


def _load_coefficients(path: Path, file: str, files: Mapping[str, bytes]) -> Any:
    """The array `looks` of an archive."""
    key = "inference.channel.file"
    content = _content(path, key, file, files)
    try:
        looks = read_arrays(path.parent / file, ["looks"], content=content)["looks"]
        # MATLAB drops a last dimension of 1: a single antenna signal
        return looks[..., None] if file.endswith(MATLAB) and looks.ndim == 2 else looks
    except TableError as error:
        raise SystemFileError(f"{path}: {key} = {file!r}: {error}") from None


def _scores(path: Path, table: SelectionTable, devices: int) -> Scores:
    try:
        score = checks.vector("score", table.score, devices, "[-1e150, 1e150]")
        greatest = None
        if table.greatest_score is not None:
            greatest = checks.scalar("greatest_score", table.greatest_score, f"[{float(np.max(score))!r}, 1e150]")
        return Scores(
            score,
            checks.vector("score_noise", table.score_noise, devices, "(0, 1e150]"),
            checks.scalar("threshold", table.threshold),
            checks.count("selected", table.selected, f"[1, {devices}]"),
            None
            if table.score_sensitivity is None
            else checks.scalar("score_sensitivity", table.score_sensitivity, "[0, inf)"),
            greatest,
        )
    except ParameterError as error:
        raise SystemFileError(f"{path}: inference.selection.{error}") from None


def _system(path: Path, table: str, values: dict[str, Any], own: set[str]) -> InferenceSystem:
    """The system with these values; `own` are the keys of this table, other values come from [inference]."""
    try:
        return InferenceSystem(**values)
    except ParameterError as error:
        of_channel = error.name not in parameters.of(InferenceSystem)  # which the channel found beside this system
        where = "inference.channel" if of_channel else table if error.name in own else "inference"
        raise SystemFileError(f"{path}: {where}.{error}") from None


def _messages(error: ValidationError, tables: Mapping[str, PackageTable]) -> dict[tuple[str, ...], str]:
    """Messages for the errors of the validation library, by place in the file.

    A key that is close to a misspelled one is not reported as missing.
    """
    messages: dict[tuple[str, ...], str] = {}
    missing: dict[tuple[str, ...], list[str]] = {}
    probably_meant: set[tuple[str, ...]] = set()
    for problem in error.errors(include_url=False):
        place = tuple(str(part) for part in problem["loc"])
        key = ".".join(place)
        match problem["type"]:
            case "extra_forbidden":
                allowed = keys(list(place[:-1]), tables)
                probably_meant.update(
                    (*place[:-1], close_key) for close_key in difflib.get_close_matches(place[-1], allowed, 1)
                )
                unknown = "key" if len(place) > 1 else f"table, of no installed package either (entry points {TABLES})"
                messages[place] = f"{key}: unknown {unknown}; {meant(place[-1], allowed)}"
            case "missing":
                missing.setdefault(place[:-1], []).append(place[-1])
            case "value_error":
                refusal = problem["ctx"]["error"]
                told_whole = isinstance(refusal, ParameterError)  # name and value are in it
                own_text = ".".join([*place[:-1], str(refusal)])
                messages[place] = own_text if told_whole else f"{key} = {problem['input']!r}: {refusal}"
            case _:
                complaint = problem["msg"].lower().replace("input should be", "must be")
                messages[place] = f"{key} = {problem['input']!r}: {complaint}"
    for table, names in missing.items():
        not_guessed = [key for key in names if (*table, key) not in probably_meant]
        where = ".".join(table)
        if len(not_guessed) == 1:
            messages[(*table, not_guessed[0])] = f"{where}.{not_guessed[0]}: missing; it is required"
        elif not_guessed:
            messages[(*table, "")] = f"{where}: missing, and required: {', '.join(not_guessed)}"
    return messages


def keys(table: Sequence[str], added: Mapping[str, PackageTable] | None = None) -> list[str]:
    """The keys of a table of the system file, by path: ``["inference", "features"]``; ``[]`` gives the tables.

    `added` are the tables of installed packages that count as well.
    """
    added = added or {}
    if not table:
        return [*FileTables.model_fields, *added]
    if table[0] in added:
        return list(parameters.of(added[table[0]].record))
    tables: dict[str, type[Table]] = {
        "inference": InferenceTable,
        "inference.features": FeaturesTable,
        "inference.selection": SelectionTable,
        "inference.scenarios": ScenariosTable,
        "inference.channel": ChannelTable,
        "inference.channel.eavesdropper": EavesdropperTable,
        "inference.variants": VariantTable,
        "federated": FederatedTable,
        "energy": EnergyTable,
        "training": TrainingTable,
        "design": DesignTable,
    }
    path = ".".join(table)
    model = tables[path if path in tables else ".".join(table[:2])]
    model_keys = list(model.model_fields)
    if model not in (InferenceTable, VariantTable):  # the tables that are converted from dB
        return model_keys
    return model_keys + [key for key, (name, _, _) in units.ALTERNATIVES.items() if name in model_keys]
