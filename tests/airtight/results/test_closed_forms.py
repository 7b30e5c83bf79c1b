"""The command ``airtight quantities``, its JSON, and the same quantities in a sweep."""

import json

import numpy as np
import pytest
import sympy as sp
from support.common import refused, run
from support.paths import ROOT

import airtight
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.forms.domain import COUNT, POSITIVE, Parameter
from airtight.analytics.forms.quantity import Quantity
from airtight.analytics.guarantee import Face
from airtight.report import document
from airtight.report import results_schema as schema
from airtight.solvers import quantities as catalogue
from airtight.sweeps import parts, quantities
from airtight.system_file.config import load

PAPER = ROOT / "examples" / "paper.toml"


def answered(*words):
    result = run("quantities", *words)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_every_system_of_the_file_has_its_closed_forms():
    tree = json.loads(answered(PAPER, "--json"))
    assert set(tree) == {"inference", "federated", "energy"}
    system = load(PAPER).federated
    for key, form in tree["federated"].items():
        assert form["value"] == pytest.approx(float(airtight.quantities()[form["name"]].of(system))), key
    assert tree["energy"]["gain"]["value"] == pytest.approx(load(PAPER).energy.gain)
    privacy = [form for part in tree.values() for key, form in part.items() if "epsilon" in key or "delta" in key]
    assert all(form["meaning"] for form in privacy), "a privacy number names its adjacency and its observer"


def test_the_tables():
    assert "worst_ldp_fl" in answered(PAPER) and "0.0936539" in answered(PAPER)
    names = json.loads(answered("--json"))
    assert set(names) == {quantity.key for quantity in airtight.quantities().values()}
    assert "advanced composition" in answered()
    assert refused(run("quantities", "missing.toml"), "missing.toml")


def test_a_closed_form_in_a_sweep(tmp_path):
    over = {"federated.clients": [10, 100]}
    found = airtight.sweep(PAPER, over, quantities=["worst_ldp_fl", "gain.max"], out=tmp_path / "store")
    worst = airtight.quantities()["worst LDP-FL"]
    assert found["worst_ldp_fl"].values == pytest.approx(worst(clients=np.array([10, 100]), epsilon=1.0, radius=1.0))
    assert found["gain.max"].values == pytest.approx(max(load(PAPER).energy.gain))
    assert not parts.part("quantities.worst_ldp_fl").depends_on(key("dropout"))
    assert parts.part("quantities.worst_ldp_fl").depends_on(key("clients"))


def key(name):
    from airtight.sweeps.axes import Key

    return Key("federated", name, None, name)


def test_one_entry_is_enough(monkeypatch):
    """A new closed form is in the command, its JSON and schema, the sweep and the page without another edit."""
    n, r = Parameter("n", COUNT), Parameter("r", POSITIVE)
    entry = Quantity(
        "sign descent, worst error",
        "SignSGD",
        Face.EXACT,
        r**2 / n,
        {"clients": n, "radius": r},
        system=FederatedSystem,
    )
    known = airtight.quantities()
    monkeypatch.setattr(catalogue, "quantities", lambda: {**known, entry.name: entry})
    parts.closed_forms.cache_clear()
    try:
        tree = json.loads(answered(PAPER, "--json"))
        assert tree["federated"]["sign_descent_worst_error"]["value"] == 0.02
        assert "sign_descent_worst_error" in answered(PAPER) and "sign descent" in answered()
        place = quantities.named("sign_descent_worst_error", ["federated"]).place
        assert parts.part(place.part).values(load(PAPER), ["value"], 1.0) == {"value": 0.02}
        page = document.registry([(entry, document.worst(entry, samples=20))])
        assert r"| $\frac{r^{2}}{n}$ | exact | SignSGD |" in page
    finally:
        parts.closed_forms.cache_clear()


def test_an_unknown_name_suggests_a_closed_form():
    with pytest.raises(airtight.ParameterError, match="did you mean worst_ldp_fl"):
        quantities.named("worst_ldpfl", ["federated"])
    with pytest.raises(airtight.ParameterError, match="allowed"):
        quantities.named("worst_ldp_fl.max", ["federated"])
    with pytest.raises(airtight.ParameterError, match="federated"):
        quantities.named("worst_ldp_fl", ["energy"])


def test_the_schema_has_them():
    assert schema.schema()["$defs"]["quantities"] == {"$ref": "#/$defs/ClosedForms"}
    assert sp.__version__
