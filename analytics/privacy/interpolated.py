"""A privacy curve whose values are dear, at many epsilons from few: Chebyshev's polynomials where they settle.

What is interpolated, on a piece of the axis at a time, is the logarithm of delta between both its ends. Of the error it is
*stated* that twice the last quarter of the coefficients exceeds it, which is held against the curve itself at places between the
nodes; the nodes' own errors are multiplied by Lebesgue's constant, which is below 4. A piece that does not settle to what the
values are known to is computed point by point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from analytics.checks import FloatArray

Ends = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

_PIECE = 3  # pieces end at powers of two to the power of this
_DEGREES = (24, 48)
_MANY = 1.5  # points to a node from which it is worth while
_CHECKS = 5
_LEBESGUE = 4.0
_SETTLED = 4.0  # times what the values are known to
_LEAST, _KNOWN = 1e-12, 1e-7  # relative, of the values: not less is told apart, and not more is interpolated
_TINY = -650.0  # log of a delta below which nothing is interpolated


@dataclass(frozen=True)
class _Piece:
    low: float
    high: float
    coefficients: FloatArray
    error: float

    def log(self, eps: FloatArray) -> FloatArray:
        at = np.clip((2 * eps - self.low - self.high) / (self.high - self.low), -1.0, 1.0)
        return np.asarray(np.polynomial.chebyshev.chebval(at, self.coefficients))


@dataclass
class Interpolated:
    """Both ends of a curve at epsilon >= 0; pieces once fitted are kept.

    Examples
    --------
    >>> from analytics.privacy import gaussian
    >>> calls = []
    >>> def dear(eps):
    ...     calls.append(eps.size)
    ...     value = gaussian.delta(eps, sensitivity=1.0, sigma=1.0)
    ...     return value * (1 - 1e-12), value * (1 + 1e-12)
    >>> low, high = Interpolated(dear)(np.linspace(0.5, 1.0, 1000))
    >>> sum(calls) < 60, bool(low[0] < 0.23842170813488 < high[0]), bool(np.max(high / low) < 1 + 1e-10)
    (True, True, True)
    """

    ends: Ends
    _pieces: list[_Piece] = field(default_factory=list)

    def __call__(self, eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        lower, upper, left = np.empty(eps.shape), np.empty(eps.shape), np.ones(eps.shape, dtype=bool)
        self._fill(self._pieces, eps, left, lower, upper)
        inside = left & (eps > 0) & (eps < np.inf)
        octave = np.zeros(eps.shape)
        octave[inside] = np.floor(np.log2(eps[inside]) / _PIECE)
        for number in np.unique(octave[inside]):
            here = eps[inside & (octave == number)]
            if here.size >= _MANY * _DEGREES[0] and (piece := self._fitted(here)) is not None:
                self._pieces.append(piece)
                self._fill([piece], eps, left, lower, upper)
        if np.any(left):
            lower[left], upper[left] = self.ends(eps[left])
        return lower, upper

    @staticmethod
    def _fill(pieces: list[_Piece], eps: FloatArray, left: np.ndarray, lower: FloatArray, upper: FloatArray) -> None:
        for piece in pieces:
            known = left & (eps >= piece.low) & (eps <= piece.high)
            value = piece.log(eps[known])
            lower[known], upper[known] = np.exp(value - piece.error), np.minimum(np.exp(value + piece.error), 1.0)
            left &= ~known

    def _fitted(self, eps: FloatArray) -> _Piece | None:
        low, high = float(np.min(eps)), float(np.max(eps))
        for degree in _DEGREES:
            if eps.size < _MANY * degree:
                return None
            angle = np.pi * (np.arange(degree) + 0.5) / degree
            between = np.cos(np.pi * np.round(np.linspace(1, degree - 1, _CHECKS)) / degree)
            at = (low + high) / 2 + (high - low) / 2 * np.concatenate([np.cos(angle), between])
            below, above = self.ends(at)
            if not np.all(below > np.exp(_TINY)):
                return None
            value, known = (np.log(above) + np.log(below)) / 2, float(np.max(np.log(above) - np.log(below))) / 2
            if known > _KNOWN:
                return None
            coefficients = np.cos(np.outer(np.arange(degree), angle)) @ value[:degree] * (2 / degree)
            coefficients[0] /= 2
            doubt = 2 * float(np.sum(np.abs(coefficients[3 * degree // 4 :])))
            error = _LEBESGUE * known + doubt + _LEAST
            piece = _Piece(low, high, coefficients, error)
            off = float(np.max(np.abs(piece.log(at[degree:]) - value[degree:])))
            if doubt <= _SETTLED * max(known, _LEAST) and off <= error:
                return piece
        return None
