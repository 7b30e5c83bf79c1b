r"""Discrete Gaussian noise: the integer k with a probability proportional to exp(-k^2 / (2 sigma^2)).

The loss of a shift by s is :math:`L_k = (2k-s)h`, :math:`h = s/(2\sigma^2)`. Its curve at a loss is computed by a sum up to
`_SUMMED`, and from the curve of continuous Gaussian noise for a greater sigma.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.mechanisms.lattice_losses import LatticeLosses
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, register
from airtight.analytics.rounding import SMALLEST, UNIT

_SUMMED = 1e4  # greatest sigma of which every integer is looked at; from here on the corrections are below 1e-10
_NEAR = 10.0  # standard deviations below s at which delta is 1 to twenty digits
_FAR = 38.7  # standard deviations above s beyond which less than the least double is left: exp(-38.7^2/2) < 5e-324
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
_VANISHING, _VANISHED = -738.0, 1e-320  # log delta below which it is less than this: exp(-738) = 3e-321
_HERMITE = (4.2e6, 9.2e4, 2026.0, 45.0)  # z^4 + 6 z^2 + 3, z^3 + 3 z, z^2 + 1, z at z = 45 bound the Hermite polynomials


@dataclass(frozen=True)
class DiscreteGaussian(LatticeLosses):
    r"""Discrete Gaussian noise of parameter sigma for a whole number of sensitivity s.

    Notes
    -----
    Let :math:`p_k = P(K = k)`, :math:`A_k = P(K > k)`, :math:`D_k = \delta(L_k)`, and :math:`w = e^{-2h}`.

    *Sum.* :math:`D_k = \sum_{j>k} p_j(1 - w^{j-k})`. As :math:`1 - w^{i+1} = (1-w) + w(1-w^i)`, :math:`D_{k-1} =
    (1-w)A_{k-1} + wD_k`: all terms are positive, and each of n steps errs by a few units. The sums begin where less
    than :math:`e^{-748}` is left above, by :math:`P(K - s \ge t) \le e^{-t^2/(2\sigma^2)}` (Canonne, Kamath and Steinke
    2020), and leave out underflow, which is added to the upper bound and subtracted from the lower one. Ten deviations
    below s delta is at least its value there, and at most 1.

    *Correction of the continuous curve.* The sum is :math:`\sum_{j\ge k}F(j)` with :math:`F(y) =
    f(y-s)(1-e^{-2h(y-k)})` and the normal density f; the constant of the law differs from that of f by :math:`1 +
    2\sum_n e^{-2\pi^2\sigma^2n^2}`, which is 1. :math:`F(k) = 0`, so Euler and Maclaurin have

    .. math:: \sum_{j\ge k}F(j) = \int_k^\infty F - \frac{F'(k)}{12} - R, \qquad |R| \le \frac1{384}\int_k^\infty|F^{(4)}|.

    The integral is the continuous curve :math:`\delta_G` at :math:`L_k`, for :math:`\mu = s/\sigma`, and
    :math:`F'(k) = 2hf(k-s)`. With Hermite polynomials :math:`He_i(z)`, which are below `_HERMITE` where :math:`|z| \le 45`,

    .. math:: \sigma^4\int|F^{(4)}| \le H_4\int f(1-e^{-2h(y-k)}) + \sum_{i=1}^4\binom4iH_{4-i}\mu^i\int fe^{-2h(y-k)} ;

    the first integral is :math:`\delta_G`, the second is its slope in epsilon. What is beyond 45 deviations is below
    the least double.
    """

    sigma: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sigma", checks.scalar("sigma", self.sigma, "[1e-100, 1e100]"))

    @property
    def half_spacing(self) -> float:
        return self.sensitivity / (2 * self.sigma * self.sigma)

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return np.inf

    def reached_loss(self, *, reverse: bool = False) -> float:
        return np.inf

    def at_losses(self, place: FloatArray) -> BracketArrays:
        first = -np.ceil(_NEAR * self.sigma)  # of k - s
        shifted = place - self.sensitivity / 2
        near = np.maximum(shifted, first)
        lower, upper = self._summed(near) if self.sigma <= _SUMMED else self._corrected(near)
        return lower, np.where(shifted < first, 1.0, upper)

    @cached_property
    def _table(self) -> BracketArrays:
        """Bounds of the curve at the losses of k - s from `_NEAR` deviations below 0 to `_FAR` above it, the last k first."""
        from scipy import signal

        k = np.arange(np.ceil(_FAR * self.sigma) + 1, -np.ceil(_NEAR * self.sigma) - 1, -1)
        with np.errstate(under="ignore", over="ignore"):
            whole = np.exp(-((np.arange(1.0, np.ceil(_FAR * self.sigma) + 1) / self.sigma) ** 2) / 2)
            above = np.cumsum(np.append(0.0, np.exp(-((k / self.sigma) ** 2) / 2)))[:-1] / (1 + 2 * np.sum(whole[::-1]))
            decay, rest = np.exp(-2 * self.half_spacing), -np.expm1(-2 * self.half_spacing)
            curve = signal.lfilter([rest], [1.0, -decay], above)
        # a probability errs by 3 units of an exponent below 750, the sums by a unit, the steps by 3 units each
        error, lost = (5 * k.size + 2500) * UNIT, 8 * k.size * SMALLEST
        return np.maximum(curve * (1 - error) - lost, 0.0), np.minimum(curve * (1 + error) + lost, 1.0)

    def _summed(self, shifted: FloatArray) -> BracketArrays:
        """The curve at the losses of k - s, from the table; beyond its end it is below the least doubles."""
        lower, upper = self._table
        index = np.minimum(np.ceil(_FAR * self.sigma) + 1 - shifted, lower.size - 1)
        inside = index >= 0
        place = np.where(inside, index, 0).astype(np.int64)
        return np.where(inside, lower[place], 0.0), upper[place]

    def _corrected(self, shifted: FloatArray) -> BracketArrays:
        """The curve at the losses of k - s, from the continuous one."""
        mu, h = self.sensitivity / self.sigma, self.half_spacing
        loss = np.maximum((2 * shifted + self.sensitivity) * h, 0.0)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            log_delta, slope, error = gaussian.log_curve(loss.ravel(), np.full(loss.size, mu))
            log_delta, slope, error = (part.reshape(loss.shape) for part in (log_delta, slope, error))
            log_density = -((shifted / self.sigma) ** 2) / 2 - _LOG_SQRT_2PI
            correction = 2 * h / (12 * self.sigma) * np.exp(log_density - log_delta)
            terms = _HERMITE[0] - slope * mu * (4 * _HERMITE[1] + mu * (6 * _HERMITE[2] + mu * (4 * _HERMITE[3] + mu)))
            # loss and mu err by 4 units, where the error of the curve counts those of its own quotients
            relative_error = 4 * error - 4 * UNIT * loss * slope + UNIT * (8 - log_delta)
            relative_error = 1.001 * (relative_error + terms / 384 * self.sigma**-4 + 1e-6 * correction)
            known = log_delta > _VANISHING
            # all of them relative to the continuous curve
            lower, upper = (np.exp(log_delta) * (1 - correction + side * relative_error) + side * SMALLEST for side in (-1, 1))
        return np.where(known, np.clip(lower, 0.0, 1.0), 0.0), np.where(known, np.clip(upper, 0.0, 1.0), _VANISHED)


register(DiscreteGaussian, "discrete_gaussian")
