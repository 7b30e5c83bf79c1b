r"""Lower bounds of delta on boxes of systems of equal devices: a test whether epsilon can be kept.

On a box, the participation of the device itself is at least `own`, that of the other devices is at most `others`, and
the noise variance of a device at the receiver is between `quiet` and `loud`.

Steps, in order
---------------
1. *Corner* (:meth:`DeltaTest.components`): the system of the box with the least delta, as a mixture over the number of
   other participants.
2. *One round* (:meth:`DeltaTest.delta`): the mean of the divergences at the corner, in closed form, by
   :mod:`airtight.analytics.privacy.mechanisms.gaussian_pair`, or from half-spaces.
3. *T rounds* (:meth:`ManyRounds.delta`): outcomes are grouped into cells, and the pair of the laws of the cells is
   composed (:func:`composed`).
4. *Sensitivity* (:meth:`DeltaTest.greatest`): the greatest sensitivity that keeps delta, by a bracket and bisection.
   Beyond its upper end no system of the box keeps delta.

The corner
----------
For an observer who sees the participants, and with idle noise, epsilon increases with the participation of the device
and decreases with the noise and with the participation of the others, so one corner of the box gives the bound.

Under ``absent`` a device takes its noise s along, and epsilon is not monotone in s. Scale the system by
:math:`\sqrt{b/s} \ge 1`, which changes no likelihood ratio: it then has noises b = `loud`, a receiver noise of at most
:math:`\sigma_m^2b/a` with a = `quiet`, and a longer code. Epsilon decreases with the receiver noise (post-processing)
and increases with the code length. So on the whole box it is at least that of noises b, receiver noise
:math:`\sigma_m^2b/a` and the unscaled code.

Where a = 0, half-spaces give a bound. Let n of the other devices take part, let the code have length d and direction
e, and let :math:`v = \sigma_m^2 + nb`. For every s in [0, b], the probability of :math:`\langle y, e\rangle > t \ge 0`
is at most :math:`\Phi(-t/\sqrt v)` without the device and at least :math:`\Phi((d - t)/\sqrt{v + b})` with it
(:math:`\Phi((d-t)/\sigma_m)` for t > d).

Several rounds
--------------
For every component (the number of other participants) the outcomes are grouped into cells between levels of the
privacy loss of presence against absence. By post-processing, the cells reveal no more than the outcomes, over any
number of rounds. The probabilities P and Q of the cells are known. The losses :math:`\log P/Q` are rounded down to a
grid, which lowers every divergence further, and the law of the sum over T rounds is a power of the Fourier transform.

Where the noise of a box begins at 0 and leaves with its device, the cells lie between half-spaces. The probability of
each half-space is bounded from below with the device and from above without it. The concave hull of these points lies
below the ROC curve (one minus the trade-off function) of every system of the box, so the pair that attains it reveals
less (Blackwell).

Notes
-----
*Errors in one round.* The error of a divergence by quadrature is subtracted. Closed forms are used as they are, with a
rounding error of some 1e-13.

*Errors over rounds.* The probabilities of the cells have the rounding error of Phi and the quadrature error of the
slope of a divergence, which is not proved: P is lowered and Q is raised by a relative 1e-9 and an absolute 1e-14. Where
noise leaves with its device, such a bound is therefore not shown as one (:attr:`DeltaTest.proved`). The law of the loss is
exponentially tilted so that sums near epsilon have a large probability. The probability of sums outside the window is
bounded by Chernoff's inequality and subtracted, and so is the rounding error of the transform (docs/accuracy.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian, gaussian_pair, subsampling
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.rounding import UNIT

_HALVINGS = 20  # bisection steps for the greatest sensitivity
_QUADRATURE_COST = 4  # evaluations that a test by quadrature counts as
_BRACKET_STEPS = 24  # steps of the search for a bracket; without one by then, the sensitivity counts as 0 or infinite


Rows = IntArray | NDArray[np.bool_]


@dataclass(frozen=True)
class Box:
    """Boxes of the parameters of epsilon except the code, one row each; points where own = others and quiet = loud."""

    own: FloatArray
    others: FloatArray
    quiet: FloatArray
    loud: FloatArray

    def only(self, rows: Rows) -> Box:
        """The boxes of the given rows."""
        return Box(self.own[rows], self.others[rows], self.quiet[rows], self.loud[rows])


def equal(system: InferenceSystem) -> bool:
    """Whether the devices have equal parameters; their features may differ."""
    arrays = (system.participation, system.noise_variance, system.weight, system.clip, system.channel_gain)
    return all(np.ptp(array) == 0 for array in arrays)


def certifiable(system: InferenceSystem, observer: Observer) -> bool:
    """Whether the devices are equal and epsilon has a lower bound on boxes."""
    if not equal(system):
        return False
    meant_observer = observers.resolved(system, observer)
    if system.adjacency is Adjacency.ABSENT:
        return not observers.participation_distinguishes(system, meant_observer)  # else delta = p for every design
    if system.idle_noise:
        return system.adjacency is Adjacency.SILENT
    return meant_observer.sees_device


@dataclass(frozen=True)
class Components:
    """The components of the mixture: the number of other participants, shapes (K, n), or constant noise, shapes (1, n).

    Attributes
    ----------
    chance : ndarray
        Probability of the component.
    variance : ndarray
        Variance of the noise at the receiver without the noise of the device itself under ``absent``, else with it.
    own : ndarray
        Noise variance that the device takes along; 0 where it stays.
    """

    chance: FloatArray
    variance: FloatArray
    own: FloatArray


@dataclass(frozen=True)
class DeltaTest:
    """Lower bounds of delta at epsilon, which are exact at points.

    Attributes
    ----------
    system : InferenceSystem
    epsilon : float
    observer : Observer
        Not ``auto``.
    rounds : int
        More than one only where all devices always take part: T rounds then equal one round of dimension T r.
    """

    system: InferenceSystem
    epsilon: float
    observer: Observer
    rounds: int = 1

    @property
    def leaves(self) -> bool:
        """Whether an absent device takes its noise along."""
        return self.system.adjacency is Adjacency.ABSENT and not self.system.idle_noise

    @property
    def hides(self) -> bool:
        """Whether the observer does not see whether the device takes part."""
        return self.leaves or (self.system.idle_noise and not self.observer.sees_device)

    @property
    def closed(self) -> bool:
        """Whether a test has a closed form; other tests are slow, so that few should be made at a time."""
        return not self.leaves

    @property
    def proved(self) -> bool:
        """Whether the bounds are proved; over several rounds those of noise that leaves rest on slopes without a proved error."""
        return True

    @property
    def cost(self) -> int:
        """The number of evaluations that the test of one box counts as."""
        return 1 if self.closed else _QUADRATURE_COST

    @property
    def safe(self) -> DeltaTest:
        """The screen for proposed points, which may be stricter."""
        return self

    def components(self, box: Box) -> Components:
        """The components at the corner of least delta."""
        K, receiver_noise = self.system.devices, self.system.receiver_noise_variance
        # all devices always send noise: one component, whoever takes part
        if self.system.idle_noise:
            sigma = K * box.loud[None, :] + receiver_noise
            return Components(np.ones_like(sigma), sigma, np.zeros_like(sigma))
        participants = np.arange(K)[:, None]
        # binomial law of the number of the other K - 1 devices that take part, in logarithms
        log_binomial = special.gammaln(K) - special.gammaln(participants + 1) - special.gammaln(K - participants)
        log_chance = (
            log_binomial + special.xlogy(participants, box.others) + special.xlog1py(K - 1 - participants, -box.others)
        )
        if not self.leaves:
            # visible: the noise of the device is in both neighbours
            variance = receiver_noise + (participants + 1) * box.loud
            return Components(np.exp(log_chance), variance, np.zeros_like(variance))
        # scaled to the noise b = `loud`: receiver noise sigma_m^2 b / a; for a = 0 half-spaces are used, and the ratio
        # has no effect
        positive = box.quiet > 0
        ratio = np.where(positive, box.loud / np.where(positive, box.quiet, 1.0), 1.0)
        variance = receiver_noise * ratio + participants * box.loud
        return Components(np.exp(log_chance), variance, np.broadcast_to(box.loud, variance.shape))

    def delta(self, box: Box, sensitivity: FloatArray) -> FloatArray:
        """A lower bound of delta on the box for this sensitivity at the receiver; exact at points, up to rounding."""
        # T rounds of certain participation are one round of T r dimensions with a code that is sqrt(T) times as long
        sensitivity = sensitivity * np.sqrt(self.rounds)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            mixture = self.components(box)
            if not self.leaves:
                inner: float | FloatArray = self.epsilon
                if self.hides:
                    # hidden participation: delta = p D at 1 + (lambda - 1) / p
                    inner = np.log1p(np.expm1(self.epsilon) / np.maximum(box.own, 1e-300))
                divergence = _gaussian(
                    inner, np.broadcast_to(sensitivity, mixture.variance.shape), np.sqrt(mixture.variance)
                )
                # delta is p times the mean of the Gaussian divergences over the components
                return np.asarray(box.own * np.sum(mixture.chance * divergence, axis=0))
            # boxes whose noise begins at 0 need half-spaces; a point with noise 0 does not
            from_zero_noise = (box.quiet == 0) & (box.loud > 0)
            takes_part = box.own > 0
            out = np.zeros(box.own.shape)
            out[takes_part & from_zero_noise] = self._half_spaces(
                box.only(takes_part & from_zero_noise), sensitivity[takes_part & from_zero_noise]
            )
            out[takes_part & ~from_zero_noise] = self._leaving(
                box.only(takes_part & ~from_zero_noise), sensitivity[takes_part & ~from_zero_noise]
            )
            return out

    def _half_spaces(self, box: Box, sensitivity: FloatArray) -> FloatArray:
        mixture, receiver_noise = self.components(box), self.system.receiver_noise_variance
        inner = subsampling.unamplified(self.epsilon, box.own)
        # the likelihood-ratio threshold for the variance without the device; any threshold is valid
        threshold = np.where(
            sensitivity > 0, sensitivity / 2 + inner * mixture.variance / np.maximum(sensitivity, 1e-300), np.inf
        )
        # least probability with the device for each s in [0, b]: at s = b left of the code, at the receiver's noise
        # alone right of it
        spread = np.where(threshold < sensitivity, np.sqrt(mixture.variance + mixture.own), np.sqrt(receiver_noise))
        present = special.ndtr((sensitivity - threshold) / spread)
        # exp(epsilon) times a tail, in logarithms
        absent_mass = np.exp(inner + special.log_ndtr(-threshold / np.sqrt(mixture.variance)))
        divergence = np.where(np.isfinite(threshold), np.maximum(present - absent_mass, 0.0), 0.0)
        return np.asarray(box.own * np.sum(mixture.chance * np.nan_to_num(divergence), axis=0))

    def _leaving(self, box: Box, sensitivity: FloatArray) -> FloatArray:
        mixture, total_dimension = self.components(box), float(self.system.dimension * self.rounds)
        shape = mixture.variance.shape
        greatest = np.zeros(box.own.shape)
        # both orders: p D at 1 + (lambda - 1) / p, and u D at lambda p / u (subsampling)
        log_share, reversed_inner = subsampling.reversed_order(np.full(box.own.shape, self.epsilon), box.own)
        orders = (
            (np.log(box.own), subsampling.unamplified(self.epsilon, box.own), False),
            (log_share, reversed_inner, True),
        )
        for log_unit, inner, reverse in orders:
            rows = np.flatnonzero(inner < np.inf)
            if not rows.size:
                continue
            problem = (
                inner[rows],
                sensitivity[rows],
                mixture.variance[:, rows],
                mixture.own[:, rows],
                np.full(rows.size, total_dimension),
            )
            spread = [np.broadcast_to(x, (shape[0], rows.size)).ravel() for x in problem]
            value, _, error = gaussian_pair.log_curve(*spread, reverse=reverse)
            # an infinite error marks an upper bound, which is worth nothing here
            terms = np.exp(np.where(np.isfinite(error), value - error, -np.inf)).reshape(shape[0], rows.size)
            delta = np.exp(log_unit[rows]) * np.sum(mixture.chance[:, rows] * terms, axis=0)
            greatest[rows] = np.maximum(greatest[rows], delta)
        return greatest

    def greatest(self, box: Box, delta_limit: float, *, kept: bool = False) -> FloatArray:
        """An upper bound of the sensitivity that keeps delta at `delta_limit` somewhere on the box.

        With `kept` it is the greatest sensitivity that was tested to keep it.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # delta <= p whatever the sensitivity: without a limit below p there is nothing to find
            bounded = delta_limit / box.own < 1
            share = np.where(bounded, delta_limit / box.own, 0.5)
            # start: the sensitivity of a Gaussian mechanism with the noise of all devices
            inner = np.log1p(np.expm1(self.epsilon) / np.maximum(box.own, 1e-300)) if self.hides else self.epsilon
            unit = self._unit(np.minimum(inner, 1e300), share)
            noise = self.system.receiver_noise_variance + self.system.devices * box.loud
            # closed form: one component; the margin covers its rounding, outwards
            if self.system.idle_noise and self.closed:
                return np.where(bounded, unit * np.sqrt(noise) * (1 - 1e-9 if kept else 1 + 1e-9), np.inf)
            # bisection of the logarithm; the quadrature gets half of the steps
            low, high = self._bracket(box, unit * np.sqrt(noise), delta_limit)
            for _ in range(_HALVINGS if self.closed else _HALVINGS // 2):
                bracketed = (low > 0) & (high < np.inf)
                middle = np.where(bracketed, np.sqrt(low) * np.sqrt(high), 1.0)
                safe = self.delta(box, middle) <= delta_limit
                low, high = np.where(bracketed & safe, middle, low), np.where(bracketed & ~safe, middle, high)
        return np.where(bounded, low if kept else high, np.inf)

    def _unit(self, inner: float | FloatArray, share: FloatArray) -> FloatArray:
        """A start: the greatest sensitivity of a Gaussian mechanism of standard deviation 1."""
        return np.asarray(1 / gaussian.sigma(inner, share, sensitivity=1.0) / np.sqrt(self.rounds))

    def _bracket(self, box: Box, start: FloatArray, delta_limit: float) -> tuple[FloatArray, FloatArray]:
        """A bracket of the greatest sensitivity that keeps delta at `delta_limit`.

        (0, 0) where not even sensitivity 0 keeps it; the upper bound is infinite where every sensitivity does.
        """
        low, high = np.zeros(start.shape), np.full(start.shape, np.inf)
        # the search moves from the start in growing steps
        x, step = np.clip(start, 1e-140, 1e140), 1.5
        rows = np.arange(start.size)
        for _ in range(_BRACKET_STEPS):
            # each row is tested at one point a step; rows with both ends leave the search
            safe = self.delta(box.only(rows), x[rows]) <= delta_limit
            low[rows[safe]], high[rows[~safe]] = x[rows[safe]], x[rows[~safe]]
            rows = rows[(low[rows] == 0) | (high[rows] == np.inf)]
            if not rows.size:
                return low, high
            x[rows] = np.where(high[rows] < np.inf, x[rows] / step, x[rows] * step)
            step = min(step * step, 1e4)
            x = np.clip(x, 1e-140, 1e140)
        # the divergence of the noise alone exceeds delta
        infeasible = rows[self.delta(box.only(rows), np.zeros(rows.size)) > delta_limit]
        high[infeasible] = 0.0
        return low, high


def _gaussian(epsilon: float | FloatArray, distance: FloatArray, sigma: FloatArray) -> FloatArray:
    # no noise: a ratio that counts as infinite, or 0 for equal means
    ratio = np.where(sigma > 0, distance / np.maximum(sigma, 1e-300), np.where(distance > 0, 1e150, 0.0))
    divergence = gaussian.delta(np.minimum(epsilon, 1e300), sensitivity=np.minimum(ratio, 1e150), sigma=1.0)
    return np.asarray(divergence, dtype=np.float64)


_CELLS = 64  # per component, where the device's noise stays
_COMPOSED = 250  # evaluations that a test over several rounds counts as
_LEAVING_CELLS = 40  # per component, where the device takes its noise along
_TAIL = 5.5  # standard deviations of the loss that the cells cover on each side
_RELATIVE_MARGIN, _ABSOLUTE_MARGIN = 1e-9, 1e-14  # relative and absolute margin on the probabilities of the cells
_ROUNDING_SHARE = 1.5e-3  # share of epsilon that rounding the losses down may cost, if the grid has enough points
_FEWEST_POINTS, _MOST_POINTS = 1 << 12, 1 << 18  # least and greatest number of grid points
_WINDOW = 9.0  # half width of the window in standard deviations of the tilted sum
_AT_ONCE = 1 << 22  # grid points in memory at a time
_GREATEST_TILT, _TILT_STEPS = 200.0, 40  # range and bisection steps of the exponential tilt, which no proof depends on
_TRANSFORM_ERROR = 7  # units of rounding for each level of a fast Fourier transform, in the l2 norm; assumed of the library
_EXPONENTS = np.geomspace(0.1, 30.0, 12)  # exponents tried in Chernoff's inequality, times the standard deviation


@dataclass(frozen=True)
class ManyRounds(DeltaTest):
    """Lower bounds of delta at epsilon over T rounds of random participation.

    At points they are at least the exact delta at an epsilon that is about 0.4 % larger.

    Attributes
    ----------
    margin : float
        Proposed points are tested at an epsilon that is smaller by this share.
    """

    margin: float = 0.0

    @property
    def closed(self) -> bool:
        return False

    @property
    def proved(self) -> bool:
        return not self.leaves

    @property
    def cost(self) -> int:
        return _COMPOSED

    @property
    def safe(self) -> ManyRounds:
        return replace(self, epsilon=self.epsilon * (1 - self.margin), margin=0.0)

    def delta(self, box: Box, sensitivity: FloatArray) -> FloatArray:
        out = np.zeros(box.own.shape)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            # a device that never sends has delta 0
            takes_part = np.flatnonzero(box.own > 0)
            if takes_part.size:
                present, away = self._cells(box.only(takes_part), sensitivity[takes_part])
                out[takes_part] = composed(present, away, self.epsilon, self.rounds)
        return out

    def _cells(self, box: Box, sensitivity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of every outcome of one round under P and Q, the neighbouring laws, shapes (n, cells)."""
        mixture = self.components(box)
        if not self.leaves:
            above_level = _levels(sensitivity / np.sqrt(mixture.variance))
        else:
            above_level = self._leaving_levels(box, mixture, sensitivity)
        with_code, without = (_between(x) for x in above_level)  # (K or 1, n, cells)
        # the observer sees y and (by components) the number of others: the device sends with probability p
        if self.hides:
            mixed = box.own[:, None] * with_code + (1 - box.own[:, None]) * without
            unweighted = mixed, without
        else:
            unweighted = box.own[:, None] * with_code, box.own[:, None] * without
        n = box.own.size
        # cells of all components, each with the probability of its component
        p, q = (np.moveaxis(mixture.chance[..., None] * x, 0, 1).reshape(n, -1) for x in unweighted)
        # visible: the outcome that the device is silent has loss 0
        if not self.hides:
            no_participation = (1 - box.own)[:, None]
            p, q = np.hstack([p, no_participation]), np.hstack([q, no_participation])
        return p, q

    def _leaving_levels(self, box: Box, mixture: Components, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        present = np.empty((*mixture.variance.shape, _LEAVING_CELLS + 1))
        away = np.empty_like(present)
        from_zero_noise = (box.quiet == 0) & (box.loud > 0)
        for rows, levels_of in (
            (np.flatnonzero(from_zero_noise), self._half_space_levels),
            (np.flatnonzero(~from_zero_noise), self._loss_levels),
        ):
            if rows.size:
                selected_mixture = Components(mixture.chance[:, rows], mixture.variance[:, rows], mixture.own[:, rows])
                present[:, rows], away[:, rows] = levels_of(selected_mixture, d[rows])
        return present, away

    def _loss_levels(self, mixture: Components, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities that the loss exceeds each level, present and absent, from the divergence and its slope there.

        With H the divergence at the level t and H' its slope, the loss exceeds t with probability H - H' under P and
        -H' e^-t under Q. Negative levels use the reversed order of the pair.
        """
        v, r = mixture.variance, float(self.system.dimension)
        # mean and standard deviation of the loss under P, then under Q: they only place the levels
        eta, square = mixture.own / v, d * d / v
        bend = r / 2 * (eta - np.log1p(eta))
        mean_with, spread_with = square / 2 + bend, np.sqrt(square * (1 + eta) + r / 2 * eta**2)
        shrunk = 1 / (1 + eta)
        mean_without = -square / 2 * shrunk + r / 2 * (eta * shrunk - np.log1p(eta))
        spread_without = np.sqrt(square * shrunk**2 + r / 2 * (eta * shrunk) ** 2)
        low, high = mean_without - _TAIL * spread_without, mean_with + _TAIL * spread_with
        share = np.linspace(0, 1, _LEAVING_CELLS + 1)
        level = low[..., None] + (high - low)[..., None] * share
        shape = level.shape
        # all levels in one array; the others' noise is `narrow`, the device's own noise `gap`
        problem = np.broadcast_arrays(level, d[:, None], v[..., None], mixture.own[..., None], np.asarray(r))
        levels, distance, narrow, gap, dimension = (np.ascontiguousarray(x.ravel()) for x in problem)
        present, away = np.empty(levels.size), np.empty(levels.size)
        # P(L > t) = H - H' and Q(L > t) = -H' exp(-t), as H = P(A) - exp(t) Q(A) and H' = -exp(t) Q(A)
        nonnegative = levels >= 0
        value, slope, _ = gaussian_pair.log_curve(
            levels[nonnegative],
            distance[nonnegative],
            narrow[nonnegative],
            gap[nonnegative],
            dimension[nonnegative],
            reverse=False,
        )
        size = np.exp(value)
        present[nonnegative], away[nonnegative] = (
            size * (1 - slope),
            -size * slope * np.exp(-levels[nonnegative]),
        )
        # t < 0: the reversed pair at -t gives the probabilities of the complement
        negative = ~nonnegative
        value, slope, _ = gaussian_pair.log_curve(
            -levels[negative], distance[negative], narrow[negative], gap[negative], dimension[negative], reverse=True
        )
        size = np.exp(value)
        present[negative], away[negative] = (
            1 + size * slope * np.exp(levels[negative]),
            1 - size * (1 - slope),
        )
        return present.reshape(shape), away.reshape(shape)

    def _half_space_levels(self, mixture: Components, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of half-spaces on their concave hull: lower bounds with the device, upper bounds without it."""
        receiver_deviation = np.sqrt(self.system.receiver_noise_variance)
        greatest_deviation = np.sqrt(mixture.variance + mixture.own)
        # from the origin to _TAIL deviations beyond the code
        threshold = np.linspace(0, 1, _LEAVING_CELLS + 1) * (d + _TAIL * greatest_deviation)[..., None]
        scaled_distance = (d[:, None] - threshold) / np.where(
            threshold < d[:, None], greatest_deviation[..., None], receiver_deviation
        )
        present, away = special.ndtr(scaled_distance), special.ndtr(-threshold / np.sqrt(mixture.variance)[..., None])
        # the hull makes the points an ROC curve
        for index in np.ndindex(present.shape[:2]):
            present[index], away[index] = _hull(present[index], away[index])
        return present, away


def _levels(mu: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities of half-lines under N(mu, 1) and N(0, 1)."""
    # a ratio beyond 1000 is told apart with certainty anyway
    mu = np.minimum(np.nan_to_num(mu, nan=0.0, posinf=1e3), 1e3)[..., None]
    threshold = -_TAIL + (mu + 2 * _TAIL) * np.linspace(0, 1, _CELLS + 1)
    return special.ndtr(mu - threshold), special.ndtr(-threshold)


def _between(above: FloatArray) -> FloatArray:
    """Probabilities of the cells between half-lines of decreasing probability, and of both tails."""
    # differences of decreasing probabilities, from 1 to 0; rounding may make them negative
    ends = np.zeros((*above.shape[:-1], 1))
    return np.maximum(-np.diff(np.concatenate([1 + ends, above, ends], axis=-1), axis=-1), 0.0)


def _hull(present: FloatArray, away: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The corners of the concave hull of (away, present) from (1, 1) to (0, 0).

    A point below the hull is replaced by the corner before it.
    """
    x = np.concatenate([[1.0], away, [0.0]])
    y = np.concatenate([[1.0], present, [0.0]])
    corners = [0]
    # Andrew's scan: a corner that is not above the chord of its neighbours is dropped
    for i in range(1, x.size):
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(i)
    corner = np.asarray(corners)[np.searchsorted(corners, np.arange(x.size), side="right") - 1][1:-1]
    return y[corner], x[corner]


def composed(present: FloatArray, away: FloatArray, epsilon: float, rounds: int) -> FloatArray:
    """A lower bound of delta at epsilon over T independent rounds.

    Parameters
    ----------
    present, away : ndarray, shape (n, cells)
        Probabilities of the outcomes of one round with and without the device.
    epsilon : float
    rounds : int

    Examples
    --------
    >>> flip, other = np.array([[0.75, 0.25]]), np.array([[0.25, 0.75]])
    >>> composed(flip, other, 0.5, 1).round(5)
    array([0.3378])
    >>> composed(flip, other, 0.5, 10).round(3)
    array([0.889])
    """
    # margins of the module's notes: less P, more Q, less loss
    p = np.maximum(present * (1 - _RELATIVE_MARGIN) - _ABSOLUTE_MARGIN, 0.0)
    p = np.where(p > _ABSOLUTE_MARGIN, p, 0.0)
    q = away * (1 + _RELATIVE_MARGIN) + _ABSOLUTE_MARGIN
    # what P loses has no loss and no mass
    loss = np.where(p > 0, np.log(np.where(p > 0, p, 1.0) / q), 0.0)
    # any tilt is valid; this one centres the sum at epsilon
    tilt = _tilt(p, loss, epsilon / rounds)
    weight = p * np.exp(tilt[:, None] * (loss - np.max(loss, axis=1, keepdims=True)))
    weight /= np.sum(weight, axis=1, keepdims=True)
    mean = np.sum(weight * loss, axis=1)
    # standard deviation of the tilted sum: the window
    spread = np.sqrt(rounds * np.maximum(np.sum(weight * (loss - mean[:, None]) ** 2, axis=1), 1e-300))
    centre = rounds * mean
    low, high = np.minimum(centre - _WINDOW * spread, epsilon), np.maximum(centre + _WINDOW * spread, epsilon)
    # each loss is rounded down by half a step on average, so the sum by rounds / 2 steps
    points = (high - low) * rounds / (2 * _ROUNDING_SHARE * epsilon)
    size = 1 << int(np.clip(np.ceil(np.log2(np.max(points))), np.log2(_FEWEST_POINTS), np.log2(_MOST_POINTS)))
    out = np.empty(p.shape[0])
    # memory
    rows_at_once = max(_AT_ONCE // size, 1)
    for first in range(0, out.size, rows_at_once):
        rows = slice(first, first + rows_at_once)
        grid = _Grid(low[rows], (high[rows] - low[rows]) / size, size, spread[rows])
        out[rows] = _summed(p[rows], loss[rows], tilt[rows], grid, epsilon, rounds)
    # no sum exceeds epsilon
    return np.where(np.max(loss, axis=1) * rounds > epsilon, out, 0.0)


@dataclass(frozen=True)
class _Grid:
    """A grid of sums of losses, per row: the lower end of the window, the step, the number of points, the spread."""

    low: FloatArray
    step: FloatArray
    size: int
    spread: FloatArray


def _tilt(p: FloatArray, loss: FloatArray, mean: float) -> FloatArray:
    """The exponent at which the exponentially tilted loss has mean `mean`; 0 where the untilted mean is at least that.

    No proof depends on it: every exponent gives a valid bound.
    """
    low, high = np.zeros(p.shape[0]), np.full(p.shape[0], _GREATEST_TILT)
    greatest_loss = np.max(loss, axis=1, keepdims=True)
    for _ in range(_TILT_STEPS):
        middle = (low + high) / 2
        weight = p * np.exp(middle[:, None] * (loss - greatest_loss))
        below = np.sum(weight * loss, axis=1) < mean * np.sum(weight, axis=1)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(np.sum(p * loss, axis=1) >= mean * np.sum(p, axis=1), 0.0, low)


def _summed(p: FloatArray, loss: FloatArray, tilt: FloatArray, grid: _Grid, epsilon: float, rounds: int) -> FloatArray:
    """A lower bound of delta of the sum of losses, by the fast Fourier transform of the tilted law of one loss.

    The error of the transform and the mass that wraps around from outside the window are subtracted, and the tilt is
    undone in the integrand and in `scale`.
    """
    n, size, step = p.shape[0], grid.size, grid.step[:, None]
    # losses and the window in whole steps, rounded down: the sum of indices is exact
    grid_index, first = np.floor(loss / step), np.floor(grid.low[:, None] / step)
    rounded = grid_index * step
    greatest_rounded = np.max(rounded, axis=1)
    # tilted law, normalised
    weight = p * np.exp(tilt[:, None] * (rounded - greatest_rounded[:, None]))
    moment = np.sum(weight, axis=1)
    weight /= moment[:, None]
    # circular convolution: indices modulo `size`, one row after another
    index = np.mod(grid_index, size).astype(np.int64) + size * np.arange(n)[:, None]
    law = np.bincount(index.ravel(), weights=weight.ravel(), minlength=n * size).reshape(n, size)
    sum_law = fft.irfft(fft.rfft(law, axis=1) ** rounds, size, axis=1)
    # the sum in the window that belongs to each index
    sums = (first + np.mod(np.arange(size) - first, size)) * step
    above_epsilon = np.maximum(sums - epsilon, 0.0)
    # (1 - exp(epsilon - L))_+, with the tilt undone relative to epsilon
    tail = np.sum(sum_law * np.exp(-tilt[:, None] * above_epsilon) * -np.expm1(-above_epsilon), axis=1)
    # l1 norm of the transform's error, at most sqrt(size) times its l2 norm
    error = (rounds + 1) * _TRANSFORM_ERROR * UNIT * np.log2(size) * np.sqrt(size * np.sum(law**2, axis=1))
    # mass from outside the window has been folded into it: at most this is subtracted
    for window_end, sign in ((first[:, 0] * grid.step, -1.0), ((first[:, 0] + size) * grid.step, 1.0)):
        error += _chernoff(weight, rounded, sign, sign * window_end, grid.spread, rounds)
    # E exp(t L) to the power T and exp(-t epsilon); a bound may be lowered
    scale = np.exp(np.minimum(rounds * (np.log(moment) + tilt * greatest_rounded) - tilt * epsilon, 0.0))
    return np.asarray(np.maximum(tail - error, 0.0) * scale)


def _chernoff(
    weight: FloatArray, loss: FloatArray, sign: float, end: FloatArray, spread: FloatArray, rounds: int
) -> FloatArray:
    """Chernoff's upper bound of the probability that the sum times the sign exceeds `end`."""
    log_bound = np.zeros(end.shape)
    for exponent in _EXPONENTS:
        t = exponent / spread
        # log E exp(t L) with the greatest exponent taken out
        power = np.where(weight > 0, sign * t[:, None] * loss, -np.inf)
        greatest_power = np.max(power, axis=1, keepdims=True)
        moment = greatest_power[:, 0] + np.log(np.sum(weight * np.exp(power - greatest_power), axis=1))
        log_bound = np.minimum(log_bound, rounds * moment - t * end)
    return np.exp(log_bound)


def delta_test(
    system: InferenceSystem, epsilon: float, observer: Observer, rounds: int, *, always_present: bool, margin: float
) -> DeltaTest:
    """The screen for T rounds.

    Of equal devices any m colluders leave a system of K - m (docs/colluders.md, theorem 1): the boxes are those of that system.

    Parameters
    ----------
    always_present : bool
        Whether all devices always take part.
    margin : float
        Where only a lower bound of delta is computed, proposed points are tested at an epsilon that is smaller by this
        share.
    """
    meant_observer = observers.resolved(system, observer)
    if isinstance(system.colluding, int) and system.colluding:
        honest = system.devices - system.colluding
        columns = {name: getattr(system, name)[:honest] for name in ("participation", "noise_variance", "weight", "clip")}
        system = system.derived(devices=honest, channel_gain=1.0, colluding=0, **columns)
    if rounds == 1 or always_present:
        return DeltaTest(system, epsilon, meant_observer, rounds)
    return ManyRounds(system, epsilon, meant_observer, rounds, margin)
