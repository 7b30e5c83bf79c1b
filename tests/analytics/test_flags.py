"""What a command says of a value that was typed names the option that was typed, in one line, with exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from airtight.commands.cli import main

GOOD, PAPER, FLEET = "examples/good.toml", "examples/paper.toml", "examples/fleet.toml"
NEW = ["meter", "OUT/a.jsonl", "--devices", "2", "--budget", "1", "--delta", "1e-5"]
MANY = str(10**40)

CASES = [
    (["calibrate", GOOD, "--epsilon", "-1"], "--epsilon = -1.0: must be"),
    (["calibrate", GOOD, "--epsilon=nan"], "--epsilon = nan: must be"),
    (["calibrate", GOOD, "--epsilon", "1", "--rounds", MANY], f"--rounds = {MANY}: must be"),
    ([*NEW, "--budget", "1e308"], "--budget = 1e+308: must be"),
    ([*NEW, "--budget", "nan"], "--budget = nan: must be"),
    ([*NEW, "--delta", "1"], "--delta = 1.0: must be"),
    ([*NEW, "--devices", "100000000000"], "--devices = 100000000000: must be"),
    ([*NEW, "--order", "1"], "--order = 1.0: must be"),
    ([*NEW, "--order", "1.0001"], "--order = 1.0001: must be an order at which"),
    (["solve", "energy", FLEET, "--export", "C", "--out", "OUT/c", "--loss", "0"], "--loss = 0.0: must be"),
    (["solve", "weights", PAPER, "--variant", "nobody"], "--variant = 'nobody': must be"),
    (["verify", "FDP-D2", "--limit", "nan"], "--limit = nan: must be"),
    (["attack", GOOD, "--samples", "100", "--seed", MANY], f"--seed = {MANY}: must be"),
    (["attack", GOOD, "--samples", "100", "--rounds", MANY], f"--rounds = {MANY}: must be"),
    (["attack", GOOD, "--samples", MANY], "Invalid value for '--samples'"),
    (["design", GOOD, "--frontier", "x=1"], "--frontier = 'x': must be"),
    (["design", GOOD, "--frontier", "epsilon_at_most=-1,1"], "--frontier epsilon_at_most = -1.0: must be"),
    (["sweep", GOOD, "--over", "x=1", "--out", "OUT/s"], "--over = 'x': must be"),
    (["sweep", GOOD, "--over", "clip=-1,1", "--out", "OUT/s"], "--over clip[0] = -1.0: must be"),
    (["sweep", GOOD, "clip=-1,1", "--out", "OUT/s"], "clip[0] = -1.0: must be"),
    (["sweep", GOOD, "--over", "clip=1:2:1000000000000", "--out", "OUT/s"], "--over = 'clip=1:2:1000000000000': must be"),
    (["bounds", PAPER, "--features", "OUT/none.csv"], "--features OUT/none.csv: No such file"),
    (["bounds", PAPER, "--devices", "OUT/none.csv"], "OUT/none.csv: No such file"),
]


@pytest.mark.parametrize(("words", "says"), CASES, ids=lambda given: " ".join(given) if isinstance(given, list) else "")
def test_an_error_names_what_was_typed(tmp_path: Path, words: list[str], says: str) -> None:
    words = [word.replace("OUT", str(tmp_path)) for word in words]
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 2 and found.stdout == "", found.exception
    (line,) = found.stderr.splitlines()
    assert line.startswith(f"airtight: {says.replace('OUT', str(tmp_path))}")
    assert not list(tmp_path.glob("*.jsonl"))


def test_a_value_of_the_file_keeps_the_name_of_its_key(tmp_path: Path) -> None:
    path = tmp_path / "system.toml"
    path.write_text(Path(GOOD).read_text().replace("delta = 1e-5", "delta = 2.0"))
    said = CliRunner().invoke(main, ["calibrate", str(path), "--epsilon", "2.0"]).stderr
    assert said.startswith(f"airtight: {path}: inference.delta")
