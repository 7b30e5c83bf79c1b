"""CB Algorithm 3, lines 5 to 19, with a partner that does as it likes; the messages: experiments.training.pair_protocol."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.forms.balls.ball import ball
from airtight.analytics.forms.domain import Range, parameter
from airtight.validate.claims.claim import Claim, holds, other_reading
from airtight.validate.claims.relation import absolute, at_most, equal
from airtight.validate.papers.corbin_fl.common import share, x, y

chosen = parameter("chosen", 0.0, 1.0, latex="a")  # probability that the partner's Y is 1, where the client's is 0
answered = parameter("answered", 0.0, 1.0, latex="b")  # the same where the client's Y is 1
_HALF = Fraction(1, 2)
_BITS = Range(1, 8, integer=True, typical=(3, 7))


def _minus(place: Any, share: Any, bits: int, shared: int) -> Any:
    """Probability that a follower at this place of [-1, 1] sends minus, given Z: Algorithm 2, with private coins in one cell."""
    level = 2 ** int(bits) * (1 - place * share) / 2
    return min(max(level - int(shared), 0 * level), 0 * level + 1)



_BOTH_0, _BOTH_1 = (1 - chosen) / 2, answered / 2  # the client's own Y is uniform


def _equal_coins(chosen: float, answered: float) -> float:
    """Probability that both Y are equal, from the joint law."""
    joint = {(0, 0): (1 - chosen) / 2, (0, 1): chosen / 2, (1, 0): (1 - answered) / 2, (1, 1): answered / 2}
    return sum(mass for (own, other), mass in joint.items() if own == other)


def _odds(share: Any) -> Any:
    """e^eps_p."""
    return (1 + share) / (1 - share)


def _balls(bits: Fraction, shared: Fraction, share: Fraction, first: Fraction, second: Fraction) -> Any:
    odds = _odds(share)
    return ball(odds * _minus(second, share, int(bits), int(shared))), ball(_minus(first, share, int(bits), int(shared)))


def _told(bits: int, share: float, epsilon: float) -> float:
    """delta of a client at the ends of its interval against who knows Z, from the sum over all values of Z."""
    odds, cells = np.exp(epsilon), 2 ** int(bits)
    first, second = ([float(_minus(place, share, bits, z)) for z in range(cells)] for place in (1.0, -1.0))
    outcomes = [(p, q) for minus, other in zip(first, second, strict=True) for p, q in ((minus, other), (1 - minus, 1 - other))]
    return float(sum(max(p - odds * q, 0.0) for p, q in outcomes) / cells)


def _told_in_closed_form(bits: int, share: float, epsilon: float) -> float:
    """The same: whole cells between both levels count 1, the two end cells what they hold of it."""
    cells = 2 ** int(bits)
    whole_low, whole_high = (int(np.floor(cells * (1 + sign * share) / 2)) for sign in (-1, 1))
    part_low, part_high = (cells * (1 + sign * share) / 2 - whole for sign, whole in ((-1, whole_low), (1, whole_high)))
    filled = whole_high - whole_low - 1 + part_high + max(1 - np.exp(epsilon) * part_low, 0.0)
    return float(filled / cells)


def _in_the_cells(bits: int, shared: int, **_: Any) -> bool:
    """Whether Z is one of the 2^d numbers."""
    return bool(0 <= shared < 2**bits)


def _of_both(bits: int, chosen_share: int, seed: int) -> float:
    """Probability of minus where Z is the sum of a chosen number and a uniform one, from the sum over all values."""
    share, place = np.random.default_rng(seed).uniform([0.05, -1.0], [0.95, 1.0])
    total = sum(_minus(place, share, bits, (chosen_share + own) % 2**bits) for own in range(2**bits))
    return float(total) / float(2**bits)


def _alone(bits: int, chosen_share: int, seed: int) -> float:
    share, place = np.random.default_rng(seed).uniform([0.05, -1.0], [0.95, 1.0])
    plus = quantizers.pair_law(place, 0.0, epsilon=2 * np.arctanh(share), bits=0)[1].sum()
    return float(1 - plus)


CLAIMS = (
    Claim(
        "CB-A3-leader",
        "ours: Algorithm 3, lines 6 to 13: who leads, where the partner's Y is 1 with probability a if the client's is "
        "0, and b if it is 1",
        equal(_BOTH_0 + _BOTH_1, sp.Rational(1, 2) + (answered - chosen) / 2),
        holds(
            "The client's Y is uniform. So the leader is uniform exactly where a = b, that is where the partner fixes "
            "its Y without "
            "knowledge of the client's. Digests that are exchanged first see to it. That Y is uniform whatever is sent, by hand."
        ),
        computed=equal(_equal_coins, lambda chosen, answered: 0.5 + (answered - chosen) / 2),
        scale=absolute("probability"),
        statement=r"\Pr(Y_i = Y_{p_i}) = \tfrac12 + \tfrac{b-a}2",
        where={r"\Pr(Y_i = Y_{p_i})": _BOTH_0 + _BOTH_1},
    ),
    Claim(
        "CB-A3-rushing",
        "Algorithm 3, line 8: the same for a partner that has read Y_i before it sends its own",
        equal((1 - chosen + answered) / 2, _HALF),
        other_reading(
            "Of partners that follow the algorithm, as the paper assumes, it is true. Line 8 does not say how both "
            "values are "
            "exchanged: messages arrive one after the other, and who waits decides who leads, with certainty.",
            corrected_by="CB-A3-leader",
            true_where="a = b",
        ),
        statement=r"\Pr(Y_i = Y_{p_i}) = \tfrac{(1-a)+b}2 = \tfrac12",
        near="the paper describes honest clients",
    ),
    Claim(
        "CB-A3-Z",
        "Algorithm 3, lines 15 to 19: the output of a follower is private (3) where its leader sends any Z that it "
        "likes",
        at_most(
            lambda bits, shared, share, first, second: float(_minus(first, share, bits, shared)),
            lambda bits, shared, share, first, second: float(_odds(share) * _minus(second, share, bits, shared)),
            balls=_balls,
        ),
        other_reading(
            "With the uniform Z of an honest leader it is (CB-PLDP). A leader that sends a constant settles what its "
            "partner "
            "sends: which side of a threshold the update is on, with an infinite likelihood ratio, and for every "
            "eavesdropper.",
            corrected_by="CB-A3-Z*",
            true_where=r"Z \text{ is uniform}",
        ),
        {
            "bits": _BITS,
            "shared": Range(0, 255, integer=True),
            "share": Range(0.05, 0.95, symbol=r"\tfrac1\alpha"),
            "first": Range(-1.0, 1.0, symbol="x"),
            "second": Range(-1.0, 1.0, symbol="x'"),
        },
        given=[_in_the_cells],
        statement=r"\Pr(\bar W_f = c - r\alpha \mid Z = z, x) \le e^{\epsilon_p}\Pr(\bar W_f = c - r\alpha \mid Z = z, x')",
        near="the paper describes honest clients",
    ),
    Claim(
        "CB-A3-Z*",
        "ours: Z as the sum modulo 2^d of a number of each partner, committed to before any is shown",
        equal(_of_both, _alone),
        holds(
            "The sum with a uniform number is uniform, whatever the other is. The follower's output is then that of "
            "LDPQ, and "
            "eps_p-private. Compared with the sum over all values."
        ),
        {"bits": _BITS, "chosen_share": Range(0, 255, integer=True), "seed": Range(0, 10**6, integer=True)},
        statement=r"\Pr(\bar W_f = c - r\alpha \mid x, Z_1) = \tfrac12 - \tfrac x{2\alpha},\quad Z = Z_1 + Z_2 \bmod 2^d",
        idle=["bits", "chosen_share"],
        coq="corbin_fl_general.CB_A3_Z_star",
    ),
    Claim(
        "CB-A3-partner",
        "Eq. (3), 'the privacy of each local model parameter if the uplink communication is compromised', read for a client "
        "whose partner tells the shared bits (infinitely many; U the uniform number that they are)",
        at_most(share() * sp.Abs(x - y) / 2, 0),
        other_reading(
            "Of one output alone, and Z unknown, (3) holds (CB-PLDP); the paper's clients keep Z to themselves. Who knows Z "
            "sees on which side of a threshold the update is: the uplink alone then has no finite epsilon, and delta is "
            "tanh(eps_p/2) at every epsilon, .46 at eps_p = 1.",
            corrected_by="CB-A3-partner*",
            true_where="w = w', or the partner keeps Z to itself",
        ),
        {"x": x.range, "y": y.range},
        statement=r"\Pr\bigl(\bar W = c - r\alpha,\ U \in (q(w), q(w')] \bigm| w\bigr) = \frac{|w-w'|}{2r\alpha} \le "
        r"e^{\epsilon}\Pr\bigl(\bar W = c - r\alpha,\ U \in (q(w), q(w')] \bigm| w'\bigr) = 0",
        unread="probabilities of an event",
        scale=absolute("probability"),
        near="the paper describes honest clients",
    ),
    Claim(
        "CB-A3-partner*",
        "ours: delta of a client's uplink whose partner tells the d bits, updates at both ends of the interval",
        equal(_told, _told_in_closed_form),
        holds(
            "Z has one law under both updates, and given Z a minus has the probability that Algorithm 2 gives it; compared "
            "with the sum over all Z. It does not vanish at any epsilon."
        ),
        {"bits": _BITS, "share": Range(0.05, 0.95, symbol=r"\tfrac1\alpha"), "epsilon": Range(0.0, 5.0)},
        statement=r"\delta(\epsilon) = 2^{-d}\left[j - i - 1 + f + (1 - e^\epsilon f')_+\right],\quad "
        r"2^dq_- = i + f',\ 2^dq_+ = j + f,\ q_\pm = \tfrac12 \pm \tfrac1{2\alpha}",
        unread="whole and fractional parts",
        tolerance=1e-12,
        scale=absolute("delta", 1e-2),
        coq="corbin_fl_general.CB_A3_partner_star",
    ),
)
