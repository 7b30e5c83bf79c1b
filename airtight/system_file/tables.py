"""The tables of the system file: every key with its type, and the value type that says which values are allowed.

A key is checked in two steps, both here: its type by the annotation below, its range by the parameter of the same name of
`value_type` (``Channel.max_power`` for ``[inference.channel] max_power``). What depends on several keys is checked by the
value type when it is built (:mod:`airtight.system_file.config`).
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from airtight.analytics import checks, parameters
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.channel import Channel, CodeModel, Eavesdropper, PowerLimit
from airtight.analytics.inference.fading import Fading
from airtight.analytics.inference.system import InferenceSystem


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number_or_list(value: object) -> object:
    if _is_number(value) or (isinstance(value, list) and value and all(map(_is_number, value))):
        return value
    raise ValueError("must be a number or a list of one number per device")


def _number(value: object) -> object:
    if _is_number(value):
        return value
    raise ValueError("must be a number")


def _pair(value: object) -> object:
    if isinstance(value, list) and len(value) == 2:
        return [_number_or_list(part) for part in value]
    raise ValueError("must be a list of two numbers (or of two lists, one number per device)")


def _distinct(value: object) -> object:
    if (
        isinstance(value, list)
        and all(isinstance(name, str) and name.strip() and name.isprintable() for name in value)
        and len(set(value)) == len(value)
    ):
        return value
    raise ValueError("must be a list of printable names, one per device and each another")


def _grouped(value: object) -> object:
    named = isinstance(value, list) and all(
        isinstance(group, list) and group and all(type(device) is int or isinstance(device, str) for device in group)
        for group in value
    )
    if named and value:
        return value
    raise ValueError("must be a list of lists of devices, by number or name, none empty")


def _range(value: object) -> object:
    pairs: list[object] = [value]
    if isinstance(value, list) and all(isinstance(pair, list) for pair in value):
        pairs = value or [value]
    if all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair)) for pair in pairs):
        return value
    raise ValueError("must be a list [low, high], or one such list per device")


def _rows(value: object) -> object:
    if isinstance(value, list) and value:
        return [_number_or_list(row) for row in value]
    raise ValueError("must be a list with a number, or a list of one number per device, for each scenario")


NUMBER: dict[str, Any] = {"type": "number"}
PER_DEVICE = {"anyOf": [NUMBER, {"type": "array", "items": NUMBER, "minItems": 1}]}
_TWO = {"type": "array", "items": PER_DEVICE, "minItems": 2, "maxItems": 2}
_BOTH = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
_RANGE = {"anyOf": [_BOTH, {"type": "array", "items": _BOTH, "minItems": 1}]}
Range = Annotated[Any, BeforeValidator(_range), WithJsonSchema(_RANGE)]
Rows = Annotated[Any, BeforeValidator(_rows), WithJsonSchema({"type": "array", "items": PER_DEVICE, "minItems": 1})]
Pair = Annotated[Any, BeforeValidator(_pair), WithJsonSchema(_TWO)]
PerDevice = Annotated[Any, BeforeValidator(_number_or_list), WithJsonSchema(PER_DEVICE)]
Number = Annotated[Any, BeforeValidator(_number), WithJsonSchema(NUMBER)]
Names = Annotated[list[str], BeforeValidator(_distinct)]
_DEVICE = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]}
# how many, or which, by number or name
Devices = Annotated[Any, WithJsonSchema({"anyOf": [_DEVICE["anyOf"][0], {"type": "array", "items": _DEVICE}]})]


_GROUP = {"type": "array", "items": _DEVICE, "minItems": 1}
Groups = Annotated[Any, BeforeValidator(_grouped), WithJsonSchema({"type": "array", "items": _GROUP, "minItems": 1})]


class Table(BaseModel):
    """A table of the system file; unknown keys and values of another type are errors."""

    model_config = ConfigDict(extra="forbid", strict=True)
    value_type: ClassVar[type[parameters.Described] | None] = None

    @field_validator("*")
    @classmethod
    def _in_range(cls, value: Any, info: ValidationInfo) -> Any:
        """Check a value by the parameter of its name; lists by the number of devices where that is known."""
        row = None if cls.value_type is None else parameters.of(cls.value_type).get(str(info.field_name))
        if row is None or row.holds == "table" or (value is None and not row.required):
            return value
        if info.field_name == "colluding" and isinstance(value, list):
            names = info.data.get("names") or (info.context or {}).get("names") or []
            of_others = info.data.get("devices") not in (None, len(names))  # of a variant with devices of its own
            value = numbered("colluding", value, [] if of_others else names)
        row.checked(value)
        if isinstance(row, parameters.Vector) and isinstance(value, list) and cls.value_type is InferenceSystem:
            devices = info.data.get("devices") or (info.context or {}).get("devices")
            if type(devices) is int and devices > 0:
                checks.vector(row.name, value, devices, row.interval)
        return value


def numbered(key: str, devices: list[Any], names: Sequence[str]) -> list[Any]:
    """Devices by number, where some are given by name."""
    numbers = {name: k for k, name in enumerate(names)}
    for device in devices:
        if isinstance(device, str) and device not in numbers:
            allowed = "numbers of devices, or names" + (f" ({meant(device, names)})" if names else " that `names` lists")
            raise checks.ParameterError(key, device, allowed)
    return [numbers.get(device, device) if isinstance(device, str) else device for device in devices]


class VariantTable(Table):
    """[inference.variants.NAME]: the keys of [inference] that a variant changes; rounds and observer are one for all."""

    value_type = InferenceSystem

    devices: int | None = None
    participation: PerDevice | None = None
    noise_variance: PerDevice | None = None
    weight: PerDevice | None = None
    clip: PerDevice | None = None
    alignment: Number | None = None
    receiver_noise_variance: Number | None = None
    dimension: int | None = None
    delta: Number | None = None
    delta_prime: Number | None = None
    adjacency: str | None = None
    idle_noise: bool | None = None
    decoder_gain: Number | None = None
    channel_gain: PerDevice | None = None
    colluding: Devices | None = None


class FeaturesTable(Table):
    """[inference.features]."""

    file: str | None = None
    table: str | None = None
    margin: Number
    ideal_accuracy: Number
    epsilon_cap: Number | None = None


class SelectionTable(Table):
    """[inference.selection]."""

    score: PerDevice
    score_noise: PerDevice
    threshold: Number
    selected: int
    score_sensitivity: Number | None = None
    greatest_score: Number | None = None


class ScenariosTable(Table):
    """[inference.scenarios]: participations that are correlated by what a scenario decides; see :mod:`.scenarios`."""

    probability: list[Number]
    participation: Rows
    hidden: bool = True


class EavesdropperTable(Table):
    """[inference.channel.eavesdropper]."""

    value_type = Eavesdropper

    antennas: int = 1
    mean_power: PerDevice = 1.0
    receiver_noise_variance: Number | None = None


class ChannelTable(Table):
    """[inference.channel]; `file` holds the coefficients that :class:`Channel` calls looks."""

    value_type = Channel

    model: str = CodeModel.REAL
    antennas: int = 1
    fading: str = Fading.NONE
    k_factor: Number | None = None
    shape: Number | None = None
    shadowing_db: Number | None = None
    mean_power: PerDevice | None = None
    distance: PerDevice | None = None
    path_loss_exponent: Number | None = None
    reference_gain: Number | None = None
    max_power: PerDevice | None = None
    power_limit: str = PowerLimit.PER_BLOCK
    peak_outage: Number | None = None
    csi_error: Number = 0.0
    known: bool = True
    states: int = 200
    fresh: bool = True
    seed: int = 0
    file: str | None = None
    eavesdropper: EavesdropperTable | None = None


class InferenceTable(Table):
    """[inference]; a power limit of the channel, or the scenarios, stand for `participation`."""

    value_type = InferenceSystem

    devices: int
    participation: PerDevice
    noise_variance: PerDevice
    weight: PerDevice
    clip: PerDevice
    alignment: Number
    receiver_noise_variance: Number
    dimension: int
    delta: Number
    delta_prime: Number = 1e-5
    adjacency: str = Adjacency.ABSENT
    idle_noise: bool = False
    decoder_gain: Number = 1.0
    channel_gain: PerDevice = 1.0
    rounds: int = 1
    observer: str = Observer.AUTO
    names: Names | None = None
    colluding: Devices = 0
    groups: Groups | None = None
    noise_variance_range: Range | None = None
    variants: dict[str, VariantTable] = Field(default_factory=dict)
    features: FeaturesTable | None = None
    selection: SelectionTable | None = None
    scenarios: ScenariosTable | None = None
    channel: ChannelTable | None = None


class FederatedTable(Table):
    """[federated]."""

    value_type = FederatedSystem

    clients: int
    parameters: int
    epsilon: Number
    center: Number = 0.0
    radius: Number = 1.0
    shared_bits: int = 5
    ldp_fraction: Number = 0.0
    dropout: Number = 0.0
    delta: Number = 1e-5
    rounds: int = 1
    colluding: int = 0


class EnergyTable(Table):
    """[energy]; `beta` holds beta_1 and beta_2."""

    value_type = DeviceFleet

    distance: PerDevice
    channel_gain: PerDevice = 1.0
    bandwidth: PerDevice
    center_frequency: PerDevice
    path_loss_exponent: PerDevice
    noise_density_dbm: PerDevice
    snr_gap_db: PerDevice
    model_bits: PerDevice
    deadline: PerDevice
    bits_per_iteration: PerDevice
    seconds_per_bit: PerDevice
    compute_power: PerDevice
    circuit_power: PerDevice
    amplifier_efficiency: PerDevice
    max_power: PerDevice
    min_iterations: PerDevice
    utility_energy: PerDevice
    beta: Pair
    csi_error: PerDevice = 0.0
    outage: PerDevice = 0.0
    names: Names | None = None


class TrainingTable(Table):
    """[training]; every key is optional."""

    dataset: str | None = None
    hidden: list[int] | None = None
    channels: int | None = None
    rounds: int | None = None
    local_steps: int | None = None
    batch: int | None = None
    learning_rate: Number | None = None
    l2: Number | None = None
    smoothing: Number | None = None
    bits: int | None = None
    concentration: Number | None = None
    patience: int | None = None
    seed: int | None = None
    seeds: int | None = None
    mechanisms: list[str] | None = None
    codec: str | None = None


class DesignTable(Table):
    """[design]: the keys of all requirements; which of them a design takes depends on the table that is designed."""

    minimise: str | None = None
    epsilon_at_most: Number | None = None
    error_at_most: Number | None = None
    accuracy_at_least: Number | None = None
    energy_at_most: Number | None = None
    power_at_most: Number | None = None
    outage_at_most: Number | None = None
    free: list[str] | None = None
    alike: bool | None = None
    effort: int | None = None
    bits_at_most: int | None = None
    maximise: str | None = None
    noise_at_most: Number | None = None
    utility_at_least: Number | None = None
    rounds: int | None = None
    delta: Number | None = None
    theta: Number | None = None
    hears: str | None = None


class FileTables(Table):
    """A whole system file, but for the tables of installed packages."""

    inference: InferenceTable | None = None
    federated: FederatedTable | None = None
    energy: EnergyTable | None = None
    training: TrainingTable | None = None
    design: DesignTable | None = None


def meant(key: str, allowed: Sequence[str]) -> str:
    """The allowed name that is closest to an unknown one, if one is close, and all allowed names."""
    closest = difflib.get_close_matches(key, allowed, 1)
    return (f"did you mean {closest[0]}? " if closest else "") + f"allowed: {', '.join(allowed)}"
