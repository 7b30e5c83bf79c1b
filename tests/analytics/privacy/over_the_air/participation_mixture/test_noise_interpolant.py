"""Divergences interpolated in the others' noise, both ends from one value, and own noise that drowns all other."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.accounting import privacy_curve
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import observers, rounds
from airtight.analytics.privacy.over_the_air.participation_mixture import (
    build,
    evaluate,
    hidden_divergence,
    noise_interpolant,
)
from airtight.analytics.privacy.over_the_air.participation_mixture.noise_interpolant import NoiseInterpolant


def of_hidden(dimension, replace, reverse, eps, p, d, s):
    """A component, and the bound that proves its interpolation."""

    def component(v, i):
        each = (np.broadcast_to(np.asarray(x)[i, None] if np.ndim(x) else x, v.shape).ravel() for x in (eps, p, d))
        found = hidden_divergence.log_curve(
            *each, v.ravel(), np.full(v.size, s), dimension=dimension, replace=replace, reverse=reverse
        )
        return tuple(x.reshape(v.shape) for x in found)

    def largest(i, low, high, rho, slight, enough):
        one = np.ones(i.size)
        return hidden_divergence.log_largest(
            eps[i],
            p * one,
            d * one,
            s * one,
            low,
            high,
            rho,
            slight,
            enough=enough,
            dimension=dimension,
            replace=replace,
            reverse=reverse,
        )

    return component, largest


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([100, 300, 784, 25088]), st.sampled_from([(False, False), (True, False), (False, True)]),
    st.floats(0.01, 0.99), st.floats(-1.5, 0.3), st.floats(-2.0, 0.5), st.floats(0.05, 0.9), st.floats(-1.0, 1.0),
)  # fmt: skip
def test_a_proved_piece_is_within_its_error(dimension, order, p, log_d, log_s, width, log_eps):
    d, s = 10**log_d, 10**log_s
    eps = np.array([d * d, d]) * 10**log_eps
    v = np.tile(np.exp(np.linspace(0.0, width, 400)), (2, 1))
    component, largest = of_hidden(dimension, *order, eps, p, d, s)
    calls = []

    def counted(v, i):
        calls.append(v.size)
        return component(v, i)

    at = NoiseInterpolant(counted, largest, 1e-8, 0.0, dimension)
    value, slope, error = at(v, np.arange(2))
    some = np.linspace(0, 399, 23).astype(int)
    truth, its_slope, own = component(v[:, some], np.arange(2))
    close = np.isfinite(error[:, some]) & np.isfinite(own) & (truth > -600)
    assert np.all((np.abs(value[:, some] - truth) <= error[:, some] + own)[close])
    assert np.all(np.abs(slope[:, some] / np.where(its_slope == 0, 1, its_slope) - 1)[close & (its_slope < 0)] < 1e-3)
    shifted = np.sqrt(v[:, :-1] * v[:, 1:])
    for places, found in ((v, (value, error)), (shifted, at(shifted, np.arange(2))[::2])):
        np.testing.assert_array_equal(at.values(places, np.arange(2)), found)
    np.testing.assert_array_equal(at.values(v, np.arange(2)), (value, error))


def test_a_few_nodes_serve_the_dimension_of_the_paper():
    eps = np.array([0.02, 0.3, 1.0])
    component, largest = of_hidden(784, False, False, eps, 0.7, 0.27, 0.1)
    calls = []

    def counted(v, i):
        calls.append(v.size)
        return component(v, i)

    v = np.tile(np.linspace(0.5, 1.0, 2000), (3, 1))
    value, _, error = NoiseInterpolant(counted, largest, 1e-9, 0.0, 784)(v, np.arange(3))
    assert sum(calls) < 300 and np.max(error) < 1e-8
    np.testing.assert_allclose(value[:, ::500], component(v[:, ::500], np.arange(3))[0], atol=1e-9)


@pytest.mark.parametrize(
    ("eps", "near", "v"), [(0.3, 1.0, 0.8 + 0.15j), (0.05, 0.0, 0.7 - 0.1j), (0.5, 0.5, 0.75 + 0.1j)]
)
@pytest.mark.parametrize(("enough", "divided"), [(None, False), (1e3, False), (-1e3, True)])
def test_the_bound_on_an_ellipse_bounds_complex_values(eps, near, v, enough, divided):
    """The integral at a complex v, by mpmath, at a place that lies in the ellipse; also a bound that need not be close, and one
    whose panels are divided."""
    p, d, s, r = 0.7, 0.27, 0.1, 120
    low, high, rho = math.log(0.6), math.log(0.9), 3.0
    one = np.ones(1)
    found, _ = hidden_divergence.log_largest(
        eps * one, p * one, d * one, s * one, low * one, high * one, rho * one, -20 * one,
        enough=enough and enough * one, divided=divided, dimension=r, replace=near == 0.5, reverse=near == 0.0,
    )  # fmt: skip
    x = (2 * complex(mp.log(v)) - low - high) / (high - low)
    assert abs(x + complex(mp.sqrt(x - 1)) * complex(mp.sqrt(x + 1))) < rho
    with mp.workdps(20):
        v = mp.mpc(v)
        m, eta, a = d / mp.sqrt(v + s), s / v, mp.mpf(r - 1) / 2
        b = near * m

        def integrand(zeta):
            alpha = (eps + zeta) / m - m / 2
            chi = alpha + b
            over = mp.log(p / (1 - p) / mp.expm1(eps)) + mp.log(-mp.expm1(-zeta)) + eta * chi * chi / 2 + b * chi
            over += -b * b / 2 - mp.mpf(r) / 2 * mp.log(1 + eta)
            tau = -over / eta
            rest = mp.gammainc(a, tau, regularized=True)
            rest -= mp.exp(-over) * (1 + eta) ** -a * mp.gammainc(a, (1 + eta) * tau, regularized=True)
            return mp.exp(-alpha * alpha / 2) / mp.sqrt(2 * mp.pi) * -mp.expm1(-zeta) * rest / m

        value = mp.quad(integrand, [0, 0.01, 0.1, 0.3, 0.6, 1.0, 1.4])
    assert mp.log(abs(value)) <= found[0] < mp.log(abs(value)) + (60 if enough == 1e3 else 30)


def test_panels_are_divided_where_the_bound_is_great():
    """A sharp kink: a bound beyond e^100 becomes one that serves a rule."""
    one = np.ones(1)
    problem = (1e-4 * one, 0.48 * one, 0.0116 * one, 0.08 * one, 1.2 * one, 2.1 * one, 1.875 * one, -17 * one)
    options = {"enough": np.zeros(1), "dimension": 784, "replace": False}
    (rough,), _ = hidden_divergence.log_largest(*problem, **options)
    (close,), (doubt,) = hidden_divergence.log_largest(*problem, **options, divided=True)
    assert rough > 100 and close < 0 and doubt < -13
    zeta, panels = np.array([[0.0, 1.0, 2.0, *range(4, 24, 2)]]), np.zeros((1, 12))
    panels[0, [0, 3]] = 1.0
    divided = hidden_divergence._divided_where_great(zeta, panels)
    assert divided.shape == (1, 13 + 8 * 3) and np.all(np.diff(divided) > 0) and np.isin(zeta, divided).all()
    assert np.isin([0.25, 0.5, 0.75, 4.5, 5.0, 5.5], divided).all()


@pytest.mark.parametrize("eps", [1e-10, 1e-3, 0.03, 0.0749])
def test_the_better_branch_bounds_each_panel(eps):
    """A panel of epsilon's scale at which neither branch holds is cut; left of the kink no doubt is needed."""
    one = np.ones(1)
    found, doubt = hidden_divergence.log_largest(
        eps * one, 0.945 * one, 0.15177 * one, 0.0063 * one, np.log(1.64) * one, np.log(1.83) * one, 3 * one, -14.9 * one,
        dimension=784, replace=True,
    )  # fmt: skip
    assert found < 0 and doubt < -16


@pytest.mark.parametrize("eps", [0.178, 0.237])
def test_the_bound_follows_a_divergence_that_falls_far(eps):
    """Hidden participation, not the distance of the codes, makes it e^-123 and e^-191: the panels must reach farther."""
    one = np.ones(1)
    problem = (eps * one, 0.4255 * one, 0.0617 * one)
    value, _, _ = hidden_divergence.log_curve(*problem, 5.18 * one, 0.01 * one, dimension=300, replace=False, reverse=True)
    found, _ = hidden_divergence.log_largest(
        *problem, 0.01 * one, np.log(4.88) * one, np.log(5.18) * one, 3 * one, value - 8,
        dimension=300, replace=False, reverse=True,
    )  # fmt: skip
    assert value < found < value + 30


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from([100, 300, 3000]), st.sampled_from([(False, False), (True, False), (False, True)]),
    st.floats(0.02, 0.98), st.floats(-1.0, 0.3), st.floats(-2.5, -0.5), st.floats(0.5, 2.5), st.floats(-1.5, 1.0),
    st.floats(20, 300),
)  # fmt: skip
def test_what_hardly_counts_is_bracketed_and_its_curvature_bounded(dimension, order, p, log_d, log_s, width, log_eps, fall):
    d, s = 10**log_d, 10**log_s
    eps = np.array([d * 10**log_eps])
    v = np.linspace(1.0, np.exp(width), 5000)[None]
    component, largest = of_hidden(dimension, *order, eps, p, d, s)
    log_v = np.log(v[:, ::50])
    share = np.exp(-fall * log_v)  # of what contributes: so little far out that the ends of a piece suffice there
    contributions = noise_interpolant.Contributions(v[:, 0], np.array([np.inf]), log_v, share / np.sum(share))
    calls = []

    def counted(v, i):
        calls.append(v.size)
        return component(v, i)

    step = 2 * float(v[0, 1] - v[0, 0])
    at = NoiseInterpolant(counted, largest, 7.5e-6, step, dimension, contributions, third_cost=0.1 * step**3)
    value, _, error = at(v, np.zeros(1, dtype=int))
    some = np.linspace(100, 4900, 40).astype(int)
    below, truth, above = (component(v[:, some] + shift * 0.02 * v[:, some], np.zeros(1, dtype=int)) for shift in (-1, 0, 1))
    known = np.isfinite(truth[2]) & (truth[0] > -600)
    bracketed = np.isfinite(error[:, some])
    assert np.all((np.abs(value[:, some] - truth[0]) <= error[:, some] + truth[2] + 1e-14)[known & bracketed])
    assert np.all((truth[0] <= value[:, some] + truth[2] + 1e-14)[known & ~bracketed])
    with np.errstate(over="ignore", invalid="ignore"):
        second = (np.exp(below[0] - truth[0]) + np.exp(above[0] - truth[0]) - 2) / (0.02 * v[:, some]) ** 2
        rounded = 4 * (below[2] + truth[2] + above[2] + 1e-13) / (0.02 * v[:, some]) ** 2
        bound = np.exp(at.log_derivatives(v, step)[0][:, some] - truth[0])
    assert np.all((np.abs(second) <= bound + rounded)[known & np.isfinite(rounded)])
    of_second, of_third = (each[:, some] for each in at.log_derivatives(v, step))
    assert np.array_equal(np.isfinite(of_second), np.isfinite(of_third))
    far, farther = (component(v[:, some] + shift * 0.02 * v[:, some], np.zeros(1, dtype=int)) for shift in (-2, 2))
    with np.errstate(over="ignore", invalid="ignore"):
        each = [np.exp(x[0] - truth[0]) for x in (far, below, above, farther)]
        third = (each[3] - 2 * each[2] + 2 * each[1] - each[0]) / 2 / (0.02 * v[:, some]) ** 3
        rounded = 6 * (far[2] + below[2] + above[2] + farther[2] + 1e-13) / (0.02 * v[:, some]) ** 3
        bound = np.exp(of_third - truth[0])
    assert np.all((np.abs(third) <= bound + rounded)[known & np.isfinite(rounded)])


def test_bounds_of_derivatives_follow_the_unit_of_noise():
    eps, v, one = np.array([0.3]), np.linspace(1.0, 3.0, 5000)[None], np.zeros(1, dtype=int)
    found = []
    for unit in (1.0, 16.0):
        component, largest = of_hidden(784, False, False, eps, 0.7, 0.27 * math.sqrt(unit), 0.01 * unit)
        at = NoiseInterpolant(component, largest, 7.5e-6, 1e-3 * unit, 784)
        at(unit * v, one)
        found.append(at.log_derivatives(unit * v, 1e-3 * unit))
    assert np.all(np.isfinite(found))
    for order, (small, great) in zip((2, 3), zip(*found, strict=True), strict=True):
        np.testing.assert_allclose(great, small - order * math.log(16.0), atol=1e-6)


def test_a_divergence_known_from_above_only_is_cut_off():
    """At e^-866 the quadrature underflows: the series ends before, and one cell covers the rest."""
    calls = []

    def component(v, i):
        calls.append(v.size)
        same = (np.full(v.size, x) for x in (0.5623, 0.7207, 0.0221))
        found = hidden_divergence.log_curve(*same, v.ravel(), np.full(v.size, 0.0364), dimension=50, replace=False)
        return tuple(x.reshape(v.shape) for x in found)

    v = np.linspace(0.1, 4.67, 4000)[None]
    value, _, error = NoiseInterpolant(component, None, 7.5e-6, 0.0, 50)(v, np.zeros(1, dtype=int))
    assert sum(calls) < 500
    truth, _, own = component(v[:, ::100], np.zeros(1, dtype=int))
    known = np.isfinite(own)
    assert not np.all(known) and np.all(error[:, ::100][known] < 1e-3)
    assert np.all((np.abs(value[:, ::100] - truth) <= error[:, ::100] + own)[known])
    assert np.all((truth <= value[:, ::100])[~known]) and np.all(error[:, ::100][~known] == np.inf)


def smooth(doubt):
    calls = []

    def component(v, i):
        calls.append(v.size)
        value, slope, error = gaussian.log_curve(np.full(v.size, 0.5), 1 / np.sqrt(v.ravel()))
        return value.reshape(v.shape), slope.reshape(v.shape), (error + doubt).reshape(v.shape)

    return component, calls


@settings(max_examples=25, deadline=None)
@given(st.floats(-11, -6), st.floats(-1.0, 2.0), st.floats(0.01, 3.0))
def test_an_estimate_is_not_below_the_errors_of_the_nodes(digits, log_v, ratio):
    component, _ = smooth(10**digits)
    v = 10**log_v * np.exp(np.linspace(0.0, ratio, 400))[None, :]
    value, _, error = NoiseInterpolant(component, None, max(10**digits, 1e-9), 0.0, 1)(v, np.zeros(1, dtype=int))
    truth, _, own = component(v, np.zeros(1, dtype=int))
    assert np.all(np.abs(value - truth) <= error + own) and np.all(error >= 10**digits)


@pytest.mark.parametrize(
    "bend",
    [
        lambda v: 1e-2 * np.maximum(v - 1.4, 0.0),
        lambda v: 1e-5 * (v < 1.3),
        lambda v: 1e-6 * np.maximum(1.0005 - v, 0.0) / 5e-4,  # in the strip beyond the outermost node
    ],
)
def test_what_does_not_settle_is_computed_point_by_point(bend):
    def component(v, i):
        return -1 / v + bend(v), -1 / v, np.full(v.shape, 1e-12)

    v = np.linspace(1.0, 2.0, 300)[None, :]
    value, _, error = NoiseInterpolant(component, None, 1e-9, 0.0, 1)(v, np.zeros(1, dtype=int))
    np.testing.assert_array_equal(value, -1 / v + bend(v))
    np.testing.assert_array_equal(error, np.full(v.shape, 1e-12))


def test_what_vanishes_is_computed_up_to_where_it_does():
    """Beyond a kink the divergence is 0; a series ends where it is negligible, and the rest is one cell."""
    calls = []

    def component(v, i):
        calls.append(v.size)
        with np.errstate(divide="ignore"):
            return 30 * np.log(np.maximum(1.5 - v, 0.0)), -1 / v, np.full(v.shape, 1e-12)

    v = np.linspace(1.0, 2.0, 3000)[None, :]
    value, _, error = NoiseInterpolant(component, None, 1e-9, 0.0, 1)(v, np.zeros(1, dtype=int))
    truth = component(v, None)[0]
    assert np.all(truth[np.isinf(error)] <= value[np.isinf(error)]) and np.all(value[np.isinf(error)] < truth[0, 0] - 59)
    assert np.all(np.isinf(error[v > 1.5])) and sum(calls[:-1]) < 300
    bounded = np.isfinite(error) & (truth > -np.inf)
    assert np.sum(bounded) > 1200 and np.all(np.abs(value - truth)[bounded] <= error[bounded]) and np.max(error[bounded]) < 1e-8


@pytest.mark.parametrize("dimension", [1, 2, 5, 9, 50, 784])
def test_what_vanishes_like_a_known_power_is_a_series_up_to_there(dimension):
    """The absent device's law from that of the present one: where it vanishes, and the power, against values near by."""
    rng = np.random.default_rng(dimension)
    system = InferenceSystem(
        devices=14, participation=0.5, noise_variance=rng.uniform(0.1, 1.0, 14), weight=1.0, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.1, dimension=dimension, delta=1e-5, adjacency="absent",
    )  # fmt: skip
    part = rounds.query(system, 3, "others").in_composition(2)._part(0.0)
    v, d, own_noise = part.variance[0], part.sensitivity[0], part.own_noise[0]
    at = np.linspace(v[0] * 1.01, v[-1] * 1.2, 9)
    inner, i = d**2 / (2 * own_noise) + dimension / 2 * np.log1p(own_noise / at), np.arange(9)
    divergence = part._own_noise(inner, np.zeros(9, dtype=int), removing=False)[0]
    known, component = divergence.vanishing, divergence.component
    np.testing.assert_allclose(known.at, at, rtol=1e-9)
    share = np.array([1e-5, 1e-4])
    value, slope, _ = component(at[:, None] * (1 - share), i)
    assert np.all(component(at[:, None] * (1 + share), i)[0] == -np.inf)
    np.testing.assert_allclose(np.diff(value, axis=1)[:, 0], known.power * np.log(10), rtol=5e-3)
    # the slope in epsilon is the power times that of log v*, over the distance
    np.testing.assert_allclose(slope[:, 0], known.factor(at[:, None] * (1 - share))[1][:, 0], rtol=5e-3)
    calls = []
    divergence.component = lambda v, i: calls.append(v.size) or component(v, i)
    found, found_slope, error = divergence(np.tile(v, (9, 1)), i)
    truth, true_slope, own_error = component(np.tile(v, (9, 1)), i)
    assert sum(calls) < 80 * 9 < 9 * v.size
    np.testing.assert_array_equal(found == -np.inf, truth == -np.inf)
    positive = truth > -np.inf
    deviation = np.abs(found[positive] - truth[positive])
    assert np.all(deviation <= (error + own_error)[positive]) and np.max(error[positive]) < 1e-4
    np.testing.assert_allclose(found_slope[positive], true_slope[positive], rtol=1e-3, atol=1e-3)


def test_a_public_number_that_lay_below_the_truth():
    """A kink of the reverse order in the last strip of a piece: attacked, 30 digits."""
    system = InferenceSystem(
        devices=1, participation=0.04215, noise_variance=0.2829, weight=8.821, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.9213, dimension=1, delta=1e-5, delta_prime=1e-5, adjacency="silent",
    )  # fmt: skip
    one = rounds.curve(system, observer="others")
    low, high = privacy_curve.compose([one, privacy_curve.gaussian(1e-9)]).bracket(epsilon=0.2504, direction="reverse")
    assert low <= 1.449575397e-6 <= high


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.05, 4.0)), min_size=2, max_size=5),
    st.floats(0.05, 8.0),
    st.floats(1e-3, 12.0),
    st.integers(1, 1000),
)
def test_the_lower_end_from_one_evaluation_allows_for_all_that_was_rounded(others, clip, eps, dimension):
    """Noises up, the sensitivity down and epsilon further on, each by as much as may be: with 40 digits."""
    p, noise = np.array(others).T
    system = InferenceSystem(
        devices=len(others), participation=p, noise_variance=noise, weight=1.0, clip=clip, alignment=1.0,
        receiver_noise_variance=0.3, dimension=dimension, delta=1e-5, delta_prime=1e-5, adjacency="silent",
    )  # fmt: skip
    (part,) = build.participations(system, np.zeros(1, dtype=int), 0.0)
    low, high = evaluate.log_ends(part, np.array([eps]), np.zeros(1, dtype=int), reverse=False, doubt=1e-12)
    with mp.workdps(40):
        unit, at = mp.mpf(2) ** -52, mp.mpf(eps) * (1 + mp.mpf("1e-12"))
        d = mp.mpf(float(part.sensitivity[0])) * (1 - 16 * unit)
        total = mp.mpf(0)
        for v, weight in zip(part.variance[0], part.weights[0], strict=True):
            whole = mp.mpf(float(v)) * (1 + 3 * float(part.rounding[0])) + float(part.own_noise[0]) * (1 + 16 * unit)
            mu = d / mp.sqrt(whole)
            total += float(weight) * (mp.ncdf(mu / 2 - at / mu) - mp.exp(at) * mp.ncdf(-mu / 2 - at / mu))
        truth = total * float(part.participation[0])
        assert mp.exp(float(low[0])) <= truth * (1 + mp.mpf("1e-25")) and truth <= mp.exp(float(high[0]))
        assert low[0] > high[0] - 1e-7 * (1 + abs(high[0]))


@pytest.mark.parametrize(
    ("adjacency", "participation", "noise", "clip", "dimension"),
    [("silent", [0.3, 0.6, 0.8], 0.4, 0.7, 20), ("replace", [0.05, 0.6, 0.8], 0.2, 0.4, 784)],
)
def test_a_hidden_device_is_within_both(adjacency, participation, noise, clip, dimension):
    system = InferenceSystem(
        devices=3, participation=participation, noise_variance=noise, weight=1.0, clip=clip, alignment=1.0,
        receiver_noise_variance=0.3, dimension=dimension, delta=1e-5, delta_prime=1e-5, adjacency=adjacency,
    )  # fmt: skip
    query = rounds.query(system, 0, "others")
    eps = np.linspace(0.05, 0.39, 60)
    at = np.linspace(0.051, 0.385, 9)
    for reverse in (False, True):
        query.delta_bracket(eps, reverse=reverse)
        low, high = query.delta_bracket(at, reverse=reverse)
        least, most = rounds.query(system, 0, "others").delta_bracket(at, reverse=reverse)
        assert np.all(low <= most) and np.all(least <= high) and np.all(high <= most * (1 + 1e-7))


@pytest.mark.parametrize(
    ("eps", "p", "d", "v", "s"),
    [
        (1.274, 6e-4, 5.0, 0.0025, 0.1),
        (0.5, 0.9, 5.0, 0.0025, 0.1),
        (1.0, 0.5, 3.0, 0.0001, 0.1),
        (1e-3, 0.5, 12.0, 0.01, 1.0),
        (3.0, 0.9, 12.0, 0.01, 1.0),
        (0.5, 0.9, 20.0, 1.0, 1.0),
    ],
)
def test_own_noise_far_above_all_other_in_reverse(eps, p, d, v, s):
    """In one dimension, from densities: roots that are no doubles, and products of 0 and infinity."""
    wide, narrow = math.sqrt(v + s), math.sqrt(v)
    around = np.linspace(-40, 40, 100_001)
    y = np.unique(np.concatenate([around * wide, around * narrow, d + around * wide]))
    one, other, none = (stats.norm.pdf(y, m, scale) for m, scale in ((0, wide), (d, wide), (0, narrow)))
    gap = p * one + (1 - p) * none - math.exp(eps) * (p * other + (1 - p) * none)
    truth = float(np.trapezoid(np.maximum(gap, 0.0), y))
    each = [np.array([x]) for x in (eps, p, d, v, s)]
    value, _, error = hidden_divergence.log_curve(*each, dimension=1, replace=False, reverse=True)
    assert p * math.exp(value[0]) == pytest.approx(truth, rel=1e-6) and error[0] < 1e-9


def test_own_noise_far_above_all_other_in_two_dimensions():
    """Near epsilon 0 both orders have one delta."""
    system = InferenceSystem(
        devices=2, participation=[0.0006, 0.28], noise_variance=[5.55, 0.00076], weight=1.0, clip=37.0, alignment=1.0,
        receiver_noise_variance=0.13, dimension=2, delta=1e-5, delta_prime=1e-5, adjacency="silent",
    )  # fmt: skip
    query = rounds.query(system, 0, "others")
    forward, reverse = (query.delta_bracket(np.array([1e-9]), reverse=way)[0][0] for way in (False, True))
    assert forward == pytest.approx(reverse, rel=1e-5) and 0.0005 < reverse < 0.0006


@pytest.mark.parametrize("degree", [7, 4])
def test_the_table_of_the_gamma_function_in_pieces(degree):
    """Against 40 digits, on an array of several pieces and both of its ends."""
    table = hidden_divergence._UpperGamma.of(391.5, degree)
    last = table.first + table.step * table.coefficients.shape[0]
    tau = np.linspace(table.first - 5, last + 5, 3 * hidden_divergence._CACHED // 20 * 20 + 40).reshape(-1, 20)
    found = table(tau)
    with mp.workdps(40):
        for place in np.random.default_rng(0).integers(tau.size, size=60):
            truth = mp.gammainc(391.5, mp.mpf(tau.flat[place]), regularized=True)
            assert abs(found.flat[place] / truth - 1) < 256 * 2.3e-16 + 64 * 391.5 * 2.3e-16 + table.error
    assert np.array_equal(table(tau[7]), found[7])


def test_pieces_that_hold_many_values_are_halved_further(monkeypatch):
    """The divergence is evaluated less often, again where what contributes little may err by more; the bounds agree."""
    rng = np.random.default_rng(5)
    system = InferenceSystem(
        devices=12,
        participation=rng.uniform(0.3, 0.95, 12),
        noise_variance=rng.uniform(0.05, 0.2, 12),
        weight=rng.dirichlet(np.full(12, 5.0)),
        clip=rng.uniform(1, 5, 12),
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=784,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency="silent",
    )
    evaluated, compute = [], hidden_divergence.log_curve

    def counted(eps, *rest, **named):
        evaluated.append(eps.size)
        return compute(eps, *rest, **named)

    monkeypatch.setattr(hidden_divergence, "log_curve", counted)
    ends, halvings, least_share = [], noise_interpolant._MORE_HALVINGS, noise_interpolant._LEAST_SHARE
    for rounds_more, least in ((0, 1.0), (halvings, 1.0), (halvings, least_share)):
        monkeypatch.setattr(noise_interpolant, "_MORE_HALVINGS", rounds_more)
        monkeypatch.setattr(noise_interpolant, "_LEAST_SHARE", least)
        evaluated.clear()
        bounds = observers.exact_delta_bracket(system, 0.7, device=0, observer="others")
        ends.append((*bounds, sum(evaluated)))
    lower, upper, number = np.array(ends).T
    assert np.all(number[1:] < 0.6 * number[:-1])
    assert np.max(lower) <= np.min(upper) and np.all(upper / lower - 1 < 1e-9)
