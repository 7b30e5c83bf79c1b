r"""Laws of the power gain of a fading channel: how likely a threshold is exceeded, what inverting the gain costs, and draws.

A law has mean 1; the power gain of a device is its mean power :math:`\Omega` times G. Thresholds are relative to the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray

_COMMON = 1e-9  # probability of exceeding the threshold from which a Rician gain is a quantile of the law below
_LEAST_RATIO = 1e-300  # the least threshold but 0
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


@dataclass(frozen=True, kw_only=True)
class RicianFading:
    r"""Block fading amplitudes :math:`h = |\nu + \sigma(X + iY)|`, X and Y standard normal; constant during a block.

    Parameters
    ----------
    k_factor : float
        :math:`\nu^2/(2\sigma^2) \ge 0`, line of sight over scatter, a ratio (not dB); 0 is Rayleigh fading.
    mean_power : float
        :math:`E h^2 = \nu^2 + 2\sigma^2 > 0`, a ratio.

    Notes
    -----
    FDP Sec. VI speaks of "a Rician channel model with a variance of sigma_m^2 = 0.1", which is the receiver noise; neither
    K-factor nor mean power is given. :meth:`scattered` takes that variance as the scatter's.

    Examples
    --------
    >>> float(RicianFading(k_factor=0.0, mean_power=1.0).outage(0.1))  # Rayleigh: 1 - exp(-0.01)
    0.00995016...
    """

    k_factor: float
    mean_power: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "k_factor", checks.scalar("k_factor", self.k_factor, "[0, inf)"))
        object.__setattr__(self, "mean_power", checks.scalar("mean_power", self.mean_power, "(0, inf)"))

    @classmethod
    def rayleigh(cls, mean_power: float = 1.0) -> RicianFading:
        """No line of sight."""
        return cls(k_factor=0.0, mean_power=mean_power)

    @classmethod
    def scattered(cls, variance: float, *, line_of_sight: float = 1.0) -> RicianFading:
        """A line of sight of the given amplitude plus complex scatter of the given total variance.

        Examples
        --------
        >>> RicianFading.scattered(0.1)
        RicianFading(k_factor=10.0, mean_power=1.1)
        """
        scatter = checks.scalar("variance", variance, "(0, inf)")
        direct = checks.scalar("line_of_sight", line_of_sight, "[0, inf)") ** 2
        return cls(k_factor=direct / scatter, mean_power=direct + scatter)

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Independent amplitudes."""
        scatter = np.sqrt(self.mean_power / (2 * (1 + self.k_factor)))
        direct = np.sqrt(self.mean_power * self.k_factor / (1 + self.k_factor))
        return np.asarray(np.hypot(direct + scatter * rng.standard_normal(size), scatter * rng.standard_normal(size)))

    def outage(self, amplitude: ArrayLike) -> FloatArray:
        r"""Pr(h < amplitude): a noncentral chi-square law of two degrees of freedom, noncentrality 2K."""
        from scipy import special

        h = checks.real("amplitude", amplitude, "[0, inf)")
        square = 2 * (1 + self.k_factor) * h * h / self.mean_power
        return np.asarray(special.chndtr(square, 2.0, 2 * self.k_factor))[()]


@dataclass(frozen=True)
class PowerGain:
    """The law of the power gain G over its mean.

    Attributes
    ----------
    fading : Fading
    k_factor, shape, shadowing_db : float
        Of Rician, Nakagami and log-normal fading.
    """

    fading: Fading
    k_factor: float = 0.0
    shape: float = 1.0
    shadowing_db: float = 1.0

    def exceeds(self, ratio: FloatArray) -> FloatArray:
        r"""P(G >= ratio).

        Notes
        -----
        Rayleigh: :math:`e^{-g}`; Nakagami: :math:`Q(m, mg)`, the regularised upper gamma function; Rician:
        :meth:`~airtight.analytics.inference.fading.RicianFading.outage` at :math:`\sqrt g`, and in the tail a mixture of
        gamma laws; log-normal:
        :math:`\Phi((\mu_{dB} - 10\log_{10}g)/\sigma_{dB})`, with :math:`\mu_{dB}` such that the mean is 1.

        Examples
        --------
        >>> PowerGain(Fading.NAKAGAMI, shape=2.0).exceeds(np.array([0.0, 1.0])).round(4)
        array([1.   , 0.406])
        """
        from scipy import special

        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            match self.fading:
                case Fading.NONE:
                    probability = (ratio <= 1).astype(float)
                case Fading.RAYLEIGH:
                    probability = np.exp(-ratio)
                case Fading.NAKAGAMI:
                    probability = special.gammaincc(self.shape, self.shape * ratio)
                case Fading.RICIAN:
                    finite = np.where(np.isfinite(ratio), ratio, 0.0)
                    above = 1 - RicianFading(k_factor=self.k_factor).outage(np.sqrt(finite))
                    count, poisson = self._counts()
                    tails = special.gammaincc(count + 1, (1 + self.k_factor) * finite[..., None])
                    above = np.where(above < _CANCELS, tails @ poisson, above)
                    probability = np.where(np.isfinite(ratio), above, 0.0)
                case Fading.LOGNORMAL:
                    probability = special.ndtr((self._center - 10 * np.log10(ratio)) / self.shadowing_db)
        return np.asarray(np.clip(probability, 0.0, 1.0))

    def inverse_above(self, ratio: FloatArray) -> FloatArray:
        r"""E[1/G; G >= ratio], the mean of 1/G where G is at least `ratio`, and of 0 elsewhere; it may be infinite at 0.

        Notes
        -----
        Rayleigh: :math:`E_1(g)`; Nakagami: :math:`m\,\Gamma(m-1, mg)/\Gamma(m)`; Rician: the Poisson mixture of gamma laws
        that its power is; log-normal: a normal law moved by its variance.

        Examples
        --------
        >>> PowerGain(Fading.RAYLEIGH).inverse_above(np.array([0.0, 0.5])).round(4)
        array([   inf, 0.5598])
        """
        from scipy import special

        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            match self.fading:
                case Fading.NONE:
                    found = (ratio <= 1).astype(float)
                case Fading.RAYLEIGH:
                    found = special.exp1(ratio)
                case Fading.NAKAGAMI:
                    found = _gamma_inverse(self.shape, ratio)
                case Fading.RICIAN:
                    count, poisson = self._counts()
                    x = np.asarray((1 + self.k_factor) * ratio)
                    tails = special.gammaincc(count, x[..., None]) / np.maximum(count, 1.0)
                    none = poisson[0] * special.exp1(x) if count[0] == 0 else 0.0  # gammaincc(0, x) is 0
                    found = (1 + self.k_factor) * (none + tails @ poisson)
                    found = np.where(ratio > 0, found, np.inf)
                case _:
                    scale = np.log(10.0) / 10
                    moved = self._center - scale * self.shadowing_db**2
                    tail = special.log_ndtr((moved - 10 * np.log10(ratio)) / self.shadowing_db)
                    found = np.exp(tail - scale * self._center + (scale * self.shadowing_db) ** 2 / 2)
        return np.asarray(found, dtype=float)

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
        >>> PowerGain(Fading.RAYLEIGH).threshold_for(np.array([0.5598, 0.0])).round(3)
        array([0.5, inf])
        """
        distinct, place = np.unique(inverse, return_inverse=True)
        raised = 1.0 if self.fading is Fading.NONE else 1 + _ERROR
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
            found = np.where(always, 0.0, np.where(distinct > 0, np.exp(high) * (1 + _ROUNDING), np.inf))
        return np.asarray(found[place].reshape(inverse.shape))

    def drawn_above(self, u: FloatArray, threshold: FloatArray, mean: FloatArray) -> FloatArray:
        """Power gains of mean `mean` given that they are at least `threshold`, by inversion of their tail at u P(above)."""
        from scipy import special

        if self.fading is Fading.NONE:
            return np.broadcast_to(mean, u.shape)
        with np.errstate(over="ignore", divide="ignore"):
            above = self.exceeds(threshold / mean)
        tail = np.maximum((1 - u) * above, 1e-300)
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            match self.fading:
                case Fading.RAYLEIGH:
                    gain = threshold - mean * np.log1p(-u)
                case Fading.NAKAGAMI:
                    gain = mean / self.shape * special.gammainccinv(self.shape, tail)
                case Fading.RICIAN:
                    common = np.broadcast_to(above >= _COMMON, tail.shape)
                    unit = mean / (2 * (1 + self.k_factor))
                    gain = unit * special.chndtrix(1 - np.where(common, tail, 0.5), 2.0, 2 * self.k_factor)
                    if not np.all(common):  # SciPy's quantile of the tail costs a hundred times as much
                        from scipy import stats

                        rare = stats.ncx2.isf(tail[~common], 2.0, 2 * self.k_factor)
                        gain[~common] = np.broadcast_to(unit, tail.shape)[~common] * rare
                case _:
                    gain = mean * 10 ** ((self._center - self.shadowing_db * special.ndtri(tail)) / 10)
        return np.asarray(np.maximum(gain, np.maximum(threshold, np.finfo(float).tiny)))

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

    @property
    def _center(self) -> float:
        """The mean of a log-normal gain in dB."""
        return float(-np.log(10.0) / 20 * self.shadowing_db * self.shadowing_db)


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
    found = np.where(x < 1, series, far**a * np.exp(-far) / fraction)
    return np.asarray(np.where(ratio > 0, found * m / special.gamma(m), np.inf))
