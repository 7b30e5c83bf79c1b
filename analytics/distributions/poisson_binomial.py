r"""The Poisson-binomial law: the number of K devices that take part, device k with probability p_k.

Every probability that is a normal double, however small, has a relative error of about K * 2.2e-16, because the
computation adds only positive products (direct convolution of blocks without their zeros). Where the variance is at
least 15 000, Fourier inversion of tilted laws (:mod:`airtight.analytics.distributions.poisson_binomial`) is used; its
relative error is at most 2e-11 for every K.

Law of the number of participants among very many unequal devices: Fourier inversion at saddle points.

The relative error is small in the far tails too. A tilt :math:`e^{\theta n}` moves the bulk of the law of the count.
With some dozens of tilts, every n is near the middle of one tilted law. There no other probability is much greater than
that of n, and so no error is much greater either. The cumulant generating function uses the devices only through power
sums: with :math:`d_k = 2 p_k - 1` and :math:`t = \tanh(s/2)`

.. math::
    K(s) = \sum_k \log(1 - p_k + p_k e^s) = s \sum_k p_k + \sum_{l \ge 2} (-1)^l \frac{a_l}{l} t^l, \qquad
    a_l = a_{l-2} + \sum_k (1 - d_k^2) d_k^{l-2}, \quad a_0 = a_1 = 0.

Why the error is at most 2e-11
------------------------------
Let V be the variance, at least 15 000; q the tilted probability of a device; :math:`m = K'(\theta)` and :math:`\sigma^2
= K''(\theta) = \sum q (1 - q)` the tilted mean and variance; :math:`\varphi` the tilted characteristic function; and u
= 2.2e-16.

* *The series.* :math:`1 - p + p e^s = e^{s/2} \cosh(s/2) (1 + d t)` and :math:`\cosh(s/2)^{-2} = 1 - t^2`. Expand the
  logarithms in t, where :math:`s/2 = \operatorname{artanh} t` and :math:`1 - d^{2j} = (1 - d^2)(1 + d^2 + \dots +
  d^{2j-2})`. As :math:`\sum_k (1 - d_k^2) = 4V`, :math:`|a_l| \le 2lV`; as :math:`|t| \le \tan(|s|/2)`, the omitted
  terms are below :math:`2^{-56}`.
* *The tilts.* :math:`p(1-p) e^{-|\theta|} \le q(1-q) \le p(1-p) e^{|\theta|}`, so the exponent of Chernoff's bound is
  :math:`\theta m - K(\theta) = \int_0^\theta x K''(x) dx \ge V (1 - (1 + |\theta|) e^{-|\theta|})`. For the steepest
  tilts the right side is 750, so beyond their means all probabilities underflow. Every n in between is computed with
  the tilt whose mean is nearest. Neighbouring tilts differ by at most 2 divided by the greatest standard deviation, so
  :math:`|n - m| \le 1.03\,\sigma`, and :math:`\sigma \ge 100`.
* *Nothing near n is much greater.* :math:`|K''(\theta + iy)| \le \sigma^2 / \cos^2(y/2)`, which for :math:`|y| \le
  \pi/2` also bounds the third derivative (it has one more factor, :math:`|1 - 2q| \le 1`). So for :math:`|\omega| \le
  1/2`, :math:`\varphi` about m differs from the normal characteristic function by at most :math:`.18\,\sigma^2
  |\omega|^3 e^{-.41 \sigma^2 \omega^2}`, and the tilted probability of n differs from the normal density by less than
  :math:`.17 / \sigma^2`; so it is at least :math:`.23 / \sigma`. By :math:`|\varphi(\omega)| \le \exp(-\sigma^2 (1 -
  \cos \omega))` the absolute values of the terms that are summed for it add up to at most :math:`.40 / \sigma`. Hence
  relative errors of the terms are amplified by at most 1.74.
* *Truncation.* Frequencies with :math:`\sigma^2 (1 - \cos \omega) \ge 50` are left out, and by Bernstein's inequality a
  mass of less than :math:`2 e^{-50}` is aliased from n plus multiples of the period. For :math:`\sigma < 10^5`, both
  are below u times the value.
* *Rounding.* The error of a power sum is :math:`(25 + l) u \cdot 4V` (NumPy adds pairwise), and that of :math:`a_l` is
  :math:`(25 + .75\,l) u \cdot 2lV`. With Horner's rule, and an assumed error of four units for tanh, the error of K is
  :math:`2Vu \sum_{l \ge 2} (26 + 6.4\,l) |t|^l`. It is greatest for the least V and the steepest tilt: :math:`4.6 \cdot
  10^4 u`. The number that is subtracted from all exponents of a tilt is also a factor of the result, so its error
  cancels. Tilts have 24 bits, so their products with integers are exact. With the factor 1.74, the exponentials and the
  last sum, the error is less than :math:`9 \cdot 10^4 u`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike
from scipy import special

from airtight.analytics.checks import FloatArray, IntArray, ParameterError, real
from airtight.analytics.rounding import UNIT

LEAST_VARIANCE = 15_000.0  # from which the error bound 2e-11 is proved
_VANISHED = 750.0  # -log of a probability below the least positive double
_NEGLIGIBLE = 50.0  # -log of the mass that a tilted law may lose by truncation or gain by aliasing
_CACHED = 1 << 15  # devices whose powers are summed at a time: few enough for the processor's cache


def law(p: FloatArray) -> FloatArray:
    """Probabilities of 0, ..., K participants if the variance, the sum of p (1 - p), is at least `LEAST_VARIANCE`.

    Parameters
    ----------
    p : ndarray, shape (K,)
        Probabilities.

    Returns
    -------
    ndarray, shape (K + 1,)
        Normal doubles have a relative error of at most 2e-11; smaller values have the least normal double as an
        absolute error.

    Examples
    --------
    >>> float(law(np.linspace(0.2, 0.8, 100_001))[:46_000].sum())
    1.0418214556...e-160
    """
    variance = float(np.sum(p * (1 - p)))
    steepest = float(-1 - special.lambertw((_VANISHED / variance - 1) / np.e, -1).real)
    narrowest, widest = np.sqrt(variance * np.exp([-steepest, steepest]))
    steps = int(np.ceil(steepest * widest))
    tilt = np.linspace(-steepest, steepest, steps + 1).astype(np.float32).astype(np.float64)
    reach = int(1.1 * widest)
    period = reach + int(_NEGLIGIBLE / 3 + np.sqrt(_NEGLIGIBLE**2 / 9 + 2 * _NEGLIGIBLE * widest**2)) + 2
    highest = np.arccos(1 - _NEGLIGIBLE / narrowest**2)
    frequency = 2 * np.pi / period * np.arange(int(highest * period / (2 * np.pi)) + 2)

    whole_part, fraction = _mean(p)
    series = _series(p, variance, float(np.hypot(steepest, frequency[-1])))
    t = np.tanh(tilt / 2)
    cumulant = polynomial.polyval(t, series)
    # tilted means, rounded, less whole_part; so are the counts below
    centre = np.rint(fraction + (1 - t * t) / 2 * polynomial.polyval(t, polynomial.polyder(series)))
    complex_cumulant = polynomial.polyval(np.tanh((tilt[:, None] + 1j * frequency) / 2), series)
    spectrum = np.exp(complex_cumulant - cumulant[:, None] + 1j * frequency * (fraction - centre)[:, None]) / period
    spectrum[:, 1:] *= 2
    offset = np.arange(-reach, reach + 1)
    tilted = (spectrum @ np.exp(-1j * np.outer(frequency, offset))).real

    shifted_count = centre[:, None] + offset
    with np.errstate(under="ignore"):
        weights = np.exp((cumulant + tilt * fraction)[:, None] - tilt[:, None] * shifted_count) * tilted
    between = (centre[1:] + centre[:-1]) // 2
    first, end = np.append(centre[0], between), np.append(between, centre[-1])
    nearest = (shifted_count >= first[:, None]) & (shifted_count < end[:, None])
    out = np.zeros(p.size + 1)
    out[whole_part + shifted_count[nearest].astype(np.int64)] = weights[nearest]
    return out


def _mean(p: FloatArray) -> tuple[int, float]:
    """The sum of p as an integer and a fraction of at most one half; multiples of a power of two are added exactly."""
    unit = 2.0 ** (52 - p.size.bit_length())
    coarse = np.rint(p * unit) / unit
    total = float(np.sum(coarse))
    whole_part = round(total)
    return whole_part, total - whole_part + float(np.sum(p - coarse))


def _series(p: FloatArray, variance: float, radius: float) -> FloatArray:
    """Coefficients of K(s) - s K'(0) in t, up to the last one that matters for abs(s) <= radius."""
    last = int(np.ceil(np.log(2 * variance * 2.0**56) / -np.log(np.tan(radius / 2))))
    starts = range(0, p.size, _CACHED)
    sums = np.empty((last - 1, len(starts)))
    for block, start in enumerate(starts):
        chunk = p[start : start + _CACHED]
        weight, skew = 4 * chunk * (1 - chunk), 2 * chunk - 1
        for power in range(last - 1):
            sums[power, block] = np.sum(weight)
            weight *= skew
    a = np.concatenate([[0.0, 0.0], np.sum(sums, axis=1)])
    for parity in (0, 1):
        a[parity::2] = np.cumsum(a[parity::2])
    order = np.arange(2, last + 1)
    a[2:] *= (-1.0) ** order / order
    return a


_WIDTH = 64  # trials per block; the laws of all blocks are computed together


class Block:
    """Consecutive probabilities ``weights`` of the integers from ``start`` on; all other probabilities are zero."""

    __slots__ = ("start", "weights")

    def __init__(self, start: int, weights: FloatArray) -> None:
        inside = np.flatnonzero(weights)
        first, last = (inside[0], inside[-1]) if inside.size else (0, 0)
        self.start = start + int(first)
        self.weights = weights[first : last + 1]

    def __add__(self, other: Block) -> Block:
        """The law of the sum of two independent counts."""
        with np.errstate(under="ignore"):
            return Block(self.start + other.start, np.convolve(self.weights, other.weights))

    def plus(self, laws: FloatArray) -> FloatArray:
        """Probabilities, from `start` on, of the sums with independent counts, one law of 0, 1, ... per row."""
        width = laws.shape[1]
        padded = np.pad(self.weights, width - 1)
        with np.errstate(under="ignore"):
            return np.asarray(laws[:, ::-1] @ np.lib.stride_tricks.sliding_window_view(padded, width).T)

    def dense(self, length: int) -> FloatArray:
        """The probabilities of 0, ..., length - 1."""
        out = np.zeros(length)
        out[self.start : self.start + self.weights.size] = self.weights
        return out


def binomial(trials: int, probability: float, *, negligible: float = 0.0) -> Block:
    """The binomial law, by ratios of neighbouring probabilities from the mode outward; relative error about
    sqrt(trials) * 2e-15.

    Parameters
    ----------
    trials : int
    probability : float
    negligible : float
        Mass that may be left out at either end; the remaining probabilities are normalised.
    """
    if trials == 0 or probability == 0.0:
        return Block(0, np.ones(1))
    if probability == 1.0:
        return Block(trials, np.ones(1))
    mode = min(int((trials + 1) * probability), trials)
    first, last = 0, trials
    if negligible > 0:
        level = -np.log(negligible)  # Bernstein's inequality about the mean, which differs from the mode by at most 1
        reach = int(level / 3 + np.sqrt(level * level / 9 + 2 * level * trials * probability * (1 - probability))) + 2
        first, last = max(mode - reach, 0), min(mode + reach, trials)
    upward, below = np.arange(mode, last, dtype=float), np.arange(first, mode, dtype=float)[::-1]
    with np.errstate(under="ignore", over="ignore", divide="ignore"):
        odds = probability / (1 - probability)
        up = np.cumprod((trials - upward) / (upward + 1) * odds)
        down = np.cumprod((below + 1) / (trials - below) / odds)[::-1]
    weights = np.concatenate([down, [1.0], up])
    return Block(first, weights / np.sum(weights))


def total(blocks: list[Block]) -> Block:
    """The law of the sum of independent counts; the counts are added pairwise."""
    if not blocks:
        return Block(0, np.ones(1))
    while len(blocks) > 1:
        paired = [a + b for a, b in zip(blocks[::2], blocks[1::2], strict=False)]
        blocks = paired + blocks[2 * len(paired) :]
    return blocks[0]


def relative_error(trials: int, classes: int) -> float:
    """Upper bound of the relative error of any probability from `total` or `leave_one_out`, for these numbers of trials
    and classes.

    A binomial law has six roundings per step from the mode, and as many again for the norm. A sum of n positive
    products errs by at most n + 1 half units, and one level of a tree sums no more products than it has entries. A trial
    that is added alone costs three half units, fewer than its share of the levels that it replaces.
    """
    entries = trials + 2 * classes
    return float(UNIT * entries * (9 + np.ceil(np.log2(max(classes, 1)))))


def leave_one_out(probability: FloatArray, multiplicity: IntArray) -> Iterator[tuple[int, Block]]:
    """For each class of equal devices, the law of the count of all other devices when one device of the class is left
    out.

    A product tree is walked downwards; each node carries the law of everything outside it. Where a node has few trials, one
    matrix product adds the law outside it to the laws of the node without each of its devices. This needs only sums of
    positive products, O(C^2 log C) multiplications for C classes, and O(log C) laws in memory at a time.
    """

    def walk(classes: IntArray, outside: Block) -> Iterator[tuple[int, Block]]:
        trials = np.repeat(classes, multiplicity[classes])
        if classes.size == 1:
            c = int(classes[0])
            yield c, outside + binomial(int(multiplicity[c]) - 1, float(probability[c]))
        elif trials.size <= _WIDTH:
            # a row per class, in which the first trial of the class never succeeds
            left_out = np.repeat(probability[trials][None, :], classes.size, axis=0)
            left_out[np.arange(classes.size), np.searchsorted(trials, classes)] = 0.0
            for c, weights in zip(classes, outside.plus(_products(left_out)), strict=True):
                yield int(c), Block(outside.start, weights)
        else:
            left, right = classes[: classes.size // 2], classes[classes.size // 2 :]
            for inner, outer in ((left, right), (right, left)):
                yield from walk(inner, outside + _of_classes(probability[outer], multiplicity[outer]))

    yield from walk(np.arange(probability.size), Block(0, np.ones(1)))


def pmf(p: ArrayLike) -> FloatArray:
    r"""Probabilities of 0, ..., K participants.

    .. math:: \Pr\Bigl(\sum_k \tau_k = n\Bigr), \qquad \tau_k \sim \mathrm{Bern}(p_k) \text{ independent.}

    Parameters
    ----------
    p : array_like, shape (..., K)
        Probabilities; leading axes are independent problems.

    Returns
    -------
    ndarray, shape (..., K + 1)
        Every entry has a relative error of about K * 2.2e-16, or of at most 2e-11 where the variance is 15 000 or more.
        Entries below the least normal double have this double as an absolute error instead.

    Raises
    ------
    ParameterError
        If `p` has no axis, or an entry is not in [0, 1].

    Examples
    --------
    >>> pmf([0.5, 0.5])
    array([0.25, 0.5 , 0.25])
    >>> float(pmf([0.9] * 12)[0])
    9.99999...e-13
    """
    array = real("p", p, "[0, 1]")
    if array.ndim == 0:
        raise ParameterError("p", array.item(), "an array of at least one axis")
    rows = array.reshape(int(np.prod(array.shape[:-1])), array.shape[-1])
    return np.stack([_pmf(row) for row in rows]).reshape(*array.shape[:-1], array.shape[-1] + 1)


def _pmf(p: FloatArray) -> FloatArray:
    if p.size >= 4 * LEAST_VARIANCE and np.sum(p * (1 - p)) >= LEAST_VARIANCE:
        return law(p)
    return _by_products(p)


def _by_products(p: FloatArray) -> FloatArray:
    return _of_classes(*np.unique(p, return_counts=True)).dense(p.size + 1)


def _of_classes(probability: FloatArray, multiplicity: IntArray) -> Block:
    """The law of the count of all devices of some classes."""
    single = multiplicity == 1
    alone = probability[single]
    # 64 trials a row; the last row is filled up with trials that never succeed
    padded = np.concatenate([alone, np.zeros(-alone.size % _WIDTH)]).reshape(-1, _WIDTH)
    blocks = [Block(0, row) for row in _products(padded)]
    blocks += [
        binomial(int(m), float(q)) for q, m in zip(probability[~single], multiplicity[~single], strict=True)
    ]
    return total(blocks)


def _products(trials: FloatArray) -> FloatArray:
    """Laws of the counts of the trials of each row."""
    count, width = trials.shape
    rows = np.zeros((width + 1, count))
    rows[0] = 1.0
    with np.errstate(under="ignore"):
        for i, q in enumerate(trials.T):
            rows[1 : i + 2] = rows[1 : i + 2] * (1 - q) + rows[: i + 1] * q
            rows[0] *= 1 - q
    return np.ascontiguousarray(rows.T)


def cdf(p: ArrayLike) -> FloatArray:
    """Probabilities of at most 0, ..., K participants.

    Examples
    --------
    >>> cdf([0.5, 0.5])
    array([0.25, 0.75, 1.  ])
    """
    return np.asarray(np.minimum(np.cumsum(pmf(p), axis=-1), 1.0))


def sf(p: ArrayLike) -> FloatArray:
    """Probabilities of more than 0, ..., K participants, with the relative accuracy of `pmf` in the upper tail.

    Examples
    --------
    >>> sf([0.5, 0.5])
    array([0.75, 0.25, 0.  ])
    """
    upper = np.cumsum(pmf(p)[..., ::-1], axis=-1)[..., ::-1]
    return np.concatenate([np.minimum(upper[..., 1:], 1.0), np.zeros_like(upper[..., :1])], axis=-1)


def quantile(p: ArrayLike, level: ArrayLike) -> IntArray:
    """Least n with Pr(at most n participants) >= level.

    Parameters
    ----------
    p : array_like, shape (K,)
    level : array_like
        In [0, 1].

    Examples
    --------
    >>> int(quantile([0.9] * 12, 1e-5))
    5
    """
    levels = real("level", level, "[0, 1]")
    law = cdf(p)
    if law.ndim != 1:
        raise ParameterError("p", f"array of shape {law.shape}", "one axis of probabilities")
    return np.asarray(np.minimum(np.searchsorted(law, levels), law.size - 1))[()]
