"""Converts results to trees for strict JSON, and their types to JSON Schema."""

from __future__ import annotations

import math
import types
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from typing import Annotated, Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from airtight.analytics import parameters

NUMBER = {
    "description": "A double in full precision; what is not finite is a word.",
    "anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", "nan"]}],
}

NUMBERS = {
    "description": "An array; its entries are numbers, or the rows of an array of more dimensions.",
    "type": "array",
    "items": {"anyOf": [{"$ref": "#/$defs/number"}, {"$ref": "#/$defs/numbers"}]},
}


def of_type(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type; the schemas of dataclasses and of typed dictionaries are added to `definitions`, each once.

    ``Annotated[dict[str, Any], Kind]`` is a dictionary with the fields of the dataclass `Kind`.

    Examples
    --------
    >>> from airtight.results.energy import EnergyCertificate
    >>> definitions = {}
    >>> of_type(list[EnergyCertificate], definitions)
    {'type': 'array', 'items': {'$ref': '#/$defs/EnergyCertificate'}}
    >>> definitions["EnergyCertificate"]["required"]
    ['gap']
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return of_type(kind.__metadata__[0], definitions)
    if origin in (Required, NotRequired):
        return of_type(inner[0], definitions)
    if isinstance(kind, type) and (is_dataclass(kind) or is_typeddict(kind)):
        return _object(kind, definitions)
    if isinstance(origin or kind, type) and issubclass(origin or kind, parameters.Parameter):
        return dict(_PARAMETERS[origin or kind])
    if origin in (Union, types.UnionType):
        return {"anyOf": [{"type": "null"} if one is type(None) else of_type(one, definitions) for one in inner]}
    # NumPy's NDArray is a type alias from Python 3.12 on
    origin = get_origin(getattr(origin, "__value__", None)) or origin
    if origin is np.ndarray or kind is np.ndarray:
        return {"$ref": "#/$defs/numbers"}
    if origin is list:
        return {"type": "array", "items": of_type(inner[0], definitions)}
    if origin is tuple and inner[-1] is Ellipsis:
        return {"type": "array", "items": of_type(inner[0], definitions)}
    if origin is tuple:
        return {"type": "array", "items": of_type(inner[0], definitions), "minItems": len(inner), "maxItems": len(inner)}
    if origin is dict:
        return {"type": "object", "additionalProperties": of_type(inner[1], definitions)}
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


_PARAMETERS: dict[type, dict[str, Any]] = {
    parameters.Choice: {"type": "string"},
    parameters.Count: {"type": "integer"},
    parameters.Flag: {"type": "boolean"},
    parameters.Number: {"$ref": "#/$defs/number"},
}


def _object(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # a type may contain itself
        hints = get_type_hints(kind, include_extras=True)
        if is_dataclass(kind):
            properties = {field.name: hints[field.name] for field in fields(kind) if field.repr}
            optional = {f.name for f in fields(kind) if f.default is not MISSING or f.default_factory is not MISSING}
            optional |= {name for name, hint in properties.items() if type(None) in get_args(hint)}
            properties |= getattr(kind, "JSON_ALSO", {})
            required = [name for name in properties if name not in optional]
        else:
            properties = hints
            # where annotations are strings, __required_keys__ does not see NotRequired
            keys = kind.__required_keys__  # type: ignore[attr-defined]
            required = [name for name in properties if name in keys and get_origin(properties[name]) is not NotRequired]
        definitions[name] = {
            "type": "object",
            "description": (kind.__doc__ or "").strip().splitlines()[0],
            "properties": {name: of_type(hint, definitions) for name, hint in properties.items()},
            "required": required,
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


def as_json(result: Any) -> Any:
    """Convert dataclasses to objects, arrays and tuples to lists, infinity and nan to strings.

    Fields of a dataclass that are None or empty are left out, and those without ``repr``.

    Examples
    --------
    >>> from airtight.results.inference_results import EpsilonDelta
    >>> as_json({"proven": EpsilonDelta(epsilon=np.array([1.0, np.inf]), delta=np.array([1e-5, 0.0]))})
    {'proven': {'epsilon': [1.0, 'inf'], 'delta': [1e-05, 0.0]}}
    """
    if is_dataclass(result):
        parts = {field.name: as_json(getattr(result, field.name)) for field in fields(result) if field.repr}
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
