"""Enclosures of Bernstein's inequality and of the deviations of Theorem 1; binomial tails are exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import flint

from airtight.analytics.forms.balls.ball import Ball, ball, refine


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
