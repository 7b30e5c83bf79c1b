"""FDP Sec. V-A: uncertainty scores and their sensitivity, Scheme 2.1, Lemma 2, Table I."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import sympy as sp
from scipy import special

from airtight.analytics.forms import inference_errors
from airtight.analytics.forms.domain import Range, parameter
from airtight.analytics.forms.quantity import Quantity
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference import participation, uncertainty
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import feature_aware
from airtight.validate.claims.claim import Claim, false, holds, holds_under, not_reproducible, other_reading
from airtight.validate.claims.proving.derivation import Derivation, Monotone, Step
from airtight.validate.claims.relation import absolute, at_most, both, equal
from airtight.validate.papers.feature_dp.common import GAUSSIAN, SEED, equal_devices
from airtight.validate.papers.lemmas import (
    ABOVE_TANGENT,
    ABOVE_TANGENT_BELOW,
    CURVE_FALLS,
    LOG_RISES,
    NOT_NEGATIVE,
    ORDERED,
)

# Scores: Eq. (15), (16), footnote 2

_SHARE = Range(0.0, 1.0)


labels = parameter("labels", 2, 100, integer=True, latex="L")
_one, _two = (parameter(name, 0.0, 1.0) for name in ("share", "other"))
_ENTROPY = sp.log(labels) / sp.log(2)


def _sure(share: sp.Expr) -> sp.Expr:
    """Probability of the likeliest of the labels; each of the others has share/labels."""
    return 1 - share * (1 - 1 / labels)


def _entropy(share: sp.Expr, rest: sp.Expr) -> sp.Expr:
    return -(_sure(share) * sp.log(_sure(share)) + rest) / sp.log(2)


def _of_others(share: sp.Expr) -> sp.Expr:
    return (1 - 1 / labels) * share * (sp.log(share) - sp.log(labels))


_ENTROPIES = [_entropy(share, sp.Piecewise((_of_others(share), share > 0), (0, True))) for share in (_one, _two)]
_CHANGE = sp.Max(_ENTROPIES[0] - _ENTROPIES[1], _ENTROPIES[1] - _ENTROPIES[0])


def _within_entropy(share: sp.Expr, positive: bool) -> tuple[sp.Expr, list[Any]]:
    """An entropy where the share is positive, or 0, and the facts that it is in [0, log2 L]: 1 + x <= e^x at log(q/p)."""
    p, unit = _sure(share), 1 / sp.log(2)
    entropy = _entropy(share, _of_others(share) if positive else sp.Integer(0))
    tops = [LOG_RISES.at(lower=1 / labels, upper=p)]
    greater = [(p * unit, ABOVE_TANGENT_BELOW.at(lower=0, upper=sp.log(labels) + sp.log(p)))]
    least = [(p * unit, LOG_RISES.at(lower=p, upper=1))]
    facts = [
        (p >= sp.Rational(1, 200)),
        (1 / labels <= p, Derivation(uses=[(1 - 1 / labels, NOT_NEGATIVE.at(number=1 - share))])),
        (sp.log(labels) + sp.log(p) >= 0, Derivation(uses=tops)),
    ]
    if positive:
        facts.append((-sp.log(share) >= 0, Derivation(uses=[LOG_RISES.at(lower=share, upper=1)])))
        greater.append(((1 - 1 / labels) * share * unit, ABOVE_TANGENT.at(lower=0, upper=-sp.log(share))))
        least.append(((1 - 1 / labels) * share * unit, LOG_RISES.at(lower=share, upper=labels)))
    else:
        greater.append(((1 - 1 / labels) * unit, NOT_NEGATIVE.at(number=1 - share)))
        greater.append(((1 - 1 / labels) * share * unit, NOT_NEGATIVE.at(number=sp.log(labels))))
    return entropy, [*facts, (entropy >= 0, Derivation(uses=least)), (entropy <= _ENTROPY, Derivation(uses=greater))]


def _of_two_laws(bound: sp.Expr) -> Derivation:
    """How FDP-E15 and FDP-E15* are proved: both entropies are in [0, log2 L]."""

    def case(first: bool, second: bool) -> Derivation:
        (one, facts), (two, others) = _within_entropy(_one, first), _within_entropy(_two, second)
        differences = [
            (a - b <= _ENTROPY, Derivation(uses=[ORDERED.at(lower=a, upper=_ENTROPY), ORDERED.at(lower=0, upper=b)]))
            for a, b in ((one, two), (two, one))
        ]
        through = [_ENTROPY] if bound != _ENTROPY else []
        uses = [NOT_NEGATIVE.at(number=bound - _ENTROPY)] if through else []
        return Derivation(facts=[*facts, *others, *differences], through=through, uses=uses)

    halves = (Derivation(split=_two, above=case(first, True), below=case(first, False)) for first in (True, False))
    return Derivation(split=_one, above=next(halves), below=next(halves))


def _sensitivity(greatest: sp.Expr) -> Quantity:
    """Sensitivity of the min-entropy by footnote 2."""
    return inference_errors.QUANTITIES["min-entropy, sensitivity printed"].subs(greatest=greatest)


def _entropy_change(labels: int, share: float, other: float) -> float:
    """Difference of the entropies of two laws; share 0 is a sure label, share 1 the uniform law."""
    rest = np.array([[share], [other]]) * (1 - 1 / labels)
    laws = np.hstack([1 - rest, np.repeat(rest / (labels - 1), labels - 1, axis=1)])
    return abs(float(np.diff(uncertainty.shannon(laws))[0]))


greatest = parameter("greatest", 0.025, 1.0, latex=r"p_{\max}")  # of 40 labels
least = parameter("least", 0.025, 1.0, latex=r"\min_fp_{\max}")
other = parameter("other", 0.025, 1.0, latex=r"p_{\max}'")


top = parameter("top", 0.185, 0.999, latex=r"p_{\max}")
_EVENLY = -top * sp.log(top, 2) - (1 - top) * sp.log((1 - top) / 39, 2)


def _below_threshold(score: float, noise: float, eta: float) -> float:
    """The density of the noisy score integrated up to the threshold."""
    last = (eta - score) / noise
    edges = np.linspace(min(last, 0.0) - 12.0, min(last, 12.0), 49)
    half = np.diff(edges) / 2
    t = (edges[:-1] + half)[:, None] + half[:, None] * _NODES
    return float(half @ (np.exp(-t * t / 2) @ _WEIGHTS)) / math.sqrt(2 * math.pi)


# Lemma 2

p = parameter("p", 0.01, 1.0, typical=(0.1, 0.9))
ratio = parameter("ratio", 0.05, 3.0, logarithmic=True, typical=(0.8, 2.1), latex=r"\mu")
local = parameter("local", 0.01, 10.0, logarithmic=True, typical=(3.98, 10.0), latex=r"\epsilon")
score = parameter("score", 1e-4, 1.0, logarithmic=True, typical=(0.1134, 0.9), latex=r"\epsilon^{(0)}")
score_delta = parameter("score_delta", 1e-12, 1e-3, logarithmic=True, typical=(1e-5, 1e-5), latex=r"\delta^{(0)}")
_DELTA = GAUSSIAN[r"\delta_G"](local, ratio)
_DILUTED = 1 + p * (sp.exp(local) - 1)
_TOTAL = score + sp.log(_DILUTED)
_BOTH = sp.log(1 + (sp.exp(_TOTAL) - 1) / p)
_odds, _sends = parameter("odds", 1.0, 1e9, logarithmic=True), parameter("p", 0.01, 1.0)
_AMPLIFIED_RISES = Monotone(sp.log(1 + (_odds - 1) / _sends), _odds)


def _curve(epsilon: float, ratio: float) -> float:
    """delta of a Gaussian mechanism at any real epsilon."""
    if epsilon >= 0:
        return float(gaussian.delta(epsilon, sensitivity=ratio, sigma=1.0))
    return -math.expm1(epsilon) + math.exp(epsilon) * float(gaussian.delta(-epsilon, sensitivity=ratio, sigma=1.0))


def seen_to_send(u: float, v: float, eta: float, noise: float, ratio: float, score: float, local: float) -> float:
    """delta of one device in Scheme 2.1, for a server that sees whether it sends; u and v are the neighbours' scores."""
    p, q = (float(participation.threshold(x, noise, eta)) for x in (u, v))
    total = score + local
    silent = max((1 - p) - math.exp(total) * (1 - q), 0.0)
    if q == 0:
        return silent + p
    return silent + (p * _curve(total - math.log(p / q), ratio) if p > 0 else 0.0)


def _bit_epsilon(eta: float, score: float, change: float) -> float:
    """The epsilon of the bit that tells whether a device takes part; Scheme 2.1, score noise 0.1^(1/2)."""
    logs = [special.log_ndtr(np.array([1.0, -1.0]) * (eta - u) / math.sqrt(0.1)) for u in (score, score + change)]
    return float(np.max(np.abs(logs[0] - logs[1])))


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def _server(
    devices: int, variance: float, spread: float, signal: float, adjacency: int, idle: int, delta: float
) -> InferenceSystem:
    """Devices whose noise falls linearly, so that the first has the most; gamma = 3/2."""
    noise = variance * (1 + spread * np.arange(devices, dtype=np.float64)[::-1])
    system = equal_devices(devices, 1.0, variance, signal, 3, adjacency, idle)
    return replace(system, noise_variance=noise, alignment=1.5, delta=delta)


def _two_stages(epsilon: float, change: float, room: float, system: InferenceSystem, others: float) -> float:
    """delta of the score of device 0, and of its feature wherever the score stays within `room` of its mean.

    The score noise is 1, and the neighbour's score differs by `change`. `others` is the noise of the other participants.
    The released score is integrated over.
    """
    gain, deltas = system.alignment, []
    signal = gain * float(system.weight[0]) * (2 if system.adjacency is Adjacency.REPLACE else 1)
    mu = signal / math.sqrt(gain**2 * (float(system.noise_variance[0]) + others) + system.receiver_noise_variance)
    for shift in (change, -change):
        edges = np.append(np.linspace(-10.0, 10.0, 25), room)
        if shift:  # the integrand bends where the score alone spends epsilon, more sharply if the feature reveals less
            bend = shift / 2 - epsilon / shift
            edges = np.append(edges, bend + mu / abs(shift) * np.linspace(-10.0, 10.0, 25))
        edges = np.unique(np.clip(edges, -10.0, 10.0))
        half = np.diff(edges) / 2
        x = (edges[:-1] + half)[:, None] + half[:, None] * _NODES
        epsilon_left = epsilon - (shift * shift - 2 * x * shift) / 2
        delta_of_feature = special.ndtr(mu / 2 - epsilon_left / mu) - np.exp(
            epsilon_left + special.log_ndtr(-mu / 2 - epsilon_left / mu)
        )
        # at x >= room nothing is sent, and only the score counts
        delta_given_score = np.where(x < room, delta_of_feature, np.maximum(-np.expm1(epsilon_left), 0.0))
        deltas.append(float(half @ ((delta_given_score * np.exp(-x * x / 2)) @ _WEIGHTS)) / math.sqrt(2 * math.pi))
    return max(deltas)


def _threshold(change: float, below: float, deep: float, eta: float, **rest: Any) -> tuple[float, float]:
    """Scheme 2.1: the integrated delta at the proven epsilon, and the delta asked for (nan if epsilon is 0).

    The others' scores are `below` less than the greatest score 0, and the device's own score is `deep` less than 0.
    """
    system = _server(**rest)
    proven = feature_aware.proven_threshold(system, noise=1.0, sensitivity=change, eta=eta, greatest_score=0.0)
    epsilon, noise = float(proven.epsilon[0]), system.noise_variance[1:]
    probability, mean_delta = float(special.ndtr(eta + below)), 0.0
    for chosen in product((0, 1), repeat=noise.size):
        heard = noise.sum() if system.idle_noise else float(np.dot(chosen, noise))
        weight = math.prod(probability if c else 1 - probability for c in chosen)
        mean_delta += weight * _two_stages(epsilon, change, eta + deep, system, heard)
    return mean_delta, system.delta if epsilon > 0 else math.nan


def _lowest(change: float, own: float, selected: float, seed: int, **rest: Any) -> tuple[float, float]:
    """The same for Scheme 2.2; the others' noisy scores are random."""
    system = _server(**rest)
    among = 1 + round(selected * (system.devices - 1))
    proven = feature_aware.proven_lowest(system, noise=1.0, sensitivity=change, selected=among)
    epsilon, noise = float(proven.epsilon[0]), system.noise_variance[1:]
    scores = np.random.default_rng(seed).standard_normal(noise.size)
    order = np.argsort(scores)
    room = float(scores[order[among - 1]]) - own if among < system.devices else math.inf
    heard = noise.sum() if system.idle_noise else noise[order[: among - 1]].sum()
    return _two_stages(epsilon, change, room, system, float(heard)), system.delta if epsilon > 0 else math.nan


_STAGES = {
    "devices": Range(1, 4, integer=True),
    "variance": Range(0.05, 5.0),
    "spread": Range(0.0, 2.0),
    "signal": Range(0.1, 5.0),
    "change": Range(0.0, 2.0),
    "adjacency": Range(1, 2, integer=True),
    "idle": Range(0, 1, integer=True),
    "delta": Range(1e-6, 0.1, logarithmic=True),
}

CLAIMS = (
    Claim(
        "FDP-E15",
        "Eq. (15) and the sensitivity after it",
        at_most(_CHANGE, 2 * _ENTROPY),
        holds(
            "The entropy lies in [0, log2 L]; the printed bound is twice too large. Proved for laws between a sure label and the "
            "uniform law; for any two in Coq."
        ),
        computed=at_most(_entropy_change, lambda labels, **laws: uncertainty.published_sensitivity(labels)),
        derivation=partial(_of_two_laws, 2 * _ENTROPY),
        where={"u_k": _ENTROPIES[0], "u_k'": _ENTROPIES[1], r"|\mathcal L|": labels},
        statement=r"|u_k - u_k'| \le 2\log_2|\mathcal L|",
        slack=2.0,
        coq="feature_dp_general.FDP_E15",
    ),
    Claim(
        "FDP-E15*",
        "Eq. (15), the exact sensitivity",
        at_most(_CHANGE, _ENTROPY),
        holds(
            "This is the range of the entropy. Proved for laws between a sure label and the uniform law; for any two, and the "
            "equality, in Coq."
        ),
        computed=at_most(_entropy_change, lambda labels, **laws: uncertainty.sensitivity(labels)),
        derivation=partial(_of_two_laws, _ENTROPY),
        where={"u_k": _ENTROPIES[0], "u_k'": _ENTROPIES[1], r"|\mathcal L|": labels},
        statement=r"|u_k - u_k'| \le \log_2|\mathcal L|, \text{ with equality for a sure label against the uniform law}",
        coq="feature_dp_general.FDP_E15_star",
    ),
    Claim(
        "FDP-fn2*",
        "Footnote 2, p_max the least over all inputs (40 labels)",
        at_most(sp.Max(*(s * (sp.log(greatest, 2) - sp.log(other, 2)) for s in (1, -1))), _sensitivity(least)),
        holds_under("This is the range of the score; without a threshold on p_max it is log2 of the number of labels."),
        given=[greatest >= least, other >= least],
        statement=r"|-\log_2 p_{\max} + \log_2 p_{\max}'| \le -\log_2\min_f p_{\max}",
        scale=absolute("bit"),
    ),
    Claim(
        "FDP-fn2",
        "Footnote 2, p_max that of one input",
        at_most(abs(sp.log(greatest / other, 2)), _sensitivity(greatest)),
        other_reading(
            "With the least p_max over all inputs the footnote is right (FDP-fn2*). Read literally, 'max p(l|f) for "
            "any f' is that of one input; then the score changes by 1 bit between a sure label and two equally likely "
            "ones.",
            corrected_by="FDP-fn2*",
            true_where=r"p_{\max} \text{ the least over all inputs, at least } 1/|\mathcal L|",
        ),
        statement=r"|-\log_2 p_{\max} + \log_2 p_{\max}'| \le -\log_2 p_{\max}",
        scale=absolute("bit"),
        near="the paper names no class probabilities",
    ),
    Claim(
        "FDP-E17",
        "Eq. (17)",
        equal(_below_threshold, lambda score, noise, eta: float(participation.threshold(score, noise, eta))),
        holds("The noisy score is normal. ((18) prints u for the noisy score and zeta for eta.)"),
        {"score": Range(0.0, 5.4), "noise": Range(0.15, 10.0, logarithmic=True), "eta": Range(0.0, 5.0)},
        statement=r"p_k = \Phi\left(\frac{\eta - u_k}{\sigma_k^{(0)}}\right)",
        where={r"u_k": sp.Symbol("score"), r"\sigma_k^{(0)}": sp.Symbol("noise")},
        coq="feature_dp_general.FDP_E17",
    ),
    Claim(
        "FDP-L2",
        "Lemma 2",
        at_most(p * _DELTA.subs(local, _TOTAL), score_delta + p * _DELTA),
        false(
            "In Scheme 2.1 no score is released. There the lemma fails for a server that sees who sends; a server "
            "that sees y alone is another case (FDP-L2-hidden, FDP-L2-idle). In Scheme 2.2 the server sorts the scores and knows "
            "from them who takes part, so that nothing amplifies epsilon. Tried for neighbours with equal scores, for "
            "which the lemma is true once eps^(0) is at least -log p.",
            corrected_by="FDP-L2*",
            true_where="p_k = 1",
        ),
        statement=r"p\,\delta_G(\epsilon^{(0)} + \log(1 + p(e^\epsilon - 1)); \mu) \le \delta^{(0)} + p\,\delta_G(\epsilon; \mu)",
        where=GAUSSIAN,
    ),
    Claim(
        "FDP-L2-idle",
        "Lemma 2, Scheme 2.1, where absent devices send noise too: the server sees y alone, the neighbour has no "
        "feature (silent)",
        at_most(
            p * _DELTA.subs(local, _BOTH),
            score_delta + p * _DELTA,
        ),
        holds_under(
            "No score is released, and a neighbour without a feature sends the same noise whatever its score. FDP-T1d "
            "alone, by hand, gives epsilon' and p delta; the budget of the score is added to it. This does not hold where noise "
            "reveals who sends (FDP-L2-hidden), nor for the server of Scheme 2.2, which sorts the scores (FDP-L2)."
        ),
        derivation=lambda: Derivation(
            facts=[(local <= _BOTH, Derivation(uses=[_AMPLIFIED_RISES.at(_DILUTED, sp.exp(_TOTAL), p=p)]))],
            through=[Step(p * _DELTA, [(p, CURVE_FALLS.at(lower=local, upper=_BOTH, ratio=ratio))])],
        ),
        statement=r"p\,\delta_G\Bigl(\log\bigl(1 + \tfrac{e^{\epsilon^{(0)}}(1 + p(e^\epsilon - 1)) - 1}p\bigr); \mu\Bigr) "
        r"\le \delta^{(0)} + p\,\delta_G(\epsilon; \mu)",
        where=GAUSSIAN,
    ),
    Claim(
        "FDP-L2*",
        "Lemma 2, corrected",
        at_most(
            seen_to_send,
            lambda noise, ratio, score, local, **scores: _curve(score, 1 / noise) + _curve(local, ratio),
        ),
        holds("Basic composition of the score with the un-amplified Gaussian mechanism."),
        {
            "u": _SHARE,
            "v": _SHARE,
            "eta": Range(0.01, 1e4, logarithmic=True),
            "noise": Range(0.3, 1e3, logarithmic=True),
            "ratio": Range(1e-3, 5.0, logarithmic=True),
            "score": Range(1e-6, 10.0, logarithmic=True),
            "local": Range(1e-6, 10.0, logarithmic=True),
        },
        statement=r"(\epsilon^{(0)} + \epsilon_{\mathrm{loc}},\ \delta^{(0)} + \delta_{\mathrm{loc}})"
        r"\text{ with the feature's guarantee given participation}",
        coq="feature_dp_general.FDP_L2_star",
    ),
    Claim(
        "FDP-L2*-2.1",
        "Lemma 2, corrected, Scheme 2.1 (score noise 1, scores at most 0)",
        at_most(*both(_threshold)),
        holds(
            "Score and feature compose as Gaussian mechanisms, and delta is larger if the others are less likely to "
            "take part. Compared with the integral over the released score; attained where the others' scores are "
            "greatest and the device's own is low."
        ),
        {**_STAGES, "below": Range(0.0, 3.0), "deep": Range(0.0, 15.0), "eta": Range(-2.0, 3.0)},
        argued="airtight.analytics.privacy.over_the_air.feature_aware.proven_threshold",
        statement=r"\delta_k(\epsilon) \le E_S\,\delta_G\Bigl(\epsilon;\ \sqrt{(\Delta u/\sigma^{(0)})^2 + d^2/v_S}\Bigr),\quad "
        r"\Pr(j \in S) = \Phi\left(\frac{\eta - u^{\max}}{\sigma^{(0)}}\right)",
        tolerance=1e-8,
        effort=1 / 2,
        coq="feature_dp_general.FDP_L2_star_2_1",
    ),
    Claim(
        "FDP-L2*-2.2",
        "Lemma 2, corrected, Scheme 2.2 with all scores released (score noise 1)",
        at_most(*both(_lowest)),
        holds(
            "Given the others' noisy scores, which are released, the selected set depends on the device's own score "
            "alone. With idle noise v counts the noise of all. Compared with the integral over that score; attained by a low "
            "score among others with the least noise."
        ),
        {**_STAGES, "own": Range(-12.0, 2.0), "selected": _SHARE, "seed": SEED},
        argued="airtight.analytics.privacy.over_the_air.feature_aware.proven_lowest",
        statement=r"\delta_k(\epsilon) \le \delta_G\Bigl(\epsilon;\ \sqrt{(\Delta u/\sigma^{(0)})^2 + d^2/v}\Bigr),\quad "
        r"v = \gamma^2\Bigl(\sigma_k^2 + \min_{|S| = \tilde k - 1}\sum_{j \in S}\sigma_j^2\Bigr) + \sigma_m^2",
        tolerance=1e-8,
        effort=1 / 2,
        coq="feature_dp_general.FDP_L2_star_2_2",
    ),
    Claim(
        "FDP-Tab1",
        "Table I",
        equal(sp.Integer(1), sp.Rational("0.2641") / sp.Rational("0.1134")),
        not_reproducible(
            "The epsilon of (16) does not depend on eta, so the table's rows cannot show it. Nor can they show the "
            "epsilon of the bit that tells whether a device takes part (FDP-Tab1-bit). Gamma and delta^(0) are not "
            "given.",
            uncorrected="Gamma_k and delta^(0) are not given",
        ),
        statement=r"\frac{\epsilon^{(0)}(\eta = 0.5)}{\epsilon^{(0)}(\eta = 0.3)} = \frac{0.2641}{0.1134}",
        where={r"\frac{\epsilon^{(0)}(\eta = 0.5)}{\epsilon^{(0)}(\eta = 0.3)}": 1},
        constants=True,
    ),
    Claim(
        "FDP-Tab1-bit",
        "ours: Table I read as the epsilon of the bit that tells whether a device takes part",
        at_most(
            lambda score, change: _bit_epsilon(0.5, score, change) / _bit_epsilon(0.3, score, change), 0.2641 / 0.1134
        ),
        holds(
            "For any scores, the epsilon at a threshold of .5 is at most 1.56 times that at .3; in the table it is "
            "2.33 times."
        ),
        {"score": Range(0.0, 5.32), "change": Range(1e-4, 5.32, logarithmic=True)},
        statement=r"\frac{\epsilon_{\mathrm{bit}}(\eta = 0.5)}{\epsilon_{\mathrm{bit}}(\eta = 0.3)} < \frac{0.2641}{0.1134}",
        slack=1.5,
    ),
    Claim(
        "FDP-F10-eta",
        "Fig. 10: which devices eta = 5 leaves out (40 labels, the most even law with a given greatest probability)",
        at_most(_EVENLY, sp.Integer(5)),
        holds(
            "A device that gives any label 18.5 % has a score of at most 5 and takes part with probability 1/2 or "
            "more; above 27.3 % this probability is more than .999. The threshold leaves out devices that know next "
            "to nothing."
        ),
        statement=r"u_k \le 5 = \eta\quad\text{where } p_{\max} \ge 0.185",
        where={"u_k": _EVENLY, r"\eta": 5},
    ),
)
