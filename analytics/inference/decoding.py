r"""The error of the decoder beside that of an output that ignores y, and of the best possible decoder.

Before its gain the server's output is :math:`\hat f = Dy/\gamma`. Functions of `features` take one task, or a sequence of
tasks with the same codec and system, and return the mean over them. If a public centre c is subtracted before encoding,
pass :math:`f_k - c`: the server adds c again, so that the errors are unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.distributions.poisson_binomial import binomial
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem

Tasks = Features | Sequence[Features]
_MOST_SETS = 1 << 14
_SAFE = 1 - 1e-9
_ROUNDED_DOWN = 1 - 1e-14  # every term of Fano's inequality is at most log 2 + log(L - 1) <= 2 log L


def constant_output(features: Tasks) -> float:
    r"""MSE of the output that ignores y: the zero vector, :math:`\|f^*\|^2` (with a public centre: the centre).

    Without y the server knows nothing of the target but what is public, and that is its centre.

    Examples
    --------
    >>> constant_output(Features(f=[[3.0, 0.0], [0.0, 4.0]], W=np.eye(2), D=np.eye(2)))
    6.25
    """
    return float(np.mean([one.target @ one.target for one in _several(features)]))


def constant_accuracy(features: Tasks, *, margin: float, ideal_accuracy: float = 1.0) -> float:
    r"""Accuracy of the output that ignores y: :math:`P_0` where :math:`\|f^*\| \le \Delta`, else 0.

    Where it is positive the margin is vacuous: it is kept without any transmission.

    Examples
    --------
    >>> views = Features(f=[[3.0, 0.0], [0.0, 4.0]], W=np.eye(2), D=np.eye(2))
    >>> constant_accuracy(views, margin=2.0), constant_accuracy(views, margin=3.0, ideal_accuracy=0.9)
    (0.0, 0.9)
    """
    radius = checks.scalar("margin", margin, "(0, inf)")
    ideal = checks.scalar("ideal_accuracy", ideal_accuracy, "[0, 1]")
    return ideal * float(np.mean([np.linalg.norm(one.target) <= radius for one in _several(features)]))


@dataclass(frozen=True)
class Gain:
    """The best factor on the decoder.

    Attributes
    ----------
    gain : float
        g, at least 0; where it is 0 no positive gain beats the output that ignores y.
    mse : float
        At that gain; never above that of :func:`constant_output`.
    """

    gain: float
    mse: float


def best_gain(system: InferenceSystem, features: Tasks) -> Gain:
    r"""The decoder gain of least MSE, a ratio of second moments: :math:`g = E\langle\hat f, f^*\rangle/E\|\hat f\|^2`.

    Parameters
    ----------
    system : InferenceSystem
        Its ``decoder_gain`` is ignored.
    features : Features or sequence of Features

    Returns
    -------
    Gain

    Notes
    -----
    :math:`E\|g\hat f - f^*\|^2 = \|f^*\|^2 - 2gm + g^2S` with :math:`m = E\langle\hat f, f^*\rangle = \langle\sum_kp_kw_ka_k,
    f^*\rangle` (noise has mean 0) and :math:`S = E\|\hat f\|^2`. The parabola is least at :math:`g = m/S`, where it is
    :math:`\|f^*\|^2 - m^2/S`; over :math:`g \ge 0` at 0 where m <= 0. With several tasks all three are means over them; for
    centred features they are covariances. If nothing arrives at all, S = 0 and every gain will do; 0 is returned. Where S is
    infinite g = 0.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from airtight.analytics.inference.distortion import _lossless, exact
    >>> system, views = _lossless()
    >>> best = best_gain(system, views)
    >>> best.gain, best.mse
    (0.4..., 0.3...)
    >>> round(exact(replace(system, decoder_gain=best.gain), views) - best.mse, 12)
    0.0
    """
    along, size, target_square = 0.0, 0.0, 0.0
    tasks = _several(features)
    p, w = system.participation, system.weight
    variance = _noise(system)
    for task in tasks:
        matched(system, task)
        decoded = task.decoded(system.clip)
        mean = (p * w) @ decoded
        along += float(mean @ task.target)
        size += float(mean @ mean + np.sum(p * (1 - p) * w * w * np.sum(decoded**2, axis=1)))
        energy = float(np.sum(task.D**2))
        size += variance * energy if energy > 0 else 0.0
        target_square += float(task.target @ task.target)
    n = len(tasks)
    if not along > 0 or not size > 0 or not np.isfinite(size):
        return Gain(0.0, target_square / n)
    return Gain(along / size, max(target_square - along * (along / size), 0.0) / n)


@dataclass(frozen=True, eq=False)
class LinearDecoder:
    """The best linear decoder and what it reaches.

    Attributes
    ----------
    D : ndarray, shape (d, r)
        To be used with gain 1.
    mse : float
        Mean over the tasks that it was made from.
    """

    D: FloatArray
    mse: float


def linear_mmse(system: InferenceSystem, features: Tasks) -> LinearDecoder:
    r"""The linear decoder of least mean MSE over the tasks, :math:`D = E[f^*y^T]\,E[yy^T]^+\gamma`.

    Parameters
    ----------
    system : InferenceSystem
    features : Features or sequence of Features
        Public tasks, such as those that the codec was trained on. With a single task the decoder is fitted to its own answer.

    Notes
    -----
    With :math:`\bar y = y/\gamma`, :math:`\mu = \sum_kp_kw_kz_k`: :math:`E[f^*\bar y^T]` is the mean of :math:`f^*\mu^T`, and
    :math:`E[\bar y\bar y^T]` that of :math:`\mu\mu^T + \sum_kp_k(1-p_k)w_k^2z_kz_k^T` plus the noise's variance times I.
    Orthogonality: :math:`E\|D\bar y - f^*\|^2 = E\|f^*\|^2 - \operatorname{tr}(DE[\bar yf^{*T}])` at the D for which the error
    is uncorrelated with y, and no linear D has less.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from airtight.analytics.inference.distortion import _lossless, exact
    >>> system, views = _lossless()
    >>> tasks = [replace(views, f=views.f + shift) for shift in (-0.5, 0.0, 0.5)]
    >>> best = linear_mmse(system, tasks)
    >>> bool(best.mse < best_gain(system, tasks).mse)
    True
    """
    tasks = _several(features)
    p, w = system.participation, system.weight
    variance = _noise(system)
    if not np.isfinite(variance):
        name = "receiver_noise_variance" if system.decoded_receiver_noise == np.inf else "noise_variance"
        raise ParameterError(
            name, getattr(system, name), "so small that the noise of y / alignment has a finite variance"
        )
    d, r = tasks[0].D.shape
    cross, square, own = np.zeros((d, r)), np.zeros((r, r)), 0.0
    for one in tasks:
        matched(system, one)
        z = one.clipped(system.clip)
        mean = (p * w) @ z
        cross += np.outer(one.target, mean)
        square += np.outer(mean, mean) + (z * (p * (1 - p) * w * w)[:, None]).T @ z
        own += float(one.target @ one.target)
    n = len(tasks)
    cross, square = cross / n, square / n + variance * np.eye(r)
    D = np.asarray(np.linalg.lstsq(square, cross.T, rcond=None)[0].T, dtype=np.float64)
    residual = own / n - 2 * float(np.sum(D * cross)) + float(np.sum((D @ square) * D))
    return LinearDecoder(D, max(residual, 0.0))


def information(system: InferenceSystem) -> float:
    r"""Nats about anything that one y can carry, whatever the encoders: an upper bound on mutual information.

    .. math:: I \le E_S\Bigl[\frac r2\log\Bigl(1 + \frac{(\sum_{k\in S}w_kC_k)^2}{r\,v_S}\Bigr)\Bigr],\qquad
              v_S = \sum_{k\in S}\sigma_k^2 + \sigma_m^2/\gamma^2 .

    Parameters
    ----------
    system : InferenceSystem
        With ``idle_noise`` every device's noise is in v_S.

    Returns
    -------
    float
        Infinite if a device may arrive without noise.

    Notes
    -----
    Let the server even see S, which is independent of the features. What arrives is then a vector of norm at most
    :math:`\sum_Sw_kC_k`, because codes are clipped, plus white Gaussian noise in r coordinates: a Gaussian channel whose
    capacity is at most the expression. Features -> codes -> y is a Markov chain. The expectation is added up over the numbers
    of equal devices that take part; if these have more than 16 384 combinations, it is bounded by Jensen's inequality, with
    :math:`E[(\sum w_kC_k)^2]` over the least noise, or with :math:`\sum_kp_kw_k^2C_k^2/\sigma_k^2` (Cauchy and Schwarz).

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> information(_lossless()[0])
    4.7...
    """
    reach, p, r = system.weight * system.clip, system.participation, system.dimension
    always = p == 1
    sends = np.ones(system.devices, bool) if system.idle_noise else always
    floor = float(np.sum(system.noise_variance[sends])) + system.decoded_receiver_noise
    varies = np.zeros(system.devices) if system.idle_noise else np.where(always, 0.0, system.noise_variance)
    groups, multiplicity = np.unique(np.column_stack([p, reach, varies]), axis=0, return_counts=True)
    sizes = multiplicity + 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if np.sum(np.log(sizes)) <= np.log(_MOST_SETS):
            counts = np.indices(tuple(sizes)).reshape(sizes.size, -1).T
            laws = [
                binomial(int(n), float(q)).dense(int(n) + 1) for n, q in zip(multiplicity, groups[:, 0], strict=True)
            ]
            chance = np.prod([law[counts[:, c]] for c, law in enumerate(laws)], axis=0)
            ratio = (counts @ groups[:, 1]) ** 2 / (floor + counts @ groups[:, 2]) / r
            ratio = np.where(counts @ groups[:, 1] > 0, ratio, 0.0)[chance > 0]
            return float(chance[chance > 0] @ np.log1p(ratio)) * r / 2 / _SAFE
        square = np.sum(p * reach) ** 2 + np.sum(p * (1 - p) * reach**2)
        single = np.where(reach > 0, p * reach**2 / system.noise_variance, 0.0)
        most = min(square / floor, np.inf if system.idle_noise else float(np.sum(single)))
    return float(np.log1p(most / r)) * r / 2 / _SAFE


def any_decoder(system: InferenceSystem, features: Tasks, *, spectrum: ArrayLike | None = None) -> float:
    r"""A lower bound on the MSE of every decoder, linear or not, and all encoders that keep the clips, by rate-distortion.

    Parameters
    ----------
    system : InferenceSystem
        Its encoders and decoder do not matter; its r, weights, clips, noise and participation do.
    features : Features or sequence of Features
        For the size of the target only.
    spectrum : array_like, shape (d,), optional
        Eigenvalues of the target's covariance, at least 0; by default d equal ones whose sum is the mean of
        :math:`\|f^*\|^2`.

    Returns
    -------
    float
        Rounded down by 1e-9.

    Notes
    -----
    **Assumes** that the target is drawn from a normal law with mean 0 (the public centre) and this covariance, by default
    :math:`N(0, (\|f^*\|^2/d)I)`. A single fixed target has no such bound, because a decoder might know it. Any estimate
    from y with error D obeys :math:`R(D) \le I(f^*; y)`, R the rate-distortion function of that law, by the data processing
    inequality; I is bounded by :func:`information`. For a normal law :math:`D = \sum_i\min(\theta, \lambda_i)` where
    :math:`R = \frac12\sum_i\log^+(\lambda_i/\theta)` (reverse water-filling).

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> 0 < any_decoder(*_lossless()) < constant_output(_lossless()[1])
    True
    """
    d = _several(features)[0].f.shape[1]
    even = constant_output(features) / d
    values = checks.vector("spectrum", even if spectrum is None else spectrum, d, "[0, inf)")
    rate = information(system)
    positive = np.sort(values[values > 0])[::-1]
    if not positive.size or rate == np.inf:
        return 0.0
    logs = np.log(positive)
    # with the n greatest above the water level: sum of their logs - n log level = 2 rate
    levels = (np.cumsum(logs) - 2 * rate) / np.arange(1, logs.size + 1)
    n = int(np.flatnonzero(levels < logs)[-1]) + 1 if np.any(levels < logs) else 0
    if n == 0:
        return float(np.sum(positive)) * _SAFE
    return (n * float(np.exp(levels[n - 1])) + float(np.sum(positive[n:]))) * _SAFE


def any_accuracy(nats: float, labels: int) -> float:
    r"""The accuracy that no classifier exceeds, whatever codes and decoder, when y carries so many nats of the label.

    Parameters
    ----------
    nats : float
        At least 0, such as :func:`information`.
    labels : int
        L >= 2, equally likely.

    Notes
    -----
    Fano's inequality: with accuracy A, :math:`\log L - I \le H(\text{label}\mid y) \le h(A) + (1-A)\log(L-1)`, h the binary
    entropy in nats. The right-hand side falls in A on [1/L, 1]. The left-hand side is lowered by more than the six rounding
    errors of the right-hand side, and the upper end of the bisection's last interval is returned.

    Examples
    --------
    >>> any_accuracy(0.0, 10), round(any_accuracy(0.8, 10), 3), any_accuracy(5.0, 10)
    (0.1, 0.619, 1.0)
    """
    known = checks.scalar("nats", nats, "[0, inf]")
    L = checks.count("labels", labels, "[2, inf)")
    if known == 0 or known >= np.log(L):
        return 1 / L if known == 0 else 1.0
    least = np.log(L) * _ROUNDED_DOWN - known
    low, high = 1 / L, 1.0
    while high - low > 1e-12:
        A = (low + high) / 2
        left = -A * np.log(A) - (1 - A) * np.log1p(-A) + (1 - A) * np.log(L - 1)
        low, high = (A, high) if left >= least else (low, A)
    return high


def _several(features: Tasks) -> Sequence[Features]:
    tasks = [features] if isinstance(features, Features) else checks.instance("features", features, list, tuple)
    if not tasks:
        raise ParameterError("features", "empty", "at least one task")
    return [checks.instance("features", each, Features) for each in tasks]


def _noise(system: InferenceSystem) -> float:
    """Variance of the noise in each coordinate of y / gamma."""
    sends = np.ones(system.devices) if system.idle_noise else system.participation
    with np.errstate(over="ignore"):
        return float(np.sum(sends * system.noise_variance)) + system.decoded_receiver_noise
