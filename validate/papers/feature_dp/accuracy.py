"""FDP Theorem 2 and Lemma 1, the short paper's Theorem 2, and their corrections."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import sympy as sp

from airtight.analytics.forms.domain import Parameter, Range, parameter
from airtight.analytics.inference import accuracy, distortion, margin
from airtight.validate.claims.claim import Claim, false, holds, holds_under, other_reading
from airtight.validate.claims.proving.derivation import Derivation, Step
from airtight.validate.claims.relation import at_least, equal
from airtight.validate.papers.feature_dp.common import PROBABILITY, scalar
from airtight.validate.papers.lemmas import BELOW_ARGUMENT, NORMAL_TAIL, NOT_NEGATIVE, OVER_ROOT_FALLS

p = parameter("p", 0.01, 1.0, typical=(0.9, 0.9))
decoder = parameter("decoder", 0.1, 1.0, latex="D")
radius = parameter("radius", 0.01, 2.0, latex=r"\Delta")
ratio = parameter("ratio", 1.0001, 4.0, latex="f^2")
first = parameter("first", 0.1, 10.0, logarithmic=True, latex="a")
second = parameter("second", 0.1, 10.0, logarithmic=True, latex="b")
x = parameter("x", 0.1, 10.0, logarithmic=True)

pooled = parameter("pooled", 0.025, 1.0, latex="P^*")
local = parameter("local", 0.025, 1.0, latex="P_0")

# Theorem 2: one device with the feature 1 and weight 1


def _markov(p: float, variance: float, radius: float, ideal: float) -> float:
    mse = distortion.exact(*scalar([1.0], [p], [1.0], noise=variance))
    return float(accuracy.markov(mse, margin=radius, ideal_accuracy=ideal))


def _right(p: float, variance: float, radius: float, ideal: float) -> float:
    """P_0 Pr(abs(tau (1 + n) - 1) <= radius), from the normal distribution function."""
    present = math.erf(radius / math.sqrt(2 * variance)) if variance > 0 else 1.0
    return ideal * (p * present + (1 - p) * (radius >= 1))


_present = Parameter("p", PROBABILITY)
_variance = parameter("variance", 1e-6, 1.0, logarithmic=True, extra=(0.0,), typical=(0.1, 0.1))
_margin = parameter("radius", 0.2, 5.0, logarithmic=True, extra=(0.999,), latex=r"\Delta")
_ideal = parameter("ideal", 0.1, 1.0, latex="P_0")
_MSE = _present * _variance + 1 - _present
_SCALED = _margin / sp.sqrt(2 * _variance)
_HEARD = sp.Piecewise((sp.erf(_SCALED), _variance > 0), (1, True))  # that the noise is within the margin
_UNHEARD = sp.Piecewise((1, _margin >= 1), (0, True))  # that 0 is within the margin of 1
_WITHIN = _ideal * (_present * _HEARD + (1 - _present) * _UNHEARD)


def _by_markov() -> Derivation:
    """How FDP-T2 is proved: each of the two probabilities by itself, with noise and without, for margins on both sides of 1."""
    heard, unheard = _ideal * _present, _ideal * (1 - _present)

    def case(useful: bool, noisy: bool, near: bool) -> Derivation:
        if not useful:  # the bound is 0
            probability = sp.erf(_SCALED) if noisy else sp.Integer(1)
            at_1 = [] if near else [(unheard, NOT_NEGATIVE.at(number=1))]
            return Derivation(uses=[(heard, NOT_NEGATIVE.at(number=probability)), *at_1])
        tail = NORMAL_TAIL.at(t=_SCALED) if noisy else NOT_NEGATIVE.at(number=_variance / _margin**2)
        square = unheard / _margin**2
        silent = (square * (1 + _margin), NOT_NEGATIVE.at(number=1 - _margin)) if near else (square, NOT_NEGATIVE.at(number=1))
        return Derivation(uses=[(heard, tail), silent])

    def cases(useful: bool, noisy: bool) -> Derivation:
        return Derivation(split=1 - _margin, above=case(useful, noisy, True), below=case(useful, noisy, False))

    noise = [Derivation(split=_variance, above=cases(useful, True), below=cases(useful, False)) for useful in (True, False)]
    return Derivation(split=1 - _MSE / _margin**2, above=noise[0], below=noise[1])


def _two_devices(p: float, q: float, variance: float, radius: float) -> float:
    """Features 1 and 2, weight 1/2, receiver noise 0.1."""
    described = scalar([1.0, 2.0], [p, q], [0.5, 0.5], noise=variance, receiver=0.1)
    return accuracy.within_margin(*described, margin=radius).estimate


def _over_four_sets(p: float, q: float, variance: float, radius: float) -> float:
    total = 0.0
    for first_present, second_present in product((0, 1), repeat=2):
        probability = (p if first_present else 1 - p) * (q if second_present else 1 - q)
        bias, scale = (
            (first_present + 2 * second_present) / 2 - 1.5,
            math.sqrt(2 * (variance * (first_present + second_present) + 0.1)),
        )
        total += probability * (math.erf((radius - bias) / scale) - math.erf((-radius - bias) / scale)) / 2
    return total


# Lemma 1


def _linear(lean: float, ratio: float) -> margin.Layers:
    """Two labels in the plane: rows (1, 0) and ratio (cos, sin)(pi lean)."""
    return [([[1.0, 0.0], [ratio * math.cos(math.pi * lean), ratio * math.sin(math.pi * lean)]], [0.0, 0.0])]


_place, _lean = parameter("x", 1e-3, 10.0, logarithmic=True), parameter("lean", 0.0, 1.0, latex=r"\nu")
_length = parameter("ratio", 0.1, 10.0, logarithmic=True, extra=(1.0,), latex=r"\rho")
_along, _across = (_length * wave(sp.pi * _lean) for wave in (sp.cos, sp.sin))  # the second row; the first is (1, 0)
_GAP, _APART = _place * (1 - _along), (1 - _along) ** 2 + _across**2  # of the logits; squared, of the rows
_TWICE = 2 + 2 * _length**2  # the squared Frobenius norm, times 2


def _of_two_rows() -> Derivation:
    """How FDP-L1 is proved: tanh x <= x, and the squared distance of two vectors is at most twice the sum of their squares."""
    half = [((1 - _length) ** 2), (2 * _length * 2 * sp.cos(sp.pi * _lean / 2) ** 2)]
    wide = [NOT_NEGATIVE.at(number=number) for number in half]
    return Derivation(
        facts=[(_APART <= _TWICE, Derivation(uses=wide))],
        through=[Step(_GAP / sp.sqrt(_TWICE), [(2 / sp.sqrt(_TWICE), BELOW_ARGUMENT.at(lower=0, upper=_GAP / 2))])],
        uses=[(_GAP, OVER_ROOT_FALLS.at(lower=_APART, upper=_TWICE, factor=1))],
    )


_MARGIN = first * x / sp.sqrt(first**2 + second**2)  # of the logits (a, 0), (0, b) at (x, 0)


def _label_first(x: float, lean: float, ratio: float) -> bool:
    """Whether the label is the first: ratio cos(pi lean) is below 1."""
    return ratio * math.cos(math.pi * lean) < 1


def _layers(depth: int, seed: int) -> margin.Layers:
    rng = np.random.default_rng(seed)
    widths = [2, *rng.integers(2, 6, depth - 1), 3]
    return [(rng.standard_normal((b, a)), rng.standard_normal(b)) for a, b in pairwise(widths)]


def _nearest_change(depth: int, seed: int) -> float:
    """Distance to the nearest point with another label on 181 rays: at least the margin."""
    net = _layers(depth, seed)
    angle, radius = np.linspace(0, 2 * np.pi, 181), np.geomspace(1e-3, 1e2, 700)
    values = (radius[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)).reshape(-1, 2)
    for W, b in net[:-1]:
        values = np.maximum(values @ np.asarray(W).T + np.asarray(b), 0.0)
    W, b = net[-1]
    outputs = values @ np.asarray(W).T + np.asarray(b)
    label = int(np.argmax(margin.logits(net, [0.0, 0.0])))
    changed = (np.argmax(outputs, axis=1) != label).reshape(radius.size, -1).any(axis=1)
    return float(radius[np.argmax(changed)]) if changed.any() else np.inf


CLAIMS = (
    Claim(
        "FDP-T2",
        "Theorem 2, Eq. (13), (35)",
        at_least(_WITHIN, sp.Max(0, _ideal * (1 - _MSE / _margin**2))),
        holds_under(
            "Markov's inequality; needs the exact MSE, and an MSE and a margin that are the same for all targets. Proved for one "
            "device and one number; for any in Coq."
        ),
        computed=at_least(_right, _markov),
        derivation=_by_markov,
        where={r"P(\hat l = l^*)": _WITHIN, r"\mathrm{MSE}": _MSE},
        statement=r"P(\hat l = l^*) \ge \max\left\{0, P_0\left(1 - \frac{\mathrm{MSE}}{\Delta^2}\right)\right\}",
        coq="feature_dp_general.FDP_T2",
    ),
    Claim(
        "FDPs-T2",
        "Theorem 2, Eq. (10); one device, no noise",
        at_least(p, sp.Max(0, 1 - ((1 - p) * ratio) ** 2)),
        false(
            "The short paper's Remark 2 compares the squared error with Delta, so that Markov's inequality gives 1 - "
            "MSE/Delta; the square claims too much. The full paper prints MSE/Delta^2, for a distance Delta.",
            corrected_by="FDP-T2",
            true_where=r"MSE is at least \Delta, where it says nothing",
        ),
        statement=r"P(\hat l = l) \ge \max\left[0, P_0\left(1 - \left(\frac{\mathrm{MSE}}\Delta\right)^2\right)\right]",
        where={r"P(\hat l = l)": p, "P_0": 1, r"\mathrm{MSE}": (1 - p) * ratio, r"\Delta": 1},
        near="the paper prints no margin",
    ),
    Claim(
        "FDPs-T2-local",
        "Theorem 2, Eq. (10): P_0 'the classification accuracy of the local model' (no error, MSE = 0)",
        at_least(pooled, local),
        false(
            "Without error the server classifies the pooled feature, so that P_0 has to be the accuracy in that ideal "
            "case, as the full paper says (FDP-T2). A local model may be better than the pooled one.",
            "misprint",
            corrected_by="FDP-T2",
            true_where=r"P_0 \le P^*, \text{ the accuracy on the pooled features}",
        ),
        statement=r"P(\hat l = l) = P^* \ge P_0",
        where={r"P(\hat l = l)": pooled},
        near="the paper prints neither accuracy",
    ),
    Claim(
        "FDP-T2*",
        "ours: the exact probability that Theorem 2 bounds",
        equal(_two_devices, _over_four_sets),
        holds("Given the participants, the error is Gaussian; a contour integral is compared with error functions."),
        {
            "p": Range(0.0, 1.0),
            "q": Range(0.0, 1.0),
            "variance": Range(1e-3, 10.0, logarithmic=True, extra=(0.0,)),
            "radius": Range(0.3, 10.0, logarithmic=True),
        },
        statement=r"\Pr(\|\hat f - f^*\| \le \Delta) = \sum_S \Pr(S)\,F_{Q_S}(\Delta^2),\quad "
        r"Q_S = \sum_i v_S\lambda_i\,\chi^2_{n_i}(\delta_{S,i})",
    ),
    Claim(
        "FDP-L1",
        "Lemma 1, Eq. (14)",
        at_least(_GAP / sp.sqrt(_APART), 2 * sp.tanh(_GAP / 2) / sp.sqrt(_TWICE)),
        holds_under(
            "Softmax is 1/2-Lipschitz; the activations must be 1-Lipschitz. Proved for two labels with the rows (1, 0) "
            "and rho (cos, sin) at the input (x, 0), without biases; for any layers in Coq, where no quotient is by 0."
        ),
        given=[_along < 1],
        computed=at_least(
            lambda x, **rows: margin.exact_linear(_linear(**rows), [x, 0.0], label=0),
            lambda x, **rows: margin.published(_linear(**rows), [x, 0.0], label=0),
        ),
        derivation=_of_two_rows,
        unread="a least difference of softmax; tried for two labels",
        argued="airtight.analytics.inference.margin.spectral_bound",
        statement=r"\Delta \ge \frac{\sqrt2\min_{l'\ne l^*}(\delta_{l^*} - \delta_{l'})^T\bar J(f^*; w_0)}"
        r"{\prod_\ell\|w_0^{(\ell)}\|_F}, \quad \bar J \text{ the softmax}",
        coq="feature_dp_general.FDP_L1",
    ),
    Claim(
        "FDP-L1-logits",
        "Lemma 1, with J the outputs of the network",
        at_least(_MARGIN, sp.sqrt(2) * _MARGIN),
        other_reading(
            "For probabilities, as the paper says, the lemma is true (FDP-L1). For logits the square root belongs in "
            "the denominator: the printed bound is too large by a factor of 2 at worst.",
            corrected_by="FDP-L1",
            true_where="J is the vector of probabilities, as the lemma says",
        ),
        statement=r"\Delta \ge \frac{\sqrt2\min_{l'\ne l^*}(\delta_{l^*} - \delta_{l'})^T J(f^*; w_0)}"
        r"{\prod_\ell\|w_0^{(\ell)}\|_F}, \quad J \text{ the logits}",
        where={
            r"\Delta": _MARGIN,
            r"\min_{l'\ne l^*}(\delta_{l^*} - \delta_{l'})^T J(f^*; w_0)": first * x,
            r"\prod_\ell\|w_0^{(\ell)}\|_F": sp.sqrt(first**2 + second**2),
        },
        near="the paper's network is not available",
    ),
    Claim(
        "FDP-L1*",
        "ours: a tighter margin bound",
        at_least(_nearest_change, lambda depth, seed: margin.layerwise_bound(_layers(depth, seed), [0.0, 0.0])),
        holds(
            "Logit differences are Lipschitz; the bound is exact for one layer. Compared with the nearest change of "
            "label on a set of rays."
        ),
        {"depth": Range(1, 3, integer=True), "seed": Range(0, 10**6, integer=True)},
        argued="airtight.analytics.inference.margin.layerwise_bound",
        statement=r"\Delta \ge \min_j \frac{l_i - l_j}{\|(W_L)_i - (W_L)_j\|_2\prod_{\ell<L}\|W_\ell\|_2}",
        effort=1 / 2,
        coq="feature_dp_general.FDP_L1_star",
    ),
)
