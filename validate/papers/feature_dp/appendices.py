"""FDP App. A, B and D, step by step: what the proofs of Theorems 1, 2 and 3 print on their way."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import integrate, special

from analytics.distributions import poisson_binomial, selection
from analytics.enclosures import selection as enclosed
from analytics.enclosures.ball import Ball, ball
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.feature_dp.common import PAPER, PROBABILITY

_GAP = Range(1e-3, 3.0, logarithmic=True)
_NOISE = Range(0.05, 10.0, logarithmic=True)
_WEIGHT = Range(0.01, 3.0)
_FEATURE = Range(-3.0, 3.0)
_AWAY = 1e-9  # added to both sides: the integrals are right to 1e-12


# App. A: Theorem 1


def conditional_participation() -> Claim:
    def both(devices: int, p: float, reach: float) -> tuple[float, float]:
        """Pr(k takes part | mu near its mean), and Pr(mu not near), for equal noise 1."""
        mean = devices * p
        all_but_one = poisson_binomial.pmf(np.full(devices - 1, p))
        everyone = poisson_binomial.pmf(np.full(devices, p))
        near = np.abs(np.arange(devices + 1) - mean) < reach * devices
        missed = float(everyone[~near].sum())
        inside = float(everyone[near].sum())
        joint = p * float(all_but_one[near[1:]].sum())
        return (joint / inside if inside > 0 else math.nan), missed

    def claimed(devices: int, p: float, reach: float) -> float:
        conditional, missed = both(devices, p, reach)
        return math.nan if math.isnan(conditional) or missed >= 1 else p / (1 - missed)

    def actual(devices: int, p: float, reach: float) -> float:
        conditional, _ = both(devices, p, reach)
        return 0.0 if math.isnan(conditional) else conditional

    return Claim(
        id="FDP-E25",
        paper=PAPER,
        location="App. A, Eq. (25), (26)",
        statement=r"\bar p_k = \Pr(\mathcal E_k \mid |\mu-\bar\mu| < t) \le \frac{p_k}{1-\delta'}",
        expected=Verdict.HOLDS,
        reason="Bayes; with delta' the true probability of straying, not the one that (23) gives.",
        domain={"devices": Range(1, 60, integer=True), "p": PROBABILITY, "reach": Range(0.01, 1.0)},
        claimed=claimed,
        actual=actual,
    )


# App. B: the MSE


def _expanded(p: float, w: float, f: float, devices: int) -> float:
    """(31): E (tau w f - f/K)^2 for lossless D = W = 1."""
    return p * (w * f) ** 2 - 2 / devices * p * w * f * f + (f / devices) ** 2


_DIAGONAL = {"p": PROBABILITY, "w": _WEIGHT, "f": Range(0.1, 3.0), "devices": Range(1, 20, integer=True)}


def equation_32() -> Claim:
    return Claim(
        id="FDP-E32",
        paper=PAPER,
        location="App. B, Eq. (31), (32), for lossless D = W = 1",
        statement=r"E\Bigl(\tau w f - \tfrac fK\Bigr)^2 = pw f^2 - \tfrac{2pw}K f^2 + \tfrac{f^2}{K^2}",
        expected=Verdict.FALSE,
        reason="w in place of its square; and for other codecs (D W f)^2 is not the product of the squared norms.",
        domain=_DIAGONAL,
        claimed=lambda p, w, f, devices: (p * w - 2 * p * w / devices + 1 / devices**2) * f * f,
        actual=_expanded,
        relation=Relation.EQUAL,
        enclose=lambda p, w, f, devices: (
            ball((p * w - 2 * p * w / devices + Fraction(1) / devices**2) * f * f),
            ball(p * w * w * f * f - 2 * p * w * f * f / devices + f * f / devices**2),
        ),
    )


def equation_33() -> Claim:
    return Claim(
        id="FDP-E33",
        paper=PAPER,
        location="App. B, Eq. (33), 'simplifying'",
        statement=r"pw - \tfrac{2pw}K + \tfrac1{K^2} = w^2p - 2wp + 1",
        expected=Verdict.FALSE,
        reason="It does not follow from (32): both K are lost and the square of w is back. For K = 1 and w = 1 it "
        "happens to hold.",
        domain={name: _DIAGONAL[name] for name in ("p", "w", "devices")},
        claimed=lambda p, w, devices: w * w * p - 2 * w * p + 1,
        actual=lambda p, w, devices: p * w - 2 * p * w / devices + 1 / devices**2,
        relation=Relation.EQUAL,
        enclose=lambda p, w, devices: (
            ball(w * w * p - 2 * w * p + 1),
            ball(p * w - 2 * p * w / devices + Fraction(1) / devices**2),
        ),
    )


def equation_34() -> Claim:
    """One pair, K = 2, scalars: E of the product of two terms of (29)."""

    def exact(p: Any, q: Any, w: Any, v: Any, f: Any, g: Any, D: Any) -> Any:
        return (p * w * D * f - f / 2) * (q * v * D * g - g / 2)

    def printed(p: Any, q: Any, w: Any, v: Any, f: Any, g: Any, D: Any) -> Any:
        return p * q * w * v * D * D * f * g - p * w / 2 * D * D * f * g - q * v / 2 * D * D * f * g + f * g / 4

    names = ("p", "q", "w", "v", "f", "g", "D")
    ranges = (PROBABILITY, PROBABILITY, _WEIGHT, _WEIGHT, Range(0.1, 3.0), Range(0.1, 3.0), Range(0.1, 3.0))
    return Claim(
        id="FDP-E34",
        paper=PAPER,
        location="App. B, Eq. (30), (34), for numbers and W = 1, K = 2",
        statement=r"E\Bigl[\bigl(\tau_kw_kDf_k-\tfrac{f_k}K\bigr)\bigl(\tau_jw_jDf_j-\tfrac{f_j}K\bigr)\Bigr] = "
        r"p_kp_jw_kw_jD^2f_kf_j"
        r" - \tfrac{p_kw_k}KD^2f_kf_j - \tfrac{p_jw_j}KD^2f_kf_j + \tfrac{f_kf_j}{K^2}",
        expected=Verdict.FALSE,
        reason="The mixed terms carry one decoder, not two: D'D f_j has not even the right dimension.",
        domain=dict(zip(names, ranges, strict=True)),
        claimed=lambda **v: 100 + float(printed(**v)),
        actual=lambda **v: 100 + float(exact(**v)),
        relation=Relation.EQUAL,
        enclose=lambda **v: (ball(100 + printed(**v)), ball(100 + exact(**v))),
    )


# App. D: Theorem 3


def _three(near: float, far: float, noise: float, selected: int) -> tuple[np.ndarray, float]:
    """Participation of three devices with scores 0, near, near + far, and Pr(the right set)."""
    p = np.asarray(selection.probability([0.0, near, near + far], noise, selected))
    return p, float(p[0] if selected == 1 else 1 - p[2])


_SCORES = {"near": _GAP, "far": _GAP, "noise": _NOISE}


def lower_step() -> Claim:
    return Claim(
        id="FDP-E51",
        paper=PAPER,
        location="App. D, Eq. (48), (50), (51)",
        statement=r"p_k \ge \Pr(\mathcal A)\,\mathbb I(k \in \mathcal K)",
        expected=Verdict.HOLDS,
        reason="Total probability; the indicator is what (20) loses.",
        domain={**_SCORES, "selected": Range(1, 2, integer=True)},
        claimed=lambda near, far, noise, selected: _AWAY + _three(near, far, noise, selected)[1],
        actual=lambda near, far, noise, selected: (
            _AWAY * (1 + 1e-9) + float(_three(near, far, noise, selected)[0][:selected].min())
        ),
        relation=Relation.AT_LEAST,
    )


def upper_step() -> Claim:
    def claimed(near: float, far: float, noise: float, selected: int, device: int) -> float:
        p, right = _three(near, far, noise, selected)
        sure = right if device < selected else 0.0
        return _AWAY + sure + (float(p[device]) - sure) / (1 - right) if right < 1 - 1e-6 else math.nan

    return Claim(
        id="FDP-E52",
        paper=PAPER,
        location="App. D, Eq. (52)",
        statement=r"p_k \le \Pr(\mathcal A)\,\mathbb I(k \in \mathcal K) + \Pr(k \in \tilde{\mathcal K} \mid \mathcal A^c)",
        expected=Verdict.HOLDS,
        reason="The factor Pr(A^c) of (50) is dropped.",
        domain={**_SCORES, "selected": Range(1, 2, integer=True), "device": Range(0, 2, integer=True)},
        claimed=claimed,
        actual=lambda near, far, noise, selected, device: float(_three(near, far, noise, selected)[0][device]),
    )


def wrong_set() -> Claim:
    def enclose(gap: Fraction, noise: Fraction) -> tuple[Ball, Ball]:
        return enclosed.below(gap, noise, noise), ball(1)

    return Claim(
        id="FDP-E49",
        paper=PAPER,
        location="App. D, Eq. (49), (57)-(59); two devices, one selected, k the worse one",
        statement=r"\Pr(k \in \tilde{\mathcal K} \mid \mathcal A^c) = \Phi\left(\frac{u_k - \min_{j\in\mathcal K^c}u_j}"
        r"{\sqrt{\sigma_k^2+\sigma_j^2}}\right)",
        expected=Verdict.FALSE,
        reason="If the true set was missed, the worse of two devices was selected for certain; the condition and the "
        "sign are lost. "
        "(j read as the other device; for j = k the right side is 1/2.)",
        domain={"gap": _GAP, "noise": _NOISE},
        claimed=lambda gap, noise: float(special.ndtr(gap / (math.sqrt(2) * noise))),
        actual=lambda gap, noise: 1.0,
        relation=Relation.EQUAL,
        enclose=enclose,
    )


def _ordered(near: float, far: float, noise: float) -> float:
    """Pr(the three noisy scores come in the true order)."""

    def density(x: float) -> float:
        below, above = special.ndtr((x + near) / noise), special.ndtr((far - x) / noise)
        return float(math.exp(-(x * x) / (2 * noise * noise)) * below * above)

    found, _ = integrate.quad(density, -9 * noise, 9 * noise, epsabs=1e-13, epsrel=1e-12, limit=200)
    return float(found / (noise * math.sqrt(2 * math.pi)))


def _product(near: float, far: float, noise: float) -> float:
    return float(special.ndtr(near / (math.sqrt(2) * noise)) * special.ndtr(far / (math.sqrt(2) * noise)))


def adjacent_product() -> Claim:
    return Claim(
        id="FDP-E53",
        paper=PAPER,
        location="App. D, Eq. (53), A the event that all noisy scores come in order",
        statement=r"\Pr(\tilde u_{(1)} \le \dots \le \tilde u_{(K)}) \le \prod_k \Pr(\tilde u_{(k)} \le \tilde u_{(k+1)})",
        expected=Verdict.HOLDS,
        reason="Not by independence, which is assumed and false, but by Slepian's inequality: neighbouring differences are "
        "negatively correlated, others not at all.",
        domain=_SCORES,
        claimed=lambda near, far, noise: _AWAY + _product(near, far, noise),
        actual=lambda near, far, noise: _AWAY + _ordered(near, far, noise),
    )


def adjacent_product_of_the_set() -> Claim:
    def enclose(near: Fraction, noise: Fraction) -> tuple[Ball, Ball]:
        together = enclosed.below(near, noise, noise) * enclosed.below(near, noise, noise)
        return together, 1 - enclosed.probability([0, near, 2 * near], [noise] * 3, 2, device=2)

    return Claim(
        id="FDP-E53-set",
        paper=PAPER,
        location="App. D, Eq. (53), A the event that the true set is found, as (48) to (52) use it (two of three selected)",
        statement=r"\Pr(\tilde{\mathcal K} = \mathcal K) \le \prod_k \Pr(\tilde u_{(k)} \le \tilde u_{(k+1)})",
        expected=Verdict.FALSE,
        reason="The set is found in more cases than the order: with much noise in a third, where the product is a quarter.",
        domain={"near": _GAP, "noise": _NOISE},
        claimed=lambda near, noise: _product(near, near, noise),
        actual=lambda near, noise: _three(near, near, noise, 2)[1],
        enclose=enclose,
    )


def adjacent_sign() -> Claim:
    return Claim(
        id="FDP-E54",
        paper=PAPER,
        location="App. D, Eq. (54)",
        statement=r"\Pr(\tilde u_{(k)} \le \tilde u_{(k+1)}) = \Pr(n_{(k+1)} - n_{(k)} \le u_{(k)} - u_{(k+1)})",
        expected=Verdict.FALSE,
        reason="The sign: it is Pr(n_(k) - n_(k+1) <= u_(k+1) - u_(k)).",
        domain={"gap": _GAP, "noise": _NOISE},
        claimed=lambda gap, noise: float(special.ndtr(-gap / (math.sqrt(2) * noise))),
        actual=lambda gap, noise: float(special.ndtr(gap / (math.sqrt(2) * noise))),
        relation=Relation.EQUAL,
        enclose=lambda gap, noise: (enclosed.below(-gap, noise, noise), enclosed.below(gap, noise, noise)),
    )


def least_gap_as_upper_bound() -> Claim:
    return Claim(
        id="FDP-E55",
        paper=PAPER,
        location="App. D, Eq. (55), (56), (60)",
        statement=r"\Pr(\tilde u_{(k)} \le \tilde u_{(k+1)}) \le "
        r"\Phi\left(\frac\Psi{\sqrt{\sigma_{(k)}^2+\sigma_{(k+1)}^2}}\right)",
        expected=Verdict.FALSE,
        reason="Psi is the least gap: for the wider of two gaps the right side is a lower bound.",
        domain=_SCORES,
        claimed=lambda near, far, noise: float(special.ndtr(min(near, far) / (math.sqrt(2) * noise))),
        actual=lambda near, far, noise: float(special.ndtr(far / (math.sqrt(2) * noise))),
        enclose=lambda near, far, noise: (
            enclosed.below(min(near, far), noise, noise),
            enclosed.below(far, noise, noise),
        ),
    )


CLAIMS = (
    conditional_participation,
    equation_32,
    equation_33,
    equation_34,
    wrong_set,
    lower_step,
    upper_step,
    adjacent_product,
    adjacent_product_of_the_set,
    adjacent_sign,
    least_gap_as_upper_bound,
)
