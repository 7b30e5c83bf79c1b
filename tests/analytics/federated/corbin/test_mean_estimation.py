"""The error of the mean update: closed forms against simulation, all pairings, and the ledger's numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin import mean_estimation as mean
from airtight.analytics.federated.corbin import quantizers


def test_ledger_values():
    printed = [float(mean.published(1, epsilon=e)) for e in (0.1, 0.5, 1.0, 3.0)]
    assert printed == pytest.approx([219.85, 11.918, 4.0053, 1.2151], rel=1e-4)
    worst = [2 * float(mean.worst(2, epsilon=e)) for e in (0.1, 0.5, 1.0, 3.0)]
    assert worst == pytest.approx([38.033, 6.166, 2.3279, 0.61028], rel=1e-4)
    alone = [float(mean.worst_ldp(1, epsilon=e)) for e in (0.1, 0.5, 1.0, 3.0)]
    assert alone == pytest.approx([400.67, 16.671, 4.6827, 1.2206], rel=1e-4)


@pytest.mark.parametrize("bits", [None, 0, 2])
def test_simulated(bits):
    rng = np.random.default_rng(0)
    w, pairs = rng.uniform(-1, 1, 5), [[0, 3], [1, 4]]
    n = 300_000
    total = quantizers.ldpq(np.full(n, w[2]), epsilon=1.0, rng=rng)
    for i, j in pairs:
        first, second = quantizers.corbinq(np.full(n, w[i]), np.full(n, w[j]), epsilon=1.0, bits=bits, rng=rng)
        total = total + first + second
    square = (total / 5 - w.mean()) ** 2
    exact = mean.paired(w, pairs, epsilon=1.0, bits=bits)
    assert abs(square.mean() - exact) < 4.5 * square.std() / n**0.5


@given(st.integers(1, 40), st.integers(0, 10**6), st.floats(0.05, 10.0), st.floats(-3, 3), st.floats(0.01, 10))
def test_mean_over_pairings_by_double_sum(n, seed, epsilon, center, radius):
    x = np.round(np.random.default_rng(seed).uniform(-1, 1, n), 2) * radius
    A = radius * quantizers.alpha(epsilon)
    pairs = sum(2 * A * abs(x[i] + x[j]) - (x[i] + x[j]) ** 2 for i in range(n) for j in range(i))
    alone = np.sum(A * A - x * x)
    truth = pairs / max(n - 1, 1) / n**2 if n % 2 == 0 else (pairs + alone) / n**3
    value = mean.mean_over_pairings(center + x, epsilon=epsilon, center=center, radius=radius)
    assert value == pytest.approx(truth, rel=1e-9, abs=1e-10 * A * (A + abs(center)))
    columns = mean.mean_over_pairings(
        np.stack([center + x, center - x], axis=1), epsilon=epsilon, center=center, radius=radius
    )
    assert columns == pytest.approx([value, value], rel=1e-9, abs=1e-10 * A * (A + abs(center)))
    assert mean.worst(n, epsilon=epsilon, radius=radius) >= value * (1 - 1e-9)
    if n % 2 == 0:
        assert mean.published(n, epsilon=epsilon, radius=radius) >= value * (1 - 1e-9)


@given(st.integers(1, 30), st.floats(0.01, 20.0), st.floats(0, 1), st.integers(0, 60))
def test_worst_cases_are_ordered(n, epsilon, share, bits):
    limit, ldp = mean.worst(n, epsilon=epsilon), mean.worst_ldp(n, epsilon=epsilon)
    assert limit <= mean.worst(n, epsilon=epsilon, bits=bits) * (1 + 1e-12) <= ldp * (1 + 1e-9)
    assert limit <= mean.worst(n, epsilon=epsilon, independent=share) * (1 + 1e-12) <= ldp * (1 + 1e-9)
    assert mean.worst(n, epsilon=epsilon, independent=1.0) == pytest.approx(ldp)
    assert mean.improvement(epsilon) >= 2


def test_worst_is_attained():
    for epsilon in (0.5, 1.0, 3.0):
        A = quantizers.alpha(epsilon)
        place = 1.0 if A >= 2 else A / 2
        attained = mean.mean_over_pairings(np.full(6, place), epsilon=epsilon)
        assert attained == pytest.approx(mean.worst(6, epsilon=epsilon))
    assert mean.ldp(np.zeros(4), epsilon=1.0) == pytest.approx(mean.worst_ldp(4, epsilon=1.0))


def test_many_clients():
    x = np.random.default_rng(0).uniform(-1, 1, 100_000)
    A = quantizers.alpha(1.0)
    s = np.abs(x + np.random.default_rng(1).permutation(x))
    sample = (2 * A * s - s * s) / (2 * x.size)
    assert mean.mean_over_pairings(x, epsilon=1.0) == pytest.approx(sample.mean(), abs=5 * sample.std() / x.size**0.5)


@pytest.mark.parametrize(
    ("call", "needle"),
    [
        (lambda: mean.paired([0.1, 0.2], [[0, 0]], epsilon=1.0), "pairs"),
        (lambda: mean.paired([0.1, 0.2], [[0, 2]], epsilon=1.0), "pairs"),
        (lambda: mean.ldp([0.1, 1.2], epsilon=1.0), "w[1] = 1.2"),
        (lambda: mean.ldp([], epsilon=1.0), "w"),
        (lambda: mean.worst(0, epsilon=1.0), "clients = 0"),
        (lambda: mean.worst(4, epsilon=1.0, independent=1.5), "independent = 1.5"),
        (lambda: mean.published(4, epsilon=0.0), "epsilon = 0.0"),
    ],
)
def test_bad_input(call, needle):
    with pytest.raises(ParameterError) as error:
        call()
    assert needle in str(error.value)
