"""The JSON Schema of the system file, with which editors complete and check its keys."""

from __future__ import annotations

import json
import math
from typing import Any

from airtight.analytics import parameters
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.channel import Channel, Eavesdropper
from airtight.analytics.inference.system import InferenceSystem
from airtight.system_file import config, units

_VALUE_TYPES = {  # the value type whose parameters a table holds
    "_Inference": InferenceSystem,
    "_Variant": InferenceSystem,
    "_Channel": Channel,
    "_Eavesdropper": Eavesdropper,
    "_Federated": FederatedSystem,
    "_Energy": DeviceFleet,
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
    {'type': 'integer', 'minimum': 1, 'description': 'r: encoded dimension'}
    """
    added = config.installed()
    made = config.allowing(added).model_json_schema(ref_template="#/$defs/{model}")
    tables = made["$defs"]
    value_types = _VALUE_TYPES | {f"_{name}": table.record for name, table in added.items()}
    for model, table in tables.items():
        table.pop("description", None)
        for key, value in table["properties"].items():
            table["properties"][key] = _simple(value)
        if model in value_types:
            _described(table, parameters.of(value_types[model]))
        if model in ("_Inference", "_Variant"):
            _in_decibels(table, parameters.of(InferenceSystem))
    tables["_Inference"]["properties"]["observer"]["enum"] = [each.value for each in Observer]
    _decided(tables["_Inference"])
    text = json.dumps({**made, "properties": {key: _simple(value) for key, value in made["properties"].items()}})
    for model in tables:
        text = text.replace(f'"{model}"', f'"{model[1:]}"').replace(f"#/$defs/{model}", f"#/$defs/{model[1:]}")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The system file of airtight"}
    body: dict[str, Any] = json.loads(text)
    return {**head, **{key: value for key, value in body.items() if key not in ("title", "description")}}


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
        unit = f" ({row.unit})" if row.unit else ""
        key["description"] = f"{row.symbol}: {row.meaning}{unit}" if row.symbol else f"{row.meaning}{unit}"


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
    """Participation is required unless the power limit of the channel decides it, and then it must be absent."""
    inference["required"].remove("participation")
    limited = {"required": ["channel"], "properties": {"channel": {"required": ["max_power"]}}}
    inference["if"], inference["then"] = limited, {"not": {"required": ["participation"]}}
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
    found: dict[str, Any] = {}
    for end, closed, words in ((low, interval[0] == "[", ("minimum", "exclusiveMinimum")),
                               (high, interval[-1] == "]", ("maximum", "exclusiveMaximum"))):  # fmt: skip
        if math.isfinite(end):
            found[words[0] if closed else words[1]] = int(end) if end.is_integer() else end
    return found
