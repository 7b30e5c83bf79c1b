"""Features from a CSV file, and sweeps over devices from one."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from support.common import GOOD, refused, run, written

import airtight
from airtight import Features
from airtight.system_file.config import load

NUMBERS = [[1.0, 2.0, 0.0, 1.0], [0.5, -1.0, 2.0, 0.0], [3.0, 0.0, 1.0, 1.0]]


def table(rows=NUMBERS, head: str = "a,b,c,d") -> str:
    return "\n".join([head, *(",".join(map(repr, row)) for row in rows)]) + "\n"


OWN = '[inference.features]\ntable = "f.csv"\nmargin = 2.0\nideal_accuracy = 0.95\n'
COMMANDS = [("bounds",), ("solve", "weights"), ("attack", "--samples", "300")]


def system(folder, text: str = OWN, content: str | None = None, dimension: int = 4):
    (folder / "f.csv").write_text(table() if content is None else content, encoding="utf-8")
    return written(folder, GOOD.replace("dimension = 4", f"dimension = {dimension}") + text)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_table_is_the_archive_of_the_same_numbers(tmp_path, command) -> None:
    np.savez(tmp_path / "features.npz", f=NUMBERS, W=np.eye(4), D=np.eye(4))
    inside = run(*command, system(tmp_path, OWN.replace('table = "f.csv"', 'file = "features.npz"')), "--json").stdout
    trees = [json.loads(inside)]
    trees.append(json.loads(run(*command, system(tmp_path), "--json").stdout))
    bare = system(tmp_path, OWN.replace('table = "f.csv"\n', ""))
    trees.append(json.loads(run(*command, bare, "--features", tmp_path / "f.csv", "--json").stdout))
    for tree in trees:
        tree.pop("seconds", None)
    assert trees[0] == trees[1] == trees[2]


def test_tasks_of_a_table_follow_each_other(tmp_path) -> None:
    twice = [*NUMBERS, *(np.array(NUMBERS) * 2).tolist()]
    lines = [f"d{k % 3},{','.join(map(repr, row))}" for k, row in enumerate(twice)]
    task = load(system(tmp_path, content="device,a,b,c,d\n" + "\n".join(lines) + "\n")).task
    assert task.samples == tuple(Features(f=np.array(NUMBERS) * k, W=np.eye(4), D=np.eye(4)) for k in (1, 2))


def test_the_code_of_a_table(tmp_path) -> None:
    short = load(system(tmp_path, dimension=2)).task.features
    np.testing.assert_allclose(short.W @ short.W.T, np.eye(2), atol=1e-12)
    left = np.array(NUMBERS) - np.array(NUMBERS) @ short.W.T @ short.D.T
    assert np.linalg.norm(left) == pytest.approx(
        np.linalg.svd(NUMBERS, compute_uv=False)[2:].max()
    )  # the least possible
    padded = load(system(tmp_path, dimension=6)).task.features
    np.testing.assert_array_equal(padded.decoded(1e9), NUMBERS)
    rng = np.random.default_rng(0)
    codec = {"W": rng.normal(size=(3, 2, 4)), "D": rng.normal(size=(4, 2)), "c": rng.normal(size=(3, 4))}
    np.savez(tmp_path / "codec.npz", **codec)
    given = load(system(tmp_path, OWN + 'file = "codec.npz"\n', dimension=2)).task.features
    assert given == Features(f=np.array(NUMBERS) - codec["c"], W=codec["W"], D=codec["D"])


@pytest.mark.parametrize(
    "content, needles",
    [
        (table(NUMBERS[:2]), ["2 rows: must be a multiple of 3"]),
        (table([*NUMBERS, NUMBERS[0]]), ["4 rows: must be a multiple of 3"]),
        (table().replace("3.0", "three"), ["row 3, column 'a': 'three'"]),
        (table().replace("3.0", "nan"), ["row 3, column 'a': 'nan'"]),
        (table().replace("3.0,", ""), ["row 3: must have 4 values"]),
        ("device\na\nb\nc\n", ["must have a column of features"]),
        ("", ["empty"]),
        (table(head=",b,c,d"), ["column 1: ''", "must have a name"]),
        ("\ufeff" + table(head=",b,c,d"), ["column 1: ''"]),
        (table(head="a,b,c,"), ["column 4: ''"]),
        (table(head="Unnamed: 0,b,c,d"), ["column 1: 'Unnamed: 0'", "counts the rows"]),
        (table(head="index,b,c,d"), ["column 1: 'index'"]),
        (table(head="a,b,a,d"), ["column 'a': twice"]),
        (table(head="0.5,-1.0,2.0,0.1"), ["first line holds numbers"]),
        ("device,a\nx,1\nx,2\ny,3\n", ["row 2: device 'x': must be a name that no other row has"]),
        ("device,a\n" + "x,1\ny,2\nz,3\n" + "x,1\nz,2\ny,3\n", ["row 5: device 'z': must be 'y'"]),
    ],
)
def test_bad_tables_are_named(tmp_path, content, needles) -> None:
    path = system(tmp_path, content=content)
    for arguments in (("bounds", path), ("sweep", path, "clip=1,2", "--explain")):
        assert refused(run(*arguments), "inference.features.table = 'f.csv'", *needles)


def test_what_is_missing_is_named(tmp_path) -> None:
    path = system(tmp_path, OWN.replace('table = "f.csv"\n', ""))
    assert refused(run("bounds", path), "inference.features.file: missing")
    assert refused(run("bounds", path, "--features", tmp_path / "no.csv"), "no.csv", "No such file")
    assert refused(run("bounds", written(tmp_path, GOOD), "--features", tmp_path / "f.csv"), "margin, ideal_accuracy")
    assert refused(run("bounds", path, path, "--features", tmp_path / "f.csv"), "--features: with one FILE")
    assert refused(run("bounds", system(tmp_path, OWN + 'file = "none.npz"\n')), "none.npz", "No such file")


def test_a_sweep_over_devices_of_a_table(tmp_path) -> None:
    (tmp_path / "d.csv").write_text("noise_variance,weight\n0.1,0.5\n0.2,0.3\n0.3,0.2\n")
    path = system(tmp_path)
    ended = run("sweep", path, "clip=1,2", "epsilon", "mse", "--devices", tmp_path / "d.csv", "--out", tmp_path / "s")
    assert ended.exit_code == 0, ended.output
    found = airtight.open_sweep(tmp_path / "s")
    base = load(path)
    for clip in (1.0, 2.0):
        one = airtight.InferenceSystem(
            **{**base.inference.to_dict(), "clip": clip, "noise_variance": [0.1, 0.2, 0.3], "weight": [0.5, 0.3, 0.2]}
        )
        assert float(found.epsilon.sel(clip=clip)) == airtight.epsilon(one).max()
        assert float(found.mse.sel(clip=clip)) == airtight.mse(one, base.task.features)
    again = run("sweep", path, "clip=1,2", "epsilon", "mse", "--devices", tmp_path / "d.csv", "--out", tmp_path / "s")
    assert "0 computed now" in again.stdout
    assert refused(run("sweep", path, "clip=1,2", "--devices", tmp_path / "none.csv", "--explain"), "none.csv")


def test_a_sweep_sees_that_the_table_has_changed(tmp_path) -> None:
    path, given = system(tmp_path), tmp_path / "other.csv"
    given.write_text(table())
    arguments = ("sweep", path, "clip=1,2", "mse", "--features", given, "--out", tmp_path / "s")
    assert run(*arguments).exit_code == 0 and "0 computed now" in run(*arguments).stdout
    given.write_text(table().replace("3.0", "4.0"))
    assert refused(run(*arguments), "features.table = ", "--replace")
    assert "1 computed now, 0 kept" in run(*arguments, "--replace").stdout


def test_the_codec_of_a_table_is_linear_in_its_size(tmp_path) -> None:
    """Three devices span three dimensions: a vector for each, and 0 in what remains of the code."""
    columns = 4000
    rows = np.random.default_rng(1).normal(size=(3, columns))
    path = system(tmp_path, content=table(rows.tolist(), ",".join(f"x{j}" for j in range(columns))), dimension=8)
    tracemalloc.start()
    found = load(path).task.features
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 * columns**2 / 4
    np.testing.assert_allclose(found.W @ found.W.T, np.diag([1, 1, 1, 0, 0, 0, 0, 0]), atol=1e-12)
    np.testing.assert_allclose(found.decoded(1e9), rows, atol=1e-12)
