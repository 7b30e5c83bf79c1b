"""Ranges and systems that several claims about FDP share."""

from __future__ import annotations

import numpy as np

from analytics.guarantee import Adjacency
from analytics.inference.features import Features
from analytics.inference.system import InferenceSystem
from validate.claims.domain import Range

PAPER = "feature-dp"
DELTA = Range(1e-12, 0.5, logarithmic=True)
EPSILON = Range(1e-3, 20.0, logarithmic=True)
PROBABILITY = Range(0.01, 1.0)
VARIANCE = Range(1e-2, 1e2, logarithmic=True)
DISTANCE = Range(1e-2, 10.0, logarithmic=True)
SEED = Range(0, 10**6, integer=True)  # of a random instance
RESOLUTION = 1e-12  # added to both sides where the comparison is a numerical integral of that absolute accuracy


def equal_devices(
    devices: int, p: float, variance: float, signal: float, dimension: int, adjacency: int, idle: int = 0
) -> InferenceSystem:
    """Devices that differ in nothing; `signal` is w C, receiver noise 1/5, `adjacency` the number of one."""
    return InferenceSystem(
        devices=devices,
        participation=p,
        noise_variance=variance,
        weight=signal,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.2,
        dimension=dimension,
        delta=0.5,
        delta_prime=0.5,
        adjacency=list(Adjacency)[adjacency],
        idle_noise=bool(idle),
    )


def instance(devices: int, dimension: int, clip: float, seed: int) -> tuple[InferenceSystem, Features]:
    """A random system with features, some of it degenerate: probabilities 0 and 1, no noise, a decoder of rank one."""
    rng = np.random.default_rng(seed)
    d = dimension + int(rng.integers(3))
    p = rng.choice([0.0, 1.0, *rng.random(3)], devices)
    D = rng.standard_normal((d, dimension))
    if rng.random() < 0.2:
        D[:] = D[:, :1]
    system = InferenceSystem(
        devices=devices,
        participation=p,
        noise_variance=rng.choice([0.0, *rng.random(3)], devices),
        weight=rng.random(devices) * 2 / devices,
        clip=clip,
        alignment=rng.uniform(0.2, 5.0),
        receiver_noise_variance=rng.choice([0.0, 0.1]),
        dimension=dimension,
        delta=0.5,
        delta_prime=0.5,
        idle_noise=bool(rng.random() < 0.2),
    )
    f, W = rng.standard_normal((devices, d)), rng.standard_normal((devices, dimension, d))
    return system, Features(f=f, W=W, D=D)


def scalar(
    f: list[float], p: list[float], w: list[float], *, decoder: float = 1.0, noise: float = 0.0, receiver: float = 0.0
) -> tuple[InferenceSystem, Features]:
    """Devices with one-dimensional features, encoder 1; `noise` is every sigma_k^2."""
    system = InferenceSystem(
        devices=len(f),
        participation=p,
        noise_variance=noise,
        weight=w,
        clip=1e9,
        alignment=1.0,
        receiver_noise_variance=receiver,
        dimension=1,
        delta=0.5,
        delta_prime=0.5,
    )
    return system, Features(f=np.array(f)[:, None], W=np.eye(1), D=np.full((1, 1), decoder))
