"""An expression on a box as a ball, with a ball for each partial derivative: automatic differentiation in ball arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from typing import Any

import flint
import sympy as sp

from airtight.analytics.forms.balls.ball import Ball
from airtight.validate.claims.proving.balls import UnsupportedExpression, Values, compiled, decided, once
from airtight.validate.claims.proving.ends import Ends

Slopes = Mapping[str, Ball]
Sloped = Callable[[Values], tuple[Ball, Slopes]]

_UNKNOWN = flint.arb("nan")
_ZERO, _ONE = flint.arb(0), flint.arb(1)
_BASE = sp.Dummy("x", real=True)


def _bell(x: Ball) -> Ball:
    """The derivative of erf."""
    return 2 * (-(x**2)).exp() / flint.arb.pi().sqrt()


_DERIVATIVES: dict[Any, Callable[[Ball, Ball], Ball]] = {
    sp.exp: lambda x, y: y,
    sp.log: lambda x, y: 1 / x,
    sp.erf: lambda x, y: _bell(x),
    sp.erfc: lambda x, y: -_bell(x),
    sp.sin: lambda x, y: x.cos(),
    sp.cos: lambda x, y: -x.sin(),
    sp.tan: lambda x, y: 1 + y**2,
    sp.asin: lambda x, y: 1 / (1 - x**2).sqrt(),
    sp.acos: lambda x, y: -1 / (1 - x**2).sqrt(),
    sp.atan: lambda x, y: 1 / (1 + x**2),
    sp.sinh: lambda x, y: x.cosh(),
    sp.cosh: lambda x, y: x.sinh(),
    sp.tanh: lambda x, y: 1 / x.cosh() ** 2,
    sp.asinh: lambda x, y: 1 / (1 + x**2).sqrt(),
    sp.atanh: lambda x, y: 1 / (1 - x**2),
    sp.Abs: lambda x, y: x.sgn(),
    sp.sign: lambda x, y: _ZERO if x > 0 or x < 0 else _UNKNOWN,
}


@lru_cache(maxsize=4096)
def sloped(expression: sp.Expr) -> Sloped:
    """Value and partial derivatives of an expression on a box; a parameter that is absent has derivative 0.

    Where Abs, Max and Min have a kink the ball holds the derivatives of both sides: the mean value theorem holds with it.

    Raises
    ------
    UnsupportedExpression
        When it holds a function without ball arithmetic.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> value, slopes = sloped(x * sp.exp(x))({"x": flint.arb(0)})
    >>> float(value), float(slopes["x"])
    (0.0, 1.0)
    """
    if isinstance(expression, sp.Symbol):
        name = expression.name
        return lambda values: (values[name], {name: _ONE})
    if not expression.free_symbols:
        constant = compiled(expression)
        return lambda values: (constant(values), {})
    for kind, made in _KINDS.items():
        if isinstance(expression, kind):
            return once(made(expression))
    return once(_function(expression))


def _sum(expression: sp.Add) -> Sloped:
    parts = [sloped(part) for part in expression.args]

    def total(values: Values) -> tuple[Ball, Slopes]:
        found = [part(values) for part in parts]
        return reduce(lambda a, b: a + b, (v for v, _ in found)), _combined([(d, None) for _, d in found])

    return total


def _product(expression: sp.Mul) -> Sloped:
    parts = [sloped(part) for part in expression.args]

    def total(values: Values) -> tuple[Ball, Slopes]:
        value, slopes = parts[0](values)
        for part in parts[1:]:
            other, theirs = part(values)
            value, slopes = value * other, _combined([(slopes, other), (theirs, value)])
        return value, slopes

    return total


def _power(expression: sp.Pow) -> Sloped:
    exponent = expression.exp
    base, inner = sloped(expression.base), sloped(exponent)
    fixed = not exponent.free_symbols
    value, lower = (compiled(sp.Pow(_BASE, n, evaluate=False)) for n in (exponent, exponent - 1))
    factor = compiled(exponent)

    def raised(values: Values) -> tuple[Ball, Slopes]:
        below, slopes = base(values)
        if fixed:
            at = {_BASE.name: below}
            return value(at), _combined([(slopes, factor(at) * lower(at))])
        above, theirs = inner(values)
        found = below**above
        outer: list[tuple[Slopes, Ball | None]] = [(theirs, found * (below.log() if below > 0 else _UNKNOWN))]
        if not slopes:
            return found, _combined(outer)
        whole = above.unique_fmpz() if above.is_exact() else None
        steep = found * above / below if whole is None else above * below ** (int(whole) - 1)
        return found, _combined([*outer, (slopes, steep)])

    return raised


def _piecewise(expression: sp.Piecewise) -> Sloped:
    branches = [(sloped(value), decided(condition)) for value, condition in expression.args]

    def chosen(values: Values) -> tuple[Ball, Slopes]:
        for value, condition in branches:
            known = condition(values)
            if known is None:
                break
            if known:
                return value(values)
        return _UNKNOWN, dict.fromkeys(values, _UNKNOWN)

    return chosen


def _extreme(expression: sp.Expr) -> Sloped:
    parts, sign = [sloped(part) for part in expression.args], 1 if isinstance(expression, sp.Max) else -1

    def chosen(values: Values) -> tuple[Ball, Slopes]:
        value, slopes = parts[0](values)
        for part in parts[1:]:
            other, theirs = part(values)
            if sign * (other - value) >= 0:
                value, slopes = other, theirs
            elif not sign * (other - value) <= 0:
                one, two = (other, value) if isinstance(value, flint.arb) else (value, other)
                value = one.max(two) if sign > 0 else one.min(two)
                names = {**slopes, **theirs}
                slopes = {n: _hull(slopes.get(n), theirs.get(n)) for n in names}
        return value, slopes

    return chosen


def _hull(one: Any, other: Any) -> Any:
    return Ends.of(_ZERO if one is None else one).union(_ZERO if other is None else other)


def _constant_here(expression: sp.Expr) -> Sloped:
    """A function that jumps: without slope where it is one number."""
    value = compiled(expression)

    def fixed(values: Values) -> tuple[Ball, Slopes]:
        found = value(values)
        return (found, {}) if found.is_exact() else (_UNKNOWN, dict.fromkeys(values, _UNKNOWN))

    return fixed


def _function(expression: sp.Expr) -> Sloped:
    derivative = _DERIVATIVES.get(expression.func)
    if derivative is None:
        raise UnsupportedExpression(f"{expression.func.__name__} in {expression}: no derivative for it")
    value, inner = compiled(expression.func(_BASE)), sloped(expression.args[0])

    def found(values: Values) -> tuple[Ball, Slopes]:
        x, slopes = inner(values)
        y = value({_BASE.name: x})
        return y, _combined([(slopes, derivative(x, y))])

    return found


def _combined(weighted: list[tuple[Slopes, Ball | None]]) -> dict[str, Ball]:
    """The sum of gradients, each times a ball."""
    total: dict[str, Ball] = {}
    for slopes, weight in weighted:
        for name, slope in slopes.items():
            term = slope if weight is None else slope * weight
            total[name] = total[name] + term if name in total else term
    return total


_KINDS: dict[Any, Callable[[Any], Sloped]] = {
    sp.Add: _sum,
    sp.Mul: _product,
    sp.Pow: _power,
    sp.Piecewise: _piecewise,
    sp.Max: _extreme,
    sp.Min: _extreme,
    sp.floor: _constant_here,
    sp.ceiling: _constant_here,
    sp.Sum: _constant_here,
    sp.binomial: _constant_here,
}
