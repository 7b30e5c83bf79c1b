r"""Divergence of two neighbours, given the others' noise, when the observer does not see whether the device takes part.

Let v be the noise variance without the device, s the variance that its own noise adds, :math:`w = v + s`,
:math:`\lambda = e^\epsilon` and r the dimension. The two neighbours are

.. math:: P = p\,N(x, wI) + (1-p)\,N(0, vI), \qquad Q = p\,N(x', wI) + (1-p)\,N(0, vI),

with x' = 0 for `silent` (x = 0 in the reverse order) and x' = -x for `replace`.

Steps, in order
---------------
1. :func:`log_curve` starts from the value for a visible device, an upper bound, and sorts the problems: closed forms
   for one dimension or without own noise, the integral below for all others.
2. The integral is cut into panels of :math:`\log\zeta`. Panels whose proved error is too great are halved; panels of no
   weight are dropped, and their bound counts as lost.
3. The rule is summed on the panels that are left, with its rounding error. Quadrature, dropped panels, the parts
   outside the window and rounding add up to the relative error that is returned. Nothing is rounded to a side here:
   callers add or subtract the error.
4. Where this error exceeds 1e-3, the value plus its error or the visible value, whichever is less, is an upper bound.
5. :func:`log_largest` bounds the same integral at complex v, for interpolation in v.

One integral
------------
Let d be the distance of x and x', :math:`m = d/\sqrt w`, :math:`\eta = s/v` and :math:`a = (r-1)/2`. On the axis
through x and x', take the place where the log-likelihood ratio of the two components with the device is :math:`\epsilon
+ \zeta`. Its standardised distance from x is :math:`\alpha(\zeta) = (\epsilon+\zeta)/m - m/2`. Across the axis, the
squared norm divided by 2w is a gamma variable S of shape a under either of these components, and the density of the
common component is theirs times :math:`e^{-\eta S}` and a constant. So, with b the coordinate of x in units of
:math:`\sqrt w` and :math:`\chi = \alpha + b`,

.. math:: \frac{D_\lambda(P\|Q)}p = \int_0^\infty \varphi(\alpha(\zeta))\,(1-e^{-\zeta})\,B(L(\zeta))\,\frac{d\zeta}m, \qquad
          B(L) = E\bigl[(1 - e^{-L-\eta S})_+\bigr],

.. math:: L(\zeta) = \log\frac{p}{(\lambda-1)(1-p)} + \log(1-e^{-\zeta}) + \frac{\eta\chi^2}2 + b\chi - \frac{b^2}2
          - \frac r2\log(1+\eta) .

All terms are explicit. With :math:`\tau = -L/\eta` and Q the regularised upper incomplete gamma function,

.. math:: B = Q(a, \tau) - e^{-L}(1+\eta)^{-a}\,Q(a, (1+\eta)\tau) \quad (\tau > 0), \qquad
          B = 1 - e^{-L}(1+\eta)^{-a} \quad (\tau \le 0).

Proof of the error
------------------
*The rule.* In :math:`y = \log\zeta`, the integration window is cut into panels with n Gauss-Legendre nodes each, 20 at most.
If the integrand K is analytic in the Bernstein ellipse :math:`\rho` of a panel of half width h and at most M there, the
error of the rule is at most :math:`\tfrac{64}{15}\,h\,M\,\rho^{2-2n}/(1-\rho^{-2})` (Trefethen, Approximation Theory and
Approximation Practice, theorem 19.3). The ellipse lies in the box :math:`|\Re y - y_0| \le h(\rho+1/\rho)/2`,
:math:`|\Im y| \le \theta = h(\rho-1/\rho)/2`; if :math:`\theta < \pi/2`, then :math:`\Re\zeta \ge e^{\Re y}\cos\theta >
0` there, and each factor is bounded by its values at the sides of the box:

- :math:`|e^{-\alpha^2/2}| = e^{-(\Re\alpha)^2/2 + (\Im\alpha)^2/2}`;
- :math:`1 - e^{-\Re\zeta} \le |1-e^{-\zeta}| \le 1 + e^{-\Re\zeta}`; since :math:`1-e^{-\zeta} =
  \zeta\int_0^1e^{-t\zeta}dt`, its modulus is also at most :math:`|\zeta|\,(1-e^{-\Re\zeta})/\Re\zeta`, and its argument
  is at most :math:`\theta + |\Im\zeta|` and below :math:`\pi/2`;
- *left of the kink*, :math:`\Re\tau > 0` in the box: B is the integral of the gamma density times :math:`1-e^{-\eta t}`
  over :math:`\tau + t`, t > 0, and :math:`|\tau + t| \le (\Re\tau + t)\sqrt{1 + (\Im\tau/\Re\tau)^2}`, so
  :math:`|B(\tau)| \le B(\Re\tau)\,(1 + (\Im\tau/\Re\tau)^2)^{(a-1)_+/2}`, and this bound falls in :math:`\Re\tau`;
- *right of the kink*, :math:`|B| \le 1 + e^{-\Re L}(1+\eta)^{-a}` for the branch :math:`\tau \le 0`. Where :math:`\tau`
  is still positive, B exceeds this branch by :math:`E[(e^{\eta(\tau-S)} - 1)_+]`, which is at most
  :math:`P(a,\tau)\,(e^{\eta\tau} - 1)`, with P = 1 - Q; twice this bound is added. Where :math:`e^{\eta\tau}` would
  overflow or P underflows, 1 may take the place of the branch. By Chernoff's bounds of P and Q, B differs from the
  branch, if :math:`(1+\eta)\tau \le a`, or else from 1, by less than :math:`(1 + e^{1/12a}\sqrt{2\pi a})\,P(a,\tau)` for
  :math:`\tau \le a`, and from 1 by at most 1 beyond. So a factor of :math:`e^{700}` suffices, and an underflow of P
  loses some :math:`e^{-700}` of the panel.

A panel on which neither error bound is small enough with 20 nodes is halved; where fewer suffice, fewer are taken. On the
panels that remain after 24 halvings, the nonnegative integrand is bounded on the real axis in the same way, and the error of
the rule is at most the width times this bound.

*Outside the window*, B is at most 1 and :math:`1-e^{-\zeta} \le \zeta`. So the integral left of the window is less than
:math:`\zeta_0^2/2m` times the greatest :math:`\varphi B`, and the integral right of it is less than
:math:`\Phi(-\alpha_1)`.

*Rounding.* Let :math:`u = 2^{-52}`. The rounding error of the exponent is u times the sum of the magnitudes of its
terms. That of L is :math:`u\ell`, with :math:`\ell` the sum of the magnitudes of the terms of L; by the derivative of
B, it changes B by at most :math:`u\,\ell\,e^{-L}(1+\eta)^{-a}Q(a,(1+\eta)\tau)`. The rounding of :math:`(1+\eta)\tau`
changes B by at most :math:`4u(\tau + a)\,Q(a,\tau)`, since the hazard rate of a gamma variable times :math:`\tau` is at
most :math:`\tau + a`. The relative error of SciPy's incomplete gamma functions is assumed to be at most :math:`(256 +
64a)u`; docs/accuracy.md lists this assumption with those about the other library functions. Where
:math:`Q(a,x)`, :math:`x = (1+\eta)\tau`, is below 1e-300 beside a :math:`Q(a,\tau)` that is not, its logarithm is
:math:`(a-1)\log x - x - \log\Gamma(a)` and that of the sum of :math:`(a-1)\cdots(a-k)/x^k`. After n terms what is left out is
:math:`(a-1)\cdots(a-n)\Gamma(a-n,x)x^{1-a}e^x`. It is at most the last term times :math:`x/(x-a)`, because
:math:`\Gamma(b,x) \le x^be^{-x}/(x-b+1)` for :math:`b \ge 1` (:math:`t^{b-1} \le x^{b-1}e^{(b-1)(t-x)/x}`), and below 1
:math:`x^{b-1}e^{-x}`. Rounding is an error of :math:`8u(x + 2(a+1)\log x)` at most. A :math:`Q(a,\tau)` below 1e-300 errs by
no more than that, absolutely.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from scipy import special

from airtight.analytics.checks import FloatArray, IntArray, integer, real
from airtight.analytics.privacy.mechanisms import gaussian, neyman_pearson, subsampling
from airtight.analytics.rounding import UNIT

_TOLERANCE = 3e-11  # relative error of the quadrature; panels with a greater share of it are halved
_RULES = {size: np.polynomial.legendre.leggauss(size) for size in (8, 10, 12, 14, 16, 18, 20)}  # nodes and weights
_NODES = 20  # of the rule with the most
_RHO = 3.0  # parameter rho of the Bernstein ellipses
_REACH, _HEIGHT = (_RHO + 1 / _RHO) / 2, (_RHO - 1 / _RHO) / 2  # semi-axes of these ellipses, in half widths of a panel
# log of the error bound of that rule for h = M = 1; each node less multiplies it by rho^2
_LOG_RULE = np.log(64 / 15 / (1 - _RHO**-2)) - (2 * _NODES - 2) * np.log(_RHO)
_FIRST_PANELS = 10  # before any halving
_HALVINGS = 24  # of one panel, at most
_MOST_PANELS = 256  # panels per problem on average; with more, halving stops and the bounds known so far are used
_PANELS = 32  # panels that share the tolerance; a problem seldom ends with more
_SMALL = -40.0  # log of a divergence below which the guess of it is made with more care
_NOTHING = -800.0  # least log of a divergence to which tolerances are relative; exp(-800) underflows
_BEYOND = 8.0  # the integral outside the window may be exp(-8) of the tolerance
_TAIL = 60.0  # nats by which the Gaussian factor falls to the end of the panels of zeta
_SMALLEST, _SMALL_UP_TO = 4.0**-13 / 20, 1 / 20  # end of the first panel, and of the smaller ones at 0; shares of the whole
_SLIGHTER = 6.0  # nats by which the whole of a panel that is left out is below the doubt that it may add


class _Cuts(NamedTuple):
    """How finely log v and zeta are cut for a bound at complex v."""

    pieces: int  # of an interval of log v; half an ellipse has twice as many arcs
    small: int  # panels of zeta near 0, in a geometric progression
    equal: int  # panels beyond


# tried in this order, each while the bound of B on the cuts before is beyond so many nats, which shows that panels are too wide
# for either branch: for a bound that may be close enough soon, and for a close one
_FEW_CUTS = (_Cuts(3, 7, 9), -np.inf), (_Cuts(5, 13, 19), -np.inf)
_DIVISIONS, _GREAT, _PARTS = 3, 8, 4  # how often panels are divided, how many each time, and into how many parts
_MANY_CUTS = (_Cuts(5, 13, 19), -np.inf), (_Cuts(5, 52, 76), 5.0), (_Cuts(5, 208, 304), 30.0)
_STEEPEST = 1.5  # radians: greatest argument in the box of an ellipse; below pi/2
_TABLED = 20.0  # shape of a gamma variable from which a table replaces SciPy's function
_LEAST_VALUE = 1e-290  # least value in the table: a normal double with a margin
_TABLE_CELLS = 256  # table places per sqrt(a)
# degree of the Taylor polynomials, and that where the error of its table is at most this share of the tolerance
_DEGREE, _COARSE_DEGREE, _COARSE_SHARE = 7, 4, 0.03
_VANISHING, _FAR_OUT = 1e-300, 600.0  # a value below which this function counts as underflowed, and x of any such one
_LARGEST_EXPONENT = 700.0  # exp overflows from 709 on
_CHUNK = 1 << 14  # nodes evaluated at a time: few enough for the processor's cache
_CACHED = 1 << 13  # values of the incomplete gamma function computed at a time
_HUGE = 1e150  # the value for a visible device is used from this distance m, or this s / v, on: squares would overflow
_FAR = 1e6  # the value for a visible device is used from this epsilon on
_ROUGH = 1e-3  # the value for a visible device is used where the relative error is greater
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


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
    r"""log of :math:`D_\lambda(P\|Q)/p`, its slope in epsilon, and its proved error, for features of the greatest norm.

    Parameters
    ----------
    eps, p, d, v, s : ndarray, shape (N,)
        epsilon >= 0, p in (0, 1], the distance d of the two means, and the noise variances v and s of the module's
        notes.
    dimension : int
        r >= 1.
    replace : bool
        True for means :math:`\pm d/2`, False for means 0 and d.
    reverse : bool
        Whether to compute D(Q, P) instead; for `replace` it is the same.
    tolerance : float
        Relative error allowed for the quadrature.

    Returns
    -------
    value, slope, error : ndarray, shape (N,)
        The error is infinite where the value is only an upper bound: the value for a visible device (joint convexity), or
        a lesser value with its error.

    Examples
    --------
    >>> one = np.ones(1)
    >>> value, slope, error = log_curve(one, 0.9 * one, 0.4 * one, 1.1 * one, 0.1 * one, dimension=784, replace=False)
    >>> 0.9 * float(np.exp(value[0])), bool(error[0] < 1e-9)
    (0.00040726..., True)
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        m = np.where(d == 0, 0.0, d / np.sqrt(v + s))
        # an observer who sees whether k sends sees at least as much (joint convexity), so the visible value is an upper
        # bound wherever the integral is not computed or not accurate
        out, slope, error = gaussian.log_curve(eps, m)
        # for epsilon = 0, p = 1, equal means or no noise of others the visible value is exact
        hidden = (eps > 0) & (eps < np.inf) & (p < 1) & (v > 0) & (m > 0) & (m < _HUGE) & (out > -np.inf)
        # beyond these limits squares overflow or the quadrature has nothing to add
        regular = (eps < _FAR) & (s / v < _HUGE)
        finite = np.flatnonzero(hidden & regular)
        visible, visible_slope = out.copy(), slope.copy()
        backwards = reverse and not replace
        # without own noise, or on a line in the forward order, the optimal set is known in closed form
        closed = (s[finite] == 0) | (dimension == 1 and not backwards)
        for problems, evaluate in (
            (finite[closed], _reversed_alike if backwards else _on_a_line),
            (finite[~closed], _integrated),
        ):
            if problems.size:
                problem = _Problem.of(
                    eps[problems], p[problems], m[problems], (s / v)[problems], dimension, replace, backwards, tolerance
                )
                out[problems], slope[problems], error[problems] = evaluate(problem, tolerance)
        integrated = finite[~closed]
        # an infinite error says that the value is an upper bound already, so nothing is added to it
        rounding = error.copy()
        rounding[integrated[np.isinf(error[integrated])]] = 0.0  # these values are upper bounds already
        rough = np.flatnonzero(hidden & ~((error <= _ROUGH) & regular))
        # the lesser of both upper bounds
        upper = out[rough] + rounding[rough]
        lower = (upper < visible[rough]) & regular[rough]
        out[rough], slope[rough] = np.where(lower, (upper, slope[rough]), (visible[rough], visible_slope[rough]))
        error[rough] = np.inf
    return np.minimum(out, 0.0), slope, error


def log_largest(
    eps: FloatArray,
    p: FloatArray,
    d: FloatArray,
    s: FloatArray,
    low: FloatArray,
    high: FloatArray,
    rho: FloatArray,
    slight: FloatArray,
    *,
    enough: FloatArray | None = None,
    divided: bool = False,
    dimension: int,
    replace: bool,
    reverse: bool = False,
) -> tuple[FloatArray, FloatArray]:
    r"""log of an upper bound of :math:`|D_\lambda/p|` on the Bernstein ellipse about [low, high] in log v, and log of a
    doubt.

    On the interval itself the divergence differs from a function that is analytic in the ellipse by at most the doubt.
    Both are infinite where nothing is proved. All arguments have shape (N,), d and s are positive; `slight` is the log
    of the doubt that one panel may add, `enough` that of bounds that need not be closer; without it they are close. If
    `divided`, panels are divided where bounds are not close enough.

    Notes
    -----
    This is the integral of the module's notes at complex v and real :math:`\zeta`. With :math:`g = \epsilon + \zeta`
    and :math:`\kappa` the mean of the coordinates of x and x' on the axis,

    .. math:: \alpha^2 = \tfrac{g^2(v+s)}{d^2} - g + \tfrac{d^2}{4(v+s)}, \qquad
              L = \log\tfrac{p(1-e^{-\zeta})}{(\lambda-1)(1-p)} + \tfrac{g^2(s + s^2/v)}{2d^2} + g\,(\tfrac12 +
              \tfrac{\kappa(1+s/v)}d)
              - \tfrac{d^2}{8(v+s)} + \tfrac{\kappa^2}{2v} - \tfrac r2\log(1 + \tfrac sv) .

    By the maximum principle it suffices to bound the integral on the boundary of the ellipse, and on its upper half,
    since the function is real on the real axis. On each of a few arcs, :math:`v, 1/v, 1/(v+s)` and :math:`\log(1+s/v)`
    lie in boxes, and so do the terms above on each panel of :math:`\zeta`. As in the module's notes, B is bounded left
    of the kink, where :math:`\Re\tau > 0` on all arcs, by means of :math:`|1-e^{-\eta t}| \le
    (|\eta|/\Re\eta)(1-e^{-t\Re\eta})` for complex :math:`\eta`. The other branch is used where its bound is less and it
    differs from B by less than the doubt `slight` on the whole interval, and 0 where B itself contributes much less than
    that. Where these bounds of B are great beside 1, the panels are cut further, or those on which they are greatest are
    `divided`: a panel about the kink must be narrow for either branch.
    Right of the last panel 0 is used: B is at most 1 there, and the doubt is a normal tail.
    """
    on_panels = partial(_largest_on_panels, dimension=dimension, replace=replace, reverse=reverse)
    problems = np.stack([eps, p, d, s, low, high, rho, slight])
    log_bound, log_doubt, growth = np.full((3, eps.size), np.inf)
    rough = np.arange(eps.size)
    for cuts, growth_allowed in _MANY_CUTS if enough is None else _FEW_CUTS:
        rough = np.flatnonzero(~(growth <= growth_allowed) & (enough is None or ~(log_bound <= enough)))
        if not rough.size:
            break
        zeta = _panel_ends(eps[rough], d[rough], s[rough], low[rough], slight[rough], cuts)
        log_bound[rough], log_doubt[rough], growth[rough], panels = on_panels(problems[:, rough], zeta, cuts=cuts)
    for _ in range(_DIVISIONS if divided and rough.size else 0):
        still = ~(log_bound[rough] <= (-np.inf if enough is None else enough[rough]))
        if not np.any(still):
            break
        rough, zeta = rough[still], _divided_where_great(zeta[still], panels[still])
        log_bound[rough], log_doubt[rough], growth[rough], panels = on_panels(problems[:, rough], zeta, cuts=cuts)
    return log_bound, log_doubt


def _divided_where_great(zeta: FloatArray, panels: FloatArray) -> FloatArray:
    """Ends of panels, of which in each row those with the greatest values are divided into equal parts."""
    greatest = np.argpartition(panels, -_GREAT, axis=1)[:, -_GREAT:]
    start, end = (np.take_along_axis(zeta, greatest + k, axis=1)[:, :, None] for k in (0, 1))
    inside = start + (end - start) * (np.arange(1, _PARTS) / _PARTS)
    return np.sort(np.hstack([zeta, inside.reshape(zeta.shape[0], -1)]), axis=1)


def _largest_on_panels(
    problems: FloatArray, zeta: FloatArray, *, dimension: int, replace: bool, reverse: bool, cuts: _Cuts
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Both results of :func:`log_largest` on panels of zeta with these ends, by how much the bound exceeds that for B = 1, and
    the log of what each panel adds to the bound.
    """
    eps, p, d, s, low, high, rho, slight = problems
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        a = (dimension - 1) / 2
        # kappa: mean of the coordinates of x and x' on the axis, whose origin is the common component
        mean = np.zeros(d.shape) if replace else -d / 2 if reverse else d / 2
        log_odds = np.log(p) - np.log1p(-p) - eps - np.log(-np.expm1(-eps))
        # Real v: where B and its branch right of the kink differ, by E[(exp(eta (tau - S)) - 1)_+] at most P(a, tau)
        # (exp(eta tau) - 1). The greatest tau and eta of each piece of the interval are taken.
        on_axis = _Arcs.on_axis(low, high, s, cuts.pieces)
        log_factors, _, tau, _, _ = on_axis.terms(eps, d, s, mean, log_odds, zeta, a)
        width = np.log(np.diff(zeta, axis=1))[:, None, :]
        above = special.gammainc(a, np.maximum(tau, 0.0)) if a else (tau > 0).astype(float)
        # exp overflows above 709; a factor of exp(700) suffices (module's notes, *right of the kink*)
        excess = np.log(np.expm1(np.clip(s[:, None, None] * np.exp(-low)[:, None, None] * tau, 0.0, 700.0)))
        # each v lies in one of the pieces
        log_apart = np.max(np.where(above > 0, log_factors + width + np.log(above) + excess, -np.inf), axis=1)
        whole = np.max(log_factors + width, axis=1)  # the panel itself, as B is at most 1
        # the branch right of the kink is analytic: it may be used on a panel where it is right up to the doubt on the
        # whole interval, and so may 0
        right, left_out = log_apart <= slight[:, None], whole <= slight[:, None] - _SLIGHTER
        # complex v: by the maximum principle the boundary of the ellipse suffices, and its upper half by symmetry
        arcs = _Arcs.around((low + high) / 2, (high - low) / 2, rho, s, 2 * cuts.pieces)
        log_factors, tau, _, imaginary, log_right = arcs.terms(eps, d, s, mean, log_odds, zeta, a)
        # Re tau > 0 on the whole box: |tau + t| <= (Re tau + t) sqrt(1 + slant^2)
        left_of_kink = tau > 0
        tau = np.where(left_of_kink, tau, 1.0)
        slant = imaginary / tau
        # In the first panel log(1 - exp(-zeta)) has no lower bound, and Im tau / Re tau tends to Im v / Re v as zeta ->
        # 0. In between the ratio is monotone in this logarithm, so its greatest value is at an end.
        slant[:, :, 0] = np.maximum(slant[:, :, 0], arcs.v[2][:, :, 0] / arcs.v[0][:, :, 0])
        # Re eta at most: 1 - exp(-t Re eta) rises in it; the division by the cosine is |eta| / Re eta
        eta = np.broadcast_to(s[:, None, None] * arcs.inverse[1], tau.shape)
        of_left = np.log(_log_remainder(-tau * eta, eta, a)[0]) - np.log(arcs.cosine)
        of_left = np.where(left_of_kink, of_left + max(a - 1, 0.0) / 2 * np.log1p(slant * slant), np.inf)
        of_right = np.logaddexp(0.0, log_right)
        # the greatest of all arcs for each panel, then the sum over panels
        of_left, of_right = (np.max(log_factors + width + each, axis=1) for each in (of_left, of_right))
        right &= ~(of_left <= of_right)
        panels = np.where(left_out, -np.inf, np.where(right, of_right, of_left))
        log_bound = special.logsumexp(panels, axis=1)
        log_doubt = special.logsumexp(np.where(left_out, whole, np.where(right, log_apart, -np.inf)), axis=1)
        # beyond the last panel 0 is used; as B is at most 1, what is left out is a normal tail, greatest at the least v
        root = np.sqrt(np.exp(low) + s)
        log_doubt = np.logaddexp(log_doubt, special.log_ndtr(d / (2 * root) - (eps + zeta[:, -1]) * root / d))
        growth = log_bound - special.logsumexp(np.max(log_factors + width, axis=1), axis=1)
        return np.where(log_bound == log_bound, log_bound, np.inf), log_doubt, growth, np.where(panels == panels, panels, np.inf)


def _panel_ends(
    eps: FloatArray, d: FloatArray, s: FloatArray, low: FloatArray, slight: FloatArray, cuts: _Cuts
) -> FloatArray:
    """Ends of panels of zeta, from 0 to where the remaining integral at the least log v is negligible."""
    m = d / np.sqrt(np.exp(low) + s)
    start = eps / m - m / 2
    # alpha^2 / 2 at the end exceeds its least value by _TAIL nats, and what is left is no more than `slight` where B makes the
    # divergence small; zeta = m (alpha - start)
    nearest = np.maximum(start, 0.0)
    nats = np.maximum(_TAIL, np.where(slight > -np.inf, -slight, 0.0) - nearest**2 / 2)
    length = np.sqrt(nearest**2 + 2 * nats) - start
    # L behaves like log zeta near 0, hence the ever smaller panels there
    near_zero = np.geomspace(_SMALLEST, _SMALL_UP_TO, cuts.small + 1)[:-1]
    places = np.concatenate([[0.0], near_zero, np.linspace(_SMALL_UP_TO, 1.0, cuts.equal + 1)])
    return np.asarray((m * length)[:, None] * places)


@dataclass(frozen=True)
class _Arcs:
    """Boxes of complex v: bounds of real parts (low, high) and of abs(imaginary parts); shape (problems, arcs, 1)."""

    v: tuple[FloatArray, FloatArray, FloatArray]
    inverse: tuple[FloatArray, FloatArray, FloatArray]  # 1 / v
    whole: tuple[FloatArray, FloatArray, FloatArray]  # 1 / (v + s)
    logarithm: tuple[FloatArray, FloatArray, FloatArray]  # log(1 + s / v)
    ratio: tuple[FloatArray, FloatArray, FloatArray]  # log(1 + s / v) v / s
    largest: FloatArray  # |v|, at most
    cosine: FloatArray  # of the argument of v, at least

    @classmethod
    def of(cls, log_least: FloatArray, log_most: FloatArray, angle: FloatArray, s: FloatArray) -> _Arcs:
        """Boxes of all v with log |v| in [least, most] and an argument of at most `angle` < pi/2; shape (N, arcs)."""
        each = log_least, log_most, angle, np.broadcast_to(s[:, None], log_least.shape)
        log_least, log_most, angle, s = (x[:, :, None] for x in each)
        cosine, sine, low, high = np.cos(angle), np.sin(angle), np.exp(log_least), np.exp(log_most)
        # |v| in [low, high] and |arg v| <= angle
        v = low * cosine, high, high * sine
        inverse = cosine / high, 1 / low, sine / low
        # 1 / (v + s): real part (Re v + s) / |v + s|^2
        whole = (v[0] + s) / ((high + s) ** 2), 1 / (v[0] + s), v[2] / ((v[0] + s) ** 2)
        # |1 + s / v|^2 = 1 + 2 (s / |v|) cos + (s / |v|)^2
        near, far = s / low, s / high
        logarithm = (
            np.log1p(far * (2 * cosine + far)) / 2,
            np.log1p(near),
            np.minimum(np.arctan2(near * sine, 1 + near * cosine), angle),
        )
        # the integral of 1 / (1 + t s / v) over t from 0 to 1
        # f(z) = log(1 + z) / z with z = s / v, its real part above and its imaginary part bounded through the integral
        # of t / (1 + t x)^2
        x, side = s * inverse[0], s * inverse[2]
        # Re 1 / (1 + t z) falls in t and |z| and is monotone in cos arg z: it is least at t = 1, |z| = s / low and one
        # of both ends
        floor = np.minimum(1 / (1 + near), (1 + near * cosine) / (1 + near * (2 * cosine + near)))
        ratio = (
            np.where(angle == 0, np.log1p(near) / near, floor),
            np.log1p(x) / x,
            side * np.where(x < 1e-4, 0.5, (np.log1p(x) - x / (1 + x)) / (x * x)),
        )
        return cls(v, inverse, whole, logarithm, ratio, high, cosine)

    @classmethod
    def on_axis(cls, low: FloatArray, high: FloatArray, s: FloatArray, pieces: int) -> _Arcs:
        ends = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, pieces + 1)
        return cls.of(ends[:, :-1], ends[:, 1:], np.zeros((low.size, pieces)), s)

    @classmethod
    def around(cls, middle: FloatArray, half: FloatArray, rho: FloatArray, s: FloatArray, arcs: int) -> _Arcs:
        """The upper half of a Bernstein ellipse in log v."""
        turn = np.linspace(0, np.pi, arcs + 1)
        # real part of log v on the ellipse: semi-axis half (rho + 1 / rho) / 2
        across = middle[:, None] + (half * (rho + 1 / rho) / 2)[:, None] * np.cos(turn)
        height = np.maximum(np.sin(turn[:-1]), np.sin(turn[1:]))
        # the imaginary part of log v is the argument of v; it is at most 0.4 (noise_interpolant, hidden), so that the limit is
        # not reached
        angle = np.minimum((half * (rho - 1 / rho) / 2)[:, None] * height, _STEEPEST)
        return cls.of(across[:, 1:], across[:, :-1], angle, s)

    def terms(
        self,
        eps: FloatArray,
        d: FloatArray,
        s: FloatArray,
        mean: FloatArray,
        log_odds: FloatArray,
        zeta: FloatArray,
        a: float,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        r"""Bounds on panels of zeta.

        Returns the upper bound of the log of all factors except B; a lower and an upper bound of :math:`\Re\tau`, and
        an upper bound of :math:`|\Im\tau|`; the upper bound of log |1 - B| for the branch right of the kink.
        """
        e, dd, ss, k, odds = (x[:, None, None] for x in (eps, d, s, mean, log_odds))
        # g = epsilon + zeta is real, and only v is complex
        first, last = e + zeta[:, None, :-1], e + zeta[:, None, 1:]
        factor = np.log(-np.expm1(e - first)), np.log(-np.expm1(e - last))
        # Re alpha^2 = g^2 (Re v + s) / d^2 - g + d^2 / 4 Re 1 / (v + s), least at g = 1 / (2 weight) or at an end
        weight = (self.v[0] + ss) / (dd * dd)
        lowest = np.clip(1 / (2 * weight), first, last)  # of weight g^2 - g
        square = weight * lowest * lowest - lowest + dd * dd / 4 * self.whole[0]
        # |1 / m| = |sqrt(v + s)| / d
        size = -square / 2 - _LOG_SQRT_2PI + factor[1] + np.log(self.largest + ss) / 2 - np.log(dd)
        # L in real g, ordered by how it depends on v: a constant c (`pull`), terms in 1 / v, in 1 / (v + s) and in
        # log(1 + s / v)
        share = k / dd
        pull = odds + factor[0] + first * (0.5 + share), odds + factor[1] + last * (0.5 + share)
        across = (dd * dd / 4 - k * k) / 2 / ss
        # tau = -v L / s, each term at the end of its range that makes tau least, then greatest
        tau_low, tau_high = (
            (a + 0.5) * mean_inverse
            - np.where(c > 0, v_if_positive, v_if_negative) / ss * c
            - g * g * (v_if_positive + ss) / (2 * dd * dd)
            - np.where(share > 0, g, h) * share
            - dd * dd / 8 * whole
            + across
            for mean_inverse, c, v_if_positive, v_if_negative, g, h, whole in (
                (self.ratio[0], pull[1], self.v[1], self.v[0], last, first, self.whole[1]),
                (self.ratio[1], pull[0], self.v[0], self.v[1], first, last, self.whole[0]),
            )
        )
        # |Im tau| term by term; at zeta = 0 the constant is -inf and its other end is used (see the caller)
        far = np.where(np.isinf(pull[0]), np.abs(pull[1]), np.maximum(np.abs(pull[0]), np.abs(pull[1])))
        square_side = last * last / (2 * dd * dd) * self.v[2]
        side = (a + 0.5) * self.ratio[2] + self.v[2] / ss * far + square_side + dd * dd / 8 * self.whole[2]
        # Re L from below: the coefficient of Re 1 / v is g^2 s^2 / 2 d^2 + g kappa s / d + kappa^2 / 2
        of_inverse = [
            first * first * ss * ss / (2 * dd * dd) + np.minimum(first * share, last * share) * ss + k * k / 2
        ]
        real_low = pull[0] + first * first * ss / (2 * dd * dd) - dd * dd / 8 * self.whole[1]
        real_low = real_low + np.where(of_inverse[0] > 0, self.inverse[0], self.inverse[1]) * of_inverse[0]
        return size, tau_low, tau_high, side, self.logarithm[1] / 2 - real_low


@dataclass(frozen=True)
class _Problem:
    """N divergences, in units in which the device's components have variance 1."""

    eps: FloatArray
    p: FloatArray
    m: FloatArray
    eta: FloatArray
    near: FloatArray  # b, the coordinate of x
    start: FloatArray  # alpha at zeta = 0
    log_odds: FloatArray  # log p / (lambda - 1)(1 - p)
    level: FloatArray  # the terms of L that do not depend on zeta
    a: float
    degree: int  # of the table of gamma functions

    @classmethod
    def of(
        cls,
        eps: FloatArray,
        p: FloatArray,
        m: FloatArray,
        eta: FloatArray,
        r: int,
        replace: bool,
        backwards: bool,
        tolerance: float,
    ) -> _Problem:
        near = m / 2 if replace else 0 * m if backwards else m
        log_odds = np.log(p) - np.log1p(-p) - eps - np.log(-np.expm1(-eps))
        level = log_odds - near**2 / 2 - r / 2 * np.log1p(eta)
        a, degree = (r - 1) / 2, _DEGREE
        if a >= _TABLED and _UpperGamma.of(a, _COARSE_DEGREE).error <= _COARSE_SHARE * tolerance:
            degree = _COARSE_DEGREE
        return cls(eps, p, m, eta, near, eps / m - m / 2, log_odds, level, a, degree)

    def __getitem__(self, rows: IntArray) -> _Problem:
        columns = ("eps", "p", "m", "eta", "near", "start", "log_odds", "level")
        return dataclasses.replace(self, **{name: getattr(self, name)[rows] for name in columns})


def _on_a_line(problem: _Problem, tolerance: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """One dimension, or a device that adds no noise: the optimal set is a half-line of the axis."""
    # the optimal set is a half-line of the axis, whose probabilities are normal
    log_ratio = np.zeros(problem.eps.shape)
    eps, far = problem.eps, problem.near - problem.m
    half_line = neyman_pearson.best(eps, problem.p, problem.near, far, log_ratio, problem.eta)
    # greatest distance of its end from a mean, in deviations: the sensitivity of a normal tail to its argument
    reach = eps / problem.m + problem.m + np.sqrt(np.minimum(eps, 700.0))
    magnitude = half_line.terms * (16 + eps + problem.m * reach)
    return (
        half_line.log_value,
        half_line.slope(eps),
        np.asarray(UNIT * (64 + 8 * reach * reach + 8 * magnitude) + 1e-13),
    )


def _reversed_alike(problem: _Problem, tolerance: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""The reverse order for a device that adds no noise: :math:`uN(0,1)` against :math:`\lambda pN(m, 1)`, over p.

    Here :math:`u = 1 - \lambda(1-p)`, from the terms of N(0, 1) in both neighbours.
    """
    eps, p, m = problem.eps, problem.p, problem.m
    # second identity of `subsampling`, here over p
    log_share, inner = subsampling.reversed_order(eps, p)
    value, slope, error = gaussian.log_curve(inner, m)
    weight = np.exp(eps + np.log1p(-p) - log_share)
    # error of the curve, of the share u, and of the inner epsilon times the slope; 1 + weight is the factor by which
    # subtraction in u magnifies rounding
    error_bound = error + UNIT * (32 + 16 * (1 + weight)) - slope * UNIT * (16 + 8 * inner) * (1 + weight)
    log_value = log_share - np.log(p) + value
    positive = (inner < np.inf) & (value > -np.inf)
    return (
        np.where(positive, log_value, -np.inf),
        np.where(positive, slope * (1 + weight) - weight, 0.0),
        np.where(positive, error_bound + 4 * UNIT * np.abs(np.log(p)), 0.0),
    )


def _integrated(problem: _Problem, tolerance: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """log of the integral, the slope of that logarithm in epsilon, and the relative error."""
    size, guess = problem.eps.size, _roughly(problem)
    start, m = problem.start, problem.m
    # the window: alpha up to alpha_end, where Phi(-alpha) is below the integral by `beyond` nats; y = log zeta
    beyond = _BEYOND - np.log(tolerance)
    nearest = np.maximum(start, 0.0)
    excess = np.maximum(2 * (beyond - guess) - nearest**2, 2.0)  # over the square of `nearest`, where it may round away
    alpha_end = np.sqrt(nearest**2 + excess)
    y_end = np.log(m * (excess / (alpha_end + nearest) + (nearest - start)))
    y_start = np.minimum((np.log(2 * m) + guess - beyond + nearest**2 / 2) / 2, y_end - 1)
    # panels of equal width in y, all problems in one array: `row` is the problem of each panel
    half = (y_end - y_start) / (2 * _FIRST_PANELS)
    centre = y_start[:, None] + half[:, None] * (2 * np.arange(_FIRST_PANELS) + 1)
    row, centre, half = np.repeat(np.arange(size), _FIRST_PANELS), centre.ravel(), np.repeat(half, _FIRST_PANELS)
    # each of the panels that share the tolerance may err by this much
    log_goal = np.log(tolerance / _PANELS) + guess
    final_panels: list[tuple[IntArray, FloatArray, FloatArray, FloatArray]] = []
    # outside the window: zeta_0^2 / 2 m times the greatest density on the left, Phi(-alpha_end) on the right
    log_lost = 2 * y_start - np.log(2 * m) - _LOG_SQRT_2PI - nearest**2 / 2
    log_lost = np.logaddexp(special.log_ndtr(-alpha_end), log_lost)
    for halving in range(_HALVINGS + 1):
        # error of the rule, and upper bound of the integral, of each panel
        rule, log_upper = _bounds(problem[row], centre, half, log_goal[row])
        negligible, good = log_upper <= log_goal[row] - 2, rule <= log_goal[row]
        # no more halving: the rule and the integral are nonnegative and at most `log_upper`, so they differ by no more
        if halving == _HALVINGS or row.size > _MOST_PANELS * size:
            rule, good = np.minimum(rule, log_upper), np.ones(row.size, dtype=bool)
        # a panel without weight is dropped, and its bound counts as lost
        np.logaddexp.at(log_lost, row[negligible], log_upper[negligible])
        final = good & ~negligible
        final_panels.append((row[final], centre[final], half[final], rule[final]))
        unfinished = ~(good | negligible)
        # halve the panels that are neither good nor negligible
        row, half = np.repeat(row[unfinished], 2), np.repeat(half[unfinished] / 2, 2)
        centre = np.repeat(centre[unfinished], 2) + half * np.tile([-1.0, 1.0], row.size // 2)
        if not row.size:
            break

    # sum the rule on the panels that are left, a cacheful of nodes at a time
    row, centre, half, rule = (np.concatenate(each) for each in zip(*final_panels, strict=True))
    # the fewest nodes with which the error of a panel stays within its share; where none suffices, the most
    fewer = np.floor(np.maximum(log_goal[row] - rule, 0.0) / (2 * np.log(_RHO)))
    sizes = np.array(list(_RULES))
    nodes = sizes[np.searchsorted(sizes, np.clip(_NODES - fewer, sizes[0], _NODES))]
    np.logaddexp.at(log_lost, row, rule + 2 * np.log(_RHO) * (_NODES - nodes))
    integral, fall, rounding = np.zeros((3, size))
    for count in np.unique(nodes):
        alike, step = np.flatnonzero(nodes == count), _CHUNK // int(count)
        for first in range(0, alike.size, step):
            chunk = alike[first : first + step]
            sums = _summed(problem[row[chunk]], centre[chunk], half[chunk], guess[row[chunk]], *_RULES[int(count)])
            for target, each in zip((integral, fall, rounding), sums, strict=True):
                np.add.at(target, row[chunk], each)
    # error of quadrature, of rounding, and of the sum over panels
    value = guess + np.log(integral)
    error = np.exp(log_lost - value) + rounding / integral + (64 + row.size / size) * UNIT
    sharp = (integral > 0) & (error <= _ROUGH)
    # not accurate: what was lost and rounded is added, which leaves an upper bound
    log_upper = np.logaddexp(np.logaddexp(value, log_lost), guess + np.log(rounding)) + 1e-12
    return np.where(sharp, value, log_upper), np.where(sharp, -fall / integral, 0.0), np.where(sharp, error, np.inf)


@dataclass(frozen=True)
class _UpperGamma:
    r"""The regularised upper incomplete gamma function Q(a, tau) for one a >= 20, faster than SciPy's.

    Notes
    -----
    Taylor polynomials of degree n are used, about places that are :math:`\sqrt a/256` apart. The coefficients of the
    density :math:`\gamma = -Q'` follow from :math:`\tau\gamma' = (a - 1 - \tau)\gamma`. On the circle of radius
    :math:`R = \sqrt a/4` about a place :math:`\tau`, at least 2R, :math:`|\gamma(\tau + z)| \le
    \gamma(\tau)\,e^{R|a-1-\tau|/\tau + (a-1)R^2/\tau^2}`, as :math:`|\log(1+z) - z| \le |z|^2` for :math:`|z| \le 1/2`;
    with :math:`|z| \le R/128` and Cauchy's estimates the remainder is at most :math:`R\,128^{-n-1}/(1-1/128)` times that.
    `error` is the greatest ratio of this remainder to Q, plus that of rounding in Horner's rule. Left of the first
    place, Q is replaced by 1, and 1 - Q is at most its value at the first place, which is added to `error`. The coefficients
    err as SciPy's functions do, which is counted where the table is used.
    """

    a: float
    first: float
    step: float
    coefficients: FloatArray  # one row per place, a column per power
    error: float

    @classmethod
    @lru_cache(maxsize=4)
    def of(cls, a: float, degree: int = _DEGREE) -> _UpperGamma:
        # at most R / 128 from the nearest place, R = sqrt(a) / 4
        step = np.sqrt(a) / _TABLE_CELLS
        # nine deviations left of the mean, where 1 - Q is negligible, and right of 2 R, where the bound of the notes
        # holds
        first = max(a - 9 * np.sqrt(a), np.sqrt(a) / 2)
        places = first + step * np.arange(int((a + 45 * np.sqrt(a) - first) / step))
        value = special.gammaincc(a, places)
        places, value = places[value > _LEAST_VALUE], value[value > _LEAST_VALUE]
        # coefficients of gamma from tau gamma' = (a - 1 - tau) gamma: (j + 1) tau c_{j+1} = (a - 1 - tau - j) c_j -
        # c_{j-1}
        density = [np.exp((a - 1) * np.log(places) - places - special.gammaln(a))]
        for j in range(degree - 1):
            previous = density[j - 1] if j else 0.0
            density.append(((a - 1 - places - j) * density[j] - previous) / (places * (j + 1)))
        radius = np.sqrt(a) / 4
        # Cauchy's estimate on the circle of radius R, over the least Q of the cell; 1.1 is more than 1 / (1 - 1 / 128)
        growth = np.exp(radius * np.abs(a - 1 - places) / places + (a - 1) * (radius / places) ** 2)
        remainder = density[0] * growth * radius * (_TABLE_CELLS / 2) ** -(degree + 1) * 1.1
        remainder = remainder / special.gammaincc(a, places + step / 2)
        # Q' = -gamma
        coefficients = np.stack([value, *(-each / (j + 1) for j, each in enumerate(density))], axis=1)
        below_first = float(special.gammainc(a, first))
        return cls(a, first, float(step), coefficients, float(np.max(remainder)) + below_first + 64 * UNIT)

    def __call__(self, tau: FloatArray) -> FloatArray:
        out = np.empty(tau.shape)
        flat, target = np.ascontiguousarray(tau).ravel(), out.reshape(-1)
        for start in range(0, flat.size, _CACHED):
            self._evaluate(flat[start : start + _CACHED], target[start : start + _CACHED])
        return out

    def _evaluate(self, tau: FloatArray, out: FloatArray) -> None:
        """Write the values at tau to `out`."""
        # index of the nearest place; values outside of the table are computed at place 0 and replaced below
        offset = (tau - self.first) / self.step + 0.5
        with np.errstate(invalid="ignore"):
            tabled = (offset >= 0) & (offset < self.coefficients.shape[0])
        offset[~tabled] = 0.0
        cell = offset.astype(np.int64)
        offset = np.where(tabled, tau - (self.first + self.step * cell), 0.0)
        coefficients = self.coefficients.take(cell, axis=0)
        # Horner's rule in place: the array is the cost
        out[:] = coefficients[:, -1]
        for power in coefficients.T[-2::-1]:
            out *= offset
            out += power
        out[tau < self.first] = 1.0
        far = tau >= self.first + self.step * (self.coefficients.shape[0] - 0.5)
        if np.any(far):
            out[far] = special.gammaincc(self.a, tau[far])


def _upper_gamma(a: float, tau: FloatArray, degree: int) -> FloatArray:
    return _UpperGamma.of(a, degree)(tau) if a >= _TABLED else np.asarray(special.gammaincc(a, tau))


def _log_far_upper_gamma(a: float, x: FloatArray) -> FloatArray:
    """log Q(a, x) for x far beyond a, where Q underflows: the asymptotic series, up to a rest below rounding."""
    term, total, k = np.ones(x.shape), np.ones(x.shape), 0
    while np.any(np.abs(term) * x > UNIT / 4 * (x - a)):  # the rest is at most the last term times x / (x - a)
        k += 1
        term = term * (a - k) / x
        total = total + term
    return np.asarray((a - 1) * np.log(x) - x - special.gammaln(a) + np.log(total))


def _log_remainder(
    log_excess: FloatArray, eta: FloatArray, a: float, degree: int = _DEGREE
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """B at L = log_excess, and its two terms: B = first - second; from a table of this degree."""
    tau = np.maximum(-log_excess / eta, 0.0)
    # one dimension: S = 0, so that B = (1 - exp(-L))_+
    if a == 0:
        first = (log_excess > 0).astype(float)
        second = np.where(log_excess > 0, np.exp(-np.maximum(log_excess, 0.0)), 0.0)
    else:
        # B = Q(a, tau) - exp(-L) (1 + eta)^-a Q(a, (1 + eta) tau); for tau = 0 both Q are 1
        first = _upper_gamma(a, tau, degree)
        farther = (1 + eta) * tau
        at_farther, exponent = _upper_gamma(a, farther, degree), -log_excess - a * np.log1p(eta)
        second = np.exp(np.minimum(exponent, _LARGEST_EXPONENT)) * at_farther
        # where the exponential overflows or Q underflows; NaN where L = -inf meets Q = 0, and then the term vanishes
        extreme = (exponent > _LARGEST_EXPONENT) | ((at_farther < _VANISHING) & (first >= _VANISHING))
        if np.any(extreme):
            with np.errstate(divide="ignore", invalid="ignore"):
                log_second = np.log(at_farther[extreme])
                vanishing = (at_farther[extreme] < _VANISHING) & (first[extreme] >= _VANISHING)
                log_second[vanishing] = _log_far_upper_gamma(a, farther[extreme][vanishing])
                total = exponent[extreme] + log_second
            second[extreme] = np.exp(np.where(total == total, total, -np.inf))
        second = np.minimum(second, first)  # B >= 0
    return np.asarray(first - second), first, second


def _at(problem: _Problem, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """zeta, alpha, chi and L at log zeta = y; one row per problem."""
    eps, m, near, eta = (x[:, None] for x in (problem.eps, problem.m, problem.near, problem.eta))
    zeta = np.exp(y)
    # chi = alpha + b, with the small difference b - m / 2 formed first
    chi = eps / m + (near - m / 2) + zeta / m
    # L of the module's notes; `level` is its part without zeta
    excess = problem.level[:, None] + np.log(-np.expm1(-zeta)) + eta * chi * chi / 2 + near * chi
    return zeta, problem.start[:, None] + zeta / m, chi, excess


def _roughly(problem: _Problem) -> FloatArray:
    """log of the integral by a coarse rule; tolerances are relative to it."""
    guess = _by_points(problem, 1.5)
    small = np.flatnonzero(guess < _SMALL)
    if small.size:  # far out the peak may lie between the points
        guess[small] = np.maximum(guess[small], _by_points(problem[small], 1.0))
    return guess


def _by_points(problem: _Problem, step: float) -> FloatArray:
    """The coarse rule on points that are so far apart in alpha where the Gaussian factor is great."""
    start, m = problem.start[:, None], problem.m[:, None]
    # a grid over the Gaussian factor, and a geometric one near zeta = 0, where L changes
    around = np.concatenate([np.arange(-8.0, 9.0, step), np.arange(10.0, 41.0, 3 * step)]) - np.minimum(start, 0.0)
    near_zero = 10.0 ** np.linspace(-12, 2, int(15 / step)) / np.maximum(np.abs(start), 1.0)
    zeta = m * np.sort(np.concatenate([np.where(around > 0, around, 1e-3), near_zero], axis=1), axis=1)
    y = np.log(zeta)
    zeta, alpha, _, excess = _at(problem, y)
    remainder = _log_remainder(excess, problem.eta[:, None], problem.a, problem.degree)[0]
    log_each = -alpha * alpha / 2 - _LOG_SQRT_2PI + np.log(-np.expm1(-zeta)) + np.log(remainder) + y - np.log(m)
    # trapezoidal weights in y = log zeta; a factor of two either way does no harm
    log_integral = special.logsumexp(log_each + np.log(np.gradient(y, axis=1)), axis=1)
    return np.asarray(np.maximum(log_integral, _NOTHING))


def _bounds(
    problem: _Problem, centre: FloatArray, half: FloatArray, log_goal: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Upper bounds on one panel (the module's notes): log of the error of the rule, and log of the integral.

    The error of the rule need not be the least that is known where it, or the integral, is within the goal.
    """
    eps, m, eta, near, a = problem.eps, problem.m, problem.eta, problem.near, problem.a
    # the ellipse lies in the box |Re y - y_0| <= reach, |Im y| <= angle
    angle = _HEIGHT * half
    valid = angle < _STEEPEST

    def size(reach: FloatArray, angle: FloatArray) -> tuple[FloatArray, ...]:
        """log of an upper bound of all factors except B; upper and lower bounds of Re L; upper bound of abs(Im L)."""
        # zeta = exp(y): low <= Re zeta, |zeta| <= high, |Im zeta| <= aside
        low, high = np.exp(centre - reach) * np.cos(angle), np.exp(centre + reach)
        aside = high * np.sin(angle)
        first, last = problem.start + low / m, problem.start + high / m
        # |exp(-alpha^2 / 2)| is greatest where Re alpha is nearest 0
        nearest = np.where(first > 0, first, np.where(last < 0, last, 0.0))
        log_least = np.log(-np.expm1(-low))
        # |1 - exp(-zeta)| <= |zeta| (1 - exp(-low)) / low near 0, and <= 1 + exp(-low) away from it
        log_factor = np.minimum(log_least - np.log(low) + centre + reach, np.log1p(np.exp(-low)))
        # log |phi(alpha) (1 - exp(-zeta)) zeta / m|, the last factor from d zeta = zeta dy
        rest = (aside / m) ** 2 / 2 - nearest * nearest / 2 - _LOG_SQRT_2PI + log_factor + centre + reach - np.log(m)
        offset = eps / m + (near - m / 2)
        left, right, across = offset + low / m, offset + high / m, aside / m
        # Re chi^2 = (Re chi)^2 - (Im chi)^2
        squares = np.stack([left * left, right * right])
        least_square = np.where((left < 0) & (right > 0), 0.0, np.min(squares, axis=0)) - across * across
        real_high = problem.level + log_factor + eta * np.max(squares, axis=0) / 2 + near * right
        real_low = problem.level + log_least + eta * least_square / 2 + near * left
        # |arg(1 - exp(-zeta))| <= |arg zeta| + |Im zeta|, and below pi / 2
        turn = np.minimum(angle + aside, np.pi / 2)
        imaginary = turn + across * (eta * np.maximum(np.abs(left), np.abs(right)) + near)
        return rest, real_high, real_low, imaginary

    angle = np.where(valid, angle, 0.0)
    # left of the kink: B rises with Re L, and |Im tau / Re tau| = |Im L / Re L| is greatest at `real_high`
    rest, real_high, real_low, imaginary = size(_REACH * half, angle)
    value = _log_remainder(real_high, eta, a)[0]
    log_growth = np.where(real_high < 0, max(a - 1, 0.0) / 2 * np.log1p((imaginary / real_high) ** 2), np.inf)
    left_of_kink = rest + np.log(value) + log_growth
    rule = _LOG_RULE + np.log(half)
    errors = rule + left_of_kink
    log_factors, highest, lowest, _ = size(half, 0 * angle)
    width = np.log(2 * half)
    integral = log_factors + width + np.log(_log_remainder(highest, eta, a)[0])
    # right of the kink: the branch tau <= 0 in the ellipse, and its difference from B on the real axis, twice
    left = np.flatnonzero(valid & ~(errors <= log_goal) & ~(integral <= log_goal - 2))
    eta_left, tau = eta[left], np.maximum(-lowest[left] / eta[left], 0.0)
    gamma_below = special.gammainc(a, tau) if a else (tau > 0).astype(float)
    right_of_kink = (rule + rest)[left] + np.log1p(np.exp(-real_low[left] - a * np.log1p(eta_left)))
    # exp overflows above 709; a factor of exp(700) suffices (*right of the kink*)
    excess = np.log(2 * gamma_below) + np.log(np.expm1(np.minimum(eta_left * tau, 700.0)))
    right_of_kink = np.logaddexp(right_of_kink, (log_factors + width)[left] + excess)
    # the lesser of two valid bounds; NaN, from 0 times infinity, proves nothing
    errors[left] = np.minimum(errors[left], right_of_kink)
    return np.where(valid & (errors == errors), errors, np.inf), integral


def _summed(
    problem: _Problem, centre: FloatArray, half: FloatArray, unit: FloatArray, nodes: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each panel, in units of exp(unit): the integral, minus its derivative in epsilon, its rounding error."""
    y = centre[:, None] + half[:, None] * nodes
    zeta, alpha, chi, excess = _at(problem, y)
    m, eta = problem.m[:, None], problem.eta[:, None]
    remainder, first, second = _log_remainder(excess, eta, problem.a, problem.degree)
    # phi(alpha) d zeta / m at each node
    density = np.exp(y - np.log(m) - alpha * alpha / 2 - _LOG_SQRT_2PI - unit[:, None]) * (half[:, None] * weights)
    weight = density * -np.expm1(-zeta)
    value, of_first, of_second = (np.einsum("ij,ij->i", weight, each) for each in (remainder, first, second))
    # -dD/d epsilon = lambda Q(A): the component at x' has the density exp(-epsilon - zeta) times that at x, and the
    # common one lambda / (lambda - 1) = 1 / (1 - exp(-epsilon)) times the term of the integrand
    fall = np.einsum("ij,ij->i", density - weight, first) + of_second / -np.expm1(-problem.eps)
    # magnitudes on the panel of the terms of chi, and of those of L (*Rounding* in the module's notes)
    farthest = (np.maximum(np.abs(each[:, 0]), np.abs(each[:, -1])) for each in (y, zeta, alpha, chi))  # each is monotone
    y_most, zeta_most, alpha_most, chi_most = farthest
    whole = problem.eps / problem.m + problem.m + zeta_most / problem.m
    magnitude = np.abs(problem.log_odds) + problem.eps + y_most + (problem.a + 0.5) * np.log1p(problem.eta)
    magnitude = magnitude + (problem.eta * chi_most + problem.near) * whole + problem.near**2 + 1
    # in units of rounding: what is assumed of SciPy, and the error of the table
    gamma_error = 256 + 64 * problem.a if problem.a else 4.0
    if problem.a >= _TABLED:
        gamma_error = gamma_error + _UpperGamma.of(problem.a, problem.degree).error / UNIT
    tau = np.max(np.maximum(-excess / eta, 0.0) * (first > 0), axis=1)
    rounding = value * (32 + 8 * alpha_most * whole + y_most + np.abs(unit))
    rounding = rounding + of_first * (gamma_error + 4 * (tau + problem.a)) + of_second * (gamma_error + 8 * magnitude)
    if problem.a:
        farther = (1 + problem.eta) * tau
        of_logarithm = 8 * (farther + 2 * (problem.a + 1) * np.log(np.maximum(farther, 1.0)))
        rounding = rounding + np.where(farther > _FAR_OUT, of_logarithm, 0.0) * of_second
        rounding = rounding + _VANISHING / UNIT * np.sum(weight, axis=1)
    return value, fall, UNIT * rounding


def delta(
    epsilon: float, *, p: float, distance: float, variance: float, noise: float, dimension: int, replace: bool = False
) -> float:
    r"""delta(epsilon) for ``silent`` or ``replace`` when the observer knows who else takes part, but not whether k
    does.

    The neighbours are :math:`pN(d\,e_1, v+s) + (1-p)N(0, v)` and :math:`pN(0, v+s) + (1-p)N(0, v)` (``replace``: means
    :math:`\pm d/2\,e_1`), the larger of both directions, for features of the greatest norm (``replace``: opposite
    features).

    Parameters
    ----------
    epsilon : float
        At least 0.
    p : float
        Probability that the device takes part, in [0, 1].
    distance : float
        d > 0, distance of the two means.
    variance : float
        v > 0, noise variance without the device.
    noise : float
        s >= 0, the variance that the device's own noise adds.
    dimension : int
        r >= 1.

    Returns
    -------
    float
        Its error is that of :func:`log_curve`, a relative 1e-11 or so. The mean of this value over the law of v is
        :func:`airtight.analytics.privacy.over_the_air.observers.exact_delta` for observer `others`.

    Notes
    -----
    For ``silent``, the direction from present to silent is the larger. To see this, let A be the optimal set of the
    other direction. On A, N(0, v+s) exceeds N(d e_1, v+s), so x_1 < d/2. The mirror image of A at x_1 = d/2 gives the
    first direction the same value, except for the term -(lambda-1)(1-p) N(0, v), and N(0, v) has less mass on the image
    than on A.

    References
    ----------
    Ledger FDP-T1b.

    Examples
    --------
    >>> delta(1.0, p=0.9, distance=0.4, variance=1.1, noise=0.1, dimension=784)
    0.00040726...
    """
    eps = float(real("epsilon", epsilon, "[0, inf)"))
    prob = float(real("p", p, "[0, 1]"))
    d = float(real("distance", distance, "(0, inf)"))
    v = float(real("variance", variance, "(0, inf)"))
    s = float(real("noise", noise, "[0, inf)"))
    r = int(integer("dimension", dimension, "[1, inf)"))
    if prob == 0.0:
        return 0.0
    arrays = (np.array([x]) for x in (eps, prob, d, v, s))
    with np.errstate(under="ignore"):
        return prob * float(np.exp(log_curve(*arrays, dimension=r, replace=replace)[0][0]))
