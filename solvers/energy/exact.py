"""The optimum of the energy-utility problem, vectorised over devices: a closed form, one root, or branch and bound."""

from __future__ import annotations

import numpy as np

from airtight.analytics.checks import ConvergenceError, FloatArray, IntArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.solvers.energy.energy_problem import Case, Problem, log_lambert_exp

_SWEEPS = 200  # most Newton or bisection steps of the edge root
_NEAR = 32  # sweeps after which every eighth step is a bisection even near the root
_BRANCHINGS = 200  # most levels of branch and bound
_GAP = 1e-12  # of branch and bound, relative to the terms of the utility
_EXHAUSTIVE = 1_000_000  # whole numbers of iterations that are compared at most for one device


def exact_cases(problem: Problem) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """x, Z, case (its index in :class:`Case`), and the upper bound of branch and bound, nan where it was not needed."""
    case_index = {name: i for i, name in enumerate(Case)}
    fastest = problem.energy(problem.x_max, problem.Z_max)
    slowest_Z = problem.a / (problem.T - problem.x_min)
    slowest = problem.energy(problem.x_min, slowest_Z)
    Z_free = np.minimum(problem.Z_0, problem.Z_max)
    with np.errstate(divide="ignore", invalid="ignore"):
        t_free = np.where(Z_free > 0, problem.a / Z_free, np.inf)
        x_free = np.maximum(_time_without_deadline(problem, np.where(Z_free > 0, Z_free, 1.0)), problem.x_min)
    case = np.full(problem.a.size, case_index[Case.DELAY])
    fits = (x_free + t_free <= problem.T) & np.isfinite(t_free)
    x, Z = np.where(fits, x_free, 0.0), np.where(fits, Z_free, 1.0)
    case[fits] = case_index[Case.SLACK]
    target_missed = fastest < problem.half
    vertex = target_missed & ((problem.P_cp >= problem.P_cir) | (slowest <= fastest))
    x[vertex], Z[vertex], case[vertex] = problem.x_max[vertex], problem.Z_max[vertex], case_index[Case.FASTEST]
    rows = np.flatnonzero(~fits & ~target_missed)
    if rows.size:
        selected = problem[rows]
        low = np.minimum(np.maximum(Z_free[rows], slowest_Z[rows]), selected.Z_max)
        Z[rows] = _edge_root(selected, low)
        x[rows] = np.where(
            Z[rows] == selected.Z_max, selected.x_max, np.maximum(selected.T - selected.a / Z[rows], selected.x_min)
        )
        case[rows[Z[rows] == selected.Z_max]] = case_index[Case.FASTEST]
    bound = np.full(problem.a.size, np.nan)
    rows = np.flatnonzero(target_missed & ~vertex)
    if rows.size:
        selected = problem[rows]
        x[rows], bound[rows] = _branch_and_bound(selected)
        Z[rows] = np.minimum(selected.a / (selected.T - x[rows]), selected.Z_max)
        case[rows] = case_index[Case.NONCONVEX]
    return x, Z, case, bound


def _time_without_deadline(problem: Problem, Z: FloatArray) -> FloatArray:
    """The compute time of greatest relaxed utility at the rate Z when the delay constraint is dropped."""
    q = (problem.transmit_energy(Z) - problem.half) / problem.beta_2
    log_K = np.log(problem.beta_1) - np.log(2) - 2 * np.log(problem.beta_2)
    # W(K e^q) - q = log K - log W, without cancellation
    return np.asarray(problem.beta_2 / problem.P_cp * (log_K - log_lambert_exp(log_K + q)))


def _edge_root(problem: Problem, low: FloatArray) -> FloatArray:
    """Z in [low, Z_max] where (39) holds, else the nearer end: safeguarded Newton on the log ratio of its two sides."""
    high = problem.Z_max.copy()
    out = np.empty(low.size)
    at_low, _ = _log_ratio(problem, low)
    at_high, _ = _log_ratio(problem, high)
    root_below, root_above = at_low >= 0, at_high <= 0
    out[root_below] = low[root_below]
    out[root_above & ~root_below] = high[root_above & ~root_below]
    rows = np.flatnonzero(~root_below & ~root_above)
    open_problem, low, high = problem[rows], low[rows], high[rows]
    Z = high.copy()
    value, slope = at_high[rows], _log_ratio(open_problem, high)[1]
    for sweep in range(_SWEEPS):
        if not rows.size:
            return out
        with np.errstate(invalid="ignore", over="ignore"):
            step = Z - value / slope
        middle = 0.5 * (low + high)
        Z_next = np.where((step > low) & (step < high), step, middle)
        if sweep % 8 == 7:  # bisection guarantees progress; near the root, Newton's method converges faster
            Z_next = np.where((np.abs(value) < 1e-3) & (sweep < _NEAR), Z_next, middle)
        value, slope = _log_ratio(open_problem, Z_next)
        low, high = np.where(value < 0, Z_next, low), np.where(value < 0, high, Z_next)
        done = (np.abs(Z_next - Z) <= 4e-16 * Z_next) | (high - low <= 4e-16 * high)
        done |= np.abs(value) <= 4e-16 * Z_next * slope  # the next step would be below rounding
        Z = Z_next
        if np.any(done):
            out[rows[done]] = Z[done]
            keep = ~done
            rows, open_problem, low, high, Z, value, slope = (
                rows[keep],
                open_problem[keep],
                low[keep],
                high[keep],
                Z[keep],
                value[keep],
                slope[keep],
            )
    out[rows] = Z
    return out


def _log_ratio(problem: Problem, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Log of the left over the right side of (39), increasing in Z, and its slope; -inf where :math:`2E \le \varrho`."""
    t = problem.a / Z
    x = problem.T - t
    excess = 2 * (problem.energy(x, Z) - problem.half)
    rise = problem.P_cp + problem.saving(Z)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = np.where(
            excess > 0,
            np.log(np.where(excess > 0, excess, 1.0) * rise / problem.P_cp)
            - np.log(problem.beta_1 / problem.beta_2)
            + problem.P_cp * x / problem.beta_2,
            -np.inf,
        )
        slope = (
            2 * rise * t / Z / np.where(excess > 0, excess, np.nan)
            + Z * np.exp(Z) * problem.inverse_gain / rise
            + problem.P_cp / problem.beta_2 * t / Z
        )
    return value, slope


def _branch_and_bound(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """The best x on the part of the delay edge where E is below its target, and an upper bound on the utility there."""
    devices = problem.a.size
    start = problem.x_min.copy()
    reached = _edge_energy(problem, start) > problem.half
    low, high = start.copy(), problem.x_max.copy()
    for _ in range(100):  # the x where E falls below the target: E is convex, and below the target at the right end
        middle = 0.5 * (low + high)
        target_reached = _edge_energy(problem, middle) >= problem.half
        low, high = np.where(target_reached, middle, low), np.where(target_reached, high, middle)
    start = np.where(reached, high, start)
    best_x, best = start.copy(), _edge_utility(problem, start)
    _improve(problem, best_x, best, np.arange(devices), problem.x_max)
    device, low, high = np.arange(devices), start, problem.x_max.copy()
    proved = best.copy()
    size = np.abs(best) + np.abs(problem.learning(problem.x_max)) + problem.half**2  # magnitude of the terms of U
    for _ in range(_BRANCHINGS):
        bound = _edge_bound(problem[device], low, high)
        closing_bound = best[device] + _GAP * size[device]
        closed = (bound <= closing_bound) | (high - low <= 4e-16 * high)
        np.maximum.at(proved, device[closed], bound[closed])
        device, low, high = device[~closed], low[~closed], high[~closed]
        if not device.size:
            break
        middle = 0.5 * (low + high)
        _improve(problem, best_x, best, device, middle)
        device, low, high = np.tile(device, 2), np.concatenate([low, middle]), np.concatenate([middle, high])
    else:
        np.maximum.at(proved, device, _edge_bound(problem[device], low, high))
    return best_x, np.maximum(proved, best)


def _improve(problem: Problem, best_x: FloatArray, best: FloatArray, device: IntArray, x: FloatArray) -> None:
    """Replace, in place, the best x and utility of each device where the utility at x is greater."""
    value = _edge_utility(problem[device], x)
    order = np.argsort(value, kind="stable")
    device, x, value = device[order], x[order], value[order]
    better = value > best[device]
    best[device[better]] = value[better]
    best_x[device[better]] = x[better]


def _edge_energy(problem: Problem, x: FloatArray) -> FloatArray:
    return problem.energy(x, np.minimum(problem.a / (problem.T - x), problem.Z_max))


def _edge_utility(problem: Problem, x: FloatArray) -> FloatArray:
    return problem.utility(x, np.minimum(problem.a / (problem.T - x), problem.Z_max))


def _edge_bound(problem: Problem, low: FloatArray, high: FloatArray) -> FloatArray:
    """An upper bound of U on a piece [low, high] of the delay edge where E is below its target.

    The learning term is concave, so it is below its tangent at the middle. The missing energy is concave, so it is
    above its chord, and minus its square is below minus the square of the chord. The bound is the maximum of this
    concave parabola.
    """
    middle, width = 0.5 * (low + high), high - low
    value = problem.learning(middle)
    slope = problem.beta_1 / problem.beta_2 * problem.P_cp * np.exp(-problem.P_cp * middle / problem.beta_2)
    missing_low = np.maximum(problem.half - _edge_energy(problem, low), 0.0)
    missing_high = np.maximum(problem.half - _edge_energy(problem, high), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        chord_slope = np.where(width > 0, (missing_high - missing_low) / width, 0.0)
        maximiser = np.where(chord_slope != 0, low + (slope / (2 * chord_slope) - missing_low) / chord_slope, high)
    x = np.clip(maximiser, low, high)
    bound = value + slope * (x - middle) - (missing_low + chord_slope * (x - low)) ** 2
    return bound + problem.half**2


def best_rate(problem: Problem, x: FloatArray) -> FloatArray:
    """The rate Z of greatest utility for a given compute time: it brings E as near to its target as possible."""
    slow = np.minimum(problem.a / np.maximum(problem.T - x, problem.t_min), problem.Z_max)
    thriftiest = np.clip(problem.Z_0, slow, problem.Z_max)
    out = thriftiest.copy()
    below = problem.energy(x, thriftiest) < problem.half
    fast_over = problem.energy(x, problem.Z_max) >= problem.half
    slow_over = problem.energy(x, slow) >= problem.half
    for limit, over in ((problem.Z_max, fast_over), (slow, slow_over & ~fast_over)):
        rows = np.flatnonzero(below & over)
        selected, inside, outside = problem[rows], thriftiest[rows], limit[rows]
        for _ in range(120):
            middle = 0.5 * (inside + outside)
            reached = selected.energy(x[rows], middle) >= selected.half
            inside, outside = np.where(reached, inside, middle), np.where(reached, middle, outside)
        out[rows] = outside
    unreachable = below & ~fast_over & ~slow_over
    out[unreachable] = np.where(problem.energy(x, problem.Z_max) >= problem.energy(x, slow), problem.Z_max, slow)[
        unreachable
    ]
    return out


def whole_iterations(
    problem: Problem, x: FloatArray, fleet: DeviceFleet, first_device: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute time, rate and number of iterations of greatest utility among whole numbers of iterations.

    Where P_cp >= P_cir the two whole numbers next to the real optimum are compared, elsewhere all allowed numbers.
    `first_device` is the index of the first of these devices in an error.
    """
    first = np.ceil(fleet.min_iterations)
    last = np.maximum(np.floor(problem.x_max / problem.A * (1 + 1e-14)), first)  # the fleet is feasible with `first`
    start = np.nan_to_num(x / problem.A)
    candidates = [np.clip(np.floor(start), first, last), np.clip(np.ceil(start), first, last)]
    j = candidates[0]
    best = problem.utility(j * problem.A, best_rate(problem, j * problem.A))
    other = candidates[1]
    value = problem.utility(other * problem.A, best_rate(problem, other * problem.A))
    j = np.where(value > best, other, j)
    for k in np.flatnonzero(problem.P_cp < problem.P_cir).tolist():
        if last[k] - first[k] > _EXHAUSTIVE:
            raise ConvergenceError(
                f"device {first_device + k}: {last[k] - first[k]:g} whole numbers of iterations to compare, more than 1e6"
            )
        counts = np.arange(first[k], last[k] + 1)
        copies = problem[np.full(counts.size, k)]
        j[k] = counts[int(np.argmax(copies.utility(counts * copies.A, best_rate(copies, counts * copies.A))))]
    x = np.minimum(j * problem.A, problem.x_max)
    return x, best_rate(problem, x), j
