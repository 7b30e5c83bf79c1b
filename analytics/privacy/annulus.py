r"""One Gaussian against another that is shifted and a common third one, on a line: a half-line, or an interval besides.

With :math:`\lambda = e^\epsilon`, m > 0 and a Gaussian density h of mean 0 and variance :math:`1/(1+\eta)`,

.. math:: G = \sup_A\; N(0,1)(A) - \lambda N(-m,1)(A) - \omega\,h(A), \qquad
          \omega = (\lambda-1)\,\tfrac{1-p}{p}\,e^{\text{log ratio}} ,

what :mod:`analytics.privacy.half_space` is for the other order of the two laws. Right of :math:`x_0 = \epsilon/m - m/2`, and only
there, the first two together are positive; A is where

.. math:: g(b) = \log(1-e^{-m(b-x_0)}) + \eta\,b^2/2 \;>\; t = \log\omega + \tfrac12\log(1+\eta) .

g' vanishes where :math:`-b\,(e^{m(b-x_0)} - 1) = m/\eta`. The left-hand side is positive between :math:`x_0` and 0 only, and its
logarithm is concave there: g rises, and between a crest and a trough, if there are any, it falls. Seen from the origin the best
set is then an annulus with one side open.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from analytics.checks import FloatArray
from analytics.privacy import gaussian
from analytics.privacy.half_space import Best, scaled_drop

_STEPS = 200  # of Newton or bisection; eight are usual
_BISECTIONS = 70
_NEARLY = -2.0  # log of what draws g down, as a share of what makes it rise
_CLOSE = 1e-8  # relative: Newton squares what is left
_LEAST_LOG = -700.0
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)

_Line = tuple[FloatArray, FloatArray, FloatArray]  # start x_0, m, eta


def turns(eps: FloatArray, m: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Crest and trough of g, as distances from its start, and where it is nearly level; NaN where there are none."""
    with np.errstate(all="ignore"):
        reach = m / 2 - eps / m  # the origin, seen from the start
        some = np.flatnonzero((reach > 0) & (eta > 0))
        crest, trough, level_at = (np.full(eps.shape, np.nan) for _ in range(3))
        end, pull, level = reach[some], m[some], np.log(m[some] / eta[some])

        def log_fall(x: FloatArray) -> FloatArray:
            return np.asarray(np.log(end - x) + pull * x + np.log(-np.expm1(-pull * x)) - level)

        peak = _crossing(lambda x: 1 / (end - x) + pull / np.expm1(-pull * x), np.zeros(end.shape), end)
        most = log_fall(peak)
        falls = most > 0
        crest[some] = np.where(falls, _crossing(log_fall, np.zeros(end.shape), peak), np.nan)
        trough[some] = np.where(falls, _crossing(lambda x: -log_fall(x), peak, end), np.nan)
        level_at[some] = np.where(~falls & (most > _NEARLY), peak, np.nan)
    return crest, trough, level_at


def thresholds(
    eps: FloatArray, p: FloatArray, m: FloatArray, eta: FloatArray, turn: FloatArray, log_ratio: FloatArray
) -> FloatArray:
    """By how much t exceeds g at a turn; where that vanishes as the ratio changes, the set gains or loses a part."""
    with np.errstate(all="ignore"):
        return np.asarray(_target(eps, p, log_ratio, eta) - _height((eps / m - m / 2, m, eta), turn))


def best(
    eps: FloatArray,
    p: FloatArray,
    m: FloatArray,
    log_ratio: FloatArray,
    eta: FloatArray,
    crest: FloatArray,
    trough: FloatArray,
) -> Best:
    """The best set; arguments of one shape, eps > 0 finite, p in (0, 1), m > 0, eta >= 0, and what :func:`turns` finds."""
    with np.errstate(all="ignore"):
        line = eps / m - m / 2, m, eta
        target = np.maximum(_target(eps, p, log_ratio, eta), _LEAST_LOG)
        at_crest, at_trough = (_height(line, x) for x in (crest, trough))
        whole = target <= at_trough  # one half-line from before the crest on
        apart = (target < at_crest) & ~whole
        root = _end(line, target, np.where(whole, 0.0, np.nan_to_num(trough)), np.where(whole, crest, np.inf))
        value, far, common, terms = _half_line(line, root, target)
        some = np.flatnonzero(apart)
        if some.size:
            of = line[0][some], m[some], eta[some]
            left = _end(of, target[some], np.zeros(some.size), crest[some])
            right = _end(of, target[some], crest[some], trough[some], falling=True)
            more, *shares = _interval(of, left, right)
            both = np.logaddexp(value[some], more)
            for mine, theirs in zip((far, common, terms), shares, strict=True):
                mine[some] = np.exp(value[some] - both) * mine[some] + np.exp(more - both) * theirs
            value[some] = both
        return Best(np.minimum(value, 0.0), far, common, terms)


def _target(eps: FloatArray, p: FloatArray, log_ratio: FloatArray, eta: FloatArray) -> FloatArray:
    return np.asarray(eps + np.log(-np.expm1(-eps)) + np.log1p(-p) - np.log(p) + log_ratio + np.log1p(eta) / 2)


def _height(line: _Line, x: FloatArray) -> FloatArray:
    """g at a distance x from its start."""
    start, m, eta = line
    return np.asarray(np.log(-np.expm1(-m * x)) + eta * (start + x) ** 2 / 2)


def _end(line: _Line, target: FloatArray, low: FloatArray, high: FloatArray, *, falling: bool = False) -> FloatArray:
    """The distance from the start at which g, monotone between `low` and `high`, is `target`; infinite where it is nowhere."""
    start, m, eta = line
    level = np.where(start > 0, target - eta * start * start / 2, target)
    straight = np.where(level < 0, -np.log1p(-np.exp(np.minimum(level, 0.0))), np.inf) / m  # without what eta adds
    bound = np.maximum(np.log(2) / m, np.sqrt(2 * np.maximum(target + np.log(2), 0.0) / eta) - start)
    high = np.minimum(high, np.where(eta > 0, bound, np.maximum(straight * (1 + 1e-9), 1e-300)))
    nowhere = ~np.isfinite(high)
    a, b = np.log(np.maximum(low, 1e-320)), np.log(np.where(nowhere, 1.0, high))
    at = np.clip(np.log(straight), a, b)
    at = np.where((at > a) & (at < b), at, (np.maximum(a, b - 2) + b) / 2)
    active = np.flatnonzero(~nowhere)
    for _ in range(_STEPS):
        x = np.exp(at[active])
        of = start[active], m[active], eta[active]
        excess = _height(of, x) - target[active]
        slope = of[1] * x / np.expm1(of[1] * x) + of[2] * (of[0] + x) * x
        above = (excess > 0) != falling
        a[active], b[active] = np.where(above, a[active], at[active]), np.where(above, at[active], b[active])
        newton = at[active] - excess / slope
        inside = (newton >= a[active]) & (newton <= b[active])
        moved = np.where(inside, newton, (a[active] + b[active]) / 2)
        rough = (np.abs(moved - at[active]) > _CLOSE) & (b[active] - a[active] > 1e-15)
        at[active] = moved
        active = active[rough]
        if not active.size:
            break
    return np.where(nowhere, np.inf, np.exp(at))


def _shares(line: _Line, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A root b, and what the two that are taken away have of the density there."""
    start, m, _ = line
    return start + x, np.exp(-m * x), -np.expm1(-m * x)


def _half_line(line: _Line, x: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """log of the value right of a root; lambda N(-m,1), omega h, and the sum of all that is added up, as shares of it.

    A root so near the start that it is no double has the target all the same.
    """
    _, m, eta = line
    b, share, rest = _shares(line, x)
    width = np.sqrt(1 + eta)
    log_density = -b * b / 2 - _LOG_SQRT_2PI
    density, beyond = np.exp(log_density), b >= 0
    to_far, to_zero = share * gaussian.mills(b + m), rest * gaussian.mills(np.maximum(b, 0.0) * width) / width
    drops = share * gaussian.mills_drop(np.maximum(b, 0.0), np.maximum(b, 0.0) + m, m)
    tail = log_density + np.log(drops + rest * scaled_drop(np.maximum(b, 0.0), eta))
    common = np.exp(target) / width * special.ndtr(-b * width)
    bulk = np.log(np.maximum(special.ndtr(-b) - density * to_far - common, 0.0))
    value = np.where(beyond, tail, bulk)
    value = np.where(np.isfinite(x) & (value > -np.inf), value, -np.inf)
    relative = np.where(value > -np.inf, np.exp(log_density - value), 0.0)
    far, common = relative * to_far, np.where(beyond, relative * to_zero, np.exp(-value) * common)
    far, common = (np.where(value > -np.inf, each, 0.0) for each in (far, common))
    return value, far, common, 1 + far + common


def _interval(
    line: _Line, left: FloatArray, right: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The same of what lies between two roots left of the origin."""
    _, m, eta = line
    width = np.sqrt(1 + eta)
    near, far, common = [], [], []
    for x in (left, right):
        b, share, rest = _shares(line, x)
        near.append(special.ndtr(b))
        far.append(share * np.exp(-b * b / 2 - _LOG_SQRT_2PI) * gaussian.mills(b + m))
        common.append(rest * np.exp(-b * b / 2 - _LOG_SQRT_2PI) / width * gaussian.mills(-b * width))
    parts = near[1] - near[0], far[0] - far[1], common[1] - common[0]
    terms = sum(near) + sum(far) + sum(common)
    value = np.maximum(parts[0] - parts[1] - parts[2], terms * np.finfo(float).eps)
    return np.log(value), parts[1] / value, parts[2] / value, terms / value


def _crossing(rising: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Where a function changes from negative to positive."""
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        above = rising(middle) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray((low + high) / 2)
