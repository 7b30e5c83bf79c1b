"""Every claim of the papers: tried as `airtight verify` does, then with an error planted, and with its ruling turned round."""

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from airtight.analytics.federated.corbin import two_output_bounds
from airtight.commands.cli import main
from airtight.report import document, page, rows
from airtight.report.verdicts import severities, verdicts
from airtight.validate.claims.claim import FAILING, REFUTED, Ruling, Verdict
from airtight.validate.claims.evidence import shipped
from airtight.validate.claims.search import floats, judged, noticed, trial
from airtight.validate.claims.sources import INSTALLED

pytestmark = pytest.mark.slow

CLAIMS = INSTALLED.claims()
SHIPPED = {evidence.claim.id: evidence for evidence in shipped().evidence}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_claim(claim):
    evidence = trial(claim)
    assert evidence.as_expected, (evidence.verdict, evidence.fault, evidence.witness)
    kept = SHIPPED[claim.id]
    assert (kept.verdict, kept.how) == (evidence.verdict, evidence.how), "run make ledger"
    assert kept.witness is None or kept.witness.point == evidence.witness.point, "run make ledger"
    if not claim.ruling.exhibited:  # that an exhibit refutes what the paper says is a matter of words
        turned = Ruling(Verdict.FALSE if claim.ruling.survives else Verdict.HOLDS, "turned round")
        assert judged(dataclasses.replace(claim, ruling=turned), evidence.witness, "") is not turned.verdict
    if claim.ruling.survives:
        assert noticed(claim.planted()), "an error of the slack and a per cent goes unnoticed"
    else:
        _refuted(claim, evidence)


def _refuted(claim, evidence):
    witness = evidence.witness
    assert witness.certified
    assert all(len(text) <= 12 for text in witness.text().values()), witness.text()
    assert all(claim.domain[name].allows(value) for name, value in witness.point.items())
    proved, balls = claim.relation.violated(witness.point)
    assert proved and balls is not None
    assert (claim.ruling.severity is None) is (claim.expected is Verdict.OTHER_READING)
    assert not evidence.near_paper or evidence.near_paper.certified, evidence.near_paper
    assert 0 < evidence.extent.domain <= 1 or evidence.extent.worst > 0


@pytest.mark.parametrize("claim", [c for c in CLAIMS.values() if c.relation.balls], ids=lambda c: c.id)
def test_what_certifies_is_what_is_claimed(claim):
    """The balls of the proof against the numbers of the search, at random points: else a wrong formula could certify."""
    rng, compared = np.random.default_rng([3, *claim.id.encode()]), 0
    floor = 0.0 if claim.scale.name == "ratio" else 1e-15
    for _ in range(60):
        drawn = {name: allowed.at(float(rng.random())) for name, allowed in claim.domain.items()}
        exact = {n: Fraction(v) if claim.domain[n].integer else Fraction(f"{v:.3g}") for n, v in drawn.items()}
        if not all(claim.domain[name].allows(value) for name, value in exact.items()):
            continue
        point = floats(claim, exact)
        if not claim.admits(point) or np.isnan(claim.relation.values(point)[0]):
            continue
        balls = claim.relation.balls(**exact)
        if not all(b.is_finite() and float(b.rad()) <= 1e-9 * abs(float(b.mid())) + 1e-15 for b in balls):
            continue  # not known there, which certifies nothing
        compared += 1
        same = dataclasses.replace(claim.relation, balls=lambda *, balls=balls, **_: balls)  # which are computed once
        assert same.agrees(exact, point, floor), point
        if compared == 12:
            break
    assert compared >= (0 if not claim.domain else 5) or all(r.size == 1 for r in claim.domain.values())


def test_every_statement_can_be_typeset():
    from latex2mathml.converter import convert

    for claim in CLAIMS.values():
        assert "<math" in convert(claim.statement, display="block"), claim.id


def test_every_correction_holds():
    for claim in CLAIMS.values():
        if claim.ruling.corrected_by in CLAIMS:
            assert CLAIMS[claim.ruling.corrected_by].expected not in FAILING, claim.id


def test_a_reading_names_the_row_of_the_charitable_one():
    for claim in CLAIMS.values():
        if claim.expected is Verdict.OTHER_READING:
            assert claim.ruling.exhibited or claim.ruling.corrected_by in CLAIMS, claim.id


def test_a_reading_is_expected_and_no_refutation(capsys):
    """FDP-R1, said of epsilon, is true; the plain reading fails: as ruled, exit code 0, and not among the refuted."""
    found = [SHIPPED[name] for name in ("UF-loss-any", "FDP-fn2", "FDP-T1")]
    readings = [e for e in found if e.verdict is Verdict.OTHER_READING]
    assert [e.claim.id for e in readings] == ["UF-loss-any", "FDP-fn2"]
    assert all(e.as_expected and e.witness.certified and e.as_json()["severity"] is None for e in readings)
    assert sum(severities(found).values()) == 1
    verdicts(found)
    said = capsys.readouterr().out
    assert said.startswith("3 of 3 verdicts reproduced; 1 claim is refuted.")
    assert "true as the authors may mean it 2 not refuted 0" in " ".join(said.split())
    listed = page.listed(found)
    assert len(listed["refuted"]) == 1 and listed["readings"] == 2
    text = page.audit_page("Audit", found, "", home=False)
    assert "2 true as the authors may mean it, false as printed" in text and 'class="tag other-reading"' in text
    result = CliRunner().invoke(main, ["verify", "UF-loss-any", "--json"])
    assert result.exit_code == 0 and json.loads(result.stdout)[0]["verdict"] == "other-reading"


def test_a_bound_of_the_truth_is_called_one(capsys):
    """FDP-T1-hidden-r prints 1.28618e-8, FDP-L6-raw what the first pair has: bounds of what they stand for."""
    found = {name: SHIPPED[name] for name in ("FDP-T1-hidden-r", "FDP-L6-raw")}
    said = {name: rows.witnessed(e.claim, e.witness) for name, e in found.items()}
    assert "the truth is at least" in said["FDP-T1-hidden-r"] and "the truth is at most" in said["FDP-L6-raw"]
    verdicts(list(found.values()))
    printed = capsys.readouterr().out
    assert "≥ " in printed and "≤ " in printed
    text = page.audit_page("Audit", list(found.values()), "", home=False)
    assert "the truth is at least <b>" in text and "the truth is at most <b>" in text


def test_what_is_false_is_corrected_or_says_why_not():
    """By a row that holds, by a mend of the code, or by a sentence; and pages print it."""
    for claim in CLAIMS.values():
        if claim.expected in REFUTED and claim.implementation is None and not claim.ruling.exhibited:
            assert bool(claim.ruling.corrected_by) is not bool(claim.ruling.uncorrected), claim.id
    assert "No row corrects it: a number" in page.audit_page("Audit", [SHIPPED["UF-TabI"]], "", home=False)


def test_the_six_numbered_statements_that_had_no_row():
    names = ["CB-A2-line14", "CB-E15-first", "FDP-E37", "FDPs-T2-local", "FDP-F6-reliable"]
    assert all(SHIPPED[name].verdict is CLAIMS[name].expected is Verdict.FALSE for name in names)
    point = {"first": 0.75, "second": 0.55, "shared": 3}
    assert CLAIMS["CB-A2-line14"].relation.values(point) == pytest.approx((0.45, 0.675))


def test_the_least_error_is_nothing_at_every_pair():
    """CB-T1: outputs c - A and c + A + s, always opposite, are unbiased and private, and their sum is s."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, y = rng.uniform(-1, 1, 2)
        A, s = 1 / np.tanh(rng.uniform(0.1, 6) / 2), abs(x + y)
        low, high = (-A, A + s) if x + y >= 0 else (-A - s, A)
        assert two_output_bounds.pair_mse(x, y, low=low, high=high) == pytest.approx(0, abs=1e-12)
        point = {"x": x, "y": y, "epsilon": float(2 * np.arctanh(1 / A)), "bits": 30}
        claimed, actual = CLAIMS["CB-T1"].relation.values(point)
        assert actual >= 2 * A * s - s * s - 1e-9 and (actual > claimed) is bool(2 * A * s - s * s > A * A / 2**24)


def test_the_witness_near_the_paper_leads():
    """FDP-T1: p = 1, no receiver noise and no signal come second; a domain that was chosen is called so."""
    found = [SHIPPED["FDP-T1"], SHIPPED["FDP-L6-raw"]]
    papers = [INSTALLED.papers()["feature-dp"]]
    text = "".join(document.ledger(found, papers).values())
    assert "**refuted: false**: nearest to the paper's own parameters, at" in text and "\nSimplest: at" in text
    assert "of the domain, chosen where it fails" in text
    assert text.index("nearest to the paper's own") < text.index("Simplest:")
