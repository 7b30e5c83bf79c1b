"""Parameter ranges and systems that several claims about FDP use."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from airtight.analytics.forms import gaussian_mechanism
from airtight.analytics.forms.domain import Range, parameter_of
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem

PAPER = "feature-dp"
of_system = partial(parameter_of, InferenceSystem)
_epsilon, _mu = sp.symbols("epsilon mu", positive=True)
GAUSSIAN = {  # for legends: delta of a Gaussian mechanism whose sensitivity is mu times its noise
    r"\delta_G": sp.Lambda((_epsilon, _mu), gaussian_mechanism.hockey_stick(_epsilon, _mu, 1))
}
# typical values: Sec. VI and Table II; the distance w C goes from what Table II's least epsilon allows to w = 1/12, C = 100
DELTA = Range(1e-12, 0.5, logarithmic=True, typical=(1e-5, 1e-5))
EPSILON = Range(1e-3, 20.0, logarithmic=True, typical=(3.9811, 10.0))
PROBABILITY = Range(0.01, 1.0, typical=(0.9, 0.9))
VARIANCE = Range(1e-2, 1e2, logarithmic=True, typical=(0.1, 0.1))
DISTANCE = Range(1e-2, 10.0, logarithmic=True, typical=(0.3, 8.4))
DIMENSION = Range(1, 1000, logarithmic=True, integer=True, typical=(784, 784))
SEED = Range(0, 10**6, integer=True)  # of a random instance
RESOLUTION = 1e-12  # absolute accuracy of a numerical integral


def resolved(value: Any, least: float = 1e-290) -> float:
    """The value, or `least` if that is greater: doubles, or integrals of absolute accuracy 1e-13, have no digits below it."""
    return max(float(value), least)


def system(devices: int, **given: Any) -> InferenceSystem:
    """A system whose clip, weight and gain are 1, without receiver noise, unless other values are passed."""
    usual = {"weight": 1.0, "clip": 1.0, "alignment": 1.0, "receiver_noise_variance": 0.0, "dimension": 1}
    return InferenceSystem(devices=devices, **{"delta": 0.5, "delta_prime": 0.5, **usual, **given})


def equal_devices(
    devices: int, p: float, variance: float, signal: float, dimension: int, adjacency: int, idle: int = 0
) -> InferenceSystem:
    """Equal devices; `signal` is w C, the receiver noise 1/5, `adjacency` an index into :class:`Adjacency`."""
    return system(
        devices,
        participation=p,
        noise_variance=variance,
        weight=signal,
        receiver_noise_variance=0.2,
        dimension=dimension,
        adjacency=list(Adjacency)[adjacency],
        idle_noise=bool(idle),
    )


def instance(devices: int, dimension: int, clip: float, seed: int) -> tuple[InferenceSystem, Features]:
    """A random system with features; some draws are degenerate: probabilities 0 and 1, no noise, a decoder of rank one."""
    rng = np.random.default_rng(seed)
    d = dimension + int(rng.integers(3))
    p = rng.choice([0.0, 1.0, *rng.random(3)], devices)
    D = rng.standard_normal((d, dimension))
    if rng.random() < 0.2:
        D[:] = D[:, :1]
    drawn = system(
        devices,
        participation=p,
        noise_variance=rng.choice([0.0, *rng.random(3)], devices),
        weight=rng.random(devices) * 2 / devices,
        clip=clip,
        alignment=rng.uniform(0.2, 5.0),
        receiver_noise_variance=rng.choice([0.0, 0.1]),
        dimension=dimension,
        idle_noise=bool(rng.random() < 0.2),
    )
    f, W = rng.standard_normal((devices, d)), rng.standard_normal((devices, dimension, d))
    return drawn, Features(f=f, W=W, D=D)


def scalar(
    f: list[float], p: list[float], w: list[float], *, decoder: float = 1.0, noise: float = 0.0, receiver: float = 0.0
) -> tuple[InferenceSystem, Features]:
    """Devices with one-dimensional features, encoder 1; `noise` is every sigma_k^2."""
    given = {"participation": p, "noise_variance": noise, "weight": w, "receiver_noise_variance": receiver}
    features = Features(f=np.array(f)[:, None], W=np.eye(1), D=np.full((1, 1), decoder))
    return system(len(f), **given, clip=1e9), features
