"""What is claimed of two quantities, and how far from failing it is.

A quantity is a SymPy expression in parameters that know their range, or a function of the parameters by name. Quantities are
compared as they are, on a scale that the claim states: by their ratio, by their difference in a unit, or by their difference
over a function of the point.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint
import sympy as sp

from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.balls.ball import Ball, refine
from airtight.analytics.rounding import SMALLEST
from airtight.validate.claims.domain import Parameter, Range, Value
from airtight.validate.claims.domain import exact as decimal
from airtight.validate.claims.proving.balls import enclosed

Point = Mapping[str, Value]
Exact = Mapping[str, Fraction]
Quantity = Any  # sympy.Expr, a number, or a callable of the parameters by name

_INFINITE = 700.0  # logarithm of a ratio whose lesser side is 0
_ROUNDING = 1e-8  # between the numbers of the search and the balls of a proof
_BITS = (64, 128, 512, 4096, 16384)
MOST_BITS = _BITS[-1]
_SOUGHT = 512  # bits to which two expressions are compared at each point of a search
_PUT_IN = 128  # bits from which on SymPy puts exact numbers in where balls give no value
_ACCURATE = 51  # bits of a value that is shown
_CLOSE = 1e-6  # relative: nearer than this two doubles do not say how far apart their numbers are


class Sign(StrEnum):
    """How the actual value must compare with the claimed one."""

    AT_MOST = "<="
    AT_LEAST = ">="
    EQUAL = "=="


_VIOLATED: dict[Sign, Callable[[Ball, Ball], bool]] = {
    Sign.AT_MOST: operator.gt,
    Sign.AT_LEAST: operator.lt,
    Sign.EQUAL: lambda actual, claimed: not actual.overlaps(claimed),
}


@dataclass(frozen=True)
class Scale:
    """On what scale two quantities are compared.

    Attributes
    ----------
    name : str
        ``ratio``, ``absolute`` or ``function``.
    unit : str
        Of a difference.
    size : float or callable
        What a difference is divided by; a callable takes the point by name.
    """

    name: str
    unit: str = ""
    size: float | Callable[..., float] = 1.0

    def distance(self, claimed: float, actual: float, sign: Sign, point: Point) -> float:
        """How far the point is from a violation: negative beyond it. Two zeros have no ratio, and say nothing."""
        if claimed == actual:
            return math.inf if claimed == 0 and self.name == "ratio" else 0.0
        if self.name == "ratio":
            if claimed < 0 or actual < 0:
                raise ArithmeticError(
                    f"a ratio of {actual!r} and {claimed!r}: a quantity of either sign needs another scale"
                )
            apart = _log(claimed) - _log(actual)
        else:
            apart = (claimed - actual) / self.sized(point)
        return {Sign.AT_MOST: apart, Sign.AT_LEAST: -apart, Sign.EQUAL: -abs(apart)}[sign]

    def factor(self, distance: float) -> float:
        """A distance as people say it: the factor of a ratio, the difference in units of the scale."""
        if self.name != "ratio":
            return distance
        return math.exp(distance) if distance < _INFINITE else math.inf

    def room(self, slack: float) -> float:
        """A slack as a distance, one per cent added: of the factor of a ratio, of the unit else."""
        return math.log(1.01 * slack) if self.name == "ratio" else slack + 0.01

    def moved(self, value: float, distance: float, point: Point) -> float:
        """A quantity moved up by a distance on the scale."""
        if self.name == "ratio":
            return value * math.exp(distance)
        return value + distance * self.sized(point)

    def sized(self, point: Point) -> float:
        """What a difference is divided by."""
        return self.size(**point) if callable(self.size) else self.size

    @property
    def label(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name


RATIO = Scale("ratio")


def absolute(unit: str, size: float = 1.0) -> Scale:
    """Compare by the difference, in units of `size`."""
    return Scale("absolute", unit, size)


def relative_to(size: Callable[..., float], unit: str = "") -> Scale:
    """Compare by the difference over a function of the point, such as the largest term of a sum that cancels."""
    return Scale("function", unit, size)


@dataclass(frozen=True)
class Agreement:
    """Two expressions compared in balls at a point.

    Attributes
    ----------
    claimed, actual : float
    order : int or None
        1 where the claimed value is surely greater, -1 where the actual one is, 0 where they are the same exact number; None
        where balls do not say.
    gap : float
        (claimed - actual) / (the greater of the two in absolute value), 0 where `order` is 0 or None.
    digits : int or None
        Where balls do not say: the decimal digits to which they agree.
    """

    claimed: float
    actual: float
    order: int | None
    gap: float = 0.0
    digits: int | None = None

    def margin(self, scale: Scale, sign: Sign, point: Point, tolerance: float) -> float:
        """The distance to a violation on the scale, negative beyond it; its sign is that of the order."""
        if not self.order:
            return scale.distance(self.claimed, self.claimed, sign, point) + tolerance
        apart = self._apart(scale, sign, point)
        if tolerance:
            return apart + tolerance
        kept = self.order != {Sign.AT_MOST: -1, Sign.AT_LEAST: 1, Sign.EQUAL: self.order}[sign]
        return max(apart, 0.0) if kept else min(apart, -SMALLEST)

    def _apart(self, scale: Scale, sign: Sign, point: Point) -> float:
        if not math.isclose(self.claimed, self.actual, rel_tol=_CLOSE):
            return scale.distance(self.claimed, self.actual, sign, point)
        apart = self.gap  # of a ratio: log(claimed / actual) to first order
        size = max(abs(self.claimed), abs(self.actual))
        if scale.name != "ratio" and size < math.inf:
            apart *= size / scale.sized(point)
        return {Sign.AT_MOST: apart, Sign.AT_LEAST: -apart, Sign.EQUAL: -abs(apart)}[sign]


@dataclass(frozen=True)
class Relation:
    """actual <= claimed, actual >= claimed, or actual == claimed.

    Attributes
    ----------
    actual, claimed : sympy.Expr or callable
        ``nan`` from `claimed` means that nothing is claimed there.
    sign : Sign
    balls : callable or None
        Takes exact parameters, returns (claimed, actual) as balls; made from the expressions where both sides are such.
    bounded : bool
        The ball of the actual value encloses only a bound of it, on the side that makes a violation harder to prove.
    """

    actual: Quantity
    claimed: Quantity
    sign: Sign
    balls: Callable[..., tuple[Ball, Ball]] | None = None
    bounded: bool = False

    @property
    def symbolic(self) -> bool:
        """Whether both sides are expressions."""
        return isinstance(self.actual, sp.Expr) and isinstance(self.claimed, sp.Expr)

    @property
    def certifiable(self) -> bool:
        return self.symbolic or self.balls is not None

    def domain(self) -> dict[str, Range]:
        """The ranges of the parameters that the expressions hold."""
        symbols = one_each([side for side in (self.actual, self.claimed) if isinstance(side, sp.Expr)])
        return {name: symbol.range for name, symbol in symbols.items() if isinstance(symbol, Parameter)}

    def latex(self) -> str:
        """The statement, from the expressions."""
        if not self.symbolic:
            raise ValueError("statement: must be given where a side is no expression")
        between = {Sign.AT_MOST: r"\le", Sign.AT_LEAST: r"\ge", Sign.EQUAL: "="}[self.sign]
        return f"{sp.latex(self.actual)} {between} {sp.latex(self.claimed)}"

    def values(self, point: Point) -> tuple[float, float]:
        """Claimed and actual value at a point."""
        claimed = value(self.claimed, point)
        return (claimed, math.nan) if math.isnan(claimed) else (claimed, value(self.actual, point))

    def agreement(self, point: Point, most: int = _SOUGHT) -> Agreement:
        """Two expressions compared at a point, whose coordinates are the decimals that they are written as.

        The precision rises until balls say which side is greater and both values are known to a double, or to `most` bits.

        Raises
        ------
        ArithmeticError
            When a side has no value there.
        """
        claimed, actual, bits = self._compared(point, most)
        for side, ball in ((self.claimed, claimed), (self.actual, actual)):
            if not _valued(ball):
                raise ArithmeticError(f"{side} has no value")
        order = _order(claimed, actual)
        shown = float(claimed.mid()), float(actual.mid())
        if order == 0 or not (claimed.is_finite() and actual.is_finite()):
            return Agreement(*shown, order)
        with flint.ctx.workprec(bits):
            size, apart = abs(claimed).upper().max(abs(actual).upper()), claimed - actual
            if order is not None:
                return Agreement(*shown, order, float((apart / size).mid()))
            share = abs(apart).upper() / size
            return Agreement(*shown, None, 0.0, _digits(share) if size > 0 else None)

    def _compared(self, point: Mapping[str, Any], most: int) -> tuple[Ball, Ball, int]:
        """Balls of both expressions at a point, and the bits that they took.

        Where balls give no value, such as of a case that hangs on the equality of two numbers, SymPy puts these in exactly.
        """
        at = {name: decimal(value) for name, value in point.items()}
        sides = self.claimed, self.actual
        for bits in _BITS:
            with flint.ctx.workprec(bits):
                claimed, actual = (enclosed(side, at) for side in sides)
                valued = _valued(claimed) and _valued(actual)
                if (valued and bits >= most) or (_order(claimed, actual) is not None and _known(claimed, actual)):
                    break
            if at and not valued and bits >= _PUT_IN:
                sides, at = (at_point(self.claimed, point), at_point(self.actual, point)), {}
        return claimed, actual, bits

    def moved(self, scale: Scale, distance: float) -> Relation:
        """The same with the actual quantity moved against the claim; its balls would speak of another quantity and go."""
        towards = -distance if self.sign is Sign.AT_LEAST else distance

        def actual(**point: Value) -> float:
            return scale.moved(value(self.actual, point), towards, point)

        return replace(self, actual=actual, balls=None)

    def violated(self, point: Exact) -> tuple[bool, tuple[Ball, Ball] | None]:
        """Whether ball arithmetic proves a violation; the precision is raised until it says."""
        if not self.certifiable:
            return False, None
        if self.balls is None:
            claimed, actual, _ = self._compared(point, MOST_BITS)
        else:
            with flint.ctx.workprec(_BITS[0]):
                claimed, actual = self.balls(**point)
        return bool(_VIOLATED[self.sign](actual, claimed)), (claimed, actual)

    def agrees(self, exact: Exact, point: Point, floor: float = 0.0) -> bool:
        """Whether the numbers of the search lie in the balls of the proof, up to rounding (and `floor`): else one is wrong."""
        if self.balls is None:
            return True
        claimed, actual = self.balls(**exact)
        numbers = self.values(point)
        if not (claimed.is_finite() and actual.is_finite()) or math.isnan(numbers[0]):
            return True
        if self.bounded:
            beyond = numbers[1] - float(actual.mid())
            beyond = -beyond if self.sign is Sign.AT_MOST else beyond
            return _inside(numbers[0], claimed, floor) and beyond <= _ROUNDING * abs(numbers[1]) + floor
        return _inside(numbers[0], claimed, floor) and _inside(numbers[1], actual, floor)


def one_each(expressions: Sequence[sp.Basic]) -> dict[str, sp.Symbol]:
    """The free symbols of some expressions by name, in the order of their names.

    Raises
    ------
    ParameterError
        When two parameters bear one name, which is all that a point, a box or a certificate knows of them.
    """
    inside = [part.function for one in expressions for part in one.atoms(sp.Sum, sp.Product)]
    for scope in ([one] for one in inside):
        _named(scope)
    return _named(expressions)


def _named(expressions: Sequence[sp.Basic]) -> dict[str, sp.Symbol]:
    found: dict[str, sp.Symbol] = {}
    for symbol in sorted(set().union(*(one.free_symbols for one in expressions)), key=lambda s: (s.name, _range(s))):
        if (other := found.setdefault(symbol.name, symbol)) != symbol:
            what = f"one symbol and one range under one name, here {_range(other)} and {_range(symbol)}"
            raise ParameterError("parameter", symbol.name, what)
    return found


def _range(symbol: sp.Symbol) -> str:
    told: str = symbol.range.told if isinstance(symbol, Parameter) else "a symbol without a range"
    return told


def _order(claimed: Ball, actual: Ball) -> int | None:
    """Which of two balls is surely greater: 1 the first, -1 the second, 0 where both are one exact number."""
    if claimed > actual:
        return 1
    if claimed < actual:
        return -1
    return 0 if claimed == actual else None


def _valued(ball: Ball) -> bool:
    """Whether there is a value, which may be infinite."""
    return bool(ball.is_finite() or (ball.is_exact() and not ball.is_nan()))


def _known(*balls: Ball) -> bool:
    """Whether values are known to a double, or exactly."""
    return all(
        (ball.is_exact() and not ball.is_nan()) or (ball.is_finite() and ball.rel_accuracy_bits() >= _ACCURATE)
        for ball in balls
    )


def _digits(share: Ball) -> int:
    """How many decimal digits two numbers agree to that are at most this share of them apart."""
    mantissa, exponent = (int(part) for part in share.upper().man_exp())
    return max(int(-(mantissa.bit_length() + exponent) * math.log10(2)), 0)


def at_most(actual: Quantity, claimed: Quantity, **rest: Any) -> Relation:
    """The actual value is at most the claimed one.

    Examples
    --------
    >>> from airtight.validate.claims.domain import parameter
    >>> x = parameter("x", 0.0, 1.0)
    >>> at_most(x**2, x).latex()
    'x^{2} \\\\le x'
    """
    return Relation(_quantity(actual), _quantity(claimed), Sign.AT_MOST, **rest)


def at_least(actual: Quantity, claimed: Quantity, **rest: Any) -> Relation:
    """The actual value is at least the claimed one."""
    return Relation(_quantity(actual), _quantity(claimed), Sign.AT_LEAST, **rest)


def equal(actual: Quantity, claimed: Quantity, **rest: Any) -> Relation:
    """The actual value is the claimed one."""
    return Relation(_quantity(actual), _quantity(claimed), Sign.EQUAL, **rest)


def relation(given: Any) -> Relation:
    """A relation from what a user writes: one of these, or an inequality of SymPy, actual value left.

    Raises
    ------
    TypeError
        When it is neither, or strict: that two sides are nowhere equal is not what is tried here.
    """
    if isinstance(given, Relation):
        return given
    kinds = {"<=": at_most, ">=": at_least, "==": equal}
    if isinstance(given, sp.core.relational.Relational):
        if given.rel_op in kinds:
            return kinds[given.rel_op](given.lhs, given.rhs)
        raise TypeError(f"relation = {given}: must be <=, >= or ==; what a trial or proof allows, a strict one forbids")
    if isinstance(given, bool | sp.logic.boolalg.BooleanAtom):
        raise TypeError(f"relation = {given}: SymPy has decided it; say at_most(...), at_least(...) or equal(...)")
    raise TypeError(f"relation = {given!r}: must be at_most(...), at_least(...), equal(...) or an inequality of SymPy")


def both(function: Callable[..., tuple[float, float]]) -> tuple[Quantity, Quantity]:
    """The two quantities that one function of the parameters returns, computed once at a point.

    Examples
    --------
    >>> equal(*both(lambda x: (x + x, 2 * x))).values({"x": 1.5})
    (3.0, 3.0)
    """

    @lru_cache(maxsize=1)
    def at(point: tuple[tuple[str, Value], ...]) -> tuple[float, float]:
        return function(**dict(point))

    def one(**point: Value) -> float:
        return at(tuple(point.items()))[0]

    def other(**point: Value) -> float:
        return at(tuple(point.items()))[1]

    return one, other


def _quantity(side: Any) -> Quantity:
    return side if callable(side) and not isinstance(side, sp.Basic) else sp.sympify(side)


def at_point(side: sp.Expr, point: Mapping[str, Any]) -> sp.Expr:
    """An expression with exact numbers in the place of its parameters.

    Raises
    ------
    ArithmeticError
        When SymPy finds that it has no value there.
    """
    values = {s: sp.Rational(decimal(point[s.name])) for s in side.free_symbols if s.name in point}
    found = side.xreplace(values).doit()
    if found.has(sp.nan, sp.zoo):
        raise ArithmeticError(f"{side} has no value")
    return found


def value(side: Quantity, point: Point) -> float:
    """A quantity at a point, to double precision; infinite where it is.

    Raises
    ------
    ArithmeticError
        When it has no value there.
    """
    if not isinstance(side, sp.Expr):
        return float(side(**point))
    at = {name: decimal(value) for name, value in point.items()}
    found = refine(lambda: enclosed(side, at), most=_PUT_IN)
    if not _known(found):
        exact = at_point(side, point)
        found = refine(lambda: enclosed(exact, {}))
    if not found.is_finite():
        if found.is_exact() and not found.is_nan():
            return math.copysign(math.inf, 1 if found > 0 else -1)
        raise ArithmeticError(f"{side} has no value")
    return float(found.mid())


def _inside(value: float, ball: Ball, floor: float) -> bool:
    middle = float(ball.mid())
    return abs(value - middle) <= float(ball.rad()) + _ROUNDING * abs(middle) + floor


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf
