r"""The power function of a guarantee: the greatest probability of an event, given its probability for the neighbour.

A guarantee says :math:`P(A) \le F(P'(A))` for every event A, whenever the data of P and P' are neighbours. F is concave
and does not decrease. It is held as the least of lines :math:`F(a) = \min_i e^{s_i}a + c_i`, each of which is true, so
that every number made from it errs to the side of a greater F: a line left out, or a wrong one taken for the least,
only raises F.

*From a curve.* :math:`P(A) \le e^xP'(A) + \delta(x)` for every real x; a curve of the worse order bounds both orders,
and :math:`\delta(-x) = 1 - e^{-x} + e^{-x}\delta(x)`.

*Groups.* Where m devices change one after the other, the bound is applied m times: :math:`F\circ\dots\circ F`. A line
of a line is a line, so a composition is again the least of lines. Of a Gaussian mechanism with parameter mu it is that
with :math:`m\mu`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.privacy.accounting.privacy_curve import (
    PrivacyCurve,
    concave_hull_indices,
    gaussian,
    merge_repeated,
)
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.rounding import SMALLEST, UNIT

_STEEPEST = 700.0  # greatest logarithm of a slope: its exponential is finite
_LEFT_OUT = 1e-18  # delta up to which the lines of a curve reach
_LINES = 1024  # at most, of a composition
_GRIDS = {"gaussian": (384, 64), "one": (96, 24), "many": (40, 16)}  # epsilons of a curve: evenly spread, and towards 0
_INFORMATIONS = 32  # lines at which the steepest part of F is cut off
_SUMMED = 1e-9  # assumed relative error of the sum of a divergence: breaks, quotients of differences, err by some 1e-12
_WIDEST = 30.0  # greatest parameter of a Gaussian mechanism whose lines are drawn: their slopes stay below `_STEEPEST`


@dataclass(frozen=True, eq=False)
class PowerFunction:
    """F as the least of lines, steepest first; neither slopes nor intercepts are equal.

    Attributes
    ----------
    log_slope, intercept : ndarray
        The first falls, the second grows; the last line is the constant 1.
    mu : float, optional
        Where F is that of a Gaussian mechanism: its parameter.
    """

    log_slope: FloatArray
    intercept: FloatArray
    mu: float | None = None

    @classmethod
    def gaussian(cls, mu: float) -> PowerFunction:
        """The power function of a Gaussian mechanism."""
        if mu > _WIDEST:
            return cls(np.array([-np.inf]), np.array([1.0]), mu)
        return Guarantees.of([gaussian(mu)]).greatest()

    @classmethod
    def least(cls, log_slope: FloatArray, intercept: FloatArray, mu: float | None = None) -> PowerFunction:
        """The least of these lines, which are at least 1 at 1, and of the constant 1."""
        useful = (intercept < 1) & (log_slope <= _STEEPEST)
        log_slope, intercept = log_slope[useful], intercept[useful]
        order = np.lexsort((intercept, log_slope))
        # of equal slopes the line with the least intercept
        log_slope, first = np.unique(log_slope[order], return_index=True)
        intercept = intercept[order][first]
        log_slope, intercept = np.append(-np.inf, log_slope), np.append(1.0, intercept)
        corner = concave_hull_indices(np.exp(log_slope), -intercept)[::-1]
        return cls(log_slope[corner], intercept[corner], mu)

    @property
    def breaks(self) -> FloatArray:
        """The probabilities at which one line takes over from the next steeper one."""
        slope = np.exp(self.log_slope)
        rise = -slope[:-1] * np.expm1(np.diff(self.log_slope))
        # equal intercepts but for rounding: at 0, where the next line is as true
        return np.maximum.accumulate(np.maximum(np.diff(self.intercept) / rise, 0.0)) if slope.size > 1 else np.empty(0)

    def line_at(self, log_probability: FloatArray) -> IntArray:
        """The line that is least at each probability, up to rounding."""
        with np.errstate(divide="ignore"):
            return np.searchsorted(np.log(self.breaks), log_probability)

    def on_lines(self, line: IntArray, log_probability: FloatArray) -> FloatArray:
        """The values of these lines, rounded up; they may exceed 1, which F does not."""
        with np.errstate(under="ignore", over="ignore"):
            product = np.exp(self.log_slope[line] + log_probability)
            # the sum in the exponent errs by half a unit of at most 700 + 700
            rounding = 1 + 4 * UNIT * (1 + np.minimum(np.abs(log_probability), 2 * _STEEPEST))
            return np.asarray((self.intercept[line] + product) * rounding + SMALLEST)

    def values(self, line: IntArray, log_probability: FloatArray) -> FloatArray:
        """The values of these lines, rounded up, at most 1."""
        return np.minimum(self.on_lines(line, log_probability), 1.0)

    def __call__(self, log_probability: FloatArray) -> FloatArray:
        """F at probabilities given by their logarithms, rounded up."""
        return self.values(self.line_at(log_probability), log_probability)

    def then(self, other: PowerFunction) -> PowerFunction:
        """The power function of two changes, one after the other: that of this one is put into the other."""
        if self.mu is not None and other.mu is not None:
            return PowerFunction.gaussian((self.mu + other.mu) * (1 + UNIT))
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            # the least line of the composition changes where that of F changes, and where F passes a break of the other
            within = np.searchsorted(self(np.log(self.breaks)), other.breaks)
            inverse = (other.breaks - self.intercept[within]) * np.exp(-self.log_slope[within])
            corners = np.concatenate([self.breaks, inverse, [1.0]])
            corners = np.sort(np.log(corners[(corners > 0) & (corners <= 1)]))
            middle = np.append(corners[0] - 1, (corners[1:] + corners[:-1]) / 2)
            first = self.line_at(middle)
            second = other.line_at(np.log(self.values(first, middle)))
            # e^s2 (e^s1 a + c1) + c2
            log_start = np.log(self.intercept[first])
            lifted = np.exp(other.log_slope[second] + log_start)
        # the logarithm errs by a unit of itself, the sum by half a unit of itself
        in_exponent = np.minimum(np.abs(other.log_slope[second]), _STEEPEST) + np.minimum(np.abs(log_start), 2 * _STEEPEST)
        rounding = 1 + 4 * UNIT * (2 + in_exponent)
        log_slope = self.log_slope[first] + other.log_slope[second]
        intercept = (lifted + other.intercept[second]) * rounding + SMALLEST
        log_slope += 2 * UNIT * np.minimum(np.abs(log_slope), _STEEPEST)
        chosen = np.unique(np.linspace(0, log_slope.size - 1, _LINES).round().astype(int))
        return PowerFunction.least(log_slope[chosen], intercept[chosen])

    def repeated(self, times: int) -> PowerFunction:
        """The power function of a group of devices that change one after the other, each with this one."""
        if self.mu is not None:
            return PowerFunction.gaussian(self.mu * times * (1 + UNIT))
        if times == 1:
            return self
        half = self.repeated(times // 2)
        doubled = half.then(half)
        return doubled.then(self) if times % 2 else doubled

    def informations(self) -> tuple[FloatArray, FloatArray]:
        r"""Masses c and upper bounds K: but for an event of probability c under P, its divergence from P' is at most K.

        Notes
        -----
        The lines from one with intercept c on are a power function G above F, with G(0) = c. As in :meth:`divergence`,
        P is at least (1 - c) times the image of the law with the density :math:`g = G'/(1-c)`, P' that of the uniform
        law, and the Kullback-Leibler divergence of these images is at most
        :math:`\int g\log g = (T-c)/(1-c) - \log(1-c)` with :math:`T = \int G'\log G' - G' + 1`, whose terms are not
        negative.
        """
        first = np.unique(np.linspace(0, max(self.log_slope.size - 2, 0), _INFORMATIONS).astype(int))
        if self.log_slope.size == 1:
            lost, divergence = np.ones(1), np.zeros(1)
        else:
            edges = np.append(self.breaks, 1.0).clip(max=1.0)
            with np.errstate(invalid="ignore"):
                terms = np.where(self.log_slope > -np.inf, self.log_slope * np.exp(self.log_slope), 0.0)
            terms = np.maximum(terms - np.expm1(self.log_slope), 0.0)
            above = np.append(np.cumsum((terms[1:] * np.diff(edges))[::-1])[::-1], 0.0)  # each line's successors
            lost = self.intercept[first]
            total = (terms * edges + above)[first] * (1 + _SUMMED) + 1e-15
            divergence = np.maximum(total - lost, 0.0) / (1 - lost) - np.log1p(-lost)
        if self.mu is not None:
            with np.errstate(over="ignore"):
                whole = np.square(self.mu) / 2 * (1 + 4 * UNIT)
            lost, divergence = np.append(0.0, lost), np.append(whole, divergence)
        return lost, divergence

    def divergence(self, share: FloatArray) -> FloatArray:
        r"""An upper bound of :math:`X_q = \int\frac{(dP - dP')^2}{d(qP + (1-q)P')}` at shares q in (0, 1).

        Notes
        -----
        Every pair (P, P') with this power function is an image, under one kernel, of the pair (F'(a) da, da) on [0, 1],
        with the mass F(0) of P where P' has none (Blackwell). So :math:`X_q`, an f-divergence, is at most that of this
        pair, :math:`F(0)/q + \int_0^1(F'(a)-1)^2/(qF'(a)+1-q)\,da`, a sum over the lines. The same holds for (P', P),
        which exchanges q and 1 - q; the lesser of both is taken.
        """
        edges = np.minimum(np.concatenate([[0.0], self.breaks, [1.0]]), 1.0)
        gain, length = np.expm1(self.log_slope), np.diff(edges)

        def of_pair(q: FloatArray) -> FloatArray:
            # gain times length is at most 1, and gain / (1 + q gain) at most 1 / q: nothing overflows
            return np.asarray(self.intercept[0] / q + (gain / (1 + q[:, None] * gain)) @ (gain * length))

        return np.asarray(np.minimum(of_pair(share), of_pair(1 - share)) * (1 + _SUMMED))


@dataclass(frozen=True, eq=False)
class Guarantees:
    """Privacy curves of several kinds of devices, each evaluated once.

    Attributes
    ----------
    epsilon : ndarray, shape (N,)
    delta : ndarray, shape (kinds, N)
        Of the worse order, rounded up.
    mu : list of float or None
        The parameter of each kind whose mechanisms are Gaussian.
    """

    epsilon: FloatArray
    delta: FloatArray
    mu: list[float | None]

    @classmethod
    def of(cls, curves: Sequence[PrivacyCurve]) -> Guarantees:
        """The tables of these curves; coarser ones where values of the curves cost more."""
        mu = [_gaussian_parameter(curve) for curve in curves]
        if None not in mu and max(filter(None, mu), default=0.0) > _WIDEST:
            return cls(np.zeros(1), np.ones((len(mu), 1)), mu)
        top = max(_reach(curve) for curve in curves)
        even, small = _GRIDS["gaussian" if None not in mu else "one" if len(curves) == 1 else "many"]
        eps = np.unique(np.append(np.linspace(0, top, even), top * np.geomspace(1e-3, 1, small)))
        return cls(eps, np.array([curve.delta(eps) for curve in curves]), mu)

    def greatest(self, kinds: IntArray | None = None) -> PowerFunction:
        """The greatest power function of some kinds, by default of all."""
        chosen = range(len(self.mu)) if kinds is None else kinds.tolist()
        parameters = [self.mu[kind] for kind in chosen]
        mu = None if None in parameters else max(filter(None, parameters), default=0.0)
        if mu is not None and len(self.mu) > 1:
            return PowerFunction.gaussian(mu)
        delta, eps = np.minimum(np.max(self.delta[list(chosen)], axis=0), 1.0), self.epsilon
        # 1 - e^-x (1 - delta), which never cancels: both terms are positive
        reflected = (-np.expm1(-eps) + np.exp(-eps) * delta) * (1 + 8 * UNIT)
        return PowerFunction.least(np.append(eps, -eps), np.append(delta, reflected), mu)

    @property
    def loss(self) -> FloatArray:
        """What each kind loses: the greatest advantage of an attacker, or its parameter where all are Gaussian."""
        return self.delta[:, 0] if None in self.mu else np.array(self.mu, dtype=float)


def _gaussian_parameter(curve: PrivacyCurve) -> float | None:
    """Of a curve of Gaussian mechanisms alone, the parameter of all of them together, rounded up; else None."""
    releases = merge_repeated(curve.factors)
    together = [math.sqrt(count) * each.mu * (1 + each.slack) for each, count in releases if isinstance(each, Gaussian)]
    return math.hypot(*together) * (1 + 8 * UNIT) if len(together) == len(releases) else None


def _reach(curve: PrivacyCurve) -> float:
    """The epsilon beyond which the lines of a curve are left out."""
    return min(float(curve.epsilon(curve.delta(np.inf) + _LEFT_OUT)), _STEEPEST)
