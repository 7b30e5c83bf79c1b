"""Writes features.npz: twelve views of one object, as in FDP Sec. VI, with a lossless codec (synthetic, seeded)."""

from pathlib import Path

import numpy as np

DEVICES, DIMENSION = 12, 784

rng = np.random.default_rng(12)
common = rng.standard_normal(DIMENSION)
views = common + rng.uniform(0.2, 1.5, DEVICES)[:, None] * rng.standard_normal((DEVICES, DIMENSION))
views *= 60 / np.linalg.norm(views, axis=1, keepdims=True)
identity = np.eye(DIMENSION, dtype=np.float32)
np.savez_compressed(
    Path(__file__).with_name("features.npz"), f=views.round(2).astype(np.float32), W=identity, D=identity
)
