r"""Discrete noise modulo 2^b: the Skellam and the discrete Gaussian mechanism, with exact laws and exact privacy.

A client scales w in [-1, 1] by `levels`, rounds it to a neighbouring integer without bias, adds integer noise and
sends the remainder modulo M = 2^b. Behind secure aggregation the server sees the sum of n such remainders, modulo M.
Neighbours differ in one client's w (``replace``).

The laws of sums of discrete noise modulo M have proved error bounds. The distance of two inputs that is worst for
privacy is determined numerically.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import ConvergenceError, FloatArray, ParameterError, real
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve, discrete_pair
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.rounding import UNIT

LEAST = 1e-290  # masses below this are set to 0; it is far above the least normal double 2e-308
ROOM = 1e-10  # relative excess of the curve of another distance over the worst one that is covered by every epsilon


class Noise(StrEnum):
    """Laws of integer noise.

    ``skellam``: the difference of two Poisson variables. ``discrete gaussian``: mass proportional to exp(-k^2/2s^2).
    """

    SKELLAM = "skellam"
    GAUSSIAN = "discrete gaussian"


def coins(share: FloatArray) -> FloatArray:
    """The law of a sum of independent coins with the given probabilities (Poisson binomial)."""
    total = np.ones(1)
    for probability in share[share > 0]:
        total = np.convolve(total, [1 - probability, probability])
    return total


def circular(f: FloatArray, g: FloatArray) -> FloatArray:
    """Circular convolution by direct sums of positive terms; its relative error is at most M + 2 roundings."""
    long, M = np.convolve(f, g), f.size
    return np.asarray(long[:M] + np.append(long[M:], 0.0))


@lru_cache(maxsize=64)
def worst_shift(noise: Noise, variance: float, bits: int, count: int, widest: int) -> tuple[int, float]:
    """The worst distance of two inputs up to `widest`, and the excess of any other distance's curve over its curve."""
    return _dominating(summed(noise, variance, bits, count)[0], widest)


@lru_cache(maxsize=64)
def summed(noise: Noise, variance: float, bits: int, count: int) -> tuple[FloatArray, float]:
    """The law of the noise of `count` clients modulo M, and a bound of its relative error where it is above `LEAST`."""
    M = 2**bits
    if noise is Noise.SKELLAM:
        return _wrapped(*_skellam(variance * count, M), M)
    # the law of the sum by binary powers: `power` has the law of 1, 2, 4, ... clients
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
    masses, errors = (_folded(half_law, M) for half_law in (half, half * off))
    possible = masses > LEAST
    error = float(np.max(errors[possible] / masses[possible])) + (half.size / M + 6) * UNIT
    masses = np.where(possible, masses, 0.0)
    return masses / math.fsum(masses), 2.1 * error


def _folded(half: FloatArray, M: int) -> FloatArray:
    """Sums over the integers with the same remainder, on both sides of 0."""
    turns = -(-half.size // M)
    ahead, back = (
        np.append(one_side, np.zeros(turns * M - half.size)) for one_side in (half, np.append(0.0, half[1:]))
    )
    return np.asarray(ahead.reshape(turns, M).sum(axis=0) + back.reshape(turns, M).sum(axis=0)[-np.arange(M)])


def _gaussian(variance: float, M: int) -> tuple[FloatArray, FloatArray]:
    """Masses at 0, 1, 2, ... up to a factor, as far as they do not underflow, and their relative errors."""
    reach = math.ceil(math.sqrt(2 * variance * 1400)) + M
    k = np.arange(reach + 1, dtype=float)
    with np.errstate(under="ignore"):
        mass = np.exp(-(k * k) / (2 * variance))
    # exponents up to 700 with their roundings, and the error of exp; smaller masses are below LEAST
    return mass, np.full(mass.size, (2 * 700 + 8) * UNIT)


def _skellam(v: float, M: int) -> tuple[FloatArray, FloatArray]:
    r"""Masses :math:`e^{-v}I_k(v)` up to a factor, and their relative errors.

    The ratios :math:`r_k = I_k/I_{k-1} = 1/(2k/v + r_{k+1})` are computed from the greatest k downwards. The law is a
    convolution of log-concave laws. So the ratios fall with k, and :math:`g_k \le r_k \le 1/(2k/v + g_{k+1})` with
    :math:`g_k = \sqrt{1+(k/v)^2} - k/v`. The recursion starts from :math:`g_k`. In each step a relative error e
    becomes :math:`e\,r_kr_{k+1}` plus four roundings, because all terms are positive. The mass beyond the top is less
    than a geometric series, which is added to the mass at the top and counted as its error.
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
    """A shift, and the excess (beyond the relative `ROOM`) of the curve of any other shift over its curve.

    A curve is convex and piecewise linear in exp(epsilon). So a curve that is above another curve at its own breaks is
    above it everywhere.
    """
    greatest_shift = min(widest, f.size // 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(f)
        loss = log - np.roll(log, greatest_shift)
    grid = np.unique(np.append(loss[np.isfinite(loss) & (loss > 0)], 0.0))
    worst_curve = _divergence(f, log, greatest_shift, grid) * (1 + ROOM)
    return greatest_shift, max(
        (float(np.max(_divergence(f, log, s, grid) - worst_curve)) for s in range(1, greatest_shift)), default=0.0
    )


def _divergence(f: FloatArray, log: FloatArray, s: int, epsilon: FloatArray) -> FloatArray:
    """Hockey-stick divergence of f and f shifted by s, at each epsilon."""
    with np.errstate(invalid="ignore"):
        loss = np.where(f > 0, log - np.roll(log, s), -np.inf)
    order = np.argsort(-loss)
    above = np.searchsorted(-loss[order], -epsilon, side="left")
    P, Q = (np.append(0.0, np.cumsum(masses[order])) for masses in (f, np.roll(f, s)))
    with np.errstate(under="ignore"):
        return np.asarray(np.maximum(P[above] - np.exp(epsilon) * Q[above], 0.0))


_TURNS = 200  # greatest number of wrap-arounds in the bound of the error
_MOST_BITS = 13  # greatest number of bits: direct convolutions of 2^13 masses are fast enough
_STEPS = 24  # greatest number of doubling steps from the computed root to a variance that suffices
_SMALLEST, _GREATEST = 0.01, 1e7  # range of the variance of one client's noise


class ServerView(StrEnum):
    """What the server sees.

    ``uplink``: the message of one client, with its own noise only. A server without secure aggregation learns no more
    about that client, because the noises are independent. ``aggregate``: the sum of all messages modulo M, which
    secure aggregation reveals.
    """

    UPLINK = "uplink"
    AGGREGATE = "aggregate"


@dataclass(frozen=True)
class ModularNoise:
    r"""One parameter of n clients under discrete noise modulo 2^b.

    Attributes
    ----------
    noise : Noise
    variance : float
        Variance of one client's noise, in squared steps of the grid; for the discrete Gaussian its parameter
        :math:`\sigma^2`.
    levels : int
        The integer that represents w = 1; there are 2 levels + 1 integers, at most M.
    bits : int
        Bits of one message, in [1, 13].
    clients : int
        n >= 1, number of clients whose messages arrive.

    Notes
    -----
    *Worst inputs.* The law of a message is linear in w between integers, and a divergence is jointly convex. So for
    every observer the worst inputs, of the client and of all others, are integers. Then the inputs of the others only
    shift the sum, and the worst pair is the summed noise f against f shifted by s. That the greatest s, :meth:`shift`,
    is the worst at every epsilon is not proved. It is checked numerically for each law at all breaks of the curves, in
    double precision. An excess of another s is added (1e-10 relatively, and any excess beyond absolutely). Without
    reduction modulo M it follows from log-concavity.

    *Rounds.* One pair dominates all others for any earlier choices. So T rounds are T uses of this pair, and two data
    sets with the inputs of the pair in every round attain it.

    *Rounding.* f comes with a proved relative error eta. Let p, q be the computed laws. The true divergence of T
    rounds at epsilon is at most :math:`(1+\eta)^T` times that of p, q at :math:`\epsilon - T\ln\frac{1+\eta}{1-\eta}`.
    If one curve is at most :math:`(1+\kappa)` times another curve plus tau, then its T-fold composition is at most
    :math:`(1+\kappa)^T` times that of the other plus :math:`T\tau(1+\kappa)^T`. :meth:`epsilon` includes all these
    terms.

    Examples
    --------
    >>> one = ModularNoise("skellam", variance=4.0, levels=4, bits=8, clients=50)
    >>> round(float(one.epsilon(1e-5)), 3), round(float(one.epsilon(1e-5, rounds=10)), 3)
    (2.264, 8.706)
    """

    noise: Noise | str
    variance: float
    levels: int
    bits: int
    clients: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", checks.choice("noise", self.noise, Noise))
        object.__setattr__(
            self, "variance", checks.scalar("variance", self.variance, f"[{_SMALLEST:g}, {_GREATEST:g}]")
        )
        object.__setattr__(self, "bits", checks.count("bits", self.bits, f"[1, {_MOST_BITS}]"))
        object.__setattr__(self, "clients", checks.count("clients", self.clients, "[1, 10000]"))
        checks.count("levels", self.levels, "[1, inf)")
        if 2 * self.levels + 1 > self.modulus:
            raise ParameterError("levels", self.levels, f"at most {(self.modulus - 1) // 2} with {self.bits} bits")

    @property
    def modulus(self) -> int:
        """M, the number of remainders."""
        return int(2**self.bits)

    @property
    def symbols(self) -> FloatArray:
        """The remainders as integers in [-M/2, M/2), in steps of the grid."""
        return np.arange(-(self.modulus // 2), self.modulus // 2, dtype=float)

    def law(self, w: ArrayLike) -> FloatArray:
        """The law of one message, shape (..., M), in the order of :attr:`symbols`.

        Examples
        --------
        >>> one = ModularNoise("skellam", variance=1.0, levels=1, bits=3)
        >>> one.law([0.0, 0.5]).round(3)[:, 3:6]
        array([[0.208, 0.466, 0.208],
               [0.129, 0.337, 0.337]])
        """
        x = real("w", w, "[-1, 1]") * self.levels
        below = np.minimum(np.floor(x), self.levels - 1).astype(int)
        share = (x - below)[..., None]
        f, places = self._summed(1)[0], np.arange(self.modulus) - self.modulus // 2
        here, above = (f[(places - k[..., None]) % self.modulus] for k in (below, below + 1))
        return np.asarray((1 - share) * here + share * above)

    def noise_law(self, observer: ServerView | str = ServerView.AGGREGATE, *, colluding: int = 0) -> FloatArray:
        """The law of the noise that an observer does not know, modulo M; entry 0 is the probability of no noise.

        Parameters
        ----------
        observer : {"uplink", "aggregate"}
        colluding : int
            Number of other clients that reveal their noise to the observer.

        Examples
        --------
        >>> one = ModularNoise("discrete gaussian", variance=1.0, levels=1, bits=3, clients=2)
        >>> one.noise_law().round(4)[:3]
        array([0.2821, 0.2197, 0.1038])
        """
        return self._summed(self._noise_clients(observer, colluding))[0]

    def _noise_clients(self, observer: ServerView | str, colluding: int) -> int:
        who = checks.choice("observer", observer, ServerView)
        colluding_clients = checks.count("colluding", colluding, f"[0, {self.clients - 1}]")
        return 1 if who is ServerView.UPLINK else self.clients - colluding_clients

    def _summed(self, count: int) -> tuple[FloatArray, float]:
        return summed(Noise(self.noise), self.variance, self.bits, count)

    def shift(self, observer: ServerView | str = ServerView.AGGREGATE, *, colluding: int = 0) -> int:
        """The distance of the two inputs of the worst pair, in steps: the smaller of M/2 and the whole range.

        Examples
        --------
        >>> ModularNoise("skellam", variance=3.0, levels=3, bits=3).shift()
        4
        """
        return self._worst(self._noise_clients(observer, colluding))[0]

    def _worst(self, count: int) -> tuple[int, float]:
        return worst_shift(Noise(self.noise), self.variance, self.bits, count, 2 * self.levels)

    def curve(self, observer: ServerView | str = ServerView.AGGREGATE, *, colluding: int = 0) -> PrivacyCurve:
        """Privacy curve of one parameter in one round by the computed law; :meth:`epsilon` adds its rounding errors.

        Adjacency ``replace``.

        Examples
        --------
        >>> one = ModularNoise("skellam", variance=4.0, levels=1, bits=6)
        >>> one.curve("uplink").epsilon(0.0) > one.curve("uplink").epsilon(1e-6) > 0
        np.True_
        """
        f = self.noise_law(observer, colluding=colluding)
        return discrete_pair(f, np.roll(f, self.shift(observer, colluding=colluding)), unit="replace")

    def epsilon(
        self,
        delta: float,
        *,
        rounds: int = 1,
        observer: ServerView | str = ServerView.AGGREGATE,
        colluding: int = 0,
    ) -> float:
        """The least epsilon of one parameter over T rounds (adjacency ``replace``), rounded up with all error bounds.

        Parameters
        ----------
        delta : float
            In [1e-250, 1), or 0 for the pure epsilon, for which basic composition is exact.
        rounds : int
        observer : {"uplink", "aggregate"}
        colluding : int
            See :meth:`noise_law`.

        Examples
        --------
        >>> one = ModularNoise("skellam", variance=40.0, levels=2, bits=6)
        >>> round(one.epsilon(1e-5, observer="uplink"), 3), round(one.epsilon(0.0, observer="uplink"), 2)
        (2.408, 2.58)
        """
        T, level = checks.count("rounds", rounds), checks.scalar("delta", delta, "[0, 1)")
        if 0 < level < 1e-250:
            raise ParameterError("delta", delta, "0 or at least 1e-250")
        count = self._noise_clients(observer, colluding)
        return self._epsilon(level, T, count, self._worst(count)[1])

    def _epsilon(self, delta: float, T: int, count: int, above: float) -> float:
        """Epsilon, where `above` bounds the excess of the curve of another distance over that of the worst pair."""
        f, error = self._summed(count)
        s = min(2 * self.levels, self.modulus // 2)
        room = T * (math.log1p(error) - math.log1p(-error))
        if delta == 0:
            if np.any(f == 0):
                return math.inf
            log = np.log(f)
            top = max(float(np.max(log - np.roll(log, k))) for k in range(1, s + 1))
            return float((T * top + room) * (1 + 16 * UNIT))
        # *Rounding* in the Notes with eta = error, kappa = ROOM, tau = above, solved for the delta of the computed pair
        delta_lost = T * (above + 2 * f.size * LEAST)
        delta_left = (delta - delta_lost) * math.exp(-T * (error + ROOM)) * (1 - 4 * UNIT) - delta_lost
        if delta_left <= 0:
            return math.inf
        pair = discrete_pair(f, np.roll(f, s))
        return float((float(pair.compose(T).epsilon(delta_left)) + room) * (1 + 4 * UNIT))

    def local_variance(self) -> float:
        """Variance of one client's noise before reduction modulo M; less than `variance` for the discrete Gaussian.

        Examples
        --------
        >>> ModularNoise("skellam", variance=3.0, levels=1, bits=4).local_variance()
        3.0
        """
        if self.noise is Noise.SKELLAM:
            return float(self.variance)
        reach = math.ceil(40 * math.sqrt(self.variance)) + 2
        k = np.arange(-reach, reach + 1)
        mass = np.exp(-(k * k) / (2 * self.variance))
        return float(k * k @ mass / mass.sum())

    def mse(self, w: ArrayLike) -> float:
        """Exact mean squared error of the decoded mean of n clients, including the error by wrap-around.

        Parameters
        ----------
        w : array_like, shape (n,)
            In [-1, 1].

        Examples
        --------
        >>> one = ModularNoise("skellam", variance=4.0, levels=4, bits=8, clients=2)
        >>> round(one.mse([0.25, -0.5]), 6)  # 2 * 4 / (2 * 4)^2
        0.125
        """
        x = real("w", w, "[-1, 1]") * self.levels
        if x.shape != (self.clients,):
            raise ParameterError("w", f"array of shape {x.shape}", f"shape ({self.clients},)")
        floors = np.floor(x)
        rounding_law = coins(x - floors)
        f, M = self._summed(self.clients)[0], self.modulus
        start, total = int(floors.sum()), float(x.sum())
        wrapped = np.zeros(M)
        np.add.at(wrapped, np.arange(rounding_law.size) % M, rounding_law)
        sum_law = np.roll(circular(wrapped, f), start)
        decoded = (np.arange(M) + M // 2) % M - M // 2
        return float(sum_law @ (decoded - total) ** 2) / (self.clients * self.levels) ** 2

    def mean_mse(self) -> float:
        """Mean squared error for uniform inputs without wrap-around: the noise, and rounding with mean variance 1/6.

        Examples
        --------
        >>> round(ModularNoise("skellam", variance=4.0, levels=4, bits=8, clients=2).mean_mse(), 6)
        0.130208
        """
        return float((self.local_variance() + 1 / 6) / (self.clients * self.levels**2))

    def worst_mse(self) -> float:
        r"""Upper bound of the greatest error of the decoded mean; infinite if M does not cover the range of the sum.

        Notes
        -----
        Let :math:`S = \mu + E` be the sum before reduction modulo M, :math:`|\mu| \le n\ell < M/2`, and :math:`Mk`
        the multiple of M that the reduction subtracts. :math:`(E - Mk)^2 \le E^2 + M^2k^2`, because k and E have the
        same sign where k is not 0. :math:`\mathrm{E}E^2` is at most n times the variance of the noise plus 1/4.
        :math:`k^2 = \sum_{j\ge1}(2j-1)[|k| \ge j]`, and :math:`|k| \ge j` requires :math:`|N| \ge (2j-1)M/2 - n\ell`
        for the noise N. Its tails are bounded by Chernoff's bound; a discrete Gaussian has the bound of the Gaussian
        with its parameter (Canonne, Kamath and Steinke 2020, Fact 18).

        Examples
        --------
        >>> one = ModularNoise("skellam", variance=4.0, levels=4, bits=8, clients=2)
        >>> round(one.worst_mse(), 6)  # 2 * (4 + 1/4) / (2 * 4)^2
        0.132813
        """
        n, M, top = self.clients, self.modulus, self.clients * self.levels
        if 2 * top >= M or self._tail(_TURNS * M) > LEAST:
            return math.inf
        wrong = 2 * sum((2 * j - 1) * self._tail((2 * j - 1) * M / 2 - top) for j in range(1, _TURNS + 1))
        return float((n * (self.local_variance() + 0.25) + M * M * wrong) / top**2 * (1 + 64 * UNIT))

    def _tail(self, t: float) -> float:
        r"""Chernoff's bound of P(N >= t), the minimum of :math:`e^{v(\cosh\theta - 1) - \theta t}`.

        It is attained at :math:`\sinh\theta = t/v`.
        """
        v = self.variance * self.clients
        if self.noise is Noise.GAUSSIAN:
            return min(math.exp(-t * t / (2 * v)), 1.0)
        theta = math.asinh(t / v)
        return min(math.exp(2 * v * math.sinh(theta / 2) ** 2 - theta * t), 1.0)


def calibrated(
    noise: Noise | str,
    *,
    epsilon: float,
    delta: float,
    levels: int,
    bits: int,
    clients: int = 1,
    rounds: int = 1,
    observer: ServerView | str = ServerView.AGGREGATE,
) -> ModularNoise:
    """The least variance for which T rounds are (epsilon, delta)-private, rounded up, to about a relative 1e-9.

    Adjacency ``replace``.

    Parameters
    ----------
    noise : {"skellam", "discrete gaussian"}
    epsilon, delta : float
        delta = 0 asks for pure epsilon.
    levels, bits, clients
        See :class:`ModularNoise`.
    rounds : int
    observer : {"uplink", "aggregate"}

    Raises
    ------
    ParameterError
        If no variance in [0.01, 1e7] suffices.

    Examples
    --------
    >>> found = calibrated("skellam", epsilon=1.0, delta=1e-5, levels=8, bits=10, clients=50)
    >>> found.epsilon(1e-5) <= 1.0, round(found.variance, 2)
    (True, 71.2)
    """
    from scipy.optimize import brentq

    goal = checks.scalar("epsilon", epsilon, "(0, 100]")
    widest = ModularNoise(noise, variance=_GREATEST, levels=levels, bits=bits, clients=clients)

    T, count = checks.count("rounds", rounds), widest._noise_clients(observer, 0)

    def at(log_variance: float) -> ModularNoise:
        return replace(widest, variance=min(max(math.exp(log_variance), _SMALLEST), _GREATEST))

    def excess(log_variance: float) -> float:
        return min(at(log_variance)._epsilon(delta, T, count, 0.0), 1e3) - goal

    if widest.epsilon(delta, rounds=T, observer=observer) > goal:
        raise ParameterError("epsilon", epsilon, f"achievable with a variance of at most {_GREATEST:g}")
    guess = math.log(gaussian.sigma(goal, max(delta, 1e-12), sensitivity=2.0 * levels) ** 2 * T / count)
    low = high = min(max(guess, math.log(_SMALLEST)), math.log(_GREATEST))
    while excess(high) > 0:
        high = min(high + 1, math.log(_GREATEST))
    while low > math.log(_SMALLEST) and excess(low) <= 0:
        low = max(low - 1, math.log(_SMALLEST))
    if excess(low) <= 0:
        return at(low)
    log_root = float(brentq(excess, low, high, xtol=1e-10))
    for power in range(_STEPS):
        candidate = at(log_root + 1e-10 * (2**power - 1))
        if candidate.epsilon(delta, rounds=T, observer=observer) <= goal:
            return candidate
    raise ConvergenceError(f"no variance near {math.exp(log_root):g} achieves the given epsilon")
