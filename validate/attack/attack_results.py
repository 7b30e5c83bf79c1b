"""Results of ``attack``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airtight.analytics.guarantee import Adjacency, Face, Observer
from airtight.analytics.records import Record
from airtight.analytics.tidy import Entry


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
class AttackResult(Record):
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

    def tidy(self) -> dict[str, object]:
        """The numbers of a table; the attacks are lower bounds with the confidence."""
        rows: dict[str, Any] = {"epsilon": [], "delta": [], "attack": [], "attack_on_features": []}
        rows |= {"attack_at_claimed_delta": [], "refuted": []}

        def add(name: str, device: AttackedDevice, value: float | None, **facts: Any) -> None:
            if value is not None:
                devices = np.asarray(device.devices)
                rows[name].append(Entry(value=np.full(devices.size, float(value)), device=devices, **facts))

        printed: dict[str, Any] = {"face": Face.PUBLISHED, "observer": Observer.SIGNAL, "rounds": 1}
        for device in self.devices:
            add("epsilon", device, device.exact, face=Face.EXACT, rounds=self.rounds)
            add("epsilon", device, device.published_epsilon, **printed)
            add("delta", device, device.published_delta, **printed)
            for name in ("attack", "attack_on_features"):
                add(name, device, getattr(device, name), rounds=self.rounds)
            add("attack_at_claimed_delta", device, device.attack_at_published_delta, rounds=1)
            add("refuted", device, device.refuted)
        known = {"adjacency": self.adjacency, "delta_of_attack": self.delta}
        return {**known, "samples": self.samples, "confidence": self.confidence, **rows}


@dataclass(frozen=True, kw_only=True)
class TrainingAttack(Record):
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

    def tidy(self) -> dict[str, object]:
        """The numbers of a table; both attacks are lower bounds with the confidence."""
        asked: dict[str, Any] = {"observer": self.observer, "rounds": self.rounds}
        epsilon = [Entry(value=self.exact, face=Face.EXACT, **asked)]
        if self.published is not None:
            epsilon.append(Entry(value=self.published, face=Face.PUBLISHED, observer=self.observer, rounds=1))
        return {
            "mechanism": self.mechanism,
            "adjacency": self.adjacency,
            "delta": self.delta,
            "epsilon": epsilon,
            "attack": Entry(value=self.attack, **asked),
            "attack_on_data": Entry(value=self.attack_on_data, **asked),
            "confidence": self.confidence,
            "runs": self.runs,
            "refuted": self.refuted,
        }
