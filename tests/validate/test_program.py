"""Modules that are programs end a wrong call in one line and exit code 2, and change nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

WRONG = "airtight: ID = 'WRONGID': must be "


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["airtight.report.document", "docs", "WRONGID"], WRONG),
        (["airtight.validate.claims.proof_reviews", "WRONGID"], WRONG),
        (["airtight.validate.experiments.figures.gallery", "WRONGID"], WRONG),
        (["airtight.report.document"], "usage: python -m airtight.report.document FOLDER [ID ...]"),
        (["airtight.report.document", "no/where"], "airtight: FOLDER = 'no/where': must be a folder"),
        (["airtight.report.library"], "usage: python -m airtight.report.library FOLDER [PYODIDE]"),
        (["airtight.validate.claims.certificates.formal"], "usage: python -m "),
        (["airtight.validate.claims.certificates.formal", "no/where"], "airtight: FOLDER = 'no/where': must be a folder"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_a_wrong_call(words: list[str], says: str) -> None:
    found = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False, timeout=120)
    assert found.returncode == 2 and found.stdout == ""
    (line,) = found.stderr.splitlines()
    assert line.startswith(says)
