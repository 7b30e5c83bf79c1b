"""FDP Sec. V-C and App. D: Scheme 2.2, Theorem 3, Remark 8, Lemma 6."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from analytics.distributions import selection
from analytics.enclosures import selection as enclosed
from analytics.enclosures.ball import ball
from analytics.inference import participation
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.feature_dp.common import PAPER, RESOLUTION, SEED
from validate.twins import oracles

_NOISE = Range(0.01, 10.0, logarithmic=True)
_GAP = Range(1e-3, 10.0, logarithmic=True)
_ABSOLUTE = (
    1e-3  # added to both sides of an equality, it turns the relative tolerance 1e-9 into an absolute one of 1e-12
)


# Scheme 2.2: Theorem 3


def lower_bound() -> Claim:
    def enclose(gap: Fraction, first: Fraction, second: Fraction) -> tuple[Any, Any]:
        return enclosed.below(gap, first, second), enclosed.below(-gap, first, second)

    return Claim(
        id="FDP-T3-lower",
        paper=PAPER,
        location="Theorem 3, Eq. (20)",
        statement=r"p_k \ge 1 - \sum_{k=1}^{K-1}\Phi\left(\frac{-\Psi}{\sqrt{\sigma_k^2+\sigma_{k+1}^2}}\right)"
        r"\quad\text{for every } k",
        expected=Verdict.FALSE,
        reason="The indicator of (51) is lost: a device outside the true set is hardly ever selected. "
        "Two devices, one selected, the worse one.",
        domain={"gap": _GAP, "first": _NOISE, "second": _NOISE},
        claimed=lambda gap, first, second: participation.published_lower([0.0, gap], [first, second]),
        actual=lambda gap, first, second: float(selection.probability([0.0, gap], [first, second], 1)[1]),
        relation=Relation.AT_LEAST,
        enclose=enclose,
    )


_THREE = {"near": _GAP, "far": _GAP, "a": _NOISE, "b": _NOISE, "c": _NOISE, "selected": Range(1, 2, integer=True)}


def lower_bound_corrected() -> Claim:
    def worst(near: float, far: float, a: float, b: float, c: float, selected: int) -> float:
        score, noise = np.array([0.0, near, near + far]), np.array([a, b, c])
        return float(np.min(oracles.selection_probabilities(score, noise, selected)[:selected]))

    return Claim(
        id="FDP-T3-lower*",
        paper=PAPER,
        location="Theorem 3, Eq. (20), corrected",
        statement=r"p_k \ge 1 - \sum_{i=1}^{K-1}\Phi\left(\frac{-\Psi}{\sqrt{\sigma_{(i)}^2+\sigma_{(i+1)}^2}}\right)"
        r"\quad\text{for } k \text{ in the true set, } i \text{ in the order of the scores}",
        expected=Verdict.HOLDS,
        reason="Pr(true order) is at most Pr(true set), and the union bound.",
        domain=_THREE,
        claimed=lambda near, far, a, b, c, selected: participation.published_sorting(
            [0.0, near, near + far], [a, b, c]
        ),
        actual=worst,
        relation=Relation.AT_LEAST,
    )


def upper_bound() -> Claim:
    def score(near: float, far: float) -> list[float]:
        return [0.0, near, near + far]

    def enclose(near: Fraction, far: Fraction, noise: Fraction) -> tuple[Any, Any]:
        last = near + far
        claimed = enclosed.below(min(near, far), noise, noise) ** 2 + enclosed.below(-last, noise, noise)
        return claimed, enclosed.below(last, noise, noise)

    return Claim(
        id="FDP-T3-upper",
        paper=PAPER,
        location="Theorem 3, Eq. (21)",
        statement=r"p_k \le \prod_{i=1}^{K-1}\Phi\left(\frac{\Psi}{\sqrt{\sigma_{(i+1)}^2+\sigma_{(i)}^2}}\right)"
        r"\mathbb I(k\in\mathcal K) + \Phi\left(\frac{u_k - \min_{j\in\mathcal K^c}u_j}{\sqrt{\sigma_k^2+\sigma_j^2}}\right)",
        expected=Verdict.FALSE,
        reason="Psi is the least gap, so each factor is too small, and the last sign is reversed. Best of three devices, two "
        "selected; its probability is at least that of staying below the third.",
        domain={"near": _GAP, "far": _GAP, "noise": _NOISE},
        claimed=lambda near, far, noise: float(participation.published_upper(score(near, far), noise, 2)[0]),
        actual=lambda near, far, noise: float(selection.probability(score(near, far), noise, 2)[0]),
        enclose=enclose,
        bounded=True,
    )


def _scores(devices: int, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Random scores and noise; a third of them with equal noise."""
    rng = np.random.default_rng(seed)
    noise = 10 ** rng.uniform(-1.5, 1.0, devices)
    if rng.random() < 1 / 3:
        noise[:] = noise[0]
    return rng.random(devices), noise, int(rng.integers(1, devices + 1))


_RANDOM = {"devices": Range(2, 6, integer=True), "seed": SEED}


def _exact(devices: int, seed: int) -> float:
    return float(oracles.selection_probabilities(*_scores(devices, seed))[0])


def exact_selection() -> Claim:
    return Claim(
        id="FDP-T3*",
        paper=PAPER,
        location="ours: Scheme 2.2 exactly",
        statement=r"p_k = \int\varphi_k(x)\Pr\left(\#\{j\ne k: \tilde u_j < x\} \le \tilde k - 1\right)dx",
        expected=Verdict.HOLDS,
        reason="Conditioning on the device's own noisy score; against the sum over all sets below it.",
        domain=_RANDOM,
        claimed=lambda devices, seed: float(selection.probability(*_scores(devices, seed))[0]) + _ABSOLUTE,
        actual=lambda devices, seed: _exact(devices, seed) + _ABSOLUTE,
        relation=Relation.EQUAL,
    )


def pairwise_upper() -> Claim:
    return Claim(
        id="FDP-T3*-upper",
        paper=PAPER,
        location="ours: an upper bound from pairs",
        statement=r"p_k \le \min_{1\le i\le K-\tilde k}\frac1i\sum_{j\le\tilde k+i-1}(1-q)_{(j)},\quad "
        r"q_j = \Phi\left(\frac{u_k-u_j}{\sqrt{\sigma_k^2+\sigma_j^2}}\right)",
        expected=Verdict.HOLDS,
        reason="If k is selected, at least i of any k~ + i - 1 others are above it; Markov. Tight for two devices.",
        domain=_RANDOM,
        claimed=lambda devices, seed: float(participation.proven_bounds(*_scores(devices, seed))[1][0]),
        actual=_exact,
    )


def pairwise_lower() -> Claim:
    return Claim(
        id="FDP-T3*-lower",
        paper=PAPER,
        location="ours: a lower bound from pairs",
        statement=r"1 - p_k \le \min_{1\le i\le\tilde k}\frac1i\sum_{j\le K-\tilde k+i-1}q_{(j)}",
        expected=Verdict.HOLDS,
        reason="The mirror image.",
        domain=_RANDOM,
        claimed=lambda devices, seed: (
            1 - float(participation.proven_bounds(*_scores(devices, seed))[0][0]) + RESOLUTION
        ),
        actual=lambda devices, seed: max(1 - _exact(devices, seed), 0.0) + RESOLUTION,
    )


def large_noise() -> Claim:
    def parts(devices: int, seed: int, noise: float) -> tuple[np.ndarray, int]:
        rng = np.random.default_rng(seed)
        return rng.random(devices), int(rng.integers(1, devices))

    def claimed(devices: int, seed: int, noise: float) -> float:
        score, _ = parts(devices, seed, noise)
        return float(np.sum(np.abs(score - np.median(score)))) / (noise * math.sqrt(2 * math.pi)) + RESOLUTION

    def actual(devices: int, seed: int, noise: float) -> float:
        score, selected = parts(devices, seed, noise)
        p = selection.probability(score, noise, selected)
        return float(np.max(np.abs(p - selected / devices))) + RESOLUTION

    return Claim(
        id="FDP-R8",
        paper=PAPER,
        location="Remark 8",
        statement=r"\left|p_k - \tfrac{\tilde k}K\right| \le \frac{\sum_j|u_j - \mathrm{med}\,u|}{\sigma\sqrt{2\pi}}"
        r"\ \to 0 \text{ for equal } \sigma \to \infty",
        expected=Verdict.HOLDS_UNDER,
        reason="Total variation to the case of equal scores; needs equal noise.",
        domain={"devices": Range(2, 12, integer=True), "seed": SEED, "noise": Range(0.1, 1e4, logarithmic=True)},
        claimed=claimed,
        actual=actual,
        if_survived=Verdict.HOLDS_UNDER,
    )


def large_unequal_noise() -> Claim:
    return Claim(
        id="FDP-R8-unequal",
        paper=PAPER,
        location="Remark 8, with the unequal noise that the paper allows",
        statement=r"p_k = \tfrac{\tilde k}K \quad (K = 3,\ \tilde k = 1,\ u = 0,\ \sigma = (s, 1, 1))",
        expected=Verdict.FALSE,
        reason="The noisier device is the lowest more often: 1/4 + arcsin(s^2/(s^2+1))/(2 pi), up to 1/2.",
        domain={"spread": Range(1.0, 1e3, logarithmic=True)},
        claimed=lambda spread: 1 / 3,
        actual=lambda spread: float(selection.probability([0.0, 0.0, 0.0], [spread, 1.0, 1.0], 1)[0]),
        relation=Relation.EQUAL,
        enclose=lambda spread: (ball(Fraction(1, 3)), enclosed.lowest_of_three_equal(spread)),
    )


# Lemma 6

_SORTING = (
    r"\Pr(\text{true sorting}) \ge "
    r"1 - \sum_{k=1}^{K-1}\Phi\left(\frac{-\Psi}{\sqrt{\sigma_k^2+\sigma_{k+1}^2}}\right)"
)


def sorting() -> Claim:
    def claimed(near: float, far: float, a: float, b: float, c: float) -> float:
        return participation.published_sorting([0.0, near, near + far], [a, b, c])

    def actual(near: float, far: float, a: float, b: float, c: float) -> float:
        return oracles.order_probability(np.array([0.0, near, near + far]), np.array([a, b, c]))

    return Claim(
        id="FDP-L6",
        paper=PAPER,
        location="Lemma 6, Eq. (61)-(63)",
        statement=_SORTING,
        expected=Verdict.HOLDS,
        reason="Union bound, with k in the order of the scores.",
        domain={name: allowed for name, allowed in _THREE.items() if name != "selected"},
        claimed=claimed,
        actual=actual,
        relation=Relation.AT_LEAST,
    )


def sorting_by_label() -> Claim:
    """Three devices labelled so that the middle score comes last; noise 1, 1 and less, gaps beyond 1.6."""

    def claimed(gap: float, quiet: float) -> float:
        return participation.published_sorting([0.0, 2 * gap, gap], [1.0, quiet, 1.0], by_rank=False)

    def actual(gap: float, quiet: float) -> float:
        return oracles.order_probability(np.array([0.0, gap, 2 * gap]), np.array([1.0, 1.0, quiet]))

    def enclose(gap: Fraction, quiet: Fraction) -> tuple[Any, Any]:
        one = Fraction(1)
        return 1 - 2 * enclosed.below(-gap, one, quiet), enclosed.below(gap, one, one)

    return Claim(
        id="FDP-L6-raw",
        paper=PAPER,
        location="Lemma 6, with k the label of the device",
        statement=_SORTING,
        expected=Verdict.FALSE,
        reason="Neighbours in label need not be neighbours in score; the probability is at most that of the first pair.",
        domain={"gap": Range(1.6, 4.0), "quiet": Range(1e-3, 0.1, logarithmic=True)},
        claimed=claimed,
        actual=actual,
        relation=Relation.AT_LEAST,
        enclose=enclose,
        bounded=True,
    )


CLAIMS = (
    lower_bound,
    lower_bound_corrected,
    upper_bound,
    exact_selection,
    pairwise_upper,
    pairwise_lower,
    large_noise,
    large_unequal_noise,
    sorting,
    sorting_by_label,
)
