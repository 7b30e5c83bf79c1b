"""FDP Eq. (4) and (6), the MSE of Sec. IV, and what is true instead; the short paper's MSE."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from analytics.enclosures.ball import ball
from analytics.inference import distortion, transmission
from analytics.inference.features import Features
from analytics.inference.system import InferenceSystem
from analytics.privacy import gaussian
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.feature_dp.common import PAPER, SEED, instance, scalar
from validate.twins import oracles

SHORT = "feature-dp-short"


# Eq. (4) and (6)


def unbiased_by_division() -> Claim:
    def bias(devices: int, p: float) -> float:
        system, features = scalar([1.0] * devices, [p] * devices, [1 / devices] * devices)
        return distortion.breakdown(system, features).bias

    return Claim(
        id="FDP-E4",
        paper=PAPER,
        location="Eq. (4), the sentence after it",
        statement=r"E\hat z = \frac1K\sum_k z_k \quad\text{for } w_k = 1/K,\ x_k = \tfrac{\alpha_k}{p_k}\tilde z_k",
        expected=Verdict.FALSE,
        reason="The alignment h alpha/p = gamma cancels the 1/p: the mean is sum p_k w_k z_k.",
        domain={"devices": Range(1, 20, integer=True), "p": Range(0.01, 1.0)},
        claimed=lambda devices, p: 0.0,
        actual=bias,
        enclose=lambda devices, p: (ball(0), ball((1 - p) ** 2)),
    )


def unbiased_by_weight() -> Claim:
    def mean(devices: int, seed: int) -> float:
        p = np.random.default_rng(seed).uniform(0.05, 1.0, devices)
        system, _ = scalar([1.0] * devices, p.tolist(), [0.0] * devices)
        return float(p @ distortion.unbiased_weight(system))

    return Claim(
        id="FDP-E4*",
        paper=PAPER,
        location="Eq. (4), corrected",
        statement=r"\sum_k p_kw_k = 1 \quad\text{for } w_k = 1/(Kp_k)",
        expected=Verdict.HOLDS,
        reason="These weights make the estimate unbiased; they contradict sum w_k = 1 of Eq. (38).",
        domain={"devices": Range(1, 20, integer=True), "seed": SEED},
        claimed=lambda devices, seed: 1.0,
        actual=mean,
        relation=Relation.EQUAL,
    )


_POWER = {
    "signal": Range(1e-2, 1e2, logarithmic=True),
    "noise": Range(1e-2, 1e2, logarithmic=True),
    "cosine": Range(-1.0, 1.0),
}


def _square(signal: Any, noise: Any, cosine: Any) -> Any:
    return signal * signal + noise * noise + 2 * signal * noise * cosine


def peak_power() -> Claim:
    def sent(signal: float, noise: float, cosine: float) -> float:
        amplitude = float(transmission.published_limit(1.0, weight=1.0, clip=signal, noise_norm=noise))
        return max(float(amplitude**2 * _square(signal, noise, cosine)), 0.0)

    return Claim(
        id="FDP-E6",
        paper=PAPER,
        location="Eq. (6)",
        statement=r"\|x_k\|_2^2 \le P_k \quad\text{for } \alpha_k = p_k\min\left\{\frac\gamma{h_k},"
        r"\frac{\sqrt{P_k}}{\sqrt{w_k^2C_k^2 + \|n_k\|_2^2}}\right\}",
        expected=Verdict.FALSE,
        reason="The cross term 2 w z.n is dropped; with noise along the feature the power sent is up to 2 P.",
        domain=_POWER,
        claimed=lambda signal, noise, cosine: 1.0,
        actual=sent,
        enclose=lambda signal, noise, cosine: (
            ball(1),
            ball(_square(signal, noise, cosine) / (signal * signal + noise * noise)),
        ),
    )


def peak_power_corrected() -> Claim:
    def sent(signal: float, noise: float, cosine: float) -> float:
        amplitude = float(transmission.proven_limit(1.0, weight=1.0, clip=signal, noise_norm=noise))
        return max(float(amplitude**2 * _square(signal, noise, cosine)), 0.0)

    return Claim(
        id="FDP-E6*",
        paper=PAPER,
        location="Eq. (6), corrected",
        statement=r"\|x_k\|_2^2 \le P_k \quad\text{for } \alpha_k = p_k\min\left\{\frac\gamma{h_k},"
        r"\frac{\sqrt{P_k}}{w_kC_k + \|n_k\|_2}\right\}",
        expected=Verdict.HOLDS,
        reason="Triangle inequality.",
        domain=_POWER,
        claimed=lambda signal, noise, cosine: 1.0,
        actual=sent,
    )


# The MSE


def printed_mse() -> Claim:
    def both(decoder: float, p: float, weight: float) -> tuple[InferenceSystem, Features]:
        return scalar([1.0], [p], [weight], decoder=decoder)

    def enclose(decoder: Fraction, p: Fraction, weight: Fraction) -> tuple[Any, Any]:
        printed = (weight**2 * p - 2 * weight * p + 1) * decoder**2
        exact = (p * weight * decoder - 1) ** 2 + p * (1 - p) * weight**2 * decoder**2
        return ball(printed), ball(exact)

    return Claim(
        id="FDP-MSE",
        paper=PAPER,
        location="Sec. IV, the MSE; App. B, Eq. (28) to (34)",
        statement=r"E\|\hat f - f^*\|_2^2 \le d\|D\|_F^2\left[\sum_k p_k\sigma_k^2 + \tfrac{\sigma_m^2}{\gamma^2}\right]"
        r" + \sum_k (w_k^2p_k - 2w_kp_k + 1)\|D\|_F^2\|W_k\|_F^2\|f_k\|_2^2"
        r" + \sum_{k<j}(p_kp_jw_kw_j - p_kw_k - p_jw_j + 1) f_k^TW_k^TD^TDW_jf_j",
        expected=Verdict.FALSE,
        reason="(33) does not follow from (32), which uses Cauchy-Schwarz on a negative term; with D = 0 the bound is 0.",
        domain={
            "decoder": Range(0.0, 2.0),
            "p": Range(0.0, 1.0),
            "weight": Range(0.0, 2.0),
        },
        claimed=lambda **point: distortion.published(*both(**point)),
        actual=lambda **point: distortion.exact(*both(**point)),
        enclose=enclose,
    )


def printed_mse_lossless() -> Claim:
    def both(f: float, p: float, q: float, weight: float) -> tuple[InferenceSystem, Features]:
        return scalar([1.0, f], [p, q], [weight, 1 - weight])

    def enclose(f: Fraction, p: Fraction, q: Fraction, weight: Fraction) -> tuple[Any, Any]:
        w, v = weight, 1 - weight
        printed = (w * w * p - 2 * w * p + 1) + (v * v * q - 2 * v * q + 1) * f * f
        printed += (p * q * w * v - p * w - q * v + 1) * f
        bias = p * w + q * v * f - (1 + f) / 2
        exact = bias * bias + p * (1 - p) * w * w + q * (1 - q) * v * v * f * f
        return ball(printed), ball(exact)

    return Claim(
        id="FDP-MSE-lossless",
        paper=PAPER,
        location="Sec. IV, the MSE, for W = D = 1 and weights that sum to one",
        statement=r"E(\hat f - f^*)^2 \le \text{the printed bound} \quad (K = 2,\ w_1 + w_2 = 1,\ \text{no noise})",
        expected=Verdict.FALSE,
        reason="Not even a lossless codec saves it: the cross sum lost its factor 2.",
        domain={"f": Range(-1.0, 1.0), "p": Range(0.0, 1.0), "q": Range(0.0, 1.0), "weight": Range(0.0, 1.0)},
        claimed=lambda **point: distortion.published(*both(**point)),
        actual=lambda **point: distortion.exact(*both(**point)),
        enclose=enclose,
    )


_INSTANCE = {
    "devices": Range(1, 5, integer=True),
    "dimension": Range(1, 4, integer=True),
    "clip": Range(0.1, 10.0, logarithmic=True),
    "seed": SEED,
}


def exact_mse() -> Claim:
    return Claim(
        id="FDP-MSE*",
        paper=PAPER,
        location="ours: the MSE exactly",
        statement=r"E\|\hat f - f^*\|_2^2 = \left\|\sum_k p_kw_kDz_k - f^*\right\|^2 + \sum_k p_k(1-p_k)w_k^2\|Dz_k\|^2"
        r" + \left(\sum_k p_k\sigma_k^2 + \tfrac{\sigma_m^2}{\gamma^2}\right)\|D\|_F^2",
        expected=Verdict.HOLDS,
        reason="Bias plus variance; compared with the sum over all sets of participants.",
        domain=_INSTANCE,
        claimed=lambda **point: distortion.exact(*instance(**point)),
        actual=lambda **point: oracles.enumerated_mse(*instance(**point)),
        relation=Relation.EQUAL,
    )


def proven_mse() -> Claim:
    return Claim(
        id="FDP-MSE**",
        paper=PAPER,
        location="ours: a bound by norms",
        statement=r"E\|\hat f - f^*\|_2^2 \le \left(\sum_k \|p_kw_kDz_k - f_k/K\|\right)^2 + \sum_k p_k(1-p_k)w_k^2\|D\|_2^2"
        r"\min(C_k, \|W_k\|_2\|f_k\|)^2 + \left(\sum_k p_k\sigma_k^2 + \tfrac{\sigma_m^2}{\gamma^2}\right)\|D\|_F^2",
        expected=Verdict.HOLDS,
        reason="Triangle inequality for the mean, operator norms for the rest.",
        domain=_INSTANCE,
        claimed=lambda **point: distortion.proven(*instance(**point)),
        actual=lambda **point: oracles.enumerated_mse(*instance(**point)),
    )


def short_noise_term() -> Claim:
    def sigma(delta: float, epsilon: float) -> float:
        return math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    def exact_delta(delta: float, epsilon: float) -> float:
        return float(gaussian.delta(epsilon, sensitivity=1.0, sigma=sigma(delta, epsilon)))

    return Claim(
        id="FDPs-MSE",
        paper=SHORT,
        location="Sec. III-C, the noise term of the MSE",
        statement=r"\sigma_k^2 = \frac{2w_k^2C_k^2}{\epsilon_k^2}\log\frac{1.25}{\delta_k}"
        r"\ \Rightarrow\ (\epsilon_k, \delta_k)\text{ before aggregation, for } \epsilon_k \le 1",
        expected=Verdict.HOLDS_UNDER,
        reason="It is p_k sigma_k^2 with the noise of Definition 2, which needs epsilon at most 1.",
        domain={"delta": Range(1e-12, 0.99, logarithmic=True), "epsilon": Range(1e-6, 1.0, logarithmic=True)},
        claimed=lambda delta, epsilon: delta,
        actual=exact_delta,
        if_survived=Verdict.HOLDS_UNDER,
    )


def short_mse() -> Claim:
    def both(decoder: float, weight: float, epsilon: float) -> tuple[InferenceSystem, Features]:
        variance = 2 * (weight / epsilon) ** 2 * math.log(12.5)
        system, features = scalar([1.0], [1.0], [weight], decoder=decoder, noise=variance)
        return InferenceSystem(**{**vars(system), "clip": 1.0}), features

    def claimed(decoder: float, weight: float, epsilon: float) -> float:
        return distortion.published_short(*both(decoder, weight, epsilon), epsilon=epsilon, delta=0.1)

    def enclose(decoder: Fraction, weight: Fraction, epsilon: Fraction) -> tuple[Any, Any]:
        noise = 2 * ball((weight / epsilon) ** 2) * ball("12.5").log() * ball(decoder**2)
        return noise + ball((weight - 1) ** 2 * decoder**2), noise + ball((weight * decoder - 1) ** 2)

    return Claim(
        id="FDPs-MSE-bound",
        paper=SHORT,
        location="Sec. III-C, the MSE",
        statement=r"E\|\hat f - f^*\|_2^2 \le \text{the bound of FDP-MSE with } "
        r"p_k\sigma_k^2 = \tfrac{2p_kw_k^2C_k^2}{\epsilon_k^2}\log\tfrac{1.25}{\delta_k}",
        expected=Verdict.FALSE,
        reason="The faults of FDP-MSE.",
        domain={
            "decoder": Range(0.0, 2.0),
            "weight": Range(0.0, 2.0),
            "epsilon": Range(1e-2, 1.0, logarithmic=True),
        },
        claimed=claimed,
        actual=lambda **point: distortion.exact(*both(**point)),
        enclose=enclose,
    )


# Sec. IV-A: growth with the layers and with the devices


def mse_grows_with_layers() -> Claim:
    def mse(layers: int, p: float) -> float:
        """The MSE of the pooled feature in front of a server network of this many layers."""
        return distortion.exact(*scalar([1.0], [p], [1.0], noise=0.1, receiver=0.1))

    def enclose(layers: Fraction, p: Fraction) -> tuple[Any, Any]:
        value = (1 - p) ** 2 + p * (1 - p) + p / 10 + Fraction(1, 10)
        return ball(layers * value), ball(value)

    return Claim(
        id="FDP-A1",
        paper=PAPER,
        location="Sec. IV-A 1)",
        statement=r"\mathrm{MSE}_L = L\cdot\mathrm{MSE}_1 \quad(\mathrm{MSE}_L \sim O(L))",
        expected=Verdict.ILL_DEFINED,
        reason="The MSE is that of the pooled feature, in front of the server network: it has no L.",
        domain={"layers": Range(1, 50, integer=True), "p": Range(0.01, 1.0)},
        claimed=lambda layers, p: layers * mse(1, p),
        actual=mse,
        relation=Relation.EQUAL,
        enclose=enclose,
        if_violated=Verdict.ILL_DEFINED,
    )


def mse_falls_with_devices() -> Claim:
    def mse(devices: int, p: float, variance: float) -> float:
        return distortion.exact(
            *scalar([1.0] * devices, [p] * devices, [1 / devices] * devices, noise=variance, receiver=0.1)
        )

    def exact(devices: Fraction, p: Fraction, variance: Fraction) -> Fraction:
        return (1 - p) ** 2 + p * (1 - p) / devices + devices * p * variance + Fraction(1, 10)

    return Claim(
        id="FDP-A2",
        paper=PAPER,
        location="Sec. IV-A 2)",
        statement=r"\mathrm{MSE}_{2K} \le \mathrm{MSE}_K \quad(\mathrm{MSE} \sim O(1/K),\ w_k = 1/K,\ \sigma_k^2 \text{ fixed})",
        expected=Verdict.FALSE,
        reason="The local noise K p sigma^2 grows linearly and the bias (1-p)^2 stays.",
        domain={
            "devices": Range(1, 100, integer=True),
            "p": Range(0.01, 1.0),
            "variance": Range(1e-3, 10.0, logarithmic=True),
        },
        claimed=mse,
        actual=lambda devices, p, variance: mse(2 * devices, p, variance),
        enclose=lambda devices, p, variance: (ball(exact(devices, p, variance)), ball(exact(2 * devices, p, variance))),
    )


CLAIMS = (
    unbiased_by_division,
    unbiased_by_weight,
    peak_power,
    peak_power_corrected,
    printed_mse,
    printed_mse_lossless,
    exact_mse,
    proven_mse,
    short_noise_term,
    short_mse,
    mse_grows_with_layers,
    mse_falls_with_devices,
)
