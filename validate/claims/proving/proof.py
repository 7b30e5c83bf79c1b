"""A claim proved on all of its domain: by branch and bound in ball arithmetic, or because both sides are one expression.

The domain is cut into boxes. On a box the claim is shown by an enclosure of the difference of the two sides; where that is too
wide, each parameter in which the difference is monotone is set to its worse end, and what remains is enclosed again, by the
mean value theorem too. A box on which a hypothesis surely fails is discarded. What is proved is the box of the domain, no more.
Effort is a number of boxes, never of seconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import sympy as sp

from airtight.analytics.forms.balls.compiled import UnsupportedExpression
from airtight.analytics.forms.domain import Range, exact
from airtight.validate.claims.proving.boxes import Defined, Proof, Search, Status
from airtight.validate.claims.proving.identity import factors, identical, large, tidy
from airtight.validate.claims.relation import Relation, Sign, relation

BOXES = 1000  # of one claim
_OPERATIONS = 1000  # an expression of more is left alone
_WORK = 40_000  # boxes times operations
_ORDERS = 4  # derivatives beyond the slope whose signs are asked for
_JUMPS = (sp.Piecewise, sp.sign, sp.floor, sp.ceiling)  # SymPy's derivatives leave the jumps out


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
    >>> from airtight.analytics.forms.domain import parameter
    >>> x = parameter("x", 0.0, 1.0)
    >>> proof = prove(sp.exp(x) >= 1 + x / 2)
    >>> proof.status.value, proof.boxes
    ('proved', 1)
    >>> prove(sp.exp(x) <= 1 + x).counterexample
    {'x': Fraction(1, 2)}
    """
    started = time.perf_counter()
    made, given = relation(claimed), [_exactly(condition) for condition in given]
    if made.symbolic:
        made = replace(made, actual=_exactly(made.actual), claimed=_exactly(made.claimed))
    whole = {**made.domain(), **(domain or {})}
    try:
        if beyond := beyond_assumptions([made.actual, made.claimed], whole):
            proof = Proof(Status.OPEN, reason=beyond)
        else:
            proof = _proved(made, whole, given, boxes)
    except (UnsupportedExpression, TypeError) as reason:  # python-flint's, of a function that intervals do not have
        proof = Proof(Status.OPEN, reason=" ".join(str(reason).split()))
    return Proof(**{**vars(proof), "seconds": time.perf_counter() - started})


def _exactly(expression: Any) -> Any:
    """With rational numbers for floats: SymPy adds 1e-20 to a float 1.0 and has 1.0."""
    if not isinstance(expression, sp.Basic):
        return expression
    return expression.xreplace({number: sp.Rational(number) for number in expression.atoms(sp.Float)})


_TAKEN_BESIDES = "even", "odd", "prime", "composite", "imaginary", "irrational", "transcendental", "infinite", "zero"


def beyond_assumptions(sides: Sequence[Any], domain: Mapping[str, Range]) -> str:
    """Which parameter of these expressions has values that SymPy takes it not to have; empty where none has."""
    sides = [side for side in sides if isinstance(side, sp.Expr)]
    for total in set().union(*(side.atoms(sp.Sum) for side in sides)):
        for _, first, last in total.limits:  # SymPy counts the terms of an empty sum backwards
            if not (first.is_integer and last.is_integer and (last - first + 1).is_nonnegative):
                return f"{total}: its upper limit may be below the lower one"
    for symbol in sorted(set().union(*(side.free_symbols for side in sides)), key=str):
        if (allowed := domain.get(symbol.name)) is None:
            return f"{symbol} has no domain"
        if strange := [name for name in _TAKEN_BESIDES if getattr(symbol, f"is_{name}")]:
            return f"{symbol} is declared {strange[0]}, which no domain grants"
        least, most = min(allowed.low, *allowed.extra, allowed.low), max(allowed.high, *allowed.extra, allowed.high)
        taken = {"integer": not allowed.integer, "positive": least <= 0, "negative": most >= 0}
        taken |= {"nonnegative": least < 0, "nonpositive": most > 0, "nonzero": least <= 0 <= most}
        for name, wrong in taken.items():
            if wrong and getattr(symbol, f"is_{name}"):
                return f"{symbol} is declared {name}, its domain is not"
    return ""


def _proved(made: Relation, domain: Mapping[str, Range], given: Sequence[Any], budget: int) -> Proof:
    if not made.symbolic:
        return Proof(Status.OPEN, reason="a side is computed by code")
    if any(not isinstance(condition, sp.Basic) for condition in given):
        return Proof(Status.OPEN, reason="a hypothesis is computed by code")
    proof = _by_algebra(made, domain, given, budget)
    if proof.proved and proof.method not in ("boxes", "faces") and not _defined(made, domain, given, budget):
        return Proof(Status.OPEN, proof.method, proof.boxes, reason="a side may be undefined somewhere in the domain")
    return proof


def _defined(made: Relation, domain: Mapping[str, Range], given: Sequence[Any], budget: int) -> bool:
    return Defined(made.actual, made.claimed, domain, given, budget).run().proved


def _by_algebra(made: Relation, domain: Mapping[str, Range], given: Sequence[Any], budget: int) -> Proof:
    """Whatever SymPy finds; it cancels poles as if they were not there."""
    if made.sign is Sign.EQUAL:
        if identical(made.actual, made.claimed):
            return Proof(Status.PROVED, "identity")
        return Proof(Status.OPEN, "identity", reason="SymPy does not bring the difference to 0")
    high, low = (made.claimed, made.actual) if made.sign is Sign.AT_MOST else (made.actual, made.claimed)
    lows = low.args if isinstance(low, sp.Max) else (low,)
    highs = high.args if isinstance(high, sp.Min) else (high,)
    proofs = [_inequality(a, b, domain, given, budget) for a, b in product(highs, lows)]
    if len(proofs) == 1:
        return proofs[0]
    status = next((s for s in (Status.REFUTED, Status.OPEN) if any(f.status is s for f in proofs)), Status.PROVED)
    broken = next((f.counterexample for f in proofs if f.counterexample), None)
    total, depth = sum(f.boxes for f in proofs), max(f.depth for f in proofs)
    reason = "; ".join(f.reason for f in proofs if f.reason)
    return Proof(status, "parts", total, depth, reason=reason, counterexample=broken)


def _inequality(high: sp.Expr, low: sp.Expr, domain: Mapping[str, Range], given: Sequence[Any], budget: int) -> Proof:
    """high >= low: directly, else by what the difference is made of."""
    operations = sp.count_ops(high) + sp.count_ops(low)
    if operations > _OPERATIONS:
        return Proof(Status.OPEN, reason="the expressions are too large")
    budget = min(budget, _WORK // (operations + 1))
    proof = Search(high, low, domain, given, budget).run()
    if proof.status is not Status.OPEN:
        return proof
    if large(high - low):
        return proof
    task = _Task(high - low, dict(domain), tuple(given), budget)
    for way in (_by_factors, _by_ends, _by_diagonal):
        if (other := way(task)) is not None:
            return other
    return proof


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
        proof = Proof(Status.OPEN)
        for difference in dict.fromkeys((expression, tidy(expression))):
            proof = Search(difference, sp.Integer(0), self.domain, self.given, self.budget // share).run()
            if proof.status is not Status.OPEN:
                break
        return proof

    def without(self, symbol: sp.Symbol, difference: sp.Expr) -> _Task:
        """Another expression, from which a parameter is gone."""
        allowed = {name: range_ for name, range_ in self.domain.items() if name != symbol.name}
        kept = tuple(condition for condition in self.given if not _speaks_of(condition, symbol))
        return _Task(difference, allowed, kept, self.budget // 2)

    def symbols(self) -> dict[str, sp.Symbol]:
        return {s.name: s for s in self.difference.free_symbols}


def _by_ends(task: _Task) -> Proof | None:
    """Monotone in a parameter: its worse end is set, a number or what a hypothesis bounds it by; zero or shown at last."""
    if task.difference.has(*_JUMPS):
        return None
    boxes, depth = 0, 0
    kinked = set().union(*(part.free_symbols for part in task.difference.atoms(sp.Max, sp.Min)))
    for name, symbol in sorted(task.symbols().items()):
        if symbol in kinked:  # its slope would hold a step
            continue
        between, within = symbol, task
        if task.domain[name].integer:  # monotone from one integer to the next, not only in them
            between = sp.Symbol(name, real=True)
            within = replace(task, domain={**task.domain, name: replace(task.domain[name], integer=False)})
        slope = sp.diff(task.difference.xreplace({symbol: between}), between)
        for sign in (1, -1):
            if slope.has(sp.Derivative, sp.Subs, sp.Heaviside, sp.DiracDelta) or slope == 0:
                break
            ends = _ends(task, symbol, upper=sign < 0)
            if not ends or not (monotone := _one_sign(within, sign * slope, between, _ORDERS)).proved:
                continue
            boxes, depth = boxes + monotone.boxes, max(depth, monotone.depth)
            for end in ends:
                rest = task.difference.subs(symbol, end)
                if identical(rest, sp.Integer(0)):
                    return Proof(Status.PROVED, "ends", boxes, depth)
                smaller = task.without(symbol, rest)
                shown = smaller.shown(rest)
                proof = shown if shown.proved else _by_ends(smaller)
                if proof is not None:
                    return Proof(Status.PROVED, "ends", boxes + proof.boxes, max(depth, proof.depth))
            break
    return None


def _one_sign(task: _Task, slope: sp.Expr, symbol: sp.Symbol, orders: int) -> Proof:
    """Show slope >= 0: on boxes, or as least at one end, since its own slope in `symbol` has one sign.

    Repeated, this is Taylor's theorem about an end of the range: every derivative is shown not negative (not positive) there, and
    the last one everywhere. Near an end where many derivatives are 0 no enclosure settles the sign of the difference itself.
    """
    direct = task.shown(slope, 8)
    if direct.status is not Status.OPEN or not orders or large(slope) or slope.has(sp.Max, sp.Min):
        return direct
    derivative = sp.diff(slope, symbol)
    if derivative == 0 or derivative.has(sp.Derivative, sp.Subs, sp.Heaviside, sp.DiracDelta):
        return direct
    sign = _sign_inside(task, derivative)
    ends = _ends(task, symbol, upper=sign < 0) if sign else []
    if not ends or not (remainder := _one_sign(task, sign * derivative, symbol, orders - 1)).proved:
        return direct
    looked, depth = remainder.boxes, remainder.depth
    for end in ends:
        least = slope.subs(symbol, end)
        if not identical(least, sp.Integer(0)):
            at_end = task.without(symbol, least).shown(least)
            if not at_end.proved:
                return direct
            looked, depth = looked + at_end.boxes, max(depth, at_end.depth)
    return Proof(Status.PROVED, "ends", looked, depth)


def _speaks_of(condition: Any, symbol: sp.Symbol) -> bool:
    """By name, since a real parameter may stand for an integer one."""
    return symbol.name in {free.name for free in condition.free_symbols}


def _sign_inside(task: _Task, expression: sp.Expr) -> int:
    """The sign in the middle of the domain, the only one that the expression can have everywhere; 0 where it is not known."""
    middle = {s: sp.Rational(exact((r.low + r.high) / 2)) for s in expression.free_symbols for r in [task.domain[s.name]]}
    value = sp.N(expression.xreplace(middle))
    return int(sp.sign(value)) if value.is_real and value.is_finite else 0


def _ends(task: _Task, symbol: sp.Symbol, *, upper: bool) -> list[sp.Expr]:
    """What bounds a parameter from one side: the parameter that its one hypothesis names, else the end of its range.

    The way there must stay in the domain, where the slope has its sign: so no other hypothesis may speak of the parameter, it
    has no values outside its range, and what bounds it has no others than it.
    """
    allowed, spoken = task.domain[symbol.name], [c for c in task.given if _speaks_of(c, symbol)]
    if allowed.extra or len(spoken) > 1:
        return []
    last = [sp.Rational(exact(allowed.high if upper else allowed.low))]
    if not spoken:
        return last
    if not isinstance(spoken[0], sp.Le | sp.Ge):
        return []
    nearer, farther = (spoken[0].gts, spoken[0].lts) if upper else (spoken[0].lts, spoken[0].gts)
    if nearer == symbol and symbol not in farther.free_symbols:  # bounded from the other side only
        return last
    if farther != symbol or not isinstance(nearer, sp.Symbol) or nearer.name not in task.domain:
        return []
    other = task.domain[nearer.name]
    return [nearer] if allowed.low <= other.low and other.high <= allowed.high and not other.extra else []


def _by_diagonal(task: _Task) -> Proof | None:
    """d(u + h, u - h) is zero with its first derivative in h at h = 0, and convex in h: nowhere negative."""
    if task.given or task.difference.has(*_JUMPS):
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
    same = (one.low, one.high) == (other.low, other.high)
    return not same or one.integer or other.integer or bool(one.extra or other.extra)


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
