"""Optima proved without rounding: the rational and the ball certificate hold what brute force finds, and errors widen them."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from airtight.analytics.federated.fair.device import table_1
from airtight.results.energy import EnergyResult
from airtight.results.schema import as_json
from airtight.solvers import energy
from airtight.solvers.energy import proved_gap
from airtight.solvers.weights import dual_newton, solution
from airtight.solvers.weights.quadratic import Multipliers, QuadraticProgram, multipliers


def _program(seed, *, sums_to_one=True, flat=False):
    rng = np.random.default_rng(seed)
    K, r = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    return QuadraticProgram(
        d=np.zeros(K) if flat else rng.uniform(0.1, 3.0, K),
        g=rng.normal(size=K),
        upper=rng.uniform(0.3, 1.0, K) if sums_to_one else rng.uniform(0.1, 2.0, K),
        V=rng.normal(size=(K, r)),
        c=rng.normal(size=r),
        constant=float(rng.uniform()),
        sums_to_one=sums_to_one,
    )


def _solved(program):
    found = dual_newton.minimise(program)
    return found.w, multipliers(program, found.w, found.nu)


def _value(program, w):
    """F in rational numbers, from its definition."""
    d, g, c = ([Fraction(x) for x in part] for part in (program.d, program.g, program.c))
    y = [
        sum(Fraction(v) * x for v, x in zip(column, w, strict=True)) - b
        for column, b in zip(program.V.T, c, strict=True)
    ]
    own = sum(a * x * x / 2 + b * x for a, b, x in zip(d, g, w, strict=True))
    return own + sum(v * v for v in y) / 2 + Fraction(program.constant)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("sums_to_one", [True, False])
def test_the_optimum_lies_between_the_two_numbers(seed, sums_to_one):
    program = _program(seed, sums_to_one=sums_to_one)
    if sums_to_one and program.upper.sum() < 1.01:
        pytest.skip("infeasible")
    made = solution.proof(program, *_solved(program))
    assert made.objective == _value(program, made.w) and made.gap >= 0
    assert made.gap < Fraction(1, 10**12) and made.moved < Fraction(1, 10**12)
    assert all(0 <= x <= u for x, u in zip(made.w, program.effective_upper, strict=True))
    assert not sums_to_one or sum(made.w) == 1
    rng = np.random.default_rng(seed)
    for _ in range(20):
        w = solution._feasible(
            [Fraction(x) for x in rng.uniform(0, 1, program.d.size)],
            [Fraction(u) for u in program.effective_upper],
            sums_to_one=sums_to_one,
        )
        assert _value(program, w) >= made.bound


@pytest.mark.parametrize("seed", range(6))
def test_planted_errors_widen_the_gap_by_what_they_cost(seed):
    program = _program(seed)
    w, found = _solved(program)
    good = solution.proof(program, w, found)
    shifted = np.roll(w, 1)
    bad = solution.proof(program, np.minimum(shifted, program.effective_upper), found)
    assert bad.gap >= bad.objective - good.objective - good.gap
    wrong = solution.proof(program, w, Multipliers(found.total + 0.5, found.lower, found.upper))
    assert wrong.bound <= good.objective and wrong.gap > good.gap
    dearer = replace(program, g=program.g + 0.1 * np.arange(program.d.size))  # weights of another program
    true = solution.proof(dearer, *_solved(dearer))
    assert (
        solution.proof(dearer, w, found).gap >= solution.proof(dearer, w, found).objective - true.objective - true.gap
    )


def test_what_cannot_be_proved_is_refused():
    program = replace(_program(1), upper=np.full(_program(1).d.size, 1e-3))
    with pytest.raises(solution.NotProvedError, match="less than 1"):
        solution.proof(program, np.full(program.d.size, 1e-3), Multipliers(0.0, np.zeros(1), np.zeros(1)))
    loose = replace(_program(2, flat=True, sums_to_one=False), upper=np.full(_program(2).d.size, np.inf))
    with pytest.raises(solution.NotProvedError, match="no finite value"):
        solution.proof(loose, np.zeros(loose.d.size), Multipliers(0.0, np.zeros(1), np.zeros(1)))


@pytest.mark.parametrize("deadline", [0.75, 1.5])
def test_the_energy_gap_in_balls_covers_a_grid(deadline):
    fleet = table_1(distance=[50.0, 120.0, 200.0], deadline=deadline)
    found = energy.solve(fleet)
    gaps = proved_gap.gaps(fleet, found)
    assert np.all(gaps >= 0) and np.all(gaps < 1e-12)
    for x, t in product(np.linspace(0, 1, 21), repeat=2):
        compute = fleet.least_time + x * (fleet.deadline - fleet.least_time)
        sent = fleet.transmit_time(fleet.max_power)
        longer = sent + t * (fleet.deadline - sent)
        allowed = compute + longer <= fleet.deadline
        power = fleet.power(fleet.unit_time / longer)
        utility = fleet.utility(iterations=compute / fleet.iteration_time, power=power)
        assert np.all(utility[allowed] <= (found.utility + gaps + 1e-13)[allowed])


def test_a_worse_choice_has_a_gap_that_covers_the_loss():
    fleet = table_1(distance=[50.0, 200.0])
    best = energy.solve(fleet)
    power = best.power * 0.99
    worse = energy.solve(fleet, method="published")
    slower = replace(best, power=power, compute_time=best.compute_time * 0.9)
    lost = best.utility - fleet.utility(iterations=slower.compute_time / fleet.iteration_time, power=power)
    gaps = proved_gap.gaps(fleet, slower)
    assert np.all(gaps >= lost - 1e-12) and np.all(lost > 1e-6)
    assert np.all(proved_gap.gaps(fleet, worse) >= best.utility - worse.utility - 1e-12)


def test_the_certificate_of_solve_names_it():
    fleet = table_1(distance=[50.0])
    found = energy.solve(fleet)
    row = as_json(EnergyResult.of(found, found, fleet)[0])
    assert 0 <= row["certificate"]["proved_gap"] < 1e-12
    assert "proved_gap" not in as_json(EnergyResult.of(found, found)[0])["certificate"]
