"""Builds systems and fleets from the arguments of a form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem

K = 3


def system_of(**values: Any) -> InferenceSystem:
    """A system of K devices; parameters that are not given are 1."""
    given = {
        "devices": K,
        "participation": 0.5,
        "noise_variance": 1.0,
        "weight": 0.5,
        "clip": 1.0,
        "alignment": 1.0,
        "receiver_noise_variance": 0.0,
        "dimension": 1,
        "delta": 1e-5,
        "delta_prime": 1e-5,
        "adjacency": "silent",
    }
    return InferenceSystem(**{**given, **values})


def of_first(values: Any) -> float:
    """The value of the first device."""
    return float(np.asarray(values)[0])


def scalar_features(**v: Any) -> tuple[InferenceSystem, Features]:
    """Scalar features, encoders and decoder, without clipping."""
    names = ("participation", "weight", "noise_variance", "receiver_noise_variance")
    made = system_of(clip=1e300, **{name: v[name] for name in names})
    return made, Features(f=np.array(v["f"])[:, None], W=np.array(v["W"])[:, None, None], D=[[v["D"]]])


def largest_term(**v: Any) -> float:
    """Scale of the MSE: bias, participation and noise with absolute values."""
    p, w, f, W, s = (np.array(v[name]) for name in ("participation", "weight", "f", "W", "noise_variance"))
    sent = np.abs(w * v["D"] * W * f)
    norms = (np.sum((1 + w) ** 2 * (v["D"] * W * f) ** 2)) * K
    return float(
        (np.sum(p * sent) + np.mean(np.abs(f))) ** 2 + norms + v["D"] ** 2 * (p @ s + v["receiver_noise_variance"])
    )


def fleet_of(v: dict[str, Any]) -> DeviceFleet:
    """A fleet of one device."""
    return DeviceFleet(**{name: value for name, value in v.items() if name not in ("iterations", "power")})


def largest_utility(**v: Any) -> float:
    """Scale of the utility: its terms with positive signs."""
    there = fleet_of(v)
    energy = float(there.energy(v["iterations"], v["power"])[0])
    return float(v["beta_1"] + energy * (energy + v["utility_energy"]))


def device_value(method: str, *arguments: str) -> Callable[..., float]:
    """A property or method of a fleet as a function of the form's arguments."""

    def numeric(**v: Any) -> float:
        found = getattr(fleet_of(v), method)
        return of_first(found(*(v[name] for name in arguments)) if arguments else found)

    return numeric
