"""From features to accuracy: the whole chain against enumeration, closed forms and simulation."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.inference import accuracy, distortion, margin, power_limit, transmission
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.validate.claims import reference_integrals
from airtight.validate.papers.feature_dp.common import instance

INSTANCES = st.builds(
    instance, st.integers(1, 5), st.integers(1, 4), st.sampled_from([0.1, 0.5, 2.0, 10.0]), st.integers(0, 10**6)
)
SYSTEM = InferenceSystem(
    devices=4,
    participation=[0.9, 0.5, 0.7, 1.0],
    noise_variance=[0.1, 0.3, 0.2, 0.0],
    weight=[0.3, 0.2, 0.4, 0.1],
    clip=1.2,
    alignment=1.3,
    receiver_noise_variance=0.2,
    dimension=3,
    delta=1e-5,
    delta_prime=1e-5,
)
RNG = np.random.default_rng(0)
FEATURES = Features(f=RNG.normal(size=(4, 5)), W=RNG.normal(size=(4, 3, 5)), D=RNG.normal(size=(5, 3)))


def errors(rounds, rng, reach=None):
    """Decoded minus pooled feature in simulated rounds, through Algorithms 1 and 2 in bulk."""
    z = SYSTEM.weight[:, None] * FEATURES.clipped(SYSTEM.clip)
    sent = z + np.sqrt(SYSTEM.noise_variance)[:, None] * rng.standard_normal((rounds, *z.shape))
    norm = np.linalg.norm(sent, axis=2)
    if reach is not None:
        sent *= np.minimum(1.0, reach / np.maximum(norm, 1e-300))[..., None]
    tau = rng.random((rounds, 4)) < SYSTEM.participation
    receiver = np.sqrt(SYSTEM.receiver_noise_variance) / SYSTEM.alignment * rng.standard_normal((rounds, 3))
    decoded = (np.einsum("nk,nkr->nr", tau, sent) + receiver) @ FEATURES.D.T
    return decoded - FEATURES.target, norm


def agrees(sample, value, sigmas=4.5):
    assert abs(sample.mean() - value) < sigmas * sample.std() / np.sqrt(sample.size) + 1e-12


# Distortion


@given(INSTANCES)
def test_exact_mse_against_enumeration(pair):
    assert distortion.exact(*pair) == pytest.approx(reference_integrals.enumerated_mse(*pair), rel=1e-11, abs=1e-14)


def test_proven_is_attained_by_one_device():
    """One device, one number, not clipped: the bound by norms is the MSE itself."""
    system = InferenceSystem(
        devices=1,
        participation=0.3,
        noise_variance=0.5,
        weight=0.7,
        clip=10.0,
        alignment=2.0,
        receiver_noise_variance=0.2,
        dimension=1,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency="silent",
    )
    views = Features(f=[[2.0]], W=[[1.5]], D=[[-0.4]])
    assert distortion.proven(system, views) == pytest.approx(distortion.exact(system, views), rel=2e-12)


@given(INSTANCES)
def test_proven_is_above_exact(pair):
    assert distortion.proven(*pair) >= distortion.exact(*pair)


@given(INSTANCES, st.integers(0, 100))
def test_permutation_and_units(pair, seed):
    """Devices may be renamed; features, clips and noise may be measured in another unit."""
    system, features = pair
    order = np.random.default_rng(seed).permutation(system.devices)
    renamed = dataclasses.replace(
        system, **{n: getattr(system, n)[order] for n in ("participation", "noise_variance", "weight", "clip")}
    )
    others = Features(f=features.f[order], W=features.W[order], D=features.D)
    for face in (distortion.exact, distortion.published, distortion.proven):
        assert face(renamed, others) == pytest.approx(face(system, features), rel=1e-9, abs=1e-12)
    louder = dataclasses.replace(
        system,
        noise_variance=16 * system.noise_variance,
        clip=4 * system.clip,
        receiver_noise_variance=16 * system.receiver_noise_variance,
    )
    assert distortion.exact(louder, dataclasses.replace(features, f=4 * features.f)) == pytest.approx(
        16 * distortion.exact(system, features), rel=1e-12
    )


@given(INSTANCES, st.integers(0, 2**32 - 1), st.booleans())
def test_no_codes_within_the_clips_exceed_the_worst_case(pair, seed, idle):
    """And codes along one line, with the signs of the biases, attain it; no constant has a smaller greatest error."""
    system, rng = dataclasses.replace(pair[0], idle_noise=idle), np.random.default_rng(seed)
    K, r = system.devices, system.dimension
    worst, identity = distortion.worst_case(system).total, np.eye(r)

    def error(codes):
        return distortion.exact(system, Features(f=codes, W=identity, D=identity))

    codes = rng.standard_normal((K, r))
    codes *= (system.clip * rng.uniform(0, 1, K) / np.linalg.norm(codes, axis=1))[:, None]
    assert error(codes) <= worst * (1 + 1e-12)
    signs = np.sign(system.decoder_gain * system.participation * system.weight - 1 / K)
    line = np.outer(np.where(signs == 0, 1.0, signs) * system.clip, np.eye(r)[0])
    assert error(line) == pytest.approx(worst, rel=1e-12)
    constant, mean = rng.standard_normal(r), np.outer(system.clip, np.eye(r)[0]).mean(axis=0)
    assert max(np.sum((mean - constant) ** 2), np.sum((mean + constant) ** 2)) >= distortion.worst_constant_output(system) * (
        1 - 1e-12
    )


@given(INSTANCES, st.integers(0, 4))
def test_noise_adds_to_the_mse(pair, device):
    system, features = pair
    noisier = system.noise_variance.copy()
    noisier[device % system.devices] += 0.5
    assert distortion.exact(dataclasses.replace(system, noise_variance=noisier), features) >= distortion.exact(*pair)


def test_printed_formula_term_by_term():
    """The published bound, written out with loops as printed."""
    p, w, f, W, D = SYSTEM.participation, SYSTEM.weight, FEATURES.f, FEATURES.W, FEATURES.D
    frobenius = np.sum(D * D)
    total = 5 * frobenius * (np.sum(p * SYSTEM.noise_variance) + 0.2 / 1.3**2)
    for k in range(4):
        factor = w[k] ** 2 * p[k] - 2 * w[k] * p[k] + 1
        total += factor * frobenius * np.sum(W[k] ** 2) * np.sum(f[k] ** 2)
        for j in range(k + 1, 4):
            factor = p[k] * p[j] * w[k] * w[j] - p[k] * w[k] - p[j] * w[j] + 1
            total += factor * f[k] @ W[k].T @ D.T @ D @ W[j] @ f[j]
    assert distortion.published(SYSTEM, FEATURES) == pytest.approx(total, rel=1e-13)
    epsilon, delta = np.array([0.5, 1.0, 2.0, 0.7]), 1e-4
    calibrated = dataclasses.replace(SYSTEM, noise_variance=2 * (w * 1.2 / epsilon) ** 2 * np.log(1.25 / delta))
    short = distortion.published_short(SYSTEM, FEATURES, epsilon=epsilon, delta=delta)
    assert short == pytest.approx(distortion.published(calibrated, FEATURES), rel=1e-13)


def test_what_the_printed_form_is():
    """With d -> 1, norms -> norm(a_k) and the cross sum doubled it is the MSE for the target sum_k D W_k f_k."""
    rng = np.random.default_rng(4)
    f, p, w = rng.normal(size=3), rng.random(3), rng.random(3)
    diagonal = np.sum((w * w * p - 2 * w * p + 1) * f * f)
    u = 1 - p * w
    cross = sum(u[k] * u[j] * f[k] * f[j] for k in range(3) for j in range(k + 1, 3))
    summed = (np.sum(p * w * f) - np.sum(f)) ** 2 + np.sum(p * (1 - p) * w * w * f * f)
    assert diagonal + 2 * cross == pytest.approx(summed, rel=1e-13)


def test_unbiased_design_and_its_limits():
    system = dataclasses.replace(SYSTEM, clip=100.0)
    square = Features(f=FEATURES.f[:, :3], W=np.eye(3), D=np.eye(3))
    unbiased = dataclasses.replace(system, weight=distortion.unbiased_weight(system))
    assert distortion.breakdown(unbiased, square).bias == pytest.approx(0, abs=1e-28)
    with pytest.raises(ParameterError, match=r"participation\[1\]"):
        distortion.unbiased_weight(dataclasses.replace(SYSTEM, participation=[1, 0, 1, 1]))
    silence = dataclasses.replace(SYSTEM, participation=0.0)
    nothing = distortion.breakdown(silence, FEATURES)
    assert (
        nothing.bias == pytest.approx(np.sum(FEATURES.target**2)) and nothing.local_noise == nothing.participation == 0
    )
    assert distortion.breakdown(dataclasses.replace(silence, idle_noise=True), FEATURES).local_noise > 0


def test_mse_and_probability_in_simulation():
    error, _ = errors(200_000, np.random.default_rng(1))
    square = np.sum(error**2, axis=1)
    agrees(square, distortion.exact(SYSTEM, FEATURES))
    for radius in (1.0, 2.0, 3.0):
        agrees(square <= radius**2, accuracy.within_margin(SYSTEM, FEATURES, margin=radius).estimate)


def test_misalignment_in_simulation():
    g = np.array([1.0, 0.5, 0.8, 0.0])
    rng = np.random.default_rng(2)
    signals = np.stack([transmission.extract(SYSTEM, FEATURES, rng) for _ in range(4000)])
    square = np.empty(4000)
    for i, sent in enumerate(signals):
        received = transmission.receive(SYSTEM, sent, rng.random(4) < SYSTEM.participation, rng, gain=g)
        label, decoded = transmission.infer(SYSTEM, FEATURES, received, lambda x: x[:2])
        assert label in (0, 1)
        square[i] = np.sum((decoded - FEATURES.target) ** 2)
    agrees(square, distortion.exact(SYSTEM, FEATURES, gain=g))


# Peak power


def test_power_limit_in_simulation():
    h, power = np.array([1.0, 0.5, 0.8, 0.3]), 0.5
    reach = h * np.sqrt(power) / SYSTEM.alignment
    error, norm = errors(200_000, np.random.default_rng(3), reach)
    agrees(np.sum(error**2, axis=1), power_limit.exact_mse(SYSTEM, FEATURES, gain=h, power=power).total)
    short = transmission.misaligned(SYSTEM, FEATURES, gain=h, power=power)
    for k in range(4):
        agrees((norm[:, k] > reach[k]).astype(float), short[k])


@given(INSTANCES)
def test_power_that_abounds_changes_nothing(pair):
    system, features = dataclasses.replace(pair[0], idle_noise=False), pair[1]
    limited = power_limit.exact_mse(system, features, gain=1.0, power=1e12)
    free = distortion.breakdown(system, features)
    for name in ("bias", "participation", "local_noise", "receiver_noise"):
        assert getattr(limited, name) == pytest.approx(getattr(free, name), rel=1e-9, abs=1e-11)
    none = power_limit.exact_mse(system, features, gain=0.0, power=1.0)
    assert none.bias == pytest.approx(np.sum(features.target**2)) and none.local_noise == 0


@given(st.floats(0, 1e3), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(0, 10**6))
def test_peak_power(weight, clip, power, seed):
    rng = np.random.default_rng(seed)
    z, n = rng.normal(size=3), rng.normal(size=3) * rng.uniform(0, 2 * weight * clip + 1)
    z *= clip / np.linalg.norm(z)
    sent, norms = np.linalg.norm(weight * z + n), {"weight": weight, "clip": clip, "noise_norm": np.linalg.norm(n)}
    proven = transmission.proven_limit(power, **norms)
    published = transmission.published_limit(power, **norms)
    assert (proven * sent) ** 2 <= power * (1 + 1e-12) and (published * sent) ** 2 <= 2 * power * (1 + 1e-12)
    assert proven <= transmission.exact_limit(power, signal_norm=sent) * (1 + 1e-12)
    assert transmission.exact_limit(power, signal_norm=0.0) == np.inf


def test_watt():
    assert transmission.watt([0.0, 30.0]) == pytest.approx([1e-3, 1.0])


# Accuracy


@given(INSTANCES, st.floats(0.05, 20.0))
def test_markov_is_below_the_probability(pair, radius):
    inside = accuracy.within_margin(*pair, margin=radius)
    assert inside.lower == inside.estimate == inside.upper
    assert accuracy.markov(distortion.exact(*pair), margin=radius) <= inside.estimate + 1e-10
    assert accuracy.within_margin(*pair, margin=1.5 * radius).estimate >= inside.estimate - 1e-10


def test_ledger_values_of_a_tiny_instance():
    """Orthonormal decoder, K = 12, against the values of the ledger's own construction in another way: equal devices."""
    system = dataclasses.replace(
        SYSTEM, devices=12, participation=0.9, noise_variance=0.1, weight=1 / 12, clip=100.0, alignment=1.0, dimension=2
    )
    features = Features(f=np.ones((12, 2)), W=np.eye(2), D=np.eye(2))
    grouped = accuracy.within_margin(system, features, margin=1.5).estimate
    rng = np.random.default_rng(6)
    count = rng.binomial(12, 0.9, 400_000)
    mean = (count / 12 - 1)[:, None] * np.ones(2)
    error = mean + np.sqrt(0.1 * count + 0.2)[:, None] * rng.standard_normal((400_000, 2))
    agrees((np.sum(error**2, axis=1) <= 2.25).astype(float), grouped)


def test_sampled_sets_bracket_the_truth():
    """Twenty different devices: more sets than are added up; the same system in two equal halves is exact."""
    rng = np.random.default_rng(7)
    f = np.repeat(rng.normal(size=(2, 3)), 10, axis=0)
    system = dataclasses.replace(
        SYSTEM, devices=20, participation=0.6, noise_variance=0.05, weight=0.08, clip=5.0, dimension=3
    )
    exact = accuracy.within_margin(system, Features(f=f, W=np.eye(3), D=np.eye(3)), margin=1.2)
    assert exact.lower == exact.upper
    nudged = Features(f=f + 1e-9 * rng.normal(size=f.shape), W=np.eye(3), D=np.eye(3))
    sampled = accuracy.within_margin(system, nudged, margin=1.2, rng=np.random.default_rng(8))
    assert sampled.lower < exact.estimate < sampled.upper and sampled.upper - sampled.lower < 0.05


def test_no_noise_and_singular_decoders():
    quiet = dataclasses.replace(SYSTEM, noise_variance=0.0, receiver_noise_variance=0.0, participation=1.0)
    off = distortion.exact(quiet, FEATURES) ** 0.5
    assert accuracy.within_margin(quiet, FEATURES, margin=off * 1.0001).estimate == 1.0
    assert accuracy.within_margin(quiet, FEATURES, margin=off * 0.9999).estimate == 0.0
    faint = dataclasses.replace(quiet, receiver_noise_variance=1e-300)
    assert accuracy.within_margin(faint, FEATURES, margin=off * 1.0001).estimate == 1.0
    nothing = Features(f=FEATURES.f, W=FEATURES.W, D=np.zeros((5, 3)))
    reach = float(np.linalg.norm(FEATURES.target))
    assert accuracy.within_margin(SYSTEM, nothing, margin=reach * 1.01).estimate == pytest.approx(1.0, abs=1e-15)
    assert accuracy.within_margin(SYSTEM, nothing, margin=reach * 0.99).estimate == 0.0
    zero = Features(f=np.zeros((4, 5)), W=FEATURES.W, D=FEATURES.D)
    assert 0 < accuracy.within_margin(SYSTEM, zero, margin=1.0).estimate < 1


def test_the_margin_itself_is_inside():
    """Nobody sends, nothing is noisy: the error is exactly the length of the target, here 1."""
    silent = dataclasses.replace(SYSTEM, participation=0.0, noise_variance=0.0, receiver_noise_variance=0.0)
    unit = Features(f=np.tile([1.0, 0, 0, 0, 0], (4, 1)), W=FEATURES.W, D=np.eye(5, 3))
    assert accuracy.within_margin(silent, unit, margin=1.0).estimate == 1.0
    assert accuracy.within_margin(silent, unit, margin=0.999).estimate == 0.0


def test_bounds_from_the_mse():
    assert accuracy.markov([0.0, 0.5, 2.0, np.inf], margin=1.0, ideal_accuracy=0.8).tolist() == [0.8, 0.4, 0.0, 0.0]
    assert accuracy.short_paper(0.5, margin=2.0) == 1 - 0.0625
    assert accuracy.cantelli(2.0, variance=1.0, margin=1.0) == 0.0
    assert accuracy.cantelli(0.5, variance=0.0, margin=1.0) == 1.0
    for bad in ({"mse": -1.0, "margin": 1.0}, {"mse": 1.0, "margin": 0.0}, {"mse": np.nan, "margin": 1.0}):
        with pytest.raises(ParameterError):
            accuracy.markov(**bad)
    with pytest.raises(ParameterError, match="ideal_accuracy"):
        accuracy.exact(SYSTEM, FEATURES, margin=1.0, ideal_accuracy=1.5)


@given(INSTANCES, st.floats(0.1, 10.0))
def test_cantelli_holds(pair, radius):
    system, features = pair
    rng = np.random.default_rng(0)
    z = system.weight[:, None] * features.clipped(system.clip)
    noise = np.sqrt(system.noise_variance)[:, None] * rng.standard_normal((2000, *z.shape))
    tau = rng.random((2000, system.devices)) < system.participation
    sends = np.ones_like(tau) if system.idle_noise else tau
    receiver = (
        np.sqrt(system.receiver_noise_variance) / system.alignment * rng.standard_normal((2000, system.dimension))
    )
    received = np.einsum("nk,kr->nr", tau, z) + np.einsum("nk,nkr->nr", sends, noise) + receiver
    square = np.sum((received @ features.D.T - features.target) ** 2, axis=1)
    bound = accuracy.cantelli(square.mean(), variance=square.var(), margin=radius)
    assert bound <= np.mean(square <= radius**2) + 1e-9


# Margin


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 4))
def test_linear_margin_is_the_margin(seed, labels, d):
    rng = np.random.default_rng(seed)
    layer = [(rng.normal(size=(labels, d)), rng.normal(size=labels))]
    f = rng.normal(size=d)
    label = int(np.argmax(margin.logits(layer, f)))
    exact = margin.exact_linear(layer, f)
    step = rng.normal(size=(200, d))
    step *= exact * (1 - 1e-9) / np.linalg.norm(step, axis=1, keepdims=True)
    assert all(int(np.argmax(margin.logits(layer, f + s))) == label for s in step)
    W, outputs = layer[0][0], margin.logits(layer, f)
    gaps = [(outputs[label] - outputs[j]) / np.linalg.norm(W[label] - W[j]) for j in range(labels) if j != label]
    other = [j for j in range(labels) if j != label][int(np.argmin(gaps))]
    across = W[other] - W[label]
    beyond = f + exact * (1 + 1e-6) * across / np.linalg.norm(across)
    assert margin.logits(layer, beyond)[other] > margin.logits(layer, beyond)[label]
    assert margin.published(layer, f) <= margin.spectral_bound(layer, f) * (1 + 1e-9) <= exact * (1 + 2e-9)


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_certified_radii_of_networks(seed, depth):
    rng = np.random.default_rng(seed)
    widths = [3, *rng.integers(2, 6, depth), 4]
    net = [(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in pairwise(widths)]
    f = rng.normal(size=3)
    label = int(np.argmax(margin.logits(net, f)))
    bounds = [margin.published(net, f), margin.spectral_bound(net, f), margin.layerwise_bound(net, f)]
    assert bounds[0] <= bounds[1] * (1 + 1e-9) and bounds[1] <= bounds[2] * (1 + 1e-9)
    for s in rng.normal(size=(200, 3)):
        moved = f + s * bounds[2] * (1 - 1e-9) / np.linalg.norm(s)
        assert int(np.argmax(margin.logits(net, moved))) == label


def test_margins_at_the_edge():
    even = [(np.eye(2), [0.0, 0.0])]
    assert margin.exact_linear(even, [1.0, 1.0]) == 0.0 and margin.exact_linear(even, [0.0, 1.0], label=0) == 0.0
    constant = [(np.zeros((2, 2)), [1.0, 0.0])]
    assert margin.exact_linear(constant, [0.0, 0.0]) == margin.published(constant, [0.0, 0.0]) == np.inf
    for layers, f, needle in (
        ([], [1.0], "layers"),
        (even, [1.0], r"layers\[0\]"),
        (even * 2, [1.0, 0.0], "one layer"),
        ([(np.eye(1), [0.0])], [1.0], "two labels"),
        (even, [[1.0, 0.0]], "f"),
    ):
        with pytest.raises(ParameterError, match=needle):
            margin.exact_linear(layers, f)
    with pytest.raises(ParameterError, match="label = 2"):
        margin.published(even, [1.0, 0.0], label=2)


@pytest.mark.parametrize(
    ("arrays", "needle"),
    [
        ({"f": np.zeros(3), "W": np.eye(3), "D": np.eye(3)}, "f = "),
        ({"f": np.zeros((2, 3)), "W": np.eye(3), "D": np.eye(2)}, "D = "),
        ({"f": np.zeros((2, 3)), "W": np.zeros((3, 2, 3)), "D": np.zeros((3, 2))}, "W = "),
        ({"f": np.full((2, 3), np.nan), "W": np.eye(3), "D": np.eye(3)}, "f[0, 0] = nan"),
    ],
)
def test_bad_features(arrays, needle):
    with pytest.raises(ParameterError) as error:
        Features(**arrays)
    assert needle in str(error.value)


def test_features_that_do_not_fit_the_system():
    with pytest.raises(ParameterError, match="4 rows"):
        distortion.exact(SYSTEM, Features(f=np.zeros((3, 5)), W=FEATURES.W[:3], D=FEATURES.D))
    with pytest.raises(ParameterError, match="r = 3"):
        distortion.exact(SYSTEM, Features(f=np.zeros((4, 5)), W=np.zeros((2, 5)), D=np.zeros((5, 2))))


@pytest.mark.parametrize("changes", [{"alignment": 1e-200}, {"alignment": 1e200}, {"weight": 1e200}])
def test_extremes_give_infinities_not_errors(changes):
    """An MSE beyond the greatest double is infinite; noise beyond it leaves no feature within the margin."""
    system = dataclasses.replace(SYSTEM, **changes)
    exact, published = distortion.exact(system, FEATURES), distortion.published(system, FEATURES)
    assert not np.isnan(exact) and not np.isnan(published) and distortion.proven(system, FEATURES) >= exact
    inside = accuracy.within_margin(system, FEATURES, margin=2.0).estimate
    assert 0 <= inside <= 1
    if changes == {"alignment": 1e-200}:
        assert exact == published == np.inf and inside == 0.0


@pytest.mark.parametrize("shared", [True, False])
def test_norms_of_the_encoders(shared):
    W = np.random.default_rng(5).normal(size=(3, 5) if shared else (4, 3, 5))
    views = Features(f=np.ones((4, 5)), W=W, D=np.ones((5, 3)))
    singular = np.broadcast_to(np.linalg.svd(W, compute_uv=False), (4, 3))
    assert views.encoder_norms("spectral") == pytest.approx(singular.max(axis=1))
    assert views.encoder_norms("frobenius") == pytest.approx(np.sqrt((singular**2).sum(axis=1)))


def test_an_empty_round_is_the_receivers_noise():
    rng = np.random.default_rng(4)
    system = InferenceSystem(
        devices=1,
        participation=0.5,
        noise_variance=1.0,
        weight=1.0,
        clip=1.0,
        alignment=3.0,
        receiver_noise_variance=0.25,
        dimension=20000,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency="silent",
    )
    heard = transmission.receive(system, np.ones((1, 20000)), [False], rng)
    assert np.var(heard) == pytest.approx(0.25, rel=0.05) and abs(np.mean(heard)) < 0.02


def test_defaults_are_aligned_and_without_loss():
    signals = transmission.extract(SYSTEM, FEATURES, np.random.default_rng(0))
    everybody = np.ones(SYSTEM.devices, dtype=bool)
    one, two = (
        transmission.receive(SYSTEM, signals, everybody, np.random.default_rng(1), **gain)
        for gain in ({}, {"gain": 1.0})
    )
    assert np.array_equal(one, two)
    found = accuracy.exact(SYSTEM, FEATURES, margin=2.0)
    assert found == accuracy.within_margin(SYSTEM, FEATURES, margin=2.0) and 0 < found.estimate < 1
