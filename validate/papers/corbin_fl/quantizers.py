"""CB Algorithms 1 and 2, Theorem 1, and the local guarantee against the server."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from analytics.enclosures.ball import ball
from analytics.federated import alphabets, quantizers
from validate.claims.claim import Claim, Range, Relation, Verdict, constant

PAPER = "corbin-fl"
_EPSILON = Range(1e-2, 20.0, logarithmic=True)
_PLACE = Range(-1.0, 1.0, extra=(0.0,))
_BITS = Range(0, 10, integer=True)
_ABSOLUTE = 1e-3  # added to both sides of an equality of probabilities: an absolute tolerance of 1e-12


def _epsilon(alpha: float) -> float:
    return 2 * math.atanh(1 / alpha)


def _enumerated(x: float, y: float, epsilon: float, bits: int) -> np.ndarray:
    """The joint law of the pair, added up over every shared number and both private coins; index 1 for plus."""
    A = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    cells = 2**bits
    a, b = cells * (0.5 + x / (2 * A)), cells * (1 - (0.5 + y / (2 * A)))
    law = np.zeros((2, 2))
    for z in range(cells):
        plus = 1.0 if z < math.floor(a) else a - math.floor(a) if z == math.floor(a) else 0.0
        minus = 1.0 if z < math.floor(b) else b - math.floor(b) if z == math.floor(b) else 0.0
        law += np.outer([1 - plus, plus], [minus, 1 - minus]) / cells
    return law


def single_quantizer() -> Claim:
    def variance(x: float, epsilon: float) -> float:
        """From the two-point law itself: c - A and c + A with the probabilities of Algorithm 1."""
        law = quantizers.pair_law(x, 0.0, epsilon=epsilon, bits=0)
        plus = float(law[1].sum())
        A = float(quantizers.alpha(epsilon))
        mean = A * (2 * plus - 1)
        return 1 + A * A - mean * mean

    return Claim(
        id="CB-A1",
        paper=PAPER,
        location="Algorithm 1, Proposition 1",
        statement=r"E Q(w) = w,\quad \mathrm{Var}\,Q(w) = A^2 - (w-c)^2,\quad A = r\,\frac{e^\epsilon+1}{e^\epsilon-1}",
        expected=Verdict.HOLDS,
        reason="A two-point law with mean w. (One added to both sides, where the difference cancels.)",
        domain={"x": _PLACE, "epsilon": _EPSILON},
        claimed=lambda x, epsilon: 1 + ((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2 - x * x,
        actual=variance,
        relation=Relation.EQUAL,
    )


def sign_of_alpha() -> Claim:
    return Claim(
        id="CB-IIC",
        paper=PAPER,
        location="Sec. II-C, alpha",
        statement=r"\frac{1+e^\epsilon}{1-e^\epsilon} = \frac{e^\epsilon+1}{e^\epsilon-1}\quad(\text{of Algorithms 1 and 2})",
        expected=Verdict.FALSE,
        reason="A sign error; it would make every probability of Algorithm 1 wrong.",
        domain={"odds": Range(1.1, 100.0, logarithmic=True)},
        claimed=lambda odds: 1e3 + (1 + odds) / (1 - odds),
        actual=lambda odds: 1e3 + float(quantizers.alpha(math.log(odds))),
        relation=Relation.EQUAL,
        enclose=lambda odds: (ball(1000 + (1 + odds) / (1 - odds)), ball(1000 + (odds + 1) / (odds - 1))),
    )


def local_privacy() -> Claim:
    def ratio(x: float, y: float, epsilon: float) -> float:
        plus = [float(quantizers.pair_law(v, 0.0, epsilon=epsilon, bits=3)[1].sum()) for v in (x, y)]
        return max(plus[0] / plus[1], (1 - plus[0]) / (1 - plus[1]))

    return Claim(
        id="CB-PLDP-one",
        paper=PAPER,
        location="Condition C5, for one uplink",
        statement=r"P(Q_1(w) = \bar w) \le e^{\epsilon}P(Q_1(w') = \bar w)",
        expected=Verdict.HOLDS_UNDER,
        reason="True for an eavesdropper on one uplink only.",
        domain={"x": _PLACE, "y": _PLACE, "epsilon": Range(1e-2, 8.0, logarithmic=True)},
        claimed=lambda x, y, epsilon: math.exp(epsilon),
        actual=ratio,
        if_survived=Verdict.HOLDS_UNDER,
    )


def server_sees_both() -> Claim:
    """The server's view of a pair: the probability of (+, +), radius 1, center 0, d = 5."""

    def both(w: float, partner: float, alpha: float) -> float:
        return float(quantizers.pair_law(w, partner, epsilon=_epsilon(alpha), bits=5)[1, 1])

    def enclosed(w: Fraction, partner: Fraction, alpha: Fraction) -> Fraction:
        a, b = 32 * (Fraction(1, 2) + w / (2 * alpha)), 32 * (Fraction(1, 2) - partner / (2 * alpha))
        if math.floor(a) == math.floor(b):
            return (a - math.floor(a)) * (1 - (b - math.floor(b))) / 32
        return max(a - b, Fraction(0)) / 32

    def bound(alpha: Any) -> Any:
        return (alpha + 1) / (alpha - 1)

    return Claim(
        id="CB-PLDP",
        paper=PAPER,
        location="Sec. III, local privacy of CorBin-FL",
        statement=r"P(Q_1 = Q_2 = c+A \mid w, w_2) \le e^\epsilon P(Q_1 = Q_2 = c+A \mid w', w_2)",
        expected=Verdict.FALSE,
        reason="The server receives both outputs of a pair; one parameter makes an outcome possible that another excludes: the "
        "ratio is infinite.",
        domain={
            "w": _PLACE,
            "other": _PLACE,
            "partner": _PLACE,
            "alpha": Range(1.1, 10.0),
        },
        claimed=lambda w, other, partner, alpha: bound(alpha) * both(other, partner, alpha),
        actual=lambda w, other, partner, alpha: both(w, partner, alpha),
        enclose=lambda w, other, partner, alpha: (
            ball(bound(alpha) * enclosed(other, partner, alpha)),
            ball(enclosed(w, partner, alpha)),
        ),
    )


def pair_law() -> Claim:
    return Claim(
        id="CB-A2",
        paper=PAPER,
        location="Algorithm 2, line 14 mended",
        statement=r"P(++) = \tfrac{f_1(1-f_2)}{2^d} \text{ if } \lfloor a\rfloor = \lfloor b\rfloor, \text{ else } "
        r"\left(\tfrac{s}{2A}\right)^+,\quad a = 2^dq_1,\ b = 2^d(1-q_2)",
        expected=Verdict.HOLDS,
        reason="The exact law, against the sum over all shared numbers and private coins.",
        domain={"x": _PLACE, "y": _PLACE, "epsilon": _EPSILON, "bits": _BITS},
        claimed=lambda x, y, epsilon, bits: (
            float(quantizers.pair_law(x, y, epsilon=epsilon, bits=bits)[1, 1]) + _ABSOLUTE
        ),
        actual=lambda x, y, epsilon, bits: float(_enumerated(x, y, epsilon, bits)[1, 1]) + _ABSOLUTE,
        relation=Relation.EQUAL,
    )


def optimal_pair() -> Claim:
    """Against the pair on the alphabet {-2, 4} with Q_1 = 4 iff the first shared bit is 0, Q_2 = -2 iff it is 0."""
    return Claim(
        id="CB-T1",
        paper=PAPER,
        location="Theorem 1, Eq. (4)",
        statement=r"m_d(w, w') \le \min_{Q'} m(Q', w, w') + \frac{A^2}{2^{d-6}}\quad(w = w' = c + r,\ \epsilon = \log 3)",
        expected=Verdict.FALSE,
        reason="The least is taken point by point over all alphabets: the alphabet {-2, 4} is unbiased and private and has no "
        "error at this point, CorBinQ has 4 r^2.",
        domain={"bits": Range(1, 30, integer=True), "alpha": constant(2.0)},
        claimed=lambda bits, alpha: float(quantizers.published_slack(epsilon=_epsilon(alpha), bits=bits)),
        actual=lambda bits, alpha: float(quantizers.pair_mse(1.0, 1.0, epsilon=_epsilon(alpha), bits=bits)),
        enclose=lambda bits, alpha: (ball(alpha**2 * Fraction(2) ** (6 - int(bits))), ball(4 * alpha - 4)),
    )


def exact_pair() -> Claim:
    def enumerated(x: float, y: float, epsilon: float, bits: int) -> float:
        A = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
        law = _enumerated(x, y, epsilon, bits)
        sums = A * np.array([[-2.0, 0.0], [0.0, 2.0]]) - (x + y)
        return float(np.sum(law * sums**2))

    return Claim(
        id="CB-T1*",
        paper=PAPER,
        location="ours: the MSE of a pair exactly",
        statement=r"m_d = 2A|s| - s^2 + \frac{8A^2}{2^d}(\min(f_1, f_2) - f_1f_2)\,[\lfloor a\rfloor = \lfloor b\rfloor]",
        expected=Verdict.HOLDS,
        reason="The Frechet optimum plus what private coins cost where both levels share a cell.",
        domain={"x": _PLACE, "y": _PLACE, "epsilon": _EPSILON, "bits": _BITS},
        claimed=lambda x, y, epsilon, bits: float(quantizers.pair_mse(x, y, epsilon=epsilon, bits=bits)) + 1.0,
        actual=lambda **point: enumerated(**point) + 1.0,
        relation=Relation.EQUAL,
    )


_ALPHABET = {
    "shift": Range(-1.0, 1.0, extra=(0.0,)),
    "stretch": Range(1.0, 3.0),
    "alpha": Range(1.05, 10.0),
}


def _ends(shift: float, stretch: float, alpha: float) -> tuple[float, float]:
    """A private alphabet of [-1, 1]: {-A, A} moved and stretched so that both ends stay outside."""
    half = alpha * stretch + abs(shift)
    return shift - half, shift + half


def minimax() -> Claim:
    def worst(shift: float, stretch: float, alpha: float) -> float:
        low, high = _ends(shift, stretch, alpha)
        s = np.concatenate([np.linspace(-2, 2, 401), [-alpha, alpha]])
        half = np.clip(s, -2, 2) / 2
        return float(np.max(alphabets.pair_mse(half, half, low=low, high=high)))

    return Claim(
        id="CB-T1*-minimax",
        paper=PAPER,
        location="ours: the worst case over the inputs, any private alphabet",
        statement=r"\max_{w,w'}m(Q',w,w') \ge r^2\alpha^2 \ (\alpha \le 2),\ 4r^2(\alpha-1)\ (\alpha \ge 2)",
        expected=Verdict.HOLDS,
        reason="In the worst case no alphabet beats CorBinQ's; it is its limit that attains the bound.",
        domain=_ALPHABET,
        claimed=lambda shift, stretch, alpha: float(alphabets.minimax_mse(epsilon=_epsilon(alpha))),
        actual=worst,
        relation=Relation.AT_LEAST,
    )


def average() -> Claim:
    nodes, weights = np.polynomial.legendre.leggauss(20)

    def mean(shift: float, stretch: float, alpha: float) -> float:
        """Over s, triangular on [-2, 2], piece by piece between the kinks."""
        low, high = _ends(shift, stretch, alpha)
        kinks = np.unique(np.clip([-2.0, 0.0, low + high, 2.0], -2.0, 2.0))
        total = 0.0
        for left, right in pairwise(kinks):
            s = (left + right) / 2 + (right - left) / 2 * nodes
            m = alphabets.pair_mse(s / 2, s / 2, low=low, high=high)
            total += (right - left) / 2 * float(weights @ (m * (2 - np.abs(s)) / 4))
        return total

    return Claim(
        id="CB-T1*-average",
        paper=PAPER,
        location="ours: the average over uniform inputs, any private alphabet",
        statement=r"E\,m(Q',w,w') \ge \tfrac{4rA-2r^2}3",
        expected=Verdict.HOLDS,
        reason="On average no alphabet beats CorBinQ's.",
        domain=_ALPHABET,
        claimed=lambda shift, stretch, alpha: float(alphabets.average_mse(epsilon=_epsilon(alpha))),
        actual=mean,
        relation=Relation.AT_LEAST,
    )


def finite_bits() -> Claim:
    def excess(x: float, y: float, epsilon: float, bits: int) -> float:
        gap = quantizers.pair_mse(x, y, epsilon=epsilon, bits=bits) - quantizers.pair_mse(
            x, y, epsilon=epsilon, bits=None
        )
        return max(float(gap), 0.0)

    return Claim(
        id="CB-T1*-bits",
        paper=PAPER,
        location="ours: what finitely many shared bits cost",
        statement=r"m_d - m_\infty \le \frac{A^2}{2^{d-1}}",
        expected=Verdict.HOLDS,
        reason="min(f1, f2) - f1 f2 <= 1/4; 32 times below the printed slack, and attained.",
        domain={"x": _PLACE, "y": _PLACE, "epsilon": _EPSILON, "bits": _BITS},
        claimed=lambda x, y, epsilon, bits: float(quantizers.slack(epsilon=epsilon, bits=bits)),
        actual=excess,
    )


CLAIMS = (
    sign_of_alpha,
    single_quantizer,
    local_privacy,
    server_sees_both,
    pair_law,
    optimal_pair,
    exact_pair,
    minimax,
    average,
    finite_bits,
)
