r"""Privacy of device k against three observers: of all participants, of the other participants, and of y alone.

====================== ================================== ================================== ==========================
observer               ``absent``                         ``silent``, ``replace``            any, idle noise
====================== ================================== ================================== ==========================
participants           delta = p_k for every epsilon      exact (FDP-T1b)                    :math:`p\,\delta_G` at the
                                                                                             constant noise; ``absent``
                                                                                             delta = p_k
others                 exact (FDP-T1a)                    :mod:`.hidden_divergence`          exact (FDP-T1d)
signal, upper bound    as others                          as others                          as others
====================== ================================== ================================== ==========================

"Exact" refers to :mod:`airtight.analytics.privacy.over_the_air.amplification`. Each observer sees everything that the
next one sees, so a guarantee against it is also a guarantee against the next (post-processing). For `signal`, the
others' codes shift y by an amount that the server cannot subtract. It is an open question which codes are worst, so the
answer is an interval: :func:`signal_bracket`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError, broadcast, choice, real
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem, device_indices
from airtight.analytics.privacy.over_the_air.participation_mixture import build, signal_lower_bound
from airtight.analytics.privacy.over_the_air.participation_mixture.build import (
    Systems,
    delta_at_most,
    delta_bracket,
    epsilon_at_least,
    least_epsilon,
    participations,
)
from airtight.analytics.privacy.over_the_air.participation_mixture.evaluate import NoiseMixture
from airtight.analytics.privacy.over_the_air.participation_mixture.hidden import HiddenParticipationMixture
from airtight.analytics.rounding import UNIT

_TRIMMED = 1e-6  # share of delta that the lower bound may lose with rare values of the others' noise
TESTED = 16  # of more unlike devices so many have a lower bound for `signal`: those with the greatest upper ones
_RARE = 1e-7  # share of delta that a bound may lose with the values of the noise that are left out


def exact_delta(
    system: Systems,
    epsilon: ArrayLike,
    *,
    observer: Observer | str = Observer.AUTO,
    device: ArrayLike | None = None,
) -> FloatArray:
    """delta(epsilon) of a device against an observer, the larger of both directions; for `signal` the upper bound.

    Parameters
    ----------
    system : InferenceSystem or HomogeneousSystems
    epsilon : array_like
        At least 0; broadcast against the devices (for several systems, against the systems).
    observer : {"auto", "participants", "others", "signal"}
    device : int or array_like of int, optional
        Indices of the devices; all K by default.

    Returns
    -------
    ndarray or float
        The upper bound of :func:`exact_delta_bracket`, at half its cost.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=20, participation=[0.1] + 19 * [1.0], noise_variance=0.1, weight=0.316, clip=1.0,
    ...     alignment=1.0, receiver_noise_variance=0.0, dimension=64, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> [float(exact_delta(system, 0.5, observer=o, device=0)) for o in ("participants", "others")]
    [0.00012525..., 2.7278...e-10]
    """
    indices, eps = _indices_and_epsilon(system, device, epsilon)
    if participation_distinguishes(system, observer):
        upper = _participation_delta(system, indices)
    else:
        equivalent, model = mixture_model(system, observer)
        upper = delta_at_most(equivalent, indices.ravel(), eps.ravel(), model)
    return upper.reshape(eps.shape)[()]


def exact_delta_bracket(
    system: Systems,
    epsilon: ArrayLike,
    *,
    observer: Observer | str = Observer.AUTO,
    device: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of delta(epsilon) against an observer.

    Against `signal` delta is the supremum over the others' codes: the upper bound is that of `others`, and the lower
    bound is the delta for some codes of the others (:mod:`.signal_lower_bound`).
    The lower bound is the trivial 0 where the others' noise may almost vanish, and for all but the 16 devices with the
    greatest upper bounds, if more are unlike.

    The bounds are proved where they are those of
    :func:`.system_privacy.delta_bracket`. For a ``silent`` or ``replace``
    device whose participation is hidden, they include the error of the quadrature
    (:mod:`.hidden_divergence`), about 1e-11 of delta.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=3.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
    >>> low, high = exact_delta_bracket(system, 3.161, observer="signal", device=0)
    >>> float(low.round(4)), float(high.round(4))
    (0.0178, 0.0934)
    """
    indices, eps = _indices_and_epsilon(system, device, epsilon)
    if participation_distinguishes(system, observer):
        lower = upper = _participation_delta(system, indices)
    else:
        equivalent, model = mixture_model(system, observer)
        lower, upper = delta_bracket(equivalent, indices.ravel(), eps.ravel(), model)
        if not resolved(system, observer).sees_others:
            lower = np.minimum(_signal_delta(equivalent, model, indices.ravel(), eps.ravel(), lower, upper), upper)
    return lower.reshape(eps.shape)[()], upper.reshape(eps.shape)[()]


def _signal_delta(
    equivalent: Systems,
    model: type[NoiseMixture],
    indices: IntArray,
    eps: FloatArray,
    others: FloatArray,
    upper: FloatArray,
) -> FloatArray:
    """The lower bound for a server that sees y alone; `others`, `upper`: both bounds for the observer `others`."""
    lower = np.zeros(indices.shape)
    distinct, inverse = np.unique(indices, return_inverse=True)
    highest = np.zeros(distinct.size)
    np.maximum.at(highest, inverse, upper)
    least = least_tested(equivalent, highest)
    negligible = float(np.min(upper[upper > 0], initial=1.0)) * _TRIMMED
    for batch in participations(equivalent, distinct, negligible, model):
        rows = dict(zip(batch.devices.tolist(), batch.kind.tolist(), strict=True))
        one_of = {row: device for device, row in rows.items()}  # of equal devices
        one_of = {row: k for row, k in one_of.items() if highest[np.searchsorted(distinct, k)] >= least}
        tests_of = {
            row: _signal_tests(equivalent, batch, row, k, negligible / _TRIMMED, float(np.max(eps)))
            for row, k in one_of.items()
            if not constant(batch, row)
        }
        computed: dict[tuple[int, float], float] = {}
        for place, device in enumerate(distinct[inverse].tolist()):
            row, tolerance = rows.get(device), 1e-4 * float(upper[place])
            # the bound is 0 where delta is smaller than the error of a double
            if row is None or tolerance == 0 or highest[np.searchsorted(distinct, device)] < least:
                continue
            if row not in tests_of:
                lower[place] = 0.0 if batch.slack else others[place]
            elif tests := tests_of[row]:
                key = row, float(eps[place])
                if key not in computed:
                    computed[key] = signal_lower_bound.best_delta(tests, key[1], tolerance)
                lower[place] = computed[key]
    return lower


def _signal_tests(
    system: Systems, batch: NoiseMixture, row: int, device: int, delta: float, epsilon: float
) -> list[signal_lower_bound.SignalTest]:
    """The tests of a server that sees y alone, for the codes of the others that are tried; none where there is no test.

    They are as precise as bounds near a delta and an epsilon need.
    """
    test = signal_lower_bound.SignalTest.of(batch, row)
    if test is None:
        return []
    return test.trimmed(_RARE * delta * math.exp(-epsilon)).tilted(signal_lower_bound.steepest(system, device), delta)


def exceeds(
    system: InferenceSystem,
    epsilon: float,
    *,
    device: int,
    observer: Observer | str = Observer.AUTO,
    quieter: bool = False,
) -> bool:
    """Whether delta(epsilon) of a device against an observer is proved to be above the system's delta.

    The proof uses the lower bound of :func:`exact_delta_bracket`, mostly at a tenth of its cost; `signal` is not
    supported.

    Parameters
    ----------
    quieter : bool
        Whether delta must also be above for all lower noise of the devices. The proof then uses one threshold test
        (:mod:`.signal_lower_bound`); it applies to an ``absent`` device, and to one
        whose participation is hidden.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
    >>> [exceeds(system, at, device=0) for at in (12.0, 12.01)], exceeds(system, 0.1, device=0, quieter=True)
    ([True, False], True)
    """
    if participation_distinguishes(system, observer):
        return bool(_participation_delta(system, np.array([device]))[0] > system.delta)
    equivalent, model = mixture_model(system, observer)
    proof = build.exceeds_with_less_noise if quieter else build.exceeds
    return proof(equivalent, device, epsilon, system.delta, model)


def exact_epsilon(
    system: Systems,
    *,
    delta: float | None = None,
    device: ArrayLike | None = None,
    observer: Observer | str = Observer.AUTO,
) -> FloatArray:
    """Least epsilon with delta(epsilon) <= delta against an observer, rounded up; for `signal` the upper bound.

    Parameters
    ----------
    system : InferenceSystem or HomogeneousSystems
        Several systems are solved together, each for one of its devices.
    delta : float, optional
        In (0, 1); by default that of the system.
    device : int or array_like of int, optional
        Indices of the devices; all K by default. For several systems, indices of the systems.
    observer : {"auto", "participants", "others", "signal"}

    Returns
    -------
    ndarray or float
        Infinite where no epsilon reaches delta.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=20, participation=[0.1] + 19 * [1.0], noise_variance=0.1, weight=0.316, clip=1.0,
    ...     alignment=1.0, receiver_noise_variance=0.0, dimension=64, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> [float(exact_epsilon(system, observer=o, device=0)) for o in ("participants", "others")]
    [0.68..., 0.144...]
    """
    indices = _indices(system, device)
    allowed_delta = _target_delta(system, indices) if delta is None else checks.scalar("delta", delta, "(0, 1)")
    if participation_distinguishes(system, observer):
        return np.where(system.participation[indices] <= allowed_delta, 0.0, np.inf)[()]
    equivalent, model = mixture_model(system, observer)
    return least_epsilon(equivalent, indices, allowed_delta, model)[()]


def epsilon_bracket(
    system: Systems, *, device: ArrayLike | None = None, observer: Observer | str = Observer.AUTO
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bound of the least epsilon at the system's delta; the upper one is :func:`exact_epsilon`.

    The lower bound is the greatest of a few epsilons at which delta is proved to be exceeded. It is mostly a relative
    1e-9 below the upper bound, and farther below where the law of the others' noise is on a grid. For `signal` it is
    that of :func:`signal_bracket`.

    Examples
    --------
    >>> from airtight.analytics.inference.system import HomogeneousSystems
    >>> systems = HomogeneousSystems(devices=12, participation=[0.5, 0.9], noise_variance=0.1, weight=1/12, clip=5.0,
    ...     alignment=1.0, receiver_noise_variance=0.1, dimension=784, delta=1e-5)
    >>> low, high = epsilon_bracket(systems)
    >>> high.round(4), bool(np.all((low < high) & (high < low * (1 + 1e-8))))
    (array([154.7658,  12.0049]), True)
    """
    indices = _indices(system, device)
    allowed_delta = _target_delta(system, indices)
    if resolved(system, observer).sees_others and not participation_distinguishes(system, observer):
        equivalent, model = mixture_model(system, observer)
        lower, upper = build.epsilon_bracket(equivalent, indices, allowed_delta, model)
        return lower[()], upper[()]
    upper = np.asarray(exact_epsilon(system, device=indices, observer=observer))
    if not resolved(system, observer).sees_others:
        return signal_lower(system, upper, allowed_delta, indices), upper[()]
    return upper[()], upper[()]


def signal_bracket(
    system: InferenceSystem, *, delta: float | None = None, device: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bound of the least epsilon against a server that sees y alone, for all codes of the others.

    Parameters
    ----------
    system : InferenceSystem
    delta : float, optional
        In (0, 1); by default that of the system.
    device : int or array_like of int, optional
        Indices of the devices; all K by default.

    Returns
    -------
    lower, upper : ndarray or float
        The upper bound is that of `others`; a guarantee uses this bound. At the lower bound, delta is already exceeded
        for some codes of the others (:mod:`.signal_lower_bound`). The lower bound is the trivial 0 where the others' noise may
        almost vanish, and for all but the 16 devices with the greatest upper bounds, if more are unlike.

    Notes
    -----
    Where the others' noise does not depend on who takes part (idle noise, p_j in {0, 1}, others without noise) both
    bounds coincide: if the others send zero codes, y is then independent of the set S of participants among them.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=3, participation=0.3, noise_variance=0.5, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-3, delta_prime=1e-3, adjacency="silent")
    >>> low, high = signal_bracket(system, device=0)
    >>> float(low), float(high)
    (3.35208..., 3.47753...)
    """
    allowed_delta = system.delta if delta is None else checks.scalar("delta", delta, "(0, 1)")
    indices = device_indices(system, device)
    upper = np.asarray(exact_epsilon(system, delta=allowed_delta, device=indices, observer=Observer.OTHERS))
    return signal_lower(system, upper, allowed_delta, indices), upper[()]


def signal_lower(system: Systems, upper: FloatArray, allowed_delta: float | FloatArray, indices: IntArray) -> FloatArray:
    """The lower bound of :func:`signal_bracket` for the devices `which`, given their upper bounds at delta `total`."""
    distinct, index, inverse = np.unique(indices, return_index=True, return_inverse=True)
    lower, highest = np.zeros(distinct.size), np.ravel(upper)[index]
    deltas = np.broadcast_to(allowed_delta, indices.shape).ravel()[index]
    equivalent, model = mixture_model(system, Observer.OTHERS)
    negligible = float(np.min(deltas)) * _TRIMMED
    least = least_tested(equivalent, highest)
    for batch in participations(equivalent, distinct, negligible, model):
        batch_places = np.searchsorted(distinct, batch.devices)
        for row in np.unique(batch.kind):
            places = batch_places[batch.kind == row]
            epsilon_upper = float(highest[places[0]])
            if epsilon_upper < least:
                continue
            if not batch.slack and constant(batch, row):
                lower[places] = epsilon_at_least(
                    equivalent, batch.devices[batch.kind == row][:1], deltas[places[0]], highest[places[:1]], model
                )
            elif 0 < epsilon_upper < np.inf and (
                tests := _signal_tests(
                    equivalent, batch, row, int(batch.devices[batch.kind == row][0]), float(deltas[places[0]]), epsilon_upper
                )
            ):
                lower[places] = signal_lower_bound.least_epsilon(tests, float(deltas[places[0]]), epsilon_upper)
    return np.asarray(lower[inverse].reshape(indices.shape))[()]


def least_tested(system: Systems, upper: FloatArray) -> float:
    """The least upper bound of a device that has a lower one for `signal`, too; equal devices have equal bounds."""
    distinct = np.unique(upper) if isinstance(system, InferenceSystem) else upper[:0]
    return float(distinct[-TESTED]) if distinct.size > TESTED else -np.inf


def default_observer(system: Systems) -> Observer:
    """The observer that `auto` stands for."""
    seen_to_leave = system.adjacency is Adjacency.ABSENT or system.idle_noise
    return Observer.OTHERS if seen_to_leave else Observer.PARTICIPANTS


def resolved(system: Systems, observer: Observer | str | None) -> Observer:
    """The observer that is asked about; `auto` and None stand for the one of :func:`default_observer`."""
    requested = choice("observer", Observer.AUTO if observer is None else observer, Observer)
    return default_observer(system) if requested is Observer.AUTO else requested


def constant(part: NoiseMixture, row: int) -> bool:
    """Whether the others' noise has only one possible value."""
    if part.idle_noise:
        return True
    return bool(np.sum(part.weights[row] > 0) == 1) and part.missing[row] == 0


def _indices(system: Systems, indices: ArrayLike | None) -> IntArray:
    """The indices of devices of one system, or of systems among several."""
    if isinstance(system, InferenceSystem):
        return device_indices(system, indices)
    return np.arange(system.size) if indices is None else checks.integer("device", indices, f"[0, {system.size - 1}]")


def _indices_and_epsilon(system: Systems, device: ArrayLike | None, epsilon: ArrayLike) -> tuple[IntArray, FloatArray]:
    indices, eps = broadcast(device=_indices(system, device), epsilon=real("epsilon", epsilon, "[0, inf]"))
    return indices, eps


def _target_delta(system: Systems, indices: IntArray) -> float | FloatArray:
    """The delta of each of `which`."""
    return system.delta if isinstance(system, InferenceSystem) else system.delta[indices]


def participation_distinguishes(system: Systems, observer: Observer | str) -> bool:
    """Whether participation alone distinguishes the neighbours: one never takes part, and the observer sees this."""
    return resolved(system, observer).sees_device and system.adjacency is Adjacency.ABSENT


def _participation_delta(system: Systems, indices: IntArray) -> FloatArray:
    """delta where participation alone distinguishes the neighbours: its probability, for every epsilon."""
    return np.asarray(system.participation[indices], dtype=np.float64)


def mixture_model(system: Systems, observer: Observer | str) -> tuple[Systems, type[NoiseMixture]]:
    """An equivalent system, and the model under which its exact privacy is that of `system` against the observer."""
    if isinstance(system, InferenceSystem) and system.channel is not None:
        raise ParameterError("channel", "given", "counted by system_privacy, which asks about the system alone")
    if resolved(system, observer).sees_device:
        return (_at_receiver(system) if system.idle_noise else system), NoiseMixture
    hidden = system.adjacency is not Adjacency.ABSENT and not system.idle_noise
    return system, HiddenParticipationMixture if hidden else NoiseMixture


def _at_receiver(system: Systems) -> Systems:
    """The system with its idle noise moved to the receiver: the same signal, and participation may be visible."""
    system = system.normalised()
    if isinstance(system, HomogeneousSystems):
        noise = system.devices * system.received_noise_variance + system.receiver_noise_variance
        noise = noise * (1 - (system.devices + 8) * UNIT)
        return replace(system, idle_noise=False, noise_variance=np.zeros(system.size), receiver_noise_variance=noise)
    total = float(np.sum(system.received_noise_variance)) + system.receiver_noise_variance
    return replace(
        system,
        idle_noise=False,
        noise_variance=np.zeros(system.devices),
        receiver_noise_variance=total * (1 - (system.devices + 8) * UNIT),
    )
