r"""The greatest weights that a privacy cap allows: Theorem 1 as printed, our proven closed form or the exact epsilon.

The privacy of device k depends on the weights only through its own sensitivity :math:`\gamma w_kC_k`, so the greatest
weight of each device is found separately.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, concentration, observers, system_privacy
from airtight.analytics.privacy.over_the_air.amplification import TheoremForm
from airtight.analytics.privacy.over_the_air.participation_mixture.build import TRIMMED, participations, serves
from airtight.analytics.privacy.over_the_air.participation_mixture.evaluate import NoiseMixture
from airtight.analytics.rounding import UNIT

_ROOT_STEPS = 200  # evaluations after which the root search stops
_NEAR, _NEAR_ON_GRID = 1e-11, 1e-7  # step or bracket width in log weight at which the root search stops
# Subtracted from log weights so that the epsilon evaluated there, which errs upwards, mostly keeps the cap at once. That epsilon
# lies 1.25e-12 above the root of its bound, and 1e-6 where the others' noise is on a grid.
_MARGIN, _GRID_MARGIN = 2.5e-12, 2e-6
_SKETCH_NATS = 12.0  # the quadrature of the rough law's divergences errs by e^-12
_SKETCH_COLUMNS = 64  # atoms of the rough law, on which the search starts
_SKETCH_DOUBT = 0.3  # where the rough law's excess is above -0.3, weight 0 is evaluated on the whole law
_FARTHEST = 1400.0  # distance in log weight from the start; the logarithms of all doubles span 1454
_BATCH_MARGIN = 64 * float(UNIT)  # sums differ by some units in the last place with the devices that are evaluated together
_LARGEST_LOG_WEIGHT = 690.0  # greatest log weight: e^690 = 5e299, and exp overflows from 709.8 on


class Cap(StrEnum):
    """How w_max is computed: Theorem 1 with either printed t, our proven closed form, the exact epsilon, or no cap."""

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
    observer: Observer | str | None = None,
) -> FloatArray:
    """The greatest weight w_max of every device for a cap on epsilon.

    Parameters
    ----------
    system : InferenceSystem
        Its weights are not used.
    epsilon : float
        In (0, inf].
    cap : {"exact", "proven", "theorem1", "eq23", "none"}
        How w_max is computed. With "exact" and "proven" the guarantee holds at the system's delta, for its adjacency.
    observer : {"auto", "participants", "others", "signal"}, optional
        The observer of the exact cap, by default that of the system.

    Returns
    -------
    ndarray, shape (K,)
        nan where the theorem is vacuous, or where even weight 0 exceeds the cap (adjacency ``absent``); infinite where
        every weight keeps the cap. With "exact" and "proven",
        :func:`~airtight.analytics.privacy.over_the_air.system_privacy.epsilon` and
        :func:`~airtight.analytics.privacy.over_the_air.amplification.proven`, evaluated at these weights, do not
        exceed `epsilon`, not even by one unit in the last place. Where the law of the others' noise is on a grid, an upper
        bound of epsilon depends on the devices that are asked for with it, by less than the width of the bounds: there it
        may exceed the cap by as much when it is asked for others.

    Notes
    -----
    As the weight grows, each hockey-stick divergence grows to its upper bound p_k: given that device k takes part, the
    neighbouring laws become mutually singular. Both computed curves are cut off at p_k, so every weight keeps the cap
    exactly where p_k is at most delta.

    The laws of the other devices' noise do not depend on the weights and are computed once. The root in log weight is
    searched on a rough law first, then on the whole law. Epsilon is evaluated at the weight that was found. Where it
    exceeds the cap less 64 units in the last place, the weight is lowered by twice the relative excess (then by four times,
    eight times, ...), and at least by a step that starts at four units in the last place and grows eightfold each time. The
    64 units are for the order of summation, which depends on the devices that are evaluated together.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> system, _ = _example()
    >>> greatest_weights(system, 1.0, "eq23").round(4), greatest_weights(system, 1.0).round(4)
    (array([0.1046, 0.1046, 0.1046]), array([0.3015, 0.3015, 0.3015]))
    """
    return _greatest_of(system, epsilon, cap, observer, "weight")


def greatest_clips(
    system: InferenceSystem, epsilon: float, cap: Cap | str = Cap.EXACT, *, observer: Observer | str | None = None
) -> FloatArray:
    """The greatest clipping threshold of every device, at its weight, for a cap on epsilon.

    The privacy of device k depends on the product w_k C_k only, so the threshold is w_max C_k / w_k. It is nan or
    infinite where w_max is, and infinite where the weight is 0.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> greatest_clips(_example()[0], 1.0).round(4)
    array([3.618, 3.618, 3.618])
    """
    return _greatest_of(system, epsilon, cap, observer, "clip")


def _greatest_of(
    system: InferenceSystem, epsilon: float, cap: Cap | str, observer: Observer | str | None, quantity: str
) -> FloatArray:
    method = checks.choice("cap", cap, Cap)
    observer_kind = system.observer if observer is None else checks.choice("observer", observer, Observer)
    epsilon_cap = checks.scalar("epsilon", epsilon, "(0, inf]")
    capped = method is not Cap.NONE and epsilon_cap < np.inf
    system = system_privacy.one_round_alone(system) if capped else system.one_round
    if not capped:
        greatest = np.full(system.devices, np.inf)
    elif method in (Cap.THEOREM1, Cap.EQ23):
        greatest = published(system, epsilon_cap, form=TheoremForm(method.value))
    elif method is Cap.EXACT and observers.participation_distinguishes(system, observer_kind):
        greatest = np.where(system.participation <= system.delta, np.inf, np.nan)  # at every weight
    else:
        greatest = _greatest_by_search(system, observer_kind, epsilon_cap, method)
    if quantity == "clip":
        with np.errstate(divide="ignore", invalid="ignore"):
            greatest = np.where(system.weight > 0, greatest * system.clip / system.weight, np.inf)
    return (
        _lowered_to_cap(system, epsilon_cap, method, greatest, observer_kind, quantity)
        if method in (Cap.EXACT, Cap.PROVEN)
        else greatest
    )


def published(system: InferenceSystem, epsilon: float, *, form: TheoremForm | str) -> FloatArray:
    r"""Theorem 1 solved for the weight, which the paper says "can be found numerically" (ledger FDP-wmax).

    .. math:: w_{k,\max} = \frac{\sqrt{\bar\mu - t}}{\gamma C_k\sqrt{2\log(1.25/\delta)}}
              \log\Bigl(1 + \frac{(1-\delta')(e^\epsilon - 1)}{p_k}\Bigr)

    The weight is nan where t is at least the mean noise and infinite where p_k = 0. **Not safe**: Theorem 1 is false.
    """
    theorem_form = checks.choice("form", form, TheoremForm)
    epsilon_cap = checks.scalar("epsilon", epsilon, "[0, inf)")
    deviation = (
        concentration.theorem1_deviation if theorem_form is TheoremForm.THEOREM1 else concentration.eq23_deviation
    )
    noise_left = concentration.mean_noise(system) - deviation(system)
    if not noise_left > 0:
        return np.full(system.devices, np.nan)
    with np.errstate(divide="ignore", over="ignore"):
        odds = np.log1p(-system.delta_prime) - np.log(system.participation)
        # log(1 + a (e^eps - 1)) without overflow
        growth = (
            np.logaddexp(0.0, odds + epsilon_cap + np.log(-np.expm1(-epsilon_cap)))
            if epsilon_cap > 0
            else np.zeros(system.devices)
        )
        unit = system.alignment * system.clip * np.sqrt(2 * np.log(1.25 / system.delta))
        return np.asarray(np.sqrt(noise_left) / unit * growth)


def _greatest_by_search(system: InferenceSystem, observer: Observer, epsilon: float, cap: Cap) -> FloatArray:
    """The greatest weight of each device, up to the error of the root search in either direction."""
    greatest = np.full(system.devices, np.inf)
    bounded = np.flatnonzero(system.participation > system.delta)
    unit_system, model = observers.mixture_model(replace(system, weight=np.ones(system.devices)), observer)
    for group in participations(unit_system, bounded, system.delta * TRIMMED, model):
        closed_form = cap is Cap.PROVEN and not system.idle_noise
        excess = _Excess(group.at_quantile(system.delta) if closed_form else group, epsilon, system.delta, cap)
        log_weight, slope = excess.scale, np.ones(group.participation.size)
        weight_zero, doubtful = np.full(log_weight.size, -np.inf), np.arange(log_weight.size)
        use_sketch = cap is Cap.EXACT and group.variance.shape[1] > 2 * _SKETCH_COLUMNS
        few = group.ruled(group.pieces) if use_sketch else None
        rough = group.sketch(_SKETCH_COLUMNS, _SKETCH_NATS) if few is None else few.rough()
        sketch = replace(excess, group=rough) if use_sketch else excess
        if system.adjacency is Adjacency.ABSENT:
            if use_sketch:
                doubtful = np.flatnonzero(sketch(weight_zero, doubtful) > -_SKETCH_DOUBT)
            log_weight[doubtful[excess(weight_zero[doubtful], doubtful) > 0]] = np.nan
        if use_sketch:
            log_weight, slope = _root(sketch, log_weight, slope, near=1e-6)
            log_weight = np.where(np.isneginf(log_weight), excess.scale, log_weight)
        near = _NEAR_ON_GRID if group.slack else _NEAR
        root = np.full(log_weight.size, np.nan)  # where the rules do not serve, it is searched on the whole law
        if few is not None:
            by_rules = replace(excess, group=few)
            nearly, slope = _root(by_rules, log_weight, slope, near=near)
            root = np.where(np.isfinite(nearly) & by_rules.served(nearly), nearly, np.nan)
            log_weight = np.where(np.isneginf(nearly), log_weight, nearly)
        left = np.isnan(root)
        root = np.where(left, _root(excess, np.where(left, log_weight, np.nan), slope, near=near)[0], root)
        if system.adjacency is Adjacency.ABSENT:
            without_root = np.flatnonzero(np.isneginf(root))
            root[without_root[excess(weight_zero[without_root], without_root) > 0]] = np.nan
        root -= _GRID_MARGIN if group.slack else _MARGIN
        greatest[group.devices] = np.exp(np.minimum(root, _LARGEST_LOG_WEIGHT))[group.kind]
    return greatest


def _lowered_to_cap(
    system: InferenceSystem, epsilon: float, cap: Cap, value: FloatArray, observer: Observer, quantity: str
) -> FloatArray:
    """Weights (or clips), lowered where positive and finite until the epsilon evaluated there is at most the cap."""
    lowered, step, factor = value.copy(), 4 * float(UNIT), 2.0
    doubtful = np.flatnonzero((value > 0) & (value < np.inf))
    while doubtful.size:
        changed: dict[str, Any] = {
            quantity: np.where((lowered > 0) & (lowered < np.inf), lowered, getattr(system, quantity))
        }
        trial = replace(system, **changed)
        if cap is Cap.EXACT:
            epsilons = np.asarray(system_privacy.epsilon(trial, device=doubtful, observer=observer))
        else:
            epsilons = amplification.proven(trial).epsilon[doubtful]
        unsafe = ~(epsilons <= epsilon * (1 - _BATCH_MARGIN))
        doubtful = doubtful[unsafe]
        excess = np.minimum(factor * (epsilons[unsafe] / epsilon - 1), 0.5)
        lowered[doubtful] *= 1 - np.minimum(np.maximum(excess, step), 0.5)
        doubtful = doubtful[lowered[doubtful] > 0]  # a weight of 0 cannot be lowered
        step, factor = min(8 * step, 0.5), 2 * factor
    return lowered


@dataclass(frozen=True)
class _Excess:
    """The excess over the cap as a function of log weight: increasing, nearly linear, at most 0 where the cap is kept.

    With idle noise it is log epsilon(delta) minus the logarithm of the cap. Otherwise delta at the epsilon of the cap
    is mapped to z = sqrt(-2 log delta), the argument of a Gaussian tail up to factors; the excess is z of the allowed
    delta minus this z.
    """

    group: NoiseMixture
    epsilon: float
    delta: float
    cap: Cap

    @property
    def scale(self) -> FloatArray:
        """Logarithm of the weight at which the sensitivity equals the standard deviation of all devices' noise."""
        variance = self.group.everybody
        return np.asarray(0.5 * np.log(np.where(variance > 0, variance, 1.0)) - np.log(self.group.sensitivity))

    def at(self, x: FloatArray, rows: IntArray) -> NoiseMixture:
        """The mixtures at these log weights; those of other rows have weight 0."""
        sensitivity = np.zeros_like(self.group.sensitivity)
        with np.errstate(over="ignore", under="ignore"):
            sensitivity[rows] = np.minimum(np.exp(x) * self.group.sensitivity[rows], np.finfo(float).max)
        return replace(self.group, sensitivity=sensitivity)

    def served(self, x: FloatArray) -> NDArray[np.bool_]:
        """Whether the bounds from Gauss rules are close at these log weights; weight 0 stands for nan."""
        every = np.arange(x.size)
        at_root = self.at(np.where(np.isnan(x), -np.inf, x), every)
        return serves(at_root, np.full(x.size, self.epsilon), np.full(x.size, np.log(self.delta)))[0]

    def __call__(self, x: FloatArray, rows: IntArray) -> FloatArray:
        group = self.at(x, rows)
        with np.errstate(divide="ignore"):
            if group.idle_noise:
                epsilons = group.least_epsilon(self.delta, convex=self.cap is Cap.PROVEN)[rows]
                return np.asarray(np.clip(np.log(epsilons) - np.log(self.epsilon), -1e3, 1e3))
            log_delta = group.log_upper(np.full(rows.size, self.epsilon), rows)
        return np.asarray(np.sqrt(-2 * np.log(self.delta)) - np.sqrt(-2 * np.maximum(log_delta, -1e300)))


def _root(excess: _Excess, start: FloatArray, slope: FloatArray, *, near: float) -> tuple[FloatArray, FloatArray]:
    """The zero of the excess in log weight and the slope there, by secant steps that are kept inside a bracket.

    The zero is -inf where the excess is positive at every weight; a start of nan stays nan.
    """
    x, slope = start.copy(), slope.copy()
    low, high = np.full(x.size, -np.inf), np.full(x.size, np.inf)
    stride, last_x, last_value = np.ones(x.size), np.full(x.size, np.nan), np.full(x.size, np.nan)
    active = np.flatnonzero(~np.isnan(x))
    for step_number in range(_ROOT_STEPS if active.size else 0):
        x_here, value_here = x[active], excess(x[active], active)
        with np.errstate(invalid="ignore", divide="ignore"):
            secant = (value_here - last_value[active]) / (x_here - last_x[active])
        slope[active] = np.where((secant > 0) & np.isfinite(secant), secant, slope[active])
        last_x[active], last_value[active] = x_here, value_here
        low[active], high[active] = (
            np.where(value_here <= 0, x_here, low[active]),
            np.where(value_here > 0, x_here, high[active]),
        )
        low_here, high_here = low[active], high[active]
        step = np.clip(-value_here / slope[active], -stride[active], stride[active])
        inside = np.isfinite(low_here) & np.isfinite(high_here)
        # bisection where the secant leaves the bracket, and in every eighth step so that the bracket surely shrinks
        with np.errstate(invalid="ignore"):
            middle = (low_here + high_here) / 2
            bisect = ((x_here + step <= low_here) | (x_here + step >= high_here) | (step_number % 8 == 7)) & (
                np.abs(step) > near
            )
        stride[active] = np.where(inside, stride[active], np.minimum(4 * stride[active], 100.0))
        step = np.where(inside, step, np.where(value_here > 0, np.minimum(step, -near), np.maximum(step, near)))
        x[active] = np.where(inside & bisect, middle, x_here + step)
        converged = (np.abs(step) <= near) | (high_here - low_here <= near)
        below_range = x[active] < start[active] - _FARTHEST
        x[active[below_range]] = -np.inf
        active = active[~(converged | below_range | (x[active] > start[active] + _FARTHEST))]
        if not active.size:
            break
    return x, slope
