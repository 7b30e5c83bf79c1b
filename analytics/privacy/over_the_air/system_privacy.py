r"""Privacy of a whole system over the air: the curve, epsilon and delta of each device, channel, rounds and observer counted.

This is the one entrance. It picks the computation:

=========================== ===================================================================================
system                      computed by
=========================== ===================================================================================
one round, no channel       :mod:`.observers`: all devices at once, sums over the values of the others' noise
several rounds, no channel  :mod:`.rounds`: the curve of each kind of device, composed numerically
a channel                   :mod:`.channel_privacy`: the others' noise is replaced by :math:`v_k(S)` (theorem V1); a channel
                            that delivers all devices alike is a system without channel and less receiver noise
=========================== ===================================================================================

Everything that shows, sweeps, designs or tries a number asks here, so that no two of them can disagree.
`rounds` and `observer` replace what the system says.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem, device_indices
from airtight.analytics.privacy.accounting.numerical_composition import DEFAULT_RELATIVE_WIDTH
from airtight.analytics.privacy.accounting.privacy_curve import Bracket, PrivacyCurve
from airtight.analytics.privacy.mechanisms.mechanism import Mechanism
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.privacy.over_the_air import rounds as rounds_module
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy

Systems = InferenceSystem | HomogeneousSystems


def query(
    system: InferenceSystem, *, device: int = 0, observer: Observer | str | None = None, eavesdropper: bool = False
) -> Mechanism:
    """The mechanism of one round, for one device against one observer.

    Examples
    --------
    >>> query(InferenceSystem(devices=2, participation=1.0, noise_variance=0.5, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.0, dimension=8, delta=1e-5, adjacency="silent")).mu
    1.0...
    """
    seen = _observer(system, observer)
    if (channel := _channel(system, eavesdropper)) is None:
        return rounds_module.query(system.one_round, device, seen)
    return channel_privacy.query(system.one_round, channel, device, seen, eavesdropper=eavesdropper)


def curve(
    system: InferenceSystem,
    *,
    device: int = 0,
    rounds: int | None = None,
    observer: Observer | str | None = None,
    eavesdropper: bool = False,
) -> PrivacyCurve:
    """The privacy curve of one device after all rounds; of a system with one round, ``.compose(T)`` is that of T rounds.

    Parameters
    ----------
    system : InferenceSystem
    device : int
    rounds : int, optional
        By default those of the system.
    observer : {"auto", "participants", "others", "signal"}, optional
        By default that of the system. For `signal` the upper bound is that of `others`.
    eavesdropper : bool
        Ask for the channel's eavesdropper instead of the server.

    Raises
    ------
    ParameterError
        For several rounds over a channel that stays the same: they share its state, so no curve of one round composes to
        theirs; :func:`epsilon` and :func:`delta` answer.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, idle_noise=True)
    >>> round(float(curve(system).epsilon(1e-5)), 3), round(float(curve(system, rounds=200).epsilon(1e-5)), 2)
    (0.218, 4.03)
    """
    count = _rounds(system, rounds)
    if count > 1 and system.channel is not None and not system.channel.fresh:
        allowed = "1 for a curve where the channel stays the same for all rounds; ask for epsilon or delta"
        raise ParameterError("rounds", count, allowed)
    one = PrivacyCurve.of(query(system, device=device, observer=observer, eavesdropper=eavesdropper))
    return one if count == 1 else one.compose(count)


def epsilon(
    system: Systems,
    *,
    delta: float | None = None,
    rounds: int | None = None,
    device: ArrayLike | None = None,
    observer: Observer | str | None = None,
    eavesdropper: bool = False,
    progress: bool = False,
) -> FloatArray:
    """Least epsilon of each device after all rounds, never below the true value; for `signal` the upper bound.

    It is an *estimate* where :func:`estimated` says so.

    Parameters
    ----------
    system : InferenceSystem or HomogeneousSystems
        Of several systems, each number of the result belongs to a system.
    delta : float, optional
        At least 0, for all rounds together; by default that of the system. At 0, epsilon is infinite unless the device
        reveals nothing, because the noise is normal; from 1 on, epsilon is 0.
    rounds : int, optional
        T >= 1, with independent participation and noise in each round; features may change and may depend on earlier
        outputs. By default those of the system.
    device : int or array_like of int, optional
        Indices of the devices; all K by default.
    observer : {"auto", "participants", "others", "signal"}, optional
        By default that of the system.
    eavesdropper : bool
        Ask for the channel's eavesdropper instead of the server.
    progress : bool
        Whether to say on stderr every two seconds how many devices are done, where each has a computation of its own.

    Returns
    -------
    ndarray or float

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, adjacency="silent", rounds=100)
    >>> epsilon(system, device=[0, 1]).round(3)
    array([3.048, 3.048])

    Notes
    -----
    *Cost.* Equal devices are computed once. Each of K unlike devices needs the law of the others' noise: over several rounds
    some K products of laws of at most 4096 values, for one round log K of them. Over rounds its curve is computed at some
    hundreds of epsilons, rarely thousands, and at each for some 100 values of the noise where participation is seen, and
    otherwise for 24 to 96 values, whatever K and r. T enters through the FFT that composes the rounds.
    """
    seen = _observer(system, observer)
    if isinstance(system, HomogeneousSystems):
        _demand_one_round(rounds, eavesdropper)
        return observers.exact_epsilon(system, delta=delta, device=device, observer=seen)
    count, channel = _rounds(system, rounds), _channel(system, eavesdropper)
    if channel is None:
        return rounds_module.epsilon(
            system.one_round, delta=delta, rounds=count, device=device, observer=seen, progress=progress
        )
    return channel_privacy.epsilon(
        system.one_round, channel, delta=delta, rounds=count, device=device, observer=seen,
        eavesdropper=eavesdropper, progress=progress,
    )  # fmt: skip


def epsilon_bracket(
    system: Systems,
    *,
    delta: float | None = None,
    rounds: int | None = None,
    device: ArrayLike | None = None,
    observer: Observer | str | None = None,
    eavesdropper: bool = False,
    width: float = DEFAULT_RELATIVE_WIDTH,
    progress: bool = False,
) -> Bracket:
    """Lower and upper bound of :func:`epsilon`, and whether their relative distance is at most `width`.

    Parameters as in :func:`epsilon`; `delta` is in (0, 1).

    Examples
    --------
    >>> system = InferenceSystem(devices=3, participation=0.3, noise_variance=0.5, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-3, adjacency="silent", observer="signal")
    >>> low, high = epsilon_bracket(system, device=0)
    >>> float(low), float(high)
    (2.1033..., 3.47753...)
    """
    seen = _observer(system, observer)
    if isinstance(system, HomogeneousSystems):
        _demand_one_round(rounds, eavesdropper)
        if delta is not None:
            raise ParameterError("delta", delta, "absent: each of many systems has its own")
        return Bracket.of(*observers.epsilon_bracket(system, device=device, observer=seen), width)
    count, channel = _rounds(system, rounds), _channel(system, eavesdropper)
    if channel is None:
        return rounds_module.bracket(
            system.one_round, delta=delta, rounds=count, device=device, observer=seen, width=width, progress=progress
        )
    return channel_privacy.bracket(
        system.one_round, channel, delta=delta, rounds=count, device=device, observer=seen,
        eavesdropper=eavesdropper, width=width, progress=progress,
    )  # fmt: skip


def delta(
    system: Systems,
    epsilon: ArrayLike,
    *,
    rounds: int | None = None,
    device: ArrayLike | None = None,
    observer: Observer | str | None = None,
    progress: bool = False,
) -> FloatArray:
    """delta(epsilon) of each device after all rounds, never below the true value; arguments as in :func:`epsilon`.

    Over a channel that stays the same it is the mean over the states of delta after all rounds in that state.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, adjacency="silent")
    >>> float(delta(system, 3.0, rounds=100, device=0))
    1.319...e-05
    """
    seen = _observer(system, observer)
    if isinstance(system, HomogeneousSystems):
        _demand_one_round(rounds)
        return observers.exact_delta(system, epsilon, device=device, observer=seen)
    count, channel = _rounds(system, rounds), _channel(system, False)
    if channel is None:
        return rounds_module.delta_at(
            system.one_round, epsilon, rounds=count, device=device, observer=seen, progress=progress
        )
    return channel_privacy.delta_at(
        system.one_round, channel, epsilon, rounds=count, device=device, observer=seen, progress=progress
    )


def delta_bracket(
    system: Systems,
    epsilon: ArrayLike,
    *,
    rounds: int | None = None,
    device: ArrayLike | None = None,
    observer: Observer | str | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bound of :func:`delta`; over a channel that stays the same for several rounds the lower bound is 0.

    Notes
    -----
    Of one round without channel, the relative distance of the bounds is about 1e-12 as long as the law of the others' noise
    is exact (at most 4096 possible sums). Otherwise it is of second order in the grid step: mostly 1e-6 to 1e-3, and more
    where the noise variances span many decades. For ``absent`` it is also greater where the divergence bends sharply within a
    cell; there the upper bound may be far above the true value.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5)
    >>> low, high = delta_bracket(system, 12.0, device=0)
    >>> bool(0 < high / low - 1 < 1e-10)
    True
    """
    seen = _observer(system, observer)
    if isinstance(system, HomogeneousSystems):
        _demand_one_round(rounds)
        return observers.exact_delta_bracket(system, epsilon, device=device, observer=seen)
    count = _rounds(system, rounds)
    if count == 1 and system.channel is None:
        return observers.exact_delta_bracket(system.one_round, epsilon, device=device, observer=seen)
    if count > 1 and system.channel is not None and not system.channel.fresh:
        upper = delta(system, epsilon, rounds=count, device=device, observer=seen)
        return np.zeros_like(upper), upper
    which, at = checks.broadcast(device=device_indices(system, device), epsilon=checks.real("epsilon", epsilon, "[0, inf]"))
    bounds = np.empty((2, which.size))
    for k in np.unique(which):
        places = which.ravel() == k
        composed = curve(system, device=int(k), rounds=count, observer=seen)
        bounds[:, places] = composed.bracket(epsilon=at.ravel()[places])[:2]
    return bounds[0].reshape(which.shape)[()], bounds[1].reshape(which.shape)[()]


def estimated(system: InferenceSystem, *, rounds: int | None = None, observer: Observer | str | None = None) -> bool:
    """Whether :func:`epsilon` is an estimate for any device; otherwise it is proved.

    It is one for hidden ``silent`` and ``replace`` devices in fewer than 100 dimensions, and over several rounds for
    ``absent``, where the others' noise has 72 values or more: there the error of the interpolation in that noise is
    estimated (:mod:`.noise_interpolant`). Over a channel the interpolation is proved (:mod:`.shared_curves`).
    """
    alone: InferenceSystem | None = system.one_round
    if system.channel is not None:
        alone = channel_privacy.one_look_system(system.one_round, system.channel)
    return alone is not None and rounds_module.estimated(
        alone, rounds=_rounds(system, rounds), observer=_observer(system, observer)
    )


def one_round_alone(system: InferenceSystem, *, rounds: bool = True) -> InferenceSystem:
    """The system for a computation of the privacy of one round at one look, where this is that of the whole system.

    Parameters
    ----------
    rounds : bool
        Whether several rounds are refused as well.

    Raises
    ------
    ParameterError
        Where the channel or the rounds matter to it.
    """
    if rounds and system.rounds > 1:
        raise ParameterError("rounds", system.rounds, "1: this is about one round (`system.replace(rounds=1)`)")
    if not channel_privacy.adds_nothing(system):
        allowed = "absent, or such that it adds nothing: this counts no channel (`system.replace(channel=None)`)"
        raise ParameterError("channel", "given", allowed)
    return system.one_round


def _demand_one_round(rounds: int | None, eavesdropper: bool = False) -> None:
    """Many systems at a time are asked about one round at one look."""
    if rounds not in (None, 1):
        raise ParameterError("rounds", rounds, "1 for many systems at a time")
    if eavesdropper:
        raise ParameterError("eavesdropper", eavesdropper, "False for many systems at a time, which have no channel")


def _rounds(system: InferenceSystem, rounds: int | None) -> int:
    return system.rounds if rounds is None else checks.count("rounds", rounds)


def _observer(system: Systems, observer: Observer | str | None) -> Observer:
    """The observer that is asked about; by default that of the system."""
    if observer is None:
        observer = Observer.AUTO if isinstance(system, HomogeneousSystems) else system.observer
    return observers.resolved(system, observer)


def _channel(system: InferenceSystem, eavesdropper: bool) -> Channel | None:
    if eavesdropper and (system.channel is None or system.channel.eavesdropper is None):
        raise ParameterError("eavesdropper", None, "a table of the channel, to ask for its privacy")
    return system.channel
