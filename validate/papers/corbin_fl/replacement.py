"""CB Theorem 3, ours: replacing the update of a client alone or in a pair, a whole update, and privacy against the server.

Places are in [0, 1]: 0 and 1 are the end points of a parameter's interval.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, permutations, product

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.federated.corbin import central_privacy, quantizers
from airtight.analytics.forms.domain import Range
from airtight.validate.claims.claim import Claim, holds
from airtight.validate.claims.relation import at_most, equal
from airtight.validate.papers.corbin_fl.common import LOCAL, hockey_stick, lattice, one_parameter

_REPLACED = {"epsilon": LOCAL, "share": Range(0.0, 0.99)}  # share of the local epsilon: at share 1 delta is 0
_LIMIT = 9  # stands for infinitely many bits
_BITS = Range(0, _LIMIT, integer=True)


def _up(place: float, epsilon: float) -> float:
    """Probability of a plus output."""
    return 0.5 + (place - 0.5) / float(quantizers.alpha(epsilon))


def _pair(x: ArrayLike, partner: ArrayLike, epsilon: float, bits: int) -> np.ndarray:
    depth = None if bits == _LIMIT else bits
    return quantizers.pair_law(2 * np.asarray(x) - 1, 2 * np.asarray(partner) - 1, epsilon=epsilon, bits=depth)


def _alone(epsilon: float, share: float, inside: float) -> float:
    """Greatest delta of a client that moves among both end points and one place inside; three others are at these places."""
    places = {place: _up(place, epsilon) for place in (0.0, 1.0, inside)}
    deltas = []
    for rest in combinations_with_replacement(places.values(), 3):
        sums = [lattice([q, *rest]) for q in places.values()]
        deltas += [hockey_stick(p, q, math.exp(share * epsilon)) for p, q in permutations(sums, 2)]
    return float(max(deltas))


def _edges(epsilon: float, bits: int) -> list[float]:
    """Both sides of the first edge of a cell of the shared number inside each end point of the interval."""
    share, cells = 1 / float(quantizers.alpha(epsilon)), 2.0**bits
    low = (1 - share) / 2
    edge = (math.floor(cells * low + 1) / cells - low) / share
    return [] if bits == _LIMIT or edge >= 1 else [edge, edge - 1e-12, 1 - edge, 1 - edge + 1e-12]


def _paired(epsilon: float, share: float, bits: int, inside: float) -> float:
    """The same for a client of a pair with two others; its partner is at an end point, inside, or at the edge of a cell."""
    partners, places = np.array([0.0, 1.0, inside, *_edges(epsilon, bits)]), np.array([0.0, 1.0, inside])
    laws = _pair(places, partners[:, None], epsilon, bits)
    pluses = np.stack([laws[..., 0, 0], laws[..., 0, 1] + laws[..., 1, 0], laws[..., 1, 1]], axis=-1)
    worst = 0.0
    for rest in combinations_with_replacement((0.0, 1.0, inside), 2):
        noise = np.array([mass for _, mass in sorted(lattice([_up(t, epsilon) for t in rest]).items())])
        sums = np.apply_along_axis(np.convolve, -1, pluses, noise)
        for p, q in permutations(range(3), 2):
            excess = np.maximum(sums[:, p] - math.exp(share * epsilon) * sums[:, q], 0.0)
            worst = max(worst, float(excess.sum(axis=-1).max()))
    return worst


def _update(epsilon: float, delta: float) -> float:
    """Greatest delta of two parameters with two other clients over all corners, at the epsilon claimed to suffice."""
    bound = central_privacy.update_epsilon(2, 2, epsilon=epsilon, client="unpaired", delta=delta)
    low, high, pairs = _up(0.0, epsilon), _up(1.0, epsilon), []
    for j in range(3):
        others = [high] * j + [low] * (2 - j)
        law_high, law_low = (np.array([mass for _, mass in sorted(lattice([q, *others]).items())]) for q in (high, low))
        pairs += [(law_high, law_low), (law_low, law_high)]
    return max(
        float(np.maximum(np.outer(p, s) - math.exp(bound) * np.outer(q, t), 0.0).sum())
        for (p, q), (s, t) in product(pairs, repeat=2)
    )


_ORDERS = np.concatenate([np.linspace(2, 10, 17), np.geomspace(12, 2000, 40)])


def _constants(others: int, epsilon: float, greatest_move: float) -> np.ndarray:
    """Renyi divergences of one parameter, relative to the square of its move, from the law of the sum at every corner."""
    low, high, worst = _up(0.0, epsilon), _up(1.0, epsilon), np.zeros(_ORDERS.size)
    for upper in range(others + 1):
        noise = lattice([high] * upper + [low] * (others - upper))
        for own, step in ((low, 1), (high, -1)):
            total = np.zeros(_ORDERS.size)
            for place in range(-others - 1, others + 2, 2):
                up, down = noise.get(place - 1, 0.0), noise.get(place + 1, 0.0)
                base = own * up + (1 - own) * down
                x = step * (up - down) / base
                rise = ((1 + greatest_move * x) ** _ORDERS - 1 - _ORDERS * greatest_move * x) / greatest_move**2
                total += base * (rise if x >= 0 else _ORDERS * (_ORDERS - 1) * x * x / 2)
            worst = np.maximum(worst, total)
    return worst


def _composed_epsilon(others: int, parameters: int, epsilon: float, move: float, delta: float, rounds: int) -> float:
    greatest_move = move / 2 / float(quantizers.alpha(epsilon))
    with np.errstate(over="ignore"):
        total = _constants(others, epsilon, greatest_move) * rounds * greatest_move**2 / (_ORDERS - 1)
    return float(np.min(total + np.log1p(-1 / _ORDERS) - np.log(delta * _ORDERS) / (_ORDERS - 1)))


def _server(epsilon: float, first: float, second: float, partner: float, bits: int, odds: float) -> float:
    """delta of a pair's two outputs at e^eps = odds; places are clipped to [0, 1], so that the end points are tried often."""
    first, second, partner = (min(max(place, 0.0), 1.0) for place in (first, second, partner))
    p, q = (_pair(x, partner, epsilon, bits) for x in (first, second))
    return float(np.maximum(p - odds * q, 0.0).sum())


def _server_of_update(parameters: int, epsilon: float, odds: float, bits: int, seed: int, ends: int) -> float:
    """The same for all parameters of an update, with other places in each, or all at the end points."""
    rng, p, q = np.random.default_rng(seed), np.ones(1), np.ones(1)
    for _ in range(int(parameters)):
        first, second, partner = (1.0, 0.0, 1.0) if ends else rng.uniform(size=3)
        p, q = (np.outer(a, _pair(x, partner, epsilon, bits)).ravel() for a, x in ((p, first), (q, second)))
    return float(np.maximum(p - odds * q, 0.0).sum())


CLAIMS = (
    Claim(
        "CB-T3*",
        "ours: replacement of a client that quantizes alone",
        equal(
            _alone,
            lambda epsilon, share, inside: one_parameter(3, epsilon, "unpaired", None, 2.0).delta(share * epsilon),
        ),
        holds(
            "By joint convexity the worst case has every client at an end point of the interval; compared with all "
            "end points and any one place inside, for the client and for three others."
        ),
        {**_REPLACED, "inside": Range(0.0, 1.0)},
        argued="airtight.analytics.federated.corbin.central_privacy.one_parameter",
        statement=r"\delta(\epsilon) = \max_{j \le N} D_{e^\epsilon}\bigl(B_{q^+} + Y_j \,\|\, B_{q^-} + Y_j\bigr),\quad "
        r"Y_j = \mathrm{Bin}(j, q^+) + \mathrm{Bin}(N-j, q^-)",
        idle=["inside"],
        effort=1 / 2,
    ),
    Claim(
        "CB-T3*-paired",
        "ours: replacement of a client of a pair (bits = 9 stands for infinitely many)",
        equal(
            _paired,
            lambda epsilon, share, bits, inside: one_parameter(
                2, epsilon, "paired", None if bits == _LIMIT else bits, 2.0
            ).delta(share * epsilon),
        ),
        holds(
            "Given its partner, a client's contribution can be certain; a client that moves from one end point to the "
            "other is the worst case."
        ),
        {**_REPLACED, "bits": _BITS, "inside": Range(0.0, 1.0)},
        argued="airtight.analytics.federated.corbin.central_privacy.one_parameter",
        statement=r"\delta(\epsilon) = \max D_{e^\epsilon}(L + Y_j \,\|\, L' + Y_j),\quad "
        r"L = \delta_1,\ L' = (1-\tfrac1\alpha)\delta_1 + \tfrac1\alpha\delta_2 \text{ or reversed } (d = \infty)",
        idle=["inside"],
        effort=1 / 4,
    ),
    Claim(
        "CB-T3*-update",
        "ours: replacement of a whole update",
        at_most(_update, lambda epsilon, delta: delta),
        holds(
            "The envelope of all corners dominates every parameter's pair of laws, so that its composition dominates "
            "the pair of the update; compared with all combinations of corners."
        ),
        {"epsilon": Range(0.2, 2.0), "delta": Range(1e-3, 0.1, logarithmic=True)},
        statement=r"D_{e^\epsilon}\Bigl(\bigotimes_j P_j \,\Big\|\, \bigotimes_j Q_j\Bigr) \le \delta",
        tolerance=1e-7,
        effort=1 / 4,
    ),
    Claim(
        "CB-E2*",
        "ours: sample-level privacy, Eq. (2), of many parameters (a move of Delta radii)",
        equal(
            _composed_epsilon,
            lambda others, parameters, epsilon, move, delta, rounds: central_privacy.sample_level_epsilon(
                others, parameters, local=epsilon, move=move, delta=delta, rounds=rounds
            ),
        ),
        holds(
            "The divergences of the parameters add up to at most this, however the move is spread over the "
            "parameters; compared with every corner of the other clients."
        ),
        {
            "others": Range(1, 6, integer=True),
            "parameters": Range(20, 60, integer=True),
            "epsilon": Range(0.2, 2.0),
            "move": Range(0.05, 0.5),
            "delta": Range(1e-9, 1e-4, logarithmic=True),
            "rounds": Range(1, 3, integer=True),
        },
        argued="airtight.analytics.federated.corbin.central_privacy.sample_level_epsilon",
        statement=r"\epsilon_T = \min_a\left[\frac{C_aT\Delta^2}{4\alpha^2(a-1)} + \log\frac{a-1}a "
        r"- \frac{\log(a\delta)}{a-1}\right]",
        tolerance=2e-9,
        idle=["parameters"],
        effort=1 / 4,
    ),
    Claim(
        "CB-PLDP*",
        "ours: the remaining privacy against the server, who sees both outputs (bits = 9 stands for infinitely many)",
        at_most(_server, lambda epsilon, **_: central_privacy.server_delta(0.0, local=epsilon)),
        holds(
            "The total variation is at most the move of a threshold; attained at end points, where all of it is on an "
            "outcome of infinite ratio."
        ),
        {
            "epsilon": LOCAL,
            "bits": _BITS,
            "odds": Range(1.0, 100.0, logarithmic=True),
            **dict.fromkeys(("first", "second", "partner"), Range(-1.0, 2.0)),
        },
        argued="airtight.analytics.federated.corbin.central_privacy.server_delta",
        statement=r"\delta(\epsilon) \le \tfrac1\alpha = \tanh\tfrac{\epsilon_p}2 \text{ for every } \epsilon \ge 0,"
        r"\text{ with } = \text{ for } d = \infty",
        unread="a bound, and where it is attained; it is tried as an upper bound that is attained",
        coq="corbin_fl_general.CB_PLDP_star",
    ),
    Claim(
        "CB-PLDP*-update",
        "ours: the same for an update of m parameters (bits = 9 stands for infinitely many; the places at random, or "
        "all end points)",
        at_most(
            _server_of_update, lambda epsilon, parameters, **_: -math.expm1(parameters * math.log1p(-math.tanh(epsilon / 2)))
        ),
        holds(
            "The parameters are independent, so that their total variation is at most this; attained at the end "
            "points, where it is "
            "the probability that any parameter has the outcome of infinite ratio."
        ),
        {
            "parameters": Range(1, 5, integer=True),
            "epsilon": LOCAL,
            "odds": Range(1.0, 100.0, logarithmic=True),
            "bits": _BITS,
            "seed": Range(0, 10**6, integer=True),
            "ends": Range(0, 1, integer=True),
        },
        statement=r"\delta_m(\epsilon) = 1-\bigl(1-\tfrac1\alpha\bigr)^m \text{ for every } \epsilon \ge 0",
        unread="a bound, and where it is attained; it is tried as an upper bound that is attained",
    ),
)
