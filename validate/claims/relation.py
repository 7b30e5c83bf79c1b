"""What is claimed of two quantities, and how far from failing it is.

A quantity is a SymPy expression in parameters that know their range, or a function of the parameters by name. Quantities are
compared as they are, on a scale that the claim states: by their ratio, by their difference in a unit, or by their difference
over a function of the point.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint
import sympy as sp

from analytics.enclosures.ball import Ball, refine
from validate.claims.balls import enclosed
from validate.claims.domain import Parameter, Range, Value

Point = Mapping[str, Value]
Exact = Mapping[str, Fraction]
Quantity = Any  # sympy.Expr, a number, or a callable of the parameters by name

_INFINITE = 700.0  # logarithm of a ratio whose lesser side is 0
_ROUNDING = 1e-8  # between the numbers of the search and the balls of a proof
_BITS = (64, 128, 256, 512, 1024, 4096, 16384)


class Sign(StrEnum):
    """How the actual value must compare with the claimed one."""

    AT_MOST = "<="
    AT_LEAST = ">="
    EQUAL = "=="


_COMPARISONS: dict[Sign, tuple[Callable[[Ball, Ball], bool], Callable[[Ball, Ball], bool]]] = {
    Sign.AT_MOST: (operator.le, operator.gt),
    Sign.AT_LEAST: (operator.ge, operator.lt),
    Sign.EQUAL: (lambda actual, claimed: False, lambda actual, claimed: not actual.overlaps(claimed)),
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
            size = self.size(**point) if callable(self.size) else self.size
            apart = (claimed - actual) / size
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
        return value + distance * (self.size(**point) if callable(self.size) else self.size)

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
        symbols = {s for side in (self.actual, self.claimed) if isinstance(side, sp.Expr) for s in side.free_symbols}
        return {s.name: s.range for s in sorted(symbols, key=lambda s: s.name) if isinstance(s, Parameter)}

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

    def enclosures(self, point: Exact) -> tuple[Ball, Ball]:
        """Balls of the claimed and the actual value at the present precision."""
        if self.balls is not None:
            return self.balls(**point)
        return enclosed(self.claimed, point), enclosed(self.actual, point)

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
        for bits in _BITS if self.balls is None else _BITS[:1]:
            with flint.ctx.workprec(bits):
                claimed, actual = self.enclosures(point)
                true, false = (compare(actual, claimed) for compare in _COMPARISONS[self.sign])
                if true or false:
                    return bool(false), (claimed, actual)
        return False, (claimed, actual)

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


def at_most(actual: Quantity, claimed: Quantity, **rest: Any) -> Relation:
    """The actual value is at most the claimed one.

    Examples
    --------
    >>> from validate.claims.domain import parameter
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


def value(side: Quantity, point: Point) -> float:
    """A quantity at a point, to double precision; infinite where it is.

    Raises
    ------
    ArithmeticError
        When it has no value there.
    """
    if not isinstance(side, sp.Expr):
        return float(side(**point))
    found = refine(lambda: enclosed(side, point))
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
