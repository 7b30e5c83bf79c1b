"""Maps of claims: each point is what the claim's own test says, no point is silently moved, and refusals name the parameter."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from support.common import refused, run
from support.paths import ROOT

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.domain import Range, parameter
from airtight.validate.claims import claim_map
from airtight.validate.claims.claim import Claim
from airtight.validate.claims.relation import at_most

x, y = parameter("x", 0.0, 4.0), parameter("y", 0.0, 4.0, typical=(1.0, 1.0))
UNIT = {"x": Range(0.0, 4.0), "y": Range(0.0, 4.0)}
values = st.lists(st.just(0.0) | st.floats(1e-9, 4.0), min_size=2, max_size=4, unique=True)


@given(values, values)
def test_a_point_of_two_expressions_is_decided_exactly(across, up):
    found = airtight.map_claim(Claim("L", "Lemma", x**2 <= y), {"x": across, "y": up})
    for a in across:
        for b in up:
            spot = found.sel(x=a, y=b)
            a_squared, bound = sp.Rational(repr(a)) ** 2, sp.Rational(repr(b))
            assert spot.region == ("true" if a_squared <= bound else "false") and spot.certified
            if a_squared > bound:
                expected = np.inf if b == 0 else float(a_squared / bound)
                assert float(spot.factor) == pytest.approx(expected, rel=1e-9)
            else:
                assert np.isnan(spot.factor)


def regions(claimed, actual, **more):
    """Where it is tried at x, y in {1, 2}: the regions by row."""
    claim = Claim("L", "Lemma", at_most(actual, claimed), domain=UNIT, statement="L", **more)
    return claim_map.map_claim(claim, {"x": [1, 2], "y": [1, 2]}).region.values.tolist()


def raising(x, y):
    if x == 2:
        raise ZeroDivisionError("no answer at 2")
    return y


def test_what_claims_nothing_is_vacuous_and_what_has_no_answer_is_unsettled():
    low, high = lambda x, y: 1.0, lambda x, y: 3.0
    assert regions(lambda x, y: np.nan if x == 1 else 2.0, low) == [["vacuous"] * 2, ["true"] * 2]
    assert regions(lambda x, y: np.inf if y == 1 else 2.0, high) == [["vacuous", "false"]] * 2
    assert regions(high, raising) == [["true"] * 2, ["unsettled"] * 2]
    assert regions(high, lambda x, y: np.nan if x == 2 else 1.0) == [["true"] * 2, ["unsettled"] * 2]
    assert regions(low, high, given=[lambda x, y: x > 1]) == [["outside"] * 2, ["false"] * 2]


def test_sides_that_balls_do_not_separate_are_unsettled():
    claim = Claim("L", "Lemma", sp.sin(x) ** 2 + sp.cos(x) ** 2 + y <= 1 + y)
    found = claim_map.map_claim(claim, {"x": [1, 2], "y": [1, 2]})
    assert set(found.region.values.ravel()) == {"unsettled"} and "separate" in found.attrs["first_error"]


def test_a_published_claim_is_what_its_trial_says():
    claim = airtight.claims()["FDP-T1"]
    found = airtight.map_claim("FDP-T1", {"devices": [12, 13, 16, 200], "p": [0.1, 0.9]})
    fixed = {name.removeprefix("at_"): value for name, value in found.attrs.items() if name.startswith("at_")}
    fixed = {name: int(value) if claim.domain[name].integer else value for name, value in fixed.items()}
    for devices, p in itertools.product([12, 13, 16, 200], [0.1, 0.9]):
        spot = found.sel(devices=devices, p=p)
        claimed, actual, margin = claim.compare({**fixed, "devices": devices, "p": p})
        assert spot.region == ("vacuous" if np.isnan(claimed) else "false" if margin < 0 else "true")
        if margin < 0:
            assert float(spot.factor) == pytest.approx(actual / claimed, rel=1e-6)
    assert not found.certified.any()
    assert found.attrs["paper_p"] == 0.9 and {"true", "false", "vacuous"} == set(found.region.values.ravel())


def test_only_violations_are_proved_on_request(monkeypatch):
    asked = []
    monkeypatch.setattr(claim_map, "witness", lambda claim, point: asked.append(point) or SimpleNamespace(certified=True))
    claim = Claim("L", "Lemma", at_most(lambda x, y: x, lambda x, y: y), domain=UNIT, statement="L")
    found = claim_map.map_claim(claim, {"x": [1, 2], "y": [1, 2]}, certify=True)
    assert asked == [{"x": 2, "y": 1}] and found.certified.values.tolist() == [[False, False], [True, False]]


def test_the_picture_says_the_finding_and_has_a_star_at_the_papers_parameters():
    axes = Figure().add_subplot()
    found = airtight.map_claim("FDP-T1", {"devices": [12, 16, 200], "p": [0.1, 0.9]})
    claim_map.plot(found, axes)
    assert axes.get_title(loc="left") == claim_map.finding(found)
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"false", "vacuous", "the paper's own parameters"} <= set(texts)
    away = Figure().add_subplot()
    claim_map.plot(found.isel(devices=slice(1, None)).sel(devices=[200.0]), away)
    assert "the paper's own parameters" not in [text.get_text() for text in away.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("over", "at", "said"),
    [
        ({"devices": [2, 4]}, {}, "two parameters of FDP-T1"),
        ({"devices": [2, 4], "q": [0.1, 0.2]}, {}, "one of FDP-T1"),
        ({"devices": [2, 2.5], "p": [0.1, 0.2]}, {}, "integers in"),
        ({"devices": [2, 4], "p": [0.1, 2.0]}, {}, "in|must be"),
        ({"devices": [2, 2], "p": [0.1, 0.2]}, {}, "two different values"),
        ({"devices": [2, 4], "p": [0.1, np.nan]}, {}, "number"),
        ({"devices": [2, 4], "p": [0.1, 0.2]}, {"p": 0.3}, "no parameter of `over`"),
        ({"devices": [2, 4], "p": "12"}, {}, "list of numbers"),
        ({"devices": np.ma.masked, "p": [0.1, 0.2]}, {}, "list of numbers"),
        ({"devices": [2, 4], "p": [0.1, np.inf]}, {}, "number"),
        ({"devices": [2, 4], "p": [0.1, 0.2]}, [0.5], "by name"),
    ],
)
def test_refusals(over, at, said):
    with pytest.raises(ParameterError, match=said):
        airtight.map_claim("FDP-T1", over, at)


def test_the_command_maps_a_claim_of_a_file_and_refuses_before_it_writes(tmp_path):
    file = ROOT / "examples/lemmas.py"
    out = tmp_path / "map.csv"
    words = ("map", "L3", file, "--over", "q=0.01,0.1", "--over", "p=0.1,0.2", "--out", out)
    assert refused(run(*words), "parameter = 'p'", "one of L3") and not out.exists()
    two = ("map", "FDP-T1", "--over", "devices=16,200", "--over", "p=0.5:0.9:3", "--at", "dimension=16")
    ended = run(*two, "--out", out)
    assert ended.exit_code == 0, ended.output
    assert out.read_text().startswith("devices,p,region,") and out.read_text().count("\n") == 7
    ended = run(*two, "--out", tmp_path / "map.svg")
    assert ended.exit_code == 0 and "FDP-T1: false at" in ended.stdout and (tmp_path / "map.svg").read_text().startswith("<?xml")
    assert refused(run(*two, "--out", tmp_path / "map.txt"), "--out", ".svg")
    assert refused(run("map", "FDP-T9", *two[2:], "--out", out), "identifier of a claim")
    assert refused(run(*two[:-2], "--at", "dimension=1,2", "--out", out), "one value")
    assert refused(run("map", "UF-T1", "--over", "mu=0.1,0.5", "--over", "phi=0.1,0.2", "--out", out), "step")


SYSTEM = """
[inference]
devices = 12
participation = 0.6
noise_variance = 0.2
weight = 0.5
clip = 3.0
alignment = 2.0
receiver_noise_variance = 0.8
dimension = 50
delta = 1e-6
delta_prime = 1e-4
"""


def test_a_system_file_has_values_of_its_own(tmp_path):
    """Scaled as the rows are: the signal is w C, the receiver's noise that over the squared gain."""
    file = tmp_path / "system.toml"
    file.write_text(SYSTEM)
    over = {"devices": [8, 16], "p": [0.5, 0.7]}
    found = airtight.map_claim("FDP-T1", over, file=file)
    same = {"variance": 0.2, "signal": 1.5, "receiver": 0.2, "dimension": 50, "delta": 1e-6, "delta_prime": 1e-4}
    assert found.equals(airtight.map_claim("FDP-T1", over, same))
    assert (found.attrs["system_devices"], found.attrs["system_p"]) == (12.0, 0.6)
    assert airtight.map_claim("FDP-T1", over, {"variance": 0.3}, file=file).attrs["at_variance"] == 0.3
    result = run("map", "FDP-T1", file, "--over", "devices=8,16", "--over", "p=0.5,0.7", "--out", tmp_path / "m.svg")
    assert result.exit_code == 0 and "the system of the file" in (tmp_path / "m.svg").read_text()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("participation = 0.6", f"participation = {[0.1, 0.6] * 6}"), "participation"),
        (("devices = 12", "devices = 12\ncolluding = 1"), "colluding"),
        (("dimension = 50", "dimension = 5000"), "dimension"),
    ],
)
def test_a_system_beyond_the_claim_is_refused_by_name(tmp_path, change, said):
    file = tmp_path / "system.toml"
    file.write_text(SYSTEM.replace(*change))
    with pytest.raises(ParameterError, match=said):
        airtight.map_claim("FDP-T1", {"devices": [8, 16], "p": [0.5, 0.7]}, file=file)


def test_a_claim_of_other_systems_is_refused(tmp_path):
    file = tmp_path / "system.toml"
    file.write_text(SYSTEM)
    result = run("map", "UF-T1", file, "--over", "mu=0.1,0.2", "--over", "phi=0.1,0.2", "--out", tmp_path / "m.svg")
    assert refused(result, "mu, phi, step")
