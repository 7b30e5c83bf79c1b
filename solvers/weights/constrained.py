r"""The weight problem as a cvxpy problem that a user extends, and the certificate of the extended problem.

A user's constraint is an equality :math:`f(w) = 0` of affine f, or an inequality :math:`f(w) \le 0` of convex f. For every
multiplier :math:`\mu` (:math:`\mu \ge 0` for an inequality) and every feasible w of the extended problem

.. math:: F(w) \ge F(w) + \mu^Tf(w) \ge F(w) + \mu^T[f(\hat w) + f'(\hat w)(w - \hat w)],

the first because :math:`\mu^Tf(w) \le 0`, the second because f is convex. The right-hand side is a quadratic program of the
form of :mod:`airtight.solvers.weights.quadratic`, with another g and another constant. Its dual bound, at the multipliers that
the solver returns, therefore bounds the extended problem, whatever their error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from airtight.analytics.checks import ConvergenceError, FloatArray, ParameterError
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.weights.quadratic import Certificate, Multipliers, QuadraticProgram, certificate

Constraints = Callable[[Any], Any]  # from the cvxpy variable of the weights to one constraint, or a sequence of them
_SETTINGS = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12, "max_iter": 400}


def stated(qp: QuadraticProgram, constraints: Constraints | None = None) -> tuple[Any, dict[str, Any]]:
    """The program as a cvxpy problem, with the constraints of a user; its optimal value is that of the program.

    Returns
    -------
    problem : cvxpy.Problem
        It follows cvxpy's rules for parameters (DPP): ``problem.param_dict["w_max"]`` holds the greatest weights that are
        finite, and another value needs no new compilation.
    variables : dict
        ``{"w": cvxpy.Variable}``, shape (K,).
    """
    cp: Any = import_module("cvxpy")
    w, upper = cp.Variable(qp.d.size, name="w"), qp.effective_upper
    bounded = np.flatnonzero(np.isfinite(upper))
    root = np.sqrt(np.maximum(qp.d, 0.0))
    objective = (
        cp.sum_squares(cp.multiply(root, w)) / 2 + cp.sum_squares(qp.V.T @ w - qp.c) / 2 + qp.g @ w + qp.constant
    )
    rows = [w >= 0]
    if bounded.size:
        greatest = cp.Parameter(bounded.size, nonneg=True, name="w_max", value=upper[bounded])
        rows.append(w[bounded] <= greatest)
    if qp.sums_to_one:
        rows.append(cp.sum(w) == 1)
    return cp.Problem(cp.Minimize(objective), rows + _of_user(constraints, w, cp)), {"w": w}


def _of_user(constraints: Constraints | None, w: Any, cp: Any) -> list[Any]:
    """The constraints of the user, checked: equalities and inequalities of the weights alone that cvxpy knows to be convex."""
    if constraints is None:
        return []
    if not callable(constraints):
        raise ParameterError("constraints", constraints, "a function of the cvxpy variable that returns constraints")
    given = constraints(w)
    rows = list(given) if isinstance(given, Sequence) else [given]
    kinds = (cp.constraints.nonpos.Inequality, cp.constraints.zero.Equality)
    for row in rows:
        if not isinstance(row, kinds):
            raise ParameterError("constraints", str(row), "cvxpy equalities and inequalities, such as w[0] <= 0.05")
        if any(variable.id != w.id for variable in row.variables()):
            raise ParameterError("constraints", str(row), "constraints of the weights alone")
        if not row.is_dcp():
            raise ParameterError("constraints", str(row), "convex by the rules of cvxpy (DCP)")
    return rows


def minimise(qp: QuadraticProgram, constraints: Constraints) -> tuple[FloatArray, Multipliers, Certificate, int, bool]:
    """Weights of the program with a user's constraints, multipliers, certificate, iterations, and the solver's success.

    Raises
    ------
    InfeasibleError
        When the solver reports that no weights keep the constraints.
    """
    cp: Any = import_module("cvxpy")
    problem, variables = stated(qp, constraints)
    w, upper = variables["w"], qp.effective_upper
    own = 1 + bool(np.any(np.isfinite(upper))) + qp.sums_to_one  # the rows of `stated` come before those of the user
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the certificate says how accurate
            problem.solve(solver=cp.CLARABEL, **_SETTINGS)
    except cp.SolverError as error:
        raise ConvergenceError(f"cvxpy could not solve the weight problem: {error}") from None
    if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        raise InfeasibleError(
            "constraints: cvxpy reports that no weights keep them together with the bounds and the sum"
        )
    if w.value is None:
        raise ConvergenceError(f"cvxpy found no weights: its status is {problem.status}")
    weights = np.clip(w.value, 0.0, upper)
    rows = problem.constraints
    upper_dual = np.zeros(weights.size)
    if np.any(np.isfinite(upper)):
        upper_dual[np.isfinite(upper)] = np.maximum(rows[1].dual_value, 0.0)
    nu = -float(rows[own - 1].dual_value) if qp.sums_to_one else 0.0
    found = Multipliers(nu, np.maximum(rows[0].dual_value, 0.0), upper_dual)
    iterations = int(problem.solver_stats.num_iters or 0)
    w.value = weights
    return weights, found, _certified(qp, w, found, rows[own:], cp), iterations, problem.status == cp.OPTIMAL


def _certified(qp: QuadraticProgram, w: Any, found: Multipliers, rows: Sequence[Any], cp: Any) -> Certificate:
    """The certificate of the extended problem: that of its Lagrangian, and what the user's constraints add."""
    weights: FloatArray = w.value
    slope, shift, violation = np.zeros(weights.size), 0.0, 0.0
    for row in rows:
        f = np.ravel(row.expr.value, order="F")
        mu = np.ravel(np.asarray(row.dual_value, dtype=float), order="F")
        equality = isinstance(row, cp.constraints.zero.Equality)
        mu = mu if equality else np.maximum(mu, 0.0)
        jacobian = row.expr.grad[w]  # columns are the entries of f
        gradient = jacobian.toarray() if hasattr(jacobian, "toarray") else np.full((weights.size, f.size), jacobian)
        slope = slope + gradient @ mu
        shift += float(mu @ f)
        violation = max(violation, float(np.max(np.abs(f) if equality else np.maximum(f, 0.0), initial=0.0)))
    lagrangian = replace(qp, g=qp.g + slope, constant=qp.constant + shift - float(slope @ weights))
    proved = certificate(lagrangian, weights, found)
    # F(w) - D = [L(w) - D] - mu f(w), where mu f(w) <= 0 for feasible weights
    gap = proved.duality_gap - shift
    base = certificate(qp, weights, found)
    return replace(proved, primal_residual=max(proved.primal_residual, violation), duality_gap=gap, scale=base.scale)
