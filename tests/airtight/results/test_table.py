"""The tidy table of every result: its columns, what it says of each number, and the files that libraries read back."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.io import loadmat
from support.common import run
from support.paths import ROOT

import airtight
from airtight.analytics import tidy
from airtight.analytics.federated.fair.device import table_1
from airtight.analytics.guarantee import Face
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.results import result

COLUMNS = ["system", "device", "quantity", "face", "observer", "rounds", "value", "lower", "upper", "unit"]
GOOD = str(ROOT / "examples/good.toml")
READ = {".csv": pd.read_csv, ".xlsx": pd.read_excel, ".parquet": pd.read_parquet}
FILE = """[inference]
devices = 3
participation = [1.0, 0.5, 0.0]
noise_variance = 0.4
weight = 0.3
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.1
dimension = 200
delta = 1e-5
adjacency = "silent"
rounds = 4
[inference.variants."=1+1"]
clip = 2.0
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "mine.toml"
    path.write_text(FILE)
    return path


@pytest.fixture(scope="module")
def frame(file):
    return airtight.bounds(file).to_frame()


def test_faces_are_those_of_the_enumeration():
    assert tuple(Face) == tidy.FACES


def test_each_epsilon_is_that_of_its_system_observer_rounds_and_device(file, frame):
    assert list(frame.columns) == COLUMNS and set(frame.system) == {"mine", "=1+1"}
    held = airtight.load(file)
    exact = frame[(frame.quantity == "epsilon") & (frame.face == "exact")]
    assert set(exact.observer) == {"participants", "others", "signal"} and set(exact.rounds) == {1, 4}
    for name, system in held.systems.items():
        for (observer, rounds), rows in exact[exact.system == name].groupby(["observer", "rounds"]):
            bracket = system_privacy.epsilon_bracket(system, rounds=rounds, observer=observer)
            np.testing.assert_array_equal(rows.value, bracket.upper)
            assert rows.device.tolist() == [0, 1, 2]
            assert rows.lower.isna().all() or np.array_equal(rows.lower, bracket.lower)
    assert frame[frame.quantity == "never_send"].device.tolist() == [2, 2]


def test_an_estimate_has_no_proved_bounds(monkeypatch, file):
    monkeypatch.setattr(system_privacy, "estimated", lambda *_, **__: True)
    assert airtight.bounds(file).to_frame().query("quantity == 'epsilon'")[["lower", "upper"]].isna().all().all()


@pytest.mark.parametrize("suffix", READ)
def test_libraries_read_the_files_without_options(suffix, file, frame, tmp_path):
    out = tmp_path / f"table{suffix}"
    ended = run("bounds", file, "--out", out)
    assert ended.exit_code == 0 and "is written" in ended.stderr
    read = READ[suffix](out)
    assert list(read.columns) == COLUMNS and len(read) == len(frame)
    for name in ("device", "rounds", "value", "lower", "upper"):
        np.testing.assert_array_equal(read[name].astype(float), frame[name].astype(float))
    assert read.system.tolist() == frame.system.tolist()  # "=1+1" is a name, no formula
    assert read.observer.fillna("").tolist() == frame.observer.tolist()


def test_json_and_matlab_files(file, frame, tmp_path):
    assert run("bounds", file, "--out", tmp_path / "a.json").exit_code == 0
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads(run("bounds", file, "--json").stdout)
    assert run("bounds", file, "--out", tmp_path / "a.mat", "--json").exit_code == 0
    read = loadmat(tmp_path / "a.mat", squeeze_me=True)
    np.testing.assert_array_equal(read["value"], frame.value)
    assert [str(name) for name in read["quantity"]] == frame.quantity.tolist()


@pytest.mark.parametrize(
    "words",
    [
        ("calibrate", "FILE", "--epsilon", "2"),
        ("solve", "energy", "examples/fleet.toml"),
        ("solve", "weights", GOOD),
        ("verify", "FDP-D2", "--effort", "8"),
        ("meter", "LOG", "--budget", "4", "--delta", "1e-5", "--devices", "2"),
        ("sweep", "FILE", "clip=1,2", "rounds=1,2", "--quantity", "epsilon_per_device"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_every_command_writes_the_same_columns(words, file, tmp_path, monkeypatch, one_processor):
    monkeypatch.chdir(ROOT)
    names = {"FILE": str(file), "LOG": str(tmp_path / "log.jsonl")}
    ended = run(*(names.get(word, word) for word in words), "--out", tmp_path / "x.csv")
    assert ended.exit_code == 0, ended.output
    read = pd.read_csv(tmp_path / "x.csv")
    assert [name for name in read.columns if name in COLUMNS] == COLUMNS and len(read)
    assert set(read.columns) - set(COLUMNS) == ({"clip"} if words[0] == "sweep" else set())
    assert read.quantity.str.len().min() > 0 and read.value.notna().any()


@pytest.mark.parametrize("out", ["x.pdf", "x", "absent/x.csv"])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(out, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run("bounds", file, "--out", out)
    assert ended.exit_code == 2 and ended.stderr.startswith(f"airtight: --out = '{out}': must be") and not ended.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path, monkeypatch):
    old = tmp_path / "x.csv"
    old.write_text("old")
    monkeypatch.setattr(result, "csv_text", lambda table: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        result.write(old, None, tidy.columns([("a", {"gap": 1.0})]))
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"] and old.read_text() == "old"


@given(arrays(float, st.integers(1, 5), elements=st.floats(allow_nan=False)))
def test_a_number_for_each_device_is_a_row_for_each(values):
    table = tidy.columns([("a", {"mse": {"exact": values}, "case": np.array(["x"] * values.size, dtype=object)})])
    rows = table["quantity"] == "mse"
    np.testing.assert_array_equal(table["value"][rows], values)
    assert table["device"][rows].tolist() == list(range(values.size)) and set(table["face"][rows]) == {"exact"}
    assert table["quantity"][~rows].tolist() == ["case = x"] * values.size


def test_records_have_units_and_latex():
    plan = airtight.solve_energy(table_1(distance=[50.0, 200.0]))
    frame = plan.to_frame("fleet")
    power = frame[frame.quantity == "power"]
    assert power.unit.tolist() == ["W", "W"] and power.value.tolist() == plan.power.tolist()
    assert "system & device & quantity" in frame.to_latex(index=False)
    assert "<script>" not in tidy.html("<script>", ["<script>"], [("<script>", {"<script>": 1.0})])


def test_a_sweep_has_its_axes_before_the_table(file):
    dataset = airtight.sweep(file, {"clip": [1.0, 2.0], "rounds": [1, 3]}, quantities=["epsilon_per_device", "epsilon_proven"])
    frame = dataset.airtight.to_frame()
    assert list(frame.columns) == ["clip", *COLUMNS]
    each = frame[frame.quantity == "epsilon_per_device"].set_index(["clip", "rounds", "device"])
    for clip, rounds, device in each.index:
        cell = dataset.sel(clip=clip, rounds=rounds, device=device)
        assert each.loc[(clip, rounds, device), "value"] == float(cell.epsilon_per_device)
        assert each.loc[(clip, rounds, device), "lower"] == float(cell.epsilon_per_device_lower)
    proven = frame[frame.face == "proven"]
    assert proven.quantity.tolist() == ["epsilon", "epsilon"] and proven["rounds"].tolist() == [1, 1]
