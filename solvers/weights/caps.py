r"""The greatest weights that a privacy cap allows: from Theorem 1 as printed, and from what is proven and exact.

A device's own weight enters its privacy only through the sensitivity :math:`\gamma w_kC_k`, so each cap stands alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, concentration, observers
from airtight.analytics.privacy.over_the_air.amplification import TheoremForm
from airtight.analytics.privacy.over_the_air.mixtures import TRIMMED, participations
from airtight.analytics.privacy.over_the_air.noise_mixture import Participation
from airtight.analytics.rounding import UNIT

_STEPS = 200
_NEAR, _NEAR_ON_GRID = 1e-11, 1e-7  # relative distance to the limit, but for the rounding
_SHORT = 2e-6  # below it where the law of the others' noise is on a grid: the evaluation of epsilon is no nearer
_NATS = 12.0  # of the divergences' rule there
_COLUMNS = 64  # of the rough law that the search starts on
_DOUBT = 0.3  # excess on it above which weight 0 is tried on the whole law
_FARTHEST = 1400.0  # in log weight: beyond the range of doubles
_LONGEST = 690.0


class Cap(StrEnum):
    """Where w_max comes from: Theorem 1 with either printed t, our closed form, the exact epsilon, or no cap."""

    THEOREM1 = "theorem1"
    EQ23 = "eq23"
    PROVEN = "proven"
    EXACT = "exact"
    NONE = "none"


def greatest_weights(
    system: InferenceSystem,
    epsilon: float,
    cap: Cap | str = Cap.EXACT,
    *,
    observer: Observer | str = Observer.AUTO,
) -> FloatArray:
    """w_max of every device for a cap on epsilon.

    Parameters
    ----------
    system : InferenceSystem
        Its weights are not used.
    epsilon : float
        In (0, inf].
    cap : {"exact", "proven", "theorem1", "eq23", "none"}
        With "exact" and "proven" the guarantee is at the system's delta, for its adjacency.
    observer : {"auto", "participants", "others", "signal"}
        Of the exact cap.

    Returns
    -------
    ndarray, shape (K,)
        nan where the theorem is vacuous, or where even weight 0 breaks the cap (adjacency ``absent``); infinite where any
        weight will do. With "exact" and "proven" :func:`~airtight.analytics.privacy.over_the_air.amplification.exact_epsilon` and
        :func:`~airtight.analytics.privacy.over_the_air.amplification.proven`, evaluated at these weights, do not exceed
        `epsilon`, not by an ulp.

    Notes
    -----
    As the weight grows, each divergence grows to p_k: the neighbours become mutually singular where device k takes part
    (and p_k bounds it). Both curves are cut off there, so any weight will do exactly where p_k is at most delta.

    The laws of the others' noise do not depend on the weights and are computed once; the root in log weight is found on a
    rough law first. The answer is evaluated, and lowered where epsilon is exceeded, by twice the excess (then four times, eight
    times) or by a step that grows by 8 each time from four ulps on.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> system, _ = _example()
    >>> greatest_weights(system, 1.0, "eq23").round(4), greatest_weights(system, 1.0).round(4)
    (array([0.1046, 0.1046, 0.1046]), array([0.3015, 0.3015, 0.3015]))
    """
    return _greatest(system, epsilon, cap, observer, "weight")


def greatest_clips(
    system: InferenceSystem, epsilon: float, cap: Cap | str = Cap.EXACT, *, observer: Observer | str = Observer.AUTO
) -> FloatArray:
    """The greatest clipping threshold of every device, at its weight, for a cap on epsilon.

    Only w_k C_k enters the privacy of device k: this is w_max in another unit, with its nan and infinity; infinite where the
    weight is 0.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> greatest_clips(_example()[0], 1.0).round(4)
    array([3.618, 3.618, 3.618])
    """
    return _greatest(system, epsilon, cap, observer, "clip")


def _greatest(
    system: InferenceSystem, epsilon: float, cap: Cap | str, observer: Observer | str, key: str
) -> FloatArray:
    kind, seen = checks.choice("cap", cap, Cap), checks.choice("observer", observer, Observer)
    eps = checks.scalar("epsilon", epsilon, "(0, inf]")
    if kind is Cap.NONE or eps == np.inf:
        found = np.full(system.devices, np.inf)
    elif kind in (Cap.THEOREM1, Cap.EQ23):
        found = published(system, eps, form=TheoremForm(kind.value))
    elif kind is Cap.EXACT and observers.roll_call(system, seen):
        found = np.where(system.participation <= system.delta, np.inf, np.nan)  # whatever the weight
    else:
        found = _largest(system, seen, eps, kind)
    if key == "clip":
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(system.weight > 0, found * system.clip / system.weight, np.inf)
    return _kept(system, eps, kind, found, seen, key) if kind in (Cap.EXACT, Cap.PROVEN) else found


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


def _largest(system: InferenceSystem, observer: Observer, epsilon: float, kind: Cap) -> FloatArray:
    """The greatest weight of each device, up to rounding to either side."""
    out = np.full(system.devices, np.inf)
    bounded = np.flatnonzero(system.participation > system.delta)
    meant, model = observers.modelled(replace(system, weight=np.ones(system.devices)), observer)
    for part in participations(meant, bounded, system.delta * TRIMMED, model):
        simple = kind is Cap.PROVEN and not system.idle_noise
        excess = _Excess(part.at_quantile(system.delta) if simple else part, epsilon, system.delta, kind)
        x, slope = excess.scale, np.ones(part.participation.size)
        silent, doubtful = np.full(x.size, -np.inf), np.arange(x.size)
        rough = kind is Cap.EXACT and part.variance.shape[1] > 2 * _COLUMNS
        sketch = replace(excess, part=part.sketch(_COLUMNS, _NATS)) if rough else excess
        if system.adjacency is Adjacency.ABSENT:
            if rough:
                doubtful = np.flatnonzero(sketch(silent, doubtful) > -_DOUBT)
            x[doubtful[excess(silent[doubtful], doubtful) > 0]] = np.nan
        if rough:
            x, slope = _root(sketch, x, slope, near=1e-6)
            x = np.where(np.isneginf(x), excess.scale, x)
        near = _NEAR_ON_GRID if part.slack else _NEAR
        root, _ = _root(excess, x, slope, near=near)
        if system.adjacency is Adjacency.ABSENT:
            lost = np.flatnonzero(np.isneginf(root))
            root[lost[excess(silent[lost], lost) > 0]] = np.nan
        root -= _SHORT if part.slack else 0.0
        out[part.devices] = np.exp(np.minimum(root, _LONGEST))[part.kind]
    return out


def _kept(
    system: InferenceSystem, epsilon: float, cap: Cap, value: FloatArray, observer: Observer, key: str
) -> FloatArray:
    """Weights (clips), where positive and finite, lowered until epsilon, evaluated with them, is kept exactly."""
    out, step, times = value.copy(), 4 * float(UNIT), 2.0
    doubtful = np.flatnonzero((value > 0) & (value < np.inf))
    while doubtful.size:
        changed: dict[str, Any] = {key: np.where((out > 0) & (out < np.inf), out, getattr(system, key))}
        trial = replace(system, **changed)
        if cap is Cap.EXACT:
            found = np.asarray(observers.exact_epsilon(trial, device=doubtful, observer=observer))
        else:
            found = amplification.proven(trial).epsilon[doubtful]
        unsafe = ~(found <= epsilon)
        doubtful = doubtful[unsafe]
        excess = np.minimum(times * (found[unsafe] / epsilon - 1), 0.5)
        out[doubtful] *= 1 - np.minimum(np.maximum(excess, step), 0.5)
        doubtful = doubtful[out[doubtful] > 0]  # at 0 there is nothing left to lower
        step, times = min(8 * step, 0.5), 2 * times
    return out


@dataclass(frozen=True)
class _Excess:
    """By how much the cap is exceeded, in a unit that is nearly linear in the logarithm of the weight; rises with it."""

    part: Participation
    epsilon: float
    delta: float
    kind: Cap

    @property
    def scale(self) -> FloatArray:
        """Logarithm of the weight whose sensitivity is one standard deviation of everybody's noise."""
        variance = self.part.everybody
        return np.asarray(0.5 * np.log(np.where(variance > 0, variance, 1.0)) - np.log(self.part.sensitivity))

    def __call__(self, x: FloatArray, rows: IntArray) -> FloatArray:
        sensitivity = np.zeros_like(self.part.sensitivity)
        with np.errstate(over="ignore", under="ignore"):
            sensitivity[rows] = np.minimum(np.exp(x) * self.part.sensitivity[rows], np.finfo(float).max)
        part = replace(self.part, sensitivity=sensitivity)
        with np.errstate(divide="ignore"):
            if part.idle_noise:
                found = part.least_epsilon(self.delta, convex=self.kind is Cap.PROVEN)[rows]
                return np.asarray(np.clip(np.log(found) - np.log(self.epsilon), -1e3, 1e3))
            reached = part.log_upper(np.full(rows.size, self.epsilon), rows)
        return np.asarray(np.sqrt(-2 * np.log(self.delta)) - np.sqrt(-2 * np.maximum(reached, -1e300)))


def _root(excess: _Excess, start: FloatArray, slope: FloatArray, *, near: float) -> tuple[FloatArray, FloatArray]:
    """Where the excess changes its sign, and its slope there: secants kept in a bracket; -inf where it is
    positive everywhere, and nan from nan."""
    x, slope = start.copy(), slope.copy()
    low, high = np.full(x.size, -np.inf), np.full(x.size, np.inf)
    stride, last, value = np.ones(x.size), np.full(x.size, np.nan), np.full(x.size, np.nan)
    active = np.flatnonzero(~np.isnan(x))
    for count in range(_STEPS if active.size else 0):
        here, found = x[active], excess(x[active], active)
        with np.errstate(invalid="ignore", divide="ignore"):
            secant = (found - value[active]) / (here - last[active])
        slope[active] = np.where((secant > 0) & np.isfinite(secant), secant, slope[active])
        last[active], value[active] = here, found
        low[active], high[active] = np.where(found <= 0, here, low[active]), np.where(found > 0, here, high[active])
        a, b = low[active], high[active]
        step = np.clip(-found / slope[active], -stride[active], stride[active])
        inside = np.isfinite(a) & np.isfinite(b)
        with np.errstate(invalid="ignore"):
            middle = (a + b) / 2
            out = ((here + step <= a) | (here + step >= b) | (count % 8 == 7)) & (np.abs(step) > near)
        stride[active] = np.where(inside, stride[active], np.minimum(4 * stride[active], 100.0))
        step = np.where(inside, step, np.where(found > 0, np.minimum(step, -near), np.maximum(step, near)))
        x[active] = np.where(inside & out, middle, here + step)
        settled = (np.abs(step) <= near) | (b - a <= near)
        gone = x[active] < start[active] - _FARTHEST
        x[active[gone]] = -np.inf
        active = active[~(settled | gone | (x[active] > start[active] + _FARTHEST))]
        if not active.size:
            break
    return x, slope
