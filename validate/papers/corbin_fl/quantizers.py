"""CB Algorithms 1 and 2, Theorem 1, and the local guarantee against the server."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import sympy as sp

from airtight.analytics.federated.corbin import quantizers, two_output_bounds
from airtight.analytics.forms.domain import Range, over, parameter
from airtight.validate.claims.claim import Claim, false, holds
from airtight.validate.claims.relation import absolute, at_least, at_most, equal, relative_to
from airtight.validate.papers.corbin_fl.common import IN_RADII, WIDE, alpha, bits, epsilon, quantity, share, x, y

_LAW = sp.Rational(1, 2) + x / (2 * alpha)  # probability of c + A
_ERROR = _LAW * (alpha - x) ** 2 + (1 - _LAW) * (alpha + x) ** 2


def _plus(x: float, epsilon: float, bits: int = 0) -> float:
    """Probability of the output c + A of one client."""
    return float(quantizers.pair_law(x, 0.0, epsilon=epsilon, bits=bits)[1].sum())


def _single_error(x: float, epsilon: float) -> float:
    """E (Q - x)^2 from the law itself: outputs -A and A with the probabilities of Algorithm 1."""
    plus, A = _plus(x, epsilon), float(quantizers.alpha(epsilon))
    return plus * (A - x) ** 2 + (1 - plus) * (A + x) ** 2


def _local_ratio(x: float, y: float, epsilon: float) -> float:
    plus_x, plus_y = (_plus(v, epsilon, 3) for v in (x, y))
    return max(plus_x / plus_y, (1 - plus_x) / (1 - plus_y))


def _independent(x: float, y: float, epsilon: float, entry: int) -> float:
    """Probability of two independent outputs of Algorithm 1; entries --, -+, +-, ++."""
    plus = [0.5 + v / 2 * math.tanh(epsilon / 2) for v in (x, y)]
    return math.prod(q if entry >> place & 1 else 1 - q for q, place in zip(plus, (1, 0), strict=True))


entry = parameter("entry", 0, 3, integer=True)
_FIRST = sp.floor(entry / 2)
_SECOND = entry - 2 * _FIRST


# the single cell of Algorithm 2 at d = 0, where both clients toss coins, and two outputs of Algorithm 1
_a, _b = (1 + x * share()) / 2, 1 - (1 + y * share()) / 2
_JOINT = (_FIRST * _a + (1 - _FIRST) * (1 - _a)) * (_SECOND * (1 - _b) + (1 - _SECOND) * _b)
_COINS = (1 + (2 * _FIRST - 1) * x * share()) * (1 + (2 * _SECOND - 1) * y * share()) / 4


# The pair


def _enumerated(x: float, y: float, epsilon: float, bits: int) -> np.ndarray:
    """Joint law of the pair, summed over every shared number and both private coins; index 1 is plus."""
    A = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    cells = 2**bits
    levels = cells * (0.5 + x / (2 * A)), cells * (1 - (0.5 + y / (2 * A)))
    plus, minus = (np.clip(level - np.arange(cells), 0.0, 1.0) for level in levels)  # conditional on each shared number
    return np.asarray(np.array([1 - plus, plus]) @ np.array([minus, 1 - minus]).T / cells)


def _enumerated_error(x: float, y: float, epsilon: float, bits: int) -> float:
    A = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    sums = A * np.array([[-2.0, 0.0], [0.0, 2.0]]) - (x + y)
    return float(np.sum(_enumerated(x, y, epsilon, bits) * sums**2))


def _cost_of_bits(x: float, y: float, epsilon: float, bits: int) -> float:
    finite, limit = (float(quantizers.pair_mse(x, y, epsilon=epsilon, bits=d)) for d in (bits, None))
    return finite - limit


def _slack(epsilon: float, bits: int, **_: float) -> float:
    return float(quantizers.slack(epsilon=epsilon, bits=bits))


# Other alphabets

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_ALPHABET = {"shift": Range(-1.0, 1.0, extra=(0.0,)), "stretch": Range(1.0, 3.0), "epsilon": WIDE}


def _shifted_alphabet(shift: float, stretch: float, epsilon: float) -> tuple[float, float]:
    """A private alphabet for [-1, 1]: {-A, A} shifted and stretched so that both outputs stay outside (-A, A)."""
    half = stretch / math.tanh(epsilon / 2) + abs(shift)
    return shift - half, shift + half


def _worst_error(shift: float, stretch: float, epsilon: float) -> float:
    low, high = _shifted_alphabet(shift, stretch, epsilon)
    A = 1 / math.tanh(epsilon / 2)
    half = np.clip([*np.linspace(-2, 2, 401), -A, A], -2, 2) / 2
    return float(np.max(two_output_bounds.pair_mse(half, half, low=low, high=high)))


def _mean_error(shift: float, stretch: float, epsilon: float) -> float:
    """Mean error over s, triangular on [-2, 2], integrated piece by piece between the kinks."""
    low, high = _shifted_alphabet(shift, stretch, epsilon)
    total = 0.0
    for left, right in pairwise(np.unique(np.clip([-2.0, 0.0, low + high, 2.0], -2.0, 2.0))):
        s = (left + right) / 2 + (right - left) / 2 * _NODES
        m = two_output_bounds.pair_mse(s / 2, s / 2, low=low, high=high)
        total += (right - left) / 2 * float(_WEIGHTS @ (m * (2 - np.abs(s)) / 4))
    return total


place = parameter("place", -1.0, 1.0, latex=r"\tfrac{w-c}r")
offset = parameter("offset", -2.0, 2.0, extra=(0.0,), latex=r"\tfrac cr")
_AT_ANY = quantity("pair, d shared bits", w1=x, w2=y, bits=bits)

# Algorithm 2, line by line: the second quantizer sends minus below T_2, and tosses its own coin at ties

chances = [parameter(name, 0.02, 0.98, latex=latex) for name, latex in (("first", "q_1"), ("second", "q_2"))]
_shared = parameter("shared", 1, 10, integer=True, typical=(3, 7), latex="d")
_T1, _T2 = sp.floor(2**_shared * chances[0]), sp.floor(2**_shared * (1 - chances[1]))
_PRINTED_MINUS = (_T2 + sp.Max(0, _T1 - _T2 + 1) * (2**_shared * (1 - chances[1]) - _T2)) / 2**_shared

_PAIR = over(x, y, epsilon, bits)

CLAIMS = (
    Claim(
        "CB-IIC",
        "Sec. II-C, alpha",
        equal(quantity("alpha"), (1 + sp.exp(epsilon)) / (1 - sp.exp(epsilon))),
        false(
            "A sign error, which would make every probability of Algorithm 1 wrong.",
            "misprint",
            corrected_by="CB-A1",
            true_where="nowhere",
        ),
        scale=absolute(""),
    ),
    Claim(
        "CB-EU",
        "Sec. II-C, the mean of U",
        equal(place / alpha, (place + offset) / (2 * alpha)),
        false(
            "2 P(U = 1) - 1 is (w - c)/(r alpha); the unbiasedness that the paper concludes is right.",
            "misprint",
            corrected_by="CB-A1",
            true_where="w = 2c",
        ),
        statement=r"E(U) = 2\,P(U=1) - 1 = \frac{w-c}{r\alpha} = \frac w{2r\alpha}",
        where={**IN_RADII, "w-c": place, "w": place + offset},
        scale=absolute(""),
        near="the paper names no update",
    ),
    Claim(
        "CB-IIC-mse",
        "Sec. II-C, after [17, Lemma 3]: the error of LDP-FL (one client, radius 1)",
        at_most(_ERROR, quantity("worst LDP-FL", clients=1)),
        holds(
            "The error is A^2 - (w - c)^2 for each client, so that r^2 alpha^2/n is the worst case; the error is "
            "'close to' it when alpha is large."
        ),
        {"x": x.range},
        computed=at_most(_single_error, alpha**2),
        statement=r"E(\bar W_{g,j} - w_{g,j})^2 = \frac1{n^2}\sum_i\bigl(A^2-(w_i-c)^2\bigr) \le \frac{r^2\alpha^2}n",
        where={**IN_RADII, "n": 1},
    ),
    Claim(
        "CB-A1",
        "Algorithm 1, Proposition 1",
        equal(_ERROR, quantity("LDPQ, variance", w=x)),
        holds("For a two-point law with mean w the squared error around w is its variance."),
        computed=equal(_single_error, alpha**2 - x**2),
        statement=r"\mathrm{Var}\,Q(w) = A^2 - (w-c)^2,\quad E Q(w) = w,\quad A = r\,\frac{e^\epsilon+1}{e^\epsilon-1}",
        where={r"\mathrm{Var}\,Q(w)": _ERROR, "A": alpha, "w-c": x},
    ),
    Claim(
        "CB-PLDP",
        "Condition C5, Sec. IV-2: CorBin-FL is private by Eq. (3), for one uplink",
        at_most(sp.Max(*((1 + s * x * share()) / (1 + s * y * share()) for s in (1, -1))), sp.exp(epsilon)),
        holds(
            "Each output alone has the law of Algorithm 1. The definition is about one client's output; CB-PLDP* says "
            "what the server knows from both outputs of a pair."
        ),
        {"x": x.range, "y": y.range},
        computed=at_most(_local_ratio, sp.exp(epsilon)),
        statement=r"\frac{P(Q_1(w) = \bar w)}{P(Q_1(w') = \bar w)} \le e^{\epsilon_p}",
    ),
    Claim(
        "CB-d0",
        "Sec. IV-1: 'if d = 0, then the CorBin-FL mechanism reduces to the LDP-FL mechanism'",
        equal(_JOINT, _COINS),
        holds("Without shared bits both clients toss their private coins."),
        {"x": x.range, "y": y.range, "epsilon": epsilon.range, "entry": Range(0, 3, integer=True)},
        computed=equal(
            lambda x, y, epsilon, entry: quantizers.pair_law(x, y, epsilon=epsilon, bits=0).flat[entry],
            lambda x, y, epsilon, entry: _independent(x, y, epsilon, entry),
        ),
        statement=r"P(Q_1 = a, Q_2 = b) = P(Q_1 = a)\,P(Q_2 = b) \quad (d = 0)",
        unread="a joint law; `entry` is the index of the probability",
        scale=absolute("", 1e-2),
    ),
    Claim(
        "CB-A2-line14",
        "Algorithm 2, line 14 as printed: T_1 for T_2 (both in units of a cell)",
        equal(_PRINTED_MINUS, 1 - chances[1]),
        false(
            "Line 14 compares Z with T_1. Shared numbers between the two thresholds are then ties, or never are, and "
            "E(Q_2) is not w'. For q_1 = .75, q_2 = .55 and three bits P(Q_2 = -) is .675 in place of .45.",
            "misprint",
            corrected_by="CB-A2",
            true_where=r"\lfloor 2^dq_1\rfloor = \lfloor 2^d(1-q_2)\rfloor",
        ),
        statement=r"P(Q_2 = c-r\alpha) = 2^{-d}\bigl(T_2 + \max(0, T_1-T_2+1)(2^d(1-q_2)-T_2)\bigr) = 1-q_2",
        where={"T_1": _T1, "T_2": _T2, "d": _shared},
        scale=absolute(""),
        near="the paper names no updates",
    ),
    Claim(
        "CB-A2",
        "Algorithm 2, line 14 corrected",
        equal(
            lambda **point: _enumerated(**point)[1, 1],
            lambda x, y, epsilon, bits: quantizers.pair_law(x, y, epsilon=epsilon, bits=bits)[1, 1],
        ),
        holds("The exact law; compared with the sum over all shared numbers and private coins."),
        _PAIR,
        statement=r"P(++) = \tfrac{f_1(1-f_2)}{2^d} \text{ if } \lfloor a\rfloor = \lfloor b\rfloor, \text{ else } "
        r"\left(\tfrac{s}{2A}\right)^+,\quad a = 2^dq_1,\ b = 2^d(1-q_2)",
        scale=relative_to(lambda bits, **_: 2.0**-bits, "probability of a cell"),
        coq="corbin_fl_general.CB_A2",
    ),
    Claim(
        "CB-T1",
        "Theorem 1, Eq. (4)",
        at_most(_AT_ANY, quantity("slack as printed", bits=bits)),
        false(
            "CorBinQ is optimal on its own alphabet, and in the worst case over the updates. But the minimum is taken "
            "point by point over all alphabets and is 0 at every pair: {c - A, c + A + |s|} or its mirror image is "
            "unbiased and private, and with opposite outputs it has no error. CorBinQ has at least 2A|s| - s^2, so "
            "that (4) fails at every s except 0 once d is large. CB-T1-case shows the error of the proof.",
            corrected_by="CB-T1*-minimax",
            true_where=r"\text{the least is over the alphabet } \{c - A, c + A\} \text{ (CB-T1*)}",
        ),
        {"bits": replace(bits.range, low=1, high=30)},
        statement=r"m_d(w, w') \le \min_{Q'} m(Q', w, w') + \frac{A^2}{2^{d-6}},\quad s = w + w' - 2c",
        where={r"m_d(w, w')": _AT_ANY.expression, r"\min_{Q'} m(Q', w, w')": 0, "A": alpha},
    ),
    Claim(
        "CB-T1*",
        "ours: the exact MSE of a pair",
        equal(_enumerated_error, lambda x, y, epsilon, bits: quantizers.pair_mse(x, y, epsilon=epsilon, bits=bits)),
        holds("The Frechet optimum plus the cost of the private coins where both levels are in the same cell."),
        _PAIR,
        statement=r"m_d = 2A|s| - s^2 + \frac{8A^2}{2^d}(\min(f_1, f_2) - f_1f_2)\,[\lfloor a\rfloor = \lfloor b\rfloor]",
        scale=relative_to(_slack, "the most that d bits cost"),
        coq="corbin_fl_general.CB_T1_star",
    ),
    Claim(
        "CB-T1*-minimax",
        "ours: the worst case over the inputs, any private alphabet",
        at_least(_worst_error, lambda epsilon, **_: two_output_bounds.minimax_mse(epsilon=epsilon)),
        holds(
            "In the worst case no alphabet is better than CorBinQ's; CorBinQ attains the bound in the limit of many "
            "bits."
        ),
        _ALPHABET,
        argued="airtight.analytics.federated.corbin.two_output_bounds.minimax_mse",
        statement=r"\max_{w,w'}m(Q',w,w') \ge r^2\alpha^2 \ (\alpha \le 2),\ 4r^2(\alpha-1)\ (\alpha \ge 2)",
        coq="corbin_fl_general.CB_T1_star_minimax",
    ),
    Claim(
        "CB-T1*-average",
        "ours: the average over uniform inputs, any private alphabet",
        at_least(_mean_error, lambda epsilon, **_: two_output_bounds.average_mse(epsilon=epsilon)),
        holds("On average no alphabet is better than CorBinQ's."),
        _ALPHABET,
        argued="airtight.analytics.federated.corbin.two_output_bounds.average_mse",
        statement=r"E\,m(Q',w,w') \ge \tfrac{4rA-2r^2}3",
        coq="corbin_fl_general.CB_T1_star_average",
    ),
    Claim(
        "CB-T1*-bits",
        "ours: the cost of finitely many shared bits",
        at_most(_cost_of_bits, _slack),
        holds("min(f1, f2) - f1 f2 <= 1/4. The bound is 32 times below the printed slack, and it is attained."),
        _PAIR,
        statement=r"m_d - m_\infty \le \frac{A^2}{2^{d-1}}",
        coq="corbin_fl_general.CB_T1_star_bits",
    ),
)
