"""Simulation of collaborative inference over the air: participation, noise, aggregation; delta by likelihood ratios."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.estimate import Interval, mean_interval
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import InferenceSystem

_BLOCK = 1 << 15  # samples drawn at a time, which limits memory


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
    intervals = []
    for forward in (True, False):
        present_first, other_first = _neighbours(system)
        truth, other = (present_first, other_first) if forward else (other_first, present_first)
        tau = (rng.random((rounds, system.devices)) < system.participation).astype(float)
        if truth is None:
            tau[:, device] = 0.0
        signal = np.zeros((rounds, system.devices, system.dimension))
        signal[:, device, 0] = 0.0 if truth is None else truth * system.weight[device] * system.clip[device]
        y = receive(system, tau, signal, rng)
        seen = y[:, 0], np.sum(y * y, axis=1)
        ratio = _log_density(system, device, truth, tau, seen) - _log_density(system, device, other, tau, seen)
        with np.errstate(over="ignore"):
            intervals.append(mean_interval(-np.expm1(np.minimum(eps - ratio, 0.0)), failure / 2))
    return Interval(*(max(getattr(i, bound) for i in intervals) for bound in ("estimate", "lower", "upper")))


def _neighbours(system: InferenceSystem) -> tuple[float | None, float | None]:
    """The device's signal under both neighbours, in units of w C; None when the device is absent."""
    if system.adjacency is Adjacency.REPLACE:
        return 1.0, -1.0
    return 1.0, 0.0 if system.adjacency is Adjacency.SILENT or system.idle_noise else None


def log_ratios(
    system: InferenceSystem,
    *,
    device: int,
    samples: int,
    rng: np.random.Generator,
    rounds: int = 1,
    norm: float | None = None,
    heard: Callable[[int], None] = lambda drawn: None,
) -> tuple[FloatArray, FloatArray]:
    """Samples of the log-likelihood ratio of T rounds, drawn with the device's feature and drawn under its neighbour.

    The observer is that of :func:`estimate_delta`. Only the component of y along the feature and the squared norm of y
    are drawn: the ratio depends on nothing else.

    Parameters
    ----------
    device, samples : int
    rng : numpy.random.Generator
    rounds : int
        The number T of rounds, each with independent participation and noise.
    norm : float, optional
        Norm of the device's code, in [0, clip]; the clip by default.
    heard : callable
        Called with the number of samples of one round that have been drawn, again and again.
    """
    signals = _neighbours(system)
    share = 1.0 if norm is None else checks.scalar("norm", norm, f"[0, {system.clip[device]}]") / system.clip[device]
    first, second = (None if side is None else side * share for side in signals)
    ratios = np.zeros((2, samples))
    for total, truth in zip(ratios, (first, second), strict=True):
        for start in range(0, samples, _BLOCK):
            block = total[start : start + _BLOCK]
            for _ in range(rounds):
                tau = (rng.random((block.size, system.devices)) < system.participation).astype(float)
                if truth is None:
                    tau[:, device] = 0.0
                seen = _received(system, device, truth or 0.0, tau, rng)
                block += _log_density(system, device, first, tau, seen) - _log_density(
                    system, device, second, tau, seen
                )
                heard(block.size)
    return ratios[0], ratios[1]


def _received(
    system: InferenceSystem, device: int, signal: float, tau: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """The component of y along the feature, and the squared norm of y."""
    sends = np.ones_like(tau) if system.idle_noise else tau
    v = system.alignment**2 * sends @ system.noise_variance + system.receiver_noise_variance
    mean = system.alignment * signal * system.weight[device] * system.clip[device]
    along = mean * tau[:, device] + np.sqrt(v) * rng.standard_normal(v.size)
    across = v * rng.chisquare(system.dimension - 1, v.size) if system.dimension > 1 else 0.0
    return along, along * along + across


def _log_density(
    system: InferenceSystem,
    device: int,
    signal: float | None,
    tau: FloatArray,
    seen: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Log density of y under a neighbour, up to a term that both neighbours share.

    `seen` holds the component of y along the feature and the squared norm of y. `signal` is the device's signal in
    units of w C, or None when the device is absent.
    """
    gain = system.alignment**2
    sends = np.ones_like(tau) if system.idle_noise else tau
    others = np.delete(np.arange(system.devices), device)
    v = gain * sends[:, others] @ system.noise_variance[others] + system.receiver_noise_variance
    device_noise = gain * system.noise_variance[device]
    idle = v + device_noise if system.idle_noise else v
    absent = _isotropic(system, seen, 0.0, idle)
    if signal is None:
        return absent
    mean = system.alignment * signal * system.weight[device] * system.clip[device]
    present = _isotropic(system, seen, mean, v + device_noise)
    if system.adjacency is not Adjacency.ABSENT and not system.idle_noise:
        return np.where(tau[:, device] == 1, present, absent)
    # the observer does not see whether the device takes part: a mixture of both densities
    p = system.participation[device]
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(np.log(p) + present, np.log1p(-p) + absent))


def _isotropic(
    system: InferenceSystem, seen: tuple[FloatArray, FloatArray], mean: float, variance: FloatArray
) -> FloatArray:
    """Log density, up to a constant, of a Gaussian with `variance` in every direction and `mean` along the feature."""
    along, square = seen
    distance = square - 2 * mean * along + mean * mean
    return np.asarray(-distance / (2 * variance) - system.dimension / 2 * np.log(variance))
