"""Enclosures of participation: thresholds and selection by scores among few devices, and the Poisson-binomial law."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint

from airtight.analytics.forms.balls.ball import Ball, Number, ball, refine
from airtight.analytics.forms.balls.gaussian_divergence import upper_tail


def below(gap: Fraction, first: Fraction, second: Fraction) -> Ball:
    """Phi(gap / sqrt(first^2 + second^2)): the probability that a score stays below another one that is `gap` higher."""
    return refine(lambda: upper_tail(-ball(gap) / ball(first**2 + second**2).sqrt()))


def probability(
    score: Sequence[Number], noise: Sequence[Number], selected: int, *, device: int = 0, digits: int = 15
) -> Ball:
    r"""Enclosure of :func:`airtight.analytics.distributions.selection.probability`: a rigorous integral over the
    device's noisy score.

    :math:`\int\varphi(z)\Pr(\text{at most } \tilde k - 1 \text{ of the others are below } u_k + \sigma_kz)\,dz`, where the law of
    the others' number takes one multiplication for each of them. The ball includes the integral beyond the range of z.

    Parameters
    ----------
    score, noise : sequence
        u_k; standard deviations > 0.
    selected : int
        At least 1.
    device : int
    digits : int

    Examples
    --------
    >>> float(probability([0, 0, 0], [1, 1, 1], 1).mid())
    0.33333333333333...
    """
    others = [j for j in range(len(score)) if j != device]

    def compute() -> Ball:
        reach = flint.arb(2 * digits + 8).sqrt() * 2
        own, spread, root = ball(score[device]), ball(noise[device]), flint.arb(2).sqrt()
        places = [(ball(score[j]), ball(noise[j])) for j in others]

        def integrand(z: Any, analytic: bool) -> Any:
            x = own + spread * z
            law = [flint.acb(1)] + [flint.acb(0)] * (selected - 1)
            for u, s in places:
                below_x = (-(x - u) / (s * root)).erfc() / 2
                law = [(1 - below_x) * law[0]] + [
                    (1 - below_x) * law[i] + below_x * law[i - 1] for i in range(1, selected)
                ]
            return sum(law, flint.acb(0)) * (-z * z / 2).exp()

        inside = flint.acb.integral(integrand, -reach, reach).real / (2 * flint.arb.pi()).sqrt()
        return inside + (2 * upper_tail(reach)).union(flint.arb(0))

    return refine(compute, digits=digits)


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
