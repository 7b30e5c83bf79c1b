"""UF Sec. III-B, III-C: deviation factor, its model and its fit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from analytics.enclosures.ball import ball
from analytics.federated import fairness
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.utility_fairness.common import PAPER, definition

_COSINE = Range(-1.0, 1.0)
_COSINES = {"s1": _COSINE, "s2": _COSINE, "s3": _COSINE}


def informal_utility() -> Claim:
    """Doubling beta_1 (the gain) and all energies (the cost)."""

    def utility(gain: Any, energy: Any) -> Any:
        return 100 + gain - energy * (energy - Fraction(1, 2))

    return Claim(
        id="UF-E17",
        paper=PAPER,
        location="Eq. (17)",
        statement=r"U \propto \text{learning gain} - \text{cost}",
        expected=Verdict.ILL_DEFINED,
        reason="Informal; (30), which makes it precise, is not proportional: twice the gain and the cost are not "
        "twice the utility.",
        domain={"gain": Range(0.0, 1.0), "energy": Range(0.1, 1.0)},
        claimed=lambda gain, energy: 2 * float(utility(gain, energy)) - 100,
        actual=lambda gain, energy: float(utility(2 * gain, 2 * energy)),
        relation=Relation.EQUAL,
        enclose=lambda gain, energy: (ball(2 * utility(gain, energy) - 100), ball(utility(2 * gain, 2 * energy))),
        if_violated=Verdict.ILL_DEFINED,
    )


def range_of_deviation() -> Claim:
    def greatest(s1: Any, s2: Any, s3: Any) -> Any:
        top = max(s1, s2, s3)
        return max(1 - s / top for s in (s1, s2, s3)) if top != 0 else math.nan

    def claimed(**s: Any) -> float:
        return 1.0 if max(s.values()) != 0 else math.nan

    return Claim(
        id="UF-E26",
        paper=PAPER,
        location="Eq. (26): 'E_k in [0, 1]'",
        statement=r"\mathcal E_k = 1-\frac{s_k}{\max_ks_k} \le 1",
        expected=Verdict.FALSE,
        reason="Cosines can be negative: three devices give values from -8 to 91; at w_g = 0, the first round, it is 0/0.",
        domain=_COSINES,
        claimed=claimed,
        actual=lambda **s: float(greatest(**s)) if max(s.values()) != 0 else 1.0,
        enclose=lambda **s: (ball(1), ball(greatest(**s))),
    )


def _repaired(name: str, repair: fairness.Repair, reason: str) -> Claim:
    def beyond(s1: float, s2: float, s3: float) -> float:
        values = fairness.deviation([s1, s2, s3], repair=repair)
        return float(np.max(values)) + (1.0 if np.min(values) < 0 else 0.0) + float(np.min(values))

    return Claim(
        id=name,
        paper=PAPER,
        location="ours: a deviation factor within [0, 1], 0 for the best device",
        statement=r"0 = \min_k\mathcal E_k \le \max_k\mathcal E_k \le 1",
        expected=Verdict.HOLDS,
        reason=reason,
        domain=_COSINES,
        claimed=lambda **s: 1.0,
        actual=beyond,
    )


def clipped() -> Claim:
    return _repaired("UF-E26-clip", fairness.Repair.CLIP, "Negative cosines count as 0.")


def shifted() -> Claim:
    return _repaired("UF-E26-shift", fairness.Repair.SHIFT, "Cosines shifted by 1; keeps their order.")


def mean_update() -> Claim:
    def greatest(seed: int, devices: int) -> float:
        rng = np.random.default_rng(seed)
        h = rng.normal(size=(devices, 4)) * 10.0 ** rng.uniform(-2, 2, (devices, 1))
        return float(np.max(fairness.mean_update_similarities(h)))

    return Claim(
        id="UF-E26-mean",
        paper=PAPER,
        location="ours: cosines with the mean update",
        statement=r"\max_k\cos(\bar h, h_k) \ge \frac{\|\bar h\|}{\max_k\|h_k\|} > 0",
        expected=Verdict.HOLDS,
        reason="K norm(h)^2 is the sum of the inner products; so the factor is never negative.",
        domain={"seed": Range(0, 10**6, integer=True), "devices": Range(1, 6, integer=True)},
        claimed=lambda seed, devices: _norm_share(seed, devices),
        actual=greatest,
        relation=Relation.AT_LEAST,
    )


def _norm_share(seed: int, devices: int) -> float:
    rng = np.random.default_rng(seed)
    h = rng.normal(size=(devices, 4)) * 10.0 ** rng.uniform(-2, 2, (devices, 1))
    return float(np.linalg.norm(h.mean(axis=0)) / np.max(np.linalg.norm(h, axis=1)))


def deviation_model() -> Claim:
    return definition(
        "UF-E28",
        "Eq. (28)",
        r"\mathcal E = \beta_1e^{-E_{cp}/\beta_2}",
        "An empirical model (in our runs R^2 is .66 to .84 open loop, none in closed loop); at most 1 needs "
        "beta_1 <= 1. Here: its "
        "logarithm is linear.",
        {"beta_1": Range(0.01, 1.0), "beta_2": Range(0.01, 1.0), "energy": Range(0.0, 1.0)},
        lambda beta_1, beta_2, energy: 1e3 + math.log(beta_1) - energy / beta_2,
        lambda beta_1, beta_2, energy: 1e3 + math.log(float(fairness.model(energy, beta_1=beta_1, beta_2=beta_2))),
    )


def one_round_fit() -> Claim:
    """The residual of (29) at any beta_2, with the beta_1 that goes with it; uniqueness would make it positive."""

    def residual(deviation: float, energy: float, beta_2: float) -> float:
        beta_1 = float(fairness.published_fit(deviation, energy, beta_2=beta_2))
        return abs(deviation - float(fairness.model(energy, beta_1=beta_1, beta_2=beta_2)))

    def proof(deviation: Fraction, energy: Fraction, beta_2: Fraction) -> tuple[Any, Any]:
        beta_1 = ball(deviation) * (ball(energy) / ball(beta_2)).exp()
        return ball(Fraction(1, 10**9)), abs(ball(deviation) - beta_1 * (-ball(energy) / ball(beta_2)).exp())

    return Claim(
        id="UF-E29",
        paper=PAPER,
        location="Eq. (29): the argmin from one round, for a beta_2 of choice",
        statement=r"|\mathcal E_k - \mathcal E_{mod,k}|^2 > 0 \text{ away from } (\hat\beta_1,\hat\beta_2)",
        expected=Verdict.ILL_DEFINED,
        reason="One equation, two unknowns: the minimisers are a curve; at E = 0 there is none. Fit several rounds instead.",
        domain={"deviation": Range(0.05, 1.0), "energy": Range(0.01, 0.1), "beta_2": Range(0.02, 0.5)},
        claimed=lambda deviation, energy, beta_2: 1e-9,
        actual=residual,
        relation=Relation.AT_LEAST,
        enclose=proof,
        if_violated=Verdict.ILL_DEFINED,
    )


def window_fit() -> Claim:
    def recovered(beta_1: float, beta_2: float, seed: int) -> float:
        energy = np.random.default_rng(seed).uniform(0.0, 0.1, 4)
        found = fairness.fit(fairness.model(energy, beta_1=beta_1, beta_2=beta_2), energy)
        return found.beta_1 + found.beta_2

    return Claim(
        id="UF-E29*",
        paper=PAPER,
        location="ours: a weighted fit over several rounds",
        statement=r"\hat\beta = \mathrm{argmin}\sum_m\mathcal E_m^2\bigl(\log\mathcal E_m-\log\beta_1+E_m/\beta_2\bigr)^2",
        expected=Verdict.HOLDS,
        reason="Identified from two different energies on; recovers the parameters of data from the model.",
        domain={
            "beta_1": Range(0.1, 1.0),
            "beta_2": Range(0.02, 0.5),
            "seed": Range(0, 10**6, integer=True),
        },
        claimed=lambda beta_1, beta_2, seed: beta_1 + beta_2,
        actual=recovered,
        relation=Relation.EQUAL,
        tolerance=1e-6,
    )


CLAIMS = (
    informal_utility,
    range_of_deviation,
    clipped,
    shifted,
    mean_update,
    deviation_model,
    one_round_fit,
    window_fit,
)
