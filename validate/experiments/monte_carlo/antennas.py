"""The optimal test on what several antennas receive, simulated: channels, rolls, codes and noise as the model says.

Nothing of :mod:`.channel_privacy` is used. The likelihood ratio is that of the whole received
signal, L looks of r coordinates, with the covariance of what is sent and of the receiver's noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.channel import Channel, Looks
from airtight.analytics.inference.system import InferenceSystem

_AT_ONCE = 1 << 22  # numbers that one block of samples holds


def log_ratios(
    system: InferenceSystem,
    channel: Channel,
    *,
    device: int,
    samples: int,
    rng: np.random.Generator,
    rounds: int = 1,
    heard: Callable[[int], None] = lambda drawn: None,
) -> tuple[FloatArray, FloatArray]:
    """Samples of the log-likelihood ratio of T rounds, drawn with the device's feature and drawn under its neighbour.

    The observer knows the channel; for ``silent`` and ``replace`` he sees who takes part, for ``absent`` who of the others
    does.

    Parameters
    ----------
    system : InferenceSystem
        With the participation that the power limit decides.
    channel : Channel
        Known to the observer; its states are those of :meth:`~airtight.analytics.inference.channel.Channel.draw`.
    device, samples : int
    rng : numpy.random.Generator
    rounds : int
        T; each has a state of its own where the channel is fresh.
    heard : callable
        Called with the number of samples of one round that have been drawn, again and again.
    """
    if not channel.known:
        raise ParameterError("known", False, "true: the test needs the coefficients")
    drawn = channel.draw(system)
    block = max(_AT_ONCE // (drawn.coefficients.shape[2] * (system.devices + _coordinates(system))), 1)
    ratios = np.zeros((2, samples))
    for total, with_feature in zip(ratios, (True, False), strict=True):
        for start in range(0, samples, block):
            part = total[start : start + block]
            state = rng.integers(len(drawn.coefficients), size=part.size)
            rolls = None
            for _ in range(rounds):
                if channel.fresh:
                    state, rolls = rng.integers(len(drawn.coefficients), size=part.size), None
                if rolls is None:
                    rolls = _rolls(system, drawn, state, device, rng)
                part += _ratio(system, drawn, device, state, rolls, with_feature, rng)
                heard(part.size)
                if not channel.decides_participation:
                    rolls = None
    return ratios[0], ratios[1]


def receive(
    system: InferenceSystem,
    drawn: Looks,
    state: NDArray[np.int64],
    participants: FloatArray,
    signal: FloatArray,
    rng: np.random.Generator,
) -> NDArray[Any]:
    """What all looks receive, shape (N, L, symbols), once for each row of `participants`.

    Parameters
    ----------
    system : InferenceSystem
    drawn : Looks
    state : ndarray of int, shape (N,)
        Which state of the channel there is.
    participants : ndarray, shape (N, K)
        1 for a device that takes part, 0 for another.
    signal : ndarray, shape (N, K, r)
        The weighted codes w_k z_k; for complex codes two coordinates are one symbol.
    rng : numpy.random.Generator
    """
    a = drawn.coefficients[state]
    joined = np.iscomplexobj(a)

    def white(variance: float, shape: tuple[int, ...]) -> FloatArray:
        return np.asarray(np.sqrt(variance) * rng.standard_normal(shape))

    def symbols(values: FloatArray) -> NDArray[Any]:
        return values[..., 0::2] + 1j * values[..., 1::2] if joined else values

    count, _, L = a.shape
    y = symbols(white(drawn.receiver_noise_variance, (count, L, system.dimension)))
    for k in range(system.devices):
        noise = white(float(system.noise_variance[k]), (count, system.dimension))
        sends_noise = np.ones(count) if system.idle_noise else participants[:, k]
        sent = symbols(participants[:, k, None] * signal[:, k] + sends_noise[:, None] * noise)
        y = y + system.alignment * a[:, k, :, None] * sent[:, None, :]
    return y


def combined(y: NDArray[Any], combination: NDArray[Any]) -> FloatArray:
    """u* Y of every row as real coordinates, shape (N, r); `combination` has shape (N, L)."""
    one = np.einsum("nl,nlr->nr", combination.conj(), y)
    return np.stack([one.real, one.imag], axis=2).reshape(one.shape[0], -1) if np.iscomplexobj(one) else one


def _coordinates(system: InferenceSystem) -> int:
    """How many coordinates the ratio depends on: all where the noise tells, else the one along the feature."""
    return system.dimension if system.adjacency is Adjacency.ABSENT and not system.idle_noise else 1


def _rolls(
    system: InferenceSystem, drawn: Looks, state: NDArray[np.int64], device: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Who would take part; the state decides it of the others where the channel decides it at all."""
    rolls = rng.random((state.size, system.devices)) < system.participation
    if drawn.sends is not None:
        own = rolls[:, device].copy()
        rolls = drawn.sends[state].copy()
        rolls[:, device] = own
    return np.asarray(rolls)


def _ratio(
    system: InferenceSystem,
    drawn: Looks,
    device: int,
    state: NDArray[np.int64],
    rolls: NDArray[np.bool_],
    with_feature: bool,
    rng: np.random.Generator,
) -> FloatArray:
    """Log-likelihood ratio of one round, from the received looks."""
    a = drawn.coefficients[state]  # (samples, K, L)
    leaves = system.adjacency is Adjacency.ABSENT and not system.idle_noise
    mixed = system.adjacency is Adjacency.ABSENT or system.idle_noise  # the own roll is not seen
    N = drawn.receiver_noise_variance / system.alignment**2
    noisy = np.ones_like(rolls) if system.idle_noise else rolls.copy()
    noisy[:, device] = True
    without = noisy.copy()
    without[:, device] = not leaves
    present, absent = (_covariance(a, mask * system.noise_variance, N) for mask in (noisy, without))
    length = system.weight[device] * system.clip[device]
    second = -length if system.adjacency is Adjacency.REPLACE else 0.0
    truth = length if with_feature else second
    here = rolls[:, device] & (with_feature or not leaves)
    coordinates = _coordinates(system)
    complex_codes = np.iscomplexobj(a)
    symbols = -(-coordinates // 2) if complex_codes else coordinates
    shape = (state.size, a.shape[2], symbols)
    white = rng.standard_normal(shape)
    if complex_codes:
        white = white + 1j * rng.standard_normal(shape)
    try:
        y = np.where(here[:, None, None], np.linalg.cholesky(present) @ white, np.linalg.cholesky(absent) @ white)
    except np.linalg.LinAlgError:
        allowed = "positive where there are more looks than devices with noise: the signal has no density"
        raise ParameterError("receiver_noise_variance", drawn.receiver_noise_variance, allowed) from None
    own = a[:, device]
    y[:, :, 0] += np.where(here, truth, 0.0)[:, None] * own
    law = {"weight": symbols if complex_codes else symbols / 2}
    first_density = _log_density(y, length * own, present, **law)
    second_density = _log_density(y, second * own, present, **law)
    nothing = _log_density(y, 0.0 * own, absent, **law)
    if not mixed:
        return np.where(rolls[:, device], first_density - second_density, 0.0)
    p = system.participation[device]
    with np.errstate(divide="ignore"):
        first = np.logaddexp(np.log(p) + first_density, np.log1p(-p) + nothing)
        other = nothing if leaves else np.logaddexp(np.log(p) + second_density, np.log1p(-p) + nothing)
    return np.asarray(first - other)


def _covariance(a: NDArray[Any], variance: FloatArray, N: float) -> NDArray[Any]:
    """Covariance of the looks of one coordinate, shape (samples, L, L)."""
    scaled = a * variance[:, :, None]
    return np.asarray(np.swapaxes(scaled, 1, 2) @ a.conj() + N * np.eye(a.shape[2]))


def _log_density(y: NDArray[Any], mean: NDArray[Any], covariance: NDArray[Any], *, weight: float) -> FloatArray:
    """Log density of the looks, up to a constant: normal coordinates, or complex symbols with the variance in each part."""
    centred = y.copy()
    centred[:, :, 0] -= mean
    quadratic = np.sum((centred.conj() * np.linalg.solve(covariance, centred)).real, axis=(1, 2))
    return np.asarray(-quadratic / 2 - weight * np.linalg.slogdet(covariance)[1])
