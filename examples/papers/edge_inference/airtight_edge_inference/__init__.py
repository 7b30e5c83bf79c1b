"""Yilmaz, Hasircioglu, Qiao and Gunduz 2024 (EI), as far as the published code shows it; no other module names this folder."""

from __future__ import annotations

from math import comb

import sympy as sp

from airtight import (
    Claim,
    Implementation,
    Paper,
    Range,
    absolute,
    at_most,
    equal,
    false,
    holds,
    other_reading,
    parameter,
    proofs_beside,
    undecidable,
)
from airtight.analytics.forms.gaussian_mechanism import hockey_stick
from airtight.analytics.forms.quantity import normal_cdf

_COMMIT = "9d8c90e29310d4b4ebacf5d82a4eb9f7cff032f6"

epsilon = parameter("epsilon", 0.05, 15.0, logarithmic=True, typical=(1.0, 13.0), latex=r"\epsilon")
present = parameter("present", 0.01, 1.0, typical=(0.25, 1.0), latex="p'")
taking = parameter("m", 1, 40, integer=True, typical=(1, 20))
sigma = parameter("sigma", 0.2, 10.0, logarithmic=True, typical=(0.5, 5.0), latex=r"\sigma")


_SIGMA_OF = "private_projection.py:8-19, 64-73"
_PROMISE = "'providing privacy guarantees' (README); {} (no comment says more)"


def _code(function: str, promise: str, mend: str = "", file: str = _SIGMA_OF) -> Implementation:
    return Implementation("ipc-lab/collaborative-inference-oac", _COMMIT, file, function, promise, mend)


def _amplified(epsilon: sp.Expr, present: sp.Expr, sensitivity: sp.Expr, sigma: sp.Expr) -> sp.Expr:
    """The printed delta."""
    return present * hockey_stick(sp.log(1 + (sp.exp(epsilon) - 1) / present), sensitivity, sigma)


def _given_some(devices: int, participation: float) -> float:
    """P(device 1 takes part | some device does), summed over the number of the other participants."""
    others = [
        comb(devices - 1, k) * participation**k * (1 - participation) ** (devices - 1 - k) for k in range(devices)
    ]
    device_in, device_out = participation * sum(others), (1 - participation) * sum(others[1:])
    return device_in / (device_in + device_out)


sending = parameter("sending", 2, 5, integer=True, typical=(2, 5), latex="m")
_SIGMA_AT_ONE = sp.Rational("3.244997406005864")  # what get_sigma returned at n = 5, p = .25, epsilon = 1
# delta of a device where one of m senders helps the server: of the four others, m - 1 send, and an m-th of the noise is known
_HELPED = _amplified(sp.Integer(1), (sending - 1) / sp.Integer(4), sp.sqrt(2), _SIGMA_AT_ONE * sp.sqrt((sending - 1) / sending))


# One device, with or without: sensitivity 1, present with probability p'; the likelihood ratio is e^eps at the threshold

_threshold = sp.Rational(1, 2) + sigma**2 * sp.log((sp.exp(epsilon) - 1 + present) / present)
_EXACT = present * normal_cdf((1 - _threshold) / sigma) + (1 - present - sp.exp(epsilon)) * normal_cdf(
    -_threshold / sigma
)

_SIGMA, _P, _N = sp.Rational("0.5473815917968745"), sp.Rational(1, 4), 10  # what get_sigma returned
_RETURNED = _amplified(sp.Integer(13), _P / (1 - (1 - _P) ** _N), sp.sqrt(2), _SIGMA)


def _delta_known_count(devices: int, participation: sp.Rational, sigma: sp.Rational) -> sp.Expr:
    """delta at epsilon 1 for an observer who knows the number of participants, which the code draws as at least one."""
    nobody = (1 - participation) ** devices
    probabilities = {
        m: sp.binomial(devices, m) * participation**m * (1 - participation) ** (devices - m) + (nobody if m == 1 else 0)
        for m in range(1, devices + 1)
    }
    shares = {m: sp.Rational(m, devices) for m in probabilities}
    return sp.Add(*(c * _amplified(sp.Integer(1), shares[m], sp.sqrt(2), sigma) for m, c in probabilities.items()))


_DELTA_KNOWN_COUNT = _delta_known_count(5, _P, _SIGMA_AT_ONE)

_CLAIMS: tuple[Claim, ...] = (
    Claim(
        "EI-present",
        "get_sigma, p",
        equal(_given_some, lambda devices, participation: participation / (1 - (1 - participation) ** devices)),
        holds(
            "This is the probability that a device takes part, given that some device does. "
            "sample_participating_devices (ensembler.py:155-166) draws another law: if no device takes part, it "
            "lets one in at random. The "
            "code's own p' is therefore p + (1-p)^n/n, which is less; the formula is on the safe side."
        ),
        {
            "devices": Range(2, 40, integer=True, typical=(5, 20)),
            "participation": Range(0.01, 1.0, typical=(0.25, 1.0)),
        },
        statement=r"P(k \text{ takes part} \mid \text{someone does}) = \frac{p}{1-(1-p)^n}",
        implementation=_code("get_sigma", _PROMISE.format("p = p_/(1-(1-p_)**n), by which delta is amplified")),
    ),
    Claim(
        "EI-delta",
        "get_sigma, delta",
        equal(_EXACT, _amplified(epsilon, present, sp.Integer(1), sigma)),
        holds(
            "This is about the formula: with constant total noise and participation unknown to the observer, it is "
            "exact for one device with or without (adjacency absent, one query). A replaced label is sqrt(2) away, "
            "which the code uses; by joint convexity the same formula then is a bound. forward_oac does not keep the "
            "noise constant: see EI-forward."
        ),
        statement=r"\delta(\epsilon) = p'\,\delta_G(\epsilon'),\quad \epsilon' = \ln\Bigl(1+\frac{e^\epsilon-1}{p'}\Bigr)",
        scale=absolute("delta", 1e-3),
        implementation=_code("get_sigma", _PROMISE.format("the delta of one query that line 15 prints")),
    ),
    Claim(
        "EI-forward",
        "Ensembler.forward_oac, the noise of the received signal, in units of A_t (m devices take part)",
        equal(sigma / taking**2, sigma),
        false(
            "The signals are divided by m twice before they are added, and the noise with them: it is A_t sigma/m^2. "
            "So y reveals m: for one device against two, the total variation distance of the noises is .996 in ten "
            "dimensions.",
            "guarantee",
            corrected_by="EI-delta",
            true_where="m = 1",
        ),
        statement=r"\sqrt{m}\,\frac{\sigma/\sqrt m}{m^2} = \sigma",
        where={r"\sqrt{m}\,\frac{\sigma/\sqrt m}{m^2}": sigma / taking**2},
        near={"m": 2, "sigma": 1},
        implementation=_code(
            "Ensembler.forward_oac",
            _PROMISE.format("each device's noise is sigma/sqrt(m) (line 69 there), so that the sum's would be sigma"),
            "Divide at the server, after the sum.",
            file="ensembler.py:57-68; private_projection.py:64-73",
        ),
    ),
    Claim(
        "EI-forward-delta",
        "get_sigma at n = 5, p = .25, eps = 1, for an observer who learns m from the noise of forward_oac (the "
        "others' labels known)",
        at_most(_DELTA_KNOWN_COUNT, sp.Rational("1e-6")),
        false(
            "Given m, a device takes part with probability m/n. The amplified delta, averaged over m as the code "
            "draws it, is 2.8e-5 (3.6e-5 for the law given that some device takes part).",
            "guarantee",
            corrected_by="EI-delta",
            true_where="the noise does not reveal m",
        ),
        statement=r"\sum_m \Pr(m)\,\tfrac mn\,\delta_G\Bigl(\ln\bigl(1+\tfrac nm(e-1)\bigr)\Bigr) \le 10^{-6}",
        unread="a sum over m, with the sigma that get_sigma returns substituted",
        constants=True,
        implementation=_code(
            "get_sigma",
            _PROMISE.format("target_delta = 1e-6 at epsilon, of one query"),
            "Calibrate for an observer who knows m, or keep the noise constant.",
        ),
    ),
    Claim(
        "EI-partner",
        "get_sigma at n = 5, p = .25, eps = 1, read for a server that one of the m senders helps, and that knows m (total noise "
        "sigma, as meant)",
        at_most(_HELPED, sp.Rational("1e-6")),
        other_reading(
            "The server is alone in the code; nothing is said of devices that help it. Each of m senders adds sigma/sqrt(m), so "
            "that one of them takes an m-th of the noise away, and the server knows that it sends: delta is 4.4e-5 for two "
            "senders and 5.8e-3 for five. Who knows m alone learns more than is promised too (EI-forward-delta).",
            corrected_by="EI-delta",
            true_where="no device tells its noise, and m is hidden",
        ),
        statement=r"p'\,\delta_G\Bigl(\ln\bigl(1+\tfrac{e-1}{p'}\bigr);\ \tfrac{\sqrt2}{\sigma\sqrt{1-1/m}}\Bigr) \le 10^{-6},"
        r"\quad p' = \tfrac{m-1}4",
        unread="the sigma that get_sigma returns is substituted",
        near={"sending": 5},
        implementation=_code(
            "get_sigma",
            _PROMISE.format("target_delta = 1e-6 at epsilon, of one query"),
            "Calibrate for the known m; where c of the m senders may help the server, m > c, let each add sigma/sqrt(m - c).",
        ),
    ),
    Claim(
        "EI-sigma",
        "get_sigma at p = .25, eps = 13, n = 10",
        at_most(_RETURNED, sp.Rational("1e-6")),
        false(
            "The search minimises |delta(sigma) - 1e-6|, on whichever side it ends. Of the 80 answers of "
            "figure_privacy_quantities.py 45 exceed the delta asked for, by a factor of at most 1 + 2.1e-5.",
            "rounding",
            true_where="up to the tolerance of the search",
        ),
        statement=r"\delta(13;\ \sigma = 0.54738) \le 10^{-6}",
        constants=True,
        tolerance=1e-13,
        implementation=_code(
            "get_sigma",
            _PROMISE.format("the sigma at which delta is target_delta"),
            "Increase sigma until delta is met.",
            file="private_projection.py:8-19",
        ),
    ),
)

PAPER = Paper(
    "edge-inference",
    "Private Collaborative Edge Inference via Over-the-Air Computation",
    "S. F. Yilmaz, B. Hasircioglu, L. Qiao, D. Gunduz",
    2024,
    _CLAIMS,
    (
        undecidable(
            "EI-text",
            "The paper's numbered theorems and equations",
            "Their text could not be obtained from public repositories; only what the published code computes is "
            "tried here.",
        ),
        undecidable(
            "EI-shuffle",
            "randomized_response.py, final_eps",
            "The code attributes a formula to Theorem 3.1 of arXiv 2012.12803, whose hypotheses could not be sourced.",
        ),
        undecidable(
            "EI-scores", "figure_conditions.py and the tables", "F1 scores of trained models; no formula decides them."
        ),
    ),
    proofs=proofs_beside(__file__),
)
