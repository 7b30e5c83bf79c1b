r"""Hockey-stick divergence of two isotropic Gaussians with different means *and* variances, to relative 1e-11.

With the privacy loss :math:`L = \log(P/Q)` under :math:`P` and its cumulant :math:`K(z) = \log E_P[e^{zL}]`,

.. math:: D_{e^\epsilon}(P\|Q) = E[(1 - e^{\epsilon - L})_+]
          = \frac1{2\pi i}\int_{c - i\infty}^{c + i\infty} \frac{e^{K(z) - z\epsilon}}{z(1+z)}\,dz, \qquad c > 0,

because :math:`\int_0^\infty (1-e^{-x}) e^{-zx} dx = 1/(z(1+z))`. Moved across the poles at 0 and -1 the same integral
gives the complement :math:`D - 1` and the reverse divergence. For :math:`P = N(d e_1, (1+\eta) v I_r)`,
:math:`Q = N(0, v I_r)` and :math:`\mu = d/\sqrt v`

.. math:: K(z) = \frac{\mu^2}{2}\,\frac{z(1+z)}{1-\eta z} - \frac r2\bigl[\log(1-\eta z) + z\log(1+\eta)\bigr],

which stays smooth as :math:`\eta \to 0`, the Gaussian mechanism. In :math:`\omega = 1/(1-\eta z)` the integrand is that
of a Bessel function, whose path of steepest descent is known in closed form; the trapezoidal rule on it converges
geometrically and nothing cancels, so that delta = 1e-3000 is as accurate as delta = 0.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from analytics.checks import FloatArray, IntArray, broadcast, integer, real
from analytics.privacy import gaussian

_UNIT = np.finfo(float).eps
_NODES = 32
_SPACING = 0.3  # of the nodes, in widths of the peak; 32 of them reach to where a Gaussian has fallen below 1e-20
_MOST_NODES = 4096
_CHUNK = 2048  # problems at a time: 2048 x 32 complex numbers are 1 MB
_BISECTIONS = 14
_HUGE = 1e60  # means this many standard deviations apart count as infinitely far
_TRUNCATION = 1e-14  # relative size of the last term
_AGREEMENT = 1e-10  # of the rule with its half; the error of the finer rule is then far below 1e-11


def log_hockey_stick(
    epsilon: ArrayLike, *, distance: ArrayLike, variance_p: ArrayLike, variance_q: ArrayLike, dimension: ArrayLike
) -> FloatArray:
    r"""Logarithm of :math:`\sup_A [P(A) - e^\epsilon Q(A)]` for P = N(d e_1, v_P I_r), Q = N(0, v_Q I_r).

    Parameters
    ----------
    epsilon : array_like
        At least 0.
    distance : array_like
        d, distance of the means, at least 0.
    variance_p, variance_q : array_like
        Variance per coordinate, at least 0; 0 is a point mass.
    dimension : array_like of int
        r >= 1.

    Returns
    -------
    ndarray or float
        Relative error of the divergence below :func:`relative_error`; -inf where the divergence is 0. Where epsilon is
        within rounding of the greatest possible loss (P narrower than Q) the value is a Chernoff bound, from above.

    Raises
    ------
    ParameterError
        When an argument is out of range or NaN.

    References
    ----------
    FDP Theorem 1 with the adjacency of its proof; ledger FDP-T1a.

    Examples
    --------
    Removing a silent device, noise and all, at the paper's dimension:

    >>> import numpy as np
    >>> float(np.exp(log_hockey_stick(0.0, distance=0, variance_p=1.2, variance_q=1.1, dimension=25088)))
    0.99999889...
    """
    eps, d, vp, vq, r = broadcast(
        epsilon=real("epsilon", epsilon, "[0, inf]"),
        distance=real("distance", distance, "[0, inf)"),
        variance_p=real("variance_p", variance_p, "[0, inf)"),
        variance_q=real("variance_q", variance_q, "[0, inf)"),
        dimension=integer("dimension", dimension, "[1, inf)").astype(float),
    )
    narrow, gap = np.minimum(vp, vq), np.abs(vp - vq)
    reverse = vp < vq
    out = np.empty(eps.shape)
    for direction in (False, True):
        some = reverse == direction
        out[some], _ = log_curve(eps[some], d[some], narrow[some], gap[some], r[some], reverse=direction)
    return out[()]


def log_curve(
    eps: FloatArray, d: FloatArray, narrow: FloatArray, gap: FloatArray, r: FloatArray, *, reverse: bool
) -> tuple[FloatArray, FloatArray]:
    """log D of N(d e_1, (narrow + gap) I_r) from N(0, narrow I_r), or the reverse, and its slope in epsilon.

    One-dimensional arrays. The gap is given by itself, since narrow + gap would round it away.
    """
    out, slope = np.full(eps.shape, -np.inf), np.zeros(eps.shape)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        far = d / np.sqrt(narrow) > _HUGE
    proper = (narrow > 0) & (eps < np.inf) & ~far
    singular = ~proper & (eps < np.inf) & ((gap > 0) | (d > 0))
    out[singular] = 0.0  # a point mass and another law: disjoint supports up to null sets
    equal = proper & (gap == 0)
    out[equal], slope[equal] = gaussian.log_curve(eps[equal], d[equal] / np.sqrt(narrow[equal]))
    some = proper & (gap > 0)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        mu = d[some] / np.sqrt(narrow[some])
        out[some], slope[some] = _in_chunks(eps[some], mu, gap[some] / narrow[some], r[some], reverse)
    return out, slope


def relative_error(log_delta: ArrayLike, dimension: ArrayLike) -> FloatArray:
    """Bound on the relative error of a divergence whose logarithm is `log_delta`, as computed here.

    Rounding of the exponent: its terms grow with the dimension and the depth of the tail.
    """
    magnitude = np.abs(np.maximum(np.asarray(log_delta, float), -1e300)) + np.asarray(dimension, float)
    return np.asarray(1e-11 + 8 * _UNIT * magnitude)


def _in_chunks(
    eps: FloatArray, mu: FloatArray, eta: FloatArray, r: FloatArray, reverse: bool
) -> tuple[FloatArray, FloatArray]:
    out, slope = np.empty(eps.shape), np.empty(eps.shape)
    for i in range(0, eps.size, _CHUNK):
        part = slice(i, i + _CHUNK)
        out[part], slope[part] = _log_divergence(eps[part], _Loss(mu[part], eta[part], r[part]), reverse)
    return out, slope


def _log_divergence(eps: FloatArray, loss: _Loss, reverse: bool) -> tuple[FloatArray, FloatArray]:
    """log D_{e^eps} of N(mu e_1, (1 + eta) I_r) from N(0, I_r), or the reverse, and its slope; eta > 0."""
    level = -eps if reverse else eps
    end = np.full(eps.shape, -1.0 if reverse else 0.0)
    towards = -1.0 if reverse else 1.0
    mean, spread = towards * loss.slope(end), np.sqrt(loss.curvature(end))
    bulk = mean - eps > spread  # more than half: the complement is the small number
    crossing = _crossing(loss, level, np.where(bulk, 0.0, towards))
    value, mean_z, settled = _contour(loss, level, crossing, _NODES)
    never = loss.reach(level) <= 0
    rough, nodes = np.flatnonzero(~settled & ~never), 4 * _NODES
    while rough.size and nodes <= _MOST_NODES:
        for part in np.array_split(rough, max(rough.size * nodes // (_CHUNK * _NODES), 1)):
            value[part], mean_z[part], settled[part] = _contour(
                loss.only(part), level[part], crossing.only(part), nodes
            )
        rough, nodes = rough[~settled[rough]], 4 * nodes
    value = value + (eps if reverse else 0.0)
    value_slope = 1 + mean_z if reverse else -mean_z
    complement = -np.expm1(value)
    out = np.where(bulk, np.log(complement), value)
    slope = np.where(bulk, -value_slope * np.exp(value) / complement, value_slope)
    out[never], slope[never] = -np.inf, 0.0
    if rough.size:
        out[rough] = _chernoff(eps[rough], loss.only(rough), reverse)
    return np.minimum(out, 0.0), slope


def _chernoff(eps: FloatArray, loss: _Loss, reverse: bool) -> FloatArray:
    """An upper bound for what the integral cannot resolve: losses within rounding of the greatest possible one.

    (1 - e^-x)_+ <= e^(zx) z^z / (1 + z)^(1 + z) for z > 0, so log D <= K(z) - z eps + z log z - (1 + z) log(1 + z).
    """
    level = -eps if reverse else eps
    at = _crossing(loss, level, np.full(eps.shape, -1.0 if reverse else 1.0))
    c, above, w = at.c, at.above, at.w
    signal = loss.half_square * c * above / w - loss.half_r * (np.log(w) + c * loss.log_ratio) - c * level
    z = -above if reverse else c
    bound = signal + (eps if reverse else 0.0) + special.xlogy(z, z) - special.xlogy(1 + z, 1 + z)
    rounding = 8 * _UNIT * (np.abs(signal) + loss.half_r * (np.abs(np.log(w)) + np.abs(c) * loss.log_ratio))
    return np.minimum(np.where(np.isfinite(bound), bound + rounding, 0.0), 0.0)


@dataclass
class _Crossing:
    """Where the path crosses the real axis: c, 1 + c and 1 - eta c, each without cancellation."""

    c: FloatArray
    above: FloatArray
    w: FloatArray

    def only(self, part: IntArray) -> _Crossing:
        return _Crossing(self.c[part], self.above[part], self.w[part])


class _Loss:
    """The cumulant function K of the privacy loss of N(mu e_1, (1 + eta) I_r) against N(0, I_r)."""

    def __init__(self, mu: FloatArray, eta: FloatArray, r: FloatArray) -> None:
        self.mu, self.eta, self.r, self.half_r = mu, eta, r, r / 2
        self.half_square = mu * mu / 2
        self.log_ratio = np.log1p(eta)

    def only(self, part: IntArray) -> _Loss:
        return _Loss(self.mu[part], self.eta[part], self.r[part])

    def slope(self, c: FloatArray, w: FloatArray | None = None) -> FloatArray:
        w = 1 - self.eta * c if w is None else w
        signal = self.half_square * ((1 + 2 * c) / w + (self.eta * c / w) * ((1 + c) / w))
        return np.asarray(signal + self.half_r * (self.eta / w - self.log_ratio))

    def curvature(self, c: FloatArray, w: FloatArray | None = None) -> FloatArray:
        w = 1 - self.eta * c if w is None else w
        ratio = self.eta / w
        return np.asarray(2 * self.half_square * (1 + self.eta) / w**3 + self.half_r * ratio * ratio)

    def reach(self, level: FloatArray) -> FloatArray:
        """Proportional to the squared radius of the ball outside which the loss exceeds `level`."""
        return np.asarray(2 * level + 2 * self.half_r * self.log_ratio + self.mu * (self.mu / self.eta))


def _crossing(loss: _Loss, level: FloatArray, side: FloatArray) -> _Crossing:
    """The minimum of the integrand on an interval of the real axis, which is its maximum along the path.

    `side` tells which interval: 1 right of 0, 0 between -1 and 0, -1 left of -1. The logarithm of the integrand is
    convex on each, so its derivative is bisected in a coordinate that maps the interval to the line.
    """
    low, high = np.full(level.shape, -700.0), np.full(level.shape, 700.0)
    for step in range(_BISECTIONS + 1):
        middle = (low + high) / 2
        up = np.exp(middle)
        down = 1 / up
        c = np.where(side > 0, 1 / (down + loss.eta), np.where(side < 0, -1 - down, -1 / (1 + up)))
        above = np.where(side > 0, 1 + c, np.where(side < 0, -down, 1 / (1 + down)))
        w = np.where(side > 0, 1 / (1 + loss.eta * up), 1 - loss.eta * c)
        if step == _BISECTIONS:
            break
        rising = ~(loss.slope(c, w) - level - 1 / c - 1 / above <= 0)
        high, low = np.where(rising, middle, high), np.where(rising, low, middle)
    return _Crossing(c, above, w)


def _contour(
    loss: _Loss, level: FloatArray, crossing: _Crossing, nodes: int
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Logarithm of the absolute value of the integral, the mean of z under it, and whether nodes and range were enough."""
    c, above, w = crossing.c[:, None], crossing.above[:, None], crossing.w[:, None]
    eta, half_r, half_square = loss.eta[:, None], loss.half_r[:, None], loss.half_square[:, None]
    width = loss.eta / (w[:, 0] * np.sqrt(loss.curvature(c[:, 0], w[:, 0])))
    theta, rest, spread = _nodes(np.minimum(width, 1.0)[:, None], nodes)
    turn = 2 * np.sin(theta / 2) ** 2
    sine, cosine = np.sin(np.minimum(theta, rest)), 1 - turn

    # The steepest path of the Bessel integrand: 1 / omega = w g exp(-i theta), g = (A + S) / (A_0 + S_0).
    bend, bend_slope = _theta_over_sine(theta, sine, cosine)
    start = eta * half_r
    square = (loss.mu * np.sqrt(1 + loss.eta) * np.sqrt(np.maximum(loss.reach(level), 0.0) / loss.eta))[:, None] ** 2
    growth = start * bend
    now = start + growth
    root_start, root = np.sqrt(start * start + square), np.sqrt(now * now + square)
    scale = start + root_start
    excess = growth * (1 + np.where(square < np.inf, (now + start) / (root + root_start), 0.0)) / scale
    factor = 1 + excess
    factor_slope = start * bend_slope * (1 + now / root) / scale

    # z = x + i y, and 1 + z; complex numbers written out, which numpy does three times as fast
    stretch = w / eta
    shift, y = stretch * (factor * turn - excess), stretch * factor * sine
    x, x_above = c + shift, above + shift
    product, product_y = x * x_above - y * y, y * (x + x_above)
    pull = half_square / (w * factor)
    rate = (loss.half_r * loss.log_ratio + level)[:, None]
    log_size = pull * (product * cosine - product_y * sine) - half_r * (np.log(w) + np.log1p(excess)) - x * rate
    angle = pull * (product * sine + product_y * cosine) + half_r * theta - y * rate
    peak = log_size[:, :1]
    speed, speed_y = factor * sine - factor_slope * cosine, factor * cosine + factor_slope * sine
    size = np.exp(log_size - peak) * stretch * spread / (product * product + product_y * product_y)
    size[:, 0] /= 2
    quotient, quotient_y = speed * product + speed_y * product_y, speed_y * product - speed * product_y
    turned, turned_y = np.cos(angle), np.sin(angle)
    terms = size * (turned * quotient_y + turned_y * quotient)
    across = size * (turned * quotient - turned_y * quotient_y)
    whole = np.sum(terms, axis=1)
    mean_z = np.sum(terms * x + across * y, axis=1) / whole
    fine = np.abs(whole)
    coarse = np.abs(np.sum(terms[:, ::2], axis=1))
    settled = np.abs(2 * coarse / fine - 1) <= _AGREEMENT
    settled &= np.abs(terms[:, -1]) <= _TRUNCATION * fine
    return peak[:, 0] + np.log(fine / np.pi), mean_z, settled


def _nodes(width: FloatArray, nodes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Angles theta along the path, pi - theta, and their spacing times d theta; `width` is that of the peak.

    The first try is a plain rule over the peak. Where that fails the integrand falls slowly, like a power: then
    theta = pi tanh(width / pi sinh t) reaches from the peak to the end of the path at all scales.
    """
    if nodes == _NODES:
        step = np.asarray(np.minimum(_SPACING * width, np.pi / nodes))
        theta = step * np.arange(float(nodes))
        return theta, np.pi - theta, step
    end = np.arcsinh(30 * np.pi / width)
    t = end * np.arange(float(nodes)) / nodes
    x = width / np.pi * np.sinh(t)
    rest = 2 * np.pi / (1 + np.exp(2 * x))
    return np.pi * np.tanh(x), rest, width * np.cosh(t) / np.cosh(x) ** 2 * end / nodes


def _theta_over_sine(theta: FloatArray, sine: FloatArray, cosine: FloatArray) -> tuple[FloatArray, FloatArray]:
    """theta / sin(theta) - 1 and its derivative, by series near 0."""
    small = theta < 1e-2
    square = theta * theta
    safe = np.where(small, 1.0, sine)
    value = np.where(small, square * (1 / 6 + square * (7 / 360 + square * 31 / 15120)), (theta - sine) / safe)
    slope = np.where(
        small, theta * (1 / 3 + square * (7 / 90 + square * 31 / 2520)), (sine - theta * cosine) / (safe * safe)
    )
    return value, slope
