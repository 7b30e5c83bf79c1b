"""Without the extras the core works, and what needs one says which."""

import json
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
import json
from click.testing import CliRunner
from airtight.validate.commands.cli import main
answers = [CliRunner().invoke(main, arguments) for arguments in json.loads(sys.argv[1])]
print(json.dumps([(a.exit_code, a.stderr) for a in answers]))
"""
CORE = [["bounds", "examples/paper.toml"], ["solve", "energy", "examples/fleet.toml"]]
SWEEP = ["sweep", "examples/paper.toml", "--over", "clip=1", "--out", "nowhere"]
NEEDS = {
    "verify": ["verify", "FDP-D2"],
    "train": ["train", "examples/paper.toml"],
    "report": ["report", "examples/paper.toml", "--out", "nowhere"],
    "sweep": [*SWEEP, "--quantity", "epsilon"],
    "cluster": [*SWEEP, "--scheduler", "tcp://x:1"],
}


@pytest.fixture(scope="module")
def answers(request, tmp_path_factory):
    """Of all these commands, one after the other in one process that cannot import what an extra brings."""
    places = {"nowhere": str(tmp_path_factory.mktemp("extras") / "out")}
    places |= {a: str(request.config.rootpath / a) for c in (*CORE, *NEEDS.values()) for a in c if a.endswith(".toml")}
    every = [[places.get(a, a) for a in command] for command in (*NEEDS.values(), *CORE)]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, json.dumps(every)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_flower_names_its_extra():
    """Where it is installed the adapter has tests of its own."""
    from airtight.validate.integrations import flower

    if flower.Strategy is object:
        for build in (
            lambda: flower.GaussianMod(clip=1.0, noise_variance=1.0),
            lambda: flower.LdpMod(epsilon=1.0, radius=1.0),
        ):
            with pytest.raises(ModuleNotFoundError, match=r"airtight-dp\[flower\]"):
                build()


def test_the_core_needs_no_extra(answers):
    assert [code for code, _ in answers[len(NEEDS) :]] == [0, 0], answers[len(NEEDS) :]


@pytest.mark.parametrize("extra", NEEDS)
def test_what_needs_an_extra_names_it(extra, answers):
    code, said = answers[list(NEEDS).index(extra)]
    assert code == 2 and said.count("\n") == 1
    assert f"pip install '.[{extra}]'" in said
