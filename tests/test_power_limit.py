"""The power limit's mean and variances against mpmath in 34 digits and more and against both ends of every scale."""

from __future__ import annotations

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from airtight.analytics.inference import power_limit
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem


def _reference(sigma: float, s: float, reach: float, dimension: int) -> list[mp.mpf]:
    """Factor on the mean, variance across and along, in one or three dimensions: with n given, the angle is elementary."""
    sigma, s, reach = mp.mpf(sigma), mp.mpf(s), mp.mpf(reach)
    a = s / sigma
    low, high = max(-a, mp.mpf(-25)), mp.mpf(25)
    edges = sorted({low + (high - low) * i / 16 for i in range(17)} | {min(max((reach - s) / sigma, low), high)})
    flat = dimension == 1

    def density(t):
        k = a * (a + t)
        return mp.exp(-t * t / 2) * (1 + mp.exp(-2 * k) if flat else (a + t) * -mp.expm1(-2 * k) / a)

    def mean(function):
        return mp.quad(lambda t: density(t) * function(t), edges) / mp.quad(density, edges)

    def along(t):
        k = a * (a + t)
        return mp.tanh(k) if flat else mp.coth(k) - 1 / k

    def spread(t):
        k = a * (a + t)
        return mp.sech(k) ** 2 if flat else 1 / k**2 - mp.csch(k) ** 2

    def short(t):
        return min(s + sigma * t, reach)

    centre = mean(lambda t: short(t) * along(t))
    variance = mean(lambda t: short(t) ** 2 * spread(t) + (short(t) * along(t) - centre) ** 2)
    across = None if flat else mean(lambda t: short(t) ** 2 * along(t) / (a * (a + t)))
    return [centre / s, across, variance]


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize(
    ("sigma", "s", "reach"),
    [
        (1, 1, 1),
        (1e-4, 1, 0.3),
        (1e-10, 1, 0.3),
        (0.2, 5, 5.1),
        (3, 0.5, 0.2),
        (1, 8, 0.5),
        (1e-3, 1, 1),
        (10, 1e-2, 3),
    ],
)
def test_shortened_signal(dimension, sigma, s, reach):
    with mp.workdps(34 + 3 * round(max(-np.log10(sigma), 0))):  # the variance along cancels with little noise
        for found, true in zip(
            power_limit._shortened(sigma, s, reach, dimension), _reference(sigma, s, reach, dimension), strict=True
        ):
            assert true is None or abs(found - true) <= 1e-12 * abs(true) + 1e-300


@pytest.mark.parametrize("dimension", [2, 3, 784, 10**6])
@pytest.mark.parametrize("sigma", [1e-150, 1e-100, 1e-10, 1e-8])
def test_shortened_signal_of_little_noise(dimension, sigma):
    # y = R z/|z|: sin(angle) is sigma/s chi, and half its square the loss along u; relative corrections r sigma^2
    shrink, across, along = power_limit._shortened(sigma, 1.0, 0.25, dimension)
    assert shrink == pytest.approx(0.25, rel=dimension * sigma**2 + 1e-13)
    assert across == pytest.approx((0.25 * sigma) ** 2, rel=4 * dimension * sigma**2 + 1e-12)
    scaled = power_limit._shortened(sigma, 1.0, 0.25 / sigma**2, dimension)
    assert scaled[1:] == pytest.approx((sigma**2, sigma**2), rel=1e-12)
    if sigma > 1e-70:
        assert along == pytest.approx(
            (dimension - 1) / 2 * (0.25 * sigma**2) ** 2, rel=8 * dimension * sigma**2 + 1e-11
        )


@pytest.mark.parametrize("dimension", [1, 2, 784])
@pytest.mark.parametrize("sigma", [1e6, 1e100, 1e150])
def test_shortened_signal_of_much_noise(dimension, sigma):
    _, across, along = power_limit._shortened(sigma, 1.0, 2.0, dimension)  # uniform on the sphere of radius R
    assert (across, along) == pytest.approx((4 / dimension, 4 / dimension), rel=1e-5)
    free = power_limit._shortened(sigma, 1.0, 1e150 * 1e5, dimension)
    if sigma < 1e150:
        assert free == pytest.approx((1.0, sigma**2, sigma**2), rel=1e-12)


@pytest.mark.parametrize("variance", 10.0 ** np.arange(-300, 301, 25))
@pytest.mark.parametrize("reach", [0.0, 1e-100, 0.3, 1.0, 1e150])
def test_every_scale_is_answered(variance, reach):
    for dimension in (1, 2, 5):
        values = power_limit._shortened(float(np.sqrt(variance)), 1.0, reach, dimension)
        assert np.all(np.isfinite(values)) and min(values) >= 0
        assert values[0] <= min(1.0, reach) * (1 + 1e-12) and values[1] <= variance * (1 + 1e-12)
        assert values[2] <= min(variance, reach * reach) * (1 + 1e-12)  # shortening is a contraction


@pytest.mark.parametrize(("variance", "noise"), [(1e-8, 1.8e-9), (1e-16, 1.8e-17), (1e-20, 1.8e-21)])
def test_mse_of_little_noise(variance, noise):
    system = InferenceSystem(
        devices=2, participation=1.0, noise_variance=variance, weight=1.0, clip=10.0, alignment=1.0,
        receiver_noise_variance=0.0, dimension=2, delta=1e-5, delta_prime=1e-5,
    )  # fmt: skip
    features = Features(f=[[1.0, 0.0], [1.0, 0.0]], W=np.eye(2), D=np.eye(2))
    found = power_limit.exact_mse(system, features, gain=1.0, power=0.09)
    # each y = 0.3 z/|z|: across 0.09 sigma^2 to relative sigma^2; bias (0.6 - 1)^2
    assert found.local_noise == pytest.approx(noise, rel=4 * variance + 1e-12)
    assert found.bias == pytest.approx(0.16, rel=2 * variance + 1e-12)
    silent = power_limit.exact_mse(replace(system, noise_variance=0.0), features, gain=1.0, power=0.09)
    assert silent.local_noise == 0 and silent.bias == pytest.approx(0.16, rel=1e-14)
