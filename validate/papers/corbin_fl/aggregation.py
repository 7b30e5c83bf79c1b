"""CB definitions (1)-(3), Theorem 3 and what is true instead: central and local privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from analytics.distributions.poisson_binomial import binomial
from analytics.enclosures import aggregation as enclosed
from analytics.enclosures.ball import ball
from analytics.federated import mean_estimation, quantizers
from analytics.privacy import aggregation
from validate.claims.claim import Claim, Range, Relation, Verdict, constant
from validate.papers.corbin_fl.common import LOCAL, PAPER, hockey_stick, lattice, one_parameter

_DELTA = 1e-5


def definition_user() -> Claim:
    def common(clients: int, epsilon: float) -> float:
        q = [0.5 + 1 / (3 * float(quantizers.alpha(epsilon)))] * clients
        return 1.0 + len(lattice(q).keys() & lattice(q[1:]).keys())

    return Claim(
        id="CB-E1",
        paper=PAPER,
        location="Sec. II-B, Eq. (1), UCDP",
        statement=r"P(\bar W_g \in T) \le e^{\epsilon_u}P(\bar W'_g \in T) + \delta,\quad "
        r"\bar W'_g = \tfrac1n\sum_{i \ge 2}\bar W_i",
        expected=Verdict.DEFINITION,
        reason="Its neighbour lacks a client; for one-bit outputs the two sums have no value in common (counted here), so "
        "nothing of this mechanism can satisfy it.",
        domain={"clients": Range(2, 12, integer=True), "epsilon": LOCAL},
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
        domain={"others": Range(0, 30, integer=True), "epsilon": LOCAL, "share": Range(0.0, 0.9)},
        claimed=lambda others, epsilon, share: (
            1 + float(one_parameter(others, epsilon, "unpaired", None, 2.0).delta(share * epsilon))
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
        domain={"parameters": Range(1, 8, integer=True), "epsilon": LOCAL},
        claimed=lambda parameters, epsilon: math.exp(float(aggregation.local_epsilon(epsilon, parameters))),
        actual=greatest_ratio,
        relation=Relation.EQUAL,
        if_survived=Verdict.DEFINITION,
    )


def removal() -> Claim:
    """One parameter, center 0, radius 1; client i has the update w where i is even and -w where it is odd."""

    def exact(clients: int, w: Any, alpha: Any, odds: Any) -> Any:
        q = [(1 + (w if i % 2 == 0 else -w) / alpha) / 2 for i in range(clients)]
        return hockey_stick(lattice(q), lattice(q[1:]), odds)

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
    removal,
    scale_of_the_radius,
    unit_radius,
    augmented_error,
)
