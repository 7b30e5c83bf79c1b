"""Training on data of a user: the digits given as a file are the digits; bad files are named by row, column and value."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy
from support.common import FLEET, TRAINING, refused, run, written

import airtight
from airtight import FederatedSystem, InferenceSystem, ParameterError
from airtight.analytics.federated.fair.device import table_1
from airtight.validate.experiments.training import data, utility_training, views
from airtight.validate.experiments.training.own_data import OwnData
from airtight.validate.number_tables import TableError, read_csv, read_npz

CLIENTS = FederatedSystem(clients=20, parameters=1, epsilon=2.0)


def digits() -> tuple[np.ndarray, np.ndarray]:
    raw = data._raw(data.Dataset.DIGITS)
    return raw.x, raw.y


def blobs(samples: int = 120, columns: int = 6, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Classes that a linear rule tells apart, in no particular unit."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, samples)
    centres = 100 * rng.normal(size=(classes, columns))
    return centres[y] + rng.normal(size=(samples, columns)), 10 * y - 10


def mechanisms(found) -> dict:
    return found.to_dict()["federated"]["mechanisms"]


def test_the_digits_as_a_file_are_the_digits(tmp_path) -> None:
    X, y = digits()
    np.savez(tmp_path / "d.npz", X=X, y=y)
    path = written(tmp_path, TRAINING)
    ours = json.loads(run("train", path, "--json").stdout)
    own = json.loads(run("train", path, "--data", tmp_path / "d.npz", "--json").stdout)
    assert own["federated"]["mechanisms"] == ours["federated"]["mechanisms"]
    assert own["federated"]["settings"]["dataset"] == "d.npz" and "data" not in ours
    assert own["data"]["samples"] == 1797 and own["data"]["classes"] == list(range(10))


def test_a_csv_file_is_the_arrays_that_it_holds(tmp_path) -> None:
    X, y = blobs()
    lines = [
        "a,b,label,c,d,e,f",
        *(",".join(map(repr, [*row[:2], int(k), *row[2:]])) for row, k in zip(X.tolist(), y, strict=True)),
    ]
    (tmp_path / "d.csv").write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")
    read, made = OwnData.read(tmp_path / "d.csv"), OwnData.of(X, y)
    assert read.digest == made.digest and read.classes == (-10, 0, 10) and read.name == "d.csv"
    assert read.x.min() == 0 and read.x.max() == 1  # the least and the greatest value of each column
    found = airtight.train(CLIENTS, X, y, rounds=25, seeds=1, mechanisms=["vanilla"])
    assert mechanisms(found)["vanilla"]["test_accuracy"] == 1.0
    run_ = run("train", written(tmp_path, TRAINING), "--data", tmp_path / "d.csv")
    assert run_.exit_code == 0 and "vanilla" in run_.stdout


def test_samples_stay_with_their_clients() -> None:
    X, y = blobs(400)
    owner = np.arange(400) % 20
    own = OwnData.of(X, y, owner + 7)
    splits = data.load(own)
    for k, rows in enumerate(data.shares(splits.train, 20, rng=np.random.default_rng(0))):
        assert set(splits.train.client[rows]) == {k}
    assert mechanisms(airtight.train(CLIENTS, X, y, clients=owner, rounds=1, seeds=1, mechanisms=["ldp"]))
    with pytest.raises(ParameterError, match="clients = 20: must be 10, as many as the data have"):
        airtight.train(CLIENTS, X, y, clients=owner % 10, rounds=1, seeds=1, mechanisms=["ldp"])
    lonely = np.where(np.arange(400) < 381, 0, np.arange(400) - 380)
    with pytest.raises(ParameterError, match=r"client [0-9]+ has none"):
        airtight.train(CLIENTS, X, y, clients=lonely, rounds=1, seeds=1, mechanisms=["ldp"])


def test_energy_policies_on_own_data() -> None:
    X, y = blobs(300)
    fleet = table_1(distance=[50.0, 150.0], deadline=0.4)
    for clients in (None, np.minimum(np.arange(300) % 3, 1)):
        own = OwnData.of(X, y, clients)
        found = utility_training.run(fleet, utility_training.Plan(rounds=4), "proposed", source=own)
        assert found.accuracy[-1] > 0.9 and found.loss.shape == (4, 2)
    order = utility_training._order(data.load(own).train, 2, np.random.default_rng(0))
    owner = data.load(own).train.client[order]
    assert np.all(owner[0] == 0) and np.all(owner[1] == 1) and owner.shape[1] > 50


def server(devices: int, dimension: int) -> InferenceSystem:
    return InferenceSystem(
        devices=devices, participation=1.0, noise_variance=0.0, weight=1 / devices, clip=1e6, alignment=1.0,
        receiver_noise_variance=1e-9, dimension=dimension, delta=1e-5,
    )  # fmt: skip


@pytest.mark.parametrize("shared", [True, False])
def test_views_of_own_data(shared: bool) -> None:
    """Columns shared by three devices, or a view for each: without noise the accuracy is that without a channel."""
    X, y = blobs(300)
    given_x = X if shared else X.reshape(300, 3, 2)
    found = airtight.train(server(3, 32), given_x, y, seeds=1).to_dict()["inference"]
    assert (
        found["schemes"]["1"]["accuracy"] == pytest.approx(found["ideal_accuracy"], abs=0.01)
        and found["ideal_accuracy"] > 0.9
    )
    np.testing.assert_array_equal(OwnData.of(X, y).views(3), OwnData.of(X.reshape(300, 3, 2), y).views(3))


def test_devices_and_columns_must_fit() -> None:
    X, y = blobs()
    with pytest.raises(ParameterError, match="6 features': must be of as many for each of the 4 devices"):
        airtight.train(server(4, 8), X, y, seeds=1)
    with pytest.raises(ParameterError, match="array of 3 views': must be of a view for each of the 4 devices"):
        airtight.train(server(4, 8), X.reshape(120, 3, 2), y, seeds=1)
    with pytest.raises(ParameterError, match=r"channels = 2: must be 0: 6 features are no square image"):
        airtight.train(CLIENTS, X, y, seeds=1, channels=2)


@pytest.mark.parametrize(
    "X, y, clients, needle",
    [
        (np.zeros((20, 2)), np.zeros(20), None, "y = 0: must be of two classes"),
        (np.zeros((20, 2)), np.arange(20) / 2, None, r"y\[1\] = 0.5: must be a whole number"),
        (np.zeros((20, 2)), np.arange(19), None, "one for each of the 20 samples"),
        (np.zeros((5, 2)), np.arange(5) % 2, None, "10 samples at least"),
        (np.zeros(20), np.arange(20) % 2, None, r"array of shape \(20,\)"),
        (np.full((20, 2), np.nan), np.arange(20) % 2, None, r"X\[0, 0\] = nan"),
        (np.full((20, 2), np.inf), np.arange(20) % 2, None, r"X\[0, 0\] = inf"),
        (np.full((20, 2), "a"), np.arange(20) % 2, None, "array of type <U1"),
        (np.full((20, 2), None), np.arange(20) % 2, None, "array of type object"),
        ([[1.0], [1.0, 2.0]] * 10, np.arange(20) % 2, None, "rectangular array"),
        (np.ma.masked_array(np.zeros((20, 2)), True), np.arange(20) % 2, None, "an array without a mask"),
        (np.zeros((20, 2)), np.ma.masked_array(np.arange(20) % 2), None, "an array without a mask"),
        (np.zeros((20, 2)), np.arange(20) % 2, np.arange(20) / 3, r"clients\[1\]"),
    ],
)
def test_bad_arrays_are_named(X, y, clients, needle) -> None:
    with pytest.raises(ParameterError, match=needle):
        airtight.train(CLIENTS, X, y, clients=clients)


def test_what_train_refuses() -> None:
    X, y = blobs()
    with pytest.raises(ParameterError, match="both given"):
        airtight.train(CLIENTS, X)
    with pytest.raises(ParameterError, match="rouns = 3"):
        airtight.train(CLIENTS, X, y, rouns=3)
    with pytest.raises(ParameterError, match="clients = 20: must be at most 6"):
        airtight.train(CLIENTS, X[:10], y[:10], seeds=1)
    with pytest.raises(ParameterError, match="system = 'int'"):
        airtight.train(3, X, y)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, needles",
    [
        ("", ["empty"]),
        ("a,b\n1,2\n", ["column 'label': missing"]),
        ("a,label\n", ["must have a row below the header"]),
        ("a,a,label\n1,2,0\n", ["column 'a': twice"]),
        ("a,label\n1,0\nx,1\n", ["row 2, column 'a': 'x'", "finite number"]),
        ("a,label\n1,0\n2,\n", ["row 2, column 'label': ''"]),
        ("a,label\n1,0\nnan,1\n", ["row 2, column 'a': 'nan'"]),
        ("a,label\n1,0\n1e999,1\n", ["row 2, column 'a': '1e999'"]),
        ("a,label\n1,0\n1,2,3\n", ["row 2", "must have 2 values"]),
        ("a,label\n" + "1,0\n" * 20, ["two classes"]),
        ("a,label\n" + "1,0\n1,1\n" * 3, ["10 samples at least"]),
        ("a,label\n" + "1,0\n1,1.5\n" * 8, ["y[1] = 1.5", "whole number"]),
        ("label\n" + "0\n1\n" * 8, ["array of shape"]),
        ("a,label\n\x00", ["d.csv"]),
        (",a,label\n" + "0,1,0\n1,2,1\n" * 8, ["column 1: ''", "must have a name"]),
        ("a,,label\n" + "0,1,0\n1,2,1\n" * 8, ["column 2: ''"]),
        ("a,a,label\n" + "0,1,0\n1,2,1\n" * 8, ["column 'a': twice"]),
    ],
)
def test_bad_csv_files_are_named(tmp_path, text, needles) -> None:
    (tmp_path / "d.csv").write_text(text, encoding="utf-8")
    assert refused(run("train", written(tmp_path, TRAINING), "--data", tmp_path / "d.csv"), "d.csv", *needles)


def archive(path, **arrays) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in arrays.items():
            target.writestr(f"{name}.npy", content)


def header(shape, descr="<f8") -> bytes:
    stream = io.BytesIO()
    npy.write_array_header_1_0(stream, {"shape": shape, "fortran_order": False, "descr": descr})
    return stream.getvalue()


def test_headers_are_judged_before_the_data(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(npy, "read_array", lambda *_, **__: pytest.fail("the data were read"))
    path = tmp_path / "d.npz"
    archive(path, X=header((10**6, 10**6)) + bytes(80), y=header((10,)) + bytes(80))
    with pytest.raises(TableError, match="at most 134,217,728 entries; its header says 1,000,000,000,000"):
        read_npz(path, ("X", "y"))
    archive(path, X=header((10, 10)) + bytes(80))
    with pytest.raises(TableError, match="as long as its header says"):
        read_npz(path, ("X",))
    archive(path, X=header((1,)) + bytes(10**8))  # a bomb: 100 MB of zeros in 100 kB
    with pytest.raises(TableError, match="as long as its header says"):
        read_npz(path, ("X",))
    np.savez(path, X=np.array([{1}, None]))
    with pytest.raises(TableError, match="pickled objects are not loaded"):
        read_npz(path, ("X",))
    np.savez(path, X=np.array(["a", "b"]))
    with pytest.raises(TableError, match="not of type <U1"):
        read_npz(path, ("X",))
    np.savez(path, Y=np.zeros(3))
    with pytest.raises(TableError, match="must hold the arrays X, y; missing: X"):
        read_npz(path, ("X", "y"))


@settings(max_examples=25, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 200))
def test_no_file_breaks_the_readers(tmp_path_factory, noise: bytes, at: int) -> None:
    folder = tmp_path_factory.mktemp("noise")
    np.savez(folder / "good.npz", X=np.zeros((12, 2)), y=np.arange(12) % 2)
    good = (folder / "good.npz").read_bytes()
    for name, content in {"a.npz": noise, "b.npz": good[:at] + noise + good[at + len(noise) :], "c.csv": noise}.items():
        (folder / name).write_bytes(content)
        try:
            OwnData.read(folder / name)
        except TableError as error:
            assert name in str(error)


def test_a_checkpoint_of_other_data_is_refused(tmp_path) -> None:
    X, y = blobs()
    options = {"rounds": 1, "seeds": 1, "mechanisms": ["ldp"], "checkpoints": tmp_path / "kept"}
    first = airtight.train(CLIENTS, X, y, **options)
    assert mechanisms(airtight.train(CLIENTS, X, y, **options)) == mechanisms(first)
    with pytest.raises(ParameterError, match="checkpoint of the same run"):
        airtight.train(CLIENTS, X + 1e-3 * X**2, y, **options)


def test_missing_files(tmp_path) -> None:
    for name in ("none.npz", "none.csv"):
        assert refused(run("train", written(tmp_path, TRAINING), "--data", tmp_path / name), name, "No such file")
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    assert read_csv(tmp_path / "d.csv").column("a").tolist() == [1.0]
    assert views.prepare(devices=2, dimension=2).features.shape[1] == 2 and FLEET


def test_a_short_fit_of_the_public_verb() -> None:
    assert "train" in airtight.__all__ and callable(airtight.train)
    found = airtight.train(CLIENTS, rounds=1, seeds=1, mechanisms=["ldp"])
    assert set(mechanisms(found)) == {"ldp"} and found.runs[0].mechanism.value == "ldp"


@pytest.mark.parametrize(
    ("key", "value"),
    [("batch", 10**5), ("batch", 10**9), ("rounds", 10**9), ("local_steps", 10**9), ("hidden", [10**6]), ("seeds", 10**9)],
)
def test_what_no_machine_trains_is_refused_at_once(key, value) -> None:
    with pytest.raises(ParameterError, match=rf"{key} = .*: must be "):
        airtight.train(CLIENTS, *blobs(), **{"seeds": 1, key: value})


def test_features_of_any_size_are_mapped_to_the_unit_interval() -> None:
    table = np.array([[-1.7e308, 0.0], [1.7e308, 5e-324]] * 10)
    np.testing.assert_array_equal(OwnData.of(table, [0, 1] * 10).x[:2, 0], [0, 1])
