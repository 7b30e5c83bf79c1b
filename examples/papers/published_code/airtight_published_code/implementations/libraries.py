"""Accounting libraries: what they return, compared with the law of the mechanism that they describe."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import sympy as sp

from airtight import Claim, Implementation, Range, Reference, absolute, at_most, false, holds, other_reading, parameter
from airtight.analytics.forms.balls.ball import Ball, ball
from airtight.analytics.forms.gaussian_mechanism import least_delta
from airtight.analytics.forms.quantity import normal_cdf
from airtight_published_code.implementations.common import claim, classical, delta

_FLOWER = ("adap/flower", "006e1f5765d3f85c114b3238d5536d821a1f40b6", "src/py/flwr/client/mod/localdp_mod.py")
_DIFFPRIVLIB = (
    "IBM/differential-privacy-library",
    "ce3d577e4b482090d8c1fad9cc13a19894d2e9d0",
    "diffprivlib/mechanisms/gaussian.py",
)
_ENGINE = ("pytorch/opacus", "013a071dc637888de4a368ddc3b84586126f0a13", "opacus/privacy_engine.py")
_GDP = ("pytorch/opacus", "12c95f4313f265e9afd88f4bb096d5ede7794656", "opacus/accountants/analysis/gdp.py")
_RDP = (
    "tensorflow/privacy",
    "385fefc85e80dacd262cc63fb485a42062983622",
    "tensorflow_privacy/privacy/analysis/rdp_accountant.py",
)

_eps = parameter("epsilon", 0.05, 20.0, logarithmic=True, typical=(10.0, 10.0), latex=r"\epsilon")
_mild = parameter("epsilon", 0.01, 1.0, logarithmic=True, typical=(0.1, 1.0), latex=r"\epsilon")
_some = parameter("epsilon", 0.01, 3.0, logarithmic=True, typical=(0.5, 1.0), latex=r"\epsilon")
_clip = parameter("clip", 0.01, 10.0, logarithmic=True, typical=(1.0, 1.0), latex="C")
_sensitivity = parameter("sensitivity", 1e-4, 10.0, logarithmic=True, typical=(1e-4, 1e-4), latex=r"\Delta")
_sigma = parameter("sigma", 0.3, 20.0, logarithmic=True, typical=(1.0, 1.0), latex=r"\sigma")
_any = parameter("sigma", 0.1, 20.0, logarithmic=True, typical=(1.0, 1.0), latex=r"\sigma")
_rate = parameter("rate", 1e-3, 0.5, logarithmic=True, typical=(0.01, 0.01), latex="q")
_half = parameter("half", 1, 200, integer=True, typical=(50, 50), latex="k")  # of the dimension

# One step of the Poisson-subsampled Gaussian, add or remove one record: exact, and by the central limit theorem

_threshold = sp.Rational(1, 2) + _sigma**2 * sp.log((sp.exp(_some) - 1 + _rate) / _rate)
_STEP = _rate * normal_cdf((1 - _threshold) / _sigma) + (1 - _rate - sp.exp(_some)) * normal_cdf(-_threshold / _sigma)
_mu = _rate * sp.sqrt(sp.exp(_sigma**-2) - 1)
_LIMIT = normal_cdf(-_some / _mu + _mu / 2) - sp.exp(_some) * normal_cdf(-_some / _mu - _mu / 2)

# Opacus divides by the whole part of n times the sampling rate: 2 for n = 4, 1 for n = 3 (batch size 2); no gradient at all


def _promised(sigma: float) -> float:
    """Epsilon of one step without sampling at delta = 1e-5 by zero-concentrated privacy; with sampling less is reported."""
    rho = 1 / (2 * sigma**2)
    return rho + 2 * math.sqrt(rho * math.log(1e5))


def _apart(sigma: float, half: int) -> float:
    """delta of N(0, sigma^2/4 I) against N(0, sigma^2 I) in 2 * half coordinates, by a test of the squared norm."""
    from scipy.special import gammainc

    epsilon = _promised(sigma)
    norm = max(2 * half * math.log(2) - epsilon, 0.0) * 2 / 3  # where the likelihood ratio is e^eps
    return float(gammainc(half, 2 * norm) - math.exp(epsilon) * gammainc(half, norm / 2))


def _apart_balls(sigma: Fraction, half: Fraction) -> tuple[Ball, Ball]:
    s, k = ball(sigma), flint.arb(int(half))
    epsilon = 1 / (2 * s * s) + 2 * (ball(100_000).log() / (2 * s * s)).sqrt()
    norm = (2 * k * flint.arb(2).log() - epsilon) * 2 / 3
    if not norm > 0:
        return ball("1e-5"), flint.arb(0)
    narrow, wide = (1 - z.gamma_upper(k, 1) for z in (2 * norm, norm / 2))
    return ball("1e-5"), narrow - epsilon.exp() * wide


def _returned(
    id: str, place: Implementation, sigma: str, epsilon: str, promised: str, severity: str, why: str, mend: str
) -> Claim:
    """Claim that delta at the value a library returned is at most the delta that the library was asked for."""
    return claim(
        id,
        place,
        at_most(least_delta(sp.Rational(epsilon), 1, sp.Rational(sigma)), sp.Rational(promised)),
        false(why, severity, true_where=mend),
        statement=rf"\delta({epsilon};\ \sigma = {sigma}) \le {_latex(promised)}",
        constants=True,
        tolerance=1e-13,
    )


def _latex(number: str) -> str:
    mantissa, _, exponent = number.partition("e")
    return rf"{mantissa}\cdot10^{{{int(exponent)}}}" if exponent else mantissa


CLAIMS: tuple[Claim, ...] = (
    claim(
        "IM-FL-classical",
        Implementation(
            *_FLOWER,
            "LocalDpMod.__call__",
            "'epsilon: the privacy budget', any value >= 0.",
            "Calibrate by the exact Gaussian curve, or refuse epsilon above 1.",
        ),
        at_most(least_delta(_eps, 1, classical(_eps, delta)), delta),
        false(
            "The classical sigma = Delta sqrt(2 log(1.25/delta))/eps is proved for eps below 1, but is used at any "
            "eps. At eps = 10, delta = 1e-5 the exact epsilon at the stated sensitivity is 10.39.",
            "guarantee",
            true_where=r"\epsilon \le 1",
        ),
        statement=r"\delta(\epsilon;\ \sigma = \Delta\sqrt{2\ln(1.25/\delta)}/\epsilon) \le \delta",
    ),
    claim(
        "IM-FL-sensitivity",
        Implementation(
            *_FLOWER,
            "LocalDpMod.__init__",
            "'sensitivity: the sensitivity of the client model', set by the user independently of clipping_norm, to "
            "which the updates are clipped.",
            "Derive the sensitivity from the clip: 2C where an update is replaced.",
        ),
        at_most(least_delta(_mild, 2 * _clip, _sensitivity * classical(_mild, delta)), delta),
        other_reading(
            "With a true sensitivity, 2C or more, the code keeps its promise (for eps up to 1); the documentation "
            "leaves that to the user. But nothing ties the sensitivity to the clip. A project that uses it sets C = 1 "
            "and sensitivity 1e-4; then the noise hides nothing.",
            true_where=r"\Delta \ge 2C",
            corrected_by="IM-DPL-classical",
        ),
        statement=r"\delta(\epsilon;\ 2C,\ \sigma = \Delta\sqrt{2\ln(1.25/\delta)}/\epsilon) \le \delta",
    ),
    claim(
        "IM-DPL-classical",
        Implementation(*_DIFFPRIVLIB, "Gaussian", "Refuses epsilon above 1; (eps, delta)-DP below."),
        at_most(least_delta(_mild, 1, classical(_mild, delta)), delta),
        holds(
            "The same formula, used where it is proved; the delta reached is at most a thirtieth of the delta asked "
            "for."
        ),
        statement=r"\delta(\epsilon;\ \sigma = \sqrt{2\ln(1.25/\delta)}/\epsilon) \le \delta \quad (\epsilon \le 1)",
        slack=40.0,
    ),
    _returned(
        "IM-DPL-analytic",
        Implementation(
            *_DIFFPRIVLIB,
            "GaussianAnalytic._find_scale (0.6.6)",
            "The noise of the analytic Gaussian mechanism for any epsilon and delta.",
            "Work with logarithms (log_ndtr) and evaluate delta again at the answer.",
        ),
        "0.8934045782009093",
        "10",
        "1e-100",
        "guarantee",
        "1 + erf loses every probability below 1e-16. Asked for delta = 1e-100 at eps = 10, the library returns sigma "
        "= .893, at which delta is 3e-18; 2.133 is right. Its sigma is too small at (5, 1e-16) and (1, 1e-17) as "
        "well.",
        "delta well above 1e-15",
    ),
    _returned(
        "IM-DPA-gaussian",
        Implementation(
            "google/differential-privacy",
            "94f45883bcf5b74f3b4ce91407b4b366014151b4",
            "python/dp_accounting/dp_accounting/gaussian_mechanism.py",
            "get_epsilon_gaussian (0.6.0)",
            "'Exact conversion' between epsilon, delta and sigma.",
            "Increase the root by the tolerance, or evaluate delta at the answer.",
        ),
        "1000",
        "0.0009025923169485768",
        "1e-4",
        "rounding",
        "The answer is the root of a search to 1e-12 (a documented argument), on whichever side: here 2e-10 "
        "(relative) below the truth. This is harmless by itself, but a guarantee that is rounded down is not a "
        "guarantee.",
        "up to the tolerance of the search",
    ),
    _returned(
        "IM-AD-gaussian",
        Implementation(
            "yuxiangw/autodp",
            "137970ade8ba7816bfb58d029d4f94969041a7b4",
            "autodp/mechanism_zoo.py",
            "ExactGaussianMechanism (0.2.3.1)",
            "The exact epsilon of Gaussian noise at a delta.",
            "As in IM-DPA-gaussian.",
        ),
        "100",
        "0.02721941981454577",
        "1e-5",
        "rounding",
        "As in IM-DPA-gaussian: 1e-12 (relative) below the truth.",
        "up to the tolerance of the search",
    ),
    claim(
        "IM-OP-clt",
        Implementation(
            *_GDP,
            "compute_eps_poisson",
            "'Applies the central limit theorem to estimate the privacy budget'; the accountant warns that it "
            "can underestimate.",
            "Use the RDP or PRV accountant where a guarantee is needed.",
        ),
        at_most(_STEP, _LIMIT),
        false(
            "Read as a bound it is false, here for one step. The accountant's own warning says that it is an "
            "estimate; in the limit of many steps it is right.",
            "step",
            true_where="in the limit of many steps at a fixed mu",
        ),
        also=[
            Reference(
                "IM-TF-clt",
                "implementations",
                "tensorflow/privacy, gdp_accountant.py, compute_eps_Poisson (2ef5c6e), without a warning",
            )
        ],
        statement=r"\delta_{\text{Poisson, one step}}(\epsilon) \le \delta_{\mu}(\epsilon),\quad \mu = q\sqrt{e^{1/\sigma^2}-1}",
        scale=absolute("delta", 1e-3),
    ),
    claim(
        "IM-OP-batch",
        Implementation(
            *_ENGINE,
            "PrivacyEngine.make_private",
            "The accountant's (eps, delta) for adding or removing a record.",
            "Divide by a constant that does not depend on the data (issues 571, 819).",
        ),
        at_most(_apart, lambda **_: 1e-5, balls=_apart_balls),
        false(
            "The noisy sum is divided by the integer part of n times the sampling rate. For batch size 2 this is 2 "
            "with four records and 1 with three: the noise of a neighbour is twice as large, which is visible in 2k "
            "coordinates whatever the gradients are. For large n the factor is near 1, and more coordinates are "
            "needed. Where the number of records is public (adjacency replace), nothing is revealed by it.",
            "guarantee",
            true_where="the expected batch size is the same for all neighbours",
        ),
        statement=r"\delta(\epsilon) \le 10^{-5},\quad N(0, \sigma^2I_{2k}/4)\text{ against }N(0, \sigma^2I_{2k}),\quad "
        r"\epsilon = \rho + 2\sqrt{\rho\ln10^5}",
        domain={"sigma": Range(0.3, 5.0, logarithmic=True, typical=(1.0, 1.0)), "half": _half.range},
        scale=absolute("delta"),
    ),
    claim(
        "IM-TF-order",
        Implementation(
            *_RDP,
            "_compute_eps",
            "(0, delta)-DP as soon as delta^2 >= 1 - e^-r; issue 166 suspects a fault at order 1 + 1e-8.",
        ),
        at_most(2 * normal_cdf(1 / (2 * _any)) - 1, sp.sqrt(1 - sp.exp(-1 / (2 * _any**2)))),
        holds(
            "At orders near 1 the divergence is the Kullback-Leibler divergence, and the Bretagnolle-Huber inequality "
            "is true: epsilon 0 is no fault. At the issue's parameters the total variation is 4.0e-4, below its delta "
            "of 1e-3."
        ),
        statement=r"TV(N(1, \sigma^2), N(0, \sigma^2)) \le \sqrt{1 - e^{-KL}}",
    ),
)
