r"""From features to what the server decodes: fading, alignment, peak power, and Algorithms 1 and 2 of FDP.

Device k sends :math:`x_k = \min\{\gamma/h_k,\ \text{power limit}\}\,(w_kz_k + n_k)`: Eq. (4) with the :math:`\alpha_k` of
Eq. (6), where :math:`p_k` cancels. It is aligned when its amplitude at the receiver is :math:`\gamma`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, broadcast, real
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem


def watt(dbm: ArrayLike) -> FloatArray:
    """Power in watt of a level in dBm.

    Examples
    --------
    >>> float(watt(30.0))
    1.0
    """
    return np.asarray(10.0 ** ((real("dbm", dbm, "[-1000, 1000]") - 30) / 10))[()]


def published_limit(power: ArrayLike, *, weight: ArrayLike, clip: ArrayLike, noise_norm: ArrayLike) -> FloatArray:
    r"""Eq. (6) as printed: amplitude :math:`\sqrt{P/(w^2C^2 + \|n\|^2)}`. **Breaks the power constraint**, ledger FDP-E6.

    The cross term of :math:`\|wz + n\|^2` is dropped: with n along z the power sent is up to 2P.

    Parameters
    ----------
    power : array_like
        Peak power P_k > 0 of a whole block of r symbols, in W times symbol periods.
    weight, clip : array_like
        w_k >= 0, C_k > 0.
    noise_norm : array_like
        norm(n_k) >= 0.

    Examples
    --------
    >>> amplitude = float(published_limit(1.0, weight=1.0, clip=3.0, noise_norm=3.0))
    >>> round((amplitude * (3.0 + 3.0)) ** 2, 12)  # the power sent when n = z
    2.0
    """
    P, w, C, n = _limits(power, weight, clip, noise_norm)
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(P) / np.hypot(w * C, n))[()]


def proven_limit(power: ArrayLike, *, weight: ArrayLike, clip: ArrayLike, noise_norm: ArrayLike) -> FloatArray:
    r"""An amplitude that keeps the constraint whatever the direction of the noise: :math:`\sqrt P/(wC + \|n\|)`.

    Notes
    -----
    :math:`\|wz + n\| \le wC + \|n\|`.

    Examples
    --------
    >>> float(proven_limit(1.0, weight=1.0, clip=3.0, noise_norm=3.0))
    0.16666...
    """
    P, w, C, n = _limits(power, weight, clip, noise_norm)
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(P) / (w * C + n))[()]


def exact_limit(power: ArrayLike, *, signal_norm: ArrayLike) -> FloatArray:
    r"""The greatest amplitude that keeps the constraint: :math:`\sqrt P/\|wz + n\|`.

    Parameters
    ----------
    power : array_like
        P_k > 0.
    signal_norm : array_like
        norm(w_k z_k + n_k) >= 0; infinite amplitude where it is 0.

    Examples
    --------
    >>> float(exact_limit(1.0, signal_norm=5.0))
    0.2
    """
    P, norm = broadcast(
        power=real("power", power, "(0, inf)"), signal_norm=real("signal_norm", signal_norm, "[0, inf)")
    )
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(P) / norm)[()]


def _limits(power: ArrayLike, weight: ArrayLike, clip: ArrayLike, noise_norm: ArrayLike) -> tuple[FloatArray, ...]:
    return broadcast(
        power=real("power", power, "(0, inf)"),
        weight=real("weight", weight, "[0, inf)"),
        clip=real("clip", clip, "(0, inf)"),
        noise_norm=real("noise_norm", noise_norm, "[0, inf)"),
    )


def extract(system: InferenceSystem, features: Features, rng: np.random.Generator) -> FloatArray:
    """Algorithm 1: encode, clip, weight and perturb; what every device would send, shape (K, r)."""
    matched(system, features)
    z = features.clipped(system.clip)
    noise = np.sqrt(system.noise_variance)[:, None] * rng.standard_normal(z.shape)
    return np.asarray(system.weight[:, None] * z + noise)


def receive(
    system: InferenceSystem,
    signals: FloatArray,
    participants: ArrayLike,
    rng: np.random.Generator,
    *,
    gain: ArrayLike = 1.0,
) -> FloatArray:
    r"""Eq. (5): :math:`y = \gamma\sum_{k\in S} g_k\tilde z_k + m`, with :math:`g_k = 1` for aligned devices; shape (r,).

    Parameters
    ----------
    signals : ndarray, shape (K, r)
        What :func:`extract` returns.
    participants : array_like
        K truth values, or indices.
    gain : array_like
        Misalignment, see :func:`airtight.analytics.inference.distortion.breakdown`.
    """
    takes_part = checks.subset("participants", participants, system.devices)
    g = checks.vector("gain", gain, system.devices, "[0, inf)")
    m = np.sqrt(system.receiver_noise_variance) * rng.standard_normal(system.dimension)
    return np.asarray(system.alignment * ((takes_part * g) @ signals) + m)


def infer(
    system: InferenceSystem, features: Features, received: FloatArray, classifier: Callable[[FloatArray], FloatArray]
) -> tuple[int, FloatArray]:
    r"""Algorithm 2: :math:`\hat f = g D y/\gamma`, and the label with the greatest output of the classifier.

    Returns
    -------
    label : int
    decoded : ndarray, shape (d,)
    """
    decoded = np.asarray(matched(system, features).D @ (received / system.alignment))
    return int(np.argmax(classifier(decoded))), decoded


def misaligned(system: InferenceSystem, features: Features, *, gain: ArrayLike, power: ArrayLike) -> FloatArray:
    r"""Probability that a device's power does not suffice for alignment, :math:`\Pr(\|w_kz_k + n_k\| > h_k\sqrt{P_k}/\gamma)`.

    Then Eq. (7), Theorem 1 and the MSE of Sec. IV do not apply: what arrives is not Gaussian, and its amplitude depends on
    the noise. See :func:`airtight.analytics.inference.power_limit.exact_mse` for what the error then is.

    Parameters
    ----------
    gain : array_like, shape (K,) or scalar
        Channel amplitudes h_k >= 0.
    power : array_like, shape (K,) or scalar
        P_k > 0.

    Returns
    -------
    ndarray, shape (K,)

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> misaligned(*_lossless(), gain=1.0, power=4.0)
    array([0.123..., 0.123...])
    """
    matched(system, features)
    reach = reach_of(system, gain, power)
    signal = system.weight * np.linalg.norm(features.clipped(system.clip), axis=1)
    out = (signal > reach).astype(float)
    noisy = system.noise_variance > 0
    variance = system.noise_variance[noisy]
    if np.any(noisy):
        from airtight.analytics.distributions import quadratic_form

        out[noisy] = quadratic_form.sf(
            reach[noisy] ** 2,
            weight=variance[:, None],
            degrees=float(system.dimension),
            noncentrality=(signal[noisy] ** 2 / variance)[:, None],
        )
    return np.asarray(out, dtype=np.float64)


def reach_of(system: InferenceSystem, gain: ArrayLike, power: ArrayLike) -> FloatArray:
    """The longest signal that device k can send aligned: h_k sqrt(P_k) / gamma."""
    h = checks.vector("gain", gain, system.devices, "[0, inf)")
    return np.asarray(h * np.sqrt(checks.vector("power", power, system.devices, "(0, inf)")) / system.alignment)


def transmit_energy(
    system: InferenceSystem, features: Features | Sequence[Features] | None = None
) -> FloatArray:
    r"""Mean energy that each device spends on one round when it is aligned (Eq. (4), (6) without the limit), shape (K,).

    .. math:: \gamma^2\,E\Bigl[\frac1{|h_k|^2}\Bigr]\bigl(p_kw_k^2\|z_k\|^2 + q_k\,r\sigma_k^2\bigr),\qquad
              q_k = p_k,\ \text{or } 1 \text{ with idle noise}.

    Parameters
    ----------
    system : InferenceSystem
        Without a channel, with the ``channel_gain`` :math:`|h_k|^2` of every device. Over a channel the mean is that of the gains
        with which the device sends (:meth:`~airtight.analytics.inference.channel.Channel.inverse_gain`).
    features : Features or sequence of Features, optional
        Of several tasks the mean is taken. Without them every code counts as long as its clip allows: an upper bound on the
        energy of any.

    Returns
    -------
    ndarray, shape (K,)
        In the unit of the noise variances times symbol periods (W s where these are in W).

    Notes
    -----
    The device sends :math:`(\gamma/h_k)(w_kz_k + n_k)`, and the noise has mean 0.

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> system, views = _lossless()
    >>> transmit_energy(system, views)
    array([1.8, 1.8])
    >>> system = InferenceSystem(devices=1, noise_variance=0.1, weight=1.0, clip=1.0, alignment=1.0, dimension=8, delta=1e-5,
    ...     receiver_noise_variance=0.1, channel={"fading": "rayleigh", "max_power": 4.0})
    >>> transmit_energy(system).round(4)  # of 1.8 for a block at gain 1
    array([1.1256])
    """
    tasks = [features] if isinstance(features, Features) else features
    lengths = [system.clip] if tasks is None else [_lengths(system, task) for task in tasks]
    sends = np.ones(system.devices) if system.idle_noise else system.participation
    with np.errstate(over="ignore", invalid="ignore"):
        code = system.participation * np.mean(np.square(system.weight * lengths), axis=0)
        block = code + sends * system.dimension * system.noise_variance
        aligned, channel = np.float64(system.alignment) ** 2, system.channel
        price = aligned / system.channel_gain if channel is None else aligned * channel.inverse_gain(system)
        return np.asarray(np.where(block > 0, price * block, 0.0))


def _lengths(system: InferenceSystem, features: Features) -> FloatArray:
    """Norms of the clipped codes."""
    matched(system, features)
    return np.asarray(np.linalg.norm(features.clipped(system.clip), axis=1))
