"""CPU seconds of what a user starts: the first curve after the import, and the commands on the example."""

import subprocess
import sys
from pathlib import Path

import pytest

PAPER = str(Path(__file__).parents[1] / "examples" / "paper.toml")
COMMANDS = {  # arguments, and the goal in CPU seconds
    "airtight bounds examples/paper.toml": (("bounds", PAPER), 1.5),
    "airtight calibrate examples/paper.toml": (("calibrate", PAPER, "--epsilon", "20"), None),
    "airtight solve energy examples/paper.toml": (("solve", "energy", PAPER), None),
    "airtight report examples/paper.toml": (("report", PAPER, "--out"), 20),
    "airtight verify": (("verify", "--json"), 60),
    "airtight verify --effort 40": (("verify", "--json", "--effort", "40"), 40),
}


def ran(benchmark, *arguments, rounds=3):
    call = ([sys.executable, *arguments],)
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return benchmark.pedantic(subprocess.run, call, silent, rounds=rounds).returncode


@pytest.mark.benchmark(group="first epsilon of a Gaussian in a new process")
def test_first_curve(benchmark):
    benchmark.extra_info["goal"] = "twice numpy"
    assert ran(benchmark, "-c", "import airtight; airtight.gaussian(1.0).epsilon(1e-5)") == 0


@pytest.mark.benchmark(group="first epsilon of a Gaussian in a new process")
def test_first_curve_numpy(benchmark):
    """NumPy's import alone."""
    assert ran(benchmark, "-c", "import numpy") == 0


@pytest.mark.benchmark(group="first epsilon of a Gaussian in a new process")
def test_first_curve_dp_accounting(benchmark):
    pytest.importorskip("dp_accounting")
    assert ran(benchmark, "-c", "import dp_accounting; dp_accounting.get_epsilon_gaussian(1.0, 1e-5)") == 0


@pytest.mark.parametrize("name", list(COMMANDS))
def test_command(benchmark, name, tmp_path):
    """A small effort leaves claims unsettled, which is status 1."""
    arguments, goal = COMMANDS[name]
    benchmark.group = name
    if goal is not None:
        benchmark.extra_info.update(goal=goal, by="airtight; peer: none")
    place = (str(tmp_path / "report"),) if arguments[-1] == "--out" else ()
    status = ran(benchmark, "-m", "airtight", *arguments, *place, rounds=3 if goal is None or goal < 20 else 1)
    assert status == 0 or ("--effort" in arguments and status == 1)
