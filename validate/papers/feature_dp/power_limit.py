"""The MSE when the peak power of FDP Eq. (6) binds (ours)."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from scipy import special

from airtight.analytics.forms.domain import Range
from airtight.analytics.inference import power_limit
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.validate.claims.claim import Claim, holds
from airtight.validate.claims.relation import equal
from airtight.validate.papers.feature_dp.common import SEED, scalar

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def _described(devices: int, seed: int) -> tuple[InferenceSystem, Features, float, np.ndarray]:
    """A random system whose signals are numbers, the channel gain and the devices' powers."""
    rng = np.random.default_rng(seed)
    f, p, w = rng.uniform(-2, 2, devices), rng.uniform(0, 1, devices), rng.uniform(0.1, 1, devices)
    decoder, noise = rng.uniform(0.5, 2), rng.uniform(0.05, 2)
    system, features = scalar(f.tolist(), p.tolist(), w.tolist(), decoder=decoder, noise=noise, receiver=0.3)
    return system, features, rng.uniform(0.5, 2), rng.uniform(0.05, 4, devices)


def _moments(mean: float, deviation: float, reach: float) -> tuple[float, float]:
    """Mean and mean square of the clipped signal: the normal density is integrated between the limits, and the tails added."""
    limits = [(sign * reach - mean) / deviation for sign in (-1, 1)]
    edges = np.linspace(max(limits[0], -10.0), max(min(limits[1], 10.0), max(limits[0], -10.0)), 41)
    half = np.diff(edges) / 2
    x = (edges[:-1] + half)[:, None] + half[:, None] * _NODES
    density = half[:, None] * _WEIGHTS * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    below, above = special.ndtr(limits[0]), special.ndtr(-limits[1])
    sent = mean + deviation * x
    square = float(np.sum(density * sent**2)) + reach**2 * (below + above)
    return float(np.sum(density * sent)) + reach * (above - below), square


def _exact(devices: int, seed: int) -> float:
    system, features, gain, power = _described(devices, seed)
    return power_limit.exact_mse(system, features, gain=gain, power=power).total


def _over_all_sets(devices: int, seed: int) -> float:
    system, features, gain, power = _described(devices, seed)
    f, decoder = features.f[:, 0], float(features.D[0, 0])
    sent = [
        _moments(float(w * x), math.sqrt(s), gain * math.sqrt(P))
        for w, x, s, P in zip(system.weight, f, system.noise_variance, power, strict=True)
    ]
    total = 0.0
    for here in product((0, 1), repeat=devices):
        chance = math.prod(p if h else 1 - p for p, h in zip(system.participation, here, strict=True))
        mean = sum(h * m for h, (m, _) in zip(here, sent, strict=True))
        spread = sum(h * (s - m * m) for h, (m, s) in zip(here, sent, strict=True))
        error = decoder * mean - float(np.mean(f))
        total += chance * (error**2 + decoder**2 * (spread + system.receiver_noise_variance))
    return total


CLAIMS = (
    Claim(
        "FDP-E6*-MSE",
        "Eq. (6), corrected: the MSE when the peak power binds (numbers as signals)",
        equal(_exact, _over_all_sets),
        holds(
            "Quadrature over length and angle; compared with integrals of the normal density, summed over all sets of "
            "participants."
        ),
        {"devices": Range(1, 3, integer=True), "seed": SEED},
        statement=r"x_k = \tilde z_k\min\left\{1, \frac{h_k\sqrt{P_k}}{\gamma\|\tilde z_k\|}\right\}:\quad "
        r"E\|\hat f - f^*\|^2 \text{ by } E[c(\sigma^2\chi^2_{r+2}(\delta))],\ E[c^2(\sigma^2\chi^2_{r+2}(\delta))],\ "
        r"E[c^2(\sigma^2\chi^2_{r+4}(\delta))]",
        tolerance=1e-8,
    ),
)
