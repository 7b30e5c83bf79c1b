"""FDP Definition 2, Remark 1, Lemma 3 and the deviation t of Theorem 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from analytics.distributions import poisson_binomial
from analytics.enclosures import ball
from analytics.enclosures import concentration as enclosed_concentration
from analytics.enclosures import gaussian as enclosed_gaussian
from analytics.inference.system import InferenceSystem
from analytics.privacy import concentration, gaussian
from validate.claims.claim import Claim, Range, Relation, Verdict, constant
from validate.papers.feature_dp.common import DELTA, PAPER, RESOLUTION
from validate.twins import oracles

# Definition 2: the Gaussian mechanism


def _exact_delta_at_classical_epsilon(delta: float, mu: float) -> float:
    epsilon = gaussian.classical_epsilon(delta, sensitivity=mu, sigma=1.0)
    return float(gaussian.delta(epsilon, sensitivity=mu, sigma=1.0))


def gaussian_mechanism() -> Claim:
    def enclose(delta: Fraction, mu: Fraction) -> tuple[Any, Any]:
        epsilon = enclosed_gaussian.classical_epsilon(delta, sensitivity=mu, sigma=1)
        return ball.ball(delta), enclosed_gaussian.delta(epsilon, sensitivity=mu, sigma=1)

    return Claim(
        id="FDP-D2",
        paper=PAPER,
        location="Definition 2, Eq. (10)",
        statement=r"\delta_{\mathrm{exact}}\left(\mu\sqrt{2\log(1.25/\delta)}\right) \le \delta"
        r"\quad\text{for any } \delta \in (0, 1]",
        expected=Verdict.FALSE,
        reason="The calibration is proved for epsilon at most 1; at delta = 1e-5 it fails from epsilon = 8.42 on.",
        domain={"delta": DELTA, "mu": Range(1e-2, 1e2, logarithmic=True)},
        claimed=lambda delta, mu: delta,
        actual=_exact_delta_at_classical_epsilon,
        enclose=enclose,
    )


def gaussian_mechanism_below_one() -> Claim:
    def mu(delta: float, epsilon: float) -> float:
        return epsilon / math.sqrt(2 * math.log(1.25 / delta))

    return Claim(
        id="FDP-D2-eps1",
        paper=PAPER,
        location="Definition 2, with the hypothesis of its source",
        statement=r"\delta_{\mathrm{exact}}(\epsilon) \le \delta \quad\text{for } "
        r"\epsilon = \mu\sqrt{2\log(1.25/\delta)} \le 1",
        expected=Verdict.HOLDS_UNDER,
        reason="Dwork and Roth, Theorem A.1, whose hypothesis the paper dropped.",
        domain={"delta": Range(1e-300, 0.99, logarithmic=True), "epsilon": Range(1e-6, 1.0, logarithmic=True)},
        claimed=lambda delta, epsilon: delta,
        actual=lambda delta, epsilon: _exact_delta_at_classical_epsilon(delta, mu(delta, epsilon)),
        if_survived=Verdict.HOLDS_UNDER,
    )


def closed_form_exists() -> Claim:
    return Claim(
        id="FDP-R1",
        paper=PAPER,
        location="Remark 1",
        statement=r"\text{refuted by } \sup_A\,[P(A) - e^\epsilon Q(A)] = "
        r"\Phi\left(\tfrac\mu2 - \tfrac\epsilon\mu\right) - e^\epsilon\,\Phi\left(-\tfrac\mu2 - \tfrac\epsilon\mu\right)",
        expected=Verdict.FALSE,
        reason="The remark says that other calibrations have no closed form; Balle and Wang's is one, and equals the "
        "numerically integrated divergence.",
        domain={"epsilon": Range(1e-3, 10.0, logarithmic=True), "mu": Range(0.1, 5.0)},
        claimed=lambda epsilon, mu: float(gaussian.delta(epsilon, sensitivity=mu, sigma=1.0)) + RESOLUTION,
        actual=lambda epsilon, mu: (
            oracles.mixture_divergence(epsilon, [(1.0, mu, 1.0)], [(1.0, 0.0, 1.0)]) + RESOLUTION
        ),
        relation=Relation.EQUAL,
        if_violated=Verdict.UNSETTLED,
        if_survived=Verdict.FALSE,
        tolerance=1e-8,
    )


# Lemma 3: Bernstein's inequality


def _sign_sum_tail(signs: int, share: float) -> float:
    """Pr(sum of fair signs > share * signs)."""
    least = math.floor(signs * (1 + share) / 2) + 1  # pluses needed
    return float(np.sum(poisson_binomial.binomial(signs, 0.5).dense(signs + 1)[least:]))


def _bernstein(factor: int) -> Callable[..., tuple[Any, Any]]:
    def enclose(signs: Fraction, share: Fraction) -> tuple[Any, Any]:
        return enclosed_concentration.fair_signs(int(signs), share, factor)

    return enclose


_SIGNS = {"signs": Range(1, 200, integer=True), "share": Range(0.0, 0.999)}


def bernstein_lemma() -> Claim:
    return Claim(
        id="FDP-L3",
        paper=PAPER,
        location="Lemma 3, Eq. (22), with t for the misprinted r",
        statement=r"\Pr\left(\sum_k X_k > t\right) \le \exp\left(-\frac{t^2}{\sum_k E X_k^2 + Mt/3}\right)",
        expected=Verdict.FALSE,
        reason="The factor 1/2 of Bernstein's exponent is lost; fair signs beat it.",
        domain=_SIGNS,
        claimed=lambda signs, share: float(concentration.bernstein_published(share * signs, variance=signs, bound=1.0)),
        actual=_sign_sum_tail,
        enclose=_bernstein(1),
    )


def bernstein_corrected() -> Claim:
    return Claim(
        id="FDP-L3*",
        paper=PAPER,
        location="Lemma 3, corrected",
        statement=r"\Pr\left(\sum_k X_k > t\right) \le \exp\left(-\frac{t^2/2}{\sum_k E X_k^2 + Mt/3}\right)",
        expected=Verdict.HOLDS,
        reason="Bernstein's inequality.",
        domain=_SIGNS,
        claimed=lambda signs, share: float(concentration.bernstein(share * signs, variance=signs, bound=1.0)),
        actual=_sign_sum_tail,
    )


# The deviation t of Theorem 1


def _noise_system(devices: int, p: float, variance: float, delta_prime: float) -> InferenceSystem:
    return InferenceSystem(
        devices=devices,
        participation=p,
        noise_variance=variance,
        weight=0.0,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.0,
        dimension=1,
        delta=0.5,
        delta_prime=delta_prime,
    )


def _deviation_probability(t: float, devices: int, p: float, variance: float) -> float:
    """Pr(|noise of the participants - mean| >= t) for equal devices."""
    count = np.arange(devices + 1)
    far = np.abs(count * variance - devices * p * variance) >= t * (1 + 1e-12)
    return float(np.sum(poisson_binomial.binomial(devices, p).dense(devices + 1)[far]))


_NOISE = {
    "devices": Range(1, 200, integer=True),
    "p": Range(0.01, 0.99),
    "variance": Range(1e-3, 1e6, logarithmic=True),
    "delta_prime": Range(1e-10, 0.5, logarithmic=True),
}


def _valid_deviation(deviation: Callable[[InferenceSystem], float]) -> dict[str, Any]:
    def actual(devices: int, p: float, variance: float, delta_prime: float) -> float:
        t = deviation(_noise_system(devices, p, variance, delta_prime))
        return _deviation_probability(t, devices, p, variance)

    return {"domain": _NOISE, "claimed": lambda delta_prime, **_: delta_prime, "actual": actual}


def deviation_of_the_proof() -> Claim:
    return Claim(
        id="FDP-E23",
        paper=PAPER,
        location="Eq. (23)",
        statement=r"\Pr(|\mu - \bar\mu| \ge t) \le \delta',\quad "
        r"t = \tfrac L2\left(\tfrac M3 + \sqrt{\tfrac M9 + \tfrac{4V}L}\right)",
        expected=Verdict.FALSE,
        reason="It inherits the factor lost in Lemma 3.",
        enclose=enclosed_concentration.deviation_of_the_proof,
        **_valid_deviation(concentration.eq23_deviation),
    )


def deviation_as_printed() -> Claim:
    """Unequal noise; each t is a root of its quadratic, here with positive terms on both sides."""
    forms = (
        concentration.eq23_deviation,
        concentration.theorem1_deviation,
        concentration.intended_deviation,
        concentration.bernstein_deviation,
    )

    def sides(
        devices: int, p: float, variance: float, delta_prime: float, spread: float, form: int
    ) -> tuple[float, float]:
        square = variance * (1 + spread * np.arange(devices, dtype=np.float64))
        system = replace(_noise_system(devices, p, 0.0, delta_prime), noise_variance=square)
        L, M = math.log(2 / delta_prime), float(np.max(square))
        t = forms[form](system)
        V = math.fsum(p * (1 - p) * s * s for s in square)
        if form >= 2:
            return (t * t, t * t / 2)[form - 2], L * (V + M * t / 3)
        first = (M / 3, M)[form]
        return (2 * t / L) ** 2 + first**2, 4 * t / L * first + M / 9 + 4 * V / L

    return Claim(
        id="FDP-E23-t",
        paper=PAPER,
        location="Eq. (23) and Theorem 1: what t solves (forms 0 to 3: (23), Theorem 1, its quadratic, Bernstein's)",
        statement=r"\left(\tfrac{2t}L - \tfrac M3\right)^2 = \left(\tfrac{2t}L - M\right)^2 = \tfrac M9 + \tfrac{4V}L,"
        r"\quad t^2 = L\left(V + \tfrac{Mt}3\right),\quad \tfrac{t^2}2 = L\left(V + \tfrac{Mt}3\right)",
        expected=Verdict.DEFINITION,
        reason="Each t that is computed, put back into its quadratic; the claims on (23), Theorem 1 and Bernstein use them.",
        domain={**_NOISE, "spread": Range(0.0, 1.0), "form": Range(0, 3, integer=True)},
        claimed=lambda **point: sides(**point)[1],
        actual=lambda **point: sides(**point)[0],
        relation=Relation.EQUAL,
        if_survived=Verdict.DEFINITION,
    )


def deviation_units() -> Claim:
    def scaled(devices: int, p: float, variance: float, delta_prime: float, factor: float) -> float:
        return concentration.eq23_deviation(_noise_system(devices, p, factor * variance, delta_prime))

    return Claim(
        id="FDP-E23-units",
        paper=PAPER,
        location="Eq. (23)",
        statement=r"t(c\,\sigma^2) = c\,t(\sigma^2)",
        expected=Verdict.ILL_DEFINED,
        reason="M/9 is a variance and 4V/L a squared one: t depends on the unit of power; M^2/9 is meant.",
        domain={**_NOISE, "factor": Range(0.1, 10.0, logarithmic=True)},
        claimed=lambda devices, p, variance, delta_prime, factor: (
            factor * scaled(devices, p, variance, delta_prime, 1.0)
        ),
        actual=scaled,
        relation=Relation.EQUAL,
        enclose=enclosed_concentration.units,
        if_violated=Verdict.ILL_DEFINED,
    )


def deviation_corrected() -> Claim:
    return Claim(
        id="FDP-E23*",
        paper=PAPER,
        location="Eq. (23), corrected",
        statement=r"\Pr(|\mu - \bar\mu| \ge t) \le \delta',\quad t = \tfrac{ML}3 + \sqrt{(\tfrac{ML}3)^2 + 2VL}",
        expected=Verdict.HOLDS,
        reason="The quadratic of the correct Bernstein inequality.",
        **_valid_deviation(concentration.bernstein_deviation),
    )


def deviation_of_the_theorem() -> Claim:
    def form(deviation: Callable[[InferenceSystem], float]) -> Callable[..., float]:
        return lambda devices, p, variance, delta_prime: deviation(_noise_system(devices, p, variance, delta_prime))

    return Claim(
        id="FDP-T1t",
        paper=PAPER,
        location="Theorem 1, its t",
        statement=r"\tfrac L2\left(M + \sqrt{\tfrac M9 + \tfrac{4V}L}\right) = "
        r"\tfrac L2\left(\tfrac M3 + \sqrt{\tfrac M9 + \tfrac{4V}L}\right)",
        expected=Verdict.FALSE,
        reason="The theorem prints M where its proof has M/3.",
        domain=_NOISE,
        claimed=form(concentration.eq23_deviation),
        actual=form(concentration.theorem1_deviation),
        relation=Relation.EQUAL,
        enclose=enclosed_concentration.both_deviations,
    )


def theorem_at_the_papers_parameters() -> Claim:
    def t(devices: int, p: float, variance: float, delta_prime: float) -> float:
        return concentration.theorem1_deviation(_noise_system(devices, p, variance, delta_prime))

    return Claim(
        id="FDP-T1t-paper",
        paper=PAPER,
        location="Theorem 1 at the parameters of Sec. VI",
        statement=r"t \le \bar\mu \quad (K = 12,\ p = 0.9,\ \sigma_k^2 = 0.1,\ \delta' = 10^{-5})",
        expected=Verdict.FALSE,
        reason="t = 1.349 exceeds the mean noise 1.08: the theorem says nothing about the paper's own experiments.",
        domain={"devices": constant(12), "p": constant(0.9), "variance": constant(0.1), "delta_prime": constant(1e-5)},
        claimed=lambda devices, p, variance, delta_prime: devices * p * variance,
        actual=t,
        enclose=enclosed_concentration.mean_and_deviation,
    )


CLAIMS = (
    gaussian_mechanism,
    gaussian_mechanism_below_one,
    closed_form_exists,
    bernstein_lemma,
    bernstein_corrected,
    deviation_of_the_proof,
    deviation_as_printed,
    deviation_units,
    deviation_corrected,
    deviation_of_the_theorem,
    theorem_at_the_papers_parameters,
)
