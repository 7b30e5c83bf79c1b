r"""The privacy curve of one client for an observer of the sum of CorBin-FL's updates; it composes with any other curve.

Adjacency ``replace``: neighbours differ in the updates of one client, in every round. The server sees the sum of the received
updates, and who dropped out (observer ``aggregate``).

A lower bound of the divergence of the sum of CorBin-FL's outputs, attained by one choice of updates (``replace``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.distributions.poisson_binomial import Block, binomial, total
from airtight.analytics.federated.corbin import central_privacy as central
from airtight.analytics.federated.corbin import dropout_survivors
from airtight.analytics.federated.corbin.central_privacy import Client
from airtight.analytics.federated.corbin.count_shift import count_law, relative_error
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.privacy.accounting import coarse_graining
from airtight.analytics.privacy.accounting.coarse_graining import Merged
from airtight.analytics.privacy.accounting.connect_the_dots import Majorant
from airtight.analytics.privacy.accounting.numerical_composition import Composition
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms import discrete_pair
from airtight.analytics.privacy.mechanisms.mechanism import Ends, Factors, Mechanism, register

UNIT = "one client, replace"
_MISSING = 1e-15  # share of delta that the considered counts may lack
_LEAST_MISSING, _LEAST_NOISE = 1e-285, 1e-290
_CERTAIN = 1e-3  # relative error of probabilities beyond which no bound is given
_GREATEST = 500.0  # loss of a round beyond which its probabilities would underflow
_ONE_END, _BOTH_ENDS = 48, 12  # classes of the numbers of remaining clients: with all at one end, and at both ends
_TILTS = np.geomspace(1e-2, 1e4, 61)
_Case = tuple[float, FloatArray, FloatArray]  # probability, and laws of the client's contribution under both updates


@dataclass(frozen=True)
class _Choice:
    """A choice of all updates: the client's contribution (with its partner, if present) under both updates, and the others.

    A coin at the lower end gives a plus with probability `low`, one at the upper end with 1 - low. Of `pairs` each has one
    client at either end, so that its outputs add up to a constant when both are there.
    """

    cases: tuple[_Case, ...]
    upper: int
    lower: int
    pairs: int
    low: float

    def reverse(self) -> _Choice:
        cases = tuple((chance, q, p) for chance, p, q in self.cases)
        return _Choice(cases, self.upper, self.lower, self.pairs, self.low)

    def parameter(self, case: int, upper: int, lower: int, negligible: float) -> Merged:
        """The pair of laws of one parameter, with so many others at each end."""
        _, p, q = self.cases[case]
        noise = count_law(upper, lower, self.low, 1 - self.low, negligible=negligible)
        noise = noise[noise > _LEAST_NOISE]
        doubt = relative_error(upper + lower, self.low, 1 - self.low, negligible) + 1e-13
        trimmed = (
            slice(p.size - 1, 1 - p.size) if noise.size <= upper + lower else slice(None)
        )  # the trimmed part is not used
        return Merged.of(np.convolve(noise, p)[trimmed], np.convolve(noise, q)[trimmed], doubt)


def lower_pair(
    system: FederatedSystem, kinds: Mapping[Client, Sequence[tuple[float, Client, Block]]], rounds: int, delta: float
) -> Factors:
    """A pair of laws with its multiplicity, dominated by some choice of updates that is the same in each parameter and round.

    Parameters
    ----------
    system : FederatedSystem
    kinds : mapping
        Entries of :func:`airtight.analytics.federated.corbin.dropout_survivors.laws` for the client in question.
    rounds : int
    delta : float
        The delta at which the divergence of the pair should be large.

    Returns
    -------
    tuple
        Empty where no pair is known: without shared bits every pair adds noise.

    Notes
    -----
    *Choice.* All others that quantize alone are at one end, or half of them at either, and of every other pair one client is at
    either end of a slightly shorter interval, whose ends are multiples of :math:`2^{-d}`: its sum is constant. Of the client's
    extreme moves that one is taken, with these, for which Chernoff's bound at `delta` is greatest.

    *With dropout* the pair of a round is a mixture over who remains, and each component is a power of one parameter's pair. The
    observer learns who remains only up to a class, and for every member of a class coins are added up to the greatest number at
    either end in the class. Of the losses of all parameters the observer learns only the sum of the numbers of their bins
    (:mod:`airtight.analytics.privacy.accounting.coarse_graining`). All of this is post-processing. The classes of both
    counts at either end: those at the end with fewer, say d, are cut first; given d in a class the others' number falls
    with d in the usual order, so it can be raised by chance to the law that it has given the least d.

    Where a round has losses of hundreds, nobody is taken to drop out. What is trimmed off the counts is not looked at; its
    probability enters the relative error of the others.

    *What is lost.* Half a percent of epsilon where all are alone. The shorter interval of pairs and the coins added at either
    end cost more: 3 to 6 % for 1000 clients, of which half or all are in pairs, five bits, a fifth dropping out.
    """
    if system.shared_bits == 0 and system.pairs > 0:
        return ()
    negligible = max(delta * _MISSING / (rounds * system.parameters), _LEAST_MISSING)
    tried = [one for move in _choices(system, kinds) for one in (move, move.reverse())]
    scores = [_score(one, system, rounds, delta, negligible) for one in tried]
    best = int(np.argmax([score for score, _ in scores]))
    choice, (score, tilt) = tried[best], scores[best]
    if system.dropout == 0 or (len(choice.cases) == 1 and score > _GREATEST * rounds):
        broken = choice.pairs if system.dropout > 0 else 0
        found = choice.parameter(0, choice.upper + broken, choice.lower + broken, negligible)
        return _factors(found, system.parameters * rounds)
    parts = [
        (chance * share, choice.parameter(case, upper, lower, negligible).power(system.parameters, tilt))
        for share, upper, lower in _stay(choice, system, rounds, delta)
        for case, (chance, _, _) in enumerate(choice.cases)
    ]
    return _factors(coarse_graining.mixture(parts, tilt), rounds)


def _choices(
    system: FederatedSystem, kinds: Mapping[Client, Sequence[tuple[float, Client, Block]]]
) -> Iterator[_Choice]:
    low, high, _ = central.interval(system.epsilon)
    cells = 2.0**system.shared_bits
    even = math.ceil(low * cells) / cells
    for kind in kinds:
        singles, pairs = system.alone - (kind is Client.UNPAIRED), system.pairs - (kind is Client.PAIRED)
        moves: list[tuple[_Case, ...]]
        if kind is Client.UNPAIRED:
            moves = [((1.0, _coin(high), _coin(low)),)]
        elif system.dropout == 0:
            found = central.contributions(kind, epsilon=system.epsilon, bits=system.shared_bits)
            moves = [((1.0, p, q),) for p, q in found]
        else:
            moves = list(_moves((low, even, 1 - even, high), system))
        end = low if system.dropout == 0 or pairs == 0 else even
        halves = {0, singles} | ({singles // 2} if system.dropout == 0 else set())
        yield from (_Choice(move, up, singles - up, pairs, end) for move in moves for up in halves)


def _moves(ends: Sequence[float], system: FederatedSystem) -> Iterator[tuple[_Case, ...]]:
    """Moves of a client with a partner, which may have dropped out."""
    p, bits = system.dropout, system.shared_bits
    for first, second in itertools.combinations(sorted(set(ends)), 2):
        for partner in ends[:2]:
            together = [central.sum_law(level, partner, bits) for level in (first, second)]
            yield (1 - p, together[0], together[1]), (p, _coin(first), _coin(second))


def _coin(plus: float) -> FloatArray:
    return np.array([1 - plus, plus])


def _score(
    choice: _Choice, system: FederatedSystem, rounds: int, delta: float, negligible: float
) -> tuple[float, float]:
    """Approximate epsilon of a choice, and its tilt, with the mean number of remaining others."""
    p, m = system.dropout, system.parameters
    upper, lower = (round(n * (1 - p) + choice.pairs * p * (1 - p)) for n in (choice.upper, choice.lower))
    whole, infinite = np.full(_TILTS.size, -np.inf), 0.0
    for case, (chance, _, _) in enumerate(choice.cases):
        one = choice.parameter(case, upper, lower, negligible)
        whole = np.logaddexp(whole, math.log(chance) + m * one.cumulants(_TILTS))
        infinite += chance * -math.expm1(m * math.log1p(-min(one.only[0], 1 - 1e-16)))
    bound = (rounds * whole - math.log(delta)) / _TILTS
    best = int(np.argmin(bound))
    certain = -math.expm1(rounds * math.log1p(-min(infinite, 1 - 1e-16))) > delta
    return (math.inf if certain else float(bound[best])), float(_TILTS[best])


def _stay(choice: _Choice, system: FederatedSystem, rounds: int, delta: float) -> Iterator[tuple[float, int, int]]:
    """Probabilities of the classes of remaining clients, and the greatest numbers at both ends in each class."""
    p, singles = system.dropout, choice.upper + choice.lower
    one = p * (1 - p)  # probability that of a pair exactly the client at one given end remains
    missing = delta * _MISSING / rounds
    mean = round(singles * (1 - p) + choice.pairs * one)
    fewer = binomial(choice.pairs, one, negligible=missing)
    most = _BOTH_ENDS if choice.pairs else _ONE_END

    def classes(law: Block, beside: int) -> list[tuple[float, int, int]]:
        shifted = Block(law.start + beside, law.weights)
        (loss,) = dropout_survivors.sketch(
            [(1.0, Client.UNPAIRED, shifted)], system.parameters, epsilon=system.epsilon, delta=delta, rounds=rounds
        )
        found = dropout_survivors.greatest_of_classes(shifted, loss, most=most)
        return [(chance, least - beside, greatest - beside) for chance, least, greatest in found]

    for chance, least, here in classes(fewer, mean):
        left = [(singles, 1 - p), (choice.pairs - least, one / (1 - one))]
        others = total([binomial(n, each, negligible=missing) for n, each in left])
        for share, _, there in classes(others, here):
            yield chance * share, *((there, here) if choice.upper else (here, there))


def _factors(pair: Merged, count: int) -> Factors:
    p, q = np.append(pair.p, [pair.only[0], 0.0]), np.append(pair.q, [0.0, pair.only[1]])
    whole = math.fsum(p), math.fsum(q)
    doubt = pair.doubt + max(abs(1 - each) for each in whole)
    if doubt > _CERTAIN:
        return ()
    return ((discrete_pair.discrete(p / whole[0], q / whole[1], UNIT, doubt), count),)


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
        whole = Composition(((round_curve, count),))
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
    (:func:`airtight.analytics.federated.corbin.aggregation.lower_pair`). With dropout it is also a mean over who
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
