"""The Poisson-binomial law: the number of K devices that take part, device k with probability p_k.

Every probability that is a normal double, however small, has a relative error of about K * 2.2e-16, because the
computation adds only positive products (direct convolution of blocks without their zeros). Where the variance is at
least 15 000, Fourier inversion of tilted laws (:mod:`airtight.analytics.distributions.saddlepoints`) is used; its
relative error is at most 2e-11 for every K.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, IntArray, ParameterError, real
from airtight.analytics.distributions import saddlepoints
from airtight.analytics.rounding import UNIT

_WIDTH = 64  # trials per block; the laws of all blocks are computed together


class Block:
    """Consecutive probabilities ``weights`` of the integers from ``start`` on; all other probabilities are zero."""

    __slots__ = ("start", "weights")

    def __init__(self, start: int, weights: FloatArray) -> None:
        inside = np.flatnonzero(weights)
        first, last = (inside[0], inside[-1]) if inside.size else (0, 0)
        self.start = start + int(first)
        self.weights = weights[first : last + 1]

    def __add__(self, other: Block) -> Block:
        """The law of the sum of two independent counts."""
        with np.errstate(under="ignore"):
            return Block(self.start + other.start, np.convolve(self.weights, other.weights))

    def dense(self, length: int) -> FloatArray:
        """The probabilities of 0, ..., length - 1."""
        out = np.zeros(length)
        out[self.start : self.start + self.weights.size] = self.weights
        return out


def binomial(trials: int, probability: float, *, negligible: float = 0.0) -> Block:
    """The binomial law, by ratios of neighbouring probabilities from the mode outward; relative error about
    sqrt(trials) * 2e-15.

    Parameters
    ----------
    trials : int
    probability : float
    negligible : float
        Mass that may be left out at either end; the remaining probabilities are normalised.
    """
    if trials == 0 or probability == 0.0:
        return Block(0, np.ones(1))
    if probability == 1.0:
        return Block(trials, np.ones(1))
    mode = min(int((trials + 1) * probability), trials)
    first, last = 0, trials
    if negligible > 0:
        level = -np.log(negligible)  # Bernstein's inequality about the mean, which differs from the mode by at most 1
        reach = int(level / 3 + np.sqrt(level * level / 9 + 2 * level * trials * probability * (1 - probability))) + 2
        first, last = max(mode - reach, 0), min(mode + reach, trials)
    upward, below = np.arange(mode, last, dtype=float), np.arange(first, mode, dtype=float)[::-1]
    with np.errstate(under="ignore", over="ignore", divide="ignore"):
        odds = probability / (1 - probability)
        up = np.cumprod((trials - upward) / (upward + 1) * odds)
        down = np.cumprod((below + 1) / (trials - below) / odds)[::-1]
    weights = np.concatenate([down, [1.0], up])
    return Block(first, weights / np.sum(weights))


def total(blocks: list[Block]) -> Block:
    """The law of the sum of independent counts; the counts are added pairwise."""
    if not blocks:
        return Block(0, np.ones(1))
    while len(blocks) > 1:
        paired = [a + b for a, b in zip(blocks[::2], blocks[1::2], strict=False)]
        blocks = paired + blocks[2 * len(paired) :]
    return blocks[0]


def relative_error(trials: int, classes: int) -> float:
    """Upper bound of the relative error of any probability from `total` or `leave_one_out`, for these numbers of trials
    and classes.

    A binomial law has six roundings per step from the mode, and as many again for the norm. A sum of n positive
    products errs by at most n + 1 half units, and one level of a tree sums no more products than it has entries.
    """
    entries = trials + 2 * classes
    return float(UNIT * entries * (9 + np.ceil(np.log2(max(classes, 1)))))


def leave_one_out(probability: FloatArray, multiplicity: IntArray) -> Iterator[tuple[int, Block]]:
    """For each class of equal devices, the law of the count of all other devices when one device of the class is left
    out.

    A product tree is walked downwards; each node carries the law of everything outside it. This needs only sums of
    positive products, O(C^2 log C) multiplications for C classes, and O(log C) laws in memory at a time.
    """

    def walk(classes: IntArray, outside: Block) -> Iterator[tuple[int, Block]]:
        if classes.size == 1:
            c = int(classes[0])
            yield c, outside + binomial(int(multiplicity[c]) - 1, float(probability[c]))
            return
        for inner, outer in (
            (classes[: classes.size // 2], classes[classes.size // 2 :]),
            (classes[classes.size // 2 :], classes[: classes.size // 2]),
        ):
            yield from walk(inner, outside + group(outer))

    def group(classes: IntArray) -> Block:
        return total([binomial(int(multiplicity[c]), float(probability[c])) for c in classes])

    yield from walk(np.arange(probability.size), Block(0, np.ones(1)))


def pmf(p: ArrayLike) -> FloatArray:
    r"""Probabilities of 0, ..., K participants.

    .. math:: \Pr\Bigl(\sum_k \tau_k = n\Bigr), \qquad \tau_k \sim \mathrm{Bern}(p_k) \text{ independent.}

    Parameters
    ----------
    p : array_like, shape (..., K)
        Probabilities; leading axes are independent problems.

    Returns
    -------
    ndarray, shape (..., K + 1)
        Every entry has a relative error of about K * 2.2e-16, or of at most 2e-11 where the variance is 15 000 or more.
        Entries below the least normal double have this double as an absolute error instead.

    Raises
    ------
    ParameterError
        If `p` has no axis, or an entry is not in [0, 1].

    Examples
    --------
    >>> pmf([0.5, 0.5])
    array([0.25, 0.5 , 0.25])
    >>> float(pmf([0.9] * 12)[0])
    9.99999...e-13
    """
    array = real("p", p, "[0, 1]")
    if array.ndim == 0:
        raise ParameterError("p", array.item(), "an array of at least one axis")
    rows = array.reshape(int(np.prod(array.shape[:-1])), array.shape[-1])
    return np.stack([_pmf(row) for row in rows]).reshape(*array.shape[:-1], array.shape[-1] + 1)


def _pmf(p: FloatArray) -> FloatArray:
    if p.size >= 4 * saddlepoints.LEAST_VARIANCE and np.sum(p * (1 - p)) >= saddlepoints.LEAST_VARIANCE:
        return saddlepoints.law(p)
    return _by_products(p)


def _by_products(p: FloatArray) -> FloatArray:
    distinct, multiplicity = np.unique(p, return_counts=True)
    single = multiplicity == 1
    blocks = [Block(0, row) for row in _products(distinct[single])]
    blocks += [binomial(int(m), float(q)) for q, m in zip(distinct[~single], multiplicity[~single], strict=True)]
    return total(blocks).dense(p.size + 1)


def _products(p: FloatArray) -> FloatArray:
    """Laws of the counts of 64 trials each, one per row; the last row is filled up with trials that never succeed."""
    count = -(-p.size // _WIDTH)
    trials = np.concatenate([p, np.zeros(count * _WIDTH - p.size)]).reshape(count, _WIDTH)
    rows = np.zeros((_WIDTH + 1, count))
    rows[0] = 1.0
    with np.errstate(under="ignore"):
        for i, q in enumerate(trials.T):
            rows[1 : i + 2] = rows[1 : i + 2] * (1 - q) + rows[: i + 1] * q
            rows[0] *= 1 - q
    return np.ascontiguousarray(rows.T)


def cdf(p: ArrayLike) -> FloatArray:
    """Probabilities of at most 0, ..., K participants.

    Examples
    --------
    >>> cdf([0.5, 0.5])
    array([0.25, 0.75, 1.  ])
    """
    return np.asarray(np.minimum(np.cumsum(pmf(p), axis=-1), 1.0))


def sf(p: ArrayLike) -> FloatArray:
    """Probabilities of more than 0, ..., K participants, with the relative accuracy of `pmf` in the upper tail.

    Examples
    --------
    >>> sf([0.5, 0.5])
    array([0.75, 0.25, 0.  ])
    """
    upper = np.cumsum(pmf(p)[..., ::-1], axis=-1)[..., ::-1]
    return np.concatenate([np.minimum(upper[..., 1:], 1.0), np.zeros_like(upper[..., :1])], axis=-1)


def quantile(p: ArrayLike, level: ArrayLike) -> IntArray:
    """Least n with Pr(at most n participants) >= level.

    Parameters
    ----------
    p : array_like, shape (K,)
    level : array_like
        In [0, 1].

    Examples
    --------
    >>> int(quantile([0.9] * 12, 1e-5))
    5
    """
    levels = real("level", level, "[0, 1]")
    law = cdf(p)
    if law.ndim != 1:
        raise ParameterError("p", f"array of shape {law.shape}", "one axis of probabilities")
    return np.asarray(np.minimum(np.searchsorted(law, levels), law.size - 1))[()]
