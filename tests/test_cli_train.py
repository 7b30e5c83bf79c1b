"""`airtight train`: tables, JSON, checkpoints, refusals."""

import json

import pytest
from tests_support import refused, run, written

SYSTEM = """
[federated]
clients = 20
parameters = 1
epsilon = 2.0
radius = 1.0
shared_bits = 5
ldp_fraction = 0.2
delta = 1e-5
[training]
rounds = 3
hidden = [8]
mechanisms = ["vanilla", "ldp", "corbin"]
"""


def test_json(tmp_path):
    result = run("train", written(tmp_path, SYSTEM), "--json")
    assert result.exit_code == 0, result.output
    tree = json.loads(result.stdout)
    assert tree["parameters"] == 610 and set(tree["mechanisms"]) == {"vanilla", "ldp", "corbin"}
    corbin = tree["mechanisms"]["corbin"]
    assert len(corbin["rounds"]) == 3 and corbin["epsilon_spent_one_parameter"] == 6.0
    assert tree["mechanisms"]["vanilla"]["epsilon_spent_one_parameter"] == "inf"


def test_table_and_checkpoints(tmp_path):
    path = written(tmp_path, SYSTEM)
    first = run("train", path, "--checkpoints", tmp_path / "kept")
    assert first.exit_code == 0 and "corbin" in first.stdout
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == ["corbin.npz", "ldp.npz", "vanilla.npz"]
    assert run("train", path, "--checkpoints", tmp_path / "kept").stdout == first.stdout


@pytest.mark.parametrize(
    "old, new, needles",
    [
        ("rounds = 3", "rounds = 0", ["training.rounds = 0"]),
        ("rounds = 3", "round = 3", ["training.round", "unknown key"]),
        ("hidden = [8]", "hidden = [8, 0]", ["training.hidden"]),
        ("hidden = [8]", "smoothing = 1.5", ["training.smoothing = 1.5", "(0, 1]"]),
        ("hidden = [8]", 'dataset = "cifar"', ["training.dataset", "digits, mnist"]),
        ('"ldp", ', '"ldb", ', ["training.mechanisms = 'ldb'"]),
        ("clients = 20", "clients = 2000", ["clients = 2000", "number of samples"]),
        ("[federated]", "[federate]", ["federate"]),
    ],
)
def test_refusals(tmp_path, old, new, needles):
    assert refused(run("train", written(tmp_path, SYSTEM.replace(old, new))), *needles)


def test_needs_the_federated_table(tmp_path):
    assert refused(run("train", written(tmp_path, "[training]\nrounds = 2\n")), "federated: missing")


def test_divergence_is_said(tmp_path):
    text = SYSTEM.replace("rounds = 3", "rounds = 200\nsmoothing = 1.0").replace("epsilon = 2.0", "epsilon = 0.1")
    result = run("train", written(tmp_path, text.replace('"vanilla", "ldp", "corbin"', '"gaussian"')))
    assert result.exit_code == 1 and "diverged" in result.stderr
