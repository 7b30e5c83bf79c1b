"""The Gaussian mechanism against mpmath, against itself backwards, and at the ends of its domain."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.privacy.mechanisms import gaussian, gaussian_point, laplace


def reference(epsilon, mu, digits=420):
    with mp.workdps(digits):
        e, m = mp.mpf(float(epsilon)), mp.mpf(float(mu))
        return mp.log(mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m))


@st.composite
def points(draw):
    """(epsilon, mu) with delta above 1e-300 and epsilon in [0, 700]."""
    mu = 10 ** draw(st.floats(-9, 3))
    a = draw(st.floats(-8, 36))
    epsilon = mu * (a + mu / 2)
    if not 0 <= epsilon <= 700:
        epsilon = draw(st.sampled_from([0.0, 1e-9, 1.0, 30.0, 700.0]))
    assume(epsilon / mu - mu / 2 < 36.5)
    return epsilon, mu


@given(points())
def test_log_delta_has_relative_error_below_1e_10(point):
    epsilon, mu = point
    value = float(gaussian.log_delta(epsilon, sensitivity=mu, sigma=1.0))
    assert abs(value - reference(epsilon, mu)) < 1e-11


@given(points())
def test_epsilon_is_safe_and_tight(point):
    epsilon, mu = point
    target = math.exp(float(reference(epsilon, mu)))
    assume(0 < target < 1)
    found = float(gaussian.epsilon(target, sensitivity=mu, sigma=1.0))
    if found > 0:
        assert reference(found, mu) <= mp.log(mp.mpf(target))
    step = 1e-6 * max(epsilon, mu)
    slope = float(reference(epsilon + step, mu) - reference(epsilon, mu)) / step
    assert found - epsilon <= 1e-10 * max(epsilon, 1 / abs(slope))


@given(points())
def test_sigma_is_safe_and_tight(point):
    epsilon, mu = point
    target = math.exp(float(reference(epsilon, mu)))
    assume(0 < target < 1 - 1e-6)
    sigma = float(gaussian.sigma(epsilon, target, sensitivity=1.0))
    assert reference(epsilon, 1 / mp.mpf(sigma)) <= mp.log(mp.mpf(target))
    assert abs(sigma * mu - 1) < 1e-8


def test_extreme_tails():
    deep = float(gaussian.log_delta(30.0, sensitivity=1.0, sigma=1.0))
    assert deep == pytest.approx(float(reference(30, 1)), rel=1e-12)
    assert float(gaussian.epsilon(1e-300, sensitivity=1.0, sigma=1.0)) == pytest.approx(37.448847912139, rel=1e-12)
    assert float(gaussian.sigma(10.0, 1e-100, sensitivity=1.0)) == pytest.approx(2.13273662, rel=1e-8)


def test_ends_of_the_domain():
    assert gaussian.delta([0.0, np.inf], sensitivity=1.0, sigma=0.0).tolist() == [1.0, 0.0]
    assert gaussian.delta(0.0, sensitivity=0.0, sigma=0.0) == 0.0
    assert gaussian.epsilon([0.5, 1.0], sensitivity=1.0, sigma=0.0).tolist() == [np.inf, 0.0]
    assert gaussian.epsilon(0.5, sensitivity=1e300, sigma=1e-300) == np.inf
    assert gaussian.epsilon(1e-5, sensitivity=0.0, sigma=0.0) == 0.0
    assert gaussian.sigma(np.inf, 1e-5, sensitivity=1.0) == 0.0
    assert gaussian.sigma(1.0, 1.0, sensitivity=1.0) == 0.0
    for sensitivity in (1e-300, 1e-9, 1e9):
        delta = gaussian.delta(0.0, sensitivity=sensitivity, sigma=1.0)
        assert delta == pytest.approx(math.erf(sensitivity / math.sqrt(8)), rel=1e-12)


@given(st.lists(st.floats(0, 700), min_size=2, max_size=8), st.floats(1e-3, 1e3), st.floats(0, 10))
def test_delta_falls_with_epsilon_and_grows_with_sensitivity(epsilons, sensitivity, more):
    epsilons = np.sort(epsilons)
    values = gaussian.log_delta(epsilons, sensitivity=sensitivity, sigma=1.0)
    assert np.all(np.diff(values[np.isfinite(values)]) <= 1e-12)
    longer = gaussian.log_delta(epsilons, sensitivity=sensitivity + more, sigma=1.0)
    assert np.all(longer >= values - 1e-10 * np.maximum(1, np.abs(values)))


@given(st.floats(0, 50), st.floats(0.01, 20), st.floats(1e-6, 1e6))
def test_only_the_ratio_counts(epsilon, mu, scale):
    one = gaussian.log_delta(epsilon, sensitivity=mu, sigma=1.0)
    other = gaussian.log_delta(epsilon, sensitivity=mu * scale, sigma=scale)
    assert other == pytest.approx(float(one), rel=1e-9, abs=1e-12)


def test_classical_calibration_fails_where_the_ledger_says():
    def true_delta(epsilon, delta):
        mu = epsilon / math.sqrt(2 * math.log(1.25 / delta))
        assert gaussian.classical_epsilon(delta, sensitivity=mu, sigma=1.0) == pytest.approx(epsilon)
        return float(gaussian.delta(epsilon, sensitivity=mu, sigma=1.0))

    assert true_delta(8.41977, 1e-5) < 1e-5 < true_delta(8.41978, 1e-5)
    assert true_delta(6.771806, 1e-2) < 1e-2 < true_delta(6.771807, 1e-2)
    assert true_delta(10.0, 1e-5) == pytest.approx(2.2653743648e-5, rel=1e-9)


def test_agrees_with_dp_accounting():
    """Its privacy loss distribution is discretised pessimistically: a little above ours."""
    pytest.importorskip("dp_accounting")
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(value_discretization_interval=1e-4).compose(GaussianDpEvent(2.0))
    assert float(gaussian.epsilon(1e-6, sensitivity=1.0, sigma=2.0)) <= accountant.get_epsilon(1e-6) + 1e-9
    assert float(gaussian.epsilon(1e-6, sensitivity=1.0, sigma=2.0)) == pytest.approx(
        accountant.get_epsilon(1e-6), rel=1e-3
    )


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: gaussian.delta(-1.0, sensitivity=1.0, sigma=1.0), "epsilon"),
        (lambda: gaussian.delta(math.nan, sensitivity=1.0, sigma=1.0), "epsilon"),
        (lambda: gaussian.delta(1.0, sensitivity=-1.0, sigma=1.0), "sensitivity"),
        (lambda: gaussian.delta(1.0, sensitivity=1.0, sigma=math.nan), "sigma"),
        (lambda: gaussian.epsilon(0.0, sensitivity=1.0, sigma=1.0), "delta"),
        (lambda: gaussian.epsilon(1.5, sensitivity=1.0, sigma=1.0), "delta"),
        (lambda: gaussian.sigma(1.0, 1e-5, sensitivity=math.inf), "sensitivity"),
        (lambda: gaussian.sigma(math.nan, 1e-5, sensitivity=1.0), "epsilon"),
        (lambda: laplace.scale(0.0, sensitivity=1.0), "epsilon"),
        (lambda: laplace.epsilon(sensitivity=1.0, scale=math.nan), "scale"),
    ],
)
def test_bad_input(call, name):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.name == name


@given(st.floats(0, 20), st.floats(0.01, 10))
def test_laplace_delta_is_the_integral(epsilon, loss):
    """sup_A over half-lines of the Laplace densities at 0 and `loss`."""
    x = mp.mpf(loss) / 2 - mp.mpf(epsilon) / 2  # the likelihood ratio exceeds e^eps left of here
    truth = 0 if epsilon >= loss else 1 - mp.exp(-x) / 2 - mp.exp(mp.mpf(epsilon)) * mp.exp(x - mp.mpf(loss)) / 2
    assert float(laplace.delta(epsilon, sensitivity=loss, scale=1.0)) == pytest.approx(
        float(truth), rel=1e-9, abs=1e-15
    )
    assert laplace.delta(laplace.epsilon(sensitivity=loss, scale=2.0), sensitivity=loss, scale=2.0) == 0.0


def test_laplace_without_change_needs_no_noise():
    assert laplace.epsilon(sensitivity=0.0, scale=0.0) == 0.0 and laplace.epsilon(sensitivity=1.0, scale=0.0) == np.inf
    assert laplace.delta(np.inf, sensitivity=1.0, scale=1.0) == 0.0
    assert laplace.delta(0.0, sensitivity=1.0, scale=0.0) == 1.0


@given(points())
def test_one_point_and_many_agree_within_their_bounds(point):
    """The curve at one point comes from the standard library, at many from SciPy; both keep the same proved bound."""
    epsilon, mu = point
    value, slope, error = gaussian_point.curve(epsilon, mu)
    many = gaussian.log_curve(np.full(2, epsilon), np.full(2, mu))
    truth = reference(epsilon, mu)
    assert abs(value - truth) <= error
    assert abs(many[0][0] - truth) <= many[2][0]
    assert math.isclose(slope, many[1][0], rel_tol=1e-9)
    target = math.exp(float(truth))
    assume(0 < target < 1)
    one = gaussian_point.least_epsilon(math.log(target), mu)
    with mp.workdps(420):
        assert one == 0 or reference(one, mu) <= mp.mpf(math.log(target))
        lower = gaussian_point.below(one, math.log(target), mu)
        assert lower == 0 or reference(lower, mu) > mp.mpf(math.log(target))


@pytest.mark.parametrize("x", [-0.9, -1e-9, 0.0, 1e-300, 0.3, 1.0, 5.733, 6.297, 7.999, 8.0, 37.0, 1e8, 1e200])
def test_mills_ratio_and_its_slope(x):
    with mp.workdps(60 if x < 1e3 else 1000):
        ratio = mp.sqrt(mp.pi / 2) * mp.exp(mp.mpf(x) ** 2 / 2) * mp.erfc(x / mp.sqrt(2)) if x < 1e3 else 1 / mp.mpf(x)
        slope = 1 - x * ratio if x < 1e3 else 1 / mp.mpf(x) ** 2
        found = gaussian_point.mills(x)
        assert abs(found[0] / ratio - 1) < 1e-15
        assert slope < 1e-300 or abs(found[1] / slope - 1) < 1.4e-13


def test_without_noise_every_loss_is_infinite():
    curve = airtight.gaussian(math.inf)
    assert curve.delta([1.0, math.inf]).tolist() == [1.0, 1.0] and airtight.gaussian(1e300).delta(math.inf) == 0.0
    assert airtight.compose([curve, airtight.laplace(1.0)]).bracket(epsilon=math.inf).lower > 1 - 1e-12
