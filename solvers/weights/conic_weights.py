"""The weight problem stated in cvxpy: compiled once for each size and re-solved, or stated with its numbers when it is large."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from airtight.analytics.checks import ConvergenceError, FloatArray
from airtight.solvers.weights.quadratic import Multipliers, QuadraticProgram

_COMPILED = 300  # devices
_SETTINGS = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13, "tol_ktratio": 1e-9, "max_iter": 400}


def minimise(qp: QuadraticProgram) -> tuple[FloatArray, Multipliers, int, bool]:
    """Solve with Clarabel; returns weights within their bounds, multipliers, iterations, and whether it claims success.

    Notes
    -----
    The objective is divided by its size, and without the sum each weight is measured in a unit in which its curvature is
    one, so that the solver's tolerances mean something; Clarabel's word is not taken for it: the caller computes the
    certificate.
    """
    import cvxpy

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
    numbers = {
        "root_d": np.sqrt(np.maximum(qp.d, 0.0) / scale) * unit,
        "V": qp.V * unit[:, None] / np.sqrt(scale),
        "c": qp.c / np.sqrt(scale),
        "g": qp.g * unit / scale,
    }
    if bounded:
        numbers["upper"] = np.minimum(upper / unit, 1e6)
    if K > _COMPILED:  # parametrised, a sum of squares of so many terms goes dense
        problem, w, constraints = _stated(K, r, qp.sums_to_one, numbers)
    else:
        problem, w, parameters, constraints = _compiled(K, r, qp.sums_to_one, bounded)
        for name, value in numbers.items():
            parameters[name].value = value
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the certificate says how accurate
            problem.solve(solver=cvxpy.CLARABEL, **_SETTINGS)
    except cvxpy.SolverError as error:
        raise ConvergenceError(f"cvxpy: {error}") from None
    if w.value is None:
        raise ConvergenceError(f"cvxpy: status {problem.status}")
    weights = np.clip(w.value * unit, 0.0, upper)
    nu = -float(constraints["total"].dual_value) * scale if qp.sums_to_one else 0.0
    bound = constraints["upper"].dual_value * scale / unit if "upper" in constraints else np.zeros(K)
    lower = constraints["lower"].dual_value * scale / unit
    found = Multipliers(nu, np.maximum(lower, 0.0), np.maximum(bound, 0.0))
    return weights, found, int(problem.solver_stats.num_iters or 0), problem.status == cvxpy.OPTIMAL


@lru_cache(maxsize=32)
def _compiled(K: int, r: int, sums_to_one: bool, bounded: bool) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """The problem with parameters in place of numbers."""
    cp: Any = import_module("cvxpy")
    parameters = {
        "root_d": cp.Parameter(K, nonneg=True),
        "V": cp.Parameter((K, r)),
        "c": cp.Parameter(r),
        "g": cp.Parameter(K),
    }
    if bounded:
        parameters["upper"] = cp.Parameter(K, nonneg=True)
    problem, w, constraints = _stated(K, r, sums_to_one, parameters)
    return problem, w, parameters, constraints


def _stated(K: int, r: int, sums_to_one: bool, data: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The problem with these numbers, or parameters."""
    cp: Any = import_module("cvxpy")
    w, y = cp.Variable(K), cp.Variable(r)
    constraints = {"residual": y == data["V"].T @ w - data["c"], "lower": w >= 0}
    if "upper" in data:
        constraints["upper"] = w <= data["upper"]
    if sums_to_one:
        constraints["total"] = cp.sum(w) == 1
    objective = cp.sum_squares(cp.multiply(data["root_d"], w)) / 2 + cp.sum_squares(y) / 2 + data["g"] @ w
    return cp.Problem(cp.Minimize(objective), list(constraints.values())), w, constraints
