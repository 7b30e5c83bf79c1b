"""Laws of the others' noise beyond enumeration: against every set, one by one, and in many digits; against exact laws."""

from __future__ import annotations

from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from airtight import Channel, InferenceSystem
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy, effective_noise, unenumerated_devices


def _every_v(a: np.ndarray, sigma2: np.ndarray, N: float, p: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """v of each set of the others and its probability, by one linear system a set."""
    others = [j for j in range(len(p)) if j != k]
    sets = np.array(list(product([0.0, 1.0], repeat=len(others))))
    V = np.einsum("sj,jl,jm->slm", sets * sigma2[others], a[others], a[others].conj()) + N * np.eye(a.shape[1])
    q = np.einsum(
        "l,sl->s", a[k].conj(), np.linalg.solve(V, np.broadcast_to(a[k], (len(sets), a.shape[1]))[..., None])[..., 0]
    )
    return 1 / q.real, np.prod(np.where(sets > 0, p[others], 1 - p[others]), axis=1)


def _encloses(law: effective_noise.Law, k: int, v: np.ndarray, chance: np.ndarray, rounding: float = 1e-7) -> None:
    """The law of the lower ends is below that of v, that of the upper ends above, at every value; by state, then together."""
    low, high, weights = law.low[k], law.high[k], law.weights[k]
    np.testing.assert_allclose(np.sum(weights, axis=1), 1 / len(v), rtol=1e-9)
    assert np.all(np.diff(low, axis=1) >= 0) and np.all(np.diff(high, axis=1) >= 0) and np.all(low <= high)
    pooled = law.pooled(np.array([k]), 300)
    groups = [*zip(low, high, weights * len(v), v, chance, strict=True)]
    groups.append((*(part[0] for part in pooled), v.ravel(), chance.ravel() / len(v)))
    for lower, upper, weight, values, probability in groups:
        for level in np.unique(np.quantile(values, np.linspace(0, 1, 60))):
            least = np.sum(probability, where=values <= level * (1 - rounding))
            most = np.sum(probability, where=values <= level * (1 + rounding))
            assert np.sum(weight, where=lower <= level * (1 + rounding)) >= most * (1 - 1e-9) - 1e-300
            assert np.sum(weight, where=upper <= level * (1 - rounding)) <= least * (1 + 1e-9) + 1e-300


@given(
    st.integers(2, 8),
    st.sampled_from([1, 2, 3, 8]),
    st.booleans(),
    st.sampled_from([1, 2, 7, 40]),
    st.floats(-3, 1),
    st.integers(0, 10**6),
)
@settings(max_examples=40, deadline=None)
def test_both_laws_enclose_that_of_every_set(
    devices: int, count: int, parts: bool, leaves: int, log_noise: float, seed: int
) -> None:
    """Unequal noises and participation, some devices always there or never, one not heard, two parallel."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((2, devices, count)) * 10 ** rng.uniform(-1, 1, (1, devices, 1))
    a = a + 1j * rng.standard_normal(a.shape) if parts else a
    if seed % 3 == 0:
        a[:, 1] = a[:, 0] * rng.uniform(0.1, 2)
    a[:, devices - 1] *= seed % 5 > 0
    sigma2, N = 10 ** rng.uniform(-2, 1, devices), 10.0**log_noise
    p = np.where(
        rng.random(devices) < 0.5, rng.uniform(0.01, 0.99, devices), rng.choice([0.01, 0.5, 0.99, 1.0, 0.0], devices)
    )
    law = effective_noise._partly_enumerated(a, sigma2, N, p, 4 * devices * 2 * leaves, 200, np.arange(len(p)))
    for k in range(devices):
        if np.any(a[:, k]):
            v, chance = zip(*(_every_v(one, sigma2, N, p, k) for one in a), strict=True)
            _encloses(law, k, np.array(v), np.array(chance))
        else:
            assert np.all(law.low[k] == np.inf) and np.all(law.high[k] == np.inf)


def test_many_leaves_decide_every_device() -> None:
    """With as many leaves as sets what is left is the rounding to the values of a state."""
    rng = np.random.default_rng(4)
    a, sigma2, p = rng.standard_normal((3, 6, 2)), rng.uniform(0.1, 1, 6), rng.uniform(0.2, 0.8, 6)
    law = effective_noise._partly_enumerated(a, sigma2, 0.3, p, 4 * 6 * 3 * 32, 4000, np.arange(len(p)))
    for k in range(6):
        v, chance = zip(*(_every_v(one, sigma2, 0.3, p, k) for one in a), strict=True)
        for power in (1, 4):
            truth = np.sum(np.array(chance) * np.array(v) ** -power) / 3
            for end in (law.low[k], law.high[k]):
                assert np.sum(law.weights[k] * end**-power) == pytest.approx(truth, rel=0.01 * power)


@pytest.mark.parametrize(
    ("count", "p", "apart"),
    [(2, 0.1, 0.03), (2, 0.5, 0.12), (2, 0.9, 0.05), (8, 0.1, 0.02), (8, 0.5, 0.06), (8, 0.9, 0.03)],
)
def test_both_ends_are_near_each_other(count: int, p: float, apart: float) -> None:
    """15 devices, where the truth is known, 512 leaves for each and state: means of decreasing functions of v."""
    rng = np.random.default_rng(count)
    h = rng.standard_normal((4, 15, count)) + 1j * rng.standard_normal((4, 15, count))
    a = np.concatenate([(h / h[..., :1]).real, (h / h[..., :1]).imag[..., 1:]], axis=2)
    sigma2, chances = np.full(15, 0.1), np.full(15, p)
    received = unenumerated_devices.OpenDevices(a, sigma2, 0.1, chances)
    given_ = {"noise_variance": sigma2, "receiver_noise_variance": 0.1}
    least = effective_noise.others_noise(a, present=np.zeros(15, dtype=bool), **given_)[0]
    most = effective_noise.others_noise(a, present=np.ones(15, dtype=bool), **given_)[1]
    for k in (0, 7):
        low, high, weights = received.law(k, 4 * 512, 2000, least[:, k], most[:, k])
        v, chance = (
            np.array(part) for part in zip(*(_every_v(one, sigma2, 0.1, chances, k) for one in a), strict=True)
        )
        for power in (1, 4):
            truth = np.sum(chance * (v + 0.1) ** -power) / 4
            lower, upper = (np.sum(weights * (end + 0.1) ** -power) for end in (high, low))
            assert truth * (1 - apart) <= lower <= truth <= upper <= truth * (1 + apart)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.7, 0.98])
def test_sums_of_many_devices(p: float) -> None:
    """One look and equal devices: v counts the others, with a binomial law; 70 of them, more than are added one by one."""
    K, N, sigma2 = 71, 0.5, 0.3
    a = np.ones((1, K, 1)) * np.array([1.0, -1.0])[np.arange(K) % 2][None, :, None]
    for leaves in (1, 8):
        law = effective_noise._partly_enumerated(a, np.full(K, sigma2), N, np.full(K, p), 4 * K * leaves, 500, np.arange(K))
        n = np.arange(K)
        _encloses(law, 3, (N + sigma2 * n)[None], stats.binom.pmf(n, K - 1, p)[None])
        mean = np.sum(law.weights[3] * law.low[3]), np.sum(law.weights[3] * law.high[3])
        truth = N + sigma2 * (K - 1) * p
        assert truth * 0.6 - sigma2 <= mean[0] <= truth <= mean[1] <= truth * 1.3 + 4 * sigma2


@pytest.mark.parametrize("steps", [3, 32, 50])
@pytest.mark.parametrize("p", [0.02, 0.5, 0.95])
def test_sums_are_rounded_to_the_safe_side(steps: int, p: float) -> None:
    """Simulated sums: their law lies between both laws, up to its own error."""
    rng = np.random.default_rng(steps)
    sizes, odds = rng.exponential(1, (2, steps)) ** 3, np.full((2, steps), p) * rng.uniform(0.9, 1, (2, steps))
    down, up = (unenumerated_devices._sums(sizes, odds, up=side) for side in (False, True))
    for i in range(2):
        drawn = np.where(rng.random((40_000, steps)) < odds[i], sizes[i], 0.0).sum(axis=1)
        for level in np.quantile(drawn, np.linspace(0, 1, 25)):
            share = np.mean(drawn <= level)
            error = 5 * np.sqrt(share * (1 - share) / drawn.size) + 10 / drawn.size
            assert np.sum(down[1][i], where=down[0][i] <= level * (1 + 1e-12)) >= share - error
            assert np.sum(up[1][i], where=up[0][i] <= level * (1 - 1e-12)) <= np.mean(drawn <= level) + error
        np.testing.assert_allclose([np.sum(down[1][i]), np.sum(up[1][i])], 1, rtol=1e-12)


@pytest.mark.parametrize("seed", range(36))
def test_both_laws_at_the_ends_of_the_doubles(seed: int) -> None:
    """Coefficients, noises and probabilities of all sizes, against 400 digits."""
    rng = np.random.default_rng(seed)
    K, count = 4, int(rng.integers(1, 4))
    a = rng.standard_normal((1, K, count)) * 10 ** rng.uniform(-70, 70, (1, K, 1) if seed % 2 else (1, 1, 1))
    sigma2, N = 10 ** rng.uniform(-100, 3, K), 10 ** rng.uniform(-100, 20)
    p = np.array([0.5, 1e-300, 1 - 1e-16, 1.0])[rng.permutation(4)]
    if seed >= 24:  # a strong device among weak ones: v is near the least normal double
        a = 1e-75 * rng.uniform(1, 2, (1, K, count))
        a[0, 0] *= 4e149 / np.sqrt(count)
        sigma2, N = np.where(np.arange(K) > 0, (1e-6, 1e-7)[seed % 2], 0.0), (2e-172, 2e-170)[seed % 2]
        p = rng.uniform(0.2, 0.8, K)
    law = effective_noise._partly_enumerated(a, sigma2, N, p, 4 * K * int(rng.integers(1, 9)), 100, np.arange(len(p)))
    with mpmath.workdps(400):
        for k in range(K):
            columns = [mpmath.matrix([mpmath.mpf(float(x)) for x in row]) for row in a[0]]
            every = []
            for present in product([0, 1], repeat=K - 1):
                V, chance = mpmath.eye(count) * mpmath.mpf(float(N)), mpmath.mpf(1)
                for j, here in zip([j for j in range(K) if j != k], present, strict=True):
                    chance *= mpmath.mpf(float(p[j])) if here else 1 - mpmath.mpf(float(p[j]))
                    V += here * mpmath.mpf(float(sigma2[j])) * (columns[j] * columns[j].T)
                every.append((1 / (columns[k].T * mpmath.lu_solve(V, columns[k]))[0], chance))
            for v, _ in every:
                truth = sum(chance for value, chance in every if value <= v)
                below = sum(map(mpmath.mpf, law.weights[k, 0][law.low[k, 0] <= v]))
                above = sum(map(mpmath.mpf, law.weights[k, 0][law.high[k, 0] < v]))
                less = sum(chance for value, chance in every if value < v)
                assert below >= truth * (1 - law.error) - 1e-300
                assert above <= less * (1 + law.error) + 1e-300


def test_without_noise_of_the_receiver_the_upper_ends_hold() -> None:
    rng = np.random.default_rng(2)
    a, sigma2, p = rng.standard_normal((1, 9, 2)), rng.uniform(0.1, 1, 9), np.full(9, 0.5)
    law = effective_noise._partly_enumerated(a, sigma2, 0.0, p, 4 * 9 * 60, 300, np.arange(len(p)))
    assert np.all(law.low * law.weights == 0) and np.all(np.isfinite(law.high))
    v, chance = _every_v(a[0], sigma2, 1e-12, p, 0)
    for level in np.quantile(v[v > 1e-6], np.linspace(0, 1, 30)):  # with two looks or more v is 0 for few participants
        assert (
            np.sum(law.weights[0, 0], where=law.high[0, 0] <= level * (1 - 1e-6))
            <= np.sum(chance, where=v <= level) + 1e-9
        )


def test_the_certificate_is_above_the_greatest_eigenvalue() -> None:
    rng = np.random.default_rng(0)
    for n, L, parts in ((1, 1, False), (3, 2, True), (12, 4, False), (5, 16, True)):
        columns = rng.standard_normal((50, n, L)) * 10 ** rng.uniform(-3, 3, (50, n, 1))
        columns = columns + 1j * rng.standard_normal(columns.shape) if parts else columns
        own = np.eye(L + 1)[:1] * np.ones((50, 1))  # the columns are orthogonal to it
        leaf = unenumerated_devices._Whitened.of(own, np.concatenate([np.zeros((50, n, 1)), columns], axis=2))
        eta = leaf.certified(rng.random((50, n)), rng.random((50, n)))
        matrix = np.einsum("snl,sn,snm->slm", columns, eta, columns.conj())
        greatest = np.linalg.eigvalsh(matrix)[:, -1]
        assert np.all(greatest <= 1 - unenumerated_devices._SHARE * 0.999) and np.all(greatest >= 0.7)


def test_pooled_laws_have_each_end_in_its_own_order() -> None:
    """A state of wide and one of narrow ends: the upper ends of the one do not spoil those of the other."""
    low, high = np.array([1.0, 2.0, 3.0, 1.1, 2.1, 3.1]), np.array([9.0, 9.5, 9.9, 1.2, 2.2, 3.2])
    weights = np.full(6, 1 / 6)
    lower, upper, shares = effective_noise._coupled(low, high, weights)
    np.testing.assert_array_equal(lower, np.sort(low))
    np.testing.assert_array_equal(upper, np.sort(high))
    np.testing.assert_array_equal(shares, weights)


def test_the_effort_decides() -> None:
    """Twice the same, and a greater effort is nearer; where every set is enumerated nothing changes."""
    one = InferenceSystem(
        devices=9,
        participation=0.4,
        noise_variance=0.2,
        weight=0.1,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=4,
        delta=1e-3,
        adjacency="silent",
    )
    channel = Channel(antennas=2, fading="rayleigh", states=3)
    gaps = []
    for effort in (100, 1000, 5000):
        first, again = (effective_noise.law(one, channel, effort=effort) for _ in range(2))
        effective_noise._law.cache_clear()
        third = effective_noise.law(one, channel, effort=effort)
        for law in (again, third):
            np.testing.assert_array_equal(first.low, law.low)
            np.testing.assert_array_equal(first.high, law.high)
        gaps.append(np.sum(first.weights * (1 / first.low - 1 / first.high)) / np.sum(first.weights / first.low))
    assert gaps[0] > 1.5 * gaps[1] > 0 and gaps[2] < 1e-6


@pytest.mark.parametrize("jitter", [0.05, 1.0])
def test_any_combination_keeps_both_ends(jitter: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The systems that w solves are changed: the remainder counts, and both ends hold all the same."""
    monkeypatch.setattr(unenumerated_devices, "_JITTER", jitter)
    monkeypatch.setattr(unenumerated_devices, "_SHARE", 0.2)
    rng = np.random.default_rng(7)
    for count in (2, 4):
        a, sigma2, p = rng.standard_normal((2, 8, count)), rng.uniform(0.1, 3, 8), rng.uniform(0.3, 0.9, 8)
        law = effective_noise._partly_enumerated(a, sigma2, 0.1, p, 4 * 8 * 2, 400, np.arange(len(p)))
        for k in range(8):
            v, chance = zip(*(_every_v(one, sigma2, 0.1, p, k) for one in a), strict=True)
            _encloses(law, k, np.array(v), np.array(chance))


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_who_sees_less_learns_no_more(adjacency: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """2^21 sets of one state; with a hidden roll v has fewer cells, which alone gave a greater epsilon."""
    monkeypatch.setattr(effective_noise, "_LEAF", 12)  # fewer leaves, sooner
    one = InferenceSystem(
        devices=22, participation=0.5, noise_variance=0.1, weight=0.13, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.1, dimension=8, delta=1e-5, adjacency=adjacency,
    )  # fmt: skip
    channel = Channel(antennas=2, fading="rayleigh", states=1)
    assert not channel_privacy.law(one, channel).exact
    seen = [channel_privacy.bracket(one, channel, observer=observer) for observer in ("participants", "others", "signal")]
    assert np.all(seen[1].upper <= seen[0].upper) and np.all(seen[2].upper <= seen[1].upper)
    assert all(np.all(each.lower <= each.upper) for each in seen)
