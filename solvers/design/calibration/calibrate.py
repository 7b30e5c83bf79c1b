r"""How much noise, how great a clip, how frequent a participation: the quantity itself that keeps a target epsilon.

Epsilon is monotone in a device's own clip. In the noise of all devices at once it is monotone where who takes part is seen and
keeps its noise, with idle noise, and without a receiver's noise; under ``absent``, or hidden, it is not: a device's noise may
give away that it left. In a common participation it is not either, because absent devices take their noise along. There the
values that keep the target need not be an interval, and what is returned is proved to be the end by bounds on cells:

* *Noise* :math:`t\sigma_k^2`, t in [a, b]. Scaling y by :math:`b/t \ge 1` changes no likelihood ratio; it gives noises
  :math:`b\sigma_k^2`, a receiver's noise of :math:`(b/t)\sigma_m^2 \le (b/a)\sigma_m^2` and a longer code. Epsilon falls with the
  receiver's noise (post-processing) and rises with the length of the code, so on the whole cell it is at least that of the system
  with noises :math:`b\sigma_k^2`, receiver's noise :math:`(b/a)\sigma_m^2` and the code as it is. On :math:`[a, \infty)` likewise
  at least that of noises :math:`a\sigma_k^2` and codes of length 0.
  On :math:`[0, b]` one threshold along the code tells the device apart, the better the quieter all are
  (:mod:`airtight.analytics.privacy.over_the_air.threshold_bound`).
* *Participation* :math:`tp_k`, t in [a, b]. Epsilon of device k rises with its own participation and falls with the others'
  (post-processing, seen by both observers): at least that of :math:`ap_k` among others of :math:`bp_j`.

Dominance of one round's pair carries over to any number of rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from scipy import optimize

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.records import Record
from airtight.solvers.design.calibration.cells import Family, Target, joined
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.weights import caps

_NEAR = 2e-6  # relative distance to the limit: where the law of the others' noise is on a grid, no evaluation is nearer
_STEPS = tuple(float(4.0**n) * 1e-6 for n in range(9))  # back from a limit that rounding has passed
_LONGEST = 300.0  # log of a clip beyond which any will do
_FARTHEST = 1e15  # of the noise, in squares of the longest weighted code
_NEAREST = 1e-4  # of the noise of all devices, beside the receiver's


class Variable(StrEnum):
    """What is sought: the least noise, the greatest clip, the greatest participation."""

    NOISE = "noise"
    CLIP = "clip"
    PARTICIPATION = "participation"

    @property
    def key(self) -> str:
        """The parameter of the system."""
        return "noise_variance" if self is Variable.NOISE else self.value


@dataclass(frozen=True, eq=False)
class Calibration(Record):
    """The quantity that keeps the target, and what is proved about it.

    Attributes
    ----------
    variable : Variable
    value : ndarray, shape (K,)
        Variances, clips or probabilities; an infinite clip where a device takes part so seldom that any will do.
    epsilon : ndarray, shape (K,)
        With these values: at most the target, and never below the truth.
    system : InferenceSystem
        With these values (an infinite clip left as it was).
    monotone : bool
        Whether epsilon is monotone in the variable.
    unsettled : tuple of (float, float)
        Where it is not: intervals of the greatest variance (of the greatest participation) beyond `value` of which it is not
        proved that they break the target. Everything else beyond breaks it.
    """

    variable: Variable
    value: FloatArray
    epsilon: FloatArray
    system: InferenceSystem
    monotone: bool
    unsettled: tuple[tuple[float, float], ...] = ()


def calibrate(
    system: InferenceSystem,
    epsilon: float,
    *,
    variable: Variable | str = Variable.NOISE,
    rounds: int = 1,
    observer: Observer | str = Observer.AUTO,
) -> Calibration:
    """The least noise, the greatest clips or the greatest participation with which every device keeps epsilon.

    Parameters
    ----------
    system : InferenceSystem
        What is sought is scaled in common: noise by the profile of the given variances (even where all are 0), participation by
        that of the given probabilities (even where all are 0), at most 1. Clips are each device's own.
    epsilon : float
        Target in (0, inf), at the system's delta, for its adjacency, over all rounds.
    variable : {"noise", "clip", "participation"}
    rounds : int
        T >= 1.
    observer : {"auto", "participants", "others", "signal"}
        For `signal` the target is kept by its upper end, that of `others`.

    Returns
    -------
    Calibration

    Raises
    ------
    InfeasibleError
        When no noise keeps the target, with the least epsilon met.
    ParameterError
        When epsilon does not move with the variable: a weight of 0.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> found = calibrate(_example()[0], 1.0)
    >>> found.value.round(4), found.monotone, bool(np.all(found.epsilon <= 1.0))
    (array([2.456, 2.456, 2.456]), True, True)
    """
    kind = checks.choice("variable", variable, Variable)
    seen = checks.choice("observer", observer, Observer)
    target = checks.scalar("epsilon", epsilon, "(0, inf)")
    asked = Target(target, checks.count("rounds", rounds), Observer.OTHERS if seen is Observer.SIGNAL else seen)
    if kind is Variable.CLIP:
        return _clips(system, asked)
    if kind is Variable.NOISE:
        return _noise(system, asked)
    return _participation(system, asked)


def _noise(system: InferenceSystem, asked: Target) -> Calibration:
    quiet = asked.observer is Observer.PARTICIPANTS or (
        asked.observer is Observer.AUTO and observers.meaning(system) is Observer.PARTICIPANTS
    )
    leaves = system.adjacency is Adjacency.ABSENT and not system.idle_noise
    longest = float(np.max(system.weight * system.clip))
    if longest == 0 and not leaves:
        raise ParameterError("weight", 0.0, "positive for some device: epsilon does not move with the noise")
    most = float(np.max(system.noise_variance))
    profile = system.noise_variance / most if most > 0 else np.ones(system.devices)
    unit = longest**2 if longest > 0 else most or 1.0

    def at(scale: float) -> InferenceSystem:
        return replace(system, noise_variance=scale * profile)

    def best(low: float, high: float, device: int) -> InferenceSystem:
        if high == math.inf:
            return replace(at(low), weight=0.0)
        return replace(at(high), receiver_noise_variance=high / low * system.receiver_noise_variance)

    floor = system.decoded_receiver_noise
    monotone = (quiet and not leaves) or system.idle_noise or floor == 0
    family = Family(asked, at, best, unit, louder=True)
    if family.kept(0.0):
        return _found(Variable.NOISE, family, 0.0, monotone)
    if monotone:
        scale = _least(family, unit)
        if scale is None:
            raise _impossible(family, system)
        return _found(Variable.NOISE, family, scale, True)
    start = _NEAREST * floor / float(np.sum(profile))
    stop = max(_FARTHEST * unit, start / _NEAREST)
    unsettled: list[tuple[float, float]]
    scale, unsettled = (None, []) if family.broken(start, math.inf) else family.first(start, stop)
    if scale is None:
        raise _impossible(family, system)
    quietest = [] if family.asked.broken(family.at(start), family.worst, quieter=True) else [(0.0, start)]
    return _found(Variable.NOISE, family, scale, False, joined([*quietest, *unsettled]))


def _participation(system: InferenceSystem, asked: Target) -> Calibration:
    most = float(np.max(system.participation))
    profile = system.participation / most if most > 0 else np.ones(system.devices)
    if not np.any(system.weight > 0) and (system.adjacency is not Adjacency.ABSENT or system.idle_noise):
        raise ParameterError("weight", 0.0, "positive for some device: epsilon does not move with the participation")

    def at(scale: float) -> InferenceSystem:
        return replace(system, participation=np.minimum(scale * profile, 1.0))

    def best(low: float, high: float, device: int) -> InferenceSystem:
        changed = np.minimum(high * profile, 1.0)
        changed[device] = low * profile[device]
        return replace(system, participation=changed)

    family = Family(asked, at, best, 1.0)
    monotone = system.idle_noise or not np.any(system.noise_variance > 0)
    if family.kept(1.0):
        return _found(Variable.PARTICIPATION, family, 1.0, monotone)
    rare = system.delta / asked.rounds / 2  # delta is at most T p
    scale, unsettled = family.first(1.0, rare)
    return _found(Variable.PARTICIPATION, family, rare if scale is None else scale, monotone, unsettled)


def _clips(system: InferenceSystem, asked: Target) -> Calibration:
    if np.any(system.weight == 0):
        k = int(np.flatnonzero(system.weight == 0)[0])
        raise ParameterError("weight", 0.0, "positive: epsilon does not move with the clip", (k,))
    if asked.rounds == 1:
        value = caps.greatest_clips(system, asked.epsilon, observer=asked.observer)
    else:
        value = _composed_clips(system, asked)
    hopeless = np.flatnonzero(np.isnan(value))
    if hopeless.size:
        raise InfeasibleError(
            f"epsilon = {asked.epsilon:g}: device {hopeless[0]} breaks it whatever its clip (adjacency {system.adjacency})"
        )
    for step in _STEPS:
        kept = replace(system, clip=np.where(np.isfinite(value), value, system.clip))
        found = asked.upper(kept)
        if np.all(found <= asked.epsilon):
            break
        value = np.where(found > asked.epsilon, value * (1 - step), value)
    return Calibration(Variable.CLIP, value, found, kept, True)


def _composed_clips(system: InferenceSystem, asked: Target) -> FloatArray:
    """As :func:`airtight.solvers.weights.caps.greatest_clips`, of several rounds: a root for each kind of device."""
    keys = np.stack([system.participation, system.noise_variance, system.weight])
    _, first, kind = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    noise = float(np.sum(system.received_noise_variance)) + system.receiver_noise_variance
    found = np.empty(first.size)
    for row, k in enumerate(first):
        if system.participation[k] * asked.rounds <= system.delta:  # delta is at most T p
            found[row] = np.inf
            continue

        def excess(x: float, k: int = int(k)) -> float:
            clip = system.clip.copy()
            clip[k] = math.exp(x)
            return asked.excess(replace(system, clip=clip), k)

        if asked.excess(replace(system, weight=0.0), int(k)) > 0:
            found[row] = np.nan
            continue
        low = high = 0.5 * math.log(noise or 1.0) - math.log(system.alignment * system.weight[k])
        while high < _LONGEST and excess(high) <= 0:
            low, high = high, high + 2
        if high >= _LONGEST:
            found[row] = np.inf
            continue
        while excess(low) > 0:
            low, high = low - 2, low
        root = optimize.brentq(excess, low, high, xtol=_NEAR)
        while excess(root) > 0:
            root -= _NEAR
        found[row] = math.exp(root)
    return np.asarray(found[kind.ravel()])


def _least(family: Family, start: float) -> float | None:
    """The least scale that keeps the target where epsilon falls with it, from above; None when there is none."""
    low, high = start, start
    while not family.kept(high):
        low, high = high, 16 * high
        if high > _FARTHEST * start:
            return None
    while low == high or family.kept(low):
        high, low = low, low / 16
    return family.edge(low, high)


def _found(
    variable: Variable,
    family: Family,
    scale: float,
    monotone: bool,
    unsettled: Sequence[tuple[float, float]] = (),
) -> Calibration:
    """At a scale that keeps the target, up to the rounding of how it was evaluated."""
    for step in _STEPS:
        found = family.epsilons(scale)
        if np.all(found <= family.asked.epsilon):
            break
        scale *= 1 + step if variable is Variable.NOISE else 1 - step
    system = family.at(scale)
    value = np.asarray(getattr(system, variable.key))
    return Calibration(variable, value, found, system, monotone, tuple(unsettled))


def _impossible(family: Family, system: InferenceSystem) -> InfeasibleError:
    return InfeasibleError(
        f"epsilon = {family.asked.epsilon:g}: no noise keeps it (adjacency {system.adjacency}, dimension {system.dimension}, "
        f"{family.asked.rounds} rounds); the least epsilon met is {family.least:.6g}, at a variance of {family.where:.3g}",
        least_epsilon=family.least,
    )
