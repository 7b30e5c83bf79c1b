"""The channel: laws of who sends, looks, the decoder that combines them, and the table of the system file."""

from __future__ import annotations

import json
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.fading import EXAMPLES, drawn_gains

import airtight
from airtight import Channel, Features, InferenceSystem, ParameterError
from airtight.analytics.inference import combiner, decoding
from airtight.analytics.inference.channel import CodeModel
from airtight.analytics.inference.fading import LAWS, Fading, Nakagami, Rayleigh, Rician
from airtight.commands.cli import main
from airtight.validate.experiments.monte_carlo import antennas


def system(**changes: object) -> InferenceSystem:
    base: dict[str, object] = {
        "devices": 3,
        "participation": 1.0,
        "noise_variance": [0.1, 0.2, 0.05],
        "weight": [0.3, 0.2, 0.5],
        "clip": 1.0,
        "alignment": 0.7,
        "receiver_noise_variance": 0.1,
        "dimension": 4,
        "delta": 1e-3,
        "adjacency": "silent",
    }
    return InferenceSystem(**{**base, **changes})  # type: ignore[arg-type]


def test_every_law_has_an_example() -> None:
    assert set(EXAMPLES) == set(LAWS) == set(Fading)
    for fading, law in LAWS.items():
        assert [law.parameter] * (law.parameter is not None) == list(EXAMPLES[fading])


@pytest.mark.parametrize("fading", EXAMPLES)
def test_participation_is_the_frequency_of_enough_power(fading: Fading) -> None:
    one = system()
    channel = Channel(fading=fading, mean_power=[0.5, 1.0, 2.0], max_power=0.4, **EXAMPLES[fading])
    rng, size = np.random.default_rng(3), 1_000_000
    for k, (p, threshold, mean) in enumerate(
        zip(channel.participation(one), channel.threshold(one), [0.5, 1.0, 2.0], strict=True)
    ):
        frequency = float(np.mean(drawn_gains(fading, mean, rng, size) >= threshold))
        assert abs(frequency - p) <= 5 * np.sqrt(p * (1 - p) / size) + 1e-12, k


@pytest.mark.parametrize("fading", EXAMPLES)
def test_drawn_coefficients_are_those_of_the_devices_that_send(fading: Fading) -> None:
    """|h_m / h_1|^2 given that the device sends, against rejection sampling of the definition."""
    channel = Channel(
        model="complex", antennas=2, fading=fading, mean_power=1.5, max_power=0.3, states=40_000, **EXAMPLES[fading]
    )
    one = channel.with_participation(system())
    if np.any(one.participation == 0):
        pytest.skip("no device of this system sends without fading")
    drawn = channel.draw(one)
    assert np.all(drawn.coefficients[:, :, 0] == 1)
    rng = np.random.default_rng(5)
    for k in range(3):
        first = drawn_gains(fading, 1.5, rng, 400_000)
        second = first if fading == "lognormal" else drawn_gains(fading, 1.5, rng, 400_000)
        kept = first >= channel.threshold(one)[k]
        ours, theirs = np.abs(drawn.coefficients[:, k, 1]) ** 2, (second / first)[kept]
        levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
        for level, value in zip(levels, np.quantile(theirs, levels), strict=True):
            if fading not in ("none", "lognormal"):
                assert abs(np.mean(ours <= value) - level) < 5 * np.sqrt(
                    level * (1 - level) * (1 / 40_000 + 1 / kept.sum())
                )
            else:
                np.testing.assert_allclose(ours, 1.0, rtol=1e-12)
    assert drawn.sends is not None
    deviation = np.sqrt(one.participation * (1 - one.participation) / 40_000)
    assert np.all(np.abs(np.mean(drawn.sends, axis=0) - one.participation) <= 5 * deviation + 1e-12)


def test_distance_gives_the_mean_power() -> None:
    channel = Channel(distance=[10.0, 20.0, 40.0], path_loss_exponent=3.0, reference_gain=2.0)
    np.testing.assert_allclose(channel.gain_means(3), [2e-3, 2.5e-4, 3.125e-5], rtol=1e-14)


def test_the_mean_energy_of_a_sent_block_keeps_the_limit() -> None:
    channel = Channel(fading="rayleigh", max_power=0.8)
    one, rng = channel.with_participation(system()), np.random.default_rng(2)
    for k in range(3):
        code = np.zeros(4)
        code[0] = one.weight[k] * one.clip[k]
        noise = np.sqrt(one.noise_variance[k]) * rng.standard_normal((200_000, 4))
        energy = one.alignment**2 / channel.threshold(one)[k] * np.sum((code + noise) ** 2, axis=1)
        assert abs(np.mean(energy) - 0.8) < 5 * np.std(energy) / np.sqrt(200_000)


@pytest.mark.parametrize("fading", [*EXAMPLES, "seldom"])
def test_a_long_term_limit_is_met_and_not_by_less_than_needed(fading: Fading) -> None:
    """The mean over a million gains of what is spent: the limit, unless the device can always send."""
    law = {"fading": "nakagami", "shape": 0.6} if fading == "seldom" else {"fading": fading, **EXAMPLES[fading]}
    channel = Channel(mean_power=[0.5, 1.0, 2.0], max_power=0.4, power_limit="long_term", **law)
    one, rng, size = system(), np.random.default_rng(3), 1_000_000
    threshold, block = channel.threshold(one), replace(channel, power_limit="block").threshold(one)
    assert np.all(threshold <= block * (1 + 1e-9)) or fading == "none"
    for k, mean in enumerate([0.5, 1.0, 2.0]):
        gains = rng.gamma(0.6, mean / 0.6, size) if fading == "seldom" else drawn_gains(fading, mean, rng, size)
        energy = one.alignment**2 * (one.weight[k] ** 2 + 4 * one.noise_variance[k])
        spent = np.where(gains >= threshold[k], energy / gains, 0.0)
        margin = 5 * np.std(spent) / np.sqrt(size) + 1e-12
        assert np.mean(spent) <= 0.4 + margin
        if fading != "none" and threshold[k] > 0:
            assert np.mean(spent) >= 0.4 - margin


def test_a_peak_limit_is_exceeded_as_often_as_allowed() -> None:
    channel = Channel(fading="rayleigh", max_power=0.8, power_limit="peak", peak_outage=0.03)
    one, rng, size = system(), np.random.default_rng(4), 400_000
    for k in range(3):
        noise = np.sqrt(one.noise_variance[k]) * rng.standard_normal((size, 4))
        noise[:, 0] += one.weight[k] * one.clip[k]
        energy = one.alignment**2 / channel.threshold(one)[k] * np.sum(noise**2, axis=1)
        assert abs(np.mean(energy > 0.8) - 0.03) < 5 * np.sqrt(0.03 * 0.97 / size)
    for tiny in (1e-9, 1e-13, 1e-20, 1e-300):  # SciPy's quantile is too small below 1e-12 and nan below 1e-20
        faint = channel.threshold(replace(one, noise_variance=tiny)) / (one.alignment**2 / 0.8)
        deviation = np.sqrt(tiny) * one.weight * one.clip  # of half the energy, nearly
        assert np.all(faint >= one.weight**2 + 2 * stats.norm.isf(0.03) * deviation * (1 - 1e-3) - 1e-15)
        assert np.all(faint <= one.weight**2 * (1 + 1e-12) + 12 * deviation + 100 * tiny)
    silent = replace(one, noise_variance=0.0)  # a code without noise exceeds the limit always or never
    np.testing.assert_allclose(channel.threshold(silent), one.alignment**2 * one.weight**2 / 0.8)


@given(
    law=st.sampled_from(
        [{"fading": "rayleigh"}, {"fading": "rician", "k_factor": 2.0}, {"fading": "nakagami", "shape": 1.5}]
    ),
    power=st.floats(1e-2, 1e3),
    outage=st.floats(1e-9, 0.3),
)
@settings(max_examples=25, deadline=None)
def test_power_limits_are_ordered(law: dict[str, object], power: float, outage: float) -> None:
    """Whatever keeps each block keeps the mean over blocks; an outage below a third asks for more than the mean of a block."""
    one = system()
    block = Channel(max_power=power, **law).threshold(one)
    long_term = Channel(max_power=power, power_limit="long_term", **law).threshold(one)
    peak = Channel(max_power=power, power_limit="peak", peak_outage=outage, **law).threshold(one)
    assert np.all(long_term <= block * (1 + 1e-9)) and np.all(block <= peak)


@pytest.mark.parametrize(
    "law",
    [
        {"fading": "none"},
        {"fading": "rayleigh"},
        {"fading": "rician", "k_factor": 1e3},
        {"fading": "nakagami", "shape": 0.5},
        {"fading": "nakagami", "shape": 1e6},
        {"fading": "lognormal", "shadowing_db": 100.0},
    ],
)
@pytest.mark.parametrize("power", [1e-300, 1e-85, 1e-3, 1.0, 1e6, 1e300])
def test_a_long_term_limit_at_its_extremes(law: dict[str, object], power: float) -> None:
    """The energy spent, from the mean of 1/gain given that the device sends, keeps the limit; nothing is nan."""
    for dimension in (2, 10**6):
        one = system(dimension=dimension, noise_variance=[0.1, 0.0, 1e-9])
        channel = Channel(max_power=power, power_limit="long_term", **law)  # type: ignore[arg-type]
        sends, threshold = channel.participation(one), channel.threshold(one)
        assert np.all(threshold >= 0) and np.all((sends >= 0) & (sends <= 1))
        inverse = np.where(sends > 0, channel.inverse_gain(one), 0.0)
        block = one.alignment**2 * (one.weight**2 + dimension * one.noise_variance)
        assert np.all(sends * inverse * block <= power * (1 + 1e-12))


def test_a_rician_gain_far_in_its_tail() -> None:
    """One minus the law below was 0 from 1e-16 on, and epsilon of such a device 0: the sum over Poisson counts, 40 digits."""
    with mpmath.workdps(40):
        for k_factor, ratio in ((0.1, 60.0), (1.0, 30.0), (5.0, 20.0), (5.0, 100.0), (100.0, 10.0)):
            x = (1 + mpmath.mpf(k_factor)) * ratio
            terms = (
                mpmath.e**-k_factor * mpmath.mpf(k_factor) ** j / mpmath.factorial(j)
                * mpmath.gammainc(j + 1, x, regularized=True) for j in range(700)
            )  # fmt: skip
            found = Rician(k_factor).exceeds(np.array([ratio]))[0]
            assert abs(found / sum(terms) - 1) < 1e-9


@pytest.mark.parametrize("shape", [0.5, 0.7, 0.999, 1 - 1e-10, 1.0, 1 + 1e-10, 1.5, 200.0])
def test_the_price_of_inverting_a_nakagami_gain(shape: float) -> None:
    with mpmath.workdps(40):
        m = mpmath.mpf(shape)
        for ratio in (1e-300, 1e-20, 1e-3, 0.3, 0.9999 / shape, 1 / shape, 1.5, 5.0, 30.0):
            true = m * mpmath.gammainc(m - 1, m * mpmath.mpf(ratio)) / mpmath.gamma(m)
            found = Nakagami(shape).inverse_above(np.array([ratio]))[0]
            assert abs(found / true - 1) < 1e-13 or (found == 0 and true < 1e-300)


@pytest.mark.parametrize("k_factor", [0.0, 1e-3, 1.0, 30.0, 1e3, 1e6])
def test_the_price_of_inverting_a_rician_gain(k_factor: float) -> None:
    """An integral over the amplitude, in units of its deviation w; Bessel functions as mpmath has them."""
    with mpmath.workdps(25):
        K = mpmath.mpf(k_factor)
        c, w = mpmath.sqrt(K / (1 + K)), 1 / mpmath.sqrt(2 * (1 + K))

        def density(a: mpmath.mpf) -> mpmath.mpf:
            y = 2 * mpmath.sqrt(K * (1 + K)) * a
            return 2 * (1 + K) * mpmath.exp(-(((a - c) / w) ** 2) / 2 - y) * mpmath.besseli(0, y) / a

        for deviations in (-2.0, 0.0, 3.0, 12.0):
            start = c + w * deviations
            if start <= 0.05:
                start = mpmath.mpf("0.05")
            places = [
                start,
                *(c + w * j for j in range(-30, 10, 2) if c + w * j > start),
                start + 9 * w,
                start + 40 * w,
            ]
            scale = density(start)  # an integral that is no number near 1 ends early
            true = scale * mpmath.quad(lambda a: density(a) / scale, sorted(places))  # noqa: B023
            found = Rician(k_factor).inverse_above(np.array([float(start**2)]))[0]
            assert abs(found / true - 1) < 1e-11 * (1 + float(start / w)), deviations


def test_long_term_thresholds_beside_mpmath() -> None:
    for limit in (1e-3, 0.2, 1.0, 3.0, 30.0):
        g = Rayleigh().threshold_for(np.array([limit]))[0]
        assert -1e-9 < mpmath.e1(g) / limit - 1 <= 0
        for m in (0.55, 0.8, 1.2):
            g = Nakagami(m).threshold_for(np.array([limit]))[0]
            if g > 0:
                found = m * mpmath.gammainc(m - 1, m * mpmath.mpf(g)) / mpmath.gamma(m)
                assert -1e-9 < found / limit - 1 <= 0, (m, limit)


def _received(drawn, one: InferenceSystem, z: np.ndarray, rng: np.random.Generator, model: CodeModel) -> np.ndarray:
    """One state, many draws of the signal at all looks, shape (draws, L, r); complex symbols as r / 2 complex numbers."""
    draws, a = 200_000, drawn.coefficients[0]
    L = a.shape[1]
    shape = (draws, one.dimension)
    received = 0.0
    for k in range(one.devices):
        roll = rng.random(draws) < one.participation[k]
        sent = roll[:, None] * (one.weight[k] * z[k] + np.sqrt(one.noise_variance[k]) * rng.standard_normal(shape))
        if model is CodeModel.COMPLEX:
            sent = sent[:, 0::2] + 1j * sent[:, 1::2]
        received = received + one.alignment * a[k][None, :, None] * sent[:, None, :]
    sigma = np.sqrt(one.receiver_noise_variance)
    noise = sigma * rng.standard_normal((draws, L, one.dimension))
    return received + (noise[..., 0::2] + 1j * noise[..., 1::2] if model is CodeModel.COMPLEX else noise)


@pytest.mark.parametrize("model", CodeModel)
def test_best_combination_by_simulation(model: CodeModel) -> None:
    """The MSE of the combination, by simulating the air; and no other combination near it is better."""
    rng = np.random.default_rng(8)
    one = system(participation=[0.9, 0.6, 1.0])
    features = Features(
        f=rng.standard_normal((3, 3)) / 2, W=rng.standard_normal((3, 4, 3)), D=rng.standard_normal((3, 4))
    )
    channel = Channel(model=model, antennas=2, fading="rayleigh", states=1, seed=4)
    found, drawn = combiner.best(one, features, channel), channel.draw(one)
    y = _received(drawn, one, features.clipped(one.clip), rng, model) / one.alignment

    def error(u: np.ndarray) -> np.ndarray:
        combined = np.einsum("l,nlr->nr", u.conj(), y)
        if model is CodeModel.COMPLEX:
            combined = np.stack([combined.real, combined.imag], axis=2).reshape(combined.shape[0], -1)
        return np.sum((combined @ features.D.T - features.target) ** 2, axis=1)

    u = found.combination[0]
    errors = error(u)
    assert abs(np.mean(errors) - found.mse[0]) < 5 * np.std(errors) / np.sqrt(errors.size)
    for _ in range(5):
        other = u + 0.2 * (
            rng.standard_normal(u.size) + (1j * rng.standard_normal(u.size) if np.iscomplexobj(u) else 0)
        )
        difference = error(other) - errors
        assert np.mean(difference) > -5 * np.std(difference) / np.sqrt(errors.size)


@pytest.mark.parametrize("model", CodeModel)
def test_mse_by_a_million_draws(model: CodeModel) -> None:
    """Rolls, noises and looks of two states drawn as the model says; the errors of a given combination, and of the best one."""
    rng = np.random.default_rng(9)
    one = system(participation=[0.9, 0.6, 1.0])
    features = Features(
        f=rng.standard_normal((3, 3)) / 2, W=rng.standard_normal((3, 4, 3)), D=rng.standard_normal((3, 4))
    )
    channel = Channel(model=model, antennas=2, fading="rayleigh", csi_error=0.05, states=2, seed=6)
    drawn, best = channel.draw(one), combiner.best(one, features, channel)
    other = best.combination * 0.7
    exact = {"best": best.mse, "other": combiner.errors(one, features, drawn, other)}
    signal = np.broadcast_to(one.weight[:, None] * features.clipped(one.clip), (100_000, 3, 4))
    for state in range(2):
        found: dict[str, list[np.ndarray]] = {"best": [], "other": []}
        for _ in range(5):
            rolls = (rng.random((100_000, 3)) < one.participation).astype(float)
            where = np.full(100_000, state)
            y = antennas.receive(one, drawn, where, rolls, signal, rng)
            for name, u in (("best", best.combination), ("other", other)):
                decoded = antennas.combined(y, u[where]) / one.alignment @ features.D.T
                found[name].append(np.sum((decoded - features.target) ** 2, axis=1))
        for name, parts in found.items():
            errors = np.concatenate(parts)
            assert abs(np.mean(errors) - exact[name][state]) < 5 * np.std(errors) / np.sqrt(errors.size)


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_the_limits_that_the_theory_names(adjacency: str) -> None:
    """No receiver noise, no coefficient, no device that sends, states without participants."""
    from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy

    one = system(adjacency=adjacency)
    rng = np.random.default_rng(0)
    unheard = rng.standard_normal((2, 3, 2))
    unheard[:, 0] = 0.0
    assert channel_privacy.epsilon(one, Channel(looks=unheard), device=0) < 1e-9  # v is infinite
    singular = replace(one, receiver_noise_variance=0.0)
    wide = Channel(looks=rng.standard_normal((2, 3, 4)))  # more looks than devices: v = 0
    found = np.asarray(channel_privacy.epsilon(singular, wide))
    if adjacency == "absent":
        assert np.all(found == np.inf)  # delta tends to p_k = 1
    else:
        distance = one.alignment * one.weight * one.clip * (2 if adjacency == "replace" else 1)
        alone = [
            float(airtight.gaussian(d / s).epsilon(one.delta))
            for d, s in zip(distance, one.alignment * np.sqrt(one.noise_variance), strict=True)
        ]
        np.testing.assert_allclose(found, alone, rtol=1e-6)
    with pytest.raises(ParameterError, match="max_power"):
        Channel(max_power=1e-9).with_participation(one)  # no device ever sends
    seldom = Channel(fading="rayleigh", antennas=2, max_power=0.02, states=40)
    thin = seldom.with_participation(one)
    drawn = seldom.draw(thin)
    assert drawn.sends is not None and np.any(~np.any(drawn.sends, axis=1))  # states without participants
    for observer in ("participants", "others", "signal"):
        assert np.all(np.asarray(channel_privacy.epsilon(thin, seldom, observer=observer)) >= 0)
    nobody = system(adjacency=adjacency, participation=0.0)
    assert np.all(channel_privacy.epsilon(nobody, Channel(antennas=2, fading="rayleigh", states=4)) == 0)


def test_coloured_noise_has_no_key() -> None:
    """One variance of all looks: a matrix is refused, as is a negative or missing one."""
    for value in (np.eye(2), -1.0, float("nan"), [0.1, 0.2]):
        with pytest.raises(ParameterError, match="receiver_noise_variance"):
            system(receiver_noise_variance=value)


def test_one_look_is_the_best_gain() -> None:
    rng = np.random.default_rng(1)
    one = system(participation=0.8)
    features = Features(f=rng.standard_normal((3, 2)), W=rng.standard_normal((3, 4, 2)), D=rng.standard_normal((2, 4)))
    gain = decoding.best_gain(one, features)
    found = combiner.best(one, features, Channel())
    if gain.gain > 0:
        assert found.mse[0] == pytest.approx(gain.mse, rel=1e-10)
    assert found.mse[0] <= decoding.constant_output(features)


@given(
    st.sampled_from(sorted(EXAMPLES)),
    st.integers(1, 4),
    st.sampled_from(["real", "complex"]),
    st.floats(0, 0.5),
    st.integers(0, 1000),
)
@settings(max_examples=25, deadline=None)
def test_round_trip_and_reproducible(fading: str, antennas: int, model: str, error: float, seed: int) -> None:
    channel = Channel(
        model=model,
        antennas=antennas,
        fading=fading,
        csi_error=error,
        seed=seed,
        states=5,
        **EXAMPLES[fading],
        eavesdropper={"antennas": 2, "mean_power": 0.5},
    )
    again = Channel(**channel.to_dict())
    assert again == channel and hash(again) == hash(channel)
    first, second = channel.draw(system()), again.draw(system())
    assert np.array_equal(first.coefficients, second.coefficients)
    assert channel != replace(channel, seed=seed + 1)
    looks = first.coefficients.shape[2]
    assert looks == antennas or (model == "real" and looks == 2 * antennas)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"antennas": 0}, "antennas"),
        ({"fading": "rician"}, "k_factor"),
        ({"k_factor": 1.0}, "k_factor"),
        ({"fading": "nakagami", "shape": 0.1}, "shape"),
        ({"shadowing_db": 3.0}, "shadowing_db"),
        ({"mean_power": 0.0}, "mean_power"),
        ({"mean_power": 1.0, "distance": 10.0}, "mean_power"),
        ({"path_loss_exponent": 2.0}, "path_loss_exponent"),
        ({"csi_error": -1.0}, "csi_error"),
        ({"max_power": float("nan")}, "max_power"),
        ({"power_limit": "peak"}, "power_limit"),
        ({"max_power": 1.0, "power_limit": "mean"}, "power_limit"),
        ({"max_power": 1.0, "power_limit": "peak"}, "peak_outage"),
        ({"max_power": 1.0, "power_limit": "peak", "peak_outage": 0.0}, "peak_outage"),
        ({"max_power": 1.0, "peak_outage": 0.1}, "peak_outage"),
        ({"looks": np.ones((2, 3))}, "looks"),
        ({"looks": np.full((1, 3, 2), np.nan)}, "looks"),
        ({"looks": np.ones((1, 3, 2)), "max_power": 1.0}, "max_power"),
        ({"looks": np.ones((1, 3, 2)), "antennas": 2}, "antennas"),
        ({"looks": np.ones((1, 3, 2)), "states": 7}, "states"),
        ({"looks": np.ones((1, 3, 2)), "seed": 1}, "seed"),
        ({"eavesdropper": {"antenna": 2}}, "eavesdropper"),
        ({"eavesdropper": {"antennas": 0}}, "eavesdropper.antennas"),
        ({"model": "imaginary"}, "model"),
        ({"states": 0}, "states"),
    ],
)
def test_errors_name_the_parameter(values: dict[str, object], name: str) -> None:
    with pytest.raises(ParameterError) as error:
        Channel(**values)  # type: ignore[arg-type]
    assert error.value.name == name


def test_errors_beside_a_system() -> None:
    for channel, name in (
        (Channel(looks=np.ones((1, 2, 2))), "looks"),
        (Channel(mean_power=[1.0, 2.0]), "mean_power"),
        (Channel(max_power=0.3, fading="rayleigh"), "participation"),
    ):
        with pytest.raises(ParameterError) as error:
            channel.draw(system())
        assert error.value.name == name
    with pytest.raises(ParameterError) as error:
        Channel(model="complex").draw(system(dimension=3))
    assert error.value.name == "dimension"
    with pytest.raises(ParameterError) as error:
        Channel(max_power=1e-6).with_participation(system())
    assert error.value.name == "max_power"


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({"max_power": [1.0, 1.0, 1e-155]}, "max_power = [1.0, 1.0, 1e-155]"),
        ({"csi_error": 1e160}, "csi_error = 1e+160"),
        ({"mean_power": 1e-14, "max_power": 1e-200}, "max_power = 1e-200"),
        ({"distance": [1.0, 2.0, 1e200]}, "distance[2] = 1e+200"),
        ({"distance": 1e-200}, "distance = 1e-200"),
        ({"eavesdropper": {"mean_power": 1e160}}, "eavesdropper.mean_power = 1e+160"),
    ],
)
def test_errors_of_extremes_show_what_was_given(values: dict[str, object], shown: str) -> None:
    channel = Channel(fading="rayleigh", antennas=2, states=5, **values)  # type: ignore[arg-type]
    with pytest.raises(ParameterError) as error:
        channel.draw(channel.with_participation(system()), eavesdropper="eavesdropper" in values)
    assert str(error.value).startswith(f"{shown}: must be ")


def test_a_device_that_hardly_ever_sends_is_drawn() -> None:
    """Gains of a Rician channel far in their tail, given that they suffice, by the law of their excess."""
    channel = Channel(fading="rician", k_factor=2.0, antennas=2, max_power=[1.0, 0.03, 1e-5], states=20_000)
    one = channel.with_participation(system())
    assert one.participation[2] == 0 and 0 < one.participation[1] < 1e-9
    threshold = channel.threshold(one)
    for k in (0, 1):
        u = (np.arange(1000) + 0.5) / 1000
        gains = channel.power_gain.drawn_above(u[:, None], threshold[k : k + 1], np.ones(1))[:, 0]
        above = [channel.power_gain.exceeds(np.array([end]))[0] for end in (*gains[::250], threshold[k])]
        np.testing.assert_allclose(above[:-1], (1 - u[::250]) * above[-1], rtol=1e-6)
    epsilon = airtight.epsilon(one.replace(channel=replace(channel, states=20)))
    assert epsilon[2] == 0 and np.all(np.isfinite(epsilon))


_FILE = """
[inference]
devices = 3
{participation}
noise_variance = 0.1
weight = 0.33
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.1
dimension = 4
delta = 1e-3
adjacency = "{adjacency}"
{rounds}
[inference.channel]
{channel}
"""


def _run(tmp_path, *arguments: str, participation: str = "participation = 0.8", channel: str = "", **rest: str):
    path = tmp_path / "system.toml"
    values = {"adjacency": "silent", "rounds": "", **rest}
    path.write_text(_FILE.format(participation=participation, channel=channel, **values))
    return CliRunner().invoke(main, [*arguments[:-1], str(path), *arguments[-1].split()])


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_bounds_of_a_file(tmp_path, adjacency: str) -> None:
    table = 'antennas = 2\nfading = "rayleigh"\nstates = 6\neavesdropper = { antennas = 2, mean_power = 1.0 }'
    found = _run(tmp_path, "bounds", "--json", channel=table, adjacency=adjacency, rounds="rounds = 3")
    assert found.exit_code == 0, found.output
    inference = json.loads(found.stdout)["inference"]
    part = inference["channel"]
    of_all = {"participation", "outage", "states", "antennas_alike", "epsilon", "epsilon_quantiles", "fading"}
    assert set(part) == {*of_all, "eavesdropper"} and part["antennas_alike"] is False
    assert part["participation"] == [0.8] * 3 and part["outage"] == [0.0] * 3 and part["states"] == 6
    seen = "others" if adjacency == "absent" else "participants"
    assert part["epsilon"][seen] == inference["privacy"]["exact"]["epsilon"]
    assert inference["privacy"]["composed"]["rounds"] == 3
    assert _run(tmp_path, "bounds", "", channel=table, adjacency=adjacency).exit_code == 0


@pytest.mark.parametrize(
    ("table", "told"), [("antennas = 4", True), ('antennas = 4\nfading = "rayleigh"', False), ("antennas = 1", False)]
)
def test_antennas_without_fading_are_pointed_out(tmp_path, table: str, told: bool) -> None:
    found = _run(tmp_path, "bounds", "--json", channel=f"{table}\nstates = 4")
    assert json.loads(found.stdout)["inference"]["channel"]["antennas_alike"] is told
    shown = _run(tmp_path, "bounds", "", channel=f"{table}\nstates = 4").stdout
    assert ("There is no fading: all antennas receive" in shown) is told


def test_a_channel_of_one_antenna_changes_no_bit(tmp_path) -> None:
    plain = _run(tmp_path, "bounds", "--json", channel="").stdout
    (tmp_path / "system.toml").write_text((tmp_path / "system.toml").read_text().split("[inference.channel]")[0])
    without = CliRunner().invoke(main, ["bounds", str(tmp_path / "system.toml"), "--json"]).stdout
    assert json.loads(plain)["inference"]["privacy"] == json.loads(without)["inference"]["privacy"]


@pytest.mark.parametrize(
    ("table", "participation", "key"),
    [
        ("max_power = 1.0", "participation = 0.8", "inference.participation"),
        ("antenas = 2", "participation = 0.8", "inference.channel.antenas"),
        ("antennas = 0", "participation = 0.8", "inference.channel.antennas"),
        ('file = "none.npz"', "participation = 0.8", "inference.channel.file"),
        ('fading = "rician"', "participation = 0.8", "inference.channel.k_factor"),
        ("mean_power = [1.0, 2.0]", "participation = 0.8", "inference.channel.mean_power"),
        ("max_power = 1e-9", "", "inference.channel.max_power"),
        ("max_power = 1.0\nidle = true", "", "inference.channel.idle"),
        ("antennas = 2", "", "inference.participation"),
        (
            "eavesdropper = { antenas = 2 }",
            "participation = 0.8",
            "eavesdropper.antenas: unknown key; did you mean antennas? allowed: antennas, mean_power",
        ),
        (
            "eavesdropper = { mean_power = -1.0 }",
            "participation = 0.8",
            "inference.channel.eavesdropper.mean_power = -1.0",
        ),
    ],
)
def test_errors_of_a_file(tmp_path, table: str, participation: str, key: str) -> None:
    found = _run(tmp_path, "bounds", "", channel=table, participation=participation)
    assert found.exit_code == 2 and f"{key}" in found.stderr and found.stdout == "", found.output


def test_looks_of_a_file(tmp_path) -> None:
    rng = np.random.default_rng(2)
    table = rng.standard_normal((4, 3, 2)) + 1j * rng.standard_normal((4, 3, 2))
    np.savez(tmp_path / "looks.npz", looks=table)
    found = _run(tmp_path, "bounds", "--json", channel='model = "complex"\nfile = "looks.npz"')
    part = json.loads(found.stdout)["inference"]["channel"]
    one = system(
        devices=3, participation=0.8, noise_variance=0.1, weight=0.33, alignment=1.0, receiver_noise_variance=0.1
    )
    from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy

    np.testing.assert_array_equal(
        part["epsilon"]["participants"], channel_privacy.epsilon(one, Channel(model="complex", looks=table))
    )
    np.savez(tmp_path / "looks.npz", table=table)
    assert "array looks" in _run(tmp_path, "bounds", "", channel='file = "looks.npz"').stderr


@pytest.mark.parametrize(
    "command",
    [
        "solve weights",
        "quantities",
    ],
)
def test_commands_without_channels_refuse_the_table(tmp_path, command: str) -> None:
    """A command that would leave the channel out of its numbers must not run."""
    found = _run(tmp_path, *command.split(), "", channel="antennas = 2")
    assert found.exit_code == 2 and "inference.channel" in found.stderr, found.output


@pytest.mark.parametrize("variance", [0.01, 0.3])
def test_errors_of_the_inverted_coefficient_have_their_variance(variance: float) -> None:
    states = 20_000
    drawn = Channel(model="complex", fading="rayleigh", csi_error=variance, states=states).draw(system())
    error = drawn.coefficients[:, :, 0] - 1
    square = np.abs(error) ** 2
    assert abs(np.mean(square) - variance) < 5 * variance / np.sqrt(square.size)  # an exponential law
    assert np.mean(error.real**2) == pytest.approx(variance / 2, rel=0.05)
