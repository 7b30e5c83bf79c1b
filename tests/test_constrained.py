"""Problems that a user extends in cvxpy: their optima by another solver, and certificates that cannot be fooled."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

import airtight
from airtight import Features, InfeasibleError, InferenceSystem, ParameterError
from airtight.analytics.federated.fair.device import table_1
from airtight.solvers.weights import constrained
from airtight.solvers.weights.weight_problem import program


def example(devices: int = 5, seed: int = 0) -> tuple[InferenceSystem, Features]:
    rng = np.random.default_rng(seed)
    system = InferenceSystem(
        devices=devices,
        participation=rng.uniform(0.3, 1.0, devices),
        noise_variance=0.5,
        weight=1 / devices,
        clip=2.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=3,
        delta=1e-3,
        adjacency="silent",
    )
    features = Features(
        f=rng.standard_normal((devices, 2)), W=rng.standard_normal((devices, 3, 2)), D=rng.standard_normal((2, 3))
    )
    return system, features


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
    system, features = example(seed=seed)
    best = airtight.solve_weights(system, features, constraints=lambda w: [w[0] <= 0.05, w[1] == w[2]])
    assert best.w[0] <= 0.05 + 1e-9 and abs(best.w[1] - best.w[2]) < 1e-9 and best.is_optimal(1e-8)
    rows = [LinearConstraint(np.eye(5)[0], -np.inf, 0.05), LinearConstraint(np.eye(5)[1] - np.eye(5)[2], 0, 0)]
    assert best.exact_mse == pytest.approx(by_slsqp(system, features, rows), rel=1e-5)
    free = airtight.solve_weights(system, features)
    assert free.exact_mse <= best.exact_mse * (1 + 1e-9)
    assert best.method == "cvxpy"


def test_a_bound_as_constraint_is_the_bound() -> None:
    system, features = example()
    bound = np.array([0.05, 1.0, 0.3, 1.0, 0.4])
    inside = airtight.solve_weights(system, features, w_max=bound)
    beside = airtight.solve_weights(system, features, constraints=lambda w: w <= bound)
    np.testing.assert_allclose(beside.w, inside.w, atol=1e-6)
    assert beside.is_optimal(1e-8)


def test_convex_constraints_and_the_cap() -> None:
    system, features = example()
    best = airtight.solve_weights(
        system, features, epsilon_cap=3.0, constraints=lambda w: [cp.norm(w) <= 0.46, cp.max(w) - cp.min(w) <= 0.2]
    )
    assert np.linalg.norm(best.w) <= 0.46 + 1e-8 and np.ptp(best.w) <= 0.2 + 1e-8
    assert np.all(best.w <= best.w_max * (1 + 1e-9)) and best.is_optimal(1e-7)


@given(st.integers(0, 10**6), st.integers(2, 8))
@settings(max_examples=25, deadline=None)
def test_no_feasible_weights_are_below_the_bound(seed: int, devices: int) -> None:
    system, features = example(devices, seed)
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
    system, features = example()
    qp = program(system, features)
    problem, w, named = constrained._stated(qp, lambda w: [w[0] <= 0.05])
    row, optimum = named["0"], float(problem.solve(solver=cp.CLARABEL))
    lower, upper = (np.maximum(named[name].dual_value, 0) for name in ("lower", "upper"))
    found = constrained.Multipliers(-float(named["total"].dual_value), lower, upper)
    mu = np.array(row.dual_value)
    assert abs(constrained._certified(qp, w, found, [row]).duality_gap) < 1e-6
    for factor in (0.0, 0.5, 2.0):
        row.dual_variables[0].save_value(mu * factor)
        wrong = constrained._certified(qp, w, found, [row])
        assert qp.value(w.value) - wrong.duality_gap <= optimum + 1e-7 and wrong.duality_gap > 1e-4
    w.value = np.full(5, 0.2)
    assert constrained._certified(qp, w, found, [row]).primal_residual == pytest.approx(0.15)


def test_parameters_change_without_a_new_compilation() -> None:
    system, features = example()
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
    system, features = example()
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
        airtight.solve_weights(*example(), constraints=constraints)
    assert error.value.name == "constraints"


def test_infeasible_and_published() -> None:
    with pytest.raises(InfeasibleError, match="constraints"):
        airtight.solve_weights(*example(), constraints=lambda w: w <= 0.1)
    with pytest.raises(ParameterError, match="method"):
        airtight.solve_weights(*example(), objective="published", method="published", constraints=lambda w: w <= 0.9)


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
    system, features = example()
    qp = program(system, features)
    _, w, named = constrained._stated(qp, lambda w: [w[0] <= 0.9])
    best = airtight.solve_weights(system, features)
    w.value = best.w
    for mu in (0.1, 1.0):
        named["0"].dual_variables[0].save_value(np.array(mu))
        certificate = constrained._certified(qp, w, best.multipliers, [named["0"]])
        assert best.objective - certificate.duality_gap <= best.objective * (1 + 1e-9)
        assert certificate.duality_gap >= mu * (0.9 - best.w[0]) * (1 - 1e-6)
