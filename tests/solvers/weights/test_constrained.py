"""Problems that a user extends in cvxpy: their optima by another solver, and certificates that cannot be fooled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, linprog, minimize
from support.common import weight_example

import airtight
from airtight import Features, InfeasibleError, InferenceSystem, ParameterError
from airtight.analytics.checks import ConvergenceError
from airtight.analytics.federated.fair.device import table_1
from airtight.solvers import cone_program
from airtight.solvers.weights import constrained
from airtight.solvers.weights.weight_problem import program


def by_slsqp(system: InferenceSystem, features: Features, rows: list[object]) -> float:
    """The least exact MSE with the constraints, by scipy from several starts."""
    K, least = system.devices, np.inf
    qp = program(system, features)
    for seed in range(4):
        start = np.random.default_rng(seed).dirichlet(np.ones(K))
        found = minimize(
            qp.value, start, jac=qp.gradient, method="trust-constr", bounds=[(0, 1)] * K,
            constraints=[LinearConstraint(np.ones(K), 1, 1), *rows], options={"gtol": 1e-10, "xtol": 1e-12, "maxiter": 2000},
        )  # fmt: skip
        least = min(least, float(found.fun))
    return least


@pytest.mark.parametrize("seed", range(3))
def test_affine_constraints(seed: int) -> None:
    """One device may not weigh more than .05, two must weigh the same."""
    system, features = weight_example(seed=seed)
    best = airtight.solve_weights(system, features, constraints=lambda w: [w[0] <= 0.05, w[1] == w[2]])
    assert best.w[0] <= 0.05 + 1e-9 and abs(best.w[1] - best.w[2]) < 1e-9 and best.is_optimal(1e-8)
    rows = [LinearConstraint(np.eye(5)[0], -np.inf, 0.05), LinearConstraint(np.eye(5)[1] - np.eye(5)[2], 0, 0)]
    assert best.exact_mse == pytest.approx(by_slsqp(system, features, rows), rel=1e-5)
    free = airtight.solve_weights(system, features)
    assert free.exact_mse <= best.exact_mse * (1 + 1e-9)
    assert best.method == "cvxpy"


def test_a_bound_as_constraint_is_the_bound() -> None:
    system, features = weight_example()
    bound = np.array([0.05, 1.0, 0.3, 1.0, 0.4])
    inside = airtight.solve_weights(system, features, w_max=bound)
    beside = airtight.solve_weights(system, features, constraints=lambda w: w <= bound)
    np.testing.assert_allclose(beside.w, inside.w, atol=1e-6)
    assert beside.is_optimal(1e-8)


def test_convex_constraints_and_the_cap() -> None:
    system, features = weight_example()
    best = airtight.solve_weights(
        system, features, epsilon_cap=3.0, constraints=lambda w: [cp.norm(w) <= 0.46, cp.max(w) - cp.min(w) <= 0.2]
    )
    assert np.linalg.norm(best.w) <= 0.46 + 1e-8 and np.ptp(best.w) <= 0.2 + 1e-8
    assert np.all(best.w <= best.w_max * (1 + 1e-9)) and best.is_optimal(1e-7)


@given(st.integers(0, 10**6), st.integers(2, 8))
@settings(max_examples=25, deadline=None)
def test_no_feasible_weights_are_below_the_bound(seed: int, devices: int) -> None:
    system, features = weight_example(devices, seed)
    rng = np.random.default_rng(seed)
    direction, inside = rng.standard_normal(devices), rng.dirichlet(np.ones(devices))
    limit, length = float(direction @ inside), float(np.linalg.norm(inside)) * 1.01
    best = airtight.solve_weights(
        system, features, constraints=lambda w: [direction @ w <= limit, cp.norm(w) <= length]
    )
    qp, certificate = best.program, best.certificate
    bound = best.objective - certificate.duality_gap
    slack = 1e-8 * certificate.scale
    assert bound <= best.objective + slack and certificate.duality_gap <= 1e-6 * certificate.scale
    for _ in range(200):
        other = inside + rng.random() * (rng.dirichlet(np.ones(devices)) - inside)
        if direction @ other <= limit and np.linalg.norm(other) <= length:
            assert qp.value(other) >= bound - slack


def test_wrong_multipliers_and_weights_give_no_certificate() -> None:
    """The bound holds for any multipliers: wrong ones only widen the gap, and wrong weights break a constraint."""
    system, features = weight_example()
    qp = program(system, features)
    stated = constrained._Stated.of(qp, lambda w: [w[0] <= 0.05])
    answer, cuts = next(stated.answers(elastic=False))
    optimum = qp.value(answer.w)
    assert abs(constrained._certified(qp, answer.w, answer, cuts, cuts).duality_gap) < 1e-9
    for factor in (0.0, 0.5, 2.0):
        scaled = replace(answer, of_rows=[factor * answer.of_rows[0]])
        wrong = constrained._certified(qp, answer.w, scaled, cuts, cuts)
        assert optimum - wrong.duality_gap <= optimum + 1e-9 and wrong.duality_gap > 1e-4
    level = np.full(5, 0.2)
    here = stated.cuts(level)
    assert constrained._certified(qp, level, answer, cuts, here).primal_residual == pytest.approx(0.15)


def test_parameters_change_without_a_new_compilation() -> None:
    system, features = weight_example()
    problem, variables = airtight.weight_problem(system, features, epsilon_cap=4.0)
    assert problem.is_dcp(dpp=True) and list(variables) == ["w"]
    for cap in (4.0, 2.5, 6.0):
        best = airtight.solve_weights(system, features, epsilon_cap=cap)
        problem.param_dict["w_max"].value = np.minimum(best.w_max, 1.0)
        assert problem.solve(solver=cp.CLARABEL) == pytest.approx(best.exact_mse, rel=1e-6)
        np.testing.assert_allclose(variables["w"].value, best.w, atol=1e-4)
    again, named = best.to_cvxpy()
    assert again.solve(solver=cp.CLARABEL) == pytest.approx(best.objective, rel=1e-6) and named["w"].shape == (5,)
    held = airtight.solve_weights(system, features, constraints=lambda w: w[0] <= 0.05)
    assert held.to_cvxpy()[0].solve(solver=cp.CLARABEL) == pytest.approx(held.exact_mse, rel=1e-6)


def test_a_free_sum() -> None:
    system, features = weight_example()
    system = replace(system, participation=np.minimum(system.participation, 0.95))
    best = airtight.solve_weights(system, features, sums_to_one=False, constraints=lambda w: w[0] == 2 * w[1])
    assert abs(best.w[0] - 2 * best.w[1]) < 1e-7 and best.is_optimal(1e-7)


@pytest.mark.parametrize(
    "constraints",
    [
        lambda w: w[0],
        lambda w: [cp.norm(w) >= 0.5],
        lambda w: [cp.Variable() <= w[0]],
        lambda w: [cp.SOC(1.0, w)],
        "w <= 1",
        lambda w: [True],
    ],
)
def test_constraints_that_are_refused(constraints: object) -> None:
    with pytest.raises(ParameterError) as error:
        airtight.solve_weights(*weight_example(), constraints=constraints)
    assert error.value.name == "constraints"


def test_infeasible_and_published() -> None:
    with pytest.raises(InfeasibleError, match="constraints"):
        airtight.solve_weights(*weight_example(), constraints=lambda w: w <= 0.1)
    with pytest.raises(ParameterError, match="method"):
        airtight.solve_weights(*weight_example(), objective="published", method="published", constraints=lambda w: w <= 0.9)


def test_the_energy_problem() -> None:
    fleet = table_1(distance=[50.0, 120.0, 200.0])
    for device in range(3):
        problem, variables = airtight.energy_problem(fleet, device=device)
        assert problem.is_dcp(dpp=True) and sorted(variables) == ["t", "x"]
        for deadline in (0.75, 0.9, 0.6):
            problem.param_dict["T"].value = deadline
            one = airtight.solve_energy(replace(fleet, deadline=deadline))
            least = problem.solve(solver=cp.CLARABEL)
            top = fleet.beta_1[device] + (fleet.utility_energy[device] / 2) ** 2
            assert top - least >= one.utility[device] - 1e-7
            if one.energy[device] >= fleet.utility_energy[device] / 2:
                assert top - least == pytest.approx(one.utility[device], abs=1e-6)
    with pytest.raises(ParameterError, match="device"):
        airtight.energy_problem(fleet, device=3)


def test_a_multiplier_of_a_loose_constraint_widens_the_gap() -> None:
    """mu f(w) < 0 there: with the wrong sign the bound would lie above the optimum."""
    system, features = weight_example()
    qp = program(system, features)
    best = airtight.solve_weights(system, features)
    cuts = constrained._Stated.of(qp, lambda w: [w[0] <= 0.9]).cuts(best.w)
    for mu in (0.1, 1.0):
        answer = constrained._Answer(best.w, best.multipliers, [np.array([mu])], 1)
        certificate = constrained._certified(qp, best.w, answer, cuts, cuts)
        assert best.objective - certificate.duality_gap <= best.objective * (1 + 1e-9)
        assert certificate.duality_gap >= mu * (0.9 - best.w[0]) * (1 - 1e-6)


UNITS = (1e-12, 1e-6, 1.0, 1e7, 1e12)


@pytest.mark.parametrize("unit", UNITS)
def test_features_in_any_unit_give_the_same_weights(unit: float) -> None:
    """Against the optimum in closed form: with w_1 = .1 the error is a parabola in w_0."""
    views = np.array([[0.4, 0.1], [0.6, 0.2], [0.9, 0.1]])
    p, target = 0.9, views.mean(axis=0)
    # w = (x, .1, .9 - x): the derivative of |p V'w - f*|^2 + p (1 - p) sum |v_k|^2 w_k^2 by x is zero
    slope, start = p * (views[0] - views[2]), p * (0.1 * views[1] + 0.9 * views[2]) - target
    first, last = (p * (1 - p) * views[k] @ views[k] for k in (0, 2))
    x = (0.9 * last - slope @ start) / (slope @ slope + first + last)
    system = InferenceSystem(
        devices=3, participation=p, noise_variance=0.1, weight=1 / 3, clip=1e15, alignment=1.0,
        receiver_noise_variance=0.1, dimension=2, delta=1e-5, adjacency="silent",
    )  # fmt: skip
    features = Features(f=unit * views, W=np.eye(2), D=np.eye(2))
    limit = lambda w: [1e9 * w[1] <= 1e8]  # noqa: E731
    best = airtight.solve_weights(system, features, constraints=limit)
    np.testing.assert_allclose(best.w, [x, 0.1, 0.9 - x], atol=1e-8)
    assert best.is_optimal(1e-9)
    for problem, variables in (airtight.weight_problem(system, features, constraints=limit), best.to_cvxpy()):
        assert problem.solve(solver=cp.CLARABEL) == pytest.approx(best.exact_mse, rel=1e-6)
        np.testing.assert_allclose(variables["w"].value, best.w, atol=1e-5)
    for method in ("structured", "cvxpy"):
        free = airtight.solve_weights(system, features, method=method)
        np.testing.assert_allclose(free.w, airtight.solve_weights(system, replace(features, f=views)).w, atol=1e-7)
    with pytest.raises(InfeasibleError, match="proved"):
        airtight.solve_weights(system, features, constraints=lambda w: [unit * w <= unit * 0.33])


@given(st.integers(0, 10**6), st.sampled_from(UNITS), st.sampled_from(UNITS))
@settings(max_examples=12, deadline=None)
def test_infeasible_is_said_exactly_where_a_linear_program_has_no_point(seed: int, unit: float, row: float) -> None:
    rng = np.random.default_rng(seed)
    system, features = weight_example(int(rng.integers(2, 7)), seed)
    A, inside = rng.standard_normal((3, system.devices)), rng.dirichlet(np.ones(system.devices))
    b = A @ inside + rng.choice([-0.5, 0.1], 3) * rng.random(3)
    reach = linprog(-np.ones(1) @ np.zeros((1, system.devices)), A, b, np.ones((1, system.devices)), [1.0], method="highs")
    scaled = replace(features, f=unit * features.f), replace(system, clip=unit * system.clip)
    try:
        found = airtight.solve_weights(scaled[1], scaled[0], constraints=lambda w: row * (A @ w) <= row * b)
    except InfeasibleError:
        assert reach.status == 2
    else:
        assert reach.status == 0 and found.is_optimal(1e-7) and np.all(A @ found.w <= b + 1e-8)


@pytest.mark.parametrize(
    "kinks",
    [
        lambda w: [cp.max(w) <= 0.35],
        lambda w: [cp.sum_largest(w, 2) <= 0.5],
        lambda w: [cp.norm1(w - np.array([0.1, 0.2, 0.2, 0.2, 0.3])) <= 0.05],
    ],
)
def test_constraints_with_kinks_are_certified(kinks: Callable[[Any], Any]) -> None:
    """At a kink one tangent is not enough: the bound is that of several, and holds at random feasible weights."""
    system, features = weight_example()
    best = airtight.solve_weights(system, features, constraints=kinks)
    assert best.is_optimal(1e-8)
    with pytest.raises(InfeasibleError):
        airtight.solve_weights(system, features, constraints=lambda w: [*kinks(w), w[3] >= 0.9])


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_weights_of_any_size(size: float) -> None:
    """A free sum: a quadratic constraint that keeps the weights at `size` is kept, and its limit is reached or is loose."""
    system, features = weight_example()
    system = replace(system, participation=np.minimum(system.participation, 0.95))
    scaled = replace(features, D=features.D / size)
    best = airtight.solve_weights(
        system, scaled, sums_to_one=False, constraints=lambda w: cp.sum_squares(w) <= 0.01 * size**2
    )
    one = airtight.solve_weights(
        system, features, sums_to_one=False, constraints=lambda w: cp.sum_squares(w) <= 0.01
    )
    assert best.is_optimal(1e-7) and best.w @ best.w <= 0.01 * size**2 * (1 + 1e-7) and one.is_optimal(1e-7)


def test_an_answer_without_certificate_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that ends anywhere gives neither optimal weights nor infeasible constraints."""

    def anywhere(problem: Any) -> int:
        for variable in problem.variables():
            variable.value = np.full(variable.shape, 1 / max(variable.size, 1))
        for row in problem.constraints:
            for dual in row.dual_variables:
                dual.save_value(np.zeros(row.shape))
        return 1

    monkeypatch.setattr(cone_program, "solve", anywhere)
    for rows in (lambda w: w[0] <= 0.5, lambda w: w <= 0.1):
        with pytest.raises(ConvergenceError, match="constraints"):
            airtight.solve_weights(*weight_example(), constraints=rows)


@pytest.mark.filterwarnings("ignore:.* is read as")
@pytest.mark.parametrize(("joule", "second"), [(1e-12, 1.0), (1e12, 1e-9), (1e-6, 1e12), (1.0, 1.0)])
def test_energy_and_time_in_any_unit_give_the_same_plan(joule: float, second: float) -> None:
    """The closed form is the reference; a cone program in joules and seconds had no root or ended at a wrong one."""
    fleet = table_1(distance=[50.0, 120.0, 200.0])
    best, watt = airtight.solve_energy(fleet), joule / second
    scaled = replace(
        fleet,
        noise_density_dbm=fleet.noise_density_dbm + 10 * np.log10(joule),
        bandwidth=fleet.bandwidth / second,
        **{name: getattr(fleet, name) * second for name in ("deadline", "seconds_per_bit")},
        **{name: getattr(fleet, name) * watt for name in ("compute_power", "circuit_power", "max_power")},
        **{name: getattr(fleet, name) * joule for name in ("utility_energy", "beta_2")},
        beta_1=fleet.beta_1 * joule**2,
    )
    for method, accuracy in (("closed-form", 1e-9), ("cvxpy", 1e-2)):
        plan = airtight.solve_energy(scaled, method=method)
        np.testing.assert_allclose(plan.iterations, best.iterations, rtol=accuracy)
        assert np.all(plan.gap <= 1e-5 * plan.scale)
    for device in range(3):
        least = airtight.energy_problem(scaled, device=device)[0].solve(solver=cp.CLARABEL)
        size = scaled.beta_1[device] + (scaled.utility_energy[device] / 2) ** 2
        assert size - least == pytest.approx(best.utility[device] * joule**2, abs=1e-6 * size)
