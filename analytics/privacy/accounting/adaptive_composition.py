r"""Adaptive composition: many releases, the law of each of which may be chosen in view of the earlier outcomes.

Let :math:`\nu_1,\dots,\nu_G` be the laws of the privacy loss among which each release chooses. The greatest
hockey-stick curve over all adaptive choices obeys

.. math:: V_0(y) = (1-e^y)_+, \qquad V_{k+1}(y) = \max_g \int V_k(y-\ell)\,d\nu_g(\ell).

The composition of the maximum of the single curves is a bound, too, but it lets each outcome have its own law: it is
far too large when the laws differ and the releases are many.

Notes
-----
*Recursion.* Let L be the loss of the first release. Given its outcome, :math:`\sup_A P(A)-e^{y-L}Q(A)` over the
remaining releases is at most :math:`V_k(y-L)`. The mean of :math:`V_k(y-L)` under the P of the first release bounds the
divergence of the whole composition, also when the later laws are chosen with knowledge of the outcome. A greatest curve
is convex in :math:`e^y` and lies between :math:`(1-e^y)_+` and 1. Hence it is a positive mixture of functions
:math:`(1-e^{y-a})_+` and a constant, and replacing a law by one with a greater curve raises the mean of each of them.

*Grid.* When all losses are multiples of a step, :math:`V_{k+1}` at a multiple needs :math:`V_k` at multiples only.
Between multiples, the chords in :math:`e^y` are above the curve. The sums have non-negative terms, so they are
relatively accurate; they are rounded up. To the right of the last grid point the value at this point is an upper bound.
At y < 0 the value is :math:`1-e^y+e^yV(-y)`; the exact curve satisfies this identity when the family contains each pair
in both orders.

*Many releases.* The recursion computes the last b releases only. :math:`V_b` is the curve of a pair. The law of the
loss whose curve consists of the chords of :math:`V_b` is where
:mod:`airtight.analytics.privacy.accounting.fixed_choice` starts: that module composes all earlier releases with one
fixed law and adds a bound of what the choice of other laws could gain.

*Moments.* :math:`E e^{tL} \le \prod\max_g E_g e^{tL_g}` whatever the choices, and :math:`(1-e^{-x})_+ \le
\frac{t^t}{(1+t)^{1+t}}\,e^{tx}`. Together these inequalities give a second bound, which is the better one where only
the mean of the loss matters. The smaller of the two bounds is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.accounting import fixed_choice
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution
from airtight.analytics.rounding import UNIT

_BLOCK = 256  # releases at the end of the run that the recursion computes with a free choice of the law
_MANY = 10**6  # number of releases from which a quarter of that block suffices
_ROWS = 16  # grid points that one product of matrices computes
_WORK = 1e10  # multiplications that the recursion may cost; a block that needs more is halved
_NEGLIGIBLE = 1e-10  # share of delta that losses beyond the grid may cost
_RAISED = 1e-12  # mass of the least losses that is raised to one grid point
_TILTS = np.geomspace(1e-7, 1e7, 71)  # where the moment bound is evaluated: five tilts in a decade
# parts of a curve: where the first is computed, and the distance to the next; in standard deviations of the total loss
_FIRST_QUANTILE, _APART = 0.5, 2.5
_MOMENT_POINTS = 4096  # grid points of a curve of which only the moment bound is known


def epsilon(laws: Sequence[LossDistribution], delta: float, *, count: int) -> float:
    """Least epsilon >= 0 at `delta` of `count` releases, the law of each chosen adaptively; rounded up.

    Parameters
    ----------
    laws : sequence of LossDistribution
        On one common grid. Each law dominates a part of a family of pairs, and the family contains every pair in both
        orders.
    delta : float
        In (0, 1).
    count : int
        Number of releases.

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
    last, block = _last_releases(laws, level, n)
    if n == block:
        return min(_inverse(last, level, laws[0].step), moments)
    try:
        return min(
            fixed_choice.epsilon(laws, _law_of_chords(last, laws[0].step), level, count=n - block, tilt=tilt), moments
        )
    except ArithmeticError:  # too many points
        return moments


def curve(laws: Sequence[LossDistribution], delta: float, *, count: int) -> tuple[FloatArray, FloatArray]:
    """Increasing epsilons >= 0 and upper bounds of the greatest curve there; so are their chords in exp(epsilon).

    Parameters
    ----------
    laws, count
        As in :func:`epsilon`.
    delta : float
        In (0, 1). Order of magnitude of the least delta of interest; there the curve is as tight as :func:`epsilon`.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.loss_distribution import of_pair
    >>> response = of_pair([0.75, 0.25], [0.25, 0.75], step=np.log(3) / 8)
    >>> eps, upper = curve([response], 0.1, count=2)
    >>> round(float(np.interp(np.log(3), eps, upper)), 6), round(float(response.delta(np.log(3), count=2)), 6)
    (0.375, 0.375)
    """
    level, n = checks.scalar("delta", delta, "(0, 1)"), checks.count("count", count)
    laws = [_raised(law) for law in laws]
    step, (last, block) = laws[0].step, _last_releases(laws, level, n)
    if n == block:
        eps, upper = np.asarray(np.arange(last.size) * step, dtype=np.float64), last
    else:
        quantile_levels = np.exp(
            special.log_ndtr(-np.arange(_FIRST_QUANTILE, -special.ndtri(level) + 2 * _APART, _APART))
        )
        tilts = [
            tilt for quantile_level in quantile_levels if (tilt := _by_moments(laws, float(quantile_level), n)[1]) > 0
        ]
        try:
            eps, upper = fixed_choice.curve(laws, _law_of_chords(last, step), tilts, count=n - block)
        except ArithmeticError:  # too many points
            eps = np.linspace(0.0, min(_reach(laws, level * _NEGLIGIBLE, n), 1e300), _MOMENT_POINTS)
            upper = np.ones(eps.size)
    with np.errstate(over="ignore"):
        moments = np.exp(np.minimum(_log_by_moments(laws, eps, n), 0.0)) + _some_infinite(laws, n)
    return eps, np.minimum.accumulate(np.minimum(upper, moments))


def _last_releases(laws: Sequence[LossDistribution], delta: float, count: int) -> tuple[FloatArray, int]:
    """Greatest curve of the last releases, from the recursion, and the number of these releases."""
    step, block = laws[0].step, min(count, _BLOCK if count < _MANY else _BLOCK // 4)
    low, high = min(law.first for law in laws), max(law.first + law.mass.size - 1 for law in laws)
    while True:
        reach = _reach(laws, delta / count * block * _NEGLIGIBLE, block)
        points = int(min(reach / step, block * max(high, 0))) + 1
        if block == 1 or points * (high - low + 1.0) * len(laws) * block <= _WORK:
            return _curve(laws, block, points), block
        block //= 2


def _raised(law: LossDistribution) -> LossDistribution:
    """The law with a negligible mass of its least losses raised to one grid point."""
    first_kept = int(np.searchsorted(np.cumsum(law.mass), _RAISED))
    if not 0 < first_kept < law.mass.size:
        return law
    kept = law.mass[first_kept:].copy()
    kept[0] += float(np.sum(law.mass[:first_kept]))
    return LossDistribution(law.step, law.first + first_kept, kept, law.infinite)


def _curve(laws: Sequence[LossDistribution], count: int, points: int) -> FloatArray:
    """Values of V_k at 0, 1, ..., `points` steps, for k = `count`."""
    high = max(0, *(law.first + law.mass.size - 1 for law in laws))
    low = min(0, *(law.first for law in laws))
    laws_by_sign: tuple[list[LossDistribution], ...] = [], []
    for law in laws:  # True, which is 1, for laws whose greatest loss exceeds the magnitude of their least loss
        laws_by_sign[law.first + law.mass.size - 1 > -law.first].append(law)
    windows = [_Window.of(laws_of_sign, high) for laws_of_sign in laws_by_sign if laws_of_sign]
    y = np.arange(1, high + 1) * laws[0].step
    value = np.zeros(points + 1)
    for _ in range(count):
        at_positive = value[np.minimum(np.arange(1, high + 1), points)]
        at_negative = (-np.expm1(-y) + np.exp(-y) * at_positive)[::-1]
        extended = np.concatenate([at_negative, value, np.full(_ROWS - low, value[-1])])
        sums = np.maximum.reduce([window.greatest(extended, points + 1) for window in windows])
        value = np.minimum(sums * (1 + (high - low + _ROWS + 8) * UNIT), 1.0)  # the rounding of the sums, upward
    return value


@dataclass(frozen=True)
class _Window:
    """Laws whose losses lie in one window: one product of matrices sums at `_ROWS` neighbouring points."""

    kernel: FloatArray
    infinite: FloatArray
    start: int  # index of the first value that the window of point 0 needs

    @classmethod
    def of(cls, laws: Sequence[LossDistribution], high: int) -> _Window:
        """The matrix for values that begin `high` steps before point 0."""
        top = max(law.first + law.mass.size - 1 for law in laws)
        width = top - min(law.first for law in laws) + 1
        kernel = np.zeros((width + _ROWS - 1, _ROWS, len(laws)))
        for g, law in enumerate(laws):
            start = top - (law.first + law.mass.size - 1)  # rows in order of decreasing loss
            for row in range(_ROWS):
                kernel[row + start : row + start + law.mass.size, row, g] = law.mass[::-1]
        return cls(kernel.reshape(width + _ROWS - 1, -1), np.array([law.infinite for law in laws]), high - top)

    def greatest(self, values: FloatArray, points: int) -> FloatArray:
        """Greatest sum of mass times value over the laws, at each of the first `points` points."""
        width = self.kernel.shape[0]
        rows = -(-points // _ROWS)
        padded = np.pad(values[self.start :], (0, _ROWS), mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, width)[: rows * _ROWS : _ROWS]
        sums = (windows @ self.kernel).reshape(rows * _ROWS, -1)[:points]
        return np.asarray(np.max(sums + self.infinite, axis=1))


def _law_of_chords(curve: FloatArray, step: float) -> LossDistribution:
    """Loss distribution from the dots of a symmetric curve; its mass at -y is exp(-y) times that at y."""
    width, ratio = np.expm1(step), np.exp(step)
    drop = np.append(curve[:-1] - curve[1:], 0.0)
    error = 16 * UNIT * ratio * curve / width  # rounding of the second differences: the masses are raised by it
    above = np.maximum(ratio * drop[:-1] - drop[1:], 0.0) / width + error[:-1]
    middle = max(1 - ((ratio + 1) * curve[0] - 2 * curve[1]) / width, 0.0) + float(error[0])
    below = above * np.exp(-np.arange(1, curve.size) * step)
    return LossDistribution(step, 1 - curve.size, np.concatenate([below[::-1], [middle], above]), float(curve[-1]))


def _inverse(curve: FloatArray, level: float, step: float) -> float:
    """Where the chords, in exp(y), of a decreasing curve reach the level, rounded up; infinite if they do not."""
    i = int(np.argmax(curve <= level))
    if curve[i] > level:
        return np.inf
    if i == 0:
        return 0.0
    fraction = (curve[i - 1] - level) / (curve[i - 1] - curve[i])
    return float(((i - 1) * step + np.log1p(fraction * np.expm1(step))) * (1 + 8 * UNIT))


def _cumulants(laws: Sequence[LossDistribution], tilts: FloatArray) -> FloatArray:
    """Logarithm of the greatest moment generating function of the laws, at each tilt."""
    greatest = np.full(tilts.size, -np.inf)
    for law in laws:
        with np.errstate(divide="ignore"):
            log_mass = np.log(law.mass)
        exponent = log_mass + np.multiply.outer(tilts, law.losses)
        top = np.max(exponent, axis=1)
        greatest = np.maximum(greatest, top + np.log(np.sum(np.exp(exponent - top[:, None]), axis=1)))
    return greatest


def _by_moments(laws: Sequence[LossDistribution], delta: float, count: int) -> tuple[float, float]:
    """Moment bound of epsilon, and the tilt that gives it."""
    finite_delta = (delta - _some_infinite(laws, count)) * (1 - UNIT)
    if finite_delta <= 0:
        return np.inf, 0.0
    tilts = _TILTS
    for _ in range(4):
        total = count * _cumulants(laws, tilts) * (1 + 1e-12) + count * 1e-14  # relative and absolute rounding error
        bound = (total + tilts * np.log(tilts) - (1 + tilts) * np.log1p(tilts) - np.log(finite_delta)) / tilts
        best = int(np.argmin(bound))
        epsilon_and_tilt = max(float(bound[best]), 0.0), float(tilts[best])
        tilts = np.geomspace(tilts[max(best - 1, 0)], tilts[min(best + 1, tilts.size - 1)], 17)
    return epsilon_and_tilt


def _log_by_moments(laws: Sequence[LossDistribution], eps: FloatArray, count: int) -> FloatArray:
    """Logarithm of the moment bound of delta at each epsilon, infinite losses left out."""
    total = count * _cumulants(laws, _TILTS) * (1 + 1e-12) + count * 1e-14
    scale = _TILTS * np.log(_TILTS) - (1 + _TILTS) * np.log1p(_TILTS)
    log_delta = np.zeros(eps.size)
    for value, tilt in zip(total + scale, _TILTS, strict=True):
        np.minimum(log_delta, value - tilt * eps, out=log_delta)
    return log_delta + 1e-12 * (1 + np.abs(log_delta))


def _some_infinite(laws: Sequence[LossDistribution], count: int) -> float:
    """Upper bound of the probability that some loss is infinite."""
    with np.errstate(divide="ignore"):
        computed = -float(np.expm1(count * np.log1p(-min(max(law.infinite for law in laws), 1.0))))
    return min(computed * (1 + 8 * UNIT), 1.0)


def _reach(laws: Sequence[LossDistribution], delta: float, count: int) -> float:
    """Loss of `count` releases that is exceeded with probability at most `delta`, infinite losses left out."""
    bound = (count * _cumulants(laws, _TILTS) - np.log(delta)) / _TILTS
    return max(float(np.min(bound)), 0.0)
