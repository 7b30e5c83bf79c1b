"""CorBin-FL's central privacy and dropout in ball arithmetic: printed formulas, binomial tails, divergences from below."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import flint

from analytics.enclosures.ball import Ball, ball


def published_epsilon(n: int, m: int, alpha: Fraction, delta: Fraction, radius: Fraction) -> Ball:
    """The right-hand side of CB Eq. (5) with fraction 1."""
    a, d, noise = ball(alpha), ball(delta), ball(n - 1)
    e = 1 + 1 / (a * a)
    b = e / 3 + 1 / a
    log10 = (10 / d).log()
    first = (8 * m * (ball("1.25") / d).log() / (noise * e)).sqrt()
    second = 8 * ((ball("1.25") / d).log() + (20 * m / d).log() * log10) / (3 * noise)
    third = 4 * b * ball(2 * m).sqrt() * (ball("1.75") + ball("3.75") / (a * a)) * log10.sqrt()
    return ball(radius) * a * (first + second + third / (noise * (1 - d / 10) * e))


def binomial_pmf(trials: int, probability: Fraction | Ball, k: int) -> Ball:
    """One probability of the binomial law."""
    p = ball(probability)
    return ball(comb(trials, k)) * p**k * (1 - p) ** (trials - k)


def upper_tail(trials: int, probability: Fraction | Ball, start: int) -> Ball:
    """P(X >= start): terms until they no longer matter, the rest as a ball."""
    p = ball(probability)
    if start <= 0:
        return ball(1)
    if start > trials:
        return ball(0)
    term = binomial_pmf(trials, p, start)
    odds, total = p / (1 - p), ball(0)
    for k in range(start, trials + 1):
        total += term
        term = term * (trials - k) / (k + 1) * odds
        if k > trials * float(p.mid()) and term < total * ball(Fraction(1, 10**25)):
            return total + ball(0).union(term * (trials - k))
    return total


def unpaired_delta_from_below(others: int, share: Fraction, epsilon: Ball, start: int) -> Ball:
    """P(S >= start) - e^eps Q(S >= start): a lower bound on delta, all others at the upper end of their interval.

    S counts the plus outputs of one client, at the upper end under P and at the lower under Q, and of the others;
    `share` is 1/alpha.
    """
    high, low = (1 + share) / 2, (1 - share) / 2
    tail = upper_tail(others, high, start)
    edge = binomial_pmf(others, high, start - 1) if start >= 1 else ball(0)
    factor = epsilon.exp()
    return tail * (1 - factor) + edge * (ball(high) - factor * ball(low))


def broken_pairs_outside(n: int, p: Fraction, slack: Fraction) -> Ball:
    """Probability that the broken pairs over n leave the interval of CB Theorem 4, from below."""
    middle = p * (1 - p)
    width = ball(middle * (1 - 2 * middle) / (4 * slack * n)).sqrt()
    return _outside(n // 2, 2 * middle, ball(middle) - width, ball(middle) + width, n)


def survivors_outside(n: int, p: Fraction, slack: Fraction) -> Ball:
    """Probability that the survivors over n leave [theta, theta'] of CB Theorem 4, from below."""
    middle = p * (1 - p)
    width = ball(middle / (slack * n)).sqrt()
    return _outside(n, 1 - p, ball(middle) - width, ball(middle) + width, n)


def _outside(trials: int, q: Fraction, low: Ball, high: Ball, n: int) -> Ball:
    certain = [k for k in range(trials + 1) if ball(Fraction(k, n)) < low or ball(Fraction(k, n)) > high]
    return sum((binomial_pmf(trials, q, k) for k in certain), ball(0))


def published_dropout_mse(n: int, p: Fraction, slack: Fraction, alpha: Fraction) -> Ball:
    """The MSE bound of CB Theorem 4 with delta_1 = 0 and radius 1."""
    middle = ball(p * (1 - p))
    width = (middle * (1 - 2 * middle) / (4 * ball(slack) * n)).sqrt()
    theta = middle - (middle / (ball(slack) * n)).sqrt()
    a, root = ball(alpha), ball(2).sqrt()
    pair = ((root - 1) * a + 1) * ((root + 1) * a - 1)
    return (middle + width) * a * a / (n * theta) + (1 - middle + width) / (2 * n * theta) * pair


def dropout_mse(n: int, p: Fraction, alpha: Fraction) -> Ball:
    """The worst MSE of CorBin-FL with dropout, n even, radius 1; from below should the best s not be decidable."""
    with flint.ctx.workprec(128):

        def inverse_square(offset: int) -> Ball:
            return sum((binomial_pmf(n - 2, 1 - p, k) / (k + offset) ** 2 for k in range(n - 1)), ball(0))

        a = ball(alpha)
        broken, whole = ball(2 * p * (1 - p)) * inverse_square(1), ball((1 - p) ** 2) * inverse_square(2)
        top = a * whole / (broken / 4 + whole)
        s = top if top < 2 else ball(2)
        return n * (broken * (a * a - s * s / 4) + whole * s * (2 * a - s)) / 2


def three_level_variance(alpha: Fraction, fade: Fraction, zero: Fraction) -> Ball:
    """Worst variance of the three-level quantizer, from above: C, e^-eps and P(0|0) rational."""
    C = alpha / (1 - zero * fade)
    rise = C * C * zero * (1 - fade)
    peak = min(rise / 2, Fraction(1))
    return ball(C * C * (1 - zero) + rise * peak - peak * peak)
