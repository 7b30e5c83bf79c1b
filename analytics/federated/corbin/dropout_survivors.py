r"""Privacy curve of a round of (Aug)CorBin-FL with dropout: the mean of delta over the law of the set of survivors.

Adjacency ``replace``. The observer is the server, which sees the sum and the set of survivors; the client in question
survives.
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
from airtight.analytics.federated.corbin.federated_system import FederatedSystem, alone
from airtight.analytics.privacy.accounting import adaptive_composition
from airtight.analytics.privacy.accounting.coarse_graining import Merged
from airtight.analytics.privacy.accounting.connect_the_dots import Majorant
from airtight.analytics.rounding import UNIT

_MISSED = 1e-9  # share of delta that rounds of unusually many dropouts may cost
_LOST = 2e-3  # mean share of the others that a class may leave out, unless there would be too many classes
_EVERY, _MOST = 32, 16  # number of counts up to which each is a class; greatest number of classes of more counts
_CONCEDED = 0.5  # probability of outcomes impossible for the neighbour from which on a class has V = 1
_IMPOSSIBLE = 1e-2  # share of delta by which a class may raise the probability of outcomes impossible for the neighbour
_BELOW = 1e-2  # share of delta / rounds down to which the curve of a class is accurate
# greatest number of points of the curve of one parameter: with many others, and with few, whose outcomes make it angular
_POINTS, _POINTS_OF_FEW, _FEW = 1024, 4096, 64
_LEAST = 1e-12  # share of delta below which the curve of one parameter is trimmed
_LOW, _UNDERFLOW = 1e-285, 1e-316  # delta / rounds below which nothing is trimmed; mass that counts may then lack
_TILTS = np.geomspace(1e-3, 1e5, 161)  # exponents of the moments in Chernoff's bound
_EXACTLY, _NODES, _HALVINGS = 2000, 48, 16  # of a sketch: exact up to 2000 others; interpolation nodes; bisections
_GREATEST, _STEEPEST = 600.0, 50.0  # of a sketch: greatest exponent (no overflow); greatest slope of log delta in log N
_UNBOUNDED = 1e300  # loss of a sketch that overflows


def laws(
    clients: int, *, dropout: float, independent: float = 0.0, negligible: float = 0.0, colluding: int = 0
) -> dict[Client, list[tuple[float, Client, Block]]]:
    """For each kind of surviving client: how it may quantize, with probability and law of the number of others.

    Each entry holds the probability, how the client quantizes, and the law of the number of other survivors that
    quantize alone and do not collude. A law may omit probabilities up to four times `negligible` in total; the others are
    normalized. Of the sets of colluders the worst for each kind counts.

    Notes
    -----
    A client that quantizes alone hides others with probability 1 - p, a pair with probability 2 p (1 - p), where it is broken. A
    colluder takes one of these away: of a pair, since the other client sends what the shared bits say. The number of those that
    hide is stochastically least without the likelier ones. To expose a client costs a colluder, its partner, which knows the
    shared bits also where it drops out.

    Examples
    --------
    >>> found = laws(50, dropout=0.1, independent=0.2)
    >>> [(chance, how.value) for chance, how, _ in found[Client.PAIRED]]
    [(0.9, 'paired'), (0.1, 'unpaired')]
    >>> [cases[0][2].start for cases in laws(50, dropout=0.0, independent=0.2, colluding=2).values()]
    [7, 8, 9]
    """
    n, p = checks.count("clients", clients), checks.scalar("dropout", dropout, "[0, 1)")
    single = alone(n, checks.scalar("independent", independent, "[0, 1]"))
    pairs, helpers = (n - single) // 2, checks.count("colluding", colluding, f"[0, {n - 1}]")

    def hidden_among(singles: int, others: int, helpers: int) -> Block:
        groups, honest = [(singles, 1 - p), (others, 2 * p * (1 - p))], []
        for count, chance in groups if p <= 0.5 else groups[::-1]:
            honest.append((max(count - helpers, 0), chance))
            helpers = max(helpers - count, 0)
        return total([binomial(count, chance, negligible=negligible) for count, chance in honest])

    laws_of_kinds: dict[Client, list[tuple[float, Client, Block]]] = {}
    if single:
        laws_of_kinds[Client.UNPAIRED] = [(1.0, Client.UNPAIRED, hidden_among(single - 1, pairs, helpers))]
    if pairs and helpers < n - 1:
        law = hidden_among(single, pairs - 1, helpers)
        laws_of_kinds[Client.PAIRED] = [(1 - p, Client.PAIRED, law)] + [(p, Client.UNPAIRED, law)] * (p > 0)
    if pairs and helpers:
        laws_of_kinds[Client.EXPOSED] = [(1.0, Client.EXPOSED, hidden_among(single, pairs - 1, helpers - 1))]
    return laws_of_kinds


def kinds(system: FederatedSystem) -> dict[Client, int]:
    """The number of others that hide each kind of client of a system, with its colluders and without dropout.

    Examples
    --------
    >>> kinds(FederatedSystem(clients=50, parameters=10, epsilon=1.0, ldp_fraction=0.2, colluding=2))
    {<Client.UNPAIRED: 'unpaired'>: 7, <Client.PAIRED: 'paired'>: 8, <Client.EXPOSED: 'exposed'>: 9}
    """
    without_dropout = laws(system.clients, dropout=0.0, independent=system.independent, colluding=system.colluding)
    return {client: law.start for client, ((_, _, law),) in without_dropout.items()}


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
    colluding: int = 0,
) -> Majorant:
    r"""Upper bound of the privacy curve of a client in one round, over all updates, also adaptively chosen ones.

    Parameters
    ----------
    clients, parameters, epsilon, dropout, independent
        n, m, eps_p, p, and the share of unpaired clients.
    client : {"unpaired", "paired", "exposed"}
        Whether the client has a partner, and whether that colludes.
    bits : int or None
        Shared bits of a pair; None for the limit.
    delta : float
        In (0, 1), of all rounds: the delta near which the bound should be tight.
    rounds : int
        T, the number of rounds that share `delta`.
    colluding : int
        m, any m of the others.

    Notes
    -----
    *Hypotheses.* Clients drop out independently of their updates and of each other; the observer sees the set s of
    survivors and the sum; the client in question survives.

    *Mean over classes.* Let c be a function of s. The law of s is the same for both neighbours, so

    .. math:: D_\lambda(P\|Q) = \sum_c P(c)\,E[D_\lambda(P_s\|Q_s) \mid c] \le \sum_c P(c)\,V_c(\lambda), \qquad \lambda > 0,

    if :math:`V_c` is nowhere below the curves of that class. Here c consists of how the client quantizes and of an
    interval that contains the number N of others that quantize alone. Given s, the sum contains the noise of N coins
    of any corner. The coins beyond the least number n of the class are independent noise, and adding them is
    post-processing. So :math:`V_c` is the greatest curve of n others
    (:mod:`airtight.analytics.privacy.accounting.adaptive_composition`) over updates that are chosen with knowledge of
    s and of the outputs for earlier parameters; this adversary is stronger than the actual one. :math:`V_c = 1` where
    N is below a quantile, or so small that an outcome that is impossible for the neighbour is likely.

    *Rounds.* The right-hand side is a mixture of greatest curves, hence the curve of some pair. The pair dominates the
    release of a round given all earlier outputs, in either order. So its powers dominate all rounds, with the worst
    updates in each (docs/rounds.md).

    *Classes.* The bound holds for any classes. They are chosen by a sketch of the moments at the given delta, such
    that the least number of a class omits a share `_LOST` of the others on average, or more if there would be too many
    classes. Between two computed epsilons the chord is used, which lies above the greatest curve, because this is
    convex in :math:`e^\epsilon`.

    Examples
    --------
    >>> common = {"client": Client.UNPAIRED, "epsilon": 1.0, "independent": 1.0, "bits": None, "delta": 1e-5}
    >>> some, all_stay = curve(40, 1, dropout=0.2, **common), curve(40, 1, dropout=0.0, **common)
    >>> [round(float(one.delta_bracket(np.array([0.3]))[1][0]), 4) for one in (some, all_stay)]
    [0.0074, 0.0044]
    """
    level, classes = delta / rounds, []
    negligible = level * _MISSED * 1e-3 if level > _LOW and dropout > 0 else 0.0
    missed = max(negligible, _UNDERFLOW if dropout > 0 else 0.0)
    cases = laws(clients, dropout=dropout, independent=independent, negligible=negligible / 4, colluding=colluding)[client]
    losses = sketch(cases, parameters, epsilon=epsilon, delta=delta, rounds=rounds)
    for (chance, mode, law), loss in zip(cases, losses, strict=True):
        impossible = _impossible_probability(mode, law.start + np.arange(law.weights.size), parameters, epsilon, bits)
        left_out, classes_of_case = least_of_classes(
            law, loss + impossible / (level * _IMPOSSIBLE), missed=level * _MISSED
        )
        missed += chance * left_out
        for probability, others in classes_of_case:
            if impossible[others - law.start] > _CONCEDED:
                missed += chance * probability
            else:
                classes.append((chance * probability, mode, others))
    curves = [
        (share, bounded([(mode, n)], parameters, epsilon=epsilon, bits=bits, delta=min(level * _BELOW / share, 0.5)))
        for share, mode, n in classes
    ]
    eps = np.unique(np.concatenate([[0.0, 1.0], *(majorant.epsilon for _, majorant in curves)]))
    values = missed + sum((share * majorant.delta_bracket(eps)[1] for share, majorant in curves), np.zeros(eps.size))
    rounding = relative_error(clients, 2) + 16 * len(curves) * UNIT
    pure = float(central.local_epsilon(epsilon, parameters)) if client is Client.UNPAIRED else np.inf
    return Majorant(eps, np.minimum(values * (1 + rounding), 1.0), pure)


def worst(curves: Sequence[Majorant]) -> Majorant:
    """The pointwise maximum of the curves at all their epsilons, which is nowhere below any of them.

    Examples
    --------
    >>> eps = np.array([0.0, 1.0])
    >>> worst([Majorant(eps, np.array([0.5, 0.1])), Majorant(eps, np.array([0.4, 0.2]))]).delta.tolist()
    [0.5..., 0.2...]
    """
    eps = np.unique(np.concatenate([bound.epsilon for bound in curves]))
    return Majorant(
        eps,
        np.maximum.reduce([bound.delta_bracket(eps)[1] for bound in curves]),
        max(bound.pure for bound in curves),
    )


def probability_of_impossible(
    clients: int,
    parameters: int,
    *,
    client: Client,
    epsilon: float,
    dropout: float,
    independent: float,
    bits: int | None,
    rounds: int = 1,
    colluding: int = 0,
) -> float:
    """Probability that, for the worst updates, one of T rounds has an outcome that is impossible for the neighbour.

    Rounded down. No finite epsilon exists for a delta below it. The parameters are those of :func:`curve`.

    Examples
    --------
    >>> common = {"client": Client.PAIRED, "epsilon": 1.0, "dropout": 0.1, "independent": 0.0, "bits": None}
    >>> probability_of_impossible(20, 100, **common) > 0.5, probability_of_impossible(20_000, 100, **common) < 1e-100
    (True, True)
    """
    cases = laws(clients, dropout=dropout, independent=independent, colluding=colluding)[client]
    impossible = 0.0
    for chance, mode, law in cases:
        n = law.start + np.arange(law.weights.size)
        impossible += chance * float(law.weights @ _impossible_probability(mode, n, parameters, epsilon, bits))
    return -math.expm1(rounds * math.log1p(-min(impossible * (1 - relative_error(clients, 2)), 1 - UNIT)))


def _impossible_probability(
    mode: Client, others: IntArray, parameters: int, epsilon: float, bits: int | None
) -> FloatArray:
    """Probability of impossible outcomes in one round, given the number of others, which are all at the upper end."""
    laws = central.contributions(mode, epsilon=epsilon, bits=bits)
    own_probability = max(
        (
            float(law[end])
            for p, q in laws
            for law, other_law in ((p, q), (q, p))
            for end in (0, -1)
            if other_law[end] == 0
        ),
        default=0.0,
    )
    own_probability *= 1 - central.alike(mode, epsilon=epsilon)
    probability = own_probability * np.exp(others * np.log(central.interval(epsilon)[1]))
    return np.asarray(-np.expm1(parameters * np.log1p(-np.minimum(probability, 1 - UNIT))))


def bounded(
    cases: Sequence[tuple[Client, int]], count: int, *, epsilon: float, bits: int | None, delta: float
) -> Majorant:
    """The greatest curve of `count` parameters, each of which may be any case.

    A case is how the client quantizes, with the number of others that quantize alone; `delta`, in (0, 1), is the order
    of magnitude of the least delta of interest.
    """
    pure = float(central.local_epsilon(epsilon, count)) if {mode for mode, _ in cases} == {Client.UNPAIRED} else np.inf
    if count == 1:
        envelopes = [
            central.one_parameter(n, epsilon=epsilon, client=mode, bits=bits, delta=delta) for mode, n in cases
        ]
        top = max(min(max(envelope.reach(delta * _LEAST, default=1.0) for envelope in envelopes), pure), 1e-300)
        points = _POINTS_OF_FEW if max(n for _, n in cases) <= _FEW else _POINTS
        step = 2.0 ** math.ceil(math.log2(top / points))  # so that curves of different reach share their points
        eps = np.arange(math.ceil(top / step) + 1.0) * step
        values = np.maximum.reduce([np.asarray(envelope.delta(eps)) for envelope in envelopes])
        return Majorant(eps, np.minimum.accumulate(values), pure)
    grids, parameter_count, shift = central.prepared(cases, count, epsilon=epsilon, delta=delta, bits=bits)
    return Majorant(*adaptive_composition.curve(grids, delta, count=parameter_count), pure, shift)


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def sketch(
    cases: Sequence[tuple[float, Client, Block]], parameters: int, *, epsilon: float, delta: float, rounds: int
) -> list[FloatArray]:
    """A loss for each case and number of others; in a class its mean may rise by about 1.

    The losses decide how the numbers are divided into classes: the mean loss may rise by about 1 if the least number
    of a class is taken for all its numbers. No bound depends on them for its validity. They are proportional to
    Chernoff's bound of delta if one of the rounds has this number of others, all at the upper end, at the epsilon of
    all rounds that belongs to `delta`. The moments are exact for up to `_EXACTLY` others, and approximately those of
    Gaussian noise beyond.
    """
    numbers = [law.start + np.arange(law.weights.size) for _, _, law in cases]
    shares = [chance * law.weights for chance, _, law in cases]
    cumulants = _Cumulants.of(numbers, parameters, epsilon)
    log_moments = np.empty(_TILTS.size)
    for i in range(_TILTS.size):
        logs = [np.log(share) + logs_of_case for share, logs_of_case in zip(shares, cumulants.at(i), strict=True)]
        top = max(float(np.max(logs_of_case)) for logs_of_case in logs)
        log_moments[i] = top + math.log(sum(float(np.sum(np.exp(logs_of_case - top))) for logs_of_case in logs))
    bounds = (rounds * log_moments - math.log(delta)) / _TILTS
    best = int(np.argmin(bounds))
    low, high = 0.0, float(bounds[best])
    # bisection: each number has its own best exponent, so the mean of their bounds is below the bound of the mean
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        log_bounds = cumulants.chernoff(middle, (rounds - 1) * log_moments)
        mean = sum(float(share @ np.exp(log)) for share, log in zip(shares, log_bounds, strict=True))
        low, high = (low, middle) if mean <= delta / rounds else (middle, high)
    log_bounds = cumulants.chernoff(high, (rounds - 1) * log_moments)
    top = max(float(np.max(np.log(share) + log)) for share, log in zip(shares, log_bounds, strict=True))
    values = [np.exp(np.minimum(log - top, _GREATEST)) for log in log_bounds]
    weights = [share * value for share, value in zip(shares, values, strict=True)]
    # approximately the cumulant of one round
    size = float(np.clip(_TILTS[best] * high / (2 * rounds), 1.0, _STEEPEST))
    likely_case = max(range(len(cases)), key=lambda i: float(np.max(weights[i])))
    peak = int(np.argmax(weights[likely_case]))
    allowed = 2 * float(weights[likely_case][peak]) * _LOST**2 * max(int(numbers[likely_case][peak]), 1) * size
    losses = [chance * value / allowed for (chance, _, _), value in zip(cases, values, strict=True)]
    # where every outcome is impossible under one update, as doubles hold it, no loss is finite: all counts are one class
    return [np.nan_to_num(loss, nan=0.0, posinf=_UNBOUNDED) for loss in losses]


@dataclass(frozen=True)
class _Cumulants:
    """Logarithms of the moments of one round's loss, interpolated in the number of others between `nodes`."""

    numbers: list[IntArray]
    nodes: FloatArray
    values: FloatArray

    @classmethod
    def of(cls, numbers: list[IntArray], parameters: int, epsilon: float) -> _Cumulants:
        low, high, share = central.interval(epsilon)
        first, last = min(int(n[0]) for n in numbers), max(int(n[-1]) for n in numbers)
        nodes = np.unique(np.geomspace(first + 1, last + 1, _NODES).round().astype(int)) - 1
        moments = []
        for node in nodes.tolist():
            if node > _EXACTLY:
                squared_mean = share**2 / ((node + 1) * low * high)
                moments.append(np.minimum(_TILTS * (1 + _TILTS) / 2 * squared_mean, _TILTS * epsilon))
                continue
            noise = count_law(node, 0, low, high, negligible=_UNDERFLOW)
            pair = Merged.of(np.convolve(noise, [low, high]), np.convolve(noise, [high, low]), 0.0)
            moments.append(pair.cumulants(_TILTS))
        return cls(numbers, np.log1p(nodes), parameters * np.array(moments))

    def chernoff(self, epsilon: float, besides: FloatArray) -> list[FloatArray]:
        """log of Chernoff's bound of Pr(loss > epsilon); the other rounds have the cumulants `besides`."""
        log = np.minimum(np.min(self.values + besides - _TILTS * epsilon, axis=1), 0.0)
        return [np.interp(np.log1p(n), self.nodes, log) for n in self.numbers]

    def at(self, i: int) -> list[FloatArray]:
        """The cumulants at the exponent with index i."""
        return [np.interp(np.log1p(n), self.nodes, self.values[:, i]) for n in self.numbers]


def least_of_classes(law: Block, loss: FloatArray, *, missed: float) -> tuple[float, list[tuple[float, int]]]:
    """Probability of the least counts, at most `missed`; probability and least count of each class of the others.

    Parameters
    ----------
    law : Block
    loss : ndarray
        Loss of each count, falling with the count. Classes are intervals of counts. Taking the least count of a class
        for all its counts raises the mean loss by at most 1, or by a multiple if there would be too many classes.
    missed : float
        Greatest probability of the counts that are left out.

    Examples
    --------
    >>> few, found = least_of_classes(Block(0, np.array([0.1, 0.4, 0.5])), np.array([9.0, 3.0, 0.0]), missed=0.2)
    >>> few, [(round(chance, 3), n) for chance, n in found]
    (0.1, [(0.4, 1), (0.5, 2)])
    """
    first = int(np.sum(np.cumsum(law.weights) <= missed))
    left_out = float(np.sum(law.weights[:first]))
    n = law.start + np.arange(first, law.weights.size)
    starts = _cut(law.weights[first:], loss[first:], _MOST, _EVERY)
    chances = np.add.reduceat(law.weights[first:], starts)
    return left_out, [(float(chance), int(n[start])) for chance, start in zip(chances, starts, strict=True)]


def greatest_of_classes(law: Block, loss: FloatArray, *, most: int) -> list[tuple[float, int, int]]:
    """Probability, least and greatest count of each class, where the greatest count is taken for all counts of a class.

    The classes are as in :func:`least_of_classes`, at most `most` of them.

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
    """Starts of runs whose losses differ from the first by at most 1 in the mean, or more if there are many runs."""
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
