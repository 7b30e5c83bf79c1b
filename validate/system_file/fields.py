"""Types of the keys of a system file: a number, a number for each device, a pair."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator


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


def _pair(value: object) -> object:
    if isinstance(value, list) and len(value) == 2:
        return [_number_or_list(part) for part in value]
    raise ValueError("must be a list of two numbers (or of two lists, one number per device)")


Pair = Annotated[Any, BeforeValidator(_pair)]
PerDevice = Annotated[Any, BeforeValidator(_number_or_list)]
Number = Annotated[Any, BeforeValidator(_number)]
