"""A table of Renyi divergences as a curve: never below a curve that has these divergences, nor above the best of one order."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import airtight

TABLE = np.array([1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0])


@settings(max_examples=25, deadline=None)
@given(mu=st.floats(0.01, 3.0), count=st.integers(1, 4), share=st.floats(0.0, 3.0), loss=st.floats(0.01, 5.0))
def test_the_curve_is_above_every_curve_with_these_divergences(mu, count, share, loss):
    for true, epsilon in ((airtight.gaussian(mu), share * mu), (airtight.randomized_response(loss), share * loss / 3)):
        bound = airtight.from_renyi(TABLE, true.renyi(TABLE).upper).compose(count)
        assert true.compose(count).bracket(epsilon=epsilon).lower <= bound.delta(epsilon)
        assert bound.bracket(epsilon=epsilon).lower == 0


@pytest.mark.parametrize(
    ("order", "divergence", "epsilon"), [(2.0, 0.1, 1.0), (64.0, 3.0, 3.4), (1.001, 0.5, 700.0), (1e6, 1e-9, 1e-3)]
)
def test_one_order_is_the_published_conversion(order, divergence, epsilon):
    with mpmath.workdps(50):
        a, d, e = map(mpmath.mpf, (order, divergence, epsilon))
        exact = mpmath.exp((a - 1) * (d - e)) / (a - 1) * (1 - 1 / a) ** a
        exact = min(exact, mpmath.sqrt(d / 2), mpmath.sqrt(-mpmath.expm1(-d)))
        upper = airtight.from_renyi([order], [divergence]).delta(epsilon)
        assert exact <= upper <= exact * (1 + 1e-9) + 1e-300


def test_divergences_of_a_composition_are_added_first():
    bound = airtight.from_renyi(TABLE, TABLE * 0.005)
    whole = airtight.from_renyi(TABLE, TABLE * 0.05)
    assert bound.compose(10).epsilon(1e-6) == pytest.approx(whole.epsilon(1e-6), rel=1e-12)
    exact = airtight.gaussian(0.1).compose(10).epsilon(1e-6)
    assert exact <= bound.compose(10).epsilon(1e-6) <= 1.2 * exact
    beside = airtight.compose([bound, airtight.laplace(0.1)])
    assert bound.epsilon(1e-6) <= beside.epsilon(1e-6) <= bound.epsilon(1e-6) + 0.1 * (1 + 1e-3) + 0.01
    assert airtight.PrivacyCurve.from_json(bound.to_json()) == bound


def test_unknown_and_vanishing_divergences():
    nothing, silent = airtight.from_renyi([2.0], [np.inf]), airtight.from_renyi([2.0, 4.0], [0.0, np.inf])
    assert nothing.delta(5.0) == 1.0 and nothing.compose(3).delta(5.0) == 1.0
    assert silent.delta(0.0) == 0.0 and airtight.PrivacyCurve.from_json(nothing.to_json()) == nothing
    assert airtight.from_renyi([2.0], [1e-320]).compose(10**6).delta(0.0) > 0
    # a Gaussian whose mu^2 is the least double has this total variation, over sqrt(2 pi)
    assert airtight.from_renyi([2.0], [5e-324]).delta(0.0) >= np.sqrt(5e-324) / np.sqrt(2 * np.pi)


@pytest.mark.parametrize(
    ("orders", "divergences"),
    [([1.0], [0.1]), ([2.0], [-0.1]), ([2.0], [0.1, 0.2]), ([], []), ([np.nan], [1.0]), (2.0, 0.1)],
)
def test_what_is_no_table_is_refused(orders, divergences):
    with pytest.raises(airtight.ParameterError, match=r"order|divergence"):
        airtight.from_renyi(orders, divergences)
