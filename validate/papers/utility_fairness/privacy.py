"""UF Sec. II-C, II-D, III-B: the Gaussian mechanism, Algorithm 1, and the noise by the deviation factor."""

from __future__ import annotations

import math
from fractions import Fraction

import sympy as sp

from airtight.analytics.federated.fair import fairness
from airtight.analytics.forms.balls import gaussian_divergence as enclosed
from airtight.analytics.forms.balls.ball import Ball, ball
from airtight.analytics.forms.domain import Range, parameter
from airtight.analytics.forms.gaussian_mechanism import hockey_stick, least_delta
from airtight.analytics.forms.quantity import normal_cdf
from airtight.analytics.privacy.accounting import composition_theorems
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.validate.claims import reference_integrals
from airtight.validate.claims.claim import Claim, defined, false, holds, holds_under, other_reading
from airtight.validate.claims.proving.derivation import Derivation, Step
from airtight.validate.claims.relation import absolute, at_least, at_most, equal
from airtight.validate.papers.lemmas import POWER_ABOVE, POWER_BELOW

epsilon = parameter("epsilon", 0.01, 20.0, logarithmic=True, typical=(0.95, 0.95), latex=r"\epsilon")
delta = parameter("delta", 1e-8, 1e-2, logarithmic=True, typical=(1e-5, 1e-5), latex=r"\delta")
devices = parameter("devices", 2, 50, integer=True, typical=(10, 10), latex="K")
labels = [parameter(name, 0, 9, integer=True, typical=(0, 9)) for name in ("first", "second")]
strength = parameter("strength", 0.1, 5.0, logarithmic=True, latex=r"\mu")
deviation = parameter("deviation", -8.0, 91.0, typical=(0.0, 1.0), latex=r"\mathcal E")
theta = parameter("theta", 0.1, 1.0, typical=(0.6, 0.6), latex=r"\theta")
any_epsilon = parameter("epsilon", 0.0, 3.0)
sigma = parameter("sigma", 0.3, 10.0)
sensitivity = parameter("sensitivity", 0.01, 100.0, logarithmic=True)
size = parameter("size", 1e-2, 1e3, logarithmic=True, typical=(0.4, 0.9), latex=r"\|h_k\|")
assumed = parameter("assumed", 1e-3, 1.0, logarithmic=True, typical=(0.01, 0.01), latex="S")
norms = [parameter(name, 0.0, 1.0, latex=latex) for name, latex in (("own", r"\|h_k\|/C"), ("mean", r"\|m\|/C"))]
cosine = parameter("cosine", -1.0, 1.0, extra=(-1.0,), latex=r"\cos(h_k, m)")
_APART = (norms[0] - norms[1]) ** 2 + 2 * norms[0] * norms[1] * (1 - cosine)  # squared distance of two vectors
_share, _theta = parameter("deviation", 0.0, 1.0), parameter("theta", 0.0, 0.99)
_SAME = sp.Piecewise((1, sp.Eq(*labels)), (0, True))
_TABLE_EPSILON, _TABLE_DELTA = sp.Rational("0.95"), sp.Rational("1e-5")
_DESCENT = {
    "strong_convexity": Range(0.01, 1.0, logarithmic=True),
    "step": Range(0.05, 0.99),
    "iterations": Range(1, 60, integer=True),
    "samples": Range(1, 1000, integer=True, logarithmic=True),
}
_BELOW_ONE = Range(0.01, 0.999, typical=(0.95, 0.95))


def _tail_at(epsilon: sp.Expr, sigma: sp.Expr) -> sp.Expr:
    """Probability that the privacy loss of Gaussian noise exceeds epsilon, at sensitivity 1."""
    return normal_cdf(1 / (2 * sigma) - epsilon * sigma)


def _classical(epsilon: sp.Expr, delta: sp.Expr) -> sp.Expr:
    """sigma of (9)."""
    return sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta)) / epsilon


truth, share = parameter("truth", 0.5, 0.99), parameter("share", 0.0, 1.0)
_ODDS = truth / (1 - truth)
_TRUE, _FALSE = truth - _ODDS**share * (1 - truth), 1 - truth - _ODDS**share * truth  # of both answers, P - e^eps Q


def _response(truth: float, share: float) -> float:
    """delta of randomised response at the share `share` of its epsilon."""
    epsilon = math.log(truth / (1 - truth))
    return float(composition_theorems.optimal_delta(epsilon, 0.0, count=1, total_epsilon=share * epsilon))


_TABLE_SIGMA = _classical(_TABLE_EPSILON, _TABLE_DELTA)


def _leak(change: Fraction, v: Fraction) -> tuple[Ball, Ball]:
    """theta = 0.6, the noise of Table I; two updates of one value, their deviation factors 0 and `change`."""
    inflated = 1 / (1 - Fraction(3, 5) * change) ** 2
    divergence = enclosed.hockey_stick(
        Fraction("0.95"), distance=0, variance_p=inflated, variance_q=1, dimension=int(v)
    )
    return ball("1e-5"), divergence


def _apart(strong_convexity: float, step: float, iterations: int, samples: int, pull: float = 0.0) -> float:
    """Distance that one sample moves the update of (4) with one parameter; `pull` is xi/K.

    The loss is mu h^2/2 plus the sample's loss: +-G/d times h, or times abs(h) with its kink just above 0; the greater distance
    counts. The broadcast gradient of the other devices is -4 G/d.
    """

    def update(sign: int, kinked: bool) -> float:
        def slope(h: float) -> float:
            return strong_convexity * h + sign * (-1.0 if kinked and h <= 0 else 1.0) / samples

        h = 0.0
        for _ in range(int(iterations)):
            h -= step * (slope(h) - (1 - pull) * slope(0.0) - 4 / samples)
        return h

    return max(abs(update(-1, kinked) - update(1, kinked)) for kinked in (False, True))


def _at_scaled(deviation: float, theta: float, epsilon: float, delta: float) -> float:
    scale = float(fairness.noise_scale(deviation, epsilon=epsilon, delta=delta, theta=theta))
    return float(gaussian.delta(epsilon, sensitivity=1.0, sigma=scale))


_LOSS = {
    r"\Pr(\text{loss} > \epsilon)": _tail_at(epsilon, 1 / strength),
    r"\delta(\epsilon)": hockey_stick(epsilon, sp.Integer(1), 1 / strength),
}
_COPIES = {
    r"D_{e^\epsilon}\bigl(\text{K copies}\bigr)": hockey_stick(
        _TABLE_EPSILON, sp.sqrt(devices), _TABLE_SIGMA
    ),
    r"\delta": _TABLE_DELTA,
}

CLAIMS = (
    Claim(
        "UF-E6",
        "Definitions 1, 2, Eq. (6)",
        equal(sp.Max(0, _TRUE) + sp.Max(0, _FALSE), _TRUE),
        defined(
            "Differential privacy; eps in (0, 1) and outputs in R are unnecessarily narrow. Tried and proved: delta of "
            "randomised response; the definition's greatest event in Coq."
        ),
        computed=equal(_response, _TRUE),
        derivation=lambda: Derivation(
            facts=[
                (1 - truth >= sp.Rational(1, 200)),
                (_TRUE >= 0, Derivation(uses=[(1 - truth, POWER_BELOW.at(odds=_ODDS, share=share))])),
                (_FALSE <= 0, Derivation(through=[Step(1 - 2 * truth, [(truth, POWER_ABOVE.at(odds=_ODDS, share=share))])])),
            ]
        ),
        statement=r"P(\mathcal M(D) \in O) \le e^\epsilon P(\mathcal M(D') \in O) + \delta",
        unread="a definition; delta of randomised response is tried",
        scale=absolute("", 1e-2),
        coq="utility_fairness_general.UF_E6",
    ),
    Claim(
        "UF-E7",
        "Eq. (7), (8), Definition 3",
        equal(
            least_delta(any_epsilon, sensitivity, sensitivity * sigma), least_delta(any_epsilon, sp.Integer(1), sigma)
        ),
        defined(
            "Noise in units of the sensitivity, which Algorithm 1 never bounds. Tried: only the ratio matters, "
            "compared with the numerically integrated divergence."
        ),
        computed=equal(
            lambda epsilon, sigma, sensitivity: reference_integrals.mixture_divergence(
                epsilon, [(1.0, sensitivity, (sensitivity * sigma) ** 2)], [(1.0, 0.0, (sensitivity * sigma) ** 2)]
            ),
            lambda epsilon, sigma, sensitivity: gaussian.delta(epsilon, sensitivity=1.0, sigma=sigma),
        ),
        domain={s.name: s.range for s in (sigma, sensitivity, any_epsilon)},
        statement=r"\mathcal M(D) = f(D) + n,\quad n \sim N(0, S_f^2\sigma^2),\quad S_f = \max\|f(D)-f(D')\|",
        unread="a definition; delta of this noise is tried",
        scale=absolute("", 1e-2),
        tolerance=1e-8,
        idle=["sensitivity"],
    ),
    Claim(
        "UF-A1",
        "Algorithm 1, lines 5 and 7 (one sample, x = 1, squared error, w = 0: the gradient is minus its label)",
        at_most(sp.Integer(1), sp.exp(epsilon) * _SAME + delta),
        false(
            "The gradients are sent and broadcast without noise. This is a deterministic release: delta = 1 for data "
            "that change it. Nor does the algorithm enforce any sensitivity.",
            true_where="the gradients get noise as well as the updates",
            uncorrected="another algorithm would be needed: the noise that the gradients need is another mechanism",
        ),
        statement=r"P(\nabla\mathcal L_k(D) = -y) \le e^\epsilon P(\nabla\mathcal L_k(D') = -y) + \delta"
        r"\quad\text{with the labels } y, y' \text{ of } D, D'",
        where={r"P(\nabla\mathcal L_k(D) = -y)": 1, r"P(\nabla\mathcal L_k(D') = -y)": _SAME},
        near={"first": 0, "second": 1},
    ),
    Claim(
        "UF-loss",
        "After Algorithm 1: 'the privacy loss will be no more than eps with probability 1 - delta', with the noise of "
        "(9)",
        at_most(_tail_at(epsilon, _classical(epsilon, delta)), delta),
        holds_under("True of Gaussian noise by (9), whose proof bounds exactly this probability."),
        {"epsilon": Range(0.01, 0.999), "delta": Range(1e-12, 0.5, logarithmic=True, typical=(1e-5, 1e-5))},
        statement=r"\Pr(\text{loss} > \epsilon) = \Phi\Bigl(\tfrac\mu2-\tfrac\epsilon\mu\Bigr) \le \delta,\quad "
        r"\mu = \epsilon/\sqrt{2\log(1.25/\delta)}",
        where={r"\mu": 1 / _classical(epsilon, delta)},
        slack=3.2,
    ),
    Claim(
        "UF-loss-any",
        "After Algorithm 1: the same of every (eps, delta)-DP mechanism ('it means that')",
        at_most(*_LOSS.values()),
        other_reading(
            "The sentence is true of the noise that the paper uses (UF-loss), and it implies (eps, delta)-DP. It does "
            "not follow from (eps, delta)-DP: Gaussian noise with exactly the delta of (6) loses more than eps with a "
            "greater probability.",
            corrected_by="UF-loss",
        ),
        statement=r"\Pr(\text{loss} > \epsilon) \le \delta(\epsilon)",
        where=_LOSS,
        near={"epsilon": 0.95, "strength": 0.25},
    ),
    Claim(
        "UF-E26-clear",
        "Sec. III-B: the deviation factor itself is sent to the device (cosines in tenths, the best device's 1)",
        at_most(sp.Integer(1), sp.exp(epsilon) * _SAME + delta),
        false(
            "The factor is computed from the updates and sent without noise. It reveals any data that change it: "
            "delta = 1. The noise of (25) protects the model, not the factor.",
            "step",
            corrected_by="UF-E25",
            true_where=r"\mathcal E_k \text{ does not depend on the data}",
        ),
        statement=r"P(\mathcal E_k(D) = 1-\tfrac s{10}) \le e^\epsilon P(\mathcal E_k(D') = 1-\tfrac s{10}) + \delta"
        r"\quad\text{with the cosines } \tfrac s{10}, \tfrac{s'}{10} \text{ of } D, D'",
        where={
            r"P(\mathcal E_k(D) = 1-\tfrac s{10})": 1,
            r"P(\mathcal E_k(D') = 1-\tfrac s{10})": _SAME,
        },
        near={"first": 9, "second": 8},
    ),
    Claim(
        "UF-A1-variance",
        "Eq. (25), (27): noise scaled by the deviation factor",
        at_most(
            lambda change, v: fairness.variance_leak(0.95, deviation_change=change, theta=0.6, dimension=v),
            _TABLE_DELTA,
            balls=_leak,
        ),
        false(
            "The variance itself depends on the data and reveals them, the more so the larger the model: delta is .29 "
            "at a change of .005 for the paper's 109386 parameters, and .18 at a change of .05 for 650.",
            corrected_by="UF-E25",
            true_where=r"\mathcal E_k \text{ does not depend on the data}",
        ),
        {
            "change": Range(0.001, 0.5, logarithmic=True),
            "v": Range(10, 109_386, integer=True, logarithmic=True, typical=(109_386, 109_386)),
        },
        statement=r"D_{e^\epsilon}\bigl(N(0,r^2\sigma^2I_v) \,\|\, N(0,\sigma^2I_v)\bigr) \le \delta,\quad r = "
        r"\tfrac1{1-\theta\,\Delta\mathcal E}",
        near={"change": 0.005},
        effort=1 / 4,
    ),
    Claim(
        "UF-E27",
        "Eq. (27): a noisy copy for every device, the noise of Table I",
        at_most(*_COPIES.values()),
        other_reading(
            "Each device receives its own copy, and one copy is within delta (FDP-D2-eps1). An observer who collects "
            "K independent copies averages the noise: epsilon .71 becomes 2.54 for ten devices.",
            corrected_by="FDP-D2-eps1",
            true_where="K = 1",
        ),
        statement=r"D_{e^\epsilon}\bigl(\text{K copies}\bigr) \le \delta",
        where=_COPIES,
    ),
    Claim(
        "UF-E7*",
        "ours: S_f of Eq. (8) for the local update of j iterations of (10), losses of slope at most G, 0 <= xi <= 2K",
        at_most(
            _apart,
            lambda pull, **point: fairness.sensitivity(lipschitz=1.0, smoothness=point["strong_convexity"], **point),
        ),
        holds(
            "One sample moves the gradient of (4) by at most (1 + |1 - xi/K|) 2G/d, including its broadcast part; "
            "attained at xi = 2K."
        ),
        {**_DESCENT, "pull": Range(0.0, 2.0, extra=(2.0,))},
        argued="airtight.analytics.federated.fair.fairness.sensitivity",
        statement=r"S_f \le \frac{4G}{\mu d}\bigl(1-(1-\eta\mu)^j\bigr),\quad 0 \le \xi \le 2K",
        coq="utility_fairness_general.UF_E7_star",
    ),
    Claim(
        "UF-E7*-common",
        "ours: the same if the broadcast gradient is common to both data sets",
        equal(
            _apart,
            lambda strong_convexity, step, iterations, samples: (
                4 / (strong_convexity * samples) * -math.expm1((iterations - 1) * math.log1p(-step * strong_convexity))
            ),
        ),
        holds(
            "Both gradients of the local loss in (4) change by 2G/d in every iteration except the first, where they "
            "cancel; attained by a kink that one sample inverts."
        ),
        _DESCENT,
        argued="airtight.analytics.federated.fair.fairness.sensitivity",
        statement=r"S_f = \frac{4G}{\mu d}\bigl(1-(1-\eta\mu)^{j-1}\bigr)",
        coq="utility_fairness_general.UF_E7_star_common",
    ),
    Claim(
        "UF-A1-client",
        "Sec. II-D: 'the objective is to conceal whether a given MTD contributed', with any constant for the "
        "sensitivity of the "
        "mean, such as the .01 of Sec. IV (Table I; the neighbour's update is 0)",
        at_most(least_delta(_TABLE_EPSILON, size / devices, assumed * _TABLE_SIGMA), _TABLE_DELTA),
        false(
            "A device that contributes moves the mean by its update over K, and nothing bounds an update: the "
            "sensitivity (8) "
            "of (5) is infinite, and so is the noise that hides a device. In our analogue (`utility_training.changes`) "
            "the "
            "updates have norms of .4 to .95 in six rounds, which is .04 to .095 in the mean of ten. The .01 is a "
            "change by one sample "
            "(UF-IV-sensitivity).",
            "step",
            corrected_by="UF-A1-client*",
            true_where=r"\|h_k\| \le KS",
        ),
        statement=r"D_{e^{\epsilon_g}}\bigl(N(\|h_k\|/K, S^2\sigma_g^2) \,\big\|\, N(0, S^2\sigma_g^2)\bigr) \le \delta_g",
        unread="a divergence of two laws; delta with this noise is tried",
        scale=absolute("delta"),
    ),
    Claim(
        "UF-A1-client*",
        "ours: the sensitivity of the mean of updates that are clipped to norm C, for a device that is replaced or "
        "left out (m is the "
        "other update, or the mean of the others; in units of C)",
        at_most(_APART, 4),
        holds(
            "Attained by opposite updates of norm C. With C = 1 and ten devices it is .2, and the noise for Table I is "
            "twenty times "
            "that of the simulation."
        ),
        computed=at_most(_APART, lambda **_: (float(fairness.client_sensitivity(clip=3.0, devices=10)) * 10 / 3) ** 2),
        statement=r"\|h_k-m\|^2 \le 4C^2 = (KS_g)^2,\quad S_g = \tfrac{2C}K",
        unread="a norm; its square is written out",
    ),
    Claim(
        "UF-E25",
        "Eq. (25), for a public deviation factor in [0, 1] and eps < 1",
        at_most(least_delta(epsilon, sp.Integer(1), _classical(epsilon, delta) / (1 - _share * _theta)), delta),
        holds_under(
            "This is (9) at a smaller epsilon; needs that epsilon in (0, 1) and a deviation factor that does not "
            "depend on the data."
        ),
        {
            "deviation": Range(0.0, 1.0),
            "theta": Range(0.0, 0.99),
            "epsilon": _BELOW_ONE,
            "delta": Range(1e-12, 0.99, logarithmic=True),
        },
        computed=at_most(_at_scaled, lambda delta, **_: delta),
        statement=r"\hat\sigma = \tfrac1{\epsilon(1-\mathcal E\theta)}\sqrt{2\log(1.25/\delta)} \implies "
        r"(\epsilon,\delta)\text{-DP}",
        unread="an implication; delta with this noise is tried",
        slack=3.4,
    ),
    Claim(
        "UF-E25-outside",
        "Eq. (25) with the deviation factors that (26) really gives, in [-8, 91] (noise relative to that of (9))",
        at_least(1 / (1 - deviation * theta), 1),
        false(
            "The noise is negative for E theta > 1 and infinite at 1; for negative E the worse device gets less noise.",
            "step",
            corrected_by="UF-E25",
            true_where=r"0 \le \mathcal E\theta < 1",
        ),
        statement=r"\tfrac{\hat\sigma_{g,k}}{\sigma_g} = \tfrac1{1-\mathcal E\theta} \ge 1",
        scale=absolute("noise of (9)"),
        given=[sp.Ne(deviation * theta, 1)],
    ),
)
