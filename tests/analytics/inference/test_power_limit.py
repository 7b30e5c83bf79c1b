"""The power limit's mean and variances against mpmath in 34 digits and more and against both ends of every scale."""

from __future__ import annotations

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airtight.analytics.inference import block_energy, power_limit
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design.peak import Peak


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


def _exceeds(energy: float, code: float, noise: float, dimension: int) -> mp.mpf:
    """P(||z + n||^2 > energy) in an odd dimension, by an integral over the part of the noise along z."""
    with mp.workdps(30):
        sigma, s, R = mp.sqrt(noise), mp.sqrt(code), mp.sqrt(energy)
        edge = (R - s) / sigma  # where the part along z suffices

        def across(x: mp.mpf) -> mp.mpf:
            left = max((energy - (s + sigma * x) ** 2) / noise / 2, mp.mpf(0))
            return mp.npdf(x) * mp.exp(-left) * sum(left**k / mp.factorial(k) for k in range((dimension - 1) // 2))

        # towards the edge the integrand falls by e in sigma / s
        panels = [
            edge - 2 * R / sigma * mp.mpf(2) ** (-k / 2)
            for k in range(2 * int(mp.log(2 * R * (s + sigma) / noise, 2)) + 8)
        ]
        inside = mp.quad(across, [*panels, edge])
        return inside + mp.ncdf(-edge) + mp.ncdf(-(R + s) / sigma)


@pytest.mark.parametrize("dimension", [1, 3, 9])
@pytest.mark.parametrize("outage", [0.4, 1e-3, 1e-30, 1e-150])
@pytest.mark.parametrize("noncentrality", [1.0, 1e5, 1e7, 1e13])
def test_peak_energy_is_exceeded_as_rarely_as_allowed(noncentrality: float, outage: float, dimension: int) -> None:
    noise = 0.3
    code = noncentrality * noise
    energy = float(block_energy.peak_energy(code, noise, dimension, outage))
    assert _exceeds(energy, code, noise, dimension) <= outage * (1 + 1e-12)
    near = noncentrality <= 1e6 and outage >= 1e-100
    # the least such energy lies just below: within the error of a quantile, or a few deviations
    room = 1e-6 * energy if near else (6 if noncentrality < 1e6 else 1) * np.sqrt(energy * noise) + 1e-8 * energy
    assert _exceeds(energy - room, code, noise, dimension) > outage
    assert block_energy.keeps_peak(energy * (1 + 1e-8), code, noise, dimension, outage)
    assert not block_energy.keeps_peak(energy * (1 - 1e-8), code, noise, dimension, outage)


@given(
    noise=st.floats(1e-12, 1.0), outage=st.floats(1e-200, 0.5), clip=st.floats(0.1, 10.0), dimension=st.integers(1, 900)
)
@settings(max_examples=25, deadline=None)
def test_the_greatest_weight_under_a_peak_limit(noise: float, outage: float, clip: float, dimension: int) -> None:
    peak = Peak(3.0, outage, dimension)
    weight = float(peak.greatest_weight(np.array([clip]), np.array([noise]))[0])
    if weight < 0:
        assert block_energy.peak_energy(0.0, noise, dimension, outage) > 9.0 * (1 - 1e-6)
        return
    assert noise <= peak.greatest_variance()
    assert block_energy.peak_energy((weight * clip) ** 2, noise, dimension, outage) <= 9.0 * (1 + 1e-6)
    more = (weight * clip * (1 + 1e-6) + 1e-9) ** 2
    assert block_energy.peak_energy(more, noise, dimension, outage) >= 9.0 * (1 - 1e-6)
