r"""Coarse graining: pairs of laws on few outcomes that tell no more than many independent outcomes do; for lower bounds.

Whatever is done with an outcome, the divergence of what comes out is no greater (post-processing), for every order and
composition. Told is here in which bin each loss lies, and of many only the sum of their bins' numbers, as far as it lies in a
window. Laws of sums of independent numbers are convolutions: sums of positive products, relatively accurate however small.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.rounding import UNIT

_FINE = 40  # bins in a deviation of the loss
_SIDE = 9.0  # deviations kept on either side of where the losses lie, tilted and not
_BINS = 2048  # of one outcome's losses, at most
_LEAST = 1e-290  # probability that is told from nothing


@dataclass(frozen=True)
class Merged:
    """Probabilities of the same outcomes under P and Q, and of what only one of them can do; relative error of them all.

    What is missing to one was never looked at.
    """

    p: FloatArray
    q: FloatArray
    only: tuple[float, float] = (0.0, 0.0)
    doubt: float = 0.0

    @classmethod
    def of(cls, p: FloatArray, q: FloatArray, doubt: float) -> Merged:
        """Of two laws, in which a zero says that an outcome is impossible."""
        both = (p > _LEAST) & (q > _LEAST)
        return cls(p[both], q[both], (float(np.sum(p[q == 0])), float(np.sum(q[p == 0]))), doubt)

    def cumulants(self, tilts: FloatArray) -> FloatArray:
        """log of the moments of the finite loss under P; minus infinity where no loss is finite."""
        if not self.p.size:
            return np.full(tilts.shape, -np.inf)
        exponent = np.log(self.p) + np.multiply.outer(tilts, np.log(self.p) - np.log(self.q))
        top = np.max(exponent, axis=1)
        return np.asarray(top + np.log(np.sum(np.exp(exponent - top[:, None]), axis=1)))

    def power(self, count: int, tilt: float) -> Merged:
        """Of `count` independent outcomes, with most bins where the total loss lies under a tilt.

        Examples
        --------
        >>> coin = Merged.of(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.0)
        >>> coin.power(2, 1.0).p.tolist()
        [0.0625, 0.375, 0.5625]
        """
        if count == 1:
            return self
        base, found, widest, left = _Binned.of(self, tilt), None, 0, count
        while found is None or left:
            if left & 1:
                found = base if found is None else found.added(base, tilt)
            left >>= 1
            if left:
                base = base.added(base, tilt)
            widest = max(widest, base.p.size)
        only = [-np.expm1(count * np.log1p(-min(each, 1 - UNIT))) for each in self.only]
        return found.merged((float(only[0]), float(only[1])), count * (self.doubt + 8 * (widest + 8) * UNIT))


def mixture(parts: Iterable[tuple[float, Merged]], tilt: float) -> Merged:
    """Of which one is drawn with its probability, and told but for what outcomes of one loss have in common."""
    each = list(parts)
    p, q = (
        np.concatenate([share * law for share, law in laws])
        for laws in ([(share, one.p) for share, one in each], [(share, one.q) for share, one in each])
    )
    known = (p > _LEAST) & (q > _LEAST)
    only = [sum(share * one.only[i] for share, one in each) for i in (0, 1)]
    doubt = max(one.doubt for _, one in each) + 2 * p.size * UNIT
    return _Binned.of(Merged(p[known], q[known]), tilt).merged((only[0], only[1]), doubt)


@dataclass(frozen=True)
class _Binned:
    """Probabilities of numbers that rise with the loss, one for each `step` of it."""

    p: FloatArray
    q: FloatArray
    step: float
    deviation: float  # of a tilted loss

    @classmethod
    def of(cls, pair: Merged, tilt: float) -> _Binned:
        loss = np.log(pair.p) - np.log(pair.q)
        low, high = float(np.min(loss)), float(np.max(loss))
        deviation = _tilted(pair.p, pair.q, loss, tilt)[1]
        step = max(deviation / _FINE, (high - low) / _BINS, UNIT)
        number = ((loss - low) / step).astype(int)
        p, q = (np.bincount(number, part).astype(float) for part in (pair.p, pair.q))
        return cls(p, q, step, deviation)._window(tilt)

    def merged(self, only: tuple[float, float], doubt: float) -> Merged:
        known = (self.p > _LEAST) & (self.q > _LEAST)
        return Merged(self.p[known], self.q[known], only, doubt)

    def added(self, other: _Binned, tilt: float) -> _Binned:
        """Of the sum of both numbers, those of the finer one first made coarser."""
        a, b = (self, other) if self.step >= other.step else (other, self)
        b = b._coarser(round(np.log2(a.step / b.step)))
        deviation = float(np.hypot(a.deviation, b.deviation))
        found = _Binned(np.convolve(a.p, b.p), np.convolve(a.q, b.q), a.step, deviation)
        return found._coarser(int(np.log2(max(deviation / (_FINE * a.step), 1.0))))._window(tilt)

    def _coarser(self, halvings: int) -> _Binned:
        if not halvings:
            return self
        starts = np.arange(0, self.p.size, 2**halvings)
        p, q = np.add.reduceat(self.p, starts), np.add.reduceat(self.q, starts)
        return _Binned(p, q, self.step * 2**halvings, self.deviation)

    def _window(self, tilt: float) -> _Binned:
        """With the numbers beyond a window, or too unlikely to be known, told as its ends."""
        number = np.arange(self.p.size)
        known = np.flatnonzero((self.p > _LEAST) & (self.q > _LEAST))
        seen = known.astype(float)
        places = [_tilted(self.p[known], self.q[known], seen, each) for each in (0.0, tilt)]
        low = max(min(mean - _SIDE * spread for mean, spread in places) - 1, seen[0])
        high = min(max(mean + _SIDE * spread for mean, spread in places) + 1, seen[-1])
        first, last = int(np.floor(low)), int(np.ceil(high))
        inside = np.clip(number, first, last) - first
        p, q = (np.bincount(inside, part).astype(float) for part in (self.p, self.q))
        return _Binned(p, q, self.step, self.deviation)


def _tilted(p: FloatArray, q: FloatArray, value: FloatArray, tilt: float) -> tuple[float, float]:
    """Mean and deviation of values under P times the exponential of a tilt of the loss."""
    exponent = np.log(p) + tilt * (np.log(p) - np.log(q))
    weight = np.exp(exponent - np.max(exponent))
    mean = float(weight @ value / np.sum(weight))
    return mean, float(np.sqrt(weight @ (value - mean) ** 2 / np.sum(weight)))
