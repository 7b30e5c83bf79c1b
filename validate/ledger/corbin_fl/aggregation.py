"""CB definitions (1)-(3), Theorem 3 and what is true instead: central and local privacy."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from analytics.distributions.poisson_binomial import binomial
from analytics.enclosures import aggregation as enclosed
from analytics.enclosures.ball import ball
from analytics.federated import mean_estimation, quantizers
from analytics.privacy import aggregation
from analytics.privacy import sample_level as sample_privacy
from validate.claim import Claim, Range, Relation, Verdict, constant

PAPER = "corbin-fl"
_DELTA = 1e-5
_WIDE = Range(-1.0, 2.0)  # a place between both ends; what is beyond an end is that end, which is therefore tried often
_LOCAL = Range(0.05, 4.0, logarithmic=True)
_SHARE = Range(0.0, 0.99)  # of the local epsilon: at 1 delta vanishes
_UNSEEN = 1e-30  # delta of which nothing is trimmed
_LIMIT = 9  # stands for infinitely many bits


def _place(position: float) -> float:
    return min(max(position, 0.0), 1.0)


def _hockey_stick(p: dict[int, Any], q: dict[int, Any], odds: Any) -> Any:
    return sum((max(mass - odds * q.get(place, 0), 0 * mass) for place, mass in p.items()), 0 * odds)


def _lattice(outputs: list[Any]) -> dict[int, Any]:
    """Law of the sum of outputs +-1 with the given probabilities of +1."""
    law: dict[int, Any] = {0: 1}
    for q in outputs:
        step: dict[int, Any] = defaultdict(int)
        for place, mass in law.items():
            step[place + 1] += mass * q
            step[place - 1] += mass * (1 - q)
        law = step
    return dict(law)


def definition_user() -> Claim:
    def common(clients: int, epsilon: float) -> float:
        q = [0.5 + 1 / (3 * float(quantizers.alpha(epsilon)))] * clients
        return 1.0 + len(_lattice(q).keys() & _lattice(q[1:]).keys())

    return Claim(
        id="CB-E1",
        paper=PAPER,
        location="Sec. II-B, Eq. (1), UCDP",
        statement=r"P(\bar W_g \in T) \le e^{\epsilon_u}P(\bar W'_g \in T) + \delta,\quad "
        r"\bar W'_g = \tfrac1n\sum_{i \ge 2}\bar W_i",
        expected=Verdict.DEFINITION,
        reason="Its neighbour lacks a client; for one-bit outputs the two sums have no value in common (counted here), so "
        "nothing of this mechanism can satisfy it.",
        domain={"clients": Range(2, 12, integer=True), "epsilon": _LOCAL},
        claimed=lambda clients, epsilon: 1.0,
        actual=common,
        relation=Relation.EQUAL,
        if_survived=Verdict.DEFINITION,
    )


def definition_sample() -> Claim:
    return Claim(
        id="CB-E2",
        paper=PAPER,
        location="Sec. II-B, Eq. (2), SCDP",
        statement=r"\|w_1 - w'_1\|_2 \le \Delta_2",
        expected=Verdict.DEFINITION,
        reason="A replaced update that moves little; with a move of the whole interval it is replacement of any update (compared "
        "here for one parameter).",
        domain={"others": Range(0, 30, integer=True), "epsilon": _LOCAL, "share": Range(0.0, 0.9)},
        claimed=lambda others, epsilon, share: (
            1 + float(_one(others, epsilon, "unpaired", None, 2.0).delta(share * epsilon))
        ),
        actual=lambda others, epsilon, share: (
            1 + float(aggregation.one_parameter(others, epsilon=epsilon, client="unpaired").delta(share * epsilon))
        ),
        relation=Relation.EQUAL,
        if_survived=Verdict.DEFINITION,
    )


def definition_parameter() -> Claim:
    def greatest_ratio(parameters: int, epsilon: float) -> float:
        up = 0.5 + 1 / (2 * float(quantizers.alpha(epsilon)))
        return (up / (1 - up)) ** parameters

    return Claim(
        id="CB-E3",
        paper=PAPER,
        location="Sec. II-B, Eq. (3), PLDP",
        statement=r"\max_j \frac{P(\bar W_{i,j} \in T)}{P(\bar W'_{i,j} \in T)} \le e^{\epsilon_p}",
        expected=Verdict.DEFINITION,
        reason="One parameter at a time: a whole update of m parameters has m epsilon_p.",
        domain={"parameters": Range(1, 8, integer=True), "epsilon": _LOCAL},
        claimed=lambda parameters, epsilon: math.exp(float(aggregation.local_epsilon(epsilon, parameters))),
        actual=greatest_ratio,
        relation=Relation.EQUAL,
        if_survived=Verdict.DEFINITION,
    )


def removal() -> Claim:
    """One parameter, center 0, radius 1; client i has the update w where i is even and -w where it is odd."""

    def exact(clients: int, w: Any, alpha: Any, odds: Any) -> Any:
        q = [(1 + (w if i % 2 == 0 else -w) / alpha) / 2 for i in range(clients)]
        return _hockey_stick(_lattice(q), _lattice(q[1:]), odds)

    return Claim(
        id="CB-T3",
        paper=PAPER,
        location="Theorem 3, Eq. (5), for the neighbours of Eq. (1)",
        statement=r"P(\bar W_g \in T) \le e^{\epsilon_u}P(\bar W'_g \in T) + \delta",
        expected=Verdict.FALSE,
        reason="Parity: n outputs of +-A and n - 1 of them have sums that never coincide, so delta is 1 at every finite epsilon.",
        domain={
            "clients": Range(2, 8, integer=True),
            "w": Range(-1.0, 1.0),
            "alpha": Range(1.1, 10.0),
            "odds": Range(1.0, 1e6, logarithmic=True),
        },
        claimed=lambda **point: _DELTA,
        actual=lambda clients, w, alpha, odds: float(exact(int(clients), w, alpha, odds)),
        enclose=lambda clients, w, alpha, odds: (
            ball(Fraction("1e-5")),
            ball(Fraction(exact(int(clients), w, alpha, odds))),
        ),
    )


def _from_below(others: int, share: float, epsilon: float) -> tuple[float, int]:
    """delta of an unpaired client when all others are at the upper end, and the best threshold."""
    noise = binomial(others, (1 + share) / 2).dense(others + 1)
    p = np.convolve(noise, [(1 - share) / 2, (1 + share) / 2])
    q = np.convolve(noise, [(1 + share) / 2, (1 - share) / 2])
    gain = np.cumsum((p - math.exp(epsilon) * q)[::-1])[::-1]
    return float(max(np.max(gain), 0.0)), int(np.argmax(gain))


def _substitution(name: str, location: str, reason: str, domain: dict[str, Range]) -> Claim:
    """Eq. (5), m = 1, every client alone, delta = 1e-5, read for a replaced update; `odds` is e^eps_p."""

    def printed(n: int, odds: float, radius: float) -> aggregation.PublishedCentral:
        alpha = (odds + 1) / (odds - 1)
        return aggregation.published(
            int(n), 1, local_epsilon=math.log(odds), delta=_DELTA, fraction=1.0, radius=radius or 1 / alpha
        )

    def proof(n: Fraction, odds: Fraction, radius: Fraction) -> tuple[Any, Any]:
        alpha = (odds + 1) / (odds - 1)
        epsilon = enclosed.published_epsilon(int(n), 1, alpha, Fraction("1e-5"), radius or 1 / alpha)
        _, start = _from_below(int(n) - 1, float(1 / alpha), float(epsilon.mid()))
        return ball(Fraction("1e-5")), enclosed.unpaired_delta_from_below(int(n) - 1, 1 / alpha, epsilon, start)

    def claimed(n: int, odds: float, radius: float) -> float:
        return _DELTA if printed(n, odds, radius).condition else math.nan

    return Claim(
        id=name,
        paper=PAPER,
        location=location,
        statement=r"D_{e^{\epsilon_u}}(\bar W_g \| \bar W'_g) \le \delta = 10^{-5} \text{ with the } \epsilon_u \text{ of (5)}",
        expected=Verdict.FALSE,
        reason=reason,
        domain=domain,
        claimed=claimed,
        actual=lambda n, odds, radius: _from_below(int(n) - 1, (odds - 1) / (odds + 1), printed(n, odds, radius).value)[
            0
        ],
        enclose=proof,
        bounded=True,
    )


def scale_of_the_radius() -> Claim:
    return _substitution(
        "CB-T3s",
        "Theorem 3, Eq. (5), read for a replaced update",
        "The right-hand side is proportional to the radius, a length; the mechanism is the same up to scale.",
        {
            "n": Range(1500, 4000, integer=True),
            "odds": Range(2.5, 4.0),
            "radius": Range(1e-6, 1.0, logarithmic=True),
        },
    )


def unit_radius() -> Claim:
    return _substitution(
        "CB-T3s-unit",
        "Theorem 3, Eq. (5), read for a replaced update at r alpha = 1 (radius = 0 stands for 1/alpha)",
        "Even so: e_p = 1 + 1/alpha^2 stands where 1 - 1/alpha^2 is needed; the noise of clients near the ends is overrated.",
        {"n": Range(41_000, 120_000, integer=True), "odds": Range(145.0, 160.0), "radius": constant(0)},
    )


@lru_cache(maxsize=4096)
def _one(others: int, epsilon: float, client: str, bits: int | None, move: float) -> Any:
    return aggregation.one_parameter(others, epsilon=epsilon, client=client, bits=bits, move=move, delta=_UNSEEN)


def _bernoulli(places: tuple[float, ...], epsilon: float) -> list[float]:
    share = 1 / float(quantizers.alpha(epsilon))
    return [(1 - share) / 2 + share * _place(t) for t in places]


def _edges(epsilon: float, bits: int | None) -> list[float]:
    """Both ends of the interval and, from either side, the first edge of a cell of the shared number after each."""
    share = 1 / float(quantizers.alpha(epsilon))
    low, cells = (1 - share) / 2, 2.0 ** (bits or 0)
    edge = (math.floor(cells * low + 1) / cells - low) / share
    if bits is None or edge >= 1:
        return [0.0, 1.0]
    return [0.0, 1.0, edge, edge - 1e-12, 1 - edge, 1 - edge + 1e-12]


def replaced_alone() -> Claim:
    def at(epsilon: float, share: float, first: float, second: float, *rest: float) -> float:
        others = _bernoulli(rest, epsilon)
        mine, neighbour = _bernoulli((first, second), epsilon)
        odds = math.exp(share * epsilon)
        return float(_hockey_stick(_lattice([mine, *others]), _lattice([neighbour, *others]), odds))

    def worst(epsilon: float, share: float, first: float, second: float, a: float, b: float, c: float) -> float:
        corners = [at(epsilon, share, 1.0, 0.0, *ends) for ends in combinations_with_replacement((0.0, 1.0), 3)]
        return max(at(epsilon, share, first, second, a, b, c), *corners)

    return Claim(
        id="CB-T3*",
        paper=PAPER,
        location="ours: replacement of a client that quantizes alone",
        statement=r"\delta(\epsilon) = \max_{j \le N} D_{e^\epsilon}\bigl(B_{q^+} + Y_j \,\|\, B_{q^-} + Y_j\bigr),\quad "
        r"Y_j = \mathrm{Bin}(j, q^+) + \mathrm{Bin}(N-j, q^-)",
        expected=Verdict.HOLDS,
        reason="Joint convexity puts everybody at an end of the interval; against all ends and any other place of three "
        "other clients.",
        domain={"epsilon": _LOCAL, "share": _SHARE} | dict.fromkeys(("first", "second", "a", "b", "c"), _WIDE),
        claimed=lambda epsilon, share, **places: float(_one(3, epsilon, "unpaired", None, 2.0).delta(share * epsilon)),
        actual=worst,
        relation=Relation.EQUAL,
    )


def replaced_in_a_pair() -> Claim:
    def law(x: float, partner: float, epsilon: float, bits: int | None) -> dict[int, float]:
        joint = quantizers.pair_law(2 * _place(x) - 1, 2 * _place(partner) - 1, epsilon=epsilon, bits=bits)
        return {-2: float(joint[0, 0]), 0: float(joint[0, 1] + joint[1, 0]), 2: float(joint[1, 1])}

    def depth(bits: int) -> int | None:
        return None if bits == _LIMIT else bits

    def at(epsilon: float, share: float, bits: int, first: float, second: float, partner: float, *rest: float) -> float:
        noise = _lattice(_bernoulli(rest, epsilon))
        sums = []
        for x in (first, second):
            total: dict[int, float] = defaultdict(float)
            for place, mass in law(x, partner, epsilon, depth(bits)).items():
                for other, weight in noise.items():
                    total[place + other] += mass * weight
            sums.append(dict(total))
        return float(_hockey_stick(sums[0], sums[1], math.exp(share * epsilon)))

    def worst(
        epsilon: float, share: float, bits: int, first: float, second: float, partner: float, a: float, b: float
    ) -> float:
        """Also a client that moves from end to end, its partner at an end or an edge of the cell there, the others at ends."""
        corners = [
            at(epsilon, share, bits, *move, place, *ends)
            for move in ((0.0, 1.0), (1.0, 0.0))
            for place in _edges(epsilon, depth(bits))
            for ends in combinations_with_replacement((0.0, 1.0), 2)
        ]
        return max(at(epsilon, share, bits, first, second, partner, a, b), *corners)

    return Claim(
        id="CB-T3*-paired",
        paper=PAPER,
        location="ours: replacement of a client of a pair (bits = 9 stands for infinitely many)",
        statement=r"\delta(\epsilon) = \max D_{e^\epsilon}(L + Y_j \,\|\, L' + Y_j),\quad "
        r"L = \delta_1,\ L' = (1-\tfrac1\alpha)\delta_1 + \tfrac1\alpha\delta_2 \text{ or reversed } (d = \infty)",
        expected=Verdict.HOLDS,
        reason="Given its partner, a client's contribution can be certain; a client that moves from end to end is the worst.",
        domain={"epsilon": _LOCAL, "share": _SHARE, "bits": Range(0, _LIMIT, integer=True)}
        | dict.fromkeys(("first", "second", "partner", "a", "b"), _WIDE),
        claimed=lambda epsilon, share, bits, **places: float(
            _one(2, epsilon, "paired", depth(bits), 2.0).delta(share * epsilon)
        ),
        actual=worst,
        relation=Relation.EQUAL,
    )


def whole_update() -> Claim:
    """Two parameters, two other clients, every combination of corners."""

    def brute(epsilon: float, delta: float) -> float:
        bound = aggregation.update_epsilon(2, 2, epsilon=epsilon, client="unpaired", delta=delta)
        share = 1 / float(quantizers.alpha(epsilon))
        ends = (1 - share) / 2, (1 + share) / 2
        pairs = []
        for j in range(3):
            others = [ends[1]] * j + [ends[0]] * (2 - j)
            up, down = _lattice([ends[1], *others]), _lattice([ends[0], *others])
            keys = sorted(up)
            one, other = np.array([up[k] for k in keys]), np.array([down[k] for k in keys])
            pairs += [(one, other), (other, one)]
        odds = math.exp(bound)
        return max(
            float(np.maximum(np.outer(p, s) - odds * np.outer(q, t), 0.0).sum()) for p, q in pairs for s, t in pairs
        )

    return Claim(
        id="CB-T3*-update",
        paper=PAPER,
        location="ours: replacement of a whole update",
        statement=r"D_{e^\epsilon}\Bigl(\bigotimes_j P_j \,\Big\|\, \bigotimes_j Q_j\Bigr) \le \delta",
        expected=Verdict.HOLDS,
        reason="The envelope of all corners dominates every parameter's pair of laws, so its composition dominates the update's; "
        "against all combinations of corners.",
        domain={"epsilon": Range(0.2, 2.0), "delta": Range(1e-3, 0.1, logarithmic=True)},
        claimed=lambda epsilon, delta: delta,
        actual=brute,
        tolerance=1e-7,
    )


def sample_level() -> Claim:
    """Renyi divergences of one parameter, added up over the law of the sum at every corner."""

    orders = np.concatenate([np.linspace(2, 10, 17), np.geomspace(12, 2000, 40)])

    def constants(others: int, epsilon: float, most: float) -> np.ndarray:
        share, worst = 1 / float(quantizers.alpha(epsilon)), np.zeros(orders.size)
        ends = (1 - share) / 2, (1 + share) / 2
        for upper in range(others + 1):
            noise = _lattice([ends[1]] * upper + [ends[0]] * (others - upper))
            for own, step in ((ends[0], 1), (ends[1], -1)):
                total = np.zeros(orders.size)
                for place in range(-others - 1, others + 2, 2):
                    up, down = noise.get(place - 1, 0.0), noise.get(place + 1, 0.0)
                    base = own * up + (1 - own) * down
                    x = step * (up - down) / base
                    rise = ((1 + most * x) ** orders - 1 - orders * most * x) / most**2
                    total += base * (rise if x >= 0 else orders * (orders - 1) * x * x / 2)
                worst = np.maximum(worst, total)
        return worst

    def added_up(others: int, parameters: int, epsilon: float, move: float, delta: float, rounds: int) -> float:
        most = move / 2 / float(quantizers.alpha(epsilon))
        with np.errstate(over="ignore"):
            total = constants(others, epsilon, most) * rounds * most**2 / (orders - 1)
        found = total + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)
        return max(float(np.min(found)), 0.0)

    return Claim(
        id="CB-E2*",
        paper=PAPER,
        location="ours: sample-level privacy, Eq. (2), of many parameters (a move of Delta radii)",
        statement=r"\epsilon = \min_a\left[\frac{C_aT\Delta^2}{4\alpha^2(a-1)} + \log\frac{a-1}a "
        r"- \frac{\log(a\delta)}{a-1}\right]",
        expected=Verdict.HOLDS,
        reason="The divergences of the parameters add up to at most this, whatever the move is spread over; against every "
        "corner of the other clients.",
        domain={
            "others": Range(1, 6, integer=True),
            "parameters": Range(20, 60, integer=True),
            "epsilon": Range(0.2, 2.0),
            "move": Range(0.05, 0.5),
            "delta": Range(1e-9, 1e-4, logarithmic=True),
            "rounds": Range(1, 3, integer=True),
        },
        claimed=lambda others, parameters, epsilon, move, delta, rounds: sample_privacy.epsilon(
            others, parameters, local=epsilon, move=move, delta=delta, rounds=rounds
        ),
        actual=added_up,
        relation=Relation.EQUAL,
        tolerance=2e-9,
    )


def against_the_server() -> Claim:
    def variation(epsilon: float, first: float, second: float, partner: float, bits: int, odds: float) -> float:
        other = 2 * _place(partner) - 1
        depth = None if bits == _LIMIT else bits
        p, q = (quantizers.pair_law(2 * _place(x) - 1, other, epsilon=epsilon, bits=depth) for x in (first, second))
        return float(np.maximum(p - odds * q, 0.0).sum())

    def worst(epsilon: float, first: float, second: float, partner: float, bits: int, odds: float) -> float:
        return max(
            variation(epsilon, first, second, partner, bits, odds), variation(epsilon, 1.0, 0.0, 1.0, _LIMIT, odds)
        )

    return Claim(
        id="CB-PLDP*",
        paper=PAPER,
        location="ours: what remains against the server, who sees both outputs (bits = 9 stands for infinitely many)",
        statement=r"\delta(\epsilon) = \tfrac1\alpha = \tanh\tfrac{\epsilon_p}2 \text{ for every } \epsilon \ge 0",
        expected=Verdict.HOLDS,
        reason="Total variation is at most the move of a threshold; attained by ends, all of it on an outcome of infinite ratio.",
        domain={"epsilon": _LOCAL, "bits": Range(0, _LIMIT, integer=True), "odds": Range(1.0, 100.0, logarithmic=True)}
        | dict.fromkeys(("first", "second", "partner"), _WIDE),
        claimed=lambda epsilon, **rest: float(aggregation.server_delta(0.0, local=epsilon)),
        actual=worst,
        relation=Relation.EQUAL,
    )


def augmented_error() -> Claim:
    def system(pairs: int, singles: int) -> tuple[int, float]:
        n = 2 * pairs + singles
        return n, singles / n

    def claimed(pairs: int, singles: int, epsilon: float) -> float:
        n, share = system(pairs, singles)
        return float(mean_estimation.published_augmented(n, epsilon=epsilon, fraction=share))

    def actual(pairs: int, singles: int, epsilon: float) -> float:
        n, share = system(pairs, singles)
        return float(mean_estimation.worst(n, epsilon=epsilon, independent=share))

    return Claim(
        id="CB-T3m",
        paper=PAPER,
        location="Theorem 3, mean squared error of AugCorBin-FL",
        statement=r"\mathrm{MSE} \le \frac{\gamma r^2\alpha^2}n + \frac{1-\gamma}{2n}r^2((\sqrt2-1)\alpha+1)((\sqrt2+1)\alpha-1)",
        expected=Verdict.HOLDS,
        reason="True and loose, as Theorem 2; exact for the part that quantizes alone.",
        domain={
            "pairs": Range(0, 20, integer=True),
            "singles": Range(1, 20, integer=True),
            "epsilon": Range(1e-2, 20.0, logarithmic=True),
        },
        claimed=claimed,
        actual=actual,
    )


CLAIMS = (
    definition_user,
    definition_sample,
    definition_parameter,
    against_the_server,
    removal,
    scale_of_the_radius,
    unit_radius,
    replaced_alone,
    replaced_in_a_pair,
    whole_update,
    sample_level,
    augmented_error,
)
