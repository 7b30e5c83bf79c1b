"""The least noise over a channel: the target is kept, hardly less noise breaks it, and what is monotone is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import airtight
from airtight import Channel, InfeasibleError, InferenceSystem, ParameterError
from airtight.commands.cli import main
from airtight.solvers.design import channel_noise

SYSTEM = InferenceSystem(
    devices=4, participation=1.0, noise_variance=[0.1, 0.2, 0.1, 0.4], weight=0.25, clip=1.0, alignment=1.0,
    receiver_noise_variance=0.01, dimension=4, delta=1e-4, adjacency="silent",
)  # fmt: skip


@given(st.sampled_from(["silent", "replace"]), st.integers(1, 3), st.floats(0.3, 4.0), st.integers(0, 99))
@settings(max_examples=8, deadline=None)
def test_the_least_noise(adjacency: str, antennas: int, target: float, seed: int) -> None:
    system, channel = (
        replace(SYSTEM, adjacency=adjacency),
        Channel(antennas=antennas, fading="rayleigh", states=8, seed=seed),
    )
    found = channel_noise.calibrate(system, channel, target)
    assert found.monotone and found.unsettled == () and np.all(found.epsilon <= target)
    np.testing.assert_allclose(airtight.epsilon(found.system.replace(channel=channel)), found.epsilon)
    if np.any(found.value > 0):
        np.testing.assert_allclose(found.value / found.value[0], [1, 2, 1, 4])
        less = replace(found.system, noise_variance=found.value * (1 - 1e-4))
        assert np.max(airtight.epsilon(less.replace(channel=channel))) > target


@pytest.mark.parametrize("noise", [1e-9, 0.05, 1e9])
def test_another_device_may_be_the_worst_at_the_noise_that_is_found(noise: float) -> None:
    """Device 0 has little noise and a small code, device 3 a great one: which of them is worse changes with the scale."""
    system = replace(SYSTEM, noise_variance=noise * np.array([0.02, 1.0, 1.0, 1.0]), weight=[0.1, 0.25, 0.25, 0.4])
    channel = Channel(antennas=3, fading="rayleigh", states=6)
    worst = {
        int(np.argmax(airtight.epsilon(replace(system, noise_variance=s * system.noise_variance).replace(channel=channel))))
        for s in (1e-3 / noise, 1.0 / noise)
    }
    assert worst == {0, 3}
    for target in (0.3, 8.0):
        found = channel_noise.calibrate(system, channel, target)
        assert np.all(found.epsilon <= target)
        less = replace(found.system, noise_variance=found.value * (1 - 5e-5))
        assert np.max(airtight.epsilon(less.replace(channel=channel))) > target


def test_a_noise_that_never_suffices_is_told_soon() -> None:
    """Device 2 has no noise and is heard alone: no noise of the others keeps a small epsilon."""
    system = replace(SYSTEM, noise_variance=[0.1, 0.2, 0.0, 0.4], participation=0.5)
    with pytest.raises(InfeasibleError) as error:
        channel_noise.calibrate(system, Channel(antennas=2, fading="rayleigh", states=4), 1.0)
    assert 1.0 < error.value.least_epsilon < 100


def test_one_antenna_is_the_system_without_a_channel() -> None:
    np.testing.assert_allclose(
        airtight.calibrate(SYSTEM.replace(channel=Channel()), 1.0), airtight.calibrate(SYSTEM, 1.0), rtol=1e-4
    )
    rounds = {"rounds": 5}
    np.testing.assert_allclose(
        airtight.calibrate(SYSTEM.replace(channel=Channel()), 1.0, **rounds),
        airtight.calibrate(SYSTEM, 1.0, **rounds),
        rtol=1e-4,
    )


def test_a_power_limit_decides_again_who_sends() -> None:
    channel = Channel(antennas=2, fading="rayleigh", states=20, max_power=0.5)
    start = channel.with_participation(SYSTEM)
    found = channel_noise.calibrate(start, channel, 2.0)
    assert not found.monotone and found.unsettled[0][0] == 0.0
    np.testing.assert_allclose(found.system.participation, channel.participation(found.system))
    assert np.all(airtight.epsilon(found.system.replace(channel=channel)) <= 2.0)


def test_what_is_not_monotone_is_said() -> None:
    channel = Channel(looks=[[[1.0, 0.5], [1.0, 0.4], [1.0, 0.6], [1.0, 0.5]]])
    for changes, monotone in (
        ({"adjacency": "absent", "idle_noise": True}, True),
        ({"adjacency": "absent", "dimension": 1, "receiver_noise_variance": 5.0}, False),
        ({"participation": 0.9}, True),
    ):
        assert channel_noise.calibrate(replace(SYSTEM, **changes), channel, 3.0).monotone == monotone
    hidden = replace(SYSTEM, participation=0.9)
    assert not channel_noise.calibrate(hidden, channel, 3.0, observer="others").monotone


def test_infeasible_and_bad_input() -> None:
    channel = Channel(antennas=2, fading="rayleigh", states=5)
    with pytest.raises(InfeasibleError, match="least epsilon found") as error:
        channel_noise.calibrate(replace(SYSTEM, adjacency="absent", dimension=10_000), channel, 0.1)
    assert error.value.least_epsilon > 0.1
    for wrong in ({"epsilon": 0.0}, {"epsilon": float("nan")}, {"epsilon": 1.0, "rounds": 0}):
        with pytest.raises(ParameterError):
            channel_noise.calibrate(SYSTEM, channel, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="variable"):
        airtight.calibrate(SYSTEM.replace(channel=channel), 1.0, variable="clip")
    with pytest.raises(ParameterError, match="weight"):
        channel_noise.calibrate(replace(SYSTEM, weight=0.0), channel, 1.0)


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "system.toml"
    path.write_text(
        "[inference]\ndevices = 3\nnoise_variance = 0.2\nweight = 0.4\nclip = 1.0\nalignment = 1.0\n"
        'receiver_noise_variance = 0.1\ndimension = 4\ndelta = 1e-3\nadjacency = "replace"\nparticipation = 1.0\n'
        '[inference.channel]\nantennas = 2\nfading = "rayleigh"\nstates = 5\n'
    )
    found = CliRunner().invoke(main, ["calibrate", str(path), "--epsilon", "2", "--json"])
    assert found.exit_code == 0, found.output
    result = json.loads(found.stdout)
    assert max(result["epsilon"]) <= 2 and result["monotone"] is True
    assert CliRunner().invoke(main, ["calibrate", str(path), "--epsilon", "2"]).exit_code == 0
    wrong = CliRunner().invoke(main, ["calibrate", str(path), "--epsilon", "2", "--variable", "clip"])
    assert wrong.exit_code == 2 and "noise" in wrong.stderr
