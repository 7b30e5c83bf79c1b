"""Modules that are programs end a wrong call in one line and exit code 2, and change nothing."""

from __future__ import annotations

import runpy
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
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_a_wrong_call(
    words: list[str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `python -m`, in this process, which has imported the papers."""
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        runpy.run_module(words[0], run_name="__main__")
    found = capsys.readouterr()
    assert end.value.code == 2 and found.out == ""
    (line,) = found.err.splitlines()
    assert line.startswith(says)
