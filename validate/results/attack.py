"""The answers of ``attack``."""

from __future__ import annotations

from dataclasses import dataclass

from airtight.analytics.guarantee import Adjacency


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


@dataclass(frozen=True, kw_only=True)
class TrainingAttack:
    """What the likelihood-ratio attack on one client of federated training reaches.

    Attributes
    ----------
    mechanism : str
    adjacency, observer : str
        One client's updates are others in all rounds; the sums are seen, and who dropped out.
    delta : float
        Of all rounds together.
    rounds, clients, parameters : int
    runs : int
        Of the whole training under either neighbour.
    confidence : float
        Of each of the next two.
    attack : float
        Epsilon is not below it: with a client that sends one end of each parameter's interval, or the other.
    attack_on_data : float
        With a client that learns from its own samples, or from the same with other labels: no bound for others.
    exact : float
        Never below the truth, worst over all updates.
    published : float, optional
        Theorem 3 of CorBin-FL, of one round, where its condition holds.
    refuted : bool
        Whether more than that is shown.
    """

    mechanism: str
    adjacency: str = "replace"
    observer: str = "aggregate"
    delta: float
    rounds: int
    clients: int
    parameters: int
    runs: int
    confidence: float
    attack: float
    attack_on_data: float
    exact: float
    published: float | None
    refuted: bool
