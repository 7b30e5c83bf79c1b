r"""Privacy curve of one client of CorBin-FL for an observer of the sum of updates; it composes with any other curve.

Adjacency ``replace``: neighbours differ in the updates of one client, in every round. The server sees the sum of the
received updates, and who dropped out (observer ``aggregate``).

Steps, in order
---------------
1. :class:`Aggregate` is the mechanism: T rounds of a federation, for one client, worst over all updates.
2. *Upper bound* (``dominating``): a curve that dominates a round, or all rounds without dropout, whatever the updates
   are (:mod:`airtight.analytics.federated.corbin.dropout_survivors`).
3. *Lower bound* (:func:`lower_pair`): some choices of all updates are scored by Chernoff's bound (``_score``). The pair
   of laws of the best one is built from counts (``_Choice.parameter``), raised to the number of parameters, and mixed
   over classes of survivors (``_survivor_classes``).

Where each error enters the lower bound
---------------------------------------
The local epsilon is lowered by 64 units, so that rounded probabilities stay allowed. Outcomes that trimming left
incomplete are dropped, which is post-processing; their probability, and the relative errors of the others, are the
`doubt` of the pair. A pair whose doubt exceeds 1e-3 gives no bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from airtight.analytics import checks, rounding
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.distributions.poisson_binomial import Block, binomial, total
from airtight.analytics.federated.corbin import central_privacy as central
from airtight.analytics.federated.corbin import dropout_survivors
from airtight.analytics.federated.corbin.central_privacy import Client
from airtight.analytics.federated.corbin.count_shift import count_block, relative_error
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.privacy.accounting import coarse_graining
from airtight.analytics.privacy.accounting.coarse_graining import Merged
from airtight.analytics.privacy.accounting.connect_the_dots import Majorant
from airtight.analytics.privacy.accounting.numerical_composition import Composition
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms import discrete_pair
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Factors, Mechanism, register

UNIT = "one client, replace"
_MISSING = 1e-15  # share of delta that the considered counts may lack
_COMPLETE = 2.0**-56  # share of the probability of a count that is kept which may be missing
_LEAST_MISSING, _LEAST_NOISE = 1e-285, 1e-284  # least trimmed mass; least probability of a count that is kept
_LEAST_TRIMMED = 1e-302  # where probabilities are normal doubles
_CERTAIN = 1e-3  # relative error of probabilities beyond which no bound is given
_RESOLVED = 1e-9  # least local epsilon at which the probabilities 1/2 +- epsilon/4 are told apart to six digits
_GREATEST = 500.0  # loss of a round beyond which its probabilities would underflow
_ONE_END, _BOTH_ENDS = 48, 12  # most classes of a count of survivors: all at one end, or at both ends
_TILTS = np.geomspace(1e-2, 1e4, 61)  # exponents at which Chernoff's bound is evaluated first
_NEAR = np.geomspace(_TILTS[0] / _TILTS[1], _TILTS[1] / _TILTS[0], 33)  # then at these multiples of the best one
_Case = tuple[float, FloatArray, FloatArray]  # probability, and laws of the client's contribution under both updates


@dataclass(frozen=True)
class _Choice:
    """A choice of all updates: the contribution of the client and its partner under both updates, and the others.

    A client at the lower end of its interval sends a plus with probability `low`, a client at the upper end with
    1 - low. Each of `pairs` has one client at each end, so that the outputs of the pair add up to a constant when both
    clients are present. With probability `alike` the observer sees that the client's output is the same under both updates.
    """

    cases: tuple[_Case, ...]
    upper: int
    lower: int
    pairs: int
    low: float
    alike: float = 0.0

    def reverse(self) -> _Choice:
        cases = tuple((chance, q, p) for chance, p, q in self.cases)
        return replace(self, cases=cases)

    def parameter(self, case: int, upper: int, lower: int, negligible: float) -> Merged:
        """The pair of laws of one parameter, with `upper` and `lower` other clients at the two ends."""
        # contribution of the client, and of its partner, under both updates
        _, p, q = self.cases[case]
        trimmed = max(negligible * _COMPLETE, _LEAST_TRIMMED)
        law = count_block(upper, lower, self.low, 1 - self.low, negligible=trimmed)
        # counts near the ends of the window lack what was trimmed: those that are kept lack a share _COMPLETE of theirs at most
        kept = np.flatnonzero(law.weights > max(negligible, _LEAST_NOISE))
        first, last = int(kept[0]), int(kept[-1])
        noise = law.weights[first : last + 1]
        error = relative_error(upper + lower, self.low, 1 - self.low, trimmed) + 1e-13
        # where counts are left out, the convolution is incomplete: these outcomes are dropped
        start = p.size - 1 if law.start + first > 0 else 0
        stop = noise.size if law.start + last < upper + lower else None
        # law of the sum: noise of the others plus contribution, under both updates
        first_law, second_law = (np.convolve(noise, law)[start:stop] for law in (p, q))
        if self.alike:
            first_law, second_law = (np.append((1 - self.alike) * law, self.alike) for law in (first_law, second_law))
        return Merged.of(first_law, second_law, error)


def lower_pair(
    system: FederatedSystem, kinds: Mapping[Client, Sequence[tuple[float, Client, Block]]], rounds: int, delta: float
) -> Factors:
    """A pair of laws, and its multiplicity, that is dominated by the release for some choice of the updates.

    The choice is the same in every parameter and round.

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
        Empty where the local epsilon is so small that doubles do not resolve the probabilities.

    Notes
    -----
    *Choice.* All other unpaired clients are at one end of their interval, or half of them at each end. Of every other
    pair, one client is at the lower and one at the upper end of a slightly shorter interval whose ends are multiples
    of :math:`2^{-d}`, so that the sum of the pair is constant. Each of these choices is combined with each extreme
    move of the client. The combination with the greatest epsilon by Chernoff's bound at `delta` is taken.

    *With dropout* the pair of a round is a mixture over who remains, and each component is a power of one parameter's
    pair. The observer learns who remains only up to a class, and for every member of a class coins are added until
    both ends have the greatest number of coins in the class. Of the losses of all parameters the observer learns only
    the sum of the numbers of their bins (:mod:`airtight.analytics.privacy.accounting.coarse_graining`). All of this is
    post-processing. The number d of survivors at the end with fewer clients is divided into classes first. Given d,
    the number at the other end decreases with d in the usual stochastic order. For every d of a class it can therefore
    be raised, by adding a random number of coins, to the law that it has given the least d of the class.

    Where the losses of a round are in the hundreds, the noise of all clients is used as if none had dropped out and
    every pair were broken. Values of a count that are trimmed are discarded; their probability enters the relative
    error of the others.

    *What is lost.* Half a percent of epsilon where no client is paired. The shorter interval of pairs and the added
    coins cost more: 3 to 6 % for 1000 clients, half or all of them in pairs, with five bits and a dropout of 1/5.
    """
    if system.epsilon < _RESOLVED:
        return ()
    # Probabilities are rounded by less than two units of 1. Those of a slightly smaller epsilon stay allowed, and so no
    # difference of two of them is too great.
    system = replace(system, epsilon=system.epsilon - 64 * rounding.UNIT)
    # shared by all parameters and rounds
    negligible = max(delta * _MISSING / (rounds * system.parameters), _LEAST_MISSING)
    # both orders of each choice: the divergence is not symmetric
    candidates = [candidate for forward in _choices(system, kinds) for candidate in (forward, forward.reverse())]
    scores = [_score(candidate, system, rounds, delta, negligible) for candidate in candidates]
    best_index = int(np.argmax([score for score, _ in scores]))
    choice, (score, tilt) = candidates[best_index], scores[best_index]
    # one pair for each parameter and round: without dropout exactly, or as if nobody dropped out and each broken pair
    # added one client at either end (more noise, so a lower bound)
    if system.dropout == 0 or (len(choice.cases) == 1 and score > _GREATEST * rounds):
        broken = choice.pairs if system.dropout > 0 else 0
        pair = choice.parameter(0, choice.upper + broken, choice.lower + broken, negligible)
        return _factors(pair, system.parameters * rounds)
    # a mixture over who remains and over whether the partner remains; the exponent of Chernoff's bound says where
    # accuracy is needed
    components = [
        (chance * share, choice.parameter(case, upper, lower, negligible).power(system.parameters, tilt))
        for share, upper, lower in _survivor_classes(choice, system, rounds, delta)
        for case, (chance, _, _) in enumerate(choice.cases)
    ]
    return _factors(coarse_graining.mixture(components, tilt), rounds)


def _choices(
    system: FederatedSystem, kinds: Mapping[Client, Sequence[tuple[float, Client, Block]]]
) -> Iterator[_Choice]:
    # a client sends a plus with a probability in [low, high]; pairs use the lattice of shared bits inside
    low, high, _ = central.interval(system.epsilon)
    cells = 2.0**system.shared_bits
    lattice_low = math.ceil(low * cells) / cells
    for client in kinds:
        # the others: all but the client itself, or all but its pair
        singles, pairs = system.alone - (client is Client.UNPAIRED), system.pairs - (client is not Client.UNPAIRED)
        # the colluders are the partner of an exposed client, and those that quantize alone as far as there are any
        singles = max(singles - system.colluding + (client is Client.EXPOSED), 0)
        alike = 2 * lattice_low if client is Client.EXPOSED else 0.0
        moves: list[tuple[_Case, ...]]
        # from one end of its interval to the other: the extreme move
        if client is Client.UNPAIRED:
            moves = [((1.0, _coin(high), _coin(low)),)]
        elif client is Client.EXPOSED:
            # between two levels on the lattice, so that the shared bits decide the output
            moves = [((1.0, _coin(1.0), _coin(0.0)),)]
        elif system.dropout == 0:
            # without dropout a pair acts as one: its extreme joint laws
            extreme_pairs = central.contributions(client, epsilon=system.epsilon, bits=system.shared_bits)
            moves = [((1.0, p, q),) for p, q in extreme_pairs]
        else:
            moves = list(_moves((low, lattice_low, 1 - lattice_low, high), system))
        # pairs under dropout need the lattice, so that both clients of a pair cancel
        low_end = low if system.dropout == 0 or pairs == 0 else lattice_low
        # all other singles at one end, or half of them at each
        upper_counts = {0, singles} | ({singles // 2} if system.dropout == 0 else set())
        yield from (
            _Choice(move, upper, singles - upper, pairs, low_end, alike) for move in moves for upper in upper_counts
        )


def _moves(probabilities: Sequence[float], system: FederatedSystem) -> Iterator[tuple[_Case, ...]]:
    """Moves of a paired client; its partner is present in the first case and has dropped out in the second."""
    p, bits = system.dropout, system.shared_bits
    for first, second in itertools.combinations(sorted(set(probabilities)), 2):
        for partner in probabilities[:2]:
            sum_laws = [central.sum_law(level, partner, bits) for level in (first, second)]
            yield (1 - p, sum_laws[0], sum_laws[1]), (p, _coin(first), _coin(second))


def _coin(plus: float) -> FloatArray:
    return np.array([1 - plus, plus])


def _score(
    choice: _Choice, system: FederatedSystem, rounds: int, delta: float, negligible: float
) -> tuple[float, float]:
    """Approximate epsilon of a choice by Chernoff's bound, and its exponent, for the mean number of survivors."""
    p, m = system.dropout, system.parameters
    # mean number of survivors: singles that stay, and pairs of which exactly the client at this end stays
    upper, lower = (round(n * (1 - p) + choice.pairs * p * (1 - p)) for n in (choice.upper, choice.lower))
    pairs = [
        (chance, choice.parameter(case, upper, lower, negligible)) for case, (chance, _, _) in enumerate(choice.cases)
    ]

    def least_epsilon(tilts: FloatArray) -> tuple[float, float]:
        # epsilon <= (T log E exp(t L) - log delta) / t, minimised over t
        log_moments = np.logaddexp.reduce([math.log(chance) + m * pair.cumulants(tilts) for chance, pair in pairs])
        epsilons = (rounds * log_moments - math.log(delta)) / tilts
        best_index = int(np.argmin(epsilons))
        return float(epsilons[best_index]), float(tilts[best_index])

    # a coarse grid of exponents, then a fine one about its best
    epsilon, tilt = least_epsilon(least_epsilon(_TILTS)[1] * _NEAR)
    # probability that some parameter of a round shows an outcome that only one update can give
    infinite_loss = sum(chance * -math.expm1(m * math.log1p(-min(pair.only[0], 1 - 1e-16))) for chance, pair in pairs)
    epsilon_is_infinite = -math.expm1(rounds * math.log1p(-min(infinite_loss, 1 - 1e-16))) > delta
    return (math.inf if epsilon_is_infinite else epsilon), tilt


def _survivor_classes(
    choice: _Choice, system: FederatedSystem, rounds: int, delta: float
) -> Iterator[tuple[float, int, int]]:
    """Probability of each class of survivors, and its greatest numbers of survivors at the upper and the lower end."""
    p, singles = system.dropout, choice.upper + choice.lower
    single_probability = p * (1 - p)  # probability that of a pair exactly the client at one given end remains
    trimmed = delta * _MISSING / rounds
    # first the number of survivors at the end with fewer clients, where only broken pairs count
    mean = round(singles * (1 - p) + choice.pairs * single_probability)
    fewer_end_law = binomial(choice.pairs, single_probability, negligible=trimmed)
    most_classes = _BOTH_ENDS if choice.pairs else _ONE_END

    def classes(law: Block, offset: int) -> list[tuple[float, int, int]]:
        shifted = Block(law.start + offset, law.weights)
        # classes are chosen so that little is lost: by a sketch of the loss at each count
        (loss,) = dropout_survivors.sketch(
            [(1.0, Client.UNPAIRED, shifted)], system.parameters, epsilon=system.epsilon, delta=delta, rounds=rounds
        )
        classes_of_counts = dropout_survivors.greatest_of_classes(shifted, loss, most=most_classes)
        return [(chance, low_count - offset, greatest - offset) for chance, low_count, greatest in classes_of_counts]

    # given d broken pairs at one end, each other pair is broken at the other end with probability s / (1 - s); the
    # least d of a class gives the greatest law there
    for chance, fewest, greatest in classes(fewer_end_law, mean):
        trials = [(singles, 1 - p), (choice.pairs - fewest, single_probability / (1 - single_probability))]
        others = total([binomial(n, probability, negligible=trimmed) for n, probability in trials])
        for share, _, other_greatest in classes(others, greatest):
            yield chance * share, *((other_greatest, greatest) if choice.upper else (greatest, other_greatest))


def _factors(pair: Merged, count: int) -> Factors:
    """The normalized pair as a mechanism that is used `count` times; empty if its relative error is too large."""
    p, q = np.append(pair.p, [pair.only[0], 0.0]), np.append(pair.q, [0.0, pair.only[1]])
    # normalised; how far the sums are from 1 is an error as well
    sums = math.fsum(p), math.fsum(q)
    error = pair.doubt + max(abs(1 - value) for value in sums)
    if error > _CERTAIN:
        return ()
    return ((discrete_pair.discrete(p / sums[0], q / sums[1], UNIT, error), count),)


_LEAST = 1e-12  # least delta down to which the curve of one parameter is computed


@dataclass(frozen=True)
class Aggregate(Mechanism):
    """The sums of the updates of T rounds as a mechanism of one client, worst over all updates, also adaptive ones.

    Attributes
    ----------
    system : FederatedSystem
        The federation; its rounds, center, radius and delta have no effect.
    client : str
        "unpaired", "paired", "exposed", or "either", for a client that may be paired in some rounds only.
    rounds : int
        T.
    """

    system: FederatedSystem
    client: str = "either"
    rounds: int = 1
    _curves: dict[float, Majorant] = field(default_factory=dict, compare=False, repr=False)
    unit = UNIT
    symmetric = True
    pair = False
    closed = True
    bounded_below = False

    def __post_init__(self) -> None:
        federation = checks.instance("system", self.system, FederatedSystem)
        allowed = ["either", *dropout_survivors.kinds(federation)]
        if not isinstance(self.client, str) or self.client not in allowed:
            raise ParameterError("client", self.client, "one of " + ", ".join(allowed))
        # what has no effect gets one value, so that equal mechanisms compare equal
        normalized = replace(federation, rounds=1, center=0.0, radius=1.0, delta=0.5)
        object.__setattr__(self, "system", normalized)
        object.__setattr__(self, "rounds", checks.count("rounds", self.rounds))

    def parameters(self) -> dict[str, Any]:
        return {"system": self.system.to_dict(), "client": self.client, "rounds": self.rounds}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Mechanism:
        return cls(FederatedSystem(**parameters["system"]), parameters["client"], parameters["rounds"])

    @property
    def kind(self) -> Hashable:
        return Aggregate, self.system, self.client

    def composed(self, factors: Factors) -> tuple[Mechanism, int]:
        rounds = sum(count * mechanism.rounds for mechanism, count in factors if isinstance(mechanism, Aggregate))
        return Aggregate(self.system, self.client, rounds), 1

    def greatest_loss(self, *, reverse: bool = False) -> float:
        # a pair shares random bits, so outcomes of one update may be impossible under the other
        if self.client in ("paired", "exposed") or (self.client == "either" and self.system.pairs > 0):
            return math.inf
        return float(central.local_epsilon(self.system.epsilon, self.system.parameters * self.rounds))

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        ((round_curve, count),) = self.dominating(_LEAST)
        if count == 1:
            return round_curve.delta_bracket(epsilon)
        product = Composition(((round_curve, count),))
        return np.zeros(epsilon.shape), np.vectorize(lambda eps: product.delta(float(eps))[1], otypes=[float])(epsilon)

    def dominating(self, level: float) -> Factors:
        """Adaptively chosen corners in each parameter: one factor per round with dropout, else one for all rounds."""
        # one curve for each decade of delta, kept; with dropout rounds are composed, else one curve covers all of them
        order, rounds = 10.0 ** math.floor(math.log10(min(level, 0.5))), self.rounds if self.system.dropout > 0 else 1
        if order not in self._curves:
            self._curves[order] = self._dominating_curve(order)
        return ((self._curves[order], rounds),)

    def _dominating_curve(self, level: float) -> Majorant:
        # a smaller epsilon allows only some of the probabilities of a greater one, so its divergence is no greater
        s = replace(self.system, epsilon=max(self.system.epsilon, _RESOLVED))
        if s.dropout == 0:
            # without dropout the law of survivors is one point: its start is their number
            cases = [(mode, law.start) for client_laws in self._laws(0.0).values() for _, mode, law in client_laws]
            count = s.parameters * self.rounds
            return dropout_survivors.bounded(cases, count, epsilon=s.epsilon, bits=s.shared_bits, delta=level)
        curves = [
            dropout_survivors.curve(
                s.clients,
                s.parameters,
                client=client,
                epsilon=s.epsilon,
                dropout=s.dropout,
                independent=s.independent,
                bits=s.shared_bits,
                delta=level,
                rounds=self.rounds,
                colluding=s.colluding,
            )
            for client in self._laws(level)
        ]
        return dropout_survivors.worst(curves)

    def attained(self, level: float) -> Factors:
        """The pair of updates with the greatest divergence among a few, the same in every parameter and round."""
        return lower_pair(self.system, self._laws(level), self.rounds, level)

    def _laws(self, negligible: float) -> dict[Client, list[tuple[float, Client, Block]]]:
        federation = self.system
        by_kind = dropout_survivors.laws(
            federation.clients,
            dropout=federation.dropout,
            independent=federation.independent,
            negligible=negligible,
            colluding=federation.colluding,
        )
        return {client: cases for client, cases in by_kind.items() if self.client in ("either", client)}


register(Aggregate, "aggregation")


def aggregation(system: FederatedSystem, *, client: str = "either") -> PrivacyCurve:
    """Privacy curve of a client in one round of (Aug)CorBin-FL, observer of the sum; ``.compose(T)`` gives T rounds.

    The client itself remains in every round; every other client drops out with probability `dropout`, independently in
    every round.

    Parameters
    ----------
    system : FederatedSystem
        clients, parameters, epsilon, shared_bits, ldp_fraction, dropout and colluding; randomness and dropout are fresh in
        every round.
    client : {"either", "unpaired", "paired", "exposed"}
        How the client quantizes; `either` covers pairs that are drawn anew in every round. The partner of an exposed client
        colludes.

    Returns
    -------
    PrivacyCurve
        Adjacency ``replace``, observer ``aggregate``. The upper bound is that of
        :func:`airtight.analytics.federated.corbin.central_privacy.mixed_epsilon`, worst over all updates; the lower
        bound is the divergence of one pair of updates, the same in every parameter and round.

    Notes
    -----
    *Upper bound.* For any updates, also if they are chosen with knowledge of earlier outputs, the divergence of all
    parameters of all rounds is at most the greatest curve V of
    :mod:`airtight.analytics.privacy.accounting.adaptive_composition` at every :math:`\\lambda > 0`, in either order,
    since the corners of a client contain every pair in both orders. So a pair with this curve dominates the release
    and may replace it in every composition (docs/rounds.md). With dropout the curve of a round is a mean over the sets
    of survivors (:func:`airtight.analytics.federated.corbin.dropout_survivors.curve`), and rounds are composed like
    any other release.

    *Lower bound.* One choice of all updates, the one with the greatest divergence among a few
    (:func:`airtight.analytics.federated.corbin.aggregation.lower_pair`). With dropout it is also a mean over the sets
    of survivors.

    *Distance of the bounds.* At delta = 1e-5, eps_p = 1 and a dropout of 1/5, without pairs and with ten parameters,
    the bounds of epsilon are 0.4 % apart for one round of 1000 clients and 1 % for twenty rounds; for 30 clients 0.2 %
    and 2 %. With half or all of 1000 clients in pairs they are 4 % and 7 % apart. With five clients or fewer and
    several rounds of few parameters, the others can leak more by changing their updates between rounds (a quarter of
    delta for three clients and two rounds), and the lower bound is loose.

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
