r"""The weight problem as a cvxpy problem that a user extends, and the certificate of the extended problem.

A user's constraint is an equality :math:`f(w) = 0` of affine f, or an inequality :math:`f(w) \le 0` of convex f. For every
multiplier :math:`\mu` (:math:`\mu \ge 0` for an inequality) and every feasible w of the extended problem

.. math:: F(w) \ge F(w) + \mu^Tf(w) \ge F(w) + \mu^T[f(\hat w) + f'(\hat w)(w - \hat w)],

the first because :math:`\mu^Tf(w) \le 0`, the second because f is convex. The right-hand side is a quadratic program of the
form of :mod:`airtight.solvers.weights.quadratic`, with another g and another constant. Its dual bound, at the multipliers that
the solver returns, therefore bounds the extended problem, whatever their error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray, ParameterError
from airtight.solvers.weights import conic_weights
from airtight.solvers.weights.privacy_price import Further
from airtight.solvers.weights.quadratic import Certificate, Multipliers, QuadraticProgram, certificate

Constraints = Callable[[Any], Any]  # from the cvxpy variable of the weights to one constraint, or a sequence of them


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
    problem, w, _ = _stated(qp, constraints)
    return problem, {"w": w}


def _stated(qp: QuadraticProgram, constraints: Constraints | None) -> tuple[Any, Any, dict[str, Any]]:
    cp: Any = import_module("cvxpy")
    data: dict[str, Any] = {"root_d": np.sqrt(np.maximum(qp.d, 0.0)), "V": qp.V, "c": qp.c, "g": qp.g}
    bounded = np.flatnonzero(np.isfinite(qp.effective_upper))
    if bounded.size:
        upper = cp.Parameter(bounded.size, nonneg=True, name="w_max", value=qp.effective_upper[bounded])
        data |= {"bounded": bounded, "upper": upper}
    return conic_weights.stated(
        qp.V.shape[0],
        qp.V.shape[1],
        qp.sums_to_one,
        data,
        constant=qp.constant,
        further=lambda w: _of_user(constraints, w, cp),
    )


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


@dataclass(frozen=True)
class Extended:
    """The solution of a program with a user's constraints; `further` are these at the weights."""

    w: FloatArray
    multipliers: Multipliers
    certificate: Certificate
    iterations: int
    converged: bool
    further: tuple[Further, ...]


def minimise(qp: QuadraticProgram, constraints: Constraints) -> Extended:
    """Solve the program with a user's constraints.

    Raises
    ------
    InfeasibleError
        When the solver reports that no weights keep the constraints.
    """
    problem, w, named = _stated(qp, constraints)
    iterations, optimal = conic_weights.run(problem, w)
    upper = qp.effective_upper
    w.value = np.clip(w.value, 0.0, upper)
    upper_dual = np.zeros(w.value.size)
    if "upper" in named:
        upper_dual[np.isfinite(upper)] = np.maximum(named["upper"].dual_value, 0.0)
    nu = -float(named["total"].dual_value) if qp.sums_to_one else 0.0
    found = Multipliers(nu, np.maximum(named["lower"].dual_value, 0.0), upper_dual)
    rows = [row for name, row in named.items() if name.isdigit()]
    certified = _certified(qp, w, found, rows)
    return Extended(w.value, found, certified, iterations, optimal, tuple(_at(row, w) for row in rows))


def _at(row: Any, w: Any) -> Further:
    cp: Any = import_module("cvxpy")
    value = np.ravel(row.expr.value, order="F")
    jacobian = row.expr.grad[w]  # columns are the entries of f
    gradient = jacobian.toarray() if hasattr(jacobian, "toarray") else np.full((w.size, value.size), jacobian)
    return Further(gradient, value, isinstance(row, cp.constraints.zero.Equality))


def _certified(qp: QuadraticProgram, w: Any, found: Multipliers, rows: Sequence[Any]) -> Certificate:
    """The certificate of the extended problem: that of its Lagrangian, and what the user's constraints add."""
    weights: FloatArray = w.value
    slope, shift, violation = np.zeros(weights.size), 0.0, 0.0
    for row in rows:
        here = _at(row, w)
        f = here.value
        mu = np.ravel(np.asarray(row.dual_value, dtype=float), order="F")
        mu = mu if here.equality else np.maximum(mu, 0.0)
        slope = slope + here.jacobian @ mu
        shift += float(mu @ f)
        violation = max(violation, float(np.max(np.abs(f) if here.equality else np.maximum(f, 0.0), initial=0.0)))
    lagrangian = replace(qp, g=qp.g + slope, constant=qp.constant + shift - float(slope @ weights))
    proved = certificate(lagrangian, weights, found)
    # F(w) - D = [L(w) - D] - mu f(w), where mu f(w) <= 0 for feasible weights
    gap = proved.duality_gap - shift
    base = certificate(qp, weights, found)
    return replace(proved, primal_residual=max(proved.primal_residual, violation), duality_gap=gap, scale=base.scale)
