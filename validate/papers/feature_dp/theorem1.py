"""FDP Theorem 1, Lemma 4, Remarks 2 and 3."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from analytics.enclosures import amplification as enclosed
from analytics.guarantee import Adjacency
from analytics.inference.system import InferenceSystem
from analytics.privacy import amplification, divergence, gaussian
from validate.claims.claim import Claim, Range, Verdict
from validate.papers.feature_dp.common import DISTANCE, EPSILON, PAPER, PROBABILITY, VARIANCE, equal_devices

# Theorem 1


def _one_random_device(
    devices: int,
    p: float,
    variance: float,
    receiver: float,
    alignment: float,
    signal: float,
    dimension: int,
    delta: float,
    delta_prime: float,
    adjacency: Adjacency = Adjacency.ABSENT,
) -> InferenceSystem:
    """Device 0 takes part with probability p, the others surely: then what the others do is known, and nothing hidden."""
    participation = np.ones(devices)
    participation[0] = p
    return InferenceSystem(
        devices=devices,
        participation=participation,
        noise_variance=variance,
        weight=signal,
        clip=1.0,
        alignment=alignment,
        receiver_noise_variance=receiver,
        dimension=dimension,
        delta=delta,
        delta_prime=delta_prime,
        adjacency=adjacency,
    )


_SYSTEM = {
    "devices": Range(2, 200, integer=True),
    "p": PROBABILITY,
    "variance": VARIANCE,
    "receiver": Range(1e-2, 1e2, logarithmic=True, extra=(0.0,)),
    "alignment": Range(0.1, 10.0, logarithmic=True, extra=(1.0,)),
    "signal": Range(1e-2, 10.0, logarithmic=True, extra=(0.0,)),
    "dimension": Range(1, 1000, logarithmic=True, integer=True),
    "delta": Range(1e-8, 1e-2, logarithmic=True),
    "delta_prime": Range(1e-8, 1e-2, logarithmic=True),
}


def _theorem1(
    id: str, location: str, form: str, adjacency: Adjacency, reason: str, participation: Range = PROBABILITY
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
        "FDP-T1",
        "Theorem 1, Eq. (11), with the theorem's t",
        "theorem1",
        Adjacency.ABSENT,
        "Removing a device removes its noise too: the variance of what is received gives it away, even with weight 0.",
    )


def theorem1_with_the_proofs_t() -> Claim:
    return _theorem1(
        "FDP-T1-eq23",
        "Theorem 1, Eq. (11), with t of Eq. (23)",
        "eq23",
        Adjacency.ABSENT,
        "As FDP-T1: the smaller t of the proof only makes the claim stronger.",
    )


def theorem1_with_visible_participation() -> Claim:
    return _theorem1(
        "FDP-T1-visible",
        "Theorem 1, Eq. (11), for a server that sees who takes part",
        "theorem1",
        Adjacency.SILENT,
        "With the noise kept and participation visible, delta is amplified by p, epsilon is not.",
        Range(0.01, 0.5),
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
            "p": PROBABILITY,
            "distance": DISTANCE,
            "variance": VARIANCE,
            "noise": VARIANCE,
            "dimension": Range(1, 1000, logarithmic=True, integer=True),
            "epsilon": EPSILON,
        },
        claimed=claimed,
        actual=actual,
        enclose=enclosed.mixture_lemma,
    )


# Remarks 2 and 3


_SMALL = {
    "devices": Range(1, 12, integer=True),
    "p": PROBABILITY,
    "variance": Range(0.05, 5.0),
    "signal": Range(0.01, 3.0),
    "dimension": Range(1, 500, logarithmic=True, integer=True),
}


def dimension_costs_privacy() -> Claim:
    def at(factor: bool) -> Callable[..., float]:
        def delta(epsilon: float, more: int, dimension: int, **rest: Any) -> float:
            described = equal_devices(dimension=dimension + (more if factor else 0), adjacency=0, **rest)
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
            described = equal_devices(signal=signal * (1 + more if change else 1.0), **rest)
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
            **_SMALL,
            "adjacency": Range(0, 2, integer=True),
            "idle": Range(0, 1, integer=True),
            "more": Range(0.0, 2.0),
            "epsilon": Range(0.0, 5.0),
        },
        claimed=at(True),
        actual=at(False),
        tolerance=1e-9,
    )


CLAIMS = (
    theorem1,
    theorem1_with_the_proofs_t,
    theorem1_with_visible_participation,
    mixture_lemma,
    dimension_costs_privacy,
    weights_and_clips_tailor_privacy,
)
