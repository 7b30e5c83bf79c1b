r"""Privacy of device k against three observers: one sees who takes part, one sees which others do, one sees y alone.

====================== ================================== ================================== ==========================
observer               ``absent``                         ``silent``, ``replace``            any, idle noise
====================== ================================== ================================== ==========================
participants           delta = p_k for every epsilon      exact (FDP-T1b)                    :math:`p\,\delta_G` at the
                                                                                             constant noise; ``absent``
                                                                                             delta = p_k
others                 exact (FDP-T1a)                    :mod:`.hidden_participation`       exact (FDP-T1d)
signal, upper end      as others                          as others                          as others
====================== ================================== ================================== ==========================

"Exact" is :mod:`airtight.analytics.privacy.over_the_air.amplification`. Each observer sees what the next one sees and
more, so what protects against it protects against the next (post-processing). For `signal` the others' codes shift y by
what the server cannot subtract; which codes are worst is open, so the answer is an interval: :func:`signal_bracket`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, broadcast, choice, real
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.homogeneous import HomogeneousSystems
from airtight.analytics.inference.system import InferenceSystem, device_indices
from airtight.analytics.privacy.over_the_air import mixtures, signal_lower_bound
from airtight.analytics.privacy.over_the_air.hidden_mixtures import Unseen
from airtight.analytics.privacy.over_the_air.mixtures import (
    Systems,
    delta_at_most,
    delta_bracket,
    epsilon_at_least,
    least_epsilon,
    participations,
)
from airtight.analytics.privacy.over_the_air.noise_mixture import Participation
from airtight.analytics.rounding import UNIT

_TRIMMED = 1e-6  # share of delta that the lower end may lose with rare values of the others' noise


def exact_delta(
    system: Systems,
    epsilon: ArrayLike,
    *,
    observer: Observer | str = Observer.AUTO,
    device: ArrayLike | None = None,
) -> FloatArray:
    r"""delta(epsilon) of a device against an observer, worst of both directions; for `signal` the upper end.

    Parameters
    ----------
    system : InferenceSystem or HomogeneousSystems
    epsilon : array_like
        At least 0; broadcast against the devices (of many systems, against the systems).
    observer : {"auto", "participants", "others", "signal"}
    device : int or array_like of int, optional
        Which devices; all K by default.

    Returns
    -------
    ndarray or float
        The upper end of :func:`exact_delta_bracket`, at half its cost.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=20, participation=[0.1] + 19 * [1.0], noise_variance=0.1, weight=0.316, clip=1.0,
    ...     alignment=1.0, receiver_noise_variance=0.0, dimension=64, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> [float(exact_delta(system, 0.5, observer=o, device=0)) for o in ("participants", "others")]
    [0.00012525..., 2.7278...e-10]
    """
    which, eps = _asked_at(system, device, epsilon)
    if roll_call(system, observer):
        upper = _told_apart(system, which)
    else:
        meant, model = modelled(system, observer)
        upper = delta_at_most(meant, which.ravel(), eps.ravel(), model)
    return upper.reshape(eps.shape)[()]


def exact_delta_bracket(
    system: Systems,
    epsilon: ArrayLike,
    *,
    observer: Observer | str = Observer.AUTO,
    device: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends of delta(epsilon) against an observer.

    Against `signal` delta is the supremum over the others' codes: the upper end is that of `others`, the lower one what zero
    codes of the others already give away (:mod:`airtight.analytics.privacy.over_the_air.signal_lower_bound`). It is 0,
    which says nothing, where the law of the others' noise is not exact, has more than 512 values, or may be 0.

    Proved where :func:`airtight.analytics.privacy.over_the_air.amplification.exact_delta_bracket` is what is meant; of
    a hidden ``silent`` or ``replace`` device the error of the quadrature is stated
    (:mod:`airtight.analytics.privacy.over_the_air.hidden_participation`), some 1e-11 of delta.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=3.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
    >>> low, high = exact_delta_bracket(system, 3.161, observer="signal", device=0)
    >>> float(low.round(4)), float(high.round(4))
    (0.0177, 0.0934)
    """
    which, eps = _asked_at(system, device, epsilon)
    if roll_call(system, observer):
        lower = upper = _told_apart(system, which)
    else:
        meant, model = modelled(system, observer)
        lower, upper = delta_bracket(meant, which.ravel(), eps.ravel(), model)
        if choice("observer", observer, Observer) is Observer.SIGNAL:
            lower = np.minimum(_signal_delta(meant, model, which.ravel(), eps.ravel(), lower, upper), upper)
    return lower.reshape(eps.shape)[()], upper.reshape(eps.shape)[()]


def _signal_delta(
    meant: Systems, model: type[Participation], which: IntArray, eps: FloatArray, others: FloatArray, upper: FloatArray
) -> FloatArray:
    """The lower end for a server that sees y alone; `others`, `upper` are both ends for who knows the others' participation."""
    found = np.zeros(which.shape)
    distinct, back = np.unique(which, return_inverse=True)
    negligible = float(np.min(upper[upper > 0], initial=1.0)) * _TRIMMED
    for part in participations(meant, distinct, negligible, model):
        rows = dict(zip(part.devices.tolist(), part.kind.tolist(), strict=True))
        mixtures_of = {
            row: signal_lower_bound.Mixture.of(part, row) for row in set(rows.values()) if not constant(part, row)
        }
        same: dict[tuple[int, float], float] = {}
        for place, device in enumerate(distinct[back].tolist()):
            row = rows.get(device)
            if row is None or not upper[place] > 0:
                continue
            if row not in mixtures_of:
                found[place] = 0.0 if part.slack else others[place]
            elif (mixture := mixtures_of[row]) is not None:
                key = row, float(eps[place])
                if key not in same:
                    same[key] = mixture.delta(key[1], 1e-4 * float(upper[place]))
                found[place] = same[key]
    return found


def exceeds(
    system: InferenceSystem,
    epsilon: float,
    *,
    device: int,
    observer: Observer | str = Observer.AUTO,
    quieter: bool = False,
) -> bool:
    """Whether delta(epsilon) of a device against an observer is proved to be above the system's delta.

    By the lower end of :func:`exact_delta_bracket`, mostly at a tenth of its cost; not for `signal`.

    Parameters
    ----------
    quieter : bool
        Whether it is so with all lower noises of the devices too, by one threshold
        (:mod:`airtight.analytics.privacy.over_the_air.threshold_bound`); for an ``absent`` device, and one that hides
        its silence.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
    >>> [exceeds(system, at, device=0) for at in (12.0, 12.01)], exceeds(system, 0.1, device=0, quieter=True)
    ([True, False], True)
    """
    if roll_call(system, observer):
        return bool(_told_apart(system, np.array([device]))[0] > system.delta)
    meant, model = modelled(system, observer)
    shown = mixtures.exceeds_quieter if quieter else mixtures.exceeds
    return shown(meant, device, epsilon, system.delta, model)


def exact_epsilon(
    system: Systems,
    *,
    delta: float | None = None,
    device: ArrayLike | None = None,
    observer: Observer | str = Observer.AUTO,
) -> FloatArray:
    """Least epsilon with delta(epsilon) <= delta against an observer, never below the truth; for `signal` the upper end.

    Parameters
    ----------
    system : InferenceSystem or HomogeneousSystems
        Of many systems, all are solved together, each for one of its devices.
    delta : float, optional
        In (0, 1); the system's by default.
    device : int or array_like of int, optional
        Which devices; all K by default. Of many systems, which systems.
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
    which = _asked(system, device)
    total = _spent(system, which) if delta is None else checks.scalar("delta", delta, "(0, 1)")
    if roll_call(system, observer):
        return np.where(system.participation[which] <= total, 0.0, np.inf)[()]
    meant, model = modelled(system, observer)
    return least_epsilon(meant, which, total, model)[()]


def epsilon_bracket(
    system: Systems, *, device: ArrayLike | None = None, observer: Observer | str = Observer.AUTO
) -> tuple[FloatArray, FloatArray]:
    """The least epsilon at the system's delta lies between these; the upper end is :func:`exact_epsilon`.

    The lower end is the nearest at which delta is shown to be exceeded: mostly 1e-9 below the upper one, relative, and less near
    where the law of the others' noise is on a grid; for `signal` that of :func:`signal_bracket`.

    Examples
    --------
    >>> from airtight.analytics.inference.homogeneous import HomogeneousSystems
    >>> systems = HomogeneousSystems(devices=12, participation=[0.5, 0.9], noise_variance=0.1, weight=1/12, clip=5.0,
    ...     alignment=1.0, receiver_noise_variance=0.1, dimension=784, delta=1e-5)
    >>> low, high = epsilon_bracket(systems)
    >>> high.round(4), bool(np.all((low < high) & (high < low * (1 + 1e-8))))
    (array([154.7658,  12.0049]), True)
    """
    which = _asked(system, device)
    upper = np.asarray(exact_epsilon(system, device=which, observer=observer))
    total = _spent(system, which)
    if choice("observer", observer, Observer) is Observer.SIGNAL:
        return signal_lower(system, upper, total, which), upper[()]
    if roll_call(system, observer):
        return upper[()], upper[()]
    meant, model = modelled(system, observer)
    return epsilon_at_least(meant, which, total, upper, model)[()], upper[()]


def signal_bracket(
    system: InferenceSystem, *, delta: float | None = None, device: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    r"""The least epsilon against a server that sees y alone lies between these, whatever the others' codes.

    Parameters
    ----------
    system : InferenceSystem
    delta : float, optional
        In (0, 1); the system's by default.
    device : int or array_like of int, optional
        Which devices; all K by default.

    Returns
    -------
    lower, upper : ndarray or float
        The upper end is that of `others`, and the one that a guarantee uses. At the lower one the zero codes of the others
        already give away more than delta (:mod:`airtight.analytics.privacy.over_the_air.signal_lower_bound`); it is 0,
        which says nothing, where the law of the others' noise is not exact, has more than 512 values, or may be 0.

    Notes
    -----
    Where the others' noise does not depend on who takes part (idle noise, p_j in {0, 1}, others without noise) both coincide:
    given zero codes, S then tells nothing of y.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=3, participation=0.3, noise_variance=0.5, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-3, delta_prime=1e-3, adjacency="silent")
    >>> low, high = signal_bracket(system, device=0)
    >>> float(low), float(high)
    (2.1033..., 3.47753...)
    """
    total = system.delta if delta is None else checks.scalar("delta", delta, "(0, 1)")
    which = device_indices(system, device)
    upper = np.asarray(exact_epsilon(system, delta=total, device=which, observer=Observer.OTHERS))
    return signal_lower(system, upper, total, which), upper[()]


def signal_lower(system: Systems, upper: FloatArray, total: float | FloatArray, which: IntArray) -> FloatArray:
    """The lower end of :func:`signal_bracket` for the devices `which`, their upper ends at delta `total` known."""
    distinct, index, back = np.unique(which, return_index=True, return_inverse=True)
    lower, highest = np.zeros(distinct.size), np.ravel(upper)[index]
    spent = np.broadcast_to(total, which.shape).ravel()[index]
    meant, model = modelled(system, Observer.OTHERS)
    negligible = float(np.min(spent)) * _TRIMMED
    for part in participations(meant, distinct, negligible, model):
        place = np.searchsorted(distinct, part.devices)
        for row in np.unique(part.kind):
            at = place[part.kind == row]
            most = float(highest[at[0]])
            if not part.slack and constant(part, row):
                lower[at] = epsilon_at_least(
                    meant, part.devices[part.kind == row][:1], spent[at[0]], highest[at[:1]], model
                )
            elif 0 < most < np.inf and (mixture := signal_lower_bound.Mixture.of(part, row)) is not None:
                lower[at] = signal_lower_bound.least_epsilon(mixture, float(spent[at[0]]), most)
    return np.asarray(lower[back].reshape(which.shape))[()]


def meaning(system: Systems) -> Observer:
    """The observer that `auto` stands for."""
    seen_to_leave = system.adjacency is Adjacency.ABSENT or system.idle_noise
    return Observer.OTHERS if seen_to_leave else Observer.PARTICIPANTS


def constant(part: Participation, row: int) -> bool:
    """Whether one value of the others' noise is all there is."""
    if part.idle_noise:
        return True
    return bool(np.sum(part.weights[row] > 0) == 1) and part.missing[row] == 0


def _asked(system: Systems, which: ArrayLike | None) -> IntArray:
    """The devices of a system, or the systems of many."""
    if isinstance(system, InferenceSystem):
        return device_indices(system, which)
    return np.arange(system.size) if which is None else checks.integer("device", which, f"[0, {system.size - 1}]")


def _asked_at(system: Systems, device: ArrayLike | None, epsilon: ArrayLike) -> tuple[IntArray, FloatArray]:
    which, eps = broadcast(device=_asked(system, device), epsilon=real("epsilon", epsilon, "[0, inf]"))
    return which, eps


def _spent(system: Systems, which: IntArray) -> float | FloatArray:
    """delta of each of `which`."""
    return system.delta if isinstance(system, InferenceSystem) else system.delta[which]


def roll_call(system: Systems, observer: Observer | str) -> bool:
    """Whether the neighbour is told by the roll alone: it never takes part, and the observer sees who does."""
    seen = choice("observer", observer, Observer) is Observer.PARTICIPANTS
    return seen and system.adjacency is Adjacency.ABSENT


def _told_apart(system: Systems, which: IntArray) -> FloatArray:
    """delta where the roll tells, whatever epsilon: that the device takes part."""
    return np.asarray(system.participation[which], dtype=np.float64)


def modelled(system: Systems, observer: Observer | str) -> tuple[Systems, type[Participation]]:
    """A system whose exact privacy, under the model, is that of `system` against the observer."""
    kind = choice("observer", observer, Observer)
    if kind is Observer.AUTO:
        return system, Participation
    if kind is Observer.PARTICIPANTS:
        return (_at_receiver(system) if system.idle_noise else system), Participation
    hidden = system.adjacency is not Adjacency.ABSENT and not system.idle_noise
    return system, Unseen if hidden else Participation


def _at_receiver(system: Systems) -> Systems:
    """Idle noise, all of it moved to the receiver: the same signal, and a participation that may be shown."""
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
