"""Writes digits.npz for good.toml: training views of handwritten digits, a discriminating code, its public centre."""

from pathlib import Path

import numpy as np

from airtight.validate.experiments.training import views

setup = views.prepare(devices=12, dimension=8, codec="discriminating", seed=0)
np.savez_compressed(
    Path(__file__).with_name("digits.npz"),
    f=setup.public.astype(np.float32),
    c=setup.centre,
    W=setup.encoder,
    D=setup.decoder,
)
