"""Three designs for devices of which only some are sensitive: one clip for all, weights, or clips (FDP Figs. 8 and 9)."""

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
    """What is tuned so that every sensitive device keeps the cap on its exact epsilon.

    ``uniform``: one clip for all devices, the greatest that suits the strictest sensitive device; equal weights.
    ``weights``: the weights of least exact MSE, those of sensitive devices capped; clips as given.
    ``clips``: the clips of sensitive devices only; equal weights.
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
        Its weights are those of the designs that keep them equal.
    features : Features
        Typical features, for which weights are optimised.
    sensitive : ndarray of bool, shape (K,)
        Whom the cap protects; the others are not limited.
    epsilon : float
        Cap, at the system's delta and adjacency.
    design : {"uniform", "weights", "clips"}

    Raises
    ------
    InfeasibleError
        When even weight 0 breaks the cap (adjacency ``absent``).

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> system, views = _example()
    >>> first = np.array([True, False, False])
    >>> apply(system, views, sensitive=first, epsilon=0.5, design="clips").clip.round(3)
    array([2.204, 4.   , 4.   ])
    """
    kind = checks.choice("design", design, Design)
    who = np.asarray(sensitive, dtype=bool)
    if who.shape != (system.devices,):
        raise ParameterError("sensitive", f"array of shape {who.shape}", f"{system.devices} truth values")
    if kind is Design.WEIGHTS:
        limit = np.where(who, _possible(caps.greatest_weights(system, epsilon)), np.inf)
        return replace(system, weight=weights.solve(system, features, w_max=limit, sums_to_one=False).w)
    limit = np.where(who, _possible(caps.greatest_clips(system, epsilon)), np.inf)
    if kind is Design.UNIFORM:
        limit = np.full(system.devices, limit.min())
    if not np.all(limit > 0):
        raise InfeasibleError(f"device {int(np.argmin(limit))}: no positive clip keeps epsilon = {epsilon:g}")
    return replace(system, clip=np.minimum(system.clip, limit))


def _possible(limit: FloatArray) -> FloatArray:
    if np.any(np.isnan(limit)):
        raise InfeasibleError(
            f"device {int(np.argmax(np.isnan(limit)))}: even without a signal its absence shows more than the cap allows"
        )
    return limit
