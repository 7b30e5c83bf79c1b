"""CB App. A to E, step by step: alphabets, the limit law, covariances, moments of the dropout."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from analytics.enclosures.ball import ball
from analytics.federated import quantizers
from validate.claims.claim import Claim, Range, Relation, Verdict

PAPER = "corbin-fl"
_LOCAL = Range(0.05, 8.0, logarithmic=True)
_INPUT = Range(-1.0, 1.0, extra=(0.0,))
_ONE = 1.0  # added to both sides of an equality, it makes the tolerance absolute


def alphabet() -> Claim:
    """The least upper output that keeps the likelihood ratio of the lower one, by bisection; c = 0, r = 1."""

    def least(epsilon: float) -> float:
        low, high = 1.0, 1e9
        for _ in range(200):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if (middle + 1) <= math.exp(epsilon) * (middle - 1) else (middle, high)
        return high

    return Claim(
        id="CB-E8",
        paper=PAPER,
        location="App. A, Eq. (7)-(9); App. B, Eq. (13), (14)",
        statement=r"\frac{\gamma_2-c+r}{\gamma_2-c-r} \le e^{\epsilon_p} \iff \gamma_2 \ge c + r\alpha(\epsilon_p)",
        expected=Verdict.HOLDS,
        reason="Solving for gamma_2. ((13) prints the fraction upside down, with a minus for a plus; its conclusion is (8).)",
        domain={"epsilon": _LOCAL},
        claimed=lambda epsilon: float(quantizers.alpha(epsilon)),
        actual=least,
        relation=Relation.EQUAL,
    )


def limit_law() -> Claim:
    """Greatest difference of the limit law from (21), (22), where w + w' <= 2c."""

    def gap(first: float, second: float, epsilon: float) -> float:
        if first + second > 0:
            first, second = -first, -second
        A = float(quantizers.alpha(epsilon))
        law = quantizers.pair_law(first, second, epsilon=epsilon, bits=None)
        printed = [[(-first - second) / (2 * A), 0.5 + second / (2 * A)], [0.5 + first / (2 * A), 0.0]]
        return _ONE + float(np.max(np.abs(law - np.array(printed))))

    return Claim(
        id="CB-E21",
        paper=PAPER,
        location="App. B, Eq. (10)-(12), (18), (19), (21), (22)",
        statement=r"P_{1,1} = \frac{2c-w-w'}{2r\alpha},\ P_{1,2} = \frac12+\frac{w'-c}{2r\alpha},\ "
        r"P_{2,1} = \frac12+\frac{w-c}{2r\alpha},\ P_{2,2} = 0\qquad (w+w' \le 2c)",
        expected=Verdict.HOLDS,
        reason="The Frechet bound: as few pluses together as the marginals allow.",
        domain={"first": _INPUT, "second": _INPUT, "epsilon": _LOCAL},
        claimed=lambda first, second, epsilon: _ONE,
        actual=gap,
        relation=Relation.EQUAL,
    )


def covariance_bound() -> Claim:
    def covariance(first: float, second: float, epsilon: float) -> float:
        A = float(quantizers.alpha(epsilon))
        law = quantizers.pair_law(first, second, epsilon=epsilon, bits=None)
        sign = np.array([-1.0, 1.0])
        return 2 * A * A + float(A * A * sign @ law @ sign) - first * second

    return Claim(
        id="CB-T2-cov",
        paper=PAPER,
        location="App. C, the bound of the covariance (r = 1; 2 alpha^2 added on both sides)",
        statement=r"\mathrm{Cov}(\bar W_i, \bar W_{p_i}) \le -r^2(\alpha-1)^2",
        expected=Verdict.HOLDS,
        reason="It is A abs(s) - A^2 - x y, greatest where both inputs are at the same end.",
        domain={"first": _INPUT, "second": _INPUT, "epsilon": _LOCAL},
        claimed=lambda first, second, epsilon: (
            2 * float(quantizers.alpha(epsilon)) ** 2 - (float(quantizers.alpha(epsilon)) - 1) ** 2
        ),
        actual=covariance,
    )


def covariance_sum() -> Claim:
    """One pair of covariance -c: the double sum over i != i' against the printed single one."""
    return Claim(
        id="CB-T2-sum",
        paper=PAPER,
        location="App. C, the sum of covariances (n = 2 pairs, each of covariance -magnitude)",
        statement=r"\frac1{n^2}\sum_{i\ne i'}\mathrm{Cov}(\bar W_i, \bar W_{i'}) = \frac1{2n^2}\sum_i\mathrm{Cov}(\bar "
        r"W_i, \bar W_{p_i})",
        expected=Verdict.FALSE,
        reason="Each i has one partner, so the double sum is the sum over i: the factor is 1/n^2. The error only "
        "loosens Theorem 2.",
        domain={"pairs": Range(1, 100, integer=True), "magnitude": Range(0.1, 100.0, logarithmic=True)},
        claimed=lambda pairs, magnitude: magnitude * 2 * pairs / (2 * (2 * pairs) ** 2),
        actual=lambda pairs, magnitude: magnitude * 2 * pairs / (2 * pairs) ** 2,
        relation=Relation.EQUAL,
        enclose=lambda pairs, magnitude: (ball(magnitude / (4 * pairs)), ball(magnitude / (2 * pairs))),
    )


def broken_moments() -> Claim:
    """Variance of the number of pairs of which exactly one client stays, from the law of one pair."""
    return Claim(
        id="CB-T4-moments",
        paper=PAPER,
        location="App. E, moments of the broken pairs (n = 2 pairs)",
        statement=r"\mathrm{Var}\sum_i E_i = np(1-p)(1-2p(1-p))",
        expected=Verdict.HOLDS,
        reason="n/2 independent indicators of probability 2p(1-p).",
        domain={"pairs": Range(1, 1000, integer=True), "p": Range(0.01, 0.99)},
        claimed=lambda pairs, p: 2 * pairs * p * (1 - p) * (1 - 2 * p * (1 - p)),
        actual=lambda pairs, p: pairs * _variance_of_one_pair(p),
        relation=Relation.EQUAL,
    )


def _variance_of_one_pair(p: float) -> float:
    outcomes = [(a, b) for a in (0, 1) for b in (0, 1)]  # 1: dropped out
    chances = [(p if a else 1 - p) * (p if b else 1 - p) for a, b in outcomes]
    mean = sum(c for c, (a, b) in zip(chances, outcomes, strict=True) if a != b)
    return sum(c * ((a != b) - mean) ** 2 for c, (a, b) in zip(chances, outcomes, strict=True))


def survival() -> Claim:
    return Claim(
        id="CB-T4-survival",
        paper=PAPER,
        location="App. E, 'F_i is the indicator that the ith client does not drop out'",
        statement=r"P(F_i = 1) = p",
        expected=Verdict.FALSE,
        reason="p is the probability of dropping out: it is 1 - p, and theta must be centred there.",
        domain={"p": Range(0.01, 0.99)},
        claimed=lambda p: p,
        actual=lambda p: 1 - p,
        relation=Relation.EQUAL,
        enclose=lambda p: (ball(p), ball(Fraction(1) - p)),
    )


CLAIMS = (alphabet, limit_law, covariance_bound, covariance_sum, broken_moments, survival)
