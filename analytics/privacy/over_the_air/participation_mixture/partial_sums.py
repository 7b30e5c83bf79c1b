r"""The noise of many unlike devices on few values, without a grid: Gauss rules of partial sums.

Devices are added one after the other, those of little noise first. Where the sum u of their noises and the receiver's has too
many values, Gauss rules on narrow pieces of log u take its place (:mod:`.gauss_rule`), and the next devices are added to their
nodes. The number of values does not grow with the number of devices, and each device costs as much as the one before.

Notes
-----
*Proved.* Let U be a partial sum, U' the law of its rules, and R the noise of the devices that follow, which is independent of
both. The mean of the divergence D errs by the sum of :math:`E\,D(U+R) - E\,D(U'+R)` over all partial sums that are replaced.

Let R = b. In the ellipse about a piece of log u let the argument of u be :math:`\theta` at most, and :math:`\log|u|` between l
and h. As :math:`b \ge 0`, the argument of u + b is :math:`\theta` at most, and

.. math:: \log(e^l+b) + \log\cos\tfrac\theta2 \le \log|u+b| \le \log(e^h+b),

since two complex numbers with arguments at most :math:`\theta` apart have a sum of at least :math:`\cos(\theta/2)` times the sum
of their moduli. As :math:`\log(e^x+b)` rises less than x, :math:`\log(u+b)` lies in a box that goes beyond the places of the
piece by no more than for b = 0, and the box in a wider ellipse, about one of some bands of log v. A box of half width x and half
height :math:`\theta` lies in the ellipse of semi-axes A and B where :math:`(x/A)^2 + (\theta/B)^2 \le 1`.

With M and :math:`\kappa` the bounds of D about this band, D(u + b) differs on the piece by :math:`\kappa` at most from a function
of log u that is analytic, and at most M, in the ellipse of the piece. So the error of the rule is that of :mod:`.gauss_rule`, in
which G is at most :math:`M + \kappa`. The law of R is rounded down to a grid, so that :math:`\log(u+b)` may lie in a band above
that of the rounded sum. To this end M and :math:`\kappa` of a band are replaced by the greatest of those of this band and of all
above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.distributions import poisson_binomial
from airtight.analytics.privacy.over_the_air.participation_mixture import complex_noise, gauss_rule
from airtight.analytics.privacy.over_the_air.participation_mixture.complex_noise import Smooth
from airtight.analytics.rounding import NORMAL, SMALLEST

_MOST_VALUES, _MOST = 1 << 14, 1 << 18  # of a partial sum, before rules take the place of its law, and after a summand
# in units of the half width of the pieces for which rules are proved: that of a band, the greatest argument in its ellipse, and
# for the pieces of partial sums both
_BAND, _OPENING, _NARROW = 0.78, 0.44, 0.22
_CELLS = 1024  # of the law of the noise that follows
_WORTH = 1 / 8  # half widths of a band by which its pieces may differ, at least
_WIDER = 1e-9  # for roundings
_SLIGHTER = 3.0  # nats by which the weight of bands is below an error that does not matter, where they are not looked at

Summand = tuple[FloatArray, FloatArray]  # values of an independent noise and their probabilities


@dataclass(frozen=True)
class Replaced:
    """What the rules of partial sums may miss: a weight of the bound M, and of the doubt, of each band of log v.

    Attributes
    ----------
    low, high : ndarray, shape (bands,)
        Increasing.
    of_bound, of_doubt : ndarray, shape (bands,)
    opening : float
        Greatest argument in the ellipse of a band.
    """

    low: FloatArray
    high: FloatArray
    of_bound: FloatArray
    of_doubt: FloatArray
    opening: float

    def log_remainder(self, smooth: Smooth, log_slight: FloatArray) -> FloatArray:
        """Log of the proved error of the mean of each problem; infinite where none is known.

        `smooth` has ellipses of this opening, and `log_slight` is the logarithm of an error that does not matter.
        """
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            # the doubt of a band may count for all bands below
            log_weight = np.log(np.cumsum(self.of_doubt))
            # D is at most 1, and the weight of a doubt at least twice the probability
            least = np.min(log_slight, initial=np.inf, where=np.isfinite(log_slight))
            first = int(np.searchsorted(log_weight, least - _SLIGHTER))
            slight = log_slight[:, None] - log_weight[first:]
            low, high = (np.broadcast_to(each[first:], slight.shape) for each in (self.low, self.high))
            known = smooth.on_pieces(low, high, np.zeros(log_slight.size), slight)
            bound, doubt = (
                np.maximum.accumulate(each[:, ::-1], axis=1)[:, ::-1] for each in (known.log_largest, known.log_doubt)
            )
            errors = np.logaddexp(np.log(self.of_bound[first:]) + bound, np.log(self.of_doubt[first:]) + doubt)
            below = np.full((log_slight.size, 1), log_weight[first - 1] if first else -np.inf)
        return np.asarray(np.logaddexp.reduce(np.hstack([errors, below]), axis=1))


def law(
    p: FloatArray, noise: FloatArray, multiplicity: IntArray, receiver: float, half: float
) -> tuple[FloatArray, FloatArray, Replaced, float] | None:
    """Values of the noise at the receiver, their probabilities, what these miss, and the probability that underflows.

    None where bands would be too narrow, or many devices alike have too many values.

    Parameters
    ----------
    p, noise : ndarray, shape (classes,)
        Probability of taking part, and received noise, of a device of each class.
    multiplicity : ndarray of int, shape (classes,)
        Numbers of devices.
    receiver : float
    half : float
        Half the width in log v of the pieces on which rules are proved.

    Examples
    --------
    >>> noise = np.linspace(0.1, 0.2, 40)
    >>> values, weights, replaced, missing = law(np.full(40, 0.5), noise, np.ones(40, dtype=int), 0.1, 0.45)
    >>> values.size < 10_000, round(float(values @ weights), 12), replaced.low.size
    (True, 3.1, 9)
    """
    order = np.argsort(noise)
    summands = []
    for x, count, probability in zip(noise[order], multiplicity[order], p[order], strict=True):
        block = poisson_binomial.binomial(int(count), float(probability))
        if x * (block.start + block.weights.size - 1) > 0:
            summands.append((x * (block.start + np.arange(block.weights.size)), block.weights))
    values, weights, missing = np.array([receiver]), np.ones(1), 0.0
    rules: list[tuple[int, gauss_rule.Rules]] = []
    for place, (more, their_weights) in enumerate(summands):
        if values.size * more.size > _MOST_VALUES and values.size > 1:
            values, weights, rule = _ruled(values, weights, 2 * _NARROW * half)
            rules.append((place, rule))
        if values.size * more.size > _MOST:
            return None
        values, weights = (values[:, None] + more).ravel(), (weights[:, None] * their_weights).ravel()
        missing += SMALLEST * weights.size if np.min(weights) < NORMAL else 0.0
    replaced = _replaced(rules, _following(summands, [place for place, _ in rules]), half)
    return None if replaced is None else (*_increasing(values, weights), replaced, missing)


def _increasing(values: FloatArray, weights: FloatArray) -> Summand:
    """The different values and their probabilities."""
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    first = np.flatnonzero(np.append(True, np.diff(values) > 0))
    with np.errstate(under="ignore"):
        return values[first], np.add.reduceat(weights, first)


def _ruled(values: FloatArray, weights: FloatArray, width: float) -> tuple[FloatArray, FloatArray, gauss_rule.Rules]:
    """The rules of a law on pieces no wider than this in log v, without the nodes of no weight."""
    values, weights = (each[None] for each in _increasing(values, weights))
    pieces = gauss_rule.pieces_of_width(values[:, 1:], weights[:, 1:], width)
    nodes, shares, rules = gauss_rule.rules_of(values, weights, pieces)
    used = shares[0] > 0
    return nodes[0, used], shares[0, used], rules


def _following(summands: list[Summand], places: list[int]) -> dict[int, Summand]:
    """The law of the sum of the summands from each of these places on, with each summand rounded down to a grid.

    The last value is the greatest sum without rounding, of no probability.
    """
    step = sum(float(more[-1]) for more, _ in summands) / _CELLS
    mass, greatest, laws = np.zeros(_CELLS + 1), 0.0, {}
    mass[0] = 1.0
    for place in range(len(summands) - 1, min(places, default=len(summands)) - 1, -1):
        more, weights = summands[place]
        rounded, total = (more / step * (1 - _WIDER)).astype(int), np.zeros(_CELLS + 1)
        for cell, weight in zip(rounded, weights, strict=True):
            total[cell:] += weight * mass[: mass.size - cell]
        mass, greatest = total, greatest + float(more[-1])
        if place in places:
            used = np.flatnonzero(mass)
            laws[place] = np.append(step * used, greatest), np.append(mass[used], 0.0)
    return laws


def _replaced(rules: list[tuple[int, gauss_rule.Rules]], following: dict[int, Summand], half: float) -> Replaced | None:
    """The bands of log v with the weights that the rules have in each; None where they would be too narrow."""
    argument, opening, half = _NARROW * half, _OPENING * half, _BAND * half
    # half the width of a box of half height `argument` in the ellipse of a band
    reach = float(np.hypot(half, opening) * np.sqrt(1 - (argument / opening) ** 2))
    starts, of_bound, of_doubt = ([np.zeros(0)] for _ in range(3))
    width, longer = 0.0, 0.0  # of a piece, and by how much its box is longer at either end, at most
    for place, each in rules:
        used = each.mass[0] > 0
        low, high, mass, deviation = (x[0, used] for x in (each.low, each.high, each.mass, each.deviation))
        half_width = (high - low) / 2 * (1 + _WIDER) + _WIDER
        rho = complex_noise.opened(half_width, argument)
        beyond = half_width * ((rho + 1 / rho) / 2 - 1) - np.log(np.cos(argument / 2))
        width = max(width, 2 * float(np.max(half_width, initial=0.0)))
        longer = max(longer, float(np.max(beyond, initial=0.0)))
        noise, share = following[place]
        starts.append(np.log(np.exp(low)[:, None] + noise).ravel())
        of_bound.append((((np.exp(gauss_rule.log_missed(rho)) + 32 * deviation) * mass)[:, None] * share).ravel())
        of_doubt.append((((2 + 96 * deviation) * mass)[:, None] * share).ravel())
    # a band holds the pieces that start between `before` below its middle and `step` above this place
    before = min(half, reach - longer)
    step = before + min(half - width, reach - longer - width) - _WIDER
    if not step > _WORTH * half:
        return None
    start = np.concatenate(starts)
    lowest = float(np.min(start, initial=np.inf))
    band = ((start - lowest) / step).astype(int)
    bands = int(np.max(band, initial=-1)) + 1
    weights = [np.bincount(band, np.concatenate(each), bands) * (1 + _WIDER) for each in (of_bound, of_doubt)]
    middle = lowest + before + step * np.arange(bands)
    low, high, bound_weight, doubt_weight = (np.asarray(x, dtype=float) for x in (middle - half, middle + half, *weights))
    return Replaced(low, high, bound_weight, doubt_weight, opening)
