"""The audit settles every claim as the ledger says, and cannot be fooled by an error of one per cent."""

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from analytics.checks import ParameterError
from analytics.enclosures.ball import ball
from validate.claims import audit
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.claims.search import audit as settle
from validate.claims.search import shrink
from validate.papers import claims

TRUE = [c for c in claims().values() if c.expected in (Verdict.HOLDS, Verdict.HOLDS_UNDER)]
DEFINITIONS = [c for c in claims().values() if c.expected is Verdict.DEFINITION]
REFUTED = [c for c in claims().values() if c not in (*TRUE, *DEFINITIONS) and c.id != "FDP-R1"]
BUDGET, PATIENCE = 2.0, 20.0  # seconds: for claims that survive anyway, for violations that have to be found


@pytest.mark.parametrize("claim", claims().values(), ids=lambda c: c.id)
def test_as_the_ledger_says(claim):
    evidence = settle(claim, budget=BUDGET if claim in TRUE else PATIENCE)
    assert evidence.as_expected, (evidence.verdict, evidence.witness)


@pytest.mark.parametrize("claim", REFUTED, ids=lambda c: c.id)
def test_refuted_claims_come_with_a_certified_short_witness(claim):
    witness = settle(claim, budget=PATIENCE, seed=1).witness
    assert witness is not None and witness.certified
    assert all(len(text) <= 12 for text in witness.text().values()), witness.text()
    for name, value in witness.point.items():
        assert claim.domain[name].allows(value)
    proved, _ = claim.proved_violated(witness.point)
    assert proved


@pytest.mark.parametrize("claim", [*TRUE, *DEFINITIONS, claims()["FDP-R1"]], ids=lambda c: c.id)
def test_one_per_cent_is_caught(claim):
    """A true formula perturbed by 1 % in the unsafe direction makes the audit fail."""
    loose = {  # bounds that are never tight need a larger error
        "FDP-D2-eps1": 3.4,
        "FDP-L3*": 1.4,
        "FDP-E23*": 6.0,
        "FDPs-MSE": 3.4,
        "FDP-E15": 2.02,
        "FDP-R8": 1.5,
        "CB-T2": 1.8,
        "CB-T2n": 1.5,
        "CB-P1": 1.03,
        "CB-X1-gauss": 2.1,
        "CB-X3": 1.02,
        "UF-P1": 3.4,
        "UF-E25": 3.4,
        "UF-C4": 1.6,
        "UF-F2-std": 2.1,
        "UF-E52": 1.02,
        "UF-F1": 1.1,
        "UF-F1-std": 4.0,
    }
    factor = loose.get(claim.id, 1.01)
    if claim.relation is Relation.AT_LEAST:
        factor = 1 / factor
    planted = dataclasses.replace(claim, claimed=lambda **p: claim.claimed(**p) / factor)
    evidence = settle(planted, budget=PATIENCE)
    assert not evidence.as_expected and evidence.margin < 0


def test_every_statement_can_be_typeset():
    from latex2mathml.converter import convert

    for claim in claims().values():
        assert "<math" in convert(claim.statement, display="block"), claim.id


def test_a_violation_without_proof_stays_unsettled():
    claim = _toy(actual=lambda x: x + 1.0)
    assert settle(claim).verdict is Verdict.UNSETTLED


@pytest.mark.parametrize("apart, verdict", [(0, Verdict.FALSE), (Fraction(1, 10**6), Verdict.UNSETTLED)])
def test_a_proof_about_other_numbers_proves_nothing(apart, verdict):
    claim = _toy(
        expected=Verdict.FALSE,
        actual=lambda x: x + 1.0,
        enclose=lambda x: (ball(x + apart), ball(x + 1)),
    )
    assert settle(claim).verdict is verdict


def test_descent_finds_what_chance_misses():
    """A narrow dip below zero, invisible to a handful of random points."""
    claim = _toy(claimed=lambda x: math.exp(abs(x - 0.4321)), actual=lambda x: 1.0001, relation=Relation.AT_MOST)
    evidence = settle(dataclasses.replace(claim, domain={"x": Range(0.0, 1.0)}), samples=20)
    assert evidence.margin < 0


def test_shrinking_keeps_the_violation_and_the_domain():
    claim = _toy(claimed=lambda x: 1.0, actual=lambda x: 2.0 if x > 0.3 else 0.5)
    small = shrink(claim, {"x": 0.7346251})
    assert small == {"x": Fraction(1)}


def test_nan_is_an_error_not_a_pass():
    with pytest.raises(ArithmeticError, match="nan"):
        settle(_toy(actual=lambda x: math.nan))


def test_nothing_claimed_is_no_violation():
    evidence = settle(_toy(claimed=lambda x: math.nan))
    assert evidence.verdict is Verdict.HOLDS and evidence.margin == math.inf


def test_same_seed_same_evidence():
    one, two = (settle(claims()["FDP-L3"], seed=5) for _ in range(2))
    assert one.witness == two.witness and one.samples == two.samples


def test_run_with_and_without_an_executor():
    ids = ["FDP-D2", "FDP-T1t", "FDP-L3"]
    plain = [e.claim.id for e in audit.run(ids, budget=6.0)]
    with ThreadPoolExecutor(2) as pool:
        pooled = {e.claim.id: e for e in audit.run(ids, budget=6.0, executor=pool, workers=2)}
    assert plain == ids and set(pooled) == set(ids)
    assert all(e.as_expected for e in pooled.values())


def test_a_family_by_its_prefix():
    found = {claim.id for claim in audit.selected(["CB", "UF-T1"])}
    assert found == {name for name in claims() if name.startswith("CB")} | {"UF-T1"}
    assert {c.id for c in audit.selected(["UF-T1*"])} == {"UF-T1*"}
    with pytest.raises(ParameterError):
        audit.selected([""])


def test_unknown_identifier():
    with pytest.raises(ParameterError, match=r"ID = 'FDP-T9': must be one of FDP-T.* in all"):
        list(audit.run(["FDP-T9"]))


def _toy(**changes) -> Claim:
    base = {
        "id": "TOY",
        "paper": "none",
        "location": "here",
        "statement": "x",
        "expected": Verdict.HOLDS,
        "reason": "a test",
        "domain": {"x": Range(0.1, 1.0)},
        "claimed": lambda x: x,
        "actual": lambda x: x,
    }
    return Claim(**{**base, **changes})


@pytest.mark.parametrize("claim", [c for c in claims().values() if c.enclose is not None], ids=lambda c: c.id)
def test_what_certifies_is_what_is_claimed(claim):
    """The balls of the proof against the numbers of the search, at random points: else a wrong formula could certify."""
    rng, compared = np.random.default_rng([3, *claim.id.encode()]), 0
    for _ in range(30):
        drawn = {name: allowed.sample(rng)[1] for name, allowed in claim.domain.items()}
        exact = {n: Fraction(int(v)) if claim.domain[n].integer else Fraction(f"{v:.3g}") for n, v in drawn.items()}
        if not all(claim.domain[name].allows(value) for name, value in exact.items()):
            continue
        point = {n: int(v) if claim.domain[n].integer else float(v) for n, v in exact.items()}
        claimed, actual, _ = claim.compare(point)
        if math.isnan(claimed):
            continue
        balls = claim.enclose(**exact)
        if not all(b.is_finite() and float(b.rad()) <= 1e-9 * abs(float(b.mid())) + 1e-15 for b in balls):
            continue  # not known there, which certifies nothing
        compared += 1
        shown = [float(b.mid()) for b in balls]
        assert shown[0] == pytest.approx(claimed, rel=1e-8, abs=1e-15), point
        if not claim.bounded:
            assert shown[1] == pytest.approx(actual, rel=1e-8, abs=1e-15), point
        elif claim.relation is Relation.AT_MOST:
            assert shown[1] <= actual * (1 + 1e-8), point
        else:
            assert shown[1] >= actual * (1 - 1e-8), point
    assert compared >= (0 if claim.id == "FDP-Tab1" else 5)
