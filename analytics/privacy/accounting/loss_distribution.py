r"""Privacy loss distributions: what many independent releases leak together, exactly up to a grid that errs upward.

A pair of laws (P, Q) is kept as the law of its privacy loss :math:`L = \log(P/Q)` under P, on a grid of losses. Mass between two
grid points is shared among them so that P and Q are both kept ("connect the dots", Doroshenko et al. 2022): the
hockey-stick curve of the grid's law is the chord above the true one, so every composition of it is an upper bound.

Composition is a power in Fourier space, taken after an exponential tilt that puts the asked tail in the middle: relative
accuracy at delta = 1e-300 as at 1e-5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from airtight.analytics import checks
from airtight.analytics.checks import ConvergenceError, FloatArray, ParameterError, real
from airtight.analytics.privacy.accounting.loss_product import MOST_POINTS, Product

_UNIT = np.finfo(float).eps
_NEGLIGIBLE = 1e-10  # share of delta that may go to infinite losses
_BEYOND = 3e-316  # normal mass beyond 38 standard deviations


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
    upper_slack, lower_slack = upper_error + 8 * _UNIT * upper, lower_error + 8 * _UNIT * lower
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
    spread += 8 * _UNIT * np.diff(right.astype(int), prepend=0, append=1)  # where a slope of order one is taken off
    mass = x * (np.maximum(jump, 0.0) + spread) * (1 + 8 * _UNIT)
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
