r"""Whether equal devices can keep an epsilon over T rounds: delta from below on boxes of systems, vectorised.

Of every component (how many of the others take part) the outcomes are put into cells between levels of the loss of
presence against absence. What a device gives away in cells it gives away in full (post-processing), in any number of
rounds; the corner of the box is that of :mod:`airtight.solvers.design.over_the_air.screen`. On cells that laws are
known of, P and Q, losses :math:`\log P/Q` rounded down to a grid lower every divergence once more, and the T-fold sum
is a power in Fourier space.

Where the noise of a box begins at 0 and leaves with its device, the cells are those of half-spaces: with the chance of each
bounded from below with the device and from above without it, the concave hull of these points lies below the trade-off of
every system of the box, so its pair says less (Blackwell).

Notes
-----
Cells err by the rounding of Phi and by the quadrature of the slope of a divergence, which is not proved: P is
lowered and Q raised by 1e-9 of themselves and 1e-14. The law of the loss is tilted so that sums near epsilon are common; sums
beyond the window are bounded by Chernoff's inequality and taken off, and so is the rounding of the transform (docs/accuracy.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import fft, special

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian_pair
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.rounding import UNIT
from airtight.solvers.design.over_the_air.screen import Box, Components, Screen

_CELLS = 64
_COMPOSED = 250  # what a test that composes rounds counts as
_LEAVING_CELLS = 40
_TAIL = 5.5  # standard deviations
_KEPT, _NOISE = 1e-9, 1e-14
_ROUNDED = 1.5e-3  # share of epsilon that rounding the losses down may cost, if the grid has enough points
_FEWEST, _MOST = 1 << 12, 1 << 18
_SPREAD = 9.0
_AT_ONCE = 1 << 22  # grid points in memory
_EXPONENTS = np.geomspace(0.1, 30.0, 12)  # of Chernoff's inequality, in standard deviations


@dataclass(frozen=True)
class ManyRounds(Screen):
    """delta at epsilon of T rounds with chance in them; at points it is known to some .4 % of epsilon.

    Attributes
    ----------
    short : float
        Share of epsilon by which points that are proposed stay below it.
    """

    short: float = 0.0

    @property
    def closed(self) -> bool:
        return False

    @property
    def cost(self) -> int:
        return _COMPOSED

    @property
    def safe(self) -> ManyRounds:
        return replace(self, epsilon=self.epsilon * (1 - self.short), short=0.0)

    def delta(self, box: Box, sensitivity: FloatArray) -> FloatArray:
        out = np.zeros(box.own.shape)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            some = np.flatnonzero(box.own > 0)
            if some.size:
                present, away = self._cells(box.only(some), sensitivity[some])
                out[some] = composed(present, away, self.epsilon, self.rounds)
        return out

    def _cells(self, box: Box, sensitivity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Chances of every outcome of one round with the code and with the neighbour's, shapes (n, cells)."""
        parts = self.components(box)
        if not self.leaves:
            above = _levels(sensitivity / np.sqrt(parts.variance))
        else:
            above = self._leaving_levels(box, parts, sensitivity)
        with_code, without = (_between(x) for x in above)  # (K or 1, n, cells)
        if self.hides:
            mixed = box.own[:, None] * with_code + (1 - box.own[:, None]) * without
            pair = mixed, without
        else:
            pair = box.own[:, None] * with_code, box.own[:, None] * without
        n = box.own.size
        p, q = (np.moveaxis(parts.chance[..., None] * x, 0, 1).reshape(n, -1) for x in pair)
        if not self.hides:
            rest = (1 - box.own)[:, None]
            p, q = np.hstack([p, rest]), np.hstack([q, rest])
        return p, q

    def _leaving_levels(self, box: Box, parts: Components, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        present = np.empty((*parts.variance.shape, _LEAVING_CELLS + 1))
        away = np.empty_like(present)
        edge = (box.quiet == 0) & (box.loud > 0)
        for rows, find in ((np.flatnonzero(edge), self._half_space_levels), (np.flatnonzero(~edge), self._loss_levels)):
            if rows.size:
                part = Components(parts.chance[:, rows], parts.variance[:, rows], parts.own[:, rows])
                present[:, rows], away[:, rows] = find(part, d[rows])
        return present, away

    def _loss_levels(self, parts: Components, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Chances that the loss exceeds levels, from the divergence and its slope there."""
        v, r = parts.variance, float(self.system.dimension)
        eta, square = parts.own / v, d * d / v
        bend = r / 2 * (eta - np.log1p(eta))
        mean_with, spread_with = square / 2 + bend, np.sqrt(square * (1 + eta) + r / 2 * eta**2)
        shrunk = 1 / (1 + eta)
        mean_without = -square / 2 * shrunk + r / 2 * (eta * shrunk - np.log1p(eta))
        spread_without = np.sqrt(square * shrunk**2 + r / 2 * (eta * shrunk) ** 2)
        low, high = mean_without - _TAIL * spread_without, mean_with + _TAIL * spread_with
        share = np.linspace(0, 1, _LEAVING_CELLS + 1)
        level = low[..., None] + (high - low)[..., None] * share
        shape = level.shape
        problem = np.broadcast_arrays(level, d[:, None], v[..., None], parts.own[..., None], np.asarray(r))
        flat, distance, narrow, gap, dimension = (np.ascontiguousarray(x.ravel()) for x in problem)
        present, away = np.empty(flat.size), np.empty(flat.size)
        right = flat >= 0
        value, slope, _ = gaussian_pair.log_curve(
            flat[right], distance[right], narrow[right], gap[right], dimension[right], reverse=False
        )
        size = np.exp(value)
        present[right], away[right] = size * (1 - slope), -size * slope * np.exp(-flat[right])
        left = ~right
        value, slope, _ = gaussian_pair.log_curve(
            -flat[left], distance[left], narrow[left], gap[left], dimension[left], reverse=True
        )
        size = np.exp(value)
        present[left], away[left] = 1 + size * slope * np.exp(flat[left]), 1 - size * (1 - slope)
        return present.reshape(shape), away.reshape(shape)

    def _half_space_levels(self, parts: Components, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Chances of half-spaces, least with the device and greatest without it, on their concave hull."""
        floor = np.sqrt(self.system.receiver_noise_variance)
        most = np.sqrt(parts.variance + parts.own)
        at = np.linspace(0, 1, _LEAVING_CELLS + 1) * (d + _TAIL * most)[..., None]
        behind = (d[:, None] - at) / np.where(at < d[:, None], most[..., None], floor)
        present, away = special.ndtr(behind), special.ndtr(-at / np.sqrt(parts.variance)[..., None])
        for index in np.ndindex(present.shape[:2]):
            present[index], away[index] = _hull(present[index], away[index])
        return present, away


def _levels(mu: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Chances of half-lines under N(mu, 1) and N(0, 1)."""
    mu = np.minimum(np.nan_to_num(mu, nan=0.0, posinf=1e3), 1e3)[..., None]
    at = -_TAIL + (mu + 2 * _TAIL) * np.linspace(0, 1, _CELLS + 1)
    return special.ndtr(mu - at), special.ndtr(-at)


def _between(above: FloatArray) -> FloatArray:
    """Chances of the cells between falling chances of half-lines, and of both ends."""
    ends = np.zeros((*above.shape[:-1], 1))
    return np.maximum(-np.diff(np.concatenate([1 + ends, above, ends], axis=-1), axis=-1), 0.0)


def _hull(present: FloatArray, away: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The corners of the concave hull of (away, present) from (1, 1) to (0, 0); what is below it repeats the corner before."""
    x = np.concatenate([[1.0], away, [0.0]])
    y = np.concatenate([[1.0], present, [0.0]])
    kept = [0]
    for i in range(1, x.size):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    last = np.asarray(kept)[np.searchsorted(kept, np.arange(x.size), side="right") - 1][1:-1]
    return y[last], x[last]


def composed(present: FloatArray, away: FloatArray, epsilon: float, rounds: int) -> FloatArray:
    """delta at epsilon of T independent outcomes, at least; chances of one outcome with and without, shapes (n, cells).

    Examples
    --------
    >>> flip, other = np.array([[0.75, 0.25]]), np.array([[0.25, 0.75]])
    >>> composed(flip, other, 0.5, 1).round(5)
    array([0.3378])
    >>> composed(flip, other, 0.5, 10).round(3)
    array([0.889])
    """
    p = np.maximum(present * (1 - _KEPT) - _NOISE, 0.0)
    p = np.where(p > _NOISE, p, 0.0)
    q = away * (1 + _KEPT) + _NOISE
    loss = np.where(p > 0, np.log(np.where(p > 0, p, 1.0) / q), 0.0)
    tilt = _tilt(p, loss, epsilon / rounds)
    weight = p * np.exp(tilt[:, None] * (loss - np.max(loss, axis=1, keepdims=True)))
    weight /= np.sum(weight, axis=1, keepdims=True)
    mean = np.sum(weight * loss, axis=1)
    spread = np.sqrt(rounds * np.maximum(np.sum(weight * (loss - mean[:, None]) ** 2, axis=1), 1e-300))
    centre = rounds * mean
    low, high = np.minimum(centre - _SPREAD * spread, epsilon), np.maximum(centre + _SPREAD * spread, epsilon)
    wanted = (high - low) * rounds / (2 * _ROUNDED * epsilon)
    size = 1 << int(np.clip(np.ceil(np.log2(np.max(wanted))), np.log2(_FEWEST), np.log2(_MOST)))
    out = np.empty(p.shape[0])
    some = max(_AT_ONCE // size, 1)
    for first in range(0, out.size, some):
        rows = slice(first, first + some)
        grid = _Grid(low[rows], (high[rows] - low[rows]) / size, size, spread[rows])
        out[rows] = _summed(p[rows], loss[rows], tilt[rows], grid, epsilon, rounds)
    return np.where(np.max(loss, axis=1) * rounds > epsilon, out, 0.0)


@dataclass(frozen=True)
class _Grid:
    """A window of sums of losses."""

    low: FloatArray
    step: FloatArray
    size: int
    spread: FloatArray


def _tilt(p: FloatArray, loss: FloatArray, mean: float) -> FloatArray:
    """Where the tilted mean loss is `mean`; 0 where it is more without. Nothing is proved from it."""
    low, high = np.zeros(p.shape[0]), np.full(p.shape[0], 200.0)
    top = np.max(loss, axis=1, keepdims=True)
    for _ in range(40):
        middle = (low + high) / 2
        weight = p * np.exp(middle[:, None] * (loss - top))
        less = np.sum(weight * loss, axis=1) < mean * np.sum(weight, axis=1)
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return np.where(np.sum(p * loss, axis=1) >= mean * np.sum(p, axis=1), 0.0, low)


def _summed(p: FloatArray, loss: FloatArray, tilt: FloatArray, grid: _Grid, epsilon: float, rounds: int) -> FloatArray:
    n, size, step = p.shape[0], grid.size, grid.step[:, None]
    place, first = np.floor(loss / step), np.floor(grid.low[:, None] / step)
    rounded = place * step
    top = np.max(rounded, axis=1)
    weight = p * np.exp(tilt[:, None] * (rounded - top[:, None]))
    moment = np.sum(weight, axis=1)
    weight /= moment[:, None]
    at = np.mod(place, size).astype(np.int64) + size * np.arange(n)[:, None]
    law = np.bincount(at.ravel(), weights=weight.ravel(), minlength=n * size).reshape(n, size)
    total = fft.irfft(fft.rfft(law, axis=1) ** rounds, size, axis=1)
    sums = (first + np.mod(np.arange(size) - first, size)) * step
    beyond = np.maximum(sums - epsilon, 0.0)
    tail = np.sum(total * np.exp(-tilt[:, None] * beyond) * -np.expm1(-beyond), axis=1)
    error = (rounds + 1) * 7 * UNIT * np.log2(size) * np.sqrt(size * np.sum(law**2, axis=1))
    for end, sign in ((first[:, 0] * grid.step, -1.0), ((first[:, 0] + size) * grid.step, 1.0)):
        error += _chernoff(weight, rounded, sign, sign * end, grid.spread, rounds)
    scale = np.exp(np.minimum(rounds * (np.log(moment) + tilt * top) - tilt * epsilon, 0.0))
    return np.asarray(np.maximum(tail - error, 0.0) * scale)


def _chernoff(
    weight: FloatArray, loss: FloatArray, sign: float, end: FloatArray, spread: FloatArray, rounds: int
) -> FloatArray:
    """The chance that the sum, times the sign, exceeds an end, at most."""
    best = np.zeros(end.shape)
    for exponent in _EXPONENTS:
        t = exponent / spread
        power = np.where(weight > 0, sign * t[:, None] * loss, -np.inf)
        top = np.max(power, axis=1, keepdims=True)
        moment = top[:, 0] + np.log(np.sum(weight * np.exp(power - top), axis=1))
        best = np.minimum(best, rounds * moment - t * end)
    return np.exp(best)


def screen_of(
    system: InferenceSystem, epsilon: float, observer: Observer, rounds: int, *, steady: bool, short: float
) -> Screen:
    """The screen of T rounds.

    Parameters
    ----------
    steady : bool
        Whether everybody always takes part.
    short : float
        Share of epsilon by which proposed points stay below it where their delta is only known from below.
    """
    seen = observers.meaning(system) if observer is Observer.AUTO else observer
    if rounds == 1 or steady:
        return Screen(system, epsilon, seen, rounds)
    return ManyRounds(system, epsilon, seen, rounds, short)
