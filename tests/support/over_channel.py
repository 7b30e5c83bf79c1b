"""A system of unlike devices and its features, for designs over a channel."""

from __future__ import annotations

import numpy as np

from airtight import Features, InferenceSystem

SYSTEM = InferenceSystem(
    devices=3, participation=1.0, noise_variance=[0.2, 0.1, 0.3], weight=[0.4, 0.3, 0.3], clip=1.0, alignment=0.9,
    receiver_noise_variance=0.05, dimension=4, delta=1e-4, adjacency="silent",
)  # fmt: skip
_RNG = np.random.default_rng(2)
FEATURES = Features(f=1.0 + 0.2 * _RNG.standard_normal((3, 4)), W=np.repeat(np.eye(4)[None], 3, axis=0), D=np.eye(4))
