r"""Gaussian releases whose noise is random and shown with them: rounds compose exactly, because their ratios add up.

Given the noise, a release is Gaussian with some :math:`x = \mu^2`, the square of sensitivity over standard deviation; x = 0
where nothing is sent. Independent releases with :math:`x_1, x_2, \dots` are together one Gaussian release with
:math:`M = \sum_t x_t`, and M is shown. So

.. math:: \delta(\epsilon) = E\,f(M), \qquad f(M) = \delta_G(\epsilon; \sqrt M),

for any number of rounds: one mean over the law of a sum, whatever the rounds. It is taken where the law of x is *regular*
(:attr:`Ratios.regular`); other releases are composed by their divergences.

Steps, in order
---------------
1. Each release puts its x on multiples of a step h: every value is shared by both neighbours such that the mean is kept.
2. *Tilt.* The weight :math:`e^{tM}` moves the sums that matter for an epsilon to the middle (*Far tail* below), and the
   tilted laws are composed in Fourier space (:mod:`airtight.analytics.privacy.accounting.loss_distribution`).
3. The mean of f is taken over the composed law, with the errors below on either side.
4. An epsilon is the root of a bound of delta. Many epsilons or deltas are read from a convex band around the curve
   (:mod:`airtight.analytics.privacy.accounting.convex_band`).

Proof of the bounds
-------------------
*Sharing.* Let the sum M' on the grid replace M round by round. In a round, x' has the conditional mean x and the conditional
variance :math:`q = (x - kh)((k+1)h - x)`, and all other terms stay. By Taylor's theorem
:math:`E f(x' + R) - f(x + R)` is q/2 times a value of f'' between both neighbours. Where the noise itself is known from a grid
with slack :math:`\sigma` and spread s (:mod:`airtight.analytics.distributions.weighted_sum`), and u is the noise variance,
:math:`x = d^2/u` and the same theorem in u adds :math:`s/2` times a value of

.. math:: \frac{d^2}{du^2} f(x(u) + R) = f''\,\frac{x^2}{u^2} + f'\,\frac{2x}{u^2}.

So :math:`E f(M)` exceeds :math:`E f(M')` by at most :math:`\tfrac12\sum_t E[c_t\,F^-(M')]`, and falls short of it by at most
:math:`\tfrac12\sum_t E[c_t\,F^+(M') + b_t\,F'(M')]`, with :math:`c_t = q + s\,x^2/u^2` and :math:`b_t = 2s\,x/u^2` of round t,
and :math:`F^\mp, F'` upper bounds of :math:`(f'')^\mp` and f' wherever the rounds may have been moved: every round by less than
h, and u by at most :math:`\sigma`. The n rounds with x > 0 move by mh together, with m = n or, by Hoeffding's inequality for
independent steps of mean 0, :math:`m = 20\sqrt n + 1` but for a probability of :math:`2e^{-800}`, which underflows; and n is at
most M' over the least positive x'. Hence, with
:math:`r = \sigma/\min u`, between :math:`(M' - mh)_+/(1+r)` and :math:`(M' + mh)/(1-r)`; the factors of c and b are raised by
:math:`(1-r)^{-4}` and :math:`(1-r)^{-3}`. The mean :math:`E[c_t F(M')]` is one over the composition in which the masses of round
t carry the factor :math:`c_t`. As f rises, its values at both ends of this range are bounds, too.

*Derivatives.* With :math:`a = \epsilon/\sqrt M - \sqrt M/2`,

.. math:: f' = \frac{\varphi(a)}{2\sqrt M}, \qquad
          f'' = \frac{\varphi(a)}{2\sqrt M}\Bigl[\frac{\epsilon^2}{2M^2} - \frac18 - \frac1{2M}\Bigr].

:math:`\varphi(a)M^{-k}` is greatest where :math:`M^2/8 + kM = \epsilon^2/2`, rises before and falls after. On an interval, each
term is bounded by its greatest value there, and a sign that the bracket has nowhere by 0.

*Tilted mean.* The composed law is known up to an error in each mass, and up to the tilted mass beyond its window; both count with
the greatest :math:`e^{-tM}f(M)`.

*Far tail.* :math:`f(M) \le e^{-a^2/2}` where :math:`a \ge 0`, and :math:`\min_M\{(t + \tfrac18)M + \epsilon^2/2M\} =
\epsilon\sqrt{2t + \tfrac14}`. So for every :math:`t \ge 0`, with :math:`K(t) = \log E\,e^{tM}`,
:math:`\delta \le \exp(K(t) - \epsilon(\sqrt{2t+\frac14} - \tfrac12))`; for :math:`M > 2\epsilon`, where a < 0, because
:math:`f \le 1` and :math:`e^{-tM}` is less than at :math:`2\epsilon`, where the bound holds. The minimum is at
:math:`M = \epsilon/\sqrt{2t+\frac14}`: with it, :math:`K'(t) = M` gives the tilt that belongs to an epsilon. Beyond the minimum
:math:`e^{-tM-a^2/2}` falls, so that sums from a greater M on have its value there as a bound.

*Great ratios.* One rare great ratio may make delta alone; then errors of the transform hide it. Given which ratios are great, all
of the above holds with the laws of these. So delta is a sum over that (:class:`.loss_distribution._Parted`), where :math:`f\le1`
bounds what two great ones add. Noise that is known from a grid alone does not tell which ratio is great, as its mean is kept only
over all of them: then nothing is split.

*Infinite ratios and missing mass.* A release without noise has an infinite loss. Probability that is missing from the law of the
noise counts as such above; below, it is left out, and subtracted for the mass that was moved to other noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from airtight.analytics.checks import ConvergenceError, FloatArray, IntArray, ParameterError
from airtight.analytics.privacy.accounting.convex_band import ConvexBand
from airtight.analytics.privacy.accounting.loss_distribution import (
    PAIRS,
    LossDistribution,
    Product,
    Rising,
    parts_of_tail,
    root_of_tilts,
    with_one_great,
)
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Mechanism
from airtight.analytics.root_search import falling_root
from airtight.analytics.rounding import NORMAL, SMALLEST, UNIT

NEGLIGIBLE = 1e-25  # probability of noise that is left out, at first
_DOUBTFUL = 1e-12  # it is not left out where this share of delta is less
_UNLIKE, _SMALL, _RARELY, _KNOWN = 1e8, 1e-12, 1e-3, 0.5  # limits of a regular law (Ratios.regular)
_SHARE = 0.12  # of the length on which the weight of M changes: the step, times the root of the number of rounds
_HOEFFDING = 20.0  # 2 T exp(-2 _HOEFFDING^2) underflows
_MOVED = 0.8  # share of this length that all rounds together may move, at most
_LONGEST = 1 << 19  # greatest number of steps in the ratio of one round
_COARSER, _COARSENED = 8.0, 8  # factor of the step where the sums have too many places, and how often it is applied, at most
_FINER = 4.0  # divisor of the step where the grid costs more than the next share of a mean
_REFINED, _MOST_TERMS, _DEEP = 1e-3, 1 << 18, 1e-100  # this share; places up to which, and delta from which on, it is divided
# ratios of neighbouring tilts, one composition for all between, and up to which product of tilt and deviation each is used
_TILTS = (1.25, 6.0), (1.02, 150.0), (1.002, math.inf)
_STEEPEST = 1e12  # greatest tilt, in units of one over the greatest ratio
_CELLS = 2048  # cells of all sums, to bound what lies outside of a window
_PROBABILITY = 1e-13  # relative error of a probability that sums of logarithms give
_SATURATED = 7.0  # a ratio with sqrt(x) / 2 - epsilon / sqrt(x) above it lets f be 1 but for some 1e-12
_APART = 0.1  # distance of the bounds of a mean, over the mean, from which on great ratios are taken apart
_SLIGHT = 1e-6  # share of delta that a great ratio may have for which an upper bound serves
_FEW = 1e-5  # share of delta that ratios beyond the reach may cost
_PASSES = 4  # reaches that are tried for one delta
_TINY = 1e-100  # an epsilon whose square does not underflow
_WIDTH = 1e-9  # relative length at which the search for an epsilon ends
_STEPS, _ATTEMPTS = 60, 60  # of this search, and to confirm what it yields
_BEYOND = 1.05  # factor of the distance at which the bounds should confirm it
_NEAR, _FARTHEST = 1e-5, 1e12  # this length, and the greatest epsilon tried, where every epsilon has its own composition
_MANY = 96  # number of epsilons or deltas at a time from which a band is formed
_BAND, _MOST_NODES = 0.1, 1024  # distance of its nodes in log delta, and their greatest number
_BETWEEN = 1.1  # ratio of neighbouring tilts that place them
_BULK, _EVEN = 4.0, 128  # minus log delta up to which there are so many evenly spaced ones, too
_HALVINGS = 52  # of an interval of epsilon, for many deltas
_DEVIATIONS, _LEVELS = 40.0, 4001  # reach and size of a table of the levels of losses
_LARGEST, _VANISHED = 700.0, -745.0  # logs of a number that fits a double, and of one that underflows
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class Ratios:
    r"""The law of :math:`x = \mu^2` of one release: distance of the means squared over the variance u of the noise.

    Attributes
    ----------
    x : ndarray, shape (A,)
        Finite and positive, rounded up by a relative `doubt` at most.
    probabilities : ndarray, shape (A,)
    noise : ndarray, shape (A,)
        The variance u that belongs to each x.
    never : float
        Probability that nothing is sent.
    infinite : float
        Probability that there is no noise.
    missing, slack, spread, error : float
        Of the law of u (:class:`airtight.analytics.distributions.weighted_sum.Law`).
    doubt : float
    reach, far : float
        Greatest x that is listed, and the probability of greater ones that are finite.
    """

    x: FloatArray
    probabilities: FloatArray
    noise: FloatArray
    never: float
    infinite: float
    missing: float
    slack: float
    spread: float
    error: float
    doubt: float
    reach: float = math.inf
    far: float = 0.0

    def up_to(self, reach: float) -> Ratios:
        """The same law with what lies beyond counted as far, if the law of the noise is exact."""
        near = self.x <= reach
        if np.all(near) or self.slack:
            return self
        return replace(
            self,
            x=self.x[near],
            probabilities=self.probabilities[near],
            noise=self.noise[near],
            reach=reach,
            far=self.far + float(np.sum(self.probabilities[~near])),
        )

    def part(self, chosen: IntArray, never: float) -> Ratios:
        """Some of the finite ratios alone, and this probability that nothing is sent."""
        x, probabilities, noise = self.x[chosen], self.probabilities[chosen], self.noise[chosen]
        return replace(self, x=x, probabilities=probabilities, noise=noise, never=never, infinite=0.0, missing=0.0, far=0.0)

    @cached_property
    def log_atoms(self) -> tuple[FloatArray, FloatArray]:
        """Values of x with positive probability, and the logarithms of these; 0 comes first."""
        values, mass = np.append(0.0, self.x), np.append(self.never, self.probabilities)
        return values[mass > 0], np.log(mass[mass > 0])

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Least and greatest ratio; infinity and 0 where there is none."""
        return float(np.min(self.x, initial=math.inf)), float(np.max(self.x, initial=0.0))

    @cached_property
    def relative_slack(self) -> float:
        """The slack over the least noise, r of the module's notes."""
        return self.slack / float(np.min(self.noise)) if self.slack and self.noise.size else 0.0

    @property
    def regular(self) -> bool:
        """Whether the grids of this module suit the law: ratios neither too unlike nor too rare, and noise that is well known."""
        least, greatest = self.ends
        alike = least >= _SMALL and greatest <= min(1 / _SMALL, _UNLIKE * least)
        return alike and float(np.sum(self.probabilities)) >= _RARELY and self.relative_slack <= _KNOWN

    def on_grid(self, step: float) -> list[FloatArray]:
        """Masses at multiples of the step, and those with the factors c and b of the module's notes."""
        place = self.x / step
        index = place.astype(np.int64)
        share, left = place - index, 1 - self.relative_slack
        curved, bent = share * (1 - share) * step * step, np.zeros(self.x.shape)
        if self.spread:
            curved += self.spread * (self.x / self.noise) ** 2 / left**4
            bent += self.spread * 2 * self.x / self.noise**2 / left**3
        size, masses = int(np.max(index, initial=0)) + 2, []
        for factor in (1.0, curved, bent):
            mass = self.probabilities * factor
            shared = np.bincount(index, mass * (1 - share), size) + np.bincount(index + 1, mass * share, size)
            masses.append(np.asarray(shared, dtype=np.float64))
        masses[0][0] += self.never
        return masses


Law = Callable[[float], Ratios]  # of the probability of noise that may be left out


@dataclass(frozen=True)
class _Composed:
    """The law of the sum of all ratios under a tilt, and what the grids have moved.

    Masses are in units of :math:`e^{K(t)-tM}`, which the weights of a mean undo.
    """

    tilt: float
    rounds: int
    product: Product
    # with the factors c, and b, in one of so many rounds
    marked: tuple[list[tuple[Product, int]], list[tuple[Product, int]]]
    infinite: float  # lower bound of the probability that some ratio is infinite
    far: tuple[float, float]  # bounds of that of one that is infinite or far; above also of one that is missing
    reach: float
    least: float  # no sum on the grid lies between 0 and this
    missing: float
    relative_slack: float
    error: float
    doubt: float

    @classmethod
    def of(cls, laws: list[tuple[Ratios, int]], tilt: float, step: float) -> _Composed:
        """The composition of so many rounds of each law on multiples of the step."""
        parts, counts = [law for law, _ in laws], [count for _, count in laws]
        masses = [law.on_grid(step) for law in parts]

        def product(factors: list[tuple[FloatArray, int]]) -> Product:
            return Product.of([(LossDistribution(step, 0, mass, 0.0), count) for mass, count in factors])

        plain = [(each[0], count) for each, count in zip(masses, counts, strict=True)]
        marked: tuple[list[tuple[Product, int]], list[tuple[Product, int]]] = ([], [])
        for i, each in enumerate(masses):
            others = [(mass, count - (i == j)) for j, (mass, count) in enumerate(plain)]
            for products, mass in zip(marked, each[1:], strict=True):
                if np.any(mass > 0):
                    products.append((product([(mass, 1), *others]), counts[i]))
        far, error = [law.infinite + law.far for law in parts], _PROBABILITY + max(law.error for law in parts)
        return cls(
            tilt=tilt,
            rounds=sum(counts),
            product=product(plain),
            marked=marked,
            infinite=_some([law.infinite for law in parts], counts) * (1 - error),
            far=(
                _some(far, counts) * (1 - error),
                _some([each + law.missing for each, law in zip(far, parts, strict=True)], counts) * (1 + error),
            ),
            reach=min(law.reach for law in parts),
            least=step * min(int(law.ends[0] / step) for law in parts if law.x.size),
            missing=sum(count * law.missing for law, count in laws),
            relative_slack=max(law.relative_slack for law in parts),
            error=sum(count * (law.error + 8 * UNIT) for law, count in laws),
            doubt=min(max(law.doubt for law in parts) + 16 * UNIT, 1.0),
        )

    @cached_property
    def law(self) -> _Masses:
        """The law of the sum."""
        return _Masses.of(self.product, self.tilt, self.least)

    @cached_property
    def _marks(self) -> list[list[tuple[_Masses, int]]]:
        return [[(_Masses.of(product, self.tilt, self.least), count) for product, count in products] for products in self.marked]

    def completed(self, epsilon: float, low: float, high: float) -> tuple[float, float]:
        """Bounds of delta from those of what finite ratios make of it."""
        high = min(high + self.far[1] + SMALLEST, 1.0)
        certain = self.infinite
        if self.far[0] > self.infinite:  # with a far ratio, f is at least its value there; such laws have no slack
            root = math.sqrt(self.reach * (1 - self.doubt))
            log_f, _, log_error = gaussian.log_curve(np.array([epsilon]), np.array([root]))
            certain += (self.far[0] - self.infinite) * math.exp(float(log_f[0] - log_error[0]))
        return min(max(low - self.missing, 0.0) + certain, high), high

    def finite(self, epsilon: float) -> tuple[float, float]:
        """Bounds of what finite ratios make of delta."""
        law = self.law
        with np.errstate(under="ignore", over="ignore", divide="ignore", invalid="ignore"):
            log_f, _, log_error = gaussian.log_curve(np.full(law.at.shape, epsilon), np.sqrt(law.at))
            weight = np.exp(np.where(law.at > 0, log_f, -np.inf) + law.undo)
            about = law.at * (1 - self.doubt), law.at * (1 + self.doubt)
            mean, slope = law.total(weight), np.exp(_log_slope(epsilon, *about) + law.undo)
            # errors of f, and of the ratios, which are rounded
            spoilt = law.total(weight * np.expm1(np.minimum(log_error, 1.0)))
            spoilt += self.doubt * law.total(np.where(law.at > 0, slope * law.at, 0.0))
            # what the window leaves out, or has taken in, at the greatest weight there is (*Far tail*)
            strays = law.stray(_log_peak(self.tilt, epsilon, self.least))
            above, below = self._moved(epsilon, mean)
            relative = law.rounding + self.error
            high = (mean + spoilt + strays + above) * (1 + relative)
            low = (mean - spoilt - strays - below - 2 * law.error * float(np.sum(weight))) * (1 - relative)
        return max(low, 0.0) if low == low else 0.0, min(high, 1.0) if high == high else 1.0

    def root(self, log_delta: float, start: float) -> tuple[float, float]:
        """The epsilon at which the mean of f itself is delta, by Newton's method, and how fast its logarithm falls there."""
        low, high, at = 0.0, math.inf, start
        for _ in range(_STEPS):
            log_f, slope, _ = gaussian.log_curve(np.full(self.law.at.shape, at), np.sqrt(self.law.at))
            with np.errstate(under="ignore", invalid="ignore", over="ignore"):
                weight = self.law.mass * np.exp(np.where(self.law.at > 0, log_f, -np.inf) + self.law.undo)
                mean = float(np.sum(weight))
                fall = -float(np.sum(np.where(weight > 0, weight * slope, 0.0))) / mean if mean > 0 else 0.0
            low, high = (at, high) if mean > math.exp(log_delta) else (low, at)
            following = at + (math.log(mean) - log_delta) / fall if fall > 0 else math.nan
            if not low < following < high:
                following = (low + high) / 2 if high < math.inf else 2 * at
            if abs(following - at) <= _WIDTH * at:
                break
            at = following
        return at, max(fall, SMALLEST)

    @cached_property
    def _cells(self) -> FloatArray:
        """Ends of cells of all positive sums."""
        greatest = self.product.greatest * (1 + 8 * UNIT)
        return np.geomspace(max(self.least, self.product.step / 2), max(greatest, self.product.step), _CELLS)

    def _range(self, first: FloatArray, last: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where sums may have been that lie between two places now."""
        rounds = np.minimum(np.floor(last / self.least * (1 + 4 * UNIT)) if self.least > 0 else np.inf, self.rounds)
        distance, r = _farthest(rounds) * self.product.step, self.relative_slack
        return np.maximum(first - distance, 0.0) / (1 + r) * (1 - self.doubt), (last + distance) / (1 - r) * (1 + self.doubt)

    def _moved(self, epsilon: float, mean: float) -> tuple[float, float]:
        """What the grids may have taken from delta, and what they may have added to it."""
        above = below = 0.0
        curved, bent = self._marks
        for law, count in curved:
            concave, convex = _curvature(epsilon, *self._range(law.at, law.at))
            above += count / 2 * law.most(concave)
            below += count / 2 * law.most(convex)
        for law, count in bent:
            below += count / 2 * law.most(_log_slope(epsilon, *self._range(law.at, law.at)))
        # outside of the windows: the greatest that there is in cells of all sums
        least, greatest = self._range(self._cells[:-1], self._cells[1:])
        undo = -self.tilt * self._cells[:-1]
        farther = np.maximum(*_curvature(epsilon, least, greatest)), _log_slope(epsilon, least, greatest)
        for laws, logs in zip((curved, bent), farther, strict=True):
            peak = float(np.max(logs + undo))
            strays = sum(count * law.stray(peak) for law, count in laws)
            above, below = above + strays, below + strays
        if not max(above, below) <= _REFINED * mean:  # f rises: that all rounds moved as far as they can is another bound
            low, high = (
                self.law.total(np.exp(gaussian.log_curve(np.full(end.shape, epsilon), np.sqrt(end))[0] + self.law.undo))
                for end in self._range(self.law.at, self.law.at)
            )
            a = np.maximum(epsilon / np.sqrt(greatest) - np.sqrt(greatest) / 2, 0.0)
            high += self.law.stray(float(np.max(undo - a * a / 2)))
            above, below = float(np.fmin(above, max(high - mean, 0.0))), float(np.fmin(below, max(mean - low, 0.0)))
        return above, below


@dataclass(frozen=True)
class _Masses:
    """A composed law under a tilt: places, masses, and their errors as in :class:`.loss_distribution.Tilted`."""

    at: FloatArray
    mass: FloatArray
    error: float
    outside: float
    value: float  # K(t)
    undo: FloatArray  # K(t) - t M
    rounding: float  # relative, of all masses and of the weights of a mean

    @classmethod
    def of(cls, product: Product, tilt: float, least: float) -> _Masses:
        """Under a tilt, without the places between 0 and the least sum, where there are errors only."""
        law = product.tilted(tilt)
        at = (law.first + np.arange(law.law.size)) * product.step
        kept = (at == 0) | (at >= least)
        value = product.cumulant(tilt)[0]
        rounding = product.rounding(tilt) + UNIT * (64 + 8 * (abs(value) + tilt * float(at[-1]) - _VANISHED))
        at = at[kept]
        return cls(at, law.law[kept], law.error, law.below + law.beyond, value, value - tilt * at, rounding)

    def total(self, weight: FloatArray) -> float:
        """Sum of the masses times weights, which may be infinite where there is no mass."""
        return float(np.sum(np.where(self.mass > 0, self.mass * weight, 0.0)))

    def stray(self, log_peak: float) -> float:
        """Upper bound of the share of a mean outside of the window, where e^-tM times the function is at most exp(log_peak)."""
        return self.outside * math.exp(min(self.value + log_peak, _LARGEST)) if self.outside else 0.0

    def most(self, log_bound: FloatArray) -> float:
        """Upper bound of the mean of a function of M within the window, from the log of a bound of it at each place."""
        return self.total(np.exp(log_bound + self.undo)) * (1 + self.rounding)


def _some(probabilities: list[float], counts: list[int]) -> float:
    """Probability that a ratio of some round is one of those."""
    if max(probabilities) >= 1:
        return 1.0
    return 0.0 - math.expm1(sum(count * math.log1p(-p) for p, count in zip(probabilities, counts, strict=True)))


def _farthest(rounds: FloatArray | float) -> FloatArray:
    """How many steps so many rounds may have moved together, but for a probability that underflows (Hoeffding)."""
    return np.asarray(np.minimum(rounds, _HOEFFDING * np.sqrt(rounds) + 1))


def _saturated(epsilon: float) -> float:
    """A ratio from which on f is nearly 1."""
    return (_SATURATED + math.sqrt(_SATURATED**2 + 2 * epsilon)) ** 2


def _log_peak(tilt: float, epsilon: float, least: float) -> float:
    r"""log of an upper bound of :math:`e^{-tM}f(M)` for all M from `least` on (*Far tail* of the module's notes)."""
    at = max(epsilon / math.sqrt(2 * tilt + 0.25), least)
    a = epsilon / math.sqrt(at) - math.sqrt(at) / 2 if at > 0 else 0.0
    return -tilt * at - max(a, 0.0) * max(a, 0.0) / 2


def _fall(tilt: float) -> float:
    """The fall of log delta in epsilon under the tilt that belongs to it."""
    return math.sqrt(2 * tilt + 0.25) - 0.5


def _log_greatest(epsilon: float, k: float, low: FloatArray, high: FloatArray) -> FloatArray:
    r"""log of the greatest :math:`\sqrt{2\pi}\,\varphi(a)M^{-k}` for M in [low, high]; infinite where it has no bound near 0."""
    # the root of M^2 / 8 + k M = epsilon^2 / 2, without cancellation
    peak = 4 * epsilon * epsilon / (4 * k + math.sqrt(16 * k * k + 4 * epsilon * epsilon))
    at = np.clip(peak, low, high)
    value = -((epsilon / np.sqrt(at) - np.sqrt(at) / 2) ** 2) / 2 - k * np.log(at)
    return np.where(at > 0, value, -np.inf if epsilon > 0 else np.inf)


def _log_slope(epsilon: float, low: FloatArray, high: FloatArray) -> FloatArray:
    """log of an upper bound of f' on [low, high]."""
    return _log_greatest(epsilon, 0.5, low, high) - _LOG_SQRT_2PI - math.log(2)


def _curvature(epsilon: float, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logs of upper bounds of the negative and of the positive part of f'' on [low, high]."""
    slope, square = _log_slope(epsilon, low, high), epsilon * epsilon / 2
    first, second, third = (_log_greatest(epsilon, k, low, high) - _LOG_SQRT_2PI for k in (0.5, 1.5, 2.5))
    concave = np.logaddexp(first - math.log(16), second - math.log(4))
    convex = third + math.log(square / 2) if square > 0 else np.full(low.shape, -np.inf)
    # the bracket of the module's notes at its ends: where it has one sign, the other part vanishes
    concave = np.fmin(concave, slope + np.log(np.maximum(1 / 8 + 1 / (2 * low) - square / high**2, 0.0)))
    convex = np.fmin(convex, slope + np.log(np.maximum(square / low**2 - 1 / 8 - 1 / (2 * high), 0.0)))
    return concave, convex


@dataclass(frozen=True)
class _Sums:
    """The sum of all ratios up to some reach, without a negligible share of the noise."""

    laws: list[tuple[Ratios, int]]
    _made: dict[tuple[float, float], _Composed] = field(default_factory=dict)
    _split: dict[float, tuple[list[tuple[int, _Sums]], float]] = field(default_factory=dict)

    @property
    def ends(self) -> tuple[float, float]:
        """Least and greatest ratio that is listed."""
        return min(law.ends[0] for law, _ in self.laws), max(law.ends[1] for law, _ in self.laws)

    def cumulants(self, tilt: float) -> tuple[float, float, float]:
        """K, K' and K''."""
        total = np.zeros(3)
        for law, count in self.laws:
            x, log_mass = law.log_atoms
            exponent = log_mass + tilt * x
            top = float(np.max(exponent))
            weight = np.exp(exponent - top)
            whole = float(np.sum(weight))
            mean = float(weight @ x) / whole
            total += count * np.array([top + math.log(whole), mean, float(weight @ (x - mean) ** 2) / whole])
        return float(total[0]), float(total[1]), float(total[2])

    def epsilon_of(self, tilt: float) -> float:
        """The epsilon to which a tilt belongs (*Far tail* of the module's notes)."""
        return self.cumulants(tilt)[1] * math.sqrt(2 * tilt + 0.25)

    def log_level(self, tilt: float) -> float:
        """About log delta at this epsilon."""
        value, mean, _ = self.cumulants(tilt)
        return value - tilt * mean - mean * _fall(tilt) ** 2 / 2

    def log_bound(self, tilt: float, epsilon: float) -> float:
        """Upper bound of log delta (*Far tail* of the module's notes); ratios are at most those listed over 1 - r."""
        r = max(law.relative_slack for law, _ in self.laws)
        return self.cumulants(tilt / (1 - r))[0] + _log_peak(tilt, epsilon, 0.0 if r else self.ends[0])

    def tilt_at(self, epsilon: float) -> float:
        """The tilt that belongs to an epsilon, of those that are used."""

        def excess(tilt: float, _: float, mean: float, variance: float) -> tuple[float, float]:
            root = math.sqrt(2 * tilt + 0.25)
            return mean * root - epsilon, variance * root + mean / root

        return self._tilt(excess)

    def tilt_of(self, log_delta: float) -> float:
        """The tilt at which delta is about so great, of those that are used."""

        def excess(tilt: float, value: float, mean: float, variance: float) -> tuple[float, float]:
            pull, root = _fall(tilt), math.sqrt(2 * tilt + 0.25)
            level = value - tilt * mean - mean * pull**2 / 2
            return log_delta - level, tilt * variance + variance * pull**2 / 2 + mean * pull / root

        return self._tilt(excess)

    def _tilt(self, excess: Rising) -> float:
        """The root of an increasing function of tilts, or a tilt next above; too little tilt may leave out what is rare.

        The tilts that are used are so close together that the mean moves by no more than a few deviations from one to the next.
        """
        greatest = self.ends[1]
        tilt = root_of_tilts(self.cumulants, excess, 1 / greatest, greatest_tilt=_STEEPEST / greatest)
        spread = tilt * math.sqrt(self.cumulants(tilt)[2])
        ratio = next(ratio for ratio, most in _TILTS if spread <= most)
        return ratio ** math.ceil(math.log(tilt) / math.log(ratio)) if tilt > NORMAL else 0.0

    def composed(self, tilt: float, finer: float = 1.0) -> _Composed:
        """The composition under a tilt."""
        key = tilt, finer
        if key not in self._made:
            (_, mean, variance), (least, greatest) = self.cumulants(tilt), self.ends
            scale = max(mean, variance / mean) if mean > 0 else greatest
            # at most so many rounds send anything where the mean of M is
            rounds = min(max(scale / least, 1.0), sum(count for _, count in self.laws))
            unit = 1 / (tilt + 1 / scale)  # the length on which the weight of M changes
            step = min(_SHARE / math.sqrt(rounds), _MOVED / float(_farthest(rounds))) * unit
            step = max(step / finer, greatest / _LONGEST)
            for attempt in range(_COARSENED):
                try:
                    self._made[key] = _Composed.of(self.laws, tilt, step * _COARSER**attempt)
                    _ = self._made[key].law
                    break
                except ConvergenceError:  # too many points
                    if attempt == _COARSENED - 1:
                        raise
        return self._made[key]

    def mean(self, epsilon: float, tilt: float) -> tuple[float, float]:
        """Lower and upper bound of delta."""
        composed = self.composed(tilt)
        low, high = composed.finite(epsilon)
        apart = high - low > _APART * (high + composed.far[1])
        parts, pairs = self._parted(epsilon) if apart and not any(law.slack for law, _ in self.laws) else ([], 0.0)
        if len(parts) > 1:  # otherwise no ratio is great
            less, more = 0.0, pairs
            for count, part in parts:
                tilt_of_part = part.tilt_at(epsilon)
                # twice, for all rounding; what is next to nothing beside the parts before need not be known from below
                most = 2 * math.exp(min(part.log_bound(tilt_of_part, epsilon), 0.0))
                ends = (0.0, most) if count * most <= _SLIGHT * less else part._refined(epsilon, tilt_of_part)
                less, more = less + count * ends[0], more + count * (ends[1] + SMALLEST)
            rounding = 8 * UNIT * (len(parts) + 1)
            low, high = max(low, less * (1 - rounding)), min(high, more * (1 + rounding))
        else:
            low, high = self._refined(epsilon, tilt, (low, high))
        return composed.completed(epsilon, low, high)

    def _refined(self, epsilon: float, tilt: float, first: tuple[float, float] | None = None) -> tuple[float, float]:
        """Bounds of what finite ratios make of delta, on finer grids where those of the first do not suffice."""
        composed = self.composed(tilt)
        low, high = first or composed.finite(epsilon)
        finer, far = 1.0, composed.far[1]
        while high + far > _DEEP and high - low > _REFINED * (high + far) and _FINER * composed.law.at.size <= _MOST_TERMS:
            finer, before = finer * _FINER, composed.product.step
            composed = self.composed(tilt, finer)
            if not composed.product.step < before:
                break
            ends = composed.finite(epsilon)
            low, high = max(low, ends[0]), min(high, ends[1])
        return low, high

    def _parted(self, epsilon: float) -> tuple[list[tuple[int, _Sums]], float]:
        """The sums without a great ratio, and those with one of each part of the great ones; a bound of what two add."""
        # about delta, if one ratio alone makes it, down to a power of ten
        with np.errstate(under="ignore"):
            alone = max(
                count * float(np.exp(gaussian.log_curve(np.full(law.x.size, epsilon), np.sqrt(law.x))[0]) @ law.probabilities)
                for law, count in self.laws
            )
        level = 10.0 ** math.floor(math.log10(max(alone, NORMAL)))
        if level not in self._split:
            greatest = math.sqrt(2 * PAIRS * level) / sum(count for _, count in self.laws)
            near, great, chance = list[tuple[Ratios, int]](), list[list[Ratios]](), 0.0
            for law, count in self.laws:
                order = np.argsort(law.x)[::-1]
                tail = np.cumsum(law.probabilities[order])
                places = parts_of_tail(tail, greatest)
                chance += count * float(tail[places[-1] - 1]) * (1 + law.error) if places[-1] else 0.0
                near.append((law.part(order[places[-1] :], law.never), count))
                great.append([law.part(order[start:stop], 0.0) for start, stop in pairwise(places)])
            parts = [(count, _Sums(laws)) for count, laws in with_one_great(near, great)]
            self._split[level] = parts, chance * chance / 2 * (1 + 1e-6)
        return self._split[level]


@dataclass(frozen=True)
class ShownNoise(Mechanism):
    """Rounds of Gaussian releases whose noise is random and shown with them, as one release.

    `laws` has the law of the ratio of one round, a function of the probability of noise that may be left out, and how many
    rounds have it.
    """

    laws: tuple[tuple[Law, int], ...]
    unit: str = ""
    symmetric = True
    closed = True
    costly = True
    sketched = 8
    _whole: dict[float, list[tuple[Ratios, int]]] = field(default_factory=dict, compare=False, repr=False)
    _made: dict[tuple[float, float], _Sums] = field(default_factory=dict, compare=False, repr=False)
    _placed: dict[tuple[float, float], FloatArray] = field(default_factory=dict, compare=False, repr=False)
    _bands: dict[tuple[float, float], ConvexBand] = field(default_factory=dict, compare=False, repr=False)

    def parameters(self) -> dict[str, Any]:
        raise NotImplementedError("rounds of shown noise have no JSON form: make them again from the release of one round")

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return math.inf  # a regular law moves the mean of normal noise

    def reached_loss(self, *, reverse: bool = False) -> float:
        return math.inf

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        finite = np.isfinite(epsilon)
        places, back = np.unique(epsilon[finite], return_inverse=True)
        low, high = np.zeros(epsilon.shape), np.ones(epsilon.shape)
        nodes = self._nodes(float(places[0]), float(places[-1])) if places.size > _MANY else places
        if nodes.size < places.size:
            low[finite], high[finite] = (end[back] for end in self._band(nodes)(places))
        elif places.size:
            ends = np.array([self._delta(float(each)) for each in places])
            low[finite], high[finite] = ends[back].T
        if np.all(finite):
            return low, high
        sure, most = self._infinite(0.0)
        return np.where(finite, low, sure), np.where(finite, high, most)

    def epsilons(self, delta: FloatArray, *, reverse: bool = False) -> BracketArrays | None:
        if delta.size <= _MANY:
            ends = np.array([self._both(float(each)) for each in delta]).reshape(delta.size, 2)
            return ends[:, 0], ends[:, 1]
        edges = [self._both(float(each)) for each in (np.max(delta), np.min(delta))]
        if not edges[1][1] < np.inf:
            return None
        if edges[0][0] == edges[1][1]:
            return np.full(delta.shape, edges[0][0]), np.full(delta.shape, edges[1][1])
        nodes = self._nodes(edges[0][0], edges[1][1])
        if nodes.size > delta.size:
            ends = np.array([self._both(float(each)) for each in delta])
            return ends[:, 0], ends[:, 1]
        band = self._band(nodes)
        read = []
        for side in (0, 1):
            low, high = np.full(delta.shape, edges[0][0]), np.full(delta.shape, edges[1][1])
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                above = band(middle)[side] > delta
                low, high = np.where(above, middle, low), np.where(above, high, middle)
            read.append((low, high)[side])
        return np.minimum(*read), read[1]

    def fall(self, epsilon: float) -> float:
        return _fall(self._sums(NEGLIGIBLE, math.inf).tilt_at(epsilon)) if epsilon < 1 / _TINY else 0.0

    def best_epsilons(self, alpha: FloatArray) -> FloatArray:
        """The losses that tests of these levels exceed, nearly: from a table of the levels of losses."""
        from scipy import special

        law = self._sums(NEGLIGIBLE, math.inf).composed(0.0).law
        root = np.sqrt(law.at[law.at > 0])
        reach = float(np.max(root)) * (float(np.max(root)) / 2 + _DEVIATIONS)
        loss = np.sinh(np.linspace(-math.asinh(reach), math.asinh(reach), _LEVELS))
        level = special.ndtr(-loss[:, None] / root - root / 2) @ law.mass[law.at > 0] + np.sum(law.mass[law.at == 0]) * (loss < 0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.interp(np.log(alpha), np.log(np.maximum(level[::-1], SMALLEST)), loss[::-1]))

    def _of(self, negligible: float) -> list[tuple[Ratios, int]]:
        """The laws without this probability of noise, or without more where they would not be regular."""
        if negligible not in self._whole:
            whole = [(law(negligible), count) for law, count in self.laws]
            regular = all(law.regular for law, _ in whole)
            if not regular and negligible == NEGLIGIBLE:
                raise ParameterError("laws", f"{len(whole)} laws", "regular laws of ratios (Ratios.regular)")
            self._whole[negligible] = whole if regular else self._of(NEGLIGIBLE)
        return self._whole[negligible]

    def _sums(self, negligible: float, reach: float) -> _Sums:
        """The sum of ratios up to a power of 4 that is at least `reach` and some ratio."""
        least, greatest = _Sums(self._of(negligible)).ends
        reach = 4.0 ** math.ceil(math.log(max(reach, least), 4.0)) if reach < greatest else math.inf
        key = negligible, reach
        if key not in self._made:
            self._made[key] = _Sums([(law.up_to(reach), count) for law, count in self._of(negligible)])
        return self._made[key]

    def _reach(self, delta: float) -> float:
        """A ratio beyond which all are a small share of a delta."""
        rounds, reach = sum(count for _, count in self.laws), 0.0
        for law, _ in self._of(NEGLIGIBLE):
            order = np.argsort(law.x)
            beyond = np.append(np.cumsum(law.probabilities[order][:0:-1])[::-1], 0.0)  # the mass beyond each x
            reach = max(reach, float(law.x[order][np.argmax(beyond * rounds <= _FEW * delta)]))
        return reach

    def _infinite(self, negligible: float) -> tuple[float, float]:
        """Lower and upper bound of the probability that some ratio is infinite, from laws without this probability of noise."""
        laws = self._of(negligible)
        counts = [count for _, count in laws]
        low, high = (_some([law.infinite + share * law.missing for law, _ in laws], counts) for share in (0, 1))
        error = _PROBABILITY + max(law.error for law, _ in laws)
        return low * (1 - error), min(high * (1 + error), 1.0)

    def _delta(self, epsilon: float) -> tuple[float, float]:
        """Lower and upper bound of delta at a finite epsilon."""
        if 0 < epsilon < _TINY:  # whose square underflows; the curve falls
            return self._delta(_TINY)[0], self._delta(0.0)[1]
        if epsilon > 1 / _TINY:
            sure, most = self._infinite(0.0)
            return sure, min(most + SMALLEST, 1.0)
        low, high, negligible, reach = 0.0, 1.0, NEGLIGIBLE, _saturated(epsilon)
        for _ in range(_PASSES):
            sums = self._sums(negligible, reach)
            tilt = sums.tilt_at(epsilon)
            if sums.log_bound(tilt, epsilon) < _VANISHED - 1 and not any(law.far for law, _ in sums.laws):
                sure, most = self._infinite(0.0)
                return max(low, sure), min(high, most + 2 * SMALLEST)
            ends = sums.mean(epsilon, tilt)
            low, high = max(low, ends[0]), min(high, ends[1])
            if high * _DOUBTFUL < NEGLIGIBLE and sums.composed(tilt).missing:
                negligible = 0.0
            elif high - low > _REFINED * high and self._reach(high) < reach:
                reach = self._reach(high)
            else:
                break
        return low, high

    def _both(self, delta: float) -> tuple[float, float]:
        """Lower and upper bound of the least epsilon at delta."""
        low, high = self._epsilon(delta)
        if high - low > _REFINED * high and low < math.inf and delta > _DEEP:
            other_low, other_high = self._searched(delta)
            return max(low, other_low), min(high, other_high)
        return low, high

    def _epsilon(self, delta: float) -> tuple[float, float]:
        """As :meth:`_both`, from one composition."""
        if delta >= 1:
            return 0.0, 0.0
        if (sure := self._infinite(NEGLIGIBLE)[0]) > delta:
            return math.inf, math.inf
        negligible = NEGLIGIBLE if delta * _DOUBTFUL > NEGLIGIBLE else 0.0
        sums = self._sums(negligible, self._reach(delta))
        log_finite = math.log(max(delta - sure, SMALLEST))
        tilt = sums.tilt_of(log_finite)
        root, fall = sums.composed(tilt).root(log_finite, sums.epsilon_of(tilt))
        low, high = sums.mean(root, tilt)
        # from the root of the mean itself outwards, until the bounds confirm
        beyond = max(_BEYOND * math.log(high / delta) / fall, _WIDTH * root) if high > delta else 0.0
        for attempt in range(_ATTEMPTS):
            if sums.mean(root + beyond, tilt)[1] <= delta:
                break
            beyond = 2 * beyond if attempt else max(2 * beyond, _WIDTH * root)
        else:
            beyond = math.inf
        below = max(_BEYOND * math.log(delta / low) / fall, _WIDTH * root) if low > 0 else root
        while below < root:
            if sums.mean(root - below, tilt)[0] > delta:
                return root - below, root + beyond
            below *= 2
        return (0.0, 0.0) if self._delta(0.0)[1] <= delta else (0.0, root + beyond)

    def _searched(self, delta: float) -> tuple[float, float]:
        """As :meth:`_epsilon`, with the composition of each epsilon that is tried: where ratios are of unlike sizes."""
        ends = [0.0, 0.0]
        for side in (0, 1):

            def excess(epsilon: float, side: int = side) -> float:
                value = self._delta(epsilon)[side]
                return math.log(value / delta) if value > 0 else -math.inf

            high = 1.0
            while excess(high) > 0 and high < _FARTHEST:
                high *= 8
            if excess(high) > 0:
                ends[side] = high if side == 0 else math.inf
            elif (at_zero := excess(0.0)) > 0:
                ends[side] = falling_root(excess, 0.0, at_zero, high, high / 2, lambda high: _NEAR * high)[side]
        return min(ends), ends[1]

    def _nodes(self, lowest: float, highest: float) -> FloatArray:
        """Nodes of a band around the curve that is narrow between two epsilons."""
        key = lowest, highest
        if key not in self._placed:
            sums = self._sums(NEGLIGIBLE, _saturated(highest))
            greatest = sums.ends[1]
            places, falls, tilt = [0.0], [0.0], 0.0
            while places[-1] < highest and tilt < _STEEPEST / greatest:
                tilt = max(tilt * _BETWEEN, 1e-3 / (sums.cumulants(0.0)[1] + 1e-3 * greatest))
                places.append(max(sums.epsilon_of(tilt), places[-1]))
                falls.append(max(-sums.log_level(tilt), falls[-1]))
            last = min(float(np.interp(highest, places, falls)), -_VANISHED)
            nodes = np.interp(np.linspace(0.0, last, min(math.ceil(last / _BAND) + 1, _MOST_NODES)), falls, places)
            # delta is no less than the estimate of its level says in the bulk, where it varies with epsilon itself
            nodes = np.append(nodes, np.linspace(0.0, np.interp(_BULK, falls, places), _EVEN))
            inside = nodes[(nodes > lowest) & (nodes < highest)]
            self._placed[key] = np.unique(np.concatenate([[0.0, lowest], inside, [highest]]))
        return self._placed[key]

    def _band(self, nodes: FloatArray) -> ConvexBand:
        key = float(nodes[1]), float(nodes[-1])
        if key not in self._bands:
            self._bands[key] = ConvexBand(self._bounds, nodes)
        return self._bands[key]

    def _bounds(self, epsilon: FloatArray) -> BracketArrays:
        """As :meth:`delta_bracket`, one by one."""
        parts = [self.delta_bracket(epsilon[i : i + 1]) for i in range(epsilon.size)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

