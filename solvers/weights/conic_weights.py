"""The weight problem in cvxpy: compiled once per size and solved again with new data, or stated anew if it is large."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.solvers import cone_program
from airtight.solvers.weights.quadratic import Multipliers, QuadraticProgram, certificate

_COMPILED = 300  # devices up to which the problem is compiled once with parameters
_CONVERGED = 1e-6  # relative duality gap up to which the method reports convergence


def minimise(qp: QuadraticProgram) -> tuple[FloatArray, Multipliers, int, bool]:
    """Solve with Clarabel; returns weights within bounds, multipliers, iterations, and whether they are optimal to 1e-6."""
    unit, objective = qp.units()
    reduced = qp.reduced()
    scaled = reduced.in_units(unit, objective)
    K, r = scaled.V.shape
    bounded = np.flatnonzero(np.isfinite(scaled.effective_upper))
    data = data_of(scaled)
    if bounded.size:
        data["upper"] = scaled.effective_upper[bounded]
    # with parameters, cvxpy stores the sum of squares of many terms as a dense matrix
    if K > _COMPILED or 0 < bounded.size < K:
        problem, z, constraints = stated(K, r, qp.sums_to_one, data | {"bounded": bounded})
    else:
        problem, z, parameters, constraints = _compiled(K, r, qp.sums_to_one, bool(bounded.size))
        for name, value in data.items():
            parameters[name].value = value
    iterations = cone_program.solve(problem)
    multipliers = multipliers_of(constraints, unit, objective, bounded)
    weights = np.clip(z.value * unit, 0.0, qp.effective_upper)
    return weights, multipliers, iterations, certificate(reduced, weights, multipliers).is_optimal(_CONVERGED)


def data_of(qp: QuadraticProgram) -> dict[str, Any]:
    """The data of :func:`stated` without bounds."""
    return {"root_d": np.sqrt(np.maximum(qp.d, 0.0)), "V": qp.V, "c": qp.c, "g": qp.g}


def multipliers_of(named: Mapping[str, Any], unit: FloatArray, objective: float, bounded: Any) -> Multipliers:
    """The multipliers, in the units of the program, from the constraints of the program in other units."""
    lower, upper = np.maximum(named["lower"].dual_value, 0.0), np.zeros(unit.size)
    if "upper" in named:
        upper[bounded] = np.maximum(named["upper"].dual_value, 0.0)
    of_sum = -objective * float(named["total"].dual_value) if "total" in named else 0.0
    return Multipliers(of_sum, lower * objective / unit, upper * objective / unit)


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


def stated(K: int, r: int, sums_to_one: bool, data: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The problem with the given numbers or cvxpy parameters as data, its variable and the constraints by name.

    ``data["bounded"]`` lists the weights that ``data["upper"]`` bounds, all of them by default.
    """
    cp: Any = import_module("cvxpy")
    w, y = cp.Variable(K, name="w"), cp.Variable(r)
    constraints = {"residual": y == data["V"].T @ w - data["c"], "lower": w >= 0}
    if "upper" in data:
        constraints["upper"] = (w[data["bounded"]] if "bounded" in data else w) <= data["upper"]
    if sums_to_one:
        constraints["total"] = cp.sum(w) == 1
    objective = cp.sum_squares(cp.multiply(data["root_d"], w)) / 2 + cp.sum_squares(y) / 2 + data["g"] @ w
    return cp.Problem(cp.Minimize(objective), list(constraints.values())), w, constraints
