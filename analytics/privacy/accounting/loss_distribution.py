r"""Privacy loss distributions (PLD): compose many independent releases, with every error on the safe side.

A pair of laws (P, Q) is represented by the law of its privacy loss :math:`L = \log(P/Q)` under P, on a grid of losses.
Mass between two grid points is shared among them such that the masses under P and under Q are both preserved ("connect
the dots", Doroshenko et al. 2022). Then the hockey-stick curve of the law on the grid is a chord above the true curve,
so that every composition of it is an upper bound.

A composition is a power in Fourier space. Before, an exponential tilt :math:`e^{tL}` moves the tail in question to the
middle of the law, so that the relative accuracy at delta = 1e-300 is the same as at 1e-5.

Steps of :class:`Product`, in order
-----------------------------------
1. *Trim* (upper bounds only): a negligible share of delta is moved from the greatest losses to infinity, and mass at
   the least losses is raised, so that the window stays short.
2. *Tilt*: :math:`K'(t) = \epsilon` or :math:`K(t) - tK'(t) = \log\delta`, where K is the logarithm of the moment
   generating function of the total loss. Any t is valid.
3. *Window*: nine standard deviations of the tilted law to either side, widened until Chernoff's bound of the tilted
   mass beyond is at most e^-41.
4. *Power*: the tilted laws are transformed, raised to their counts and multiplied.
5. *One epsilon or delta* is read off the transform, as a sum over few frequencies (:class:`_Spectrum`).
6. *Many* are read off the law: it is transformed back (``tilted``), the tilt is undone, and sums under P and Q from the
   greatest loss down give delta and epsilon (``_Tail``).
7. *One great loss* may make delta alone. Then the errors of a transform hide it, and the composition is split by the number
   of great losses (:class:`_Parted`).

Where each error enters
-----------------------
- *Infinite losses* are kept apart; their probability has two ends (``infinite_ends``).
- *Transform*: at most :math:`8u\log_2N` for each release, in the norm of the tilted law. It is added to every mass, or
  subtracted twice; of a sum over frequencies, to that of the errors of all powers.
- *Aliasing*: the bound of the tilted mass beyond the window is added to delta, or subtracted at every point.
- *Two great losses*: the chance of two is added to an upper bound that is split by their number, and left out of a lower one.
- *Exponentials*: each tilted mass is the exponential of a sum; its error is relative to the magnitudes of the terms
  (``rounding``) and enters the scale of the tail.
- *Sums*: `room` enlarges sums under P and lessens those under Q for upper bounds; for lower bounds it does the reverse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import ConvergenceError, FloatArray, IntArray, ParameterError, real
from airtight.analytics.root_search import falling_root
from airtight.analytics.rounding import SMALLEST, UNIT

_NEGLIGIBLE = 1e-10  # share of delta that trimming may move to infinite losses
_BEYOND = 3e-316  # upper bound of the normal mass beyond 38 standard deviations
_BIN_ERROR = 1e-14  # relative error of the normal probability of a bin: P is raised and Q lowered by it
# greatest exp(loss) times which a probability under Q is used: the tails of SciPy vanish below 1e-310
_GREATEST_GROWTH = 1e280
MOST_POINTS = 1 << 23  # greatest number of grid points of a law
_OUTSIDE = -41.0  # log of the tilted mass that may lie beyond the window; it is added to delta, and is below UNIT
_LEAST_TILT = 1e-9  # a lesser tilt is not halved again
_AT_THE_END = 1e-3  # distance in steps of the tilted mean from the greatest loss at which the search for a tilt ends
_VANISHED = -700.0  # log of a power that is replaced by zero: exp underflows below -708
_INFINITE = 1e-12  # relative slack of the probability of an infinite loss, besides that for its rounding errors
_EXTRA_TILTS = np.logspace(-1.5, 3, 19)  # from which Chernoff's bound is chosen, in units of one over the deviation
_NEWTON_STEPS = 60  # at most
# standard deviations below the tilted mean in which an epsilon is sought, for each tilt that is tried
_SEARCHED = (3.0, 6.0, 9.0, 20.0, 40.0)
_LEAST_WINDOW_TILT = 1e-3  # least tilt, in units of one over the window: kernels lose so many digits by cancellation
_CLOSE = 1e-2  # relative error of a tilt
_LEFT_OUT = -46.0  # log of the powers of a transform that count as 0
_KERNEL_ERROR = 96 * UNIT  # relative error of a kernel, a phase, a product and a pairwise sum: some sixty operations in all
_SMALL = 1e-6  # share of a bound up to which errors do not call for another tilt
_STEEPEST = 1500.0  # greatest tilt times a step: doubles next to each other in a law differ by no greater factor
_HIDDEN = 1e-3  # share of errors in a bound from which one great loss is looked for that makes delta alone
PAIRS = 1e-6  # share of delta that two great losses may have
_PART_FALL, _PARTS = 12.0, 12  # fall of the log of the tail over a part of the great losses, at least; parts, at most
_LAST = 1e-14  # relative step at which the search for an epsilon ends
_MOVES = 13  # greatest number of steps, each at least four times the one before, that confirm what was found
_ROUGH = 1e-6  # relative length of an interval at which the search ends if errors are no small share of the bound
# frequencies that one search reads, if the fewest steps do not need more; frequencies from which on one tilt is tried only
_READ, _FEWEST_STEPS, _LONG = 1 << 20, 12, 1 << 15
_LARGE = 600.0  # greatest argument of exp, which overflows above 709; a loss that needs more is far below epsilon


# an increasing function of a tilt and of the cumulants there, and its derivative in the tilt
Rising = Callable[[float, float, float, float], tuple[float, float]]
_Law = TypeVar("_Law")


@dataclass(frozen=True)
class LossDistribution:
    """Law of the privacy loss under P on a grid of losses.

    The functions of this module make laws whose curves are nowhere below the true one.

    Attributes
    ----------
    step : float
        Distance of the grid points.
    first : int
        ``mass[i]`` belongs to loss ``(first + i) * step``.
    mass : ndarray
        Non-negative; the sum may be slightly more than one.
    infinite : float
        Mass under P of outcomes that are impossible under Q.
    offset : float
        Added to every finite loss.
    """

    step: float
    first: int
    mass: FloatArray
    infinite: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.mass)):
            raise ConvergenceError(f"the masses on a grid of losses with step {self.step!r} must be finite numbers")

    @cached_property
    def losses(self) -> FloatArray:
        return np.asarray((self.first + np.arange(self.mass.size)) * self.step + self.offset, dtype=np.float64)

    @cached_property
    def log_mass(self) -> FloatArray:
        """Logarithms of the masses, -inf where there is none."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.mass))

    @cached_property
    def positive(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Indices of the positive masses, their logarithms and losses: laws of curves have few of them."""
        index = np.flatnonzero(self.mass)
        losses = np.asarray((self.first + index) * self.step + self.offset, dtype=np.float64)
        return index, np.log(self.mass[index]), losses

    def delta(self, epsilon: ArrayLike, *, count: int = 1) -> FloatArray:
        """delta of `count` independent releases at each epsilon, rounded up.

        Examples
        --------
        >>> float(gaussian(0.1).delta(1.0, count=100))  # one release of mu = 1
        0.126...
        """
        epsilons = real("epsilon", epsilon, "[0, inf)")
        product = Product(((self, checks.count("count", count)),))
        return np.asarray([product.delta(float(e)) for e in epsilons.ravel()]).reshape(epsilons.shape)[()]

    def epsilon(self, delta: ArrayLike, *, count: int = 1, besides: LossDistribution | None = None) -> FloatArray:
        """Least epsilon >= 0 of `count` independent releases at each delta, rounded up.

        Parameters
        ----------
        delta : array_like
            In [0, 1].
        count : int
            Number of releases.
        besides : LossDistribution, optional
            Law of one more release, on the same grid.

        Examples
        --------
        >>> float(gaussian(0.1).epsilon(1e-5, count=100))  # exact: 4.37717...
        4.377...
        """
        deltas = real("delta", delta, "[0, 1]")
        product = Product(((self, checks.count("count", count)), *([(besides, 1)] if besides is not None else [])))
        return np.asarray([product.epsilon(float(d)) for d in deltas.ravel()]).reshape(deltas.shape)[()]

    def part(self, start: int, stop: int) -> LossDistribution:
        """The finite losses from index `start` to `stop` alone."""
        return LossDistribution(self.step, self.first + start, self.mass[start:stop], 0.0, self.offset)

    def trimmed(self, mass: float, count: int) -> LossDistribution:
        """The law with a negligible share of `mass` made infinite at the greatest losses, and raised at the least."""
        if count == 1 or not self.mass.size:
            return self
        negligible = mass * _NEGLIGIBLE
        # losses at both ends whose masses add up to at most `negligible`
        stop = self.mass.size - int(np.sum(np.cumsum(self.mass[::-1]) <= negligible))
        start = min(int(np.sum(np.cumsum(self.mass) <= negligible)), stop)
        if stop == start:
            return self
        kept = self.mass[start:stop].copy()
        # raising a loss and making it infinite both raise the curve
        kept[0] += float(np.sum(self.mass[:start]))
        infinite = self.infinite + float(np.sum(self.mass[stop:])) * (1 + 1e-12)
        return LossDistribution(self.step, self.first + start, kept, infinite, self.offset)

    def cumulant(self, tilt: float) -> tuple[float, float, float]:
        """Logarithm of the moment generating function of one finite loss, and its first and second derivative."""
        _, log_mass, losses = self.positive
        exponent = log_mass + tilt * losses
        # log-sum-exp; also weights of e^-700 are normal doubles
        greatest_exponent = float(np.max(exponent))
        weight = np.exp(np.maximum(exponent - greatest_exponent, _VANISHED))  # sums of subnormal numbers take long
        weight_sum = float(np.sum(weight))
        value, weight = greatest_exponent + float(np.log(weight_sum)), weight / weight_sum
        mean = float(weight @ losses)
        return value, mean, float(weight @ (losses - mean) ** 2)


def from_bins(p: ArrayLike, q: ArrayLike, *, first: int, step: float, infinite: float = 0.0) -> LossDistribution:
    r"""Law from the masses under P and Q of the losses between ``(first + i) * step`` and ``(first + i + 1) * step``.

    Examples
    --------
    >>> flip = from_bins([0.25, 0.75], [0.75, 0.25], first=-1, step=np.log(3))
    >>> flip.mass.round(12)
    array([0.25, 0.  , 0.75])
    """
    p_mass, q_mass = real("p", p, "[0, inf)"), real("q", q, "[0, inf)")
    k = first + np.arange(p_mass.size)
    with np.errstate(over="ignore", invalid="ignore"):
        growth = np.exp(k * step)
        # q underflows where this is so great, and counts as 0: the whole mass at the right end raises the curve
        q_scaled = np.where(growth < _GREATEST_GROWTH, q_mass * growth, 0.0)
    # p and q exp(k step) are a + b and a + b exp(-step) with the shares a, b of the left and the right grid point
    right_share = np.clip((p_mass - q_scaled) / -np.expm1(-step), 0.0, p_mass)
    # both shares go to the two ends of the bin
    mass = np.zeros(p_mass.size + 1)
    mass[:-1] += p_mass - right_share
    mass[1:] += right_share
    return LossDistribution(step, first, mass, infinite)


def of_pair(p: ArrayLike, q: ArrayLike, *, step: float = 1e-3) -> LossDistribution:
    """Law of the loss of two laws on one finite set.

    Parameters
    ----------
    p, q : array_like, shape (S,)
        Probabilities of the same outcomes.
    step : float
        Distance of the grid points.

    Examples
    --------
    >>> response = of_pair([0.75, 0.25], [0.25, 0.75])
    >>> round(float(response.delta(0.0)), 9), bool(response.epsilon(0.0) >= np.log(3))
    (0.5, True)
    """
    p_mass, q_mass = checks.broadcast(p=real("p", p, "[0, 1]"), q=real("q", q, "[0, 1]"))
    h = checks.scalar("step", step, "(0, inf)")
    impossible = q_mass == 0
    # outcomes impossible under Q have an infinite loss, those impossible under P none
    infinite = float(np.sum(p_mass[impossible]))
    p_mass, q_mass = p_mass[~impossible & (p_mass > 0)], q_mass[~impossible & (p_mass > 0)]
    if not p_mass.size:
        return LossDistribution(h, 0, np.zeros(0), infinite)
    # bin of each loss: all outcomes of one bin are added before they are shared among its ends
    k = np.floor((np.log(p_mass) - np.log(q_mass)) / h).astype(np.int64)
    low = int(k.min())
    if int(k.max()) - low > MOST_POINTS:
        raise ParameterError("step", h, f"greater: the losses span {(int(k.max()) - low) * h:g}, over 2**23 steps")
    size = int(k.max()) - low + 1
    return from_bins(
        np.bincount(k - low, p_mass, size), np.bincount(k - low, q_mass, size), first=low, step=h, infinite=infinite
    )


def from_curve(
    upper: FloatArray, lower: FloatArray, *, first: int, step: float, upper_error: FloatArray, lower_error: FloatArray
) -> LossDistribution:
    r"""Law whose curve is the chords of a hockey-stick curve given at grid points; it dominates each pair below it.

    Parameters
    ----------
    upper : ndarray
        :math:`\sum (P - e^\epsilon Q)_+` at epsilon = ``(first + i) * step``; its last value becomes the mass of the
        infinite loss.
    lower : ndarray
        :math:`\sum (e^\epsilon Q - P)_+ = ` upper :math:`- 1 + e^\epsilon`, which keeps the accuracy where upper is
        near 1.
    first : int
        Number of the first grid point.
    step : float
        Distance of the grid points.
    upper_error, lower_error : ndarray
        Bounds on the absolute errors of `upper` and `lower`; the masses are raised by what these errors can cause.

    Notes
    -----
    In :math:`x = e^\epsilon` a hockey-stick curve is convex and piecewise linear; its slope is minus the Q-mass of the
    greater losses. Hence the differences of the slopes of the chords are Q-masses at the grid points; times x they are
    P-masses. The maximum of several curves is again the curve of some pair, and a pair with a greater curve composes to
    a greater curve (Zhu, Dong and Wang 2022).

    *Rounding.* The difference of two neighbours, the width and the quotient cost four rounding errors of a slope, which
    is at most the sum of both values over the width. At the one point where -1 enters, they cost a few rounding errors
    of 1. Each mass costs four more. The slacks are twice these errors. Therefore no mass is below that of the exact
    chords, if the multiples of the step are exact, as for a step that is a power of two.
    """
    # the curve is piecewise linear in x = exp(epsilon)
    x = np.exp((first + np.arange(upper.size)) * step)
    is_right = (np.arange(upper.size - 1) + first) * step >= 0
    width = x[:-1] * np.expm1(step)
    # left of x = 1 from `lower`, which is small there: the slopes differ by -1
    slope = np.where(is_right, np.diff(upper), np.diff(lower) - width) / width
    upper_slack, lower_slack = upper_error + 8 * UNIT * upper, lower_error + 8 * UNIT * lower
    # greatest error of a slope, by the errors of its two values
    slack = np.where(is_right, upper_slack[:-1] + upper_slack[1:], lower_slack[:-1] + lower_slack[1:]) / width
    # the chord from (0, 1) to the first point
    first_slope = (lower[0] - x[0]) / x[0] if first < 0 else (upper[0] - 1) / x[0]
    # jumps of the slope; the -1 in the slopes of two left chords cancels, so it is left out to keep the accuracy
    jump = np.diff(np.concatenate([[first_slope], slope, [0.0]]))
    is_left = ~is_right
    if np.any(is_left):
        slope_lower = np.diff(lower)[is_left] / width[is_left]
        jump[: is_left.sum()] = np.diff(np.concatenate([[lower[0] / x[0]], slope_lower]))
    first_slack = (lower_slack if first < 0 else upper_slack)[0] / x[0]
    # each mass depends on two slopes
    raise_by = np.concatenate([[first_slack], slack]) + np.concatenate([slack, [0.0]])
    raise_by += 8 * UNIT * np.diff(is_right.astype(int), prepend=0, append=1)  # where the -1 enters
    # minus the slope is the Q-mass of greater losses; times x the jumps are P-masses
    mass = x * (np.maximum(jump, 0.0) + raise_by) * (1 + 8 * UNIT)
    return LossDistribution(step, first, mass, float(upper[-1] + upper_error[-1]))


def gaussian(mu: float, *, step: float | None = None) -> LossDistribution:
    """Law of the loss of the Gaussian mechanism with a sensitivity of mu standard deviations.

    Parameters
    ----------
    mu : float
        In (0, 1000].
    step : float, optional
        Distance of the grid points; by default mu / 50.

    Examples
    --------
    >>> bool(gaussian(1.0).delta(1.0) >= 0.12693673750664397)
    True
    """
    from scipy import special

    ratio = checks.scalar("mu", mu, "(0, 1e3]")
    h = ratio / 50 if step is None else checks.scalar("step", step, "(0, inf)")
    # loss of an output 38 deviations from either mean: mu^2 / 2 + 38 mu
    reach = ratio * ratio / 2 + 38 * ratio
    k = np.arange(-int(np.ceil(reach / h)), int(np.ceil(reach / h)) + 1, dtype=np.float64)

    # a loss of k h belongs to the output k h / mu + mu / 2 in deviations, seen from the mean of P and of Q
    upper, lower = (k * h - ratio * ratio / 2) / ratio, (k * h + ratio * ratio / 2) / ratio
    p, q = _between(upper), _between(lower)
    # what lies below the grid is raised to the first bin, what lies above counts as infinite
    p[0] += float(special.ndtr(upper[0]))
    top = max(float(special.ndtr(-upper[-1])), _BEYOND)
    # more mass under P, less under Q: the curve rises
    return from_bins(p * (1 + _BIN_ERROR), q * (1 - _BIN_ERROR), first=int(k[0]), step=h, infinite=top)


def subsampled_gaussian(
    mu: float, rate: float, *, step: float | None = None, reverse: bool = False
) -> LossDistribution:
    r"""Law of the loss of the Poisson-subsampled Gaussian: :math:`(1-q)N(0,1) + qN(\mu,1)` against :math:`N(0,1)`.

    Adjacency: a record is removed, or, with `reverse`, added. A guarantee needs the greater epsilon of both.

    Parameters
    ----------
    mu, rate : float
        mu in (0, 100] and the sampling rate q in (0, 1].
    step : float, optional
        Distance of the grid points; by default q mu / 50.
    reverse : bool
        Whether the pair is :math:`N(0,1)` against the mixture.

    Examples
    --------
    >>> float(subsampled_gaussian(1.0, 0.01).epsilon(1e-6, count=1000))
    2.124...
    """
    m, q = checks.scalar("mu", mu, "(0, 100]"), checks.scalar("rate", rate, "(0, 1]")
    h = m * q / 50 if step is None else checks.scalar("step", step, "(0, inf)")
    # outputs 38 deviations beyond both means
    edge = -38.0 - m, 38.0 + m
    # loss log(1 - q + q exp(mu x - mu^2 / 2)) at these outputs
    ends = np.logaddexp(np.log1p(-q) if q < 1 else -np.inf, np.log(q) + m * np.array(edge) - m * m / 2)
    low, high = int(np.floor(ends[0] / h)), int(np.ceil(ends[1] / h))
    if high - low > MOST_POINTS:
        raise ParameterError("step", h, f"greater: the losses span {(high - low) * h:g}, over 2**23 steps")
    losses = np.arange(low, high + 1) * h
    with np.errstate(divide="ignore", invalid="ignore"):
        # a loss exceeds l if q exp(mu x - mu^2 / 2) > exp(l) - (1 - q)
        # no output has a loss below log(1 - q)
        log_excess = np.where(
            losses > np.log1p(-q) if q < 1 else True, losses + np.log1p(-(1 - q) * np.exp(-losses)), -np.inf
        )
        x = (log_excess - np.log(q)) / m + m / 2
    x = np.where(np.isnan(x), -np.inf, x)
    # the outermost bins take the rest
    x[0], x[-1] = -np.inf, np.inf
    # bins of the output under N(0, 1) and N(mu, 1)
    plain, shifted = _between(x), _between(x - m)
    mixed = (1 - q) * plain + q * shifted
    if not reverse:
        return from_bins(mixed * (1 + _BIN_ERROR), plain * (1 - _BIN_ERROR), first=low, step=h, infinite=_BEYOND)
    # in the other order all losses change their sign
    return from_bins(plain[::-1] * (1 + _BIN_ERROR), mixed[::-1] * (1 - _BIN_ERROR), first=-high, step=h, infinite=_BEYOND)


def _between(x: FloatArray) -> FloatArray:
    """Normal probabilities between neighbours of increasing x, relatively accurate in both tails."""
    from scipy import special

    left, right = x[:-1], x[1:]
    positive = left > 0
    # from the tail on the same side, so that small probabilities keep their relative accuracy
    return np.asarray(
        np.where(positive, special.ndtr(-left) - special.ndtr(-right), special.ndtr(right) - special.ndtr(left))
    )


@dataclass(frozen=True)
class Product:
    """Independent releases: laws on one grid and how often each occurs, the most frequent one first."""

    factors: tuple[tuple[LossDistribution, int], ...]

    @classmethod
    def of(cls, factors: list[tuple[LossDistribution, int]]) -> Product:
        """Of the laws that occur: the most frequent one first, as its spectrum gives the bound of the transform's error."""
        return cls(tuple(sorted((factor for factor in factors if factor[1]), key=lambda factor: -factor[1])))

    @property
    def step(self) -> float:
        return self.factors[0][0].step

    @property
    def count(self) -> int:
        return sum(count for _, count in self.factors)

    @cached_property
    def offset(self) -> float:
        """The sum of the offsets: every finite total loss is this and a multiple of the step."""
        return float(sum(count * law.offset for law, count in self.factors))

    @property
    def greatest(self) -> float:
        """The greatest finite total loss with positive mass."""
        return float(sum(count * law.positive[2][-1] for law, count in self.factors))

    @property
    def impossible(self) -> bool:
        """Whether some release has no finite loss."""
        return not all(law.positive[0].size for law, _ in self.factors)

    def delta(self, epsilon: float, start: float = 0.0) -> float:
        r"""Upper bound of delta at epsilon: from the composed law, and by :math:`(1-e^{-x})_+ \le e^{tx}` from its moments."""
        bound, hidden = self._delta(epsilon, start)
        if hidden and (estimate := self._alone(epsilon)) > 0:
            trimmed = self._trimmed(estimate / self.count)
            if parted := trimmed._parted(estimate):
                bound = min(bound, parted.delta(epsilon) + trimmed.infinite())
        return bound

    def _delta(self, epsilon: float, start: float = 0.0) -> tuple[float, bool]:
        """As :meth:`delta` from one transform, and whether its errors are a great share of the bound."""
        # no finite total loss exceeds epsilon; the product of count and loss is rounded
        if self.impossible or epsilon >= self.greatest * (1 + 8 * UNIT) + 1e-300:
            return self.infinite(), False
        # Chernoff's bound is an upper bound by itself, and shows how much may be trimmed
        tilt = self._tilt_of_loss(epsilon, start)
        chernoff = self.cumulant(tilt)[0] - tilt * epsilon  # log of a bound on delta
        bound = float(np.exp(min(chernoff + self.rounding(tilt) + 4 * UNIT * tilt * epsilon, 0.0)))
        chernoff_delta = self.infinite() + bound + SMALLEST
        if bound < SMALLEST:
            return min(chernoff_delta, 1.0), False
        # each release may lose the same share
        trimmed = self._trimmed(float(np.exp(min(chernoff, 0.0))) / self.count)
        spectrum = _Spectrum.of(trimmed, tilt, epsilon, epsilon)
        if spectrum is None:
            return min(chernoff_delta, 1.0), False
        # below the greatest loss delta is positive, however far it underflows
        finite, error = spectrum.delta(epsilon, upper=True)
        best = min(max(finite, SMALLEST) + trimmed.infinite(), chernoff_delta, 1.0)
        return best, error > _HIDDEN or trimmed.infinite() - self.infinite() > _HIDDEN * best

    def least_delta(self, epsilon: float, start: float = 0.0) -> float:
        """Lower bound of delta at epsilon, if the curves of the laws are nowhere above those of the releases."""
        bound, hidden = self._least_delta(epsilon, start)
        if hidden and (parted := self._parted(self._alone(epsilon))):
            bound = max(bound, parted.least_delta(epsilon) + self.infinite_ends()[0])
        return min(bound, 1.0)

    def _least_delta(self, epsilon: float, start: float = 0.0) -> tuple[float, bool]:
        """As :meth:`least_delta` from one transform, and whether its errors are a great share of the bound."""
        infinite_delta = self.infinite_ends()[0]
        if self.impossible or epsilon >= self.greatest:
            return infinite_delta, False
        spectrum = _Spectrum.of(self, self._tilt_of_loss(epsilon, start), epsilon, epsilon)
        if spectrum is None:
            return infinite_delta, False
        finite, error = spectrum.delta(epsilon, upper=False)
        return min(finite + infinite_delta, 1.0), error > _HIDDEN

    def _alone(self, epsilon: float) -> float:
        """About what delta at epsilon is if one loss alone makes it."""
        deltas = [
            count * float(np.sum(np.exp(log_mass) * -np.expm1(np.minimum(epsilon - losses, 0.0))))
            for (_, log_mass, losses), count in ((law.positive, count) for law, count in self.factors)
        ]
        return min(max(deltas), 1.0)

    def _parted(self, delta: float) -> _Parted | None:
        """What :class:`_Parted` makes of the finite losses at about this delta; None where no loss is great."""
        # a pair of great losses may have this share of delta
        greatest = math.sqrt(2 * PAIRS * delta) / self.count
        near, great = list[tuple[LossDistribution, int]](), list[list[LossDistribution]]()
        for law, count in self.factors:
            cuts = law.mass.size - parts_of_tail(np.cumsum(law.mass[::-1]), greatest)
            if not np.any(law.mass[: cuts[-1]]):
                return None
            near.append((law.part(0, cuts[-1]), count))
            great.append([law.part(start, stop) for stop, start in pairwise(cuts) if np.any(law.mass[start:stop])])
        if not any(great):
            return None
        parts = tuple((count, Product.of(laws)) for count, laws in with_one_great(near, great))
        chance = sum(count * float(np.sum(law.mass)) for (_, count), laws in zip(near, great, strict=True) for law in laws)
        # masses may add up to slightly more than 1
        excess = sum(count * max(float(np.sum(law.mass)) - 1 + UNIT * 64, 0.0) for law, count in self.factors)
        return _Parted(parts, chance * chance / 2 * math.exp(excess) * (1 + 128 * UNIT) + SMALLEST)

    def least_epsilon(self, delta: float, start: float = 0.0, near: float = np.nan) -> float:
        """Lower bound of the least epsilon >= 0 at delta, sought from `near`, if no law's curve exceeds that of its release."""
        if delta >= 1:
            return 0.0
        # what is left of delta for the finite losses, rounded up: a greater delta has a lesser epsilon
        finite_delta = (delta - self.infinite_ends()[0]) * (1 + UNIT)
        if finite_delta < 0:
            return np.inf
        if self.impossible:
            return 0.0
        # exactly at the probability of an infinite loss: all finite losses have to lie below epsilon
        if finite_delta == 0:
            return max(self.greatest * (1 - 4 * UNIT), 0.0)
        return self._epsilon_of(finite_delta, start, near, upper=False)

    def epsilon(self, delta: float, start: float = 0.0, near: float = np.nan) -> float:
        """Upper bound of the least epsilon >= 0 at delta; the tilts that are tried begin near `start`, the epsilons at `near`."""
        if delta >= 1:
            return 0.0
        trimmed = self._trimmed(delta / self.count)
        # rounded down, for an upper bound
        finite_delta = (delta - trimmed.infinite()) * (1 - UNIT)
        if finite_delta < 0 or (finite_delta == 0 and trimmed.infinite() > 0):
            return np.inf
        if trimmed.impossible:
            return 0.0
        greatest = max(trimmed.greatest * (1 + 4 * UNIT), 0.0)
        if finite_delta == 0:
            return greatest
        return min(trimmed._epsilon_of(finite_delta, start, near, upper=True), greatest)

    def _epsilon_of(self, delta: float, start: float, near: float, *, upper: bool) -> float:
        """Bound of the epsilon at which the finite losses make `delta`: 0 or Chernoff's where there is no other.

        Any tilt gives a valid bound. The mean under the first one is near epsilon where the loss is nearly normal; otherwise the
        next tilt is that whose mean is the epsilon found.
        """
        tilt = self.tilt_of_level(float(np.log(delta)), start, saddlepoint=True)
        best, error = (np.inf if upper else 0.0), 0.0
        for searched in _SEARCHED:
            _, mean, variance = self.cumulant(tilt)
            # the weight of a loss in delta rises over a distance of 1 / (1 + t) above epsilon
            spread = searched * (math.sqrt(variance) + 1 / (1 + tilt))
            spectrum = _Spectrum.of(self, tilt, max(mean - spread, 0.0), max(mean, 0.0))
            if spectrum is None:
                break
            epsilon, about, error = spectrum.epsilon(delta, near, upper=upper)
            reliable = error <= _SMALL
            near = about if about > 0 else near
            best = min(best, epsilon) if upper else max(best, epsilon)
            if reliable or not tilt > _LEAST_TILT or spectrum.frequency.size > _LONG:
                break
            following = self._tilt_of_loss(about, tilt)
            tilt = following if following < 0.9 * tilt or 1.1 * tilt < following else tilt / 2
        # delta is at most exp(K(t) - t epsilon)
        if upper and best == np.inf and (tilt := self.tilt_of_level(float(np.log(delta)), tilt)) > 0:
            log_ratio = self.cumulant(tilt)[0] + self.rounding(tilt) - float(np.log(delta))
            best = max(log_ratio / tilt, 0.0) * (1 + 8 * UNIT)
        # where one loss alone makes more than delta at epsilon = 0, a lower bound of 0 is none
        hidden = error > _HIDDEN or (best == 0 and not upper)
        if hidden and self._alone(0.0) > delta and (parted := self._parted(delta)):
            greatest = max(float(law.positive[2][-1]) for law, _ in self.factors)
            _, alone = falling_root(
                lambda epsilon: math.log(max(self._alone(epsilon), SMALLEST) / delta),
                0.0, np.inf, greatest, greatest / 2, lambda high: _ROUGH * high,
            )  # fmt: skip
            by_parts = parted.epsilon(delta, alone, upper=upper)
            best = min(best, by_parts) if upper else max(best, by_parts)
        return best

    def many(self, level: float, *, lower: bool) -> Readings | None:
        """The bounds near a level of delta, to be read at many points; None where no loss is finite.

        Parameters
        ----------
        level : float
            In (0, 1); about the least delta of interest.
        lower : bool
            Whether lower bounds are needed; otherwise upper ones.
        """
        # lower bounds must not move mass upwards
        product = self if lower else self._trimmed(level / self.count)
        infinite = product.infinite_ends()[0 if lower else 1]
        if product.impossible or infinite >= level:
            return None
        tilt = product.tilt_of_level(float(np.log(level - infinite)))
        return Readings(product._tail(tilt, lower=lower), infinite) if product.fits(tilt) else None

    def _trimmed(self, mass: float) -> Product:
        return Product(tuple((law.trimmed(mass, count), count) for law, count in self.factors))

    def infinite(self) -> float:
        """Upper bound of the probability that some loss is infinite."""
        return self.infinite_ends()[1]

    def infinite_ends(self) -> tuple[float, float]:
        r"""Lower and upper bound of the probability that some loss is infinite.

        Notes
        -----
        With finite masses f and infinite masses g of the releases the probability is prod(f + g) - prod(f), here
        :math:`e^A(e^B - 1)` with :math:`A = \sum n\log f`, :math:`B = \sum n\log(1 + g/f)`. Let u be half of `UNIT`. NumPy adds
        the masses pairwise, in at most 35 roundings for up to 2^23 of them, so f has a relative error below 36 u, and A and B
        each have an absolute error below 36 n u from it, for n releases. The logarithms, products and sums of the m factors add
        (m + 4) u(abs(A) + B). What follows has fewer than ten roundings, relative to the result or to its logarithm, which is
        at most abs(A) + B where the result does not underflow.
        """
        masses = [(float(np.sum(law.mass)), law.infinite, count) for law, count in self.factors]
        # a release without finite losses
        certain = any(f == 0 < g for f, g, _ in masses)  # no outcome has finite losses alone
        if certain:
            log_whole = sum(count * np.log(f + g) if f + g else -np.inf for f, g, count in masses)
            magnitude = abs(log_whole)
        else:
            log_finite = sum(count * np.log(f) for f, _, count in masses if f)
            log_ratio = sum(count * np.log1p(g / f) for f, g, count in masses if f)
            if log_ratio == 0:
                return 0.0, 0.0
            # e^A (e^B - 1), without overflow for great B and without cancellation for small B
            log_whole = log_finite + (
                np.log(np.expm1(log_ratio)) if log_ratio < 1 else log_ratio + np.log(-np.expm1(-log_ratio))
            )
            magnitude = abs(log_finite) + log_ratio
        releases = sum(count for _, _, count in masses)
        # the bound of the notes, plus _INFINITE for the few operations after it
        slack = _INFINITE + UNIT * (36 * releases + (len(masses) + 16) * magnitude)
        value = float(np.exp(min(log_whole, 0.0)))
        return value * max(1 - slack, 0.0), 1.0 if certain else min(value * (1 + slack) + SMALLEST, 1.0)

    def cumulant(self, tilt: float) -> tuple[float, float, float]:
        """Logarithm of the moment generating function of the total loss, and its first and second derivative."""
        cumulants = [(law.cumulant(tilt), count) for law, count in self.factors]
        value, mean, variance = (sum(count * cumulant[i] for cumulant, count in cumulants) for i in range(3))
        return float(value), float(mean), float(variance)

    @cached_property
    def _stacked(self) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
        """Log masses and losses of all releases, one after the other, the first index of each, and the counts."""
        finite = [law.positive for law, _ in self.factors]
        return (
            np.concatenate([log_mass for _, log_mass, _ in finite]),
            np.concatenate([losses for _, _, losses in finite]),
            np.concatenate([[0], np.cumsum([index.size for index, _, _ in finite])[:-1]]),
            np.array([count for _, count in self.factors], dtype=np.float64),
        )

    def _values(self, tilts: FloatArray) -> FloatArray:
        """The logarithm of the moment generating function of the total loss at each tilt."""
        log_mass, losses, starts, counts = self._stacked
        exponent = log_mass + tilts[:, None] * losses
        # log-sum-exp for each release separately
        greatest = np.maximum.reduceat(exponent, starts, axis=1)
        exponent -= np.repeat(greatest, np.diff(starts, append=losses.size), axis=1)
        weight = np.exp(np.maximum(exponent, _VANISHED, out=exponent), out=exponent)
        return np.asarray((greatest + np.log(np.add.reduceat(weight, starts, axis=1))) @ counts)

    def _tilt_of_loss(self, loss: float, start: float = 0.0) -> float:
        """The tilt under which the mean total loss is `loss`; 0 if the mean without a tilt is greater."""
        return self._root(lambda _t, _value, slope, curvature: (slope - loss, curvature), start)

    def tilt_of_level(self, log_delta: float, start: float = 0.0, *, saddlepoint: bool = False) -> float:
        """The tilt of :func:`level_of_tilt`."""
        return self._root(level_of_tilt(log_delta, saddlepoint=saddlepoint), start)

    def _root(self, rising: Rising, start: float) -> float:
        """As :func:`root_of_tilts`; under a great tilt all mass is at the greatest loss, and no more change follows."""
        tilt = root_of_tilts(self.cumulant, rising, start, greatest_mean=self.greatest - _AT_THE_END * self.step)
        return min(tilt, _STEEPEST / self.step)

    def _tail(self, tilt: float, *, lower: bool = False) -> _Tail:
        """Upper tails of the composed law under P and Q; all errors are added, or subtracted if `lower`."""
        value, mean, _ = self.cumulant(tilt)
        composed = self.tilted(tilt)
        losses = (composed.first + np.arange(composed.law.size, dtype=np.float64)) * self.step + self.offset
        rounding = self.rounding(tilt)
        # mass below the window, with the tilt undone at the least loss: exp(-t L) is greatest there
        lowest = sum(count * float(law.losses[0]) for law, count in self.factors)
        with np.errstate(over="ignore"):
            below = composed.below * np.exp(tilt * (mean - lowest)) if composed.below > 0 else 0.0
        if lower:
            # a lower bound at each point: twice the transform's error, and all that may have been folded into it
            law = np.maximum(composed.law - 2 * composed.error - composed.below - composed.beyond, 0.0)
            return _Tail.of(law, losses, tilt, mean, value - rounding, 0.0, below, -1)
        return _Tail.of(composed.law, losses, tilt, mean, value + rounding, composed.beyond, below, 1)

    def rounding(self, tilt: float) -> float:
        """Bound on the relative error of the tilted masses, over all releases together.

        Each mass is the exponential of a sum, whose rounding error is proportional to the magnitudes of its terms.
        """
        error = 0.0
        for law, count in self.factors:
            # terms of the exponent: log mass, at least -_VANISHED where it matters, t times the loss, K(t)
            losses = law.positive[2]
            greatest_exponent = max(abs(float(losses[0])), abs(float(losses[-1]))) * tilt
            error += count * UNIT * (8 + 2 * (-_VANISHED + greatest_exponent + abs(law.cumulant(tilt)[0])))
        return error

    def fits(self, tilt: float) -> bool:
        """Whether :meth:`tilted` has room for a window about the mean."""
        return self.count == 1 or bool(_Reach.of(self, tilt).points < MOST_POINTS / 2)

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """The least and the greatest total loss with positive mass, in steps."""
        least = sum(count * (law.first + int(law.positive[0][0])) for law, count in self.factors)
        greatest = sum(count * (law.first + int(law.positive[0][-1])) for law, count in self.factors)
        return least, greatest

    def _spectra(self, tilt: float, length: int) -> list[np.ndarray]:
        """Transforms, of so many points, of the tilted laws; each is normalised, so its transform is at most 1 in modulus."""
        from scipy import fft

        spectra = []
        for law, _ in self.factors:
            index, log_mass, losses = law.positive
            tilted = np.zeros(length)
            tilted[index] = np.exp(log_mass + tilt * losses - law.cumulant(tilt)[0])
            spectra.append(fft.rfft(tilted))
        return spectra

    def tilted(self, tilt: float) -> Tilted:
        """The composed law under an exponential tilt, normalised, in a window about its mean.

        The transform may fold mass from outside the window into it (aliasing). Chernoff bounds of that mass are
        returned.
        """
        from scipy import fft

        first = sum(count * law.first for law, count in self.factors)
        if self.count == 1:
            law, _ = self.factors[0]
            with np.errstate(divide="ignore"):
                mass = np.exp(law.log_mass + tilt * law.losses - law.cumulant(tilt)[0])
            return Tilted(mass, first, 0.0, 0.0, 0.0)
        reach = _Reach.of(self, tilt)
        low, points = reach.low, reach.points
        if points > MOST_POINTS:
            raise ConvergenceError(
                f"{self.count} releases need {points} grid points, over 2**23: use a greater step than {self.step:g}"
            )
        # the transform needs room for the longest single law as well
        length = fft.next_fast_len(max(points, *(law.mass.size for law, _ in self.factors)), real=True)
        spectra = self._spectra(tilt, length)
        power = _power(spectra[0], self.factors[0][1])
        for spectrum, (_, count) in zip(spectra[1:], self.factors[1:], strict=True):
            power = power * _power(spectrum, count)
        # rotated so that index 0 is the loss `low`
        folded = np.roll(fft.irfft(power, length), -((low - first) % length))[:points]
        # the power multiplies an error of the spectrum by count * |spectrum|^(count - 1); the mean of this over the
        # frequencies bounds the error at every grid point
        mean_power = _mean_power(spectra[0], self.factors[0][1] - 1)
        error = float(8 * UNIT * np.log2(length + 2) * self.count * mean_power)
        # raised by the transform's error: no mass is below the true one
        below, beyond = reach.below(low - 1), reach.beyond(low + points)
        return Tilted(np.maximum(folded, 0.0) + error, low, error, below, beyond)


@dataclass(frozen=True)
class _Parted:
    r"""A composition as a sum over which release has the one great loss, if any: where that loss alone makes delta.

    Errors of a transform are relative to the greatest tilted masses. Where one loss of small probability makes delta, it lies
    in a deep valley of the tilted law, whatever the tilt: on one side all losses are small, on the other they are still rarer
    but greater. Then the errors hide it. Delta is linear in the law. Let each law be the sum of its small losses N and of
    parts G of its great ones. By the number of great losses,

    .. math:: \delta = \delta(N^T) + T\sum_G\delta(N^{T-1}G) + R, \qquad 0 \le R \le \tfrac12(T\sum_GG(1))^2,

    where G(1) is the mass; of unlike releases, the sum over all of them. Each part is read under its own tilt.
    """

    parts: tuple[tuple[int, Product], ...]  # how often each counts
    missing: float  # upper bound of R

    def delta(self, epsilon: float) -> float:
        """Upper bound of delta at epsilon."""
        return self._sum([part._delta(epsilon)[0] for _, part in self.parts], 1) + self.missing

    def least_delta(self, epsilon: float) -> float:
        """Lower bound of delta at epsilon."""
        return self._sum([part._least_delta(epsilon)[0] for _, part in self.parts], -1)

    def epsilon(self, delta: float, about: float, *, upper: bool) -> float:
        """Upper or lower bound of the epsilon at delta, which is sought from a place on; infinite or 0 if none is found."""
        greatest = max(part.greatest for _, part in self.parts) * (1 + 8 * UNIT)
        ends = 0.0, np.inf
        # the second tilts suit what the first have found
        for _ in range(2):
            spectra = [_Spectrum.of(part, part._tilt_of_loss(about), 0.0, greatest) for _, part in self.parts]
            readable = [spectrum for spectrum in spectra if spectrum]
            if len(readable) < len(spectra):
                break

            def excess(epsilon: float, spectra: list[_Spectrum] = readable) -> float:
                # delta comes rounded to the safe side by a unit, which outweighs that of the quotient
                deltas = [spectrum.delta(epsilon, upper=upper)[0] + (SMALLEST if upper else 0.0) for spectrum in spectra]
                bound = self._sum(deltas, 1 if upper else -1) + (self.missing if upper else 0.0)
                return math.log(max(bound, SMALLEST) / delta)

            if excess(greatest) > 0:
                break
            low, high = falling_root(excess, 0.0, np.inf, greatest, min(about, greatest), lambda high: _ROUGH * high)
            about, ends = high, (max(ends[0], low), min(ends[1], high))
        return ends[1] if upper else ends[0]

    def _sum(self, deltas: list[float], sign: int) -> float:
        """What the parts' deltas add up to, rounded up for `sign` = 1, down for -1."""
        total = sum(count * delta for (count, _), delta in zip(self.parts, deltas, strict=True))
        return total * (1 + sign * 4 * UNIT * len(deltas))


@dataclass(frozen=True)
class _Reach:
    """Where the tilted total loss lies, from Chernoff's bounds: log E exp(x (L - mean)) at some x on both sides of 0."""

    product: Product
    mean: float
    extra: FloatArray
    up: FloatArray
    down: FloatArray

    @classmethod
    def of(cls, product: Product, tilt: float) -> _Reach:
        value, mean, variance = product.cumulant(tilt)
        extra = _EXTRA_TILTS / max(math.sqrt(variance), product.step)
        up, down = (product._values(tilt + sign * extra) - value - sign * extra * mean for sign in (1, -1))
        return cls(product, mean, extra, up, down)

    def beyond(self, place: int) -> float:
        """Upper bound of the tilted mass of losses from `place` steps up."""
        if place > self.product._ends[1]:
            return 0.0
        distance = place * self.product.step + self.product.offset - self.mean
        return float(np.exp(min(float(np.min(self.up - self.extra * distance)), 0.0)))

    def below(self, place: int) -> float:
        """Upper bound of the tilted mass of losses from `place` steps down."""
        if place < self.product._ends[0]:
            return 0.0
        distance = self.mean - place * self.product.step - self.product.offset
        return float(np.exp(min(float(np.min(self.down - self.extra * distance)), 0.0)))

    @cached_property
    def low(self) -> int:
        """A place below which the tilted mass is negligible."""
        distance = float(np.min((self.down - _OUTSIDE) / self.extra))
        place = math.floor((self.mean - distance - self.product.offset) / self.product.step)
        return max(place, self.product._ends[0])

    @cached_property
    def high(self) -> int:
        """A place above which the tilted mass is negligible."""
        distance = float(np.min((self.up - _OUTSIDE) / self.extra))
        place = math.ceil((self.mean + distance - self.product.offset) / self.product.step)
        return min(place, self.product._ends[1])

    @property
    def points(self) -> int:
        return self.high - self.low + 1


@dataclass(frozen=True)
class _Kernel:
    r"""The powers of a transform, times the two parts of :math:`B(y) = (1 - e^{-y})a + b` of :class:`_Spectrum`.

    The numerator of B is :math:`1 - e^{-y} + r(e^{-y} - e^{-h}) = (1-r)(1-e^{-y}) + r(1-e^{-h})`, without cancellation at a
    great y; so :math:`a = 1/(1-re^{-h})` and :math:`b = r(1-e^{-h})a/(1-r)`. The modulus of B is at most
    :math:`(1-e^{-y})|a| + |b|`.
    """

    rest: np.ndarray
    constant: np.ndarray
    sizes: tuple[float, float]  # sums of the moduli of either
    errors: tuple[float, float]  # what the error of the powers makes of either, with the frequencies that are left out

    @classmethod
    def of(cls, spectrum: _Spectrum, rest: np.ndarray, constant: np.ndarray) -> _Kernel:
        sizes, errors = [], []
        for part in (rest, constant):
            size = np.abs(part)
            sizes.append(float(np.sum(np.abs(spectrum.power) * size)))
            # at frequency 0 the kernel is the greatest
            errors.append(float(spectrum.error @ size) + 2 * math.exp(_LEFT_OUT) * float(size[0]))
        return cls(spectrum.power * rest, spectrum.power * constant, (sizes[0], sizes[1]), (errors[0], errors[1]))


@dataclass(frozen=True)
class _Spectrum:
    r"""The transform of a composed law under a tilt t; it gives delta at any epsilon as a sum over few frequencies.

    Let :math:`\delta = e^{K(t)} E\,[e^{-tL}(1 - e^{\epsilon-L})_+]` under the tilted law. The law lies on multiples kh of the
    step; an offset of them is taken off epsilon. Let :math:`k_0` be the first of them above epsilon, and
    :math:`y = k_0h - \epsilon`. With N points, frequencies
    :math:`\theta = 2\pi j/N`, transform :math:`\Phi` of the law, :math:`r = e^{-th+i\theta}` and m losses from :math:`k_0` on,

    .. math:: \delta = \frac{e^{K(t)-tk_0h}}N\sum_j\Phi_j\,e^{i\theta_jk_0}\,(B(y) - r^mB(y + mh)), \qquad
              B(y) = \sum_{l\ge0}r^l(1 - e^{-y-lh}) = \frac{1 - e^{-y} + r(e^{-y} - e^{-h})}{(1-r)(1-re^{-h})} .

    Notes
    -----
    *Aliasing.* The sum counts each loss L once for every :math:`L + nNh` among the m losses. All terms are positive. So it is no
    less than the part of delta from the m losses; and it exceeds that part only by losses from :math:`k_0 + N` steps up and those
    up to :math:`k_0 + m - 1 - N`, each of which adds at most :math:`g = \min(1, y + 1/(1 + t))`, because
    :math:`e^{-t(z-y)}(1 - e^{-z}) \le \min(1, y + (z-y)e^{-t(z-y)})` and :math:`xe^{-tx} \le 1/(et)`; :class:`_Reach` bounds
    their mass. Losses from :math:`k_0 + m` on have at most the factor :math:`e^{-tmh}`. Where epsilon is below nearly all losses,
    :math:`k_0` is the first of these; losses between have at most the factor :math:`e^{ty}`.

    *Rounding.* A transform of one law errs by at most :math:`\eta = 8u\log_2N`; this is assumed of the library, and leaves room
    for the powers. So the product of the powers errs by at most :math:`\prod(|\Phi_i|+\eta)^{n_i} - \prod|\Phi_i|^{n_i}`, with
    the computed values. Frequencies where the first product is below :math:`e^{-46}` are left out: together they hold no more
    than this times the kernel at frequency 0, which is the greatest.
    """

    reach: _Reach
    least: float  # epsilons below it are not sought
    tilt: float
    log_scale: float  # K(t)
    rounding: float
    length: int
    longest: int  # losses that are summed, at most: m
    first: int  # of the law of the transform, in steps
    frequency: IntArray
    power: np.ndarray
    error: FloatArray  # bound of the error of each power, over its modulus

    @classmethod
    def of(cls, product: Product, tilt: float, low: float, high: float) -> _Spectrum | None:
        """For epsilons between `low` and `high`; None if there are too many points."""
        from scipy import fft

        h = product.step
        reach = _Reach.of(product, tilt)
        start = max(math.floor((low - product.offset) / h), reach.low)
        window = max(reach.high - reach.low, 1)
        if tilt * window * h < _LEAST_WINDOW_TILT:
            tilt = _LEAST_WINDOW_TILT / (window * h)
            reach = _Reach.of(product, tilt)
            start = max(start, reach.low)
        value = product.cumulant(tilt)[0]
        longest = max(min(reach.high - start, math.ceil(-_OUTSIDE / (tilt * h))), 0) + 2
        # what lies above the first epsilon, and what is summed above the last one with what lies below it
        points = max(reach.high - start, min(longest + math.floor((high - product.offset) / h), reach.high) - reach.low) + 2
        if points > MOST_POINTS:
            return None
        points = min(points, product._ends[1] - product._ends[0] + 1)
        length = fft.next_fast_len(max(points, *(law.mass.size for law, _ in product.factors)), real=True)
        noise = 8 * UNIT * math.log2(length + 2)
        spectra = product._spectra(tilt, length)
        counts = [count for _, count in product.factors]
        moduli = [np.abs(spectrum) for spectrum in spectra]
        log_power = np.sum([count * np.log(modulus + noise) for modulus, count in zip(moduli, counts, strict=True)], axis=0)
        kept = np.flatnonzero(log_power > _LEFT_OUT)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            logs = np.sum([count * np.log(each[kept]) for each, count in zip(spectra, counts, strict=True)], axis=0)
            power = np.where(logs.real > _VANISHED, np.exp(logs), 0.0)
            growth = np.sum([n * np.log1p(noise / each[kept]) for each, n in zip(moduli, counts, strict=True)], axis=0)
            grown = np.where(power != 0, np.abs(power) * np.expm1(growth), np.exp(log_power[kept]))
        # every frequency but 0 and the middle one stands for two
        weight = np.where((kept == 0) | (2 * kept == length), 1.0, 2.0) / length
        first = sum(count * law.first for law, count in product.factors)
        rounding = product.rounding(tilt)
        power, error = weight * power, weight * grown
        return cls(reach, low, tilt, value, rounding, length, longest, first, kept, power, error)

    @cached_property
    def _kernel(self) -> _Kernel:
        """What does not depend on epsilon in the sum."""
        h, t = self.reach.product.step, self.tilt
        angle = 2 * np.pi / self.length * self.frequency
        decay, next_decay = math.exp(-t * h), math.exp(-(1 + t) * h)
        cosine, sine, half = np.cos(angle), np.sin(angle), np.sin(angle / 2)
        # 1 - r without cancellation: -expm1(-th) cos + 2 sin^2(half) ...
        one_less = -math.expm1(-t * h) * cosine + 2 * half * half - 1j * decay * sine
        next_less = -math.expm1(-(1 + t) * h) * cosine + 2 * half * half - 1j * next_decay * sine
        return _Kernel.of(self, 1 / next_less, decay * (cosine + 1j * sine) * -math.expm1(-h) / (one_less * next_less))

    def _sums(self, epsilon: float) -> tuple[float, float, float, int, int]:
        """The sum of the class's formula without its first factor, its derivative in epsilon, its error, k_0 and m."""
        h, t, epsilon = self.reach.product.step, self.tilt, epsilon - self.reach.product.offset
        start = max(math.floor(epsilon / h) + 1, self.reach.low)
        number = min(self.longest, self.reach.high - start + 1, self.length)
        if number <= 0:
            return 0.0, 0.0, 0.0, start, 0
        y = max(start * h - epsilon, 0.0)
        value, slope, size, error = self._summed(start, y)
        if t * h * number < -_VANISHED:
            factor = math.exp(-t * h * number)
            tail, tail_slope, tail_size, tail_error = self._summed(start + number, y + number * h)
            value, slope = value - factor * tail, slope - factor * tail_slope
            size, error = size + factor * tail_size, error + factor * tail_error
        return value, slope, error + _KERNEL_ERROR * size, start, number

    def _summed(self, place: int, y: float) -> tuple[float, float, float, float]:
        """The sum of the terms with B(y) at a place, its derivative in -y, the sum of their moduli, and the powers' error."""
        kernel = self._kernel
        # (j k) mod N in integers, so that the angle of the power is exact to rounding; k mod N first, as j k may exceed 2^63
        phase = 2 * np.pi / self.length * (self.frequency * ((place - self.first) % self.length) % self.length)
        cosine, sine = np.cos(phase), np.sin(phase)
        of_rest = float(np.sum(cosine * kernel.rest.real - sine * kernel.rest.imag))
        of_constant = float(np.sum(cosine * kernel.constant.real - sine * kernel.constant.imag))
        share = -math.expm1(-y)
        size, error = (share * of_rest_part + part for of_rest_part, part in (kernel.sizes, kernel.errors))
        return share * of_rest + of_constant, math.exp(-y) * of_rest, size, error

    def _bounds(self, epsilon: float, *, upper: bool) -> tuple[float, float, float]:
        """Log of the bound of delta, its derivative, and the share of errors in it."""
        h, t, offset = self.reach.product.step, self.tilt, self.reach.product.offset
        # the curve is decreasing: an epsilon a little to the safe side outweighs the rounding of its place between multiples
        epsilon = float(epsilon + (epsilon + abs(offset)) * (-8 if upper else 8) * UNIT)
        value, slope, error, start, number = self._sums(epsilon)
        if upper:
            # losses beyond those that are summed, and losses between epsilon and the first of them
            beyond = self.reach.beyond(start + number) * math.exp(max(-t * h * number, _VANISHED))
            between = self.reach.below(start - 1) if (start - 1) * h + offset > epsilon else 0.0
            growth = math.exp(min(t * (start * h + offset - epsilon), -_VANISHED)) if between else 0.0
            bound = value + error + beyond + between * growth
        else:
            y = max(start * h + offset - epsilon, 0.0)
            folded = self.reach.beyond(start + self.length) + self.reach.below(start + number - 1 - self.length)
            bound = value - error - min(1.0, y + 1 / (1 + t)) * folded
        if math.isnan(bound):
            raise ConvergenceError(f"no number for delta at epsilon {epsilon!r} with the tilt {t!r}")
        if not bound > 0:
            # above all losses nothing is left; otherwise errors hide the bound
            return -np.inf, 0.0, 0.0 if number <= 0 else np.inf
        rounding = self.rounding + 8 * UNIT * (1 + t * (abs(start * h) + abs(offset)) + abs(self.log_scale))
        log_bound = math.log(bound) + self.log_scale - t * (start * h + offset)
        share = abs(bound - value) / max(bound, slope * epsilon)
        return float(log_bound + (rounding if upper else -rounding)), -slope / float(bound), float(share)

    def delta(self, epsilon: float, *, upper: bool) -> tuple[float, float]:
        """Bound of delta at epsilon, of the finite losses, and the share of errors in it."""
        log_bound, _, error = self._bounds(epsilon, upper=upper)
        return float(np.exp(min(log_bound, 0.0))), error

    def epsilon(self, delta: float, near: float = np.nan, *, upper: bool) -> tuple[float, float, float]:
        """Bound of the epsilon >= 0 at delta, about that epsilon, and the share of errors, 0 where no other tilt would help.

        It is sought from `near` on, and without it from the mean on.
        """
        log_delta, greatest = math.log(delta), self.reach.product.greatest
        low, high = self.least, max(greatest, self.least)
        epsilon = float(near if low < near < high else min(max(self.reach.mean, 0.0), high))
        # where the bound of delta is on the safe side; a long transform is read at fewer epsilons
        confirmed = np.inf if upper else 0.0
        for _ in range(max(min(_NEWTON_STEPS, _READ // max(self.frequency.size, 1)), _FEWEST_STEPS)):
            safe, slope, error = self._bounds(epsilon, upper=upper)
            # errors hide the bound near the mean, and a long transform is dear to read
            if not upper and safe == -np.inf and self.frequency.size > _LONG:
                break
            fall = safe - log_delta
            if fall > 0:
                low, confirmed = epsilon, (confirmed if upper else max(confirmed, epsilon))
            else:
                high, confirmed = epsilon, (min(confirmed, epsilon) if upper else confirmed)
            if high - low <= (4 * UNIT if error <= _SMALL else _ROUGH) * high:
                break
            if slope < 0 and np.isfinite(fall):
                # Newton's steps for log delta, which is nearly linear in the bulk, and for delta, which is near the greatest loss
                by_log, linear = epsilon - fall / slope, epsilon + math.expm1(min(-fall, _LARGE)) / slope
                moves = [by_log, linear] if fall > 0 else [linear, by_log]
                if abs(by_log - epsilon) <= _LAST * epsilon:
                    break
            else:
                moves = []
            # the first end itself is tried where a step goes beyond it
            beyond = low == self.least < epsilon and by_log <= low if moves else False
            inside = next((moved for moved in moves if low < moved < high), (low + high) / 2)
            epsilon = low if beyond else inside
        # moved outwards in growing steps until the bound of delta there confirms it
        about, shift = epsilon, 2 * UNIT
        for _ in range(_MOVES):
            safe, _, error = self._bounds(epsilon, upper=upper)
            if (safe <= log_delta) if upper else (safe > log_delta):
                return epsilon, about, error if epsilon > self.least or epsilon == 0 else np.inf
            if not upper and epsilon == 0:
                break
            epsilon = epsilon * (1 + shift) + 1e-300 if upper else epsilon * (1 - shift)
            shift *= 4
        return confirmed, about, 0.0 if not upper and about == 0 else np.inf


def parts_of_tail(tail: FloatArray, greatest: float) -> IntArray:
    """Ends of parts of the great losses, from the greatest one on, given what they and all greater ones have of the mass.

    It is at most `greatest` at all of them. It falls little over each part, so that no tilt of one has a deep valley.
    """
    great = tail[: np.searchsorted(tail, greatest, side="right")]
    falls = math.log(max(greatest, SMALLEST)) - np.log(np.maximum(great, SMALLEST))
    fall = max(_PART_FALL, float(np.max(falls, initial=0.0)) / _PARTS)
    inner = np.flatnonzero(np.diff(np.floor(falls / fall))) + 1
    return np.unique(np.concatenate([[0], inner, [great.size]])).astype(np.int64)


def with_one_great(near: list[tuple[_Law, int]], great: list[list[_Law]]) -> list[tuple[int, list[tuple[_Law, int]]]]:
    """The releases without a great loss, and with one of each part of the great losses of each; how often each case occurs."""
    cases = [(1, near)]
    for i, (_, count) in enumerate(near):
        others = [(law, n - (i == j)) for j, (law, n) in enumerate(near)]
        cases += [(count, [*others, (part, 1)]) for part in great[i]]
    return [(count, [factor for factor in factors if factor[1]]) for count, factors in cases]


def level_of_tilt(log_delta: float, *, saddlepoint: bool = False) -> Rising:
    """The function that vanishes at the tilt t of the best Chernoff bound: K(t) - t eps = log delta where eps = K'(t).

    With the saddlepoint's factor, about 1 / (1 + t)(1 + t s) for the standard deviation s, the mean is nearer to the epsilon.
    """

    def excess(t: float, value: float, slope: float, curvature: float) -> tuple[float, float]:
        factor = math.log1p(t) + math.log1p(2.5 * t * math.sqrt(curvature)) if saddlepoint else 0.0
        return t * slope - value + log_delta + factor, t * curvature

    return excess


def root_of_tilts(
    cumulants: Callable[[float], tuple[float, float, float]],
    rising: Rising,
    start: float = 0.0,
    *,
    greatest_mean: float = np.inf,
    greatest_tilt: float = np.inf,
) -> float:
    """The tilt at which an increasing function vanishes, to a percent and a deviation of the loss; 0 if it is positive at 0.

    The function, of the tilt and the cumulants there, comes with its derivative. If it is negative until the mean exceeds
    `greatest_mean`, or the tilt `greatest_tilt`, that tilt. Newton's method from `start`, kept in an interval.
    """
    at_zero = cumulants(0.0)
    if rising(0.0, *at_zero)[0] >= 0:
        return 0.0
    low, high = 0.0, np.inf
    tilt = start if start > 0 else 1 / max(math.sqrt(at_zero[2]), 1e-150)
    for _ in range(_NEWTON_STEPS):
        value, slope, curvature = cumulants(tilt)
        excess, derivative = rising(tilt, value, slope, curvature)
        if excess < 0:
            low = tilt
            if slope > greatest_mean or tilt > greatest_tilt:
                return tilt
        else:
            high = tilt
        if low >= (1 - 8 * UNIT) * high:
            break
        moved = tilt - excess / derivative if derivative > 0 else np.inf
        # the cumulants of a heavy tail soar at some tilt: the mean has to be as near as a deviation, too
        if abs(moved - tilt) <= _CLOSE * tilt and abs(excess * (moved - tilt)) <= 1:
            return moved
        # where Newton's step leaves the interval: its geometric mean, or a doubling
        inside = max(low, tilt / 8) < moved < min(high, tilt * 8)
        tilt = moved if inside else (math.sqrt(max(low, high / 64) * high) if high < np.inf else 8 * tilt)
    return tilt


def _mean_power(spectrum: np.ndarray, count: int) -> float:
    """Mean of abs(spectrum)^count, where values that are too small count as the greatest of them."""
    if not count:
        return 1.0
    with np.errstate(divide="ignore"):
        # as in _power, small values are cut off, here counted at their greatest
        exponent = count * np.log(np.abs(spectrum))
    large = exponent[exponent > _VANISHED]
    return float((np.sum(np.exp(large)) + (exponent.size - large.size) * np.exp(_VANISHED)) / exponent.size)


def _power(spectrum: np.ndarray, count: int) -> np.ndarray:
    """The power of a spectrum through its logarithm; values that are too small are zero."""
    if count == 1:
        return spectrum
    with np.errstate(divide="ignore"):
        nonzero = count * np.log(np.abs(spectrum)) > _VANISHED
    out = np.zeros_like(spectrum)
    out[nonzero] = np.exp(count * np.log(spectrum[nonzero]))
    return out


@dataclass(frozen=True)
class Tilted:
    """A law on consecutive multiples of the step, from ``first`` on.

    Each mass is between the true one and the true one plus twice `error`, aliasing left aside. `below` and `beyond`
    bound the mass at lesser and at greater losses.
    """

    law: FloatArray
    first: int
    error: float
    below: float
    beyond: float


@dataclass(frozen=True)
class _Tail:
    """Masses under P, over ``exp(log_scale)``, of the greatest total losses in decreasing order, and their sums.

    Losses below `bottom` are left out of the sums; the sum of their masses is at most `below`. The sum of the masses of
    losses above the first one is at most `beyond`.
    """

    mass: FloatArray
    losses: FloatArray
    room: float  # factor for the rounding of sums and exponentials: above 1 in upper bounds, below 1 in lower bounds
    mean: float
    log_scale: float
    beyond: float
    below: float

    @cached_property
    def p(self) -> FloatArray:
        """Cumulative sums under P."""
        return np.cumsum(self.mass) * self.room

    @property
    def bottom(self) -> float:
        return float(self.losses[-1])

    @cached_property
    def _scaled(self) -> FloatArray:
        """Cumulative sums under Q times ``exp(mean)``, for epsilons near the mean."""
        with np.errstate(under="ignore", over="ignore"):
            return np.cumsum(self.mass * np.exp(np.minimum(self.mean - self.losses, _LARGE))) / self.room

    def deltas(self, epsilon: FloatArray) -> FloatArray:
        """As :meth:`delta` at each epsilon; nan far from the mean. The mass that may be missing is added to an upper bound.

        The greatest difference of the sums is that of the losses above epsilon, which a search finds.
        """
        # number of losses above epsilon
        above = np.searchsorted(-self.losses, -epsilon, side="left")
        # mass outside of the window, for upper bounds only
        missing = self.beyond + np.where(epsilon < self.bottom, self.below, 0.0) if self.room > 1 else 0.0
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            # exp(epsilon - loss) in two factors: cumulative sums for the mean, then one factor for each epsilon
            q = np.append(0.0, self._scaled)[above] * np.exp(epsilon - self.mean)
            difference = np.maximum(np.append(0.0, self.p)[above] - q, 0.0) + missing
        return np.asarray(np.where(np.abs(epsilon - self.mean) <= _LARGE, difference, np.nan))

    @cached_property
    def _at_losses(self) -> FloatArray:
        return np.asarray(np.maximum.accumulate(np.nan_to_num(self.deltas(self.losses), nan=0.0)))

    def epsilons(self, delta: FloatArray) -> FloatArray:
        """An approximation of the epsilon at which :meth:`deltas` is each delta."""
        # between two losses the curve is p - exp(epsilon) q: solved for epsilon
        above = np.searchsorted(self._at_losses, delta, side="right")
        p, q = np.append(0.0, self.p)[above], np.append(0.0, self._scaled)[above]
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = self.mean + np.log((p + self.beyond - delta) / q)
        return np.asarray(np.clip(np.nan_to_num(inside, nan=float(self.losses[0])), self.bottom, float(self.losses[0])))

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
        sign: int,
    ) -> _Tail:
        """From the law tilted to `mean`, with the log of its normalisation and the tilted mass of greater losses.

        Rounded up for `sign` = 1, down for -1.
        """
        exponent = tilt * (mean - losses)  # undoes the tilt
        kept = int(np.argmin(np.append(exponent[::-1] < _LARGE, False)))  # number of greatest losses that exp can hold
        with np.errstate(under="ignore"):
            # greatest losses first; the factor exp(t (mean - loss)) is at most e^600
            mass = law[::-1][:kept] * np.exp(exponent[::-1][:kept])
            # losses beyond the window are greater than its last one, so undoing the tilt there is an upper bound
            mass_beyond = beyond * np.exp(-tilt * (losses[-1] - mean))
        return cls(
            mass,
            losses[::-1][:kept],
            (1 + (law.size + 4 * _LARGE) * UNIT) ** sign,
            mean,
            value - tilt * mean,
            float(mass_beyond),
            below if kept == law.size else np.inf,
        )


@dataclass(frozen=True)
class Readings:
    """Bounds of the curve of a composition from one tilted law, all upper or all lower ones."""

    tail: _Tail
    infinite: float

    @property
    def size(self) -> int:
        return self.tail.mass.size

    def deltas(self, epsilon: FloatArray) -> FloatArray:
        """The bound of delta at each epsilon; nan where the law does not reach."""
        tail = self.tail.deltas(epsilon)
        with np.errstate(divide="ignore", under="ignore"):
            return np.asarray(np.minimum(np.exp(np.log(tail) + self.tail.log_scale) + self.infinite, 1.0))

    def epsilons(self, delta: FloatArray) -> FloatArray:
        """About the epsilon at which the bound is each delta."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.tail.epsilons(np.exp(np.log(np.maximum(delta - self.infinite, 0.0)) - self.tail.log_scale))
