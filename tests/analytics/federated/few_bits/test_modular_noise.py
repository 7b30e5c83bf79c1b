"""Discrete noise modulo 2^b: laws against mpmath and drawing, epsilon against rational enumeration, errors against drawing."""

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.few_bits import modular_noise, quantizer_laws
from airtight.analytics.federated.few_bits.modular_noise import ModularNoise, Noise, calibrated
from airtight.analytics.privacy.accounting import privacy_curve

NOISES = st.sampled_from(list(Noise))


def exact(noise, variance, bits, count):
    """The summed noise modulo M in 60 digits: by characteristic function, and by adding masses."""
    M = 2**bits
    with mpmath.workdps(60):
        v = mpmath.mpf(variance)
        if noise is Noise.SKELLAM:
            spectrum = [mpmath.exp(-count * v * (1 - mpmath.cos(2 * mpmath.pi * j / M))) for j in range(M)]
        else:
            reach = int(20 * variance**0.5) + 3 * M
            mass = {k: mpmath.exp(-mpmath.mpf(k * k) / (2 * v)) for k in range(-reach, reach + 1)}
            cell = [sum(m for k, m in mass.items() if k % M == z) for z in range(M)]
            cell = [c / sum(cell) for c in cell]
            cosines = [[mpmath.cos(2 * mpmath.pi * j * z / M) for z in range(M)] for j in range(M)]
            spectrum = [sum(c * w for c, w in zip(cell, row, strict=True)) ** count for row in cosines]
        return [sum(s * mpmath.cos(2 * mpmath.pi * j * z / M) for j, s in enumerate(spectrum)) / M for z in range(M)]


@settings(max_examples=12, deadline=None)
@given(NOISES, st.floats(0.05, 60.0), st.integers(2, 4), st.integers(1, 30))
def test_the_summed_law_is_right_to_the_error_that_it_states(noise, variance, bits, count):
    law, error = modular_noise.summed(noise, variance, bits, count)
    for found, true in zip(law, exact(noise, variance, bits, count), strict=True):
        assert abs(found / true - 1) <= error < 1e-9


@settings(max_examples=25, deadline=None)
@given(NOISES, st.floats(0.3, 30.0), st.integers(2, 6), st.data())
def test_epsilon_is_not_below_any_pair_of_inputs_of_all_clients(noise, variance, bits, data):
    n, levels = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2 ** (bits - 1) - 1))
    one = ModularNoise(noise, variance=variance, levels=levels, bits=bits, clients=n)
    w, other, rest = (
        data.draw(st.floats(-1, 1)),
        data.draw(st.floats(-1, 1)),
        data.draw(st.lists(st.floats(-1, 1), min_size=n - 1, max_size=n - 1)),
    )
    delta = data.draw(st.sampled_from([1e-2, 1e-5]))
    laws = []
    for first in (w, other):
        total = one.law(first)
        for x in rest:
            total = modular_noise.circular(total, np.roll(one.law(x), -one.modulus // 2))
        laws.append(total / total.sum())
    assert float(privacy_curve.discrete_pair(*laws).epsilon(delta)) <= one.epsilon(delta) * (1 + 1e-9) + 1e-9
    assert quantizer_laws.local_epsilon(one.law(np.linspace(-1, 1, 23))) <= one.epsilon(0.0, observer="uplink")


def test_the_bound_is_attained_by_integers_and_rounds_are_products():
    one = ModularNoise("skellam", variance=3.0, levels=2, bits=4, clients=2)
    f = [Fraction(x).limit_denominator(10**15) for x in one.noise_law()]
    f = [x / sum(f) for x in f]
    g = [f[(k - one.shift()) % 16] for k in range(16)]
    epsilon = 1.7
    odds = Fraction(float(np.exp(epsilon)))
    twice = sum(max(f[i] * f[j] - odds * g[i] * g[j], 0) for i, j in product(range(16), repeat=2))
    assert one.epsilon(float(twice), rounds=2) == pytest.approx(epsilon, rel=1e-4)
    assert one.epsilon(float(twice), rounds=2) >= epsilon * (1 - 1e-12)
    assert one.shift() == 4
    assert one.epsilon(0.0, rounds=3) == pytest.approx(3 * one.epsilon(0.0))
    assert one.epsilon(1e-3, observer="uplink") == one.epsilon(1e-3, colluding=1) > one.epsilon(1e-3)


def test_much_noise_is_gaussian_noise():
    one = ModularNoise("discrete gaussian", variance=400.0, levels=40, bits=11, clients=10)
    gaussian = float(privacy_curve.gaussian(80 / 4000**0.5).compose(20).epsilon(1e-5))
    assert one.epsilon(1e-5, rounds=20) == pytest.approx(gaussian, rel=1e-3)
    assert ModularNoise("skellam", variance=400.0, levels=40, bits=11, clients=10).epsilon(1e-5) == pytest.approx(
        float(privacy_curve.gaussian(80 / 4000**0.5).epsilon(1e-5)), rel=2e-3
    )


@pytest.mark.parametrize("noise", list(Noise))
def test_errors_by_drawing(noise):
    one = ModularNoise(noise, variance=2.0, levels=2, bits=4, clients=3)
    rng, w = np.random.default_rng(1), np.array([0.9, 0.3, 0.75])
    count = 200_000
    if noise is Noise.SKELLAM:
        drawn = rng.poisson(1.0, (3, count)) - rng.poisson(1.0, (3, count))
    else:
        k = np.arange(-30, 31)
        mass = np.exp(-(k**2) / 4)
        drawn = rng.choice(k, size=(3, count), p=mass / mass.sum())
    assert drawn.var() == pytest.approx(one.local_variance(), rel=0.01)
    x = 2 * w[:, None]
    total = (np.floor(x) + (rng.random((3, count)) < x - np.floor(x)) + drawn).sum(axis=0)
    decoded = (total + 8) % 16 - 8
    error = (decoded / 6 - w.mean()) ** 2
    assert one.mse(w) == pytest.approx(error.mean(), abs=5 * error.std() / count**0.5)
    assert one.mse(w) > (3 * 2 + 0.25 * 2) / 36  # wrong remainders are seen here
    for inputs in ([1, 1, 1], [0.25, -0.75, 0.75], w):
        assert one.mse(inputs) <= one.worst_mse()
    wide = ModularNoise(noise, variance=2.0, levels=2, bits=7, clients=3)
    assert wide.mse([0.25, -0.75, 0.75]) == pytest.approx(wide.worst_mse(), rel=1e-9)
    uniform = np.mean([wide.mse(row) for row in rng.uniform(-1, 1, (300, 3))])
    assert uniform == pytest.approx(wide.mean_mse(), rel=0.01)
    assert ModularNoise(noise, variance=2.0, levels=7, bits=4, clients=3).worst_mse() == np.inf


def test_calibration_keeps_to_what_was_asked_and_is_not_wasteful():
    for observer, delta, rounds in (("aggregate", 1e-6, 1), ("uplink", 0.0, 3)):
        asked = {"epsilon": 1.5, "delta": delta, "levels": 3, "bits": 6, "clients": 4, "rounds": rounds}
        found = calibrated("discrete gaussian", observer=observer, **asked)
        reached = found.epsilon(delta, rounds=rounds, observer=observer)
        assert 1.5 * (1 - 1e-6) < reached <= 1.5


def test_refuses():
    for bad in (
        {"levels": 8, "bits": 4},
        {"variance": float("nan")},
        {"noise": "laplace"},
        {"clients": 0},
        {"bits": 40},
    ):
        with pytest.raises(ParameterError):
            ModularNoise(**{"noise": "skellam", "variance": 1.0, "levels": 1, "bits": 4, **bad})
    one = ModularNoise("skellam", variance=1.0, levels=1, bits=4)
    for call in (
        lambda: one.epsilon(1.5),
        lambda: one.epsilon(1e-300),
        lambda: one.mse([0.0, 0.0]),
        lambda: one.law(2.0),
        lambda: one.noise_law(colluding=1),
    ):
        with pytest.raises(ParameterError):
            call()
    with pytest.raises(ParameterError):
        calibrated("skellam", epsilon=1e-12, delta=0.0, levels=30, bits=6, observer="uplink")
