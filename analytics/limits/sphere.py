r"""How well a private output can tell a direction: lower bounds of the error about a uniform unit vector.

Let theta be uniform on the unit sphere of :math:`R^d`, and let an output M depend on it as far as a power function F
allows: :math:`\Pi_1(B) \le F(\Pi_0(B))` for all events B of (M, theta), where under :math:`\Pi_0` the output is
independent of theta. :math:`D_d(F)` is the least of :math:`E_1|M-\theta|^2`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.limits.power import PowerFunction
from airtight.analytics.rounding import UNIT

CELLS = 2048  # of the integral over caps
_CAP = 1e-9  # assumed relative error of a cap by SciPy's incomplete beta function; at most 1e-11 met, for d up to 1e6
_SMALL = 1e-290  # caps from here on are taken from the incomplete beta function
_SHARES = np.append(0.0, np.geomspace(1e-6, 1e6, 80))  # ratios w / d, see `by_information`
_ROUNDS = 2  # of the search for the best ratio


def log_cap(dimension: int, square: FloatArray) -> FloatArray:
    r"""Logarithm of the share of the unit sphere within a cap, rounded up.

    The cap is :math:`\{u_1 \ge s\}`, `square` is :math:`s^2` in [0, 1).

    Notes
    -----
    It is :math:`\frac12I_{1-s^2}(\frac{d-1}2, \frac12)`, at most :math:`\frac12(1-s^2)^{(d-1)/2}`, and at most
    :math:`(1-s^2)^{(d-1)/2}/(s\sqrt{2\pi(d-1)})`; the last two are used where the first is tiny.

    *Proof* for d > 1. The density of :math:`u_1` is :math:`\kappa(1-u^2)^{(d-3)/2}`. The difference
    :math:`\frac12(1-s^2)^{(d-1)/2} - \mathrm{cap}(s)` is 0 at s = 0 and s = 1, and its derivative
    :math:`(1-s^2)^{(d-3)/2}(\kappa - \frac{d-1}2s)` changes sign once, from + to -. For the other,
    :math:`\int_s^1\kappa(1-u^2)^{(d-3)/2}du \le \frac\kappa s\int_s^1u(1-u^2)^{(d-3)/2}du`, and
    :math:`\kappa = \Gamma(\frac d2)/(\sqrt\pi\,\Gamma(\frac{d-1}2)) \le \sqrt{(d-1)/(2\pi)}`, as log Gamma is convex.
    For d = 1 a cap with s > 0 is one of two points.

    Examples
    --------
    >>> log_cap(3, np.array([0.0, 0.25])).round(6)  # half the sphere, and a quarter of it
    array([-0.693147, -1.386294])
    """
    from scipy import special

    power = (dimension - 1) / 2
    with np.errstate(divide="ignore", under="ignore"):
        cap = special.betainc(power, 0.5, 1 - square) / 2 if dimension > 1 else np.full(square.shape, 0.5)
        closed = power * np.log1p(-square) - np.log(2)
        if dimension > 1:
            closed = closed + np.minimum(0.0, np.log(2) - np.log(2 * np.pi * (dimension - 1) * square) / 2)
        exact = np.log(cap) + _CAP + dimension * UNIT
    closed += 8 * UNIT * (1 + np.abs(closed))
    return np.asarray(np.where(cap > _SMALL, np.minimum(exact, -np.log(2) + UNIT), closed))


def by_caps(power: PowerFunction, dimension: int, cells: int = CELLS) -> float:
    r"""A lower bound of :math:`D_d(F)` from F: :math:`\int_0^1 1 - F(\mathrm{cap}_d(\sqrt t))\,dt`.

    Notes
    -----
    *Proof.* :math:`E_1\varphi = \int_0^\infty\Pi_1(\varphi > t)dt` for :math:`\varphi = |M-\theta|^2`, and
    :math:`\Pi_1(\varphi\le t) \le F(\Pi_0(\varphi\le t))`. Under :math:`\Pi_0` the output is independent of theta, so
    that :math:`\Pi_0(\varphi\le t)` is at most the greatest share of the sphere in a ball of radius :math:`\sqrt t`.
    With its centre at distance R it is the cap :math:`u \ge (1+R^2-t)/(2R)`, greatest at :math:`R = \sqrt{1-t}`:
    :math:`\mathrm{cap}(\sqrt{1-t})` for t < 1. Then t is replaced by 1 - t.

    *Quadrature.* On each cell F is at most the mean of one of its lines, and at most 1. For :math:`d \ne 2` the cap is
    convex in t: its derivative :math:`-\frac\kappa2(1-t)^{(d-3)/2}t^{-1/2}` grows (d = 1: a constant). So is a line of
    it, which is not cut at 1 before the trapezoidal rule, and the rule errs upwards. For d = 2 the left end of each
    cell is taken, as caps fall in t.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.privacy_curve import gaussian
    >>> round(by_caps(PowerFunction.gaussian(12.0), 784), 4)
    0.8312
    """
    node = _nodes(dimension, cells)
    log_share = log_cap(dimension, node[:-1])
    log_share = np.append(log_share, -np.log(2) if dimension == 1 else -np.inf)
    line = power.line_at((log_share[:-1] + np.maximum(log_share[1:], log_share[:-1] - 1)) / 2)
    left, right = power.on_lines(line, log_share[:-1]), power.on_lines(line, log_share[1:])
    missed = 1 - np.minimum(left if dimension == 2 else (left + right) / 2, 1.0)
    return max(float(np.sum(missed * np.diff(node))) * (1 - 1e-12), 0.0)


def _nodes(dimension: int, cells: int) -> FloatArray:
    """Squares of distances from 0 to 1: distances evenly spread, closer where caps of the dimension shrink, and close to 1."""
    even = np.linspace(0, 1, cells // 2 + 1)
    return np.unique(np.concatenate([even**2, even[:-1] ** 2 * min(1.0, 1500 / dimension), 1 - even**2]))


def by_information(power: PowerFunction, dimension: int) -> float:
    r"""A lower bound of :math:`D_d(F)` from the Kullback-Leibler divergence that F allows.

    With a mass c that is given up, and a divergence K of the rest (:meth:`.PowerFunction.informations`),

    .. math:: D_d \ge (1-c)\Bigl[1 + \frac{w(w+d+2)}{(d+w)^2} - \frac{2}{d+w}\Bigl(w - \bigl(\tfrac d2 - 1\bigr)
              \log\bigl(1+\tfrac wd\bigr) + K\Bigr)\Bigr] \quad\text{for every } w \ge 0.

    For large d and c = 0 it is near :math:`e^{-2K/d}`; w = 0 gives 1 - 2K/d.

    Notes
    -----
    *Proof.* Let :math:`\nu = \frac d2 - 1`, :math:`\beta = \nu + 2`, :math:`s = \sqrt{x^2+\beta^2}`,
    :math:`G(x) = x/(\nu+s)` and :math:`M(x) = Ee^{xu_1}` for a uniform unit vector u. :math:`A = (\log M)'` satisfies
    :math:`A' = 1 - \frac{2\nu+1}xA - A^2` (the equation of M is :math:`M'' + \frac{2\nu+1}xM' = M`). *A is at most G*:
    by :math:`x^2 = s^2 - \beta^2`, :math:`(\nu+s)^2(G' - 1 + \frac{2\nu+1}xG + G^2) = (s-\beta)^2/s \ge 0`. So for h =
    G - A the function :math:`x^{2\nu+1}e^{\int G+A}h` does not fall, and it is 0 at 0, where :math:`h = O(x^3)`. Hence
    :math:`\log M(x) \le L(x) = \int_0^xG = w - \nu\log(1+w/d)` with :math:`w = s - \beta`, as :math:`\nu+\beta = d`.

    For a > 0 and :math:`\varphi = |M-\theta|^2`, :math:`-aE_1\varphi \le K + \log E_0e^{-a\varphi}` (Donsker and
    Varadhan), and under :math:`\Pi_0`, given that the output has the norm rho,
    :math:`Ee^{-a\varphi} = e^{-a(1+\rho^2)}M(2a\rho)`. So
    :math:`E_1\varphi \ge -\frac1a(K + \max_\rho[-a(1+\rho^2) + L(2a\rho)])`. The derivative in rho is
    :math:`2a(G(2a\rho)-\rho)`, and :math:`G(x)/x = 1/(\nu+s)` falls. So the maximum is where :math:`\rho = G(2a\rho)`,
    or at 0 for :math:`2a \le d`. With :math:`x = 2a\rho \ge 0` as the parameter, :math:`a = (\nu+s)/2 = (d+w)/2` and
    :math:`\rho^2 = x^2/(\nu+s)^2 = w(w+d+2)/(d+w)^2`, which is the bound for c = 0. For c > 0 the law of
    :math:`(M,\theta)` is at least 1 - c times one with divergence K, and :math:`\varphi \ge 0`.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.privacy_curve import gaussian
    >>> round(by_information(PowerFunction.gaussian(12.0), 784), 4)
    0.8322
    """
    lost, divergence = (each[:, None] for each in power.informations())
    d = float(dimension)

    def bounds_at(share: FloatArray) -> FloatArray:
        w = d * share
        gain = (w / (d + w)) * ((w + d + 2) / (d + w))
        cost = 2 * (w - (d / 2 - 1) * np.log1p(share) + divergence) / (d + w)
        # each term is a product of at most five factors; w and the logarithm, which cancel, are each at most 2 here
        bounds = (1 - lost) * (1 + gain - cost - 16 * UNIT * (5 + gain + cost))
        return np.asarray(np.max(bounds, axis=0))

    return greatest(bounds_at, _SHARES, _ROUNDS)


def greatest(values_at: Callable[[FloatArray], FloatArray], places: FloatArray, rounds: int) -> float:
    """The greatest value found, at least 0: at some places, and again and again between the neighbours of the best one."""
    best = 0.0
    for _ in range(rounds):
        values = values_at(places)
        at = int(np.argmax(values))
        best = max(best, float(values[at]))
        places = np.linspace(places[max(at - 1, 0)], places[min(at + 1, places.size - 1)], places.size)
    return best
