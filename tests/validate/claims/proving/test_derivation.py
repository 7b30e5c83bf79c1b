"""Derivations: each row that has one is proved by it, and no false link, lemma, use or case passes."""

from dataclasses import replace

import pytest
import sympy as sp

from airtight.analytics.forms.domain import Range, parameter
from airtight.validate.claims.evidence import How, shipped
from airtight.validate.claims.proving.derivation import Derivation, Lemma, Monotone, Step, Use, derived
from airtight.validate.claims.proving.proof import prove
from airtight.validate.claims.relation import Sign, at_least, at_most, equal
from airtight.validate.claims.sources import INSTALLED
from airtight.validate.papers import lemmas

X, T = parameter("x", 0.0, 2.0), parameter("t", 0.0, 1.0)
S = parameter("s", -1.0, 1.0)
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
    with pytest.raises(TypeError, match="its method `at`"):
        Use(lemmas.NOT_NEGATIVE, sp.Integer(1), sp.Integer(0), ())
    captured = Lemma(at_most(sp.Sum(y, (k, 1, 3)), 3 * y))
    with pytest.raises(TypeError, match="bound symbol"):
        captured.at(y=k)
