"""Fleets as CSV: read beside a system file, written so that they can be read again; who is left out is named."""

import csv
import json

import numpy as np
import pytest
from support.common import GOOD, refused, run, written
from support.paths import ROOT

from airtight.solvers import energy
from airtight.system_file.config import load

FLEET = (ROOT / "examples" / "fleet.toml").read_text()


def table(folder, text):
    path = folder / "devices.csv"
    path.write_text(text, encoding="utf-8")
    return path


def rows_of(path):
    with path.open() as stream:
        return list(csv.DictReader(stream))


def test_a_plan_is_that_of_the_same_fleet_in_the_file(tmp_path):
    system = written(tmp_path, FLEET)
    fleet = load(system).energy
    lines = "\n".join(
        f"{d!r},{g!r}" for d, g in zip(fleet.distance.tolist(), np.linspace(0.5, 2, 10).tolist(), strict=True)
    )
    given = table(tmp_path, f"distance,channel_gain\n{lines}\n")
    out = tmp_path / "plan.csv"
    tree = json.loads(run("solve", "energy", system, "--devices", given, "--plan", out, "--json").stdout)
    from dataclasses import replace

    found = energy.solve(replace(fleet, channel_gain=np.linspace(0.5, 2, 10)))
    np.testing.assert_array_equal([row["power"] for row in tree], found.power)
    plan = rows_of(out)
    assert [row["device"] for row in plan] == [str(k) for k in range(10)]
    np.testing.assert_array_equal([float(row["utility"]) for row in plan], found.utility)


@pytest.mark.parametrize(
    "command", [("bounds",), ("calibrate", "--epsilon", "1"), ("attack", "--samples", "500")], ids=lambda c: c[0]
)
def test_devices_of_a_table_are_those_of_the_file(tmp_path, command):
    columns = {"noise_variance": [0.1, 0.2, 0.3], "weight": [0.5, 0.3, 0.2]}
    base = (
        "[inference]\ndevices = {}\nparticipation = 0.9\nnoise_variance = {}\nweight = {}\nclip = 1.0\nalignment = 1.0\n"
        'receiver_noise_variance = 0.1\ndimension = 4\ndelta = 1e-3\nadjacency = "silent"\n'
    )
    lines = "\n".join(f"{s!r},{w!r}" for s, w in zip(*columns.values(), strict=True))
    given = table(tmp_path, f"noise_variance,weight\n{lines}\n")
    beside = run(*command, written(tmp_path, base.format(12, 1.0, 0.08)), "--devices", given, "--json").stdout
    inside = run(*command, written(tmp_path, base.format(3, *columns.values())), "--json").stdout
    assert json.loads(beside) == json.loads(inside)


def test_who_cannot_is_left_out_and_named(tmp_path):
    system = written(tmp_path, FLEET)
    given = table(tmp_path, "device,distance,channel_gain\na,50,1\nb,60,0\nc,900000,1\nd,70,1\n")
    assert refused(run("solve", "energy", system, "--devices", given), "channel_gain[1]", "0", "devices.csv")
    found = run("solve", "energy", system, "--devices", given, "--leave-out", "--plan", "-")
    assert found.exit_code == 0
    assert [line.split(",")[0] for line in found.stdout.splitlines()] == ["device", "a", "d"]
    left = [line for line in found.stderr.splitlines() if "left out" in line]
    assert len(left) == 2 and "device 1 b: channel_gain = 0" in left[0] and "device 2 c: misses its deadline" in left[1]
    nameless = table(tmp_path, "distance,channel_gain\n50,1\n60,0\n")
    found = run("solve", "energy", system, "--devices", nameless, "--leave-out")
    assert "device 1: channel_gain = 0" in found.stderr


def test_of_many_devices_three_are_printed(tmp_path):
    given = table(tmp_path, "device,distance\n" + "\n".join(f"d{i},{50 + i}" for i in range(200)))
    found = run("solve", "energy", written(tmp_path, FLEET), "--devices", given, "--leave-out")
    assert "worst: " in found.stdout and "best: 0 d0" in found.stdout and len(found.stdout.splitlines()) < 26


def test_a_design_can_be_read_again(tmp_path):
    system = written(tmp_path, GOOD + '[design]\nepsilon_at_most = 3.0\nfree = ["noise_variance"]\n')
    given = table(tmp_path, "clip,noise_variance_db\n1.0,-10\n2.0,-10\n")
    out = tmp_path / "designed.csv"
    text = system.read_text().replace("participation = [0.9, 0.5, 1.0]", 'participation = 1.0\nadjacency = "silent"')
    system = written(tmp_path, text)
    found = run("design", system, "--devices", given, "--plan", out, "--json")
    assert found.exit_code == 0, found.stderr
    rows = rows_of(out)
    assert [row["clip"] for row in rows] == ["1.0", "2.0"] and all(float(row["epsilon"]) <= 3.0 for row in rows)
    again = run("design", system, "--devices", out, "--json")
    assert json.loads(again.stdout)["energy"] <= json.loads(found.stdout)["energy"] * 1.0001


@pytest.mark.parametrize(
    ("text", "needles"),
    [
        ("", ["header"]),
        ("distance\n", ["header"]),
        ("distnce\n50\n", ["distnce", "did you mean distance?"]),
        ("distance,distance\n50,60\n", ["distance", "twice"]),
        ("distance,channel_gain\n50\n", ["row 1", "2 values"]),
        ("distance\nfar\n", ["distance[row 1]", "far", "number"]),
        ("distance\n-5\n", ["distance", "-5"]),
        ("device\nx\n", ["no column"]),
        (",distance\n0,50\n", ["column 1: ''", "must have a name"]),
        ("device,distance\nx,50\ny,60\nx,70\n", ["row 3: device 'x'", "no other row has"]),
    ],
)
def test_tables_that_are_refused(tmp_path, text, needles):
    given = table(tmp_path, text)
    assert refused(run("solve", "energy", written(tmp_path, FLEET), "--devices", given), *needles)
