r"""Random participation against an observer who does not see it: two mixtures that share the component "not there".

With :math:`\lambda = e^\epsilon` and components :math:`P_1` (present), :math:`P_0` (not),

.. math:: D_\lambda(pP_1 + (1-p)P_0 \,\|\, P_0) &= p\,D_{1 + (\lambda-1)/p}(P_1\|P_0), \\
          D_\lambda(P_0 \,\|\, pP_1 + (1-p)P_0) &= u\,D_{\lambda p/u}(P_0\|P_1), \qquad u = 1 - \lambda(1-p),

the second being 0 where u <= 0: pull the common component out of the positive part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, broadcast, integer, real
from airtight.analytics.privacy.mechanisms import gaussian, neyman_pearson
from airtight.analytics.privacy.over_the_air import hidden_participation

_LARGE = 600.0  # exp of it is far from overflow


def amplified(epsilon: ArrayLike, p: ArrayLike) -> FloatArray:
    r""":math:`\log(1 + p(e^\epsilon - 1))`, the epsilon of a mechanism that runs with probability p.

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
        small = np.log1p(np.expm1(np.minimum(eps, 1.0)) / prob)
        large = eps - np.log(prob) + np.log1p(-(1 - prob) * np.exp(-eps))
    return np.asarray(np.where(eps < 1, small, large))[()]


def reversed_order(epsilon: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""log u and :math:`\log(\lambda p/u)` of the second identity; (-inf, inf) where u <= 0."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        used = np.expm1(epsilon) * (1 - p) / p
        share = np.where(used < 1, np.log1p(-np.minimum(used, 1.0)), -np.inf)
    return share + np.log(p), np.where(share > -np.inf, epsilon - share, np.inf)


def subsampled_gaussian_log_delta(epsilon: ArrayLike, *, p: ArrayLike, mu: ArrayLike) -> FloatArray:
    r"""log delta(epsilon) of :math:`pN(\mu, 1) + (1-p)N(0, 1)` against :math:`N(0, 1)`, worst of both directions. Exact.

    Notes
    -----
    The first direction is p H(a) with H the Gaussian curve in lambda, a = 1 + (lambda - 1)/p; the second is u H(b) with
    b = lambda p/u. With m = lambda - 1, b >= a amounts to (1 + m) p^2 >= (p + m)(p - m(1 - p)) = p^2 (1 + m) - m^2 (1 - p),
    which is true; and u <= p. So the first is never the smaller one.

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
    some = prob > 0
    curve, _, _ = gaussian.log_curve(unamplified(eps[some], prob[some]), ratio[some])
    out[some] = np.log(prob[some]) + curve
    return out[()]


def opposite_gaussians_log_delta(epsilon: ArrayLike, *, p: ArrayLike, mu: ArrayLike) -> FloatArray:
    r"""log delta(epsilon) of :math:`pN(\mu/2, 1) + (1-p)N(0, 1)` against :math:`pN(-\mu/2, 1) + (1-p)N(0, 1)`. Exact.

    Replacing a feature when the noise does not depend on participation; mu is the distance between the two features.

    Notes
    -----
    Opposite features of greatest norm a = mu/2 are the worst pair of features u, u' of norm at most a: for any set A with
    N(0)(A) = t, N(u)(A) <= Phi(Phi^-1(t) + a) and N(u')(A) >= Phi(Phi^-1(t) - a) (Neyman-Pearson), both attained by one
    half-space.

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
    apart = (prob > 0) & (distance >= 1e150)
    out[apart] = np.log(prob[apart])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        visible = eps / distance < 1e150  # beyond, log delta is below -1e299
    some = (prob > 0) & (distance > 1e-150) & (distance < 1e150) & visible
    a = distance[some] / 2
    nothing = np.zeros(a.size)
    out[some] = np.log(prob[some]) + neyman_pearson.best(eps[some], prob[some], a, -a, nothing, nothing).log_value
    return np.asarray(np.minimum(out, 0.0).reshape(shape))[()]


def hidden_participation_delta(
    epsilon: float, *, p: float, distance: float, variance: float, noise: float, dimension: int, replace: bool = False
) -> float:
    r"""delta(epsilon) for ``silent`` or ``replace`` when the observer knows who else takes part, but not whether k does.

    The neighbours are :math:`pN(d\,e_1, v+s) + (1-p)N(0, v)` and :math:`pN(0, v+s) + (1-p)N(0, v)` (``replace``: means
    :math:`\pm d/2\,e_1`), worst of both directions, for features of greatest norm (``replace``: opposite ones).

    Parameters
    ----------
    epsilon : float
        At least 0.
    p : float
        Probability that the device takes part, in [0, 1].
    distance : float
        d > 0, distance of the two means.
    variance : float
        v > 0, noise variance without the device.
    noise : float
        s >= 0, what the device's own noise adds.
    dimension : int
        r >= 1.

    Returns
    -------
    float
        Within the error of :func:`airtight.analytics.privacy.over_the_air.hidden_participation.log_curve`, some 1e-11
        of delta. With the law of v
        over the others it is :func:`airtight.analytics.privacy.over_the_air.observers.exact_delta`, observer `others`.

    Notes
    -----
    ``silent``: the direction from present to silent is the larger. Let A be the best set of the other one; on it
    N(0, v+s) exceeds N(d e_1, v+s), so x_1 < d/2. Its mirror image at x_1 = d/2 does as well for the first direction, up
    to the term -(lambda-1)(1-p) N(0, v), which is smaller on the image.

    References
    ----------
    Ledger FDP-T1b.

    Examples
    --------
    >>> hidden_participation_delta(1.0, p=0.9, distance=0.4, variance=1.1, noise=0.1, dimension=784)
    0.00040726...
    """
    eps = float(real("epsilon", epsilon, "[0, inf)"))
    prob = float(real("p", p, "[0, 1]"))
    d = float(real("distance", distance, "(0, inf)"))
    v = float(real("variance", variance, "(0, inf)"))
    s = float(real("noise", noise, "[0, inf)"))
    r = int(integer("dimension", dimension, "[1, inf)"))
    if prob == 0.0:
        return 0.0
    one = (np.array([x]) for x in (eps, prob, d, v, s))
    with np.errstate(under="ignore"):
        return prob * float(np.exp(hidden_participation.log_curve(*one, dimension=r, replace=replace)[0][0]))
