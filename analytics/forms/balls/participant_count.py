"""Enclosures of the Poisson-binomial law: the coefficients of a product of linear polynomials."""

from __future__ import annotations

from collections.abc import Sequence

import flint

from airtight.analytics.forms.balls.ball import Ball, Number, ball


def pmf(p: Sequence[Number | Ball]) -> list[Ball]:
    """Enclosure of :func:`airtight.analytics.distributions.poisson_binomial.pmf`, by a balanced tree of products.

    Every entry has the working precision relative to itself, less about two digits for each doubling of the number of
    devices, because all terms are positive. 1 - p is computed in balls, so that p may be a ball too.

    Examples
    --------
    >>> [float(x.mid()) for x in pmf(["1/2", "1/4"])]
    [0.375, 0.5, 0.125]
    """
    polynomials = [flint.arb_poly([1 - ball(x), ball(x)]) for x in p]
    if not polynomials:
        return [flint.arb(1)]
    while len(polynomials) > 1:
        pairs = zip(polynomials[::2], polynomials[1::2], strict=False)
        left = polynomials[-1:] if len(polynomials) % 2 else []
        polynomials = [a * b for a, b in pairs] + left
    law = polynomials[0].coeffs()
    return [*law, *[flint.arb(0)] * (len(p) + 1 - len(law))]


def cdf(p: Sequence[Number | Ball]) -> list[Ball]:
    """Pr(X <= k), k = 0 ... n.

    Examples
    --------
    >>> [float(x.mid()) for x in cdf(["1/2", "1/4"])]
    [0.375, 0.875, 1.0]
    """
    total, out = flint.arb(0), []
    for chance in pmf(p):
        total += chance
        out.append(total)
    return out
