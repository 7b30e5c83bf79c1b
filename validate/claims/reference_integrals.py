"""Slow and simple computations of some quantities by other methods, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product

import numpy as np
from scipy import optimize, special

from airtight.analytics.checks import FloatArray
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem

Component = tuple[float, float, float]  # weight, mean, variance
_GRID = 8001
_REACH = 12.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


def mixture_divergence(epsilon: float, first: Sequence[Component], second: Sequence[Component]) -> float:
    """Hockey-stick divergence of two Gaussian mixtures on the line.

    The sign changes of P - e^eps Q are bracketed on a grid and refined; between them its integral is a sum of normal
    probabilities. Absolute error about 1e-13 unless two sign changes fall between neighbours of the grid.

    Examples
    --------
    >>> mixture_divergence(1.0, [(1.0, 1.0, 1.0)], [(1.0, 0.0, 1.0)])
    0.126936737506...
    """
    lam = np.exp(epsilon)
    parts = [np.array(mixture, dtype=float).T for mixture in (first, second)]
    means, deviations = np.concatenate([p[1] for p in parts]), np.sqrt(np.concatenate([p[2] for p in parts]))
    low, high = np.min(means - _REACH * deviations), np.max(means + _REACH * deviations)
    centres = means[:, None] + deviations[:, None] * np.linspace(-_REACH, _REACH, _GRID // 8)
    grid = np.sort(np.concatenate([np.linspace(low, high, _GRID), centres.ravel()]))

    def surplus(x: FloatArray | float) -> FloatArray:
        return _log_density(x, parts[0]) - epsilon - _log_density(x, parts[1])

    positive = surplus(grid) > 0
    changes = np.flatnonzero(positive[1:] != positive[:-1])
    cuts = [optimize.brentq(lambda x: float(surplus(x)), grid[i], grid[i + 1], xtol=1e-14) for i in changes]
    ends = ([-np.inf] if positive[0] else []) + cuts + ([np.inf] if positive[-1] else [])
    total = 0.0
    for a, b in zip(ends[::2], ends[1::2], strict=True):
        total += _probability(a, b, parts[0]) - lam * _probability(a, b, parts[1])
    return max(float(total), 0.0)


def _log_density(x: FloatArray | float, mixture: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        parts = (np.log(w / np.sqrt(v)) - (x - mean) ** 2 / (2 * v) for w, mean, v in mixture.T)
        return reduce(np.logaddexp, parts)


def _probability(a: float, b: float, mixture: FloatArray) -> float:
    weight, mean, variance = mixture
    low, high = (a - mean) / np.sqrt(variance), (b - mean) / np.sqrt(variance)
    upper = low > 0  # both in the upper tail: mirror, so that the difference keeps its accuracy
    mass = special.ndtr(np.where(upper, -low, high)) - special.ndtr(np.where(upper, -high, low))
    return float(np.sum(weight * mass))


def enumerated_mse(system: InferenceSystem, features: Features) -> float:
    """Expected squared error of the decoded feature, as a sum over every set of participants."""
    D = system.decoder_gain * features.D
    decoder = float(np.trace(D.T @ D))
    codes = []
    for k in range(system.devices):
        z = (features.W if features.W.ndim == 2 else features.W[k]) @ features.f[k]
        length = float(np.sqrt(z @ z))
        codes.append(z if length <= system.clip[k] else z * (system.clip[k] / length))
    total = 0.0
    for tau in product((0, 1), repeat=system.devices):
        chance, noise = 1.0, system.receiver_noise_variance / system.alignment**2
        received = np.zeros(system.dimension)
        for k, present in enumerate(tau):
            chance *= system.participation[k] if present else 1 - system.participation[k]
            noise += system.noise_variance[k] if present or system.idle_noise else 0.0
            received = received + present * system.weight[k] * codes[k]
        error = D @ received - np.mean(features.f, axis=0)
        total += chance * (float(error @ error) + noise * decoder)
    return total


def selection_probabilities(score: FloatArray, noise: FloatArray, selected: int) -> FloatArray:
    """Probability that each device is among the `selected` lowest, as a sum over every set of devices below it.

    Gauss-Legendre on a fine mesh; for few devices whose noise spans a few decades at most.
    """
    mesh = np.unique(np.add.outer(np.linspace(-9, 9, 55), np.zeros(score.size)) * noise + score)
    width = np.diff(mesh)
    x = (mesh[:-1, None] + width[:, None] * (_NODES + 1) / 2).ravel()
    dx = (width[:, None] * _WEIGHTS / 2).ravel()
    out = np.zeros(score.size)
    for k in range(score.size):
        below = [special.ndtr((x - score[j]) / noise[j]) for j in range(score.size) if j != k]
        few = np.zeros_like(x)
        for tau in product((0, 1), repeat=len(below)):
            if sum(tau) < selected:
                few += np.prod([f if t else 1 - f for f, t in zip(below, tau, strict=True)], axis=0) if below else 1.0
        out[k] = np.sum(dx * few * np.exp(-0.5 * ((x - score[k]) / noise[k]) ** 2)) / (noise[k] * np.sqrt(2 * np.pi))
    return out


def order_probability(score: FloatArray, noise: FloatArray) -> float:
    """Probability that the noisy scores have the given order, by repeated integration on a fine mesh."""
    mesh = np.unique(np.add.outer(np.linspace(-9, 9, 73), np.zeros(score.size)) * noise + score)
    basis = np.linalg.inv(np.polynomial.legendre.legvander(_NODES, 9))
    antiderivative = np.stack([np.polynomial.legendre.legint(row, lbnd=-1) for row in basis.T])
    partial = np.stack([np.polynomial.legendre.legval(_NODES, row) for row in antiderivative])  # from -1 to each node
    half = np.diff(mesh) / 2
    x = mesh[:-1, None] + half[:, None] * (_NODES + 1)
    below = np.ones_like(x)
    for u, sigma in zip(score, noise, strict=True):
        integrand = below * np.exp(-0.5 * ((x - u) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
        panels = half * (integrand @ _WEIGHTS)
        before = np.concatenate([[0.0], np.cumsum(panels)])
        below = before[:-1, None] + half[:, None] * (integrand @ partial)
    return float(before[-1])
