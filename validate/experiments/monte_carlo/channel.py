"""Simulation of collaborative inference over the air: participation, noise, aggregation; delta by likelihood ratios."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.estimate import Interval, mean_interval
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import InferenceSystem

_BLOCK = 1 << 16  # samples times devices drawn at a time: few enough for the processor's cache


def receive(
    system: InferenceSystem,
    participants: FloatArray,
    signal: FloatArray,
    rng: np.random.Generator,
    *,
    reach: FloatArray | None = None,
) -> FloatArray:
    """The received vector y = gamma sum tau_k (signal_k + n_k) + m, once for each row of `participants`.

    Parameters
    ----------
    participants : ndarray, shape (N, K)
        tau: 1 for a device that takes part, 0 for another.
    signal : ndarray, shape (N, K, r)
        The weighted codes w_k z_k.
    reach : ndarray, shape (K,), optional
        The greatest length of a sent vector; a longer one is scaled down to it, see
        :func:`airtight.analytics.inference.transmission.reach_of`.

    Returns
    -------
    ndarray, shape (N, r)
    """
    rounds, r = participants.shape[0], system.dimension
    y = np.sqrt(system.receiver_noise_variance) * rng.standard_normal((rounds, r))
    for k in range(system.devices):
        noise = np.sqrt(system.noise_variance[k]) * rng.standard_normal((rounds, r))
        sends_noise = np.ones(rounds) if system.idle_noise else participants[:, k]
        sent = participants[:, k, None] * signal[:, k] + sends_noise[:, None] * noise
        if reach is not None:
            sent *= np.minimum(1.0, reach[k] / np.maximum(np.linalg.norm(sent, axis=1), 1e-300))[:, None]
        y += system.alignment * sent
    return np.asarray(y)


def estimate_delta(
    system: InferenceSystem,
    epsilon: float,
    *,
    device: int,
    rounds: int,
    rng: np.random.Generator,
    failure: float = 1e-3,
) -> Interval:
    """Estimate delta(epsilon) of one device from simulated rounds: the larger of both directions.

    The device's feature is C e_1 (``replace``: against -C e_1). The observer is the one that
    :func:`airtight.analytics.privacy.over_the_air.system_privacy.delta` describes for the adjacency. In each
    direction delta is the mean of (1 - exp(epsilon - L))_+, where L is the log-likelihood ratio of the received vector.

    Parameters
    ----------
    epsilon : float
    device : int
    rounds : int
        Number of rounds in each direction; memory is rounds times K times r doubles.
    rng : numpy.random.Generator
    failure : float
        Upper bound of the probability that the interval does not contain delta.
    """
    eps = checks.scalar("epsilon", epsilon, "[0, inf)")
    intervals, devices = [], np.array([device])
    for forward in (True, False):
        present_first, other_first = _neighbours(system)
        truth, other = (present_first, other_first) if forward else (other_first, present_first)
        tau = (rng.random((rounds, system.devices)) < system.participation).astype(float)
        if truth is None:
            tau[:, device] = 0.0
        signal = np.zeros((rounds, system.devices, system.dimension))
        signal[:, device, 0] = 0.0 if truth is None else truth[0] * system.weight[device] * system.clip[device]
        y = receive(system, tau, signal, rng)
        known = tau.T[devices] == 1, _others_noise(system, tau.T, devices), (y[:, 0], np.sum(y * y, axis=1))
        ratio = _log_ratio(system, devices, truth, other, *known)
        with np.errstate(over="ignore"):
            intervals.append(mean_interval(-np.expm1(np.minimum(eps - ratio[0], 0.0)), failure / 2))
    return Interval(*(max(getattr(i, bound) for i in intervals) for bound in ("estimate", "lower", "upper")))


def _neighbours(system: InferenceSystem) -> tuple[FloatArray, FloatArray | None]:
    """The device's signal under both neighbours, in units of w C; None when the device is absent."""
    one = np.ones(1)
    if system.adjacency is Adjacency.REPLACE:
        return one, -one
    return one, 0.0 * one if system.adjacency is Adjacency.SILENT or system.idle_noise else None


def log_ratios(
    system: InferenceSystem,
    *,
    devices: IntArray,
    samples: int,
    rng: np.random.Generator,
    rounds: int = 1,
    norm: FloatArray | None = None,
    heard: Callable[[int], None] = lambda drawn: None,
) -> FloatArray:
    """Samples of the log-likelihood ratios of T rounds, drawn with a device's feature and drawn under its neighbour.

    The observer is that of :func:`estimate_delta`. Only the component of y along the feature and the squared norm of y
    are drawn: the ratio depends on nothing else. All devices are attacked with the same participation and noise of the channel,
    so the time grows as samples times T times (K + devices). The samples of one device are independent; those of two are not.

    Parameters
    ----------
    devices : ndarray of int, shape (D,)
    samples : int
    rng : numpy.random.Generator
    rounds : int
        The number T of rounds, each with independent participation and noise.
    norm : ndarray, shape (D,), optional
        Norms of the devices' codes, in [0, clip]; the clips by default.
    heard : callable
        Called with the number of samples of one round that have been drawn, again and again.

    Returns
    -------
    ndarray, shape (2, D, samples)
    """
    clip = system.clip[devices]
    share = np.ones(devices.size) if norm is None else norm / clip
    if not np.all((share >= 0) & (share <= 1)):
        raise ParameterError("norm", norm, "between 0 and the clip of each device")
    first, second = (None if side is None else side * share for side in _neighbours(system))
    ratios = np.zeros((2, devices.size, samples))
    block = max(_BLOCK // (system.devices + devices.size), 64)
    for total, truth in zip(ratios, (first, second), strict=True):
        for start in range(0, samples, block):
            part = total[:, start : start + block]
            for _ in range(rounds):
                tau = rng.random((system.devices, part.shape[1])) < system.participation[:, None]
                sends = tau[devices] & (truth is not None)
                others = _others_noise(system, tau, devices)
                seen = _received(system, devices, truth, sends, others, rng)
                part += _log_ratio(system, devices, first, second, sends, others, seen)
                heard(part.size)
    return ratios


def _others_noise(system: InferenceSystem, tau: NDArray[Any], devices: IntArray) -> FloatArray:
    """Variance of the noise in y of the receiver and of all devices but one, for each of `devices` and each round."""
    received = system.alignment**2 * system.noise_variance[:, None] * (np.ones(tau.shape) if system.idle_noise else tau)
    # sums of those before a device and of those behind it: to subtract its own noise from a total would cancel
    before, behind = np.zeros((2, system.devices + 1, tau.shape[1]))
    np.cumsum(received, axis=0, out=before[1:])
    np.cumsum(received[::-1], axis=0, out=behind[-2::-1])
    return np.asarray(before[devices] + behind[devices + 1] + system.receiver_noise_variance)


def _own_noise(system: InferenceSystem, devices: IntArray) -> FloatArray:
    return np.asarray(system.alignment**2 * system.noise_variance[devices, None])


def _mean(system: InferenceSystem, devices: IntArray, signal: FloatArray) -> FloatArray:
    return np.asarray(system.alignment * signal * system.weight[devices] * system.clip[devices])[:, None]


def _received(
    system: InferenceSystem,
    devices: IntArray,
    signal: FloatArray | None,
    sends: NDArray[np.bool_],
    others: FloatArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """The component of y along the feature, and the squared norm of y, for each device and round."""
    v = others + _own_noise(system, devices) * (1 if system.idle_noise else sends)
    mean = 0.0 if signal is None else _mean(system, devices, signal) * sends
    normal = rng.standard_normal(sends.shape[1])
    across = rng.chisquare(system.dimension - 1, sends.shape[1]) if system.dimension > 1 else 0.0
    along = mean + np.sqrt(v) * normal
    return along, along * along + v * across


def _log_ratio(
    system: InferenceSystem,
    devices: IntArray,
    first: FloatArray | None,
    second: FloatArray | None,
    sends: NDArray[np.bool_],
    others: FloatArray,
    seen: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Log of the ratio of the densities of y under two neighbours, for each device and round.

    `seen` holds the component of y along the feature and the squared norm of y; `first` and `second` are the devices' signals
    in units of w C, or None when the device is absent.
    """
    own = _own_noise(system, devices)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if first is not None and second is not None and not system.idle_noise:  # the observer sees whether the device takes part
            means = _mean(system, devices, first), _mean(system, devices, second)
            shifted = (means[0] - means[1]) * (2 * seen[0] - (means[0] + means[1]))
            return np.where(sends & (shifted != 0), shifted / (2 * (others + own)), 0.0)
        # with and without the device: a mixture, unless it is absent
        p, without = system.participation[devices, None], others + own if system.idle_noise else others
        laws: list[list[tuple[FloatArray, FloatArray, FloatArray]]] = [
            [(np.zeros(1), np.zeros(1), without)]
            if signal is None
            else [(np.log(p), _mean(system, devices, signal), others + own), (np.log1p(-p), np.zeros(1), without)]
            for signal in (first, second)
        ]
        of_first, of_second = (
            np.logaddexp.reduce([log_share + _isotropic(system, seen, *law) for log_share, *law in each]) for each in laws
        )
        ratio = np.asarray(of_first - of_second)
        if np.any(without == 0):  # without any noise a law has an atom, beside which densities do not count
            of_first, of_second = (
                np.logaddexp.reduce([log_share + _log_atom(seen, *law) for log_share, *law in each]) for each in laws
            )
            ratio = np.where(np.maximum(of_first, of_second) > -np.inf, of_first - of_second, ratio)
    return ratio


def _log_atom(seen: tuple[FloatArray, FloatArray], mean: FloatArray, variance: FloatArray) -> FloatArray:
    """0 where y is the mean of a Gaussian without noise, -inf elsewhere."""
    along, square = seen
    return np.where((variance == 0) & (along == mean) & (square == along * along), 0.0, -np.inf)


def _isotropic(
    system: InferenceSystem, seen: tuple[FloatArray, FloatArray], mean: FloatArray, variance: FloatArray
) -> FloatArray:
    """Log density, up to a constant, of a Gaussian of `mean` along the feature and of one variance in every direction, if any."""
    along, square = seen
    distance = square - 2 * mean * along + mean * mean
    return np.where(variance > 0, -distance / (2 * variance) - system.dimension / 2 * np.log(variance), -np.inf)
