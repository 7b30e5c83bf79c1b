"""The nearest misses of all hunts so far, judged again; what a hunt does with a violation."""

import json
import math
from fractions import Fraction

import pytest
from hunt import judge
from hunt.__main__ import CORPUS, hunt
from hunt.targets import TARGETS, Target

from airtight.analytics.forms.balls.ball import ball

CASES = json.loads(CORPUS.read_text())
PROMISES = {target.name: target for target in TARGETS}


@pytest.mark.parametrize("promise", list(PROMISES))
def test_nearest_misses_are_still_misses(promise):
    for _, case in CASES[promise]:
        ratio = PROMISES[promise].ratio(case)
        assert not ratio > 1, case


def test_a_hunt_finds_what_is_wrong(monkeypatch, capsys):
    """An epsilon that is right on average only: half of the draws are too small."""

    def ratio(case):
        return 1 + case["x"]

    bad = Target("planted", lambda rng: {"x": float(rng.normal() - 3)}, ratio)
    monkeypatch.setattr("hunt.__main__.TARGETS", (bad,))
    found, nearest = hunt(0.3, 1, [])
    assert found["planted"]["worst"] > 1 and nearest["planted"][0][0] == found["planted"]["worst"]
    assert "planted" in capsys.readouterr().out
    assert not any(math.isnan(ratio) for ratio, _ in nearest["planted"])


def test_the_judge_tells_two_laws_that_lie_far_apart():
    """A signal of 1e8 deviations; its epsilon is a ball."""
    assert 1 - 1e-12 < float(judge.gaussian(ball(1), Fraction(10**8), Fraction(1)).mid()) <= 1
