"""Three designs when only some devices are sensitive: one clip for all, weights, or clips (FDP Figs. 8 and 9)."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers import weights
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.weights import caps


class Design(StrEnum):
    """The parameters that are tuned so that every sensitive device keeps the cap on its exact epsilon.

    ``uniform``: one clip for all devices, the greatest at which every sensitive device keeps the cap; weights
    unchanged. ``weights``: the weights of least exact MSE, with upper bounds for sensitive devices; clips unchanged.
    ``clips``: the clips of sensitive devices only; weights unchanged.
    """

    UNIFORM = "uniform"
    WEIGHTS = "weights"
    CLIPS = "clips"


def apply(
    system: InferenceSystem,
    features: Features,
    *,
    sensitive: NDArray[np.bool_],
    epsilon: float,
    design: Design | str,
) -> InferenceSystem:
    """The system with the design's clips or weights.

    Parameters
    ----------
    system : InferenceSystem
        The designs ``uniform`` and ``clips`` keep its weights.
    features : Features
        Typical features, for which weights are optimised.
    sensitive : ndarray of bool, shape (K,)
        The devices that the cap protects; the others are not limited.
    epsilon : float
        The cap, at the system's delta and adjacency.
    design : {"uniform", "weights", "clips"}

    Raises
    ------
    InfeasibleError
        When a sensitive device exceeds the cap even with weight 0 (adjacency ``absent``), or no positive clip keeps it.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> system, views = _example()
    >>> first = np.array([True, False, False])
    >>> apply(system, views, sensitive=first, epsilon=0.5, design="clips").clip.round(3)
    array([2.204, 4.   , 4.   ])
    """
    chosen_design = checks.choice("design", design, Design)
    is_sensitive = np.asarray(sensitive, dtype=bool)
    if is_sensitive.shape != (system.devices,):
        raise ParameterError(
            "sensitive", f"array of shape {is_sensitive.shape}", f"an array of {system.devices} booleans"
        )
    if chosen_design is Design.WEIGHTS:
        limit = np.where(is_sensitive, _checked_limits(caps.greatest_weights(system, epsilon)), np.inf)
        return replace(system, weight=weights.solve(system, features, w_max=limit, sums_to_one=False).w)
    limit = np.where(is_sensitive, _checked_limits(caps.greatest_clips(system, epsilon)), np.inf)
    if chosen_design is Design.UNIFORM:
        limit = np.full(system.devices, limit.min())
    if not np.all(limit > 0):
        raise InfeasibleError(f"device {int(np.argmin(limit))}: no positive clip keeps epsilon = {epsilon:g}")
    return replace(system, clip=np.minimum(system.clip, limit))


def _checked_limits(limit: FloatArray) -> FloatArray:
    """The limits, unless one is nan: then no weight or clip of that device keeps the cap."""
    if np.any(np.isnan(limit)):
        raise InfeasibleError(
            f"device {int(np.argmax(np.isnan(limit)))}: even with weight 0 its absence reveals more than the cap allows"
        )
    return limit
