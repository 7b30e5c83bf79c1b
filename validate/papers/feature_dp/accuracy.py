"""FDP Theorem 2 and Lemma 1, the short paper's Theorem 2, and what is true instead."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from analytics.enclosures.ball import ball, refine
from analytics.inference import accuracy, distortion, margin
from analytics.inference.features import Features
from analytics.inference.system import InferenceSystem
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.feature_dp.common import PAPER, PROBABILITY

SHORT = "feature-dp-short"


def _one_device(p: float, variance: float, decoder: float) -> tuple[InferenceSystem, Features]:
    """One device with the feature 1 and weight 1."""
    system = InferenceSystem(
        devices=1,
        participation=p,
        noise_variance=variance,
        weight=1.0,
        clip=10.0,
        alignment=1.0,
        receiver_noise_variance=0.0,
        dimension=1,
        delta=0.5,
        delta_prime=0.5,
    )
    return system, Features(f=np.ones((1, 1)), W=np.eye(1), D=np.full((1, 1), decoder))


# Theorem 2


def markov() -> Claim:
    def claimed(p: float, variance: float, radius: float) -> float:
        return float(accuracy.markov(distortion.exact(*_one_device(p, variance, 1.0)), margin=radius))

    def actual(p: float, variance: float, radius: float) -> float:
        """Pr(abs(tau (1 + n) - 1) <= radius), from the normal distribution function."""
        present = math.erf(radius / math.sqrt(2 * variance)) if variance > 0 else 1.0
        return p * present + (1 - p) * (radius >= 1)

    return Claim(
        id="FDP-T2",
        paper=PAPER,
        location="Theorem 2, Eq. (13), (35)",
        statement=r"P(\hat l = l^*) \ge \max\left\{0, P_0\left(1 - \frac{\mathrm{MSE}}{\Delta^2}\right)\right\}",
        expected=Verdict.HOLDS_UNDER,
        reason="Markov's inequality, with the exact MSE, and MSE and margin common to all targets.",
        domain={
            "p": PROBABILITY,
            "variance": Range(1e-6, 1.0, logarithmic=True, extra=(0.0,)),
            "radius": Range(0.2, 5.0, logarithmic=True, extra=(0.999,)),
        },
        claimed=claimed,
        actual=actual,
        relation=Relation.AT_LEAST,
        if_survived=Verdict.HOLDS_UNDER,
    )


def printed_accuracy() -> Claim:
    def claimed(p: float, decoder: float, radius: float) -> float:
        return float(accuracy.markov(distortion.published(*_one_device(p, 0.0, decoder)), margin=radius))

    def actual(p: float, decoder: float, radius: float) -> float:
        return accuracy.exact(*_one_device(p, 0.0, decoder), margin=radius).estimate

    def enclose(p: Fraction, decoder: Fraction, radius: Fraction) -> tuple[Any, Any]:
        bound = 1 - (1 - p) * decoder**2 / radius**2
        inside = p * (abs(decoder - 1) <= radius) + (1 - p) * (radius >= 1)
        return ball(max(bound, Fraction(0))), ball(inside)

    return Claim(
        id="FDP-T2-printed",
        paper=PAPER,
        location="Theorem 2, with the MSE of Sec. IV",
        statement=r"P(\hat l = l^*) \ge P_0\left(1 - \frac{\text{printed MSE}}{\Delta^2}\right)",
        expected=Verdict.FALSE,
        reason="What the paper puts in for the MSE is not an upper bound of it: with a poor decoder it promises certainty.",
        domain={"p": Range(0.0, 1.0), "decoder": Range(0.0, 1.0), "radius": Range(0.01, 2.0)},
        claimed=claimed,
        actual=actual,
        relation=Relation.AT_LEAST,
        enclose=enclose,
    )


def short_theorem() -> Claim:
    def claimed(p: float, ratio: float) -> float:
        return float(accuracy.short_paper((1 - p) * ratio, margin=1.0))

    return Claim(
        id="FDPs-T2",
        paper=SHORT,
        location="Theorem 2, Eq. (10)",
        statement=r"P(\hat l = l) \ge \max\left[0, P_0\left(1 - \left(\frac{\mathrm{MSE}}\Delta\right)^2\right)\right]",
        expected=Verdict.FALSE,
        reason="With its Remark 2 (the squared error is compared with Delta) Markov gives 1 - MSE/Delta; the square is too good. "
        "One device, no noise, a squared feature of ratio * Delta.",
        domain={"p": Range(0.0, 1.0), "ratio": Range(1.0001, 4.0)},
        claimed=claimed,
        actual=lambda p, ratio: p,
        relation=Relation.AT_LEAST,
        enclose=lambda p, ratio: (ball(max(1 - ((1 - p) * ratio) ** 2, Fraction(0))), ball(p)),
    )


def exact_accuracy() -> Claim:
    def actual(p: float, q: float, variance: float, radius: float) -> float:
        """Two scalar devices with features 1 and 2, added up over the four sets."""
        total = 0.0
        for first, second in ((0, 0), (0, 1), (1, 0), (1, 1)):
            chance = (p if first else 1 - p) * (q if second else 1 - q)
            off = (first + 2 * second) / 2 - 1.5
            deviation = math.sqrt(variance * (first + second) + 0.1)
            upper, lower = (radius - off) / deviation, (-radius - off) / deviation
            total += chance * (math.erf(upper / math.sqrt(2)) - math.erf(lower / math.sqrt(2))) / 2
        return total

    def claimed(p: float, q: float, variance: float, radius: float) -> float:
        system = InferenceSystem(
            devices=2,
            participation=[p, q],
            noise_variance=variance,
            weight=0.5,
            clip=10.0,
            alignment=1.0,
            receiver_noise_variance=0.1,
            dimension=1,
            delta=0.5,
            delta_prime=0.5,
        )
        features = Features(f=[[1.0], [2.0]], W=np.eye(1), D=np.eye(1))
        return accuracy.within_margin(system, features, margin=radius).estimate

    return Claim(
        id="FDP-T2*",
        paper=PAPER,
        location="ours: what Theorem 2 bounds, exactly",
        statement=r"\Pr(\|\hat f - f^*\| \le \Delta) = \sum_S \Pr(S)\,F_{Q_S}(\Delta^2),\quad "
        r"Q_S = \sum_i v_S\lambda_i\,\chi^2_{n_i}(\delta_{S,i})",
        expected=Verdict.HOLDS,
        reason="Given the participants the error is Gaussian; contour integral against error functions.",
        domain={
            "p": Range(0.0, 1.0),
            "q": Range(0.0, 1.0),
            "variance": Range(1e-3, 10.0, logarithmic=True, extra=(0.0,)),
            "radius": Range(0.3, 10.0, logarithmic=True),
        },
        claimed=claimed,
        actual=actual,
        relation=Relation.EQUAL,
    )


# Lemma 1


def _linear(lean: float, ratio: float) -> margin.Layers:
    """Two labels in the plane: rows (1, 0) and ratio (cos, sin)(pi lean)."""
    return [([[1.0, 0.0], [ratio * math.cos(math.pi * lean), ratio * math.sin(math.pi * lean)]], [0.0, 0.0])]


def margin_by_probabilities() -> Claim:
    return Claim(
        id="FDP-L1",
        paper=PAPER,
        location="Lemma 1, Eq. (14)",
        statement=r"\Delta \ge \frac{\sqrt2\min_{l'\ne l^*}(\delta_{l^*} - \delta_{l'})^T\bar J(f^*; w_0)}"
        r"{\prod_\ell\|w_0^{(\ell)}\|_F}, \quad \bar J \text{ the softmax}",
        expected=Verdict.HOLDS_UNDER,
        reason="Softmax is 1/2-Lipschitz; needs 1-Lipschitz activations. Against the exact margin of linear classifiers.",
        domain={
            "x": Range(1e-3, 10.0, logarithmic=True),
            "lean": Range(0.0, 1.0),
            "ratio": Range(0.1, 10.0, logarithmic=True, extra=(1.0,)),
        },
        claimed=lambda x, lean, ratio: margin.published(_linear(lean, ratio), [x, 0.0], label=0),
        actual=lambda x, lean, ratio: margin.exact_linear(_linear(lean, ratio), [x, 0.0], label=0),
        relation=Relation.AT_LEAST,
        if_survived=Verdict.HOLDS_UNDER,
    )


def margin_by_logits() -> Claim:
    def layers(first: float, second: float) -> margin.Layers:
        return [(np.diag([first, second]), [0.0, 0.0])]

    def enclose(first: Fraction, second: Fraction, x: Fraction) -> tuple[Any, Any]:
        def exact() -> Any:
            return ball(first * x) / ball(first**2 + second**2).sqrt()

        return refine(lambda: ball(2).sqrt() * exact()), refine(exact)

    return Claim(
        id="FDP-L1-logits",
        paper=PAPER,
        location="Lemma 1, with J the outputs of the network",
        statement=r"\Delta \ge \frac{\sqrt2\min_{l'\ne l^*}(\delta_{l^*} - \delta_{l'})^T J(f^*; w_0)}"
        r"{\prod_\ell\|w_0^{(\ell)}\|_F}, \quad J \text{ the logits}",
        expected=Verdict.FALSE,
        reason="For logits the square root belongs into the denominator: too large by a factor of 2 at worst.",
        domain={
            "first": Range(0.1, 10.0, logarithmic=True),
            "second": Range(0.1, 10.0, logarithmic=True),
            "x": Range(0.1, 10.0, logarithmic=True),
        },
        claimed=lambda first, second, x: margin.published_with_logits(layers(first, second), [x, 0.0], label=0),
        actual=lambda first, second, x: margin.exact_linear(layers(first, second), [x, 0.0], label=0),
        relation=Relation.AT_LEAST,
        enclose=enclose,
    )


def margin_by_layers() -> Claim:
    def layers(depth: int, seed: int) -> margin.Layers:
        rng = np.random.default_rng(seed)
        widths = [2, *rng.integers(2, 6, depth - 1), 3]
        return [(rng.standard_normal((b, a)), rng.standard_normal(b)) for a, b in pairwise(widths)]

    def nearest_change(depth: int, seed: int) -> float:
        """The nearest point with another label that a fan of rays meets: at least the margin."""
        net = layers(depth, seed)
        angle, radius = np.linspace(0, 2 * np.pi, 181), np.geomspace(1e-3, 1e2, 700)
        points = radius[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        values = points.reshape(-1, 2)
        for W, b in net[:-1]:
            values = np.maximum(values @ np.asarray(W).T + np.asarray(b), 0.0)
        W, b = net[-1]
        outputs = values @ np.asarray(W).T + np.asarray(b)
        label = int(np.argmax(margin.logits(net, [0.0, 0.0])))
        changed = (np.argmax(outputs, axis=1) != label).reshape(radius.size, -1).any(axis=1)
        return float(radius[np.argmax(changed)]) if changed.any() else np.inf

    return Claim(
        id="FDP-L1*",
        paper=PAPER,
        location="ours: a tighter margin bound",
        statement=r"\Delta \ge \min_j \frac{l_i - l_j}{\|(W_L)_i - (W_L)_j\|_2\prod_{\ell<L}\|W_\ell\|_2}",
        expected=Verdict.HOLDS,
        reason="Logit differences are Lipschitz; exact for one layer. Against the nearest change of label on a fan of rays.",
        domain={"depth": Range(1, 3, integer=True), "seed": Range(0, 10**6, integer=True)},
        claimed=lambda depth, seed: margin.layerwise_bound(layers(depth, seed), [0.0, 0.0]),
        actual=nearest_change,
        relation=Relation.AT_LEAST,
    )


CLAIMS = (
    markov,
    printed_accuracy,
    short_theorem,
    exact_accuracy,
    margin_by_probabilities,
    margin_by_logits,
    margin_by_layers,
)
