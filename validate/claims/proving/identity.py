"""Whether two expressions are one: a bounded list of rewritings of SymPy, each tried once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import flint
import sympy as sp

from airtight.analytics.forms.balls.compiled import UnsupportedExpression, enclosed

_OPERATIONS = 400  # of an expression that is rewritten
_QUICK = 100  # of one that is brought to a product in passing
_LONG = 1000  # a number in it


@lru_cache(maxsize=1 << 12)
def identical(one: sp.Expr, other: sp.Expr) -> bool:
    """Whether SymPy brings the difference to zero; expressions with floats, which round, must be the same.

    Examples
    --------
    >>> x = sp.Symbol("x", positive=True)
    >>> identical(sp.tanh(x), (sp.exp(2 * x) - 1) / (sp.exp(2 * x) + 1)), identical(x, x**2)
    (True, False)
    """
    difference = one - other
    if difference.has(sp.Float) or one.has(sp.Float) or other.has(sp.Float):  # which rounds exact numbers away
        return bool(one == other)
    if any(not (n.is_nonnegative and n.is_integer and k.is_integer) for n, k in _binomials(one, other)):  # see there
        return bool(one == other)
    if difference == 0 or (sp.count_ops(difference) <= _OPERATIONS and sp.expand(difference) == 0):
        return True
    return (
        not _apart(difference)
        and _light(difference)
        and any(_brings_to_zero(rewrite, difference) for rewrite in _REWRITINGS)
    )


def _binomials(*sides: sp.Expr) -> set[tuple[sp.Expr, sp.Expr]]:
    """The arguments of all binomial coefficients: below 0 SymPy takes one that is 0 for its mirror image."""
    return {coefficient.args for side in sides for coefficient in side.atoms(sp.binomial)}


def factors(difference: sp.Expr) -> list[sp.Expr] | None:
    """The factors of an expression that enter with an odd power; None where it has only one factor."""
    if not _light(difference) or difference.has(sp.Piecewise, sp.Sum, sp.Max, sp.Min, sp.floor):
        return None
    try:
        split = sp.factor(sp.expand(difference.rewrite(sp.exp), power_exp=False))
    except (sp.PolynomialError, NotImplementedError):
        return None
    if not isinstance(split, sp.Mul | sp.Pow):
        return None
    odd = []
    for factor in sp.Mul.make_args(split):
        base, exponent = factor.as_base_exp()
        if exponent.is_Integer and exponent % 2 == 0:
            continue
        odd.append(base if exponent.is_Integer else factor)
    return odd


def tidy(expression: sp.Expr) -> sp.Expr:
    """A product where SymPy finds one quickly: the sign of a product is easier to enclose than that of a sum."""
    return (
        sp.factor(expression)
        if sp.count_ops(expression) <= _QUICK
        and _light(expression)
        and not expression.has(sp.Piecewise, sp.Max, sp.Min)
        else expression
    )


def large(expression: sp.Expr) -> bool:
    """Whether an expression is too large to be worth a proof of its own."""
    return bool(sp.count_ops(expression) > _OPERATIONS)


def _apart(difference: sp.Expr) -> bool:
    """Whether the difference is surely not 0 at one point inside the ranges: then no rewriting brings it to 0."""
    point = {s.name: _inside(s, Fraction(k + 2, k + 5)) for k, s in enumerate(sorted(difference.free_symbols, key=str))}
    try:
        with flint.ctx.workprec(200):
            return bool(enclosed(difference, point) != 0)
    except UnsupportedExpression:
        return False


def _inside(symbol: sp.Symbol, share: Fraction) -> Fraction:
    allowed = getattr(symbol, "range", None)
    return share if allowed is None else Fraction(allowed.at(float(share)))


def _light(expression: sp.Expr) -> bool:
    """Whether an expression is small enough to be rewritten; long numbers inside exp make polynomials of great degree."""
    return sp.count_ops(expression) <= _OPERATIONS and all(
        number.p**2 <= _LONG**2 and number.q <= _LONG for number in expression.atoms(sp.Rational)
    )


def _brings_to_zero(rewrite: Callable[[sp.Expr], sp.Expr], difference: sp.Expr) -> bool:
    try:
        return bool(rewrite(difference) == 0)
    except (sp.PolynomialError, NotImplementedError):  # of functions that SymPy's polynomials do not take
        return False


def _over_one_line(difference: sp.Expr) -> sp.Expr:
    return sp.expand(sp.numer(sp.together(difference.rewrite(sp.exp))))


def _by_erf(difference: sp.Expr) -> sp.Expr:
    return sp.expand(difference.rewrite(sp.erf))


_REWRITINGS: tuple[Callable[[sp.Expr], sp.Expr], ...] = (_over_one_line, _by_erf, sp.ratsimp, sp.simplify)
