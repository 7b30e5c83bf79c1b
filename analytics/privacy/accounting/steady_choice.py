r"""Long runs of releases with a choice of several laws: what one law in all of them leaks, and what choosing can add to it.

Let :math:`T f(y) = \max_g \int f(y-\ell)\,d\nu_g(\ell)` be one release more
(:mod:`airtight.analytics.privacy.accounting.adaptive_composition`), A the same for one fixed law, and let
:math:`\varphi_0 = \int (1-e^{y-\ell})_+\,d\lambda(\ell)` be at least the greatest curve of the releases that come last. Then
after n releases more, at any tilt t > 0 and with :math:`M = \max_g E_g e^{tL}`,

.. math:: T^n\varphi_0(y) \le A^n\varphi_0(y) + e^{-ty} \sum_{k<n} M^{n-1-k}\,\iota_k,
          \qquad \iota_k \ge \sup_y e^{ty}\,(T-A)A^k\varphi_0(y).

Notes
-----
*Proof.* By induction: T is monotone and sublinear, so T of the right-hand side is at most
:math:`A^{n+1}\varphi_0 + (T-A)A^n\varphi_0` plus the sum, each term times M, which is what T makes of :math:`e^{-ty}`.

*Few suprema.* :math:`(\nu_g-A)*A^k\varphi_0` is the law :math:`\lambda*A^k` against the difference C of two single curves,
which vanishes beyond the greatest loss. A further A multiplies the supremum by at most :math:`E_A e^{tL}`: that of k serves
all later releases up to the next one computed. It falls like 1/k, and much faster once the drift of the loss moves the law
away from C: what choosing adds is soon negligible, and the sum grows like log n.

*Left of all losses* C is :math:`c - e^y q`, with c the difference of the masses under P and q of those under Q, and at
negative y what is above that has positive terms only; both vanish but for what is infinite or beyond the grid.

*Infinite losses* happen in some release with probability at most :math:`1-\prod(1-\nu_g\{\infty\})`, whatever the choices.

*Rounding.* Curves are sums of sums of positive terms, relatively accurate; the products in Fourier space have the error
that :class:`~airtight.analytics.privacy.accounting.loss_distribution.Tilted` states. Between grid points the truth is below
its chords.
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

_GROWTH = 4  # from one release whose supremum is computed to the next
_FIRST = 16
_ENOUGH = 1e-4  # share of delta below which a supremum serves all releases that are left
_EACH = 1e-14  # relative rounding for each release
_MOST = 1e200  # a mass that says nothing


def epsilon(
    laws: Sequence[LossDistribution], last: LossDistribution, delta: float, *, count: int, tilt: float
) -> float:
    """The least epsilon >= 0 at `delta` of `count` releases with any of the laws and one with the last; rounded up.

    Parameters
    ----------
    laws : sequence of LossDistribution
        On one grid; each may be chosen, knowing what came before.
    last : LossDistribution
        On the same grid: dominates what comes last.
    delta : float
        In (0, 1).
    count : int
        Positive.
    tilt : float
        t > 0. Any is right; best is the one of Chernoff's bound.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.loss_distribution import gaussian
    >>> weak, strong = gaussian(0.09, step=0.002), gaussian(0.1, step=0.002)
    >>> epsilon([weak, strong], strong, 1e-5, count=99, tilt=4.0)  # the strong one alone: 4.37717...
    4.377...
    """
    chosen = _Chosen.of(laws, last, count, tilt)
    left = _left(laws, last, delta, count)
    if left <= 0:
        return math.inf
    added = chosen.added(chosen.product.epsilon(left) - last.step, left)
    return float(chosen.product.epsilon(left - added)) if added < left else math.inf


def curve(
    laws: Sequence[LossDistribution], last: LossDistribution, tilts: Sequence[float], *, count: int
) -> tuple[FloatArray, FloatArray]:
    """Consecutive multiples of the step, from 0 or greater ones, and an upper end of the greatest curve at each.

    Parameters
    ----------
    laws, last, count
        As of :func:`epsilon`.
    tilts : sequence of float
        All positive. Each serves the losses that are likely under it; with none nothing is known.

    Raises
    ------
    ConvergenceError
        When there are too many points.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.loss_distribution import gaussian
    >>> weak, strong = gaussian(0.09, step=0.002), gaussian(0.1, step=0.002)
    >>> eps, found = curve([weak, strong], strong, [1.0, 4.0], count=99)
    >>> float(np.interp(1.0, eps, found))  # the strong one alone: 0.126936...
    0.1269...
    """
    parts = []
    for tilt in tilts:
        chosen = _Chosen.of(laws, last, count, tilt)
        first, value, aim = chosen.tail()
        losses = (first + np.arange(value.size)) * last.step
        added = chosen.added(aim, float(np.interp(aim, losses, value)))
        with np.errstate(over="ignore", invalid="ignore"):
            room = np.exp(np.minimum(np.log(added) + tilt * (aim - losses), 1.0)) if added > 0 else 0.0
        parts.append((first, value + room))
    low = max(min((first for first, _ in parts), default=0), 0)
    found = np.ones(max((first + value.size for first, value in parts), default=2) - low)
    for first, value in parts:
        start = max(low - first, 0)
        where = slice(first + start - low, first + value.size - low)
        found[where] = np.minimum(found[where], value[start:])
        found[where.stop :] = np.minimum(found[where.stop :], value[-1])
    total = (found - min(_left(laws, last, 0.0, count), 0.0)) * math.exp(count * _EACH)
    eps = np.asarray((low + np.arange(found.size)) * last.step, dtype=np.float64)
    return eps, np.minimum(np.minimum.accumulate(total), 1.0)


@dataclass(frozen=True)
class _Chosen:
    """One law in all releases and the last, infinite losses apart, at one tilt; and what choosing others could gain."""

    product: Product
    gains: list[_Gain]
    tilt: float
    log_moment: float  # of the last and of all releases but one, whichever are chosen

    @classmethod
    def of(cls, laws: Sequence[LossDistribution], last: LossDistribution, count: int, tilt: float) -> _Chosen:
        cumulants = [law.cumulant(tilt)[0] for law in laws]
        best = int(np.argmax(cumulants))
        fixed, start = replace(laws[best], infinite=0.0), replace(last, infinite=0.0)
        log_moment = start.cumulant(tilt)[0] + (count - 1) * cumulants[best] + count * _EACH
        gains = [_Gain.of(law, fixed, tilt) for law in laws if law is not laws[best]]
        return cls(Product(((fixed, count), (start, 1))), gains, tilt, log_moment)

    def added(self, loss: float, level: float) -> float:
        """What choosing adds at a loss, at most, where `level` is what matters; infinite if that is exceeded."""
        (fixed, count), start = self.product.factors
        unit = math.exp(min(self.log_moment - self.tilt * loss, 700.0))
        added, done = 0.0, 0
        while done < count:
            gain, error = _supremum(Product(((fixed, done), start)[done == 0 :]), self.gains, self.tilt)
            length = min(max(_FIRST, (_GROWTH - 1) * done), count - done)
            if gain <= error or unit * gain * (count - done) <= _ENOUGH * level:
                length = count - done
            added, done = added + unit * (gain + error) * length, done + length
            if not added < level:
                return math.inf
        return added

    def tail(self) -> tuple[int, FloatArray, float]:
        """Of the one law: its curve from above at consecutive multiples of the step, and the likeliest of them."""
        product, tilt = self.product, self.tilt
        value, mean, _ = product.cumulant(tilt)
        found = product.tilted(tilt)
        losses = (found.first + np.arange(found.law.size)) * product.step
        with np.errstate(over="ignore", under="ignore"):
            scale = np.exp(np.minimum(value + product.rounding(tilt) - tilt * losses, 700.0))
            mass = np.minimum(found.law * scale, _MOST)
            infinite = min(float(found.beyond * scale[-1]), _MOST)
            values = connect_the_dots.summed(mass, infinite, product.step)[0] * (1 + (8 * losses.size + 64) * UNIT)
        return found.first, values, mean


def _left(laws: Sequence[LossDistribution], last: LossDistribution, delta: float, count: int) -> float:
    """Of delta, besides infinite losses."""
    with np.errstate(divide="ignore"):
        finite = np.log1p(-last.infinite) + count * np.log1p(-min(max(law.infinite for law in laws), 1.0))
    excess = max(float(np.sum(law.mass)) + law.infinite for law in laws) - 1
    return float(delta * np.exp(-count * _EACH) + np.expm1(finite) * np.exp(count * max(excess, 0.0)))


@dataclass(frozen=True)
class _Gain:
    """Times exp(t y): the curve of one law less that of another at consecutive multiples of the step; what both err by."""

    curve: FloatArray
    error: float

    @classmethod
    def of(cls, law: LossDistribution, other: LossDistribution, tilt: float) -> _Gain:
        low = min(law.first, other.first, 0)
        high = max(law.first + law.mass.size, other.first + other.mass.size, 1)
        a, b = (np.pad(one.mass, (one.first - low, high - one.first - one.mass.size)) for one in (law, other))
        y = np.asarray(np.arange(low, high) * law.step, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            upper, lower = (np.stack([part(mass, y, law.step) for mass in (a, b)]) for part in (_upper, _lower))
            found = np.where(y < 0, lower, upper)
            growth = np.exp(tilt * y)
            curve, size = (found[0] - found[1]) * growth, float(np.max(found * growth))
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
    """Of the gains against the product's law, both tilted, the law to mass one; and what it may err by."""
    if not all(np.isfinite(gain.error) for gain in gains):
        return np.inf, np.inf
    found = product.tilted(tilt)
    size = fft.next_fast_len(found.law.size + max((gain.curve.size for gain in gains), default=1), real=True)
    spectrum = fft.rfft(found.law, size)
    norm = 8 * UNIT * np.log2(size) * float(np.linalg.norm(found.law))
    most = error = 0.0
    for gain in gains:
        greatest = float(np.max(fft.irfft(spectrum * fft.rfft(gain.curve, size), size)))
        outside = 2 * (found.below + found.beyond) * float(np.max(np.abs(gain.curve)))
        rounding = 2 * found.error * float(np.sum(np.abs(gain.curve))) + norm * float(np.linalg.norm(gain.curve))
        most, error = max(most, greatest), max(error, outside + rounding + gain.error)
    return most, error
