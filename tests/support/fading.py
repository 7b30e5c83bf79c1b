"""One law of each fading, and draws of its gain by its definition with NumPy's own samplers."""

import numpy as np

from airtight.analytics.inference.fading import Fading

EXAMPLES: dict[Fading, dict[str, float]] = {
    Fading.NONE: {},
    Fading.RAYLEIGH: {},
    Fading.RICIAN: {"k_factor": 3.0},
    Fading.NAKAGAMI: {"shape": 0.7},
    Fading.LOGNORMAL: {"shadowing_db": 6.0},
}


def drawn_gains(fading: Fading, mean: float, rng: np.random.Generator, size: int) -> np.ndarray:
    """Power gains of the law of `EXAMPLES`, of mean `mean`."""
    match fading:
        case Fading.NONE:
            return np.full(size, mean)
        case Fading.RAYLEIGH:
            return rng.exponential(mean, size)
        case Fading.RICIAN:
            scatter = np.sqrt(mean / 8)  # K = 3: a quarter of the power is scattered
            line_of_sight = np.sqrt(0.75 * mean) + scatter * rng.standard_normal(size)
            return line_of_sight**2 + (scatter * rng.standard_normal(size)) ** 2
        case Fading.NAKAGAMI:
            return rng.gamma(0.7, mean / 0.7, size)
        case Fading.LOGNORMAL:
            gain = 10 ** (0.6 * rng.standard_normal(size))
            return mean * gain / np.exp((6.0 * np.log(10) / 10) ** 2 / 2)
