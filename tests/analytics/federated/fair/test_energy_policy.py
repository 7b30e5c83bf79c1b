"""The policy of a device as a table: feasible for every gain, near the optimum, and the same in C."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.common import FLEET, refused, run, written

import airtight
from airtight import InfeasibleError, ParameterError
from airtight.analytics.federated.fair.device import DeviceFleet, table_1
from airtight.solvers.energy import c_policy

DEVICES = [
    table_1(distance=[200.0]),
    table_1(distance=[50.0], deadline=5.0),  # the deadline does not bind at great gains
    table_1(distance=[100.0], utility_energy=3.0),  # the target is out of reach at some gains
    table_1(distance=[100.0], beta_1=0.01, min_iterations=3.5),
]


def at(fleet: DeviceFleet, gains: np.ndarray) -> DeviceFleet:
    held = {name: np.repeat(value, gains.size) for name, value in vars(fleet).items() if isinstance(value, np.ndarray)}
    return DeviceFleet(**{**held, "channel_gain": gains})


@pytest.mark.parametrize("fleet", DEVICES)
def test_feasible_and_near_the_optimum(fleet: DeviceFleet) -> None:
    table = airtight.energy_policy(fleet)
    gains = table.gain[0] * (table.greatest / table.gain[0]) ** np.random.default_rng(0).random(20_000)
    there = at(fleet, gains)
    iterations, power = table(gains)
    assert np.all(iterations >= there.min_iterations) and np.all(power <= there.max_power)
    late = there.compute_time(iterations) + there.transmit_time(power) - there.deadline
    assert np.max(late) <= 1e-12 * fleet.deadline[0]
    best = airtight.solve_energy(there, integer=True)
    loss = (best.utility - there.utility(iterations, power)) / best.scale
    assert np.min(loss) >= -1e-12 and np.max(loss) < 2 * 1e-4 and table.loss <= 1e-4
    # where the optimum is at the edge of the deadline, the table has it to rounding, but for intervals at steps of j
    edge = (best.slack == 0) & (best.iterations == iterations) & (best.power < there.max_power)
    if edge.sum() > 5000:
        assert np.mean(np.abs(power / best.power - 1)[edge] < 1e-12) > 0.5


@pytest.mark.parametrize("fleet", DEVICES)
def test_the_domain_is_that_of_the_solver(fleet: DeviceFleet) -> None:
    table = airtight.energy_policy(fleet)
    least, below = table.gain[0], np.nextafter(table.gain[0], 0.0)
    assert airtight.solve_energy(at(fleet, np.array([least])), integer=True).iterations[0] == table(least)[0]
    with pytest.raises(InfeasibleError):
        airtight.solve_energy(at(fleet, np.array([below])), integer=True)
    with pytest.raises(InfeasibleError, match="too small for the deadline"):
        table([1.0, below])
    for gain in (0.0, -1.0, np.inf, np.nan, 1e101):
        with pytest.raises(ParameterError, match="gain"):
            table(gain)
    assert table(1e100)[0] == table.iterations[-1]


def test_no_gain_is_enough() -> None:
    with pytest.raises(InfeasibleError, match="no gain up to 1e-09"):
        airtight.energy_policy(DEVICES[0], greatest=1e-9)
    late = replace(DEVICES[0], min_iterations=np.array([1e9]))
    with pytest.raises(InfeasibleError, match="the least is inf"):
        airtight.energy_policy(late)
    for loss in (0.0, 1.0, np.nan):
        with pytest.raises(ParameterError, match="loss"):
            airtight.energy_policy(DEVICES[0], loss=loss)


def test_a_finer_table_loses_less() -> None:
    coarse, fine = (airtight.energy_policy(DEVICES[1], loss=loss) for loss in (1e-3, 1e-6))
    assert fine.loss < 1e-6 < coarse.loss < 1e-3 and fine.gain.size > 4 * coarse.gain.size


@settings(max_examples=4, deadline=None)
@given(
    st.floats(20, 250), st.floats(0.3, 20), st.floats(-6, 1), st.floats(-4, 1), st.floats(0, 20), st.integers(0, 10**6)
)
def test_any_device(distance, deadline, beta, target, least, seed) -> None:
    fleet = table_1(
        distance=[distance], deadline=deadline, beta_1=np.exp(beta), utility_energy=np.exp(target), min_iterations=least
    )  # fmt: skip
    table = airtight.energy_policy(fleet, loss=1e-3)
    gains = table.gain[0] * (table.greatest / table.gain[0]) ** np.random.default_rng(seed).random(500)
    there = at(fleet, gains)
    iterations, power = table(gains)
    assert np.all(there.compute_time(iterations) + there.transmit_time(power) <= there.deadline * (1 + 1e-12))
    best = airtight.solve_energy(there, integer=True)
    assert np.all(best.utility - there.utility(iterations, power) <= 3e-3 * best.scale)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The test program of all devices, compiled as strictly as gcc can."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("policy")
    policies = [airtight.energy_policy(fleet) for fleet in DEVICES]
    for name, text in c_policy.files(policies).items():
        (folder / name).write_text(text)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"]
    subprocess.run([compiler, *strict, "-o", "test", c_policy.TEST, "-lm"], cwd=folder, check=True)
    return folder / "test", policies


def test_c_is_python(program) -> None:
    binary, policies = program
    own = subprocess.run([binary], capture_output=True, text=True, check=False)
    assert own.returncode == 0 and own.stdout.startswith("0 of "), own.stdout
    rng = np.random.default_rng(1)
    for k, table in enumerate(policies):
        gains = table.gain[0] * (100 * table.greatest / table.gain[0]) ** rng.random(20_000)
        gains = np.concatenate([gains, table.gain, np.nextafter(table.gain[1:], 0.0)])
        text = "\n".join(gain.hex() for gain in gains.tolist())
        out = subprocess.run([binary, str(k)], input=text, capture_output=True, text=True, check=True).stdout.split()
        iterations, power = table(gains)
        assert set(out[::3]) == {"0"} and out[1::3] == [str(j) for j in iterations]
        found = np.array([float.fromhex(x) for x in out[2::3]])
        assert np.all(np.abs(found - power) <= np.spacing(power))


def test_c_refuses_what_python_refuses(program) -> None:
    binary, policies = program
    below = float(np.nextafter(policies[0].gain[0], 0.0)).hex()
    lines = {"0": "2", "-1": "2", "nan": "2", "inf": "2", "1e101": "2", below: "1", "1e100": "0"}
    out = subprocess.run([binary, "0"], input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in out.splitlines()] == list(lines.values())
    assert out.splitlines()[0] == "2 0 0x0p+0"
    out = subprocess.run([binary, "99"], input="1", capture_output=True, text=True, check=True).stdout
    assert out == "3 0 0x0p+0\n"


def test_what_the_files_may_use() -> None:
    header = c_policy.files([airtight.energy_policy(DEVICES[0])])[c_policy.HEADER]
    assert [line for line in header.splitlines() if line.startswith("#include")] == ["#include <math.h>"]
    assert "alloc" not in header and "//" not in header


def test_the_command(tmp_path) -> None:
    path = written(tmp_path, FLEET)
    ended = run("solve", "energy", path, "--export", "C", "--out", tmp_path / "c")
    assert ended.exit_code == 0 and "device 2:" in ended.stdout, ended.output
    assert {"airtight_policy.h", "airtight_policy_test.c"} <= {each.name for each in (tmp_path / "c").iterdir()}
    assert refused(run("solve", "energy", path, "--export", "C"), "--export: needs --out DIR")
    assert refused(run("solve", "energy", path, "--out", tmp_path), "must be a file that ends in")
    assert refused(run("solve", "energy", path, "--export", "C", "--out", tmp_path / "d", "--loss", "2"), "loss = 2.0")
