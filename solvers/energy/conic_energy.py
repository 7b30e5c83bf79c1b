"""The relaxed energy-utility problem as an exponential cone program, by cvxpy and Clarabel; parametrised, built once."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.solvers.energy.energy_problem import Case, Problem
from airtight.solvers.energy.exact import exact_cases

_TOLERANCE = 1e-11


@cache
def program() -> tuple[Any, dict[str, Any], dict[str, Any]]:
    r"""The problem, its parameters and its variables.

    :math:`u \ge te^{(a-Z_st)/t}` scales the perspective by :math:`e^{Z_s}`, Z_s the greatest rate, so that u is of the size of t.

    Examples
    --------
    >>> problem, _, _ = program()
    >>> problem.is_dcp(), problem.is_dpp()
    (True, True)
    """
    import cvxpy as cp

    x, t, u, w, y = (cp.Variable(name=name) for name in "xtuwy")
    names = ["a", "Z_s", "P_cp", "circuit", "amplifier", "T", "x_min", "t_min", "half", "log_beta_1", "per_beta_2"]
    p = {name: cp.Parameter(name=name) for name in names}
    constraints = [
        cp.constraints.ExpCone(p["a"] - p["Z_s"] * t, t, u),
        w >= p["P_cp"] * x + p["amplifier"] * u + p["circuit"] * t - p["half"],
        w >= 0,
        y == p["per_beta_2"] * x,
        x >= p["x_min"],
        t >= p["t_min"],
        x + t <= p["T"],
    ]
    objective = cp.Minimize(cp.exp(p["log_beta_1"] - y) + cp.square(w))
    return cp.Problem(objective, constraints), p, {"x": x, "t": t}


def solve(problem: Problem) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """Device after device, where the relaxation is lossless; elsewhere the closed form's vertex, or branch and bound."""
    import cvxpy as cp

    built, p, v = program()
    x, Z, case, bound = exact_cases(problem)
    for k in np.flatnonzero(problem.energy(problem.x_max, problem.Z_max) >= problem.half):
        one = problem[[k]]
        top = float(one.Z_max[0])
        values = {
            "a": one.a[0],
            "Z_s": top,
            "P_cp": one.P_cp[0],
            "circuit": one.P_cir[0] - one.inverse_gain[0],
            "amplifier": one.inverse_gain[0] * np.exp(top),
            "T": one.T[0],
            "x_min": one.x_min[0],
            "t_min": one.t_min[0],
            "half": one.half[0],
            "log_beta_1": np.log(one.beta_1[0]),
            "per_beta_2": one.P_cp[0] / one.beta_2[0],
        }
        for name, value in values.items():
            p[name].value = float(value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # doubts of the solver: the gap decides
            built.solve(
                solver=cp.CLARABEL, tol_gap_abs=_TOLERANCE, tol_gap_rel=_TOLERANCE, tol_feas=_TOLERANCE, max_iter=500
            )
        if v["x"].value is None:
            x[k] = Z[k] = np.nan
            case[k] = list(Case).index(Case.UNSOLVED)
            continue
        Z[k] = np.clip(one.a[0] / float(v["t"].value), one.a[0] / (one.T[0] - one.x_min[0]), one.Z_max[0])
        x[k] = np.clip(float(v["x"].value), one.x_min[0], one.T[0] - one.a[0] / Z[k])
        x[[k]], Z[[k]] = raised(one, x[[k]], Z[[k]])
    return x, Z, case, bound


def raised(problem: Problem, x: FloatArray, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """More iterations, then more power on the delay edge, until the energy reaches its target: nothing is lost by it.

    Where the learning term has died out the relaxed objective is flat below the target, the true one is not.
    """
    end = problem.T - problem.a / Z
    x = np.minimum(x + np.maximum(problem.half - problem.energy(x, Z), 0.0) / problem.P_cp, np.maximum(end, x))
    low, high = x, problem.x_max
    short = problem.energy(x, Z) < problem.half * (1 - 1e-12)
    for _ in range(100):
        middle = 0.5 * (low + high)
        over = problem.energy(middle, np.minimum(problem.a / (problem.T - middle), problem.Z_max)) >= problem.half
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    edge = np.minimum(problem.a / (problem.T - high), problem.Z_max)
    return np.where(short, high, x), np.where(short, edge, Z)
