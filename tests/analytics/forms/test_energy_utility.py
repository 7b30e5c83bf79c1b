"""The energy-utility problem: certified optima against brute force, a conic solver and the ledger; properties; every case."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.fair.device import table_1
from airtight.solvers.energy import exact as energy_exact
from airtight.solvers.energy import published as energy_published
from airtight.solvers.energy import schemes as energy_schemes
from airtight.solvers.energy.energy_problem import Case, Problem, lambert_exp, log_lambert_exp
from airtight.solvers.energy.utility import solve
from airtight.solvers.errors import InfeasibleError
from airtight.validate.experiments.monte_carlo import fleets

LINE = np.linspace(50, 200, 10)


def wide(count, seed):
    return fleets.wide(count, np.random.default_rng(seed))


def brute(fleet, points=201):
    p = Problem.of(fleet)
    u = np.linspace(0, 1, points)
    best = np.full(fleet.devices, -np.inf)
    for share in u:
        x = p.x_min + (p.x_max - p.x_min) * share
        t = p.t_min[:, None] + np.maximum(p.T - x - p.t_min, 0)[:, None] * u**2
        Z = np.minimum(p.a[:, None] / t, p.Z_max[:, None])
        best = np.maximum(best, p[(slice(None), None)].utility(x[:, None], Z).max(1))
    return best


def feasible(fleet, found):
    p = Problem.of(fleet)
    assert np.all(found.compute_time >= p.x_min * (1 - 1e-12))
    assert np.all(found.compute_time + found.transmit_time <= p.T * (1 + 1e-12))
    assert np.all(found.power <= fleet.max_power) and np.all(found.iterations >= fleet.min_iterations * (1 - 1e-12))
    assert found.utility == pytest.approx(fleet.utility(found.iterations, found.power), rel=1e-8, abs=1e-10)
    assert found.energy == pytest.approx(fleet.energy(found.iterations, found.power), rel=1e-8)


def test_certified_on_wide_instances():
    """Every case occurs; no gap above 1e-11; brute force never better."""
    fleet = wide(1500, 0)
    found = solve(fleet)
    feasible(fleet, found)
    assert found.gap.max() < 1e-11 and found.is_optimal()
    assert set(found.case) == {c.value for c in Case} - {Case.UNSOLVED.value}
    best = brute(fleet)
    assert np.all(best <= found.utility + found.gap + 1e-12)
    assert np.all(found.utility - best < 1e-3)


def test_agrees_with_the_conic_solver():
    fleet = wide(1000, 1)
    ours, theirs = solve(fleet), solve(fleet, method="cvxpy")
    feasible(fleet, theirs)
    assert np.abs(ours.utility - theirs.utility).max() < 1e-7
    assert np.all(ours.utility >= theirs.utility - 1e-12)


def test_gap_is_honest():
    """A point moved away from the optimum gets a gap that covers what it lost."""
    fleet = wide(400, 2)
    p, best = Problem.of(fleet), solve(fleet)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = p.x_min + (p.x_max - p.x_min) * rng.random(fleet.devices)
        t = p.t_min + np.maximum(p.T - x - p.t_min, 0) * rng.random(fleet.devices)
        Z = np.minimum(p.a / t, p.Z_max)
        lost = best.utility - p.utility(x, Z)
        assert np.all(p.gap_bound(x, Z) >= lost - 1e-12)


def test_numbers_of_the_ledger():
    found = solve(table_1(distance=LINE))
    assert (found.iterations[0], found.iterations[-1]) == (
        pytest.approx(98.46, abs=5e-3),
        pytest.approx(82.17, abs=5e-3),
    )
    assert (found.rate[0], found.rate[-1]) == (pytest.approx(5.568e6, rel=1e-3), pytest.approx(3.428e6, rel=1e-3))
    whole = solve(table_1(distance=[50.0, 200.0]), integer=True)
    assert whole.iterations.tolist() == [98.0, 82.0]
    assert whole.utility == pytest.approx([0.4014565573, 0.3683404748], abs=1e-9)
    assert whole.slack[0] == pytest.approx(2.2686e-3, abs=1e-7) and whole.energy[0] == pytest.approx(0.25)
    longer = table_1(distance=50.0, deadline=3.0)
    found, printed = solve(longer), solve(longer, method="published")
    assert found.iterations[0] == pytest.approx(445.9658, abs=1e-4) and found.slack[0] == pytest.approx(
        0.0838728, abs=1e-6
    )
    assert found.utility[0] == pytest.approx(0.5587850715, abs=1e-10)
    assert printed.utility[0] == pytest.approx(0.5586947143, abs=1e-9)
    assert printed.gap[0] == pytest.approx(found.utility[0] - printed.utility[0], abs=1e-9)
    tight = table_1(distance=50.0, max_power=1e-5, utility_energy=0.05, beta_1=0.002, deadline=1.5)
    assert solve(tight).utility[0] == pytest.approx(2.2893e-4, rel=1e-4) and solve(tight).case[0] == "slack"
    assert solve(tight, method="published").utility[0] == pytest.approx(-9.028e-3, rel=1e-3)
    none = table_1(distance=200.0, utility_energy=0.01, beta_1=1e-4, beta_2=0.5)
    assert math.isnan(solve(none, method="published").utility[0]) and solve(none, method="published").gap[0] == math.inf
    assert solve(none).slack[0] == pytest.approx(0.262, abs=1e-3)


def test_slack_threshold_of_the_ledger():
    """The delay constraint is active up to T = 2.916127166 s at 50 m."""
    for deadline, case in ((2.9161271, "delay active"), (2.9161273, "slack")):
        assert solve(table_1(distance=50.0, deadline=deadline)).case[0] == case


def test_target_out_of_reach():
    """Slow transmission that burns circuit power: the relaxation's argmax is not the optimum."""
    base = table_1()
    gain = 1e7 / base.gain[0]
    fleet = table_1(channel_gain=gain, max_power=0.05, compute_power=0.02, circuit_power=0.4, beta_1=0.01, beta_2=0.05)
    found = solve(fleet)
    assert found.case[0] == Case.NONCONVEX.value and found.gap[0] < 1e-11
    assert found.compute_time[0] == pytest.approx(0.14467101, abs=1e-6)
    assert found.energy[0] == pytest.approx(0.245, abs=1e-4) and found.utility[0] == pytest.approx(0.0630376, abs=1e-7)
    p = Problem.of(fleet)
    assert p.utility(p.x_max, p.Z_max)[0] == pytest.approx(0.0437281, abs=1e-7)


def test_whole_iterations_against_every_number():
    fleet = wide(300, 3)
    last = np.floor(Problem.of(fleet).x_max / fleet.iteration_time * (1 + 1e-14))
    fleet = fleet.only(np.flatnonzero(np.ceil(fleet.min_iterations) <= last))
    p, found = Problem.of(fleet), solve(fleet, integer=True)
    assert np.all(found.iterations == np.rint(found.iterations))
    assert np.all(found.gap >= 0) and np.all(found.slack >= 0)
    for k in range(fleet.devices):
        every = np.arange(math.ceil(fleet.min_iterations[k]), math.floor(p.x_max[k] / p.A[k] * (1 + 1e-14)) + 1)
        one = p[np.full(every.size, k)]
        x = np.minimum(every * one.A, one.x_max)
        best = one.utility(x, energy_exact.best_rate(one, x)).max()
        assert found.utility[k] == pytest.approx(best, rel=1e-12, abs=1e-12)


def test_best_rate_for_given_iterations():
    fleet = wide(200, 4)
    p = Problem.of(fleet)
    x = p.x_min + 0.6 * (p.x_max - p.x_min)
    found = p.utility(x, energy_exact.best_rate(p, x))
    for share in np.linspace(0, 1, 401):
        t = p.t_min + (p.T - x - p.t_min) * share
        assert np.all(p.utility(x, np.minimum(p.a / t, p.Z_max)) <= found + 1e-10)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.floats(1.0, 2.0))
def test_more_time_and_more_power_never_hurt(seed, factor):
    fleet = wide(40, seed)
    best = solve(fleet).utility
    for name in ("deadline", "max_power"):
        more = dataclasses.replace(fleet, **{name: getattr(fleet, name) * factor})
        assert np.all(solve(more).utility >= best - 1e-11)


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_permutation_and_one_by_one(seed):
    fleet = wide(20, seed)
    order = np.random.default_rng(seed).permutation(fleet.devices)
    together = solve(fleet)
    shuffled = solve(fleet.only(order))
    assert shuffled.utility.tolist() == together.utility[order].tolist()
    alone = [float(solve(fleet.only([k])).utility[0]) for k in range(fleet.devices)]
    assert alone == pytest.approx(together.utility.tolist(), rel=1e-12)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.2, 5))
def test_units_of_time(seed, scale):
    """Seconds in another unit: times and 1/powers scale, energies and utilities stay."""
    fleet = wide(20, seed)
    slower = dataclasses.replace(
        fleet,
        deadline=fleet.deadline * scale,
        seconds_per_bit=fleet.seconds_per_bit * scale,
        bandwidth=fleet.bandwidth / scale,
        compute_power=fleet.compute_power / scale,
        circuit_power=fleet.circuit_power / scale,
        max_power=fleet.max_power / scale,
    )  # the noise power N_0 B falls with the bandwidth, so the gain rises as powers fall
    assert solve(slower).utility == pytest.approx(solve(fleet).utility, rel=1e-9, abs=1e-11)


def test_continuous_across_cases():
    deadlines = np.linspace(2.9, 2.93, 301)
    found = solve(table_1(distance=50.0, deadline=deadlines))
    assert set(found.case) == {"slack", "delay active"}
    assert np.abs(np.diff(found.iterations)).max() < 0.05 and np.abs(np.diff(found.utility)).max() < 1e-6


def test_stationarity_on_the_edge():
    found_all = wide(300, 5)
    found = solve(found_all)
    p = Problem.of(found_all)
    inner = (found.case == Case.DELAY.value) & (found.compute_time > p.x_min * 1.001)
    Z = (p.a / found.transmit_time)[inner]
    q = p[inner]
    residual = energy_published.residual(q, Z)
    scale = q.beta_1 / q.beta_2 * np.exp(-q.P_cp * found.compute_time[inner] / q.beta_2)
    below = np.maximum(q.Z_0, q.a / (q.T - q.x_min)) * (1 + 1e-9) < Z
    assert np.abs(residual[below] / scale[below]).max() < 1e-6


def test_published_fails_where_the_ledger_says():
    fleet = wide(1500, 6)
    best, printed = solve(fleet), solve(fleet, method="published")
    short = printed.gap > 1e-7
    allowed = (best.case == Case.SLACK.value) | (best.case == Case.NONCONVEX.value)
    assert 0.1 < short.mean() < 0.6
    assert np.all(allowed[short & np.isfinite(printed.gap)])
    good = (best.case == Case.DELAY.value) & np.isfinite(printed.gap)
    assert printed.gap[good].max() < 1e-7


def test_roots_of_39():
    base = table_1()
    fleet = table_1(channel_gain=1e7 / base.gain[0], max_power=0.5, compute_power=0.02, circuit_power=0.4, beta_1=0.01)
    assert int(energy_published.roots(fleet)[0]) in (0, 1, 2, 3)
    assert energy_published.roots(table_1(distance=LINE)).tolist() == [1] * 10


@given(st.floats(-700, 700))
def test_lambert_of_exponentials(L):
    y = float(log_lambert_exp(np.array([L]))[0])
    assert y + math.exp(y) == pytest.approx(L, rel=1e-13, abs=1e-13)
    assert float(lambert_exp(np.array([L]))[0]) == pytest.approx(math.exp(y))


@given(st.floats(1e-12, 1e7))
def test_cheapest_rate(power_ratio):
    """(Z - 1) e^Z + 1 = rho g P_cir at Z_0, for any circuit power."""
    import mpmath

    fleet = table_1(circuit_power=power_ratio / float(0.45 * table_1().gain[0]))
    p = Problem.of(fleet)
    with mpmath.workdps(40):
        exact = 1 + mpmath.lambertw((mpmath.mpf(float((p.P_cir / p.inverse_gain)[0])) - 1) / mpmath.e)
    assert float(p.Z_0[0]) == pytest.approx(float(exact.real), rel=1e-10)


def test_no_circuit_power():
    found = solve(table_1(distance=LINE, circuit_power=0.0))
    assert found.gap.max() < 1e-11


@pytest.mark.parametrize("integer", [False, True])
def test_the_least_deadline_is_feasible_and_no_shorter_one_is(integer):
    with pytest.raises(InfeasibleError) as caught:
        solve(table_1(min_iterations=10.5, deadline=0.2), integer=integer)
    assert caught.value.least_deadline == pytest.approx(0.2173713 if integer else 0.2143607, abs=1e-7)
    rng = np.random.default_rng(1)
    for _ in range(60):
        fleet = table_1(min_iterations=rng.uniform(0, 30), deadline=0.05, distance=rng.uniform(20, 400, 3))
        with pytest.raises(InfeasibleError) as caught:
            solve(fleet, integer=integer)
        least = caught.value.least_deadline
        found = solve(dataclasses.replace(fleet, deadline=least), integer=integer)
        assert np.all(found.compute_time + found.transmit_time <= least * (1 + 1e-15))
        assert np.all(found.iterations >= fleet.min_iterations * (1 - 1e-12))
        with pytest.raises(InfeasibleError):
            solve(dataclasses.replace(fleet, deadline=least * (1 - 1e-12)), integer=integer)


def test_least_deadline_in_the_error():
    with pytest.raises(InfeasibleError, match=r"device 1.*least feasible deadline is") as caught:
        solve(table_1(distance=[50.0, 200.0], deadline=[0.75, 0.2]))
    least = caught.value.least_deadline
    assert solve(table_1(distance=200.0, deadline=least * (1 + 1e-9))).utility.size == 1
    with pytest.raises(InfeasibleError):
        solve(table_1(distance=200.0, deadline=least * (1 - 1e-9)))
    with pytest.raises(InfeasibleError, match="too short for 1 iterations"):
        solve(table_1(distance=50.0, deadline=0.5, min_iterations=0.1, bits_per_iteration=6.67e7), integer=True)
    with pytest.raises(ParameterError, match="method"):
        solve(table_1(), method="exact")
    with pytest.raises(ParameterError, match="integer"):
        solve(table_1(), integer="yes")


def test_benchmark_tables_of_the_ledger():
    """Sec. 5: literal, tuned power, tuned linear cost, for three beta_1."""
    for beta_1, literal, power, linear in (
        (0.02, 99.49, 99.04, 99.55),
        (0.1, 97.56, 95.45, 97.89),
        (0.5, 89.78, 82.13, 91.69),
    ):
        fleet = table_1(distance=LINE, beta_1=beta_1)
        first = energy_schemes.compare(fleet, energy_schemes.benchmark_energy(fleet))
        assert 100 * first.std_cut == pytest.approx(literal, abs=0.01)
        goal = first.proposed.mean / (1 - 0.1217)
        tuned = energy_schemes.benchmark_energy(fleet, power=energy_schemes.power_for_mean(fleet, goal))
        assert 100 * energy_schemes.compare(fleet, tuned).std_cut == pytest.approx(power, abs=0.02)
        priced = energy_schemes.linear_cost_energy(fleet, energy_schemes.price_for_mean(fleet, goal))
        assert 100 * energy_schemes.compare(fleet, priced).std_cut == pytest.approx(linear, abs=0.02)


def test_fading_rounds():
    fleet = table_1(distance=LINE, beta_1=0.02)
    rounds = energy_schemes.faded(fleet, 200, np.random.default_rng(2024))
    kept = [f for f in rounds if np.all(f.feasible)]
    assert len(kept) >= 195
    ours = np.mean([solve(f).energy for f in kept], axis=0)
    other = np.mean([energy_schemes.benchmark_energy(f) for f in kept], axis=0)
    assert 1 - np.std(ours) / np.std(other) > 0.98


def test_the_gap_is_relative_to_the_utility():
    """Energies in units of 1 mJ instead of 1 J: the same plan, the same verdict."""
    for unit in (1.0, 1e-3, 1e-6):
        fleet = table_1(
            distance=50.0,
            compute_power=0.096 * unit,
            circuit_power=0.0825 * unit,
            max_power=1.0 * unit,
            noise_density_dbm=-174.0 + 10 * np.log10(unit),
            utility_energy=0.5 * unit,
            beta_1=0.5 * unit**2,
            beta_2=0.05 * unit,
        )
        best, most = solve(fleet), solve(fleet, method="published")
        worse = dataclasses.replace(best, gap=best.gap + 0.01 * best.utility)
        assert best.is_optimal() and not worse.is_optimal()
        assert most.scale / unit**2 == pytest.approx(solve(table_1(distance=50.0), method="published").scale, rel=0.5)
