r"""The privacy curve of one client for an observer of the sum of CorBin-FL's updates; it composes with any other curve.

Adjacency ``replace``: neighbours differ in the updates of one client, in every round. The server sees the sum of the received
updates, and who dropped out (observer ``aggregate``).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.distributions.poisson_binomial import Block
from airtight.analytics.federated.corbin import central_privacy as central
from airtight.analytics.federated.corbin import dropout_survivors
from airtight.analytics.federated.corbin.attained_lower_bound import UNIT, lower_pair
from airtight.analytics.federated.corbin.central_privacy import Client
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.privacy.accounting.dominating_pair import Majorant
from airtight.analytics.privacy.accounting.numerical_composition import Composed
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms.mechanism import Ends, Factors, Mechanism, register

_LEAST = 1e-12  # least delta down to which the curve of one parameter is computed


@dataclass(frozen=True)
class Aggregate(Mechanism):
    """The sums of the updates of T rounds as a mechanism of one client, worst over all updates, also adaptive ones.

    Attributes
    ----------
    system : FederatedSystem
        The federation; its rounds, center, radius and delta have no effect.
    client : str
        "unpaired", "paired", or "either", for a client that may be paired in some rounds only.
    rounds : int
        T.
    """

    system: FederatedSystem
    client: str = "either"
    rounds: int = 1
    _known: dict[float, Majorant] = field(default_factory=dict, compare=False, repr=False)
    unit = UNIT
    symmetric = True
    pair = False
    closed = True
    bounded_below = False

    def __post_init__(self) -> None:
        found, allowed = self.system, ["either"]
        allowed += ["unpaired"] * (found.alone > 0) + ["paired"] * (found.pairs > 0)
        if self.client not in allowed:
            raise ParameterError("client", self.client, "one of " + ", ".join(allowed))
        same = replace(found, rounds=1, center=0.0, radius=1.0, delta=0.5)
        object.__setattr__(self, "system", same)
        object.__setattr__(self, "rounds", checks.count("rounds", self.rounds))

    def parameters(self) -> dict[str, Any]:
        return {"system": self.system.to_dict(), "client": self.client, "rounds": self.rounds}

    @classmethod
    def made(cls, parameters: Mapping[str, Any]) -> Mechanism:
        return cls(FederatedSystem(**parameters["system"]), parameters["client"], parameters["rounds"])

    @property
    def kind(self) -> Hashable:
        return Aggregate, self.system, self.client

    def composed(self, factors: Factors) -> tuple[Mechanism, int]:
        rounds = sum(count * one.rounds for one, count in factors if isinstance(one, Aggregate))
        return Aggregate(self.system, self.client, rounds), 1

    def greatest_loss(self, *, reverse: bool = False) -> float:
        if self.client == "paired" or (self.client == "either" and self.system.pairs > 0):
            return math.inf
        return float(central.local_epsilon(self.system.epsilon, self.system.parameters * self.rounds))

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        ((round_curve, count),) = self.dominating(_LEAST)
        if count == 1:
            return round_curve.ends(epsilon)
        whole = Composed(((round_curve, count),))
        return np.zeros(epsilon.shape), np.vectorize(lambda eps: whole.delta(float(eps))[1], otypes=[float])(epsilon)

    def dominating(self, level: float) -> Factors:
        """Adaptively chosen corners in each parameter; with dropout one factor for each round, otherwise one for all rounds."""
        about, rounds = 10.0 ** math.floor(math.log10(min(level, 0.5))), self.rounds if self.system.dropout > 0 else 1
        if about not in self._known:
            self._known[about] = self._bounded(about)
        return ((self._known[about], rounds),)

    def _bounded(self, level: float) -> Majorant:
        s = self.system
        if s.dropout == 0:
            cases = [(how, law.start) for kind in self._laws(0.0).values() for _, how, law in kind]
            many = s.parameters * self.rounds
            return dropout_survivors.bounded(cases, many, epsilon=s.epsilon, bits=s.shared_bits, delta=level)
        kinds = [
            dropout_survivors.curve(
                s.clients,
                s.parameters,
                client=kind,
                epsilon=s.epsilon,
                dropout=s.dropout,
                independent=s.ldp_fraction,
                bits=s.shared_bits,
                delta=level,
                rounds=self.rounds,
            )
            for kind in self._laws(level)
        ]
        return dropout_survivors.worst(kinds)

    def attained(self, level: float) -> Factors:
        """One pair of updates, the same in every parameter and round: the one with the greatest divergence among a few."""
        return lower_pair(self.system, self._laws(level), self.rounds, level)

    def _laws(self, negligible: float) -> dict[Client, list[tuple[float, Client, Block]]]:
        s = self.system
        found = dropout_survivors.laws(s.clients, dropout=s.dropout, independent=s.ldp_fraction, negligible=negligible)
        return {kind: cases for kind, cases in found.items() if self.client in ("either", kind)}


register(Aggregate, "aggregation")


def aggregation(system: FederatedSystem, *, client: str = "either") -> PrivacyCurve:
    """Privacy curve of a client in one round of (Aug)CorBin-FL for an observer of the sum; ``.compose(T)`` gives T rounds.

    The client itself remains in every round; every other client drops out with probability `dropout`, independently in every
    round.

    Parameters
    ----------
    system : FederatedSystem
        clients, parameters, epsilon, shared_bits, ldp_fraction and dropout; randomness and dropout are fresh in every round.
    client : {"either", "unpaired", "paired"}
        How the client quantizes; `either` covers pairs that are drawn anew in every round.

    Returns
    -------
    PrivacyCurve
        Adjacency ``replace``, observer ``aggregate``. The upper end is that of
        :func:`airtight.analytics.federated.corbin.central_privacy.mixed_epsilon`, worst over all updates; the
        lower end is the divergence of one pair of updates, the same in every parameter and round.

    Notes
    -----
    *Upper end.* For any updates, also if they are chosen with knowledge of earlier outputs, the divergence of
    all parameters of all rounds is at most the greatest curve V of
    :mod:`airtight.analytics.privacy.accounting.adaptive_composition` at every :math:`\\lambda > 0`, in either order,
    since the corners of a client contain every pair in both orders. So a pair with this curve dominates and may stand
    for the release in every composition (docs/rounds.md). With dropout the curve of a round is a mean over who stays
    (:func:`airtight.analytics.federated.corbin.dropout_survivors.curve`), and rounds are composed like any other
    release.

    *Lower end.* One choice of all updates, the one with the greatest divergence among a few
    (:func:`airtight.analytics.federated.corbin.attained_lower_bound.lower_pair`). With dropout it is also a mean over who
    remains.

    *How near.* At delta = 1e-5 and eps_p = 1, a fifth dropping out, clients alone, the ends of epsilon are .4 % apart for one
    round of 1000 clients and ten parameters, 1 % for twenty rounds; for 30 clients .2 and 2 %. With half or all of 1000 clients
    in pairs 4 and 7 %. Among five clients and fewer, over rounds of few parameters, the choices of the others in each round are
    worth more (a quarter of delta for three clients and two rounds), and the lower end is far.

    Examples
    --------
    >>> system = FederatedSystem(clients=1000, parameters=100, epsilon=1.0, ldp_fraction=1.0)
    >>> one = aggregation(system)
    >>> [round(float(end), 2) for end in one.bracket(delta=1e-5)]
    [1.26, 1.26]
    >>> from airtight.analytics.privacy.accounting.privacy_curve import compose, gaussian
    >>> float(compose([one, gaussian(0.5)], [10, 1]).epsilon(1e-5)) > float(one.compose(10).epsilon(1e-5))
    True
    """
    return PrivacyCurve.of(Aggregate(system, client))
