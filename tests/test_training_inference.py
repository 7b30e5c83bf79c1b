"""Collaborative inference on real digits: measured MSE against the exact one, accuracy above its bound, schemes."""

from dataclasses import replace

import numpy as np
import pytest

from analytics.checks import ParameterError
from analytics.inference.system import InferenceSystem
from validate.training import inference

SYSTEM = InferenceSystem(
    devices=12,
    participation=0.9,
    noise_variance=0.001,
    weight=1 / 12,
    clip=10.0,
    alignment=1.0,
    receiver_noise_variance=0.01,
    dimension=8,
    delta=1e-5,
    delta_prime=1e-5,
    adjacency="silent",
)


@pytest.fixture(scope="module")
def setup():
    return inference.prepare()


def test_views_get_worse_and_entropy_grows(setup):
    assert setup.features.shape == (359, 12, 32) and setup.ideal > 0.88
    mean = setup.entropy.mean(axis=0)
    assert mean[:3].max() < mean[-3:].min()
    assert setup.encoder @ setup.decoder == pytest.approx(np.eye(8), abs=1e-10)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"noise_variance": 0.1, "clip": 4.0},
        {"participation": np.linspace(0.3, 1, 12), "weight": np.linspace(0.05, 0.15, 12)},
        {"alignment": 0.5, "receiver_noise_variance": 0.2},
        {"idle_noise": True, "noise_variance": 0.05},
    ],
)
def test_measured_mse_is_the_exact_one(setup, changes):
    found = inference.measure(setup, replace(SYSTEM, **changes), rounds=30, rng=np.random.default_rng(1))
    assert abs(found.mse - found.exact_mse) <= 4.5 * found.mse_error
    assert 0 <= found.accuracy <= 1


def test_measured_accuracy_is_above_its_bounds(setup):
    images = np.arange(0, 359, 30)
    for noise in (1e-4, 1e-3, 1e-2):
        found = inference.promise(
            setup, replace(SYSTEM, noise_variance=noise, weight=1 / 12 / 0.9), images, rng=np.random.default_rng(2)
        )
        assert found.published <= found.measured + 4.5 * found.error
        assert found.markov <= found.exact <= found.measured + 4.5 * found.error


def test_more_noise_less_accuracy(setup):
    values = [
        inference.measure(setup, replace(SYSTEM, noise_variance=v), rounds=10, rng=np.random.default_rng(0)).accuracy
        for v in (0.0, 0.1, 10.0)
    ]
    assert values[0] > values[1] > values[2] and values[2] < 0.3


def test_schemes(setup):
    rng = np.random.default_rng(0)
    lowest = inference.measure(setup, SYSTEM, scheme="2.2", selected=6, rounds=5, rng=rng)
    assert lowest.participation == 0.5 and np.isnan(lowest.exact_mse)
    everyone = inference.measure(setup, SYSTEM, scheme="2.1", threshold=100.0, rounds=5, rng=rng)
    assert everyone.participation == 1.0
    nobody = inference.measure(setup, SYSTEM, scheme="2.1", threshold=-100.0, rounds=5, rng=rng)
    assert nobody.participation == 0.0 and nobody.accuracy < 0.3


@pytest.mark.parametrize(
    "call",
    [
        lambda s: inference.measure(s, SYSTEM, scheme="3", rng=np.random.default_rng(0)),
        lambda s: inference.measure(s, SYSTEM, rounds=0, rng=np.random.default_rng(0)),
        lambda s: inference.measure(s, SYSTEM, scheme="2.2", selected=13, rng=np.random.default_rng(0)),
        lambda s: inference.prepare(dimension=33),
    ],
)
def test_refusals(setup, call):
    with pytest.raises(ParameterError):
        call(setup)
