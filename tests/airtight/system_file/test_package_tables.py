"""Tables of the system file that an installed package adds: read, checked, printed back, refused without the package."""

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import fastjsonschema
import numpy as np
import pytest
from support.common import GOOD, run, written

from airtight.analytics.checks import ParameterError
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.parameters import Count, Described, Number, Vector
from airtight.system_file import config, file_schema
from airtight.system_file.package_tables import PackageTable, to_toml
from airtight.validate.packages import SourceError

MODULE = '''
from dataclasses import dataclass
from airtight.analytics.parameters import Count, Described, Number
from airtight.system_file.package_tables import PackageTable

@dataclass(frozen=True, eq=False)
class Relay(Described):
    """Relays that forward with one probability."""

    hops: Count = Count("h", "[1, 20]", "between a client and the server")
    noise_variance: Number = Number("s^2", "[0, inf)", "of one relay", unit="W", default=0.5)

TABLE = PackageTable("relaying", Relay, lambda relay: {"total noise": relay.hops * relay.noise_variance})
'''
FILE = "[relaying]\nhops = 3\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with an installed toy package."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "toy_relays.py").write_text(MODULE)
    info = folder / "toy_relays-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-relays\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[airtight.tables]\nmine = toy_relays:TABLE\n")
    return folder


@pytest.fixture
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(str(site))


def refused(text, folder):
    with pytest.raises(config.SystemFileError) as found:
        config.load(written(folder, text))
    return str(found.value)


def test_it_is_read_and_printed_back(installed, tmp_path):
    record = config.load(written(tmp_path, FILE)).packages["relaying"]
    assert (record.hops, record.noise_variance) == (3, 0.5)
    again = config.load(written(tmp_path, to_toml(relaying=record))).packages["relaying"]
    assert again == record


@pytest.mark.parametrize(
    ("text", "needle"),
    [
        ("[relaying]\n", "relaying.hops: missing; it is required"),
        ("[relaying]\nhops = 21\n", "relaying.hops = 21: must be an integer in [1, 20]"),
        ("[relaying]\nhops = 3\nnoise_variance = nan\n", "relaying.noise_variance = nan"),
        ("[relaying]\nhops = 3\nnoise_variance = true\n", "relaying.noise_variance = True: must be a number"),
        ("[relaying]\nhop = 3\n", "relaying.hop: unknown key; did you mean hops? allowed: hops, noise_variance"),
        ("[relaying]\nhops = 3\nnoise_variance_db = 1\n", "relaying.noise_variance_db: unknown key"),
        ("relaying = 3\n", "relaying = 3"),
        ("[relayin]\nhops = 3\n", "relayin: unknown table"),
    ],
)
def test_bad_values_are_refused_as_ours_are(installed, tmp_path, text, needle):
    assert needle in refused(text, tmp_path)


def test_all_bad_values_are_reported_at_once(installed, tmp_path):
    message = refused("[relaying]\nhops = 21\nnoise_variance = -1.0\n", tmp_path)
    assert "relaying.hops = 21" in message and "relaying.noise_variance = -1.0" in message


def test_without_the_package_the_table_is_named(tmp_path):
    message = refused(FILE, tmp_path)
    assert "relaying: unknown table" in message and "airtight.tables" in message


def test_it_stands_beside_our_tables(installed, tmp_path):
    both = config.load(written(tmp_path, GOOD + FILE))
    assert both.inference is not None and both.packages["relaying"].hops == 3
    assert config.load(written(tmp_path, GOOD)).packages == {}


def test_editors_learn_its_keys(installed):
    made = file_schema.schema()
    keys = made["$defs"]["relaying"]["properties"]
    assert keys["hops"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 20,
        "description": "h: between a client and the server",
    }
    assert "noise_variance_db" not in keys and made["$defs"]["relaying"]["required"] == ["hops"]
    valid = fastjsonschema.compile(made)
    valid(tomllib.loads(FILE))
    with pytest.raises(fastjsonschema.JsonSchemaException):
        valid({"relaying": {"hops": 21}})


def test_bounds_show_its_quantities_in_a_process_of_its_own(site, tmp_path):
    """The whole way, as a user goes it: another process finds the package by its metadata."""
    path = written(tmp_path, FILE)
    home = Path(config.__file__).parents[2]
    for where, expected in (([str(site)], 0), ([], 2)):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(home), *where])}
        command = [sys.executable, "-m", "airtight", "bounds", str(path), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        assert done.returncode == expected, done.stderr
        if where:
            assert json.loads(done.stdout)["packages"] == {"relaying": {"total noise": 1.5}}
        else:
            assert "relaying" in done.stderr and done.stdout == ""


def test_bounds_print_them(installed, tmp_path):
    shown = run("bounds", str(written(tmp_path, FILE))).stdout
    assert "relaying" in shown and "total noise" in shown and "1.5" in shown


@dataclass(frozen=True, eq=False)
class Devices(Described):
    devices: Count = Count("K", "[1, 9]", "devices")
    gain: Vector = Vector("g", "[0, inf)", "of each", default=1.0)
    level: Number = Number("l", "(-inf, inf]", "of all", default=1e-300)


@pytest.mark.parametrize("level", [0.1, 1e-300, float("inf"), -2.5e17])
def test_every_value_comes_back_to_the_last_digit(level):
    record = Devices(devices=2, gain=[0.1, 1 / 3], level=level)
    table = tomllib.loads(to_toml(devices=record))["devices"]
    assert Devices(**table) == record


def test_our_own_tables_are_printed_too(tmp_path):
    system = config.load(written(tmp_path, GOOD)).inference
    assert isinstance(system, InferenceSystem)
    assert config.load(written(tmp_path, to_toml(inference=system))).inference == system


@pytest.mark.parametrize(
    ("name", "record"), [("Big", Devices), ("a.b", Devices), ("", Devices), ("a", int), ("a", Described)]
)
def test_a_table_of_another_form_is_refused(name, record):
    with pytest.raises(ParameterError):
        PackageTable(name, record)


@pytest.mark.parametrize(
    ("function", "needle"),
    [
        (lambda record: 1 / 0, "ZeroDivisionError"),
        (lambda record: {"x": "text"}, "must be real numbers"),
        (lambda record: {"x": 1j}, "must be real numbers"),
        (lambda record: 3, "AttributeError"),
    ],
)
def test_quantities_that_fail_are_named(function, needle):
    with pytest.raises(SourceError, match=needle):
        PackageTable("a", Devices, function).values(Devices(devices=1))


def test_quantities_are_numbers_and_arrays():
    found = PackageTable("a", Devices, lambda d: {"n": d.devices, "g": d.gain}).values(Devices(devices=1, gain=[1, 2]))
    assert found["n"] == 1.0 and np.array_equal(found["g"], [1.0, 2.0])


@pytest.mark.parametrize("name", ["inference", "copy", "relaying"])
def test_a_name_that_is_taken_is_refused_by_its_entry_point(monkeypatch, tmp_path, name):
    class Point:
        value, dist = "other:TABLE", None

        def __init__(self, label):
            self.name = label

        def load(self):
            return PackageTable(name, Devices)

    from importlib import metadata

    points = [Point("one"), Point("two")] if name == "relaying" else [Point("two")]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points)
    assert "two = other:TABLE" in refused(FILE, tmp_path)


@pytest.mark.parametrize("key", ["energy", "inference.channel.eavesdropper", "inference.channel"])
def test_levels_in_decibels_are_offered_only_where_they_are_read(key):
    assert not {"channel_gain_db", "receiver_noise_variance_db", "snr_db"} & set(config.keys(key.split(".")))
    table = file_schema.schema()["$defs"][key.split(".")[-1].capitalize()]
    assert set(table["properties"]) <= set(config.keys(key.split(".")))
