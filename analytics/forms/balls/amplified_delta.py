"""Enclosures of Theorem 1 of FDP and of the divergences that it bounds.

Enclosures of Bernstein's inequality and of the deviations of Theorem 1; binomial tails are exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, prod

import flint

from airtight.analytics.forms.balls import gaussian_divergence
from airtight.analytics.forms.balls.ball import Ball, ball, refine
from airtight.analytics.forms.balls.gaussian_divergence import hockey_stick
from airtight.analytics.guarantee import Adjacency

_FIRST = {"theorem1": Fraction(1), "eq23": Fraction(1, 3)}


def theorem1_epsilon(
    *,
    devices: Fraction,
    p: Fraction,
    variance: Fraction,
    alignment: Fraction,
    signal: Fraction,
    delta: Fraction,
    delta_prime: Fraction,
    form: str,
) -> Ball:
    """epsilon of Eq. (11) for device 0, which takes part with probability p, while the others always take part."""

    def compute() -> Ball:
        L = (2 / ball(delta_prime)).log()
        V = ball(p * (1 - p) * variance**2)
        t = L / 2 * (ball(_FIRST[form] * variance) + (ball(variance / 9) + 4 * V / L).sqrt())
        room = ball((devices - 1 + p) * variance) - t
        if not room > 0:
            return flint.arb.nan()
        c = ball(alignment * signal) * (2 * (ball("1.25") / ball(delta)).log()).sqrt()
        return (1 + ball(p / (1 - delta_prime)) * ((c / room.sqrt()).exp() - 1)).log()

    return refine(compute, bits=128)


def theorem1(
    *,
    devices: Fraction,
    p: Fraction,
    variance: Fraction,
    receiver: Fraction,
    alignment: Fraction,
    signal: Fraction,
    dimension: Fraction,
    delta: Fraction,
    delta_prime: Fraction,
    form: str,
    adjacency: Adjacency,
) -> tuple[Ball, Ball]:
    """The delta that Theorem 1 claims for device 0, and a lower bound of the true delta at the claimed epsilon."""
    epsilon = theorem1_epsilon(
        devices=devices,
        p=p,
        variance=variance,
        alignment=alignment,
        signal=signal,
        delta=delta,
        delta_prime=delta_prime,
        form=form,
    )
    claimed = ball(delta_prime + p * delta / (1 - delta_prime))
    if not epsilon.is_finite():
        return flint.arb.nan(), flint.arb.nan()
    others = alignment**2 * (devices - 1) * variance + receiver
    own = alignment**2 * variance
    if adjacency is Adjacency.SILENT:
        return claimed, ball(p) * gaussian_divergence.curve(epsilon, alignment * signal, others + own)
    inner = unamplified(epsilon, p)
    return claimed, ball(p) * hockey_stick(
        inner, distance=alignment * signal, variance_p=others + own, variance_q=others, dimension=int(dimension)
    )


def mixture_lemma(
    *, p: Fraction, distance: Fraction, variance: Fraction, noise: Fraction, dimension: Fraction, epsilon: Fraction
) -> tuple[Ball, Ball]:
    """Both sides of Lemma 4: p delta of the local mechanism at epsilon, and the divergence at the amplified epsilon."""
    claimed = ball(p) * gaussian_divergence.curve(ball(epsilon), distance, variance + noise)
    actual = ball(p) * hockey_stick(
        epsilon, distance=distance, variance_p=variance + noise, variance_q=variance, dimension=int(dimension)
    )
    return claimed, actual


def visible_by_enumeration(
    *, devices: int, p: float, variance: float, spread: float, signal: float, replace: int, epsilon: float
) -> float:
    """delta(epsilon) of device 0 over all sets of other participants; receiver noise 1/2, sigma_j^2 = variance (1 + spread j)."""
    total = flint.arb(0)
    own = [ball(variance) * (1 + ball(spread) * j) for j in range(devices)]
    for chosen in product((0, 1), repeat=devices - 1):
        weight = prod((ball(p) if c else 1 - ball(p) for c in chosen), start=flint.arb(1))
        noise = sum((v for v, c in zip(own[1:], chosen, strict=True) if c), own[0]) + ball("1/2")
        total += weight * gaussian_divergence.curve(ball(epsilon), signal * (1 + replace), noise)
    return float((ball(p) * total).mid())


def absent_by_enumeration(
    *, devices: int, p: float, variance: float, spread: float, signal: float, dimension: int, epsilon: float
) -> float:
    """delta(epsilon) of device 0 for adjacency ``absent``, over the same sets: the worse of both directions."""
    own = [ball(variance) * (1 + ball(spread) * j) for j in range(devices)]
    odds, taken = ball(epsilon).exp(), ball(p)
    left = 1 - odds * (1 - taken)  # mass of the absent neighbour minus its share in the mixture
    removing, adding = flint.arb(0), flint.arb(0)
    for chosen in product((0, 1), repeat=devices - 1):
        weight = prod((taken if c else 1 - taken for c in chosen), start=flint.arb(1))
        absent = sum((v for v, c in zip(own[1:], chosen, strict=True) if c), ball("1/2"))
        present = absent + own[0]
        removing += weight * hockey_stick(
            (1 + (odds - 1) / taken).log(),
            distance=signal,
            variance_p=present,
            variance_q=absent,
            dimension=dimension,
        )
        if left > 0:
            adding += weight * hockey_stick(
                (odds * taken / left).log(),
                distance=signal,
                variance_p=absent,
                variance_q=present,
                dimension=dimension,
            )
    return max(float((taken * removing).mid()), float((left * adding).mid()))


def unamplified(epsilon: Ball, p: Fraction) -> Ball:
    """Enclosure of :func:`airtight.analytics.privacy.mechanisms.subsampling.unamplified`."""
    return (1 + (epsilon.exp() - 1) / ball(p)).log()


def fair_signs(signs: int, share: Fraction, factor: int) -> tuple[Ball, Ball]:
    """Bernstein's bound exp(-(t^2 / factor) / (n + t / 3)) at t = share n, and the tail Pr(sum of n signs > t)."""
    t = share * signs
    exponent = t * t / factor / (signs + t / 3)
    favourable = sum(comb(signs, plus) for plus in range(signs + 1) if 2 * plus - signs > t)
    return refine(lambda: (-ball(exponent)).exp()), ball(Fraction(favourable, 2**signs))


def _t(p: Fraction, devices: Fraction, variance: Fraction, delta_prime: Fraction, first: Fraction) -> Ball:
    """(L/2)(first M + sqrt(M/9 + 4V/L)) for equal devices; `first` is 1 in the theorem and 1/3 in its proof."""
    L = (2 / ball(delta_prime)).log()
    V = ball(devices * p * (1 - p) * variance**2)
    return L / 2 * (ball(first * variance) + (ball(variance / 9) + 4 * V / L).sqrt())


def theorem_t(devices: Fraction, p: Fraction, variance: Fraction, delta_prime: Fraction) -> Ball:
    """t as printed in Theorem 1."""
    return refine(lambda: _t(p, devices, variance, delta_prime, Fraction(1)))


def proof_t(devices: Fraction, p: Fraction, variance: Fraction, delta_prime: Fraction) -> Ball:
    """t as printed in Eq. (23)."""
    return refine(lambda: _t(p, devices, variance, delta_prime, Fraction(1, 3)))


def deviation_of_the_proof(
    devices: Fraction, p: Fraction, variance: Fraction, delta_prime: Fraction
) -> tuple[Ball, Ball]:
    """delta', and the probability that the noise of the participants deviates from its mean by t of Eq. (23) or more.

    Only counts whose deviation is proved to reach t are added, so the probability is a lower bound.
    """
    return ball(delta_prime), _strays(devices, p, variance, proof_t(devices, p, variance, delta_prime))


def deviation_of_the_theorem(
    devices: Fraction, p: Fraction, variance: Fraction, delta_prime: Fraction
) -> tuple[Ball, Ball]:
    """delta' and the probability of a deviation by t as printed in Theorem 1."""
    return ball(delta_prime), _strays(devices, p, variance, theorem_t(devices, p, variance, delta_prime))


def _strays(devices: Fraction, p: Fraction, variance: Fraction, t: Ball) -> Ball:
    n = int(devices)
    far = [k for k in range(n + 1) if bool(ball(abs(k - devices * p) * variance) >= t)]
    if n > 200:  # fractions of so many factors have thousands of digits
        chance, rest = ball(p), ball(1 - p)
        return sum((flint.arb.bin_uiui(n, k) * chance**k * rest ** (n - k) for k in far), ball(0))
    return ball(sum((comb(n, k) * p**k * (1 - p) ** (n - k) for k in far), Fraction(0)))
