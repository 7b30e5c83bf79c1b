"""Readings of proofs by hand: the record is whole, and a change of what a proof speaks of marks its row until it is read again."""

import ast
import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sympy as sp

from airtight.analytics.forms.domain import Range, parameter
from airtight.validate.claims import code_digest, readings
from airtight.validate.claims.claim import Claim
from airtight.validate.claims.evidence import shipped
from airtight.validate.claims.relation import at_most, both
from airtight.validate.claims.sources import INSTALLED, Source
from airtight.validate.report import document, library

ROOT = Path(__file__).parents[1]
ARGUED = {name: claim for name, claim in INSTALLED.claims().items() if claim.argued}

FILE = '''
from airtight.validate.claims.claim import Claim, holds
from airtight.validate.claims.relation import at_most
from airtight.analytics.forms.domain import Range

LIMIT = 3.0


def _helper(x: float) -> float:
    return x * x


def _unused(x):
    return x


def _side(x, factor=2.0):
    """Twice the square."""
    if x > LIMIT:
        raise ValueError("x is too large")
    square = _helper(x)
    return factor * square


CLAIM = Claim("A", "here", at_most(_side, lambda x: 10.0 * x), holds("why"), {"x": Range(0.0, 1.0)}, statement="A")
'''


def digest_of(tmp_path, text):
    path = tmp_path / f"mine_{abs(hash(text))}.py"
    path.write_text(text)
    return code_digest.digest(Source(str(path)).claims()["A"])


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("    square = _helper(x)\n", "\n    # a comment\n    square = (\n        _helper(x)\n    )\n", True),
        ('"""Twice the square."""', '"""Other words."""', True),
        ("square", "s", True),
        ("x: float) -> float", "x)", True),
        ("x is too large", "x = too large", True),
        ("def _unused(x):\n    return x", "def _unused(x):\n    return -x", True),
        ('holds("why")', 'holds("for a better reason")', True),
        ("return x * x", "return x * x * x", False),
        ("x > LIMIT", "x >= LIMIT", False),
        ("LIMIT = 3.0", "LIMIT = 4.0", False),
        ("factor=2.0", "factor=2.5", False),
        ("10.0 * x", "11.0 * x", False),
        ("Range(0.0, 1.0)", "Range(0.0, 2.0)", False),
        ('statement="A"', 'statement="A", given=[lambda x: x > 0]', False),
        ("at_most(_side", "at_least(_side", False),
    ],
)
def test_what_changes_a_digest(tmp_path, old, new, same):
    text = FILE.replace("import at_most", "import at_least, at_most")
    assert old in text
    assert (digest_of(tmp_path, text) == digest_of(tmp_path, text.replace(old, new))) == same


def test_an_expression_is_known_by_its_values():
    x, n = parameter("x", 0.1, 1.0), parameter("n", 1, 9, integer=True)
    first = Claim("A", "", at_most(sp.log(x) + sp.log(n), sp.exp(x) * n))
    again = Claim("A", "", at_most(sp.log(x * n), n * sp.exp(x / 2) ** 2))
    other = Claim("A", "", at_most(sp.log(x * n), n * sp.exp(x / 2) ** 3))
    assert code_digest.digest(first) == code_digest.digest(again) != code_digest.digest(other)
    assert code_digest.digest(Claim("A", "", first.relation, given=[x > 0.2])) != code_digest.digest(first)


def test_what_a_digest_covers():
    """The functions of the row, what they call above `analytics`, and the first function there with its own module."""
    covered = {name.partition(":")[0] for name in code_digest.covered(ARGUED["FDP-MSE*"]) if ":" in name}
    assert {name for name in covered if "papers" not in name} == {
        "airtight.validate.claims.oracles.enumerated_mse",
        "airtight.analytics.inference.distortion.exact",
        "airtight.analytics.inference.distortion.breakdown",
    }
    pair = both(lambda x: (x, 2 * x))  # closures and what is cached
    assert len(code_digest.covered(Claim("A", "", at_most(*pair), domain={"x": Range(0, 1)}, statement="A"))) == 3
    notes = code_digest.covered(ARGUED["UF-E7*"])  # the function whose Notes are the proof
    assert any(name.startswith(ARGUED["UF-E7*"].argued) for name in notes)
    assert len({code_digest.digest(claim) for claim in ARGUED.values()}) == len(ARGUED)


def test_names_are_those_of_the_syntax():
    """Fields that are left out exist: a misspelt one would be kept."""
    fields = {name for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST) for name in kind._fields}
    assert code_digest._NOT_COMPUTED - {"type_params"} <= fields  # from Python 3.12 on


def test_the_record_is_whole():
    """A line for each argued row and no other, in the order of the papers, with a day that has come."""
    lines = readings.record()
    assert set(lines) == set(ARGUED), "make read ID=... writes the line of a new row"
    assert (ROOT / "validate" / "papers" / readings.NAME).read_text() == readings.text(lines)
    for line in lines.values():
        assert line.read <= datetime.now(UTC).date()
        assert all(re.fullmatch(r"[0-9a-f]{16}|", digest) for digest in (line.code, line.proof))


def test_a_mark_is_shown_everywhere():
    """In what verify says and prints, on the page of the ledger and on the page of the claim; only for argued rows."""
    evidence = shipped().evidence
    for e in evidence:
        marked = bool(e.reading and e.reading.changed)
        assert ("to be read again" in e.said) == marked == (e.as_json()["proof_changed"] is not None)
        assert (e.as_json()["proof_read"] is not None) == (e.how.value == "argued") == (e.reading is not None)
    argued = next(e for e in evidence if e.how.value == "argued")
    day = argued.reading.read.isoformat()
    assert day in library.claim_page(argued, evidence, certified=False)
    assert f"last read on {day}" in document.ledger([argued], [INSTALLED.papers()[argued.claim.paper]])[f"ledger/{argued.claim.paper}.md"]


def test_a_planted_change_marks_its_proofs_and_no_others(tmp_path):
    """In a copy of the package: MSE of the decoder computed otherwise, a comment elsewhere, a word of a proof; then it is read."""
    for floor in ("airtight", "analytics", "solvers", "validate"):
        shutil.copytree(ROOT / floor, tmp_path / floor, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))

    def replaced(path, old, new):
        text = (tmp_path / path).read_text()
        assert old in text
        (tmp_path / path).write_text(text.replace(old, new, 1))

    def python(*command):
        environment = {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}
        run = subprocess.run([sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return run.stdout

    names = list(ARGUED)
    python("-m", "airtight.validate.claims.readings", *names)
    assert python("-m", "airtight.validate.claims.readings").splitlines()[-1].startswith("0 of ")
    replaced("validate/claims/oracles.py", "def enumerated_mse(", "def enumerated_mse(  # whole\n    ")
    replaced("analytics/inference/distortion.py", "def breakdown(", "_PLANTED = 0.0\n\n\ndef breakdown(")
    assert python("-m", "airtight.validate.claims.readings").splitlines()[-1].startswith("0 of ")
    replaced("analytics/inference/distortion.py", "np.sum(p * (1 - p) * w * w", "np.sum(1.0 * p * (1 - p) * w * w")
    replaced("validate/papers/utility_fairness/proofs.md", "*Hypotheses.* ", "*Hypotheses.* Planted: ")
    said = python("-m", "airtight.validate.claims.readings").splitlines()
    expected = {name for name in names if any("distortion.breakdown" in part for part in code_digest.covered(ARGUED[name]))}
    code = {line.partition(":")[0] for line in said if "since then new code" in line}
    proof = {line.partition(":")[0] for line in said if "since then new proof" in line}
    assert code == expected and "FDP-MSE*" in code and proof and all(name.startswith("UF-") for name in proof)
    rows = json.loads(python("-m", "airtight", "verify", "FDP-MSE*", "CB-E1", "--json", "--effort", "20"))
    told = {row["id"]: (row["known"], row["proof_changed"]) for row in rows}
    assert told == {"FDP-MSE*": ("argued, to be read again", "code"), "CB-E1": ("argued", None)}
    python("-m", "airtight.validate.claims.readings", "FDP-MSE*")
    assert "FDP-MSE*:" not in python("-m", "airtight.validate.claims.readings")
