r"""The curve of the Gaussian mechanism at one point, by the standard library: for calls on which arrays cost more than sums.

The formulas and bounds are those of :mod:`airtight.analytics.privacy.mechanisms.gaussian`; only Mills' ratio is computed
otherwise: from :func:`math.erfc` below 8, by its continued fraction from there on.
"""

from __future__ import annotations

import math

from airtight.analytics import rounding

_UNIT = float(rounding.UNIT)
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_SQRT_HALF_PI = math.sqrt(math.pi / 2)
_SQRT_2 = math.sqrt(2)
_SPLITTER = 2.0**27 + 1  # Veltkamp's: halves a mantissa, so that products of the halves are exact
_FRACTION_FROM, _FRACTION_TERMS = 8.0, 16  # from 8 on, 16 terms of the continued fraction err by at most 1e-16
_CLOSE = 0.05  # relative drop of Mills' ratio below which its slope is integrated instead of taking the difference
_NODES = (  # and weights of Gauss's rule with four nodes
    (-math.sqrt(3 / 7 + 2 / 7 * math.sqrt(6 / 5)), (18 - math.sqrt(30)) / 36),
    (-math.sqrt(3 / 7 - 2 / 7 * math.sqrt(6 / 5)), (18 + math.sqrt(30)) / 36),
    (math.sqrt(3 / 7 - 2 / 7 * math.sqrt(6 / 5)), (18 + math.sqrt(30)) / 36),
    (math.sqrt(3 / 7 + 2 / 7 * math.sqrt(6 / 5)), (18 - math.sqrt(30)) / 36),
)
_NEWTON_STEPS = 100  # at most
Point = tuple[float, float, float]


def mills(x: float) -> tuple[float, float]:
    r"""Mills' ratio R at x > -1, and -R'(x) = 1 - x R(x).

    Notes
    -----
    Below 8, :math:`R = \sqrt{\pi/2}\,e^{z^2}\mathrm{erfc}(z)` at the double z next to :math:`x/\sqrt2`. R has a
    condition number below 1 at z >= 0, and :math:`z^2` is the sum of two doubles, without error. With errors of at most
    six units in the last place of `erfc` (glibc: 5.2) and of one of `exp`, R errs by at most 2e-15. A relative
    difference of 1/20 of two ratios errs by at most 39 times, 1 - x R by 66 times as much: both within the bound of
    :func:`curve`.

    Examples
    --------
    >>> mills(0.0)[0] == math.sqrt(math.pi / 2), mills(30.0)
    (True, (0.03329641907..., 0.00110742782...))
    """
    if x >= _FRACTION_FROM:
        fraction = x
        for n in range(_FRACTION_TERMS, 1, -1):
            fraction = x + n / fraction
        ratio = 1 / (x + 1 / fraction)
        return ratio, ratio / fraction
    z = x / _SQRT_2
    head = _SPLITTER * z
    head -= head - z
    rest = z - head
    square = z * z
    error = ((head * head - square) + 2 * head * rest) + rest * rest
    ratio = _SQRT_HALF_PI * math.exp(square) * (1 + error) * math.erfc(z)
    return ratio, 1 - x * ratio


def curve(epsilon: float, mu: float) -> Point:
    """log delta, its derivative in epsilon, and a bound on the error of log delta; 0 < mu < 1e150, 0 <= epsilon < inf.

    Examples
    --------
    >>> round(curve(1.0, 1.0)[0], 12) == round(math.log(0.12693673750664), 12)
    True
    """
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    log_density = -0.5 * a * a - _LOG_SQRT_2PI
    if log_density == -math.inf:
        return -math.inf, -math.inf, 0.0
    error = 4 * _UNIT * (1 + abs(a)) * (1 + b) + 1e-13
    last = mills(b)[0]
    if a < 0 and mu >= 0.5:
        mass = math.exp(log_density) * last
        log_delta = math.log1p(-(0.5 * math.erfc(-a / _SQRT_2) + mass))
        delta = math.exp(log_delta)
        return log_delta, -mass / delta, error * -math.expm1(log_delta) / delta - 2 * _UNIT * log_delta
    first = mills(a)[0]
    drop = first - last
    if drop < _CLOSE * first:
        middle, half = (a + b) / 2, mu / 2
        # half of mu may underflow
        drop = mu * sum([weight / 2 * mills(middle + half * node)[1] for node, weight in _NODES])
    if drop == 0:
        return -math.inf, -math.inf, 0.0
    return log_density + math.log(drop), -last / drop, error


def least_epsilon(target: float, mu: float) -> float:
    r"""The least epsilon at log delta, rounded up; 0 < mu < 1e150.

    Newton's method falls towards the root from the right
    (:func:`airtight.analytics.privacy.mechanisms.gaussian.epsilon`). It starts where
    :math:`\tfrac12e^{-a^2/2}`, which is at least :math:`\Phi(-a)` for a >= 0, is delta.

    Examples
    --------
    >>> least_epsilon(math.log(1e-5), 1.0)
    4.37717...
    """
    at_zero, _, error = curve(0.0, mu)
    if at_zero + error <= target:
        return 0.0
    start = math.sqrt(max(-2 * (target + math.log(2)), 0.0)) * (1 + 1e-9)
    result = mu * (start + mu / 2)
    for _ in range(_NEWTON_STEPS):
        value, slope, error = curve(result, mu)
        excess = value + 3 * error - target
        step = excess / slope if math.isfinite(excess) and math.isfinite(slope) and slope else math.nan
        before, result = result, max(result - step, 0.0) if math.isfinite(step) else result / 2
        if abs(result - before) <= 1e-14 * result:
            break
    step = math.ulp(result)
    while result < math.inf:
        value, _, error = curve(result, mu)
        if value + error <= target:
            break
        result, step = result + step, 2 * step
    return result


def below(result: float, target: float, mu: float) -> float:
    """Lower epsilon by doubling steps, first by 1e-13, until curve minus error is above the target; 0 where it never is."""
    step = 1e-13
    while result > 0:
        value, _, error = curve(result, mu)
        if value - error > target:
            break
        result, step = result * (1 - step) if step < 1 else 0.0, 2 * step
    return result
