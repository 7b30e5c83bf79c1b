"""What a result says first: is the system private, is it useful, against whom, and which devices never send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.results.numerals import plain, prose, rounded_down, rounded_up, rounds

if TYPE_CHECKING:
    from airtight.analytics.privacy.over_the_air.meter import Meter
    from airtight.system_file.contents import Uncertainty

# Epsilon above which a system is called not private: an attacker's odds may change by e^10 = 22,000. Ponomareva et al., How to
# DP-fy ML (2023), end their second tier, "reasonable privacy", here.
PRIVATE = 10.0
ESTIMATE = "Epsilon is an estimate here (docs/accuracy.md)."
_NOTHING = "such an epsilon guarantees practically nothing"
TELLING = 0.8  # detections less false alarms of a proved attack: nine guesses of ten are right at even odds
NEIGHBOURS = {
    Adjacency.ABSENT: "a device is gone, and its noise too",
    Adjacency.SILENT: "a device sends noise instead of its feature",
    Adjacency.REPLACE: "a device sends another feature",
}
SERVERS = {
    Observer.PARTICIPANTS: "a server, even one that sees who sends",
    Observer.OTHERS: "a server that sees which other devices send",
    Observer.SIGNAL: "a server that sees the signal alone",
}


def never_send(system: InferenceSystem) -> list[int]:
    """The devices that never send (:attr:`.InferenceSystem.never_sends`), so that any noise would seem to protect them.

    Examples
    --------
    >>> never_send(InferenceSystem(devices=3, participation=[0.9, 0.0, 1e-6], noise_variance=0.1, weight=0.3, clip=1.0,
    ...     alignment=1.0, receiver_noise_variance=0.1, dimension=8, delta=1e-5))
    [1, 2]
    """
    return [int(k) for k in np.flatnonzero(system.never_sends)]


def who_sends(system: InferenceSystem) -> str:
    """A sentence on which devices send."""
    silent, count, p = never_send(system), system.devices, system.participation
    if len(silent) == count:
        return "No device ever sends: nothing is learned, and nothing is protected."
    if silent:
        reason = "their power does not suffice" if system.power_decides else "their probability of sending is at most delta"
        return f"{len(silent)} of {count} devices never send: {devices(silent)} ({reason})."
    if np.all(p == 1):
        return f"All {count} devices always send."
    low, high = (f"{value:.3g}" for value in (np.min(p), np.max(p)))
    if low == "1":  # though not all of them always send
        return f"{count} devices send with probability at least {rounded_down(float(np.min(p)), 3)}."
    return f"{count} devices send with probability {low}{'' if low == high else f' to {high}'}."


def devices(indices: Sequence[int]) -> str:
    """Indices of devices as text, in runs.

    Examples
    --------
    >>> devices([3]), devices([0, 1, 2, 7])
    ('device 3', 'devices 0-2, 7')
    """
    runs: list[list[int]] = []
    for k in indices:
        if runs and runs[-1][-1] == k - 1:
            runs[-1].append(k)
        else:
            runs.append([k])
    text = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"device{'' if len(indices) == 1 else 's'} {text}"


def of_privacy(system: InferenceSystem, epsilon: FloatArray, *, attacked: bool = True) -> str:
    """The verdict on the worst epsilon after all rounds, without a full stop; an attack on the system is tried if `attacked`."""
    epsilon, honest = np.atleast_1d(epsilon), np.flatnonzero(~system.partners)
    worst = int(honest[np.argmax(epsilon[honest])])
    value = float(epsilon[worst])
    if not np.isfinite(value):
        return f"NOT PRIVATE (no finite epsilon, device {worst})"
    if np.ptp(epsilon[honest]) == 0:
        of = f"all {'' if honest.size == system.devices else 'other '}devices" if honest.size > 1 else "the device"
    else:
        senders = epsilon[~system.partners & ~system.never_sends]  # silence is no protection, and lowers no median
        of = f"worst device {worst}; median {rounded_up(float(np.median(senders)))}"
    if value > PRIVATE:
        leaks = _leaks(system, worst) if attacked else _NOTHING
        return f"NOT PRIVATE (epsilon {rounded_up(value)}, {of}): {leaks}"
    return f"PRIVATE (epsilon {rounded_up(value)}, {of})"


def _leaks(system: InferenceSystem, device: int) -> str:
    """What a great epsilon means: a proved attack of one round, or that nothing is guaranteed."""
    from airtight.analytics.privacy.over_the_air import system_privacy

    advantage, _ = system_privacy.delta_bracket(system, 0.0, rounds=1, device=device)
    if float(advantage) >= TELLING:
        return "the server learns practically everything"
    return _NOTHING


def of_use(error: float | None, constant: float | None, worst: tuple[float, float] | None = None) -> str:
    """The verdict on the error beside that of the constant answer: the best one that ignores the signal.

    Without features both are those of the worst codes within the clips, `worst`.

    Examples
    --------
    >>> of_use(1.9286, 8.2473), of_use(2104.4, 2104.4)
    ('USEFUL (error 1.93; a constant answer: 8.25)', 'USELESS (error 2104.4; a constant answer: 2104.4)')
    """
    if error is not None and constant is not None:
        error_text, constant_text = prose(error), prose(constant)
        if error_text == constant_text:  # what decides is not to look equal
            error_text, constant_text = plain(error, 9), plain(constant, 9)
        return f"{'USEFUL' if error < constant else 'USELESS'} (error {error_text}; a constant answer: {constant_text})"
    if worst is None:
        return "usefulness unknown: no [inference.features]"
    greatest_error, constant_output = worst
    digits = 4 if rounded_up(greatest_error) != rounded_up(constant_output) else 9
    numbers = f"error at most {rounded_up(greatest_error, digits)}; a constant answer: {plain(constant_output, digits)}"
    if greatest_error < constant_output:
        return f"USEFUL for any codes within the clips ({numbers})"
    return f"usefulness depends on the codes: add [inference.features] (worst codes: {numbers})"


def of_question(system: InferenceSystem) -> str:
    """After how many rounds, at which delta, for which neighbours and against whom epsilon holds."""
    from airtight.analytics.privacy.over_the_air import observers

    observer = observers.resolved(system, system.observer)
    channel_note = "" if system.channel is None else " Epsilon counts the fading and all antennas."
    against = server(observer, helpers(system))
    after = f"After {rounds(system.rounds)}, delta {plain(system.delta)}, against {against}."
    return f"{after} {neighbours(system.adjacency)}{channel_note}"


def server(observer: Observer, helped: str = "") -> str:
    """Against whom epsilon holds: what the server sees, and who helps it."""
    return SERVERS[observer] + (f", with the help of {helped}" if helped else "")


def neighbours(adjacency: Adjacency) -> str:
    """What the neighbours of an adjacency are, as a sentence."""
    return f"Neighbours ({adjacency}): {NEIGHBOURS[adjacency]}."


def helpers(system: InferenceSystem | Meter) -> str:
    """The devices that help the server, in words; nothing where none does.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5, colluding=2)
    >>> helpers(system), helpers(system.replace(colluding=[3, 7])), helpers(system.replace(colluding=0))
    ('any 2 of the other 11 devices', 'devices 3, 7', '')
    """
    if not isinstance(system.colluding, int):
        return devices(system.colluding)
    others = f"of the other {system.devices - 1} devices"
    return {0: "", 1: f"any one {others}"}.get(system.colluding, f"any {system.colluding} {others}")


def of_system(
    system: InferenceSystem,
    epsilon: FloatArray,
    error: float | None,
    constant: float | None,
    worst: tuple[float, float] | None,
    uncertainty: Uncertainty | None = None,
) -> list[str]:
    """The sentences of a system: verdict, question, who sends.

    Parameters
    ----------
    epsilon : ndarray, shape (K,)
        After all rounds, against the system's observer.
    error, constant : float, optional
        Mean squared error, and that of the best answer that ignores the signal.
    worst : (float, float), optional
        The same two numbers of the worst codes, where there is no error.
    uncertainty : NoiseRange or Scenarios, optional
        What epsilon counts beside the system.
    """
    if np.all(system.never_sends | system.partners):  # nobody's protection is asked
        return [who_sends(system)]
    verdict = of_privacy(system, epsilon, attacked=uncertainty is None)  # the attack is one on the nominal system
    return sentences(f"{verdict}; {of_use(error, constant, worst)}.", system, uncertainty)


def sentences(verdict: str, system: InferenceSystem, uncertainty: Uncertainty | None = None) -> list[str]:
    """The verdict, the question that it answers and whether epsilon is an estimate, and who sends."""
    from airtight.analytics.privacy.over_the_air import system_privacy

    estimated = system_privacy.estimated(system) if uncertainty is None else uncertainty.estimated(system)
    counted = "" if uncertainty is None else f" {uncertainty.sentence}"
    return [verdict, of_question(system) + counted + (f" {ESTIMATE}" if estimated else ""), who_sends(system)]
