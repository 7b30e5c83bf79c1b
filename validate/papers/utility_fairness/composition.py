"""UF, after Algorithm 1: composition, amplification by sampling, moments accountant."""

from __future__ import annotations

import math
from itertools import product

from scipy import optimize

from analytics.enclosures import composition as enclosed
from analytics.enclosures.ball import ball
from analytics.privacy import composition, loss_distribution, subsampling
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.utility_fairness.common import PAPER


def basic_composition() -> Claim:
    return Claim(
        id="UF-C1",
        paper=PAPER,
        location="After Algorithm 1: basic composition",
        statement=r"M \text{ rounds of } (\epsilon,\delta) \text{ are } (M\epsilon, M\delta)\text{-DP}",
        expected=Verdict.HOLDS,
        reason="True of any mechanisms; against the optimal composition.",
        domain={
            "epsilon": Range(0.01, 2.0),
            "delta": Range(1e-6, 1e-2, logarithmic=True),
            "rounds": Range(1, 200, integer=True),
        },
        claimed=lambda epsilon, delta, rounds: composition.basic(epsilon, delta, count=rounds).delta,
        actual=lambda epsilon, delta, rounds: composition.optimal_delta(
            epsilon, delta, count=rounds, total_epsilon=rounds * epsilon
        ),
        tolerance=1e-7,
    )


def strong_composition() -> Claim:
    """`odds` is e^eps."""

    def actual(odds: float, delta: float, rounds: int) -> float:
        claim = composition.strong_published(math.log(odds), delta, count=rounds)
        return composition.optimal_delta(math.log(odds), delta, count=rounds, total_epsilon=claim.epsilon)

    return Claim(
        id="UF-C2",
        paper=PAPER,
        location="After Algorithm 1: strong composition",
        statement=r"(\epsilon\sqrt{M\log(1/\delta)}, M\delta)\text{-DP}",
        expected=Verdict.FALSE,
        reason="The factor root 2, the term M eps (e^eps - 1) and the extra delta' are missing; fails from M = "
        "12 on at Table I. For "
        "Gaussian noise at Table I it happens to hold.",
        domain={
            "odds": Range(1.1, 4.0),
            "delta": Range(1e-6, 1e-2, logarithmic=True),
            "rounds": Range(1, 60, integer=True),
        },
        claimed=lambda odds, delta, rounds: rounds * delta,
        actual=actual,
        enclose=lambda odds, delta, rounds: (
            ball(rounds * delta),
            enclosed.optimal_delta(odds, delta, int(rounds), enclosed.printed_strong_epsilon(odds, delta, int(rounds))),
        ),
    )


def _extreme_delta(epsilon: float, delta: float, rounds: int, total_epsilon: float) -> float:
    """All products of the four outcomes of the extreme mechanism."""
    truth = 1 / (1 + math.exp(-epsilon))
    p = (delta, (1 - delta) * truth, (1 - delta) * (1 - truth), 0.0)
    q = (0.0, (1 - delta) * (1 - truth), (1 - delta) * truth, delta)
    odds = math.exp(total_epsilon)
    return sum(
        max(math.prod(p[i] for i in o) - odds * math.prod(q[i] for i in o), 0.0)
        for o in product(range(4), repeat=rounds)
    )


def optimal_composition() -> Claim:
    return Claim(
        id="UF-C*",
        paper=PAPER,
        location="ours, after Kairouz, Oh and Viswanath: composition of any (epsilon, delta) mechanisms",
        statement=r"\delta_g = 1-(1-\delta)^M\Bigl(1-\sum_l\tbinom "
        r"Ml\tfrac{[e^{(M-l)\epsilon}-e^{\epsilon_g+l\epsilon}]_+}{(1+e^\epsilon)^M}\Bigr)",
        expected=Verdict.HOLDS,
        reason="Exact; against all products of the extreme mechanism's outcomes.",
        domain={
            "epsilon": Range(0.05, 2.0),
            "delta": Range(1e-6, 0.1, logarithmic=True),
            "rounds": Range(1, 5, integer=True),
            "share": Range(0.0, 1.0),
        },
        claimed=lambda epsilon, delta, rounds, share: composition.optimal_delta(
            epsilon, delta, count=rounds, total_epsilon=share * rounds * epsilon
        ),
        actual=lambda epsilon, delta, rounds, share: _extreme_delta(epsilon, delta, rounds, share * rounds * epsilon),
        relation=Relation.EQUAL,
        tolerance=1e-8,
    )


def optimal_epsilon() -> Claim:
    def total_delta(epsilon: float, delta: float, rounds: int, spared: float) -> float:
        """Between what no epsilon undercuts and delta at epsilon 0."""
        least = -math.expm1(rounds * math.log1p(-delta))
        return least + spared * (_extreme_delta(epsilon, delta, rounds, 0.0) - least)

    def root(epsilon: float, delta: float, rounds: int, spared: float) -> float:
        goal = total_delta(epsilon, delta, rounds, spared)
        return float(
            optimize.brentq(
                lambda total: _extreme_delta(epsilon, delta, rounds, total) - goal, 0.0, rounds * epsilon, xtol=1e-14
            )
        )

    return Claim(
        id="UF-C*-epsilon",
        paper=PAPER,
        location="ours: the least epsilon of that composition",
        statement=r"\epsilon_g(\delta_g) = \min\{\epsilon: \delta_g(\epsilon) \le \delta_g\}",
        expected=Verdict.HOLDS,
        reason="Exact; against the root over all products of the extreme mechanism's outcomes.",
        domain={
            "epsilon": Range(0.05, 2.0),
            "delta": Range(1e-6, 0.1, logarithmic=True),
            "rounds": Range(1, 3, integer=True),
            "spared": Range(1e-3, 0.95, logarithmic=True),
        },
        claimed=lambda **point: composition.optimal_epsilon(
            point["epsilon"], point["delta"], count=point["rounds"], total_delta=total_delta(**point)
        ),
        actual=root,
        relation=Relation.EQUAL,
        tolerance=1e-8,
    )


def amplification() -> Claim:
    def two_points(epsilon: float, q: float) -> float:
        """Greatest log-ratio of randomised response on a sample of one record taken with probability q."""
        truth = 1 / (1 + math.exp(-epsilon))
        base = (1 - truth, truth)
        mixed = [(1 - q) * base[i] + q * base[1 - i] for i in range(2)]
        return max(abs(math.log(mixed[i] / base[i])) for i in range(2))

    return Claim(
        id="UF-C3",
        paper=PAPER,
        location="After Algorithm 1: amplification by sampling, one step",
        statement=r"\epsilon_q = \log(1+q(e^\epsilon-1)) = O(q\epsilon)",
        expected=Verdict.HOLDS_UNDER,
        reason="Per step only: without M it says nothing of Algorithm 1, which does not sample either.",
        domain={"epsilon": Range(0.01, 3.0), "q": Range(0.001, 1.0, logarithmic=True)},
        claimed=lambda epsilon, q: float(subsampling.amplified(epsilon, q)),
        actual=two_points,
        relation=Relation.EQUAL,
        if_survived=Verdict.HOLDS_UNDER,
    )


def moments_accountant() -> Claim:
    """The noise of Table I, 200 rounds, delta = 1e-5."""

    def exact(q: float) -> float:
        mu = 0.95 / math.sqrt(2 * math.log(1.25e5))
        laws = (loss_distribution.subsampled_gaussian(mu, q, reverse=r) for r in (False, True))
        return max(float(law.epsilon(1e-5, count=200)) for law in laws)

    return Claim(
        id="UF-C4",
        paper=PAPER,
        location="After Algorithm 1: moments accountant (Table I, 200 rounds)",
        statement=r"\epsilon_{200} \le q\epsilon\sqrt M \text{ at } \delta",
        expected=Verdict.HOLDS_UNDER,
        reason="Abadi et al. give (O(q eps sqrt M), delta); the printed O(q delta) is misquoted. With constant 1 "
        "it is true at Table I.",
        domain={"q": Range(0.01, 0.2, logarithmic=True)},
        claimed=lambda q: q * 0.95 * math.sqrt(200),
        actual=exact,
        if_survived=Verdict.HOLDS_UNDER,
    )


CLAIMS = (
    basic_composition,
    strong_composition,
    optimal_composition,
    optimal_epsilon,
    amplification,
    moments_accountant,
)
