"""FDP Sec. V-A: uncertainty scores and their sensitivity, Scheme 2.1, Lemma 2, Table I."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from analytics.enclosures import gaussian as enclosed_gaussian
from analytics.enclosures import selection as enclosed
from analytics.enclosures.ball import ball, refine
from analytics.inference import participation, uncertainty
from analytics.privacy import gaussian, subsampling
from validate.claim import Claim, Range, Relation, Verdict, constant
from validate.ledger.feature_dp.common import PAPER, PROBABILITY, RESOLUTION

_LABELS = Range(2, 100, integer=True)
_SHARE = Range(0.0, 1.0)


# Scores: Eq. (15), (16), footnote 2


def _entropy_change(labels: int, share: float, other: float) -> float:
    """Change of the entropy between two laws that give all but a share of 1 to one label, the share evenly to the others."""

    def entropy(level: float) -> float:
        rest = level * (1 - 1 / labels)
        return float(uncertainty.shannon(np.array([1 - rest, *[rest / (labels - 1)] * (labels - 1)])))

    return abs(entropy(share) - entropy(other))


def entropy_sensitivity() -> Claim:
    return Claim(
        id="FDP-E15",
        paper=PAPER,
        location="Eq. (15) and the sensitivity after it",
        statement=r"|u_k - u_k'| \le 2\log_2|\mathcal L|",
        expected=Verdict.HOLDS,
        reason="Entropy ranges over [0, log2 L]; the bound is twice too large.",
        domain={"labels": _LABELS, "share": _SHARE, "other": _SHARE},
        claimed=lambda labels, share, other: uncertainty.published_sensitivity(labels),
        actual=_entropy_change,
    )


def entropy_sensitivity_exact() -> Claim:
    return Claim(
        id="FDP-E15*",
        paper=PAPER,
        location="Eq. (15), the exact sensitivity",
        statement=r"|u_k - u_k'| \le \log_2|\mathcal L|, \text{ with equality for a sure label against the uniform law}",
        expected=Verdict.HOLDS,
        reason="The range of the entropy.",
        domain={"labels": _LABELS, "share": _SHARE, "other": _SHARE},
        claimed=lambda labels, share, other: uncertainty.sensitivity(labels),
        actual=_entropy_change,
    )


def min_entropy_sensitivity() -> Claim:
    def actual(greatest: float, other: float) -> float:
        return abs(math.log2(greatest / other))

    def enclose(greatest: Fraction, other: Fraction) -> tuple[Any, Any]:
        return -enclosed.log2(greatest), abs(enclosed.log2(greatest / other))

    return Claim(
        id="FDP-fn2",
        paper=PAPER,
        location="Footnote 2",
        statement=r"|-\log_2 p_{\max} + \log_2 p_{\max}'| \le -\log_2 p_{\max}",
        expected=Verdict.FALSE,
        reason="The bound speaks of one input only: a sure label against an even pair changes by 1 bit; correct: log2 L.",
        domain={"greatest": Range(0.025, 1.0), "other": Range(0.025, 1.0)},
        claimed=lambda greatest, other: float(uncertainty.published_min_entropy_sensitivity(greatest)),
        actual=actual,
        enclose=enclose,
    )


def threshold_probability() -> Claim:
    def actual(score: float, noise: float, eta: float) -> float:
        """The density of the noisy score integrated up to the threshold."""
        node, weight = np.polynomial.legendre.leggauss(20)
        edges = np.linspace(-12.0, min(max((eta - score) / noise, -12.0), 12.0), 25)
        half = np.diff(edges) / 2
        t = (edges[:-1] + half)[:, None] + half[:, None] * node
        return float(half @ (np.exp(-t * t / 2) @ weight)) / math.sqrt(2 * math.pi) + RESOLUTION

    return Claim(
        id="FDP-E17",
        paper=PAPER,
        location="Eq. (17)",
        statement=r"p_k = \Phi\left(\frac{\eta - u_k}{\sigma_k^{(0)}}\right)",
        expected=Verdict.HOLDS,
        reason="The noisy score is normal. ((18) prints u for the noisy score and zeta for eta.)",
        domain={"score": Range(0.0, 5.0), "noise": Range(0.01, 10.0, logarithmic=True), "eta": Range(0.0, 5.0)},
        claimed=lambda score, noise, eta: float(participation.threshold(score, noise, eta)) + RESOLUTION,
        actual=actual,
        relation=Relation.EQUAL,
    )


# Lemma 2


def composed_with_amplification() -> Claim:
    """Neighbours with the same score, a server that sees who sends: nothing is amplified."""

    def total(p: float, local: float, score: float) -> float:
        return score + float(subsampling.amplified(local, p))

    def claimed(p: float, ratio: float, local: float, score: float, score_delta: float) -> float:
        return score_delta + p * float(gaussian.delta(local, sensitivity=ratio, sigma=1.0))

    def actual(p: float, ratio: float, local: float, score: float, score_delta: float) -> float:
        return p * float(gaussian.delta(total(p, local, score), sensitivity=ratio, sigma=1.0))

    def enclose(
        p: Fraction, ratio: Fraction, local: Fraction, score: Fraction, score_delta: Fraction
    ) -> tuple[Any, Any]:
        first = ball(score_delta) + ball(p) * enclosed_gaussian.curve(local, ratio, 1)
        epsilon = refine(lambda: ball(score) + (1 + ball(p) * (ball(local).exp() - 1)).log())
        return first, ball(p) * enclosed_gaussian.curve(epsilon, ratio, 1)

    return Claim(
        id="FDP-L2",
        paper=PAPER,
        location="Lemma 2",
        statement=r"(\epsilon^{(0)} + \log(1 + p(e^{\epsilon} - 1)),\ \delta^{(0)} + p\,\delta)",
        expected=Verdict.FALSE,
        reason="Whether k takes part is a function of the released score; once known, nothing amplifies epsilon. "
        "Neighbours with equal scores.",
        domain={
            "p": PROBABILITY,
            "ratio": Range(0.05, 3.0, logarithmic=True),
            "local": Range(0.01, 10.0, logarithmic=True),
            "score": Range(1e-4, 1.0, logarithmic=True),
            "score_delta": Range(1e-12, 1e-3, logarithmic=True),
        },
        claimed=claimed,
        actual=actual,
        enclose=enclose,
    )


def composed_safely() -> Claim:
    """One device, Scheme 2.1, a server that sees whether it sends; scores u and v in [0, 1]."""

    def curve(epsilon: float, ratio: float) -> float:
        if epsilon >= 0:
            return float(gaussian.delta(epsilon, sensitivity=ratio, sigma=1.0))
        return -math.expm1(epsilon) + math.exp(epsilon) * float(gaussian.delta(-epsilon, sensitivity=ratio, sigma=1.0))

    def claimed(u: float, v: float, eta: float, noise: float, ratio: float, score: float, local: float) -> float:
        return curve(score, 1 / noise) + curve(local, ratio)

    def actual(u: float, v: float, eta: float, noise: float, ratio: float, score: float, local: float) -> float:
        p, q = (float(participation.threshold(x, noise, eta)) for x in (u, v))
        total = score + local
        silent = max((1 - p) - math.exp(total) * (1 - q), 0.0)
        if q == 0:
            return silent + p
        return silent + (p * curve(total - math.log(p / q), ratio) if p > 0 else 0.0)

    return Claim(
        id="FDP-L2*",
        paper=PAPER,
        location="Lemma 2, corrected",
        statement=r"(\epsilon^{(0)} + \epsilon_{\mathrm{loc}},\ \delta^{(0)} + \delta_{\mathrm{loc}})"
        r"\text{ with the feature's guarantee given participation}",
        expected=Verdict.HOLDS,
        reason="Basic composition of the score with the un-amplified Gaussian mechanism.",
        domain={
            "u": _SHARE,
            "v": _SHARE,
            "eta": Range(0.0, 2.0),
            "noise": Range(0.1, 10.0, logarithmic=True),
            "ratio": Range(1e-3, 5.0, logarithmic=True),
            "score": Range(1e-6, 10.0, logarithmic=True),
            "local": Range(1e-6, 10.0, logarithmic=True),
        },
        claimed=claimed,
        actual=actual,
    )


# Table I


def table_one() -> Claim:
    return Claim(
        id="FDP-Tab1",
        paper=PAPER,
        location="Table I",
        statement=r"\frac{\epsilon^{(0)}(\eta = 0.5)}{\epsilon^{(0)}(\eta = 0.3)} = \frac{0.2641}{0.1134}",
        expected=Verdict.NOT_REPRODUCIBLE,
        reason="The epsilon of (16) does not depend on eta, so the rows cannot be it; Gamma and delta^(0) are not given.",
        domain={"noise_variance": constant(0.1), "first": constant(0.2641), "second": constant(0.1134)},
        claimed=lambda noise_variance, first, second: first / second,
        actual=lambda noise_variance, first, second: (
            float(uncertainty.epsilon(1e-5, sensitivity=1.0, noise=math.sqrt(noise_variance)))
            / float(uncertainty.epsilon(1e-5, sensitivity=1.0, noise=math.sqrt(noise_variance)))
        ),
        relation=Relation.EQUAL,
        enclose=lambda noise_variance, first, second: (ball(first / second), ball(1)),
        if_violated=Verdict.NOT_REPRODUCIBLE,
    )


CLAIMS = (
    entropy_sensitivity,
    entropy_sensitivity_exact,
    min_entropy_sensitivity,
    threshold_probability,
    composed_with_amplification,
    composed_safely,
    table_one,
)
