"""FDP: what sentences and captions outside the numbered items state with a number or a comparison."""

from __future__ import annotations

import numpy as np
import sympy as sp

from airtight.analytics.distributions import selection
from airtight.analytics.forms.domain import Range, parameter
from airtight.analytics.forms.quantity import normal_cdf
from airtight.analytics.inference import participation
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.validate.claims.claim import Claim, defined, false, holds, holds_under, not_reproducible, other_reading
from airtight.validate.claims.proving.derivation import Derivation
from airtight.validate.claims.relation import absolute, at_least, at_most, both
from airtight.validate.papers.feature_dp.common import EPSILON, GAUSSIAN, of_system
from airtight.validate.papers.feature_dp.scores import seen_to_send
from airtight.validate.papers.lemmas import LOG_RISES

# Sec. I: one channel for all, and participation that depends on the feature

epsilon = parameter("epsilon", 1e-3, 20.0, logarithmic=True, typical=(3.9811, 10.0))
ratio = parameter("ratio", 0.05, 10.0, logarithmic=True, typical=(0.8, 2.1), latex=r"\mu")
others = parameter("others", 0.0, 100.0, typical=(0.0, 11.0), latex=r"\tfrac{v_S}{v}")
_ALONE = GAUSSIAN[r"\delta_G"](epsilon, ratio)
_TOGETHER = GAUSSIAN[r"\delta_G"](epsilon, ratio / sp.sqrt(1 + others))


def _scheme_deltas(
    u: float, change: float, eta: float, noise: float, ratio: float, epsilon: float
) -> tuple[float, float]:
    """delta of Scheme 2.1 for the worse order of two scores, and of Scheme 1 with the greater of the two probabilities."""
    pairs = ((u, u + change), (u + change, u))
    aware = max(seen_to_send(*pair, eta, noise, ratio, 0.0, epsilon) for pair in pairs)
    probability = float(participation.threshold(u, noise, eta))  # the lower score takes part more often
    return aware, probability * float(gaussian.delta(epsilon, sensitivity=ratio, sigma=1.0))


# Sec. V: scores

labels = parameter("labels", 2, 1000, integer=True, typical=(40, 40), latex=r"|\mathcal L|")
bound = parameter("bound", 0.01, 20.0, logarithmic=True, latex=r"\Gamma_k")
share = parameter("share", 0.0, 1.0)  # of the greatest entropy
_SCORE = share * sp.log(labels, 2)
_SCALED = sp.Min(1, bound / (2 * sp.log(labels, 2))) * _SCORE
cap = parameter("cap", 0.025, 1.0, latex=r"\tau")
_tops = [parameter(name, 0.025, 1.0, latex=symbol) for name, symbol in (("top", r"p_{\max}"), ("other", r"p_{\max}'"))]
_CHANGE = sp.Abs(sp.log(_tops[0] / _tops[1], 2))
first, second = (parameter(name, 1e-6, 0.999) for name in ("first", "second"))
_LAW = (first, (1 - first) * second, (1 - first) * (1 - second))
_SHANNON = -sum(q * sp.log(q, 2) for q in _LAW)

# Theorem 3 in Table I and in Fig. 6, and Remark 8; twelve devices, equal noise

Psi = parameter("gap", 1e-3, 0.484, typical=(0.005, 0.1), latex=r"\Psi")  # eleven gaps share the range log2(40)
noise = parameter("noise", 0.3, 10.0, logarithmic=True, typical=(0.3, 0.32), latex=r"\sigma")
above = parameter("above", 0.0, 5.32, latex=r"u_k - \min_ju_j")
_fig_6 = parameter("fig_6", 0.18, 100.0, logarithmic=True, latex=r"\sigma")
_far = parameter("far", 1e-3, 5.0, logarithmic=True, typical=(0.005, 0.1), latex="h")
_less = parameter("less", 0.1, 0.99, latex="c")


def _below(gap: sp.Expr, noise: sp.Expr) -> sp.Expr:
    return normal_cdf(gap / (sp.sqrt(2) * noise))


_LOWER = 1 - 11 * _below(-Psi, noise)
_UPPER = _below(above, noise)


_x = sp.Symbol("x")
_NORMAL = {r"\Phi": sp.Lambda(_x, normal_cdf(_x))}  # for legends


def _lowest(devices: int, selected: int, noise: float, seed: int) -> float:
    """Probability that the device with the lowest score is selected, relative to a selection by lot."""
    chosen, score = 1 + selected % devices, np.sort(np.random.default_rng(seed).uniform(0, 5.32, devices))
    return float(selection.probability(score, np.full(devices, noise), chosen)[0]) * devices / chosen


# Sec. VI: its parameters

clip = of_system("clip", 30.0, 100.0, typical=(100.0, 100.0))
dimension = of_system("dimension", 784, 25088)
gain = parameter("gain", 0.01, 12.0, logarithmic=True, typical=(1.0, 1.0), latex="h_k")
_C_K = clip / 12 * sp.sqrt(2 * sp.log(125_000))
_AT_BEST = sp.log(
    1 + sp.Rational("0.9") / (1 - sp.Rational("1e-5")) * (sp.exp(_C_K / sp.sqrt(sp.Rational("1.08"))) - 1)
)
_NEEDED = (sp.Integer(100) / 12) ** 2 + dimension / 10  # (w C)^2 + E|n|^2

surer, sure = (parameter(name, 0.5, 0.999, latex=latex) for name, latex in (("surer", "q"), ("sure", "q'")))


def _noise_of(q: sp.Expr) -> sp.Expr:
    """Noise of Fig. 6 for two labels with probabilities q and 1 - q."""
    return 1 / (sp.Rational("0.01") - q * sp.log(q, 2) - (1 - q) * sp.log(1 - q, 2))


CLAIMS = (
    Claim(
        "FDP-air",
        "Sec. I: over the air 'offers enhanced privacy' against 'orthogonal signaling' (equal noise v, others' noise v_S)",
        at_most(_TOGETHER, _ALONE),
        holds(
            "On orthogonal channels a server receives each device with that device's noise alone; over the air the "
            "others' noise is added. Tried for visible participants; for `absent` and for hidden devices it follows "
            "by (g) of docs/participation.md."
        ),
        statement=r"\delta_G\Bigl(\epsilon; \mu/\sqrt{1+\tfrac{v_S}{v}}\Bigr) \le \delta_G(\epsilon; \mu)",
        where=GAUSSIAN,
    ),
    Claim(
        "FDP-aware",
        "Sec. I-B, VI: the feature-aware schemes 'at the cost of additional privacy leakage' (Scheme 2.1, equal scores or not)",
        at_least(*both(_scheme_deltas)),
        holds(
            "In the worse order of two scores Scheme 2.1 reveals at least as much as Scheme 1 with the greater of the "
            "two probabilities."
        ),
        {
            "u": Range(0.0, 5.32),
            "change": Range(0.0, 5.32),
            "eta": Range(0.05, 5.0, typical=(0.3, 0.5)),
            "noise": Range(0.1, 3.0, logarithmic=True, typical=(0.1, 0.32)),
            "ratio": ratio.range,
            "epsilon": EPSILON,
        },
        statement=r"\max\{\delta_{2.1}(\epsilon; u, u'), \delta_{2.1}(\epsilon; u', u)\} \ge "
        r"\max\{p, p'\}\,\delta_G(\epsilon; \mu)",
        effort=1 / 2,
        coq="feature_dp_general.FDP_aware",
    ),
    Claim(
        "FDP-E15-bounded",
        "After Eq. (15): the score, bounded by Gamma_k",
        at_most(_SCALED, bound),
        holds_under(
            "True if Gamma_k/2 log2 L is read as Gamma_k/(2 log2 L): the score, and so its sensitivity, is even at "
            "most Gamma_k/2. It is a scaling, no clipping: small scores shrink too."
        ),
        statement=r"\min\Bigl(1, \tfrac{\Gamma_k}{2\log_2|\mathcal L|}\Bigr)u_k \le \Gamma_k",
        where={r"u_k": _SCORE, r"\log_2|\mathcal L|": sp.log(labels, 2)},
        slack=2.0,
    ),
    Claim(
        "FDP-fn2-cap",
        "Footnote 2: the sensitivity 'can be further controlled ... ensuring that p_max does not exceed a threshold' (40 labels)",
        at_most(sp.Max(*(s * sp.log(_tops[0] / _tops[1], 2) for s in (1, -1))), sp.log(40 * cap, 2)),
        holds(
            "p_max is between 1/40 and tau. The bound that the footnote prints would increase with such a threshold, "
            "not decrease."
        ),
        given=[top <= cap for top in _tops],
        statement=r"|-\log_2p_{\max} + \log_2p_{\max}'| \le \log_2(40\tau)",
    ),
    Claim(
        "FDP-F3-min",
        "Fig. 3: 'Min entropy is a more restrictive measure' (three labels)",
        at_most(-sp.log(sp.Max(*_LAW), 2), _SHANNON),
        holds(
            "The least surprise is at most the mean surprise. The two measures need not order devices alike: (1/2, "
            "1/2) has less Shannon entropy and more min-entropy than (.6, .1, .1, .1, .1). What the figure suggests "
            "about ModelNet is FDP-F3. Proved for three labels; for any number in Coq."
        ),
        statement=r"-\log_2\max_lp_l \le -\sum_lp_l\log_2p_l",
        where={r"\max_lp_l": sp.Max(*_LAW), r"\sum_lp_l\log_2p_l": -_SHANNON},
        derivation=lambda: Derivation(
            facts=[(1 - share >= sp.Rational(1, 2000)) for share in (first, second)],
            uses=[(q / sp.log(2), LOG_RISES.at(lower=q, upper=sp.Max(*_LAW))) for q in _LAW],
        ),
        coq="feature_dp_general.FDP_F3_min",
    ),
    Claim(
        "FDP-Tab1-coincide",
        "Table I: 'for Scheme 2.2, the upper and lower bounds coincide for any sigma >= 0.3' (a device outside the true set)",
        at_most(_UPPER, _LOWER),
        other_reading(
            "Of the leakage of the score, which the table lists, the sentence is true: no p_k enters it. The only bounds of "
            "Scheme 2.2 that the paper names are (20) and (21), of p_k, and they do not coincide: with twelve devices and 40 "
            "labels the least gap is at most .484, so that (20) says nothing from sigma = .26 on, and (21) is Phi of a "
            "difference that is not negative, at least 1/2.",
            corrected_by="FDP-T3*",
            true_where="the bounds are those of the leakage of the score",
        ),
        statement=r"\Phi\Bigl(\tfrac{u_k - \min_ju_j}{\sqrt2\sigma}\Bigr) \le "
        r"1 - 11\,\Phi\Bigl(-\tfrac{\Psi}{\sqrt2\sigma}\Bigr)",
        where=_NORMAL,
        scale=absolute("", 0.5),
    ),
    Claim(
        "FDP-F6-reliable",
        "Fig. 6: 'devices with higher reliability (larger mean values) are assigned lower noise', sigma = 1/(u_k + .01)",
        at_most(_noise_of(surer), _noise_of(sure)),
        false(
            "u_k is an entropy, (15): the surer a device is, the smaller is u_k and the more noise the device gets. "
            "Shown for two labels, the likelier of which has probability q >= 1/2.",
            "misprint",
            true_where="u_k stands for a reliability, not for the entropy of (15)",
            uncorrected="the figure's scores are not printed",
        ),
        given=[surer > sure],
        statement=r"q > q' \implies \frac1{u(q)+0.01} \le \frac1{u(q')+0.01},\quad u(q) = -q\log_2q-(1-q)\log_2(1-q)",
        unread="an implication",
        near="the paper prints no entropies",
    ),
    Claim(
        "FDP-F6-vacuous",
        "Fig. 6: the lower bound (20) at Psi = .005 and noise 1/(u_k + .01) (twelve devices, 40 labels; equal noise)",
        at_most(1, 11 * _below(sp.Rational("-0.005"), _fig_6)),
        defined("(20) says nothing at any such noise; at Psi = .1, as in Fig. 7, it is positive up to sigma = .053."),
        statement=r"1 \le 11\,\Phi\Bigl(-\tfrac{0.005}{\sqrt2\sigma}\Bigr)",
        where=_NORMAL,
        slack=5.4,
    ),
    Claim(
        "FDP-R8-lowest",
        "Remark 8: 'the probability of selection for such devices exceeds |K|/K' (the lowest score, equal noise)",
        at_least(_lowest, 1),
        holds_under(
            "True of the lowest score at any equal noise. Of the rest of the true set it is true once the noise is "
            "small compared with the gaps: (20) corrected, FDP-T3-lower*. For unequal noise see FDP-R8-unequal."
        ),
        {
            "devices": Range(2, 12, integer=True, typical=(12, 12)),
            "selected": Range(0, 11, integer=True, typical=(10, 10)),
            "noise": Range(0.02, 100.0, logarithmic=True, typical=(0.1, 0.32)),
            "seed": Range(0, 10**6, integer=True),
        },
        statement=r"p_{(1)}\,\tfrac K{\tilde k} \ge 1",
        effort=1 / 2,
        coq="feature_dp_general.FDP_R8_lowest",
    ),
    Claim(
        "FDP-R8-term",
        "Remark 8: with small noise 'the term (u_k - min u_j)/... is larger, resulting in a higher value of Phi'",
        at_least(_below(-_far, _less * noise), _below(-_far, noise)),
        false(
            "For a device of the true set u_k - min u_j is negative, and less noise makes Phi smaller: the wrong sign "
            "of (49) and (59) again (FDP-E49). With min u_j - u_k the sentence is right.",
            "misprint",
            corrected_by="FDP-R8-lowest",
            true_where=r"u_k \ge \min_ju_j",
        ),
        statement=r"\Phi\Bigl(\tfrac{u_k-\min_ju_j}{\sqrt2c\sigma}\Bigr) \ge \Phi\Bigl(\tfrac{u_k-\min_ju_j}{\sqrt2\sigma}\Bigr)"
        r"\quad(u_k < \min_ju_j,\ c < 1)",
        where={**_NORMAL, r"u_k-\min_ju_j": -_far},
        near={"far": 0.1, "noise": 0.3, "less": 0.5},
    ),
    Claim(
        "FDP-VI-epsilon",
        "Sec. VI: the budgets of Fig. 10 and Table II (3.98 to 10) at its w, sigma, p, K and C = 100, by (11) with t = 0",
        at_most(_AT_BEST, 10),
        not_reproducible(
            "Another clipping threshold gives these budgets: 10 at C = 26.0, and 'refining the clipping parameters' "
            "is one of the paper's own means. At the C = 100 of the setup (11) gives 38.7 at best, and with its own t "
            "it says nothing (FDP-T1t-paper).",
            true_where=r"C_k \le 26",
            uncorrected="the clipping that was used is not printed",
        ),
        statement=r"\log\Bigl[1 + \tfrac{0.9}{1-10^{-5}}\bigl(e^{c_k/\sqrt{1.08}} - 1\bigr)\Bigr] \le 10",
        where={"c_k": _C_K},
    ),
    Claim(
        "FDP-VI-power",
        "Sec. VI: 'transmit power of P_k = 30 dBm' with gamma = 1, C = 100, w = 1/12, sigma^2 = .1 (signals in W^(1/2))",
        at_least(_NEEDED, gain**2),
        defined(
            "Up to a channel gain of 12 the power limit of (6) binds and no device is aligned at gamma = 1; in other "
            "units of the signal it need not bind. FDP-E6*-MSE gives the MSE when it binds."
        ),
        statement=r"\bigl(\tfrac{100}{12}\bigr)^2 + 0.1r \ge h_k^2",
        slack=1.03,
    ),
)
