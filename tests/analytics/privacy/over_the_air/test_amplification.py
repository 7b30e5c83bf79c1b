"""Privacy of a device: published, proven, exact; ledger numbers, brackets, invariances, extremes."""

import dataclasses
import math
from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.distributions import weighted_sum
from airtight.analytics.forms.balls import gaussian_divergence as enclosed
from airtight.analytics.forms.balls.ball import ball
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import amplification, concentration, system_privacy
from airtight.analytics.privacy.over_the_air.participation_mixture.build import participations
from airtight.validate.claims.reference_integrals import mixture_divergence

PAPER_DELTA = 1.900009e-5


def with_(system, **changes):
    return dataclasses.replace(system, **changes)


@st.composite
def systems(draw, most=5, idle=True):
    devices = draw(st.integers(1, most))

    def each(values):
        return draw(st.one_of(values, st.lists(values, min_size=devices, max_size=devices)))

    return InferenceSystem(
        devices=devices,
        participation=each(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-6]))),
        noise_variance=each(st.one_of(st.floats(0.01, 5), st.just(0.0))),
        weight=each(st.one_of(st.floats(0.01, 3), st.just(0.0))),
        clip=each(st.floats(0.1, 3)),
        alignment=draw(st.floats(0.2, 3)),
        receiver_noise_variance=draw(st.one_of(st.floats(0.01, 2), st.just(0.0))),
        dimension=draw(st.sampled_from([1, 2, 7, 100, 784])),
        delta=draw(st.sampled_from([1e-1, 1e-5, 1e-12, 1e-100])),
        delta_prime=1e-5,
        adjacency=draw(st.sampled_from(list(Adjacency))),
        idle_noise=draw(st.booleans()) if idle else False,
    )


# Numbers of the ledger, computed elsewhere by other means.


@pytest.mark.parametrize(
    ("clip", "silent", "replace", "idle", "absent1", "absent784", "eq23"),
    [
        (1.0, 0.242211, 0.519806, 0.206746, 0.792946, 11.065, 1.018773),
        (2.0, 0.519806, 1.119708, 0.447474, 1.113679, 11.098, 2.081907),
        (5.0, 1.436578, 3.157057, 1.262524, 2.151518, 11.327, 5.331912),
        (10.0, 3.157057, 7.190947, 2.824862, 4.085870, 12.131, 10.768209),
    ],
)
def test_epsilon_of_the_ledger(paper, clip, silent, replace, idle, absent1, absent784, eq23):
    def epsilon(**changes):
        return float(system_privacy.epsilon(with_(paper, clip=clip, **changes), delta=PAPER_DELTA, device=3))

    assert epsilon(adjacency="silent") == pytest.approx(silent, abs=6e-7)
    assert epsilon(adjacency="replace") == pytest.approx(replace, abs=6e-7)
    assert epsilon(adjacency="silent", idle_noise=True) == pytest.approx(idle, abs=6e-7)
    assert epsilon(dimension=1) == pytest.approx(absent1, abs=6e-7)
    assert epsilon() == pytest.approx(absent784, abs=6e-4)
    assert amplification.published(with_(paper, clip=clip), form="eq23").epsilon[0] == pytest.approx(eq23, abs=6e-7)


def test_delta_of_the_ledger(paper):
    silent = with_(paper, adjacency="silent")
    np.testing.assert_allclose(
        system_privacy.delta(silent, [1.0, 0.5], device=0), [8.451663630e-4, 1.97935203e-2], rtol=1e-8
    )
    for dimension, truth in ((1, 0.003934282724), (16, 0.007748970874), (784, 0.384306643102)):
        delta = system_privacy.delta(with_(paper, dimension=dimension), 1.0, device=0)
        assert delta == pytest.approx(truth, rel=1e-9)
    for dimension, truth in ((784, 0.5555), (25088, 0.9000)):
        delta = system_privacy.delta(with_(paper, weight=0.0, dimension=dimension), 0.0, device=0)
        assert delta == pytest.approx(truth, abs=5e-5)


def test_theorem1_at_the_papers_parameters(paper):
    as_printed = amplification.published(with_(paper, clip=100.0))
    assert as_printed.vacuous and np.all(as_printed.epsilon == np.inf)
    assert as_printed.t == pytest.approx(1.3490063613, abs=1e-10)
    assert as_printed.mean_noise == pytest.approx(1.08)
    assert as_printed.adjacency is Adjacency.ABSENT
    proof = amplification.published(with_(paper, clip=100.0), form="eq23")
    assert proof.t == pytest.approx(0.9421372731, abs=1e-10)
    assert proof.epsilon[0] == pytest.approx(108.6302223737, abs=1e-9)
    assert proof.delta[0] == pytest.approx(PAPER_DELTA, rel=1e-6)
    assert concentration.intended_deviation(paper) == pytest.approx(0.6196210387, abs=1e-10)
    assert concentration.bernstein_deviation(paper) == pytest.approx(1.0619977962, abs=1e-10)


def test_published_formula_term_by_term(paper):
    """Eq. (11) with plain arithmetic, for unequal devices."""
    system = with_(
        paper,
        participation=np.linspace(0.1, 1, 12),
        noise_variance=np.linspace(1, 3, 12),
        weight=np.linspace(0, 1, 12),
        alignment=1.7,
        delta=1e-3,
        delta_prime=0.2,
    )
    for form, first in (("theorem1", 1.0), ("eq23", 1 / 3)):
        p, square = system.participation, system.noise_variance
        L = math.log(2 / 0.2)
        t = L / 2 * (first * 3.0 + math.sqrt(3.0 / 9 + 4 * float(np.sum(p * (1 - p) * square**2)) / L))
        c = 1.7 * system.weight * 5.0 * math.sqrt(2 * math.log(1.25 / 1e-3))
        epsilon = np.log(1 + p / 0.8 * (np.exp(c / math.sqrt(float(p @ square) - t)) - 1))
        result = amplification.published(system, form=form)
        np.testing.assert_allclose(result.epsilon, epsilon, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(result.delta, 0.2 + p * 1e-3 / 0.8, rtol=1e-14)


# Independent computations.


def brute_force(system, epsilon, device):
    """Expectation over all sets of others of enclosed divergences; T1a and T1b written out."""
    others = [j for j in range(system.devices) if j != device]
    p, lam = float(system.participation[device]), math.exp(epsilon)
    s = system.alignment**2 * float(system.noise_variance[device])
    d = float(system.sensitivity[device])
    directions = [0.0, 0.0]
    for chosen in product((0, 1), repeat=len(others)):
        mass = math.prod(
            float(system.participation[j]) if c else 1 - float(system.participation[j])
            for j, c in zip(others, chosen, strict=True)
        )
        v = system.receiver_noise_variance + system.alignment**2 * sum(
            float(system.noise_variance[j]) for j, c in zip(others, chosen, strict=True) if c
        )

        def curve(level, vp, vq, d=d):
            return float(
                enclosed.hockey_stick(level, distance=d, variance_p=vp, variance_q=vq, dimension=system.dimension).mid()
            )

        if system.adjacency is Adjacency.ABSENT:
            directions[0] += mass * p * curve(math.log1p((lam - 1) / p), v + s, v)
            u = 1 - lam * (1 - p)
            if u > 0:
                directions[1] += mass * u * curve(math.log(lam * p / u), v, v + s)
        else:
            directions[0] += mass * p * curve(epsilon, v + s, v + s)
    return directions


@settings(max_examples=25)
@given(st.integers(1, 4), st.data(), st.sampled_from(list(Adjacency)), st.sampled_from([1, 3, 40]), st.floats(0, 3))
def test_exact_delta_against_enumeration(devices, data, adjacency, dimension, epsilon):
    def each(low, high):
        return data.draw(st.lists(st.floats(low, high), min_size=devices, max_size=devices))

    system = InferenceSystem(
        devices=devices,
        participation=each(0.05, 1.0),
        noise_variance=each(0.1, 3),
        weight=each(0.05, 2),
        clip=1.0,
        alignment=1.3,
        receiver_noise_variance=0.3,
        dimension=dimension,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency=adjacency,
    )
    for device in range(devices):
        delta = float(system_privacy.delta(system, epsilon, device=device))
        truth = brute_force(system, epsilon, device)
        assert delta == pytest.approx(max(truth), rel=1e-8, abs=1e-250)
        if adjacency is Adjacency.ABSENT:
            (part,) = participations(system, np.array([device]), 0.0)
            each_way = [
                math.exp(float(curve(np.array([epsilon]), np.array([0]))[0][0]))
                for curve in (part._removing, part._adding)
            ]
            assert each_way == pytest.approx(truth, rel=1e-8, abs=1e-250)


@given(st.floats(0.01, 1), st.floats(0.05, 3), st.floats(0, 3), st.sampled_from(["silent", "replace"]))
def test_idle_noise_against_integration(p, signal, epsilon, adjacency):
    system = InferenceSystem(
        devices=2,
        participation=[p, 0.3],
        noise_variance=[0.5, 0.2],
        weight=signal,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.3,
        dimension=9,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency=adjacency,
        idle_noise=True,
    )
    far = -signal if adjacency == "replace" else 0.0
    first, second = ([(p, mean, 1.0), (1 - p, 0.0, 1.0)] for mean in (signal, far))
    truth = max(mixture_divergence(epsilon, first, second), mixture_divergence(epsilon, second, first))
    assert float(system_privacy.delta(system, epsilon, device=0)) == pytest.approx(truth, rel=1e-6, abs=1e-12)


# Relations that hold for every system.


@given(systems())
def test_epsilon_is_where_delta_falls_to_the_target(system):
    epsilon = system_privacy.epsilon(system)
    finite = np.isfinite(epsilon)
    there = system_privacy.delta(system, np.where(finite, epsilon, 0.0))
    assert np.all(there[finite] <= system.delta)
    inside = finite & (epsilon > 1e-12)
    before = system_privacy.delta(system, np.where(inside, epsilon * (1 - 1e-7), 0.0))
    assert np.all(before[inside] > system.delta * (1 - 1e-6))
    assert np.all(system_privacy.delta(system, 1e9)[~finite] > system.delta * (1 - 1e-9))


@given(systems())
def test_proven_epsilon_is_at_least_the_exact_one(system):
    proven, exact = amplification.proven(system), system_privacy.epsilon(system)
    assert np.all(proven.epsilon >= exact * (1 - 1e-9)) and not np.any(np.isnan(proven.epsilon))
    assert proven.adjacency is system.adjacency and np.all(proven.delta == system.delta)


@given(systems(), st.randoms(use_true_random=False))
def test_permuting_devices_permutes_the_answer(system, random):
    order = list(range(system.devices))
    random.shuffle(order)
    fields = {n: getattr(system, n)[order] for n in ("participation", "noise_variance", "weight", "clip")}
    permuted = system_privacy.epsilon(with_(system, **fields))
    np.testing.assert_allclose(permuted, system_privacy.epsilon(system)[order], rtol=1e-8, atol=1e-12)


@given(systems(), st.floats(0.1, 10))
def test_the_unit_of_power_does_not_matter(system, scale):
    """Alignment scales signal and noise alike; so does measuring everything in other units."""
    other = with_(
        system,
        noise_variance=system.noise_variance * scale**2,
        weight=system.weight * scale,
        receiver_noise_variance=system.receiver_noise_variance * scale**2,
    )
    one, two = system_privacy.delta(system, 0.7), system_privacy.delta(other, 0.7)
    np.testing.assert_allclose(two, one, rtol=1e-6, atol=1e-290)


@given(systems(idle=False))
def test_replacing_is_at_least_as_visible_as_silence(system):
    silent, replace = (system_privacy.delta(with_(system, adjacency=a), 0.5) for a in ("silent", "replace"))
    assert np.all(replace >= silent * (1 - 1e-9))


@given(systems(), st.floats(0, 3))
def test_delta_never_exceeds_participation(system, epsilon):
    """A device that is not there cannot be seen: delta is at most p (and 1), up to the least double, which is given away."""
    delta = system_privacy.delta(system, epsilon)
    assert np.all(delta <= system.participation * (1 + 1e-9) + 1e-323) and np.all(delta >= 0)


def test_certain_participation_alone_is_the_gaussian_mechanism(paper):
    system = with_(paper, devices=1, participation=1.0, noise_variance=0.5, weight=1.0, clip=1.0, adjacency="silent")
    expected = gaussian.epsilon(1e-5, sensitivity=1.0, sigma=math.sqrt(0.6))
    assert float(system_privacy.epsilon(system, device=0)) == pytest.approx(float(expected), rel=1e-9)
    assert float(amplification.proven(system).epsilon[0]) == pytest.approx(float(expected), rel=1e-9)


# Extremes.


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("idle", [False, True])
def test_extremes_are_answered(paper, adjacency, idle):
    for changes in (
        {"participation": 0.0},
        {"participation": 1.0},
        {"weight": 0.0},
        {"noise_variance": 0.0},
        {"receiver_noise_variance": 0.0},
        {"noise_variance": 0.0, "receiver_noise_variance": 0.0},
        {"clip": 1e6},
        {"clip": 1e-9},
        {"delta": 1e-300},
        {"delta": 0.999},
        {"participation": 1e-300},
        {"devices": 1},
        {"noise_variance": 1e-30},
        {"noise_variance": 1e30},
        {"alignment": 1e-9},
        {"dimension": 25088},
    ):
        if "devices" in changes:
            one = {n: getattr(paper, n)[:1] for n in ("participation", "noise_variance", "weight", "clip")}
            changes = {**changes, **one}
        system = with_(paper, adjacency=adjacency, idle_noise=idle, **changes)
        epsilon = system_privacy.epsilon(system)
        assert not np.any(np.isnan(epsilon)) and np.all(epsilon >= 0), changes
        assert np.all(amplification.proven(system).epsilon >= epsilon * (1 - 1e-9)), changes
        for level in (0.0, 1e-9, 700.0):
            delta = system_privacy.delta(system, level)
            assert np.all((delta >= 0) & (delta <= 1)), changes


def test_a_million_equal_devices(paper):
    system = with_(
        paper, devices=10**6, participation=0.9, noise_variance=0.1, weight=1.0, clip=5.0, adjacency="silent"
    )
    exact = system_privacy.epsilon(system, device=[0, 999_999])
    middle = gaussian.epsilon(1e-5 / 0.9, sensitivity=5.0, sigma=math.sqrt(0.1 * 0.9e6))
    np.testing.assert_allclose(exact, float(middle), rtol=1e-3)


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("signal", [1e-6, 1.0, 1e4, 1e10, 1e40])
def test_epsilon_is_never_below_the_truth_even_where_doubles_are_coarse(paper, adjacency, idle, signal):
    """One device that surely takes part, in arithmetic of 300 digits."""
    import mpmath as mp

    system = with_(
        paper,
        devices=1,
        participation=1.0,
        noise_variance=0.5,
        weight=signal,
        clip=1.0,
        adjacency=adjacency,
        receiver_noise_variance=0.25,
        delta=1e-9,
        idle_noise=idle,
    )
    epsilon = float(system_privacy.epsilon(system, device=0))
    with mp.workdps(300):
        mu = mp.mpf(float(system.sensitivity[0])) / mp.sqrt(mp.mpf(0.75))
        e = mp.mpf(epsilon)
        if epsilon > 0:
            # e^eps Q(b) = phi(a) R(b), with R(b) below 1/b: a little more than the truth would be subtracted
            a, b = e / mu - mu / 2, e / mu + mu / 2
            mills_b = mp.ncdf(-b) / mp.npdf(b) if b < 50 else 1 / b - 1 / b**3 + 3 / b**5
            assert mp.ncdf(-a) - mp.npdf(a) * mills_b <= mp.mpf(1e-9)


def enclosed_delta(system, epsilon):
    """delta(epsilon) of device 0 for ``absent``, both directions, every input exact: a ball that holds the truth."""
    p, lam = Fraction(float(system.participation[0])), ball(epsilon).exp()
    gain = Fraction(system.alignment) ** 2
    own = gain * Fraction(float(system.noise_variance[0]))
    d = Fraction(system.alignment) * Fraction(float(system.weight[0])) * Fraction(float(system.clip[0]))
    removing, adding = flint.arb(0), flint.arb(0)
    u = 1 - lam * (1 - ball(p))
    for chosen in product((0, 1), repeat=system.devices - 1):
        mass, v = Fraction(1), Fraction(system.receiver_noise_variance)
        for j, c in enumerate(chosen, start=1):
            q = Fraction(float(system.participation[j]))
            mass *= q if c else 1 - q
            v += c * gain * Fraction(float(system.noise_variance[j]))
        laws = {"distance": d, "dimension": system.dimension}
        inner = (1 + (lam - 1) / ball(p)).log()
        removing += ball(mass * p) * enclosed.hockey_stick(inner, variance_p=v + own, variance_q=v, **laws)
        if u > 0:
            inner = (lam * ball(p) / u).log()
            adding += ball(mass) * u * enclosed.hockey_stick(inner, variance_p=v, variance_q=v + own, **laws)
    return removing, adding


def test_absent_epsilon_is_proved_safe_and_tight():
    """At random systems, down to delta = 1e-200, the enclosure of delta at our epsilon is at most the target."""
    rng = np.random.default_rng(12)
    checked = 0
    while checked < 120:
        devices = int(rng.integers(1, 4))
        system = InferenceSystem(
            devices=devices,
            participation=np.where(rng.random(devices) < 0.2, 1.0, 10 ** rng.uniform(-5, 0, devices)),
            noise_variance=10 ** rng.uniform(-3, 1, devices),
            weight=10 ** rng.uniform(-3, 0.5, devices),
            clip=1.0,
            alignment=float(10 ** rng.uniform(-1, 1)),
            receiver_noise_variance=float(10 ** rng.uniform(-2, 1)),
            dimension=int(rng.choice([1, 2, 5, 40, 784])),
            delta=float(10.0 ** rng.choice([-1, -3, -6, -12, -60, -200]) * rng.uniform(0.1, 1)),
            delta_prime=0.1,
        )
        epsilon = float(system_privacy.epsilon(system, device=0))
        received, d = system.received_noise_variance, float(system.sensitivity[0])
        most = system.receiver_noise_variance + float(received[1:].sum())
        series = (d * (1 + most / received[0])) ** 2 / system.receiver_noise_variance
        if not 0 < epsilon < 2000 or series > 3e3:
            continue  # nothing to protect, or too many terms for the series
        checked += 1
        with flint.ctx.workprec(200):
            removing, adding = enclosed_delta(system, epsilon)
        assert bool(removing <= ball(system.delta)) and bool(adding <= ball(system.delta)), system
        assert max(float(removing.mid()), float(adding.mid())) >= system.delta * (1 - 1e-8)


def test_own_noise_far_below_the_others_is_not_rounded_away():
    """narrow + gap - narrow loses digits of the gap: this system once came out too small by 5.7e-11 of delta."""
    system = InferenceSystem(
        devices=2,
        participation=[7.44031661e-05, 2.21729750e-02],
        noise_variance=[0.01254657, 7.40252808],
        weight=[0.01535539, 0.00749145],
        clip=1.0,
        alignment=0.11964435903685129,
        receiver_noise_variance=2.5901061786836284,
        dimension=5,
        delta=9.204858721879472e-201,
        delta_prime=0.1,
    )
    with flint.ctx.workprec(200):
        removing, _ = enclosed_delta(system, float(system_privacy.epsilon(system, device=0)))
    assert bool(removing <= ball(system.delta))


def test_memory_of_a_thousand_different_devices(paper):
    import tracemalloc

    rng = np.random.default_rng(11)
    system = with_(
        paper,
        devices=1000,
        participation=rng.random(1000),
        noise_variance=0.1,
        weight=rng.random(1000) / 100,
        clip=5.0,
        adjacency="silent",
    )
    tracemalloc.start()
    epsilon = system_privacy.epsilon(system)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500e6 and np.all(np.isfinite(epsilon))


def test_no_noise_at_all_gives_no_privacy(paper):
    system = with_(paper, noise_variance=0.0, receiver_noise_variance=0.0, adjacency="silent")
    assert np.all(system_privacy.epsilon(system) == np.inf)
    assert np.all(amplification.proven(system).epsilon == np.inf)
    assert np.all(system_privacy.epsilon(with_(system, weight=0.0)) == 0.0)


def test_grid_brackets_many_unequal_noises(paper):
    rng = np.random.default_rng(5)
    system = with_(
        paper,
        devices=40,
        participation=rng.uniform(0.2, 0.9, 40),
        noise_variance=rng.uniform(0.01, 0.2, 40),
        weight=0.1,
        clip=3.0,
        adjacency="silent",
    )
    lower, upper = system_privacy.delta_bracket(system, 1.0, device=0)
    assert lower < upper < lower * 1.05
    assert system_privacy.delta(system, 1.0, device=0) == upper
    sample = rng.random((200_000, 39)) < system.participation[1:]
    v = sample @ system.noise_variance[1:] + system.noise_variance[0] + 0.1
    values = float(system.participation[0]) * gaussian.delta(1.0, sensitivity=0.3, sigma=np.sqrt(v))
    error = 5 * float(np.std(values)) / math.sqrt(values.size)
    assert lower - error <= float(np.mean(values)) <= upper + error
    assert float(system_privacy.delta(system, 1.0, device=0)) == upper


def test_a_sketch_of_many_atoms_changes_nothing(paper, monkeypatch):
    from airtight.analytics.privacy.over_the_air.participation_mixture import evaluate

    rng = np.random.default_rng(6)
    system = with_(
        paper,
        devices=150,
        participation=rng.uniform(0.1, 1, 150),
        noise_variance=0.1,
        weight=rng.uniform(0.01, 0.2, 150),
        clip=5.0,
    )
    fast = {a: system_privacy.epsilon(with_(system, adjacency=a), device=[0, 70]) for a in Adjacency}
    monkeypatch.setattr(evaluate, "_SKETCHES", ())
    for adjacency, epsilon in fast.items():
        direct = system_privacy.epsilon(with_(system, adjacency=adjacency), device=[0, 70])
        np.testing.assert_allclose(epsilon, direct, rtol=1e-10)


@pytest.mark.parametrize(
    ("changes", "delta", "truth"),
    [
        (
            {
                "adjacency": "silent",
                "participation": [0.5, 0.9] + [0.3] * 7,
                "noise_variance": [1e-4, 1e-2] + [1e12 * (1 + 0.25 * k) for k in range(1, 8)],
                "weight": 0.02,
                "receiver_noise_variance": 1e-4,
                "dimension": 1,
            },
            1e-3,
            1.2103240775795,
        ),
        (
            {
                "participation": [0.76, 0.32, 0.47, 0.44, 0.61, 0.55, 0.09, 0.82, 0.63],
                "noise_variance": [0.01, 0.8, 3e7, 2e3, 3e6, 4e-7, 4e3, 1e-3, 3e-3],
                "weight": 1e-7,
                "receiver_noise_variance": 1e-9,
                "dimension": 10,
            },
            1e-6,
            1.544247912e8,
        ),
        (
            {
                "participation": [0.5, 0.99] + [0.3] * 7,
                "noise_variance": [0.0, 0.01] + [6.8e10 * (1 + k / 4) for k in range(1, 8)],
                "weight": 0.05,
                "receiver_noise_variance": 1e-4,
                "dimension": 2,
            },
            1e-3,
            0.497902791894,
        ),
    ],
)
def test_noise_over_many_decades(paper, changes, delta, truth):
    """An interpolant as accurate as its greatest column said .71776, 2.9e19 and .4947 here; enclosed over all 256 sets."""
    from support import device_balls as enclosed

    one = {"devices": 9, "clip": 1.0, "alignment": 1.0, "delta": delta, "idle_noise": False}
    system = with_(paper, **one, **changes)
    epsilon = float(system_privacy.epsilon(system, device=0))
    assert epsilon == pytest.approx(truth, rel=1e-9)
    if epsilon < 1e6:  # beyond, the enclosure's e^epsilon times a remainder says nothing
        assert float(enclosed.delta(system, epsilon).upper()) <= delta
        assert float(enclosed.delta(system, epsilon * (1 - 1e-9)).lower()) > delta
    levels = np.linspace(0.1, 2, 40) * epsilon
    assert np.all(np.diff(system_privacy.delta(system, levels, device=0)) <= 0)


def test_noise_beyond_the_range_of_doubles(paper):
    """A ratio of 1e320 between noises: kept, not raised to the least double. 1e610: 0, or refused by name."""
    from support import device_balls as enclosed

    extreme = {"devices": 2, "participation": [0.5, 1.0], "weight": [0.0, 1e-79], "clip": 1.0, "dimension": 2}
    extreme |= {"noise_variance": [1e160, 1e-160], "receiver_noise_variance": 0.0, "alignment": 1.0}
    system = with_(paper, **extreme, delta=1e-5, adjacency="silent", idle_noise=False)
    epsilon = float(system_privacy.epsilon(system, device=1))
    assert epsilon == pytest.approx(90.238, abs=1e-3)
    assert float(enclosed.delta(system, epsilon, device=1).upper()) <= 1e-5
    assert amplification.proven(system).epsilon[1] >= epsilon
    far = with_(system, noise_variance=[1e300, 1e-310])
    assert np.all(
        system_privacy.epsilon(far) == system_privacy.epsilon(with_(far, noise_variance=[1e300, 0]))
    )
    with pytest.raises(ParameterError, match=r"noise_variance\[1\] = 1e-310"):
        system_privacy.epsilon(with_(far, adjacency="absent"))


def test_shapes(paper):
    assert system_privacy.delta(paper, 1.0).shape == (12,)
    assert system_privacy.delta(paper, np.ones((5, 1))).shape == (5, 12)
    assert system_privacy.delta(paper, np.ones(5), device=2).shape == (5,)
    assert np.ndim(system_privacy.delta(paper, 1.0, device=2)) == 0
    assert system_privacy.epsilon(paper, device=[3, 3, 1]).shape == (3,)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("devices", 0),
        ("devices", 2.5),
        ("participation", 1.1),
        ("participation", [0.1, 0.2]),
        ("noise_variance", -1.0),
        ("weight", math.nan),
        ("clip", 0.0),
        ("alignment", 0.0),
        ("receiver_noise_variance", -0.1),
        ("dimension", 0),
        ("delta", 0.0),
        ("delta", 1.0),
        ("delta_prime", math.nan),
        ("adjacency", "gone"),
        ("idle_noise", "yes"),
    ],
)
def test_bad_systems(paper, field, value):
    with pytest.raises(ParameterError) as caught:
        with_(paper, **{field: value})
    assert caught.value.name == field or field == "devices"


def test_bad_arguments(paper):
    for call in (
        lambda: system_privacy.delta(paper, -1.0),
        lambda: system_privacy.delta(paper, math.nan),
        lambda: system_privacy.delta(paper, 1.0, device=12),
        lambda: system_privacy.delta(paper, np.ones(5)),
        lambda: amplification.published(paper, form="lemma"),
        lambda: amplification.proven(paper, delta=math.nan),
    ):
        with pytest.raises(ParameterError):
            call()


def test_trimming_a_law_loses_no_probability_and_only_moves_it_down():
    """What is dropped counts as divergence 1; what is cut above lands on the highest noise kept."""
    weights = np.random.default_rng(13).dirichlet(np.full(30, 0.3), size=20)
    kept, missing = weighted_sum.trimmed(weights, 0.02)
    assert np.any(missing > 0) and np.all(missing <= 0.02)
    lost = 1 - kept.sum(axis=1)
    assert np.all(lost <= missing + 1e-15) and np.all(lost >= -1e-15)
    below = np.cumsum(kept, axis=1) + missing[:, None]
    assert np.all(below >= np.cumsum(weights, axis=1) - 1e-12)
    assert np.sum(kept > 0) < np.sum(weights > 0)


def test_what_is_trimmed_counts_as_seen(paper):
    """With a fifth of the law left out delta is the divergence on the rest plus that fifth, at every epsilon."""
    for adjacency in ("silent", "absent"):
        system = dataclasses.replace(paper, participation=0.5, clip=1.0, adjacency=adjacency, dimension=2)
        (whole,) = participations(system, np.arange(1), 0.0)
        (cut,) = participations(system, np.arange(1), 0.2)
        missing = float(cut.missing[0])
        assert 0.01 < missing <= 0.2
        for epsilon in (0.1, 5.0, 60.0):
            row = np.zeros(1, dtype=int)
            found, true = (float(np.exp(one.log_upper(np.array([epsilon]), row)[0])) for one in (cut, whole))
            seen = 0.5 * missing
            assert max(seen, true) <= found * (1 + 1e-12) and found <= true + 0.5 * 0.4


def test_a_plateau_of_delta_does_not_throw_the_root_finder(paper):
    """Two noise levels far apart: delta lies on a plateau for a long stretch before it falls to the target."""
    system = with_(
        paper,
        devices=3,
        participation=[0.56903809, 0.96370416, 0.51922739],
        noise_variance=[0.0, 4847.65384478, 0.0],
        weight=[9.02589800e-01, 6.0e11, 1.5e-7],
        clip=1.0,
        alignment=215291.6818996293,
        receiver_noise_variance=409867.6807404331,
        delta=1e-290,
        adjacency="silent",
    )
    epsilon = float(system_privacy.epsilon(system, device=0))
    assert 1e3 < epsilon < 1e6
    assert float(system_privacy.delta(system, epsilon, device=0)) <= 1e-290
    assert float(system_privacy.delta(system, epsilon * (1 - 1e-6), device=0)) > 1e-290


def test_a_target_above_the_probability_of_taking_part_needs_no_epsilon(paper):
    """delta is at most p; the proven sum, cut to p, is flat there and once made Newton's method crawl."""
    system = with_(
        paper,
        devices=3,
        participation=[0.99769022, 0.30705045, 0.74515742],
        noise_variance=[0.0, 3.24295684e-10, 2.28173680e11],
        weight=[1.73456707e10, 1.86184860, 1.63819349],
        clip=1.0,
        alignment=0.09224653818989437,
        receiver_noise_variance=1.7328043179186505e-09,
        delta=0.9977000638225533,
        adjacency="silent",
    )
    assert system_privacy.epsilon(system, device=0) == 0.0
    assert amplification.proven(system).epsilon[0] == 0.0


def test_deviations_of_enormous_noise_do_not_overflow(paper):
    """sigma^4 would: a variance of 1e160 gives 1e160 times the t of a variance of 1, where the units allow it."""
    huge, one = (dataclasses.replace(paper, noise_variance=v) for v in (1e160, 1.0))
    for deviation in (concentration.intended_deviation, concentration.bernstein_deviation):
        assert deviation(huge) == pytest.approx(1e160 * deviation(one), rel=1e-12)
    assert concentration.eq23_deviation(dataclasses.replace(paper, noise_variance=0.0)) == 0.0


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("scale", [1e-140, 1e140, 1e153])
def test_units_do_not_matter_however_extreme(paper, adjacency, idle, scale):
    """All that is received, scaled: gamma and sigma_m. Noise that overflowed once passed for perfect privacy (epsilon 0)."""
    system = dataclasses.replace(paper, adjacency=adjacency, idle_noise=idle, dimension=4)
    louder = dataclasses.replace(
        system,
        alignment=scale * system.alignment,
        receiver_noise_variance=scale * (scale * system.receiver_noise_variance),
    )
    units = dataclasses.replace(
        system,
        weight=scale * system.weight,
        noise_variance=scale * (scale * system.noise_variance),
        receiver_noise_variance=scale * (scale * system.receiver_noise_variance),
    )
    for face in (system_privacy.epsilon, lambda s: amplification.proven(s).epsilon):
        for other in (louder, units):
            assert face(other) == pytest.approx(face(system), rel=1e-9)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_deafening_alignment_leaves_only_the_devices_noise(paper, adjacency):
    """gamma = 1e200: gamma^2 sigma^2 is beyond the greatest double, the receiver's noise beneath the least."""
    system = dataclasses.replace(
        paper, adjacency=adjacency, dimension=4, alignment=1e200, noise_variance=1e305, clip=1e154
    )
    quiet = dataclasses.replace(
        paper,
        adjacency=adjacency,
        dimension=4,
        noise_variance=1.0,
        clip=1e154 / np.sqrt(1e305),
        receiver_noise_variance=0.0,
    )
    assert system_privacy.epsilon(system) == pytest.approx(system_privacy.epsilon(quiet), rel=1e-9)


# What is monotone, and what is not (the proofs are in docs/accuracy.md)


@st.composite
def varied(draw):
    """Up to five devices of any kind."""
    devices = draw(st.integers(1, 5))
    rows = {
        "participation": st.floats(0.01, 1),
        "noise_variance": st.floats(-3, 3).map(lambda e: 10**e),
        "weight": st.floats(-2, 1).map(lambda e: 10**e),
    }
    drawn = {name: draw(st.lists(kind, min_size=devices, max_size=devices)) for name, kind in rows.items()}
    return InferenceSystem(
        devices=devices,
        **drawn,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=draw(st.floats(-3, 1).map(lambda e: 10**e)),
        dimension=draw(st.sampled_from([1, 3, 50])),
        delta=10 ** -draw(st.floats(1, 40)),
        delta_prime=1e-5,
        adjacency=draw(st.sampled_from(list(Adjacency))),
        idle_noise=draw(st.booleans()),
    )


def _first(values, factor):
    return np.concatenate([[values[0] * factor], values[1:]])


@given(varied(), st.floats(1.0, 10.0))
def test_epsilon_never_falls_with(system, factor):
    """A smaller delta, a greater weight, clip, alignment, own participation; less receiver noise."""
    before = float(system_privacy.epsilon(system, device=0))
    changes = [
        {"delta": system.delta / factor},
        {"weight": _first(system.weight, factor)},
        {"clip": _first(system.clip, factor)},
        {"receiver_noise_variance": system.receiver_noise_variance / factor},
        {"participation": _first(system.participation, min(factor, 1 / max(system.participation[0], 1e-9)))},
        {"alignment": system.alignment * factor},
    ]
    for change in changes:
        after = float(system_privacy.epsilon(dataclasses.replace(system, **change), device=0))
        assert after >= before * (1 - 1e-9), change


@given(varied(), st.floats(0.0, 1.0))
def test_epsilon_never_falls_when_the_others_are_less(system, factor):
    """Less noise of the others, or others that take part less; idle noise depends on the former only."""
    before = float(system_privacy.epsilon(system, device=0))
    rest = np.concatenate([[1.0], np.full(system.devices - 1, factor)])
    quieter = dataclasses.replace(system, noise_variance=system.noise_variance * rest)
    rarer = dataclasses.replace(system, participation=system.participation * rest)
    for changed in (quieter, rarer):
        assert float(system_privacy.epsilon(changed, device=0)) >= before * (1 - 1e-9)


@given(varied(), st.floats(1.0, 100.0))
def test_own_noise_helps_those_who_keep_it(system, factor):
    if system.adjacency is Adjacency.ABSENT and not system.idle_noise:
        return  # it leaves with its device and gives it away
    before = float(system_privacy.epsilon(system, device=0))
    louder = dataclasses.replace(system, noise_variance=_first(system.noise_variance, factor))
    assert float(system_privacy.epsilon(louder, device=0)) <= before * (1 + 1e-9)


def test_own_noise_may_give_a_device_away(paper):
    """`absent`, weight 0: epsilon falls from 11.7 to .053 when the device's own variance falls from .1 to .001."""
    system = with_(paper, weight=0.0)
    loud, quiet = (
        float(system_privacy.epsilon(with_(system, noise_variance=v), device=0))
        for v in (np.full(12, 0.1), _first(np.full(12, 0.1), 0.01))
    )
    assert loud == pytest.approx(11.7, abs=0.05) and quiet == pytest.approx(0.053, abs=5e-4)


@given(varied(), st.floats(0.01, 50), st.floats(1.0, 3.0))
def test_delta_never_rises_with_epsilon(system, epsilon, factor):
    near, far = (np.asarray(system_privacy.delta(system, e)) for e in (epsilon, epsilon * factor))
    assert np.all(far <= near * (1 + 1e-9))


def test_opposite_features_too_faint_to_see(paper):
    """mu = 1e-149 and delta = 1e-289, idle noise: log delta is minus infinity from some epsilon on, not nan."""
    faint = {"devices": 1, "participation": 0.5, "noise_variance": 0.0, "clip": 1.0, "weight": 9e-151}
    system = with_(
        paper, **faint, receiver_noise_variance=0.004, delta=1e-289, adjacency="replace", idle_noise=True, alignment=1.0
    )
    epsilon = float(system_privacy.epsilon(system, device=0))
    assert 1e-148 < epsilon < 1e-146
    # in units of mu the curve is that of any small mu, but for delta, which is in units of mu as well
    near = with_(system, weight=system.weight * 1e100, delta=1e-189)
    assert epsilon == pytest.approx(float(system_privacy.epsilon(near, device=0)) * 1e-100, rel=1e-6)


@pytest.mark.parametrize("form", list(amplification.TheoremForm))
def test_published_of_many_systems_is_that_of_each(form):
    """Equal devices need no sum over them: the numbers differ by the rounding of this sum alone."""
    rng = np.random.default_rng(3)
    columns = {
        "devices": rng.integers(1, 300, 40),
        "participation": np.append(rng.random(38), [0.0, 1.0]),
        "noise_variance": np.append(10 ** rng.uniform(-8, 8, 39), 0.0),
        "weight": 10 ** rng.uniform(-3, 1, 40),
        "clip": 10 ** rng.uniform(-3, 160, 40),
        "alignment": np.ones(40),
        "receiver_noise_variance": np.ones(40),
        "dimension": rng.integers(1, 800, 40),
        "delta": 10 ** rng.uniform(-12, -0.1, 40),
        "delta_prime": 10 ** rng.uniform(-12, -0.1, 40),
    }
    many = amplification.published(HomogeneousSystems(**columns), form=form)
    finite = 0
    for i in range(40):
        system = InferenceSystem(**{name: column[i].item() for name, column in columns.items()})
        one = amplification.published(system, form=form)
        assert many.vacuous[i] == one.vacuous
        for name in ("t", "mean_noise"):
            assert getattr(many, name)[i] == pytest.approx(getattr(one, name), rel=1e-14)
        assert many.delta[i] == pytest.approx(one.delta[0], rel=1e-14)
        assert many.epsilon[i] == pytest.approx(one.epsilon[0], rel=1e-12)
        finite += not one.vacuous
    assert finite > 5


def _idle(**changes):
    common = {"devices": 1, "noise_variance": 1e-9, "weight": 1.0, "alignment": 1.0, "receiver_noise_variance": 1.0}
    return InferenceSystem(**common, dimension=1, delta_prime=1e-5, idle_noise=True, **changes)


@pytest.mark.parametrize("p", [1e-300, 1e-200, 3e-100, 1e-17, 0.3])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_delta_of_a_deafening_device_is_at_least_its_participation(p, adjacency):
    """Without privacy but for its silence: delta is p, whose logarithm is rounded."""
    system = _idle(participation=p, clip=1e6, delta=p / 10, adjacency=adjacency)
    assert p <= system_privacy.delta(system, 0.1, device=0) <= p * (1 + 1e-12)


@pytest.mark.parametrize("p", [1e-2, 1e-6, 1e-10, 1e-14])
def test_opposite_features_of_a_rare_device_have_an_epsilon_to_eleven_digits(p):
    """Far below the epsilon of an observer who sees whether the device sends, from which the search starts."""
    system = _idle(participation=p, clip=1.0, delta=p * 1e-3, adjacency="replace")
    epsilon = float(system_privacy.epsilon(system, device=0))
    assert system_privacy.delta_bracket(system, epsilon * (1 - 1e-11), device=0)[0] > system.delta


@pytest.mark.parametrize(("p", "clip", "delta"), [(1e-160, 1e-162, 1e-323), (1e-150, 1e-171, 2e-322)])
def test_an_epsilon_that_underflows_is_rounded_up(p, clip, delta):
    system = _idle(participation=p, clip=clip, delta=delta, adjacency="silent")
    epsilon = system_privacy.epsilon(system, device=0)
    assert 0 < epsilon < 1e-300


def test_the_search_ends_where_neighbouring_doubles_are_relatively_far_apart():
    """Below the normal doubles four units in the last place of a number are 0."""
    rare = InferenceSystem(
        devices=2, participation=1e-150, noise_variance=0.5, weight=1e-160, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.1, dimension=3, delta=1e-311, adjacency="replace", idle_noise=True,
    )  # fmt: skip
    found = float(system_privacy.epsilon(rare, observer="others", device=0))
    assert 0 < found < 1e-309 and float(system_privacy.delta(rare, found, observer="others", device=0)) <= 1e-311


def test_a_participation_below_the_normal_doubles():
    """Its quantile of the others' noise may use all of delta, which over twice this probability overflows."""
    system = InferenceSystem(
        devices=3, participation=[1e-310, 0.5, 0.9], noise_variance=0.1, weight=0.3, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.1, dimension=20, delta=1e-5, delta_prime=1e-5, adjacency="silent",
    )  # fmt: skip
    assert list(amplification.proven(system).epsilon == 0) == [True, False, False]
