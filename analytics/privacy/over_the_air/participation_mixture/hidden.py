"""Divergences averaged over the other participants, for an observer who does not see whether device k takes part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.privacy.over_the_air.participation_mixture import (
    complex_noise,
    gauss_rule,
    hidden_divergence,
    noise_interpolant,
    partial_sums,
)
from airtight.analytics.privacy.over_the_air.participation_mixture.complex_noise import AnalyticBound, Smooth
from airtight.analytics.privacy.over_the_air.participation_mixture.evaluate import (
    Curvature,
    Curve,
    NoiseMixture,
    Values,
)
from airtight.analytics.privacy.over_the_air.participation_mixture.noise_interpolant import (
    NARROW,
    Component,
    Contributions,
    Largest,
    NoiseInterpolant,
    Triple,
)
from airtight.analytics.rounding import SMALLEST

PROVED_FROM = 100  # dimensions from which an error bound is proved; below, kinks in v are too near the real axis
_TOLERANCE = 3e-11  # relative error of the quadrature and of the interpolation
_VARIED = 2.0  # factor by which an estimated curvature is assumed to vary at most within the slack
_PLACES = 128  # values of the others' noise at which the contributions to the mean are compared
_LEAST_EPSILON = 1e-15  # for which the divergence is bounded at complex noise
# of a piece with a Gauss rule: greatest half width in log v, and that for each dimension where these are few; greatest argument
# in its ellipse, and the dimension from which on it is the greater one
_HALF, _HALF_PER_DIMENSION = 0.45, 1 / 800
_OPENINGS, _MANY_DIMENSIONS = (0.2, 0.3), 500
# share of the mean noise, times the root of the dimension, from which a device is loud, and of a width for such a device
_LOUD, _NARROW_PIECES = 8.0, 0.27
_WIDER = 1e-6  # by which a piece is widened on either side, for roundings of values
_DOUBTED = 64.0  # panels that may each add a doubt
_JUDGED = 9  # values of the divergence that show what contributes to its mean


class _AboutPieces(NamedTuple):
    """Bounds of divergences about the pieces of Gauss rules (:class:`.complex_noise.Smooth`)."""

    largest: Largest
    closer: Largest  # the same bounds with more effort, where they are not close enough
    opening: float  # greatest argument in an ellipse

    def on_pieces(self, low: FloatArray, high: FloatArray, offset: FloatArray, log_slight: FloatArray) -> AnalyticBound:
        """See :class:`.complex_noise.Smooth`; no law with an offset has such rules."""
        rho = complex_noise.opened((high - low) / 2 + _WIDER, self.opening)
        asked = low - _WIDER, high + _WIDER, rho, log_slight - np.log(_DOUBTED), log_slight - gauss_rule.log_missed(rho)
        problem = np.repeat(np.arange(low.shape[0]), low.shape[1])
        log_bound, log_doubt = self.largest(problem, *(each.ravel() for each in asked))
        return AnalyticBound(rho, log_bound.reshape(low.shape), log_doubt.reshape(low.shape))


def _unknown_curvature(
    low: FloatArray, high: FloatArray, i: IntArray, values: FloatArray, log_unit: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """No bound of the curvature is known, and the mean over an exact law needs none."""
    return np.full(low.shape, np.inf), np.full(low.shape, np.inf)


@dataclass(frozen=True)
class HiddenParticipationMixture(NoiseMixture):
    r"""``silent`` and ``replace`` without idle noise: :math:`E_S\,D_\lambda(P_S\|Q_S)` of
    :mod:`.hidden_divergence`.

    Of the two directions of ``silent``, the one from present to silent is never the smaller (docs, observers, theorem
    d), so one round needs only this direction. The two directions of ``replace`` are equal.

    Notes
    -----
    In a composition the mean over an exact law of the others' noise, or over nodes of :mod:`.partial_sums`, is that of Gauss
    rules, whose errors rest on :func:`.hidden_divergence.log_largest`. Where these are too great, and for a law on a grid, the
    divergence is interpolated.

    On a grid of the others' noise, the second difference with step :math:`\sigma`, the slack, is a mean of the second
    derivative within :math:`\sigma` of v. There the second derivative differs from this mean by at most :math:`2\sigma`
    times the greatest third derivative (:meth:`NoiseInterpolant.log_derivatives`). Where a bound of the second derivative
    itself is less, it is used. Where neither is known, the concavity has the proved bound of
    :func:`.noise_interpolant.concavity_of_hidden`, and the convexity has no
    bound. In few dimensions, where the error of the interpolation is estimated, the curvature is estimated as well, as
    twice the second difference.
    """

    replaced: partial_sums.Replaced | None = None  # of the one law, partial sums for which rules stand
    sketches_on_grid = 1  # the divergence costs more on the second, whose tolerance is less than that of the grid

    @property
    def interpolating(self) -> bool:
        return self.estimating and not self._proved

    @property
    def _proved(self) -> bool:
        return int(self.dimension[0]) >= PROVED_FROM

    def ruled(self, pieces: int) -> NoiseMixture | None:
        return super().ruled(pieces) if self._rules_serve or not self._proved else None

    @property
    def _rules_serve(self) -> bool:
        """Whether proved rules save time.

        On a grid the curvature would have to be known; for one round a rule would need as many nodes as the interpolation.
        """
        return not self.slack and self.offset is None and self.interpolated > 0

    @property
    def tried_pieces(self) -> tuple[int, ...]:
        if not self._proved:
            return super().tried_pieces
        if not self._rules_serve:
            return ()
        variance, weights = self._widest  # but for the least value, which stays by itself
        few = gauss_rule.pieces_of_width(variance[:, 1:], weights[:, 1:], 2 * self.half)
        return few, 2 * few

    @property
    def half(self) -> float:
        """The greatest half width in log v of a piece with a proved rule."""
        return min(_HALF, int(self.dimension[0]) * _HALF_PER_DIMENSION) * self._narrowing

    @property
    def _narrowing(self) -> float:
        """Share of the usual width that a piece has in many dimensions, where a loud device makes kinks turn fast with v."""
        dimension = int(self.dimension[0])
        if dimension < _MANY_DIMENSIONS:
            return 1.0
        mean = np.sum(self.weights * self.variance, axis=1)
        loudness = float(np.max(self.own_noise / np.maximum(mean, SMALLEST))) * np.sqrt(dimension)
        return _NARROW_PIECES if loudness > _LOUD else 1.0

    @property
    def _opening(self) -> float:
        dimension = float(self.dimension[0])
        least = complex_noise.opening(dimension)
        if not self._proved:
            return least
        return max(_OPENINGS[1] * self._narrowing, least) if dimension >= _MANY_DIMENSIONS else _OPENINGS[0]

    def _directions(self) -> list[Curve]:
        return [self._hidden]

    def order(self, reverse: bool) -> Curve:
        return partial(self._hidden, reverse=reverse)

    def _about_pieces(self, epsilon: FloatArray, rows: IntArray, *, reverse: bool) -> _AboutPieces:
        """Bounds for the rules of this law: close ones where they are hard to find, or the law itself would be next."""
        assert self.rules is not None
        rough, close = (self._largest(epsilon, rows, reverse=reverse, divided=divided) for divided in (False, True))
        last = self.rules.low.shape[1] > min(self.tried_pieces, default=0)
        hard = self.dimension[0] < _MANY_DIMENSIONS or self._narrowing < 1
        return _AboutPieces(close if last or hard else rough, close, self._opening)

    def _missed_before(self, smooth: Smooth, log_slight: FloatArray) -> FloatArray:
        if self.replaced is None or not isinstance(smooth, _AboutPieces):
            return super()._missed_before(smooth, log_slight)
        closer = smooth._replace(largest=smooth.closer, opening=self.replaced.opening)
        return self.replaced.log_remainder(closer, log_slight)[:, None]

    def _hidden(self, epsilon: FloatArray, rows: IntArray, *, reverse: bool = False) -> Values:
        component = self._component(epsilon, rows, reverse=reverse)
        if self._proved and self.rules is not None:
            smooth = self._about_pieces(epsilon, rows, reverse=reverse)
            value, slope, up, down = self._expected(component, rows, _unknown_curvature, smooth)
            return np.log(self.participation[rows]) + value, slope, up, down
        at = NoiseInterpolant(
            component,
            self._largest(epsilon, rows, reverse=reverse) if self._proved else None,
            self.tolerance,
            self.slack,
            int(self.dimension[0]),
            self._matters(component, rows) if self._proved else None,
            self._fewest,
            third_cost=self.spread * self.slack,
        )
        value, slope, up, down = self._expected(at, rows, self._bend(at, rows, reverse))
        return np.log(self.participation[rows]) + value, slope, up, down

    def _matters(self, component: Component, rows: IntArray) -> Contributions | None:
        """What contributes to the mean, all of it up to the tolerance, judged by a few values of the divergence."""
        step = self.variance.shape[1] // _PLACES
        if step < 2:
            return None
        v = self.variance[:, ::step][rows]
        weights = np.add.reduceat(self.weights, np.arange(0, self.variance.shape[1], step), axis=1)[rows]
        with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
            log_v = np.log(v)
            least = np.where(v[:, 0] > 0, log_v[:, 0], log_v[:, 1])
            places = least[:, None] + (log_v[:, -1] - least)[:, None] * np.linspace(0, 1, _JUDGED)
            judged = component(np.exp(places), np.arange(rows.size))[0]
            # 0 beside other values: far below what counts
            judged = np.where(judged > -np.inf, judged, -1e300)
            log_terms = np.array([np.interp(*each) for each in zip(log_v, places, judged, strict=True)]).reshape(v.shape)
            log_terms = np.log(weights) + log_terms
            share = np.exp(log_terms - np.max(log_terms, axis=1, keepdims=True))
        share = np.where(np.isfinite(share), share, 1.0)
        negligible = self.tolerance * np.sum(share, axis=1, keepdims=True)
        first = np.maximum(np.sum(np.cumsum(share, axis=1) <= negligible, axis=1) - 1, 0)
        last = np.sum(np.cumsum(share[:, ::-1], axis=1)[:, ::-1] > negligible, axis=1)
        high = self.variance[rows, np.minimum(last * step, self.variance.shape[1] - 1)]
        at_most = np.full(rows.size, np.inf) if self.slack else high
        return Contributions(v[np.arange(rows.size), first], at_most, log_v, share / np.sum(share, axis=1, keepdims=True))

    @property
    def tolerance(self) -> float:
        return max(_TOLERANCE, super().tolerance)

    def _component(self, epsilon: FloatArray, rows: IntArray, *, reverse: bool) -> Component:
        def component(v: FloatArray, i: IntArray) -> Triple:
            row = rows[i, None]
            arguments = epsilon[i, None], self.participation[row], self.sensitivity[row], v, self.own_noise[row]
            problem = (x.ravel() for x in np.broadcast_arrays(*arguments))
            curve = hidden_divergence.log_curve(
                *problem,
                dimension=int(self.dimension[0]),  # all rows have one
                replace=self.adjacency is Adjacency.REPLACE,
                reverse=reverse,
                tolerance=max(_TOLERANCE, 30 * float(np.exp(-self.nats))),
            )
            value, slope, error = (x.reshape(v.shape) for x in curve)
            return value, slope, error

        return component

    def _largest(self, epsilon: FloatArray, rows: IntArray, *, reverse: bool, divided: bool = False) -> Largest:
        def largest(
            i: IntArray,
            low: FloatArray,
            high: FloatArray,
            rho: FloatArray,
            log_negligible: FloatArray,
            log_enough: FloatArray | None,
        ) -> tuple[FloatArray, FloatArray]:
            row, asked = rows[i], epsilon[i]
            log_bound, log_doubt = np.full((2, i.size), np.inf)
            # epsilon = 0 has no bound of its own: D_1 differs from D_lambda by lambda - 1 at most
            positive = np.maximum(asked, _LEAST_EPSILON)
            regular = (asked < np.inf) & ((asked > 0) | (log_enough is None)) & (self.participation[row] < 1)
            regular &= (self.own_noise[row] > 0) & (self.sensitivity[row] > 0)
            if np.any(regular):
                row = row[regular]
                log_bound[regular], log_doubt[regular] = hidden_divergence.log_largest(
                    positive[regular],
                    self.participation[row],
                    self.sensitivity[row],
                    self.own_noise[row],
                    low[regular],
                    high[regular],
                    rho[regular],
                    log_negligible[regular],
                    enough=None if log_enough is None else log_enough[regular],
                    divided=divided,
                    dimension=int(self.dimension[0]),
                    replace=self.adjacency is Adjacency.REPLACE,
                    reverse=reverse,
                )
                with np.errstate(divide="ignore"):
                    moved = np.log(np.where(positive > asked, 2 * positive, 0.0)[regular] / self.participation[row])
                log_doubt[regular] = np.logaddexp(log_doubt[regular], moved)
            return log_bound, log_doubt

        return largest

    def _bend(self, at: NoiseInterpolant, rows: IntArray, reverse: bool) -> Curvature:
        step = self.slack

        def bend(
            v: FloatArray, _: FloatArray, i: IntArray, values: FloatArray, unit: FloatArray
        ) -> tuple[FloatArray, FloatArray]:
            wide_enough = step < NARROW * v
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                places = (np.where(wide_enough, v - step, v), v, np.where(wide_enough, v + step, v))
                below, centre, above = (at.values(place, i) for place in places)
                low, middle, high = (np.exp(each[0] - unit) for each in (below, centre, above))
                second = ((low - middle) + (high - middle)) / (step * step)
                curvature_error = low * np.expm1(below[1]) + 2 * middle * np.expm1(centre[1]) + high * np.expm1(above[1])
                curvature_error = curvature_error / (step * step)
                most = np.full(v.shape, np.inf)  # of the second derivative, of either sign
                if at.largest is None:
                    second = _VARIED * second
                else:
                    log_second, log_third = at.log_derivatives(v, step)
                    curvature_error = curvature_error + 2 * step * np.exp(log_third - unit)
                    most = np.where(wide_enough, np.exp(log_second - unit), np.inf)
                curvature_error = np.where(wide_enough, curvature_error, np.inf)
                floor, d = np.maximum(v - step, self.receiver[rows[i], None]), self.sensitivity[rows[i], None]
                near = d / 2 if self.adjacency is Adjacency.REPLACE else 0.0 * d if reverse else d
                concavity_upper = noise_interpolant.concavity_of_hidden(
                    near, d, floor, self.own_noise[rows[i], None], float(self.dimension[0])
                )
                concave = np.fmin(np.maximum(-second, 0.0) + curvature_error, concavity_upper * np.exp(-unit))
                convex = np.where(curvature_error < np.inf, np.maximum(second, 0.0) + curvature_error, np.inf)
                return np.minimum(concave, most), np.minimum(convex, most)

        return bend
