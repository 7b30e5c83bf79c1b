r"""Connect the dots: turns a hockey-stick curve into two loss distributions on a grid, its upper and lower bounds.

Steps, in order
---------------
1. Values at the grid points: upper bounds of the curve for :func:`above`, ends of lines below the curve for
   :func:`below` (``_line_ends``). Grid points are rounded to the safe side, as the curve is decreasing.
2. Both sides of loss 0 meet in one value (``_across``), and each is made convex (``_straightened``).
3. Second differences of the values are the masses (``_law``); negative ones become 0.
4. The curve of these masses is summed again (:func:`summed`), and all masses are scaled until it is on the right side
   of every value. Rounding, noise and underflow end here: only this step has to be right.

Masses
------
A curve :math:`\delta(x)`, :math:`x = e^\epsilon`, of a pair (P, Q) is convex. A convex, piecewise linear function with
breaks at :math:`x_i = e^{ih}` is the curve of a loss distribution on the multiples of h, whose masses under P are

.. math:: p_i = \frac{(\delta_{i+1} - \delta_i) - e^h(\delta_i - \delta_{i-1})}{e^h - 1} .

Affine functions of x cancel in this formula. Left of x = 1 it is therefore applied to :math:`L = \delta - (1 - x)`: in
this way each tail keeps its relative accuracy.

*Upper bound*: the chords of the curve (Doroshenko et al. 2022). *Lower bound*: for each cell a line through the lower
bound of the curve at the middle of the cell, which is nowhere above the curve in this cell. The value at a grid point
is the lesser one of the lines of the two neighbouring cells. Between two grid points the chord of these values is below
the line of the cell, hence below the curve. The error of the chords is :math:`h^2/12` times the curvature on average,
that of the lines :math:`h^2/24` or a little more.

Notes
-----
*Lines.* Let m be the middle of a cell, and :math:`m_\mp` points a little to its left and right. The slope from
:math:`m_-` to m, computed from the lower bound of the curve at m and its upper bound at :math:`m_-`, is at most a
subgradient at m: right of m the line of this slope is below the curve. Left of m the line has the slope from m to
:math:`m_+`. The curve is decreasing. If a line is so steep that at the end of its cell it is below the curve's value at
the middle of the next cell, the constant of this value is the better line in the whole cell. Left of x = 1, where L
increases, the constant is the value at the middle of the cell before. If the losses below 0 fill only a small part of a
cell, the law has all of them on one multiple of the step.

*Noise* in the values can make the sequences non-convex. A value above the chord of two others is lowered to this chord;
both the upper and the lower bound stay valid.

*Proof by scaling.* Masses that rounding made negative become 0. Then the curve of the resulting masses is summed again,
from positive terms, and all masses are multiplied by one factor, such that this curve is on the right side of every
value. This step alone makes the law valid, whatever the masses are. At x = 0 the curve is the total mass. For the upper
bound the total mass must be at least 1. For the lower bound, the left half of the first cell's line is continued left
of the grid, and the total mass must be at most the value of this line at x = 0. Beyond the last grid point the curve is
the mass of the infinite loss. A curve that is lower at every x > 0 composes to a lower curve, because
:math:`\delta_{A\otimes B}(x) = E_B\,\delta_A(xe^{-L})` is a mean under a positive measure.

:class:`Majorant` is a dominating pair from upper bounds of a curve at some epsilons: its curve is their chords.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Mechanism
from airtight.analytics.rounding import SMALLEST, UNIT

SIDE = 1 / 16  # of a cell: how far from its middle the slope of a line below a curve is taken, if values cost little
_LEAST = 1e-307  # near the least normal double: a lower bound up to it counts as 0; underflow loses less in each mass
_LOST = 16  # least doubles that the underflow of one mass, and of the sums that it enters, may lose, times 1 - exp(-step)
_BEFORE, _AFTER = 1 - 4 * UNIT, 1 + 4 * UNIT  # put a rounded multiple of the step below, or above, the exact one
_MANY = 0.05  # share of values above the chords of their neighbours from which they are left out together
_BENT = 1e-14  # relative excess over a chord from which a value is lowered to the chord
_BLOCK = 30.0  # losses in a block of sums; within it the exponential of a loss is far below the greatest double
_UNEVEN = 0.98  # share of delta at 0 that lines from the left may lack there before all losses below 0 are put at one
_STEEP = 2.0  # step from which a staircase is a better lower bound than lines in exp(epsilon)
Curve = Callable[[FloatArray], tuple[FloatArray, FloatArray]]  # lower and upper bound of delta at each epsilon >= 0


@dataclass(frozen=True)
class Sides:
    """Values at increasing multiples of the step, `places`, one of which is 0.

    `right` has delta at losses from 0 on, `left` has delta - (1 - x) at losses up to 0.
    """

    right: FloatArray
    left: FloatArray
    places: IntArray

    @property
    def both(self) -> FloatArray:
        """One array, first grid point first; both sides have the same value at 0."""
        return np.concatenate([self.left[:-1], self.right])


def above(
    forward: Curve, reverse: Curve, *, step: float, first: int, last: int, nodes: IntArray | None = None
) -> LossDistribution:
    """Loss distribution whose curve is nowhere below a given one; greater losses than those of the grid are infinite.

    Parameters
    ----------
    forward, reverse : callable
        Lower and upper bound of D(P, Q), and of D(Q, P), at each epsilon >= 0.
    step : float
        Distance of the grid points.
    first, last : int
        The finite losses go from ``first * step`` <= 0 to ``last * step``.
    nodes : ndarray of int, optional
        Increasing multiples of the step from `first` to `last`, with 0: only they get mass. By default all of them.

    Examples
    --------
    >>> from airtight.analytics.privacy.mechanisms import gaussian
    >>> def curve(epsilon):
    ...     value, _, error = gaussian.log_curve(epsilon, np.ones(epsilon.size))
    ...     return np.exp(value - error), np.exp(value + error)
    >>> bool(above(curve, curve, step=0.05, first=-200, last=200).delta(1.0) >= 0.12693673750664397)
    True
    """
    # upper bounds at a slightly smaller loss: the curve is decreasing
    places = np.arange(first, last + 1) if nodes is None else nodes
    right = forward(places[places >= 0] * step * _BEFORE)[1]
    eps = -places[places <= 0] * step
    # L(x) = x R(-log x), where R is the reverse curve
    left = np.exp(-eps) * reverse(eps * _BEFORE)[1]
    right[0] = left[-1] = min(float(right[0]), float(left[-1]), _across(right, left, places, step))
    # both sides share the point at 0
    values = _straightened(Sides(right, left, places), step)
    return _law(values, step, float(values.right[-1]))


def below(
    forward: Curve,
    reverse: Curve,
    *,
    step: float,
    first: int,
    last: int,
    side: float = SIDE,
    convex: tuple[Curve, Curve] | None = None,
    nodes: IntArray | None = None,
    aligned: bool = True,
) -> LossDistribution:
    """Loss distribution whose curve is nowhere above a given one; finite losses beyond the grid are left out.

    Parameters
    ----------
    forward, reverse, step, first, last, nodes
        As in :func:`above`, with first < 0 < last.
    side : float
        At most 1/2. Distance, in cells, of the points from the middle of a cell that give the slope of its line. With
        1/2 the curve is evaluated only on the grids of this step and of half of it, and the error doubles.
    convex : tuple of callable, optional
        Convex curves nowhere above `forward` and `reverse`, from which the lines are made instead.
    aligned : bool
        Whether all losses must be multiples of the step. Otherwise they may have an offset, which suits a law most of which
        lies within one cell around 0.

    Examples
    --------
    >>> from airtight.analytics.privacy.mechanisms import gaussian
    >>> def curve(epsilon):
    ...     value, _, error = gaussian.log_curve(epsilon, np.ones(epsilon.size))
    ...     return np.exp(value - error), np.exp(value + error)
    >>> from airtight.analytics.privacy.accounting.loss_distribution import Product
    >>> law = below(curve, curve, step=0.05, first=-200, last=200)
    >>> 0.1268 < Product(((law, 1),)).least_delta(1.0) <= 0.12693673750664397
    True
    """
    # lines in exp(epsilon) across a cell of e^2 or more lose more than a staircase
    if step >= _STEEP:
        return _stepped(forward, step, last)
    places = np.arange(first, last + 1) if nodes is None else nodes
    from_zero, to_zero = places[places >= 0], -places[places <= 0]
    widths: FloatArray = np.diff(from_zero) * np.float64(step)
    widths_left: FloatArray = -np.diff(to_zero) * np.float64(step)
    of_lines, of_lines_left = (forward, reverse) if convex is None else convex
    infinite = float(forward(np.array([np.inf]))[0][0])
    # a line for each cell; at a grid point the lesser of both neighbours counts
    line_ends = _line_ends(of_lines, np.asarray(from_zero[:-1] * step), widths, side * widths, infinite)
    right = np.append(line_ends[0][:1], np.minimum(line_ends[1][:-1], line_ends[0][1:]))
    # the first value that is no more than the infinite mass ends the grid
    right = np.append(right[: int(np.argmin(np.append(right > max(infinite, _LEAST), False)))], infinite)
    # left of x = 1: L(x) = x R(-log x), where R is the reverse curve
    starts, stops, middles = _line_ends_left(of_lines_left, np.asarray(to_zero[1:] * step), widths_left, side * widths_left)
    left = np.concatenate([starts[:1], np.minimum(stops[:-1], starts[1:]), stops[-1:]])
    first_line = float(right[0])
    # both sides bound delta(0); the law needs some mass above the infinite one
    at_zero = min(float(right[0]), float(left[-1]))
    if not at_zero > infinite:
        sunk = _sunk(of_lines, line_ends, from_zero, step, side, infinite, aligned) if right.size > 1 else None
        return sunk or _at_one_loss(step, infinite)
    right[0] = left[-1] = max(at_zero, infinite)
    total_limit = 1.0
    if left.size > 1:  # left of the grid, the left half of the first cell's line goes on, or a steeper line
        start = float(starts[0])
        # increase of this line from x = 0 to the first grid point
        rise = (float(middles[0]) - start) / float(np.expm1(widths_left[0] / 2)) if start > 0 else 0.0
        left[0] = min(left[0], left[1] - rise * float(np.expm1(widths_left[0])))
        total_limit = 1 + start - rise
    law = _law(_straightened(Sides(right, left, places[: left.size + right.size - 1]), step), step, infinite, total_limit)
    # Losses below 0 that fill few cells, or a part of one, are ill described by lines: the curve at 0 lacks what they lack
    if right.size > 1 and _at_zero(law) < _UNEVEN * first_line:
        sunk = _sunk(of_lines, line_ends, from_zero, step, side, infinite, aligned)
        return max(law, sunk, key=_at_zero) if sunk is not None else law
    return law


def _at_zero(law: LossDistribution) -> float:
    """The curve of a law at 0."""
    return law.infinite - float(np.sum(np.where(law.losses > 0, law.mass * np.expm1(-np.maximum(law.losses, 0.0)), 0.0)))


def _sunk(
    curve: Curve,
    line_ends: tuple[FloatArray, FloatArray],
    places: IntArray,
    step: float,
    side: float,
    infinite: float,
    aligned: bool,
) -> LossDistribution | None:
    """The law that has all losses below 0 at one loss -b: for laws whose losses below 0 lie in few cells.

    A line at most as steep as the curve is at x = 1 is below the curve left of it, and so is 1 - x. They cross at exp(-b). The
    law's curve is a straight line from (0, 1) to the crossing, and then follows the lines of cells that begin there; -b is an
    offset of all losses, rounded to a multiple of the step if they must be `aligned`. None unless the crossing has x > 1/2.
    """
    ends, count = np.expm1(np.minimum(places * step, _BLOCK)), 1
    while True:
        width = float(places[count]) * step
        if width > _BLOCK:
            return None
        # left of x = 1 the curve is at least as steep as from there to the end of these cells; the line may be no steeper
        lower, upper = curve(np.array([0.0, width * _BEFORE]))
        fall = min(float(line_ends[0][0] - line_ends[1][count - 1]), float(lower[0]) - float(upper[1]))
        s = max(fall / float(ends[count]) - 8 * UNIT * float(line_ends[0][0] + upper[1]) / width, 0.0)  # rounded down
        # the value of the line at x = 1: it is below both ends of the lines of these cells
        below_starts, below_stops = (line_ends[end][:count] + s * ends[end : count + end] for end in (0, 1))
        top = float(min(np.min(below_starts), np.min(below_stops))) * _BEFORE
        if not infinite < top < (1 - s) / 2:
            return None
        # the lines cross at x = 1 - top / (1 - s); further left 1 - x is greater
        b = -float(np.log1p(-top / (1 - s))) * (1 + 1e-9) + SMALLEST
        if b <= width or 2 * count >= places.size:
            break
        count *= 2
    shift = int(np.ceil(b / step)) if aligned else 0
    b = shift * step if aligned else b
    # the first line goes on in cells that begin left of x = 1; those from there on have lines of their own
    losses, cells = places * step - b, np.diff(places) * step
    from_one = losses[:-1] >= 0
    # the line is below the curve up to the end of the first cells
    if np.any(losses[1:][~from_one] > width):
        return None
    first_line = (top - s * np.expm1(np.minimum(losses, width))) - 8 * UNIT * (top + s * np.expm1(width))
    starts, stops = first_line[:-1].copy(), first_line[1:].copy()
    starts[from_one], stops[from_one] = _line_ends(
        curve, np.asarray(losses[:-1][from_one]), np.asarray(cells[from_one]), np.asarray(side * cells[from_one]), infinite
    )
    right = np.append(starts[:1], np.minimum(stops[:-1], starts[1:]))
    # the first value that is no more than the infinite mass ends the grid
    right = np.append(right[: int(np.argmin(np.append(right > max(infinite, _LEAST), False)))], infinite)
    sides = Sides(right, right[:1], places[: right.size] - shift)
    return _law(_straightened(sides, step), step, infinite, sunk=True, offset=0.0 if aligned else -b)


def _at_one_loss(step: float, infinite: float) -> LossDistribution:
    r"""The law that has an infinite loss with this probability, and else one loss -b with :math:`e^{-b} \le 1 - \delta`.

    Notes
    -----
    With :math:`\delta` for the probability, its curve is :math:`\delta` for :math:`x \ge e^{-b}`, and :math:`1 -
    (1-\delta)xe^b \le 1 - x` below. Every curve that tends to :math:`\delta` is at least the greater of both.
    """
    remaining = 1 - infinite * (1 + 4 * UNIT)
    if not remaining > _LEAST:
        return LossDistribution(step, 0, np.zeros(1), infinite)
    # e^-b <= 1 - delta with b a multiple of the step, rounded up
    low = max(int(np.ceil(-np.log(remaining) / step * (1 + 1e-12))), 1) if infinite > 0 else 0
    return LossDistribution(step, -low, np.array([remaining * (1 - 4 * UNIT)]), infinite)


def _stepped(forward: Curve, step: float, last: int) -> LossDistribution:
    r"""Loss distribution whose curve is nowhere above, on a coarse grid: a loss >= 0 is lowered by less than a step.

    Notes
    -----
    Let :math:`\delta_i \le \delta(ih)` be decreasing in i. The law has the mass :math:`\delta_i - \delta_{i+1}` at the
    loss ih for i from 0 on, and the remaining mass :math:`1 - \delta_0` at a loss -b with :math:`e^{-b} \le 1 -
    \delta_0`. For :math:`x \ge 1` its curve is at most the mass of the losses above :math:`\log x`, which is a
    :math:`\delta_i` with :math:`ih \ge \log x`. For :math:`e^{-b} \le x < 1` its curve is at most :math:`\delta_0 \le
    \delta(x)`. For smaller x it is at most :math:`\delta_0 + (1 - \delta_0)(1 - xe^b) \le 1 - x \le \delta(x)`.
    Infinite losses stay infinite.
    """
    # decreasing lower bounds at losses rounded up
    delta_lower = np.minimum.accumulate(forward(np.append(np.arange(last + 1) * step * _AFTER, np.inf))[0])
    # lowered by the rounding of the sums of differences
    delta_lower = delta_lower * (1 - (delta_lower.size + 8) * UNIT)
    remaining = 1 - float(delta_lower[0]) * (1 + 4 * UNIT)
    if not remaining > _LEAST:
        return LossDistribution(step, 0, delta_lower[:-1] - delta_lower[1:], float(delta_lower[-1]))
    # one step more than needed, for the rounding of the logarithm
    low = int(np.ceil(-np.log(remaining) / step * (1 + 1e-12))) + 1
    mass = np.concatenate([[remaining * (1 - 4 * UNIT)], np.zeros(low - 1), delta_lower[:-1] - delta_lower[1:]])
    return LossDistribution(step, -low, mass, float(delta_lower[-1]))


def _line_ends(
    curve: Curve, start: FloatArray, h: FloatArray, side: FloatArray, infinite: float
) -> tuple[FloatArray, FloatArray]:
    """Values of the lines of the cells [start, start + h] at the two ends of each cell.

    A line that falls below the curve's value at the next middle is replaced by the constant of this value.
    """
    # the line goes through the lower bound at the middle, with slopes from upper bounds at its sides
    middle = start + h / 2
    low, before, after = _at_middle(curve, middle, middle - side, middle + side)
    left, right = _extended(low, before, after, side, h)
    # right of the last cell the curve is at least the infinite mass
    next_low = np.append(low[1:], infinite)
    return np.where(right < next_low, next_low, left), np.where(right < next_low, next_low, right)


def _line_ends_left(
    curve: Curve, start: FloatArray, h: FloatArray, side: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same for L = x delta_reverse(1/x) in the cells [-start - h, -start], and lower bounds of L at the middles."""
    middle = start + h / 2
    low, before, after = _at_middle(curve, middle, middle + side, middle - side)
    # from the reverse curve R to L = x R(1/x) at x = exp(-loss); `before` and `after` are in the order of x
    low, before, after = np.exp(-middle) * low, np.exp(-middle - side) * before, np.exp(side - middle) * after
    left, right = _extended(low, before, after, side, h)
    # L increases: the constant of the cell before; 0 left of the first one
    previous_low = np.append(0.0, low[:-1] * (1 - 8 * UNIT))
    return np.where(left < previous_low, previous_low, left), np.where(left < previous_low, previous_low, right), low


def _at_middle(curve: Curve, middle: FloatArray, first: FloatArray, second: FloatArray) -> list[FloatArray]:
    """Lower bounds of delta at the middles, and upper bounds at two other points of each cell, in one evaluation."""
    lower, upper = curve(np.concatenate([middle * _AFTER, first * _BEFORE, second * _BEFORE]))
    cells = middle.size
    return [lower[:cells], upper[cells : 2 * cells], upper[2 * cells :]]


def _extended(
    low: FloatArray, before: FloatArray, after: FloatArray, side: FloatArray, h: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values at both ends of a cell of its line, which is straight in x = exp(loss) and goes through the middle.

    Right of the middle the slope is that from `before` to the middle, left of it that from the middle to `after`.
    """
    # (e^{h/2} - 1) / (1 - e^{-side}): width from the middle to the end over width of the secant, in x
    to_right = np.expm1(h / 2) / -np.expm1(-side)
    to_left = -np.expm1(-h / 2) / np.expm1(side)
    # rounding of three differences, taken off the slopes and off the values
    noise = 8 * UNIT * (low + before + after)
    right = low + (low - before - noise) * to_right - noise
    left = low - (after - low + noise) * to_left - noise
    return left, right


def _across(right: FloatArray, left: FloatArray, places: IntArray, step: float) -> float:
    """The least chord at loss 0 from a point on its left to one on its right.

    Each side alone is made convex up to loss 0. A value there that is too great by a small share of delta would bend both, and
    a law whose mass at 0 is negative would be scaled up by as much, the more the smaller the step. A chord is on the safe side
    as both its points are; points whose exponential would cancel the others are not used.
    """
    # 1, 2, 4, ... points on both sides: all pairs of these
    a, b = (2 ** np.arange(int(side.size - 1).bit_length()) for side in (left, right))
    zero = left.size - 1
    b = b[places[zero + b] * step <= _BLOCK]
    # x - 1 at the ends of the chord
    start, stop = np.expm1(places[zero - a] * step)[:, None], np.expm1(places[zero + b] * step)
    # of delta - (1 - x), which has no terms that cancel
    values = left[-1 - a][:, None] * stop - (right[b] + stop) * start
    return float(np.min(values / (stop - start), initial=1.0)) * (1 + 16 * UNIT)


def _straightened(values: Sides, step: float) -> Sides:
    """Both sides, each replaced by its lower convex hull where noise made it non-convex."""
    zero = values.left.size - 1
    return Sides(
        _hull_values(values.right, values.places[zero:], step),
        _hull_values(values.left, values.places[: zero + 1], step),
        values.places,
    )


def _hull_values(side: FloatArray, places: IntArray, step: float) -> FloatArray:
    """Lower convex hull, in exp(loss), of values at multiples of the step; convex values are returned unchanged."""
    gap = np.diff(places) * step
    # share of the left neighbour in the chord over two cells
    half = np.expm1(-gap[1:]) / np.expm1(-(gap[:-1] + gap[1:]))
    chord = side[:-2] * half + side[2:] * (1 - half)
    if not np.any(side[1:-1] > chord * (1 + _BENT)):
        return side
    corner = _corners(side, places, step)
    # the corners on both sides of each place
    corner_index = np.clip(np.searchsorted(corner, np.arange(side.size), side="left"), 1, None)
    left, right = corner[corner_index - 1], corner[corner_index]
    # chords in exp(loss), from the right corner, where exp does not overflow
    share = np.expm1((places - places[right]) * step) / np.expm1((places[left] - places[right]) * step)
    return np.asarray(np.minimum(side, side[left] * share + side[right] * (1 - share)))


def _corners(side: FloatArray, places: IntArray, step: float) -> IntArray:
    """Indices of the corners of the lower convex hull.

    A value above the chord of its neighbours is above the hull: such values are left out together while they are many, then
    one by one, after which both neighbours are looked at again.
    """
    corner = np.arange(side.size)
    while corner.size > 2:
        here, gap = side[corner], np.diff(places[corner]) * step
        # share of the left neighbour in its chord, in exp(loss)
        share = np.expm1(-gap[1:]) / np.expm1(-(gap[:-1] + gap[1:]))
        bent = np.flatnonzero(here[1:-1] > here[2:] + (here[:-2] - here[2:]) * share) + 1
        if bent.size < _MANY * corner.size:
            break
        corner = np.delete(corner, bent)
    else:
        return corner

    # a linked list of the places that are left; each removal looks at both neighbours again
    at, value = places[corner].tolist(), side[corner].tolist()
    before, after = list(range(-1, corner.size - 1)), list(range(1, corner.size + 1))
    kept = np.ones(corner.size, dtype=bool)
    waiting = bent.tolist()
    while waiting:
        i = waiting.pop()
        prior, following = before[i], after[i]
        if not kept[i] or prior < 0 or following == corner.size:
            continue
        chord_share = math.expm1((at[i] - at[following]) * step) / math.expm1((at[prior] - at[following]) * step)
        if value[i] > value[following] + (value[prior] - value[following]) * chord_share:
            kept[i] = False
            after[prior], before[following] = following, prior
            waiting += [prior, following]
    return corner[kept]


def _law(
    values: Sides, step: float, infinite: float, total_limit: float | None = None, *, sunk: bool = False, offset: float = 0.0
) -> LossDistribution:
    """Loss distribution whose curve is the chords of the values, scaled so that its curve is on the right side of them.

    An upper bound by default. A lower bound if `total_limit` is given: the total mass is at most this value at x = 0 of
    the line that the first cell continues. A lower bound also if `sunk`: then a straight line goes from the first value
    to the point (0, 1). Each loss is a multiple of the step and the offset.
    """
    is_upper, required_total = total_limit is None and not sunk, 1.0 if total_limit is None else total_limit
    right, left, places = values.right, values.left, values.places
    gap = np.diff(places) * step
    decay, width = np.exp(-gap), -np.expm1(-gap)  # not exp(gap), which a great step takes beyond the doubles
    zero = left.size - 1
    mass = np.zeros(places.size)
    with np.errstate(under="ignore"):
        # p_i = rise_i / (e^h_i - 1) - rise_{i-1} / (1 - e^-h_{i-1}), with the widths h of the cells on both sides of a point;
        # left of 0 the same for L, whose first chord comes from (0, 0)
        rise, fall = np.diff(right) / width[zero:], np.diff(left) / width[:zero]
        mass[zero + 1 :] = np.append((rise * decay[zero:])[1:], 0.0) - rise
        mass[:zero] = fall * decay[:zero] - np.append(left[0], fall)[:zero]
        # at 0 both sides meet: delta = 1 - x + L has the slope -1 more on the left; without a left side the chord comes from
        # (0, 1)
        mass[zero] = 1 + (rise[0] * decay[zero] if rise.size else 0.0) - (fall[-1] if zero else float(right[0]))
    mass = np.maximum(mass, 0.0)
    # the first cell's line goes on to x = 0: no mass at the first point
    if not (is_upper or sunk) and zero:
        mass[0] = 0.0
    if is_upper:  # what underflow may have lost: few least doubles of each sum, and of each mass in units of the width
        infinite = infinite + mass.size * (_LOST / float(np.min(width, initial=1.0))) * SMALLEST
    # from here on the masses are given: their own curve is compared with the values
    curve, total_mass = summed(mass, infinite, step, places)
    # delta = 1 - x + L left of 0
    required = np.concatenate([-np.expm1(places[:zero] * step) + left[:-1], right])
    # upper: the greatest ratio of a value to the curve; lower: the least one; the total mass is the curve at x = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(required > 0, required / curve, np.nan)
        scale = float(
            np.nanmax(np.append(ratio, required_total / total_mass))
            if is_upper
            else np.nanmin(np.append(ratio[curve > 0], required_total / total_mass))
        )
    rounding = (8 * mass.size + 64) * UNIT  # of the sums that made the curve
    scale = max(scale, 1.0) * (1 + rounding) if is_upper else max(min(scale, 1.0), 0.0) * (1 - rounding)
    grid_mass = np.zeros(int(places[-1] - places[0]) + 1)
    grid_mass[places - places[0]] = mass * scale
    return LossDistribution(step, int(places[0]), grid_mass, infinite * scale, offset)


def summed(
    mass: FloatArray, infinite: float, step: float, places: IntArray | None = None
) -> tuple[FloatArray, float]:
    """Hockey-stick curve of masses at the grid points, from sums of positive terms; and the total mass.

    The masses are at increasing multiples `places` of the step, by default consecutive ones; so is the curve.
    """
    at = np.arange(mass.size) if places is None else places
    with np.errstate(under="ignore"):
        # from the greatest loss down, so that all sums have positive terms
        decayed = _decayed(mass[:0:-1], at[:0:-1], step)  # at each point but the first, greatest first
        below_last = infinite - np.cumsum(np.expm1(-np.diff(at)[::-1] * step) * decayed)
    return np.append(below_last[::-1], infinite), float(np.sum(mass)) + infinite


def _decayed(mass: FloatArray, places: IntArray, step: float) -> FloatArray:
    """Sums over j <= i of mass_j exp((place_i - place_j) step), places descending.

    In blocks over which the exponential stays below e^30.
    """
    down = (places[0] - places) if places.size else places
    sums, carried, start = np.empty_like(mass), 0.0, 0  # carried: the sum at the end of the block before
    while start < mass.size:
        # within a block sums of mass_j exp(j step) are a cumulative sum; a loop over all masses would be slow
        stop = max(int(np.searchsorted(down, down[start] + _BLOCK / step, side="right")), start + 1)
        growth = np.exp((down[start:stop] - down[start]) * step)
        if start:
            carried = float(sums[start - 1]) * math.exp(-(down[start] - down[start - 1]) * step)
        sums[start:stop] = (np.cumsum(mass[start:stop] * growth) + carried) / growth
        start = stop
    return sums


@dataclass(frozen=True, eq=False)
class Majorant(Mechanism):
    r"""A pair that dominates every pair whose curve is nowhere above `delta`, in either order.

    Attributes
    ----------
    epsilon, delta : ndarray
        `epsilon` is increasing and at least 0, `delta` is decreasing. Below the first epsilon delta is 1; beyond the
        last epsilon delta keeps its last value.
    pure : float
        The epsilon from which on delta is 0.
    shift : float
        Amount by which every loss may be greater than that of the curve.

    Notes
    -----
    A curve is convex in :math:`e^\epsilon` and decreasing, so it is below the chords of its upper bounds. Let
    :math:`\delta'` be the curve before all losses are raised by at most s. Then :math:`\delta(\epsilon) \le
    \delta'(\epsilon - s)`; and, since :math:`(1-e^{-x})_+` has a slope of at most 1, :math:`\delta(\epsilon) \le
    \delta'(\epsilon) + s`.
    """

    epsilon: FloatArray
    delta: FloatArray
    pure: float = np.inf
    shift: float = 0.0
    unit: str = ""
    symmetric = True
    bounded_below = False

    def parameters(self) -> dict[str, Any]:
        raise NotImplementedError("a Majorant has no JSON form: make it again from the curve that it bounds")

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return self.pure

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        # the curve of losses that may be greater by `shift`: the better of both bounds of the notes
        moved = np.maximum(epsilon - self.shift, 0.0)
        # at -x < 0 a curve is at most its value at 0 plus 1 - exp(-x)
        excess = -np.expm1(-np.maximum(self.shift - epsilon, 0.0))
        bound = np.minimum(self._chords(moved) + excess, self._chords(epsilon) + self.shift)
        bound = np.where((epsilon >= self.pure) & (self.pure < np.inf), 0.0, bound)
        upper = np.minimum(bound * (1 + 16 * UNIT), 1.0)
        return np.zeros(epsilon.shape), upper

    def _chords(self, at: FloatArray) -> FloatArray:
        """The chords of `delta`, which are straight in exp(epsilon)."""
        # the neighbours of each place; beyond the last epsilon the chord is clipped to its end
        right_index = np.clip(np.searchsorted(self.epsilon, at, side="left"), 1, self.epsilon.size - 1)
        x, left, right = np.minimum(at, self.epsilon[-1]), self.epsilon[right_index - 1], self.epsilon[right_index]
        share = np.clip(np.expm1(np.minimum(x - right, 0.0)) / np.expm1(left - right), 0.0, 1.0)
        chord = self.delta[right_index] + share * (self.delta[right_index - 1] - self.delta[right_index])
        return np.where(at < self.epsilon[0], 1.0, chord)
