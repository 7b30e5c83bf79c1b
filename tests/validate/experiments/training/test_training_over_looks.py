"""Collaborative inference over several looks: measured against the exact MSE, participation by the channel, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from airtight import Channel, InferenceSystem, ParameterError
from airtight.commands.cli import main
from airtight.validate.experiments.training import inference_training, views
from airtight.validate.experiments.training.inference_training import Air, Selection, Transmitter

SYSTEM = InferenceSystem(
    devices=12, participation=0.9, noise_variance=0.01, weight=1 / 12, clip=10.0, alignment=0.8,
    receiver_noise_variance=0.05, dimension=8, delta=1e-5, adjacency="silent",
)  # fmt: skip


@pytest.fixture(scope="module")
def few():
    return views.part(views.prepare(), np.arange(0, 359, 6))


@pytest.mark.parametrize("model", ["real", "complex"])
@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("limit", [None, 0.5])
def test_measured_mse_is_the_exact_one(few, model: str, fresh: bool, limit: float | None) -> None:
    channel = Channel(
        model=model, antennas=3, fading="rayleigh", csi_error=0.05, max_power=limit, states=30, fresh=fresh
    )
    system = channel.with_participation(SYSTEM)
    found = inference_training.measure(few, system, air=Air(drawn=channel.draw(system), fresh=fresh), rounds=60, seed=1)
    assert abs(found.mse - found.exact_mse) <= 4.5 * found.mse_error
    if limit is not None:
        assert 0.1 < found.participation < 0.95


def test_more_antennas_help_and_selections_respect_the_power(few) -> None:
    noisy = replace(SYSTEM, receiver_noise_variance=0.5)
    accuracy = []
    for antennas in (1, 8):
        channel = Channel(antennas=antennas, fading="rayleigh", states=30)
        air = Air(drawn=channel.draw(noisy))
        accuracy.append(inference_training.measure(few, noisy, air=air, rounds=10).accuracy)
    assert accuracy[1] > accuracy[0] + 0.05
    channel = Channel(antennas=2, fading="rayleigh", states=30, max_power=0.5)
    one = channel.with_participation(SYSTEM)
    given = {"scheme": "2.2", "selection": Selection(selected=6), "rounds": 4, "seed": 3}
    found = inference_training.measure(few, one, air=Air(drawn=channel.draw(one)), **given)
    assert 0 < found.participation < 0.5 and np.isnan(found.exact_mse)
    with pytest.raises(ParameterError, match="transmitter"):
        inference_training.measure(
            few, one, air=Air(drawn=channel.draw(one)), transmitter=Transmitter(gain=1.0, power=1.0)
        )


def test_the_command_trains_over_the_table(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    text = """
[inference]
devices = 4
noise_variance = 0.01
weight = 0.25
clip = 10.0
alignment = 1.0
receiver_noise_variance = 0.1
dimension = 784
delta = 1e-5
[inference.channel]
model = "complex"
antennas = 2
fading = "rayleigh"
max_power = 20.0
states = 20
[training]
seeds = 1
codec = "pca"
"""
    file.write_text(text)
    run = CliRunner().invoke(main, ["train", str(file), "--json"], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    part = json.loads(run.stdout)["inference"]
    assert part["looks"] == 2 and part["dimension"] == 32
    one = part["schemes"]["1"]
    assert 0 < one["participation"] < 1 and one["accuracy"] > 0.5
    printed = CliRunner().invoke(main, ["train", str(file)], catch_exceptions=False)
    assert printed.exit_code == 0 and "2 looks" in printed.stdout
