"""The parameters of CorBin-FL and AugCorBin-FL as one validated value type."""

from __future__ import annotations

from dataclasses import dataclass

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.parameters import Count, Described, Number


@dataclass(frozen=True, eq=False)
class FederatedSystem(Described):
    """One-bit private federated learning.

    Attributes
    ----------
    clients, parameters : int
        n and m.
    epsilon : float
        eps_p > 0, local epsilon of one parameter of one uplink.
    center, radius : float
        Updates lie in [center - radius, center + radius].
    shared_bits : int
        d in [0, 60], number of random bits that a pair shares for each parameter.
    ldp_fraction : float
        gamma in [0, 1], share of the clients that quantize alone; their number is rounded such that an even number of
        clients is left.
    dropout : float
        Probability in [0, 1) with which each client drops out.
    delta : float
        delta in (0, 1) of the central guarantee over all rounds.
    rounds : int
        T, with fresh randomness and fresh dropout.
    colluding : int
        Clients in [0, n) that tell the observer their outputs and shared bits: any so many, the worst for each client.

    Examples
    --------
    >>> system = FederatedSystem(clients=51, parameters=10, epsilon=1.0, ldp_fraction=0.2)
    >>> system.alone, system.pairs
    (11, 20)
    """

    clients: Count = Count("n", "[1, 10000000]", "number of clients", typical=(50, 100))
    parameters: Count = Count("m", "[1, inf)", "number of parameters of the model", typical=(41000, 11e6))
    epsilon: Number = Number(
        r"\epsilon_p", "(0, inf)", "local epsilon of one parameter in one message of a client", typical=(0.1, 5)
    )
    center: Number = Number("c", "(-inf, inf)", "middle of the interval in which every parameter of an update lies", default=0.0)
    radius: Number = Number(
        "r", "(0, inf)", "half the width of the interval in which every parameter of an update lies", default=1.0
    )
    shared_bits: Count = Count("d", "[0, 60]", "random bits that the two clients of a pair share for each parameter", default=5)
    ldp_fraction: Number = Number(
        r"\gamma", "[0, 1]", "fraction of the clients that have no partner and quantize alone", default=0.0
    )
    dropout: Number = Number("p", "[0, 1)", "probability that a client drops out of a round", default=0.0)
    delta: Number = Number(r"\delta", "(0, 1)", "delta of the guarantee of the mean, over all rounds", default=1e-5)
    rounds: Count = Count("T", "[1, inf)", "number of rounds, each with fresh randomness and dropout", default=1)
    colluding: Count = Count(
        "", "[0, inf)", "number of clients that tell the server all they know; the worst ones count", default=0
    )

    def __post_init__(self) -> None:
        if self.colluding >= self.clients:
            raise ParameterError("colluding", self.colluding, f"less than {self.clients}, the number of clients")

    @property
    def independent(self) -> float:
        """Share of the clients whose outputs depend on nobody else's: all of them without shared bits."""
        return self.ldp_fraction if self.shared_bits else 1.0

    def demand_no_colluders(self, what: str) -> None:
        """Refuse colluders, by what does not count them."""
        if self.colluding:
            raise ParameterError("colluding", self.colluding, f"0: {what} counts no colluders (`bounds` does)")

    @property
    def exposes_pairs(self) -> bool:
        """Whether the observer may know the shared bits of a pair from one of its clients."""
        return self.colluding > 0 and self.pairs > 0

    @property
    def alone(self) -> int:
        """Number of clients that quantize alone, as both clients of a pair do that shares no bits."""
        return alone(self.clients, self.independent)

    @property
    def pairs(self) -> int:
        """Number of pairs of the other clients."""
        return (self.clients - self.alone) // 2


def alone(clients: int, fraction: float) -> int:
    """Number of clients that quantize alone: the rounded share, plus one if the number of the others were odd.

    Examples
    --------
    >>> alone(50, 0.2), alone(7, 0.0)
    (10, 1)
    """
    n, share = checks.count("clients", clients), checks.scalar("fraction", fraction, "[0, 1]")
    single = round(share * n)
    return single + (n - single) % 2
