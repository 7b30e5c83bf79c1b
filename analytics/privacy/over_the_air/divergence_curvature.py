"""How strongly a divergence bends in the variance of the common noise: bounds of its second derivative, of either sign.

What a law of the noise on a grid (:mod:`airtight.analytics.distributions.weighted_sum`) needs, to bound a mean from both sides.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from airtight.analytics.checks import FloatArray


def of_gaussian(
    epsilon: FloatArray, d: FloatArray, low: FloatArray, high: FloatArray, log_unit: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Bounds b with -b_1 <= the second derivative in v of delta_G(epsilon; d / sqrt v) <= b_2 for v in [low, high].

    In units of exp(log_unit), for deltas that doubles cannot hold.

    Notes
    -----
    With mu = d / sqrt v the derivative of delta in mu is phi(a), that of a is -b / mu, so the second derivative in v is
    :math:`\varphi(a)\,\mu\,(ab + 3)/4v^2` with :math:`ab = \epsilon^2/\mu^2 - \mu^2/4`. a and ab fall in mu, so phi(a) is
    greatest at the end, or the zero, of a that is nearest 0.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        small, large = d / np.sqrt(high), d / np.sqrt(low)
        most, least = epsilon / small - small / 2, epsilon / large - large / 2
        nearest = np.where(least > 0, least, np.where(most < 0, most, 0.0))
        scale = np.exp(-nearest * nearest / 2 - log_unit) / np.sqrt(2 * np.pi) * large / (4 * low * low)
        concave = scale * np.maximum(large * large / 4 - (epsilon / large) ** 2 - 3, 0.0)
        convex = scale * np.maximum((epsilon / small) ** 2 - small * small / 4 + 3, 0.0)
    found = (np.where(d == 0, 0.0, np.nan_to_num(x, nan=np.inf)) for x in (concave, convex))
    return next(found), next(found)


def slope_of_pair(
    level: FloatArray, d: FloatArray, low: FloatArray, high: FloatArray, gap: FloatArray, r: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""For D of N(d e_1, (v + gap) I_r) from N(0, v I_r): log(-dD/dv) at most, its derivative at least and at most.

    All for v in [low, high]; `level` is epsilon, or minus epsilon for the reverse divergence.

    Notes
    -----
    Gaussian densities solve the heat equation in v, so with :math:`F = P - \lambda Q` the slope of
    :math:`D = \int F_+` is :math:`-\tfrac12\oint|\nabla F|` over F = 0, a sphere of radius R about
    :math:`-(dv/s)e_1`, s the gap, where :math:`|\nabla F|` is proportional to Q:

    .. math:: R^2 = \tfrac{2v(v+s)}s\,c,\quad c = \text{level} + \tfrac r2\log(1 + \tfrac sv) + \tfrac{d^2}{2s},\qquad
              -\frac{dD}{dv} \propto \frac{R^r}{v(v+s)v^{r/2}}\,e^{-d^2v/2s^2 - R^2/2v}\,
              \kappa^{-\nu}I_\nu(\kappa),\quad \kappa = \tfrac{dR}s,\ \nu = \tfrac r2 - 1.

    With :math:`c' = -rs/2v(v+s)` and :math:`(\kappa^{-\nu}I_\nu)' = \kappa^{-\nu}I_{\nu+1}` its logarithmic derivative is

    .. math:: \frac r{2(v+s)} + \frac r{2v} + \frac r2\frac{c'}c - \frac1v - \frac1{v+s} - \frac{d^2}{2s^2} - \frac cs
              + \frac\kappa2\Bigl[\frac1v + \frac1{v+s} + \frac{c'}c\Bigr]\frac{I_{\nu+1}(\kappa)}{I_\nu(\kappa)},

    each term monotone on the interval, the ratio of Bessel functions between :math:`\kappa/(\nu + \tfrac12 +
    \sqrt{\kappa^2 + (\nu + \tfrac32)^2})` and the same with 1/2 for 3/2 (Segura 2011). The factor in front is
    :math:`\tfrac12 s`, times :math:`\lambda` for the forward divergence, and :math:`\log\kappa^{-\nu}I_\nu(\kappa) \le
    -\log 2^\nu\Gamma(\nu+1) + h(\kappa) - h(0)`, :math:`h(t) = \sqrt{t^2+a^2} - a\log(a + \sqrt{t^2+a^2})`, a = (r-1)/2, the
    integral of the upper one. At the middle of the interval it is that; elsewhere what the derivative allows. Infinite where
    c may vanish.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        c_most = level + r / 2 * np.log1p(gap / low) + d * d / (2 * gap)
        c_least = level + r / 2 * np.log1p(gap / high) + d * d / (2 * gap)
        fall_most = r / 2 * gap / (low * (low + gap)) / c_least  # -c' / c
        fall_least = r / 2 * gap / (high * (high + gap)) / c_most
        plain_most = (r / 2 - 1) / np.where(r < 2, high + gap, low + gap) + (r / 2 - 1) / np.where(r < 2, high, low)
        plain_least = (r / 2 - 1) / np.where(r < 2, low + gap, high + gap) + (r / 2 - 1) / np.where(r < 2, low, high)
        common = (d / gap) ** 2 / 2
        kappa_most = d / gap * np.sqrt(2 * high * (high + gap) / gap * c_most)
        kappa_least = d / gap * np.sqrt(2 * low * (low + gap) / gap * c_least)
        order = r / 2 - 0.5
        ratio_most = kappa_most / (order + np.sqrt(kappa_most**2 + order**2))
        ratio_least = kappa_least / (order + np.sqrt(kappa_least**2 + (order + 1) ** 2))
        bracket_most = 1 / low + 1 / (low + gap) - fall_least
        bracket_least = 1 / high + 1 / (high + gap) - fall_most
        turn_most = np.where(bracket_most > 0, kappa_most * ratio_most, kappa_least * ratio_least) / 2 * bracket_most
        turn_least = np.where(bracket_least > 0, kappa_least * ratio_least, kappa_most * ratio_most) / 2 * bracket_least
        turn_most, turn_least = (np.where(d == 0, 0.0, x) for x in (turn_most, turn_least))
        most = plain_most - r / 2 * fall_least - common - c_least / gap + turn_most
        least = plain_least - r / 2 * fall_most - common - c_most / gap + turn_least
        sound = (c_least > 0) & (low > 0)
        v = (low + high) / 2
        c = level + r / 2 * np.log1p(gap / v) + d * d / (2 * gap)
        square = 2 * v * (v + gap) / gap * c
        kappa = d / gap * np.sqrt(square)
        root = np.sqrt(kappa * kappa + order * order)
        bessel = root - order - (order * np.log((order + root) / (2 * order)) if order > 0 else 0.0)
        size = np.log(gap / 2) + np.maximum(level, 0.0) + r / 2 * np.log(square / v) - np.log(v * (v + gap))
        size = size - v * common - square / (2 * v) + bessel - (r / 2 - 1) * np.log(2) - special.gammaln(r / 2)
        size = size + np.maximum(np.abs(least), np.abs(most)) * (high - low) / 2 + 1e-9
    return np.where(sound, size, np.inf), np.where(sound, least, -np.inf), np.where(sound, most, np.inf)


def concavity_of_pair(d: FloatArray, low: FloatArray, gap: FloatArray, r: float, *, reverse: bool) -> FloatArray:
    r"""A bound of minus the second derivative in v of the divergence of N(d e_1, (v + gap) I_r) from N(0, v I_r) for v >= low.

    Notes
    -----
    The divergence is a supremum over sets A of :math:`F(A) = P(A) - \lambda Q(A)`, so its second derivative is at least that of
    F(A) at the best set, on which :math:`\lambda Q \le P`. A Gaussian density q of variance v obeys
    :math:`\partial_v^2q = q\,[(\chi-r)^2 + 2r - 4\chi]/4v^2`, :math:`\chi = |y|^2/v`: at least :math:`-q(2r+4)/4v^2`, and at most
    :math:`q\,[(\chi-r)^2 + 2r]/4v^2`, whose mean under P follows from mean and variance of :math:`\chi`.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        eta, square = gap / low, d * d / low
        if reverse:
            own, other, deviation = low, low + gap, (r + square) ** 2 + 2 * r + 4 * square
        else:
            own, other = low + gap, low
            deviation = (r * eta + square) ** 2 + 2 * r * (1 + eta) ** 2 + 4 * (1 + eta) * square
        found = (2 * r + 4) / (4 * own * own) + (deviation + 2 * r) / (4 * other * other)
        return np.asarray(np.nan_to_num(found, nan=np.inf))


def concavity_of_hidden(near: FloatArray, d: FloatArray, low: FloatArray, own: FloatArray, r: float) -> FloatArray:
    r"""A bound of minus the second derivative in v of :math:`D_\lambda/p` of
    :mod:`airtight.analytics.privacy.over_the_air.hidden_participation`, for v >= low.

    `near` is the norm of the one mean, d the distance of the two.

    Notes
    -----
    As in :func:`concavity_of_pair`: on the best set both of what is taken away from the density f of the near component are at
    most f, and :math:`\partial_v^2q \le q\,[(\chi-r)^2+2r]/4v^2` for each; its mean under f follows from mean and variance
    of :math:`\chi`, a multiple of a noncentral chi-square variable.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        whole, eta = low + own, own / low
        between, square = d * d / whole, near * near / whole
        of_far = between * between + 2 * (r + 2 * between)
        of_common = (r * eta + (1 + eta) * square) ** 2 + 2 * (1 + eta) ** 2 * (r + 2 * square)
        found = (2 * r + 4 + of_far + 2 * r) / (4 * whole * whole) + (of_common + 2 * r) / (4 * low * low)
        return np.asarray(np.nan_to_num(found, nan=np.inf))


def excess(v: FloatArray, weights: FloatArray, values: FloatArray, cost: FloatArray, slack: float) -> FloatArray:
    """By how much the mean of a decreasing function on the grids v (one a row) may exceed the true one.

    `cost` is what the curvature may cost at each place. The function kept constant below some v_j is a smaller one, bent only
    above v_j - slack: j is taken so that beyond there the cost is nowhere more than the value.
    """
    above = np.where(weights > 0, cost > values, False)
    some = np.any(above, axis=1)
    final = v.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)
    beyond = np.where(some, np.take_along_axis(v, final[:, None], axis=1)[:, 0] + slack, -np.inf)
    last = np.minimum(np.sum(v <= beyond[:, None], axis=1), v.shape[1] - 1)[:, None]
    at, level = (np.take_along_axis(x, last, axis=1) for x in (v, values))
    cut = v < at - slack
    lowered = np.where(v < at, values - level, 0.0)
    return np.asarray(np.sum(weights * (lowered + np.where(cut | (weights == 0), 0.0, cost)), axis=1))
