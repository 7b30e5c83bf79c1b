"""FDP App. C: the weight problem, its gradient, its caps, and the paper's update."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from airtight.analytics.forms import inference_errors as mse
from airtight.analytics.forms import weights as forms
from airtight.analytics.forms.balls.ball import ball
from airtight.analytics.forms.domain import Range, constant, parameter
from airtight.analytics.inference import distortion
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification
from airtight.solvers import weights
from airtight.solvers.weights import caps, dual_newton, published_update
from airtight.validate.claims.claim import Claim, false, holds, other_reading
from airtight.validate.claims.relation import absolute, at_least, at_most, both, equal, relative_to
from airtight.validate.papers.feature_dp.common import SEED, equal_devices, instance, scalar
from airtight.validate.papers.feature_dp.transmission import two_devices

p = parameter("p", 0.05, 1.0, typical=(0.9, 0.9))
f = parameter("f", 0.1, 10.0)
w = parameter("w", 0.0, 1.0, typical=(1 / 12, 1 / 12), latex="w_1")
v = parameter("v", 0.5, 1.5, latex="w_2")
signed = parameter("f", -5.0, 5.0)

_INSTANCE = {
    "devices": Range(1, 6, integer=True),
    "dimension": Range(1, 4, integer=True),
    "clip": Range(0.1, 10.0, logarithmic=True),
    "seed": SEED,
}

# The problem and its gradient


def _printed(system: InferenceSystem, features: Features, w: np.ndarray) -> float:
    return distortion.published(replace(system, weight=w), features)


def _curvatures(**point: Any) -> np.ndarray:
    """Eigenvalues of the printed MSE's Hessian, from its second differences, which are exact for a quadratic."""
    system, features = instance(**point)
    unit = np.eye(system.devices)
    corner = _printed(system, features, np.zeros(system.devices))
    edge = [_printed(system, features, e) for e in unit]
    hessian = [
        [_printed(system, features, d + e) - a - b + corner for e, b in zip(unit, edge, strict=True)]
        for d, a in zip(unit, edge, strict=True)
    ]
    return np.linalg.eigvalsh(hessian)


def _least_own_part(**point: Any) -> float:
    """The least p_k (2 - p_k) G_k."""
    system, features = instance(**point)
    return float(np.min(system.participation * (2 - system.participation) * features.printed_square))


def _slope(f: float, p: float, w: float, v: float) -> float:
    """Derivative of the printed MSE by the second weight, by central differences."""
    system, features = scalar([1.0, f], [p, p], [w, v])
    return _printed(system, features, np.array([w, v + 0.5])) - _printed(system, features, np.array([w, v - 0.5]))


def _gradient(at: mse.Scalar, *, all_others: bool) -> sp.Expr:
    """(40) for the second of two devices, without the multipliers."""
    multipliers = (*sum(forms.multipliers(at), ()), forms.nu)
    return forms.printed_gradient(at, 1, all_others=all_others).subs(dict.fromkeys(multipliers, 0))


_POINT = {"second": f, "p": (p, p), "w": (w, v)}
_second = sp.Symbol("w_2", real=True)
_DERIVATIVE = sp.diff(two_devices(mse.printed_mse, f, (p, p), (w, _second)), _second).subs(_second, v)
_OWN = relative_to(lambda f, p, w, v: 2 * p * f * f, "2 p_k G_k")


def _capped(p: float, clip: float, delta: float, delta_prime: float) -> InferenceSystem:
    alike = equal_devices(200, p, 0.1, 0.0, 1, 0)
    return replace(alike, clip=np.full(200, clip), delta=delta, delta_prime=delta_prime)


def _epsilon_at_cap(p: float, clip: float, delta: float, delta_prime: float, epsilon: float) -> float:
    system = _capped(p, clip, delta, delta_prime)
    weight = float(caps.published(system, epsilon, form="eq23")[0])
    return float(amplification.published(replace(system, weight=np.full(200, weight)), form="eq23").epsilon[0])


epsilon = parameter("epsilon", 1e-6, 100.0, logarithmic=True)
_delta_prime = parameter("delta_prime", 1e-9, 0.5, logarithmic=True, typical=(1e-3, 1e-3), latex=r"\delta'")
_LOCAL = sp.log(1 + (1 - _delta_prime) * (sp.exp(epsilon) - 1) / p)  # of the weight at its cap

# The printed solution


def _stationary(f: sp.Symbol) -> sp.Expr:
    """The w_1 at which both derivatives of the printed MSE agree, for features 1 and f and w_1 + w_2 = 1."""
    return (2 - p * f) / (2 * (1 + f**2 - p * f))


def _growth(pairs: int, p: float) -> float:
    """Factor by which one step of (46) multiplies a perturbation along the features 1, -1, 1, -1, ..."""
    f, free = np.array([1.0, -1.0] * pairs), np.full(2 * pairs, np.inf)
    system, features = scalar(f.tolist(), [p] * f.size, [1 / f.size] * f.size)
    rest, moved = (
        published_update.update(
            system, features, free, positive_part=False, iterations=1, start=1 / f.size + step * f
        ).w
        for step in (0.0, 1e-3)
    )
    return float(np.max(np.abs(moved - rest))) / 1e-3


def _optima(devices: int, seed: int) -> tuple[float, float]:
    """The printed MSE at the results of Gauss-Seidel and of the dual Newton method."""
    rng = np.random.default_rng(seed)
    f, p = rng.standard_normal(devices) + 0.1, float(rng.uniform(0.2, 1.0))
    system, features = scalar(f.tolist(), [p] * devices, [0.0] * devices)
    upper = rng.uniform(1.2, 4.0, devices) / devices
    slow = published_update.update(system, features, upper, sequential=True, tolerance=1e-11, iterations=2000)
    fast = dual_newton.minimise(weights.program(system, features, objective="published", upper=upper))
    return _printed(system, features, slow.w), _printed(system, features, fast.w)


def _rival_and_best(devices: int, dimension: int, clip: float, seed: int) -> tuple[float, float]:
    """Exact MSE of the best of many feasible weights, near the optimum and far from it, and exact MSE of the optimum."""
    system, features = instance(devices, dimension, clip, seed)
    upper = np.random.default_rng(seed).uniform(1.1, 3.0, devices) / devices
    solution = weights.solve(system, features, w_max=upper)
    if not solution.is_optimal(_GAP):
        return np.nan, np.nan
    qp, best = solution.program, solution.w
    others = np.random.default_rng(seed + 1).dirichlet(np.full(devices, 0.5), 400)
    others = others[np.all(others <= upper, axis=1)]
    rivals = np.concatenate([[best], others, (1 - 1e-3) * best + 1e-3 * others])[1 if len(others) else 0 :]
    apart = rivals @ qp.V - qp.c
    rival = rivals[np.argmin(0.5 * rivals**2 @ qp.d + rivals @ qp.g + 0.5 * np.sum(apart**2, axis=1))]
    return tuple(distortion.exact(replace(system, weight=w), features) for w in (rival, best))  # type: ignore[return-value]


def _exact(w: Any) -> sp.Expr:
    """Exact MSE of features 1 and f with weights w and 1 - w, the noise of Sec. VI."""
    return two_devices(mse.exact_mse, signed, (p, p), (w, 1 - w), sp.Rational("0.1"))


_GAP = 1e-10  # relative duality gap that a certified optimum may have
_BEST = sp.Min(sp.Max(_stationary(signed), 0), 1)

CLAIMS = (
    Claim(
        "FDP-P38",
        "Eq. (38)",
        at_least(lambda **point: float(_curvatures(**point)[0]), _least_own_part),
        holds(
            "A convex quadratic program, because norm(b_k)^2 <= G_k; the curvatures come from differences of the "
            "printed MSE."
        ),
        {**_INSTANCE, "clip": constant(1.0)},  # the printed MSE knows no clipping
        statement=r"\min_w \text{printed MSE},\ \textstyle\sum_k w_k = 1,\ 0 \le w \le w_{\max}:\quad"
        r" \nabla^2 = PGP + \mathrm{diag}(2p_kG_k - p_k^2\|b_k\|^2) \succeq \min_k p_k(2-p_k)G_k\,I \succeq 0",
        scale=relative_to(lambda **point: float(_curvatures(**point)[-1]), "greatest curvature"),
        effort=1 / 2,
        coq="feature_dp_general.FDP_P38",
    ),
    Claim(
        "FDP-E40",
        "Eq. (40)",
        equal(
            two_devices(lambda at: sp.diff(mse.printed_mse(at), at.w[1]), **_POINT),
            two_devices(lambda at: _gradient(at, all_others=False), **_POINT),
        ),
        false(
            "The sum must run over all j other than k, as in (44). Shown for the second of two devices.",
            "misprint",
            corrected_by="FDP-E40*",
            true_where="k = 1",
        ),
        statement=r"\frac{\partial L}{\partial w_k} = (2w_kp_k - 2p_k)G_k + \sum_{k<j}(p_kp_jw_j - p_k)\,b_k^Tb_j + \dots",
        unread="of K vectors and with multipliers; tried for two numbers, without",
        scale=_OWN,
        near={},
    ),
    Claim(
        "FDP-E37",
        "Lemma 5, Eq. (37): T_1 (features are numbers; the second of two devices)",
        equal(-p * (p * w - 1) * f, sp.Integer(0)),
        false(
            "The sum must run over all j other than k, as in (44) and (47): over k < j the last device's sum is empty.",
            "misprint",
            corrected_by="FDP-E40*",
            true_where="k = 1",
        ),
        statement=r"-\sum_{j\ne k}p_k(p_jw_j-1)\,b_k^Tb_j = -\sum_{k<j}p_k(p_jw_j-1)\,b_k^Tb_j",
        unread="the statement is about K vectors; tried for two numbers, 1 and f",
        scale=relative_to(lambda f, p, w: 2 * p * f * f, "2 p_k G_k"),
        near={},
    ),
    Claim(
        "FDP-E40*",
        "Eq. (40), corrected",
        equal(_DERIVATIVE, two_devices(lambda at: _gradient(at, all_others=True), **_POINT)),
        holds("The derivative of the printed MSE; proved for two devices that send equally often, with numbers for their "
            "codes; for any by hand."),
        computed=equal(_slope, two_devices(lambda at: _gradient(at, all_others=True), **_POINT)),
        statement=r"\frac{\partial L}{\partial w_k} = (2w_kp_k - 2p_k)G_k + \sum_{j\ne k}(p_kp_jw_j - p_k)\,b_k^Tb_j + \dots",
        unread="of K vectors and with multipliers; tried for two numbers, without",
        scale=_OWN,
    ),
    Claim(
        "FDP-wmax",
        "Lemma 5, w_max",
        equal(sp.log(1 + p / (1 - _delta_prime) * (sp.exp(_LOCAL) - 1)), epsilon),
        holds("The paper says that w_max can be found numerically; here its closed form is put back into (11)."),
        {
            "p": Range(0.3, 1.0),
            "clip": Range(0.1, 100.0, logarithmic=True),
            "delta": Range(1e-12, 0.5, logarithmic=True),
            "delta_prime": _delta_prime.range,
        },
        statement=r"w_{k,\max} = \frac{\sqrt{\bar\mu - t}}{\gamma C_k\sqrt{2\log(1.25/\delta)}}"
        r"\log\left(1 + \frac{(1-\delta')(e^\epsilon - 1)}{p_k}\right)",
        unread="put back into (11)",
        idle=("p", "clip", "delta", "delta_prime"),
        computed=equal(_epsilon_at_cap, epsilon),
    ),
    Claim(
        "FDP-L5",
        "Lemma 5, Eq. (36), (46)",
        at_least(sp.Min(_stationary(f), 1 - _stationary(f)), sp.Integer(0)),
        false(
            "The positive part of (45) is missing, so that weights become negative. Shown for two devices with "
            "features 1 and f.",
            "misprint",
            corrected_by="FDP-L5*",
            true_where="no weight of (45) is negative",
        ),
        statement=r"w_k^* = \min\left\{w_{k,\max}, \frac{T_1 + T_2 + \nu}{2p_kG_k}\right\} \ge 0",
        unread="the statement is about K vectors; tried in closed form for two numbers",
        scale=absolute("of the sum of the weights"),
        near={"f": 1.0},
    ),
    Claim(
        "FDP-L5-jacobi",
        'Eq. (46), "a Gauss-Seidel method"',
        at_most(_growth, sp.Integer(1), balls=lambda pairs, p: (ball(1), ball(p * (2 * pairs - 1) / 2))),
        false(
            "Every term comes from step t - 1, which is Jacobi's method. For opposed features its error grows by the "
            "factor p (K - 1)/2 per step; the method can cycle for ever.",
            "step",
            corrected_by="FDP-L5*",
            true_where="K = 2",
        ),
        {"pairs": Range(1, 6, integer=True, typical=(6, 6)), "p": Range(0.01, 1.0, typical=(0.9, 0.9))},
        statement=r"\|w^{(t+1)} - w^*\| \le \|w^{(t)} - w^*\|",
        tolerance=1e-6,
    ),
    Claim(
        "FDP-L5*",
        "Lemma 5, Eq. (43), (45), corrected",
        equal(*both(_optima)),
        holds("A strictly convex program; compared with the dual Newton method."),
        {"devices": Range(2, 5, integer=True), "seed": SEED},
        statement=r"\text{(45), Gauss-Seidel within, bisection on } \nu \text{ outside: the optimum of (38)}",
        tolerance=1e-8,
        effort=1 / 8,
    ),
    # What to solve instead
    Claim(
        "FDP-P38*",
        "ours: the weights that minimise the exact MSE",
        at_least(*both(_rival_and_best)),
        holds(
            "A convex program of diagonal plus low rank, solved to a certified gap of at most 1e-10 of the part of the error "
            "that depends on the weights; no feasible weights do better by more."
        ),
        _INSTANCE,
        statement=r"\min_w \left\|\sum_k p_kw_ka_k - f^*\right\|^2 + \sum_k p_k(1-p_k)\|a_k\|^2w_k^2",
        effort=1 / 2,
    ),
    Claim(
        "FDP-P38-worse",
        "Lemma 5, its purpose",
        at_most(_exact(_BEST), _exact(sp.Rational(1, 2))),
        other_reading(
            "The lemma minimises the printed bound, and is right about that (FDP-L5*). Read as what the weights are "
            "for, a small MSE, it fails: the bound has another target (the sum of the features), and its optimum can "
            "be worse than equal weights. Shown for two devices, a lossless codec and the noise of Sec. VI.",
            corrected_by="FDP-P38*",
            true_where="f_1 = f_2",
        ),
        statement=r"\mathrm{MSE}(w^*) \le \mathrm{MSE}(\tfrac1K)\quad\text{for the exact MSE of } (w, 1-w),\ K = 2, "
        r"\text{ and the } w^* \text{ of (38)}",
        where={r"\mathrm{MSE}": sp.Lambda(w, _exact(w)), "w^*": _BEST, "K": 2},
        near={"f": 1.0},
    ),
)
