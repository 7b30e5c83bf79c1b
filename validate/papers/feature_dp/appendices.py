"""FDP App. A, B and D: the steps of the proofs of Theorems 1, 2 and 3."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy import special

from airtight.analytics.checks import FloatArray
from airtight.analytics.distributions import poisson_binomial, selection
from airtight.analytics.forms.balls import selection_probability as enclosed
from airtight.analytics.forms.balls.ball import ball
from airtight.analytics.forms.domain import Range, over, parameter
from airtight.analytics.forms.quantity import normal_cdf
from airtight.validate.claims import reference_integrals
from airtight.validate.claims.claim import Claim, false, holds
from airtight.validate.claims.relation import absolute, at_least, at_most, equal
from airtight.validate.papers.feature_dp.common import PROBABILITY, of_system, resolved

p, q = (parameter(name, 0.01, 1.0, typical=(0.9, 0.9)) for name in "pq")
w, v = (parameter(name, 0.01, 1.0, typical=(1 / 12, 1 / 12)) for name in "wv")
devices = of_system("devices", 1, 20)
decoder = parameter("decoder", 0.1, 3.0, latex="D")
near, far, gap = (parameter(name, 1e-3, 3.0, logarithmic=True, typical=(0.005, 0.1)) for name in ("near", "far", "gap"))
noise = parameter("noise", 0.05, 10.0, logarithmic=True, typical=(0.1, 0.32), latex=r"\sigma")

# App. A: Theorem 1; equal noise 1, mu counts as near its mean if closer than `reach` * K


def _counts_near(devices: int, p: float, reach: float) -> tuple[NDArray[np.bool_], FloatArray]:
    """For each number of participants: whether it is near the mean, and its probability."""
    near = np.abs(np.arange(devices + 1) - devices * p) < reach * devices
    return near, poisson_binomial.pmf(np.full(devices, p))


def _taking_part_if_near(devices: int, p: float, reach: float) -> float:
    near, law = _counts_near(devices, p, reach)
    others = poisson_binomial.pmf(np.full(devices - 1, p))
    return float(p * others[near[1:]].sum() / law[near].sum())


def _bound_if_near(devices: int, p: float, reach: float) -> float:
    near, law = _counts_near(devices, p, reach)
    return p / (1 - float(law[~near].sum())) if law[near].sum() > 0 else np.nan


_whole = of_system("devices", 2, 60)
_part = of_system("participation", 0.01, 0.99, name="p", typical=(0.9, 0.9))
_reach = parameter("reach", 0.02, 0.5)
_count = sp.Symbol("k", integer=True)


def _near(others: sp.Expr) -> sp.Expr:
    """Pr(near): the number of participants among `others` devices is near the mean over all; the rest are absent."""
    mass = sp.binomial(others, _count) * _part**_count * (1 - _part) ** (others - _count)
    inside = sp.Abs(_count - _whole * _part) < _reach * _whole
    return sp.Sum(mass * sp.Piecewise((1, inside), (0, True)), (_count, 0, others))


# App. B: the MSE of devices whose features are 1, with W = 1; (31) for D = 1

_SQUARE = p * w**2 - 2 / devices * p * w + 1 / devices**2
_EQ32 = p * w - 2 * p * w / devices + 1 / devices**2
_HALF = sp.Rational(1, 2)  # 1 / K
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)

# App. D: three devices with scores 0, near, near + far


def _scores(near: float, far: float, noise: float, other: float) -> tuple[FloatArray, FloatArray]:
    """Scores, and their noise; `other` is the noise of the middle device."""
    return np.array([0.0, near, near + far]), np.array([noise, other, noise])


def _selects(score: FloatArray, noise: FloatArray, chosen: tuple[int, ...]) -> float:
    """Pr(all of the chosen come before all others), integrated over the last of the chosen."""
    mesh = np.unique(np.add.outer(np.linspace(-9, 9, 55), np.zeros(score.size)) * noise + score)
    half = np.diff(mesh)[:, None] / 2
    x = (mesh[:-1, None] + half * (_NODES + 1))[..., None]
    z = (x - score) / noise
    inside = np.isin(np.arange(score.size), chosen)
    factor = special.ndtr(np.where(inside, z, -z))
    density = np.exp(-z * z / 2) / (noise * np.sqrt(2 * np.pi))
    last = sum(density[..., k] * np.prod(np.delete(factor, k, axis=-1), axis=-1) for k in chosen)
    return float(np.sum(half * _WEIGHTS * last))


def _selection_probabilities(near: float, far: float, noise: float, other: float, selected: int) -> FloatArray:
    return np.asarray(selection.probability(*_scores(near, far, noise, other), selected))


def _true_set_probability(near: float, far: float, noise: float, other: float, selected: int) -> float:
    """Pr(A): the true set is found."""
    return _selects(*_scores(near, far, noise, other), tuple(range(selected)))


def _by_total_probability(near: float, far: float, noise: float, other: float, selected: int, device: int) -> float:
    """The right side of (52), from the probability of every set."""
    scores = _scores(near, far, noise, other)
    right, *wrong = combinations(range(3), selected)
    missed = {chosen: _selects(*scores, chosen) for chosen in wrong}
    among = sum(chance for chosen, chance in missed.items() if device in chosen)
    if sum(missed.values()) == 0:
        return float("nan")  # A is certain, and (52) conditions on its complement
    bound = (_selects(*scores, right) if device < selected else 0.0) + among / sum(missed.values())
    return resolved(bound, 1e-3)  # the library's probabilities are right to 1e-11


def _in_order(gap: sp.Expr) -> sp.Expr:
    """Pr(a noisy score is below another one whose score is `gap` higher)."""
    return normal_cdf(gap / (sp.sqrt(2) * noise))


_SCORES = {
    **over(near, far, noise),
    "other": Range(0.05, 10.0, logarithmic=True, typical=(0.1, 0.32)),
}
_SELECTED = Range(1, 2, integer=True)
_EQUAL = {r"\sigma_k": noise, r"\sigma_j": noise}
_BELOW = r"\Pr(\tilde u_{(k)} \le \tilde u_{(k+1)})"

def _drawn(
    devices: int, length: int, coded: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """A decoder (length, coded), participation, noise variances, and the receiver's noise over the alignment."""
    rng = np.random.default_rng([seed, devices, length, coded])
    return rng.normal(size=(length, coded)), rng.random(devices), rng.uniform(0.1, 2.0, devices), rng.uniform(0.0, 2.0)


def _noise_through(**point: int) -> float:
    """Mean squared norm of the decoded noise: the trace of its covariance, over all sets of senders."""
    D, share, variance, receiver = _drawn(**point)
    total = 0.0
    for senders in product((0, 1), repeat=share.size):
        sends = np.array(senders, dtype=bool)
        covariance = (variance[sends].sum() + receiver) * D @ D.T
        total += float(np.prod(np.where(sends, share, 1 - share)) * np.trace(covariance))
    return total


def _printed_noise(**point: int) -> float:
    D, share, variance, receiver = _drawn(**point)
    return float(len(D) * np.sum(D**2) * (share @ variance + receiver))


CLAIMS = (
    Claim(
        "FDP-E25",
        "App. A, Eq. (25), (26)",
        at_most(_taking_part_if_near, _bound_if_near),
        holds(
            "Bayes' rule; delta' is here the true probability that mu is not near its mean, not the one that (23) "
            "gives."
        ),
        {"devices": Range(2, 60, integer=True, typical=(12, 12)), "p": PROBABILITY, "reach": Range(0.01, 0.5)},
        statement=r"\bar p_k = \Pr(\mathcal E_k \mid |\mu-\bar\mu| < t) \le \frac{p_k}{1-\delta'}",
        coq="feature_dp_general.FDP_E25",
    ),
    Claim(
        "FDP-E26",
        "App. A, step (a) of Eq. (26): mu, with the device's own part in it, is near its mean (within reach * K)",
        at_most(_near(_whole), _near(_whole - 1)),
        false(
            "With the device's own part in mu the two events differ when the device is absent; without that part "
            "Lemma 4's condition is another event. For small delta' the correction costs little: delta'/(1 - p) "
            "replaces delta'.",
            "step",
            corrected_by="FDP-T1c",
            true_where=r"\delta' \text{ replaced by } \delta'/(1 - p_k)",
        ),
        statement=r"\Pr(|\mu-\bar\mu| < t) \le \Pr(|\mu-\bar\mu| < t \mid \mathcal E_k^c),\text{ so that } "
        r"\Pr(y_{-k} \in S \mid |\mu-\bar\mu| < t) \le \frac{\Pr(y_{-k} \in S)}{\Pr(|\mu-\bar\mu| < t)}",
        where={
            r"\Pr(|\mu-\bar\mu| < t)": _near(_whole),
            r"\Pr(|\mu-\bar\mu| < t \mid \mathcal E_k^c)": _near(_whole - 1),
        },
    ),
    Claim(
        "FDP-E28-noise",
        "App. B, after Eq. (28): 'the second term can be upper bounded as' T_2 <= d |D|_F^2 [...] (the noise of K "
        "devices and of the "
        "receiver, by its covariance)",
        at_most(_noise_through, _printed_noise),
        holds("The noise term is |D|_F^2 [...] exactly; the factor d is spurious. It is right at d = 1, and d times too large."),
        {
            "devices": Range(1, 5, integer=True),
            "length": Range(1, 6, integer=True),
            "coded": Range(1, 4, integer=True),
            "seed": Range(0, 10**6, integer=True),
        },
        statement=r"\mathcal T_2 \le d\,\|D\|_F^2\Bigl[\sum_kp_k\sigma_k^2+\tfrac{\sigma_m^2}{\gamma^2}\Bigr]",
        unread="matrices; random ones are tried",
        coq="feature_dp_general.FDP_E28_noise",
    ),
    Claim(
        "FDP-E32",
        "App. B, Eq. (31), (32), for lossless D = W = 1, f = 1",
        equal(_SQUARE, _EQ32),
        false(
            "The equation has w in place of its square; and for other codecs (D W f)^2 is not the product of the "
            "squared norms.",
            "step",
            corrected_by="FDP-MSE*",
            true_where=r"w \in \{0, 1\}, or p = 0",
        ),
        statement=r"E\Bigl(\tau w - \tfrac 1K\Bigr)^2 = pw - \tfrac{2pw}K + \tfrac1{K^2}",
        where={r"E\Bigl(\tau w - \tfrac 1K\Bigr)^2": _SQUARE},
    ),
    Claim(
        "FDP-E33",
        "App. B, Eq. (33), 'simplifying'",
        equal(_EQ32, w**2 * p - 2 * w * p + 1),
        false(
            "(33) does not follow from (32): both K are missing, and w is squared again.",
            "step",
            corrected_by="FDP-MSE*",
            true_where="K = 1 and w = 1",
        ),
        statement=r"pw - \tfrac{2pw}K + \tfrac1{K^2} = w^2p - 2wp + 1",
    ),
    Claim(
        "FDP-E34",
        "App. B, Eq. (30), (34), for numbers f = W = 1, K = 2",
        equal(
            (p * w * decoder - _HALF) * (q * v * decoder - _HALF),
            p * q * w * v * decoder**2 - _HALF * p * w * decoder**2 - _HALF * q * v * decoder**2 + _HALF**2,
        ),
        false(
            "The mixed terms contain one decoder, not two: D'D f_j does not even have the right dimension.",
            "step",
            corrected_by="FDP-MSE*",
            true_where="D = 1",
        ),
        statement=r"\bigl(p_kw_kD-\tfrac1K\bigr)\bigl(p_jw_jD-\tfrac1K\bigr) = p_kp_jw_kw_jD^2 - \tfrac{p_kw_k}KD^2"
        r" - \tfrac{p_jw_j}KD^2 + \tfrac1{K^2}",
        where={"p_k": p, "p_j": q, "w_k": w, "w_j": v, "K": 2},
        scale=absolute("f_k f_j", 0.25),
        near="the paper prints no decoder",
    ),
    Claim(
        "FDP-E49",
        "App. D, Eq. (49), (57)-(59); two devices, one selected, k the worse one",
        equal(sp.Integer(1), _in_order(gap)),
        false(
            "If the true set is missed, the worse of two devices is certainly selected. The equation loses the "
            "condition and the sign. (j is read as the other device; for j = k the right side is 1/2.)",
            "step",
            corrected_by="FDP-T3*",
            true_where="nowhere",
        ),
        statement=r"\Pr(k \in \tilde{\mathcal K} \mid \mathcal A^c) = \Phi\left(\frac{u_k - \min_{j\in\mathcal K^c}u_j}"
        r"{\sqrt{\sigma_k^2+\sigma_j^2}}\right)",
        where={
            r"\Pr(k \in \tilde{\mathcal K} \mid \mathcal A^c)": 1,
            r"u_k - \min_{j\in\mathcal K^c}u_j": gap,
            **_EQUAL,
        },
    ),
    Claim(
        "FDP-E51",
        "App. D, Eq. (48), (50), (51)",
        at_least(
            lambda selected, **scores: float(_selection_probabilities(selected=selected, **scores)[:selected].min()),
            _true_set_probability,
        ),
        holds("The law of total probability; this indicator is missing in (20)."),
        {**_SCORES, "selected": _SELECTED},
        statement=r"p_k \ge \Pr(\mathcal A)\,\mathbb I(k \in \mathcal K)",
        coq="feature_dp_general.FDP_E51",
    ),
    Claim(
        "FDP-E52",
        "App. D, Eq. (52)",
        at_most(lambda device, **scores: float(_selection_probabilities(**scores)[device]), _by_total_probability),
        holds("The factor Pr(A^c) of (50), which is at most 1, is dropped."),
        {**_SCORES, "selected": _SELECTED, "device": Range(0, 2, integer=True)},
        statement=r"p_k \le \Pr(\mathcal A)\,\mathbb I(k \in \mathcal K) + \Pr(k \in \tilde{\mathcal K} \mid \mathcal A^c)",
        tolerance=1e-8,
        coq="feature_dp_general.FDP_E52",
    ),
    Claim(
        "FDP-E53",
        "App. D, Eq. (53), A the event that all noisy scores come in order",
        at_most(
            lambda **scores: reference_integrals.order_probability(*_scores(**scores)),
            lambda near, far, noise, other: float(special.ndtr(np.array([near, far]) / np.hypot(noise, other)).prod()),
        ),
        holds(
            "The paper assumes independence, which is false. The inequality follows from Slepian's: neighbouring "
            "differences are negatively correlated, others not at all."
        ),
        _SCORES,
        statement=r"\Pr(\tilde u_{(1)} \le \dots \le \tilde u_{(K)}) \le \prod_k \Pr(\tilde u_{(k)} \le \tilde u_{(k+1)})",
    ),
    Claim(
        "FDP-E53-set",
        "App. D, Eq. (53), A the event that the true set is found, as (48) to (52) use it (two of three selected)",
        at_most(
            lambda near, noise: _true_set_probability(near, near, noise, noise, 2),
            lambda near, noise: float(special.ndtr(near / np.hypot(noise, noise)) ** 2),
            balls=lambda near, noise: (
                enclosed.below(near, noise, noise) ** 2,
                1 - enclosed.probability([0, near, 2 * near], [noise] * 3, 2, device=2),
            ),
        ),
        false(
            "The true set is found more often than the true order: with much noise in a third of the cases, where the "
            "product is a quarter.",
            "step",
            corrected_by="FDP-E53",
            true_where="K = 2",
        ),
        over(near, noise),
        statement=r"\Pr(\tilde{\mathcal K} = \mathcal K) \le \prod_k \Pr(\tilde u_{(k)} \le \tilde u_{(k+1)})",
    ),
    Claim(
        "FDP-E54",
        "App. D, Eq. (54)",
        equal(_in_order(gap), _in_order(-gap)),
        false(
            "The sign is wrong: it should be Pr(n_(k) - n_(k+1) <= u_(k+1) - u_(k)).",
            "misprint",
            corrected_by="FDP-L6",
            true_where="u_{(k)} = u_{(k+1)}",
        ),
        statement=r"\Pr(\tilde u_{(k)} \le \tilde u_{(k+1)}) = \Pr(n_{(k+1)} - n_{(k)} \le u_{(k)} - u_{(k+1)})",
        where={_BELOW: _in_order(gap), r"\Pr(n_{(k+1)} - n_{(k)} \le u_{(k)} - u_{(k+1)})": _in_order(-gap)},
    ),
    Claim(
        "FDP-E55",
        "App. D, Eq. (55), (56), (60)",
        at_most(_in_order(far), _in_order(sp.Min(near, far))),
        false(
            "Psi is the least gap: for the wider of two gaps the right side is a lower bound.",
            "step",
            true_where="all gaps are equal",
            corrected_by="FDP-T3*-upper",
        ),
        statement=r"\Pr(\tilde u_{(k)} \le \tilde u_{(k+1)}) \le "
        r"\Phi\left(\frac\Psi{\sqrt{\sigma_{(k)}^2+\sigma_{(k+1)}^2}}\right)",
        where={_BELOW: _in_order(far), r"\Psi": sp.Min(near, far), r"\sigma_{(k)}": noise, r"\sigma_{(k+1)}": noise},
        near={"near": 0.1, "far": 0.2},  # Psi of Fig. 7, and a wider gap
    ),
    Claim(
        "FDP-E58",
        "App. D, Eq. (57), (58): the least noisy score split into the least score and the least noise (K^c of two "
        "devices; the scores of "
        "device k and of one of them are equal, the other's is greater by a gap)",
        equal(
            lambda gap, noise: float(selection.probability([0.0, 0.0, gap], noise, 1)[0]),
            lambda gap, noise: 1 / 3,
            balls=lambda gap, noise: (ball(1) / 3, enclosed.probability([0, 0, gap], [noise] * 3, 1)),
        ),
        false(
            "The least of sums is at least the sum of the least: for more than one device outside the true set the "
            "right side is "
            "less. With scores 0, 0 and a gap the right side is Pr(n_k <= min n_j) = 1/3, the left side between 1/3 "
            "and 1/2.",
            "step",
            corrected_by="FDP-T3*-upper",
            true_where="K^c has one device, or all its scores are equal",
        ),
        {symbol.name: symbol.range for symbol in (gap, noise)},
        statement=r"\Pr\bigl(\tilde u_k \le \min_{j\in\mathcal K^c}\tilde u_j\bigr) = "
        r"\Pr\bigl(n_k - \min_{j\in\mathcal K^c}n_j \le \min_{j\in\mathcal K^c}u_j - u_k\bigr)",
        unread="probabilities of noise; they are tried for three devices",
    ),
)
