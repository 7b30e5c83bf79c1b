r"""Random participation, unseen by the observer: two mixtures that share the component of absence.

With :math:`\lambda = e^\epsilon` and the components :math:`P_1` (present) and :math:`P_0` (absent),

.. math:: D_\lambda(pP_1 + (1-p)P_0 \,\|\, P_0) &= p\,D_{1 + (\lambda-1)/p}(P_1\|P_0), \\
          D_\lambda(P_0 \,\|\, pP_1 + (1-p)P_0) &= u\,D_{\lambda p/u}(P_0\|P_1), \qquad u = 1 - \lambda(1-p).

The second divergence is 0 where u <= 0. Both identities follow when the terms of :math:`P_0` in the positive part are
collected.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, broadcast, real
from airtight.analytics.privacy.mechanisms import gaussian, neyman_pearson

_TINY = 1e-100  # distance of two means up to which terms of its order are below rounding
_LARGE = 600.0  # greatest argument of exp, which overflows above 709


def amplified(epsilon: ArrayLike, p: ArrayLike) -> FloatArray:
    r""":math:`\log(1 + p(e^\epsilon - 1))`, the epsilon of a mechanism that is used with probability p.

    Examples
    --------
    >>> float(amplified(1.0, 0.5))
    0.62011...
    >>> float(amplified(1000.0, 0.5))
    999.30685...
    """
    eps, prob = broadcast(epsilon=real("epsilon", epsilon, "[0, inf)"), p=real("p", p, "[0, inf)"))
    direct = (eps < np.where(prob <= 1, _LARGE, 1.0)) | (prob == 0)
    with np.errstate(divide="ignore"):
        small = np.log1p(prob * np.expm1(np.where(direct, eps, 0.0)))
        large = eps + np.log(prob * -np.expm1(-eps) + np.exp(-eps))
    return np.asarray(np.where(direct, small, large))[()]


def unamplified(epsilon: ArrayLike, p: ArrayLike) -> FloatArray:
    r""":math:`\log(1 + (e^\epsilon - 1)/p)`, the inverse of :func:`amplified` in epsilon, for p > 0.

    Examples
    --------
    >>> float(unamplified(amplified(1.0, 0.5), 0.5))
    1.0
    """
    eps, prob = broadcast(epsilon=real("epsilon", epsilon, "[0, inf)"), p=real("p", p, "(0, 1]"))
    with np.errstate(over="ignore", divide="ignore", under="ignore"):
        growth = np.expm1(np.minimum(eps, 1.0))
        ratio = growth / prob
        small = np.where(ratio < np.inf, np.log1p(ratio), np.log(growth) - np.log(prob))
        large = eps - np.log(prob) + np.log1p(-(1 - prob) * np.exp(-eps))
    return np.asarray(np.where(eps < 1, small, large))[()]


def reversed_order(epsilon: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""log u and :math:`\log(\lambda p/u)` of the second identity of this module; (-inf, inf) where u <= 0."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        absent_share = np.where(p == 1, 0.0, np.expm1(epsilon) * (1 - p) / p)
        share = np.where(absent_share < 1, np.log1p(-np.minimum(absent_share, 1.0)), -np.inf)
    return share + np.log(p), np.where(share > -np.inf, epsilon - share, np.inf)


def subsampled_gaussian_log_delta(epsilon: ArrayLike, *, p: ArrayLike, mu: ArrayLike) -> FloatArray:
    r"""log delta(epsilon) of :math:`pN(\mu, 1) + (1-p)N(0, 1)` against :math:`N(0, 1)`, worst of both directions.

    Notes
    -----
    The result is exact. Let H be the Gaussian curve in lambda. The first direction is p H(a) with a = 1 + (lambda -
    1)/p; the second is u H(b) with b = lambda p/u. With m = lambda - 1, b >= a is equivalent to (1 + m) p^2 >= (p +
    m)(p - m(1 - p)) = p^2 (1 + m) - m^2 (1 - p), which is true; and u <= p. H is decreasing, so the first direction is
    never the smaller one.

    Examples
    --------
    >>> import numpy as np
    >>> float(np.exp(subsampled_gaussian_log_delta(0.5, p=0.1, mu=1.0)))
    0.00203...
    """
    eps, prob, ratio = broadcast(
        epsilon=real("epsilon", epsilon, "[0, inf)"), p=real("p", p, "[0, 1]"), mu=real("mu", mu, "[0, inf]")
    )
    out = np.full(eps.shape, -np.inf)
    positive = prob > 0
    curve, _, _ = gaussian.log_curve(unamplified(eps[positive], prob[positive]), ratio[positive])
    out[positive] = np.log(prob[positive]) + curve
    return out[()]


def opposite_gaussians_log_delta(epsilon: ArrayLike, *, p: ArrayLike, mu: ArrayLike) -> FloatArray:
    r"""log delta(epsilon) of :math:`pN(\mu/2, 1) + (1-p)N(0, 1)` against :math:`pN(-\mu/2, 1) + (1-p)N(0, 1)`.

    A feature is replaced, and the noise does not depend on participation; mu is the distance between the two features.

    Notes
    -----
    The result is exact. Opposite features of greatest norm a = mu/2 are the worst pair of features u, u' of norm at
    most a: for any set A with N(0)(A) = t, N(u)(A) <= Phi(Phi^-1(t) + a) and N(u')(A) >= Phi(Phi^-1(t) - a)
    (Neyman-Pearson), and one half-space attains both. At a tiny mu the density that is integrated is
    :math:`\varphi(x)(p\mu x - \epsilon)_+` up to a relative :math:`O(\mu)` wherever it matters, and so is that of
    :math:`p\,\delta_G(\epsilon/p;\mu)`, the visible device's curve at :math:`\epsilon/p`.

    Examples
    --------
    >>> import numpy as np
    >>> float(np.exp(opposite_gaussians_log_delta(1.0, p=1.0, mu=1.0)))  # p = 1: the Gaussian mechanism
    0.12693...
    """
    eps, prob, distance = broadcast(
        epsilon=real("epsilon", epsilon, "[0, inf)"), p=real("p", p, "[0, 1]"), mu=real("mu", mu, "[0, inf]")
    )
    shape = eps.shape
    eps, prob, distance = eps.ravel(), prob.ravel(), distance.ravel()
    out = np.full(eps.shape, -np.inf)
    disjoint = (prob > 0) & (distance >= 1e150)
    out[disjoint] = np.log(prob[disjoint])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        visible = eps / distance < 1e150  # for a greater ratio log delta is below -1e299
    tiny = (prob > 0) & (distance <= _TINY) & visible
    with np.errstate(over="ignore"):
        out[tiny] = np.log(prob[tiny]) + gaussian.log_curve(eps[tiny] / prob[tiny], distance[tiny])[0]
    regular = (prob > 0) & (distance > _TINY) & (distance < 1e150) & visible
    a = distance[regular] / 2
    no_third = np.zeros(a.size)
    out[regular] = (
        np.log(prob[regular]) + neyman_pearson.best(eps[regular], prob[regular], a, -a, no_third, no_third).log_value
    )
    return np.asarray(np.minimum(out, 0.0).reshape(shape))[()]
