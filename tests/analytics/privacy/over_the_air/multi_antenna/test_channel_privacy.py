"""Privacy over several looks: theorem V1 against 50 digits and simulation, laws of v, observers, rounds."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import airtight
from airtight import Channel, InferenceSystem, ParameterError, PrivacyCurve
from airtight.analytics.forms.balls import looks_noise
from airtight.analytics.forms.balls.ball import ends
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy, effective_noise


def system(**changes: object) -> InferenceSystem:
    base: dict[str, object] = {
        "devices": 3,
        "participation": 1.0,
        "noise_variance": [0.3, 0.2, 0.4],
        "weight": [0.6, 0.9, 0.5],
        "clip": 1.0,
        "alignment": 0.7,
        "receiver_noise_variance": 0.1,
        "dimension": 2,
        "delta": 1e-3,
        "adjacency": "silent",
    }
    return InferenceSystem(**{**base, **changes})  # type: ignore[arg-type]


def _table(seed: int, states: int = 3, devices: int = 3, count: int = 2, *, parts: bool = True) -> np.ndarray:
    rng = np.random.default_rng(seed)
    real = rng.standard_normal((states, devices, count))
    return real + 1j * rng.standard_normal(real.shape) if parts else real


def _v(a: np.ndarray, sigma2: np.ndarray, N: float, present: np.ndarray, k: int, digits: int = 60) -> mpmath.mpf:
    """1 / (a^* V^-1 a) at so many digits."""
    with mpmath.workdps(digits):
        L = a.shape[1]
        V = mpmath.eye(L) * mpmath.mpf(float(N))
        columns = [mpmath.matrix([mpmath.mpmathify(complex(x)) for x in row]) for row in a]
        for j, column in enumerate(columns):
            if present[j] and j != k:
                V += mpmath.mpf(float(sigma2[j])) * (column * column.H)
        q = (columns[k].H * mpmath.lu_solve(V, columns[k]))[0]
        return 1 / mpmath.re(q)


@given(st.integers(1, 6), st.integers(1, 5), st.booleans(), st.floats(-14, 3), st.floats(0, 6), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_both_ends_of_v(devices: int, count: int, parts: bool, log_noise: float, spread: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = _table(seed, 1, devices, count, parts=parts)[0] * 10 ** rng.uniform(-spread / 2, spread / 2, (devices, 1))
    sigma2, N = 10 ** rng.uniform(-3, 3, devices), 10.0**log_noise
    present = rng.random(devices) < 0.6
    low, high = effective_noise.others_noise(a, noise_variance=sigma2, receiver_noise_variance=N, present=present)
    for k in range(devices):
        v = _v(a, sigma2, N, present, k)
        assert low[k] <= v <= high[k]
        if log_noise > -6 and spread < 2:
            assert high[k] <= low[k] * (1 + 1e-6)


@given(st.integers(1, 7), st.integers(2, 5), st.booleans(), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_without_receiver_noise_v_is_its_limit(devices: int, count: int, parts: bool, seed: int) -> None:
    """Where the others span all looks, the inverse of what they send; otherwise 0. A look with nothing in it is none."""
    rng = np.random.default_rng(seed)
    a = _table(seed, 1, devices, count, parts=parts)[0] * 10 ** rng.uniform(-2, 2, (devices, 1))
    sigma2, present = 10 ** rng.uniform(-2, 2, devices), rng.random(devices) < 0.8
    given = {"noise_variance": sigma2, "receiver_noise_variance": 0.0, "present": present}
    low, high = effective_noise.others_noise(a, **given)
    np.testing.assert_array_equal((low, high), effective_noise.others_noise(np.insert(a, 1, 0.0, axis=1), **given))
    for k in range(devices):
        if np.sum(present) - present[k] < count:
            assert low[k] == 0
        else:
            assert low[k] <= _v(a, sigma2, 0.0, present, k) <= high[k]
            V = (a.T * np.where(np.arange(devices) == k, 0.0, present * sigma2)) @ a.conj()
            assert np.linalg.cond(V) > 1e5 or high[k] <= low[k] * (1 + 1e-6)


@given(st.integers(1, 5), st.integers(1, 4), st.booleans(), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_the_ball_of_v_lies_between_both_ends(devices: int, count: int, parts: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = _table(seed, 1, devices, count, parts=parts)[0]
    sigma2, N, present = 10 ** rng.uniform(-3, 2, devices), 10 ** rng.uniform(-6, 1), rng.random(devices) < 0.6
    low, high = effective_noise.others_noise(a, noise_variance=sigma2, receiver_noise_variance=N, present=present)
    for k in range(devices):
        v = looks_noise.others_noise(
            a, noise_variance=sigma2.tolist(), receiver_noise_variance=float(N), present=present.tolist(), device=k
        )
        below, above = ends(v)
        assert low[k] <= above and below <= high[k] and above - below <= 1e-13 * above
        assert below <= float(_v(a, sigma2, N, present, k)) <= above


@given(st.integers(1, 7), st.integers(1, 4), st.booleans(), st.floats(-4, 1), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_elimination_encloses_v_of_every_set(
    devices: int, count: int, parts: bool, log_noise: float, seed: int
) -> None:
    """All sets of one state together, some devices always there, in blocks of four sets, against the proved ends of each."""
    rng = np.random.default_rng(seed)
    a = _table(seed, 1, devices, count, parts=parts)[0]
    sigma2, N = 10 ** rng.uniform(-3, 1, devices), 10.0**log_noise
    p = np.where(rng.random(devices) < 0.3, 1.0, 0.5)
    order = rng.permutation(np.flatnonzero(p < 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(effective_noise, "_INNER", 2)
        low, high, settled = effective_noise._eliminated(a[None], sigma2, N, p, order, np.arange(devices))
    if not settled[0]:
        return  # rounding may matter
    found = low[0].T, high[0].T
    sets, _ = effective_noise._every_set(p[order])
    present = np.broadcast_to(p == 1, (len(sets), devices)).copy()
    present[:, order] = sets
    low, high = effective_noise.others_noise(a, noise_variance=sigma2, receiver_noise_variance=N, present=present)
    apart = ~present  # of a device that is in the set, v is not asked for
    assert np.all((found[0] <= high)[apart]) and np.all((low <= found[1])[apart])
    assert np.all((found[1] <= found[0] * (1 + 1e-5))[apart]) and np.all((found[0] <= found[1])[apart])


@pytest.mark.parametrize("effort", [1 << 20, 1 << 9])
def test_a_device_alone_has_the_law_that_it_has_among_all(effort: int) -> None:
    """Every set, or the leaves of trees; of nine devices one always sends and one never does."""
    one = system(devices=9, participation=[0.5, 1.0, 0.3, 0.0, 0.9, 0.7, 0.6, 0.4, 0.8], noise_variance=0.2, weight=0.5)
    channel = Channel(antennas=3, fading="rayleigh", states=20)
    of_all = effective_noise.law(one, channel, effort=effort)
    for devices in ([4], [1], [3], [2, 4, 6, 8]):
        few = effective_noise.law(one, channel, effort=effort, devices=np.array(devices))
        assert few.exact == of_all.exact == (effort > 1 << 9)
        for part in ("low", "high", "weights"):
            alone, among = getattr(few, part)[devices], getattr(of_all, part)[devices]
            np.testing.assert_allclose(alone, among, rtol=1e-12)


def test_elimination_is_not_used_where_rounding_may_matter() -> None:
    a = _table(1, 1, 3, 2)[0]
    given_: dict[str, object] = {"p": np.full(3, 0.5), "order": np.arange(3), "asked": np.arange(3)}
    for N, settled in ((1.0, True), (1e-12, False), (0.0, False)):
        assert effective_noise._eliminated(a[None], np.ones(3), N, **given_)[2] == settled  # type: ignore[arg-type]


def test_limits_of_v() -> None:
    a = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    given_: dict[str, object] = {"noise_variance": [1.0, 2.0, 3.0], "present": [True, True, True]}
    low, high = effective_noise.others_noise(a, receiver_noise_variance=0.5, **given_)  # type: ignore[arg-type]
    np.testing.assert_allclose(low[:2], 0.5, rtol=1e-12)  # orthogonal looks hide nothing
    assert low[2] == high[2] == np.inf  # received nowhere
    low, _ = effective_noise.others_noise(a, receiver_noise_variance=0.0, **given_)  # type: ignore[arg-type]
    assert np.all(low[:2] == 0)
    one = effective_noise.others_noise(
        [[2.0], [3.0]], noise_variance=[1.0, 2.0], receiver_noise_variance=0.0, present=[True, True]
    )
    np.testing.assert_allclose(one[0], [4.5, 4 / 9], rtol=1e-12)


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_theorem_v1_by_simulation(adjacency: str, parts: bool) -> None:
    """The likelihood ratio of the whole L x r signal, simulated: its divergence is that of one look with noise v."""
    rng = np.random.default_rng(11)
    one = system(adjacency=adjacency, delta=1e-2)
    table = _table(5, 1, parts=parts)
    channel = Channel(model="complex" if parts else "real", looks=table)
    r, k, a, draws = one.dimension, 0, table[0] * one.alignment, 200_000

    # real coordinates of the signal: looks times coordinates, complex symbols as two by two blocks
    def lifted(c: complex) -> np.ndarray:
        if not parts:
            return float(np.real(c)) * np.eye(r)
        block = np.array([[c.real, -c.imag], [c.imag, c.real]])
        return np.kron(np.eye(r // 2), block)

    G = [np.vstack([lifted(x) for x in row]) for row in a]
    code = np.zeros(r)
    code[0] = one.weight[k] * one.clip[k]
    base = one.receiver_noise_variance * np.eye(G[0].shape[0])
    others = base + sum(one.noise_variance[j] * G[j] @ G[j].T for j in range(3) if j != k)
    own = others + one.noise_variance[k] * G[k] @ G[k].T
    P = stats.multivariate_normal(G[k] @ code, own)
    Q = {
        "absent": stats.multivariate_normal(np.zeros(len(base)), others),
        "silent": stats.multivariate_normal(np.zeros(len(base)), own),
        "replace": stats.multivariate_normal(-G[k] @ code, own),
    }[adjacency]
    curve = airtight.curve(one.replace(channel=channel), device=k, observer="others")
    for epsilon in (0.1, 0.7, 1.5):
        for order, first, second in (("forward", P, Q), ("reverse", Q, P)):
            y = first.rvs(draws, random_state=rng)
            loss = first.logpdf(y) - second.logpdf(y)
            gain = np.maximum(-np.expm1(epsilon - loss), 0.0)
            exact = float(curve.delta(epsilon, direction=order))
            assert abs(np.mean(gain) - exact) < 5 * np.std(gain) / np.sqrt(draws) + 1e-9


def _gaussian_delta(epsilon: float, mu: float) -> float:
    return float(special.ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * special.ndtr(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_visible_participants_by_enumeration(adjacency: str) -> None:
    one = system(adjacency=adjacency, participation=[0.3, 0.8, 0.6])
    table = _table(9)
    channel = Channel(model="complex", looks=table)
    gamma2 = one.alignment**2
    for k, epsilon in product(range(3), (0.2, 1.0)):
        total = 0.0
        for a, others in product(table, product((0, 1), repeat=2)):
            rest = [j for j in range(3) if j != k]
            present = np.zeros(3, dtype=bool)
            present[rest] = others
            weight = np.prod([one.participation[j] if present[j] else 1 - one.participation[j] for j in rest]) / len(
                table
            )
            v = float(_v(a, gamma2 * one.noise_variance, one.receiver_noise_variance, present, k))
            distance = one.alignment * one.weight[k] * (2 if adjacency == "replace" else 1)
            mu = distance / np.sqrt(v + gamma2 * one.noise_variance[k])
            total += one.participation[k] * weight * _gaussian_delta(epsilon, mu)
        found = float(airtight.delta(one.replace(channel=channel), epsilon, observer="participants")[k])
        assert total * (1 - 1e-9) <= found <= total * (1 + 1e-9)


def test_the_power_limit_by_physical_simulation() -> None:
    """Gains, inversion, truncation and looks drawn as described; delta averaged over 3e5 draws."""
    one = system(adjacency="silent", devices=3)
    channel = Channel(model="complex", antennas=2, fading="rayleigh", max_power=0.8, states=20_000)
    one = channel.with_participation(one)
    rng, draws, k = np.random.default_rng(3), 60_000, 1
    h = np.sqrt(0.5) * (rng.standard_normal((draws, 3, 2)) + 1j * rng.standard_normal((draws, 3, 2)))
    sends = np.abs(h[:, :, 0]) ** 2 >= channel.threshold(one)
    a = h / h[:, :, :1]
    gamma2 = one.alignment**2
    deltas = np.zeros(draws)
    for i in np.flatnonzero(sends[:, k]):
        V = one.receiver_noise_variance * np.eye(2, dtype=complex)
        for j in (0, 2):
            if sends[i, j]:
                V += gamma2 * one.noise_variance[j] * np.outer(a[i, j], a[i, j].conj())
        v = 1 / np.real(a[i, k].conj() @ np.linalg.solve(V, a[i, k]))
        mu = one.alignment * one.weight[k] / np.sqrt(v + gamma2 * one.noise_variance[k])
        deltas[i] = _gaussian_delta(0.5, mu)
    for observer in ("participants", "others"):  # the shown channel shows who sends
        found = float(airtight.delta(one.replace(channel=channel), 0.5, observer=observer)[k])
        spread = np.std(deltas) * np.sqrt(1 / draws + 1 / 20_000)
        assert abs(found - np.mean(deltas)) < 5 * spread


def test_one_antenna_is_the_system_itself() -> None:
    for adjacency, fading in product(("absent", "silent", "replace"), ("none", "rayleigh")):
        one = system(adjacency=adjacency, participation=[0.3, 0.9, 1.0])
        for observer in ("participants", "others", "signal"):
            ours = airtight.epsilon(one.replace(channel=Channel(fading=fading)), observer=observer)
            assert np.array_equal(ours, airtight.epsilon(one, observer=observer))
    assert airtight.curve(one.replace(channel=Channel())).to_json() == airtight.curve(one).to_json()


def test_equal_looks_divide_the_receivers_noise() -> None:
    one = system(participation=[0.3, 0.9, 1.0], adjacency="absent")
    four = airtight.epsilon(one.replace(channel=Channel(antennas=4)))
    quarter = system(participation=[0.3, 0.9, 1.0], adjacency="absent", receiver_noise_variance=0.025)
    np.testing.assert_allclose(four, airtight.epsilon(quarter), rtol=1e-10)


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_more_looks_and_more_observers_learn_more(adjacency: str) -> None:
    table = _table(4, 4, 3, 3)
    one = system(adjacency=adjacency, participation=[0.5, 0.9, 1.0])
    of = {
        count: [
            np.asarray(
                airtight.epsilon(one.replace(channel=Channel(model="complex", looks=table[:, :, :count])), observer=seen)
            )
            for seen in ("participants", "others", "signal")
        ]
        for count in (1, 2, 3)
    }
    for few, many in ((1, 2), (2, 3)):
        for before, after in zip(of[few], of[many], strict=True):
            assert np.all(before <= after * (1 + 1e-7))
    for participants, others, signal in of.values():
        assert np.all(others <= participants * (1 + 1e-7)) and np.array_equal(others, signal)


def test_devices_left_out_of_the_enumeration_keep_both_ends() -> None:
    one = system(participation=[0.5, 0.9, 0.7], adjacency="silent")
    channel = Channel(model="complex", looks=_table(6))
    full, few = channel_privacy.law(one, channel), channel_privacy.law(one, channel, effort=6)
    assert full.exact and not few.exact
    np.testing.assert_allclose(np.sum(few.weights, axis=(1, 2)), 1.0, rtol=1e-12)
    for end, sign in (("low", 1), ("high", -1)):
        for power in (-1, -2):  # means of decreasing functions of v
            of_full = np.sum(full.weights * getattr(full, end) ** power, axis=(1, 2))
            of_few = np.sum(few.weights * getattr(few, end) ** power, axis=(1, 2))
            assert np.all(sign * (of_few - of_full) >= -1e-12)


@given(st.integers(1, 40), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_cells_enclose_their_atoms(cells: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = 10 ** rng.uniform(-6, 6, (2, 300))
    high, weights = low * (1 + rng.random((2, 300)) * 1e-3), rng.random((2, 300))
    grouped = effective_noise._cells(low, high, weights, cells)
    assert grouped[0].shape[-1] <= max(cells, 1)
    np.testing.assert_allclose(np.sum(grouped[2], axis=1), np.sum(weights, axis=1), rtol=1e-12)
    for level in 10 ** rng.uniform(-6, 6, 20):  # the law of the lower ends is below, that of the upper ends above
        below = np.sum(np.where(grouped[0] <= level, grouped[2], 0), axis=1)
        assert np.all(below >= np.sum(np.where(low <= level, weights, 0), axis=1) * (1 - 1e-12))
        above = np.sum(np.where(grouped[1] >= level, grouped[2], 0), axis=1)
        assert np.all(above >= np.sum(np.where(high >= level, weights, 0), axis=1) * (1 - 1e-12))


def test_cells_of_equal_lower_ends_keep_upper_ends_apart() -> None:
    """Without receiver's noise many lower ends are 0: their upper ends, in order, are not all replaced by the greatest."""
    high, weights = np.linspace(0.01, 1, 600)[None], np.full((1, 600), 1 / 600)
    _, grouped, mass = effective_noise._cells(np.zeros((1, 600)), high, weights, 64)
    assert np.sum(weights / high) * 0.5 < np.sum(mass / grouped) <= np.sum(weights / high)


def test_rounds_fresh_and_static() -> None:
    one = system(adjacency="silent")
    channel = Channel(model="complex", looks=_table(2))
    once = airtight.epsilon(one.replace(channel=channel))
    fresh = channel_privacy.bracket(one, channel, rounds=5)
    assert np.all(fresh.lower <= fresh.upper * (1 + 1e-12)) and np.all(fresh.upper > once)
    lasting = Channel(model="complex", looks=_table(2), fresh=False)
    static = channel_privacy.bracket(one, lasting, rounds=5)
    # by hand: the mean over states of a Gaussian release with five times the squared distance
    law = channel_privacy.law(one, channel)
    scaled = one.normalised()
    mu = np.sqrt(5) * scaled.sensitivity[0] / np.sqrt(law.low[0, :, 0] + scaled.received_noise_variance[0])
    at = float(static.upper[0])
    assert np.mean([_gaussian_delta(at, m) for m in mu]) == pytest.approx(one.delta, rel=1e-6)
    assert float(channel_privacy.delta_at(one, lasting, at, rounds=5, device=0)) == pytest.approx(one.delta, rel=1e-6)
    eps = np.array([0.0, 0.3, 1.0, np.inf])
    truth = [np.mean([_gaussian_delta(x, m) for m in mu]) if x < np.inf else 0.0 for x in eps]
    found = channel_privacy.delta_at(one, lasting, eps, rounds=5, device=0)
    np.testing.assert_allclose(found, truth, rtol=1e-9)
    assert np.all(found >= np.array(truth) * (1 - 1e-12))


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_delta_over_a_static_channel_with_participation_anew(adjacency: str) -> None:
    """Who takes part is seen: given how often, a Gaussian release; binomial mixtures, averaged over the states, in 30 digits."""
    rounds, p = 4, 0.3
    one = system(adjacency=adjacency, devices=2, participation=[p, 1.0], noise_variance=0.2, weight=0.4)
    channel = Channel(model="complex", looks=_table(2)[:, :2], fresh=False)
    law, scaled = channel_privacy.law(one, channel), one.normalised()
    distance = float(scaled.sensitivity[0])
    found = channel_privacy.delta_at(one, channel, eps := [0.1, 0.7, 2.0], rounds=rounds, device=0, observer="participants")
    for at, delta in zip(eps, found, strict=True):
        with mpmath.workdps(30):
            total = mpmath.mpf(0)
            for v in law.low[0, :, 0]:
                mu = distance / mpmath.sqrt(v + scaled.received_noise_variance[0])
                for j in range(1, rounds + 1):
                    m = mpmath.sqrt(j) * mu
                    value = mpmath.ncdf(m / 2 - at / m) - mpmath.e**at * mpmath.ncdf(-m / 2 - at / m)
                    total += (
                        mpmath.binomial(rounds, j) * mpmath.mpf(p) ** j * (1 - mpmath.mpf(p)) ** (rounds - j) * value
                    )
            truth = float(total / law.low.shape[1])
        assert truth * (1 - 1e-12) <= delta <= truth * 1.01
    with pytest.raises(ParameterError, match="epsilon"):
        channel_privacy.delta_at(one, channel, -1.0, rounds=rounds)
    many = channel_privacy.delta_at(one, channel, np.linspace(0.1, 2, 20), rounds=rounds, device=0, observer="participants")
    assert found[0] * 0.99 <= many[0] <= found[0] * 1.01 and np.all(np.diff(many) < 0)
    assert float(airtight.delta(one.replace(channel=channel), 0.7, rounds=rounds, observer="participants")[0]) == found[1]


def test_delta_over_a_static_channel_of_a_device_that_leaves() -> None:
    """Given the state one release of all coordinates of all rounds: probabilities of balls."""
    one = system(adjacency="absent")
    channel = Channel(model="complex", looks=_table(2), fresh=False)
    law, scaled = channel_privacy.law(one, channel), one.normalised()
    own, T = float(scaled.received_noise_variance[0]), 3
    d, r = float(scaled.sensitivity[0]) * np.sqrt(T), one.dimension * T
    for eps in (0.5, 3.0):
        each = []
        for v in law.low[0, :, 0]:
            radius2 = 2 * v * (v + own) / own * (eps + r / 2 * np.log1p(own / v) + d * d / (2 * own))
            center = d * v / own
            outside = stats.ncx2.sf(radius2 / (v + own), r, (d + center) ** 2 / (v + own))
            each.append(outside - np.exp(eps) * stats.ncx2.sf(radius2 / v, r, center**2 / v))
        found = float(channel_privacy.delta_at(one, channel, eps, rounds=T, device=0))
        assert found == pytest.approx(np.mean(each), rel=1e-6)


def test_delta_where_the_roll_is_called() -> None:
    """Devices without noise or neighbours' noise: whoever sends once is known, in a lasting state as in fresh ones."""
    one = system(adjacency="absent", participation=0.25)
    static = Channel(model="complex", looks=_table(2), fresh=False)
    found = channel_privacy.delta_at(one, static, 1.0, rounds=3, device=0, observer="participants")
    assert float(found) == pytest.approx(1 - 0.75**3, rel=1e-12)


def test_static_absent_is_one_release_of_all_coordinates() -> None:
    one = system(adjacency="absent")
    channel = Channel(model="complex", looks=_table(2, 1), fresh=False)
    composed = airtight.curve(one.replace(channel=channel)).compose(4)
    assert float(channel_privacy.epsilon(one, channel, rounds=4, device=0)) == pytest.approx(
        float(composed.epsilon(1e-3)), rel=2e-2
    )
    assert float(channel_privacy.epsilon(one, channel, rounds=4, device=0)) <= float(composed.epsilon(1e-3)) * (1 + 1e-9)


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_idle_noise_is_noise_of_the_others(adjacency: str) -> None:
    """With one look, idle noise over a channel is that of the system; the table says so by looks that differ by 1e-12."""
    one = system(adjacency=adjacency, idle_noise=True, participation=[0.3, 0.9, 1.0])
    table = np.ones((1, 3, 1))
    table[0, 0, 0] = 1 + 1e-12
    for observer in ("participants", "others"):
        ours = airtight.epsilon(one.replace(channel=Channel(looks=table)), observer=observer)
        np.testing.assert_allclose(ours, airtight.epsilon(one, observer=observer), rtol=1e-6)


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
@pytest.mark.parametrize("observer", ["participants", "others"])
def test_one_look_with_participants_is_the_system(adjacency: str, observer: str) -> None:
    """Looks that differ by 1e-12 take the way of many looks and must give the numbers of one look."""
    one = system(adjacency=adjacency, participation=[0.3, 0.9, 1.0])
    table = np.ones((1, 3, 1))
    table[0, 0, 0] = 1 + 1e-12
    ours = airtight.epsilon(one.replace(channel=Channel(looks=table)), observer=observer)
    np.testing.assert_allclose(ours, airtight.epsilon(one, observer=observer), rtol=1e-6)


def test_an_unknown_channel_is_bounded_by_a_known_one() -> None:
    one = system(participation=[0.5, 0.9, 1.0])
    table = _table(1)
    known, unknown = (channel_privacy.bracket(one, Channel(model="complex", looks=table, known=k)) for k in (True, False))
    assert np.all(unknown.lower == 0) and np.array_equal(known.upper, unknown.upper)
    curve = airtight.curve(one.replace(channel=Channel(model="complex", looks=table, known=False)))
    assert float(curve.bracket(delta=1e-3).lower) == 0


def test_the_curve_survives_json() -> None:
    one = system(participation=[0.5, 0.9, 1.0], adjacency="absent")
    for channel in (Channel(model="complex", looks=_table(1)), Channel(antennas=2, fading="rayleigh", states=4)):
        curve = airtight.curve(one.replace(channel=channel), device=1)
        again = PrivacyCurve.from_json(curve.to_json())
        assert again.to_json() == curve.to_json()
        assert float(again.delta(1.0)) == float(curve.delta(1.0))


def test_devices_may_change_their_order() -> None:
    table, order = _table(3), [2, 0, 1]
    one = system(participation=[0.3, 0.9, 0.7])
    moved = system(
        participation=one.participation[order], noise_variance=one.noise_variance[order], weight=one.weight[order]
    )
    ours = airtight.epsilon(one.replace(channel=Channel(model="complex", looks=table)))
    theirs = airtight.epsilon(moved.replace(channel=Channel(model="complex", looks=table[:, order])))
    np.testing.assert_allclose(ours[order], theirs, rtol=1e-9)


def test_extremes() -> None:
    table = _table(3)
    assert np.all(airtight.epsilon(system(participation=0.0).replace(channel=Channel(looks=table.real))) == 0)
    assert np.all(airtight.epsilon(system(weight=0.0).replace(channel=Channel(looks=table.real))) == 0)
    silent = airtight.epsilon(
        system(noise_variance=0.0, receiver_noise_variance=0.0).replace(channel=Channel(looks=table.real))
    )
    assert np.all(silent == np.inf)
    unheard = table.copy()
    unheard[:, 0] = 0.0
    for adjacency in ("absent", "silent", "replace"):
        one = system(adjacency=adjacency)
        found = airtight.epsilon(one.replace(channel=Channel(model="complex", looks=unheard)))
        assert found[0] == 0 or found[0] < 1e-9
        assert np.all(found[1:] > 0)
    tiny = airtight.epsilon(system().replace(channel=Channel(model="complex", looks=table)), delta=1e-300)
    assert np.all(np.isfinite(tiny)) and np.all(
        tiny > airtight.epsilon(system().replace(channel=Channel(model="complex", looks=table)))
    )
    assert np.all(airtight.epsilon(system().replace(channel=Channel(looks=table.real)), delta=0.0) == np.inf)


def test_an_eavesdropper_needs_a_table() -> None:
    with pytest.raises(ParameterError, match="eavesdropper"):
        channel_privacy.epsilon(system(), Channel(antennas=2, fading="rayleigh"), eavesdropper=True)
    channel = Channel(antennas=1, fading="rayleigh", states=50, eavesdropper={"antennas": 4, "mean_power": 1.0})
    strong = channel_privacy.epsilon(system(), channel, eavesdropper=True)
    assert np.all(strong > airtight.epsilon(system().replace(channel=channel)))


def test_medians_of_the_theory() -> None:
    """K = 12, Rayleigh, epsilon 1 with one antenna: the median over states, to the error of their number."""
    from scipy.optimize import brentq

    def of(weight: float) -> InferenceSystem:
        return system(
            devices=12, noise_variance=0.1, weight=weight, alignment=1.0, receiver_noise_variance=0.1, delta=1e-5
        )

    weight = brentq(lambda w: float(airtight.epsilon(of(w))[0]) - 1, 0.01, 3)
    one = of(weight)
    for model, expected in {"complex": {2: 1.19, 4: 1.86, 8: 3.07}, "real": {2: 1.44, 4: 2.66, 8: 3.72}}.items():
        for antennas, median in expected.items():
            channel = Channel(model=model, antennas=antennas, fading="rayleigh", states=400)
            pooled = np.median(channel_privacy.epsilon_by_state(one, channel))
            assert pooled == pytest.approx(median, rel=0.02), (model, antennas)


@pytest.mark.parametrize(
    ("adjacency", "hidden", "shown"), [("absent", 9.71e-3, 2.715e-2), ("silent", 2.62e-3, 6.04e-3)]
)
def test_a_participation_that_the_channel_shows_amplifies_nothing(adjacency: str, hidden: float, shown: float) -> None:
    """One antenna, a power that suffices with probability .1: delta by hand is E[1{k sends} D(v)], with v by a binomial law."""
    from airtight.analytics.privacy.mechanisms import gaussian_pair

    one = system(
        devices=12, participation=0.1, noise_variance=0.1, weight=1 / 12, clip=5.0, alignment=1.0, dimension=8,
        receiver_noise_variance=0.1, delta=1e-5, adjacency=adjacency,
    )  # fmt: skip
    assert float(airtight.delta(one, 1.0, observer="others")[0]) == pytest.approx(hidden, rel=2e-3)
    power = float(Channel(max_power=1.0).threshold(one)[0]) / -np.log(0.1)
    channel = Channel(fading="rayleigh", max_power=power, states=20_000)
    found = airtight.delta(channel.with_participation(one).replace(channel=channel), 1.0, observer="others")
    by_hand = 0.0
    for n, weight in enumerate(stats.binom.pmf(np.arange(12), 11, 0.1)):
        without = 0.1 * n + 0.1
        orders = (
            ((without + 0.1, without), (without, without + 0.1)) if adjacency == "absent" else ((without + 0.1,) * 2,)
        )
        logs = [
            gaussian_pair.log_hockey_stick(1.0, distance=5 / 12, variance_p=p, variance_q=q, dimension=8)
            for p, q in orders
        ]
        by_hand += 0.1 * float(weight) * float(np.exp(max(logs)))
    assert by_hand == pytest.approx(shown, rel=1e-3)
    np.testing.assert_allclose(found, by_hand, rtol=0.02)  # 20 000 states


def test_coefficients_whose_squares_are_no_doubles_are_refused() -> None:
    """A look of 1e-170 had v = infinity, and epsilon 0 where it is 1.79: its square underflows."""
    one = system(receiver_noise_variance=0.0, alignment=1.0)
    for power, wrong in ((-170, True), (-76, True), (-75, False), (75, False), (76, True), (200, True)):
        table = np.full((1, 3, 1), 10.0**power)
        table[0, 0, 0] *= 1 + 1e-12 * (-1) ** (
            power > 0
        )  # not quite equal, so that the looks are not reduced to one system
        if wrong:
            with pytest.raises(ParameterError, match="looks"):
                Channel(looks=table)
            with pytest.raises(ParameterError, match="coefficients"):
                effective_noise.others_noise(
                    table, noise_variance=0.1, receiver_noise_variance=0.0, present=np.ones(3, dtype=bool)
                )
        elif power > 0:
            np.testing.assert_allclose(
                airtight.epsilon(one.replace(channel=Channel(looks=table))), airtight.epsilon(one), rtol=1e-6
            )


def test_both_ends_of_v_at_the_ends_of_the_doubles() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        devices, count = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        shape = (devices, 1) if rng.random() < 0.5 else (devices, count)
        a = rng.standard_normal((devices, count)) * 10 ** rng.uniform(-70, 70, shape)
        sigma2, N = 10 ** rng.uniform(-300, 0, devices), 10 ** rng.uniform(-300, 2)
        present = rng.random(devices) < 0.7
        low, high = effective_noise.others_noise(a, noise_variance=sigma2, receiver_noise_variance=N, present=present)
        with mpmath.workdps(1500):
            for k in range(devices):
                assert low[k] <= _v(a, sigma2, N, present, k, digits=1500) <= high[k]


def test_a_static_channel_that_decides_shows_who_sends() -> None:
    """Hidden from an observer who does not know it, a lasting roll still counts as shown: nothing tighter is proved."""
    channel = Channel(model="complex", antennas=2, fading="rayleigh", max_power=0.8, states=50, fresh=False)
    one = channel.with_participation(system())
    unknown = Channel(**{**channel.to_dict(), "known": False})
    for observer in ("participants", "others", "signal"):
        shown, hidden = (channel_privacy.bracket(one, each, rounds=4, observer=observer) for each in (channel, unknown))
        np.testing.assert_array_equal(shown.upper, hidden.upper)


@pytest.mark.parametrize("seed", [96, 199, 249, 250, 351, 433, 886, 1440])
def test_both_ends_of_v_where_the_others_are_nearly_parallel(seed: int) -> None:
    """The remainder of the regression is all rounding here; left out, the lower end was up to 2e-5 above v."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((4, 3))
    a[1:3] = a[0] + 10 ** rng.uniform(-13, -6) * rng.standard_normal((2, 3))
    sigma2, N, present = 10 ** rng.uniform(-2, 2, 4), 10 ** rng.uniform(-40, -15), np.ones(4, dtype=bool)
    low, high = effective_noise.others_noise(a, noise_variance=sigma2, receiver_noise_variance=N, present=present)
    for k in range(4):
        assert low[k] <= _v(a, sigma2, N, present, k, digits=200) <= high[k]


def test_weights_err_by_no_more_than_the_law_says() -> None:
    """Sums of products of probabilities, in fractions: cells of the law of v over all sets."""
    p = [0.3, 0.77, 0.9, 0.123, 0.6, 0.81]
    one = system(devices=6, participation=p, noise_variance=0.2, weight=0.5)
    of_v = channel_privacy.law(one, Channel(looks=np.ones((1, 6, 1)) * (1 + 1e-9 * np.arange(6))[None, :, None]))
    exact = [Fraction(1)]
    for each in map(Fraction, p[1:]):
        exact = [x * y for x in exact for y in (1 - each, each)]
    weights = sorted(Fraction(w) for w in of_v.weights[0, 0] if w > 0)  # the rest is padding
    errors = [abs(w / x - 1) for w, x in zip(weights, sorted(exact), strict=True)]
    whole = abs(sum(map(Fraction, of_v.pooled(np.array([0]), 4)[2][0])) - 1)
    assert 0 < max(errors) <= Fraction(of_v.error) and whole <= Fraction(of_v.error)


def test_errors_of_inversion_are_looks() -> None:
    """V6: real codes and a phase error of .1 rad, so that the imaginary part of the one antenna is a look: 1.10 falls to .70."""
    rng = np.random.default_rng(0)
    phases = np.exp(0.1j * rng.standard_normal((4000, 12)))[..., None]
    given_: dict[str, object] = {"noise_variance": 0.1, "receiver_noise_variance": 0.001}
    table = np.concatenate([phases.real, phases.imag], axis=2)
    low, _ = effective_noise.others_noise(table, present=np.ones(12, dtype=bool), **given_)  # type: ignore[arg-type]
    assert float(np.median(low)) == pytest.approx(0.70, abs=0.03)
    one, _ = effective_noise.others_noise(np.ones((12, 1)), present=np.ones(12, dtype=bool), **given_)  # type: ignore[arg-type]
    assert one[0] == pytest.approx(1.101)


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_the_bound_for_the_law_of_the_fading_covers_it(adjacency: str) -> None:
    """Samples of 40 states against 5000: the bound covers at least as often as it says, epsilon of the sample does not."""
    one = system(participation=0.8 if adjacency == "replace" else 1.0, adjacency=adjacency, delta=1e-2)
    drawn = {"model": "complex", "antennas": 2, "fading": "rayleigh"}
    truth = float(channel_privacy.epsilon(one, Channel(**drawn, states=5_000, seed=7), device=0, observer="participants"))
    covered = plain = 0
    for seed in range(10):
        channel = Channel(**drawn, states=40, seed=1000 + seed)
        bound = channel_privacy.epsilon_of_fading(one, channel, confidence=0.8, observer="participants")
        own = channel_privacy.epsilon(one, channel, observer="participants")
        assert bound is not None and np.all(bound >= own)
        covered += bound[0] >= truth
        plain += own[0] >= truth
    assert covered >= 8 and plain <= 8


def test_the_bound_of_a_mean_is_above_that_of_clopper_and_pearson() -> None:
    """Of Bernoulli variables, whose exact bound is a quantile of a beta law; and it refutes what it should."""
    for n in (5, 200, 10_000):
        for k in (0, 1, n // 3, n - 1):
            found = float(channel_privacy._greatest_mean(np.array([k / n]), n, 0.05)[0])
            assert found >= stats.beta.ppf(0.95, k + 1, n - k)
            with mpmath.workdps(30):
                share, mean = mpmath.mpf(k) / n, mpmath.mpf(found)
                kl = (share * mpmath.log(share / mean) if k else 0) + (1 - share) * mpmath.log((1 - share) / (1 - mean))
                assert abs(n * kl / mpmath.log(20) - 1) < 1e-9


def test_the_law_of_the_fading_in_cases() -> None:
    rayleigh = {"model": "complex", "antennas": 2, "fading": "rayleigh", "states": 30}
    one, channel = system(), Channel(**rayleigh)
    assert channel_privacy.epsilon_of_fading(one, Channel(looks=np.ones((2, 3, 2)) * [1.0, 0.5])) is None
    np.testing.assert_array_equal(
        channel_privacy.epsilon_of_fading(one, Channel(antennas=3)), channel_privacy.epsilon(one, Channel(antennas=3))
    )
    absent = system(adjacency="absent")
    assert np.all(channel_privacy.epsilon_of_fading(absent, channel) == np.inf)
    seldom = channel_privacy.epsilon_of_fading(system(adjacency="absent", participation=1e-2, delta=5e-3), channel)
    assert seldom is not None and np.all(np.isfinite(seldom))  # .01 (1 - .05^(1/30)) is below delta
    with pytest.raises(ParameterError, match="confidence"):
        channel_privacy.epsilon_of_fading(one, channel, confidence=1.0)


@pytest.mark.parametrize(("coefficients", "noises"), [(-205, 0), (-205, 350), (205, -300), (0, 540), (0, -540)])
def test_others_noise_scales_with_powers_of_two(coefficients, noises):
    """v is the others' noise in the unit of the code: it has the unit of sigma^2, and of N over a squared coefficient."""
    rng = np.random.default_rng(3)
    a, variance = rng.standard_normal((4, 2)), rng.uniform(0.1, 2.0, 4)
    present = np.array([True, True, True, False])
    for N in (0.0, 0.3):
        ends = effective_noise.others_noise(a, noise_variance=variance, receiver_noise_variance=N, present=present)
        moved = effective_noise.others_noise(
            a * 2.0**coefficients,
            noise_variance=variance * 2.0**noises,
            receiver_noise_variance=N * 2.0 ** (noises + 2 * coefficients),
            present=present,
        )
        for end, other in zip(ends, moved, strict=True):
            assert np.array_equal(other, end * 2.0**noises)


def test_receiver_noise_far_above_the_coefficients():
    """One device at two looks: v = N / |a|^2, also where N |u|^2 would underflow."""
    for N in (1e104, 1e162, 1e250):
        low, high = effective_noise.others_noise(
            [[1.0, 0.5]], noise_variance=0.0, receiver_noise_variance=N, present=True
        )
        assert low[0] <= 0.8 * N <= high[0] <= low[0] * (1 + 1e-12)


@pytest.mark.parametrize("cells", [1, 16, 200])
def test_cells_of_a_law_lie_outside_of_it_and_keep_its_mass(cells):
    """Rows of unlike ranges, with zeros, infinite ends and atoms of weight 0: a decreasing mean is enclosed in each row."""
    rng = np.random.default_rng(cells)
    low = 10.0 ** (rng.uniform(-1, 1, (6, 700)) * np.array([0, 1, 5, 100, 2, 3])[:, None])
    low[4, :300], low[5, :200], low[2] = 0.0, np.inf, low[2, 0]
    high = low * rng.uniform(1, 1.5, low.shape)
    weights = rng.random(low.shape) * (rng.random(low.shape) < 0.7)
    weights /= np.sum(weights, axis=1, keepdims=True)
    least, greatest, mass = effective_noise._cells(low, high, weights, cells)
    assert least.shape == (6, cells) and np.allclose(np.sum(mass, axis=1), 1, rtol=1e-13)
    for threshold in (0.0, 1e-9, 0.3, 1.0, 3.0, 1e9):
        below = np.sum(np.where(low <= threshold, weights, 0), axis=1)
        assert np.all(np.sum(np.where(least <= threshold, mass, 0), axis=1) >= below - 1e-13)
        below = np.sum(np.where(high <= threshold, weights, 0), axis=1)
        assert np.all(np.sum(np.where(greatest <= threshold, mass, 0), axis=1) <= below + 1e-13)
