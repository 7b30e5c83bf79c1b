"""The published JSON Schema of what the commands print with --json, made from the types of the results."""

from __future__ import annotations

import json
from typing import Any

from airtight.analytics.inference.link_budget import LinkBudget
from airtight.analytics.privacy.over_the_air.meter import MeterSummary
from airtight.report.card import Card
from airtight.results.bounds import Bounds, CurveResult
from airtight.results.closed_forms import ClosedForms
from airtight.results.design import (
    CalibrationResult,
    DesignResult,
    FederatedDesignResult,
    FleetDesignResult,
    FrontierResult,
)
from airtight.results.energy import EnergyResult
from airtight.results.inference_results import EpsilonOverRounds
from airtight.results.quantizer import PairResult, QuantizerResult
from airtight.results.schema import NUMBER, NUMBERS, of_type
from airtight.results.training_results import TrainingResult
from airtight.results.weights import WeightResult
from airtight.solvers.energy.policy import Policy
from airtight.validate.attack.attack_results import AttackResult, TrainingAttack
from airtight.validate.claims.evidence import Row

COMMANDS: dict[str, Any] = {
    "attack": AttackResult | list[TrainingAttack],
    "bounds": Bounds,
    "bounds --link": LinkBudget,
    "bounds of several files": dict[str, Bounds],
    "bounds over rounds": dict[str, EpsilonOverRounds],
    "calibrate": CalibrationResult,
    "card": Card,
    "curve": CurveResult,
    "design": DesignResult | FederatedDesignResult | FleetDesignResult | FrontierResult,
    "meter": MeterSummary,
    "quantities": ClosedForms,
    "solve weights": WeightResult,
    "solve energy": list[EnergyResult] | list[Policy],
    "solve quantizer": QuantizerResult | PairResult,
    "train": TrainingResult,
    "try": list[Row],
    "verify": list[Row],
}


def key(command: str) -> str:
    """The name of a command in the schema.

    Examples
    --------
    >>> key("solve weights"), key("bounds --link")
    ('solve-weights', 'bounds-link')
    """
    return command.replace(" --", "-").replace(" ", "-")


def schema() -> dict[str, Any]:
    """The schema; what a command prints is under ``#/$defs``, by its name with a dash for each space, and ``card`` is card.json.

    Examples
    --------
    >>> made = schema()
    >>> made["$defs"]["verify"]["items"]["$ref"]
    '#/$defs/Row'
    >>> made["$defs"]["DeviceBounds"]["properties"]["gain"]
    {'$ref': '#/$defs/number'}
    """
    definitions: dict[str, Any] = {"number": NUMBER, "numbers": NUMBERS}
    for command, kind in COMMANDS.items():
        definitions[key(command)] = of_type(kind, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The JSON of airtight",
        "$defs": dict(sorted(definitions.items())),
    }


def text() -> str:
    """Text of the published file, docs/schema.json."""
    return json.dumps(schema(), indent=1) + "\n"
