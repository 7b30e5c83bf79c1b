"""Derivations: each row that has one is proved by it, and no false link, lemma, use or case passes."""

from dataclasses import replace

import pytest
import sympy as sp

from airtight.analytics.forms.domain import Range, parameter
from airtight.validate.claims.evidence import How, shipped
from airtight.validate.claims.proving.boxes import Proof, Status
from airtight.validate.claims.proving.derivation import Derivation, Lemma, Monotone, Step, Use, derived
from airtight.validate.claims.proving.proof import prove
from airtight.validate.claims.relation import Sign, at_least, at_most, equal
from airtight.validate.claims.sources import INSTALLED
from airtight.validate.papers import lemmas

X, T = parameter("x", 0.0, 2.0), parameter("t", 0.0, 1.0)
S, Y = parameter("s", -1.0, 1.0), parameter("y", -1.0, 1.0)
N = parameter("n", 0, 2, integer=True)
HALF = sp.Rational(1, 2)
QUARTER = Lemma(T * (1 - T) <= HALF**2)
TANH_RISES = Monotone(sp.tanh(S), S, 1 / sp.cosh(S) ** 2, everywhere=True)
RISES = Monotone(sp.exp(T), T, everywhere=True)
ROWS = {name: claim for name, claim in INSTALLED.claims().items() if claim.derivation is not None}
QUICK = ("FDP-T1-gamma*", "FDP-F3-min", "CB-X8", "CB-T2*-pair", "CB-T1*-limit", "UF-E5*", "UF-E42", "UF-E47", "UF-E52", "UF-E6")


def proof(relation, derivation, given=(), domain=None):
    return derived(relation, domain or {}, given, derivation)


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in ROWS])
def test_rows_are_proved_and_an_error_of_a_hundredth_is_not(name):
    row = ROWS[name]
    assert proof(row.provable, row.derivation, row.given, row.domain).proved
    factor = sp.Rational(99 if row.provable.sign is Sign.AT_LEAST else 101, 100)
    planted = replace(row.provable, actual=factor * row.provable.actual)
    assert not proof(planted, row.derivation, row.given, row.domain).proved


def test_rows_with_a_derivation_are_known_by_it():
    known = {e.claim.id: e.how for e in shipped().evidence}
    assert set(QUICK) <= set(ROWS) and all(known[name] in (How.PROVED, How.IDENTITY) for name in ROWS)


TANH = sp.tanh(X)


@pytest.mark.parametrize(
    "relation, derivation",
    [
        (at_most(TANH - TANH**2, HALF**2), Derivation(uses=[QUARTER.at(t=TANH)])),
        (at_least(HALF**2, TANH - TANH**2), Derivation(uses=[QUARTER.at(t=TANH)])),
        (at_most(TANH - TANH**2, 1), Derivation(through=[Step(HALF**2, [QUARTER.at(t=TANH)])])),
        (at_most(X * TANH, X * sp.tanh(X + 1)), Derivation(uses=[(X, TANH_RISES.at(X, X + 1))])),
        (equal(abs(S) ** 3, S**2 * abs(S)), Derivation(split=S)),
        (equal(sp.Max(S, -S), abs(S)), Derivation(split=S)),
        (equal(sp.Piecewise((S, S > 0), (-S, True)), abs(S)), Derivation(split=S)),
        (equal((X + N) ** 2 - X**2, 2 * N * X + N**2), Derivation(each=N)),
        (at_most(X * (X - 2), 0), Derivation(facts=[(X <= 2)], uses=[(X, Lemma(at_least(X, 0)).at(x=2 - X))])),
    ],
)
def test_true_chains(relation, derivation):
    found = proof(relation, derivation)
    assert found.proved, found.reason


@pytest.mark.parametrize(
    "relation, derivation, reason",
    [
        (at_most(2 * X - (2 * X) ** 2, HALF**2), Derivation(uses=[QUARTER.at(t=2 * X)]), "<= 1"),  # out of the lemma's domain
        (at_most(TANH - TANH**2, sp.Rational(6, 25)), Derivation(uses=[QUARTER.at(t=TANH)]), "add up"),
        (at_most(-TANH * (T - T**2), -TANH * HALF**2), Derivation(uses=[(-TANH, QUARTER.at(t=T))]), "0 <="),  # a negative factor
        (at_most(T * (1 - T), HALF / 3), Derivation(uses=[Lemma(T * (1 - T) <= HALF / 3).at(t=T)]), "a lemma"),
        (at_most(sp.exp(X), sp.exp(1)), Derivation(uses=[RISES.at(X, 1)]), "x <= 1"),  # not in this order
        (at_most(X, 1), Derivation(facts=[(X <= 1)]), "x <= 1"),  # a fact that is none
        (at_most(X, 3), Derivation(through=[1]), "link 1"),
        (equal(abs(S), S), Derivation(split=S), "where"),
        (equal(sp.Piecewise((S, S > 0), (S**2, True)), S), Derivation(split=S), "where"),
        (equal(X + N, X * (1 + N)), Derivation(each=N), "at n = 1"),
        (equal((X**2 - 1) / (X - 1), X + 1), Derivation(), "undefined"),
        (at_most(abs(S), 1 - abs(S) / 100), Derivation(split=S), "where"),
    ],
)
def test_false_chains(relation, derivation, reason):
    found = proof(relation, derivation)
    assert not found.proved and reason in found.reason, found


def test_functions_that_are_not_monotone_are_refused():
    assert not Monotone(T**2 - T, T).proof().proved
    assert not Monotone(sp.exp(T), T, 2 * sp.exp(T)).proof().proved  # another slope
    assert not Monotone(abs(T - HALF) + T, T).proof().proved  # a kink
    assert not Monotone(1 / T, T, everywhere=True).proof().proved  # a pole at 0
    assert not Monotone(2**N, N).proof().proved  # of integers a derivative says nothing
    assert not Monotone(sp.exp(T) - 3 * T, T, everywhere=True).proof().proved  # its sign is not seen


def test_a_use_obeys_the_domain_of_the_claim_and_not_the_symbol():
    use = Derivation(uses=[QUARTER.at(t=T)])
    claimed = at_most(T * (1 - T), HALF**2)
    assert proof(claimed, use).proved and not proof(claimed, use, domain={"t": Range(0.0, 2.0)}).proved
    assert "declared" in proof(claimed, use, domain={"t": Range(-1.0, 1.0)}).reason
    with pytest.raises(TypeError, match="must be an integer"):
        Lemma(at_most(N, 2)).at(n=X)
    with pytest.raises(TypeError, match="must be of"):
        QUARTER.at(x=X)


def test_hypotheses_of_a_lemma_are_needed():
    lemma = Lemma(at_most(T**2, X**2), [T <= X])
    assert lemma.proof().proved
    assert proof(at_most(T**2, X**2), Derivation(uses=[lemma.at(t=T, x=X)]), [T <= X]).proved
    assert not proof(at_most(T**2, X**2), Derivation(uses=[lemma.at(t=T, x=X)])).proved
    assert not proof(at_most(T**2, X**2), Derivation(uses=[lemma.at(t=T, x=X)]), [T >= X]).proved


def test_what_a_referee_slipped_in_is_refused():
    """A real parameter tried at one value, floats, contradictory hypotheses, a split without a value, a use made by hand."""
    x, s = parameter("x", 0.0, 2.0), parameter("s", -1.0, 1.0)
    k, y = parameter("k", 0.0, 1.0), parameter("y", 0.0, 10.0)
    assert not derived(at_most(x * (2 - x), 0), {}, (), Derivation(each=x)).proved
    assert not derived(at_most(1 + sp.Rational(1, 10**20), 1), {}, (), Derivation(through=[sp.Float(1.0)])).proved
    assert not prove(equal(1 + sp.Rational(1, 10**20) + x, x + sp.Float(1.0)), {"x": x.range}).proved
    assert not derived(at_most(x, 1), {}, (x <= 1, x >= sp.Rational(3, 2)), Derivation()).proved
    assert not derived(at_least(sp.Max(0, 1 / s), 0), {}, (), Derivation(split=1 / s)).proved
    captured = Lemma(at_most(sp.Sum(y, (k, 1, 3)), 3 * y))
    with pytest.raises(TypeError, match="bound symbol"):
        captured.at(y=k)


EVERYWHERE = {symbol.name: symbol.range for symbol in (X, T, S, Y, N)}
POSITIVE = sp.Symbol("s", positive=True)  # another symbol by the name of S, of which SymPy assumes what the domain does not grant
AT_ORIGIN = sp.Piecewise((1, sp.Eq(S, 0)), (0, True))
NOT_NEGATIVE = lemmas.NOT_NEGATIVE
FLOAT = sp.Float(1.0)
PLANTED = {
    "a split by a symbol of the same name": (at_least(S, 0), lambda: Derivation(split=POSITIVE * S), ()),
    "a factor of the same name": (at_least(S, 0), lambda: Derivation(uses=[(POSITIVE, NOT_NEGATIVE.at(number=1))]), ()),
    "a step of the same name": (at_most(S, HALF), lambda: Derivation(through=[parameter("s", -1.0, 0.25)]), ()),
    "a symbol without a domain": (at_most(X, 1), lambda: Derivation(through=[parameter("z", 1.0, 1.0)]), ()),
    "a pole of a step": (at_most(AT_ORIGIN, 0), lambda: Derivation(through=[AT_ORIGIN * S * (S + 1) / (S**2 + S)]), ()),
    "a root next to a pole": (equal(S**HALF + 1 / S, 1 / S + S**HALF), Derivation, (sp.Ne(S, 0),)),
    "a surplus times a square": (at_least(sp.Max(0, S), sp.Abs(S)), Derivation, (Y**2 * S >= 0,)),
    "a surplus times a number of any sign": (equal(sp.Abs(S), -S), Derivation, (Y * S <= 0,)),
    "a strict branch": (equal(sp.Piecewise((0, S > 0), (1, True)), 0), Derivation, (S >= 0,)),
    "an infinite step": (at_most(X, 1), lambda: Derivation(through=[sp.oo]), ()),
    "an infinite value": (at_most(X, 1), lambda: Derivation(uses=[NOT_NEGATIVE.at(number=sp.oo)]), ()),
    "a factor that divides by 0": (at_most(0, 1), lambda: Derivation(uses=[(1 / X, NOT_NEGATIVE.at(number=X))]), ()),
    "a factor of any sign": (at_most(S * T * (1 - T), S / 4), lambda: Derivation(uses=[(S, QUARTER.at(t=T))]), ()),
    "a negative factor": (at_most(0, -1), lambda: Derivation(uses=[(-1, NOT_NEGATIVE.at(number=1))]), ()),
    "a factor of 0": (at_most(1, 0), lambda: Derivation(uses=[(0, NOT_NEGATIVE.at(number=1))]), ()),
    "hypotheses without a value": (at_most(X, 1), Derivation, (sp.log(S) <= -1, S <= 0)),
    "a hypothesis the wrong way": (at_most(X, 1), Derivation, (X >= 1,)),
    "a hypothesis that is too weak": (at_most(2 * X, 1), Derivation, (X <= 1,)),
    "a lemma out of its domain": (at_most(X**2, X), lambda: Derivation(uses=[Lemma(T**2 <= T).at(t=X)]), ()),
    "a lemma without its hypothesis": (at_most(T, X), lambda: Derivation(uses=[Lemma(at_most(T, X), [T <= X]).at(t=T, x=X)]), ()),
    "a logarithm below 0": (at_most(sp.log(S), sp.log(X)), lambda: Derivation(uses=[lemmas.LOG_RISES.at(S, X)]), (S <= X,)),
    "a root below 0": (at_most(sp.sqrt(S), sp.sqrt(X)), lambda: Derivation(uses=[lemmas.ROOT_RISES.at(S, X)]), (S <= X,)),
    "a pole between the ends": (
        at_most(1 / sp.tanh(T), 1 / sp.tanh(S)),
        lambda: Derivation(uses=[lemmas.COTH_FALLS.at(S, T)]),
        (S <= T,),
    ),
    "a jump between the ends": (
        at_most(-sp.floor(0), T - sp.floor(T) - HALF),
        lambda: Derivation(uses=[Monotone(S - sp.floor(S), S).at(0, T)]),
        (),
    ),
    "ends in the wrong order": (at_most(sp.exp(X), sp.exp(T)), lambda: Derivation(uses=[RISES.at(X, T)]), ()),
    "an equation by an inequality": (equal(X, X + 1), lambda: Derivation(uses=[NOT_NEGATIVE.at(number=1)]), ()),
    "a bound symbol of a hypothesis": (equal(sp.Sum(sp.Abs(S) + S, (S, -1, N)), 0), Derivation, (S <= 0,)),
    "a value for a bound symbol": (equal(sp.Sum(N * X, (N, 0, 2)), 0), lambda: Derivation(each=N), ()),
    "a fact of the other case": (
        at_most(X, 1),
        lambda: Derivation(split=X - 1, above=Derivation(), below=Derivation(facts=[(X <= 1)])),
        (),
    ),
    "a fact by itself": (at_most(X, 1), lambda: Derivation(facts=[(X <= 1, Derivation(facts=[(X <= 1)]))]), ()),
    "a float": (at_most(1 + sp.Rational(1, 10**20), 1), lambda: Derivation(through=[FLOAT]), ()),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_derivations_of_false_claims_are_refused(name):
    relation, derivation, given = PLANTED[name]
    assert not derived(relation, EVERYWHERE, given, derivation).proved


def test_a_strict_fact_is_no_fact():
    with pytest.raises(TypeError, match="strict"):
        derived(at_most(X, 2), {}, (), Derivation(facts=[(X < 2)]))


def test_an_extra_value_of_an_integer_is_one_of_its_cases():
    assert not derived(at_most(N, 2), {"n": Range(0, 2, integer=True, extra=(5,))}, (), Derivation(each=N)).proved


def test_a_use_brings_no_inequality_of_its_own():
    class Believed(Lemma):
        def proof(self):
            return Proof(Status.PROVED)

    with pytest.raises(TypeError, match="high"):
        replace(QUARTER.at(t=T), high=0)
    with pytest.raises(TypeError, match="Believed"):
        Believed(at_most(T, HALF)).at(t=T)


def test_floats_hide_no_difference_from_boxes():
    assert not prove(at_most(1 + sp.Rational(1, 10**20), FLOAT)).proved and prove(at_most(FLOAT, 1)).proved


def test_sums_and_binomials_mean_one_thing():
    """SymPy counts an empty sum backwards and mirrors a binomial below 0, which both are 0 by value: 1 <= 0 would follow."""
    i, m = sp.Symbol("i", integer=True), parameter("m", -3, -1, integer=True)
    empty = sp.Sum(1, (i, 1, m))
    backwards = Derivation(facts=[(empty >= 0)], through=[-m], uses=[NOT_NEGATIVE.at(number=empty)])
    assert not derived(at_most(1, 0), {"m": m.range}, (), backwards).proved
    assert not derived(equal(empty, m), {"m": m.range}, (), Derivation()).proved
    n, k = parameter("n", -1, 3, integer=True), parameter("k", 0, 2, integer=True)
    mirrored = sp.binomial(n, k) - sp.binomial(n, n - k)
    ranges = {"n": n.range, "k": k.range}
    assert not derived(at_most(1, 0), ranges, (n <= -1, k >= 2), Derivation(through=[mirrored])).proved
    assert not prove(equal(mirrored, 0), ranges).proved


def test_a_lemma_keeps_its_hypotheses_exact():
    x, t = parameter("x", 0.0, 2.0), parameter("t", 0.0, 2.0)
    q = parameter("q", 0.0, 2.0)
    with pytest.raises(TypeError, match="floats"):
        Lemma(at_most(t, q), [sp.Le(t, sp.Float(1.0) * q)]).at(t=x, q=x)
    hypotheses = [t <= q]
    lemma = Lemma(at_most(t**2, q**2), hypotheses)
    assert lemma.proof().proved
    use = lemma.at(t=x, q=q)
    hypotheses.clear()
    assert not derived(at_most(x**2, q**2), {}, (), Derivation(uses=[use])).proved


def test_a_use_is_of_the_parameters_of_its_lemma():
    t, n, x = parameter("t", 0.0, 1.0), parameter("n", 0, 3, integer=True), parameter("x", 0.0, 1.0)
    of_one, whole = Lemma(at_most(t, 1)), Lemma(at_most(0, n * (n - 1)))
    for lemma, values in ((of_one, {t: x / 4, sp.Integer(1): sp.Integer(0)}), (whole, {n: t}), (of_one, {})):
        with pytest.raises(TypeError, match="must be"):
            Use(lemma, values)
    with pytest.raises(TypeError, match="must be of the parameters"):
        Use(Monotone(sp.exp(t * x), t), {}, (sp.Integer(0), sp.Integer(1)))


def test_no_symbol_is_what_no_domain_grants():
    z = sp.Symbol("z", imaginary=True)
    assert not derived(at_most(z**2, 1), {"z": Range(-5.0, 5.0)}, (), Derivation(uses=[NOT_NEGATIVE.at(number=1 - z**2)])).proved
    assert not prove(at_most(z**2, 0), {"z": Range(-5.0, 5.0)}).proved
