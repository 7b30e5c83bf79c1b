"""The system file: TOML in, checked descriptions out, and one-line errors that name the key."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from analytics.checks import ParameterError
from analytics.inference.system import InferenceSystem


class SystemFileError(Exception):
    """A system file that cannot be used; the message names file, key, value and what is allowed."""


def _number_or_list(value: object) -> object:
    def number(x: object) -> bool:
        return isinstance(x, int | float) and not isinstance(x, bool)

    if number(value) or (isinstance(value, list) and value and all(map(number, value))):
        return value
    raise ValueError("must be a number or a list of one number per device")


def _number(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError("must be a number")


PerDevice = Annotated[Any, BeforeValidator(_number_or_list)]
Number = Annotated[Any, BeforeValidator(_number)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Variant(_Table):
    """Keys of [inference] that a variant of the system changes."""

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


class _Inference(_Table):
    devices: int
    participation: PerDevice
    noise_variance: PerDevice
    weight: PerDevice
    clip: PerDevice
    alignment: Number
    receiver_noise_variance: Number
    dimension: int
    delta: Number
    delta_prime: Number
    adjacency: str = "absent"
    idle_noise: bool = False
    variants: dict[str, _Variant] = Field(default_factory=dict)


class _File(_Table):
    inference: _Inference


@dataclass(frozen=True)
class Description:
    """What a system file describes: the inference system, and variants of it by name."""

    name: str
    inference: InferenceSystem
    variants: dict[str, InferenceSystem]


def load(path: str | Path) -> Description:
    """Read and check a system file.

    Raises
    ------
    SystemFileError
        When the file cannot be read, is not TOML, or says something that is not allowed.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            raw = tomllib.load(stream)
    except OSError as error:
        raise SystemFileError(f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SystemFileError(f"{path}: not valid TOML: {error}") from None
    try:
        file = _File.model_validate(raw)
    except ValidationError as error:
        raise SystemFileError(f"{path}: {_first(error, raw)}") from None
    base = file.inference.model_dump(exclude={"variants"})
    variants = {}
    for name, variant in file.inference.variants.items():
        changes = variant.model_dump(exclude_none=True)
        variants[name] = _system(path, f"inference.variants.{name}", {**base, **changes}, set(changes))
    return Description(path.stem, _system(path, "inference", base, set(base)), variants)


def _system(path: Path, table: str, values: dict[str, Any], own: set[str]) -> InferenceSystem:
    try:
        return InferenceSystem(**values)
    except ParameterError as error:
        where = table if error.name in own else "inference"
        raise SystemFileError(f"{path}: {where}.{error}") from None


def _first(error: ValidationError, raw: dict[str, Any]) -> str:
    """The first complaint of the validation library, in our words."""
    problem = error.errors(include_url=False)[0]
    place = [str(part) for part in problem["loc"]]
    key = ".".join(place)
    match problem["type"]:
        case "extra_forbidden":
            return f"{key}: unknown key; allowed: {', '.join(_allowed(place[:-1]))}"
        case "missing":
            return f"{key}: missing; it is required"
        case "value_error":
            return f"{key} = {problem['input']!r}: {problem['ctx']['error']}"
        case _:
            return f"{key} = {problem['input']!r}: {problem['msg'].lower().replace('input should be', 'must be')}"


def _allowed(table: list[str]) -> list[str]:
    model: type[BaseModel] = _File
    if table:
        model = _Inference if len(table) == 1 else _Variant
    return list(model.model_fields)
