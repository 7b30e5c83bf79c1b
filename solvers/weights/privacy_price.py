r"""The price of privacy in the weight problem: the derivative of the least error by the cap on epsilon.

The cap enters through the greatest weights u only. The least error is convex in u, and its directional derivatives are

.. math:: F^*{}'(u; v) = -\min_\lambda\lambda^Tv, \qquad F^*{}'(u; -v) = \max_\lambda\lambda^Tv

over all multipliers :math:`\lambda` of :math:`w \le u` that belong to an optimum, with :math:`v = du/d\epsilon \ge 0`. They are
unique where some weight lies strictly between its bounds; without such a weight that of :math:`\sum w = 1` may take every
value of an interval, and the two derivatives differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse

from airtight.analytics.checks import FloatArray
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.price import ShadowPrice
from airtight.solvers.weights import caps
from airtight.solvers.weights.caps import Cap
from airtight.solvers.weights.quadratic import Multipliers, QuadraticProgram

_STEP = 3e-3  # relative step in epsilon: its square, and the error of greatest weights (2e-6 at most) over it, are below 1e-3
_AT_BOUND = 1e-7  # relative to the bound (the largest weight for 0): as accurate as a cone program is
_SLACK = (
    1e-6  # violation of stationarity that is allowed to the multipliers of a cone program, relative to the gradient
)


@dataclass(frozen=True)
class PrivacyCap:
    """The cap from which greatest weights were computed."""

    system: InferenceSystem
    epsilon: float
    cap: Cap

    def growth(self, w_max: FloatArray) -> FloatArray:
        """dw_max/depsilon of every device, by central differences; w_max is infinite where every weight keeps the cap.

        Where a smaller cap is out of reach the rule has three points to the right.
        """

        def at(steps: float) -> FloatArray:
            return caps.greatest_weights(self.system, self.epsilon * (1 + steps * _STEP), self.cap)

        with np.errstate(invalid="ignore"):
            more, less = at(1), at(-1)
            lost = np.isnan(less) & np.isfinite(w_max)
            rise = np.where(lost, (4 * more - at(2) - 3 * w_max) / 2 if np.any(lost) else 0.0, (more - less) / 2)
        return np.where(np.isfinite(w_max), rise / (_STEP * self.epsilon), 0.0)


@dataclass(frozen=True)
class Further:
    """A constraint of the user at the optimum: its Jacobian, shape (K, n), its values, and whether it is an equality."""

    jacobian: FloatArray
    value: FloatArray
    equality: bool


def of_epsilon(
    program: QuadraticProgram, w: FloatArray, multipliers: Multipliers, cap: PrivacyCap, further: Sequence[Further]
) -> ShadowPrice:
    """The price of the cap at optimal weights."""
    upper = program.effective_upper
    bound = (w >= upper * (1 - _AT_BOUND)) & np.isfinite(upper)
    capped = bound & (program.upper <= upper)  # other weights are kept by the sum, not by the cap
    if not np.any(capped):
        return ShadowPrice("error", "epsilon", "", 0.0, 0.0)
    growth = np.where(capped, cap.growth(program.upper), 0.0)
    zero = (w <= _AT_BOUND * np.max(np.abs(w), initial=0.0)) & ~bound
    slope = program.gradient(w)
    if further:
        least, greatest = _extremes(program, slope, bound, zero, growth, further, multipliers)
    else:
        least, greatest = _ends(program, slope, bound, zero, growth, multipliers)
    return ShadowPrice("error", "epsilon", "", -least, -greatest)


def _ends(
    program: QuadraticProgram,
    slope: FloatArray,
    bound: Any,
    zero: Any,
    growth: FloatArray,
    multipliers: Multipliers,
) -> tuple[float, float]:
    r"""The least and the greatest :math:`\lambda^Tv`; :math:`\lambda_k = \nu - \nabla_kF` at the bound."""
    if not program.sums_to_one or np.any(~bound & ~zero):
        totals = (multipliers.total, multipliers.total)
    else:
        totals = (float(np.max(slope[bound])), float(np.min(slope[zero], initial=np.inf)))
    priced = growth > 0
    least, greatest = (float(np.maximum(nu - slope[priced], 0.0) @ growth[priced]) for nu in totals)
    return least, greatest


def _extremes(
    program: QuadraticProgram,
    slope: FloatArray,
    bound: Any,
    zero: Any,
    growth: FloatArray,
    further: Sequence[Further],
    multipliers: Multipliers,
) -> tuple[float, float]:
    r"""The same with constraints of a user, by two linear programs over all multipliers.

    The multipliers of the solver count where no others are stationary to the accuracy of the solver.
    """
    K = slope.size
    scale = float(np.max(np.abs(slope), initial=0.0)) or 1.0
    at, at_zero = np.flatnonzero(bound), np.flatnonzero(zero)
    identity = sparse.identity(K, format="csc")
    blocks: list[Any] = [identity[:, at], -identity[:, at_zero]]
    limits: list[tuple[float | None, float | None]] = [(0, None)] * (at.size + at_zero.size)
    if program.sums_to_one:
        blocks.append(sparse.csc_matrix(-np.ones((K, 1))))
        limits.append((None, None))
    for constraint in further:
        size = np.max(np.abs(constraint.jacobian), axis=0, initial=0.0)
        active = np.full(size.size, True) if constraint.equality else constraint.value >= -_AT_BOUND * np.maximum(size, 1e-300)
        blocks.append(sparse.csc_matrix(constraint.jacobian[:, active]))
        limits += [(None, None) if constraint.equality else (0, None)] * int(np.count_nonzero(active))
    rows = sparse.hstack(blocks, format="csc")
    cost = np.zeros(rows.shape[1])
    cost[: at.size] = growth[at]
    # stationarity: |slope/scale + rows x| <= slack, in units of the scale
    A = sparse.vstack([rows, -rows], format="csc")
    b = np.concatenate([_SLACK - slope / scale, _SLACK + slope / scale])
    ends = [optimize.linprog(sign * cost, A_ub=A, b_ub=b, bounds=limits, method="highs") for sign in (1, -1)]
    if ends[0].status == 0:
        least = scale * float(ends[0].fun)
        greatest = np.inf if ends[1].status == 3 else -scale * float(ends[1].fun) if ends[1].status == 0 else least
        given = float(multipliers.upper @ growth)
        if greatest - least <= 10 * _SLACK * scale * float(np.sum(growth)):
            return given, given
        return least, float(greatest)
    given = float(multipliers.upper @ growth)
    return given, given
