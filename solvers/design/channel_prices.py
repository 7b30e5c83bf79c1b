r"""The price of a limit on epsilon over a channel, where the noise alone is free: a derivative between proved ends.

All devices share one scale t of their noise. With the least scale :math:`t^*(\epsilon)` that keeps the limit and the value
f(t), the energy or the least error at this scale, the price is :math:`f'(t^*)\,dt^*/d\epsilon`. By the implicit function
theorem, for the device k that binds,

.. math:: \frac{dt^*}{d\epsilon} = -\frac{\partial\delta_k/\partial\epsilon}{\partial\delta_k/\partial t},\qquad
          \delta_k = c\sum_s\pi_s\,\delta_G(\mu_s, \epsilon'),\qquad
          \mu_s^{-2} = \frac{v_s(t) + t\sigma_k^2}{\Delta_k^2},

over the states and sets s, where :math:`\delta_G` is that of N(mu, 1) against N(0, 1). Who takes part is seen: c = p_k,
:math:`\epsilon' = \epsilon`. It is hidden by idle noise: c = p_k, :math:`e^{\epsilon'} = 1 + (e^\epsilon - 1)/p_k`.

Notes
-----
*Derivatives.* :math:`\partial\delta_G/\partial\mu = \varphi(\mu/2 - \epsilon'/\mu)` and
:math:`\partial\delta_G/\partial\epsilon' = -e^{\epsilon'}\Phi(-\mu/2 - \epsilon'/\mu)`.

*Slopes in t.* :math:`\mu_s^{-2}` is a minimum of affine functions of t (:mod:`airtight.solvers.design.channel_noise`), and
the least error is one, because the error of each combination is affine. Both are concave: chords of their proved ends beside an
interval enclose the derivative on it. The energy is affine.

*The scale* is enclosed by two scales: at the lower one a device is proved to exceed delta, at the upper one none does. All
terms are enclosed over this interval. A device that is proved to keep delta at its lower end does not bind. Of the others the
least and greatest derivative are taken, so that the ends hold whichever of them binds.

*The other order* of the sampled pair needs no attention. It is :math:`1 - e^\epsilon(1-p)` times :math:`\delta_G` at
:math:`e^{\epsilon''} = pe^\epsilon/(1 - e^\epsilon(1-p))`. The factor is at most p, and :math:`\epsilon'' \ge \epsilon'` because
:math:`(1-p)(e^\epsilon-1)^2 \ge 0`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference import combiner
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.privacy.over_the_air.multi_antenna import effective_noise
from airtight.analytics.rounding import UNIT
from airtight.solvers.design.over_the_air.joint_design import DesignRequest, JointDesign
from airtight.solvers.design.requirements import Goal
from airtight.solvers.price import ShadowPrice

_ACCURACY = 1e-4  # relative distance of a price from both of its proved ends, at most
_FACTOR = 1e-9  # relative margin for rounding: of a few densities and distribution functions, and of sums of 4e6 terms of them
_NEAR = (1e-11, 1e-9, 1e-7)  # relative distances of the ends of the scale from its root that are tried
_STEPS = (1e-6, 1e-5, 1e-4)  # relative lengths of the chords
_SEARCHED = 1e-3  # relative distance from the scale of the design in which its root is sought
_ATOMS = 1 << 22  # pairs of a state and a set, times devices, at most

_Ends = tuple[FloatArray, FloatArray]  # lower and upper


def of(design: JointDesign, request: DesignRequest, channel: Channel) -> list[ShadowPrice]:
    """The prices of the limits of a design over a channel.

    That of epsilon is known where the noise alone is free and the gap is proved, and the losses given a state are Gaussian: one
    query, or all rounds over a static channel with participation 0 or 1. Its error is proved to be below 1e-4 of it. A limit on
    error or energy beside it does not bind there, since both rise with the noise. Every other price is nan: not proved optimal.

    Examples
    --------
    >>> from airtight.solvers.design.channel_design import design
    >>> from airtight.solvers.design.requirements import InferenceRequirements
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> system, views = _example()
    >>> wanted = InferenceRequirements(minimise="error", epsilon_at_most=2.0, free=("noise_variance",))
    >>> channel = Channel(antennas=4, fading="rayleigh", states=20)
    >>> designed = design(system, channel, wanted, views)
    >>> print(*of(designed, designed.request, channel))
    d error / d epsilon = -0.08989
    """
    limits = [goal for goal in Goal if goal in request.wanted.kept and goal is not design.minimised]
    slope = math.nan
    if design.lower_bound is not None and request.wanted.epsilon_at_most is not None:
        slope = _slope(design, request, channel, request.wanted.epsilon_at_most)
    out = []
    for goal in limits:
        value = slope if goal is Goal.EPSILON else math.nan if math.isnan(slope) else 0.0
        out.append(ShadowPrice(design.minimised.value, goal.value, "", value, value))
    return out


def _slope(design: JointDesign, request: DesignRequest, channel: Channel, limit: float) -> float:
    """The derivative of the value with respect to the limit on epsilon; nan where it is not proved."""
    system = design.system
    if not np.any(system.noise_variance > 0):  # no noise keeps a slightly smaller limit, too
        return 0.0 if np.max(design.epsilon) < limit else math.nan
    scale = _Scale.of(system, channel, request, limit)
    if scale is None or (ends := scale.enclosed()) is None:
        return math.nan
    root_low, root_high, growth = ends
    if design.minimised is Goal.ENERGY:
        rise = _in_energy(system, channel)
        value = rise, rise
    elif request.purpose is not None:
        (low,), (high,) = _chords(_errors(system, channel, request.purpose.features), root_low, root_high)
        value = float(low), float(high)
    else:
        return math.nan
    # growth is -dt/d epsilon > 0
    least, greatest = value[0] * growth[0], value[1] * growth[1]
    if not (0 < least <= greatest < math.inf and greatest - least <= _ACCURACY * least):
        return math.nan
    return -(least + greatest) / 2


def _in_energy(system: InferenceSystem, channel: Channel) -> float:
    """d energy / d scale at the scale 1, exact since the energy is affine in the scale."""
    sends = np.ones(system.devices) if system.idle_noise else system.participation
    noise = sends * system.dimension * system.noise_variance
    return float(system.alignment**2 * np.sum(channel.inverse_gain(system) * noise))


def _errors(system: InferenceSystem, channel: Channel, features: tuple[Features, ...]) -> Callable[[float], _Ends]:
    """Both ends of the mean over states of the least error, by the scale."""
    drawn = channel.draw(system)

    def ends(scale: float) -> _Ends:
        at = combiner.at_states(replace(system, noise_variance=scale * system.noise_variance), features, drawn)
        margin = 1e-14 * len(at.mse)
        return np.array([np.mean(at.least) * (1 - margin)]), np.array([np.mean(at.mse) * (1 + margin)])

    return ends


def _chords(ends: Callable[[float], _Ends], low: float, high: float) -> _Ends:
    """Both ends of the derivative of concave functions on [low, high], by the chords beside it."""
    low_low, low_high = ends(low)
    high_high = ends(high)[1]
    least, greatest = np.zeros_like(low_low), np.full_like(low_low, np.inf)
    for step in _STEPS:
        least = np.maximum(least, (ends(high + step)[0] - high_high) / step)
        greatest = np.minimum(greatest, (low_high - ends(low - step)[0]) / step)
    return least * (1 - _FACTOR), greatest * (1 + _FACTOR)


@dataclass(frozen=True)
class _Scale:
    """The least scale of the noise that keeps a limit on epsilon, around 1.

    Attributes
    ----------
    system : InferenceSystem
    coefficients : ndarray, shape (states, 1, K, L)
    receiver : float
        Variance of every look's noise.
    present : ndarray of bool, shape (1, sets, K)
    weights : ndarray, shape (sets,)
        Of the sets, divided by the number of states.
    share : ndarray, shape (K,)
        Participation.
    limit : float
        On epsilon.
    sampled : bool
        Whether participation is hidden.
    distance : ndarray, shape (K,)
        Greatest difference of the received codes.
    """

    system: InferenceSystem
    coefficients: NDArray[Any]
    receiver: float
    present: NDArray[np.bool_]
    weights: FloatArray
    share: FloatArray
    limit: float
    sampled: bool
    distance: FloatArray

    @classmethod
    def of(cls, system: InferenceSystem, channel: Channel, request: DesignRequest, limit: float) -> _Scale | None:
        """None where the losses given a state and a set are no shifted Gaussian laws."""
        p = system.participation
        random = np.flatnonzero((p > 0) & (p < 1))
        drawn, observer = channel.draw(system), observers.resolved(system, request.observer)
        a, rounds = drawn.coefficients, request.rounds
        sampled = bool(random.size) and not observer.sees_device
        if not channel.known or channel.decides_participation or drawn.sends is not None:
            return None
        if rounds > 1 and (random.size or (channel.fresh and bool(np.any(a != a[:1])))):
            return None
        if system.adjacency is Adjacency.ABSENT and not system.idle_noise:
            return None
        if sampled and (not system.idle_noise or system.adjacency is Adjacency.REPLACE):
            return None
        if system.idle_noise or not random.size:
            present, weights = np.ones((1, p.size), dtype=bool) if system.idle_noise else (p == 1)[None], np.ones(1)
        elif a.shape[0] * p.size << random.size <= _ATOMS:
            sets = (np.arange(1 << random.size)[:, None] >> np.arange(random.size)) & 1 > 0
            present = np.broadcast_to(p == 1, (len(sets), p.size)).copy()
            present[:, random] = sets
            weights = np.prod(np.where(sets, p[random], 1 - p[random]), axis=1)
        else:
            return None
        return cls(
            system=system,
            coefficients=a[:, None],
            receiver=drawn.receiver_noise_variance,
            present=present[None],
            weights=weights / a.shape[0],
            share=p,
            limit=limit,
            sampled=sampled,
            distance=system.sensitivity * math.sqrt(rounds),
        )

    def inverse_square(self, scale: float) -> _Ends:
        """Both ends of mu^-2, shape (states, sets, K)."""
        device_noise = scale * self.system.received_noise_variance
        low, high = effective_noise.others_noise(
            self.coefficients, noise_variance=device_noise, receiver_noise_variance=self.receiver, present=self.present
        )
        with np.errstate(divide="ignore", over="ignore"):
            square = self.distance**2
            return (low + device_noise) / square * (1 - 1e-14), (high + device_noise) / square * (1 + 1e-14)

    @property
    def inner(self) -> FloatArray:
        """epsilon' of every device."""
        if not self.sampled:
            return np.full(self.share.size, self.limit)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log1p(np.expm1(self.limit) / self.share))

    def delta(self, scale: float) -> _Ends:
        """Both ends of delta at the limit, shape (K,)."""
        low, high = self.inverse_square(scale)
        return self._mean(self._log_delta(high, -1), -1), self._mean(self._log_delta(low, 1), 1)

    def _log_delta(self, inverse_square: FloatArray, side: int) -> FloatArray:
        mu = np.ravel(1 / np.sqrt(inverse_square))
        eps = np.ravel(np.broadcast_to(self.inner, inverse_square.shape))
        out = np.full(mu.size, -np.inf)
        some = (mu > 0) & np.isfinite(eps)
        value, _, error = gaussian.log_curve(eps[some], mu[some])
        out[some] = value + side * (error + 1e-14)
        return out.reshape(inverse_square.shape)

    def _mean(self, logs: FloatArray, side: int) -> FloatArray:
        """The mean over states and sets, with the errors of as many additions and of the products that the weights are."""
        states, sets, devices = logs.shape
        margin = (states * sets + devices + 8) * UNIT
        return np.asarray(self.share * np.einsum("j,sjk->k", self.weights, np.exp(logs)) * (1 + side * margin))

    def enclosed(self) -> tuple[float, float, tuple[float, float]] | None:
        """Both ends of the scale, and of minus its derivative with respect to the limit; None where they are not proved."""
        target, usable = self.system.delta, (self.share > 0) & (self.distance > 0)
        lowest, highest = 1 - _SEARCHED, 1 + _SEARCHED
        with np.errstate(divide="ignore", under="ignore", invalid="ignore"):
            if not np.max(self.delta(lowest)[0]) > target > np.max(self.delta(highest)[1]):
                return None
            root = optimize.brentq(
                lambda t: float(np.log(np.max(self.delta(t)[1]) / target)), lowest, highest, xtol=1e-14
            )
            for near in _NEAR:
                low, high = root * (1 - near), root * (1 + near)
                below, above = self.delta(low), self.delta(high)
                if np.any(below[0] > target * (1 + 1e-14)) and np.all(above[1] < target * (1 - 1e-14)):
                    binding = usable & ~(below[1] < target * (1 - 1e-14))
                    growth = list(self._growth(low, high, np.flatnonzero(binding)))
                    return low, high, (min(g[0] for g in growth), max(g[1] for g in growth))
        return None

    def _growth(self, low: float, high: float, devices: NDArray[np.intp]) -> Iterator[tuple[float, float]]:
        """Both ends of minus dt/d epsilon of each device, over all scales between both."""
        slope_low, slope_high = _chords(self.inverse_square, low, high)
        g_low, g_high = self.inverse_square(low)[0], self.inverse_square(high)[1]
        for k in devices:
            epsilon, mu = self.inner[k], 1 / np.sqrt(np.stack([g_high[..., k], g_low[..., k]]))
            a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
            density = np.exp(-a * a / 2) / math.sqrt(2 * math.pi)
            greatest = np.where(np.sign(a[0]) == np.sign(a[1]), np.max(density, axis=0), 1 / math.sqrt(2 * math.pi))
            by_scale = [
                self.share[k] * np.einsum("j,sj->", self.weights, d * slope[..., k] / 2 / g[..., k] ** 1.5)
                for d, slope, g in ((np.min(density, axis=0), slope_low, g_high), (greatest, slope_high, g_low))
            ]
            tail = special.log_ndtr(b)  # of b, which is greatest at mu^2 = 2 epsilon
            turns = (mu[0] ** 2 < 2 * epsilon) & (mu[1] ** 2 > 2 * epsilon)
            tails = (
                np.min(tail, axis=0),
                np.where(turns, special.log_ndtr(-math.sqrt(2 * epsilon)), np.max(tail, axis=0)),
            )
            factor = 1.0 if self.sampled else self.share[k]
            by_limit = [factor * np.einsum("j,sj->", self.weights, np.exp(self.limit + tail_bound)) for tail_bound in tails]
            yield by_limit[0] / by_scale[1] * (1 - _FACTOR), by_limit[1] / by_scale[0] * (1 + _FACTOR)
