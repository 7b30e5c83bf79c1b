"""FDP Theorem 1, Lemma 4, Remarks 2 and 3."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import sympy as sp

from airtight.analytics.forms import theorem1 as forms
from airtight.analytics.forms.balls import amplified_delta as enclosed
from airtight.analytics.forms.domain import Range, over, parameter
from airtight.analytics.forms.gaussian_mechanism import epsilon as of_epsilon
from airtight.analytics.forms.gaussian_mechanism import hockey_stick
from airtight.analytics.forms.quantity import Quantity
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian, gaussian_pair
from airtight.analytics.privacy.over_the_air import amplification, system_privacy
from airtight.validate.claims import reference_integrals
from airtight.validate.claims.claim import Claim, false, holds, holds_under, other_reading
from airtight.validate.claims.proving.derivation import Derivation, Step
from airtight.validate.claims.relation import at_most, equal
from airtight.validate.papers import lemmas
from airtight.validate.papers.feature_dp.common import (
    DIMENSION,
    DISTANCE,
    EPSILON,
    GAUSSIAN,
    PROBABILITY,
    VARIANCE,
    equal_devices,
    of_system,
    resolved,
    system,
)

# Theorem 1, with gamma = 1 as in Sec. VI

_power = partial(of_system, logarithmic=True, typical=(0.1, 0.1))
_of_delta = partial(of_system, "delta", logarithmic=True)
devices = of_system("devices", 2, 200)
p = of_system("participation", 0.01, 1.0, name="p", typical=(0.9, 0.9))
variance = _power("noise_variance", 1e-2, 1e2, name="variance", latex=r"\sigma^2")
receiver = _power("receiver_noise_variance", 1e-2, 1e2, name="receiver", extra=(0.0,))
signal = parameter("signal", 1e-2, 10.0, logarithmic=True, extra=(0.0,), typical=(0.3, 8.4), latex="w_kC_k")
delta = _of_delta(1e-8, 1e-2)
delta_prime = of_system("delta_prime", 1e-8, 1e-2, logarithmic=True)

_SYSTEM = {
    **over(devices, p, variance, receiver, signal, delta, delta_prime),
    "dimension": DIMENSION,
}
_T = forms.theorem1_t.subs(
    {forms.log_term: sp.log(2 / delta_prime), forms.bound: variance, forms.variance: p * (1 - p) * variance**2}
)
_MEAN_MINUS_T = (devices - 1 + p) * variance - _T
_C = signal * sp.sqrt(2 * sp.log(sp.Rational("1.25") / delta))
_EPSILON = sp.log(1 + p / (1 - delta_prime) * (sp.exp(_C / sp.sqrt(_MEAN_MINUS_T)) - 1))
_RELEASE = hockey_stick(of_epsilon, signal, sp.sqrt(devices * variance + receiver))
_VISIBLE = sp.Lambda(of_epsilon, p * _RELEASE)  # delta_k of a server that sees who takes part
_gamma = of_system("alignment", 0.1, 10.0, name="gamma", logarithmic=True)
_EXPONENT_ALL_PRESENT = _C / sp.sqrt(_MEAN_MINUS_T.subs(p, 1))  # all devices take part


_any = _of_delta(1e-8, 0.5)
_share = parameter("share", 0.05, 1.0, latex="s")
_ALL_PRESENT = {r"\bar\mu": devices * variance, "t": _T.subs(p, 1)}


# how FDP-T1-gamma* and FDP-T1-partner* are proved


def _without_gain() -> Derivation:
    """s is the exponent; the ratio is s over the root of 2 log(1.25/delta), times the root of (K - t)/K."""
    room = _MEAN_MINUS_T.subs({p: 1, variance: 1})
    greatest = _share / sp.sqrt(2 * sp.log(sp.Rational(5, 4) / _any))
    ratio = greatest * sp.sqrt(room) / sp.sqrt(devices)
    epsilon = sp.log(1 + (sp.exp(_share) - 1) / (1 - delta_prime))
    below = (greatest / sp.sqrt(devices), lemmas.ROOT_RISES.at(lower=room, upper=devices))
    facts = lemmas.amplified(_share, epsilon, delta_prime, _any)
    facts += [(room <= devices), (ratio <= greatest, Derivation(uses=[below]))]
    return Derivation(facts=facts, through=[Step(_any, lemmas.calibrated(_share, epsilon, ratio, greatest, _any))])


def _helped() -> Derivation:
    """The noise that is left, (K - m) sigma^2 + sigma_m^2, is at least mean - t by the hypothesis on m."""
    room, noise = _MEAN_MINUS_T.subs(p, 1), (devices - _helpers) * variance + receiver
    exponent, epsilon = _EXPONENT_ALL_PRESENT, _EPSILON.subs(p, 1)
    facts = lemmas.amplified(exponent, epsilon, delta_prime, delta)
    enough = [(room <= devices * variance), *lemmas.less_noise(signal, _C, room, noise, devices * variance)]
    shown = lemmas.calibrated(exponent, epsilon, signal / sp.sqrt(noise), signal / sp.sqrt(room), delta)
    return Derivation(facts=[*facts[:2], *enough, *facts[2:]], through=[Step(delta, shown)])


_helpers = parameter("helpers", 1, 199, integer=True, latex="m")
_WITHOUT_HELPERS = hockey_stick(
    _EPSILON.subs(p, 1), signal, sp.sqrt((devices - _helpers) * variance + receiver)
)  # all take part, and the server subtracts the noise of m other devices
_HELPED = r"\delta_G\Bigl(\log\Bigl[1+\tfrac{e^{c_k/\sqrt{\bar\mu-t}}-1}{1-\delta'}\Bigr];\ " + (
    r"\tfrac{w_kC_k}{\sqrt{(K-m)\sigma^2+\sigma_m^2}}\Bigr) \le \delta' + \tfrac\delta{1-\delta'}"
)


def _claimed_delta(p: sp.Expr, delta: sp.Expr) -> Quantity:
    """delta of (11) for a device that takes part with probability p."""
    given = {"participation": [p], "noise_variance": [variance], "delta_prime": delta_prime, "delta": delta}
    return forms.devices(1)["Theorem 1, delta"].subs(**given)


def _with_gain(gain: sp.Expr) -> sp.Expr:
    """delta at the epsilon of (11) with this gamma in c_k, when all devices take part and the noise stays."""
    epsilon = sp.log(1 + (sp.exp(gain * _EXPONENT_ALL_PRESENT) - 1) / (1 - delta_prime))
    noise = sp.sqrt(devices * variance + receiver / _gamma**2)
    return hockey_stick(epsilon, signal, noise)


_THEOREM = (
    r"\delta_k\left(\log\left[1 + \tfrac{p_k}{1-\delta'}\left(e^{c_k/\sqrt{\bar\mu - t}} - 1\right)\right]\right)"
    r" \le \delta' + \frac{p_k\delta}{1-\delta'}"
)


def _one_random_device(
    devices: int, p: float, variance: float, receiver: float, signal: float, **rest: Any
) -> InferenceSystem:
    """Device 0 takes part with probability p and the others always: what the others do is known, and nothing is hidden."""
    participation = [p, *[1.0] * (devices - 1)]
    noise = {"noise_variance": variance, "receiver_noise_variance": receiver}
    return system(devices, participation=participation, weight=signal, **noise, **rest)


def _claimed(form: str, **point: Any) -> float:
    result = amplification.published(_one_random_device(**point), form=form)
    return math.nan if result.vacuous else float(result.delta[0])


def _true(form: str, **point: Any) -> float:
    made = _one_random_device(**point)
    epsilon = float(amplification.published(made, form=form).epsilon[0])
    return float(system_privacy.delta(made, epsilon, device=0))


def _theorem1(form: str) -> Any:
    """Theorem 1 with one of its two values of t."""
    balls = partial(enclosed.theorem1, form=form, adjacency=Adjacency.ABSENT, alignment=Fraction(1))
    return at_most(partial(_true, form), partial(_claimed, form), balls=balls)


# Lemma 4


def _mixed(p: float, distance: float, variance: float, noise: float, epsilon: float) -> float:
    """Divergence of the output with the device, which takes part with probability p, from the output without it."""
    absent = [(1.0, 0.0, variance)]
    present = [(p, distance, variance + noise), (1 - p, 0.0, variance)]
    amplified = math.log1p(p * math.expm1(epsilon))
    return resolved(reference_integrals.mixture_divergence(amplified, present, absent), 1e-6)


def _by_parts(p: float, distance: float, variance: float, noise: float, epsilon: float) -> float:
    return resolved(_divergence(p, distance, variance, noise, 1, epsilon), 1e-6)


def _divergence(p: float, distance: float, variance: float, noise: float, dimension: int, epsilon: float) -> float:
    """p times the divergence of the outputs with and without the device, at the epsilon that Lemma 4 amplifies."""
    log_delta = gaussian_pair.log_hockey_stick(
        epsilon, distance=distance, variance_p=variance + noise, variance_q=variance, dimension=dimension
    )
    return p * math.exp(float(log_delta))


# Remarks 2 and 3

_SMALL = {
    "devices": Range(1, 12, integer=True),
    "p": PROBABILITY,
    "variance": Range(0.05, 5.0),
    "signal": Range(0.01, 3.0),
    "dimension": Range(1, 500, logarithmic=True, integer=True),
    "epsilon": Range(0.0, 5.0),
}


def _delta(epsilon: float, **given: Any) -> float:
    return float(system_privacy.delta(equal_devices(**given), epsilon, device=0))


CLAIMS = (
    Claim(
        "FDP-T1",
        "Theorem 1, Eq. (11), with the theorem's t (the server sees y alone; the others take part for sure)",
        _theorem1("theorem1"),
        false(
            "Removing a device removes its noise too: the variance of the received signal reveals the device, even "
            "with weight 0.",
            corrected_by="FDP-T1a",
            true_where="gamma = 1, absent devices send noise too, and c_k / sqrt(mean - t) is at most 1 (FDP-T1d)",
        ),
        _SYSTEM,
        statement=_THEOREM,
        near={"devices": 16, "signal": 0.3},  # the least epsilon of Table II; for 12 devices the theorem says nothing
    ),
    Claim(
        "FDP-T1-eq23",
        "Theorem 1, Eq. (11), with t of Eq. (23)",
        _theorem1("eq23"),
        false("As FDP-T1: the smaller t of the proof only makes the claim stronger.", "step", corrected_by="FDP-T1a"),
        _SYSTEM,
        statement=_THEOREM,
        near={"signal": 0.3},
    ),
    Claim(
        "FDP-T1-visible",
        "Theorem 1, Eq. (11), for a server that sees who takes part, when the device's noise stays",
        at_most(_VISIBLE(_EPSILON), _claimed_delta(p, delta)),
        other_reading(
            "The paper's server sees y alone; how much of the amplification remains there is another question. For a "
            "server that also sees who takes part (noise kept), delta is amplified by p, but epsilon is not.",
            corrected_by="FDP-T1b",
            true_where="p_k = 1",
        ),
        given=[signal > 0, sp.sqrt(_MEAN_MINUS_T) >= _C],  # where the classical calibration is valid
        statement=_THEOREM,
        where={r"\delta_k": _VISIBLE, "c_k": _C, r"\bar\mu": (devices - 1 + p) * variance, "t": _T},
    ),
    Claim(
        "FDP-T1-gamma",
        "Theorem 1, the gamma of its c_k (all devices take part, noise kept)",
        at_most(_with_gain(_gamma), _claimed_delta(1, delta)),
        false(
            "An error of units: gamma scales signal and noise alike, but appears in c_k and not in mean - t. With "
            "gamma = 1, as in Sec. VI, nothing is wrong; as gamma goes to 0 the claimed epsilon goes to 0, but the "
            "mechanism stays.",
            "misprint",
            corrected_by="FDP-T1-gamma*",
            true_where=r"\gamma \ge 1",
        ),
        given=[signal > 0, _MEAN_MINUS_T.subs(p, 1) > 0, _EXPONENT_ALL_PRESENT <= 1],
        statement=r"\delta_G\Bigl(\log\Bigl[1+\tfrac{e^{c_k/\sqrt{\bar\mu-t}}-1}{1-\delta'}\Bigr];\ "
        r"\tfrac{w_kC_k}{\sqrt{K\sigma^2+\sigma_m^2/\gamma^2}}\Bigr) \le \delta' + \tfrac\delta{1-\delta'},\quad "
        r"c_k = \gamma w_kC_k\sqrt{2\log(1.25/\delta)}",
        where={**GAUSSIAN, **_ALL_PRESENT, "c_k": _gamma * _C},
    ),
    Claim(
        "FDP-T1-gamma*",
        "Theorem 1 without the gamma of its c_k (all devices take part, noise kept)",
        at_most(
            _with_gain(sp.Integer(1))
            .subs(signal, _share * signal / _EXPONENT_ALL_PRESENT)
            .subs({variance: 1, receiver: 0, delta: _any}),
            _claimed_delta(1, _any),
        ),
        holds_under(
            "True for c_k / sqrt(mean - t) of at most 1, which its source requires; t and the receiver's noise are "
            "then a safety margin. Proved at variance 1 without that noise; more is post-processing, by hand."
        ),
        given=[_MEAN_MINUS_T.subs({p: 1, variance: 1}) > 0],
        statement=r"\delta_G\Bigl(\log\Bigl[1+\tfrac{e^{s}-1}{1-\delta'}\Bigr];\ "
        r"s\sqrt{\tfrac{\bar\mu-t}{2K\log(1.25/\delta)}}\Bigr) \le \delta' + \tfrac\delta{1-\delta'},\quad "
        r"s = \tfrac{w_kC_k}{\sqrt{\bar\mu-t}}\sqrt{2\log(1.25/\delta)} \le 1",
        where={**GAUSSIAN, r"\bar\mu": devices, "t": _ALL_PRESENT["t"].subs(variance, 1)},
        slack=11.5,
        derivation=_without_gain,
    ),
    Claim(
        "FDP-T1-partner",
        "Theorem 1, Eq. (11), with its own t, read for a server that m of the other devices help (all devices take part, noise "
        "kept)",
        at_most(_WITHOUT_HELPERS, _claimed_delta(1, delta)),
        other_reading(
            "The paper's server is honest but curious, and alone: of devices that tell it their noise the theorem says "
            "nothing. Read for one that m devices help it withstands as many as t stands for (FDP-T1-partner*), 12 or 13 at "
            "the paper's delta' and sigma^2 = .1, and not any m: of 50 devices with w_k C_k = .3 and both variances .1 it fails "
            "from 32 helpers on, and with 49 delta is .062 where 2e-5 is claimed.",
            corrected_by="FDP-T1-partner*",
            true_where=r"m\sigma^2 \le t + \sigma_m^2",
        ),
        given=[signal > 0, _helpers < devices, _MEAN_MINUS_T.subs(p, 1) > 0, _EXPONENT_ALL_PRESENT <= 1],
        statement=_HELPED,
        where={**GAUSSIAN, **_ALL_PRESENT, "c_k": _C, "K": devices, "m": _helpers},
        near={"devices": 50, "signal": 0.3, "helpers": 32},
    ),
    Claim(
        "FDP-T1-partner*",
        "ours: how many devices may help the server before Theorem 1 fails (all devices take part, noise kept)",
        at_most(_WITHOUT_HELPERS, _claimed_delta(1, delta)),
        holds_under(
            "The classical calibration at noise (K - m) sigma^2 + sigma_m^2, which is at least mean - t; more noise is "
            "post-processing. So t, meant for random participation, pays for helpers where all take part."
        ),
        given=[
            signal > 0,
            _helpers < devices,
            _EXPONENT_ALL_PRESENT <= 1,
            _helpers * variance <= _T.subs(p, 1) + receiver,
            _MEAN_MINUS_T.subs(p, 1) > 0,
        ],
        statement=_HELPED + r"\quad\text{where } m\sigma^2 \le t + \sigma_m^2",
        where={**GAUSSIAN, **_ALL_PRESENT, "c_k": _C, "K": devices, "m": _helpers},
        derivation=_helped,
        slack=250.0,  # delta' is counted, and the noise that is left is hardly ever the least allowed
    ),
    Claim(
        "FDP-L4",
        "Lemma 4, its hypothesis read like its conclusion: the output with the device against the output without it",
        equal(_mixed, _by_parts),
        holds_under(
            "The usual argument for mixtures: the component without the device is common to both outputs. The "
            "divergence is exactly p times that of the local mechanism; compared, in one dimension, with the "
            "numerically integrated mixture."
        ),
        {
            "p": PROBABILITY,
            "distance": Range(0.1, 5.0, logarithmic=True),
            "variance": Range(0.1, 10.0, logarithmic=True),
            "noise": Range(0.1, 10.0, logarithmic=True),
            "epsilon": Range(0.0, 3.0),
        },
        statement=r"D_{1+p(e^\epsilon-1)}(p\,P_1+(1-p)P_0\,\|\,P_0) = p\,D_{e^\epsilon}(P_1\|P_0)",
        tolerance=1e-6,
        effort=1 / 2,
        coq="feature_dp_general.FDP_L4",
    ),
    Claim(
        "FDP-L4-applied",
        "Lemma 4 applied in Theorem 1, with the c_k of the Gaussian mechanism",
        at_most(
            _divergence,
            lambda p, distance, variance, noise, epsilon, **_: (
                p * float(gaussian.delta(epsilon, sensitivity=distance, sigma=math.sqrt(variance + noise)))
            ),
            balls=enclosed.mixture_lemma,
        ),
        false(
            "The lemma is right (FDP-L4), and would apply here if absent devices sent noise (FDP-T1d). But its "
            "hypothesis is about the output without the device, whereas c_k is calibrated against the device present "
            "with signal 0: the two variances differ.",
            "step",
            corrected_by="FDP-T1a",
            true_where="the local mechanism's guarantee compares with the output without the device and its noise",
        ),
        {
            "p": PROBABILITY,
            "distance": DISTANCE,
            "variance": Range(1e-2, 1e2, logarithmic=True, typical=(1.1, 1.3)),
            "noise": VARIANCE,
            "dimension": DIMENSION,
            "epsilon": EPSILON,
        },
        statement=r"\Pr(y \in S) \le \left[1 + p\left(e^{\epsilon} - 1\right)\right]\Pr(y_{-k} \in S) + p\,\delta"
        r"\quad\text{when the local mechanism is } (\epsilon, \delta)\text{-DP}",
    ),
    Claim(
        "FDP-R2",
        "Remark 2",
        at_most(
            lambda more, **rest: _delta(adjacency=0, **rest),
            lambda more, dimension, **rest: resolved(_delta(adjacency=0, dimension=dimension + more, **rest)),
        ),
        holds(
            "Dropping coordinates is post-processing. Under `absent` the bound of Theorem 1 does not depend on r, but "
            "the true delta does."
        ),
        {**_SMALL, "more": Range(1, 200, integer=True)},
        statement=r"r \le r' \;\Rightarrow\; \delta^{\mathrm{absent}}_k(\epsilon; r) \le "
        r"\delta^{\mathrm{absent}}_k(\epsilon; r')",
        effort=1 / 2,
        coq="feature_dp_general.FDP_R2",
    ),
    Claim(
        "FDP-R3",
        "Remark 3",
        at_most(
            lambda more, **rest: _delta(**rest),
            lambda more, signal, **rest: resolved(_delta(signal=signal * (1 + more), **rest)),
        ),
        holds(
            "The best set for the shorter feature has at least as large an excess for the longer feature, under each "
            "adjacency."
        ),
        {
            **_SMALL,
            "adjacency": Range(0, 2, integer=True),
            "idle": Range(0, 1, integer=True),
            "more": Range(1e-3, 2.0, logarithmic=True),
        },
        statement=r"w_kC_k \le w_k'C_k' \;\Rightarrow\; \delta_k(\epsilon; w_kC_k) \le \delta_k(\epsilon; w_k'C_k')",
        effort=1 / 2,
    ),
)
