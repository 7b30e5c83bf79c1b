"""The results of the command ``attack``."""

from __future__ import annotations

from dataclasses import dataclass

from airtight.analytics.guarantee import Adjacency


@dataclass(frozen=True, kw_only=True)
class AttackedDevice:
    """Lower bounds of epsilon for one device, or for several equal devices, each with the confidence of the result.

    Attributes
    ----------
    devices : list of int
    attack : float
        Lower bound of epsilon at the system's delta.
    exact : float
        Exact epsilon, rounded up.
    attack_on_features : float, optional
        The same lower bound with the longest code of these devices in a data set instead of the longest that the clip
        allows.
    published_epsilon, published_delta : float, optional
        Theorem 1 as printed, for one query.
    attack_at_published_delta : float, optional
        Lower bound of epsilon at the published delta.
    refuted : bool
        Whether this lower bound exceeds the published epsilon.
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
    """Lower bounds of epsilon by the optimal likelihood-ratio attack.

    Attributes
    ----------
    adjacency : Adjacency
    delta : float
    rounds, samples : int
        Number of rounds; number of samples under each neighbour.
    confidence : float
        Confidence of each lower bound.
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
    """Lower bounds of epsilon by the likelihood-ratio attack on one client of federated training.

    Attributes
    ----------
    mechanism : str
    adjacency, observer : str
        Neighbours differ in one client's updates in all rounds; the observer sees the sums, and who dropped out.
    delta : float
        Delta for all rounds together.
    rounds, clients, parameters : int
    runs : int
        Runs of the whole training under each neighbour.
    confidence : float
        Confidence of each of the next two lower bounds.
    attack : float
        Lower bound of epsilon, from a client that sends the lower ends of all parameters' intervals, or the upper ends.
    attack_on_data : float
        Lower bound of epsilon, from a client that trains on its own samples, or on the same with other labels.
    exact : float
        Exact epsilon for the worst updates, rounded up.
    published : float, optional
        Theorem 3 of CorBin-FL for one round, where its condition holds.
    refuted : bool
        Whether a lower bound exceeds the published epsilon.
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
