r"""How far the decoded feature is from the pooled one: :math:`\mathrm{MSE} = E\|\hat f - f^*\|^2`.

With clipped codes :math:`z_k`, :math:`a_k = D z_k`, and participation independent of the noise (ledger FDP-MSE*),

.. math:: \mathrm{MSE} = \Bigl\|\sum_k p_k w_k a_k - f^*\Bigr\|^2 + \sum_k p_k(1-p_k) w_k^2\|a_k\|^2
          + \Bigl(\sum_k p_k\sigma_k^2 + \sigma_m^2/\gamma^2\Bigr)\|D\|_F^2 .

Everywhere the decoder is the one that the system uses, g D with its ``decoder_gain`` g.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem


@dataclass(frozen=True)
class Breakdown:
    """The exact MSE by cause.

    Attributes
    ----------
    bias : float
        Squared distance of the mean of the decoded feature from the target.
    participation : float
        Variance that random participation causes.
    local_noise, receiver_noise : float
        What the devices' and the receiver's noise contribute.
    """

    bias: float
    participation: float
    local_noise: float
    receiver_noise: float

    @property
    def total(self) -> float:
        """The MSE."""
        return self.bias + self.participation + self.local_noise + self.receiver_noise


def published(system: InferenceSystem, features: Features) -> float:
    r"""The MSE bound of FDP Sec. IV as printed. **False** as an upper bound, see ledger FDP-MSE.

    .. math:: d\|D\|_F^2\Bigl[\sum_k p_k\sigma_k^2 + \frac{\sigma_m^2}{\gamma^2}\Bigr]
              + \sum_k (w_k^2p_k - 2w_kp_k + 1)\|D\|_F^2\|W_k\|_F^2\|f_k\|^2
              + \sum_{k<j}(p_kp_jw_kw_j - p_kw_k - p_jw_j + 1)\,f_k^TW_k^TD^TDW_jf_j .

    Clipping does not appear in it.

    Parameters
    ----------
    system : InferenceSystem
    features : Features

    Raises
    ------
    ParameterError
        When the features do not have the system's K and r.

    Examples
    --------
    >>> system, views = _lossless()
    >>> round(published(system, views), 6), round(exact(system, views), 6)
    (3.95, 0.725)
    """
    heard = matched(system, features)
    return _printed(system, heard, float(system.participation @ system.noise_variance))


def published_short(system: InferenceSystem, features: Features, *, epsilon: ArrayLike, delta: ArrayLike) -> float:
    r"""The MSE bound of the short paper (FDPs Sec. III-C), for noise that makes each device private by itself.

    It is that of :func:`published` with :math:`2p_kw_k^2C_k^2\log(1.25/\delta_k)/\epsilon_k^2` in place of
    :math:`p_k\sigma_k^2`: each device's noise is calibrated to :math:`(\epsilon_k, \delta_k)` *before* aggregation by the
    Gaussian mechanism of FDP Eq. (10), whose hypothesis is epsilon at most 1.

    Parameters
    ----------
    epsilon, delta : array_like, shape (K,) or scalar
        Local privacy of each device: epsilon > 0, delta in (0, 1).

    Examples
    --------
    >>> system, views = _lossless()
    >>> published_short(system, views, epsilon=1.0, delta=1e-5)
    4228.03484...
    """
    heard = matched(system, features)
    eps = checks.vector("epsilon", epsilon, system.devices, "(0, inf)")
    delta_k = checks.vector("delta", delta, system.devices, "(0, 1)")
    variance = 2 * (system.weight * system.clip / eps) ** 2 * np.log(1.25 / delta_k)
    return _printed(system, heard, float(system.participation @ variance))


def _printed(system: InferenceSystem, features: Features, noise: float) -> float:
    p = system.participation
    unit = max(1.0, float(np.max(system.weight)))  # the weights are scaled, lest their squares overflow to inf - inf
    w, scale = system.weight / unit, 1 / unit
    decoder_square = float(np.sum(features.D**2))
    diagonal = (w * w * p - 2 * w * p * scale + scale * scale) * features.printed_square
    decoded = features.encoded @ features.D.T
    u = scale - p * w
    # sum_{k<j} (u_k u_j) a_k.a_j, by the square of the sum: the printed coefficient is (1 - p_k w_k)(1 - p_j w_j)
    cross = (np.sum((u @ decoded) ** 2) - np.sum(u * u * np.sum(decoded**2, axis=1))) / 2
    d = features.f.shape[1]
    signal = float(np.sum(diagonal) + cross) * unit * unit
    return signal + (d * decoder_square * (noise + system.decoded_receiver_noise) if decoder_square > 0 else 0.0)


def exact(system: InferenceSystem, features: Features, *, gain: ArrayLike = 1.0) -> float:
    """The MSE itself, to relative 1e-13 of the largest term; see :func:`breakdown`.

    Examples
    --------
    >>> system, views = _lossless()
    >>> exact(system, views)
    0.725...
    """
    return breakdown(system, features, gain=gain).total


def breakdown(system: InferenceSystem, features: Features, *, gain: ArrayLike = 1.0) -> Breakdown:
    r"""The exact MSE by cause (ledger FDP-MSE*), with clipping, idle noise and misalignment.

    Parameters
    ----------
    system : InferenceSystem
        With ``idle_noise`` every device's noise counts in full: :math:`\sum_k\sigma_k^2` instead of
        :math:`\sum_k p_k\sigma_k^2`.
    features : Features
    gain : array_like, shape (K,) or scalar
        Relative amplitude at which device k arrives, :math:`g_k = h_k\alpha_k/(p_k\gamma) \ge 0`, with its amplitude
        :math:`\alpha_k` as a sender; 1 when aligned. It scales signal and noise of the device, and is known.

    Returns
    -------
    Breakdown

    Notes
    -----
    The decoded feature is :math:`\sum_k\tau_kg_k(w_ka_k + Dn_k) + Dm/\gamma`. The indicators of participation tau, the
    devices' noise n and the receiver's noise m are independent. So the cross terms between signal and noise vanish, and those
    between devices are in the square of the mean.

    Examples
    --------
    >>> system, views = _lossless()
    >>> parts = breakdown(system, views)
    >>> round(parts.bias, 9), round(parts.participation, 9), parts.local_noise, parts.receiver_noise
    (0.005, 0.045, 0.45, 0.225)
    """
    heard = matched(system, features)
    g = checks.vector("gain", gain, system.devices, "[0, inf)")
    p, w = system.participation, system.weight * g
    decoded = heard.decoded(system.clip)
    decoder = float(np.sum(heard.D**2))
    sends = np.ones_like(p) if system.idle_noise else p
    with np.errstate(over="ignore"):
        terms = (
            np.sum(((p * w) @ decoded - features.target) ** 2),
            np.sum(p * (1 - p) * w * w * np.sum(decoded**2, axis=1)),
            np.sum(sends * g * g * system.noise_variance) * decoder,
            system.decoded_receiver_noise * decoder if decoder > 0 else 0.0,
        )
    return Breakdown(*map(float, terms))


def proven(system: InferenceSystem, features: Features) -> float:
    r"""An upper bound of the MSE: the printed bound, corrected, with norms in place of inner products.

    .. math:: \Bigl(\sum_k \|p_kw_kDz_k - f_k/K\|\Bigr)^2 + \sum_k p_k(1-p_k)w_k^2\|D\|_2^2
              \min(C_k, \|W_k\|_2\|f_k\|)^2 + \Bigl(\sum_kp_k\sigma_k^2 + \frac{\sigma_m^2}{\gamma^2}\Bigr)\|D\|_F^2 .

    Notes
    -----
    Term by term above :func:`breakdown`: the triangle inequality for the mean, whose target is :math:`\sum_kf_k/K`, and
    :math:`\|Dz\|\le\|D\|_2\|z\|`, :math:`\|z_k\| = \min(C_k, \|W_kf_k\|)`. Rounded up by 1e-12.

    Examples
    --------
    >>> system, views = _lossless()
    >>> proven(system, views) >= exact(system, views)
    True
    """
    terms = breakdown(system, features)
    p, w = system.participation, system.weight
    heard = matched(system, features)
    decoded = heard.decoded(system.clip)
    K = system.devices
    longest = np.minimum(system.clip, features.encoder_norms("spectral") * np.linalg.norm(features.f, axis=1))
    with np.errstate(over="ignore"):
        bias = np.sum(np.linalg.norm((p * w)[:, None] * decoded - features.f / K, axis=1)) ** 2
        stretch = system.decoder_gain * features.decoder_svd[1][0]
        spread = np.sum((np.sqrt(p * (1 - p)) * w * longest) ** 2) * stretch**2
        return float((bias + spread + terms.local_noise + terms.receiver_noise) * (1 + 1e-12))


def worst_case(system: InferenceSystem) -> Breakdown:
    r"""The MSE of the mean of the codes, the greatest over all codes of norm C_k at most; where no features are given.

    .. math:: \Bigl(\sum_k\bigl|gp_kw_k - \tfrac1K\bigr|C_k\Bigr)^2 + g^2\sum_kp_k(1-p_k)w_k^2C_k^2
              + g^2r\Bigl(\sum_kp_k\sigma_k^2 + \frac{\sigma_m^2}{\gamma^2}\Bigr) .

    Features are their own codes (W and D are identities, d = r), so that no clip cuts them. The best output that ignores y is 0,
    whose greatest error is :math:`(\sum_kC_k/K)^2` (:func:`worst_constant_output`).

    Notes
    -----
    *Proof.* For codes z_k the MSE is :math:`\|\sum_k(gp_kw_k - 1/K)z_k\|^2 + g^2\sum_kp_k(1-p_k)w_k^2\|z_k\|^2` and the noise,
    which no code changes (:func:`breakdown`). By the triangle inequality the first term is at most its square above; the second
    grows with every norm. :math:`z_k = \pm C_ku`, with one unit vector u and the signs of :math:`gp_kw_k - 1/K`, attains both.

    Examples
    --------
    >>> worst = worst_case(_lossless()[0])
    >>> round(worst.bias, 9), round(worst.participation, 9), worst.total > worst_constant_output(_lossless()[0])
    (1.0, 4.5, False)
    """
    p, w, g = system.participation, system.weight, system.decoder_gain
    sends = np.ones_like(p) if system.idle_noise else p
    with np.errstate(over="ignore"):
        terms = (
            np.sum(np.abs(g * p * w - 1 / system.devices) * system.clip) ** 2,
            g * g * np.sum(p * (1 - p) * (w * system.clip) ** 2),
            g * g * system.dimension * np.sum(sends * system.noise_variance),
            g * g * system.dimension * system.decoded_receiver_noise,
        )
    return Breakdown(*map(float, terms))


def worst_constant_output(system: InferenceSystem) -> float:
    r"""The greatest error of the output 0 over all codes of norm C_k at most, :math:`(\sum_kC_k/K)^2`.

    No constant does better: with u of norm 1, the codes :math:`\pm C_ku` have means on both sides of 0 at this distance, and one
    of them is as far from any constant. See :func:`worst_case`.

    Examples
    --------
    >>> worst_constant_output(_lossless()[0])
    100.0
    """
    with np.errstate(over="ignore"):
        return float(np.mean(system.clip) ** 2)


def unbiased_weight(system: InferenceSystem) -> FloatArray:
    """w_k = 1/(K p_k), the weights that make the decoded feature unbiased for a lossless codec without clipping.

    FDP Eq. (4) divides by p_k for that purpose, but the alignment cancels it (ledger FDP-E4); and sum w = 1 of Eq. (38)
    excludes these weights unless p = 1.

    Raises
    ------
    ParameterError
        When some p_k is 0: a device that never sends cannot be heard.

    Examples
    --------
    >>> system, _ = _lossless()
    >>> unbiased_weight(system)
    array([0.55555556, 0.55555556])
    """
    if np.any(system.participation == 0):
        index = int(np.flatnonzero(system.participation == 0)[0])
        raise ParameterError("participation", 0.0, "a number in (0, 1] for an unbiased estimate", (index,))
    return np.asarray(1 / (system.devices * system.participation))


def _lossless() -> tuple[InferenceSystem, Features]:
    """Two devices with p = 0.9 and the identity as codec: the system of the examples above."""
    system = InferenceSystem(
        devices=2,
        participation=0.9,
        noise_variance=0.125,
        weight=0.5,
        clip=10.0,
        alignment=2.0,
        receiver_noise_variance=0.45,
        dimension=2,
        delta=1e-5,
        delta_prime=1e-5,
    )
    return system, Features(f=[[1.0, 0.0], [0.0, 1.0]], W=np.eye(2), D=np.eye(2))
