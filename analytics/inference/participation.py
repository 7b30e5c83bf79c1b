r"""Who takes part when features decide: Scheme 2.1 (a threshold) and Scheme 2.2 (the lowest noisy scores).

Published and proven bounds on the participation probabilities; the exact ones of Scheme 2.2 are in
:mod:`airtight.analytics.distributions.selection`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError, broadcast, real
from airtight.analytics.rounding import UNIT

_SAFE = 1e-12


def threshold(score: ArrayLike, noise: ArrayLike, eta: ArrayLike) -> FloatArray:
    r"""Scheme 2.1, FDP Eq. (17): :math:`p_k = \Phi((\eta - u_k)/\sigma_k^{(0)})`.

    Parameters
    ----------
    score, noise, eta : array_like
        u_k finite, standard deviation >= 0, threshold finite (infinite: always, or never).

    Examples
    --------
    >>> float(threshold(0.7, np.sqrt(0.1), 0.5))
    0.263544...
    """
    u, sigma, limit = broadcast(
        score=real("score", score), noise=real("noise", noise, "[0, inf)"), eta=real("eta", eta, "[-inf, inf]")
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t = np.where(sigma > 0, (limit - u) / sigma, np.where(u <= limit, np.inf, -np.inf))
    return np.asarray(special.ndtr(t))[()]


def threshold_at(score: ArrayLike, noise: ArrayLike, probability: ArrayLike) -> FloatArray:
    r"""The threshold of Scheme 2.1 at which a device takes part with this probability: :math:`u + \sigma\Phi^{-1}(p)`.

    Parameters
    ----------
    score, noise : array_like
        As of :func:`threshold`.
    probability : array_like
        In (0, 1).

    Examples
    --------
    >>> float(threshold_at(0.2, 0.5, 0.5))
    0.2
    """
    u, sigma, p = broadcast(
        score=real("score", score),
        noise=real("noise", noise, "[0, inf)"),
        probability=real("probability", probability, "(0, 1)"),
    )
    return np.asarray(u + sigma * special.ndtri(p))[()]


def _scores(score: ArrayLike, noise: ArrayLike, selected: int) -> tuple[FloatArray, FloatArray, int]:
    u = real("score", score)
    if u.ndim != 1 or not u.size:
        raise ParameterError("score", f"array of shape {u.shape}", "one axis of at least one score")
    sigma = checks.vector("noise", noise, u.size, "(0, inf)")
    return u, sigma, checks.count("selected", selected, f"[1, {u.size}]")


def true_set(score: ArrayLike, selected: int) -> NDArray[np.bool_]:
    """Which devices have the lowest `selected` scores; of equal ones those that come first.

    Examples
    --------
    >>> true_set([0.3, 0.1, 0.2], 2)
    array([False,  True,  True])
    """
    u, _, m = _scores(score, 1.0, selected)
    chosen = np.zeros(u.size, dtype=bool)
    chosen[np.argsort(u, kind="stable")[:m]] = True
    return chosen


def least_gap(score: ArrayLike) -> float:
    """Psi, the least difference of neighbouring sorted scores; infinite for one device.

    Examples
    --------
    >>> least_gap([0.5, 0.125, 0.25])
    0.125
    """
    return float(np.min(np.diff(np.sort(real("score", score))), initial=np.inf))


def published_sorting(score: ArrayLike, noise: ArrayLike, *, by_rank: bool = True) -> float:
    r"""FDP Lemma 6, Eq. (61): Pr(true sorting) is at least :math:`1 - \sum_k\Phi(-\Psi/\sqrt{\sigma_k^2+\sigma_{k+1}^2})`, or 0.

    True when k runs in the order of the scores (`by_rank`, the default); as an index of devices it is false, ledger FDP-L6-raw.

    Examples
    --------
    >>> published_sorting([0.0, 1.0], 0.1)
    0.99999999999923...
    """
    u, sigma, _ = _scores(score, noise, 1)
    ordered = sigma[np.argsort(u, kind="stable")] if by_rank else sigma
    terms = special.ndtr(-least_gap(u) / np.hypot(ordered[1:], ordered[:-1])) if u.size > 1 else np.zeros(1)
    return max(0.0, 1.0 - float(np.sum(terms)))


def published_lower(score: ArrayLike, noise: ArrayLike) -> float:
    r"""FDP Theorem 3, Eq. (20), as printed: one number for every device. **False** outside the true set, ledger FDP-T3-lower.

    .. math:: \max\Bigl\{0,\ 1 - \sum_{k=1}^{K-1}\Phi\Bigl(\frac{-\Psi}{\sqrt{\sigma_k^2+\sigma_{k+1}^2}}\Bigr)\Bigr\}

    k is the index of the device, as printed.

    Examples
    --------
    >>> published_lower([0.0, 1.0], 0.1)  # device 1 is selected with probability 7.7e-13
    0.99999999999923...
    """
    return published_sorting(score, noise, by_rank=False)


def published_upper(score: ArrayLike, noise: ArrayLike, selected: int) -> FloatArray:
    r"""FDP Theorem 3, Eq. (21), as printed. **False**, ledger FDP-T3-upper.

    .. math:: \prod_{k=1}^{K-1}\Phi\Bigl(\frac{\Psi}{\sqrt{\sigma_{(k+1)}^2+\sigma_{(k)}^2}}\Bigr)\mathbb I(k\in\mathcal K)
              + \Phi\Bigl(\frac{u_k - \min_{j\in\mathcal K^c}u_j}{\sqrt{\sigma_k^2+\sigma_j^2}}\Bigr),
              \qquad \sigma_{(1)}\le\dots\le\sigma_{(K)}.

    The j of the last term is undefined; taken as the minimiser. Without complement (all selected) that term is 0.

    Parameters
    ----------
    score, noise : array_like, shape (K,)
        Finite; standard deviation > 0 (scalar: equal).
    selected : int
        In [1, K].

    Returns
    -------
    ndarray, shape (K,)

    Examples
    --------
    >>> published_upper([0.0, 0.001, 10.0], 1.0, 2)  # device 0 is selected almost surely
    array([0.250282..., 0.250282..., 0.5       ])
    """
    u, sigma, m = _scores(score, noise, selected)
    inside = true_set(u, m)
    sorted_sigma = np.sort(sigma)
    order = np.prod(special.ndtr(least_gap(u) / np.hypot(sorted_sigma[1:], sorted_sigma[:-1])))
    second = np.zeros(u.size)
    if m < u.size:
        outside = np.flatnonzero(~inside)
        j = outside[np.argmin(u[outside])]
        second = special.ndtr((u - u[j]) / np.hypot(sigma, sigma[j]))
    return np.asarray(order * inside + second)


def proven_bounds(score: ArrayLike, noise: ArrayLike, selected: int) -> tuple[FloatArray, FloatArray]:
    r"""True lower and upper bounds of the participation probabilities of Scheme 2.2, from pairs of devices alone.

    With :math:`q_j = \Phi((u_k-u_j)/\sqrt{\sigma_k^2+\sigma_j^2})`, the probability that j is below k, sorted increasingly,

    .. math:: 1 - p_k \le \min_{1\le i\le\tilde k}\frac1i\sum_{j\le K-\tilde k+i-1} q_{(j)},\qquad
              p_k \le \min_{1\le i\le K-\tilde k}\frac1i\sum_{j\le\tilde k+i-1}\bigl(1-q\bigr)_{(j)} .

    Parameters
    ----------
    score, noise : array_like, shape (K,)
        Finite; standard deviation > 0 (scalar: equal).
    selected : int
        In [1, K].

    Returns
    -------
    lower, upper : ndarray, shape (K,)
        Rounded outwards by 1e-12.

    Notes
    -----
    If k is not selected, at least k~ of the K - 1 others are below it; of any K - k~ + i - 1 of them at least i, because only
    k~ - i are left out. Markov's inequality for their number gives the first bound, and the upper one is its mirror image.
    i = k~ is the bound of ledger FDP-T3*, i = 1 the union bound over the best competitors. Time O(K^2 log K), memory O(K).

    Examples
    --------
    >>> lower, upper = proven_bounds([0.0, 0.001, 10.0], 1.0, 2)
    >>> lower.round(6), upper.round(6)
    (array([1., 1., 0.]), array([1., 1., 0.]))
    """
    u, sigma, m = _scores(score, noise, selected)
    K = u.size
    lower, upper = np.empty(K), np.empty(K)
    for k in range(K):
        t = (u[k] - np.delete(u, k)) / np.hypot(sigma[k], np.delete(sigma, k))
        lower[k] = 1 - _least_mean(np.sort(special.ndtr(t)), K - m, m)
        upper[k] = _least_mean(np.sort(special.ndtr(-t)), m, K - m)
    safe = max(_SAFE, K * float(UNIT))
    return np.clip(lower - safe, 0.0, 1.0), np.clip(upper + safe, 0.0, 1.0)


def _least_mean(ordered: FloatArray, start: int, most: int) -> float:
    """min over i = 1 ... most of (sum of the first start + i - 1) / i; 1 when there is none, 0 when start is 0."""
    if most == 0:
        return 1.0
    if start == 0:
        return 0.0
    sums = np.cumsum(ordered)[start - 1 : start - 1 + most]
    return float(np.min(sums / np.arange(1, sums.size + 1)))
