r"""The least noise that keeps a target epsilon over a channel.

All devices share one scale t of their noise, :math:`t\sigma_k^2`. The others' noise against device k

.. math:: v_k(t) = \min_{c:\,c^Ta_k=1}\ t\sum_{j\ne k}\sigma_j^2|c^Ta_j|^2 + N|c|^2

(theorem V1) is a minimum of functions that increase in t, so it increases. Where the noise of the device itself stays,
whatever its data are, and who sends is known or does not change the noise, epsilon therefore falls with t. It need not where
the device takes its noise along (``absent``), where hidden devices' noise tells who is there, or where a power limit decides
who sends: louder noise needs more power, so that fewer devices send and hide each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers, system_privacy
from airtight.analytics.root_search import falling_root
from airtight.solvers.design.calibrate import Calibration, Variable, budgeted, stopped
from airtight.solvers.design.effort import EffortSpent
from airtight.solvers.errors import InfeasibleError

_NEAR = 1e-5  # logarithm of the ratio of the ends between which the scale is found
_FACTOR = 4.0  # between scales that are tried until one keeps the target
_RANGE = 1e15  # from the first scale, in both directions
_STEEP, _FURTHER, _FARTHEST, _BEYOND, _WORTH = 2.5, 4.0, 0.5, 1.02, 0.9  # towards a scale that is proved too quiet


def calibrate(
    system: InferenceSystem,
    channel: Channel,
    epsilon: float,
    *,
    rounds: int = 1,
    observer: Observer | str = Observer.AUTO,
    effort: int | None = None,
    progress: bool = False,
) -> Calibration:
    """The least noise variances, in the ratios of the given ones, with which every device keeps epsilon over a channel.

    Parameters
    ----------
    system : InferenceSystem
        Equal variances are used where all are 0.
    channel : Channel
        With a power limit, participation is decided anew at each noise.
    epsilon : float
        The target in (0, inf), at the system's delta, over all rounds.
    rounds : int
    observer : {"auto", "participants", "others", "signal"}
    effort : int, optional
        Scales of the noise after which the least that was found to keep epsilon is returned, unsettled.
    progress : bool
        Whether to say on stderr every two seconds how many scales are tried.

    Returns
    -------
    Calibration
        Where epsilon is not monotone, `unsettled` is all that lies below the scale that was found: another noise below it may
        keep the target, too.

    Raises
    ------
    InfeasibleError
        When no scale that was tried keeps the target.
    ParameterError

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=1.0, noise_variance=0.1, weight=1/12, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.01, dimension=8, delta=1e-5, adjacency="silent")
    >>> for M in (1, 2, 8):  # the price of an antenna
    ...     print(float(calibrate(system, Channel(antennas=M, fading="rayleigh", states=50), 1.0).value[0].round(4)))
    0.0072
    0.058
    0.0924
    """
    target, rounds = checks.scalar("epsilon", epsilon, "(0, inf)"), checks.count("rounds", rounds)
    resolved = observers.resolved(system, observer)
    greatest = float(np.max(system.noise_variance))
    profile, unit = (system.noise_variance, greatest) if greatest > 0 else (np.ones(system.devices), 1.0)
    length = float(np.max(system.weight * system.clip))
    if length == 0 and not (system.adjacency is Adjacency.ABSENT and not system.idle_noise):
        raise ParameterError("weight", 0.0, "positive for some device: otherwise epsilon does not depend on the noise")
    budget = budgeted(effort, "scales", progress=progress)
    evaluated: dict[float, tuple[InferenceSystem, FloatArray]] = {}

    of_one: dict[tuple[float, int | None], float] = {}

    def excess(scale: float, device: int | None = None) -> float:
        """Logarithm of the ratio of the worst epsilon, or one device's, to the target; infinite where no device could send."""
        if scale not in evaluated and (device is None or (scale, device) not in of_one):
            try:
                at = channel.with_participation(replace(system, noise_variance=scale / unit * profile))
            except ParameterError as error:
                if error.name != "max_power":
                    raise
                return np.inf
            if budget.exhausted:
                raise EffortSpent
            budget.spend(1)
            asked: dict[str, Any] = {"rounds": rounds, "observer": resolved, "device": device}
            epsilon_at = np.atleast_1d(system_privacy.epsilon(at.derived(channel=channel), **asked))
            if device is None:
                evaluated[scale] = at, epsilon_at
            else:
                of_one[scale, device] = float(epsilon_at[0])
        if scale not in evaluated:
            reached = of_one[scale, device]
        else:
            reached = float(np.max(evaluated[scale][1]) if device is None else evaluated[scale][1][device])
        with np.errstate(divide="ignore", over="ignore"):
            return float(np.log(reached / target))

    def worst(scale: float) -> int | None:
        """The device of the greatest epsilon at an evaluated scale; none with an effort, which may end before all are asked."""
        return None if effort is not None else int(np.argmax(evaluated[scale][1]))

    falls = monotone(system, channel, resolved)

    def calibration(scale: float, *, settled: bool = True) -> Calibration:
        at, reached_by = evaluated[scale]
        unsettled = () if falls and settled else ((0.0, scale),)
        return Calibration(Variable.NOISE, np.asarray(at.noise_variance), reached_by, at, falls, unsettled, settled)

    first = length**2 if length > 0 else greatest or 1.0
    try:
        scale = _least_of_falling(excess, worst, unit) if falls else _least(excess, first)
    except (EffortSpent, KeyboardInterrupt) as stop:
        least_kept = min((scale for scale in evaluated if excess(scale) <= 0), default=None)
        return stopped(stop, None if least_kept is None else calibration(least_kept, settled=False), effort)
    if scale is None:
        if of_one:
            excess(max(tried for tried, _ in of_one))
        best_scale = min(evaluated, key=lambda t: float(np.max(evaluated[t][1])))
        reached = float(np.max(evaluated[best_scale][1]))
        raise InfeasibleError(
            f"epsilon = {target:g}: no noise that was tried keeps it over this channel ({rounds} rounds); the least epsilon "
            f"found is {reached:.6g}, at a variance of {best_scale:.3g}",
            least_epsilon=reached,
        )
    return calibration(scale)


def monotone(system: InferenceSystem, channel: Channel, observer: Observer) -> bool:
    """Whether epsilon falls with a common scale of the noise, for the reasons of this module."""
    p = channel.with_participation(system).participation
    random = bool(np.any((p > 0) & (p < 1)))
    stays = system.adjacency is not Adjacency.ABSENT or system.idle_noise
    sending_is_known = not random or observer.sees_device or system.idle_noise
    return stays and sending_is_known and not channel.decides_participation


def too_quiet(
    system: InferenceSystem, channel: Channel, epsilon: float, *, rounds: int = 1, observer: Observer | str = Observer.AUTO
) -> InferenceSystem | None:
    """A calibrated system with slightly less noise: it is proved that no noise below it keeps epsilon; None without a proof.

    Without noise it is the system itself. A proof needs a case in which epsilon falls with the noise, and a lower end of
    epsilon above the target.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=1.0, noise_variance=0.1, weight=1/12, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.01, dimension=8, delta=1e-5, adjacency="silent")
    >>> channel = Channel(antennas=2, fading="rayleigh", states=50)
    >>> calibrated = calibrate(system, channel, 1.0).system
    >>> bool(np.all(too_quiet(calibrated, channel, 1.0).noise_variance > 0.9999 * calibrated.noise_variance))
    True
    """
    resolved = observers.resolved(system, observer)
    if not monotone(system, channel, resolved):
        return None
    if not np.any(system.noise_variance > 0):
        return system
    options: dict[str, Any] = {"rounds": rounds, "observer": resolved}
    lower = np.atleast_1d(system_privacy.epsilon_bracket(system.derived(channel=channel), **options).lower)
    worst = int(np.argmax(lower))
    with np.errstate(divide="ignore"):
        short = float(np.log(epsilon / lower[worst]))  # of a proof, in log epsilon
    # log epsilon falls by 1 / _STEEP or more in log scale, as a rule; how steeply it falls is known after a first proof
    fraction, proved = _NEAR + max(_STEEP * short, 0.0), None
    while fraction < _FARTHEST:
        below = replace(system, noise_variance=system.noise_variance * (1 - fraction))
        bracket = system_privacy.epsilon_bracket(below.derived(channel=channel), device=worst, **options)
        if (reached := float(bracket.lower)) > epsilon:
            nearer = _NEAR + _BEYOND * max(short, 0.0) * fraction / max(float(np.log(reached / lower[worst])), _NEAR**2)
            if proved is not None or nearer > _WORTH * fraction:
                return below
            fraction, proved = nearer, below
        elif proved is not None:
            return proved
        else:
            fraction *= _FURTHER
    return None


def _least_of_falling(
    excess: Callable[..., float], worst: Callable[[float], int | None], first: float
) -> float | None:
    """The least scale that keeps the target, where epsilon falls with the scale; None where none is found.

    It is that of the device that is the worst one at the first scale, unless another one is the worst there.
    """
    if excess(0.0, None) <= 0:
        return 0.0
    excess(first, None)
    scale, device = first, worst(first)
    while device is not None:
        if (found := _least(partial(excess, device=device), scale)) is None or excess(found, None) <= 0:
            return found
        scale, last, device = found, device, worst(found)
        if device == last:  # alone it has another bound than among all
            break
    return _least(partial(excess, device=None), scale)


def _least(excess: Callable[[float], float], first: float) -> float | None:
    """The least scale that keeps the target, where it is kept from some scale on; None where none is found."""
    if excess(0.0) <= 0:
        return 0.0
    keeping = first
    while not (excess_kept := excess(keeping)) <= 0:
        keeping *= _FACTOR
        if keeping > _RANGE * first:
            return None
    exceeding = keeping / _FACTOR
    while (excess_there := excess(exceeding)) <= 0:
        keeping, excess_kept, exceeding = exceeding, excess_there, exceeding / _FACTOR
        if exceeding < first / _RANGE:
            return keeping
    # epsilon is nearly a power of the scale, so that few secants of logarithms suffice
    low, high = float(np.log(exceeding)), float(np.log(keeping))
    share = excess_there / (excess_there - excess_kept)
    start = low + (share if 0 < share < 1 else 0.5) * (high - low)  # no share where an excess is infinite
    start = min(max(start, low + _NEAR / 2), high - _NEAR / 2)
    scales = {high: keeping}

    def at_log(log_scale: float) -> float:
        scales[log_scale] = float(np.exp(log_scale))
        return excess(scales[log_scale])

    return scales[falling_root(at_log, low, excess_there, high, start, lambda _: _NEAR)[1]]
