"""The report of a system over a channel shows numbers of the channel, and nothing that is about one look."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import airtight
from airtight import Channel, InferenceSystem
from airtight.commands.cli import main

TEXT = """[inference]
devices = 3
noise_variance = 0.2
weight = 0.3
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.05
dimension = 8
delta = 1e-4
adjacency = "silent"
rounds = 3
[inference.channel]
antennas = 2
fading = "rayleigh"
states = 8
"""


@pytest.mark.parametrize(
    "further", ["participation = 1.0", "max_power = 2.0\neavesdropper = { antennas = 2, mean_power = 1.0 }"]
)
def test_the_report(tmp_path: Path, further: str) -> None:
    path, out = tmp_path / "system.toml", tmp_path / "out"
    where = "rounds = 3\n" if "participation" in further else "states = 8\n"
    path.write_text(TEXT.replace(where, where + further + "\n"))
    found = CliRunner().invoke(main, ["report", str(path), "--out", str(out)])
    assert found.exit_code == 0, found.output
    page, tree = (out / "index.html").read_text(), json.loads((out / "report.json").read_text())
    assert "Over the channel" in page and 'id="live"' in page and 'id="curves"' not in page and "false here" not in page
    assert ("An eavesdropper with 2 looks" in page) == ("eavesdropper" in further)
    channel = Channel(
        antennas=2, fading="rayleigh", states=8, **({} if "participation" in further else {"max_power": 2.0})
    )
    system = InferenceSystem(
        devices=3, noise_variance=0.2, weight=0.3, clip=1.0, alignment=1.0, receiver_noise_variance=0.05, dimension=8,
        delta=1e-4, adjacency="silent", participation=1.0,
    )  # fmt: skip
    system = channel.with_participation(system)
    shown = tree["bounds"]["inference"]["channel"]["epsilon"]["participants"]
    np.testing.assert_array_equal(shown, airtight.epsilon(system.replace(channel=channel)))
    table, power = tree["antennas"], "participation" not in further
    price = airtight.antenna_price(system.replace(channel=channel), [1, 2, 4, 8], epsilon=table["target"])
    np.testing.assert_array_equal(table["price"]["noise_factor"], price.noise_factor)
    assert table["price"]["method"] == (["local"] * 4 if power else ["global: one scale of the noise"] * 4)
    assert (table["target"], table["observer"]) == (float(np.max(shown)), "participants") and 'id="antennas"' in page
    drawn = (out / "figures" / "epsilon-against-antennas.csv").read_text()
    exact = float(np.max(airtight.epsilon(system.replace(channel=channel))))
    assert f"silent,2.0,{exact!r}" in drawn


def test_looks_from_a_file_have_no_figure_over_antennas(tmp_path: Path) -> None:
    np.savez(tmp_path / "looks.npz", looks=np.random.default_rng(0).standard_normal((4, 3, 2)))
    path = tmp_path / "system.toml"
    path.write_text(
        TEXT[: TEXT.index("antennas")].replace("rounds = 3", "participation = 1.0") + 'file = "looks.npz"\n'
    )
    found = CliRunner().invoke(main, ["report", str(path), "--out", str(tmp_path / "out")])
    assert found.exit_code == 0, found.output
    assert [file.name for file in sorted((tmp_path / "out" / "figures").glob("*.svg"))] == ["epsilon-over-states.svg"]
    html = (tmp_path / "out" / "index.html").read_text()
    assert '"unserved": "the coefficients come from a file"' in html
