"""Claims about what the commands compute; each quantity is compared with its definition by integrals, enumeration or samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import integrate, optimize

from airtight.analytics.forms.domain import Range
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import accuracy, decoding, participation
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy import empirical_epsilon
from airtight.analytics.privacy.accounting import privacy_curve
from airtight.analytics.privacy.mechanisms import laplace
from airtight.analytics.privacy.over_the_air import amplification, feature_aware, observers, system_privacy
from airtight.solvers import weights
from airtight.solvers.design import calibrate
from airtight.solvers.design.over_the_air import joint, local_search
from airtight.solvers.design.requirements import Free, Goal, InferenceRequirements
from airtight.solvers.weights import caps
from airtight.validate.claims import reference_integrals
from airtight.validate.claims.claim import Claim, holds
from airtight.validate.claims.relation import absolute, at_least, at_most, equal
from airtight.validate.papers.feature_dp.common import SEED, system

_NORMAL = NormalDist()
_FEW = Range(0, 5, integer=True)  # seeds of random instances; all are tried
_MU, _SHARE = Range(0.1, 4.0), Range(0.05, 1.0)
_ALONE = {"p": _SHARE, "signal": Range(0.3, 4.0), "delta": Range(1e-6, 0.02, logarithmic=True)}
_NOISE, _RECEIVER = 0.7, 0.4
_VISIBLE = 1e-4  # delta from which the integral, of absolute accuracy 1e-13, decides on epsilon
_GAP, _SD = Range(0.01, 2.0), Range(0.1, 1.0)


def _alone(p: float, signal: float, delta: float, **given: Any) -> InferenceSystem:
    """One device whose presence shows in the variance."""
    return system(
        1,
        participation=p,
        noise_variance=_NOISE,
        weight=signal,
        receiver_noise_variance=_RECEIVER,
        **{"adjacency": "absent", "delta": delta, **given},
    )


def _divergence(epsilon: float, p: float, signal: float, noise: float = _NOISE) -> float:
    """Integrated divergence of taking part with probability p and of absence; the greater of both orders."""
    present = [(p, signal, noise + _RECEIVER), (1 - p, 0.0, _RECEIVER)]
    absent = [(1.0, 0.0, _RECEIVER)]
    return max(reference_integrals.mixture_divergence(epsilon, *pair) for pair in ((present, absent), (absent, present)))


def _first_entry(*result: Any) -> float:
    return float(np.ravel(result[0])[0])


_EPSILONS: tuple[Callable[[InferenceSystem], float], ...] = (
    lambda s: _first_entry(system_privacy.epsilon(s)),
    lambda s: _first_entry(system_privacy.epsilon(s)),
    lambda s: _first_entry(system_privacy.epsilon_bracket(s)[0]),
    lambda s: _first_entry(observers.signal_bracket(s)[0]),
    lambda s: _first_entry(observers.signal_bracket(s)[1]),
    lambda s: _first_entry(system_privacy.epsilon(s)),
    lambda s: _first_entry(system_privacy.epsilon_bracket(s, rounds=1)[0]),
    lambda s: _first_entry(system_privacy.curve(s).epsilon(s.delta)),
    lambda s: _first_entry(local_search.epsilons(s, Observer.AUTO, 1)),
)
_DELTAS: tuple[Callable[[InferenceSystem, float], float], ...] = (
    lambda s, e: _first_entry(system_privacy.delta(s, e)),
    lambda s, e: _first_entry(system_privacy.delta_bracket(s, e)[0]),
    lambda s, e: _first_entry(system_privacy.delta_bracket(s, e)[0]),
    lambda s, e: _first_entry(system_privacy.delta_bracket(s, e)[1]),
    lambda s, e: _first_entry(system_privacy.delta(s, e)),
    lambda s, e: _first_entry(system_privacy.curve(s).delta(e)),
    lambda s, e: _first_entry(system_privacy.curve(s).bracket(epsilon=e)[0]),
)


def _delta_at_epsilon(way: int, p: float, signal: float, delta: float) -> float:
    epsilon = _EPSILONS[way](_alone(p, signal, delta))
    return _divergence(epsilon, p, signal) if epsilon > 0 else math.nan


def _is_positive(**point: Any) -> bool:
    """Whether epsilon is positive: delta(0) is more than the delta asked for."""
    return bool(_divergence(0.0, point["p"], point["signal"]) > 1.001 * point["delta"])


def _silent(p: float, signal: float, delta: float) -> InferenceSystem:
    return _alone(p, signal, delta, adjacency="silent")


def _composed(epsilon: float, p: float, signal: float, times: int) -> float:
    """delta of several queries with visible participation: if j of them are answered, a Gaussian pair of distance mu sqrt(j)."""
    mu = signal / math.sqrt(_NOISE + _RECEIVER)
    terms = (
        math.comb(times, j)
        * p**j
        * (1 - p) ** (times - j)
        * reference_integrals.mixture_divergence(epsilon, [(1.0, mu * math.sqrt(j), 1.0)], [(1.0, 0.0, 1.0)])
        for j in range(1, times + 1)
    )
    return math.fsum(terms)


def _composed_at(end: int, p: float, signal: float, delta: float, times: int) -> float:
    epsilon = system_privacy.epsilon_bracket(_silent(p, signal, delta), rounds=times, observer="participants")[end]
    return _composed(_first_entry(epsilon), p, signal, times)


def _needed(p: float, signal: float, delta: float, times: int) -> bool:
    """Whether epsilon is positive: delta(0) is more than the delta asked for."""
    return _composed(0.0, p, signal, times) > 1.001 * delta


# Curves


def _normal_risk(prior: float, mu: float) -> float:
    """Integral of the lesser of two densities, each times its prior probability."""
    middle = mu / 2 + (math.log(prior / (1 - prior)) / mu)
    pieces = ((-12.0, middle), (middle, 12.0 + mu))
    return math.fsum(
        integrate.quad(
            lambda x: min(prior * _NORMAL.pdf(x), (1 - prior) * _NORMAL.pdf(x - mu)), *ends, epsabs=1e-14, limit=200
        )[0]
        for ends in pieces
    )


def _of_gaussian(way: int, mu: float, u: float) -> tuple[float, float]:
    """One method of a Gaussian curve, and its definition; u in (0, 1) is an error rate or half an epsilon."""
    made = privacy_curve.gaussian(mu)
    pair = ([(1.0, mu, 1.0)], [(1.0, 0.0, 1.0)])
    match way:
        case 0:
            return float(made.delta(2 * u)), reference_integrals.mixture_divergence(2 * u, *pair)
        case 1:
            d = reference_integrals.mixture_divergence(2 * u, *pair)
            return (float(made.epsilon(d)), 2 * u) if d > _VISIBLE else (math.nan, math.nan)
        case 2:
            return float(made.beta(u)), _NORMAL.cdf(_NORMAL.inv_cdf(1 - u) - mu)
        case 3:
            return float(made.tpr(u)), _NORMAL.cdf(mu - _NORMAL.inv_cdf(1 - u))
        case 4:
            return float(made.bayes_risk(u)), _normal_risk(u, mu)
        case 5:
            return made.advantage() + u, 2 * _NORMAL.cdf(mu / 2) - 1 + u
        case 6:
            far = [(1.0, math.sqrt(3) * mu, 1.0)]
            return float(made.compose(3).delta(2 * u)), reference_integrals.mixture_divergence(2 * u, far, pair[1])
        case _:
            far = [(1.0, math.hypot(mu, u), 1.0)]
            both = privacy_curve.compose([made, privacy_curve.gaussian(u)])
            return float(both.delta(0.5)), reference_integrals.mixture_divergence(0.5, far, pair[1])


def _pair_divergence(epsilon: float, p: Sequence[float], q: Sequence[float]) -> float:
    """Divergence of two discrete laws, summed over the outcomes; the greater of both orders."""
    odds = math.exp(epsilon)
    return max(math.fsum(max(a - odds * b, 0.0) for a, b in zip(*pair, strict=True)) for pair in ((p, q), (q, p)))


def _laplace_divergence(epsilon: float, scale: float) -> float:
    """Divergence of two Laplace laws of parameter 1/scale at distance 1: the integral of the densities' excess."""

    def excess(x: float) -> float:
        first, second = (scale / 2 * math.exp(-scale * abs(x - at)) for at in (1.0, 0.0))
        return max(first - math.exp(epsilon) * second, 0.0)

    bend = min(max((1 + epsilon / scale) / 2, 0.0), 1.0)
    pieces = ((-40 / scale, 0.0), (0.0, bend), (bend, 1.0), (1.0, 1 + 40 / scale))
    return math.fsum(integrate.quad(excess, *ends, epsabs=1e-14)[0] for ends in pieces)


def _of_others(way: int, epsilon: float, u: float) -> tuple[float, float]:
    """delta of the other curves, and by its definition; it is asked at the share u of the curve's epsilon."""
    asked = u * epsilon
    match way:
        case 0:
            return float(privacy_curve.laplace(epsilon).delta(asked)), _laplace_divergence(asked, epsilon)
        case 1:
            odds = math.exp(epsilon)
            p, q = [odds, 1.0, 1.0, 1.0], [1.0, odds, 1.0, 1.0]
            laws = ([x / (odds + 3) for x in row] for row in (p, q))
            return float(privacy_curve.randomized_response(epsilon, 4).delta(asked)), _pair_divergence(asked, *laws)
        case 2:
            p, q = [0.6, 0.3, 0.1], [0.6 * math.exp(-epsilon), 0.2, 0.8 - 0.6 * math.exp(-epsilon)]
            return float(privacy_curve.discrete_pair(p, q).delta(asked)), _pair_divergence(asked, p, q)
        case 3:
            a = 1 / (1 + math.exp(-epsilon))
            p, q = ([x * y for x in row for y in row] for row in ([a, 1 - a], [1 - a, a]))
            return float(privacy_curve.randomized_response(epsilon).compose(2).delta(asked)), _pair_divergence(
                asked, p, q
            )
        case 4:
            delta = laplace.delta(asked, sensitivity=2.0, scale=2 / epsilon)
            return float(delta), _laplace_divergence(asked, epsilon)
        case _:
            present, absent = [(u, epsilon, 1.0), (1 - u, 0.0, 1.0)], [(1.0, 0.0, 1.0)]
            orders = (present, absent), (absent, present)
            by_integral = max(reference_integrals.mixture_divergence(0.1, *pair) for pair in orders)
            return float(privacy_curve.subsampled(epsilon, u).delta(0.1)), by_integral


def _side(function: Callable[..., tuple[float, float]], which: int) -> Callable[..., float]:
    return lambda **point: function(**point)[which]


def _side_of_seed(function: Callable[[int], tuple[float, float]], which: int) -> Callable[[int], float]:
    return lambda seed: function(seed)[which]


def _attacked(seed: int, mu: float) -> float:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(mu, 1.0, 20_000), rng.normal(0.0, 1.0, 20_000)
    return empirical_epsilon.epsilon_at_least(first, second, delta=1e-3, failure=1e-6).epsilon


# Energy, errors and accuracies


def _quadrature_energy(
    p: float, variance: float, weight: float, clip: float, alignment: float, channel: float, dimension: int, idle: int
) -> float:
    """Energy of two devices: the mean of |gamma / h (w z + n)|^2 over the noise of each number, z of the greatest norm."""
    t, masses = np.polynomial.hermite_e.hermegauss(5)
    amplitude = alignment / math.sqrt(channel)
    present = absent = 0.0
    for i in range(dimension):
        z = clip if i == 0 else 0.0
        present += float(np.sum(masses * (amplitude * (weight * z + math.sqrt(variance) * t)) ** 2) / np.sum(masses))
        absent += float(np.sum(masses * (amplitude * math.sqrt(variance) * t) ** 2) / np.sum(masses))
    return 2 * (p * present + (1 - p) * (absent if idle else 0.0))


def _objective(
    p: float, variance: float, weight: float, clip: float, alignment: float, channel: float, dimension: int, idle: int
) -> float:
    made = system(
        2,
        participation=p,
        noise_variance=variance,
        weight=weight,
        clip=clip,
        alignment=alignment,
        channel_gain=channel,
        dimension=dimension,
        idle_noise=bool(idle),
    )
    return local_search.energy(made, None)


def _instance(seed: int) -> tuple[InferenceSystem, Features]:
    """Three different devices with codes of two numbers and features of three."""
    rng = np.random.default_rng([seed, 29])
    views = Features(f=rng.normal(size=(3, 3)), W=rng.normal(size=(3, 2, 3)) / 2, D=rng.normal(size=(3, 2)) / 2)
    made = system(
        3,
        participation=rng.uniform(0.3, 1.0, 3),
        noise_variance=rng.uniform(0.05, 0.5, 3),
        weight=rng.uniform(0.1, 0.6, 3),
        receiver_noise_variance=0.2,
        dimension=2,
    )
    return made, views


def _at_gain(seed: int, gain: float) -> float:
    made, views = _instance(seed)
    return reference_integrals.enumerated_mse(replace(made, decoder_gain=gain), views)


def _best_gain(seed: int) -> float:
    """Gain of the least MSE, from the parabola through three gains; at least 0."""
    at = [_at_gain(seed, gain) for gain in (1e-9, 1.0, 2.0)]
    bend, slope = (at[2] - 2 * at[1] + at[0]) / 2, (4 * at[1] - at[2] - 3 * at[0]) / 2
    return max(-slope / (2 * bend), 0.0)


def _found_gain(seed: int) -> float:
    return decoding.best_gain(*_instance(seed)).gain


def _one_number(p: float, value: float, margin: float, **given: Any) -> tuple[InferenceSystem, Features]:
    """One device that sends one number; the decoder is the identity."""
    made = system(1, participation=p, noise_variance=0.3, weight=0.8, clip=10.0, receiver_noise_variance=0.1, **given)
    return made, Features(f=[[value]], W=[[1.0]], D=[[1.0]])


def _kept(p: float, value: float, margin: float) -> float:
    return accuracy.exact(*_one_number(p, value, margin), margin=margin, ideal_accuracy=0.9).estimate


def _kept_by_definition(p: float, value: float, margin: float) -> float:
    """The error is (w - 1) f plus all noise if the device is present, -f plus the receiver's noise if absent."""
    total = 0.0
    for probability, mean, variance in ((p, (0.8 - 1) * value, 0.4), (1 - p, -value, 0.1)):
        law = NormalDist(mean, math.sqrt(variance))
        total += probability * (law.cdf(margin) - law.cdf(-margin))
    return 0.9 * total


def _norms(seed: int) -> tuple[float, float]:
    """MSE of the output that ignores y plus ten times its accuracy at margin 1: by the library and by definition."""
    _, views = _instance(seed)
    f = views.f.tolist()
    square = math.fsum((math.fsum(row[i] for row in f) / 3) ** 2 for i in range(3))
    by_library = decoding.constant_output(views) + 10 * decoding.constant_accuracy(
        views, margin=1.0, ideal_accuracy=0.5
    )
    return by_library, square + (5.0 if square <= 1 else 0.0)


def _any_decoder(signal: float, value: float) -> float:
    """The least MSE of any decoder for one number that is always sent over a Gaussian channel."""
    made, views = _one_number(1.0, value, 1.0)
    return decoding.any_decoder(replace(made, weight=np.array([signal]), clip=np.array([1.0])), views)


def _printed_lower(near: float, far: float, a: float, b: float, c: float) -> float:
    gap = near  # between the first two scores, one selected: Psi is the least gap
    least = min(gap, far)
    tails = (_NORMAL.cdf(-least / math.hypot(x, y)) for x, y in ((a, b), (b, c)))
    return max(0.0, 1 - math.fsum(tails))


def _short(mse: float, margin: float, ideal: float) -> float:
    return max(0.0, ideal * (1 - (mse / margin) ** 2))


def _score_delta(sensitivity: float, noise: float, delta: float) -> float:
    epsilon = float(feature_aware.score_epsilon(delta, sensitivity=sensitivity, noise=noise))
    if epsilon == 0:
        return math.nan
    return reference_integrals.mixture_divergence(epsilon, [(1.0, sensitivity, noise**2)], [(1.0, 0.0, noise**2)])


def _lemma_2(probability: float, score: float, score_delta: float) -> tuple[float, float]:
    """epsilon + delta of Lemma 2 by the library, and those of Theorem 1 plus the score's."""
    made = system(12, participation=0.5, noise_variance=1.0, weight=0.1, delta=1e-3, delta_prime=1e-3)
    lemma = feature_aware.published(
        made, probability=probability, score_epsilon=score, score_delta=score_delta, form="eq23"
    )
    theorem = amplification.published(replace(made, participation=np.full(12, probability)), form="eq23")
    return (
        float(lemma.epsilon[0] + lemma.delta[0]),
        float(theorem.epsilon[0] + theorem.delta[0]) + score + score_delta,
    )


# Designs


def _noise_for(p: float, signal: float, delta: float) -> float:
    """delta at the target epsilon 1, with the calibrated noise."""
    result = calibrate.calibrate(_silent(p, signal, delta), 1.0)
    return _visible(signal, float(result.value[0]), p, 1.0)


def _visible(signal: float, variance: float, p: float, epsilon: float) -> float:
    """p times the divergence of the Gaussian pair: the observer sees who takes part."""
    total = variance + _RECEIVER
    return p * reference_integrals.mixture_divergence(epsilon, [(1.0, signal, total)], [(1.0, 0.0, total)])


def _weight_for(way: int, p: float, signal: float, delta: float) -> float:
    """delta at epsilon 1/2 with the greatest weight (way 0) or the greatest clip (way 1)."""
    made = _silent(p, signal, delta)
    greatest = caps.greatest_weights(made, 0.5) if way == 0 else caps.greatest_clips(made, 0.5) * signal
    return _visible(float(greatest[0]), _NOISE, p, 0.5) if math.isfinite(greatest[0]) else math.nan


def _best_weights(seed: int) -> float:
    """Least MSE of three weights that sum to one: on ever finer grids of the simplex, summed over all sets."""
    made, views = _instance(seed)
    centre, reach, grid = np.full(2, 1 / 2), 1 / 2, np.linspace(-1, 1, 9)
    best = math.inf
    for _ in range(10):
        for a in grid:
            for b in grid:
                w = np.clip(centre + reach * np.array([a, b]), 0, 1)
                if w.sum() > 1:
                    continue
                value = reference_integrals.enumerated_mse(replace(made, weight=np.array([*w, 1 - w.sum()])), views)
                if value < best:
                    best, place = value, w
        centre, reach = place, reach / 2
    return best


def _found_weights(seed: int) -> float:
    return float(weights.solve(*_instance(seed)).exact_mse)


def _least_energy(seed: int) -> tuple[float, float]:
    """Least energy of two equal devices with visible participation and free noise: by the design, and by Brent's method."""
    rng = np.random.default_rng([seed, 7])
    p, signal = float(rng.uniform(0.4, 1.0)), float(rng.uniform(0.5, 2.0))
    made = replace(
        system(2, participation=p, noise_variance=1.0, weight=signal, receiver_noise_variance=_RECEIVER, delta=1e-3),
        adjacency="silent",
    )
    requirements = InferenceRequirements(minimise=Goal.ENERGY, epsilon_at_most=1.0, free=(Free.NOISE,))
    result = joint.design(made, requirements, observer="participants")
    log_variance = optimize.brentq(
        lambda log: math.log(_with_one_other(math.exp(log), p, signal) / 1e-3), -3, 6, xtol=1e-9
    )
    return result.value, 2 * p * (signal**2 + math.exp(log_variance))


def _with_one_other(variance: float, p: float, signal: float) -> float:
    """delta at epsilon 1 when the other device adds its noise with probability p."""
    total = 0.0
    for probability, noise in ((p, 2 * variance), (1 - p, variance)):
        v = noise + _RECEIVER
        total += probability * p * reference_integrals.mixture_divergence(1.0, [(1.0, signal, v)], [(1.0, 0.0, v)])
    return max(total, 1e-300)


_INSTANCES = {"seed": _FEW}
_STATED = "compared with its definition by integrals, sums over all sets, or ever finer grids"

CLAIMS = (
    Claim(
        "FDP-Q-epsilon",
        "ours: the epsilon of one device for an observer of y alone, by every function that returns it",
        equal(_delta_at_epsilon, lambda delta, **_: delta),
        holds("There the integrated divergence of the mixture of presence and absence, in the worse order, is delta."),
        {"way": Range(0, len(_EPSILONS) - 1, integer=True), **_ALONE},
        given=[_is_positive],
        statement=r"\max D_{e^\epsilon} = \delta",
        tolerance=1e-5,
        effort=1 / 2,
    ),
    Claim(
        "FDP-Q-delta",
        "ours: the delta of one device for an observer of y alone, by every function that returns it",
        equal(
            lambda way, p, signal, epsilon: _DELTAS[way](_alone(p, signal, 1e-3), epsilon),
            lambda way, p, signal, epsilon: _divergence(epsilon, p, signal),
        ),
        holds("Compared with the integrated divergence of the mixture of presence and absence, in the worse order."),
        {
            "way": Range(0, len(_DELTAS) - 1, integer=True),
            "p": _SHARE,
            "signal": Range(0.3, 4.0),
            "epsilon": Range(0.0, 2.0),
        },
        statement=r"\delta(\epsilon) = \max D_{e^\epsilon}",
        unread=_STATED,
        scale=absolute("", 1e-3),
        tolerance=1e-6,
        idle=("way",),
    ),
    *(
        Claim(
            name,
            f"ours: the {which} bound on epsilon over several queries",
            relation(lambda end=end, **point: _composed_at(end, **point), lambda delta, **_: delta),
            holds(
                "Given the number of queries that the device answered, the pair is Gaussian: delta is a binomial sum "
                "of integrals."
            ),
            {**_ALONE, "times": Range(1, 6, integer=True)},
            given=[_needed],
            statement=rf"\delta(\epsilon_{{\text{{{which}}}}}) {sign} \delta",
            slack=1.02,
            tolerance=1e-6,
            effort=1 / 4,
        )
        for name, which, end, relation, sign in (
            ("FDP-Q-rounds-upper", "upper", 1, at_most, r"\le"),
            ("FDP-Q-rounds-lower", "lower", 0, at_least, r"\ge"),
        )
    ),
    Claim(
        "FDP-Q-gaussian",
        "ours: the methods of a Gaussian curve: delta, epsilon, beta, TPR, Bayes risk, advantage, compositions",
        equal(_side(_of_gaussian, 0), _side(_of_gaussian, 1)),
        holds(
            "Compared with two normal laws at distance mu: their distribution functions, and integrals of their "
            "densities."
        ),
        {"way": Range(0, 7, integer=True), "mu": _MU, "u": Range(0.02, 0.98)},
        statement=r"\delta, \epsilon, \beta, \ldots \text{ of } N(\mu, 1), N(0, 1)",
        unread=_STATED,
        scale=absolute("", 1.0),
        tolerance=1e-6,
    ),
    Claim(
        "FDP-Q-curves",
        "ours: delta of the other curves: Laplace, randomized response, discrete, composed, subsampled",
        equal(_side(_of_others, 0), _side(_of_others, 1)),
        holds("Compared with sums over the outcomes, or with integrals of the densities."),
        {"way": Range(0, 5, integer=True), "epsilon": Range(0.2, 3.0), "u": Range(0.02, 0.98)},
        statement=r"\delta(\epsilon) = \max D_{e^\epsilon}",
        unread=_STATED,
        scale=absolute("", 1.0),
        tolerance=1e-7,
    ),
    Claim(
        "FDP-Q-attack",
        "ours: the lower bound on epsilon by an attack on samples (each wrong with probability 1e-6)",
        at_most(_attacked, lambda mu, **_: float(privacy_curve.gaussian(mu).epsilon(1e-3))),
        holds("A Clopper-Pearson bound; the epsilon that it is compared with is that of FDP-Q-gaussian."),
        {"seed": SEED, "mu": Range(1.0, 2.0)},
        statement=r"\hat\epsilon \le \epsilon(10^{-3})",
        unread=_STATED,
        slack=2.0,
        effort=1 / 4,
    ),
    Claim(
        "FDP-Q-energy",
        "ours: the energy that a design minimises, for two equal devices",
        equal(_objective, _quadrature_energy),
        holds(
            "An aligned device sends (gamma/h)(w z + n); its mean square is summed number by number, over present and "
            "absent."
        ),
        {
            "p": _SHARE,
            "variance": Range(0.01, 5.0),
            "weight": Range(0.1, 2.0),
            "clip": Range(0.5, 5.0),
            "alignment": Range(0.2, 3.0),
            "channel": Range(0.1, 4.0),
            "dimension": Range(1, 12, integer=True),
            "idle": Range(0, 1, integer=True),
        },
        statement=r"\frac{\gamma^2}{|h_k|^2}\bigl(p_kw_k^2C_k^2 + q_kr\sigma_k^2\bigr) = E\|x_k\|^2",
        unread=_STATED,
    ),
    Claim(
        "FDP-Q-gain",
        "ours: the decoder gain of least MSE",
        equal(_found_gain, _best_gain),
        holds("The MSE is a parabola in the gain; it is fitted through three points, each a sum over all sets."),
        {"seed": SEED},
        scale=absolute("", 1.0),
        statement=r"g = E\langle\hat f, f^*\rangle/E\|\hat f\|^2",
        unread=_STATED,
        tolerance=1e-6,
    ),
    Claim(
        "FDP-Q-accuracy",
        "ours: the accuracy for one number",
        equal(_kept, _kept_by_definition),
        holds("The error is normal, whether the device is present or absent."),
        {"p": _SHARE, "value": Range(-2.0, 2.0), "margin": Range(0.2, 2.0)},
        statement=r"P_0\Pr(|\hat f - f^*| \le \Delta)",
        unread=_STATED,
        tolerance=1e-6,
    ),
    Claim(
        "FDP-Q-nothing",
        "ours: MSE and accuracy of the output that ignores y",
        equal(_side_of_seed(_norms, 0), _side_of_seed(_norms, 1)),
        holds(
            "The output is the zero vector: compared with the squared norm of the mean feature, and with whether the "
            "margin 1 is kept (counted ten times)."
        ),
        {"seed": SEED},
        statement=r"\|f^*\|^2,\quad P_0[\|f^*\| \le \Delta]",
        unread=_STATED,
    ),
    Claim(
        "FDP-Q-any-decoder",
        "ours: the MSE below which no decoder goes, for one number that is always sent",
        equal(_any_decoder, lambda signal, value: value**2 / (1 + signal**2 / 0.4)),
        holds("For a normal target of variance v over a Gaussian channel it is v over 1 + SNR."),
        {"signal": Range(0.1, 3.0), "value": Range(0.1, 2.0)},
        statement=r"D = \frac{v}{1 + \mathrm{SNR}}",
        unread=_STATED,
        tolerance=1e-7,
    ),
    Claim(
        "FDP-Q-lower",
        "ours: Theorem 3, Eq. (20), as printed, for three devices",
        equal(
            lambda near, far, a, b, c: participation.published_lower([0.0, near, near + far], [a, b, c]),
            _printed_lower,
        ),
        holds(
            "The printed formula: the gap over the noise of neighbours in the list. FDP-T3-lower says whether it is "
            "true."
        ),
        {"near": _GAP, "far": _GAP, "a": _SD, "b": _SD, "c": _SD},
        scale=absolute("", 1.0),
        statement=r"\max\Bigl\{0, 1 - \sum_k\Phi\Bigl(\frac{-\Psi}{\sqrt{\sigma_k^2+\sigma_{k+1}^2}}\Bigr)\Bigr\}",
        unread=_STATED,
    ),
    Claim(
        "FDP-Q-short",
        "ours: FDPs Theorem 2, Eq. (10), as printed",
        equal(lambda mse, margin, ideal: float(accuracy.short_paper(mse, margin=margin, ideal_accuracy=ideal)), _short),
        holds("The printed formula. FDPs-T2 says whether it is true."),
        {"mse": Range(0.05, 2.0), "margin": Range(0.2, 4.0), "ideal": Range(0.1, 1.0)},
        scale=absolute("", 1.0),
        statement=r"\max[0, P_0(1 - (\mathrm{MSE}/\Delta)^2)]",
        unread=_STATED,
    ),
    Claim(
        "FDP-Q-score",
        "ours: the epsilon of a released score",
        equal(_score_delta, lambda delta, **_: delta),
        holds("Compared with the integrated divergence of two normal laws at the distance of the sensitivity."),
        {"sensitivity": Range(0.2, 2.0), "noise": Range(0.2, 2.0), "delta": Range(1e-6, 1e-2, logarithmic=True)},
        statement=r"\delta(\epsilon_0) = \delta_0",
        unread=_STATED,
        tolerance=1e-6,
        idle=("sensitivity", "noise"),
    ),
    Claim(
        "FDP-Q-lemma-2",
        "ours: Lemma 2 as printed",
        equal(_side(_lemma_2, 0), _side(_lemma_2, 1)),
        holds("The printed rule: the two guarantees are added. FDP-L2 says whether it is true."),
        {"probability": Range(0.4, 1.0), "score": Range(0.1, 3.0), "score_delta": Range(1e-4, 0.1)},
        statement=r"(\epsilon_k^{(0)} + \epsilon_k, \delta_k^{(0)} + \tilde\delta_k)",
        unread=_STATED,
    ),
    Claim(
        "FDP-Q-calibrate",
        "ours: the least noise that keeps epsilon at 1",
        at_most(_noise_for, lambda delta, **_: delta),
        holds(
            "With this noise p times the integrated divergence of the Gaussian pair is at most delta at epsilon 1, "
            "and hardly less."
        ),
        {"p": _SHARE, "signal": Range(1.5, 4.0), "delta": Range(1e-6, 1e-3, logarithmic=True)},
        statement=r"p\,D_e(\sigma^2) \le \delta",
        slack=1.001,
        tolerance=1e-6,
        effort=1 / 4,
        idle=("p", "signal"),
    ),
    Claim(
        "FDP-Q-caps",
        "ours: the greatest weight and clip that keep epsilon at 1/2, for an observer who sees who takes part",
        equal(_weight_for, lambda delta, **_: delta),
        holds("With either, p times the integrated divergence of the Gaussian pair is delta at epsilon 1/2."),
        {"way": Range(0, 1, integer=True), "p": _SHARE, "signal": _MU, "delta": Range(1e-6, 0.02, logarithmic=True)},
        statement=r"p\,D_{\sqrt e}(w_{\max}) = \delta",
        tolerance=1e-6,
        effort=1 / 4,
        idle=("way", "p", "signal"),
    ),
    Claim(
        "FDP-Q-weights",
        "ours: the least MSE of weights that sum to one (three different devices)",
        equal(_found_weights, _best_weights),
        holds("Compared with ever finer grids on the simplex; each point is a sum over all sets of participants."),
        _INSTANCES,
        statement=r"\min_{w \ge 0, \sum w = 1}\mathrm{MSE}(w)",
        unread=_STATED,
        tolerance=1e-7,
    ),
    Claim(
        "FDP-Q-design",
        "ours: the least energy of two equal devices with visible participation",
        equal(_side_of_seed(_least_energy, 0), _side_of_seed(_least_energy, 1)),
        holds(
            "delta at epsilon 1 falls as the noise grows; Brent's method finds its root, summed over both cases of "
            "the other device."
        ),
        {"seed": Range(0, 2, integer=True)},
        statement=r"\min\{2p(w^2C^2 + \sigma^2) : \epsilon \le 1\}",
        unread=_STATED,
        tolerance=1e-4,
    ),
)
