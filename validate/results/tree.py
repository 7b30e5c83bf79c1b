"""Converts results to trees for strict JSON."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


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
