r"""Laws of the power gain of a fading channel: how likely a threshold is exceeded, what inverting the gain costs, and draws.

A law has mean 1; the power gain of a device is its mean power :math:`\Omega` times G. Thresholds are relative to the mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from airtight.analytics.checks import FloatArray

_COMMON = 1e-9  # probability of exceeding the threshold from which a Rician gain is a quantile of the law below
_LEAST_RATIO = 1e-300  # the least threshold but 0
_LEAST_TAIL = 1e-300  # whose quantile is drawn
_ROUNDING = 1e-12  # of thresholds, whose logarithms are up to 700
_ERROR = 1e-10  # more than the relative error of the mean of 1/G
_CANCELS = 1e-3  # below, one minus the law is no longer accurate
_TERMS, _CONVERGENTS = 20, 80  # 1/20! and, at x = 1, the difference of two convergents are below the rounding
_HALVINGS = 70  # of the interval of its logarithm


class Fading(StrEnum):
    """The law of the power gain of one device at one antenna; phases are uniform and independent.

    ========= ===================================================================================
    value     power gain
    ========= ===================================================================================
    none      the mean power, and every antenna receives the same
    rayleigh  exponential
    rician    line of sight and scatter, `k_factor` their ratio
    nakagami  gamma law of `shape` m
    lognormal shadowing of `shadowing_db` standard deviation, the same for all antennas of the server
    ========= ===================================================================================
    """

    NONE = "none"
    RAYLEIGH = "rayleigh"
    RICIAN = "rician"
    NAKAGAMI = "nakagami"
    LOGNORMAL = "lognormal"


FadingName: TypeAlias = Fading | Literal["none", "rayleigh", "rician", "nakagami", "lognormal"]


class PowerGain(ABC):
    r"""The law of the power gain G over its mean.

    A new law is a subclass with its three formulas, and a line of :data:`LAWS`.

    Attributes
    ----------
    parameter : str or None
        The parameter of :class:`~airtight.analytics.inference.channel.Channel` that the law takes: required with this law,
        refused with others.
    common_to_antennas : bool
        Whether one draw holds for all antennas of a place, as that of a shadow does.
    relative_error : float
        More than the relative error of :meth:`inverse_above`.
    """

    parameter: ClassVar[str | None] = None
    common_to_antennas: ClassVar[bool] = False
    relative_error: ClassVar[float] = _ERROR

    def exceeds(self, ratio: FloatArray) -> FloatArray:
        """P(G >= ratio).

        Examples
        --------
        >>> Nakagami(2.0).exceeds(np.array([0.0, 1.0])).round(4)
        array([1.   , 0.406])
        """
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            return np.asarray(np.clip(self._exceeds(ratio), 0.0, 1.0))

    def inverse_above(self, ratio: FloatArray) -> FloatArray:
        """E[1/G; G >= ratio], the mean of 1/G where G is at least `ratio`, and of 0 elsewhere; it may be infinite at 0.

        Examples
        --------
        >>> Rayleigh().inverse_above(np.array([0.0, 0.5])).round(4)
        array([   inf, 0.5598])
        """
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            return np.asarray(self._inverse_above(ratio), dtype=float)

    def threshold_for(self, inverse: FloatArray) -> FloatArray:
        r"""The least g with :math:`E[1/G; G \ge g] \le` `inverse`, shape (n,): a long-term limit of the energy, rounded up.

        Notes
        -----
        The left side falls in g and is at most 1/g, since 1/G is at most 1/g where G is at least g: so 1/`inverse` is an upper
        end, and halving the interval keeps it one. Values of the left side, but the exact ones without fading, are raised
        by a relative 1e-10. They are sums of positive terms; the logarithms of the probabilities of counts, below 1000, err by
        1e-12, and SciPy's gamma functions by 1e-11 at most where they were compared with 40 digits (1e-13 but far in the tail).

        Examples
        --------
        >>> Rayleigh().threshold_for(np.array([0.5598, 0.0])).round(3)
        array([0.5, inf])
        """
        distinct, place = np.unique(inverse, return_inverse=True)
        raised = 1 + self.relative_error
        always = self.inverse_above(np.zeros(distinct.size)) * raised <= distinct
        with np.errstate(divide="ignore", over="ignore"):
            low, high = (
                np.full(distinct.size, np.log(_LEAST_RATIO)),
                np.maximum(-np.log(distinct), np.log(_LEAST_RATIO)),
            )
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                kept = self.inverse_above(np.exp(middle)) * raised <= distinct
                low, high = np.where(kept, low, middle), np.where(kept, middle, high)
            threshold = np.where(always, 0.0, np.where(distinct > 0, np.exp(high) * (1 + _ROUNDING), np.inf))
        return np.asarray(threshold[place].reshape(inverse.shape))

    def drawn_above(self, u: FloatArray, threshold: FloatArray, mean: FloatArray) -> FloatArray:
        """Power gains of mean `mean` given that they are at least `threshold`, by inversion of their tail at u P(above)."""
        with np.errstate(over="ignore", divide="ignore"):
            above = self.exceeds(threshold / mean)
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            gain = self._drawn_above(u, threshold, mean, above)
        return np.asarray(np.maximum(gain, np.maximum(threshold, np.finfo(float).tiny)))

    @abstractmethod
    def _exceeds(self, ratio: FloatArray) -> FloatArray:
        """P(G >= ratio), up to rounding beyond [0, 1]."""

    @abstractmethod
    def _inverse_above(self, ratio: FloatArray) -> FloatArray:
        """E[1/G; G >= ratio]."""

    @abstractmethod
    def _drawn_above(self, u: FloatArray, threshold: FloatArray, mean: FloatArray, above: FloatArray) -> FloatArray:
        """Gains given that they are at least `threshold`, which happens with probability `above`."""


class NoFading(PowerGain):
    """G = 1, and every antenna receives the same."""

    relative_error = 0.0

    def _exceeds(self, ratio: FloatArray) -> FloatArray:
        return (ratio <= 1).astype(float)

    def _inverse_above(self, ratio: FloatArray) -> FloatArray:
        return (ratio <= 1).astype(float)

    def drawn_above(self, u: FloatArray, threshold: FloatArray, mean: FloatArray) -> FloatArray:
        """The mean, whatever the threshold."""
        return np.broadcast_to(mean, u.shape)

    def _drawn_above(self, u: FloatArray, threshold: FloatArray, mean: FloatArray, above: FloatArray) -> FloatArray:
        return np.broadcast_to(mean, u.shape)


class Rayleigh(PowerGain):
    r"""An exponential gain: :math:`P(G \ge g) = e^{-g}` and :math:`E[1/G; G \ge g] = E_1(g)`."""

    def _exceeds(self, ratio: FloatArray) -> FloatArray:
        return np.exp(-ratio)

    def _inverse_above(self, ratio: FloatArray) -> FloatArray:
        from scipy import special

        return np.asarray(special.exp1(ratio))

    def _drawn_above(self, u: FloatArray, threshold: FloatArray, mean: FloatArray, above: FloatArray) -> FloatArray:
        return threshold - mean * np.log1p(-u)


@dataclass(frozen=True)
class Nakagami(PowerGain):
    r"""A gamma law of shape m: :math:`P(G \ge g) = Q(m, mg)` and :math:`E[1/G; G \ge g] = m\,\Gamma(m-1, mg)/\Gamma(m)`."""

    parameter = "shape"
    shape: float

    def _exceeds(self, ratio: FloatArray) -> FloatArray:
        from scipy import special

        return np.asarray(special.gammaincc(self.shape, self.shape * ratio))

    def _inverse_above(self, ratio: FloatArray) -> FloatArray:
        return _gamma_inverse(self.shape, ratio)

    def _drawn_above(self, u: FloatArray, threshold: FloatArray, mean: FloatArray, above: FloatArray) -> FloatArray:
        from scipy import special

        return np.asarray(mean / self.shape * special.gammainccinv(self.shape, np.maximum((1 - u) * above, _LEAST_TAIL)))


@dataclass(frozen=True)
class Rician(PowerGain):
    r"""A line of sight and scatter, K = `k_factor` the ratio of their powers (not dB); 0 is Rayleigh fading.

    :math:`2(1 + K)G` is noncentral chi-square of two degrees of freedom and noncentrality 2K, which is also a Poisson mixture
    of gamma laws; the mixture gives the tail and E[1/G; G >= g].

    Notes
    -----
    FDP Sec. VI speaks of "a Rician channel model with a variance of sigma_m^2 = 0.1", which is the receiver noise; neither
    K-factor nor mean power is given.

    Examples
    --------
    >>> float(1 - Rician(0.0).exceeds(np.array(0.01)))  # Rayleigh: 1 - exp(-0.01)
    0.00995016...
    """

    parameter = "k_factor"
    k_factor: float

    def _exceeds(self, ratio: FloatArray) -> FloatArray:
        from scipy import special

        finite = np.where(np.isfinite(ratio), ratio, 0.0)
        amplitude = np.sqrt(finite)
        above = 1 - special.chndtr(2 * (1 + self.k_factor) * amplitude * amplitude, 2.0, 2 * self.k_factor)
        count, poisson = self._counts()
        tails = special.gammaincc(count + 1, (1 + self.k_factor) * finite[..., None])
        above = np.where(above < _CANCELS, tails @ poisson, above)
        return np.where(np.isfinite(ratio), above, 0.0)

    def _inverse_above(self, ratio: FloatArray) -> FloatArray:
        from scipy import special

        count, poisson = self._counts()
        x = np.asarray((1 + self.k_factor) * ratio)
        tails = special.gammaincc(count, x[..., None]) / np.maximum(count, 1.0)
        none = poisson[0] * special.exp1(x) if count[0] == 0 else 0.0  # gammaincc(0, x) is 0
        return np.where(ratio > 0, (1 + self.k_factor) * (none + tails @ poisson), np.inf)

    def _drawn_above(self, u: FloatArray, threshold: FloatArray, mean: FloatArray, above: FloatArray) -> FloatArray:
        from scipy import special

        tail = np.maximum((1 - u) * above, _LEAST_TAIL)
        common = np.broadcast_to(above >= _COMMON, tail.shape)
        unit = mean / (2 * (1 + self.k_factor))
        gain = np.asarray(unit * special.chndtrix(1 - np.where(common, tail, 0.5), 2.0, 2 * self.k_factor))
        if not np.all(common):  # SciPy's quantile of the tail costs a hundred times as much
            from scipy import stats

            rare = stats.ncx2.isf(tail[~common], 2.0, 2 * self.k_factor)
            gain[~common] = np.broadcast_to(unit, tail.shape)[~common] * rare
        return gain

    def _counts(self) -> tuple[FloatArray, FloatArray]:
        r"""The counts of a Rician power, a Poisson mixture of gamma laws of shape count + 1, and their probabilities.

        Of a tail at x the counts near :math:`\sqrt{Kx}` matter; beyond :math:`\sqrt x = \sqrt K + 30` it is no double. Counts
        further below K than the first one have a probability of :math:`e^{-1000}`. Probabilities are products of quotients
        of neighbours, as the logarithms of factorials err by as much as they are large.
        """
        mean = self.k_factor
        width = 45 * np.sqrt(mean) + 100
        count = np.arange(max(int(mean - width), 0), int(mean + width), dtype=np.float64)
        log_quotients = np.log1p((mean - count[1:]) / count[1:]) if mean > 0 else np.full(count.size - 1, -np.inf)
        logs = np.append(0.0, np.cumsum(log_quotients))
        share = np.exp(logs - np.max(logs))
        return count, share / np.sum(share)


@dataclass(frozen=True)
class LogNormal(PowerGain):
    r"""Shadowing of `shadowing_db` standard deviation, the same for all antennas of a place.

    :math:`P(G \ge g) = \Phi((\mu_{dB} - 10\log_{10}g)/\sigma_{dB})`, with :math:`\mu_{dB}` such that the mean is 1;
    E[1/G; G >= g] is a tail of the normal law moved by its variance.
    """

    parameter = "shadowing_db"
    common_to_antennas = True
    shadowing_db: float

    def _exceeds(self, ratio: FloatArray) -> FloatArray:
        from scipy import special

        return np.asarray(special.ndtr((self._center - 10 * np.log10(ratio)) / self.shadowing_db))

    def _inverse_above(self, ratio: FloatArray) -> FloatArray:
        from scipy import special

        scale = np.log(10.0) / 10
        moved = self._center - scale * self.shadowing_db**2
        tail = special.log_ndtr((moved - 10 * np.log10(ratio)) / self.shadowing_db)
        return np.asarray(np.exp(tail - scale * self._center + (scale * self.shadowing_db) ** 2 / 2))

    def _drawn_above(self, u: FloatArray, threshold: FloatArray, mean: FloatArray, above: FloatArray) -> FloatArray:
        from scipy import special

        tail = np.maximum((1 - u) * above, _LEAST_TAIL)
        return np.asarray(mean * 10 ** ((self._center - self.shadowing_db * special.ndtri(tail)) / 10))

    @property
    def _center(self) -> float:
        """The mean of the gain in dB."""
        return float(-np.log(10.0) / 20 * self.shadowing_db * self.shadowing_db)


LAWS: Mapping[Fading, type[PowerGain]] = {
    Fading.NONE: NoFading,
    Fading.RAYLEIGH: Rayleigh,
    Fading.RICIAN: Rician,
    Fading.NAKAGAMI: Nakagami,
    Fading.LOGNORMAL: LogNormal,
}


def _gamma_inverse(m: float, ratio: FloatArray) -> FloatArray:
    r"""E[1/G; G >= ratio] for a gamma law of shape m: :math:`m\Gamma(m - 1, x)/\Gamma(m)` at :math:`x = m\,ratio`.

    Notes
    -----
    Below m = 1, with :math:`a = m - 1` and x < 1,

    .. math:: \Gamma(a, x) = \frac{(\Gamma(1 + a) - 1) - (x^a - 1)}a + x^a\sum_{n\ge1}\frac{(-1)^{n+1}x^n}{n!\,(a + n)} ,

    whose first part is positive and whose sum alternates; :math:`\log\Gamma(1 + a)` is a series of positive terms. For x of
    1 and more :math:`\Gamma(a, x)x^{-a}e^x` is the continued fraction of Legendre, of positive elements: consecutive
    convergents lie on both sides of it.
    """
    from scipy import special

    if m > 1:
        return np.asarray(special.gammaincc(m - 1, m * ratio) * m / (m - 1))
    if m == 1:
        return np.asarray(special.exp1(ratio))
    a, x = m - 1, m * np.asarray(ratio)
    near, far = np.clip(x, np.finfo(float).tiny, 1.0), np.maximum(x, 1.0)
    n = np.arange(1, _TERMS)
    terms = -((-near[..., None]) ** n) / (special.gamma(n + 1) * (a + n))
    k = np.arange(2, _CONVERGENTS)
    log_gamma = -np.euler_gamma * a + np.sum(special.zeta(k) * (-a) ** k / k)  # of 1 + a, relatively accurate near 1
    first = (np.expm1(log_gamma) - np.expm1(a * np.log(near))) / a
    series = first + near**a * np.sum(terms, axis=-1)
    fraction = far
    for j in range(_CONVERGENTS, 0, -1):
        fraction = far + (j - a) / (1 + j / fraction)
    incomplete_gamma = np.where(x < 1, series, far**a * np.exp(-far) / fraction)
    return np.asarray(np.where(ratio > 0, incomplete_gamma * m / special.gamma(m), np.inf))
