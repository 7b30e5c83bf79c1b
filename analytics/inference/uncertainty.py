"""How unsure a device is of its own view: entropies of its class probabilities, their sensitivity, and private scores.

Scores are in bits. The sensitivity of a score is the greatest change that another feature can cause.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError, broadcast, real

_SUM = 1e-9


def shannon(probabilities: ArrayLike) -> FloatArray:
    r"""Shannon entropy in bits, FDP Eq. (15): :math:`-\sum_l p_l\log_2 p_l`.

    Parameters
    ----------
    probabilities : array_like, shape (..., L)
        In [0, 1], each row summing to 1 within 1e-9.

    Examples
    --------
    >>> float(shannon([0.5, 0.25, 0.25]))
    1.5
    """
    return np.asarray(np.sum(special.entr(_laws(probabilities)), axis=-1) / np.log(2))[()]


def min_entropy(probabilities: ArrayLike) -> FloatArray:
    r"""Min-entropy in bits, FDP footnote 2: :math:`-\log_2\max_l p_l`.

    Examples
    --------
    >>> float(min_entropy([0.5, 0.25, 0.25]))
    1.0
    """
    return np.asarray(-np.log2(np.max(_laws(probabilities), axis=-1)))[()] + 0.0


def _laws(probabilities: ArrayLike) -> FloatArray:
    p = real("probabilities", probabilities, "[0, 1]")
    if p.ndim == 0:
        raise ParameterError("probabilities", p.item(), "an array of at least one axis")
    total = np.sum(p, axis=-1)
    if np.any(np.abs(total - 1) > _SUM):
        worst = float(np.ravel(total)[np.argmax(np.abs(np.ravel(total) - 1))])
        raise ParameterError("sum of probabilities", worst, f"1 within {_SUM:g}")
    return p


def published_sensitivity(labels: int) -> float:
    """2 log2 L, FDP Sec. V-A: true, and twice too large, for the entropy ranges over [0, log2 L].

    Examples
    --------
    >>> published_sensitivity(40)
    10.6438...
    """
    return 2 * sensitivity(labels)


def sensitivity(labels: int) -> float:
    """log2 L: the exact sensitivity of the Shannon and of the min-entropy of L labels (one-hot against uniform).

    Examples
    --------
    >>> sensitivity(40)
    5.32192...
    """
    return float(np.log2(checks.count("labels", labels)))


def published_min_entropy_sensitivity(greatest: ArrayLike) -> FloatArray:
    r"""FDP footnote 2: :math:`-\log_2 p_{\max}`, with p_max the greatest probability of *one* input. **False**, ledger FDP-fn2.

    Examples
    --------
    >>> float(published_min_entropy_sensitivity(1.0))  # yet another input may have entropy log2 L
    0.0
    """
    return np.asarray(-np.log2(real("greatest", greatest, "(0, 1]")))[()] + 0.0


def capped_min_entropy_sensitivity(least: ArrayLike, greatest: ArrayLike) -> FloatArray:
    """log2(greatest / least): the sensitivity of the min-entropy when p_max is kept in [least, greatest].

    Examples
    --------
    >>> float(capped_min_entropy_sensitivity(0.25, 0.5))
    1.0
    """
    low, high = broadcast(least=real("least", least, "(0, 1]"), greatest=real("greatest", greatest, "(0, 1]"))
    if np.any(low > high):
        raise ParameterError("least", float(np.max(low)), "at most greatest")
    return np.asarray(np.log2(high / low))[()]


def scaled(score: ArrayLike, *, bound: ArrayLike, labels: int) -> FloatArray:
    r"""The paper's "clipping", FDP Sec. V-A: :math:`\min(1, \Gamma/(2\log_2 L))\,u`.

    It scales every score; the sensitivity is then at most Gamma/2.

    Examples
    --------
    >>> float(scaled(5.0, bound=1.0, labels=32))
    0.5
    """
    u, gamma = broadcast(score=real("score", score, "[0, inf)"), bound=real("bound", bound, "[0, inf)"))
    largest = published_sensitivity(labels)
    return np.asarray(u * (np.minimum(1.0, gamma / largest) if largest > 0 else 1.0))[()]


def private(score: ArrayLike, noise: ArrayLike, rng: np.random.Generator) -> FloatArray:
    r"""The private score, FDP Eq. (16): :math:`\tilde u_k = u_k + v_k`, with v_k normal of standard deviation `noise` >= 0."""
    u, sigma = broadcast(score=real("score", score), noise=real("noise", noise, "[0, inf)"))
    return np.asarray(u + sigma * rng.standard_normal(u.shape))[()]
