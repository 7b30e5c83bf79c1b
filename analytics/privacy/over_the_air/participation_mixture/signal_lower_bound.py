r"""Lower bounds of delta: rectangles for a server that sees y alone, half-spaces for one that also sees the others.

Both take a set A of outputs and bound :math:`P(A) - \lambda Q(A)`, which is at most delta for any A. So a poor choice
of A, a coarse grid or a wrong root only lower the bound.

Rectangles: :class:`SignalTest`
-------------------------------
Any codes of the others are a valid data set. Here they point away from the code x of device k, in proportion to their
noise: :math:`-\theta s_jx/|x|`, :math:`0 \le \theta \le \min_j d_j/s_j` (:func:`steepest`). So the more others send, the further
y moves to the other side: it shows a part of S. Their sum along the axis is :math:`m_S = -\theta(v_S - N)`, a function of
their noise, so that S counts by :math:`v_S` alone. With :math:`\theta = 0` the law of y is a mixture of concentric
Gaussians. With :math:`F_x = \sum_S\pi_S N(x + m_S, v_S+s)`, :math:`H = \sum_S\pi_S N(m_S, v_S)`, the supremum

.. math:: \sup_A \int_A c_1F_x - c_2F_{x'} - c_3H

is each direction of the divergence, where :math:`(c_1, c_2, c_3)` is, for ``silent`` and ``replace``, :math:`(p,\
\lambda p,\ (\lambda-1)(1-p))`, and for ``absent`` :math:`(p,\ 0,\ \lambda-1+p)`. In the reverse direction of
``absent``, the integrand is :math:`(1-\lambda(1-p))H - \lambda pF_x`.

1. The axis through x and x' gets a grid, the norm across the axis is cut into cells.
2. For each cell of the norm, A contains the intervals of the axis on which the integrand is positive at the middle of
   the cell. They are found on the grid, and their ends are interpolated. So A is a union of rectangles.
3. The probability of a rectangle is a product of differences of a normal and a gamma distribution function: no
   quadrature is needed, and the sums over S are exact.
4. The number of cells is doubled while the bound rises.

*Errors.* The parts of the optimal set outside the window, between missed roots or beside the rectangles are lost; this
loss is of second order in the width of the cells and on the safe side. The rounding error of the sum is bounded
relative to the magnitudes of its terms, and subtracted, and so are what underflows and the effect of rounded variances and means.
Mass of the law of S that was left out or moved costs at most
:math:`2(1 + \lambda)` times its amount.

:meth:`SignalTest.outcomes` gives the probabilities of such cells themselves. To observe only the cell is post-processing,
so the pair of their laws may be composed over rounds as a lower bound.

Half-spaces: :func:`delta_at_least`
-----------------------------------
One threshold test along the code bounds delta from below for a system and for all systems with less noise. Given the
other participants, let v be the variance of the noise without device k, s the variance that its own noise adds,
:math:`\lambda = e^\epsilon`, and A the event :math:`\langle y, e\rangle > \tau`, with e the direction of its code. With
n > f the coordinates of the two neighbours' codes along e, the difference :math:`P(A) - \lambda Q(A)` of the neighbours
is

.. math:: \text{absent:}\quad p\,\Phi\bigl(\tfrac{n-\tau}{\sqrt{v+s}}\bigr)
              - (\lambda - 1 + p)\,\Phi\bigl(\tfrac{-\tau}{\sqrt v}\bigr), \qquad n = d,

.. math:: \text{hidden:}\quad p\,\Phi\bigl(\tfrac{n-\tau}{\sqrt{v+s}}\bigr)
              - p\lambda\,\Phi\bigl(\tfrac{f-\tau}{\sqrt{v+s}}\bigr)
              - (1-p)(\lambda-1)\,\Phi\bigl(\tfrac{-\tau}{\sqrt v}\bigr),

:math:`n, f = d, 0` for ``silent`` and :math:`d/2, -d/2` for ``replace``. For :math:`0 < \tau \le n`, every term falls
when v or s rises. For :math:`\tau > n`, the first term rises with the noise, so it is at least its value at the
receiver's noise alone. So, if v and s are no lower than the true ones, and the first term for :math:`\tau > n` is taken
at the receiver's noise, the difference is a lower bound of delta for any choice of :math:`\tau` for each set of others.
The code takes the best of a few thresholds for each set, so the mean bounds delta for an observer who sees that set.

*Errors.* Gains are rounded down and losses up, each by a bound of its relative rounding error. Twice the missing mass
is subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import special

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.mechanisms.discrete_pair import Discrete, discrete
from airtight.analytics.privacy.over_the_air.participation_mixture.evaluate import NoiseMixture
from airtight.analytics.root_search import falling_root
from airtight.analytics.rounding import UNIT

_FINENESS, _CELLS = 8, 3200  # cells of the norm across: per standard deviation of the least noise; at most at first
_DOUBLINGS, _TOLERANCE = 3, 2e-3  # doublings of the cells, at most; relative rise of the bound that stops them
_GAMMA = 1e-12  # bound of the relative rounding error of the distribution function of the norm across
_AXIAL = 241  # points of the axis about each centre
_ROUNDING = 1e-11  # bound of the rounding error, relative to the sum of the magnitudes of all terms
_LOST = 1e-309  # absolute error of a probability that underflows: SciPy's tails vanish below 1e-310
_SHARES = 1.0, 0.5, 0.25, 0.125, 0.0  # of the greatest theta that are tried
_APART, _CENTRES = 6.0, (2, 64)  # deviations between places about which the axis has points, for the others' codes; their number
_SPARSE = 41  # points about each of many of them
_SCALES, _RADIAL = 12, 20  # for the norm across: scales, and ends of cells in each of the two tails
_LOSSES = 500  # ranges of privacy losses
_RAREST = 1e-280  # least probability of an outcome whose loss is computed
LOSS_ERROR = 1e-9  # absolute error, by rounding, of the privacy loss of one outcome
_NEAR, _COARSE = 1e-6, 1e-4  # relative length of the interval of epsilon at which the search ends; on the first cells
_CLOSE = 0.05  # log of a factor of delta: about what more cells gain
BEYOND_CELLS = 1e-6  # share of delta that may lie outside the fine cells
_MOST_REACHED = 0.75  # share of the greatest distance of two laws at which they are compared, at most
_ATOMS = 512  # greatest number of values of the others' noise


@dataclass(frozen=True)
class SignalTest:
    """One device among others whose noise has the variances `v` with probabilities `weights`.

    Attributes
    ----------
    v, weights : ndarray, shape (A,)
    missing : float
        Probability that was left out or moved.
    p, d, s : float
        Participation probability of the device, distance of the means, own noise variance.
    dimension : int
    adjacency : Adjacency
    variance_error : float
        Bound of the relative error of the variances.
    slope : float
        Minus theta: how the others' codes along the axis change with their noise.
    """

    v: FloatArray
    weights: FloatArray
    missing: float
    p: float
    d: float
    s: float
    dimension: int
    adjacency: Adjacency
    variance_error: float = 0.0
    slope: float = 0.0
    # by level, number of cells and whether the device's noise is added: what does not depend on epsilon
    _across_of: dict[tuple[float, int, bool], tuple[FloatArray, FloatArray, FloatArray]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def of(cls, part: NoiseMixture, row: int) -> SignalTest | None:
        """The mixture of one row of a participation whose law is exact and has few values; None for other rows."""
        weights, v = part.weights[row], part.variance[row]
        inside = weights > 0
        # a law on a grid is none of the true laws, and without noise there is no density
        if part.slack or np.sum(inside) > _ATOMS or np.any(v[inside] == 0):
            return None
        return cls(
            v[inside],
            weights[inside],
            float(part.missing[row]),
            float(part.participation[row]),
            # rounded up elsewhere, for upper bounds: undone here
            float(part.sensitivity[row]) * (1 - 1e-14),
            float(part.own_noise[row]),
            int(part.dimension[row]),
            part.adjacency,
            # sums of noises three times (their rounding, and what was taken off for it), and single operations
            float(3 * part.rounding[row] + part.lost / np.min(v[inside]) + 64 * UNIT),
        )

    def tilted(self, steepest: float) -> list[SignalTest]:
        """The same device among others with codes, of lengths in proportion to their noise up to `steepest`."""
        shares = _SHARES if steepest > 0 else (0.0,)
        return [replace(self, slope=-share * steepest) for share in shares]

    @cached_property
    def means(self) -> FloatArray:
        """The sum of the others' codes along the axis, at each value of their noise, less that at the first value."""
        return np.asarray(self.slope * (self.v - self.v[0]))

    @property
    def _offsets(self) -> list[float]:
        """Places of the law of the others' codes about which the axis has points."""
        if not self.slope:
            return [0.0]
        low, high = float(np.min(self.means)), float(np.max(self.means))
        wanted = (high - low) / (_APART * float(np.sqrt(np.min(self.v)))) + 1
        return list(np.linspace(low, high, int(np.clip(wanted, *_CENTRES))))

    def delta(self, eps: float, level: float, doublings: int = _DOUBLINGS) -> float:
        """A lower bound of delta(eps), for any `level`; tight if `level` is near the least delta of interest.

        The cells are halved at most `doublings` times.
        """
        gained, missed = self._parts(eps, level, doublings)
        return max(gained - missed, 0.0)

    def _parts(self, eps: float, level: float, doublings: int) -> tuple[float, float]:
        """The bound without the missing mass, and what this takes off."""
        # exp(epsilon) overflows from 709 on
        if self.p == 0 or self.d + self.s == 0 or not eps < 700:
            return 0.0, 0.0
        lam, p = float(np.exp(eps)), self.p
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            if self.adjacency is not Adjacency.ABSENT:
                near, far = (self.d / 2, -self.d / 2) if self.adjacency is Adjacency.REPLACE else (self.d, 0.0)
                bound = self._best(
                    [(p, near, True)], [(lam * p, far, True), ((lam - 1) * (1 - p), 0.0, False)], level, doublings
                )
            else:
                # `absent`, the order of the neighbour with the device against the one without it
                bound = self._best([(p, self.d, True)], [(lam - 1 + p, 0.0, False)], level, doublings)
                # the other order; it vanishes where 1 - lambda (1 - p) <= 0
                remaining = 1 - lam * (1 - p)
                if remaining > 0:
                    bound = max(
                        bound, self._best([(remaining, 0.0, False)], [(lam * p, self.d, True)], level, doublings)
                    )
        # P and Q err by twice the missing mass at most, Q times lambda
        return bound, (1 + lam) * 2 * self.missing

    def outcomes(self, level: float, coarse: int = 1) -> tuple[FloatArray, FloatArray]:
        """Two laws on finitely many outcomes: the observer learns only the cell of y, and of the cell only a range of
        losses.

        Cells partition the plane of the axis and the norm across it; their probabilities are sums of products over the
        sets S. Both steps are post-processing, for any cells; `level`, a small probability, determines how far the
        cells reach, and their number in either direction is divided by `coarse`.
        """
        # deviations beyond which a normal law has less mass than `level`, with three to spare
        reach = np.sqrt(-2 * np.log(level)) + 3
        narrowest, widest = float(np.sqrt(np.min(self.v))), float(np.sqrt(np.max(self.v) + self.s))
        half = self.d / 2 if self.adjacency is Adjacency.REPLACE else 0.0
        # the outermost cells reach to infinity, so that the cells are a partition
        centres = [mean + offset for mean in (self.d - half, -half) for offset in self._offsets]
        axis = np.concatenate([[-np.inf], self._axis(reach, narrowest, widest, centres, coarse), [np.inf]])
        squares = self._squares(level, coarse)

        def law(mean: float, adds_own: bool) -> FloatArray:
            v = self.v + (self.s if adds_own else 0.0)
            along = _between(axis[:-1, None], axis[1:, None], mean + self.means, np.sqrt(v))
            a = (self.dimension - 1) / 2
            with np.errstate(over="ignore"):
                # given v, the squared norm across over 2v is a gamma variable of shape (r - 1) / 2, independent of the
                # axis
                halves = squares / (2 * v[:, None])
            across = np.array([gamma_cells(a, each) for each in halves]) if a else np.ones((v.size, 1))
            return np.maximum((along * self.weights) @ across, 0.0).ravel()

        absent, present = law(0.0, False), law(self.d - half, True)
        # under P and Q the device sends with probability p
        with_device = self.p * present + (1 - self.p) * absent
        if self.adjacency is Adjacency.ABSENT:
            return merged(with_device, absent)
        return merged(with_device, self.p * law(-half, True) + (1 - self.p) * absent)

    def released(self, delta: float, unit: str = "", coarse: int = 1) -> Discrete:
        """The two laws of :meth:`outcomes` as a mechanism, with cells for this delta."""
        p, q = self.outcomes(BEYOND_CELLS * delta, coarse)
        return discrete(p / np.sum(p), q / np.sum(q), unit, self.loss_error)

    def _squares(self, level: float, coarse: int) -> FloatArray:
        """Ends of the cells of the squared norm across the axis."""
        if self.dimension == 1:
            return np.array([0.0, np.inf])
        a = (self.dimension - 1) / 2
        # quantiles of all variances: cells fine enough for each of the concentric shells
        scales = np.quantile(np.concatenate([self.v, self.v + self.s]), np.linspace(0, 1, _SCALES // coarse))
        radial = _RADIAL // coarse
        # ends at geometric probabilities in both tails of the gamma law and at equal ones between
        tails = np.geomspace(level, 0.02, radial)
        ends = [special.gammaincinv(a, tails), special.gammainccinv(a, tails)]
        ends.append(special.gammaincinv(a, np.linspace(0.03, 0.97, 2 * radial)))
        inner = np.unique(np.outer(2 * scales, np.concatenate(ends)))
        return np.concatenate([[0.0], inner, [np.inf]])

    def _best(self, plus: list[_Term], minus: list[_Term], level: float, doublings: int) -> float:
        """Lower bound of the integral of the positive part of the sum of `plus` minus the sum of `minus`."""
        reach = np.sqrt(-2 * np.log(level)) + 3
        low, high = float(np.min(self.v)), float(np.max(self.v)) + self.s
        centres = [mean + offset for _, mean, _ in plus + minus for offset in self._offsets]
        axis = self._axis(reach, np.sqrt(low), np.sqrt(high), centres)
        # densities on the axis do not depend on the cells across: computed once
        kernels = [self._kernel(axis, mean, adds_own) for _, mean, adds_own in plus + minus]
        noise_cases = {adds_own for _, _, adds_own in plus + minus}  # with and without the noise of the device

        def integral(ends: FloatArray) -> float:
            # positive and negative part of the integrand at the middle of each cell, on the whole axis
            above, below = np.zeros((2, max(ends.size - 1, 1), axis.size))
            across = {adds_own: self._cells_across(ends, level, adds_own) for adds_own in noise_cases}
            for number, ((c, _, adds_own), kernel) in enumerate(zip(plus + minus, kernels, strict=True)):
                target = above if number < len(plus) else below
                # sum over S as a matrix product: (cells, S) times (S, axis)
                target += np.exp(np.log(c) + np.log(self.weights) + across[adds_own][0]) @ kernel
            left, right = _positive(axis, above, below)
            # exact probabilities of the rectangles, each term with a bound of its rounding error
            value = rounding = 0.0
            for number, (c, mean, adds_own) in enumerate(plus + minus):
                v = self.v + (self.s if adds_own else 0.0)
                along = c * self.weights * _between(left, right, mean + self.means, np.sqrt(v))
                _, inside, error = across[adds_own]
                mass = float(np.sum(along * inside))
                value += mass if number < len(plus) else -mass
                rounding += _ROUNDING * mass + float(np.sum(along * error))
                if c > 0:
                    # a cell errs by _LOST times its other factor, and both factors sum to at most one over their own ends
                    rounding += c * (_LOST * sum(left.shape) + self._moved(mass / c))
            return value - rounding

        if self.dimension == 1:
            return integral(np.zeros(0))
        a = (self.dimension - 1) / 2
        # window of the norm across: the least noise at the low end, the greatest at the high end
        start, end = np.sqrt(low * special.gammaincinv(a, level)), np.sqrt(high * special.gammainccinv(a, level))
        # widths in units of the deviation of the least noise
        cells = int(min(np.ceil(_FINENESS * (end - start) / np.sqrt(low)) + 2, _CELLS))
        best_value = integral(np.linspace(start, end, cells + 1))
        for _ in range(doublings):
            cells *= 2
            # every set of cells is valid, so the greatest value counts; it stops where halving gains nothing
            previous, best_value = best_value, max(best_value, integral(np.linspace(start, end, cells + 1)))
            if best_value - previous <= _TOLERANCE * best_value:
                break
        return best_value

    def _moved(self, probability: float) -> float:
        r"""Bound of the change of the probability of a set when variances change by `variance_error`, and means with them.

        Notes
        -----
        With :math:`w\,\partial_wq = q\,(\chi - r)/2` and :math:`\int_Aq\chi \le m(r + 2\sqrt{r\ell} + 2\ell)`,
        :math:`\ell = 1 - \log m`, m the probability of A
        (:func:`airtight.analytics.privacy.over_the_air.participation_mixture.evaluate.log_ends`), the change is at most
        :math:`\tau m(r + \sqrt{r\ell} + \ell)` to first order in the relative change :math:`\tau`; twice this is
        returned. The bound is concave in m, so it holds for mixtures.

        A mean that moves by h deviations changes the probability by at most h times :math:`\int_A|z|q \le m(\sqrt{2\ell} + 1)`:
        the part of :math:`|z|` beyond :math:`T = \sqrt{2\log(1/m)}` is at most :math:`2\varphi(T) \le m`. Each mean is the slope
        times a difference of two variances, and rounded.
        """
        r, level = self.dimension, 1 - np.log(max(probability, _LOST))
        of_variances = self.variance_error * (r + np.sqrt(r * level) + level)
        of_means = self._mean_error * (np.sqrt(2 * level) + 1)
        return float(2 * probability * (of_variances + of_means))

    @cached_property
    def _mean_error(self) -> float:
        """Bound of the error of a mean, in standard deviations."""
        if not self.slope:
            return 0.0
        of_noise = -self.slope * (self.v + self.v[0]) * (self.variance_error + 4 * UNIT)
        return float(np.max((of_noise + 2 * UNIT * (self.d + np.abs(self.means))) / np.sqrt(self.v)))

    @property
    def loss_error(self) -> float:
        """Absolute error of the loss of one outcome: by rounding, and by that of the variances, under P and under Q."""
        return LOSS_ERROR + 2 * self._moved(_RAREST) / _RAREST

    def _cells_across(self, ends: FloatArray, level: float, adds_own: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log density in the middle of each cell of u, its probability and the rounding error of that."""
        key = level, ends.size, adds_own
        if key not in self._across_of:
            # one search for epsilon asks for many epsilons at one level, and only the cells of that level are kept
            if any(cached_key[0] != level for cached_key in self._across_of):
                self._across_of.clear()  # a search for epsilon has one level
            middle = (ends[1:] + ends[:-1]) / 2 if self.dimension > 1 else np.ones(1)
            cells = self._cells(ends, self.v + (self.s if adds_own else 0.0))
            self._across_of[key] = (self._across(middle, adds_own), *cells)
        return self._across_of[key]

    def _cells(self, ends: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of the cells of u, one row per cell and one column per variance, and their rounding errors."""
        if self.dimension == 1:
            return np.ones((1, v.size)), np.zeros((1, v.size))
        a, t = (self.dimension - 1) / 2, ends[:, None] ** 2 / v
        # Both tails: a difference of two numbers near 1 would cancel. The error is relative to the tail that was used.
        lower, upper = special.gammainc(a, t), special.gammaincc(a, t)
        use_lower_tail = t[1:] < a  # whether the lower tail is the smaller one; its differences cancel less
        inside = np.where(use_lower_tail, np.diff(lower, axis=0), -np.diff(upper, axis=0))
        return np.maximum(inside, 0.0), _GAMMA * np.where(use_lower_tail, lower[1:], upper[:-1])

    @staticmethod
    def _axis(reach: float, narrowest: float, widest: float, means: list[float], coarse: int = 1) -> FloatArray:
        # points about each mean, spaced like sinh: dense near it, sparse far out
        end = np.arcsinh(4 * (reach * widest + max(map(abs, means))) / narrowest)
        points = max(min(_AXIAL, 3 * _AXIAL // len(means)), _SPARSE) // coarse
        steps = narrowest / 4 * np.sinh(np.linspace(-end, end, points))
        return np.unique(np.concatenate([mean + steps for mean in set(means)]))

    def _kernel(self, axis: FloatArray, mean: float, adds_own: bool) -> FloatArray:
        """Densities on the axis, one row per value of the others' noise."""
        v = (self.v + (self.s if adds_own else 0.0))[:, None]
        return np.asarray(np.exp(-((axis - mean - self.means[:, None]) ** 2) / (2 * v)) / np.sqrt(2 * np.pi * v))

    def _across(self, u: FloatArray, adds_own: bool) -> FloatArray:
        """log density of u, the norm across divided by sqrt 2, under each value of the noise; one row per node."""
        a = (self.dimension - 1) / 2
        if a == 0:
            return np.zeros((u.size, self.v.size))
        v = self.v + (self.s if adds_own else 0.0)
        return log_norm_density(u[:, None] / np.sqrt(v), a) - np.log(v) / 2


def steepest(system: InferenceSystem | HomogeneousSystems, device: int) -> float:
    """The greatest theta: the least ratio of code and noise of another device that sends at random, in normalised units.

    It is rounded down, and 0 where there is none: the code of a device that always sends is known. `device` is that of a
    system, or a system among several.
    """
    scaled = system.normalised()
    code, noise = scaled.alignment * scaled.weight * scaled.clip, scaled.received_noise_variance
    if isinstance(scaled, HomogeneousSystems):
        others = np.array([device])[scaled.devices[device : device + 1] > 1]
    else:
        others = np.flatnonzero(np.arange(scaled.devices) != device)
    random = (scaled.participation[others] > 0) & (scaled.participation[others] < 1)
    noisy = others[(noise[others] > 0) & random]
    with np.errstate(over="ignore"):
        ratio = float(np.min(code[noisy] / noise[noisy], initial=np.inf))
    return ratio * (1 - 8 * UNIT) if np.isfinite(ratio) else 0.0


def merged(p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The two laws after merging outcomes of nearly equal loss.

    All outcomes that are too rare for their loss to be computed are merged into one.
    """
    regular = (p > _RAREST) & (q > _RAREST)
    if not np.any(regular):
        return np.array([np.sum(p)]), np.array([np.sum(q)])
    # loss of each outcome; those too rare to be divided all go to group 0
    losses = np.log(p[regular]) - np.log(q[regular])
    # ranges of equal weight, where sqrt(pq) weighs what matters at moderate epsilon, mixed with ranges of equal length
    weight = np.sqrt(p[regular] * q[regular]) + 1e-3 * (p[regular] + q[regular])
    order = np.argsort(losses)
    rank = np.cumsum(weight[order]) / np.sum(weight)
    position = (losses[order] - losses[order[0]]) / max(float(losses[order[-1]] - losses[order[0]]), 1e-300)
    groups = np.zeros(p.size, dtype=np.int64)
    groups[np.flatnonzero(regular)[order]] = 1 + np.unique(np.floor((rank + position) * _LOSSES), return_inverse=True)[1]
    return np.asarray(np.bincount(groups, p), dtype=float), np.asarray(np.bincount(groups, q), dtype=float)


_Term = tuple[float, float, bool]  # a factor, a mean, whether the device's own noise is added


def _positive(axis: FloatArray, above: FloatArray, below: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends of the intervals on which above > below, one row per node; empty intervals are (0, 0)."""
    inside = above > below
    # places where `inside` changes, a row's alternately begin and end an interval; the padding closes those at the axis' ends
    row, place = np.nonzero(np.diff(np.pad(inside, ((0, 0), (1, 1))), axis=1))
    first_of_row = np.searchsorted(row, np.arange(above.shape[0]))
    order, ends_interval = np.divmod(np.arange(row.size) - first_of_row[row], 2)
    before, after = np.maximum(place - 1, 0), np.minimum(place, axis.size - 1)
    # the root by linear interpolation of the log ratio between the two grid points; any place between them is valid
    a, b = (np.log(above[row, at]) - np.log(below[row, at]) for at in (before, after))
    share = np.where(np.isfinite(a) & np.isfinite(b) & (a != b), a / (a - b), 0.5)
    x = axis[before] + np.clip(share, 0.0, 1.0) * (axis[after] - axis[before])
    # an interval that reaches the end of the grid goes on to infinity
    x = np.where(place == 0, -np.inf, np.where(place == axis.size, np.inf, x))
    left, right = np.zeros((2, above.shape[0], int(np.max(order, initial=-1)) + 1))
    for side, target in ((0, left), (1, right)):
        of_side = ends_interval == side
        target[row[of_side], order[of_side]] = x[of_side]
    return left, right


def _between(left: FloatArray, right: FloatArray, mean: FloatArray, sigma: FloatArray) -> FloatArray:
    """Probability of the intervals of each row under normal laws, one column per mean and sigma."""
    out = np.zeros((left.shape[0], sigma.size))
    for start, end in zip(left.T, right.T, strict=True):
        a, b = (start[:, None] - mean) / sigma, (end[:, None] - mean) / sigma
        # of the two tails, the smaller one is used, which avoids cancellation
        positive = special.ndtr(-a) - special.ndtr(-b)
        negative = special.ndtr(b) - special.ndtr(a)
        out += np.where(a > 0, positive, np.where(b < 0, negative, 1 - special.ndtr(a) - special.ndtr(-b)))
    return out


def best_delta(tests: Sequence[SignalTest], eps: float, level: float) -> float:
    """The greatest lower bound of delta(eps) of some tests; see :meth:`SignalTest.delta`."""
    coarse = [test.delta(eps, level, 0) for test in tests]
    best = int(np.argmax(coarse))
    return max(coarse[best], tests[best].delta(eps, level))


def least_epsilon(tests: Sequence[SignalTest], delta: float, epsilon_upper: float) -> float:
    """The greatest epsilon found below `epsilon_upper` at which a lower bound still exceeds `delta`; 0 if there is none."""

    def excess(test: SignalTest, eps: float, doublings: int) -> float:
        gained, missed = test._parts(eps, 1e-4 * delta, doublings)
        return float(np.log(gained / (delta + missed))) if gained > 0 else -np.inf

    def greatest(test: SignalTest, low: float, doublings: int, start: float, near: float) -> float:
        # nothing is excluded if not even the left end exceeds delta
        at_low = excess(test, low, doublings)
        if not at_low > 0:
            return low
        start = min(start, epsilon_upper * (1 - near / 10))
        return falling_root(
            lambda x: excess(test, x, doublings), low, at_low, epsilon_upper, start, lambda high: near * high
        )[0]

    # first with few cells, each test from where the best of those before it ends
    best, first = 0.0, tests[0]
    for test in tests:
        reached = greatest(test, best, 0, best * (1 + _COARSE) or epsilon_upper, _COARSE)
        best, first = max((best, first), (reached, test), key=lambda each: each[0])
    # then with all cells, which only raise the bound: the best one, and those that few cells leave close to it
    close = [test for test in tests if test is not first and (best == 0 or excess(test, best, 0) > -_CLOSE)]
    for test in (first, *close):
        best = max(best, greatest(test, best, _DOUBLINGS, best * (1 + _COARSE), _NEAR))
    return best


def most_telling(tests: Sequence[SignalTest], delta: float, coarse: int) -> SignalTest:
    """The test whose two laws on coarse cells have the greatest epsilon at this delta, or at a lesser one that some reach."""
    if len(tests) == 1:
        return tests[0]
    curves = [PrivacyCurve.of(test.released(delta, coarse=coarse)) for test in tests]
    # delta may be an upper bound, which these curves do not reach at any epsilon
    reached = min(delta, _MOST_REACHED * max(float(curve.delta(0.0)) for curve in curves))
    return tests[int(np.argmax([curve.epsilon(reached) for curve in curves]))]


def gamma_cells(a: float, t: FloatArray) -> FloatArray:
    """Probabilities of a gamma variable between neighbouring values."""
    lower, upper = special.gammainc(a, t), special.gammaincc(a, t)
    return np.asarray(np.where(t[1:] < a, np.diff(lower), -np.diff(upper)))


def log_norm_density(u: FloatArray, a: float) -> FloatArray:
    """log density of u, the square root of a gamma variable of shape a; no cancellation for large a.

    Examples
    --------
    >>> float(np.exp(log_norm_density(np.array([1.0]), 0.5))[0])  # 2 exp(-1) / sqrt(pi)
    0.41510...
    """
    if a > 30:  # Stirling's series; its next term is below 1e-16
        square = a * a
        # log Gamma(a) minus its main term (a - 1/2) log a - a + log(2 pi) / 2
        stirling = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / a
    else:
        # for small a the difference does not cancel
        stirling = float(special.gammaln(a)) - ((a - 0.5) * np.log(a) - a + 0.5 * np.log(2 * np.pi))
    # 2 u^(2a-1) exp(-u^2) / Gamma(a): its large terms are collected in a (t/a - 1 - log(t/a)) >= 0 with t = u^2
    return np.asarray(0.5 * np.log(2 * a / np.pi) - a * _deviance(u * u, a) - stirling - np.log(u))


def _deviance(t: FloatArray, a: float) -> FloatArray:
    """t/a - 1 - log(t/a), without cancellation where t is near a."""
    apart = (t - a) / a
    near = np.abs(apart) < 0.5
    return np.asarray(apart - np.where(near, np.log1p(np.where(near, apart, 0.0)), np.log(np.where(near, 1.0, t / a))))


_PLACES = np.arange(1, 49) / 48  # thresholds, in units of n
_ABOUT = np.geomspace(0.7, 1.6, 24)  # thresholds, in units of the optimal one at the receiver's noise alone
_TEST_ROUNDING = 1e-12  # bound of the rounding error, relative to the magnitudes of the terms


def delta_at_least(part: NoiseMixture, epsilon: float, row: int = 0) -> float:
    """The lower bound for kind `row` of a mixture; its device is ``absent`` in the neighbour, or its participation is
    hidden.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> from airtight.analytics.privacy.over_the_air import observers
    >>> from airtight.analytics.privacy.over_the_air.participation_mixture import build
    >>> system = InferenceSystem(devices=4, participation=0.9, noise_variance=0.01, weight=1.0, clip=4.0, alignment=1.0,
    ...     receiver_noise_variance=1.0, dimension=1, delta=1e-5, delta_prime=1e-5)
    >>> (part,) = build.participations(system, np.array([0]), 0.0)
    >>> low, high = delta_at_least(part, 2.0), float(observers.exact_delta(system, 2.0, device=0))
    >>> bool(0.99 < low / high < 1)
    True
    """
    # noise up, signal down
    part = part.unrounded()
    p, d = float(part.participation[row]), float(part.sensitivity[row])
    # on a grid the noise is raised by the slack: the true noise is never above that
    v, own_variance = (part.variance[row] + part.slack)[:, None], part.own_noise[row] * (1 + _TEST_ROUNDING)
    near = d / 2 if part.adjacency is Adjacency.REPLACE else d
    receiver = float(part.receiver[row])
    if not (p > 0 and near > 0 and receiver > 0):
        return 0.0
    # the best threshold for the receiver's noise alone: mean of both places plus epsilon' v / distance
    receiver_optimum = near / 2 + subsampling.unamplified(epsilon, p) * receiver / near
    thresholds = np.concatenate([near * _PLACES, receiver_optimum * _ABOUT])
    with np.errstate(all="ignore"):
        # beyond n the gain rises with the noise, so the receiver's noise alone gives the least value
        gain = p * special.ndtr((near - thresholds) / np.sqrt(np.where(thresholds <= near, v + own_variance, receiver)))
        # tails in logarithms: exp(epsilon) times a tail may be of order 1 although the tail underflows
        log_common_tail = special.log_ndtr(-thresholds / np.sqrt(v))
        # an exponent of this size errs by a few units of itself
        relative_error = _TEST_ROUNDING + 8 * UNIT * (epsilon - log_common_tail)
        if part.adjacency is Adjacency.ABSENT:
            # lambda - 1 + p = exp(epsilon) (1 - (1 - p) exp(-epsilon)), without overflow
            loss = np.exp(epsilon + np.log1p((p - 1) * np.exp(-epsilon)) + log_common_tail)
        else:
            log_far_tail = special.log_ndtr((near - d - thresholds) / np.sqrt(v + own_variance))
            loss = p * np.exp(epsilon + log_far_tail) + (1 - p) * np.exp(
                epsilon + np.log1p(-np.exp(-epsilon)) + log_common_tail
            )
        # 0 times infinity is NaN and counts as 0, which the threshold at infinity attains
        difference = np.nan_to_num(gain * (1 - _TEST_ROUNDING) - loss * (1 + relative_error))
        # each set of others has its own best threshold, as the observer may know S: delta for `others`
        mean_difference = np.sum(part.weights[row] * np.max(difference, axis=1, initial=0.0))
    rounding = part.error + (8 + v.size) * UNIT
    return float(max(mean_difference * (1 - rounding) - 2 * p * part.missing[row], 0.0))
