"""Allocation of noise over T rounds: the least optimality gap at a privacy budget, solved with a certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from airtight import ConvergenceError, ParameterError
from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, real

_STEPS = 200  # steps of the bisection


@dataclass(frozen=True)
class Allocation:
    """Effective noise variances, and a bound on how much better any others could be.

    Attributes
    ----------
    noise : ndarray, shape (T,)
    spent : float
        Sum of 1/noise: at most the budget.
    value, bound : float
        Weighted noise of this allocation, and a lower bound on the weighted noise of every allowed allocation.
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
        w_t > 0; m_t > 0, the least noise that the power limit allows.
    budget : float
        B > 0.

    Notes
    -----
    By weak duality every :math:`\lambda \ge 0` gives a lower bound: the sum over t of the minimum of :math:`w_tx +
    \lambda/x` on :math:`x \ge m_t`, minus :math:`\lambda B`. The minimum is at :math:`x = \max(\sqrt{\lambda/w_t}, m_t)`.

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


@dataclass(frozen=True)
class AllocationCertificate:
    """An allocation and a multiplier in exact arithmetic; they bound the distance to the optimum.

    Attributes
    ----------
    weight, least, noise : tuple of Fraction
    budget, multiplier : Fraction
    """

    weight: tuple[Fraction, ...]
    least: tuple[Fraction, ...]
    budget: Fraction
    noise: tuple[Fraction, ...]
    multiplier: Fraction

    def allowed(self) -> bool:
        """Whether the noise keeps to the budget and the power limit."""
        return sum(1 / x for x in self.noise) <= self.budget and all(
            x >= m for x, m in zip(self.noise, self.least, strict=True)
        )

    @property
    def value(self) -> Fraction:
        """Weighted noise of this allocation."""
        return sum((w * x for w, x in zip(self.weight, self.noise, strict=True)), Fraction(0))

    @property
    def bound(self) -> Fraction:
        """Lower bound on the value of every allowed allocation, by weak duality (:func:`allocate`); roots are rounded down."""
        total = -self.multiplier * self.budget
        for w, m in zip(self.weight, self.least, strict=True):
            inside = self.multiplier <= w * m * m  # the term increases on x >= m, so its minimum is at m
            total += w * m + self.multiplier / m if inside else 2 * _root(w * self.multiplier)
        return total


def _root(x: Fraction) -> Fraction:
    """The square root, rounded down to a multiple of 2^-140."""
    shift = 4**140
    return Fraction(math.isqrt(x.numerator * shift // x.denominator), 2**140)


def certify(weight: FloatArray, least: FloatArray, *, budget: float) -> AllocationCertificate:
    """:func:`allocate` in fractions; the noise is increased by a few roundings until it is allowed.

    Examples
    --------
    >>> found = certify(np.array([1.0, 4.0]), np.array([0.1, 0.1]), budget=3.0)
    >>> found.allowed(), 0 <= found.value - found.bound < Fraction(1, 10**9)
    (True, True)
    """
    allocation = allocate(weight, least, budget=budget)
    w, m, x = (tuple(Fraction(float(v)) for v in values) for values in (weight, least, allocation.noise))
    B = Fraction(budget)
    free = [i for i in range(len(x)) if x[i] > m[i]]
    multiplier = max((w[i] * x[i] ** 2 for i in free), default=Fraction(0))
    for power in range(40):
        stretch = 1 + Fraction(2**power, 2**54)
        certificate = AllocationCertificate(w, m, B, tuple(max(v * stretch, n) for v, n in zip(x, m, strict=True)), multiplier)
        if certificate.allowed():
            return certificate
    raise ConvergenceError(
        "no allocation within 2**-15 (relative) of the computed one satisfies the budget and the power limit"
    )


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
    """The greatest rho = mu^2/2 with delta(eps) <= delta, from the exact curve, rounded down.

    Examples
    --------
    >>> exact_budget(1.0, 0.01) > 2 * printed_budget(1.0, 0.01)
    True
    """
    from airtight.analytics.privacy.mechanisms import gaussian

    return 0.5 / float(gaussian.sigma(epsilon, delta, sensitivity=1.0)) ** 2
