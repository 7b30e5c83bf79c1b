r"""Privacy loss distributions: what many independent releases leak together, exactly up to a grid that errs upward.

A pair of laws (P, Q) is kept as the law of its privacy loss :math:`L = \log(P/Q)` under P, on a grid of losses. Mass between two
grid points is shared among them so that P and Q are both kept ("connect the dots", Doroshenko et al. 2022): the
hockey-stick curve of the grid's law is the chord above the true one, so every composition of it is an upper bound.

Composition is a power in Fourier space, taken after an exponential tilt that puts the asked tail in the middle: relative
accuracy at delta = 1e-300 as at 1e-5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft, optimize, special

from airtight.analytics import checks
from airtight.analytics.checks import ConvergenceError, FloatArray, ParameterError, real
from airtight.analytics.rounding import UNIT

_NEGLIGIBLE = 1e-10  # share of delta that may go to infinite losses
_BEYOND = 3e-316  # normal mass beyond 38 standard deviations
MOST_POINTS = 1 << 23
_OUTSIDE = -41.0  # log of the tilted mass that may lie beyond the window: it is added to delta
_LEAST_TILT = 1e-9
_AT_THE_END = 1e-3  # steps from the greatest loss that the tilted mean may lie
_FAR = 20.0  # an answer further below the tilted mean than this over the tilt is sought again with half the tilt
_VANISHED = -700.0  # log of a power that is taken for zero
_INFINITE = 1e-12  # relative error of the probability of an infinite loss, and twice what is given away for it
_LARGE = 600.0  # greatest exponent; a loss that would need more lies far below the asked one


@dataclass(frozen=True)
class LossDistribution:
    """The privacy loss under P on a grid, never less than the truth.

    Attributes
    ----------
    step : float
        Distance of the losses.
    first : int
        ``mass[i]`` belongs to loss ``(first + i) * step``.
    mass : ndarray
        Non-negative; may add up to slightly more than one.
    infinite : float
        Mass of what P can do and Q cannot.
    """

    step: float
    first: int
    mass: FloatArray
    infinite: float

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.mass)):
            raise ConvergenceError(f"masses of losses on a grid of step {self.step!r} are no numbers")

    @cached_property
    def losses(self) -> FloatArray:
        return np.asarray((self.first + np.arange(self.mass.size)) * self.step, dtype=np.float64)

    @cached_property
    def _log_mass(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.mass))

    def delta(self, epsilon: ArrayLike, *, count: int = 1) -> FloatArray:
        """delta of `count` independent releases at each epsilon.

        Examples
        --------
        >>> float(gaussian(0.1).delta(1.0, count=100))  # one release of mu = 1
        0.126...
        """
        eps = real("epsilon", epsilon, "[0, inf)")
        product = Product(((self, checks.count("count", count)),))
        return np.asarray([product.delta(float(e)) for e in eps.ravel()]).reshape(eps.shape)[()]

    def epsilon(self, delta: ArrayLike, *, count: int = 1, besides: LossDistribution | None = None) -> FloatArray:
        """The least epsilon >= 0 of `count` independent releases at each delta, rounded up.

        Parameters
        ----------
        delta : array_like
            In [0, 1].
        count : int
        besides : LossDistribution, optional
            Of one more release, on the same grid.

        Examples
        --------
        >>> float(gaussian(0.1).epsilon(1e-5, count=100))  # exact: 4.37717...
        4.377...
        """
        level = real("delta", delta, "[0, 1]")
        product = Product(((self, checks.count("count", count)), *([(besides, 1)] if besides is not None else [])))
        return np.asarray([product.epsilon(float(d)) for d in level.ravel()]).reshape(level.shape)[()]

    def trimmed(self, mass: float, count: int) -> LossDistribution:
        """With the greatest losses of a negligible part of `mass` counted as infinite, and the least ones raised."""
        if count == 1 or not self.mass.size:
            return self
        negligible = mass * _NEGLIGIBLE
        top = self.mass.size - int(np.sum(np.cumsum(self.mass[::-1]) <= negligible))
        bottom = min(int(np.sum(np.cumsum(self.mass) <= negligible)), top)
        if top == bottom:
            return self
        kept = self.mass[bottom:top].copy()
        kept[0] += float(np.sum(self.mass[:bottom]))
        infinite = self.infinite + float(np.sum(self.mass[top:])) * (1 + 1e-12)
        return LossDistribution(self.step, self.first + bottom, kept, infinite)

    def cumulant(self, tilt: float) -> tuple[float, float, float]:
        """log of the moment generating function of one finite loss, its slope and curvature."""
        exponent = self._log_mass + tilt * self.losses
        top = float(np.max(exponent))
        weight = np.exp(exponent - top)
        whole = float(np.sum(weight))
        value, weight = top + float(np.log(whole)), weight / whole
        mean = float(weight @ self.losses)
        return value, mean, float(weight @ (self.losses - mean) ** 2)


def from_bins(p: ArrayLike, q: ArrayLike, *, first: int, step: float, infinite: float = 0.0) -> LossDistribution:
    r"""From the masses under P and Q of the losses between ``(first + i) * step`` and ``(first + i + 1) * step``.

    Examples
    --------
    >>> flip = from_bins([0.25, 0.75], [0.75, 0.25], first=-1, step=np.log(3))
    >>> flip.mass.round(12)
    array([0.25, 0.  , 0.75])
    """
    upper_p, upper_q = real("p", p, "[0, inf)"), real("q", q, "[0, inf)")
    k = first + np.arange(upper_p.size)
    with np.errstate(over="ignore", invalid="ignore"):
        bottom = np.where(upper_q > 0, upper_q * np.exp(k * step), 0.0)
    up = np.clip((upper_p - bottom) / -np.expm1(-step), 0.0, upper_p)
    mass = np.zeros(upper_p.size + 1)
    mass[:-1] += upper_p - up
    mass[1:] += up
    return LossDistribution(step, first, mass, infinite)


def of_pair(p: ArrayLike, q: ArrayLike, *, step: float = 1e-3) -> LossDistribution:
    """Of two laws on one finite set.

    Parameters
    ----------
    p, q : array_like, shape (S,)
        Probabilities of the same outcomes.
    step : float

    Examples
    --------
    >>> response = of_pair([0.75, 0.25], [0.25, 0.75])
    >>> round(float(response.delta(0.0)), 9), bool(response.epsilon(0.0) >= np.log(3))
    (0.5, True)
    """
    a, b = checks.broadcast(p=real("p", p, "[0, 1]"), q=real("q", q, "[0, 1]"))
    h = checks.scalar("step", step, "(0, inf)")
    impossible = b == 0
    infinite = float(np.sum(a[impossible]))
    a, b = a[~impossible & (a > 0)], b[~impossible & (a > 0)]
    if not a.size:
        return LossDistribution(h, 0, np.zeros(0), infinite)
    k = np.floor((np.log(a) - np.log(b)) / h).astype(np.int64)
    low = int(k.min())
    if int(k.max()) - low > MOST_POINTS:
        raise ParameterError("step", h, f"coarser: the losses span {(int(k.max()) - low) * h:g}")
    size = int(k.max()) - low + 1
    return from_bins(np.bincount(k - low, a, size), np.bincount(k - low, b, size), first=low, step=h, infinite=infinite)


def from_curve(
    upper: FloatArray, lower: FloatArray, *, first: int, step: float, upper_error: FloatArray, lower_error: FloatArray
) -> LossDistribution:
    r"""From a hockey-stick curve at grid points, as its chords: what dominates every pair below the curve.

    Parameters
    ----------
    upper : ndarray
        :math:`\sum (P - e^\epsilon Q)_+` at epsilon = ``(first + i) * step``; its last value becomes infinite loss.
    lower : ndarray
        :math:`\sum (e^\epsilon Q - P)_+ = ` upper :math:`- 1 + e^\epsilon`, which keeps the accuracy where upper is near 1.
    upper_error, lower_error : ndarray
        Bounds on the absolute errors of both; the masses are raised by what they can cause.

    Notes
    -----
    In :math:`x = e^\epsilon` a hockey-stick curve is convex and piecewise linear, its slope being minus the Q-mass of
    greater losses. The second differences of the chords are Q-masses at the grid points; times x they are P-masses.
    The maximum of several curves is again the curve of some pair, and a pair with a greater curve composes to a greater
    curve (Zhu, Dong and Wang 2022).

    *Rounding.* A difference of neighbours, the width and the quotient cost four roundings of a slope that is at most the sum
    of both values over the width; where -1 enters, at one point, a few of one; each mass four more. The slacks are
    twice that: no mass is below that of the exact chords if the multiples of the step are exact (a power of two).
    """
    x = np.exp((first + np.arange(upper.size)) * step)
    right = (np.arange(upper.size - 1) + first) * step >= 0
    width = x[:-1] * np.expm1(step)
    slope = np.where(right, np.diff(upper), np.diff(lower) - width) / width
    upper_slack, lower_slack = upper_error + 8 * UNIT * upper, lower_error + 8 * UNIT * lower
    slack = np.where(right, upper_slack[:-1] + upper_slack[1:], lower_slack[:-1] + lower_slack[1:]) / width
    below = (lower[0] - x[0]) / x[0] if first < 0 else (upper[0] - 1) / x[0]
    # jumps of the slope; between two left chords the -1 of both cancels and must not cost accuracy
    jump = np.diff(np.concatenate([[below], slope, [0.0]]))
    left = ~right
    if np.any(left):
        slope_lower = np.diff(lower)[left] / width[left]
        jump[: left.sum()] = np.diff(np.concatenate([[lower[0] / x[0]], slope_lower]))
    least = (lower_slack if first < 0 else upper_slack)[0] / x[0]
    spread = np.concatenate([[least], slack]) + np.concatenate([slack, [0.0]])
    spread += 8 * UNIT * np.diff(right.astype(int), prepend=0, append=1)  # where a slope of order one is taken off
    mass = x * (np.maximum(jump, 0.0) + spread) * (1 + 8 * UNIT)
    return LossDistribution(step, first, mass, float(upper[-1] + upper_error[-1]))


def gaussian(mu: float, *, step: float | None = None) -> LossDistribution:
    """Of the Gaussian mechanism with sensitivity mu times its standard deviation.

    Parameters
    ----------
    mu : float
        > 0.
    step : float, optional
        By default mu / 50.

    Examples
    --------
    >>> bool(gaussian(1.0).delta(1.0) >= 0.12693673750664397)
    True
    """
    ratio = checks.scalar("mu", mu, "(0, 1e3]")
    h = ratio / 50 if step is None else checks.scalar("step", step, "(0, inf)")
    reach = ratio * ratio / 2 + 38 * ratio
    k = np.arange(-int(np.ceil(reach / h)), int(np.ceil(reach / h)) + 1, dtype=np.float64)

    upper, lower = (k * h - ratio * ratio / 2) / ratio, (k * h + ratio * ratio / 2) / ratio
    p, q = _between(upper), _between(lower)
    p[0] += float(special.ndtr(upper[0]))
    top = max(float(special.ndtr(-upper[-1])), _BEYOND)
    return from_bins(p * (1 + 1e-14), q * (1 - 1e-14), first=int(k[0]), step=h, infinite=top)


def subsampled_gaussian(
    mu: float, rate: float, *, step: float | None = None, reverse: bool = False
) -> LossDistribution:
    r"""Of the Gaussian mechanism on a Poisson sample: :math:`(1-q)N(0,1) + qN(\mu,1)` against :math:`N(0,1)`.

    Adjacency: a record is removed, or with `reverse` added. A guarantee needs the greater epsilon of both.

    Parameters
    ----------
    mu, rate : float
        mu > 0, q in (0, 1].
    step : float, optional
        By default a fiftieth of q mu.

    Examples
    --------
    >>> float(subsampled_gaussian(1.0, 0.01).epsilon(1e-6, count=1000))
    2.124...
    """
    m, q = checks.scalar("mu", mu, "(0, 100]"), checks.scalar("rate", rate, "(0, 1]")
    h = m * q / 50 if step is None else checks.scalar("step", step, "(0, inf)")
    edge = -38.0 - m, 38.0 + m
    ends = np.logaddexp(np.log1p(-q) if q < 1 else -np.inf, np.log(q) + m * np.array(edge) - m * m / 2)
    low, high = int(np.floor(ends[0] / h)), int(np.ceil(ends[1] / h))
    if high - low > MOST_POINTS:
        raise ParameterError("step", h, f"coarser: the losses span {(high - low) * h:g}")
    losses = np.arange(low, high + 1) * h
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(
            losses > np.log1p(-q) if q < 1 else True, losses + np.log1p(-(1 - q) * np.exp(-losses)), -np.inf
        )
        x = (above - np.log(q)) / m + m / 2
    x = np.where(np.isnan(x), -np.inf, x)
    x[0], x[-1] = -np.inf, np.inf
    plain, shifted = _between(x), _between(x - m)
    mixed = (1 - q) * plain + q * shifted
    if not reverse:
        return from_bins(mixed * (1 + 1e-14), plain * (1 - 1e-14), first=low, step=h, infinite=_BEYOND)
    return from_bins(plain[::-1] * (1 + 1e-14), mixed[::-1] * (1 - 1e-14), first=-high, step=h, infinite=_BEYOND)


def _between(x: FloatArray) -> FloatArray:
    """Normal probabilities between neighbours of rising x, in either tail to full relative accuracy."""
    left, right = x[:-1], x[1:]
    upper = left > 0
    return np.asarray(
        np.where(upper, special.ndtr(-left) - special.ndtr(-right), special.ndtr(right) - special.ndtr(left))
    )


@dataclass(frozen=True)
class Product:
    """Independent releases: laws on one grid and how often each occurs; the most frequent first."""

    factors: tuple[tuple[LossDistribution, int], ...]

    @property
    def step(self) -> float:
        return self.factors[0][0].step

    @property
    def count(self) -> int:
        return sum(count for _, count in self.factors)

    @property
    def greatest(self) -> float:
        """The greatest finite loss that has any mass."""
        return float(sum(count * law.losses[np.flatnonzero(law.mass)[-1]] for law, count in self.factors))

    @property
    def impossible(self) -> bool:
        """Whether some release has no finite loss."""
        return not all(np.any(law.mass) for law, _ in self.factors)

    def delta(self, epsilon: float) -> float:
        """delta at epsilon, rounded up."""
        if self.impossible or epsilon >= self.greatest * (1 + 8 * UNIT) + 1e-300:
            return self.infinite()
        tilt = self._tilt_of_loss(epsilon)
        chernoff = self.cumulant(tilt)[0] - tilt * epsilon
        kept = self._trimmed(float(np.exp(min(chernoff, 0.0))) / self.count)
        rest = kept.infinite()
        tail = kept._tail(tilt)
        most = tail.delta(epsilon) + tail.beyond + (tail.below if epsilon < tail.bottom else 0.0)
        return min(float(np.exp(np.log(most) + tail.log_scale)) + rest, 1.0) if most > 0 else min(rest, 1.0)

    def least_delta(self, epsilon: float) -> float:
        """What delta at epsilon is at least, for laws whose curves are nowhere above those of the releases."""
        rest = self.infinite() * (1 - _INFINITE)
        if self.impossible or epsilon >= self.greatest:
            return rest
        tail = self._tail(self._tilt_of_loss(epsilon), lower=True)
        most = tail.delta(epsilon)
        return min((float(np.exp(np.log(most) + tail.log_scale)) if most > 0 else 0.0) + rest, 1.0)

    def least_epsilon(self, delta: float) -> float:
        """What epsilon at delta is at least, for laws whose curves are nowhere above those of the releases; at least 0."""
        if delta >= 1:
            return 0.0
        left = delta - self.infinite() * (1 - _INFINITE)
        if left < 0:
            return np.inf
        if self.impossible:
            return 0.0
        if left == 0:
            return max(self.greatest * (1 - 4 * UNIT), 0.0)
        tilt = self._tilt_of_level(np.log(left))
        while True:
            tail = self._tail(tilt, lower=True)
            found, unseen = tail.epsilon(left)
            if tilt < _LEAST_TILT or tail.reaches(found, unseen, tilt):
                return max(found * (1 - 4 * UNIT), 0.0)
            tilt /= 2

    def epsilon(self, delta: float) -> float:
        """The least epsilon >= 0 at delta, rounded up."""
        if delta >= 1:
            return 0.0
        kept = self._trimmed(delta / self.count)
        left = delta - kept.infinite()
        if left < 0 or (left == 0 and kept.infinite() > 0):
            return np.inf
        if kept.impossible:
            return 0.0
        if left == 0:
            return max(kept.greatest * (1 + 4 * UNIT), 0.0)
        tilt = kept._tilt_of_level(np.log(left))
        best = np.inf
        while True:
            tail = kept._tail(tilt)
            found, unseen = tail.epsilon(left)
            best = min(best, max(found, 0.0 if found >= tail.bottom else unseen, 0.0))
            if tilt < _LEAST_TILT or found == np.inf or tail.reaches(found, unseen, tilt):
                return best * (1 + 4 * UNIT)
            tilt /= 2

    def _trimmed(self, mass: float) -> Product:
        return Product(tuple((law.trimmed(mass, count), count) for law, count in self.factors))

    def infinite(self) -> float:
        """Probability that some loss is infinite."""
        kept = added = 0.0
        for law, count in self.factors:
            finite = float(np.sum(law.mass))
            if finite == 0 < law.infinite:
                return 1.0
            kept += count * np.log(finite) if finite else 0.0
            added += count * np.log1p(law.infinite / finite) if finite else 0.0
        if added == 0:
            return 0.0
        log_whole = kept + (np.log(np.expm1(added)) if added < 1 else added + np.log(-np.expm1(-added)))
        return float(min(np.exp(min(log_whole, 0.0)) * (1 + _INFINITE), 1.0))

    def cumulant(self, tilt: float) -> tuple[float, float, float]:
        """Of the sum of all losses."""
        each = [(law.cumulant(tilt), count) for law, count in self.factors]
        value, mean, variance = (sum(count * one[i] for one, count in each) for i in range(3))
        return float(value), float(mean), float(variance)

    def _tilt_of_loss(self, loss: float) -> float:
        """The tilt under which the mean total loss is as asked; 0 when it is greater without."""
        return self._root(lambda t: self.cumulant(t)[1] - loss)

    def _tilt_of_level(self, log_delta: float) -> float:
        """The tilt of the best Chernoff bound K(t) - t eps = log delta."""

        def excess(t: float) -> float:
            value, slope, _ = self.cumulant(t)
            return t * slope - value + log_delta

        return self._root(excess)

    def _root(self, rising: Callable[[float], float]) -> float:
        """Where an increasing function of the tilt vanishes, to three digits, or all mass is on the greatest loss by then."""
        if rising(0.0) >= 0:
            return 0.0
        high = 1.0
        while rising(high) < 0:
            if self.greatest - self.cumulant(high)[1] < _AT_THE_END * self.step:
                return high
            high *= 2
        return float(optimize.brentq(rising, 0.0, high, xtol=1e-9, rtol=1e-3))

    def _tail(self, tilt: float, *, lower: bool = False) -> _Tail:
        """The composed law around the mean of the tilted one, its upper tails under P and Q; all errors up, or down."""
        value, mean, _ = self.cumulant(tilt)
        found = self.tilted(tilt)
        losses = (found.first + np.arange(found.law.size, dtype=np.float64)) * self.step
        rounding = self.rounding(tilt)
        lowest = sum(count * float(law.losses[0]) for law, count in self.factors)
        with np.errstate(over="ignore"):
            below = found.below * np.exp(tilt * (mean - lowest)) if found.below > 0 else 0.0
        if lower:
            law = np.maximum(found.law - 2 * found.error - found.below - found.beyond, 0.0)
            return _Tail.of(law, losses, tilt, mean, value - rounding, 0.0, below, -1)
        return _Tail.of(found.law, losses, tilt, mean, value + rounding, found.beyond, below, 1)

    def rounding(self, tilt: float) -> float:
        """Relative error of the tilted laws' entries, each the exponential of a sum, in all releases together."""
        total = 0.0
        for law, count in self.factors:
            greatest = max(abs(float(law.losses[0])), abs(float(law.losses[-1]))) * tilt
            total += count * UNIT * (8 + 2 * (-_VANISHED + greatest + abs(law.cumulant(tilt)[0])))
        return total

    def tilted(self, tilt: float) -> Tilted:
        """The composed law under an exponential tilt, normalised, around its mean; what lies outside may be folded in."""
        value, mean, variance = self.cumulant(tilt)
        laws = []
        for law, _ in self.factors:
            with np.errstate(divide="ignore"):
                laws.append(np.exp(np.log(law.mass) + tilt * law.losses - law.cumulant(tilt)[0]))
        first = sum(count * law.first for law, count in self.factors)
        if self.count == 1:
            return Tilted(laws[0], first, 0.0, 0.0, 0.0)
        span = sum(count * (law.mass.size - 1) for law, count in self.factors) + 1
        longest = max(law.mass.size for law, _ in self.factors)
        reach = 9.0
        while True:
            half = int(reach * np.sqrt(variance) / self.step) + longest + 1
            points = min(2 * half + 1, span)
            if points == span:
                low, below, beyond = first, -np.inf, -np.inf
                break
            low = round(mean / self.step) - half
            deviation = max(float(np.sqrt(variance)), self.step)
            beyond = self._chernoff(tilt, value, (low + points) * self.step, deviation)
            if beyond <= _OUTSIDE:
                below = self._chernoff(tilt, value, (low - 1) * self.step, -deviation)
                break
            reach *= 1.25
        if points > MOST_POINTS:
            raise ConvergenceError(
                f"{self.count} releases need {points} grid points: use a coarser step than {self.step:g}"
            )
        length = fft.next_fast_len(max(points, longest), real=True)
        spectra = [fft.rfft(law, length) for law in laws]
        power = _power(spectra[0], self.factors[0][1])
        for spectrum, (_, count) in zip(spectra[1:], self.factors[1:], strict=True):
            power = power * _power(spectrum, count)
        folded = np.roll(fft.irfft(power, length), -((low - first) % length))[:points]
        most = float(np.mean(np.abs(spectra[0]) ** (self.factors[0][1] - 1)))
        error = float(8 * UNIT * np.log2(length + 2) * self.count * most)
        return Tilted(np.maximum(folded, 0.0) + error, low, error, float(np.exp(below)), float(np.exp(beyond)))

    def _chernoff(self, tilt: float, value: float, end: float, deviation: float) -> float:
        """log of a bound on the tilted mass of total losses from `end` on; down from it if the deviation is negative."""
        best = 0.0
        for extra in np.logspace(-3, 4, 43) / deviation:
            best = min(best, self.cumulant(tilt + extra)[0] - value - extra * end)
        return best


def _power(spectrum: np.ndarray, count: int) -> np.ndarray:
    if count == 1:
        return spectrum
    with np.errstate(divide="ignore"):
        seen = count * np.log(np.abs(spectrum)) > _VANISHED
    out = np.zeros_like(spectrum)
    out[seen] = np.exp(count * np.log(spectrum[seen]))
    return out


@dataclass(frozen=True)
class Tilted:
    """A law on consecutive multiples of the step: what each may be too great by, and mass that may lie at lesser and greater."""

    law: FloatArray
    first: int
    error: float
    below: float
    beyond: float


@dataclass(frozen=True)
class _Tail:
    """Masses of the total loss over ``exp(log_scale)`` under P, from the greatest loss down, and their sums.

    Losses below `bottom` are not summed; their sum is at most `below`, and `beyond` that of greater ones than the first.
    """

    mass: FloatArray
    losses: FloatArray
    room: float  # what sums and exponentials may have lost, as a factor: above 1 for bounds from above, below 1 from below
    mean: float
    log_scale: float
    beyond: float
    below: float

    @cached_property
    def p(self) -> FloatArray:
        """Sums under P."""
        return np.cumsum(self.mass) * self.room

    def q(self, epsilon: float) -> FloatArray:
        """Sums under Q times ``exp(epsilon)``; of losses further below than doubles reach too small."""
        with np.errstate(under="ignore", over="ignore"):
            return np.cumsum(self.mass * np.exp(np.minimum(epsilon - self.losses, _LARGE))) / self.room

    @property
    def bottom(self) -> float:
        return float(self.losses[-1])

    def delta(self, epsilon: float) -> float:
        """The greatest difference, at least 0. Where q is too small the difference falls, so that it is not the greatest."""
        return max(float(np.max(self.p - self.q(epsilon))), 0.0)

    def epsilon(self, delta: float) -> tuple[float, float]:
        """The least epsilon if it is among the losses that were summed, and what it is at most if it is below them.

        It is the greatest value of a function of the loss that is attained where the loss is epsilon itself. `about` is the
        loss at which the probability first exceeds delta: epsilon is not above it, and below it by the logarithm of the excess.
        Infinite, if what lies beyond exceeds delta alone.
        """
        excess = self.beyond - np.exp(np.log(delta) - self.log_scale)
        if excess > 0:
            return np.inf, np.inf
        over = self.p + excess
        about = float(self.losses[int(np.argmax(over > 0))])
        q = self.q(about)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = float(np.max(np.where(over > 0, np.log(over / q), -np.inf))) + about
            rest = over[-1] + self.below
            unseen = float(np.log(rest / q[-1])) + about if rest > 0 and self.below > 0 else -np.inf
        return found, unseen

    def reaches(self, found: float, unseen: float, tilt: float) -> bool:
        """Whether the epsilon found is the one sought, and not far below the tilted mean."""
        least = max(found, 0.0)
        return (found >= self.bottom or unseen <= least) and tilt * (self.mean - least) <= _FAR

    @classmethod
    def of(
        cls,
        law: FloatArray,
        losses: FloatArray,
        tilt: float,
        mean: float,
        value: float,
        beyond: float,
        below: float,
        way: int,
    ) -> _Tail:
        """From the law tilted to `mean`; `value` is the log of its normalisation, `beyond` tilted mass of greater losses.

        Rounded up for `way` = 1, down for -1.
        """
        grows = tilt * (mean - losses)
        known = int(np.argmin(np.append(grows[::-1] < _LARGE, False)))  # of the greatest losses
        with np.errstate(under="ignore"):
            mass = law[::-1][:known] * np.exp(grows[::-1][:known])
            top = beyond * np.exp(-tilt * (losses[-1] - mean))
        return cls(
            mass,
            losses[::-1][:known],
            (1 + (law.size + 4 * _LARGE) * UNIT) ** way,
            mean,
            value - tilt * mean,
            float(top),
            below if known == law.size else np.inf,
        )
