"""The answer of ``attack``."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.guarantee import Adjacency


@dataclass(frozen=True, kw_only=True)
class AttackedDevice:
    """One device, or several that are alike; each number from samples holds with the confidence of the whole.

    Attributes
    ----------
    devices : list of int
    attack : float
        Epsilon at the system's delta is not below it.
    exact : float
        Never below the truth.
    attack_on_features : float, optional
        With the longest code of these devices in a data set, instead of the longest that the clip allows.
    published_epsilon, published_delta : float, optional
        Theorem 1 as printed, of one query.
    attack_at_published_delta : float, optional
        Epsilon at the published delta is not below it.
    refuted : bool
        Whether that is more than is published.
    """

    devices: list[int]
    attack: float
    exact: float
    attack_on_features: float | None
    published_epsilon: float | None
    published_delta: float | None
    attack_at_published_delta: float | None
    refuted: bool


@dataclass(frozen=True, kw_only=True)
class AttackResult:
    """What the optimal likelihood-ratio attack reaches.

    Attributes
    ----------
    adjacency : Adjacency
    delta : float
    rounds, samples : int
        Samples under either neighbour.
    confidence : float
        Of each number.
    devices : list of AttackedDevice
    """

    adjacency: Adjacency
    delta: float
    rounds: int
    samples: int
    confidence: float
    devices: list[AttackedDevice]
