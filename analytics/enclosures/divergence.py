"""Divergence of two isotropic Gaussians by noncentral chi-square tails, enclosed.

The set that distinguishes N(d e_1, v_P I) best from N(0, v_Q I) is the outside (or inside) of a ball; both probabilities
are noncentral chi-square tails, summed here as Poisson mixtures with a proven remainder. This is another road than the
contour integral of :mod:`analytics.privacy.divergence`.
"""

from __future__ import annotations

import flint

from analytics.enclosures import gaussian
from analytics.enclosures.ball import Ball, Number, ball, refine

_MOST_TERMS = 500_000


def noncentral_chi_square(x: Ball, df: int, noncentrality: Ball) -> tuple[Ball, Ball]:
    """Pr(X > x) and Pr(X <= x) of a noncentral chi-square law with `df` degrees of freedom, x > 0.

    With J ~ Poisson(lambda / 2), X is chi-square with df + 2 J degrees. The terms left out have probability at most
    Pr(J > last), a geometric tail beyond twice the mean. The chi-square tails follow from one of them by
    Q(a + 1, x) = Q(a, x) + x^a e^-x / Gamma(a + 1), upwards, and downwards for the lower tails. Where more than 500 000 terms
    would be needed (means that many standard deviations apart) the balls are the whole of [0, 1].
    """
    mean = noncentrality / 2
    half = x / 2
    last = _last_term(mean, half, df)
    if last > _MOST_TERMS:
        unknown = flint.arb(0).union(flint.arb(1))
        return unknown, unknown
    shape = flint.arb(df) / 2
    weight = (-mean).exp()
    weights = [weight]
    for j in range(1, last + 1):
        weight = weight * mean / j
        weights.append(weight)
    remainder = (weight * mean / (last + 1) / (1 - mean / (last + 2))).union(flint.arb(0))

    step = (shape * half.log() - half - (shape + 1).lgamma()).exp()
    steps = [step]
    for j in range(1, last + 1):
        step = step * half / (shape + j)
        steps.append(step)
    above = half.gamma_upper(shape, regularized=1)
    upper = flint.arb(0)
    for j in range(last + 1):
        upper += weights[j] * above
        above += steps[j]
    below = (step * half / (shape + last + 1) / (1 - half / (shape + last + 2))).union(flint.arb(0))
    lower = flint.arb(0)
    for j in range(last, -1, -1):
        below += steps[j]
        lower += weights[j] * below
    return upper + remainder, lower + remainder


def _last_term(mean: Ball, half: Ball, df: int) -> int:
    """So many terms that the remainder is below the working precision."""
    return int(2 * max(float(mean.upper()), float(half.upper()) - df / 2)) + 2 * int(flint.ctx.prec)


def hockey_stick(
    epsilon: Number | Ball, *, distance: Number, variance_p: Number | Ball, variance_q: Number | Ball, dimension: int
) -> Ball:
    """Enclosure of sup_A [P(A) - e^eps Q(A)], see :func:`analytics.privacy.divergence.log_hockey_stick`.

    Examples
    --------
    >>> from analytics.enclosures.ball import ends
    >>> ends(hockey_stick(0, distance=0, variance_p=2, variance_q=1, dimension=1))
    (0.16606407498351..., 0.16606407498351...)
    """

    def compute() -> Ball:
        eps, d, vp, vq = ball(epsilon), ball(distance), ball(variance_p), ball(variance_q)
        low, high = (vq, vp) if vp > vq else (vp, vq)
        gap = high - low
        if not gap > 0:
            return flint.arb.nan()  # not known at this precision
        sign = 1 if vp > vq else -1
        # the loss exceeds eps outside (inside) the ball of this squared radius about the point -d low / gap
        square = 2 * low * high / gap * (sign * eps + dimension * (high / low).log() / 2 + d * d / (2 * gap))
        if square <= 0:
            return flint.arb(0)
        if not square > 0:
            return flint.arb.nan()
        wide = noncentral_chi_square(square / high, dimension, (d * (1 + low / gap)) ** 2 / high)
        narrow = noncentral_chi_square(square / low, dimension, (d * low / gap) ** 2 / low)
        if sign > 0:
            return wide[0] - eps.exp() * narrow[0]
        return narrow[1] - eps.exp() * wide[1]

    if ball(variance_p) == ball(variance_q):
        return gaussian.curve(epsilon, distance, variance_p)
    return refine(compute)
