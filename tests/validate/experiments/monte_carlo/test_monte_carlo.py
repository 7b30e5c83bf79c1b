"""The simulated channel against the exact delta, seeded."""

import dataclasses

import numpy as np
import pytest
from support.systems import unlike

from airtight.analytics.estimate import mean_interval
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.validate.experiments.monte_carlo import channel

SYSTEM = InferenceSystem(
    devices=4,
    participation=[0.9, 0.5, 0.7, 0.3],
    noise_variance=[0.1, 0.2, 0.3, 0.1],
    weight=0.25,
    clip=4.0,
    alignment=1.3,
    receiver_noise_variance=0.1,
    dimension=5,
    delta=1e-5,
    delta_prime=1e-5,
)


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.8])
def test_exact_delta_lies_in_the_interval(adjacency, idle, epsilon):
    system = dataclasses.replace(SYSTEM, adjacency=adjacency, idle_noise=idle)
    interval = channel.estimate_delta(system, epsilon, device=1, rounds=60_000, rng=np.random.default_rng(7))
    exact = float(system_privacy.delta(system, epsilon, device=1))
    assert interval.lower <= exact <= interval.upper
    assert interval.upper - interval.lower < 0.02


def test_the_interval_would_notice_a_forgotten_factor():
    """The check can fail: the silent value is outside the interval of replace, and the reverse."""
    for one, other in (("silent", "replace"), ("replace", "silent"), ("silent", "absent")):
        system = dataclasses.replace(SYSTEM, adjacency=one)
        interval = channel.estimate_delta(system, 0.5, device=1, rounds=60_000, rng=np.random.default_rng(8))
        wrong = float(system_privacy.delta(dataclasses.replace(SYSTEM, adjacency=other), 0.5, device=1))
        assert not interval.lower <= wrong <= interval.upper


@pytest.mark.parametrize("idle", [False, True])
def test_noise_of_the_others_leaves_out_the_own(idle):
    """Also where the receiver has none and no other device sends: then it is 0, not what a subtraction leaves."""
    system = dataclasses.replace(SYSTEM, idle_noise=idle, receiver_noise_variance=0.0)
    tau = np.random.default_rng(3).random((4, 50)) < 0.5
    tau[:, 0] = [False, True, False, False]
    found = channel._others_noise(system, tau, np.array([3, 1]))
    sends = np.ones(tau.shape) if idle else tau
    for row, k in zip(found, (3, 1), strict=True):
        others = np.arange(4) != k
        np.testing.assert_allclose(row, 1.3**2 * system.noise_variance[others] @ sends[others], rtol=1e-14)
    assert idle or found[1, 0] == 0.0


def test_received_noise_has_the_stated_variance():
    rng = np.random.default_rng(9)
    tau = (rng.random((40_000, 4)) < SYSTEM.participation).astype(float)
    y = channel.receive(SYSTEM, tau, np.zeros((40_000, 4, 5)), rng)
    variance = 1.3**2 * tau @ SYSTEM.noise_variance + 0.1
    assert np.mean(y**2 / variance[:, None]) == pytest.approx(1.0, abs=0.02)


def test_empirical_bernstein_covers():
    rng = np.random.default_rng(10)
    misses = 0
    for _ in range(300):
        interval = mean_interval((rng.random(200) < 0.05).astype(float), 0.05)
        misses += not interval.lower <= 0.05 <= interval.upper
    assert misses <= 15


@pytest.mark.parametrize("adjacency", ["silent", "replace", "absent"])
@pytest.mark.parametrize("idle_noise", [False, True])
def test_without_any_noise_ratios_are_those_of_atoms(adjacency, idle_noise):
    system = unlike(3, 0, adjacency).replace(idle_noise=idle_noise, noise_variance=0.0, receiver_noise_variance=0.0)
    p = float(system.participation[1])
    first, second = channel.log_ratios(system, devices=np.array([1]), samples=4000, rng=np.random.default_rng(0))[:, 0]
    seen = adjacency != "absent" and not idle_noise  # whether the device sends
    unsent = 0.0 if seen or adjacency == "replace" else np.log1p(-p)
    assert set(first) == {np.inf, unsent} and abs(np.mean(first == np.inf) - p) < 0.03
    sends_too = seen or adjacency == "replace"
    assert set(second) == ({-np.inf, unsent} if sends_too else {unsent})
    delta = channel.estimate_delta(system, 2.0, device=1, rounds=4000, rng=np.random.default_rng(1))
    assert delta.lower <= p <= delta.upper


def test_where_the_others_may_all_be_silent_a_device_that_leaves_is_sometimes_seen_for_certain():
    system = unlike(3, 0, "absent").replace(receiver_noise_variance=0.0)
    first, second = channel.log_ratios(system, devices=np.array([1]), samples=4000, rng=np.random.default_rng(0))[:, 0]
    alone = float(np.prod(1 - system.participation[[0, 2]]))
    assert abs(np.mean(first == np.inf) - alone * system.participation[1]) < 0.02
    known = np.log1p(-system.participation[1])
    assert abs(np.mean(second == known) - alone) < 0.02 and np.all(second < np.inf)
