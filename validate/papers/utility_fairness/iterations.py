"""UF Theorem 1, Appendix A and (41): how many local iterations an accuracy takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from analytics.enclosures.ball import ball
from analytics.federated import convergence
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.utility_fairness.common import PAPER
from validate.papers.utility_fairness.quadratics import descended, random_quadratic

_MU = Range(0.01, 1.0, logarithmic=True)
_STEP = Range(0.05, 1.95)
_PHI = Range(1e-4, 0.5, logarithmic=True)
_ITERATIONS = Range(1, 30, integer=True)
_PLACE = Range(-3.0, 3.0)


def _class(mu: float, step: float) -> dict[str, float]:
    return {"step": step, "strong_convexity": mu, "smoothness": 1.0}


def _worst_descended(mu: float, step: float, iterations: int) -> float:
    """Along the flattest or the steepest direction."""
    return max(descended(np.array([c]), np.ones(1), step, iterations) for c in (mu, 1.0))


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
        reason="Integrated along the gradient flow; attained by quadratics. Against gradient descent run on random ones, and "
        "on those of either extreme curvature.",
        domain={
            "mu": Range(0.01, 0.98, logarithmic=True),
            "step": _STEP,
            "iterations": _ITERATIONS,
            "seed": Range(0, 10**6, integer=True),
        },
        claimed=lambda mu, step, iterations, seed: float(convergence.worst_accuracy(iterations, **_class(mu, step))),
        actual=lambda mu, step, iterations, seed: max(
            descended(*random_quadratic(mu, seed), step, int(iterations)), _worst_descended(mu, step, int(iterations))
        ),
        relation=Relation.EQUAL,
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
        actual=lambda mu, step, iterations, seed: descended(*random_quadratic(mu, seed), step, int(iterations)),
        relation=Relation.AT_LEAST,
        tolerance=1e-7,
    )


def counts() -> Claim:
    def least(phi: float, mu: float, step: float) -> float:
        flat, steep, count = 1.0, 1.0, 0
        while max(flat, steep) > phi * (1 + 1e-12):
            flat, steep, count = flat * (1 - step * mu) ** 2, steep * (1 - step) ** 2, count + 1
        return float(count)

    return Claim(
        id="UF-R1",
        paper=PAPER,
        location="Remark 1, with the corrected theorem (L = 1)",
        statement=r"\Phi_{\lceil j\rceil} \le \Phi,\quad j = \frac{\log\Phi}{2\log\rho}",
        expected=Verdict.HOLDS_UNDER,
        reason="The accuracy after a number of iterations can be bounded, by the corrected theorem; with fewer the worst "
        "quadratic misses it. The least number, from descent itself.",
        domain={"phi": _PHI, "mu": Range(0.05, 0.98), "step": Range(0.05, 1.9)},
        claimed=lambda phi, mu, step: float(np.ceil(convergence.sufficient_iterations(phi, **_class(mu, step)))),
        actual=least,
        relation=Relation.EQUAL,
        if_survived=Verdict.HOLDS_UNDER,
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
        actual=lambda mu, step, seed: descended(*random_quadratic(mu, seed), step, 1),
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
        reason="With s = eta L and k = mu/L the differences are k(1-k)s^2 and s(1-k)(2-s). (1/1000 added to both sides.)",
        domain={"mu": _MU, "step": Range(0.05, 2.0)},
        claimed=lambda mu, step: 1e-3 + 1 - 2 * mu * step * (1 - step / 2),
        actual=lambda mu, step: 1e-3 + float(convergence.contraction(**_class(mu, step))) ** 2,
    )


CLAIMS = (
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
)
