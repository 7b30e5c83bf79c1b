"""Results of ``attack``."""

from __future__ import annotations

from dataclasses import dataclass

from airtight.analytics.guarantee import Adjacency


@dataclass(frozen=True, kw_only=True)
class AttackedDevice:
    """Result for one device, or for several equal ones; each number from samples holds with the confidence of the whole attack.

    Attributes
    ----------
    devices : list of int
    attack : float
        Lower bound of epsilon at the system's delta, from samples.
    exact : float
        Exact epsilon, never below the truth.
    attack_on_features : float, optional
        Lower bound for the longest code of these devices in a data set, instead of the longest that the clip allows.
    published_epsilon, published_delta : float, optional
        Theorem 1 as printed, for one query.
    attack_at_published_delta : float, optional
        Lower bound of epsilon at the published delta, from samples.
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
    """Result of the optimal likelihood-ratio attack.

    Attributes
    ----------
    adjacency : Adjacency
    delta : float
    rounds, samples : int
        Rounds attacked together, and samples under each neighbour.
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
    """Result of the likelihood-ratio attack on one client of federated training.

    Attributes
    ----------
    mechanism : str
    adjacency, observer : str
        Neighbours differ in the updates of one client in all rounds; the observer sees the sums and who dropped out.
    delta : float
        delta of all rounds together.
    rounds, clients, parameters : int
    runs : int
        Runs of the whole training under each neighbour.
    confidence : float
        Confidence of each of the two lower bounds.
    attack : float
        Lower bound of epsilon for a client that sends one end of each parameter's interval, or the other end.
    attack_on_data : float
        Lower bound for a client that learns from its own samples, or from the same samples with other labels.
    exact : float
        Exact epsilon of the worst updates, never below the truth.
    published : float, optional
        Theorem 3 of CorBin-FL for one round, where its condition holds.
    refuted : bool
        Whether the lower bound exceeds the published epsilon.
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
