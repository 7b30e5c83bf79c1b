"""SymPy expressions in ball arithmetic (python-flint), and an interval type for wide boxes.

:func:`compiled` turns an expression into a function on balls: it does the same operations, each with its error bound.

:class:`Ends` has the operations of a ball and stores the lower and the upper bound of an interval. A ball stores
midpoint and radius and loses too much on wide intervals: [0, 2] * [0, 2] becomes 1 +- 3, which contains negative
numbers, while the bounds give [0, 4]. Each bound is an exact ball of python-flint.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any, Self

import flint
import sympy as sp

from airtight.analytics.checks import AirtightError
from airtight.analytics.forms.balls.ball import Ball, ball

Values = Mapping[str, Ball]
Compiled = Callable[[Values], Ball]

_UNKNOWN = flint.arb("nan")
_MOST_TERMS = 20_000  # of a sum or product; one with more terms is unknown, which bounds the time


class Named(dict[str, Any]):
    """Balls by name, with a cache of the results on them, so that a repeated subexpression is computed once."""

    def __init__(self, values: Values) -> None:
        super().__init__(values)
        self.known: dict[Any, Any] = {}


def once(compute: Callable[[Values], Any]) -> Callable[[Values], Any]:
    """A function whose result is cached if its argument is a :class:`Named`."""

    def looked_up(values: Values) -> Any:
        if not isinstance(values, Named):
            return compute(values)
        result = values.known.get(compute)
        if result is None:
            result = values.known[compute] = compute(values)
        return result

    return looked_up


class UnsupportedExpression(AirtightError, ValueError):
    """An expression contains a function for which there is no ball arithmetic here."""


_FUNCTIONS: dict[Any, Callable[..., Ball]] = {
    sp.exp: lambda x: x.exp(),
    sp.log: lambda x: x.log() if x > 0 else _UNKNOWN,
    sp.sin: lambda x: x.sin(),
    sp.cos: lambda x: x.cos(),
    sp.tan: lambda x: x.tan(),
    sp.asin: lambda x: x.asin(),
    sp.acos: lambda x: x.acos(),
    sp.atan: lambda x: x.atan(),
    sp.sinh: lambda x: x.sinh(),
    sp.cosh: lambda x: x.cosh(),
    sp.tanh: lambda x: x.tanh(),
    sp.coth: lambda x: x.coth(),
    sp.asinh: lambda x: x.asinh(),
    sp.atanh: lambda x: x.atanh(),
    sp.erf: lambda x: x.erf(),
    sp.erfc: lambda x: x.erfc(),
    sp.gamma: lambda x: x.gamma(),
    sp.loggamma: lambda x: x.lgamma(),
    sp.digamma: lambda x: x.digamma(),
    sp.factorial: lambda n: (n + 1).gamma(),
    sp.LambertW: lambda x: x.lambertw(),
    sp.besseli: lambda order, x: x.bessel_i(order),
    sp.zeta: lambda x: x.zeta(),
    sp.Abs: abs,
    sp.sign: lambda x: x.sgn() if x.is_finite() else _UNKNOWN,
    sp.floor: lambda x: x.floor(),
    sp.ceiling: lambda x: x.ceil(),
    sp.binomial: lambda n, k: _binomial(n, k),
    sp.Max: lambda *xs: reduce(lambda a, b: b.max(a) if isinstance(a, flint.arb) else a.max(b), xs),
    sp.Min: lambda *xs: reduce(lambda a, b: b.min(a) if isinstance(a, flint.arb) else a.min(b), xs),
}
_COMPARISONS = {
    "<": (operator.lt, operator.ge),
    "<=": (operator.le, operator.gt),
    ">": (operator.gt, operator.le),
    ">=": (operator.ge, operator.lt),
    "==": (operator.eq, operator.ne),
    "!=": (operator.ne, operator.eq),
}
_CONSTANTS: dict[Any, Callable[[], Ball]] = {
    sp.pi: flint.arb.pi,
    sp.E: lambda: flint.arb(1).exp(),
    sp.EulerGamma: flint.arb.const_euler,
    sp.oo: flint.arb.pos_inf,
    -sp.oo: flint.arb.neg_inf,
    sp.true: lambda: flint.arb(1),
}


def _binomial(n: Ball, k: Ball) -> Ball:
    """Binomial coefficient of n and k by gamma functions, and by the conventions of SymPy for integers, where gamma has
    poles.

    For integers it is 0 if k < 0 or if 0 <= n < k; for n < 0 it is (-1)^k times the coefficient of k - n - 1 and k.
    """
    integer_k, integer_n = k.unique_fmpz() if k.is_exact() else None, n.unique_fmpz() if n.is_exact() else None
    if integer_k is not None and integer_n is not None:
        if integer_k < 0 or 0 <= integer_n < integer_k:
            return flint.arb(0)
        if integer_n < 0:
            mirrored = _binomial(flint.arb(integer_k - integer_n - 1), k)
            return -mirrored if int(integer_k) % 2 else mirrored
    return (n + 1).gamma() / ((k + 1).gamma() * (n - k + 1).gamma())


@lru_cache(maxsize=4096)
def compiled(expression: sp.Expr) -> Compiled:
    """A function of named balls whose result encloses the expression, at the working precision.

    The expression is compiled once to straight-line Python code with one line for each distinct subexpression.

    Raises
    ------
    UnsupportedExpression
        When the expression contains a function without ball arithmetic.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> float(compiled(sp.exp(x) - 1)({"x": ball(1)}).mid())
    1.718281828459045
    """
    return once(_Program(expression).function())


class _Program:
    """Lines of Python that compute an expression, and the objects to which these lines refer by name."""

    def __init__(self, expression: sp.Expr) -> None:
        self.lines: list[str] = []
        self.objects: dict[str, Any] = {"arb": flint.arb}
        self.places: dict[sp.Expr, str] = {}
        self.result = self.place(expression)

    def function(self) -> Compiled:
        """The compiled lines, as a function of named balls."""
        body = "\n    ".join([*self.lines, f"return {self.result}"])
        exec(f"def computed(values):\n    {body}", self.objects)
        computed: Compiled = self.objects["computed"]
        return computed

    def place(self, expression: sp.Expr) -> str:
        """Name of the variable with the value of an expression; the first call for an expression adds its line."""
        if expression not in self.places:
            line = self.line(expression)
            self.places[expression] = f"v{len(self.lines)}"
            self.lines.append(f"{self.places[expression]} = {line}")
        return self.places[expression]

    def named(self, thing: Any) -> str:
        """A new name under which a line can refer to an object."""
        name = f"o{len(self.objects)}"
        self.objects[name] = thing
        return name

    def line(self, expression: sp.Expr) -> str:
        """The right side of the assignment for an expression; the lines of its operands are added before it."""
        if expression in _CONSTANTS:
            return f"{self.named(_CONSTANTS[expression])}()"
        if isinstance(expression, sp.Symbol):
            return f"values[{self.named(expression.name)}]"
        if isinstance(expression, sp.Rational | sp.Float):
            exact = sp.Rational(expression)
            return f"arb({self.named(flint.fmpq(int(exact.p), int(exact.q)))})"
        if isinstance(expression, sp.Pow):
            return self.power(expression)
        if isinstance(expression, sp.Piecewise):
            return f"{self.named(_piecewise(expression))}(values)"
        if isinstance(expression, sp.Sum | sp.Product):
            return f"{self.named(_sum_or_product(expression))}(values)"
        parts = [self.place(part) for part in expression.args]
        if isinstance(expression, sp.Add):
            return " + ".join(parts)
        if isinstance(expression, sp.Mul):
            return " * ".join(parts)
        function = _FUNCTIONS.get(expression.func)
        if function is None:
            raise UnsupportedExpression(f"{expression.func.__name__} in {expression}: no ball arithmetic for it")
        return f"{self.named(function)}({', '.join(parts)})"

    def power(self, expression: sp.Pow) -> str:
        """The right side of the assignment for a power; integer powers and square roots allow a base of 0."""
        base, exponent = self.place(expression.base), expression.exp
        if exponent.is_Integer:
            n = int(exponent)
            power = f"{self.named(_power)}({base}, {abs(n)})"
            return power if n >= 0 else f"1 / {power}"
        if exponent == sp.Rational(1, 2):
            return f"{base}.sqrt()"
        if exponent == sp.Rational(-1, 2):
            return f"1 / {base}.sqrt()"
        return f"{base} ** {self.place(exponent)}"


def _power(base: Any, n: int) -> Any:
    """base^n for an integer n >= 0, also for a ball around 0, for which python-flint returns nan."""
    if not isinstance(base, flint.arb) or n < 1 or not base.contains(0) or base.is_exact():
        return base**n
    magnitude = abs(base).upper() ** n
    return magnitude.union(-magnitude if n % 2 else flint.arb(0))


def _piecewise(expression: sp.Piecewise) -> Compiled:
    """The value of the first branch whose condition is proved; unknown if an earlier condition is not decided."""
    branches = [(compiled(value), decided(condition)) for value, condition in expression.args]

    def chosen(values: Values) -> Ball:
        for value, condition in branches:
            known = condition(values)
            if known is None:
                return _UNKNOWN
            if known:
                return value(values)
        return _UNKNOWN

    return chosen


def _sum_or_product(expression: sp.Sum | sp.Product) -> Compiled:
    """A finite sum or product, term by term; unknown if the limits are no integers or there are too many terms."""
    if len(expression.limits) != 1:
        raise UnsupportedExpression(f"{expression}: one index at a time")
    index, first, last = expression.limits[0]
    term, start, stop = compiled(expression.function), compiled(first), compiled(last)
    product = isinstance(expression, sp.Product)

    def total(values: Values) -> Ball:
        low, high = start(values).unique_fmpz(), stop(values).unique_fmpz()
        if low is None or high is None or int(high) - int(low) > _MOST_TERMS:
            return _UNKNOWN
        result = flint.arb(1 if product else 0)
        for i in range(int(low), int(high) + 1):
            value = term({**values, index.name: flint.arb(i)})
            result = result * value if product else result + value
        return result

    return total


def decided(condition: Any) -> Callable[[Values], bool | None]:
    """A condition as a function on balls: True or False if the balls prove it, None if they do not decide."""
    if condition in (sp.true, sp.false, True, False):
        known = bool(condition)
        return lambda values: known
    if isinstance(condition, sp.And | sp.Or):
        parts = [decided(part) for part in condition.args]
        absorbing = isinstance(condition, sp.Or)

        def connective(values: Values) -> bool | None:
            results = [part(values) for part in parts]
            if absorbing in results:
                return absorbing
            return None if None in results else not absorbing

        return connective
    if isinstance(condition, sp.Not):
        inner = decided(condition.args[0])
        return lambda values: None if (known := inner(values)) is None else not known
    if not isinstance(condition, sp.core.relational.Relational):
        raise UnsupportedExpression(f"{condition}: not a condition")
    left, right = compiled(condition.lhs), compiled(condition.rhs)
    true, false = _COMPARISONS[condition.rel_op]

    def compared(values: Values) -> bool | None:
        a, b = left(values), right(values)
        # infinite values are compared only where both are exact: an unbounded ball proves nothing
        if not (a.is_finite() and b.is_finite()) and not (a.is_exact() and b.is_exact()):
            return None
        return True if true(a, b) else (False if false(a, b) else None)

    return compared


def enclosed(expression: sp.Expr, point: Mapping[str, Any]) -> Ball:
    """The ball of an expression at a point with exact coordinates, at the working precision."""
    return compiled(expression)(Named({name: ball(value) for name, value in point.items()}))


# functions that are monotone wherever they are defined
_RISING = ("exp", "log", "sqrt", "erf", "sinh", "tanh", "asinh", "atanh", "atan", "asin", "floor", "ceil")
_FALLING = ("erfc", "acos")


class Ends:
    """The closed interval between two bounds, with the operations of a ball.

    If an operation is not defined on the whole interval, both bounds of the result are unknown (nan), and no comparison
    with it holds. A bound is infinite only if the interval is exactly this infinite value.

    Examples
    --------
    >>> x = Ends.between(Fraction(0), Fraction(2))
    >>> float((x * x).low), float((x * x).high), x >= 0
    (0.0, 4.0, True)
    """

    __slots__ = ("high", "low")

    def __init__(self, low: Ball, high: Ball) -> None:
        known = (low.is_finite() and high.is_finite()) or bool(low == high)
        self.low, self.high = (low, high) if known else (_UNKNOWN, _UNKNOWN)

    @classmethod
    def between(cls, low: Fraction, high: Fraction) -> Self:
        """The interval between two rational numbers, rounded outward."""
        return cls(ball(low).lower(), ball(high).upper())

    @classmethod
    def of(cls, value: Any) -> Self:
        """A number or a ball as an interval."""
        if isinstance(value, cls):
            return value
        ball_of_value = flint.arb(value)
        return cls(ball_of_value.lower(), ball_of_value.upper())

    def ball(self) -> Ball:
        """A ball that contains the interval."""
        return self.low.union(self.high)

    def __add__(self, other: Any) -> Ends:
        other = Ends.of(other)
        return Ends((self.low + other.low).lower(), (self.high + other.high).upper())

    __radd__ = __add__

    def __neg__(self) -> Ends:
        return Ends(-self.high, -self.low)

    def __sub__(self, other: Any) -> Ends:
        return self + -Ends.of(other)

    def __rsub__(self, other: Any) -> Ends:
        return Ends.of(other) + -self

    def __mul__(self, other: Any) -> Ends:
        other = Ends.of(other)
        a, b, c, d = self.low, self.high, other.low, other.high
        if not (a.is_finite() and b.is_finite() and c.is_finite() and d.is_finite()):
            return Ends(_UNKNOWN, _UNKNOWN)
        if c < 0 and not a < 0:  # swap, so that the first factor has negative numbers if either has
            a, b, c, d = c, d, a, b
        if a >= 0:
            return Ends((a * c).lower(), (b * d).upper())
        if c >= 0:
            return Ends((a * d).lower(), (b * (d if b > 0 else c)).upper())
        if b <= 0:
            return Ends((b * d if d <= 0 else a * d).lower(), (a * c).upper())
        if d <= 0:
            return Ends((b * c).lower(), (a * c).upper())
        return Ends((a * d).lower().min((b * c).lower()), (a * c).upper().max((b * d).upper()))

    __rmul__ = __mul__

    def inverse(self) -> Ends:
        """1 / x; unknown if the interval contains 0."""
        if self.low > 0 or self.high < 0:
            return Ends((1 / self.high).lower(), (1 / self.low).upper())
        return Ends(_UNKNOWN, _UNKNOWN)

    def __truediv__(self, other: Any) -> Ends:
        return self * Ends.of(other).inverse()

    def __rtruediv__(self, other: Any) -> Ends:
        return Ends.of(other) * self.inverse()

    def __pow__(self, exponent: Any) -> Ends:
        if isinstance(exponent, int):
            return self._whole_power(exponent)
        other = Ends.of(exponent)
        if other.low == other.high and other.low.is_integer():
            return self._whole_power(int(other.low.mid().fmpq().p))
        if self.low == 0 and self.high > 0 and other.low > 0:
            return Ends(self.low, (Ends(self.high, self.high) ** other).high)
        return (self.log() * other).exp() if self.low > 0 else Ends(_UNKNOWN, _UNKNOWN)

    def __rpow__(self, base: Any) -> Ends:
        return Ends.of(base) ** self

    def _whole_power(self, n: int) -> Ends:
        """x^n for an integer n: even powers are those of |x|, odd powers are increasing."""
        if n <= 0:
            return self._whole_power(-n).inverse() if n else 1 + 0 * self
        base = self if n % 2 else abs(self)
        return Ends((base.low**n).lower(), (base.high**n).upper())

    def __abs__(self) -> Ends:
        if self.low >= 0:
            return self
        return -self if self.high <= 0 else Ends(flint.arb(0), self.high.max(-self.low))

    def max(self, other: Any) -> Ends:
        other = Ends.of(other)
        return Ends(self.low.max(other.low), self.high.max(other.high))

    def min(self, other: Any) -> Ends:
        return -((-self).max(-Ends.of(other)))

    def union(self, other: Any) -> Ends:
        """The smallest interval that contains both."""
        other = Ends.of(other)
        return Ends(self.low.min(other.low), self.high.max(other.high))

    def sgn(self) -> Ends:
        return self if not self.is_finite() else Ends(self.low.sgn(), self.high.sgn())

    def cosh(self) -> Ends:
        size = abs(self)
        return Ends(size.low.cosh().lower(), size.high.cosh().upper())

    def __getattr__(self, name: str) -> Callable[..., Ends]:
        """A function of balls: if it is monotone, from its values at the bounds, otherwise from a ball."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _RISING:
            return lambda: Ends(getattr(self.low, name)().lower(), getattr(self.high, name)().upper())
        if name in _FALLING:
            return lambda: Ends(getattr(self.high, name)().lower(), getattr(self.low, name)().upper())
        function = getattr(self.ball(), name)
        return lambda *args: Ends.of(function(*(Ends.of(arg).ball() for arg in args)))

    # A comparison is True if it holds for every pair of values of the two intervals

    def __lt__(self, other: Any) -> bool:
        return bool(self.high < Ends.of(other).low)

    def __le__(self, other: Any) -> bool:
        return bool(self.high <= Ends.of(other).low)

    def __gt__(self, other: Any) -> bool:
        return bool(self.low > Ends.of(other).high)

    def __ge__(self, other: Any) -> bool:
        return bool(self.low >= Ends.of(other).high)

    def __eq__(self, other: object) -> bool:
        right = Ends.of(other)
        return bool(self.low == self.high == right.low == right.high)

    def __ne__(self, other: object) -> bool:
        right = Ends.of(other)
        return bool(self.high < right.low or self.low > right.high)

    __hash__ = None  # type: ignore[assignment]

    def is_finite(self) -> bool:
        """Whether both bounds are finite numbers."""
        return bool(self.low.is_finite() and self.high.is_finite())

    def is_exact(self) -> bool:
        """Whether the interval is a single number."""
        return bool(self.low == self.high)

    def unique_fmpz(self) -> Any:
        """The only integer in the interval; None if there are none or several."""
        return self.ball().unique_fmpz()

    def size(self) -> float:
        """The greatest absolute value in the interval."""
        return float(abs(self).high)
