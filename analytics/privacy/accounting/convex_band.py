r"""A band around a curve of which few values are computed: chords above, secants below.

A hockey-stick curve f is convex and decreasing in :math:`x = e^\epsilon`, and no steeper than -1. Let :math:`l_i \le
f(x_i) \le u_i` at nodes :math:`1 = x_0 < \dots < x_n`, and let c be a lower bound of f everywhere.

*Above.* The chords of the :math:`u_i` are above f.

*Below.* In the cell :math:`[x_i, x_{i+1}]` the secant through :math:`(x_{i-1}, u_{i-1})` and :math:`(x_i, l_i)` is below f,
and so is the one through :math:`(x_{i+1}, l_{i+1})` and :math:`(x_{i+2}, u_{i+2})`, because f is convex. In the first cell
the slope -1 takes the place of the first secant, in the last one the slope 0 that of the second. Right of :math:`x_n`
the secant goes on down to c. The lower convex hull of these lines is a convex, decreasing function that is nowhere
above f: a curve from which laws can be made. Its corner in a cell lies near the point where the lines meet and has the
lesser of their values there. So, wherever it lies, the two chords of the corner and the nodes are below the lines.

*Rounding.* Let u be half of `UNIT`, and let `exp`, `expm1` and `log1p` err by 4 u, relatively. A difference of two nodes errs
by u, relatively, and so :math:`e^s - 1` of it by (6 + s) u, and :math:`1 - e^{-s}` by 6 u, because
:math:`se^{-s} \le 1 - e^{-s}`.

- A chord's share is a quotient of two such numbers for -s, and errs by 13 u. The chord is a sum of positive terms, and errs by
  16 u.
- The corner's place p is a double. With y, the distance from p to the end of its cell, and s, the length of the next cell, the
  second line has the height :math:`l_{i+1} + (l_{i+1} - u_{i+2})(1 - e^{-y})/(e^s - 1)` there: positive terms again, the second
  of which errs by (30 + s) u; it is lowered by (1 + s) times `_ROUNDING`, which is 128 u. The first line has the height
  :math:`l_i - a(e^z - 1)`, z the distance of p from its node: a and :math:`e^z - 1` err by (20 + z) u, and are raised by more.
- Right of the last node p errs by :math:`4u\log(1 + \beta) + u|p|`, hence :math:`\beta`, the way down to c, by
  :math:`(5\log(1+\beta) + \epsilon_n)u(1 + \beta)`. A positive difference of two doubles is at least a share u of the greater
  one, so :math:`\beta\le1/u` and :math:`\log(1+\beta)\le37`: the error is below :math:`185u(1+\epsilon_n)(1+\beta)`, and below
  :math:`3u(1+\epsilon_n)(1+\beta)` for :math:`\beta\le.8`. Taken off are :math:`128u(1+\epsilon_n)` times 1 +
  :math:`\beta` and the quotient of the upper value and the slope, which is at least :math:`\beta`.
- A corner of the hull is kept where it is below the chord of its neighbours by 32 u at least, twice the error of the chord. So
  the hull is convex. It is scaled until its value at each point is not above the point, up to the error of a chord. Between two
  points both it and the lines are straight. What the band returns is lowered, or raised, by `_ROUNDING` in the end.

*Where nodes matter.* A composition of T releases, with tilt t and the moment generating function M of one loss, sees a
difference d of two curves of one release as the relative error

.. math:: T\,\frac{t(1+t)}{M(t)}\int e^{t\epsilon}\,d(\epsilon)\,d\epsilon

of delta, because :math:`M(t) = t(1+t) \int e^{t\epsilon}\delta(\epsilon)\,d\epsilon`, and over the range of one loss the
density of the loss of all other releases is nearly an exponential of rate t. Where one great loss alone makes delta, that
density is a peak about epsilon instead: a difference d near epsilon counts :math:`Td/\delta`. The greater weight is taken.
Cells are divided where the width of the band contributes most to this integral. The integral decides how many nodes there
are, never whether the band holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.rounding import SMALLEST, UNIT

_LONGEST = 700.0  # a corner lies at most so far right of its node: the exponential of more might overflow
_MOST_HALVINGS = 3  # of a cell at a time
_ROUNDS = 10  # greatest number of times that nodes are added
_MOST = 1 << 13  # nodes of a curve, at most
_AIM = 0.7  # share of the allowed integral that a division aims at, so that another one is seldom needed
_GAIN = 0.9  # power of the growth of the nodes by which a division must lower the integral to be worth another one
_ROUNDING = 64 * UNIT  # of the values that the band returns; see the module
_UNDERFLOW = 1e-300  # below it products lose more than a share of them: a lower bound counts as 0
_BENT = 16 * UNIT  # share of its height by which a corner of the hull lies below the chord of its neighbours
_MANY = 0.02  # share of points above the chords of their neighbours from which they are left out together
_IN_VAIN = 1  # refinements in vain, one after the other, beyond which errors of the values are what keeps the sides apart
_STEEP = 1e3  # times what remains: greater costs of cells count as much
_PLACES = 4  # in a cell at which the width of the band is computed
_BESIDES = 0.25  # share that suffices for what cells add, where errors of the values alone exceed the allowed integral;
_LARGE = 3.0  # of the integral of these errors, less so many times the allowed one
Curve = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass
class ConvexBand:
    """The two sides of the band around a curve.

    Parameters
    ----------
    curve : callable
        Lower and upper bounds of the curve at epsilons >= 0.
    nodes : ndarray, shape (n,)
        n >= 2 increasing epsilons, the first of which is 0. :meth:`refine` halves cells, so that bands of equal first
        nodes evaluate the curve at equal points.

    Examples
    --------
    >>> from airtight.analytics.privacy.mechanisms import gaussian
    >>> def curve(epsilon):
    ...     value, _, error = gaussian.log_curve(epsilon, np.ones(epsilon.size))
    ...     return np.exp(value - error), np.exp(value + error)
    >>> band, at = ConvexBand(curve, np.linspace(0, 6, 61)), np.array([1.03])
    >>> bool(band(at)[0] <= curve(at)[0] <= band(at)[1] <= 1.02 * band(at)[0])
    True
    """

    curve: Curve
    nodes: FloatArray
    _lower: FloatArray = field(init=False)
    _upper: FloatArray = field(init=False)
    _least: float = field(init=False)
    _in_vain: int = field(init=False, default=0)  # refinements so far, one after the other, whose last division gained little
    _corners: tuple[FloatArray, FloatArray] = field(init=False)  # of the lower side: epsilons and values

    def __post_init__(self) -> None:
        self._least = float(self.curve(np.array([np.inf]))[0][0])
        self._lower, self._upper = self.curve(self.nodes)
        self._form()

    def __call__(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of the curve at each epsilon in [0, inf]."""
        chords = _interpolated(self.nodes, self._upper, epsilon)
        upper = np.minimum(chords * (1 + _ROUNDING) + SMALLEST, 1.0)
        # a chord may underflow to 0 where its left end is positive
        start = np.clip(np.searchsorted(self.nodes, epsilon, side="right") - 1, 0, None)
        return self.below(epsilon)[0], np.where(self._upper[start] > 0, upper, 0.0)

    def below(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of the lower side of the band, which is a convex curve itself."""
        value = np.maximum(_interpolated(*self._corners, epsilon), self._least)
        return np.where(value > _UNDERFLOW, value * (1 - _ROUNDING), 0.0), value * (1 + _ROUNDING) + SMALLEST

    def refine(self, weight: Callable[[FloatArray], FloatArray], allowed: float) -> None:
        """Add nodes until the integral over epsilon of `weight` times the width is at most `allowed`, if they gain much."""
        if self._in_vain > _IN_VAIN:
            return
        before, nodes = np.inf, 1
        for _ in range(_ROUNDS):
            cell_cost, node_cost = self._costs(weight)
            from_nodes = float(np.sum(node_cost))
            remaining = max(allowed - from_nodes, _BESIDES * max(allowed, from_nodes - _LARGE * allowed))
            from_cells = float(np.sum(cell_cost))
            worth = from_cells <= before * (nodes / self.nodes.size) ** _GAIN
            if before < np.inf:
                self._in_vain = 0 if worth else self._in_vain + 1
            if from_cells <= remaining or not worth or self.nodes.size > _MOST:
                return
            before, nodes = from_cells, self.nodes.size
            # cost / parts^2 adds up to a share of what remains, with the least number of parts; the cost of a chord over a steep
            # fall is far greater, and falls faster: it is no reason to divide others
            roots = np.cbrt(np.minimum(cell_cost, _STEEP * remaining))
            parts = roots * np.sqrt(np.sum(roots) / (_AIM * remaining))
            halvings = np.clip(np.round(np.log2(np.maximum(parts, 1.0))), 0, _MOST_HALVINGS)
            self._add(2 ** halvings.astype(np.int64))

    def _costs(self, weight: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Nearly the integral of weight times width over each cell: what the cell adds, and what errors at its nodes cause."""
        length = np.diff(self.nodes)[:, None]
        place = (np.arange(_PLACES) + 0.5) / _PLACES
        at = self.nodes[:-1, None] + length * place
        lower, upper = self(at.ravel())
        width = np.maximum(upper - lower, 0.0).reshape(at.shape)
        width_at_nodes = np.maximum(self._upper - self._lower, 0.0)
        node_width = np.minimum(width_at_nodes[:-1, None] + place * np.diff(width_at_nodes)[:, None], width)
        scaled = weight(at) * length / _PLACES
        return np.sum((width - node_width) * scaled, axis=1), np.sum(node_width * scaled, axis=1)

    def _add(self, parts: IntArray) -> None:
        """Divide each cell into parts of equal length."""
        nodes = _divided(self.nodes, parts)
        new = np.setdiff1d(nodes, self.nodes)
        if new.size:
            old, (lower, upper) = np.searchsorted(nodes, self.nodes), self.curve(new)
            fresh = np.setdiff1d(np.arange(nodes.size), old)
            merged = np.empty((2, nodes.size))
            merged[:, old], merged[:, fresh] = (self._lower, self._upper), (lower, upper)
            self.nodes, (self._lower, self._upper) = nodes, merged
            self._form()

    def _form(self) -> None:
        """The corners of the lower side, from the values at the nodes."""
        self._lower = np.maximum.accumulate(self._lower[::-1])[::-1]  # the curve is decreasing
        self._upper = np.minimum.accumulate(self._upper)
        nodes, high, low = self.nodes, self._upper, np.minimum(self._lower, self._upper)
        # lines in z = exp(epsilon - start) - 1: low - a z from the start of a cell, low + b (size - z) from its end; the second
        # one in the distance y from the end is low + lift (1 - exp(-y))
        step = np.diff(nodes)
        size = np.expm1(np.minimum(step, _LONGEST))  # in a longer cell the corner lies left of its end all the same
        steepness = (high[:-1] - low[1:]) / -np.expm1(-step) * (1 + _ROUNDING)  # in units of the end of the cell
        a = np.append(1.0 + _ROUNDING, steepness[:-1])
        lift = np.maximum(low[1:-1] - high[2:], 0.0) / np.expm1(np.minimum(step[1:], _LONGEST))
        lift = np.append(lift * np.where(step[1:] < _LONGEST, 1 - _ROUNDING * (1 + step[1:]), 0.0), 0.0)
        b = lift * np.exp(-step)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            z = (low[:-1] - low[1:] - b * size) / (a - b)
            noise = _ROUNDING * (1 + nodes[1:]) * (high[:-1] + a * (1 + np.clip(z, 0.0, size)))
            z = np.where(a > b, z - noise / (a - b), 0.0)
            z = np.clip(np.where(z == z, z, 0.0), 0.0, size)
            place = np.minimum(nodes[:-1] + np.log1p(z), nodes[1:])
            height = _corner(nodes, place, low, a, lift)
            place = np.where(height >= 0, place, nodes[:-1])
            height = _corner(nodes, place, low, a, lift)
            beyond = (low[-1] - self._least) / steepness[-1]
            beyond -= _ROUNDING * (1 + nodes[-1]) * (high[-1] / steepness[-1] + 1 + beyond)
            last = nodes[-1] + np.log1p(max(beyond, 0.0) if steepness[-1] > 0 else 0.0)
        places = np.stack([nodes[:-1], place], axis=1)
        heights = np.stack([low[:-1], height], axis=1)
        corners = np.append(places.ravel(), [nodes[-1], last]), np.append(heights.ravel(), [low[-1], self._least])
        self._corners = _lowered_hull_corners(corners[0], corners[1] * (1 - _ROUNDING))


def _corner(nodes: FloatArray, place: FloatArray, low: FloatArray, a: FloatArray, lift: FloatArray) -> FloatArray:
    """The lesser height of both lines of each cell at a place in it."""
    z = place - nodes[:-1]
    first = low[:-1] * (1 - 4 * UNIT) - a * np.expm1(z) * (1 + _ROUNDING * (1 + z))
    return np.asarray(np.minimum(first, low[1:] - lift * np.expm1(place - nodes[1:])))


def _divided(nodes: FloatArray, parts: IntArray) -> FloatArray:
    """The nodes, and between neighbours those that divide their distance into equal parts."""
    cell = np.repeat(np.arange(parts.size), parts)
    place = np.arange(cell.size) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(nodes[cell] + np.diff(nodes)[cell] * (place / parts[cell]), nodes[-1])


def _interpolated(corners: FloatArray, values: FloatArray, epsilon: FloatArray) -> FloatArray:
    """Values that are straight in exp(epsilon) between corners, and constant right of the last one."""
    at = np.clip(epsilon, corners[0], corners[-1])
    right = np.clip(np.searchsorted(corners, at, side="left"), 1, corners.size - 1)
    share = np.expm1(at - corners[right]) / np.expm1(corners[right - 1] - corners[right])
    return np.asarray(values[right] + share * (values[right - 1] - values[right]))


def _lowered_hull_corners(at: FloatArray, height: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners of the lower convex hull in exp(at), lowered by the little by which rounding puts it above a point.

    A point above the chord of its neighbours is above the hull: such points are left out together while they are many.
    """
    place, value = at, height
    while place.size > 2:
        with np.errstate(invalid="ignore"):
            share = np.expm1(place[1:-1] - place[2:]) / np.expm1(place[:-2] - place[2:])
        bent = value[1:-1] >= value[2:] + share * (value[:-2] - value[2:])
        if np.sum(bent) < _MANY * place.size:
            break
        kept = np.concatenate([[True], ~bent, [True]])
        place, value = place[kept], value[kept]
    places, heights = [float(place[0])], [float(value[0])]
    for x, y in zip(place[1:].tolist(), value[1:].tolist(), strict=True):
        if x <= places[-1]:
            if y >= heights[-1]:
                continue
            places.pop()
            heights.pop()
        while len(places) > 1:
            chord = y + math.expm1(places[-1] - x) / math.expm1(places[-2] - x) * (heights[-2] - y)
            if heights[-1] < chord * (1 - _BENT):
                break
            places.pop()
            heights.pop()
        places.append(x)
        heights.append(y)
    corners, values = np.array(places), np.array(heights)
    if corners.size == 1:
        corners, values = np.append(corners, corners + 1), np.append(values, values)
    above = _interpolated(corners, values, at)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nanmin(np.where(above > height, height / above, 1.0), initial=1.0)
    return corners, values * ratio
