r"""Our solver for the weight problem: a semismooth Newton method on the dual, with one variable per column of V.

The program is

.. math:: \min_{0 \le w \le u}\; \tfrac12\sum_k d_kw_k^2 + g^Tw + \tfrac12\|V^Tw - c\|^2, \qquad
          \sum_k w_k = 1 \text{ where asked},

and :math:`\lambda` stands for :math:`V^Tw - c`.

Steps, in order
---------------
1. Units in which the data have sizes near one (``minimise``); at most K columns in V (``reduced``).
2. Where every device has curvature of its own, Newton's method on the dual (``_newton``): a linear system with r
   unknowns, a line search, and a root search for :math:`\nu` at each point (``_root``).
3. Otherwise, or where the gap is not small enough, proximal steps around the last weights, each solved by step 2.
4. The best certified weights are returned.

No error is rounded to a side here. The certificate of :mod:`airtight.solvers.weights.quadratic` judges the weights,
with its own bound of rounding, so a wrong step of this module can only lead to a greater gap.

The dual
--------
For given :math:`\lambda` the multiplier :math:`\nu(\lambda)` of the sum is the root of a monotone piecewise linear
function. Then :math:`w_k = \mathrm{clip}((\nu - q_k)/d_k, 0, u_k)` with :math:`q = g + V\lambda` is feasible, the
gradient of the dual is :math:`V^Tw - c - \lambda`, and half its squared norm is the duality gap: every iterate carries
its certificate.

Where :math:`d_k` is (nearly) 0 in comparison with the curvature :math:`d_k + \|V_k\|^2` of its device, a proximal term
in the unit of that curvature is added for every device, and an outer loop removes its effect until the gap is small
enough. No device is compared with the curvature of another, so features may differ by orders of magnitude. The program
is first restated in units in which its data have sizes near one, powers of two.

One Newton step costs O(K r^2) operations in one matrix product; the memory is O(K r).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray
from airtight.analytics.rounding import UNIT
from airtight.solvers.weights.quadratic import QuadraticProgram, certificate, multipliers

BoolArray = NDArray[np.bool_]

_INNER, _OUTER, _ROOT, _LINE = 100, 200, 100, 40  # most Newton steps, proximal steps, root steps, line search steps
_FLAT = 1e-9  # share of d in a device's own curvature below which a proximal term is added
_CURVED = 1e-6  # share of d from which on the stationarity reached by Newton's method is accepted without the gap
_PROXIMAL = 1e-5  # the first proximal coefficient of a device, relative to its own curvature
# range of the proximal coefficient: V'w has the rounding error 2^-52 divided by it
_LEAST_PROXIMAL, _GREATEST_PROXIMAL = 1e-8, 1e-2
_SHARPER_FACTOR = 1e-3  # on the tolerance once the gap stalls: slopes without curvature enter the gap to first order
_STALLED_GRADIENT = 1e-9  # relative gradient below which a gradient that no longer falls is taken for rounding error
# from this many devices on, every 16th device gives the start, solved to this tolerance
_SAMPLED, _STRIDE, _ROUGH_TOLERANCE = 20000, 16, 3e-2
_ACCEPTED_GAP = 1e-9  # gap, relative to the scale, that is accepted when it falls no further
_PROGRESS, _PATIENCE = 0.5, 8  # the gap has to fall by this factor within this number of proximal steps
_SUM_ERROR = 1e-14  # excess of the sum that is left to the last correction
_SMALL_PROGRAM = 256  # devices up to which the root search keeps all of them in each pass
_FLATTENED = 0.2  # the line search ends where the slope of the dual has fallen to this share
_REFRESH = 8  # updates after which the Hessian is summed anew, so that rounding errors do not accumulate


@dataclass(frozen=True)
class Result:
    """Weights, the multiplier of the sum, the number of Newton steps, and whether the method converged."""

    w: FloatArray
    nu: float
    iterations: int
    converged: bool


def minimise(program: QuadraticProgram, *, tolerance: float = 1e-12) -> Result:
    """Solve the program until stationarity holds up to `tolerance` times its scale, or up to rounding error."""
    unit, objective = program.units()
    result = _minimise(program.in_units(unit, objective), tolerance)
    # back in the units of the caller; a power of two scales exactly, and the clip keeps the bound at equality
    return replace(result, w=np.minimum(result.w * unit, program.upper), nu=result.nu * objective)


def _minimise(program: QuadraticProgram, tolerance: float) -> Result:
    program = program.reduced()
    upper = program.effective_upper
    # curvature of the objective in one weight: d_k + |V_k|^2
    curvature = program.d + np.einsum("kr,kr->k", program.V, program.V)
    steepest = max(float(np.max(np.abs(program.g - program.V @ program.c), initial=0.0)), 1e-300)
    steps, best, least_gap = 0, Result(_level_weights(upper, program.sums_to_one), 0.0, 0, False), np.inf
    # the dual divides by d, so a d that is small against its own curvature needs the proximal term
    curvature_share = float(np.min(program.d / np.where(curvature > 0, curvature, 1.0), initial=np.inf))
    if curvature_share >= _FLAT:
        state = _rough_start(program)
        w, steps, done = _newton(program, state, tolerance)
        best = Result(w, state.nu, steps, done)
        # enough curvature: stationarity up to rounding, and half its square is the gap
        if done and curvature_share >= _CURVED:
            return best
        verdict = certificate(program, w, multipliers(program, w, state.nu))
        if verdict.is_optimal(tolerance):
            return replace(best, converged=True)
        least_gap = verdict.duality_gap
    # a device without any curvature gets the least positive one as its unit
    positive = curvature[curvature > 0]
    unit = np.where(curvature > 0, curvature, np.min(positive) if positive.size else steepest)
    rho, idle_steps = _PROXIMAL, 0
    state = _rough_start(replace(program, d=program.d + rho * unit))
    w = _level_weights(upper, program.sums_to_one)
    # proximal point: minimise the program plus rho / 2 sum of unit (w - w_before)^2
    for _ in range(_OUTER):
        term = rho * unit
        proximal_program = replace(program, d=program.d + term, g=program.g - term * w)
        w, inner, done = _newton(proximal_program, state, _SHARPER_FACTOR * tolerance if idle_steps else tolerance)
        steps += inner
        # the gap of the program itself, without the proximal term
        verdict = certificate(program, w, multipliers(program, w, state.nu))
        idle_steps = 0 if verdict.duality_gap < _PROGRESS * least_gap else idle_steps + 1
        # the gap need not fall in each step: the best weights are kept
        if verdict.duality_gap < least_gap:
            best, least_gap = Result(w, state.nu, steps, verdict.is_optimal(_ACCEPTED_GAP)), verdict.duality_gap
        if (
            verdict.is_optimal(_SHARPER_FACTOR * tolerance)
            or (idle_steps >= _PATIENCE and best.converged)
            or idle_steps >= 4 * _PATIENCE
        ):
            break
        # less proximal while it works: steps become longer; more when Newton's method or the gap stalls
        rho = max(rho * 0.5, _LEAST_PROXIMAL) if done and not idle_steps else min(10 * rho, _GREATEST_PROXIMAL)
    return replace(best, iterations=steps)


def _level_weights(upper: FloatArray, sums_to_one: bool) -> FloatArray:
    """A feasible point: every weight is the lesser of its upper bound and a common level, so that they sum to one."""
    if not sums_to_one:
        return np.zeros(upper.size)
    ordered = np.sort(upper)
    sum_below = np.concatenate([[0.0], np.cumsum(ordered)[:-1]])
    devices_left = np.arange(upper.size, 0, -1)
    # water-filling: the level at which weights below it and capped ones sum to one
    level = np.max(
        np.where((1 - sum_below) / devices_left <= ordered, (1 - sum_below) / devices_left, 0.0), initial=0.0
    )
    # the upper bounds together are at most one: only their full use comes near
    if level == 0.0:
        return upper / np.sum(upper)
    capped = np.minimum(upper, level)
    return np.asarray(capped / np.sum(capped))


@dataclass
class _State:
    """The dual variables lambda and nu, kept between outer steps."""

    lam: FloatArray
    nu: float


def _rough_start(program: QuadraticProgram) -> _State:
    """Approximate dual variables as a start: from a sample of the devices, each of which represents several."""
    K = program.d.size
    if K < _SAMPLED:
        return _State(program.V.T @ _level_weights(program.effective_upper, program.sums_to_one) - program.c, 0.0)
    sampled = slice(None, None, _STRIDE)
    # one sampled device stands for n equal ones: their sum has curvature d / n and upper bound n u
    devices_per_sample = K / program.d[sampled].size
    sample = replace(
        program,
        d=program.d[sampled] / devices_per_sample,
        g=program.g[sampled],
        upper=program.effective_upper[sampled] * devices_per_sample,
        V=np.ascontiguousarray(program.V[sampled]),
    )
    # the sample cannot reach the sum: no start from it
    if program.sums_to_one and np.sum(sample.effective_upper) <= 1:
        return _State(-program.c, 0.0)
    state = _rough_start(sample)
    _newton(sample, state, _ROUGH_TOLERANCE)
    return state


def _newton(program: QuadraticProgram, state: _State, tolerance: float) -> tuple[FloatArray, int, bool]:
    """Maximise the dual from the state, which is updated; returns weights, number of steps and whether it converged."""
    V, c = program.V, program.c
    inverse = 1 / program.d
    upper = program.effective_upper
    point = _Point.of(program, inverse, program.g + V @ state.lam, state.nu)
    state.nu = point.nu
    hessian = _Hessian(V, inverse)
    stalled = _STALLED_GRADIENT
    # fresh: q was computed anew from lambda, without the rounding errors of the accumulated steps
    smallest, fresh = np.inf, False
    # gradient of the dual: V'w - c - lambda, whose half squared norm is the duality gap
    for step in range(_INNER):
        gradient = V.T @ point.w - c - state.lam
        size = float(np.linalg.norm(gradient))
        extent = float(np.linalg.norm(c)) + float(np.linalg.norm(state.lam))
        # converged, or no longer falling at the level of rounding: checked once more with q computed afresh
        if size <= tolerance * extent or (size >= 0.5 * smallest and size <= stalled * extent):
            if fresh or step == 0:
                return point.w, step, True
            point, fresh, smallest = _Point.of(program, inverse, program.g + V @ state.lam, state.nu), True, np.inf
            state.nu = point.nu
            continue
        smallest = min(smallest, size)
        # (minus) the generalised Hessian: only weights strictly inside their bounds move with lambda
        M, ones, weight = hessian.at((point.w > 0) & (point.w < upper))
        stalled = max(_STALLED_GRADIENT, 8 * UNIT * float(np.trace(M)))  # the rounding of V lambda, magnified by 1 / d
        # nu moves with lambda such that the sum stays one: the Schur complement of nu
        if program.sums_to_one and weight > 0:
            M = M - np.outer(ones, ones) / weight
        direction = np.linalg.solve(M, gradient)
        ascent = float(gradient @ direction)
        # rounding may spoil the direction; the gradient is always one of ascent
        if not ascent > 0:
            direction, ascent = gradient, float(gradient @ gradient)
        q_change = V @ direction
        # sum over free devices of (d nu - V_k d lambda) / d_k = 0
        nu_change = float(ones @ direction) / weight if weight > 0 else 0.0
        low, high, length = 0.0, np.inf, 1.0
        slope_low, slope_high = ascent, np.nan
        # The dual is concave and piecewise quadratic along the line. Its slope falls; the step ends where it is nearly
        # 0.
        for _ in range(_LINE):
            trial = _Point.of(program, inverse, point.q + length * q_change, point.nu + length * nu_change)
            slope = float(q_change @ trial.w - direction @ (c + state.lam + length * direction))
            if abs(slope) <= _FLATTENED * ascent:
                break
            if slope < 0:
                high, slope_high = length, slope
            else:
                low, slope_low = length, slope
            # secant, kept away from the ends of the bracket; quadruple while there is none
            fraction = slope_low / (slope_low - slope_high)
            length = low + (high - low) * min(max(fraction, 0.1), 0.9) if np.isfinite(high) else 4 * length
        state.lam = state.lam + length * direction
        point = trial
        state.nu = point.nu
    return point.w, _INNER, False


class _Hessian:
    """I + sum over free devices of V_k V_k' / d_k, with sum V_k / d_k and sum 1 / d_k.

    A device is free when its weight is strictly between its bounds. Where few devices changed, the sums are updated.
    """

    def __init__(self, V: FloatArray, inverse: FloatArray) -> None:
        self.V, self.inverse = V, inverse
        self.free: BoolArray | None = None
        self.updates = 0
        self._clear()

    def _clear(self) -> None:
        r = self.V.shape[1]
        self.M, self.ones, self.weight = np.eye(r), np.zeros(r), 0.0

    def at(self, free: BoolArray) -> tuple[FloatArray, FloatArray, float]:
        """The three sums for a set of free devices."""
        if self.free is not None:
            # rank-one updates for the devices that entered or left; a fresh sum when they are many
            changed = np.flatnonzero(free != self.free)
            if 4 * changed.size < free.size and self.updates < _REFRESH:
                # a device that becomes free enters, one at a bound leaves
                sign = np.where(free[changed], self.inverse[changed], -self.inverse[changed])
                rows = self.V[changed]
                self._add(rows, rows * sign[:, None], sign)
                self.free = free
                self.updates += 1
                return self.M, self.ones, self.weight
        self.free, self.updates = free, 0
        self._clear()
        weight = np.where(free, self.inverse, 0.0)
        self._add(self.V, self.V * weight[:, None], weight)
        return self.M, self.ones, self.weight

    def _add(self, rows: FloatArray, scaled: FloatArray, weight: FloatArray) -> None:
        self.M = self.M + rows.T @ scaled
        self.ones = self.ones + scaled.sum(axis=0)
        self.weight += float(np.sum(weight))


@dataclass
class _Point:
    """A dual point: q = g + V lambda, the root nu, and the weights that minimise the Lagrangian there."""

    q: FloatArray
    nu: float
    w: FloatArray

    @classmethod
    def of(cls, program: QuadraticProgram, inverse: FloatArray, q: FloatArray, nu: float) -> _Point:
        upper = program.effective_upper
        # without the sum constraint nu = 0
        if not program.sums_to_one:
            return cls(q, 0.0, np.clip(-q * inverse, 0.0, upper))
        nu, w = _root(q, inverse, upper, nu)
        return cls(q, nu, w)


def _root(q: FloatArray, inverse: FloatArray, upper: FloatArray, nu: float) -> tuple[float, FloatArray]:
    """nu with sum clip((nu - q)/d, 0, upper) = 1, and the weights: Newton on a monotone piecewise linear function.

    Newton steps are kept in a bracket. Devices whose weight is 0 or at its bound on the whole bracket are summed once
    and left out of further passes.
    """
    low, high, settled = -np.inf, np.inf, 0.0
    open_q, open_inverse, open_upper = q, inverse, upper
    for step in range(_ROOT):
        # excess of the sum at nu, which rises with nu
        w, free = _clipped(open_q, open_inverse, open_upper, nu)
        excess = float(w.sum()) + settled - 1
        if abs(excess) <= _SUM_ERROR:
            break
        # the bracket of the root
        low, high = (low, nu) if excess > 0 else (nu, high)
        slope = float(np.dot(free.astype(np.float64), open_inverse))
        # Newton's step on the current linear piece; a flat piece has none
        new_nu = nu - excess / slope if slope > 0 else np.nan
        if abs(new_nu - nu) <= 4 * UNIT * abs(nu):
            break
        # outside the bracket: bisect, at first between the places where all weights are 0 and where all are at their
        # bound
        if not low < new_nu < high:
            if low == -np.inf:
                low = float(np.min(open_q))
            if high == np.inf:
                high = float(np.max(open_q + open_upper / open_inverse))
            new_nu = (low + high) / 2
        if new_nu == nu:
            break
        nu = new_nu
        if step and open_q.size > _SMALL_PROGRAM and low > -np.inf and high < np.inf:
            bound_reached = open_q + open_upper / open_inverse
            # weights at a bound for every nu in the bracket are constant from here on
            at_bound, undecided = bound_reached <= low, (open_q < high) & (bound_reached > low)
            settled += float(open_upper[at_bound].sum())
            open_q, open_inverse, open_upper = open_q[undecided], open_inverse[undecided], open_upper[undecided]
    w, free = _clipped(q, inverse, upper, nu)

    # what is left of the sum's error is spread over the free weights, in the direction of Newton's step
    excess = float(w.sum()) - 1
    slope = float(np.dot(free.astype(np.float64), inverse))
    if excess != 0 and slope > 0:
        w[free] = np.clip(w[free] - excess / slope * inverse[free], 0.0, upper[free])
    return nu, w


def _clipped(q: FloatArray, inverse: FloatArray, upper: FloatArray, nu: float) -> tuple[FloatArray, BoolArray]:
    """clip((nu - q)/d, 0, upper), and where the weight is strictly inside its bounds."""
    w = (nu - q) * inverse
    free = (w > 0) & (w < upper)
    # in place: this is the inner loop over all devices
    np.maximum(w, 0.0, out=w)
    np.minimum(w, upper, out=w)
    return w, free
