r"""Whether equal devices can keep an epsilon: delta from below on boxes of systems, one round, vectorised.

A box has an own participation of at least `own`, others' of at most `others`, and a noise variance of a device at the receiver
between `quiet` and `loud`. Against who sees the participants, and with idle noise, epsilon rises with the own participation and
falls with the noise and with the others' participation, so a corner is the bound.

Under ``absent`` a device takes its noise s along, and epsilon is not monotone in s. Scaled by :math:`\sqrt{b/s} \ge 1`, which
changes no likelihood ratio, the system has noises b = `loud`, a receiver's noise of at most :math:`\sigma_m^2b/a`, a = `quiet`,
and a longer code. Epsilon falls with the receiver's noise (post-processing) and rises with the code: on the whole box it is at
least that of noises b, receiver's noise :math:`\sigma_m^2b/a` and the code as it is.

Where a = 0 half-spaces do: with n of the others there, the code of length d and direction e, and
:math:`v = \sigma_m^2 + nb`, the chance of :math:`\langle y, e\rangle > t \ge 0` is at most :math:`\Phi(-t/\sqrt v)` without the
device and at least
:math:`\Phi((d - t)/\sqrt{v + b})` with it (:math:`\Phi((d-t)/\sigma_m)` for t > d), whatever s in [0, b] is.
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

_HALVINGS = 20
_QUADRATURE = 4  # what a test by quadrature counts as
_SEARCH = 24  # doublings of a sensitivity before it counts as 0 or infinite


Rows = IntArray | NDArray[np.bool_]


@dataclass(frozen=True)
class Box:
    """What epsilon depends on but for the code, a row each; points where the ends agree."""

    own: FloatArray
    others: FloatArray
    quiet: FloatArray
    loud: FloatArray

    def only(self, rows: Rows) -> Box:
        """Some of them."""
        return Box(self.own[rows], self.others[rows], self.quiet[rows], self.loud[rows])


def certifiable(system: InferenceSystem, observer: Observer) -> bool:
    """Whether the devices are equal and epsilon has a bound on boxes."""
    arrays = (system.participation, system.noise_variance, system.weight, system.clip, system.channel_gain)
    if any(np.ptp(array) > 0 for array in arrays):
        return False
    seen = observers.meaning(system) if observer is Observer.AUTO else observer
    if system.adjacency is Adjacency.ABSENT:
        return not observers.roll_call(system, seen)  # else delta = p, whatever the design
    if system.idle_noise:
        return system.adjacency is Adjacency.SILENT
    return seen is Observer.PARTICIPANTS


@dataclass(frozen=True)
class Components:
    """What the observer tells apart: how many of the others take part, shapes (K, n), or constant noise, shapes (1, n).

    Attributes
    ----------
    chance : ndarray
    variance : ndarray
        Of the noise at the receiver without the device's own.
    own : ndarray
        Noise variance that the device takes along; 0 where it stays.
    """

    chance: FloatArray
    variance: FloatArray
    own: FloatArray


@dataclass(frozen=True)
class Screen:
    """delta at epsilon, exact at points.

    Attributes
    ----------
    system : InferenceSystem
    epsilon : float
    observer : Observer
        As it is meant, not ``auto``.
    rounds : int
        Of devices that always take part: T rounds are one of T r dimensions.
    """

    system: InferenceSystem
    epsilon: float
    observer: Observer
    rounds: int = 1

    @property
    def leaves(self) -> bool:
        """Whether a device takes its noise along."""
        return self.system.adjacency is Adjacency.ABSENT and not self.system.idle_noise

    @property
    def hides(self) -> bool:
        """Whether the observer does not see if the device takes part."""
        return self.leaves or (self.system.idle_noise and self.observer is not Observer.PARTICIPANTS)

    @property
    def closed(self) -> bool:
        """Whether a test is a closed form; else it takes so long that few should be made at a time."""
        return not self.leaves

    @property
    def cost(self) -> int:
        """What the test of a box counts as, beside one by a closed form."""
        return 1 if self.closed else _QUADRATURE

    @property
    def safe(self) -> Screen:
        """For points that are proposed."""
        return self

    def components(self, box: Box) -> Components:
        """Of the corner."""
        K, floor = self.system.devices, self.system.receiver_noise_variance
        if self.system.idle_noise:
            sigma = K * box.loud[None, :] + floor
            return Components(np.ones_like(sigma), sigma, np.zeros_like(sigma))
        count = np.arange(K)[:, None]
        ways = special.gammaln(K) - special.gammaln(count + 1) - special.gammaln(K - count)
        logs = ways + special.xlogy(count, box.others) + special.xlog1py(K - 1 - count, -box.others)
        if not self.leaves:
            variance = floor + (count + 1) * box.loud
            return Components(np.exp(logs), variance, np.zeros_like(variance))
        positive = box.quiet > 0
        ratio = np.where(positive, box.loud / np.where(positive, box.quiet, 1.0), 1.0)
        variance = floor * ratio + count * box.loud
        return Components(np.exp(logs), variance, np.broadcast_to(box.loud, variance.shape))

    def delta(self, box: Box, sensitivity: FloatArray) -> FloatArray:
        """At least this on the box, for this sensitivity at the receiver; equal to it at points, to rounding."""
        sensitivity = sensitivity * np.sqrt(self.rounds)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            parts = self.components(box)
            if not self.leaves:
                inner: float | FloatArray = self.epsilon
                if self.hides:
                    inner = np.log1p(np.expm1(self.epsilon) / np.maximum(box.own, 1e-300))
                found = _gaussian(inner, np.broadcast_to(sensitivity, parts.variance.shape), np.sqrt(parts.variance))
                return np.asarray(box.own * np.sum(parts.chance * found, axis=0))
            edge = (box.quiet == 0) & (box.loud > 0)
            some = box.own > 0
            out = np.zeros(box.own.shape)
            out[some & edge] = self._half_spaces(box.only(some & edge), sensitivity[some & edge])
            out[some & ~edge] = self._leaving(box.only(some & ~edge), sensitivity[some & ~edge])
            return out

    def _half_spaces(self, box: Box, sensitivity: FloatArray) -> FloatArray:
        parts, floor = self.components(box), self.system.receiver_noise_variance
        inner = subsampling.unamplified(self.epsilon, box.own)
        at = np.where(
            sensitivity > 0, sensitivity / 2 + inner * parts.variance / np.maximum(sensitivity, 1e-300), np.inf
        )
        wide = np.where(at < sensitivity, np.sqrt(parts.variance + parts.own), np.sqrt(floor))
        present = special.ndtr((sensitivity - at) / wide)
        away = np.exp(inner + special.log_ndtr(-at / np.sqrt(parts.variance)))
        found = np.where(np.isfinite(at), np.maximum(present - away, 0.0), 0.0)
        return np.asarray(box.own * np.sum(parts.chance * np.nan_to_num(found), axis=0))

    def _leaving(self, box: Box, sensitivity: FloatArray) -> FloatArray:
        parts, r = self.components(box), float(self.system.dimension * self.rounds)
        shape = parts.variance.shape
        best = np.zeros(box.own.shape)
        log_share, back = subsampling.reversed_order(np.full(box.own.shape, self.epsilon), box.own)
        orders = (
            (np.log(box.own), subsampling.unamplified(self.epsilon, box.own), False),
            (log_share, back, True),
        )
        for log_unit, inner, reverse in orders:
            rows = np.flatnonzero(inner < np.inf)
            if not rows.size:
                continue
            problem = (
                inner[rows],
                sensitivity[rows],
                parts.variance[:, rows],
                parts.own[:, rows],
                np.full(rows.size, r),
            )
            spread = [np.broadcast_to(x, (shape[0], rows.size)).ravel() for x in problem]
            value, _, error = gaussian_pair.log_curve(*spread, reverse=reverse)
            terms = np.exp(np.where(np.isfinite(error), value - error, -np.inf)).reshape(shape[0], rows.size)
            found = np.exp(log_unit[rows]) * np.sum(parts.chance[:, rows] * terms, axis=0)
            best[rows] = np.maximum(best[rows], found)
        return best

    def greatest(self, box: Box, total: float, *, kept: bool = False) -> FloatArray:
        """The greatest sensitivity on the box that may keep delta at `total`; with `kept` one that is tested to keep it."""
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
                open_ = (low > 0) & (high < np.inf)
                middle = np.where(open_, np.sqrt(low) * np.sqrt(high), 1.0)
                safe = self.delta(box, middle) <= total
                low, high = np.where(open_ & safe, middle, low), np.where(open_ & ~safe, middle, high)
        return np.where(bounded, low if kept else high, np.inf)

    def _unit(self, inner: float | FloatArray, share: FloatArray) -> FloatArray:
        """Sensitivity over the noise's standard deviation: where to begin."""
        return np.asarray(1 / gaussian.sigma(inner, share, sensitivity=1.0) / np.sqrt(self.rounds))

    def _bracket(self, box: Box, start: FloatArray, total: float) -> tuple[FloatArray, FloatArray]:
        """Around the greatest sensitivity: (0, 0) where not even 0 keeps delta at `total`, an infinite end where all do."""
        low, high = np.zeros(start.shape), np.full(start.shape, np.inf)
        x, step = np.clip(start, 1e-140, 1e140), 1.5
        todo = np.arange(start.size)
        for _ in range(_SEARCH):
            safe = self.delta(box.only(todo), x[todo]) <= total
            low[todo[safe]], high[todo[~safe]] = x[todo[safe]], x[todo[~safe]]
            todo = todo[(low[todo] == 0) | (high[todo] == np.inf)]
            if not todo.size:
                return low, high
            x[todo] = np.where(high[todo] < np.inf, x[todo] / step, x[todo] * step)
            step = min(step * step, 1e4)
            x = np.clip(x, 1e-140, 1e140)
        hopeless = todo[self.delta(box.only(todo), np.zeros(todo.size)) > total]
        high[hopeless] = 0.0
        return low, high


def _gaussian(epsilon: float | FloatArray, distance: FloatArray, sigma: FloatArray) -> FloatArray:
    unit = np.where(sigma > 0, distance / np.maximum(sigma, 1e-300), np.where(distance > 0, 1e150, 0.0))
    found = gaussian.delta(np.minimum(epsilon, 1e300), sensitivity=np.minimum(unit, 1e150), sigma=1.0)
    return np.asarray(found, dtype=np.float64)
