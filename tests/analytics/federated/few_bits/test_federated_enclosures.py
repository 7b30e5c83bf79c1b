"""Federated quantities in balls and exact rationals: dropout, strata, discrete noise modulo 2^b, the count behind a pair."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import federated_balls as balls

from airtight.analytics.federated.corbin import central_privacy, dropout
from airtight.analytics.federated.few_bits import baselines, modular_noise
from airtight.analytics.federated.few_bits.modular_noise import ModularNoise, Noise
from airtight.analytics.forms.balls.ball import ends

patient = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
leaving = st.one_of(st.floats(0, 0.999), st.sampled_from([0.0, 0.5, 1e-12, 1 - 1e-9]))


@patient
@given(st.integers(1, 8), leaving, st.floats(1e-3, 50), st.floats(1e-3, 1e3), st.sampled_from([0.0, 0.3, 1.0]))
def test_worst_mse_with_dropout(clients, p, epsilon, radius, independent):
    given_as = {"dropout": p, "epsilon": epsilon, "radius": radius, "independent": independent}
    lower, upper = ends(balls.dropout_worst_mse(clients, **given_as))
    assert upper - lower <= 1e-13 * upper
    assert lower * (1 - 1e-12) <= dropout.worst_mse(clients, **given_as) <= upper * (1 + 1e-12)


@patient
@given(st.integers(1, 40), leaving, st.integers(0, 20), st.integers(0, 20))
def test_outside_probability(pairs, p, first, more):
    clients = 2 * pairs
    low, high = (first - 0.5) / clients, (first + more + 0.5) / clients
    true = balls.outside(clients, dropout=p, first=first, last=first + more)
    assert dropout.outside_probability(clients, dropout=p, low=low, high=high) == pytest.approx(
        float(true), rel=1e-11, abs=1e-290
    )


@patient
@given(
    st.lists(st.one_of(st.floats(-1, 1), st.sampled_from([-1.0, 0.0, 1.0])), min_size=1, max_size=5), st.floats(0.1, 10)
)
def test_stratified_mse(shares, radius):
    """The error that the docstring states: n + 4 units in the last place of 4 r^2 / n."""
    n, w = len(shares), [x * radius for x in shares]
    found = float(baselines.stratified_mse(w, radius=radius))
    bound = (n + 4) * 2.0**-52 * 4 * radius**2 / n
    assert abs(Fraction(found) - balls.stratified_mse(w, radius=radius)) <= Fraction(bound)


@patient
@given(st.floats(0.01, 300.0), st.integers(1, 7), st.integers(1, 9))
def test_skellam_noise_modulo(variance, bits, count):
    """The relative error that comes with the law, where it is above the least mass that counts."""
    law, error = modular_noise.summed(Noise.SKELLAM, variance, bits, count)
    with flint.ctx.workprec(1200):
        check(law, error, balls.skellam_modulo(Fraction(variance) * count, bits))


@patient
@given(st.floats(0.01, 60.0), st.integers(1, 6), st.integers(1, 9))
def test_discrete_gaussian_noise_modulo(variance, bits, count):
    law, error = modular_noise.summed(Noise.GAUSSIAN, variance, bits, count)
    with flint.ctx.workprec(1200):
        check(law, error, balls.discrete_gaussian_modulo(variance, bits, count))


def check(law, error, enclosed):
    for found, true in zip(law, enclosed, strict=True):
        lower, upper = ends(true)
        assert upper - lower <= 1e-14 * upper + 1e-299
        if found > 0:
            assert lower * (1 - error) <= found <= upper * (1 + error)
        else:
            assert lower <= 2 * modular_noise.LEAST


def test_mse_of_noise_modulo():
    """By the law of the sum in balls: rounding to one of two neighbours, noise, reduction."""
    made = ModularNoise("skellam", variance=1.3, levels=3, bits=4, clients=2)
    w = np.array([0.4, -0.7])
    with flint.ctx.workprec(300):
        noise = balls.skellam_modulo(Fraction(1.3) * 2, 4)
        total, error = Fraction(0), flint.arb(0)
        scaled = [Fraction(float(x) * 3.0) for x in w]
        total = sum(scaled)
        for ups in ((0, 0), (0, 1), (1, 0), (1, 1)):
            chance, start = Fraction(1), 0
            for x, up in zip(scaled, ups, strict=True):
                share = x - math.floor(x)
                chance *= share if up else 1 - share
                start += math.floor(x) + up
            for k, mass in enumerate(noise):
                decoded = (start + k + 8) % 16 - 8
                error += mass * flint.arb(flint.fmpq(*(chance * (decoded - total) ** 2).as_integer_ratio()))
        assert made.mse(w) == pytest.approx(float(error.mid()) / 36, rel=1e-12)


@pytest.mark.parametrize("others", [0, 1, 9, 40])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.5])
def test_divergence_of_the_count_behind_a_pair(others, epsilon):
    lower, upper = ends(balls.paired_count_delta(others, epsilon=1.0, factor=Fraction(math.exp(epsilon))))
    found = float(central_privacy.one_parameter(others, epsilon=1.0, client="paired").delta(epsilon))
    assert upper - lower < 1e-14 and found >= lower * (1 - 1e-12)
    assert found == pytest.approx(lower, rel=1e-9, abs=1e-13)


@patient
@given(st.integers(1, 60), leaving, st.one_of(st.floats(1e-6, 0.99), st.sampled_from([0.5, 0.25, 0.75, 2.0**-10])))
def test_intervals_of_survivors(clients, p, level):
    low, high = dropout.survivors(clients, dropout=p, level=level)
    stays = 1 - Fraction(p)
    law = [math.comb(clients, k) * stays**k * (1 - stays) ** (clients - k) for k in range(clients + 1)]
    assert sum(law[low : high + 1]) >= 1 - Fraction(level) * (1 + Fraction(1, 10**12))
