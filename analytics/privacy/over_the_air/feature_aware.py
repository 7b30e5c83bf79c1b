r"""Privacy of the feature-aware schemes: the score that decides on participation, and the feature that is then sent.

FDP Lemma 2 adds the guarantee :math:`(\epsilon_k^{(0)},\delta_k^{(0)})` of the score to the *amplified* guarantee of
Theorem 1. But whether k takes part is a function of the released score: once the score is known, participation is known
and amplifies nothing (ledger FDP-L2). The valid statement is the composition of the score with the feature *given*
participation.

Neighbours are features that are changed (``replace``) or zeroed (``silent``); their scores differ by at most
`sensitivity`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.distributions import weighted_sum
from airtight.analytics.guarantee import Adjacency, Guarantee
from airtight.analytics.inference import participation
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import amplification
from airtight.analytics.privacy.over_the_air.amplification import TheoremForm
from airtight.analytics.rounding import SMALLEST, UNIT

if TYPE_CHECKING:
    from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve

_PROBABILITY_ROUNDING = 1e-13  # relative rounding error of a participation probability, a value of the normal cdf


def published(
    system: InferenceSystem,
    *,
    probability: ArrayLike,
    score_epsilon: ArrayLike,
    score_delta: ArrayLike,
    form: TheoremForm | str = TheoremForm.THEOREM1,
) -> Guarantee:
    r"""FDP Lemma 2 as printed: :math:`(\epsilon_k^{(0)} + \epsilon_k, \delta_k^{(0)} + \tilde\delta_k)`. **False**.

    See ledger FDP-L2.

    Parameters
    ----------
    probability : array_like, shape (K,)
        Participation probabilities of the scheme, which are inserted into Theorem 1.
    score_epsilon, score_delta : array_like, shape (K,) or scalar
        Guarantee of the released score.

    Examples
    --------
    >>> lemma = published(_example(), probability=0.5, score_epsilon=1.0, score_delta=1e-6, form="eq23")
    >>> float(lemma.epsilon[0]), float(lemma.delta[0])
    (1.17303..., 1.60000...e-05)
    """
    eps0 = checks.vector("score_epsilon", score_epsilon, system.devices, "[0, inf]")
    delta0 = checks.vector("score_delta", score_delta, system.devices, "[0, 1]")
    p = checks.vector("probability", probability, system.devices, "[0, 1]")
    theorem = amplification.published(replace(system, participation=p), form=form)
    return Guarantee(eps0 + theorem.epsilon, delta0 + theorem.delta, theorem.adjacency)


def proven_lowest(system: InferenceSystem, *, noise: ArrayLike, sensitivity: ArrayLike, selected: int) -> Guarantee:
    r"""Scheme 2.2 with all scores released: a proved epsilon at the system's delta.

    .. math:: \delta_k(\epsilon) \le \delta_G\Bigl(\epsilon;\ \sqrt{(\Delta u/\sigma_k^{(0)})^2 + d_k^2/v_k}\Bigr),

    where d is the sensitivity of the received signal, and v_k the noise variance of k, the receiver and the k~ - 1
    other devices with the least noise.

    Parameters
    ----------
    system : InferenceSystem
        Adjacency ``silent`` or ``replace``; its participation is not used.
    noise, sensitivity : array_like, shape (K,) or scalar
        Standard deviation of the score's noise, > 0; greatest change of the score, >= 0.
    selected : int
        Number of selected devices, in [1, K].

    Notes
    -----
    *Hypotheses.* (Ledger FDP-L2*-2.2.) The server sees every noisy score and y; neighbours differ in the data of device
    k, whose score moves by at most :math:`\Delta u` and whose code by at most :math:`d_k`.

    Given all noisy scores, the set of participants is fixed. If it contains k, the release of the feature is a Gaussian
    mechanism whose noise is at least that of the receiver, of k and of the :math:`\tilde k - 1` others with the least
    noise. If it does not contain k, the release does not depend on k. The score is a Gaussian mechanism of ratio
    :math:`\Delta u/\sigma_k^{(0)}`. Adaptive composition of Gaussian mechanisms (Dong, Roth, Su 2022, Theorem 4) adds
    the squared ratios. In Coq: `FDP_L2_star_2_2` of `formal/feature_dp_general.v`, for any law of the others' scores,
    integrating over the score of k.

    Examples
    --------
    >>> float(proven_lowest(_example(), noise=1.0, sensitivity=0.5, selected=3).epsilon[0])
    2.06174...
    """
    joint = _lowest_ratios(system, noise, sensitivity, selected)
    epsilon = np.array([_mixture_epsilon(np.ones(1), np.array([mu]), system.delta) for mu in joint])
    return Guarantee(epsilon, np.full(system.devices, system.delta), system.adjacency)


def lowest_curve(
    system: InferenceSystem, *, noise: ArrayLike, sensitivity: ArrayLike, selected: int, device: int = 0
) -> PrivacyCurve:
    r"""Scheme 2.2: privacy curve of all scores and the answer of one query; ``.compose(T)`` gives that of T queries.

    Parameters
    ----------
    system, noise, sensitivity, selected
        As in :func:`proven_lowest`; every query draws new noise for the scores.
    device : int

    Notes
    -----
    Score and answer together are one Gaussian release of squared ratio :math:`(\Delta u/\sigma_k^{(0)})^2 + d_k^2/v_k`;
    the epsilons are not added. This is the worst case over the scores. It is approached when the scores make it almost
    certain that k and the others of least noise are selected.

    Examples
    --------
    >>> joint = lowest_curve(_example(), noise=1.0, sensitivity=0.5, selected=3)
    >>> round(float(joint.epsilon(1e-5)), 5), round(float(joint.compose(10).epsilon(1e-5)), 4)
    (2.06175, 7.7905)
    """
    from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
    from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
    from airtight.analytics.privacy.over_the_air import rounds

    k = checks.count("device", device, f"[0, {system.devices - 1}]")
    mu = float(_lowest_ratios(system, noise, sensitivity, selected)[k])
    return PrivacyCurve.of(Gaussian(mu, rounds.unit(system, k), (system.devices + 32) * UNIT))


def _lowest_ratios(system: InferenceSystem, noise: ArrayLike, sensitivity: ArrayLike, selected: int) -> FloatArray:
    """For each device, the greatest ratio of sensitivity to noise of score and answer together."""
    mu0 = _score_ratio(system, noise, sensitivity)
    m = checks.count("selected", selected, f"[1, {system.devices}]")
    system = system.normalised()
    received_noise = system.received_noise_variance
    if system.idle_noise:
        others = np.sum(received_noise) - received_noise
    else:
        order = np.argsort(received_noise, kind="stable")
        noise_sums = np.concatenate([[0.0], np.cumsum(received_noise[order])])
        is_quiet = np.empty(system.devices, dtype=bool)
        is_quiet[order] = np.arange(system.devices) < m - 1
        # a device among the m - 1 of least noise is not one of its own m - 1 others: the m-th takes its place
        others = np.where(is_quiet, noise_sums[m] - received_noise, noise_sums[m - 1])
    mu1 = _ratio(system.sensitivity, np.sqrt(others + received_noise + system.receiver_noise_variance))
    return np.asarray(np.hypot(mu0, mu1))


def proven_threshold(
    system: InferenceSystem, *, noise: ArrayLike, sensitivity: ArrayLike, eta: float, greatest_score: ArrayLike
) -> Guarantee:
    r"""Scheme 2.1 with the score of k released: a proved epsilon at the system's delta, for all scores.

    .. math:: \delta_k(\epsilon) \le E_S\,\delta_G\Bigl(\epsilon;\ \sqrt{(\Delta u/\sigma_k^{(0)})^2 + d_k^2/v_S}\Bigr)

    over sets S of the other devices, where each device takes part with the least probability that its score allows,
    :math:`\Phi((\eta - u_j^{\max})/\sigma_j^{(0)})`.

    Parameters
    ----------
    system : InferenceSystem
        Adjacency ``silent`` or ``replace``; its participation is not used.
    noise, sensitivity : array_like, shape (K,) or scalar
        Standard deviation of the score's noise, > 0; greatest change of the score, >= 0.
    eta : float
        The threshold.
    greatest_score : array_like, shape (K,) or scalar
        Upper bound of the scores, for instance log2 L for entropies of L labels; the sensitivity does not imply one.

    Notes
    -----
    *Hypotheses.* (Ledger FDP-L2*-2.1.) The server sees the noisy score of k and y; device j takes part if its noisy
    score is at most eta, independently of the others; scores are at most :math:`u^{\max}`.

    Given the set S of the others that take part, the argument is that of :func:`proven_lowest`. Revealing S can only
    raise the divergence, whose mean over S is the right-hand side with the true probabilities. Participation with lower
    probabilities is obtained from participation with higher ones by removing some participants at random, which removes
    noise. The divergence given S falls with the noise, so its mean rises when the probabilities are lowered to
    :math:`\Phi((\eta - u^{\max})/\sigma^{(0)})`. In Coq: `FDP_L2_star_2_1` of `formal/feature_dp_general.v`.

    Examples
    --------
    >>> float(proven_threshold(_example(), noise=1.0, sensitivity=0.5, eta=1.0, greatest_score=0.5).epsilon[0])
    1.99963...
    """
    epsilon = np.empty(system.devices)
    for k, law, mu, _ in _threshold_laws(system, noise, sensitivity, eta, greatest_score):
        epsilon[k] = _mixture_epsilon(law.probabilities * (1 + law.error), mu, system.delta)
    return Guarantee(epsilon, np.full(system.devices, system.delta), system.adjacency)


def threshold_curve(
    system: InferenceSystem,
    *,
    noise: ArrayLike,
    sensitivity: ArrayLike,
    eta: float,
    greatest_score: ArrayLike,
    device: int = 0,
) -> PrivacyCurve:
    """Scheme 2.1: privacy curve of the score of k and the answer of one query; ``.compose(T)`` gives that of T queries.

    Parameters
    ----------
    system, noise, sensitivity, eta, greatest_score
        As in :func:`proven_threshold`; every query draws new noise for the scores.
    device : int

    Notes
    -----
    Given which of the others take part, score and answer are one Gaussian release; the observer sees this set in every
    query. The curve is the worst case over the scores. It is approached when k is almost certain to take part and the
    others have the greatest scores; if no score makes k that certain, it is an upper bound.

    Examples
    --------
    >>> joint = threshold_curve(_example(), noise=1.0, sensitivity=0.5, eta=1.0, greatest_score=0.5)
    >>> round(float(joint.epsilon(1e-5)), 5), bool(joint.compose(10).epsilon(1e-5) < 7.6)
    (1.99963, True)
    """
    from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
    from airtight.analytics.privacy.mechanisms.gaussian import Shown
    from airtight.analytics.privacy.over_the_air import rounds

    k = checks.count("device", device, f"[0, {system.devices - 1}]")
    participation_least = np.delete(_likely(system, noise, eta, greatest_score), k)
    probability_doubt = (0.0, 0.0) if system.idle_noise else _doubt_of(participation_least)
    for owner, law, mu, mu_least in _threshold_laws(system, noise, sensitivity, eta, greatest_score):
        if owner == k:
            joint = Shown(
                tuple(law.probabilities),
                tuple(mu),
                tuple(mu_least),
                law.error,
                rounds.unit(system, k),
                probability_doubt,
            )
            break
    return PrivacyCurve.of(joint)


def _likely(system: InferenceSystem, noise: ArrayLike, eta: float, greatest_score: ArrayLike) -> FloatArray:
    """For each device, a lower bound of its participation probability over all permitted scores."""
    greatest = checks.vector("greatest_score", greatest_score, system.devices, "(-inf, inf)")
    probability = np.asarray(participation.threshold(greatest, noise, checks.scalar("eta", eta)))
    return probability * (1 - _PROBABILITY_ROUNDING)


def _doubt_of(probability: FloatArray) -> tuple[float, float]:
    r"""Upper bounds, relative and absolute, of the error of delta that rounding the others' probabilities p down
    causes.

    The true probabilities are at most :math:`p(1+\eta)`. The probability of a set then falls at most by the factor
    :math:`\prod (1 - \eta p/(1-p))` over the devices outside the set. In absolute terms, each device changes delta by
    at most the change of its probability, because every conditional delta lies between 0 and 1.
    """
    change = 2 * _PROBABILITY_ROUNDING * probability * (1 + 4 * UNIT)
    return float(np.sum(change / np.maximum(1 - probability, UNIT))), float(np.sum(change))


def _threshold_laws(
    system: InferenceSystem, noise: ArrayLike, sensitivity: ArrayLike, eta: float, greatest_score: ArrayLike
) -> Iterator[tuple[int, weighted_sum.Law, FloatArray, FloatArray]]:
    """Yield each device, the law of the others' noise, and upper and lower bounds of its ratio of score and answer at
    each value.
    """
    mu0 = _score_ratio(system, noise, sensitivity)
    participation_least = _likely(system, noise, eta, greatest_score)
    system = system.normalised()
    received_noise = system.received_noise_variance
    p = np.ones(system.devices) if system.idle_noise else participation_least
    device_classes, class_of, multiplicity = np.unique(
        np.column_stack([p, received_noise]), axis=0, return_inverse=True, return_counts=True
    )
    rounding = (system.devices + 8) * UNIT
    for c, law in weighted_sum.leave_one_out(device_classes[:, 0].copy(), device_classes[:, 1].copy(), multiplicity):
        for k in np.flatnonzero(class_of == c):
            d = np.full(law.values.size, system.sensitivity[k])
            variance_low = (
                np.maximum(law.values - law.slack, 0.0) + received_noise[k] + system.receiver_noise_variance
            ) * (1 - rounding)
            variance_high = law.values + law.slack + law.lost + received_noise[k] + system.receiver_noise_variance
            mu_least = np.hypot(mu0[k], _ratio(d, np.sqrt(variance_high * (1 + rounding)))) * (1 - 16 * UNIT)
            yield int(k), law, np.hypot(mu0[k], _ratio(d, np.sqrt(variance_low))) * (1 + 8 * UNIT), mu_least


def score_epsilon(delta: ArrayLike, *, sensitivity: ArrayLike, noise: ArrayLike) -> FloatArray:
    """Exact epsilon at delta of the released score when the score changes by `sensitivity` (adjacency ``replace``).

    Examples
    --------
    >>> float(score_epsilon(1e-5, sensitivity=0.5, noise=0.3))
    8.00369...
    """
    return gaussian.epsilon(delta, sensitivity=sensitivity, sigma=noise)


def _score_ratio(system: InferenceSystem, noise: ArrayLike, sensitivity: ArrayLike) -> FloatArray:
    if system.adjacency is Adjacency.ABSENT:
        raise ParameterError("adjacency", system.adjacency.value, "silent or replace: an absent device has no score")
    if system.colluding:
        allowed = "0: colluders know their scores, and with these who else is selected"
        raise ParameterError("colluding", system.colluding, allowed)
    change = checks.vector("sensitivity", sensitivity, system.devices, "[0, inf)")
    return _ratio(change, checks.vector("noise", noise, system.devices, "(0, inf)"))


def _ratio(change: FloatArray, deviation: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(change > 0, change / deviation, 0.0)


def _mixture_epsilon(weight: FloatArray, mu: FloatArray, delta: float) -> float:
    """An epsilon slightly above the least one at which the mean of the Gaussian privacy curves is at most delta."""
    from scipy import optimize

    if not np.all(np.isfinite(mu)):
        return np.inf
    mu = mu * (1 + 8 * UNIT)
    rounding = (weight.size + 16) * UNIT

    def delta_upper(epsilon: float) -> float:
        """Upper bound of the mean of the Gaussian privacy curves at epsilon."""
        value, _, error = gaussian.log_curve(np.full(mu.shape, epsilon * (1 - 8 * UNIT)), mu)
        with np.errstate(under="ignore", invalid="ignore"):
            curve = np.exp(np.where(value > -np.inf, np.minimum(value + error, 0.0), -np.inf))
        return float(weight @ curve) * (1 + rounding) + SMALLEST

    if delta_upper(0.0) <= delta:
        return 0.0
    epsilon_upper = float(np.max(gaussian.epsilon(delta, sensitivity=mu, sigma=1.0)))
    if delta_upper(epsilon_upper) < delta:
        epsilon_upper = optimize.brentq(
            lambda epsilon: math.log(delta_upper(epsilon) / delta), 0.0, epsilon_upper, xtol=1e-13 * epsilon_upper
        )
    step = 1e-15 * epsilon_upper
    while not delta_upper(epsilon_upper) <= delta:
        epsilon_upper, step = epsilon_upper + step, 2 * step
    return epsilon_upper


def _example() -> InferenceSystem:
    """Example with sixty devices whose neighbours keep their noise."""
    return InferenceSystem(
        devices=60,
        participation=1.0,
        noise_variance=1.0,
        weight=0.25,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=1.0,
        dimension=8,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency="silent",
    )
