"""The JSON Schema of the system file, with which editors complete and check its keys."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from typing import Any

from airtight.analytics import parameters
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.system_file import config, tables, units
from airtight.system_file.package_tables import PackageTable

_TYPES = {  # JSON types of the parameters of an installed package's table
    parameters.Number: tables.NUMBER,
    parameters.Count: {"type": "integer"},
    parameters.Vector: tables.PER_DEVICE,
    parameters.OptionalNumber: tables.NUMBER,
    parameters.OptionalCount: {"type": "integer"},
    parameters.OptionalVector: tables.PER_DEVICE,
    parameters.Flag: {"type": "boolean"},
    parameters.Choice: {"type": "string"},
    parameters.OneOf: {"type": "string"},
    parameters.SomeOf: {"type": "array", "items": {"type": "string"}},
}
_DECIBELS = {"type": "number"}


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12): tables, keys, types, ranges, meanings, units and defaults.

    The models that check a file give the tables and the types; the parameters of the value types give the rest. Tables that
    installed packages add are included. A file that the schema accepts can still be refused: lengths of lists, files, and keys
    that contradict each other need the loader.

    Examples
    --------
    >>> made = schema()
    >>> made["$defs"]["Inference"]["properties"]["dimension"]
    {'type': 'integer', 'minimum': 1, 'description': 'r: length of the encoded feature: numbers that a device sends in a round'}
    """
    added = config.installed()
    made = tables.FileTables.model_json_schema(ref_template="#/$defs/{model}")
    definitions = made["$defs"]
    models = {model.__name__: model for model in tables.Table.__subclasses__()}
    for name, table in definitions.items():
        table.pop("description", None)
        for key, value in table["properties"].items():
            table["properties"][key] = _simple(value)
        value_type = models[name].value_type
        if value_type is not None:
            _described(table, parameters.of(value_type))
        if value_type is InferenceSystem:
            _in_decibels(table, parameters.of(InferenceSystem))
    definitions["InferenceTable"]["properties"]["observer"]["enum"] = [each.value for each in Observer]
    _decided(definitions["InferenceTable"])
    keys = {key: _simple(value) for key, value in made["properties"].items()}
    text = json.dumps({**made, "properties": keys | {name: {"$ref": f"#/$defs/{name}"} for name in added}})
    for name in models:
        text = text.replace(f'"{name}"', f'"{name[:-5]}"').replace(f"#/$defs/{name}", f"#/$defs/{name[:-5]}")  # less "Table"
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The system file of airtight"}
    body: dict[str, Any] = json.loads(text)
    body["$defs"] |= {name: _of_package(table) for name, table in added.items()}
    return {**head, **{key: value for key, value in body.items() if key not in ("title", "description")}}


def _of_package(table: PackageTable) -> dict[str, Any]:
    """The schema of the table of an installed package, all from the parameters of its record."""
    rows = parameters.of(table.record)
    properties = {
        name: {
            **({} if row.required or row.default is None else {"default": row.default}),
            **deepcopy(next(_TYPES[held] for held in type(row).__mro__ if held in _TYPES)),
        }
        for name, row in rows.items()
    }
    made = {"additionalProperties": False, "properties": properties, "title": table.name, "type": "object"}
    _described(made, rows)
    return {**made, "required": [name for name, row in rows.items() if row.required]}


def text() -> str:
    """Text of the published file, docs/system-file.schema.json."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _simple(value: dict[str, Any]) -> dict[str, Any]:
    """A key without the null that stands for its absence in the model, which TOML cannot say, and without a title."""
    value = {key: part for key, part in value.items() if key != "title"}
    options = [option for option in value.pop("anyOf", []) if option != {"type": "null"}]
    if value.get("default", 0) is None:
        del value["default"]
    if len(options) == 1:
        return {**options[0], **value}
    return {"anyOf": options, **value} if options else value


def _described(table: dict[str, Any], rows: dict[str, parameters.Parameter[Any, Any]]) -> None:
    """Ranges and meanings of the parameters."""
    properties = table["properties"]
    for name, row in rows.items():
        if name not in properties:
            continue
        key, bounds = properties[name], _bounds(row.interval)
        if isinstance(row, parameters.Choice):
            key["enum"] = [each.value for each in type(row.default)]
        for option in key.get("anyOf", [key]):
            if option.get("type") == "array":
                option["items"] = {**option["items"], **bounds}
            elif option.get("type") in ("number", "integer"):
                option.update(bounds)
        meaning = parameters.with_unit(row.meaning, row.unit)
        key["description"] = f"{row.symbol}: {meaning}" if row.symbol else meaning


def _in_decibels(table: dict[str, Any], rows: dict[str, parameters.Parameter[Any, Any]]) -> None:
    """The keys in decibels that may stand for linear ones."""
    properties = table["properties"]
    for key, (name, _, unit) in units.ALTERNATIVES.items():
        if name not in properties:
            continue
        properties[key] = {
            "description": f"{name} in {unit}",
            "anyOf": [_DECIBELS, {"type": "array", "items": _DECIBELS}],
        }
        if name in table.get("required", ()):
            table["required"].remove(name)
    for name in [name for name, row in rows.items() if row.required and name in properties and "required" in table]:
        keys = [name, *(key for key, (linear, _, _) in units.ALTERNATIVES.items() if linear == name)]
        if len(keys) > 1:
            table.setdefault("allOf", []).append({"oneOf": [{"required": [key]} for key in keys]})


def _decided(inference: dict[str, Any]) -> None:
    """Participation is required unless scenarios or the power limit of the channel decide it, and then it must be absent."""
    inference["required"].remove("participation")
    limited = {"required": ["channel"], "properties": {"channel": {"required": ["max_power"]}}}
    inference["if"] = {"anyOf": [limited, {"required": ["scenarios"]}]}
    inference["then"] = {"not": {"required": ["participation"]}}
    inference["else"] = {"required": ["participation"]}


def _bounds(interval: str) -> dict[str, Any]:
    """Keywords of an interval.

    Examples
    --------
    >>> _bounds("(0, 1]")
    {'exclusiveMinimum': 0, 'maximum': 1}
    """
    if not interval:
        return {}
    low, high = (float(end) for end in interval[1:-1].split(","))
    keywords: dict[str, Any] = {}
    for end, closed, words in ((low, interval[0] == "[", ("minimum", "exclusiveMinimum")),
                               (high, interval[-1] == "]", ("maximum", "exclusiveMaximum"))):  # fmt: skip
        if math.isfinite(end):
            keywords[words[0] if closed else words[1]] = int(end) if end.is_integer() else end
    return keywords
