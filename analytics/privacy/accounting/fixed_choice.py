r"""Long runs of releases with a choice of several laws: the bound of one fixed law, and what the choice can add to it.

Let :math:`T f(y) = \max_g \int f(y-\ell)\,d\nu_g(\ell)` be the step to one more release
(:mod:`airtight.analytics.privacy.accounting.adaptive_composition`), and A the same step for one fixed law. Let
:math:`\varphi_0 = \int (1-e^{y-\ell})_+\,d\lambda(\ell)` be at least the greatest curve of the releases that come last.
Then after n more releases, at any tilt t > 0 and with :math:`M = \max_g E_g e^{tL}`,

.. math:: T^n\varphi_0(y) \le A^n\varphi_0(y) + e^{-ty} \sum_{k<n} M^{n-1-k}\,\iota_k,
          \qquad \iota_k \ge \sup_y e^{ty}\,(T-A)A^k\varphi_0(y).

Notes
-----
*Proof.* By induction. T is monotone and sublinear. Hence T of the right-hand side is at most
:math:`A^{n+1}\varphi_0 + (T-A)A^n\varphi_0` plus the sum with each term times M, since T of :math:`e^{-ty}` is
:math:`M e^{-ty}`.

*Which loss.* The sum is evaluated at one loss and falls from there on, as T of :math:`e^{-ty}` does. So it bounds what the
choice adds at that loss and beyond; no result below it is returned.

*Few suprema.* :math:`(\nu_g-A)*A^k\varphi_0` is the law :math:`\lambda*A^k` applied to the difference C of two single
curves, and C vanishes beyond the greatest loss. One more A multiplies the supremum by at most :math:`E_A e^{tL}`; so
the supremum for k is used for all later releases up to the next k for which one is computed. It falls like 1/k, and
much faster as soon as the drift of the loss has moved the law away from C. Hence the choice soon adds only a negligible
amount, and the sum grows like log n.

*Left of all losses* C is :math:`c - e^y q`, where c is the difference of the total masses under P and q that under Q.
At negative y only the parts of the curves above such lines are computed; they are sums of positive terms. Both c and q
vanish except for infinite losses and losses beyond the grid; a bound of their share of C is added to the error.

*Infinite losses* occur in some release with probability at most :math:`1-\prod(1-\nu_g\{\infty\})`, whatever the
choices.

*Rounding.* The curves are sums of sums of positive terms, hence relatively accurate. The products in Fourier space have
the error that :class:`~airtight.analytics.privacy.accounting.loss_distribution.Tilted` states. Between grid points the
true curve is below its chords.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import fft

from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.accounting import connect_the_dots
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution, Product
from airtight.analytics.rounding import UNIT

_GROWTH = 4  # ratio of the numbers k of two releases whose suprema are computed one after the other
_FIRST = 16  # number of releases for which the first supremum is used
_ENOUGH = 1e-4  # share of delta below which one supremum is used for all remaining releases
_EACH = 1e-14  # bound on the relative rounding error of each release
_MOST = 1e200  # greatest value of a mass, which prevents an overflow; such a mass makes the bound useless


def epsilon(
    laws: Sequence[LossDistribution], last: LossDistribution, delta: float, *, count: int, tilt: float
) -> float:
    """Least epsilon >= 0 at `delta` of `count` releases with any of the laws and one with the last law, rounded up.

    Parameters
    ----------
    laws : sequence of LossDistribution
        On one grid; each release may choose any of them, knowing the earlier outcomes.
    last : LossDistribution
        On the same grid: dominates the releases that come last.
    delta : float
        In (0, 1).
    count : int
        Positive.
    tilt : float
        t > 0. Every tilt gives a valid bound; the tilt of Chernoff's bound gives the tightest one.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.loss_distribution import gaussian
    >>> weak, strong = gaussian(0.09, step=0.002), gaussian(0.1, step=0.002)
    >>> epsilon([weak, strong], strong, 1e-5, count=99, tilt=4.0)  # the strong one alone: 4.37717...
    4.377...
    """
    choice = _Chosen.of(laws, last, count, tilt)
    finite_delta = _finite_delta(laws, last, delta, count)
    if finite_delta <= 0:
        return math.inf
    loss = float(choice.product.epsilon(finite_delta)) - last.step
    added = choice.added(loss, finite_delta)
    # what the choice adds is bounded at this loss and falls from there on, so no result below it is returned
    return max(float(choice.product.epsilon(finite_delta - added)), loss) if added < finite_delta else math.inf


def curve(
    laws: Sequence[LossDistribution], last: LossDistribution, tilts: Sequence[float], *, count: int
) -> tuple[FloatArray, FloatArray]:
    """Consecutive multiples of the step, from 0 or a greater one on, and an upper bound of the greatest curve at each.

    Parameters
    ----------
    laws, last, count
        As in :func:`epsilon`.
    tilts : sequence of float
        All positive. Each tilt gives a bound for the losses that are likely under it; without any tilt the bound is 1.

    Raises
    ------
    ConvergenceError
        When there are too many grid points.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.loss_distribution import gaussian
    >>> weak, strong = gaussian(0.09, step=0.002), gaussian(0.1, step=0.002)
    >>> eps, upper = curve([weak, strong], strong, [1.0, 4.0], count=99)
    >>> float(np.interp(1.0, eps, upper))  # the strong one alone: 0.126936...
    0.1269...
    """
    parts = []
    for tilt in tilts:
        choice = _Chosen.of(laws, last, count, tilt)
        first, value, likely_loss = choice.tail()
        losses = (first + np.arange(value.size)) * last.step
        added = choice.added(likely_loss, float(np.interp(likely_loss, losses, value)))
        with np.errstate(over="ignore", invalid="ignore"):
            gain = np.exp(np.minimum(np.log(added) + tilt * (likely_loss - losses), 1.0)) if added > 0 else 0.0
        parts.append((first, value + gain))
    low = max(min((first for first, _ in parts), default=0), 0)
    upper = np.ones(max((first + value.size for first, value in parts), default=2) - low)
    for first, value in parts:
        start = max(low - first, 0)
        where = slice(first + start - low, first + value.size - low)
        upper[where] = np.minimum(upper[where], value[start:])
        upper[where.stop :] = np.minimum(upper[where.stop :], value[-1])
    total = (upper - min(_finite_delta(laws, last, 0.0, count), 0.0)) * math.exp(count * _EACH)
    eps = np.asarray((low + np.arange(upper.size)) * last.step, dtype=np.float64)
    return eps, np.minimum(np.minimum.accumulate(total), 1.0)


@dataclass(frozen=True)
class _Chosen:
    """One fixed law in all releases, and the last law, at one tilt; and what other choices could gain.

    Infinite losses are left out.
    """

    product: Product
    gains: list[_Gain]
    tilt: float
    log_moment: float  # log of the greatest E exp(t L) of the last and of all other releases except one

    @classmethod
    def of(cls, laws: Sequence[LossDistribution], last: LossDistribution, count: int, tilt: float) -> _Chosen:
        cumulants = [law.cumulant(tilt)[0] for law in laws]
        best = int(np.argmax(cumulants))
        fixed, start = replace(laws[best], infinite=0.0), replace(last, infinite=0.0)
        log_moment = start.cumulant(tilt)[0] + (count - 1) * cumulants[best] + count * _EACH
        gains = [_Gain.of(law, fixed, tilt) for law in laws if law is not laws[best]]
        return cls(Product(((fixed, count), (start, 1))), gains, tilt, log_moment)

    def added(self, loss: float, level: float) -> float:
        """Upper bound of what the choice adds to delta at a loss; infinite if it is not below `level`."""
        (fixed, count), start = self.product.factors
        unit = math.exp(min(self.log_moment - self.tilt * loss, 700.0))
        added, covered = 0.0, 0
        while covered < count:
            gain, error = _supremum(Product(((fixed, covered), start)[covered == 0 :]), self.gains, self.tilt)
            length = min(max(_FIRST, (_GROWTH - 1) * covered), count - covered)
            if gain <= error or unit * gain * (count - covered) <= _ENOUGH * level:
                length = count - covered
            added, covered = added + unit * (gain + error) * length, covered + length
            if not added < level:
                return math.inf
        return added

    def tail(self) -> tuple[int, FloatArray, float]:
        """For the fixed law: first grid point, upper bounds of the curve from there on, and the tilted mean loss."""
        product, tilt = self.product, self.tilt
        value, mean, _ = product.cumulant(tilt)
        composed = product.tilted(tilt)
        losses = (composed.first + np.arange(composed.law.size)) * product.step
        with np.errstate(over="ignore", under="ignore"):
            scale = np.exp(np.minimum(value + product.rounding(tilt) - tilt * losses, 700.0))
            mass = np.minimum(composed.law * scale, _MOST)
            infinite = min(float(composed.beyond * scale[-1]), _MOST)
            values = connect_the_dots.summed(mass, infinite, product.step)[0] * (1 + (8 * losses.size + 64) * UNIT)
        return composed.first, values, mean


def _finite_delta(laws: Sequence[LossDistribution], last: LossDistribution, delta: float, count: int) -> float:
    """What remains of delta when the probability of infinite losses is taken off."""
    with np.errstate(divide="ignore"):
        finite = np.log1p(-last.infinite) + count * np.log1p(-min(max(law.infinite for law in laws), 1.0))
    excess = max(float(np.sum(law.mass)) + law.infinite for law in laws) - 1
    return float(delta * np.exp(-count * _EACH) + np.expm1(finite) * np.exp(count * max(excess, 0.0)))


@dataclass(frozen=True)
class _Gain:
    """exp(t y) times the difference of two curves, at consecutive multiples of the step; and its error bound."""

    curve: FloatArray
    error: float

    @classmethod
    def of(cls, law: LossDistribution, other: LossDistribution, tilt: float) -> _Gain:
        low = min(law.first, other.first, 0)
        high = max(law.first + law.mass.size, other.first + other.mass.size, 1)
        a, b = (np.pad(one.mass, (one.first - low, high - one.first - one.mass.size)) for one in (law, other))
        y = np.asarray(np.arange(low, high) * law.step, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            upper, lower = (np.stack([curve_of(mass, y, law.step) for mass in (a, b)]) for curve_of in (_upper, _lower))
            curves = np.where(y < 0, lower, upper)
            growth = np.exp(tilt * y)
            curve, size = (curves[0] - curves[1]) * growth, float(np.max(curves * growth))
        missing = max(math.fsum(a - b), 0.0) + max(math.fsum((b - a) * np.exp(-y)), 0.0)
        error = missing + (2 * y.size + 16) * UNIT * size + 16 * UNIT
        return cls(curve, error if np.all(np.isfinite(curve)) else np.inf)


def _upper(mass: FloatArray, y: FloatArray, step: float) -> FloatArray:
    """Sums of mass times (1 - exp(y - loss))_+ at each loss y."""
    above = np.append(np.cumsum(mass[:0:-1])[::-1], 0.0)
    return np.asarray(-np.expm1(-step) * np.exp(y) * np.cumsum((np.exp(-y) * above)[::-1])[::-1])


def _lower(mass: FloatArray, y: FloatArray, step: float) -> FloatArray:
    """Sums of mass times (exp(y - loss) - 1)_+ at each loss y."""
    below = np.append(0.0, np.cumsum(mass[:-1]))
    return np.asarray(np.expm1(step) * np.exp(y) * np.cumsum(np.exp(-y) * below))


def _supremum(product: Product, gains: Sequence[_Gain], tilt: float) -> tuple[float, float]:
    """Supremum of the gains under the law of the product, both tilted, the law normalised; and its error bound."""
    if not all(np.isfinite(gain.error) for gain in gains):
        return np.inf, np.inf
    composed = product.tilted(tilt)
    size = fft.next_fast_len(composed.law.size + max((gain.curve.size for gain in gains), default=1), real=True)
    spectrum = fft.rfft(composed.law, size)
    norm = 8 * UNIT * np.log2(size) * float(np.linalg.norm(composed.law))
    supremum = error = 0.0
    for gain in gains:
        greatest = float(np.max(fft.irfft(spectrum * fft.rfft(gain.curve, size), size)))
        outside = 2 * (composed.below + composed.beyond) * float(np.max(np.abs(gain.curve)))
        rounding = 2 * composed.error * float(np.sum(np.abs(gain.curve))) + norm * float(np.linalg.norm(gain.curve))
        supremum, error = max(supremum, greatest), max(error, outside + rounding + gain.error)
    return supremum, error
