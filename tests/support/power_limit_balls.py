r"""The exact MSE under a peak-power limit in ball arithmetic: noncentral chi-square laws as Poisson mixtures.

:mod:`airtight.analytics.inference.power_limit` integrates over length and angle. Here the law of the squared length is a
mixture of central chi-square laws, whose truncated moments are incomplete gamma functions.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, isqrt

import flint
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.forms.balls.ball import Ball, Number, ball
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem
from support.precision import settled

_MOST_MEAN = 20_000  # mean of the Poisson law up to which its terms are added up; beyond it the density is integrated


def shortened(
    sigma: Number, length: Number, reach: Number, dimension: int, *, digits: int = 15
) -> tuple[Ball, Ball, Ball]:
    r"""The factor on the mean of a shortened signal, and its variances across and along its direction.

    Parameters
    ----------
    sigma, length, reach : number
        :math:`\sigma \ge 0, s \ge 0, R \ge 0`: the signal is :math:`\tilde z \sim N(su, \sigma^2I_r)`, what arrives is
        :math:`y = \min(1, R/\|\tilde z\|)\,\tilde z`.
    dimension : int
        r.

    Notes
    -----
    Let :math:`a = s/\sigma`, :math:`x = R^2/2\sigma^2`, :math:`E_\nu` the expectation over :math:`X \sim \chi^2_\nu(a^2)`,
    and :math:`c = \min(1, R/\sigma\sqrt X)`. By rotation about u, and because an expectation of :math:`\tilde z\,c` is the
    mean times that of c in r + 2 dimensions, the three numbers are

    .. math:: E_{r+2}[c],\quad \sigma^2E_{r+2}[c^2],\quad
              \sigma^2\bigl(E_r[c^2X] - (r-1)E_{r+2}[c^2] - a^2E_{r+2}[c]^2\bigr),

    the last because :math:`E\|y\|^2 = \sigma^2E_r[c^2X]` is the sum of all mean squares.

    *Series.* Given :math:`J \sim` Poisson(:math:`a^2/2`), X is :math:`\chi^2_{\nu+2J}`. With Q, P the regularised upper and
    lower incomplete gamma functions, for :math:`\chi^2_\nu`

    .. math:: E[c] = P(\tfrac\nu2, x) + \sqrt x\,\tfrac{\Gamma((\nu-1)/2)}{\Gamma(\nu/2)}Q(\tfrac{\nu-1}2, x),\quad
              E[c^2] = P(\tfrac\nu2, x) + \tfrac{x}{\nu/2-1}Q(\tfrac\nu2-1, x),\quad
              E[c^2X] = \nu P(\tfrac\nu2+1, x) + 2xQ(\tfrac\nu2, x).

    The first two lie in [0, 1], the third in [0, 2x]; so the terms left out add at most 1, 1 and 2x times the
    probability that the terms added lack.

    *Integral.* For :math:`a^2/2` above 20 000 the density of the length n (in deviations),
    :math:`n^{r/2}a^{1-r/2}I_{r/2-1}(an)e^{-(n^2+a^2)/2}`, is integrated rigorously over :math:`|n - a| \le T`, in two parts
    if :math:`R/\sigma` is inside. By the triangle inequality :math:`|n - a|` exceeds T with probability at most
    :math:`\Pr(\chi^2_\nu > T^2)`, which bounds the rest as above.

    Examples
    --------
    >>> shrink, across, along = shortened(1, 0, 1000, 3)  # nothing is shortened
    >>> [round(float(x.mid()), 12) for x in (shrink, across, along)]
    [1.0, 1.0, 1.0]
    """
    deviation, s, R = ball(sigma), ball(length), ball(reach)
    if R == 0:
        return ball(0), ball(0), ball(0)
    if deviation == 0:
        return (R / s).min(ball(1)) if s > 0 else ball(1), ball(0), ball(0)

    def number(which: int) -> Ball:
        def compute() -> Ball:
            a, rho = s / deviation, R / deviation
            c, square, energy = _moments(a, rho, dimension)
            along = energy - (dimension - 1) * square - a * a * c * c
            return (c, deviation**2 * square, deviation**2 * along)[which]

        return settled(compute, digits=digits)

    return number(0), number(1), number(2)


def _moments(a: Ball, rho: Ball, dimension: int) -> tuple[Ball, Ball, Ball]:
    """E_{r+2}[c], E_{r+2}[c^2] and E_r[c^2 X], see :func:`shortened`."""
    if a * a / 2 < _MOST_MEAN:
        return _series(a * a / 2, rho * rho / 2, dimension)
    one, top = flint.arb(1), rho * rho

    def ratio(n: flint.acb) -> flint.acb:
        return rho / n

    inside = _expectation(a, rho, dimension + 2, lambda n: flint.acb(1), ratio, one)
    square = _expectation(a, rho, dimension + 2, lambda n: flint.acb(1), lambda n: ratio(n) ** 2, one)
    energy = _expectation(a, rho, dimension, lambda n: n * n, lambda n: flint.acb(top), top)
    return inside, square, energy


def _series(mean: Ball, x: Ball, dimension: int) -> tuple[Ball, Ball, Ball]:
    """The three moments as Poisson mixtures."""
    middle, room = int(float(mean.mid())), int(flint.ctx.prec)
    reach = isqrt(2 * middle * room) + 2 * room + 8
    first, last = max(middle - reach, 0), middle + reach
    log_mean = mean.log() if mean > 0 else flint.arb(0)
    weight = (first * log_mean - mean - (flint.arb(first) + 1).lgamma()).exp() if first or mean > 0 else flint.arb(1)
    half = flint.arb(dimension) / 2 + first  # nu/2 of E_r at J = first; that of E_{r+2} is greater by 1
    root = x.sqrt()
    whole, step = _upper(half, x), _step(half, x)
    odd, odd_step = _upper(half + flint.arb(1) / 2, x), _step(half + flint.arb(1) / 2, x)
    quotient = ((half + flint.arb(1) / 2).lgamma() - (half + 1).lgamma()).exp()
    mass = total_c = total_square = total_energy = flint.arb(0)
    for j in range(first, last + 1):
        above = whole + step  # Q(nu/2 + 1, x)
        c = 1 - above + root * quotient * odd
        square = 1 - above + x / half * whole
        energy = 2 * half * (1 - above) + 2 * x * whole
        mass, total_c = mass + weight, total_c + weight * c
        total_square, total_energy = total_square + weight * square, total_energy + weight * energy
        weight = weight * mean / (j + 1)
        whole, odd = above, odd + odd_step
        step, odd_step = step * x / (half + 1), odd_step * x / (half + flint.arb(3) / 2)
        quotient = quotient * (half + flint.arb(1) / 2) / (half + 1)
        half += 1
    left = (1 - mass).union(flint.arb(0)).max(flint.arb(0))
    return total_c + left, total_square + left, total_energy + 2 * x * left


def _upper(shape: Ball, x: Ball) -> Ball:
    """Q(a, x)."""
    return x.gamma_upper(shape, regularized=1)


def _step(shape: Ball, x: Ball) -> Ball:
    """x^a e^-x / Gamma(a + 1)."""
    return (shape * x.log() - x - (shape + 1).lgamma()).exp()


def _expectation(
    a: Ball,
    rho: Ball,
    degrees: int,
    before: Callable[[flint.acb], flint.acb],
    beyond: Callable[[flint.acb], flint.acb],
    greatest: Ball,
) -> Ball:
    """Expectation of a function of the length, given left and right of rho; it lies between 0 and `greatest`."""
    order, shape = flint.arb(degrees) / 2 - 1, flint.arb(degrees) / 2
    tail = ceil((2 * 0.7 * int(flint.ctx.prec)) ** 0.5 + 2 * degrees**0.5 + 4)
    scale = (a.log() * (1 - shape)).exp()

    def density(n: flint.acb) -> flint.acb:
        if not n.real > 0:
            return flint.acb(flint.arb.nan())
        return scale * n**shape * (n * a).bessel_i(order, scaled=True) * (-((n - a) ** 2) / 2).exp()

    low, high = (a - tail).mid(), (a + tail).mid()
    edge = rho.max(low).min(high)
    total = flint.acb(0)
    for start, end, function in ((low, edge, before), (edge, high, beyond)):
        if not end <= start:
            pieces = max(1, floor(float((end - start).mid())))
            width = (end - start) / pieces
            for i in range(pieces):
                total += flint.acb.integral(
                    lambda n, _, of=function: of(n) * density(n), start + i * width, start + (i + 1) * width
                )
    missed = _upper(shape, flint.arb(tail) ** 2 / 2)
    return total.real + greatest * missed.union(flint.arb(0))


def mse(system: InferenceSystem, features: Features, *, gain: ArrayLike, power: ArrayLike, digits: int = 15) -> Ball:
    r"""Enclosure of the total of :func:`airtight.analytics.inference.power_limit.exact_mse`, without idle noise.

    Notes
    -----
    Every float is the number that it exactly is. Given who takes part, the received vector is a sum of independent
    :math:`y_k` and the receiver's noise. With mean :math:`m_k = E_{r+2}[c]\,w_kz_k` and covariance
    :math:`C_k = v_\perp I + (v_\parallel - v_\perp)uu^T` of :math:`y_k`, the MSE is

    .. math:: \Bigl\|D\sum_kp_km_k - f^*\Bigr\|^2 + \sum_kp_k(1-p_k)\|Dm_k\|^2 + \sum_kp_k\operatorname{tr}DC_kD^T
              + \tfrac{\sigma_m^2}{\gamma^2}\|D\|_F^2 .

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> round(float(mse(*_lossless(), gain=1.0, power=1e6).mid()), 9)
    0.725
    """
    matched(system, features)
    h = checks.vector("gain", gain, system.devices, "[0, inf)")
    P = checks.vector("power", power, system.devices, "(0, inf)")
    return settled(lambda: _mse(system, features, h, P), digits=digits)


def _mse(system: InferenceSystem, features: Features, h: FloatArray, P: FloatArray) -> Ball:
    K, d = features.f.shape
    decoder = flint.arb_mat(features.D.tolist()) * ball(system.decoder_gain)
    energy = _square(decoder.entries())
    mean, rest = [flint.arb(0)] * d, flint.arb(0)
    target = [sum((ball(float(x)) for x in column), flint.arb(0)) / K for column in features.f.T]
    for k in range(K):
        p = ball(float(system.participation[k]))
        encoder = features.W if features.W.ndim == 2 else features.W[k]
        code = flint.arb_mat(encoder.tolist()) * flint.arb_mat([[x] for x in features.f[k].tolist()])
        norm, clip = _square(code.entries()).sqrt(), ball(float(system.clip[k]))
        shrink = (clip / norm).min(flint.arb(1)) if not norm <= clip else flint.arb(1)
        signal = code * (shrink * ball(float(system.weight[k])))
        length = _square(signal.entries()).sqrt()
        reach = ball(float(h[k])) * ball(float(P[k])).sqrt() / ball(float(system.alignment))
        deviation = ball(float(system.noise_variance[k])).sqrt()
        factor, across, along = _numbers(deviation, length, reach, system.dimension)
        sent = [factor * x for x in (decoder * signal).entries()]
        mean = [a + p * b for a, b in zip(mean, sent, strict=True)]
        rest += p * (1 - p) * _square(sent) + p * across * energy
        if length != 0:
            rest += p * (along - across) * _square((decoder * signal).entries()) / length**2
    floor_variance = ball(float(system.receiver_noise_variance)) / ball(float(system.alignment)) ** 2
    return _square([a - b for a, b in zip(mean, target, strict=True)]) + rest + floor_variance * energy


def _numbers(deviation: Ball, length: Ball, reach: Ball, dimension: int) -> tuple[Ball, Ball, Ball]:
    """The three numbers of :func:`shortened` at the working precision."""
    if reach == 0:
        return flint.arb(0), flint.arb(0), flint.arb(0)
    if deviation == 0:
        return (reach / length).min(flint.arb(1)) if length > 0 else flint.arb(1), flint.arb(0), flint.arb(0)
    a = length / deviation
    c, square, energy = _moments(a, reach / deviation, dimension)
    return c, deviation**2 * square, deviation**2 * (energy - (dimension - 1) * square - a * a * c * c)


def _square(values: list[Ball]) -> Ball:
    """Of the norm."""
    return sum((x * x for x in values), flint.arb(0))
