"""Noise on the integers: both bounds of the curve against sums over the integers and half-lines, to 50 digits."""

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

import airtight
from airtight.analytics.privacy.mechanisms.discrete_gaussian import DiscreteGaussian
from airtight.analytics.privacy.mechanisms.discrete_laplace import DiscreteLaplace

DIGITS = 50
_ROUNDING = mpmath.mpf(10) ** -40


def laplace_delta(scale, shift, epsilon):
    """The best half-line, of all up to the shift."""
    r, factor = mpmath.exp(-1 / mpmath.mpf(scale)), mpmath.exp(mpmath.mpf(epsilon))
    return max(0, *(1 - (r ** (shift - k + 1) + factor * r**k) / (1 + r) for k in range(shift + 1)))


def gaussian_delta(sigma, shift, epsilon):
    """The sum over all integers of what P has more than exp(epsilon) times Q."""
    s, factor, reach = mpmath.mpf(sigma), mpmath.exp(mpmath.mpf(epsilon)), int(45 * sigma) + 3
    middle = shift + int(mpmath.mpf(epsilon) * s**2 / shift)
    first = max(shift - reach, middle - shift // 2 - 3)
    total = sum(
        max(mpmath.exp(-((k - shift) ** 2) / (2 * s**2)) - factor * mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s**2)), 0)
        for k in range(first, max(shift, middle) + reach)
    )
    return total / (1 + 2 * sum(mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s**2)) for k in range(1, reach)))


def assert_between(curve, epsilon, exact):
    lower, upper = curve.bracket(epsilon=epsilon)
    assert lower <= exact * (1 + _ROUNDING) and exact <= upper * (1 + _ROUNDING), (lower, exact, upper)


@settings(max_examples=40, deadline=None)
@given(
    scale=st.one_of(st.sampled_from([1e-3, 1e6]), st.floats(0.05, 50.0)),
    shift=st.integers(1, 12),
    place=st.one_of(st.sampled_from([0.0, 1 - 1e-13, 1.0]), st.floats(0.0, 1.01)),
    at_a_loss=st.booleans(),
)
def test_bounds_of_discrete_laplace_hold(scale, shift, place, at_a_loss):
    epsilon = place * shift / scale
    if at_a_loss:
        epsilon = float(np.ceil(epsilon * scale)) / scale
    with mpmath.workdps(DIGITS):
        assert_between(airtight.discrete_laplace(scale, shift), epsilon, laplace_delta(scale, shift, epsilon))


@settings(max_examples=25, deadline=None)
@given(
    sigma=st.one_of(st.sampled_from([1e-3, 0.3]), st.floats(0.05, 8.0)),
    shift=st.integers(1, 12),
    deviations=st.one_of(st.just(0.0), st.floats(0.0, 30.0)),
    at_a_loss=st.booleans(),
)
def test_bounds_of_discrete_gaussian_hold(sigma, shift, deviations, at_a_loss):
    mu, h = shift / sigma, shift / (2 * sigma**2)
    epsilon = max(deviations * mu - mu**2 / 2, 0.0) if deviations else 1e-9
    if at_a_loss:
        epsilon = (2 * float(np.ceil(epsilon / (2 * h))) + shift % 2) * h
    with mpmath.workdps(DIGITS):
        assert_between(airtight.discrete_gaussian(sigma, shift), epsilon, gaussian_delta(sigma, shift, epsilon))


@pytest.mark.parametrize(("sigma", "shift"), [(10000.0, 1), (9999.0, 37), (3000.0, 7), (10000.0, 400_001)])
def test_sum_and_corrected_continuous_curve_have_common_numbers(sigma, shift):
    """Two computations without a common step, from ten deviations below the shift to where delta underflows."""
    noise = DiscreteGaussian(shift, sigma=sigma)
    shifted = np.unique(np.floor(np.arange(-9, 40, 1 / 7) * sigma))
    shifted = shifted[shifted >= -shift / 2]
    summed, corrected = noise._summed(shifted), noise._corrected(shifted)
    assert np.all(summed[0] <= corrected[1]) and np.all(corrected[0] <= summed[1])
    seen = summed[0] > 1e-290
    assert np.all((corrected[1] - corrected[0])[seen] <= 2e-9 * summed[1][seen])


@pytest.mark.parametrize("count", [1, 20])
def test_epsilon_is_that_of_dp_accounting(count):
    """The peer's number is an upper bound on a grid: not below our lower bound, and near our upper one."""
    theirs = {
        airtight.discrete_laplace(3.0, 2): privacy_loss_distribution.from_discrete_laplace_mechanism(1 / 3, sensitivity=2),
        airtight.discrete_gaussian(5.0, 3): privacy_loss_distribution.from_discrete_gaussian_mechanism(5.0, sensitivity=3),
    }
    for curve, peer in theirs.items():
        epsilon = peer.self_compose(count).get_epsilon_for_delta(1e-4)
        lower, upper = curve.compose(count).bracket(delta=1e-4)
        assert lower <= epsilon * (1 + 1e-9) and upper == pytest.approx(epsilon, rel=1e-3, abs=1e-4 * count)


def test_sensitivity_one_is_randomized_response_of_one_over_the_scale():
    epsilons = np.linspace(0, 0.79, 80)
    one, other = airtight.discrete_laplace(1.25), airtight.randomized_response(0.8)
    assert np.allclose(one.delta(epsilons), other.delta(epsilons), rtol=1e-12, atol=0)


def test_compositions_meet_the_bounds_of_the_continuous_law_and_of_enumeration():
    """Three sums of discrete Laplace noise, over all losses in rational numbers of r."""
    scale, shift, epsilon = 1.5, 2, 1.0
    with mpmath.workdps(DIGITS):
        r = mpmath.exp(-1 / mpmath.mpf(scale))
        weights = [
            (1 - r ** (shift + 1) / (1 + r) if k == 0 else r ** abs(k - shift) * (1 - r) / (1 + r)) for k in range(shift + 1)
        ]
        above = {2: 1 / (1 + r), 1: r * (1 - r) / (1 + r), 0: r**2 / (1 + r)}  # P of the losses (2k - 2)/scale
        assert mpmath.almosteq(sum(above.values()), 1, 1e-30) and len(weights) == 3
        law = {0: mpmath.mpf(1)}
        for _ in range(3):
            total = {}
            for place, chance in law.items():
                for k, step in above.items():
                    total[place + 2 * k - 2] = total.get(place + 2 * k - 2, 0) + chance * step
            law = total
        exact = sum(
            chance * (1 - mpmath.exp(epsilon - place / mpmath.mpf(scale)))
            for place, chance in law.items()
            if place > epsilon * scale
        )
        lower, upper = airtight.discrete_laplace(scale, shift).compose(3).bracket(epsilon=epsilon)
        assert lower <= exact <= upper and upper - lower < 1e-6 * upper


def test_many_rounds_of_a_fine_lattice_come_close_to_continuous_noise():
    exact = float(airtight.gaussian(0.1).compose(100).epsilon(1e-6))
    low, high = airtight.discrete_gaussian(1e4, 1000).compose(100).bracket(delta=1e-6)
    assert low <= exact * (1 + 1e-6) and exact * (1 - 1e-6) <= high and high < exact * 1.001


def test_extremes_of_noise_on_the_integers():
    for curve in (airtight.discrete_laplace(0.0), airtight.discrete_gaussian(0.0)):
        assert curve.delta(700.0) == 1.0
    for curve in (airtight.discrete_laplace(3.0, 0), airtight.discrete_gaussian(0.0, 0)):
        assert curve.delta(0.0) == 0.0
    assert airtight.discrete_laplace(4.0, 3).epsilon(0.0) == pytest.approx(0.75, rel=1e-15)
    assert airtight.discrete_gaussian(1.0).epsilon(0.0) == np.inf and airtight.discrete_gaussian(1.0).delta(np.inf) == 0.0
    far, continuous = airtight.discrete_gaussian(1.0).epsilon(1e-300), airtight.gaussian(1.0).epsilon(1e-300)
    assert far == pytest.approx(continuous, rel=0.05)
    for huge in (airtight.discrete_laplace(1e290), airtight.discrete_gaussian(1e100)):
        assert huge.delta(1e-5) < 1e-300 and 0 < huge.delta(0.0) < 1e-80
    for mechanism in (DiscreteLaplace(3, scale=2.0), DiscreteGaussian(4, sigma=2.0)):
        curve = airtight.PrivacyCurve.of(mechanism, 3)
        assert airtight.PrivacyCurve.from_json(curve.to_json()) == curve


@pytest.mark.parametrize("noise", [airtight.discrete_laplace, airtight.discrete_gaussian])
@pytest.mark.parametrize("arguments", [(-1.0,), (np.inf,), (np.nan,), (1.0, 1.5), (1.0, -1), (1.0, 2**51), (1e-300,), (1e300,)])
def test_what_is_no_noise_on_the_integers_is_refused(noise, arguments):
    with pytest.raises(airtight.ParameterError, match=r"scale|sigma|sensitivity"):
        noise(*arguments)


@pytest.mark.parametrize(
    "sigma, shift, z, at_least", [(1.1e4, 10**15, 0, 0.4), (10001.0, 3 * 10**12, 5, 2e-7), (1e5, 10**15, 20, 1e-90)]
)
def test_corrections_that_exceed_the_continuous_curve(sigma, shift, z, at_least):
    """The upper bound is about the tail beyond z deviations or more, and both are probabilities."""
    epsilon = (2 * z * sigma + shift) * shift / (2 * sigma**2)
    low, high = airtight.discrete_gaussian(sigma, shift).bracket(epsilon=epsilon)[:2]
    assert 0 <= low <= high <= 1 and high >= at_least
