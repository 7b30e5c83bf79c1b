"""A dear function of epsilon and the others' noise at many points of both, from few: Chebyshev's polynomials where they settle.

What is interpolated, on a piece of the axis of epsilon at a time, is the logarithm of a divergence: in epsilon and in log v, or
in epsilon alone for each of a few v. Of the error it is *stated* that twice the last quarter of the coefficients in either
variable exceeds it, which is held against the function itself at places between the nodes; the nodes' own errors are multiplied
by Lebesgue's constant, which is below 4 in each variable, and the rounding of sums and places is added. Where a piece does not
settle nothing is interpolated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.checks import FloatArray, IntArray

Triple = tuple[FloatArray, FloatArray, FloatArray]  # log of a divergence, its slope in epsilon, its error
Function = Callable[[FloatArray, FloatArray], Triple]  # of epsilon and v, one by one
Component = Callable[[FloatArray, IntArray], Triple]  # of values of v, a row a problem, and which problems these are
Factory = Callable[[FloatArray, IntArray], Component]  # of what it is at these epsilons, of these kinds

_UNIT = np.finfo(float).eps
_PIECE = 2  # pieces end at powers of two to the power of this
_DEGREES = (12, 24, 48, 96)
_MANY = 1.5  # values to a node from which it is worth while
_CHECKS = 5
_FEW = 24  # values of the others' noise that are taken one by one
USUAL = 24  # values of v from which a function of v alone is interpolated
NARROW = 1 / 16  # share of v up to which a margin is near
_SETTLED = 4.0  # times the tolerance
_LEBESGUE = 4.0
_CLOSE = 1e-12  # relative, beyond the ends of v


@dataclass(frozen=True)
class _Axis:
    """An interval, or single places."""

    low: float
    high: float
    places: FloatArray | None = None

    def nodes(self, degree: int) -> FloatArray:
        if self.places is not None:
            return self.places
        return self._at(np.cos(np.pi * (np.arange(degree) + 0.5) / degree))

    def between(self, degree: int) -> FloatArray:
        if self.places is not None:
            return np.asarray(self.places[np.round(np.linspace(0, self.places.size - 1, _CHECKS)).astype(int)])
        return self._at(np.cos(np.pi * np.round(np.linspace(1, degree - 1, _CHECKS)) / degree))

    def coefficients(self, values: FloatArray) -> FloatArray:
        """Along the first axis."""
        if self.places is not None:
            return values
        degree = len(values)
        cosines = np.cos(np.outer(np.arange(degree), np.pi * (np.arange(degree) + 0.5) / degree)) * (2 / degree)
        cosines[0] /= 2
        return np.asarray(cosines @ values)

    def basis(self, x: FloatArray, degree: int) -> FloatArray:
        """A row for each x."""
        if self.places is not None:
            return np.asarray(self.places == x[:, None], dtype=float)
        scaled = (2 * x - self.low - self.high) / (self.high - self.low)
        return np.asarray(np.polynomial.chebyshev.chebvander(np.clip(scaled, -1.0, 1.0), degree - 1))

    def _at(self, x: FloatArray) -> FloatArray:
        return (self.low + self.high) / 2 + (self.high - self.low) / 2 * np.asarray(x)


@dataclass(frozen=True)
class _Piece:
    epsilon: _Axis
    log_noise: _Axis
    value: FloatArray
    slope: FloatArray
    error: float

    def has(self, eps: FloatArray) -> NDArray[np.bool_]:
        return np.asarray((eps >= self.epsilon.low) & (eps <= self.epsilon.high))

    def __call__(self, eps: FloatArray, log_v: FloatArray) -> tuple[FloatArray, FloatArray]:
        rows, columns = (
            axis.basis(x, size)
            for axis, x, size in zip((self.epsilon, self.log_noise), (eps, log_v), self.value.shape, strict=True)
        )
        return rows @ (self.value @ columns.T), rows @ (self.slope @ columns.T)


@dataclass
class Surface:
    """A function on [least, most] in v, or at the `places` v only; pieces once fitted are kept.

    An epsilon that is not on a piece takes `each` values of the function.

    Examples
    --------
    >>> from analytics.privacy import gaussian
    >>> calls = []
    >>> def dear(eps, v):
    ...     calls.append(eps.size)
    ...     return gaussian.log_curve(eps, 1 / np.sqrt(v))
    >>> eps, v = np.linspace(0.5, 1.0, 1000), np.linspace(1.0, 2.0, 2000)
    >>> surface = Surface.over(v, 0.0, 1e-9, v.size)
    >>> known = surface.known(eps, dear)
    >>> value, slope, error = surface(eps, v)
    >>> sum(calls) < 3000, bool(np.all(known)), float(np.max(error)) < 1e-8
    (True, True, True)
    >>> truth = gaussian.log_curve(eps, np.full(1000, 1 / np.sqrt(v[700])))[0]
    >>> bool(np.all(np.abs(value[:, 700] - truth) < error[:, 700]))
    True
    """

    tolerance: float
    least: float
    most: float
    each: int
    places: FloatArray | None = None
    _pieces: list[_Piece] = field(default_factory=list)
    _failed: set[float] = field(default_factory=set)

    @classmethod
    def over(cls, v: FloatArray, margin: float, tolerance: float, each: int) -> Surface:
        """On all that may be asked for: these values of v, or a margin more on both sides if it is no great part of them."""
        positive = v[v > 0]
        least, most = reach(positive[:1], positive[-1:], margin)
        few = positive if margin == 0 and v.size <= _FEW else None
        return cls(tolerance, float(np.sum(least)), float(np.sum(most)), each, few)

    def known(self, eps: FloatArray, function: Function) -> NDArray[np.bool_]:
        """Where it is interpolated: new pieces are made where many epsilons lie close together."""
        left = ~np.any([np.zeros(eps.shape, dtype=bool), *(piece.has(eps) for piece in self._pieces)], axis=0)
        some = left & (eps > 0) & (eps < np.inf) & (self.most > 0)
        octave = np.floor(np.log2(eps[some]) / _PIECE)
        for number in np.unique(octave):
            here = eps[some][octave == number]
            if number in self._failed or here.size * self.each < _MANY * _DEGREES[0] ** 2:
                continue
            ends = np.min(here), np.max(here)
            if here.size < _MANY * _DEGREES[0]:  # others there will follow
                ends = 2.0 ** (number * _PIECE), 2.0 ** ((number + 1) * _PIECE)
            piece = self._fitted(function, float(ends[0]), float(ends[1]))
            if piece is None:
                self._failed.add(number)
            else:
                self._pieces.append(piece)
                left &= ~piece.has(eps)
        return np.asarray(~left)

    def has(self, v: FloatArray) -> NDArray[np.bool_]:
        """Which values of v it has."""
        if self.places is not None:
            return np.isin(v, self.places)
        return np.asarray((v >= self.least * (1 - _CLOSE)) & (v <= self.most * (1 + _CLOSE)))

    def __call__(self, eps: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Value, slope and error for each epsilon (known ones: the rows) and each v (the columns)."""
        value, slope = np.empty((2, eps.size, v.size))
        error, left, log_v = np.empty((eps.size, 1)), np.ones(eps.size, dtype=bool), np.log(v)
        for piece in self._pieces:
            rows = np.flatnonzero(left & piece.has(eps))
            if rows.size:
                value[rows], slope[rows] = piece(eps[rows], log_v)
                error[rows], left[rows] = piece.error, False
        return value, slope, np.broadcast_to(error, value.shape)

    def _fitted(self, function: Function, low: float, high: float) -> _Piece | None:
        places = None if self.places is None else np.log(self.places)
        axes = _Axis(low, high), _Axis(np.log(self.least), np.log(self.most), places)
        degrees = [_DEGREES[0]] * 2
        while max(degrees) <= _DEGREES[-1] and low < high:
            value, slope, error = _grid(
                function, *(axis.nodes(degree) for axis, degree in zip(axes, degrees, strict=True))
            )
            if not np.all(np.isfinite(value) & np.isfinite(error)):
                return None
            value, slope = (axes[1].coefficients(axes[0].coefficients(x).T).T for x in (value, slope))
            single = places is not None
            tails = _tail(value, each=single), 0.0 if single else _tail(value.T)
            rounding = (sum(value.shape) + 64) * _UNIT * float(np.sum(np.abs(value)))
            doubt = sum(tails) + _LEBESGUE**2 * float(np.max(error)) + rounding
            if max(tails) <= _SETTLED * self.tolerance:
                piece = _Piece(*axes, value, slope, doubt)
                between = tuple(axis.between(degree) for axis, degree in zip(axes, degrees, strict=True))
                truth = _grid(function, *between)[0]
                return piece if np.max(np.abs(piece(*between)[0] - truth)) <= doubt else None
            degrees = [2 * n if tail > _SETTLED * self.tolerance else n for n, tail in zip(degrees, tails, strict=True)]
        return None


@dataclass(frozen=True)
class Sheet:
    """A component at some epsilons: from a surface where it knows them, otherwise computed."""

    surface: Surface
    function: Function
    epsilon: FloatArray
    direct: Component

    def __call__(self, v: FloatArray, i: IntArray) -> Triple:
        """`v` is the same in all rows."""
        eps = self.epsilon[i]
        known, inside = self.surface.known(eps, self.function), self.surface.has(v[0])
        if np.all(known) and np.all(inside):
            return self.surface(eps, v[0])
        out, rows, columns = np.empty((3, *v.shape)), np.flatnonzero(known), np.flatnonzero(inside)
        if rows.size:
            found = np.empty((3, rows.size, inside.size))
            found[:, :, columns] = self.surface(eps[rows], v[0, columns])
            each = np.meshgrid(eps[rows], v[0, ~inside], indexing="ij")
            aside = self.function(*(x.ravel() for x in each))
            found[:, :, ~inside] = [x.reshape(each[0].shape) for x in aside]
            out[:, rows] = found
        if rows.size < known.size:
            others = np.flatnonzero(~known)
            out[:, others] = self.direct(v[others], i[others])
        return out[0], out[1], out[2]


def at_single_places(factory: Factory, kind: int, eps: FloatArray, v: FloatArray) -> Triple:
    """The component of one kind as a function of epsilon and v."""
    found = factory(eps, np.full(eps.shape, kind))(v[:, None], np.arange(eps.size))
    value, slope, error = (x[:, 0] for x in found)
    return value, slope, error


def reach(least: FloatArray, most: FloatArray, margin: float) -> tuple[FloatArray, FloatArray]:
    """A margin beyond both, but for one that is no small part of the least."""
    return np.where(margin < NARROW * least, least - margin, least), most + margin


def _grid(function: Function, eps: FloatArray, log_v: FloatArray) -> Triple:
    shape = eps.size, log_v.size
    flat = (x.ravel() for x in np.broadcast_arrays(eps[:, None], np.exp(log_v)))
    value, slope, error = (x.reshape(shape) for x in function(*flat))
    return value, slope, error


def _tail(coefficients: FloatArray, *, each: bool = False) -> float:
    """Twice the last quarter along the first axis: of all together, or of the column where it is greatest."""
    last = np.abs(coefficients[3 * len(coefficients) // 4 :])
    return 2 * float(np.max(np.sum(last, axis=0)) if each else np.sum(last))
