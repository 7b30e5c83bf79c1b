r"""Composition theorems for M releases: as printed in papers, optimal for all mechanisms, and exact for Gaussian noise.

When only (epsilon, delta) of a release is known, :func:`optimal_epsilon` is the best possible bound (Kairouz, Oh and
Viswanath). For Gaussian noise :func:`gaussian_exact` is exact. When more is known of a release, compose it with
:mod:`airtight.analytics.privacy.accounting.loss_distribution`. Adjacency is that of the single release throughout.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.distributions.poisson_binomial import binomial
from airtight.analytics.privacy.accounting.envelope import Envelope
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.rounding import UNIT

_GREATEST_ORDER = 1e12  # greatest Renyi order less 1 that the search tries
_LAW_ERROR = 1e-14  # relative error of a binomial probability, over the square root of the count
_LEAST = 1e-300  # probabilities below it are close to underflow and have lost digits


class ComposedGuarantee(NamedTuple):
    """epsilon and delta of the composition."""

    epsilon: float
    delta: float


def basic(epsilon: float, delta: float, *, count: int) -> ComposedGuarantee:
    """Basic composition: M epsilon and M delta, valid for all mechanisms (UF-C1).

    Examples
    --------
    >>> basic(0.95, 1e-5, count=200)
    ComposedGuarantee(epsilon=190.0, delta=0.002)
    """
    eps, d, m = _checked(epsilon, delta, count)
    return ComposedGuarantee(m * eps, min(m * d, 1.0))


def strong_published(epsilon: float, delta: float, *, count: int) -> ComposedGuarantee:
    r"""Strong composition as printed in UF Sec. II: :math:`(\epsilon\sqrt{M\log(1/\delta)}, M\delta)`; false (UF-C2).

    Examples
    --------
    >>> strong_published(0.95, 1e-5, count=200)
    ComposedGuarantee(epsilon=45.58599..., delta=0.002)
    """
    eps, d, m = _checked(epsilon, delta, count)
    if d == 0:
        return ComposedGuarantee(np.inf, 0.0)
    return ComposedGuarantee(float(eps * np.sqrt(-m * np.log(d))), min(m * d, 1.0))


def advanced(epsilon: float, delta: float, *, count: int, slack: float, improved: bool = True) -> ComposedGuarantee:
    r"""Advanced composition: :math:`\epsilon\sqrt{2M\log(1/\delta')} + M\epsilon b` at :math:`M\delta + \delta'`.

    It is a theorem. Here :math:`b = (e^\epsilon-1)/(e^\epsilon+1)`, the mean loss of randomised response, or, with
    ``improved=False``, :math:`b = e^\epsilon-1` of Dwork, Rothblum and Vadhan.

    Examples
    --------
    >>> round(advanced(0.95, 1e-5, count=200, slack=1e-5, improved=False).epsilon, 3)
    365.753
    >>> round(advanced(0.95, 1e-5, count=200, slack=1e-5).epsilon, 6)
    148.492102
    """
    eps, d, m = _checked(epsilon, delta, count)
    s = checks.scalar("slack", slack, "(0, 1)")
    drift = np.tanh(eps / 2) if improved else np.expm1(eps)
    return ComposedGuarantee(float(eps * np.sqrt(-2 * m * np.log(s)) + m * eps * drift), min(m * d + s, 1.0))


def optimal_delta(epsilon: float, delta: float, *, count: int, total_epsilon: float) -> float:
    r"""Exact delta at `total_epsilon` of M releases known by (epsilon, delta) only (Kairouz, Oh and Viswanath 2015).

    .. math:: 1 - (1-\delta)^M\Bigl(1 - \sum_l\binom Ml
              \frac{\bigl[e^{(M-l)\epsilon} - e^{\epsilon_g}e^{l\epsilon}\bigr]_+}{(1+e^\epsilon)^M}\Bigr)

    Examples
    --------
    >>> round(optimal_delta(0.95, 1e-5, count=200, total_epsilon=45.585996), 5)
    0.99863
    """
    eps, d, m = _checked(epsilon, delta, count)
    target = checks.scalar("total_epsilon", total_epsilon, "[0, inf)")
    p, loss, lost = _lies(eps, m)
    # the losses are rounded, so they are raised by the error; all terms below are positive
    beyond = np.maximum(loss - target + 4 * UNIT * m * eps, 0.0)
    with np.errstate(under="ignore"):
        inner = float(np.sum(p * -np.expm1(-beyond)) * (1 + _LAW_ERROR * np.sqrt(m) + (m + 8) * UNIT)) + lost
    log_kept = m * np.log1p(-d) if d < 1 else -np.inf
    return float(min((-np.expm1(log_kept) + np.exp(log_kept) * inner) * (1 + 4 * UNIT), 1.0))


def optimal_epsilon(epsilon: float, delta: float, *, count: int, total_delta: float) -> float:
    """Least epsilon at `total_delta` of M releases known by (epsilon, delta) only, rounded up.

    Infinite when `total_delta` is below :math:`1-(1-\\delta)^M`.

    Examples
    --------
    >>> round(optimal_epsilon(0.95, 1e-5, count=200, total_delta=2.01e-3), 6)
    131.043336
    """
    eps, d, m = _checked(epsilon, delta, count)
    target = checks.scalar("total_delta", total_delta, "[0, 1]")
    if target == 1:
        return 0.0
    if d == 1:
        return np.inf
    log_kept = m * np.log1p(-d)
    response_delta = (target + np.expm1(log_kept) * (1 + 8 * UNIT)) * np.exp(-log_kept) * (1 - 64 * UNIT)
    basic_holds = response_delta >= 0 or Fraction(target) >= m * Fraction(d)
    basic_epsilon = m * eps * (1 + 2 * UNIT) if basic_holds else np.inf
    return (
        min(float(_responses(eps, m).epsilon(response_delta)), basic_epsilon) if response_delta >= 0 else basic_epsilon
    )


def _lies(epsilon: float, count: int) -> tuple[FloatArray, FloatArray, float]:
    """Law of the number of lies in M randomised responses, the loss of each, and the mass that the law may lack."""
    p = binomial(count, float(expit(-epsilon))).dense(count + 1)
    loss = np.asarray((count - 2.0 * np.arange(count + 1)) * epsilon, dtype=np.float64)
    return p, loss, (count + 1) * _LEAST if p[loss >= 0].min() < _LEAST else 0.0


def _responses(epsilon: float, count: int) -> Envelope:
    """M randomised responses: the law of the number of lies under either true answer."""
    p, loss, lost = _lies(epsilon, count)
    few_lies = loss >= 0  # the other half of the law is the mirror image, where exp(-loss) may overflow
    with np.errstate(under="ignore"):
        q = p * np.exp(-np.abs(loss))
    p, q = np.where(few_lies, p, q[::-1]), np.where(few_lies, q, p[::-1])
    return Envelope([(p, q)], lost=lost, error=_LAW_ERROR * np.sqrt(count))


def gaussian_zcdp(mu: float, *, count: int, delta: float) -> float:
    r"""Bound through zero-concentrated privacy: :math:`\rho + 2\sqrt{\rho\log(1/\delta)}` with :math:`\rho = M\mu^2/2`.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation of one release.

    Examples
    --------
    >>> round(gaussian_zcdp(1 / 5.099795013268831, count=200, delta=1e-5), 5)
    17.15168
    """
    ratio, m, d = _ratio(mu, count, delta)
    rho = m * ratio**2 / 2
    return float(rho + 2 * np.sqrt(-rho * np.log(d)))


def gaussian_rdp(mu: float, *, count: int, delta: float) -> float:
    r"""Bound through Renyi privacy: minimum over orders a > 1 of
    :math:`a\rho + \log\frac{a-1}a - \frac{\log(a\delta)}{a-1}` (Canonne et al. 2020).

    Examples
    --------
    >>> round(gaussian_rdp(1 / 5.099795013268831, count=200, delta=1e-5), 5)
    16.10224
    """
    from scipy.optimize import minimize_scalar

    ratio, m, d = _ratio(mu, count, delta)
    rho = m * ratio**2 / 2

    def bound(log_excess: float) -> float:
        return float(renyi_to_epsilon(1 + np.exp(log_excess), (1 + np.exp(log_excess)) * rho, delta=d))

    grid = np.linspace(-20, np.log(_GREATEST_ORDER), 400)
    start = grid[int(np.argmin([bound(x) for x in grid]))]  # log(a - 1)
    best = minimize_scalar(bound, bounds=(start - 0.2, start + 0.2), method="bounded", options={"xatol": 1e-10})
    return max(float(best.fun), 0.0)


def renyi_to_epsilon(order: FloatArray | float, divergence: FloatArray | float, *, delta: float) -> FloatArray:
    r"""epsilon at delta implied by a Renyi divergence of one order (Canonne, Kamath, Steinke 2020); not clipped at 0.

    Examples
    --------
    >>> round(float(renyi_to_epsilon(10.0, 1.0, delta=1e-5)), 4)
    1.918
    """
    a = checks.real("order", order, "(1, inf)")
    return np.asarray(divergence + np.log1p(-1 / a) - (np.log(delta) + np.log(a)) / (a - 1))[()]


def gaussian_exact(mu: float, *, count: int, delta: float) -> float:
    r"""Exact epsilon, rounded up: M Gaussian releases equal one release with :math:`\mu\sqrt M`.

    Examples
    --------
    >>> round(gaussian_exact(1 / 5.099795013268831, count=200, delta=1e-5), 9)
    15.069269611
    """
    ratio, m, d = _ratio(mu, count, delta)
    # 4e-16: relative rounding of the product
    return float(gaussian.epsilon(d, sensitivity=ratio * np.sqrt(m) * (1 + 4e-16), sigma=1.0))


def _checked(epsilon: float, delta: float, count: int) -> tuple[float, float, int]:
    return (
        checks.scalar("epsilon", epsilon, "[0, inf)"),
        checks.scalar("delta", delta, "[0, 1]"),
        checks.count("count", count),
    )


def _ratio(mu: float, count: int, delta: float) -> tuple[float, int, float]:
    return checks.scalar("mu", mu, "[0, inf)"), checks.count("count", count), checks.scalar("delta", delta, "(0, 1)")
