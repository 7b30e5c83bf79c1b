"""The privacy card: its numbers are those of `bounds` and of the curve, rounded outward, in all three forms."""

from __future__ import annotations

import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import airtight
from airtight.analytics import progress
from airtight.commands import report_command
from airtight.commands.cli import main
from airtight.report.card import Card
from airtight.results.numerals import rounded_up
from airtight.system_file.config import load

TEXT = """[inference]
devices = 3
participation = 0.8
noise_variance = [0.2, 0.2, 0.5]
weight = [0.3, 0.3, 0.2]
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.05
dimension = 8
delta = 1e-5
adjacency = "silent"
rounds = 4
"""


def _card(tmp_path: Path, text: str) -> tuple[Path, dict]:
    path, out = tmp_path / "system.toml", tmp_path / "out"
    path.write_text(text)
    found = CliRunner().invoke(main, ["card", str(path), "--out", str(out)])
    assert found.exit_code == 0, found.output
    return out, json.loads((out / "card.json").read_text())


def test_the_card(tmp_path: Path) -> None:
    out, tree = _card(tmp_path, TEXT)
    (one,) = tree["systems"]
    system = load(tmp_path / "system.toml").inference
    assert system is not None
    epsilon = airtight.epsilon(system, rounds=4)
    np.testing.assert_array_equal(one["epsilon"], epsilon)
    assert one["device"] == int(np.argmax(epsilon)) and one["observer"] == "participants"
    curve = airtight.curve(system, device=one["device"])
    assert curve.to_json() == airtight.curve(system.replace(rounds=1), device=one["device"]).compose(4).to_json()
    assert one["advantage"] == curve.advantage() and one["detections"] == curve.tpr(0.01)
    assert tree["system_file"] == hashlib.sha256(TEXT.encode()).hexdigest()
    page, latex = (out / "card.html").read_text(), (out / "card.tex").read_text()
    for text in (page, latex):
        assert rounded_up(float(np.max(epsilon))) in text and "sends its feature or noise alone" in text
    limit = airtight.minimax_error(system)  # of one round: the error is that of one
    assert one["any_scheme"]["error"] == limit.error > 0 and one["any_scheme"]["ratio"] == limit.ratio
    (told,) = re.findall(r"least the error ([\d.e-]+), whatever", page)
    assert 0 < float(told) <= limit.error and "The price of a round, for the worst codes" in latex
    (told,) = re.findall(r"epsilon = ([\d.]+) at", page)
    assert float(told) >= np.max(epsilon)
    HTMLParser().feed(page)
    assert "http://" not in page and "https://" not in page  # it loads nothing
    assert latex.count(r"\begin") == latex.count(r"\end")


def test_over_a_channel_and_where_nothing_is_finite(tmp_path: Path) -> None:
    channel = '[inference.channel]\nantennas = 2\nfading = "rayleigh"\nstates = 6\n'
    _, tree = _card(tmp_path, TEXT + channel)
    (one,) = tree["systems"]
    description = load(tmp_path / "system.toml", channel=True)
    expected = airtight.epsilon(description.inference, rounds=4)
    np.testing.assert_array_equal(one["epsilon"], expected)
    assert one["channel"] is True and len(tree["proofs"]) == 4
    silent = TEXT.replace("receiver_noise_variance = 0.05", "receiver_noise_variance = 0.0")
    out, tree = _card(tmp_path, silent.replace("noise_variance = [0.2, 0.2, 0.5]", "noise_variance = 0.0"))
    assert "no finite epsilon" in (out / "card.html").read_text() and tree["systems"][0]["epsilon"][0] == "inf"


def test_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "system.toml"
    path.write_text("[federated]\nclients = 10\nparameters = 5\nepsilon = 1.0\n")
    found = CliRunner().invoke(main, ["card", str(path), "--out", str(tmp_path / "out")])
    assert found.exit_code == 2 and "inference" in found.stderr and not (tmp_path / "out").exists()
    path.write_text(TEXT)
    assert Card.of(load(path)).system_file == "none"


def test_progress_is_told_where_somebody_hears_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    path = tmp_path / "system.toml"
    path.write_text(TEXT)
    Card.of(load(path))
    assert capsys.readouterr().err == ""
    done: list[str] = []
    Card.of(load(path), done=done.append, progress=True)
    assert "of 2 kinds of devices" in capsys.readouterr().err and done == ["system"]
    asked: dict = {}
    monkeypatch.setattr(report_command, "heard", lambda: asked.setdefault("heard", False))
    _card(tmp_path, TEXT)
    assert asked == {"heard": False}
