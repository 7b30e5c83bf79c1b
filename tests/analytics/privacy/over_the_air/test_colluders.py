"""A server with partners: named colluders against densities and smaller systems, any m of them against enumeration."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from airtight.analytics.checks import ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import amplification, colluders, rounds, system_privacy
from airtight.analytics.privacy.over_the_air.participation_mixture import signal_lower_bound

OBSERVERS, ADJACENCIES = ("participants", "others", "signal"), ("absent", "silent", "replace")


def made(**values):
    given = {"devices": 5, "participation": [0.6, 0.9, 0.8, 0.7, 0.5], "noise_variance": [0.4, 1.2, 0.8, 0.6, 0.3], "weight": 1.0,
             "clip": 1.0, "alignment": 1.0, "receiver_noise_variance": 0.2, "dimension": 8, "delta": 1e-5,
             "adjacency": "silent"}  # fmt: skip
    return InferenceSystem(**given | values)


def without(system, named):
    """The system of the devices that are not named."""
    kept = [k for k in range(system.devices) if k not in named]
    columns = {name: getattr(system, name)[kept] for name in ("participation", "noise_variance", "weight", "clip")}
    return system.derived(devices=len(kept), colluding=0, **columns), kept


def over_sets(system, device, ask):
    """Greatest lower and greatest upper end over all sets of colluders, one after the other."""
    others = [k for k in range(system.devices) if k != device]
    named = combinations(others, system.colluding)
    return np.max([ask(system.replace(colluding=list(one))) for one in named], axis=0)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("observer", OBSERVERS)
def test_named_colluders_leave_the_system_without_them(adjacency, observer):
    for idle in (False, True):
        system = made(adjacency=adjacency, observer=observer, idle_noise=idle, dimension=1, colluding=[1, 4])
        smaller, kept = without(system, (1, 4))
        asks = (system_privacy.epsilon_bracket, lambda s: system_privacy.delta_bracket(s, 1.0))
        for ask in asks[: 1 if observer == "signal" else 2]:
            ends, expected = ask(system), ask(smaller)
            for end, of_smaller, nothing in zip(ends, expected, (0.0, np.inf if ask is asks[0] else 1.0), strict=True):
                np.testing.assert_allclose(end[kept], of_smaller, rtol=1e-7)
                assert np.all(end[[1, 4]] == nothing)


def test_named_colluders_leave_the_rounds_of_the_system_without_them():
    system = made(observer="participants", rounds=3, colluding=[1, 3, 4])
    smaller, kept = without(system, (1, 3, 4))
    np.testing.assert_allclose(system_privacy.epsilon(system)[kept], system_privacy.epsilon(smaller), rtol=1e-6)


def test_named_colluders_have_the_delta_of_the_joint_density_of_signal_and_their_noise():
    p, d, s, colluder, v, eps, N = 0.4, 1.0, 0.5, 0.7, 1.2, 0.5, 0.3
    y, n = np.linspace(-14, 14, 2801)[:, None], np.linspace(-6, 6, 601)[None, :]

    def density(mean, variance):  # of (y, n): the others' roll is hidden, the colluder sends n
        given = sum(q * stats.norm.pdf(y - n, mean, np.sqrt(N + variance + w)) for q, w in ((0.6, v), (0.4, 0.0)))
        return given * stats.norm.pdf(n, 0, np.sqrt(colluder))

    absent = density(0.0, 0.0)
    present = p * density(d, s) + (1 - p) * absent
    neighbour = p * density(0.0, s) + (1 - p) * absent
    cell = 0.01 * 0.02
    expected = max(np.sum(np.maximum(a - np.exp(eps) * b, 0)) for a, b in ((present, neighbour), (neighbour, present))) * cell
    system = made(devices=3, participation=[p, 0.6, 1.0], noise_variance=[s, v, colluder], receiver_noise_variance=N,
                  dimension=1, observer="signal", colluding=[2])  # fmt: skip
    part = rounds.query(system, 0, "others")._part(0.0)  # of the devices that do not collude, who send codes of 0 here
    assert signal_lower_bound.SignalTest.of(part, 0).delta(eps, 1e-9) == pytest.approx(expected, rel=1e-5)
    lower, upper = system_privacy.delta_bracket(system, eps, device=0)
    assert expected * (1 - 1e-5) < lower < upper


def test_any_colluders_are_the_worst_of_all_sets():
    rng = np.random.default_rng(7)
    for case in range(18):
        K = int(rng.integers(3, 6))
        m = int(rng.integers(1, K))
        noise = rng.choice([0.0, 0.1, 0.5, 2.0, 9.0], K) if case % 2 else 10 ** rng.uniform(-2, 1, K)
        p = rng.choice([0.0, 0.1, 0.6, 1.0], K) if case % 3 else rng.random(K)
        system = made(
            devices=K, participation=p, noise_variance=noise, colluding=m, delta=1e-3, observer=OBSERVERS[case % 3],
            adjacency=ADJACENCIES[case // 3 % 3], idle_noise=case % 8 == 7, dimension=int(rng.choice([1, 8])),
        )  # fmt: skip
        for ask in (system_privacy.epsilon_bracket, lambda s, device: system_privacy.delta_bracket(s, 0.7, device=device)):
            if case % 3 == 2 and ask is not system_privacy.epsilon_bracket:  # delta against `signal` takes seconds
                continue
            (lower, upper), (least, most) = ask(system, device=0), over_sets(system, 0, lambda s, ask=ask: ask(s, device=0))
            assert lower <= most * (1 + 1e-9) and upper >= least * (1 - 1e-9)
            np.testing.assert_allclose(upper, most, rtol=1e-8)
        assert colluders.worst(system, 0, m).exact


def test_any_colluders_lie_between_index_sets_and_upper_ends_where_sets_are_not_listed(monkeypatch):
    monkeypatch.setattr(colluders, "_MOST_SETS", 0)
    rng = np.random.default_rng(11)
    for adjacency, observer in (("silent", "participants"), ("absent", "others"), ("replace", "others")):
        system = made(devices=6, participation=rng.uniform(0.1, 1, 6), noise_variance=10 ** rng.uniform(-1, 0.5, 6), colluding=2,
                      adjacency=adjacency, observer=observer, delta=1e-3, dimension=1)  # fmt: skip
        assert not colluders.worst(system, 0, 2).exact
        lower, upper = system_privacy.epsilon_bracket(system, device=0)
        least, most = over_sets(system, 0, lambda s: system_privacy.epsilon_bracket(s, device=0))
        assert least * 0.98 < lower <= most and least <= upper < 1.15 * most
        low, high = system_privacy.delta_bracket(system, most, device=0)
        assert low <= 1e-3 * (1 + 1e-9) and 1e-3 * (1 - 1e-6) <= high < 1.5e-3


def test_phantom_and_exponentials_are_above_every_set_and_not_far():
    rng = np.random.default_rng(23)
    for adjacency, observer in (("silent", "participants"), ("replace", "participants"), ("absent", "others")) * 4:
        system = made(devices=6, participation=rng.choice([0.2, 0.5, 0.9, 1.0], 6), noise_variance=10 ** rng.uniform(-1, 0.5, 6),
                      colluding=int(rng.integers(1, 4)), adjacency=adjacency, observer=observer, dimension=1)  # fmt: skip
        m, k, epsilon = system.colluding, int(rng.integers(6)), float(rng.choice([0.3, 1.0, 3.0]))
        others = [j for j in range(6) if j != k]
        named = (system.replace(colluding=list(j)) for j in combinations(others, m))
        worst = max(float(system_privacy.delta(one, epsilon, device=k)) for one in named)
        bound = colluders.Exponentials.of(system.one_round, k, m, Observer(observer), epsilon)
        assert worst * (1 - 1e-9) <= bound.delta(epsilon, worst) < 1.6 * worst
        assert worst * (1 - 1e-9) <= system_privacy.delta(colluders.phantom(system, k, m), epsilon, device=0) < 5 * worst


def test_listed_sets_are_the_upper_sets():
    system = made(devices=4, participation=[0.5, 0.8, 1.0, 0.2], noise_variance=[0.1, 1.5, 1.0, 0.1])
    assert colluders.worst(system, 0, 1) == colluders.Worst(((1,), (2,)), True)
    assert colluders.worst(system, 0, 2) == colluders.Worst(((1, 2),), True)
    assert colluders.worst(system.replace(participation=0.5), 0, 2).sets == ((1, 2),)


def test_noises_that_differ_by_all_that_doubles_hold_have_both_ends(monkeypatch):
    monkeypatch.setattr(colluders, "_MOST_SETS", 0)
    for adjacency in ("silent", "absent"):
        system = made(devices=4, participation=[0.5, 0.1, 0.9, 0.5], noise_variance=[1e-200, 1e200, 1.0, 1e-3], colluding=1,
                      adjacency=adjacency)  # fmt: skip
        lower, upper = system_privacy.epsilon_bracket(system)
        each = [system_privacy.epsilon_bracket(system.replace(colluding=[j])) for j in range(4)]
        for k in range(4):
            worst = max(float(ends.lower[k]) for j, ends in enumerate(each) if j != k)
            assert worst <= upper[k] and lower[k] <= upper[k]


def test_sets_of_a_thousand_devices_without_order_are_bounded_within_a_percent():
    j = np.arange(999)
    noise = np.append(0.1, 0.01 * np.round(10 ** (1.5 * j / 998)))
    system = made(devices=1000, participation=np.append(1.0, 0.95 - 0.85 * j / 998), noise_variance=noise, clip=5.0,
                  receiver_noise_variance=0.1, dimension=1, colluding=100)  # fmt: skip
    upper = float(system_privacy.epsilon(system, device=0))
    loudest, frequent = np.argsort(-noise[1:], kind="stable")[:100] + 1, np.arange(1, 101)
    for named in (loudest, frequent):
        assert system_privacy.epsilon_bracket(system.replace(colluding=named), device=0).lower < 4.5274 < upper < 4.56


def test_no_order_exists_without_an_alike_one():
    system = made(devices=3, participation=[1.0, 0.8, 1.0], noise_variance=[0.5, 1.5, 1.0], receiver_noise_variance=0.5,
                  dimension=1)  # fmt: skip

    def mixture(eps, p, v):
        return p * gaussian.delta(eps, sensitivity=1.0, sigma=np.sqrt(1 + v)) + (1 - p) * gaussian.delta(
            eps, sensitivity=1.0, sigma=1.0
        )

    for eps, loud, frequent in ((0.2, 0.207862, 0.206960), (1.0, 0.0396326, 0.0449242)):
        assert mixture(eps, 1.0, 1.0) == pytest.approx(loud, rel=1e-5)  # the loud device 1 colludes
        assert mixture(eps, 0.8, 1.5) == pytest.approx(frequent, rel=1e-5)
        worst = system_privacy.delta(system.replace(colluding=1), eps, device=0)
        assert worst == pytest.approx(max(loud, frequent), rel=1e-5)


def test_the_worst_pair_leaves_out_the_worst_single_device():
    system = made(devices=4, participation=[1.0, 0.8, 0.9, 1.0], noise_variance=[0.5, 6, 4, 3], receiver_noise_variance=0.5,
                  dimension=1)  # fmt: skip
    deltas = [float(system_privacy.delta(system.replace(colluding=m), 0.5, device=0)) for m in ([1], 1, [1, 3], [2, 3], 2)]
    np.testing.assert_allclose(deltas, [0.0196027, 0.0196027, 0.0575011, 0.0643106, 0.0643106], rtol=1e-5)


def test_no_colluders_change_no_bit_and_all_others_leave_the_own_noise():
    for adjacency in ADJACENCIES:
        system = made(adjacency=adjacency)
        for none in (0, [], ()):
            assert np.array_equal(system_privacy.epsilon(system.replace(colluding=none)), system_privacy.epsilon(system))
        everyone = system_privacy.epsilon(system.replace(colluding=4))
        for k in range(5):
            alone = system.derived(
                devices=1, **{n: getattr(system, n)[k : k + 1] for n in ("participation", "noise_variance", "weight", "clip")}
            )
            assert everyone[k] == pytest.approx(float(system_privacy.epsilon(alone)[0]), rel=1e-8)


def test_any_colluders_over_rounds_are_the_worst_in_every_round():
    system = made(rounds=10, observer="participants", colluding=2)
    lower, upper = system_privacy.epsilon_bracket(system, device=0)
    assert lower <= 15.177533 <= upper < lower * 1.001  # the law of the sum of mu^2 over 10 rounds, enumerated
    assert system_privacy.curve(system, device=0).epsilon(1e-5) == pytest.approx(upper, rel=1e-3)


def test_privacy_falls_with_every_colluder():
    for observer in OBSERVERS:
        epsilons = [system_privacy.epsilon(made(observer=observer, colluding=m)) for m in range(5)]
        assert np.all(np.diff(epsilons, axis=0) > 0)


def test_colluders_over_a_channel_are_devices_without_noise_in_the_same_states():
    looks = np.random.default_rng(3).standard_normal((4, 5, 2))
    system = made(participation=1.0, channel=Channel(looks=looks), colluding=[1, 4])
    expected, kept = without(made(participation=1.0), (1, 4))
    expected = expected.derived(channel=Channel(looks=looks[:, kept]))
    np.testing.assert_allclose(
        system_privacy.epsilon(system)[kept], system_privacy.epsilon(expected), rtol=1e-9
    )
    drawn = made(channel={"fading": "rayleigh", "max_power": 10.0, "antennas": 2, "states": 20}, participation=None)
    honest = [0, 2, 3]
    before, after = (system_privacy.epsilon(drawn.replace(colluding=named)) for named in (0, [1, 4]))
    assert np.array_equal(drawn.participation, drawn.replace(colluding=[1, 4]).participation)
    assert np.all(after[honest] > before[honest]) and np.all(np.isinf(after[[1, 4]]))


@pytest.mark.parametrize("eavesdropper", [False, True])
@pytest.mark.parametrize(("devices", "m", "exact"), [(5, 0, True), (5, 2, True), (5, 4, True), (9, 3, False)])
def test_any_colluders_over_several_looks_against_all_sets(devices, m, exact, eavesdropper):
    rng = np.random.default_rng(devices + m)
    system = InferenceSystem(
        devices=devices, participation=rng.choice([0.5, 0.9, 1.0], devices), noise_variance=rng.uniform(0.1, 1.0, devices),
        weight=1.0, clip=1.0, alignment=1.0, receiver_noise_variance=0.3, dimension=8, delta=1e-3, adjacency="silent",
        channel={"fading": "rayleigh", "antennas": 2, "states": 3, "eavesdropper": {"antennas": 2}},
    )  # fmt: skip
    k = 1
    sets = combinations([j for j in range(devices) if j != k], m)
    each = [
        system_privacy.epsilon(system.replace(colluding=list(J)), device=k, eavesdropper=eavesdropper) for J in sets
    ]
    found = system_privacy.epsilon_bracket(system.replace(colluding=m), device=k, eavesdropper=eavesdropper)
    upper = system_privacy.epsilon(system.replace(colluding=m), device=k, eavesdropper=eavesdropper)
    assert found.lower <= max(each) <= min(found.upper, upper) * (1 + 1e-12)
    if exact:
        assert found.upper == pytest.approx(max(each), rel=1e-9) and found.lower == pytest.approx(max(each), rel=1e-3)
    everybody = system_privacy.epsilon(
        system.replace(colluding=[j for j in range(devices) if j != k]), device=k, eavesdropper=eavesdropper
    )
    assert found.upper <= everybody * (1 + 1e-12)


def test_the_covers_hold_every_set_of_so_many():
    rng = np.random.default_rng(4)
    for devices, m in ((10, 2), (12, 3), (13, 7), (40, 5)):
        system = made(
            devices=devices, participation=rng.uniform(0.3, 0.9, devices), noise_variance=rng.uniform(0, 1, devices), weight=1.0
        )
        found = colluders.worst_of_looks(system, 0, m, rng.uniform(0.1, 3, devices))
        few = devices <= 17  # of more random devices the law of each set takes long: one for all devices, of a server alone
        assert not found.exact and (all(len(J) == m and 0 not in J for J in found.sets) if few else found.sets == ((),))
        for _ in range(50):
            J = set((1 + rng.permutation(devices - 1)[:m]).tolist())
            assert any(set(cover) >= J for cover in found.covers)


def test_any_colluders_over_a_channel_of_one_look_are_those_without_it():
    system = made(colluding=2)
    one_look = system_privacy.epsilon(system.replace(channel={"fading": "rayleigh"}))
    assert np.array_equal(one_look, system_privacy.epsilon(system))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, r"colluding = 5: must be .*\[0, 4\]"),
        (-1, "colluding = -1: must be"),
        (1.5, "colluding = 1.5: must be"),
        (True, "colluding = True: must be"),
        ("kitchen", "colluding = 'kitchen': must be"),
        (["kitchen"], "colluding"),
        ([5], r"colluding\[0\] = 5: must be .*\[0, 4\]"),
        ([1, 1], r"colluding = \[1, 1\]: must be a list of devices, each once"),
        ([[1], [2]], "each once"),
        ([0, 1, 2, 3, 4], "such that a device is left to protect"),
        (None, "colluding: missing; must be"),
    ],
)  # fmt: skip
def test_colluders_that_cannot_be_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        made(colluding=given)


def test_what_counts_no_colluders_refuses_them():
    several_sets = made(devices=3, participation=[1.0, 0.8, 1.0], noise_variance=[0.5, 1.5, 1.0], colluding=1)
    for refused, message in (
        (lambda: made(colluding=2).normalised(), "this counts no unnamed colluders"),
        (lambda: amplification.published(made(colluding=2)), "this counts no colluders"),
        (lambda: amplification.proven(made(colluding=[2])), "this counts no colluders"),
        (lambda: system_privacy.curve(several_sets, device=0), "for a curve, as no one set"),
        (lambda: system_privacy.curve(made(colluding=[2]), device=2), "device = 2: must be a device that does not collude"),
    ):
        with pytest.raises(ParameterError, match=message):
            refused()


def test_colluders_are_part_of_the_system():
    system = made(colluding=[4, 1])
    assert system.colluding == (1, 4) and InferenceSystem(**system.to_dict()) == system != made()
    assert hash(system) == hash(made(colluding=[1, 4]))
    assert list(system.partners) == [False, True, False, False, True] and not np.any(made(colluding=2).partners)


def crowd(silent_noise, noise, rounds=1):
    """Twelve devices whose noise and probability are in opposite orders, and others that send without noise."""
    j = np.arange(12)
    return InferenceSystem(
        devices=13 + silent_noise, participation=[1.0, *(0.97 - 0.01 * j), *([0.9] * silent_noise)],
        noise_variance=[noise, *(1 + 0.2 * j), *([0.0] * silent_noise)], weight=1.0, clip=1.0, alignment=1.0,
        receiver_noise_variance=noise, dimension=1, delta=1e-5, adjacency="silent", colluding=3, rounds=rounds,
    )  # fmt: skip


@pytest.mark.parametrize(("noise", "rounds"), [(0.1, 5), (0.0, 1)])
def test_who_adds_no_noise_takes_the_place_of_no_honest_device(noise, rounds):
    few, many = (system_privacy.epsilon_bracket(crowd(z, noise, rounds), device=0) for z in (0, 9))
    assert few.lower <= many.upper < np.inf and many.upper == pytest.approx(few.upper, rel=2e-3)


def test_an_estimate_of_the_phantom_is_called_one():
    """Its law has more values than that of any set: it pairs probabilities and noises anew."""
    noise = [40, 32, 32, 24, 24, 16, 16, 8, 1, 1.5, 2.25, 2.75, 3.375, 3.625, 4.125, 4.375]
    system = InferenceSystem(
        devices=17, participation=[0.5, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, *([1.0] * 8)], noise_variance=[0, *noise],
        weight=1.0, clip=1.0, alignment=1.0, receiver_noise_variance=0.125, dimension=1, delta=1e-5, adjacency="silent",
        observer="others", colluding=6,
    )  # fmt: skip
    assert not system_privacy.estimated(system.replace(colluding=0)) and system_privacy.estimated(system)


def test_noises_of_any_size_rank():
    system = InferenceSystem(
        devices=41, participation=np.linspace(0.9, 0.1, 41), noise_variance=10 ** np.linspace(-309, 1, 41), weight=1.0, clip=1.0,
        alignment=1.0, receiver_noise_variance=1.0, dimension=1, delta=1e-5, adjacency="silent",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert colluders.worst(system, 0, 3).sets
