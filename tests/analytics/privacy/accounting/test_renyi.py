"""Releases in one number: Renyi divergences, rho and mu between bounds that hold at 50 digits."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import airtight
from airtight.analytics.privacy.accounting import renyi
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian, Hidden, Shown
from airtight.analytics.privacy.mechanisms.laplace import Laplace
from airtight.analytics.privacy.mechanisms.randomized_response import RandomizedResponse

DIGITS = 50
ORDERS = st.one_of(st.sampled_from([1.5, 2.0, 8.0]), st.floats(1.01, 40.0))


def subsampled_gaussian(mu, p, order):
    """By a trapezoidal rule of its own: on the real line, with a quarter of the step and 50 digits."""
    m, q, a = map(mpmath.mpf, (mu, p, order))
    step = min(mpmath.mpf(1) / 10, mpmath.pi / m / 24)
    count = int((34 + a * m) / step)
    terms = (
        (1 - q + q * mpmath.exp(m * x - m * m / 2)) ** a * mpmath.exp(-x * x / 2)
        for x in (i * step for i in range(-int(17 / step), count))
    )
    return mpmath.log(step * mpmath.fsum(terms) / mpmath.sqrt(2 * mpmath.pi)) / (a - 1)


def discrete_laplace(scale, shift, order):
    r, a = mpmath.exp(-1 / mpmath.mpf(scale)), mpmath.mpf(order)
    ends = (mpmath.exp(-a * shift / scale) + mpmath.exp(a * shift / mpmath.mpf(scale)) * r**shift) / (1 + r)
    middle = sum(mpmath.exp(a * (2 * k - shift) / mpmath.mpf(scale)) * r**k for k in range(1, shift))
    return mpmath.log(ends + middle * (1 - r) / (1 + r)) / (a - 1)


def discrete_gaussian(sigma, shift, order):
    s, a = mpmath.mpf(sigma), mpmath.mpf(order)
    reach = int(30 * sigma + order * shift) + 5

    def theta(c):
        return mpmath.fsum(mpmath.exp(-((k - c) ** 2) / (2 * s * s)) for k in range(-reach, reach + 1))

    return a * shift**2 / (2 * s * s) + mpmath.log(theta(a * shift) / theta(0)) / (a - 1)


def assert_between(curve, order, exact, width):
    lower, upper = curve.renyi(order)
    assert lower <= exact <= upper and upper - lower <= width * upper, (lower, exact, upper)


@settings(max_examples=25, deadline=None)
@given(mu=st.floats(0.01, 3.0), p=st.floats(-6.0, 0.0).map(lambda x: 10**x), order=st.floats(1.01, 12.0))
def test_a_subsampled_gaussian_at_any_order(mu, p, order):
    with mpmath.workdps(DIGITS):
        assert_between(airtight.subsampled(mu, p), order, subsampled_gaussian(mu, p, order), 1e-3)


@settings(max_examples=25, deadline=None)
@given(scale=st.floats(0.2, 50.0), shift=st.integers(1, 6), order=ORDERS)
def test_a_curve_without_a_closed_form(scale, shift, order):
    with mpmath.workdps(DIGITS):
        assert_between(airtight.discrete_laplace(scale, shift), order, discrete_laplace(scale, shift, order), 2e-2)


@settings(max_examples=25, deadline=None)
@given(sigma=st.floats(0.15, 12.0), shift=st.integers(1, 4), order=st.floats(1.01, 9.0))
def test_a_discrete_gaussian(sigma, shift, order):
    with mpmath.workdps(DIGITS):
        exact = discrete_gaussian(sigma, shift, order)
        assert_between(airtight.discrete_gaussian(sigma, shift), order, exact, 1e-8 / (order - 1))


@settings(max_examples=25, deadline=None)
@given(loss=st.floats(1e-3, 60.0), order=ORDERS)
def test_the_integral_of_the_curve_meets_the_closed_form(loss, order):
    """Laplace noise both ways; the pure epsilon, and half of its square times the order, are never exceeded."""
    integral, (low, high) = renyi._of_curve(Laplace(loss), order, reverse=False), renyi.bracket(((Laplace(loss), 1),), order)
    assert integral[0] <= high and low <= integral[1] and integral[1] <= high * 1.02 + 1e-12
    assert high <= min(loss, order * loss**2 / 2) * (1 + 1e-12)


def test_divergences_add_up_and_the_worse_order_counts():
    curve = airtight.compose([airtight.gaussian(0.5), airtight.laplace(0.3)], [4, 2])
    single = 4 * airtight.gaussian(0.5).renyi([1.5, 3.0]).upper + 2 * airtight.laplace(0.3).renyi([1.5, 3.0]).upper
    assert np.allclose(curve.renyi([1.5, 3.0]).upper, single, rtol=1e-12) and curve.renyi(2.0).reached
    skewed = airtight.discrete_pair([0.9, 0.1], [0.5, 0.5])
    reversed_pair = airtight.discrete_pair([0.5, 0.5], [0.9, 0.1])
    assert skewed.renyi(3.0) == reversed_pair.renyi(3.0)
    assert airtight.gaussian(1.0).compose(0).renyi(2.0) == (0.0, 0.0)


def test_where_a_divergence_is_infinite_so_are_both_bounds():
    """An absent device shows that it is absent: its noise is away, with a probability that no epsilon covers."""
    for curve in (airtight.approximate(1.0, 1e-9), airtight.discrete_pair([0.5, 0.5], [1.0, 0.0]), airtight.gaussian(np.inf)):
        assert curve.renyi(2.0) == (np.inf, np.inf) and curve.zcdp().upper == np.inf and curve.gdp() == (np.inf, np.inf)
    system = airtight.InferenceSystem(
        devices=3, participation=0.9, noise_variance=0.1, weight=1 / 3, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.1, dimension=2, delta=1e-5, delta_prime=1e-5, adjacency="absent",
    )  # fmt: skip
    assert airtight.curve(system).renyi(2.0).upper == np.inf


def test_rho_of_pure_epsilon_and_of_samples():
    for loss in (1e-6, 0.1, 2.0, 30.0):
        low, high = airtight.randomized_response(loss).zcdp()
        exact_limit = loss * np.tanh(loss / 2)  # of the order 1, which is a lower bound
        assert exact_limit * (1 - 2e-3) - 1e-12 <= high <= loss**2 / 2 * (1 + 1e-12) and low <= high
    sampled = airtight.dp_sgd(2.0, 0.01, 100).zcdp()
    assert sampled.upper == pytest.approx(100 / 8, rel=1e-9) and sampled.lower == pytest.approx(100 / 8, rel=1e-3)
    assert airtight.discrete_gaussian(2.0).zcdp().upper == pytest.approx(1 / 8, rel=1e-12)


@settings(max_examples=12, deadline=None)
@given(loss=st.floats(1e-6, 40.0), share=st.floats(0.0, 1.0), sampled=st.one_of(st.none(), st.floats(0.01, 0.99)))
def test_the_gaussian_of_mu_dominates_at_every_epsilon(loss, share, sampled):
    for release in (Laplace(loss), RandomizedResponse(loss, 3)):
        curve = airtight.PrivacyCurve.of(release)
        curve = curve if sampled is None else airtight.subsampled(curve, sampled)
        low, high = curve.gdp()
        epsilon = share * loss
        assert low <= high and airtight.gaussian(high).delta(epsilon) >= curve.bracket(epsilon=epsilon).lower
        assert airtight.gaussian(low * (1 - 1e-9)).advantage() <= curve.advantage() + 1e-12 or low > 0


def test_mu_of_gaussian_privacy_is_close_where_it_is_known():
    response = airtight.randomized_response(1.0).gdp()
    exact = 2 * float(mpmath.sqrt(2) * mpmath.erfinv(2 / (1 + mpmath.exp(-1)) - 1))
    assert response.lower <= exact * (1 + 1e-9) and exact <= response.upper < exact * 1.001 and response.lower > 0.999 * exact
    assert airtight.gaussian(0.3).compose(7).gdp().upper == pytest.approx(0.3 * np.sqrt(7), rel=1e-14)
    assert airtight.dp_sgd(2.0, 0.1, 16).gdp().upper == pytest.approx(2.0, rel=1e-12)
    assert airtight.gaussian(1e-170).gdp().upper >= 1e-170 and airtight.laplace(1e-200).gdp().upper > 0
    assert renyi.gdp(Gaussian(0.0)) == 0.0 and airtight.discrete_gaussian(3.0).gdp().upper == np.inf


@pytest.mark.parametrize("order", [1.0, 0.5, np.inf, np.nan, "a", [2.0, 1.0]])
def test_what_is_no_order_is_refused(order):
    with pytest.raises(airtight.ParameterError, match="order"):
        airtight.laplace(1.0).renyi(order)


@pytest.mark.parametrize(
    "sigma, shift, order", [(0.0132, 1, 2.5), (0.013, 1, 1000.49), (1e-3, 1, 2.5), (0.01, 3, 1.5), (1e-50, 1, 2.5)]
)
def test_a_discrete_gaussian_of_little_noise(sigma, shift, order):
    """Two integers beside the middle have nearly all of Theta."""
    with mpmath.workdps(DIGITS):
        s, a = mpmath.mpf(sigma), mpmath.mpf(order)
        place = a * shift - mpmath.floor(a * shift)

        def log_theta(c):
            nearest = min(c, 1 - c) ** 2 / (2 * s**2)
            return mpmath.log(mpmath.fsum(mpmath.exp(nearest - (k - c) ** 2 / (2 * s**2)) for k in range(-3, 5))) - nearest

        exact = a * shift**2 / (2 * s**2) + (log_theta(place) - log_theta(mpmath.mpf(0))) / (a - 1)
        low, high = airtight.discrete_gaussian(sigma, shift).renyi(order)[:2]
        assert low <= exact <= high <= low * (1 + 1e-9)


def test_orders_beyond_the_exponentials_of_doubles():
    """A bound, or nothing known; never nan."""
    for curve, order, most in [
        (airtight.discrete_laplace(0.01, 2), 1e4, 200.0),
        (airtight.discrete_laplace(1, 1), 1e9, 1.0),
        (airtight.discrete_laplace(1e-6, 10), 2.0, 1e7),
        (airtight.subsampled(airtight.laplace(500.0), 0.1), 1e5, 497.7),
        (airtight.dp_sgd(10, 0.001, 2).group(2), 1e9, np.inf),
        (airtight.from_renyi([1.5, 2, 64], [1, 10, 1000]).compose(10**6), 1e4, np.inf),
    ]:
        low, high = curve.renyi(order)[:2]
        assert 0 <= low <= high <= most * (1 + 1e-6)
    assert airtight.from_renyi([2.0, 4.0], [0.1, 0.3]).renyi([1.5, 2.0, 3.0, 5.0]).upper == pytest.approx([0.1, 0.1, 0.3, np.inf])


def mixtures(weights, means, others, order):
    """By quadrature, the greater of both orders, of two mixtures of normal laws on a line."""
    a, farthest = mpmath.mpf(order), max(map(abs, [*means, *others]))

    def density(x, centers):
        return mpmath.fsum(w * mpmath.npdf(x, c) for w, c in zip(weights, centers, strict=True))

    reach = farthest * (2 * a + 2)
    places = sorted({-reach - 15, -reach, -farthest, 0, farthest, reach, reach + 15})
    integrals = (
        mpmath.quad(lambda x, p=p, q=q: density(x, p) ** a * density(x, q) ** (1 - a), places)
        for p, q in ((means, others), (others, means))
    )
    return max(mpmath.log(each) / (a - 1) for each in integrals)


@pytest.mark.parametrize("opposite", [False, True])
@pytest.mark.parametrize(
    ("weights", "mu", "order"),
    [([0.99, 0.01], [0, 1], 8.5), ([0.5, 0.3, 0.2], [0, 0.1, 2.0], 1.02), ([0.9, 0.1], [0.5, 1.0], 3.0)],
)
def test_mixtures_are_between_bounds_that_count_what_is_beyond_the_doubles(opposite, weights, mu, order):
    curve = PrivacyCurve.of(Hidden(tuple(weights), tuple(mu), opposite=opposite))
    with mpmath.workdps(30):
        truth = mixtures([mpmath.mpf(w) for w in weights], mu, [-m for m in mu] if opposite else [0 for _ in mu], order)
        lower, upper = curve.renyi(order)
        assert lower <= truth <= upper <= lower * (1 + 1e-3)


def test_rho_of_a_replaced_record_lies_between_one_and_two_sensitivities():
    """A sample hides that a record and its replacement are two sensitivities apart: at great orders only one is seen."""
    lower, upper = airtight.dp_sgd(1.0, 0.5, 1, adjacency="replace").zcdp()
    assert 0.499 < lower <= upper < 0.56 and airtight.gaussian(2.0).zcdp().upper == pytest.approx(2.0)
    assert airtight.dp_sgd(1.0, 0.01, 1, adjacency="replace").gdp().upper == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("p", "mu", "order"), [(0.01, 38.0, 1.0001), (0.5, 40.0, 1.00001), (1e-12, 50.0, 1.0001), (0.001, 34.0, 1.001)]
)
def test_a_subsampled_gaussian_of_great_mu_at_orders_near_one(p, mu, order):
    with mpmath.workdps(DIGITS):
        truth = subsampled_gaussian(mu, p, order)
        lower, upper = airtight.subsampled(mu, p).renyi(order)
        assert lower <= truth <= upper <= lower * (1 + 1e-6)


def test_squares_that_underflow():
    assert 0 <= PrivacyCurve.of(Shown((0.5, 0.5), (0.0, 1e-170), (0.0, 1e-170))).renyi(2.0).upper < 1e-300


@settings(max_examples=25, deadline=None)
@given(log_width=st.floats(-5.0, 1.5), log_power=st.floats(-3.0, 4.0), negative=st.booleans(), fall=st.floats(0.0, 1.0))
def test_the_integral_of_a_cell(log_width, log_power, negative, fall):
    """The exponential of power times epsilon, times the chord in exp(epsilon) of a curve from 1 to `fall`, at 50 digits."""
    width = 10.0**log_width
    power = -1 - 10.0**log_power if negative else 10.0**log_power
    values = np.array([1.0, fall])
    found = renyi._log_integral(np.array([0.0, width]), (values, values), power, upper=True)
    with mpmath.workdps(DIGITS):
        p, h, right = mpmath.mpf(power), mpmath.mpf(width), mpmath.mpf(fall)
        # of e^(p x) (right + (1 - right) (e^h - e^x) / (e^h - 1)), term by term
        of_one, of_x = mpmath.expm1(p * h) / p, h if p == -1 else mpmath.expm1((p + 1) * h) / (p + 1)
        truth = right * of_one + (1 - right) * (mpmath.exp(h) * of_one - of_x) / mpmath.expm1(h)
        assert found == pytest.approx(float(mpmath.log(truth)), rel=1e-13, abs=1e-13)
