"""Epsilon where a device's noise is known to lie in an interval: theorems V4, 11 and 12 (docs/colluders.md)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.validate.claims import reference_integrals

DEFAULTS = {"weight": 1.0, "clip": 1.0, "alignment": 1.0, "receiver_noise_variance": 0.5, "dimension": 3, "delta": 1e-3}


def made(devices: int, **given: object) -> airtight.InferenceSystem:
    return airtight.InferenceSystem(devices=devices, noise_variance=1.0, **{**DEFAULTS, **given})


def on_a_grid(system: airtight.InferenceSystem, low: float, high: float, points: int = 12) -> float:
    """The greatest epsilon over several noises of device 0, the others' as they are."""
    noises = low + (high - low) * np.linspace(0, 1, points) ** 2
    noise = system.noise_variance
    changed = (np.where(np.arange(system.devices) == 0, s, noise) for s in noises)
    return max(float(system_privacy.epsilon(system.replace(noise_variance=one), device=0)) for one in changed)


@pytest.mark.parametrize("colluding", [0, 1, [2]])
@pytest.mark.parametrize(("adjacency", "idle", "observer"), [("silent", False, "participants"), ("replace", True, "others")])
def test_noise_that_stays_is_the_worst_at_its_lower_ends(adjacency, idle, observer, colluding):
    system = made(
        3, participation=[0.9, 0.6, 1.0], adjacency=adjacency, idle_noise=idle, observer=observer, colluding=colluding
    )
    ends = np.array([[0.1, 2.0], [0.5, 0.7], [0.0, 1.0]])
    found = airtight.epsilon_over_noise(system, ends)
    corners = [airtight.epsilon(system.replace(noise_variance=list(corner))) for corner in product(*ends)]
    np.testing.assert_allclose(found.upper, np.max(corners, axis=0), rtol=1e-9)
    assert np.all(found.lower <= np.max(corners, axis=0))


@pytest.mark.parametrize("seed", range(6))
def test_noise_of_absent_devices_is_the_worst_at_an_end(seed):
    rng = np.random.default_rng(seed)
    system = airtight.InferenceSystem(
        devices=2, participation=[rng.uniform(0.1, 1), 1.0], adjacency="absent", observer="others", noise_variance=[1.0, 0.3],
        weight=1.0, clip=[10 ** rng.uniform(-1, 0.7), 1.0], alignment=1.0, receiver_noise_variance=0.5,
        dimension=int(rng.choice([1, 4, 64])), delta=10.0 ** rng.uniform(-5, -1),
    )  # fmt: skip
    low, high = sorted(10 ** rng.uniform(-2, 1, 2))
    found = airtight.epsilon_over_noise(system, [[low, high], [0.3, 0.3]])
    grid = on_a_grid(system, low, high)
    assert found.lower[0] <= grid * (1 + 1e-9) and grid <= found.upper[0] * (1 + 1e-9)
    assert found.upper[0] == pytest.approx(found.lower[0], rel=1e-6)


@pytest.mark.parametrize(("adjacency", "dimension", "p", "clip"), [("silent", 100, 0.1, 0.7), ("replace", 1, 0.3, 1.0)])
def test_noise_that_shows_is_enclosed_where_the_worst_is_inside(adjacency, dimension, p, clip):
    system = made(1, participation=p, adjacency=adjacency, observer="others", dimension=dimension, clip=clip, delta=1e-2)
    found = airtight.epsilon_over_noise(system, [0, 2], width=0.05)
    grid = on_a_grid(system, 0, 2, points=6)
    ends = [float(system_privacy.epsilon(system.replace(noise_variance=s), device=0)) for s in (0, 2)]
    assert max(ends) < grid * 0.98  # neither end is the worst
    assert grid <= found.upper[0] and found.lower[0] <= found.upper[0] <= found.lower[0] * 1.051


def test_a_louder_device_may_reveal_more_to_a_server_that_sees_the_signal_alone():
    """So V4 is about the others' participation known: not monotone, and the upper bound is that of `others`."""

    def delta(noise: float) -> float:
        present, absent = ([(0.5, mean, 0.25), (0.5, mean, 0.25 + noise)] for mean in (1.0, 0.0))
        return reference_integrals.mixture_divergence(2.0, present, absent)

    assert delta(1.0) == pytest.approx(0.0049585, abs=1e-7) and delta(50.0) == pytest.approx(0.0172864, abs=1e-7)
    system = made(2, participation=[1.0, 0.5], receiver_noise_variance=0.2, dimension=1, adjacency="silent", observer="signal")
    found = airtight.epsilon_over_noise(system, [[0.05, 0.05], [1.0, 50.0]])
    for noise in (1.0, 50.0):
        bracket = system_privacy.epsilon_bracket(system.replace(noise_variance=[0.05, noise]), device=0)
        assert bracket.upper <= found.upper[0] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("given", "noise_range", "message"),
    [
        ({}, [1.0, 0.5], "low at most high"),
        ({}, [-1.0, 1.0], "noise_variance_range"),
        ({}, [0.1, float("nan")], "noise_variance_range"),
        ({}, [0.1, 0.2, 0.3], "a pair"),
        ({"adjacency": "absent", "participation": 0.5, "observer": "others"}, [0.1, 0.2], "one value for absent devices"),
        ({"observer": "others", "rounds": 2}, [0.1, 0.2], "rounds = 2: must be 1"),
        ({"observer": "others", "receiver_noise_variance": 0.0}, [0.0, 0.2], "without receiver noise"),
    ],
)
def test_what_is_not_proved_is_refused_by_name(given, noise_range, message):
    system = made(2, **{"participation": 0.9, "adjacency": "silent", **given})
    with pytest.raises(ParameterError, match=message):
        airtight.epsilon_over_noise(system, noise_range)
