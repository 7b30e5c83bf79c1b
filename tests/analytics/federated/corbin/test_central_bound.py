"""The closed form for a replaced update, against laws of the count for any updates of the others, and against what is exact."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.distributions import poisson_binomial
from airtight.analytics.federated.corbin import central_bound, central_privacy

LOCAL = st.floats(0.01, 4.0)


def chances(rng, others, local):
    """Probabilities of a plus among the others, some at the ends, some not."""
    low, high, _ = central_privacy.interval(local)
    return np.clip(rng.uniform(low - 0.2, high + 0.2, others), low, high)


def delta_of(noise, local, epsilon, parameters):
    """delta of an unpaired client whose parameters all move from one end to the other, by the law of every count."""
    low, high, _ = central_privacy.interval(local)
    joint = [(np.ones(1), np.ones(1))]
    for law in noise[:parameters]:
        p, q = np.convolve(law, [low, high]), np.convolve(law, [high, low])
        joint = [(np.outer(a, p).ravel(), np.outer(b, q).ravel()) for a, b in joint]
    ((a, b),) = joint
    return max(np.maximum(x - math.exp(epsilon) * y, 0).sum() for x, y in ((a, b), (b, a)))


@settings(max_examples=25, deadline=None)
@given(st.integers(100, 300), LOCAL, st.integers(1, 2), st.floats(0.02, 0.5), st.integers(0, 10**6))
def test_any_updates_of_the_others(others, local, parameters, delta, seed):
    rng = np.random.default_rng(seed)
    noise = [poisson_binomial.pmf(chances(rng, others, local)) for _ in range(parameters)]
    epsilon = central_bound.proven(others, parameters, epsilon=local, client="unpaired", delta=delta)
    assert delta_of(noise, local, epsilon, parameters) <= delta


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 20_000),
    st.integers(1, 50),
    LOCAL,
    st.sampled_from(["paired", "unpaired"]),
    st.floats(-9, -0.5),
)
def test_never_below_the_exact_value(others, parameters, local, client, exponent):
    given = {"epsilon": local, "client": client, "delta": 10.0**exponent}
    exact = central_privacy.update_epsilon(others, parameters, **given)
    proven = central_bound.proven(others, parameters, **given)
    assert proven >= exact * (1 - 0.014) or proven == math.inf, "update_epsilon is itself up to 1.4 % too large"


def test_the_loss_in_the_proof():
    """The moved count's loss is 2 artanh((S+1)/(M+1)), by the binomial law; and the tails that are granted are kept."""
    from scipy import stats

    M, moved, delta = 900, 5, 1e-3
    z = np.arange(1, M + 1)
    law = stats.binom(M, 0.5)
    loss = law.logpmf(z - 1) - law.logpmf(z)
    assert np.allclose(loss, 2 * np.arctanh((2 * (z - 1) - M + 1) / (M + 1)), atol=1e-9)
    cut = math.sqrt(2 * M * math.log(6 * moved / delta))
    assert moved * law.sf((M + cut) / 2 - 1e-9) <= delta / 6
    slope = 2 / (M + 1) / (1 - ((cut + 1) / (M + 1)) ** 2)
    inside = np.clip(2 * np.arange(M + 1) - M, -cut, cut)
    cut_off = 2 * np.arctanh((inside + 1) / (M + 1))
    assert law.pmf(np.arange(M + 1)) @ cut_off <= slope
    assert np.max(np.diff(cut_off)) <= 2 * slope


def test_the_shape_of_the_formula():
    alone = {"epsilon": 1.0, "client": "unpaired", "delta": 1e-5}
    assert central_bound.proven(3999, 1, **alone) == pytest.approx(0.230, abs=5e-4)
    assert central_bound.proven(10**8, 1, **alone) == pytest.approx(
        math.sqrt(8 * math.log(2e5) / (1e8 * (1 - math.tanh(0.5)))), rel=2e-3
    )
    many = [central_bound.proven(10**6, m, **alone) for m in (10, 1000, 10**5)]
    assert many == sorted(many)
    assert central_bound.proven(10**6, 10, rounds=100, **alone) == many[1]
    assert central_bound.proven(9, 2, **alone) == 2.0, "an unpaired client never needs more than its local guarantee"
    assert central_bound.proven(9, 2, epsilon=1.0, client="paired", delta=1e-5) == math.inf
    assert central_bound.proven(0, 1, **alone) == 1.0


@pytest.mark.parametrize(
    "change, name",
    [
        ({"delta": 0.0}, "delta"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"client": "x"}, "client"),
        ({"rounds": 0}, "rounds"),
    ],
)
def test_bad_input(change, name):
    with pytest.raises(ParameterError, match=name):
        central_bound.proven(10, 1, **{"epsilon": 1.0, "client": "paired", "delta": 1e-5, **change})


@pytest.mark.parametrize("delta", [0.9, 0.99])
def test_epsilon_is_zero_where_updates_differ_less_often_than_delta(delta):
    """J = 0: the logarithm of 6 J / delta was an error; the two updates then give the same outputs but for delta/6."""
    assert central_bound.proven(10, 1, epsilon=0.01, client="unpaired", delta=delta) == 0.0
    assert central_privacy.update_epsilon(10, 1, epsilon=0.01, client="unpaired", delta=delta) == 0.0


@pytest.mark.parametrize("delta", [5e-324, 1e-310, 1e-308])
def test_the_least_deltas(delta):
    """6 J / delta is no double."""
    assert central_bound.proven(10, 3, epsilon=1.0, client="unpaired", delta=delta) == 3.0
    found = central_bound.proven(10**6, 3, epsilon=1.0, client="paired", delta=delta)
    assert central_bound.proven(10**6, 3, epsilon=1.0, client="paired", delta=1e-300) <= found < 1.0
