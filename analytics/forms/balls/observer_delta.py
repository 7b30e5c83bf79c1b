r"""Enclosures of the divergence of a hidden device: the axis is integrated, the norm across is in closed form.

This module integrates in the other order than :mod:`.hidden_divergence`. In units in
which the device's components have variance 1, with :math:`\eta = s/v`, means n > f, :math:`\lambda = e^\epsilon`,
:math:`c = (\lambda-1)(1-p)/p` and a = (r-1)/2, the point x of the axis belongs to the best set where half the squared
norm across exceeds

.. math:: t(x) = \frac1\eta\Bigl[\log c + \tfrac r2\log(1+\eta)
          - \log\bigl(e^{nx-n^2/2}-\lambda e^{fx-f^2/2}\bigr)\Bigr] - \frac{x^2}2 ,

which falls in x from infinity at :math:`x_0 = \epsilon/(n-f) + (n+f)/2`. With Q the regularised upper incomplete gamma
function and :math:`x_1` the zero of t,

.. math:: D &= p\int_{x_0}^{x_1}\!\bigl[\varphi(x-n)-\lambda\varphi(x-f)\bigr]Q(a,t)
          - c\sqrt{1+\eta}\,\varphi(x\sqrt{1+\eta})\,Q(a,(1+\eta)t)\,dx \\
          &\quad + p\bigl[\bar\Phi(x_1-n)-\lambda\bar\Phi(x_1-f)-c\bar\Phi(x_1\sqrt{1+\eta})\bigr].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import prod

import flint

from airtight.analytics.forms.balls.amplified_delta import theorem1_epsilon
from airtight.analytics.forms.balls.ball import Ball, Number, ball, refine
from airtight.analytics.forms.balls.gaussian_divergence import curve, upper_tail

_MOST_PIECES = 400
_MOST_VALUES = 8000  # evaluations of the integrand in a piece; where they do not suffice the ball is the whole line
_SETTLED = 33  # bits of the value that count as settled: ten digits
_MOST_BITS = 384  # bits; a quadrature that has not settled at this precision is given up


@dataclass(frozen=True)
class _Axis:
    """The problem in the units of the module's notes."""

    near: Ball
    far: Ball
    odds: Ball
    common: Ball
    eta: Ball
    dimension: int

    @classmethod
    def of(
        cls, eps: Ball, p: Ball, distance: Ball, variance: Ball, noise: Ball, dimension: int, replace: bool
    ) -> _Axis:
        """Convert from the units of the signal."""
        m, odds = distance / (variance + noise).sqrt(), eps.exp()
        near, far = (m / 2, -m / 2) if replace else (m, flint.arb(0))
        return cls(near, far, odds, (odds - 1) * (1 - p) / p, noise / variance, dimension)

    def start(self, epsilon: Ball) -> Ball:
        """x_0."""
        return epsilon / (self.near - self.far) + (self.near + self.far) / 2

    def gain(self, x: flint.acb) -> flint.acb:
        """The device's two components over the density of a standard normal variable."""
        n, f = self.near, self.far
        return (n * x - n * n / 2).exp() - self.odds * (f * x - f * f / 2).exp()

    def edge(self, x: flint.acb, gain: flint.acb | None = None) -> flint.acb:
        """t(x); where the device adds no noise, a number with the sign of t."""
        excess = self.common.log() - (self.gain(x) if gain is None else gain).log()
        if self.eta == 0:
            return excess
        return (excess + (1 + self.eta).log() * self.dimension / 2) / self.eta - x * x / 2

    def inside(self, x: flint.acb) -> flint.acb:
        """The integrand on the part of the axis left of x_1."""
        gain = self.gain(x)
        if not gain.real > 0:
            return flint.acb(flint.arb.nan())  # next to the branch of the logarithm
        t = self.edge(x, gain)
        if not t.real > 0:
            return flint.acb(flint.arb.nan())
        root, a = (1 + self.eta).sqrt(), flint.acb(self.dimension - 1) / 2
        signal = _density(x - self.near) - self.odds * _density(x - self.far)
        absent = self.common * root * _density(x * root)
        return signal * t.gamma_upper(a, regularized=1) - absent * (t * (1 + self.eta)).gamma_upper(a, regularized=1)

    def parts(self, x: Ball) -> tuple[Ball, Ball]:
        """Integrals over the axis right of x and all norms across: of the device's two components, and of the common one."""
        root = (1 + self.eta).sqrt()
        return upper_tail(x - self.near) - self.odds * upper_tail(x - self.far), self.common * upper_tail(x * root)

    def beyond(self, x: Ball) -> Ball:
        """Contribution to D/p of the half-space right of x_1."""
        signal, absent = self.parts(x)
        return signal - absent

    def most(self, x: Ball) -> Ball:
        """An upper bound of the integrand right of x: the greatest density there of the component with mean `near`."""
        return _density(flint.acb((x - self.near).max(flint.arb(0)))).real

    def zero(self, start: Ball) -> tuple[Ball, Ball]:
        """Exact points left and right of x_1, as near as the precision allows."""
        low, width = start.upper(), flint.arb(1)
        while not self._edge(low + width) < 0:
            width *= 2
        high = (low + width).mid()
        for _ in range(2 * flint.ctx.prec):
            middle = ((low + high) / 2).mid()
            sign = self._edge(middle)
            if sign > 0:
                low = middle
            elif sign < 0:
                high = middle
            else:
                break
        return low, high

    def _edge(self, x: Ball) -> Ball:
        """t at a real point; positive where the gain is not."""
        gain = self.gain(flint.acb(x)).real
        return self.edge(flint.acb(x)).real if gain > 0 else flint.arb(1)


def hidden(
    epsilon: Number | Ball,
    *,
    p: Number,
    distance: Number,
    variance: Number | Ball,
    noise: Number | Ball,
    dimension: int,
    replace: bool = False,
    digits: int = 12,
) -> Ball:
    r"""Enclosure of :math:`D_\lambda(P\|Q)` given the others' noise, see
    :func:`.hidden_divergence.log_curve`.

    Parameters
    ----------
    epsilon : number or ball
        At least 0.
    p : number
        In (0, 1].
    distance, variance, noise : number
        d > 0, v > 0 and s >= 0 of that module's notes.
    dimension : int
        r >= 1.
    replace : bool
        Means :math:`\pm d/2`, or 0 and d.
    digits : int
        Significant digits that are requested.

    Returns
    -------
    Ball
        The whole line where the rigorous quadrature does not settle.

    Examples
    --------
    >>> from airtight.analytics.forms.balls.ball import ends
    >>> ends(hidden("1/2", p="1/2", distance="1/2", variance=1, noise=3, dimension=2))
    (0.00135105397631..., 0.00135105397631...)
    """

    def settled(axis: _Axis, start: Ball, low: Ball, high: Ball) -> Ball:
        total = flint.arb(0).union((high - low) * axis.most(low))
        if dimension > 1 and axis.eta > 0:
            total += _integral(axis, start, low)
        return total

    return _of_axis(
        settled,
        epsilon,
        p=p,
        distance=distance,
        variance=variance,
        noise=noise,
        dimension=dimension,
        replace=replace,
        digits=digits,
        bits=96,
    )


def hidden_at_least(
    epsilon: Number | Ball,
    *,
    p: Number,
    distance: Number,
    variance: Number | Ball,
    noise: Number | Ball,
    dimension: int,
    replace: bool = False,
    steps: int = 256,
) -> Ball:
    r"""Enclosure of the value of one set, which is a lower bound of :func:`hidden`; fast in any dimension.

    Notes
    -----
    The set is a staircase: between two neighbouring points of the axis, half the squared norm exceeds t at their midpoint.
    Its probabilities are products of normal and gamma tails. Its value is below the supremum by a share of some
    1/`steps`:sup:`2`.

    Examples
    --------
    >>> given = {"p": "1/2", "distance": "1/2", "variance": 1, "noise": 3, "dimension": 2}
    >>> float(1 - hidden_at_least("1/2", **given) / hidden("1/2", **given)) < 1e-4
    True
    """

    def staircase(axis: _Axis, start: Ball, low: Ball, high: Ball) -> Ball:
        total = flint.arb(0)
        if dimension == 1 or axis.eta == 0:
            return total
        a, left = ball(dimension - 1) / 2, start.upper()
        ends = [(left + (low - left) * i / steps).mid() for i in range(steps + 1)]
        values = [axis.parts(x) for x in ends]
        for (one, two), before, after in zip(pairwise(ends), values[:-1], values[1:], strict=True):
            t = axis.edge(flint.acb((one + two) / 2)).real.mid()
            signal, absent = (x - y for x, y in zip(before, after, strict=True))
            tails = (t.gamma_upper(a, regularized=1), (t * (1 + axis.eta)).gamma_upper(a, regularized=1))
            total += (signal * tails[0] - absent * tails[1]).max(flint.arb(0))
        return total

    return _of_axis(
        staircase,
        epsilon,
        p=p,
        distance=distance,
        variance=variance,
        noise=noise,
        dimension=dimension,
        replace=replace,
        digits=6,
        bits=64,
    )


def _of_axis(
    inner: Callable[[_Axis, Ball, Ball, Ball], Ball],
    epsilon: Number | Ball,
    *,
    p: Number,
    distance: Number,
    variance: Number | Ball,
    noise: Number | Ball,
    dimension: int,
    replace: bool,
    digits: int,
    bits: int,
) -> Ball:
    """p times the sum of two integrals: `inner` from x_0 to the upper end of x_1, and the closed form beyond it.

    Where p = 1 or epsilon = 0 the divergence is p times that of the Gaussian mechanism.
    """
    chance = ball(p)

    def compute() -> Ball:
        eps = ball(epsilon)
        if chance == 1 or eps == 0:
            return chance * curve(epsilon, distance, ball(variance) + ball(noise))
        if not eps > 0:
            return flint.arb.nan()
        axis = _Axis.of(eps, chance, ball(distance), ball(variance), ball(noise), dimension, replace)
        start = axis.start(eps)
        low, high = axis.zero(start)
        return chance * (axis.beyond(high) + inner(axis, start, low, high))

    return refine(compute, digits=digits, bits=bits, most=_MOST_BITS)


def _integral(axis: _Axis, start: Ball, end: Ball) -> Ball:
    """The integral from x_0 to `end` in pieces that shrink towards x_0; the rest next to x_0 lies between 0 and a bound."""
    a, tolerance = ball(axis.dimension - 1) / 2, flint.arb(2) ** (-flint.ctx.prec // 2)
    total, high, left = flint.acb(0), end, (end - start) * axis.most(start)
    for _ in range(_MOST_PIECES):
        if not axis.gain(flint.acb(high)).real > 0:
            break  # x_0 and `high` cannot be distinguished at this precision
        t = axis.edge(flint.acb(high)).real
        left = (high - start) * axis.most(start) * t.gamma_upper(a, regularized=1)
        low = (start + (high - start) / 4).mid()
        if left < abs(total.real) * tolerance or not low > start:
            break
        total += flint.acb.integral(
            lambda x, _: axis.inside(x),
            low,
            high,
            rel_tol=tolerance,
            abs_tol=tolerance * abs(total),
            eval_limit=_MOST_VALUES,
        )
        if not total.is_finite():
            break
        high = low
    return total.real + flint.arb(0).union(left.upper())


def _density(x: flint.acb) -> flint.acb:
    return (-x * x / 2).exp() / (2 * flint.arb.pi()).sqrt()


def theorem1(
    *,
    devices: Fraction,
    p: Fraction,
    variance: Fraction,
    receiver: Fraction,
    signal: Fraction,
    dimension: Fraction,
    delta: Fraction,
    delta_prime: Fraction,
    form: str,
    score_epsilon: Fraction = Fraction(0),
    score_delta: Fraction = Fraction(0),
) -> tuple[Ball, Ball]:
    """The delta of FDP Theorem 1 for a hidden device among others that always take part, and a lower bound of the true one.

    With the guarantee of the score added to both, those of Lemma 2.

    As :func:`airtight.analytics.forms.balls.amplified_delta.theorem1`; the neighbour keeps its noise, and gamma = 1. Since
    the others' noise is constant, all observers of y who do not see the participation of the device have the same
    information.
    """
    epsilon = theorem1_epsilon(
        devices=devices,
        p=p,
        variance=variance,
        alignment=Fraction(1),
        signal=signal,
        delta=delta,
        delta_prime=delta_prime,
        form=form,
    )
    if not epsilon.is_finite():
        return flint.arb.nan(), flint.arb.nan()
    others = (devices - 1) * variance + receiver
    epsilon += ball(score_epsilon)
    actual = hidden_at_least(epsilon, p=p, distance=signal, variance=others, noise=variance, dimension=int(dimension))
    return ball(score_delta + delta_prime + p * delta / (1 - delta_prime)), actual


def others_by_enumeration(
    *,
    devices: int,
    p: float,
    variance: float,
    spread: float,
    signal: float,
    dimension: int,
    replace: int,
    epsilon: float,
) -> float:
    """delta(epsilon) of a hidden device 0 over all sets of the others; receiver noise 1/2, sigma_j^2 = variance (1 + spread j).

    nan where the balls do not settle.
    """
    own = [ball(variance) * (1 + ball(spread) * j) for j in range(devices)]
    taken, total = ball(p), flint.arb(0)
    for chosen in product((0, 1), repeat=devices - 1):
        weight = prod((taken if c else 1 - taken for c in chosen), start=flint.arb(1))
        known = sum((v for v, c in zip(own[1:], chosen, strict=True) if c), ball("1/2"))
        total += weight * hidden(
            epsilon,
            p=p,
            distance=signal * (1 + replace),
            variance=known,
            noise=own[0],
            dimension=dimension,
            replace=bool(replace),
        )
    return float(total.mid()) if total.rel_accuracy_bits() > _SETTLED else float("nan")
