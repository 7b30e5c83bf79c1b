"""`airtight bounds` and `airtight solve energy` for [energy]."""

import json
import re

import pytest
from support.common import refused, run, written
from support.paths import ROOT

from airtight.report import page
from airtight.results.bounds import Bounds
from airtight.system_file.config import load

FLEET = (ROOT / "examples" / "fleet.toml").read_text()
KEYS = {
    "iterations",
    "power",
    "rate",
    "transmit_time",
    "compute_time",
    "slack",
    "energy",
    "utility",
    "case",
    "certificate",
    "published",
}


def test_bounds(tmp_path):
    result = run("bounds", written(tmp_path, FLEET), "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["energy"]
    assert len(rows) == 10 and {"gain", "path_loss_factor", "min_power", "max_iterations", "feasible"} <= set(rows[0])
    assert rows[0]["gain"] == pytest.approx(9356247.36, rel=1e-8) and all(row["feasible"] for row in rows)
    assert "feasible" in run("bounds", written(tmp_path, FLEET)).stdout


@pytest.mark.parametrize("method", ["closed-form", "cvxpy", "published"])
@pytest.mark.parametrize("integer", [False, True])
def test_every_method(tmp_path, method, integer):
    arguments = [
        "solve",
        "energy",
        written(tmp_path, FLEET),
        "--method",
        method,
        "--json",
        *(["--integer"] if integer else []),
    ]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert len(rows) == 10 and set(rows[0]) >= KEYS
    assert rows[0]["iterations"] == (98.0 if integer else pytest.approx(98.4615, abs=1e-3))
    assert all(row["certificate"]["gap"] < (1e-3 if integer else 1e-6) for row in rows)
    assert {"iterations", "power", "utility"} <= set(rows[0]["published"])


def test_table(tmp_path):
    result = run("solve", "energy", written(tmp_path, FLEET))
    assert result.exit_code == 0 and "GREATEST UTILITY" in result.stdout and "not optimal for 0 of 10" in result.stdout


def test_infeasible(tmp_path):
    path = written(tmp_path, FLEET.replace("deadline = 0.75 ", "deadline = 0.2 "))
    result = run("solve", "energy", path)
    assert result.exit_code == 3 and result.stdout == ""
    assert "device 9" in result.stderr and "least feasible deadline is 0.2911" in result.stderr
    rows = json.loads(run("bounds", path, "--json").stdout)["energy"]
    assert not any(row["feasible"] for row in rows)


def test_decibels_for_watts_warn_and_go_on(tmp_path):
    result = run("solve", "energy", written(tmp_path, FLEET.replace("max_power = 1.0 ", "max_power = 30.0 ")), "--json")
    assert result.exit_code == 0 and "30 W" in result.stderr and "in dBm, the power is 1 W" in result.stderr
    assert len(json.loads(result.stdout)) == 10


@pytest.mark.parametrize(
    "old, new, needles",
    [
        ("bandwidth = 250e3", "bandwidth = 0.0", ["energy.bandwidth = 0.0"]),
        ("amplifier_efficiency = 0.45", "amplifier_efficiency = 1.5", ["energy.amplifier_efficiency", "(0, 1]"]),
        ("beta = [0.5, 0.05]", "beta = [0.5]", ["energy.beta", "two numbers"]),
        ("beta = [0.5, 0.05]", "beta = [0.5, 0.0]", ["energy.beta[1] = 0.0"]),
        ("beta = [0.5, 0.05]", "beta = [0.5, [0.1, 0.2]]", ["energy.beta[1]", "list of 10"]),
        ("deadline = 0.75", "deadline = [0.75, 0.8]", ["energy.deadline", "list of 10"]),
        ("deadline = 0.75", "deadline = nan", ["energy.deadline"]),
        ("snr_gap_db", "snr_gap", ["energy.snr_gap"]),
        ("model_bits = 875e3\n", "", ["energy.model_bits", "missing"]),
        ("compute_power = 0.096", 'compute_power = "96 mW"', ["energy.compute_power"]),
    ],
)
def test_refusals(tmp_path, old, new, needles):
    assert refused(run("bounds", written(tmp_path, FLEET.replace(old, new))), *needles)


def test_needs_the_table(tmp_path):
    text = "[federated]\nclients = 4\nparameters = 2\nepsilon = 1.0\nradius = 1.0\nshared_bits = 3\ndelta = 1e-5\n"
    assert refused(run("solve", "energy", written(tmp_path, text)), "energy: missing")


def test_report_of_an_infeasible_fleet(tmp_path):
    description = load(written(tmp_path, FLEET.replace("deadline = 0.75 ", "deadline = 0.2 ")))
    parts = page.Parts(description, Bounds.of(description), energy=page.EnergyPart.of(description.energy))
    page.write(tmp_path / "out", parts)
    html = (tmp_path / "out" / "index.html").read_text()
    assert "Infeasible:" in html and "Not every device can keep its deadline" in html


def test_the_page_of_a_great_fleet_stays_small(tmp_path):
    far = ", ".join(f"{50 + i / 20:.2f}" for i in range(2000))
    text = re.sub(r"distance = \[.*?\]", f"distance = [{far}]", FLEET)
    description = load(written(tmp_path, text))
    parts = page.Parts(description, Bounds.of(description), energy=page.EnergyPart.of(description.energy))
    page.write(tmp_path / "out", parts)
    html = (tmp_path / "out" / "index.html").read_text()
    assert "1960 more in" in html and len(html) < 200_000
    assert len(json.loads((tmp_path / "out" / "report.json").read_text())["energy"]) == 2000
