"""CB Theorem 4 (dropout) and Sec. IV-5 (communication)."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from analytics.enclosures import aggregation as enclosed
from analytics.enclosures.ball import ball
from analytics.federated import communication, dropout
from validate.claims.claim import Claim, Range, Relation, Verdict

PAPER = "corbin-fl"
_HALF = Range(10, 150, integer=True)
_P = Range(0.05, 0.95)
_SLACK = Range(0.01, 0.45)
_EPSILON = Range(0.05, 5.0, logarithmic=True)


def broken_pairs() -> Claim:
    def outside(pairs: int, p: float, slack: float) -> float:
        claim = dropout.published(2 * pairs, dropout=p, slack=slack, epsilon=1.0)
        return dropout.outside_probability(2 * pairs, dropout=p, low=claim.gamma, high=claim.gamma_prime)

    return Claim(
        id="CB-T4",
        paper=PAPER,
        location="Theorem 4, gamma and gamma' (n = 2 pairs)",
        statement=r"P\Bigl(\sum_iE_i \notin [\gamma n, \gamma'n]\Bigr) \le \delta - \delta_1",
        expected=Verdict.FALSE,
        reason="Chebyshev needs the radius without the 4: the printed one is half of it. The guarantee also rests on (1), which "
        "parity refutes.",
        domain={"pairs": _HALF, "p": _P, "slack": _SLACK},
        claimed=lambda pairs, p, slack: slack,
        actual=outside,
        enclose=lambda pairs, p, slack: (ball(slack), enclosed.broken_pairs_outside(2 * int(pairs), p, slack)),
    )


def survivors() -> Claim:
    def outside(pairs: int, p: float, slack: float) -> float:
        n = 2 * pairs
        claim = dropout.published(n, dropout=p, slack=slack, epsilon=1.0)
        k = np.arange(n + 1)
        law = special.binom(n, k) * (1 - p) ** k * p ** (n - k)
        return float(law[(k / n < claim.theta) | (k / n > claim.theta_prime)].sum())

    return Claim(
        id="CB-T4-theta",
        paper=PAPER,
        location="Theorem 4, theta and theta' (n = 2 pairs)",
        statement=r"P\Bigl(\sum_iF_i \notin [\theta n, \theta'n]\Bigr) \le \delta - \delta_1",
        expected=Verdict.FALSE,
        reason="P(F_i = 1) is 1 - p; the printed interval is centered at p(1 - p).",
        domain={"pairs": _HALF, "p": _P, "slack": _SLACK},
        claimed=lambda pairs, p, slack: slack,
        actual=outside,
        enclose=lambda pairs, p, slack: (ball(slack), enclosed.survivors_outside(2 * int(pairs), p, slack)),
    )


def printed_error() -> Claim:
    """The claim as a factor: printed bound over the worst MSE, both positive or not."""

    def epsilon(alpha: float) -> float:
        return 2 * math.atanh(1 / alpha)

    return Claim(
        id="CB-T4-mse",
        paper=PAPER,
        location="Theorem 4, mean squared error (delta_1 = 0, radius 1, n = 2 pairs)",
        statement=r"\mathrm{MSE} \le \frac{\gamma'r^2\alpha^2}{n\theta} + \frac{1-\gamma}{2n\theta}r^2"
        r"((\sqrt2-1)\alpha+1)((\sqrt2+1)\alpha-1) + 8r^2\alpha^2\delta_1",
        expected=Verdict.FALSE,
        reason="theta can be negative, and with it the bound.",
        domain={"pairs": Range(10, 100, integer=True), "p": _P, "slack": _SLACK, "alpha": Range(1.1, 10.0)},
        claimed=lambda pairs, p, slack, alpha: (
            dropout.published(2 * pairs, dropout=p, slack=slack, epsilon=epsilon(alpha)).mse
        ),
        actual=lambda pairs, p, slack, alpha: dropout.worst_mse(2 * pairs, dropout=p, epsilon=epsilon(alpha)),
        enclose=lambda pairs, p, slack, alpha: (
            enclosed.published_dropout_mse(2 * int(pairs), p, slack, alpha),
            enclosed.dropout_mse(2 * int(pairs), p, alpha),
        ),
    )


def exact_error() -> Claim:
    """All sets of survivors of four clients, worst over a grid of updates."""

    def brute(p: float, epsilon: float, x: float, y: float) -> float:
        A = 1 / math.tanh(epsilon / 2)
        total = 0.0
        for state in range(16):
            here = [bool(state >> i & 1) for i in range(4)]
            n = sum(here)
            if not n:
                continue
            error = 0.0
            for i in (0, 2):
                if here[i] and here[i + 1]:
                    s = abs(x + y)
                    error += s * (2 * A - s)
                elif here[i] or here[i + 1]:
                    alone = x if here[i] else y
                    error += A * A - alone * alone
            total += (1 - p) ** n * p ** (4 - n) * error / n**2
        return total

    return Claim(
        id="CB-T4*",
        paper=PAPER,
        location="ours: the worst MSE of the survivors' mean exactly",
        statement=r"\mathrm{MSE} \le \tfrac n2\max_s\Bigl[2p(1-p)e_1\bigl(A^2-\tfrac{s^2}4\bigr) + (1-p)^2e_2(2As-s^2)\Bigr],"
        r"\quad e_i = E(i + \mathrm{Bin}(n-2, 1-p))^{-2}",
        expected=Verdict.HOLDS,
        reason="Given who is counted, the others that survive are binomial; against all sixteen sets of four clients.",
        domain={"p": Range(0.0, 0.95), "epsilon": _EPSILON, "x": Range(-1.0, 1.0), "y": Range(-1.0, 1.0)},
        claimed=lambda p, epsilon, x, y: dropout.worst_mse(4, dropout=p, epsilon=epsilon),
        actual=brute,
    )


def survivors_privacy() -> Claim:
    """One parameter; the numbers of those that quantize alone, and every corner of them, added up."""

    def together(chances: list[float]) -> list[float]:
        law = [1.0]
        for chance in chances:
            law = [
                (law[k] if k < len(law) else 0.0) * (1 - chance) + (law[k - 1] if k else 0.0) * chance
                for k in range(len(law) + 1)
            ]
        return law

    def least_epsilon(others: int, own: list[tuple[list[float], list[float]]], low: float, delta: float) -> float:
        pairs = []
        for upper in range(others + 1):
            noise = together([1 - low] * upper + [low] * (others - upper))
            pairs += [(np.convolve(noise, p), np.convolve(noise, q)) for p, q in own]

        def excess(epsilon: float) -> float:
            return max(float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) for p, q in pairs) - delta

        if excess(0.0) <= 0:
            return 0.0
        return float(optimize.brentq(excess, 0.0, 100.0, xtol=1e-14)) if excess(100.0) <= 0 else math.inf

    def enumerated(pairs: int, singles: int, p: float, epsilon: float, delta: float) -> float:
        low, share = 1 / (1 + math.exp(epsilon)), math.tanh(epsilon / 2)
        alone = [([low, 1 - low], [1 - low, low])]
        moved = [0.0, 1 - share, share]
        paired = [(a, b) for c in ([0.0, 1.0, 0.0],) for a, b in ((c, moved), (moved, c))]
        worst = 0.0
        for own, left, broken in (
            (alone, singles - 1, pairs),
            (alone, singles, pairs - 1),
            (paired, singles, pairs - 1),
        ):
            if min(left, broken) >= 0:
                law = np.cumsum(together([1 - p] * left + [2 * p * (1 - p)] * broken))
                worst = max(worst, least_epsilon(int(np.sum(law <= delta / 2)), own, low, delta / 2))
        return worst

    return Claim(
        id="CB-T4*-privacy",
        paper=PAPER,
        location="ours: central privacy of a survivor (one parameter, 2 pairs + singles clients)",
        statement=r"\delta = P(N < \nu) + D_{e^\epsilon}(\nu),\quad \nu = \max\{k: P(N < k) \le \tfrac\delta2\},"
        r"\ D_{e^\epsilon}(\nu) = \tfrac\delta2",
        expected=Verdict.HOLDS,
        reason="N others quantize alone, and fewer only help; delta pays once for few of them, once for the release.",
        domain={
            "pairs": Range(1, 6, integer=True),
            "singles": Range(0, 6, integer=True),
            "p": Range(0.05, 0.9),
            "epsilon": _EPSILON,
            "delta": Range(1e-6, 0.1, logarithmic=True),
        },
        claimed=lambda pairs, singles, p, epsilon, delta: dropout.central_epsilon(
            2 * pairs + singles, 1, epsilon=epsilon, delta=delta, dropout=p, independent=singles / (2 * pairs + singles)
        ),
        actual=enumerated,
        relation=Relation.EQUAL,
        tolerance=1e-6,
    )


def cost() -> Claim:
    return Claim(
        id="CB-cost",
        paper=PAPER,
        location="Sec. IV-5, communication",
        statement=r"32m + nk + dmk + m \text{ bits suffice}",
        expected=Verdict.HOLDS,
        reason="True, and needlessly large: the agreed key of k bits is a seed that both clients expand, whatever d.",
        domain={
            "clients": Range(2, 10_000, integer=True, logarithmic=True),
            "parameters": Range(1, 10**7, integer=True, logarithmic=True),
            "bits": Range(0, 8, integer=True),
        },
        claimed=lambda clients, parameters, bits: float(communication.published(clients, parameters, bits=bits).total),
        actual=lambda clients, parameters, bits: float(communication.seeded(clients, parameters, bits=bits).total),
        relation=Relation.AT_MOST,
    )


CLAIMS = (broken_pairs, survivors, printed_error, exact_error, survivors_privacy, cost)
