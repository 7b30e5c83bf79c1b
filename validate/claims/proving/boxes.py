"""Branch and bound on the boxes of a domain: two expressions compared in interval arithmetic until every box is settled.

An expression on a box as a ball, with a ball for each partial derivative: automatic differentiation in ball arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from typing import Any

import flint
import sympy as sp

from airtight.analytics.forms.balls.ball import Ball
from airtight.analytics.forms.balls.compiled import Ends, Named, UnsupportedExpression, Values, compiled, decided, once
from airtight.analytics.forms.domain import Range, exact
from airtight.analytics.records import Record
from airtight.validate.claims.proving.identity import identical

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
        terms = [part(values) for part in parts]
        return reduce(lambda a, b: a + b, (v for v, _ in terms)), _combined([(d, None) for _, d in terms])

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
        power = below**above
        outer: list[tuple[Slopes, Ball | None]] = [(theirs, power * (below.log() if below > 0 else _UNKNOWN))]
        if not slopes:
            return power, _combined(outer)
        whole = above.unique_fmpz() if above.is_exact() else None
        steep = power * above / below if whole is None else above * below ** (int(whole) - 1)
        return power, _combined([*outer, (slopes, steep)])

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
                slopes = {n: _slopes_union(slopes.get(n), theirs.get(n)) for n in names}
        return value, slopes

    return chosen


def _slopes_union(one: Any, other: Any) -> Any:
    return Ends.of(_ZERO if one is None else one).union(_ZERO if other is None else other)


def _constant_here(expression: sp.Expr) -> Sloped:
    """A function that jumps: without slope where it is one number."""
    value = compiled(expression)

    def fixed(values: Values) -> tuple[Ball, Slopes]:
        constant = value(values)
        return (constant, {}) if constant.is_exact() else (_UNKNOWN, dict.fromkeys(values, _UNKNOWN))

    return fixed


def _function(expression: sp.Expr) -> Sloped:
    derivative = _DERIVATIVES.get(expression.func)
    if derivative is None:
        raise UnsupportedExpression(f"{expression.func.__name__} in {expression}: no derivative for it")
    value, inner = compiled(expression.func(_BASE)), sloped(expression.args[0])

    def composed(values: Values) -> tuple[Ball, Slopes]:
        x, slopes = inner(values)
        y = value({_BASE.name: x})
        return y, _combined([(slopes, derivative(x, y))])

    return composed


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


_BITS = 64
_DEPTH = 60
_FEW = 64  # integers that are enumerated before anything else is cut

Box = dict[str, tuple[Fraction, Fraction]]
Tree = dict[str, Any]


class Status(StrEnum):
    """What came of an attempt at a proof."""

    PROVED = "proved"
    REFUTED = "refuted"
    OPEN = "open"


@dataclass(frozen=True)
class Proof(Record):
    """An attempt at a proof on the whole domain.

    Attributes
    ----------
    status : Status
    method : str
        ``identity``; ``boxes``; or what the difference of the sides was brought to, shown on boxes in turn: ``faces`` (some
        boxes reach a face of the domain on which SymPy finds both sides equal), ``parts`` (each argument of a Max or Min on
        its own), ``factors`` (each has a sign), ``ends`` (monotone in a parameter, which is set to its worse end, as an
        expression), ``diagonal`` (zero with its first derivative where two parameters agree, and convex across).
    boxes : int
        How many were needed, or looked at.
    depth : int
        The most cuts that led to one box.
    left : int
        Boxes on which nothing was shown.
    reason : str
        Why it is open.
    leaves : tuple of (Box, str or int)
        Each box with its sign: "+", "=" (least on a face of the domain, where both sides are one expression), or the number
        of the hypothesis that fails on it.
    trees : tuple of dict
        The same as cuts, one for each part of the domain: ``{"cut": name, "at": end, "parts": [lower, upper]}`` down to
        ``{"sign": sign}``.
    counterexample : dict or None
        Of a refutation.
    """

    status: Status
    method: str = "boxes"
    boxes: int = 0
    depth: int = 0
    left: int = 0
    reason: str = ""
    leaves: tuple[tuple[Box, str | int], ...] = field(default=(), repr=False)
    trees: tuple[Tree, ...] = field(default=(), repr=False)
    counterexample: dict[str, Fraction] | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def proved(self) -> bool:
        return self.status is Status.PROVED


class Search:
    """Branch and bound for high >= low."""

    def __init__(
        self, high: sp.Expr, low: sp.Expr, domain: Mapping[str, Range], given: Sequence[Any], budget: int
    ) -> None:
        self.domain, self.budget = domain, budget
        self.difference = high - low
        self.high, self.low = compiled(high), compiled(low)
        self.above_by, self.slopes = compiled(self.difference), sloped(self.difference)
        self.faces: dict[tuple[tuple[str, Fraction], ...], bool] = {}
        self.hypotheses = [decided(condition) for condition in given]
        self.ends = {name: {exact(r.low), exact(r.high)} for name, r in domain.items()}
        self.looked = self.depth = 0

    def run(self) -> Proof:
        """Cut boxes until all are settled or the budget is spent; the first box left unsettled ends it."""
        roots = _roots(self.domain)
        trees: tuple[Tree, ...] = tuple({} for _ in roots)
        stack = [(box, 0, tree) for box, tree in zip(reversed(roots), reversed(trees), strict=True)]
        leaves: list[tuple[Box, str | int]] = []
        with flint.ctx.workprec(_BITS):
            while stack:
                box, depth, tree = stack.pop()
                self.looked, self.depth = self.looked + 1, max(self.depth, depth)
                values = _intervals(box)
                sign = self.sign(box, values)
                if sign is not None:
                    leaves.append((box, sign))
                    tree["sign"] = sign
                    continue
                if (broken := self.broken(box)) is not None:
                    return Proof(Status.REFUTED, "boxes", self.looked, self.depth, counterexample=broken)
                name, parts = self.cut(box, values) if depth < _DEPTH else ("", [])
                if not parts or self.looked + len(stack) >= self.budget:
                    reason = f"more than {self.budget} boxes" if parts else "a box that cannot be cut any more"
                    return Proof(Status.OPEN, "boxes", self.looked, self.depth, len(stack) + 1, reason)
                halves: list[Tree] = [{}, {}]
                tree |= {"cut": name, "at": str(parts[0][name][1]), "parts": halves}
                stack += [(part, depth + 1, half) for part, half in zip(reversed(parts), reversed(halves), strict=True)]
        if all(isinstance(sign, int) for _, sign in leaves):
            return Proof(Status.OPEN, boxes=len(leaves), reason="no point of the domain meets the hypotheses")
        method = "faces" if any(sign == "=" for _, sign in leaves) else "boxes"
        return Proof(Status.PROVED, method, len(leaves), self.depth, leaves=tuple(leaves), trees=trees)

    def sign(self, box: Box, values: Named) -> str | int | None:
        """ "+" where the relation is shown, the number of a hypothesis that fails, None where nothing is known."""
        for i, hypothesis in enumerate(self.hypotheses):
            if hypothesis(values) is False:
                return i
        if self.above(values):
            return "+"
        if not self.defined(values):  # else a pole that both sides have would cancel in their difference
            return None
        for turn in range(len(box) + 1):
            if turn and self.above(values):
                return "+"
            value, slopes = self.slopes(values)
            if turn and value.is_finite() and self.zero_on(box):
                return "="
            if value >= 0 or all(low == high for low, high in box.values()):
                return "+" if value >= 0 else None
            worst = {name: _worst(ends, slopes.get(name)) for name, ends in box.items()}
            if worst == box:
                return "+" if self.mean_value(box, slopes) else None
            box = worst
            values = _intervals(box)
        return None

    def defined(self, values: Mapping[str, Any]) -> bool:
        """Whether both sides have a value on all of the box."""
        return bool(self.high(values).is_finite() and self.low(values).is_finite())

    def zero_on(self, box: Box) -> bool:
        """Whether both sides are one expression once the parameters that are points are set."""
        face = tuple((name, low) for name, (low, high) in box.items() if low == high)
        if not face or any(x not in self.ends[name] for name, x in face):
            return False
        if face not in self.faces:
            values = {s: sp.Rational(dict(face)[s.name]) for s in self.difference.free_symbols if s.name in dict(face)}
            self.faces[face] = identical(self.difference.xreplace(values), sp.Integer(0))
        return self.faces[face]

    def above(self, values: Mapping[str, Any]) -> bool:
        """Whether the two sides are apart, or one and the same exact number."""
        return bool(self.high(values) >= self.low(values))

    def mean_value(self, box: Box, slopes: Mapping[str, Any]) -> bool:
        """Whether the value in the middle outweighs the slopes times the distances from it."""
        middle = {name: (low + high) / 2 for name, (low, high) in box.items()}
        total = self.above_by(_intervals({name: (x, x) for name, x in middle.items()}))
        for name, (low, high) in box.items():
            if name in slopes and low != high:
                total += slopes[name] * Ends.between(low - middle[name], high - middle[name])
        return bool(total >= 0)

    def broken(self, box: Box) -> dict[str, Fraction] | None:
        """The middle of the box, where the claim is surely false there and every hypothesis surely met."""
        point = {name: _between(self.domain[name], *ends) for name, ends in box.items()}
        values = _intervals({name: (x, x) for name, x in point.items()})
        if self.high(values) < self.low(values) and all(h(values) is True for h in self.hypotheses):
            return point
        return None

    def cut(self, box: Box, values: Named) -> tuple[str, list[Box]]:
        """A parameter along which the difference may change most, and the two halves; few integers are enumerated first."""
        wide = [name for name, (low, high) in box.items() if low < high]
        if not wide:
            return "", []
        changes = self.changes(box, wide, values)
        if max(changes.values()) == math.inf:
            few = [n for n in wide if self.domain[n].integer and box[n][1] - box[n][0] < _FEW]
            changes = {name: _position(self.domain[name], box[name]) for name in few or wide}
        name = max(changes, key=lambda n: changes[n])
        low, high = box[name]
        middle = _between(self.domain[name], low, high)
        after = middle + 1 if self.domain[name].integer else middle
        return name, [{**box, name: (low, middle)}, {**box, name: (after, high)}]

    def changes(self, box: Box, wide: list[str], values: Named) -> dict[str, float]:
        """How much the difference may change along each of these parameters."""
        _, slopes = self.slopes(values)

        def change(name: str) -> float:
            low, high = box[name]
            slope = Ends.of(slopes.get(name, 0))
            return slope.size() * float(high - low) if slope.is_finite() else math.inf

        return {name: change(name) for name in wide}


class Defined(Search):
    """The same search for whether both sides have a value everywhere."""

    def sign(self, box: Box, values: Named) -> str | int | None:
        for i, hypothesis in enumerate(self.hypotheses):
            if hypothesis(values) is False:
                return i
        return "+" if self.defined(values) else None

    def broken(self, box: Box) -> None:
        return None

    def changes(self, box: Box, wide: list[str], values: Named) -> dict[str, float]:
        return dict.fromkeys(wide, math.inf)


def _roots(domain: Mapping[str, Range]) -> list[Box]:
    """The boxes that make the domain: one, and more where a parameter has values outside its range."""
    parts = []
    for allowed in domain.values():
        low, high = exact(allowed.low), exact(allowed.high)
        extra = dict.fromkeys(map(exact, allowed.extra))
        parts.append([(low, high), *((x, x) for x in extra if not low <= x <= high)])
    return [dict(zip(domain, box, strict=True)) for box in product(*parts)]


def _between(allowed: Range, low: Fraction, high: Fraction) -> Fraction:
    """The middle, geometric in a logarithmic range, of few digits; the lower of two integers."""
    if allowed.integer:
        return Fraction((low + high) // 2)
    middle = (
        math.sqrt(float(low)) * math.sqrt(float(high)) if allowed.logarithmic and low > 0 else float(low + high) / 2
    )
    for digits in (2, 3, 6, 12):
        simple = Fraction(f"{middle:.{digits}g}")
        if abs(simple - (low + high) / 2) * 4 <= (high - low) or (allowed.logarithmic and low * 2 < simple * 2 < high):
            return simple if low < simple < high else (low + high) / 2
    return (low + high) / 2


def _position(allowed: Range, ends: tuple[Fraction, Fraction]) -> float:
    """How wide a side of a box is, as a share of the domain."""
    return allowed.position(float(ends[1])) - allowed.position(float(ends[0]))


def _intervals(box: Box) -> Named:
    intervals: dict[str, Any] = {name: Ends.between(low, high) for name, (low, high) in box.items()}
    return Named(intervals)


def _worst(ends: tuple[Fraction, Fraction], slope: Any) -> tuple[Fraction, Fraction]:
    """The end at which the difference is least, where it is monotone on the box."""
    low, high = ends
    if slope is None or slope >= 0:
        return low, low
    return (high, high) if slope <= 0 else ends
