"""Without the extras the core works, and what needs one says which; with them every verb works."""

import pickle
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.util import find_spec

import pytest
from packaging.requirements import Requirement
from support.paths import ROOT

from airtight.analytics import extras
from airtight.analytics.extras import MODULES, MissingExtraError

TESTS = ROOT / "tests"


def test_every_verb_names_the_extra_that_is_missing():
    """In a process of its own; what a true environment without extras says is the business of ``make bare``."""
    done = subprocess.run([sys.executable, TESTS / "clean.py", "block"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_map_of_modules_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    owners = metadata.packages_distributions()
    for extra, modules in MODULES.items():
        wanted = [Requirement(text) for text in project["optional-dependencies"][extra]]
        own = {r.name for r in wanted if r.name != project["name"]}
        known = {owner.lower() for module in modules for owner in owners.get(module, [])}
        assert own - {"flwr"} <= known, extra
        held = {each for r in wanted if r.name == project["name"] for each in r.extras}
        assert held == set(extras._HOLDS.get(extra, ())), extra


def test_who_only_asks_or_is_not_airtight_gets_the_usual_answer(monkeypatch):
    monkeypatch.setitem(MODULES, "verify", ("no_such_module",))
    assert find_spec("no_such_module") is None
    with pytest.raises(ModuleNotFoundError) as usual:
        __import__("no_such_module")
    assert not isinstance(usual.value, MissingExtraError)
    code = compile("import no_such_module", "inside", "exec")
    with pytest.raises(MissingExtraError, match=r"pip install .*\[verify\]") as named:
        exec(code, {"__name__": "airtight.inside"})
    again = pickle.loads(pickle.dumps(named.value))
    assert (str(again), again.name, again.extra) == (str(named.value), "no_such_module", "verify")


def test_a_hint_installs_from_where_this_copy_came():
    """From an index by name, from a clone in its folder, from a file by its address (users.md 12)."""
    assert extras._command("report", {}) == "pip install 'airtight-dp[report]'"
    clone = {"url": "file:///home/me/airtight", "dir_info": {"editable": True}}
    assert extras._command("report", clone) == "pip install '.[report]' in /home/me/airtight"
    wheel = {"url": "file:///tmp/a.whl", "archive_info": {}}
    assert extras._command("report", wheel) == "pip install 'airtight-dp[report] @ file:///tmp/a.whl'"


def test_flower_names_its_extra():
    """Where it is installed the adapter has tests of its own."""
    from airtight.integrations import flower

    if flower.Strategy is object:
        for build in (
            lambda: flower.GaussianMod(clip=1.0, noise_variance=1.0),
            lambda: flower.LdpMod(epsilon=1.0, radius=1.0),
        ):
            with pytest.raises(MissingExtraError, match=r"pip install .*\[flower\]"):
                build()
