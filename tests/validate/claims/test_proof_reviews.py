"""Readings of proofs by hand: a change of what a proof speaks of marks its row until the proof is read again."""

import ast
import json
import pydoc
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import sympy as sp
from support.common import run
from support.paths import ROOT

from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.domain import Range, parameter
from airtight.report import document, library
from airtight.validate.claims import code_digest, proof_reviews, proofs
from airtight.validate.claims.claim import Claim
from airtight.validate.claims.evidence import shipped
from airtight.validate.claims.relation import at_most, both
from airtight.validate.claims.sources import INSTALLED, Source

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
    """The functions of the row, what they call, one module further down, and methods of what these name; no checks."""
    covered = {name.partition(":")[0] for name in code_digest.covered(ARGUED["FDP-MSE*"]) if ":" in name}
    assert {name.removeprefix("airtight.") for name in covered if "papers" not in name} == {
        "validate.claims.reference_integrals.enumerated_mse",
        "analytics.inference.distortion.exact",
        "analytics.inference.distortion.breakdown",
        "analytics.inference.distortion.Breakdown.total",
        "analytics.inference.features.matched",
        "analytics.inference.features.clipped",
        *(f"analytics.inference.features.Features.{name}" for name in ("clipped", "decoded", "encoded", "target")),
        "analytics.inference.system.InferenceSystem.decoded_receiver_noise",
    }
    pair = both(lambda x: (x, 2 * x))  # closures and what is cached
    assert len(code_digest.covered(Claim("A", "", at_most(*pair), domain={"x": Range(0, 1)}, statement="A"))) == 3
    notes = code_digest.covered(ARGUED["UF-E7*"])  # the function whose Notes are the proof
    assert any(name.startswith(ARGUED["UF-E7*"].argued) for name in notes)
    assert len({code_digest.digest(claim) for claim in ARGUED.values()}) == len(ARGUED)


def test_names_are_those_of_the_syntax():
    """Fields that are left out exist: a misspelt one would be kept."""
    fields = {
        name
        for kind in vars(ast).values()
        if isinstance(kind, type) and issubclass(kind, ast.AST)
        for name in kind._fields
    }
    assert code_digest._NOT_COMPUTED - {"type_params"} <= fields  # from Python 3.12 on


def test_the_record_is_whole():
    """A line for each argued row and no other, in the order of the papers, with a day that has come."""
    lines = proof_reviews.record()
    assert set(lines) == set(ARGUED), "make read ID=... writes the line of a new row"
    for file, papers in proof_reviews._files().items():
        assert file.read_text() == proof_reviews.text(lines, papers)
    for line in lines.values():
        assert line.read <= datetime.now(UTC).date()
        assert all(re.fullmatch(r"[0-9a-f]{16}|", digest) for digest in (line.code, line.proof))


@pytest.fixture
def afresh(monkeypatch):
    """What has been read of files and proofs is forgotten, before the test and after it."""
    kept_by = (code_digest._definitions, proof_reviews._of_installed, proof_reviews._record, proof_reviews._sections)

    def forget():
        for kept in kept_by:
            kept.cache_clear()

    forget()
    yield forget
    monkeypatch.undo()
    forget()


def test_a_mark_is_shown_everywhere(afresh):
    """In what verify prints, on the page of the ledger and on that of the claim; only where a proof by hand counts."""
    evidence = shipped().evidence
    for e in evidence:
        marked = bool(e.reading and e.reading.changed)
        assert ("to be read again" in e.said) == marked == (e.as_json()["proof_changed"] is not None)
        assert (e.as_json()["proof_read"] is not None) == (e.by_hand or e.in_coq) == (e.reading is not None)
        assert e.by_hand == (e.how.value == "argued" or "the rest by hand" in e.said)
    argued = next(e for e in evidence if e.how.value == "argued")
    day = argued.reading.read.isoformat()
    assert day in library.claim_page(argued, evidence, certified=False)
    assert (
        f"last read on {day}"
        in document.ledger([argued], [INSTALLED.papers()[argued.claim.paper]])[f"ledger/{argued.claim.paper}.md"]
    )


SPEAK_OF_THE_MSE = ("FDP-MSE*", "FDP-MSE**", "FDP-A2*", "FDP-fn3")
OTHERS = ("CB-E1", "UF-E4", "FDP-L3*", "PC-bound", "AT-V4-sets")


@pytest.mark.parametrize(
    ("file", "old", "new", "marked"),
    [
        ("inference/distortion.py", "np.sum(p * (1 - p) * w * w", "np.sum(1.0 * p * (1 - p) * w * w", SPEAK_OF_THE_MSE),
        (
            "claims/reference_integrals.py",
            "total += chance * (float",
            "total += 1.0 * chance * (float",
            ("FDP-MSE*", "FDP-MSE**"),
        ),
        ("private_relaying/relaying.py", "heard = p * (1 - p) @", "heard = (1 - p) * p @", ("PC-bound",)),
        (
            "inference/distortion.py",
            "heard = matched(system, features)",
            "heard = (matched(system, features))  # all",
            (),
        ),
        ("corbin_fl/aggregation.py", "value_with - value_without", "+value_with - value_without", ("CB-E1",)),
    ],
)
def test_a_planted_change_marks_its_proofs_and_no_others(monkeypatch, afresh, file, old, new, marked):
    def planted(path, read=code_digest._source):
        text = read(path)
        if path.endswith(file):
            assert old in text
            text = text.replace(old, new)
        return text

    monkeypatch.setattr(code_digest, "_source", planted)
    found = {name: proof_reviews.of(ARGUED[name]).changed for name in (*SPEAK_OF_THE_MSE, *OTHERS)}
    assert found == {name: "code" * (name in marked) for name in found}


def test_a_planted_change_is_told_and_a_reading_ends_it(monkeypatch, afresh, tmp_path, capsys):
    """By verify and by the list of what is to be read; another text of a proof counts too, other line breaks do not."""
    record = tmp_path / proof_reviews.NAME
    record.write_text((ROOT / "validate" / "papers" / proof_reviews.NAME).read_text())
    monkeypatch.setattr(proof_reviews, "_files", lambda source=None: {record: ["corbin-fl"]})
    sections = {
        label: replace(one, body=one.body.replace(" ", "\n")) for label, one in proofs.sections("corbin-fl").items()
    }
    sections["cb-e1"] = replace(sections["cb-e1"], body=sections["cb-e1"].body + " Planted.")
    monkeypatch.setattr(proof_reviews, "_sections", lambda paper, source: sections)
    claims = {name: ARGUED[name] for name in ("CB-E1", "CB-X3")}
    monkeypatch.setattr(proof_reviews.INSTALLED.__class__, "claims", lambda source: claims)
    rows = json.loads(run("verify", *claims, "--json", "--effort", "20").stdout)
    told = {row["id"]: (row["known"], row["proof_changed"]) for row in rows}
    assert told == {"CB-E1": ("proved in Coq, to be read again", "proof"), "CB-X3": ("proved in Coq", None)}
    assert "proved in Coq, to be read again" in " ".join(run("verify", "CB-E1", "--effort", "20").output.split())
    proof_reviews.main([])
    printed = capsys.readouterr().out
    assert "CB-E1: read on" in printed and "_gap_of_sums" in printed and "1 of 2 proofs are to be read again" in printed
    proof_reviews.main(["CB-E1"])
    afresh()
    proof_reviews.main([])
    assert "0 of 2 proofs" in capsys.readouterr().out
    assert proof_reviews.record()["CB-E1"].read == datetime.now(UTC).date()
    with pytest.raises(ParameterError, match="ID = 'nothing'"):
        proof_reviews.main(["nothing"])


def test_docstrings_that_python_has_dropped_are_read_from_the_source():
    """PYTHONOPTIMIZE=2 is no change of a proof, nor of a hypothesis."""
    function = pydoc.locate("airtight.analytics.federated.corbin.dropout.central_epsilon")
    kept, function.__doc__ = function.__doc__, None
    try:
        dropped = proof_reviews.today(INSTALLED.claims()["CB-T4*-privacy"]).proof
    finally:
        function.__doc__ = kept
    assert dropped == proof_reviews.today(INSTALLED.claims()["CB-T4*-privacy"]).proof


def test_a_digest_follows_the_modules_of_a_package(tmp_path, monkeypatch):
    """Functions that a side takes from another module of its own package, as an attribute or by an import inside."""
    monkeypatch.syspath_prepend(tmp_path)
    side = """from {0} import law
from airtight.analytics.forms.domain import Range
from airtight.validate.claims.claim import Claim
from airtight.validate.claims.relation import at_most
def _side(x):
    from {0} import noise
    return law.square(x) + noise.cube(x)
CLAIM = Claim("A", "here", at_most(_side, lambda x: 10.0 * x), domain={{"x": Range(0.0, 1.0)}}, statement="A")
"""
    digests = []
    bodies = {"one": ("x * x", "x**3"), "two": ("x * x", "x**3"), "three": ("x", "x**3"), "four": ("x * x", "x")}
    for name, (square, cube) in bodies.items():
        package = tmp_path / f"package_{name}"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "law.py").write_text(f"def square(x):\n    return {square}\n")
        (package / "noise.py").write_text(f"def cube(x):\n    return {cube}\n")
        (package / "claims.py").write_text(side.format(package.name))
        digests.append(code_digest.digest(pydoc.locate(f"{package.name}.claims.CLAIM")))
    assert digests[0] == digests[1] and len(set(digests)) == 3
