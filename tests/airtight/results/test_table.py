"""The tidy table of every result: its columns, what it says of each number, and the files that libraries read back."""

import ast
import csv
import functools
import importlib
import inspect
import io
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
from airtight.analytics.inference.link_budget import link_budget
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


NO_RESULTS = {  # what public functions return beside results
    "AirtightError ParameterError ConvergenceError MissingExtraError InfeasibleError NotSettledError OverspentError": "errors",
    "InferenceSystem Channel DeviceFleet FederatedSystem Features Round SystemFile Requirements Looks": "inputs",
    "Claim Paper Item Reference Ruling Implementation Relation Scale Redrawn Effort Range Parameter Quantity": "parts of a claim",
    "Adjacency Face Observer Verdict Status Direction PowerGain": "choices",
    "Bracket": "a pair of numbers",
    "MeterSummary Row PointRow": "dictionaries: the JSON of results",
    "Witness proof_reviews.Reading": "parts of evidence",
}


@functools.cache
def homes(module):
    """Names that a module imports, for type checkers as well, with the modules that define them; and its own classes."""
    found = {name: module.__name__ for name in vars(module) if inspect.isclass(getattr(module, name))}
    for line in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(line, ast.ImportFrom) and (line.module or "").startswith("airtight"):
            found |= {(each.asname or each.name): (line.module, each.name) for each in line.names}
    return found


def returned(function):
    """Classes of the package in the annotation of what a function returns."""
    known = homes(module := importlib.import_module(function.__module__))
    annotation = ast.parse(str(function.__annotations__.get("return", "None")))
    words = {each.id for each in ast.walk(annotation) if isinstance(each, ast.Name)}
    for word in words & known.keys():
        home, name = known[word] if isinstance(known[word], tuple) else (module.__name__, word)
        each = getattr(importlib.import_module(home), name, None)
        if inspect.isclass(each) and each.__module__.startswith("airtight"):
            yield each


def public_results():
    """Every class that a public function, or a public method of such a class, returns, and that is a result."""
    left = [getattr(airtight, name) for name in airtight.__all__]
    left += [importlib.import_module("airtight.analytics.inference.link_budget").link_budget]
    seen, excused = set(), {name for names in NO_RESULTS for name in names.split()}
    while left:
        each = left.pop()
        if inspect.isclass(each):
            if each in seen or excused & {each.__name__, f"{each.__module__.rpartition('.')[2]}.{each.__name__}"}:
                continue
            seen.add(each)
            public = [value for name, value in inspect.getmembers(each) if not name.startswith("_")]
            members = [getattr(value, "fget", value) for value in public]
            left += [value for value in members if str(getattr(value, "__module__", "")).startswith("airtight")]
        elif callable(each) and hasattr(each, "__annotations__"):
            left += returned(each)
    return sorted(seen, key=lambda each: each.__qualname__)


def test_every_result_of_the_public_face_has_table_json_and_display():
    results = public_results()
    assert {"Bounds", "PrivacyCurve", "LinkBudget", "Limit", "JointDesign", "Proof"} <= {each.__name__ for each in results}
    lacking = {
        each.__qualname__: [name for name in ("to_frame", "to_dict", "_repr_html_") if not hasattr(each, name)]
        for each in results
    }
    assert not {name: what for name, what in lacking.items() if what}


def test_curves_link_budgets_and_proofs_have_tidy_tables():
    curve = airtight.subsampled(1.0, 0.1).compose(20)
    frame = curve.to_frame("sampled", deltas=[1e-3, 1e-6])
    assert list(frame.columns) == ["delta", *COLUMNS] and frame.delta.tolist() == [1e-3, 1e-6]
    assert frame.value.tolist() == curve.epsilon(np.array([1e-3, 1e-6])).tolist() == frame.upper.tolist()
    assert (frame.lower <= frame.value).all() and set(frame.quantity) == {"epsilon"}
    channel = airtight.Channel(distance=[1.0, 2.0], path_loss_exponent=2.0, fading="rayleigh", max_power=18.0)
    system = airtight.InferenceSystem(
        devices=2, noise_variance=0.1, weight=1.0, clip=1.0, alignment=1.0, receiver_noise_variance=0.1, dimension=8,
        delta=1e-5, channel=channel,
    )  # fmt: skip
    budget = link_budget(system)
    frame = budget.to_frame()
    units = {"distance": "m", "path_loss": "dB", "margin": "dB", "sends": "", "energy": "W symbol periods"}
    assert {name: set(frame[frame.quantity == name].unit) for name in units} == {name: {u} for name, u in units.items()}
    assert frame[frame.quantity == "margin"].value.tolist() == budget.margin.tolist()
    assert budget.to_dict()["distance"] == [1.0, 2.0] and "<td>" in budget._repr_html_()
    x = airtight.parameter("x", 0.0, 10.0)
    refuted = airtight.prove(x <= 5)
    frame = refuted.to_frame()
    assert frame[frame.quantity == "counterexample.x"].value.item() > 5 and "status = refuted" in set(frame.quantity)
    assert json.loads(json.dumps(refuted.to_dict(), allow_nan=False))["status"] == "refuted"


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
    guard = "'" if suffix == ".csv" else ""  # "=1+1" is a name: a workbook says so, in CSV a spreadsheet is kept from it
    assert read.system.tolist() == frame.system.replace("=1+1", f"{guard}=1+1").tolist()
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
    monkeypatch.setattr(tidy, "csv_text", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        result.write(old, None, tidy.columns([("a", {"gap": 1.0})]))
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"] and old.read_text() == "old"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])), st.floats(allow_nan=False))
def test_no_text_of_a_csv_file_is_a_formula_and_every_number_is_whole(name, number):
    text = tidy.csv_text(["name", "value"], [[name, number]])
    _, (read_name, read_number) = csv.reader(io.StringIO(text))
    assert float(read_number) == number and read_name in (name, f"'{name}")
    try:
        float(read_name)
    except ValueError:
        assert read_name[:1] not in ("=", "+", "-", "@")


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
