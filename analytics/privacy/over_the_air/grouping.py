"""Laws of the others' noise on fewer columns; one law a row, its values never falling."""

from __future__ import annotations

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray


def grouped(variance: FloatArray, weights: FloatArray, columns: int) -> tuple[IntArray, FloatArray]:
    """Where groups of neighbouring columns start, even in number and in log v, and their weights.

    Examples
    --------
    >>> first, weights = grouped(np.array([[1.0, 2.0, 4.0, 8.0]]), np.full((1, 4), 0.25), 4)
    >>> first, weights
    (array([0, 3]), array([[0.75, 0.25]]))
    """
    size = variance.shape[1]
    depth = np.mean(np.log(np.maximum(variance, variance[:, -1:] * 1e-30)), axis=0)
    edges = np.searchsorted(depth, np.linspace(depth[0], depth[-1], columns // 2))
    even = np.linspace(0, size - 1, columns // 2).astype(int)
    first = np.unique(np.concatenate([[0], edges[edges < size], even]))
    return first, _total(weights, first)


def paired(variance: FloatArray, weights: FloatArray, columns: int) -> tuple[FloatArray, FloatArray]:
    """Values and weights: two a group, with its mean and variance.

    Examples
    --------
    >>> values, weights = paired(np.array([[1.0, 2.0, 4.0, 8.0]]), np.full((1, 4), 0.25), 4)
    >>> float(np.sum(values * weights)), float(np.sum(weights))
    (3.75, 1.0)
    """
    first, together = grouped(variance, weights, columns // 2)
    mass = np.maximum(together, 1e-300)
    mean = np.maximum(_total(weights * variance, first) / mass, variance[:, first])
    apart = variance - np.repeat(mean, np.diff(first, append=variance.shape[1]), axis=1)
    deviation = np.sqrt(_total(weights * apart**2, first) / mass)
    deviation = np.minimum(deviation, mean - variance[:, first])
    pairs = np.stack([mean - deviation, mean + deviation], axis=2).reshape(mean.shape[0], -1)
    return pairs, np.repeat(together / 2, 2, axis=1)


def _total(terms: FloatArray, first: IntArray) -> FloatArray:
    with np.errstate(under="ignore"):
        return np.asarray(np.add.reduceat(terms, first, axis=1))
