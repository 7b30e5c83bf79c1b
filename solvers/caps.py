r"""The greatest weights that a privacy cap allows: from Theorem 1 as printed, and from what is proven and exact.

A device's own weight enters its privacy only through the sensitivity :math:`\gamma w_kC_k`, so each cap stands alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

import numpy as np

from analytics import checks
from analytics.checks import FloatArray
from analytics.inference.system import InferenceSystem
from analytics.privacy import amplification, concentration
from analytics.privacy.amplification import TheoremForm

_STEPS = 200
_SAFE = 1e-10  # relative error of the exact delta, given away


class Cap(StrEnum):
    """Where w_max comes from: Theorem 1 with either printed t, our closed form, the exact epsilon, or no cap."""

    THEOREM1 = "theorem1"
    EQ23 = "eq23"
    PROVEN = "proven"
    EXACT = "exact"
    NONE = "none"


def greatest_weights(system: InferenceSystem, epsilon: float, cap: Cap | str = Cap.EXACT) -> FloatArray:
    """w_max of every device for a cap on epsilon.

    Parameters
    ----------
    system : InferenceSystem
        Its weights are not used.
    epsilon : float
        In (0, inf].
    cap : {"exact", "proven", "theorem1", "eq23", "none"}
        With "exact" and "proven" the guarantee is at the system's delta, for its adjacency, and never on the unsafe side.

    Returns
    -------
    ndarray, shape (K,)
        nan where the theorem is vacuous, or where even weight 0 breaks the cap (adjacency ``absent``); infinite where any
        weight will do.

    Examples
    --------
    >>> from solvers.weights import _example
    >>> system, _ = _example()
    >>> greatest_weights(system, 1.0, "eq23").round(4), greatest_weights(system, 1.0).round(4)
    (array([0.1046, 0.1046, 0.1046]), array([0.3015, 0.3015, 0.3015]))
    """
    kind = checks.choice("cap", cap, Cap)
    eps = checks.scalar("epsilon", epsilon, "(0, inf]")
    if kind is Cap.NONE or eps == np.inf:
        return np.full(system.devices, np.inf)
    if kind in (Cap.THEOREM1, Cap.EQ23):
        return published(system, eps, form=TheoremForm(kind.value))
    if kind is Cap.EXACT:
        allowed = system.delta * (1 - _SAFE)
        return _largest(system, lambda trial: _log_ratio(np.asarray(amplification.exact_delta(trial, eps)), allowed))
    return _largest(system, lambda trial: _log_ratio(amplification.proven(trial).epsilon, eps))


def published(system: InferenceSystem, epsilon: float, *, form: TheoremForm | str) -> FloatArray:
    r"""Theorem 1 solved for the weight; the paper says "can be found numerically" (ledger FDP-wmax).

    .. math:: w_{k,\max} = \frac{\sqrt{\bar\mu - t}}{\gamma C_k\sqrt{2\log(1.25/\delta)}}
              \log\Bigl(1 + \frac{(1-\delta')(e^\epsilon - 1)}{p_k}\Bigr)

    nan where t >= the mean noise, infinite where p_k = 0. **Not safe**: Theorem 1 is false.
    """
    kind = checks.choice("form", form, TheoremForm)
    eps = checks.scalar("epsilon", epsilon, "[0, inf)")
    deviation = concentration.theorem1_deviation if kind is TheoremForm.THEOREM1 else concentration.eq23_deviation
    left = concentration.mean_noise(system) - deviation(system)
    if not left > 0:
        return np.full(system.devices, np.nan)
    with np.errstate(divide="ignore", over="ignore"):
        odds = np.log1p(-system.delta_prime) - np.log(system.participation)
        # log(1 + a (e^eps - 1)) without overflow
        growth = np.logaddexp(0.0, odds + eps + np.log(-np.expm1(-eps))) if eps > 0 else np.zeros(system.devices)
        unit = system.alignment * system.clip * np.sqrt(2 * np.log(1.25 / system.delta))
        return np.asarray(np.sqrt(left) / unit * growth)


def _largest(system: InferenceSystem, excess: Callable[[InferenceSystem], FloatArray]) -> FloatArray:
    """The greatest weight of each device whose excess is not positive: bracketed secant in logarithms."""

    def value(weight: FloatArray) -> FloatArray:
        return np.clip(excess(replace(system, weight=weight)), -800.0, 800.0)

    unit = np.sqrt(min(float(np.sum(system.noise_variance)) + system.decoded_receiver_noise, 1e200))
    low = np.full(system.devices, unit if unit > 0 else 1.0) / system.clip
    hopeless = value(np.zeros(system.devices)) > 0
    for _ in range(_STEPS):
        below = value(low) <= 0
        if np.all(below | hopeless) or np.all(low < 1e-290):
            break
        low = np.where(below | hopeless, low, low / 16)
    low = np.where(value(low) <= 0, low, 0.0)
    high = np.maximum(16 * low, 1e-280)
    for _ in range(_STEPS):
        above = value(high) > 0
        if np.all(above | hopeless) or np.all(high[~above] > 1e280):
            break
        low = np.where(above, low, high)
        high = np.where(above, high, np.minimum(high * 16, 1e290))
    unbounded = high > 1e280
    value_low, value_high = value(low), value(high)
    for step in range(_STEPS):
        closed = (high - low <= 1e-13 * high) | hopeless | unbounded
        if np.all(closed):
            break
        guess = np.sqrt(np.maximum(low, 1e-300)) * np.sqrt(high)
        if step % 3:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                share = np.clip(-value_low / (value_high - value_low), 0.002, 0.998)
                secant = low * (high / np.maximum(low, 1e-300)) ** np.nan_to_num(share, nan=0.5)
            guess = np.where((secant > low) & (secant < high), secant, guess)
        guess = np.where(closed, low, guess)
        found = value(guess)
        inside = found <= 0
        low, value_low = np.where(inside, guess, low), np.where(inside, found, value_low)
        keep = inside | closed
        high, value_high = np.where(keep, high, guess), np.where(keep, value_high, found)
    return np.where(hopeless, np.nan, np.where(unbounded, np.inf, low))


def _log_ratio(value: FloatArray, target: float) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(value) - np.log(target))
