"""FDP App. C: the weight problem, its gradient, its caps, and the paper's update."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from analytics.enclosures.ball import ball
from analytics.inference import distortion
from analytics.inference.features import Features
from analytics.inference.system import InferenceSystem
from analytics.privacy import amplification
from solvers import weights
from solvers.weights import caps, kkt, structured
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.feature_dp.common import PAPER, PROBABILITY, SEED, instance

_PROBABILITY = Range(0.05, 1.0)


def _line(f: list[float], p: float, w: list[float] | None = None) -> tuple[InferenceSystem, Features]:
    """Devices with scalar features, D = W = 1, no noise."""
    system = InferenceSystem(
        devices=len(f),
        participation=p,
        noise_variance=0.0,
        weight=1 / len(f) if w is None else w,
        clip=1e9,
        alignment=1.0,
        receiver_noise_variance=0.0,
        dimension=1,
        delta=0.5,
        delta_prime=0.5,
    )
    return system, Features(f=np.array(f)[:, None], W=np.eye(1), D=np.eye(1))


# The problem


def convex() -> Claim:
    def least_curvature(devices: int, dimension: int, clip: float, seed: int) -> float:
        """1 plus the least eigenvalue of the printed objective's Hessian, relative to the greatest."""
        qp = weights.program(*instance(devices, dimension, clip, seed), objective="published")
        eigenvalues = np.linalg.eigvalsh(np.diag(qp.d) + qp.V @ qp.V.T)
        return 1 + float(eigenvalues[0] / max(eigenvalues[-1], 1e-300))

    return Claim(
        id="FDP-P38",
        paper=PAPER,
        location="Eq. (38)",
        statement=r"\min_w \text{printed MSE},\ \textstyle\sum_k w_k = 1,\ 0 \le w \le w_{\max}:\quad"
        r" \nabla^2 = PGP + \mathrm{diag}(2p_kG_k - p_k^2\|b_k\|^2) \succeq 0",
        expected=Verdict.HOLDS,
        reason="A convex quadratic program, because norm(b_k)^2 <= G_k.",
        domain={
            "devices": Range(1, 8, integer=True),
            "dimension": Range(1, 4, integer=True),
            "clip": Range(0.1, 10.0, logarithmic=True),
            "seed": SEED,
        },
        claimed=lambda **point: 1.0,
        actual=least_curvature,
        relation=Relation.AT_LEAST,
    )


def _slope(f: float, p: float, w: float, v: float) -> float:
    """Derivative of the printed MSE by the second of two weights, by central differences (exact for a quadratic)."""

    def value(x: float) -> float:
        return distortion.published(*_line([1.0, f], p, [w, x]))

    return (value(v + 0.5) - value(v - 0.5)) / 1.0


_POINT = {"f": Range(0.1, 10.0), "p": _PROBABILITY, "w": Range(0.0, 1.0), "v": Range(0.5, 1.5)}


def printed_gradient() -> Claim:
    def enclose(f: Fraction, p: Fraction, w: Fraction, v: Fraction) -> tuple[Any, Any]:
        own = (2 * v * p - 2 * p) * f * f + 1000
        return ball(own), ball(own + (p * p * w - p) * f)

    return Claim(
        id="FDP-E40",
        paper=PAPER,
        location="Eq. (40)",
        statement=r"\frac{\partial L}{\partial w_k} = (2w_kp_k - 2p_k)G_k + \sum_{k<j}(p_kp_jw_j - p_k)\,b_k^Tb_j + \dots",
        expected=Verdict.FALSE,
        reason="The sum must run over all j other than k, as in (44). Two devices, the second's derivative.",
        domain=_POINT,
        claimed=lambda f, p, w, v: (2 * v * p - 2 * p) * f * f + 1e3,
        actual=lambda f, p, w, v: _slope(f, p, w, v) + 1e3,
        relation=Relation.EQUAL,
        enclose=enclose,
    )


def corrected_gradient() -> Claim:
    return Claim(
        id="FDP-E40*",
        paper=PAPER,
        location="Eq. (40), corrected",
        statement=r"\frac{\partial L}{\partial w_k} = (2w_kp_k - 2p_k)G_k + \sum_{j\ne k}(p_kp_jw_j - p_k)\,b_k^Tb_j + \dots",
        expected=Verdict.HOLDS,
        reason="Against differences of the printed MSE.",
        domain=_POINT,
        claimed=lambda f, p, w, v: (2 * v * p - 2 * p) * f * f + (p * p * w - p) * f + 1e3,
        actual=lambda f, p, w, v: _slope(f, p, w, v) + 1e3,
        relation=Relation.EQUAL,
    )


def closed_form_cap() -> Claim:
    def system(p: float, clip: float, delta: float, weight: float) -> InferenceSystem:
        return InferenceSystem(
            devices=200,
            participation=p,
            noise_variance=0.1,
            weight=weight,
            clip=clip,
            alignment=1.0,
            receiver_noise_variance=0.1,
            dimension=1,
            delta=delta,
            delta_prime=1e-3,
        )

    def back(p: float, clip: float, delta: float, epsilon: float) -> float:
        w = float(caps.published(system(p, clip, delta, 0.0), epsilon, form="eq23")[0])
        return float(amplification.published(system(p, clip, delta, w), form="eq23").epsilon[0])

    return Claim(
        id="FDP-wmax",
        paper=PAPER,
        location="Lemma 5, w_max",
        statement=r"w_{k,\max} = \frac{\sqrt{\bar\mu - t}}{\gamma C_k\sqrt{2\log(1.25/\delta)}}"
        r"\log\left(1 + \frac{(1-\delta')(e^\epsilon - 1)}{p_k}\right)",
        expected=Verdict.HOLDS,
        reason="The paper says that it can be found numerically; here is the closed form, put back into (11).",
        domain={
            "p": Range(0.3, 1.0),
            "clip": Range(0.1, 100.0, logarithmic=True),
            "delta": Range(1e-12, 0.5, logarithmic=True),
            "epsilon": Range(1e-6, 100.0, logarithmic=True),
        },
        claimed=lambda p, clip, delta, epsilon: epsilon,
        actual=back,
        relation=Relation.EQUAL,
    )


# The printed solution


def without_positive_part() -> Claim:
    """Two devices: the stationary point on w_1 + w_2 = 1, in closed form."""

    def stationary(f: Any, p: Any) -> Any:
        # (2 w p - 2 p) + (p p v - p) f = (2 v p - 2 p) f f + (p p w - p) f, v = 1 - w
        return (2 * p - p * f - p * p * f + p * f) / (2 * p + 2 * p * f * f - 2 * p * p * f)

    def least(f: float, p: float) -> float:
        system, features = _line([1.0, f], p)
        trace = kkt.update(system, features, np.full(2, np.inf), positive_part=False, iterations=5000)
        return 1 + float(trace.w.min())

    def enclose(f: Fraction, p: Fraction) -> tuple[Any, Any]:
        w = stationary(f, p)
        return ball(1), ball(1 + min(w, 1 - w))

    return Claim(
        id="FDP-L5",
        paper=PAPER,
        location="Lemma 5, Eq. (36), (46)",
        statement=r"w_k^* = \min\left\{w_{k,\max}, \frac{T_1 + T_2 + \nu}{2p_kG_k}\right\} \ge 0",
        expected=Verdict.FALSE,
        reason="The positive part of (45) is lost: weights go negative. Two devices with features 1 and f.",
        domain={"f": Range(0.1, 10.0), "p": _PROBABILITY},
        claimed=lambda f, p: 1.0,
        actual=least,
        relation=Relation.AT_LEAST,
        enclose=enclose,
    )


def jacobi_converges() -> Claim:
    """Features 1, -1, 1, -1, ...: a small perturbation along them is multiplied by -p (K - 1)/2 in each step."""

    def growth(pairs: int, p: float) -> float:
        f = [1.0, -1.0] * pairs
        system, features = _line(f, p)
        rest = kkt.update(system, features, np.full(2 * pairs, np.inf), positive_part=False, iterations=1)
        start = np.full(2 * pairs, 0.5 / pairs) + 1e-3 * np.array(f)
        moved = kkt.update(system, features, np.full(2 * pairs, np.inf), positive_part=False, iterations=1, start=start)
        return float(np.max(np.abs(moved.w - rest.w))) / 1e-3

    return Claim(
        id="FDP-L5-jacobi",
        paper=PAPER,
        location='Eq. (46), "a Gauss-Seidel method"',
        statement=r"\|w^{(t+1)} - w^*\| \le \|w^{(t)} - w^*\|",
        expected=Verdict.FALSE,
        reason="Every term comes from step t - 1: it is Jacobi's method, whose error grows by p (K - 1)/2 for opposed "
        "features; it can cycle for ever.",
        domain={"pairs": Range(1, 6, integer=True), "p": PROBABILITY},
        claimed=lambda pairs, p: 1.0,
        actual=growth,
        enclose=lambda pairs, p: (ball(1), ball(p * (2 * pairs - 1) / 2)),
        tolerance=1e-6,
    )


def gauss_seidel() -> Claim:
    def both(devices: int, seed: int) -> tuple[float, float]:
        rng = np.random.default_rng(seed)
        system, features = _line((rng.standard_normal(devices) + 0.1).tolist(), float(rng.uniform(0.2, 1.0)))
        upper = rng.uniform(1.2, 4.0, devices) / devices
        qp = weights.program(system, features, objective="published", upper=upper)
        slow = kkt.update(system, features, upper, sequential=True, tolerance=1e-11, iterations=2000)
        return qp.value(structured.minimise(qp).w), qp.value(slow.w)

    return Claim(
        id="FDP-L5*",
        paper=PAPER,
        location="Lemma 5, Eq. (43), (45), corrected",
        statement=r"\text{(45), Gauss-Seidel within, bisection on } \nu \text{ outside: the optimum of (38)}",
        expected=Verdict.HOLDS,
        reason="A strictly convex program; against the dual Newton method.",
        domain={"devices": Range(2, 5, integer=True), "seed": SEED},
        claimed=lambda devices, seed: both(devices, seed)[0],
        actual=lambda devices, seed: both(devices, seed)[1],
        relation=Relation.EQUAL,
        tolerance=1e-8,
    )


# What to solve instead


def exact_problem() -> Claim:
    def solved(devices: int, dimension: int, clip: float, seed: int) -> tuple[float, float]:
        system, features = instance(devices, dimension, clip, seed)
        upper = np.random.default_rng(seed).uniform(1.1, 3.0, devices) / devices
        qp = weights.program(system, features, upper=upper)
        best = structured.minimise(qp).w
        candidates = np.random.default_rng(seed + 1).dirichlet(np.full(devices, 0.5), 400)
        candidates = candidates[np.all(candidates <= upper, axis=1)]
        nearby = (1 - 1e-3) * best + 1e-3 * candidates
        others = np.vstack([best, candidates, nearby])[1:] if len(candidates) else best[None]
        rival = min(others, key=qp.value)
        return tuple(distortion.exact(replace(system, weight=w), features) for w in (best, rival))  # type: ignore[return-value]

    return Claim(
        id="FDP-P38*",
        paper=PAPER,
        location="ours: the weights that minimise the exact MSE",
        statement=r"\min_w \left\|\sum_k p_kw_ka_k - f^*\right\|^2 + \sum_k p_k(1-p_k)\|a_k\|^2w_k^2",
        expected=Verdict.HOLDS,
        reason="A convex program of diagonal plus low rank, solved to a certified gap; no feasible weights do better.",
        domain={
            "devices": Range(1, 6, integer=True),
            "dimension": Range(1, 4, integer=True),
            "clip": Range(0.1, 10.0, logarithmic=True),
            "seed": SEED,
        },
        claimed=lambda **point: solved(**point)[0],
        actual=lambda **point: solved(**point)[1],
        relation=Relation.AT_LEAST,
    )


def published_weights_are_optimal() -> Claim:
    """One device with feature 1, one with f, and a lossless codec: exact MSE of the printed optimum against uniform weights."""

    def exact(w: Any, f: Any, p: Any) -> Any:
        v, target = 1 - w, (1 + f) / 2
        bias = p * (w + v * f) - target
        return bias * bias + p * (1 - p) * (w * w + v * v * f * f)

    def printed_optimum(f: Any, p: Any) -> Any:
        w = (2 * p - p * p * f) / (2 * p + 2 * p * f * f - 2 * p * p * f)
        return min(max(w, 0 * w), 0 * w + 1)

    def actual(f: float, p: float) -> float:
        system, features = _line([1.0, f], p)
        w = weights.solve(system, features, objective="published").w
        return distortion.exact(replace(system, weight=w), features)

    def enclose(f: Fraction, p: Fraction) -> tuple[Any, Any]:
        return ball(exact(Fraction(1, 2), f, p)), ball(exact(printed_optimum(f, p), f, p))

    return Claim(
        id="FDP-P38-worse",
        paper=PAPER,
        location="Lemma 5, its purpose",
        statement=r"\mathrm{MSE}(w^*) \le \mathrm{MSE}(\tfrac1K, \dots, \tfrac1K)"
        r"\quad\text{for the exact MSE and the } w^* \text{ of (38)}",
        expected=Verdict.FALSE,
        reason="The printed objective has another target (the sum of the features): its optimum can be worse than doing nothing.",
        domain={"f": Range(-5.0, 5.0), "p": _PROBABILITY},
        claimed=lambda f, p: distortion.exact(*_line([1.0, f], p)),
        actual=actual,
        enclose=enclose,
        tolerance=1e-6,
    )


CLAIMS = (
    convex,
    printed_gradient,
    corrected_gradient,
    closed_form_cap,
    without_positive_part,
    jacobi_converges,
    gauss_seidel,
    exact_problem,
    published_weights_are_optimal,
)
