r"""The exact MSE when the peak power binds: each device's signal is shortened to the reach of its transmitter.

With the correct rule (:func:`~airtight.analytics.inference.transmission.exact_limit`) the server receives, per participant,
:math:`y = c\,\tilde z`, :math:`c = \min(1, R/\|\tilde z\|)`, :math:`\tilde z \sim N(wz, \sigma^2I_r)`,
:math:`R = h\sqrt P/\gamma`. Let :math:`s = \|wz\|` and u be the direction of z. By symmetry

.. math:: E[y] = E_{r+2}[c]\,wz, \qquad \mathrm{Cov}[y] = \sigma^2E_{r+2}[c^2]\,(I - uu^T) + \mathrm{Var}[u^Ty]\,uu^T,

where :math:`E_{r+2}` is taken in r + 2 dimensions. The MSE then needs only the law of the length n and of the angle to u: with
:math:`v = 1 - \cos\theta` its density is proportional to
:math:`n^{r-1}e^{-(n-s)^2/2\sigma^2}\,e^{-nsv/\sigma^2}\,[v(2-v)]^{(r-3)/2}`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray
from airtight.analytics.inference.distortion import Breakdown
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.inference.transmission import reach_of

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_TAIL = 16.0  # deviations of the length beyond which nothing counts
_LONE_TAIL = 40.0  # the same in one dimension, where the variance itself may come from as rare an event
_WIDTH, _LONE_WIDTH = 1.0, 0.125  # deviations; greatest width of a panel, and that in one dimension
_LONGEST = 1e150  # a signal of more deviations has no spread of angles above the least double


def exact_mse(system: InferenceSystem, features: Features, *, gain: ArrayLike, power: ArrayLike) -> Breakdown:
    r"""The MSE under the peak-power constraint, by cause; equals ``distortion.breakdown`` when power abounds.

    Parameters
    ----------
    system : InferenceSystem
        Without idle noise.
    features : Features
    gain : array_like, shape (K,) or scalar
        Channel amplitudes h_k >= 0.
    power : array_like, shape (K,) or scalar
        P_k > 0.

    Returns
    -------
    Breakdown
        ``local_noise`` holds what the noise adds to the variance of the shortened signals, ``participation`` what their
        random presence adds. See Notes for the error.

    Notes
    -----
    The factor on each device's mean and both its variances have relative error below 1e-10 for dimensions up to 1e8, for a
    reach and a signal that differ from the given ones by rounding (1e-15 of themselves), underflow apart: events rarer than
    1e-340 are left out. The rest is sums of products.

    *Angle.* With :math:`v = 2q/(1+q)`, :math:`q = q_0e^\tau`, :math:`\alpha = (r-1)/2`, the density of :math:`\tau` is
    :math:`q^\alpha(1+q)^{-2\alpha}e^{-\kappa v}`. It is analytic in the strip :math:`|\Im\tau| \le b < \pi/2`, and there at most
    :math:`\cos(b/2)^{-2\alpha}` times the one of the concentration :math:`\kappa\cos b`, because
    :math:`|1+qe^{ib}| \ge (1+q)\cos\frac b2`. The integral of the latter is at most :math:`\cos(b)^{-\alpha}` times as great,
    because :math:`\kappa E v \le \alpha` (Amos's bound). So the trapezoidal rule of step h errs by at most
    :math:`2e^{-2\pi b/h}\cos(b/2)^{-2\alpha}\cos(b)^{-\alpha}/(1-e^{-2\pi b/h})` relatively: below 1e-12 with the steps taken.

    *Length.* On a panel of width :math:`\sigma` without the kink n = R inside the integrand is a polynomial times a Gaussian.
    On the ellipse of :math:`\rho = 6` its modulus exceeds that on the real line by :math:`e^{1.5^2/2}` times
    :math:`(1+1.5^2/n^2)^{(r-1)/2}`, of order ten where n is near its mean; twelve Gauss-Legendre nodes leave
    :math:`6^{-24}` of it. Beyond 16 deviations lies :math:`e^{-128}`, by the Gaussian concentration of the norm. In one
    dimension the whole variance may come from t = -40 deviations, where :math:`e^{-t^2/2}` grows by :math:`e^{40 \cdot 1.54h}`
    on the ellipse of a panel of width h: by :math:`e^{62}` for h = 1, which :math:`6^{-24}` does not make up for, and by
    :math:`e^{7.8}` for the h = 1/8 that is taken, which leaves 1e-15.

    *No cancellation.* All weights are positive. The deviation of :math:`u^Ty` from :math:`y_0 = \min(s, R)` is
    :math:`(\min(n, R) - y_0)(1 - v) - y_0v`, formed from n - s and v themselves.

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless, exact
    >>> system, views = _lossless()
    >>> round(exact_mse(system, views, gain=1.0, power=1e6).total - exact(system, views), 9)
    0.0
    """
    heard = matched(system, features)
    reach = reach_of(system, gain, power)
    p, D = system.participation, heard.D
    signal = system.weight[:, None] * features.clipped(system.clip)
    longest = np.max(np.abs(signal), axis=1, keepdims=True)
    longest[longest == 0] = 1.0
    length = longest[:, 0] * np.linalg.norm(signal / longest, axis=1)
    shrink, local = np.empty(system.devices), 0.0
    for k in range(system.devices):
        shrink[k], across, along = _shortened(
            float(np.sqrt(system.noise_variance[k])), float(length[k]), float(reach[k]), system.dimension
        )
        if length[k] == 0:
            local += p[k] * across * float(np.sum(D**2))
            continue
        u = signal[k] / length[k]
        rest = float(np.sum((D - np.outer(D @ u, u)) ** 2)) if system.dimension > 1 else 0.0
        local += p[k] * (across * rest + along * float(np.sum((D @ u) ** 2)))
    mean = shrink[:, None] * signal @ D.T
    bias = float(np.sum((p @ mean - features.target) ** 2))
    presence = float(np.sum(p * (1 - p) * np.sum(mean**2, axis=1)))
    return Breakdown(bias, presence, float(local), system.decoded_receiver_noise * float(np.sum(D**2)))


def _shortened(sigma: float, length: float, reach: float, dimension: int) -> tuple[float, float, float]:
    """The factor on the mean, and the variance of the shortened signal across and along its direction."""
    if reach == 0:
        return 0.0, 0.0, 0.0
    if sigma == 0:
        return (min(1.0, reach / length) if length > 0 else 1.0), 0.0, 0.0
    with np.errstate(over="ignore", under="ignore", divide="ignore"):  # a length that rounds to 0 has no weight
        mean, kink = min(float(np.divide(length, sigma)), _LONGEST), float(np.divide(reach - length, sigma))
        law = _Law.of(dimension + 2, mean, kink)
        ray, c = law.weight.sum(axis=1), np.minimum(1.0, reach / (length + sigma * law.t))
        shrink, across = float(ray @ c), float(ray @ (sigma * c) ** 2)
        law, base = _Law.of(dimension, mean, kink), min(length, reach)
        radial = np.minimum(sigma * law.t + (length - base), reach - base)
        deviation = radial[:, None] * (1 - law.v) - base * law.v
        deviation -= np.sum(law.weight * deviation)
        return shrink, across, float(np.sum(law.weight * deviation**2))


@dataclass(frozen=True)
class _Law:
    """Nodes and weights for the length of a Gaussian vector, t deviations more than its mean's, and v = 1 - cos(angle)."""

    t: FloatArray
    v: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, dimension: int, mean: float, kink: float) -> _Law:
        """About a mean of this length, in deviations, split where t passes the kink.

        Logarithms are taken relatively to the mode, so that their rounding does not grow with mean or dimension.
        """
        lone = dimension == 1
        mode = (dimension - 1) / (mean + np.hypot(mean, np.sqrt(dimension - 1))) if not lone else 0.0
        tail = _LONE_TAIL if lone else _TAIL
        t, step = _panels(max(mode - tail, -mean), mode + tail, kink, _LONE_WIDTH if lone else _WIDTH)
        v, log_angle = _angles(dimension, mean * (mean + mode))
        away = t - mode
        log_length = np.log(step) - away * (t + mode) / 2
        if not lone:
            log_length += (dimension - 1) * np.log1p(away / (mean + mode))
        log_weight = log_length[:, None] - (mean * away)[:, None] * v + log_angle
        weight = np.exp(log_weight - np.max(log_weight))
        return cls(t, v, weight / np.sum(weight))


def _panels(low: float, high: float, kink: float, width: float) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on panels of this width at most, the kink between two of them."""
    edges = np.linspace(low, high, int(np.ceil((high - low) / width)) + 1)
    if low < kink < high:
        edges = np.unique(np.append(edges, kink))
    half = np.diff(edges)[:, None] / 2
    return ((edges[:-1, None] + half) + half * _NODES).ravel(), (half * _WEIGHTS).ravel()


def _angles(dimension: int, concentration: float) -> tuple[FloatArray, FloatArray]:
    """Nodes v of the trapezoidal rule for exp(-concentration v) on the sphere, and the logarithm of their weights."""
    if dimension == 1:
        return np.array([0.0, 2.0]), np.array([0.0, -2 * concentration])
    alpha = (dimension - 1) / 2
    ratio = 2 * concentration / alpha
    mode = 2 / (ratio + np.hypot(ratio, 2.0))
    step = min(0.2, 0.7 / np.sqrt(2 * alpha))
    count = int(np.ceil((30 / alpha + 17 / np.sqrt(2 * alpha)) / step))
    tau = step * np.arange(-count, count + 1)
    q = mode * np.exp(tau)
    pull = 2 * alpha * ratio / (ratio + np.hypot(ratio, 2.0))  # 2 concentration times mode
    growth = np.expm1(tau)
    log_weight = alpha * tau - 2 * alpha * np.log1p(mode / (1 + mode) * growth) - pull * growth / ((1 + q) * (1 + mode))
    return 2 * q / (1 + q), log_weight
