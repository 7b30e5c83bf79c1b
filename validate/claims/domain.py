"""The values that the hypotheses of a statement allow its parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from analytics.checks import ParameterError

Value = float | int


@dataclass(frozen=True)
class Range:
    """The values that one hypothesis allows a parameter.

    Attributes
    ----------
    low, high : float
        Both included; equal for a constant.
    logarithmic : bool
        Sample evenly in the logarithm.
    integer : bool
    extra : tuple of float
        Further values worth trying, such as 0 below a logarithmic range.
    typical : tuple of float or None
        The least and greatest value that the paper itself uses; None where it names none.

    Examples
    --------
    >>> Range(1e-4, 1.0, logarithmic=True).at(0.5)
    0.01
    """

    low: float
    high: float
    logarithmic: bool = False
    integer: bool = False
    extra: tuple[float, ...] = ()
    typical: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise ParameterError("range", f"[{self.low}, {self.high}]", "finite ends in order")
        if self.logarithmic and self.low <= 0:
            raise ParameterError("low", self.low, "positive in a logarithmic range (give 0 as extra)")

    @property
    def size(self) -> float:
        """How many values there are; infinite unless they are integers."""
        return self.high - self.low + 1 if self.integer else (1.0 if self.low == self.high else math.inf)

    def at(self, u: float) -> Value:
        """The value at position u of [0, 1]."""
        u = min(max(u, 0.0), 1.0)
        between = self.low * (self.high / self.low) ** u if self.logarithmic else self.low + (self.high - self.low) * u
        value = float(min(max(between, self.low), self.high))
        return round(value) if self.integer else value

    def position(self, value: float) -> float:
        """The inverse of `at`."""
        if self.high == self.low:
            return 0.5
        value = min(max(float(value), self.low), self.high)
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    @property
    def specials(self) -> tuple[Value, ...]:
        """Ends and extra values: where statements break first."""
        return (self.at(0.0), self.at(1.0), *self.extra)

    def regime(self) -> Range:
        """The part of it that the paper uses."""
        if self.typical is None:
            return self
        return Range(*self.typical, self.logarithmic and self.typical[0] > 0, self.integer)

    def allows(self, value: Fraction) -> bool:
        """Whether a candidate witness is in the range."""
        if self.integer and value.denominator != 1:
            return False
        return self.low <= float(value) <= self.high or float(value) in self.extra


def constant(value: float) -> Range:
    """A parameter that the statement fixes."""
    return Range(value, value, integer=isinstance(value, int))


class Parameter(sp.Symbol):  # type: ignore[misc]
    """A symbol that knows its range, so that an expression brings its own domain along.

    Examples
    --------
    >>> x = parameter("x", 0.1, 10.0, logarithmic=True)
    >>> (x + 1).free_symbols.pop().range.high
    10.0
    """

    __slots__ = ("range", "written")

    def __new__(cls, name: str, allowed: Range, written: str | None = None) -> Parameter:
        signs = {"positive": True} if min(allowed.low, *allowed.extra, allowed.low) > 0 else {}
        if not signs and min(allowed.low, *allowed.extra, allowed.low) >= 0:
            signs = {"nonnegative": True}
        kind = {"integer": True} if allowed.integer else {"real": True}
        made: Parameter = sp.Symbol.__xnew__(cls, name, **signs, **kind)
        made.range, made.written = allowed, written
        return made

    def _hashable_content(self) -> tuple[Any, ...]:
        """Symbols of one name and another range are other symbols: else SymPy's cache hands out one for the other."""
        return (*super()._hashable_content(), self.range, self.written)

    def _latex(self, printer: Any) -> str:
        return self.written if self.written is not None else str(printer._print_Symbol(sp.Symbol(self.name)))


def parameter(
    name: str,
    low: float,
    high: float,
    *,
    logarithmic: bool = False,
    integer: bool = False,
    extra: tuple[float, ...] = (),
    typical: tuple[float, float] | None = None,
    latex: str | None = None,
) -> Parameter:
    """A symbol with its range; see :class:`Range`.

    Examples
    --------
    >>> parameter("mu", 0.0, 1.0) * 2
    2*mu
    """
    return Parameter(name, Range(low, high, logarithmic, integer, extra, typical), latex)
