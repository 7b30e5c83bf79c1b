"""Formulas that many libraries share, tried over their whole domain; what they keep is reported as well as what they do not."""

from __future__ import annotations

import sympy as sp

from airtight import Claim, absolute, at_most, equal, false, holds, parameter
from airtight.analytics.forms.domain import Parameter
from airtight.analytics.forms.gaussian_mechanism import hockey_stick
from airtight.analytics.forms.quantity import normal_cdf
from airtight_published_code.implementations.common import claim, classical
from airtight_published_code.libraries.calibrated import released

mu: Parameter = parameter("mu", 0.01, 20.0, logarithmic=True, typical=(1.0, 1.0), latex=r"\mu")
order: Parameter = parameter("order", 1.01, 64.0, logarithmic=True, typical=(2.0, 30.0), latex=r"\alpha")
epsilon: Parameter = parameter("epsilon", 0.01, 30.0, logarithmic=True, typical=(1.0, 1.0), latex=r"\epsilon")
truth: Parameter = parameter("truth", 0.5, 0.999, typical=(0.75, 0.75), latex="p")
share: Parameter = parameter("share", 0.0, 0.999, typical=(0.1, 0.5), latex="t")
small: Parameter = parameter("epsilon", 0.01, 0.6, logarithmic=True, typical=(0.1, 0.5), latex=r"\epsilon")
delta: Parameter = parameter("delta", 1e-12, 1e-3, logarithmic=True, typical=(1e-5, 1e-5), latex=r"\delta")
scale: Parameter = parameter("scale", 0.05, 20.0, logarithmic=True, typical=(0.1, 1.0), latex="b")
failure: Parameter = parameter("delta", 1e-9, 0.1, logarithmic=True, typical=(1e-6, 1e-5), latex=r"\delta")
length: Parameter = parameter("length", 0.0, 1e6, typical=(500.0, 500.0), latex=r"\|v\|")
clip: Parameter = parameter("clip", 0.01, 10.0, logarithmic=True, typical=(1.0, 1.0), latex="C")

_spent = share * (2 * truth - 1)  # delta, a share of the delta at epsilon 0
_LOG_LOSS = (order - 1) * (order * mu**2 / 2 - epsilon) + order * sp.log(1 - 1 / order) - sp.log(order - 1)
_NOISE = classical(small, delta)
_KEPT = 2 * normal_cdf(1 / _NOISE) - 1  # an integer goes out as it is where the noise is cut to 0
_MOVED = normal_cdf(2 / _NOISE) - normal_cdf(1 / _NOISE)  # and comes from its neighbour where the noise is cut to -1

CLAIMS: tuple[Claim, ...] = (
    claim(
        "LB-RDP-conversion",
        released(
            "opacus 1.6.0, dp-accounting 0.6.0, autodp 0.2.3.1, opendp 0.16.0",
            "opacus/accountants/analysis/rdp.py:319-323",
            "get_privacy_spent; RdpAccountant.get_epsilon, rdp_to_approxdp, make_zCDP_to_approxDP are the same formula",
            "'Computes epsilon given a list of Renyi Differential Privacy (RDP) values at multiple RDP orders and "
            "target ``delta``.' (292-293)",
        ),
        at_most(sp.log(hockey_stick(epsilon, mu, 1)), _LOG_LOSS),
        holds(
            "For every order: the conversion is sound, and these four libraries, with Flower's and JAX Privacy's "
            "accountants on top of dp-accounting, never fell below the truth in our cases. Its price is the distance "
            "to the exact curve."
        ),
        statement=r"\ln\delta(\epsilon; \mu) \le (\alpha-1)(\tfrac{\alpha\mu^2}2-\epsilon)"
        r" + \alpha\ln(1-\tfrac1\alpha) - \ln(\alpha-1)",
        scale=absolute("nats"),
        slack=2.0,
    ),
    claim(
        "LB-AD-response",
        released(
            "autodp 0.2.3.1",
            "autodp/dp_bank.py:157-171",
            "get_eps_randresp_optimal",
            "No docstring; the name says the optimal epsilon of randomized response at delta.",
        ),
        equal(truth - sp.exp(sp.log((truth - _spent) / (1 - truth))) * (1 - truth), _spent),
        holds("log((p - delta)/(1 - p)) is exact for every delta up to 2p - 1; 8000 cases agree to rounding."),
        statement=r"p - e^\epsilon(1-p) = \delta,\quad \epsilon = \ln\frac{p-\delta}{1-p},\ \delta = t(2p-1)",
        unread="epsilon and delta are substituted",
    ),
    claim(
        "LB-PFL-laplace",
        released(
            "pfl 0.6.0",
            "pfl/privacy/privacy_accountant.py:347",
            "PRVPrivacyAccountant, mechanism='laplace'",
            "'For the Laplace mechanism, the noise parameter is the scale of the noise' (45-46).",
            "LaplaceMechanism(mu=1 / noise_parameter): in prv-accountant mu is the pure epsilon.",
        ),
        at_most(1 / scale + 2 * sp.log(1 - failure), scale + 2 * sp.log(1 - failure)),
        false(
            "The scale is passed where prv-accountant wants its inverse: the more noise, the more epsilon is reported. At "
            "scale .1 and delta = 1e-6 the accountant says .0981, and the truth is 10 (9.999998); its PLD and RDP sisters "
            "say 9.999998 and 10.005. Scales above 1 are reported too high, and a search for the noise at a given epsilon "
            "goes the wrong way.",
            "guarantee",
            true_where=r"b \ge 1",
        ),
        given=[1 / scale + 2 * sp.log(1 - failure) >= 0],
        statement=r"\tfrac1b + 2\ln(1-\delta) \le b + 2\ln(1-\delta)",
        scale=absolute("epsilon"),
        near={"scale": 0.1, "delta": "1e-6"},
    ),
    claim(
        "LB-FL-NaN",
        released(
            "flwr 1.42.0",
            "flwr/supercore/differential_privacy.py:50-58 (and 84-94)",
            "clip_inputs_inplace, compute_clip_model_update, adaptive_clip_inputs_inplace",
            "'Clip model update based on the clipping norm in-place.'",
            "Refuse an update whose norm is not finite: `if not input_norm <= clipping_norm: scale`, then check the result.",
        ),
        at_most(length, clip),
        false(
            "The norm of an update with one NaN is NaN, and min(1, C/NaN) is 1 in Python: the other coordinates v go out "
            "unclipped, with noise for sensitivity C. One layer that diverged, or one division by 0, suffices. An infinite "
            "coordinate is handled (the others become 0).",
            "guarantee",
            true_where="every coordinate of the update is finite",
        ),
        statement=r"\|v\| \le C",
        scale=absolute("norm"),
        near={"length": 500, "clip": 1},
    ),
    claim(
        "LB-FL-integer",
        released(
            "flwr 1.42.0",
            "flwr/supercore/differential_privacy.py:43-47",
            "add_gaussian_noise_inplace, with the noise of LocalDpMod at sensitivity 1",
            "'Add Gaussian noise to each element of the input arrays'; (epsilon, delta) of LocalDpMod.",
            "Convert integer arrays to floating point before clipping and noise, or refuse them.",
        ),
        at_most(_KEPT - sp.exp(small) * _MOVED, delta),
        false(
            "The noise is cast to the type of the array, which cuts it towards 0: an integer stays what it is for all "
            "noise between -1 and 1, twice as often as it moves by one, so epsilon is at least log 2 whatever is asked. "
            "At epsilon = .1, delta = 1e-5 (sigma = 48) delta is at least .0073. Entries such as num_batches_tracked of "
            "BatchNorm are integers. They get this far only while the whole update is below the clipping norm; above it "
            "the in-place product raises UFuncTypeError. A noise below 1 leaves most integers as they are.",
            "guarantee",
            true_where="arrays of floating point",
        ),
        statement=r"\Pr(|Z| < 1) - e^\epsilon\Pr(1 \le Z < 2) \le \delta,\quad"
        r" Z \sim N(0, \sigma^2),\ \sigma = \sqrt{2\ln(1.25/\delta)}/\epsilon",
        unread="probabilities of an event",
        scale=absolute("delta"),
    ),
)
