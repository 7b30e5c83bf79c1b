"""Sweeps: the same numbers as one system at a time, kept, resumed, and never lost."""

import dataclasses
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import tomllib
import warnings
from concurrent.futures import Executor, Future, InvalidStateError, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from support.common import FLEET
from support.paths import ROOT

import airtight
from airtight import running
from airtight.analytics import parameters
from airtight.analytics.checks import ParameterError
from airtight.analytics.extras import MissingExtraError
from airtight.analytics.inference.system import InferenceSystem
from airtight.commands.cli import main
from airtight.results.bounds import Bounds
from airtight.results.inference_results import AnyScheme
from airtight.sweeps import batches, cells, code_version, parts, plan, quantities, run, store, verb
from airtight.sweeps.axes import parsed, resolved
from airtight.sweeps.verb import prepared
from airtight.system_file import config, units
from airtight.system_file.contents import SystemFile

TABLES = (
    """
[inference]
devices = 3
participation = 0.6
noise_variance = 0.3
weight = 0.3333333333333333
clip = 2.0
alignment = 1.0
receiver_noise_variance = 0.2
dimension = 4
delta = 1e-4
delta_prime = 1e-4
adjacency = "silent"

[inference.features]
file = "features.npz"
margin = 2.0
ideal_accuracy = 0.9

[inference.selection]
score = [0.1, 0.2, 0.3]
score_noise = 0.3
threshold = 0.25
selected = 1

[federated]
clients = 6
parameters = 3
epsilon = 1.0
shared_bits = 3
ldp_fraction = 0.4
dropout = 0.1
"""
    + FLEET
)


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(
        tmp_path / "features.npz", f=rng.normal(size=(3, 5)), W=rng.normal(size=(3, 4, 5)), D=rng.normal(size=(5, 4))
    )
    path = tmp_path / "system.toml"
    path.write_text(TABLES)
    return path


def content(folder):
    """Every file of a store, by its digest."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def counted(monkeypatch):
    """How many cells are computed, by part."""
    seen = {}

    def compute(task):
        seen[task.part] = seen.get(task.part, 0) + task.size
        return cells.compute(task)

    monkeypatch.setattr(run, "compute", compute)
    return seen


# What comes out


def test_every_usual_quantity_is_that_of_one_system(file):
    """Against the results of the other commands, at a corner of the grid that is not the file."""
    over = {
        "participation": [0.6, 0.8],
        "margin": [2.0, 3.0],
        "federated.epsilon": [1.0, 2.0],
        "distance[1]": [120.0, 90.0],
        "score_noise": [0.3, 0.5],
    }
    names = [*quantities.names(), "inference.selection.scheme_2_1.participation", "energy.device.gain"]
    found = airtight.sweep(file, over, quantities=names).isel(dict.fromkeys(over, 1))
    raw = config.read(file)
    raw["inference"] |= {"participation": 0.8}
    raw["inference"]["features"] |= {"margin": 3.0}
    raw["inference"]["selection"] |= {"score_noise": 0.5}
    raw["federated"] |= {"epsilon": 2.0}
    raw["energy"] |= {"distance": [50.0, 90.0, 200.0]}
    description = config.described(raw, file)
    one = Bounds.of(description)
    privacy, federated = one.inference.privacy, one.federated
    solved = airtight.solve_energy(description.energy)
    expected = {
        "epsilon": privacy.exact.epsilon.max(),
        "epsilon_per_device": privacy.exact.epsilon,
        "epsilon_proven": privacy.proven.epsilon.max(),
        "epsilon_published": privacy.published.theorem1.epsilon.max(),
        "epsilon_eq23": privacy.published.eq23.epsilon.max(),
        "delta_claimed": privacy.published.eq23.delta.max(),
        "delta_true": privacy.published.eq23.true_delta.max(),
        "delta": airtight.delta(description.inference, 1.0).max(),
        "epsilon_participants": privacy.observers.participants.max(),
        "epsilon_others": privacy.observers.others.max(),
        "epsilon_signal": privacy.observers.signal.epsilon.max(),
        "epsilon_signal_lower": privacy.observers.signal.lower.max(),
        "mse": one.inference.distortion.exact,
        "mse_published": one.inference.distortion.published,
        "mse_proven": one.inference.distortion.proven,
        "accuracy": one.inference.accuracy.exact,
        "accuracy_lower": one.inference.accuracy.interval[0],
        "accuracy_upper": one.inference.accuracy.interval[1],
        "accuracy_published": one.inference.accuracy.published,
        "accuracy_markov": one.inference.accuracy.markov,
        "federated_mse": federated.mse.corbin_worst,
        "federated_mse_published": federated.mse.corbin_published,
        "federated_mse_ldp": federated.mse.ldp,
        "central_epsilon": federated.central.exact_epsilon_update,
        "central_epsilon_published": federated.central.published_epsilon,
        "utility": solved.utility.sum(),
        "utility_per_device": solved.utility,
        "fleet_energy": solved.energy.sum(),
        "iterations_per_device": solved.iterations,
        "power_per_device": solved.power,
        "inference.selection.scheme_2_1.participation": one.inference.selection.scheme_2_1.participation,
        "energy.device.gain": description.energy.gain,
        "any_scheme": airtight.minimax_error(description.inference).error,
        "any_scheme_of_tasks": np.nan,  # of one task nothing can be said
    }
    assert set(names) <= set(expected) and not any(str(name).endswith(".message") for name in found)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name].values, value, rtol=1e-9, err_msg=name)
    assert found["epsilon_lower"] < found["epsilon"] < found["epsilon_lower"] * (1 + 1e-8)
    assert found["delta_lower"] <= found["delta"]


@pytest.mark.parametrize("part", parts.PARTS.values(), ids=lambda part: part.name)
def test_what_a_part_ignores_changes_nothing(part, file):
    """Else a block would be kept that the input has changed."""
    raw = config.read(file)
    over_channel = "inference.channel" in part.reads
    if over_channel:
        raw["inference"] = {**raw["inference"], "channel": {"antennas": 2, "fading": "rayleigh", "states": 3}}
    other = {"observer": "signal", "adjacency": "absent", "delta": 1e-3, "epsilon": 2.0, "clients": 8, "rounds": 3}
    other["colluding"] = 1
    given = {name: part.leaves() for name in [part.name]}[part.name]

    def values(tables):
        description = config.described(tables, file, channel=over_channel)
        return part.values(description, list(given), 1.0)

    before = values(raw)
    for key in sorted(part.ignores):
        for name in part.reads:
            outer, _, inner = name.partition(".")
            if key not in config.keys(name.split(".")):
                continue
            changed = {**raw, outer: dict(raw[outer])}
            table = changed[outer]
            if inner:
                table[inner] = dict(table[inner])
                table = table[inner]
            old = table.get(key, 0.5)
            table[key] = other[key] if key in other else old + 1 if isinstance(old, int) else old * 0.75
            if key == "delta" and outer == "federated":
                table[key] = 1e-4
            for path, value in values(changed).items():
                np.testing.assert_array_equal(value, before[path], err_msg=f"{key} changes {path}")


def test_every_key_of_a_system_has_been_thought_of():
    """A new key must be read by the parts that depend on it, or be ignored by them: airtight/sweeps/parts.py."""
    nested = {"variants", "features", "selection", "channel"}  # tables of their own
    shown = {"names", "groups"}  # no swept number depends on them
    refused = {"noise_variance_range", "scenarios"}  # of a file that is swept
    known = set(config.keys(["inference"])) - set(units.ALTERNATIVES) - nested - shown - refused
    assert known == {*parameters.of(InferenceSystem)} - nested


def test_devices_may_differ_in_number(file):
    found = airtight.sweep(
        {"inference": {**config.read(file)["inference"], "features": None, "selection": None}},
        {"devices": [2, 5]},
        quantities=["epsilon", "epsilon_per_device", "inference.privacy.proven.epsilon.sum"],
    )
    assert found["epsilon_per_device"].shape == (2, 5)
    assert np.isnan(found["epsilon_per_device"].values[0, 2:]).all()
    np.testing.assert_array_equal(found["epsilon_per_device"].max("device"), found["epsilon"])


def test_levels_in_decibels_and_keys_that_move_together(file):
    over = {"snr_db": [3.0, 10.0], ("clip", "weight"): [(1.0, 0.5), (2.0, 0.2), (4.0, 0.1)]}
    found = airtight.sweep(file, over, quantities=["epsilon"])
    assert found["epsilon"].dims == ("snr_db", "clip") and found["weight"].dims == ("clip",)
    assert found["snr_db"].attrs["units"].startswith("dB") and found["clip"].attrs["symbol"] == "C_k"
    system = config.load(file).inference
    fields = {"receiver_noise_variance": 10**-1.0, "clip": 4.0, "weight": 0.1}
    one = airtight.epsilon(dataclasses.replace(system, **fields))
    assert float(found["epsilon"][1, 2]) == pytest.approx(float(one.max()), rel=1e-10)


def test_unequal_devices_and_one_device_alone(file):
    raw = {"inference": {**config.read(file)["inference"], "participation": [0.2, 0.5, 0.9]}}
    raw["inference"].pop("features"), raw["inference"].pop("selection")
    found = airtight.sweep(raw, {"participation[2]": [0.1, 0.9]}, quantities=["epsilon_per_device"])
    system = config.described(raw, file).inference
    np.testing.assert_allclose(found["epsilon_per_device"].values[1], airtight.epsilon(system), rtol=1e-12)
    assert not np.allclose(found["epsilon_per_device"].values[0], found["epsilon_per_device"].values[1])


def test_a_variable_has_the_dimensions_that_matter(file):
    found = airtight.sweep(
        file, {"clip": [1.0, 2.0], "margin": [1.0, 2.0, 3.0]}, quantities=["epsilon", "mse", "accuracy"]
    )
    assert found["epsilon"].dims == found["mse"].dims == ("clip",) and found["accuracy"].dims == ("clip", "margin")
    assert found["epsilon"].attrs["adjacency"] == "silent" and found["epsilon"].attrs["observer"] == "auto"
    assert found["epsilon"].attrs["interval"] == "epsilon_lower epsilon"
    assert found.to_dataframe().loc[(2.0, 3.0), "accuracy"] == found["accuracy"].values[1, 2]


def test_every_privacy_number_names_its_neighbours(file):
    """Theorem 1 speaks of absent whatever the file says; the observers' columns each of their own."""
    names = ["epsilon", "epsilon_published", "delta_true", "epsilon_proven", "epsilon_others", "central_epsilon"]
    found = airtight.sweep(file, {"observer": ["auto", "signal"], "federated.epsilon": [1.0]}, quantities=names)
    against = {name: (each.get("adjacency"), each.get("observer")) for name in names for each in [found[name].attrs]}
    assert against == {
        "epsilon": ("silent", "see the coordinate"),
        "epsilon_published": ("absent", None),
        "delta_true": ("silent", "auto"),
        "epsilon_proven": ("silent", "auto"),
        "epsilon_others": ("silent", "others"),
        "central_epsilon": ("replace", None),
    }


def test_a_cell_that_fails_is_nan_with_its_message(file, tmp_path):
    found = airtight.sweep(
        file, {"deadline": [0.01, 0.75], "dimension": [4, 5]}, quantities=["utility", "mse", "epsilon"]
    )
    assert np.isnan(found["utility"].values[0]) and np.isfinite(found["utility"].values[1])
    assert "too short" in str(found["energy.message"].values[0]) and str(found["energy.message"].values[1]) == ""
    assert found.to_dataframe()["energy.message"].str.contains("too short").sum() == 2
    assert np.isfinite(found["mse"].values[0]) and np.isnan(found["mse"].values[1])
    assert "columns" in str(found["inference.distortion.message"].values[1])
    assert np.isfinite(found["epsilon"].values).all() and "inference.privacy.interval.message" not in found


def test_one_bad_cell_of_a_batch_leaves_the_others(monkeypatch):
    """The noise of one system vanishes beside the receiver's, which absent cannot have."""
    raw = {"inference": {**airtight_tables(), "adjacency": "absent", "receiver_noise_variance": 1e300}}
    found = airtight.sweep(raw, {"noise_variance": [1.0, 5e-324, 2.0]}, quantities=["epsilon"])
    assert np.isfinite(found["epsilon"].values).tolist() == [True, False, True]
    assert "within a factor" in str(found["inference.privacy.interval.message"].values[1])


def airtight_tables():
    table = tomllib.loads(TABLES)["inference"]
    return {key: value for key, value in table.items() if not isinstance(value, dict)}


# What is kept

OVER = {"participation": [0.3, 0.6], "clip": [1.0, 2.0]}
ASKED = ["epsilon", "mse", "accuracy"]


def test_a_second_run_computes_nothing(file, tmp_path, monkeypatch):
    airtight.sweep(file, OVER, quantities=ASKED, out=tmp_path / "s")
    before = content(tmp_path / "s")
    seen = counted(monkeypatch)
    airtight.sweep(file, OVER, quantities=ASKED, out=tmp_path / "s")
    assert seen == {} and content(tmp_path / "s") == before


def test_a_changed_input_invalidates_what_it_changes(file, tmp_path, monkeypatch):
    airtight.sweep(file, OVER, quantities=ASKED, out=tmp_path / "s")
    seen = counted(monkeypatch)
    file.write_text(TABLES.replace("margin = 2.0", "margin = 1.5"))
    airtight.sweep(file, OVER, quantities=ASKED, out=tmp_path / "s", replace=True)
    assert seen == {"inference.accuracy": 4}
    file.write_text(TABLES.replace("delta_prime = 1e-4", "delta_prime = 1e-3").replace("margin = 2.0", "margin = 1.5"))
    airtight.sweep(file, OVER, quantities=ASKED, out=tmp_path / "s", replace=True)
    assert seen == {"inference.accuracy": 4}
    again = airtight.sweep(file, {**OVER, "clip": [1.0, 1.5, 2.0]}, quantities=ASKED, out=tmp_path / "s", replace=True)
    assert seen == {"inference.accuracy": 6, "inference.distortion": 2, "inference.privacy.interval": 2}
    fresh = airtight.sweep(file, {**OVER, "clip": [1.0, 1.5, 2.0]}, quantities=ASKED)
    for name in fresh.data_vars:
        np.testing.assert_allclose(again[name], fresh[name], rtol=1e-14)
    seen.clear()
    arrays = dict(np.load(file.parent / "features.npz"))
    np.savez(file.parent / "features.npz", **{**arrays, "f": arrays["f"] + 1})
    airtight.sweep(file, {**OVER, "clip": [1.0, 1.5, 2.0]}, quantities=ASKED, out=tmp_path / "s", replace=True)
    assert seen == {"inference.accuracy": 6, "inference.distortion": 6}


def test_a_quantity_that_is_not_asked_for_stays_as_long_as_it_is_right(file, tmp_path):
    airtight.sweep(file, OVER, quantities=ASKED, out=tmp_path / "s")
    assert "mse" in airtight.sweep(file, OVER, quantities=["epsilon"], out=tmp_path / "s")
    file.write_text(TABLES.replace("noise_variance = 0.3", "noise_variance = 0.4"))
    sweep = prepared(file, OVER, ["epsilon"])
    with pytest.raises(store.StoreError, match=r"noise_variance = 0.3, this sweep has 0.4; .*--replace"):
        run.run(sweep, tmp_path / "s")
    outcome = run.run(sweep, tmp_path / "s", replace=True)
    assert set(airtight.open_sweep(tmp_path / "s").data_vars) == {"epsilon", "epsilon_lower"}
    assert any(note.startswith("mse: ") and "removed" in note for note in outcome.notes)


@pytest.mark.parametrize("damage", ["chunk", "record", "lost"])
def test_a_damaged_chunk_is_named_and_the_rest_is_kept(damage, file, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "_SINGLE_CELLS", 1)
    sweep = prepared(file, OVER, ["mse"])
    run.run(sweep, tmp_path / "s")
    before = content(tmp_path / "s")
    chunk, record = tmp_path / "s/mse/c/1/0", tmp_path / "s/mse/.records/1.0.json"
    if damage == "record":
        record.write_text("{")
    else:
        chunk.write_bytes(chunk.read_bytes()[:-1] + b"!") if damage == "chunk" else chunk.unlink()
    outcome = run.run(sweep, tmp_path / "s")
    assert (outcome.computed, outcome.kept) == (1, 3)
    assert len(outcome.notes) == 1 and "1.0" in outcome.notes[0] and "damaged" in outcome.notes[0]
    assert content(tmp_path / "s") == before


def test_chunks_of_another_version_are_named_and_computed_anew(file, tmp_path, monkeypatch):
    run.run(prepared(file, OVER, ["mse"]), tmp_path / "s")
    for name in ("_LOADED", "_on_disk"):
        monkeypatch.setattr(code_version, name, "another" if name == "_LOADED" else lambda: "another")
    outcome = run.run(prepared(file, OVER, ["mse"]), tmp_path / "s")
    assert outcome.kept == 0 and "of another version" in outcome.notes[0]


def test_cells_of_a_half_moved_store_are_not_trusted(file, tmp_path):
    """Coordinates of the new grid, chunks of the old: their records tell."""
    run.run(prepared(file, {"clip": [1.0, 2.0]}, ["mse"]), tmp_path / "s")
    half = store.Store(tmp_path / "s")
    moved = prepared(file, {"clip": [3.0, 4.0]}, ["mse"])
    half._coordinates(half.group(), moved)
    later = airtight.sweep(file, {"clip": [3.0, 4.0, 5.0]}, quantities=["mse"], out=tmp_path / "s")
    fresh = airtight.sweep(file, {"clip": [3.0, 4.0, 5.0]}, quantities=["mse"])
    np.testing.assert_array_equal(later["mse"], fresh["mse"])


def test_a_cell_that_has_failed_is_tried_again_where_the_grid_grows(file, tmp_path):
    airtight.sweep(file, {"deadline": [0.01, 0.75]}, quantities=["utility"], out=tmp_path / "s")
    found = airtight.sweep(file, {"deadline": [0.01, 0.5, 0.75]}, quantities=["utility"], out=tmp_path / "s")
    assert [bool(text) for text in found["energy.message"].values] == [True, False, False]


def test_a_store_whose_cells_have_all_failed_can_be_read(file, tmp_path):
    airtight.sweep(file, {"deadline": [0.01, 0.02]}, quantities=["utility"], out=tmp_path / "s")
    found = airtight.open_sweep(tmp_path / "s")
    assert np.all(np.isnan(found["utility"])) and all(found["energy.message"].values)


def test_failed_cells_are_computed_again_on_request(file, tmp_path, monkeypatch):
    over, store_path = {"deadline": [0.01, 0.75, 0.02]}, tmp_path / "s"
    before = airtight.sweep(file, over, quantities=["utility"], out=store_path).load()
    seen = counted(monkeypatch)
    monkeypatch.setattr(cells, "_message", lambda task, error: "anew")
    again = airtight.sweep(file, over, quantities=["utility"], out=store_path, failed=True).load()
    assert seen == {"energy": 2} and again["energy.message"].values.tolist() == ["anew", "", "anew"]
    np.testing.assert_array_equal(again["utility"], before["utility"])
    assert "--failed" in CliRunner().invoke(main, ["sweep", "--help"]).stdout


@pytest.mark.parametrize(
    "error",
    [MemoryError(), OSError(5, "I/O error"), ImportError("gone"), MissingExtraError("sympy", "verify"), ValueError("bug")],
    ids=lambda error: type(error).__name__,
)
def test_what_says_nothing_of_the_system_is_not_stored(error, file, tmp_path, monkeypatch):
    """A machine short of memory ends the run; nan stands for a system that is not allowed."""
    monkeypatch.setattr(plan, "_SINGLE_CELLS", 1)
    with monkeypatch.context() as short:
        computed = cells._one_cell

        def fail(task, cell, *rest):
            if cell == (0.6, 1.0):
                raise error
            computed(task, cell, *rest)

        short.setattr(cells, "_one_cell", fail)
        with pytest.raises(run.SweepError, match=rf"participation = 0.6, clip = 1.0: {type(error).__name__}.*goes on"):
            airtight.sweep(file, OVER, quantities=["mse"], out=tmp_path / "s")
    assert airtight.open_sweep(tmp_path / "s").airtight.computed().values.tolist() == [[True, True], [False, False]]
    found = airtight.sweep(file, OVER, quantities=["mse"], out=tmp_path / "s")
    assert found["mse"].notnull().all() and "inference.distortion.message" not in found


def test_what_is_replaced_while_it_runs_changes_no_number(file, tmp_path, monkeypatch):
    """The plan holds the data; a store knows of which data it is."""
    monkeypatch.setattr(plan, "_SINGLE_CELLS", 1)
    fresh = airtight.sweep(file, OVER, quantities=["mse", "accuracy"]).load()
    archive = file.parent / "features.npz"
    arrays = dict(np.load(archive))

    def replace(total):
        np.savez(archive, **{**arrays, "f": 3 * arrays["f"]})
        return lambda part: archive.unlink(missing_ok=True)

    sweep = prepared(file, OVER, ["mse", "accuracy"])
    assert run.run(sweep, tmp_path / "s", started=replace).failed == {}
    xr.testing.assert_equal(airtight.open_sweep(tmp_path / "s").load(), fresh)
    replace(0)
    with pytest.raises(store.StoreError, match=r"mse with features.file = \w{16}, this sweep has \w{16}"):
        airtight.sweep(file, OVER, quantities=["mse", "accuracy"], out=tmp_path / "s")
    with pytest.raises(ParameterError, match="table"):
        airtight.sweep(file, {"inference.features.table": ["a.csv"]}, quantities=["mse"])


@pytest.mark.parametrize("moment", ["before", "after"])
def test_other_code_stores_nothing(moment, file, tmp_path, monkeypatch):
    """Of a worker, or of the files from which a worker may yet import."""
    sweep = prepared(file, OVER, ["mse"])
    if moment == "before":
        monkeypatch.setattr(code_version, "_LOADED", "another")
        monkeypatch.setattr(plan, "sources", lambda: "planned")
    else:
        digests = iter([code_version.sources()])
        monkeypatch.setattr(code_version, "_on_disk", lambda: next(digests, "another"))
    with pytest.raises(run.SweepError, match="another version of airtight"):
        run.run(sweep, tmp_path / "s")
    assert not airtight.open_sweep(tmp_path / "s").airtight.computed().any()


def test_a_copy_in_other_formats_is_the_same(file, tmp_path):
    found = airtight.sweep(file, {"deadline": [0.01, 0.75], "adjacency": ["absent", "silent"]}, out=tmp_path / "s").load()
    assert "energy.message" in found and all(isinstance(value, str | int) for value in found.attrs.values())
    found.to_netcdf(tmp_path / "a.nc", engine="scipy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of zarr, on metadata that version 3 of its format does not define yet
        found.to_zarr(tmp_path / "b.zarr")
        copies = [xr.open_dataset(tmp_path / "a.nc", engine="scipy").load(), xr.open_zarr(tmp_path / "b.zarr").load()]
    for copy in copies:
        xr.testing.assert_equal(copy.astype(object), found.astype(object))
        assert copy.attrs == found.attrs


def test_a_store_of_an_older_version_says_so(kept, tmp_path):
    """Older versions wrote lists as attributes, and chunks without checksums."""
    shutil.copytree(kept / "s", tmp_path / "s")
    group, array = (tmp_path / "s" / name / "zarr.json" for name in (".", "mse"))
    document = json.loads(group.read_text())
    attributes = document["attributes"]
    attributes |= {name: json.loads(attributes[name]) for name in ("sweep", "fixed")} | {"sources": "older"}
    group.write_text(json.dumps(document))
    document = json.loads(array.read_text())
    document["codecs"] = document["codecs"][:-1]
    array.write_text(json.dumps(document))
    with pytest.raises(store.StoreError, match="mse is of another version of airtight"):
        airtight.open_sweep(tmp_path / "s")
    outcome = run.run(prepared(kept / "system.toml", OVER, ["mse"]), tmp_path / "s")
    assert outcome.notes == ("mse: of another version: computed anew",)
    xr.testing.assert_equal(airtight.open_sweep(tmp_path / "s").load(), airtight.open_sweep(kept / "s").load())


def test_stores_that_cannot_be_used(file, tmp_path):
    airtight.sweep(file, OVER, quantities=["epsilon"], out=tmp_path / "s")
    before = content(tmp_path / "s")
    with pytest.raises(store.StoreError, match="holds a sweep over participation x clip, this one is over clip"):
        airtight.sweep(file, {"clip": [1.0]}, quantities=["mse"], out=tmp_path / "s")
    assert content(tmp_path / "s") == before
    with pytest.raises(store.StoreError, match="not a sweep"):
        airtight.sweep(file, OVER, quantities=["epsilon"], out=tmp_path)
    with store.Store(tmp_path / "s").held(), pytest.raises(store.StoreError, match="in use"):
        airtight.sweep(file, OVER, quantities=["epsilon"], out=tmp_path / "s")


DRIVER = """
import sys
from pathlib import Path
from airtight.sweeps import plan, run
from airtight.sweeps.verb import prepared

plan._BATCH_CELLS, plan._SINGLE_CELLS = 6, 2
sweep = prepared(sys.argv[1], {"participation": [0.1 * i for i in range(1, 9)], "dimension": [1, 2, 4], "clip": [1.0, 2.0]},
                 ["epsilon", "mse"])
run.run(sweep, Path(sys.argv[2]), started=lambda total: lambda part: print(part, flush=True))
print("finished", flush=True)
"""


@pytest.mark.slow
def test_killed_at_any_time_it_ends_the_same(file, tmp_path):
    """SIGKILL between blocks and within them; what comes out is the same to the bit, and no file is left over."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    command = [sys.executable, "-c", DRIVER, str(file)]
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    rng = random.Random(1)
    for kill in range(3):
        with subprocess.Popen([*command, str(broken)], stdout=subprocess.PIPE, text=True) as process:
            for _ in range(rng.randint(1, 6)):
                process.stdout.readline()
            timer = threading.Event()
            timer.wait(rng.uniform(0, 0.01))
            process.send_signal(signal.SIGKILL)
            rest = process.stdout.read()
        assert "finished" not in rest, kill
    done = subprocess.run([*command, str(broken)], check=True, capture_output=True, text=True).stdout
    assert done.count("\n") < 40  # blocks, and the last line
    assert content(broken) == content(whole)


# Who computes


def test_an_executor_changes_nothing(file, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "_SINGLE_CELLS", 2)
    airtight.sweep(file, OVER, quantities=ASKED, out=tmp_path / "alone")
    with ThreadPoolExecutor(2) as executor:
        airtight.sweep(file, OVER, quantities=ASKED, out=tmp_path / "threads", executor=executor, workers=2)
    assert content(tmp_path / "alone") == content(tmp_path / "threads")


def test_a_lost_worker_ends_the_run_but_not_the_sweep(file, tmp_path):
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        executor.submit(signal.raise_signal, signal.SIGKILL)
        with pytest.raises(run.SweepError, match="the same command goes on"):
            airtight.sweep(file, OVER, quantities=["mse"], out=tmp_path / "s", executor=executor)
    assert airtight.sweep(file, OVER, quantities=["mse"], out=tmp_path / "s")["mse"].notnull().all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_loses_a_worker(file, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(plan, "_SINGLE_CELLS", 1)
    over = {"participation": np.linspace(0.1, 1, 12).tolist(), "clip": [1.0, 2.0]}
    airtight.sweep(file, over, quantities=["mse"], out=tmp_path / "alone")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=tmp_path / "dask"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = cluster.workers[0].process.pid
        done = []

        def advance(part):
            done.append(part)
            if len(done) == 3:
                os.kill(victim, signal.SIGKILL)

        airtight.sweep(
            file, over, quantities=["mse"], out=tmp_path / "cluster", executor=client, started=lambda _: advance
        )
        assert len(done) == 24 and cluster.workers[0].process.pid != victim
    assert content(tmp_path / "alone") == content(tmp_path / "cluster")


# What is refused, and what is printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--over", "particpation=1"], "did you mean participation?"),
        (["--over", "clip=1,2", "--quantity", "epsilonn"], "did you mean epsilon?"),
        (["--over", "clip=1,2", "--quantity", "federated.msee.ldp"], "a quantity"),
        (["--over", "clip="], "the product would be empty"),
        (["--over", "clip=0:1:0"], "COUNT at least 1"),
        (["--over", "clip=0:1:3:log"], "of one sign"),
        (["--over", "clip"], "KEY=VALUES"),
        (["--quantity", "epsilon"], "the product would be empty"),
        (["--over", "clip=1", "--over", "clip=2"], "given once"),
        (["--over", "clip=1,1"], "listed once"),
        (["--over", "clip=-1,1"], "must be a number in (0, inf)"),
        (["--over", "clip=nan"], "clip"),
        (["--over", "devices=1.5"], "devices"),
        (["--over", "adjacency=absent,silence"], "one of absent, silent, replace"),
        (["--over", "delta=1e-5"], "inference.delta, federated.delta"),
        (["--over", "noise_variance=1", "--over", "noise_variance_db=1"], "swept once"),
        (["--over", "clip=1,2", "--over", "weight=1,2,3", "--zip", "clip,weight"], "clip has 2, weight has 3"),
        (["--over", "clip=1,2", "--zip", "clip,weight"], "two or more of the keys"),
        (["--over", "delta_prime=1e-5,1e-6", "--quantity", "epsilon"], "a key on which a quantity depends"),
        (["--over", "beta=1,2"], "beta[0] or beta[1]"),
        (["--over", "clip=1,2", "--scheduler", "nonsense://x"], "the address of a Dask scheduler"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_bad_input_is_one_line(arguments, said, file, tmp_path):
    done = CliRunner().invoke(main, ["sweep", str(file), *arguments, "--out", str(tmp_path / "s")])
    assert done.exit_code == 2 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "s").exists()


def test_the_command(file, tmp_path):
    out = tmp_path / "s"
    base = [
        "sweep",
        str(file),
        "--over",
        "participation=0.2:0.8:3",
        "clip=1,2",
        "--quantity",
        "epsilon",
        "deadline=0.01,1",
        "utility",
    ]
    explained = CliRunner().invoke(main, [*base, "--explain"])
    assert explained.exit_code == 0 and "12 points" in explained.stdout and "of one processor" in explained.stdout
    first = CliRunner().invoke(main, [*base, "--out", str(out), "--netcdf", str(tmp_path / "s.nc")])
    assert first.exit_code == 0, first.stderr
    assert "12 points" in first.stdout and "2 computed now, 0 kept" in first.stdout and "1 cells failed" in first.stderr
    again = CliRunner().invoke(main, [*base, "--out", str(out)])
    assert "0 computed now, 2 kept" in again.stdout
    with xr.open_dataset(tmp_path / "s.nc", engine="scipy") as copy:
        np.testing.assert_array_equal(copy["epsilon"], airtight.open_sweep(out)["epsilon"])
    assert xr.open_zarr(out).sizes == {"participation": 3, "clip": 2, "deadline": 2}
    assert CliRunner().invoke(main, base).stderr.startswith("airtight: --out: missing; a folder")


def test_values_of_the_command_line():
    assert parsed(["a=1e-3:1:4:log"])["a"] == pytest.approx([1e-3, 1e-2, 1e-1, 1])
    assert parsed(["a=0:1:3,7", "b=true,x"]) == {"a": [0.0, 0.5, 1.0, 7], "b": [True, "x"]}
    (axis,) = resolved({"dimension": np.linspace(2, 6, 3)}, ["inference"])
    assert axis.values == ((2, 4, 6),) and all(isinstance(value, int) for value in axis.values[0])
    with pytest.raises(ParameterError, match="one number or name"):
        resolved({"clip": [[1.0, 2.0]]}, ["inference"])
    with pytest.raises(ParameterError, match="2 values per point"):
        resolved({("clip", "weight"): [(1.0,)]}, ["inference"])


def test_plot(file):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    found = airtight.sweep(file, {**OVER, "adjacency": ["absent", "silent"]}, quantities=["epsilon", "delta"])
    axes = found.sel(clip=1.0).airtight.plot("epsilon", x="participation", hue="adjacency")
    assert axes.get_xlabel() == "probability that the device sends in a round"
    assert len(axes.lines) == 2 and axes.get_ylabel() == "epsilon"
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), found["epsilon"].sel(clip=1.0, adjacency="silent"))
    found.sel(participation=0.3, clip=1.0).airtight.plot(x="adjacency")
    for given, said in (
        ({"x": "participation"}, "choose of clip, adjacency"),
        ({"x": "nothing"}, "one of adjacency, clip, participation"),
        ({"x": "participation", "quantity": "mse"}, "one of"),
    ):
        with pytest.raises(ParameterError, match=said):
            found.airtight.plot(**given)
    matplotlib.pyplot.close("all")


def test_the_plan_knows_every_key_of_the_batch():
    """A key that is new in the system file is unknown to the batch, and its cells are then computed alone."""
    raw = {"inference": {**airtight_tables(), "novelty": 1}}
    work = plan._works(
        [quantities.named("epsilon", ["inference"])], resolved({"clip": [1.0]}, ["inference"]), raw, "x", {}
    )[0]
    assert batches.batch(work.task((0,))) is None
    assert isinstance(config.described({"inference": airtight_tables()}, Path("x")), SystemFile)


def test_the_page_of_the_docs(tmp_path, monkeypatch):
    """Its Python runs, and it names every usual quantity."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/howto-sweep.md").read_text(encoding="utf-8")
    space = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, space)
        if "figure" in space:
            shown = space["figure"]
            assert all(np.isfinite(each).all() for name, each in shown.items() if not name.startswith("epsilon_eq23"))
    assert set(space["found"].data_vars) == {"epsilon", "epsilon_lower", "epsilon_published"}
    assert all(f"`{name}`" in page for name in quantities.names())
    matplotlib.pyplot.close("all")


# What may happen to a store


def flipped(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def edited(old, new):
    def edit(path):
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return edit


def a_folder(path):
    path.unlink()
    path.mkdir()


CHUNK, RECORD, ARRAY = "mse/c/0/0", "mse/.records/0.0.json", "mse/zarr.json"
DAMAGES = {  # what is damaged, how, and what the sentence names; a file is damaged in turn in a store of its own
    "flipped": (CHUNK, flipped, "chunk 0.0 of mse"),
    "deleted": (CHUNK, Path.unlink, "chunk 0.0 of mse"),
    "truncated": (CHUNK, lambda path: path.write_bytes(b""), "chunk 0.0 of mse"),
    "folder": (CHUNK, a_folder, "chunk 0.0 of mse"),
    "endian": (ARRAY, edited("little", "big"), "metadata of mse"),
    "codec": (ARRAY, edited('"name": "crc32c"', '"name": "gzip", "configuration": {"level": 1}'), "metadata of mse"),
    "float32": (ARRAY, edited("float64", "float32"), "metadata of mse"),
    "null": (ARRAY, lambda path: path.write_text("null"), "metadata of mse"),
    "fill": (ARRAY, edited('"NaN"', "0.0"), "metadata of mse"),
    "record": (RECORD, edited('"failed": {}', '"failed": 3'), "chunk 0.0 of mse"),
    "beyond": (RECORD, edited('"failed": {}', '"failed": {"99": "x"}'), "chunk 0.0 of mse"),
    "coordinate": ("clip/c/0", flipped, "clip|checksum"),
    "short": ("clip/c/0", lambda path: path.write_bytes(path.read_bytes()[:5]), "read"),
    "lost": ("clip/c/0", Path.unlink, "clip"),
    "null clip": ("clip/zarr.json", lambda path: path.write_text("null"), "metadata of clip"),
    "deep": (RECORD, lambda path: path.write_text("[" * 10**5), "chunk 0.0 of mse"),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A system file, and a store of it with one cell in each block."""
    folder = tmp_path_factory.mktemp("kept")
    rng = np.random.default_rng(0)
    arrays = {"f": rng.normal(size=(3, 5)), "W": rng.normal(size=(3, 4, 5)), "D": rng.normal(size=(5, 4))}
    np.savez(folder / "features.npz", **arrays)
    (folder / "system.toml").write_text(TABLES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_SINGLE_CELLS", 1)
        run.run(prepared(folder / "system.toml", OVER, ["mse"]), folder / "s")
    return folder


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_is_named_and_mended(damage, kept, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "_SINGLE_CELLS", 1)
    path = tmp_path / "s"
    shutil.copytree(kept / "s", path)
    name, harm, said = DAMAGES[damage]
    harm(path / name)
    with pytest.raises(store.StoreError, match=said) if damage != "beyond" else nullcontext():
        airtight.open_sweep(path)
    outcome = run.run(prepared(kept / "system.toml", OVER, ["mse"]), path)
    assert outcome.computed in ({0} if name.startswith("clip") else {1, 4})
    assert name.startswith("clip") or any("damaged" in note for note in outcome.notes)
    found = airtight.open_sweep(path).load()
    xr.testing.assert_identical(found, airtight.open_sweep(kept / "s").load())


def test_a_reader_without_airtight_meets_an_error(kept, tmp_path):
    shutil.copytree(kept / "s", tmp_path / "s")
    flipped(tmp_path / "s" / CHUNK)
    with pytest.raises(ValueError, match="checksum"):
        xr.open_zarr(tmp_path / "s")["mse"].load()


@pytest.mark.parametrize("text", ["null", "", "[]", '{"attributes": 1}', "{}"])
def test_a_damaged_group_is_refused(text, kept, tmp_path):
    shutil.copytree(kept / "s", tmp_path / "s")
    (tmp_path / "s/zarr.json").write_text(text)
    for use in (
        lambda: airtight.open_sweep(tmp_path / "s"),
        lambda: airtight.sweep(kept / "system.toml", OVER, quantities=["mse"], out=tmp_path / "s"),
    ):
        with pytest.raises(store.StoreError, match="not a sweep of airtight"):
            use()
    with pytest.raises(store.StoreError, match="nowhere"):
        airtight.open_sweep("nowhere.zarr")


def test_a_folder_with_files_in_place_of_a_chunk_is_refused(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "_SINGLE_CELLS", 1)
    shutil.copytree(kept / "s", tmp_path / "s")
    a_folder(tmp_path / "s" / CHUNK)
    (tmp_path / "s" / CHUNK / "mine.txt").write_text("mine")
    with pytest.raises(store.StoreError, match="a folder where a chunk belongs"):
        run.run(prepared(kept / "system.toml", OVER, ["mse"]), tmp_path / "s")
    assert (tmp_path / "s" / CHUNK / "mine.txt").read_text() == "mine"


def test_a_full_disk_at_the_first_file_does_not_lock_the_store(kept, tmp_path, monkeypatch):
    """Neither a half-written group nor what an interrupted write leaves behind is taken for somebody else's folder."""
    plan_of_it = prepared(kept / "system.toml", {"clip": [1.0]}, ["epsilon"])

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(os, "fsync", full)
        run.run(plan_of_it, tmp_path / "s")
    (tmp_path / "s/.zarr.json.abc").write_text("{")  # as a kill leaves it
    assert run.run(plan_of_it, tmp_path / "s").computed == 1


def test_unfinished_is_told_apart_from_nan(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "_BATCH_CELLS", 2)
    (tmp_path / "fleet.toml").write_text(FLEET)
    over = {"deadline": [0.01, 0.5, 0.75, 1.0, 1.25]}

    def stop(total):
        left = iter(range(1))

        def done(part):
            if next(left, None) is None:
                raise KeyboardInterrupt

        return done

    with pytest.raises(KeyboardInterrupt):
        run.run(prepared(tmp_path / "fleet.toml", over, ["utility"]), tmp_path / "s", started=stop)
    half = airtight.open_sweep(tmp_path / "s")
    assert half.attrs["unfinished"] == "utility" and half["utility"].attrs["missing_blocks"] == 1
    np.testing.assert_array_equal(half.airtight.computed("utility"), [True, True, True, True, False])
    np.testing.assert_array_equal(np.isnan(half["utility"]), [True, False, False, False, True])
    run.run(prepared(tmp_path / "fleet.toml", over, ["utility"]), tmp_path / "s")
    done = airtight.open_sweep(tmp_path / "s")
    assert done.attrs["unfinished"] == "" and done.airtight.computed().all() and np.isnan(done["utility"][0])


def test_other_values_of_fixed_keys_ask_for_another_folder(file, tmp_path):
    airtight.sweep(file, {"participation": [0.5]}, quantities=["epsilon"], out=tmp_path / "s")
    before = content(tmp_path / "s")
    file.write_text(re.sub("clip = .*", "clip = 7.0", TABLES, count=1))
    command = ["sweep", str(file), "--over", "participation=0.5", "--quantity", "epsilon", "--out", str(tmp_path / "s")]
    done = CliRunner().invoke(main, command)
    assert (
        done.exit_code == 2 and "inference.clip" in done.stderr and "7.0" in done.stderr and "--replace" in done.stderr
    )
    assert content(tmp_path / "s") == before
    assert CliRunner().invoke(main, [*command, "--replace"]).exit_code == 0
    fresh = airtight.sweep(file, {"participation": [0.5]}, quantities=["epsilon"])
    assert airtight.open_sweep(tmp_path / "s")["epsilon"].item() == fresh["epsilon"].item()


def test_a_cluster_without_workers_says_so(file, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "_PATIENCE", 0.01)
    answers = iter([False, False, True, False, False, False, False])

    class Dead(Executor):
        def submit(self, *_):
            return Future()

    with pytest.raises(run.SweepError, match=r"has had no worker .* same command goes on"):
        sweep = prepared(file, OVER, ["mse"])
        run.run(sweep, tmp_path / "s", executor=Dead(), alive=lambda: next(answers))
    assert next(answers, None) is None


def test_an_interrupted_pool_prints_no_traceback_of_a_cancelled_future(monkeypatch, capsys):
    """The pool's own thread may meet a future that was cancelled when its worker was ended; other errors are printed."""
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    with pytest.raises(KeyboardInterrupt), running.pool_of(2):
        raise KeyboardInterrupt

    def fail(error):
        raise error

    for error in (InvalidStateError("CANCELLED"), ValueError("another")):
        thread = threading.Thread(target=fail, args=(error,))
        thread.start()
        thread.join()
    said = capsys.readouterr().err
    assert "another" in said and "CANCELLED" not in said


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:{port}", "127.0.0.1:{port}", "nonsense", "http://127.0.0.1:{port}"])
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_scheduler_is_told_soon(address, monkeypatch):
    """A server that never greets, such as that of a page, and addresses of another form."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(verb, "_CONNECTION", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = address.format(port=silent.getsockname()[1])
        with pytest.raises(ParameterError, match="the address of a Dask scheduler: "), verb.workforce(where, 1):
            pass


def test_a_grid_too_large_is_refused_before_any_work(file):
    with pytest.raises(ParameterError, match="1,000,000,000 points"):
        prepared(file, {"participation": np.linspace(0.1, 1, 10**5).tolist(), "clip": np.arange(1.0, 10**4 + 1).tolist()})


def test_what_no_scheme_can_beat_depends_on_the_privacy():
    """Theorem 3 knows adjacency and noise: each cell is what bounds says of its system."""
    axes = {"adjacency": ["silent", "replace"], "noise_variance": [0.01, 0.1]}
    file = ROOT / "examples/good.toml"
    found = airtight.sweep(file, axes, quantities=["any_scheme_of_tasks", "mse"])
    task, base = airtight.load(file).task, airtight.load(file).inference
    for adjacency in axes["adjacency"]:
        for noise in axes["noise_variance"]:
            system = base.replace(adjacency=adjacency, noise_variance=noise)
            limit = AnyScheme.of(system, task.samples).error
            assert float(found.any_scheme_of_tasks.sel(adjacency=adjacency, noise_variance=noise)) == limit
    assert found.mse.dims == ("noise_variance",)
    silent, replace = (found.any_scheme_of_tasks.sel(adjacency=each).values for each in axes["adjacency"])
    assert np.all(silent > replace) and np.all(np.diff(silent) > 0)  # the same noise hides a replacement less


def test_any_scheme_of_the_worst_codes():
    system = airtight.InferenceSystem(
        devices=12, participation=1.0, noise_variance=0.1, weight=1 / 12, clip=1.0, alignment=1.0, dimension=16,
        receiver_noise_variance=0.1, delta=1e-5, adjacency="silent",
    )  # fmt: skip
    found = airtight.sweep(system, {"noise_variance": [0.01, 0.1]}, quantities=["any_scheme"])
    for noise in (0.01, 0.1):
        limit = airtight.minimax_error(system.replace(noise_variance=noise)).error
        assert float(found.any_scheme.sel(noise_variance=noise)) == limit
