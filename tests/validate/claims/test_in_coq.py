"""Rows that name a theorem in Coq: it is there, Coq has accepted the file as it stands, and a changed file is noticed."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from airtight.commands.cli import main
from airtight.validate.claims import in_coq
from airtight.validate.claims.claim import REFUTED, Claim
from airtight.validate.claims.evidence import How, shipped
from airtight.validate.claims.search import trial
from airtight.validate.claims.sources import INSTALLED, Source

NAMED = {name: claim for name, claim in INSTALLED.claims().items() if claim.coq}


@pytest.mark.parametrize("name", NAMED)
def test_every_named_theorem_is_accepted_and_the_row_says_so(name):
    claim = NAMED[name]
    assert in_coq.accepted(claim), "run make formal"
    assert claim.coq.partition(".")[0] == f"{INSTALLED.home(claim.paper).parent.name}_general"
    assert claim.argued, "the proof by hand says how the theorem reads the row"
    row = next(e for e in shipped().evidence if e.claim.id == name)
    assert row.in_coq and row.known.startswith("proved in Coq" if row.how is How.PROVED else "identity, and in Coq")
    assert row.verdict not in REFUTED and row.as_expected and row.as_json()["coq"] == claim.coq


@pytest.fixture
def papers(tmp_path, monkeypatch):
    """A paper with one theorem, which Coq is taken to have accepted."""
    home, library = tmp_path / "paper", tmp_path / "library"
    home.mkdir()
    library.mkdir()
    (library / "Sums.v").write_text("Lemma zero : 0 = 0.\n")
    (home / in_coq.FILE).write_text("From Airtight Require Import Sums.\nTheorem A : 0 = 0.\n")

    claim = replace(next(iter(INSTALLED.claims().values())), coq="paper_general.A", paper="paper")

    class Papers:
        def papers(self):
            return {"paper": None}

        def claims(self):
            return {claim.id: claim}

        def home(self, paper):
            return home / "__init__.py"

        def records(self, paper):
            return tmp_path

    monkeypatch.setattr(in_coq, "INSTALLED", Papers())
    monkeypatch.setattr(in_coq, "OURS", in_coq.INSTALLED)
    monkeypatch.setattr(in_coq, "_LIBRARY", library)
    in_coq._accepted.cache_clear()
    yield Path(home / in_coq.FILE), library / "Sums.v", claim
    in_coq._accepted.cache_clear()


def _accepted(claim):
    in_coq._accepted.cache_clear()
    return in_coq.accepted(claim)


def test_a_changed_file_is_not_accepted(papers):
    theorems, library, claim = papers
    copies = theorems.parents[1] / "copies"
    copies.mkdir()

    def compile_them():
        for file in (theorems, library):
            shutil.copy(file, copies)
        in_coq.record({theorems: copies / theorems.name})

    assert not _accepted(claim), "there is no record yet"
    compile_them()
    assert _accepted(claim)
    assert not in_coq.accepted(replace(claim)), "a claim that only has the name"
    object.__setattr__(claim, "coq", "paper_general.B")
    assert not _accepted(claim)
    object.__setattr__(claim, "coq", "paper_general.A")
    library.write_text("Lemma zero : 1 = 1.\n")
    assert not _accepted(claim)
    in_coq.record({theorems: copies / theorems.name})
    assert not _accepted(claim), "what was compiled is not what stands there now"
    compile_them()
    assert _accepted(claim)
    theorems.write_text("From Airtight Require Import Sums.\nTheorem A : 1 = 1.\n")
    assert not _accepted(claim)


def test_records_that_lie_elsewhere_change_no_answer_for_ours(tmp_path):
    claim = next(iter(NAMED.values()))
    in_coq._accepted.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Source, "records", lambda source, paper: tmp_path)
        assert not in_coq.accepted(claim)
    assert in_coq.accepted(claim)


def test_a_row_whose_file_has_changed_says_so(monkeypatch):
    row = next(e for e in shipped().evidence if e.how is How.ARGUED)
    named = replace(row, how=How.PROVED, claim=replace(row.claim, coq="paper_general.A"))
    monkeypatch.setattr(in_coq, "accepted", lambda claim: False)
    assert named.known.startswith("proved in Coq, to be compiled again")
    monkeypatch.setattr(in_coq, "accepted", lambda claim: True)
    assert named.known.startswith("proved in Coq") and "compiled" not in named.known
    assert isinstance(named.claim, Claim) and not row.in_coq


def test_the_next_step_of_such_a_row_is_no_certificate_that_it_cannot_have():
    said = CliRunner().invoke(main, ["verify", "UF-C3-replaced"]).output
    assert "proved in Coq: holds-under" in said and "airtight certify" not in said
    assert "the name of the theorem in Coq" in " ".join(said.split())


def test_a_name_alone_proves_nothing():
    """A claim of one's own that names a theorem is as known as without: no kernel has seen it."""
    argued = next(e.claim for e in shipped().evidence if e.how is How.ARGUED and e.claim.effort <= 1)
    named = trial(replace(argued, coq="mine_general.A"), effort=8)
    assert named.how is How.ARGUED and not named.in_coq and not named.known.startswith("proved")
