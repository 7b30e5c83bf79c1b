r"""Two shifted Gaussians against a third one on a line: the Neyman-Pearson set is a half-line, its value a closed form.

Let :math:`\lambda = e^\epsilon`, let n > f be means (`near`, `far`) with :math:`n + f \ge 0`, and let h be the Gaussian
density of mean 0 and variance :math:`1/(1+\eta)`. Then

.. math:: G = \sup_A\; N(n,1)(A) - \lambda N(f,1)(A) - \omega\,h(A), \qquad
          \omega = (\lambda-1)\,\tfrac{1-p}{p}\,e^{\text{log ratio}} .

The first two terms together are positive right of :math:`x_0 = \epsilon/(n-f) + (n+f)/2 \ge 0`, and right of
:math:`x_0` their ratio to h increases. So A is a half-line :math:`(b, \infty)`. With :math:`z = (n-f)(b-x_0)` its end
solves

.. math:: \log(1-e^{-z}) + n\,b - n^2/2 + \eta\,b^2/2 = \log\omega + \tfrac12\log(1+\eta) .

As a function of :math:`w = \log(e^z - 1)` the left-hand side has a slope of at least 1/2 everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.mechanisms import gaussian

_STEPS = 200  # greatest number of Newton or bisection steps; six are usual
_CANCELLED = 1e-4  # relative difference of Mills' ratios below which the derivative is integrated instead
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True)
class Best:
    """The value of the best half-line, and its derivatives.

    Attributes
    ----------
    log_value : ndarray
        log G.
    far, common : ndarray
        :math:`\\lambda N(f,1)(A)` and :math:`\\omega h(A)` as shares of G. They are minus the derivatives of log G in
        epsilon at fixed :math:`\\omega`, and in :math:`\\log\\omega`.
    terms : ndarray
        The sum of the magnitudes of all terms of G, as a share of G.
    """

    log_value: FloatArray
    far: FloatArray
    common: FloatArray
    terms: FloatArray

    def slope(self, eps: FloatArray) -> FloatArray:
        """Derivative of log G in epsilon, where :math:`\\omega` depends on epsilon."""
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.where(eps > 0, self.common / -np.expm1(-eps), 0.0)
        return np.asarray(-(self.far + moved))


def best(
    eps: FloatArray, p: FloatArray, near: FloatArray, far: FloatArray, log_ratio: FloatArray, eta: FloatArray
) -> Best:
    """The best half-line; arguments of one shape, eps >= 0 finite, p in (0, 1], near > far."""
    from scipy import special

    gap = near - far
    with np.errstate(all="ignore"):
        surplus = np.log(-np.expm1(-eps)) + np.log1p(-p) - np.log(p) + log_ratio + np.log1p(eta) / 2
        target = np.maximum(surplus - far / gap * eps - near * far / 2, -700.0)
        start = eps / gap + (near + far) / 2
        z = _end(target, near / gap, eta, start, 1 / gap)
        b = start + z / gap
        to_near = eps / gap - gap / 2 + z / gap
        to_far, to_zero = to_near + gap, b * np.sqrt(1 + eta)
        # lambda N(f, 1) over N(n, 1) at b; the rest of N(n, 1) there is omega h
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
    """The z that solves log(1 - e^-z) + pull z + eta (start + stretch z)^2 / 2 = target.

    The error is a few units in the last place of the left-hand side. Newton's method in w, safeguarded by bisection.
    """
    goal = target - eta * start * start / 2
    w = np.where(goal < 0, goal, goal / pull)
    low, high = np.full(w.shape, -np.inf), np.full(w.shape, np.inf)
    active = np.arange(w.size)
    for _ in range(_STEPS):
        w_now, eta_now, stretch_now = w[active], eta[active], stretch[active]
        decay = np.exp(-np.abs(w_now))
        common = np.log1p(decay)
        z = np.maximum(w_now, 0.0) + common
        x = start[active] + stretch_now * z
        excess = pull[active] * z + eta_now * x * x / 2 - target[active] - (z - w_now)
        sigmoid = np.where(w_now > 0, 1.0, decay) / (1 + decay)
        slope = 1 - sigmoid + sigmoid * (pull[active] + eta_now * x * stretch_now)
        above = excess > 0
        # the slope in w is at least 1/2, so the root is at most twice the excess away
        reach = 2 * np.abs(excess) * (1 + 1e-9)
        a = np.maximum(low[active], np.where(above, w_now - reach, w_now))
        b = np.minimum(high[active], np.where(above, w_now, w_now + reach))
        low[active], high[active] = a, b
        newton = w_now - excess / slope
        moved = np.where((newton >= a) & (newton <= b), newton, (a + b) / 2)
        w[active] = moved
        unsettled = np.abs(moved - w_now) > 1e-7 * (1 + np.abs(w_now))  # the next step squares this
        active = active[unsettled & np.isfinite(moved)]
        if not active.size:
            break
    return np.asarray(np.logaddexp(0.0, w))


def scaled_drop(x: FloatArray, eta: FloatArray) -> FloatArray:
    r"""R(x) - c R(x/c), c = (1 + eta)^(-1/2), with Mills' ratio R; without cancellation where the two terms are close.

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
