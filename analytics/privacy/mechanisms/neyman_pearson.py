r"""Two shifted Gaussians against a third one on a line: the Neyman-Pearson set is a half-line, its value a closed form.

With :math:`\lambda = e^\epsilon`, means n > f (`near`, `far`, :math:`n + f \ge 0`), and a Gaussian density h of mean 0 and
variance :math:`1/(1+\eta)`,

.. math:: G = \sup_A\; N(n,1)(A) - \lambda N(f,1)(A) - \omega\,h(A), \qquad
          \omega = (\lambda-1)\,\tfrac{1-p}{p}\,e^{\text{log ratio}} .

The first two together are positive right of :math:`x_0 = \epsilon/(n-f) + (n+f)/2 \ge 0`, and beyond it they grow in ratio
to h: A is a half-line :math:`(b, \infty)`. With :math:`z = (n-f)(b-x_0)` its end solves

.. math:: \log(1-e^{-z}) + n\,b - n^2/2 + \eta\,b^2/2 = \log\omega + \tfrac12\log(1+\eta) ,

and in :math:`w = \log(e^z - 1)` the left-hand side has a slope of at least 1/2 everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.mechanisms import gaussian

_STEPS = 200  # of Newton or bisection; six are usual
_CANCELLED = 1e-4  # share of Mills' ratio below which a difference is integrated instead
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True)
class Best:
    """The value of the best half-line, and how it moves.

    Attributes
    ----------
    log_value : ndarray
        log G.
    far, common : ndarray
        :math:`\\lambda N(f,1)(A)` and :math:`\\omega h(A)` as shares of G: minus the derivatives of log G in epsilon at a given
        :math:`\\omega`, and in :math:`\\log\\omega`.
    terms : ndarray
        The sum of the magnitudes of all that is added up, as a share of G.
    """

    log_value: FloatArray
    far: FloatArray
    common: FloatArray
    terms: FloatArray

    def slope(self, eps: FloatArray) -> FloatArray:
        """Derivative of log G in epsilon, :math:`\\omega` moving with it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.where(eps > 0, self.common / -np.expm1(-eps), 0.0)
        return np.asarray(-(self.far + moved))


def best(
    eps: FloatArray, p: FloatArray, near: FloatArray, far: FloatArray, log_ratio: FloatArray, eta: FloatArray
) -> Best:
    """The best half-line; arguments of one shape, eps >= 0 finite, p in (0, 1], near > far."""
    gap = near - far
    with np.errstate(all="ignore"):
        surplus = np.log(-np.expm1(-eps)) + np.log1p(-p) - np.log(p) + log_ratio + np.log1p(eta) / 2
        target = np.maximum(surplus - far / gap * eps - near * far / 2, -700.0)
        start = eps / gap + (near + far) / 2
        z = _end(target, near / gap, eta, start, 1 / gap)
        b = start + z / gap
        to_near = eps / gap - gap / 2 + z / gap
        to_far, to_zero = to_near + gap, b * np.sqrt(1 + eta)
        # lambda N(f, 1) as a share of N(n, 1) at b; omega h makes up the rest
        share, rest, scale = np.exp(-z), -np.expm1(-z), 1 / np.sqrt(1 + eta)
        log_density = -to_near * to_near / 2 - _LOG_SQRT_2PI
        of_far, of_zero = share * gaussian.mills(to_far), rest * scale * gaussian.mills(to_zero)
        common = np.where(near > 0, gaussian.mills_drop(to_near, b, near), 0.0) + scaled_drop(b, eta)
        tail = log_density + np.log(share * gaussian.mills_drop(to_near, to_far, gap) + rest * common)
        bulk = np.log(special.ndtr(-to_near) - np.exp(log_density) * (of_far + of_zero))
        value = np.where((to_near < 0) & ~(tail < -0.5), bulk, tail)
        value = np.where(np.isfinite(b), np.minimum(value, 0.0), -np.inf)
        relative = np.where(value > -np.inf, np.exp(log_density - value), 0.0)
        shares = np.nan_to_num(relative * of_far), np.nan_to_num(relative * of_zero)
        return Best(value, *shares, 1 + shares[0] + shares[1])


def _end(target: FloatArray, pull: FloatArray, eta: FloatArray, start: FloatArray, stretch: FloatArray) -> FloatArray:
    """z with log(1 - e^-z) + pull z + eta (start + stretch z)^2 / 2 = target, to some units of the left-hand side."""
    goal = target - eta * start * start / 2
    w = np.where(goal < 0, goal, goal / pull)
    low, high = np.full(w.shape, -np.inf), np.full(w.shape, np.inf)
    active = np.arange(w.size)
    for _ in range(_STEPS):
        here, k, s = w[active], eta[active], stretch[active]
        small = np.exp(-np.abs(here))
        common = np.log1p(small)
        z = np.maximum(here, 0.0) + common
        x = start[active] + s * z
        excess = pull[active] * z + k * x * x / 2 - target[active] - (z - here)
        sigmoid = np.where(here > 0, 1.0, small) / (1 + small)
        slope = 1 - sigmoid + sigmoid * (pull[active] + k * x * s)
        above = excess > 0
        # the slope is at least 1/2, so the root is within twice the excess
        reach = 2 * np.abs(excess) * (1 + 1e-9)
        a = np.maximum(low[active], np.where(above, here - reach, here))
        b = np.minimum(high[active], np.where(above, here, here + reach))
        low[active], high[active] = a, b
        newton = here - excess / slope
        moved = np.where((newton >= a) & (newton <= b), newton, (a + b) / 2)
        w[active] = moved
        rough = np.abs(moved - here) > 1e-7 * (1 + np.abs(here))  # Newton squares what is left
        active = active[rough & np.isfinite(moved)]
        if not active.size:
            break
    return np.asarray(np.logaddexp(0.0, w))


def scaled_drop(x: FloatArray, eta: FloatArray) -> FloatArray:
    r"""R(x) - c R(x/c), c = (1 + eta)^(-1/2), R Mills' ratio; without cancellation where the two are close.

    The derivative of c R(x/c) in c is :math:`R(u) + u(1 - uR(u))`, u = x/c.
    """
    upper = gaussian.mills(x)
    scale = 1 / np.sqrt(1 + eta)
    drop = upper - scale * gaussian.mills(x / scale)
    close = drop < _CANCELLED * upper
    if np.any(close):
        width = -np.expm1(-np.log1p(eta[close]) / 2)
        u = x[close][:, None] / (1 - width[:, None] * (1 - _NODES) / 2)
        drop[close] = width / 2 * ((gaussian.mills(u) + u * gaussian.mills_slope(u)) @ _WEIGHTS)
    return np.asarray(drop)
