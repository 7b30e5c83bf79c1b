"""No mechanism beats the limit: those that a linear program finds, Gaussian ones, and systems over the air."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import coo_array

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.distortion import worst_case, worst_constant_output
from airtight.analytics.limits.minimax import chain_of_data, minimax_error, moving_together, of_system, of_tasks
from airtight.analytics.limits.power import PowerFunction
from airtight.analytics.privacy.accounting.privacy_curve import gaussian, laplace, randomized_response


def base(**values):
    plain = {
        "devices": 12, "participation": 1.0, "noise_variance": 1e-3, "weight": 1 / 12, "clip": 1.0, "alignment": 1.0,
        "receiver_noise_variance": 1e-3, "dimension": 784, "delta": 1e-5, "adjacency": "silent",
    }  # fmt: skip
    return airtight.InferenceSystem(**(plain | values))


def best_mechanism(power, devices, adjacency, outputs):
    """The least worst error of all mechanisms on a grid of outputs that keep each line of F: a linear program.

    Devices hold -1, 0 or 1. A line P(A) <= e^s P'(A) + c for all events A is sum_o (P(o) - e^s P'(o))_+ <= c.
    """
    data = np.stack(np.meshgrid(*[[-1, 0, 1]] * devices, indexing="ij"), axis=-1).reshape(-1, devices)
    number = {tuple(row): i for i, row in enumerate(data.tolist())}
    pairs = []
    for row in data.tolist():
        for j in range(devices):
            for value in (-1, 0, 1):
                other = [*row[:j], value, *row[j + 1 :]]
                if value != row[j] and (adjacency == "replace" or 0 in (value, row[j])):
                    pairs.append((number[tuple(row)], number[tuple(other)]))
    lines = [(s, c) for s, c in zip(power.log_slope, power.intercept, strict=True) if s > -np.inf]
    size, laws = outputs.size, len(data) * outputs.size
    rows, columns, values, right = [], [], [], []

    def add(entries, bound):
        rows.extend([len(right)] * len(entries))
        columns.extend(column for column, _ in entries)
        values.extend(value for _, value in entries)
        right.append(bound)

    error, excess = laws, laws + 1  # the worst error; then the positive parts, for each pair, line and output
    for i, row in enumerate(data):
        squares = (outputs - np.mean(row)) ** 2
        add([*((i * size + o, squares[o]) for o in range(size)), (error, -1.0)], 0.0)
    for i, j in pairs:
        for s, c in lines:
            for o in range(size):
                add([(i * size + o, 1.0), (j * size + o, -np.exp(s)), (excess + o, -1.0)], 0.0)
            add([(excess + o, 1.0) for o in range(size)], c)
            excess += size
    sums = coo_array(
        (np.ones(laws), (np.repeat(np.arange(len(data)), size), np.arange(laws))), shape=(len(data), excess)
    )
    bounds = coo_array((values, (rows, columns)), shape=(len(right), excess))
    cost = np.zeros(excess)
    cost[error] = 1.0
    solved = linprog(cost, A_ub=bounds.tocsr(), b_ub=right, A_eq=sums.tocsr(), b_eq=np.ones(len(data)), method="highs")
    assert solved.status == 0
    return solved.fun


def limit_of(power, devices, adjacency):
    groups = moving_together(power, devices, 1, largest=devices).value
    return max(groups, chain_of_data(power, devices, 1, Adjacency(adjacency)).value) / devices**2


def few_lines(mu, count):
    """Some lines of a Gaussian mechanism: a guarantee of its own, which a linear program can keep in full."""
    full = PowerFunction.gaussian(mu)
    chosen = np.unique(np.linspace(0, full.log_slope.size - 2, 60).round().astype(int))
    near = chosen[np.argsort(np.abs(np.abs(full.log_slope[chosen]) - mu))[:count]]
    mirrored = np.append(full.log_slope[near], -full.log_slope[near])
    reflected = -np.expm1(-full.log_slope[near]) + np.exp(-full.log_slope[near]) * full.intercept[near]
    return PowerFunction.least(mirrored, np.append(full.intercept[near], reflected))


GRID = np.linspace(-1, 1, 41)


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_no_pure_mechanism_of_one_device_beats_the_limit(epsilon, adjacency):
    power = PowerFunction.least(np.array([epsilon, -epsilon]), np.array([0.0, -np.expm1(-epsilon)]))
    best, limit = best_mechanism(power, 1, adjacency, GRID), limit_of(power, 1, adjacency)
    assert limit <= best
    assert best <= limit * (1.05 if epsilon <= 1 else 1.5)  # a factor of a tenth in the limit would be seen


@pytest.mark.parametrize("mu", [0.5, 1.0, 1.5])
def test_the_best_mechanism_of_one_device_with_lines_of_a_gaussian(mu):
    power = few_lines(mu, 6)
    best, limit = best_mechanism(power, 1, "silent", GRID), limit_of(power, 1, "silent")
    assert limit <= best <= limit * 1.05


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
@pytest.mark.parametrize("epsilon", [0.2, 0.8])
def test_no_pure_mechanism_of_two_devices_beats_the_limit(epsilon, adjacency):
    power = PowerFunction.least(np.array([epsilon, -epsilon]), np.array([0.0, -np.expm1(-epsilon)]))
    best, limit = best_mechanism(power, 2, adjacency, np.linspace(-1, 1, 25)), limit_of(power, 2, adjacency)
    assert limit <= best <= limit * 1.1


def test_no_approximate_mechanism_of_two_devices_beats_the_limit():
    epsilon, delta = 0.3, 0.1
    reflected = -np.expm1(-epsilon) + np.exp(-epsilon) * delta
    power = PowerFunction.least(np.array([epsilon, -epsilon]), np.array([delta, reflected]))
    best, limit = best_mechanism(power, 2, "silent", np.linspace(-1, 1, 17)), limit_of(power, 2, "silent")
    assert limit <= best <= limit * 1.25


NUMBERS = [  # of the page on limits: devices, dimension, mu, silent, replace
    (12, 784, 1.0, 0.8321, 0.8321),
    (50, 784, 0.5, 0.4503, 0.4503),
    (1000, 784, 0.1, 0.0515, 0.0515),
    (12, 16, 0.5, 0.1910, 0.1910),
    (1000, 16, 0.1, 1.403e-3, 4.69e-3),
    (1, 1, 0.5, 0.7959, 0.9410),
    (3, 1, 0.5, 0.2465, 0.6192),
]


@pytest.mark.parametrize("devices, dimension, mu, silent, replace", NUMBERS)
def test_numbers_of_the_page(devices, dimension, mu, silent, replace):
    for adjacency, printed in (("silent", silent), ("replace", replace)):
        limit = minimax_error(gaussian(mu), devices=devices, dimension=dimension, clip=1.0, adjacency=adjacency)
        assert printed <= limit.error <= printed * 1.001 + 1e-4 * printed


@settings(max_examples=12, deadline=None)
@given(
    st.integers(1, 5000),
    st.integers(1, 3000),
    st.floats(1e-9, 6.0),
    st.sampled_from(["silent", "replace", "absent"]),
)
def test_the_gaussian_mechanism_never_beats_the_limit(devices, dimension, mu, adjacency):
    """With the best shrinkage its worst error is 1 / (1 + kappa); for replace the sensitivity of the mean is 2 / n."""
    kappa = (devices * mu) ** 2 / dimension / (4 if adjacency == "replace" else 1)
    limit = minimax_error(gaussian(mu), devices=devices, dimension=dimension, clip=1.0, adjacency=adjacency)
    assert 0 <= limit.error <= 1 / (1 + kappa)
    if adjacency != "absent":
        assert limit.error * 8 >= 1 / (1 + kappa) or mu * mu > 1e-2 * dimension or mu > 0.5


@settings(max_examples=5, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(1, 900),
    st.floats(0.05, 1.0),
    st.floats(1e-6, 1.0),
    st.floats(1e-6, 1.0),
    st.sampled_from(["silent", "replace", "absent"]),
    st.floats(0.2, 2.0),
)
def test_no_system_beats_its_limit(devices, dimension, participation, noise, receiver, adjacency, clip):
    system = base(
        devices=devices, dimension=dimension, participation=participation, noise_variance=noise, clip=clip,
        receiver_noise_variance=receiver, adjacency=adjacency, weight=1 / devices,
    )  # fmt: skip
    limit = of_system(system)
    gains = np.append(np.geomspace(1e-4, 1, 30), [1 / participation])
    least = min(worst_case(system.replace(decoder_gain=gain)).total for gain in gains)
    assert limit.error <= min(least, worst_constant_output(system))
    assert np.isclose(limit.ratio, worst_case(system).total / limit.error)


@pytest.mark.parametrize("observer", ["participants", "others", "signal"])
def test_an_observer_who_sees_more_lowers_the_limit_of_no_scheme_below_another(observer):
    system = base(participation=0.5, observer=observer)
    assert 0 < of_system(system).error <= worst_case(system).total


def test_unlike_devices_and_weights():
    rng = np.random.default_rng(5)
    for _ in range(2):
        noise, clip = rng.uniform(1e-4, 1e-2, 4), rng.uniform(0.1, 2, 4)
        system = base(devices=4, dimension=50, noise_variance=noise, clip=clip, weight=0.25)
        weights = rng.normal(0, 1, 4)
        limit = of_system(system, weight=weights)
        assert 0 < limit.error <= np.sum(np.abs(weights) * clip) ** 2
        assert np.isclose(of_system(system, weight=-weights).error, limit.error)
        assert np.isclose(of_system(system, weight=10 * weights).error, 100 * limit.error)
        assert of_system(system).error <= worst_case(system).total


def test_devices_without_influence_change_nothing():
    alone = minimax_error(gaussian(0.5), devices=3, dimension=9, clip=1.0, weight=1 / 3)
    with_silent = minimax_error(gaussian(0.5), devices=5, dimension=9, clip=1.0, weight=[1 / 3] * 3 + [0.0, 0.0])
    assert np.isclose(alone.error, with_silent.error, rtol=1e-12)


def test_a_device_that_never_sends_is_missed_in_full():
    system = base(participation=np.append(0.0, np.ones(11)), noise_variance=1e-12, receiver_noise_variance=1e-12)
    assert of_system(system).error >= (1 / 12) ** 2 * (1 - 1e-9)


def test_absent_systems_have_groups_of_one():
    limit = of_system(base(adjacency="absent", participation=0.5))
    assert "of 1 device " in limit.how
    assert of_system(base(adjacency="absent", idle_noise=True)).error > limit.error


def test_several_rounds_are_compared_by_round():
    assert of_system(base(rounds=50)).error == of_system(base()).error


@pytest.mark.parametrize("curve", [gaussian(0.0), gaussian(1e-9), gaussian(700.0), laplace(1e-9), randomized_response(5.0, 2)])
@pytest.mark.parametrize("devices, dimension", [(1, 10**6), (10**6, 1)])
def test_extremes_stay_in_order(curve, devices, dimension):
    limits = [
        minimax_error(curve, devices=devices, dimension=dimension, clip=1.0, adjacency=adjacency).error
        for adjacency in ("silent", "absent")
    ]
    assert 0 <= limits[1] <= limits[0] <= 1


def test_clips_beyond_the_squares_of_doubles():
    assert minimax_error(gaussian(0.1), devices=2, dimension=3, clip=1e200).error == np.finfo(float).max
    assert minimax_error(gaussian(0.1), devices=2, dimension=3, clip=1e-200).error == 0.0


BAD = [("devices", 0), ("dimension", 0), ("clip", 0.0), ("weight", np.nan), ("adjacency", "bad")]


@pytest.mark.parametrize("name, value", BAD)
def test_bad_input_is_named(name, value):
    values = {"devices": 2, "dimension": 3, "clip": 1.0, "weight": 0.5} | {name: value}
    with pytest.raises(ParameterError, match=name):
        minimax_error(gaussian(1.0), **values)


def test_too_many_unlike_devices_are_refused():
    with pytest.raises(ParameterError, match="devices"):
        of_system(base(devices=20, participation=np.linspace(0.1, 0.9, 20), weight=0.05))


def task(*rows):
    return airtight.Features(f=np.array(rows, dtype=float), W=np.eye(len(rows[0])), D=np.eye(len(rows[0])))


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
def test_no_mechanism_that_knows_the_tasks_beats_the_limit_of_their_mean(mu):
    """A linear program over all kernels to a grid in the plane, which keep lines of the Gaussian mechanism."""
    rng = np.random.default_rng(3)
    targets = rng.uniform(-0.7, 0.7, (6, 2))
    system = base(devices=1, dimension=2, weight=1.0, noise_variance=1 / mu**2, receiver_noise_variance=0.0)
    limit = of_tasks(system, [task(row) for row in targets])
    axis = np.linspace(-0.7, 0.7, 9)
    grid = np.append(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2), targets, axis=0)
    size, number = len(grid), len(targets)
    squares = np.sum((targets[:, None] - grid) ** 2, axis=2)
    power = PowerFunction.gaussian(mu)
    lines = [(power.log_slope[i], power.intercept[i]) for i in np.linspace(0, power.log_slope.size - 2, 25).astype(int)]
    laws = (number + 1) * size  # the last is that of silent devices
    rows, columns, values, right, excess = [], [], [], [], laws
    for i in range(number):
        for s, c in lines:
            for o in range(size):
                rows += [len(right)] * 3
                columns += [i * size + o, number * size + o, excess + o]
                values += [1.0, -np.exp(s), -1.0]
                right.append(0.0)
            rows += [len(right)] * size
            columns += list(range(excess, excess + size))
            values += [1.0] * size
            right.append(c)
            excess += size
    cost = np.append(squares.ravel() / number, np.zeros(excess - number * size))
    sums = coo_array((np.ones(laws), (np.repeat(np.arange(number + 1), size), np.arange(laws))), (number + 1, excess))
    bounds = coo_array((values, (rows, columns)), (len(right), excess))
    best = linprog(cost, bounds.tocsr(), right, sums.tocsr(), np.ones(number + 1), method="highs")
    assert best.status == 0
    assert 0 < limit.error <= best.fun <= 7 * limit.error


def test_tasks_at_equal_distances_and_perfect_privacy():
    """Four targets at the corners of a simplex: balls with c of them have the squared radius d (c - 1) / 2c."""
    system = base(devices=1, dimension=4, weight=0.0)
    limit = of_tasks(system, [task(row) for row in np.eye(4)])
    squared = [2 * (c - 1) / (2 * c) for c in range(1, 5)]
    assert np.isclose(limit.error, sum((1 - c / 4) * (squared[c] - squared[c - 1]) for c in range(1, 4)), rtol=1e-9)
    assert np.isclose(limit.ratio * limit.error, np.mean([airtight.mse(system, task(row)) for row in np.eye(4)]))


def test_one_task_has_no_limit_and_absent_tasks_are_refused():
    assert of_tasks(base(devices=1, dimension=2, weight=1.0), [task((0.3, 0.1))]).error == 0
    with pytest.raises(ParameterError, match="adjacency"):
        of_tasks(base(devices=1, dimension=2, weight=1.0, adjacency="absent"), [task((0.3, 0.1))] * 2)


def test_no_system_beats_the_limit_of_its_tasks():
    rng = np.random.default_rng(8)
    for noise in (1e-3, 0.1, 10.0):
        tasks = [task(*(rng.standard_normal((3, 5)) / 3)) for _ in range(40)]
        system = base(devices=3, dimension=5, weight=1 / 3, noise_variance=noise, participation=0.7)
        limit = of_tasks(system, tasks)
        gains = np.geomspace(1e-4, 2, 30)
        least = min(np.mean([airtight.mse(system.replace(decoder_gain=g), one) for one in tasks]) for g in gains)
        spread = np.mean(np.sum((np.array([t.target for t in tasks]) - np.mean([t.target for t in tasks], axis=0)) ** 2, axis=1))
        assert 0 <= limit.error <= min(least, spread)


def test_the_verb_takes_a_curve_or_a_system():
    system = base()
    assert airtight.minimax_error(system) == of_system(system)
    limit = airtight.minimax_error(gaussian(0.5), devices=12, dimension=784, clip=1.0, adjacency="replace")
    assert limit == minimax_error(gaussian(0.5), devices=12, dimension=784, clip=1.0, adjacency="replace")
    with pytest.raises(ParameterError, match="clip"):
        airtight.minimax_error(gaussian(0.5), devices=12, dimension=784)
    with pytest.raises(ParameterError, match="devices"):
        airtight.minimax_error(system, devices=12)


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
@pytest.mark.parametrize("devices, dimension", [(1, 3), (3, 2), (5, 5), (7, 3), (30, 4)])
def test_no_proof_uses_more_devices_or_coordinates_than_there_are(devices, dimension, adjacency):
    for mu in (0.3, 0.8, 1.2, 2.0, 3.0):
        power = PowerFunction.gaussian(mu)
        k, m = map(int, re.findall(r"\d+", moving_together(power, devices, dimension, largest=devices).how)[:2])
        assert k * m <= devices and k <= dimension
        k, s, j = map(int, re.findall(r"\d+", chain_of_data(power, devices, dimension, Adjacency(adjacency)).how)[:3])
        assert s * j <= (2 if adjacency == "silent" else 1) * (devices // k) and k <= dimension


def test_another_target_is_compared_with_the_output_0():
    system = base(devices=4, participation=0.9, noise_variance=0.02, weight=0.25, receiver_noise_variance=0.05, dimension=6)
    assert all(of_system(system, weight=w).ratio >= 1 for w in (0.025, 0.25, 2.5))


def test_what_overflows_is_no_error():
    """The limit is then below the truth, not above it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wide = minimax_error(gaussian(1.0), devices=2, dimension=2, clip=[1e-80, 1e80])
        alone = minimax_error(gaussian(1.0), devices=1, dimension=2, clip=1e80)
        assert wide.error == pytest.approx(alone.error / 4, rel=1e-6)  # a mean over two
        assert minimax_error(gaussian(1e200), devices=1, dimension=1, clip=1.0).error >= 0
        assert minimax_error(gaussian(0.0), devices=3, dimension=2, clip=1.0, weight=[0, 1, 1]).error > 0
        assert of_system(base(clip=1e10, noise_variance=1e-300)).error >= 0
