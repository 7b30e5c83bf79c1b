"""docs/coverage.md says of every public quantity which rows call it, and every one has a row."""

import os
import re

import covered
import pytest
from support.paths import ROOT

from airtight.validate.claims.sources import INSTALLED

PAGE = ROOT / "docs" / "coverage.md"
LINE = re.compile(r"\| `(?P<name>\S+)` \| (?P<count>\d+) \| (?P<which>.*) \|")


def told():
    found = [LINE.fullmatch(line) for line in PAGE.read_text(encoding="utf-8").splitlines()]
    return {line["name"]: (int(line["count"]), line["which"]) for line in found if line}


def test_the_page_lists_every_public_quantity():
    quantities = covered.quantities()
    assert list(told()) == list(quantities) and len(quantities) > 80
    for name in (
        "airtight.analytics.inference.transmission.transmit_energy",
        "airtight.analytics.privacy.over_the_air.system_privacy.epsilon",
        "airtight.analytics.privacy.accounting.privacy_curve.PrivacyCurve.tpr",
        "airtight.solvers.design.whole_system.design",
    ):
        assert name in quantities


def test_every_quantity_has_a_row_or_a_reason():
    for name, (count, which) in told().items():
        assert (count > 0) is (name not in covered.ELSEWHERE), name
        assert count or which == f"none: {covered.ELSEWHERE[name]}"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="rows are traced in forked processes")
def test_the_rows_named_call_the_quantities():
    """One row of every third quantity, traced anew."""
    first = {name: which.split(", ")[0] for name, (count, which) in told().items() if count}
    first = dict(list(first.items())[::3])
    claims = INSTALLED.claims()
    calls = covered.traced(claims[row] for row in dict.fromkeys(first.values()))
    quantities = covered.quantities()
    assert [name for name, row in first.items() if quantities[name] not in calls[row]] == []
