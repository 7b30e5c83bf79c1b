r"""Divergence of two neighbours one of which a device hides behind its own participation, given the others' noise.

With v the noise variance without the device, s what its own noise adds, :math:`\lambda = e^\epsilon` and r dimensions

.. math:: P = p\,N(x, v+s) + (1-p)\,N(0, v), \qquad Q = p\,N(x', v+s) + (1-p)\,N(0, v) :

the observer does not see whether the device takes part (`silent`: x' = 0; `replace`: x' = -x, half the distance each). In units
of :math:`\sqrt{v+s}`, with :math:`\eta = s/v` and u the norm of the r - 1 coordinates across x over :math:`\sqrt2`,

.. math:: D_\lambda(P\|Q) = p\int_0^\infty G(\omega(u))\, \frac{2u^{r-2}e^{-u^2}}{\Gamma((r-1)/2)}\,du, \qquad
          \omega(u) = (\lambda-1)\tfrac{1-p}{p}\,(1+\eta)^{(r-1)/2}e^{-\eta u^2},

where G is the closed form of :mod:`analytics.privacy.half_space`: given u, the best set is a half-line. For the other order of
`silent` it is that of :mod:`analytics.privacy.annulus`, with kinks in u where an interval appears or meets the half-line; they
divide the window, and the tolerance is wider. G is a supremum of affine
functions of :math:`\omega`, so convex and decreasing in it, hence increasing in u.

Error
-----
Left of a window the integral is at most :math:`F(u_l)\,G(u_l)`; right of it, once :math:`\bar F(u_r)\,G(u_r)` is added, it lacks
:math:`\bar F(u_r)\,[G(\infty) - G(u_r)]` at most, since G increases: both are proved (Chernoff's bound of the incomplete gamma
function). Within it the Gauss-Legendre rule of 16 nodes a panel is used; the difference to that of 12 is *stated* as its error,
though it is that of the worse rule. Panels are halved until it is below a tolerance. What rounding may do is added, in units of
the last place of all that stands in an exponent. Where the error stays large the value for a visible device is returned, an
upper bound by joint convexity.
:func:`bracket` proves both ends by convexity alone, at many more nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analytics.checks import FloatArray, IntArray
from analytics.privacy import annulus, gaussian, half_space

_UNIT = np.finfo(float).eps
_FINE, _COARSE = (np.polynomial.legendre.leggauss(n) for n in (16, 12))
_TOLERANCE = 3e-11  # relative, of the rule: below it panels are no longer halved
_BEYOND = 36.0  # nats below the integral at which the window ends
_NATS_A_PANEL = 10.0  # of log omega
_KINKED = 1e-8  # tolerance where there are kinks
_WIDTH = 2.3  # of a panel at most, where u has a standard deviation of 1/2
_PANELS = 4096
_FINER = 24  # places between the ends of a first window
_CHUNK = 1 << 17  # nodes at a time
_HUGE = 1e150
_FAR = 1e6  # from this epsilon on, too
_ROUGH = 1e-3  # with a greater relative error the visible device's value is given instead
_NOTHING = -800.0  # log of a divergence that is no double, and need not be nearer than that


def log_curve(
    eps: FloatArray,
    p: FloatArray,
    d: FloatArray,
    v: FloatArray,
    s: FloatArray,
    *,
    dimension: int,
    replace: bool,
    reverse: bool = False,
    tolerance: float = _TOLERANCE,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""log of :math:`D_\lambda(P\|Q)/p`, its slope in epsilon, and its error, for features of greatest norm.

    Parameters
    ----------
    eps, p, d, v, s : ndarray, shape (N,)
        epsilon >= 0, p in (0, 1], the distance d of the two means, the noise variances v and s of the module's notes.
    dimension : int
        r >= 1.
    replace : bool
        Means :math:`\pm d/2`, or 0 and d.
    reverse : bool
        D(Q, P) instead; that of `replace` is the same.
    tolerance : float
        Of the rule.

    Returns
    -------
    value, slope, error : ndarray, shape (N,)
        The error is infinite where the value is only an upper bound.

    Examples
    --------
    >>> one = np.ones(1)
    >>> value, slope, error = log_curve(one, 0.9 * one, 0.4 * one, 1.1 * one, 0.1 * one, dimension=784, replace=False)
    >>> 0.9 * float(np.exp(value[0])), bool(error[0] < 1e-9)
    (0.00040726..., True)
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        m = np.where(d == 0, 0.0, d / np.sqrt(v + s))
        out, slope, error = gaussian.log_curve(eps, m)
        hidden = (eps > 0) & (eps < np.inf) & (p < 1) & (v > 0) & (m > 0) & (m < _HUGE) & (out > -np.inf)
        some = np.flatnonzero(hidden & (eps < _FAR))
        # s = 0, or one dimension: nothing depends on the norm across
        flat = some[(s[some] == 0) | (dimension == 1)]
        deep = some[(s[some] > 0) & (dimension > 1)]
        visible, its_slope = out.copy(), slope.copy()
        if flat.size:
            line = _Line.of(eps[flat], p[flat], m[flat], s[flat] / v[flat], replace=replace, reverse=reverse)
            found = line.best(np.zeros(flat.size), np.arange(flat.size))
            out[flat], slope[flat] = found.log_value, found.slope(eps[flat])
            error[flat] = line.rounding(found, np.arange(flat.size), 0.0)
        if deep.size:
            line = _Line.of(eps[deep], p[deep], m[deep], s[deep] / v[deep], replace=replace, reverse=reverse)
            out[deep], slope[deep], error[deep] = _Radius(line, dimension, tolerance).integral()
        rough = np.flatnonzero(hidden & ~((error <= _ROUGH) & (eps < _FAR)))
        out[rough], slope[rough], error[rough] = visible[rough], its_slope[rough], np.inf
    return np.minimum(out, 0.0), slope, error


def bracket(
    eps: float,
    p: float,
    d: float,
    v: float,
    s: float,
    *,
    dimension: int,
    replace: bool,
    reverse: bool = False,
    cells: int = 20000,
) -> tuple[float, float]:
    r"""Both ends of :math:`D_\lambda(P\|Q)`, proved but for rounding by the convexity of G in :math:`\omega`.

    Notes
    -----
    On a cell of u, G lies below its chord and above its tangent, both affine in :math:`\omega`; the mass of the cell and its
    mean of :math:`\omega` are differences of incomplete gamma functions, since :math:`e^{-\eta u^2}` only tilts the law.

    Examples
    --------
    >>> low, high = bracket(1.0, 0.9, 0.4, 1.1, 0.1, dimension=784, replace=False)
    >>> low, bool(high / low - 1 < 1e-5)
    (0.00040726..., True)
    """
    each = np.ones(1)
    line = _Line.of(eps * each, p * each, d / np.sqrt(v + s) * each, s / v * each, replace=replace, reverse=reverse)
    a, eta = (dimension - 1) / 2, s / v
    least, most = np.sqrt(special.gammaincinv(a, 1e-20)), np.sqrt(special.gammainccinv(a, 1e-250))
    ends = np.linspace(least, most, cells + 1)
    t = ends * ends
    log_ratio = a * np.log1p(eta) - eta * t
    found = line.best(log_ratio, np.zeros(t.size, dtype=np.int64))
    with np.errstate(under="ignore", over="ignore", divide="ignore", invalid="ignore"):
        value, tilt = np.exp(found.log_value), np.exp(log_ratio)
        drop = value * found.common / tilt  # minus the derivative in e^log_ratio
        mass = gamma_cells(a, t)
        tilted = gamma_cells(a, (1 + eta) * t)  # the mean of e^log_ratio over the cell: the same law with another scale
        # G at the left end and the tangent at the right one from below, the chord from above
        below = np.fmax(value[1:] * mass + drop[1:] * (tilt[1:] * mass - tilted), value[:-1] * mass)
        share = np.nan_to_num((tilted - tilt[1:] * mass) / (tilt[:-1] - tilt[1:]), nan=0.0)
        above = value[1:] * mass + (value[:-1] - value[1:]) * np.clip(share, 0.0, mass)
    inside = special.gammaincc(a, t[-1])
    low = np.sum(below) + inside * value[-1]
    visible = np.exp(gaussian.log_curve(line.eps, line.near - line.far)[0][0])
    high = np.sum(above) + inside * visible + special.gammainc(a, t[0]) * value[0]
    return float(p * low), float(p * high)


def gamma_cells(a: float, t: FloatArray) -> FloatArray:
    """Probabilities of a gamma variable between neighbouring values."""
    lower, upper = special.gammainc(a, t), special.gammaincc(a, t)
    return np.asarray(np.where(t[1:] < a, np.diff(lower), -np.diff(upper)))


@dataclass(frozen=True)
class _Line:
    """The problem on the axis, for each of N: units in which the device's components have variance 1."""

    eps: FloatArray
    p: FloatArray
    near: FloatArray
    far: FloatArray
    eta: FloatArray
    turns: tuple[FloatArray, FloatArray, FloatArray] | None = None  # of the reverse order

    @classmethod
    def of(
        cls, eps: FloatArray, p: FloatArray, m: FloatArray, eta: FloatArray, *, replace: bool, reverse: bool = False
    ) -> _Line:
        if reverse and not replace:
            return cls(eps, p, np.zeros(m.shape), -m, eta, annulus.turns(eps, m, eta))
        return cls(eps, p, m / 2 if replace else m, -m / 2 if replace else np.zeros(m.shape), eta)

    @property
    def bent(self) -> NDArray[np.bool_]:
        """Where the value has kinks in the norm across, or nearly."""
        if self.turns is None:
            return np.zeros(self.eps.shape, dtype=bool)
        return np.asarray(~np.isnan(self.turns[0]) | ~np.isnan(self.turns[2]))

    def best(self, log_ratio: FloatArray, which: IntArray) -> half_space.Best:
        eps, p, near, far, eta = (x[which] for x in (self.eps, self.p, self.near, self.far, self.eta))
        if self.turns is None:
            return half_space.best(eps, p, near, far, log_ratio, eta)
        return annulus.best(eps, p, -far, log_ratio, eta, *(x[which] for x in self.turns[:2]))

    def rounding(self, best: half_space.Best, which: IntArray, exponents: FloatArray | float) -> FloatArray:
        """Of log G: what is added up in its exponents, in units of the last place, times how fast it changes with them.

        `exponents` are those of the ratio in :math:`\\omega`, of which only the common part knows.
        """
        eps, gap = self.eps[which], (self.near - self.far)[which]
        reach = eps / gap + gap + np.sqrt(np.minimum(eps, 700.0))
        size = best.terms * (16 + eps + gap * reach) + best.common * exponents
        return np.asarray(_UNIT * (64 + 8 * reach * reach + 8 * size) + 1e-13)


class _Radius:
    """The integral over the norm across, for N problems at a time."""

    def __init__(self, line: _Line, dimension: int, tolerance: float) -> None:
        self.line, self.a, self.tolerance = line, (dimension - 1) / 2, tolerance

    def integral(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log of the integral, its slope in epsilon, and the error."""
        window = self._window()
        nats = self.line.eta * (window.high - window.low) * (window.high + window.low)
        panels = np.ceil(np.maximum((window.high - window.low) / _WIDTH, nats / _NATS_A_PANEL)) + 1
        panels = np.minimum(panels, _PANELS).astype(np.int64)
        value, slope, error, rounding = (np.empty(nats.shape) for _ in range(4))
        todo, bent = np.arange(nats.size), self.line.bent
        tolerance = np.where(bent, np.maximum(self.tolerance, _KINKED), self.tolerance)
        while todo.size:
            for number, kinked in np.unique(np.stack([panels, bent])[:, todo], axis=1).T:
                group = todo[(panels[todo] == number) & (bent[todo] == kinked)]
                size = max(_CHUNK // (16 * int(number)), 1)
                for part in np.split(group, range(size, group.size, size)):
                    edges = self._edges(part, window, kinked=bool(kinked))
                    value[part], slope[part], error[part], rounding[part] = self._rule(part, window, edges, int(number))
            panels = panels * 2
            wanted = np.where(value[todo] > _NOTHING, tolerance[todo], _ROUGH)
            todo = todo[(error[todo] > wanted) & (panels[todo] <= _PANELS)]
        return value, slope, error + np.exp(window.lost - value) + rounding

    def _edges(self, part: IntArray, window: _Window, *, kinked: bool) -> FloatArray:
        """Ends of the window, and between them where the value has kinks."""
        ends = [window.low[part], window.high[part]]
        line = self.line
        if line.turns is not None and kinked:
            eps, p, m, eta = (x[part] for x in (line.eps, line.p, -line.far, line.eta))
            crest, trough, level = line.turns
            for turn in (np.fmax(crest, level), np.fmax(trough, level)):
                above = annulus.thresholds(eps, p, m, eta, turn[part], self._log_ratio(np.zeros(1), eta))
                ends.insert(-1, np.clip(np.sqrt(np.maximum(above, 0.0) / eta), ends[-2], ends[-1]))
        return np.stack(ends, axis=1)

    def _log_ratio(self, u: FloatArray, eta: FloatArray) -> FloatArray:
        return np.asarray(self.a * np.log1p(eta) - eta * (u * u))

    def _log_tail(self, u: FloatArray, *, above: bool) -> FloatArray:
        """log of the probability beyond u, at most (Chernoff)."""
        beyond = u * u > self.a if above else u * u < self.a
        return np.asarray(np.where(beyond, -self.a * _deviance(u * u, self.a), 0.0))

    def _window(self) -> _Window:
        """Where to integrate: beyond it next to nothing is lost."""
        line, n = self.line, self.line.eps.size
        rows, grid = np.arange(n), _grid(self.a)
        which = np.repeat(rows, grid.size)
        ratio = self._log_ratio(grid[None, :], line.eta[:, None])
        value = line.best(ratio.ravel(), which).log_value.reshape(n, grid.size)
        whole = gaussian.log_curve(line.eps, line.near - line.far)[0]
        # G(0) - G(omega) <= omega h(beyond the start), by convexity
        start = line.eps / (line.near - line.far) + (line.near + line.far) / 2
        steepest = special.log_ndtr(-start * np.sqrt(1 + line.eta)) + np.log(-np.expm1(-line.eps)) + line.eps
        steepest = steepest + np.log1p(-line.p) - np.log(line.p)
        missing = np.minimum(whole[:, None], ratio + steepest[:, None])
        least = special.logsumexp(log_norm_density(grid, self.a) + value + np.log(np.gradient(grid)), axis=1) - _BEYOND
        left = self._log_tail(grid, above=False) + value <= least[:, None]
        right = self._log_tail(grid, above=True) + missing <= least[:, None]
        first = np.clip(np.sum(np.cumprod(left, axis=1), axis=1) - 1, 0, grid.size - 2)
        last = grid.size - np.maximum(np.sum(np.cumprod(right[:, ::-1], axis=1), axis=1), 1)
        first = np.minimum(first, grid.size - 2)
        low, high = grid[first], grid[np.maximum(last, first + 1)]
        harmless = np.sqrt(np.maximum((self.a * np.log1p(line.eta) + steepest - least) / line.eta, 0.0))
        high = np.maximum(np.minimum(high, harmless), low * (1 + 1e-6))
        # once more, between these
        finer = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _FINER)
        which = np.repeat(rows, _FINER)
        found = line.best(self._log_ratio(finer, line.eta[:, None]).ravel(), which)
        value = found.log_value.reshape(finer.shape)
        outside = self._log_tail(finer, above=False) + value
        first = np.maximum(np.sum(np.cumprod(outside <= least[:, None], axis=1), axis=1) - 1, 0)
        first = np.minimum(first, _FINER - 2)
        beyond = np.log(special.gammaincc(self.a, high * high))
        missing = np.where(
            beyond > -np.inf, np.minimum(whole, self._log_ratio(high, line.eta) + steepest), whole
        ) + self._log_tail(high, above=True)
        return _Window(
            low=finer[rows, first],
            high=high,
            lost=np.logaddexp(missing, outside[rows, first]),
            right=beyond + value[:, -1],
            right_slope=found.slope(line.eps[which]).reshape(finer.shape)[:, -1],
        )

    def _rule(
        self, part: IntArray, window: _Window, edges: FloatArray, panels: int
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """log of the integral, slope, relative difference of two rules, rounding.

        Between kinks nodes crowd at both ends: what grows there with the power 3/2 becomes smooth.
        """
        line, right, spans = self.line, window.right[part], np.diff(edges, axis=1)

        def terms(nodes: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, IntArray, half_space.Best]:
            place = ((np.arange(panels)[:, None] + 0.5 + nodes / 2) / panels).ravel()
            weight = np.tile(weights, panels) / (2 * panels)
            if edges.shape[1] > 2:
                place, weight = np.sin(np.pi / 2 * place) ** 2, weight * np.pi / 2 * np.sin(np.pi * place)
            u = (edges[:, :-1, None] + spans[:, :, None] * place).reshape(part.size, -1)
            rows = np.repeat(part, u.shape[1])
            found = line.best(self._log_ratio(u, line.eta[part, None]).ravel(), rows)
            exponent = log_norm_density(u, self.a) + found.log_value.reshape(u.shape)
            return u, exponent + np.log(spans[:, :, None] * weight).reshape(u.shape), rows, found

        u, exponent, rows, found = terms(*_FINE)
        peak = np.maximum(np.max(exponent, axis=1), right)
        each, outside = np.exp(exponent - peak[:, None]), np.exp(right - peak)
        total = np.sum(each, axis=1) + outside
        slopes = np.sum(each * found.slope(line.eps[rows]).reshape(u.shape), axis=1)
        ratio = (self.a * np.log1p(line.eta[part]))[:, None] + line.eta[part, None] * u * u
        rounding = line.rounding(found, rows, ratio.ravel()).reshape(u.shape) + 8 * _UNIT * np.abs(u * u - self.a)
        _, exponent, _, _ = terms(*_COARSE)
        coarse = np.sum(np.exp(exponent - peak[:, None]), axis=1) + outside
        return (
            peak + np.log(total),
            (slopes + outside * window.right_slope[part]) / total,
            np.abs(total - coarse) / total,
            np.sum(each * rounding, axis=1) / total + 1e-13,
        )


@dataclass(frozen=True)
class _Window:
    """Where to integrate, one a problem; logarithms of what is lost beyond, at most, and of what is added on the right."""

    low: FloatArray
    high: FloatArray
    lost: FloatArray
    right: FloatArray
    right_slope: FloatArray


def log_norm_density(u: FloatArray, a: float) -> FloatArray:
    """log density of u, the square root of a gamma variable of shape a; without cancellation for large a.

    Examples
    --------
    >>> float(np.exp(log_norm_density(np.array([1.0]), 0.5))[0])  # 2 exp(-1) / sqrt(pi)
    0.41510...
    """
    if a > 30:  # the next term is below 1e-16
        square = a * a
        stirling = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / a
    else:
        stirling = float(special.gammaln(a)) - ((a - 0.5) * np.log(a) - a + 0.5 * np.log(2 * np.pi))
    return np.asarray(0.5 * np.log(2 * a / np.pi) - a * _deviance(u * u, a) - stirling - np.log(u))


def _deviance(t: FloatArray, a: float) -> FloatArray:
    """t/a - 1 - log(t/a)."""
    apart = (t - a) / a
    near = np.abs(apart) < 0.5
    return np.asarray(apart - np.where(near, np.log1p(np.where(near, apart, 0.0)), np.log(np.where(near, 1.0, t / a))))


@lru_cache(maxsize=8)
def _grid(a: float) -> FloatArray:
    """Values of u at which a window may end: quantiles from 1e-19 to 1 - 1e-300, and far beyond."""
    below = special.gammaincinv(a, 10.0 ** -np.array([19.0, 16, 13, 10, 7, 5, 3.5, 2, 1]))
    nats = np.concatenate([np.arange(0.3, 6, 0.7), np.arange(6, 40, 3.0), np.arange(40, 305, 20.0)])
    above = special.gammainccinv(a, 10.0**-nats)
    return np.asarray(np.sqrt(np.unique(np.concatenate([below, above, above[-1] * 2.0 ** np.arange(1, 14)]))))
