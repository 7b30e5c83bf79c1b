"""The contour integral against rigorous series, against mpmath in deep tails, and its own invariances."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.balls import gaussian_divergence as enclosed
from airtight.analytics.privacy.mechanisms import gaussian, gaussian_pair


@st.composite
def pairs(draw):
    """Two Gaussians and an epsilon between three standard deviations below and ten above the mean loss."""
    mu = draw(st.one_of(st.just(0.0), st.floats(-3, 1).map(lambda e: 10**e)))
    eta = 10 ** draw(st.floats(-2.5, 3))
    r = draw(st.sampled_from([1, 2, 3, 4, 8, 16, 100, 784]))
    assume((mu * (1 + 1 / eta)) ** 2 / (1 + eta) < 5e3)
    reverse = draw(st.booleans())
    if reverse:
        mean = mu**2 / 2 / (1 + eta) + r / 2 * (math.log1p(eta) - eta / (1 + eta))
        spread = math.sqrt(mu**2 + r / 2 * eta**2) / (1 + eta)
    else:
        mean = mu**2 / 2 + r / 2 * (eta - math.log1p(eta))
        spread = math.sqrt(mu**2 * (1 + eta) + r / 2 * eta**2)
    epsilon = abs(mean + draw(st.floats(-3, 10)) * spread)
    assume(epsilon < 3000)
    wide, narrow = 1 + eta, 1.0
    vp, vq = (narrow, wide) if reverse else (wide, narrow)
    return {"epsilon": epsilon, "distance": mu, "variance_p": vp, "variance_q": vq, "dimension": r}


@settings(max_examples=80)
@given(pairs())
def test_inside_the_stated_error_of_the_enclosure(pair):
    low, high = (float(end) for end in gaussian_pair.log_bracket(**pair))
    truth = enclosed.hockey_stick(**pair)
    if not truth > 0:
        assert high < -1e4 or high == -math.inf
        return
    assert low <= float(truth.log().upper()) and float(truth.log().lower()) <= high
    assert high - low < 1e-8 or high > low + 1e300


def test_deep_tails_against_mpmath():
    """delta = 1e-100 and far below: an integral of (1 - exp(eps - L)) over the central chi-square law, distance 0."""
    r, eta = 784, 0.1
    for epsilon in (60.0, 150.0, 400.0, 2000.0):
        with mp.workdps(50):
            e, h = mp.mpf(epsilon), mp.mpf(r) / 2
            least = (2 / mp.mpf(eta)) * (e + h * mp.log1p(mp.mpf(eta)))
            tail = mp.gammainc(h, least / 2, mp.inf, regularized=True)
            other = mp.gammainc(h, least / 2 * (1 + mp.mpf(eta)), mp.inf, regularized=True)
            truth = mp.log(tail - mp.exp(e) * other)
        value = float(
            gaussian_pair.log_hockey_stick(epsilon, distance=0.0, variance_p=1 + eta, variance_q=1.0, dimension=r)
        )
        assert value == pytest.approx(float(truth), rel=1e-12)
    assert value < -1000


def test_small_difference_of_variances_is_the_gaussian_mechanism():
    for eta in (1e-8, 1e-12, 1e-100, 1e-300):
        value = float(
            gaussian_pair.log_hockey_stick(2.0, distance=1.0, variance_p=1e-4 * (1 + eta), variance_q=1e-4, dimension=3)
        )
        expected = float(gaussian.log_delta(2.0, sensitivity=100.0, sigma=1.0))
        assert value == pytest.approx(expected, rel=1e-6, abs=1e-12)


@given(pairs(), st.floats(1e-6, 1e6))
def test_scale_does_not_matter(pair, scale):
    scaled = {
        **pair,
        "distance": pair["distance"] * scale,
        "variance_p": pair["variance_p"] * scale**2,
        "variance_q": pair["variance_q"] * scale**2,
    }
    one, other = (float(gaussian_pair.log_hockey_stick(**p)) for p in (pair, scaled))
    assume(one > -1e4)
    assert other == pytest.approx(one, rel=1e-7, abs=1e-8)


@given(pairs(), st.floats(0, 1), st.integers(0, 50))
def test_grows_with_distance_and_dimension_falls_with_epsilon(pair, more, coordinates):
    value = float(gaussian_pair.log_hockey_stick(**pair))
    slack = 1e-8 * max(1.0, abs(value))
    farther = {**pair, "distance": pair["distance"] + more}
    larger = {**pair, "dimension": pair["dimension"] + coordinates}
    later = {**pair, "epsilon": pair["epsilon"] + more}
    if value == -math.inf:
        return
    assert gaussian_pair.log_hockey_stick(**farther) >= value - slack
    assert gaussian_pair.log_hockey_stick(**larger) >= value - slack
    assert gaussian_pair.log_hockey_stick(**later) <= value + slack


@given(pairs())
def test_the_two_directions_are_tied_at_epsilon_zero(pair):
    """At epsilon = 0 both are the total variation distance."""
    forward = float(gaussian_pair.log_hockey_stick(**{**pair, "epsilon": 0.0}))
    swapped = {**pair, "epsilon": 0.0, "variance_p": pair["variance_q"], "variance_q": pair["variance_p"]}
    assert float(gaussian_pair.log_hockey_stick(**swapped)) == pytest.approx(forward, rel=1e-9, abs=1e-11)


def test_slope_by_differences():
    for reverse in (False, True):
        for epsilon in (0.05, 0.5, 2.0, 6.0):
            arguments = [np.array([x]) for x in (0.7, 1.0, 0.3, 9.0)]
            step = 1e-5
            values = [
                gaussian_pair.log_curve(np.array([epsilon + s]), *arguments, reverse=reverse)[0][0]
                for s in (-step, step)
            ]
            slope = gaussian_pair.log_curve(np.array([epsilon]), *arguments, reverse=reverse)[1][0]
            if np.all(np.isfinite(values)):
                assert slope == pytest.approx((values[1] - values[0]) / (2 * step), rel=1e-5)


def test_losses_within_rounding_of_the_greatest():
    """N(0, 1) against N(d, 2): the loss never exceeds a constant, beyond which the divergence is 0."""
    greatest = 0.5 * (2 * math.log(2.0) + 1.0)
    at = [greatest * (1 + s) for s in (-1e-3, -1e-9, -1e-14, 0.0, 1e-14, 1e-3)]
    values = gaussian_pair.log_hockey_stick(at, distance=1.0, variance_p=1.0, variance_q=2.0, dimension=2)
    assert np.all(np.diff(values[np.isfinite(values)]) <= 0)
    assert values[0] > -20 and values[-1] == -np.inf and not np.any(np.isnan(values))


@pytest.mark.parametrize(
    ("vp", "vq", "d", "expected"),
    [(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0), (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0)],
)
def test_point_masses(vp, vq, d, expected):
    value = gaussian_pair.log_hockey_stick(3.0, distance=d, variance_p=vp, variance_q=vq, dimension=2)
    assert math.exp(value) == expected


@pytest.mark.parametrize("dimension", [1, 3, 25088])
@pytest.mark.parametrize("exponent", [2, 6, 12, 20, 40])
def test_tiny_gaps_of_variance_alone(dimension, exponent):
    """Distance 0: only the variance tells the laws apart, however little."""
    gap = 10.0**-exponent
    for deviations in (0.0, 0.5, 2.0, 6.0):
        epsilon = deviations * gap * math.sqrt(dimension / 2)
        for reverse in (False, True):
            arguments = [np.array([x]) for x in (epsilon, 0.0, 1.0, gap, float(dimension))]
            value, _, error = (float(x[0]) for x in gaussian_pair.log_curve(*arguments, reverse=reverse))
            wide, narrow = 1 + Fraction(gap), Fraction(1)
            vp, vq = (narrow, wide) if reverse else (wide, narrow)
            truth = enclosed.hockey_stick(epsilon, distance=0, variance_p=vp, variance_q=vq, dimension=dimension)
            if truth > 0:
                assert abs(value - float(truth.log())) <= error
            else:
                assert value == -math.inf


def test_bad_input():
    good = {"distance": 1.0, "variance_p": 1.0, "variance_q": 2.0, "dimension": 3}
    for name, value in (
        ("distance", -1.0),
        ("variance_p", math.nan),
        ("variance_q", math.inf),
        ("dimension", 0),
        ("dimension", 1.5),
    ):
        with pytest.raises(ParameterError) as caught:
            gaussian_pair.log_hockey_stick(1.0, **{**good, name: value})
        assert caught.value.name == name


@pytest.mark.parametrize("mu, eta", [(4.94e-8, 2.69e-169), (1.81e-60, 8.71e-172), (1e-200, 1e-300), (1e-9, 1e-309)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("r", [1, 784])
def test_variances_that_hardly_differ_leave_the_gaussian_mechanism(mu, eta, reverse, r):
    epsilon = np.array([0.0, mu])
    one = np.ones(2)
    value, _, error = gaussian_pair.log_curve(epsilon, mu * one, one, eta * one, r * one, reverse=reverse)
    truth = gaussian.log_curve(epsilon, mu * one)[0]
    assert np.all(value + error >= truth - 1e-11) and np.all(value - error <= truth + 1e-11)
    assert np.all(error < 1e-10) or eta < 1e-308
