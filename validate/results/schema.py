"""Converts results to trees for strict JSON, and makes the JSON Schema of the commands from the result types."""

from __future__ import annotations

import json
import math
import types
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from airtight.validate.results.attack import AttackResult
from airtight.validate.results.bounds import Bounds
from airtight.validate.results.closed_forms import ClosedForms
from airtight.validate.results.design import (
    CalibrationResult,
    DesignResult,
    FederatedDesignResult,
    FleetDesignResult,
    FrontierResult,
)
from airtight.validate.results.energy import EnergyResult
from airtight.validate.results.quantizer import QuantizerResult
from airtight.validate.results.weights import WeightResult

COMMANDS: dict[str, Any] = {
    "attack": AttackResult,
    "bounds": Bounds,
    "calibrate": CalibrationResult,
    "design": DesignResult | FederatedDesignResult | FleetDesignResult | FrontierResult,
    "quantities": ClosedForms,
    "solve weights": WeightResult,
    "solve energy": list[EnergyResult],
    "solve quantizer": QuantizerResult,
}
NUMBER = {
    "description": "A double in full precision; what is not finite is a word.",
    "anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", "nan"]}],
}


def schema() -> dict[str, Any]:
    """The schema; the output of a command is under ``#/$defs``, by its name with a dash for each space.

    Examples
    --------
    >>> made = schema()
    >>> made["$defs"]["solve-energy"]["items"]["$ref"]
    '#/$defs/EnergyResult'
    >>> made["$defs"]["DeviceBounds"]["properties"]["gain"]
    {'$ref': '#/$defs/number'}
    """
    found: dict[str, Any] = {"number": NUMBER}
    for command, kind in COMMANDS.items():
        found[command.replace(" ", "-")] = _of(kind, found)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The JSON of airtight",
        "$defs": dict(sorted(found.items())),
    }


def _of(kind: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type; the schema of each dataclass is added to `found` once."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return _object(kind, found)
    if origin in (Union, types.UnionType):
        return {"anyOf": [{"type": "null"} if one is type(None) else _of(one, found) for one in inner]}
    if origin is np.ndarray or kind is np.ndarray:
        return {"type": "array", "items": {"$ref": "#/$defs/number"}}
    if origin is list:
        return {"type": "array", "items": _of(inner[0], found)}
    if origin is tuple and inner[-1] is Ellipsis:
        return {"type": "array", "items": _of(inner[0], found)}
    if origin is tuple:
        return {"type": "array", "items": _of(inner[0], found), "minItems": len(inner), "maxItems": len(inner)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(inner[1], found)}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"enum": [each.value for each in kind]}
    plain: dict[Any, dict[str, Any]] = {
        Any: {},
        bool: {"type": "boolean"},
        int: {"type": "integer"},
        float: {"$ref": "#/$defs/number"},
        str: {"type": "string"},
    }
    return plain[kind]


def _object(kind: type, found: dict[str, Any]) -> dict[str, Any]:
    name = kind.__name__
    if name not in found:
        found[name] = {}  # a type may contain itself
        hints = get_type_hints(kind)
        optional = {f.name for f in fields(kind) if f.default is not MISSING or f.default_factory is not MISSING}
        optional |= {f.name for f in fields(kind) if type(None) in get_args(hints[f.name])}
        found[name] = {
            "type": "object",
            "description": (kind.__doc__ or "").strip().splitlines()[0],
            "properties": {field.name: _of(hints[field.name], found) for field in fields(kind)},
            "required": [field.name for field in fields(kind) if field.name not in optional],
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


def text() -> str:
    """Text of the published file, docs/schema.json."""
    return json.dumps(schema(), indent=1) + "\n"


def as_json(result: Any) -> Any:
    """Convert dataclasses to objects, arrays and tuples to lists, infinity and nan to strings.

    Fields of a dataclass that are None or empty are left out.

    Examples
    --------
    >>> from airtight.validate.results.inference_results import EpsilonDelta
    >>> as_json({"proven": EpsilonDelta(epsilon=np.array([1.0, np.inf]), delta=np.array([1e-5, 0.0]))})
    {'proven': {'epsilon': [1.0, 'inf'], 'delta': [1e-05, 0.0]}}
    """
    if is_dataclass(result):
        parts = {field.name: as_json(getattr(result, field.name)) for field in fields(result)}
        return {name: part for name, part in parts.items() if part not in (None, {})}
    if isinstance(result, dict):
        return {key: as_json(value) for key, value in result.items()}
    if isinstance(result, np.ndarray):
        return as_json(result.tolist())
    if isinstance(result, list | tuple):
        return [as_json(value) for value in result]
    if isinstance(result, float) and not math.isfinite(result):
        return str(result)
    return result
