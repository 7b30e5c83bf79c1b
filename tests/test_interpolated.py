"""Dear curves from few values, and the reverse order of a hidden device whose own noise drowns all other."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analytics.inference.system import InferenceSystem
from analytics.privacy import gaussian, hidden, rounds
from analytics.privacy.interpolated import Interpolated


def known_to(doubt, sensitivity=1.0):
    calls = []

    def ends(eps):
        calls.append(eps.size)
        value = np.asarray(gaussian.delta(eps, sensitivity=sensitivity, sigma=1.0))
        return value * (1 - doubt), value * (1 + doubt)

    return ends, calls


@settings(max_examples=30, deadline=None)
@given(st.floats(-12, -6), st.floats(0.02, 30.0), st.floats(-3.0, 1.5), st.floats(0.15, 0.95))
def test_never_narrower_than_the_values(digits, sensitivity, top, share):
    ends, _ = known_to(10**digits, sensitivity)
    eps = np.linspace(share * 10**top, 10**top, 150)
    low, high = Interpolated(ends)(eps)
    truth = np.asarray(gaussian.delta(eps, sensitivity=sensitivity, sigma=1.0))
    assert np.all(low <= truth * (1 + 1e-13)) and np.all(truth * (1 - 1e-13) <= high)
    assert np.all(high <= truth * math.exp(12 * max(10**digits, 1e-12)) * (1 + 1e-13) + 1e-300)


def test_values_are_few_and_used_again():
    ends, calls = known_to(1e-10)
    curve = Interpolated(ends)
    curve(np.linspace(0.5, 1.0, 1000))
    assert sum(calls) < 60
    curve(np.linspace(0.5, 1.0, 777))
    assert sum(calls) < 60
    low, high = curve(np.array([0.0, 0.7, np.inf]))
    assert high[0] == pytest.approx(0.3829249, rel=1e-6) and low[2] == high[2] == 0


@pytest.mark.parametrize(
    "bend",
    [
        lambda eps: 1e-3 * np.maximum(0.71 - eps, 0.0),
        lambda eps: 1e-6 * (eps < 0.9),
        lambda eps: 1e-8 * np.sin(900 * eps),
    ],
)
def test_what_does_not_settle_is_computed_point_by_point(bend):
    def ends(eps):
        value = np.exp(-eps) * 0.3 + bend(eps)
        return value * (1 - 1e-12), value * (1 + 1e-12)

    eps = np.linspace(0.5, 1.0, 400)
    assert np.array_equal(Interpolated(ends)(eps)[1], ends(eps)[1])


def test_rough_values_are_not_interpolated():
    ends, calls = known_to(1e-3)
    Interpolated(ends)(np.linspace(0.5, 1.0, 100))
    assert sum(calls) >= 100


@pytest.mark.parametrize(
    ("adjacency", "participation", "noise", "clip", "dimension"),
    [("silent", [0.3, 0.6, 0.8], 0.4, 0.7, 20), ("replace", [0.05, 0.6, 0.8], 0.2, 0.4, 784)],
)
def test_a_hidden_device_is_within_both(adjacency, participation, noise, clip, dimension):
    system = InferenceSystem(
        devices=3, participation=participation, noise_variance=noise, weight=1.0, clip=clip, alignment=1.0,
        receiver_noise_variance=0.3, dimension=dimension, delta=1e-5, delta_prime=1e-5, adjacency=adjacency,
    )  # fmt: skip
    query = rounds.query(system, 0, "others")
    eps = np.linspace(0.05, 0.39, 60)
    at = np.linspace(0.051, 0.385, 9)
    for reverse in (False, True):
        query.ends(eps, reverse=reverse)
        low, high = query.ends(at, reverse=reverse)
        least, most = rounds.query(system, 0, "others").ends(at, reverse=reverse)
        assert np.all(low <= most) and np.all(least <= high) and np.all(high <= most * (1 + 1e-7))


@pytest.mark.parametrize(
    ("eps", "p", "d", "v", "s"),
    [
        (1.274, 6e-4, 5.0, 0.0025, 0.1),
        (0.5, 0.9, 5.0, 0.0025, 0.1),
        (1.0, 0.5, 3.0, 0.0001, 0.1),
        (1e-3, 0.5, 12.0, 0.01, 1.0),
        (3.0, 0.9, 12.0, 0.01, 1.0),
        (0.5, 0.9, 20.0, 1.0, 1.0),
    ],
)
def test_own_noise_far_above_all_other_in_reverse(eps, p, d, v, s):
    """In one dimension, from densities: roots that are no doubles, and products of 0 and infinity."""
    wide, narrow = math.sqrt(v + s), math.sqrt(v)
    around = np.linspace(-40, 40, 100_001)
    y = np.unique(np.concatenate([around * wide, around * narrow, d + around * wide]))
    one, other, none = (stats.norm.pdf(y, m, scale) for m, scale in ((0, wide), (d, wide), (0, narrow)))
    gap = p * one + (1 - p) * none - math.exp(eps) * (p * other + (1 - p) * none)
    truth = float(np.trapezoid(np.maximum(gap, 0.0), y))
    each = [np.array([x]) for x in (eps, p, d, v, s)]
    value, _, error = hidden.log_curve(*each, dimension=1, replace=False, reverse=True)
    assert p * math.exp(value[0]) == pytest.approx(truth, rel=1e-6) and error[0] < 1e-9


def test_own_noise_far_above_all_other_in_two_dimensions():
    """Near epsilon 0 both orders have one delta."""
    system = InferenceSystem(
        devices=2, participation=[0.0006, 0.28], noise_variance=[5.55, 0.00076], weight=1.0, clip=37.0, alignment=1.0,
        receiver_noise_variance=0.13, dimension=2, delta=1e-5, delta_prime=1e-5, adjacency="silent",
    )  # fmt: skip
    query = rounds.query(system, 0, "others")
    forward, reverse = (query.ends(np.array([1e-9]), reverse=way)[0][0] for way in (False, True))
    assert forward == pytest.approx(reverse, rel=1e-5) and 0.0005 < reverse < 0.0006
