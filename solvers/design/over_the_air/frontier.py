"""Trade-offs between privacy, distortion and accuracy: MSE and accuracy of each design at each privacy cap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.inference import accuracy, distortion
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers import weights
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.weights import caps

if TYPE_CHECKING:
    import xarray

Design = Callable[[InferenceSystem, Features, FloatArray], InferenceSystem]


def _uniform(system: InferenceSystem, features: Features, upper: FloatArray) -> InferenceSystem:
    """w = 1/K and one clipping threshold for all devices: the least of their greatest thresholds."""
    return replace(_with_equal_weights(system), clip=np.minimum(np.min(_clips(system, upper)), system.clip))


def _clip_tuned(system: InferenceSystem, features: Features, upper: FloatArray) -> InferenceSystem:
    """w = 1/K and a threshold for each device (Figs. 8, 9: "refining the clipping parameters")."""
    return replace(_with_equal_weights(system), clip=np.minimum(_clips(system, upper), system.clip))


def _with_equal_weights(system: InferenceSystem) -> InferenceSystem:
    return replace(system, weight=np.full(system.devices, 1 / system.devices))


def _clips(system: InferenceSystem, upper: FloatArray) -> FloatArray:
    """The greatest thresholds at w = 1/K that keep the cap; epsilon depends on the product w C only."""
    clips = upper * system.clip * system.devices
    if np.any(clips == 0):
        raise InfeasibleError("a device cannot keep the privacy cap at any positive clipping threshold")
    return np.asarray(clips)


def _published(system: InferenceSystem, features: Features, upper: FloatArray) -> InferenceSystem:
    """The weights that minimise the printed MSE, under the exact cap."""
    return replace(system, weight=weights.solve(system, features, w_max=upper, objective="published").w)


def _exact(system: InferenceSystem, features: Features, upper: FloatArray) -> InferenceSystem:
    """The weights that minimise the exact MSE among those that sum to one."""
    return replace(system, weight=weights.solve(system, features, w_max=upper).w)


def _free_sum(system: InferenceSystem, features: Features, upper: FloatArray) -> InferenceSystem:
    """The weights that minimise the exact MSE, without a constraint on their sum."""
    return replace(system, weight=weights.solve(system, features, w_max=upper, sums_to_one=False).w)


DESIGNS: dict[str, Design] = {
    "uniform": _uniform,
    "clip-tuned": _clip_tuned,
    "published weights": _published,
    "exact weights": _exact,
    "exact, free sum": _free_sum,
}


def trade_off(
    system: InferenceSystem,
    features: Features,
    epsilons: ArrayLike,
    *,
    margin: float | None = None,
    ideal_accuracy: float = 1.0,
    designs: tuple[str, ...] = tuple(DESIGNS),
) -> xarray.Dataset:
    """MSE and accuracy of each design at each privacy cap, with and without idle noise (analogue of FDP Figs. 8 and 9).

    Parameters
    ----------
    epsilons : array_like, shape (E,)
        Caps on the exact epsilon at the system's delta and adjacency, > 0.
    margin, ideal_accuracy : float
        See :func:`airtight.analytics.inference.accuracy.exact`; without a margin no accuracy is computed.
    designs : tuple of str
        Keys of `DESIGNS`: uniform, clip-tuned, published weights, exact weights, and exact with a free sum.

    Returns
    -------
    xarray.Dataset
        ``mse`` and ``accuracy`` over (noise, design, epsilon); nan where a design cannot keep the cap. Plot with
        ``data.mse.sel(noise="participants").plot.line(x="epsilon")``.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> data = trade_off(*_example(), [1.5, 3.0], margin=4.0, designs=("uniform", "exact weights"))
    >>> data.mse.dims, bool(data.mse.sel(design="exact weights", noise="participants", epsilon=3.0) < 10)
    (('noise', 'design', 'epsilon'), True)
    """
    import xarray

    caps_on_epsilon = checks.real("epsilons", epsilons, "(0, inf)").ravel()
    noise_names = ("participants", "everybody")
    mse = np.full((2, len(designs), caps_on_epsilon.size), np.nan)
    accuracies = np.full_like(mse, np.nan)
    for i, idle in enumerate((False, True)):
        variant = replace(system, idle_noise=idle)
        for n, epsilon in enumerate(caps_on_epsilon):
            upper = caps.greatest_weights(variant, float(epsilon))
            if np.any(np.isnan(upper)):
                continue
            for j, name in enumerate(designs):
                try:
                    designed = DESIGNS[name](variant, features, upper)
                except InfeasibleError:
                    continue
                mse[i, j, n] = distortion.exact(designed, features)
                if margin is not None:
                    sampled_accuracy = accuracy.exact(designed, features, margin=margin, ideal_accuracy=ideal_accuracy)
                    accuracies[i, j, n] = sampled_accuracy.estimate
    coordinates = {"noise": list(noise_names), "design": list(designs), "epsilon": caps_on_epsilon}
    dims = ("noise", "design", "epsilon")
    return xarray.Dataset({"mse": (dims, mse), "accuracy": (dims, accuracies)}, coordinates)


def feasible_segment(
    system: InferenceSystem, epsilon: float, *, cap: caps.Cap | str = caps.Cap.EXACT
) -> tuple[float, float]:
    """For two devices: the interval of w_1 in which (w_1, 1 - w_1) keeps the cap (FDP Fig. 11).

    (nan, nan) when no weight keeps it.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> pair = replace(_example()[0], devices=2, participation=0.8, noise_variance=2.0, weight=0.5, clip=[4.0, 2.0])
    >>> feasible_segment(pair, 1.5)
    (0.32814..., 0.33592...)
    """
    if system.devices != 2:
        raise checks.ParameterError("devices", system.devices, "2: the feasible set is a segment for two devices only")
    upper = np.minimum(caps.greatest_weights(system, epsilon, cap), 1.0)
    low, high = 1.0 - float(upper[1]), float(upper[0])
    if not low <= high:
        return float("nan"), float("nan")
    return max(low, 0.0), high
