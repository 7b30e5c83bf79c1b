"""Collaborative inference on real digits: measured MSE against the exact one, accuracy above its bound, schemes, designs."""

from dataclasses import replace

import numpy as np
import pytest

from airtight.analytics.checks import ParameterError
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.solvers.errors import InfeasibleError
from airtight.validate.experiments.training import inference_training, views
from airtight.validate.experiments.training.inference_training import Selection, Transmitter

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
    return views.prepare()


@pytest.fixture(scope="module")
def trained():
    return views.prepare(codec="trained")


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
@pytest.mark.parametrize("codec", ["setup", "trained"])
def test_measured_mse_is_the_exact_one(codec, changes, request):
    found = inference_training.measure(request.getfixturevalue(codec), replace(SYSTEM, **changes), rounds=30, seed=1)
    assert abs(found.mse - found.exact_mse) <= 4.5 * found.mse_error
    assert 0 <= found.accuracy <= 1


@pytest.mark.parametrize("power", [0.05, 0.5, np.linspace(0.01, 1.0, 12)])
def test_measured_mse_is_the_exact_one_when_the_power_is_limited(setup, power):
    few = views.part(setup, np.arange(0, 359, 12))
    system = replace(SYSTEM, noise_variance=0.01, weight=0.1)
    limited = Transmitter(gain=np.linspace(0.5, 1.5, 12), power=power)
    found = inference_training.measure(few, system, transmitter=limited, rounds=200)
    assert abs(found.mse - found.exact_mse) <= 4.5 * found.mse_error
    assert found.exact_mse != pytest.approx(inference_training.measure(few, system, rounds=1).exact_mse, rel=0.01)


def test_abundant_power_changes_nothing(setup):
    limited = inference_training.measure(setup, SYSTEM, transmitter=Transmitter(gain=1.0, power=1e9), rounds=2)
    free = inference_training.measure(setup, SYSTEM, rounds=2)
    assert limited.accuracy == free.accuracy and limited.mse == pytest.approx(free.mse, rel=1e-12)


def test_the_trained_codec_is_better_behind_noise(setup, trained):
    noisy = replace(SYSTEM, noise_variance=0.3, weight=1 / 10.8)
    by_pca = inference_training.measure(setup, noisy, rounds=20)
    by_training = inference_training.measure(trained, noisy, rounds=20)
    assert by_training.accuracy > by_pca.accuracy + 0.02
    assert np.linalg.norm(trained.encoder) == pytest.approx(np.linalg.norm(setup.encoder))


def test_measured_accuracy_is_above_its_bounds(setup):
    images = np.arange(0, 359, 30)
    for noise in (1e-4, 1e-3, 1e-2):
        system = replace(SYSTEM, noise_variance=noise, weight=1 / 12 / 0.9)
        found = inference_training.promise(setup, system, images, seed=2)
        assert found.published <= found.measured + 4.5 * found.error
        assert found.markov <= found.exact <= found.measured + 4.5 * found.error


def test_more_noise_less_accuracy(setup):
    values = [
        inference_training.measure(setup, replace(SYSTEM, noise_variance=v), rounds=10).accuracy
        for v in (0.0, 0.1, 10.0)
    ]
    assert values[0] > values[1] > values[2] and values[2] < 0.3


def test_schemes(setup):
    lowest = inference_training.measure(setup, SYSTEM, scheme="2.2", selection=Selection(selected=6), rounds=5)
    assert lowest.participation == 0.5 and np.isnan(lowest.exact_mse)
    everyone = inference_training.measure(setup, SYSTEM, scheme="2.1", selection=Selection(threshold=100.0), rounds=5)
    assert everyone.participation == 1.0
    nobody = inference_training.measure(setup, SYSTEM, scheme="2.1", selection=Selection(threshold=-100.0), rounds=5)
    assert nobody.participation == 0.0 and nobody.accuracy < 0.3


@pytest.mark.parametrize("design", ["uniform", "weights", "clips"])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_designs_keep_the_cap_of_the_sensitive(setup, design, epsilon):
    features = Features(f=setup.typical, W=setup.encoder, D=setup.decoder)
    who = np.arange(12) % 2 == 0
    made = inference_training.apply(SYSTEM, features, sensitive=who, epsilon=epsilon, design=design)
    spent = system_privacy.epsilon(made)
    assert np.all(spent[who] <= epsilon) and spent[who].max() > 0.99 * epsilon
    assert (design == "uniform") or spent[~who].max() > 1.5 * epsilon


def test_no_design_hides_an_absent_device(setup):
    features = Features(f=setup.typical, W=setup.encoder, D=setup.decoder)
    loud = replace(SYSTEM, adjacency="absent", noise_variance=1.0)
    for design in inference_training.Design:
        with pytest.raises(InfeasibleError, match="device 0"):
            inference_training.apply(loud, features, sensitive=np.ones(12, dtype=bool), epsilon=0.1, design=design)


class Stopped(Exception):
    pass


def test_an_interrupted_measurement_goes_on(setup, tmp_path):
    path = tmp_path / "state.npz"
    done = []

    def stop(number, accuracy):
        done.append(accuracy)
        if number == 3:
            raise Stopped

    with pytest.raises(Stopped):
        inference_training.measure(setup, SYSTEM, rounds=8, checkpoint=path, progress=stop)
    resumed = inference_training.measure(setup, SYSTEM, rounds=8, checkpoint=path, progress=lambda n, a: done.append(a))
    assert resumed == inference_training.measure(setup, SYSTEM, rounds=8) and len(done) == 8
    assert done[-1] == pytest.approx(resumed.accuracy)
    with pytest.raises(ParameterError, match="same run"):
        inference_training.measure(setup, replace(SYSTEM, noise_variance=0.002), rounds=8, checkpoint=path)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: inference_training.measure(s, SYSTEM, scheme="3"),
        lambda s: inference_training.measure(s, SYSTEM, rounds=0),
        lambda s: inference_training.measure(s, SYSTEM, scheme="2.2", selection=Selection(selected=13)),
        lambda s: inference_training.measure(s, replace(SYSTEM, dimension=9)),
        lambda s: inference_training.measure(views.prepare(devices=3), SYSTEM),
        lambda s: Selection(score_noise=-1.0),
        lambda s: views.prepare(dimension=33),
        lambda s: views.prepare(devices=201),
        lambda s: views.prepare(codec="jpeg"),
    ],
)
def test_refusals(setup, call):
    with pytest.raises(ParameterError):
        call(setup)
