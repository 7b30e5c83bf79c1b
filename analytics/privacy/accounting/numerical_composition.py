r"""Numerical composition of different mechanisms: delta and epsilon between two proved bounds.

The lower and the upper bound come from one grid of losses,
:mod:`airtight.analytics.privacy.accounting.connect_the_dots`, and one tilted product,
:mod:`airtight.analytics.privacy.accounting.loss_distribution`. This module plans them: it proves nothing but that the
two bounds are combined on the right sides.

Steps, in order
---------------
1. *Sketch.* The curve of each release is evaluated on a geometric grid of epsilons; its chords are a rough law. Tilts,
   ranges of losses and the first step come from the sketches. They decide how far apart the bounds are, never whether
   they hold.
2. *Tilt.* The weight :math:`e^{tL}` moves the tail in question to the middle: t is the exponent of Chernoff's bound at
   the epsilon or the delta of the question.
3. *Grid.* For each release a range of losses (``_Sketch.range``), for all one step (``_grid``), the greatest that the
   asked distance of the bounds allows as far as the sketches tell (``_planned_step``). Where the tilted loss is rare
   only some multiples of the step get mass (``_nodes``).
4. *Laws.* On this grid each release gets a law below and a law above its curve (``_laws``). Costly curves are replaced
   by a band around them first (:mod:`airtight.analytics.privacy.accounting.convex_band`).
5. *Product.* Both compositions are read at the point (``_narrowed``). If they are too far apart, the step is reduced
   and the bands are refined. The best bounds of all grids are kept, as each pair is valid.
6. *Many points* share grids: one for each three decades of delta (``deltas``, ``epsilons``, :class:`_SharedGrid`).

Notes
-----
Five errors are bounded. (i) *Errors of the curve*: its lower and upper bounds, proved or stated by the mechanism, are
used. The upper bound gives the chords, the lower bound the lines; sequences that errors make non-convex are replaced by
their lower hulls. (ii) *Grid*: the errors of chords and lines are of second order in the step; each law is scaled to
the right side of every value from which it was made. (iii) *Truncation*: losses above the grid are infinite in the
upper bound and left out of the lower bound; losses below the grid are raised in the upper bound and left out of the
lower bound. (iv) *Aliasing*: Chernoff's bound of the tilted mass outside the window. (v) *Rounding*: the error of the
transform is at most :math:`8u\log_2N` for each release, in the norm of the tilted law, where u is the unit in the last
place. This is assumed of the library. The error of the masses, each of which is the exponential of a sum, is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics.checks import ConvergenceError, FloatArray, IntArray, ParameterError
from airtight.analytics.privacy.accounting import connect_the_dots
from airtight.analytics.privacy.accounting.convex_band import ConvexBand
from airtight.analytics.privacy.accounting.dp_accounting_interop import Tabulated
from airtight.analytics.privacy.accounting.loss_distribution import (
    LossDistribution,
    Product,
    Readings,
    Rising,
    level_of_tilt,
    root_of_tilts,
)
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Factors, Mechanism
from airtight.analytics.rounding import NORMAL, UNIT

DEFAULT_RELATIVE_WIDTH = 1e-3  # default relative distance of the lower and upper bound that is aimed at
_DECADES = 10.0 ** np.arange(-15, 6)  # epsilons at which a sketch first evaluates a curve
_FAR_DECADES = 10.0 ** np.arange(-15, 13)  # the same where finite losses beyond the last decade are known to occur
_STEPS = 25  # steps of the first grid in one standard deviation of a tilted loss
_CUT = 1e-6  # share of delta that losses beyond the grid may cost
_LEFT_OUT = 1e-10  # tilted mass that may lie below the grid
# greatest number of cells of a law: in the first grid; in any grid; in any grid if no curve is costly to evaluate
_FIRST_CELLS, _CELLS, _MANY_CELLS = 1 << 12, 1 << 16, 1 << 18
_POINTS = 1 << 21  # grid points of the composed law that the first step aims at, at most
_REFINEMENTS = 6  # greatest number of grids
_COARSER = 8  # factor of the first step where its grid has too many points
_WORTHWHILE = 1 / 4  # share of the bounds' distance that a grid must gain from below if it gains nothing from above
_ROUGH_CELLS = 1 << 13  # the same in any grid if the bounds of a curve are known to be apart
_FAR_TAIL = 70.0  # minus the logarithm of a delta, from which on a sketch fills in what is costly to evaluate
_LEAST_SKETCHED = 1e-300
_FALL, _PARTS = 2.0, 32  # fall of log delta between neighbours of a sketch; parts of a gap that falls by more, at most
_BEYOND = 2  # losses of a sketch that are kept beyond the greatest one that matters
_TRIED = 4.0  # steps in one of the grid that is tried first
_STUCK = 0.6  # share of the bounds' distance that, left over by a finer grid, shows that rough curves keep them apart
_MISPLACED = 0.05  # relative error of a sketch's tilt from which nodes of a band lie amiss
_MISSING = 1.5  # factor by which bands are narrowed by more than they are too wide
_CHEAPER = 4  # divisor of the step where a curve is costly: a finer grid costs less than more nodes of a band
_SEARCHES = 60  # greatest number of rounds of the search for the epsilon of one release
_CLOSE = 1e-13  # relative length of an interval at which this search ends
_BEFORE = 1e-3, 1e-6, 1e-9  # relative distances before the upper end of epsilon at which the lower end is tried
# the search also ends between neighbours where a bound of log delta falls by this share of the distance of both bounds, of which
# so much counts
_SHARE, _APART = 0.01, 1e-3
_EVERY = 3.0  # decades of delta for which many points share a grid
_GREATEST_TILT = 1e12  # a greater one is needed where no finite loss comes near epsilon
_TILTS = 150  # tilts at which the sketches tell the level of delta at an epsilon
_LONGEST_LAW = 1 << 26  # greatest number of values of an exported law
_KEPT = 1 << 19  # greatest number of losses of such grids that are kept, unless one alone has more
_MOVES = 24  # greatest number of steps, each four times the one before, that confirm what was read off such a grid
_ASIDE = 1e-10  # relative distance of a multiple of the step below a loss that has positive mass
_ABSOLUTE = 1e-12  # error of delta where only absolute accuracy is needed
_FINER = 4  # divisor of the first step there
_FINEST = 1e-12  # least step
_AN_OCTAVE = 8  # steps to choose from between h and 2h: so both orders mostly evaluate the curve at equal points
_ONE_BY_ONE = 16  # greatest number of epsilons for which a composition is made anew at each
_VANISHED = 1e-320  # the least doubles by which bounds are rounded up are below it
_NOTHING = 1e-290  # a delta up to this one counts as 0
_DEEP = 1e-200  # a delta from which down the first grid has the fewest cells
_FAR_BELOW = 1e-3  # share of an estimated delta below which a bound shows that the estimate was no use
_NEARBY = 0.02  # least deviation of the losses that matter about epsilon, over epsilon
_ALONE = 16.0  # (epsilon / deviation)^2 over minus log delta, 2 for normal losses, from which on one loss may make delta alone
_LEAST_DEVIATION = 1e-150  # of a total loss: it may be a sure one
_LEAST_LOG = -690.0  # least log of delta for which a grid is planned: exp underflows below -708

# shares of the allowed distance of the bounds of log delta: from bands, and from the grid; of the latter, from its wide cells
_BAND_SHARE, _GRID_SHARE, _COARSE_SHARE = 0.5, 0.08, 0.25
_WIDENING = 0.25  # of a cell's width, over as long a way: a cell is at most e^(1/4) times as wide as allowed at its ends

_Band = tuple[ConvexBand, ConvexBand]
SketchedCurves = tuple[FloatArray, FloatArray, FloatArray]  # epsilons, and a curve there in either order


def _sharpness(tilt: float, epsilon: float) -> float:
    """How many times as fast as epsilon log delta changes, at least 1: the bounds of delta may be so much farther apart.

    Where no finite loss comes near epsilon, delta is the probability of an infinite loss and does not change.
    """
    return max(tilt * epsilon, 1.0) if tilt <= _GREATEST_TILT else 1.0


@dataclass(frozen=True)
class _Focus:
    """What a question looks at, as far as is known: where laws have to be accurate. It decides about widths only."""

    tilt: float  # it moves the losses that matter to the middle
    cut: float  # the level of the sketches (`Composition._sketches_to`)
    epsilon: tuple[float, float]  # bounds of the epsilon in question
    delta: float  # at it
    of_others: float  # deviation of the loss of all releases but one, without a tilt

    @property
    def deviation(self) -> float:
        """How far about epsilon a loss matters that makes delta alone; no less than is known, or than few nodes can show."""
        low, high = self.epsilon
        return max(self.of_others, (high - low) / 4, _NEARBY * high, _LEAST_DEVIATION)

    def log_alone(self, left: FloatArray, right: FloatArray, count: int) -> FloatArray:
        """Log of the share of delta that one of `count` losses in an interval makes alone, over its probability.

        One great loss can make a tiny delta while all others lie near their mean. Under the tilt such a loss is rare: the
        tilt suits a total to which all contribute, as it is where normal others come near epsilon themselves.
        """
        middle = sum(self.epsilon) / 2
        if middle <= math.sqrt(_ALONE * max(-math.log(self.delta), 0.0)) * self.of_others:
            return np.full(left.shape, -np.inf)
        distance = np.maximum(np.maximum(middle - right, left - middle), 0.0) / self.deviation
        return np.asarray(math.log(count) - math.log(self.delta) - distance**2 / 2)


@dataclass(frozen=True)
class Composition:
    """Independent releases, each `count` times, all in the same order."""

    factors: Factors
    reverse: bool = False
    _sketched: dict[Mechanism, SketchedCurves] = field(default_factory=dict, compare=False, repr=False)  # of both orders
    _grids: dict[tuple[float, float], _SharedGrid | None] = field(default_factory=dict, compare=False, repr=False)
    _cut_sketches: dict[float, list[_Sketch]] = field(default_factory=dict, compare=False, repr=False)

    def delta(self, epsilon: float, width: float = DEFAULT_RELATIVE_WIDTH) -> tuple[float, float]:
        """Lower and upper bound of delta at epsilon >= 0."""
        if not self.factors:
            return 0.0, 0.0
        # one release used once: its own curve is the answer
        if self.single:
            lower, upper = self._curves(0)[0](np.array([epsilon]))
            return float(lower[0]), float(upper[0])
        if epsilon >= self._greatest():
            return self._infinite()
        # estimates: delta at epsilon is at least that of each release, and at most delta at 0, which is at most the sum of theirs
        least = math.exp(max(float(sketch.log_delta(np.array(epsilon))) for sketch in self._sketches))
        greatest = sum(count * sketch.curve[0] for sketch, (_, count) in zip(self._sketches, self.factors, strict=True))
        least, greatest = max(least, math.exp(_LEAST_LOG)), max(float(greatest), math.exp(_LEAST_LOG))

        def level_at(tilt: float, cut: float) -> float:
            """Saddlepoint estimate of delta, for the planning of ranges only."""
            log_level = self._cumulant(tilt, cut)[0] - tilt * epsilon - np.log1p(tilt)
            return float(np.clip(np.exp(np.clip(log_level, _LEAST_LOG, 0.0)), least, greatest))

        # delta does not rise with epsilon, so the probability of an infinite loss is below it at every epsilon
        infinite = self._infinite()[0]

        def planned(cut: float) -> tuple[float, float, float, float]:
            """Both bounds on grids without the losses that do not matter at delta = cut, the estimate of delta, and the aim."""
            tilt = self._tilt_at(epsilon, cut)
            # at a much lesser delta losses would matter that were left out for this one
            while (level := min(cut, level_at(tilt, cut))) < _FAR_BELOW * cut:
                cut *= _FAR_BELOW
                tilt = self._tilt_at(epsilon, cut)
            if tilt > _GREATEST_TILT:  # no finite loss comes near epsilon: the masses themselves matter
                tilt = 0.0
            # a relative error `width` of epsilon changes log delta by t epsilon times as much
            log_width = width * _sharpness(tilt, epsilon)
            low, high = self._narrowed(
                tilt,
                level,
                lambda lower, upper: (max(lower.least_delta(epsilon, tilt), infinite), upper.delta(epsilon, tilt)),
                lambda low, high: (np.log(high) - np.log(low) if low > 0 else np.inf) / log_width if high > _NOTHING else 0.0,
                log_width,
                cut=cut,
                epsilon=epsilon,
                provisional=least < _FAR_BELOW * cut,
            )
            return low, high, level, log_width

        # Chernoff's exponent at epsilon: K'(t) = epsilon; then without losses that do not matter at this level of delta: under a
        # tilt the few of a heavy tail would hide all others
        cut = level_at(self._tilt_at(epsilon), 0.0)
        low, high, level, log_width = planned(cut)
        # where one great loss alone makes delta, that level is far too high, and losses that matter were left out: planned anew
        # for what is known now, and at last for the delta of one release
        for last in (False, True):
            far = high > _NOTHING and math.log(high / max(low, _NOTHING)) > log_width and not _is_near(high, level)
            if not far or least >= _FAR_BELOW * cut:
                break
            cut = least if last else min(max(low, least), _FAR_BELOW * cut)
            better = planned(cut)
            low, high, level, log_width = max(low, better[0]), min(high, better[1]), *better[2:]
        # the grids did not get close enough: elementary bounds may be better
        if np.log(max(high, _NOTHING) / max(low, _NOTHING)) > log_width:
            single_bounds = [self._curves(i)[0](np.array([epsilon])) for i in range(len(self.factors))]
            # the composition dominates each of its releases
            low = max([low, *(float(ends[0][0]) for ends in single_bounds)])
            if epsilon == 0:  # the total variation of a composition is at most the sum of those of the releases
                total_variation = sum(
                    count * float(ends[1][0]) for ends, (_, count) in zip(single_bounds, self.factors, strict=True)
                )
                high = min(high, total_variation * (1 + 4 * UNIT * (len(self.factors) + 1)))
        return min(low, high, 1.0), min(high, 1.0)

    def is_tight(self, epsilon: float, low: float, high: float, width: float = DEFAULT_RELATIVE_WIDTH) -> bool:
        """Whether the bounds of delta at epsilon are as close as a relative distance `width` of epsilon implies."""
        # bounds of a delta that counts as 0, or of log delta within `width`, need no sketches
        distance = np.log(high) - np.log(low) if low > 0 else np.inf
        if high <= _NOTHING or distance <= width:
            return True
        if not self.factors or not 0 < epsilon < np.inf:
            return False
        return bool(distance <= width * _sharpness(self._tilt_at(epsilon), epsilon))

    def reached_at(self, epsilon: FloatArray, low: FloatArray, high: FloatArray, width: float) -> NDArray[np.bool_]:
        """As :meth:`is_tight` at each of many epsilons."""
        if self.single and self.factors[0][0].fall(0.0) is not None:
            tilts = np.array([self._tilt_at(float(each)) if each < np.inf else 0.0 for each in epsilon])
        else:
            tilts = self._levels_at(epsilon)[1] if self.factors else np.zeros(epsilon.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            close = np.log(high) - np.log(low) <= width * np.maximum(
                tilts * np.where(epsilon < np.inf, epsilon, 0.0), 1.0
            )
        return np.asarray((high <= _NOTHING) | close)

    def epsilon(self, delta: float, width: float = DEFAULT_RELATIVE_WIDTH, floor: float = 0.0) -> tuple[float, float]:
        """Lower and upper bound of the least epsilon >= 0 at delta in [0, 1]; they are not narrowed below the floor."""
        if not self.factors or delta >= 1:
            return 0.0, 0.0
        if delta == 0:
            return self._pure()
        if self.single:
            return self._inverse(delta, floor)
        # the sum of the greatest losses is an upper bound already
        if 0 < (greatest := self._greatest()) <= floor:
            return 0.0, greatest

        singles = [(Composition(((release, 1),), self.reverse), count) for release, count in self.factors]
        of_singles, found = list[float](), [np.nan, np.nan]

        def bounds_of(lower: Product, upper: Product) -> tuple[float, float]:
            found[:] = lower.least_epsilon(delta, near=found[0]), upper.epsilon(delta, near=found[1])
            low, high = found
            # the composition dominates each of its releases: one alone may have made the delta
            if low < high / 2 and high > floor and not lower.impossible and not of_singles:
                of_singles.extend(single._inverse(delta)[0] for single, _ in singles)
            return max([low, *of_singles]), high

        low, high = self._refined_at(delta, bounds_of, width, floor)
        if high <= floor:
            return low, high
        if low < high / 2 and self._bounded_below and not of_singles:  # no grid had a lower bound
            low = max([low, *(single._inverse(delta)[0] for single, _ in singles)])
        if high == np.inf:  # basic composition
            share = delta / self._releases * (1 - UNIT)
            high = sum(count * single._inverse(share)[1] for single, count in singles) * (1 + 4 * UNIT * len(singles))
        # no loss exceeds the sum of the greatest ones
        high = min(high, self._greatest())
        return min(low, high), high

    def _refined_at(
        self,
        delta: float,
        bounds_of: Callable[[Product, Product], tuple[float, float]],
        width: float = DEFAULT_RELATIVE_WIDTH,
        floor: float = 0.0,
    ) -> tuple[float, float]:
        """Bounds of the epsilon at delta on finer and finer grids, until they are close or below the floor."""

        def excess(low: float, high: float) -> float:
            return (high - low) / (width * high) if max(low, floor) < high < np.inf else 0.0

        tilt = self._tilt(level_of_tilt(math.log(delta), saddlepoint=True), delta)
        log_width = width * _sharpness(tilt, self._cumulant(tilt, delta)[1])
        return self._narrowed(tilt, delta, bounds_of, excess, log_width, tried=floor > 0, cut=delta)

    @property
    def single(self) -> bool:
        """Whether there is only one release, used once, so that its curve is the answer."""
        return len(self.factors) == 1 and self.factors[0][1] == 1

    def law(self, step: float, *, pessimistic: bool) -> LossDistribution:
        """Law of the total loss on a grid of this step, above or below the true law; as accurate as :meth:`breaks`."""
        # no tilt: absolute accuracy
        _, ranges = self._grid(0.0, _ABSOLUTE)
        widest = max((top - bottom for bottom, top in ranges), default=0.0)
        if widest > step * _LONGEST_LAW:
            raise ParameterError("step", step, f"at least {widest / _LONGEST_LAW:.2g}: the law has too many values")
        counts = [count for _, count in self.factors]
        laws = [self._laws(i, step, *grid_range)[int(pessimistic)] for i, grid_range in enumerate(ranges)]
        product = Product(tuple(sorted(zip(laws, counts, strict=True), key=lambda factor: -factor[1])))
        if product.impossible:
            return LossDistribution(step, 0, np.zeros(1), product.infinite_ends()[int(pessimistic)])
        composed = product.tilted(0.0)
        whole = np.exp(product.cumulant(0.0)[0])
        if pessimistic:
            # mass outside of the window counts as infinite above; it may have been folded into the window, and is
            # subtracted at every point below
            infinite_mass = product.infinite() + composed.beyond + composed.below
            return LossDistribution(
                step, composed.first, composed.law * whole * (1 + _ABSOLUTE), min(infinite_mass, 1.0)
            )
        # a mass is at most twice the error of the transform above the true one
        mass = (
            np.maximum(composed.law - 2 * composed.error - composed.below - composed.beyond, 0.0)
            * whole
            * (1 - _ABSOLUTE)
        )
        return LossDistribution(step, composed.first, mass, product.infinite_ends()[0])

    def breaks(self) -> tuple[FloatArray, FloatArray]:
        """Real epsilons and upper bounds of delta there; the chords in exp(epsilon) are upper bounds, too.

        The accuracy is absolute: rounding errors and losses beyond the grid cost about 1e-12 each.
        """
        # the curve of a law on a grid is linear in exp(epsilon) between its losses
        law = self.law(self.usual_step, pessimistic=True)
        return law.losses, np.minimum(connect_the_dots.summed(law.mass, law.infinite, law.step)[0], 1.0)

    @property
    def usual_step(self) -> float:
        """Step of the grid where no relative accuracy is needed."""
        return self._grid(0.0, _ABSOLUTE)[0] / _FINER

    @property
    def _tabled(self) -> bool:
        """Whether the grid is that of a table, which no step refines."""
        return any(isinstance(release, Tabulated) for release, _ in self.factors)

    @property
    def _bounded_below(self) -> bool:
        return all(release.bounded_below for release, _ in self.factors)

    def _curves(self, i: int) -> tuple[connect_the_dots.Curve, connect_the_dots.Curve]:
        """The curve of a release in the order of this composition, and the curve in the other order."""
        forward, reverse = _both_orders(self.factors[i][0] if self.single else self._composed(i))
        return (reverse, forward) if self.reverse else (forward, reverse)

    def _composed(self, i: int) -> Mechanism:
        """A release as it is computed in this composition."""
        return self.factors[i][0].in_composition(self._releases)

    def _pure(self) -> tuple[float, float]:
        """Lower and upper bound of the pure epsilon; a release with delta(0) = 0 has the pure epsilon 0."""
        low = high = 0.0
        for release, count in self.factors:
            # delta(0) = 0 means equal laws, whose losses are 0
            if release.delta_bracket(np.zeros(1), reverse=self.reverse)[1][0] > 0:
                pure_lower = release.reached_loss(reverse=self.reverse)  # 0 if nothing is known
                # where the lower bound of the curve exceeds _NOTHING, greater losses occur
                if pure_lower == 0 and release.bounded_below:
                    pure_lower = Composition(((release, 1),), self.reverse)._inverse(_NOTHING)[0]
                low += count * pure_lower
                high += count * release.greatest_loss(reverse=self.reverse)
        rounding = 4 * UNIT * len(self.factors)
        return min(low * (1 - rounding), high), high * (1 + rounding)

    def _greatest(self) -> float:
        """Upper bound of the total loss."""
        losses = [count * release.greatest_loss(reverse=self.reverse) for release, count in self.factors]
        return sum(losses) * (1 + 4 * UNIT * len(losses))

    def _infinite(self) -> tuple[float, float]:
        """Lower and upper bound of delta at infinite epsilon: the probability that some loss is infinite."""
        logs = np.zeros(2)
        with np.errstate(divide="ignore"):
            for i, (_, count) in enumerate(self.factors):
                ends = self._curves(i)[0](np.array([np.inf]))
                # log of the probability that no loss is infinite: 1 - prod (1 - d_i)^n_i without cancellation
                logs += count * np.log1p(-np.minimum([ends[0][0], ends[1][0]], 1.0))
        lower, upper = 0.0 - np.expm1(logs)
        rounding = 1e-14 + 4 * float(UNIT) * len(self.factors)  # all terms of the sums of logarithms have one sign
        return float(lower) * (1 - rounding), min(float(upper) * (1 + rounding), 1.0)

    def deltas(self, epsilon: FloatArray, width: float = DEFAULT_RELATIVE_WIDTH, floor: ArrayLike = 0.0) -> BracketArrays:
        """As :meth:`delta` at each of many epsilons: the bounds are read from grids that neighbours share.

        Where the upper bound is at most `floor`, the bounds are not narrowed.
        """
        if not self.factors:
            return np.zeros(epsilon.shape), np.zeros(epsilon.shape)
        if self.single:
            return self._curves(0)[0](epsilon)
        # bounds that hold for every epsilon
        low, high = np.full(epsilon.shape, self._infinite()[0]), np.ones(epsilon.shape)
        delta_floor = np.maximum(floor, _NOTHING)
        levels, tilts = self._levels_at(epsilon, delta_floor)
        unresolved = levels > 0
        # a second pass at half the width where the first one was not close enough and many points share it
        for precision in (width, width / 2):
            for level in np.unique(levels[unresolved]):
                at_level = unresolved & (levels == level)
                if precision < width and np.sum(at_level) <= _ONE_BY_ONE:
                    continue
                if (grid := self._shared_grid(float(level), precision)) is not None:
                    lower, upper = grid.deltas(epsilon[at_level])
                    low[at_level], high[at_level] = np.maximum(low[at_level], lower), np.minimum(high[at_level], upper)
            with np.errstate(divide="ignore", invalid="ignore"):
                close = np.log(high) - np.log(low) <= width * np.maximum(tilts * epsilon, 1.0)
            # a table has its own step: no finer grid is possible
            unresolved &= ~(close | (high <= delta_floor) | (self._tabled & (high < 1)))
        # what no shared grid covers is computed point by point
        for i in np.flatnonzero(unresolved | (levels == 0)):
            low[i], high[i] = self.delta(float(epsilon[i]), width)
        return np.minimum(low, high), high

    def epsilons(
        self, delta: FloatArray, width: float = DEFAULT_RELATIVE_WIDTH, floor: ArrayLike = 0.0
    ) -> BracketArrays:
        """As :meth:`epsilon` at each of many deltas: the bounds are read from grids that neighbours share."""
        if self.single and np.all((delta > 0) & (delta < 1)):
            return self._inverses(delta, np.broadcast_to(floor, delta.shape))
        low, high = np.zeros(delta.shape), np.where(delta >= 1, 0.0, np.inf)
        inside = (delta > 0) & (delta < 1) & (len(self.factors) > 0) & (not self.single)
        # level 0 marks deltas of 0 and 1, which have no grid
        levels = np.where(inside, _level_below(np.log(np.where(inside, delta, 1.0))), 0.0)
        for level in np.unique(levels[levels > 0]):
            grid, at_level = self._shared_grid(float(level), width), levels == level
            if grid is not None:
                low[at_level], high[at_level] = grid.epsilons(delta[at_level])
        with np.errstate(invalid="ignore"):
            close = (high < np.inf) & ((high - low <= width * high) | self._tabled)
        for i in np.flatnonzero(~close):
            low[i], high[i] = self.epsilon(float(delta[i]), width)
        high = np.minimum(high, self._greatest())
        return np.minimum(low, high), high

    def _levels_at(self, epsilon: FloatArray, delta_floor: ArrayLike = _NOTHING) -> tuple[FloatArray, FloatArray]:
        """Levels of the grids for delta at each epsilon, 0 where there is none, and tilts, by Chernoff's bound.

        No level lies below that of a delta of `delta_floor`.
        """
        # delta and epsilon as functions of the tilt, inverted by interpolation
        tilts = np.append(0.0, np.geomspace(1e-6, _GREATEST_TILT, _TILTS))
        with np.errstate(over="ignore", invalid="ignore"):
            values, means, _ = np.transpose([self._cumulant(float(tilt)) for tilt in tilts])
        logs = values - tilts * means - np.log1p(tilts)
        # K' rises in exact arithmetic; plateaus by rounding are left out, since interpolation needs increasing values
        rising = np.append(True, means[1:] > np.maximum.accumulate(means[:-1])) & np.isfinite(logs)
        estimate = np.interp(epsilon, means[rising], np.minimum.accumulate(logs[rising]))
        covered = np.isfinite(epsilon) & (epsilon <= np.max(means[rising]))
        at_tilt = np.interp(epsilon, means[rising], tilts[rising])
        level = _level_below(np.maximum(estimate, np.log(delta_floor)))
        return np.where(covered, level, 0.0), np.where(covered, at_tilt, 0.0)

    def _shared_grid(self, level: float, width: float) -> _SharedGrid | None:
        """The grid for deltas from a level on, twice as fine as one point needs; None if it is no use there."""
        if (level, width) not in self._grids:
            products: list[tuple[Product, Product]] = []

            def bounds_of(lower: Product, upper: Product) -> tuple[float, float]:
                products[:] = [(lower, upper)]
                return lower.least_epsilon(level), upper.epsilon(level)

            # the last pair of products that the search made is kept
            high = self._refined_at(level, bounds_of, width / 2)[1]
            lower, upper = products[0] if products else (None, None)
            shared = None
            if lower is not None and upper is not None and high < np.inf:
                below, above = lower.many(level, lower=True), upper.many(level, lower=False)
                shared = _SharedGrid(below, above) if above and (below or self._tabled) else None
            self._grids[level, width] = shared
            # an insertion-ordered dictionary as a queue: memory stays bounded
            while len(self._grids) > 1 and sum(grid.size for grid in self._grids.values() if grid) > _KEPT:
                del self._grids[next(iter(self._grids))]  # the oldest
        return self._grids[level, width]

    def _inverse(self, delta: float, floor: float = 0.0) -> tuple[float, float]:
        """Lower and upper bound of the epsilon of one release at delta, from its curve; they are not narrowed below the floor."""
        low, high = self._inverses(np.array([delta]), np.array([floor]))
        return float(low[0]), float(high[0])

    def _inverses(self, delta: FloatArray, floor: FloatArray) -> BracketArrays:
        """As :meth:`_inverse` at each delta."""
        direct = self.factors[0][0].epsilons(delta, reverse=self.reverse)
        if direct is not None:
            return direct
        curve = self._curves(0)[0]
        low, high = np.zeros(delta.shape), np.array(floor, dtype=float)
        above = floor == 0
        if not np.all(above):
            above[~above] = ~(curve(high[~above])[1] <= delta[~above])
        # the lower bound of the curve gives the lower end of epsilon, the upper bound the upper end
        if np.any(above):
            low[above], high[above] = _crossings(curve, delta[above])
        return low, high

    @property
    def _releases(self) -> int:
        return sum(count for _, count in self.factors)

    @cached_property
    def _sketches(self) -> list[_Sketch]:
        sketches = []
        for i in range(len(self.factors)):
            release = self._composed(i)
            if release not in self._sketched:
                self._sketched[release] = _sketched_curves(release)
            eps, forward, reverse = self._sketched[release]
            sketches.append(_Sketch.of(eps, *((reverse, forward) if self.reverse else (forward, reverse))))
        return sketches

    def _cumulant(self, tilt: float, level: float = 0.0) -> tuple[float, float, float]:
        """Cumulant generating function of the sketched total loss, and its first and second derivative.

        Losses so great that they do not matter at a delta of `level` are left out: under a tilt, the few of a heavy tail
        would hide all others.
        """
        terms = [
            (sketch.cumulant(tilt), count)
            for sketch, (_, count) in zip(self._sketches_to(level), self.factors, strict=True)
        ]
        value, mean, variance = (sum(count * cumulant[i] for cumulant, count in terms) for i in range(3))
        return float(value), float(mean), float(variance)

    def _sketches_to(self, level: float) -> list[_Sketch]:
        """The sketches without the losses that `_grid` cuts off at this level; whole at level 0."""
        if not level:
            return self._sketches
        if level not in self._cut_sketches:
            self._cut_sketches[level] = [sketch.cut(level * _CUT / self._releases) for sketch in self._sketches]
        return self._cut_sketches[level]

    def _tilt_at(self, epsilon: float, level: float = 0.0) -> float:
        """The tilt under which epsilon is the mean total loss."""
        if self.single and (fall := self.factors[0][0].fall(epsilon)) is not None:
            return fall
        return self._tilt(lambda _t, _value, slope, curvature: (slope - epsilon, curvature), level)

    def _tilt(self, rising: Rising, level: float = 0.0) -> float:
        """The tilt where an increasing function of tilt and cumulants vanishes; 0 if it is positive at 0."""
        return root_of_tilts(lambda tilt: self._cumulant(tilt, level), rising, greatest_tilt=_GREATEST_TILT)

    def _narrowed(
        self,
        tilt: float,
        level: float,
        bounds_of: Callable[[Product, Product], tuple[float, float]],
        excess: Callable[[float, float], float],
        log_width: float,
        tried: bool = False,
        cut: float = 0.0,
        epsilon: float | None = None,
        provisional: bool = False,
    ) -> tuple[float, float]:
        """Lower and upper bound on finer and finer grids, until an excess of at most 1 says that they are close enough.

        They are bounds of delta at `epsilon` or, without one, of the epsilon at a delta of `level`. A `provisional` level is
        given up if the first grid shows that delta is far from it. The bounds of log delta should be at most `log_width`
        apart. A costly curve is evaluated at few points, and the grids are made from a band around it
        (:mod:`airtight.analytics.privacy.accounting.convex_band`); if `tried`, first from bands with the sketches' few nodes
        on a coarse grid. `cut` is the level of the sketches (:meth:`_sketches_to`).
        If no release has a lower bound, the upper bound of a grid is assumed to err by a third of what it gained over
        the grid before.
        """
        table_steps = {release.step for release, _ in self.factors if isinstance(release, Tabulated)}
        if len(table_steps) > 1:
            raise ParameterError("step", sorted(table_steps), "the same in all tables of losses that are composed")
        step, ranges = self._grid(tilt, level, cut, log_width)
        if table_steps:
            step = table_steps.pop()
        # at least one cell on either side of 0
        span = max([2 * step, *(top - bottom for bottom, top in ranges)])
        rough = any(release.rough for release, _ in self.factors)
        # a costly curve: nodes where its band matters, and a step no finer than the bands justify
        bands = {i: self._band(i, *ranges[i]) for i, (release, _) in enumerate(self.factors) if release.costly}
        if bands:
            least_step = max(span / (_ROUGH_CELLS if rough else _CELLS), 20 * self._deviation(tilt, cut) / _POINTS)
            step = max(step / _CHEAPER, least_step)
        # a curve that is only known roughly is not worth a fine grid
        cells, best, allowed = _ROUGH_CELLS if rough else _MANY_CELLS, (0.0, np.inf), _BAND_SHARE * log_width
        log_moments = {i: self._sketches_to(cut)[i].cumulant(tilt)[0] for i in bands}
        deviation = self._deviation(tilt, cut)
        total = self._cumulant(tilt, cut)[1] if epsilon is None else epsilon
        of_others = self._deviation(0.0, cut) * math.sqrt(1 - 1 / self._releases)
        focus = _Focus(tilt, cut, (total, total), level, of_others)
        # a threshold often needs a rough answer only: a coarse grid first, for the upper bound alone
        if tried:
            with suppress(ConvergenceError):
                low, high = bounds_of(*self._products(_TRIED * step, ranges, bands, focus, upper_only=True)[:2])
                if high < np.inf and excess(low, high) == 0:
                    return low, high
        idle = 0
        for refinement in range(_REFINEMENTS):
            for i, sides in bands.items():
                log_factor = np.log(self.factors[i][1] * _steepness(focus.tilt, deviation)) - log_moments[i]
                self._refine(i, sides, ranges[i], focus, log_factor, allowed / len(bands))
            # laws on both sides and their products
            lower, upper, laws_of_releases = self._products(step, ranges, bands, focus)
            try:
                low, high = bounds_of(lower, upper)
            # on the first grid a coarser one may fit, later the best bounds so far are the answer
            except ConvergenceError:  # the window has too many points
                if refinement:
                    return best
                step *= _COARSER
                continue
            # half the step has a fourth of the error, so the error is a third of what halving has gained
            lower_estimate = low if self._bounded_below else high - (best[1] - high) / 3
            # the upper bound gained nothing, and the lower one little: thrice, as steps may suit a loss of great mass by chance
            idle = idle + 1 if high >= best[1] and low - best[0] < _WORTHWHILE * (best[1] - best[0]) else 0
            before, best = best[1] - best[0], (max(best[0], low), min(best[1], high))
            if best[1] < np.inf:
                focus = replace(focus, epsilon=best) if epsilon is None else replace(focus, delta=max(best[1], _NOTHING))
            misplanned = provisional and refinement == 0 and not _is_near(best[1], level)
            gains_little = idle > 2 or (rough and best[1] - best[0] > _STUCK * before)
            remaining_excess = excess(max(best[0], lower_estimate), best[1])
            finest = int(np.log2(max(cells * step / span, 1.0)))
            # the distance of the bounds falls as the square of the step
            halvings = min(int(np.ceil(np.log2(min(max(remaining_excess, 1.0), 64.0)) / 2)), finest)
            if (
                remaining_excess <= 1
                or (halvings < 1 and not bands)
                or gains_little
                or misplanned
                or self._tabled
            ):
                return best
            # tilt and moments of the laws themselves show better than those of the sketches where nodes matter
            if bands and not upper.impossible:
                focus = replace(focus, tilt=upper.tilt_of_level(float(np.log(level))))
                deviation = float(np.sqrt(upper.cumulant(focus.tilt)[2]))
                log_moments = {i: laws_of_releases[i][1].cumulant(focus.tilt)[0] for i in bands}
            # nodes that were placed for another tilt are placed for this one before anything is made finer
            if refinement == 0 and abs(focus.tilt - tilt) > _MISPLACED * tilt:
                continue
            # several halvings at once save a grid where one would not be enough
            step /= 2**halvings
            # The error of the grid falls fourfold with each halving, and that of the bands with `allowed`. More than what is
            # missing: of few releases the loss of the others is no exponential.
            allowed /= min(_MISSING * max(remaining_excess, 1.0), 256.0)
        return best

    def _products(
        self, step: float, ranges: list[tuple[float, float]], bands: dict[int, _Band], focus: _Focus, upper_only: bool = False
    ) -> tuple[Product, Product, list[tuple[LossDistribution, LossDistribution]]]:
        """The compositions of the laws below and above all curves on one grid, and the laws of each release."""
        laws_of_releases = [
            self._laws(i, step, *ranges[i], bands.get(i), focus, upper_only=upper_only) for i in range(len(ranges))
        ]
        counts = [count for _, count in self.factors]
        lower, upper = (Product.of(list(zip(laws, counts, strict=True))) for laws in zip(*laws_of_releases, strict=True))
        return lower, upper, laws_of_releases

    def _band(self, i: int, bottom: float, top: float) -> _Band:
        """Bands around the curve of a release and around the curve in the other order; their nodes are the sketch's."""
        eps = self._sketches[i].eps
        forward, reverse = (
            ConvexBand(curve, eps[: max(int(np.searchsorted(eps, last)) + 1, 2)])
            for curve, last in zip(self._curves(i), (top, -bottom), strict=True)
        )
        return forward, reverse

    def _refine(
        self, i: int, sides: _Band, losses: tuple[float, float], focus: _Focus, log_factor: float, allowed: float
    ) -> None:
        """Narrow the bands of a release until they change log delta by `allowed`, nearly.

        `log_factor` is that of the weight of a difference of two curves in log delta (*Where nodes matter*,
        :mod:`airtight.analytics.privacy.accounting.convex_band`).
        """
        bottom, top = losses

        def right_weight(epsilon: FloatArray) -> FloatArray:
            # no loss alone makes more than all of delta
            log_alone = np.minimum(focus.log_alone(epsilon, epsilon, self.factors[i][1]), -self._sketches[i].log_delta(epsilon))
            log_weight = np.maximum(focus.tilt * epsilon + log_factor, log_alone - math.log(focus.deviation))
            return np.where(epsilon <= top, np.exp(np.minimum(log_weight, 700.0)), 0.0)

        def left_weight(epsilon: FloatArray) -> FloatArray:
            # the reverse curve counts, with x R(1/x): the rate t becomes -1 - t
            log_weight = (-1 - focus.tilt) * epsilon + log_factor
            return np.where(epsilon <= -bottom, np.exp(np.minimum(log_weight, 700.0)), 0.0)

        for side, weight in zip(sides, (right_weight, left_weight), strict=True):
            side.refine(weight, allowed / 2)

    def _deviation(self, tilt: float, level: float) -> float:
        """Standard deviation of the sketched total loss under the tilt."""
        return float(np.sqrt(self._cumulant(tilt, level)[2]))

    def _planned_step(self, tilt: float, level: float, log_width: float) -> float:
        """The step whose chords and lines together change log delta by a share of `log_width`, as far as the sketches tell.

        A law on the grid has the moment generating function of the loss with L replaced by one of the grid points beside it, so
        chosen that E[e^-L] stays. This adds t (1 + t) / 2 times the variance to log M(t) for each release, and at most t h. The
        variance is h^2 / 6 on average, and half of it lost by the lines; near 0, a grid point, it is abs(L) h. The total loss
        moves by less than a step for each release: a step that is the allowed share of epsilon need not be finer.
        """
        steep, allowed = _steepness(tilt, self._deviation(tilt, level)) / 2, _GRID_SHARE * log_width
        steps, added = 2.0 ** np.arange(-40.0, 10.0), np.zeros(50)
        for sketch, (_, count) in zip(self._sketches_to(level), self.factors, strict=True):
            variance = np.minimum(steps[:, None] / 4, np.abs(sketch.losses)) @ sketch.tilted(tilt)[0] * steps
            added += count * np.minimum(steep * variance, max(tilt, 1.0) * steps)
        planned = np.exp(np.interp(np.log(allowed), np.log(np.maximum(added, 1e-300)), np.log(steps)))
        epsilon = self._cumulant(tilt, level)[1]
        return max(float(planned), allowed / _sharpness(tilt, epsilon) * epsilon / self._releases)

    def _nodes(self, i: int, h: float, first: int, last: int, focus: _Focus) -> IntArray:
        r"""Multiples of h that get mass: all of them where most of the tilted loss lies, fewer where it is rare.

        Cells of width s add the mean of s^2 to the error. With the density :math:`\rho` of the tilted loss, and
        :math:`\rho_0` a share of one over the range, :math:`s = h\max(1, (\rho_0/\rho)^{1/3})` adds at most this share: it is
        the least number of cells for that. A cell may be wider than :math:`1/(1+t)` only where
        :math:`e^{(1+t)s}\le(h(1+t))^2\rho_0/\rho`, for what the weight gains in it.
        """
        sketch, tilt = self._sketches_to(focus.cut)[i], focus.tilt
        losses, gap = sketch.losses, np.diff(sketch.losses)
        # the density without a tilt, too: neighbouring deltas share a grid
        weight = np.maximum(sketch.tilted(tilt)[0], sketch.tilted(0.0)[0])
        log_alone = focus.log_alone(losses[:-1], losses[1:], self.factors[i][1])
        alone = np.minimum(np.maximum(sketch.mass[1:], sketch.mass[:-1]) * np.exp(np.minimum(log_alone, 700.0)), 1.0)
        density = np.maximum.reduce([weight[1:], weight[:-1], alone]) / gap
        rare = np.cbrt(density * (last - first) * h / _COARSE_SHARE)
        rise = 2 * np.log(h * (1 + tilt)) - 3 * np.log(np.clip(rare, 1e-200, 1.0))
        width = np.maximum(np.minimum(h / np.maximum(rare, 1e-200), np.maximum(rise, 1.0) / (1 + tilt)), h)
        # a cell is hardly wider than the density allows in any part of it: widths grow by a share of the way
        way = _WIDENING * losses
        width = np.minimum(width, np.minimum.accumulate(width - way[1:]) + way[1:])
        width = np.minimum(width, np.minimum.accumulate((width + way[:-1])[::-1])[::-1] - way[:-1])
        cells = np.append(0.0, np.cumsum(gap / np.maximum(width, h)))
        # nodes at equal distances in the number of cells, and all next to 0
        start, stop = np.interp([first * h, last * h], losses, cells)
        places = np.interp(np.linspace(start, stop, int(np.ceil(stop - start)) + 1), cells, losses)
        inside = np.clip(np.round(places / h), first, last).astype(np.int64)
        return np.unique(np.concatenate([inside, [first, first + 1, -1, 0, 1, last]]))

    def _laws(
        self, i: int, h: float, bottom: float, top: float, band: _Band | None = None, focus: _Focus | None = None, *,
        upper_only: bool = False,
    ) -> tuple[LossDistribution, LossDistribution]:
        """The loss distributions below and above the curve of a release, on multiples of h from `bottom` to `top`."""
        release = self.factors[i][0]
        # a table is a law on one side only; on the other side nothing is known
        if isinstance(release, Tabulated):
            law, nothing = release.law(reverse=self.reverse), LossDistribution(h, 0, np.zeros(0), 0.0)
            everything = LossDistribution(h, 0, np.zeros(0), 1.0)
            return (nothing, law) if release.pessimistic else (law, everything)
        # at least two cells left of 0 and one right of it, which the lines need
        first, last = min(int(np.floor(bottom / h)), -2), max(int(np.ceil(top / h)), 1)
        nodes = self._nodes(i, h, first, last, focus) if focus else None
        forward, reverse, convex = *self._curves(i), None
        if band is not None:
            (forward, reverse), convex = band, (band[0].below, band[1].below)
        # an empty law is the lower bound 0
        below = LossDistribution(h, 0, np.zeros(0), 0.0)
        # with half a cell the slopes use points of the grids themselves, which a costly curve has cached
        if self._bounded_below and not upper_only:
            side = 1 / 2 if release.costly and band is None else connect_the_dots.SIDE
            below = connect_the_dots.below(
                forward, reverse, step=h, first=first, last=last, side=side, convex=convex, nodes=nodes, aligned=focus is None
            )
        return below, connect_the_dots.above(forward, reverse, step=h, first=first, last=last, nodes=nodes)

    def _grid(
        self, tilt: float, level: float, cut: float = 0.0, log_width: float = 0.0
    ) -> tuple[float, list[tuple[float, float]]]:
        """A step, and for each release the least and the greatest finite loss of its grid.

        The step is a share of the deviation of one loss, or what `log_width` allows if it is given and losses are no multiples.
        """
        # cut and left-out mass are shared by all releases
        releases = self._releases
        ranges = [sketch.range(tilt, level * _CUT / releases, _LEFT_OUT / releases) for sketch in self._sketches_to(cut)]
        _, _, variance = self._cumulant(tilt, cut)
        # a share of the deviation of one loss, under the tilt
        step = max(np.sqrt(variance / releases) / _STEPS, _FINEST)
        # neither the composed law nor a single one may have too many points
        fewest, widest = 20 * np.sqrt(variance) / _POINTS, max(top - bottom for bottom, top in ranges)
        step = max(step, fewest, widest / _FIRST_CELLS)
        spacings = [release.spacing for release, _ in self.factors if release.spacing and release.spacing >= step]
        if log_width and not spacings:
            # near the least doubles second differences on a fine grid lose digits
            cells = _CELLS if level > _DEEP else _FIRST_CELLS
            step = max(self._planned_step(tilt, cut, log_width), _FINEST, fewest, widest / cells)
        # Lattice losses. A loss just above a grid point is split with almost all of its mass at this point.
        if spacings:  # all losses of a release are multiples of a spacing: put grid points just below them
            step = max(spacings) / np.ceil(max(spacings) / step) * (1 - _ASIDE)
        else:
            step = 2.0 ** (np.floor(np.log2(step) * _AN_OCTAVE) / _AN_OCTAVE)
        return float(step), ranges


def _is_near(delta: float, estimate: float) -> bool:
    """Whether a grid that was planned for an estimate serves a bound of delta."""
    return _FAR_BELOW * estimate <= max(delta, _NOTHING) <= estimate / _FAR_BELOW


def _steepness(tilt: float, deviation: float) -> float:
    """t (1 + t), where t is the tilt, or the inverse of the standard deviation of the total loss if that is more."""
    return float(max(tilt, 1 / max(deviation, _LEAST_DEVIATION)) * (1 + tilt))


def _level_below(log_delta: FloatArray) -> FloatArray:
    """The greatest level of a shared grid that is not above a delta; the least one for lesser deltas."""
    decades = _EVERY * np.ceil(log_delta / -np.log(10.0) / _EVERY)
    return np.asarray(10.0 ** -np.clip(decades, _EVERY, -_LEAST_LOG / np.log(10.0)))


def _crossings(curve: Callable[[FloatArray], BracketArrays], delta: FloatArray) -> BracketArrays:
    """Where the lower and the upper bound of a decreasing curve fall to each delta: the lower one is above it at the first, the
    upper one not at the second.
    """
    grid = np.concatenate([[0.0], _DECADES, [1e8, 1e16, 1e100, np.inf]])
    at_grid = np.stack(curve(grid))  # one evaluation for all deltas
    upper = _crossing(curve, delta, grid, at_grid, 1, ())[1]
    # the lower bound falls to delta a little before
    inside = (upper > 0) & (upper < np.inf)
    near = [np.where(inside, upper * (1 - share), 0.0) for share in (*_BEFORE, 0.0)]
    return _crossing(curve, delta, grid, at_grid, 0, near)[0], upper


def _crossing(
    curve: Callable[[FloatArray], BracketArrays],
    delta: FloatArray,
    grid: FloatArray,
    at_grid: FloatArray,
    side: int,
    near: Sequence[FloatArray],
) -> BracketArrays:
    """Close neighbours between which a bound falls to each delta: above it at the first, not at the second.

    Bounds at a grid are known; `side` is that of the bound that falls, and `near` has points for each delta to try first.
    """
    safe = _has_fallen(at_grid[side], delta, side)
    # first == 0: safe at 0 already; first == size: nowhere safe
    first = np.where(np.any(safe, axis=1), np.argmax(safe, axis=1), grid.size)
    ends = np.stack([np.maximum(first - 1, 0), np.minimum(first, grid.size - 1)])
    low, high = grid[ends]
    at_low, at_high = at_grid[:, ends[0]], at_grid[:, ends[1]]
    unsettled = np.flatnonzero((first > 0) & (first < grid.size) & (high < np.inf))
    for search in range(_SEARCHES):
        if not unsettled.size:
            break
        a, b, target = low[unsettled], high[unsettled], delta[unsettled]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            fall_a, fall_b = np.log(at_low[side, unsettled] / target), np.log(at_high[side, unsettled] / target)
            # log delta is close to linear; two points on either side of its root end most searches at once
            along = (b - a) / (fall_a - fall_b)
            secant = a + along * fall_a
            reach = np.fmax(_CLOSE / 4 * secant, _SHARE / 2 * _distance(*at_high[:, unsettled]) * along)
        # a geometric mean where the interval spans many octaves
        middle = np.where(b > 4 * a, np.sqrt(np.maximum(a, 1e-4 * b) * b), (a + b) / 2)
        secant, reach = np.where(np.isfinite(secant + reach), (secant, reach), (middle, 0.0 * middle))
        tried = [each[unsettled] for each in near] if near and search == 0 else None
        points = np.stack(tried or [secant - reach, secant + reach, middle], axis=1)
        points = np.sort(np.clip(points, a[:, None], b[:, None]), axis=1)
        values = np.stack(curve(points.ravel())).reshape(2, *points.shape)
        points = np.column_stack([a, points, b])
        values = np.concatenate([at_low[:, unsettled, None], values, at_high[:, unsettled, None]], axis=2)
        # the ends of the interval keep their signs, whatever rounding does inside
        safe = _has_fallen(values[side], target, side)
        safe[:, 0], safe[:, -1] = False, True
        crossing = np.argmax(safe, axis=1)
        rows = np.arange(unsettled.size)
        low[unsettled], high[unsettled] = points[rows, crossing - 1], points[rows, crossing]
        at_low[:, unsettled], at_high[:, unsettled] = values[:, rows, crossing - 1], values[:, rows, crossing]
        # where the bounds are apart, neighbours between which a bound falls by much less are close enough
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            fall = np.log(at_low[side, unsettled] / at_high[side, unsettled])
            close = fall <= _SHARE * _distance(*at_high[:, unsettled])
        unsettled = unsettled[(high[unsettled] - low[unsettled] > _CLOSE * high[unsettled]) & ~close]
    return low, np.where(first == grid.size, np.inf, high)


def _has_fallen(values: FloatArray, delta: FloatArray, side: int) -> NDArray[np.bool_]:
    """Whether an upper bound is not above delta, or whether a lower one is not proved to be above it."""
    return np.asarray(values <= delta[:, None] if side else ~(values > delta[:, None]))


def _distance(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Distance of the bounds of log delta, as far as it counts; 0 where there is no lower bound."""
    return np.where(lower > 0, np.minimum(np.log(upper / lower), _APART), 0.0)


@dataclass(frozen=True)
class _SharedGrid:
    """Bounds of a composition at many points, read from one tilted law below its own, if there is one, and one above."""

    lower: Readings | None
    upper: Readings

    @property
    def size(self) -> int:
        return (self.lower.size if self.lower else 0) + self.upper.size

    def deltas(self, epsilon: FloatArray) -> BracketArrays:
        """Lower and upper bound of delta at each epsilon: 0 and 1 where the laws do not reach."""
        low, high = self._least(epsilon), self.upper.deltas(epsilon)
        high = np.where(np.isnan(high), 1.0, high)
        return np.minimum(low, high), high

    def epsilons(self, delta: FloatArray) -> BracketArrays:
        """Lower and upper bound of epsilon at each delta: 0 and infinity where the laws do not reach.

        What is read off is moved away from delta until the bounds of delta there confirm it.
        """
        low = np.maximum(self.lower.epsilons(delta), 0.0) if self.lower else np.zeros(delta.shape)
        high = np.maximum(self.upper.epsilons(delta), 0.0)
        # An epsilon read off the grid is approximate. It moves outwards in growing steps until the bound of delta there
        # is on its side.
        shift = 2 * UNIT
        for _ in range(_MOVES):
            too_high = ~(self._least(low) > delta) & (low > 0)
            too_low = ~(self.upper.deltas(high) <= delta)
            if not (np.any(too_high) or np.any(too_low)):
                break
            low = np.where(too_high, low * (1 - shift), low)
            high = np.where(too_low, high * (1 + shift) + 1e-300, high)
            shift *= 4
        # what is still not confirmed is given up
        low = np.where(self._least(low) > delta, low, 0.0)
        high = np.where(self.upper.deltas(high) <= delta, high, np.inf)
        return np.minimum(low, high), high

    def _least(self, epsilon: FloatArray) -> FloatArray:
        """Lower bound of delta at each epsilon."""
        return np.nan_to_num(self.lower.deltas(epsilon), nan=0.0) if self.lower else np.zeros(epsilon.shape)


@dataclass(frozen=True)
class _Sketch:
    """The loss of one release on a geometric grid. It shows where the mass is; nothing is proved from it."""

    losses: FloatArray
    mass: FloatArray
    eps: FloatArray
    curve: FloatArray  # delta at eps
    infinite: float

    @classmethod
    def of(cls, eps: FloatArray, right: FloatArray, left: FloatArray) -> _Sketch:
        """From the curve at epsilons, and that in the other order, `left`: x R(1/x) gives the masses left of 0."""
        # subnormal values are rounding; under a great tilt their mass, far out, would hide all other
        right, left = (np.where(side >= NORMAL, side, 0.0) for side in (right, left))
        with np.errstate(under="ignore", over="ignore"):
            right_mass = _masses(eps, right)
            left_mass = _masses(-eps[::-1], (left * np.exp(-eps))[::-1])[::-1]
        # what both tails leave is near loss 0
        middle = max(1 - float(np.sum(right_mass[1:])) - float(np.sum(left_mass[1:])) - float(right[-1]), 1e-300)
        losses = np.concatenate([-eps[:0:-1], [0.0], eps[1:]])
        return cls(losses, np.concatenate([left_mass[:0:-1], [middle], right_mass[1:]]), eps, right, float(right[-1]))

    def log_delta(self, epsilon: FloatArray) -> FloatArray:
        """Log of the curve at each epsilon, nearly."""
        return np.asarray(np.interp(epsilon, self.eps, np.log(np.maximum(self.curve, _LEAST_SKETCHED))))

    def cumulant(self, tilt: float) -> tuple[float, float, float]:
        """Logarithm of the moment generating function of a finite loss, and its first and second derivative."""
        weight, value = self.tilted(tilt)
        mean = float(weight @ self.losses)
        return value, mean, float(weight @ (self.losses - mean) ** 2)

    @cached_property
    def _log_mass(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.mass))

    def tilted(self, tilt: float) -> tuple[FloatArray, float]:
        """Masses under the tilt, normalised, and the logarithm of the moment generating function."""
        exponent = self._log_mass + tilt * self.losses
        top = float(np.max(exponent))
        weight = np.exp(exponent - top)
        sum_of_weights = float(np.sum(weight))
        return weight / sum_of_weights, top + float(np.log(sum_of_weights))

    def _top(self, cut: float) -> int:
        """Index of the loss beyond which delta is at most `cut`, or all that is left are infinite losses."""
        return int(np.argmax(self.curve <= max(cut, self.infinite * (1 + _CUT), _VANISHED)))

    def cut(self, cut: float) -> _Sketch:
        """The same law without the losses beyond that one, but for the next few: a steep end has to show as such."""
        kept = self.losses <= self.eps[min(self._top(cut) + _BEYOND, self.eps.size - 1)]
        return replace(self, losses=self.losses[kept], mass=self.mass[kept])

    def range(self, tilt: float, cut: float, left_out: float) -> tuple[float, float]:
        """Least and greatest loss that matter: the tilted mass below is `left_out`, delta beyond is at most `cut`."""
        top = float(self.eps[self._top(cut)])
        # the first losses, which together hold at most `left_out` of the tilted mass
        below = np.cumsum(self.tilted(tilt)[0]) <= left_out
        last = int(np.sum(np.cumprod(below)))
        return min(float(self.losses[max(last - 1, 0)]), 0.0), top


def _both_orders(release: Mechanism) -> tuple[connect_the_dots.Curve, connect_the_dots.Curve]:
    """The curve of a mechanism and that in the other order."""
    return partial(release.delta_bracket, reverse=False), partial(release.delta_bracket, reverse=True)


def _sketched_curves(release: Mechanism) -> SketchedCurves:
    """Epsilons and, nearly, the curve of a release there, in either order.

    So many points in a decade as the release wants: more where a curve is steep, unless it is costly. Where few are wanted, only
    decades are evaluated in the far tail.
    """
    points, rough = release.sketched, release.for_sketch()
    curves = _both_orders(rough)
    decades: FloatArray = np.append(_DECADES, np.inf)
    ends = [curve(decades) for curve in curves]
    # the lower bound at the last decade above the upper one at infinity: finite losses lie beyond
    if any(lower[-2] > upper[-1] for lower, upper in ends):
        decades = np.append(_FAR_DECADES, np.inf)
        ends = [curve(decades) for curve in curves]
    decades, decade_curves = decades[:-1], [upper[:-1] for _, upper in ends]
    # from the decade before the first one at which a curve has fallen by a thousandth
    start = min(int(np.argmax(side < 0.999 * side[0])) if side[0] > 0 else 0 for side in decade_curves)
    # to the first decade where the curve has reached its limit
    stops = [int(np.argmax(side <= max(side[-1], _VANISHED))) for side in decade_curves]
    high = min(max(*stops, start + 1), decades.size - 1)
    low = min(max(start - 1, 0), high - 1)
    eps: FloatArray = np.append(0.0, np.geomspace(decades[low], decades[high], (high - low) * points + 1))
    if not release.costly:
        # a tilt that matters is about the slope of log delta: a chord must not put mass farther than one over it
        falls = np.maximum(*(-np.diff(np.log(np.maximum(curve(eps)[1], _LEAST_SKETCHED))) for curve in curves))
        parts = np.clip(np.ceil(falls / _FALL), 1, _PARTS)
        eps = np.interp(np.arange(parts.sum() + 1), np.append(0.0, np.cumsum(parts)), eps)
    forward, reverse = (
        _tail_filled(curve, eps, decades, decade_values, -(-points // 3)) if points < Mechanism.sketched else curve(eps)[1]
        for curve, decade_values in zip(curves, decade_curves, strict=True)
    )
    return eps, forward, reverse


def _tail_filled(
    curve: connect_the_dots.Curve, eps: FloatArray, decades: FloatArray, decade_values: FloatArray, points: int
) -> FloatArray:
    """Upper bounds of a curve at `eps`, the first of which is 0; in the far tail, where they may cost most, interpolated values.

    Between points that are evaluated the logarithm is taken for a power of epsilon. What is interpolated need be no bound: a
    sketch decides about tilts, ranges and steps only.
    """

    def logs(values: FloatArray) -> FloatArray:
        return np.log(np.maximum(-np.log(np.maximum(values, _LEAST_SKETCHED)), _LEAST_SKETCHED))

    values, last = np.zeros(0), 0  # of the points up to the first few in the far tail
    # evaluate until the curve is below exp(-_FAR_TAIL): at first to where the decades say so
    stop = int(np.sum(np.interp(np.log(np.maximum(eps, decades[0])), np.log(decades), logs(decade_values)) < np.log(_FAR_TAIL)))
    while last < eps.size and not (last and values[-1] <= np.exp(-_FAR_TAIL)):
        stop = max(stop, last) + points
        values, last = np.append(values, curve(eps[last:stop])[1]), min(stop, eps.size)
    if last == eps.size:
        return values
    beyond = (decades > eps[last - 1]) & (decade_values > _LEAST_SKETCHED)
    # log(-log delta) is nearly linear in log epsilon; the decades, which are known, are nodes as well
    places = np.log(np.append(eps[1:last], decades[beyond]))
    heights, log_eps = logs(np.append(values[1:], decade_values[beyond])), np.log(eps[last:])
    power = (heights[-1] - heights[-2]) / (places[-1] - places[-2])
    fall = np.interp(log_eps, places, heights) + power * np.maximum(log_eps - places[-1], 0.0)
    filled = np.exp(-np.exp(np.minimum(fall, 700.0)))
    filled = np.where(filled > _NOTHING, filled, 0.0)  # what vanishes has no mass, whatever the tilt
    # the curve must not rise, or masses would be negative
    return np.minimum.accumulate(np.append(values, filled))


def _masses(losses: FloatArray, curve: FloatArray) -> FloatArray:
    """Masses under P of the law whose curve is the chords, losses ascending; affine parts of the curve cancel."""
    gap, rise = np.diff(losses), np.diff(curve)
    # slope of the chords in x = exp(loss), times x: p_i = (rise after) / (exp(gap) - 1) - (rise before) / (1 -
    # exp(-gap))
    after = np.append(rise / np.expm1(np.minimum(gap, 700.0)), 0.0)
    before = np.concatenate([[0.0], rise / -np.expm1(-gap)])
    return np.asarray(np.maximum(after - before, 0.0))


@dataclass(frozen=True)
class Joint(Mechanism):
    r"""Several releases, each used some number of times, as one release whose curve is that of their composition.

    Notes
    -----
    For few epsilons the composition is computed at each of them. For many, the curve is read from two laws of the total
    loss, one above and one below the true law, with absolute accuracy
    (:meth:`airtight.analytics.privacy.accounting.numerical_composition.Composition.law`). The curve of a law on a grid is
    linear in :math:`e^\epsilon` between grid points, so that it is known everywhere.
    """

    factors: Factors
    _laws: dict[bool, tuple[LossDistribution, LossDistribution]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def unit(self) -> str:  # type: ignore[override]
        return next((release.unit for release, _ in self.factors if release.unit), "")

    @property
    def bounded_below(self) -> bool:  # type: ignore[override]
        return all(release.bounded_below for release, _ in self.factors)

    def parameters(self) -> dict[str, Any]:
        raise NotImplementedError("a Joint has no JSON form: make it again from the family that it bounds")

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return float(sum(count * release.greatest_loss(reverse=reverse) for release, count in self.factors))

    def reached_loss(self, *, reverse: bool = False) -> float:
        return float(sum(count * release.reached_loss(reverse=reverse) for release, count in self.factors))

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        composition = Composition(self.factors, reverse)
        # many points: two laws on both sides, read everywhere
        if epsilon.size > _ONE_BY_ONE:
            if reverse not in self._laws:
                low, high = (composition.law(composition.usual_step, pessimistic=upward) for upward in (False, True))
                self._laws[reverse] = low, high
            return _around_laws(epsilon, *self._laws[reverse])
        bounds = np.array([composition.delta(float(x)) for x in epsilon.ravel()]).reshape(*epsilon.shape, 2)
        return bounds[..., 0], bounds[..., 1]


def _around_laws(epsilon: FloatArray, low: LossDistribution, high: LossDistribution) -> BracketArrays:
    """Lower bound from the curve of one law, upper bound from that of another, at each epsilon >= 0."""
    bounds = []
    for law, sign in ((low, -1), (high, 1)):
        grid = law.losses
        value, _ = connect_the_dots.summed(law.mass, law.infinite, law.step)
        right_index = np.clip(np.searchsorted(grid, epsilon, side="left"), min(1, grid.size - 1), grid.size - 1)
        left_index = np.maximum(right_index - 1, 0)  # the same point where the law has one loss only
        right, inside = grid[right_index], np.clip(epsilon, grid[0], grid[-1])
        # chords in exp(epsilon): the share of the left point is expm1(epsilon - right) / expm1(left - right)
        width = np.expm1(grid[left_index] - right)
        share = np.clip(np.expm1(inside - right) / np.where(width < 0, width, -1.0), 0.0, 1.0)
        chord = value[right_index] + share * (value[left_index] - value[right_index])
        # below the grid the curve is at most 1, and at least its first value as it falls
        chord = np.where(epsilon < grid[0], value[0] if sign < 0 else 1.0, chord)
        # rounding of the sums that made the curve
        bounds.append(chord * (1 + sign * (law.mass.size + 64) * UNIT))
    return bounds[0], np.minimum(bounds[1], 1.0)
