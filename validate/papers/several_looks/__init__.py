r"""Several looks (AT): our own theorems on privacy over a channel, with balls; proofs on the page Channel.

Device k is received at two real looks with coefficients (a, b), one other device with (c, d). V is the covariance of the looks
without device k, v the noise that takes the place of the others' (theorem V1).
"""

from __future__ import annotations

import sympy as sp

from airtight.analytics.forms.balls.looks_noise import others_noise as enclosed
from airtight.analytics.forms.domain import Range, parameter
from airtight.analytics.forms.gaussian_mechanism import hockey_stick, least_delta
from airtight.analytics.forms.quantity import normal_cdf
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy
from airtight.validate.claims.claim import Claim, Paper, false, holds
from airtight.validate.claims.proofs import proofs_beside
from airtight.validate.claims.relation import absolute, at_most, equal
from airtight.validate.papers.several_looks.limits import LIMITS

_MODERATE = (0.5, 2.0)
a = parameter("a", 0.1, 3.0, typical=_MODERATE)
b = parameter("b", -3.0, 3.0, typical=_MODERATE)
c = parameter("c", -3.0, 3.0, typical=_MODERATE)
d = parameter("d", -3.0, 3.0, typical=_MODERATE)
other = parameter("t", 0.0, 3.0, typical=(0.1, 1.0))
own = parameter("s", 0.01, 3.0, typical=(0.1, 1.0))
receiver = parameter("N", 0.01, 3.0, typical=(0.1, 1.0))
code = parameter("x", 0.0, 3.0, typical=(0.5, 2.0))
epsilon = parameter("epsilon", 0.0, 5.0, typical=(0.5, 2.0), latex=r"\epsilon")
more = parameter("h", 0.0, 2.0, typical=(0.1, 1.0))
share = parameter("p", 0.02, 0.9, typical=(0.1, 0.5))
budget = parameter("B", 0.05, 3.0, typical=(0.1, 1.0))
first = parameter("u", -2.0, 2.0, typical=(0.5, 1.5))
second = parameter("w", -2.0, 2.0, typical=(0.5, 1.5))
spread = parameter("spread", 0.2, 10.0, logarithmic=True, typical=(0.5, 2.0), latex=r"\sigma")


def _determinant(noise: sp.Expr) -> sp.Expr:
    """det V for one other device of this noise variance, multiplied out: no term is negative."""
    return receiver**2 + receiver * noise * (c**2 + d**2)


def _quadratic(noise: sp.Expr) -> sp.Expr:
    """q = a_k^T V^-1 a_k for one other device of this noise variance, multiplied out likewise."""
    return (receiver * (a**2 + b**2) + noise * (a * d - b * c) ** 2) / _determinant(noise)


_Q = _quadratic(other)
_V = 1 / _Q
_P, _M, _R = other * c**2 + receiver, other * c * d, other * d**2 + receiver
_DETERMINANT = _determinant(other)
_WITH = (_P + own * a**2) * (_R + own * b**2) - (_M + own * a * b) ** 2
# trace of V^-1 W, W = V + s a a^T
_TRACE = (_R * (_P + own * a**2) - 2 * _M * (_M + own * a * b) + _P * (_R + own * b**2)) / _DETERMINANT
_VOLUME = _DETERMINANT + own * (receiver * (a**2 + b**2) + other * (a * d - b * c) ** 2)  # det W, multiplied out
_FULL = (_TRACE - 2 + code**2 * _Q - sp.log(_VOLUME / _DETERMINANT)) / 2
_ONE_LOOK = ((own + code**2) / _V - sp.log(1 + own / _V)) / 2

# what combines both looks such that both devices arrive with coefficient 1 (zero forcing)
_FORCED = ((d - b) ** 2 + (a - c) ** 2) / (a * d - b * c) ** 2
_INDEPENDENT = {"b": Range(-3.0, -0.1), "c": Range(0.1, 3.0), "d": Range(0.1, 3.0)}  # the coefficients of both devices

# a bit as +-1 with noise of deviation `spread`: decided, and as it is received
_WRONG = normal_cdf(-1 / spread)
_DECIDED = sp.Max(1 - _WRONG - sp.exp(epsilon) * _WRONG, 0)
_RECEIVED = hockey_stick(epsilon, 2, spread)


def _by_code(a: float, b: float, c: float, d: float, t: float, N: float) -> float:
    return float(
        channel_privacy.others_noise([[a, b], [c, d]], noise_variance=[0.0, t], receiver_noise_variance=N, present=[True, True])[
            0
        ][0]
    )


def _ball(a: float, b: float, c: float, d: float, t: float, N: float) -> float:
    given = {"noise_variance": [0.0, float(t)], "receiver_noise_variance": float(N), "present": [True, True]}
    return float(enclosed([[float(a), float(b)], [float(c), float(d)]], device=0, **given).mid())  # type: ignore[arg-type]


_LOOKS = {"a": a.range, "b": b.range, "c": c.range, "d": d.range, "t": other.range, "N": receiver.range}

_CLAIMS: tuple[Claim, ...] = (
    Claim(
        "AT-V1-determinant",
        "theorem V1, the volume",
        equal(_WITH / _DETERMINANT, 1 + own * _Q),
        holds("The determinant of a sum with a matrix of rank one; 1/v is the quadratic form."),
    ),
    Claim(
        "AT-V1-divergence",
        "theorem V1, absent: the Kullback-Leibler divergence of the whole signal is that of one look with noise v",
        equal(_FULL, _ONE_LOOK),
        holds("Whitening and a rotation leave one row that depends on the device; the others have the same law."),
        scale=absolute("divergence"),
    ),
    Claim(
        "AT-V1-code",
        "looks.others_noise, the lower end",
        at_most(_by_code, lambda a, b, c, d, t, N: _ball(a, b, c, d, t, N)),
        holds("The proved lower end is below the ball of v."),
        _LOOKS,
        statement=r"\underline v \le \frac{1}{a_k^TV^{-1}a_k}",
        unread="the lower end is an algorithm",
        tolerance=1e-12,
    ),
    Claim(
        "AT-V1-bounds",
        "theorem V1, the lower limit: no look is without the receiver's noise",
        at_most(_Q, (a**2 + b**2) / receiver),
        holds("V is at least N I, so that v is at least N over the square of the coefficients."),
    ),
    Claim(
        "AT-V1-combination",
        "theorem V1, the upper end: any combination of the looks",
        at_most(
            (first * a + second * b) ** 2,
            _Q * (other * (first * c + second * d) ** 2 + receiver * (first**2 + second**2)),
        ),
        holds("Cauchy's inequality in the inner product of V."),
        scale=absolute("square"),
    ),
    Claim(
        "AT-V4-sets",
        "theorem V4: v rises with the others' noise, hence with S",
        at_most(_quadratic(other + more), _Q),
        holds("V rises, so its inverse falls."),
    ),
    Claim(
        "AT-V4-delta",
        "theorem V4: at fixed own noise delta falls with v",
        at_most(
            least_delta(epsilon, code, sp.sqrt(own + other + more)), least_delta(epsilon, code, sp.sqrt(own + other))
        ),
        holds("Noise that is added to the signal maps one pair to the other."),
        domain={"x": Range(0.05, 3.0, typical=(0.5, 2.0)), "t": Range(0.05, 3.0, typical=(0.1, 1.0))},
        scale=absolute("delta"),
    ),
    Claim(
        "AT-V4-not-falling",
        "the draft: v falls with S",
        at_most(_Q, _quadratic(other + more)),
        false("v rises with S: the others' noise hides device k.", "draft", corrected_by="AT-V4-sets"),
    ),
    Claim(
        "AT-V3-shown",
        "the draft: p_k beside a shown channel",
        at_most(
            share * hockey_stick(epsilon, code, sp.Integer(1)),
            share * hockey_stick(sp.log(1 + (sp.exp(epsilon) - 1) / share), code, sp.Integer(1)),
        ),
        false(
            "A channel that is shown shows who sends: delta is p times that of a device that sends, and p amplifies nothing. "
            "Here for one device without noise of its own, from present to absent.",
            "draft",
            true_where="p = 1",
            uncorrected="the left side: the mean over the channel of the divergence of a device that sends (page Channel, V3)",
        ),
        domain={"epsilon": Range(0.1, 3.0, typical=(0.5, 1.0)), "x": Range(0.2, 3.0, typical=(0.5, 2.0))},
        scale=absolute("delta"),
    ),
    Claim(
        "AT-orthogonal",
        "zero forcing of two orthogonal devices of one gain: the noise of the sum is twice that of the look at one device",
        equal(_FORCED.subs({c: -b, d: a}), 2 / (a**2 + b**2)),
        holds(
            "For K such devices it is K times as great: who sees the sum alone is that much farther from a device than the "
            "server, whose other combinations single it out. Many antennas make channels nearly orthogonal."
        ),
    ),
    Claim(
        "AT-aggregate",
        "without noise of the devices: the noise of the zero-forced sum as what the server sees of a device",
        at_most(receiver * _FORCED, receiver / (a**2 + b**2)),
        false(
            "The noise of the sum counts against those who see the sum. A server that keeps its looks combines them anew "
            "for every device, and the noise is then N/(a^2 + b^2), whatever combination made the sum.",
            "guarantee",
            corrected_by="AT-V1-combination",
            true_where="ac + bd = a^2 + b^2, where zero forcing is the matched filter of the device",
        ),
        domain=_INDEPENDENT,
    ),
    Claim(
        "AT-decided",
        "a bit that a receiver decides shows no more than the received value",
        at_most(_DECIDED, _RECEIVED),
        holds("A decision is a function of the value (data processing)."),
        scale=absolute("delta", 0.1),
        slack=2.0,
    ),
    Claim(
        "AT-received",
        "the error probability of decided bits as the privacy of what the channel delivers",
        at_most(_RECEIVED, _DECIDED),
        false(
            "Bit errors are made by the decision. Who keeps the received value sees a Gaussian mechanism, which has no pure "
            "epsilon: at sigma = 1 the decision has epsilon 1.668, the value 9.997 at delta = 1e-5.",
            "guarantee",
            uncorrected="the left side: the exact curve of the Gaussian mechanism",
            true_where="flips at the sender alone are counted",
        ),
        scale=absolute("delta"),
    ),
    Claim(
        "AT-M4-simultaneous",
        "the draft: the meter removes all devices above their budgets at once",
        at_most(code**2 / (own + receiver), budget),
        false(
            "Who stays away takes its noise along, so that a device that kept its budget may then exceed it: remove, recompute, "
            "repeat. Two devices: the first, whose noise is t, is above its budget, and the second keeps its own only beside it.",
            "draft",
            true_where="t = 0",
            uncorrected="an algorithm: M4 of the page Meter, which removes one pass after the other until none is left",
        ),
        domain={"t": other.range},
        idle=("t",),
        given=(code**2 <= budget * (own + receiver + other),),
    ),
)

PAPER = Paper(
    "airtight",
    "Privacy over the air: several looks, and limits",
    "airtight",
    2026,
    _CLAIMS + LIMITS,
    proofs=proofs_beside(__file__),
)
