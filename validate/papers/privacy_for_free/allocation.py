"""Noise over T rounds: least optimality gap at a privacy budget, solved with a certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analytics import checks
from analytics.checks import FloatArray, ParameterError, real

_STEPS = 200


@dataclass(frozen=True)
class Allocation:
    """Effective noise variances, and how good any others could be.

    Attributes
    ----------
    noise : ndarray, shape (T,)
    spent : float
        Sum of 1/noise: at most the budget.
    value, bound : float
        Weighted noise of this allocation, and a lower bound on that of every allowed one.
    """

    noise: FloatArray
    spent: float
    value: float
    bound: float

    @property
    def gap(self) -> float:
        return self.value - self.bound


def allocate(weight: FloatArray, least: FloatArray, *, budget: float) -> Allocation:
    r"""Minimise :math:`\sum w_tx_t` over :math:`x_t \ge m_t` with :math:`\sum 1/x_t \le B`.

    Parameters
    ----------
    weight, least : array_like, shape (T,)
        w_t > 0; m_t > 0, what the power limit leaves.
    budget : float
        B > 0.

    Notes
    -----
    For every :math:`\lambda \ge 0` the sum over t of the least of :math:`w_tx + \lambda/x` on :math:`x \ge m_t`, at
    :math:`x = \max(\sqrt{\lambda/w_t}, m_t)`, less :math:`\lambda B`, is a lower bound (weak duality).

    Examples
    --------
    >>> found = allocate(np.array([1.0, 4.0]), np.array([0.1, 0.1]), budget=3.0)
    >>> found.noise.round(3), abs(found.gap) < 1e-9
    (array([1. , 0.5]), True)
    """
    w, m = real("weight", weight, "(0, inf)"), real("least", least, "(0, inf)")
    B = checks.scalar("budget", budget, "(0, inf)")
    if w.shape != m.shape or w.ndim != 1:
        raise ParameterError("least", m.shape, f"shape {w.shape}")

    def at(multiplier: float) -> FloatArray:
        return np.maximum(np.sqrt(multiplier / w), m)

    low, high = 0.0, float(np.max(w)) * (w.size / B) ** 2 * 4
    if np.sum(1 / m) > B:
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if np.sum(1 / at(middle)) > B else (low, middle)
    else:
        high = 0.0
    x = at(high)
    value = float(w @ x)
    return Allocation(x, float(np.sum(1 / x)), value, float(np.sum(w * x + high / x)) - high * B)


def printed_budget(epsilon: float, delta: float) -> float:
    """The greatest rho that the published constraint allows: (sqrt(eps + C^2) - C)^2, sqrt(pi) C e^(C^2) = 1/delta.

    Examples
    --------
    >>> round(printed_budget(1.0, 0.01), 3)
    0.064
    """
    from scipy.special import lambertw

    C = math.exp(-float(lambertw(2 / (math.pi * delta**2)).real) / 2) / (delta * math.sqrt(math.pi))
    return (math.sqrt(epsilon + C * C) - C) ** 2


def exact_budget(epsilon: float, delta: float) -> float:
    """The greatest rho = mu^2/2 with delta(eps) <= delta, exactly, rounded down.

    Examples
    --------
    >>> exact_budget(1.0, 0.01) > 2 * printed_budget(1.0, 0.01)
    True
    """
    from analytics.privacy import gaussian

    return 0.5 / float(gaussian.sigma(epsilon, delta, sensitivity=1.0)) ** 2
