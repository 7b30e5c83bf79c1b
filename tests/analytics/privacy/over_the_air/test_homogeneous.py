"""Many systems solved together: each as if it were alone, and the interval that holds its epsilon."""

import dataclasses

import numpy as np
import pytest

from airtight.analytics import parameters
from airtight.analytics.checks import ParameterError
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, observers
from airtight.analytics.privacy.over_the_air.participation_mixture import build

TOLD_APART = ["auto", "participants", "others", "signal"]


def drawn(count, *, seed=0, **given):
    rng = np.random.default_rng(seed)
    columns = {
        "devices": rng.integers(1, 9, count),
        "participation": rng.choice([0.0, 1e-7, 0.1, 0.5, 0.93, 1.0], count),
        "noise_variance": rng.choice([0.0, 1e-6, 0.1, 2.0], count),
        "weight": rng.choice([0.0, 0.05, 0.5, 2.0], count),
        "clip": rng.uniform(0.2, 5, count),
        "alignment": 10.0 ** rng.uniform(-3, 3, count),
        "receiver_noise_variance": rng.choice([0.0, 0.1, 1.0], count),
        "dimension": rng.choice([1, 2, 64, 3000], count),
        "delta": 10.0 ** -rng.uniform(1, 12, count),
    }
    return {**columns, **given}


def alone(columns, **common):
    count = columns["devices"].size
    rows = ({name: np.asarray(column)[i].item() for name, column in columns.items()} for i in range(count))
    return [InferenceSystem(**row, delta_prime=0.1, **common) for row in rows]


@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_each_of_many_is_as_if_alone(adjacency, idle):
    columns = drawn(24, seed=3)
    many = HomogeneousSystems(**columns, adjacency=adjacency, idle_noise=idle)
    single = alone(columns, adjacency=adjacency, idle_noise=idle)
    for observer in ("auto", "participants"):
        together = observers.exact_epsilon(many, observer=observer)
        apart = [float(observers.exact_epsilon(one, observer=observer, device=0)) for one in single]
        np.testing.assert_allclose(together, apart, rtol=1e-11)
    proven = [amplification.proven(one).epsilon[0] for one in single]
    np.testing.assert_allclose(build.proven_epsilon(many, np.arange(24), many.delta), proven, rtol=1e-11)
    delta = [float(observers.exact_delta(one, 0.7, device=0)) for one in single]
    np.testing.assert_allclose(observers.exact_delta(many, 0.7), delta, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_hidden_epsilon_of_many_systems_is_that_of_each(adjacency):
    columns = drawn(4, seed=5, participation=np.full(4, 0.4), weight=np.full(4, 0.3), dimension=np.repeat([3, 700], 2))
    many = HomogeneousSystems(**columns, adjacency=adjacency)
    apart = [
        float(observers.exact_epsilon(one, observer="others", device=0)) for one in alone(columns, adjacency=adjacency)
    ]
    np.testing.assert_allclose(observers.exact_epsilon(many, observer="others"), apart, rtol=1e-11)


@pytest.mark.parametrize("observer", TOLD_APART)
@pytest.mark.parametrize("adjacency", ["absent", "silent"])
def test_below_the_interval_delta_is_exceeded(adjacency, observer):
    columns = drawn(3 if observer == "signal" else 12, seed=7)
    many = HomogeneousSystems(**columns, adjacency=adjacency)
    low, high = observers.epsilon_bracket(many, observer=observer)
    assert np.all(low <= high)
    for one, lower, upper in zip(alone(columns, adjacency=adjacency), low, high, strict=True):
        if observer == "signal":
            apart = observers.signal_bracket(one, device=0)
            np.testing.assert_allclose([lower, upper], apart, rtol=1e-6)
            continue
        if 0 < lower < np.inf:
            assert observers.exact_delta_bracket(one, lower, observer=observer, device=0)[1] > one.delta
        if 0 < upper < np.inf:
            assert lower > 0.4 * upper


def test_unequal_devices_have_an_interval_too():
    """Laws on a grid: the interval is wider, and still holds the epsilon."""
    rng = np.random.default_rng(2)
    system = InferenceSystem(
        devices=24,
        participation=rng.uniform(0.2, 0.9, 24),
        noise_variance=rng.uniform(0.05, 0.4, 24),
        weight=0.1,
        clip=2.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=8,
        delta=1e-5,
        delta_prime=1e-5,
    )
    low, high = observers.epsilon_bracket(system, device=[0, 1])
    assert np.all((0.98 * high < low) & (low < high))


def test_nothing_that_a_system_has_is_forgotten():
    """What is not in the columns must not matter for privacy; a new parameter has to be thought of here."""
    without = set(parameters.of(InferenceSystem)) - {field.name for field in dataclasses.fields(HomogeneousSystems)}
    no_effect, refused_before = {"delta_prime", "decoder_gain", "channel_gain"}, {"channel", "rounds", "observer", "colluding"}
    assert without <= no_effect | refused_before  # a sweep of the latter asks about each system


def test_bad_columns_are_named():
    good = drawn(3)
    with pytest.raises(ParameterError, match=r"participation\[1\] = 1.5"):
        HomogeneousSystems(**{**good, "participation": [0.5, 1.5, 0.5]})
    with pytest.raises(ParameterError, match="broadcastable"):
        HomogeneousSystems(**{**good, "weight": [0.5, 0.5]})
    with pytest.raises(ParameterError, match="one axis of systems"):
        HomogeneousSystems(**{**good, "weight": np.full((2, 3), 0.5)})
    with pytest.raises(ParameterError, match="within a factor of 1e600"):
        columns = {**good, "noise_variance": 5e-324, "alignment": 1e-5, "receiver_noise_variance": 1e308}
        observers.exact_epsilon(HomogeneousSystems(**columns))
