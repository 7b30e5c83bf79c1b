"""Compares a symbolic form at 50 digits with the numeric function that should agree with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from airtight.analytics.checks import ConvergenceError
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.forms.form import Form
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.validate.claims.domain import Range, Value

Values = dict[str, Any]
TINY = 1e-290  # relative errors of smaller values are not required

PROBABILITY = Range(1e-12, 1.0, logarithmic=True, extra=(0.0, 0.5, 1.0))
SOME = Range(1e-6, 1.0, logarithmic=True, extra=(0.5,))
DELTA = Range(1e-300, 0.9, logarithmic=True)
EPSILON = Range(1e-9, 700.0, logarithmic=True)
LENGTH = Range(1e-6, 1e6, logarithmic=True)
NONNEGATIVE = Range(1e-6, 1e6, logarithmic=True, extra=(0.0,))
REAL = Range(-10.0, 10.0, extra=(0.0,))
COUNT = Range(1, 10**6, logarithmic=True, integer=True)


@dataclass(frozen=True, eq=False)
class Twin:
    """A form and the function that should agree with it.

    Attributes
    ----------
    form : Form
    numeric : callable
        Function that takes the arguments of the form by name.
    domain : mapping of str to Range
        Range of every argument, and of each entry of a vector.
    tolerance : float
        Greatest relative error allowed.
    defined : callable
        Says whether the form is defined at these arguments.
    scale : callable or None
        Scale of the relative error where that is not the value itself: the largest term of a sum with cancellation.
    """

    form: Form
    numeric: Callable[..., Any]
    domain: Mapping[str, Range]
    tolerance: float = 1e-13
    defined: Callable[..., bool] = lambda **values: True
    scale: Callable[..., float] | None = None

    def sample(self, rng: np.random.Generator) -> Values:
        """Random arguments, among which ends and special values are frequent."""
        return {
            name: tuple(_sample(self.domain[name], rng) for _ in symbol)
            if isinstance(symbol, tuple)
            else _sample(self.domain[name], rng)
            for name, symbol in self.form.arguments.items()
        }

    def error(self, values: Values) -> float:
        """Relative error of the numeric value; 0 where both are 0 or beyond the range of doubles."""
        true = self.form.evaluate(**values)
        if isinstance(true, mpmath.mpc):
            raise ConvergenceError(f"{self.form.name}: not real at {values}")
        with np.errstate(all="ignore"):
            found = float(self.numeric(**values))
        if math.isnan(found):
            return math.inf
        if math.isinf(found):
            return 0.0 if abs(true) > 0.99 * np.finfo(float).max else math.inf
        size = abs(true) if self.scale is None else mpmath.mpf(self.scale(**values))
        if size <= TINY:
            return 0.0 if abs(found) <= 2 * TINY else math.inf
        return float(abs(found - true) / size)


def _sample(allowed: Range, rng: np.random.Generator) -> Value:
    """A random value; ends and extra values are frequent."""
    kind = rng.random()
    if kind < 0.1:
        return allowed.at(float(rng.integers(2)))
    if allowed.extra and kind < 0.25:
        return allowed.extra[int(rng.integers(len(allowed.extra)))]
    return allowed.at(float(rng.random()))


@dataclass(frozen=True)
class Worst:
    """The greatest relative error that was met, and its arguments."""

    error: float
    at: Values
    samples: int


def worst(twin: Twin, *, samples: int = 200, seed: int = 0) -> Worst:
    """Greatest relative error among samples of the domain.

    Examples
    --------
    >>> from airtight.validate.twins import catalogue
    >>> worst(catalogue.twins()["alpha"], samples=20).error < 1e-15
    True
    """
    rng = np.random.default_rng([seed, *twin.form.name.encode()])
    found, tried = Worst(0.0, {}, 0), 0
    for _ in range(20 * samples):
        values = twin.sample(rng)
        if not twin.defined(**values):
            continue
        tried += 1
        error = twin.error(values)
        if error >= found.error:
            found = Worst(error, values, tried)
        if tried == samples:
            break
    return Worst(found.error, found.at, tried)


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
