r"""Our solver for the weight problem: semismooth Newton on the dual, in as many variables as V has columns.

For given :math:`\lambda` the multiplier :math:`\nu(\lambda)` of the sum is the root of a monotone piecewise linear function;
then :math:`w_k = \mathrm{clip}((\nu - q_k)/d_k, 0, u_k)` is feasible, the dual's gradient is :math:`V^Tw - c - \lambda`, and
half its square is the duality gap: every iterate carries its certificate. Where d is (nearly) 0 beside the curvature
:math:`d_k + \|V_k\|^2` of its own device, a proximal term is added, of every device in the unit of its curvature, and driven out
by an outer loop that ends with the gap. No device is judged by the curvature of another, so features may differ by decades. When
the sum is free each weight is first measured in the unit in which its curvature is one.
One step costs O(K r^2) operations in one matrix product, memory is O(K r).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray
from airtight.analytics.rounding import UNIT
from airtight.solvers.weights.quadratic import QuadraticProgram, certificate, multipliers

BoolArray = NDArray[np.bool_]

_INNER, _OUTER, _ROOT, _LINE = 100, 200, 100, 40
_FLAT = 1e-9  # share of d in a device's own curvature, below which a proximal term is added
_CURVED = 1e-6  # share from which on the stationarity that Newton's method reaches is believed without the gap
_PROXIMAL = 1e-5  # the first proximal term of a device, beside its own curvature
_LEAST, _GREATEST = 1e-8, 1e-2  # between which it stays: V'w is known to a unit of rounding divided by it
_SHARPER = 1e-3  # times the tolerance where the gap no longer falls: slopes without curvature enter it to first order
_STALLED = 1e-9  # a gradient as small as this, relatively, that no longer falls is rounding
_SAMPLED, _STRIDE, _ROUGH = 20000, 16, 3e-2  # from this many devices on, start from a sample of every 16th
_ENOUGH = 1e-9  # of the objective: a gap with which the method may rest when it falls no further
_PROGRESS, _PATIENCE = 0.5, 8  # the gap has to fall by this factor in so many proximal steps
_SETTLED = 1e-14  # excess of the sum that is left to the last correction
_SMALL = 256
_FLATTENED = 0.2  # how flat the dual must have become along a step
_REFRESH = 8  # updates after which the Hessian is summed afresh


@dataclass(frozen=True)
class Result:
    """Weights, the multiplier of the sum, how many Newton steps, and whether the method came to rest."""

    w: FloatArray
    nu: float
    iterations: int
    converged: bool


def minimise(program: QuadraticProgram, *, tolerance: float = 1e-12) -> Result:
    """Solve the program until its stationarity is violated by `tolerance` times its scale at most, rounding permitting."""
    if not program.sums_to_one:
        unit = _unit(program)
        result = _minimise(_scaled(program, unit), tolerance)
        return replace(result, w=np.minimum(result.w * unit, program.upper))
    return _minimise(program, tolerance)


def _unit(program: QuadraticProgram) -> FloatArray:
    """What to measure each weight in for the Hessian to have a diagonal of ones."""
    root = np.sqrt(program.d + np.einsum("kr,kr->k", program.V, program.V))
    return np.asarray(1 / np.where(root > 0, root, np.max(root, initial=0.0) or 1.0))


def _scaled(program: QuadraticProgram, unit: FloatArray) -> QuadraticProgram:
    """The program, of free sum, in the weights divided by their units."""
    return replace(
        program,
        d=program.d * unit * unit,
        g=program.g * unit,
        upper=program.upper / unit,
        V=program.V * unit[:, None],
    )


def _minimise(program: QuadraticProgram, tolerance: float) -> Result:
    program = program.reduced()
    upper = program.effective_upper
    curvature = program.d + np.einsum("kr,kr->k", program.V, program.V)
    steepest = max(float(np.max(np.abs(program.g - program.V @ program.c), initial=0.0)), 1e-300)
    steps, best, least = 0, Result(_start(upper, program.sums_to_one), 0.0, 0, False), np.inf
    share = float(np.min(program.d / np.where(curvature > 0, curvature, 1.0), initial=np.inf))
    if share >= _FLAT:
        state = _coarse(program)
        w, steps, done = _newton(program, state, tolerance)
        best = Result(w, state.nu, steps, done)
        if done and share >= _CURVED:
            return best
        judged = certificate(program, w, multipliers(program, w, state.nu))
        if judged.is_optimal(tolerance):
            return replace(best, converged=True)
        least = judged.duality_gap
    positive = curvature[curvature > 0]
    unit = np.where(curvature > 0, curvature, np.min(positive) if positive.size else steepest)
    rho, idle = _PROXIMAL, 0
    state = _coarse(replace(program, d=program.d + rho * unit))
    w = _start(upper, program.sums_to_one)
    for _ in range(_OUTER):
        term = rho * unit
        near = replace(program, d=program.d + term, g=program.g - term * w)
        w, inner, done = _newton(near, state, _SHARPER * tolerance if idle else tolerance)
        steps += inner
        judged = certificate(program, w, multipliers(program, w, state.nu))
        idle = 0 if judged.duality_gap < _PROGRESS * least else idle + 1
        if judged.duality_gap < least:
            best, least = Result(w, state.nu, steps, judged.is_optimal(_ENOUGH)), judged.duality_gap
        if judged.is_optimal(_SHARPER * tolerance) or (idle >= _PATIENCE and best.converged) or idle >= 4 * _PATIENCE:
            break
        rho = max(rho * 0.5, _LEAST) if done and not idle else min(10 * rho, _GREATEST)
    return replace(best, iterations=steps)


def _start(upper: FloatArray, sums_to_one: bool) -> FloatArray:
    """A feasible point: the level at which the capped weights sum to one."""
    if not sums_to_one:
        return np.zeros(upper.size)
    ordered = np.sort(upper)
    before = np.concatenate([[0.0], np.cumsum(ordered)[:-1]])
    left = np.arange(upper.size, 0, -1)
    level = np.max(np.where((1 - before) / left <= ordered, (1 - before) / left, 0.0), initial=0.0)
    if level == 0.0:
        return upper / np.sum(upper)
    capped = np.minimum(upper, level)
    return np.asarray(capped / np.sum(capped))


@dataclass
class _State:
    """Dual variables, kept between outer steps."""

    lam: FloatArray
    nu: float


def _coarse(program: QuadraticProgram) -> _State:
    """Dual variables of a sample of the devices, each standing for many: near enough to start from."""
    K = program.d.size
    if K < _SAMPLED:
        return _State(program.V.T @ _start(program.effective_upper, program.sums_to_one) - program.c, 0.0)
    part = slice(None, None, _STRIDE)
    share = K / program.d[part].size
    sample = replace(
        program,
        d=program.d[part] / share,
        g=program.g[part],
        upper=program.effective_upper[part] * share,
        V=np.ascontiguousarray(program.V[part]),
    )
    if program.sums_to_one and np.sum(sample.effective_upper) <= 1:
        return _State(-program.c, 0.0)
    state = _coarse(sample)
    _newton(sample, state, _ROUGH)
    return state


def _newton(program: QuadraticProgram, state: _State, tolerance: float) -> tuple[FloatArray, int, bool]:
    """Maximise the dual from the state, which is updated; returns the weights of the last dual point."""
    V, c = program.V, program.c
    inverse = 1 / program.d
    upper = program.effective_upper
    point = _Point.of(program, inverse, program.g + V @ state.lam, state.nu)
    state.nu = point.nu
    hessian = _Hessian(V, inverse)
    stalled = _STALLED
    smallest, fresh = (
        np.inf,
        False,
    )  # fresh: q comes from a lambda near the last, not from long steps whose rounding stays
    for step in range(_INNER):
        gradient = V.T @ point.w - c - state.lam
        size = float(np.linalg.norm(gradient))
        extent = float(np.linalg.norm(c)) + float(np.linalg.norm(state.lam))
        if size <= tolerance * extent or (size >= 0.5 * smallest and size <= stalled * extent):
            if fresh or step == 0:
                return point.w, step, True
            point, fresh, smallest = _Point.of(program, inverse, program.g + V @ state.lam, state.nu), True, np.inf
            state.nu = point.nu
            continue
        smallest = min(smallest, size)
        M, ones, weight = hessian.at((point.w > 0) & (point.w < upper))
        stalled = max(_STALLED, 8 * UNIT * float(np.trace(M)))  # the rounding of V lambda, magnified by 1 / d
        if program.sums_to_one and weight > 0:
            M = M - np.outer(ones, ones) / weight
        direction = np.linalg.solve(M, gradient)
        ascent = float(gradient @ direction)
        if not ascent > 0:
            direction, ascent = gradient, float(gradient @ gradient)
        toward = V @ direction
        drift = float(ones @ direction) / weight if weight > 0 else 0.0
        low, high, length = 0.0, np.inf, 1.0
        slope_low, slope_high = ascent, np.nan
        for _ in range(_LINE):
            trial = _Point.of(program, inverse, point.q + length * toward, point.nu + length * drift)
            slope = float(toward @ trial.w - direction @ (c + state.lam + length * direction))
            if abs(slope) <= _FLATTENED * ascent:
                break
            if slope < 0:
                high, slope_high = length, slope
            else:
                low, slope_low = length, slope
            share = slope_low / (slope_low - slope_high)
            length = low + (high - low) * min(max(share, 0.1), 0.9) if np.isfinite(high) else 4 * length
        state.lam = state.lam + length * direction
        point = trial
        state.nu = point.nu
    return point.w, _INNER, False


class _Hessian:
    """I + sum over free devices of V_k V_k' / d_k, with sum V_k / d_k and sum 1 / d_k; few changes cost little."""

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
            changed = np.flatnonzero(free != self.free)
            if 4 * changed.size < free.size and self.updates < _REFRESH:
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
    """q = g + V lambda, the root nu, and the weights they give."""

    q: FloatArray
    nu: float
    w: FloatArray

    @classmethod
    def of(cls, program: QuadraticProgram, inverse: FloatArray, q: FloatArray, nu: float) -> _Point:
        upper = program.effective_upper
        if not program.sums_to_one:
            return cls(q, 0.0, np.clip(-q * inverse, 0.0, upper))
        nu, w = _root(q, inverse, upper, nu)
        return cls(q, nu, w)


def _root(q: FloatArray, inverse: FloatArray, upper: FloatArray, nu: float) -> tuple[float, FloatArray]:
    """nu with sum clip((nu - q)/d, 0, upper) = 1, and the weights: Newton on a monotone piecewise linear function.

    Bracketed; devices that the bracket settles (at 0 or at their bound) are summed once and left out of further passes.
    """
    low, high, settled = -np.inf, np.inf, 0.0
    part_q, part_inverse, part_upper = q, inverse, upper
    for step in range(_ROOT):
        w, free = _clipped(part_q, part_inverse, part_upper, nu)
        excess = float(w.sum()) + settled - 1
        if abs(excess) <= _SETTLED:
            break
        low, high = (low, nu) if excess > 0 else (nu, high)
        slope = float(np.dot(free.astype(np.float64), part_inverse))
        fresh = nu - excess / slope if slope > 0 else np.nan
        if abs(fresh - nu) <= 4 * UNIT * abs(nu):
            break
        if not low < fresh < high:
            if low == -np.inf:
                low = float(np.min(part_q))
            if high == np.inf:
                high = float(np.max(part_q + part_upper / part_inverse))
            fresh = (low + high) / 2
        if fresh == nu:
            break
        nu = fresh
        if step and part_q.size > _SMALL and low > -np.inf and high < np.inf:
            ends = part_q + part_upper / part_inverse
            full, open_ = ends <= low, (part_q < high) & (ends > low)
            settled += float(part_upper[full].sum())
            part_q, part_inverse, part_upper = part_q[open_], part_inverse[open_], part_upper[open_]
    w, free = _clipped(q, inverse, upper, nu)
    excess = float(w.sum()) - 1
    slope = float(np.dot(free.astype(np.float64), inverse))
    if excess != 0 and slope > 0:
        w[free] = np.clip(w[free] - excess / slope * inverse[free], 0.0, upper[free])
    return nu, w


def _clipped(q: FloatArray, inverse: FloatArray, upper: FloatArray, nu: float) -> tuple[FloatArray, BoolArray]:
    """clip((nu - q)/d, 0, upper), and where it is inside."""
    w = (nu - q) * inverse
    free = (w > 0) & (w < upper)
    np.maximum(w, 0.0, out=w)
    np.minimum(w, upper, out=w)
    return w, free
