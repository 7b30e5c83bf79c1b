"""Liu and Simeone, JSAC 2020 (PF), as far as the published code shows it; no other module names this folder."""

from __future__ import annotations

import numpy as np
import sympy as sp

from airtight import (
    Claim,
    Implementation,
    Paper,
    Range,
    absolute,
    at_least,
    at_most,
    equal,
    false,
    holds,
    parameter,
    proofs_beside,
    undecidable,
)
from airtight.analytics.forms.gaussian_mechanism import least_delta
from airtight_privacy_for_free.allocation import allocate, exact_budget, printed_budget

_COMMIT = "97512c8b1c87f00c3c2f0398044ec6bdd8c238b5"

epsilon = parameter("epsilon", 0.1, 100.0, logarithmic=True, typical=(1.0, 100.0), latex=r"\epsilon")
delta = parameter("delta", 1e-8, 0.2, logarithmic=True, typical=(0.01, 0.01), latex=r"\delta")
constant = parameter("constant", 0.8, 4.0, typical=(1.6, 1.6), latex="C")
user = parameter("user", 1, 10, integer=True, typical=(1, 10), latex="k")

_C = sp.exp(-sp.LambertW(2 / (sp.pi * delta**2)) / 2) / (delta * sp.sqrt(sp.pi))
_rho = (sp.sqrt(epsilon + constant**2) - constant) ** 2
_curve = least_delta(epsilon, sp.sqrt(2 * _rho), 1)


def _code(file: str, promise: str, mend: str = "") -> Implementation:
    return Implementation("kclip/Privacy4Free_DPWFL", _COMMIT, f"AnalyticalResult/{file}", "script", promise, mend)


def _problem(seed: int, rounds: int) -> tuple[np.ndarray, np.ndarray, float]:
    """A random problem: weights a^-t, the least noise for Rician-like gains, and a budget that binds."""
    rng = np.random.default_rng(seed)
    least = 1e-2 * rng.gamma(2.0, 1.0, rounds) + 1e-3
    weight = (1 - rng.uniform(0.01, 0.5)) ** -np.arange(1, rounds + 1.0)
    return weight, least, float(np.sum(1 / least) * rng.uniform(0.05, 0.9))


def _printed(seed: int, rounds: int) -> float:
    """Value of the printed allocation: noise grows as a^(t/2) above the least noise; its factor is found by bisection."""
    weight, least, budget = _problem(seed, rounds)
    low, high = 0.0, 1e9
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        spent = np.sum(1 / np.maximum(middle / np.sqrt(weight), least))
        low, high = (low, middle) if spent <= budget else (middle, high)
    return float(weight @ np.maximum(high / np.sqrt(weight), least))


_CLAIMS: tuple[Claim, ...] = (
    Claim(
        "PF-C",
        "Main_Epsilon_Fig3.m, C",
        equal(sp.sqrt(sp.pi) * _C * sp.exp(_C**2), 1 / delta),
        holds("The constant in closed form, by the Lambert W function."),
        statement=r"\sqrt\pi\,C e^{C^2} = \frac1\delta,\quad C = \frac{e^{-W(2/(\pi\delta^2))/2}}{\delta\sqrt\pi}",
        implementation=_code("Main_Epsilon_Fig3.m", "the constant of the privacy constraint"),
    ),
    Claim(
        "PF-budget",
        "Main_Epsilon_Fig3.m, dp; Aircomp_analytical.m: sum of (sqrt(2) gamma)^2/x_t at most dp",
        at_most(_curve, sp.exp(-(constant**2)) / (sp.sqrt(sp.pi) * constant)),
        holds(
            "T Gaussian rounds of sensitivity 2 gamma (adjacency replace) are one Gaussian mechanism with rho = "
            "mu^2/2, the sum of 2 gamma^2/x_t: the constraint is sufficient. It is not necessary: see PF-saved."
        ),
        statement=r"\delta(\epsilon;\ \rho) \le \frac{e^{-C^2}}{\sqrt\pi C} = \delta,\quad \rho = (\sqrt{\epsilon + C^2} - C)^2",
        slack=4.0,
        implementation=_code("Main_Epsilon_Fig3.m", "(eps, delta)-DP over all rounds"),
    ),
    Claim(
        "PF-saved",
        "ours: the least noise at equal exact privacy",
        at_least(
            lambda epsilon, delta: exact_budget(epsilon, delta), lambda epsilon, delta: printed_budget(epsilon, delta)
        ),
        holds(
            "Where the budget binds and the power limit does not, the effective noise is proportional to 1/rho. At "
            "delta = .01 the printed constraint requires 7.6, 2.2 and 1.24 times the variance needed at eps = .1, 1 "
            "and 10."
        ),
        domain={"epsilon": epsilon.range, "delta": Range(1e-6, 0.05, logarithmic=True, typical=(0.01, 0.01))},
        statement=r"\rho_{\text{exact}}(\epsilon, \delta) \ge (\sqrt{\epsilon + C^2} - C)^2",
        slack=1.2,
        implementation=_code("Main_Epsilon_Fig3.m", "power from the printed constraint", "Use the exact curve."),
    ),
    Claim(
        "PF-filling",
        "Aircomp_analytical.m, x_aircomp",
        equal(
            _printed, lambda seed, rounds: allocate(*_problem(seed, rounds)[:2], budget=_problem(seed, rounds)[2]).bound
        ),
        holds("The printed form attains the dual bound, so it is the optimum for every budget that binds."),
        domain={"seed": Range(0, 10**6, integer=True), "rounds": Range(2, 60, integer=True, typical=(30, 30))},
        statement=r"x_t = \max(\sqrt{2\lambda}\,\gamma\,a^{t/2},\ m_t)\ \text{minimises}\ \sum_t a^{-t}x_t",
        tolerance=1e-7,
        implementation=_code("Aircomp_analytical.m", "the optimal power allocation, offline"),
    ),
    Claim(
        "PF-static",
        "Benchmark_Orthogonal.m, x_BM_oa: dp/(T/k)",
        equal(user / sp.Integer(10), sp.Integer(1)),
        false(
            "The static orthogonal benchmark divides by T/k, with k the index of the loop, not by the T/K rounds of a "
            "user. User k of K = 10 therefore spends k/10 of the budget, and the first user has ten times the noise "
            "it needs. The benchmark's curves lie too high.",
            "experiment",
            true_where="k = K",
        ),
        statement=r"\sum_{t=1}^{T/K} \frac{2\gamma^2}{x_t} \Big/ \mathrm{dp} = \frac kK = 1",
        scale=absolute("share of the budget"),
        implementation=_code("Benchmark_Orthogonal.m", "equal noise in all rounds at the same budget", "Write T/K."),
    ),
)

PAPER = Paper(
    "privacy-for-free",
    "Privacy for Free: Wireless Federated Learning via Uncoded Transmission With Adaptive Power Control",
    "D. Liu, O. Simeone",
    2020,
    _CLAIMS,
    (
        undecidable(
            "PF-text",
            "The paper's numbered theorems, lemmas and equations",
            "Their text could not be obtained from public repositories; only what the published scripts compute is "
            "tried here. Nothing is restated from memory.",
        ),
        undecidable(
            "PF-learning",
            "MNIST_SoftMax_OMA, Online_*: learning curves",
            "Accuracies over random channels; no formula decides them.",
        ),
    ),
    proofs=proofs_beside(__file__),
)
