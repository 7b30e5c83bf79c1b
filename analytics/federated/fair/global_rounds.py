r"""Number of rounds of a global accuracy under noise: UF Algorithm 1, lines 3 to 19.

The losses of all K devices are mu-strongly convex and L-smooth. In every round device k solves (4) up to the accuracy Phi of
(21), noise of mean 0 is added to its update and to the global model, and the next round begins at the noisy model. The accuracy
of round m is

.. math:: \Psi_m = \frac{E\,G(w_m)-G^*}{G(w_0)-G^*}.

Noise of constant variance keeps it above a floor: below this no number of rounds is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, ParameterError, broadcast, real


def contraction(
    *, pull: ArrayLike, strong_convexity: ArrayLike, smoothness: ArrayLike, local_accuracy: ArrayLike = 0.0
) -> FloatArray:
    r"""Factor q of the excess in one round without noise: :math:`G(w^+)-G^* \le q\,(G(w)-G^*)`.

    .. math:: q = 1 - 2\mu\xi\Bigl[\tfrac1L-\tfrac\xi{2\mu} - \tfrac{\sqrt\Phi}\mu
              - \tfrac{L\xi}{\mu^2}\bigl(\sqrt\Phi+\tfrac\Phi2\bigr)\Bigr]

    Parameters
    ----------
    pull : array_like
        xi > 0 of the local problem (4).
    strong_convexity, smoothness : array_like
        0 < mu <= L.
    local_accuracy : array_like
        Phi in [0, 1); 0 for exact local solutions.

    Returns
    -------
    ndarray
        Infinite where the bracket is not positive, where nothing is proved.

    Notes
    -----
    *Hypotheses.* (Ledger UF-Psi*.) Those of this module; all devices count alike in (3), (5) and G.

    Let :math:`g = \nabla G(w)`. The exact solution of (4) has :math:`\nabla L_k(w+h)-\nabla L_k(w) = -\xi g`, so it is
    :math:`-\xi M_k^{-1}g` with a mean Hessian :math:`\mu \le M_k \le L`. The updates have the mean :math:`-\xi Pg+e`,
    :math:`1/L \le P \le 1/\mu`. (4) is mu-strongly convex with the slope :math:`\xi g` at 0, so that (21) gives
    :math:`\tfrac\mu2\|h-h^*\|^2 \le \Phi\,\xi^2\|g\|^2/(2\mu)`, hence :math:`\|e\| \le \sqrt\Phi\,\xi\|g\|/\mu`. By smoothness
    the excess changes by at most

    .. math:: -\xi g^TPg + \tfrac{L\xi^2}2g^TP^2g + \|g\|\|e\| + L\xi\|Pg\|\|e\| + \tfrac L2\|e\|^2.

    As :math:`P^2 \le P/\mu` the first two terms are at most :math:`-\xi(1-\tfrac{L\xi}{2\mu})\,g^TPg`, and
    :math:`g^TPg \ge \|g\|^2/L`, the factor before it being positive where the bracket of q is. The sum is at most
    :math:`-\xi[\dots]\|g\|^2` with that bracket, and :math:`\|g\|^2 \ge 2\mu(G-G^*)`.

    Examples
    --------
    >>> float(contraction(pull=0.5, strong_convexity=1.0, smoothness=1.0))
    0.25
    >>> round(float(contraction(pull=0.03, strong_convexity=0.1, smoothness=1.0, local_accuracy=1e-4)), 4)
    0.9957
    """
    gap = _gap(pull, strong_convexity, smoothness, local_accuracy)
    return np.asarray(np.where(gap > 0, 1 - gap, np.inf))[()]


def floor(
    *,
    noise: ArrayLike,
    pull: ArrayLike,
    strong_convexity: ArrayLike,
    smoothness: ArrayLike,
    local_accuracy: ArrayLike = 0.0,
) -> FloatArray:
    r"""Bound of the accuracy that remains after any number of rounds: :math:`\nu/(1-q)`.

    Parameters
    ----------
    noise : array_like
        :math:`\nu = L\,E\|n\|^2/(2(G(w_0)-G^*))`, n the noise of one round in the global model: the greatest excess that it can
        add, over the excess at the start.
    pull, strong_convexity, smoothness, local_accuracy : array_like
        As for :func:`contraction`.

    Examples
    --------
    >>> round(float(floor(noise=0.01, pull=0.5, strong_convexity=1.0, smoothness=1.0)), 4)
    0.0133
    """
    gap, nu = broadcast(
        gap=_gap(pull, strong_convexity, smoothness, local_accuracy), noise=real("noise", noise, "[0, inf)")
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(gap > 0, nu / gap, np.inf))[()]


def worst_accuracy(
    rounds: ArrayLike,
    *,
    noise: ArrayLike,
    pull: ArrayLike,
    strong_convexity: ArrayLike,
    smoothness: ArrayLike,
    local_accuracy: ArrayLike = 0.0,
) -> FloatArray:
    r"""Bound of the accuracy :math:`\Psi_m`: :math:`q^m + \nu\,(1-q^m)/(1-q)`.

    Parameters
    ----------
    rounds : array_like
        m >= 0.
    noise, pull, strong_convexity, smoothness, local_accuracy : array_like
        As for :func:`floor`.

    Notes
    -----
    *Hypotheses.* (Ledger UF-Psi*.) As :func:`contraction`; the noise of a round has mean 0 given the past.

    :math:`E\,G(x+n) \le G(x) + \tfrac L2E\|n\|^2`, so that :math:`\Psi_{m+1} \le q\Psi_m + \nu`. Attained by exact solutions of
    equal quadratics with :math:`\mu = L`, for which :math:`q = (1-\xi)^2`. In Coq: `UF_Psi_star` of
    `formal/utility_fairness_general.v`, for exact local solutions and without second derivatives; the mean over the noise is
    any that rises, and gives quadratics the mean that moments 0 and :math:`E\|n\|^2` say, the same in every round.

    Examples
    --------
    >>> worst_accuracy([0, 1, 100], noise=0.01, pull=0.5, strong_convexity=1.0, smoothness=1.0).round(4)
    array([1.    , 0.26  , 0.0133])
    """
    m, gap, nu = broadcast(
        rounds=real("rounds", rounds, "[0, inf)"),
        gap=_gap(pull, strong_convexity, smoothness, local_accuracy),
        noise=real("noise", noise, "[0, inf)"),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        log_kept = m * np.log1p(-gap)
        bound = np.exp(log_kept) - nu * np.expm1(log_kept) / gap
        return np.asarray(np.where(m == 0, 1.0, np.where(gap > 0, bound, np.inf)))[()]


def sufficient_rounds(
    accuracy: ArrayLike,
    *,
    noise: ArrayLike,
    pull: ArrayLike,
    strong_convexity: ArrayLike,
    smoothness: ArrayLike,
    local_accuracy: ArrayLike = 0.0,
) -> FloatArray:
    r"""Number of rounds M that suffices for a global accuracy: :math:`\log\tfrac{\Psi-f}{1-f}/\log q`, f the floor.

    Parameters
    ----------
    accuracy : array_like
        Psi in (0, 1].
    noise, pull, strong_convexity, smoothness, local_accuracy : array_like
        As for :func:`floor`.

    Returns
    -------
    ndarray
        A real number, to be rounded up. Infinite where Psi is not above the floor.

    Examples
    --------
    >>> model = {"pull": 0.5, "strong_convexity": 1.0, "smoothness": 1.0}
    >>> sufficient_rounds([0.1, 0.02, 0.01], noise=0.01, **model).round(2)
    array([1.75, 3.6 ,  inf])
    """
    psi, gap, nu = broadcast(
        accuracy=real("accuracy", accuracy, "(0, 1]"),
        gap=_gap(pull, strong_convexity, smoothness, local_accuracy),
        noise=real("noise", noise, "[0, inf)"),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        count = np.log1p((psi - 1) * gap / (gap - nu)) / np.log1p(-gap)  # the argument is (psi - f)/(1 - f), f = nu/gap
        reached = np.where(gap == 1, 1.0, count)
        return np.asarray(np.where(psi == 1, 0.0, np.where((gap > 0) & (psi * gap > nu), reached, np.inf)))[()]


def quadratic_accuracy(
    rounds: ArrayLike,
    *,
    curvatures: ArrayLike,
    start: ArrayLike,
    pull: float,
    local_noise: float,
    global_noise: float,
    keeps_model: bool = False,
) -> FloatArray:
    r"""The accuracy :math:`\Psi_m` of quadratic losses with a common basis and exact local solutions; an equality.

    Parameters
    ----------
    rounds : array_like
        m >= 0.
    curvatures : array_like, shape (K, v)
        Eigenvalues of the Hessian of every device.
    start : array_like, shape (v,)
        w_0 minus the minimiser, in the same basis.
    pull : float
        xi.
    local_noise, global_noise : float
        Standard deviation, in each coordinate, of the noise of every device and of that of the access point.
    keeps_model : bool
        False: line 17 of Algorithm 1, the noisy model is the next one. True: Sec. III-B, the access point keeps its model and
        every device receives a copy with noise of its own.

    Notes
    -----
    *Hypotheses.* (Ledger UF-Psi*-quadratic.) The Hessians are diagonal in one basis; all noise is independent.

    In one coordinate let :math:`c_k` be the curvatures and x the distance to the minimiser. (4) has the solution
    :math:`-\xi\,\nabla G/c_k`, so that x is multiplied by :math:`a = 1-\xi\,\overline{1/c}\;\bar c`, and noise of variance
    :math:`V = s_l^2/K+s_g^2` is added. Where the devices begin at their own copies, (3) has the noise
    :math:`\tfrac1K\sum_kc_kn_k`, and :math:`V = s_l^2/K + \xi^2\,\overline{1/c}^2\,\overline{c^2}\,s_g^2/K`.
    :math:`E x_m^2 = a^{2m}x_0^2 + V\,\tfrac{1-a^{2m}}{1-a^2}`, and G is :math:`\tfrac12\sum\bar c\,x^2`. In Coq:
    `UF_Psi_star_quadratic` of `formal/utility_fairness_general.v`, in the coordinates of the basis.

    Examples
    --------
    >>> ten = np.ones((10, 1))
    >>> for keeps_model in (False, True):
    ...     print(quadratic_accuracy([1, 50], curvatures=ten, start=[1.0], pull=0.5, local_noise=0.05, global_noise=0.05,
    ...                              keeps_model=keeps_model).round(6))
    [0.25275  0.003667]
    [0.250312 0.000417]
    """
    c, x = real("curvatures", curvatures, "(0, inf)"), real("start", start)
    if c.ndim != 2 or not c.size:
        raise ParameterError("curvatures", f"array of shape {c.shape}", "of shape (K, v) and not empty")
    if x.shape != c.shape[1:] or not np.any(x):
        raise ParameterError("start", f"array of shape {x.shape}", f"of shape {c.shape[1:]} and not 0")
    m = real("rounds", rounds, "[0, inf)")[..., None]
    xi = real("pull", pull, "(0, inf)")
    of_devices, of_server = real("local_noise", local_noise, "[0, inf)"), real("global_noise", global_noise, "[0, inf)")
    pulled = xi * np.mean(1 / c, axis=0)
    shrinking = pulled * c.mean(axis=0)  # 1 - a
    carried = pulled**2 * np.mean(c**2, axis=0) / len(c) if keeps_model else 1.0
    variance = of_devices**2 / len(c) + carried * of_server**2
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        log_kept = 2 * m * np.where(shrinking < 1, np.log1p(-np.minimum(shrinking, 1.0)), np.log(np.abs(1 - shrinking)))
        log_kept = np.where(m == 0, 0.0, log_kept)
        times = np.where(shrinking == 2, m, -np.expm1(log_kept) / (shrinking * (2 - shrinking)))
        squares = np.exp(log_kept) * x**2 + variance * times
        return np.asarray((squares @ c.mean(axis=0)) / (x**2 @ c.mean(axis=0)))[()]


def _gap(
    pull: ArrayLike, strong_convexity: ArrayLike, smoothness: ArrayLike, local_accuracy: ArrayLike
) -> FloatArray:
    """1 - q of :func:`contraction`, without cancellation; 0 where nothing is proved."""
    xi, mu, L, phi = broadcast(
        pull=real("pull", pull, "(0, inf)"),
        strong_convexity=real("strong_convexity", strong_convexity, "(0, inf)"),
        smoothness=real("smoothness", smoothness, "(0, inf)"),
        local_accuracy=real("local_accuracy", local_accuracy, "[0, 1)"),
    )
    if np.any(mu > L):
        raise ParameterError("strong_convexity", float(mu[mu > L].ravel()[0]), "at most smoothness")
    ratio, error = L / mu, np.sqrt(phi)
    gap = 2 * xi * (1 / ratio - xi / 2 - error - ratio * xi * (error + phi / 2))
    return np.asarray(np.maximum(gap, 0.0))
