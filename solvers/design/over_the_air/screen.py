r"""Lower bounds of delta on boxes of systems of equal devices in one round: a test whether epsilon can be kept.

On a box, the participation of the device itself is at least `own`, that of the other devices is at most `others`, and
the noise variance of a device at the receiver is between `quiet` and `loud`. For an observer who sees the
participants, and with idle noise, epsilon increases with the participation of the device and decreases with the noise
and with the participation of the others, so one corner of the box gives the bound.

Under ``absent`` a device takes its noise s along, and epsilon is not monotone in s. Scale the system by
:math:`\sqrt{b/s} \ge 1`, which changes no likelihood ratio: it then has noises b = `loud`, a receiver noise of at most
:math:`\sigma_m^2b/a` with a = `quiet`, and a longer code. Epsilon decreases with the receiver noise (post-processing)
and increases with the code length. So on the whole box it is at least that of noises b, receiver noise
:math:`\sigma_m^2b/a` and the unscaled code.

Where a = 0, half-spaces give a bound. Let n of the other devices take part, let the code have length d and direction
e, and let :math:`v = \sigma_m^2 + nb`. For every s in [0, b], the probability of :math:`\langle y, e\rangle > t \ge 0`
is at most :math:`\Phi(-t/\sqrt v)` without the device and at least :math:`\Phi((d - t)/\sqrt{v + b})` with it
(:math:`\Phi((d-t)/\sigma_m)` for t > d).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian, gaussian_pair, subsampling
from airtight.analytics.privacy.over_the_air import observers

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


def certifiable(system: InferenceSystem, observer: Observer) -> bool:
    """Whether the devices are equal and epsilon has a lower bound on boxes."""
    arrays = (system.participation, system.noise_variance, system.weight, system.clip, system.channel_gain)
    if any(np.ptp(array) > 0 for array in arrays):
        return False
    meant_observer = observers.meaning(system) if observer is Observer.AUTO else observer
    if system.adjacency is Adjacency.ABSENT:
        return not observers.roll_call(system, meant_observer)  # else delta = p for every design
    if system.idle_noise:
        return system.adjacency is Adjacency.SILENT
    return meant_observer is Observer.PARTICIPANTS


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
class Screen:
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
        return self.leaves or (self.system.idle_noise and self.observer is not Observer.PARTICIPANTS)

    @property
    def closed(self) -> bool:
        """Whether a test has a closed form; other tests are slow, so that few should be made at a time."""
        return not self.leaves

    @property
    def cost(self) -> int:
        """The number of evaluations that the test of one box counts as."""
        return 1 if self.closed else _QUADRATURE_COST

    @property
    def safe(self) -> Screen:
        """The screen for proposed points, which may be stricter."""
        return self

    def components(self, box: Box) -> Components:
        """The components at the corner of least delta."""
        K, receiver_noise = self.system.devices, self.system.receiver_noise_variance
        if self.system.idle_noise:
            sigma = K * box.loud[None, :] + receiver_noise
            return Components(np.ones_like(sigma), sigma, np.zeros_like(sigma))
        participants = np.arange(K)[:, None]
        log_binomial = special.gammaln(K) - special.gammaln(participants + 1) - special.gammaln(K - participants)
        log_chance = (
            log_binomial + special.xlogy(participants, box.others) + special.xlog1py(K - 1 - participants, -box.others)
        )
        if not self.leaves:
            variance = receiver_noise + (participants + 1) * box.loud
            return Components(np.exp(log_chance), variance, np.zeros_like(variance))
        positive = box.quiet > 0
        ratio = np.where(positive, box.loud / np.where(positive, box.quiet, 1.0), 1.0)
        variance = receiver_noise * ratio + participants * box.loud
        return Components(np.exp(log_chance), variance, np.broadcast_to(box.loud, variance.shape))

    def delta(self, box: Box, sensitivity: FloatArray) -> FloatArray:
        """A lower bound of delta on the box for this sensitivity at the receiver; exact at points, up to rounding."""
        sensitivity = sensitivity * np.sqrt(self.rounds)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            mixture = self.components(box)
            if not self.leaves:
                inner: float | FloatArray = self.epsilon
                if self.hides:
                    inner = np.log1p(np.expm1(self.epsilon) / np.maximum(box.own, 1e-300))
                divergence = _gaussian(
                    inner, np.broadcast_to(sensitivity, mixture.variance.shape), np.sqrt(mixture.variance)
                )
                return np.asarray(box.own * np.sum(mixture.chance * divergence, axis=0))
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
        threshold = np.where(
            sensitivity > 0, sensitivity / 2 + inner * mixture.variance / np.maximum(sensitivity, 1e-300), np.inf
        )
        spread = np.where(threshold < sensitivity, np.sqrt(mixture.variance + mixture.own), np.sqrt(receiver_noise))
        present = special.ndtr((sensitivity - threshold) / spread)
        absent_mass = np.exp(inner + special.log_ndtr(-threshold / np.sqrt(mixture.variance)))
        divergence = np.where(np.isfinite(threshold), np.maximum(present - absent_mass, 0.0), 0.0)
        return np.asarray(box.own * np.sum(mixture.chance * np.nan_to_num(divergence), axis=0))

    def _leaving(self, box: Box, sensitivity: FloatArray) -> FloatArray:
        mixture, total_dimension = self.components(box), float(self.system.dimension * self.rounds)
        shape = mixture.variance.shape
        greatest = np.zeros(box.own.shape)
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
            terms = np.exp(np.where(np.isfinite(error), value - error, -np.inf)).reshape(shape[0], rows.size)
            delta = np.exp(log_unit[rows]) * np.sum(mixture.chance[:, rows] * terms, axis=0)
            greatest[rows] = np.maximum(greatest[rows], delta)
        return greatest

    def greatest(self, box: Box, total: float, *, kept: bool = False) -> FloatArray:
        """An upper bound of the sensitivity that keeps delta at `total` somewhere on the box.

        With `kept` it is the greatest sensitivity that was tested to keep it.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            bounded = total / box.own < 1
            share = np.where(bounded, total / box.own, 0.5)
            inner = np.log1p(np.expm1(self.epsilon) / np.maximum(box.own, 1e-300)) if self.hides else self.epsilon
            unit = self._unit(np.minimum(inner, 1e300), share)
            noise = self.system.receiver_noise_variance + self.system.devices * box.loud
            if self.system.idle_noise and self.closed:
                return np.where(bounded, unit * np.sqrt(noise) * (1 - 1e-9 if kept else 1 + 1e-9), np.inf)
            low, high = self._bracket(box, unit * np.sqrt(noise), total)
            for _ in range(_HALVINGS if self.closed else _HALVINGS // 2):
                bracketed = (low > 0) & (high < np.inf)
                middle = np.where(bracketed, np.sqrt(low) * np.sqrt(high), 1.0)
                safe = self.delta(box, middle) <= total
                low, high = np.where(bracketed & safe, middle, low), np.where(bracketed & ~safe, middle, high)
        return np.where(bounded, low if kept else high, np.inf)

    def _unit(self, inner: float | FloatArray, share: FloatArray) -> FloatArray:
        """A start: the greatest sensitivity of a Gaussian mechanism of standard deviation 1."""
        return np.asarray(1 / gaussian.sigma(inner, share, sensitivity=1.0) / np.sqrt(self.rounds))

    def _bracket(self, box: Box, start: FloatArray, total: float) -> tuple[FloatArray, FloatArray]:
        """A bracket of the greatest sensitivity that keeps delta at `total`.

        (0, 0) where not even sensitivity 0 keeps it; the upper bound is infinite where every sensitivity does.
        """
        low, high = np.zeros(start.shape), np.full(start.shape, np.inf)
        x, step = np.clip(start, 1e-140, 1e140), 1.5
        rows = np.arange(start.size)
        for _ in range(_BRACKET_STEPS):
            safe = self.delta(box.only(rows), x[rows]) <= total
            low[rows[safe]], high[rows[~safe]] = x[rows[safe]], x[rows[~safe]]
            rows = rows[(low[rows] == 0) | (high[rows] == np.inf)]
            if not rows.size:
                return low, high
            x[rows] = np.where(high[rows] < np.inf, x[rows] / step, x[rows] * step)
            step = min(step * step, 1e4)
            x = np.clip(x, 1e-140, 1e140)
        infeasible = rows[self.delta(box.only(rows), np.zeros(rows.size)) > total]
        high[infeasible] = 0.0
        return low, high


def _gaussian(epsilon: float | FloatArray, distance: FloatArray, sigma: FloatArray) -> FloatArray:
    ratio = np.where(sigma > 0, distance / np.maximum(sigma, 1e-300), np.where(distance > 0, 1e150, 0.0))
    divergence = gaussian.delta(np.minimum(epsilon, 1e300), sensitivity=np.minimum(ratio, 1e150), sigma=1.0)
    return np.asarray(divergence, dtype=np.float64)
