r"""Privacy of the feature-aware schemes: of the score that decides on participation, and of the feature that is sent then.

FDP Lemma 2 adds the score's :math:`(\epsilon_k^{(0)},\delta_k^{(0)})` to the *amplified* guarantee of Theorem 1. But whether k
takes part is a function of the released score: once the score is known, participation is known and amplifies nothing (ledger
FDP-L2). What holds is the composition of the score with the feature *given* participation.

Neighbours are features that are changed (``replace``) or zeroed (``silent``); their scores differ by at most `sensitivity`.
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

_PROBABILITY_ROUNDING = 1e-13  # relative, of a normal probability beyond which no score decides


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
        Participation probabilities of the scheme, put into Theorem 1.
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
    r"""Scheme 2.2 with all scores released: a true epsilon at the system's delta.

    .. math:: \delta_k(\epsilon) \le \delta_G\Bigl(\epsilon;\ \sqrt{(\Delta u/\sigma_k^{(0)})^2 + d_k^2/v_k}\Bigr),

    d the sensitivity of what is received, v_k the noise of k, of the receiver and of the k~ - 1 other devices with the least.

    Parameters
    ----------
    system : InferenceSystem
        Adjacency ``silent`` or ``replace``; its participation is not used.
    noise, sensitivity : array_like, shape (K,) or scalar
        Standard deviation > 0 of the score's noise; greatest change of the score, >= 0.
    selected : int
        In [1, K].

    Notes
    -----
    *Hypotheses.* (Ledger FDP-L2*-2.2.) The server sees every noisy score and y; neighbours differ in the data of device k, whose
    score moves by at most :math:`\Delta u` and whose code by at most :math:`d_k`.

    Given every noisy score the set of participants is fixed. If k is in it, the feature's release is a Gaussian mechanism
    with at least that noise; if not, nothing depends on k. The noise is at least that of k and of the :math:`\tilde k - 1`
    others that have least. The score is a Gaussian mechanism of ratio :math:`\Delta u/\sigma_k^{(0)}`. Adaptive composition
    of Gaussian mechanisms (Dong, Roth, Su 2022, Theorem 4) adds the squared ratios.

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
    """Scheme 2.2: all scores and the answer of one query together, as a curve; ``.compose(T)`` for T queries.

    Parameters
    ----------
    system, noise, sensitivity, selected
        As of :func:`proven_lowest`; scores are noised afresh in every query.
    device : int

    Notes
    -----
    One Gaussian release of squared ratio :math:`(\\Delta u/\\sigma_k^{(0)})^2 + d_k^2/v_k`, not the sum of two epsilons. It is
    the worst case over the scores: approached where they leave no doubt that k and the others of least noise are selected.

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
    own = system.received_noise_variance
    if system.idle_noise:
        others = np.sum(own) - own
    else:
        order = np.argsort(own, kind="stable")
        sums = np.concatenate([[0.0], np.cumsum(own[order])])
        among = np.empty(system.devices, dtype=bool)
        among[order] = np.arange(system.devices) < m - 1
        others = np.where(among, sums[m] - own, sums[m - 1])
    mu1 = _ratio(system.sensitivity, np.sqrt(others + own + system.receiver_noise_variance))
    return np.asarray(np.hypot(mu0, mu1))


def proven_threshold(
    system: InferenceSystem, *, noise: ArrayLike, sensitivity: ArrayLike, eta: float, greatest_score: ArrayLike
) -> Guarantee:
    r"""Scheme 2.1 with the score of k released: a true epsilon at the system's delta, whatever the scores are.

    .. math:: \delta_k(\epsilon) \le E_S\,\delta_G\Bigl(\epsilon;\ \sqrt{(\Delta u/\sigma_k^{(0)})^2 + d_k^2/v_S}\Bigr)

    over sets S of the others, each taking part with the least probability that its score allows,
    :math:`\Phi((\eta - u_j^{\max})/\sigma_j^{(0)})`.

    Parameters
    ----------
    system : InferenceSystem
        Adjacency ``silent`` or ``replace``; its participation is not used.
    noise, sensitivity : array_like, shape (K,) or scalar
        Standard deviation > 0 of the score's noise; greatest change of the score, >= 0.
    eta : float
        The threshold.
    greatest_score : array_like, shape (K,) or scalar
        An upper bound of every score, for instance log2 L for entropies of L labels; the sensitivity does not imply one.

    Notes
    -----
    *Hypotheses.* (Ledger FDP-L2*-2.1.) The server sees the noisy score of k and y; device j takes part if its noisy score is
    at most eta, independently of the others; scores are at most :math:`u^{\max}`.

    Given the set S of the others that take part it is as for :func:`proven_lowest`; revealing S only raises the divergence, whose
    mean over S is the right-hand side with the true probabilities. Devices that are less likely to take part can be had
    from more likely ones by turning some away, which takes noise away: the divergence given S falls with the noise, so the
    mean rises when probabilities fall to :math:`\Phi((\eta - u^{\max})/\sigma^{(0)})`.

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
    """Scheme 2.1: the score of k and the answer of one query together, as a curve; ``.compose(T)`` for T queries.

    Parameters
    ----------
    system, noise, sensitivity, eta, greatest_score
        As of :func:`proven_threshold`; scores are noised afresh in every query.
    device : int

    Notes
    -----
    Given who of the others takes part score and answer are one Gaussian release; that is seen in every query. The worst case
    over the scores, approached where k surely takes part and the others have the greatest scores; an upper bound where no
    score makes k so sure.

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
    likely = np.delete(_likely(system, noise, eta, greatest_score), k)
    doubt = (0.0, 0.0) if system.idle_noise else _doubt_of(likely)
    for found, law, mu, least in _threshold_laws(system, noise, sensitivity, eta, greatest_score):
        if found == k:
            joint = Shown(tuple(law.probabilities), tuple(mu), tuple(least), law.error, rounds.unit(system, k), doubt)
            break
    return PrivacyCurve.of(joint)


def _likely(system: InferenceSystem, noise: ArrayLike, eta: float, greatest_score: ArrayLike) -> FloatArray:
    """For each device a lower bound of its participation probability over all permitted scores."""
    greatest = checks.vector("greatest_score", greatest_score, system.devices, "(-inf, inf)")
    likely = np.asarray(participation.threshold(greatest, noise, checks.scalar("eta", eta)))
    return likely * (1 - _PROBABILITY_ROUNDING)


def _doubt_of(likely: FloatArray) -> tuple[float, float]:
    r"""Upper bounds, relative and absolute, of what rounding the others' probabilities p down adds to delta.

    The true ones are at most :math:`p(1+\eta)`. The probability of a set falls at most by the product over who is not in it of
    :math:`1 - \eta p/(1-p)`, and delta by the sum of what each moves, for it lies between 0 and 1.
    """
    moved = 2 * _PROBABILITY_ROUNDING * likely * (1 + 4 * UNIT)
    return float(np.sum(moved / np.maximum(1 - likely, UNIT))), float(np.sum(moved))


def _threshold_laws(
    system: InferenceSystem, noise: ArrayLike, sensitivity: ArrayLike, eta: float, greatest_score: ArrayLike
) -> Iterator[tuple[int, weighted_sum.Law, FloatArray, FloatArray]]:
    """Each device, the law of the others' noise, and the ratio of score and answer at each value, at most and at least."""
    mu0 = _score_ratio(system, noise, sensitivity)
    likely = _likely(system, noise, eta, greatest_score)
    system = system.normalised()
    own = system.received_noise_variance
    p = np.ones(system.devices) if system.idle_noise else likely
    classes, member, multiplicity = np.unique(
        np.column_stack([p, own]), axis=0, return_inverse=True, return_counts=True
    )
    rounding = (system.devices + 8) * UNIT
    for c, law in weighted_sum.leave_one_out(classes[:, 0].copy(), classes[:, 1].copy(), multiplicity):
        for k in np.flatnonzero(member == c):
            d = np.full(law.values.size, system.sensitivity[k])
            low = (np.maximum(law.values - law.slack, 0.0) + own[k] + system.receiver_noise_variance) * (1 - rounding)
            high = law.values + law.slack + law.lost + own[k] + system.receiver_noise_variance
            least = np.hypot(mu0[k], _ratio(d, np.sqrt(high * (1 + rounding)))) * (1 - 16 * UNIT)
            yield int(k), law, np.hypot(mu0[k], _ratio(d, np.sqrt(low))) * (1 + 8 * UNIT), least


def score_epsilon(delta: ArrayLike, *, sensitivity: ArrayLike, noise: ArrayLike) -> FloatArray:
    """Exact epsilon of the released score at delta, for a change of the score by `sensitivity` (adjacency ``replace``).

    Examples
    --------
    >>> float(score_epsilon(1e-5, sensitivity=0.5, noise=0.3))
    8.00369...
    """
    return gaussian.epsilon(delta, sensitivity=sensitivity, sigma=noise)


def _score_ratio(system: InferenceSystem, noise: ArrayLike, sensitivity: ArrayLike) -> FloatArray:
    if system.adjacency is Adjacency.ABSENT:
        raise ParameterError("adjacency", system.adjacency.value, "silent or replace: an absent device has no score")
    change = checks.vector("sensitivity", sensitivity, system.devices, "[0, inf)")
    return _ratio(change, checks.vector("noise", noise, system.devices, "(0, inf)"))


def _ratio(change: FloatArray, deviation: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(change > 0, change / deviation, 0.0)


def _mixture_epsilon(weight: FloatArray, mu: FloatArray, delta: float) -> float:
    """An epsilon close to the least one at which the mean of the Gaussian curves is at most delta."""
    from scipy import optimize

    if not np.all(np.isfinite(mu)):
        return np.inf
    mu = mu * (1 + 8 * UNIT)
    rounding = (weight.size + 16) * UNIT

    def most(epsilon: float) -> float:
        """An upper bound of the mean of the Gaussian curves at epsilon."""
        value, _, error = gaussian.log_curve(np.full(mu.shape, epsilon * (1 - 8 * UNIT)), mu)
        with np.errstate(under="ignore", invalid="ignore"):
            curve = np.exp(np.where(value > -np.inf, np.minimum(value + error, 0.0), -np.inf))
        return float(weight @ curve) * (1 + rounding) + SMALLEST

    if most(0.0) <= delta:
        return 0.0
    high = float(np.max(gaussian.epsilon(delta, sensitivity=mu, sigma=1.0)))
    if most(high) < delta:
        high = optimize.brentq(lambda epsilon: math.log(most(epsilon) / delta), 0.0, high, xtol=1e-13 * high)
    step = 1e-15 * high
    while not most(high) <= delta:
        high, step = high + step, 2 * step
    return high


def _example() -> InferenceSystem:
    """Sixty devices, neighbours that keep their noise."""
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
