"""Laws of sums of discrete noise modulo M with proved errors, and the distance of two inputs that is worst for privacy."""

from __future__ import annotations

import math
from enum import StrEnum
from functools import lru_cache

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.rounding import UNIT

LEAST = 1e-290  # masses below this may be lost
ROOM = 1e-10  # relative amount by which the curve of one distance may exceed that of another unnoticed


class Noise(StrEnum):
    """``skellam``: the difference of two Poisson variables. ``discrete gaussian``: mass proportional to exp(-k^2/2s^2)."""

    SKELLAM = "skellam"
    GAUSSIAN = "discrete gaussian"


def coins(share: FloatArray) -> FloatArray:
    """The law of a sum of independent coins."""
    total = np.ones(1)
    for one in share[share > 0]:
        total = np.convolve(total, [1 - one, one])
    return total


def circular(f: FloatArray, g: FloatArray) -> FloatArray:
    """Circular convolution by direct sums of positive terms; the relative error is at most M + 2 roundings."""
    long, M = np.convolve(f, g), f.size
    return np.asarray(long[:M] + np.append(long[M:], 0.0))


@lru_cache(maxsize=64)
def worst_shift(noise: Noise, variance: float, bits: int, count: int, widest: int) -> tuple[int, float]:
    """The worst distance of two inputs up to `widest`, and the excess of any other distance's curve over its curve."""
    return _dominating(summed(noise, variance, bits, count)[0], widest)


@lru_cache(maxsize=64)
def summed(noise: Noise, variance: float, bits: int, count: int) -> tuple[FloatArray, float]:
    """The law of the noise of `count` clients modulo M, and a bound of its relative error (except for cells below 1e-290)."""
    M = 2**bits
    if noise is Noise.SKELLAM:
        return _wrapped(*_skellam(variance * count, M), M)
    power, error = _wrapped(*_gaussian(variance, M), M)
    total, sum_error, first = power, error, True
    for digit in reversed(f"{count:b}"):
        if digit == "1":
            total, sum_error = (power, error) if first else (circular(total, power), sum_error + error + (M + 4) * UNIT)
            first = False
        power, error = (circular(power, power), 2 * error + (M + 4) * UNIT) if count > 1 else (power, error)
    total[total < LEAST] = 0.0
    return total / math.fsum(total), 2.1 * sum_error + 8 * UNIT


def _wrapped(half: FloatArray, off: FloatArray, M: int) -> tuple[FloatArray, float]:
    """Masses of the remainders, with sum 1, from the masses at 0, 1, 2, ... of a symmetric law and their errors."""
    found, wrong = (_folded(part, M) for part in (half, half * off))
    sent = found > LEAST
    error = float(np.max(wrong[sent] / found[sent])) + (half.size / M + 6) * UNIT
    found = np.where(sent, found, 0.0)
    return found / math.fsum(found), 2.1 * error


def _folded(half: FloatArray, M: int) -> FloatArray:
    """Sums over the integers with the same remainder, on both sides of 0."""
    turns = -(-half.size // M)
    ahead, back = (np.append(part, np.zeros(turns * M - half.size)) for part in (half, np.append(0.0, half[1:])))
    return np.asarray(ahead.reshape(turns, M).sum(axis=0) + back.reshape(turns, M).sum(axis=0)[-np.arange(M)])


def _gaussian(variance: float, M: int) -> tuple[FloatArray, FloatArray]:
    reach = math.ceil(math.sqrt(2 * variance * 1400)) + M
    k = np.arange(reach + 1, dtype=float)
    with np.errstate(under="ignore"):
        mass = np.exp(-(k * k) / (2 * variance))
    return mass, np.full(mass.size, (2 * 700 + 8) * UNIT)


def _skellam(v: float, M: int) -> tuple[FloatArray, FloatArray]:
    r"""Masses :math:`e^{-v}I_k(v)` up to a factor, by the ratios :math:`r_k = I_k/I_{k-1} = 1/(2k/v + r_{k+1})`, downwards.

    The law is a convolution of log-concave ones: the ratios fall with k, so that :math:`g_k \le r_k \le 1/(2k/v + g_{k+1})` with
    :math:`g_k = \sqrt{1+(k/v)^2} - k/v`. The recursion starts from :math:`g_k`; a relative error e becomes
    :math:`e\,r_kr_{k+1}` a step down, and four roundings. All terms are positive. What lies beyond the top is less than a
    geometric series; it is put on the top, and taken for an error.
    """
    top = math.ceil(14 * math.sqrt(v) + 2 * M + 20)
    ratio, off = np.ones(top + 1), np.zeros(top + 1)
    r, after = (1 / (math.hypot(1, k / v) + k / v) for k in (top, top + 1))
    e = (r + 2 * top / v) / (after + 2 * top / v) - 1 + 8 * UNIT
    ratio[top], off[top] = r, e
    for k in range(top - 1, 0, -1):
        before, r = r, 1 / (2 * k / v + r)
        e = e * r * before + 4 * UNIT
        ratio[k], off[k] = r, e
    with np.errstate(under="ignore"):
        mass = np.cumprod(ratio)
    mass[top] /= 1 - ratio[top]
    error = np.cumsum(off)
    error[top] += 1.0
    return np.asarray(mass), np.asarray(error)


def _dominating(f: FloatArray, widest: int) -> tuple[int, float]:
    """A shift, and how far (beyond a relative 1e-10) another up to `widest` is above it anywhere.

    A curve is convex in exp(epsilon) and linear between its breaks: where it is above another at its own breaks it is so
    everywhere.
    """
    best = min(widest, f.size // 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(f)
        loss = log - np.roll(log, best)
    grid = np.unique(np.append(loss[np.isfinite(loss) & (loss > 0)], 0.0))
    own = _divergence(f, log, best, grid) * (1 + ROOM)
    return best, max((float(np.max(_divergence(f, log, s, grid) - own)) for s in range(1, best)), default=0.0)


def _divergence(f: FloatArray, log: FloatArray, s: int, epsilon: FloatArray) -> FloatArray:
    """Sum of (p - e^eps q)+ at each epsilon."""
    with np.errstate(invalid="ignore"):
        loss = np.where(f > 0, log - np.roll(log, s), -np.inf)
    order = np.argsort(-loss)
    above = np.searchsorted(-loss[order], -epsilon, side="left")
    P, Q = (np.append(0.0, np.cumsum(part[order])) for part in (f, np.roll(f, s)))
    with np.errstate(under="ignore"):
        return np.asarray(np.maximum(P[above] - np.exp(epsilon) * Q[above], 0.0))
