r"""Tails of :math:`\sum_i w_i\chi^2_{d_i}(\lambda_i)` by Ruben's series, whose remainder is bounded by what its weights lack.

With :math:`\beta = \min w` the law is a mixture of :math:`\beta\chi^2_{d+2k}` with probabilities :math:`a_k \ge 0`, so leaving
out the terms from k = N on changes a probability by at most :math:`1 - \sum_{k<N} a_k`. This is another road than the contour
integral of :mod:`airtight.analytics.distributions.quadratic_form`.
"""

from __future__ import annotations

from collections.abc import Sequence

import flint

from airtight.analytics.forms.balls.ball import Ball, Number, ball, refine

_MOST_TERMS = 4000


def sf(
    x: Number,
    *,
    weight: Sequence[Number],
    degrees: Sequence[int],
    noncentrality: Sequence[Number],
    digits: int = 15,
) -> Ball:
    """Pr(X > x), x > 0.

    Parameters
    ----------
    weight : sequence
        Positive; the series is slow when they are far apart.
    degrees : sequence of int
    noncentrality : sequence
        At least 0.

    Returns
    -------
    arb
        Wide, and true, when 4000 terms do not suffice.

    Examples
    --------
    >>> round(float(sf(3, weight=[1, 2], degrees=[1, 1], noncentrality=[0, 0]).mid()), 12)
    0.357767755547
    """
    return refine(lambda: _series(ball(x), weight, degrees, noncentrality, digits), digits=digits)


def cdf(
    x: Number,
    *,
    weight: Sequence[Number],
    degrees: Sequence[int],
    noncentrality: Sequence[Number],
    digits: int = 15,
) -> Ball:
    """Pr(X <= x); see :func:`sf`."""
    return refine(lambda: 1 - _series(ball(x), weight, degrees, noncentrality, digits + 5), digits=digits)


def _series(
    x: Ball, weight: Sequence[Number], degrees: Sequence[int], noncentrality: Sequence[Number], digits: int
) -> Ball:
    beta = min((ball(w) for w in weight), key=lambda w: float(w.mid()))
    ratio = [beta / ball(w) for w in weight]
    rest = [flint.arb(0) if ball(w) == beta else 1 - r for w, r in zip(weight, ratio, strict=True)]
    pull = [r * ball(c) for r, c in zip(ratio, noncentrality, strict=True)]
    a = [(-sum((ball(c) for c in noncentrality), flint.arb(0)) / 2).exp()]
    for r, d in zip(ratio, degrees, strict=True):
        a[0] *= (r.log() * d / 2).exp()
    half, shape = x / beta / 2, flint.arb(sum(degrees)) / 2
    above = half.gamma_upper(shape, regularized=1)
    step = (shape * half.log() - half - (shape + 1).lgamma()).exp()
    total, mass, g = a[0] * above, a[0], []
    powers = [flint.arb(1)] * len(rest)
    for k in range(1, _MOST_TERMS):
        slope = sum((k * c * q for c, q in zip(pull, powers, strict=True)), flint.arb(0))
        powers = [q * r for q, r in zip(powers, rest, strict=True)]
        g.append(sum((d * q for d, q in zip(degrees, powers, strict=True)), slope))
        a.append(sum((g[k - r - 1] * a[r] for r in range(k)), flint.arb(0)) / (2 * k))
        above += step
        step = step * half / (shape + k)
        total += a[k] * above
        mass += a[k]
        if not 1 - mass > total * flint.arb(10) ** -(digits + 3):
            break
    return total + (1 - mass).union(flint.arb(0))
