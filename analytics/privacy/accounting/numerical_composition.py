r"""Numerical composition of unlike mechanisms: delta and epsilon between two proved bounds.

Both ends come from one grid of losses, :mod:`airtight.analytics.privacy.accounting.connect_the_dots`, and one tilted product,
:mod:`airtight.analytics.privacy.accounting.loss_distribution`; when they are too far apart the step is halved. Where to put
the grid is read off a sketch: the same chords on a geometric grid. Only the width depends on it, never the validity.

Notes
-----
Five errors are carried. (i) *Noise of the curve*: its proved or stated ends enter, the upper one in the chords, the lower one in
the lines; what noise bends is replaced by its lower hull. (ii) *Grid*: chords and lines, second order in the step; each law is
scaled to the right side of every value it was made from. (iii) *Truncation*: greater losses are infinite for the upper end
and left out for the lower; lesser ones are raised, and left out. (iv) *Aliasing*: Chernoff's bound of the tilted mass outside the
window. (v) *Rounding*: of the transform at most :math:`8u\log_2N` for each release, in the norm of the tilted law (assumed of the
library, u the unit of the last place), and of the entries, each the exponential of a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import optimize

from airtight.analytics.checks import ConvergenceError, FloatArray, ParameterError
from airtight.analytics.privacy.accounting import connect_the_dots
from airtight.analytics.privacy.accounting.interchange import Tabulated
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution, Product
from airtight.analytics.privacy.mechanisms.mechanism import Ends, Factors, Mechanism
from airtight.analytics.rounding import UNIT

WIDTH = 1e-3  # relative, of an interval, unless another is asked for
_DECADES = 10.0 ** np.arange(-15, 6)
_FAR_DECADES = 10.0 ** np.arange(-15, 13)  # where losses beyond the others are known to occur
_STEPS = 25  # in one deviation of a tilted loss, at first
_CUT = 1e-6  # share of delta that losses beyond the grid may cost
_LEFT_OUT = 1e-10  # tilted mass below the grid
_FIRST_CELLS, _CELLS, _MANY_CELLS = (
    1 << 12,
    1 << 16,
    1 << 18,
)  # of a law, at first; at most; at most where values are cheap
_POINTS = 1 << 21  # of the product, wanted at most
_REFINEMENTS = 6
_WORTHWHILE = 1 / 4  # of the distance that a finer grid ought to gain where the upper end gains nothing
_SECTIONS = 24  # points at once when a single release is inverted
_CLOSE = 1e-13
_ASIDE = 1e-10  # share of itself by which a multiple of the step lies below a loss that many outcomes have
_ABSOLUTE = 1e-12  # what may be lost where only absolute accuracy is asked for
_FINER = 4  # there
_FINEST, _COARSEST = 1e-12, 256.0  # step; the exponential of a coarser one may not be a double
_AN_OCTAVE = 8  # steps to choose from, so that both orders mostly ask for the same values
_ONE_BY_ONE = 8  # epsilons of a joint curve that are computed each for itself
_NOTHING = 1e-290  # a delta that is not told from 0
_LEAST_LOG = -690.0

Rising = Callable[[float, float, float], float]


@dataclass(frozen=True)
class Composed:
    """Independent releases, each `count` times, in one order throughout."""

    factors: Factors
    reverse: bool = False

    def delta(self, epsilon: float, width: float = WIDTH) -> tuple[float, float]:
        """Both ends of delta at epsilon >= 0."""
        if not self.factors:
            return 0.0, 0.0
        if self.single:
            lower, upper = self._curves(0)[0](np.array([epsilon]))
            return float(lower[0]), float(upper[0])
        if epsilon == np.inf:
            return self._infinite()
        tilt = self._tilt(lambda value, slope, t: slope - epsilon)
        log_level = self._cumulant(tilt)[0] - tilt * epsilon - np.log1p(tilt)
        level = float(np.exp(np.clip(log_level, _LEAST_LOG, 0.0)))
        # what is told apart at any epsilon is told apart at 0, and of several releases no more than of each, summed
        most = sum(count * sketch.curve[0] for sketch, (_, count) in zip(self._sketches, self.factors, strict=True))
        level = max(min(level, float(most)), np.exp(_LEAST_LOG))
        goal = width * max(tilt * epsilon, 1.0)
        low, high = self._narrowed(
            tilt,
            level,
            lambda lower, upper: (lower.least_delta(epsilon), upper.delta(epsilon)),
            lambda low, high: (np.log(high / low) if low > 0 else np.inf) / goal if high > _NOTHING else 0.0,
        )
        if np.log(max(high, _NOTHING) / max(low, _NOTHING)) > goal:
            alone = [self._curves(i)[0](np.array([epsilon])) for i in range(len(self.factors))]
            low = max([low, *(float(ends[0][0]) for ends in alone)])  # one release says no more than all of them
            if epsilon == 0:  # total variations add up at most
                each = sum(count * float(ends[1][0]) for ends, (_, count) in zip(alone, self.factors, strict=True))
                high = min(high, each * (1 + 4 * UNIT * (len(self.factors) + 1)))
        return min(low, high, 1.0), min(high, 1.0)

    def reached(self, epsilon: float, low: float, high: float, width: float = WIDTH) -> bool:
        """Whether both ends of delta at epsilon are as near each other as `width` of epsilon amounts to."""
        distance = np.log(high / low) if low > 0 else np.inf
        if high <= _NOTHING or distance <= width:
            return True
        if not self.factors or not 0 < epsilon < np.inf:
            return False
        return bool(distance <= width * max(self._tilt(lambda value, slope, t: slope - epsilon) * epsilon, 1.0))

    def epsilon(self, delta: float, width: float = WIDTH, floor: float = 0.0) -> tuple[float, float]:
        """Both ends of the least epsilon >= 0 at delta in [0, 1]; as they come where it is below the floor."""
        if not self.factors or delta >= 1:
            return 0.0, 0.0
        if delta == 0:
            return self._pure()
        if self.single:
            return self._inverse(delta)

        def excess(low: float, high: float) -> float:
            return (high - low) / (width * high) if max(low, floor) < high < np.inf else 0.0

        tilt = self._tilt(lambda value, slope, t: t * slope - value + np.log(delta))
        low, high = self._narrowed(
            tilt,
            delta,
            lambda lower, upper: (lower.least_epsilon(delta), upper.epsilon(delta)),
            excess,
        )
        if high <= floor:
            return low, high
        alone = [(Composed(((release, 1),), self.reverse), count) for release, count in self.factors]
        if low == 0 < high or high == np.inf:
            low = max(low, *(one._inverse(delta)[0] for one, _ in alone))
        if high == np.inf:  # basic composition
            share = delta / sum(count for _, count in alone) * (1 - UNIT)
            high = sum(count * one._inverse(share)[1] for one, count in alone) * (1 + 4 * UNIT * len(alone))
        return min(low, high), high

    @property
    def single(self) -> bool:
        """Whether there is but one release, whose curve is at hand."""
        return len(self.factors) == 1 and self.factors[0][1] == 1

    def law(self, step: float, *, pessimistic: bool) -> LossDistribution:
        """The total loss on multiples of the step, above the truth or below it; absolute accuracy as of :meth:`breaks`."""
        _, ranges = self._grid(0.0, _ABSOLUTE)
        counts = [count for _, count in self.factors]
        laws = [self._laws(i, step, *each)[int(pessimistic)] for i, each in enumerate(ranges)]
        product = Product(tuple(sorted(zip(laws, counts, strict=True), key=lambda one: -one[1])))
        if product.impossible:
            return LossDistribution(step, 0, np.zeros(1), product.infinite())
        found = product.tilted(0.0)
        whole = np.exp(product.cumulant(0.0)[0])
        if pessimistic:
            rest = product.infinite() + found.beyond + found.below
            return LossDistribution(step, found.first, found.law * whole * (1 + _ABSOLUTE), min(rest, 1.0))
        kept = np.maximum(found.law - 2 * found.error - found.below - found.beyond, 0.0) * whole * (1 - _ABSOLUTE)
        return LossDistribution(step, found.first, kept, product.infinite() * (1 - _ABSOLUTE))

    def breaks(self) -> tuple[FloatArray, FloatArray]:
        """Real epsilons and a delta at each, nowhere below the truth, nor are the chords in exp(epsilon).

        For what needs no relative accuracy: rounding costs some 1e-12, losses beyond the grid as much.
        """
        law = self.law(self.usual_step, pessimistic=True)
        return law.losses, np.minimum(connect_the_dots.summed(law.mass, law.infinite, law.step)[0], 1.0)

    @property
    def usual_step(self) -> float:
        """Of the grid where no relative accuracy is needed."""
        return self._grid(0.0, _ABSOLUTE)[0] / _FINER

    @property
    def _bounded_below(self) -> bool:
        return all(release.bounded_below for release, _ in self.factors)

    def _curves(self, i: int) -> tuple[connect_the_dots.Curve, connect_the_dots.Curve]:
        release = self.factors[i][0] if self.single else self.factors[i][0].in_composition()
        return (
            lambda epsilon: release.ends(epsilon, reverse=self.reverse),
            lambda epsilon: release.ends(epsilon, reverse=not self.reverse),
        )

    def _pure(self) -> tuple[float, float]:
        """Both ends of the pure epsilon; what has no divergence at epsilon 0 says nothing at all."""
        low = high = 0.0
        for release, count in self.factors:
            if release.ends(np.zeros(1), reverse=self.reverse)[1][0] > 0:
                known = release.reached_loss(reverse=self.reverse)
                if known == 0 and release.bounded_below:
                    known = Composed(((release, 1),), self.reverse)._inverse(_NOTHING)[0]
                low += count * known
                high += count * release.greatest_loss(reverse=self.reverse)
        room = 4 * UNIT * len(self.factors)
        return min(low * (1 - room), high), high * (1 + room)

    def _infinite(self) -> tuple[float, float]:
        logs = np.zeros(2)
        with np.errstate(divide="ignore"):
            for i, (_, count) in enumerate(self.factors):
                ends = self._curves(i)[0](np.array([np.inf]))
                logs += count * np.log1p(-np.minimum([ends[0][0], ends[1][0]], 1.0))
        lower, upper = 0.0 - np.expm1(logs)
        return float(lower) * (1 - 1e-14), min(float(upper) * (1 + 1e-14), 1.0)

    def _inverse(self, delta: float) -> tuple[float, float]:
        """Of one release, from its curve."""
        curve = self._curves(0)[0]
        found = []
        for end in (0, 1):
            grid = np.concatenate([[0.0], _DECADES, [1e8, 1e16, 1e100, np.inf]])
            for _ in range(40):
                safe = curve(grid)[end] <= delta
                first = int(np.argmax(safe)) if np.any(safe) else grid.size
                low, high = (grid[max(first - 1, 0)], grid[min(first, grid.size - 1)])
                if first in (0, grid.size) or high == np.inf or high - low <= _CLOSE * high:
                    break
                grid = (
                    np.linspace(low, high, _SECTIONS + 2)
                    if low > 0.01 * high
                    else np.geomspace(max(low, 1e-4 * high), high, _SECTIONS + 2)
                )
                grid[0] = low
            found.append(np.inf if first == grid.size else float(low if end == 0 else high))
        return found[0], found[1]

    @cached_property
    def _sketches(self) -> list[_Sketch]:
        return [_Sketch.of(*self._curves(i), release.sketched) for i, (release, _) in enumerate(self.factors)]

    def _cumulant(self, tilt: float) -> tuple[float, float, float]:
        each = [(sketch.cumulant(tilt), count) for sketch, (_, count) in zip(self._sketches, self.factors, strict=True)]
        value, mean, variance = (sum(count * one[i] for one, count in each) for i in range(3))
        return float(value), float(mean), float(variance)

    def _tilt(self, rising: Rising) -> float:
        """The tilt at which an increasing function of the cumulant, its slope and the tilt vanishes; 0 if it is positive."""

        def at(tilt: float) -> float:
            value, slope, _ = self._cumulant(tilt)
            return rising(value, slope, tilt)

        if at(0.0) >= 0:
            return 0.0
        high = 1e-6
        while at(high) < 0:
            high *= 4
            if high > 1e12:
                return high
        return float(optimize.brentq(at, 0.0, high, rtol=1e-3))

    def _narrowed(
        self,
        tilt: float,
        level: float,
        ends: Callable[[Product, Product], tuple[float, float]],
        excess: Callable[[float, float], float],
    ) -> tuple[float, float]:
        """Both ends, on finer and finer grids, until their distance is not more than wanted: an excess of at most 1.

        Where nothing is known from below, the upper end of a grid is taken to err by a third of what it gained; nothing at
        all is said on a grid that is too coarse.
        """
        counts = [count for _, count in self.factors]
        tables = {release.step for release, _ in self.factors if isinstance(release, Tabulated)}
        if len(tables) > 1:
            raise ParameterError("step", sorted(tables), "one grid of losses in all tables that are composed")
        step, ranges = self._grid(tilt, level)
        if tables:
            step = tables.pop()
        span = max([2 * step, *(top - bottom for bottom, top in ranges)])
        if step > _COARSEST:
            if span > _CELLS * _COARSEST:
                return 0.0, np.inf
            step = _COARSEST
        costly = any(release.side >= 1 / 2 for release, _ in self.factors)
        cells, best = _CELLS if costly else _MANY_CELLS, (0.0, np.inf)
        for refinement in range(_REFINEMENTS):
            made = [self._laws(i, step, *each) for i, each in enumerate(ranges)]
            products = (
                Product(tuple(sorted(zip(laws, counts, strict=True), key=lambda one: -one[1])))
                for laws in zip(*made, strict=True)
            )
            try:
                low, high = ends(*products)
            except ConvergenceError:
                if not refinement:
                    raise
                return best
            guess = low if self._bounded_below else high - (best[1] - high) / 3
            spent = high >= best[1] and low - best[0] < _WORTHWHILE * (best[1] - best[0])
            best = max(best[0], low), min(best[1], high)
            left = excess(max(best[0], guess), best[1])
            finest = int(np.log2(max(cells * step / span, 1.0)))
            halvings = min(int(np.ceil(np.log2(min(max(left, 1.0), 16.0)) / 2)), finest)
            if left <= 1 or halvings < 1 or spent or any(isinstance(release, Tabulated) for release, _ in self.factors):
                return best
            step /= 2**halvings
        return best

    def _laws(self, i: int, h: float, bottom: float, top: float) -> tuple[LossDistribution, LossDistribution]:
        release = self.factors[i][0]
        if isinstance(release, Tabulated):
            law, nothing = release.law(reverse=self.reverse), LossDistribution(h, 0, np.zeros(0), 0.0)
            everything = LossDistribution(h, 0, np.zeros(0), 1.0)
            return (nothing, law) if release.pessimistic else (law, everything)
        first, last = min(int(np.floor(bottom / h)), -2), max(int(np.ceil(top / h)), 1)
        forward, reverse = self._curves(i)
        below = LossDistribution(h, 0, np.zeros(0), 0.0)
        if self._bounded_below:
            below = connect_the_dots.below(forward, reverse, step=h, first=first, last=last, side=release.side)
        return below, connect_the_dots.above(forward, reverse, step=h, first=first, last=last)

    def _grid(self, tilt: float, level: float) -> tuple[float, list[tuple[float, float]]]:
        """A step, and for each release the least and greatest finite loss."""
        total = sum(count for _, count in self.factors)
        ranges = [sketch.range(tilt, level * _CUT / total, _LEFT_OUT / total) for sketch in self._sketches]
        _, _, variance = self._cumulant(tilt)
        step = max(np.sqrt(variance / total) / _STEPS, _FINEST)
        step = max(step, 20 * np.sqrt(variance) / _POINTS, max(top - bottom for bottom, top in ranges) / _FIRST_CELLS)
        spacings = [release.spacing for release, _ in self.factors if release.spacing and release.spacing >= step]
        if spacings:
            step = max(spacings) / np.ceil(max(spacings) / step) * (1 - _ASIDE)
        else:
            step = 2.0 ** (np.floor(np.log2(step) * _AN_OCTAVE) / _AN_OCTAVE)
        return float(step), ranges


@dataclass(frozen=True)
class _Sketch:
    """The loss of one release on a geometric grid: where its mass is. Nothing is proved from it."""

    losses: FloatArray
    mass: FloatArray
    eps: FloatArray
    curve: FloatArray  # delta at eps
    infinite: float

    @classmethod
    def of(cls, forward: connect_the_dots.Curve, reverse: connect_the_dots.Curve, points: int) -> _Sketch:
        ends = np.array([_DECADES[-1], np.inf])
        far = any(values[0][0] > values[1][1] for values in (forward(ends), reverse(ends)))
        decades: FloatArray = np.asarray(_FAR_DECADES if far else _DECADES, dtype=np.float64)
        rough = forward(decades)[1], reverse(decades)[1]
        start = min(int(np.argmax(side < 0.999 * side[0])) if side[0] > 0 else 0 for side in rough)
        stops = [int(np.argmax(side <= max(side[-1], 1e-320))) for side in rough]
        high = min(max(*stops, start + 1), decades.size - 1)
        low = min(max(start - 1, 0), high - 1)
        eps: FloatArray = np.append(0.0, np.geomspace(decades[low], decades[high], (high - low) * points))
        right, left = forward(eps)[1], reverse(eps)[1]
        with np.errstate(under="ignore", over="ignore"):
            up = _masses(eps, right)
            down = _masses(-eps[::-1], (left * np.exp(-eps))[::-1])[::-1]
        middle = max(1 - float(np.sum(up[1:])) - float(np.sum(down[1:])) - float(right[-1]), 1e-300)
        losses = np.concatenate([-eps[:0:-1], [0.0], eps[1:]])
        return cls(losses, np.concatenate([down[:0:-1], [middle], up[1:]]), eps, right, float(right[-1]))

    def cumulant(self, tilt: float) -> tuple[float, float, float]:
        """log of the moment generating function of a finite loss, its slope and curvature."""
        weight, value = self._tilted(tilt)
        mean = float(weight @ self.losses)
        return value, mean, float(weight @ (self.losses - mean) ** 2)

    def _tilted(self, tilt: float) -> tuple[FloatArray, float]:
        with np.errstate(divide="ignore"):
            exponent = np.log(self.mass) + tilt * self.losses
        top = float(np.max(exponent))
        weight = np.exp(exponent - top)
        whole = float(np.sum(weight))
        return weight / whole, top + float(np.log(whole))

    def range(self, tilt: float, cut: float, left_out: float) -> tuple[float, float]:
        """The losses that matter: beyond the greatest delta has fallen to `cut`, below the least is such tilted mass."""
        small = self.curve <= max(cut, self.infinite * (1 + _CUT))
        top = float(self.eps[int(np.argmax(small))])
        below = np.cumsum(self._tilted(tilt)[0]) <= left_out
        last = int(np.sum(np.cumprod(below)))
        return min(float(self.losses[max(last - 1, 0)]), 0.0), top


def _masses(losses: FloatArray, curve: FloatArray) -> FloatArray:
    """P-masses of the chords, losses ascending; affine parts of the curve drop out."""
    gap, rise = np.diff(losses), np.diff(curve)
    after = np.append(rise / np.expm1(np.minimum(gap, 700.0)), 0.0)
    before = np.concatenate([[0.0], rise / -np.expm1(-gap)])
    return np.asarray(np.maximum(after - before, 0.0))


@dataclass(frozen=True)
class Joint(Mechanism):
    r"""Several releases, each some number of times, as one: its curve is that of their composition.

    Notes
    -----
    At few epsilons it is computed for each; at many it is read off the two laws of the total loss, one above the truth and one
    below it to absolute accuracy (:meth:`airtight.analytics.privacy.accounting.numerical_composition.Composed.law`).
    The curve of a law on a grid is linear in :math:`e^\epsilon` between grid points, so that it is known everywhere.
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
        raise NotImplementedError("it is made anew from the family that it bounds")

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return float(sum(count * release.greatest_loss(reverse=reverse) for release, count in self.factors))

    def reached_loss(self, *, reverse: bool = False) -> float:
        return float(sum(count * release.reached_loss(reverse=reverse) for release, count in self.factors))

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        whole = Composed(self.factors, reverse)
        if epsilon.size > _ONE_BY_ONE:
            if reverse not in self._laws:
                low, high = (whole.law(whole.usual_step, pessimistic=upward) for upward in (False, True))
                self._laws[reverse] = low, high
            return _around_laws(epsilon, *self._laws[reverse])
        found = np.array([whole.delta(float(x)) for x in epsilon.ravel()]).reshape(*epsilon.shape, 2)
        return found[..., 0], found[..., 1]


def _around_laws(epsilon: FloatArray, low: LossDistribution, high: LossDistribution) -> Ends:
    """The curve of one law from below and of another from above, at each epsilon >= 0."""
    found = []
    for law, room in ((low, -1), (high, 1)):
        grid = law.losses
        value, _ = connect_the_dots.summed(law.mass, law.infinite, law.step)
        after = np.clip(np.searchsorted(grid, epsilon, side="left"), 1, grid.size - 1)
        left, right, at = grid[after - 1], grid[after], np.clip(epsilon, grid[0], grid[-1])
        share = np.clip(np.expm1(at - right) / np.expm1(left - right), 0.0, 1.0)
        chord = value[after] + share * (value[after - 1] - value[after])
        chord = np.where(epsilon < grid[0], value[0] if room < 0 else 1.0, chord)
        found.append(chord * (1 + room * (law.mass.size + 64) * UNIT))
    return found[0], np.minimum(found[1], 1.0)
