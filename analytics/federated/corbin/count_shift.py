r"""Dominating pairs with few outcomes for the number S of heads among independent coins against S + 1.

S is the number of heads among `first` coins with probability h = expit(eps) and `rest` coins with probability
l = 1 - h, and B is its law. The ratio B(s - 1)/B(s) rises with s (sums of coins are log-concave). Outcomes may
therefore be gathered in runs, with the masses of a run under both laws split between the ratios at its two ends: the
hockey-stick curve is replaced by its chords, which lie above it.

Notes
-----
*Contour quadrature for long windows* (standard deviation above 25). With G(z) the moment generating function of S and
:math:`z = \theta+iu`,

.. math:: \sum_s B(s)\,w(s-k) = \frac1n\sum_{j=-n/2}^{n/2} e^{-zk}\,G(z)\,W(z)\Big|_{u=2\pi j/n} - \text{aliases},
          \qquad W(z) = \sum_q w(q)\,e^{-zq},

for the three sums that are needed at an edge k: B(k - 1) - B(k), the mass of a run of length d, and the difference of
the masses of the run under both laws. The function W is :math:`e^z-1`, :math:`(1-e^{-zd})/(1-e^{-z})` and
:math:`e^z(1-e^{-zd})`, respectively. The tilt :math:`\theta` is chosen by Newton's method such that the tilted mean is
near k; the formula holds for any tilt.

Let :math:`\sigma\ge12` be the tilted standard deviation. The number n of nodes is at least :math:`12\sigma + 2d`: an
alias is tilted probability more than :math:`11.9\sigma` from the mean, below :math:`e^{-53}` by Bernstein's
inequality. A coin of tilted probability p has :math:`|1-p+pe^{iu}|^2 = 1-2p(1-p)(1-\cos u)`, so the modulus of the
tilted G is at most :math:`e^{-\sigma^2(1-\cos u)}`; at the omitted nodes, beyond :math:`u = 9.5/\sigma`, it is at most
:math:`e^{-42.7}`, and at most :math:`e^{-45}` if :math:`\sigma \ge 200`. Relative to the peak :math:`1/(2.6\sigma)`,
aliases and omitted nodes are below :math:`10^{-15}` for up to ten million coins (:math:`\sigma\le1582`). Masses and
the excesses of ratios over one are computed with a relative error, so the error of a loss is proportional to the loss.
The exponent is :math:`K(\theta)-\theta K'(\theta) = -\int_0^\theta sK''(s)\,ds`, :math:`|\theta|\le2`. Gauss's rule
with 24 nodes evaluates the integral without cancellation. The poles of K'' have the distance :math:`\pi` from the real
line, so its error is below :math:`10^{-20}`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.distributions.poisson_binomial import Block, binomial
from airtight.analytics.rounding import UNIT

LONG = 25.0  # standard deviation of the count from which outcomes are gathered in runs
_LEAST_DEVIATION, _GREATEST_TILT = 12.0, 2.0  # hypotheses of the error bounds of the quadrature, see the Notes
_RUN = 16  # runs in one standard deviation
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)  # for the exponent, see the Notes


@dataclass(frozen=True)
class Shift:
    """Masses of outcomes under S + 1 and S, the relative error of both, and the error of the log of their ratio."""

    above: FloatArray
    base: FloatArray
    error: float
    loss_error: float

    def mirrored(self) -> Shift:
        """The shift with `first` and `rest` exchanged."""
        return replace(self, above=self.base[::-1], base=self.above[::-1])


def relative_error(coins: int, low: float, high: float, negligible: float) -> float:
    """Relative error of the probabilities of :func:`count_law`."""
    level = -float(np.log(max(negligible, 1e-320)))
    return float(8 * (10 + level + np.sqrt(2 * level * coins * low * high)) * UNIT)


def dominating(first: int, rest: int, low: float, high: float, *, negligible: float) -> Shift:
    """Dominating pair of S + 1 and S, outcomes by rising ratio; the laws may lack the mass `negligible` at either end.

    Parameters
    ----------
    first, rest : int
        Numbers of coins with probability `high` and with probability `low`.
    low, high : float
        In (0, 1), with sum one.
    negligible : float
        In (0, 1).

    Examples
    --------
    >>> few = dominating(1, 1, 0.25, 0.75, negligible=1e-9)
    >>> few.above.round(4).tolist(), few.base.round(4).tolist()
    ([0.0, 0.1875, 0.625, 0.1875], [0.1875, 0.625, 0.1875, 0.0])
    >>> many = dominating(5000, 5000, 0.25, 0.75, negligible=1e-9)
    >>> distance = np.maximum(many.above - many.base, 0).sum()
    >>> many.base.size < 500, round(float(distance * np.sqrt(2 * np.pi * 10_000 * 3 / 16)), 3)
    (True, 1.0)
    """
    if np.sqrt((first + rest) * low * high) > LONG:
        gathered = _gathered(first, rest, low, high, negligible)
        if gathered:
            return gathered
    law = count_law(first, rest, low, high, negligible=negligible)
    error = relative_error(first + rest, low, high, negligible)
    return Shift(np.append(0.0, law), np.append(law, 0.0), error, 2 * error)


def count_law(first: int, rest: int, low: float, high: float, *, negligible: float) -> FloatArray:
    """Probabilities of consecutive values of S, which may lack `negligible` at either end."""
    return count_block(first, rest, low, high, negligible=negligible).weights


def count_block(first: int, rest: int, low: float, high: float, *, negligible: float) -> Block:
    """These probabilities with the value of the first."""
    return _coins(first, high, negligible / 2) + _coins(rest, low, negligible / 2)


@lru_cache(maxsize=1 << 12)
def _coins(number: int, probability: float, negligible: float) -> Block:
    """The binomial law; neighbouring counts share most of theirs."""
    return binomial(number, probability, negligible=negligible)


def _gathered(first: int, rest: int, low: float, high: float, negligible: float) -> Shift | None:
    """The dominating pair with outcomes gathered in runs; None if the window is too near to the ends of the count."""
    mean, variance = first * high + rest * low, (first + rest) * low * high
    neg_log_mass = 0.7 - np.log(negligible)
    # Bernstein's inequality
    reach = neg_log_mass / 3 + np.sqrt(neg_log_mass * neg_log_mass / 9 + 2 * neg_log_mass * variance)
    run = max(int(np.sqrt(variance) / _RUN), 1)
    runs_per_side = int(reach / run) + 2
    edges = int(mean) + run * np.arange(-runs_per_side, runs_per_side + 1)
    edges = edges[(edges >= 1) & (edges <= first + rest)]
    coins = np.array([[first, high], [rest, low]])
    saddle = _saddle(edges.astype(float), coins)
    # the exponent is Chernoff's bound of the tail beyond an edge
    likely = np.flatnonzero(saddle[1] > np.log(negligible) - 2)
    kept = slice(max(int(likely[0]) - 1, 0), int(likely[-1]) + 2)
    edges, (tilt, exponent, centre, deviation) = edges[kept], (values[kept] for values in saddle)
    if np.min(deviation) < _LEAST_DEVIATION or np.max(np.abs(tilt)) > _GREATEST_TILT:
        return None
    n = np.ceil(12 * deviation) + 2 * run
    half = int(np.max(9.5 / deviation * n / (2 * np.pi))) + 1
    u = 2 * np.pi * np.arange(half + 1) / n[:, None]
    turn = np.expm1(1j * u)
    # log of G(z) exp(-z k) relative to its value at u = 0, with the mean split off: no cancellation for small u
    log_kernel = exponent[:, None] + 1j * u * (centre - edges)[:, None]
    for count, q in coins:
        p = _tilted(q, tilt)[:, None]
        log_kernel += count * (np.log1p(p * turn) - 1j * p * u)
    kernel = np.exp(log_kernel) / n[:, None]
    kernel[:, 1:] *= 2  # the nodes -u give the complex conjugates
    z = tilt[:, None] + 1j * u
    shift, run_factor = np.expm1(z), np.expm1(-run * z)
    with np.errstate(invalid="ignore", divide="ignore"):
        # sum over a run: W = (1 - exp(-z d))/(1 - exp(-z)), with its limit d at z = 0
        run_sum = np.where(z == 0, float(run), -run_factor * (1 + shift) / shift)
    mass = np.sum((kernel * run_sum).real, axis=1)[:-1]
    change = -np.sum((kernel * (1 + shift) * run_factor).real, axis=1)[:-1]
    at_edge = np.sum(kernel.real, axis=1)
    excess = np.sum((kernel * shift).real, axis=1) / at_edge  # excess of the ratio over one
    left, right = excess[:-1], excess[1:]
    upper = np.clip((change - left * mass) / (right - left), 0.0, mass)  # mass that goes to the right edge
    q = np.append(mass - upper, 0.0) + np.append(0.0, upper)
    error = float((64 + 4 * neg_log_mass) * (1 + np.sqrt(variance) / 16) * UNIT)
    return Shift(q * (1 + excess), q, error, 2 * error * float(np.max(np.abs(np.log1p(excess)))) + 4 * UNIT)


def _tilted(probability: float, tilt: FloatArray) -> FloatArray:
    odds = probability * np.exp(tilt)
    return np.asarray(odds / (1 - probability + odds))


def _saddle(k: FloatArray, coins: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Tilts with means near k, log of G(tilt) exp(-tilt k), and the tilted means and standard deviations."""
    tilt = np.zeros(k.size)
    for _ in range(6):
        p = [_tilted(q, tilt) for _, q in coins]
        mean = sum(count * v for (count, _), v in zip(coins, p, strict=True))
        variance = sum(count * v * (1 - v) for (count, _), v in zip(coins, p, strict=True))
        tilt = tilt + np.clip((k - mean) / variance, -0.5, 0.5)
    p = [_tilted(q, tilt) for _, q in coins]
    mean = sum(count * v for (count, _), v in zip(coins, p, strict=True))
    variance = sum(count * v * (1 - v) for (count, _), v in zip(coins, p, strict=True))
    s = tilt[:, None] * (1 + _NODES) / 2
    curvature = sum(count * (v := _tilted(q, s)) * (1 - v) for count, q in coins)
    exponent = -(s * curvature) @ _WEIGHTS * tilt / 2 + tilt * (mean - k)
    return tilt, exponent, np.asarray(mean), np.sqrt(variance)
