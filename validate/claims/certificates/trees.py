"""Expressions as JSON: rationals "p/q", names of parameters, and nodes {"op": ..., "args": [...]} (docs/certificates.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from airtight.validate.claims.proving.balls import UnsupportedExpression

Tree = Any  # str, or a dict of op and args

_NAMES: dict[Any, str] = {getattr(sp, name): name for name in ("exp", "log", "erfc", "atan", "floor", "binomial")} | {
    sp.loggamma: "lgamma",
    sp.Abs: "abs",
    sp.Max: "max",
    sp.Min: "min",
    sp.Add: "+",
    sp.And: "and",
    sp.Or: "or",
    sp.Not: "not",
}


def node(op: str, *args: Tree) -> Tree:
    """A node of a tree."""
    return {"op": op, "args": list(args)}


def tree(expression: Any) -> Tree:
    """An expression or condition of SymPy as JSON.

    Raises
    ------
    UnsupportedExpression
        When it holds a function that the certificates do not have.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> tree(sp.exp(x) / 2)
    {'op': '/', 'args': [{'op': 'exp', 'args': ['x']}, '2']}
    """
    if isinstance(expression, sp.Symbol):
        return expression.name
    if isinstance(expression, sp.Rational):
        return str(expression)
    if isinstance(expression, sp.Float):
        return str(sp.Rational(expression))
    if (written := _WRITTEN.get(expression.func)) is not None:
        return written(expression)
    if isinstance(expression, sp.core.relational.Relational):
        return node(expression.rel_op, tree(expression.lhs), tree(expression.rhs))
    if (constant := _CONSTANTS.get(expression)) is not None:
        return constant
    name = _NAMES.get(expression.func)
    if name is None:
        raise UnsupportedExpression(f"{expression.func.__name__} is not in the certificates")
    return node(name, *(tree(arg) for arg in expression.args))


def _product(expression: sp.Mul) -> Tree:
    top, bottom = _halves(expression)
    above = [tree(factor) for factor in top]
    product = above[0] if len(above) == 1 else (node("*", *above) if above else "1")
    if not bottom:
        return product
    below = [tree(factor) for factor in bottom]
    return node("/", product, below[0] if len(below) == 1 else node("*", *below))


def _halves(expression: sp.Mul) -> tuple[list[Any], list[Any]]:
    """The factors above and below the line."""
    above: list[Any] = []
    below: list[Any] = []
    for factor in expression.args:
        if isinstance(factor, sp.Rational):
            above += [sp.Integer(factor.p)] if factor.p != 1 else []
            below += [sp.Integer(factor.q)] if factor.q != 1 else []
        elif isinstance(factor, sp.Pow) and factor.exp.is_Rational and factor.exp < 0:
            below.append(factor.base**-factor.exp)
        else:
            above.append(factor)
    return above, below


def _power(expression: sp.Pow) -> Tree:
    base, exponent = expression.base, expression.exp
    if exponent == sp.Rational(1, 2):
        return node("sqrt", tree(base))
    if exponent.is_Rational and exponent < 0:
        return node("/", "1", tree(base**-exponent))
    return node("pow", tree(base), tree(exponent))


def _piecewise(expression: sp.Piecewise) -> Tree:
    return node("piecewise", *([tree(value), tree(condition)] for value, condition in expression.args))


def _sum(expression: sp.Sum) -> Tree:
    if len(expression.limits) != 1:
        raise UnsupportedExpression("a sum over several indices is not in the certificates")
    index, first, last = expression.limits[0]
    return node("sum", tree(expression.function), index.name, tree(first), tree(last))


def _both_ways(expression: sp.Expr) -> tuple[Tree, Tree]:
    """exp of the argument and of its negative."""
    inner = tree(expression.args[0])
    return node("exp", inner), node("exp", node("-", inner))


def _tanh(argument: sp.Expr) -> Tree:
    """With the argument once, so that an interval loses nothing."""
    return node("-", "1", node("/", "2", node("+", "1", node("exp", node("*", "2", tree(argument))))))


_WRITTEN: dict[Any, Callable[[Any], Tree]] = {
    sp.Mul: _product,
    sp.Pow: _power,
    sp.Piecewise: _piecewise,
    sp.Sum: _sum,
    sp.erf: lambda e: node("-", "1", node("erfc", tree(e.args[0]))),
    sp.ceiling: lambda e: node("-", node("floor", node("-", tree(e.args[0])))),
    sp.sinh: lambda e: node("/", node("-", *_both_ways(e)), "2"),
    sp.cosh: lambda e: node("/", node("+", *_both_ways(e)), "2"),
    sp.asin: lambda e: tree(sp.atan(e.args[0] / sp.sqrt(1 - e.args[0] ** 2))),
    sp.tanh: lambda e: _tanh(e.args[0]),
    sp.coth: lambda e: node("/", "1", _tanh(e.args[0])),
    sp.factorial: lambda e: node("exp", node("lgamma", node("+", tree(e.args[0]), "1"))),
    sp.gamma: lambda e: node("exp", node("lgamma", tree(e.args[0]))),
}
_CONSTANTS: dict[Any, Tree] = {
    sp.pi: node("pi"),
    sp.E: node("exp", "1"),
    sp.true: node("true"),
    sp.false: node("false"),
}
