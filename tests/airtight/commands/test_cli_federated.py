"""`airtight bounds` for [federated]: every key of the contract, and refusals that name the key."""

import json
import math

import pytest
from support.common import refused, run, written

from airtight.report import page
from airtight.report.drawing import drawings
from airtight.results.bounds import Bounds
from airtight.system_file.config import load

SYSTEM = """
[federated]
clients = 50
parameters = 1000
epsilon = 1.0
center = 0.0
radius = 1.0
shared_bits = 5
ldp_fraction = 0.2
dropout = 0.1
delta = 1e-5
"""


def test_every_key_of_the_contract(tmp_path):
    result = run("bounds", written(tmp_path, SYSTEM), "--json")
    assert result.exit_code == 0, result.output
    tree = json.loads(result.stdout)
    assert set(tree) == {"headline", "never_send", "federated"}
    part = tree["federated"]
    assert part["alpha"] == pytest.approx(1 / math.tanh(0.5))
    assert {"ldp", "corbin_published", "corbin_worst", "corbin_worst_finite_bits", "augmented_worst"} <= set(
        part["mse"]
    )
    central = part["central"]
    assert central["published_epsilon"] == "inf" and not central["published_condition"]
    assert central["exact_epsilon_one_parameter"] == central["exact_epsilon_update"] == "inf"
    assert central["local_epsilon_update"] == 1000.0 and central["adjacency"] == "replace"
    assert part["mse"]["corbin_worst"] * 50 == pytest.approx(2.3279, abs=1e-4)
    assert part["mse"]["ldp"] * 50 == pytest.approx(4.6827, abs=1e-4)
    assert part["communication"]["published"]["shared_randomness"] == 5 * 1000 * 256


def test_table(tmp_path):
    result = run("bounds", written(tmp_path, SYSTEM))
    assert result.exit_code == 0 and "paired client" in result.stdout and "CorBin-FL" in result.stdout


@pytest.mark.parametrize(
    "old, new, needles",
    [
        ("epsilon = 1.0", "epsilon = 0.0", ["federated.epsilon = 0.0", "(0, inf)"]),
        ("radius = 1.0", "radius = -1", ["federated.radius"]),
        ("shared_bits = 5", "shared_bits = -1", ["federated.shared_bits = -1"]),
        ("shared_bits = 5", "shared_bits = 2.5", ["federated.shared_bits"]),
        ("ldp_fraction = 0.2", "ldp_fraction = 1.2", ["federated.ldp_fraction"]),
        ("dropout = 0.1", "dropout = 1.0", ["federated.dropout"]),
        ("delta = 1e-5", "delta = nan", ["federated.delta"]),
        ("clients = 50", "client = 50", ["federated.client"]),
        ("clients = 50\n", "", ["federated.clients"]),
        ("radius = 1.0", 'radius = "1"', ["federated.radius"]),
    ],
)
def test_refusals(tmp_path, old, new, needles):
    assert refused(run("bounds", written(tmp_path, SYSTEM.replace(old, new))), "system.toml", *needles)


def test_an_empty_file(tmp_path):
    assert refused(run("bounds", written(tmp_path, "")), "inference, federated")


def test_the_weight_problem_needs_features(tmp_path):
    assert refused(run("solve", "weights", written(tmp_path, SYSTEM)), "inference.features")


def test_rounds_in_table_and_json(tmp_path):
    text = SYSTEM + "rounds = 5\n"
    for old, new in (("clients = 50", "clients = 80"), ("parameters = 1000", "parameters = 1"),
                     ("ldp_fraction = 0.2", "ldp_fraction = 0.5"), ("shared_bits = 5", "shared_bits = 1")):  # fmt: skip
        text = text.replace(old, new)
    part = json.loads(run("bounds", written(tmp_path, text), "--json").stdout)["federated"]
    central, left = part["central"], part["dropout"]
    assert central["rounds"] == 5 and central["local_epsilon_all_rounds"] == 5.0
    assert central["exact_epsilon_update"] < central["exact_epsilon_all_rounds"] < 5 * central["exact_epsilon_update"]
    assert left["central_epsilon_update"] < left["central_epsilon_all_rounds"] < 5 * left["central_epsilon_update"]
    shown = run("bounds", written(tmp_path, text)).stdout
    assert "5 rounds" in shown and "dropout 0.1" in shown
    assert refused(run("bounds", written(tmp_path, SYSTEM + "rounds = 0\n")), "federated.rounds = 0")


def test_a_report_of_federated_learning_alone(tmp_path):
    description = load(written(tmp_path, SYSTEM))
    parts = page.Parts(description, Bounds.of(description))
    parts.draw(drawings.of_others(description))
    page.write(tmp_path / "out", parts)
    html = (tmp_path / "out" / "index.html").read_text()
    assert "no finite local guarantee" in html and "What the system guarantees" not in html
    assert (
        len(list((tmp_path / "out" / "figures").glob("*.svg")))
        == len(list((tmp_path / "out" / "figures").glob("*.csv")))
        == 2
    )
