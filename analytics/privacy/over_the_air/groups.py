r"""Privacy of a person who has several devices: all of them change at once.

Neighbours that differ in the devices of a group are the ends of a chain of neighbours, each of which differs in one device more.

Notes
-----
*Upper bound.* Let :math:`P_0, \dots, P_g` be the laws along the chain, and :math:`\delta_i` the curve of step i. For
:math:`\epsilon = \epsilon_1 + \dots + \epsilon_g` and every set A of outcomes

.. math:: P_0(A) \le e^{\epsilon_1}P_1(A) + \delta_1(\epsilon_1) \le \dots
          \le e^{\epsilon}P_g(A) + \sum_ie^{\epsilon_1 + \dots + \epsilon_{i-1}}\,\delta_i(\epsilon_i) .

The other order of the whole, from :math:`P_g` to :math:`P_0`, has the steps in the other order; as the curve of a step holds in
both, the greater of the two sums bounds both. Any split is a bound; the one that is returned is searched: step by step, a
share of what is left of delta is spent on a device, and the least epsilon that it affords is taken. Of Gaussian steps the
best split is the Gaussian curve of the sum of the mu.

A step is one device in the system as it is, for ``silent`` and ``replace``: the curve holds whatever the others send, a code of
0 or another one included, and the noise of all devices remains. For ``absent`` the devices that have left before take their
noise with them: they count as colluders, whose noise and signal are no help.

*Lower bound.* The group may change in one device alone. So it is the greatest epsilon of a member, towards an observer who sees
no more: who takes part of the group is hidden from ``others``, so that there the lower end for ``signal`` counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem, groups_of_devices
from airtight.analytics.privacy.accounting.numerical_composition import DEFAULT_RELATIVE_WIDTH
from airtight.analytics.privacy.accounting.privacy_curve import Bracket, PrivacyCurve, gaussian
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.over_the_air import observers, system_privacy
from airtight.analytics.rounding import UNIT

_SHARES = np.concatenate([np.geomspace(1e-6, 0.1, 16), np.linspace(0.15, 0.95, 17)])  # of delta, that a step is tried with
_LEAST = 1e-300  # delta from which on products keep their digits; less counts as nothing left
_ROUNDS = 4  # of the search, each of which changes the share of every step once


def group_epsilon(
    system: InferenceSystem,
    groups: Iterable[Sequence[int]],
    *,
    delta: float | None = None,
    rounds: int | None = None,
    observer: Observer | str | None = None,
) -> Bracket:
    """Epsilon of each group of devices, such as those of one person, after all rounds, between two bounds.

    They are proved, except where :func:`.system_privacy.estimated` says that the curves of the devices are estimates.

    Parameters
    ----------
    system : InferenceSystem
    groups : iterable of sequences of int
        Devices of each group. No device belongs to two groups; a device may belong to none.
    delta : float, optional
        In (0, 1), for all rounds together; by default that of the system.
    rounds, observer
        By default those of the system.

    Returns
    -------
    Bracket
        An entry for each group. Groups have no device in common, so each number holds for its group whatever the others are.

    Raises
    ------
    ParameterError
        For a device that is named twice, or that colludes; where the system has no curve (:func:`.system_privacy.curve`).

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=1.0, weight=1/12, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, adjacency="silent")
    >>> low, high = group_epsilon(system, [[0], [1, 2]])
    >>> low.round(3), high.round(3)
    (array([0.076, 0.076]), array([0.076, 0.162]))
    """
    allowed_delta = system.delta if delta is None else checks.scalar("delta", delta, "(0, 1)")
    resolved = observers.resolved(system, system.observer if observer is None else observer)
    hides_members = resolved is not Observer.PARTICIPANTS and system.adjacency is not Adjacency.ABSENT and not system.idle_noise
    bounds = []
    for group in groups_of_devices(system, groups):
        single_curves = [system_privacy.curve(system, device=k, rounds=rounds, observer=observer) for k in group]
        steps = single_curves
        if system.adjacency is Adjacency.ABSENT and not system.idle_noise:  # else their noise stays
            gone = (system.derived(colluding=(*_named(system), *group[:i])) for i in range(1, len(group)))
            successors = zip(gone, group[1:], strict=True)
            steps = single_curves[:1]
            steps += [system_privacy.curve(left, device=k, rounds=rounds, observer=observer) for left, k in successors]
        if len(group) > 1 and hides_members:
            ends = system_privacy.epsilon_bracket(
                system, delta=allowed_delta, rounds=rounds, device=group, observer=Observer.SIGNAL
            )  # fmt: skip
            lower = float(np.max(ends.lower))
        else:
            lower = max(float(curve.bracket(delta=allowed_delta).lower) for curve in single_curves)
        bounds.append((lower, chained_epsilon(steps, allowed_delta)))
    lower, upper = np.array(bounds).T
    return Bracket.of(lower, upper, DEFAULT_RELATIVE_WIDTH)


def chained_epsilon(curves: Sequence[PrivacyCurve], delta: float) -> float:
    """Epsilon at `delta` of the ends of a chain of neighbours, never below the truth; a curve for each step.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.privacy_curve import gaussian
    >>> chain = chained_epsilon([gaussian(0.5), gaussian(1.0)], 1e-5)
    >>> bool(gaussian(1.5).epsilon(1e-5) <= chain <= gaussian(1.5).epsilon(1e-5) * 1.01)
    True
    """
    if len(curves) == 1:
        return float(curves[0].epsilon(delta))
    releases = [curve.factors[0] for curve in curves if len(curve.factors) == 1]
    if len(releases) == len(curves) and all(isinstance(release, Gaussian) and n == 1 for release, n in releases):
        mu = sum(release.dominating_mu for release, _ in releases) * (1 + 4 * UNIT * len(releases))
        return float(gaussian(mu).epsilon(delta)) if mu < np.inf else np.inf  # of the sum of the mu
    return max(_searched(order, delta) for order in (curves, curves[::-1]))


def _searched(curves: Sequence[PrivacyCurve], delta: float) -> float:
    """The least bound found over shares of delta: each step spends its share of what is left, the last one all of it."""
    shares = np.full(len(curves) - 1, 0.5)
    best = np.inf
    for _ in range(_ROUNDS):
        before = best
        for i in range(shares.size):
            around = shares[i] * np.geomspace(0.5, 2.0, 9) if np.isfinite(best) else shares[i : i + 1]
            candidates = np.unique(np.clip(np.concatenate([_SHARES, around]), 1e-12, 1 - 1e-12))
            columns = [candidates if j == i else np.full(candidates.size, share) for j, share in enumerate(shares)]
            epsilons = _spent(curves, delta, columns)
            if np.min(epsilons) < best:
                best, shares[i] = float(np.min(epsilons)), candidates[int(np.argmin(epsilons))]
        if not best < before * (1 - 1e-4):
            break
    return best


def _spent(curves: Sequence[PrivacyCurve], delta: float, shares: Sequence[FloatArray]) -> FloatArray:
    """The sum of the epsilons of all steps, for shares in rows: a step has its share of what the earlier ones left."""
    left = np.full(shares[0].shape, delta)
    total = np.zeros(left.shape)
    for curve, share in zip(curves, shares, strict=False):
        spent = np.asarray(curve.epsilon(left * share * (1 - 4 * UNIT)))
        total = total + spent
        with np.errstate(under="ignore"):
            left = left * (1 - share) * np.exp(-spent) * (1 - 8 * UNIT)
    last = np.full(left.shape, np.inf)
    affordable = left >= _LEAST
    last[affordable] = curves[-1].epsilon(left[affordable])
    return np.asarray((total + last) * (1 + UNIT * (4 + len(curves))))


def _named(system: InferenceSystem) -> tuple[int, ...]:
    """The colluders of a system, which have to be named for its devices to leave one by one."""
    if isinstance(system.colluding, int) and system.colluding:
        raise ParameterError("colluding", system.colluding, "0 or a list of devices, for groups with absent devices")
    return tuple(np.flatnonzero(system.partners).tolist())
