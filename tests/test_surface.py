"""Dear functions from few values, both ends from one, and the reverse order where a device's own noise drowns all other."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analytics.inference.system import InferenceSystem
from analytics.privacy import gaussian, hidden, mixtures, one_order, rounds
from analytics.privacy.surface import Sheet, Surface


def known_to(doubt):
    calls = []

    def function(eps, v):
        calls.append(eps.size)
        value, slope, error = gaussian.log_curve(eps, 1 / np.sqrt(v))
        return value, slope, error + doubt

    return function, calls


@settings(max_examples=30, deadline=None)
@given(st.floats(-11, -6), st.floats(-3.0, 1.5), st.floats(0.15, 0.95), st.floats(-1.0, 2.0), st.floats(0.01, 3.0))
def test_never_narrower_than_the_values(digits, top, share, log_v, ratio):
    function, _ = known_to(10**digits)
    eps = np.linspace(share * 10**top, 10**top, 50)
    v = 10**log_v * np.exp(np.linspace(0.0, ratio, 40))
    surface = Surface.over(v, 0.0, max(10**digits, 1e-9), v.size)
    known = surface.known(eps, function)
    if not np.any(known):
        return
    value, slope, error = surface(eps[known], v)
    each = [x.ravel() for x in np.meshgrid(eps[known], v, indexing="ij")]
    truth, its_slope, own = (x.reshape(value.shape) for x in gaussian.log_curve(each[0], 1 / np.sqrt(each[1])))
    assert np.all(np.abs(value - truth) <= error + own) and np.all(error >= 10**digits)
    assert np.max(np.abs(slope / its_slope - 1)) < 1e-3


def test_values_are_few_and_used_again():
    function, calls = known_to(1e-10)
    v = np.linspace(1.0, 2.0, 500)
    surface = Surface.over(v, 0.05, 1e-9, v.size)
    assert np.all(surface.known(np.linspace(0.5, 0.99, 1000), function))
    few = sum(calls)
    assert few < 3000
    assert np.all(surface.known(np.linspace(0.5, 0.99, 777), function)) and sum(calls) == few
    assert not np.any(surface.known(np.array([0.0, np.inf]), function))
    np.testing.assert_array_equal(surface.has(np.array([0.94, 0.96, 2.04, 2.06])), [False, True, True, False])


def test_few_values_of_the_noise_are_taken_one_by_one():
    function, calls = known_to(1e-11)
    v, eps = np.array([1e-3, 0.5, 7.0]), np.linspace(0.5, 0.9, 300)
    surface = Surface.over(v, 0.0, 1e-8, v.size)
    assert np.all(surface.known(eps, function)) and sum(calls) < 300
    value, _, error = surface(eps, v[1:])
    truth = gaussian.log_curve(np.repeat(eps, 2), np.tile(1 / np.sqrt(v[1:]), eps.size))[0].reshape(value.shape)
    assert np.all(np.abs(value - truth) <= error) and np.max(error) < 1e-7
    np.testing.assert_array_equal(surface.has(np.array([0.5, 0.6])), [True, False])


@pytest.mark.parametrize(
    "bend",
    [
        lambda eps, v: 1e-2 * np.maximum(0.71 - eps, 0.0),
        lambda eps, v: 1e-5 * (v < 1.3),
        lambda eps, v: 1e-7 * np.sin(900 * eps),
        lambda eps, v: np.where((eps > 0.7) & (v > 1.5), -np.inf, 0.0),
    ],
)
def test_what_does_not_settle_is_computed_point_by_point(bend):
    def function(eps, v):
        return -eps / v + bend(eps, v), -1 / v, np.full(eps.shape, 1e-12)

    eps, v = np.linspace(0.5, 0.99, 400), np.linspace(1.0, 2.0, 60)
    surface = Surface.over(v, 0.0, 1e-9, v.size)
    assert not np.any(surface.known(eps, function))

    def direct(v, i):
        return tuple(x.reshape(v.shape) for x in function(np.repeat(eps[i], v.shape[1]), v.ravel()))

    found = Sheet(surface, function, eps, direct)(np.tile(v, (400, 1)), np.arange(400))
    np.testing.assert_array_equal(found[0], -eps[:, None] / v + bend(eps[:, None], v))


def test_a_sheet_mixes_what_is_known_with_what_is_computed():
    function, _ = known_to(1e-11)
    eps = np.concatenate([[0.0, 1e-9], np.linspace(0.5, 0.9, 100), [40.0, np.inf]])
    v = np.concatenate([[0.0], np.linspace(1.0, 1.5, 30), [3.0]])

    def direct(v, i):
        return tuple(x.reshape(v.shape) for x in function(np.repeat(eps[i], v.shape[1]), v.ravel()))

    with np.errstate(divide="ignore"):
        sheet = Sheet(Surface.over(v[1:-1], 0.0, 1e-9, 1), function, eps, direct)
        value, _, error = sheet(np.tile(v, (eps.size, 1)), np.arange(eps.size))
        truth = direct(np.tile(v, (eps.size, 1)), np.arange(eps.size))[0]
    same = (value == truth) | (
        np.abs(np.where(value > -np.inf, value, 0) - np.where(truth > -np.inf, truth, 0)) <= error
    )
    assert np.all(same) and np.max(error) < 1e-7 and np.any(error[:, 1:-1] != error[0, 1])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.05, 4.0)), min_size=2, max_size=5),
    st.floats(0.05, 8.0),
    st.floats(1e-3, 12.0),
    st.integers(1, 1000),
)
def test_the_lower_end_from_one_evaluation_allows_for_all_that_was_rounded(others, clip, eps, dimension):
    """Noises up, the sensitivity down and epsilon further on, each by as much as may be: with 40 digits."""
    p, noise = np.array(others).T
    system = InferenceSystem(
        devices=len(others), participation=p, noise_variance=noise, weight=1.0, clip=clip, alignment=1.0,
        receiver_noise_variance=0.3, dimension=dimension, delta=1e-5, delta_prime=1e-5, adjacency="silent",
    )  # fmt: skip
    (part,) = mixtures.participations(system, np.zeros(1, dtype=int), 0.0)
    low, high = one_order.log_ends(part, np.array([eps]), np.zeros(1, dtype=int), reverse=False, doubt=1e-12)
    with mp.workdps(40):
        unit, at = mp.mpf(2) ** -52, mp.mpf(eps) * (1 + mp.mpf("1e-12"))
        d = mp.mpf(float(part.sensitivity[0])) * (1 - 16 * unit)
        total = mp.mpf(0)
        for v, weight in zip(part.variance[0], part.weights[0], strict=True):
            whole = mp.mpf(float(v)) * (1 + 3 * float(part.rounding[0])) + float(part.own_noise[0]) * (1 + 16 * unit)
            mu = d / mp.sqrt(whole)
            total += float(weight) * (mp.ncdf(mu / 2 - at / mu) - mp.exp(at) * mp.ncdf(-mu / 2 - at / mu))
        truth = total * float(part.participation[0])
        assert mp.exp(float(low[0])) <= truth * (1 + mp.mpf("1e-25")) and truth <= mp.exp(float(high[0]))
        assert low[0] > high[0] - 1e-7 * (1 + abs(high[0]))


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
