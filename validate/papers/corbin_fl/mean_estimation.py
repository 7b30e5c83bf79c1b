"""CB Theorem 2: the error of the mean update under CorBin-FL, as printed and exact."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import sympy as sp

from airtight.analytics.federated.corbin import mean_estimation, quantizers
from airtight.analytics.forms.domain import Range
from airtight.validate.claims.claim import Claim, holds
from airtight.validate.claims.proving.derivation import Derivation
from airtight.validate.claims.relation import at_least, at_most, equal
from airtight.validate.papers.corbin_fl.common import (
    SEED,
    alpha,
    by_sign_of_sum,
    epsilon,
    kept,
    pair_error,
    pairs,
    quantity,
)
from airtight.validate.papers.lemmas import NOT_NEGATIVE

_DOMAIN = {"clients": Range(2, 6, integer=True), "epsilon": epsilon.range, "seed": SEED}


def _updates(clients: int, seed: int) -> np.ndarray:
    """Random updates in [-1, 1]; in a third of the draws all are equal, as in the worst cases."""
    rng = np.random.default_rng(seed)
    if rng.random() < 1 / 3:
        return np.full(clients, rng.choice([-1.0, 1.0, rng.uniform(-1, 1)]))
    return np.asarray(rng.uniform(-1, 1, clients))


def over_all_pairings(clients: int, epsilon: float, seed: int) -> float:
    """Mean error over every order of the clients, paired two by two; the last of an odd number quantizes alone."""
    w, A = _updates(clients, seed), float(quantizers.alpha(epsilon))
    values = []
    for order in permutations(range(clients)):
        total = A * A - w[order[-1]] ** 2 if clients % 2 else 0.0
        for i, j in zip(order[0 : clients - clients % 2 : 2], order[1::2], strict=False):
            s = abs(w[i] + w[j])
            total += s * (2 * A - s)
        values.append(total / clients**2)
    return float(np.mean(values))


def _greatest() -> Derivation:
    """How CB-T2*-pair is proved: 4 (A - 1) is above by (2 - s)(2 A - s - 2), A^2 by (A - s)^2."""

    def great(s: sp.Expr, *_: sp.Expr) -> Derivation:
        spare = 2 * alpha - s - 2
        parts = [(2, NOT_NEGATIVE.at(number=alpha - 2)), NOT_NEGATIVE.at(number=2 - s)]
        known = (spare >= 0, Derivation(uses=parts))
        return Derivation(facts=[known], through=[2 * alpha * s - s**2], uses=[(2 - s, NOT_NEGATIVE.at(number=spare))])

    def small(s: sp.Expr, *_: sp.Expr) -> Derivation:
        return Derivation(through=[2 * alpha * s - s**2], uses=[NOT_NEGATIVE.at(number=(alpha - s) ** 2)])

    return Derivation(split=alpha - 2, above=by_sign_of_sum([], great), below=by_sign_of_sum([], small))


CLAIMS = (
    Claim(
        "CB-T2",
        "Theorem 2",
        at_most(
            lambda pairs, epsilon, seed: over_all_pairings(2 * pairs, epsilon, seed),
            quantity("Theorem 2, MSE", clients=2 * pairs),
        ),
        holds("True and loose: the bound is quadratic in alpha, but the worst case is linear."),
        {"pairs": Range(1, 3, integer=True), "seed": SEED},
        statement=r"\mathrm{MSE} \le \frac{r^2}{2n}((\sqrt2-1)\alpha+1)((\sqrt2+1)\alpha-1)\quad(n \text{ even})",
        slack=1.71,
    ),
    Claim(
        "CB-T2*",
        "ours: the exact mean over uniform pairings, n even or odd",
        equal(
            over_all_pairings,
            lambda clients, epsilon, seed: mean_estimation.mean_over_pairings(_updates(clients, seed), epsilon=epsilon),
        ),
        holds("Every pair is drawn with the same probability; compared with all pairings."),
        _DOMAIN,
        statement=r"\frac1{n^2}\left[\pi\sum_{i<j}(2A|x_i+x_j| - (x_i+x_j)^2) + \lambda\sum_i(A^2 - x_i^2)\right]",
    ),
    Claim(
        "CB-T2*-worst",
        "ours: the worst case over the updates",
        at_most(over_all_pairings, lambda clients, epsilon, seed: mean_estimation.worst(clients, epsilon=epsilon)),
        holds("2A abs(s) - s^2 is greatest at s = 2r or at s = A; attained by equal updates."),
        _DOMAIN,
        statement=r"\mathrm{MSE} \le \frac{2r^2(\alpha-1)}n \ (\alpha \ge 2),\quad \frac{r^2\alpha^2}{2n}\ (\alpha \le 2)"
        r"\quad(n \text{ even})",
    ),
    Claim(
        "CB-T2*-pair",
        "ours: the greatest error of a pair, infinitely many shared bits",
        at_most(pair_error(alpha), quantity("worst pair")),
        holds("2A abs(s) - s^2 is greatest at s = 2r or at s = A, and attained there."),
        statement=r"E\bigl(\bar W_1 + \bar W_2 - x_1 - x_2\bigr)^2 \le r^2\alpha^2\ (\alpha \le 2),"
        r"\quad 4r^2(\alpha-1)\ (\alpha \ge 2)",
        computed=at_most(
            lambda x, y, epsilon: quantizers.pair_mse(x, y, epsilon=epsilon, bits=None),
            lambda epsilon, **_: 4 * float(mean_estimation.worst(2, epsilon=epsilon)),
        ),
        derivation=_greatest,
    ),
    Claim(
        "CB-rem",
        "After Theorem 2",
        at_least(2 / kept(), 2),
        holds(
            "The paper understates it: alpha^2/(2(alpha-1)) >= 2 because (alpha-2)^2 >= 0; it is 10.5 at epsilon = 0.1."
        ),
        {"epsilon": epsilon.range},
        statement=r"\frac{\text{worst MSE of LDP-FL}}{\text{worst MSE of CorBin-FL}} \ge 2",
        computed=at_least(
            lambda epsilon: mean_estimation.worst_ldp(2, epsilon=epsilon) / mean_estimation.worst(2, epsilon=epsilon), 2
        ),
    ),
)
