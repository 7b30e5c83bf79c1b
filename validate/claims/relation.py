"""Relations between two quantities, and the distance of a point to a violation of a relation.

A side is a quantity of the registry, a SymPy expression in parameters with ranges, or a function that takes the
parameters by name. Nothing is added to a side before the comparison. The claim states the scale of the comparison: the
ratio of the two sides, their difference in a unit, or their difference divided by a function of the point.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import Any

import flint
import sympy as sp

from airtight.analytics.checks import AirtightError, ParameterError
from airtight.analytics.forms.balls.ball import Ball, refine
from airtight.analytics.forms.balls.compiled import enclosed
from airtight.analytics.forms.domain import Parameter, Range, Value
from airtight.analytics.forms.domain import exact as decimal
from airtight.analytics.forms.quantity import Quantity
from airtight.analytics.rounding import SMALLEST

Point = Mapping[str, Value]
Exact = Mapping[str, Fraction]
Side = Any  # a Quantity, a sympy.Expr, a number, or a callable of the parameters by name

_LARGEST_LOG_RATIO = 700.0  # log ratio above which the ratio is reported as infinite: exp overflows above 709
_AGREEMENT_TOLERANCE = 1e-8  # relative: rounding error allowed between a double of the search and the ball of a proof
_BITS = (64, 128, 512, 4096, 16384)  # precisions that are tried one after the other
MOST_BITS = _BITS[-1]
_SEARCH_BITS = 512  # precision up to which a search compares two expressions at each point
_SUBSTITUTION_BITS = 128  # from this precision on, SymPy substitutes exact numbers where balls give no value
_ACCURATE_BITS = 51  # relative accuracy of a value that is converted to a double, which has 53 bits
_CLOSE = 1e-6  # relative: the difference of two doubles closer than this has lost too many digits to cancellation


class RelationError(AirtightError, TypeError):
    """What is given is no relation that can be tried."""


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
    """The scale on which two quantities are compared.

    Attributes
    ----------
    name : str
        ``ratio``, ``absolute`` or ``function``.
    unit : str
        The unit of a difference.
    size : float or callable
        The divisor of a difference; a callable takes the parameters by name.
    """

    name: str
    unit: str = ""
    size: float | Callable[..., float] = 1.0

    def distance(self, claimed: float, actual: float, sign: Sign, point: Point) -> float:
        """Distance of a point to a violation, negative in one; infinite if both sides are, or are 0 on a ratio scale."""
        if claimed == actual:  # equal infinities, and zeros on a ratio scale, say nothing of how near a violation is
            return math.inf if math.isinf(claimed) or (claimed == 0 and self.name == "ratio") else 0.0
        if self.name == "ratio":
            if claimed < 0 or actual < 0:
                raise ArithmeticError(
                    f"a ratio of {actual!r} and {claimed!r}: a quantity of either sign needs another scale"
                )
            difference = _log(claimed) - _log(actual)
        else:
            difference = (claimed - actual) / self.sized(point)
        return {Sign.AT_MOST: difference, Sign.AT_LEAST: -difference, Sign.EQUAL: -abs(difference)}[sign]

    def factor(self, distance: float) -> float:
        """A distance in readable form: the factor on a ratio scale, otherwise the difference in units of the scale."""
        if self.name != "ratio":
            return distance
        return math.exp(distance) if distance < _LARGEST_LOG_RATIO else math.inf

    def room(self, slack: float) -> float:
        """A slack as a distance, plus one per cent of the factor (ratio scale) or of the unit (other scales)."""
        return math.log(1.01 * slack) if self.name == "ratio" else slack + 0.01

    def moved(self, value: float, distance: float, point: Point) -> float:
        """A quantity increased by a distance on the scale."""
        if self.name == "ratio":
            return value * math.exp(distance)
        return value + distance * self.sized(point)

    def sized(self, point: Point) -> float:
        """The divisor of a difference at a point."""
        size = self.size(**point) if callable(self.size) else self.size
        if not 0 < size < math.inf:  # any other divisor hides a violation
            raise ArithmeticError(f"the size of the scale is {size!r}; allowed: positive and finite")
        return size

    @property
    def label(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name


RATIO = Scale("ratio")


def absolute(unit: str, size: float = 1.0) -> Scale:
    """Scale of the difference, in multiples of `size`.

    Parameters
    ----------
    unit : str
        Unit of the difference.
    size : float
        Of one unit of the scale.
    """
    return Scale("absolute", unit, size)


def relative_to(size: Callable[..., float], unit: str = "") -> Scale:
    """Scale of the difference divided by a function of the point, such as the largest term of a cancelling sum.

    Parameters
    ----------
    size : callable
        A function of the point.
    unit : str
        Name of the size.
    """
    return Scale("function", unit, size)


@dataclass(frozen=True)
class Agreement:
    """The comparison of two expressions at a point in ball arithmetic.

    Attributes
    ----------
    claimed, actual : float
    order : int or None
        1 if the claimed value is proved to be greater, -1 if the actual value is, 0 if both are the same exact number;
        None if ball arithmetic does not decide.
    gap : float
        (claimed - actual) / max(abs(claimed), abs(actual)); 0 if `order` is 0 or None.
    digits : int or None
        If `order` is None: the number of decimal digits to which both values agree.
    """

    claimed: float
    actual: float
    order: int | None
    gap: float = 0.0
    digits: int | None = None

    def margin(self, scale: Scale, sign: Sign, point: Point, tolerance: float) -> float:
        """Distance to a violation on the scale, negative in one; its sign follows from the order."""
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
        difference = self.gap  # on a ratio scale: log(claimed / actual) to first order
        size = max(abs(self.claimed), abs(self.actual))
        if scale.name != "ratio" and size < math.inf:
            difference *= size / scale.sized(point)
        return {Sign.AT_MOST: difference, Sign.AT_LEAST: -difference, Sign.EQUAL: -abs(difference)}[sign]


@dataclass(frozen=True)
class Relation:
    """One of actual <= claimed, actual >= claimed and actual == claimed.

    Attributes
    ----------
    actual, claimed : sympy.Expr or callable
        `claimed` returns ``nan`` at points for which nothing is claimed.
    sign : Sign
    balls : callable or None
        Takes exact parameters and returns the balls of (claimed, actual). If both sides are expressions, the balls come
        from them, and this is None.
    bounded : bool
        Whether the ball of the actual value encloses only a bound of it: a lower bound for `<=`, an upper bound for
        `>=`. This makes a violation harder to prove.
    quantities : tuple of Quantity
        The quantities of the registry whose expressions are sides, at the claim's parameters.
    """

    actual: Side
    claimed: Side
    sign: Sign
    balls: Callable[..., tuple[Ball, Ball]] | None = None
    bounded: bool = False
    quantities: tuple[Quantity, ...] = ()

    @property
    def symbolic(self) -> bool:
        """Whether both sides are expressions."""
        return isinstance(self.actual, sp.Expr) and isinstance(self.claimed, sp.Expr)

    @property
    def certifiable(self) -> bool:
        return self.symbolic or self.balls is not None

    def domain(self) -> dict[str, Range]:
        """The ranges of the parameters in the expressions."""
        symbols = one_each([side for side in (self.actual, self.claimed) if isinstance(side, sp.Expr)])
        return {name: symbol.range for name, symbol in symbols.items() if isinstance(symbol, Parameter)}

    def latex(self) -> str:
        """The LaTeX of the statement, printed from the expressions."""
        if not self.symbolic:
            raise ValueError("statement: must be given if a side is not a SymPy expression")
        between = {Sign.AT_MOST: r"\le", Sign.AT_LEAST: r"\ge", Sign.EQUAL: "="}[self.sign]
        return f"{_printed(self.actual)} {between} {_printed(self.claimed)}"

    def values(self, point: Point) -> tuple[float, float]:
        """Claimed and actual value at a point."""
        claimed = value(self.claimed, point)
        return (claimed, math.nan) if math.isnan(claimed) else (claimed, value(self.actual, point))

    def agreement(self, point: Point, most: int = _SEARCH_BITS) -> Agreement:
        """Compare two expressions at a point, whose coordinates are the decimals that are written.

        The precision increases until the balls decide which side is greater and both values have the accuracy of a
        double, or until it reaches `most` bits.

        Raises
        ------
        ArithmeticError
            When a side has no value at the point.
        """
        claimed, actual, bits = self._compared(point, most)
        for side, ball in ((self.claimed, claimed), (self.actual, actual)):
            if not _has_value(ball):
                raise ArithmeticError(f"{side} has no value")
        order = _order(claimed, actual)
        midpoints = float(claimed.mid()), float(actual.mid())
        if order == 0 or not (claimed.is_finite() and actual.is_finite()):
            return Agreement(*midpoints, order)
        with flint.ctx.workprec(bits):
            size, difference = abs(claimed).upper().max(abs(actual).upper()), claimed - actual
            if order is not None:
                return Agreement(*midpoints, order, float((difference / size).mid()))
            relative_difference = abs(difference).upper() / size
            return Agreement(*midpoints, None, 0.0, _digits(relative_difference) if size > 0 else None)

    def _compared(self, point: Mapping[str, Any], most: int) -> tuple[Ball, Ball, int]:
        """Balls of both expressions at a point, and the precision in bits that they needed.

        Balls give no value for, say, a Piecewise whose condition holds with equality, because they cannot prove an
        equality. SymPy then substitutes the exact coordinates, and the balls of the results are used.
        """
        at = {name: decimal(value) for name, value in point.items()}
        sides = self.claimed, self.actual
        for bits in _BITS:
            with flint.ctx.workprec(bits):
                claimed, actual = (enclosed(side, at) for side in sides)
                both_have_values = _has_value(claimed) and _has_value(actual)
                if (both_have_values and bits >= most) or (
                    _order(claimed, actual) is not None and _accurate(claimed, actual)
                ):
                    break
            if at and not both_have_values and bits >= _SUBSTITUTION_BITS:
                sides, at = (at_point(self.claimed, point), at_point(self.actual, point)), {}
        return claimed, actual, bits

    def with_actual(self, actual: Side) -> Relation:
        """The relation with another actual side, and without `balls`."""
        made = _related(actual, self.claimed, self.sign)
        return replace(self, actual=made.actual, balls=None, quantities=made.quantities)

    def moved(self, scale: Scale, distance: float) -> Relation:
        """The relation with the actual quantity moved towards a violation, and without `balls`."""
        towards = -distance if self.sign is Sign.AT_LEAST else distance

        def actual(**point: Value) -> float:
            return scale.moved(value(self.actual, point), towards, point)

        return replace(self, actual=actual, balls=None)

    def violated(self, point: Exact) -> tuple[bool, tuple[Ball, Ball] | None]:
        """Whether ball arithmetic proves a violation, and the balls; for expressions the precision increases."""
        if not self.certifiable:
            return False, None
        if self.balls is None:
            claimed, actual, _ = self._compared(point, MOST_BITS)
        else:
            with flint.ctx.workprec(_BITS[0]):
                claimed, actual = self.balls(**point)
        return bool(_VIOLATED[self.sign](actual, claimed)), (claimed, actual)

    def agrees(self, exact: Exact, point: Point, floor: float = 0.0) -> bool:
        """Whether the doubles of the search lie in the balls of the proof, up to rounding and the absolute `floor`.

        Otherwise one of the two computations is wrong.
        """
        if self.balls is None:
            return True
        claimed, actual = self.balls(**exact)
        numbers = self.values(point)
        if not (claimed.is_finite() and actual.is_finite()) or math.isnan(numbers[0]):
            return True
        if self.bounded:
            excess = numbers[1] - float(actual.mid())
            excess = -excess if self.sign is Sign.AT_MOST else excess
            return _in_ball(numbers[0], claimed, floor) and excess <= _AGREEMENT_TOLERANCE * abs(numbers[1]) + floor
        return _in_ball(numbers[0], claimed, floor) and _in_ball(numbers[1], actual, floor)


@lru_cache(maxsize=1 << 12)  # a statement is printed when its claim is made, and again where it is compared with the claim
def _printed(expression: sp.Expr) -> str:
    return str(sp.latex(expression))


def one_each(expressions: Sequence[sp.Basic]) -> dict[str, sp.Symbol]:
    """The free symbols of expressions by name, in the order of their names; every name must stand for one symbol.

    Raises
    ------
    ParameterError
        When two parameters have the same name: points, boxes and certificates distinguish parameters by name only.
    """
    return dict(_one_each(*expressions))


@lru_cache(maxsize=1 << 12)  # the same sides are looked at when a claim is made, given to its paper, and proved
def _one_each(*expressions: sp.Basic) -> dict[str, sp.Symbol]:
    inside = [part.function for expression in expressions for part in expression.atoms(sp.Sum, sp.Product)]
    for scope in inside:
        _symbols_by_name(scope)
    return _symbols_by_name(*expressions)


def _symbols_by_name(*expressions: sp.Basic) -> dict[str, sp.Symbol]:
    symbols: dict[str, sp.Symbol] = {}
    for symbol in sorted(
        set().union(*(expression.free_symbols for expression in expressions)), key=lambda s: (s.name, _range_text(s))
    ):
        if (other := symbols.setdefault(symbol.name, symbol)) != symbol:
            allowed = (
                f"the name of one symbol with one range, and not of {_range_text(other)} and {_range_text(symbol)}"
            )
            raise ParameterError("parameter", symbol.name, allowed)
    return symbols


def _range_text(symbol: sp.Symbol) -> str:
    in_words: str = symbol.range.in_words if isinstance(symbol, Parameter) else "a symbol without a range"
    return in_words


def _order(claimed: Ball, actual: Ball) -> int | None:
    """1 if the first ball is surely greater, -1 if the second is, 0 if both are the same exact number, else None."""
    if claimed > actual:
        return 1
    if claimed < actual:
        return -1
    return 0 if claimed == actual else None


def _has_value(ball: Ball) -> bool:
    """Whether a ball encloses a value, which may be infinite."""
    return bool(ball.is_finite() or (ball.is_exact() and not ball.is_nan()))


def _accurate(*balls: Ball) -> bool:
    """Whether balls are exact or have the accuracy of a double."""
    return all(
        (ball.is_exact() and not ball.is_nan()) or (ball.is_finite() and ball.rel_accuracy_bits() >= _ACCURATE_BITS)
        for ball in balls
    )


def _digits(relative_difference: Ball) -> int:
    """Number of decimal digits to which two numbers agree, from an upper bound of their relative difference."""
    mantissa, exponent = (int(part) for part in relative_difference.upper().man_exp())
    return max(int(-(mantissa.bit_length() + exponent) * math.log10(2)), 0)


def at_most(actual: Side, claimed: Side, **rest: Any) -> Relation:
    """The relation: the actual value is at most the claimed value.

    Parameters
    ----------
    actual, claimed : expression, Quantity or callable
        Either side, as an expression in parameters or a function of the point.
    **rest
        Other fields of :class:`Relation`: `balls`, `bounded`.

    Examples
    --------
    >>> from airtight.analytics.forms.domain import parameter
    >>> x = parameter("x", 0.0, 1.0)
    >>> at_most(x**2, x).latex()
    'x^{2} \\\\le x'

    A quantity of the registry brings its domain along, and is remembered by name.

    >>> from airtight.solvers.quantities import quantities
    >>> claim = at_most(quantities()["slack"], quantities()["slack as printed"])
    >>> claim.domain()["d"].in_words, [quantity.key for quantity in claim.quantities]
    ('integers in [0, 60]', ['slack', 'slack_as_printed'])
    """
    return _related(actual, claimed, Sign.AT_MOST, **rest)


def at_least(actual: Side, claimed: Side, **rest: Any) -> Relation:
    """The relation: the actual value is at least the claimed value.

    Parameters
    ----------
    actual, claimed : expression, Quantity or callable
        Either side, as an expression in parameters or a function of the point.
    **rest
        Other fields of :class:`Relation`: `balls`, `bounded`.
    """
    return _related(actual, claimed, Sign.AT_LEAST, **rest)


def equal(actual: Side, claimed: Side, **rest: Any) -> Relation:
    """The relation: the actual value equals the claimed value.

    Parameters
    ----------
    actual, claimed : expression, Quantity or callable
        Either side, as an expression in parameters or a function of the point.
    **rest
        Other fields of :class:`Relation`: `balls`, `bounded`.
    """
    return _related(actual, claimed, Sign.EQUAL, **rest)


def relation(given: Any) -> Relation:
    """A relation from a :class:`Relation`, or from a SymPy inequality whose left side is the actual value.

    Raises
    ------
    RelationError
        When it is neither of them, or a strict inequality: a trial or a proof does not exclude equality of the two
        sides.
    """
    if isinstance(given, Relation):
        return given
    constructors = {"<=": at_most, ">=": at_least, "==": equal}
    if isinstance(given, sp.core.relational.Relational):
        if given.rel_op in constructors:
            return constructors[given.rel_op](given.lhs, given.rhs)
        raise RelationError(
            f"relation = {given}: must be <=, >= or ==; a strict inequality cannot be tried or proved here"
        )
    if isinstance(given, bool | sp.logic.boolalg.BooleanAtom):
        raise RelationError(
            f"relation = {given}: SymPy has decided it; write at_most(...), at_least(...) or equal(...)"
        )
    raise RelationError(
        f"relation = {given!r}: must be at_most(...), at_least(...), equal(...) or an inequality of SymPy"
    )


def both(function: Callable[..., tuple[float, float]]) -> tuple[Side, Side]:
    """Two quantities that one function returns as a pair; the function is evaluated once for each point.

    Examples
    --------
    >>> equal(*both(lambda x: (x + x, 2 * x))).values({"x": 1.5})
    (3.0, 3.0)
    """

    @lru_cache(maxsize=1)
    def at(point: tuple[tuple[str, Value], ...]) -> tuple[float, float]:
        return function(**dict(point))

    def first(**point: Value) -> float:
        return at(tuple(point.items()))[0]

    def second(**point: Value) -> float:
        return at(tuple(point.items()))[1]

    return first, second


def _related(actual: Side, claimed: Side, sign: Sign, **rest: Any) -> Relation:
    quantities = tuple(side for side in (actual, claimed) if isinstance(side, Quantity))
    return Relation(_side(actual), _side(claimed), sign, quantities=quantities, **rest)


def _side(side: Any) -> Side:
    if isinstance(side, Quantity):
        return side.expression
    if callable(side) and not isinstance(side, sp.Basic):
        return side
    if isinstance(side, sp.Expr | Integral | float | Fraction | Decimal):
        return sp.sympify(side)
    raise ParameterError("side", side, "a number, an expression of SymPy, a Quantity or a function of the parameters")


def at_point(side: sp.Expr, point: Mapping[str, Any]) -> sp.Expr:
    """An expression with the exact coordinates of a point substituted for its parameters.

    Raises
    ------
    ArithmeticError
        When SymPy finds that the expression has no value at the point.
    """
    values = {s: sp.Rational(decimal(point[s.name])) for s in side.free_symbols if s.name in point}
    substituted = side.xreplace(values).doit()
    if substituted.has(sp.nan, sp.zoo):
        raise ArithmeticError(f"{side} has no value")
    return substituted


def value(side: Side, point: Point) -> float:
    """A quantity at a point, to double precision; it may be infinite.

    Raises
    ------
    ArithmeticError
        When the quantity has no value at the point.
    """
    if not isinstance(side, sp.Expr):
        return float(side(**point))
    at = {name: decimal(value) for name, value in point.items()}
    enclosure = refine(lambda: enclosed(side, at), most=_SUBSTITUTION_BITS)
    if not _accurate(enclosure):
        exact = at_point(side, point)
        enclosure = refine(lambda: enclosed(exact, {}))
    if not enclosure.is_finite():
        if enclosure.is_exact() and not enclosure.is_nan():
            return math.copysign(math.inf, 1 if enclosure > 0 else -1)
        raise ArithmeticError(f"{side} has no value")
    return float(enclosure.mid())


def _in_ball(value: float, ball: Ball, floor: float) -> bool:
    middle = float(ball.mid())
    return abs(value - middle) <= float(ball.rad()) + _AGREEMENT_TOLERANCE * abs(middle) + floor


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf
