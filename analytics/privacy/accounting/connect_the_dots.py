r"""Connect the dots: from a hockey-stick curve to two laws on a grid of losses, whose curves bound it from above and below.

A curve :math:`\delta(x)`, :math:`x = e^\epsilon`, of a pair (P, Q) is convex; a piecewise linear one with breaks at
:math:`x_i = e^{ih}` is the curve of a law of the loss on multiples of h, whose P-masses are

.. math:: p_i = \frac{(\delta_{i+1} - \delta_i) - e^h(\delta_i - \delta_{i-1})}{e^h - 1} .

Affine parts drop out, so that :math:`L = \delta - (1 - x)` serves left of x = 1: each tail keeps its relative accuracy.

*Above*: the chords (Doroshenko et al. 2022). *Below*: in each cell a line through a point of the middle that is nowhere above the
curve; at a grid point the lesser of its two neighbours' lines. Between grid points the chord of these values is below the line
of the cell, hence below the curve. Chords err by :math:`h^2/12` of the
curvature on average, lines by :math:`h^2/24` or a little more.

Notes
-----
*Lines.* With m the middle of a cell and :math:`m_\mp` points a little to its left and right, the slope from :math:`m_-` to m,
lower end at m and upper end at :math:`m_-`, is at most a subgradient at m: right of m its line is below the curve. Left of m it
is the slope from m to :math:`m_+`. The curve falls: where a line is so steep that it ends below the curve in the next cell's
middle, this value all over the cell is the better line; on the left, where L rises, that of the cell before. A law whose losses
below 0 fill a small part of a cell has them all on one multiple of the step.

*Noise* of the values bends the sequences; a value above the chord of two others is lowered to it, which leaves both kinds valid.

*What is proved afterwards.* Masses that rounding made negative become 0. The curve of the masses found is then summed up again,
from positive terms, and all masses are scaled so that it is on the right side of every value: whatever the masses are, this is
what makes the law valid. At x = 0 the curve is the whole mass, which must be at least 1, or at most what the first cell's line
left of its middle is there, which goes on left of the grid; beyond the last grid point the curve is what is infinite.
A curve that is lower for every x > 0 composes to a lower one:
:math:`\delta_{A\otimes B}(x) = E_B\,\delta_A(xe^{-L})` under a positive measure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import signal

from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution
from airtight.analytics.privacy.mechanisms.mechanism import SIDE
from airtight.analytics.rounding import UNIT

_LEAST = 1e-307
_BEFORE, _AFTER = 1 - 4 * UNIT, 1 + 4 * UNIT  # multiples of the step are rounded
_BENT = 1e-14  # share of a value by which it may stand above a chord

_STEEP = 2.0  # step from which lines in exp(epsilon) say less than a staircase
Curve = Callable[[FloatArray], tuple[FloatArray, FloatArray]]  # both ends of delta at each epsilon >= 0


@dataclass(frozen=True)
class Sides:
    """A sequence along the grid: delta from 0 on, and delta - (1 - x) up to 0."""

    right: FloatArray
    left: FloatArray

    @property
    def both(self) -> FloatArray:
        """One array, first grid point first; the value at 0 is the same on both sides."""
        return np.concatenate([self.left[:-1], self.right])


def above(forward: Curve, reverse: Curve, *, step: float, first: int, last: int) -> LossDistribution:
    """A law whose curve is nowhere below: losses from ``first * step`` <= 0 to ``last * step``, the rest infinite.

    Parameters
    ----------
    forward, reverse : callable
        Both ends of D(P, Q) and of D(Q, P) at each epsilon >= 0.

    Examples
    --------
    >>> from airtight.analytics.privacy.mechanisms import gaussian
    >>> def curve(epsilon):
    ...     value, _, error = gaussian.log_curve(epsilon, np.ones(epsilon.size))
    ...     return np.exp(value - error), np.exp(value + error)
    >>> bool(above(curve, curve, step=0.05, first=-200, last=200).delta(1.0) >= 0.12693673750664397)
    True
    """
    right = forward(np.arange(last + 1) * step * _BEFORE)[1]
    eps = -np.arange(first, 1) * step
    left = np.exp(-eps) * reverse(eps * _BEFORE)[1]
    middle = min(float(right[0]), float(left[-1]))
    right[0] = left[-1] = middle
    values = _straightened(Sides(right, left), step)
    return _law(values, step, first, float(values.right[-1]))


def below(
    forward: Curve, reverse: Curve, *, step: float, first: int, last: int, side: float = SIDE
) -> LossDistribution:
    """A law whose curve is nowhere above; arguments as of :func:`above`, first < 0 < last. What lies beyond the grid is left out.

    `side`, at most 1/2, is how far from its middle, in cells, the slope of a line is taken: 1/2 asks for no other values than
    grids of this step and of half of it, and errs by twice as much.

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
    if step >= _STEEP:
        return _stepped(forward, step, last)
    h = step
    cells: FloatArray = np.arange(last, dtype=np.float64)
    infinite = float(forward(np.array([np.inf]))[0][0])
    ends = _line_ends(forward, cells * h, h, side * h, infinite)
    right = np.append(ends[0][:1], np.minimum(ends[1][:-1], ends[0][1:]))
    right = np.append(right[: int(np.argmin(np.append(right > max(infinite, _LEAST), False)))], infinite)
    # left of 0, in units of the local x: L(x e^u) / x = e^u R(-log x - u)
    cells = np.arange(-first - 1, -1, -1, dtype=np.float64)
    starts, stops, middles = _line_ends_left(reverse, cells * h, h, side * h)
    left = np.concatenate([starts[:1], np.minimum(stops[:-1], starts[1:]), stops[-1:]])
    if right.size > 1 and left[-1] < right[0] / 2:
        steep = _sunk(forward, right, h)
        if steep is not None:
            return _law(_straightened(steep, h), h, 1 - steep.left.size, infinite, sunk=True)
    middle = min(float(right[0]), float(left[-1]))
    if not middle > infinite:
        right, left = np.full(1, infinite), np.zeros(1)
    right[0] = left[-1] = max(middle, infinite)
    whole = 1.0
    if left.size > 1:  # left of the grid the first cell's line left of its middle goes on, or one that is steeper
        start = float(starts[0])
        rise = (float(middles[0]) - start) / float(np.expm1(h / 2)) if start > 0 else 0.0  # from x = 0 to the grid
        left[0] = min(left[0], left[1] - rise * float(np.expm1(h)))
        whole = 1 + start - rise
    values = _straightened(Sides(right, left), step)
    return _law(values, step, 1 - values.left.size, infinite, whole)


def _sunk(forward: Curve, right: FloatArray, h: float) -> Sides | None:
    """All mass of losses below 0 on one multiple of the step: for laws that a cell on the left of 0 holds.

    Left of 1 the curve is above its line there, of slope -s, and above 1 - x; so below both is the line as far as 1 - x is
    greater, and from there one to (0, 1). None if the line is nowhere below 1 - x.
    """
    low, after = float(forward(np.zeros(1))[0][0]), float(forward(np.array([h / 2 * _BEFORE]))[1][0])
    s = max((low - after) / float(np.expm1(h / 2)) * _BEFORE - 8 * UNIT * low / h, 0.0)
    top = min(float(right[0]), low, float(right[1]) + s * float(np.expm1(h)))
    if not top < (1 - s) / 2:
        return None
    cells = int(np.ceil(-np.log1p(-top / (1 - s)) / h * (1 + 1e-9))) + (top == 0)
    return Sides(np.append(top, right[1:]), top + (1 - s) * np.expm1(-np.arange(cells, -1, -1) * h))


def _stepped(forward: Curve, step: float, last: int) -> LossDistribution:
    r"""A law whose curve is nowhere above, on a coarse grid: every loss from 0 on lowered by less than a step.

    Notes
    -----
    With :math:`\delta_i` at most :math:`\delta(ih)` and falling, :math:`\delta_i - \delta_{i+1}` is put on the loss ih, i from 0
    on, and what is left, :math:`1 - \delta_0`, on a loss -b with :math:`e^{-b} \le 1 - \delta_0`. For :math:`x \ge 1` its curve
    is at most the mass on losses above :math:`\log x`, a :math:`\delta_i` with :math:`ih \ge \log x`. For
    :math:`e^{-b} \le x < 1` it is at most :math:`\delta_0 \le \delta(x)`; for less it is at most
    :math:`\delta_0 + (1 - \delta_0)(1 - xe^b) \le 1 - x \le \delta(x)`. What is infinite stays so.
    """
    ends = np.minimum.accumulate(forward(np.append(np.arange(last + 1) * step * _AFTER, np.inf))[0])
    ends = ends * (1 - (ends.size + 8) * UNIT)
    rest = 1 - float(ends[0]) * (1 + 4 * UNIT)
    if not rest > _LEAST:
        return LossDistribution(step, 0, ends[:-1] - ends[1:], float(ends[-1]))
    low = int(np.ceil(-np.log(rest) / step * (1 + 1e-12))) + 1
    mass = np.concatenate([[rest * (1 - 4 * UNIT)], np.zeros(low - 1), ends[:-1] - ends[1:]])
    return LossDistribution(step, -low, mass, float(ends[-1]))


def _line_ends(
    curve: Curve, start: FloatArray, h: float, side: float, infinite: float
) -> tuple[FloatArray, FloatArray]:
    """The lines of cells [start, start + h] at both ends; what is less in the next middle, where a line falls below it."""
    middle = start + h / 2
    low = curve(middle * _AFTER)[0]
    before, after = curve((middle - side) * _BEFORE)[1], curve((middle + side) * _BEFORE)[1]
    left, right = _extended(low, before, after, side, h)
    level = np.append(low[1:], infinite)
    return np.where(right < level, level, left), np.where(right < level, level, right)


def _line_ends_left(
    curve: Curve, start: FloatArray, h: float, side: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same of L = x delta_reverse(1/x) in cells [-start - h, -start], and its least values in their middles."""
    middle = start + h / 2
    low = np.exp(-middle) * curve(middle * _AFTER)[0]
    before, after = (np.exp(-at) * curve(at * _BEFORE)[1] for at in (middle + side, middle - side))
    left, right = _extended(low, before, after, side, h)
    level = np.append(0.0, low[:-1] * (1 - 8 * UNIT))
    return np.where(left < level, level, left), np.where(left < level, level, right), low


def _extended(
    low: FloatArray, before: FloatArray, after: FloatArray, side: float, h: float
) -> tuple[FloatArray, FloatArray]:
    """Lines through the middle in x, with the slope from `before` on its right and to `after` on its left."""
    to_right = np.expm1(h / 2) / -np.expm1(-side)
    to_left = -np.expm1(-h / 2) / np.expm1(side)
    noise = 8 * UNIT * (low + before + after)
    right = low + (low - before - noise) * to_right - noise
    left = low - (after - low + noise) * to_left - noise
    return left, right


def _straightened(values: Sides, step: float) -> Sides:
    """The lower convex hull of either side, where noise has bent it."""
    return Sides(_hull(values.right, step), _hull(values.left, step))


def _hull(side: FloatArray, step: float) -> FloatArray:
    half = 1 / (1 + np.exp(-step))
    chord = side[:-2] * half + side[2:] * (1 - half)
    if not np.any(side[1:-1] > chord * (1 + _BENT)):
        return side
    kept: list[int] = []
    for i, value in enumerate(side.tolist()):
        while len(kept) > 1:
            a, b = kept[-2:]
            weight = math.expm1((b - i) * step) / math.expm1((a - i) * step)
            if side[b] <= side[a] * weight + value * (1 - weight):
                break
            kept.pop()
        kept.append(i)
    corner, place = np.array(kept), np.arange(side.size)
    after = np.clip(np.searchsorted(corner, place, side="left"), 1, None)
    before, behind = corner[after - 1], corner[after]
    share = np.expm1((place - behind) * step) / np.expm1((before - behind) * step)
    return np.asarray(np.minimum(side, side[before] * share + side[behind] * (1 - share)))


def _law(
    values: Sides, step: float, first: int, infinite: float, most: float | None = None, *, sunk: bool = False
) -> LossDistribution:
    """The law of the chords of the values, scaled to the right side of them.

    Below if its whole mass is to be at most `most`, the line of the first cell going on to x = 0, or if it is `sunk`, with a line
    from the first value to (0, 1).
    """
    up, whole = most is None and not sunk, 1.0 if most is None else most
    width, growth = np.expm1(step), np.exp(step)
    right, left = values.right, values.left
    mass = np.zeros(left.size + right.size - 1)
    zero = left.size - 1
    with np.errstate(under="ignore"):
        rise = np.diff(right)
        mass[zero + 1 :] = (np.append(rise[1:], 0.0) - growth * rise) / width
        fall = np.diff(left)
        mass[:zero] = (fall - growth * np.concatenate([[left[0] / growth * width], fall[:-1]])) / width
        to_right = rise[0] if rise.size else 0.0
        to_left = left[-2] if zero else 0.0
        if zero:
            mass[zero] = 1 + (to_right + growth * (to_left - left[-1])) / width
        else:  # the chord from (0, 1) to (1, delta(0))
            mass[zero] = 1 - float(right[0]) + to_right / width
    mass = np.maximum(mass, 0.0)
    if not (up or sunk) and zero:
        mass[0] = 0.0
    if up:  # what underflow may have lost
        infinite = infinite + mass.size * _LEAST
    curve, total = summed(mass, infinite, step)
    wanted = np.concatenate([-np.expm1(np.arange(first, 0) * step) + left[:-1], right])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(wanted > 0, wanted / curve, np.nan)
        scale = float(
            np.nanmax(np.append(ratio, whole / total)) if up else np.nanmin(np.append(ratio[curve > 0], whole / total))
        )
    rounding = (8 * mass.size + 64) * UNIT
    scale = max(scale, 1.0) * (1 + rounding) if up else max(min(scale, 1.0), 0.0) * (1 - rounding)
    return LossDistribution(step, first, mass * scale, infinite * scale)


def summed(mass: FloatArray, infinite: float, step: float) -> tuple[FloatArray, float]:
    """The hockey-stick curve of masses at the grid points, from sums of positive terms, and the whole mass."""
    shrink, width = np.exp(-step), np.expm1(step)
    with np.errstate(under="ignore"):
        shifted = np.append(mass[::-1][:-1], 0.0)  # p_last, ..., p_{first + 1}
        decayed = signal.lfilter([shrink], [1.0, -shrink], shifted[:-1]) if mass.size > 1 else np.zeros(0)
        below_last = infinite + width * np.cumsum(decayed)
    return np.append(below_last[::-1], infinite), float(np.sum(mass)) + infinite
