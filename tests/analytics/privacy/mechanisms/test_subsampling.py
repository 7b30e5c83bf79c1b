"""Random participation against numerical integration."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from mpmath import mp
from scipy import stats

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.privacy.mechanisms import gaussian, subsampling
from airtight.analytics.privacy.over_the_air.participation_mixture import hidden_divergence
from airtight.validate.claims.reference_integrals import mixture_divergence

eps = st.floats(0, 5)
prob = st.floats(0.01, 1)


@given(st.floats(0, 700), st.floats(1e-300, 1))
def test_amplified_and_back(epsilon, p):
    amplified = float(subsampling.amplified(epsilon, p))
    assert 0 <= amplified <= epsilon * (1 + 1e-12)
    assume(amplified > 1e-290)
    assert float(subsampling.unamplified(amplified, p)) == pytest.approx(epsilon, rel=1e-9)


@given(st.floats(0, 700), st.floats(1e-300, 1e300))
@example(500.0, 1e100)
@example(599.9, 1e300)
def test_amplified_against_400_digits(epsilon, p):
    with mp.workdps(400):
        truth = float(mp.log1p(mp.mpf(p) * mp.expm1(epsilon)))
    assert float(subsampling.amplified(epsilon, p)) == pytest.approx(truth, rel=1e-14)


@given(eps, prob, st.floats(0.05, 5))
def test_subsampled_gaussian(epsilon, p, mu):
    first, second = [(p, mu, 1.0), (1 - p, 0.0, 1.0)], [(1.0, 0.0, 1.0)]
    truth = max(mixture_divergence(epsilon, first, second), mixture_divergence(epsilon, second, first))
    value = math.exp(float(subsampling.subsampled_gaussian_log_delta(epsilon, p=p, mu=mu)))
    assert value == pytest.approx(truth, rel=1e-7, abs=1e-13)


@given(eps, prob, st.floats(0.05, 5))
def test_opposite_gaussians(epsilon, p, mu):
    first, second = ([(p, m, 1.0), (1 - p, 0.0, 1.0)] for m in (mu / 2, -mu / 2))
    value = math.exp(float(subsampling.opposite_gaussians_log_delta(epsilon, p=p, mu=mu)))
    assert value == pytest.approx(mixture_divergence(epsilon, first, second), rel=1e-7, abs=1e-13)


@given(eps, prob, st.floats(0.05, 4), st.floats(0, 1), st.floats(0, math.pi))
def test_opposite_features_are_the_worst_pair(epsilon, p, mu, length, angle):
    """Any other pair of features of norm at most mu/2, in the plane, by a grid."""
    a = mu / 2
    x = np.linspace(-9, 9, 361)
    X, Y = np.meshgrid(x, x)
    area = (x[1] - x[0]) ** 2

    def density(u, v):
        return np.exp(-((X - u) ** 2 + (Y - v) ** 2) / 2) / (2 * np.pi)

    P = p * density(a, 0) + (1 - p) * density(0, 0)
    Q = p * density(length * a * math.cos(angle), length * a * math.sin(angle)) + (1 - p) * density(0, 0)
    other = float(np.sum(np.maximum(P - math.exp(epsilon) * Q, 0))) * area
    worst = math.exp(float(subsampling.opposite_gaussians_log_delta(epsilon, p=p, mu=mu)))
    assert other <= worst + 1e-4


@given(eps, prob, st.floats(0.1, 3), st.floats(0.2, 3), st.floats(0.01, 3), st.booleans())
def test_hidden_participation_in_one_dimension(epsilon, p, distance, variance, noise, replace):
    near, far = (distance / 2, -distance / 2) if replace else (distance, 0.0)
    first, second = ([(p, m, variance + noise), (1 - p, 0.0, variance)] for m in (near, far))
    truth = max(mixture_divergence(epsilon, first, second), mixture_divergence(epsilon, second, first))
    value = hidden_divergence.delta(
        epsilon, p=p, distance=distance, variance=variance, noise=noise, dimension=1, replace=replace
    )
    assert value == pytest.approx(truth, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("replace", [False, True])
def test_hidden_participation_in_five_dimensions(replace):
    """A grid over (x_1, norm of the rest)."""
    epsilon, p, d, v, s, r = 0.7, 0.4, 1.3, 1.1, 0.9, 5
    x = np.linspace(-16, 16, 2401)
    rho = np.linspace(1e-6, 16, 1601)
    X, R = np.meshgrid(x, rho)

    def density(mean, variance):
        root = math.sqrt(variance)
        return stats.norm.pdf(X, mean, root) * stats.chi.pdf(R / root, r - 1) / root

    near, far = (d / 2, -d / 2) if replace else (d, 0.0)
    P, Q = (p * density(m, v + s) + (1 - p) * density(0, v) for m in (near, far))
    cell = (x[1] - x[0]) * (rho[1] - rho[0])
    truth = max(float(np.sum(np.maximum(A - math.exp(epsilon) * B, 0))) for A, B in ((P, Q), (Q, P))) * cell
    value = hidden_divergence.delta(epsilon, p=p, distance=d, variance=v, noise=s, dimension=r, replace=replace)
    assert value == pytest.approx(truth, rel=1e-5)


def test_certain_participation_is_the_gaussian_mechanism():
    for replace in (False, True):
        value = hidden_divergence.delta(
            1.0, p=1.0, distance=2.0, variance=1.0, noise=3.0, dimension=50, replace=replace
        )
        assert value == pytest.approx(float(gaussian.delta(1.0, sensitivity=2.0, sigma=2.0)), rel=1e-9)


def test_deep_tail_where_discretised_accountants_give_infinity():
    for target in (1e-50, 1e-250):
        epsilon = float(gaussian.epsilon(target / 0.01, sensitivity=1.0, sigma=1.0))
        amplified = subsampling.amplified(epsilon, 0.01)
        value = float(subsampling.subsampled_gaussian_log_delta(amplified, p=0.01, mu=1.0))
        assert value == pytest.approx(math.log(target), rel=1e-10)


def test_peer_gives_infinity_in_that_tail():
    pytest.importorskip("dp_accounting")
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.pld import PLDAccountant

    event = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0))
    accountant = PLDAccountant(value_discretization_interval=1e-3).compose(event)
    ours = float(subsampling.amplified(gaussian.epsilon(1e-6 / 0.01, sensitivity=1.0, sigma=1.0), 0.01))
    assert ours <= accountant.get_epsilon(1e-6) <= ours * 1.01 + 1e-3
    assert accountant.get_epsilon(1e-50) == math.inf


def test_bad_input():
    with pytest.raises(ParameterError, match="p = "):
        subsampling.unamplified(1.0, 0.0)
    with pytest.raises(ParameterError, match="mu"):
        subsampling.subsampled_gaussian_log_delta(1.0, p=0.5, mu=-1.0)
    with pytest.raises(ParameterError, match="variance"):
        hidden_divergence.delta(1.0, p=0.5, distance=1.0, variance=0.0, noise=1.0, dimension=1)


def test_every_record_in_the_sample_at_huge_epsilons():
    """delta at epsilon 800 was 0 for a release that reveals with probability 1/2: infinity times 0 counted as nothing."""
    reveals = airtight.discrete_pair([1.0, 0.0], [0.5, 0.5])
    sampled = airtight.subsampled(reveals, 1.0)
    assert sampled.delta(800.0) >= 0.5 and sampled.compose(3).delta(2000.0) >= 0.875
    assert sampled.epsilon(0.3) == math.inf and sampled.compose(3).epsilon(0.3) == math.inf
    loud = airtight.subsampled(50.0, 1.0).bracket(epsilon=800.0, direction="reverse")
    assert 1 - 1e-9 <= loud.lower <= 1 and loud.upper == 1
