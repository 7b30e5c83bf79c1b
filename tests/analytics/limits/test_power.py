"""Power functions: never below the truth, close to it, and composed as groups of devices are."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from airtight.analytics.limits.power import Guarantees, PowerFunction
from airtight.analytics.privacy.accounting.privacy_curve import (
    discrete_pair,
    gaussian,
    laplace,
    randomized_response,
    subsampled,
)

MUS = [1e-9, 1e-3, 0.3, 1.0, 3.0, 10.0, 29.0]


def of(curve):
    return Guarantees.of([curve]).greatest()


def gaussian_power(mu, probability):
    return mp.ncdf(mp.mpf(mu) + _quantile(probability))


def _quantile(probability):
    with mp.workdps(50):
        return mp.findroot(lambda x: mp.ncdf(x) - probability, norm.ppf(float(probability)))


@pytest.mark.parametrize("mu", MUS)
def test_lines_of_a_gaussian_are_never_below_it_and_close(mu):
    power = PowerFunction.gaussian(mu)
    for probability in (0.99, 0.5, 0.1, 1e-3, 1e-9, 1e-40):
        value = float(power(np.array([np.log(probability)]))[0])
        with mp.workdps(50):
            truth = gaussian_power(mu, mp.mpf(probability))
            assert truth * (1 - mp.mpf(10) ** -12) <= value <= truth * (1 + 3e-2) + mp.mpf(10) ** -17


@pytest.mark.parametrize("mu, times", [(0.1, 37), (0.02, 100), (0.7, 3)])
def test_composed_lines_are_those_of_a_group(mu, times):
    plain = PowerFunction.gaussian(mu)
    group = PowerFunction(plain.log_slope, plain.intercept).repeated(times)  # by composition of lines, not by the sum
    at = np.array([0.9, 0.5, 1e-2, 1e-5])
    truth = norm.cdf(norm.ppf(at) + mu * times)
    assert np.all(group(np.log(at)) >= truth * (1 - 1e-12))
    assert np.all(group(np.log(at)) <= truth * 1.01)


def test_a_group_of_pure_epsilon_has_the_sum():
    group = of(randomized_response(0.25, 2)).repeated(7)
    at = np.array([1e-6, 1e-3, 0.1])
    # by hand, from 7 applications of min(e^x a, 1 - e^-x (1 - a))
    value = at.copy()
    for _ in range(7):
        value = np.minimum(np.exp(0.25) * value, 1 - np.exp(-0.25) * (1 - value))
    assert np.allclose(group(np.log(at)), value, rtol=1e-9)
    assert np.all(group(np.log(at)) >= value * (1 - 1e-13))


def test_unlike_devices_compose_in_either_order():
    one, two = of(laplace(0.4)), of(subsampled(1.0, 0.3))
    at = np.log(np.array([0.7, 0.2, 1e-3]))
    assert np.allclose(one.then(two)(at), two(np.log(one(at))), rtol=3e-3)
    assert np.all(one.then(two)(at) >= two(np.log(one(at))) * (1 - 1e-12))


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=4), st.data())
def test_no_test_of_a_discrete_pair_is_more_powerful(weights, data):
    p = np.array(weights) / np.sum(weights)
    q = np.array(data.draw(st.permutations(weights))) / np.sum(weights)
    power = of(discrete_pair(p, q))
    for first, second in ((p, q), (q, p)):
        events = np.arange(1, 2**p.size)[:, None] >> np.arange(p.size) & 1
        assert np.all(power(np.log(events @ second)) >= events @ first * (1 - 1e-12))


@pytest.mark.parametrize("mu", MUS[1:5])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.9])
def test_chi_square_of_a_gaussian_is_rounded_up(mu, share):
    def integrand(x):
        p, q = mp.npdf(x, mu, 1), mp.npdf(x)
        return (p - q) ** 2 / (share * p + (1 - share) * q)

    truth = float(mp.quad(integrand, [-20, -5, 0, mu / 2, mu, 5 + mu, 20 + mu]))
    assert truth * (1 - 1e-9) <= PowerFunction.gaussian(mu).divergence(np.array([share]))[0] <= truth * (1 + 2e-3)


@pytest.mark.parametrize("mu", MUS[1:])
def test_information_of_a_gaussian_is_rounded_up(mu):
    plain = PowerFunction.gaussian(mu)
    lost, divergence = PowerFunction(plain.log_slope, plain.intercept).informations()
    assert lost[0] < 1e-15
    assert mu**2 / 2 * (1 - 1e-9) <= divergence[0] <= mu**2 / 2 * (1 + 5e-3) + 2e-15


def test_information_of_randomized_response_is_exact():
    lost, divergence = of(randomized_response(1.0, 2)).informations()
    assert lost[0] == 0
    assert np.isclose(divergence[0], np.tanh(0.5), rtol=1e-8)


def test_perfect_privacy_and_none():
    perfect, none = of(gaussian(1.0).compose(0)), of(gaussian(500.0))
    at = np.log(np.array([1e-300, 0.3, 1.0]))
    assert np.allclose(perfect(at), np.exp(at), rtol=1e-11)
    assert np.all(none(at) == 1)
    assert np.all(perfect.repeated(10**6)(at) == perfect(at))


def test_a_composition_of_lines_is_rounded_up():
    """Tiny intercepts too, whose logarithms err by many units; at 40 digits."""
    first = PowerFunction.least(np.array([0.00163047, -0.00163047]), np.array([1.565e-69, 0.00162914]))
    second = PowerFunction.least(np.array([0.00052772, -0.00052772]), np.array([4.154e-72, 0.00052758]))
    made = first.then(second)

    def exactly(power, a):
        lines = zip(power.log_slope.tolist(), power.intercept.tolist(), strict=True)
        return min(1, *(mp.exp(mp.mpf(slope)) * a + mp.mpf(start) for slope, start in lines))

    with mp.workdps(40):
        for exponent in np.linspace(-200, -1e-3, 60):
            a = mp.exp(mp.mpf(float(exponent)))
            assert mp.mpf(float(made(np.array([exponent]))[0])) >= exactly(second, exactly(first, a))
