r"""A round of (Aug)CorBin-FL with dropout as a privacy curve: the server sees who is left, so delta is a mean over that.

Adjacency ``replace``; observer: the server of the sum, who knows who stayed; the client in question stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.distributions.poisson_binomial import Block, binomial, relative_error, total
from airtight.analytics.federated.corbin import central_privacy as central
from airtight.analytics.federated.corbin.central_privacy import Client
from airtight.analytics.federated.corbin.count_shift import count_law
from airtight.analytics.federated.corbin.federated_system import alone
from airtight.analytics.privacy.accounting import adaptive_composition
from airtight.analytics.privacy.accounting.coarse_graining import Merged
from airtight.analytics.privacy.accounting.connect_the_dots import Majorant
from airtight.analytics.rounding import UNIT

_MISSED = 1e-9  # share of delta that rounds of unusually many dropouts may cost
_LOST = 2e-3  # share of the others that a class may leave out on average, unless there would be too many classes
_EVERY, _MOST = 32, 16  # counts up to which each is a class, and classes of more
_HOPELESS = 0.5  # probability of what is impossible for the neighbour, from which on all is taken to be told
_TOLD = 1e-2  # share of delta that classes may add to what is impossible for the neighbour, each
_BELOW = 1e-2  # share of what a round may have of delta: to which a class is known well
_POINTS = 4096  # of the curve of one parameter, at most
_LEAST = 1e-12  # of delta, beyond which one parameter's curve is trimmed
_LOW, _UNDERFLOW = 1e-285, 1e-316  # share of delta below which nothing is trimmed, and what counts then may lack
_TILTS = np.geomspace(1e-3, 1e5, 161)
_EXACTLY, _NODES, _HALVINGS = 2000, 48, 16  # others up to which a sketch is exact, at so many places
_GREATEST, _STEEPEST = 600.0, 50.0


def laws(
    clients: int, *, dropout: float, independent: float = 0.0, negligible: float = 0.0
) -> dict[Client, list[tuple[float, Client, Block]]]:
    """Of a client of each kind that stays: how it may quantize, how likely that is, and how many others then do so alone.

    Four times `negligible` may be left out of a law, which goes to the others.

    Examples
    --------
    >>> found = laws(50, dropout=0.1, independent=0.2)
    >>> [(chance, how.value) for chance, how, _ in found[Client.PAIRED]]
    [(0.9, 'paired'), (0.1, 'unpaired')]
    """
    n, p = checks.count("clients", clients), checks.scalar("dropout", dropout, "[0, 1)")
    single = alone(n, checks.scalar("independent", independent, "[0, 1]"))
    pairs = (n - single) // 2

    def hidden_among(singles: int, others: int) -> Block:
        parts = (singles, 1 - p), (others, 2 * p * (1 - p))
        return total([binomial(count, chance, negligible=negligible) for count, chance in parts])

    found: dict[Client, list[tuple[float, Client, Block]]] = {}
    if single:
        found[Client.UNPAIRED] = [(1.0, Client.UNPAIRED, hidden_among(single - 1, pairs))]
    if pairs:
        law = hidden_among(single, pairs - 1)
        found[Client.PAIRED] = [(1 - p, Client.PAIRED, law)] + [(p, Client.UNPAIRED, law)] * (p > 0)
    return found


def curve(
    clients: int,
    parameters: int,
    *,
    client: Client,
    epsilon: float,
    dropout: float,
    independent: float,
    bits: int | None,
    delta: float,
    rounds: int = 1,
) -> Majorant:
    r"""What one round gives away of a client, whatever the updates and however they were chosen, at most.

    Parameters
    ----------
    clients, parameters, epsilon, dropout, independent
        n, m, eps_p, p, and the share of clients that quantize alone.
    client : {"unpaired", "paired"}
        Whether the client has a partner.
    bits : int or None
        Shared bits of a pair; None for the limit.
    delta : float
        In (0, 1), of all rounds: where the curve is to be good.
    rounds : int
        T, for the same reason.

    Notes
    -----
    *Hypotheses.* Clients drop out independently of their updates and of each other; the observer sees who stayed, and the sum;
    the client in question stays.

    *Mean over classes.* Let c be a function of who stayed. Who stayed has one law under both neighbours, so

    .. math:: D_\lambda(P\|Q) = \sum_c P(c)\,E[D_\lambda(P_s\|Q_s) \mid c] \le \sum_c P(c)\,V_c(\lambda), \qquad \lambda > 0,

    s being who stayed, if :math:`V_c` is nowhere below the curves of that class. Here c is how the client quantizes,
    and an interval of the number N of others that do so alone. Given s the sum has the noise of N coins of any corner,
    and what more there is in the class than its least n is independent noise, that is post-processing: :math:`V_c` is
    the greatest curve of n others (:mod:`airtight.analytics.privacy.accounting.adaptive_composition`), over updates
    that may be chosen knowing who stayed and what came out in the parameters before. That is more than is allowed to
    the adversary. Where N is below a quantile, or so small that it is likely that something is seen that is impossible
    for the neighbour, all is told: V = 1.

    *Rounds.* The sum is a mixture of greatest curves, hence the curve of some pair; it dominates what a round releases given
    all that came before, in either order, so its powers dominate all rounds (docs/rounds.md), a client being worst anew in
    each.

    *Classes* have no part in the proof. They are cut by a sketch of the moments at the asked delta, so that the least
    of a class lacks `_LOST` of the others on average, or more if there would be too many classes. The value at an epsilon
    between two others is that of the chord, which is above, for the greatest curve is convex in :math:`e^\epsilon`.

    Examples
    --------
    >>> common = {"client": Client.UNPAIRED, "epsilon": 1.0, "independent": 1.0, "bits": None, "delta": 1e-5}
    >>> some, all_stay = curve(40, 1, dropout=0.2, **common), curve(40, 1, dropout=0.0, **common)
    >>> [round(float(one.ends(np.array([0.3]))[1][0]), 4) for one in (some, all_stay)]
    [0.0074, 0.0044]
    """
    level, parts = delta / rounds, []
    negligible = level * _MISSED * 1e-3 if level > _LOW and dropout > 0 else 0.0
    missed = max(negligible, _UNDERFLOW if dropout > 0 else 0.0)
    cases = laws(clients, dropout=dropout, independent=independent, negligible=negligible / 4)[client]
    losses = sketch(cases, parameters, epsilon=epsilon, delta=delta, rounds=rounds)
    for (chance, how, law), loss in zip(cases, losses, strict=True):
        certain = _told(how, law.start + np.arange(law.weights.size), parameters, epsilon, bits)
        few, found = least_of_classes(law, loss + certain / (level * _TOLD), missed=level * _MISSED)
        missed += chance * few
        for probability, others in found:
            if certain[others - law.start] > _HOPELESS:
                missed += chance * probability
            else:
                parts.append((chance * probability, how, others))
    curves = [
        (share, bounded([(how, n)], parameters, epsilon=epsilon, bits=bits, delta=min(level * _BELOW / share, 0.5)))
        for share, how, n in parts
    ]
    eps = np.unique(np.concatenate([[0.0, 1.0], *(one.epsilon for _, one in curves)]))
    values = missed + sum((share * one.ends(eps)[1] for share, one in curves), np.zeros(eps.size))
    rounding = relative_error(clients, 2) + 16 * len(curves) * UNIT
    pure = float(central.local_epsilon(epsilon, parameters)) if client is Client.UNPAIRED else np.inf
    return Majorant(eps, np.minimum(values * (1 + rounding), 1.0), pure)


def worst(curves: Sequence[Majorant]) -> Majorant:
    """Nowhere below any of them.

    Examples
    --------
    >>> eps = np.array([0.0, 1.0])
    >>> worst([Majorant(eps, np.array([0.5, 0.1])), Majorant(eps, np.array([0.4, 0.2]))]).delta.tolist()
    [0.5..., 0.2...]
    """
    eps = np.unique(np.concatenate([one.epsilon for one in curves]))
    return Majorant(eps, np.maximum.reduce([one.ends(eps)[1] for one in curves]), max(one.pure for one in curves))


def told(
    clients: int,
    parameters: int,
    *,
    client: Client,
    epsilon: float,
    dropout: float,
    independent: float,
    bits: int | None,
    rounds: int = 1,
) -> float:
    """At the worst, a round among T shows with at least this probability what is impossible for the neighbour.

    Parameters are those of :func:`curve`. At a delta below this there is no epsilon.

    Examples
    --------
    >>> common = {"client": Client.PAIRED, "epsilon": 1.0, "dropout": 0.1, "independent": 0.0, "bits": None}
    >>> told(20, 100, **common) > 0.5, told(20_000, 100, **common) < 1e-100
    (True, True)
    """
    cases = laws(clients, dropout=dropout, independent=independent)[client]
    seen = 0.0
    for chance, how, law in cases:
        n = law.start + np.arange(law.weights.size)
        seen += chance * float(law.weights @ _told(how, n, parameters, epsilon, bits))
    return -math.expm1(rounds * math.log1p(-min(seen * (1 - relative_error(clients, 2)), 1 - UNIT)))


def _told(how: Client, others: IntArray, parameters: int, epsilon: float, bits: int | None) -> FloatArray:
    """The same given the others, all at the upper end; given everything else."""
    laws = central.contributions(how, epsilon=epsilon, bits=bits)
    own = max(
        (float(one[end]) for p, q in laws for one, other in ((p, q), (q, p)) for end in (0, -1) if other[end] == 0),
        default=0.0,
    )
    whole = own * np.exp(others * np.log(central.interval(epsilon)[1]))
    return np.asarray(-np.expm1(parameters * np.log1p(-np.minimum(whole, 1 - UNIT))))


def bounded(
    cases: Sequence[tuple[Client, int]], count: int, *, epsilon: float, bits: int | None, delta: float
) -> Majorant:
    """The greatest curve of `count` parameters, each of any of the cases: how the client quantizes, and the others alone.

    `delta`, in (0, 1), is about the least that matters.
    """
    pure = float(central.local_epsilon(epsilon, count)) if {how for how, _ in cases} == {Client.UNPAIRED} else np.inf
    if count == 1:
        found = [central.one_parameter(n, epsilon=epsilon, client=how, bits=bits, delta=delta) for how, n in cases]
        top = max(min(max(one.reach(delta * _LEAST, default=1.0) for one in found), pure), 1e-300)
        step = 2.0 ** math.ceil(math.log2(top / _POINTS))  # so that curves of different reach share their points
        eps = np.arange(math.ceil(top / step) + 1.0) * step
        values = np.maximum.reduce([np.asarray(one.delta(eps)) for one in found])
        return Majorant(eps, np.minimum.accumulate(values), pure)
    grids, many, shift = central.prepared(cases, count, epsilon=epsilon, delta=delta, bits=bits)
    return Majorant(*adaptive_composition.curve(grids, delta, count=many), pure, shift)


def sketch(
    cases: Sequence[tuple[float, Client, Block]], parameters: int, *, epsilon: float, delta: float, rounds: int
) -> list[FloatArray]:
    """A loss for each number of others, of which a class is to have 1 more or less in the mean: where to cut, no more.

    Chernoff's bound of delta, at the epsilon that belongs to `delta`, were this the number in one of the rounds, and all others
    at the upper end. The moments are exact for few others, for more like those of Gaussian noise.
    """
    numbers = [law.start + np.arange(law.weights.size) for _, _, law in cases]
    shares = [chance * law.weights for chance, _, law in cases]
    cumulants = _Cumulants.of(numbers, parameters, epsilon)
    wholes = np.empty(_TILTS.size)
    for i in range(_TILTS.size):
        logs = [np.log(share) + each for share, each in zip(shares, cumulants.at(i), strict=True)]
        top = max(float(np.max(each)) for each in logs)
        wholes[i] = top + math.log(sum(float(np.sum(np.exp(each - top))) for each in logs))
    bounds = (rounds * wholes - math.log(delta)) / _TILTS
    best = int(np.argmin(bounds))
    low, high = 0.0, float(bounds[best])
    for _ in range(_HALVINGS):  # the mean of the bounds of each number is less than the bound of the mean
        middle = (low + high) / 2
        found = cumulants.chernoff(middle, (rounds - 1) * wholes)
        mean = sum(float(share @ np.exp(log)) for share, log in zip(shares, found, strict=True))
        low, high = (low, middle) if mean <= delta / rounds else (middle, high)
    found = cumulants.chernoff(high, (rounds - 1) * wholes)
    top = max(float(np.max(np.log(share) + log)) for share, log in zip(shares, found, strict=True))
    values = [np.exp(np.minimum(log - top, _GREATEST)) for log in found]
    weights = [share * value for share, value in zip(shares, values, strict=True)]
    size = float(np.clip(_TILTS[best] * high / (2 * rounds), 1.0, _STEEPEST))  # about the cumulant of a round
    likely = max(range(len(cases)), key=lambda i: float(np.max(weights[i])))
    peak = int(np.argmax(weights[likely]))
    room = 2 * float(weights[likely][peak]) * _LOST**2 * max(int(numbers[likely][peak]), 1) * size
    return [chance * value / room for (chance, _, _), value in zip(cases, values, strict=True)]


@dataclass(frozen=True)
class _Cumulants:
    """log of the moments of a round's loss, for some numbers of others."""

    numbers: list[IntArray]
    nodes: FloatArray
    values: FloatArray

    @classmethod
    def of(cls, numbers: list[IntArray], parameters: int, epsilon: float) -> _Cumulants:
        low, high, share = central.interval(epsilon)
        first, last = min(int(n[0]) for n in numbers), max(int(n[-1]) for n in numbers)
        nodes = np.unique(np.geomspace(first + 1, last + 1, _NODES).round().astype(int)) - 1
        found = []
        for node in nodes.tolist():
            if node > _EXACTLY:
                square = share**2 / ((node + 1) * low * high)
                found.append(np.minimum(_TILTS * (1 + _TILTS) / 2 * square, _TILTS * epsilon))
                continue
            noise = count_law(node, 0, low, high, negligible=_UNDERFLOW)
            one = Merged.of(np.convolve(noise, [low, high]), np.convolve(noise, [high, low]), 0.0)
            found.append(one.cumulants(_TILTS))
        return cls(numbers, np.log1p(nodes), parameters * np.array(found))

    def chernoff(self, epsilon: float, besides: FloatArray) -> list[FloatArray]:
        """log of a bound on the probability that a loss exceeds epsilon, with the cumulants of others `besides`."""
        log = np.minimum(np.min(self.values + besides - _TILTS * epsilon, axis=1), 0.0)
        return [np.interp(np.log1p(n), self.nodes, log) for n in self.numbers]

    def at(self, i: int) -> list[FloatArray]:
        """At one of the tilts."""
        return [np.interp(np.log1p(n), self.nodes, self.values[:, i]) for n in self.numbers]


def least_of_classes(law: Block, loss: FloatArray, *, missed: float) -> tuple[float, list[tuple[float, int]]]:
    """Probability of counts so small that they may be `missed`; and of intervals of the others, with the least of each.

    Parameters
    ----------
    law : Block
    loss : ndarray
        Of each count, falling: it rises by 1 in the mean when the least of a class is taken for all, or by some multiple.
    missed : float

    Examples
    --------
    >>> few, found = least_of_classes(Block(0, np.array([0.1, 0.4, 0.5])), np.array([9.0, 3.0, 0.0]), missed=0.2)
    >>> few, [(round(chance, 3), n) for chance, n in found]
    (0.1, [(0.4, 1), (0.5, 2)])
    """
    first = int(np.sum(np.cumsum(law.weights) <= missed))
    few = float(np.sum(law.weights[:first]))
    n = law.start + np.arange(first, law.weights.size)
    starts = _cut(law.weights[first:], loss[first:], _MOST, _EVERY)
    chances = np.add.reduceat(law.weights[first:], starts)
    return few, [(float(chance), int(n[start])) for chance, start in zip(chances, starts, strict=True)]


def greatest_of_classes(law: Block, loss: FloatArray, *, most: int) -> list[tuple[float, int, int]]:
    """The same for what is not to be exceeded: probabilities of intervals, and the least and the greatest count of each.

    Examples
    --------
    >>> greatest_of_classes(Block(0, np.array([0.25, 0.25, 0.5])), np.array([2.0, 1.0, 0.0]), most=1)
    [(1.0, 0, 2)]
    """
    n = law.start + np.arange(law.weights.size)[::-1]
    starts = _cut(law.weights[::-1], loss[::-1], most, most)
    chances = np.add.reduceat(law.weights[::-1], starts)
    ends = [*starts[1:], n.size]
    return [(float(c), int(n[end - 1]), int(n[start])) for c, start, end in zip(chances, starts, ends, strict=True)]


def _cut(chance: FloatArray, loss: FloatArray, most: int, every: int) -> list[int]:
    """Where runs begin in which the loss of the first differs from the others' by 1 in the mean, or more if they are too many."""
    if chance.size <= every:
        return list(range(chance.size))
    allowed = 1.0
    while True:
        starts = [0]
        while starts[-1] < chance.size and len(starts) <= most:
            i = starts[-1]
            cost = np.cumsum(chance[i:] * np.abs(loss[i] - loss[i:]))
            starts.append(i + max(int(np.searchsorted(cost, allowed, side="right")), 1))
        if starts[-1] >= chance.size:
            return starts[:-1]
        allowed *= 1.5
