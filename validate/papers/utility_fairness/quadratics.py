"""Gradient descent run on functions of curvature mu to 1: what the claims on iteration counts are held against."""

from __future__ import annotations

import math

import numpy as np


def descended(curvature: np.ndarray, start: np.ndarray, step: float, iterations: int) -> float:
    """Excess after gradient descent on a quadratic, as a share of that at the start; run, not computed."""
    x = start.copy()
    for _ in range(iterations):
        x = x - step * curvature * x
    return float(np.sum(curvature * x * x) / np.sum(curvature * start * start))


def bent(mu: float, start: float, step: float, iterations: int) -> float:
    """The same on mu x^2/2 + (1 - mu) log cosh x, no quadratic: of curvature 1 at 0 and mu far away."""

    def value(x: float) -> float:
        return mu * x * x / 2 + (1 - mu) * math.log1p(2 * math.sinh(x / 2) ** 2)

    x = start
    for _ in range(iterations):
        x = x - step * (mu * x + (1 - mu) * math.tanh(x))
    return value(x) / value(start)
