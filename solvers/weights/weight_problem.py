r"""The weight problem: aggregation weights of least MSE under a privacy cap (FDP Lemma 5, App. C).

``objective="exact"`` minimises the exact MSE (ledger FDP-P38*); ``"published"`` minimises the printed bound, as the
paper does. Both are convex quadratic programs whose Hessian is a diagonal plus a matrix of low rank. Without their
constants they are

.. math:: \text{exact: } \Bigl\|\sum_k p_kw_ka_k - f^*\Bigr\|^2 + \sum_k p_k(1-p_k)\|a_k\|^2w_k^2,\qquad
          \text{published: } \tfrac12\Bigl\|\sum_k(1 - p_kw_k)b_k\Bigr\|^2
          + \sum_k\bigl[p_kG_k - \tfrac12p_k^2\|b_k\|^2\bigr]w_k^2 - \dots

with :math:`a_k = D\,\mathrm{clip}(W_kf_k)`, :math:`b_k = DW_kf_k`, :math:`G_k = \|D\|_F^2\|W_k\|_F^2\|f_k\|^2`.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference import distortion
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.rounding import UNIT
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.weights import caps, conic_weights, constrained, dual_newton, published_update
from airtight.solvers.weights.caps import Cap
from airtight.solvers.weights.constrained import Constraints
from airtight.solvers.weights.privacy_price import Further, PrivacyCap
from airtight.solvers.weights.quadratic import (
    Multipliers,
    OptimalityCertificate,
    QuadraticProgram,
    certificate,
    multipliers,
)
from airtight.solvers.weights.solution import Solution

if TYPE_CHECKING:
    import cvxpy

_TOLERANCE = 1e-12  # relative stationarity that the structured solver is asked for
_ROUNDING = 4 * UNIT  # error allowed for rounding each weight and their sum, where the sum should be 1


class Objective(StrEnum):
    """Which MSE is minimised."""

    EXACT = "exact"
    PUBLISHED = "published"


class Method(StrEnum):
    """The algorithm: our dual Newton method, cvxpy with Clarabel, or the paper's update (46) with bisection."""

    STRUCTURED = "structured"
    CVXPY = "cvxpy"
    PUBLISHED = "published"


def program(
    system: InferenceSystem,
    features: Features,
    *,
    objective: Objective | str = Objective.EXACT,
    upper: FloatArray | None = None,
    sums_to_one: bool = True,
) -> QuadraticProgram:
    """The weight problem as a quadratic program; `upper` is w_max, infinite by default.

    Examples
    --------
    >>> system, views = _example()
    >>> qp = program(system, views)
    >>> round(qp.value(system.weight) - distortion.exact(system, views), 12)
    0.0
    """
    matched_features = matched(system, features)
    objective_kind = checks.choice("objective", objective, Objective)
    p = system.participation
    bound = np.full(system.devices, np.inf) if upper is None else upper
    if objective_kind is Objective.EXACT:
        a = matched_features.decoded(system.clip)
        square = np.sum(a * a, axis=1)
        parts = distortion.breakdown(system, features)
        return QuadraticProgram(
            d=2 * p * (1 - p) * square,
            g=np.zeros(system.devices),
            upper=bound,
            V=np.sqrt(2) * p[:, None] * a,
            c=np.sqrt(2) * features.target,
            constant=parts.local_noise + parts.receiver_noise,
            sums_to_one=sums_to_one,
        )
    b = matched_features.encoded @ matched_features.D.T
    square = np.sum(b * b, axis=1)
    G = matched_features.printed_square
    silent = distortion.published(replace(system, weight=np.zeros(system.devices)), features)
    summed_decoded = b.sum(axis=0)
    return QuadraticProgram(
        d=2 * p * G - p * p * square,
        g=-2 * p * G + p * square,
        upper=bound,
        V=p[:, None] * b,
        c=summed_decoded,
        constant=silent - float(summed_decoded @ summed_decoded) / 2,
        sums_to_one=sums_to_one,
    )


def solve(
    system: InferenceSystem,
    features: Features,
    *,
    epsilon_cap: float = np.inf,
    cap: Cap | str = Cap.EXACT,
    objective: Objective | str = Objective.EXACT,
    method: Method | str = Method.STRUCTURED,
    sums_to_one: bool = True,
    w_max: ArrayLike | None = None,
    constraints: Constraints | None = None,
) -> Solution:
    """Optimal weights with their certificate.

    Parameters
    ----------
    system : InferenceSystem
        Its weights are not used.
    features : Features
    epsilon_cap : float
        Cap on every device's epsilon at the system's delta and adjacency; infinite by default.
    cap : {"exact", "proven", "theorem1", "eq23", "none"}
        How epsilon is computed for the cap, see :func:`airtight.solvers.weights.caps.greatest_weights`.
    objective : {"exact", "published"}
    method : {"structured", "cvxpy", "published"}
        "published" is the update (46) with positive part; it minimises the published objective only.
    sums_to_one : bool
        False drops the constraint sum w = 1, which contradicts unbiasedness (FDP-E4): the shrinkage design.
    w_max : array_like, shape (K,) or scalar, optional
        Greatest weights in [0, inf], used instead of those of the privacy cap.
    constraints : callable, optional
        From the cvxpy variable of the weights to further constraints, one or a list: equalities of affine and inequalities
        of convex expressions. cvxpy then solves the problem, whatever the method, and the certificate is that of the
        problem with them (:mod:`airtight.solvers.weights.constrained`).

    Returns
    -------
    Solution

    Raises
    ------
    InfeasibleError
        When the greatest weights sum to less than 1 by more than the rounding of their sum, or when no weight of a
        device keeps the cap. The error states the least feasible cap where there is one.
    ParameterError
        When the shapes of the inputs disagree, the method does not minimise this objective, a weight
        has neither curvature nor an upper bound, or `constraints` returns something else.

    Examples
    --------
    >>> system, views = _example()
    >>> best = solve(system, views, epsilon_cap=2.0)
    >>> best.w.round(4), best.is_optimal()
    (array([0.227 , 0.2943, 0.4787]), True)
    >>> bool(best.exact_mse <= solve(system, views, epsilon_cap=2.0, objective="published").exact_mse)
    True
    >>> alike = solve(system, views, epsilon_cap=2.0, constraints=lambda w: [w[0] == w[1], w[2] <= 0.4])
    >>> alike.w.round(4), alike.is_optimal(1e-8)
    (array([0.3, 0.3, 0.4]), True)
    """
    started = time.perf_counter()
    objective_kind, method_kind = (
        checks.choice("objective", objective, Objective),
        checks.choice("method", method, Method),
    )
    if method_kind is Method.PUBLISHED and (objective_kind is not Objective.PUBLISHED or not sums_to_one):
        raise ParameterError(
            "method",
            method_kind.value,
            "structured or cvxpy for this objective: (46) minimises the printed MSE, sum w = 1",
        )
    if constraints is not None and method_kind is Method.PUBLISHED:
        raise ParameterError("method", method_kind.value, "structured or cvxpy with constraints: (46) takes none")
    qp = _bounded_program(system, features, epsilon_cap, cap, objective_kind, sums_to_one, w_max)
    system = system.one_round
    upper, converged = qp.upper, True
    proved: OptimalityCertificate | None = None
    further: tuple[Further, ...] = ()
    if constraints is not None:
        extended = constrained.minimise(qp, constraints)
        w, multiplier_values, iterations = extended.w, extended.multipliers, extended.iterations
        proved, further, method_kind = extended.certificate, extended.further, Method.CVXPY
    elif method_kind is Method.CVXPY:
        w, multiplier_values, iterations, converged = conic_weights.minimise(qp)
    elif method_kind is Method.PUBLISHED:
        trace = published_update.update(system, features, upper)
        w, iterations, converged = trace.w, trace.iterations, trace.converged
        multiplier_values = multipliers(qp, w, trace.nu)
    else:
        result = dual_newton.minimise(qp, tolerance=_TOLERANCE)
        w, iterations, converged = result.w, result.iterations, result.converged
        w = _with_unit_sum(w, qp.effective_upper) if sums_to_one else w
        multiplier_values = multipliers(qp, w, result.nu)
    solution = _solution(
        system,
        features,
        qp,
        w,
        multiplier_values,
        method_kind.value,
        iterations,
        converged,
        time.perf_counter() - started,
        proved,
        constraints,
    )
    cap_kind = checks.choice("cap", cap, Cap)
    capped = w_max is None and cap_kind is not Cap.NONE and np.isfinite(epsilon_cap)
    return replace(solution, cap=PrivacyCap(system, float(epsilon_cap), cap_kind) if capped else None, further=further)


def weight_problem(
    system: InferenceSystem,
    features: Features,
    *,
    epsilon_cap: float = np.inf,
    cap: Cap | str = Cap.EXACT,
    objective: Objective | str = Objective.EXACT,
    sums_to_one: bool = True,
    w_max: ArrayLike | None = None,
    constraints: Constraints | None = None,
) -> tuple[cvxpy.Problem, dict[str, cvxpy.Expression]]:
    """The weight problem as a cvxpy problem, to be changed and extended; arguments as in :func:`solve`.

    Returns
    -------
    problem : cvxpy.Problem
        Its value is the MSE. The parameter ``w_max`` holds the greatest weights of the cap
        (:func:`greatest_weights` computes them for another one); a new value needs no new compilation.
    variables : dict
        ``{"w": cvxpy.Variable}``, shape (K,).

    Examples
    --------
    >>> system, views = _example()
    >>> problem, variables = weight_problem(system, views, epsilon_cap=2.0)
    >>> problem.is_dcp(dpp=True), bool(abs(problem.solve() - solve(system, views, epsilon_cap=2.0).exact_mse) < 1e-6)
    (True, True)
    >>> problem.param_dict["w_max"].value = greatest_weights(system, 4.0)
    >>> bool(abs(problem.solve() - solve(system, views, epsilon_cap=4.0).exact_mse) < 1e-6)
    True
    """
    objective_kind = checks.choice("objective", objective, Objective)
    qp = _bounded_program(system, features, epsilon_cap, cap, objective_kind, sums_to_one, w_max)
    return constrained.stated(qp, constraints)


def _bounded_program(
    system: InferenceSystem,
    features: Features,
    epsilon_cap: float,
    cap: Cap | str,
    objective: Objective,
    sums_to_one: bool,
    w_max: ArrayLike | None,
) -> QuadraticProgram:
    """The program with the greatest weights of the cap, or the given ones."""
    matched(system, features)
    alone = system.at_one_look()
    if w_max is None:
        upper = greatest_weights(system, epsilon_cap, cap, sums_to_one=sums_to_one)
    else:
        upper = checks.vector("w_max", w_max, system.devices, "[0, inf]")
        if sums_to_one and not _reaches_one(upper):
            raise InfeasibleError(f"w_max: the greatest weights sum to {np.sum(upper):.6g} < 1")
    qp = program(alone, features, objective=objective, upper=upper, sums_to_one=sums_to_one)
    _demand_bounded(qp)
    return qp


def greatest_weights(
    system: InferenceSystem, epsilon_cap: float, cap: Cap | str = Cap.EXACT, *, sums_to_one: bool = True
) -> FloatArray:
    """The greatest weight of every device, checked to be feasible.

    The weights are those of :func:`airtight.solvers.weights.caps.greatest_weights`.

    Raises
    ------
    InfeasibleError
        When the theorem behind the cap is vacuous, even weight 0 exceeds the cap, or the greatest weights sum to less
        than 1.

    Examples
    --------
    >>> system, _ = _example()
    >>> greatest_weights(system, 1.0)
    Traceback (most recent call last):
        ...
    airtight.solvers.errors.InfeasibleError: epsilon_cap = 1: the greatest weights sum to 0.904497 < 1; the least
    feasible cap is 1.14981
    """
    cap_kind = checks.choice("cap", cap, Cap)
    upper = caps.greatest_weights(system, checks.scalar("epsilon_cap", epsilon_cap, "(0, inf]"), cap_kind)
    no_weight = np.isnan(upper)
    if np.any(no_weight):
        reason = "Theorem 1 is vacuous here" if cap_kind in (Cap.THEOREM1, Cap.EQ23) else "even weight 0 exceeds it"
        problem = f"{reason} (device {int(np.flatnonzero(no_weight)[0])}, adjacency {system.adjacency})"
    elif sums_to_one and not _reaches_one(upper):
        problem = f"the greatest weights sum to {np.sum(upper):.6g} < 1"
    else:
        return upper
    least = least_feasible_epsilon(system, cap_kind) if sums_to_one else float("nan")
    remedy = "" if np.isnan(least) else f"; the least feasible cap is {least:.6g}"
    raise InfeasibleError(f"epsilon_cap = {epsilon_cap:g}: {problem}{remedy}", least_epsilon=least)


def least_feasible_epsilon(system: InferenceSystem, cap: Cap | str = Cap.EXACT) -> float:
    """The least cap for which the greatest weights sum to at least 1; nan when there is none.

    The result is feasible and exceeds the least cap by a relative error of at most 1e-6.

    Examples
    --------
    >>> system, _ = _example()
    >>> round(least_feasible_epsilon(system), 4)
    1.1498
    """

    def feasible(epsilon: float) -> bool:
        upper = caps.greatest_weights(system, epsilon, cap)
        return not np.any(np.isnan(upper)) and _reaches_one(upper)

    low, high = 0.0, 1.0
    while not feasible(high):
        low, high = high, 4 * high
        if high > 1e6:
            return float("nan")
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return high


def _reaches_one(upper: FloatArray) -> bool:
    """Whether the greatest weights sum to at least 1 up to rounding: K weights of 1/K do."""
    return bool(math.fsum(np.minimum(upper, 1.0)) >= 1 - _ROUNDING)


def _with_unit_sum(w: FloatArray, upper: FloatArray) -> FloatArray:
    """The weights, with the difference of their sum to 1 added to the largest weight whose bounds allow it."""
    missing = 1 - math.fsum(w)
    room = np.where((w + missing <= upper) & (w + missing >= 0), w, -1.0)
    k = int(np.argmax(room))
    if missing == 0 or room[k] <= 0 or abs(missing) > 1e-12:
        return w
    out = w.copy()
    out[k] += missing
    return out


def _demand_bounded(qp: QuadraticProgram) -> None:
    """Raise unless every weight without curvature has an upper bound; the sum constraint would be one.

    Without them least squares may have a solution all the same, but no certificate of this module.
    """
    unbounded = (qp.d <= 0) & np.isinf(qp.effective_upper)
    if np.any(unbounded):
        k = int(np.flatnonzero(unbounded)[0])
        raise ParameterError(
            "w_max",
            np.inf,
            "finite where p_k is 0 or 1 or the feature is 0 when sums_to_one is false; give w_max or epsilon_cap",
            (k,),
        )


def _solution(
    system: InferenceSystem,
    features: Features,
    qp: QuadraticProgram,
    w: FloatArray,
    multiplier_values: Multipliers,
    method: str,
    iterations: int,
    converged: bool,
    seconds: float,
    proved: OptimalityCertificate | None,
    constraints: Constraints | None,
) -> Solution:
    nonnegative = np.maximum(w, 0.0)
    weighted = replace(system, weight=nonnegative)
    negative = bool(np.any(w < 0))
    return Solution(
        w=w,
        objective=qp.value(w),
        exact_mse=float("nan") if negative else distortion.exact(weighted, features),
        published_mse=float("nan") if negative else distortion.published(weighted, features),
        w_max=qp.upper,
        certificate=certificate(qp, w, multiplier_values) if proved is None else proved,
        multipliers=multiplier_values,
        method=method,
        iterations=iterations,
        seconds=seconds,
        converged=converged,
        program=qp,
        constraints=constraints,
    )


def _example() -> tuple[InferenceSystem, Features]:
    """Three devices, silent when they do not take part, with features of different norms."""
    system = InferenceSystem(
        devices=3,
        participation=0.8,
        noise_variance=2.0,
        weight=1 / 3,
        clip=4.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=2,
        delta=1e-2,
        delta_prime=0.4,
        adjacency="silent",
    )
    return system, Features(f=[[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], W=np.eye(2), D=np.eye(2))
