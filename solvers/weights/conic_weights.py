"""The weight problem in cvxpy: compiled once per size and solved again with new data, or stated anew if it is large."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from airtight.analytics.checks import ConvergenceError, FloatArray
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.weights.quadratic import Multipliers, QuadraticProgram

_COMPILED = 300  # devices up to which the problem is compiled once with parameters
# Clarabel's tolerances are near rounding error because the certificate, not Clarabel's status, decides on optimality
_SETTINGS = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13, "tol_ktratio": 1e-9, "max_iter": 400}


def minimise(qp: QuadraticProgram) -> tuple[FloatArray, Multipliers, int, bool]:
    """Solve with Clarabel; returns weights within bounds, multipliers, iterations, and whether it reports success.

    Notes
    -----
    The objective is divided by its size, so that the solver's absolute tolerances become relative ones. Without the
    sum constraint each weight is also measured in a unit in which its curvature is one. Clarabel's status is not
    relied on: the caller computes the certificate.
    """
    qp = qp.reduced()
    K, r = qp.V.shape
    upper = qp.effective_upper
    bounded = bool(np.any(np.isfinite(upper)))
    curvature = qp.d + np.einsum("kr,kr->k", qp.V, qp.V)
    unit, scale = (
        np.ones(K),
        max(float(np.max(curvature, initial=0.0)), float(np.max(np.abs(qp.g), initial=0.0)), 1e-300),
    )
    if not qp.sums_to_one:
        root = np.sqrt(np.where(curvature > 0, curvature, scale))
        size = max(float(np.linalg.norm(qp.c)), float(np.max(np.abs(qp.g) / root, initial=0.0)), 1e-150)
        unit, scale = size / root, size * size
    data = {
        "root_d": np.sqrt(np.maximum(qp.d, 0.0) / scale) * unit,
        "V": qp.V * unit[:, None] / np.sqrt(scale),
        "c": qp.c / np.sqrt(scale),
        "g": qp.g * unit / scale,
    }
    if bounded:
        data["upper"] = np.minimum(upper / unit, 1e6)
    if K > _COMPILED:  # with parameters, cvxpy stores the sum of squares of many terms as a dense matrix
        problem, w, constraints = stated(K, r, qp.sums_to_one, data)
    else:
        problem, w, parameters, constraints = _compiled(K, r, qp.sums_to_one, bounded)
        for name, value in data.items():
            parameters[name].value = value
    iterations, optimal = run(problem, w)
    weights = np.clip(w.value * unit, 0.0, upper)
    nu = -float(constraints["total"].dual_value) * scale if qp.sums_to_one else 0.0
    upper_dual = constraints["upper"].dual_value * scale / unit if "upper" in constraints else np.zeros(K)
    lower_dual = constraints["lower"].dual_value * scale / unit
    multipliers = Multipliers(nu, np.maximum(lower_dual, 0.0), np.maximum(upper_dual, 0.0))
    return weights, multipliers, iterations, optimal


def run(problem: Any, w: Any) -> tuple[int, bool]:
    """Solve with Clarabel; returns its iterations, and whether it reports success.

    Raises
    ------
    InfeasibleError
        When Clarabel reports that no weights keep the constraints.
    ConvergenceError
        When it finds none.
    """
    cp: Any = import_module("cvxpy")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the certificate says how accurate
            problem.solve(solver=cp.CLARABEL, **_SETTINGS)
    except cp.SolverError as error:
        raise ConvergenceError(f"cvxpy could not solve the weight problem: {error}") from None
    if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        raise InfeasibleError("constraints: cvxpy reports that no weights keep all of them")
    if w.value is None:
        raise ConvergenceError(f"cvxpy found no weights: its status is {problem.status}")
    return int(problem.solver_stats.num_iters or 0), problem.status == cp.OPTIMAL


@lru_cache(maxsize=32)
def _compiled(K: int, r: int, sums_to_one: bool, bounded: bool) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """The problem with cvxpy parameters as data, its variable, the parameters and the constraints."""
    cp: Any = import_module("cvxpy")
    parameters = {
        "root_d": cp.Parameter(K, nonneg=True),
        "V": cp.Parameter((K, r)),
        "c": cp.Parameter(r),
        "g": cp.Parameter(K),
    }
    if bounded:
        parameters["upper"] = cp.Parameter(K, nonneg=True)
    problem, w, constraints = stated(K, r, sums_to_one, parameters)
    return problem, w, parameters, constraints


def stated(
    K: int,
    r: int,
    sums_to_one: bool,
    data: Mapping[str, Any],
    *,
    constant: float = 0.0,
    further: Callable[[Any], Sequence[Any]] = lambda w: (),
) -> tuple[Any, Any, dict[str, Any]]:
    """The problem with the given numbers or cvxpy parameters as data, its variable and the constraints by name.

    ``data["bounded"]`` lists the weights that ``data["upper"]`` bounds, all of them by default; `further` makes more
    constraints from the variable, named by their numbers.
    """
    cp: Any = import_module("cvxpy")
    w, y = cp.Variable(K, name="w"), cp.Variable(r)
    constraints = {"residual": y == data["V"].T @ w - data["c"], "lower": w >= 0}
    if "upper" in data:
        constraints["upper"] = (w[data["bounded"]] if "bounded" in data else w) <= data["upper"]
    if sums_to_one:
        constraints["total"] = cp.sum(w) == 1
    constraints |= {str(number): row for number, row in enumerate(further(w))}
    objective = cp.sum_squares(cp.multiply(data["root_d"], w)) / 2 + cp.sum_squares(y) / 2 + data["g"] @ w + constant
    return cp.Problem(cp.Minimize(objective), list(constraints.values())), w, constraints
