"""Enclosures of the divergence of two isotropic Gaussians by noncentral chi-square tails, and of the Gaussian mechanism's.

The set that distinguishes N(d e_1, v_P I) best from N(0, v_Q I) is the outside (or inside) of a ball; both probabilities
are noncentral chi-square tails, summed here as Poisson mixtures with a proved remainder. This method is independent of the
contour integral of :mod:`airtight.analytics.privacy.mechanisms.gaussian_pair`.
"""

from __future__ import annotations

from fractions import Fraction

import flint

from airtight.analytics.forms.balls.ball import Ball, Number, ball, refine


def upper_tail(x: Ball) -> Ball:
    """Q(x) = Pr(N(0, 1) > x)."""
    return (x / flint.arb(2).sqrt()).erfc() / 2


def delta(epsilon: Number, *, sensitivity: Number, sigma: Number) -> Ball:
    """Enclosure of the exact delta(epsilon), see :func:`airtight.analytics.privacy.mechanisms.gaussian.delta`.

    Examples
    --------
    >>> from airtight.analytics.forms.balls.ball import ends
    >>> ends(delta(1, sensitivity=1, sigma=1))
    (0.12693673750664..., 0.12693673750664...)
    """

    return curve(epsilon, sensitivity, Fraction(sigma) ** 2)


def curve(epsilon: Number | Ball, distance: Number | Ball, variance: Number | Ball) -> Ball:
    """delta(epsilon) of two Gaussians of equal variance at the given distance."""
    if ball(distance) == 0:
        return flint.arb(0)

    def compute() -> Ball:
        eps, mu = ball(epsilon), ball(distance) / ball(variance).sqrt()
        return upper_tail(eps / mu - mu / 2) - eps.exp() * upper_tail(eps / mu + mu / 2)

    return refine(compute)


def classical_epsilon(delta: Number, *, sensitivity: Number, sigma: Number) -> Ball:
    """Enclosure of FDP Eq. (10), see :func:`airtight.analytics.privacy.mechanisms.gaussian.classical_epsilon`."""
    return refine(lambda: ball(sensitivity) / ball(sigma) * (2 * (ball("1.25") / ball(delta)).log()).sqrt())


_MOST_TERMS = 500_000


def chi_square_above(x: Ball, df: int, noncentrality: Ball) -> Ball:
    """Pr(X > x) of a noncentral chi-square law with `df` degrees of freedom, x > 0.

    With J ~ Poisson(lambda / 2), X is chi-square with df + 2 J degrees, and Q(a + 1, h) = Q(a, h) + h^a e^-h / Gamma(a + 1)
    with h = x / 2. The sum ends beyond 4/3 of the mean of J, from where on a geometric series bounds the rest. Where more than
    500 000 terms would be needed (for means very many standard deviations apart), the ball is the whole interval [0, 1].

    Examples
    --------
    >>> from airtight.analytics.forms.balls.ball import ends
    >>> ends(chi_square_above(ball(2), 2, ball(0)) + chi_square_below(ball(2), 2, ball(0)))[0] > 1 - 1e-15
    True
    """
    mean, half, shape = noncentrality / 2, x / 2, flint.arb(df) / 2
    last, negligible = _last_term(mean, half, df), _negligible()
    if last > _MOST_TERMS:
        return flint.arb(0).union(flint.arb(1))
    total, weight, above, step = flint.arb(0), (-mean).exp(), half.gamma_upper(shape, regularized=1), _step(half, shape)
    for j in range(last + 1):
        total += weight * above
        weight = weight * mean / (j + 1)
        if weight < negligible * total and 4 * mean < 3 * (j + 2):
            break
        above += step
        step = step * half / (shape + j + 1)
    return total + (weight / (1 - mean / (j + 2))).union(flint.arb(0))


def chi_square_below(x: Ball, df: int, noncentrality: Ball) -> Ball:
    """Pr(X <= x) of a noncentral chi-square law, as in :func:`chi_square_above`.

    With h = x / 2, P(a + j, h) is the sum of the steps h^(a+k) e^-h / Gamma(a + k + 1) from k = j on, added up from the last
    one with a geometric tail. The probability is at least its greatest product of a Poisson weight and a step; terms that
    are smaller by the working precision are left to the remainder.
    """
    mean, half, shape = noncentrality / 2, x / 2, flint.arb(df) / 2
    last, negligible = _last_term(mean, half, df), _negligible()
    if last > _MOST_TERMS:
        return flint.arb(0).union(flint.arb(1))
    weights, steps = [(-mean).exp()], [_step(half, shape)]
    least = weights[0] * steps[0]
    for j in range(1, last + 2):
        weights.append(weights[-1] * mean / j)
        steps.append(steps[-1] * half / (shape + j))
        least = least.max(weights[-1] * steps[-1])
        if steps[-1] < negligible * least and 4 * mean < 3 * (j + 1) and 4 * half < 3 * (shape + j + 1):
            break
    beyond = len(steps) - 1
    below = (steps.pop() / (1 - half / (shape + beyond + 1))).union(flint.arb(0))
    total = (weights.pop() / (1 - mean / (beyond + 1))).union(flint.arb(0)) * below
    for weight, step in zip(reversed(weights), reversed(steps), strict=True):
        below += step
        total += weight * below
    return total


def _step(half: Ball, shape: Ball) -> Ball:
    return (shape * half.log() - half - (shape + 1).lgamma()).exp()


def _negligible() -> Ball:
    """The relative size of a term that is below the working precision."""
    return flint.arb(2) ** -int(flint.ctx.prec)


def _last_term(mean: Ball, half: Ball, df: int) -> int:
    """A number of terms for which the remainder is below the working precision, whatever the probability."""
    return int(2 * max(float(mean.upper()), float(half.upper()) - df / 2)) + 2 * int(flint.ctx.prec)


def hockey_stick(
    epsilon: Number | Ball, *, distance: Number, variance_p: Number | Ball, variance_q: Number | Ball, dimension: int
) -> Ball:
    """Enclosure of sup_A [P(A) - e^eps Q(A)], see :func:`airtight.analytics.privacy.mechanisms.gaussian_pair.log_hockey_stick`.

    Examples
    --------
    >>> from airtight.analytics.forms.balls.ball import ends
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
        # the loss exceeds eps outside (inside) a ball of this squared radius; its centre lies at distance d low / gap
        # from the mean of the narrower law, on the side away from the wider one
        square = 2 * low * high / gap * (sign * eps + dimension * (high / low).log() / 2 + d * d / (2 * gap))
        if square <= 0:
            return flint.arb(0)
        if not square > 0:
            return flint.arb.nan()
        tail = chi_square_above if sign > 0 else chi_square_below
        wide = tail(square / high, dimension, (d * (1 + low / gap)) ** 2 / high)
        narrow = tail(square / low, dimension, (d * low / gap) ** 2 / low)
        return wide - eps.exp() * narrow if sign > 0 else narrow - eps.exp() * wide

    if ball(variance_p) == ball(variance_q):
        return curve(epsilon, distance, variance_p)
    return refine(compute)
