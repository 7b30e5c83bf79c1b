r"""Coarse graining: merges the outcomes of a composition of pairs into few bins, for lower bounds of the divergence.

A function of the outcome has at most the divergence of the outcome itself (post-processing), in either order and in
every composition. Here the function of one outcome is the number of the bin in which the loss lies; the function of
many outcomes is the sum of these numbers, clipped to a window. The law of a sum of independent numbers is a
convolution. Its sums have positive terms, so that small probabilities, too, are relatively accurate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.rounding import UNIT

_FINE = 40  # bins in one standard deviation of the tilted loss
_SIDE = 9.0  # standard deviations that a window keeps on either side of the mean, of the tilted and of the plain loss
_BINS = 2048  # greatest number of bins for the losses of one outcome
_LEAST = 1e-290  # probabilities up to this one are left out: close to underflow they have lost digits


@dataclass(frozen=True)
class Merged:
    """Probabilities of the same outcomes under P and Q; mass that is missing to 1 is that of outcomes left out.

    Attributes
    ----------
    p, q : ndarray
        Probabilities of the outcomes that are possible under both laws.
    only : tuple of float
        Mass under P of outcomes that are impossible under Q, and mass under Q of outcomes that are impossible under P.
    doubt : float
        Bound on the relative error of all these probabilities.
    """

    p: FloatArray
    q: FloatArray
    only: tuple[float, float] = (0.0, 0.0)
    doubt: float = 0.0

    @classmethod
    def of(cls, p: FloatArray, q: FloatArray, doubt: float) -> Merged:
        """From two laws on the same outcomes; probability zero means that an outcome is impossible."""
        positive = (p > _LEAST) & (q > _LEAST)
        return cls(p[positive], q[positive], (float(np.sum(p[q == 0])), float(np.sum(q[p == 0]))), doubt)

    def cumulants(self, tilts: FloatArray) -> FloatArray:
        """Logarithm of E_P[exp(tilt L); L finite] at each tilt; minus infinity where no loss is finite."""
        if not self.p.size:
            return np.full(tilts.shape, -np.inf)
        exponent = np.log(self.p) + np.multiply.outer(tilts, np.log(self.p) - np.log(self.q))
        top = np.max(exponent, axis=1)
        return np.asarray(top + np.log(np.sum(np.exp(exponent - top[:, None]), axis=1)))

    def power(self, count: int, tilt: float) -> Merged:
        """The pair of `count` independent outcomes, with bins that are fine where the tilted total loss lies.

        Examples
        --------
        >>> coin = Merged.of(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.0)
        >>> coin.power(2, 1.0).p.tolist()
        [0.0625, 0.375, 0.5625]
        """
        if count == 1:
            return self
        base, product, widest, remaining = _Binned.of(self, tilt), None, 0, count
        while product is None or remaining:  # binary powering
            if remaining & 1:
                product = base if product is None else product.added(base, tilt)
            remaining >>= 1
            if remaining:
                base = base.added(base, tilt)
            widest = max(widest, base.p.size)
        only = [-np.expm1(count * np.log1p(-min(mass, 1 - UNIT))) for mass in self.only]
        return product.merged((float(only[0]), float(only[1])), count * (self.doubt + 8 * (widest + 8) * UNIT))


def mixture(parts: Iterable[tuple[float, Merged]], tilt: float) -> Merged:
    """A mixture of pairs: one pair is drawn with its probability, and the observer learns which one.

    Outcomes whose losses lie in one bin are merged, also outcomes of different pairs.
    """
    weighted_pairs = list(parts)
    p, q = (
        np.concatenate([probability * law for probability, law in laws])
        for laws in (
            [(probability, pair.p) for probability, pair in weighted_pairs],
            [(probability, pair.q) for probability, pair in weighted_pairs],
        )
    )
    positive = (p > _LEAST) & (q > _LEAST)
    only = [sum(probability * pair.only[i] for probability, pair in weighted_pairs) for i in (0, 1)]
    doubt = max(pair.doubt for _, pair in weighted_pairs) + 2 * p.size * UNIT
    return _Binned.of(Merged(p[positive], q[positive]), tilt).merged((only[0], only[1]), doubt)


@dataclass(frozen=True)
class _Binned:
    """Probabilities of bin numbers under P and Q; each bin covers a `step` of the loss, numbers rise with the loss.

    One bin of probability 0 stands for laws without an outcome that is kept.
    """

    p: FloatArray
    q: FloatArray
    step: float
    deviation: float  # standard deviation of the tilted loss

    @classmethod
    def of(cls, pair: Merged, tilt: float) -> _Binned:
        if not pair.p.size:
            return cls(np.zeros(1), np.zeros(1), UNIT, 0.0)
        loss = np.log(pair.p) - np.log(pair.q)
        low, high = float(np.min(loss)), float(np.max(loss))
        deviation = _tilted(pair.p, pair.q, loss, tilt)[1]
        step = max(deviation / _FINE, (high - low) / _BINS, UNIT)
        number = ((loss - low) / step).astype(int)
        p, q = (np.bincount(number, law).astype(float) for law in (pair.p, pair.q))
        return cls(p, q, step, deviation)._window(tilt)

    def merged(self, only: tuple[float, float], doubt: float) -> Merged:
        positive = (self.p > _LEAST) & (self.q > _LEAST)
        return Merged(self.p[positive], self.q[positive], only, doubt)

    def added(self, other: _Binned, tilt: float) -> _Binned:
        """Laws of the sum of two independent bin numbers; the finer bins are first made as coarse as the others."""
        a, b = (self, other) if self.step >= other.step else (other, self)
        # the steps need to agree only roughly: every function of the outcome is a valid post-processing
        b = b._coarser(round(np.log2(a.step / b.step)))
        deviation = float(np.hypot(a.deviation, b.deviation))
        total = _Binned(np.convolve(a.p, b.p), np.convolve(a.q, b.q), a.step, deviation)
        return total._coarser(int(np.log2(max(deviation / (_FINE * a.step), 1.0))))._window(tilt)

    def _coarser(self, halvings: int) -> _Binned:
        """The laws with every 2**halvings neighbouring bins merged."""
        if not halvings:
            return self
        starts = np.arange(0, self.p.size, 2**halvings)
        p, q = np.add.reduceat(self.p, starts), np.add.reduceat(self.q, starts)
        return _Binned(p, q, self.step * 2**halvings, self.deviation)

    def _window(self, tilt: float) -> _Binned:
        """The laws with every number outside a window moved to the nearer end of the window.

        The window covers `_SIDE` standard deviations about the mean of the plain and of the tilted law, and no number
        beyond the first or the last one whose probabilities exceed `_LEAST`.
        """
        number = np.arange(self.p.size)
        positive = np.flatnonzero((self.p > _LEAST) & (self.q > _LEAST))
        if not positive.size:
            return _Binned(np.zeros(1), np.zeros(1), self.step, self.deviation)
        bin_numbers = positive.astype(float)
        means_and_spreads = [_tilted(self.p[positive], self.q[positive], bin_numbers, t) for t in (0.0, tilt)]
        low = max(min(mean - _SIDE * spread for mean, spread in means_and_spreads) - 1, bin_numbers[0])
        high = min(max(mean + _SIDE * spread for mean, spread in means_and_spreads) + 1, bin_numbers[-1])
        first, last = int(np.floor(low)), int(np.ceil(high))
        inside = np.clip(number, first, last) - first
        p, q = (np.bincount(inside, law).astype(float) for law in (self.p, self.q))
        return _Binned(p, q, self.step, self.deviation)


def _tilted(p: FloatArray, q: FloatArray, value: FloatArray, tilt: float) -> tuple[float, float]:
    """Mean and standard deviation of values under the law proportional to P exp(tilt L)."""
    exponent = np.log(p) + tilt * (np.log(p) - np.log(q))
    weight = np.exp(exponent - np.max(exponent))
    mean = float(weight @ value / np.sum(weight))
    return mean, float(np.sqrt(weight @ (value - mean) ** 2 / np.sum(weight)))
