"""Gaussian noise with an unseen sensitivity: both orders, against the half-line of the likelihood ratio at 60 digits."""

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

import airtight

DIGITS = 60


def divergence(weights, shifts, sigma, epsilon, reverse):
    """The outcomes above, or below, the place where the likelihood ratio is exp(epsilon)."""
    total = mpmath.fsum(map(mpmath.mpf, weights))
    p, mu = [mpmath.mpf(each) / total for each in weights], [mpmath.mpf(each) / mpmath.mpf(sigma) for each in shifts]
    target = mpmath.mpf(-epsilon if reverse else epsilon)
    if mpmath.fsum(share for share, m in zip(p, mu, strict=True) if m == 0) >= mpmath.exp(target):
        return mpmath.mpf(0)
    low, high = mpmath.mpf(-(10**5)), mpmath.mpf(10**5)
    for _ in range(230):
        t = (low + high) / 2
        above = mpmath.log(mpmath.fsum(q * mpmath.exp(m * t - m * m / 2) for q, m in zip(p, mu, strict=True))) > target
        low, high = (low, t) if above else (t, high)
    factor = mpmath.exp(mpmath.mpf(epsilon))
    if reverse:
        return mpmath.ncdf(t) - factor * mpmath.fsum(q * mpmath.ncdf(t - m) for q, m in zip(p, mu, strict=True))
    return mpmath.fsum(q * mpmath.ncdf(m - t) for q, m in zip(p, mu, strict=True)) - factor * mpmath.ncdf(-t)


@settings(max_examples=25, deadline=None)
@given(
    shifts=st.lists(st.one_of(st.just(0.0), st.floats(0.01, 8.0)), min_size=1, max_size=4),
    parts=st.lists(st.floats(1e-6, 1.0), min_size=4, max_size=4),
    sigma=st.floats(0.3, 5.0),
    epsilon=st.one_of(st.sampled_from([0.0, 1e-9]), st.floats(1e-3, 20.0)),
    reverse=st.booleans(),
)
def test_both_bounds_hold_in_both_orders(shifts, parts, sigma, epsilon, reverse):
    weights = (np.array(parts[: len(shifts)]) / np.sum(parts[: len(shifts)])).tolist()
    with mpmath.workdps(DIGITS):
        exact = divergence(weights, shifts, sigma, epsilon, reverse)
        curve = airtight.mixture_gaussian(shifts, weights, sigma)
        lower, upper = curve.bracket(epsilon=epsilon, direction="reverse" if reverse else "forward")
        assert lower - 1e-45 <= exact <= upper + 1e-45
        assert upper - lower <= 1e-5 * upper + 1e-40


def test_a_sample_of_one_gaussian_is_the_mixture_of_its_presence():
    mixture, sampled = airtight.mixture_gaussian([0.0, 1.0], [0.9, 0.1], 2.0), airtight.subsampled(0.5, 0.1)
    epsilons = np.array([0.0, 1e-6, 0.05, 0.5, 2.0, 20.0, np.inf, -1.0])
    for direction in ("forward", "reverse"):
        assert np.allclose(mixture.delta(epsilons, direction=direction), sampled.delta(epsilons, direction=direction), rtol=1e-9)
    assert mixture.epsilon(0.0, direction="reverse") == pytest.approx(-np.log(0.9), rel=1e-12)
    assert mixture.compose(50).epsilon(1e-6) == pytest.approx(float(sampled.compose(50).epsilon(1e-6)), rel=1e-3)
    assert airtight.PrivacyCurve.from_json(mixture.to_json()) == mixture


def test_the_event_of_dp_accounting_has_the_epsilon_of_the_peer():
    event = dp_event.MixtureOfGaussiansDpEvent(1.5, [0.0, 1.0, 2.0], [0.81, 0.18, 0.01])
    ours = airtight.PrivacyCurve.from_dp_accounting(dp_event.SelfComposedDpEvent(event, 10))
    peer = privacy_loss_distribution.from_mixture_gaussian_mechanism(
        1.5, [0.0, 1.0, 2.0], [0.81, 0.18, 0.01], value_discretization_interval=0.02
    )
    theirs = peer.self_compose(10).get_epsilon_for_delta(1e-6)
    assert ours.bracket(delta=1e-6).lower <= theirs * (1 + 1e-9) and ours.epsilon(1e-6) == pytest.approx(theirs, rel=1e-2)


def test_mixtures_at_extremes():
    assert airtight.mixture_gaussian([0.0], [1.0], 1.0).delta(0.0) == 0.0
    assert airtight.mixture_gaussian([3.0], [1.0], 3.0).delta(1.0) == pytest.approx(float(airtight.gaussian(1.0).delta(1.0)))
    tiny = airtight.mixture_gaussian([0.0, 1.0], [1 - 1e-12, 1e-12], 1.0)
    assert 0 < tiny.advantage() < 1e-12 and tiny.epsilon(1e-300) > 0
    assert airtight.mixture_gaussian([1e6, 0.0], [0.5, 0.5], 1.0).delta(700.0) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "arguments",
    [
        ([1.0], [0.5], 1.0),
        ([1.0, 2.0], [1.0], 1.0),
        ([-1.0], [1.0], 1.0),
        ([1.0], [1.0], 0.0),
        ([np.nan], [1.0], 1.0),
        ([1e9], [1.0], 1.0),
    ],
)
def test_what_is_no_mixture_is_refused(arguments):
    with pytest.raises(airtight.ParameterError, match=r"sensitivities|probabilities|sigma|mu"):
        airtight.mixture_gaussian(*arguments)
