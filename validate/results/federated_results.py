"""What CorBin-FL costs and protects: errors in the worst case, central and local privacy, dropout, bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airtight.analytics.federated.corbin import (
    central_bound,
    central_privacy,
    communication,
    dropout,
    mean_estimation,
    quantizers,
)
from airtight.analytics.federated.corbin.central_privacy import Client, PublishedCentral
from airtight.analytics.federated.corbin.communication import Cost
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.few_bits import baselines
from airtight.analytics.guarantee import Adjacency

_LEVEL = 0.01  # what the intervals of survivors and broken pairs miss


@dataclass(frozen=True, kw_only=True)
class WorstError:
    """Mean squared error of one parameter of the mean, greatest over the updates, in squared units of the parameter.

    Attributes
    ----------
    ldp, laplace, gaussian : float
        Independent quantizers; additive noise of the same local privacy.
    corbin_published, augmented_published : float
        As the paper prints it, all clients paired and with those alone.
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
    """Exact epsilon of one client against who sees only the mean: of one parameter, its whole update, and all its updates."""

    one_parameter: float
    update: float
    all_rounds: float


@dataclass(frozen=True, kw_only=True)
class Central:
    """Privacy against who sees only the mean.

    Attributes
    ----------
    adjacency : Adjacency
    delta : float
    published_epsilon : float
        Theorem 3; infinite where its condition fails.
    published_condition : bool
    published_value : float
        Theorem 3's formula whatever its condition.
    removal_delta : float
        delta of removing a client, at every epsilon.
    proven_epsilon_update : float
        In closed form, of the worse kind of client.
    exact_epsilon_one_parameter, exact_epsilon_update : float
        Of the worse kind of client.
    local_epsilon_update : float
        What local privacy alone gives a whole update.
    clients : dict
        Exact, of either kind of client that there is.
    rounds : int
        T; the rest speaks of one.
    exact_epsilon_all_rounds, local_epsilon_all_rounds : float
        Of whole updates in each of them, with delta for all together.
    """

    adjacency: Adjacency
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

    @classmethod
    def of(cls, system: FederatedSystem) -> Central:
        claim = theorem_3(system)
        among = {}  # how many others quantize alone
        if system.alone > 0:
            among[Client.UNPAIRED] = system.alone - 1
        if system.pairs > 0:
            among[Client.PAIRED] = system.alone
        clients = {client: _exact(system, client, others) for client, others in among.items()}
        return cls(
            adjacency=Adjacency.REPLACE,
            delta=system.delta,
            published_epsilon=claim.epsilon if claim.condition else float("inf"),
            published_condition=claim.condition,
            published_value=claim.value,
            removal_delta=central_privacy.removal_delta(system.clients),
            proven_epsilon_update=max(_proven(system, client, others) for client, others in among.items()),
            exact_epsilon_one_parameter=max(kind.one_parameter for kind in clients.values()),
            exact_epsilon_update=max(kind.update for kind in clients.values()),
            local_epsilon_update=float(central_privacy.local_epsilon(system.epsilon, system.parameters)),
            clients=clients,
            rounds=system.rounds,
            exact_epsilon_all_rounds=max(kind.all_rounds for kind in clients.values()),
            local_epsilon_all_rounds=float(
                central_privacy.local_epsilon(system.epsilon, system.parameters * system.rounds)
            ),
        )


def theorem_3(system: FederatedSystem) -> PublishedCentral:
    """As printed, of one round of the system; adjacency ``replace``."""
    return central_privacy.published(
        system.clients,
        system.parameters,
        local_epsilon=system.epsilon,
        delta=system.delta,
        fraction=system.ldp_fraction,
        radius=system.radius,
    )


def _proven(system: FederatedSystem, client: Client, others: int) -> float:
    return central_bound.proven(others, system.parameters, epsilon=system.epsilon, client=client, delta=system.delta)


def _exact(system: FederatedSystem, client: Client, others: int) -> UpdateEpsilon:
    """Of a client of this kind, hidden among so many others that are alone."""

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

    one = epsilon(1, 1)
    update = one if system.parameters == 1 else epsilon(system.parameters, 1)
    many = update if system.rounds == 1 else epsilon(system.parameters, system.rounds)
    return UpdateEpsilon(one_parameter=one, update=update, all_rounds=many)


@dataclass(frozen=True, kw_only=True)
class Server:
    """Privacy against the server, who sees both outputs of a pair.

    Attributes
    ----------
    adjacency : Adjacency
    delta_one_parameter : float
        At every epsilon.
    local_epsilon : float
        Of one parameter against one uplink.
    epsilon_one_parameter : float
        Infinite with pairs.
    """

    adjacency: Adjacency
    delta_one_parameter: float
    local_epsilon: float
    epsilon_one_parameter: float

    @classmethod
    def of(cls, system: FederatedSystem) -> Server:
        return cls(
            adjacency=Adjacency.REPLACE,
            delta_one_parameter=float(central_privacy.server_delta(0.0, local=system.epsilon)) if system.pairs else 0.0,
            local_epsilon=system.epsilon,
            epsilon_one_parameter=float("inf") if system.pairs else system.epsilon,
        )


@dataclass(frozen=True, kw_only=True)
class Dropout:
    """What is left when each client is missing with some probability.

    Attributes
    ----------
    probability : float
    adjacency : Adjacency
    survivors, broken_pairs : tuple of int
        99 % intervals of how many clients are left, and of how many pairs one client is left.
    worst_mse : float
        Of the survivors' mean, a parameter.
    central_epsilon_one_parameter, central_epsilon_update : float
        Against who sees only the survivors' mean.
    central_epsilon_all_rounds : float
        Of whole updates in T rounds, with fresh dropout in each and delta for all together.
    """

    probability: float
    adjacency: Adjacency
    survivors: tuple[int, int]
    broken_pairs: tuple[int, int]
    worst_mse: float
    central_epsilon_one_parameter: float
    central_epsilon_update: float
    central_epsilon_all_rounds: float

    @classmethod
    def of(cls, system: FederatedSystem) -> Dropout:
        n, p, paired = system.clients, system.dropout, 2 * system.pairs
        common: dict[str, Any] = {"epsilon": system.epsilon, "dropout": p, "independent": system.ldp_fraction}
        observed: dict[str, Any] = {**common, "delta": system.delta, "bits": system.shared_bits}
        update = dropout.central_epsilon(n, system.parameters, **observed)
        return cls(
            probability=p,
            adjacency=Adjacency.REPLACE,
            survivors=dropout.survivors(n, dropout=p, level=_LEVEL),
            broken_pairs=dropout.broken_pairs(paired, dropout=p, level=_LEVEL) if paired else (0, 0),
            worst_mse=dropout.worst_mse(n, radius=system.radius, **common),
            central_epsilon_one_parameter=dropout.central_epsilon(n, 1, **observed),
            central_epsilon_update=update,
            central_epsilon_all_rounds=update
            if system.rounds == 1
            else dropout.central_epsilon(n, system.parameters, rounds=system.rounds, **observed),
        )


@dataclass(frozen=True, kw_only=True)
class Bits:
    """Bits of one client and round."""

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
    """As the paper counts, with a stream cipher, and with the agreed key as seed."""

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
    """Everything about one system of federated learning.

    Attributes
    ----------
    alpha : float
        What a quantizer puts out, about the center and over the radius.
    clients_alone : int
        Those without a partner.
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
