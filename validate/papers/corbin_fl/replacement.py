"""CB Theorem 3, ours: one client's update replaced, alone, in a pair, as a whole, and against the server."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations_with_replacement

import numpy as np

from analytics.federated import quantizers
from analytics.privacy import aggregation
from analytics.privacy import sample_level as sample_privacy
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.corbin_fl.common import LOCAL, PAPER, hockey_stick, lattice, one_parameter

_WIDE = Range(-1.0, 2.0)  # a place between both ends; what is beyond an end is that end, which is therefore tried often
_SHARE = Range(0.0, 0.99)  # of the local epsilon: at 1 delta vanishes
_LIMIT = 9  # stands for infinitely many bits


def _place(position: float) -> float:
    return min(max(position, 0.0), 1.0)


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
        return float(hockey_stick(lattice([mine, *others]), lattice([neighbour, *others]), odds))

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
        domain={"epsilon": LOCAL, "share": _SHARE} | dict.fromkeys(("first", "second", "a", "b", "c"), _WIDE),
        claimed=lambda epsilon, share, **places: float(
            one_parameter(3, epsilon, "unpaired", None, 2.0).delta(share * epsilon)
        ),
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
        noise = lattice(_bernoulli(rest, epsilon))
        sums = []
        for x in (first, second):
            total: dict[int, float] = defaultdict(float)
            for place, mass in law(x, partner, epsilon, depth(bits)).items():
                for other, weight in noise.items():
                    total[place + other] += mass * weight
            sums.append(dict(total))
        return float(hockey_stick(sums[0], sums[1], math.exp(share * epsilon)))

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
        domain={"epsilon": LOCAL, "share": _SHARE, "bits": Range(0, _LIMIT, integer=True)}
        | dict.fromkeys(("first", "second", "partner", "a", "b"), _WIDE),
        claimed=lambda epsilon, share, bits, **places: float(
            one_parameter(2, epsilon, "paired", depth(bits), 2.0).delta(share * epsilon)
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
            up, down = lattice([ends[1], *others]), lattice([ends[0], *others])
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
            noise = lattice([ends[1]] * upper + [ends[0]] * (others - upper))
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
        domain={"epsilon": LOCAL, "bits": Range(0, _LIMIT, integer=True), "odds": Range(1.0, 100.0, logarithmic=True)}
        | dict.fromkeys(("first", "second", "partner"), _WIDE),
        claimed=lambda epsilon, **rest: float(aggregation.server_delta(0.0, local=epsilon)),
        actual=worst,
        relation=Relation.EQUAL,
    )


CLAIMS = (replaced_alone, replaced_in_a_pair, whole_update, sample_level, against_the_server)
