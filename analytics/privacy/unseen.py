"""The mixtures over who else takes part, for an observer who sees the others but not whether device k takes part."""

from __future__ import annotations

from functools import partial

import numpy as np

from analytics.checks import FloatArray, IntArray
from analytics.guarantee import Adjacency
from analytics.privacy import curvature, hidden
from analytics.privacy.participation import Curvature, Curve, Participation, Values
from analytics.privacy.surface import NARROW, USUAL, Component, Triple, reach

_TOLERANCE = 3e-11  # relative, of the quadrature and of the interpolation
_VARIED = 2.0  # by how much that may vary within the slack
_DEGREES = (USUAL, 48, 96)  # of the interpolation; it must be worth while


class Unseen(Participation):
    r"""``silent`` and ``replace`` without idle noise: :math:`E_S\,D_\lambda(P_S\|Q_S)` of :mod:`analytics.privacy.hidden`.

    Of the two directions of ``silent`` the one from present to silent is never the smaller (docs, observers, theorem d), so it is
    all that one round needs; those of ``replace`` are equal. On a grid of the others' noise the curvature in v is that of a
    second difference over the slack; that twice it bounds the curvature within the slack is *stated*. Where the slack is no small
    part of v a proved bound stands in.
    """

    def _directions(self) -> list[Curve]:
        return [self._hidden]

    def order(self, reverse: bool) -> Curve:
        return partial(self._hidden, reverse=reverse)

    def _hidden(self, epsilon: FloatArray, rows: IntArray, *, reverse: bool = False) -> Values:
        component = partial(self._component, reverse=reverse)
        along = _Interpolant(component(epsilon, rows), self.tolerance, self.slack)
        at = self.interpolated(component, epsilon, rows, reverse, along)
        value, slope, up, down = self._expected(at, rows, self._bend(at, rows, reverse))
        return np.log(self.participation[rows]) + value, slope, up, down

    @property
    def tolerance(self) -> float:
        """Relative, of what is interpolated, and of the quadrature."""
        return max(_TOLERANCE, super().tolerance)

    def _component(self, epsilon: FloatArray, rows: IntArray, *, reverse: bool) -> Component:
        def component(v: FloatArray, i: IntArray) -> Triple:
            kind = rows[i, None]
            each = epsilon[i, None], self.participation[kind], self.sensitivity[kind], v, self.own_noise[kind]
            problem = (x.ravel() for x in np.broadcast_arrays(*each))
            found = hidden.log_curve(
                *problem,
                dimension=int(self.dimension[0]),  # all rows have one
                replace=self.adjacency is Adjacency.REPLACE,
                reverse=reverse,
                tolerance=self.tolerance,
            )
            value, slope, error = (x.reshape(v.shape) for x in found)
            return value, slope, error

        return component

    def _bend(self, at: Component, rows: IntArray, reverse: bool) -> Curvature:
        step = self.slack

        def bend(v: FloatArray, i: IntArray, values: FloatArray, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
            known = step < NARROW * v
            below, above = (at(np.where(known, v + shift, v), i)[0] for shift in (-step, step))
            with np.errstate(over="ignore", invalid="ignore"):
                here = np.exp(values - unit)
                second = (np.exp(below - unit) - here + (np.exp(above - unit) - here)) / (step * step)
                doubt = 8 * self.tolerance * here / (step * step)
                concave, convex = (_VARIED * np.maximum(x, 0.0) + doubt for x in (-second, second))
                if np.all(known):
                    return concave, convex
                low, d = np.maximum(v - step, self.receiver[rows[i], None]), self.sensitivity[rows[i], None]
                near = d / 2 if self.adjacency is Adjacency.REPLACE else 0.0 * d if reverse else d
                most = curvature.concavity_of_hidden(
                    near, d, low, self.own_noise[rows[i], None], float(self.dimension[0])
                )
                return np.where(known, concave, most * np.exp(-unit)), np.where(known, convex, np.inf)

        return bend


class _Interpolant:
    """A component at many values of the noise, from few: Chebyshev's polynomials in log v, where they settle.

    The logarithm of the divergence is interpolated, once, on all that may be asked: from the least positive v to the greatest and
    `margin` beyond. Of its error it is *stated* that twice the last quarter of the coefficients exceeds it; the nodes' own
    errors are multiplied by Lebesgue's constant, which is below 4.
    """

    def __init__(self, component: Component, tolerance: float, margin: float) -> None:
        self.component, self.tolerance, self.margin = component, tolerance, margin
        self.low = self.high = self.error = np.empty(0)
        self.coefficients: dict[int, tuple[FloatArray, FloatArray]] = {}
        self.degree = np.empty(0, dtype=np.int64)

    def _fit(self, v: FloatArray, i: IntArray) -> None:
        least, most = np.min(np.where(v > 0, v, np.inf), axis=1), np.max(v, axis=1)
        self.low, self.high = reach(least, most, self.margin)
        self.error, self.degree = np.zeros(i.size), np.zeros(i.size, dtype=np.int64)
        rows = np.flatnonzero((least < most) & (most < np.inf))
        for degree in _DEGREES:
            if v.shape[1] < 3 * degree or not rows.size:
                break
            angle = np.pi * (np.arange(degree) + 0.5) / degree
            low, high = np.log(self.low[rows, None]), np.log(self.high[rows, None])
            found = self.component(np.exp((low + high) / 2 + (high - low) / 2 * np.cos(angle)), i[rows])
            cosines = np.cos(np.outer(np.arange(degree), angle)) * (2 / degree)
            cosines[0] /= 2
            with np.errstate(invalid="ignore"):
                of_value, of_slope = (x @ cosines.T for x in found[:2])
                doubt = 2 * np.sum(np.abs(of_value[:, 3 * degree // 4 :]), axis=1)
                settled = doubt <= self.tolerance
                self.error[rows] = doubt + 4 * np.max(found[2], axis=1)
            self.degree[rows[settled]] = degree
            of = np.zeros((2, i.size, degree))
            of[0, rows], of[1, rows] = of_value, of_slope
            self.coefficients[degree] = (of[0], of[1])
            rows = rows[~settled]

    def __call__(self, v: FloatArray, i: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Value, slope and error; `i` must be the same in every call."""
        if not self.low.size:
            self._fit(v, i)
        out = np.empty(v.shape), np.empty(v.shape), np.empty(v.shape)
        inside = (v >= self.low[:, None] * (1 - 1e-12)) & (v <= self.high[:, None] * (1 + 1e-12))
        known = inside & (self.degree[:, None] > 0)
        for degree, coefficients in self.coefficients.items():
            rows = np.flatnonzero(self.degree == degree)
            low, high = np.log(self.low[rows, None]), np.log(self.high[rows, None])
            noise = np.where(known[rows], v[rows], self.low[rows, None])
            x = np.clip((2 * np.log(noise) - low - high) / (high - low), -1, 1)
            for target, of in zip(out, coefficients, strict=False):
                columns = np.ascontiguousarray(of[rows].T)[:, :, None]
                target[rows] = np.polynomial.chebyshev.chebval(x, columns, tensor=False)
            out[2][rows] = self.error[rows, None]
        full = np.flatnonzero(~np.any(known, axis=1))
        if full.size:
            for target, values in zip(out, self.component(v[full], i[full]), strict=True):
                target[full] = values
            known[full] = True
        row, column = np.nonzero(~known)
        if row.size:
            for target, values in zip(out, self.component(v[row, column][:, None], i[row]), strict=True):
                target[row, column] = values[:, 0]
        return out
