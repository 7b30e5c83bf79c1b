"""The schema of the system file: as the loader, key by key; and the schema of what commands print."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tomllib
from pathlib import Path

import fastjsonschema
import pytest
from click.testing import CliRunner
from support.common import FLEET, GOOD, TASK, archive, run, written
from support.paths import ROOT

from airtight.analytics import parameters
from airtight.analytics.inference.system import InferenceSystem
from airtight.commands.cli import main
from airtight.report import results_schema as schema
from airtight.solvers.design import requirements
from airtight.system_file import config, file_schema, tables
from airtight.system_file.config import SystemFileError, described
from airtight.validate.experiments.training.training_plan import TrainingKeys

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
RANGES = {"inference", "channel", "eavesdropper", "federated", "energy"}  # tables whose ranges are in the schema
VALID = fastjsonschema.compile(file_schema.schema())


def accepted(tables: dict) -> bool:
    try:
        VALID(tables)
    except fastjsonschema.JsonSchemaException:
        return False
    return True


def loaded(tables: dict, path: Path) -> str:
    """The loader's complaint; empty where it has none."""
    try:
        described(tables, path, channel=True)
    except SystemFileError as error:
        return str(error)
    return ""


def test_it_is_published_and_printed() -> None:
    assert (ROOT / "docs" / "system-file.schema.json").read_text(encoding="utf-8") == file_schema.text()
    assert run("schema").stdout == file_schema.text()
    assert run("schema", "--results").stdout == schema.text()


def test_it_does_not_hang_on_the_hash_seed() -> None:
    texts = [
        subprocess.run(
            [sys.executable, "-m", "airtight", "schema"],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3", "4")
    ]
    assert len(set(texts)) == 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_accepted(path: Path) -> None:
    assert accepted(tomllib.loads(path.read_text(encoding="utf-8")))


def _places(table: dict, path: tuple = ()) -> list[tuple]:
    found = []
    for key, value in table.items():
        found.append((*path, key))
        if isinstance(value, dict):
            found += _places(value, (*path, key))
    return found


def _changed(table: dict, place: tuple, value: object) -> dict:
    """A copy with another value at a place; None takes the key away."""
    copy = json.loads(json.dumps(table))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    if value is None:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return copy


@pytest.mark.filterwarnings("ignore:noise_density_dbm")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_it_agrees_with_the_loader_on_changed_files(path: Path) -> None:
    """Unknown keys, wrong types, values out of range, missing keys: one change at a time.

    What the schema rejects the loader rejects; the loader rejects more only where a check takes two keys or a file.
    """
    rng, tables = random.Random(path.name), tomllib.loads(path.read_text(encoding="utf-8"))
    places = _places(tables)
    counts = {"both": 0, "loader": 0}
    for place in rng.sample(places, min(len(places), 40)):
        changes = [None, "text", -1, -0.5, 2.5, True, [], ["a"], 0, 1e300]
        for value in rng.sample(changes, 4):
            made = _changed(tables, place, value)
            complaint = loaded(made, path)
            if not accepted(made):
                counts["both"] += 1
                assert complaint, (place, value)
            elif complaint and (
                "unknown key" in complaint
                or (place[:-1][-1:] and place[-2] in RANGES and "must be a number in" in complaint)
            ):
                raise AssertionError((place, value, complaint))
            elif complaint:
                counts["loader"] += 1
        unknown = _changed(tables, (*place[:-1], place[-1] + "_"), 1)
        assert bool(loaded(unknown, path)) == (not accepted(unknown)), place
    assert counts["both"] > 3 * counts["loader"], counts


@pytest.mark.parametrize(
    ("changes", "good"),
    [
        ({}, True),
        ({"noise_variance_db": -10.0}, False),  # beside noise_variance
        ({"noise_variance": None, "noise_variance_db": -10.0}, True),
        ({"noise_variance": None}, False),
        ({"participation": None}, False),
        ({"channel": {"max_power": 9.0, "fading": "rayleigh"}}, False),  # participation beside a power limit
        ({"participation": None, "channel": {"max_power": 9.0, "fading": "rayleigh"}}, True),
        ({"channel": {"antennas": 2, "eavesdropper": {"antennas": 2}}}, True),
        ({"channel": {"antenna": 2}}, False),
        ({"channel": {"fading": "ricean"}}, False),
        ({"adjacency": "removed"}, False),
        ({"observer": "everybody"}, False),
        ({"delta": 0}, False),
        ({"delta": 1e-9}, True),
        ({"variants": {"quiet": {"idle_noise": True}}}, True),
        ({"variants": {"quiet": {"idle": True}}}, False),
    ],
)
def test_keys_that_stand_for_others(changes: dict, good: bool, tmp_path: Path) -> None:
    table = tomllib.loads(GOOD)["inference"]
    made = {"inference": {key: value for key, value in {**table, **changes}.items() if value is not None}}
    assert accepted(made) == good
    assert (not loaded(made, tmp_path / "system.toml")) == good


@pytest.mark.parametrize(
    ("command", "text", "options"),
    [
        ("calibrate", GOOD, ("--epsilon", "60")),
        ("design", FLEET + "[design]\nenergy_at_most = 0.4\nepsilon_at_most = 2.0\nrounds = 10\n", ()),
        (
            "design",
            GOOD + TASK + '[design]\nminimise = "energy"\nepsilon_at_most = 100.0\nerror_at_most = 9.0\neffort = 50\n',
            (),
        ),
    ],
)
def test_results_of_designs(command: str, text: str, options: tuple[str, ...], tmp_path: Path) -> None:
    archive(tmp_path)
    found = json.loads(CliRunner().invoke(main, [command, str(written(tmp_path, text)), *options, "--json"]).stdout)
    check = fastjsonschema.compile({**schema.schema(), "$ref": f"#/$defs/{command}"})
    check(found)
    with pytest.raises(fastjsonschema.JsonSchemaException):
        check({**found, "more": 1})


WRITTEN_ELSEWHERE = {"looks", "channel", "eavesdropper", "beta_1", "beta_2"}  # `file`, tables of their own, `beta`
ANNOTATIONS = {
    parameters.Number: "Number",
    parameters.Count: "int",
    parameters.Vector: "PerDevice",
    parameters.Flag: "bool",
    parameters.Choice: "str",
    parameters.OneOf: "str",
    parameters.SomeOf: "list[str]",
    parameters.OptionalNumber: "Number",
    parameters.OptionalCount: "int",
    parameters.OptionalVector: "PerDevice",
    type(parameters.of(InferenceSystem)["colluding"]): "Devices",
}


def annotation(row: parameters.Parameter) -> str:
    return next(ANNOTATIONS[held] for held in type(row).__mro__ if held in ANNOTATIONS)


@pytest.mark.parametrize("model", tables.Table.__subclasses__(), ids=lambda model: model.__name__)
def test_tables_have_the_keys_types_and_defaults_of_their_value_types(model: type[tables.Table]) -> None:
    of_design = [row for kind in config.REQUIREMENTS.values() for row in parameters.of(kind).values()]
    rows = [] if model.value_type is None else list(parameters.of(model.value_type).values())
    rows = [row for row in rows if row.name not in WRITTEN_ELSEWHERE]
    if model is tables.VariantTable:
        rows = [row for row in rows if row.name not in ("rounds", "observer")]
    for row in of_design if model is tables.DesignTable else rows:
        text = model.__annotations__[row.name]
        assert text.removesuffix(" | None") == annotation(row), row.name
        field = model.model_fields[row.name]
        if model in (tables.VariantTable, tables.DesignTable):
            assert field.default is None
        elif row.name != "participation":  # required in a file, unless the channel decides it
            assert field.is_required() == row.required and (row.required or field.default == row.default)


def test_typed_keys_of_python_are_the_keys_of_the_file() -> None:
    typed = {
        requirements.InferenceKeys: requirements.InferenceRequirements,
        requirements.FederatedKeys: requirements.FederatedRequirements,
        requirements.FleetKeys: requirements.FleetRequirements,
    }
    for keys, kind in typed.items():
        assert set(keys.__annotations__) == set(parameters.of(kind)) - {"rounds"}
    assert set(requirements.DesignKeys.__annotations__) == set(tables.DesignTable.model_fields) - {"rounds"}
    assert set(TrainingKeys.__annotations__) == set(tables.TrainingTable.model_fields)
