"""CB Theorem 2: the error of the mean update under CorBin-FL, as printed and as it is."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from analytics.federated import mean_estimation, quantizers
from validate.claims.claim import Claim, Range, Relation, Verdict

PAPER = "corbin-fl"
_EPSILON = Range(1e-2, 20.0, logarithmic=True)
_DOMAIN = {"clients": Range(2, 6, integer=True), "epsilon": _EPSILON, "seed": Range(0, 10**6, integer=True)}


def _updates(clients: int, seed: int) -> np.ndarray:
    """Random updates in [-1, 1]; a third of them constant, where the worst cases are."""
    rng = np.random.default_rng(seed)
    if rng.random() < 1 / 3:
        return np.full(clients, rng.choice([-1.0, 1.0, rng.uniform(-1, 1)]))
    return np.asarray(rng.uniform(-1, 1, clients))


def over_all_pairings(clients: int, epsilon: float, seed: int) -> float:
    """The mean over every order of the clients, taken two by two; the last of an odd number quantizes alone."""
    w, A = _updates(clients, seed), float(quantizers.alpha(epsilon))
    values = []
    for order in permutations(range(clients)):
        total = A * A - w[order[-1]] ** 2 if clients % 2 else 0.0
        for i, j in zip(order[0 : clients - clients % 2 : 2], order[1::2], strict=False):
            s = abs(w[i] + w[j])
            total += s * (2 * A - s)
        values.append(total / clients**2)
    return float(np.mean(values))


def printed_bound() -> Claim:
    return Claim(
        id="CB-T2",
        paper=PAPER,
        location="Theorem 2",
        statement=r"\mathrm{MSE} \le \frac{r^2}{2n}((\sqrt2-1)\alpha+1)((\sqrt2+1)\alpha-1)\quad(n \text{ even})",
        expected=Verdict.HOLDS,
        reason="True and loose: quadratic in alpha, where the worst case is linear.",
        domain={**_DOMAIN, "clients": Range(1, 3, integer=True)},
        claimed=lambda clients, epsilon, seed: float(mean_estimation.published(2 * clients, epsilon=epsilon)),
        actual=lambda clients, epsilon, seed: over_all_pairings(2 * clients, epsilon, seed),
    )


def exact_mean() -> Claim:
    return Claim(
        id="CB-T2*",
        paper=PAPER,
        location="ours: the mean over uniform pairings exactly, n even or odd",
        statement=r"\frac1{n^2}\left[\pi\sum_{i<j}(2A|x_i+x_j| - (x_i+x_j)^2) + \lambda\sum_i(A^2 - x_i^2)\right]",
        expected=Verdict.HOLDS,
        reason="Every pair is drawn with the same probability; against all pairings.",
        domain=_DOMAIN,
        claimed=lambda clients, epsilon, seed: (
            float(mean_estimation.mean_over_pairings(_updates(clients, seed), epsilon=epsilon)) + 1e-3
        ),
        actual=lambda clients, epsilon, seed: over_all_pairings(clients, epsilon, seed) + 1e-3,
        relation=Relation.EQUAL,
    )


def worst_case() -> Claim:
    return Claim(
        id="CB-T2*-worst",
        paper=PAPER,
        location="ours: the worst case over the updates",
        statement=r"\mathrm{MSE} \le \frac{2r^2(\alpha-1)}n \ (\alpha \ge 2),\quad \frac{r^2\alpha^2}{2n}\ (\alpha \le 2)"
        r"\quad(n \text{ even})",
        expected=Verdict.HOLDS,
        reason="2A abs(s) - s^2 is greatest at s = 2r or at s = A; attained by equal updates.",
        domain=_DOMAIN,
        claimed=lambda clients, epsilon, seed: float(mean_estimation.worst(clients, epsilon=epsilon)),
        actual=over_all_pairings,
    )


def factor_of_two() -> Claim:
    return Claim(
        id="CB-rem",
        paper=PAPER,
        location="After Theorem 2",
        statement=r"\frac{\text{worst MSE of LDP-FL}}{\text{worst MSE of CorBin-FL}} \ge 2",
        expected=Verdict.HOLDS,
        reason="Understated: alpha^2/(2(alpha-1)) >= 2 because (alpha-2)^2 >= 0; 10.5 at epsilon = 0.1.",
        domain={"epsilon": _EPSILON},
        claimed=lambda epsilon: 2.0,
        actual=lambda epsilon: float(
            mean_estimation.worst_ldp(2, epsilon=epsilon) / mean_estimation.worst(2, epsilon=epsilon)
        ),
        relation=Relation.AT_LEAST,
    )


CLAIMS = (printed_bound, exact_mean, worst_case, factor_of_two)
