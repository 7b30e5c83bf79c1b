r"""Moments of the codes that determine the MSE of equal devices, tabulated over the clipping threshold.

Let n_k be the length of the code of device k, a_k its decoded value, and :math:`\theta_k = \min(1, C/n_k)`. For equal
devices with the best gain

.. math:: \mathrm{MSE} = \|f^*\|^2 - \frac{\langle A, f^*\rangle^2}{\|A\|^2 + (1/p - 1)B + V\|D\|_F^2/w^2},\qquad
          A = \sum_k\theta_ka_k,\ B = \sum_k\theta_k^2\|a_k\|^2,\ V = K\sigma^2/p + \sigma_m^2/(\gamma p)^2

(with idle noise, :math:`V = (K\sigma^2 + \sigma_m^2/\gamma^2)/p^2`). For several tasks with one common gain the four
moments are means over the tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.inference.features import Features

_GRID = 2049  # thresholds; boxes bound all thresholds between two of them


@dataclass(frozen=True)
class Moments:
    """The moments at thresholds C on a grid; one that is not monotone in C is stored as two increasing parts.

    Attributes
    ----------
    clip : ndarray, shape (G,)
        Thresholds from the shortest to the longest code. Below them the MSE depends on w C only; above them nothing is
        clipped.
    target_power : float
        Mean of norm(f*)^2.
    decoder : float
        norm(D)_F^2.
    along : tuple of ndarray, shape (G,)
        <A, f*>: the sums of its positive and of its negative terms, both increasing in C; the moment is their
        difference.
    square : tuple of ndarray, shape (G,)
        norm(A)^2, in the same way.
    apart, energy : ndarray, shape (G,)
        B, and the mean of the sum of theta_k^2 n_k^2.
    """

    clip: FloatArray
    target_power: float
    decoder: float
    along: tuple[FloatArray, FloatArray]
    square: tuple[FloatArray, FloatArray]
    apart: FloatArray
    energy: FloatArray

    @classmethod
    def of(cls, tasks: tuple[Features, ...], clip: float | None) -> Moments:
        """The moments at one threshold, or on a grid of all useful thresholds when the threshold is free (None)."""
        decoder = tasks[0].D
        codes = np.stack([task.encoded for task in tasks])  # (N, K, r)
        targets = np.stack([task.target for task in tasks])
        length = np.linalg.norm(codes, axis=-1)
        positive = length[length > 0]
        if clip is not None or not positive.size:
            grid = np.array([1.0 if clip is None else clip])
        else:
            grid = np.geomspace(positive.min(), positive.max() * (1 + 1e-12), _GRID)
            grid = grid[:1] if grid[-1] <= grid[0] * (1 + 1e-9) else grid
        decoded = codes @ decoder.T
        inner = np.einsum("nkd,nd->nk", decoded, targets)
        gram = np.einsum("nkd,njd->nkj", decoded, decoded)
        positive_gram, negative_gram = np.maximum(gram, 0.0), np.maximum(-gram, 0.0)
        norms = np.einsum("nkk->nk", gram)
        rows: list[tuple[float, ...]] = []
        with np.errstate(divide="ignore"):
            limits = np.where(length > 0, 1 / length, np.inf)
        for C in grid:
            theta = np.minimum(1.0, C * limits)
            rows.append(
                (
                    float(np.mean(np.sum(theta * np.maximum(inner, 0.0), axis=1))),
                    float(np.mean(np.sum(theta * np.maximum(-inner, 0.0), axis=1))),
                    float(np.mean(np.einsum("nk,nkj,nj->n", theta, positive_gram, theta))),
                    float(np.mean(np.einsum("nk,nkj,nj->n", theta, negative_gram, theta))),
                    float(np.mean(np.sum(theta**2 * norms, axis=1))),
                    float(np.mean(np.sum((theta * length) ** 2, axis=1))),
                )
            )
        table = np.array(rows).T
        target_power = float(np.mean(np.sum(targets**2, axis=1)))
        along, square = (table[0], table[1]), (table[2], table[3])
        return cls(grid, target_power, float(np.sum(decoder**2)), along, square, table[4], table[5])

    def room(self, i: IntArray, j: IntArray, p: FloatArray, most: float | FloatArray) -> FloatArray:
        """An upper bound of V norm(D)^2 / w^2 for an MSE of at most `most`, at thresholds from the i-th to the j-th."""
        along = np.maximum(self.along[0][j] - self.along[1][i], 0.0)
        square = np.maximum(self.square[0][i] - self.square[1][j], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            explained = np.maximum(self.target_power - most, 1e-300)  # at least, of norm(f*)^2
            greatest_denominator = np.where(most < self.target_power, along**2 / explained, np.inf)
            return np.asarray(greatest_denominator - square - np.maximum(1 / p - 1, 0.0) * self.apart[i])

    def error(self, i: IntArray, j: IntArray, p: FloatArray, noise: FloatArray) -> FloatArray:
        """A lower bound of the MSE for V norm(D)^2 / w^2 of `noise`, at thresholds from the i-th to the j-th."""
        along = np.maximum(self.along[0][j] - self.along[1][i], 0.0)
        square = np.maximum(self.square[0][i] - self.square[1][j], 0.0)
        decoded_power = square + np.maximum(1 / p - 1, 0.0) * self.apart[i] + noise
        with np.errstate(divide="ignore", invalid="ignore"):
            explained = np.where(along > 0, along**2 / decoded_power, 0.0)
        return np.asarray(np.maximum(self.target_power - explained, 0.0))
