"""UF Sec. II-B, Assumptions 1-3, Definition 4: the federated iteration and what it is run on."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from analytics.enclosures.ball import ball
from validate.claims.claim import Claim, Range, Relation, Verdict, constant
from validate.papers.utility_fairness.common import PAPER, definition
from validate.papers.utility_fairness.quadratics import descended, random_quadratic

_MU = Range(0.01, 1.0, logarithmic=True)
_STEP = Range(0.05, 1.95)
_ITERATIONS = Range(1, 30, integer=True)
_PLACE = Range(-3.0, 3.0)


def global_loss() -> Claim:
    return definition(
        "UF-E1",
        "Eq. (1), (2)",
        r"\mathcal G(w) = \tfrac1d\sum_kd_k\mathcal L_k(w)",
        "The loss of all samples; the weights d_k/d make it so (two devices, squared error).",
        {"d1": Range(1, 9, integer=True), "d2": Range(1, 9, integer=True), "w": _PLACE},
        lambda d1, d2, w: 1 + (d1 * w**2 + d2 * (w - 1) ** 2) / (d1 + d2),
        lambda d1, d2, w: 1 + float(np.mean(np.concatenate([np.full(d1, w**2), np.full(d2, (w - 1) ** 2)]))),
    )


def average_gradient() -> Claim:
    def gradients(d1: Any, d2: Any, w: Any) -> tuple[Any, Any]:
        return 100 + (2 * w + 2 * (w - 1)) / 2, 100 + (d1 * 2 * w + d2 * 2 * (w - 1)) / (d1 + d2)

    return Claim(
        id="UF-E3",
        paper=PAPER,
        location="Eq. (3)",
        statement=r"\nabla\mathcal G(w) = \tfrac1K\sum_k\nabla\mathcal L_k(w)",
        expected=Verdict.FALSE,
        reason="The average must be weighted as in (1), unless all devices have equally many samples.",
        domain={"d1": Range(1, 9, integer=True), "d2": Range(1, 9, integer=True), "w": _PLACE},
        claimed=lambda **p: gradients(**p)[0],
        actual=lambda **p: gradients(**p)[1],
        relation=Relation.EQUAL,
        enclose=lambda **p: tuple(map(ball, gradients(**p))),
    )


def local_problem() -> Claim:
    def slope(xi: float, g: float, curvature: float, w: float) -> float:
        def F(h: float) -> float:
            return curvature * (w + h) ** 2 / 2 - (curvature * w - xi * g) * h

        h = 1e-4
        return 100 + (F(h) - F(-h)) / (2 * h)

    return definition(
        "UF-E4",
        "Eq. (4)",
        r"\mathcal F_k(w,h) = \mathcal L_k(w+h) - (\nabla\mathcal L_k(w) - \xi\nabla\mathcal G(w))^\top h",
        "Its gradient at h = 0 is xi times the global one (checked by differences), and its Hessian that of the local loss.",
        {"xi": Range(0.01, 2.0), "g": _PLACE, "curvature": Range(0.1, 5.0), "w": _PLACE},
        lambda xi, g, curvature, w: 100 + xi * g,
        slope,
    )


def constant_step() -> Claim:
    """Two devices with quadratic losses of curvatures 1 and kappa, exact local solutions, equal weights."""

    def factor(xi: Any, kappa: Any) -> Any:
        return abs(1 - xi * (1 + 1 / kappa) / 2 * (1 + kappa) / 2)

    return Claim(
        id="UF-E5",
        paper=PAPER,
        location="Eq. (5) and below: 'xi > 0 constant ... converges'",
        statement=r"\|w^{(m+1)} - w^*\| \le \|w^{(m)} - w^*\|",
        expected=Verdict.FALSE,
        reason="For curvatures 1 and 100 it diverges from xi = .0785 on; it converges for xi < 2 mu/L.",
        domain={"xi": Range(0.01, 2.0), "kappa": Range(1.0, 100.0)},
        claimed=lambda xi, kappa: 1.0,
        actual=factor,
        enclose=lambda xi, kappa: (ball(1), ball(factor(xi, kappa))),
    )


def small_step() -> Claim:
    def shrunk(xi_share: float, kappa: float, seed: int) -> float:
        """Greatest squared factor for random curvatures in [1, kappa]."""
        curvature = np.random.default_rng(seed).uniform(1.0, kappa, 4)
        curvature[seed % 4] = (1.0, kappa)[seed % 2]
        xi = 2 * xi_share / kappa
        return 1e-3 + float((1 - xi * np.mean(1 / curvature) * np.mean(curvature)) ** 2)

    return Claim(
        id="UF-E5*",
        paper=PAPER,
        location="ours: exact local solutions, equal weights, xi < 2 mu/L",
        statement=r"\mathcal G^+ - \mathcal G^* \le \Bigl[1 - "
        r"\tfrac{2\mu\xi}L\bigl(1-\tfrac{L\xi}{2\mu}\bigr)\Bigr](\mathcal G-\mathcal G^*)",
        expected=Verdict.HOLDS_UNDER,
        reason="The step is a gradient step preconditioned between 1/L and 1/mu. (1/1000 added to both sides.)",
        domain={"xi_share": Range(0.01, 0.99), "kappa": Range(1.0, 20.0), "seed": Range(0, 10**6, integer=True)},
        claimed=lambda xi_share, kappa, seed: (
            1e-3 + 1 - 2 * (2 * xi_share / kappa) / kappa * (1 - kappa * (2 * xi_share / kappa) / 2)
        ),
        actual=shrunk,
        if_survived=Verdict.HOLDS_UNDER,
    )


def gradient_step() -> Claim:
    return definition(
        "UF-E10",
        "Eq. (10)",
        r"h^{(j+1)} = h^{(j)} - \eta\nabla\mathcal F_k(h^{(j)})",
        "Gradient descent; on a quadratic of curvature c it multiplies by 1 - eta c.",
        {"curvature": Range(0.01, 1.0), "step": _STEP, "iterations": _ITERATIONS},
        lambda curvature, step, iterations: 1 + (1 - step * curvature) ** (2 * iterations),
        lambda curvature, step, iterations: 1 + descended(np.array([curvature]), np.ones(1), step, int(iterations)),
    )


def assumptions() -> Claim:
    def curvature(w: Any) -> Any:
        return w.exp() / (1 + w.exp()) ** 2 if hasattr(w, "exp") else math.exp(w) / (1 + math.exp(w)) ** 2

    return Claim(
        id="UF-AS2",
        paper=PAPER,
        location="Assumptions 1-3: 'satisfied by cross-entropy, logistic regression, mean squared error' (one sample x = 1)",
        statement=r"\nabla^2\log(1+e^{-w}) \ge \mu > 0",
        expected=Verdict.FALSE,
        reason="The logistic loss flattens out, softmax cross-entropy does not change along shifts, least squares along what the "
        "data miss: all need an l2 term, and then hold.",
        domain={"mu": Range(1e-6, 0.2, logarithmic=True), "w": Range(0.0, 30.0)},
        claimed=lambda mu, w: mu,
        actual=lambda mu, w: curvature(float(w)),
        relation=Relation.AT_LEAST,
        enclose=lambda mu, w: (ball(mu), curvature(ball(w))),
    )


def accuracy() -> Claim:
    return definition(
        "UF-E21",
        "Definition 4, Eq. (21)",
        r"\Phi \ge \frac{\mathcal F(h^{(j)}) - \mathcal F^*}{\mathcal F(0) - \mathcal F^*}",
        "The share of the excess that is left; undefined where the gradient already vanishes. Here: 1 before the "
        "first iteration.",
        {"mu": _MU, "seed": Range(0, 10**6, integer=True)},
        lambda mu, seed: 1.0,
        lambda mu, seed: descended(*random_quadratic(mu, seed), step=1.0, iterations=0),
    )


def network_size() -> Claim:
    layers = ((784, 128), (128, 64), (64, 10))
    return Claim(
        id="UF-Tab1-parameters",
        paper=PAPER,
        location="Sec. IV: 784-128-64-10, 109375 parameters",
        statement=r"784\cdot128+128+128\cdot64+64+64\cdot10+10 = 109375",
        expected=Verdict.FALSE,
        reason="It is 109386; 109375 is 875000/8, computed back from the size in bits.",
        domain={"one": constant(1)},
        claimed=lambda one: 109375.0,
        actual=lambda one: float(sum(a * b + b for a, b in layers)),
        relation=Relation.EQUAL,
        enclose=lambda one: (ball(Fraction(109375)), ball(Fraction(sum(a * b + b for a, b in layers)))),
    )


CLAIMS = (
    global_loss,
    average_gradient,
    local_problem,
    constant_step,
    small_step,
    gradient_step,
    assumptions,
    accuracy,
    network_size,
)
