"""Results of ``solve weights``: the weights with their certificate, and the designs that the report compares."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference import accuracy, decoding, distortion
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.results.result import Result
from airtight.solvers import weights
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.price import ShadowPrice
from airtight.solvers.weights import solution
from airtight.solvers.weights.solution import Solution
from airtight.system_file.contents import Task


@dataclass(frozen=True, kw_only=True)
class WeightCertificate:
    """Greatest violation of a constraint and of stationarity, and a bound of the distance to the optimal objective.

    Attributes
    ----------
    primal_residual, dual_residual, duality_gap : float
        Computed in double precision.
    proved_gap : float, optional
        The duality gap in rational arithmetic, rounded up (:mod:`airtight.solvers.weights.solution`);
        absent for large problems.
    """

    primal_residual: float
    dual_residual: float
    duality_gap: float
    proved_gap: float | None = None

    @classmethod
    def of(cls, weight_solution: Solution) -> WeightCertificate:
        proof = weight_solution.certificate
        return cls(
            primal_residual=proof.primal_residual,
            dual_residual=proof.dual_residual,
            duality_gap=proof.duality_gap,
            proved_gap=_proved(weight_solution),
        )


def _proved(weight_solution: Solution) -> float | None:
    if weight_solution.program.V.size > solution.LARGEST:
        return None
    try:
        gap = solution.proof(weight_solution.program, weight_solution.w.tolist(), weight_solution.multipliers).gap
    except solution.NotProvedError:
        return math.inf
    return float(gap) if Fraction(float(gap)) >= gap else math.nextafter(float(gap), math.inf)


@dataclass(frozen=True, kw_only=True)
class WeightResult(Result):
    """Weights, the objective and errors that they reach, and their certificate.

    Attributes
    ----------
    w : ndarray, shape (K,)
    objective, exact_mse, published_mse : float
        The minimised objective, and both MSEs at these weights.
    w_max : ndarray, shape (K,)
        Greatest weights under the cap; infinite without one.
    certificate : WeightCertificate
    method : str
    iterations : int
    seconds : float
    converged, optimal : bool
        Convergence as the method reports it, and optimality as the certificate shows.
    constant_output : float, optional
        MSE of the best output that ignores y, when the features are known.
    price : ShadowPrice, optional
        Of the cap on epsilon, in terms of the objective; absent without a cap.
    """

    w: FloatArray
    objective: float
    exact_mse: float
    published_mse: float
    w_max: FloatArray
    certificate: WeightCertificate
    method: str
    iterations: int
    seconds: float
    converged: bool
    optimal: bool
    constant_output: float | None = None
    price: ShadowPrice | None = None

    @classmethod
    def of(cls, weight_solution: Solution, features: Features | None = None) -> WeightResult:
        return cls(
            w=weight_solution.w,
            objective=weight_solution.objective,
            exact_mse=weight_solution.exact_mse,
            published_mse=weight_solution.published_mse,
            w_max=weight_solution.w_max,
            certificate=WeightCertificate.of(weight_solution),
            method=weight_solution.method,
            iterations=weight_solution.iterations,
            seconds=weight_solution.seconds,
            converged=weight_solution.converged,
            optimal=weight_solution.is_optimal(),
            constant_output=None if features is None else decoding.constant_output(features),
            price=weight_solution.price,
        )


@dataclass(frozen=True, kw_only=True)
class Design:
    """Errors and accuracy of one choice of weights.

    Attributes
    ----------
    exact_mse, published_mse, accuracy : float
    w : ndarray, shape (K,)
    duality_gap : float, optional
        Gap of weights that a solver has found.
    optimal : bool, optional
        Whether the certificate proves them optimal.
    """

    exact_mse: float
    published_mse: float
    accuracy: float
    w: FloatArray
    duality_gap: float | None = None
    optimal: bool | None = None

    @classmethod
    def of(cls, system: InferenceSystem, task: Task, w: FloatArray, weight_solution: Solution | None = None) -> Design:
        """Errors and accuracy at the weights `w`; `found` is their solution, if a solver returned them."""
        weighted = replace(system, weight=w)
        inside = accuracy.exact(weighted, task.features, margin=task.margin, ideal_accuracy=task.ideal_accuracy)
        return cls(
            exact_mse=distortion.exact(weighted, task.features),
            published_mse=distortion.published(weighted, task.features),
            accuracy=inside.estimate,
            w=weighted.weight,
            duality_gap=None if weight_solution is None else weight_solution.certificate.duality_gap,
            optimal=None if weight_solution is None else weight_solution.is_optimal(),
        )


@dataclass(frozen=True, kw_only=True)
class Designs:
    """Uniform, published and exact weights under a privacy cap, beside an output that ignores y, or why there are none.

    Attributes
    ----------
    epsilon_cap : float
        Infinite without a cap.
    adjacency : Adjacency
    infeasible : str, optional
    designs : dict
        Designs by name; uniform weights only where they keep the cap.
    """

    epsilon_cap: float
    adjacency: Adjacency
    infeasible: str | None = None
    designs: dict[str, Design] = field(default_factory=dict)

    @classmethod
    def of(cls, system: InferenceSystem, task: Task) -> Designs:
        cap, system = np.inf if task.epsilon_cap is None else task.epsilon_cap, system.one_round
        try:
            upper = weights.greatest_weights(system, cap)
            solutions = {
                "published": weights.solve(system, task.features, w_max=upper, objective="published"),
                "exact": weights.solve(system, task.features, w_max=upper),
            }
            if np.all(np.isfinite(upper)):
                solutions["free sum"] = weights.solve(system, task.features, w_max=upper, sums_to_one=False)
        except InfeasibleError as error:
            return cls(epsilon_cap=cap, adjacency=system.adjacency, infeasible=str(error))
        radius: dict[str, float] = {"margin": task.margin, "ideal_accuracy": task.ideal_accuracy}
        designs = {
            "constant output": Design(
                exact_mse=decoding.constant_output(task.features),
                published_mse=float("nan"),
                accuracy=decoding.constant_accuracy(task.features, **radius),
                w=np.zeros(system.devices),
            )
        }
        even = np.full(system.devices, 1 / system.devices)
        if np.all(even <= upper):
            designs["uniform"] = Design.of(system, task, even)
        for name, solved in solutions.items():
            designs[name] = Design.of(system, task, np.maximum(solved.w, 0.0), solved)
        return cls(epsilon_cap=cap, adjacency=system.adjacency, designs=designs)
