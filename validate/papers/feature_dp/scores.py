"""FDP Sec. V-A: uncertainty scores and their sensitivity, Scheme 2.1, Lemma 2, Table I."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy import special

from analytics.enclosures import gaussian as enclosed_gaussian
from analytics.enclosures import selection as enclosed
from analytics.enclosures.ball import ball, refine
from analytics.guarantee import Adjacency
from analytics.inference import participation, uncertainty
from analytics.inference.system import InferenceSystem
from analytics.privacy import feature_aware, gaussian, subsampling
from validate.claims.claim import Claim, Range, Relation, Verdict, constant
from validate.papers.feature_dp.common import PAPER, PROBABILITY, RESOLUTION, SEED

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


_GAIN = 1.5
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def _server(
    devices: int, variance: float, spread: float, signal: float, replace: int, idle: int, delta: float
) -> InferenceSystem:
    """Devices whose noise falls evenly, so that the first has the most; receiver noise 1/2."""
    return InferenceSystem(
        devices=devices,
        participation=1.0,
        noise_variance=variance * (1 + spread * np.arange(devices)[::-1]),
        weight=signal,
        clip=1.0,
        alignment=_GAIN,
        receiver_noise_variance=0.5,
        dimension=3,
        delta=delta,
        delta_prime=0.5,
        adjacency="replace" if replace else "silent",
        idle_noise=bool(idle),
    )


def _two_stages(epsilon: float, change: float, room: float, system: InferenceSystem, others: float) -> float:
    """delta of the score of device 0, and of its feature wherever the score stays within `room` of its mean.

    Score noise 1; the neighbour's score is off by `change`. `others` is the noise of the others that take part. Integrated
    over the score that is released.
    """
    own, receiver = float(system.noise_variance[0]), system.receiver_noise_variance
    signal = _GAIN * float(system.weight[0]) * (2 if system.adjacency is Adjacency.REPLACE else 1)
    mu = signal / math.sqrt(_GAIN**2 * (own + others) + receiver)
    total = 0.0
    for shift in {change, -change} if change > 1e-100 else {0.0}:
        edges = np.linspace(-10.0, 10.0, 25)
        if shift:  # where the score alone spends epsilon the curve bends, the more sharply the less the feature tells
            edges = np.union1d(edges, shift / 2 - epsilon / shift + mu / abs(shift) * np.linspace(-10.0, 10.0, 25))
        edges = np.unique(np.clip(edges, -10.0, min(max(room, -10.0), 10.0)))
        half = np.diff(edges) / 2
        x = (edges[:-1] + half)[:, None] + half[:, None] * _NODES
        left = epsilon - (shift * shift - 2 * x * shift) / 2
        curve = special.ndtr(mu / 2 - left / mu) - np.exp(left + special.log_ndtr(-mu / 2 - left / mu))
        sent = float(half @ ((curve * np.exp(-x * x / 2)) @ _WEIGHTS)) / math.sqrt(2 * math.pi)
        low, high = room, math.inf  # where the score alone tells more than epsilon, and nothing is sent
        if shift > 0:
            high = shift / 2 - epsilon / shift
        elif shift < 0:
            low = max(low, shift / 2 - epsilon / shift)
        silent = 0.0
        if shift and low < high:
            silent = special.ndtr(-low) - special.ndtr(-high)
            silent -= math.exp(epsilon) * (special.ndtr(shift - low) - special.ndtr(shift - high))
        total = max(total, sent + max(float(silent), 0.0))
    return total


_STAGES = {
    "devices": Range(1, 4, integer=True),
    "variance": Range(0.05, 5.0),
    "spread": Range(0.0, 2.0),
    "signal": Range(0.1, 5.0),
    "change": Range(0.0, 2.0),
    "replace": Range(0, 1, integer=True),
    "idle": Range(0, 1, integer=True),
    "delta": Range(1e-6, 0.1, logarithmic=True),
}
_ALL_ROOM = 40.0  # the device takes part for certain


def proven_threshold() -> Claim:
    def released(epsilon: float, system: InferenceSystem, change: float, room: float, others: float) -> float:
        """Averaged over the sets of the others, each with its score so far below the threshold."""
        noise, chance = system.noise_variance[1:], float(special.ndtr(others))
        total = 0.0
        for chosen in product((0, 1), repeat=noise.size):
            weight = math.prod(chance if c else 1 - chance for c in chosen)
            heard = noise.sum() if system.idle_noise else float(np.dot(chosen, noise))
            total += weight * _two_stages(epsilon, change, room, system, heard)
        return total

    @lru_cache(maxsize=1)
    def both(change: float, below: float, deep: float, eta: float, **rest: Any) -> tuple[float, float]:
        system = _server(**rest)
        proven = feature_aware.proven_threshold(system, noise=1.0, sensitivity=change, eta=eta, greatest_score=0.0)
        epsilon = float(proven.epsilon[0])
        found = max(
            released(epsilon, system, change, eta + deep, eta + below),
            released(epsilon, system, change, _ALL_ROOM, eta),
        )
        return system.delta if epsilon > 0 else math.nan, found

    return Claim(
        id="FDP-L2*-2.1",
        paper=PAPER,
        location="Lemma 2, corrected, Scheme 2.1 (score noise 1, scores at most 0)",
        statement=r"\delta_k(\epsilon) \le E_S\,\delta_G\Bigl(\epsilon;\ \sqrt{(\Delta u/\sigma^{(0)})^2 + d^2/v_S}\Bigr),\quad "
        r"\Pr(j \in S) = \Phi\left(\frac{\eta - u^{\max}}{\sigma^{(0)}}\right)",
        expected=Verdict.HOLDS,
        reason="Score and feature compose as Gaussian mechanisms, and the less likely the others are, the worse; against the "
        "integral over the released score, for the scores drawn and for the worst, which attain it.",
        domain={**_STAGES, "below": Range(0.0, 3.0), "deep": Range(0.0, 6.0), "eta": Range(-2.0, 3.0)},
        claimed=lambda **point: both(**point)[0],
        actual=lambda **point: both(**point)[1],
        relation=Relation.EQUAL,
        tolerance=1e-8,
    )


def proven_lowest() -> Claim:
    @lru_cache(maxsize=1)
    def both(change: float, own: float, selected: float, seed: int, **rest: Any) -> tuple[float, float]:
        system = _server(**rest)
        among = 1 + round(selected * (system.devices - 1))
        proven = feature_aware.proven_lowest(system, noise=1.0, sensitivity=change, selected=among)
        epsilon, noise = float(proven.epsilon[0]), system.noise_variance[1:]
        scores = np.random.default_rng(seed).standard_normal(noise.size)
        order = np.argsort(scores)
        room = float(scores[order[among - 1]]) - own if among < system.devices else _ALL_ROOM
        heard = [float(noise[order[: among - 1]].sum()), min(map(sum, combinations(noise, among - 1)))]
        if system.idle_noise:
            heard = [float(noise.sum())] * 2
        found = max(
            _two_stages(epsilon, change, at, system, others)
            for at, others in zip((room, _ALL_ROOM), heard, strict=True)
        )
        return system.delta if epsilon > 0 else math.nan, found

    return Claim(
        id="FDP-L2*-2.2",
        paper=PAPER,
        location="Lemma 2, corrected, Scheme 2.2 with all scores released (score noise 1)",
        statement=r"\delta_k(\epsilon) \le \delta_G\Bigl(\epsilon;\ \sqrt{(\Delta u/\sigma^{(0)})^2 + d^2/v}\Bigr),\quad "
        r"v = \gamma^2\Bigl(\sigma_k^2 + \min_{|S| = \tilde k - 1}\sum_{j \in S}\sigma_j^2\Bigr) + \sigma_m^2",
        expected=Verdict.HOLDS,
        reason="Given the others' noisy scores, which are released, the set hangs on the device's own; against the integral "
        "over it, for scores drawn and for the worst, which attain it.",
        domain={**_STAGES, "own": Range(-4.0, 2.0), "selected": _SHARE, "seed": SEED},
        claimed=lambda **point: both(**point)[0],
        actual=lambda **point: both(**point)[1],
        relation=Relation.EQUAL,
        tolerance=1e-8,
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
    proven_threshold,
    proven_lowest,
    table_one,
)
