r"""Cone programs of cvxpy, solved by Clarabel in units in which their data have sizes near one.

Clarabel stops by absolute tolerances and rescales rows and columns by factors between 1e-4 and 1e4 only, so its answer and
its status depend on the units in which a problem is stated. Here the canonical program

.. math:: \min_x\ \tfrac12x^TPx + q^Tx \quad\text{s.t. } Ax + s = b,\ s \in \mathcal K

is first restated in :math:`x = Dx'`, with the rows multiplied by E and the objective by o. D is diagonal and E maps the
cone onto itself: a positive factor for each row of a linear constraint, one factor for all rows of a cone, and for a
second-order cone also a hyperbolic rotation of its first two rows, which in :math:`s_0 \pm s_1` are the factors
:math:`\lambda^{\pm1}`. (A square :math:`\|x\|^2 \le t` is stated by :math:`\|(1 - t, 2x)\| \le 1 + t`, where a small t
would be lost beside 1.) All factors are powers of two, so the restatement is exact up to the rotation's rounding.

The status of the solver is not passed on. Whoever asks computes a certificate from the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from airtight.analytics.checks import ConvergenceError, FloatArray, IntArray

if TYPE_CHECKING:
    import cvxpy

# near rounding error, because a certificate decides on optimality, not the solver's status
_SETTINGS = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13, "tol_ktratio": 1e-9, "max_iter": 400}
_NEGLIGIBLE = 1e-12  # entries below this share of the greatest of their row and of their column do not decide on units
_ITERATIONS = 100  # of the least squares problem of the units, which need not be accurate
_GREATEST_LOG = 900.0  # base-2 logarithm of the greatest factor, so that products with data are doubles


def problem(objective: cvxpy.Expression, constraints: Sequence[cvxpy.Constraint], unit: float) -> cvxpy.Problem:
    """The cvxpy problem of least `objective`, an expression; ``problem.value`` is its value times `unit`.

    So a solver gets numbers near one, and the caller a value in the unit of his own.
    """
    stated = _problem_in_unit()(import_module("cvxpy").Minimize(objective), list(constraints))
    stated.unit = unit
    return stated


@cache
def _problem_in_unit() -> Any:
    base: Any = import_module("cvxpy").Problem

    class ProblemInUnit(base):  # type: ignore[misc]
        """A problem whose value is that of its objective times a unit."""

        unit = 1.0

        def unpack(self, solution: Any) -> None:
            super().unpack(solution)
            self._value: float = self._value * self.unit

    return ProblemInUnit


def solve(problem: cvxpy.Problem) -> int:
    """Solve a cvxpy problem; its variables and dual variables get the values of the answer.

    Returns
    -------
    int
        The number of iterations.

    Raises
    ------
    ConvergenceError
        When the solver returns no numbers.
    """
    data, chain, inverse_data = problem.get_problem_data("CLARABEL", solver_opts={})
    scaling = _Scaling.of(data)
    raw = chain.solver.solve_via_data(
        scaling.applied(data), warm_start=False, verbose=False, solver_opts=dict(_SETTINGS)
    )
    x, z = scaling.columns * np.asarray(raw.x), scaling.dual(np.asarray(raw.z))
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(z))):
        raise ConvergenceError(f"cvxpy found no answer: the status of Clarabel is {raw.status}")
    answer = SimpleNamespace(
        status="Solved", x=x, z=z, obj_val=float("nan"), iterations=raw.iterations, solve_time=raw.solve_time
    )
    problem.unpack_results(answer, chain, inverse_data)
    return int(raw.iterations)


@dataclass(frozen=True)
class _Scaling:
    """D, o, and E = diag(rows) H diag(turns) R, where R maps the first two rows of a cone to their sum and difference, H back."""

    columns: FloatArray
    objective: float
    rows: FloatArray
    turns: FloatArray
    forth: Any
    back: Any

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> _Scaling:
        """The factors that bring the logarithms of all entries closest to 0 in the sense of least squares (Curtis and Reid)."""
        dims, size = data["dims"], data["b"].size
        lengths = [1] * (dims.zero + dims.nonneg) + list(dims.soc)
        lengths += [n * (n + 1) // 2 for n in dims.psd] + [3] * (dims.exp + len(dims.p3d))
        lengths += [len(powers) + 1 for powers in getattr(dims, "pnd", [])]
        group = np.repeat(np.arange(len(lengths)), lengths)
        starts = np.cumsum([0, *lengths])[dims.zero + dims.nonneg :][: len(dims.soc)]
        first = starts[np.asarray(dims.soc, dtype=int) > 1]
        forth, back = _sum_and_difference(size, first, 1.0), _sum_and_difference(size, first, 0.5)
        turn = np.zeros(size)
        turn[first], turn[first + 1] = 1.0, -1.0
        columns, rows, turns, objective = _logarithms(forth @ data["A"], forth @ data["b"], data, group, turn)
        return cls(np.exp2(columns), 2.0**objective, np.exp2(rows), np.exp2(turns), forth, back)

    def applied(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The canonical program in these units."""
        D = sparse.diags_array(self.columns)
        scaled = dict(data) | {
            "A": sparse.csc_array(self._rows(data["A"] @ D)),
            "b": self._rows(data["b"]),
            "c": self.objective * self.columns * data["c"],
        }
        if "P" in data:
            scaled["P"] = sparse.csc_array(self.objective * (D @ data["P"] @ D))
        return scaled

    def _rows(self, matrix: Any) -> Any:
        turned = self.back @ (sparse.diags_array(self.turns) @ (self.forth @ matrix))
        return sparse.diags_array(self.rows) @ turned

    def dual(self, z: FloatArray) -> FloatArray:
        """The dual variables in the units of the data: E'z / o."""
        return np.asarray(self.forth.T @ (self.turns * (self.back.T @ (self.rows * z))) / self.objective)


def _sum_and_difference(size: int, first: IntArray, factor: float) -> Any:
    """The matrix of (s_0 + s_1, s_0 - s_1) times a factor for the rows from `first`, and of s for all others."""
    diagonal, beside = np.ones(size), np.zeros(max(size - 1, 0))
    diagonal[first], diagonal[first + 1] = factor, -factor
    beside[first] = factor
    return sparse.diags_array([diagonal, beside, beside], offsets=[0, 1, -1], format="csr")


def _logarithms(
    A: Any, b: FloatArray, data: Mapping[str, Any], group: IntArray, turn: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Base-2 logarithms, whole numbers, of the factors of columns, rows and turns, and of the objective."""
    A = sparse.coo_array(A)
    magnitude = np.abs(A.data)
    greatest_of_row, greatest_of_column = np.zeros(b.size), np.zeros(A.shape[1])
    np.maximum.at(greatest_of_row, A.row, magnitude)
    np.maximum.at(greatest_of_column, A.col, magnitude)
    counts = magnitude > _NEGLIGIBLE * np.minimum(greatest_of_row[A.row], greatest_of_column[A.col])
    i, j, entry = A.row[counts], A.col[counts], magnitude[counts]
    k, m = np.flatnonzero(b), np.flatnonzero(data["c"])
    P = sparse.coo_array(sparse.triu(data["P"])) if "P" in data else sparse.coo_array((A.shape[1], A.shape[1]))
    inside = P.data != 0
    # unknowns: the logarithms of the columns' factors, then of the groups of rows, of the groups' turns, of the objective
    columns, groups = A.shape[1], int(group[-1]) + 1 if group.size else 0
    unknowns = columns + 2 * groups + 1

    turns, last = columns + groups, unknowns - 1
    # an equation in each row: the unknowns that it adds up, with their signs, give minus the logarithm of an entry
    equations = [
        (j, columns + group[i], turns + group[i], turn[i], np.abs(entry)),
        (np.full(k.size, -1), columns + group[k], turns + group[k], turn[k], np.abs(b[k])),
        (m, np.full(m.size, -1), np.full(m.size, last), np.ones(m.size), np.abs(data["c"][m])),
        (P.row[inside], P.col[inside], np.full(int(np.sum(inside)), last), np.ones(int(np.sum(inside))), P.data[inside]),
    ]
    first, second, third, sign, sizes = (np.concatenate(parts) for parts in zip(*equations, strict=True))
    row = np.tile(np.arange(sizes.size), 3)
    column, value = np.concatenate([first, second, third]), np.concatenate([np.ones(2 * sizes.size), sign])
    present = column >= 0
    matrix = sparse.csr_array((value[present], (row[present], column[present])), shape=(sizes.size, unknowns))
    logs = linalg.lsqr(matrix, -np.log2(np.abs(sizes)), atol=1e-4, btol=1e-4, iter_lim=_ITERATIONS)[0]
    logs = np.clip(np.rint(logs), -_GREATEST_LOG, _GREATEST_LOG)
    return logs[:columns], logs[columns + group], turn * logs[columns + groups + group], float(logs[-1])
