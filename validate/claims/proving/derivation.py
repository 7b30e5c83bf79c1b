"""Proofs that the machine does not find and does check: a chain of expressions, lemmas used at expressions, and cases.

A derivation is given by hand and believed in nothing. Every link of its chain is proved on the whole domain: both ends are
one expression, or their difference is a sum of differences of lemmas, or boxes settle it. A lemma has a domain of its own, is
proved there once, and is used at expressions that are proved to stay in that domain. So a false claim has no derivation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import flint
import sympy as sp
from scipy.stats import qmc

from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.balls.compiled import UnsupportedExpression, decided
from airtight.analytics.forms.domain import Parameter, Range, exact
from airtight.validate.claims.proving.boxes import Defined, Proof, Status
from airtight.validate.claims.proving.identity import identical
from airtight.validate.claims.proving.proof import BOXES, beyond_assumptions, prove
from airtight.validate.claims.relation import Relation, Sign, at_least, at_most, one_each, relation

_POINTS = 512  # at which it is tried whether hypotheses can hold together
_BINDING = (sp.Sum, sp.Product, sp.Integral, sp.Lambda, sp.Subs, sp.Limit)  # their symbols are not parameters
_KINKED = (sp.Max, sp.Min, sp.Abs, sp.Piecewise, sp.sign, sp.floor, sp.ceiling)
_SMOOTH = (
    *(sp.Add, sp.Mul, sp.Pow, sp.Symbol, sp.Number, sp.NumberSymbol),
    *(sp.exp, sp.log, sp.erf, sp.erfc, sp.tanh, sp.sinh, sp.cosh, sp.atan, sp.sin, sp.cos),
    *(sp.Max, sp.Min, sp.Abs),  # these have values everywhere
)
_DEFINED = 20_000  # boxes that may be looked at to see that both sides have values


@dataclass(frozen=True, eq=False)
class Lemma:
    """An inequality on a domain of its own, which derivations use at expressions.

    Attributes
    ----------
    relation : Relation or inequality of SymPy
        In parameters, whose ranges are the domain; it is used inside the ranges only, not at their extra values.
    given : sequence of inequalities of SymPy
        Hypotheses, each of them <= or >=.
    derivation : Derivation or None
        How it is proved, where the machine finds no proof.

    Examples
    --------
    >>> from airtight.analytics.forms.domain import parameter
    >>> t = parameter("t", 0.0, 1.0)
    >>> Lemma(t**2 <= t).proof().proved, Lemma(t**2 >= t).proof().proved
    (True, False)
    """

    relation: Any
    given: Sequence[Any] = ()
    derivation: Derivation | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "given", tuple(self.given))  # no hypothesis is taken back after the proof

    def proof(self) -> Proof:
        """Its proof on its own domain, made once."""
        return _proof_of(self)

    def prove(self) -> Proof:
        """A new proof."""
        domain = {s.name: replace(s.range, extra=()) for s in self.symbols().values()}
        return derived(relation(self.relation), domain, self.given, self.derivation)

    def at(self, **values: Any) -> Use:
        """The lemma at expressions, one for each of its parameters.

        Parameters
        ----------
        **values : expression or number
            In the parameters of the claim.
        """
        symbols = self.symbols()
        if values.keys() != symbols.keys():
            raise TypeError(f"values of {sorted(values)}: must be of {sorted(symbols)}")
        return Use(self, {symbols[name]: sp.sympify(value) for name, value in values.items()})

    def says(self, use: Use) -> tuple[sp.Expr, sp.Expr, tuple[Any, ...]]:
        """What the lemma says at the values of a use: the smaller side, the greater one, and what it needs there."""
        low, high = (side.xreplace(dict(use.values)) for side in _ordered(relation(self.relation)))
        needed = [condition for symbol in self.symbols().values() for condition in _inside(use.values[symbol], symbol.range)]
        return low, high, (*needed, *(relation(condition.xreplace(dict(use.values))) for condition in self.given))

    def symbols(self) -> dict[str, Parameter]:
        """Its parameters, by name."""
        made = relation(self.relation)
        if any(sp.sympify(part).has(*_BINDING) for part in (made.actual, made.claimed, *self.given)):
            raise TypeError("a lemma must have no bound symbol, whose place a value could take")
        if any(sp.sympify(part).has(sp.Float) for part in (made.actual, made.claimed, *self.given)):
            raise TypeError("a lemma must have exact numbers, no floats, which round exact numbers away")
        symbols = one_each([made.actual, made.claimed, *self.given])
        if strange := [name for name, symbol in symbols.items() if not isinstance(symbol, Parameter)]:
            raise TypeError(f"{strange[0]}: a symbol of a lemma must be a parameter, which has a range")
        return symbols


@dataclass(frozen=True, eq=False)
class Monotone:
    """A function that rises, or falls, in one of its parameters: its derivative has one sign on all of its domain.

    Attributes
    ----------
    function : sympy.Expr
        Smooth, in parameters.
    symbol : Parameter
    slope : sympy.Expr or None
        Its derivative in a form of which the sign can be seen; SymPy must find both one expression.
    everywhere : bool
        For all real values, positive ones where a parameter's range is positive, and not in the ranges only: the sign must then
        follow from the signs of the factors of the slope.

    Examples
    --------
    >>> from airtight.analytics.forms.domain import parameter
    >>> t = parameter("t", 0.0, 1.0)
    >>> Monotone(sp.exp(t) - t, t).proof().proved, Monotone(t**2 - t, t).proof().proved
    (True, False)
    """

    function: sp.Expr
    symbol: Parameter
    slope: sp.Expr | None = None
    everywhere: bool = False

    def proof(self) -> Proof:
        """The proof that the derivative has the sign that it has in the middle of the domain, made once."""
        return _proof_of(self)

    def prove(self) -> Proof:
        """A new proof."""
        domain = {s.name: replace(s.range, extra=()) for s in self.symbols().values()}
        if self.function.has(*_KINKED) or any(s.range.integer for s in self.symbols().values()):
            return Proof(Status.OPEN, reason="a function that is monotone must be smooth, its parameters real")
        found, slope = sp.diff(self.function, self.symbol), self._slope()
        if found is not slope and not identical(found, slope):
            return Proof(Status.OPEN, reason="the derivative is another expression than the slope")
        if self.everywhere:
            signed = slope if self.rises() else -slope
            seen = _smooth(self.function) and bool(signed.is_nonnegative or _positive(signed, ()))
            return Proof(Status.PROVED if seen else Status.OPEN, reason="" if seen else "the sign of the slope is not seen")
        if not _has_values(self.function, domain, ()):
            return Proof(Status.OPEN, reason="the function may have no value somewhere in its domain")
        return prove(at_least(slope, 0) if self.rises() else at_most(slope, 0), domain)

    def rises(self) -> bool:
        """Whether it rises in the middle of the domain."""
        slope = self._slope()
        middle = {s: sp.Rational(exact(s.range.at(0.5))) for s in slope.free_symbols}
        return bool(sp.N(slope.xreplace(middle)) >= 0)

    def at(self, lower: Any, upper: Any, **others: Any) -> Use:
        """The inequality between its values where the parameter is `lower` and where it is `upper`.

        Parameters
        ----------
        lower, upper : expression or number
            Proved to be in this order, and in the range.
        **others : expression or number
            The other parameters, at both.
        """
        symbols = self.symbols()
        at = {symbols[name]: sp.sympify(value) for name, value in others.items()}
        if at.keys() != set(symbols.values()) - {self.symbol}:
            raise TypeError(f"values of {sorted(others)}: must be of the other parameters of {sorted(symbols)}")
        return Use(self, at, (sp.sympify(lower), sp.sympify(upper)))

    def says(self, use: Use) -> tuple[sp.Expr, sp.Expr, tuple[Any, ...]]:
        """What it says at the values of a use: the smaller value, the greater one, and what it needs there."""
        at_ends = [self.function.xreplace({**use.values, self.symbol: end}) for end in use.ends]
        low, high = at_ends if self.rises() else reversed(at_ends)
        every = [*use.values.items(), *((self.symbol, end) for end in use.ends)]
        inside: list[Any] = []
        for symbol, value in every:
            if not self.everywhere:
                inside += _inside(value, symbol.range)
            elif symbol.is_nonnegative and not symbol.is_positive:
                inside.append(at_least(value, 0))
            elif symbol.is_positive or symbol is not self.symbol:  # the ends are real where their order is shown
                inside.append(_Seen(value, positive=bool(symbol.is_positive)))
        return low, high, (at_most(*use.ends), *inside)

    def _slope(self) -> sp.Expr:
        return sp.diff(self.function, self.symbol) if self.slope is None else self.slope

    def symbols(self) -> dict[str, Parameter]:
        """Its parameters, by name."""
        if self.function.has(*_BINDING):
            raise TypeError("a function that is monotone must have no bound symbol, whose place a value could take")
        return one_each([self.function, self._slope(), self.symbol])


@lru_cache(maxsize=256)
def _proof_of(lemma: Lemma | Monotone) -> Proof:
    return lemma.prove()


@dataclass(frozen=True, eq=False)
class Use:
    """A lemma at expressions, which :meth:`Lemma.at` and :meth:`Monotone.at` make. It brings no inequality of its own: what the
    lemma says at these values is asked of the lemma."""

    lemma: Lemma | Monotone
    values: Mapping[sp.Symbol, sp.Expr]
    ends: tuple[sp.Expr, ...] = ()  # of the parameter in which a function is monotone

    def __post_init__(self) -> None:
        if type(self.lemma) not in (Lemma, Monotone):  # another class could call anything proved
            raise TypeError(f"{type(self.lemma).__name__}: a use must be of a Lemma or of a function that is Monotone")
        rising = [self.lemma.symbol] if isinstance(self.lemma, Monotone) else []
        object.__setattr__(self, "values", dict(self.values))
        object.__setattr__(self, "ends", tuple(self.ends))
        if {*self.values, *rising} != {*self.lemma.symbols().values()} or len(self.ends) != 2 * len(rising):
            raise TypeError(f"values of {[*self.values]}: must be of the parameters of the lemma, each once")
        whole = (value for symbol, value in self.values.items() if symbol.range.integer and not value.is_integer)
        if (broken := next(whole, None)) is not None:
            raise TypeError(f"{broken}: must be an integer")


@dataclass(frozen=True)
class _Seen:
    """That an expression is a real number, or a positive one."""

    expression: sp.Expr
    positive: bool


@dataclass(frozen=True, eq=False)
class Step:
    """An expression of a chain, and what shows that it is at least the one before.

    Attributes
    ----------
    expression : sympy.Expr
    uses : sequence of Use, or of pairs (factor, Use)
        The difference to the expression before is the sum of the differences of the lemmas, each times its factor, which is
        proved not negative. Without any the machine proves the link itself.
    """

    expression: Any
    uses: Sequence[Any] = ()


@dataclass(frozen=True, eq=False)
class Derivation:
    """How a claim is proved.

    Attributes
    ----------
    through : sequence of Step or sympy.Expr
        Expressions between the smaller and the greater side, in this order.
    uses : sequence
        What shows the last link, as those of :class:`Step`.
    facts : sequence
        Inequalities of SymPy that are proved first and are hypotheses then; a pair is one with its derivation.
    split : sympy.Expr or None
        The claim is proved where this is positive and where it is not, by `above` and by `below`, after the facts.
    above, below : Derivation
    each : Parameter or None
        An integer of few values: the claim is proved at each of them, after the facts, by what `at_each` makes of the value.
    at_each : function
    boxes : int
        The most boxes of one link.

    Examples
    --------
    >>> from airtight.analytics.forms.domain import parameter
    >>> x, t = parameter("x", 0.0, 5.0), parameter("t", 0.0, 1.0)
    >>> below = Lemma(t * (1 - t) <= sp.Rational(1, 4))
    >>> claimed = at_most(sp.tanh(x) - sp.tanh(x) ** 2, sp.Rational(1, 4))
    >>> derived(claimed, {}, (), Derivation(uses=[below.at(t=sp.tanh(x))])).proved
    True
    """

    through: Sequence[Any] = ()
    uses: Sequence[Any] = ()
    facts: Sequence[Any] = ()
    split: sp.Expr | None = None
    above: Derivation | None = None
    below: Derivation | None = None
    each: Parameter | None = None
    at_each: Callable[[int], Derivation] | None = None
    boxes: int = BOXES


def derived(made: Relation, domain: Mapping[str, Range], given: Sequence[Any], derivation: Any = None) -> Proof:
    """A proof of a relation by a derivation; without one the proof that the machine finds.

    Parameters
    ----------
    made : Relation
    domain : mapping of str to Range
        Where a parameter does not bring its own.
    given : sequence
        Further hypotheses: conditions of SymPy.
    derivation : Derivation, a function that makes one, or None

    Examples
    --------
    >>> from airtight.analytics.forms.domain import parameter
    >>> x = parameter("x", -1.0, 1.0)
    >>> derived(at_most(abs(x), 1 - abs(x) + abs(x) ** 2 / 2), {}, (), Derivation(split=x)).proved
    False
    """
    if derivation is None:
        return prove(made, domain, given)
    started = time.perf_counter()
    ranges = {**made.domain(), **domain}
    if not _met(given, ranges):  # of a case inside a derivation it may be so, and then there is nothing to prove
        return Proof(Status.OPEN, "derivation", reason="no point was found at which all hypotheses hold")
    return replace(_shown(made, ranges, given, derivation), seconds=time.perf_counter() - started)


def _shown(made: Relation, domain: Mapping[str, Range], given: Sequence[Any], derivation: Any) -> Proof:
    how = derivation() if callable(derivation) else derivation
    return prove(made, domain, given) if how is None else _checked(made, domain, given, how)


def _checked(made: Relation, domain: Mapping[str, Range], given: Sequence[Any], derivation: Derivation) -> Proof:
    if derivation.each is not None and any(side.has(*_BINDING) for side in (made.actual, made.claimed) if made.symbolic):
        return Proof(Status.OPEN, "derivation", reason="a value may not take the place of a bound symbol")
    if not made.symbolic or any(not isinstance(condition, sp.Basic) for condition in given):
        return Proof(Status.OPEN, "derivation", reason="a side or a hypothesis is computed by code")
    every = [made.actual, made.claimed, *_expressions(derivation)]
    hypotheses = [side for condition in given for one in condition.atoms(sp.core.relational.Relational) for side in one.args]
    if beyond := _meant_otherwise([*every, *hypotheses], domain):
        return Proof(Status.OPEN, "derivation", reason=beyond)
    task = _Links(domain, tuple(given), derivation.boxes)
    for fact in derivation.facts:
        condition, how = fact if isinstance(fact, tuple) else (fact, None)
        if condition == sp.true:
            continue
        if not task.take(_shown(relation(condition), domain, task.given, how), f"{condition}"):
            return task.proof()
        task.given = (*task.given, condition)
    if derivation.each is not None and not domain[derivation.each.name].integer:
        return Proof(Status.OPEN, "derivation", reason=f"{derivation.each}: must be an integer to be tried at each value")
    if derivation.split is not None and not _has_values(derivation.split, domain, task.given):
        return Proof(Status.OPEN, "derivation", reason=f"{derivation.split}: may have no value somewhere in the domain")
    if derivation.each is not None:
        for value in domain[derivation.each.name].values:
            at = {derivation.each: sp.Integer(int(value))}
            sides = {name: getattr(made, name).xreplace(at) for name in ("actual", "claimed")}
            known = [c for c in (condition.xreplace(at) for condition in task.given) if c != sp.true]
            rest = derivation.at_each(int(value)) if derivation.at_each else Derivation()
            if not task.take(_checked(replace(made, **sides), domain, known, rest), f"at {derivation.each} = {value}"):
                break
    elif derivation.split is None:
        task.chain(made, derivation)
    else:
        for condition, how in ((derivation.split > 0, derivation.above), (derivation.split <= 0, derivation.below)):
            known = list(task.given) if condition == sp.true else [*task.given, condition]
            if condition != sp.false and not task.take(_checked(made, domain, known, how or Derivation()), f"where {condition}"):
                break
    if task.failed is not None or derivation.split is not None or derivation.each is not None:
        return task.proof()
    whole = Proof(Status.PROVED, "identity")
    resolved = [_resolved(side, task.given) for side in (made.actual, made.claimed)]
    if not all(_has_values(side, domain, task.given) for side in resolved):
        whole = Proof(Status.OPEN, reason="a side may be undefined somewhere in the domain")
    task.take(whole, "both sides")
    return task.proof()


@dataclass
class _Links:
    """The links of a derivation that are proved, on one domain."""

    domain: Mapping[str, Range]
    given: tuple[Any, ...]
    boxes: int
    total: int = 0
    depth: int = 0
    only_identities: bool = True
    failed: Proof | None = None
    seen: set[int] = field(default_factory=set)
    shown: set[tuple[sp.Expr, sp.Expr]] = field(default_factory=set)

    def take(self, proof: Proof, what: str) -> bool:
        """Count a proof; keep the first that fails."""
        self.total, self.depth = self.total + proof.boxes, max(self.depth, proof.depth)
        self.only_identities &= proof.method == "identity"
        if not proof.proved and self.failed is None:
            refuted = proof.status is Status.REFUTED
            reason = proof.reason or (f"false at {proof.counterexample}" if refuted else "not shown")
            self.failed = Proof(Status.OPEN, reason=f"{what}: {reason}")
        return proof.proved

    def proof(self) -> Proof:
        method = "identity" if self.only_identities else "derivation"
        if self.failed is not None:
            return replace(self.failed, method="derivation", boxes=self.total, depth=self.depth)
        return Proof(Status.PROVED, method, self.total, self.depth)

    def chain(self, made: Relation, derivation: Derivation) -> bool:
        """Every link, from the smaller side to the greater one."""
        low, high = _ordered(made)
        between = [s if isinstance(s, Step) else Step(s) for s in derivation.through]
        for step in between:  # a pole would cancel in both links, and leave the sides uncompared where it is
            if not _has_values(_resolved(step.expression, self.given), self.domain, self.given):
                return self.take(Proof(Status.OPEN, reason="may have no value somewhere in the domain"), f"{step.expression}")
        steps = [Step(low), *between, Step(high, derivation.uses)]
        for number, (one, other) in enumerate(pairwise(steps), 1):
            what = f"link {number}"
            ends = [_resolved(step.expression, self.given) for step in (one, other)]
            if made.sign is Sign.EQUAL or not other.uses:
                if _same(*ends):
                    continue
                if made.sign is not Sign.EQUAL and self.known(*ends):
                    self.only_identities = False
                    continue
                self.only_identities = False
                if made.sign is Sign.EQUAL:
                    return self.take(Proof(Status.OPEN, reason="SymPy does not bring the difference to 0"), what)
                if not self.take(prove(at_most(*ends), self.domain, self.given, boxes=self.boxes), what):
                    return False
            elif not self.used(ends, other.uses, what):
                return False
        return True

    def used(self, ends: list[sp.Expr], uses: Sequence[Any], what: str) -> bool:
        """A link by lemmas: the difference is theirs, their factors are not negative, and what they need holds."""
        self.only_identities = False
        weighted = [use if isinstance(use, tuple) else (sp.Integer(1), use) for use in uses]
        rest = ends[1] - ends[0]
        for _, use in weighted:
            if id(use.lemma) not in self.seen and not self.take(use.lemma.proof(), f"{what}: a lemma"):
                return False
            self.seen.add(id(use.lemma))
        said = [(factor, *use.lemma.says(use)) for factor, use in weighted]
        if any(side.has(sp.Float) for _, *sides, _ in said for side in sides):
            return self.take(Proof(Status.OPEN, reason="a lemma must have exact numbers, no floats"), what)
        for factor, *sides, _ in said:
            low, high = (_resolved(side, self.given) for side in sides)
            rest -= factor * (high - low)
        if not _same(rest, sp.Integer(0)):
            return self.take(Proof(Status.OPEN, reason="the lemmas do not add up to the difference"), what)
        return all(self.holds(c, what) for factor, *_, needed in said for c in (at_least(factor, 0), *needed))

    def known(self, low: sp.Expr, high: sp.Expr) -> bool:
        """Whether low <= high is a hypothesis, or follows from hypotheses for the arguments of a Max or Min."""
        if isinstance(low, sp.Max) and low != high:
            return all(self.known(one, high) for one in low.args)
        among = (isinstance(high, sp.Max) and low in high.args) or (isinstance(low, sp.Min) and high in low.args)
        return bool(low == high or among or any(_says(condition, low, high) for condition in self.given))

    def holds(self, needed: Any, what: str) -> bool:
        """What a lemma needs: a hypothesis, or proved."""
        if isinstance(needed, _Seen):
            seen = _positive(needed.expression, self.given, only_real=not needed.positive)
            reason = "" if seen else f"{needed.expression} is not seen to be {'positive' if needed.positive else 'real'}"
            return self.take(Proof(Status.PROVED if seen else Status.OPEN, reason=reason), what)
        low, high = _ordered(needed)
        if needed.sign is Sign.EQUAL:
            return self.take(Proof(Status.OPEN, reason="an equation is no hypothesis of a lemma"), what)
        if (low, high) in self.shown or self.known(low, high):
            return True
        if low == 0 and isinstance(high, sp.Mul):
            return all(self.holds(at_least(factor, 0), what) for factor in high.args)
        if low == 0 and _positive(high, self.given):
            return True
        proof = prove(at_most(low, high), self.domain, self.given, boxes=self.boxes)
        if proof.proved:
            self.shown.add((low, high))
        return self.take(proof, f"{what}: {low} <= {high}")


def _expressions(derivation: Derivation) -> Iterator[sp.Expr]:
    """All that a derivation brings, but for its cases, which bring theirs."""
    yield from () if derivation.split is None else (derivation.split,)
    for step in derivation.through:
        yield sp.sympify(step.expression if isinstance(step, Step) else step)
    for fact in derivation.facts:
        condition = fact[0] if isinstance(fact, tuple) else fact
        yield from (side for side in condition.args if isinstance(side, sp.Expr))
    for uses in (derivation.uses, *(step.uses for step in derivation.through if isinstance(step, Step))):
        for use in uses:
            factor, one = use if isinstance(use, tuple) else (sp.Integer(1), use)
            yield from (sp.sympify(factor), *one.values.values(), *one.ends)


def _meant_otherwise(expressions: Sequence[sp.Expr], domain: Mapping[str, Range]) -> str:
    """Why SymPy may take a symbol for another one, or a number for finite; empty where it does not.

    SymPy distinguishes symbols by assumptions and ranges as well, boxes by name: a second symbol of a name would let SymPy
    assume of a parameter what its domain does not grant.
    """
    try:
        one_each(expressions)
    except ParameterError as error:
        return " ".join(str(error).split())
    for expression in expressions:
        if expression.has(sp.oo, -sp.oo, sp.zoo, sp.nan):
            return f"{expression}: must be finite"
        if expression.has(sp.Float):  # in which SymPy rounds exact numbers away
            return f"{expression}: must have exact numbers, no floats"
    return beyond_assumptions(expressions, domain)


def _met(given: Sequence[Any], domain: Mapping[str, Range]) -> bool:
    """Whether all hypotheses hold at one of some points: from those that contradict each other everything would follow."""
    conditions = [condition for condition in given if isinstance(condition, sp.Basic)]
    symbols = sorted({s.name: s for condition in conditions for s in condition.free_symbols}.items())
    ranges = [one for name, s in symbols if (one := domain.get(name, getattr(s, "range", None))) is not None]
    if not symbols or len(ranges) < len(symbols):
        return all(condition != sp.false for condition in conditions)
    hypotheses = [decided(condition) for condition in conditions]
    for shares in qmc.Halton(len(symbols), scramble=False).random(_POINTS):
        values = (exact(r.at(float(share))) for r, share in zip(ranges, shares, strict=True))
        point = {name: flint.arb(flint.fmpq(x.numerator, x.denominator)) for (name, _), x in zip(symbols, values, strict=True)}
        if all(holds(point) is True for holds in hypotheses):
            return True
    return False


def _ordered(made: Relation) -> tuple[sp.Expr, sp.Expr]:
    """The smaller side and the greater one."""
    return (made.claimed, made.actual) if made.sign is Sign.AT_LEAST else (made.actual, made.claimed)


def _inside(value: sp.Expr, allowed: Range) -> Iterator[Relation]:
    """What says that an expression stays in a range."""
    yield at_least(value, sp.Rational(exact(allowed.low)))
    yield at_most(value, sp.Rational(exact(allowed.high)))


def _says(condition: Any, low: sp.Expr, high: sp.Expr) -> bool:
    """Whether a hypothesis is low <= high, or stronger, in other words."""
    if not isinstance(condition, sp.Le | sp.Lt | sp.Ge | sp.Gt):
        return False
    spare = (high - low) - (condition.gts - condition.lts)
    return bool(spare.is_number and spare.is_nonnegative) or sp.expand(spare) == 0


def _smooth(function: sp.Expr, conditions: Sequence[Any] = ()) -> bool:
    """Whether a function has values and derivatives for all real values of its parameters, positive ones where that is declared,
    that meet the conditions."""
    powers = [power for power in function.atoms(sp.Pow) if not (power.exp.is_integer and power.exp.is_nonnegative)]
    other = [c.lhs - c.rhs for c in conditions if isinstance(c, sp.Ne)]
    bases = {power.base for power in powers if not (power.exp.is_integer and any(_zero(power.base, one) for one in other))}
    bases |= {logarithm.args[0] for logarithm in function.atoms(sp.log)}
    known = all(isinstance(part, _SMOOTH) and part.is_infinite is not True for part in sp.preorder_traversal(function))
    return known and all(_positive(base, conditions) for base in bases - {sp.E})


def _zero(one: sp.Expr, other: sp.Expr) -> bool:
    """Whether two expressions are 0 together, being the same or of opposite sign."""
    return bool(sp.expand(one - other) == 0 or sp.expand(one + other) == 0)


def _positive(expression: sp.Expr, conditions: Sequence[Any], *, only_real: bool = False) -> bool:
    """Whether SymPy sees that an expression is positive, or real, where these conditions hold; erfc is positive."""
    if expression.has(*_BINDING):  # a hypothesis may speak of the symbol that is bound there
        return False
    known = [(isinstance(c, sp.Lt | sp.Gt), c.gts - c.lts) for c in conditions if isinstance(c, sp.Le | sp.Lt | sp.Ge | sp.Gt)]
    for strict, surplus in known:
        spare = expression - surplus
        if spare.is_number and (spare.is_positive or (strict and spare.is_zero)):
            return True
    if not only_real and isinstance(expression, sp.Mul | sp.Min) and all(_positive(e, conditions) for e in expression.args):
        return True
    if not only_real and isinstance(expression, sp.Add):  # one positive, the others not negative
        others = [e for e in expression.args if not e.is_nonnegative]
        if len(others) < 2 and all(_positive(e, conditions) for e in others or expression.args[:1]):
            return True
    if not only_real and isinstance(expression, sp.Pow) and expression.exp.is_real and _positive(expression.base, conditions):
        return True
    if not only_real and isinstance(expression, sp.Max) and any(_positive(e, conditions) for e in expression.args):
        return True
    for strict, surplus in sorted(known, key=lambda pair: -sp.count_ops(pair[1])):  # else a part of one replaces it first
        number, rest = surplus.as_coeff_Add()
        if number < 0 or (strict and number == 0):
            expression = expression.subs(rest, sp.Dummy(positive=True))
    expression = expression.replace(lambda e: isinstance(e, sp.erfc) and e.args[0].is_real, lambda e: sp.Dummy(positive=True))
    return bool(expression.is_real if only_real else expression.is_positive)


def _same(one: sp.Expr, other: sp.Expr) -> bool:
    """Whether two expressions are one after their products are multiplied out."""
    difference = one - other
    return bool(difference == 0 or sp.expand(difference) == 0 or identical(difference, sp.Integer(0)))


def _resolved(expression: Any, conditions: Sequence[Any]) -> sp.Expr:
    """The expression where the conditions hold: without those Max, Min, Abs and Piecewise of which they say the value."""
    expression = sp.sympify(expression)
    if expression.has(sp.Sum):
        expression = expression.doit()
    if expression.has(*_BINDING):  # a hypothesis may speak of the symbol that is bound there
        return expression
    for condition in conditions:
        if isinstance(condition, sp.Le | sp.Lt | sp.Ge | sp.Gt) and expression.has(*_KINKED):
            expression = _where(expression, condition)
    return expression


@lru_cache(maxsize=1 << 14)  # the links of a derivation share sides and conditions
def _where(expression: sp.Expr, condition: Any) -> sp.Expr:
    """The expression where one condition holds."""
    chosen = _chosen(condition.gts - condition.lts)
    expression = expression.replace(lambda e: isinstance(e, sp.Max | sp.Min | sp.Abs), chosen)
    return expression.replace(lambda e: isinstance(e, sp.Piecewise), partial(_branches, condition))


def _branches(known: Any, piecewise: sp.Piecewise) -> sp.Expr:
    """A Piecewise where a condition holds: without the branches of which it says whether they count."""
    branches = list[tuple[Any, Any]]()
    for value, condition in piecewise.args:
        if _follows(condition, known):
            return sp.Piecewise(*branches, (value, True))
        if not _follows(sp.Not(condition), known):
            branches.append((value, condition))
    return sp.Piecewise(*branches)


def _follows(condition: Any, known: Any) -> bool:
    """Whether an inequality follows from another one because its surplus is a multiple of the other's."""
    if condition == sp.true or not isinstance(condition, sp.Le | sp.Lt | sp.Ge | sp.Gt):
        return bool(condition == sp.true)
    ratio = sp.cancel((condition.gts - condition.lts) / (known.gts - known.lts))
    strict = isinstance(condition, sp.Lt | sp.Gt)
    return bool(ratio.is_positive if strict else ratio.is_nonnegative) and (not strict or isinstance(known, sp.Lt | sp.Gt))


def _chosen(positive: sp.Expr) -> Callable[[Any], sp.Expr]:
    """What a Max, Min or Abs is where this expression is not negative."""

    def ordered(small: sp.Expr, great: sp.Expr) -> bool:
        return _at_least_zero(great - small, positive)

    def chosen(e: Any) -> sp.Expr:
        if isinstance(e, sp.Abs):
            inner = e.args[0]
            return inner if ordered(sp.Integer(0), inner) else -inner if ordered(inner, sp.Integer(0)) else e
        kept = list(e.args)
        for one in e.args:
            rivals = [other for other in kept if other is not one]
            if any(ordered(one, other) if isinstance(e, sp.Max) else ordered(other, one) for other in rivals):
                kept = rivals
        return e.func(*kept)

    return chosen


@lru_cache(maxsize=1 << 14)  # the sides of a chain hold the same Max and Min
def _at_least_zero(difference: sp.Expr, positive: sp.Expr) -> bool:
    """Whether SymPy sees that the difference is not negative where `positive` is not negative."""
    return bool(difference == positive or difference.is_nonnegative or sp.cancel(difference / positive).is_nonnegative)


def _has_values(side: sp.Expr, domain: Mapping[str, Range], given: Sequence[Any]) -> bool:
    """Whether an expression has a finite real value wherever the hypotheses hold."""
    if side.has(sp.oo, -sp.oo, sp.zoo, sp.nan):  # of which SymPy may make one by itself
        return False
    try:
        return _smooth(side, given) or Defined(side, sp.Integer(0), domain, given, _DEFINED).run().proved
    except UnsupportedExpression:
        return False
