"""The lower bound for a server that sees y alone, beside the densities of y for the codes that it stands for."""

from dataclasses import replace
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from support.systems import unlike

from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms.discrete_pair import Discrete
from airtight.analytics.privacy.over_the_air import observers, rounds
from airtight.analytics.privacy.over_the_air.participation_mixture import build, signal_lower_bound

SYSTEM = InferenceSystem(
    devices=4, participation=[0.6, 0.4, 0.7, 0.3], noise_variance=[0.2, 0.05, 0.3, 0.6], weight=1.0, clip=[0.8, 0.1, 0.9, 1.5],
    alignment=1.0, receiver_noise_variance=0.1, dimension=1, delta=1e-3, observer="signal",
)  # fmt: skip


def tried(system, device=0):
    part = rounds.query(system, device, Observer.OTHERS)._part(0.0)
    return signal_lower_bound.SignalTest.of(part, 0).tilted(signal_lower_bound.steepest(system, device), 1e-12)


def densities(system, theta, mesh, code):
    """Density of y, whose first axis is that of the code of device 0; the others send -theta times their noise along it."""
    total = 0.0
    for sends in product([0, 1], repeat=system.devices - 1):
        chance = np.prod([p if on else 1 - p for p, on in zip(system.participation[1:], sends, strict=True)])
        noise = float(np.dot(sends, system.noise_variance[1:]))
        spread = np.sqrt(noise + system.receiver_noise_variance + (system.noise_variance[0] if code is not None else 0.0))
        place = (0.0 if code is None else code) - theta * noise
        along = stats.norm.pdf(mesh[0], place, spread)
        total = total + chance * along * np.prod([stats.norm.pdf(y, 0.0, spread) for y in mesh[1:]], axis=0)
    return total


def exact(system, theta, epsilon):
    """delta by the trapezoidal rule on a grid of y."""
    points = {1: np.linspace(-14, 14, 200_001), 2: np.linspace(-7, 7, 701)}[system.dimension]
    mesh = np.meshgrid(*[points] * system.dimension, indexing="ij")
    p, d, cell = system.participation[0], system.clip[0], (points[1] - points[0]) ** system.dimension
    without, sent = densities(system, theta, mesh, None), densities(system, theta, mesh, d)
    first = p * sent + (1 - p) * without
    if system.adjacency == "absent":
        second = without
    else:
        other = 0.0 if system.adjacency == "silent" else -d
        second = p * densities(system, theta, mesh, other) + (1 - p) * without
    orders = (first, second), (second, first)
    return max(float(np.sum(np.maximum(a - np.exp(epsilon) * b, 0)) * cell) for a, b in orders)


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
@pytest.mark.parametrize(("dimension", "epsilon"), [(1, 0.1), (1, 1.5), (2, 0.7)])
def test_the_bound_is_that_of_codes_that_the_others_may_send(adjacency, dimension, epsilon):
    system = SYSTEM.replace(adjacency=adjacency, dimension=dimension)
    theta = float(np.min((system.weight * system.clip / system.noise_variance)[1:]))
    assert np.all(theta * system.noise_variance[1:] <= (system.weight * system.clip)[1:] * (1 + 1e-12))
    bounds, slack = [test.delta(epsilon, 1e-9) for test in tried(system)], 1e-8 if dimension == 1 else 1e-4  # of the grid
    for share, bound in zip(signal_lower_bound._SHARES, bounds, strict=True):
        truth = exact(system, share * theta, epsilon)
        assert 0.985 * truth <= bound <= truth * (1 + slack)
    low, high = observers.exact_delta_bracket(system, epsilon, device=0, observer="signal")
    assert low == pytest.approx(max(bounds), rel=1e-3) and low <= high


@given(
    devices=st.integers(2, 4), seed=st.integers(0, 999), adjacency=st.sampled_from(["absent", "silent", "replace"]),
    dimension=st.sampled_from([1, 3]), log_delta=st.floats(-18, -3),
)  # fmt: skip
@settings(deadline=None, max_examples=6)
def test_codes_never_tell_more_than_who_sends(devices, seed, adjacency, dimension, log_delta):
    system, delta = unlike(devices, seed, adjacency, dimension), np.exp(log_delta)
    upper = np.asarray(observers.exact_epsilon(system, delta=delta, observer="others"))
    lower, _ = observers.signal_bracket(system, delta=delta)
    assert np.all(lower <= upper)
    for k in range(system.devices):
        if 0 < upper[k] < np.inf:
            of_zero = signal_lower_bound.least_epsilon(tried(system, k)[-1:], delta, float(upper[k]))
            assert lower[k] >= of_zero * (1 - 1e-5)


def test_codes_tell_nearly_who_sends_where_they_are_long():
    system = InferenceSystem(
        devices=3, participation=0.8, noise_variance=0.1, weight=1 / 3, clip=2.0, alignment=1.0, receiver_noise_variance=0.1,
        dimension=20, delta=1e-5, adjacency="silent",
    )  # fmt: skip
    lower, upper = observers.signal_bracket(system, device=0)
    assert 0.98 * upper < lower < upper
    zero = signal_lower_bound.least_epsilon(tried(system)[-1:], 1e-5, float(upper))
    assert zero < 0.8 * upper


@pytest.mark.parametrize("adjacency", ["absent", "silent"])
def test_several_rounds_take_the_codes_that_tell_most(adjacency):
    system = InferenceSystem(
        devices=6, participation=0.3, noise_variance=0.1, weight=1 / 6, clip=2.0, alignment=1.0, receiver_noise_variance=0.1,
        dimension=20, delta=1e-5, adjacency=adjacency, observer="signal",
    )  # fmt: skip
    bracket = rounds.bracket(system, rounds=5, device=0, observer="signal")
    zero = signal_lower_bound.SignalTest.of(rounds.query(system, 0, Observer.OTHERS)._part(0.0), 0)
    alone = zero.released(1e-5)
    of_zero = rounds.PrivacyCurve.of(alone).compose(5).bracket(delta=1e-5)
    assert of_zero.lower * 1.02 < bracket.lower <= bracket.upper


@pytest.mark.parametrize("log_mass", [0.0, -0.1, -1.0, -10.0, -100.0, -600.0])
def test_no_set_changes_faster_than_the_errors_say(log_mass):
    """The set of mass m with the greatest integral of |z| is the outside of an interval."""
    threshold = stats.norm.isf(np.exp(log_mass) / 2) if log_mass else 0.0
    most = 2 * stats.norm.pdf(threshold) / np.exp(log_mass)
    assert most <= np.sqrt(2 * (1 - log_mass)) + 1


def test_an_error_of_the_means_is_taken_off():
    steep = signal_lower_bound.SignalTest(
        v=np.array([0.1, 0.2]), weights=np.array([0.5, 0.5]), missing=0.0, p=0.5, d=1.0, s=0.1, dimension=1,
        adjacency=SYSTEM.adjacency, variance_error=1e-6, slope=-1e4,
    )  # fmt: skip
    assert steep._mean_error >= 1e4 * 0.2 * 1e-6 / np.sqrt(0.2)
    assert steep._moved(0.1) > 0.2 * steep._mean_error


def of_whole_law(devices, adjacency="silent", dimension=50, cells=None, seed=0):
    """The test of one device with every value of the noise that the law has."""
    system = unlike(devices, seed, adjacency, dimension)
    equivalent, model = observers.mixture_model(system, "others")
    (part,) = build.participations(equivalent, np.array([0]), 0.0, model, cells)
    return system, signal_lower_bound.SignalTest.of(part, 0)


def of_sets(test):
    """Probabilities given each value of the noise of balls, of their outsides and of half-spaces of the axis, a row a set.

    Balls are about the mean of codes of zero.
    """
    v, r, means = test.v, test.dimension, test.slope * (test.v - 0.1)
    for log_scale in (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0):
        half = np.exp(log_scale) * r / 2 / v
        if not test.slope:
            yield special.gammainc(r / 2, half)
            yield special.gammaincc(r / 2, half)
        yield special.ndtr((means - np.exp(log_scale)) / np.sqrt(v))
        yield special.ndtr((means + np.exp(log_scale) - 1) / np.sqrt(v))


@pytest.mark.parametrize("pieces", [1, 2, 4, 16])
@pytest.mark.parametrize(("dimension", "slope"), [(1, 0.0), (4, -3.0), (50, 0.0), (50, -8.0), (784, 0.0)])
def test_no_set_changes_by_more_than_rules_may_miss(dimension, slope, pieces, monkeypatch):
    """Also on few pieces, where they do miss: the truth is the mean over all 2048 values."""
    _, whole = of_whole_law(12, dimension=dimension)
    whole = replace(whole, slope=slope)
    monkeypatch.setattr(signal_lower_bound, "_MOST_PIECES", pieces)
    few = whole.ruled(1e-200)
    assert few.v.size <= 1 + 16 * pieces and few.deviation > 0
    missed = []
    for of_all, of_few in zip(of_sets(whole), of_sets(few), strict=True):
        truth, m = float(of_all @ whole.weights), float(of_few @ few.weights)
        if m > 1e-290:
            bound = min((1 + signal_lower_bound._BELOW) * m * few._missed(signal_lower_bound._BELOW * m), 1.0)
            missed.append(abs(truth - m) / m)
            assert abs(truth - m) <= bound + 1e-13 * m
    assert pieces > 1 or dimension < 50 or max(missed) > 1e-9


@pytest.mark.parametrize(
    ("half", "r", "slope", "least"), [(0.05, 50, -8.0, 1e-9), (0.01, 784, 0.0, 1e-20), (0.2, 1, -1.0, 1e-3)]
)
def test_what_rules_may_miss_is_what_the_notes_say(half, r, slope, least):
    """In 50 digits, at the best of the same arguments of ellipses: these bounds are far above any error that is seen."""
    test = signal_lower_bound.SignalTest(
        v=np.array([0.5, 2.0]), weights=np.array([0.5, 0.5]), missing=0.0, p=0.5, d=1.0, s=0.1, dimension=r,
        adjacency=Adjacency.SILENT, slope=slope, half=half, deviation=1e-12,
    )  # fmt: skip
    with mpmath.workdps(50):
        h, level = mpmath.mpf(half), mpmath.log(3 / mpmath.mpf(least))
        kappa = -slope * mpmath.sqrt(2) * mpmath.exp(h)

        def growth(distance, shift):
            square = 2 * (mpmath.sqrt(r) + shift * mpmath.sqrt(2)) ** 2 * (level + 1) + 2 * (level**2 + 2 * level + 2)
            return mpmath.exp(distance * mpmath.sqrt(square))

        errors = []
        for angle in signal_lower_bound._ANGLES:
            phi = mpmath.mpf(float(angle))
            ellipse, distance = mpmath.exp(mpmath.asinh(phi / h)), h + mpmath.hypot(h, phi) - mpmath.log(mpmath.cos(phi))
            moved = mpmath.exp(distance / 2) * (mpmath.exp(distance) * (1 + mpmath.sin(phi) ** 2) - 1) / distance
            modulus = mpmath.exp(kappa**2 * mpmath.exp(distance) * mpmath.sin(phi) ** 2 / 2)
            modulus /= mpmath.cos(phi) ** (mpmath.mpf(r) / 2)
            errors.append(4 * growth(distance, kappa * moved) * modulus * ellipse**-31 / (ellipse - 1))
        expected = min(errors) + 32 * mpmath.mpf("1e-12") * growth(2 * h, kappa * mpmath.exp(h))
    assert test._missed(least) == pytest.approx(float(expected), rel=2e-3)
    assert min(errors) > expected / 100 or half < 0.2


def test_what_rules_may_miss_is_about_what_they_miss():
    """A tail that is analytic as far as the densities are: bounds that are a few hundred times lower would be none."""
    _, whole = of_whole_law(12, dimension=784)
    few = whole.ruled(1e-3)
    narrow = replace(few, half=few.half / 4, deviation=1e-300)
    assert few._missed(1e-9) > 1e3 * narrow._missed(1e-9) > 0


@pytest.mark.parametrize("cells", [256, 512, 1024])
@pytest.mark.parametrize(("dimension", "slope"), [(1, 0.0), (50, 0.0), (50, -8.0), (784, 0.0)])
def test_no_set_changes_by_more_than_a_grid_may_move(dimension, slope, cells):
    """The truth is the mean over all 2048 values, and a coarse grid moves it."""
    _, whole = of_whole_law(12, dimension=dimension)
    _, grid = of_whole_law(12, dimension=dimension, cells=cells)
    assert whole.grid is None and grid.grid is not None and grid.v.size < whole.v.size
    whole, grid = (replace(each, slope=slope) for each in (whole, grid))
    moved = []
    for of_all, of_few in zip(of_sets(whole), of_sets(grid), strict=True):
        of_values = of_few * grid.weights
        truth, m = float(of_all @ whole.weights), float(np.sum(of_values))
        if m > 1e-290:
            moved.append(abs(truth - m) / m)
            assert abs(truth - m) <= grid._on_grid(of_values) + 1e-9 * m
    assert cells > 256 or max(moved) > 1e-4


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_few_values_tell_what_all_tell(adjacency):
    system, whole = of_whole_law(9, adjacency)
    steepest = signal_lower_bound.steepest(system, 0)
    for epsilon in (0.1, 0.5):
        for few in whole.tilted(steepest, 1e-9):
            every = replace(whole, slope=few.slope, _across_of={})
            value, truth = few.delta(epsilon, 1e-9, 0), every.delta(epsilon, 1e-9, 0)
            assert few.v.size < every.v.size and truth * (1 - 1e-3) <= value <= truth * (1 + 1e-3)


@pytest.mark.parametrize(
    ("devices", "adjacency"), [(12, "absent"), (13, "silent"), (40, "absent"), (40, "silent"), (700, "absent")]
)
def test_among_many_devices_the_lower_end_is_no_longer_nothing(devices, adjacency):
    """From twelve unlike devices on it was 0."""
    system = unlike(devices, 0, adjacency, dimension=20)
    lower, upper = observers.signal_bracket(system, device=0)
    assert (0.05 if adjacency == "absent" else 0.6) * upper < lower < upper


def test_a_grid_tells_no_more_than_the_values_of_the_noise():
    _, whole = of_whole_law(13)
    _, grid = of_whole_law(13, cells=2048)
    exact, few = (each.trimmed(1e-12).tilted(0.0, 1e-9)[0].delta(0.2, 1e-9, 0) for each in (whole, grid))
    assert 0.5 * exact < few <= exact * (1 + 1e-6)


@pytest.mark.parametrize("changed", ["_bent", "_missed"])
def test_what_a_grid_and_rules_may_change_is_taken_off(changed, monkeypatch):
    _, grid = of_whole_law(13, cells=2048)
    few = grid.trimmed(1e-12).tilted(0.0, 1e-9)[0]
    alone, (_, _, doubt) = few.delta(0.2, 1e-9, 0), few.outcomes(1e-11, 4)
    true = getattr(signal_lower_bound.SignalTest, changed)
    monkeypatch.setattr(signal_lower_bound.SignalTest, changed, lambda self, least: 2 * true(self, least) + 1e-6)
    assert few.delta(0.2, 1e-9, 0) < alone and few.outcomes(1e-11, 4)[2] > doubt


def test_what_is_missing_makes_a_pair_unsure():
    _, whole = of_whole_law(9)
    few = whole.ruled(1e-15)
    assert replace(few, missing=1e-20).outcomes(1e-11, 4)[2] > few.outcomes(1e-11, 4)[2] + 2e-20


def test_the_least_value_of_a_piece_has_the_bounds_of_the_grid():
    _, grid = of_whole_law(13, cells=2048)
    few = grid.ruled(1e-9)
    slack = grid.grid[0][0] * grid.v[0]
    assert few.half > 0 and np.all(few.grid[0] >= slack / few.v * (1 - 1e-12))
    assert np.all(few.grid[0] <= slack / few.v * np.exp(2 * few.half) * (1 + 1e-9))


def test_values_that_are_left_out_are_missing():
    _, whole = of_whole_law(40, dimension=4)
    some = whole.trimmed(1e-8)
    left_out = np.sum(whole.weights) - np.sum(some.weights)
    assert some.v.size < whole.v.size and some.missing >= left_out / 1e-3 * 0.5 > 0
    assert whole.trimmed(1e-40) is whole and whole.trimmed(0.6) is whole
    assert some.grid[0].size == some.v.size
    assert 0 < some.ruled(1e-9).delta(0.01, 1e-9, 0) <= whole.ruled(1e-9).delta(0.01, 1e-9, 0) * 1.001


@pytest.mark.parametrize(("devices", "least"), [(12, 0.9), (40, 0.7)])
def test_many_devices_over_rounds(devices, least):
    system = unlike(devices, 0, "silent", dimension=20)
    lower, upper = rounds.bracket(system, rounds=10, device=0, observer="signal")
    assert least * upper < lower < upper


def test_the_two_laws_of_few_values_are_those_of_all():
    """Each probability within the error that is said, and no two ranges of losses are one that neither law can tell."""
    system, whole = of_whole_law(9)
    few = whole.tilted(signal_lower_bound.steepest(system, 0), 1e-15)[0]
    every = replace(whole, slope=few.slope, _across_of={})
    pairs = [rounds.PrivacyCurve.of(each.released(1e-5)).compose(20) for each in (few, every)]
    (low, high), (exact, _) = (pair.bracket(delta=1e-5) for pair in pairs)
    assert 0.99 * exact < low <= high and low <= exact * 1.001


def test_outcomes_that_are_unsure_join_the_likeliest():
    p, q = np.array([0.9, 0.05, 0.05, 1e-30, 1e-9]), np.array([0.8, 0.15, 0.05, 1e-9, 1e-30])
    groups = signal_lower_bound._groups(p, q, 1e-20, np.array([False, False, True, False, False]))
    assert groups[2] == groups[0] != groups[1] and groups[4] == groups[0] and groups[3] == groups[1]
    assert np.all(signal_lower_bound._groups(p, q, 1.0, np.zeros(5, dtype=bool)) == 0)


def test_a_pair_that_is_too_unsure_tells_nothing(monkeypatch):
    _, whole = of_whole_law(9)
    few = whole.ruled(1e-15)
    monkeypatch.setattr(signal_lower_bound.SignalTest, "_missed", lambda self, least: 0.01)
    assert few.released(1e-5) == Discrete((1.0,), (1.0,))


@pytest.mark.parametrize("count", [1, 2])
def test_of_many_unlike_devices_the_worst_have_a_lower_end(count, monkeypatch):
    monkeypatch.setattr(observers, "TESTED", 2)
    system = unlike(3, 0, dimension=1)
    lower, upper = rounds.bracket(system, rounds=count, observer="signal")
    assert np.array_equal(lower > 0, upper >= np.sort(upper)[1]) and np.all(lower <= upper)
    if count == 1:
        low, high = observers.exact_delta_bracket(system, 0.5, observer="signal")
        assert np.array_equal(low > 0, high >= np.sort(high)[1])


@pytest.mark.parametrize("a", [0.5, 3.0, 400.0])
def test_cells_of_a_gamma_variable_add_up(a):
    ends = np.linspace(0, 3 * a, 40)[:, None] * np.array([0.5, 1.0])
    inside, tail = signal_lower_bound._gamma_cells(a, ends)
    assert np.sum(inside, axis=0) == pytest.approx(special.gammainc(a, ends[-1]), rel=1e-12)
    assert np.all(inside == signal_lower_bound.gamma_cells(a, ends)) and np.all(tail <= 1)


def equal(devices, p, noise=0.1, dimension=5, adjacency="silent"):
    return InferenceSystem(
        devices=devices, participation=p, noise_variance=noise, weight=1.0, clip=1.0, alignment=1.0, receiver_noise_variance=1.0,
        dimension=dimension, delta=1e-5, adjacency=adjacency,
    )  # fmt: skip


@pytest.mark.parametrize(("devices", "p", "share"), [(40, 0.1, 0.9), (60, 0.5, 0.9), (100, 0.05, 0.9), (100, 0.5, 0.7)])
def test_equal_devices_over_rounds(devices, p, share):
    """Few values of the noise, of which some are rare: none of them is left out."""
    lower, upper = rounds.bracket(equal(devices, p), rounds=10, device=0, observer="signal")
    assert share * upper < lower < upper


@pytest.mark.parametrize("noise", [1e-20, 1e-17, 1e-15, 1e-13, 1e-9, 1e-7])
def test_values_of_the_noise_that_are_nearly_one(noise):
    system = equal(200, 0.5, noise, 4)
    lower, upper = observers.signal_bracket(system, device=0)
    assert 0.95 * upper < lower <= upper
    lower, upper = rounds.bracket(system, rounds=3, device=0, observer="signal")
    assert lower <= upper


@pytest.mark.parametrize(
    ("d", "s", "dimension", "adjacency"),
    [(1e-12, 1e-3, 1, "replace"), (1e-14, 1e-3, 1, "replace"), (0.1, 1e-9, 11, "silent"), (0.1, 1e-15, 11, "silent")],
)
def test_no_cell_is_so_narrow_that_its_probability_is_rounding(d, s, dimension, adjacency):
    """Of two laws that hardly differ the losses are small: those of narrow cells were rounding, up to 1e-15 of delta."""
    test = signal_lower_bound.SignalTest(
        v=np.array([1.0, 1.3]), weights=np.array([0.5, 0.5]), missing=0.0, p=0.5, d=d, s=s, dimension=dimension,
        adjacency=Adjacency(adjacency),
    )  # fmt: skip
    pair = test.released(1e-9)
    if adjacency == "silent":  # P is at least half of Q, but for the noise s
        assert pair.greatest_loss(reverse=True) <= np.log(2) + 1e-6
    else:
        assert pair.delta_bracket(np.array([1e-4]))[0] == 0


def test_a_probability_that_underflows_is_not_free():
    _, whole = of_whole_law(9)
    few = whole.ruled(1e-15)
    assert few._missed(1e-309) == np.inf and few._moved(0.0) == 1.0


@pytest.mark.parametrize("dimension", [2, 20, 784])
@pytest.mark.parametrize("p", [0.4, 1.0])
def test_cells_of_the_norm_tell_whose_noise_is_there(dimension, p):
    """A device without a signal, which adds noise or does not: chi-square tails of its squared norm."""
    own = 10 / dimension
    test = signal_lower_bound.SignalTest(np.ones(1), np.ones(1), 0.0, p, 0.0, own, dimension, Adjacency.ABSENT)
    pair = test.released(1e-6)
    epsilon = np.array([0.1, 0.5, 1.0])
    inner = 1 + np.expm1(epsilon) / p  # FDP-L4
    square = 2 * (1 + own) / own * (np.log(inner) + dimension / 2 * np.log1p(own))
    truth = p * (stats.chi2.sf(square / (1 + own), dimension) - inner * stats.chi2.sf(square, dimension))
    low, _ = pair.delta_bracket(epsilon)
    assert np.all((low <= truth * (1 + 1e-9)) & (low >= 0.99 * truth))
