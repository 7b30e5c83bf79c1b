"""FDP Theorem 1 and Remark 2 in the authors' own model: the server sees y alone, and absent devices keep their noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import sympy as sp
from scipy import special

from airtight.analytics.forms import gaussian_mechanism
from airtight.analytics.forms import theorem1 as forms
from airtight.analytics.forms.balls import observer_delta as enclosed
from airtight.analytics.forms.domain import Parameter, Range, constant, parameter
from airtight.analytics.forms.quantity import normal_cdf
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import amplification, system_privacy
from airtight.validate.claims.claim import Claim, Ruling, false, holds, holds_under
from airtight.validate.claims.proving.derivation import Derivation, Step
from airtight.validate.claims.relation import at_most, equal, relative_to
from airtight.validate.papers import lemmas
from airtight.validate.papers.feature_dp import theorem1
from airtight.validate.papers.feature_dp.common import GAUSSIAN, PROBABILITY, of_system, resolved, system

_SYSTEM = {
    s.name: s.range
    for s in (
        *(theorem1.devices, theorem1.p, theorem1.variance, theorem1.receiver, theorem1.signal),
        *(theorem1.delta, theorem1.delta_prime),
    )
}
_LONG = Range(1, 25088, logarithmic=True, integer=True, typical=(784, 25088))  # r = q x 7 x 7, q = 16 and 512
_TINY = Range(1e-12, 0.5, logarithmic=True)  # of delta and delta'


def _one_hidden_device(
    devices: int, p: float, variance: float, receiver: float, signal: float, **rest: Any
) -> InferenceSystem:
    """Device 0 takes part with probability p and the others always: constant noise, and codes whose sum is known."""
    participation = [p, *[1.0] * (devices - 1)]
    noise = {"noise_variance": variance, "receiver_noise_variance": receiver}
    return system(devices, participation=participation, weight=signal, adjacency="silent", **noise, **rest)


def _claimed(form: str, score_epsilon: float = 0.0, score_delta: float = 0.0, **point: Any) -> float:
    result = amplification.published(_one_hidden_device(**point), form=form)
    return math.nan if result.vacuous else float(result.delta[0]) + score_delta


def _true(form: str, score_epsilon: float = 0.0, score_delta: float = 0.0, **point: Any) -> float:
    made = _one_hidden_device(**point)
    epsilon = float(amplification.published(made, form=form).epsilon[0]) + score_epsilon
    return float(system_privacy.delta(made, epsilon, observer="others", device=0))


def _mechanism_is_right(form: str, score_epsilon: float = 0.0, score_delta: float = 0.0, **point: Any) -> bool:
    """Whether c_k / sqrt(mean - t) is at most 1, as (10) requires."""
    made = _one_hidden_device(**point)
    t = float(amplification.published(made, form=form).t)
    mean_minus_t = (point["devices"] - 1 + point["p"]) * point["variance"] - t
    c = point["signal"] * math.sqrt(2 * math.log(1.25 / point["delta"]))
    return bool(mean_minus_t > 0 and c <= math.sqrt(mean_minus_t))


def _others(
    *,
    devices: int,
    p: float,
    variance: float,
    spread: float,
    signal: float,
    dimension: int,
    replace: int,
    epsilon: float,
) -> float:
    """delta of device 0, whose participation is hidden, among devices whose noise grows linearly; receiver noise 1/2."""
    made = system(
        devices,
        participation=p,
        noise_variance=[variance * (1 + spread * j) for j in range(devices)],
        weight=signal,
        receiver_noise_variance=0.5,
        dimension=dimension,
        adjacency="replace" if replace else "silent",
    )
    return resolved(system_privacy.delta(made, epsilon, observer="others", device=0))


def _by_balls(**given: Any) -> float:
    delta = enclosed.others_by_enumeration(**given)
    return math.nan if math.isnan(delta) else resolved(delta)


_MANY = {
    "p": PROBABILITY,
    "variance": Range(0.05, 5.0),
    "spread": Range(0.0, 1.0),
    "signal": Range(0.1, 5.0),
    "replace": Range(0, 1, integer=True),
    "epsilon": Range(0.0, 3.0),
}
_STATEMENT = (
    r"\sup_A \Pr(y\in A) - \left[1+\tfrac{p_k}{1-\delta'}\left(e^{c_k/\sqrt{\bar\mu-t}}-1\right)\right]\Pr(y'\in A)"
    r" \le \delta' + \frac{p_k\delta}{1-\delta'}"
)

# Codes of one number: the half-line of y above a threshold, which the server may look at

_power = partial(of_system, logarithmic=True)
_devices, _p = of_system("devices", 5, 200, logarithmic=True), Parameter("p", Range(1e-3, 0.3, logarithmic=True))
_variance = _power("noise_variance", 1e-2, 1e2, name="variance", latex=r"\sigma^2")
_receiver = _power("receiver_noise_variance", 1e-2, 1e2, name="receiver", extra=(0.0,))
_signal = parameter("signal", 1e-2, 10.0, logarithmic=True, latex="w_kC_k")
_theta = parameter("theta", 0.1, 1.0, latex=r"\theta")  # place of the threshold
_NEEDED = gaussian_mechanism.classical.subs({gaussian_mechanism.sensitivity: _signal})  # c_k, over the noise


def _half_line(name: str, location: str, ruling: Ruling, deviation: sp.Expr, least: float, most: float) -> Claim:
    """Theorem 1 with a form of t, for the half-line of greatest divergence; delta and delta' lie between the two numbers."""
    delta, delta_prime = (_power(key, least, most) for key in ("delta", "delta_prime"))
    t = deviation.subs(
        {forms.log_term: sp.log(2 / delta_prime), forms.bound: _variance, forms.variance: _p * (1 - _p) * _variance**2}
    )
    room = (_devices - 1 + _p) * _variance - t
    c = _NEEDED.subs({gaussian_mechanism.sigma: 1, gaussian_mechanism.delta: delta})
    gain = sp.exp(c / sp.sqrt(room)) - 1
    odds = 1 + _p / (1 - delta_prime) * gain
    present, absent = _devices * _variance + _receiver, (_devices - 1) * _variance + _receiver
    # where the density with the code is 1 + theta gain times the density without: the best threshold has a theta in [p, 1]
    threshold = _signal / 2 + present / _signal * sp.log(1 + _theta * gain)

    def above(mean: Any, noise: sp.Expr) -> sp.Expr:
        return normal_cdf((mean - threshold) / sp.sqrt(noise))

    excess = _p * (above(_signal, present) - odds * above(0, present)) - (odds - 1) * (1 - _p) * above(0, absent)
    return Claim(
        name,
        location,
        at_most(excess, delta_prime + _p * delta / (1 - delta_prime)),
        ruling,
        given=[c**2 <= room],
        statement=_STATEMENT,
        unread="sup over all sets A, of which a half-line is tried; what y is, the words say",
        scale=relative_to(lambda p, delta, delta_prime, **_: delta_prime + p * delta / (1 - delta_prime)),
        chosen=True,
        near="with the paper's p = .9 it is true at every r (FDP-T1-hidden-p)",
        effort=2.0,
    )


# Where Theorem 1 is true, and what is true instead


def _far(side: Callable[..., float], *, above: float, p: float, delta: float, **rest: Any) -> float:
    """A side of Theorem 1 at delta' = `above` times p / sqrt(4 pi log(1.25 / delta))."""
    return side("eq23", p=p, delta=delta, delta_prime=above * p / math.sqrt(4 * math.pi * math.log(1.25 / delta)), **rest)


def _far_and_right(**point: Any) -> bool:
    """Whether c_k / sqrt(mean - t) is at most 1, as (10) requires."""
    return bool(_far(_mechanism_is_right, **point))


_all_p = of_system("participation", 1e-6, 1.0, name="p", logarithmic=True, typical=(0.9, 0.9))
_tiny, _tiny_prime = (_power(key, 1e-100, 0.5) for key in ("delta", "delta_prime"))
_at_one = _power("delta", 1e-12, 0.5)
_RATIO = 1 / sp.sqrt(2 * sp.log(sp.Rational(5, 4) / _at_one))  # of the Gaussian mechanism whose classical epsilon is 1
_MEAN = _devices * _all_p * _variance
_IDLE_ROOM = _MEAN - forms.eq23_t.subs(
    {
        forms.log_term: sp.log(2 / _tiny_prime),
        forms.bound: _variance,
        forms.variance: _devices * _all_p * (1 - _all_p) * _variance**2,
    }
)
_IDLE_C = _NEEDED.subs({gaussian_mechanism.sigma: 1, gaussian_mechanism.delta: _tiny})
_IDLE_EPSILON = sp.log(1 + (sp.exp(_IDLE_C / sp.sqrt(_IDLE_ROOM)) - 1) / (1 - _tiny_prime))


def _idle() -> Derivation:
    """How FDP-T1-idle is proved: all noise together is at least mean - t."""
    noise, least, log_term = _devices * _variance + _receiver, sp.Rational(1, 10**5), sp.log(2 / _tiny_prime)
    inside = [root.base for root in _IDLE_ROOM.atoms(sp.Pow) if root.exp == sp.Rational(1, 2)]
    exponent = _IDLE_C / sp.sqrt(_IDLE_ROOM)
    less = (_devices * _variance, lemmas.AT_MOST_ONE.at(share=_all_p))
    at_most_one = lemmas.OVER_ROOT_FALLS.at(lower=_IDLE_C**2, upper=_IDLE_ROOM, factor=_IDLE_C)
    facts = lemmas.amplified(exponent, _IDLE_EPSILON, _tiny_prime, _tiny)
    room = [
        *((log_term >= sp.Rational(1, 2)), *((base >= sp.Rational(1, 2000)) for base in inside)),
        *((_IDLE_ROOM <= _MEAN), (least <= _IDLE_C**2), (least <= _IDLE_ROOM, Derivation(through=[_IDLE_C**2]))),
        (exponent <= 1, Derivation(uses=[at_most_one])),
        (noise >= _IDLE_ROOM, Derivation(through=[_MEAN, Step(_devices * _variance, [less])])),
        *lemmas.less_noise(_signal, _IDLE_C, _IDLE_ROOM, noise, _MEAN),
    ]
    ratio, greatest = (_signal / sp.sqrt(square) for square in (noise, _IDLE_ROOM))
    shown = lemmas.calibrated(exponent, _IDLE_EPSILON, ratio, greatest, _tiny)
    uses = [(_all_p, use) for use in shown]
    return Derivation(facts=[*facts[:2], *room, *facts[2:]], through=[Step(_all_p * _tiny, uses)])


def _remaining(p: float, variance: float, noise: float, signal: float, dimension: int, tail: float) -> float:
    r"""kappa: a lower bound, 1 at most, of the density of y without the device's noise over that with it, inside the ball of
    radius :math:`R = |x| + \sqrt{(v+s)q}`, which y leaves with probability `tail` at most."""
    both = variance + noise
    radius = signal + math.sqrt(both * float(special.chdtri(dimension, tail)))
    return math.exp(min(0.0, dimension / 2 * math.log1p(noise / variance) - radius**2 * noise / (2 * variance * both)))


def _one_hidden(p: float, variance: float, noise: float, signal: float, dimension: int) -> InferenceSystem:
    return system(
        1,
        participation=p,
        noise_variance=noise,
        weight=signal,
        receiver_noise_variance=variance,
        dimension=dimension,
        adjacency="silent",
    )


def _weakly_amplified(epsilon: float, tail: float, **point: Any) -> float:
    """The true delta at epsilon' = log(1 + p (e^epsilon - 1) / (p + (1 - p) kappa))."""
    p = point["p"]
    amplified = math.log1p(p * math.expm1(epsilon) / (p + (1 - p) * _remaining(tail=tail, **point)))
    return resolved(system_privacy.delta(_one_hidden(**point), amplified, observer="others", device=0))


def _gaussian_and_tail(
    epsilon: float, tail: float, p: float, variance: float, noise: float, signal: float, dimension: int
) -> float:
    release = float(gaussian.delta(epsilon, sensitivity=signal, sigma=math.sqrt(variance + noise)))
    return resolved(p * (release + tail))


_IN_ITS_MODEL = "as the authors mean it: the server sees y alone, noise stays"

CLAIMS = (
    _half_line(
        "FDP-T1-hidden",
        f"Theorem 1, Eq. (11), t of Eq. (23), {_IN_ITS_MODEL}; codes of one number",
        false(
            "A present device raises the variance of y. Far out, where a small delta is decided, the noise of the "
            "absent device gives y less probability than that of the present one, and so hides less than (11) says. "
            "It is no better with more numbers (FDP-R2-hidden).",
            "step",
            corrected_by="FDP-T1-hidden**",
            true_where="the variance does not change (FDP-T1-idle; p_k = 1), or p_k at least .9 and delta at least 1e-12 "
            "(FDP-T1-hidden-p), or delta' at least p_k / sqrt(4 pi log(1.25 / delta)) (FDP-T1-hidden-far); always with "
            "c_k / sqrt(mean - t) at most 1",
        ),
        forms.eq23_t,
        1e-12,
        1e-4,
    ),
    _half_line(
        "FDP-T1-hidden-own",
        f"Theorem 1, Eq. (11), with its own t, {_IN_ITS_MODEL}; codes of one number",
        false(
            "As FDP-T1-hidden: the longer t of the theorem puts the failure off, to smaller delta and delta'.",
            corrected_by="FDP-T1-hidden**",
            true_where="as FDP-T1-hidden",
        ),
        forms.theorem1_t,
        1e-100,
        1e-20,
    ),
    Claim(
        "FDP-T1-hidden-p",
        f"Theorem 1, Eq. (11), t of Eq. (23), {_IN_ITS_MODEL}; p_k at least .9",
        at_most(partial(_true, "eq23"), partial(_claimed, "eq23")),
        holds_under(
            "So little is amplified that the slack of the classical calibration makes up for it, even for a server that "
            "sees who takes part: in every dimension, for delta of at least 1e-12 and c_k / sqrt(mean - t) of at most 1."
        ),
        {**_SYSTEM, "p": Range(0.9, 1.0, typical=(0.9, 0.9)), "dimension": _LONG, "delta": _TINY, "delta_prime": _TINY},
        given=[partial(_mechanism_is_right, "eq23")],
        statement=_STATEMENT,
        slack=1000.0,
        effort=1 / 4,
        coq="feature_dp_general.FDP_T1_hidden_p",
    ),
    Claim(
        "FDP-T1-hidden-p1",
        "ours: one step of FDP-T1-hidden-p",
        at_most(gaussian_mechanism.hockey_stick(sp.Rational(9, 10), _RATIO, 1), _at_one),
        holds("The Gaussian mechanism whose classical epsilon is 1 keeps delta at epsilon .9 too."),
        statement=r"\delta_G\Bigl(\tfrac9{10}; \tfrac1{\sqrt{2\log(1.25/\delta)}}\Bigr) \le \delta",
        where=GAUSSIAN,
        slack=4.0,
    ),
    Claim(
        "FDP-T1-hidden-far",
        f"Theorem 1, Eq. (11), t of Eq. (23), {_IN_ITS_MODEL}; a great delta'",
        at_most(partial(_far, _true), partial(_far, _claimed)),
        holds_under(
            "delta' alone is then more than what any set can tell, p_k times the total variation of two Gaussians; with "
            "c_k / sqrt(mean - t) of at most 1, in every dimension."
        ),
        {
            **{name: allowed for name, allowed in _SYSTEM.items() if name != "delta_prime"},
            "p": Range(1e-6, 1.0, logarithmic=True, typical=(0.9, 0.9)),
            "dimension": _LONG,
            "delta": _TINY,
            "above": Range(1.0, 3.0),
        },
        given=[_far_and_right],
        statement=_STATEMENT + r"\quad\text{for } \delta' \ge \frac{p_k}{\sqrt{4\pi\log(1.25/\delta)}}",
        slack=100.0,
        effort=1 / 4,
        coq="feature_dp_general.FDP_T1_hidden_far",
    ),
    Claim(
        "FDP-T1-idle",
        "Theorem 1, Eq. (11), t of Eq. (23), where absent devices send noise too",
        at_most(
            _all_p
            * gaussian_mechanism.hockey_stick(_IDLE_EPSILON, _signal, sp.sqrt(_devices * _variance + _receiver)),
            _tiny_prime + _all_p * _tiny / (1 - _tiny_prime),
        ),
        holds_under(
            "The variance then says nothing, and (11) amplifies as Lemma 4 does. True for c_k / sqrt(mean - t) of at "
            "most 1, in every dimension; t and delta' are a safety margin. That the left side is delta_k (FDP-T1d), by hand."
        ),
        derivation=_idle,
        given=[_IDLE_C**2 <= _IDLE_ROOM],
        statement=r"p_k\,\delta_G\Bigl(\log\Bigl[1+\tfrac{e^{c_k/\sqrt{\bar\mu-t}}-1}{1-\delta'}\Bigr];\ "
        r"\tfrac{w_kC_k}{\sqrt{K\sigma^2+\sigma_m^2}}\Bigr) \le \delta' + \frac{p_k\delta}{1-\delta'}",
        where={**GAUSSIAN, "p_k": _all_p, "c_k": _IDLE_C, r"\bar\mu": _MEAN, "t": _MEAN - _IDLE_ROOM},
        slack=300.0,
    ),
    Claim(
        "FDP-T1-hidden**",
        "ours: what remains of the amplification where the noise of a present device shows (observer: others)",
        at_most(_weakly_amplified, _gaussian_and_tail),
        holds(
            "Inside a ball that y leaves with probability tau at most, the density of y without the device's noise is at "
            "least kappa times that with it: the device hides among its absences with weight kappa. Amplification is "
            "whole where kappa = 1, and gone where the noise of the device shows in many numbers or far out."
        ),
        {
            "p": Range(1e-9, 1.0, logarithmic=True, extra=(0.5,)),
            "variance": Range(1e-2, 1e2, logarithmic=True),
            "noise": Range(1e-6, 1e2, logarithmic=True, extra=(0.0,)),
            "signal": Range(1e-2, 10.0, logarithmic=True),
            "dimension": _LONG,
            "epsilon": Range(1e-3, 5.0, logarithmic=True),
            "tail": Range(1e-30, 0.5, logarithmic=True),
        },
        statement=r"D_{1+\frac{p(e^\epsilon-1)}{p+(1-p)\kappa}}\bigl(p\,N(x,v+s)+(1-p)N(0,v)\,\big\|\,p\,N(0,v+s)+(1-p)N(0,v)\bigr)"
        r" \le p\Bigl[\delta_G\Bigl(\epsilon;\tfrac{|x|}{\sqrt{v+s}}\Bigr)+\tau\Bigr],\quad "
        r"\kappa = \min\Bigl\{1, \bigl(1+\tfrac sv\bigr)^{r/2}e^{-R^2s/(2v(v+s))}\Bigr\},\quad "
        r"R = |x| + \sqrt{(v+s)\,\chi^2_{r,1-\tau}}",
        effort=1 / 4,
        coq="feature_dp_general.FDP_T1_hidden_star_star",
    ),
    Claim(
        "FDP-T1-hidden-r",
        "Theorem 1, Eq. (11), with its own t, as the authors mean it: the server sees y alone, noise stays; codes of "
        "up to their 25088 numbers",
        at_most(
            partial(_true, "theorem1"),
            partial(_claimed, "theorem1"),
            balls=partial(enclosed.theorem1, form="theorem1"),
            bounded=True,
        ),
        false(
            "In many dimensions the device's own noise visibly raises the variance of y and reveals that it takes part: "
            "at r = 25088 no amplification remains. The bound does not depend on r. In one dimension it fails as well, "
            "at smaller delta and delta' (FDP-T1-hidden-own).",
            corrected_by="FDP-T1-hidden*",
            true_where="as FDP-T1-hidden; at the paper's p = .9, delta and delta' in every dimension",
        ),
        {**_SYSTEM, "dimension": _LONG},
        given=[partial(_mechanism_is_right, "theorem1")],
        statement=_STATEMENT,
        near={"devices": 50, "p": 0.1, "signal": 0.3, "dimension": 25088},
        effort=1 / 2,
    ),
    Claim(
        "FDP-L2-hidden",
        "Lemma 2 with Eq. (11) and its t, Scheme 2.1, as the authors mean it: the server sees y alone, absent devices send "
        "nothing; neighbours whose scores are equal (silent)",
        at_most(
            partial(_true, "theorem1"),
            partial(_claimed, "theorem1"),
            balls=partial(enclosed.theorem1, form="theorem1"),
            bounded=True,
        ),
        false(
            "The second summand is Theorem 1, which the noise of a present device refutes (FDP-T1-hidden-r); with much "
            "noise on the score its own guarantee is too small to make up for that.",
            corrected_by="FDP-L2*",
            true_where="absent devices send noise too (FDP-L2-idle), or as FDP-T1-hidden",
        ),
        {
            **_SYSTEM,
            "receiver": constant(0.0),
            "dimension": constant(25088),
            "score_epsilon": Range(1e-4, 1.0, logarithmic=True, symbol=r"\epsilon_k^{(0)}"),
            "score_delta": Range(1e-9, 1e-3, logarithmic=True, typical=(1e-5, 1e-5), symbol=r"\delta_k^{(0)}"),
        },
        given=[partial(_mechanism_is_right, "theorem1")],
        statement=r"\sup_A \Pr(y\in A) - e^{\epsilon_k^{(0)}}\left[1+\tfrac{p_k}{1-\delta'}\left("
        r"e^{c_k/\sqrt{\bar\mu-t}}-1\right)\right]\Pr(y'\in A) \le \delta_k^{(0)} + \delta' + \frac{p_k\delta}{1-\delta'}",
        near={"devices": 50, "p": 0.1, "signal": 0.3},
        effort=1 / 8,
    ),
    Claim(
        "FDP-T1-hidden*",
        "ours: silent and replace, exact when the others' participation is known and the device's hidden",
        equal(_others, _by_balls),
        holds(
            "One integral along the signal's axis, with the norm across in closed form; compared with an integral in "
            "ball arithmetic, over all sets."
        ),
        {
            **_MANY,
            "p": Range(0.01, 0.5),
            "signal": Range(0.5, 5.0),
            "devices": Range(1, 2, integer=True),
            "dimension": Range(1, 4, integer=True),
        },
        statement=r"\delta_k(\epsilon) = E_S\,D_\lambda\bigl(p\,N(x,v_S+s)+(1-p)N(0,v_S)\,\big\|\,p\,N(x',v_S+s)+(1-p)N(0,v_S)"
        r"\bigr),\quad x'=0\text{ or }-x",
        tolerance=1e-8,
        effort=1 / 8,
    ),
    Claim(
        "FDP-R2-hidden",
        "Remark 2 as the authors mean it: the server sees y alone, noise stays (the others' participation known)",
        at_most(
            lambda more, **rest: _others(**rest),
            lambda more, dimension, **rest: _others(dimension=dimension + more, **rest),
        ),
        holds(
            "At the same clip shorter codes do protect better: dropping coordinates is post-processing, and the "
            "device's noise is less visible."
        ),
        {
            **_MANY,
            "devices": Range(1, 3, integer=True),
            "dimension": Range(1, 500, logarithmic=True, integer=True),
            "more": Range(1, 500, logarithmic=True, integer=True),
        },
        statement=r"r \le r' \;\Rightarrow\; \delta_k(\epsilon; r) \le \delta_k(\epsilon; r')",
        tolerance=1e-8,
        effort=1 / 4,
        coq="feature_dp_general.FDP_R2_hidden",
    ),
)
