r"""Releases in one number, between two proved bounds: Renyi divergences, zero-concentrated and Gaussian privacy.

The divergence of order :math:`a > 1` is
:math:`D_a(P\|Q) = \frac1{a-1}\log\int p^a q^{1-a}`. Divergences of releases add up, also when each release is chosen by what the
earlier ones showed, as long as the sum stays below a bound fixed beforehand (Feldman and Zrnic, arXiv:2008.11193).

Notes
-----
*Closed forms*, the greater of both orders. Gaussian :math:`a\mu^2/2`. Laplace
:math:`\frac1{a-1}\log\bigl(\frac a{2a-1}e^{(a-1)\epsilon} + \frac{a-1}{2a-1}e^{-a\epsilon}\bigr)`. Randomized response,
discrete Laplace and a discrete pair: sums over outcomes. Discrete Gaussian: :math:`\frac{as^2}{2\sigma^2} +
\frac1{a-1}\log\frac{\Theta(as)}{\Theta(0)}`, with :math:`\Theta(c) = \sum_ke^{-(k-c)^2/(2\sigma^2)}`, which is greatest
at whole c (Canonne, Kamath and Steinke 2020).

*Subsampled Gaussian.* :math:`E_Q\,g^a` with :math:`g(x) = 1 - p + pe^{\mu x - \mu^2/2}` bounds both orders and is
attained in one (Mironov, Talwar and Zhang, arXiv:1908.10530, theorem 5). The trapezoidal rule of step h computes it.
For :math:`|y| \le d < \pi/\mu`, :math:`|g(x+iy)| \le g(x)`, and g has no zero, so that :math:`g^a\varphi` is analytic
in the strip :math:`|y| \le d` and the integral of its absolute value there is at most :math:`e^{d^2/2}` times that on
the real line. Hence the relative error of the rule is at most :math:`2e^{d^2/2}/(e^{2\pi d/h} - 1)` (Trefethen and
Weideman 2014, theorem 5.1). The logarithmic derivative of :math:`g^a\varphi` is between -x and :math:`a\mu - x`: c
beyond 0 and :math:`a\mu` the terms fall at least by :math:`e^{-ch}` each.

*Any other release.* A divergence is an integral of both orders' curves,

.. math::

    e^{(a-1)D_a(P\|Q)} = 1 + a(a-1)\int_0^\infty e^{(a-1)\epsilon}\delta(\epsilon) + e^{-a\epsilon}\delta'(\epsilon)\,d\epsilon .

The curves are convex and decreasing in :math:`e^\epsilon`: the chords of upper bounds are above them, and the line
through two points, continued to the left, is below them. Beyond the greatest loss they vanish. Where it is infinite, but
:math:`D_b \le b\mu^2/2 + s` at all orders b is known, :math:`\delta(\epsilon) \le P(L > \epsilon) \le
e^{(b-1)(D_b - \epsilon)}`, so that what is left beyond E is at most, for any b > a,

.. math::

    \int_E^\infty e^{(a-1)\epsilon}\delta(\epsilon)\,d\epsilon \le \frac{e^{(b-1)(b\mu^2/2 + s) - (b-a)E}}{b-a}, \qquad
    \int_E^\infty e^{-a\epsilon}\delta'(\epsilon)\,d\epsilon \le \frac{e^{-aE}\delta'(E)}a ,

and :math:`b = (E - s)/\mu^2 + 1/2` is the best. Else the upper bound is infinite. The integral over a cell of width h has a
closed form without cancellation where :math:`(|p| + 1)h \ge 1` for the power p; in shorter cells the rule of eight Gauss
nodes errs by at most :math:`\frac{(8!)^4}{17(16!)^3}h^{17}\max|f^{(16)}|`, less than a share of :math:`10^{-21}`. So each
cell is computed up to a relative 64 units and the error of its exponent, two units of :math:`a\epsilon`, and the logarithm
of their sum errs by a unit for each cell and one of its size.

*Rounding.* A sum of exponentials of terms t_i, each computed with an error of at most e, has a logarithm with an error
of at most e and the relative rounding of the sum. Each t_i is a sum of at most four products of elementary functions
whose computed values err by at most 4 units in the last place, so that e is below 64 units of the sum of their absolute
values. The bound of all these errors is added to the upper bound, and subtracted from the lower one.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.accounting.subsampled import FixedSizeSampled, Subsampled
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.mechanisms.approximate import Approximate
from airtight.analytics.privacy.mechanisms.discrete_gaussian import DiscreteGaussian
from airtight.analytics.privacy.mechanisms.discrete_laplace import DiscreteLaplace
from airtight.analytics.privacy.mechanisms.discrete_pair import Discrete
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.mechanisms.laplace import Laplace
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Factors, Mechanism
from airtight.analytics.privacy.mechanisms.randomized_response import RandomizedResponse
from airtight.analytics.privacy.mechanisms.renyi_bound import RenyiBound
from airtight.analytics.rounding import SMALLEST, UNIT

Ends = tuple[float, float]
_GREATEST_CHECKED = 10_000  # order up to which the checker of a meter's log sums the terms of a subsampled Gaussian
# releases that this checker knows besides
_CHECKED = (Gaussian, Laplace, RandomizedResponse, Discrete, DiscreteGaussian, DiscreteLaplace)
_FAINT = 1e-9  # (a - 1) D below which the logarithm of a mean near 1 has few digits
_SMALL = 0.1  # (a - 1) D below which a mean of small terms is computed, not of terms near 1
_MOST_POINTS = 1 << 20  # of the trapezoidal rule
_REACH = 40.0  # standard deviations beyond which a normal integrand is below the rounding of its sum
_ORDERS = 1 + np.geomspace(1e-3, 1e6, 25)  # at which a lower bound of rho is looked for
_ORDER_STEP = 0.02  # of the logarithm of an order, on the grid of an upper bound of rho
_GREATEST_PURE = 1e5  # epsilon from which on no Gaussian is looked for: the tail of its law leaves the doubles
_NODES = 2049  # of the grid on which a curve without a closed form is integrated
_GAUSS_NODES, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(8)
_LEAST = 1e-290  # delta from which on no lower bound is made


def divergence(factors: Factors, order: float) -> float:
    r"""The greater of :math:`D_a(P\|Q)` and :math:`D_a(Q\|P)`, rounded up, for a filter whose log others check.

    Parameters
    ----------
    factors : tuple of (Mechanism, int)
        Releases of the kinds Gaussian and Laplace, both also discrete, randomised response and discrete pair at any order,
        and a subsampled Gaussian at a whole order.
    order : float
        a > 1.

    Returns
    -------
    float
        In nats; infinite where one law has outcomes that the other has not.

    Raises
    ------
    ParameterError
        For releases of other kinds.

    Examples
    --------
    >>> round(divergence(((Gaussian(0.5), 4),), 8.0), 12), round(divergence(((Laplace(0.5), 1),), 8.0), 6)
    (4.0, 0.410268)
    """
    a = checks.scalar("order", order, "(1, inf)")
    for release, _ in factors:
        sampled = isinstance(release, Subsampled) and isinstance(release.release, Gaussian)
        if sampled and (a != np.floor(a) or a > _GREATEST_CHECKED):
            raise ParameterError("order", a, f"a whole number up to {_GREATEST_CHECKED} for a subsampled Gaussian")
        if not sampled and not isinstance(release, _CHECKED):
            raise ParameterError(
                "curve", type(release).__name__, "made of releases whose Renyi divergence has a closed form: Gaussian, "
                "Laplace, both on integers, randomized response, discrete pair, subsampled Gaussian; declare others "
                "beforehand with fixed=[(curve, count)]"
            )  # fmt: skip
    return bracket(tuple((_bounding(release), count) for release, count in factors), a)[1]


def _bounding(release: Mechanism) -> Mechanism:
    """The release, or continuous Gaussian noise in place of discrete noise: no less is shown, and the checker needs no sum."""
    if isinstance(release, DiscreteGaussian):
        return Gaussian(float(np.nextafter(release.sensitivity / release.sigma, np.inf)))
    return release


def bracket(factors: Factors, order: float) -> Ends:
    r"""Lower and upper bound of the greater of :math:`D_a(P\|Q)` and :math:`D_a(Q\|P)`, in nats.

    For unlike releases it is the sum of the greater ones: one of the orders for all is bounded by it. The lower bound
    is that of the better order, where all releases attain their greater divergence in the same order.

    Examples
    --------
    >>> low, high = bracket(((Subsampled(Gaussian(1.0), 0.01), 1000),), 2.5)
    >>> bool(low < high < low * (1 + 1e-9)), round(high, 5)
    (True, 0.21758)
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        ends = [(_of(release, order), count) for release, count in factors]
        worst = sum(count * max(each[0][1], each[1][1]) for each, count in ends)
        attained = max((sum(count * each[i][0] for each, count in ends) for i in (0, 1)), default=0.0)
    rounding = 4 * UNIT * (2 + len(factors))
    return max(float(attained * (1 - rounding)), 0.0), float(worst * (1 + rounding))


def zcdp(factors: Factors) -> Ends:
    r"""Lower and upper bound of the least rho with :math:`D_a \le \rho a` for all orders a > 1, in both orders of the laws.

    Notes
    -----
    *Upper bound*, the sum over releases. Gaussian :math:`\mu^2/2`, discrete Gaussian
    :math:`s^2/(2\sigma^2)`; a subsampled release shows no more than the release itself. A release of pure epsilon
    :math:`\epsilon_0` has :math:`\epsilon_0^2/2` (Bun and Steinke 2016), and less: D rises with the order, so
    :math:`D_a/a \le D_{b}/c` for :math:`c \le a \le b`, at all of a grid of orders, and :math:`D_a/a \le \epsilon_0/c`
    beyond its end, or :math:`\mu^2/2 + s/c` where :math:`D_a \le a\mu^2/2 + s` is known. *Lower bound*: the greatest
    :math:`D_a/a` at some orders.

    Examples
    --------
    >>> [round(end, 9) for end in zcdp(((Gaussian(2.0), 3),))]
    [6.0, 6.0]
    >>> low, high = zcdp(((RandomizedResponse(2.0), 1),))
    >>> bool(low < high < 1.02 * low), round(high, 2)
    (True, 1.54)
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        upper = sum(count * _rho(release) for release, count in factors) * (1 + 4 * UNIT * (2 + len(factors)))
    lower = max((bracket(factors, a)[0] / a for a in _ORDERS.tolist()), default=0.0) * (1 - 4 * UNIT)
    return float(min(lower, upper)), float(upper)


def _rho(release: Mechanism) -> float:
    """Upper bound of the least rho of one release."""
    if isinstance(release, Gaussian | DiscreteGaussian):
        return _of(release, 2.0)[0][1] / 2
    pure = max(release.greatest_loss(reverse=order) for order in (False, True))
    rho = _rho(release.release) if isinstance(release, Subsampled | FixedSizeSampled) and release.p else np.inf
    straight = (mu * mu / 2 * (1 + 4 * UNIT) for mu, shift in release.renyi_lines if shift == 0)
    rho = min(rho, *straight, pure * pure / 2 * (1 + 4 * UNIT) + SMALLEST, pure)
    # beyond a grid of orders, D_a is at most limit a + rest
    lines = [(mu * mu / 2, shift) for mu, shift in (*release.renyi_lines, (0.0, pure)) if 0 < mu + shift < np.inf and shift]
    if not rho or not lines:
        return rho
    least = min(rest for _, rest in lines)
    orders = np.exp(np.arange(0.0, np.log(10 + 2.5 / min(least, 1.0)) + _ORDER_STEP, _ORDER_STEP))
    divergences = [max(ends[1] for ends in _of(release, a)) for a in orders[1:].tolist()]
    beyond = min(limit + rest / float(orders[-1]) for limit, rest in lines)
    return min(rho, max(float(np.max(divergences / orders[:-1])), beyond) * (1 + 4 * UNIT))


def gdp(release: Mechanism) -> float:
    r"""Upper bound of the least mu whose Gaussian curve is nowhere below that of one release; infinite where none is known.

    Notes
    -----
    The Gaussian curve G is symmetric, so it dominates at every :math:`\lambda > 0` where it does so in both
    orders at every :math:`\epsilon \ge 0`. A subsampled release is a post-processing of the release. The curve of a
    release of pure epsilon :math:`\epsilon_0` falls and is 0 from there on. On a grid from 0 to :math:`\epsilon_0`,
    :math:`G(\epsilon_{i+1}) \ge \delta(\epsilon_i)` for all i suffices, as both curves fall. Randomized response
    dominates the release, and is dominated where the Gaussian trade-off function is below its corner: :math:`\mu =
    2\Phi^{-1}(1/(1+e^{-\epsilon_0}))`.

    Examples
    --------
    >>> gdp(Gaussian(2.0)), round(gdp(Laplace(1.0)), 3), round(gdp(RandomizedResponse(1.0)), 3)
    (2.0, 1.03, 1.232)
    """
    from scipy import special

    mu = release.dominating_mu
    if isinstance(release, Gaussian):
        return mu
    if isinstance(release, Subsampled | FixedSizeSampled):
        mu = gdp(release.release) if release.p else 0.0
    pure = max(release.greatest_loss(reverse=order) for order in (False, True))
    if pure == 0:
        return 0.0
    if pure < _GREATEST_PURE:
        corner = 2 * float(special.ndtri_exp(-np.log1p(np.exp(-pure)))) * (1 + 1e-12) + SMALLEST
        eps = np.linspace(0.0, pure, _NODES)
        upper = np.max([release.delta_bracket(eps, reverse=order)[1] for order in (False, True)], axis=0)[:-1]
        needed = upper > 0
        # the noise is at most a relative 1e-10 above the least one
        sigma = gaussian.sigma(eps[1:][needed], np.minimum(upper[needed], 1.0), sensitivity=1.0)
        with np.errstate(divide="ignore"):
            band = float(np.max((1 + 2e-10) / np.asarray(sigma), initial=0.0))
        mu = min(mu, corner, band)
    return mu


def _of(release: Mechanism, a: float) -> tuple[Ends, Ends]:
    """As :func:`_computed`, no more than a line in a, and no more than a pure epsilon allows: itself, and a half of a times
    its square."""
    ends = []
    for reverse, (low, high) in enumerate(_computed(release, a)):
        pure = release.greatest_loss(reverse=bool(reverse))
        greatest_pure = max(pure, release.greatest_loss(reverse=not reverse))
        of_square = a * greatest_pure * greatest_pure / 2 * (1 + 8 * UNIT) + (SMALLEST if greatest_pure else 0.0)
        upper = min(high, pure * (1 + 4 * UNIT), of_square)
        lines = ((a * mu * mu / 2 + shift) * (1 + 8 * UNIT) + (SMALLEST if mu else 0.0) for mu, shift in release.renyi_lines)
        upper = min(upper, *lines)
        ends.append((min(low, upper), upper))
    return ends[0], ends[1]


def _computed(release: Mechanism, a: float) -> tuple[Ends, Ends]:
    """Lower and upper bounds of the divergences of (P, Q) and of (Q, P)."""
    if isinstance(release, Discrete):
        p, q = (np.log(law) for law in release.laws)
        return _of_laws(p, q, a, release.doubt), _of_laws(q, p, a, release.doubt)
    if isinstance(release, Subsampled) and isinstance(release.release, Gaussian):
        mu, slack = release.release.mu, release.release.slack + 4 * UNIT
        forward = _of_subsampled(mu * (1 - slack), release.p, a)[0], _of_subsampled(mu * (1 + slack), release.p, a)[1]
        return forward, (0.0, forward[1])
    both_orders = _of_both_orders(release, a)
    if both_orders is not None:
        return both_orders, both_orders
    return _of_curve(release, a, reverse=False), _of_curve(release, a, reverse=True)


def _of_both_orders(release: Mechanism, a: float) -> Ends | None:
    """Bounds of the divergence of a release of which it is the same in both orders; None where there is no closed form."""
    match release:
        case Gaussian():
            least, greatest = release.mu * (1 - release.slack), release.mu * (1 + release.slack)
            underflow = SMALLEST if greatest > 0 else 0.0
            return a * least * least / 2 * (1 - 8 * UNIT), a * greatest * greatest / 2 * (1 + 8 * UNIT) + underflow
        case Laplace():
            return _of_laplace(release.loss * (1 - release.slack), a)[0], _of_laplace(release.loss, a)[1]
        case RandomizedResponse():
            least, symbols = release.loss * (1 - release.slack), release.symbols
            return _of_response(least, symbols, a)[0], _of_response(release.loss, symbols, a)[1]
        case Approximate():
            return _of_response(release.loss, 2, a) if release.delta == 0 else (np.inf, np.inf)
        case DiscreteGaussian():
            return _of_discrete_gaussian(release, a)
        case DiscreteLaplace():
            return _of_discrete_laplace(release, a)
        case RenyiBound():  # a divergence rises with its order
            table = zip(release.orders, release.divergences, strict=True)
            return 0.0, min((bound for order, bound in table if order >= a), default=np.inf)
        case FixedSizeSampled():  # convex in the pair, so no more than the release on one sample shows
            upper = min(_of_curve(release, a, reverse=False)[1], _of(release.release, a)[0][1])
            return min(_of(Subsampled(release.release, release.p), a)[0][0], upper), upper
    return None


def _of_laplace(eps: float, a: float) -> Ends:
    terms = np.array([np.log(a) + (a - 1) * eps, np.log(a - 1) - a * eps]) - np.log(2 * a - 1)
    return _logarithm(terms, 3 + abs(np.log(a)) + abs(np.log(a - 1)) + np.log(2 * a) + a * eps, a)


def _of_response(eps: float, symbols: int, a: float) -> Ends:
    others = symbols - 1
    log_q = -np.logaddexp(eps, np.log(others))
    terms = np.array([a * eps, (1 - a) * eps, np.log(others - 1) if others > 1 else -np.inf]) + log_q
    return _logarithm(terms, 3 + 2 * a * eps + 2 * abs(log_q) + np.log(others), a)


def _of_laws(p: FloatArray, q: FloatArray, a: float, doubt: float) -> Ends:
    """The divergence of a pair of finite laws, given by their logarithms; `doubt` bounds the error of each probability."""
    possible = p > -np.inf
    if np.any(q[possible] == -np.inf):
        return np.inf, np.inf
    terms = a * p[possible] + (1 - a) * q[possible]
    low, high = _logarithm(terms, 3 + a * float(np.max(np.abs(p[possible]))) + a * float(np.max(np.abs(q[possible]))), a)
    room = 2.1 * a * doubt / (a - 1)
    return max(low - room, 0.0), high + room


def _of_discrete_gaussian(release: DiscreteGaussian, a: float) -> Ends:
    mu = release.sensitivity / release.sigma
    whole = a * mu * mu / 2
    lost = (0.0, 1e-300)
    if release.sigma <= _REACH / 4:  # beyond, Theta varies by less than 4 exp(-2 pi^2 sigma^2), relative to itself
        places = np.arange(-np.ceil(_REACH * release.sigma) - 1, np.ceil(_REACH * release.sigma) + 2)

        def log_theta(c: float) -> float:
            return float(np.logaddexp.reduce(-(((places - c) / release.sigma) ** 2) / 2))

        # Theta falls from an integer to the middle between two; the place of a s errs by a unit of a s
        place, error = a * release.sensitivity % 1.0, 4 * UNIT * a * release.sensitivity
        away = min(place, 1 - place)
        drops = (log_theta(0.0) - log_theta(each) for each in (max(away - error, 0.0), min(away + error, 0.5)))
        lost = (max(next(drops) * (1 - 1e-12) - 1e-12, 0.0), next(drops) * (1 + 1e-12) + 1e-12)
    least, greatest = whole * (1 - 8 * UNIT), whole * (1 + 8 * UNIT) + SMALLEST
    return max(least - lost[1] / (a - 1), 0.0), max(greatest - lost[0] / (a - 1), 0.0)


def _of_discrete_laplace(release: DiscreteLaplace, a: float) -> Ends:
    s, b = release.sensitivity, release.scale
    growth = (2 * a - 1) / b
    terms, size = [-a * s / b, (a - 1) * s / b], 3 + (2 * a + 1) * (s / b + 1 / b)
    if s > 1:
        # log((1 - r) (1 - e^(-growth (s-1))) / (1 - e^(-growth))): both differences may be small, their ratio is at most s - 1
        logs = [math.log(-math.expm1(-each)) for each in (1 / b, growth * (s - 1), growth)]
        terms.append(logs[0] + logs[1] - logs[2] + growth * (s - 1) - a * s / b)
        size += growth * s + sum(map(abs, logs))
    low, high = _logarithm(np.array(terms) - math.log1p(math.exp(-1 / b)), size, a)
    if (a - 1) * high < _FAINT:  # the sum is near 1: its curve tells more
        of_curve = _of_curve(release, a, reverse=False)
        return max(low, of_curve[0]), min(high, of_curve[1])
    return low, high


def _of_subsampled(mu: float, p: float, a: float) -> Ends:
    """The divergence of a Gaussian that is used with probability p, against none."""
    if p in (0.0, 1.0) or mu in (0.0, np.inf):
        value = a * mu * mu / 2 if p else 0.0
        return value * (1 - 4 * UNIT), value * (1 + 4 * UNIT)
    # a step with exp(d^2/2 - 2 pi d/h) < 1e-33, for d below pi/mu
    width = min(3.0, 3.1 / mu)
    step = 2 * np.pi * width / (76 + width * width / 2)
    first, last = int(np.floor(-_REACH / step)), int(np.ceil(min((_REACH + a * mu) / step, 1e15)))
    if last - first > _MOST_POINTS:  # g is at least its second term, and less is shown than without a sample
        whole = a * mu * mu / 2 * (1 + 4 * UNIT)
        return max(whole * (1 - 8 * UNIT) + a / (a - 1) * np.log(p) * (1 + 8 * UNIT), 0.0), whole
    x = np.arange(first, last + 1) * step
    exponent: FloatArray = np.asarray(mu * x - mu * mu / 2, dtype=np.float64)
    log_g: FloatArray = np.where(exponent < 1, np.log1p(p * np.expm1(np.minimum(exponent, 1.0))), 0.0)
    log_g = np.where(exponent < 1, log_g, np.logaddexp(np.log1p(-p), np.log(p) + exponent))
    log_weight: FloatArray = -x * x / 2 + math.log(step / math.sqrt(2 * math.pi))
    terms = a * log_g + log_weight
    top = float(np.max(terms))
    value = top + float(np.log(np.sum(np.exp(terms - top))))
    # the terms at both ends bound what is left out
    outside = 2 * float(np.exp(max(terms[0], terms[-1]) - value)) / -float(np.expm1(-_REACH * step))
    size = 64 + float(np.max((a * (np.abs(log_g) + np.abs(exponent)) + x * x)[terms > top - 60]))
    room = 16 * UNIT * size + 2 * outside + 1e-30
    low, high = float(value - room), float(value + room)
    if high < _SMALL:
        low, high = _small(a, p, exponent, log_g, log_weight, outside)
    return max(low, 0.0) / (a - 1) * (1 - 4 * UNIT), max(high, 0.0) / (a - 1) * (1 + 4 * UNIT)


def _small(
    a: float, p: float, exponent: FloatArray, log_g: FloatArray, log_weight: FloatArray, outside: float
) -> Ends:
    """log E g^a where it is near 0, from the mean of g^a - 1 - a (g - 1) >= 0: E g = 1.

    The rule errs by 1e-33 times the means of g^a and of 1 + a |g - 1| in the strip. The error of each term is bounded beside it.
    """
    log_power, weight = a * log_g, np.exp(log_weight)
    near = np.abs(log_power) < 1
    power = np.expm1(np.where(near, log_power, 0.0)) * weight
    # (g - 1) times the weight: a great ratio is far out, where the weight is small
    gain = p * np.where(exponent < 1, np.expm1(np.minimum(exponent, 1.0)) * weight, np.exp(exponent + log_weight) - weight)
    far = np.exp(log_power + log_weight)
    excess = np.where(near, power - a * gain, far - weight - a * gain)
    # what cancels, and the errors of log g and of the weight
    cancelled = np.where(near, np.abs(power), far + weight) + a * np.abs(gain)
    shifted = (1 + np.abs(exponent) + log_weight**2) * np.abs(excess)
    error = 32 * UNIT * float(np.sum(cancelled + shifted)) + 2 * outside + (2 + 2 * a) * 1e-30
    mean = float(np.sum(excess))
    return float(np.log1p(max(mean - error, 0.0))), float(np.log1p(mean + error))


@functools.lru_cache(maxsize=16)
def _sampled(release: Mechanism) -> tuple[FloatArray, BracketArrays, BracketArrays]:
    """Epsilons from 0 to where a curve vanishes, or nearly so, and infinity; the bounds of both orders' curves there."""
    top = max(release.greatest_loss(reverse=order) for order in (False, True))
    reach = top
    if top == np.inf:
        candidates = np.geomspace(1e-12, 1e6, 400)
        upper = np.max([release.delta_bracket(candidates, reverse=order)[1] for order in (False, True)], axis=0)
        reach = float(candidates[int(np.argmax(upper < _LEAST))]) if np.any(upper < _LEAST) else 1e6
    # half of the points are equally spaced, half of them closer and closer to 0
    close = np.geomspace(max(reach * 1e-9, SMALLEST), reach, _NODES)
    eps = np.unique(np.concatenate([np.linspace(0, reach, _NODES), close, [np.inf]]))
    return eps, release.delta_bracket(eps), release.delta_bracket(eps, reverse=True)


def _of_curve(release: Mechanism, a: float, *, reverse: bool) -> Ends:
    """The divergence of one order from the curves of both."""
    top = max(release.greatest_loss(reverse=reverse), release.greatest_loss(reverse=not reverse))
    if top == 0:
        return 0.0, 0.0
    eps, *curves = _sampled(release)
    of_order, of_opposite = curves[::-1] if reverse else curves
    if of_order[0][-1] > 0:
        return np.inf, np.inf
    if of_order[1][0] == 0:
        return 0.0, 0.0
    eps, reach = eps[:-1], float(eps[-2])
    of_order, of_opposite = ((low[:-1], high[:-1]) for low, high in (of_order, of_opposite))
    factor = np.log(a) + np.log(a - 1)
    lower, higher = (
        factor
        + float(np.logaddexp(_log_integral(eps, of_order, a - 1, upper=upper), _log_integral(eps, of_opposite, -a, upper=upper)))
        for upper in (False, True)
    )
    beyond = -np.inf
    if top == np.inf:
        beyond = min(_log_beyond(a, reach, *line) for line in release.renyi_lines)
        beyond = np.logaddexp(beyond, np.log(a - 1) - a * reach + np.log(of_opposite[1][-1]) + 32 * UNIT * (64 + a * reach))
    room = UNIT * (4 * eps.size + 2000 + 16 * a * reach)
    low = np.logaddexp(0.0, lower - room)
    high = np.logaddexp.reduce([0.0, higher + room, beyond])
    # where exponentials leave the doubles nothing is known
    low, high = (0.0 if np.isnan(low) else float(low)), (np.inf if np.isnan(high) else float(high))
    return low / (a - 1) * (1 - 8 * UNIT), high / (a - 1) * (1 + 8 * UNIT)


def _log_beyond(a: float, reach: float, mu: float, shift: float) -> float:
    """The logarithm of a(a - 1) times the integral beyond `reach`, where the divergence of any order b is at most
    b mu^2/2 + shift."""
    b = (reach - shift) / mu / mu + 0.5 if 0 < mu < np.inf else np.inf * mu
    if not a < b < np.inf:
        return np.inf if mu else -np.inf
    of_order, fallen = (b - 1) * (b * mu * mu / 2 + shift), (b - a) * reach
    log_factor = math.log(a) + math.log(a - 1) - math.log(b - a)
    return of_order - fallen + log_factor + 32 * UNIT * (64 + of_order + fallen + abs(log_factor))


def _log_integral(eps: FloatArray, ends: BracketArrays, power: float, *, upper: bool) -> float:
    """The logarithm of the integral of exp(power epsilon) delta, from above by chords, from below by lines from the right."""
    lower, higher = ends
    h = np.diff(eps)
    if upper:
        left, right = higher[:-1], higher[1:]
    else:  # the line through the two points on the right of a cell, no steeper than the curve
        rise = np.append(np.maximum(lower[1:-1] - higher[2:], 0.0) * np.expm1(h[:-1]) / np.expm1(h[1:]) * np.exp(-h[:-1]), 0.0)
        right = lower[1:]
        left = right + rise
    # x = exp(epsilon - left end): the integral of x^(power - 1) (right + (left - right) (e^h - x) / (e^h - 1)) over [1, e^h],
    # each divided by the greatest x^power
    log_most = max(power, 0.0) * h
    flat = -np.expm1(-abs(power) * h) / abs(power)
    if power > 0:
        fallen = np.exp(-power * h) * power * -np.expm1(-h)
        share = (-np.expm1(-power * h) - fallen) / (power * (power + 1)) / -np.expm1(-h)
    else:
        rest = -power - 1
        share = (rest + np.expm1(-rest * h) / np.expm1(h)) / (-power * rest)
    # in a short cell the difference cancels: eight Gauss nodes
    short = (abs(power) + 1) * h < 1
    at = h[short][:, None] * (_GAUSS_NODES + 1) / 2
    left_share = np.expm1(h[short][:, None] - at) * np.exp(at) / np.expm1(h[short])[:, None]
    share[short] = h[short] / 2 * ((left_share * np.exp(power * at - log_most[short][:, None])) @ _GAUSS_WEIGHTS)
    cells = right * flat + (left - right) * share
    with np.errstate(divide="ignore"):
        logs = power * eps[:-1] + log_most + np.log(np.maximum(cells, 0.0))
        top = float(np.max(logs))
        return top + float(np.log(np.sum(np.exp(logs - top)))) if np.isfinite(top) else top


def _logarithm(terms: FloatArray, size: float, a: float) -> Ends:
    """The logarithm of a sum of exponentials over a - 1, to both sides; `size` bounds the summands of every term."""
    top = float(np.max(terms))
    if not np.isfinite(top):
        return np.inf, np.inf
    value = top + float(np.log(np.sum(np.exp(terms - top))))
    room = 64 * UNIT * (size + terms.size)
    return max((value - room) / (a - 1) * (1 - 4 * UNIT), 0.0), max((value + room) / (a - 1) * (1 + 4 * UNIT), 0.0)
