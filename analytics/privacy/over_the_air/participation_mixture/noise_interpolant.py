r"""A divergence as a function of the others' noise variance v: interpolation in log v, and bounds of its curvature.

A mean over the law of the others' noise needs the divergence at thousands of values of v. It is smooth in log v, so a
few dozen values give all others. A law of the noise on a grid adds an error of second order in the step
(:mod:`airtight.analytics.distributions.weighted_sum`). Bounds of the second derivative turn such a law into bounds of
the mean divergence from both sides.

Steps, in order
---------------
1. The first call of :class:`NoiseInterpolant` fits. Its range is widened by `margin`, as later calls may go beyond it.
2. *With a bound M* (`largest`) the range is cut into pieces. Each gets the least number of nodes whose proved error is
   within the tolerance, which is greater where the piece contributes little; pieces without one are halved, and at first so
   are those on which M leaves a third derivative that costs more. Where even M hardly matters, both ends of a piece bracket
   the divergence, and the ends of a few cells do where it is known beforehand to hardly matter. What lies beyond the place
   from which only an upper bound is known is one cell.
3. *Without a bound* one series on the whole range is fitted to the logarithm, with an estimated error. Its degree is
   doubled until the error is within the tolerance; the values at the extrema of one degree serve the next. Where it is known
   how the divergence vanishes, :math:`m\log(1 - v/v^*)` is taken off the logarithm, which is smooth up to v* without it.
4. Later calls evaluate the series. Values that no piece or cell covers are computed by the component itself.
5. :func:`slope_of_pair`, :func:`concavity_of_pair`, :func:`concavity_of_hidden` and :func:`of_gaussian` bound the
   second derivative, of either sign. :func:`excess` bounds the error of the mean where they are too great to be used
   directly.

Where each error enters
-----------------------
*Proved.* The error on a piece of half width h in log v with N nodes is at most :math:`4M\rho^{-(N-1)}/(\rho-1)` if the
divergence is analytic in the Bernstein ellipse :math:`\rho` of the piece and at most M there (Trefethen, Approximation
Theory and Approximation Practice, theorem 8.2; the bound also holds at the zeros of a Chebyshev polynomial, where
coefficients alias with either sign). The errors of the values at the nodes contribute at most Lebesgue's constant times
the greatest of them. The doubt by which the divergence differs from an analytic function counts as such an error, once
more at the point itself. Rounding of the transform and of Clenshaw's recurrence adds :math:`8N^2u` of the greatest
value. All of these are absolute errors on a piece, in units of its greatest value; they become errors of the logarithm
at each v. Where no number of nodes suffices, the divergence itself is computed.

*Bracketed.* Between the ends of a piece the second derivative is at most :math:`2M/R^2`
(:meth:`NoiseInterpolant.log_derivatives`). The divergence differs by the doubt from the function that M bounds, both where a grid
has put a value and where it was before: the bracket is wider by two doubts. M and the doubt hold up to `margin` beyond the piece,
as far as a grid may move a value.

*Estimated.* Where no bound M is known at all, the error is that of :func:`.chebyshev.estimated`. docs/accuracy.md names the
numbers that rest on this estimate. The slope in epsilon has no error bound in either case.

*Curvature.* Each term of a bound is monotone in v and is taken at the end of the interval on the safe side. Terms may
cancel where the device's own noise is small, so the rounding error of each is added in proportion to its magnitude.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.privacy.over_the_air.participation_mixture import chebyshev
from airtight.analytics.rounding import UNIT

Triple = tuple[FloatArray, FloatArray, FloatArray]  # log of a divergence, its slope in epsilon, its error
Component = Callable[[FloatArray, IntArray], Triple]  # of v, one row per problem, and of the problems' indices
# of problems' indices, low, high, rho, the logs of a negligible doubt and of a bound that is close enough, or None: log of an
# upper bound of the divergence on the Bernstein ellipse rho of the piece [low, high] of log v, and log of its doubt
Largest = Callable[[IntArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray | None], tuple[FloatArray, FloatArray]]

_RHO = 3.0  # parameter of the Bernstein ellipses
_NODES = (11, 13, 15, 17, 19, 21, 23, 26)  # numbers of nodes of a piece, tried in this order
_WIDEST = 0.3  # greatest half width of a piece, in log v
_REACH = 8.0  # the half width of a piece is also at most this over sqrt(dimension)
_HALVINGS = 3  # rounds of fitting; after each, the pieces without a fit are halved
_MORE_HALVINGS = 3  # rounds more for pieces that hold many values of v
_FALL = 60.0  # nats by which a divergence that vanishes falls to where it hardly matters
_NEAR, _BEYOND = 1e-4, 1e-9  # relative distance from v* up to which a series goes, and from which nothing is left
_SECTIONS = 2  # of its range, to find this place; each into as many cells as there are ends, less one
ESTIMATED_FROM = 72  # values of v from which an estimate is tried at all
_ENDS = 17  # ends of the cells on an interval where the divergence hardly matters
_SHARING, _LEAST_SHARE = 16.0, 1e-3  # pieces that share the tolerance, and the least part of its share that one may count for
_UNCLIPPED = 1e-7  # share of the mean up to which curvature that costs more than the values themselves is left
# excess of log M over the divergence from which half the width, which removes half of it, outweighs the eightfold of 1 / R^3
_WORTH_NARROWING = 6 * np.log(2.0)
_WORTH = 2  # values of v per node from which interpolation saves time
_DISC = (_RHO + 1 / _RHO) / 2 - 1  # radius, in half widths, of discs about the piece's points in the ellipse
NARROW = 1 / 16  # share of v up to which a margin counts as small


@dataclass(frozen=True)
class Vanishing:
    """Divergences that are 0 from some v on, where they fall like a power of 1 - v / v*; one of each per problem.

    Attributes
    ----------
    at : ndarray
        v*; infinite where the divergence does not vanish.
    rate : ndarray
        Derivative of log v* in epsilon.
    power : float
    """

    at: FloatArray
    rate: FloatArray
    power: float

    def of(self, rows: IntArray) -> Vanishing:
        """Those of some problems."""
        return Vanishing(self.at[rows], self.rate[rows], self.power)

    def factor(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log of the power of 1 - v / v* at values below v*, one row per problem, and its derivative in epsilon."""
        share = v / self.at.reshape(-1, *[1] * (v.ndim - 1))
        rate = self.rate.reshape(-1, *[1] * (v.ndim - 1))
        return self.power * np.log1p(-share), self.power * share * rate / (1 - share)


@dataclass(frozen=True)
class Contributions:
    """An interval of v per problem outside of which the divergence hardly matters, and what each place contributes to the mean.

    Attributes
    ----------
    low, high : ndarray, shape (N,)
        The interval.
    log_v, share : ndarray, shape (N, places)
        Increasing places, and about what the values from each up to the next contribute; the shares of a problem add up to 1.
    """

    low: FloatArray
    high: FloatArray
    log_v: FloatArray
    share: FloatArray

    def of(self, rows: IntArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """About what the values between `low` and `high`, in log v, contribute."""
        log_v, last = self.log_v[rows], self.log_v.shape[1] - 1
        first = np.maximum(np.sum(log_v <= low[:, None], axis=1) - 1, 0)
        inside = (np.arange(last + 1) >= first[:, None]) & (log_v <= high[:, None])
        return np.asarray(np.sum(np.where(inside, self.share[rows], 0.0), axis=1))


@dataclass
class _Piece:
    """Pieces with the same number of nodes, one per row."""

    rows: IntArray
    low: FloatArray
    high: FloatArray
    unit: FloatArray  # log of the unit
    value: FloatArray  # Chebyshev coefficients of the divergence, in that unit
    slope: FloatArray  # Chebyshev coefficients of the divergence times the slope of its logarithm in epsilon
    error: FloatArray  # of the divergence, in that unit
    largest: FloatArray  # log of M; infinite for estimates, whose coefficients are of the logarithm and its slope
    vanishing: Vanishing | None = None  # what was taken off the logarithm

    @property
    def logarithmic(self) -> bool:
        return bool(np.any(np.isinf(self.largest)))


@dataclass
class _Cells:
    """A few values of v per row, and the log of the divergence at each."""

    rows: IntArray
    log_v: FloatArray
    value: FloatArray
    slope: FloatArray
    error: FloatArray
    largest: FloatArray | None = None  # log of M, where it is known

    @property
    def low(self) -> FloatArray:
        return self.log_v[:, 0]

    @property
    def high(self) -> FloatArray:
        return self.log_v[:, -1]


@dataclass
class NoiseInterpolant:
    """A component at many values of the noise variance; the fit of the first call serves all later calls.

    Parameters
    ----------
    component : callable
    largest : callable, optional
        The bound M; without it, errors are estimates (the module's notes).
    tolerance : float
        Relative error that the interpolation aims at.
    margin : float
        Distance by which values of later calls may lie outside the range of the first call.
    dimension : int
    matters : Contributions, optional
        Outside of its intervals the divergence is evaluated only at the ends of a few cells, and lies between the values at
        these ends because it falls in v. A piece that contributes little may err by more.
    fewest : int
        Without `largest`, the least number of values for which errors are estimates; fewer are computed one by one.
    vanishing : Vanishing, optional
        Without `largest`, where and how the divergences of the first call's problems vanish.
    third_cost : float
        What a third derivative of 1 adds to the mean's error. A piece is narrowed, a few times, until the bound of its third
        derivative adds no more than the tolerance.
    """

    component: Component
    largest: Largest | None
    tolerance: float
    margin: float
    dimension: int
    matters: Contributions | None = None
    fewest: int = ESTIMATED_FROM
    vanishing: Vanishing | None = None
    third_cost: float = 0.0
    _asked: bool = False
    _pieces: list[_Piece] = field(default_factory=list)
    _cells: list[_Cells] = field(default_factory=list)
    _last: tuple[FloatArray, Triple] | None = None

    def __call__(self, v: FloatArray, i: IntArray) -> Triple:
        """Value, slope and error; `i`, the indices of the problems, must be the same in every call."""
        if not self._asked:
            self._asked = True
            self._fit(v, i)
        self._last = v, self._evaluated(v, i, slopes=True)
        return self._last[1]

    def values(self, v: FloatArray, i: IntArray) -> tuple[FloatArray, FloatArray]:
        """Value and error, as a call finds them after the first one."""
        if self._last is not None and self._last[0] is v:
            value, _, error = self._last[1]
        else:
            value, _, error = self._evaluated(v, i, slopes=False)
        return value, error

    def _evaluated(self, v: FloatArray, i: IntArray, *, slopes: bool) -> Triple:
        """Value, slope and error; without `slopes` what stands for the slope means nothing."""
        value, slope, error = (np.full(v.shape, np.nan) for _ in range(3))
        with np.errstate(divide="ignore"):
            log_v = np.log(v)
        increasing = bool(np.all(log_v[:, 1:] >= log_v[:, :-1]))
        for piece in self._pieces:
            row, column = _inside(log_v, piece.rows, piece.low, piece.high, increasing)
            if not row.size:
                continue
            # the piece's interval of log v maps to [-1, 1]
            x = (2 * log_v[piece.rows[row], column] - piece.low[row] - piece.high[row]) / (piece.high - piece.low)[row]
            of_value = chebyshev.clenshaw(piece.value, row, x)
            of_slope = chebyshev.clenshaw(piece.slope, row, x) if slopes else of_value
            # an estimate interpolates the logarithm and its slope themselves
            if piece.logarithmic:
                target = piece.rows[row], column
                if piece.vanishing is not None:
                    taken_off = piece.vanishing.of(row).factor(v[target])
                    of_value, of_slope = of_value + taken_off[0], of_slope + taken_off[1]
                value[target], slope[target], error[target] = of_value, of_slope, piece.error[row]
                continue
            # a proved piece interpolates the divergence; where its absolute error is half of the value or more, the
            # component is called
            precise = of_value > 2 * piece.error[row]
            row, column, of_value, of_slope = row[precise], column[precise], of_value[precise], of_slope[precise]
            target = piece.rows[row], column
            value[target], slope[target] = piece.unit[row] + np.log(of_value), of_slope / of_value
            # from an absolute error e to one of the logarithm: the wider side is -log(1 - e / value)
            error[target] = -np.log1p(-piece.error[row] / of_value)
        # cells only fill what no piece covers; D falls in v, so it lies between its values at both ends of the cell
        for cells in self._cells:
            row, column = _inside(log_v, cells.rows, cells.low, cells.high, increasing)
            open_still = np.isnan(value[cells.rows[row], column])
            row, column = row[open_still], column[open_still]
            target = cells.rows[row], column
            cell = np.sum(log_v[target][:, None] > cells.log_v[row, 1:-1], axis=1)
            high_error = cells.error[row, cell]
            # a value of infinite error is an upper bound itself
            high = cells.value[row, cell] + np.where(high_error < np.inf, high_error, 0.0)
            low = cells.value[row, cell + 1] - cells.error[row, cell + 1]
            # a lower bound of 0 leaves an upper bound only
            with np.errstate(invalid="ignore"):
                bounded = low > -np.inf
                value[target] = np.where(bounded, (high + low) / 2, high)
                error[target] = np.where(bounded, (high - low) / 2, np.where(high > -np.inf, np.inf, 0.0))
            slope[target] = cells.slope[row, cell]
        # what is left: whole rows in one call, single values in another
        missing = np.isnan(value)
        full = np.flatnonzero(np.all(missing, axis=1))
        if full.size:
            value[full], slope[full], error[full] = self.component(v[full], i[full])
            missing[full] = False
        row, column = np.nonzero(missing)
        if row.size:
            computed = self.component(v[row, column][:, None], i[row])
            value[row, column], slope[row, column], error[row, column] = (each[:, 0] for each in computed)
        return value, slope, error

    def fitted(self, i: IntArray) -> NDArray[np.bool_]:
        """Whether pieces were fitted for each problem."""
        return np.isin(i, np.concatenate([np.zeros(0, dtype=np.int64), *(piece.rows for piece in self._pieces)]))

    def log_derivatives(self, v: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
        r"""log of upper bounds of the second and third derivative in v within `step` of each v; infinite where none is known.

        Notes
        -----
        If the disc :math:`|\log v' - \log v| \le c` lies inside the ellipse, so does :math:`\log v'` for every complex
        :math:`|v'-v| \le v(1-e^{-c})`. Cauchy's estimate on a disc whose radius R is smaller by `step` bounds the
        derivative of order n by :math:`n!\,M/R^n`.
        """
        second, third = np.full((2, *v.shape), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_v = np.log(v)
            increasing = bool(np.all(log_v[:, 1:] >= log_v[:, :-1]))
            parts: list[_Piece | _Cells] = [*self._pieces, *self._cells]
            for part in parts:
                if part.largest is None:
                    continue
                row, column = _inside(log_v, part.rows, part.low, part.high, increasing)
                at = part.rows[row], column
                # R of the notes; no bound where the disc is no wider than `step`
                log_radius = np.log(v[at] * -np.expm1(-_DISC * (part.high - part.low)[row] / 2) - step)
                known = np.isfinite(log_radius)
                second[at] = np.where(known, np.log(2) + part.largest[row] - 2 * log_radius, np.inf)
                third[at] = np.where(known, np.log(6) + part.largest[row] - 3 * log_radius, np.inf)
        return second, third

    def _fit(self, v: FloatArray, i: IntArray) -> None:
        # range of each problem; a variance of 0 has no logarithm and is computed directly
        v_low, v_high = np.min(np.where(v > 0, v, np.inf), axis=1), np.max(v, axis=1)
        # a margin that is not small compared with v would stretch the range in log v: then only the upper end is moved
        v_low, v_high = np.where(self.margin < NARROW * v_low, v_low - self.margin, v_low), v_high + self.margin
        rows = np.flatnonzero((v_low < v_high) & (v_high < np.inf))
        if not rows.size:
            return
        # the logarithm is rounded, and all values have to lie inside
        low, high = np.log(v_low[rows]) - 4 * UNIT, np.log(v_high[rows]) + 4 * UNIT
        if self.largest is None:
            if v.shape[1] >= self.fewest:
                self._estimate(i, rows, low, high, v.shape[1])
        else:
            self._prove(self.largest, i, rows, low, high, v)

    def _prove(
        self, largest: Largest, i: IntArray, rows: IntArray, low: FloatArray, high: FloatArray, v: FloatArray
    ) -> None:
        size = v.shape[1]
        # in log v the divergence varies on the scale 1 / sqrt(dimension)
        widest = 2 * min(_WIDEST, _REACH / np.sqrt(self.dimension))
        number = int(np.ceil(np.max(high - low) / widest))
        # fewer values than nodes: direct evaluation costs less
        if size < _WORTH * _NODES[0] * number:
            return
        # outside of the interval that matters a few cells bracket the divergence
        if self.matters is not None:
            inner = tuple(np.clip(np.log(end[rows]), low, high) for end in (self.matters.low, self.matters.high))
            for first, last in ((low, inner[0]), (inner[1], high)):
                nonempty = last > first
                self._fit_cells(i, rows[nonempty], first[nonempty], last[nonempty])
            low, high = inner
            number = int(np.ceil(np.max(high - low, initial=0.0) / widest))
            nonempty_rows = high > low
            rows, low, high = rows[nonempty_rows], low[nonempty_rows], high[nonempty_rows]
            if not rows.size:
                return
        falling, ends = self._cut(i, rows, low, high)
        high[falling] = ends
        # pieces of equal width, one row each
        width = (high - low) / number
        row = np.repeat(np.arange(rows.size), number)
        start = low[row] + width[row] * np.tile(np.arange(number), rows.size)
        end, row = start + width[row], rows[row]
        # fit, then halve the pieces without a fit; each halving doubles the number of nodes that have to pay
        for halving in range(_HALVINGS):
            if not row.size or size < _WORTH * _NODES[0] * number:
                return
            row, start, end = self._fitted(largest, i, row, start, end, self.third_cost if halving + 1 < _HALVINGS else 0.0)
            middle, row, number = (start + end) / 2, np.repeat(row, 2), 2 * number
            start, end = (np.stack(each, axis=1).ravel() for each in ((start, middle), (middle, end)))
        # the last halvings serve only pieces that hold many values of v
        for _ in range(_MORE_HALVINGS):
            inside = (v[row] >= np.exp(start)[:, None]) & (v[row] <= np.exp(end)[:, None])
            worth = np.sum(inside, axis=1) >= _WORTH * _NODES[-1]
            if not np.any(worth):
                return
            row, start, end = self._fitted(largest, i, row[worth], start[worth], end[worth])
            middle, row = (start + end) / 2, np.repeat(row, 2)
            start, end = (np.stack(each, axis=1).ravel() for each in ((start, middle), (middle, end)))

    def _estimate(self, i: IntArray, rows: IntArray, low: FloatArray, high: FloatArray, size: int) -> None:
        if self.vanishing is not None:
            log_at = np.log(self.vanishing.at[rows])
            known = np.isfinite(log_at) & (low < log_at - _NEAR)
            self._estimated(i, rows[known], low[known], np.minimum(high, log_at - _NEAR)[known], size, self.vanishing)
            ends = np.stack([log_at + _BEYOND, high], axis=1)
            cell = np.flatnonzero(known & (ends[:, 0] < ends[:, 1]))  # where nothing is left
            self._cells.append(_Cells(rows[cell], ends[cell], *self.component(np.exp(ends[cell]), i[rows[cell]])))
            rows, low, high = rows[~known], low[~known], high[~known]
        # a series up to the end of the range, then for the others up to where they vanish
        unsettled = self._estimated(i, rows, low, high, size)
        rows, low, high = rows[unsettled], low[unsettled], high[unsettled]
        falling, ends = self._cut(i, rows, low, high, _FALL)
        self._estimated(i, rows[falling], low[falling], ends, size)

    def _estimated(
        self, i: IntArray, rows: IntArray, low: FloatArray, high: FloatArray, size: int, vanishing: Vanishing | None = None
    ) -> NDArray[np.bool_]:
        """Fit a series to each row, less what makes it vanish; which rows have none."""
        unsettled = np.ones(rows.size, dtype=bool)

        def values(places: FloatArray, left: IntArray) -> FloatArray:
            v = np.exp((low + high)[left, None] / 2 + (high - low)[left, None] / 2 * places)
            value, slope, error = self.component(v, i[rows[left]])
            if vanishing is not None:
                taken_off = vanishing.of(rows[left]).factor(v)
                value, slope = value - taken_off[0], slope - taken_off[1]
            return np.stack([value, slope, error])

        for settled, (of_value, of_slope), error in chebyshev.estimated(values, rows.size, size, self.tolerance):
            ends, own = (low[settled], high[settled]), vanishing and vanishing.of(rows[settled])
            self._pieces.append(_Piece(rows[settled], *ends, 0 * ends[0], of_value, of_slope, error, ends[0] + np.inf, own))
            unsettled[settled] = False
        return unsettled

    def _cut(
        self, i: IntArray, rows: IntArray, low: FloatArray, high: FloatArray, fall: float = np.inf
    ) -> tuple[IntArray, FloatArray]:
        """Which rows have a divergence that falls to 0, or to where only an upper bound of it is known, and about where.

        One that falls to 0 is cut off where it has fallen by `fall`: its logarithm is no longer smooth long before it vanishes.
        What is cut off is one cell.
        """
        if not rows.size:
            return rows, high
        values, _, errors = self.component(np.exp(np.stack([low, high], axis=1)), i[rows])
        (first, last), (first_error, last_error) = values.T, errors.T
        vanishing = last == -np.inf
        falling = np.flatnonzero((first > -np.inf) & (first_error < np.inf) & (vanishing | (last_error == np.inf)))
        if not falling.size:
            return falling, high[falling]
        rows, high, inside, outside, at = rows[falling], high[falling], low[falling], high[falling], np.arange(falling.size)
        least = np.where(vanishing, first - fall, -np.inf)[falling]
        for _ in range(_SECTIONS):
            places = inside[:, None] + (outside - inside)[:, None] * np.linspace(0, 1, _ENDS)
            # the first one, `inside`, always matters
            value, _, error = self.component(np.exp(places[:, 1:-1]), i[rows])
            matters = (value >= least[:, None]) & (value > -np.inf) & (error < np.inf)
            last_inside = np.sum(np.logical_and.accumulate(matters, axis=1), axis=1)
            inside, outside = places[at, last_inside], places[at, last_inside + 1]
        ends = np.stack([outside, high], axis=1)
        self._cells.append(_Cells(rows, ends, *self.component(np.exp(ends), i[rows])))
        return falling, inside

    def _fit_cells(self, i: IntArray, rows: IntArray, low: FloatArray, high: FloatArray) -> None:
        if rows.size:
            log_v = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _ENDS)
            value, slope, error = self.component(np.exp(log_v), i[rows])
            finite = np.all(np.isfinite(value) & np.isfinite(error), axis=1)
            self._cells.append(_Cells(rows[finite], log_v[finite], value[finite], slope[finite], error[finite]))

    def _fitted(
        self, bound: Largest, i: IntArray, row: IntArray, low: FloatArray, high: FloatArray, third_cost: float = 0.0
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Fit the pieces for which a sufficient bound is known; return the others."""
        ends = np.stack([low, high], axis=1)
        at_ends, slope_at_ends, error_at_ends = self.component(np.exp(ends), i[row])
        # the divergence falls in v, so its value at the right end makes the tolerance absolute
        log_least, least_error = at_ends[:, 1], error_at_ends[:, 1]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = np.ones(row.size) if self.matters is None else self.matters.of(row, low, high)
            log_goal = log_least + np.log(self.tolerance / np.clip(_SHARING * share, _LEAST_SHARE, 1.0))
            # so far as the law on a grid may move a value; the ellipse of a longer interval contains that of the piece
            v_low, v_high = np.exp(low), np.exp(high)
            wide_low = np.log(np.where(self.margin < NARROW * v_low, v_low - self.margin, v_low))
            wide_high = np.log(v_high + self.margin)
            largest, doubt = bound(
                i[row],
                np.minimum(low, wide_low) - UNIT,
                np.maximum(high, wide_high) + UNIT,
                np.full(row.size, _RHO),
                log_goal,
                None,
            )
            # theorem 8.2 for each number of nodes, in logarithms
            error = np.log(4 / (_RHO - 1)) + largest[:, None] - (np.array(_NODES) - 1) * np.log(_RHO)
            # a doubt of up to e times the goal is tolerated: it enters the error bound below, not the degree
            usable = np.isfinite(log_least) & np.isfinite(least_error) & (doubt <= log_goal + 1)
            # even M contributes less than the tolerance: both ends bracket the divergence, and M bounds its curvature
            bracketed = usable & (np.log(share) + largest - log_least <= np.log(self.tolerance))
            # the third derivative at the left end, where it is greatest (:meth:`log_derivatives`)
            radius = -v_low * np.expm1(-_DISC * (high - low) / 2) - self.margin
            third_small = (third_cost == 0) | (np.log(6 * third_cost) + largest - 3 * np.log(radius) <= log_goal)
            third_small |= largest - at_ends[:, 0] <= _WORTH_NARROWING
            enough = (error <= log_goal[:, None]) & (usable & third_small & ~bracketed)[:, None]
            # the analytic function that M bounds differs from the values by a doubt, and so does what it stands for
            doubted = error_at_ends - np.log1p(-np.minimum(2 * np.exp(doubt[:, None] - at_ends), 1.0))
        if np.any(bracketed):
            self._cells.append(
                _Cells(*(each[bracketed] for each in (row, ends, at_ends, slope_at_ends, doubted, largest)))
            )
        # the least number of nodes that suffices; -1 for none
        choice = np.where(np.any(enough, axis=1), np.argmax(enough, axis=1), -1)
        chosen = [(k, same) for k in range(len(_NODES)) if (same := np.flatnonzero(choice == k)).size]
        middle, half = (low + high) / 2, (high - low) / 2
        nodes = [np.exp(middle[same][:, None] + half[same][:, None] * chebyshev.zeros(_NODES[k])) for k, same in chosen]
        # all of them in one call
        computed: tuple[FloatArray, ...] = ()
        if chosen:
            at_once = np.concatenate([np.repeat(i[row[same]], _NODES[k]) for k, same in chosen])
            computed = self.component(np.concatenate([each.ravel() for each in nodes])[:, None], at_once)
        first = 0
        for (k, same_size), at in zip(chosen, nodes, strict=True):
            size, part = _NODES[k], slice(first, first := first + at.size)
            value, slope, node_error = (each[part, 0].reshape(at.shape) for each in computed)
            # values in units of the greatest one, so that tiny divergences do not underflow
            unit = np.max(value, axis=1)
            scaled = np.exp(value - unit[:, None])
            cosines = chebyshev.cosines_of_zeros(size)
            with np.errstate(over="ignore"):
                # The doubt enters through each node, times Lebesgue's constant, and at the point itself. `error` may be
                # infinite.
                error_bound = np.exp(np.logaddexp(error[same_size, k], np.log(2 + chebyshev.LEBESGUE) + doubt[same_size]) - unit)
                error_bound = (
                    # errors of the values at the nodes; rounding of transform and recurrence
                    error_bound + chebyshev.LEBESGUE * np.max(scaled * np.expm1(node_error), axis=1) + 8 * size * size * UNIT
                )
            # pieces whose bound or values are not finite go back to be halved
            usable_fit = np.isfinite(error_bound) & np.all(np.isfinite(value), axis=1) & np.isfinite(largest[same_size])
            choice[same_size[~usable_fit]] = -1
            self._pieces.append(
                _Piece(
                    row[same_size[usable_fit]],
                    low[same_size[usable_fit]],
                    high[same_size[usable_fit]],
                    unit[usable_fit],
                    (scaled @ cosines.T)[usable_fit],
                    ((scaled * slope) @ cosines.T)[usable_fit],
                    error_bound[usable_fit],
                    largest[same_size[usable_fit]],
                )
            )
        unfitted = (choice < 0) & ~bracketed
        return row[unfitted], low[unfitted], high[unfitted]


def _inside(
    log_v: FloatArray, rows: IntArray, low: FloatArray, high: FloatArray, increasing: bool
) -> tuple[IntArray, IntArray]:
    """The values of some rows that lie in one interval each: the index of the interval, and the column of the value."""
    if not increasing:
        interval, column = np.nonzero((log_v[rows] >= low[:, None]) & (log_v[rows] <= high[:, None]))
        return interval, column
    bounds = zip(rows.tolist(), low.tolist(), high.tolist(), strict=True)
    first, stop = np.array(
        [(log_v[row].searchsorted(bottom), log_v[row].searchsorted(top, "right")) for row, bottom, top in bounds], dtype=np.int64
    ).reshape(-1, 2).T
    counts = np.maximum(stop - first, 0)
    interval = np.repeat(np.arange(rows.size), counts)
    return interval, np.arange(interval.size) + np.repeat(first - np.cumsum(counts) + counts, counts)


def of_gaussian(
    epsilon: FloatArray, d: FloatArray, low: FloatArray, high: FloatArray, log_unit: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Bounds b_1, b_2 with -b_1 <= d^2/dv^2 delta_G(epsilon; d / sqrt v) <= b_2 for all v in [low, high].

    They are in units of exp(log_unit), so that values of delta that underflow a double can be handled.

    Notes
    -----
    Let mu = d / sqrt v, a = epsilon / mu - mu / 2 and b = epsilon / mu + mu / 2. The derivative of delta in mu is
    phi(a) and that of a is -b / mu, so the second derivative in v is :math:`\varphi(a)\,\mu\,(ab + 3)/4v^2` with
    :math:`ab = \epsilon^2/\mu^2 - \mu^2/4`. Both a and ab fall in mu, so phi(a) is greatest at the value of a nearest
    0: at an end of the interval, or at the zero of a.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        # mu falls in v, so its ends change places; a and ab fall in mu and rise in v
        mu_low, mu_high = d / np.sqrt(high), d / np.sqrt(low)
        a_high, a_low = epsilon / mu_low - mu_low / 2, epsilon / mu_high - mu_high / 2
        # phi(a) is greatest where a is nearest 0
        nearest = np.where(a_low > 0, a_low, np.where(a_high < 0, a_high, 0.0))
        scale = np.exp(-nearest * nearest / 2 - log_unit) / np.sqrt(2 * np.pi) * mu_high / (4 * low * low)
        # -(ab + 3) is greatest at the greatest mu, ab + 3 at the least one
        concave = scale * np.maximum(mu_high * mu_high / 4 - (epsilon / mu_high) ** 2 - 3, 0.0)
        convex = scale * np.maximum((epsilon / mu_low) ** 2 - mu_low * mu_low / 4 + 3, 0.0)
    # 0 times infinity is NaN: no bound, unless the means are equal and the divergence does not depend on v
    bounds = (np.where(d == 0, 0.0, np.nan_to_num(x, nan=np.inf)) for x in (concave, convex))
    return next(bounds), next(bounds)


def slope_of_pair(
    signed_epsilon: FloatArray, d: FloatArray, low: FloatArray, high: FloatArray, gap: FloatArray, r: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""For the divergence D of N(d e_1, (v + gap) I_r) from N(0, v I_r): upper bound of log(-dD/dv), and lower and
    upper bounds of its derivative in v.

    All three hold for v in [low, high]; `signed_epsilon` is epsilon, or minus epsilon for the reverse divergence.

    Notes
    -----
    Gaussian densities solve the heat equation in v. So, with :math:`F = P - \lambda Q` the slope of :math:`D = \int
    F_+` is :math:`-\tfrac12\oint|\nabla F|` over the surface F = 0. With s the gap, this surface is a sphere of radius
    R about :math:`-(dv/s)e_1`, on which :math:`|\nabla F|` is proportional to Q:

    .. math:: R^2 = \tfrac{2v(v+s)}s\,c,\quad c = \text{level} + \tfrac r2\log(1 + \tfrac sv) + \tfrac{d^2}{2s},\qquad
              -\frac{dD}{dv} \propto \frac{R^r}{v(v+s)v^{r/2}}\,e^{-d^2v/2s^2 - R^2/2v}\,
              \kappa^{-\nu}I_\nu(\kappa),\quad \kappa = \tfrac{dR}s,\ \nu = \tfrac r2 - 1.

    With :math:`c' = -rs/2v(v+s)` and :math:`(\kappa^{-\nu}I_\nu)' = \kappa^{-\nu}I_{\nu+1}`, the logarithmic derivative
    of this expression is

    .. math:: \frac r{2(v+s)} + \frac r{2v} + \frac r2\frac{c'}c - \frac1v - \frac1{v+s} - \frac{d^2}{2s^2} - \frac cs
              + \frac\kappa2\Bigl[\frac1v + \frac1{v+s} + \frac{c'}c\Bigr]\frac{I_{\nu+1}(\kappa)}{I_\nu(\kappa)},

    Each term is monotone on the interval. The ratio of Bessel functions lies between :math:`\kappa/(\nu + \tfrac12 +
    \sqrt{\kappa^2 + (\nu + \tfrac32)^2})` and the same expression with 1/2 in place of 3/2 (Segura 2011). The factor of
    proportionality is :math:`\tfrac12 s`, times :math:`\lambda` for the forward divergence, and
    :math:`\log\kappa^{-\nu}I_\nu(\kappa) \le -\log 2^\nu\Gamma(\nu+1) + h(\kappa) - h(0)`, :math:`h(t) = \sqrt{t^2+a^2}
    - a\log(a + \sqrt{t^2+a^2})`, a = (r-1)/2, where h is the integral of the upper bound of the ratio. These formulas
    bound the slope at the middle of the interval; the bound of the logarithmic derivative extends it to the whole
    interval. The bounds are infinite where c may vanish.
    """
    rate_low, rate_high, bounded = decay_of_pair(signed_epsilon, d, low, high, gap, r)
    # a = (r - 1) / 2 of the notes
    order = r / 2 - 0.5
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        v = (low + high) / 2  # the slope itself is bounded here
        c = signed_epsilon + r / 2 * np.log1p(gap / v) + d * d / (2 * gap)
        c_error = _c_error(signed_epsilon, d, v, gap, r)
        radius_squared = 2 * v * (v + gap) / gap * c
        kappa = d / gap * np.sqrt(radius_squared)
        root = np.sqrt(kappa * kappa + order * order)
        # h(kappa) - h(0), with a log(2a) taken into the quotient
        log_bessel = root - order - (order * np.log((order + root) / (2 * order)) if order > 0 else 0.0)
        # log of the slope's upper bound at the middle: factor s / 2, lambda for the forward divergence only
        log_slope = (
            np.log(gap / 2) + np.maximum(signed_epsilon, 0.0) + r / 2 * np.log(radius_squared / v) - np.log(v * (v + gap))
        )
        log_slope = (
            log_slope
            - v * (d / gap) ** 2 / 2
            - radius_squared / (2 * v)
            + log_bessel
            - (r / 2 - 1) * np.log(2)
            - special.gammaln(r / 2)
        )
        # rounding: of each term of the sum, and of c, whose terms may cancel (d log kappa = d log c / 2)
        magnitudes = np.abs(np.log(gap / 2)) + np.abs(signed_epsilon) + r / 2 * np.abs(np.log(radius_squared / v))
        magnitudes = magnitudes + np.abs(np.log(v * (v + gap))) + v * (d / gap) ** 2 / 2 + radius_squared / (2 * v) + r
        magnitudes = magnitudes + root + order * (1 + np.abs(log_bessel - root + order)) + special.gammaln(r / 2)
        rounding = 16 * UNIT * magnitudes + c_error * (r / (2 * c) + (v + gap) / gap + kappa / (2 * c))
        # from the middle to the whole interval
        log_slope = log_slope + np.maximum(np.abs(rate_low), np.abs(rate_high)) * (high - low) / 2 + rounding
    return np.where(bounded, log_slope, np.inf), rate_low, rate_high


def decay_of_pair(
    signed_epsilon: FloatArray, d: FloatArray | float, low: FloatArray, high: FloatArray, gap: FloatArray | float, r: float
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """The bounds of the derivative of log(-dD/dv) alone (:func:`slope_of_pair`), and where they are finite."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        # c falls in v: its greatest value belongs to `low`
        c_error = _c_error(signed_epsilon, d, low, gap, r)
        c_high = signed_epsilon + r / 2 * np.log1p(gap / low) + d * d / (2 * gap) + c_error
        c_low = signed_epsilon + r / 2 * np.log1p(gap / high) + d * d / (2 * gap) - c_error
        # -c' / c = r s / 2 v (v + s) c
        decay_high = r / 2 * gap / (low * (low + gap)) / c_low  # -c' / c
        decay_low = r / 2 * gap / (high * (high + gap)) / c_high
        # r / 2v + r / 2(v + s) - 1 / v - 1 / (v + s) = (r / 2 - 1)(1 / v + 1 / (v + s)), negative for r = 1
        rational_high = (r / 2 - 1) / np.where(r < 2, high + gap, low + gap) + (r / 2 - 1) / np.where(r < 2, high, low)
        rational_low = (r / 2 - 1) / np.where(r < 2, low + gap, high + gap) + (r / 2 - 1) / np.where(r < 2, low, high)
        centre_term = (d / gap) ** 2 / 2
        kappa_high = d / gap * np.sqrt(2 * high * (high + gap) / gap * c_high)
        kappa_low = d / gap * np.sqrt(2 * low * (low + gap) / gap * c_low)
        order = r / 2 - 0.5
        # Segura's bounds of I_{nu+1} / I_nu with nu + 1/2 = (r - 1) / 2; they rise in kappa
        ratio_high = kappa_high / (order + np.sqrt(kappa_high**2 + order**2))
        ratio_low = kappa_low / (order + np.sqrt(kappa_low**2 + (order + 1) ** 2))
        # the bracket of the notes may have either sign; kappa times the ratio is positive and takes the end that fits
        # the sign
        bracket_high = 1 / low + 1 / (low + gap) - decay_low
        bracket_low = 1 / high + 1 / (high + gap) - decay_high
        bessel_high = np.where(bracket_high > 0, kappa_high * ratio_high, kappa_low * ratio_low) / 2 * bracket_high
        bessel_low = np.where(bracket_low > 0, kappa_low * ratio_low, kappa_high * ratio_high) / 2 * bracket_low
        # for d = 0 kappa vanishes, whatever the bracket
        bessel_high, bessel_low = (np.where(d == 0, 0.0, x) for x in (bessel_high, bessel_low))
        # the terms may cancel: each errs by a few units of its own magnitude
        magnitudes = (r / 2 + 1) * (1 / low + 1 / (low + gap)) + r / 2 * decay_high + centre_term + c_high / gap
        magnitudes = magnitudes + kappa_high * ratio_high * (1 / low + 1 / (low + gap) + decay_high)
        rounding = 16 * UNIT * magnitudes
        rate_high = rational_high - r / 2 * decay_low - centre_term - c_low / gap + bessel_high + rounding
        rate_low = rational_low - r / 2 * decay_high - centre_term - c_high / gap + bessel_low - rounding
        # c = 0 is where the surface F = 0 shrinks to a point
        bounded = (c_low > 0) & (low > 0)
    return np.where(bounded, rate_low, -np.inf), np.where(bounded, rate_high, np.inf), bounded


def _c_error(
    signed_epsilon: FloatArray, d: FloatArray | float, v: FloatArray, gap: FloatArray | float, r: float
) -> FloatArray:
    """Bound of the rounding error of c (:func:`slope_of_pair`) for noise of at least v."""
    return np.asarray(8 * UNIT * (np.abs(signed_epsilon) + r / 2 * np.log1p(gap / v) + d * d / (2 * gap)))


def concavity_of_pair(d: FloatArray, low: FloatArray, gap: FloatArray, r: float, *, reverse: bool) -> FloatArray:
    r"""Upper bound of -d^2D/dv^2 for v >= low, D the divergence of N(d e_1, (v + gap) I_r) from N(0, v I_r).

    Notes
    -----
    The divergence is a supremum over sets A of :math:`F(A) = P(A) - \lambda Q(A)`, so its second derivative is at least
    that of F(A) at the optimal set A, on which :math:`\lambda Q \le P`. A Gaussian density q of variance v satisfies
    :math:`\partial_v^2q = q\,[(\chi-r)^2 + 2r - 4\chi]/4v^2`, :math:`\chi = |y|^2/v`. This is at least
    :math:`-q(2r+4)/4v^2` and at most :math:`q\,[(\chi-r)^2 + 2r]/4v^2`; the mean of the latter under P follows from the
    mean and the variance of :math:`\chi`.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        eta, d2_over_v = gap / low, d * d / low
        if reverse:
            # chi under P is t |y - d e_1|^2 / v with t <= 1. The mean of (chi - r)^2 is convex in t, and at t = 0 and t
            # = 1 at most the mean of (|y - d e_1|^2 / v)^2.
            p_variance, q_variance, second_moment = low, low + gap, (r + d2_over_v) ** 2 + 2 * r + 4 * d2_over_v
        else:
            # chi = |y|^2 / v has the mean (1 + eta) r + d^2 / v under P
            p_variance, q_variance = low + gap, low
            second_moment = (r * eta + d2_over_v) ** 2 + 2 * r * (1 + eta) ** 2 + 4 * (1 + eta) * d2_over_v
        # P takes the bound -q (2r + 4) / 4v^2, and lambda Q on the optimal set is at most P, under which the mean of
        # (chi - r)^2 + 2r is taken
        bound = (2 * r + 4) / (4 * p_variance * p_variance) + (second_moment + 2 * r) / (4 * q_variance * q_variance)
        return np.asarray(np.nan_to_num(bound, nan=np.inf))


def concavity_of_hidden(norm: FloatArray, d: FloatArray, low: FloatArray, own_noise: FloatArray, r: float) -> FloatArray:
    r"""Upper bound of minus the second derivative in v of :math:`D_\lambda/p` of
    :mod:`airtight.analytics.privacy.over_the_air.participation_mixture.hidden_divergence`, for all v >= low.

    `norm` is the norm of the mean x of the first neighbour, d the distance of the two means.

    Notes
    -----
    The proof is that of :func:`concavity_of_pair`. Let f be the density of the component at x. On the optimal set, each
    of the two terms that are subtracted from f is at most f, and for each of them :math:`\partial_v^2q \le
    q\,[(\chi-r)^2+2r]/4v^2`. The mean of this bound under f follows from the mean and the variance of :math:`\chi`, a
    multiple of a noncentral chi-square variable.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        w, eta = low + own_noise, own_noise / low
        # |y - x'|^2 / w has mean r + distance^2 under f, and |y|^2 / v has mean (1 + eta)(r + norm^2)
        distance_squared, norm_squared = d * d / w, norm * norm / w
        far_moment = distance_squared * distance_squared + 2 * (r + 2 * distance_squared)
        common_moment = (r * eta + (1 + eta) * norm_squared) ** 2 + 2 * (1 + eta) ** 2 * (r + 2 * norm_squared)
        # f itself, the term at x' of variance w, the common term of variance v
        bound = (2 * r + 4 + far_moment + 2 * r) / (4 * w * w) + (common_moment + 2 * r) / (4 * low * low)
        return np.asarray(np.nan_to_num(bound, nan=np.inf))


def excess(v: FloatArray, weights: FloatArray, values: FloatArray, cost: FloatArray, slack: float) -> FloatArray:
    """Upper bound of the error by which the mean of a decreasing function on the grids v (one per row) is too large.

    `cost` bounds the effect of the curvature at each grid value. Replacing the function by its value at v_j to the left
    of v_j gives a smaller function, which is curved only above v_j - slack. The index j is chosen such that, to the
    right of v_j - slack, the cost nowhere exceeds the value, but where all costs from there on are a negligible share of
    the mean.
    """
    # where the curvature would cost more than the divergence itself, the function is clipped
    costs = np.where(weights > 0, weights * cost, 0.0)
    left_over = np.cumsum(costs[:, ::-1], axis=1)[:, ::-1]  # the costs from each value on
    least = _UNCLIPPED * np.sum(weights * values, axis=1, keepdims=True)
    costly = (costs > weights * values) & (left_over > least)
    any_costly = np.any(costly, axis=1)
    last_costly = v.shape[1] - 1 - np.argmax(costly[:, ::-1], axis=1)
    # to the right of v_j - slack nothing is costly
    limit = np.where(any_costly, np.take_along_axis(v, last_costly[:, None], axis=1)[:, 0] + slack, -np.inf)
    j = np.minimum(np.sum(v <= limit[:, None], axis=1), v.shape[1] - 1)[:, None]
    v_j, value_j = (np.take_along_axis(x, j, axis=1) for x in (v, values))
    # The clipped function min(f, f(v_j)) is flat below v_j, and its kink at v_j bends down. So no curvature of the
    # wrong sign is left where every splitting ends below v_j.
    cut = v < v_j - slack
    clipping_loss = np.where(v < v_j, values - value_j, 0.0)
    return np.asarray(np.sum(weights * (clipping_loss + np.where(cut | (weights == 0), 0.0, cost)), axis=1))
