"""Ours: what the commands answer of a system, each quantity against its definition: integrals, enumeration, samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import integrate, optimize

from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import accuracy, decoding, participation
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy import empirical_epsilon
from airtight.analytics.privacy.accounting import privacy_curve
from airtight.analytics.privacy.mechanisms import laplace
from airtight.analytics.privacy.over_the_air import amplification, feature_aware, observers, rounds
from airtight.solvers import weights
from airtight.solvers.design import calibrate
from airtight.solvers.design.over_the_air import joint, local_search
from airtight.solvers.design.over_the_air.requirements import Free, Goal, Requirements
from airtight.solvers.weights import caps
from airtight.validate.claims.claim import Claim, holds
from airtight.validate.claims.domain import Range
from airtight.validate.claims.relation import absolute, at_least, at_most, equal
from airtight.validate.papers.feature_dp.common import SEED, system
from airtight.validate.twins import oracles

_NORMAL = NormalDist()
_FEW = Range(0, 5, integer=True)  # instances, all of them tried
_MU, _SHARE = Range(0.1, 4.0), Range(0.05, 1.0)
_ALONE = {"p": _SHARE, "signal": Range(0.3, 4.0), "delta": Range(1e-6, 0.02, logarithmic=True)}
_NOISE, _RECEIVER = 0.7, 0.4
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
    """Of taking part with probability p against being away: both orders, integrated."""
    there = [(p, signal, noise + _RECEIVER), (1 - p, 0.0, _RECEIVER)]
    away = [(1.0, 0.0, _RECEIVER)]
    return max(oracles.mixture_divergence(epsilon, *pair) for pair in ((there, away), (away, there)))


def _lowest(*ends: Any) -> float:
    return float(np.ravel(ends[0])[0])


_EPSILONS: tuple[Callable[[InferenceSystem], float], ...] = (
    lambda s: _lowest(amplification.exact_epsilon(s)),
    lambda s: _lowest(observers.exact_epsilon(s)),
    lambda s: _lowest(observers.epsilon_bracket(s)[0]),
    lambda s: _lowest(observers.signal_bracket(s)[0]),
    lambda s: _lowest(observers.signal_bracket(s)[1]),
    lambda s: _lowest(rounds.epsilon(s)),
    lambda s: _lowest(rounds.bracket(s, rounds=1)[0]),
    lambda s: _lowest(rounds.curve(s).epsilon(s.delta)),
    lambda s: _lowest(local_search.epsilons(s, Observer.AUTO, 1)),
)
_DELTAS: tuple[Callable[[InferenceSystem, float], float], ...] = (
    lambda s, e: _lowest(amplification.exact_delta(s, e)),
    lambda s, e: _lowest(amplification.exact_delta_bracket(s, e)[0]),
    lambda s, e: _lowest(observers.exact_delta_bracket(s, e)[0]),
    lambda s, e: _lowest(observers.exact_delta_bracket(s, e)[1]),
    lambda s, e: _lowest(rounds.delta_at(s, e)),
    lambda s, e: _lowest(rounds.curve(s).delta(e)),
    lambda s, e: _lowest(rounds.curve(s).bracket(epsilon=e)[0]),
)


def _delta_at_epsilon(way: int, p: float, signal: float, delta: float) -> float:
    epsilon = _EPSILONS[way](_alone(p, signal, delta))
    return _divergence(epsilon, p, signal) if epsilon > 0 else math.nan


def _is_positive(**point: Any) -> bool:
    """Whether an epsilon is needed: at 0 more than delta is given away."""
    return bool(_divergence(0.0, point["p"], point["signal"]) > 1.001 * point["delta"])


def _silent(p: float, signal: float, delta: float) -> InferenceSystem:
    return _alone(p, signal, delta, adjacency="silent")


def _composed(epsilon: float, p: float, signal: float, times: int) -> float:
    """Of several queries whose participation is seen: given that j of them were answered, a Gaussian pair of distance sqrt(j)."""
    mu = signal / math.sqrt(_NOISE + _RECEIVER)
    terms = (
        math.comb(times, j)
        * p**j
        * (1 - p) ** (times - j)
        * oracles.mixture_divergence(epsilon, [(1.0, mu * math.sqrt(j), 1.0)], [(1.0, 0.0, 1.0)])
        for j in range(1, times + 1)
    )
    return math.fsum(terms)


def _composed_at(end: int, p: float, signal: float, delta: float, times: int) -> float:
    found = rounds.bracket(_silent(p, signal, delta), rounds=times, observer="participants")[end]
    return _composed(_lowest(found), p, signal, times)


def _needed(p: float, signal: float, delta: float, times: int) -> bool:
    return _composed(0.0, p, signal, times) > 1.001 * delta


# Curves


def _normal_risk(prior: float, mu: float) -> float:
    """The lesser of two densities, each times its prior probability, integrated."""
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
            return float(made.delta(2 * u)), oracles.mixture_divergence(2 * u, *pair)
        case 1:
            d = oracles.mixture_divergence(2 * u, *pair)
            return float(made.epsilon(d)), 2 * u
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
            return float(made.compose(3).delta(2 * u)), oracles.mixture_divergence(2 * u, far, pair[1])
        case _:
            far = [(1.0, math.hypot(mu, u), 1.0)]
            both = privacy_curve.compose([made, privacy_curve.gaussian(u)])
            return float(both.delta(0.5)), oracles.mixture_divergence(0.5, far, pair[1])


def _pair_divergence(epsilon: float, p: Sequence[float], q: Sequence[float]) -> float:
    """Of two laws, the greater of both orders, outcome by outcome."""
    odds = math.exp(epsilon)
    return max(math.fsum(max(a - odds * b, 0.0) for a, b in zip(*pair, strict=True)) for pair in ((p, q), (q, p)))


def _laplace_divergence(epsilon: float, scale: float) -> float:
    """Of Laplace noise of parameter 1/scale at distance 1: the densities' excess, integrated."""

    def excess(x: float) -> float:
        first, second = (scale / 2 * math.exp(-scale * abs(x - at)) for at in (1.0, 0.0))
        return max(first - math.exp(epsilon) * second, 0.0)

    bend = min(max((1 + epsilon / scale) / 2, 0.0), 1.0)
    pieces = ((-40 / scale, 0.0), (0.0, bend), (bend, 1.0), (1.0, 1 + 40 / scale))
    return math.fsum(integrate.quad(excess, *ends, epsabs=1e-14)[0] for ends in pieces)


def _of_others(way: int, epsilon: float, u: float) -> tuple[float, float]:
    """delta of the other constructors, and by definition; the asked epsilon is a share u of what is known."""
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
            found = laplace.delta(asked, sensitivity=2.0, scale=2 / epsilon)
            return float(found), _laplace_divergence(asked, epsilon)
        case _:
            there, away = [(u, epsilon, 1.0), (1 - u, 0.0, 1.0)], [(1.0, 0.0, 1.0)]
            by_integral = max(oracles.mixture_divergence(0.1, *pair) for pair in ((there, away), (away, there)))
            return float(privacy_curve.subsampled(epsilon, u).delta(0.1)), by_integral


def _side(function: Callable[..., tuple[float, float]], which: int) -> Callable[..., float]:
    return lambda **point: function(**point)[which]


def _side_of_seed(function: Callable[[int], tuple[float, float]], which: int) -> Callable[[int], float]:
    return lambda seed: function(seed)[which]


def _attacked(seed: int, mu: float) -> float:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(mu, 1.0, 20_000), rng.normal(0.0, 1.0, 20_000)
    return empirical_epsilon.epsilon_at_least(first, second, delta=1e-3, failure=1e-6).epsilon


# What it costs


def _quadrature_energy(
    p: float, variance: float, weight: float, clip: float, alignment: float, channel: float, dimension: int, idle: int
) -> float:
    """Mean of |gamma / h (w z + n)|^2 over the noise of each number, z of the greatest norm; two devices."""
    t, masses = np.polynomial.hermite_e.hermegauss(5)
    amplitude = alignment / math.sqrt(channel)
    there = away = 0.0
    for i in range(dimension):
        z = clip if i == 0 else 0.0
        there += float(np.sum(masses * (amplitude * (weight * z + math.sqrt(variance) * t)) ** 2) / np.sum(masses))
        away += float(np.sum(masses * (amplitude * math.sqrt(variance) * t) ** 2) / np.sum(masses))
    return 2 * (p * there + (1 - p) * (away if idle else 0.0))


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
    """Three unlike devices with codes of two numbers, features of three."""
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
    return oracles.enumerated_mse(replace(made, decoder_gain=gain), views)


def _best_gain(seed: int) -> float:
    """Where the parabola through three gains is least, at no gain below 0."""
    at = [_at_gain(seed, gain) for gain in (1e-9, 1.0, 2.0)]
    bend, slope = (at[2] - 2 * at[1] + at[0]) / 2, (4 * at[1] - at[2] - 3 * at[0]) / 2
    return max(-slope / (2 * bend), 0.0)


def _found_gain(seed: int) -> float:
    return decoding.best_gain(*_instance(seed)).gain


def _one_number(p: float, value: float, margin: float, **given: Any) -> tuple[InferenceSystem, Features]:
    """One device that sends one number, decoded as it is."""
    made = system(1, participation=p, noise_variance=0.3, weight=0.8, clip=10.0, receiver_noise_variance=0.1, **given)
    return made, Features(f=[[value]], W=[[1.0]], D=[[1.0]])


def _kept(p: float, value: float, margin: float) -> float:
    return accuracy.exact(*_one_number(p, value, margin), margin=margin, ideal_accuracy=0.9).estimate


def _kept_by_definition(p: float, value: float, margin: float) -> float:
    """The error is (w - 1) f and noise, or -f and the receiver's noise alone."""
    total = 0.0
    for chance, mean, variance in ((p, (0.8 - 1) * value, 0.4), (1 - p, -value, 0.1)):
        law = NormalDist(mean, math.sqrt(variance))
        total += chance * (law.cdf(margin) - law.cdf(-margin))
    return 0.9 * total


def _norms(seed: int) -> tuple[float, float]:
    """What ignores y: error, and 1 where the margin 1 is kept; added, with 10 between them."""
    _, views = _instance(seed)
    f = views.f.tolist()
    square = math.fsum((math.fsum(row[i] for row in f) / 3) ** 2 for i in range(3))
    found = decoding.constant_output(views) + 10 * decoding.constant_accuracy(views, margin=1.0, ideal_accuracy=0.5)
    return found, square + (5.0 if square <= 1 else 0.0)


def _any_decoder(signal: float, value: float) -> float:
    """One number over a Gaussian channel, always there: variance over 1 + SNR."""
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
    return oracles.mixture_divergence(epsilon, [(1.0, sensitivity, noise**2)], [(1.0, 0.0, noise**2)])


def _lemma_2(probability: float, score: float, score_delta: float) -> tuple[float, float]:
    """Theorem 1 at the scheme's probability, and the score's epsilon and delta added to its own."""
    made = system(12, participation=0.5, noise_variance=1.0, weight=0.1, delta=1e-3, delta_prime=1e-3)
    found = feature_aware.published(
        made, probability=probability, score_epsilon=score, score_delta=score_delta, form="eq23"
    )
    theorem = amplification.published(replace(made, participation=np.full(12, probability)), form="eq23")
    return (
        float(found.epsilon[0] + found.delta[0]),
        float(theorem.epsilon[0] + theorem.delta[0]) + score + score_delta,
    )


# What is sought


def _noise_for(p: float, signal: float, delta: float) -> float:
    """delta at the target of 1, with the noise found."""
    found = calibrate.calibrate(_silent(p, signal, delta), 1.0)
    return _visible(signal, float(found.value[0]), p, 1.0)


def _visible(signal: float, variance: float, p: float, epsilon: float) -> float:
    """p times the Gaussian pair of who is seen to take part."""
    total = variance + _RECEIVER
    return p * oracles.mixture_divergence(epsilon, [(1.0, signal, total)], [(1.0, 0.0, total)])


def _weight_for(way: int, p: float, signal: float, delta: float) -> float:
    """delta at epsilon 1/2 with the greatest weight, clip: of the weight times the clip."""
    made = _silent(p, signal, delta)
    found = caps.greatest_weights(made, 0.5) if way == 0 else caps.greatest_clips(made, 0.5) * signal
    return _visible(float(found[0]), _NOISE, p, 0.5) if math.isfinite(found[0]) else math.nan


def _best_weights(seed: int) -> float:
    """Least MSE of weights that sum to one: the simplex of three, on ever finer grids, all sets added up."""
    made, views = _instance(seed)
    centre, reach, grid = np.full(2, 1 / 2), 1 / 2, np.linspace(-1, 1, 9)
    best = math.inf
    for _ in range(10):
        for a in grid:
            for b in grid:
                w = np.clip(centre + reach * np.array([a, b]), 0, 1)
                if w.sum() > 1:
                    continue
                value = oracles.enumerated_mse(replace(made, weight=np.array([*w, 1 - w.sum()])), views)
                if value < best:
                    best, place = value, w
        centre, reach = place, reach / 2
    return best


def _found_weights(seed: int) -> float:
    return float(weights.solve(*_instance(seed)).exact_mse)


def _least_energy(seed: int) -> tuple[float, float]:
    """Least energy of two equal devices who takes part among which is seen, noise free: value found, and by bisection."""
    rng = np.random.default_rng([seed, 7])
    p, signal = float(rng.uniform(0.4, 1.0)), float(rng.uniform(0.5, 2.0))
    made = replace(
        system(2, participation=p, noise_variance=1.0, weight=signal, receiver_noise_variance=_RECEIVER, delta=1e-3),
        adjacency="silent",
    )
    wanted = Requirements(minimise=Goal.ENERGY, epsilon_at_most=1.0, free=(Free.NOISE,))
    found = joint.design(made, wanted, observer="participants")
    least = optimize.brentq(lambda log: math.log(_with_one_other(math.exp(log), p, signal) / 1e-3), -3, 6, xtol=1e-9)
    return found.value, 2 * p * (signal**2 + math.exp(least))


def _with_one_other(variance: float, p: float, signal: float) -> float:
    """delta at epsilon 1, the other's noise there with probability p."""
    total = 0.0
    for chance, noise in ((p, 2 * variance), (1 - p, variance)):
        v = noise + _RECEIVER
        total += chance * p * oracles.mixture_divergence(1.0, [(1.0, signal, v)], [(1.0, 0.0, v)])
    return max(total, 1e-300)


_INSTANCES = {"seed": _FEW}
_STATED = "tried against its definition, by integrals, sums over all sets, or a finer and finer grid"

CLAIMS = (
    Claim(
        "FDP-Q-epsilon",
        "ours: the epsilon of one device against who sees y alone, by every way to ask for it",
        equal(_delta_at_epsilon, lambda delta, **_: delta),
        holds("Both orders of the mixture of presence and absence, integrated, have delta there."),
        {"way": Range(0, len(_EPSILONS) - 1, integer=True), **_ALONE},
        given=[_is_positive],
        statement=r"\max D_{e^\epsilon} = \delta",
        tolerance=1e-5,
        effort=1 / 2,
    ),
    Claim(
        "FDP-Q-delta",
        "ours: the delta of one device against who sees y alone, by every way to ask for it",
        equal(
            lambda way, p, signal, epsilon: _DELTAS[way](_alone(p, signal, 1e-3), epsilon),
            lambda way, p, signal, epsilon: _divergence(epsilon, p, signal),
        ),
        holds("Both orders of the mixture of presence and absence, integrated."),
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
            f"ours: the {which} end of epsilon over several queries",
            relation(lambda end=end, **point: _composed_at(end, **point), lambda delta, **_: delta),
            holds("Given how many queries the device answered, the pair is Gaussian: a binomial sum of integrals."),
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
        "ours: what a Gaussian curve answers: delta, epsilon, beta, TPR, Bayes risk, advantage, compositions",
        equal(_side(_of_gaussian, 0), _side(_of_gaussian, 1)),
        holds("Two normal laws at distance mu: their distribution functions, and integrals of their densities."),
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
        holds("Outcome by outcome, or the densities integrated."),
        {"way": Range(0, 5, integer=True), "epsilon": Range(0.2, 3.0), "u": Range(0.02, 0.98)},
        statement=r"\delta(\epsilon) = \max D_{e^\epsilon}",
        unread=_STATED,
        scale=absolute("", 1.0),
        tolerance=1e-7,
    ),
    Claim(
        "FDP-Q-attack",
        "ours: what an attack on samples shows (each wrong with probability 1e-6)",
        at_most(_attacked, lambda mu, **_: float(privacy_curve.gaussian(mu).epsilon(1e-3))),
        holds("Clopper and Pearson; the epsilon beside it is that of FDP-Q-gaussian."),
        {"seed": SEED, "mu": Range(1.0, 2.0)},
        statement=r"\hat\epsilon \le \epsilon(10^{-3})",
        unread=_STATED,
        slack=2.0,
        effort=1 / 4,
    ),
    Claim(
        "FDP-Q-energy",
        "ours: the energy that a design minimises, of two equal devices",
        equal(_objective, _quadrature_energy),
        holds(
            "Aligned, a device sends (gamma/h)(w z + n): its mean square, number by number, over present and absent."
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
        holds("The MSE is a parabola in the gain; through three of its points, each a sum over all sets."),
        {"seed": SEED},
        scale=absolute("", 1.0),
        statement=r"g = E\langle\hat f, f^*\rangle/E\|\hat f\|^2",
        unread=_STATED,
        tolerance=1e-6,
    ),
    Claim(
        "FDP-Q-accuracy",
        "ours: the accuracy of one number",
        equal(_kept, _kept_by_definition),
        holds("Present or absent, the error is normal."),
        {"p": _SHARE, "value": Range(-2.0, 2.0), "margin": Range(0.2, 2.0)},
        statement=r"P_0\Pr(|\hat f - f^*| \le \Delta)",
        unread=_STATED,
        tolerance=1e-6,
    ),
    Claim(
        "FDP-Q-nothing",
        "ours: MSE and accuracy of the output that ignores y",
        equal(_side_of_seed(_norms, 0), _side_of_seed(_norms, 1)),
        holds("The zero vector: the norm of the mean feature, and whether the margin 1 is kept (counted ten times)."),
        {"seed": SEED},
        statement=r"\|f^*\|^2,\quad P_0[\|f^*\| \le \Delta]",
        unread=_STATED,
    ),
    Claim(
        "FDP-Q-any-decoder",
        "ours: what no decoder goes below, of one number that is always sent",
        equal(_any_decoder, lambda signal, value: value**2 / (1 + signal**2 / 0.4)),
        holds("A normal target of that variance over a Gaussian channel: its variance over 1 + SNR."),
        {"signal": Range(0.1, 3.0), "value": Range(0.1, 2.0)},
        statement=r"D = \frac{v}{1 + \mathrm{SNR}}",
        unread=_STATED,
        tolerance=1e-7,
    ),
    Claim(
        "FDP-Q-lower",
        "ours: Theorem 3, Eq. (20), as printed, of three devices",
        equal(
            lambda near, far, a, b, c: participation.published_lower([0.0, near, near + far], [a, b, c]),
            _printed_lower,
        ),
        holds("As printed: the gap over the noise of neighbours in the list. Whether it is true is FDP-T3-lower."),
        {"near": _GAP, "far": _GAP, "a": _SD, "b": _SD, "c": _SD},
        scale=absolute("", 1.0),
        statement=r"\max\Bigl\{0, 1 - \sum_k\Phi\Bigl(\frac{-\Psi}{\sqrt{\sigma_k^2+\sigma_{k+1}^2}}\Bigr)\Bigr\}",
        unread=_STATED,
    ),
    Claim(
        "FDP-Q-short",
        "ours: FDPs Theorem 2, Eq. (10), as printed",
        equal(lambda mse, margin, ideal: float(accuracy.short_paper(mse, margin=margin, ideal_accuracy=ideal)), _short),
        holds("As printed. Whether it is true is FDPs-T2."),
        {"mse": Range(0.05, 2.0), "margin": Range(0.2, 4.0), "ideal": Range(0.1, 1.0)},
        scale=absolute("", 1.0),
        statement=r"\max[0, P_0(1 - (\mathrm{MSE}/\Delta)^2)]",
        unread=_STATED,
    ),
    Claim(
        "FDP-Q-score",
        "ours: the epsilon of a released score",
        equal(_score_delta, lambda delta, **_: delta),
        holds("Two normal laws at the distance of the sensitivity, integrated."),
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
        holds("As printed: the two guarantees added. Whether it is true is FDP-L2."),
        {"probability": Range(0.4, 1.0), "score": Range(0.1, 3.0), "score_delta": Range(1e-4, 0.1)},
        statement=r"(\epsilon_k^{(0)} + \epsilon_k, \delta_k^{(0)} + \tilde\delta_k)",
        unread=_STATED,
    ),
    Claim(
        "FDP-Q-calibrate",
        "ours: the least noise that keeps epsilon at 1",
        at_most(_noise_for, lambda delta, **_: delta),
        holds("With it p times the Gaussian pair, integrated, has delta at 1, and hardly less."),
        {"p": _SHARE, "signal": Range(1.5, 4.0), "delta": Range(1e-6, 1e-3, logarithmic=True)},
        statement=r"p\,D_e(\sigma^2) \le \delta",
        slack=1.001,
        tolerance=1e-6,
        effort=1 / 4,
        idle=("p", "signal"),
    ),
    Claim(
        "FDP-Q-caps",
        "ours: the greatest weight and clip that keep epsilon at 1/2, who takes part being seen",
        equal(_weight_for, lambda delta, **_: delta),
        holds("With it p times the Gaussian pair, integrated, has delta at 1/2."),
        {"way": Range(0, 1, integer=True), "p": _SHARE, "signal": _MU, "delta": Range(1e-6, 0.02, logarithmic=True)},
        statement=r"p\,D_{\sqrt e}(w_{\max}) = \delta",
        tolerance=1e-6,
        effort=1 / 4,
        idle=("way", "p", "signal"),
    ),
    Claim(
        "FDP-Q-weights",
        "ours: the least MSE of weights that sum to one (three unlike devices)",
        equal(_found_weights, _best_weights),
        holds("The simplex on ever finer grids, each point a sum over all sets of participants."),
        _INSTANCES,
        statement=r"\min_{w \ge 0, \sum w = 1}\mathrm{MSE}(w)",
        unread=_STATED,
        tolerance=1e-7,
    ),
    Claim(
        "FDP-Q-design",
        "ours: the least energy of two equal devices whose participation is seen",
        equal(_side_of_seed(_least_energy, 0), _side_of_seed(_least_energy, 1)),
        holds("delta at epsilon 1 falls with the noise; its root by bisection, over both cases of the other device."),
        {"seed": Range(0, 2, integer=True)},
        statement=r"\min\{2p(w^2C^2 + \sigma^2) : \epsilon \le 1\}",
        unread=_STATED,
        tolerance=1e-4,
    ),
)
