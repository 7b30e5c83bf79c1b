r"""The Gaussian mechanism: classical calibration as printed, and the exact privacy curve of Balle and Wang.

With :math:`\mu = \Delta_f/\sigma`, :math:`a = \epsilon/\mu - \mu/2`, :math:`b = \epsilon/\mu + \mu/2` and Mills' ratio
:math:`R(x) = \Phi(-x)/\varphi(x)`, the identity :math:`e^\epsilon \varphi(b) = \varphi(a)` turns

.. math:: \delta(\epsilon) = \Phi(-a) - e^\epsilon \Phi(-b) \quad\text{into}\quad \varphi(a)\,[R(a) - R(b)],

whose logarithm neither overflows nor underflows.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError, broadcast, real
from airtight.analytics.privacy.mechanisms import gaussian_point
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Factors, Mechanism, register
from airtight.analytics.rounding import NORMAL, SMALLEST, UNIT

_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
_SQRT_HALF_PI = np.sqrt(np.pi / 2)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
_CLOSE = 0.05  # relative drop of Mills' ratio below which its slope is integrated instead of taking the difference
_FRACTION_FROM, _FRACTION_TERMS = 8.0, 16  # from 8 on, 16 terms of the continued fraction err by at most 1e-16
_NEWTON_STEPS = 100  # at most
_HUGE = 1e150  # a ratio sensitivity / sigma from here on counts as infinite, so that its square does not overflow


def mills(x: FloatArray) -> FloatArray:
    """Mills' ratio of the standard normal law, Q(x) / phi(x)."""
    from scipy import special

    return np.asarray(_SQRT_HALF_PI * special.erfcx(x / np.sqrt(2)))


def mills_slope(x: FloatArray) -> FloatArray:
    """-R'(x) = 1 - x R(x) for x > -1, without cancellation."""
    ratio = mills(x)
    slope = np.asarray(1 - x * ratio)
    is_far = x >= _FRACTION_FROM
    if np.any(is_far):
        far = x[is_far]
        fraction = far
        for n in range(_FRACTION_TERMS, 1, -1):
            fraction = far + n / fraction
        slope[is_far] = ratio[is_far] / fraction
    return slope


def mills_drop(a: FloatArray, b: FloatArray, width: FloatArray, lower: FloatArray | None = None) -> FloatArray:
    r"""R(a) - R(b) for b = a + width, to relative 1e-13 however small the width is; `lower` is R(b), if it is known.

    Notes
    -----
    Four Gauss nodes on -R' err by at most 1.3e-14 (relative). Proof, with the width w. :math:`R(a) =
    \int_0^\infty e^{-at - t^2/2}dt` is the total mass of a log-concave law of t; let m be its mean. Then
    :math:`|R^{(9)}| \le 9!\,m^9R(a)` on [a, b] (Barlow, Marshall and Proschan 1963). The failure rate of the law
    increases, so :math:`R(b)/R(a) = E e^{-wt} \le 1/(1 + wm)`. Hence a relative drop below 1/20 has :math:`wm < 1/19`,
    and the error :math:`\frac{(4!)^4}{9\,(8!)^3}w^9|R^{(9)}|` is at most
    :math:`5.63\cdot10^{-10}\cdot9!\,(wm)^8(1 + wm)` of the drop.
    """
    upper = mills(a)
    drop = upper - (mills(b) if lower is None else lower)
    close = drop < _CLOSE * upper
    if np.any(close):
        middle, half = (a[close] + b[close]) / 2, width[close] / 2
        slopes = mills_slope(middle[:, None] + half[:, None] * _NODES)
        drop[close] = width[close] * (slopes @ _WEIGHTS / 2)  # half of a width may underflow
    return drop


def _curve(epsilon: FloatArray, mu: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """log delta, its derivative with respect to epsilon, and a bound on the error of log delta.

    One-dimensional input, 0 < mu < inf, 0 <= epsilon < inf. Where delta is near 1 (`bulk`), log delta is computed from
    1 - delta; elsewhere (`tail`) from the drop of Mills' ratio.
    """
    if mu.size == 1:
        point = gaussian_point.curve(epsilon.item(), mu.item())
        return np.array(point[:1]), np.array(point[1:2]), np.array(point[2:])
    from scipy import special

    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        a = epsilon / mu - mu / 2
        b = epsilon / mu + mu / 2
        log_density = -0.5 * a * a - _LOG_SQRT_2PI
        mills_b = mills(b)
        density_times_mills = np.exp(log_density) * mills_b
        bulk = (a < 0) & (mu >= 0.5)
        log_delta = np.empty_like(a)
        log_delta[bulk] = np.log1p(-(special.ndtr(a[bulk]) + density_times_mills[bulk]))
        tail = ~bulk & np.isfinite(a)
        drop = mills_drop(a[tail], b[tail], mu[tail], mills_b[tail])
        log_delta[tail] = log_density[tail] + np.log(drop)
        log_delta[~bulk & ~tail] = -np.inf
        slope = np.empty_like(a)
        slope[bulk] = -density_times_mills[bulk] / np.exp(log_delta[bulk])
        slope[tail] = -mills_b[tail] / drop
        slope[~bulk & ~tail] = -np.inf
        error = 4 * UNIT * (1 + np.abs(a)) * (1 + b) + 1e-13
        error[log_delta == -np.inf] = 0.0
        error[bulk] = error[bulk] * -np.expm1(log_delta[bulk]) / np.exp(log_delta[bulk]) - 2 * UNIT * log_delta[bulk]
    return log_delta, slope, error


def log_delta(epsilon: ArrayLike, *, sensitivity: ArrayLike, sigma: ArrayLike) -> FloatArray:
    r"""Natural logarithm of the exact delta(epsilon) of the Gaussian mechanism.

    See :func:`delta`; the logarithm stays finite where delta underflows.

    Examples
    --------
    >>> float(log_delta(100.0, sensitivity=1.0, sigma=1.0))
    -4960.25455...
    """
    eps, mu = broadcast(
        epsilon=real("epsilon", epsilon, "[0, inf]"),
        **{"sensitivity, sigma": _ratio(sensitivity, sigma)},
    )
    return np.asarray(log_curve(eps.ravel(), mu.ravel())[0].reshape(eps.shape))[()]


def log_curve(eps: FloatArray, mu: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """log delta of one-dimensional arrays, its derivative in epsilon, its error bound; mu = sensitivity / sigma."""
    out = np.where((mu >= _HUGE) & (eps < np.inf), 0.0, -np.inf)
    slope, error = np.zeros(eps.shape), np.zeros(eps.shape)
    regular = (mu > 0) & (mu < _HUGE) & (eps < np.inf)
    value, slope[regular], error[regular] = _curve(eps[regular], mu[regular])
    out[regular] = np.minimum(value, 0.0)
    return out, slope, error


def delta(epsilon: ArrayLike, *, sensitivity: ArrayLike, sigma: ArrayLike) -> FloatArray:
    r"""Exact delta(epsilon) of the Gaussian mechanism (Balle and Wang 2018, Theorem 8).

    .. math:: \delta(\epsilon) = \Phi(\mu/2 - \epsilon/\mu) - e^\epsilon\,\Phi(-\mu/2 - \epsilon/\mu),
              \qquad \mu = \Delta_f/\sigma.

    Parameters
    ----------
    epsilon : array_like
        At least 0; infinity gives 0.
    sensitivity : array_like
        The L2 sensitivity of what is released, at least 0.
    sigma : array_like
        Standard deviation of the noise per coordinate, at least 0; 0 gives delta = 1 (0 when the sensitivity is 0).

    Returns
    -------
    ndarray or float
        The least delta; its relative error is below 1e-10 down to 1e-300. The arguments are broadcast.

    Raises
    ------
    ParameterError
        When an argument is out of range or NaN.

    References
    ----------
    B. Balle and Y.-X. Wang, Improving the Gaussian mechanism for differential privacy, ICML 2018 ([10] of FDP).

    Examples
    --------
    >>> float(delta(10.0, sensitivity=10.0, sigma=4.844805262605389))  # where (10) promises delta = 1e-5
    2.26537...e-05
    """
    with np.errstate(under="ignore"):
        return np.exp(log_delta(epsilon, sensitivity=sensitivity, sigma=sigma))


def epsilon(delta: ArrayLike, *, sensitivity: ArrayLike, sigma: ArrayLike) -> FloatArray:
    r"""Least epsilon with delta(epsilon) <= delta, rounded up.

    Parameters
    ----------
    delta : array_like
        In (0, 1].
    sensitivity, sigma : array_like
        As in :func:`delta`.

    Returns
    -------
    ndarray or float
        Rounded up: `log_delta` at the result plus its error bound is at most log(delta). The excess over the exact
        epsilon is below 1e-10 relative where the inverse is well conditioned (delta not within 1e-10 of delta(0)).

    Raises
    ------
    ParameterError
        When an argument is out of range or NaN.

    Notes
    -----
    delta(eps) = E[(1 - exp(eps - L))_+] with L normal: a convolution of log-concave functions, so log delta is concave
    in eps (Prekopa). Newton's method on a concave decreasing function, started right of the root, falls monotonically
    towards it: every iterate is already on the safe side. The start is where Phi(-a) = delta, right of the root since
    delta(eps) <= Phi(-a).

    Examples
    --------
    >>> float(epsilon(1e-5, sensitivity=1.0, sigma=1.0))
    4.37717...
    >>> float(epsilon(1e-300, sensitivity=1.0, sigma=1.0))
    37.44884...
    """
    target, mu = broadcast(
        delta=np.log(real("delta", delta, "(0, 1]")), **{"sensitivity, sigma": _ratio(sensitivity, sigma)}
    )
    shape = target.shape
    target, mu = target.ravel(), mu.ravel()
    out = np.where((mu >= _HUGE) & (target < 0), np.inf, 0.0)
    regular = (mu > 0) & (mu < _HUGE)
    out[regular] = _least_epsilon(target[regular], mu[regular])
    return np.asarray(out.reshape(shape))[()]


def _least_epsilon(target: FloatArray, mu: FloatArray) -> FloatArray:
    """The least epsilon at each log delta, rounded up; 0 < mu < `_HUGE`."""
    if mu.size == 1:
        return np.array([gaussian_point.least_epsilon(target.item(), mu.item())])
    at_zero, _, error = _curve(np.zeros(mu.size), mu)
    out, above = np.zeros(mu.size), ~(at_zero + error <= target)
    out[above] = _invert(target[above], mu[above])
    return out


def _below(result: FloatArray, target: FloatArray, mu: FloatArray) -> FloatArray:
    """Lower epsilon by doubling steps, first by 1e-13, until curve minus error is above the target; 0 where it never is."""
    if mu.size == 1:
        return np.array([gaussian_point.below(result.item(), target.item(), mu.item())])
    step = 1e-13
    while True:
        value, _, error = _curve(result, mu)
        unsafe = ~(value - error > target) & (result > 0)
        if not np.any(unsafe):
            return result
        result = np.where(unsafe, np.where(step < 1, result * (1 - step), 0.0), result)
        step = 2 * step


def _invert(target: FloatArray, mu: FloatArray) -> FloatArray:
    """Newton's method from the right of the root; see the notes of :func:`epsilon`."""
    from scipy import special

    start = -special.ndtri_exp(np.minimum(target, -1e-300)) * (1 + 1e-9)
    result = np.maximum(mu * (start + mu / 2), 0.0)
    active = np.arange(mu.size)
    for _ in range(_NEWTON_STEPS):
        if not active.size:
            break
        value, slope, error = _curve(result[active], mu[active])
        with np.errstate(invalid="ignore"):
            step = (value + 3 * error - target[active]) / slope
        moved = np.where(np.isfinite(step), np.maximum(result[active] - step, 0.0), result[active] / 2)
        settled = np.abs(moved - result[active]) <= 1e-14 * moved
        result[active] = moved
        active = active[~settled]
    return _step_up(result, target, mu)


def _step_up(result: FloatArray, target: FloatArray, mu: FloatArray) -> FloatArray:
    """Raise epsilon by doubling steps, first one unit in the last place, until curve plus error is below the target."""
    step = np.spacing(result)
    while True:
        value, _, error = _curve(result, mu)
        unsafe = ~(value + error <= target) & (result < np.inf)
        if not np.any(unsafe):
            return result
        result = np.where(unsafe, result + step, result)
        step = 2 * step


def sigma(epsilon: ArrayLike, delta: ArrayLike, *, sensitivity: ArrayLike) -> FloatArray:
    r"""Least noise with which the Gaussian mechanism is (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    epsilon : array_like
        In [0, inf].
    delta : array_like
        In (0, 1].
    sensitivity : array_like
        At least 0.

    Returns
    -------
    ndarray or float
        Standard deviation per coordinate, at most 1e-10 relative above the exact one.

    Raises
    ------
    ParameterError
        When an argument is out of range or NaN.

    Examples
    --------
    >>> float(sigma(10.0, 1e-100, sensitivity=1.0))  # diffprivlib says 0.893
    2.13273...
    """
    from scipy import special

    eps, target, sensitivities = broadcast(
        epsilon=real("epsilon", epsilon, "[0, inf]"),
        delta=np.log(real("delta", delta, "(0, 1]")),
        sensitivity=real("sensitivity", sensitivity, "[0, inf)"),
    )
    shape = eps.shape
    eps, target, sensitivities = eps.ravel(), target.ravel(), sensitivities.ravel()
    out = np.zeros(eps.shape)
    regular = (eps < np.inf) & (target < 0) & (sensitivities > 0)
    eps, target = eps[regular], target[regular]

    a = -special.ndtri_exp(target)  # delta <= Phi(-a), so the mu of this a is a lower bound of the root
    spread = np.sqrt(2) * np.sqrt(eps)
    root = np.hypot(a, spread)
    floor = np.where(a > 0, spread * (spread / (root + np.abs(a))), root - a)
    low = np.log(np.maximum(floor, 2 * np.sqrt(2) * special.erfinv(np.exp(target)))) - 1.0
    low = np.maximum(low, target - 2.0)  # from delta <= mu / sqrt(2 pi), for an exp(target) that underflows
    high = np.log(spread + np.abs(a) + 40.0)  # epsilon / mu - mu / 2 <= -20: delta is 1 in doubles
    out[regular] = sensitivities[regular] / _step_down(_greatest_ratio(target, eps, low, high, floor), target, eps)
    return np.asarray(out.reshape(shape))[()]


def _greatest_ratio(
    target: FloatArray, eps: FloatArray, low: FloatArray, high: FloatArray, otherwise: FloatArray
) -> FloatArray:
    """The mu whose curve is at the target, its logarithm from `low` to `high`; `otherwise` where it is not in between.

    Newton's method in log mu; where it leaves the interval, halving. As d delta / d mu = phi(a) and d delta / d epsilon =
    -phi(a) R(b), the slope of log delta in log mu is that in epsilon times -mu / R(b).
    """

    def excess(log_mu: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        mu = np.exp(log_mu)
        value, slope, error = _curve(eps[rows], mu)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return value + 3 * error - target[rows], -slope * mu / mills(eps[rows] / mu + mu / 2)

    active = np.arange(target.size)
    # at a huge epsilon there is no interval in doubles, and the lower bound is the root to all digits
    within = (excess(low, active)[0] <= 0) & (excess(high, active)[0] > 0)
    active, result = active[within], low.copy()
    low, high = low.copy(), high.copy()
    for _ in range(_NEWTON_STEPS):
        if not active.size:
            break
        here = result[active]
        above, slope = excess(here, active)
        low[active], high[active] = np.where(above > 0, low[active], here), np.where(above > 0, here, high[active])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            moved = here - above / slope
        between = (moved >= low[active]) & (moved <= high[active])
        result[active] = np.where(between, moved, (low[active] + high[active]) / 2)
        active = active[np.abs(result[active] - here) > 1e-14 * np.maximum(np.abs(here), 1.0)]
    return np.where(within, np.exp(result), otherwise)


def _step_down(mu: FloatArray, target: FloatArray, eps: FloatArray) -> FloatArray:
    """Lower mu by doubling steps until the curve at mu, and a little above it, is below the target with its error."""
    step = 1e-15
    while True:
        value, _, error = _curve(eps, mu * (1 + 4 * UNIT))
        unsafe = ~(value + error <= target)
        if not np.any(unsafe):
            return mu
        mu = np.where(unsafe, mu * (1 - step), mu)
        step = min(2 * step, 0.5)


def classical_epsilon(delta: ArrayLike, *, sensitivity: ArrayLike, sigma: ArrayLike) -> FloatArray:
    r"""The epsilon that FDP Definition 2 prints, :math:`(\Delta_f/\sigma)\sqrt{2\log(1.25/\delta)}` (FDP Eq. (10)).

    This is a valid guarantee only where the result is at most 1 (Dwork and Roth, Theorem A.1), although the paper
    states it "for any delta in (0, 1]".

    Examples
    --------
    >>> float(classical_epsilon(1e-5, sensitivity=1.0, sigma=10.0))
    0.48448...
    """
    ratio = _ratio(sensitivity, sigma)
    root = np.sqrt(2 * np.log(1.25 / real("delta", delta, "(0, 1]")))
    ratio, root = broadcast(**{"sensitivity, sigma": ratio, "delta": root})
    return np.asarray(ratio * root)[()]


def _ratio(sensitivity: ArrayLike, sigma: ArrayLike) -> FloatArray:
    """mu = sensitivity / sigma; 0 / 0 is 0, since nothing is released about the input."""
    top, bottom = broadcast(
        sensitivity=real("sensitivity", sensitivity, "[0, inf)"), sigma=real("sigma", sigma, "[0, inf)")
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return np.where(top == 0, 0.0, top / bottom)


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """N(mu, 1) against N(0, 1); mu in [0, inf] is known up to a relative error of `slack`."""

    mu: float
    unit: str = ""
    slack: float = 0.0
    symmetric = True
    closed = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", checks.scalar("mu", self.mu, "[0, inf]"))
        object.__setattr__(self, "slack", checks.scalar("slack", self.slack, "[0, 1)"))

    @classmethod
    def of_noise(cls, multiplier: float, unit: str = "") -> Gaussian:
        """Noise whose standard deviation is so many times the sensitivity; without noise mu is infinite."""
        return cls(1 / multiplier if multiplier else np.inf, unit, UNIT if 0 < multiplier < np.inf else 0.0)

    @property
    def dominating_mu(self) -> float:
        return self.mu * (1 + self.slack) * (1 + (4 * UNIT if self.slack else 0.0))

    def covers(self, release: Mechanism) -> bool:
        """A Gaussian of a smaller mu: N(mu, 1) times m/mu plus N(0, 1 - (m/mu)^2) is N(m, 1), and N(0, 1) stays N(0, 1)."""
        if super().covers(release):
            return True
        if not isinstance(release, Gaussian) or not self._covers_unit(release):
            return False
        if np.inf in (self.mu, release.mu):
            return self.mu == np.inf
        greatest = Fraction(release.mu) * (1 + Fraction(release.slack))
        return greatest <= Fraction(self.mu) * (1 - Fraction(self.slack))

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return np.inf if self.mu > 0 else 0.0

    def reached_loss(self, *, reverse: bool = False) -> float:
        return self.greatest_loss(reverse=reverse)

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        least, greatest = self._range
        upper = self._at(epsilon, greatest)
        lower = self._at(epsilon, least) if least < greatest else upper
        return lower[0], upper[1]

    @property
    def _range(self) -> tuple[float, float]:
        """Lower and upper bound of mu."""
        if self.slack == 0 or self.mu == 0:
            return self.mu, self.mu
        # besides the relative error, those of subnormal numbers
        return max(self.mu * (1 - self.slack) - NORMAL, 0.0), self.mu * (1 + self.slack) + SMALLEST

    def epsilons(self, delta: FloatArray, *, reverse: bool = False) -> BracketArrays | None:
        least, greatest = self._range
        if not 0 < least <= greatest < _HUGE:
            return None
        target = np.log(delta)
        rounding = UNIT * np.abs(target)
        upper = _least_epsilon(target - rounding, np.full(delta.shape, greatest))
        start = upper if least == greatest else _least_epsilon(target - rounding, np.full(delta.shape, least))
        return _below(start, target + rounding, np.full(delta.shape, least)), upper

    def best_epsilons(self, alpha: FloatArray) -> FloatArray | None:
        """The loss at the threshold of the Neyman-Pearson test of level alpha."""
        from scipy import special

        if not 0 < self.mu < _HUGE:
            return None
        return np.asarray(-self.mu * special.ndtri(alpha) - self.mu**2 / 2)

    @staticmethod
    def _at(epsilon: FloatArray, mu: float) -> BracketArrays:
        """Lower and upper bound of delta at one exact mu; without noise every loss is infinite."""
        if mu == np.inf:
            return np.ones(epsilon.shape), np.ones(epsilon.shape)
        value, _, error = log_curve(epsilon, np.full(epsilon.shape, mu))
        known, positive = value > -np.inf, (epsilon < np.inf) & (mu > 0)  # positive, however far it underflows
        value = np.where(known, value, 0.0)
        error = error + UNIT * (4 - value)
        with np.errstate(under="ignore"):
            lower, upper = np.exp(value - error), np.where(known, np.exp(value + error), 0.0)
        return np.where(known, np.maximum(lower - SMALLEST, 0.0), 0.0), np.where(
            positive, np.minimum(upper + SMALLEST, 1.0), 0.0
        )

    @property
    def kind(self) -> Hashable:
        return Gaussian

    def composed(self, factors: Factors) -> tuple[Mechanism, int]:
        gaussians = [(release, count) for release, count in factors if isinstance(release, Gaussian)]
        mu = math.hypot(*(math.sqrt(count) * release.mu for release, count in gaussians))
        slack = max(release.slack for release, _ in gaussians)
        is_single = len(gaussians) == 1 and gaussians[0][1] == 1
        return Gaussian(mu, self.unit, slack if is_single else slack + 8 * UNIT), 1


@dataclass(frozen=True)
class Shown(Mechanism):
    r"""A Gaussian mechanism with an observed random mu: :math:`\delta = \sum_i w_i\,\delta_G(\epsilon;\mu_i)`.

    Attributes
    ----------
    weights, mu, least : tuple of float
        The probability of each value of mu, its upper bound and its lower bound.
    slack : float
        Relative error of the weights.
    doubt : tuple of float
        Relative and absolute amount by which the lower bound of delta is reduced; of the two, the smaller reduction is
        used. It is needed because the weights are those of the least possible noise.
    """

    weights: tuple[float, ...]
    mu: tuple[float, ...]
    least: tuple[float, ...]
    slack: float = 0.0
    unit: str = ""
    doubt: tuple[float, float] = (0.0, 0.0)
    symmetric = True

    def __post_init__(self) -> None:
        for name in ("weights", "mu", "least"):
            object.__setattr__(self, name, tuple(checks.real(name, getattr(self, name), "[0, inf]").tolist()))
        object.__setattr__(self, "doubt", tuple(checks.real("doubt", self.doubt, "[0, inf]").tolist()))
        if not len(self.weights) == len(self.mu) == len(self.least):
            raise ParameterError("mu", f"{len(self.mu)} ratios", f"one for each of {len(self.weights)} weights")

    @property
    def dominating_mu(self) -> float:
        """By joint convexity: the greatest mu. A weight of 0 may be one that underflows."""
        return max(self.mu, default=0.0)

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return np.inf if any(w > 0 < mu for w, mu in zip(self.weights, self.mu, strict=True)) else 0.0

    def reached_loss(self, *, reverse: bool = False) -> float:
        return np.inf if any(w > 0 < mu for w, mu in zip(self.weights, self.least, strict=True)) else 0.0

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        lower, upper = np.zeros(epsilon.shape), np.zeros(epsilon.shape)
        for weight, mu, least in zip(self.weights, self.mu, self.least, strict=True):
            lower += weight * Gaussian(least).delta_bracket(epsilon)[0]
            upper += weight * Gaussian(mu).delta_bracket(epsilon)[1]
        rounding = self.slack + (len(self.weights) + 8) * UNIT
        relative, absolute = self.doubt
        lower = np.maximum(lower * (1 - min(relative, 1.0)), lower - absolute)
        return np.maximum(lower, 0.0) * (1 - rounding), np.minimum(upper * (1 + rounding), 1.0)


@dataclass(frozen=True)
class Hidden(Mechanism):
    r"""A Gaussian mechanism with an unobserved random mu: the mixture of the N(mu_i, 1) with weights p_i, against N(0, 1).

    Attributes
    ----------
    weights : tuple of float
        Proportional to the probabilities p_i.
    mu : tuple of float
        The mu_i >= 0; the weights are known up to a relative error of one unit.
    opposite : bool
        Whether the other law is the mixture of the N(-mu_i, 1) with the same weights, in place of N(0, 1).
    slack : float
        Relative error of the mu_i.

    Notes
    -----
    *Curves.* Let the laws be the mixtures of the :math:`N(\mu_i, 1)` with weights p_i and of the :math:`N(-\nu_j, 1)` with
    weights q_j. With the densities' ratios to that of N(0, 1), :math:`a_i(t) = e^{\mu_it - \mu_i^2/2}` and
    :math:`b_j(t) = e^{-\nu_jt - \nu_j^2/2}`, the likelihood ratio :math:`\sum_ip_ia_i/\sum_jq_jb_j` rises with the
    outcome t; let E(t) be its logarithm. The set of outcomes above t is the best one at :math:`\epsilon = E(t)`, the set
    below it the best one of the other order at -E(t). With the Gaussian curve :math:`\delta_G` at every real epsilon and
    :math:`e^{\epsilon_{ij}} = a_i/b_j`,

    .. math:: D_{e^{E(t)}}(P\|Q) = \sum_{ij}p_i\,\frac{q_jb_j}{\sum_kq_kb_k}\,\delta_G(\epsilon_{ij};\mu_i+\nu_j), \qquad
              D_{e^{-E(t)}}(Q\|P) = \sum_{ij}q_j\,\frac{p_ia_i}{\sum_kp_ka_k}\,\delta_G(-\epsilon_{ij};\mu_i+\nu_j).

    All terms are positive. (The first: multiply :math:`\sum_ip_i\Phi(\mu_i-t) - e^{E}\sum_jq_j\Phi(-\nu_j-t)` by
    :math:`\sum_kq_kb_k`, and collect :math:`p_iq_j(b_j\Phi(\mu_i-t) - a_i\Phi(-\nu_j-t))`.) For a given epsilon, a t on
    either side of the root of :math:`E(t) = \pm\epsilon` is found; since a curve falls, they give its two bounds, whatever
    the error of the root is.

    *Domination.* The pair dominates that of any vectors :math:`v_i, v_j'` with norms of at most :math:`\mu_i, \nu_j`, at every
    lambda > 0: a set of probability alpha under N(0, 1) has at most :math:`\Phi(\Phi^{-1}(\alpha) + \mu_i)` under N(v_i, 1)
    and at least :math:`\Phi(\Phi^{-1}(\alpha) - \nu_j)` under N(v_j', 1) (Neyman and Pearson), and one half-line attains all
    of these here.
    """

    weights: tuple[float, ...]
    mu: tuple[float, ...]
    unit: str = ""
    opposite: bool = False
    slack: float = float(4 * UNIT)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "slack", checks.scalar("slack", self.slack, "[0, 1)"))
        for name, interval in (("weights", "[0, 1]"), ("mu", "[0, 1e6]")):
            object.__setattr__(self, name, tuple(checks.real(name, getattr(self, name), interval).tolist()))
        object.__setattr__(self, "opposite", checks.flag("opposite", self.opposite))
        if len(self.weights) != len(self.mu) or not sum(self.weights) > 0:
            raise ParameterError("weights", len(self.weights), f"one for each of {len(self.mu)} sensitivities, not all 0")

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.opposite

    def parameters(self) -> dict[str, Any]:
        usual = {"opposite": False, "slack": 4 * UNIT}
        return {name: value for name, value in super().parameters().items() if usual.get(name) != value}

    @property
    def dominating_mu(self) -> float:
        """By joint convexity: no pair of components is farther apart. A weight of 0 may be one that underflows."""
        return max(self.mu, default=0.0) * (2 if self.opposite else 1) * (1 + self.slack) * (1 + 4 * UNIT)

    @property
    def renyi_lines(self) -> tuple[tuple[float, float], ...]:
        """Of opposite laws also: the second one is at least its share q of N(0, 1), so that q^(1 - a) times the exponential of
        the divergence from N(0, 1) is an upper bound."""
        kept = math.fsum(weight for weight, mu in zip(self.weights, self.mu, strict=True) if not mu)
        if not (self.opposite and kept > 0):
            return super().renyi_lines
        shift = -math.log(kept / math.fsum(self.weights)) * (1 + 8 * UNIT) + 8 * UNIT
        return *super().renyi_lines, (self.dominating_mu / 2, shift)

    def greatest_loss(self, *, reverse: bool = False) -> float:
        distinguishes = [weight > 0 < mu for weight, mu in zip(self.weights, self.mu, strict=True)]
        if not any(distinguishes):
            return 0.0
        if not reverse or self.opposite:
            return np.inf
        # Q / P tends to one over the probability that nothing is shown
        kept = math.fsum(weight for weight, tells in zip(self.weights, distinguishes, strict=True) if not tells)
        return -math.log(kept / math.fsum(self.weights)) * (1 + 4 * UNIT) + 4 * UNIT if kept > 0 else np.inf

    def reached_loss(self, *, reverse: bool = False) -> float:
        greatest = self.greatest_loss(reverse=reverse)
        if greatest == np.inf and reverse and not self.opposite and 0.0 in self.mu:
            return _LEAST_LOSS  # the weight of 0 underflows
        return max(greatest * (1 - 8 * UNIT) - 8 * UNIT, 0.0) if greatest < np.inf else np.inf

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        reverse = reverse and not self.opposite
        lower, upper = np.zeros(epsilon.shape), np.zeros(epsilon.shape)
        inside = epsilon < min(self.greatest_loss(reverse=reverse), _FARTHEST)
        eps = epsilon[inside]
        if eps.size:
            root_hint = self._root(-eps if reverse else eps)  # one for both bounds: it is a hint
            bounds = [self._bound(eps, root_hint, side, reverse) for side in (-1, 1)]
            lower[inside], upper[inside] = np.minimum(*bounds), bounds[1]
        upper[(epsilon >= _FARTHEST) & (epsilon < self.greatest_loss(reverse=reverse))] = SMALLEST
        return lower, upper

    def _laws(self, side: int) -> tuple[_Tilted, _Tilted]:
        """Both laws, of the least (`side` = -1), nominal (0) or greatest (1) mu."""
        positive = np.array(self.weights) > 0
        share, mu = np.array(self.weights)[positive] / math.fsum(self.weights), np.array(self.mu)[positive]
        mu = mu * (1 + side * (self.slack + 2 * UNIT))
        return _Tilted(share, mu), _Tilted(share, -mu) if self.opposite else _Tilted(np.ones(1), np.zeros(1))

    def _root(self, target: FloatArray) -> FloatArray:
        """The outcome at which the logarithm of the likelihood ratio is the target, up to rounding."""
        first, second = self._laws(0)
        # E(t) is at least the greatest term of the first law (the second has ratios of at most 1 where t >= 0)
        moving = first.mean > 0
        mu, share = first.mean[moving, None], first.share[moving, None]
        start = np.min((target - np.log(share)) / mu + mu / 2, axis=0)
        t = high = start + np.abs(start) * 1e-9 + 1.0
        # E is convex, or, of opposite laws, 0 at 0: Newton's method, bisection where it leaves the bracket
        low = np.full(t.shape, 0.0 if self.opposite else -np.inf)
        for _ in range(_NEWTON_STEPS):
            excess = first.log_mean(t)[0] - second.log_mean(t)[0] - target
            with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
                step = excess / (first.slope(t) - second.slope(t))
            step = np.where(np.isfinite(step), step, 0.0)
            low, high = np.where(excess < 0, t, low), np.where(excess < 0, high, t)
            moved = np.clip(t - step, -_OUTMOST, _OUTMOST)
            outside = (low > -np.inf) & ((moved < low) | (moved > high))
            t = np.where(outside, (low + high) / 2, moved)
            if np.all(np.abs(step) <= 1e-11 * (1 + np.abs(t))):
                break
        return np.asarray(t)

    def _bound(self, eps: FloatArray, t: FloatArray, side: int, reverse: bool) -> FloatArray:
        """Lower (`side` = -1) or upper (1) bound of the curve at each epsilon, from an outcome near the root."""
        first, second = self._laws(side)
        mu, share = first.mean, first.share
        target = -eps if reverse else eps
        # an upper bound needs D at a point on the left of epsilon: E(t) below the target, or above it in the other order
        left = (side > 0) != reverse
        at_zero = (target == 0) & self.opposite  # there the ratio is 1
        t, width = np.where(at_zero, 0.0, t), 4 * UNIT * (1 + np.abs(t))
        for _ in range(_DOUBLINGS):
            (first_ratio, room), (second_ratio, second_room) = first.log_mean(t), second.log_mean(t)
            log_ratio, room = first_ratio - second_ratio, room + second_room + 2 * UNIT * np.abs(first_ratio - second_ratio)
            settled = at_zero | (log_ratio + room <= target if left else log_ratio - room >= target)
            if np.all(settled):
                break
            moved = np.clip(t - width if left else t + width, -_OUTMOST, _OUTMOST)
            t, width = np.where(settled, t, moved), np.minimum(2 * width, _OUTMOST)
        chances = first.posterior(t, side) if reverse else share[:, None]
        others = second.share[:, None] if reverse else second.posterior(t, side)
        bound = np.zeros(t.shape)
        for chance, mean in zip(chances, mu, strict=True):  # with each component of the second law
            distance = mean - second.mean
            loss = distance[:, None] * t - ((mean**2 - second.mean**2) / 2)[:, None]
            error = 4 * UNIT * (np.abs(distance[:, None] * t) + (mean**2 + second.mean**2)[:, None])
            value = _real_curve((-loss if reverse else loss) - side * error, distance, side)
            bound += chance * np.sum(others * value, axis=0)
        terms = mu.size * second.mean.size
        bound = bound * (1 + side * (32 + 4 * terms) * UNIT) + side * SMALLEST * (1 + terms + len(self.weights))
        # where no t is on the right side, the curve is known to be between 0 and 1
        return np.where(settled, np.clip(bound, 0.0, 1.0), float(side > 0))


@dataclass(frozen=True)
class _Tilted:
    """The law of a mean, by which N(mean, 1) is drawn, and the ratio of the density of the outcome t to that of N(0, 1)."""

    share: FloatArray  # of each mean, each up to one unit
    mean: FloatArray

    def _exponents(self, t: FloatArray) -> BracketArrays:
        """log of the ratio of each component, and a bound of its error."""
        moved, square = self.mean[:, None] * t, (self.mean * self.mean)[:, None]
        return moved - square / 2, 4 * UNIT * (np.abs(moved) + square)

    def log_mean(self, t: FloatArray) -> BracketArrays:
        r"""log of the mean ratio, and a bound of its error.

        Notes
        -----
        An error e of the exponents changes the logarithm by log of the mean of exp(e), weighted as the ratios are. The shares
        sum to one, so the mean of the ratios less 1 is small where each is near 1 or has a small share: there its error is
        relative to these differences, not to 1.
        """
        each, error = self._exponents(t)
        logs = np.log(self.share)[:, None] + each
        total = np.logaddexp.reduce(logs, axis=0)
        worst = np.max(error, axis=0)
        grown = np.expm1(np.minimum(error, 1.0))  # where all errors are below 1; else the worst one counts
        with np.errstate(under="ignore"):
            weighted = np.sum(np.exp(np.minimum(logs - total, 0.0)) * grown, axis=0)
            room = np.where(worst < 1, 2 * weighted, worst) + (16 + self.share.size) * UNIT * (1 + np.abs(total))
            excess = self.share[:, None] * np.expm1(np.minimum(each, _NEAR))
            mean = np.sum(excess, axis=0)
            near = (np.max(each, axis=0) < _NEAR) & (mean > -_NEAR) & (worst < 1)
            rounding = np.sum(np.abs(excess), axis=0) * (16 + self.share.size) * UNIT
            moved = np.sum(self.share[:, None] * np.exp(np.minimum(each, _NEAR)) * grown, axis=0)
        total, room = np.where(near, np.log1p(np.maximum(mean, -_NEAR)), total), np.where(near, 4 * (moved + rounding), room)
        return total, room

    def slope(self, t: FloatArray) -> FloatArray:
        """Of log_mean: the mean of the means, weighted by what the outcome tells."""
        return np.asarray(np.sum(self.posterior(t, 0) * self.mean[:, None], axis=0))

    def posterior(self, t: FloatArray, side: int) -> FloatArray:
        """The probability of each mean given the outcome; rounded down (`side` = -1) or up (1)."""
        each, error = self._exponents(t)
        logs = np.log(self.share)[:, None] + each
        total = np.logaddexp.reduce(logs, axis=0)
        room = 2 * np.max(error, axis=0) + (16 + self.share.size) * UNIT * (1 + np.abs(total))
        return np.asarray(np.exp(np.minimum(logs - total + side * room, 0.0)))


_FARTHEST = 1e15  # from here on the curve of a mu up to 1e6 is below the least double: (1e15/1e6 - 1e6/2)^2/2 > 1e17
_DOUBLINGS = 60  # greatest number of ever wider steps from the root of E to a point on one side of it
_NEAR = 0.5  # greatest logarithm of a ratio that counts as one near 1
_OUTMOST = 1e300  # farthest outcome at which a ratio is evaluated
_LEAST_LOSS = 744.0  # of a weight that underflows: exp(-744) is above the least double


def _real_curve(epsilon: FloatArray, mu: FloatArray, side: int) -> FloatArray:
    """Lower or upper bound of the Gaussian curve at real epsilons, a row for each mu; that of mu = 0 is (1 - exp(epsilon))_+."""
    out = np.empty(epsilon.shape)
    for i, each in enumerate(mu.tolist()):
        curve = Gaussian._at(np.abs(epsilon[i]), each)[int(side > 0)]
        loss = np.minimum(epsilon[i], 0.0)
        out[i] = np.where(epsilon[i] < 0, (0.0 - np.expm1(loss) + np.exp(loss) * curve) * (1 + side * 8 * UNIT), curve)
    return out


register(Gaussian, "gaussian")
register(Hidden, "hidden")
register(Shown, "shown")
