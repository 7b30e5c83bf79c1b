"""CB App. A to E: the steps on alphabets, the limit law, covariances and moments of the dropout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.forms.domain import parameter
from airtight.validate.claims.claim import Claim, false, holds
from airtight.validate.claims.proving.derivation import Derivation, Step
from airtight.validate.claims.relation import absolute, at_least, at_most, equal, relative_to
from airtight.validate.papers.corbin_fl.common import (
    IN_RADII,
    alpha,
    at_least_one,
    by_sign_of_sum,
    epsilon,
    limit_law,
    of_system,
    p,
    pairs,
    share,
    x,
    y,
)
from airtight.validate.papers.lemmas import NOT_NEGATIVE

both = parameter("both", -2.0, 2.0, extra=(0.0,), latex="s")  # w + w', in radii
stretch = parameter("stretch", 1.0, 4.0, latex="k")
delta = of_system("delta", 1e-6, 0.5, logarithmic=True, typical=(1e-5, 1e-5))
part = parameter("part", 0.01, 0.99, latex=r"\tfrac{\delta_1}\delta")
inside = parameter("inside", 0.0, 1.0, latex=r"P(B\mid\mathcal E)")
outside = parameter("outside", 0.0, 1.0, latex=r"P(B\mid\mathcal E^c)")
likely = parameter("likely", 0.5, 0.999, latex=r"P(\mathcal E)")
magnitude = parameter("magnitude", 0.1, 100.0, logarithmic=True, latex="|c|")

output = parameter("output", 1.001, 1e3, logarithmic=True, latex=r"\gamma_2")
one, two = (parameter(name, -1.0, 1.0, latex=latex) for name, latex in (("w1", "w"), ("w2", "w'")))
below, above = parameter("low", -9.0, -1.5, latex=r"\gamma_1"), parameter("high", 1.5, 9.0, latex=r"\gamma_2")


def _second_moment(mean: sp.Expr) -> sp.Expr:
    """Second moment of an output with this mean on the alphabet of `below` and `above`."""
    return ((above - mean) * below**2 + (mean - below) * above**2) / (above - below)


_A = 1 / share()  # alpha, in a form that is easy to enclose
_COVARIANCE = sum(mass * one * two * _A**2 for (one, two), mass in limit_law(_A).items()) - x * y
_BROKEN = 2 * p * (1 - p)  # probability that exactly one of two drops out
_VARIANCE = pairs * (_BROKEN * (1 - _BROKEN) ** 2 + (1 - _BROKEN) * _BROKEN**2)
_PRINTED_VARIANCE = 2 * pairs * p * (1 - p) * (1 - 2 * p * (1 - p))


def _least_output(epsilon: float) -> float:
    """Least upper output whose likelihood ratio is at most e^epsilon, by bisection; c = 0, r = 1."""
    low, high = 1.0, 1e9
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if (middle + 1) <= math.exp(epsilon) * (middle - 1) else (middle, high)
    return high


entry = parameter("entry", 0, 3, integer=True)  # both minus, then plus for the second, for the first, for both
_PRINTED_LAW = ((-x - y) / (2 * _A), (1 + y / _A) / 2, (1 + x / _A) / 2, 0)


def _entries(law: Sequence[Any]) -> sp.Expr:
    *first, last = law
    return sp.Piecewise(*((mass, sp.Eq(entry, k)) for k, mass in enumerate(first)), (last, True))


def _limit_law(x: float, y: float, epsilon: float) -> np.ndarray:
    return quantizers.pair_law(x, y, epsilon=epsilon, bits=None)


def _printed_law(x: float, y: float, epsilon: float, entry: int) -> float:
    A = 1 / math.tanh(epsilon / 2)
    return ((-x - y) / (2 * A), 0.5 + y / (2 * A), 0.5 + x / (2 * A), 0.0)[entry]


def _covariance_bound() -> Derivation:
    """How CB-T2-cov is proved: alpha abs(s) - alpha^2 - x y is below by (alpha - 1)(2 - abs(s)) and (1 - x)(1 - y)."""

    def signed(s: sp.Expr, one: sp.Expr, two: sp.Expr) -> Derivation:
        parts = [(_A - 1, NOT_NEGATIVE.at(number=2 - s)), (1 - one, NOT_NEGATIVE.at(number=1 - two))]
        return Derivation(through=[_A * s - _A**2 - x * y, Step(-((_A - 1) ** 2), parts)])

    return by_sign_of_sum([at_least_one(_A)], signed)


def _covariance(x: float, y: float, epsilon: float) -> float:
    A, sign = float(quantizers.alpha(epsilon)), np.array([-1.0, 1.0])
    return float(A * A * sign @ _limit_law(x, y, epsilon) @ sign) - x * y


def _variance_of_one_pair(p: float) -> float:
    """Variance of the indicator that exactly one of two clients drops out."""
    law = [(a != b, (p if a else 1 - p) * (p if b else 1 - p)) for a, b in product((0, 1), repeat=2)]
    mean = sum(probability for broken, probability in law if broken)
    return sum(probability * (broken - mean) ** 2 for broken, probability in law)


CLAIMS = (
    Claim(
        "CB-E8",
        "App. A, Eq. (7)-(9); App. B, Eq. (13), (14)",
        equal(sp.exp(epsilon) * (output - 1) - (output + 1), (sp.exp(epsilon) - 1) * (output - alpha)),
        holds(
            "The difference that decides on the left is e^eps - 1 > 0 times the one on the right. ((13) prints the "
            "fraction inverted, and a minus in place of a plus; its conclusion is (8).) Proved: the identity at c = 0 and r = 1; "
            "signs and scale by hand."
        ),
        scale=relative_to(lambda epsilon, output: math.exp(epsilon) * (output + 1)),
        computed=equal(
            lambda epsilon, output: math.exp(epsilon) * (output - 1) - (output + 1),
            lambda epsilon, output: math.expm1(epsilon) * (output - _least_output(epsilon)),
        ),
        statement=r"\frac{\gamma_2-c+r}{\gamma_2-c-r} \le e^{\epsilon_p} \iff \gamma_2 \ge c + r\alpha(\epsilon_p)",
        unread="an equivalence; tried is the identity behind it, c = 0 and r = 1",
    ),
    Claim(
        "CB-E21",
        "App. B, Eq. (10)-(12), (18), (19), (21), (22)",
        equal(_entries([limit_law(_A)[first, second] for first in (-1, 1) for second in (-1, 1)]), _entries(_PRINTED_LAW)),
        holds("The Frechet bound: the probability that both send plus is as small as the marginals allow. "
            "Proved for the law of CB-T1*, which is derived in Coq."),
        given=[x + y <= 0],
        computed=equal(lambda entry, **point: _limit_law(**point).flat[int(entry)], _printed_law),
        derivation=Derivation(each=entry),
        unread="four entries, tried by index",
        statement=r"P_{1,1} = \frac{2c-w-w'}{2r\alpha},\ P_{1,2} = \frac12+\frac{w'-c}{2r\alpha},\ "
        r"P_{2,1} = \frac12+\frac{w-c}{2r\alpha},\ P_{2,2} = 0\qquad (w+w' \le 2c)",
        scale=absolute("", 1e-2),
        coq="corbin_fl_general.CB_E21",
    ),
    Claim(
        "CB-E15-first",
        "App. B, Eq. (15), and with w for w' (16): second moments (c = 0)",
        equal(_second_moment(one), _second_moment(two)),
        false(
            "The indices are exchanged: P_11 + P_21 is the probability that Q_2 = gamma_1 (12); the probability for "
            "Q_1 is P_11 + P_12 (10). Only the sum of both is used, and it is right. (Theorem 1 prints [r - c, c + r] "
            "for [c - r, c + r].)",
            "misprint",
            true_where=r"w = w' \text{ or } \gamma_1 + \gamma_2 = 2c",
            uncorrected="only the sum of both is used, and it is right as printed",
        ),
        statement=r"\frac{(\gamma_2-w)\gamma_1^2 + (w-\gamma_1)\gamma_2^2}{\gamma_2-\gamma_1} = "
        r"\frac{(\gamma_2-w')\gamma_1^2 + (w'-\gamma_1)\gamma_2^2}{\gamma_2-\gamma_1}",
        scale=absolute("r^2"),
        near="the paper names no updates",
    ),
    Claim(
        "CB-T1-case",
        "App. B, Case 1, after (20): 'the minimum is achieved by taking the maximum value for gamma_1' (c = 0, r = 1)",
        at_least(-2 * both * stretch * alpha, -2 * both * alpha),
        false(
            "With gamma_2 = -gamma_1 the case w + w' <= gamma_1 + gamma_2 leaves only w + w' <= 0. For the positive "
            "sums that the case also contains, 2(w + w') gamma_1 is least where gamma_1 is farthest out, and the "
            "least error is at asymmetric alphabets.",
            "step",
            corrected_by="CB-T1*",
            true_where=r"w + w' \le 2c",
        ),
        statement=r"2(w+w')\gamma_1 \ge 2(w+w')(-r\alpha) \quad\text{for } \gamma_1 = -k\,r\alpha,\ k \ge 1",
        where={**IN_RADII, "w+w'": both, r"\gamma_1": -stretch * alpha},
        scale=absolute("r^2"),
        near="the paper names no updates",
    ),
    Claim(
        "CB-T2-cov",
        "App. C, the bound of the covariance (r = 1)",
        at_most(_COVARIANCE, -((alpha - 1) ** 2)),
        holds(
            "The covariance is A abs(s) - A^2 - x y (in Coq), which is greatest where both inputs are at the same end point."
        ),
        {"x": x.range, "y": y.range},
        statement=r"\mathrm{Cov}(\bar W_i, \bar W_{p_i}) \le -r^2(\alpha-1)^2",
        where={**IN_RADII, r"\mathrm{Cov}(\bar W_i, \bar W_{p_i})": _COVARIANCE},
        scale=relative_to(lambda epsilon, **_: (1 / math.tanh(epsilon / 2) - 1) ** 2),
        computed=at_most(_covariance, -((alpha - 1) ** 2)),
        derivation=_covariance_bound,
        coq="corbin_fl_general.CB_T2_cov",
    ),
    Claim(
        "CB-T2-sum",
        "App. C, the sum of covariances (n = 2 pairs, each of covariance -magnitude; the signs are inverted)",
        equal(2 * pairs * magnitude / (2 * pairs) ** 2, 2 * pairs * magnitude / (2 * (2 * pairs) ** 2)),
        false(
            "Each i has one partner, so that the double sum is the sum over i: the factor is 1/n^2. The error only "
            "loosens Theorem 2.",
            "step",
            corrected_by="CB-T2*",
            true_where="nowhere",
        ),
        statement=r"\frac1{n^2}\sum_{i\ne i'}\mathrm{Cov}(\bar W_i, \bar W_{i'}) = \frac1{2n^2}\sum_i\mathrm{Cov}(\bar "
        r"W_i, \bar W_{p_i})",
        where={
            "n": 2 * pairs,
            r"\sum_{i\ne i'}\mathrm{Cov}(\bar W_i, \bar W_{i'})": 2 * pairs * magnitude,
            r"\sum_i\mathrm{Cov}(\bar W_i, \bar W_{p_i})": 2 * pairs * magnitude,
        },
        near="a covariance has no value in the paper",
    ),
    Claim(
        "CB-T4-moments",
        "App. E, moments of the broken pairs (n = 2 pairs)",
        equal(_VARIANCE, _PRINTED_VARIANCE),
        holds("The sum has n/2 independent indicators of probability 2p(1-p)."),
        statement=r"\mathrm{Var}\sum_i E_i = np(1-p)(1-2p(1-p))",
        where={r"\mathrm{Var}\sum_i E_i": _VARIANCE, "n": 2 * pairs},
        computed=equal(lambda pairs, p: pairs * _variance_of_one_pair(p), _PRINTED_VARIANCE),
    ),
    Claim(
        "CB-T4-survival",
        "App. E, 'F_i is the indicator that the ith client does not drop out'",
        equal(1 - p, p),
        false(
            "p is the probability of dropping out, so that this probability is 1 - p, and theta must be centred there.",
            "step",
            corrected_by="CB-T4*",
            true_where=r"p = \tfrac12",
        ),
        statement=r"P(F_i = 1) = p",
        where={"P(F_i = 1)": 1 - p},
    ),
    Claim(
        "CB-T4-error",
        "App. E: the squared error is at most (2 r alpha)^2 (radius 1; updates at one end point, all outputs at the "
        "other)",
        at_most((alpha + 1) ** 2, (2 * alpha) ** 2),
        holds("Outputs are within A of the center, and updates within r; attained without noise."),
        statement=r"\Bigl|\frac1N\sum_i(\bar W_i - w_i)\Bigr|^2 = (r\alpha+r)^2 \le (2r\alpha)^2\quad\text{at worst}",
        where=IN_RADII,
        slack=1.01,
    ),
    Claim(
        "CB-T4-rest",
        "App. E, last line: 8 r^2 alpha^2 delta_1 (in units of r^2 alpha^2)",
        equal(2 * 4 * (delta - part * delta), 8 * part * delta),
        false(
            "Both events fail with probability at most delta - delta_1, so that 8 (delta - delta_1) follows.",
            "misprint",
            corrected_by="CB-T4*",
            true_where=r"\delta_1 = \delta/2",
        ),
        statement=r"8r^2\alpha^2(\delta-\delta_1) = 8r^2\alpha^2\delta_1"
        r"\quad\text{as a bound of } (2r\alpha)^2\bigl(P(\mathcal E^c)+P(\mathcal F^c)\bigr)",
        where={r"r^2\alpha^2": 1, r"\delta_1": part * delta},
    ),
    Claim(
        "CB-T4-conditional",
        "App. E, the guarantee: the last expression is conditional on E",
        at_most(inside, likely * inside + (1 - likely) * outside),
        false(
            "The factor P(E) is missing in print. With it the authors' conclusion holds at no cost: P(T) <= "
            "P(E)[e^eps P(T'|E) + delta_1] + P(E^c) <= e^eps P(T' and E) + delta_1 + (delta - delta_1) <= e^eps P(T') "
            "+ delta.",
            "misprint",
            corrected_by="CB-T4*-privacy",
            true_where=r"P(B\mid\mathcal E) \le P(B\mid\mathcal E^c)",
        ),
        statement=r"P(B\mid\mathcal E) \le P(B)",
        where={"P(B)": likely * inside + (1 - likely) * outside},
        near="the paper names no event",
    ),
)
