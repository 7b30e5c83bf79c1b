"""The least energy of any scheme: below every system, and below the information of a channel that is computed exactly."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import airtight
from airtight.analytics.inference.distortion import worst_case
from airtight.analytics.inference.transmission import transmit_energy
from airtight.analytics.limits.energy_floor import energy_floor, information_needed


def sign_over_noise(variance):
    """Information of y = +-1 + noise about the sign, and the error of its mean given y, at 30 digits."""
    s = mpmath.sqrt(variance)

    def density(y):
        return (mpmath.npdf(y, 1, s) + mpmath.npdf(y, -1, s)) / 2

    places = [-1 - 12 * s, -1, 0, 1, 1 + 12 * s]
    entropy = mpmath.quad(lambda y: -density(y) * mpmath.log(density(y)), places)
    information = entropy - mpmath.log(2 * mpmath.pi * mpmath.e * variance) / 2
    error = mpmath.quad(lambda y: density(y) * (1 - mpmath.tanh(y / variance) ** 2), places)
    return information, error


@pytest.mark.parametrize("variance", ["0.3", "1", "4", "50"])
def test_an_estimate_of_a_sign_has_the_information(variance):
    with mpmath.workdps(30):
        information, error = sign_over_noise(mpmath.mpf(variance))
        needed = information_needed(float(error), 1)
        assert 0 < needed <= information
        assert needed >= information * (0.97 if mpmath.mpf(variance) >= 50 else 0.3)  # sharp where little is known


def test_many_dimensions_need_what_a_gaussian_source_does():
    for error in (0.9, 0.5, 0.1):
        assert information_needed(error, 10**6) == pytest.approx(5e5 * np.log(1 / error), rel=1e-4)
        assert information_needed(error, 10**6) <= 5e5 * np.log(1 / error)
    assert information_needed(1.0, 3) == information_needed(7.0, 3) == 0.0


@settings(max_examples=25, deadline=None)
@given(
    devices=st.integers(1, 30), dimension=st.integers(1, 2000), p=st.floats(0.0, 1.0), log_gain=st.floats(-4.0, 4.0),
    log_noise=st.floats(-6.0, 3.0), decoder=st.floats(0.01, 1.0), own=st.sampled_from([0.0, 1e-3]), spread=st.integers(0, 2**32),
)  # fmt: skip
def test_no_system_sends_with_less(devices, dimension, p, log_gain, log_noise, decoder, own, spread):
    """Uncoded transmission, aligned at the server, of unlike devices over unlike channels."""
    draw = np.random.default_rng(spread)
    system = airtight.InferenceSystem(
        devices=devices, participation=p, noise_variance=own, weight=draw.uniform(0, 2, devices) / devices,
        clip=draw.uniform(0.1, 2, devices), alignment=10.0**log_gain, receiver_noise_variance=10.0**log_noise,
        dimension=dimension, delta=1e-5, decoder_gain=decoder, channel_gain=draw.uniform(0.1, 3, devices),
    )  # fmt: skip
    spent = float(np.sum(transmit_energy(system)))
    floor = energy_floor(system)
    assert 0 <= floor <= spent * (1 + 1e-12)
    easier = energy_floor(system, 1.5 * worst_case(system).total)
    assert easier <= floor


def test_the_floor_scales_with_noise_and_gains():
    def at(**changes):
        values = {
            "devices": 4, "participation": 1.0, "noise_variance": 0.0, "weight": 0.25, "clip": 2.0, "alignment": 1.0,
            "receiver_noise_variance": 0.1, "dimension": 50, "delta": 1e-5,
        }  # fmt: skip
        return energy_floor(airtight.InferenceSystem(**{**values, **changes}), 1.0)

    assert at(receiver_noise_variance=0.2) == pytest.approx(2 * at()) and at(channel_gain=4.0) == pytest.approx(at() / 4)
    assert at(receiver_noise_variance=0.0) == 0 and at(clip=0.5) == 0  # no noise; the answer 0 is good enough
    assert 0 < at(alignment=1e100, receiver_noise_variance=1e-200) < 1e-190
    loud = airtight.InferenceSystem(
        devices=1, participation=1.0, noise_variance=0.0, weight=1.0, clip=1.0, alignment=1e100, receiver_noise_variance=1e-200,
        dimension=8, delta=1e-5,
    )  # fmt: skip
    assert 0 < energy_floor(loud) < np.sum(transmit_energy(loud))  # an error that underflows
    fading = airtight.InferenceSystem(
        devices=2, noise_variance=0.1, weight=0.5, clip=1.0, alignment=1.0, receiver_noise_variance=0.1, dimension=8, delta=1e-5,
        channel={"fading": "rayleigh", "max_power": 4.0},
    )  # fmt: skip
    with pytest.raises(airtight.ParameterError, match="channel"):
        airtight.energy_floor(fading)
