"""What the server infers, in balls: the MSE at the power limit, staying within the margin, outages; with every extreme."""

import math

import flint
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import accuracy_balls, distortion_balls, power_limit_balls
from support.precision import root

from airtight.analytics.forms.balls import gaussian_divergence
from airtight.analytics.forms.balls.ball import ball, ends, refine
from airtight.analytics.inference import accuracy, distortion, fading, power_limit, transmission
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian

chance = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-12, 1 - 1e-12]))
length = st.one_of(st.floats(-3, 3).map(lambda x: 10.0**x), st.just(0.0))
patient = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


@patient
@given(length, length, length, st.sampled_from([1, 2, 3, 16, 200]))
def test_shortened_signal(sigma, signal, reach, dimension):
    """Relative error below 1e-10, as the Notes promise, of the mean's factor and of both variances."""
    numeric = power_limit._shortened(sigma, signal, reach, dimension)
    for found, enclosed in zip(numeric, power_limit_balls.shortened(sigma, signal, reach, dimension), strict=True):
        lower, upper = ends(enclosed)
        if upper > 1e-290 and not (dimension == 1 and found is numeric[1]):  # nothing lies across a line
            assert upper - lower <= 1e-12 * upper + 1e-290
            assert lower * (1 - 1e-10) <= found <= upper * (1 + 1e-10)


@pytest.mark.parametrize(("sigma", "signal", "reach"), [(1.215433156985475, 33.771777655754654, 0.04295421843731871),
    (0.8653210986462694, 40.65839255231271, 16.449728075334658), (1.0, 30.0, 1.0)])  # fmt: skip
def test_a_variance_that_a_rare_event_makes(sigma, signal, reach):
    """In one dimension the signal is +-R but for events of 20 to 30 deviations; panels of width 1 lost up to 2.4e-6 of it."""
    *_, found = power_limit._shortened(sigma, signal, reach, 1)
    lower, upper = ends(power_limit_balls.shortened(sigma, signal, reach, 1)[2])
    assert 0 < upper < 1e-100 and upper - lower <= 1e-12 * upper
    assert lower * (1 - 1e-12) <= found <= upper * (1 + 1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 16])
@pytest.mark.parametrize("sigma", [3e-3, 1e-6, 1e-11])
def test_both_ways_to_the_moments_are_one(dimension, sigma, monkeypatch):
    """The series and the integral meet; where only the integral is fast, it holds what the code gives."""
    for reach in (0.3, 1 - sigma, 1.0, 1 + 2 * sigma):
        found = power_limit._shortened(sigma, 1.0, reach, dimension)
        enclosed = power_limit_balls.shortened(sigma, 1.0, reach, dimension)
        for i in (0, 1, 2) if dimension > 1 else (0, 2):
            lower, upper = ends(enclosed[i])
            if upper > 1e-290 and not (dimension == 1 and reach == 0.3):
                assert lower * (1 - 1e-10) <= found[i] <= upper * (1 + 1e-10)
    if sigma == 3e-3:
        series = power_limit_balls.shortened(sigma, 1.0, 0.999, dimension)
        monkeypatch.setattr(power_limit_balls, "_MOST_MEAN", 10)
        for one, other in zip(series, power_limit_balls.shortened(sigma, 1.0, 0.999, dimension), strict=True):
            assert one.overlaps(other) and float(one.rad()) <= 1e-13 * float(abs(one).mid())


def drawn(seed, K, r, *, quiet, idle=False, d=2):
    rng = np.random.default_rng(seed)

    def some(values, share=0.25):
        return np.where(rng.random(K) < share, rng.choice(values, K), rng.random(K))

    system = InferenceSystem(
        devices=K,
        participation=some([0.0, 1.0, 1e-12]),
        noise_variance=some([0.0]) * (0 if quiet else 1),
        weight=some([0.0]),
        clip=float(rng.uniform(0.1, 3)),
        alignment=float(rng.uniform(0.5, 2)),
        receiver_noise_variance=0.0 if quiet else float(rng.choice([0.0, rng.random()])),
        dimension=r,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency="silent",
        idle_noise=idle,
    )
    D = rng.normal(size=(d, r))
    if rng.random() < 0.3:
        D = np.outer(rng.normal(size=d), rng.normal(size=r))
    return system, Features(f=rng.normal(size=(K, d)), W=rng.normal(size=(K, r, d)), D=D), rng


@patient
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([1, 2, 3]), st.booleans())
def test_mse_at_the_power_limit(seed, K, r, quiet):
    system, views, rng = drawn(seed, K, r, quiet=quiet)
    gain, power = float(rng.choice([0.0, rng.uniform(0.1, 2)], p=[0.1, 0.9])), rng.uniform(1e-3, 3, K)
    lower, upper = ends(power_limit_balls.mse(system, views, gain=gain, power=power))
    found = power_limit.exact_mse(system, views, gain=gain, power=power).total
    largest = upper + float(np.sum(views.target**2))  # the bias may cancel
    assert upper - lower <= 1e-12 * largest
    assert lower - 1e-10 * largest <= found <= upper + 1e-10 * largest


@patient
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([1, 2, 3]), st.booleans(), st.booleans(),
    st.floats(-0.7, 0.7).map(lambda x: 10.0**x), st.sampled_from([0.0, 0.75, 1.0]),
)  # fmt: skip
def test_accuracy(seed, K, r, quiet, idle, margin, ideal):
    """Absolute error below 1e-10, for a margin that may differ by 1e-13 of itself or of the mean error."""
    system, views, _ = drawn(seed, K, r, quiet=quiet, idle=idle)
    found = accuracy.exact(system, views, margin=margin, ideal_accuracy=ideal)
    reach = 1e-13 * (margin + 10)
    lower = ends(accuracy_balls.exact(system, views, margin=margin - reach, ideal_accuracy=ideal, digits=12))[0]
    upper = ends(accuracy_balls.exact(system, views, margin=margin + reach, ideal_accuracy=ideal, digits=12))[1]
    assert found.lower == found.estimate == found.upper
    assert lower - 1e-10 <= found.estimate <= upper + 1e-10


def test_most_enclosures_of_the_accuracy_are_narrow():
    narrow = 0
    for seed in range(30):
        system, views, _ = drawn(seed, 2, 2, quiet=False)
        lower, upper = ends(accuracy_balls.exact(system, views, margin=1.0, digits=12))
        narrow += upper - lower < 1e-10
    assert narrow >= 20


def test_terms_left_out_are_part_of_the_ball(monkeypatch):
    system, views, _ = drawn(13, 2, 2, quiet=False)
    narrow = accuracy_balls.exact(system, views, margin=1.0)
    monkeypatch.setattr(accuracy_balls, "_FEWEST_TERMS", 3)
    monkeypatch.setattr(accuracy_balls, "_MOST_TERMS", 3)
    wide = accuracy_balls.exact(system, views, margin=1.0)
    assert wide.contains(narrow.mid()) and float(wide.rad()) > 1e-4


@pytest.mark.parametrize("faint", [1e-30, 1e-150, 1e-170, 1e-300])
def test_a_faint_axis_of_the_decoder_is_none(faint):
    """Its squared singular value is 0 as a double; the error was that of a parameter that nobody had given."""
    system, views, _ = drawn(3, 2, 2, quiet=False)
    one = Features(f=views.f, W=views.W, D=[[1.0, 0.0], [0.0, 0.0]])
    two = Features(f=views.f, W=views.W, D=[[1.0, 0.0], [0.0, faint]])
    lower, upper = ends(accuracy_balls.exact(system, one, margin=1.5))
    assert 0.1 < lower <= upper < lower + 1e-13 < 0.99
    assert lower - 1e-10 <= accuracy.exact(system, two, margin=1.5).estimate <= upper + 1e-10


@pytest.mark.parametrize("scale", [1e-150, 1e-155, 1e100, 1e150])
def test_accuracy_has_no_unit(scale):
    """Features, clips, weights' noise and margin in another unit: squares of lengths may be no normal doubles."""
    system, views, _ = drawn(3, 2, 2, quiet=False)
    at_one = accuracy.exact(system, views, margin=1.5).estimate
    D = views.D * scale
    W = views.W / scale
    other = accuracy.exact(system, Features(f=views.f * scale, W=W, D=D), margin=1.5 * scale).estimate
    assert 0.1 < at_one < 0.99 and math.isclose(other, at_one, rel_tol=1e-12)


@patient
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([1, 2, 3]), st.booleans(), st.booleans())
def test_mse_of_misaligned_devices(seed, K, r, quiet, idle):
    """Relative error below 1e-13 of the largest term."""
    system, views, rng = drawn(seed, K, r, quiet=quiet, idle=idle)
    gain = np.where(rng.random(K) < 0.2, 0.0, rng.uniform(0, 2, K))
    lower, upper = ends(distortion_balls.mse(system, views, gain=gain.tolist()))
    largest = upper + float(np.sum(views.target**2))
    assert lower - 1e-13 * largest <= distortion.exact(system, views, gain=gain) <= upper + 1e-13 * largest


@patient
@given(st.one_of(st.floats(0, 50), st.just(0.0)), st.floats(0.01, 100), st.floats(1e-3, 3))
def test_outage(k_factor, power, amplitude):
    """A noncentral chi-square law of two degrees of freedom."""
    square = 2 * (1 + ball(k_factor)) * ball(amplitude) ** 2 / ball(power)
    enclosed = refine(lambda: gaussian_divergence.chi_square_below(square, 2, 2 * ball(k_factor)))
    found = 1 - float(fading.Rician(k_factor).exceeds(np.array(amplitude**2 / power)))
    lower, upper = ends(enclosed)
    assert upper - lower <= 4e-12 and lower - 1e-12 <= found <= upper + 1e-12


@patient
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 16]), st.booleans())
def test_misaligned(seed, r, quiet):
    """Stated as for tails of quadratic forms; a signal that is sent without noise is misaligned or is not."""
    system, views, rng = drawn(seed, 2, r, quiet=quiet)
    power = rng.uniform(0.1, 4, 2)
    found = transmission.misaligned(system, views, gain=1.0, power=power)
    signal = system.weight * np.linalg.norm(views.clipped(system.clip), axis=1)
    for k in range(2):
        reach, variance = math.sqrt(power[k]) / system.alignment, float(system.noise_variance[k])
        if variance == 0:
            assert found[k] == float(signal[k] > reach)
            continue
        square = [(ball(x) ** 2 / ball(variance)) for x in (reach, float(signal[k]))]
        if float(max(square, key=float)) < 1e5:
            lower, upper = ends(gaussian_divergence.chi_square_above(square[0], r, square[1]))
            assert lower - 1e-10 <= found[k] <= upper + 1e-10


@patient
@given(st.floats(-250, -0.1).map(lambda x: 10.0**x), st.floats(-3, 2).map(lambda x: 10.0**x))
def test_epsilon_and_sigma_of_gaussian_noise(delta, ratio):
    """Never below the truth, and above it by rounding; each is a root of the curve, proved by a change of sign."""
    found = float(gaussian.epsilon(delta, sensitivity=ratio, sigma=1.0))

    def excess(epsilon: flint.arb) -> flint.arb:
        mu = ball(ratio)
        upper_tail = gaussian_divergence.upper_tail
        return upper_tail(epsilon / mu - mu / 2) - epsilon.exp() * upper_tail(epsilon / mu + mu / 2) - ball(delta)

    with flint.ctx.workprec(256):
        positive = excess(ball(0)) > 0
    if not positive:
        assert found <= 1e-12
        return
    lower, upper = ends(root(excess, ball(found) * ball("0.999"), ball(found) * ball("1.001") + ball("1e-9"), bits=256))
    assert upper - lower <= 1e-14 * upper + 1e-300
    assert lower <= found <= upper * (1 + 1e-9) + 1e-12
    epsilon = max(found, 1e-6)
    sigma = float(gaussian.sigma(epsilon, delta, sensitivity=ratio))

    def beyond(noise: flint.arb) -> flint.arb:
        mu, eps = ball(ratio) / noise, ball(epsilon)
        upper_tail = gaussian_divergence.upper_tail
        return upper_tail(eps / mu - mu / 2) - eps.exp() * upper_tail(eps / mu + mu / 2) - ball(delta)

    lower, upper = ends(root(beyond, ball(sigma) / 2, ball(sigma) * 2, bits=256))
    assert lower <= sigma <= upper * (1 + 1e-9)
