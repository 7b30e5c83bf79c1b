"""Gauss rules of partial sums of the noise: beside every sum, and the places that their bounds have to cover."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from support.systems import unlike

from airtight.analytics.privacy.over_the_air import rounds
from airtight.analytics.privacy.over_the_air.participation_mixture import (
    complex_noise,
    evaluate,
    gauss_rule,
    hidden_divergence,
    partial_sums,
)
from airtight.analytics.privacy.over_the_air.participation_mixture.complex_noise import AnalyticBound


def every_sum(p, noise, receiver):
    """All values of the noise, with their probabilities."""
    values, weights = np.array([receiver]), np.ones(1)
    for q, x in zip(p, noise, strict=True):
        values, weights = np.append(values, values + x), np.append(weights * (1 - q), weights * q)
    return values, weights


def random_devices(seed, devices):
    random = np.random.default_rng(seed)
    return random.uniform(0.05, 0.95, devices), 10 ** random.uniform(-2, 0, devices), 10 ** random.uniform(-2, 0)


@pytest.fixture
def few_values(monkeypatch):
    monkeypatch.setattr(partial_sums, "_MOST_VALUES", 128)


class Power:
    """v^-k, which is analytic, with its bound in an ellipse: its greatest modulus is that at the least one of v."""

    def __init__(self, k):
        self.k = k

    def on_pieces(self, low, high, offset, log_slight):
        half = (high - low) / 2
        rho = complex_noise.opened(half, 0.2)
        across = half * (rho + 1 / rho) / 2
        return AnalyticBound(rho, -self.k * ((low + high) / 2 - across), np.full(low.shape, -np.inf))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(9, 14), st.sampled_from([0.5, 3.0, 20.0]))
def test_the_error_of_a_mean_is_within_its_bound(seed, devices, k):
    p, noise, receiver = random_devices(seed, devices)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partial_sums, "_MOST_VALUES", 128)
        values, weights, replaced, _ = partial_sums.law(p, noise, np.ones(devices, dtype=int), receiver, 0.45)
    every, their_weights = every_sum(p, noise, receiver)
    truth = their_weights @ every**-k
    bound = np.exp(float(replaced.log_remainder(Power(k), np.full(1, -40.0))[0]))
    assert values.size < every.size / 2 or devices < 11
    assert abs(weights @ values**-k - truth) <= bound + 1e-13 * truth
    assert bound < 1e-4 * truth or k > 3
    np.testing.assert_allclose([weights.sum(), weights @ values], [1, receiver + p @ noise], rtol=1e-12)
    assert np.all(np.diff(values) >= 0) and np.all(weights > 0)


def test_devices_alike_and_those_that_always_or_never_send(monkeypatch):
    p, noise, count = np.array([0.3, 1.0, 0.0, 0.7, 0.4]), np.array([0.1, 0.2, 5.0, 0.31, 0.257]), np.array([30, 2, 1, 5, 30])
    every, their_weights, nothing, _ = partial_sums.law(p, noise, count, 0.05, 0.45)
    monkeypatch.setattr(partial_sums, "_MOST_VALUES", 1024)
    values, weights, replaced, _ = partial_sums.law(p, noise, count, 0.05, 0.45)
    assert every.size > 5000 > values.size and replaced.low.size and not nothing.low.size
    assert values[0] == pytest.approx(0.45) and np.all(np.diff(values) > 0)
    for k in (0.5, 3.0):
        assert weights @ values**-k == pytest.approx(their_weights @ every**-k, rel=1e-12)


def test_few_devices_are_summed():
    p, noise, receiver = random_devices(3, 8)
    values, weights, replaced, _ = partial_sums.law(p, noise, np.ones(8, dtype=int), receiver, 0.45)
    order = np.argsort(every_sum(p, noise, receiver)[0])
    for one, other in zip((values, weights), every_sum(p, noise, receiver), strict=True):
        np.testing.assert_allclose(one, other[order], rtol=1e-13)
    assert replaced.low.size == 0 and np.isneginf(replaced.log_remainder(Power(1.0), np.zeros(3))).all()


def test_too_many_values_and_too_wide_pieces_have_no_law():
    many = np.array([9000, 9000])
    assert partial_sums.law(np.full(2, 0.5), np.array([0.1, 0.2]), many, 0.1, 0.45) is None
    decades = 10.0 ** np.linspace(-30, 0, 30)  # more pieces than are made
    assert partial_sums.law(np.full(30, 0.5), decades, np.ones(30, dtype=int), 1e-30, 0.05) is None


@pytest.mark.parametrize("half", [0.45, 0.15])
def test_a_sum_with_what_follows_lies_in_a_band(half, few_values, monkeypatch):
    """Places in the ellipse of each piece, with every sum of the noise that follows: in the ellipse about a band that holds the
    places of the piece."""
    p, noise, receiver = random_devices(7, 12)
    kept = []
    ruled = partial_sums._ruled
    monkeypatch.setattr(partial_sums, "_ruled", lambda *each: kept.append(ruled(*each)) or kept[-1])
    _, _, replaced, _ = partial_sums.law(p, noise, np.ones(12, dtype=int), receiver, half)
    order = np.argsort(noise)
    assert len(kept) >= 2
    angle = np.linspace(0, np.pi, 33)
    middle, wide = (replaced.low + replaced.high) / 2, (replaced.high - replaced.low) / 2
    height = np.arcsinh(replaced.opening / wide)
    rules = kept[0][2]
    following = every_sum(p[order][7:], noise[order][7:], 0.0)[0]  # 128 values of seven devices have been replaced
    for low, high in zip(rules.low[0, rules.mass[0] > 0], rules.high[0, rules.mass[0] > 0], strict=True):
        rho = float(complex_noise.opened(np.array((high - low) / 2), 0.22 * half))
        a, b = ((high - low) / 4 * (rho + sign / rho) for sign in (1, -1))
        ellipse = np.exp((low + high) / 2 + a * np.cos(angle) + 1j * b * np.sin(angle))
        for rest in following:
            place, ends = np.log(ellipse + rest), np.log(np.exp([low, high]) + rest)
            across = (place.real[:, None] - middle) / (wide * np.cosh(height))
            inside = np.hypot(across, place.imag[:, None] / replaced.opening) <= 1
            holds = np.all(inside, axis=0) & (replaced.low <= ends[0]) & (ends[1] <= replaced.high)
            assert np.any(holds)


def test_the_noise_that_follows_is_rounded_down(few_values, monkeypatch):
    """A coarser grid of it counts more in low bands, and in all of them the same."""
    p, noise, receiver = random_devices(11, 11)

    def counted(cells):
        monkeypatch.setattr(partial_sums, "_CELLS", cells)
        replaced = partial_sums.law(p, noise, np.ones(11, dtype=int), receiver, 0.45)[2]
        return np.cumsum(replaced.of_doubt)

    coarse, usual, fine = (counted(cells) for cells in (32, 1024, 1 << 16))
    assert fine.size > 3 and np.all(coarse >= usual) and np.all(usual >= fine * (1 - 1e-9)) and coarse[1] > 1.05 * fine[1]
    np.testing.assert_allclose([coarse[-1], usual[-1]], fine[-1], rtol=1e-9)


class Known:
    """Bounds and doubts that are stated for each band; what has been asked is kept."""

    def __init__(self, log_largest, log_doubt):
        self.log_largest, self.log_doubt, self.asked = np.array(log_largest), np.array(log_doubt), None

    def on_pieces(self, low, high, offset, log_slight):
        self.asked = low, log_slight
        last = low.shape[1]
        return AnalyticBound(
            np.full(low.shape, 3.0),
            *(np.tile(x[x.size - last :], (low.shape[0], 1)) for x in (self.log_largest, self.log_doubt)),
        )


def test_a_band_counts_the_greatest_bound_above_it_and_no_band_of_slight_weight_is_asked_for():
    low, weights = np.arange(4.0), np.array([1e-9, 1e-3, 0.25, 0.5])
    replaced = partial_sums.Replaced(low, low + 1, weights / 8, weights, 0.2)
    known = Known([5.0, -3.0, 1.0, 0.0], [-30.0, -7.0, -9.0, -8.0])
    (every,) = np.exp(replaced.log_remainder(known, np.array([-60.0])))
    bound, doubt = np.exp([5.0, 1.0, 1.0, 0.0]), np.exp([-7.0, -7.0, -8.0, -8.0])
    assert every == pytest.approx(weights / 8 @ bound + weights @ doubt) and known.asked[0].shape == (1, 4)
    np.testing.assert_allclose(known.asked[1][0], -60 - np.log(np.cumsum(weights)))
    (some,) = np.exp(replaced.log_remainder(known, np.array([-10.0])))
    assert some == pytest.approx(weights[1:] / 8 @ bound[1:] + weights[1:] @ doubt[1:] + weights[0])
    np.testing.assert_array_equal(known.asked[0], [low[1:]])
    assert replaced.log_remainder(known, np.array([10.0])) == pytest.approx(np.log(weights.sum()))


def test_each_piece_counts_its_error_and_its_doubt_once(few_values, monkeypatch):
    p, noise, receiver = random_devices(7, 12)
    kept = []
    ruled = partial_sums._ruled
    monkeypatch.setattr(partial_sums, "_ruled", lambda *each: kept.append(ruled(*each)) or kept[-1])
    _, _, replaced, _ = partial_sums.law(p, noise, np.ones(12, dtype=int), receiver, 0.45)
    bound = doubt = 0.0
    for _, _, rules in kept:
        half, used = (rules.high - rules.low) / 2, rules.mass > 0
        rho = complex_noise.opened(np.maximum(half, 1e-12), 0.22 * 0.45)
        bound += np.sum(np.where(used, rules.mass * (4 * rho**-31 / (rho - 1) + 32 * rules.deviation), 0.0))
        doubt += np.sum(rules.mass * (2 + 96 * rules.deviation))
    np.testing.assert_allclose([replaced.of_bound.sum(), replaced.of_doubt.sum()], [bound, doubt], rtol=1e-6)


def test_what_underflows_is_missing():
    p, noise = np.append(np.full(50, 1 - 2**-53), np.full(10, 0.5)), np.linspace(0.1, 0.2, 60)
    assert 0 < partial_sums.law(p, noise, np.ones(60, dtype=int), 0.0, 0.45)[3] < 1e-300
    assert partial_sums.law(np.full(60, 0.5), noise, np.ones(60, dtype=int), 0.0, 0.45)[3] == 0
    rare = unlike(14, 5, "silent", 784)
    rare = rare.replace(participation=np.where(np.arange(14) > 10, 1e-200, np.array(rare.participation)))
    exact = rounds.query(rare, 2, "others").in_composition(3)._part(0.0)
    assert 0 < rounds.of_partial_sums(rare.normalised(), exact).missing[0] < 1e-300


def test_devices_without_noise_and_a_receiver_without_noise(few_values):
    """A value of 0 that has several devices: once in the law, by itself."""
    p, noise = np.full(14, 0.4), np.append(np.zeros(4), np.linspace(0.1, 0.2, 10))
    values, weights, replaced, _ = partial_sums.law(p, noise, np.ones(14, dtype=int), 0.0, 0.45)
    assert values[0] == 0 < values[1] and weights[0] == pytest.approx(0.6**10) and replaced.low.size
    system = unlike(24, 0, "silent", 784).replace(receiver_noise_variance=0.0)
    system = system.replace(noise_variance=np.where(np.arange(24) == 5, 0.0, np.array(system.noise_variance)))
    epsilon = np.array([0.05, 0.2])
    few, grid = (list(rounds.query(system, 3, "others").in_composition(5)._laws(1e-25))[i] for i in (1, -1))
    rows = np.zeros(2, dtype=int)
    with np.errstate(divide="ignore"):
        low, high = evaluate.log_ends(few, epsilon, rows, reverse=False, doubt=0.0)
        grid_low, grid_high = evaluate.log_ends(grid, epsilon, rows, reverse=False, doubt=0.0)
    assert few.rules is not None and np.all(low <= grid_high) and np.all(grid_low <= high)
    nothing = partial_sums.law(p, np.zeros(14), np.ones(14, dtype=int), 0.3, 0.45)
    np.testing.assert_array_equal(nothing[0], [0.3])


def test_an_infinite_epsilon_does_not_spoil_the_others(few_values):
    system = unlike(14, 5, "silent", 784)
    exact = rounds.query(system, 2, "others").in_composition(3)._part(0.0)
    mixture = rounds.of_partial_sums(system.normalised(), exact)
    few, rows = mixture.ruled(mixture.tried_pieces[1]), np.zeros(3, dtype=int)
    ends = np.array(evaluate.log_ends(few, np.array([0.05, 0.1, np.inf]), rows, reverse=False, doubt=0.0))
    alone = np.array(evaluate.log_ends(few, np.array([0.05, 0.1]), rows[:2], reverse=False, doubt=0.0))
    np.testing.assert_allclose(ends[:, :2], alone, rtol=1e-5)
    assert np.all(np.isneginf(ends[:, 2]))


@pytest.mark.parametrize(
    ("adjacency", "reverse", "dimension", "kind"),
    [
        ("silent", False, 100, "usual"), ("silent", True, 784, "usual"), ("replace", False, 300, "rare"),
        ("silent", False, 784, "loud"), ("silent", True, 300, "alike"), ("replace", False, 784, "alike"),
    ],
)  # fmt: skip
def test_a_hidden_device_beside_every_value_of_the_noise(adjacency, reverse, dimension, kind, few_values):
    system = unlike(14, 5, adjacency, dimension)
    noise = np.array(system.noise_variance)
    changed = {
        "usual": {},
        "loud": {"noise_variance": np.where(np.arange(14) == 6, 30.0, 1.0) * noise},
        "rare": {"participation": np.linspace(0.01, 0.2, 14)},
        "alike": {"noise_variance": np.where(np.arange(14) % 2, 0.1, noise)},
    }[kind]
    system = system.replace(**changed)
    composed = rounds.query(system, 2, "others").in_composition(3)
    exact = composed._part(0.0)
    assert exact.slack == 0
    laws = rounds.of_partial_sums(system.normalised(), exact)
    epsilon = np.array([1e-4, 0.02, 0.1, 0.7])
    used, weights = exact.variance[0], exact.weights[0]
    each = [np.broadcast_to(x[0], used.shape) for x in (exact.participation, exact.sensitivity)]
    served = 0
    for pieces in laws.tried_pieces:
        few = laws.ruled(pieces)
        low, high = evaluate.log_ends(few, epsilon, np.zeros(4, dtype=int), reverse=reverse, doubt=0.0)
        for i, eps in enumerate(epsilon):
            value, _, error = hidden_divergence.log_curve(
                np.full(used.shape, eps), *each, used, np.full(used.shape, exact.own_noise[0]), dimension=dimension,
                replace=adjacency == "replace", reverse=reverse,
            )  # fmt: skip
            log_mean = special.logsumexp(value, b=weights) + np.log(each[0][0])
            slack = float(np.max(error[weights > 0])) + 1e-9
            if not np.isnan(low[i]):
                assert low[i] <= log_mean + slack and log_mean - slack <= high[i]
                served += 1
                assert high[i] - low[i] < 1e-2
    assert served >= 3


def test_the_bounds_of_rules_count_what_partial_sums_miss(few_values):
    """An error that is made a million times as great is either added or refused."""
    composed = rounds.query(unlike(14, 5, "silent", 784), 2, "others").in_composition(3)
    exact = composed._part(0.0)
    mixture = rounds.of_partial_sums(unlike(14, 5, "silent", 784).normalised(), exact)
    arguments = np.array([0.1]), np.zeros(1, dtype=int)
    low, high = evaluate.log_ends(mixture.ruled(mixture.tried_pieces[1]), *arguments, reverse=False, doubt=0.0)
    for share in (1e6, 1e12):
        replaced = replace(mixture.replaced, of_bound=mixture.replaced.of_bound * share)
        worse = replace(mixture, replaced=replaced).ruled(mixture.tried_pieces[1])
        other_low, other_high = evaluate.log_ends(worse, *arguments, reverse=False, doubt=0.0)
        assert np.isnan(other_low[0]) or (other_low[0] < low[0] and other_high[0] > high[0])


def test_many_devices_have_no_grid_in_a_composition():
    """Both ends of few rules are within those of the law on a grid, and no value of the grid is computed."""
    composed = rounds.query(unlike(24, 1, "replace", 784), 3, "others").in_composition(20)
    on_grid = composed._part(1e-25)
    laws = list(composed._laws(1e-25))
    assert on_grid.slack > 0 and laws[-1].slack == on_grid.slack and [law.rules is None for law in laws] == [False, False, True]
    epsilon, rows = np.array([0.01, 0.05, 0.2]), np.zeros(3, dtype=int)
    low, high = evaluate.log_ends(laws[1], epsilon, rows, reverse=False, doubt=0.0)
    grid_low, grid_high = evaluate.log_ends(on_grid, epsilon, rows, reverse=False, doubt=0.0)
    assert np.all(low <= grid_high) and np.all(grid_low <= high) and np.all(high - low < grid_high - grid_low + 1e-4)


def test_few_epsilons_show_that_rules_fail(monkeypatch):
    composed = rounds.query(unlike(24, 1, "replace", 784), 3, "others").in_composition(20)
    asked = []

    def log_ends(mixture, eps, rows, **options):
        asked.append((mixture.rules is not None, eps.size))
        ends = np.full((2, eps.size), np.nan if mixture.rules is not None else -3.0)
        if mixture.rules is not None and eps.size > 7:
            ends[:] = -2.0
        return ends

    monkeypatch.setattr(rounds.evaluate, "log_ends", log_ends)
    composed._summed_ends(np.linspace(0.01, 0.1, 40), False, 1e-25)
    assert asked == [(True, 7), (True, 7), (False, 20), (False, 20)] or asked == [(True, 7), (True, 7), (False, 40)]
    asked.clear()
    composed._summed_ends(np.linspace(0.01, 0.1, 5), False, 1e-25)
    assert [size for _, size in asked] == [5, 5, 5]


def test_an_error_of_a_rule_is_that_of_its_notes():
    rho = np.array([2.0, 4.0])
    np.testing.assert_allclose(np.exp(gauss_rule.log_missed(rho)), 4 * rho**-31 / (rho - 1))
