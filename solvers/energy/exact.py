"""The optimum of the energy-utility problem, vectorised over devices: closed form, one root, or branch and bound."""

from __future__ import annotations

import numpy as np

from airtight.analytics.checks import ConvergenceError, FloatArray, IntArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.solvers.energy.energy_problem import Case, Problem, log_lambert_exp

_SWEEPS = 200
_NEAR = 32  # sweeps after which even near the root a bracket is halved
_BRANCHINGS = 200
_GAP = 1e-12
_CHUNK = 1 << 16  # devices worked on at a time: their arrays stay in the cache
_EXHAUSTIVE = 1_000_000


def exact_cases(problem: Problem) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """x, Z, case (its place in :class:`Case`), and the bound of branch and bound, nan where none was needed."""
    pieces = [_closed_form(problem[slice(start, start + _CHUNK)]) for start in range(0, max(problem.a.size, 1), _CHUNK)]
    x, Z, case, bound = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return x, Z, case, bound


def _closed_form(problem: Problem) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """x, Z, case, and the upper bound of branch and bound (nan where none was needed)."""
    order = {kind: i for i, kind in enumerate(Case)}
    fastest = problem.energy(problem.x_max, problem.Z_max)
    slowest_Z = problem.a / (problem.T - problem.x_min)
    slowest = problem.energy(problem.x_min, slowest_Z)
    Z_free = np.minimum(problem.Z_0, problem.Z_max)
    with np.errstate(divide="ignore", invalid="ignore"):
        t_free = np.where(Z_free > 0, problem.a / Z_free, np.inf)
        x_free = np.maximum(_unhurried(problem, np.where(Z_free > 0, Z_free, 1.0)), problem.x_min)
    case = np.full(problem.a.size, order[Case.DELAY])
    slack = (x_free + t_free <= problem.T) & np.isfinite(t_free)
    x, Z = np.where(slack, x_free, 0.0), np.where(slack, Z_free, 1.0)
    case[slack] = order[Case.SLACK]
    short = fastest < problem.half
    vertex = short & ((problem.P_cp >= problem.P_cir) | (slowest <= fastest))
    x[vertex], Z[vertex], case[vertex] = problem.x_max[vertex], problem.Z_max[vertex], order[Case.FASTEST]
    rows = np.flatnonzero(~slack & ~short)
    if rows.size:
        part = problem[rows]
        low = np.minimum(np.maximum(Z_free[rows], slowest_Z[rows]), part.Z_max)
        Z[rows] = _edge_root(part, low)
        x[rows] = np.where(Z[rows] == part.Z_max, part.x_max, np.maximum(part.T - part.a / Z[rows], part.x_min))
        case[rows[Z[rows] == part.Z_max]] = order[Case.FASTEST]
    bound = np.full(problem.a.size, np.nan)
    rows = np.flatnonzero(short & ~vertex)
    if rows.size:
        part = problem[rows]
        x[rows], bound[rows] = _branch_and_bound(part)
        Z[rows] = np.minimum(part.a / (part.T - x[rows]), part.Z_max)
        case[rows] = order[Case.NONCONVEX]
    return x, Z, case, bound


def _unhurried(problem: Problem, Z: FloatArray) -> FloatArray:
    """The compute time of greatest relaxed utility when the transmission does not depend on it."""
    q = (problem.transmit_energy(Z) - problem.half) / problem.beta_2
    log_K = np.log(problem.beta_1) - np.log(2) - 2 * np.log(problem.beta_2)
    # W(K e^q) - q = log K - log W, without cancellation
    return np.asarray(problem.beta_2 / problem.P_cp * (log_K - log_lambert_exp(log_K + q)))


def _edge_root(problem: Problem, low: FloatArray) -> FloatArray:
    """Z in [low, Z_max] where (39) holds, an end where it does not: safeguarded Newton on the logarithm of its ratio."""
    high = problem.Z_max.copy()
    out = np.empty(low.size)
    at_low, _ = _balance(problem, low)
    at_high, _ = _balance(problem, high)
    first, last = at_low >= 0, at_high <= 0
    out[first] = low[first]
    out[last & ~first] = high[last & ~first]
    rows = np.flatnonzero(~first & ~last)
    part, low, high = problem[rows], low[rows], high[rows]
    Z = high.copy()
    value, slope = at_high[rows], _balance(part, high)[1]
    for sweep in range(_SWEEPS):
        if not rows.size:
            return out
        with np.errstate(invalid="ignore", over="ignore"):
            step = Z - value / slope
        middle = 0.5 * (low + high)
        Z_next = np.where((step > low) & (step < high), step, middle)
        if sweep % 8 == 7:  # three digits in eight sweeps at the least; near the root Newton does better
            Z_next = np.where((np.abs(value) < 1e-3) & (sweep < _NEAR), Z_next, middle)
        value, slope = _balance(part, Z_next)
        low, high = np.where(value < 0, Z_next, low), np.where(value < 0, high, Z_next)
        done = (np.abs(Z_next - Z) <= 4e-16 * Z_next) | (high - low <= 4e-16 * high)
        done |= np.abs(value) <= 4e-16 * Z_next * slope  # the next step would be below rounding
        Z = Z_next
        if np.any(done):
            out[rows[done]] = Z[done]
            keep = ~done
            rows, part, low, high, Z, value, slope = (
                rows[keep],
                part[keep],
                low[keep],
                high[keep],
                Z[keep],
                value[keep],
                slope[keep],
            )
    out[rows] = Z
    return out


def _balance(problem: Problem, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""log of the left over the right side of (39), rising in Z, and its slope; -inf where :math:`2E \le \varrho`."""
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
    """Best x on the delay edge where E is below its target, and an upper bound on the utility."""
    count = problem.a.size
    left = problem.x_min.copy()
    over = _edge_energy(problem, left) > problem.half
    low, high = left.copy(), problem.x_max.copy()
    for _ in range(100):  # the place where E falls below the target: E is convex and below it at the right end
        middle = 0.5 * (low + high)
        above = _edge_energy(problem, middle) >= problem.half
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    left = np.where(over, high, left)
    best_x, best = left.copy(), _edge_utility(problem, left)
    _improve(problem, best_x, best, np.arange(count), problem.x_max)
    device, low, high = np.arange(count), left, problem.x_max.copy()
    proved = best.copy()
    size = np.abs(best) + np.abs(problem.learning(problem.x_max)) + problem.half**2  # of the terms of U, in its unit
    for _ in range(_BRANCHINGS):
        bound = _edge_bound(problem[device], low, high)
        goal = best[device] + _GAP * size[device]
        closed = (bound <= goal) | (high - low <= 4e-16 * high)
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
    """Take over, in place, what is better at x."""
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
    """Above U on the piece of the edge: tangent of the learning term, chord of the missing energy."""
    middle, width = 0.5 * (low + high), high - low
    value = problem.learning(middle)
    slope = problem.beta_1 / problem.beta_2 * problem.P_cp * np.exp(-problem.P_cp * middle / problem.beta_2)
    first = np.maximum(problem.half - _edge_energy(problem, low), 0.0)
    last = np.maximum(problem.half - _edge_energy(problem, high), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(width > 0, (last - first) / width, 0.0)
        top = np.where(rate != 0, low + (slope / (2 * rate) - first) / rate, high)
    x = np.clip(top, low, high)
    bound = value + slope * (x - middle) - (first + rate * (x - low)) ** 2
    return bound + problem.half**2


def best_rate(problem: Problem, x: FloatArray) -> FloatArray:
    """Z of greatest utility for a given compute time: E as near to its target as the transmission allows."""
    slow = np.minimum(problem.a / np.maximum(problem.T - x, problem.t_min), problem.Z_max)
    least = np.clip(problem.Z_0, slow, problem.Z_max)
    out = least.copy()
    below = problem.energy(x, least) < problem.half
    fast_over = problem.energy(x, problem.Z_max) >= problem.half
    slow_over = problem.energy(x, slow) >= problem.half
    for end, over in ((problem.Z_max, fast_over), (slow, slow_over & ~fast_over)):
        rows = np.flatnonzero(below & over)
        part, inside, outside = problem[rows], least[rows], end[rows]
        for _ in range(120):
            middle = 0.5 * (inside + outside)
            reached = part.energy(x[rows], middle) >= part.half
            inside, outside = np.where(reached, inside, middle), np.where(reached, middle, outside)
        out[rows] = outside
    neither = below & ~fast_over & ~slow_over
    out[neither] = np.where(problem.energy(x, problem.Z_max) >= problem.energy(x, slow), problem.Z_max, slow)[neither]
    return out


def whole_iterations(problem: Problem, x: FloatArray, fleet: DeviceFleet) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute time, rate, number of whole iterations: both neighbours where P_cp >= P_cir, all numbers elsewhere."""
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
            raise ConvergenceError(f"device {k}: {last[k] - first[k]:g} whole numbers of iterations to compare")
        every = np.arange(first[k], last[k] + 1)
        row = problem[np.full(every.size, k)]
        j[k] = every[int(np.argmax(row.utility(every * row.A, best_rate(row, every * row.A))))]
    x = np.minimum(j * problem.A, problem.x_max)
    return x, best_rate(problem, x), j
