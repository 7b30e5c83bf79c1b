r"""Mechanisms to which CorBin-FL is compared: Laplace and Gaussian noise, stratified and three-level quantization.

A variance is that of one parameter of one client; the variance of the mean of n independent clients is an n-th of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError, real
from airtight.analytics.distributions.poisson_binomial import binomial
from airtight.analytics.federated.corbin.quantizers import alpha, offset
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms import gaussian as gaussian_mechanism
from airtight.analytics.privacy.mechanisms import laplace as laplace_mechanism
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian, Shown
from airtight.analytics.rounding import UNIT

_RATIO_ERROR = 1e-13  # relative: of the ratio of sensitivity and noise
_WEIGHT_ERROR = 1e-11  # relative: of the law of the survivors


def laplace_variance(*, epsilon: ArrayLike, radius: ArrayLike = 1.0) -> FloatArray:
    r"""Variance of Laplace noise of scale :math:`2r/\epsilon`, which is :math:`8r^2/\epsilon^2` for every update.

    It is below the worst variance :math:`r^2\alpha^2` of LDPQ for epsilon >= 2.3242, and below that of CorBin-FL for
    epsilon >= 3.79.

    Examples
    --------
    >>> float(laplace_variance(epsilon=5.0))
    0.32...
    """
    scale = laplace_mechanism.scale(epsilon, sensitivity=2 * real("radius", radius, "(0, inf)"))
    return np.asarray(2 * scale**2)[()]


def laplace(w: ArrayLike, *, epsilon: float, radius: ArrayLike, rng: np.random.Generator) -> FloatArray:
    """w plus Laplace noise that makes a parameter epsilon-private; w must lie in an interval of half-length `radius`.

    Examples
    --------
    >>> laplace([0.0], epsilon=np.inf, radius=1.0, rng=np.random.default_rng(0))
    array([0.])
    """
    weights = real("w", w)
    scale = laplace_mechanism.scale(epsilon, sensitivity=2 * real("radius", radius, "(0, inf)"))
    return np.asarray(weights + scale * rng.laplace(size=weights.shape))


def gaussian_variance(*, epsilon: ArrayLike, delta: ArrayLike, radius: ArrayLike = 1.0) -> FloatArray:
    """Variance of Gaussian noise that is calibrated exactly for (epsilon, delta) and sensitivity 2 r.

    Examples
    --------
    >>> round(float(gaussian_variance(epsilon=5.0, delta=1e-5)), 3)
    3.182
    """
    unit = gaussian_mechanism.sigma(epsilon, delta, sensitivity=1.0)  # one calibration serves all radii
    return np.asarray((2 * real("radius", radius, "(0, inf)") * unit * (1 + 4 * UNIT)) ** 2)[()]


def gaussian_curve(
    clients: int, parameters: int, *, epsilon: float, delta: float, dropout: float = 0.0
) -> PrivacyCurve:
    r"""Privacy curve of the sum of all survivors of a round, each with noise calibrated by :func:`gaussian_variance`.

    Adjacency ``replace``: one client's update is replaced by any other one; the server sees the sum and who dropped
    out.

    Parameters
    ----------
    clients, parameters : int
        n and m.
    epsilon, delta : float
        Guarantee for one parameter of one client.
    dropout : float
        Probability in [0, 1) with which each client drops out.

    Notes
    -----
    With j other survivors the release is a Gaussian mechanism of ratio :math:`\frac{2}{\sigma}\sqrt{m/(j+1)}`,
    :math:`\sigma` in radii. The server sees j.

    Examples
    --------
    >>> round(float(gaussian_curve(25, 4, epsilon=1.0, delta=1e-5).epsilon(1e-5)), 4)  # 2/5 of one parameter's ratio
    0.3675
    """
    n, m = checks.count("clients", clients), checks.count("parameters", parameters)
    dropout_probability = checks.scalar("dropout", dropout, "[0, 1)")
    sigma = np.sqrt(float(gaussian_variance(epsilon=epsilon, delta=delta)))
    others = binomial(n - 1, 1 - dropout_probability).dense(n) * (1 - dropout_probability)
    possible = others > 0
    ratio = 2 * np.sqrt(m / (np.arange(n)[possible] + 1.0)) / sigma
    if dropout_probability == 0:
        return PrivacyCurve.of(Gaussian(float(ratio[-1]), "one client, replace", _RATIO_ERROR))
    upper_ratios, lower_ratios = (
        tuple((ratio * (1 + _RATIO_ERROR)).tolist()),
        tuple((ratio * (1 - _RATIO_ERROR)).tolist()),
    )
    return PrivacyCurve.of(
        Shown(tuple(others[possible].tolist()), upper_ratios, lower_ratios, _WEIGHT_ERROR, "one client, replace")
    )


def gaussian(w: ArrayLike, *, epsilon: float, delta: float, radius: ArrayLike, rng: np.random.Generator) -> FloatArray:
    """w plus Gaussian noise that makes a parameter (epsilon, delta)-private, by exact calibration.

    Examples
    --------
    >>> gaussian([0.0], epsilon=1.0, delta=1e-5, radius=1.0, rng=np.random.default_rng(0)).shape
    (1,)
    """
    weights = real("w", w)
    return weights + np.sqrt(gaussian_variance(epsilon=epsilon, delta=delta, radius=radius)) * rng.normal(
        size=weights.shape
    )


def stratified(
    w: ArrayLike, *, center: ArrayLike = 0.0, radius: ArrayLike = 1.0, rng: np.random.Generator
) -> FloatArray:
    """One-bit correlated quantization of all n clients at once, without privacy (Suresh et al. 2022).

    Client i draws a uniform number in stratum pi(i) of n equal strata of [0, 1], where pi is a common random
    permutation for each parameter. It sends c + r if the number is below (w - c + r)/(2r), else c - r.

    Parameters
    ----------
    w : array_like, shape (n, ...)

    Examples
    --------
    >>> sent = stratified(np.full((4, 1000), 0.5), rng=np.random.default_rng(0))
    >>> bool(np.all(sent.sum(axis=0) == 2))  # always three of four send c + r
    True
    """
    x = offset(w, center=center, radius=radius)
    if not x.ndim:
        raise ParameterError("w", w, "an array of shape (n, ...)")
    r = np.broadcast_to(real("radius", radius, "(0, inf)"), x.shape)
    stratum = np.argsort(rng.random(x.shape), axis=0)
    uniform = (stratum + rng.random(x.shape)) / len(x)
    return np.asarray(real("center", center) + np.where(uniform < (x / r + 1) / 2, r, -r))


def stratified_mse(w: ArrayLike, *, center: ArrayLike = 0.0, radius: ArrayLike = 1.0) -> FloatArray:
    r"""Exact MSE of the mean under :func:`stratified`; O(n log n).

    Parameters
    ----------
    w : array_like, shape (n, ...)
    center, radius : array_like
        Broadcast against `w`.

    Returns
    -------
    ndarray or float, shape (...)
        The error is at most n + 4 units in the last place of :math:`4r^2/n`.

    Notes
    -----
    Let :math:`F_s(a) = \min(1, \max(0, na - s))`. Two clients lie in different strata, so
    :math:`P(U_i<a, U_j<b) = (n^2ab - \sum_sF_s(a)F_s(b))/(n(n-1))`. For :math:`a \le b` the sum is :math:`na` if the levels
    lie in different strata; in the same stratum, with the fractional parts f, it is less by :math:`f_a(1-f_b)`. So for
    levels q in increasing order

    .. math:: \mathrm{Var}\sum_i 1_{U_i<q_i} = \sum_iq_i(1-q_i) - \frac2{n-1}\Bigl[\sum_{i<j}q_i(1-q_j)
              - \frac1n\sum_{i<j,\ \text{same stratum}}f_i(1-f_j)\Bigr].

    Examples
    --------
    >>> float(stratified_mse([0.5, 0.5, 0.5, 0.5]))
    0.0
    """
    x = offset(w, center=center, radius=radius)
    if not x.ndim:
        raise ParameterError("w", w, "an array of shape (n, ...)")
    r, n = np.broadcast_to(real("radius", radius, "(0, inf)"), x.shape), len(x)
    if np.any(r != r[:1]):
        raise ParameterError("radius", r, "the same for all clients")
    q = np.sort((x / r + 1) / 2, axis=0)
    variance, strata = np.sum(q * (1 - q), axis=0), np.floor(n * q)
    fraction = n * q - strata
    pairs, below, inside = np.zeros(x.shape[1:]), np.zeros(x.shape[1:]), np.zeros(x.shape[1:])
    # running sums over j < i: `below` of q_j, `inside` of the fractional parts in the stratum of q_i
    for i in range(n):
        if i:
            inside = np.where(strata[i] == strata[i - 1], inside, 0.0)
        pairs += below * (1 - q[i]) - inside * (1 - fraction[i]) / n
        below, inside = below + q[i], inside + fraction[i]
    variance = variance - 2 * pairs / max(n - 1, 1)
    return np.asarray(np.maximum(variance, 0.0) * (2 * r[0] / n) ** 2)[()]


def three_level_probabilities(w: ArrayLike, *, epsilon: float, zero: float | None = None) -> tuple[FloatArray, float]:
    r"""Law of an unbiased epsilon-private quantizer of [-1, 1] with the outputs -C, 0 and C, and the value of C.

    :math:`P(0|w) = z(1-(1-e^{-\epsilon})|w|)`, :math:`P(\pm C|w) = \tfrac{1-P(0|w)}2 \pm \tfrac w{2C}`,
    :math:`C = \alpha/(1-ze^{-\epsilon})`.

    Parameters
    ----------
    w : array_like
        In [-1, 1].
    epsilon : float
    zero : float or None
        z in [0, 1/(1 + 2 e^-eps)]; None for the z that minimises the worst variance.

    Returns
    -------
    ndarray, shape (..., 3)
        The relative error of every entry is below 1e-14: all terms are positive. The differences 1 - abs(w) and
        1 - z e^-eps do not cancel; 1 - z is exact for a given z and computed without cancellation for the best z.
    float
        C.

    Notes
    -----
    P(0|w) is between z and z e^-eps. P(C|w) is linear on either side of 0: with :math:`f = e^{-\epsilon}` it is
    :math:`\tfrac{1-zf}{1+f}f` at -1, (1-z)/2 at 0 and :math:`\tfrac{1-zf}{1+f}` at 1, which rises when z is in its
    range, :math:`z \le 1/(1+2f)`.

    The worst variance is :math:`C^2(1-z) + C^4z^2(1-f)^2/4` while :math:`C^2z(1-f) \le 2`, and increasing in z beyond.
    Its derivative has the sign of :math:`(1+f)^2z(1+zf) - 2(1-zf)^2(1-2f+zf)`, an increasing function where it is
    negative, whose root satisfies the condition. So the best z is 0 where f >= 1/2, else the lesser of the root and
    the end of the range.

    Examples
    --------
    >>> law, C = three_level_probabilities([-1.0, 0.0, 1.0], epsilon=1.0)
    >>> bool(np.allclose(law @ [-C, 0, C], [-1, 0, 1])), bool((law.max(axis=0) / law.min(axis=0)).max() <= np.e + 1e-9)
    (True, True)
    """
    x = real("w", w, "[-1, 1]")
    eps = checks.scalar("epsilon", epsilon, "(0, inf)")
    fade = float(np.exp(-eps))
    z, complement = _best_zero(fade) if zero is None else _given_zero(zero, fade)
    C = float(alpha(eps)) / (1 - z * fade)
    size, end = np.abs(x), (1 - z * fade) / (1 + fade)
    rare, frequent = ((1 - size) * complement / 2 + size * end * share for share in (fade, 1.0))
    zero_probability = z * ((1 - size) + size * fade)
    return np.stack([np.where(x > 0, rare, frequent), zero_probability, np.where(x > 0, frequent, rare)], axis=-1), C


def _given_zero(zero: float, fade: float) -> tuple[float, float]:
    """The given z, checked, and 1 - z."""
    greatest = min(1 / (1 + 2 * fade) * (1 + 1e-14), 1.0)  # the bound itself is rounded
    z = checks.scalar("zero", zero, f"[0, {greatest!r}]")
    return z, 1 - z


def _best_zero(fade: float) -> tuple[float, float]:
    """The z of least worst variance, and 1 - z without cancellation."""
    from scipy.optimize import brentq

    def slope(z: float) -> float:
        y = z * fade
        return (1 + fade) ** 2 * z * (1 + y) - 2 * (1 - y) ** 2 * (1 - 2 * fade + y)

    greatest = 1 / (1 + 2 * fade)
    if fade >= 0.5:
        return 0.0, 1.0
    if slope(greatest) <= 0:
        return greatest, 2 * fade / (1 + 2 * fade)
    z = float(brentq(slope, 0.0, greatest, xtol=1e-17, rtol=1e-15))
    return z, 1 - z


def three_level_worst(*, epsilon: float, zero: float | None = None) -> float:
    r"""Worst variance of the three-level quantizer on [-1, 1].

    With the best z it is at most :math:`\alpha^2`, that of two levels (CB Prop. 1), and below it for epsilon > log 2.

    Examples
    --------
    >>> round(three_level_worst(epsilon=1.0), 3), round(float(alpha(1.0)) ** 2, 3)
    (4.455, 4.683)
    """
    eps = checks.scalar("epsilon", epsilon, "(0, inf)")
    fade = float(np.exp(-eps))
    z, complement = _best_zero(fade) if zero is None else _given_zero(zero, fade)
    C = float(alpha(eps)) / (1 - z * fade)
    # the variance C^2 (1 - P(0|w)) - w^2 is a parabola in abs(w)
    rise = C * C * z * -np.expm1(-eps)
    peak = min(rise / 2, 1.0)
    return float(C * C * complement + peak * (rise - peak))
