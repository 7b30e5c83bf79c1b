r"""The quadratic program behind the weight problem, and its certificate.

.. math:: \min_w\ F(w) = \tfrac12 w^T\mathrm{diag}(d)\,w + g^Tw + \tfrac12\|V^Tw - c\|^2 + \text{const}
          \quad\text{s.t. } 0 \le w \le u,\ \textstyle\sum_k w_k = 1\ (\text{or free}),

with d >= 0 and a V of few columns. With the constraint :math:`y = V^Tw - c` and its multiplier :math:`\lambda`, the
Lagrangian dual is

.. math:: D(\lambda, \nu) = -\tfrac12\|\lambda\|^2 - \lambda^Tc + \nu
          + \sum_k\min_{0\le w\le u_k}\bigl[\tfrac12 d_kw^2 + (g_k + V_k\lambda - \nu)w\bigr].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.rounding import UNIT

_ROUNDOFF = float(UNIT) / 2  # unit roundoff u = 2^-53
_SUMS = 1e-12  # primal residual up to which weights count as feasible


@dataclass(frozen=True)
class OptimalityCertificate:
    """Residuals and duality gap of a design, computed from the design and its multipliers alone.

    Attributes
    ----------
    primal_residual : float
        Greatest violation of a constraint: relative for a bound, absolute for the sum.
    dual_residual : float
        Greatest violation of stationarity by the multipliers, in the unit of the gradient. It does not enter the
        verdict, because the gap is a bound for any multipliers.
    duality_gap : float
        Objective minus a lower bound on every feasible design's objective; computed as a sum of non-negative terms.
    scale : float
        The magnitude that the gap is compared with: the size, at this design, of the part of the objective that
        depends on the design (:func:`airtight.solvers.weights.quadratic.certificate`).
    rounding : float
        Bound on the rounding error of that part.
    """

    primal_residual: float
    dual_residual: float
    duality_gap: float
    scale: float
    rounding: float = 0.0

    def is_optimal(self, tol: float = 1e-9) -> bool:
        """Whether the constraints hold up to `tol` and the gap is at most `tol` times the scale plus `rounding`.

        False where any of these numbers is nan or the gap is infinite.
        """
        return self.primal_residual <= tol and abs(self.duality_gap) <= tol * self.scale + self.rounding < math.inf


@dataclass(frozen=True)
class Multipliers:
    """Lagrange multipliers of the sum, of w >= 0 and of w <= w_max; those of the bounds are non-negative."""

    total: float
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True)
class QuadraticProgram:
    """Data of the program; `upper` may be infinite.

    Attributes
    ----------
    d, g, upper : ndarray, shape (K,)
    V : ndarray, shape (K, r)
    c : ndarray, shape (r,)
    constant : float
    sums_to_one : bool
    """

    d: FloatArray
    g: FloatArray
    upper: FloatArray
    V: FloatArray
    c: FloatArray
    constant: float
    sums_to_one: bool

    @property
    def effective_upper(self) -> FloatArray:
        """The upper bounds; at most 1 when the weights sum to one."""
        return np.minimum(self.upper, 1.0) if self.sums_to_one else self.upper

    def value(self, w: FloatArray) -> float:
        """F(w)."""
        y = self.V.T @ w - self.c
        return float(0.5 * (self.d * w) @ w + self.g @ w + 0.5 * (y @ y) + self.constant)

    def gradient(self, w: FloatArray) -> FloatArray:
        """Gradient of F."""
        return np.asarray(self.d * w + self.g + self.V @ (self.V.T @ w - self.c))

    def box_minimiser(self, q: FloatArray) -> FloatArray:
        """The minimiser of d w^2 / 2 + q w over [0, u]; where d = 0 it is 0 or u."""
        upper = self.effective_upper
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inner = np.where(self.d > 0, -q / self.d, np.where(q < 0, np.inf, 0.0))
        return np.clip(inner, 0.0, upper)

    def units(self) -> tuple[FloatArray, float]:
        """Units of the weights and of the objective, powers of 2 and of 4, in which the data have sizes near one.

        Weights that sum to one keep the unit 1. Where the sum is free each weight is measured in a unit in which its curvature
        times that of the objective is near one, so that the solution does not depend on the units of the features.
        """
        curvature = self.d + np.einsum("kr,kr->k", self.V, self.V)
        greatest = float(np.max(curvature, initial=0.0))
        if self.sums_to_one:
            return np.ones(curvature.size), _power_of_4(max(greatest, float(np.max(np.abs(self.g), initial=0.0))))
        root = np.sqrt(np.where(curvature > 0, curvature, greatest or 1.0))
        size = max(float(np.linalg.norm(self.c)), float(np.max(np.abs(self.g) / root, initial=0.0)))
        objective = _power_of_4(size * size if size > 0 else greatest)
        return np.exp2(np.rint(np.log2(math.sqrt(objective) / root))), objective

    def in_units(self, unit: FloatArray, objective: float) -> QuadraticProgram:
        """The program of the weights divided by `unit`, its objective divided by `objective`, a power of 4."""
        root = math.sqrt(objective)
        return replace(
            self,
            d=self.d * (unit / root) ** 2,
            g=self.g * (unit / root) / root,
            upper=self.upper / unit,
            V=self.V * (unit / root)[:, None],
            c=self.c / root,
            constant=self.constant / objective,
        )

    def reduced(self) -> QuadraticProgram:
        """The same program with at most K columns in V."""
        if self.V.shape[1] <= self.V.shape[0]:
            return self
        basis, R = np.linalg.qr(self.V.T)
        inside = basis.T @ self.c
        rest = max(float(self.c @ self.c - inside @ inside), 0.0)
        return QuadraticProgram(
            self.d, self.g, self.upper, R.T.copy(), inside, self.constant + rest / 2, self.sums_to_one
        )


def _power_of_4(size: float) -> float:
    return 4.0 ** round(math.log2(size) / 2) if 0 < size < math.inf else 1.0


def multipliers(program: QuadraticProgram, w: FloatArray, nu: float) -> Multipliers:
    """The multipliers that make these weights and nu stationary."""
    slope = program.gradient(w) - (nu if program.sums_to_one else 0.0)
    return Multipliers(nu if program.sums_to_one else 0.0, np.maximum(slope, 0.0), np.maximum(-slope, 0.0))


def certificate(program: QuadraticProgram, w: FloatArray, multipliers: Multipliers) -> OptimalityCertificate:
    r"""The certificate of weights: residuals and duality gap from the weights and multipliers alone.

    Notes
    -----
    *The gap.* For every :math:`\lambda` and every :math:`\nu` weak duality gives
    :math:`F(w) - F^* \le F(w) - D(\lambda,\nu)` for feasible w. With :math:`\lambda = V^Tw - c` and
    :math:`q = g + V\lambda - \nu` the right-hand side is
    :math:`\sum_k\{[\tfrac12 d_kw_k^2 + q_kw_k] - \min_{[0,u_k]}[\cdot]\} + \nu(\sum w - 1)`: non-negative terms, and
    the violation of the sum. Where an upper bound is infinite and d = 0, the minimum is finite only if q >= 0;
    otherwise the gap is infinite. Where S(w) below is at most the rounding error and g >= 0, the point
    :math:`\lambda = 0, \nu = 0` gives a better bound: then D = const, and the gap is S(w).

    *The scale.* The gap is compared with the size of the part of the objective that depends on the weights,
    :math:`S(w) = \tfrac12\sum d_kw_k^2 + \sum|g_kw_k| + \tfrac12\|V^Tw - c\|^2`. When the features are multiplied by t
    (V and c by t; d and g by :math:`t^2`), both S and the gap are multiplied by :math:`t^2`; when the objective is
    multiplied by t, both are multiplied by t. The verdict therefore depends on neither unit. The constant, which does
    not depend on the weights, is no part of S. Where g = 0, as in the exact MSE, S(w) = F(w) - const, and a gap of at
    most tol S(w), tol < 1, proves :math:`F(w) - \text{const} \le (F^* - \text{const})/(1 - \text{tol})`.

    *Rounding.* Let u = 2^-53. The computed :math:`y_i = (V^Tw - c)_i`, a sum of K + 1 terms in any order, has an error
    of at most :math:`(K + 1)u/(1 - (K + 1)u)` times :math:`\sum_k|V_{ki}w_k| + |c_i|`, which is less than
    :math:`e_i = 2(K + 2)u(\sum_k|V_{ki}w_k| + |c_i|)`. So :math:`\tfrac12\|y\|^2` is known up to
    :math:`\sum_i(|y_i|e_i + \tfrac12e_i^2)` only, and an optimum of 0 can be verified up to this error only.
    """
    upper = program.effective_upper
    primal = _primal_residual(w, upper, sums_to_one=program.sums_to_one)
    excess = math.fsum(w) - 1 if program.sums_to_one else 0.0
    y = program.V.T @ w - program.c
    q = program.g + program.V @ y - multipliers.total
    stationarity = program.d * w + q - multipliers.lower + multipliers.upper
    complementarity = np.maximum(multipliers.lower * np.minimum(np.abs(w), 1.0), 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        room = np.where(np.isfinite(upper), np.minimum(np.abs(upper - w), 1.0), 1.0)
    dual = max(
        float(np.max(np.abs(stationarity), initial=0.0)),
        float(np.max(complementarity, initial=0.0)),
        float(np.max(multipliers.upper * room, initial=0.0)),
    )
    scale = float(0.5 * (program.d * w) @ w + np.abs(program.g) @ np.abs(w) + 0.5 * (y @ y))
    minimiser = program.box_minimiser(q)
    gap = np.inf
    if np.all(np.isfinite(minimiser)):
        # d w^2/2 + q w minus its value at the minimiser b, factored as (w - b)(d (w + b)/2 + q) against cancellation
        gap = float(np.sum((w - minimiser) * (program.d * (w + minimiser) / 2 + q))) + multipliers.total * excess
    error = 2 * (w.size + 2) * _ROUNDOFF * (np.abs(program.V).T @ np.abs(w) + np.abs(program.c))
    rounding = float(np.abs(y) @ error + 0.5 * (error @ error))
    if scale <= rounding and primal <= _SUMS and np.all(program.g >= 0):
        gap = min(gap, scale)
    return OptimalityCertificate(primal, dual, gap, scale, rounding)


def _primal_residual(w: FloatArray, upper: FloatArray, *, sums_to_one: bool) -> float:
    """Greatest violation of a constraint: absolute for the sum, relative to the upper bound for the bounds of a weight.

    Where the upper bound is infinite, violations of w >= 0 are relative to 1, or to the largest weight when the sum is
    free.
    """
    size = np.where(np.isfinite(upper), upper, 1.0 if sums_to_one else np.max(np.abs(w), initial=0.0))
    violation = np.maximum(np.maximum(-w, w - upper), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative_violation = np.where(violation > 0, violation / size, 0.0)
    excess = math.fsum(w) - 1 if sums_to_one else 0.0
    return max(float(np.max(relative_violation, initial=0.0)), abs(excess)) if np.all(np.isfinite(w)) else math.inf
