"""Value types compare by value, give their values as JSON, and show themselves in a notebook."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import airtight
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet, table_1
from airtight.analytics.forms import theorem1
from airtight.analytics.forms.domain import Range
from airtight.analytics.forms.quantity import folded, per_device
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.parameters import of
from airtight.analytics.privacy.over_the_air import amplification as exact
from airtight.solvers.design import calibrate
from airtight.solvers.weights.weight_problem import _example as example

SYSTEM = InferenceSystem(
    devices=3,
    participation=[0.9, 0.5, 1.0],
    noise_variance=0.1,
    weight=1 / 3,
    clip=2.0,
    alignment=1.0,
    receiver_noise_variance=0.1,
    dimension=4,
    delta=1e-5,
    delta_prime=1e-5,
    adjacency="replace",
)
KINDS = [SYSTEM, FederatedSystem(clients=50, parameters=10, epsilon=1.0), table_1(distance=[50.0, 100.0])]


@pytest.mark.parametrize("value", KINDS, ids=lambda v: type(v).__name__)
def test_equality_dictionary_and_hash(value):
    twin = replace(value)
    assert value == twin and hash(value) == hash(twin) and value is not twin and value != 3
    tree = json.loads(json.dumps(value.to_dict()))
    assert set(tree) == {name for name in of(type(value)) if getattr(value, name) is not None}
    if isinstance(value, InferenceSystem | FederatedSystem):
        assert type(value)(**tree) == value
    for name, parameter in of(type(value)).items():
        held = getattr(value, name)
        if parameter.holds.startswith("number") and np.all(np.asarray(held) != 0):
            assert replace(value, **{name: held * 0.9}) != value, name


def test_a_fleet_from_its_dictionary():
    for distance in ([50.0, 100.0, 200.0], [50.0, 50.0]):
        fleet = table_1(distance=distance)
        assert DeviceFleet(**fleet.to_dict()) == fleet


def test_features_compare_by_their_arrays():
    views = Features(f=np.eye(2), W=np.eye(2), D=np.eye(2))
    assert views == replace(views) and hash(views) == hash(replace(views))
    assert views != replace(views, D=2 * np.eye(2)) and views != "views"
    assert Features(**json.loads(json.dumps(views.to_dict()))) == views


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.sound = [], 0, True
        self.feed(text)
        self.sound = self.sound and not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.rows += tag == "tr"

    def handle_endtag(self, tag):
        self.sound = self.sound and self.open.pop() == tag


@pytest.mark.parametrize("value", KINDS, ids=lambda v: type(v).__name__)
def test_shown_in_a_notebook(value):
    table = Cells(value._repr_html_())
    assert table.sound and table.rows == 1 + len(of(type(value)))
    latex = value._repr_latex_()
    assert latex.startswith("$") and latex.endswith("$")
    assert all(p.symbol in latex for p in of(type(value)).values() if p.symbol)


@given(st.integers(2, 6))
def test_folded_sums_are_the_sums(count):
    p, s = per_device("p", count, Range(1, 2)), per_device("s", count, Range(1, 2))
    mean = sum(a * b for a, b in zip(p, s, strict=True))
    partial = sum(a * b**2 for a, b in zip(p[1:], s[1:], strict=True))
    for expression in (mean, mean + p[0], 1 / mean**2, partial + s[0], p[0] * s[0] + p[1]):
        made = folded(expression, [p, s])
        values = {x: 0.1 + i for i, x in enumerate((*p, *s))}
        unfolded = made
        for total in made.atoms(type(folded(mean, [p, s]))):
            term, (_, first, last) = total.function, total.limits[0]
            written = sum(
                term.subs(
                    {x: y for x in term.free_symbols for y in (*p, *s) if y.name == x.name.replace("_k", f"_{j}")}
                )
                for j in range(int(first), int(last) + 1)
            )
            unfolded = unfolded.subs(total, written)
        assert float(unfolded.subs(values)) == pytest.approx(float(expression.subs(values)))


def test_primes_and_sums_in_latex():
    forms = theorem1.devices(4)
    text = forms["Theorem 1, epsilon (t of (11))"].latex()
    assert r"\delta'" in text and "delta'" not in text.replace(r"\delta'", "") and r"\sum_{k=1}^{4} p_{k} s_{k}" in text


def _results():
    """One of every type that a verb of `airtight` returns or takes, and the same computed again."""
    quiet = replace(SYSTEM, adjacency="silent")
    fleet = table_1(distance=[50.0, 100.0])
    lemma = airtight.Claim("L1", "Lemma 1", sympy.log(1 + airtight.parameter("x", 0.01, 10.0)) <= 0.5)
    return {
        "curve": lambda: airtight.curve(quiet),
        "calibration": lambda: calibrate.calibrate(quiet, 20.0),
        "claim": lambda: airtight.claims()["FDP-D2"],
        "paper": lambda: airtight.papers()["feature-dp"],
        "evidence": lambda: airtight.try_claims([lemma], effort=64)[0],
        "design": lambda: airtight.design(*example(), minimise="energy", epsilon_at_most=2.0, error_at_most=0.5),
        "energy": lambda: airtight.solve_energy(fleet),
        "form": lambda: theorem1.devices(3)["deviation proven"],
        "guarantee": lambda: exact.proven(quiet),
        "weights": lambda: airtight.solve_weights(*example(), epsilon_cap=50.0),
    }


@pytest.mark.parametrize("kind", list(_results()))
def test_results_compare_give_json_and_show_themselves(kind):
    make = _results()[kind]
    found, again = make(), make()
    assert found == again and found != 3
    tree = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert tree
    shown = found._repr_latex_() if kind == "form" else found._repr_html_()
    assert "nan" not in shown and (kind == "form" or shown.startswith("<table><caption>"))


def test_results_that_differ_are_not_equal():
    first, second = (airtight.solve_energy(table_1(distance=[50.0, d])) for d in (100.0, 101.0))
    assert first != second
    forms = theorem1.devices(3)
    assert forms["deviation proven"] != theorem1.devices(4)["deviation proven"]
    assert len({*forms.values(), *theorem1.devices(3).values()}) == len(forms)
    assert "\\delta'" in forms["deviation proven"].latex() and "\\sum_{k=1}^{3}" in forms["deviation proven"].latex()
