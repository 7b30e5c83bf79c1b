"""Bounds of the second derivative, of either sign, of a divergence as a function of the variance of the common noise.

With a law of the noise on a grid (:mod:`airtight.analytics.distributions.weighted_sum`), these bounds give bounds of
the mean divergence from both sides.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from airtight.analytics.checks import FloatArray


def of_gaussian(
    epsilon: FloatArray, d: FloatArray, low: FloatArray, high: FloatArray, log_unit: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Bounds b_1, b_2 with -b_1 <= d^2/dv^2 delta_G(epsilon; d / sqrt v) <= b_2 for all v in [low, high].

    They are in units of exp(log_unit), so that values of delta that underflow a double can be handled.

    Notes
    -----
    Let mu = d / sqrt v, a = epsilon / mu - mu / 2 and b = epsilon / mu + mu / 2. The derivative of delta in mu is
    phi(a) and that of a is -b / mu, so the second derivative in v is :math:`\varphi(a)\,\mu\,(ab + 3)/4v^2` with
    :math:`ab = \epsilon^2/\mu^2 - \mu^2/4`. Both a and ab fall in mu, so phi(a) is greatest at the value of a nearest
    0: at an end of the interval, or at the zero of a.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        mu_low, mu_high = d / np.sqrt(high), d / np.sqrt(low)
        a_high, a_low = epsilon / mu_low - mu_low / 2, epsilon / mu_high - mu_high / 2
        nearest = np.where(a_low > 0, a_low, np.where(a_high < 0, a_high, 0.0))
        scale = np.exp(-nearest * nearest / 2 - log_unit) / np.sqrt(2 * np.pi) * mu_high / (4 * low * low)
        concave = scale * np.maximum(mu_high * mu_high / 4 - (epsilon / mu_high) ** 2 - 3, 0.0)
        convex = scale * np.maximum((epsilon / mu_low) ** 2 - mu_low * mu_low / 4 + 3, 0.0)
    bounds = (np.where(d == 0, 0.0, np.nan_to_num(x, nan=np.inf)) for x in (concave, convex))
    return next(bounds), next(bounds)


def slope_of_pair(
    level: FloatArray, d: FloatArray, low: FloatArray, high: FloatArray, gap: FloatArray, r: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""For the divergence D of N(d e_1, (v + gap) I_r) from N(0, v I_r): upper bound of log(-dD/dv), and lower and
    upper bounds of its derivative in v.

    All three hold for v in [low, high]; `level` is epsilon, or minus epsilon for the reverse divergence.

    Notes
    -----
    Gaussian densities solve the heat equation in v. So, with :math:`F = P - \lambda Q` the slope of :math:`D = \int
    F_+` is :math:`-\tfrac12\oint|\nabla F|` over the surface F = 0. With s the gap, this surface is a sphere of radius
    R about :math:`-(dv/s)e_1`, on which :math:`|\nabla F|` is proportional to Q:

    .. math:: R^2 = \tfrac{2v(v+s)}s\,c,\quad c = \text{level} + \tfrac r2\log(1 + \tfrac sv) + \tfrac{d^2}{2s},\qquad
              -\frac{dD}{dv} \propto \frac{R^r}{v(v+s)v^{r/2}}\,e^{-d^2v/2s^2 - R^2/2v}\,
              \kappa^{-\nu}I_\nu(\kappa),\quad \kappa = \tfrac{dR}s,\ \nu = \tfrac r2 - 1.

    With :math:`c' = -rs/2v(v+s)` and :math:`(\kappa^{-\nu}I_\nu)' = \kappa^{-\nu}I_{\nu+1}`, the logarithmic derivative
    of this expression is

    .. math:: \frac r{2(v+s)} + \frac r{2v} + \frac r2\frac{c'}c - \frac1v - \frac1{v+s} - \frac{d^2}{2s^2} - \frac cs
              + \frac\kappa2\Bigl[\frac1v + \frac1{v+s} + \frac{c'}c\Bigr]\frac{I_{\nu+1}(\kappa)}{I_\nu(\kappa)},

    Each term is monotone on the interval. The ratio of Bessel functions lies between :math:`\kappa/(\nu + \tfrac12 +
    \sqrt{\kappa^2 + (\nu + \tfrac32)^2})` and the same expression with 1/2 in place of 3/2 (Segura 2011). The factor of
    proportionality is :math:`\tfrac12 s`, times :math:`\lambda` for the forward divergence, and
    :math:`\log\kappa^{-\nu}I_\nu(\kappa) \le -\log 2^\nu\Gamma(\nu+1) + h(\kappa) - h(0)`, :math:`h(t) = \sqrt{t^2+a^2}
    - a\log(a + \sqrt{t^2+a^2})`, a = (r-1)/2, where h is the integral of the upper bound of the ratio. These formulas
    bound the slope at the middle of the interval; the bound of the logarithmic derivative extends it to the whole
    interval. The bounds are infinite where c may vanish.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        c_high = level + r / 2 * np.log1p(gap / low) + d * d / (2 * gap)
        c_low = level + r / 2 * np.log1p(gap / high) + d * d / (2 * gap)
        decay_high = r / 2 * gap / (low * (low + gap)) / c_low  # -c' / c
        decay_low = r / 2 * gap / (high * (high + gap)) / c_high
        rational_high = (r / 2 - 1) / np.where(r < 2, high + gap, low + gap) + (r / 2 - 1) / np.where(r < 2, high, low)
        rational_low = (r / 2 - 1) / np.where(r < 2, low + gap, high + gap) + (r / 2 - 1) / np.where(r < 2, low, high)
        centre_term = (d / gap) ** 2 / 2
        kappa_high = d / gap * np.sqrt(2 * high * (high + gap) / gap * c_high)
        kappa_low = d / gap * np.sqrt(2 * low * (low + gap) / gap * c_low)
        order = r / 2 - 0.5
        ratio_high = kappa_high / (order + np.sqrt(kappa_high**2 + order**2))
        ratio_low = kappa_low / (order + np.sqrt(kappa_low**2 + (order + 1) ** 2))
        bracket_high = 1 / low + 1 / (low + gap) - decay_low
        bracket_low = 1 / high + 1 / (high + gap) - decay_high
        bessel_high = np.where(bracket_high > 0, kappa_high * ratio_high, kappa_low * ratio_low) / 2 * bracket_high
        bessel_low = np.where(bracket_low > 0, kappa_low * ratio_low, kappa_high * ratio_high) / 2 * bracket_low
        bessel_high, bessel_low = (np.where(d == 0, 0.0, x) for x in (bessel_high, bessel_low))
        rate_high = rational_high - r / 2 * decay_low - centre_term - c_low / gap + bessel_high
        rate_low = rational_low - r / 2 * decay_high - centre_term - c_high / gap + bessel_low
        bounded = (c_low > 0) & (low > 0)
        v = (low + high) / 2  # the slope itself is bounded here
        c = level + r / 2 * np.log1p(gap / v) + d * d / (2 * gap)
        radius_squared = 2 * v * (v + gap) / gap * c
        kappa = d / gap * np.sqrt(radius_squared)
        root = np.sqrt(kappa * kappa + order * order)
        log_bessel = root - order - (order * np.log((order + root) / (2 * order)) if order > 0 else 0.0)
        log_slope = (
            np.log(gap / 2) + np.maximum(level, 0.0) + r / 2 * np.log(radius_squared / v) - np.log(v * (v + gap))
        )
        log_slope = (
            log_slope
            - v * centre_term
            - radius_squared / (2 * v)
            + log_bessel
            - (r / 2 - 1) * np.log(2)
            - special.gammaln(r / 2)
        )
        # from the middle to the whole interval; 1e-9 is more than the rounding error of this sum
        log_slope = log_slope + np.maximum(np.abs(rate_low), np.abs(rate_high)) * (high - low) / 2 + 1e-9
    return (
        np.where(bounded, log_slope, np.inf),
        np.where(bounded, rate_low, -np.inf),
        np.where(bounded, rate_high, np.inf),
    )


def concavity_of_pair(d: FloatArray, low: FloatArray, gap: FloatArray, r: float, *, reverse: bool) -> FloatArray:
    r"""Upper bound of -d^2D/dv^2 for v >= low, D the divergence of N(d e_1, (v + gap) I_r) from N(0, v I_r).

    Notes
    -----
    The divergence is a supremum over sets A of :math:`F(A) = P(A) - \lambda Q(A)`, so its second derivative is at least
    that of F(A) at the optimal set A, on which :math:`\lambda Q \le P`. A Gaussian density q of variance v satisfies
    :math:`\partial_v^2q = q\,[(\chi-r)^2 + 2r - 4\chi]/4v^2`, :math:`\chi = |y|^2/v`. This is at least
    :math:`-q(2r+4)/4v^2` and at most :math:`q\,[(\chi-r)^2 + 2r]/4v^2`; the mean of the latter under P follows from the
    mean and the variance of :math:`\chi`.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        eta, d2_over_v = gap / low, d * d / low
        if reverse:
            p_variance, q_variance, second_moment = low, low + gap, (r + d2_over_v) ** 2 + 2 * r + 4 * d2_over_v
        else:
            p_variance, q_variance = low + gap, low
            second_moment = (r * eta + d2_over_v) ** 2 + 2 * r * (1 + eta) ** 2 + 4 * (1 + eta) * d2_over_v
        bound = (2 * r + 4) / (4 * p_variance * p_variance) + (second_moment + 2 * r) / (4 * q_variance * q_variance)
        return np.asarray(np.nan_to_num(bound, nan=np.inf))


def concavity_of_hidden(near: FloatArray, d: FloatArray, low: FloatArray, own: FloatArray, r: float) -> FloatArray:
    r"""Upper bound of minus the second derivative in v of :math:`D_\lambda/p` of
    :mod:`airtight.analytics.privacy.over_the_air.hidden_participation`, for all v >= low.

    `near` is the norm of the mean x of the first neighbour, d the distance of the two means.

    Notes
    -----
    The proof is that of :func:`concavity_of_pair`. Let f be the density of the component at x. On the optimal set, each
    of the two terms that are subtracted from f is at most f, and for each of them :math:`\partial_v^2q \le
    q\,[(\chi-r)^2+2r]/4v^2`. The mean of this bound under f follows from the mean and the variance of :math:`\chi`, a
    multiple of a noncentral chi-square variable.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        w, eta = low + own, own / low
        distance_squared, norm_squared = d * d / w, near * near / w
        far_moment = distance_squared * distance_squared + 2 * (r + 2 * distance_squared)
        common_moment = (r * eta + (1 + eta) * norm_squared) ** 2 + 2 * (1 + eta) ** 2 * (r + 2 * norm_squared)
        bound = (2 * r + 4 + far_moment + 2 * r) / (4 * w * w) + (common_moment + 2 * r) / (4 * low * low)
        return np.asarray(np.nan_to_num(bound, nan=np.inf))


def excess(v: FloatArray, weights: FloatArray, values: FloatArray, cost: FloatArray, slack: float) -> FloatArray:
    """Upper bound of the error by which the mean of a decreasing function on the grids v (one per row) is too large.

    `cost` bounds the effect of the curvature at each grid value. Replacing the function by its value at v_j to the left
    of v_j gives a smaller function, which is curved only above v_j - slack. The index j is chosen such that, to the
    right of v_j - slack, the cost nowhere exceeds the value.
    """
    costly = np.where(weights > 0, cost > values, False)
    any_costly = np.any(costly, axis=1)
    last_costly = v.shape[1] - 1 - np.argmax(costly[:, ::-1], axis=1)
    limit = np.where(any_costly, np.take_along_axis(v, last_costly[:, None], axis=1)[:, 0] + slack, -np.inf)
    j = np.minimum(np.sum(v <= limit[:, None], axis=1), v.shape[1] - 1)[:, None]
    v_j, value_j = (np.take_along_axis(x, j, axis=1) for x in (v, values))
    cut = v < v_j - slack
    clipping_loss = np.where(v < v_j, values - value_j, 0.0)
    return np.asarray(np.sum(weights * (clipping_loss + np.where(cut | (weights == 0), 0.0, cost)), axis=1))
