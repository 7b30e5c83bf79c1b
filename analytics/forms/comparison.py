"""Compares the function of a quantity with its expression at 50 digits, over the whole domain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from airtight.analytics.checks import ConvergenceError
from airtight.analytics.forms.domain import Range, Value
from airtight.analytics.forms.quantity import Quantity

Values = dict[str, Any]
TINY = 1e-290  # relative errors of smaller values are not required


def sample(quantity: Quantity, rng: np.random.Generator) -> Values:
    """Random arguments; ends and special values of the ranges are frequent."""
    ranges = quantity.ranges
    return {
        name: tuple(_sample(ranges[name], rng) for _ in argument)
        if isinstance(argument, tuple)
        else _sample(ranges[name], rng)
        for name, argument in quantity.arguments.items()
    }


def _sample(allowed: Range, rng: np.random.Generator) -> Value:
    draw = rng.random()
    if draw < 0.1:
        return allowed.at(float(rng.integers(2)))
    if allowed.extra and draw < 0.25:
        return allowed.extra[int(rng.integers(len(allowed.extra)))]
    return allowed.at(float(rng.random()))


def error(quantity: Quantity, values: Values) -> float:
    """Error of the function relative to the quantity's scale; 0 where both are 0 or beyond the range of doubles.

    Of a quantity with one value per device the first is compared.
    """
    true = quantity.evaluate(**values)
    if isinstance(true, mpmath.mpc):
        raise ConvergenceError(f"{quantity.name}: not real at {values}")
    with np.errstate(all="ignore"):
        computed = float(np.ravel(quantity(**values))[0])
    if math.isnan(computed):
        return math.inf
    if math.isinf(computed):
        return 0.0 if abs(true) > 0.99 * np.finfo(float).max else math.inf
    size = abs(true) if quantity.scale is None else mpmath.mpf(quantity.scale(**values))
    if size <= TINY:
        return 0.0 if abs(computed) <= 2 * TINY else math.inf
    return float(abs(computed - true) / size)


@dataclass(frozen=True)
class Worst:
    """The greatest error that was met, and its arguments."""

    error: float
    at: Values
    samples: int


def worst(quantity: Quantity, *, samples: int = 200, seed: int = 0) -> Worst:
    """Greatest error among samples of the domain.

    Examples
    --------
    >>> from airtight.analytics.forms.binary_quantizers import QUANTITIES
    >>> worst(QUANTITIES["alpha"], samples=20).error < 1e-15
    True
    """
    rng = np.random.default_rng([seed, *quantity.name.encode()])
    greatest, tried = Worst(0.0, {}, 0), 0
    for _ in range(20 * samples):
        values = sample(quantity, rng)
        if not quantity.defined(**values):
            continue
        tried += 1
        at_values = error(quantity, values)
        if at_values >= greatest.error:
            greatest = Worst(at_values, values, tried)
        if tried == samples:
            break
    return Worst(greatest.error, greatest.at, tried)
