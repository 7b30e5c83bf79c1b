r"""Rounds in one of several states that stays and is shown, while all else is drawn anew in every round.

The state s is independent of the data. Given s, the T rounds are a composition of T pairs, each dominated by the release of that
state. So for an observer who knows s

.. math:: \delta_T(\epsilon) \le \frac1n\sum_s\delta_T^{(s)}(\epsilon),

with equality where every round's pair is attained (data that is the same in every round). One who does not know s learns at
most as much: it has a function of what the other has. The mean is taken of delta in one order of the neighbours, and the greater
order counts.

*Accuracy.* For more than sixteen epsilons the curves of the states are read from laws of the total loss on grids, with absolute
errors of about 1e-12 each, which are added to the safe side. So delta below about 1e-11 has no finite epsilon here. For fewer
epsilons, as in :func:`delta_ends` of a few, each composition has an error that is relative to its delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.accounting.numerical_composition import Joint
from airtight.analytics.privacy.accounting.privacy_curve import merge_repeated
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Mechanism
from airtight.analytics.root_search import least_safe
from airtight.analytics.rounding import UNIT


def epsilon_ends(releases: Sequence[Mechanism], *, delta: float, rounds: int) -> tuple[float, float]:
    """Lower and upper bound of the least epsilon after T rounds in one of equally likely states.

    Parameters
    ----------
    releases : sequence of Mechanism
        The release of one round in each state, as a pair of laws.
    delta : float
        For all rounds together.
    rounds : int

    Examples
    --------
    >>> from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
    >>> low, high = epsilon_ends([Gaussian(0.5), Gaussian(0.5)], delta=1e-5, rounds=4)  # one release of mu = 1
    >>> bool(low <= 4.377178 <= high), bool(high - low < 0.01)
    (True, True)
    """
    states = _States.of(releases, rounds)
    high = least_safe(lambda epsilon: states.delta_bracket(epsilon)[1] <= delta, 1)
    if high == 0:
        return 0.0, 0.0
    return min(least_safe(lambda epsilon: states.delta_bracket(epsilon)[0] <= delta, 0), high), high


def delta_ends(releases: Sequence[Mechanism], epsilon: FloatArray, *, rounds: int) -> BracketArrays:
    """Lower and upper bound of the least delta at each epsilon after T rounds in one of equally likely states.

    Parameters
    ----------
    releases : sequence of Mechanism
        The release of one round in each state, as a pair of laws.
    epsilon : ndarray of float
        In [0, inf].
    rounds : int

    Examples
    --------
    >>> from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
    >>> low, high = delta_ends([Gaussian(0.5), Gaussian(0.5)], np.array([1.0]), rounds=4)  # one release of mu = 1
    >>> bool(low[0] <= 0.12693673750664397 <= high[0]), bool(high[0] - low[0] < 1e-3)
    (True, True)
    """
    return _States.of(releases, rounds).delta_bracket(epsilon)


@dataclass(frozen=True)
class _States:
    """The compositions in all states, and whether both orders of the neighbours have one curve."""

    joints: tuple[Joint, ...]
    symmetric: bool

    @classmethod
    def of(cls, releases: Sequence[Mechanism], rounds: int) -> _States:
        joints = tuple(Joint(merge_repeated(((release, rounds),))) for release in releases)
        return cls(joints, all(release.symmetric for release in releases))

    def delta_bracket(self, epsilon: FloatArray) -> BracketArrays:
        """Both ends of the greater order's mean of delta over the states."""
        orders = [
            np.mean([joint.delta_bracket(epsilon, reverse=reverse) for joint in self.joints], axis=0)
            for reverse in ((False,) if self.symmetric else (False, True))
        ]
        lower, upper = np.max(orders, axis=0)
        error = (len(self.joints) + 8) * UNIT  # of a sum of as many terms, and of the division
        return lower * (1 - error), np.minimum(upper * (1 + error), 1.0)
