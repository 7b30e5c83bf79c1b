"""Theorems for Coq: what is written says what the certificate says; where coqc is installed it proves them, and nothing false."""

import json
import random
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp
import tampered

from airtight.analytics.forms.balls.compiled import UnsupportedExpression
from airtight.analytics.forms.domain import parameter
from airtight.validate import papers
from airtight.validate.claims.certificates import check, formal
from airtight.validate.claims.certificates.coq import LIBRARY, theorem, write
from airtight.validate.claims.certificates.formal import assumptions, beyond, compiled, coqc
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
        (at_most(sp.exp(X), 1 + X), {"x": "1/2"}, "~ (forall x, 0 <= x <= 1 -> (exp x) <= (1 + x))"),
        (at_least(sp.sqrt(X), 1), {"x": "1/4"}, "~ (forall x, 0 <= x <= 1 -> 1 <= (sqrt x))"),
        (equal(sp.log(1 + X), X), {"x": "1"}, "~ (forall x, 0 <= x <= 1 -> (ln (1 + x)) = x)"),
        (at_most(sp.Max(X, sp.erfc(X)), X), {"x": "0"}, "~ (forall x, 0 <= x <= 1 -> (Rmax x (erfc x)) <= x)"),
        (at_most(sp.Piecewise((sp.pi, X > 0), (0, True)), 3), {"x": "1"}, "3 < PI"),
    ],
)
def test_the_goal_is_the_negated_claim_or_the_violation(relation, point, goal):
    found = theorem(_claim(relation), point)
    assert _goal(found) == goal
    assert "Theorem A_1_star" in found and found.count("Qed.") == 1


@pytest.mark.parametrize(
    "relation, rest, goal",
    [
        (at_most(sp.log(1 + X), X), {}, "forall x, 0 <= x <= 1 -> (ln (1 + x)) <= x"),
        (at_least(X, X * parameter("y", 0.0, 0.5)), {}, "forall x y, 0 <= x <= 1 -> 0 <= y <= (1 / 2) -> (x * y) <= x"),
        (at_most(parameter("n", 0, 3, integer=True), 3), {}, "forall n, 0 <= n <= 3 -> integer n -> n <= 3"),
        (at_most(X, 1), {"given": [sp.Rational(1, 2) >= X]}, "forall x, 0 <= x <= 1 -> (1 / 2) >= x -> x <= 1"),
        (at_most(parameter("at", 0.0, 1.0), 1), {}, "forall at_, 0 <= at_ <= 1 -> at_ <= 1"),
    ],
)
def test_what_holds_is_the_whole_claim(relation, rest, goal):
    assert _goal(theorem(_claim(relation, holds("yes"), **rest), None)) == goal


@pytest.mark.parametrize(
    "relation, point",
    [
        (at_most(sp.erfc(X), 2), None),
        (equal(X, X + 0 * sp.exp(X)), None),
        (at_most(sp.floor(X), 1), None),
        (at_most(sp.loggamma(1 + X), 0), {"x": "1/2"}),
    ],
)
def test_what_coq_interval_lacks_is_refused(relation, point):
    with pytest.raises(UnsupportedExpression):
        theorem(_claim(relation), point)


def test_files_beside_the_certificates(tmp_path):
    claims = [INSTALLED.claims()[name] for name in ("CB-D-e", "FDP-D2", "FDP-F6-vacuous", "UF-E51")]
    list(certify(tmp_path, claims))
    done, left = write(tmp_path)
    assert done == ["CB-D-e", "FDP-D2", "FDP-F6-vacuous", "UF-E51"] and not left
    assert (tmp_path / "UF-E51" / "theorem.v").read_text().startswith("From Coq")
    assert "apply Airtight.feature_dp_proved.FDP_F6_vacuous" in (tmp_path / "FDP-F6-vacuous" / "theorem.v").read_text()


def test_proofs_by_hand_are_of_rows_that_hold():
    for path in {INSTALLED.home(paper).with_name("proved.v") for paper in INSTALLED.papers()}:
        if not path.is_file():
            continue
        text = path.read_text()
        assert not re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture)\b", text)
        for name in re.findall(r"^Theorem (\w+)", text, re.M):
            assert INSTALLED.claims()[name.replace("_", "-")].ruling.survives, name


def _pretended(monkeypatch, wrong):
    """A coqc that refuses files of these names, and finds no axioms."""

    def coqc(file, out, seconds=0):
        name = f"{file.parent.name}/{file.name}"
        if name not in wrong:
            file.with_suffix(".vo").touch()
        return subprocess.CompletedProcess([], int(name in wrong), "", "")

    monkeypatch.setattr(formal, "coqc", coqc)
    monkeypatch.setattr(formal, "coq_version", lambda: "8")


def test_only_generated_rows_that_are_known_to_be_open_may_fail(tmp_path, monkeypatch, capsys):
    list(certify(tmp_path, [INSTALLED.claims()["FDP-F10-eta"]]))
    write(tmp_path)
    assert " : forall top, " in (tmp_path / "FDP-F10-eta" / "theorem.v").read_text()
    _pretended(monkeypatch, ())
    assert formal.main(tmp_path, 2) == 0 and "proved rows: 1 of 1 in the kernel" in capsys.readouterr().out
    _pretended(monkeypatch, ["FDP-F10-eta/theorem.v"])
    assert formal.main(tmp_path, 1) == 0  # kept: neither the file nor what it requires has changed
    rows = (tmp_path / "formal" / "Rows.v").read_text()
    (tmp_path / "formal" / "Rows.v").write_text(rows + "(* changed *)")
    assert formal.main(tmp_path, 1) == 1
    monkeypatch.setattr(formal, "OPEN", {"FDP-F10-eta": "too many boxes"})
    capsys.readouterr()
    assert formal.main(tmp_path, 1) == 0 and "not FDP-F10-eta: too many boxes" in capsys.readouterr().out
    with (tmp_path / "FDP-F10-eta" / "theorem.v").open("a") as file:
        file.write("\n")  # no longer what is generated
    assert formal.main(tmp_path, 1) == 1
    write(tmp_path)
    (tmp_path / "formal" / "mine.v").write_text("Theorem mine : forall x, x = x + 1. Proof. auto. Qed.")
    _pretended(monkeypatch, ["formal/mine.v"])
    assert formal.main(tmp_path, 1) == 1  # written by hand


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


def _tampered(claim, generator):
    """A false claim of the same form: the side that ought to be the greater is lowered below the other at some corner."""
    low, high = ("actual", "claimed") if claim["relation"] == "<=" else ("claimed", "actual")
    at = {name: Fraction(generator.choice([r["low"], r["high"]])) for name, r in claim["domain"].items()}
    gap = check.interval(check.value({"op": "-", "args": [claim["expression"][high], claim["expression"][low]]}, at))
    beyond_ = str(check.fraction(gap.hi) + Fraction(generator.randint(1, 100), 1000))
    lowered = {"op": "-", "args": [claim["expression"][high], beyond_]}
    return claim | {"expression": claim["expression"] | {high: lowered}}


without_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed: make formal says how")
ROWS = ["CB-EU", "CB-cost", "FDP-D2", "FDP-F6-vacuous", "UF-E26-best", "UF-E51", "UF-F2-rises"]


@pytest.fixture(scope="module")
def proved(tmp_path_factory):
    """Rows of every kind, and the mechanism: compiled once. The tests change theorems in copies of the folder."""
    out = tmp_path_factory.mktemp("theorems")
    list(certify(out, [INSTALLED.claims()[name] for name in ROWS]))
    assert write(out)[0] == ROWS
    for file in (out / LIBRARY).glob("[a-z]*.v"):
        if file.name != "feature_dp_proved.v":
            file.unlink()  # which make formal compiles
    found = {f"{done.file.parent.name}/{done.file.name}": done.right for done in compiled(out, 2)}
    assert len(found) >= 18 and all(found.values()), found
    return out


@pytest.fixture
def certificates(proved, tmp_path):
    return shutil.copytree(proved, tmp_path / "theorems")


@pytest.mark.slow
@without_coq
def test_what_is_proved_rests_on_the_classical_reals_alone(proved, tmp_path):
    assert not beyond(assumptions(proved))
    (tmp_path / LIBRARY).mkdir()
    (tmp_path / LIBRARY / "Mine.v").write_text("Axiom no : False.\nTheorem one : 1 = 2. Proof. destruct no. Qed.")
    assert coqc(tmp_path / LIBRARY / "Mine.v", tmp_path).returncode == 0
    assert beyond(assumptions(tmp_path)) == {"Mine.no"}


@pytest.mark.slow
@without_coq
def test_coqc_proves_what_is_true_only(certificates):
    """No claim that was tampered with is proved, though its script is made for it."""
    generator = random.Random(1)
    folders = [certificates / name for name in ROWS if name != "FDP-D2"]  # of which each takes seven seconds
    for kind in tampered.KINDS:
        for name in (tampered.REFUTED, tampered.PROVED):
            (made,) = tampered.many(folders, name, kind, 1, generator)
            if text := tampered.stated(made, certificates):
                said = tampered.kernel(made, text, certificates, 120)
                assert said in ("rejected", "not proved in 120 s"), (kind, made.row)
    (made,) = tampered.many([certificates / "FDP-D2"], tampered.REFUTED, "relation", 1, generator)
    assert tampered.kernel(made, tampered.stated(made, certificates), certificates, 120) == "rejected"
    for name in ("CB-cost", "UF-E26-best", "UF-F2-rises"):
        text = theorem(_tampered(json.loads((certificates / name / "claim.json").read_text()), generator), None)
        (certificates / name / "theorem.v").write_text(text)
    point = json.loads((certificates / "UF-E51" / "witness.json").read_text())["point"]
    claim = json.loads((certificates / "UF-E51" / "claim.json").read_text())
    true = {**claim["expression"], "claimed": {"op": "*", "args": ["2", claim["expression"]["actual"]]}}
    (certificates / "UF-E51" / "theorem.v").write_text(theorem(claim | {"expression": true}, point))
    found = {done.file.parent.name: done for done in compiled(certificates, 2) if done.file.name == "theorem.v"}
    assert {name for name, done in found.items() if done.right} == {"CB-EU", "FDP-D2", "FDP-F6-vacuous"}
    assert found["FDP-D2"].kept and found["FDP-F6-vacuous"].kept


@pytest.mark.slow
@without_coq
def test_the_mechanism_is_proved_for_the_numbers_of_its_statement_alone(certificates):
    """The proofs name no numbers but those of the statement: they prove what is true only."""
    folder = certificates / LIBRARY
    whole = (folder / "OverTheAir.v").read_text()
    text = whole[: whole.index("Qed.", whole.index("Theorem good")) + 4]
    statement = "delta mu 2 <= 1e-5 /\\ 1e-5 < delta mu 1.999."
    assert statement in text
    for enough, not_enough, weight, true in [
        ("2.01", "1.9999", "0.051689", True),
        ("1.9999", "1.999", "0.051689", False),
        ("2", "1.99999", "0.051689", False),
        ("2", "1.999", "0.05169", False),
        ("2", "1.999", "0.05166", False),
    ]:
        other = text.replace(statement, f"delta mu {enough} <= 1e-5 /\\ 1e-5 < delta mu {not_enough}.")
        (folder / "Other.v").write_text(other.replace("weight := 0.051689", f"weight := {weight}"))
        assert (coqc(folder / "Other.v", certificates).returncode == 0) is true, (enough, not_enough, weight)
    curve = (folder / "Gaussian.v").read_text()
    (folder / "Less.v").write_text(
        curve.replace("- exp eps * tail (eps / mu + mu / 2).", "- 2 * exp eps * tail (eps / mu + mu / 2).")
    )
    assert coqc(folder / "Less.v", certificates).returncode != 0
