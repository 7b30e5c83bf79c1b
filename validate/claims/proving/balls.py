"""An expression as a function on balls: the same tree, every operation with its error bound (python-flint)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from typing import Any

import flint
import sympy as sp

from airtight.analytics.checks import AirtightError
from airtight.analytics.forms.balls.ball import Ball, ball

Values = Mapping[str, Ball]
Compiled = Callable[[Values], Ball]

_UNKNOWN = flint.arb("nan")
_TERMS = 20_000  # of a sum


class Named(dict[str, Any]):
    """Balls by name, and what has been computed of them: what stands at several places of an expression is computed once."""

    def __init__(self, values: Values) -> None:
        super().__init__(values)
        self.known: dict[Any, Any] = {}


def once(compute: Callable[[Values], Any]) -> Callable[[Values], Any]:
    """The function, computed once on balls that are :class:`Named`."""

    def looked_up(values: Values) -> Any:
        if not isinstance(values, Named):
            return compute(values)
        found = values.known.get(compute)
        if found is None:
            found = values.known[compute] = compute(values)
        return found

    return looked_up


class UnsupportedExpression(AirtightError, ValueError):
    """An expression holds a function that has no ball arithmetic here."""


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
    """n over k; of integers 0 where k is below 0, or above an n that is not, as SymPy has it: there gamma has poles."""
    below, whole = k.unique_fmpz() if k.is_exact() else None, n.unique_fmpz() if n.is_exact() else None
    if below is not None and whole is not None:
        if below < 0 or 0 <= whole < below:
            return flint.arb(0)
        if whole < 0:
            mirrored = _binomial(flint.arb(below - whole - 1), k)
            return -mirrored if int(below) % 2 else mirrored
    return (n + 1).gamma() / ((k + 1).gamma() * (n - k + 1).gamma())


@lru_cache(maxsize=4096)
def compiled(expression: sp.Expr) -> Compiled:
    """A function of named balls that encloses the expression at the working precision.

    It is straight Python code, made once: a line for each operation, and what stands at several places stands on one line.

    Raises
    ------
    UnsupportedExpression
        When it holds a function without ball arithmetic.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> float(compiled(sp.exp(x) - 1)({"x": ball(1)}).mid())
    1.718281828459045
    """
    return once(_Program(expression).function())


class _Program:
    """The lines that compute an expression, and the objects that they name."""

    def __init__(self, expression: sp.Expr) -> None:
        self.lines: list[str] = []
        self.objects: dict[str, Any] = {"arb": flint.arb}
        self.places: dict[sp.Expr, str] = {}
        self.result = self.place(expression)

    def function(self) -> Compiled:
        """The code as a function of named balls."""
        body = "\n    ".join([*self.lines, f"return {self.result}"])
        exec(f"def computed(values):\n    {body}", self.objects)
        made: Compiled = self.objects["computed"]
        return made

    def place(self, expression: sp.Expr) -> str:
        """The variable that holds an expression; its line is written when it is first met."""
        if expression not in self.places:
            line = self.line(expression)
            self.places[expression] = f"v{len(self.lines)}"
            self.lines.append(f"{self.places[expression]} = {line}")
        return self.places[expression]

    def named(self, thing: Any) -> str:
        """A name for an object that a line refers to."""
        name = f"o{len(self.objects)}"
        self.objects[name] = thing
        return name

    def line(self, expression: sp.Expr) -> str:
        """The right side of the line of an expression, whose operands have theirs."""
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
            return f"{self.named(_repeated(expression))}(values)"
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
    """A power of an integer, which python-flint does not know of a ball around 0."""
    if not isinstance(base, flint.arb) or n < 1 or not base.contains(0) or base.is_exact():
        return base**n
    most = abs(base).upper() ** n
    return most.union(-most if n % 2 else flint.arb(0))


def _piecewise(expression: sp.Piecewise) -> Compiled:
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


def _repeated(expression: sp.Sum | sp.Product) -> Compiled:
    if len(expression.limits) != 1:
        raise UnsupportedExpression(f"{expression}: one index at a time")
    index, first, last = expression.limits[0]
    term, start, stop = compiled(expression.function), compiled(first), compiled(last)
    product = isinstance(expression, sp.Product)

    def total(values: Values) -> Ball:
        low, high = start(values).unique_fmpz(), stop(values).unique_fmpz()
        if low is None or high is None or int(high) - int(low) > _TERMS:
            return _UNKNOWN
        found = flint.arb(1 if product else 0)
        for i in range(int(low), int(high) + 1):
            one = term({**values, index.name: flint.arb(i)})
            found = found * one if product else found + one
        return found

    return total


def decided(condition: Any) -> Callable[[Values], bool | None]:
    """A condition on balls: true, false, or None while the balls do not say."""
    if condition in (sp.true, sp.false, True, False):
        known = bool(condition)
        return lambda values: known
    if isinstance(condition, sp.And | sp.Or):
        parts = [decided(part) for part in condition.args]
        absorbing = isinstance(condition, sp.Or)

        def several(values: Values) -> bool | None:
            found = [part(values) for part in parts]
            if absorbing in found:
                return absorbing
            return None if None in found else not absorbing

        return several
    if isinstance(condition, sp.Not):
        inner = decided(condition.args[0])
        return lambda values: None if (known := inner(values)) is None else not known
    if not isinstance(condition, sp.core.relational.Relational):
        raise UnsupportedExpression(f"{condition}: not a condition")
    left, right = compiled(condition.lhs), compiled(condition.rhs)
    true, false = _COMPARISONS[condition.rel_op]

    def compared(values: Values) -> bool | None:
        a, b = left(values), right(values)
        if not (a.is_finite() and b.is_finite()) and not (a.is_exact() and b.is_exact()):
            return None
        return True if true(a, b) else (False if false(a, b) else None)

    return compared


def enclosed(expression: sp.Expr, point: Mapping[str, Any]) -> Ball:
    """The expression at a point, at the working precision; every coordinate is the number that it exactly is."""
    return compiled(expression)(Named({name: ball(value) for name, value in point.items()}))
