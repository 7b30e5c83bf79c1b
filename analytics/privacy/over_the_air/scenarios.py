r"""Epsilon where participation is correlated by a scenario: day and night, a blockage that several devices share.

A scenario :math:`\Theta` is drawn once, independent of all data, and stays for all rounds; given it the rolls are independent, as
everywhere else, with the participations of the scenario. Let :math:`\delta_\theta` be delta of a device in scenario
:math:`\theta`, after all rounds.

**The server knows the scenario.** Its law is the same for neighbours, so delta of an order of the neighbours is the mean of
its :math:`\delta_\theta(\epsilon)`, and the mean :math:`\sum_\theta\pi_\theta\delta_\theta(\epsilon)` of the greater of both
orders is an upper bound. It is exact where one order is the greater in all scenarios: for visible ``silent`` and ``replace``,
where both are equal, and in one round for hidden ones among known others (:mod:`.uncertain_noise` has the proof). For named
colluders theorem 1 of docs/colluders.md holds in each scenario.

**The scenario is hidden.** Who is told the scenario learns no less, so the mean is an upper bound (joint convexity). Where
the server sees who sends, it is exact for ``silent`` and ``replace``: given the rolls, also those of colluders, y does not
depend on :math:`\Theta`, and the divergence is a mean over rolls, linear in their law. Where the participation of device k is
hidden its rolls may be guessed from those of the others, so that the system of the mean participations is no bound; nothing
is proved from below.

*Any m colluders*: the maximum over their sets of a mean is at most the mean of the maxima. From below the server is alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.accounting.numerical_composition import DEFAULT_RELATIVE_WIDTH
from airtight.analytics.privacy.accounting.privacy_curve import Bracket
from airtight.analytics.privacy.over_the_air import observers, system_privacy
from airtight.analytics.rounding import UNIT

_HALVINGS = 40  # of the interval between the least and the greatest epsilon of the scenarios
_SUM = 1e-9  # how far the probabilities may sum to something else than 1


def epsilon_over_scenarios(
    system: InferenceSystem, probability: ArrayLike, participation: ArrayLike, *, hidden: bool = True
) -> Bracket:
    """Lower and upper bound of each device's epsilon, where a scenario decides how often each device takes part.

    Parameters
    ----------
    system : InferenceSystem
        With its rounds, observer and colluders, whose participation the scenarios replace; without channel.
    probability : array_like, shape (n,)
        Of the scenarios; they sum to 1.
    participation : array_like, shape (n, K)
        In each scenario, of each device.
    hidden : bool
        Whether the scenario is hidden from the server.

    Examples
    --------
    Two devices that never take part together, and two that are drawn independently:

    >>> system = InferenceSystem(devices=2, participation=0.5, noise_variance=0.5, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.5, dimension=8, delta=1e-3, adjacency="silent", observer="participants")
    >>> alone = epsilon_over_scenarios(system, [0.5, 0.5], [[1, 0], [0, 1]])
    >>> alone.upper.round(3), system_privacy.epsilon(system).round(3)
    (array([2.913, 2.913]), array([2.704, 2.704]))
    """
    checks.instance("system", system, InferenceSystem)
    if system.channel is not None:
        raise ParameterError("channel", "given", "absent where participation is correlated")
    weights, rows = checked(probability, participation, system.devices)
    conditional = [system.replace(participation=row) for row in rows]
    ends = [system_privacy.epsilon_bracket(scenario) for scenario in conditional]
    if len(conditional) == 1:
        return ends[0]
    without_colluders = conditional
    if isinstance(system.colluding, int) and system.colluding:
        without_colluders = [scenario.replace(colluding=0) for scenario in conditional]
    slack = 4 * weights.size * UNIT  # of the mean's rounding

    def keeps(epsilon: FloatArray) -> NDArray[np.bool_]:
        above = weights @ np.array([system_privacy.delta_bracket(scenario, epsilon)[1] for scenario in conditional])
        return np.asarray(above * (1 + slack) <= system.delta)

    def may_keep(epsilon: FloatArray) -> NDArray[np.bool_]:
        below = weights @ np.array([system_privacy.delta_bracket(scenario, epsilon)[0] for scenario in without_colluders])
        return np.asarray(below * (1 - slack) <= system.delta)

    # at the greatest epsilon of the scenarios delta is kept in each
    upper = _crossed(np.zeros(system.devices), np.max([end.upper for end in ends], axis=0), keeps)[1]
    stays = system.adjacency is not Adjacency.ABSENT or system.idle_noise
    observer = observers.resolved(system, system.observer)
    exact = stays and observer.sees_others and (observer.sees_device or (not hidden and system.rounds == 1))
    lower = _crossed(np.zeros(system.devices), upper, may_keep)[0] if exact else np.zeros(system.devices)
    return Bracket.of(lower, upper, DEFAULT_RELATIVE_WIDTH)


def checked(probability: ArrayLike, participation: ArrayLike, devices: int) -> tuple[FloatArray, FloatArray]:
    """Both arguments of :func:`epsilon_over_scenarios` without the scenarios of probability 0."""
    weights = np.atleast_1d(checks.real("probability", probability, "[0, 1]"))
    if weights.ndim != 1 or not abs(float(np.sum(weights)) - 1) <= _SUM:
        raise ParameterError("probability", checks.array_text(weights), "probabilities of the scenarios, which sum to 1")
    rows = checks.real("participation", participation, "[0, 1]")
    if rows.shape != (weights.size, devices):
        allowed = f"{weights.size} rows, one for each scenario, of {devices} numbers"
        raise ParameterError("participation", checks.array_text(rows), allowed)
    drawn = weights > 0
    return weights[drawn] / np.sum(weights), rows[drawn]


def _crossed(
    low: FloatArray, high: FloatArray, keeps: Callable[[FloatArray], NDArray[np.bool_]]
) -> tuple[FloatArray, FloatArray]:
    """Where a test that is false at small epsilon becomes true: the last point where it is false, the first where it is true."""
    low, high = low.copy(), high.copy()
    for _ in range(_HALVINGS):
        open_ones = np.isfinite(high) & (high > low * (1 + DEFAULT_RELATIVE_WIDTH / 4))
        if not np.any(open_ones):
            break
        middle = np.where(open_ones, (low + high) / 2, np.where(np.isfinite(high), high, low))
        kept = keeps(middle)
        low, high = np.where(open_ones & ~kept, middle, low), np.where(open_ones & kept, middle, high)
    return low, high
