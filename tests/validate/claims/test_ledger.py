"""The ledger is complete: every numbered item of the four papers; and its generated page says what the claims say."""

import json
import re

import pytest
from support.common import refused, run
from support.paths import ROOT
from support.processors import Here

from airtight.analytics.checks import ParameterError
from airtight.report import document
from airtight.solvers.quantities import quantities
from airtight.validate.claims.claim import Verdict
from airtight.validate.claims.evidence import shipped
from airtight.validate.claims.numbered_items import Standing, numbered_items, numbers
from airtight.validate.claims.sources import INSTALLED, Source

DOCS = ROOT / "docs"
CLAIMS, ITEMS, PAPERS = INSTALLED.claims(), INSTALLED.items(), INSTALLED.papers()
REFERENCES = [reference for claim in CLAIMS.values() for reference in claim.also]
EVERYTHING = [*CLAIMS.values(), *ITEMS.values(), *REFERENCES]
NUMBERED = list(numbered_items(shipped().evidence))


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_every_numbered_item_is_there(paper):
    items = [item for item in NUMBERED if item.paper == paper.id]
    ours = paper.authors == "airtight"  # statements of our own, which no paper has numbered
    assert ours or paper.numbered or all(claim.implementation for claim in paper.claims)
    assert len(items) == sum(paper.numbered.values())
    missing = [(item.kind, item.number) for item in items if not item.rows]
    assert not missing


def test_what_is_not_decided_says_why():
    for item in NUMBERED:
        assert bool(item.reason) is (item.standing is Standing.OPEN), item
        assert (item.standing in (Standing.SETTLED, Standing.SEARCHED)) is any(row in CLAIMS for row in item.rows)
    assert {item.standing for item in NUMBERED} == set(Standing)


def test_ranges_are_read():
    assert numbers("Eq.", "App. D, Eq. (48), (50)-(52) and Eq. (60)") == {48, 50, 51, 52, 60}
    assert numbers("Definition", "Definitions 1, 2, Eq. (6)") == {1, 2}
    assert numbers("Fig.", "Fig. 2(b): dropout") == {2}
    assert numbers("Eq.", "Eq. (67)-(76)") == set(range(67, 77))


def test_the_command_counts_them():
    listed = json.loads(run("coverage", "corbin-fl", "--json").stdout)
    assert len(listed) == sum(PAPERS["corbin-fl"].numbered.values())
    assert run("coverage", "corbin-fl").stdout.split("\n")[0].endswith(f"of {len(listed)} numbered items are proved or refuted.")
    assert "Theorem 1: proved or refuted, by witness (CB-T1)" in run("coverage", "corbin-fl", "--all").stdout
    assert refused(run("coverage", "corbin"), "PAPER", "corbin-fl")


def test_identifiers_are_unique_and_papers_known():
    names = [item.id for item in EVERYTHING]
    assert len(names) == len(set(names))
    assert {item.paper for item in EVERYTHING} == set(PAPERS)
    assert all(item.verdict in (Verdict.DEFINITION, Verdict.UNDECIDABLE) and item.reason for item in ITEMS.values())


def test_the_page_is_up_to_date():
    pages = {name: (DOCS / "ledger" / f"{name}.md").read_text() for name in PAPERS}
    assert {path.stem for path in (DOCS / "ledger").iterdir()} == set(PAPERS)
    assert [e.claim.id for e in shipped().evidence] == list(CLAIMS), "run make ledger"
    for e in shipped().evidence:
        claim, page = e.claim, pages[e.claim.paper]
        assert e.verdict is claim.expected and document.row(e) in page, f"{claim.id}: run make ledger"
        assert f"## {claim.id}\n" in page and f"$${claim.statement}$$" in page
    for item in ITEMS.values():
        assert f"| {item.id} | {item.location} |" in pages[item.paper]
    rows = [line for page in pages.values() for line in page.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 6 for row in rows), "a bar inside a cell cuts it"
    assert not any("not certified" in page or "unsettled" in page for page in pages.values())
    index = (DOCS / "ledger.md").read_text()
    assert all(f"(ledger/{name}.md)" in index for name in PAPERS)
    page = (DOCS / "quantities.md").read_text()
    for quantity in quantities().values():
        assert f"| {quantity.name} | $" in page and f"| {quantity.face.value} | {quantity.source} |" in page


def test_pages_are_made():
    found = [e for e in shipped().evidence if e.claim.id in ("FDP-T1t", "FDP-L3", "FDP-L3*", "CB-A1")]
    index, page = document.ledger(found, [PAPERS["feature-dp"]]).values()
    assert "certified in ball arithmetic" in page and "tightness" in page
    assert "Corrects FDP-L3." in page and "Corrected by FDP-L3*." in page
    assert f"{len(found) + len(PAPERS['feature-dp'].items)} items" in index


def test_a_claim_is_tried_anew_alone(tmp_path, monkeypatch):
    """`make ledger ID=FDP-D2`: the others keep their evidence and their certificates; the page of the quantities stays."""
    sums = (DOCS / "certificates.sha256").read_text()
    (tmp_path / "certificates.sha256").write_text(sums.replace("FDP-D2/", "FDP-gone/"))
    known = shipped()
    monkeypatch.setattr(document.evidence, "shipped", lambda: known)
    monkeypatch.setattr(Source, "records", lambda source, paper: tmp_path / "papers")
    monkeypatch.setattr(document, "ProcessPoolExecutor", lambda *given: Here())
    document.main(str(tmp_path), ["FDP-D2"])
    written = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*"))
    assert "ledger/feature-dp.md" in written and "quantities.md" not in written
    old = {e.claim.id: e for e in known.evidence}
    text = (tmp_path / "papers" / "evidence.json").read_text()
    rows = json.loads(text)["rows"]
    assert list(rows) == list(old) and rows["FDP-D2"]["seconds"] != old["FDP-D2"].seconds
    assert rows["CB-A1"]["seconds"] == old["CB-A1"].seconds
    assert (tmp_path / "certificates.sha256").read_text() == sums


def test_what_is_no_claim_is_not_tried(tmp_path):
    with pytest.raises(ParameterError, match="ID = 'NOPE'"):
        document.main(str(tmp_path), ["NOPE"])
    assert not list(tmp_path.iterdir())


def test_the_command_lists_everything():
    result = run("verify", "--all", "--json", "--limit", "0.2")
    rows = json.loads(result.stdout)
    assert {row["id"] for row in rows} == {*CLAIMS, *ITEMS}
    assert len({frozenset(row) for row in rows}) == 1


def test_all_takes_no_names():
    assert refused(run("verify", "--all", "FDP-T1"), "--all")
