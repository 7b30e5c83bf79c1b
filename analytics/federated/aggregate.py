r"""What the sum of CorBin-FL's updates gives away of one client, as a privacy curve that composes with any other.

Adjacency ``replace``: one client's updates are others in every round. The server sees the sum of what arrives, and who
dropped out (observer ``aggregate``).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from analytics import checks
from analytics.checks import FloatArray, ParameterError
from analytics.distributions.poisson_binomial import binomial, total
from analytics.federated import dropout
from analytics.federated.quantizers import pair_law
from analytics.federated.system import FederatedSystem
from analytics.privacy import adaptive_composition, releases
from analytics.privacy import aggregation as central
from analytics.privacy.aggregation import Client
from analytics.privacy.count_shift import count_law, relative_error
from analytics.privacy.curve import PrivacyCurve
from analytics.privacy.majorant import Majorant
from analytics.privacy.releases import Ends, Factors, Release

_MISSED = 1e-3  # share of delta that rounds of unusually many dropouts may cost
_UNUSUAL = 1e-3  # probability of unusually few dropouts, which a lower end takes to say nothing
_POINTS = 4097  # of the curve of one parameter
_LEAST = 1e-12  # of delta, beyond which one parameter's curve is trimmed
_COUNT_TRIMMED = 1e-25  # mass of the count, for lower ends
_OUTCOMES, _LOSSES = 4000, 1500  # of a law for lower ends, at most and when gathered
_UNIT_NAME = "one client, replace"
_TILTS = np.geomspace(1e-2, 1e3, 40)


@dataclass(frozen=True)
class Aggregate(Release):
    """The sums of the updates of T rounds, as they concern one client; worst over all updates, also if chosen adaptively.

    Attributes
    ----------
    system : FederatedSystem
        Its rounds, center, radius and delta do not matter.
    client : str
        "unpaired", "paired", or "either": now this, now that.
    rounds : int
        T.
    """

    system: FederatedSystem
    client: str = "either"
    rounds: int = 1
    _known: dict[float, Majorant] = field(default_factory=dict, compare=False, repr=False)
    unit = _UNIT_NAME
    symmetric = True
    pair = False
    closed = True

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
    def made(cls, parameters: Mapping[str, Any]) -> Release:
        return cls(FederatedSystem(**parameters["system"]), parameters["client"], parameters["rounds"])

    @property
    def kind(self) -> Hashable:
        return Aggregate, self.system, self.client

    def composed(self, factors: Factors) -> tuple[Release, int]:
        rounds = sum(count * one.rounds for one, count in factors if isinstance(one, Aggregate))
        return Aggregate(self.system, self.client, rounds), 1

    def greatest_loss(self, *, reverse: bool = False) -> float:
        if {how for how, _ in self._ways(0.0)} != {Client.UNPAIRED}:
            return math.inf
        return float(central.local_epsilon(self.system.epsilon, self.system.parameters * self.rounds))

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        return self._majorant(_LEAST).ends(epsilon, reverse=reverse)

    def dominating(self, level: float) -> Factors:
        """Any corner in each parameter, chosen with knowledge of the others; rounds of many dropouts tell all."""
        return ((self._majorant(10.0 ** math.floor(math.log10(min(level, 0.5)))), 1),)

    def _majorant(self, level: float) -> Majorant:
        if level not in self._known:
            self._known[level] = self._bounded(level)
        return self._known[level]

    def _bounded(self, level: float) -> Majorant:
        s, missed = self.system, level * _MISSED / self.rounds
        total_missed = -math.expm1(self.rounds * math.log1p(-missed)) if s.dropout > 0 else 0.0
        cases, bits, count = self._ways(missed), s.shared_bits, s.parameters * self.rounds
        pure = self.greatest_loss()
        if count == 1:
            found = [
                central.one_parameter(n, epsilon=s.epsilon, client=how, bits=bits, delta=level) for how, n in cases
            ]
            top = max(min(max(one.reach(level * _LEAST, default=1.0) for one in found), pure), 1e-300)
            eps = np.linspace(0.0, top, _POINTS)
            delta = np.maximum.reduce([np.asarray(one.delta(eps)) for one in found])
            return Majorant(eps, np.minimum.accumulate(delta), pure, total_missed)
        grids, many, shift = central.prepared(cases, count, epsilon=s.epsilon, delta=level, bits=bits)
        return Majorant(*adaptive_composition.curve(grids, level, count=many), pure, total_missed, shift)

    def attained(self, level: float) -> Factors:
        """One pair of updates, the same in every parameter of every round: that which gives away most of some that are tried."""
        s, count = self.system, self.system.parameters * self.rounds
        if s.shared_bits == 0 and s.pairs > 0:
            return ()  # every pair adds noise
        tried = [self._seen(cases, share) for cases in self._moves() for share in (0.0, 0.5, 1.0)]
        p, q, doubt = max(tried, key=lambda pair: _score(pair[0], pair[1], count, level))
        return ((releases.discrete(p / math.fsum(p), q / math.fsum(q), self.unit, doubt), count),)

    def _kinds(self) -> list[str]:
        if self.client != "either":
            return [self.client]
        return ["unpaired"] * (self.system.alone > 0) + ["paired"] * (self.system.pairs > 0)

    def _ways(self, missed: float) -> list[tuple[Client, int]]:
        s = self.system
        found = dropout.ways(s.clients, dropout=s.dropout, independent=s.ldp_fraction, missed=missed)
        by_kind = dict(zip(["unpaired"] * (s.alone > 0) + ["paired"] * (s.pairs > 0), found, strict=True))
        return [case for kind in self._kinds() for case in by_kind[kind]]

    def _moves(self) -> list[list[_Case]]:
        """Some moves of the client, each in all cases that may come."""
        s, found = self.system, []
        low, high, _ = central.interval(s.epsilon)
        unpaired = np.array([low, high]), np.array([high, low])
        if "unpaired" in self._kinds():
            found.append([_Case(1.0, unpaired, s.alone - 1, s.pairs)])
        if "paired" in self._kinds() and s.dropout == 0:
            pairs = central.contributions(Client.PAIRED, epsilon=s.epsilon, bits=s.shared_bits)
            found += [[_Case(1.0, pair, s.alone, s.pairs - 1)] for pair in pairs]
        elif "paired" in self._kinds():  # from one end to the other, the partner at the upper one
            laws = [pair_law(w, 1.0, epsilon=s.epsilon, bits=s.shared_bits) for w in (1.0, -1.0)]
            first, second = (np.array([law[0, 0], law[0, 1] + law[1, 0], law[1, 1]]) for law in laws)
            cases = (1 - s.dropout, (first, second)), (s.dropout, unpaired)
            found.append([_Case(weight, pair, s.alone, s.pairs - 1) for weight, pair in cases])
        return found

    def _seen(self, cases: Sequence[_Case], share: float) -> tuple[FloatArray, FloatArray, float]:
        """Laws of what is seen, and their relative error: the case, and the sum, when not more others than usual are alone.

        `share` is that of these others that are at the upper end.
        """
        s = self.system
        low, high, _ = central.interval(s.epsilon)
        first, second, doubt = [], [], 0.0
        for case in cases:
            n, weight = case.singles, case.probability
            if s.dropout > 0:
                law = total([binomial(n, 1 - s.dropout), binomial(case.pairs, 2 * s.dropout * (1 - s.dropout))])
                n = law.start + int(np.sum(np.cumsum(law.weights) < 1 - _UNUSUAL))
                first.append(np.array([weight * _UNUSUAL]))
                second.append(np.array([weight * _UNUSUAL]))
                weight *= 1 - _UNUSUAL
            up = round(share * n)
            noise = count_law(up, n - up, low, high, negligible=_COUNT_TRIMMED)
            doubt = max(doubt, relative_error(n, low, high, _COUNT_TRIMMED) + 1e-13)
            first.append(weight * np.convolve(noise, case.laws[0]))
            second.append(weight * np.convolve(noise, case.laws[1]))
        p, q = _gathered(np.concatenate(first), np.concatenate(second))
        return p, q, doubt


releases.register(Aggregate, "aggregation")


@dataclass(frozen=True)
class _Case:
    """Its probability; what the client, with its partner if it is there, adds under both updates; others alone, other pairs."""

    probability: float
    laws: tuple[FloatArray, FloatArray]
    singles: int
    pairs: int


def aggregation(system: FederatedSystem, *, client: str = "either") -> PrivacyCurve:
    """What one round of (Aug)CorBin-FL gives away of one client's update to who sees the sum; ``.compose(T)`` for T rounds.

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
        :func:`analytics.privacy.aggregation.mixed_epsilon`, worst over all updates; the lower one is what one pair of updates
        gives away, the same in every parameter and round.

    Notes
    -----
    *Upper end.* Whatever the updates, also if they are chosen with knowledge of what came out before, the divergence of all
    parameters of all rounds is at most the greatest curve V of :mod:`analytics.privacy.adaptive_composition` at every
    :math:`\\lambda > 0`, in either order, since the corners of a client contain every pair in both orders. So a pair with
    this curve dominates and may stand for the release in every composition (docs/rounds.md). Fewer others that quantize
    alone than a quantile are taken to tell everything.

    *Lower end.* Of the client's extreme moves all are tried (with dropout that from one end to the other), and three of the
    others' corners: none, half, and all at the upper end. Unusually few dropouts are taken to say nothing; outcomes of
    nearly one loss are made one, which is post-processing.

    Examples
    --------
    >>> system = FederatedSystem(clients=1000, parameters=100, epsilon=1.0, ldp_fraction=1.0)
    >>> one = aggregation(system)
    >>> [round(float(end), 2) for end in one.bracket(delta=1e-5)]
    [1.26, 1.26]
    >>> from analytics.privacy.curve import compose, gaussian
    >>> float(compose([one, gaussian(0.5)], [10, 1]).epsilon(1e-5)) > float(one.compose(10).epsilon(1e-5))
    True
    """
    return PrivacyCurve(((Aggregate(system, client), 1),))


def _score(p: FloatArray, q: FloatArray, count: int, level: float) -> float:
    """About what epsilon so many of them have: to choose among pairs."""
    infinite = float(np.sum(p[q == 0])), float(np.sum(q[p == 0]))
    if max(-math.expm1(count * math.log1p(-min(x, 1 - 1e-16))) for x in infinite) > level:
        return math.inf
    both = (p > 0) & (q > 0)
    found = []
    for one, other in ((p[both], q[both]), (q[both], p[both])):
        loss = np.log(one) - np.log(other)
        exponent = np.log(one) + np.multiply.outer(_TILTS, loss)
        top = np.max(exponent, axis=1)
        moments = top + np.log(np.sum(np.exp(exponent - top[:, None]), axis=1))
        found.append(float(np.min((count * moments - math.log(level)) / _TILTS)))
    return max(found)


def _gathered(p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """With outcomes of nearly one loss made one where there are many."""
    possible = p + q > 0
    p, q = p[possible], q[possible]
    if p.size <= _OUTCOMES:
        return p, q
    with np.errstate(divide="ignore"):
        loss = np.log(p) - np.log(q)
    finite = np.isfinite(loss)
    weight = np.where(finite, np.sqrt(p * q), 0.0)
    low, high = float(np.min(loss[finite])), float(np.max(loss[finite]))
    order = np.argsort(loss)
    even = np.empty(p.size)
    even[order] = np.cumsum(weight[order]) / np.sum(weight)
    far = (np.clip(loss, low, high) - low) / max(high - low, 1e-300)
    ends = 3 * _LOSSES * (np.sign(loss) * ~finite)
    groups = np.unique(np.floor((even + far) * _LOSSES) + ends, return_inverse=True)[1]
    return np.bincount(groups, p).astype(float), np.bincount(groups, q).astype(float)
