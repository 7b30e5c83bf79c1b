"""The attack on what several antennas receive: both sides of the exact values, by likelihood ratios of the whole signal."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import airtight
from airtight import Channel, InferenceSystem, ParameterError
from airtight.analytics.estimate import mean_interval
from airtight.commands.cli import main
from airtight.validate.experiments.monte_carlo import antennas

SAMPLES = 20_000


def system(adjacency: str, rng: np.random.Generator, **changes: object) -> InferenceSystem:
    K = int(rng.integers(1, 5))
    base = {
        "devices": K, "participation": rng.choice([0.0, 0.5, 0.8, 1.0], K), "noise_variance": rng.uniform(0.05, 0.5, K),
        "weight": rng.uniform(0.2, 0.6, K), "clip": 1.0, "alignment": float(rng.uniform(0.5, 2)), "dimension": 2,
        "receiver_noise_variance": float(rng.uniform(0.05, 0.3)), "delta": 1e-2, "adjacency": adjacency,
    }  # fmt: skip
    base["participation"][0] = 0.7
    return InferenceSystem(**{**base, **changes})


CASES = list(product(("silent", "replace", "absent"), (False, True), ("real", "complex"), (1, 2)))


@pytest.mark.parametrize(("adjacency", "idle", "model", "rounds"), CASES)
def test_the_test_reaches_what_is_exact_and_no_more(adjacency: str, idle: bool, model: str, rounds: int) -> None:
    """delta at three epsilons, by the mean of (1 - exp(epsilon - L))_+ in both orders: the interval holds the exact value."""
    number = CASES.index((adjacency, idle, model, rounds))
    rng = np.random.default_rng(number)
    asked = system(adjacency, rng, idle_noise=idle)
    channel = Channel(antennas=1 + number % 3, fading="rayleigh", states=4, model=model, seed=number)
    forward, backward = antennas.log_ratios(asked, channel, device=0, samples=SAMPLES, rng=rng, rounds=rounds)
    curve = airtight.curve(asked.replace(channel=channel), device=0).compose(rounds)
    for epsilon in (0.0, 0.5, 1.5):
        with np.errstate(over="ignore"):
            draws = [-np.expm1(np.minimum(epsilon - ratio, 0.0)) for ratio in (forward, -backward)]
        worst = [mean_interval(one, 1e-4) for one in draws]
        true = float(curve.delta(epsilon))
        assert max(one.lower for one in worst) <= true * (1 + 1e-9)
        assert true <= max(one.upper for one in worst) * (1 + 1e-6)


@pytest.mark.parametrize("adjacency", ["silent", "replace", "absent"])
def test_twenty_random_systems_of_each_adjacency(adjacency: str) -> None:
    """One query of random systems, numbers of antennas, fadings and models; delta at one epsilon, the larger order."""
    rng = np.random.default_rng(["silent", "replace", "absent"].index(adjacency))
    for number in range(20):
        asked = system(adjacency, rng)
        fading = [
            {"fading": "rayleigh"},
            {"fading": "rician", "k_factor": 2.0},
            {"fading": "lognormal", "shadowing_db": 4.0},
        ]
        channel = Channel(
            antennas=int(rng.integers(1, 4)), states=3, model=str(rng.choice(["real", "complex"])), seed=number,
            csi_error=float(rng.choice([0.0, 0.1])), **fading[number % 3],
        )  # fmt: skip
        draws = antennas.log_ratios(asked, channel, device=0, samples=6000, rng=rng)
        epsilon = float(rng.uniform(0, 1))
        with np.errstate(over="ignore"):
            gains = [-np.expm1(np.minimum(epsilon - ratio, 0.0)) for ratio in (draws[0], -draws[1])]
        worst = [mean_interval(one, 1e-5) for one in gains]
        true = float(airtight.delta(asked.replace(channel=channel), epsilon)[0])
        assert max(one.lower for one in worst) <= true * (1 + 1e-9), number
        assert true <= max(one.upper for one in worst) * (1 + 1e-6), number


@pytest.mark.parametrize("fresh", [True, False])
def test_a_power_limit_and_states_that_stay(fresh: bool) -> None:
    channel = Channel(antennas=2, fading="rayleigh", states=6, max_power=1.5, fresh=fresh, seed=3)
    asked = channel.with_participation(system("silent", np.random.default_rng(2), participation=1.0))
    found = airtight.attack(asked.replace(channel=channel), rounds=3, samples=SAMPLES)
    for one in found.devices:
        assert len(one.devices) == 1 and 0.4 * one.exact < one.attack <= one.exact
        assert one.published_epsilon is None and not one.refuted


def test_more_antennas_show_more() -> None:
    asked = system("silent", np.random.default_rng(0), participation=1.0, devices=4, noise_variance=0.3, weight=0.5)
    shown = [
        airtight.attack(asked.replace(channel=Channel(antennas=M, fading="rayleigh", states=4)), samples=SAMPLES)
        .devices[0]
        .attack
        for M in (1, 4)
    ]
    assert shown[1] > shown[0] + 0.2


def test_bad_input() -> None:
    asked = system("silent", np.random.default_rng(0))
    with pytest.raises(ParameterError, match="known"):
        airtight.attack(asked.replace(channel=Channel(antennas=2, known=False)), samples=8)
    mute = replace(asked, receiver_noise_variance=0.0)
    with pytest.raises(ParameterError, match="receiver_noise_variance"):
        airtight.attack(mute.replace(channel=Channel(antennas=mute.devices + 1, fading="rayleigh")), samples=8)


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "system.toml"
    path.write_text(
        "[inference]\ndevices = 3\nnoise_variance = 0.2\nweight = 0.4\nclip = 1.0\nalignment = 1.0\n"
        'receiver_noise_variance = 0.1\ndimension = 4\ndelta = 1e-3\nadjacency = "replace"\n'
        '[inference.channel]\nantennas = 2\nfading = "rayleigh"\nstates = 5\nmax_power = 4.0\n'
    )
    found = CliRunner().invoke(main, ["attack", str(path), "--samples", "4000", "--json"])
    assert found.exit_code == 0, found.output
    devices = json.loads(found.stdout)["devices"]
    assert len(devices) == 3 and all(one["attack"] <= one["exact"] for one in devices)
    assert CliRunner().invoke(main, ["attack", str(path), "--samples", "4000"]).exit_code == 0
