"""Ranges of parameters, and symbols that know their range."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from airtight.analytics import checks, parameters
from airtight.analytics.checks import ParameterError

Value = float | int


@dataclass(frozen=True)
class Range:
    """The range of a parameter.

    Attributes
    ----------
    low, high : float
        Least and greatest value, both included and both meant as the decimals that are written; equal for a constant.
        In a range of integers they are rounded inwards.
    logarithmic : bool
        Whether to sample uniformly in the logarithm.
    integer : bool
        Whether only integers are allowed.
    extra : tuple of float
        Further allowed values that should be tried, such as 0 below a logarithmic range.
    typical : tuple of float or None
        The least and greatest value that the paper itself uses; None if it names none.
    symbol : str
        LaTeX of the symbol in the paper; if empty, the name of the parameter is used.
    unit : str

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
    symbol: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            checks.scalar(name, getattr(self, name))
        for name in ("logarithmic", "integer"):
            checks.flag(name, getattr(self, name))
        for name in ("symbol", "unit"):
            checks.instance(name, getattr(self, name), str)
        for name, values in (("extra", self.extra), ("typical", () if self.typical is None else self.typical)):
            if not isinstance(values, tuple | list):
                raise ParameterError(name, values, "a tuple of numbers")
            for value in values:
                checks.scalar(name, value)
        if self.typical is not None and len(self.typical) != 2:
            raise ParameterError("typical", self.typical, "the least and the greatest value of the paper")
        if not (_finite(self.low) and _finite(self.high) and self.low <= self.high):
            raise ParameterError("range", f"[{self.low}, {self.high}]", "finite, with low <= high")
        if self.logarithmic and self.low <= 0:
            raise ParameterError("low", self.low, "positive in a logarithmic range; list 0 in extra if it is allowed")
        for value in self.extra:
            if not _finite(value):
                raise ParameterError("extra", value, "finite")
            if self.integer and value != int(value):
                raise ParameterError("extra", value, "an integer, because the range has integer=True")
        if self.integer:
            low, high = math.ceil(self.low), math.floor(self.high)
            if low > high:
                raise ParameterError("range", f"[{self.low}, {self.high}]", "a range that contains an integer")
            if (low, high) != (self.low, self.high):
                object.__setattr__(self, "low", low)
                object.__setattr__(self, "high", high)

    @property
    def size(self) -> float:
        """Number of values, with the extra ones; infinite unless the range is one of integers or a constant."""
        if not self.integer and self.low != self.high:
            return math.inf
        return self.high - self.low + 1 + len({value for value in self.extra if not self.low <= value <= self.high})

    @property
    def values(self) -> Iterator[Value]:
        """All values of a finite range."""
        yield from range(int(self.low), int(self.high) + 1) if self.integer else [self.low]
        outside = (value for value in dict.fromkeys(self.extra) if not self.low <= value <= self.high)
        yield from (int(value) if self.integer else value for value in outside)

    def at(self, u: float) -> Value:
        """The value at position u of [0, 1]."""
        u = min(max(u, 0.0), 1.0)
        if self.logarithmic:
            ratio, ends = self.high / self.low, (math.log(self.low), math.log(self.high))
            # in logarithms where the ratio of the bounds overflows
            unrounded = self.low * ratio**u if ratio < math.inf else math.exp((1 - u) * ends[0] + u * ends[1])
        else:
            width = self.high - self.low  # infinite where it overflows
            unrounded = self.low + width * u if width < math.inf else (1 - u) * self.low + u * self.high
        value = min(max(unrounded, self.low), self.high)
        return round(value) if self.integer else float(value)

    def position(self, value: float) -> float:
        """The position u of a value: the inverse of `at`."""
        if self.high == self.low:
            return 0.5
        value = min(max(float(value), self.low), self.high)
        if self.logarithmic:
            if self.high / self.low < math.inf:
                return math.log(value / self.low) / math.log(self.high / self.low)
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        if self.high - self.low < math.inf:
            return (value - self.low) / (self.high - self.low)
        return (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)

    @property
    def specials(self) -> tuple[Value, ...]:
        """The bounds and the extra values, at which statements fail most often."""
        extra = tuple(int(value) for value in self.extra) if self.integer else self.extra
        return (self.at(0.0), self.at(1.0), *extra)

    def regime(self) -> Range:
        """The part of the range that the paper uses."""
        if self.typical is None:
            return self
        return Range(*self.typical, self.logarithmic and self.typical[0] > 0, self.integer)

    @property
    def in_words(self) -> str:
        """The range as an error message prints it."""
        extra = "".join(f" or {value}" for value in self.extra)
        return f"{'integers in ' if self.integer else ''}[{self.low}, {self.high}]{extra}"

    def allows(self, value: Fraction) -> bool:
        """Whether a rational number is in the range, whose bounds are the decimals that are written."""
        if self.integer and value.denominator != 1:
            return False
        return exact(self.low) <= value <= exact(self.high) or value in map(exact, self.extra)


def exact(value: Value | Fraction) -> Fraction:
    """The rational number that a reader sees: the shortest decimal that gives the double, not its exact binary value.

    Examples
    --------
    >>> exact(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def _finite(value: Value) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # raised for an integer that is too large for a double
        return False


def constant(value: float) -> Range:
    """The range of a parameter that the statement fixes."""
    return Range(value, value, integer=isinstance(value, int))


_PLAIN_NAME = re.compile(r"[^\W_]+(_[^\W_]+)*'?")  # SymPy prints an index after an underscore; other names are text
_LIKE_CONSTANTS = {"e": r"\mathbf{e}", "pi": r"\boldsymbol{\pi}"}  # the numbers are printed as e and pi
_MATHS = {c: f"\\{c}" for c in "$%&#_{} "} | {"\\": r"\backslash{}", "^": r"\wedge{}", "~": r"\sim{}"}


class Parameter(sp.Symbol):  # type: ignore[misc]
    """A symbol with its range, so that the domain of an expression follows from its symbols.

    Examples
    --------
    >>> x = parameter("x", 0.1, 10.0, logarithmic=True)
    >>> (x + 1).free_symbols.pop().range.high
    10.0
    """

    __slots__ = ("_range_repr", "range")

    def __new__(cls, name: str, allowed: Range) -> Parameter:
        sign_assumption = {"positive": True} if min(allowed.low, *allowed.extra, allowed.low) > 0 else {}
        if not sign_assumption and min(allowed.low, *allowed.extra, allowed.low) >= 0:
            sign_assumption = {"nonnegative": True}
        number_assumption = {"integer": True} if allowed.integer else {"real": True}
        symbol: Parameter = sp.Symbol.__xnew__(cls, name, **sign_assumption, **number_assumption)
        symbol.range, symbol._range_repr = allowed, repr(allowed)
        return symbol

    def _hashable_content(self) -> tuple[Any, ...]:
        """Symbols with the same name and different ranges are different symbols; SymPy's cache would confuse them
        otherwise.

        SymPy sorts these tuples, so that the range has to be a string here.
        """
        return (*super()._hashable_content(), self._range_repr)

    @classmethod
    def class_key(cls) -> Any:
        """Sort among all symbols by name."""
        return sp.Symbol.class_key()

    def _latex(self, printer: Any) -> str:
        if symbol := str(self.range.symbol):
            return symbol
        if (constant := _LIKE_CONSTANTS.get(self.name)) is not None:
            return constant
        if not _PLAIN_NAME.fullmatch(self.name):
            return rf"\mathrm{{{''.join(_MATHS.get(letter, letter) for letter in self.name)}}}"
        letter, prime = (self.name[:-1], "'") if self.name.endswith("'") else (self.name, "")
        return str(printer._print_Symbol(sp.Symbol(letter))) + prime


def parameter(
    name: str,
    low: float,
    high: float,
    *,
    logarithmic: bool = False,
    integer: bool = False,
    extra: tuple[float, ...] = (),
    typical: tuple[float, float] | None = None,
    latex: str = "",
    unit: str = "",
) -> Parameter:
    """A symbol with its range; see :class:`Range`.

    Parameters
    ----------
    name : str
        As the functions of a claim call it.
    low, high : float
        Ends of the range.
    logarithmic : bool
        Whether values are drawn evenly on a logarithmic scale.
    integer : bool
        Whether values are whole.
    extra : tuple of float
        Values outside of the range, such as a limit, that are tried too.
    typical : tuple of float, optional
        The paper's own values, from and to.
    latex : str
        The symbol; by default the name.
    unit : str
        Of its values.

    Examples
    --------
    >>> parameter("mu", 0.0, 1.0) * 2
    2*mu
    """
    if not checks.text("name", name):
        raise ParameterError("name", name, "a text that is not empty")
    return Parameter(name, Range(low, high, logarithmic, integer, extra, typical, latex, unit))


def parameter_of(
    kind: type, key: str, low: float, high: float, *, name: str = "", latex: str = "", **rest: Any
) -> Parameter:
    """A parameter with the symbol, unit, typical range and integrality that a value type declares.

    Parameters
    ----------
    kind : type
        The value type, such as :class:`airtight.analytics.inference.system.InferenceSystem`.
    key : str
        Name of the parameter in the value type.
    low, high : float
        Least and greatest value; the value type must allow both.
    name, latex : str
        Name and LaTeX in the claim, if they differ from those of the value type.
    **rest
        Further arguments of :func:`parameter`.

    Raises
    ------
    ParameterError
        When the value type does not allow `low`, `high` or an extra value.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import DeviceFleet
    >>> distance = parameter_of(DeviceFleet, "distance", 50.0, 300.0)
    >>> distance.range.symbol, distance.range.unit, distance.range.typical
    ('r', 'm', (50, 200))
    """
    declared = parameters.of(kind)[key]
    for end in (low, high, *rest.get("extra", ())):
        declared.checked(end)
    rest = {"typical": declared.typical, "integer": isinstance(declared, parameters.Count), **rest}
    return parameter(name or key, low, high, latex=latex or declared.symbol, unit=declared.unit, **rest)


def over(*chosen: Parameter) -> dict[str, Range]:
    """The domain of these parameters, for quantities that are functions with the parameters as keyword arguments.

    Examples
    --------
    >>> over(parameter("x", 0.0, 1.0))["x"].high
    1.0
    """
    return {symbol.name: symbol.range for symbol in chosen}


# ranges that many quantities share
PROBABILITY = Range(1e-12, 1.0, logarithmic=True, extra=(0.0, 0.5, 1.0))
SHARE = Range(1e-6, 1.0, logarithmic=True, extra=(0.5,))
DELTA = Range(1e-300, 0.9, logarithmic=True)
EPSILON = Range(1e-9, 700.0, logarithmic=True)
POSITIVE = Range(1e-6, 1e6, logarithmic=True)
NONNEGATIVE = Range(1e-6, 1e6, logarithmic=True, extra=(0.0,))
REAL = Range(-10.0, 10.0, extra=(0.0,))
COUNT = Range(1, 10**6, logarithmic=True, integer=True)
