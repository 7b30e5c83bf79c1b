r"""Optimal weights together with their certificate, also in rational arithmetic: no rounding, hence no tolerance.

Every double is a rational number. The program that the solver received is therefore exact, and for it

- the weights have an exact objective F(w), after a correction by their rounding error that makes them keep every bound
  and sum to 1 exactly;
- the dual D(lambda, nu) of :mod:`airtight.solvers.weights.quadratic` at :math:`\lambda = V^Tw - c` and any rational
  nu has an exact value: the contribution of each weight is minimised over its interval in closed form, so that every
  lambda and nu are dual feasible by construction.

By weak duality no feasible weights have an objective below D. The proof is about the program with these doubles as its
data; the rounding of the data themselves (powers, features, the greatest weights of the cap) is not part of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from airtight.analytics.checks import AirtightError, FloatArray
from airtight.analytics.records import Record
from airtight.solvers.price import ShadowPrice
from airtight.solvers.weights import privacy_price
from airtight.solvers.weights.constrained import Constraints, stated
from airtight.solvers.weights.privacy_price import Further, PrivacyCap
from airtight.solvers.weights.quadratic import Multipliers, OptimalityCertificate, QuadraticProgram

if TYPE_CHECKING:
    import cvxpy


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
    certificate : OptimalityCertificate
    multipliers : Multipliers
    method : str
    iterations : int
    seconds : float
    converged : bool
        Whether the method reports convergence. Only the certificate is evidence of optimality.
    program : QuadraticProgram
        The program that was solved; :func:`airtight.solvers.weights.solution.proof` takes it.
    constraints : callable, optional
        The further constraints that were given.
    cap : PrivacyCap, optional
        The cap from which `w_max` was computed; None without a cap, and where `w_max` was given.
    further : tuple of Further
        The further constraints at the weights.
    """

    w: FloatArray
    objective: float
    exact_mse: float
    published_mse: float
    w_max: FloatArray
    certificate: OptimalityCertificate
    multipliers: Multipliers
    method: str
    iterations: int
    seconds: float = field(compare=False)
    converged: bool
    program: QuadraticProgram = field(repr=False, compare=False)
    constraints: Constraints | None = field(default=None, repr=False, compare=False)
    cap: PrivacyCap | None = field(default=None, repr=False, compare=False)
    further: tuple[Further, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def price(self) -> ShadowPrice | None:
        """What the least error changes by for a unit more of the cap on epsilon; None without one.

        It costs two more searches for the greatest weights where the cap binds, and is nan where the weights are not proved
        optimal. See :mod:`airtight.solvers.weights.privacy_price`. ``multipliers.upper`` holds the prices of the greatest
        weights.

        Examples
        --------
        >>> from airtight.solvers.weights.weight_problem import _example, solve
        >>> best, more = (solve(*_example(), epsilon_cap=cap) for cap in (1.5, 1.501))
        >>> print(best.price)
        d error / d epsilon = -0.01744
        >>> round((more.exact_mse - best.exact_mse) / 0.001, 3)
        -0.017
        """
        if self.cap is None:
            return None
        if not self.is_optimal(_PRICED):
            return ShadowPrice("error", "epsilon", "", math.nan, math.nan)
        return privacy_price.of_epsilon(self.program, self.w, self.multipliers, self.cap, self.further)

    def to_cvxpy(self) -> tuple[cvxpy.Problem, dict[str, cvxpy.Expression]]:
        """The problem that was solved, as a cvxpy problem and its variables by name.

        See :func:`airtight.solvers.weights.constrained.stated`.
        """
        return stated(self.program, self.constraints)

    def is_optimal(self, tol: float = 1e-9) -> bool:
        """See :meth:`OptimalityCertificate.is_optimal`."""
        return self.certificate.is_optimal(tol)


_PRICED = 1e-7  # relative duality gap up to which weights have a price
LARGEST = 20_000  # entries of V up to which callers should ask for a proof: exact arithmetic is slow beyond


class NotProvedError(AirtightError, ValueError):
    """The weights cannot be made feasible, or the dual has no finite value at these multipliers."""


@dataclass(frozen=True)
class Proof:
    """Two rational numbers with the least objective between them.

    Attributes
    ----------
    w : tuple of Fraction, shape (K,)
        Exactly feasible weights.
    objective : Fraction
        F(w), an upper bound of the least objective.
    bound : Fraction
        A lower bound of the objective of all feasible weights.
    moved : Fraction
        The greatest change of a weight in the correction that made them feasible.
    """

    w: tuple[Fraction, ...]
    objective: Fraction
    bound: Fraction
    moved: Fraction

    @property
    def gap(self) -> Fraction:
        """An upper bound of how far the objective is above the least one; never negative."""
        return self.objective - self.bound


def proof(program: QuadraticProgram, w: Sequence[float], multipliers: Multipliers) -> Proof:
    """Prove an upper bound on how far the objective of weights is above the optimum of a program.

    Parameters
    ----------
    program : QuadraticProgram
    w : sequence of float, shape (K,)
    multipliers : Multipliers
        Only `total`, the multiplier of the sum, is used. An inaccurate one makes the gap larger; the proof stays valid.

    Raises
    ------
    NotProvedError
        When the exact sum of the greatest weights is less than 1; or when a weight without upper bound and curvature
        has a negative slope at these multipliers.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example, program, solve
    >>> system, views = _example()
    >>> best = solve(system, views)
    >>> made = proof(program(system, views), best.w, best.multipliers)
    >>> sum(made.w) == 1, 0 <= made.gap < Fraction(1, 10**12)
    (True, True)
    """
    upper = [None if math.isinf(u) else Fraction(u) for u in program.effective_upper.tolist()]
    feasible = _feasible([Fraction(float(x)) for x in w], upper, sums_to_one=program.sums_to_one)
    d, g, c = ([Fraction(x) for x in array.tolist()] for array in (program.d, program.g, program.c))
    V = [[Fraction(x) for x in row] for row in program.V.tolist()]
    y = [sum((row[i] * x for row, x in zip(V, feasible, strict=True)), -c[i]) for i in range(len(c))]
    half, square = Fraction(1, 2), sum((v * v for v in y), Fraction(0))
    nu = Fraction(multipliers.total) if program.sums_to_one else Fraction(0)
    separable_terms = [half * a * x * x + b * x for a, b, x in zip(d, g, feasible, strict=True)]
    slopes = [b + sum((v * z for v, z in zip(row, y, strict=True)), -nu) for b, row in zip(g, V, strict=True)]
    constant = Fraction(program.constant)
    bound = nu - half * square - sum((a * b for a, b in zip(y, c, strict=True)), Fraction(0)) + constant
    bound += sum((_minimum_over_interval(a, q, u) for a, q, u in zip(d, slopes, upper, strict=True)), Fraction(0))
    moved = max((abs(x - Fraction(float(z))) for x, z in zip(feasible, w, strict=True)), default=Fraction(0))
    return Proof(tuple(feasible), sum(separable_terms, half * square + constant), bound, moved)


def _minimum_over_interval(d: Fraction, q: Fraction, upper: Fraction | None) -> Fraction:
    """The minimum of d w^2 / 2 + q w over 0 <= w <= upper."""
    if q >= 0:
        return Fraction(0)
    if d > 0 and (upper is None or -q <= d * upper):
        return -q * q / (2 * d)
    if upper is None:
        raise NotProvedError("a weight has neither an upper bound nor curvature: the dual has no finite value here")
    return d * upper * upper / 2 + q * upper


def _feasible(w: list[Fraction], upper: list[Fraction | None], *, sums_to_one: bool) -> list[Fraction]:
    """The weights clipped to their bounds, then corrected to sum to 1, the largest weights first."""
    feasible = [
        max(x, Fraction(0)) if u is None else min(max(x, Fraction(0)), u) for x, u in zip(w, upper, strict=True)
    ]
    if not sums_to_one:
        return feasible
    missing = 1 - sum(feasible, Fraction(0))
    for k in sorted(range(len(feasible)), key=lambda k: -feasible[k]):
        bound = upper[k]
        step = missing if bound is None else min(missing, bound - feasible[k])
        step = max(step, -feasible[k])
        feasible[k] += step
        missing -= step
        if missing == 0:
            return feasible
    raise NotProvedError("the greatest weights sum to less than 1")
