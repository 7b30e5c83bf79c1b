r"""A divergence as a function of the others' noise variance v, interpolated by Chebyshev polynomials in log v.

A piece of half width h in log v with N nodes errs by at most :math:`4M\rho^{-(N-1)}/(\rho-1)` if the divergence is
analytic in the Bernstein ellipse :math:`\rho` of the piece and at most M there (Trefethen, Approximation Theory and
Approximation Practice, theorem 8.2; at the zeros of a Chebyshev polynomial too, where coefficients alias with either
sign). What the nodes' own errors do is at most Lebesgue's constant times the greatest of them, and the doubt by which
the divergence differs from an analytic function counts as such an error. Where no number of nodes suffices the
divergence itself is computed.

*Estimates.* Where no bound M is known at all, the logarithm of the divergence is interpolated on the whole range, and
the error is *estimated*, not proved: twice the last quarter of the coefficients, if the divergence itself, at both
ends of the range and at places between nodes, is no farther off. docs/accuracy.md names the numbers that rest on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.rounding import UNIT

Triple = tuple[FloatArray, FloatArray, FloatArray]  # log of a divergence, its slope in epsilon, its error
Component = Callable[[FloatArray, IntArray], Triple]  # of values of v, a row a problem, and which problems these are
# log of the divergence on the Bernstein ellipse of pieces [low, high] of log v, at most, and of a doubt
Largest = Callable[[IntArray, FloatArray, FloatArray, float, FloatArray], tuple[FloatArray, FloatArray]]

_RHO = 3.0
_NODES = (11, 13, 15, 17, 19, 21, 23, 26)
_WIDEST = 0.3  # half width of a piece, at most
_REACH = 8.0  # times 1 / sqrt(dimension): half width of a piece, at most
_HALVINGS = 3
_DEGREES = (24, 48, 96)  # of an estimate on the whole range
_WORTH_ESTIMATING = 3
_ENDS = 17  # of the cells where little matters
_WORTH = 2  # values for each node from which it is worth while
_LEBESGUE = 5.0
_DISC = (_RHO + 1 / _RHO) / 2 - 1  # radius of a disc about a place of a piece that lies in the ellipse, in half widths
NARROW = 1 / 16  # share of v up to which a margin is near


@dataclass
class _Piece:
    """Pieces of one number of nodes, one a row."""

    rows: IntArray
    low: FloatArray
    high: FloatArray
    unit: FloatArray  # log
    value: FloatArray  # coefficients, in units of exp(unit)
    slope: FloatArray
    error: FloatArray  # of the value, in that unit
    largest: FloatArray  # log; infinite where coefficients are those of the logarithm and of its slope

    @property
    def logarithmic(self) -> bool:
        return bool(np.any(np.isinf(self.largest)))


@dataclass
class _Cells:
    """A few values of v a row, and the log of the divergence at each."""

    rows: IntArray
    log_v: FloatArray
    value: FloatArray
    slope: FloatArray
    error: FloatArray


@dataclass
class NoiseInterpolant:
    """A component at many values of the noise; once fitted it is asked about the same problems again.

    Parameters
    ----------
    component : callable
    largest : callable, optional
        The bound M; without it errors are estimates (the module's notes).
    tolerance : float
        Relative, wanted.
    margin : float
        By how much values asked for later may lie beyond those of the first call.
    dimension : int
    matters : tuple of ndarray of float, shape (N,), optional
        Of each problem an interval of v outside of which hardly anything depends on the divergence: there it is only known to lie
        between its values at the ends of a few cells, as it falls in v.
    """

    component: Component
    largest: Largest | None
    tolerance: float
    margin: float
    dimension: int
    matters: tuple[FloatArray, FloatArray] | None = None
    _asked: bool = False
    _pieces: list[_Piece] = field(default_factory=list)
    _cells: list[_Cells] = field(default_factory=list)

    def __call__(self, v: FloatArray, i: IntArray) -> Triple:
        """Value, slope and error; `i` must be the same in every call."""
        if not self._asked:
            self._asked = True
            self._fit(v, i)
        value, slope, error = (np.full(v.shape, np.nan) for _ in range(3))
        with np.errstate(divide="ignore"):
            log_v = np.log(v)
        for piece in self._pieces:
            inside = (log_v[piece.rows] >= piece.low[:, None]) & (log_v[piece.rows] <= piece.high[:, None])
            row, column = np.nonzero(inside)
            if not row.size:
                continue
            x = (2 * log_v[piece.rows[row], column] - piece.low[row] - piece.high[row]) / (piece.high - piece.low)[row]
            of_value, of_slope = (_clenshaw(each, row, x) for each in (piece.value, piece.slope))
            if piece.logarithmic:
                at = piece.rows[row], column
                value[at], slope[at], error[at] = of_value, of_slope, piece.error[row]
                continue
            sound = of_value > 2 * piece.error[row]
            row, column, of_value, of_slope = row[sound], column[sound], of_value[sound], of_slope[sound]
            at = piece.rows[row], column
            value[at], slope[at] = piece.unit[row] + np.log(of_value), of_slope / of_value
            error[at] = -np.log1p(-piece.error[row] / of_value)
        for cells in self._cells:
            inside = (log_v[cells.rows] >= cells.log_v[:, :1]) & (log_v[cells.rows] <= cells.log_v[:, -1:])
            row, column = np.nonzero(inside & np.isnan(value[cells.rows]))
            at = cells.rows[row], column
            cell = np.sum(log_v[at][:, None] > cells.log_v[row, 1:-1], axis=1)
            high, low = (
                cells.value[row, cell] + cells.error[row, cell],
                cells.value[row, cell + 1] - cells.error[row, cell + 1],
            )
            value[at], error[at], slope[at] = (high + low) / 2, (high - low) / 2, cells.slope[row, cell]
        left = np.isnan(value)
        full = np.flatnonzero(np.all(left, axis=1))
        if full.size:
            value[full], slope[full], error[full] = self.component(v[full], i[full])
            left[full] = False
        row, column = np.nonzero(left)
        if row.size:
            found = self.component(v[row, column][:, None], i[row])
            value[row, column], slope[row, column], error[row, column] = (each[:, 0] for each in found)
        return value, slope, error

    def log_third_derivative(self, v: FloatArray, step: float) -> FloatArray:
        r"""log of the third derivative in v within `step` of each v, at most; infinite where nothing is known.

        Notes
        -----
        With :math:`|\log v' - \log v| \le c` inside the ellipse, so is every complex :math:`|v'-v| \le v(1-e^{-c})`, and Cauchy's
        estimate on a disc that is smaller by the step bounds the derivative by :math:`6M/R^3`.
        """
        out = np.full(v.shape, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_v = np.log(v)
            for piece in self._pieces:
                inside = (log_v[piece.rows] >= piece.low[:, None]) & (log_v[piece.rows] <= piece.high[:, None])
                row, column = np.nonzero(inside)
                at = piece.rows[row], column
                radius = v[at] * -np.expm1(-_DISC * (piece.high - piece.low)[row] / 2) - step
                out[at] = np.where(radius > 0, np.log(6) + piece.largest[row] - 3 * np.log(radius), np.inf)
        return out

    def _fit(self, v: FloatArray, i: IntArray) -> None:
        least, most = np.min(np.where(v > 0, v, np.inf), axis=1), np.max(v, axis=1)
        least, most = np.where(self.margin < NARROW * least, least - self.margin, least), most + self.margin
        rows = np.flatnonzero((least < most) & (most < np.inf))
        if not rows.size:
            return
        low, high = np.log(least[rows]) - 4 * UNIT, np.log(most[rows]) + 4 * UNIT
        if self.largest is None:
            self._estimate(i, rows, low, high, v.shape[1])
        else:
            self._prove(self.largest, i, rows, low, high, v.shape[1])

    def _prove(
        self, largest: Largest, i: IntArray, rows: IntArray, low: FloatArray, high: FloatArray, size: int
    ) -> None:
        widest = 2 * min(_WIDEST, _REACH / np.sqrt(self.dimension))
        number = int(np.ceil(np.max(high - low) / widest))
        if size < _WORTH * _NODES[0] * number:
            return
        if self.matters is not None:
            inner = np.clip(np.log(self.matters[0][rows]), low, high), np.clip(np.log(self.matters[1][rows]), low, high)
            for first, last in ((low, inner[0]), (inner[1], high)):
                some = last > first
                self._fit_cells(i, rows[some], first[some], last[some])
            low, high = inner
            number = int(np.ceil(np.max(high - low, initial=0.0) / widest))
            kept = high > low
            rows, low, high = rows[kept], low[kept], high[kept]
            if not rows.size:
                return
        width = (high - low) / number
        row = np.repeat(np.arange(rows.size), number)
        start = low[row] + width[row] * np.tile(np.arange(number), rows.size)
        end, row = start + width[row], rows[row]
        for _ in range(_HALVINGS):
            if not row.size or size < _WORTH * _NODES[0] * number:
                return
            row, start, end = self._fitted(largest, i, row, start, end)
            middle, row, number = (start + end) / 2, np.repeat(row, 2), 2 * number
            start, end = (np.stack(each, axis=1).ravel() for each in ((start, middle), (middle, end)))

    def _estimate(self, i: IntArray, rows: IntArray, low: FloatArray, high: FloatArray, size: int) -> None:
        for degree in _DEGREES:
            if size < _WORTH_ESTIMATING * degree or not rows.size:
                return
            between = np.array([0.25, degree / 3, degree / 2, degree - 0.25])
            checks = np.concatenate([[1.0, -1.0], np.cos(np.pi * between / degree)])
            middle, half = (low + high)[:, None] / 2, (high - low)[:, None] / 2
            value, slope, own = self.component(
                np.exp(middle + half * np.concatenate([_zeros(degree), checks])), i[rows]
            )
            cosines = _cosines(degree)
            with np.errstate(invalid="ignore"):
                of_value, of_slope = (x[:, :degree] @ cosines.T for x in (value, slope))
                doubt = 2 * np.sum(np.abs(of_value[:, 3 * degree // 4 :]), axis=1)
                error = doubt + _LEBESGUE * np.max(own, axis=1)
                away = np.abs(of_value @ np.polynomial.chebyshev.chebvander(checks, degree - 1).T - value[:, degree:])
                settled = (doubt <= self.tolerance) & np.all(away <= error[:, None], axis=1)
            if np.any(settled):
                each = low, high, 0 * low, of_value, of_slope, error, low + np.inf
                self._pieces.append(_Piece(rows[settled], *(x[settled] for x in each)))
            rows, low, high = (x[~settled] for x in (rows, low, high))

    def _fit_cells(self, i: IntArray, rows: IntArray, low: FloatArray, high: FloatArray) -> None:
        if rows.size:
            log_v = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _ENDS)
            value, slope, error = self.component(np.exp(log_v), i[rows])
            good = np.all(np.isfinite(value) & np.isfinite(error), axis=1)
            self._cells.append(_Cells(rows[good], log_v[good], value[good], slope[good], error[good]))

    def _fitted(
        self, bound: Largest, i: IntArray, row: IntArray, low: FloatArray, high: FloatArray
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Fits the pieces that a bound is known for; returns the others."""
        known, _, doubtful = (x[:, 0] for x in self.component(np.exp(high)[:, None], i[row]))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            wanted = known + np.log(self.tolerance)
            largest, doubt = bound(i[row], low, high, _RHO, wanted)
            error = np.log(4 / (_RHO - 1)) + largest[:, None] - (np.array(_NODES) - 1) * np.log(_RHO)
            sound = np.isfinite(known) & np.isfinite(doubtful) & (doubt <= wanted + 1)
            enough = (error <= wanted[:, None]) & sound[:, None]
        first = np.where(np.any(enough, axis=1), np.argmax(enough, axis=1), -1)
        for k, size in enumerate(_NODES):
            some = np.flatnonzero(first == k)
            if not some.size:
                continue
            middle, half = (low[some] + high[some]) / 2, (high[some] - low[some]) / 2
            value, slope, own = self.component(np.exp(middle[:, None] + half[:, None] * _zeros(size)), i[row[some]])
            unit = np.max(value, axis=1)
            scaled = np.exp(value - unit[:, None])
            cosines = _cosines(size)
            with np.errstate(over="ignore"):
                rule = np.exp(np.logaddexp(error[some, k], np.log(2 + _LEBESGUE) + doubt[some]) - unit)
                rule = rule + _LEBESGUE * np.max(scaled * np.expm1(own), axis=1) + 8 * size * size * UNIT
            good = np.isfinite(rule) & np.all(np.isfinite(value), axis=1) & np.isfinite(largest[some])
            first[some[~good]] = -1
            self._pieces.append(
                _Piece(
                    row[some[good]],
                    low[some[good]],
                    high[some[good]],
                    unit[good],
                    (scaled @ cosines.T)[good],
                    ((scaled * slope) @ cosines.T)[good],
                    rule[good],
                    largest[some[good]],
                )
            )
        left = first < 0
        return row[left], low[left], high[left]


def _zeros(size: int) -> FloatArray:
    """Of the Chebyshev polynomial of that degree."""
    return np.asarray(np.cos(np.pi * (np.arange(size) + 0.5) / size))


def _cosines(size: int) -> FloatArray:
    """The matrix that takes values at the zeros to the coefficients of the series, a row a coefficient."""
    cosines = np.cos(np.outer(np.arange(size), np.pi * (np.arange(size) + 0.5) / size)) * (2 / size)
    cosines[0] /= 2
    return np.asarray(cosines)


def _clenshaw(coefficients: FloatArray, row: IntArray, x: FloatArray) -> FloatArray:
    """The series of a row at each x."""
    last = before = np.zeros(x.shape)
    columns = np.ascontiguousarray(coefficients.T)
    for each in columns[:0:-1]:
        last, before = each[row] + 2 * x * last - before, last
    return np.asarray(columns[0][row] + x * last - before)
