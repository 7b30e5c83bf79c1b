"""Balls (numbers with error bounds): conversion from and to other numbers, and refinement until the precision suffices."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import flint

Ball = flint.arb
Number = int | float | Fraction | str

_MOST_BITS = 1 << 15


def ball(value: Number | Ball) -> Ball:
    """Enclose a number: a float by its exact binary value, a string (decimal or fraction) without prior rounding.

    Examples
    --------
    >>> ball(0.1).is_exact(), ball("0.1").is_exact()
    (True, False)
    """
    if isinstance(value, flint.arb):
        return value
    if isinstance(value, str):
        value = Fraction(value)
    if isinstance(value, Fraction):
        return flint.arb(flint.fmpq(value.numerator, value.denominator))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"value = {value!r}: must be finite")
    return flint.arb(value)


def ends(value: Ball) -> tuple[float, float]:
    """Doubles below and above every number in the ball.

    Examples
    --------
    >>> lower, upper = ends(ball("1/3"))
    >>> lower < 1 / 3 < upper or lower == 1 / 3 < upper or lower < 1 / 3 == upper
    True
    """
    if not value.is_finite():
        return -math.inf, math.inf
    return (
        math.nextafter(float(value.lower()), -math.inf),
        math.nextafter(float(value.upper()), math.inf),
    )


def refine(compute: Callable[[], Ball], *, digits: int = 15, bits: int = 64, most: int = _MOST_BITS) -> Ball:
    """Call `compute` with rising working precision, `bits` to `most`, until its ball has `digits` significant digits.

    A ball that is still too wide at the highest precision is returned as it is, and so is a ball that more precision does not
    narrow because the inputs are balls; such a ball is valid, though of little use.
    """
    needed = math.ceil(digits * math.log2(10)) + 1
    reached = None
    while True:
        with flint.ctx.workprec(bits):
            value = compute()
        if value.is_finite() and value.rel_accuracy_bits() >= needed:
            return value
        if value.is_finite() and value.rel_accuracy_bits() == reached:
            return value
        reached = value.rel_accuracy_bits()
        if bits >= most or (value.is_exact() and value.is_zero()):
            return value
        bits *= 2
