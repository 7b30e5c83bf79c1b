"""UF Sec. II-C, II-D: the Gaussian mechanism, the claims on Algorithm 1, and composition."""

from __future__ import annotations

import math
from fractions import Fraction

from analytics.enclosures import composition as enclosed
from analytics.enclosures import divergence as enclosed_divergence
from analytics.enclosures import gaussian as enclosed_gaussian
from analytics.enclosures.ball import ball
from analytics.federated import fairness
from analytics.privacy import composition, gaussian
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.utility_fairness.common import PAPER, definition

_TABLE_EPSILON, _TABLE_DELTA = Fraction("0.95"), Fraction("1e-5")


def _sigma(epsilon: float, delta: float) -> float:
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def privacy_definition() -> Claim:
    """Randomised response has exactly the delta that (6) defines."""
    return definition(
        "UF-E6",
        "Definitions 1, 2, Eq. (6)",
        r"P(\mathcal M(D) \in O) \le e^\epsilon P(\mathcal M(D') \in O) + \delta",
        "Differential privacy; eps in (0, 1) and outputs in R are needlessly narrow. Here: delta of randomised response.",
        {"truth": Range(0.5, 0.99), "share": Range(0.0, 1.0)},
        lambda truth, share: 1 + truth - (truth / (1 - truth)) ** share * (1 - truth),
        lambda truth, share: (
            1
            + float(
                composition.optimal_delta(
                    math.log(truth / (1 - truth)),
                    0.0,
                    count=1,
                    total_epsilon=share * math.log(truth / (1 - truth)),
                )
            )
        ),
    )


def mechanism_definition() -> Claim:
    return definition(
        "UF-E7",
        "Eq. (7), (8), Definition 3",
        r"\mathcal M(D) = f(D) + n,\quad n \sim N(0, S_f^2\sigma^2),\quad S_f = \max\|f(D)-f(D')\|",
        "Noise in units of the sensitivity, which Algorithm 1 never bounds. Here: only the ratio counts.",
        {"sigma": Range(0.3, 10.0), "scale": Range(0.01, 100.0, logarithmic=True), "epsilon": Range(0.0, 3.0)},
        lambda sigma, scale, epsilon: 1 + float(gaussian.delta(epsilon, sensitivity=1.0, sigma=sigma)),
        lambda sigma, scale, epsilon: 1 + float(gaussian.delta(epsilon, sensitivity=scale, sigma=scale * sigma)),
    )


def proposition() -> Claim:
    return Claim(
        id="UF-P1",
        paper=PAPER,
        location="Proposition 1, Eq. (9)",
        statement=r"\sigma \ge \tfrac1\epsilon\sqrt{2\log(1.25/\delta)} \implies (\epsilon,\delta)\text{-DP}\quad(\epsilon < 1)",
        expected=Verdict.HOLDS,
        reason="True; 30 % more noise than needed at Table I.",
        domain={"epsilon": Range(0.01, 0.999), "delta": Range(1e-300, 0.99, logarithmic=True)},
        claimed=lambda epsilon, delta: delta,
        actual=lambda epsilon, delta: float(gaussian.delta(epsilon, sensitivity=1.0, sigma=_sigma(epsilon, delta))),
    )


def proposition_beyond() -> Claim:
    return Claim(
        id="UF-P1-large",
        paper=PAPER,
        location="Proposition 1 without eps < 1",
        statement=r"D_{e^\epsilon}\bigl(N(1,\sigma^2) \,\|\, N(0,\sigma^2)\bigr) \le \delta",
        expected=Verdict.FALSE,
        reason="Fails from epsilon = 8.42 on at delta = 1e-5: do not use it above 1.",
        domain={"epsilon": Range(1.0, 20.0), "delta": Range(1e-6, 1e-2, logarithmic=True)},
        claimed=lambda epsilon, delta: delta,
        actual=lambda epsilon, delta: float(gaussian.delta(epsilon, sensitivity=1.0, sigma=_sigma(epsilon, delta))),
        enclose=lambda epsilon, delta: (
            ball(delta),
            enclosed_gaussian.curve(epsilon, ball(1), enclosed.classical_sigma(epsilon, delta) ** 2),
        ),
    )


def gradients_in_clear() -> Claim:
    """One sample, x = 1, squared error, w = 0: the gradient is minus its label; two labels."""
    return Claim(
        id="UF-A1",
        paper=PAPER,
        location="Algorithm 1, lines 5 and 7",
        statement=r"P(\nabla\mathcal L_k(D) \in O) \le e^\epsilon P(\nabla\mathcal L_k(D') \in O) + \delta",
        expected=Verdict.FALSE,
        reason="The gradients are sent and broadcast without noise: a deterministic release, delta = 1 for data that change it. "
        "Nor is any sensitivity enforced.",
        domain={"first": Range(-1.0, 1.0), "second": Range(-1.0, 1.0)},
        claimed=lambda first, second: float(_TABLE_DELTA),
        actual=lambda first, second: float(first != second),
        enclose=lambda first, second: (ball(_TABLE_DELTA), ball(Fraction(int(first != second)))),
    )


def variance_leak() -> Claim:
    """theta = 0.6, the noise of Table I; two updates with the same value and deviation factors 0 and dE."""

    def inflated(change: Fraction) -> Fraction:
        return 1 / (1 - Fraction(3, 5) * change) ** 2

    return Claim(
        id="UF-A1-variance",
        paper=PAPER,
        location="Eq. (25), (27): noise scaled by the deviation factor",
        statement=r"D_{e^\epsilon}\bigl(N(0,r^2\sigma^2I_v) \,\|\, N(0,\sigma^2I_v)\bigr) \le \delta,\quad r = "
        r"\tfrac1{1-\theta\,\Delta\mathcal E}",
        expected=Verdict.FALSE,
        reason="The variance itself depends on the data and gives them away, the more the larger the model: .18 for 650 "
        "parameters and a change of .05.",
        domain={"change": Range(0.005, 0.5), "v": Range(10, 800, integer=True)},
        claimed=lambda change, v: float(_TABLE_DELTA),
        actual=lambda change, v: float(
            fairness.variance_leak(0.95, deviation_change=change, theta=0.6, dimension=int(v))
        ),
        enclose=lambda change, v: (
            ball(_TABLE_DELTA),
            enclosed_divergence.hockey_stick(
                _TABLE_EPSILON, distance=0, variance_p=inflated(change), variance_q=1, dimension=int(v)
            ),
        ),
    )


def independent_copies() -> Claim:
    def sigma() -> float:
        return _sigma(0.95, 1e-5)

    return Claim(
        id="UF-E27",
        paper=PAPER,
        location="Eq. (27): a noisy copy for every device, the noise of Table I",
        statement=r"D_{e^\epsilon}\bigl(\text{K copies}\bigr) \le \delta",
        expected=Verdict.FALSE,
        reason="Who collects K independent copies averages the noise: epsilon .71 becomes 2.54 for ten devices.",
        domain={"devices": Range(2, 50, integer=True)},
        claimed=lambda devices: float(_TABLE_DELTA),
        actual=lambda devices: float(gaussian.delta(0.95, sensitivity=math.sqrt(devices), sigma=sigma())),
        enclose=lambda devices: (
            ball(_TABLE_DELTA),
            enclosed_gaussian.curve(
                _TABLE_EPSILON,
                ball(int(devices)).sqrt(),
                enclosed.classical_sigma(_TABLE_EPSILON, _TABLE_DELTA) ** 2,
            ),
        ),
    )


def sensitivity() -> Claim:
    """One parameter, losses mu h^2/2 and of one sample +-G abs(h)/d, kink just above 0; broadcast gradient -4 G/d."""

    def apart(strong_convexity: float, step: float, iterations: int, samples: int) -> float:
        mu, d = strong_convexity, samples

        def update(sign: int) -> float:
            def slope(h: float) -> float:
                return mu * h + sign * (1.0 if h > 0 else -1.0) / d

            h = 0.0
            for _ in range(iterations + 1):
                h -= step * (slope(h) - slope(0.0) - 4 / d)
            return h

        return update(-1) - update(1)

    return Claim(
        id="UF-E7*",
        paper=PAPER,
        location="ours: S_f of Eq. (8) for the local update of j iterations of (10), losses of slope at most G",
        statement=r"S_f \le \frac{4G}{\mu d}\bigl(1-(1-\eta\mu)^j\bigr)",
        expected=Verdict.HOLDS,
        reason="Both gradients of the local loss in (4) change by 2G/d in every iteration but the first, whose displacement is "
        "common; attained, one iteration later, by a kink that one sample turns round.",
        domain={
            "strong_convexity": Range(0.01, 1.0, logarithmic=True),
            "step": Range(0.05, 0.99),
            "iterations": Range(0, 60, integer=True),
            "samples": Range(1, 1000, integer=True, logarithmic=True),
        },
        claimed=lambda **point: float(
            fairness.sensitivity(lipschitz=1.0, smoothness=point["strong_convexity"], **point)
        ),
        actual=apart,
        relation=Relation.EQUAL,
    )


def scaled_noise() -> Claim:
    def delta_at_target(deviation: float, theta: float, epsilon: float, delta: float) -> float:
        scale = float(fairness.noise_scale(deviation, epsilon=epsilon, delta=delta, theta=theta))
        return float(gaussian.delta(epsilon, sensitivity=1.0, sigma=scale))

    return Claim(
        id="UF-E25",
        paper=PAPER,
        location="Eq. (25), for a public deviation factor in [0, 1] and eps < 1",
        statement=r"\hat\sigma = \tfrac1{\epsilon(1-\mathcal E\theta)}\sqrt{2\log(1.25/\delta)} \implies "
        r"(\epsilon,\delta)\text{-DP}",
        expected=Verdict.HOLDS_UNDER,
        reason="(9) at a smaller epsilon, if that is in (0, 1) and the deviation factor does not depend on the data.",
        domain={
            "deviation": Range(0.0, 1.0),
            "theta": Range(0.0, 0.99),
            "epsilon": Range(0.01, 0.999),
            "delta": Range(1e-12, 0.99, logarithmic=True),
        },
        claimed=lambda deviation, theta, epsilon, delta: delta,
        actual=delta_at_target,
        if_survived=Verdict.HOLDS_UNDER,
    )


def scaled_noise_outside() -> Claim:
    def ratio(deviation: Fraction | float, theta: Fraction | float) -> Fraction | float:
        return 1 / (1 - deviation * theta) if deviation * theta != 1 else math.inf

    return Claim(
        id="UF-E25-outside",
        paper=PAPER,
        location="Eq. (25) with the deviation factors that (26) really gives, in [-8, 91] (noise over that of (9))",
        statement=r"\hat\sigma_{g,k} \ge \sigma_g",
        expected=Verdict.FALSE,
        reason="Negative for E theta > 1, infinite at 1, and for negative E the worse device gets less noise.",
        domain={"deviation": Range(-8.0, 91.0), "theta": Range(0.1, 1.0)},
        claimed=lambda deviation, theta: 1.0 if deviation * theta != 1 else math.nan,
        actual=lambda deviation, theta: float(ratio(deviation, theta)),
        relation=Relation.AT_LEAST,
        enclose=lambda deviation, theta: (ball(1), ball(ratio(deviation, theta))),
    )


CLAIMS = (
    privacy_definition,
    mechanism_definition,
    proposition,
    proposition_beyond,
    gradients_in_clear,
    variance_leak,
    independent_copies,
    sensitivity,
    scaled_noise,
    scaled_noise_outside,
)
