"""Designs over a channel: constraints kept, energies by simulation, gaps where the noise alone is free, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from support.fading import EXAMPLES, drawn_gains
from support.over_channel import FEATURES, SYSTEM

import airtight
from airtight import Channel, Features, ParameterError
from airtight.analytics.inference import combiner, decoding, transmission
from airtight.analytics.inference.fading import Fading
from airtight.commands.cli import main
from airtight.solvers.design import channel_design
from airtight.solvers.design.requirements import InferenceRequirements
from airtight.solvers.errors import NotSettledError
from airtight.solvers.weights.weight_problem import _example


@pytest.mark.parametrize("fading", EXAMPLES)
def test_energy_by_simulation(fading: Fading) -> None:
    """Gains by their definitions; who can, sends his code and noise over the inverted channel."""
    channel = Channel(fading=fading, mean_power=[0.5, 1.0, 2.0], max_power=1.5, **EXAMPLES[fading])
    system = channel.with_participation(SYSTEM)
    rng, size = np.random.default_rng(4), 400_000
    for k, mean in enumerate((0.5, 1.0, 2.0)):
        gain = drawn_gains(fading, mean, rng, size)
        block = 0.9**2 * ((system.weight[k] * system.clip[k]) ** 2 + 4 * system.noise_variance[k])
        sent = np.where(block / gain <= 1.5, block / gain, 0.0)
        found = transmission.transmit_energy(system.derived(channel=channel))[k]
        assert abs(np.mean(sent) - found) <= 5 * np.std(sent) / np.sqrt(size) + 1e-12


def test_inverting_rayleigh_fading_costs_infinite_energy() -> None:
    assert np.all(transmission.transmit_energy(SYSTEM.derived(channel=Channel(fading="rayleigh"))) == np.inf)
    assert np.all(np.isfinite(transmission.transmit_energy(SYSTEM.derived(channel=Channel(fading="nakagami", shape=1.5)))))
    with pytest.raises(ParameterError, match="looks"):
        transmission.transmit_energy(SYSTEM.derived(channel=Channel(looks=np.ones((1, 3, 1)))))


def test_the_least_noise_is_the_best_of_all_scales() -> None:
    channel = Channel(model="complex", antennas=2, fading="rayleigh", states=15)
    wanted = InferenceRequirements(minimise="error", epsilon_at_most=1.5, free=("noise_variance",))
    found = channel_design.design(SYSTEM, channel, wanted, FEATURES)
    assert found.method == "global: one scale of the noise" and found.settled and 0 <= found.gap < 1e-3 * found.value
    for scale in np.geomspace(0.05, 20, 25):  # no other scale keeps epsilon with a lower error
        other = replace(SYSTEM, noise_variance=scale * SYSTEM.noise_variance)
        if np.max(airtight.epsilon(other.replace(channel=channel))) <= 1.5:
            assert np.mean(combiner.best(other, FEATURES, channel).mse) >= found.value * (1 - 1e-12)


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_a_threshold_is_chosen_for_the_least_energy(adjacency: str) -> None:
    """Alignment, hence the threshold, and noise are free; a grid finds nothing that is better by more than 5 %."""
    system = replace(SYSTEM, adjacency=adjacency, dimension=2)
    features = Features(f=FEATURES.f, W=FEATURES.W[:, :2], D=FEATURES.D[:, :2])
    channel = Channel(antennas=2, fading="rayleigh", max_power=2.0, states=15)
    system = channel.with_participation(system)
    limits = {"epsilon_at_most": 20.0 if adjacency == "absent" else 4.0}
    error = 0.97 * decoding.constant_output(features)
    wanted = InferenceRequirements(
        minimise="energy", error_at_most=error, free=("alignment", "noise_variance"), effort=150_000, **limits
    )
    found = channel_design.design(system, channel, wanted, features)
    assert found.method == "local" and found.lower_bound is None and found.gap is None
    assert np.max(found.epsilon) <= limits["epsilon_at_most"] and found.error <= error
    at = channel.with_participation(found.system)
    np.testing.assert_array_equal(at.participation, found.system.participation)
    np.testing.assert_allclose(airtight.epsilon(at.replace(channel=channel)), found.epsilon)
    assert np.mean(combiner.best(at, features, channel).mse) == pytest.approx(found.error, rel=1e-12)
    for gamma in np.geomspace(0.2, 3, 6):
        for scale in np.geomspace(0.02, 5, 6):
            one = replace(system, alignment=gamma, noise_variance=scale * system.noise_variance)
            one = channel.with_participation(one)
            energy = float(np.sum(transmission.transmit_energy(one.derived(channel=channel), features)))
            if energy < 0.95 * found.value and np.mean(combiner.best(one, features, channel).mse) <= error:
                assert np.max(airtight.epsilon(one.replace(channel=channel))) > limits["epsilon_at_most"]


def test_what_a_channel_does_not_admit_is_said() -> None:
    channel = Channel(fading="rayleigh", max_power=2.0, states=5)
    given = {"minimise": "error", "epsilon_at_most": 2.0}
    with pytest.raises(ParameterError, match="power_at_most"):
        channel_design.design(SYSTEM, channel, InferenceRequirements(power_at_most=1.0, **given), FEATURES)
    with pytest.raises(ParameterError, match="max_power decides"):
        channel_design.design(SYSTEM, channel, InferenceRequirements(free=("participation",), **given), FEATURES)
    with pytest.raises(NotSettledError, match="effort = 10"):
        channel_design.design(SYSTEM, channel, InferenceRequirements(effort=10, **given), FEATURES)


def test_the_effort_alone_decides() -> None:
    channel = Channel(antennas=2, fading="rayleigh", states=5)
    wanted = InferenceRequirements(minimise="error", epsilon_at_most=3.0, free=("weight", "noise_variance"), effort=20_000)
    first, second = (channel_design.design(SYSTEM, channel, wanted, FEATURES) for _ in range(2))
    assert first.value == second.value and not first.settled
    longer = channel_design.design(SYSTEM, channel, replace(wanted, effort=100_000), FEATURES)
    assert longer.value <= first.value


def test_the_command(tmp_path: Path) -> None:
    np.savez(tmp_path / "features.npz", f=FEATURES.f, W=FEATURES.W, D=FEATURES.D)
    (tmp_path / "two.toml").write_text("""
[inference]
devices = 3
participation = 1.0
noise_variance = 0.2
weight = 0.33
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.05
dimension = 4
delta = 1e-4
adjacency = "silent"
[inference.channel]
antennas = 2
fading = "rayleigh"
states = 10
[inference.features]
file = "features.npz"
margin = 1.0
ideal_accuracy = 1.0
[design]
minimise = "error"
epsilon_at_most = 2.0
free = ["noise_variance"]
""")
    run = CliRunner().invoke(main, ["design", str(tmp_path / "two.toml"), "--json"], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert max(found["epsilon"]) <= 2.0 and 0 <= found["gap"] < 1e-2 and found["energy"] == "inf"
    assert CliRunner().invoke(main, ["design", str(tmp_path / "two.toml")]).exit_code == 0
    refused = CliRunner().invoke(main, ["design", str(tmp_path / "two.toml"), "--frontier", "epsilon_at_most=1,2"])
    assert refused.exit_code == 2 and "inference.channel" in refused.stderr


def test_one_energy_with_and_without_a_channel() -> None:
    """The codes are those of the features, shorter than the clips."""
    system, features = _example()
    asked = {"minimise": "energy", "epsilon_at_most": 2.0, "free": ["noise_variance"]}
    plain = airtight.design(system, features, **asked)
    over = airtight.design(system.replace(channel=Channel()), features, **asked)
    assert over.energy == pytest.approx(plain.energy, rel=1e-5) and plain.energy_of == "the codes of the features"
    at_clip = airtight.design(system, **asked)
    assert at_clip.energy > 1.1 * plain.energy and at_clip.energy_of == "codes as long as the clips"
    assert over.bound_for == "designs that scale the noise of all devices by one factor"
