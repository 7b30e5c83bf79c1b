"""Systems that several test modules draw."""

import numpy as np

from airtight.analytics.inference.system import InferenceSystem


def unlike(devices: int, seed: int, adjacency: str = "silent", dimension: int = 50) -> InferenceSystem:
    """Devices that differ in participation, noise, weight and clip."""
    draw = np.random.default_rng(seed).uniform
    return InferenceSystem(
        devices=devices,
        participation=draw(0.3, 0.95, devices),
        noise_variance=draw(0.02, 0.3, devices),
        weight=draw(0.5, 1.5, devices) / devices,
        clip=draw(0.5, 1.5, devices),
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=dimension,
        delta=1e-5,
        adjacency=adjacency,
    )
