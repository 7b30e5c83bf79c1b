"""FDP Sec. V-C and App. D: Scheme 2.2, Theorem 3, Remark 8, Lemma 6."""

from __future__ import annotations

import math

import numpy as np
import sympy as sp

from airtight.analytics.distributions import selection
from airtight.analytics.forms.balls import selection_probability as rigorous
from airtight.analytics.forms.balls.compiled import enclosed
from airtight.analytics.forms.domain import Parameter, Range, over, parameter
from airtight.analytics.forms.quantity import normal_cdf
from airtight.analytics.inference import participation
from airtight.validate.claims import reference_integrals
from airtight.validate.claims.claim import Claim, false, holds, holds_under, other_reading
from airtight.validate.claims.relation import absolute, at_least, at_most, both, equal
from airtight.validate.papers.feature_dp.common import SEED

# Psi of Fig. 6 and 7, score noise of Fig. 4 and 10
_GAP = Range(1e-3, 10.0, logarithmic=True, typical=(0.005, 0.1))
_NOISE = Range(0.01, 10.0, logarithmic=True, typical=(0.1, 0.32))
gap, near, far = (Parameter(name, _GAP) for name in ("gap", "near", "far"))
first, second, noise = (Parameter(name, _NOISE) for name in ("first", "second", "noise"))
_REVERSED = normal_cdf(-gap / sp.sqrt(first**2 + second**2))
_THREE = {"near": _GAP, "far": _GAP, "a": _NOISE, "b": _NOISE, "c": _NOISE}


def _three(near: float, far: float, a: float, b: float, c: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores and noise."""
    return np.array([0.0, near, near + far]), np.array([a, b, c])


def _worst_inside(selected: int, **point: float) -> float:
    return float(np.min(reference_integrals.selection_probabilities(*_three(**point), selected)[:selected]))


def _printed_upper(near: float, far: float, noise: float) -> float:
    """(21) for the best of three devices, two selected."""
    return float(participation.published_upper([0.0, near, near + far], noise, 2)[0])


_UPPER = normal_cdf(sp.Min(near, far) / (sp.sqrt(2) * noise)) ** 2 + normal_cdf(-(near + far) / (sp.sqrt(2) * noise))


def _scores(devices: int, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Random scores and noise; a third of them with equal noise."""
    rng = np.random.default_rng(seed)
    noise = 10 ** rng.uniform(-1.5, 1.0, devices)
    if rng.random() < 1 / 3:
        noise[:] = noise[0]
    return rng.random(devices), noise, int(rng.integers(1, devices + 1))


_RANDOM = {"devices": Range(2, 6, integer=True), "seed": SEED}


def _selected(devices: int, seed: int) -> float:
    """Probability that the first device is selected, added up over all sets below it."""
    return float(reference_integrals.selection_probabilities(*_scores(devices, seed))[0])


def _left_out(devices: int, seed: int) -> float:
    """Probability that the first device is not selected, without a difference: it is then selected by the negated scores."""
    score, noise, selected = _scores(devices, seed)
    return float(reference_integrals.selection_probabilities(-score, noise, devices - selected)[0])


def _equal_noise(devices: int, seed: int, noise: float) -> tuple[float, float]:
    """Greatest distance of a probability from k~/K, and the bound on it."""
    rng = np.random.default_rng(seed)
    score, selected = rng.random(devices), int(rng.integers(1, devices))
    p = selection.probability(score, noise, selected)
    bound = np.sum(np.abs(score - np.median(score))) / (noise * math.sqrt(2 * math.pi))
    return float(np.max(np.abs(p - selected / devices))), float(bound)


s = parameter("s", 1.0, 1e3, logarithmic=True)
_NOISIER = sp.Rational(1, 4) + sp.asin(s**2 / (s**2 + 1)) / (2 * sp.pi)

# Lemma 6 with three devices labelled so that the middle score comes last; noise 1, `quiet`, 1

_wide, quiet = parameter("gap", 1.6, 4.0), parameter("quiet", 1e-3, 0.1, logarithmic=True)
_BY_LABEL = 1 - 2 * normal_cdf(-_wide / sp.sqrt(1 + quiet**2))
_FIRST_PAIR = normal_cdf(_wide / sp.sqrt(2))

_SORTING = (
    r"\Pr(\text{true sorting}) \ge "
    r"1 - \sum_{k=1}^{K-1}\Phi\left(\frac{-\Psi}{\sqrt{\sigma_k^2+\sigma_{k+1}^2}}\right)"
)

CLAIMS = (
    # Scheme 2.2: Theorem 3
    Claim(
        "FDP-T3-lower",
        "Theorem 3, Eq. (20)",
        at_least(_REVERSED, 1 - _REVERSED),
        false(
            "The indicator of (51) is missing: a device outside the true set is hardly ever selected. Shown for the "
            "worse of two devices, one of which is selected.",
            corrected_by="FDP-T3-lower*",
            true_where=r"k \in \mathcal K, \text{ neighbours in the order of the scores}",
        ),
        statement=r"p_k \ge 1 - \sum_{k=1}^{K-1}\Phi\left(\frac{-\Psi}{\sqrt{\sigma_k^2+\sigma_{k+1}^2}}\right)"
        r"\quad\text{for every } k",
        where={"p_k": _REVERSED, r"\sum_{k=1}^{K-1}": 1, r"\Psi": gap, r"\sigma_k": first, r"\sigma_{k+1}": second},
        scale=absolute(""),
    ),
    Claim(
        "FDP-T3-lower*",
        "Theorem 3, Eq. (20), corrected",
        at_least(_worst_inside, lambda selected, **point: participation.published_sorting(*_three(**point))),
        holds("Pr(true order) is at most Pr(true set), and the union bound holds for the order."),
        {**_THREE, "selected": Range(1, 2, integer=True)},
        statement=r"p_k \ge 1 - \sum_{i=1}^{K-1}\Phi\left(\frac{-\Psi}{\sqrt{\sigma_{(i)}^2+\sigma_{(i+1)}^2}}\right)"
        r"\quad\text{for } k \text{ in the true set, } i \text{ in the order of the scores}",
        coq="feature_dp_general.FDP_T3_lower_star",
    ),
    Claim(
        "FDP-T3-upper",
        "Theorem 3, Eq. (21)",
        at_most(
            lambda near, far, noise: float(selection.probability([0.0, near, near + far], noise, 2)[0]),
            _printed_upper,
            balls=lambda near, far, noise: (
                enclosed(_UPPER, {"near": near, "far": far, "noise": noise}),
                rigorous.probability([0, near, near + far], [noise] * 3, 2),
            ),
        ),
        false(
            "Psi is the least gap, so each factor is too small, and the last sign is reversed. Shown for the best of "
            "three devices, two of which are selected.",
            corrected_by="FDP-T3*-upper",
        ),
        {symbol.name: symbol.range for symbol in (near, far, noise)},
        statement=r"p_k \le \prod_{i=1}^{K-1}\Phi\left(\frac{\Psi}{\sqrt{\sigma_{(i+1)}^2+\sigma_{(i)}^2}}\right)"
        r"\mathbb I(k\in\mathcal K) + \Phi\left(\frac{u_k - \min_{j\in\mathcal K^c}u_j}{\sqrt{\sigma_k^2+\sigma_j^2}}\right)",
    ),
    Claim(
        "FDP-T3*",
        "ours: the exact probability of selection in Scheme 2.2",
        equal(_selected, lambda **point: float(selection.probability(*_scores(**point))[0])),
        holds("Conditioning on the device's own noisy score; compared with the sum over all sets of devices below it."),
        _RANDOM,
        statement=r"p_k = \int\varphi_k(x)\Pr\left(\#\{j\ne k: \tilde u_j < x\} \le \tilde k - 1\right)dx",
        scale=absolute("", 1e-3),
    ),
    Claim(
        "FDP-T3*-upper",
        "ours: an upper bound from pairs",
        at_most(_selected, lambda **point: float(participation.proven_bounds(*_scores(**point))[1][0])),
        holds(
            "If k is selected, at least i of any k~ + i - 1 others are above it; the rest is Markov's inequality. "
            "Tight for two devices."
        ),
        _RANDOM,
        statement=r"p_k \le \min_{1\le i\le K-\tilde k}\frac1i\sum_{j\le\tilde k+i-1}(1-q)_{(j)},\quad "
        r"q_j = \Phi\left(\frac{u_k-u_j}{\sqrt{\sigma_k^2+\sigma_j^2}}\right)",
        coq="feature_dp_general.FDP_T3_star_upper",
    ),
    Claim(
        "FDP-T3*-lower",
        "ours: a lower bound from pairs",
        at_most(_left_out, lambda **point: 1 - float(participation.proven_bounds(*_scores(**point))[0][0])),
        holds("The mirror image of FDP-T3*-upper."),
        _RANDOM,
        statement=r"1 - p_k \le \min_{1\le i\le\tilde k}\frac1i\sum_{j\le K-\tilde k+i-1}q_{(j)}",
        coq="feature_dp_general.FDP_T3_star_lower",
    ),
    Claim(
        "FDP-R8",
        "Remark 8",
        at_most(*both(_equal_noise)),
        holds_under("Bounds the total variation distance to the case of equal scores; needs equal noise."),
        {"devices": Range(2, 12, integer=True), "seed": SEED, "noise": Range(0.1, 1e4, logarithmic=True)},
        statement=r"\left|p_k - \tfrac{\tilde k}K\right| \le \frac{\sum_j|u_j - \mathrm{med}\,u|}{\sigma\sqrt{2\pi}}"
        r"\ \to 0 \text{ for equal } \sigma \to \infty",
        slack=1.42,
        coq="feature_dp_general.FDP_R8",
    ),
    Claim(
        "FDP-R8-unequal",
        "Remark 8, with the unequal noise that the paper allows",
        equal(_NOISIER, sp.Rational(1, 3)),
        other_reading(
            "With equal noise, as in Fig. 7, the remark is right (FDP-R8). With unequal noise the noisier device has "
            "the lowest score more often: with probability 1/4 + arcsin(s^2/(s^2+1))/(2 pi), up to 1/2.",
            corrected_by="FDP-R8",
            true_where=r"\sigma_1 = \dots = \sigma_K \to \infty",
        ),
        statement=r"p_k = \tfrac{\tilde k}K \quad (K = 3,\ \tilde k = 1,\ u = 0,\ \sigma = (s, 1, 1))",
        where={"p_k": _NOISIER, r"\tilde k": 1, "K": 3},
        near="the remark gives no noise",
    ),
    # Lemma 6
    Claim(
        "FDP-L6",
        "Lemma 6, Eq. (61)-(63)",
        at_least(
            lambda **point: reference_integrals.order_probability(*_three(**point)),
            lambda **point: participation.published_sorting(*_three(**point)),
        ),
        holds("Union bound, with k in the order of the scores."),
        _THREE,
        statement=_SORTING,
        coq="feature_dp_general.FDP_L6",
    ),
    Claim(
        "FDP-L6-raw",
        "Lemma 6, with k the label of the device",
        at_least(
            lambda gap, quiet: reference_integrals.order_probability(*_three(gap, gap, 1.0, 1.0, quiet)),
            lambda gap, quiet: participation.published_sorting([0.0, 2 * gap, gap], [1.0, quiet, 1.0], by_rank=False),
            balls=lambda **point: (enclosed(_BY_LABEL, point), enclosed(_FIRST_PAIR, point)),
            bounded=True,
        ),
        false(
            "With the parentheses of (21) the lemma is right (FDP-L6). Without them neighbours in label need not be "
            "neighbours in score; the probability of the true order is at most that of the first pair.",
            "misprint",
            corrected_by="FDP-L6",
            true_where=r"\sigma_{(k)}, \text{ numbered as in (21)}",
        ),
        over(_wide, quiet),
        chosen=True,
        statement=_SORTING,
        near="the paper names no case where the two orders differ",
    ),
)
