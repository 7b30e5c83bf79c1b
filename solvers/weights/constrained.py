r"""The weight problem as a cvxpy problem that a user extends, and the certificate of the extended problem.

A user's constraint is an equality :math:`f(w) = 0` of affine f, or an inequality :math:`f(w) \le 0` of convex f. f is at least
its tangent at any point :math:`w_j`, which is called a cut. For multipliers :math:`\mu_j` (:math:`\mu_j \ge 0` for an
inequality) and every feasible w of the extended problem

.. math:: 0 \ge \ell(w) := \sum_j\mu_j^T[f(w_j) + f'(w_j)(w - w_j)].

*Optimality.* So :math:`F(w) \ge F(w) + \ell(w)`, a quadratic program of the form of :mod:`airtight.solvers.weights.quadratic`
with another g and another constant. Its dual bound therefore bounds the extended problem.

*Infeasibility.* Where :math:`\ell > 0` at all weights that keep the bounds and the sum, no weights keep the constraints
(Farkas). A linear function on this set has its minimum in closed form.

Both hold for any points and multipliers, so they do not rely on the solver that finds them. One cut at its answer suffices
where f is differentiable there. At a kink, as of ``cp.max(w)`` between equal weights, the multipliers belong to a mean of several
tangents: the problem is solved again with cuts in place of the constraints, and what it returns gives new cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from airtight.analytics.checks import ConvergenceError, FloatArray, ParameterError
from airtight.solvers import cone_program
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.weights import conic_weights
from airtight.solvers.weights.privacy_price import Further
from airtight.solvers.weights.quadratic import Multipliers, OptimalityCertificate, QuadraticProgram, certificate

if TYPE_CHECKING:
    import cvxpy

Constraints = Callable[["cvxpy.Expression"], "cvxpy.Constraint | Sequence[cvxpy.Constraint]"]  # of the weights

_GAP, _ACCEPTED_GAP = 1e-9, 1e-6  # relative gap at which the search for cuts ends, and the greatest that is returned
_VIOLATION = 1e-7  # greatest violation of a constraint that is returned, in weights
_ROUNDS, _POLISHED = 60, 4  # problems with cuts that are solved at most, and those after which the greatest gap is accepted
_REWARD = 1e-6  # of the sum of the weights without bound, in their units, in the search for a proof of infeasibility
_FARTHEST = 1e3  # greatest weight without bound in that search, in its unit; the proof does not need it
_BESIDE = 1e-6  # share of the way to the answer of a problem with cuts at which another cut is made
_ROUNDING = 1e-10  # bound on the rounding error of an evaluated constraint, relative to its terms


def stated(
    qp: QuadraticProgram, constraints: Constraints | None = None
) -> tuple[cvxpy.Problem, dict[str, cvxpy.Expression]]:
    """The program as a cvxpy problem, with the constraints of a user; its value is that of the program.

    The objective is divided by its size, and where the sum is free the weights are expressions of a variable with entries
    near one. So a solver with absolute tolerances solves the problem in every unit. ``problem.value`` is in the unit of the
    program all the same.

    Returns
    -------
    problem : cvxpy.Problem
        It follows cvxpy's rules for parameters (DPP): ``problem.param_dict["w_max"]`` holds the greatest weights that are
        finite, and another value needs no new compilation.
    variables : dict
        ``{"w": cvxpy expression}``, shape (K,).
    """
    program = _Stated.of(qp, constraints)
    return program.problem(program.of_user, program.sizes(), elastic=False), {"w": program.w}


@dataclass(frozen=True)
class _Cut:
    """The tangent of a constraint at a point: its values are at most those of the constraint."""

    point: FloatArray
    tangent: Further

    @property
    def constant(self) -> FloatArray:
        """The tangent's values at weights 0."""
        return np.asarray(self.tangent.value - self.tangent.jacobian.T @ self.point)

    def stated(self, w: Any) -> tuple[Any, bool]:
        """The tangent as a cvxpy expression, and whether it is to be 0."""
        return self.tangent.jacobian.T @ w + self.constant, self.tangent.equality


@dataclass(frozen=True)
class _Answer:
    """Weights, the multipliers of the bounds and of the sum, and those of each constraint."""

    w: FloatArray
    multipliers: Multipliers
    of_rows: list[FloatArray]
    iterations: int


@dataclass(frozen=True)
class _Stated:
    """A program whose weights are `unit` times a cvxpy variable z, its objective divided by `objective`, with a user's rows."""

    qp: QuadraticProgram
    unit: FloatArray
    objective: float
    z: Any
    base: Any
    named: dict[str, Any]
    rows: list[Any]

    @classmethod
    def of(cls, qp: QuadraticProgram, constraints: Constraints | None) -> _Stated:
        cp: Any = import_module("cvxpy")
        unit, objective = qp.units()
        scaled = qp.in_units(unit, objective)
        data, bounded = conic_weights.data_of(scaled), np.isfinite(qp.effective_upper)
        if np.any(bounded):
            upper = cp.Parameter(int(np.sum(bounded)), nonneg=True, name="w_max", value=qp.effective_upper[bounded])
            data |= {"bounded": bounded, "upper": cp.multiply(1 / unit[bounded], upper)}
        base, z, named = conic_weights.stated(scaled.d.size, scaled.c.size, qp.sums_to_one, data)
        stated = cls(qp, unit, objective, z, base, named, [])
        return replace(stated, rows=_of_user(constraints, stated.w, z, cp))

    @property
    def w(self) -> Any:
        """The weights: z itself where their unit is one."""
        return self.z if np.all(self.unit == 1) else import_module("cvxpy").multiply(self.unit, self.z)

    @property
    def of_user(self) -> list[tuple[Any, bool]]:
        """The expressions of the user's constraints, and whether they are to be 0."""
        cp: Any = import_module("cvxpy")
        return [(row.expr, isinstance(row, cp.constraints.zero.Equality)) for row in self.rows]

    def problem(self, rows: Sequence[tuple[Any, bool]], sizes: Sequence[FloatArray], *, elastic: bool) -> Any:
        """The problem with expressions <= 0 (= 0), divided by their sizes; `elastic`: the least violation of them by weights.

        Its last constraints are those of the expressions, two for an equality whose violation is sought.
        """
        cp: Any = import_module("cvxpy")
        violation = cp.Variable(nonneg=True) if elastic else 0.0
        further = []
        for (expression, equality), size in zip(rows, sizes, strict=True):
            divided = cp.multiply(1 / size, cp.vec(expression, order="F"))
            if equality and not elastic:
                further.append(divided == 0)
            else:
                further += [divided <= violation] + ([-divided <= violation] if equality else [])
        base = [row for name, row in self.named.items() if not elastic or name != "residual"]
        if elastic:
            # the reward makes slopes of l positive, not 0 up to rounding, where a weight has no bound
            open_weights = self.z[np.isinf(self.qp.effective_upper)]
            return cp.Problem(
                cp.Minimize(violation - _REWARD * cp.sum(open_weights)), base + further + [open_weights <= _FARTHEST]
            )
        constant = self.qp.constant / self.objective
        return cone_program.problem(self.base.objective.args[0] + constant, base + further, self.objective)

    def solve(self, rows: Sequence[tuple[Any, bool]], sizes: Sequence[FloatArray], *, elastic: bool) -> _Answer:
        """Solve :meth:`problem`; the multipliers are those of the undivided expressions."""
        problem = self.problem(rows, sizes, elastic=elastic)
        iterations = cone_program.solve(problem)
        objective = 1.0 if elastic else self.objective
        duals = iter(problem.constraints[len(self.named) - elastic :])
        of_rows = []
        for (_, equality), size in zip(rows, sizes, strict=True):
            dual = np.asarray(next(duals).dual_value, dtype=float)
            if not equality:
                dual = np.maximum(dual, 0.0)
            elif elastic:
                dual = dual - np.asarray(next(duals).dual_value, dtype=float)
            of_rows.append(objective * dual / size)
        bounded = np.isfinite(self.qp.effective_upper)
        multipliers = conic_weights.multipliers_of(self.named, self.unit, objective, bounded)
        return _Answer(self.clipped(self.z.value * self.unit), multipliers, of_rows, iterations)

    def clipped(self, w: FloatArray) -> FloatArray:
        return np.clip(w, 0.0, self.qp.effective_upper)

    def cuts(self, w: FloatArray) -> list[_Cut | None]:
        """The tangents of the user's constraints at weights; None where one has no finite value or gradient there."""
        self.z.value = w / self.unit
        out: list[_Cut | None] = []
        for expression, equality in self.of_user:
            value, gradient = expression.value, expression.grad[self.z]
            if value is None or gradient is None:
                out.append(None)
                continue
            value = np.ravel(value, order="F")
            # columns are the entries of f
            matrix = gradient.toarray() if hasattr(gradient, "toarray") else np.full((w.size, value.size), gradient)
            jacobian = matrix / self.unit[:, None]
            finite = np.all(np.isfinite(value)) and np.all(np.isfinite(jacobian))
            out.append(_Cut(w, Further(jacobian, value, equality)) if finite else None)
        return out

    def sizes(self) -> list[FloatArray]:
        """The size of each entry of the constraints: of its value or of its change by a unit of a weight."""
        K = self.unit.size
        at_level = self.cuts(self.clipped(self.unit / (K if self.qp.sums_to_one else 1)))
        return [
            np.ones(row.expr.size) if cut is None else _size(cut.tangent, self.unit)
            for row, cut in zip(self.rows, at_level, strict=True)
        ]

    def answers(self, *, elastic: bool) -> Iterator[tuple[_Answer, list[_Cut]]]:
        """The answer to the problem and a cut of every constraint there, then those to problems with ever more cuts.

        BracketArrays where the solver finds no answer, or where no cut can be made at the first one.
        """
        rows, sizes = self.of_user, self.sizes()
        cuts: list[_Cut] = []
        first: _Answer | None = None
        for _ in range(_ROUNDS):
            try:
                answer = self.solve(rows, sizes, elastic=elastic)
            except ConvergenceError:
                return
            if first is None:
                first, cuts = answer, [cut for cut in self.cuts(answer.w) if cut is not None]
                if len(cuts) < len(self.rows):
                    return
            yield answer, cuts
            # the second point finds the pieces of a kink that are active at the first answer itself
            points = [] if answer is first else [answer.w, first.w + _BESIDE * (answer.w - first.w)]
            for point in points:
                new = zip(self.rows, self.cuts(point), strict=True)
                cuts = cuts + [cut for row, cut in new if cut is not None and not row.expr.is_affine()]
            rows = [cut.stated(self.w) for cut in cuts]
            sizes = [_size(cut.tangent, self.unit) for cut in cuts]


def _size(tangent: Further, unit: FloatArray) -> FloatArray:
    """The magnitude of each entry of a constraint, a power of two."""
    slope = np.max(np.abs(tangent.jacobian) * unit[:, None], axis=0, initial=0.0)
    size = np.maximum(np.abs(tangent.value), slope)
    return np.asarray(np.exp2(np.rint(np.log2(np.where(size > 0, size, 1.0)))))


def _of_user(constraints: Constraints | None, w: Any, z: Any, cp: Any) -> list[Any]:
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
        if any(variable.id != z.id for variable in row.variables()):
            raise ParameterError("constraints", str(row), "constraints of the weights alone")
        if not row.is_dcp():
            raise ParameterError("constraints", str(row), "convex by the rules of cvxpy (DCP)")
    return rows


@dataclass(frozen=True)
class Extended:
    """The solution of a program with a user's constraints; `further` are these at the weights."""

    w: FloatArray
    multipliers: Multipliers
    certificate: OptimalityCertificate
    iterations: int
    further: tuple[Further, ...]


def minimise(qp: QuadraticProgram, constraints: Constraints) -> Extended:
    """Solve the program with a user's constraints.

    Raises
    ------
    InfeasibleError
        When it is proved that no weights keep the constraints.
    ConvergenceError
        When the weights that the solver finds are not proved to be optimal, and nothing is proved to be infeasible.
    """
    stated = _Stated.of(qp, constraints)
    weights, first_cuts, iterations = np.full(qp.d.size, np.nan), list[_Cut](), 0
    best: tuple[_Answer, OptimalityCertificate] | None = None
    for number, (answer, cuts) in enumerate(stated.answers(elastic=False)):
        iterations += answer.iterations
        if number == 0:
            weights, first_cuts = answer.w, cuts
        certified = _certified(qp, weights, answer, cuts, first_cuts)
        if certified.primal_residual > _VIOLATION:
            break
        if best is None or certified.duality_gap < best[1].duality_gap:
            best = answer, certified
        if best[1].is_optimal(_GAP if number < _POLISHED else _ACCEPTED_GAP):
            break
    if best is None:
        if any(_infeasible(qp, answer, cuts) for answer, cuts in stated.answers(elastic=True)):
            raise InfeasibleError("constraints: it is proved that no weights keep all of them")
        raise ConvergenceError("constraints: no weights that keep all of them were found, nor a proof that there are none")
    if not best[1].is_optimal(_ACCEPTED_GAP):
        raise ConvergenceError(
            f"constraints: the weights that were found are proved optimal up to {best[1].duality_gap:.3g} only"
        )
    return Extended(weights, best[0].multipliers, best[1], iterations, tuple(cut.tangent for cut in first_cuts))


def _violation(cuts: Sequence[_Cut], qp: QuadraticProgram) -> float:
    """The greatest violation of the constraints at the points of their cuts: to first order, of a weight.

    It is relative to 1, or to the largest weight when the sum is free, and so does not depend on the unit of a constraint.
    """
    worst = 0.0
    for cut in cuts:
        f = cut.tangent.value
        beyond = np.abs(f) if cut.tangent.equality else np.maximum(f, 0.0)
        reach = 1.0 if qp.sums_to_one else float(np.max(np.abs(cut.point), initial=0.0))
        slope = np.max(np.abs(cut.tangent.jacobian), axis=0, initial=0.0) * reach
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = max(worst, float(np.max(np.where(beyond > 0, beyond / slope, 0.0), initial=0.0)))
    return worst


def _certified(
    qp: QuadraticProgram, w: FloatArray, answer: _Answer, cuts: Sequence[_Cut], first_cuts: Sequence[_Cut]
) -> OptimalityCertificate:
    """The certificate of the extended problem: that of its Lagrangian with the cuts, and what the constraints add."""
    slope, constant = _combined(cuts, answer.of_rows, w.size)
    lagrangian = replace(qp, g=qp.g + slope, constant=qp.constant + constant)
    proved = certificate(lagrangian, w, answer.multipliers)
    # F(w) - D = [L(w) - D] - l(w), where l <= 0 at feasible weights
    gap = proved.duality_gap - (constant + float(slope @ w))
    scale = certificate(qp, w, answer.multipliers).scale
    primal = max(proved.primal_residual, _violation(first_cuts, qp))
    return replace(proved, primal_residual=primal, duality_gap=gap, scale=scale)


def _combined(cuts: Sequence[_Cut], of_rows: Sequence[FloatArray], K: int) -> tuple[FloatArray, float]:
    """Slope and constant of l, the sum of the cuts times their multipliers."""
    slope, constant = np.zeros(K), 0.0
    for cut, mu in zip(cuts, of_rows, strict=True):
        slope = slope + cut.tangent.jacobian @ mu
        constant += float(mu @ cut.constant)
    return slope, constant


def _infeasible(qp: QuadraticProgram, answer: _Answer, cuts: Sequence[_Cut]) -> bool:
    r"""Whether l is proved to be positive at all weights that keep the bounds and the sum.

    Notes
    -----
    For every nu, :math:`l(w) = c + a^Tw \ge c + \nu + \sum_k\min(0, a_k - \nu)u_k` where the weights sum to one. The best nu
    is the slope at which the bounds, filled in the order of the slopes, sum to one. Where the sum is free nu is 0. The bound
    on rounding is 1e-10 times the sum of the magnitudes of all terms.
    """
    slope, constant = _combined(cuts, answer.of_rows, qp.d.size)
    upper, nu = qp.effective_upper, 0.0
    if qp.sums_to_one:
        order = np.argsort(slope)
        nu = float(slope[order[min(int(np.searchsorted(np.cumsum(upper[order]), 1.0)), slope.size - 1)]])
    below = slope < nu
    least = constant + nu + float(np.sum((slope[below] - nu) * upper[below]))
    terms = abs(nu) + float(np.sum(np.abs(slope[below]) * upper[below]))
    for cut, mu in zip(cuts, answer.of_rows, strict=True):
        terms += float(np.abs(mu) @ (np.abs(cut.tangent.value) + np.abs(cut.tangent.jacobian.T) @ np.abs(cut.point)))
    return bool(least > _ROUNDING * terms)
