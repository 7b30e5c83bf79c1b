"""UF Sec. II-B and Theorem 1: the federated iteration, and how many local iterations an accuracy takes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from analytics.enclosures.ball import ball
from analytics.federated import convergence
from validate.claim import Claim, Range, Relation, Verdict, constant
from validate.ledger.utility_fairness.common import PAPER, definition

_MU = Range(0.01, 1.0, logarithmic=True)
_STEP = Range(0.05, 1.95)
_PHI = Range(1e-4, 0.5, logarithmic=True)
_ITERATIONS = Range(1, 30, integer=True)
_PLACE = Range(-3.0, 3.0)


def _class(mu: float, step: float) -> dict[str, float]:
    return {"step": step, "strong_convexity": mu, "smoothness": 1.0}


def _printed_count(phi: Any, step: Any) -> int:
    """The least whole number of iterations that (22) asks for, L = 1."""
    rate = (1 + (1 - step) ** 2) / 2
    if rate >= 1:
        return 0
    count = max(math.ceil(math.log(phi) / math.log(rate)), 1)
    while rate**count > phi:
        count += 1
    while count > 1 and rate ** (count - 1) <= phi:
        count -= 1
    return count


def _descended(curvature: np.ndarray, start: np.ndarray, step: float, iterations: int) -> float:
    """Excess after gradient descent on a quadratic, as a share of that at the start; run, not computed."""
    x = start.copy()
    for _ in range(iterations):
        x = x - step * curvature * x
    return float(np.sum(curvature * x * x) / np.sum(curvature * start * start))


def _random_quadratic(mu: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    curvature = np.concatenate([[mu, 1.0], rng.uniform(mu, 1.0, 3)])
    start = rng.normal(size=5) * 10.0 ** rng.uniform(-6, 0, 5)
    only = rng.integers(4)
    if only < 2:
        start = np.where(np.arange(5) == only, 1.0, 0.0)
    return curvature, start


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
        return float((1 - xi * np.mean(1 / curvature) * np.mean(curvature)) ** 2)

    return Claim(
        id="UF-E5*",
        paper=PAPER,
        location="ours: exact local solutions, equal weights, xi < 2 mu/L",
        statement=r"\mathcal G^+ - \mathcal G^* \le \Bigl[1 - "
        r"\tfrac{2\mu\xi}L\bigl(1-\tfrac{L\xi}{2\mu}\bigr)\Bigr](\mathcal G-\mathcal G^*)",
        expected=Verdict.HOLDS_UNDER,
        reason="The step is a gradient step preconditioned between 1/L and 1/mu.",
        domain={"xi_share": Range(0.01, 0.99), "kappa": Range(1.0, 20.0), "seed": Range(0, 10**6, integer=True)},
        claimed=lambda xi_share, kappa, seed: (
            1 - 2 * (2 * xi_share / kappa) / kappa * (1 - kappa * (2 * xi_share / kappa) / 2)
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
        lambda curvature, step, iterations: 1 + _descended(np.array([curvature]), np.ones(1), step, int(iterations)),
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
        lambda mu, seed: _descended(*_random_quadratic(mu, seed), step=1.0, iterations=0),
    )


def published_sufficient() -> Claim:
    """L = 1; the quadratic of curvature mu, from a start along it."""

    def left(phi: Any, step: Any, mu: Any) -> Any:
        return (1 - step * mu) ** (2 * _printed_count(phi, step))

    return Claim(
        id="UF-T1",
        paper=PAPER,
        location="Theorem 1, Eq. (22), as a sufficient number of iterations (L = 1)",
        statement=r"j \ge \frac{\log\Phi}{\log(\eta^2L^2/2-\eta L+1)} \implies \Phi_j \le \Phi",
        expected=Verdict.FALSE,
        reason="(51) has the wrong constant and the wrong direction: along the flattest direction the excess "
        "shrinks by (1 - eta mu)^2, "
        "which (22) does not even contain.",
        domain={"phi": _PHI, "step": Range(0.55, 1.95), "mu": _MU},
        claimed=lambda phi, step, mu: phi,
        actual=left,
        enclose=lambda phi, step, mu: (ball(phi), ball(left(phi, step, mu))),
    )


def published_necessary() -> Claim:
    """L = 1; the quadratic of curvature 1, one iteration fewer than printed."""

    def left(phi: Any, step: Any) -> Any:
        return (1 - step) ** (2 * max(_printed_count(phi, step) - 1, 1))

    return Claim(
        id="UF-T1-necessary",
        paper=PAPER,
        location="Theorem 1, Eq. (22), as a necessary number of iterations (L = 1)",
        statement=r"j < \frac{\log\Phi}{\log(\eta^2L^2/2-\eta L+1)} \implies \Phi_j > \Phi",
        expected=Verdict.FALSE,
        reason="From (57) follows an upper bound on j, not (22). Along the steepest direction eta = 1/L solves in one iteration.",
        domain={"phi": Range(1e-4, 0.4, logarithmic=True), "step": Range(0.55, 1.45)},
        claimed=lambda phi, step: phi,
        actual=left,
        relation=Relation.AT_LEAST,
        enclose=lambda phi, step: (ball(phi), ball(left(phi, step))),
    )


def published_step() -> Claim:
    """The quadratic of curvature L after five iterations with eta > L/2."""
    return Claim(
        id="UF-T1-step",
        paper=PAPER,
        location="Theorem 1: 'step size eta > L/2'",
        statement=r"\eta > \tfrac L2 \implies \Phi_5 \le 1",
        expected=Verdict.FALSE,
        reason="Of the wrong dimension: gradient descent converges for eta < 2/L.",
        domain={"L": Range(0.5, 5.0), "factor": Range(1.01, 4.0)},
        claimed=lambda L, factor: 1.0,
        actual=lambda L, factor: (1 - factor * L / 2 * L) ** 10,
        enclose=lambda L, factor: (ball(1), ball((1 - factor * L / 2 * L) ** 10)),
    )


def sufficient() -> Claim:
    return Claim(
        id="UF-T1*",
        paper=PAPER,
        location="ours: the worst accuracy after j iterations (L = 1)",
        statement=r"\Phi_j \le \rho^{2j},\quad \rho = \max(|1-\eta\mu|, |1-\eta L|)",
        expected=Verdict.HOLDS,
        reason="Integrated along the gradient flow; attained by quadratics. Against gradient descent run on random ones.",
        domain={"mu": _MU, "step": _STEP, "iterations": _ITERATIONS, "seed": Range(0, 10**6, integer=True)},
        claimed=lambda mu, step, iterations, seed: (
            1e-9 + float(convergence.worst_accuracy(iterations, **_class(mu, step)))
        ),
        actual=lambda mu, step, iterations, seed: (
            1e-9 + _descended(*_random_quadratic(mu, seed), step, int(iterations))
        ),
    )


def necessary() -> Claim:
    return Claim(
        id="UF-T1*-necessary",
        paper=PAPER,
        location="ours: what no function undercuts (L = 1, eta < 1/L)",
        statement=r"\Phi_j \ge (1-\eta L)^{2j}",
        expected=Verdict.HOLDS,
        reason="From the two lower quadratics of a smooth convex function; attained along the steepest direction.",
        domain={
            "mu": _MU,
            "step": Range(0.05, 0.99),
            "iterations": _ITERATIONS,
            "seed": Range(0, 10**6, integer=True),
        },
        claimed=lambda mu, step, iterations, seed: (1 - step) ** (2 * iterations),
        actual=lambda mu, step, iterations, seed: _descended(*_random_quadratic(mu, seed), step, int(iterations)),
        relation=Relation.AT_LEAST,
        tolerance=1e-7,
    )


def counts() -> Claim:
    return Claim(
        id="UF-R1",
        paper=PAPER,
        location="Remark 1, with the corrected theorem (L = 1)",
        statement=r"\Phi_{\lceil j\rceil} \le \Phi,\quad j = \frac{\log\Phi}{2\log\rho}",
        expected=Verdict.HOLDS_UNDER,
        reason="The accuracy after a number of iterations can be bounded, by the corrected theorem.",
        domain={"phi": _PHI, "mu": _MU, "step": _STEP, "seed": Range(0, 10**6, integer=True)},
        claimed=lambda phi, mu, step, seed: float(
            convergence.worst_accuracy(convergence.sufficient_iterations(phi, **_class(mu, step)), **_class(mu, step))
        ),
        actual=lambda phi, mu, step, seed: phi,
        relation=Relation.EQUAL,
        if_survived=Verdict.HOLDS_UNDER,
        tolerance=1e-7,
    )


def descent_lemma() -> Claim:
    def both(curvature: float, step: float, x: float) -> tuple[float, float]:
        before, gradient = curvature * x * x / 2, curvature * x
        after = curvature * (x - step * gradient) ** 2 / 2
        return 1 + before + (step * step / 2 - step) * gradient**2, 1 + after

    return Claim(
        id="UF-E42",
        paper=PAPER,
        location="Eq. (42)-(44) (L = 1)",
        statement=r"\mathcal F^+ \le \mathcal F + \bigl(\tfrac{\eta^2L}2-\eta\bigr)\|\nabla\mathcal F\|^2",
        expected=Verdict.HOLDS,
        reason="The descent lemma; (42) follows from (18) and (20), not from (19).",
        domain={"curvature": Range(0.01, 1.0), "step": _STEP, "x": _PLACE},
        claimed=lambda **p: both(**p)[0],
        actual=lambda **p: both(**p)[1],
    )


def cocoercive() -> Claim:
    """F(x) = log cosh, whose gradient is 1-Lipschitz, between two points."""

    def sides(x: float, y: float) -> tuple[float, float]:
        change = math.tanh(x) - math.tanh(y)
        return 1 + (x - y) * change, 1 + change**2

    return Claim(
        id="UF-E47",
        paper=PAPER,
        location="Eq. (45)-(48) (L = 1)",
        statement=r"\|\nabla\mathcal F(x)-\nabla\mathcal F(y)\|^2 \le L(x-y)^\top(\nabla\mathcal F(x)-\nabla\mathcal F(y))",
        expected=Verdict.HOLDS,
        reason="True (Baillon and Haddad), though the printed step replaces a product of norms by the smaller inner product.",
        domain={"x": _PLACE, "y": _PLACE},
        claimed=lambda x, y: sides(x, y)[0],
        actual=lambda x, y: sides(x, y)[1],
    )


def upper_quadratic() -> Claim:
    return Claim(
        id="UF-E49",
        paper=PAPER,
        location="Eq. (49), (50) (L = 1)",
        statement=r"\mathcal F(x^*) \le \mathcal F(x) + \nabla\mathcal F(x)^\top(x^*-x) + \tfrac L2\|x^*-x\|^2",
        expected=Verdict.HOLDS,
        reason="The upper quadratic of a smooth function (log cosh).",
        domain={"x": _PLACE},
        claimed=lambda x: 1 + math.log(math.cosh(x)) - math.tanh(x) * x + x * x / 2,
        actual=lambda x: 1.0,
    )


def gradient_against_gap() -> Claim:
    return Claim(
        id="UF-E51",
        paper=PAPER,
        location="Eq. (51)",
        statement=r"\|\nabla\mathcal F\|^2 \le L(\mathcal F-\mathcal F^*)",
        expected=Verdict.FALSE,
        reason="2L is right; and (44) has a negative coefficient, so it is a lower bound, 2 mu, that is needed there.",
        domain={"L": Range(0.1, 10.0), "x": Range(0.1, 3.0)},
        claimed=lambda L, x: L * (L * x * x / 2),
        actual=lambda L, x: (L * x) ** 2,
        enclose=lambda L, x: (ball(L * (L * x * x / 2)), ball((L * x) ** 2)),
    )


def contraction_with_mu() -> Claim:
    return Claim(
        id="UF-E52",
        paper=PAPER,
        location="Eq. (52) (L = 1)",
        statement=r"\mathcal F^+-\mathcal F^* \le \bigl(1-\mu\eta(1-\tfrac{\eta L}2)\bigr)(\mathcal F-\mathcal F^*)",
        expected=Verdict.HOLDS,
        reason="From the PL inequality (with 2 mu even), not from (51). Against quadratics.",
        domain={"mu": _MU, "step": Range(0.05, 2.0), "seed": Range(0, 10**6, integer=True)},
        claimed=lambda mu, step, seed: 1 - mu * step * (1 - step / 2),
        actual=lambda mu, step, seed: _descended(*_random_quadratic(mu, seed), step, 1),
    )


def contraction_with_L() -> Claim:
    return Claim(
        id="UF-E53",
        paper=PAPER,
        location="Eq. (53)-(55) (L = 1)",
        statement=r"\mathcal F^+-\mathcal F^* \le \bigl(\tfrac{\eta^2L^2}2-\eta L+1\bigr)(\mathcal F-\mathcal F^*)",
        expected=Verdict.FALSE,
        reason="L has taken the place of mu: .5 is claimed where .81 is true (mu = .1, eta = 1).",
        domain={"mu": _MU, "step": Range(0.05, 1.95)},
        claimed=lambda mu, step: (1 + (1 - step) ** 2) / 2,
        actual=lambda mu, step: (1 - step * mu) ** 2,
        enclose=lambda mu, step: (ball((1 + (1 - step) ** 2) / 2), ball((1 - step * mu) ** 2)),
    )


def power_of_the_rate() -> Claim:
    return Claim(
        id="UF-E57",
        paper=PAPER,
        location="Eq. (57) (L = 1)",
        statement=r"\Phi_j \le \bigl(\tfrac{\eta^2L^2}2-\eta L+1\bigr)^j",
        expected=Verdict.FALSE,
        reason="As (53); and it would give an upper bound on j, where (22) has a lower one.",
        domain={"mu": _MU, "step": Range(0.05, 1.95), "iterations": Range(1, 12, integer=True)},
        claimed=lambda mu, step, iterations: ((1 + (1 - step) ** 2) / 2) ** iterations,
        actual=lambda mu, step, iterations: (1 - step * mu) ** (2 * iterations),
        enclose=lambda mu, step, iterations: (
            ball(((1 + (1 - step) ** 2) / 2) ** int(iterations)),
            ball((1 - step * mu) ** (2 * int(iterations))),
        ),
    )


def accuracy_bound() -> Claim:
    return Claim(
        id="UF-E41",
        paper=PAPER,
        location="Eq. (41), j >= 1, eta < 2/L (L = 1)",
        statement=r"\Phi_j \le \bigl(\tfrac{\mu\eta^2L}2-\mu\eta+1\bigr)^{j+1}",
        expected=Verdict.HOLDS_UNDER,
        reason="True for j >= 1, loose: the factor is at least rho. At j = 0 it is false.",
        domain={"mu": _MU, "step": _STEP, "iterations": _ITERATIONS},
        claimed=lambda mu, step, iterations: float(convergence.published_accuracy(iterations, **_class(mu, step))),
        actual=lambda mu, step, iterations: float(convergence.worst_accuracy(iterations, **_class(mu, step))),
        if_survived=Verdict.HOLDS_UNDER,
    )


def pl_rate() -> Claim:
    return Claim(
        id="UF-T1*-PL",
        paper=PAPER,
        location="ours: what the paper's proof gives with the right inequality (L = 1)",
        statement=r"\rho^2 \le 1-2\mu\eta\bigl(1-\tfrac{\eta L}2\bigr)",
        expected=Verdict.HOLDS,
        reason="With s = eta L and k = mu/L the differences are k(1-k)s^2 and s(1-k)(2-s).",
        domain={"mu": _MU, "step": Range(0.05, 2.0)},
        claimed=lambda mu, step: 1 - 2 * mu * step * (1 - step / 2),
        actual=lambda mu, step: float(convergence.contraction(**_class(mu, step))) ** 2,
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
    published_sufficient,
    published_necessary,
    published_step,
    sufficient,
    necessary,
    pl_rate,
    counts,
    accuracy_bound,
    descent_lemma,
    cocoercive,
    upper_quadratic,
    gradient_against_gap,
    contraction_with_mu,
    contraction_with_L,
    power_of_the_rate,
    network_size,
)
