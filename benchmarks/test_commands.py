"""CPU seconds of what a user starts: the first curve after the import, and the commands on the example."""

import subprocess
import sys
from pathlib import Path

import pytest

PAPER = str(Path(__file__).parents[1] / "examples" / "paper.toml")
COMMANDS = {
    "bounds": ("bounds", PAPER),
    "calibrate": ("calibrate", PAPER, "--epsilon", "20"),
    "solve energy": ("solve", "energy", PAPER),
}


def ran(benchmark, *arguments, rounds=3):
    call = ([sys.executable, *arguments],)
    benchmark.pedantic(
        subprocess.run, call, {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}, rounds=rounds
    )


@pytest.mark.benchmark(group="first epsilon of a Gaussian in a new process")
def test_first_curve(benchmark):
    ran(benchmark, "-c", "import airtight; airtight.gaussian(1.0).epsilon(1e-5)")


@pytest.mark.benchmark(group="first epsilon of a Gaussian in a new process")
def test_first_curve_numpy(benchmark):
    """NumPy's import alone."""
    ran(benchmark, "-c", "import numpy")


@pytest.mark.benchmark(group="first epsilon of a Gaussian in a new process")
def test_first_curve_dp_accounting(benchmark):
    pytest.importorskip("dp_accounting")
    ran(benchmark, "-c", "import dp_accounting; dp_accounting.get_epsilon_gaussian(1.0, 1e-5)")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_command(benchmark, name):
    benchmark.group = f"airtight {name} examples/paper.toml"
    ran(benchmark, "-m", "airtight", *COMMANDS[name])


@pytest.mark.benchmark(group="airtight report examples/paper.toml")
def test_report(benchmark, tmp_path):
    ran(benchmark, "-m", "airtight", "report", PAPER, "--out", str(tmp_path / "report"), rounds=1)
