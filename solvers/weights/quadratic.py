r"""The quadratic program behind the weight problem, and its certificate.

.. math:: \min_w\ F(w) = \tfrac12 w^T\mathrm{diag}(d)\,w + g^Tw + \tfrac12\|V^Tw - c\|^2 + \text{const}
          \quad\text{s.t. } 0 \le w \le u,\ \textstyle\sum_k w_k = 1\ (\text{or free}),

with d >= 0 and V of few columns. With :math:`y = V^Tw - c` its Lagrangian dual is

.. math:: D(\lambda, \nu) = -\tfrac12\|\lambda\|^2 - \lambda^Tc + \nu
          + \sum_k\min_{0\le w\le u_k}\bigl[\tfrac12 d_kw^2 + (g_k + V_k\lambda - \nu)w\bigr].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.rounding import UNIT

_ROUNDOFF = float(UNIT) / 2
_SUMS = 1e-12  # what feasible weights may miss the sum by


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
        """Upper bounds; 1 at most when the weights sum to one."""
        return np.minimum(self.upper, 1.0) if self.sums_to_one else self.upper

    def value(self, w: FloatArray) -> float:
        """F(w)."""
        y = self.V.T @ w - self.c
        return float(0.5 * (self.d * w) @ w + self.g @ w + 0.5 * (y @ y) + self.constant)

    def gradient(self, w: FloatArray) -> FloatArray:
        """Gradient of F."""
        return np.asarray(self.d * w + self.g + self.V @ (self.V.T @ w - self.c))

    def box_minimiser(self, q: FloatArray) -> FloatArray:
        """argmin of d w^2 / 2 + q w over [0, u]; where d = 0, an end."""
        upper = self.effective_upper
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inner = np.where(self.d > 0, -q / self.d, np.where(q < 0, np.inf, 0.0))
        return np.clip(inner, 0.0, upper)

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


def multipliers(program: QuadraticProgram, w: FloatArray, nu: float) -> Multipliers:
    """The multipliers of the bounds that go with these weights and nu."""
    slope = program.gradient(w) - (nu if program.sums_to_one else 0.0)
    return Multipliers(nu if program.sums_to_one else 0.0, np.maximum(slope, 0.0), np.maximum(-slope, 0.0))


def certificate(program: QuadraticProgram, w: FloatArray, found: Multipliers) -> Certificate:
    r"""Residuals and gap from weights and multipliers alone.

    Notes
    -----
    *The gap.* For every :math:`\lambda` and every :math:`\nu` weak duality gives :math:`F(w) - F^* \le F(w) - D(\lambda,\nu)`
    for feasible w. With :math:`\lambda = V^Tw - c` this gap is
    :math:`\sum_k\{[\tfrac12 d_kw_k^2 + q_kw_k] - \min_{[0,u_k]}[\cdot]\} + \nu(\sum w - 1)`,
    :math:`q = g + V\lambda - \nu`: non-negative terms, and the violation of the sum. Where an upper
    bound is infinite and d = 0, the minimum is finite only if q >= 0: otherwise the gap is infinite. Where S(w) below is no more
    than rounding and g >= 0, :math:`\lambda = 0, \nu = 0` does better: then D = const, and the gap is S(w).

    *What it is relative to.* The scale is the size of what the weights decide,
    :math:`S(w) = \tfrac12\sum d_kw_k^2 + \sum|g_kw_k| + \tfrac12\|V^Tw - c\|^2`. It is multiplied by :math:`t^2` when the
    features (V, c by t; d, g by :math:`t^2`) are, and by t when the objective is, as the gap is: the verdict
    changes with neither. The
    constant, which no weights change, is no part of it. Where g = 0, as in the exact MSE, S(w) = F(w) - const, and
    a gap of at most tol S(w), tol < 1, proves :math:`F(w) - \text{const} \le (F^* - \text{const})/(1 - \text{tol})`.

    *Rounding.* With the unit u = 2^-53 the computed :math:`y_i = (V^Tw - c)_i`, a sum of K + 1 terms in any order, is off by at
    most :math:`(K + 1)u/(1 - (K + 1)u)` times :math:`\sum_k|V_{ki}w_k| + |c_i|`; :math:`e_i = 2(K + 2)u(\dots)` is more. So
    :math:`\tfrac12\|y\|^2` is known to :math:`\sum_i(|y_i|e_i + \tfrac12e_i^2)` and no better: an optimum of 0 is met
    to that only.
    """
    upper = program.effective_upper
    primal = _infeasibility(w, upper, sums_to_one=program.sums_to_one)
    excess = math.fsum(w) - 1 if program.sums_to_one else 0.0
    y = program.V.T @ w - program.c
    q = program.g + program.V @ y - found.total
    stationarity = program.d * w + q - found.lower + found.upper
    complementary = np.maximum(found.lower * np.minimum(np.abs(w), 1.0), 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        room = np.where(np.isfinite(upper), np.minimum(np.abs(upper - w), 1.0), 1.0)
    dual = max(
        float(np.max(np.abs(stationarity), initial=0.0)),
        float(np.max(complementary, initial=0.0)),
        float(np.max(found.upper * room, initial=0.0)),
    )
    scale = float(0.5 * (program.d * w) @ w + np.abs(program.g) @ np.abs(w) + 0.5 * (y @ y))
    best = program.box_minimiser(q)
    gap = np.inf
    if np.all(np.isfinite(best)):
        # d w^2/2 + q w, minus the same at the minimiser: (w - b)(d (w + b)/2 + q)
        gap = float(np.sum((w - best) * (program.d * (w + best) / 2 + q))) + found.total * excess
    error = 2 * (w.size + 2) * _ROUNDOFF * (np.abs(program.V).T @ np.abs(w) + np.abs(program.c))
    rounding = float(np.abs(y) @ error + 0.5 * (error @ error))
    if scale <= rounding and primal <= _SUMS and np.all(program.g >= 0):
        gap = min(gap, scale)
    return Certificate(primal, dual, gap, scale, rounding)


def _infeasibility(w: FloatArray, upper: FloatArray, *, sums_to_one: bool) -> float:
    """Greatest violation of a constraint: of the sum, of an upper bound as a share of it, of 0 as a share of what w may be."""
    extent = np.where(np.isfinite(upper), upper, 1.0 if sums_to_one else np.max(np.abs(w), initial=0.0))
    broken = np.maximum(np.maximum(-w, w - upper), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(broken > 0, broken / extent, 0.0)
    excess = math.fsum(w) - 1 if sums_to_one else 0.0
    return max(float(np.max(share, initial=0.0)), abs(excess)) if np.all(np.isfinite(w)) else math.inf
