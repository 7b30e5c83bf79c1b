r"""The law of a weighted sum of noncentral chi-squares, that is, of a quadratic form of a Gaussian vector.

.. math:: Q = \sum_i \lambda_i\,\chi^2_{n_i}(\delta_i), \qquad
          K(t) = \log E e^{tQ} = \sum_i \Bigl[-\tfrac{n_i}2\log(1 - 2\lambda_i t)
                 + \frac{\lambda_i\delta_i t}{1 - 2\lambda_i t}\Bigr].

The distribution function is the contour integral of :math:`e^{K(t) - tx}/(-t)` over a hyperbola that crosses the real
axis at the saddle point along the path of steepest descent (t < 0 gives the lower tail, t > 0 the upper one). The
integrand does not oscillate, nothing cancels, and every tail has a small relative error, however small the tail is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics.checks import ConvergenceError, FloatArray, broadcast, real
from airtight.analytics.rounding import UNIT

_CELLS = 1 << 20  # complex numbers in memory at a time
_NEWTON_STEPS = 60  # at most, for the saddle point
_STEP = 0.35  # first step of the trapezoidal rule, in widths of the saddle
_FINEST, _FARTHEST = 0.002, 100_000  # least step, in widths, and greatest number of points before the rule is given up
_AGREEMENT = 1e-12  # relative difference of two results of the rule at which it stops
_RIGHTMOST = (
    0.5 - 1e-12
)  # greatest saddle; where the exact one is farther right, both the tail and its value here underflow
_UNDERFLOW = -760.0  # log of a Chernoff bound below which the tail underflows to 0
_SLOPE = 0.8  # slope of the arms of the contour: real part over imaginary part


def cdf(x: ArrayLike, *, weight: ArrayLike, degrees: ArrayLike, noncentrality: ArrayLike = 0.0) -> FloatArray:
    r"""Pr(Q <= x) for :math:`Q = \sum_i \lambda_i\chi^2_{n_i}(\delta_i)`.

    Parameters
    ----------
    x : array_like, shape (...)
        Finite.
    weight : array_like, shape (..., I)
        lambda_i >= 0.
    degrees : array_like, shape (..., I)
        n_i >= 1, not necessarily integers.
    noncentrality : array_like, shape (..., I)
        delta_i >= 0.

    Returns
    -------
    ndarray or float, shape (...)
        Relative error below 1e-11 + 1e-14 (abs(log Pr) + sqrt(sum delta_i) + sum n_i) in the smaller tail, for
        noncentralities up to 1e15 and any ratio of weights; a tail whose Chernoff bound is below exp(-760) is 0.

    Raises
    ------
    ParameterError
        If a value is out of range or the shapes do not match.

    Notes
    -----
    The trapezoidal rule converges geometrically for an analytic integrand; its step is halved until two results agree
    to a relative 1e-12. One tail needs some 25 to 100 points, each of cost O(I).

    Examples
    --------
    >>> float(cdf(3.0, weight=[1.0], degrees=[2]))  # 1 - exp(-3/2)
    0.77686983985...
    >>> float(cdf(1e-30, weight=[1.0, 2.0], degrees=[4, 6]))
    3.25520833...e-155
    """
    return _tail(x, weight, degrees, noncentrality, lower=True)


def sf(x: ArrayLike, *, weight: ArrayLike, degrees: ArrayLike, noncentrality: ArrayLike = 0.0) -> FloatArray:
    """Pr(Q > x), with the accuracy of :func:`cdf`, in particular in the upper tail.

    Examples
    --------
    >>> float(sf(200.0, weight=[1.0], degrees=[2]))  # exp(-100)
    3.72007597602...e-44
    """
    return _tail(x, weight, degrees, noncentrality, lower=False)


def _tail(x: ArrayLike, weight: ArrayLike, degrees: ArrayLike, noncentrality: ArrayLike, *, lower: bool) -> FloatArray:
    x_values = real("x", x, "(-inf, inf)")
    lam, n, delta = broadcast(
        weight=np.atleast_1d(real("weight", weight, "[0, inf)")),
        degrees=np.atleast_1d(real("degrees", degrees, "[1, inf)")),
        noncentrality=np.atleast_1d(real("noncentrality", noncentrality, "[0, inf)")),
    )
    points, _ = broadcast(x=x_values[..., None], weight=lam)
    shape, terms = points.shape[:-1], points.shape[-1]
    points = points[..., 0].reshape(-1)
    lam, n, delta = (np.broadcast_to(a, (*shape, terms)).reshape(-1, terms) for a in (lam, n, delta))
    out = np.empty(points.size)
    step = max(_CELLS // (64 * terms), 1)
    for start in range(0, points.size, step):
        chunk = slice(start, start + step)
        out[chunk] = _rows(points[chunk], lam[chunk], n[chunk], delta[chunk], lower=lower)
    return out.reshape(shape)[()]


def _rows(x: FloatArray, lam: FloatArray, n: FloatArray, delta: FloatArray, *, lower: bool) -> FloatArray:
    """The tails of the problems, one per row, each scaled so that its greatest weight is 1."""
    scale = lam.max(axis=1)
    out = np.where(x >= 0, 1.0, 0.0) if lower else np.where(x < 0, 1.0, 0.0)
    regular = (scale > 0) & (x > 0)
    if lower:
        out[(scale > 0) & (x == 0)] = 0.0
    else:
        out[(scale > 0) & (x == 0)] = 1.0
    if not np.any(regular):
        return out
    lam = lam[regular] / scale[regular, None]
    n, delta = n[regular], delta[regular]
    with np.errstate(over="ignore"):
        x = x[regular] / scale[regular]
    mean = np.sum(lam * (n + delta), axis=1)
    below_mean = x < mean
    smaller_tail = np.empty(x.size)
    for below in (True, False):
        rows = below_mean == below
        if np.any(rows):
            smaller_tail[rows] = _smaller_tail(x[rows], lam[rows], n[rows], delta[rows], negative=below)
    out[regular] = np.where(below_mean == lower, smaller_tail, 1 - smaller_tail)
    return out


@dataclass(frozen=True)
class _Saddle:
    r"""The saddle :math:`t_0`, and the exponent :math:`K(t) - tx` near it without cancellation between its two terms.

    Let :math:`a = \lambda t_0/(1-2\lambda t_0)`, and let e be the excess of :math:`t_0K'(t_0)` over :math:`t_0x`, which
    is rounded once. Then

    .. math:: K(t_0) - t_0x = e + \sum_i\bigl[\tfrac{n_i}2(\log(1+2a_i) - 2a_i) - 2\delta_ia_i^2\bigr],

    is a sum of terms of one sign, and at :math:`t = t_0(1+r)` the exponent is greater by :math:`er +
    \sum_i\bigl[-\tfrac{n_i}2(\log(1-2a_ir) + 2a_ir) + 2\delta_i(1+2a_i)a_i^2r^2/(1-2a_ir) \bigr]`.
    """

    excess: FloatArray
    u: FloatArray  # 1 - 2 lambda t_0
    a: FloatArray
    n: FloatArray
    delta: FloatArray

    @classmethod
    def of(cls, t0: FloatArray, x: FloatArray, lam: FloatArray, n: FloatArray, delta: FloatArray) -> _Saddle:
        u = 1 - 2 * lam * t0[:, None]
        a = lam * t0[:, None] / u
        return cls(np.sum(a * (n + delta / u), axis=1) - t0 * x, u, a, n, delta)

    @property
    def height(self) -> FloatArray:
        """K(t) - t x at the saddle."""
        central = self.n / 2 * _log1p_rest(2 * self.a, 1 / self.u)
        return np.asarray(self.excess + np.sum(central - 2 * self.delta * self.a**2, axis=1))

    def rise(self, r: NDArray[Any]) -> NDArray[Any]:
        """The increase of K(t) - t x from the saddle t_0 to t_0 (1 + r); r has shape (R, points)."""
        z = 2 * self.a[:, None] * r[:, :, None]
        terms = self.n[:, None] / -2 * _log1p_rest(-z, 1 - z) + (self.delta / (2 * self.u))[:, None] * z * z / (1 - z)
        return np.asarray(np.sum(terms, axis=-1) + self.excess[:, None] * r)


def _log1p_rest(z: NDArray[Any], one_plus_z: NDArray[Any]) -> NDArray[Any]:
    """log(1 + z) - z, real or complex, given 1 + z; its rounding error is relative to abs(z)^2 / 2 where z is small."""
    out = np.asarray(np.log(one_plus_z) - z)
    small = np.abs(z) < 0.1
    small_z = z[small]
    series = np.zeros_like(small_z)
    for k in range(17, 1, -1):
        series = small_z * series + (-1) ** (k + 1) / k
    out[small] = small_z * small_z * series
    return out


def _slopes(
    t: FloatArray, lam: FloatArray, n: FloatArray, delta: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The first three derivatives of K at real t, shape (R,), times t, t^2 and t^3."""
    u = 1 - 2 * lam * t[:, None]
    a = lam * t[:, None] / u
    return (
        np.sum(a * (n + delta / u), axis=1),
        np.sum(2 * a**2 * (n + 2 * delta / u), axis=1),
        np.sum(8 * a**3 * (n + 3 * delta / u), axis=1),
    )


def _saddle(x: FloatArray, lam: FloatArray, n: FloatArray, delta: FloatArray, negative: bool) -> FloatArray:
    """The minimiser of the convex K(t) - t x - log(abs t) on t < 0, or on 0 < t < 1/2, by Newton's method in a bracket.

    The bracket follows on the left from K'(-s) <= (sum n / 2 + sum delta / 8) / s, and on the right from K'(t) <= 2 sum
    lam (n + 2 delta) for t up to 1/4.
    """
    if negative:
        near, far = 1 / x, (np.sum(n, axis=1) / 2 + np.sum(delta, axis=1) / 8 + 1) / x
        sign = -1.0
    else:
        steepest = 2 * np.sum(lam * (n + 2 * delta), axis=1)
        near, far = 1 / np.maximum(steepest - x, 4.0), np.full(x.size, _RIGHTMOST)
        sign = 1.0
    size = far.copy() if negative else near.copy()
    for _ in range(_NEWTON_STEPS):
        first, second, _ = _slopes(sign * size, lam, n, delta)
        slope = first - sign * size * x - 1  # times t; grows with abs t on the right, falls on the left
        beyond = slope * sign > 0 if sign > 0 else slope > 0
        far, near = np.where(beyond, size, far), np.where(beyond, near, size)
        proposal = size * (1 - slope / (second + 1))
        proposal = np.where((proposal > near) & (proposal < far), proposal, np.sqrt(near) * np.sqrt(far))
        done = np.abs(proposal - size) <= 1e-3 * size / np.sqrt(second + 1)
        size = proposal
        if np.all(done):
            break
    return np.asarray(sign * size)


def _smaller_tail(x: FloatArray, lam: FloatArray, n: FloatArray, delta: FloatArray, *, negative: bool) -> FloatArray:
    """The tail on one side; 0 where the Chernoff bound, the exponential of the height of the saddle, underflows."""
    t0 = _saddle(x, lam, n, delta, negative)
    rows = _Saddle.of(t0, x, lam, n, delta).height > _UNDERFLOW
    out = np.zeros(x.size)
    if np.any(rows):
        out[rows] = _saddle_integral(t0[rows], x[rows], lam[rows], n[rows], delta[rows])
    return out


def _saddle_integral(t0: FloatArray, x: FloatArray, lam: FloatArray, n: FloatArray, delta: FloatArray) -> FloatArray:
    """The tail by the trapezoidal rule on a hyperbola whose curvature is that of the path of steepest descent.

    The arms of the hyperbola stay outside the sector abs(arg(t - t0)) < 45 degrees, where the noncentral terms grow.
    """
    _, second, third = _slopes(t0, lam, n, delta)
    width = 1 / np.sqrt(second + 1)
    curvature = third * width**3 / 6
    saddle = _Saddle.of(t0, x, lam, n, delta)
    height = saddle.height
    direction = 1j * np.sign(t0)

    def values(u: NDArray[Any]) -> FloatArray:
        root = np.sqrt(1 + (2 * curvature[:, None] / _SLOPE * u) ** 2)
        away = width[:, None] * (direction[:, None] * u + 2 * curvature[:, None] * u * u / (1 + root))
        path = width[:, None] * (direction[:, None] + 2 * curvature[:, None] * u / root)
        with np.errstate(under="ignore"):
            return np.asarray((np.exp(saddle.rise(away)) / (1 + away) * path).imag)

    step = _STEP
    reach = 1
    total = values(np.zeros(1))[:, 0] / 2
    while True:
        block = values(step * np.arange(reach, reach + 24))
        total = total + block.sum(axis=1)
        reach += 24
        if np.all(np.abs(block[:, -8:]).max(axis=1) <= 1e-17 * np.abs(total)):
            break
        if reach > _FARTHEST:
            raise ConvergenceError("quadratic form: the integrand on the contour did not decay")
    estimate = step * total
    # rounding of the exponent limits the agreement
    allowed = _AGREEMENT + 32 * UNIT * (np.abs(t0) * x + np.abs(height))
    while True:
        midpoint_sum = values(step * (np.arange(reach) + 0.5)).sum(axis=1)
        finer = (estimate + step * midpoint_sum) / 2
        step, reach = step / 2, 2 * reach
        agreed = np.all(np.abs(finer - estimate) <= allowed * np.abs(finer))
        estimate = finer
        if agreed:
            break
        if step < _FINEST:
            raise ConvergenceError("quadratic form: the trapezoidal rule on the contour did not converge")
    with np.errstate(under="ignore"):
        return np.asarray(np.clip(np.sign(t0) * estimate / np.pi * np.exp(height), 0.0, 1.0))
