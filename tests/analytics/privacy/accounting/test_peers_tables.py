"""What other accountants' own tests expect, reproduced: values and cases copied from their test files, as cited."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import airtight
from airtight.analytics.privacy.accounting import composition_theorems
from airtight.analytics.privacy.mechanisms import gaussian

E = math.e


def laplace(*scales_and_counts):
    return airtight.compose([airtight.laplace(1 / b) for b, _ in scales_and_counts], [n for _, n in scales_and_counts])


# dp-accounting 0.6.0, dp_accounting/pld/pld_privacy_accountant_test.py


@pytest.mark.parametrize(
    "curve, epsilon, delta, tolerance",
    [
        (airtight.gaussian(1 / math.sqrt(3)).compose(3), 1.0, 0.126936, 1e-6),  # test_gaussian_basic
        (airtight.subsampled(2.0, 0.2).compose(3), 1.0, 0.15594, 2e-5),  # test_poisson_subsampled_gaussian
    ],
)
def test_dp_accounting_composed(curve, epsilon, delta, tolerance):
    low, high = curve.bracket(epsilon=epsilon, width=1e-5)
    assert low - tolerance <= delta <= high + tolerance and high - low < tolerance


@pytest.mark.parametrize(
    "curve, epsilon",
    [
        (laplace((1.0, 3), (2.0, 2)), 4.0),  # test_laplace_basic
        (airtight.subsampled(airtight.laplace(2.0), 0.2).compose(3), 2.46964),  # test_poisson_subsampled_laplace
        (airtight.randomized_response(1.0, 4), 1.0),  # test_randomized_response, REPLACE_ONE
    ],
)
def test_dp_accounting_pure(curve, epsilon):
    assert float(curve.epsilon(0.0)) == pytest.approx(epsilon, abs=1e-5)


# dp_accounting/pld/accountant_test.py


@pytest.mark.parametrize("sensitivity, count, deviation", [(1, 1, 1 / 3), (6, 25, 10)])
def test_dp_accounting_gaussian_noise(sensitivity, count, deviation):
    """test_get_smallest_gaussian_noise: epsilon 1 at delta .78760074."""
    curve = airtight.gaussian(sensitivity / deviation).compose(count)
    assert float(curve.delta(1.0)) == pytest.approx(0.78760074, abs=1e-8)


@pytest.mark.parametrize(
    "sensitivity, count, p, deviation", [(1, 1, 0.01, 0.67379294682), (6, 25, 0.001, 3.20956502598)]
)
def test_dp_accounting_subsampled_noise(sensitivity, count, p, deviation):
    """test_get_smallest_subsampled_gaussian_noise: epsilon 1 at delta 1e-5; theirs is to seven places above a coarse grid."""
    low, high = airtight.subsampled(sensitivity / deviation, p).compose(count).bracket(epsilon=1.0)
    assert low * 0.98 <= 1e-5 and high == pytest.approx(1e-5, rel=0.02)


@pytest.mark.parametrize("delta, total, epsilon", [(0.0, 0.0, 30), (0.001, 0.06, 22), (0.001, 0.1, 20)])
def test_dp_accounting_optimal_composition(delta, total, epsilon):
    """test_advanced_composition: 30 of epsilon 1; theirs is the least of the multiples of 2."""
    found = composition_theorems.optimal_epsilon(1.0, delta, count=30, total_delta=total)
    assert epsilon - 2 < found <= epsilon * (1 + 1e-12)
    assert composition_theorems.optimal_epsilon(1.0, 0.01, count=30, total_delta=0.26) == math.inf


# prv_accountant 0.2.0, tests/test_accountant.py


@pytest.mark.parametrize("count", [10_000, 10_001, 10_002])
def test_prv_accountant_homogeneous(count):
    """test_gaussian_mechanism_analytic_homogeneous, on the grid of subsampled releases that happen for certain."""
    exact = float(gaussian.delta(4.0, sensitivity=math.sqrt(count) / 100, sigma=1.0))
    low, high = airtight.subsampled(0.01, 1.0).compose(count).bracket(epsilon=4.0)
    assert low <= exact <= high < low * 1.01


def test_prv_accountant_heterogeneous():
    exact = float(gaussian.delta(4.0, sensitivity=math.sqrt(50 / 10**2 + 50 / 5**2), sigma=1.0))
    both = airtight.compose([airtight.subsampled(0.1, 1.0), airtight.subsampled(0.2, 1.0)], [50, 50])
    low, high = both.bracket(epsilon=4.0)
    assert low <= exact <= high < low * 1.01


def test_prv_accountant_refuses_and_varies():
    """test_throw_error_small_delta raises there; test_invariance_max_compositions allows 1e-3."""
    low, high = airtight.subsampled(1 / 4, 0.00038).compose(1000).bracket(delta=1.13e-18)
    assert 0 < low < high < low * 1.002
    low, high = airtight.subsampled(1 / 0.9, 256 / 100_000).compose(4900).bracket(delta=1e-5)
    assert high - low < 1e-3 * high


# riskcal (bogdan-kulynych/riskcal), tests/test_conversions.py and tests/test_pld.py


def test_riskcal_conversions():
    """test_get_beta_matches_analytic_curve, test_get_advantage_matches_analytic_matching_expression: mu = 2."""
    curve, alpha = airtight.gaussian(2.0), np.array([0.1, 0.2, 0.3])
    assert curve.beta(alpha) == pytest.approx(ndtr(ndtri(1 - alpha) - 2.0), rel=1e-9)
    assert curve.advantage() == pytest.approx(2 * ndtr(1.0) - 1, rel=1e-12)


@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_riskcal_advantage_and_error_rates(mu):
    """test_advantage_calibration_correctness: errors alike are (1 - advantage)/2; sampling .001, 10000 steps."""
    curve = airtight.subsampled(mu, 0.001).compose(10_000)
    alpha = (1 - curve.advantage()) / 2
    assert float(curve.beta(alpha, envelope=True)) == pytest.approx(alpha, abs=3e-4)


# Dong, Roth and Su, Gaussian differential privacy, J. R. Statist. Soc. B 84, 2022


def test_dong_roth_su():
    """Corollary 2.13 (delta of mu-GDP), Corollary 3.3 (composition), Theorem 4.2 (subsampling, p f + (1-p) Id)."""
    mu, alpha, p = 1.0, np.array([0.01, 0.2, 0.45]), 0.3
    curve = airtight.gaussian(mu)
    assert float(curve.delta(1.0)) == pytest.approx(ndtr(-1 + 0.5) - E * ndtr(-1 - 0.5), rel=1e-12)
    assert airtight.compose([airtight.gaussian(3.0), airtight.gaussian(4.0)]).beta(alpha) == pytest.approx(
        ndtr(ndtri(1 - alpha) - 5.0), rel=1e-8
    )
    mixed = p * ndtr(ndtri(1 - alpha) - mu) + (1 - p) * (1 - alpha)
    assert airtight.subsampled(mu, p).beta(alpha, direction="forward") == pytest.approx(mixed, rel=1e-6)
