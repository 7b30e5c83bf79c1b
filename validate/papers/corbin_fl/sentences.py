"""CB: sentences and steps of proofs outside the numbered items that state a number or a comparison."""

from __future__ import annotations

from itertools import pairwise

import flint
import numpy as np
import sympy as sp
from scipy import stats

from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.forms.balls.ball import Ball, ball
from airtight.analytics.forms.domain import Range, parameter
from airtight.validate.claims.claim import Claim, holds, other_reading
from airtight.validate.claims.proving.derivation import Derivation
from airtight.validate.claims.relation import absolute, at_least, at_most
from airtight.validate.papers.corbin_fl.common import (
    IN_RADII,
    PAIR_GAINS,
    at_least_one,
    bits,
    by_sign_of_sum,
    epsilon,
    share,
    x,
    y,
)
from airtight.validate.papers.corbin_fl.common import alpha as a
from airtight.validate.papers.lemmas import COTH_FALLS

move = parameter("move", 0.01, 2.0, typical=(0.1, 2.0), latex=r"\tfrac{\Delta_2}r")
factor = parameter("factor", 1.0, 10.0)
towards = parameter("towards", 0.0, 1.0, latex=r"\tfrac{w-c}r")
gamma_1, gamma_2 = (
    parameter(f"gamma{k}", low, high, latex=rf"\gamma_{k}") for k, low, high in ((1, -9, -1), (2, 1, 9))
)
wider = parameter("wider", 0.0, 9.0, latex="h")
parameters = parameter("parameters", 1, 10**7, integer=True, logarithmic=True, typical=(109386, 109386), latex="m")
shared = parameter("shared", 1, 10, integer=True, typical=(3, 7), latex="d")
key = parameter("key", 64, 4096, integer=True, logarithmic=True, typical=(256, 256), latex="k")

_ONE_SAMPLE = sp.log((1 - share() + share() * move) / (1 - share()))
_MORE = factor * epsilon


def _kept_apart(bits: int) -> float:
    """1 + the correlation of two Gaussians that share `bits` bits and are otherwise drawn privately."""
    edges = stats.norm.pdf(stats.norm.ppf(np.linspace(0, 1, 2**bits + 1)))
    return 1 - float(np.sum(np.diff(edges) ** 2)) * 2.0**bits


def _kept_apart_ball(bits: int) -> tuple[Ball, Ball]:
    cells = 2 ** int(bits)
    places = [(ball(2 * k) / cells - 1).erfinv() for k in range(1, cells)]
    edges = [ball(0), *((-z * z).exp() / (2 * flint.arb.pi()).sqrt() for z in places), ball(0)]
    return ball(1) / cells, 1 - cells * sum(((s - t) ** 2 for s, t in pairwise(edges)), ball(0))


def _scaled_distance(x: float, y: float, epsilon: float, bits: int) -> float:
    finite, limit = (quantizers.pair_law(x, y, epsilon=epsilon, bits=d) for d in (bits, None))
    return float(np.max(np.abs(finite - limit))) * 2.0**bits


def _second_moment(low: sp.Expr, high: sp.Expr) -> sp.Expr:
    return -low * high + (low + high) * x


def _pair_gain(x: float, y: float, epsilon: float) -> float:
    """Error of a pair with LDPQ minus its error with CorBinQ."""
    A = 1 / np.tanh(epsilon / 2)
    return float(2 * A**2 - x**2 - y**2 - quantizers.pair_mse(x, y, epsilon=epsilon, bits=None))


def _farther() -> Derivation:
    """How CB-X8-gap is proved: alpha falls with epsilon, and 2 alpha (alpha - abs(s)) rises with alpha."""
    nearer, farther = 1 / share(epsilon), 1 / share(_MORE)
    falls = COTH_FALLS.at(lower=epsilon / 2, upper=_MORE / 2)
    facts = [at_least_one(nearer), at_least_one(farther, _MORE), (farther <= nearer, Derivation(uses=[falls]))]
    return by_sign_of_sum(
        facts, lambda s, *_: Derivation(uses=[PAIR_GAINS.at(lower=farther, upper=nearer, sum=s)])
    )


def _signed_gain(epsilon: sp.Expr, sign: int) -> sp.Expr:
    """Error of a pair with LDPQ minus its error with CorBinQ, where x + y has this sign."""
    A = 1 / sp.tanh(epsilon / 2)
    return 2 * A * (A - sign * (x + y)) + 2 * x * y


CLAIMS = (
    Claim(
        "CB-stringent",
        "Sec. I: sample-level privacy (2) 'is more stringent' than user-level (1) (one client, an update replaced)",
        at_least(_ONE_SAMPLE, epsilon),
        other_reading(
            "(2) is finer: it is about samples. And nothing satisfies (1), removal, as it is printed (CB-T3). Where "
            "an update is replaced, (2) allows only a move of Delta_2, and (1) implies it.",
            corrected_by="CB-E2*",
            true_where=r"\Delta_2 = 2r",
        ),
        statement=r"\log\frac{1 + (\tfrac{\Delta_2}r-1)/\alpha}{1-1/\alpha} \ge \epsilon_u",
        where={r"\alpha": a, r"\epsilon_u": epsilon},
    ),
    Claim(
        "CB-bits-gauss",
        "Sec. I: Gaussian pairs, 'in contrast', need 'an asymptotically large number of common random bits' [27]",
        at_least(_kept_apart, lambda bits: 2.0**-bits, balls=_kept_apart_ball),
        other_reading(
            "For a correlation of exactly -1 they do. Near -1 they need fewer bits than CorBinQ: from bit 1 on the "
            "sum of a pair keeps less than 2^-d of its variance (.0092 at d = 5), whereas CorBinQ may lose 2^-d "
            "(CB-T1*-bits).",
            corrected_by="CB-T1*-bits",
            true_where=r"\rho = -1 \text{ is asked for}",
        ),
        {"bits": Range(1, 10, integer=True, typical=(3, 7))},
        statement=r"1 + \rho_d = 1 - \sum_{i=1}^{2^d}2^d\bigl(\varphi(z_{i-1})-\varphi(z_i)\bigr)^2 \ge 2^{-d},\quad "
        r"\Phi(z_i) = i2^{-d}",
        unread="a sum over quantiles",
    ),
    Claim(
        "CB-IIC-direction",
        "Sec. II-C: 'as the privacy budget is decreased ... it becomes more likely that U points to the opposite direction'",
        at_least((1 - towards * share(epsilon)) / 2, (1 - towards * share(_MORE)) / 2),
        holds(
            "The probability is 1/2 - |w - c|/(2 r alpha), and alpha falls as epsilon grows: it is 1/2 at epsilon = 0 "
            "and 1/2 - |w - c|/(2 r) at infinity."
        ),
        statement=r"\tfrac12 - \tfrac{w-c}{2r\alpha(\epsilon)} \ge \tfrac12 - \tfrac{w-c}{2r\alpha(\epsilon')}\quad"
        r"(\epsilon \le \epsilon',\ w \ge c)",
        where={r"\alpha(\epsilon)": 1 / share(epsilon), r"\alpha(\epsilon')": 1 / share(_MORE), "w-c": towards, "r": 1},
    ),
    Claim(
        "CB-X8-gap",
        "Experiment 8, Fig. 4: 'a larger gap in variance between CorBinQ and LDPQ as epsilon decreases'",
        at_least(
            sp.Min(*(_signed_gain(epsilon, s) for s in (1, -1))),
            sp.Min(*(_signed_gain(_MORE, s) for s in (1, -1))),
        ),
        holds("The gap is 2A(A - |s|) + 2 x_1 x_2, which rises with A at every pair, since |s| is at most 2r."),
        {"x": x.range, "y": y.range, "epsilon": epsilon.range, "factor": factor.range},
        scale=absolute("r^2"),
        tolerance=1e-6,
        derivation=_farther,
        computed=at_least(
            lambda x, y, epsilon, factor: _pair_gain(x, y, epsilon),
            lambda x, y, epsilon, factor: _pair_gain(x, y, epsilon * factor),
        ),
        statement=r"2A^2 - x_1^2 - x_2^2 - (2A|s| - s^2) \ge 2A'^2 - x_1^2 - x_2^2 - (2A'|s| - s^2)\quad(\epsilon \le \epsilon')",
        where={"A'": 1 / sp.tanh(_MORE / 2), "A": 1 / sp.tanh(epsilon / 2), "s": x + y, "x_1": x, "x_2": y},
    ),
    Claim(
        "CB-P1-slopes",
        "App. A: the error rises with gamma_2 and falls with gamma_1 (c = 0, r = 1; both outputs wider by h, one at a time)",
        at_most(
            _second_moment(gamma_1, gamma_2),
            sp.Min(_second_moment(gamma_1 - wider, gamma_2), _second_moment(gamma_1, gamma_2 + wider)),
        ),
        holds("The changes are h(gamma_2 - w) and h(w - gamma_1)."),
        statement=r"-\gamma_1\gamma_2 + (\gamma_1+\gamma_2)w \text{ moves by } h(\gamma_2-w),\ h(w-\gamma_1) \ge 0",
        unread="two moves",
        scale=absolute("r^2"),
    ),
    Claim(
        "CB-T1-slope",
        "App. B, after (20): 'the derivative with respect to gamma_2 is always non-negative'; Case 2, its mirror image",
        at_most(-2 / share(), sp.Min(x + y, -x - y)),
        holds("2 gamma_1 <= -2 r alpha <= -2r <= w + w'. The error that makes CB-T1 false comes later (CB-T1-case)."),
        statement=r"-2r\alpha \le -|\tilde w + \tilde w'|",
        where={**IN_RADII, r"\tilde w'": y, r"\tilde w": x},
        scale=absolute("r"),
    ),
    Claim(
        "CB-T1-cells",
        "App. B: '|P_ij - P*_ij| <= 2^-d' for every i, j",
        at_most(_scaled_distance, 1),
        holds(
            "The difference is at most a quarter of this: the private coins matter in one cell only, by min(f_1, f_2) "
            "- f_1 f_2."
        ),
        {"x": x.range, "y": y.range, "epsilon": epsilon.range, "bits": bits.range},
        statement=r"2^d|P_{i,j} - P^*_{i,j}| \le 1",
        slack=4.1,
        tolerance=1e-6,
        coq="corbin_fl_general.CB_T1_cells",
    ),
)
