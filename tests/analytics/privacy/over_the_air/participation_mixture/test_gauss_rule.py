"""Gauss rules of a law of the others' noise: beside the sums over all of its values."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.systems import unlike

import airtight
from airtight.analytics.privacy.over_the_air import observers, rounds
from airtight.analytics.privacy.over_the_air.participation_mixture import (
    build,
    complex_noise,
    evaluate,
    gauss_rule,
    hidden,
)
from airtight.analytics.privacy.over_the_air.participation_mixture.evaluate import NoiseMixture
from airtight.analytics.privacy.over_the_air.participation_mixture.noise_interpolant import NoiseInterpolant


def law(values=2000, seed=3):
    v = np.sort(np.random.default_rng(seed).uniform(0.2, 2.0, values))
    weights = np.exp(-40 * (v - 1.4) ** 2)
    return v, weights / np.sum(weights)


def rules_of(v, weights, pieces):
    nodes, shares, rules = gauss_rule.rules_of(v[None, :], weights[None, :], pieces)
    return nodes[0], shares[0], rules


@pytest.mark.parametrize("pieces", [1, 8])
def test_rules_have_the_moments_of_the_law_in_log_v(pieces):
    v, weights = law()
    nodes, shares, rules = rules_of(v, weights, pieces)
    assert nodes.size == 1 + 16 * pieces and np.all(np.diff(nodes) > 0) and np.all(shares > 0)
    assert nodes[0] == v[0] and shares[0] == weights[0] and np.array_equal(rules.first, 1 + 16 * np.arange(pieces))
    assert np.all(rules.deviation < 1e-9) and np.sum(rules.mass) == pytest.approx(1 - weights[0], abs=1e-14)
    for degree in range(32):
        series = np.eye(32)[degree]
        at_nodes, at_all = (np.polynomial.legendre.legval(np.log(x) / 2, series) for x in (nodes, v))
        assert at_nodes @ shares == pytest.approx(at_all @ weights, abs=1e-13)


@settings(max_examples=25, deadline=None)
@given(st.floats(5.0, 40.0), st.integers(18, 300))
def test_the_remainder_of_an_exponential_is_not_above_its_bound(fall, values):
    v, weights = np.geomspace(1.0, np.e, values), np.full(values, 1 / values)
    nodes, shares, _ = rules_of(v, weights, 1)
    bound = np.exp(float(gauss_rule.log_remainder(np.array(fall))))
    assert abs(nodes**-fall @ shares - v**-fall @ weights) <= bound + 1e-14


def test_the_least_value_stays_by_itself_even_0():
    v, weights = law()
    nodes, shares, rules = rules_of(np.append(0.0, v), np.append(0.25, 0.75 * weights), 4)
    assert nodes[0] == 0 and shares[0] == 0.25 and nodes[1] > v[0] and rules.cells[0][0, 0] == 0


@pytest.mark.parametrize("values", [1, 2, 10, 40])
def test_few_values_are_their_own_rule(values):
    v, weights = np.linspace(1.0, 2.0, values), np.full(values, 1 / values)
    nodes, shares, rules = rules_of(v, weights, 3)
    assert np.array_equal(nodes[shares > 0], v) if values < 17 else np.sum(shares) == pytest.approx(1)
    assert np.sum(rules.cells[2]) == pytest.approx(1) and np.sum(rules.moved) + weights[0] == pytest.approx(1)


@given(st.integers(0, 50), st.floats(0.1, 60.0))
def test_moved_down_to_nodes_the_mean_of_a_falling_function_is_not_less(seed, fall):
    v, weights = law(300, seed)
    nodes, shares, rules = rules_of(v, weights, 3)
    above = shares[0] * nodes[0] ** -fall + np.sum(rules.moved_down((nodes**-fall)[None, :], np.zeros(1, int)))
    assert above >= v**-fall @ weights * (1 - 1e-12)


@pytest.mark.parametrize(
    ("adjacency", "dimension", "devices"), [("absent", 50, 40), ("absent", 2, 40), ("silent", 50, 30), ("replace", 3, 60)]
)
def test_proved_rules_hold_the_mean_over_every_value(adjacency, dimension, devices):
    """Also on too few pieces, where the bound of the remainder is great."""
    system = unlike(devices, 3, adjacency, dimension=dimension)
    (mixture,) = build.participations(system, np.array([0]), 1e-20, cells=600)
    epsilon, rows = mixture.least_epsilon(1e-5) * np.array([0.2, 0.7, 1.0, 1.6]), np.zeros(4, dtype=np.int64)
    exact = replace(mixture, slack=0.0, spread=0.0)
    widths = []
    for pieces in (1, 2, 4, 8):
        few = exact.ruled(pieces)
        for mean, rule in zip(exact._directions(), few._directions(), strict=True):
            value, (other, _, up, down) = mean(epsilon, rows)[0], rule(epsilon, rows)
            known = value > -300
            assert np.all(other[known] - down[known] <= value[known] + 1e-12)
            assert np.all(value[known] <= other[known] + up[known] + 1e-12)
        widths.append(few._directions()[0](epsilon[2:3], rows[:1])[2][0])
    assert widths[-1] < 1e-6 and widths[0] > 10 * widths[-1]


@pytest.mark.parametrize(("adjacency", "dimension"), [("silent", 784), ("replace", 784), ("silent", 150), ("silent", 3000)])
@pytest.mark.parametrize("reverse", [False, True])
def test_rules_hold_the_mean_of_hidden_devices_in_many_dimensions(adjacency, dimension, reverse):
    """Where the bound of the rule's error is too great, as on one piece, the mean is NaN."""
    query = rounds.query(unlike(11, 2, adjacency, dimension=dimension), 3, "others").in_composition(2)
    part = query._part(0.0)
    summed = replace(part, interpolated=0.0, nats=26.0)
    epsilon = np.append(0.0, np.geomspace(1e-3, 0.5, 7))
    rows = np.zeros(epsilon.size, dtype=np.int64)
    truth, _, above, below = summed.order(reverse)(epsilon, rows)
    known = np.zeros(epsilon.size, dtype=bool)
    for pieces in (1, *part.tried_pieces):
        value, _, up, down = part.ruled(pieces).order(reverse)(epsilon, rows)
        sure = ~np.isnan(value)
        assert np.all((value - down <= truth + above)[sure]) and np.all((truth - below <= value + up)[sure])
        assert np.all((up + down <= 3 * evaluate.tolerated(part.tolerance, -truth))[sure])
        assert sure[0] <= (pieces > 1) and np.mean(sure) >= np.mean(known)
        known |= sure
    assert np.all(known[1:])


@pytest.mark.parametrize(("adjacency", "observer"), [("absent", "others"), ("silent", "others"), ("silent", "participants")])
def test_both_ends_from_rules_overlap_those_of_every_value(adjacency, observer, monkeypatch):
    system, device = unlike(40, 2, adjacency), [0, 7]
    low, high = observers.epsilon_bracket(system, device=device, observer=observer)
    monkeypatch.setattr(NoiseMixture, "ruled", lambda *_: None)
    slow_low, slow_high = observers.epsilon_bracket(system, device=device, observer=observer)
    assert np.all(low <= slow_high) and np.all(slow_low <= high) and np.all(high - low <= 2e-5 * high)


@pytest.mark.parametrize(("dimension", "delta"), [(50, 1e-5), (3000, 1e-3)])
def test_a_rule_of_an_exact_law_serves_where_it_is_exact_too(dimension, delta, monkeypatch):
    """A device that may leave, on 512 or more values of noise: both ends as close as from every value, which the rules of
    the second system alone are not."""
    system = unlike(12, 2, "absent", dimension=dimension).replace(delta=delta)
    devices, made = np.arange(12), []
    rule = NoiseMixture.ruled
    monkeypatch.setattr(NoiseMixture, "ruled", lambda part, pieces: made.append(part.slack) or rule(part, pieces))
    ends = build.epsilon_bracket(system, devices, system.delta)
    assert made and not any(made)
    monkeypatch.setattr(NoiseMixture, "ruled", lambda *_: None)
    summed = build.epsilon_bracket(system, devices, system.delta)
    for low, high in (ends, summed):
        assert np.all(low <= high) and np.all(high - low <= 2e-9 * high)
    np.testing.assert_allclose(ends, summed, rtol=3e-9)
    assert np.all(ends[0] <= summed[1]) and np.all(summed[0] <= ends[1])


@pytest.mark.parametrize(
    ("adjacency", "dimension", "devices"),
    [
        ("absent", 3, 9), ("absent", 400, 12), ("absent", 50, 14), ("silent", 20, 10), ("replace", 50, 10), ("silent", 50, 14),
        ("silent", 784, 12),
    ],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_composed_query_holds_the_mean_over_every_value_of_the_noise(adjacency, dimension, devices, reverse):
    query = rounds.query(unlike(devices, 1, adjacency, dimension=dimension), 0, "others")
    composed = query.in_composition(2)
    assert composed._part(0.0).ruled(8) is not None
    epsilon = np.array([0.05, 0.3, 2.0])
    low, high = composed.delta_bracket(epsilon, reverse=reverse)
    part = replace(query._part(0.0), estimating=False, nats=26.0)
    rows = np.zeros(1, dtype=np.int64)
    for place, each in enumerate(epsilon):
        value, _, up, down = (float(x[0]) for x in part.order(reverse)(np.array([each]), rows))
        if value < -60:
            continue
        assert np.log(low[place]) <= value + up and value - down <= np.log(high[place])
        assert high[place] <= low[place] * (1 + 5e-5) + 1e-300 or part.spread


@pytest.mark.parametrize(("loudness", "half"), [(0.1, 0.45), (1.0, 0.1215), (12.0, 0.1215)])
def test_a_loud_device_has_narrow_pieces(loudness, half):
    """Its kinks turn fast with the others' noise; rules on narrow pieces hold the mean over every value of this noise."""
    system = unlike(11, 5, "silent", 784)
    noise = np.where(np.arange(11) == 2, loudness, 1.0) * np.array(system.noise_variance)
    composed = rounds.query(system.replace(noise_variance=noise), 2, "others").in_composition(3)
    part = composed._part(0.0)
    width = np.log(part.variance[0, -1] / part.variance[0, 1])
    assert part.half == pytest.approx(half) and part.tried_pieces[0] >= width / (2 * half)
    rows, epsilon = np.zeros(4, dtype=int), np.array([0.02, 0.05, 0.1, 0.2])
    every_low, every_high = evaluate.log_ends(part, epsilon, rows, reverse=False, doubt=0.0)
    laws = [part.ruled(pieces) for pieces in part.tried_pieces]
    ends = [evaluate.log_ends(law, epsilon, rows, reverse=False, doubt=0.0) for law in laws if law is not None]
    served = np.any([np.isfinite(low) for low, _ in ends], axis=0)
    assert np.sum(served) >= 3
    for low, high in ends:
        known = np.isfinite(low)
        assert np.all((low <= every_high)[known]) and np.all((every_low <= high)[known]) and np.all((high - low)[known] < 1e-2)


def test_a_divergence_too_steep_for_the_rules_is_summed():
    query = rounds.query(unlike(12, 1, "absent", dimension=50), 0, "others").in_composition(2)
    few = query._part(0.0).ruled(1)
    epsilon, rows = np.array([0.1, 60.0]), np.zeros(2, dtype=np.int64)
    assert list(np.isnan(few.order(False)(epsilon, rows)[0])) == [False, True]
    assert np.all(np.isfinite(np.stack(query.delta_bracket(epsilon))))


def test_mass_is_moved_down_over_an_empty_piece():
    """No value lies on the middle third of log v: the node before the last third is the greatest value below."""
    v = np.concatenate([[1.0, 1.01], np.linspace(4.0, 5.0, 100)])[None, :]
    weights = np.full(v.shape, 1 / v.size)
    nodes, _, rules = gauss_rule.rules_of(v, weights, 3)
    assert np.all(np.diff(nodes[0]) >= 0)

    def falling(at):
        return np.exp(-1000 * np.maximum(at - 4, -0.5))

    last = v[0] >= 4
    assert rules.moved_down(falling(nodes), np.zeros(1, dtype=int))[0, -1] >= np.sum((weights * falling(v))[0, last])


def test_a_doubt_counts_at_the_values_and_at_the_nodes():
    """0, but for a doubt of one sign at the values of the law and of the other at the nodes of the rule."""
    v, weights = law()
    _, shares, rules = rules_of(v, weights, 3)
    doubt = 1e-3

    class Doubted:
        def on_pieces(self, low, high, offset, log_slight):
            one = np.ones(low.shape)
            return complex_noise.AnalyticBound(3 * one, -800 * one, np.log(doubt) * one)

    missed = np.exp(rules.log_remainder(Doubted(), np.zeros(1, dtype=int), np.full((1, 3), np.log(doubt)), np.zeros(1)))
    error = doubt * (np.sum(shares[1:]) + np.sum(weights[1:]))
    assert error <= np.sum(missed) <= 3 * error


def test_the_first_polynomial_that_a_rule_misses_is_within_its_bound():
    """A rule of 16 nodes is exact up to degree 31: the error of degree 32 is at most 4 M rho^-31 / (rho - 1), not far below."""
    v = np.exp(np.linspace(0.0, 0.5, 4001))
    nodes, shares, rules = rules_of(v, np.full(v.size, 1 / v.size), 1)
    middle, half = (rules.low[0, 0] + rules.high[0, 0]) / 2, (rules.high[0, 0] - rules.low[0, 0]) / 2

    class Polynomial:
        def on_pieces(self, low, high, offset, log_slight):
            rho = np.full(low.shape, 3.0)
            return complex_noise.AnalyticBound(rho, np.log((3.0**32 + 3.0**-32) / 2) + 0 * low, -np.inf + 0 * low)

    def mean(at, weights):
        return np.cos(32 * np.arccos(np.clip((np.log(at) - middle) / half, -1, 1))) @ weights

    error = abs(mean(nodes[1:], shares[1:]) - mean(v[1:], np.full(v.size - 1, 1 / v.size)))
    missed = np.exp(rules.log_remainder(Polynomial(), np.zeros(1, dtype=int), np.zeros((1, 1)), np.zeros(1)))[0, 0]
    assert error <= missed <= 10 * error


def test_a_piece_of_hidden_devices_is_bounded_beyond_its_rounded_ends():
    asked = []

    def largest(i, low, high, rho, log_negligible, log_enough):
        asked[:] = low, high, rho
        return np.zeros((2, i.size))

    low, high = np.array([[0.0, 0.8], [0.1, 0.9]]), np.array([[0.8, 1.5], [0.9, 1.6]])
    known = hidden._AboutPieces(largest, largest, 0.3).on_pieces(low, high, np.zeros(2), np.zeros((2, 2)))
    assert np.all(asked[0] < low.ravel() - 10 * gauss_rule.LOST) and np.all(asked[1] > high.ravel() + 10 * gauss_rule.LOST)
    assert np.array_equal(asked[2], known.rho.ravel())
    argument = (asked[1] - asked[0]) / 2 * (asked[2] - 1 / asked[2]) / 2
    np.testing.assert_allclose(argument, 0.3, rtol=1e-12)


def test_rules_of_one_value_are_none():
    """All other devices are rarer than what is left out: the law of their noise is one value."""
    system = unlike(11, 2, "silent", dimension=784)
    participation = np.full(11, 1e-26)
    participation[3] = 0.5
    system = system.replace(participation=participation)
    part = rounds.query(system, 3, "others").in_composition(10)._part(rounds.NEGLIGIBLE)
    assert part.ruled(1) is None
    bounds = rounds.bracket(system, delta=1e-5, rounds=10, device=[3], observer="others")
    assert bounds.lower[0] == pytest.approx(2.8134, abs=2e-3) and bounds.upper[0] == pytest.approx(2.8145, abs=2e-3)


@pytest.mark.parametrize("pole", [0.7, 0.85, 1.0])
def test_the_remainder_is_some_nats_above_an_error(pole):
    """1 / (a^2 + x^2) has its nearest poles at +-ia, x from -1 to 1: bounds that are nats lower would be none."""
    v, size = np.exp(np.linspace(0.0, 0.5, 4001))[None, :], 4001
    nodes, shares, rules = gauss_rule.rules_of(v, np.full(v.shape, 1 / size), 1)
    middle, half = (rules.low[0, 0] + rules.high[0, 0]) / 2, (rules.high[0, 0] - rules.low[0, 0]) / 2

    def bump(at):
        return 1 / (pole**2 + ((np.log(at) - middle) / half) ** 2)

    def log_slope(problems, boxes):  # |vf| is |d bump / d x| / half, and that is greatest at the top of the ellipse
        top = 0.9 * pole
        return np.full(boxes.least.shape, np.log(2 * top / (pole**2 - top**2) ** 2 / half))

    steep = complex_noise.Steepness(log_slope, 0.9 * pole * half)
    rules = replace(rules, deviation=np.zeros_like(rules.deviation))
    asked = np.zeros(1, dtype=int), np.log(np.full((1, 1), 1 / pole**2)), np.full(1, -40.0)
    proved = rules.log_remainder(steep, *asked)[0, 0]
    error = np.log(abs(bump(nodes[0]) @ shares[0] - np.mean(bump(v))))
    assert error <= proved <= error + 11


def test_what_a_rule_misses_of_a_divergence_that_vanishes(monkeypatch):
    """Nothing where it is 0 everywhere; on the piece that it reaches last, at most what it is at the node before."""
    (part,) = build.participations(unlike(14, 0), np.array([3]), 0.0)
    few, row = part.ruled(4), np.zeros(1, dtype=int)
    component = NoiseInterpolant(None, None, 1e-6, 0.0, 1)
    monkeypatch.setattr(component, "fitted", lambda rows: np.ones(rows.size, dtype=bool))
    values = np.full(few.variance.shape, -np.inf)
    asked = component, values, np.zeros(values.shape), few.weights, row, None
    with np.errstate(invalid="ignore", divide="ignore"):
        assert np.all(few._missed(*asked) == -np.inf)
        values[0, 0] = -1.0
        missed = few._missed(*asked)[0]
    assert missed[0] == pytest.approx(np.log(few.rules.moved[0, 0, 0]) - 1) and np.all(missed[1:] == -np.inf)


@pytest.mark.parametrize("adjacency", ["silent", "absent"])
@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_the_law_of_all_devices_serves_each(adjacency, scale, monkeypatch):
    """Bounds from one coarse law, and from one rule for all rows, about those from the exact laws of the others."""
    noise = np.repeat([0.1, 0.14], 30)
    system = airtight.InferenceSystem(
        devices=60, participation=0.6, noise_variance=noise, weight=scale, clip=np.linspace(0.2, 1.0, 60), alignment=1.0,
        receiver_noise_variance=0.1, dimension=20, delta=1e-6, adjacency=adjacency,
    )  # fmt: skip
    everyone = np.arange(60)
    exact = list(build.participations(system, everyone, 1e-14))
    assert all(part.slack == 0 for part in exact)
    for name, value in (("_MANY", 1), ("_SMALL", 1.0), ("_SMALL_SHARE", 1.0)):
        monkeypatch.setattr(build, name, value)
    (shared,) = build.participations(system, everyone, 1e-9, cells=256)
    assert shared.offset is not None and np.unique(shared.offset).size == 2 and shared.devices.size == 60
    for part in (shared, shared.ruled(1), shared.ruled(4)):
        for epsilon in (0.0, 0.3, 2.0, 6.0):
            asked = np.full(60, epsilon)
            low, high = part.log_lower(asked, part.kind)[0], part.log_upper(asked, part.kind)
            for truth in exact:
                alone = truth.kind, np.searchsorted(shared.devices, truth.devices)
                of_truth = np.full(alone[0].size, epsilon)
                least, most = truth.log_lower(of_truth, alone[0])[0], truth.log_upper(of_truth, alone[0])
                assert np.all(low[alone[1]] <= most) and np.all(high[alone[1]] >= least)
                assert adjacency == "absent" or epsilon > 1 or np.all((high - low)[alone[1]] < 0.04)


def test_the_devices_asked_for_are_parted_among_the_classes_that_one_law_serves(monkeypatch):
    system, asked = unlike(3000, 0).replace(weight=0.02), np.arange(5, 3000, 7)
    (whole,) = build.participations(system, asked, 1e-20)
    monkeypatch.setattr(build, "_MANY_ROWS", 100)
    parts = list(build.participations(system, asked, 1e-20))
    assert len(parts) == 5 and max(part.participation.size for part in parts) == 100
    assert np.array_equal(np.sort(np.concatenate([part.devices for part in parts])), asked)
    for part in parts:
        place = np.searchsorted(whole.devices, part.devices)
        for name in ("participation", "own_noise", "sensitivity"):
            assert np.array_equal(getattr(part, name)[part.kind], getattr(whole, name)[whole.kind][place])


def test_a_device_that_is_no_small_part_has_its_own_law():
    """Of many devices one is loud: the law of all serves the others only, and the answers are those of laws of their own."""
    system = unlike(3000, 0).replace(weight=0.02)
    loud = np.array(system.noise_variance)
    loud[7] *= 1e4
    system, some = system.replace(noise_variance=loud), np.array([5, 7, 2000])
    parts = list(build.participations(system, some, 1e-20))
    assert [part.devices.tolist() for part in parts if part.offset is None] == [[7]]
    lower, upper = build.epsilon_bracket(system, some, 1e-5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "_MANY", 10**9)
        own_lower, own_upper = build.epsilon_bracket(system, some, 1e-5)
    assert np.all((lower <= own_upper) & (own_lower <= upper)) and np.all(upper <= lower * (1 + 1e-4))
