"""Theorems for Coq: what is written says what the certificate says; where coqc is installed it proves them, and nothing false."""

import re
import shutil
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp

from airtight.analytics.forms.balls.compiled import UnsupportedExpression
from airtight.analytics.forms.domain import parameter
from airtight.validate import papers
from airtight.validate.claims.certificates.coq import assumptions, beyond, compiled, theorem, write
from airtight.validate.claims.certificates.writing import certify, claim_json
from airtight.validate.claims.claim import Claim, false, holds
from airtight.validate.claims.relation import at_least, at_most, equal
from airtight.validate.claims.sources import INSTALLED

X = parameter("x", 0.0, 1.0)


def _claim(relation, ruling=None, **rest):
    return claim_json(Claim("A-1*", "here", relation, ruling or false("no"), statement="s", **rest), "0" * 64)


def _goal(text):
    return re.search(r"^Theorem .* : (.*)\.$", text, re.M)[1]


@pytest.mark.parametrize(
    "relation, point, goal",
    [
        (at_most(sp.exp(X), 1 + X), {"x": "1/2"}, "(1 + (1 / 2)) < (exp (1 / 2))"),
        (at_least(sp.sqrt(X), 1), {"x": "1/4"}, "(sqrt (1 / 4)) < 1"),
        (equal(sp.log(1 + X), X), {"x": "1"}, "(ln (1 + 1)) < 1"),
        (at_most(sp.Max(X, sp.exp(-X)), sp.Rational(1, 2)), {"x": "0"}, "(1 / 2) < (exp (- 0))"),
        (at_most(sp.Piecewise((sp.pi, X > 0), (0, True)), 3), {"x": "1"}, "3 < PI"),
    ],
)
def test_the_goal_is_the_violation(relation, point, goal):
    found = theorem(_claim(relation), point)
    assert _goal(found).replace("((-1) * 0)", "(- 0)") == goal
    assert "Theorem A_1_star" in found and found.count("Qed.") == 1


def test_what_holds_on_a_range_is_for_all():
    found = theorem(_claim(at_most(sp.log(1 + X), X), holds("yes")), None)
    assert _goal(found) == "forall x, 0 <= x <= 1 -> (ln (1 + x)) <= x"


@pytest.mark.parametrize(
    "relation, point, rest",
    [
        (at_most(sp.erfc(X), 0), {"x": "1"}, {}),
        (at_most(X * parameter("y", 0.0, 1.0), 1), None, {}),
        (at_most(X, 1), None, {"given": [sp.Rational(1, 2) >= X]}),
        (at_most(parameter("n", 0, 3, integer=True), 3), None, {}),
    ],
)
def test_what_coq_interval_lacks_is_refused(relation, point, rest):
    with pytest.raises(UnsupportedExpression):
        theorem(_claim(relation, **rest), point)


def test_files_beside_the_certificates(tmp_path):
    claims = [INSTALLED.claims()[name] for name in ("CB-D-e", "FDP-D2", "UF-E51")]
    list(certify(tmp_path, claims))
    done, left = write(tmp_path)
    assert done == ["CB-D-e", "UF-E51"] and "erfc" in left["FDP-D2"]
    assert (tmp_path / "UF-E51" / "theorem.v").read_text().startswith("From Coq")


# What the parameters of the theorems written by hand are called in the ledger
NAMES = {
    "FDP": {"P": "power", "s": "signal", "n": "noise", "c": "cosine", "K": "devices", "D": "decoder"},
    "CB": {"d": "bits"},
    "UF": {"Phi": "phi", "j": "iterations"},
}


def _by_hand():
    """Identifier and statement of each theorem in the papers' folders."""
    for path in sorted(Path(papers.__file__).parent.glob("*/refuted.v")):
        for name, statement in re.findall(r"^Theorem (\w+)_false :(.*?)^Proof\.", path.read_text(), re.M | re.S):
            yield name.replace("_", "-"), statement


def test_statements_by_hand_are_those_of_refuted_rows():
    """On the same domain: what Coq refutes is not something larger."""
    found = dict(_by_hand())
    assert len(found) >= 10
    for row, statement in found.items():
        claim = INSTALLED.claims()[row]
        assert not claim.ruling.survives
        assert "~ (forall" in statement
        ranges = re.findall(r"(-?[\d]+(?: / \d+)?) <= (\w+) <= (-?[\d]+(?: / \d+)?)", statement)
        assert ranges, row
        for low, symbol, high in ranges:
            allowed = claim.domain[NAMES[row.split("-")[0]].get(symbol, symbol)]
            ends = [Fraction(text.replace(" ", "")) for text in (low, high)]
            assert ends == [Fraction(repr(x)) for x in (allowed.low, allowed.high)], (row, symbol)


def test_cases_of_a_maximum_on_a_range():
    found = theorem(_claim(at_most(sp.Max(X, sp.Rational(1, 2)), 1), holds("yes")), None)
    assert "(Rmax (1 / 2) x)" in found and "destruct (Rle_dec _ _)" in found


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed: make formal says how")
def test_coqc_proves_what_is_true_only(tmp_path):
    """The theorems by hand and two of the others, on no axioms of ours. A false one is refused."""
    list(certify(tmp_path, [INSTALLED.claims()[name] for name in ("UF-E51", "FDP-F10-eta")]))
    assert write(tmp_path)[0] == ["FDP-F10-eta", "UF-E51"]
    found = {file.parent.name + "/" + file.name: right for file, right, _ in compiled(tmp_path)}
    assert len(found) >= 6 and all(found.values()), found
    assert not beyond(assumptions(tmp_path))
    right = theorem(_claim(at_most(sp.exp(X), 1 + X)), {"x": "1/2"})
    (tmp_path / "UF-E51" / "theorem.v").write_text(right.replace("(1 + (1 / 2)) <", "2 <"))
    (tmp_path / "FDP-F10-eta" / "theorem.v").write_text(
        "Axiom no : False.\nTheorem FDP_F10_eta : 1 = 2. Proof. destruct no. Qed."
    )
    for name in ("corbin_fl", "feature_dp", "utility_fairness"):
        for path in (tmp_path / "formal").glob(f"{name}.v*"):
            path.unlink()
    found = {file.parent.name: right for file, right, _ in compiled(tmp_path) if file.name == "theorem.v"}
    assert found == {"FDP-F10-eta": True, "UF-E51": False}
    (tmp_path / "UF-E51" / "theorem.vo").unlink(missing_ok=True)
    assert beyond(assumptions(tmp_path))
