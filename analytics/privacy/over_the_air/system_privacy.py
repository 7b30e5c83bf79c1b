r"""Privacy of a whole system over the air: the curve, epsilon and delta of each device, channel, rounds and observer counted.

This is the one entrance. It picks the computation:

=========================== ===================================================================================
system                      computed by
=========================== ===================================================================================
one round, no channel       :mod:`.observers`: all devices at once, sums over the values of the others' noise
several rounds, no channel  :mod:`.rounds`: the curve of each kind of device, composed numerically
a channel                   :mod:`.channel_privacy`: the others' noise is replaced by :math:`v_k(S)` (theorem V1); a channel
                            that delivers all devices alike is a system without channel and less receiver noise
named colluders             the same system, their noise subtracted (:meth:`.InferenceSystem.normalised`)
any m colluders             systems with named colluders: one of the worst sets, or both ends (:mod:`.colluders`)
=========================== ===================================================================================

Where errors enter an epsilon over rounds, in the order of the computation, and what bounds them (the module says how):

============================== =====================================================================================
underflow, units               powers of two only; an `absent` device whose noise would vanish is refused (`inference.system`)
sensitivity, variances         rounded towards more loss, and for a lower end not at all (`participation_mixture.build`)
law of the others' noise       cells: a spread times a curvature, or noise lowered by a slack (`distributions.weighted_sum`)
rare noise left out            divergence 1 above, twice below (`rounds`)
divergence of a pair           quadrature on an ellipse, its tail, rounding (`gaussian_pair`, `hidden_divergence`)
interpolation in the noise     proved for hidden devices from 100 dimensions on, else an *estimate* (`noise_interpolant`)
Gauss rules in the noise       proved as the interpolation is, and for one round (`gauss_rule`, `complex_noise`)
grid of losses, few nodes      chords above, tangents below (`accounting.connect_the_dots`, `convex_band`)
tails, aliasing, transform     Chernoff's bound, the error of an FFT (`accounting.loss_distribution`)
delta to epsilon               any tilt is valid; the target is lowered, the result raised (`numerical_composition`)
============================== =====================================================================================

Everything that shows, sweeps, designs or tries a number asks here, so that no two of them can disagree.
`rounds` and `observer` replace what the system says. Of a device that is named as a colluder nothing is claimed: its epsilon lies
between 0 and infinity, its delta between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem, device_indices
from airtight.analytics.privacy.accounting.numerical_composition import DEFAULT_RELATIVE_WIDTH
from airtight.analytics.privacy.accounting.privacy_curve import Bracket, PrivacyCurve
from airtight.analytics.privacy.mechanisms.mechanism import Mechanism
from airtight.analytics.privacy.over_the_air import colluders, observers
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
    resolved, system = _observer(system, observer), _with_worst_set(system, device, eavesdropper)
    if (channel := _channel(system, eavesdropper)) is None:
        return rounds_module.query(system.one_round, device, resolved)
    return channel_privacy.query(system.one_round, channel, device, resolved, eavesdropper=eavesdropper)


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
        theirs; for a device that is named as a colluder; and where no one set of m colluders is the worst at every epsilon.
        In the first and the last case :func:`epsilon` and :func:`delta` answer.

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
    round_curve = PrivacyCurve.of(query(system, device=device, observer=observer, eavesdropper=eavesdropper))
    return round_curve if count == 1 else round_curve.compose(count)


def has_curve(system: InferenceSystem, device: int) -> bool:
    """Whether :func:`curve` answers for the rounds of a system; where it does not, :func:`epsilon` and :func:`delta` do."""
    one_state = system.rounds > 1 and system.channel is not None and not system.channel.fresh
    if one_state or not _unnamed(system):
        return not one_state
    worst = _worst(system, device, False)
    return worst.exact and len(worst.sets) == 1


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
    *Cost.* Equal devices are computed once. The laws of the others' noise of K unlike devices, of at most 4096 values each, take
    some 3 K additions of laws. For one round each device needs some ten divergences at each of 17 to 130 values of the noise,
    or at all where these are not precise: time in proportion to K. Over rounds its curve is computed at some hundreds of
    epsilons, rarely thousands, and at each for some 100 values of the noise where participation is seen, and otherwise for 21 to
    141 values, whatever K: more for great r. Where the error of this interpolation is proved, for hidden devices in 100
    dimensions or more, it is some 100 to 200 values, in proportion to the square root of r. T enters through the FFT that
    composes the rounds, and through the accuracy that each round needs.
    """
    resolved = _observer(system, observer)
    if isinstance(system, HomogeneousSystems):
        _demand_one_round(rounds, eavesdropper)
        return observers.exact_epsilon(system, delta=delta, device=device, observer=resolved)
    count, channel = _rounds(system, rounds), _channel(system, eavesdropper)
    if _unnamed(system):
        allowed_delta = system.delta if delta is None else checks.scalar("delta", delta, "[0, inf)")

        def upper_ends(named_system: InferenceSystem, devices: IntArray, _: IntArray) -> tuple[FloatArray, FloatArray]:
            upper = epsilon(
                named_system, delta=allowed_delta, rounds=count, device=devices, observer=resolved, eavesdropper=eavesdropper,
                progress=progress,
            )  # fmt: skip
            return np.zeros(devices.shape), upper

        refined = _least(allowed_delta, count, resolved)
        return _whichever(system, device, upper_ends, refined, eavesdropper=eavesdropper, upper_alone=True)[1]
    if channel is None:
        upper = rounds_module.epsilon(
            system.one_round, delta=delta, rounds=count, device=device, observer=resolved, progress=progress
        )
    else:
        upper = channel_privacy.epsilon(
            system.one_round, channel, delta=delta, rounds=count, device=device, observer=resolved,
            eavesdropper=eavesdropper, progress=progress,
        )  # fmt: skip
    return _claimed(system, device, upper, np.inf)


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
    (3.35208..., 3.47753...)
    """
    resolved = _observer(system, observer)
    if isinstance(system, HomogeneousSystems):
        _demand_one_round(rounds, eavesdropper)
        if delta is not None:
            raise ParameterError("delta", delta, "absent: each of many systems has its own")
        return Bracket.of(*observers.epsilon_bracket(system, device=device, observer=resolved), width)
    count, channel = _rounds(system, rounds), _channel(system, eavesdropper)
    if _unnamed(system):
        allowed_delta = system.delta if delta is None else checks.scalar("delta", delta, "(0, 1)")

        def both_ends(named_system: InferenceSystem, devices: IntArray, _: IntArray) -> tuple[FloatArray, FloatArray]:
            lower, upper = epsilon_bracket(
                named_system, delta=allowed_delta, rounds=count, device=devices, observer=resolved, eavesdropper=eavesdropper,
                width=width, progress=progress,
            )  # fmt: skip
            return lower, upper

        worst = _whichever(system, device, both_ends, _least(allowed_delta, count, resolved), eavesdropper=eavesdropper)
        return Bracket.of(*worst, width)
    if channel is None:
        ends = rounds_module.bracket(
            system.one_round, delta=delta, rounds=count, device=device, observer=resolved, width=width, progress=progress
        )
    else:
        ends = channel_privacy.bracket(
            system.one_round, channel, delta=delta, rounds=count, device=device, observer=resolved,
            eavesdropper=eavesdropper, width=width, progress=progress,
        )  # fmt: skip
    if not np.any(system.partners):
        return ends
    return Bracket.of(_claimed(system, device, ends.lower, 0.0), _claimed(system, device, ends.upper, np.inf), width)


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
    1.317...e-05
    """
    resolved = _observer(system, observer)
    if isinstance(system, HomogeneousSystems):
        _demand_one_round(rounds)
        return observers.exact_delta(system, epsilon, device=device, observer=resolved)
    count, channel = _rounds(system, rounds), _channel(system, False)
    if _unnamed(system):
        indices, at = _broadcast(system, device, epsilon)

        def upper_ends(named_system: InferenceSystem, devices: IntArray, places: IntArray) -> tuple[FloatArray, FloatArray]:
            upper = delta(named_system, at.ravel()[places], rounds=count, device=devices, observer=resolved, progress=progress)
            return np.zeros(devices.shape), upper

        return _whichever(system, indices, upper_ends, _at(at, count, resolved), upper_alone=True)[1]
    if channel is None:
        upper = rounds_module.delta_at(
            system.one_round, epsilon, rounds=count, device=device, observer=resolved, progress=progress
        )
    else:
        upper = channel_privacy.delta_at(
            system.one_round, channel, epsilon, rounds=count, device=device, observer=resolved, progress=progress
        )
    return _claimed(system, device, upper, 1.0)


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
    resolved = _observer(system, observer)
    if isinstance(system, HomogeneousSystems):
        _demand_one_round(rounds)
        return observers.exact_delta_bracket(system, epsilon, device=device, observer=resolved)
    count = _rounds(system, rounds)
    indices, at = _broadcast(system, device, epsilon)
    if _unnamed(system):

        def both_ends(named_system: InferenceSystem, devices: IntArray, places: IntArray) -> tuple[FloatArray, FloatArray]:
            return delta_bracket(named_system, at.ravel()[places], rounds=count, device=devices, observer=resolved)

        return _whichever(system, indices, both_ends, _at(at, count, resolved))
    if count == 1 and system.channel is None:
        low, high = observers.exact_delta_bracket(system.one_round, epsilon, device=device, observer=resolved)
        return _claimed(system, indices, low, 0.0), _claimed(system, indices, high, 1.0)
    if count > 1 and system.channel is not None and not system.channel.fresh:
        upper = delta(system, epsilon, rounds=count, device=device, observer=resolved)
        return np.zeros_like(upper), upper
    bounds = np.repeat([[0.0], [1.0]], indices.size, axis=1)  # what is claimed of a colluder
    for k in np.unique(indices[~system.partners[indices]]):
        places = indices.ravel() == k
        composed = curve(system, device=int(k), rounds=count, observer=resolved)
        bounds[:, places] = composed.bracket(epsilon=at.ravel()[places])[:2]
    return bounds[0].reshape(indices.shape)[()], bounds[1].reshape(indices.shape)[()]


def most_revealing(system: InferenceSystem, device: int, *, rounds: int | None = None) -> colluders.Set:
    """The colluders against a device: those that are named, or of any so many the set with the greatest lower bound found.

    Examples
    --------
    >>> system = InferenceSystem(devices=4, participation=[0.5, 0.8, 1.0, 0.2], noise_variance=[0.1, 1.5, 1.0, 0.1], weight=1.0,
    ...     clip=1.0, alignment=1.0, receiver_noise_variance=0.5, dimension=8, delta=1e-5, adjacency="silent", colluding=1)
    >>> most_revealing(system, 0), most_revealing(system.replace(delta=0.3), 0)
    ((2,), (1,))
    """
    if not _unnamed(system):
        return tuple(np.flatnonzero(system.partners).tolist())
    sets = _worst(system, device, False).sets
    if len(sets) == 1:
        return sets[0]
    lower = [epsilon_bracket(system.derived(colluding=each), rounds=rounds, device=device).lower for each in sets]
    return sets[int(np.argmax(lower))]


def exceeds(
    system: InferenceSystem, epsilon: float, *, device: int, observer: Observer | str | None = None, quieter: bool = False
) -> bool:
    """Whether delta(epsilon) of a device in one round at one look is proved to be above the system's delta.

    Arguments as in :func:`.observers.exceeds`. With `quieter` any set of colluders that proves it does so for lower noise too.
    """
    resolved, one_look = _observer(system, observer), system.at_one_look()
    if not _unnamed(system):
        return observers.exceeds(one_look, epsilon, device=device, observer=resolved, quieter=quieter)
    sets = _worst(one_look, device, False).sets
    named_systems = (one_look.derived(colluding=named) for named in sets)
    return any(observers.exceeds(named, epsilon, device=device, observer=resolved, quieter=quieter) for named in named_systems)


def estimated(system: InferenceSystem, *, rounds: int | None = None, observer: Observer | str | None = None) -> bool:
    """Whether :func:`epsilon` is an estimate for any device; otherwise it is proved.

    It is one for hidden ``silent`` and ``replace`` devices in fewer than 100 dimensions, and over several rounds for
    ``absent``, where the others' noise has 72 values or more: there the error of the interpolation in that noise is
    estimated (:mod:`.noise_interpolant`). Of hidden ones on a grid the curvature in that noise is estimated, too. Over a
    channel the interpolation is proved (:mod:`.shared_curves`).
    """
    if _unnamed(system):
        one_look = _at_one_look(system, False) or system
        for k in _alike(one_look, np.arange(system.devices))[0].tolist():
            worst = _worst(system, k, False)
            if not worst.exact and not worst.covers:
                phantom = colluders.phantom(one_look, k, _number(system))
                if estimated(phantom, rounds=_rounds(system, rounds), observer=_observer(system, observer)):
                    return True
        system = system.derived(colluding=0)  # of sets of devices: the noise of fewer devices has no more values
    at_one_look: InferenceSystem | None = system.one_round
    if system.channel is not None:
        at_one_look = channel_privacy.one_look_system(system.one_round, system.channel)
    return at_one_look is not None and rounds_module.estimated(
        at_one_look, rounds=_rounds(system, rounds), observer=_observer(system, observer)
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
        Where the channel, the rounds or colluders matter to it.
    """
    if system.colluding:
        allowed = "0: this counts no colluders (`system.replace(colluding=0)`)"
        raise ParameterError("colluding", system.colluding, allowed)
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


Ask = Callable[[InferenceSystem, IntArray, IntArray], tuple[FloatArray, FloatArray]]
Refine = Callable[[InferenceSystem, int, IntArray, FloatArray, FloatArray], FloatArray]


def _whichever(
    system: InferenceSystem,
    device: ArrayLike | None,
    ask: Ask,
    refined: Refine | None,
    *,
    eavesdropper: bool = False,
    upper_alone: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper end of a number that grows with what the server knows, whichever m devices collude.

    Parameters
    ----------
    device : array_like of int, optional
    ask : callable
        Both ends, from a system with named colluders, devices, and the places of these devices in `device`.
    refined : callable, optional
        A better upper end from the system, a device, its places, and what the sets and the phantom gave.
    upper_alone : bool
        Whether the lower end is not wanted: where unions of sets give the upper end, no set is then asked about.
    """
    one_look, indices = _at_one_look(system, eavesdropper) or system, device_indices(system, device)
    representatives, kind = _alike(one_look, indices)
    worst = [_worst(system, int(k), eavesdropper) for k in representatives]
    members: dict[colluders.Set, list[int]] = {}
    for i, worst_sets in enumerate(worst):
        for named in () if upper_alone and worst_sets.covers else worst_sets.sets:
            members.setdefault(named, []).append(i)
    ends = np.zeros((2, indices.size))
    for named, kinds in members.items():
        places = np.flatnonzero(np.isin(kind, kinds))
        bounds = ask(one_look.derived(colluding=named), representatives[kind[places]], places)
        ends[:, places] = np.maximum(ends[:, places], bounds)
    for i, k in enumerate(representatives.tolist()):
        if worst[i].exact:
            continue
        places = np.flatnonzero(kind == i)
        if worst[i].covers:
            of_places = np.full(places.size, k), places
            uppers = [ask(one_look.derived(colluding=named_set), *of_places)[1] for named_set in worst[i].covers]
            ends[1, places] = np.max(uppers, axis=0)
            continue
        _, upper = ask(colluders.phantom(one_look, k, _number(system)), np.zeros(places.size, dtype=np.int64), places)
        if refined is not None:
            upper = refined(one_look, k, places, ends[1, places], upper)
        ends[1, places] = np.maximum(ends[0, places], upper)
    lower, upper = ends.reshape(2, *indices.shape)
    return lower[()], upper[()]


def _least(allowed_delta: float, rounds: int, observer: Observer) -> Refine | None:
    """The refinement of epsilon at delta `total`, where there is one."""

    def refined(
        system: InferenceSystem, device: int, places: IntArray, low: FloatArray, high: FloatArray
    ) -> FloatArray:
        if not low[0] < high[0] < np.inf:
            return high
        bound = colluders.Exponentials.of(system, device, _number(system), observer, float(low[0]))
        return np.full(places.size, bound.epsilon(allowed_delta, float(low[0]), float(high[0])))

    return refined if rounds == 1 and 0 < allowed_delta < 1 else None


def _at(epsilon: FloatArray, rounds: int, observer: Observer) -> Refine | None:
    """The refinement of delta at each epsilon, where there is one."""

    def refined(
        system: InferenceSystem, device: int, places: IntArray, low: FloatArray, high: FloatArray
    ) -> FloatArray:
        best = high.copy()
        for i, at in enumerate(epsilon.ravel()[places].tolist()):
            if 0 < low[i] < high[i]:
                bound = colluders.Exponentials.of(system, device, _number(system), observer, at)
                best[i] = min(best[i], bound.delta(at, float(low[i])))
        return best

    return refined if rounds == 1 else None


def _at_one_look(system: InferenceSystem, eavesdropper: bool) -> InferenceSystem | None:
    """The system of one round without channel, for which the worst colluders are known; None where several looks arrive."""
    if system.channel is None:
        return system.one_round
    return None if eavesdropper else channel_privacy.one_look_system(system.one_round, system.channel)


def _worst(system: InferenceSystem, device: int, eavesdropper: bool) -> colluders.Worst:
    """Candidates for the worst sets of so many colluders against a device."""
    if (one_look := _at_one_look(system, eavesdropper)) is not None:
        return colluders.worst(one_look, device, _number(system))
    gain: ArrayLike = 1.0
    if eavesdropper and system.channel is not None and system.channel.eavesdropper is not None:
        gain = system.channel.eavesdropper.mean_power
    elif system.channel is not None:
        gain = system.channel.gain_means(system.devices)
    return colluders.worst_of_looks(system, device, _number(system), np.broadcast_to(gain, system.devices))


def _alike(system: InferenceSystem, devices: IntArray) -> tuple[IntArray, IntArray]:
    """One of each kind of the devices, and the kind of each; over a channel each is a kind of its own."""
    if system.channel is None:
        return rounds_module.kinds(system.derived(colluding=0), devices)
    representatives, kind = np.unique(devices, return_inverse=True)
    return representatives, kind.ravel()


def _with_worst_set(system: InferenceSystem, device: int, eavesdropper: bool) -> InferenceSystem:
    """The system against the set of colluders that is the worst for the device at every epsilon, over any number of rounds."""
    k = checks.count("device", device, f"[0, {system.devices - 1}]")
    if system.partners[k]:
        raise ParameterError("device", k, f"a device that does not collude (colluding = {list(system.partners.nonzero()[0])})")
    if not _unnamed(system):
        return system
    one_look = _at_one_look(system, eavesdropper) or system
    worst = _worst(system, k, eavesdropper)
    if not worst.exact or len(worst.sets) > 1:
        allowed = "0 or a list of devices for a curve, as no one set of so many is the worst at every epsilon here"
        raise ParameterError("colluding", system.colluding, allowed)
    return one_look.derived(colluding=worst.sets[0])


def _unnamed(system: InferenceSystem) -> bool:
    """Whether any so many devices collude, so that the worst of them have to be found."""
    return _number(system) > 0


def _number(system: InferenceSystem) -> int:
    return system.colluding if isinstance(system.colluding, int) else 0


def _claimed(system: InferenceSystem, device: ArrayLike | None, value: FloatArray, nothing: float) -> FloatArray:
    """The values of devices, with `nothing` for those that are named as colluders."""
    if not np.any(system.partners):
        return value
    return np.asarray(np.where(system.partners[device_indices(system, device)], nothing, value))[()]


def _broadcast(system: InferenceSystem, device: ArrayLike | None, epsilon: ArrayLike) -> tuple[IntArray, FloatArray]:
    indices, at = checks.broadcast(device=device_indices(system, device), epsilon=checks.real("epsilon", epsilon, "[0, inf]"))
    return indices, at
