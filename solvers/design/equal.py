r"""The joint problem of equal devices, to a proved gap: branch and bound over participation, noise and clip.

The gauge :math:`(w, \sigma, \gamma, g) \to (cw, c\sigma, \gamma/c, g/c)` changes neither epsilon nor MSE nor energy, so the
alignment stays where it is. The gain is the best one (closed form), and the weight is eliminated: at given participation, noise
and clip the MSE falls with it, epsilon and energy rise. What is left is a box of at most three dimensions, and on each smaller
box every quantity has a bound from its corners (docs/design.md):

* epsilon, against who sees the participants, and with idle noise against who does not: rises with the own participation, falls
  with the noise and with the others' participation;
* the MSE of :mod:`solvers.design.moments` falls with participation and weight, rises with the noise; in the clip its parts are
  monotone;
* so does the energy :math:`\frac{\gamma^2}{|h|^2}(pw^2\sum_k\|z_k\|^2 + qKr\sigma^2)` at the least weight that keeps the MSE.

Thresholds are those of a fine grid; boxes bound everything between its points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from analytics.checks import FloatArray, IntArray
from analytics.guarantee import Adjacency, Observer
from analytics.inference.system import InferenceSystem
from analytics.privacy import gaussian
from solvers.design import branching
from solvers.design.moments import Moments
from solvers.design.requirements import Free, Goal

_RAREST = 1e-3  # participation, but for 0 as the end of a box
_QUIETEST, _LOUDEST = 1e-6, 1e8  # noise, in units of the receiver's, but for 0
_MARGIN = 1e-6  # of delta, kept off its limit by what is proposed
_HALVINGS = 20
_DROWNED = 1e-9  # of the error of the constant output, left of the noise where any weight may be had


def certifiable(system: InferenceSystem, observer: Observer) -> bool:
    """Whether the devices are equal and epsilon is monotone as the bounds need it."""
    arrays = (system.participation, system.noise_variance, system.weight, system.clip, system.channel_gain)
    if any(np.ptp(array) > 0 for array in arrays):
        return False
    hidden = observer in (Observer.OTHERS, Observer.SIGNAL)
    if system.idle_noise:
        return system.adjacency is not Adjacency.REPLACE or not (hidden or observer is Observer.AUTO)
    return system.adjacency is not Adjacency.ABSENT and not hidden


@dataclass(frozen=True)
class Screen:
    """delta at epsilon of one round of equal devices: closed forms, vectorised."""

    system: InferenceSystem
    epsilon: float
    observer: Observer
    rounds: int

    def delta(self, own: FloatArray, others: FloatArray, sensitivity: FloatArray, noise: FloatArray) -> FloatArray:
        """Of own and others' participation, sensitivity at the receiver, and noise variance of a device there."""
        K, floor = self.system.devices, self.system.receiver_noise_variance
        distance = sensitivity * np.sqrt(self.rounds)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.system.idle_noise:
                sigma = np.sqrt(K * noise + floor)
                if self.observer is Observer.PARTICIPANTS:
                    return np.asarray(own * self._gaussian(self.epsilon, distance, sigma))
                inner = np.log1p(np.expm1(self.epsilon) / np.maximum(own, 1e-300))
                return np.asarray(own * self._gaussian(inner, distance, sigma))
            return self._mixed(own, self._chances(others), self._sigmas(noise), distance)

    def _chances(self, others: FloatArray) -> FloatArray:
        """Of 0 to K - 1 of the others, shape (K, n)."""
        most = self.system.devices - 1
        count = np.arange(most + 1)[:, None]
        ways = special.gammaln(most + 1) - special.gammaln(count + 1) - special.gammaln(most - count + 1)
        logs = ways + special.xlogy(count, others) + special.xlog1py(most - count, -others)
        return np.asarray(np.exp(logs))

    def _sigmas(self, noise: FloatArray) -> FloatArray:
        """With so many others."""
        count = np.arange(self.system.devices)[:, None]
        return np.asarray(np.sqrt(self.system.receiver_noise_variance + (count + 1) * noise))

    def _mixed(self, own: FloatArray, chance: FloatArray, sigma: FloatArray, distance: FloatArray) -> FloatArray:
        found = self._gaussian(self.epsilon, np.broadcast_to(distance, sigma.shape), sigma)
        return np.asarray(own * np.sum(chance * found, axis=0))

    @staticmethod
    def _gaussian(epsilon: float | FloatArray, distance: FloatArray, sigma: FloatArray) -> FloatArray:
        unit = np.where(sigma > 0, distance / np.maximum(sigma, 1e-300), np.where(distance > 0, 1e150, 0.0))
        found = gaussian.delta(np.minimum(epsilon, 1e300), sensitivity=np.minimum(unit, 1e150), sigma=1.0)
        return np.asarray(found, dtype=np.float64)

    def greatest(
        self, own: FloatArray, others: FloatArray, noise: FloatArray, total: float
    ) -> tuple[FloatArray, FloatArray]:
        """The greatest sensitivity at the receiver that keeps delta at `total`, from both sides; infinite where any does."""
        floor, K = self.system.receiver_noise_variance, self.system.devices
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = total / own
            inner: float | FloatArray = self.epsilon
            if self.system.idle_noise and self.observer is not Observer.PARTICIPANTS:
                inner = np.log1p(np.expm1(self.epsilon) / np.maximum(own, 1e-300))
            bounded = share < 1
            safe_share = np.where(bounded, share, 0.5)
            unit = 1 / gaussian.sigma(inner, safe_share, sensitivity=1.0) / np.sqrt(self.rounds)
            high = unit * np.sqrt(floor + K * noise) * (1 + 1e-9)
            low = unit * np.sqrt(floor + (K if self.system.idle_noise else 1) * noise) * (1 - 1e-9)
            if self.system.idle_noise:
                return np.where(bounded, low, np.inf), np.where(bounded, high, np.inf)
            chance, sigma = self._chances(others), self._sigmas(noise)
            for _ in range(_HALVINGS):
                middle = np.sqrt(low * high)
                safe = self._mixed(own, chance, sigma, middle * np.sqrt(self.rounds)) <= total
                low, high = np.where(safe, middle, low), np.where(safe, high, middle)
        return np.where(bounded, low, np.inf), np.where(bounded, high, np.inf)


@dataclass(frozen=True)
class Problem:
    """The problem on the unit cube of what is free among participation, noise, clip."""

    system: InferenceSystem
    free: frozenset[Free]
    moments: Moments
    screen: Screen | None
    error: float | None
    energy: float | None
    goal: Goal

    @property
    def axes(self) -> tuple[Free, ...]:
        """The dimensions of the cube; with nothing free but the weight one that changes nothing."""
        wanted = (Free.PARTICIPATION, Free.NOISE, Free.CLIP)
        return tuple(f for f in wanted if f in self.free and (f is not Free.CLIP or self.moments.clip.size > 1))

    def _at(self, cube: FloatArray, axis: Free, given: float) -> FloatArray:
        if axis not in self.axes:
            return np.full(cube.shape[0], given)
        t = cube[:, self.axes.index(axis)]
        if axis is Free.PARTICIPATION:
            return np.where(t > 0, _RAREST ** (1 - t), 0.0)
        unit = self.unit
        return np.where(t > 0, unit * _QUIETEST * (_LOUDEST / _QUIETEST) ** t, 0.0)

    @property
    def unit(self) -> float:
        """Of noise variances: the receiver's before the alignment, or else the square of the weighted clip."""
        floor = self.system.decoded_receiver_noise
        return floor if floor > 0 else float(self.system.weight[0] * self.system.clip[0]) ** 2 or 1.0

    def _clips(self, cube: FloatArray, rounding: Callable[[FloatArray], FloatArray]) -> IntArray:
        most = self.moments.clip.size - 1
        if Free.CLIP not in self.axes:
            return np.zeros(cube.shape[0], dtype=np.int64)
        return np.asarray(np.clip(rounding(cube[:, self.axes.index(Free.CLIP)] * most), 0, most), dtype=np.int64)

    def bound(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Of the goal, at least, on every box."""
        p, s = float(self.system.participation[0]), float(self.system.noise_variance[0])
        own, others = self._at(low, Free.PARTICIPATION, p), self._at(high, Free.PARTICIPATION, p)
        quiet, loud = self._at(low, Free.NOISE, s), self._at(high, Free.NOISE, s)
        i, j = self._clips(low, np.floor), self._clips(high, np.ceil)
        return self._least(own, others, quiet, loud, i, j, self.system.delta, bound=True)[0]

    def value(self, points: FloatArray) -> FloatArray:
        """Of the goal at points; infinite where a constraint is broken."""
        return self.at(points)[0]

    def at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values and the weights that go with them."""
        p = self._at(points, Free.PARTICIPATION, float(self.system.participation[0]))
        s = self._at(points, Free.NOISE, float(self.system.noise_variance[0]))
        i = self._clips(points, np.round)
        p = np.maximum(p, _RAREST) if Free.PARTICIPATION in self.axes else p
        return self._least(p, p, s, s, i, i, self.system.delta * (1 - _MARGIN), bound=False)

    def designed(self, point: FloatArray) -> dict[Free, float]:
        """The variables at a point."""
        points = point[None, :]
        p = self._at(points, Free.PARTICIPATION, float(self.system.participation[0]))
        p = np.maximum(p, _RAREST) if Free.PARTICIPATION in self.axes else p
        return {
            Free.PARTICIPATION: float(p[0]),
            Free.NOISE: float(self._at(points, Free.NOISE, float(self.system.noise_variance[0]))[0]),
            Free.CLIP: float(self.moments.clip[self._clips(points, np.round)[0]]),
            Free.WEIGHT: float(self.at(points)[1][0]),
        }

    def _least(
        self,
        own: FloatArray,
        others: FloatArray,
        quiet: FloatArray,
        loud: FloatArray,
        i: IntArray,
        j: IntArray,
        total: float,
        *,
        bound: bool,
    ) -> tuple[FloatArray, FloatArray]:
        """The goal at its most favourable corner, and the weight there; infinite where a constraint cannot be kept."""
        system, moments = self.system, self.moments
        K, gamma, floor = system.devices, system.alignment, system.decoded_receiver_noise
        sends = np.ones_like(own) if system.idle_noise else own
        cost = float(np.max(gamma**2 / system.channel_gain))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # p^2 V: noise in the decoded mean, times p
            heard = K * quiet + floor if system.idle_noise else K * quiet * others + floor
            noisy = moments.decoder * heard / others**2
            hiss = cost * sends * system.dimension * K * quiet
            least = np.zeros_like(own)
            if self.error is not None:
                room = moments.room(i, j, others, self.error)
                least = np.where(room > 0, np.sqrt(noisy / room), np.inf)
            most = np.full_like(own, np.inf)
            factor = 2.0 if system.adjacency is Adjacency.REPLACE else 1.0
            reach = factor * gamma * moments.clip[i]
            if Free.WEIGHT not in self.free:
                given = float(system.weight[0])
                least, most = np.where(given >= least * (1 - 1e-12), given, np.inf), np.full_like(own, given)
            if self.goal is Goal.ENERGY:
                broken = ~np.isfinite(least)
                if self.screen is not None:
                    safe = (
                        self.screen.delta(own, others, np.where(broken, 0.0, least * reach), gamma**2 * loud) <= total
                    )
                    broken |= ~safe
                # p w^2 falls with p where w is the least that keeps the MSE
                power = np.where(Free.WEIGHT in self.free, least**2 * others, least**2 * own)
                spent = cost * power * moments.energy[i] + hiss
                return np.where(broken, np.inf, spent), least
            if self.screen is not None:
                kept, loose = self.screen.greatest(own, others, gamma**2 * loud, total)
                most = np.minimum(most, (loose if bound else kept) / reach)
            if not bound and Free.WEIGHT in self.free:  # where epsilon holds at any weight, one that drowns the noise
                enough = np.where(noisy * moments.own > 0, np.sqrt(noisy / (_DROWNED * moments.own)), 1 / reach)
                most = np.where(most < np.inf, most, enough)
            noise = np.where(most < np.inf, noisy / most**2, 0.0)
            broken = most < (least if Free.WEIGHT not in self.free else 0.0) * (1 - 1e-12)
            if self.energy is not None:
                left = self.energy - hiss
                broken |= left <= 0
                limit = np.sqrt(np.maximum(left, 0.0) / (cost * moments.energy[i] * others))
                if Free.WEIGHT in self.free:
                    noise = np.maximum(noise, noisy / limit**2)
                    most = np.minimum(most, limit)
                else:
                    broken |= cost * own * most**2 * moments.energy[i] > left * (1 + 1e-12)
            broken |= ~(most > 0)
            return np.where(broken, np.inf, moments.error(i, j, others, noise)), most


def solve(problem: Problem, *, gap: float, seconds: float, enough: float = -np.inf) -> branching.Found:
    """Branch and bound on the problem."""
    dimensions = max(len(problem.axes), 1)
    return branching.minimise(problem.bound, problem.value, dimensions, gap=gap, seconds=seconds, enough=enough)
