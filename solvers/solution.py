"""A design together with the proof of how good it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airtight.analytics.checks import AirtightError, FloatArray
from airtight.analytics.records import Record

if TYPE_CHECKING:
    from airtight.solvers.weights.quadratic import QuadraticProgram


class InfeasibleError(AirtightError, ValueError):
    """No design meets the constraints: proved, and the message says by what.

    Attributes
    ----------
    least_epsilon : float
        The smallest cap that would be feasible; nan when none is, or the problem has no cap.
    least_deadline : float
        The smallest deadline (s) that would be feasible; nan when the problem has none.
    """

    def __init__(
        self, message: str, *, least_epsilon: float = float("nan"), least_deadline: float = float("nan")
    ) -> None:
        super().__init__(message)
        self.least_epsilon = least_epsilon
        self.least_deadline = least_deadline

    def __reduce__(self) -> tuple[Any, ...]:
        return _infeasible, (str(self), self.least_epsilon, self.least_deadline)


class NotSettledError(AirtightError):
    """The effort was spent before a design was found or excluded; a greater effort may do either.

    Attributes
    ----------
    lower_bound : float
        What no design that keeps the constraints goes below, as far as it is proved; nan where nothing is.
    effort : int
        Evaluations that were allowed.
    """

    def __init__(self, message: str, *, lower_bound: float = float("nan"), effort: int = 0) -> None:
        super().__init__(message)
        self.lower_bound, self.effort = lower_bound, effort

    def __reduce__(self) -> tuple[Any, ...]:
        return _not_settled, (str(self), self.lower_bound, self.effort)


def _not_settled(message: str, lower_bound: float, effort: int) -> NotSettledError:
    return NotSettledError(message, lower_bound=lower_bound, effort=effort)


def _infeasible(message: str, least_epsilon: float, least_deadline: float) -> InfeasibleError:
    return InfeasibleError(message, least_epsilon=least_epsilon, least_deadline=least_deadline)


@dataclass(frozen=True)
class Certificate:
    """What is proved about a design, computed from the design and its multipliers alone.

    Attributes
    ----------
    primal_residual : float
        Greatest violation of a constraint: of a bound as a share of it, of the sum as it is.
    dual_residual : float
        Greatest violation of stationarity by the multipliers, in the unit of a slope. Optimality needs none of it: the gap
        is a bound for any multipliers.
    duality_gap : float
        Objective minus a lower bound on every feasible design's objective; computed as a sum of non-negative terms.
    scale : float
        What the gap is relative to: the size of that part of the objective, at this design, which the design decides
        (:func:`airtight.solvers.weights.quadratic.certificate`).
    rounding : float
        What the rounding of doubles leaves open of that part.
    """

    primal_residual: float
    dual_residual: float
    duality_gap: float
    scale: float
    rounding: float = 0.0

    def is_optimal(self, tol: float = 1e-9) -> bool:
        """Whether the constraints are kept to `tol` and the gap is at most `tol` of the scale, rounding apart.

        nan and infinity are not.
        """
        return self.primal_residual <= tol and abs(self.duality_gap) <= tol * self.scale + self.rounding < math.inf


@dataclass(frozen=True)
class Multipliers:
    """Lagrange multipliers: of the sum, of w >= 0 and of w <= w_max (the latter two non-negative)."""

    total: float
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class Solution(Record):
    """Weights, what they achieve, and the certificate.

    Attributes
    ----------
    w : ndarray, shape (K,)
    objective : float
        Value of the objective that was minimised (exact or printed MSE).
    exact_mse, published_mse : float
        Both MSEs at these weights.
    w_max : ndarray, shape (K,)
        Greatest weights that the privacy cap allows; infinite without a cap.
    certificate : Certificate
    multipliers : Multipliers
    method : str
    iterations : int
    seconds : float
    converged : bool
        Whether the method itself says that it came to rest; believe the certificate.
    program : QuadraticProgram
        What was solved; :func:`airtight.solvers.weights.rational_certificate.proof` takes it.
    """

    w: FloatArray
    objective: float
    exact_mse: float
    published_mse: float
    w_max: FloatArray
    certificate: Certificate
    multipliers: Multipliers
    method: str
    iterations: int
    seconds: float = field(compare=False)
    converged: bool
    program: QuadraticProgram = field(repr=False, compare=False)

    def is_optimal(self, tol: float = 1e-9) -> bool:
        """See :meth:`Certificate.is_optimal`."""
        return self.certificate.is_optimal(tol)
