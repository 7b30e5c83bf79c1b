"""A lower bound of the divergence of the sum of CorBin-FL's outputs, attained by one choice of updates (``replace``)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.distributions.poisson_binomial import Block, binomial, total
from airtight.analytics.federated.corbin import central_privacy as central
from airtight.analytics.federated.corbin import dropout_survivors
from airtight.analytics.federated.corbin.central_privacy import Client
from airtight.analytics.federated.corbin.count_shift import count_law, relative_error
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.privacy.accounting import coarse_graining
from airtight.analytics.privacy.accounting.coarse_graining import Merged
from airtight.analytics.privacy.mechanisms import discrete_pair
from airtight.analytics.privacy.mechanisms.mechanism import Factors

UNIT = "one client, replace"
_MISSING = 1e-15  # share of delta that the considered counts may lack
_LEAST_MISSING, _LEAST = 1e-285, 1e-290
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
        noise = noise[noise > _LEAST]
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
