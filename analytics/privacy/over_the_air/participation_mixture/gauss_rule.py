r"""Gauss rules for a discrete law of the others' noise v: few values of v in place of thousands.

The range of log v is cut into pieces of equal width. On each, a rule of 16 nodes with positive weights has the same mean
of every polynomial in log v of degree 31 at most as the law. It is made by Lanczos's method on the values of the piece.

Notes
-----
On a piece of half width c, Gauss's remainder of a function f of log v is
:math:`f^{(2n)}/(2n)!` times the mean of :math:`\pi_n^2`, n = 16, where :math:`\pi_n` is the orthogonal polynomial with leading
coefficient 1, whose mean square is at most that of :math:`2^{1-n}c^nT_n`. For :math:`f = e^{-Lx}` this is at most
:math:`4f\,(Lc/2)^{2n}/(2n)!` times the mass of the piece, where the logarithm of f falls by :math:`2Lc`: below 1e-15 for a fall
of 16. The logarithm of a divergence is curved: that its remainder is that of a straight one of the same fall is an
estimate. Where this is too much, the caller takes narrower pieces.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, special

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.rounding import NORMAL

_NODES = 16  # of a rule
_ENDED = 1e-13  # norm below which Lanczos's vectors have ended


def pieces_of(v: FloatArray, weights: FloatArray, pieces: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """Values and weights of the rules on so many pieces, and the first place of each piece.

    Parameters
    ----------
    v, weights : ndarray, shape (A,)
        Increasing values with positive weights. The value 0 is a piece of its own.
    pieces : int

    Examples
    --------
    >>> v, weights = np.linspace(1, 2, 1001), np.full(1001, 1 / 1001)
    >>> nodes, shares, _ = pieces_of(v, weights, 2)
    >>> nodes.size, bool(abs(np.exp(-nodes) @ shares - np.exp(-v) @ weights) < 1e-14)
    (32, True)
    """
    log_v = np.log(np.maximum(v, 1e-320))
    positive = log_v[v > 0]
    edges = np.linspace(positive[0], positive[-1], pieces + 1)[:-1] if positive.size else np.zeros(0)
    starts = np.unique(np.append(0, np.searchsorted(log_v, edges)))
    rules = [
        _rule(v[first:stop], weights[first:stop])
        for first, stop in zip(starts, np.append(starts[1:], v.size), strict=True)
    ]
    stops = np.cumsum([nodes.size for nodes, _ in rules])
    nodes, shares = (np.concatenate(each) for each in zip(*rules, strict=True))
    return nodes, shares, np.append(0, stops[:-1])


def log_remainder(fall: FloatArray) -> FloatArray:
    """Log of the error of a rule, in units of the greatest value, where the logarithm falls by so much on the piece."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(4) + 2 * _NODES * np.log(fall / 4) - special.gammaln(2 * _NODES + 1))


def _rule(v: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Increasing nodes and their weights; the law itself where it has no more values."""
    if v.size <= _NODES:
        return v, weights
    log_v, mass = np.log(v), np.sum(weights)
    middle, half = (log_v[0] + log_v[-1]) / 2, (log_v[-1] - log_v[0]) / 2
    diagonal, beside = _lanczos((log_v - middle) / half, np.sqrt(weights / mass))
    places, vectors = linalg.eigh_tridiagonal(diagonal, beside)
    return np.clip(np.exp(middle + half * places), v[0], v[-1]), np.maximum(vectors[0] ** 2 * mass, NORMAL)


def _lanczos(x: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Diagonal and side diagonal of the Jacobi matrix of the law with the square roots `start` of its probabilities."""
    basis, diagonal, beside = np.zeros((_NODES, x.size)), np.zeros(_NODES), np.zeros(_NODES)
    vector = start / np.linalg.norm(start)
    for step in range(_NODES):
        basis[step] = vector
        image = x * vector
        diagonal[step] = vector @ image
        # orthogonal to all vectors so far, twice against rounding
        for _ in range(2):
            image = image - basis[: step + 1].T @ (basis[: step + 1] @ image)
        beside[step] = np.linalg.norm(image)
        if beside[step] < _ENDED:
            break
        vector = image / beside[step]
    return diagonal[: step + 1], beside[:step]
