"""`airtight train`: tables, JSON, checkpoints, refusals."""

import json

import numpy as np
import pytest
from scipy import stats
from support.common import FLEET, TRAINING, few_rounds, refused, run, written


def test_json(tmp_path):
    result = run("train", written(tmp_path, TRAINING), "--json")
    assert result.exit_code == 0, result.output
    tree = json.loads(result.stdout)
    assert set(tree) == {"federated"}
    tree = tree["federated"]
    assert tree["parameters"] == 610 and set(tree["mechanisms"]) == {"vanilla", "ldp", "corbin"}
    corbin = tree["mechanisms"]["corbin"]
    assert len(corbin["rounds"]) == 3 and corbin["epsilon_spent_one_parameter"] == 6.0
    assert tree["mechanisms"]["vanilla"]["epsilon_spent_one_parameter"] == "inf"


def test_paired_seeds(tmp_path):
    text = TRAINING.replace("seeds = 1", "seeds = 2").replace('"vanilla", "ldp", "corbin"', '"ldp", "corbin"')
    both = json.loads(run("train", written(tmp_path, text), "--json").stdout)["federated"]["mechanisms"]
    second = json.loads(
        run("train", written(tmp_path, TRAINING.replace("seeds = 1", "seeds = 1\nseed = 1")), "--json").stdout
    )
    alone = second["federated"]["mechanisms"]
    for name, one in both.items():
        found = one["over_seeds"]["test_accuracy"]
        assert found["values"] == [one["test_accuracy"], alone[name]["test_accuracy"]]
        assert found["interval"][0] <= found["mean"] <= found["interval"][1]
    assert alone["ldp"]["over_seeds"]["test_accuracy"]["interval"] == ["-inf", "inf"]
    table = run("train", written(tmp_path, text)).stdout
    assert "2 paired seeds, differences from ldp" in " ".join(table.split()) and "nan" not in table


def test_table_and_checkpoints(tmp_path):
    path = written(tmp_path, TRAINING)
    first = run("train", path, "--checkpoints", tmp_path / "kept")
    assert first.exit_code == 0 and "corbin" in first.stdout
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == ["corbin.npz", "ldp.npz", "vanilla.npz"]
    assert run("train", path, "--checkpoints", tmp_path / "kept").stdout == first.stdout


@pytest.mark.parametrize(
    "old, new, needles",
    [
        ("seeds = 1", "seeds = 0", ["training.seeds = 0"]),
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
    assert refused(run("train", written(tmp_path, TRAINING.replace(old, new))), *needles)


def test_needs_the_federated_table(tmp_path):
    assert refused(run("train", written(tmp_path, "[training]\nrounds = 2\n")), "federated: missing")


def test_divergence_is_said(tmp_path):
    text = TRAINING.replace("rounds = 3", "rounds = 200\nsmoothing = 1.0").replace("epsilon = 2.0", "epsilon = 0.1")
    result = run("train", written(tmp_path, text.replace('"vanilla", "ldp", "corbin"', '"gaussian"')))
    assert result.exit_code == 1 and "diverged" in result.stderr


OTHERS = (
    """
[inference]
devices = 12
participation = 0.9
noise_variance = 0.01
weight = 0.09
clip = 8.0
alignment = 1.0
receiver_noise_variance = 0.1
dimension = 8
delta = 1e-5
delta_prime = 1e-5
[inference.selection]
score = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1]
score_noise = 0.3
threshold = 2.0
selected = 11
"""
    + FLEET
    + """[training]
seeds = 2
seed = 3
"""
)


def test_all_parts(tmp_path):
    path = written(tmp_path, OTHERS)
    with few_rounds():
        result = run("train", path, "--json", "--checkpoints", tmp_path / "kept")
    assert result.exit_code == 0, result.output
    tree = json.loads(result.stdout)
    assert set(tree) == {"inference", "energy"}
    schemes = tree["inference"]["schemes"]
    assert set(schemes) == {"1", "2.1", "2.2"} and schemes["2.1"]["exact_mse"] == "nan"
    assert abs(schemes["1"]["mse"] - schemes["1"]["exact_mse"]) < 6 * schemes["1"]["mse_error"]
    policies = tree["energy"]
    assert policies["proposed"]["energy_std"] < 0.3 * policies["benchmark"]["energy_std"]
    assert sorted(p.name for p in (tmp_path / "kept").iterdir() if p.is_dir()) == ["seed-4"]
    assert len(list((tmp_path / "kept").glob("*.npz"))) == len(list((tmp_path / "kept" / "seed-4").iterdir())) == 6
    second = schemes["2.2"]["over_seeds"]["accuracy"]
    assert second["values"][0] == schemes["2.2"]["accuracy"] and len(second["values"]) == 2
    first = schemes["1"]["over_seeds"]
    assert first["seeds"] == [3, 4] and first["base"] == "1" and first["accuracy"]["difference_interval"] == [0.0, 0.0]
    apart = np.subtract(second["values"], first["accuracy"]["values"])
    assert second["difference"] == pytest.approx(apart.mean())
    half = stats.t.ppf(0.975, 1) * apart.std(ddof=1) / np.sqrt(2)
    assert second["difference_interval"] == pytest.approx([apart.mean() - half, apart.mean() + half])
    assert policies["proposed"]["over_seeds"]["base"] == "benchmark"
    with few_rounds():
        again = run("train", path, "--part", "energy", "--checkpoints", tmp_path / "kept")
    assert again.exit_code == 0 and "mean-update" in again.stdout and "Scheme" not in again.stdout
    assert refused(run("train", path, "--part", "federated"), "federated: missing")


@pytest.mark.parametrize(
    "old, new, code, needle",
    [
        ("devices = 12", "devices = 201", 2, "devices = 201"),
        ("deadline = 0.75", "deadline = 0.2", 3, "device"),
    ],
)
def test_what_cannot_be_trained(tmp_path, old, new, code, needle):
    text = OTHERS.replace(old, new)
    if "201" in new:
        text = text[: text.index("[inference.selection]")]
    result = run("train", written(tmp_path, text))
    assert result.exit_code == code and needle in result.stderr and "Traceback" not in result.stderr
