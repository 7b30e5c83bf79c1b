"""Figures and commands of other installed packages, by their entry points."""

from importlib import metadata

import click
import pytest
from click.testing import CliRunner
from support.common import run

from airtight.analytics.checks import ParameterError
from airtight.commands.cli import main
from airtight.validate import packages
from airtight.validate.experiments.figures import gallery


class Point:
    name, value, dist = "mine", "my_package:OBJECT", None

    def __init__(self, found):
        self.found = found

    def load(self):
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


@pytest.fixture
def plug(monkeypatch):
    def plugged(group, *found):
        points = [Point(one) for one in found]
        monkeypatch.setattr(metadata, "entry_points", lambda group=group, at=group: points if group == at else [])

    return plugged


@click.command()
@click.argument("name")
def mine(name):
    """Says a name."""
    if name == "bad":
        raise ParameterError("name", name, "a good one")
    click.echo(f"mine {name}")


def test_a_command_is_listed_and_runs(plug):
    plug(packages.COMMANDS, mine)
    assert "Says a name." in run("--help").stdout
    assert run("mine", "x").stdout == "mine x\n"
    refused = run("mine", "bad")
    assert refused.exit_code == 2 and refused.stderr.startswith("airtight: ") and "name" in refused.stderr


def test_without_packages_there_is_no_such_command():
    assert run("mine", "x").exit_code == 2 and "mine" not in run("--help").stdout.split()


@pytest.mark.parametrize(
    ("found", "needle"),
    [
        (3, "must be a Command"),
        (ImportError("no such thing"), "ImportError: no such thing"),
        (SystemExit(0), "SystemExit: 0"),
        (click.Command("verify"), "must be the name of a new command"),
        (click.Command(None), "must be the name of a new command"),
    ],
)
def test_a_command_that_is_none_is_refused_by_its_entry_point(plug, found, needle):
    plug(packages.COMMANDS, found)
    for arguments in (["--help"], ["mine"]):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 2 and needle in result.stderr and "mine = my_package:OBJECT" in result.stderr
    assert run("quantities", "--help").exit_code == 0  # our own commands work all the same


def test_two_commands_of_one_name_are_refused(plug):
    plug(packages.COMMANDS, mine, mine)
    assert "must be the name of a new command" in run("mine", "x").stderr


def draw(effort, advance):
    return gallery.FIGURES["FDP-10"](effort, advance)


def test_figures_are_added(plug):
    plug(packages.FIGURES, {"MY-1": draw})
    assert gallery._of_packages({"FDP-10": draw}) == {"MY-1": draw}


@pytest.mark.parametrize("found", [{"FDP-10": draw}, {"MY-1": 3}, 3, ImportError("no")])
def test_figures_that_are_none_are_refused(plug, found):
    plug(packages.FIGURES, found)
    with pytest.raises(packages.SourceError, match="mine = my_package:OBJECT"):
        gallery._of_packages({"FDP-10": draw})


def test_figures_of_two_packages_do_not_collide(plug):
    plug(packages.FIGURES, {"MY-1": draw}, {"MY-1": draw})
    with pytest.raises(packages.SourceError, match="MY-1"):
        gallery._of_packages({})
