"""UF Theorem 2 as printed: a root of (39), clamped by (38), and the compute time by (40)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.solvers.energy.energy_problem import Case, Problem


def point(problem: Problem) -> tuple[FloatArray, FloatArray, IntArray]:
    """Theorem 2 as printed: (38), (40) and the greatest root of (39) with x >= 0; the paper does not say which root."""
    case_index = {name: i for i, name in enumerate(Case)}
    Z_hat = np.full(problem.a.size, np.nan)
    for start in range(0, problem.a.size, 4096):
        rows = slice(start, start + 4096)
        Z_hat[rows] = _greatest_root(problem[rows])
    Z_min = problem.a / (problem.T - problem.x_min)
    Z = np.where(Z_hat < problem.Z_max, np.maximum(Z_min, Z_hat), problem.Z_max)
    Z = np.where(np.isnan(Z_hat), np.nan, Z)
    x = np.minimum(problem.T - problem.a / Z, problem.x_max)
    case = np.full(Z.size, case_index[Case.DELAY])
    case[problem.Z_max == Z] = case_index[Case.FASTEST]
    case[np.isnan(Z)] = case_index[Case.UNSOLVED]
    return x, Z, case


def residual(problem: Problem, Z: FloatArray) -> FloatArray:
    """The left side of (39) minus its right side; the exponent is capped at 700."""
    x = problem.T - problem.a / Z
    with np.errstate(over="ignore", invalid="ignore"):
        left_side = 2 * (problem.energy(x, Z) - problem.half) * (1 + problem.saving(Z) / problem.P_cp)
        return np.asarray(
            left_side - problem.beta_1 / problem.beta_2 * np.exp(np.minimum(-problem.P_cp * x / problem.beta_2, 700.0))
        )


def roots(fleet: DeviceFleet, *, points: int = 2000) -> IntArray:
    """The sign changes of (39) on a grid of rates, per device; roots that are closer than the grid are missed.

    The grid extends from the rate at which no time is left to compute to the greatest rate.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> roots(table_1(distance=[50.0, 200.0]))
    array([1, 1])
    """
    _, positive = _signs(Problem.of(fleet), checks.count("points", points, "[2, 1000000]"))
    return np.asarray(np.sum(positive[:, 1:] != positive[:, :-1], axis=1))


def _signs(problem: Problem, points: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """A grid of rates, one row for each device, and where the left side of (39) is greater than the right side."""
    low = problem.a / problem.T
    Z = low[:, None] + (problem.Z_max - low)[:, None] * np.linspace(0, 1, points)
    return Z, residual(problem[(slice(None), None)], Z) > 0


def _greatest_root(problem: Problem) -> FloatArray:
    """The greatest root of (39).

    Z_max where the residual at Z_max is not positive; nan where it is positive and no sign changes.
    """
    Z, positive = _signs(problem, 513)
    out = np.where(positive[:, -1], np.nan, problem.Z_max)
    change = positive[:, 1:] != positive[:, :-1]
    with_root = change.any(axis=1) & positive[:, -1]
    last_change = change.shape[1] - 1 - np.argmax(change[:, ::-1], axis=1)
    rows = np.flatnonzero(with_root)
    selected, left, right = problem[rows], Z[rows, last_change[rows]], Z[rows, last_change[rows] + 1]
    for _ in range(100):
        middle = 0.5 * (left + right)
        if np.all((middle == left) | (middle == right)):
            break
        below = ~(residual(selected, middle) > 0)
        left, right = np.where(below, middle, left), np.where(below, right, middle)
    out[rows] = 0.5 * (left + right)
    return out
