"""The lower bound for a server that sees y alone, beside the densities of y for the codes that it stands for."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.systems import unlike

from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers, rounds
from airtight.analytics.privacy.over_the_air.participation_mixture import signal_lower_bound

SYSTEM = InferenceSystem(
    devices=4, participation=[0.6, 0.4, 0.7, 0.3], noise_variance=[0.2, 0.05, 0.3, 0.6], weight=1.0, clip=[0.8, 0.1, 0.9, 1.5],
    alignment=1.0, receiver_noise_variance=0.1, dimension=1, delta=1e-3, observer="signal",
)  # fmt: skip


def tried(system, device=0):
    part = rounds.query(system, device, Observer.OTHERS)._part(0.0)
    return signal_lower_bound.SignalTest.of(part, 0).tilted(signal_lower_bound.steepest(system, device))


def densities(system, theta, mesh, code):
    """Density of y, whose first axis is that of the code of device 0; the others send -theta times their noise along it."""
    total = 0.0
    for sends in product([0, 1], repeat=system.devices - 1):
        chance = np.prod([p if on else 1 - p for p, on in zip(system.participation[1:], sends, strict=True)])
        noise = float(np.dot(sends, system.noise_variance[1:]))
        spread = np.sqrt(noise + system.receiver_noise_variance + (system.noise_variance[0] if code is not None else 0.0))
        place = (0.0 if code is None else code) - theta * noise
        along = stats.norm.pdf(mesh[0], place, spread)
        total = total + chance * along * np.prod([stats.norm.pdf(y, 0.0, spread) for y in mesh[1:]], axis=0)
    return total


def exact(system, theta, epsilon):
    """delta by the trapezoidal rule on a grid of y."""
    points = {1: np.linspace(-14, 14, 200_001), 2: np.linspace(-7, 7, 701)}[system.dimension]
    mesh = np.meshgrid(*[points] * system.dimension, indexing="ij")
    p, d, cell = system.participation[0], system.clip[0], (points[1] - points[0]) ** system.dimension
    without, sent = densities(system, theta, mesh, None), densities(system, theta, mesh, d)
    first = p * sent + (1 - p) * without
    if system.adjacency == "absent":
        second = without
    else:
        other = 0.0 if system.adjacency == "silent" else -d
        second = p * densities(system, theta, mesh, other) + (1 - p) * without
    orders = (first, second), (second, first)
    return max(float(np.sum(np.maximum(a - np.exp(epsilon) * b, 0)) * cell) for a, b in orders)


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
@pytest.mark.parametrize(("dimension", "epsilon"), [(1, 0.1), (1, 1.5), (2, 0.7)])
def test_the_bound_is_that_of_codes_that_the_others_may_send(adjacency, dimension, epsilon):
    system = SYSTEM.replace(adjacency=adjacency, dimension=dimension)
    theta = float(np.min((system.weight * system.clip / system.noise_variance)[1:]))
    assert np.all(theta * system.noise_variance[1:] <= (system.weight * system.clip)[1:] * (1 + 1e-12))
    bounds, slack = [test.delta(epsilon, 1e-9) for test in tried(system)], 1e-8 if dimension == 1 else 1e-4  # of the grid
    for share, bound in zip(signal_lower_bound._SHARES, bounds, strict=True):
        truth = exact(system, share * theta, epsilon)
        assert 0.985 * truth <= bound <= truth * (1 + slack)
    low, high = observers.exact_delta_bracket(system, epsilon, device=0, observer="signal")
    assert low == pytest.approx(max(bounds), rel=1e-3) and low <= high


@given(
    devices=st.integers(2, 4), seed=st.integers(0, 999), adjacency=st.sampled_from(["absent", "silent", "replace"]),
    dimension=st.sampled_from([1, 3]), log_delta=st.floats(-18, -3),
)  # fmt: skip
@settings(deadline=None, max_examples=6)
def test_codes_never_tell_more_than_who_sends(devices, seed, adjacency, dimension, log_delta):
    system, delta = unlike(devices, seed, adjacency, dimension), np.exp(log_delta)
    upper = np.asarray(observers.exact_epsilon(system, delta=delta, observer="others"))
    lower, _ = observers.signal_bracket(system, delta=delta)
    assert np.all(lower <= upper)
    for k in range(system.devices):
        if 0 < upper[k] < np.inf:
            of_zero = signal_lower_bound.least_epsilon(tried(system, k)[-1:], delta, float(upper[k]))
            assert lower[k] >= of_zero * (1 - 1e-5)


def test_codes_tell_nearly_who_sends_where_they_are_long():
    system = InferenceSystem(
        devices=3, participation=0.8, noise_variance=0.1, weight=1 / 3, clip=2.0, alignment=1.0, receiver_noise_variance=0.1,
        dimension=20, delta=1e-5, adjacency="silent",
    )  # fmt: skip
    lower, upper = observers.signal_bracket(system, device=0)
    assert 0.98 * upper < lower < upper
    zero = signal_lower_bound.least_epsilon(tried(system)[-1:], 1e-5, float(upper))
    assert zero < 0.8 * upper


@pytest.mark.parametrize("adjacency", ["absent", "silent"])
def test_several_rounds_take_the_codes_that_tell_most(adjacency):
    system = InferenceSystem(
        devices=6, participation=0.3, noise_variance=0.1, weight=1 / 6, clip=2.0, alignment=1.0, receiver_noise_variance=0.1,
        dimension=20, delta=1e-5, adjacency=adjacency, observer="signal",
    )  # fmt: skip
    bracket = rounds.bracket(system, rounds=5, device=0, observer="signal")
    zero = signal_lower_bound.SignalTest.of(rounds.query(system, 0, Observer.OTHERS)._part(0.0), 0)
    alone = zero.released(1e-5)
    of_zero = rounds.PrivacyCurve.of(alone).compose(5).bracket(delta=1e-5)
    assert of_zero.lower * 1.02 < bracket.lower <= bracket.upper


@pytest.mark.parametrize("log_mass", [0.0, -0.1, -1.0, -10.0, -100.0, -600.0])
def test_no_set_changes_faster_than_the_errors_say(log_mass):
    """The set of mass m with the greatest integral of |z| is the outside of an interval."""
    threshold = stats.norm.isf(np.exp(log_mass) / 2) if log_mass else 0.0
    most = 2 * stats.norm.pdf(threshold) / np.exp(log_mass)
    assert most <= np.sqrt(2 * (1 - log_mass)) + 1


def test_an_error_of_the_means_is_taken_off():
    steep = signal_lower_bound.SignalTest(
        v=np.array([0.1, 0.2]), weights=np.array([0.5, 0.5]), missing=0.0, p=0.5, d=1.0, s=0.1, dimension=1,
        adjacency=SYSTEM.adjacency, variance_error=1e-6, slope=-1e4,
    )  # fmt: skip
    assert steep._mean_error >= 1e4 * 0.2 * 1e-6 / np.sqrt(0.2)
    assert steep._moved(0.1) > 0.2 * steep._mean_error
