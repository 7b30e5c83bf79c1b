"""The truth in ball arithmetic, by roads of its own: every set of participants, series and rigorous quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, pairwise

import flint
import numpy as np
from scipy.special import ndtr

from airtight.analytics.forms.balls import gaussian_divergence as series
from airtight.analytics.forms.balls.ball import Ball, ball
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import InferenceSystem

_UNKNOWN = flint.arb(0).union(flint.arb(1))
_SERIES = 3000  # terms up to which the divergence of two Gaussians is summed instead of integrated
_MOST_BITS = 4096


def refined(compute: Callable[[], Ball], digits: int = 13, bits: int = 96) -> Ball:
    """With rising precision until so many digits are known, or [0, 1]: a probability of which nothing is known."""
    while True:
        with flint.ctx.workprec(bits):
            value = compute()
        if value.is_finite() and (value.rel_accuracy_bits() >= digits * 3.33 or value.is_zero()):
            return value
        if bits >= _MOST_BITS:
            return value if value.is_finite() else _UNKNOWN
        bits *= 2


def normal_tail(x: Ball) -> Ball:
    """Pr(N(0, 1) > x)."""
    return (x / flint.arb(2).sqrt()).erfc() / 2


def gaussian(epsilon: Ball | Fraction, distance: Fraction, variance: Fraction) -> Ball:
    """delta(epsilon) of two Gaussians of one variance at any real epsilon."""
    if distance == 0:
        return flint.arb(0) if epsilon >= 0 else 1 - ball(epsilon).exp()
    if variance == 0:
        return flint.arb(1)
    square = distance**2 / variance
    if square > 10**12 and ball(epsilon) < ball(square / 4):
        return flint.arb(1) - flint.arb("0 +/- 1e-1000")

    def compute() -> Ball:
        mu = ball(square).sqrt()
        eps = ball(epsilon)
        a, b = eps / mu - mu / 2, eps / mu + mu / 2
        return normal_tail(a) - (eps - b * b / 2).exp() * (b * b / 2).exp() * normal_tail(b)

    return refined(compute)


def hockey_stick(epsilon: Ball, distance: Fraction, p: Fraction, q: Fraction, dimension: int) -> Ball:
    """sup_A P(A) - e^epsilon Q(A) of N(d e_1, p I) against N(0, q I); [0, 1] where this judge cannot tell."""
    if p == q:
        return gaussian(epsilon, distance, p)
    if p == 0 or q == 0:
        return flint.arb(1)
    if not epsilon < 1e6:
        return _UNKNOWN
    wide, narrow = max(p, q), min(p, q)
    eta, square = (wide - narrow) / narrow, distance**2 / narrow
    if float(square / eta / eta) + float(square) < _SERIES:
        value = refined(
            lambda: series.hockey_stick(epsilon, distance=distance, variance_p=p, variance_q=q, dimension=dimension)
        )
        if value.rel_accuracy_bits() > 30 or value.is_zero():
            return value
    return _integrated(epsilon, square, eta, dimension, reverse=p < q)


def _integrated(epsilon: Ball, square: Fraction, eta: Fraction, r: int, *, reverse: bool) -> Ball:
    """By rigorous quadrature of the Mellin integral on a vertical line; the rest of the line is bounded by its modulus."""
    half, level = ball(square) / 2, -ball(epsilon) if reverse else ball(epsilon)
    e, log_ratio = ball(eta), (1 + ball(eta)).log()

    def exponent(z: flint.acb | Ball) -> flint.acb | Ball:
        w = 1 - e * z
        return half * z * (1 + z) / w - (w.log() + z * log_ratio) * r / 2 - z * level

    reach = half / e + log_ratio * r / 2 + level
    if reverse and not reach > 0:
        return flint.arb(0) if reach <= 0 else _UNKNOWN
    c = _crossing(lambda x: float(exponent(ball(x))), float(e), reverse)
    if c is None:
        return _UNKNOWN
    at = ball(c)
    peak = exponent(at)
    slope = 1 / abs(c) + math.sqrt(max(float(_second(at, half, e, r)), 0.0))

    def integrand(y: flint.acb, analytic: bool) -> flint.acb:
        z = flint.acb(at) + flint.acb(0, 1) * y
        w = 1 - e * z
        if not (w.real > 0 or w.imag > 0 or w.imag < 0):
            return flint.acb(flint.arb.nan())
        return (exponent(z) - peak).exp() / (z * (1 + z))

    edges = [0.0] + [2.0**k / slope for k in range(-2, 90)]
    total, far = flint.acb(0), None
    for low, high in pairwise(edges):
        total += flint.acb.integral(integrand, low, high, rel_tol=2.0**-60, abs_tol=2.0**-70)
        size = (exponent(flint.acb(at, ball(high))).real - peak).exp() / ball(high)
        far = size
        if size < total.real * 1e-18 or size < 1e-40:
            break
    value = (total.real + far.union(-far)) / flint.arb.pi() * peak.exp()
    value = abs(value) * (ball(epsilon).exp() if reverse else 1)
    return value if value.is_finite() else _UNKNOWN


def _second(x: Ball, half: Ball, e: Ball, r: int) -> Ball:
    w = 1 - e * x
    return 2 * half * (1 + e) / w**3 + (e / w) ** 2 * r / 2


def _crossing(exponent: Callable[[float], float], eta: float, reverse: bool) -> float | None:
    """Roughly the minimum of the integrand right of 0 (left of -1)."""

    def place(t: float) -> float:
        return -1 - math.exp(t) if reverse else 1 / (math.exp(-t) + eta)

    def size(t: float) -> float:
        x = place(t)
        try:
            value = exponent(x) - math.log(abs(x * (1 + x)))
        except (OverflowError, ValueError):
            return math.inf
        return value if math.isfinite(value) else math.inf

    grid = np.linspace(-60, 60, 121)
    best = min(grid, key=size)
    low, high = best - 1, best + 1
    for _ in range(40):
        a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, b) if size(a) < size(b) else (a, high)
    return place((low + high) / 2) if math.isfinite(size((low + high) / 2)) else None


def sets(system: InferenceSystem, device: int, *, chances: list[Fraction] | None = None) -> list[tuple[Fraction, Ball]]:
    """The others' noise and the receiver's for every set of participants, and the set's probability; equal sums joined."""
    probability = [Fraction(float(p)) for p in system.participation] if chances is None else chances
    gain = Fraction(system.alignment) ** 2
    law = {Fraction(system.receiver_noise_variance): flint.arb(1)}
    for k in range(system.devices):
        if k == device:
            continue
        p, own = probability[k], gain * Fraction(float(system.noise_variance[k]))
        joined: dict[Fraction, Ball] = {}
        with flint.ctx.workprec(200):
            for value, chance in law.items():
                for there, share in ((0, 1 - p), (1, p)):
                    if share:
                        joined[value + there * own] = joined.get(value + there * own, flint.arb(0)) + chance * ball(
                            share
                        )
        law = joined
    return list(law.items())


def opposite(epsilon: Fraction, p: Fraction, mu: Ball) -> Ball:
    """delta of p N(mu/2, 1) + (1-p) N(0, 1) against its mirror image: the best half-line, its end bisected."""

    def compute() -> Ball:
        a, factor = mu / 2, ball(epsilon).exp()

        def surplus(b: Ball) -> Ball:
            near, far = (a * b - a * a / 2).exp(), (-a * b - a * a / 2).exp()
            return ball(p) * near + (1 - ball(p)) - factor * (ball(p) * far + (1 - ball(p)))

        low, high = flint.arb(0), flint.arb(1)
        while not surplus(high) > 0:
            high *= 2
        for _ in range(flint.ctx.prec // 2 + 20):
            middle = ((low + high) / 2).mid()
            low, high = (low, middle) if surplus(middle) > 0 else (middle, high)
        there = ball(p) * normal_tail(high - a) + (1 - ball(p)) * normal_tail(high)
        elsewhere = ball(p) * normal_tail(high + a) + (1 - ball(p)) * normal_tail(high)
        return there - factor * elsewhere

    return refined(compute, bits=256)


def delta(system: InferenceSystem, epsilon: float, device: int) -> Ball:
    """delta(epsilon) of a device by enumeration, the worst of both directions."""
    p = Fraction(float(system.participation[device]))
    if p == 0:
        return flint.arb(0)
    factor = 2 if system.adjacency is Adjacency.REPLACE else 1
    signal = Fraction(system.alignment) * Fraction(float(system.weight[device])) * Fraction(float(system.clip[device]))
    signal *= factor
    own = Fraction(system.alignment) ** 2 * Fraction(float(system.noise_variance[device]))
    eps = Fraction(epsilon)
    if system.idle_noise:
        gain = Fraction(system.alignment) ** 2
        total = sum((gain * Fraction(float(v)) for v in system.noise_variance), Fraction(0))
        total += Fraction(system.receiver_noise_variance)
        if total == 0 or signal == 0:
            return _UNKNOWN
        if system.adjacency is Adjacency.REPLACE:
            square = ball(signal**2 / total)
            return opposite(eps, p, square.sqrt()) if 1e-250 < square < 1e6 and eps < 1e4 else _UNKNOWN
        with flint.ctx.workprec(1024):
            return ball(p) * gaussian((1 + (ball(eps).exp() - 1) / ball(p)).log(), signal, total)
    law = sets(system, device)
    if system.adjacency is not Adjacency.ABSENT:
        return ball(p) * sum((ball(w) * gaussian(eps, signal, v + own) for v, w in law), flint.arb(0))
    with flint.ctx.workprec(256):
        forward = (1 + (ball(eps).exp() - 1) / ball(p)).log()
        share = 1 - ball(eps).exp() * (1 - ball(p))
        backward = (ball(eps).exp() * ball(p) / share).log() if share > 0 else None
    found = ball(p) * sum(
        (ball(w) * hockey_stick(forward, signal, v + own, v, system.dimension) for v, w in law), flint.arb(0)
    )
    if backward is not None:
        other = share * sum(
            (ball(w) * hockey_stick(backward, signal, v, v + own, system.dimension) for v, w in law), flint.arb(0)
        )
        found = found.max(other)
    return found


def binomial(trials: int, share: Fraction) -> list[Fraction]:
    """Exact probabilities."""
    return [math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(trials + 1)]


def chi_square_below(x: Ball, degrees: int, noncentrality: Ball) -> Ball:
    """Pr(chi-square <= x)."""
    return series.chi_square_below(x, degrees, noncentrality)


def lowest(means: list[float], deviations: list[float], selected: int, device: int, *, panels: int) -> float:
    """Probability that a device is among the lowest: Gauss-Legendre over its own score, all sets that may lie below."""
    others = [k for k in range(len(means)) if k != device]
    x, w = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(-9, 9, panels + 1)
    t = ((edges[1:] + edges[:-1])[:, None] / 2 + (edges[1] - edges[0]) / 2 * x).ravel()
    weight = np.tile(w, panels) * (edges[1] - edges[0]) / 2 * np.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    score = means[device] + deviations[device] * t
    below = np.array([ndtr((score - means[k]) / deviations[k]) for k in others])
    chance = np.zeros_like(t)
    for count in range(selected):
        for inside in combinations(range(len(others)), count):
            mask = np.zeros(len(others), dtype=bool)
            mask[list(inside)] = True
            chance += np.prod(np.where(mask[:, None], below, 1 - below), axis=0)
    return float(weight @ chance)
