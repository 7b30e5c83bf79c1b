r"""The hockey-stick divergence of two isotropic Gaussians that differ in mean *and* variance, with a proved error.

With the privacy loss :math:`L = \log(P/Q)` under :math:`P` and its cumulant :math:`K(z) = \log E_P[e^{zL}]`,

.. math:: D_{e^\epsilon}(P\|Q) = E[(1 - e^{\epsilon - L})_+]
          = \frac1{2\pi i}\int_{c - i\infty}^{c + i\infty} \frac{e^{K(z) - z\epsilon}}{z(1+z)}\,dz, \qquad c > 0,

because :math:`\int_0^\infty (1-e^{-x}) e^{-zx} dx = 1/(z(1+z))`. If the path is moved across the pole at 0, the
integral is :math:`D - 1`; if it is moved across both poles, at 0 and -1, the integral is :math:`e^\epsilon
D_{e^{-\epsilon}}(Q\|P)`, the reverse divergence. For :math:`P = N(d e_1, (1+\eta) v I_r)`, :math:`Q = N(0, v I_r)` and
:math:`\mu = d/\sqrt v`

.. math:: K(z) = \frac{\mu^2}{2}\,\frac{z(1+z)}{1-\eta z} - \frac r2\bigl[\log(1-\eta z) + z\log(1+\eta)\bigr],

which stays smooth as :math:`\eta \to 0`, the limit of the Gaussian mechanism. The path is a hyperbola whose focus is
the branch point :math:`1/\eta`,

.. math:: z(u) = c + R\,[\sin(\varphi + iu) - \sin\varphi],\qquad R = \frac{1/\eta - c}{1 - \sin\varphi},

and the integral is computed by the trapezoidal rule in u. No large terms cancel, so that delta = 1e-3000 is as accurate
as delta = 0.1.

Proof of the error
------------------
*Size on a path.* Write :math:`\omega = 1/(1-\eta z)`; then :math:`K = \tfrac{\mu^2}2[\mathrm{const} - z/\eta +
\tfrac{1+\eta}{\eta^2}\omega] + \tfrac r2[\log\omega - z\log(1+\eta)]`. Let :math:`S = \sin\varphi`, :math:`k = \cosh u
- 1` and :math:`w = 1 - \eta c`. Since the focus is the branch point, :math:`|1 - \eta z(u)| = \eta R(\cosh u - S)`.
Hence :math:`|\omega|` decreases as u moves away from 0. The real part :math:`\Re\omega` is never above its value at the
crossing of the real axis, because :math:`w\,\Re\omega - 1 = -k[(1-S)(2+S)+k]/(1-S+k)^2 \le 0`. This expression
decreases up to k = (1-S)(2+S)/S, where it is -1.042 for S = 1/2, and from there it increases to -1. For S >= 0 the real
part of z increases. Apart from :math:`\omega`, z enters :math:`\Re(K - z\epsilon)` only as :math:`-\rho\,\Re z`,
:math:`\rho = \mu^2/2\eta + \tfrac r2\log(1+\eta) + \epsilon > 0`. (For the reverse divergence epsilon changes its sign;
if then :math:`\rho \le 0`, no loss reaches epsilon.) So :math:`|e^{K - z\epsilon}|` is greatest where the path crosses
the real axis.

*Discretisation.* If u is replaced by u + ia, the path becomes the hyperbola of angle :math:`\varphi' = \varphi - a`
with the same foci. Let x' be its crossing of the real axis. The integral of the modulus of the integrand over this path
is at most :math:`e^{K(x') - x'\epsilon}` times :math:`\int|dz|/|z(1+z)| \le \tfrac{2}{\cos\varphi'\,B}(2 + \log\tfrac
BA)`. For :math:`|dz| \le dy/\cos\varphi'`; and a pole at distance s from x' is never nearer to the path than
max(abs(y), s), or max(abs(y), :math:`s\cos\varphi'`) if the path bends round the pole (the convex region that the path
bounds contains the wedge from x' along its asymptotes). A <= B are these values, s or :math:`s\cos\varphi'`, of the two
poles. Let a function be analytic in the strip :math:`-a_1 < \Im u < a_2`, with such integrals :math:`M_1, M_2` on its
edges. Then the error of the trapezoidal rule of step h is at most :math:`\sum_i M_i/(e^{2\pi a_i/h}-1)` (Trefethen and
Weideman 2014, Theorem 5.1). The strip must end before :math:`\varphi - a = 0`, before :math:`\varphi + a = \pi/2` and
before the poles. The step h is the greatest one for which both terms, each at one of a few values of a, are below
:math:`e^{-T}` times a saddle point estimate of the value.

*Truncation.* The sum beyond U is at most :math:`(\pi RC^2\sinh U)^{-1}` times the size at U, :math:`C = \cos\varphi`,
as long as the size decreases, because :math:`|z'|/|z(1+z)| \le R\cosh u/(RC\sinh u)^2`. U is taken where this bound is
below :math:`e^{-T}` of the estimate. Beyond k = 5/2 :math:`\Re\omega` increases again, by .042/w; this raises the size
by at most :math:`e^{.042p}`, where :math:`p = \tfrac{\mu^2}2\tfrac{1+\eta}{\eta^2w}`. If U lies before k = 1, the size
never returns to its value at U. If U lies beyond k = 1, then at k = 1 the term of :math:`\omega` alone has reduced the
logarithm of the size by p, but the size had not yet decreased by T in all. So p is at most T, and the size increases by
at most :math:`e^{1.3}`; the variable `rule_error` has room for this factor.

*Rounding.* Every factor of a term has a relative error of a few units in the last place. So the relative error of a
term is the sum of the magnitudes of all that is added up in its exponent, in units in the last place; these magnitudes
are summed along with the terms. It is assumed that library functions are right to two units in the last place.

A release with normal noise whose variance, too, may differ between neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, broadcast, integer, real
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Mechanism, register
from airtight.analytics.rounding import SMALLEST, UNIT

_NATS = 30.0  # T: the quadrature error is about e^-30 = 1e-13 of the value
_SINE, _COSINE, _ANGLE = 0.5, np.sqrt(0.75), np.pi / 6  # of phi, the angle of the hyperbola
_INSIDE = 0.93  # greatest share of the distance to a pole that a strip may reach
_STRIPS = np.array([1.0, 0.75, 0.5, 0.3])  # shares of the greatest half-width of a strip that are tried
_LENGTHS = 2.0 ** np.arange(3, 24, 0.5)  # numbers of nodes: problems with similar numbers are evaluated together
_DOUBLINGS = 22.0  # log2 of the greatest number of nodes
_FEW = 4096  # nodes, or problems, up to which all problems are evaluated together
_CHUNK = 1 << 16  # nodes that are evaluated at a time: temporary arrays of half a megabyte
_BISECTIONS = 14  # of an interval of length 1400: the crossing need not be exact, the error bounds hold at any
_HUGE = 1e60  # means this many standard deviations apart count as infinitely far
_ROUGH = 1e-3  # relative error above which a Chernoff bound is returned instead


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
        The error is that of :func:`log_bracket`, about 1e-12 of the divergence; -inf where the divergence is 0. Where
        epsilon is equal to the greatest possible loss up to rounding (P narrower than Q), the value is a Chernoff upper
        bound.

    Raises
    ------
    ParameterError
        When an argument is out of range or NaN.

    References
    ----------
    FDP Theorem 1 with the adjacency of its proof; ledger FDP-T1a.

    Examples
    --------
    A silent device is removed together with its noise, at the paper's dimension:

    >>> import numpy as np
    >>> float(np.exp(log_hockey_stick(0.0, distance=0, variance_p=1.2, variance_q=1.1, dimension=25088)))
    0.99999889...
    """
    return _evaluated(epsilon, distance, variance_p, variance_q, dimension)[0][()]


def log_bracket(
    epsilon: ArrayLike, *, distance: ArrayLike, variance_p: ArrayLike, variance_q: ArrayLike, dimension: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Proved lower and upper bounds of :func:`log_hockey_stick`; the proof is in the docstring of this module.

    Examples
    --------
    >>> low, high = log_bracket(1.0, distance=1.0, variance_p=2.0, variance_q=1.0, dimension=3)
    >>> bool(high - low < 1e-11), float(np.exp(high))
    (True, 0.26061...)
    """
    value, error = _evaluated(epsilon, distance, variance_p, variance_q, dimension)
    with np.errstate(invalid="ignore"):
        lower = np.where(value > -np.inf, value - error, -np.inf)
        return lower[()], np.where(value > -np.inf, np.minimum(value + error, 0.0), -np.inf)[()]


def _evaluated(
    epsilon: ArrayLike, distance: ArrayLike, variance_p: ArrayLike, variance_q: ArrayLike, dimension: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """log_hockey_stick and the bound on its error."""
    eps, d, vp, vq, r = broadcast(
        epsilon=real("epsilon", epsilon, "[0, inf]"),
        distance=real("distance", distance, "[0, inf)"),
        variance_p=real("variance_p", variance_p, "[0, inf)"),
        variance_q=real("variance_q", variance_q, "[0, inf)"),
        dimension=integer("dimension", dimension, "[1, inf)").astype(float),
    )
    narrow, gap = np.minimum(vp, vq), np.abs(vp - vq)
    reverse = vp < vq
    out, error = np.empty(eps.shape), np.empty(eps.shape)
    for direction in (False, True):
        selected = reverse == direction
        out[selected], _, error[selected] = log_curve(
            eps[selected], d[selected], narrow[selected], gap[selected], r[selected], reverse=direction
        )
    return out, error


def log_curve(
    eps: FloatArray,
    d: FloatArray,
    narrow: FloatArray,
    gap: FloatArray,
    r: FloatArray,
    *,
    reverse: bool,
    nats: float = _NATS,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """log D of N(d e_1, (narrow + gap) I_r) from N(0, narrow I_r), or the reverse; its slope in epsilon; its error.

    The arrays are one-dimensional. The gap is an argument of its own, since the sum narrow + gap would lose it to
    rounding. Where the value is only a Chernoff upper bound, the error is infinite. The time grows in proportion to
    `nats`, and the quadrature error decreases as exp(-nats).
    """
    out, slope, error = np.full(eps.shape, -np.inf), np.zeros(eps.shape), np.zeros(eps.shape)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        far = d / np.sqrt(narrow) > _HUGE
    proper = (narrow > 0) & (eps < np.inf) & ~far
    singular = ~proper & (eps < np.inf) & ((gap > 0) | (d > 0))
    out[singular] = 0.0  # a point mass and another law, or means infinitely far apart: the laws are mutually singular
    equal = proper & (gap == 0)
    out[equal], slope[equal], error[equal] = gaussian.log_curve(eps[equal], d[equal] / np.sqrt(narrow[equal]))
    regular = proper & (gap > 0)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        loss = _Loss(d[regular] / np.sqrt(narrow[regular]), gap[regular] / narrow[regular], r[regular])
        out[regular], slope[regular], error[regular] = _log_divergence(eps[regular], loss, reverse, nats)
    return out, slope, error


def _log_divergence(
    eps: FloatArray, loss: _Loss, reverse: bool, nats: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """log D_{e^eps} of N(mu e_1, (1 + eta) I_r) from N(0, I_r), or the reverse, its slope and error bound; eta > 0."""
    threshold = -eps if reverse else eps
    end = np.full(eps.shape, -1.0 if reverse else 0.0)
    towards = -1.0 if reverse else 1.0
    mean, spread = towards * loss.slope(end), loss.bend(end)
    bulk = mean - eps > spread  # the divergence is more than about half: compute the complement, which is small
    side = np.where(bulk, 0.0, towards)
    unreached = loss.reach(threshold) <= 0
    value, mean_z, error = (np.full(eps.shape, x) for x in (-np.inf, 0.0, 0.0))
    reached = np.flatnonzero(~unreached)
    value[reached], mean_z[reached], error[reached] = _integral(loss.only(reached), threshold[reached], side[reached], nats)
    value = value + (eps if reverse else 0.0)
    error = error + (2 * UNIT * eps if reverse else 0.0)
    value_slope = 1 + mean_z if reverse else -mean_z
    complement = -np.expm1(value)
    out = np.where(bulk, np.log1p(-np.exp(value)), value)
    slope = np.where(bulk, -value_slope * np.exp(value) / complement, value_slope)
    error = np.where(bulk, error * np.exp(value) / complement - 2 * UNIT * out, error)
    rough = np.flatnonzero(~unreached & ~(error <= _ROUGH))
    if rough.size:
        out[rough], error[rough] = _chernoff(eps[rough], loss.only(rough), reverse), np.inf
    out[unreached], slope[unreached], error[unreached] = -np.inf, 0.0, 0.0
    return np.minimum(out, 0.0), slope, error


def _chernoff(eps: FloatArray, loss: _Loss, reverse: bool) -> FloatArray:
    """An upper bound where the integral is too inaccurate: for losses within rounding of the greatest possible one.

    (1 - e^-x)_+ <= e^(zx) z^z / (1 + z)^(1 + z) for z > 0, so log D <= K(z) - z eps + z log z - (1 + z) log(1 + z).
    """
    threshold = -eps if reverse else eps
    at = _crossing(loss, threshold, np.full(eps.shape, -1.0 if reverse else 1.0))
    c, above, w = at.c, at.above, at.w
    signal = loss.signal(c, above) / w - loss.half_r * (np.log(w) + c * loss.log_ratio) - c * threshold
    z = -above if reverse else c
    bound = signal + (eps if reverse else 0.0) + special.xlogy(z, z) - special.xlogy(1 + z, 1 + z)
    rounding = 8 * UNIT * (np.abs(signal) + loss.half_r * (np.abs(np.log(w)) + np.abs(c) * loss.log_ratio))
    return np.minimum(np.where(np.isfinite(bound), bound + rounding, 0.0), 0.0)


@dataclass
class _Crossing:
    """Where the path crosses the real axis: c, 1 + c and 1 - eta c, each without cancellation, and log(1 - eta c)."""

    c: FloatArray
    above: FloatArray
    w: FloatArray
    log_w: FloatArray

    def only(self, part: IntArray) -> _Crossing:
        return _Crossing(self.c[part], self.above[part], self.w[part], self.log_w[part])


class _Loss:
    """The cumulant function K of the privacy loss of N(mu e_1, (1 + eta) I_r) against N(0, I_r)."""

    def __init__(self, mu: FloatArray, eta: FloatArray, r: FloatArray) -> None:
        self.mu, self.eta, self.r, self.half_r = mu, eta, r, r / 2
        self.log_ratio = np.log1p(eta)

    def only(self, part: IntArray) -> _Loss:
        return _Loss(self.mu[part], self.eta[part], self.r[part])

    def slope(self, c: FloatArray, w: FloatArray | None = None) -> FloatArray:
        """K'(c) at real c; w is 1 - eta c, to be given if the difference would cancel."""
        w = 1 - self.eta * c if w is None else w
        signal = self.mu * (self.mu / 2 * ((1 + 2 * c) / w + (self.eta * c / w) * ((1 + c) / w)))
        return np.asarray(signal + self.half_r * (self.eta / w - self.log_ratio))

    def bend(self, c: FloatArray, w: FloatArray | None = None) -> FloatArray:
        """The square root of K''(c) at real c, with w as in :meth:`slope`."""
        w = 1 - self.eta * c if w is None else w
        return np.hypot(self.mu * np.sqrt((1 + self.eta) / w) / w, np.sqrt(self.half_r) * (self.eta / w))

    def signal(self, x: FloatArray, above: FloatArray) -> FloatArray:
        """mu^2 x (1 + x) / 2, where neither the square nor the product need be in the range of doubles."""
        return np.asarray(self.mu * x * (self.mu * above) / 2)

    def exponent(
        self, threshold: FloatArray, x: FloatArray, above: FloatArray, w: FloatArray, log_w: FloatArray
    ) -> FloatArray:
        """K(x) - x threshold at real x; above = 1 + x, w = 1 - eta x, and log_w is its logarithm."""
        return np.asarray(self.signal(x, above) / w - self.half_r * (log_w + x * self.log_ratio) - x * threshold)

    def reach(self, threshold: FloatArray) -> FloatArray:
        """2 rho of the proof, proportional to the squared radius of the ball outside which the loss exceeds `threshold`."""
        return np.asarray(2 * threshold + 2 * self.half_r * self.log_ratio + self.mu * (self.mu / self.eta))


def _crossing(loss: _Loss, threshold: FloatArray, side: FloatArray) -> _Crossing:
    """The point of an interval of the real axis where the integrand is least; there it is greatest along the path.

    `side` names the interval: 1 right of 0, 0 between -1 and 0, -1 left of -1. The logarithm of the integrand is convex
    on each, so its derivative is bisected in a coordinate that maps the interval to the real line.
    """
    points = np.empty((4, threshold.size))
    for each_side in np.unique(side):
        members = np.flatnonzero(side == each_side)
        points[:, members] = _crossing_on(loss.only(members), threshold[members], float(each_side))
    return _Crossing(*points)


def _crossing_on(loss: _Loss, threshold: FloatArray, side: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """c, 1 + c, 1 - eta c and its logarithm at the crossing, for problems with the same `side`."""
    low, high = np.full(threshold.shape, -700.0), np.full(threshold.shape, 700.0)
    for step in range(_BISECTIONS + 1):
        middle = (low + high) / 2
        up = np.exp(middle)
        down = 1 / up
        if side > 0:
            c = 1 / (down + loss.eta)
            above, w = 1 + c, 1 / (1 + loss.eta * up)
        else:
            c, above = (-1 - down, -down) if side < 0 else (-1 / (1 + up), 1 / (1 + down))
            w = 1 - loss.eta * c
        if step == _BISECTIONS:
            break
        rising = ~(loss.slope(c, w) - threshold - 1 / c - 1 / above <= 0)
        high, low = np.where(rising, middle, high), np.where(rising, low, middle)
    return c, above, w, -np.log1p(loss.eta * up) if side > 0 else np.log1p(-loss.eta * c)


def _integral(
    loss: _Loss, threshold: FloatArray, side: FloatArray, nats: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Logarithm of the modulus of the integral, the mean of z under the integrand, and the error of the logarithm."""
    crossing = _crossing(loss, threshold, side)
    rule = _Rule.of(loss, threshold, side, crossing, nats)
    nodes = rule.nodes()
    value, mean_z, error = (np.full(threshold.shape, np.nan) for _ in range(3))
    group = np.searchsorted(_LENGTHS, nodes) + (nodes > 0)
    if threshold.size * np.max(nodes, initial=0) <= _FEW:
        group = np.minimum(nodes, 1)
    for i in np.unique(group):
        members = np.flatnonzero(group == i)
        length = int(np.max(nodes[members]))
        for batch in np.array_split(members, max(-(-members.size * length // _CHUNK), 1)):
            value[batch], mean_z[batch], error[batch] = rule.only(batch).total(length)
    return value, mean_z, error


@dataclass
class _Rule:
    """The trapezoidal rule on the hyperbola: scale R, step, and the saddle point estimate that its error refers to."""

    loss: _Loss
    threshold: FloatArray
    crossing: _Crossing
    scale: FloatArray
    step: FloatArray
    estimate: FloatArray
    nats: float

    @classmethod
    def of(cls, loss: _Loss, threshold: FloatArray, side: FloatArray, crossing: _Crossing, nats: float) -> _Rule:
        c, above, w = crossing.c, crossing.above, crossing.w
        bend = np.hypot(np.hypot(loss.bend(c, w), 1 / c), 1 / above)
        scale = w / loss.eta / (1 - _SINE)
        peak = loss.exponent(threshold, c, above, w, crossing.log_w)
        estimate = peak - np.log(np.abs(c)) - np.log(np.abs(above)) - 0.5 * np.log(2 * np.pi) - np.log(bend)
        widest = np.sqrt(2 * nats) / bend / (scale * _COSINE)  # the best half-width for a Gaussian integrand
        step = np.full(c.shape, np.inf)
        for direction in (-1, 1):  # the strip to the left and the one to the right of the path
            pole = np.where(side > 0, c, np.where(side == 0, above, np.inf))
            if direction > 0:
                pole = np.where(side > 0, np.inf, np.where(side == 0, -c, -above))
            limit = np.minimum(_ANGLE if direction < 0 else np.pi / 2 - _ANGLE, _turn(direction * pole / scale))
            best = np.zeros(c.shape)
            for share in (_STRIPS[:, None],) if c.size <= _FEW else _STRIPS:
                a = share * np.minimum(widest, _INSIDE * limit)
                # the crossing x' of the shifted path; sin(phi + a) - sin(phi) without cancellation
                offset = scale * (direction * _COSINE * np.sin(a) - 2 * _SINE * np.sin(a / 2) ** 2)
                x, x_above, q = c + offset, above + offset, w - loss.eta * offset
                cosine = np.cos(_ANGLE + direction * a)
                distance_to_0 = np.abs(x) * np.where(x < 0, cosine, 1.0)
                distance_to_minus_1 = np.abs(x_above) * np.where(x_above < 0, cosine, 1.0)
                near, far = (
                    np.minimum(distance_to_0, distance_to_minus_1),
                    np.maximum(distance_to_0, distance_to_minus_1),
                )
                length = 2 / (cosine * far) * (2 + np.log(far / near))
                size = loss.exponent(threshold, x, x_above, q, np.log(q)) + np.log(length / (2 * np.pi))
                steps = 2 * np.pi * a / np.maximum(nats + size - estimate, nats / 2)
                best = np.maximum(best, np.max(np.atleast_2d(steps), axis=0))
            step = np.minimum(step, best)
        return cls(loss, threshold, crossing, scale, step, estimate, nats)

    def only(self, part: IntArray) -> _Rule:
        return _Rule(
            self.loss.only(part),
            self.threshold[part],
            self.crossing.only(part),
            self.scale[part],
            self.step[part],
            self.estimate[part],
            self.nats,
        )

    def nodes(self) -> IntArray:
        """Number of nodes after which the rest is below e^-T of the estimate; 0 where the rule cannot be used."""
        loss, c, w = self.loss, self.crossing.c, self.crossing.w
        pull_root = loss.mu / loss.eta * np.sqrt((1 + loss.eta) / w)  # the root of 2 p, p of the proof
        rate = loss.reach(self.threshold) * _SINE
        start = loss.exponent(self.threshold, c, self.crossing.above, w, self.crossing.log_w) - self.estimate
        start = start - np.log(np.pi * self.scale * _COSINE**2)
        low, high = np.zeros(c.shape), np.full(c.shape, _DOUBLINGS)
        for _ in range(9):
            middle = (low + high) / 2
            u = np.minimum(self.step * 2**middle, 700.0)
            sinh = np.sinh(u / 2)
            k = 2 * sinh * sinh
            decrease = (pull_root * sinh) ** 2 * ((1 - _SINE) * (2 + _SINE) + k) / (1 - _SINE + k) ** 2
            decrease += rate * sinh * (self.scale * sinh)
            decrease += loss.half_r * np.log1p(k / (1 - _SINE)) + np.log(np.sinh(u))
            enough = start - decrease <= -self.nats
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        usable = np.isfinite(self.step) & (self.step > 0) & np.isfinite(start) & (high < _DOUBLINGS)
        return np.where(usable, np.ceil(2**high) + 1, 0).astype(np.int64)

    def total(self, nodes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The sum over `nodes` nodes; returns what :func:`_integral` returns."""
        if nodes == 0:
            unknown = np.full(self.step.shape, np.nan)
            return unknown, unknown, unknown
        loss, crossing = self.loss, self.crossing
        # z and 1 + z are in units of the root of c (1 + c), so that no product overflows
        unit = np.sqrt(np.abs(crossing.c)) * np.sqrt(np.abs(crossing.above))
        half_r, scale = loss.half_r[:, None], (self.scale / unit)[:, None]
        u = self.step[:, None] * np.arange(float(nodes))
        k, sinh = 2 * np.sinh(u / 2) ** 2, np.sinh(u)
        # apart = cosh u - sin phi, so that |1 - eta z| = eta R apart
        apart, turned_back = 1 - _SINE + k, 1 - _SINE - _SINE * k
        # z = x + i y; product = z (1 + z); omega = 1 / (1 - eta z) over its value at the crossing; _y: imaginary parts
        y, shift = scale * _COSINE * sinh, scale * _SINE * k
        x, x_above = (crossing.c / unit)[:, None] + shift, (crossing.above / unit)[:, None] + shift
        product, product_y = x * x_above - y * y, y * (x + x_above)
        square = product * product + product_y * product_y
        omega = (1 - _SINE) * turned_back / (apart * apart)
        omega_y = (1 - _SINE) * _COSINE * sinh / (apart * apart)
        pull = (loss.signal(unit, unit) / crossing.w)[:, None]
        log_q = crossing.log_w[:, None] + np.log1p(k / (1 - _SINE))
        phase = half_r * np.arctan2(_COSINE * sinh, turned_back)
        rate = ((loss.half_r * loss.log_ratio + self.threshold) * unit)[:, None]
        log_size = pull * (product * omega - product_y * omega_y) - half_r * log_q - x * rate
        angle = pull * (product * omega_y + product_y * omega) + phase - y * rate
        peak = log_size[:, :1]
        speed, speed_y = scale * _COSINE * (1 + k), -scale * _SINE * sinh
        quotient = (speed * product + speed_y * product_y) / square
        quotient_y = (speed_y * product - speed * product_y) / square
        size = np.exp(log_size - peak)
        size[:, 0] /= 2  # the node at u = 0; every other node stands for u and -u
        cosine, sine = np.cos(angle), np.sin(angle)
        terms = size * (cosine * quotient - sine * quotient_y)
        across = size * (cosine * quotient_y + sine * quotient)
        whole = np.sum(terms, axis=1)
        mean_z = np.sum(terms * x - across * y, axis=1) / whole * unit
        value = peak[:, 0] + np.log(np.abs(whole) * (self.step / np.pi)) - np.log(unit)

        # magnitudes of all that is added up in the exponent
        absolute_rate = ((loss.half_r * loss.log_ratio + np.abs(self.threshold)) * unit)[:, None]
        added = pull * np.sqrt(square) * (1 - _SINE) / apart + phase + (np.abs(x) + y) * absolute_rate
        added += half_r * (np.abs(crossing.log_w[:, None]) + log_q - crossing.log_w[:, None])
        rounding = np.sum(size * np.hypot(quotient, quotient_y) * (32 + nodes / 4 + 8 * added), axis=1)
        # two terms of the discretisation and one of the truncation, which may be greater by e^1.3
        rule_error = 8 * np.exp(self.estimate - value - self.nats)
        error = rule_error + UNIT * (rounding / np.abs(whole) + 8 * np.abs(peak[:, 0]))
        return value, mean_z, np.where(error < 0.1, error * (1 + error), np.inf)


def _turn(ratio: FloatArray) -> FloatArray:
    """Angle between phi and that of the hyperbola whose crossing is `ratio` scales right of c (left if negative)."""
    near = np.abs(ratio) < 1e-6
    sine = np.clip(_SINE + np.where(near, 0.0, ratio), -1.0, 1.0)
    return np.where(near, np.abs(ratio) / _COSINE, np.abs(np.arcsin(sine) - _ANGLE))


@dataclass(frozen=True)
class UnequalNoise(Mechanism):
    r"""N(d e_1, s_P^2 I_r) against N(0, s_Q^2 I_r).

    Attributes
    ----------
    distance : float
        d, at most, of the means.
    deviation, neighbour : float
        s_P and s_Q > 0.
    dimension : int
        r.

    Notes
    -----
    :math:`D_\lambda(P\|Q) = 1 - \int\min(f_x, \lambda g)` for :math:`\lambda > 0`, x the difference of the means, f and g
    radially decreasing: layer by layer the volume of the intersection of two balls falls with :math:`|x|`. So the pair of
    greatest distance dominates all with these deviations, in either order.
    """

    distance: float
    deviation: float
    neighbour: float
    dimension: int
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "distance", checks.scalar("distance", self.distance, "[0, inf)"))
        for name in ("deviation", "neighbour"):
            object.__setattr__(self, name, checks.scalar(name, getattr(self, name), "(0, inf)"))
        object.__setattr__(self, "dimension", checks.count("dimension", self.dimension))

    def _variances(self, reverse: bool) -> tuple[float, float]:
        """In units of the neighbour's noise, so that nothing overflows."""
        ratio = (self.deviation / self.neighbour) ** 2
        return (1.0, ratio) if reverse else (ratio, 1.0)

    def greatest_loss(self, *, reverse: bool = False) -> float:
        first, second = self._variances(reverse)
        if first >= second:
            return np.inf if first > second or self.distance > 0 else 0.0
        d = self.distance / self.neighbour
        return float((self.dimension / 2 * np.log(second / first) + d * d / (2 * (second - first))) * (1 + 64 * UNIT))

    def reached_loss(self, *, reverse: bool = False) -> float:
        return self.greatest_loss(reverse=reverse) * (1 - 128 * UNIT)

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        first, second = self._variances(reverse)
        finite = epsilon < np.inf
        low, high = log_bracket(
            np.where(finite, epsilon, 0.0),
            distance=self.distance / self.neighbour,
            variance_p=first,
            variance_q=second,
            dimension=self.dimension,
        )
        room = 32 * UNIT  # of the ratios
        with np.errstate(under="ignore"):
            lower, upper = np.exp(low) * (1 - room), np.exp(high) * (1 + room) + SMALLEST
        upper = np.where(high > -np.inf, np.minimum(upper, 1.0), 0.0)
        return np.where(finite, lower, 0.0), np.where(finite, upper, 0.0)


register(UnequalNoise, "unequal_noise")
