"""Optimal weights together with their certificate."""

from __future__ import annotations

from dataclasses import dataclass, field

from airtight.analytics.checks import FloatArray
from airtight.analytics.records import Record
from airtight.solvers.weights.quadratic import Certificate, Multipliers, QuadraticProgram


@dataclass(frozen=True, eq=False)
class Solution(Record):
    """Weights, the MSE that they achieve, and the certificate of their optimality.

    Attributes
    ----------
    w : ndarray, shape (K,)
    objective : float
        Value of the objective that was minimised (exact or printed MSE).
    exact_mse, published_mse : float
        Both MSEs at these weights.
    w_max : ndarray, shape (K,)
        The greatest weights that the privacy cap allows; infinite without a cap.
    certificate : Certificate
    multipliers : Multipliers
    method : str
    iterations : int
    seconds : float
    converged : bool
        Whether the method reports convergence. Only the certificate is evidence of optimality.
    program : QuadraticProgram
        The program that was solved; :func:`airtight.solvers.weights.rational_certificate.proof` takes it.
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
