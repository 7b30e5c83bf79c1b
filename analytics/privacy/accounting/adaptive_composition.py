r"""Adaptive composition: what many releases leak together when each may be chosen in view of the earlier outcomes.

With laws :math:`\nu_1,\dots,\nu_G` of the loss, the greatest hockey-stick curve over adaptive choices obeys

.. math:: V_0(y) = (1-e^y)_+, \qquad V_{k+1}(y) = \max_g \int V_k(y-\ell)\,d\nu_g(\ell).

Composing the maximum of the single curves instead lets every outcome have another law: far too much when the laws differ and the
releases are many.

Notes
-----
*Recursion.* Let L be the loss of the first release. Given its outcome, :math:`\sup_A P(A)-e^{y-L}Q(A)` over what follows is at
most :math:`V_k(y-L)`; the mean of that under the first P bounds the divergence of the whole, also when later laws are chosen
with knowledge of the outcome. A greatest curve is convex in :math:`e^y` and between :math:`(1-e^y)_+` and 1, hence a positive
mixture of functions :math:`(1-e^{y-a})_+` and a constant: replacing a law by one with a greater curve raises each mean.

*Grid.* When the laws sit on multiples of a step, :math:`V_{k+1}` at such a multiple needs :math:`V_k` at multiples only;
between them the chords in :math:`e^y` are above. The sums have non-negative terms, are relatively accurate, and are rounded up.
Beyond the last y the value at it is an upper bound. At y < 0 the value is :math:`1-e^y+e^yV(-y)`, as holds of the truth when
the family contains each pair in both orders.

*Many releases.* The recursion serves the last ones. :math:`V_b` is the curve of a pair, and a law with its chords starts
:mod:`airtight.analytics.privacy.accounting.steady_choice` for all before: one law throughout, and a bound of what
choosing could add.

*Moments.* :math:`E e^{tL} \le \prod\max_g E_g e^{tL_g}` whatever the choices, and
:math:`(1-e^{-x})_+ \le \frac{t^t}{(1+t)^{1+t}}\,e^{tx}`: better where the mean of the loss is all that counts. The least of both
bounds is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.accounting import steady_choice
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution
from airtight.analytics.rounding import UNIT

_BLOCK = 256  # releases with a free choice
_MANY = 10**6  # releases among which a quarter of them will do
_ROWS = 16  # points at once
_WORK = 1e10  # multiplications that a block may cost
_NEGLIGIBLE = 1e-10  # share of delta that losses beyond the grid may cost
_RAISED = 1e-12  # mass of the least losses that is not told apart
_ORDERS = np.geomspace(1e-7, 1e7, 71)
_FIRST_QUANTILE, _APART = 0.5, 2.5  # of the total loss, in deviations: about which parts of a curve are computed
_BY_MOMENTS = 4096  # points of a curve of which nothing else is known


def epsilon(laws: Sequence[LossDistribution], delta: float, *, count: int) -> float:
    """The least epsilon >= 0 at `delta` of `count` releases, each with any of the laws, chosen adaptively; rounded up.

    Parameters
    ----------
    laws : sequence of LossDistribution
        On one grid, each dominating some of a family of pairs that contains every pair in both orders.
    delta : float
        In (0, 1).
    count : int

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.loss_distribution import of_pair
    >>> response = of_pair([0.75, 0.25], [0.25, 0.75], step=np.log(3) / 8)
    >>> round(epsilon([response], 0.1, count=2), 6), round(float(response.epsilon(0.1, count=2)), 6)
    (2.00148, 2.00148)
    """
    level, n = checks.scalar("delta", delta, "(0, 1)"), checks.count("count", count)
    laws = [_raised(law) for law in laws]
    moments, tilt = _by_moments(laws, level, n)
    if moments == np.inf:
        return moments
    last, block = _last(laws, level, n)
    if n == block:
        return min(_inverse(last, level, laws[0].step), moments)
    try:
        return min(steady_choice.epsilon(laws, _law(last, laws[0].step), level, count=n - block, tilt=tilt), moments)
    except ArithmeticError:  # too many points
        return moments


def curve(laws: Sequence[LossDistribution], delta: float, *, count: int) -> tuple[FloatArray, FloatArray]:
    """Rising epsilons >= 0 and a delta at each, nowhere below the greatest curve; nor are the chords in exp(epsilon).

    Parameters
    ----------
    laws, count
        As of :func:`epsilon`.
    delta : float
        In (0, 1): about the least that matters, where the curve is as good as :func:`epsilon`.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.loss_distribution import of_pair
    >>> response = of_pair([0.75, 0.25], [0.25, 0.75], step=np.log(3) / 8)
    >>> eps, found = curve([response], 0.1, count=2)
    >>> round(float(np.interp(np.log(3), eps, found)), 6), round(float(response.delta(np.log(3), count=2)), 6)
    (0.375, 0.375)
    """
    level, n = checks.scalar("delta", delta, "(0, 1)"), checks.count("count", count)
    laws = [_raised(law) for law in laws]
    step, (last, block) = laws[0].step, _last(laws, level, n)
    if n == block:
        eps, found = np.asarray(np.arange(last.size) * step, dtype=np.float64), last
    else:
        levels = np.exp(special.log_ndtr(-np.arange(_FIRST_QUANTILE, -special.ndtri(level) + 2 * _APART, _APART)))
        tilts = [tilt for each in levels if (tilt := _by_moments(laws, float(each), n)[1]) > 0]
        try:
            eps, found = steady_choice.curve(laws, _law(last, step), tilts, count=n - block)
        except ArithmeticError:  # too many points
            eps = np.linspace(0.0, min(_reach(laws, level * _NEGLIGIBLE, n), 1e300), _BY_MOMENTS)
            found = np.ones(eps.size)
    with np.errstate(over="ignore"):
        moments = np.exp(np.minimum(_log_by_moments(laws, eps, n), 0.0)) + _some_infinite(laws, n)
    return eps, np.minimum.accumulate(np.minimum(found, moments))


def _last(laws: Sequence[LossDistribution], level: float, n: int) -> tuple[FloatArray, int]:
    """The greatest curve of the last releases with a free choice, and how many these are."""
    step, block = laws[0].step, min(n, _BLOCK if n < _MANY else _BLOCK // 4)
    low, high = min(law.first for law in laws), max(law.first + law.mass.size - 1 for law in laws)
    while True:
        reach = _reach(laws, level / n * block * _NEGLIGIBLE, block)
        points = int(min(reach / step, block * max(high, 0))) + 1
        if block == 1 or points * (high - low + 1.0) * len(laws) * block <= _WORK:
            return _curve(laws, block, points), block
        block //= 2


def _raised(law: LossDistribution) -> LossDistribution:
    """With a negligible part of the least losses raised."""
    bottom = int(np.searchsorted(np.cumsum(law.mass), _RAISED))
    if not 0 < bottom < law.mass.size:
        return law
    kept = law.mass[bottom:].copy()
    kept[0] += float(np.sum(law.mass[:bottom]))
    return LossDistribution(law.step, law.first + bottom, kept, law.infinite)


def _curve(laws: Sequence[LossDistribution], count: int, points: int) -> FloatArray:
    """V_k at 0, ..., `points` steps for k = `count`."""
    high = max(0, *(law.first + law.mass.size - 1 for law in laws))
    low = min(0, *(law.first for law in laws))
    sides: tuple[list[LossDistribution], ...] = [], []
    for law in laws:  # most losses in question above zero, or below
        sides[law.first + law.mass.size - 1 > -law.first].append(law)
    windows = [_Window.of(side, high) for side in sides if side]
    y = np.arange(1, high + 1) * laws[0].step
    value = np.zeros(points + 1)
    for _ in range(count):
        before = value[np.minimum(np.arange(1, high + 1), points)]
        negative = (-np.expm1(-y) + np.exp(-y) * before)[::-1]
        extended = np.concatenate([negative, value, np.full(_ROWS - low, value[-1])])
        sums = np.maximum.reduce([window.greatest(extended, points + 1) for window in windows])
        value = np.minimum(sums * (1 + (high - low + _ROWS + 8) * UNIT), 1.0)
    return value


@dataclass(frozen=True)
class _Window:
    """Laws whose losses lie within one window, for sums at `_ROWS` neighbouring points by one product of matrices."""

    kernel: FloatArray
    infinite: FloatArray
    start: int

    @classmethod
    def of(cls, laws: Sequence[LossDistribution], high: int) -> _Window:
        """For values that begin `high` steps below the first point asked for."""
        top = max(law.first + law.mass.size - 1 for law in laws)
        width = top - min(law.first for law in laws) + 1
        kernel = np.zeros((width + _ROWS - 1, _ROWS, len(laws)))
        for g, law in enumerate(laws):
            start = top - (law.first + law.mass.size - 1)  # greatest loss first
            for row in range(_ROWS):
                kernel[row + start : row + start + law.mass.size, row, g] = law.mass[::-1]
        return cls(kernel.reshape(width + _ROWS - 1, -1), np.array([law.infinite for law in laws]), high - top)

    def greatest(self, values: FloatArray, points: int) -> FloatArray:
        width = self.kernel.shape[0]
        rows = -(-points // _ROWS)
        padded = np.pad(values[self.start :], (0, _ROWS), mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, width)[: rows * _ROWS : _ROWS]
        sums = (windows @ self.kernel).reshape(rows * _ROWS, -1)[:points]
        return np.asarray(np.max(sums + self.infinite, axis=1))


def _law(curve: FloatArray, step: float) -> LossDistribution:
    """Whose hockey-stick curve is the chords of a symmetric one: the mass at -y is exp(-y) times that at y."""
    width, ratio = np.expm1(step), np.exp(step)
    fall = np.append(curve[:-1] - curve[1:], 0.0)
    error = 16 * UNIT * ratio * curve / width
    above = np.maximum(ratio * fall[:-1] - fall[1:], 0.0) / width + error[:-1]
    middle = max(1 - ((ratio + 1) * curve[0] - 2 * curve[1]) / width, 0.0) + float(error[0])
    below = above * np.exp(-np.arange(1, curve.size) * step)
    return LossDistribution(step, 1 - curve.size, np.concatenate([below[::-1], [middle], above]), float(curve[-1]))


def _inverse(curve: FloatArray, level: float, step: float) -> float:
    """Where the chords of a falling curve in exp(y) come down to the level."""
    i = int(np.argmax(curve <= level))
    if curve[i] > level:
        return np.inf
    if i == 0:
        return 0.0
    share = (curve[i - 1] - level) / (curve[i - 1] - curve[i])
    return float(((i - 1) * step + np.log1p(share * np.expm1(step))) * (1 + 8 * UNIT))


def _cumulants(laws: Sequence[LossDistribution], tilts: FloatArray) -> FloatArray:
    """log of the greatest moment generating function at each tilt."""
    greatest = np.full(tilts.size, -np.inf)
    for law in laws:
        with np.errstate(divide="ignore"):
            log_mass = np.log(law.mass)
        exponent = log_mass + np.multiply.outer(tilts, law.losses)
        top = np.max(exponent, axis=1)
        greatest = np.maximum(greatest, top + np.log(np.sum(np.exp(exponent - top[:, None]), axis=1)))
    return greatest


def _by_moments(laws: Sequence[LossDistribution], delta: float, count: int) -> tuple[float, float]:
    """The bound, and the tilt that gives it."""
    left = delta - _some_infinite(laws, count)
    if left <= 0:
        return np.inf, 0.0
    tilts = _ORDERS
    for _ in range(4):
        total = count * _cumulants(laws, tilts) * (1 + 1e-12) + count * 1e-14
        bound = (total + tilts * np.log(tilts) - (1 + tilts) * np.log1p(tilts) - np.log(left)) / tilts
        best = int(np.argmin(bound))
        found = max(float(bound[best]), 0.0), float(tilts[best])
        tilts = np.geomspace(tilts[max(best - 1, 0)], tilts[min(best + 1, tilts.size - 1)], 17)
    return found


def _log_by_moments(laws: Sequence[LossDistribution], eps: FloatArray, count: int) -> FloatArray:
    """log of a bound on delta at each epsilon, without infinite losses."""
    total = count * _cumulants(laws, _ORDERS) * (1 + 1e-12) + count * 1e-14
    scale = _ORDERS * np.log(_ORDERS) - (1 + _ORDERS) * np.log1p(_ORDERS)
    found = np.zeros(eps.size)
    for value, tilt in zip(total + scale, _ORDERS, strict=True):
        np.minimum(found, value - tilt * eps, out=found)
    return found + 1e-12 * (1 + np.abs(found))


def _some_infinite(laws: Sequence[LossDistribution], count: int) -> float:
    """Probability of an infinite loss, at most."""
    with np.errstate(divide="ignore"):
        return -float(np.expm1(count * np.log1p(-min(max(law.infinite for law in laws), 1.0))))


def _reach(laws: Sequence[LossDistribution], delta: float, count: int) -> float:
    """A loss of `count` releases beyond which there is at most `delta` besides what is infinite."""
    bound = (count * _cumulants(laws, _ORDERS) - np.log(delta)) / _ORDERS
    return max(float(np.min(bound)), 0.0)
