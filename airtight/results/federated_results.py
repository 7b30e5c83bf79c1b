"""Results for CorBin-FL: worst-case errors, central and local privacy, dropout, bits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from airtight.analytics.federated.corbin import (
    central_bound,
    central_privacy,
    communication,
    dropout,
    dropout_survivors,
    mean_estimation,
    quantizers,
)
from airtight.analytics.federated.corbin.central_privacy import Client, PublishedCentral
from airtight.analytics.federated.corbin.communication import Cost
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.few_bits import baselines
from airtight.analytics.guarantee import Adjacency, Face
from airtight.analytics.tidy import Entry

SQUARED = "square of the parameter's unit"
_MEAN, _UPLINK = "mean", "uplink"  # observers of the mean of all clients alone, and of what one client sends
_LEVEL = 0.01  # probability that the intervals of survivors and broken pairs miss


@dataclass(frozen=True, kw_only=True)
class WorstError:
    """Mean squared error of one parameter of the mean, for the worst updates, in squared units of the parameter.

    Attributes
    ----------
    ldp, laplace, gaussian : float
        Independent quantizers; additive noise of the same local privacy.
    corbin_published, augmented_published : float
        As the paper prints it, for paired clients only and with unpaired ones.
    corbin_worst, augmented_worst : float
        Exact for infinitely many shared bits.
    corbin_worst_finite_bits, augmented_worst_finite_bits : float
        Upper bounds for the bits of the system.
    """

    ldp: float
    corbin_published: float
    corbin_worst: float
    corbin_worst_finite_bits: float
    augmented_published: float
    augmented_worst: float
    augmented_worst_finite_bits: float
    laplace: float
    gaussian: float

    def tidy(self) -> dict[str, object]:
        """The numbers of the table: of infinitely many shared bits exact, of finitely many an upper bound."""

        def error(value: float, face: Face) -> Entry:
            return Entry(value=value, face=face, unit=SQUARED)

        return {
            "ldp": error(self.ldp, Face.EXACT),
            "corbin": [error(self.corbin_published, Face.PUBLISHED), error(self.corbin_worst, Face.EXACT)],
            "corbin_finite_bits": error(self.corbin_worst_finite_bits, Face.PROVEN),
            "augmented": [error(self.augmented_published, Face.PUBLISHED), error(self.augmented_worst, Face.EXACT)],
            "augmented_finite_bits": error(self.augmented_worst_finite_bits, Face.PROVEN),
            "laplace": error(self.laplace, Face.EXACT),
            "gaussian": error(self.gaussian, Face.EXACT),
        }

    @classmethod
    def of(cls, system: FederatedSystem) -> WorstError:
        n, bits, share = system.clients, system.shared_bits, system.ldp_fraction
        scale: dict[str, Any] = {"epsilon": system.epsilon, "radius": system.radius}
        return cls(
            ldp=float(mean_estimation.worst_ldp(n, **scale)),
            corbin_published=float(mean_estimation.published(n, **scale)),
            corbin_worst=float(mean_estimation.worst(n, **scale)),
            corbin_worst_finite_bits=float(mean_estimation.worst(n, bits=bits, **scale)),
            augmented_published=float(mean_estimation.published_augmented(n, fraction=share, **scale)),
            augmented_worst=float(mean_estimation.worst(n, independent=share, **scale)),
            augmented_worst_finite_bits=float(mean_estimation.worst(n, bits=bits, independent=share, **scale)),
            laplace=float(baselines.laplace_variance(**scale)) / n,
            gaussian=float(baselines.gaussian_variance(delta=system.delta, **scale)) / n,
        )


@dataclass(frozen=True, kw_only=True)
class UpdateEpsilon:
    """Exact epsilon of one client when only the mean is seen: of one parameter, of an update, of all rounds."""

    one_parameter: float
    update: float
    all_rounds: float


@dataclass(frozen=True, kw_only=True)
class Central:
    """Privacy against an observer who sees only the mean.

    Attributes
    ----------
    adjacency : Adjacency
    colluding : int
        Clients that help the observer, any so many; what is published counts none. A paired client is *exposed* where its
        partner helps.
    delta : float
    published_epsilon : float
        Theorem 3; infinite where its condition fails.
    published_condition : bool
    published_value : float
        Formula of Theorem 3, whether or not its condition holds.
    removal_delta : float
        delta of removing a client, at every epsilon.
    proven_epsilon_update : float
        Proven closed form, for the worst kind of client.
    exact_epsilon_one_parameter, exact_epsilon_update : float
        For the worst kind of client.
    local_epsilon_update : float
        Epsilon of a whole update by local privacy alone; infinite where a partner may help.
    clients : dict
        Exact epsilon of unpaired, paired and exposed clients, where there are any; of exposed ones an upper bound, exact for
        infinitely many shared bits.
    rounds : int
        Number of rounds T; the values above are those of one round.
    exact_epsilon_all_rounds, local_epsilon_all_rounds : float
        Epsilon of whole updates in all rounds, with delta for all rounds together.
    """

    adjacency: Adjacency
    colluding: int
    delta: float
    published_epsilon: float
    published_condition: bool
    published_value: float
    removal_delta: float
    proven_epsilon_update: float
    exact_epsilon_one_parameter: float
    exact_epsilon_update: float
    local_epsilon_update: float
    clients: dict[Client, UpdateEpsilon]
    rounds: int
    exact_epsilon_all_rounds: float
    local_epsilon_all_rounds: float

    def tidy(self) -> dict[str, object]:
        """The numbers of the table; for an update in all rounds only where there are several."""

        def epsilon(value: float, face: Face, rounds: int = 1, observer: str = _MEAN) -> Entry:
            return Entry(value=value, face=face, observer=observer, rounds=rounds)

        update = [
            epsilon(self.published_epsilon, Face.PUBLISHED),
            epsilon(self.proven_epsilon_update, Face.PROVEN),
            epsilon(self.exact_epsilon_update, Face.EXACT),
            epsilon(self.local_epsilon_update, Face.PROVEN, observer=_UPLINK),
        ]
        if self.rounds > 1:
            update.append(epsilon(self.exact_epsilon_all_rounds, Face.EXACT, self.rounds))
            update.append(epsilon(self.local_epsilon_all_rounds, Face.PROVEN, self.rounds, _UPLINK))
        clients = {
            client.value: {
                "epsilon_one_parameter": epsilon(kind.one_parameter, face),
                "epsilon_update": [epsilon(kind.update, face)]
                + ([epsilon(kind.all_rounds, face, self.rounds)] if self.rounds > 1 else []),
            }
            for client, kind in self.clients.items()
            for face in (Face.PROVEN if client is Client.EXPOSED else Face.EXACT,)
        }
        return {
            "adjacency": self.adjacency,
            "colluding": self.colluding or None,
            "delta": self.delta,
            "condition_of_theorem_3": self.published_condition,
            "formula_of_theorem_3": Entry(value=self.published_value, face=Face.PUBLISHED, observer=_MEAN, rounds=1),
            "removal_delta": Entry(value=self.removal_delta, face=Face.EXACT, observer=_MEAN, rounds=1),
            "epsilon_one_parameter": epsilon(self.exact_epsilon_one_parameter, Face.EXACT),
            "epsilon_update": update,
            **clients,
        }

    @classmethod
    def of(cls, system: FederatedSystem) -> Central:
        claim = PublishedCentral.of(system)
        among = dropout_survivors.kinds(system)
        uplink = np.inf if system.exposes_pairs else system.epsilon
        clients = {client: _exact(system, client, others) for client, others in among.items()}
        return cls(
            adjacency=Adjacency.REPLACE,
            colluding=system.colluding,
            delta=system.delta,
            published_epsilon=claim.epsilon if claim.condition else float("inf"),
            published_condition=claim.condition,
            published_value=claim.value,
            removal_delta=central_privacy.removal_delta(system.clients),
            proven_epsilon_update=max(_proven(system, client, others) for client, others in among.items()),
            exact_epsilon_one_parameter=max(kind.one_parameter for kind in clients.values()),
            exact_epsilon_update=max(kind.update for kind in clients.values()),
            local_epsilon_update=float(central_privacy.local_epsilon(uplink, system.parameters)),
            clients=clients,
            rounds=system.rounds,
            exact_epsilon_all_rounds=max(kind.all_rounds for kind in clients.values()),
            local_epsilon_all_rounds=float(central_privacy.local_epsilon(uplink, system.parameters * system.rounds)),
        )


def _proven(system: FederatedSystem, client: Client, others: int) -> float:
    return central_bound.proven(others, system.parameters, epsilon=system.epsilon, client=client, delta=system.delta)


def _exact(system: FederatedSystem, client: Client, others: int) -> UpdateEpsilon:
    """Exact epsilon of a client of one kind among so many unpaired others."""

    def epsilon(parameters: int, rounds: int) -> float:
        return central_privacy.update_epsilon(
            others,
            parameters,
            epsilon=system.epsilon,
            client=client,
            bits=system.shared_bits,
            delta=system.delta,
            rounds=rounds,
        )

    one_parameter = epsilon(1, 1)
    update = one_parameter if system.parameters == 1 else epsilon(system.parameters, 1)
    all_parameters = update if system.rounds == 1 else epsilon(system.parameters, system.rounds)
    return UpdateEpsilon(one_parameter=one_parameter, update=update, all_rounds=all_parameters)


@dataclass(frozen=True, kw_only=True)
class Server:
    """Privacy against the server, who sees both outputs of a pair.

    Attributes
    ----------
    adjacency : Adjacency
    delta_one_parameter : float
        The delta of one parameter that no finite epsilon goes below; 0 where there are no pairs that share bits.
    local_epsilon : float
        Epsilon of one parameter for an observer of one uplink; infinite where a partner may tell the shared bits.
    epsilon_one_parameter : float
        Infinite where pairs share bits.
    """

    adjacency: Adjacency
    delta_one_parameter: float
    local_epsilon: float
    epsilon_one_parameter: float

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        true: dict[str, Any] = {"face": Face.EXACT, "rounds": 1}
        return {
            "adjacency": self.adjacency,
            "delta_one_parameter": Entry(value=self.delta_one_parameter, observer="server", **true),
            "epsilon_one_parameter": [
                Entry(value=self.epsilon_one_parameter, observer="server", **true),
                Entry(value=self.local_epsilon, observer=_UPLINK, **true),
            ],
        }

    @classmethod
    def of(cls, system: FederatedSystem) -> Server:
        return cls(
            adjacency=Adjacency.REPLACE,
            delta_one_parameter=central_privacy.server_delta_floor(local=system.epsilon, bits=system.shared_bits)
            if system.pairs
            else 0.0,
            local_epsilon=np.inf if system.exposes_pairs else system.epsilon,
            epsilon_one_parameter=float("inf") if system.pairs else system.epsilon,
        )


@dataclass(frozen=True, kw_only=True)
class Dropout:
    """Error and privacy when each client is missing with some probability.

    Attributes
    ----------
    probability : float
    adjacency : Adjacency
    survivors, broken_pairs : tuple of int
        99 % intervals of the number of surviving clients, and of the number of pairs with one survivor.
    worst_mse : float
        Worst-case error of one parameter of the survivors' mean, an upper bound for the bits of the system.
    central_epsilon_one_parameter, central_epsilon_update : float
        Epsilon against an observer who sees only the survivors' mean.
    central_epsilon_all_rounds : float
        Epsilon of whole updates in T rounds, with fresh dropout in each round and delta for all rounds together.
    rounds : int
        T; the other values are those of one round.
    """

    probability: float
    adjacency: Adjacency
    survivors: tuple[int, int]
    broken_pairs: tuple[int, int]
    worst_mse: float
    central_epsilon_one_parameter: float
    central_epsilon_update: float
    central_epsilon_all_rounds: float
    rounds: int = field(repr=False)

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""

        def epsilon(value: float, rounds: int = 1) -> Entry:
            return Entry(value=value, upper=value, face=Face.PROVEN, observer=_MEAN, rounds=rounds)

        every = [epsilon(self.central_epsilon_all_rounds, self.rounds)] if self.rounds > 1 else []
        return {
            "adjacency": self.adjacency,
            "probability": self.probability,
            "survivors": {"least": self.survivors[0], "greatest": self.survivors[1]},
            "broken_pairs": {"least": self.broken_pairs[0], "greatest": self.broken_pairs[1]},
            "worst_mse": Entry(value=self.worst_mse, face=Face.PROVEN, unit=SQUARED),
            "epsilon_one_parameter": epsilon(self.central_epsilon_one_parameter),
            "epsilon_update": [epsilon(self.central_epsilon_update), *every],
        }

    @classmethod
    def of(cls, system: FederatedSystem) -> Dropout:
        n, p, paired = system.clients, system.dropout, 2 * system.pairs
        common: dict[str, Any] = {"epsilon": system.epsilon, "dropout": p, "independent": system.independent}
        observed: dict[str, Any] = {
            **common, "delta": system.delta, "bits": system.shared_bits, "colluding": system.colluding,
        }  # fmt: skip
        update = dropout.central_epsilon(n, system.parameters, **observed)
        return cls(
            probability=p,
            adjacency=Adjacency.REPLACE,
            survivors=dropout.survivors(n, dropout=p, level=_LEVEL),
            broken_pairs=dropout.broken_pairs(paired, dropout=p, level=_LEVEL) if paired else (0, 0),
            worst_mse=dropout.worst_mse(n, radius=system.radius, bits=system.shared_bits, **common),
            central_epsilon_one_parameter=dropout.central_epsilon(n, 1, **observed),
            central_epsilon_update=update,
            central_epsilon_all_rounds=update
            if system.rounds == 1
            else dropout.central_epsilon(n, system.parameters, rounds=system.rounds, **observed),
            rounds=system.rounds,
        )


@dataclass(frozen=True, kw_only=True)
class Bits:
    """Bits of one client and round."""

    UNITS: ClassVar[dict[str, str]] = dict.fromkeys(
        ("model", "key_exchange", "shared_randomness", "update", "total"), "bit"
    )

    model: int
    key_exchange: int
    shared_randomness: int
    update: int
    total: int

    @classmethod
    def of(cls, cost: Cost) -> Bits:
        return cls(
            model=cost.model,
            key_exchange=cost.key_exchange,
            shared_randomness=cost.shared_randomness,
            update=cost.update,
            total=cost.total,
        )


@dataclass(frozen=True, kw_only=True)
class Communication:
    """Communication as the paper counts it, with a stream cipher, and with the agreed key as seed."""

    published: Bits
    stream: Bits
    seeded: Bits

    @classmethod
    def of(cls, system: FederatedSystem) -> Communication:
        n, m, d = system.clients, system.parameters, system.shared_bits
        return cls(
            published=Bits.of(communication.published(n, m, bits=d)),
            stream=Bits.of(communication.stream(n, m, bits=d)),
            seeded=Bits.of(communication.seeded(n, m, bits=d)),
        )


@dataclass(frozen=True, kw_only=True)
class FederatedBounds:
    """All results for one system of federated learning.

    Attributes
    ----------
    alpha : float
        Distance of the outputs from the center, over the radius.
    clients_alone : int
        Number of clients without a partner.
    mse : WorstError
    central : Central
    server : Server
    dropout : Dropout
    communication : Communication
    """

    alpha: float
    clients_alone: int
    mse: WorstError
    central: Central
    server: Server
    dropout: Dropout
    communication: Communication

    @classmethod
    def of(cls, system: FederatedSystem) -> FederatedBounds:
        return cls(
            alpha=float(quantizers.alpha(system.epsilon)),
            clients_alone=system.alone,
            mse=WorstError.of(system),
            central=Central.of(system),
            server=Server.of(system),
            dropout=Dropout.of(system),
            communication=Communication.of(system),
        )
