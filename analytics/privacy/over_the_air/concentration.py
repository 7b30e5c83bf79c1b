r"""Deviation of the participants' noise, :math:`\mu = \sum_k \tau_k\sigma_k^2`, from its mean.

Theorem 1 of FDP needs t with :math:`\Pr(|\mu - \bar\mu| \ge t) \le \delta'`. The paper prints two values of t, both
from a Bernstein inequality that lacks a factor; neither is valid. All forms of t are functions of

.. math:: L = \log(2/\delta'), \quad M = \max_k \sigma_k^2, \quad V = \sum_k p_k(1-p_k)\sigma_k^4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, broadcast, real
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem


def bernstein_published(t: ArrayLike, *, variance: ArrayLike, bound: ArrayLike) -> FloatArray:
    r"""FDP Lemma 3, Eq. (22): :math:`\exp(-t^2/(V + Mt/3))`, where t replaces the misprinted r. **False.**

    Parameters
    ----------
    t : array_like
        At least 0.
    variance : array_like
        V, the sum of the variances.
    bound : array_like
        M, an upper bound of the absolute value of each zero-mean summand.

    Examples
    --------
    >>> float(bernstein_published(30.0, variance=100.0, bound=1.0))  # 100 fair signs: the true probability is 8.9497e-4
    0.00027969...
    """
    return np.exp(-2 * _bernstein_exponent(t, variance, bound))


def bernstein(t: ArrayLike, *, variance: ArrayLike, bound: ArrayLike) -> FloatArray:
    r"""Bernstein's inequality in its correct form: :math:`\Pr(\sum X_k > t) \le \exp\bigl(-\frac{t^2/2}{V +
    Mt/3}\bigr)`.

    Examples
    --------
    >>> float(bernstein(30.0, variance=100.0, bound=1.0))
    0.01672...

    Notes
    -----
    Chernoff's method: E exp(s X) <= exp(v (exp(sM) - 1 - sM)/M^2) for a zero-mean X with abs(X) <= M and variance v.
    Add the exponents, use exp(x) - 1 - x <= (x^2/2)/(1 - x/3), and set s = t/(V + Mt/3).
    """
    return np.exp(-_bernstein_exponent(t, variance, bound))


def _bernstein_exponent(t: ArrayLike, variance: ArrayLike, bound: ArrayLike) -> FloatArray:
    deviation, total_variance, largest_summand = broadcast(
        t=real("t", t, "[0, inf)"),
        variance=real("variance", variance, "[0, inf)"),
        bound=real("bound", bound, "[0, inf)"),
    )
    denominator = total_variance + largest_summand * deviation / 3
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(deviation == 0, 0.0, deviation**2 / 2 / denominator)[()]


Systems = InferenceSystem | HomogeneousSystems


def _constants(system: Systems) -> tuple[Any, Any, Any]:
    """L = log(2 / delta'), M = max sigma^2 and sqrt V, where V = sum p (1 - p) sigma^4; computed without overflow.

    Of several systems, one number each.
    """
    p, variances = system.participation, system.noise_variance
    if isinstance(system, HomogeneousSystems):
        log_share = np.log(2 / np.asarray(system.delta_prime))
        return log_share, variances, np.sqrt(system.devices * (p * (1 - p))) * variances
    largest = float(np.max(variances))  # the norm is taken of values divided by it, so no square overflows
    root = largest * float(np.linalg.norm(np.sqrt(p * (1 - p)) * variances / largest)) if largest > 0 else 0.0
    return float(np.log(2 / system.delta_prime)), largest, root


def _hypot(x: Any, y: Any) -> Any:
    """The hypotenuse of two numbers, or of each pair of two arrays."""
    return np.hypot(x, y) if isinstance(y, np.ndarray) else math.hypot(x, y)


def theorem1_deviation(system: Systems) -> Any:
    r"""t as printed in Theorem 1: :math:`\frac L2\bigl(M + \sqrt{M/9 + 4V/L}\bigr)`."""
    L, M, root_V = _constants(system)
    return L / 2 * (M + _hypot(np.sqrt(M) / 3, 2 * root_V / np.sqrt(L)))


def eq23_deviation(system: Systems) -> Any:
    r"""t as printed in the proof of Theorem 1, FDP Eq. (23): :math:`\frac L2\bigl(\frac M3 + \sqrt{M/9 + 4V/L}\bigr)`."""
    L, M, root_V = _constants(system)
    return L / 2 * (M / 3 + _hypot(np.sqrt(M) / 3, 2 * root_V / np.sqrt(L)))


def intended_deviation(system: InferenceSystem) -> float:
    """The root of the printed quadratic :math:`t^2 = L(V + Mt/3)`: Eq. (23) with :math:`M^2/9` in place of :math:`M/9`,
    which makes the units agree.
    """
    L, M, root_V = _constants(system)
    return float(L / 2 * (M / 3 + math.hypot(M / 3, 2 * root_V / math.sqrt(L))))


def bernstein_deviation(system: InferenceSystem) -> float:
    r"""t for which Bernstein's inequality gives delta': :math:`\frac{ML}3 + \sqrt{(\frac{ML}3)^2 + 2VL}`. **Proven.**

    Notes
    -----
    The summands X_k = (tau_k - p_k) sigma_k^2 satisfy abs(X_k) <= M. Each of the two tails gets half of delta', so the
    condition is 2 exp(-(t^2/2)/(V + Mt/3)) = delta', which is the quadratic t^2 - (2ML/3) t - 2VL = 0.
    """
    L, M, root_V = _constants(system)
    return float(M * L / 3 + math.hypot(M * L / 3, root_V * math.sqrt(2 * L)))


def mean_noise(system: Systems) -> Any:
    r"""Mean noise of the participants, :math:`\bar\mu = \sum_k p_k\sigma_k^2`."""
    if isinstance(system, HomogeneousSystems):
        return system.devices * (system.participation * system.noise_variance)
    with np.errstate(over="ignore"):
        return float(np.sum(system.participation * system.noise_variance))
