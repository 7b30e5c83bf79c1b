"""Better than nothing: the output that ignores y, decoder gain, linear MMSE decoder, and what no decoder goes below."""

import json
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize
from support import distortion_balls as balls
from support.common import GOOD, TASK, archive, refused, run, written

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.inference import accuracy, decoding, distortion, power_limit, transmission
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers import weights
from airtight.system_file.config import SystemFileError, load
from airtight.validate.experiments.monte_carlo import channel


def drawn(seed, **changes):
    rng = np.random.default_rng(seed)
    K, r, d = (int(n) for n in rng.integers(1, 5, 3))
    features = Features(f=rng.normal(size=(K, d)) + 1, W=rng.normal(size=(K, r, d)), D=rng.normal(size=(d, r)))
    values = {
        "devices": K,
        "participation": rng.uniform(0.1, 1, K),
        "noise_variance": rng.uniform(0, 1, K),
        "weight": rng.uniform(0, 2, K),
        "clip": rng.uniform(0.2, 3, K),
        "alignment": float(rng.uniform(0.3, 3)),
        "receiver_noise_variance": float(rng.uniform(0, 1)),
        "dimension": r,
        "delta": 1e-5,
        "delta_prime": 1e-5,
        "decoder_gain": float(rng.uniform(0.1, 3)),
        "channel_gain": rng.uniform(0.1, 2, K),
        "idle_noise": bool(rng.integers(2)),
        **changes,
    }
    return InferenceSystem(**values), features


def received(system, features, count, rng):
    """What the server decodes in many rounds, and the energy that each device spent."""
    tau = (rng.random((count, system.devices)) < system.participation).astype(float)
    signal = np.broadcast_to(
        system.weight[:, None] * features.clipped(system.clip), (count, system.devices, system.dimension)
    )
    y = channel.receive(system, tau, signal, rng)
    return system.decoder_gain / system.alignment * y @ features.D.T


@pytest.mark.parametrize("seed", range(4))
def test_gain_scales_decoder_everywhere(seed):
    system, views = drawn(seed)
    plain, scaled = replace(system, decoder_gain=1.0), replace(views, D=system.decoder_gain * views.D)
    assert distortion.breakdown(system, views) == distortion.breakdown(plain, scaled)
    assert distortion.published(system, views) == distortion.published(plain, scaled)
    assert distortion.proven(system, views) == pytest.approx(distortion.proven(plain, scaled), rel=1e-14)
    assert distortion.proven(system, views) >= distortion.exact(system, views)
    inside = [accuracy.within_margin(*each, margin=2.0).estimate for each in ((system, views), (plain, scaled))]
    assert inside[0] == pytest.approx(inside[1], rel=1e-11)
    assert float(balls.mse(system, views).mid()) == pytest.approx(distortion.exact(system, views), rel=1e-12)
    free = {"w_max": 3.0, "sums_to_one": False}
    np.testing.assert_array_equal(weights.solve(system, views, **free).w, weights.solve(plain, scaled, **free).w)
    spoken = replace(system, idle_noise=False)
    limited = power_limit.exact_mse(spoken, views, gain=1.0, power=1e9)
    assert limited.total == pytest.approx(distortion.exact(spoken, views), rel=1e-9)
    label, decoded = transmission.infer(system, views, np.ones(system.dimension), lambda f: f)
    np.testing.assert_allclose(decoded, scaled.D @ np.ones(system.dimension) / system.alignment)
    assert label == int(np.argmax(decoded))


@pytest.mark.parametrize("seed", range(3))
def test_gain_and_constant_output_met_by_simulation(seed):
    system, views = drawn(seed + 10)
    rng = np.random.default_rng(seed)
    error = np.sum((received(system, views, 40000, rng) - views.target) ** 2, axis=1)
    assert abs(error.mean() - distortion.exact(system, views)) < 5 * error.std() / 200
    assert decoding.constant_output(views) == pytest.approx(float(np.sum(views.target**2)))


@given(st.integers(0, 10**6))
def test_best_gain_is_the_least_of_a_parabola_and_never_worse_than_nothing(seed):
    system, views = drawn(seed)
    best = decoding.best_gain(system, views)
    assert best.mse <= decoding.constant_output(views) * (1 + 1e-12)

    def at(g):
        return distortion.exact(replace(system, decoder_gain=g), views)

    found = optimize.minimize_scalar(lambda x: at(float(np.exp(x))), bounds=(-25, 12), method="bounded")
    assert best.mse <= found.fun * (1 + 1e-9)
    if best.gain > 0:
        assert at(best.gain) == pytest.approx(best.mse, rel=1e-9, abs=1e-12 * decoding.constant_output(views))


def test_a_hopeless_or_silent_system_has_gain_zero():
    system, views = drawn(1)
    assert decoding.best_gain(replace(system, weight=0.0), views) == decoding.Gain(0.0, decoding.constant_output(views))
    turned = replace(views, D=-views.D)
    gains = [decoding.best_gain(system, each).gain for each in (views, turned)]
    assert min(gains) == 0.0 < max(gains)


def test_linear_mmse_is_orthogonal_and_no_linear_decoder_is_better():
    system, views = drawn(
        3,
        devices=3,
        participation=[0.3, 0.8, 1.0],
        noise_variance=0.1,
        weight=0.5,
        clip=1.5,
        channel_gain=1.0,
        dimension=2,
        decoder_gain=1.0,
    )
    rng = np.random.default_rng(0)
    views = Features(f=rng.normal(size=(3, 4)), W=rng.normal(size=(2, 4)), D=rng.normal(size=(4, 2)))
    tasks = [replace(views, f=rng.normal(size=(3, 4))) for _ in range(20)]
    best = decoding.linear_mmse(system, tasks)

    def mean_mse(D):
        return np.mean([distortion.exact(system, replace(one, D=D)) for one in tasks])

    assert mean_mse(best.D) == pytest.approx(best.mse, rel=1e-12)
    for _ in range(20):
        assert mean_mse(best.D + 1e-3 * rng.normal(size=best.D.shape)) > best.mse
    assert best.mse <= decoding.best_gain(system, tasks).mse


def test_no_decoder_goes_below_the_bound():
    """Gaussian targets, the best of estimators: a fine mesh's conditional mean, one coordinate."""
    rng = np.random.default_rng(5)
    views = Features(f=[[1.0]], W=[[1.0]], D=[[1.0]])
    system = InferenceSystem(
        devices=1,
        participation=1.0,
        noise_variance=0.2,
        weight=1.0,
        clip=1.5,
        alignment=2.0,
        receiver_noise_variance=0.4,
        dimension=1,
        delta=1e-5,
        delta_prime=1e-5,
    )
    f = rng.normal(size=200_000)
    y = np.clip(f, -1.5, 1.5) + np.sqrt(0.2 + 0.1) * rng.normal(size=f.size)
    cells = np.digitize(y, np.quantile(y, np.linspace(0, 1, 201)[1:-1]))
    means = np.bincount(cells, f) / np.bincount(cells)
    best = float(np.mean((f - means[cells]) ** 2))
    bound = decoding.any_decoder(system, views)
    assert 0.3 * best < bound < best


def watered(spectrum, rate):
    """Logarithm of the level at which the rate is spent."""

    def excess(t):
        return 0.5 * np.sum(np.maximum(np.log(spectrum) - t, 0)) - rate

    return optimize.brentq(excess, -1000, np.log(spectrum.max()))


def test_reverse_water_filling_spends_the_information():
    rng = np.random.default_rng(2)
    for seed in range(20):
        system, _ = drawn(seed, receiver_noise_variance=0.3)
        d = int(rng.integers(1, 6))
        views = Features(
            f=np.ones((system.devices, d)), W=np.zeros((system.dimension, d)), D=np.zeros((d, system.dimension))
        )
        spectrum = rng.exponential(size=d)
        rate = decoding.information(system)
        level = watered(spectrum, rate)
        expected = np.sum(np.minimum(np.exp(level), spectrum))
        assert decoding.any_decoder(system, views, spectrum=spectrum) == pytest.approx(expected, rel=1e-6)


@given(st.integers(0, 10**6))
def test_bounds_of_many_different_devices_lie_above_those_counted_out(seed):
    system, _ = drawn(seed, receiver_noise_variance=0.2)
    most = decoding._MOST_SETS
    exact = decoding.information(system)
    try:
        decoding._MOST_SETS = 0
        assert decoding.information(system) >= exact * (1 - 1e-9)
    finally:
        decoding._MOST_SETS = most


def test_transmit_energy_is_what_is_sent():
    system, views = drawn(8)
    rng = np.random.default_rng(1)
    z = views.clipped(system.clip)
    spent = np.zeros(system.devices)
    for _ in range(4000):
        tau = rng.random(system.devices) < system.participation
        noise = np.sqrt(system.noise_variance)[:, None] * rng.standard_normal(z.shape)
        sends = 1.0 if system.idle_noise else tau[:, None]
        x = (
            system.alignment
            / np.sqrt(system.channel_gain)[:, None]
            * (tau[:, None] * system.weight[:, None] * z + sends * noise)
        )
        spent += np.sum(x * x, axis=1) / 4000
    np.testing.assert_allclose(transmission.transmit_energy(system, views), spent, rtol=0.15)
    assert np.all(transmission.transmit_energy(system) >= transmission.transmit_energy(system, views))


def test_bounds_say_what_the_constant_output_reaches(tmp_path):
    archive(tmp_path)
    path = written(tmp_path, GOOD + TASK)
    found = run("bounds", path, "--json")
    part = json.loads(found.stdout)["inference"]
    target = np.load(tmp_path / "features.npz")["f"].mean(axis=0)
    assert part["distortion"]["constant_output"] == pytest.approx(float(target @ target))
    assert part["distortion"]["beats_constant"] == (part["distortion"]["exact"] < float(target @ target))
    assert part["accuracy"]["constant_output"] == 0.95 and np.linalg.norm(target) < 2
    assert "margin" in found.stderr and "the answer 0 counts as right" in found.stderr
    assert "USELESS" in run("bounds", path).stdout.partition("\n\n")[0]
    narrow = written(tmp_path, GOOD + TASK.replace("margin = 2.0", "margin = 0.5"))
    found = run("bounds", narrow, "--json")
    assert json.loads(found.stdout)["inference"]["accuracy"]["constant_output"] == 0.0 and found.stderr == ""


def test_weights_say_so_too(tmp_path):
    archive(tmp_path)
    path = written(tmp_path, GOOD + TASK.replace("epsilon_cap = 4.0", ""))
    found = json.loads(run("solve", "weights", path, "--json").stdout)
    assert found["constant_output"] > 0
    assert "constant answer: 1.33" in run("solve", "weights", path).stdout.splitlines()[0]


def test_the_face():
    system, views = drawn(4)
    assert airtight.baseline(views)["mse"] == decoding.constant_output(views)
    assert airtight.baseline(views, margin=1e9)["accuracy"] == 1.0
    assert airtight.best_gain(system, views) == decoding.best_gain(system, views).gain


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_gains_out_of_range_are_refused(value):
    for name in ("decoder_gain", "channel_gain"):
        with pytest.raises(ParameterError, match=name):
            drawn(0, **{name: value})


DB = {
    "noise_variance = 0.1": ("noise_variance_db = -10.0", "noise_variance_dbm = 20.0"),
    "receiver_noise_variance = 0.1": ("receiver_noise_variance_db = -10.0", "snr_db = 10.0"),
}


@pytest.mark.parametrize(("linear", "other"), [(key, form) for key, forms in DB.items() for form in forms])
def test_decibels_stand_for_their_linear_keys(tmp_path, linear, other):
    lines = [other if line == linear else line for line in GOOD.splitlines()]
    plain, meant = load(written(tmp_path, GOOD)).inference, load(written(tmp_path, "\n".join(lines))).inference
    np.testing.assert_allclose(plain.noise_variance, meant.noise_variance, rtol=1e-15)
    assert plain.receiver_noise_variance == pytest.approx(meant.receiver_noise_variance, rel=1e-15)


def test_variants_speak_decibels_and_keep_the_snr(tmp_path):
    text = GOOD.replace("receiver_noise_variance = 0.1", "snr_db = 20.0") + (
        "[inference.variants.louder]\nalignment = 10.0\n[inference.variants.quiet]\nreceiver_noise_variance_db = 0.0\n"
        "[inference.variants.far]\nchannel_gain_db = [-20.0, 0.0, 10.0]\n"
    )
    found = load(written(tmp_path, text)).variants
    assert found["louder"].receiver_noise_variance == pytest.approx(1.0)
    assert found["quiet"].receiver_noise_variance == 1.0
    np.testing.assert_allclose(found["far"].channel_gain, [0.01, 1.0, 10.0])


@pytest.mark.parametrize(
    ("line", "needle"),
    [
        ("noise_variance_db = -10.0", "noise_variance_db"),
        ("noise_variance_dbm = 1.0", "noise_variance"),
        ("snr_db = 3.0", "receiver_noise_variance"),
        ("channel_gain_db = 'loud'", "channel_gain_db"),
        ("channel_gain_db = 1e9", "3000"),
        ("channel_gain_db = []", "channel_gain_db"),
        ("decoder_gain = 0.0", "decoder_gain"),
        ("decoder_gane = 1.0", "did you mean decoder_gain?"),
        ("snr_bd = 1.0", "did you mean snr_db?"),
    ],
)
def test_contradictions_are_refused(tmp_path, line, needle):
    assert refused(run("bounds", written(tmp_path, GOOD + line + "\n")), needle)


def test_one_receiver_one_level(tmp_path):
    with pytest.raises(SystemFileError, match="one receiver"):
        load(
            written(tmp_path, GOOD.replace("receiver_noise_variance = 0.1", "receiver_noise_variance_db = [1.0, 2.0]"))
        )


@given(st.floats(-17, 0.9), st.sampled_from([2, 3, 10, 1000]))
def test_no_classifier_exceeds_fano(digits, labels):
    """At the accuracy that is given, the label left unknown is less than y leaves unknown: 50 digits."""
    nats = 10**digits
    found = decoding.any_accuracy(nats, labels)
    assume(found < 1)
    with mpmath.workdps(50):
        A, L = mpmath.mpf(found), mpmath.mpf(labels)
        unknown = -A * mpmath.log(A) - (1 - A) * mpmath.log(1 - A) + (1 - A) * mpmath.log(L - 1)
        assert unknown <= mpmath.log(L) - mpmath.mpf(nats) and found >= 1 / L
