"""Composition: the ledger's numbers, brute force over randomised responses, and the order of the bounds."""

import itertools
import math

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.forms import gaussian_mechanism as gaussian_forms
from airtight.analytics.privacy.accounting import composition_theorems

EPSILON, DELTA = st.floats(1e-3, 3), st.floats(1e-9, 0.1)
MU = 1 / 5.099795013268831


def test_numbers_of_the_ledger():
    assert composition_theorems.advanced(0.95, 1e-5, count=200, slack=1e-5, improved=False).epsilon == pytest.approx(
        365.753, abs=5e-4
    )
    assert composition_theorems.advanced(0.95, 1e-5, count=200, slack=1e-5).epsilon == pytest.approx(
        148.492102, abs=5e-7
    )
    assert composition_theorems.optimal_epsilon(0.95, 1e-5, count=200, total_delta=2.01e-3) == pytest.approx(
        131.043336, abs=5e-7
    )
    assert composition_theorems.gaussian_zcdp(MU, count=200, delta=1e-5) == pytest.approx(17.151677, abs=1e-5)
    assert composition_theorems.gaussian_rdp(MU, count=200, delta=1e-5) == pytest.approx(16.102256, abs=2e-4)
    assert composition_theorems.gaussian_exact(MU, count=200, delta=1e-5) == pytest.approx(15.069269611, abs=1e-8)
    assert composition_theorems.gaussian_exact(MU, count=200, delta=2e-3) == pytest.approx(11.146015958, abs=1e-8)


@pytest.mark.parametrize("epsilon, true", [(0.95, 0.0042409), (0.5, 5.1160e-4), (0.1, 1.3064e-4)])
def test_where_the_printed_strong_composition_first_fails(epsilon, true):
    """UF-C2: at M = 12, not at 11."""
    for count, holds in ((11, True), (12, False)):
        claim = composition_theorems.strong_published(epsilon, 1e-5, count=count)
        exact = composition_theorems.optimal_delta(epsilon, 1e-5, count=count, total_epsilon=claim.epsilon)
        assert (exact <= claim.delta) is holds
    assert exact == pytest.approx(true, rel=1e-4)


@given(EPSILON, DELTA, st.integers(1, 6), st.floats(0, 1))
def test_optimal_against_every_outcome(epsilon, delta, count, share):
    """The extreme (epsilon, delta) mechanism has four outcomes; all products of them."""
    truth = 1 / (1 + math.exp(-epsilon))
    p = [delta, (1 - delta) * truth, (1 - delta) * (1 - truth), 0.0]
    q = [0.0, (1 - delta) * (1 - truth), (1 - delta) * truth, delta]
    total = share * count * epsilon
    exact = sum(
        max(math.prod(p[i] for i in o) - math.exp(total) * math.prod(q[i] for i in o), 0.0)
        for o in itertools.product(range(4), repeat=count)
    )
    found = composition_theorems.optimal_delta(epsilon, delta, count=count, total_epsilon=total)
    assert exact * (1 - 1e-9) - 1e-15 <= found <= exact * (1 + 1e-9) + 1e-13


@given(EPSILON, DELTA, st.integers(1, 300))
def test_optimal_is_least_and_inverts(epsilon, delta, count):
    slack = 1e-4
    for claim in (
        composition_theorems.basic(epsilon, delta, count=count),
        composition_theorems.advanced(epsilon, delta, count=count, slack=slack),
        composition_theorems.advanced(epsilon, delta, count=count, slack=slack, improved=False),
    ):
        best = composition_theorems.optimal_epsilon(epsilon, delta, count=count, total_delta=claim.delta)
        assert best <= claim.epsilon * (1 + 1e-9)
    total = min(count * delta + slack, 1.0)
    best = composition_theorems.optimal_epsilon(epsilon, delta, count=count, total_delta=total)
    assert composition_theorems.optimal_delta(epsilon, delta, count=count, total_epsilon=best) <= total * (1 + 1e-9)


@given(
    st.floats(-9, 2.5).map(lambda x: 10.0**x),
    st.one_of(st.just(0.0), st.floats(-300, -2).map(lambda x: 10.0**x)),
    st.integers(1, 40),
    st.one_of(st.floats(-17, -1).map(lambda x: (1, x)), st.floats(-250, -0.1).map(lambda x: (0, x))),
)
@example(10.547568093333206, 0.0, 3, (0, -249.84))  # no finite answer below 3 epsilon but by what rounding adds
@example(33.0, 0.0, 3, (0, -20.0))  # 1 - 1/(1 + e^-33) has two digits
@example(1.0, 1e-5, 20, (1, -17.0))
@example(22.44084611141753, 0.0, 32, (0, -2.2242))  # exp(-loss) of the rarest outcome overflows
@example(41.76266444146607, 0.0, 17, (0, -176.66))
def test_optimal_epsilon_is_never_too_small(epsilon, delta, count, level):
    """At the reported epsilon the delta, in 700 digits, is at most the asked one: near its floor and at very small ones."""
    with mpmath.workdps(700):
        eps, kept = mpmath.mpf(epsilon), (1 - mpmath.mpf(delta)) ** count
        near, exponent = level
        goal = float((1 - kept) * (1 + mpmath.mpf(10) ** exponent) if near else mpmath.mpf(10) ** exponent)
        found = composition_theorems.optimal_epsilon(epsilon, delta, count=count, total_delta=goal)
        if math.isinf(found):
            assert delta > 0 and goal <= (1 - kept) * (1 + mpmath.mpf(10) ** -14)
            return
        inner = (
            mpmath.fsum(
                mpmath.binomial(count, k) * max(mpmath.exp((count - k) * eps) - mpmath.exp(found + k * eps), 0)
                for k in range(count + 1)
            )
            / (1 + mpmath.exp(eps)) ** count
        )
        assert 1 - kept * (1 - inner) <= goal
        assert found <= count * epsilon * (1 + 1e-15)


def test_optimal_epsilon_where_probabilities_vanish():
    assert composition_theorems.optimal_epsilon(1e-3, 0.0, count=5000, total_delta=0.0) == pytest.approx(5.0, rel=1e-14)
    assert composition_theorems.optimal_epsilon(700.0, 0.0, count=2, total_delta=1e-300) == pytest.approx(
        1400.0, rel=1e-14
    )


@given(st.floats(1e-3, 2), st.integers(1, 1000), st.floats(1e-30, 0.1))
def test_gaussian_bounds_in_order(mu, count, delta):
    exact = composition_theorems.gaussian_exact(mu, count=count, delta=delta)
    renyi = composition_theorems.gaussian_rdp(mu, count=count, delta=delta)
    assert exact <= renyi * (1 + 1e-9) + 1e-9
    assert renyi <= composition_theorems.gaussian_zcdp(mu, count=count, delta=delta) * (1 + 1e-9)


def test_ends():
    assert composition_theorems.optimal_epsilon(1.0, 0.1, count=3, total_delta=0.1) == math.inf
    assert composition_theorems.optimal_epsilon(1.0, 0.0, count=3, total_delta=0.0) == pytest.approx(3.0)
    assert composition_theorems.optimal_epsilon(1.0, 1.0, count=1, total_delta=0.5) == math.inf
    assert composition_theorems.optimal_epsilon(1.0, 1.0, count=1, total_delta=1.0) == 0.0
    assert composition_theorems.strong_published(1.0, 0.0, count=2).epsilon == math.inf
    assert composition_theorems.gaussian_exact(0.0, count=10, delta=1e-5) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: composition_theorems.basic(-1.0, 0.1, count=1),
        lambda: composition_theorems.basic(math.nan, 0.1, count=1),
        lambda: composition_theorems.advanced(1.0, 0.1, count=0, slack=0.1),
        lambda: composition_theorems.advanced(1.0, 0.1, count=1, slack=0.0),
        lambda: composition_theorems.optimal_delta(1.0, 1.1, count=1, total_epsilon=1.0),
        lambda: composition_theorems.gaussian_exact(1.0, count=1, delta=0.0),
    ],
)
def test_bad_input(call):
    with pytest.raises(ParameterError):
        call()


@given(
    st.sampled_from([1, 2, 7]),
    st.floats(1e-9, 30),
    st.one_of(st.just(0.0), st.floats(-300, -0.05).map(lambda x: 10.0**x)),
    st.floats(0, 200),
)
def test_optimal_delta_is_never_too_small(count, epsilon, delta, goal):
    """Against the closed form at 50 digits; too large by 1e-13 at most."""
    true = gaussian_forms.optimal_delta(count).evaluate(epsilon=epsilon, delta=delta, total_epsilon=goal)
    found = composition_theorems.optimal_delta(epsilon, delta, count=count, total_epsilon=goal)
    assert true <= found <= float(true) + 1e-13


@given(st.integers(1, 60), st.floats(-4, 1.6), st.floats(0, 1), st.integers(0, 8))
def test_optimal_delta_next_to_a_loss(count, scale, share, units):
    """All of delta may be the last outcome's, at a few units in the last place from its loss: 1e-12 relative, or the units."""
    epsilon = 10.0**scale
    top = (count - 2 * int(share * count / 2)) * epsilon
    goal = top * (1 - units * 2.0**-53)
    with mpmath.workdps(700):
        eps, at = mpmath.mpf(epsilon), mpmath.mpf(goal)
        terms = [
            mpmath.binomial(count, k) * max(mpmath.exp((count - k) * eps) - mpmath.exp(at + k * eps), 0)
            for k in range(count + 1)
        ]
        true = mpmath.fsum(terms) / (1 + mpmath.exp(eps)) ** count
        found = composition_theorems.optimal_delta(epsilon, 0.0, count=count, total_epsilon=goal)
        assert true <= found <= true * (1 + mpmath.mpf("1e-12")) + 3e-15 * count * eps + 1e-297


def test_a_probability_is_at_most_one():
    assert composition_theorems.basic(0.1, 0.3, count=5).delta == 1.0
    assert composition_theorems.strong_published(0.1, 0.3, count=5).delta == 1.0
    assert composition_theorems.advanced(0.1, 0.3, count=5, slack=0.1).delta == 1.0
