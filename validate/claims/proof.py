"""A claim proved on all of its domain: by branch and bound in ball arithmetic, or because both sides are one expression.

The domain is cut into boxes. On a box the claim is shown by an enclosure of the difference of the two sides; where that is too
wide, each parameter in which the difference is monotone is set to its worse end, and what remains is enclosed again, by the
mean value theorem too. A box on which a hypothesis surely fails is discarded. What is proved is the box of the domain, no more.
Effort is a number of boxes, never of seconds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import sympy as sp

from validate.claims.balls import UnsupportedExpression, compiled, decided
from validate.claims.domain import Range
from validate.claims.ends import Ends
from validate.claims.identity import factors, identical, large, tidy
from validate.claims.relation import Relation, Sign, relation
from validate.claims.slopes import sloped

BOXES = 1000  # of one claim
_BITS = 64
_DEPTH = 60
_OPERATIONS = 1000  # an expression of more is left alone
_WORK = 40_000  # boxes times operations

Box = dict[str, tuple[Fraction, Fraction]]


class Status(StrEnum):
    """What came of an attempt at a proof."""

    PROVED = "proved"
    REFUTED = "refuted"
    OPEN = "open"


@dataclass(frozen=True)
class Proof:
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
    counterexample : dict or None
        Of a refutation.
    """

    status: Status
    method: str = "boxes"
    boxes: int = 0
    depth: int = 0
    left: int = 0
    reason: str = ""
    leaves: tuple[tuple[Box, str | int], ...] = ()
    counterexample: dict[str, Fraction] | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def proved(self) -> bool:
        return self.status is Status.PROVED


def prove(
    claimed: Any, domain: Mapping[str, Range] | None = None, given: Sequence[Any] = (), *, boxes: int = BOXES
) -> Proof:
    """Prove a relation on its whole domain, or refute it, or say that it stays open.

    Parameters
    ----------
    claimed : Relation, or an inequality of SymPy with the actual value on the left
    domain : mapping of str to Range, optional
        Where a parameter does not bring its own.
    given : sequence
        Further hypotheses: conditions of SymPy.
    boxes : int
        The most boxes to look at.

    Examples
    --------
    >>> from validate.claims.domain import parameter
    >>> x = parameter("x", 0.0, 1.0)
    >>> found = prove(sp.exp(x) >= 1 + x / 2)
    >>> found.status.value, found.boxes
    ('proved', 1)
    >>> prove(sp.exp(x) <= 1 + x).counterexample
    {'x': Fraction(1, 2)}
    """
    started = time.perf_counter()
    made = relation(claimed)
    try:
        found = _proved(made, {**made.domain(), **(domain or {})}, given, boxes)
    except (UnsupportedExpression, TypeError) as reason:  # python-flint's, of a function that intervals do not have
        found = Proof(Status.OPEN, reason=" ".join(str(reason).split()))
    return Proof(**{**vars(found), "seconds": time.perf_counter() - started})


def _proved(made: Relation, domain: Mapping[str, Range], given: Sequence[Any], budget: int) -> Proof:
    if not made.symbolic:
        return Proof(Status.OPEN, reason="a side is computed by code")
    if any(not isinstance(condition, sp.Basic) for condition in given):
        return Proof(Status.OPEN, reason="a hypothesis is computed by code")
    if made.sign is Sign.EQUAL:
        if identical(made.actual, made.claimed):
            return Proof(Status.PROVED, "identity")
        return Proof(Status.OPEN, "identity", reason="SymPy does not bring the difference to 0")
    high, low = (made.claimed, made.actual) if made.sign is Sign.AT_MOST else (made.actual, made.claimed)
    lows = low.args if isinstance(low, sp.Max) else (low,)
    highs = high.args if isinstance(high, sp.Min) else (high,)
    found = [_inequality(a, b, domain, given, budget) for a, b in product(highs, lows)]
    if len(found) == 1:
        return found[0]
    status = next((s for s in (Status.REFUTED, Status.OPEN) if any(f.status is s for f in found)), Status.PROVED)
    broken = next((f.counterexample for f in found if f.counterexample), None)
    total, depth = sum(f.boxes for f in found), max(f.depth for f in found)
    reason = "; ".join(f.reason for f in found if f.reason)
    return Proof(status, "parts", total, depth, reason=reason, counterexample=broken)


def _inequality(high: sp.Expr, low: sp.Expr, domain: Mapping[str, Range], given: Sequence[Any], budget: int) -> Proof:
    """high >= low: directly, else by what the difference is made of."""
    operations = sp.count_ops(high) + sp.count_ops(low)
    if operations > _OPERATIONS:
        return Proof(Status.OPEN, reason="the expressions are too large")
    budget = min(budget, _WORK // (operations + 1))
    found = _Search(high, low, domain, given, budget).run()
    if found.status is not Status.OPEN:
        return found
    if large(high - low):
        return found
    task = _Task(high - low, dict(domain), tuple(given), budget)
    for way in (_by_factors, _by_ends, _by_diagonal):
        if (other := way(task)) is not None:
            return other
    return found


@dataclass(frozen=True)
class _Task:
    """An expression to be shown not negative."""

    difference: sp.Expr
    domain: Mapping[str, Range]
    given: tuple[Any, ...]
    budget: int

    def shown(self, expression: sp.Expr, share: int = 2) -> Proof:
        """The same of another expression, with a share of the boxes."""
        if large(expression):
            return Proof(Status.OPEN, reason="the expressions are too large")
        found = Proof(Status.OPEN)
        for one in dict.fromkeys((expression, tidy(expression))):
            found = _Search(one, sp.Integer(0), self.domain, self.given, self.budget // share).run()
            if found.status is not Status.OPEN:
                break
        return found

    def symbols(self) -> dict[str, sp.Symbol]:
        return {s.name: s for s in self.difference.free_symbols}


def _by_ends(task: _Task) -> Proof | None:
    """Monotone in a parameter: its worse end is set, a number or what a hypothesis bounds it by; zero or shown at last."""
    looked, depth = 0, 0
    for name, symbol in sorted(task.symbols().items()):
        slope = sp.diff(task.difference, symbol)
        for sign in (1, -1):
            if slope.has(sp.Derivative, sp.Subs, sp.Heaviside, sp.DiracDelta) or slope == 0:
                break
            ends = _ends(task, symbol, upper=sign < 0)
            if not ends or not (one := task.shown(sign * slope, 8)).proved:
                continue
            looked, depth = looked + one.boxes, max(depth, one.depth)
            for end in ends:
                rest = task.difference.subs(symbol, end)
                if identical(rest, sp.Integer(0)):
                    return Proof(Status.PROVED, "ends", looked, depth)
                allowed = {n: r for n, r in task.domain.items() if n != name}
                kept = tuple(c for c in task.given if symbol not in c.free_symbols)
                smaller = _Task(rest, allowed, kept, task.budget // 2)
                if (found := _by_ends(smaller)) is not None:
                    return Proof(Status.PROVED, "ends", looked + found.boxes, max(depth, found.depth))
            break
    return None


def _ends(task: _Task, symbol: sp.Symbol, *, upper: bool) -> list[sp.Expr]:
    """What bounds a parameter from one side: the end of its range, or the parameter that its one hypothesis names.

    The way there must stay in the domain, where the slope has its sign: so no other hypothesis may speak of the parameter, it
    has no values outside its range, and what bounds it has no others than it.
    """
    allowed, spoken = task.domain[symbol.name], [c for c in task.given if symbol in c.free_symbols]
    if allowed.extra or len(spoken) > 1:
        return []
    if not spoken:
        return [sp.Rational(repr(allowed.high if upper else allowed.low))]
    if not isinstance(spoken[0], sp.Le | sp.Ge):
        return []
    less, greater = spoken[0].lts, spoken[0].gts
    end = greater if upper else less
    if (less if upper else greater) != symbol or not isinstance(end, sp.Symbol) or end.name not in task.domain:
        return []
    other = task.domain[end.name]
    return [end] if allowed.low <= other.low and other.high <= allowed.high and not other.extra else []


def _by_diagonal(task: _Task) -> Proof | None:
    """d(u + h, u - h) is zero with its first derivative in h at h = 0, and convex in h: nowhere negative."""
    if task.given:
        return None
    symbols = sorted(task.symbols().items())
    for name, x in symbols:
        for other, y in symbols:
            if name == other or _unlike(task.domain[name], task.domain[other]):
                continue
            first = sp.diff(task.difference, x) - sp.diff(task.difference, y)
            if all(identical(e.subs(x, y), sp.Integer(0)) for e in (task.difference, first)):
                one = task.shown(sp.diff(first, x) - sp.diff(first, y))
                if one.proved:
                    return Proof(Status.PROVED, "diagonal", one.boxes, one.depth)
    return None


def _unlike(one: Range, other: Range) -> bool:
    """Whether the way to the diagonal may leave the domain."""
    return (one.low, one.high) != (other.low, other.high) or one.integer or bool(one.extra or other.extra)


def _by_factors(task: _Task) -> Proof | None:
    """The sign of every factor that enters with an odd power; the product of the signs is what matters."""
    odd = factors(task.difference)
    if odd is None:
        return None
    signs, total, depth = 1, 0, 0
    for factor in odd:
        for sign in (1, -1):
            one = task.shown(sign * factor, 4)
            total, depth = total + one.boxes, max(depth, one.depth)
            if one.proved:
                signs *= sign
                break
        else:
            return None
    return Proof(Status.PROVED, "factors", total, depth) if signs > 0 else None


class _Search:
    """Branch and bound for high >= low."""

    def __init__(
        self, high: sp.Expr, low: sp.Expr, domain: Mapping[str, Range], given: Sequence[Any], budget: int
    ) -> None:
        self.domain, self.budget = domain, budget
        self.high, self.low, self.slopes = compiled(high), compiled(low), sloped(high - low)
        self.difference = high - low
        self.faces: dict[tuple[tuple[str, Fraction], ...], bool] = {}
        self.hypotheses = [decided(condition) for condition in given]
        self.ends = {name: {Fraction(repr(r.low)), Fraction(repr(r.high))} for name, r in domain.items()}
        self.looked = self.depth = 0

    def run(self) -> Proof:
        """Cut boxes until all are settled or the budget is spent; the first box left unsettled ends it."""
        stack: list[tuple[Box, int]] = [(box, 0) for box in reversed(_roots(self.domain))]
        leaves: list[tuple[Box, str | int]] = []
        with flint.ctx.workprec(_BITS):
            while stack:
                box, depth = stack.pop()
                self.looked, self.depth = self.looked + 1, max(self.depth, depth)
                sign = self.sign(box)
                if sign is not None:
                    leaves.append((box, sign))
                    continue
                if (broken := self.broken(box)) is not None:
                    return Proof(Status.REFUTED, "boxes", self.looked, self.depth, counterexample=broken)
                parts = self.cut(box) if depth < _DEPTH else []
                if not parts or self.looked + len(stack) >= self.budget:
                    reason = f"more than {self.budget} boxes" if parts else "a box that cannot be cut any more"
                    return Proof(Status.OPEN, "boxes", self.looked, self.depth, len(stack) + 1, reason)
                stack += [(part, depth + 1) for part in reversed(parts)]
        method = "faces" if any(sign == "=" for _, sign in leaves) else "boxes"
        return Proof(Status.PROVED, method, len(leaves), self.depth, leaves=tuple(leaves))

    def sign(self, box: Box) -> str | int | None:
        """ "+" where the relation is shown, the number of a hypothesis that fails, None where nothing is known."""
        values = _intervals(box)
        for i, hypothesis in enumerate(self.hypotheses):
            if hypothesis(values) is False:
                return i
        for turn in range(len(box) + 1):
            if self.above(values):
                return "+"
            if turn and self.zero_on(box):
                return "="
            value, slopes = self.slopes(values)
            if value >= 0 or all(low == high for low, high in box.values()):
                return "+" if value >= 0 else None
            worst = {name: _worst(ends, slopes.get(name)) for name, ends in box.items()}
            if worst == box:
                return "+" if self.mean_value(box, slopes) else None
            box = worst
            values = _intervals(box)
        return None

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
        total = self.slopes(_intervals({name: (x, x) for name, x in middle.items()}))[0]
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

    def cut(self, box: Box) -> list[Box]:
        """Two halves, across the parameter along which the difference may change most."""
        _, slopes = self.slopes(_intervals(box))
        wide = [name for name, (low, high) in box.items() if low < high]
        if not wide:
            return []

        def change(name: str) -> float:
            low, high = box[name]
            slope = Ends.of(slopes.get(name, 0))
            return slope.size() * float(high - low) if slope.is_finite() else math.inf

        changes = {name: change(name) for name in wide}
        if max(changes.values()) == math.inf:
            changes = {name: _position(self.domain[name], box[name]) for name in wide}
        name = max(wide, key=lambda n: changes[n])
        low, high = box[name]
        middle = _between(self.domain[name], low, high)
        after = middle + 1 if self.domain[name].integer else middle
        return [{**box, name: (low, middle)}, {**box, name: (after, high)}]


def _roots(domain: Mapping[str, Range]) -> list[Box]:
    """The boxes that make the domain: one, and more where a parameter has values outside its range."""
    parts = []
    for allowed in domain.values():
        low, high = Fraction(repr(allowed.low)), Fraction(repr(allowed.high))
        extra = (Fraction(repr(value)) for value in allowed.extra)
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


def _intervals(box: Box) -> dict[str, Any]:
    return {name: Ends.between(low, high) for name, (low, high) in box.items()}


def _worst(ends: tuple[Fraction, Fraction], slope: Any) -> tuple[Fraction, Fraction]:
    """The end at which the difference is least, where it is monotone on the box."""
    low, high = ends
    if slope is None or slope >= 0:
        return low, low
    return (high, high) if slope <= 0 else ends
