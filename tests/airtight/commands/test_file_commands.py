"""Files to begin with are valid with and without their comments; explanations name each key with its value and its range."""

import json
import re
import tomllib
from contextlib import suppress

import pytest
from support.common import run
from support.paths import ROOT

import airtight
from airtight.analytics.checks import ParameterError
from airtight.system_file import config, key_meanings
from airtight.system_file.tables import FileTables


@pytest.mark.parametrize("template", key_meanings.TEMPLATES)
def test_a_template_loads_and_its_defaults_are_those_of_the_loader(template, tmp_path):
    out, whole = tmp_path / "mine.toml", tmp_path / "whole.toml"
    assert run("init", "--template", template, "--out", out).exit_code == 0
    text = out.read_text()
    assert text == run("init", "--template", template).stdout and max(map(len, text.splitlines())) <= 80
    whole.write_text(re.sub(r"(?m)^# (?=[a-z_0-9]+ = )", "", text))
    assert len(whole.read_text()) < len(text)
    first, second = airtight.load(out), airtight.load(whole)
    for part in ("inference", "federated", "energy", "training", "design"):
        assert getattr(first, part) == getattr(second, part), part


def test_no_template_replaces_a_file(tmp_path):
    out = tmp_path / "mine.toml"
    out.write_text("mine")
    ended = run("init", "--out", out)
    assert ended.exit_code == 2 and "exists already" in ended.stderr and out.read_text() == "mine"


@pytest.mark.parametrize("name", ["paper.toml", "good.toml", "fleet.toml"])
def test_every_key_that_is_set_is_explained_with_its_value(name):
    path = ROOT / "examples" / name
    told = {(key["table"], key["key"]): key for key in json.loads(run("explain", path, "--json").stdout)}
    tables = dict(key_meanings._tables(tomllib.loads(path.read_text())))
    expected = {(t, k): v for t, held in tables.items() for k, v in held.items() if not isinstance(v, dict)}
    assert {place: key["value"] for place, key in told.items() if key["set"]} == expected
    assert all(key["meaning"] and key["allowed"] for key in told.values())
    shown = run("explain", path).stdout
    assert max(map(len, shown.splitlines())) <= 80 and f"{len(expected)} keys are set" in shown


def test_every_key_of_every_table_has_words():
    tables = [name for name, _ in key_meanings._models()]
    assert set(tables) >= {*FileTables.model_fields, "inference.channel.eavesdropper"}
    for table in tables:
        for key in key_meanings.of_table(table, frozenset({table.split(".")[0]})).values():
            assert key.meaning and key.allowed, (table, key.key)
    keys = {name for kind in ("inference", "federated", "energy") for name in key_meanings.of_table("design", frozenset({kind}))}
    assert keys == set(config.keys(["design"]))


@pytest.mark.parametrize("table", ["inference", "inference.channel", "federated", "energy"])
def test_a_range_is_that_of_the_loader(table):
    """Just outside of each interval the value type refuses."""
    rows = {"inference": airtight.InferenceSystem, "inference.channel": airtight.Channel}
    rows |= {"federated": airtight.FederatedSystem, "energy": airtight.DeviceFleet}
    for name, row in key_meanings.parameters.of(rows[table]).items():
        told = key_meanings.of_table(table).get(name)
        if told is None or not row.interval:
            continue
        assert told.allowed.endswith(row.interval)
        low = float(row.interval[1:-1].split(",")[0])
        with suppress(OverflowError), pytest.raises(ParameterError):
            row.checked(low - 1 if row.holds == "integer" else low - 1e-3 * (1 + abs(low)))


def test_a_level_in_decibels_and_a_wrong_file(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(run("init").stdout.replace("noise_variance = 0.0013", "noise_variance_db = -28.0", 1))
    told = {key["key"]: key for key in json.loads(run("explain", path, "--json").stdout)}
    assert told["noise_variance_db"]["value"] == -28.0 and told["noise_variance_db"]["unit"] == "dB"
    assert "noise_variance" not in told
    path.write_text("[inference]\ndevices = 0\n")
    ended = run("explain", path)
    assert ended.exit_code == 2 and "devices" in ended.stderr and not ended.stdout
