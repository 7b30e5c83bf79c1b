"""Section "Privacy" of papers/feature-dp (FDP): Definition 2, Theorem 1 and its proof, and what is true instead."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from analytics.distributions import poisson_binomial
from analytics.enclosures import amplification as enclosed
from analytics.enclosures import ball, concentration as enclosed_concentration
from analytics.enclosures import divergence as enclosed_divergence
from analytics.enclosures import gaussian as enclosed_gaussian
from analytics.guarantee import Adjacency
from analytics.inference.system import InferenceSystem
from analytics.privacy import amplification, concentration, divergence, gaussian, subsampling
from validate import oracles
from validate.claim import Claim, Range, Relation, Verdict, constant


PAPER = "feature-dp"
_DELTA = Range(1e-12, 0.5, logarithmic=True)
_EPSILON = Range(1e-3, 20.0, logarithmic=True)
_PROBABILITY = Range(0.01, 1.0)
_VARIANCE = Range(1e-2, 1e2, logarithmic=True)
_DISTANCE = Range(1e-2, 10.0, logarithmic=True)
_RESOLUTION = 1e-12  # added to both sides where the comparison is a numerical integral of that absolute accuracy


# --- Definition 2: the Gaussian mechanism -----------------------------------------------------------------------------


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
        domain={"delta": _DELTA, "mu": Range(1e-2, 1e2, logarithmic=True)},
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
        claimed=lambda epsilon, mu: float(gaussian.delta(epsilon, sensitivity=mu, sigma=1.0)) + _RESOLUTION,
        actual=lambda epsilon, mu: oracles.mixture_divergence(epsilon, [(1.0, mu, 1.0)], [(1.0, 0.0, 1.0)])
        + _RESOLUTION,
        relation=Relation.EQUAL,
        if_violated=Verdict.UNSETTLED,
        if_survived=Verdict.FALSE,
        tolerance=1e-8,
    )


# --- Lemma 3: Bernstein's inequality -----------------------------------------------------------------------------------


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
        claimed=lambda signs, share: float(
            concentration.bernstein_published(share * signs, variance=signs, bound=1.0)
        ),
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


# --- The deviation t of Theorem 1 -----------------------------------------------------------------------------------


def _noise_system(devices: int, p: float, variance: float, delta_prime: float) -> InferenceSystem:
    return InferenceSystem(
        devices=devices, participation=p, noise_variance=variance, weight=0.0, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.0, dimension=1, delta=0.5, delta_prime=delta_prime,
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
        claimed=lambda devices, p, variance, delta_prime, factor: factor * scaled(devices, p, variance, delta_prime, 1.0),
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


# --- Theorem 1 ----------------------------------------------------------------------------------------------------------


def _one_random_device(
    devices: int, p: float, variance: float, receiver: float, alignment: float, signal: float, dimension: int,
    delta: float, delta_prime: float, adjacency: Adjacency = Adjacency.ABSENT,
) -> InferenceSystem:
    """Device 0 takes part with probability p, the others surely: then what the others do is known, and nothing hidden."""
    participation = np.ones(devices)
    participation[0] = p
    return InferenceSystem(
        devices=devices, participation=participation, noise_variance=variance, weight=signal, clip=1.0,
        alignment=alignment, receiver_noise_variance=receiver, dimension=dimension, delta=delta,
        delta_prime=delta_prime, adjacency=adjacency,
    )


_SYSTEM = {
    "devices": Range(2, 200, integer=True),
    "p": _PROBABILITY,
    "variance": _VARIANCE,
    "receiver": Range(1e-2, 1e2, logarithmic=True, extra=(0.0,)),
    "alignment": Range(0.1, 10.0, logarithmic=True, extra=(1.0,)),
    "signal": Range(1e-2, 10.0, logarithmic=True, extra=(0.0,)),
    "dimension": Range(1, 1000, logarithmic=True, integer=True),
    "delta": Range(1e-8, 1e-2, logarithmic=True),
    "delta_prime": Range(1e-8, 1e-2, logarithmic=True),
}


def _theorem1(
    id: str, location: str, form: str, adjacency: Adjacency, reason: str, participation: Range = _PROBABILITY
) -> Claim:
    def claimed(**parameters: Any) -> float:
        result = amplification.published(_one_random_device(**parameters), form=form)
        return math.nan if result.vacuous else float(result.delta[0])

    def actual(**parameters: Any) -> float:
        system = _one_random_device(**parameters, adjacency=adjacency)
        epsilon = float(amplification.published(system, form=form).epsilon[0])
        return float(amplification.exact_delta(system, epsilon, device=0))

    return Claim(
        id=id,
        paper=PAPER,
        location=location,
        statement=r"\delta_k\left(\log\left[1 + \tfrac{p_k}{1-\delta'}\left(e^{c_k/\sqrt{\bar\mu - t}} - 1\right)\right]"
        r"\right) \le \delta' + \frac{p_k\delta}{1-\delta'}",
        expected=Verdict.FALSE,
        reason=reason,
        domain={**_SYSTEM, "p": participation},
        claimed=claimed,
        actual=actual,
        enclose=lambda **p: enclosed.theorem1(form=form, adjacency=adjacency, **p),
    )


def theorem1() -> Claim:
    return _theorem1(
        "FDP-T1", "Theorem 1, Eq. (11), with the theorem's t", "theorem1", Adjacency.ABSENT,
        "Removing a device removes its noise too: the variance of what is received gives it away, even with weight 0.",
    )


def theorem1_with_the_proofs_t() -> Claim:
    return _theorem1(
        "FDP-T1-eq23", "Theorem 1, Eq. (11), with t of Eq. (23)", "eq23", Adjacency.ABSENT,
        "As FDP-T1: the smaller t of the proof only makes the claim stronger.",
    )


def theorem1_with_visible_participation() -> Claim:
    return _theorem1(
        "FDP-T1-visible", "Theorem 1, Eq. (11), for a server that sees who takes part", "theorem1", Adjacency.SILENT,
        "With the noise kept and participation visible, delta is amplified by p, epsilon is not.", Range(0.01, 0.5),
    )


def mixture_lemma() -> Claim:
    def claimed(p: float, distance: float, variance: float, noise: float, dimension: int, epsilon: float) -> float:
        return p * float(gaussian.delta(epsilon, sensitivity=distance, sigma=math.sqrt(variance + noise)))

    def actual(p: float, distance: float, variance: float, noise: float, dimension: int, epsilon: float) -> float:
        log_delta = divergence.log_hockey_stick(
            epsilon, distance=distance, variance_p=variance + noise, variance_q=variance, dimension=dimension
        )
        return p * math.exp(float(log_delta))

    return Claim(
        id="FDP-L4",
        paper=PAPER,
        location="Lemma 4",
        statement=r"\Pr(y \in S) \le \left[1 + p\left(e^{\epsilon} - 1\right)\right]\Pr(y_{-k} \in S) + p\,\delta"
        r"\quad\text{when the local mechanism is } (\epsilon, \delta)\text{-DP}",
        expected=Verdict.FALSE,
        reason="It needs the component 'absent' to equal 'present with signal 0'; the noise variance differs.",
        domain={
            "p": _PROBABILITY, "distance": _DISTANCE, "variance": _VARIANCE, "noise": _VARIANCE,
            "dimension": Range(1, 1000, logarithmic=True, integer=True), "epsilon": _EPSILON,
        },
        claimed=claimed,
        actual=actual,
        enclose=enclosed.mixture_lemma,
    )


# --- What is true: T1a to T1d ---------------------------------------------------------------------------------------


def absent_exact() -> Claim:
    def claimed(distance: float, variance: float, noise: float, dimension: int, epsilon: float) -> float:
        ball_ = enclosed_divergence.hockey_stick(
            epsilon, distance=distance, variance_p=variance + noise, variance_q=variance, dimension=dimension
        )
        return max(float(ball_.mid()), 0.0)

    def actual(distance: float, variance: float, noise: float, dimension: int, epsilon: float) -> float:
        log_delta = divergence.log_hockey_stick(
            epsilon, distance=distance, variance_p=variance + noise, variance_q=variance, dimension=dimension
        )
        return math.exp(float(log_delta))

    return Claim(
        id="FDP-T1a",
        paper=PAPER,
        location="ours: absent, exact given the others' participation",
        statement=r"D_\lambda(N(\Delta e_1, (v+s)I_r)\|N(0, vI_r)) = Q_{\chi^2_r(\lambda_1)}\left(\tfrac{R^2}{v+s}\right)"
        r" - \lambda\,Q_{\chi^2_r(\lambda_0)}\left(\tfrac{R^2}{v}\right)",
        expected=Verdict.HOLDS,
        reason="Neyman-Pearson: the best set is the outside of a ball; contour integral against rigorous series.",
        domain={
            "distance": Range(1e-2, 3.0, logarithmic=True, extra=(0.0,)), "variance": Range(0.1, 10.0, logarithmic=True),
            "noise": Range(0.05, 10.0, logarithmic=True), "dimension": Range(1, 1000, logarithmic=True, integer=True),
            "epsilon": Range(1e-3, 50.0, logarithmic=True, extra=(0.0,)),
        },
        claimed=claimed,
        actual=actual,
        relation=Relation.EQUAL,
        tolerance=1e-10,
    )


def absent_bounds_hidden() -> Claim:
    def actual(p: float, other: float, variance: float, receiver: float, signal: float, where: float, epsilon: float) -> float:
        """What an observer learns who sees only y, with one other device whose signal is `where`, in one dimension."""
        components = [(other, where, receiver + variance), (1 - other, 0.0, receiver)]
        absent = [(weight, mean, square) for weight, mean, square in components]
        present = [(weight, mean + signal, square + variance) for weight, mean, square in components]
        mixture = [(p * w, m, s) for w, m, s in present] + [((1 - p) * w, m, s) for w, m, s in absent]
        return max(
            oracles.mixture_divergence(epsilon, mixture, absent), oracles.mixture_divergence(epsilon, absent, mixture)
        )

    def claimed(p: float, other: float, variance: float, receiver: float, signal: float, where: float, epsilon: float) -> float:
        system = InferenceSystem(
            devices=2, participation=[p, other], noise_variance=variance, weight=signal, clip=1.0, alignment=1.0,
            receiver_noise_variance=receiver, dimension=1, delta=0.5, delta_prime=0.5,
        )
        return float(amplification.exact_delta(system, epsilon, device=0))

    return Claim(
        id="FDP-T1a-hidden",
        paper=PAPER,
        location="ours: absent, against an observer of y alone",
        statement=r"D_\lambda(\text{law of } y \,\|\, \text{law of } y_{-k}) \le E_S\left[p\,H_S\left(1 + "
        r"\tfrac{\lambda-1}p\right)\right]",
        expected=Verdict.HOLDS,
        reason="Joint convexity of the divergence: revealing the others' participation only helps the observer.",
        domain={
            "p": _PROBABILITY, "other": Range(0.0, 1.0), "variance": Range(0.1, 10.0), "receiver": Range(0.1, 10.0),
            "signal": Range(0.01, 3.0), "where": Range(-10.0, 10.0, extra=(0.0,)), "epsilon": Range(0.0, 2.0),
        },
        claimed=claimed,
        actual=actual,
        tolerance=1e-7,
    )


def visible_exact() -> Claim:
    def system(devices: int, p: float, variance: float, spread: float, signal: float, adjacency: str) -> InferenceSystem:
        return InferenceSystem(
            devices=devices, participation=p, noise_variance=variance * (1 + spread * np.arange(devices)), weight=signal,
            clip=1.0, alignment=1.0, receiver_noise_variance=0.5, dimension=7, delta=0.5, delta_prime=0.5,
            adjacency=adjacency,
        )

    def actual(devices: int, p: float, variance: float, spread: float, signal: float, replace: int, epsilon: float) -> float:
        adjacency = "replace" if replace else "silent"
        return float(amplification.exact_delta(system(devices, p, variance, spread, signal, adjacency), epsilon, device=0))

    return Claim(
        id="FDP-T1b",
        paper=PAPER,
        location="ours: silent and replace, exact for visible participants",
        statement=r"\delta_k(\epsilon) = E_S\left[p_k\,\delta_G\left(\epsilon; \Delta/\sqrt{v_S + s}\right)\right]",
        expected=Verdict.HOLDS,
        reason="Given the participants both neighbours are Gaussian with one covariance; compared with all 2^(K-1) sets.",
        domain={
            "devices": Range(1, 7, integer=True), "p": _PROBABILITY, "variance": Range(0.05, 5.0),
            "spread": Range(0.0, 1.0), "signal": Range(0.01, 5.0), "replace": Range(0, 1, integer=True),
            "epsilon": Range(0.0, 10.0),
        },
        claimed=enclosed.visible_by_enumeration,
        actual=actual,
        relation=Relation.EQUAL,
        tolerance=1e-10,
    )


def visible_bounds_hidden() -> Claim:
    return Claim(
        id="FDP-T1b-hidden",
        paper=PAPER,
        location="ours: silent and replace, when only the others' participation is known",
        statement=r"D_\lambda\left(pN(\Delta e_1, v+s) + (1-p)N(0, v)\,\|\,pN(0, v+s) + (1-p)N(0, v)\right) \le "
        r"p\,\delta_G\left(\epsilon; \Delta/\sqrt{v+s}\right)",
        expected=Verdict.HOLDS,
        reason="Joint convexity; the left side is a two-dimensional integral.",
        domain={
            "p": _PROBABILITY, "distance": _DISTANCE, "variance": _VARIANCE, "noise": _VARIANCE,
            "dimension": Range(1, 1000, logarithmic=True, integer=True), "replace": Range(0, 1, integer=True),
            "epsilon": Range(0.0, 5.0),
        },
        claimed=lambda p, distance, variance, noise, dimension, replace, epsilon: p * float(
            gaussian.delta(epsilon, sensitivity=distance, sigma=math.sqrt(variance + noise))
        ) + _RESOLUTION,
        actual=lambda replace, **rest: subsampling.hidden_participation_delta(**rest, replace=bool(replace)) + _RESOLUTION,
        tolerance=1e-7,
    )


def closed_form() -> Claim:
    def system(devices: int, p: float, variance: float, signal: float, dimension: int, adjacency: int) -> InferenceSystem:
        return InferenceSystem(
            devices=devices, participation=p, noise_variance=variance, weight=signal, clip=1.0, alignment=1.0,
            receiver_noise_variance=0.5, dimension=dimension, delta=0.5, delta_prime=0.5,
            adjacency=list(Adjacency)[adjacency],
        )

    def actual(delta: float, **parameters: Any) -> float:
        described = system(**parameters)
        epsilon = float(amplification.proven(described, delta=delta).epsilon[0])
        return float(amplification.exact_delta(described, epsilon, device=0))

    return Claim(
        id="FDP-T1c",
        paper=PAPER,
        location="ours: closed form with a quantile of the others' noise",
        statement=r"\delta_k(\epsilon) \le p_k\left[\delta_G\left(\epsilon; \Delta/\sqrt{\gamma^2(v + \sigma_k^2) + "
        r"\sigma_m^2}\right) + \Pr(\mu_{-k} < v)\right]",
        expected=Verdict.HOLDS,
        reason="More noise is post-processing, and a divergence is at most 1.",
        domain={
            "devices": Range(1, 60, integer=True), "p": _PROBABILITY, "variance": Range(0.05, 5.0),
            "signal": Range(0.01, 5.0), "dimension": Range(1, 200, logarithmic=True, integer=True),
            "adjacency": Range(0, 2, integer=True), "delta": Range(1e-12, 0.5, logarithmic=True),
        },
        claimed=lambda delta, **_: delta,
        actual=actual,
        tolerance=1e-9,
    )


def idle_noise_exact() -> Claim:
    def claimed(p: float, mu: float, epsilon: float, replace: int) -> float:
        curve = subsampling.opposite_gaussians_log_delta if replace else subsampling.subsampled_gaussian_log_delta
        return math.exp(float(curve(epsilon, p=p, mu=mu))) + _RESOLUTION

    def actual(p: float, mu: float, epsilon: float, replace: int) -> float:
        near, far = (mu / 2, -mu / 2) if replace else (mu, 0.0)
        first = [(p, near, 1.0), (1 - p, 0.0, 1.0)]
        second = [(p, far, 1.0), (1 - p, 0.0, 1.0)]
        return _RESOLUTION + max(
            oracles.mixture_divergence(epsilon, first, second), oracles.mixture_divergence(epsilon, second, first)
        )

    return Claim(
        id="FDP-T1d",
        paper=PAPER,
        location="ours: absent devices still send noise",
        statement=r"\epsilon' = \log(1 + p(e^\epsilon - 1)),\quad \delta' = p\,\delta_G(\epsilon)\quad\text{exactly}",
        expected=Verdict.HOLDS,
        reason="The noise is then constant, which is the case that Lemma 4 needs; compared with numerical integration.",
        domain={
            "p": _PROBABILITY, "mu": Range(0.05, 5.0), "epsilon": Range(0.0, 5.0), "replace": Range(0, 1, integer=True)
        },
        claimed=claimed,
        actual=actual,
        relation=Relation.EQUAL,
        tolerance=1e-7,
    )


# --- Remarks 2 and 3 -----------------------------------------------------------------------------------------------------


def _small_system(
    devices: int, p: float, variance: float, signal: float, dimension: int, adjacency: int, idle: int = 0
) -> InferenceSystem:
    return InferenceSystem(
        devices=devices, participation=p, noise_variance=variance, weight=signal, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.2, dimension=dimension, delta=0.5, delta_prime=0.5,
        adjacency=list(Adjacency)[adjacency], idle_noise=bool(idle),
    )


_SMALL = {
    "devices": Range(1, 12, integer=True), "p": _PROBABILITY, "variance": Range(0.05, 5.0),
    "signal": Range(0.01, 3.0), "dimension": Range(1, 500, logarithmic=True, integer=True),
}


def dimension_costs_privacy() -> Claim:
    def at(factor: bool) -> Callable[..., float]:
        def delta(epsilon: float, more: int, dimension: int, **rest: Any) -> float:
            described = _small_system(dimension=dimension + (more if factor else 0), adjacency=0, **rest)
            return float(amplification.exact_delta(described, epsilon, device=0))

        return delta

    return Claim(
        id="FDP-R2",
        paper=PAPER,
        location="Remark 2",
        statement=r"r \le r' \;\Rightarrow\; \delta^{\mathrm{absent}}_k(\epsilon; r) \le "
        r"\delta^{\mathrm{absent}}_k(\epsilon; r')",
        expected=Verdict.HOLDS,
        reason="Dropping coordinates is post-processing; under `absent` the bound of Theorem 1 has no r, the truth has.",
        domain={**_SMALL, "more": Range(0, 200, integer=True), "epsilon": Range(0.0, 5.0)},
        claimed=at(True),
        actual=at(False),
        tolerance=1e-9,
    )


def weights_and_clips_tailor_privacy() -> Claim:
    def at(change: bool) -> Callable[..., float]:
        def delta(epsilon: float, more: float, signal: float, **rest: Any) -> float:
            described = _small_system(signal=signal * (1 + more if change else 1.0), **rest)
            return float(amplification.exact_delta(described, epsilon, device=0))

        return delta

    return Claim(
        id="FDP-R3",
        paper=PAPER,
        location="Remark 3",
        statement=r"w_kC_k \le w_k'C_k' \;\Rightarrow\; \delta_k(\epsilon; w_kC_k) \le \delta_k(\epsilon; w_k'C_k')",
        expected=Verdict.HOLDS,
        reason="The best set for the shorter feature does at least as well against the longer one, under each adjacency.",
        domain={
            **_SMALL, "adjacency": Range(0, 2, integer=True), "idle": Range(0, 1, integer=True),
            "more": Range(0.0, 2.0), "epsilon": Range(0.0, 5.0),
        },
        claimed=at(True),
        actual=at(False),
        tolerance=1e-9,
    )


CLAIMS = (
    gaussian_mechanism,
    gaussian_mechanism_below_one,
    closed_form_exists,
    bernstein_lemma,
    bernstein_corrected,
    deviation_of_the_proof,
    deviation_units,
    deviation_corrected,
    deviation_of_the_theorem,
    theorem_at_the_papers_parameters,
    theorem1,
    theorem1_with_the_proofs_t,
    theorem1_with_visible_participation,
    mixture_lemma,
    absent_exact,
    absent_bounds_hidden,
    visible_exact,
    visible_bounds_hidden,
    closed_form,
    idle_noise_exact,
    dimension_costs_privacy,
    weights_and_clips_tailor_privacy,
)
