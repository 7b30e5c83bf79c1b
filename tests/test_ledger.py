"""The ledger is complete: every numbered item of the four papers; and its generated page says what the claims say."""

import json
import re
from pathlib import Path

import pytest
from tests_support import refused, run

from validate.claims import audit, document
from validate.claims.claim import Verdict
from validate.papers import claims, items
from validate.twins.catalogue import twins

DOCS = Path(__file__).parents[1] / "docs"
EVERYTHING = [*claims().values(), *items().values()]

NUMBERED = {
    "feature-dp": {
        "Eq.": range(1, 64),
        "Definition": range(1, 4),
        "Theorem": range(1, 4),
        "Lemma": range(1, 7),
        "Remark": range(1, 9),
        "Algorithm": range(1, 4),
        "Fig.": range(1, 12),
    },
    "feature-dp-short": {
        "Eq.": range(1, 11),
        "Definition": [1],
        "Theorem": [1, 2],
        "Remark": [1, 2],
        "Algorithm": [1, 2],
        "Fig.": range(1, 4),
    },
    "corbin-fl": {
        "Eq.": range(1, 23),
        "Theorem": range(1, 5),
        "Proposition": [1],
        "Algorithm": range(1, 4),
        "Fig.": range(1, 5),
        "Experiment": range(1, 9),
    },
    "utility-fairness": {
        "Eq.": range(1, 77),
        "Definition": range(1, 6),
        "Theorem": [1, 2],
        "Proposition": [1],
        "Lemma": [1],
        "Remark": [1, 2],
        "Assumption": range(1, 4),
        "Algorithm": [1],
        "Fig.": range(1, 5),
    },
}


def numbers(kind: str, text: str) -> set[int]:
    """Numbers of one kind in a location: "Eq. (48), (50)-(52)", "Definitions 1, 2", "Fig. 1-3"."""
    found: set[int] = set()
    plural = kind if kind.endswith(".") else f"{kind}s?"
    one = r"\(?(\d+)\)?(?:\([a-c]\))?"
    item = rf"{one}(?:\s*(?:-|to)\s*{one})?"
    for group in re.finditer(rf"(?<![A-Z]){plural} ({item}(?:, {item})*)", text):
        for first, last in re.findall(item, group.group(1)):
            found |= set(range(int(first), int(last or first) + 1))
    return found


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_numbered_item_is_there(paper):
    locations = [item.location for item in EVERYTHING if item.paper == paper]
    for kind, wanted in NUMBERED[paper].items():
        found = set().union(*(numbers(kind, text) for text in locations))
        assert set(wanted) <= found, (paper, kind, sorted(set(wanted) - found))


def test_ranges_are_read():
    assert numbers("Eq.", "App. D, Eq. (48), (50)-(52) and Eq. (60)") == {48, 50, 51, 52, 60}
    assert numbers("Definition", "Definitions 1, 2, Eq. (6)") == {1, 2}
    assert numbers("Fig.", "Fig. 2(b): dropout") == {2}
    assert numbers("Eq.", "Eq. (67)-(76)") == set(range(67, 77))


def test_identifiers_are_unique_and_papers_known():
    assert not claims().keys() & items().keys()
    assert {item.paper for item in EVERYTHING} == set(NUMBERED) == set(document.TITLES)
    assert all(item.verdict in (Verdict.DEFINITION, Verdict.UNDECIDABLE) and item.reason for item in items().values())


def test_the_page_is_up_to_date():
    page = (DOCS / "ledger.md").read_text()
    for claim in claims().values():
        assert document.expected(claim) in page, f"{claim.id}: run make ledger"
        assert f"### {claim.id}\n" in page
    for item in items().values():
        assert f"| {item.id} | {item.location} |" in page
    assert "not certified" not in page and "unsettled" not in page
    agreement = (DOCS / "twins.md").read_text()
    assert all(
        f"| {name} | {twin.form.source} | {twin.form.face.value} |" in agreement for name, twin in twins().items()
    )


def test_pages_are_made():
    found = list(audit.run(["FDP-T1t", "FDP-L3*", "CB-A1"], budget=10.0))
    page = document.ledger(found, list(items().values())[:2])
    assert "certified in ball arithmetic" in page and "tightness" in page and "both sides agree" in page
    assert f"{len(found) + 2} items" in page


def test_the_command_lists_everything():
    result = run("verify", "--all", "--json", "--budget", "60")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert {row["id"] for row in rows} == {item.id for item in EVERYTHING}
    assert all(row["verdict"] == row["expected"] != "unsettled" for row in rows)
    false = [row for row in rows if row["verdict"] == "false" and row["id"] != "FDP-R1"]
    assert all(row["certified"] for row in false) and len(false) > 60
    bounds = [row for row in rows if row["verdict"] == "holds" and isinstance(row["tightness"], float)]
    assert bounds and all(0 < row["tightness"] <= 1 for row in bounds)
    keys = {frozenset(row) for row in rows}
    assert len(keys) == 1


def test_all_takes_no_names():
    assert refused(run("verify", "--all", "FDP-T1"), "--all")
