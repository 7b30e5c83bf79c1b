"""Without the extras the core works, and what needs one says which."""

import subprocess
import sys

import pytest

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"sympy", "flint", "mpmath", "cvxpy", "sklearn", "mlxtend", "networkx", "jinja2",
                                  "latex2mathml", "matplotlib", "xarray", "zarr", "dask", "distributed", "hypothesis"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.split(".")[0])

sys.meta_path.insert(0, Blocked())
from validate.cli import main
main(sys.argv[1:])
"""


def command(*arguments):
    return subprocess.run([sys.executable, "-c", BLOCKED, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("arguments", [["bounds", "examples/paper.toml"], ["solve", "energy", "examples/fleet.toml"]])
def test_the_core_needs_no_extra(arguments, request):
    done = command(*arguments[:-1], str(request.config.rootpath / arguments[-1]))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments, extra",
    [
        (["verify", "FDP-D2"], "verify"),
        (["train", "examples/paper.toml"], "train"),
        (["report", "examples/paper.toml", "--out", "nowhere"], "report"),
        (["sweep", "examples/paper.toml", "--over", "clip=1", "--quantity", "epsilon", "--out", "nowhere"], "sweep"),
        (
            ["sweep", "examples/paper.toml", "--over", "clip=1", "--scheduler", "tcp://x:1", "--out", "nowhere"],
            "cluster",
        ),
    ],
)
def test_what_needs_an_extra_names_it(arguments, extra, request, tmp_path):
    given = [str(request.config.rootpath / a) if a.endswith(".toml") else a for a in arguments]
    done = command(*[str(tmp_path / "out") if a == "nowhere" else a for a in given])
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"airtight-dp[{extra}]" in done.stderr
