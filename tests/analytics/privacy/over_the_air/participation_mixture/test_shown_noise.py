"""Rounds of Gaussian releases whose noise is shown, against every sequence of noises in fifty digits."""

import itertools
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.systems import unlike

import airtight
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import rounds
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy
from airtight.analytics.privacy.over_the_air.participation_mixture import shown_noise
from airtight.analytics.privacy.over_the_air.participation_mixture.build import participations
from airtight.analytics.privacy.over_the_air.participation_mixture.shown_noise import Ratios, ShownNoise


def ratios(x, probabilities, *, infinite=0.0):
    """A law of exact values."""
    x, probabilities = np.array(x, dtype=float), np.array(probabilities, dtype=float)
    never = max(1 - float(np.sum(probabilities)) - infinite, 0.0)
    return Ratios(x, probabilities, 1 / x, never, infinite, 0.0, 0.0, 0.0, 1e-15, 1e-15)


def rounds_of(*laws):
    return ShownNoise(tuple((lambda negligible, law=law: law, count) for law, count in laws))


def gaussian_delta(epsilon, square):
    if square == 0:
        return mpmath.mpf(0)
    mu = mpmath.sqrt(square)
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def exact_law(laws):
    """The law of the sum of all ratios."""
    total = {mpmath.mpf(0): mpmath.mpf(1)}
    for law, count in laws:
        one = {mpmath.mpf(0): mpmath.mpf(law.never)}
        for x, p in zip(law.x.tolist(), law.probabilities.tolist(), strict=True):
            one[mpmath.mpf(x)] = one.get(mpmath.mpf(x), 0) + mpmath.mpf(p)
        for _ in range(count):
            following = {}
            for (a, p), (b, q) in itertools.product(total.items(), one.items()):
                following[a + b] = following.get(a + b, 0) + p * q
            total = following
    return total


def exact_delta(law, epsilon):
    return mpmath.fsum(p * gaussian_delta(mpmath.mpf(epsilon), square) for square, p in law.items())


squares = st.lists(st.floats(-2.4, 2.4).map(lambda power: 10**power), min_size=1, max_size=3, unique=True)


@given(
    x=squares, shares=st.lists(st.floats(1e-2, 1), min_size=4, max_size=4), count=st.integers(1, 4),
    epsilon=st.one_of(st.just(0.0), st.floats(-3, 2.5).map(lambda power: 10**power)), log_delta=st.floats(-40, -0.2),
)  # fmt: skip
@example(x=[1.0], shares=[1e-2, 1, 1, 1], count=2, epsilon=0.0, log_delta=-1.0)
@example(x=[4e-3, 4e3], shares=[1, 1e-6, 1, 1], count=3, epsilon=1.0, log_delta=-5.0)
@example(x=[1.0], shares=[1, 1, 1, 1], count=4, epsilon=1e-170, log_delta=-1.0)
@settings(max_examples=40, deadline=None)
def test_against_every_sequence(x, shares, count, epsilon, log_delta):
    """Both ends hold, and lie close together."""
    law = ratios(x, np.array(shares[: len(x)]) / sum(shares))
    curve, delta = rounds_of((law, count)), 10**log_delta
    with mpmath.workdps(50):
        whole = exact_law([(law, count)])
        low, high = (float(end[0]) for end in curve.delta_bracket(np.array([epsilon])))
        truth = exact_delta(whole, epsilon)
        assert low <= truth * (1 + mpmath.mpf("1e-14")) + mpmath.mpf("1e-320") and truth <= high * (1 + 1e-14)
        assert high - low <= 2e-3 * float(truth) + 1e-300
        low, high = (float(end[0]) for end in curve.epsilons(np.array([delta])))
        assert exact_delta(whole, high) <= delta * (1 + 1e-14)
        assert low == 0 or exact_delta(whole, low) >= delta * (1 - 1e-14)
        assert high - low <= 1e-3 * high


def test_rounds_that_differ():
    """Rounds of several laws, beside each other in either order."""
    laws = [(ratios([0.5, 2.0], [0.3, 0.2]), 2), (ratios([0.7], [0.9]), 3)]
    with mpmath.workdps(50):
        truth = exact_delta(exact_law(laws), 1.5)
    for order in (laws, laws[::-1]):
        low, high = rounds_of(*order).delta_bracket(np.array([1.5]))
        assert low[0] <= truth <= high[0] <= low[0] * 1.001


@given(
    x=squares, logs=st.lists(st.floats(-60, 0), min_size=3, max_size=3), count=st.integers(1, 4),
    epsilon=st.one_of(st.just(0.0), st.floats(-3, 2).map(lambda power: 10**power)),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_split_by_great_ratios_against_every_sequence(x, logs, count, epsilon):
    """Wherever it is made, not only where one rare ratio keeps the bounds apart."""
    probabilities = np.append(0.5, 10.0 ** np.array(logs) / 6)
    laws = [(ratios([1e-2, *x], probabilities[: len(x) + 1]), count), (ratios([0.3, 2.0], [0.5, probabilities[-1]]), 1)]
    with pytest.MonkeyPatch.context() as patch, mpmath.workdps(50):
        patch.setattr(shown_noise, "_APART", -1.0)
        low, high = (float(end[0]) for end in rounds_of(*laws).delta_bracket(np.array([epsilon])))
        truth = exact_delta(exact_law(laws), epsilon)
        assert low <= truth * (1 + mpmath.mpf("1e-14")) + mpmath.mpf("1e-320") and truth <= high * (1 + 1e-14)


def test_nothing_is_split_where_the_noise_is_known_from_a_grid(monkeypatch):
    """Its mean is kept over all values of the noise, not over those that make a ratio great: no proof covers a split."""
    law = replace(ratios([1e-4, 1e-2, 1.0], [0.9, 1e-10, 1e-20]), slack=0.1, spread=1e-3)
    monkeypatch.setattr(shown_noise, "_APART", -1.0)
    monkeypatch.setattr(shown_noise._Sums, "_parted", lambda each, epsilon: pytest.fail("split"))
    low, high = rounds_of((law, 2)).delta_bracket(np.array([0.1]))
    assert 0 <= low[0] < high[0] < 1


def test_two_great_ratios_are_counted_above_alone():
    """Their chance, which is always a small share of delta."""
    law, rare = ratios([1e-4, 1.0], [0.9, 1e-10]), 1e-10
    parts, pairs = rounds_of((law, 3))._sums(0.0, np.inf)._parted(2.0)
    assert len(parts) == 2 and 3 * rare**2 - 2 * rare**3 <= pairs <= 1.6 * 3 * rare**2


@pytest.mark.parametrize("epsilon", [0.03, 0.1, 0.3])
def test_a_rare_ratio_in_a_valley_of_the_tilted_law(epsilon):
    """One round in which hardly any other device sends makes delta; bounds of epsilon were a fifth apart, of delta e^17."""
    x = 1e-6 * 1.6 ** np.arange(30)
    law = ratios(x, 0.7 * 10.0 ** -(7.0 * np.sqrt(np.arange(30)) + 1e-3))
    curve = rounds_of((law, 2))
    with mpmath.workdps(50):
        truth = exact_delta(exact_law([(law, 2)]), epsilon)
    low, high = (float(end[0]) for end in curve.delta_bracket(np.array([epsilon])))
    assert low <= truth <= high <= low * 1.003
    sums = curve._sums(0.0, np.inf)
    assert sums._refined(epsilon, sums.tilt_at(epsilon))[1] > 100 * truth
    low, high = (float(end[0]) for end in curve.epsilons(np.array([float(truth)])))
    assert low <= epsilon * (1 + 1e-12) and epsilon * (1 - 1e-12) <= high <= low * 1.001


def _every_set(system):
    """Squared ratios and probabilities of device 0 for every set of the others."""
    others = system.devices - 1
    sets = np.arange(2**others)[:, None] >> np.arange(others) & 1
    p, noise = system.participation[1:], system.received_noise_variance
    weights = np.prod(np.where(sets, p, 1 - p), axis=1) * system.participation[0]
    return system.sensitivity[0] ** 2 / (system.receiver_noise_variance + noise[0] + sets @ noise[1:]), weights


@pytest.mark.parametrize("cells", [100, 150, 200])
@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_a_law_of_the_noise_on_a_grid_holds_every_pair_of_sets(cells, adjacency):
    """Slack and spread of the grid are counted: with few cells both ends are apart, and hold what every set gives."""
    system = unlike(10, 9, adjacency).normalised()
    (part,) = participations(system, np.array([0]), 0.0, cells=cells)
    assert part.spread > 0
    query = rounds.query(system, 0, "participants")
    query._parts[0.0, query._cells] = query._parts[1e-25, query._cells] = part
    assert query.closed
    curve, _ = query.composed(((query, 2),))
    x, weights = _every_set(system)
    never = 1 - system.participation[0]
    for epsilon in (0.0, 1e-3, 0.3, 1.0, 3.0):
        once = np.exp(gaussian.log_curve(np.full(x.size, epsilon), np.sqrt(x))[0]) @ weights
        sums, pairs = np.add.outer(x, x).ravel(), np.multiply.outer(weights, weights).ravel()
        twice = np.exp(gaussian.log_curve(np.full(sums.size, epsilon), np.sqrt(sums))[0]) @ pairs
        exact = 2 * never * once + twice
        low, high = (float(end[0]) for end in curve.delta_bracket(np.array([epsilon])))
        assert low <= exact * (1 + 1e-11) and exact * (1 - 1e-11) <= high
        assert cells < 200 or exact < 1e-3 or high <= 1.05 * low


def test_noise_that_is_less_than_listed_leaves_the_lower_end_below():
    """A sure, great ratio of noise 1, listed as noise .9 and 1.1."""
    u, square = np.array([0.9, 1.1]), 55000.0
    listed = Ratios(square / u, np.array([0.05, 0.05]), u, 0.9, 0.0, 0.0, 0.2, 0.01, 1e-15, 1e-15)
    truth = ratios([square], [0.1])
    with mpmath.workdps(50):
        law = exact_law([(truth, 2)])
        for epsilon in (100.0, 27000.0, 30970.0, 60000.0):
            low, high = rounds_of((listed, 2)).delta_bracket(np.array([epsilon]))
            assert low[0] <= exact_delta(law, epsilon) <= high[0]


def test_what_the_grid_moves_is_counted(monkeypatch):
    """With the error of the grid forgotten, the bounds on a coarse grid lie on one side of the truth."""
    law = ratios([1.3], [0.5])
    with mpmath.workdps(50):
        truth = exact_delta(exact_law([(law, 2)]), 1.0)
    monkeypatch.setattr(shown_noise, "_SHARE", 1.5)
    monkeypatch.setattr(shown_noise, "_MOST_TERMS", 0)
    low, high = rounds_of((law, 2)).delta_bracket(np.array([1.0]))
    assert low[0] <= truth <= high[0] and high[0] > 1.005 * low[0]
    monkeypatch.setattr(shown_noise._Composed, "_moved", lambda self, epsilon, mean: (0.0, 0.0))
    low, high = rounds_of((law, 2)).delta_bracket(np.array([1.0]))
    assert not low[0] <= truth <= high[0]


def test_always_the_same_noise_is_one_gaussian():
    law = ratios([0.25], [1.0])
    low, high = rounds_of((law, 16)).epsilons(np.array([1e-5, 1e-300]))
    exact = gaussian.epsilon(np.array([1e-5, 1e-300]), sensitivity=2.0, sigma=1.0)
    assert np.all((low <= exact) & (exact <= high * (1 + 1e-12)) & (high - low <= 1e-4 * high))


def test_no_noise_at_all_is_an_infinite_loss():
    law = ratios([1.0], [0.25], infinite=0.25)
    low, high = rounds_of((law, 2)).delta_bracket(np.array([1.0, 500.0, np.inf]))
    assert np.all(low <= high) and low[2] == pytest.approx(1 - 0.75**2) and high[1] == pytest.approx(1 - 0.75**2)
    low, high = rounds_of((law, 2)).epsilons(np.array([0.1]))
    assert low[0] == high[0] == np.inf


def test_many_points_are_read_from_a_band():
    curve = rounds_of((ratios([0.1, 0.4], [0.4, 0.5]), 20))
    deltas = np.geomspace(1e-9, 0.3, 500)
    low, high = curve.epsilons(deltas)
    few_low, few_high = (np.array(end) for end in curve.epsilons(deltas[::60]))
    assert np.all(low[::60] <= few_high) and np.all(few_low <= high[::60]) and np.all(high - low <= 2e-3 * high)
    epsilons = np.linspace(0.0, 8.0, 400)
    low, high = curve.delta_bracket(epsilons)
    few_low, few_high = curve.delta_bracket(epsilons[::50])
    assert np.all(low[::50] <= few_high) and np.all(few_low <= high[::50]) and np.all(np.diff(high) <= 0)


@given(count=st.integers(2, 10**5), p=st.floats(1e-3, 1), scale=st.floats(-9, 2))
@settings(max_examples=15, deadline=None)
def test_more_rounds_tell_more(count, p, scale):
    """Also for many rounds, rare or weak ones."""
    law = ratios([10**scale], [p])
    (low, high), (more_low, more_high) = (
        (float(end[0]) for end in rounds_of((law, n)).epsilons(np.array([1e-6]))) for n in (count, 2 * count)
    )
    assert low <= high <= more_high * (1 + 1e-3) and low <= more_low * (1 + 1e-3) and high - low <= 1e-3 * high


def test_a_system_over_rounds_composes_with_other_releases():
    system = unlike(10, 12)
    one = airtight.curve(system, device=0, observer="participants")
    both = airtight.compose([one, airtight.gaussian(0.5)], [5, 1])
    low, high = both.bracket(delta=1e-5)
    assert one.compose(5).epsilon(1e-5) <= high and high - low <= 1e-3 * high
    assert airtight.PrivacyCurve.from_json(one.compose(5).to_json()).bracket(delta=1e-5) == one.compose(5).bracket(delta=1e-5)
    louder = airtight.curve(replace(system, receiver_noise_variance=1.0), device=0, observer="participants")
    mixed = airtight.compose([one, louder], [3, 2]).bracket(delta=1e-5)
    assert louder.compose(5).epsilon(1e-5) <= mixed[1] and mixed[0] <= one.compose(5).epsilon(1e-5) and mixed.reached


SYSTEM = airtight.InferenceSystem(
    devices=12, participation=0.9, noise_variance=0.1, weight=1 / 12, clip=1.0, alignment=1.0, receiver_noise_variance=0.1,
    dimension=784, delta=1e-5, adjacency="silent",
)  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ({}, 2), ({}, 10**6), ({"noise_variance": 1e6}, 2), ({"clip": 1e-80}, 10), ({"clip": 1e80}, 2),
        ({"participation": [1e-10, *[0.9] * 11]}, 2), ({"receiver_noise_variance": 1e-12}, 50),
        ({"noise_variance": np.geomspace(1e-6, 1, 12), "receiver_noise_variance": 1e-12}, 100),
        ({"participation": [0.1, *[0.0] * 11], "noise_variance": 0.0, "receiver_noise_variance": 0.0}, 3),
    ],
)  # fmt: skip
def test_every_system_and_place_has_an_answer(changed, count):
    """Laws that are not regular are composed as any other release."""
    curve = airtight.curve(SYSTEM.replace(**changed), observer="participants").compose(count)
    low, high = curve.bracket(epsilon=[0.0, 1e-170, 1.0, 1e5, 1e308, np.inf])
    assert np.all((low >= 0) & (low <= high) & (high <= 1)) and np.all(np.diff(high) <= 1e-3)
    low, high = curve.bracket(delta=[1e-300, 1e-20, 1e-5, 0.9, 1.0])
    assert np.all((low >= 0) & (low <= high)) and low[-1] == high[-1] == 0


def test_many_places_far_out_and_where_nothing_is_left():
    curve = airtight.curve(SYSTEM, observer="participants").compose(50)
    far = curve.delta(np.geomspace(1e-3, 1e5, 200))
    assert np.all(np.diff(far) <= 0) and far[0] > 0.1 and far[-1] < 1e-300
    loud = airtight.curve(SYSTEM.replace(noise_variance=1e6), observer="participants").compose(2)
    assert np.all(loud.epsilon(np.linspace(0.5, 0.9, 97)) == 0)


def test_a_device_that_never_sends_tells_nothing_over_rounds():
    never = unlike(3, 0, adjacency="silent").replace(participation=[0.0, 0.5, 1.0], rounds=2)
    assert airtight.epsilon(never, observer="participants")[0] == 0
    assert airtight.delta(never, 0.0, observer="participants")[0] <= 1e-300


def test_rounds_over_a_channel_are_no_sums_of_known_ratios():
    """There the noise is known between two bounds only."""
    channel = airtight.Channel(fading="rayleigh", antennas=3, states=20)
    query = channel_privacy.query(unlike(5, 1).normalised(), channel, 0, "participants")
    assert isinstance(query, rounds.Query) and not query.closed


def test_what_a_law_on_a_grid_overstates_is_taken_off():
    """Noise 1 that is listed as .8 and 1.2 raises 1 / u; and greater noise may have been moved to the greatest that is kept."""
    u, squares_of_one = np.array([0.8, 1.2]), ratios([0.01], [0.5])
    spread = Ratios(0.01 / u, np.array([0.25, 0.25]), u, 0.5, 0.0, 0.0, 0.2, 0.04, 1e-15, 1e-15)
    moved = Ratios(np.array([1.0]), np.array([0.49]), np.ones(1), 0.5, 0.0, 0.01, 0.0, 0.0, 1e-15, 1e-15)
    with mpmath.workdps(50):
        for listed, truth in ((spread, squares_of_one), (moved, ratios([1e-6, 1.0], [0.02, 0.48]))):
            for epsilon in (0.0, 0.1, 1.0):
                low, high = rounds_of((listed, 2)).delta_bracket(np.array([epsilon]))
                assert low[0] <= exact_delta(exact_law([(truth, 2)]), epsilon) <= high[0]
