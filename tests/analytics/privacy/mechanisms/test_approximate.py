"""A guarantee as a mechanism: its pair outcome by outcome, and the optimal composition, to hundreds of digits."""

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import airtight
from airtight.analytics.privacy.mechanisms.approximate import Approximate
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.mechanisms.laplace import Laplace

LOSSES = st.one_of(st.sampled_from([0.0, 1e-9, 700.0]), st.floats(1e-6, 30.0))
DELTAS = st.one_of(st.sampled_from([0.0, 1e-300, 1 - 2.0**-53]), st.floats(1e-12, 0.9))


def laws(loss, delta):
    """Both laws on the four outcomes of the guarantee."""
    odds = mpmath.exp(-mpmath.mpf(loss))
    truth = (1 - mpmath.mpf(delta)) / (1 + odds)
    lie = truth * odds
    return (mpmath.mpf(delta), truth, lie, 0), (0, lie, truth, mpmath.mpf(delta))


def optimal_delta(guarantees, epsilon):
    """The divergence of the composition of guarantees, over all outcomes (Murtagh and Vadhan)."""
    pairs = [list(zip(*laws(*each), strict=True)) for each in guarantees]
    outcomes = itertools.product(*pairs)
    factor = mpmath.exp(mpmath.mpf(epsilon))
    return sum(
        max(mpmath.fprod(p for p, _ in outcome) - factor * mpmath.fprod(q for _, q in outcome), 0) for outcome in outcomes
    )


@settings(max_examples=40, deadline=None)
@given(loss=LOSSES, delta=DELTAS, share=st.floats(0.0, 1.5))
def test_both_bounds_of_one_guarantee_hold(loss, delta, share):
    epsilon = min(share * max(loss, 1e-3), 700.0)
    with mpmath.workdps(400):
        exact = optimal_delta([(loss, delta)], epsilon)
        lower, upper = airtight.approximate(loss, delta).bracket(epsilon=epsilon)
        assert lower <= exact <= upper + mpmath.mpf(10) ** -390
        assert epsilon >= loss or (upper - lower) <= 1e-14 * upper + 1e-320


@settings(max_examples=20, deadline=None)
@given(guarantees=st.lists(st.tuples(st.floats(0.01, 3.0), st.floats(0, 0.1)), min_size=2, max_size=4), share=st.floats(0, 1))
def test_unlike_guarantees_compose_optimally(guarantees, share):
    epsilon = share * sum(loss for loss, _ in guarantees)
    with mpmath.workdps(400):
        exact = optimal_delta(guarantees, epsilon)
        lower, upper = airtight.compose(airtight.approximate(*each) for each in guarantees).bracket(epsilon=epsilon)
        assert lower <= exact * (1 + mpmath.mpf(10) ** -50) and exact <= upper


def test_the_guarantee_itself_is_exact_and_nothing_holds_below_its_delta():
    curve = airtight.approximate(0.7, 1e-6)
    assert 0.7 <= curve.epsilon(1e-6) < 0.7 * (1 + 1e-12) and curve.epsilon(np.nextafter(1e-6, 0)) == np.inf
    assert np.array_equal(curve.delta([0.7, 700.0, np.inf]), np.full(3, 1e-6))
    assert 0.7 <= airtight.approximate(0.7, 0.0).epsilon(0.0) < 0.7 * (1 + 1e-14)
    for everything in (airtight.approximate(np.inf, 0.0), airtight.approximate(1.0, 1.0)):
        assert everything.delta(1.0) == 1.0
    assert airtight.PrivacyCurve.from_json(curve.to_json()) == curve


def test_a_guarantee_covers_the_pairs_that_keep_it_and_no_others():
    guarantee = Approximate(1.0, 1e-3)
    assert guarantee.covers(Laplace(1.0)) and guarantee.covers(Approximate(0.9, 1e-3)) and guarantee.covers(Gaussian(0.3))
    assert not guarantee.covers(Laplace(1.1)) and not guarantee.covers(Approximate(0.9, 2e-3))
    assert not guarantee.covers(Gaussian(0.5)) and not Approximate(1.0, 1e-3, "a device").covers(Laplace(1.0, "another"))


@pytest.mark.parametrize(("epsilon", "delta"), [(-1.0, 0.1), (np.nan, 0.1), (1.0, 1.1), (1.0, -0.1), ("a", 0.1)])
def test_what_is_no_guarantee_is_refused(epsilon, delta):
    with pytest.raises(airtight.ParameterError, match=r"epsilon|delta"):
        airtight.approximate(epsilon, delta)
