r"""The inverse problems: how much noise, clipping, participation or threshold meets a privacy target.

Every answer, evaluated by :func:`analytics.privacy.amplification.exact_epsilon` (or ``proven``, where that is asked for), keeps
the target: not an ulp above it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from analytics import checks
from analytics.checks import FloatArray, ParameterError, broadcast, real
from analytics.guarantee import Observer
from analytics.inference.system import InferenceSystem
from analytics.privacy import amplification
from solvers.solution import InfeasibleError
from solvers.weights import caps
from solvers.weights.caps import Cap

_GRID = 97
_TOLERANCE = 1e-10


def clip(
    system: InferenceSystem, epsilon: float, *, cap: Cap | str = Cap.EXACT, observer: Observer | str = Observer.AUTO
) -> FloatArray:
    """The greatest clipping threshold of each device, at its weight, that keeps epsilon at the system's delta.

    Only w_k C_k enters the privacy of device k, so this is the greatest weight in another unit.

    Returns
    -------
    ndarray, shape (K,)
        nan and infinity, and how near the limit, as in :func:`solvers.weights.caps.greatest_weights`.

    Examples
    --------
    >>> from solvers.weights.problem import _example
    >>> clip(_example()[0], 1.0).round(4)
    array([3.618, 3.618, 3.618])
    """
    kind = checks.choice("cap", cap, Cap)
    upper = caps.greatest_weights(system, epsilon, kind, observer=observer)
    with np.errstate(divide="ignore", invalid="ignore"):
        longest = np.where(system.weight > 0, upper * system.clip / system.weight, np.inf)
    if kind not in (Cap.EXACT, Cap.PROVEN):
        return longest
    return caps.kept(
        lambda value: replace(system, clip=np.where(value > 0, value, system.clip)),
        epsilon,
        kind,
        longest,
        observer=observer,
    )


def participation(system: InferenceSystem, epsilon: float) -> FloatArray:
    """The greatest participation probability of each device, the others unchanged, that keeps epsilon at the system's delta.

    Returns
    -------
    ndarray, shape (K,)
        In [0, 1], to 1e-10 below the limit. Delta never falls when the device takes part more often.

    Examples
    --------
    >>> from solvers.weights.problem import _example
    >>> participation(_example()[0], 1.0).round(4)
    array([0.4928, 0.4928, 0.4928])
    """
    eps = checks.scalar("epsilon", epsilon, "[0, inf]")
    out = np.empty(system.devices)
    for k in range(system.devices):

        def safe(p: float, k: int = k) -> bool:
            changed = system.participation.copy()
            changed[k] = p
            return _within(replace(system, participation=changed), eps, k)

        def kept(p: float, k: int = k) -> bool:
            changed = system.participation.copy()
            changed[k] = p
            return bool(amplification.exact_epsilon(replace(system, participation=changed), device=k) <= eps)

        out[k] = _settled(kept, _greatest(safe, 0.0, 1.0), -1)
    return out


def threshold(score: ArrayLike, noise: ArrayLike, probability: ArrayLike) -> FloatArray:
    r"""The threshold eta of Scheme 2.1 at which a device takes part with this probability: :math:`u + \sigma\Phi^{-1}(p)`.

    Examples
    --------
    >>> float(threshold(0.2, 0.5, 0.5))
    0.2
    """
    u, sigma, p = broadcast(
        score=real("score", score),
        noise=real("noise", noise, "[0, inf)"),
        probability=real("probability", probability, "(0, 1)"),
    )
    return np.asarray(u + sigma * special.ndtri(p))[()]


def noise(system: InferenceSystem, epsilon: float) -> float:
    r"""The least factor on every :math:`\sigma_k^2` with which all devices keep epsilon at the system's delta.

    For ``silent`` and ``replace`` more noise is always better. For ``absent`` it is not: a device's noise leaves with it, the
    more visibly the louder and the longer the code is; beyond some factor the drop of the received power alone breaks the
    target. Then the factors that meet it form an interval, or there is none.

    Parameters
    ----------
    system : InferenceSystem
        With some noise; its profile is kept.
    epsilon : float
        Target in (0, inf).

    Returns
    -------
    float
        To relative 1e-10 above the limit. For ``absent`` the least factor found on a grid of eight per decade over 1e-6 ... 1e6.

    Raises
    ------
    InfeasibleError
        When no factor between 1e-6 and 1e6 meets the target.

    Examples
    --------
    >>> from solvers.weights.problem import _example
    >>> round(noise(_example()[0], 1.0), 6)
    1.227998
    """
    eps = checks.scalar("epsilon", epsilon, "(0, inf)")
    if not np.any(system.noise_variance > 0):
        raise ParameterError("noise_variance", 0.0, "positive for some device")

    def safe(factor: float) -> bool:
        louder = replace(system, noise_variance=factor * system.noise_variance)
        return _within(louder, eps, None)

    def kept(factor: float) -> bool:
        louder = replace(system, noise_variance=factor * system.noise_variance)
        return bool(np.all(amplification.exact_epsilon(louder) <= eps))

    grid = np.logspace(-6, 6, _GRID)
    good = next((i for i, factor in enumerate(grid) if safe(float(factor))), None)
    if good is None:
        raise InfeasibleError(
            f"epsilon = {eps:g}: no noise between 1e-6 and 1e6 times the given one keeps it (adjacency {system.adjacency}, "
            f"dimension {system.dimension})"
        )
    if good == 0:
        return _settled(kept, float(grid[0]), 1)
    return _settled(kept, _least(safe, float(grid[good - 1]), float(grid[good])), 1)


def _within(system: InferenceSystem, epsilon: float, device: int | None) -> bool:
    return bool(np.all(amplification.exact_delta(system, epsilon, device=device) <= system.delta))


def _settled(kept: Callable[[float], bool], value: float, sign: int) -> float:
    """The value, moved by four ulps, and eight times as much each time, until it is kept."""
    step = 4 * np.finfo(float).eps
    while not kept(value):
        if step > 0.1:
            raise InfeasibleError("nothing keeps the target by more than the rounding of its evaluation")
        value *= 1 + sign * step
        step *= 8
    return value


def _least(safe: Callable[[float], bool], low: float, high: float) -> float:
    """The least safe value between an unsafe and a safe one, from above."""
    while high - low > _TOLERANCE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if safe(middle) else (middle, high)
    return high


def _greatest(safe: Callable[[float], bool], low: float, high: float) -> float:
    """The greatest safe value, from below; `low` when none is."""
    if safe(high):
        return high
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if safe(middle) else (low, middle)
    return low
