"""The weight problem stated in cvxpy, in disciplined parametrised form: compiled once for each size, then re-solved."""

from __future__ import annotations

import warnings
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from analytics.checks import ConvergenceError, FloatArray
from solvers.solution import Multipliers
from solvers.weights.quadratic import QuadraticProgram

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
    problem, w, parameters, constraints = _compiled(K, r, qp.sums_to_one, bool(np.any(np.isfinite(upper))))
    curvature = qp.d + np.einsum("kr,kr->k", qp.V, qp.V)
    unit, scale = (
        np.ones(K),
        max(float(np.max(curvature, initial=0.0)), float(np.max(np.abs(qp.g), initial=0.0)), 1e-300),
    )
    if not qp.sums_to_one:
        root = np.sqrt(np.where(curvature > 0, curvature, scale))
        size = max(float(np.linalg.norm(qp.c)), float(np.max(np.abs(qp.g) / root, initial=0.0)), 1e-150)
        unit, scale = size / root, size * size
    parameters["root_d"].value = np.sqrt(np.maximum(qp.d, 0.0) / scale) * unit
    parameters["V"].value = qp.V * unit[:, None] / np.sqrt(scale)
    parameters["c"].value = qp.c / np.sqrt(scale)
    parameters["g"].value = qp.g * unit / scale
    if "upper" in parameters:
        parameters["upper"].value = np.minimum(upper / unit, 1e6)
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
    w, y = cp.Variable(K), cp.Variable(r)
    parameters = {
        "root_d": cp.Parameter(K, nonneg=True),
        "V": cp.Parameter((K, r)),
        "c": cp.Parameter(r),
        "g": cp.Parameter(K),
    }
    constraints = {"residual": y == parameters["V"].T @ w - parameters["c"], "lower": w >= 0}
    if bounded:
        parameters["upper"] = cp.Parameter(K, nonneg=True)
        constraints["upper"] = w <= parameters["upper"]
    if sums_to_one:
        constraints["total"] = cp.sum(w) == 1
    objective = cp.sum_squares(cp.multiply(parameters["root_d"], w)) / 2 + cp.sum_squares(y) / 2 + parameters["g"] @ w
    return cp.Problem(cp.Minimize(objective), list(constraints.values())), w, parameters, constraints
