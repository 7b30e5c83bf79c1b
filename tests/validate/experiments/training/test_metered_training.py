"""Training under a meter: nobody overspends, who is silent adds no noise, and what is received is what the model says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import airtight
from airtight import ParameterError
from airtight.validate.experiments.training import metered_training
from airtight.validate.experiments.training.training_plan import Settings

SETTINGS = Settings(hidden=(), rounds=12, local_steps=3, learning_rate=0.5)
SYSTEM = airtight.InferenceSystem(
    devices=30,
    participation=0.7,
    noise_variance=np.linspace(0.05, 0.2, 30),
    weight=np.linspace(0.5, 1.5, 30),
    clip=1.0,
    alignment=1.0,
    receiver_noise_variance=0.01,
    dimension=650,
    delta=1e-5,
    adjacency="silent",
)


def test_budgets_are_kept_and_those_who_spend_fall_silent() -> None:
    budgets = np.where(np.arange(30) < 15, 1.0, 50.0)
    found = metered_training.run(SYSTEM, SETTINGS, budget_epsilon=budgets)
    free = metered_training.run(SYSTEM, SETTINGS)
    assert np.all(found.epsilon <= budgets * (1 + 1e-9)) and np.any(free.epsilon > budgets)
    assert np.all(found.senders <= free.senders) and np.sum(found.senders) < np.sum(free.senders)
    assert not np.any(found.senders[-1, :15]) and np.any(found.senders[-1, 15:])
    # mu^2 of those who really sent, computed here
    V = found.senders @ np.asarray(SYSTEM.noise_variance) + 0.01
    mu2 = np.sum(np.where(found.senders, np.asarray(SYSTEM.weight) ** 2 / V[:, None], 0.0), axis=0)
    for k in (0, 14, 15, 29):
        expected = airtight.gaussian(float(np.sqrt(mu2[k]))).epsilon(1e-5) if mu2[k] else 0.0
        assert found.epsilon[k] == pytest.approx(float(expected), rel=1e-6)


def test_without_noise_it_learns_and_a_seed_repeats() -> None:
    quiet = replace(SYSTEM, noise_variance=1e-12, receiver_noise_variance=1e-12)
    settings = replace(SETTINGS, rounds=40)
    found = metered_training.run(quiet, settings)
    assert found.accuracy[-1] > 0.8
    again = metered_training.run(quiet, settings)
    np.testing.assert_array_equal(found.accuracy, again.accuracy)


def test_what_is_received_has_the_noise_of_those_who_sent() -> None:
    """Mean and variance of the estimate over many draws."""
    here, rng = np.arange(30) < 10, np.random.default_rng(0)
    updates = rng.standard_normal((30, 4))
    one = airtight.Round.of(SYSTEM, here)
    draws = np.array([metered_training._received(SYSTEM, one, here, updates, rng) for _ in range(20_000)])
    weight = np.asarray(SYSTEM.weight)[:10]
    variance = (np.sum(np.asarray(SYSTEM.noise_variance)[:10]) + 0.01) / np.sum(weight) ** 2
    np.testing.assert_allclose(
        np.mean(draws, axis=0), weight @ updates[:10] / np.sum(weight), atol=5 * np.sqrt(variance / 20_000)
    )
    np.testing.assert_allclose(np.var(draws, axis=0), variance, rtol=0.06)


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="dimension"):
        metered_training.run(replace(SYSTEM, dimension=10), SETTINGS)
    with pytest.raises(ParameterError, match="noise_factor"):
        metered_training.run(SYSTEM, SETTINGS, noise_factor=-1.0)
    with pytest.raises(ParameterError, match="noise_factor"):
        metered_training.run(SYSTEM, SETTINGS, noise_factor=[1.0, 2.0])
