r"""The deviation factor of utility-fair federated learning, its model, and noise scaled by it (UF Sec. III-B, III-C).

.. warning::
   Scaling the noise by a factor that depends on the updates makes the noise itself speak of them: Proposition 1 does not
   cover it (:func:`variance_leak`), and sending every device its own noisy copy gives K copies to who collects them
   (:func:`copies_epsilon`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError, broadcast, real
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms import gaussian, gaussian_pair
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.mechanisms.gaussian_pair import UnequalNoise
from airtight.analytics.rounding import UNIT

_ONE_SAMPLE = "one sample, replace"  # what neighbours differ in
_ROUNDING = 16 * UNIT


class Repair(StrEnum):
    """How (26) is kept within [0, 1]: see :func:`deviation`."""

    CLIP = "clip"
    SHIFT = "shift"
    MEAN_UPDATE = "mean-update"


def similarities(updates: ArrayLike, reference: ArrayLike) -> FloatArray:
    """Cosine of each update with the reference; nan where either vanishes, as at w_g = 0 of the first round.

    Parameters
    ----------
    updates : array_like, shape (K, v)
    reference : array_like, shape (v,)

    Examples
    --------
    >>> similarities([[1.0, 0.0], [1.0, 1.0]], [2.0, 0.0]).round(4)
    array([1.    , 0.7071])
    """
    h, w = _updates(updates), real("reference", reference)
    if w.shape != h.shape[1:]:
        raise ParameterError("reference", f"array of shape {w.shape}", f"of shape {h.shape[1:]}")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.clip((h @ w) / (np.linalg.norm(h, axis=1) * np.linalg.norm(w)), -1.0, 1.0))


def published_deviation(similarity: ArrayLike) -> FloatArray:
    r"""Eq. (26) as printed: :math:`\mathcal E_k = 1 - s_k/\max_k s_k`. Not in [0, 1] unless all :math:`s_k \ge 0`.

    Examples
    --------
    >>> published_deviation([0.01, -0.5, -0.9])
    array([ 0., 51., 91.])
    """
    s = _similarity(similarity)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - s / np.max(s))


def deviation(similarity: ArrayLike, *, repair: Repair | str = Repair.CLIP) -> FloatArray:
    r"""A deviation factor in [0, 1], 0 for the best device.

    ``clip``: :math:`1 - (s_k)_+/\max_k s_k` (all 0 when no similarity is positive). ``shift``:
    :math:`1 - (1+s_k)/(1+\max_k s_k)`,
    order-preserving. ``mean-update`` is ``clip`` of similarities with the mean update (:func:`mean_update_similarities`), one of
    which is always positive.

    Examples
    --------
    >>> deviation([0.01, -0.5, -0.9]), deviation([0.5, -0.2, 0.1], repair="shift").round(4)
    (array([0., 1., 1.]), array([0.    , 0.4667, 0.2667]))
    """
    s = _similarity(similarity)
    kind = checks.choice("repair", repair, Repair)
    top = float(np.max(s))
    if kind is Repair.SHIFT:
        return np.asarray(1 - (1 + s) / (1 + top)) if top > -1 else np.zeros_like(s)
    return np.asarray(1 - np.maximum(s, 0.0) / top) if top > 0 else np.zeros_like(s)


def mean_update_similarities(updates: ArrayLike) -> FloatArray:
    r"""Cosines with the mean update :math:`\bar h`; the greatest is positive whenever :math:`\bar h \ne 0`.

    Notes
    -----
    :math:`K\|\bar h\|^2 = \sum_k\langle\bar h, h_k\rangle`.

    Examples
    --------
    >>> mean_update_similarities([[1.0, 0.0], [0.0, 1.0]]).round(4)
    array([0.7071, 0.7071])
    """
    h = _updates(updates)
    return similarities(h, h.mean(axis=0))


def model(compute_energy: ArrayLike, *, beta_1: ArrayLike, beta_2: ArrayLike) -> FloatArray:
    r"""Eq. (28): :math:`\beta_1e^{-E_{cp}/\beta_2}`; at most 1 needs :math:`\beta_1 \le 1`.

    Parameters
    ----------
    compute_energy : array_like
        J, >= 0.
    beta_1, beta_2 : array_like
        > 0; beta_2 in J.

    Examples
    --------
    >>> round(float(model(0.05, beta_1=0.5, beta_2=0.05)), 4)
    0.1839
    """
    y, b1, b2 = broadcast(
        compute_energy=real("compute_energy", compute_energy, "[0, inf)"),
        beta_1=real("beta_1", beta_1, "(0, inf)"),
        beta_2=real("beta_2", beta_2, "(0, inf)"),
    )
    return np.asarray(b1 * np.exp(-y / b2))[()]


def published_fit(deviation: ArrayLike, compute_energy: ArrayLike, *, beta_2: ArrayLike) -> FloatArray:
    r"""A minimiser of (29) for any beta_2: :math:`\beta_1 = \mathcal E\,e^{E_{cp}/\beta_2}`, residual 0.

    One round gives one equation for two unknowns: the argmin of (29) is a curve, or at :math:`\mathcal E = 0` not attained.

    Examples
    --------
    >>> published_fit(0.2, 0.05, beta_2=[0.02, 0.5]).round(4)
    array([2.4365, 0.221 ])
    """
    e, y, b2 = broadcast(
        deviation=real("deviation", deviation, "(0, inf)"),
        compute_energy=real("compute_energy", compute_energy, "[0, inf)"),
        beta_2=real("beta_2", beta_2, "(0, inf)"),
    )
    with np.errstate(over="ignore"):
        return np.asarray(e * np.exp(y / b2))[()]


class Fit(NamedTuple):
    """Parameters of the deviation model (28)."""

    beta_1: float
    beta_2: float


def fit(deviation: ArrayLike, compute_energy: ArrayLike) -> Fit:
    r"""The model (28) from a window of rounds: :math:`\log\mathcal E` against :math:`E_{cp}` by least squares, weights
    :math:`\mathcal E^2`.

    Parameters
    ----------
    deviation : array_like, shape (n,)
        In [0, inf); rounds with 0 carry no weight.
    compute_energy : array_like, shape (n,)
        J.

    Raises
    ------
    ParameterError
        When fewer than two different energies have a positive deviation, or the deviation does not fall with the energy:
        keep the previous parameters then.

    Examples
    --------
    >>> y = np.array([0.01, 0.03, 0.06])
    >>> fit(model(y, beta_1=0.5, beta_2=0.05), y)
    Fit(beta_1=0.5..., beta_2=0.0...)
    """
    e, y = broadcast(
        deviation=real("deviation", deviation, "[0, inf)"),
        compute_energy=real("compute_energy", compute_energy, "[0, inf)"),
    )
    used = e > 0
    if np.unique(y[used]).size < 2:
        raise ParameterError(
            "compute_energy",
            f"{np.unique(y[used]).size} distinct",
            "at least two different energies with a positive deviation",
        )
    weight, x, target = e[used] ** 2, y[used], np.log(e[used])
    middle = np.average(x, weights=weight)
    slope = np.sum(weight * (x - middle) * target) / np.sum(weight * (x - middle) ** 2)
    if not slope < 0:
        raise ParameterError("deviation", f"slope {slope:.3g} against energy", "falling with the compute energy")
    beta_2 = -1 / slope
    return Fit(float(np.exp(np.average(target, weights=weight) + middle / beta_2)), float(beta_2))


def noise_scale(deviation: ArrayLike, *, epsilon: ArrayLike, delta: ArrayLike, theta: ArrayLike) -> FloatArray:
    r"""Eq. (25): :math:`\hat\sigma = \sqrt{2\log(1.25/\delta)}/(\epsilon(1-\mathcal E\theta))`.

    As printed, outside its domain too.

    It is the classical calibration (9) at :math:`\epsilon(1-\mathcal E\theta)`, valid where that is in (0, 1): see
    :func:`effective_epsilon`. Negative or infinite where :math:`\mathcal E\theta \ge 1`.

    Examples
    --------
    >>> noise_scale([0.25, 1.0, 1.7], epsilon=0.95, delta=1e-5, theta=0.6).round(3)
    array([   6.   ,   12.749, -254.99 ])
    """
    effective = np.asarray(effective_epsilon(deviation, epsilon=epsilon, theta=theta))
    d = real("delta", delta, "(0, 1)")
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(2 * np.log(1.25 / d)) / effective)[()]


def effective_epsilon(deviation: ArrayLike, *, epsilon: ArrayLike, theta: ArrayLike) -> FloatArray:
    r""":math:`\epsilon(1-\mathcal E\theta)`, the epsilon that (25) calibrates for.

    Examples
    --------
    >>> round(float(effective_epsilon(-4.0, epsilon=0.95, theta=0.6)), 2)
    3.23
    """
    e, eps, th = broadcast(
        deviation=real("deviation", deviation),
        epsilon=real("epsilon", epsilon, "(0, inf)"),
        theta=real("theta", theta, "[0, 1]"),
    )
    return np.asarray(eps * (1 - e * th))[()]


def utility_fair(
    deviation: float,
    *,
    epsilon: float,
    delta: float,
    theta: float,
    neighbour: float | None = None,
    dimension: int | None = None,
) -> PrivacyCurve:
    r"""One noisy copy of the global model, (27), with the noise of :func:`noise_scale`; the copies of all devices: ``compose``.

    Parameters
    ----------
    deviation, epsilon, delta, theta
        As of :func:`noise_scale`, with :math:`\mathcal E\theta < 1`; the sensitivity is the unit of the noise.
    neighbour : float, optional
        The factor of the neighbouring data set; the same by default, which is a guarantee only if the factor does not depend
        on the data.
    dimension : int, optional
        v, the number of parameters; needed when the factors differ.

    Returns
    -------
    PrivacyCurve
        Adjacency ``replace`` (one sample), observer: who sees this copy. Of neighbours with exactly these two factors: a change
        of the variance may say much more than a move of the model (:func:`variance_leak`).

    Examples
    --------
    >>> one = utility_fair(0.25, epsilon=0.95, delta=1e-5, theta=0.6)
    >>> bool(one.epsilon(1e-5) < 0.8075), round(float(one.compose(10).epsilon(1e-5)), 3)  # 10 copies; (25) asks for .8075
    (True, 2.114)
    >>> round(float(utility_fair(0.25, epsilon=0.95, delta=1e-5, theta=0.6, neighbour=0.26, dimension=650).epsilon(1e-5)), 2)
    1.24
    """
    factors = [deviation, deviation if neighbour is None else neighbour]
    for name, factor in zip(("deviation", "neighbour"), factors, strict=True):
        if not checks.scalar(name, factor) * checks.scalar("theta", theta, "[0, 1]") < 1:
            raise ParameterError(name, factor, "below 1/theta")
    first, second = (float(noise_scale(factor, epsilon=epsilon, delta=delta, theta=theta)) for factor in factors)
    if first == second:
        return PrivacyCurve.of(Gaussian(1 / first, _ONE_SAMPLE, _ROUNDING))
    if dimension is None:
        raise ParameterError("dimension", None, "given when the factors differ")
    return PrivacyCurve.of(UnequalNoise(1.0, first, second, dimension, _ONE_SAMPLE))


def variance_leak(
    epsilon: ArrayLike, *, deviation_change: ArrayLike, theta: ArrayLike, dimension: ArrayLike
) -> FloatArray:
    r"""delta at epsilon when only the *variance* of the v-dimensional noise differs between neighbours, exactly.

    Neighbours whose deviation factors are 0 and dE get noise of standard deviations s and :math:`s/(1-\theta\,dE)`, and let their
    updates be equal: adjacency ``replace``, the greater of both directions.

    Parameters
    ----------
    epsilon : array_like
        >= 0.
    deviation_change : array_like
        dE in (0, 1/theta).
    theta, dimension : array_like
        theta in (0, 1]; v >= 1.

    Examples
    --------
    >>> round(float(variance_leak(0.95, deviation_change=0.05, theta=0.6, dimension=650)), 6)
    0.179132
    """
    change, th = broadcast(
        deviation_change=real("deviation_change", deviation_change, "(0, inf)"), theta=real("theta", theta, "(0, 1]")
    )
    if np.any(th * change >= 1):
        raise ParameterError("deviation_change", float(np.max(change)), "below 1/theta")
    inflated = (1 - th * change) ** -2.0
    logs = [
        gaussian_pair.log_hockey_stick(epsilon, distance=0.0, variance_p=p, variance_q=q, dimension=dimension)
        for p, q in ((inflated, 1.0), (1.0, inflated))
    ]
    return np.asarray(np.exp(np.maximum(*logs)))[()]


def copies_epsilon(delta: ArrayLike, *, noise: ArrayLike, devices: int, rounds: int = 1) -> FloatArray:
    r"""Exact epsilon against who collects all K copies (27), each with its own noise: :math:`\mu\sqrt{KM}`; rounded up.

    Parameters
    ----------
    delta : array_like
    noise : array_like
        sigma, in units of the sensitivity.
    devices, rounds : int
        K and M.

    Examples
    --------
    >>> round(float(copies_epsilon(1e-5, noise=5.099795013268831, devices=10)), 7)
    2.537231
    """
    copies = checks.count("devices", devices) * checks.count("rounds", rounds)
    return np.asarray(gaussian.epsilon(delta, sensitivity=np.sqrt(copies), sigma=noise))[()]


def sensitivity(
    *,
    lipschitz: ArrayLike,
    strong_convexity: ArrayLike,
    smoothness: ArrayLike,
    step: ArrayLike,
    iterations: ArrayLike,
    samples: ArrayLike,
) -> FloatArray:
    r"""How much one replaced sample moves a local update, proven: :math:`\tfrac{4G}{\mu d}(1-(1-\eta\mu)^j)`.

    Algorithm 1 takes "around 0.01" from observation, which is no bound.

    Parameters
    ----------
    lipschitz : array_like
        G, of the loss of one sample.
    strong_convexity, smoothness : array_like
        mu and L, of the local loss, 0 < mu <= L.
    step, iterations, samples : array_like
        eta in (0, 2/(mu + L)], j, d.

    Raises
    ------
    ParameterError
        When mu > L or the step is longer: it may then expand, and nothing is proven.

    Notes
    -----
    *Hypotheses.* (Ledger UF-E7*, UF-E7*-common.) Losses of samples have slopes of at most G, the local loss is strongly convex
    and smooth with :math:`\mu` and L, :math:`0 < \eta \le 2/(\mu+L)`, and :math:`0 \le \xi \le 2K` in the local loss (4).

    A step on one local loss F takes x and y to points whose difference is :math:`(I - \eta H)(x - y)`, H the mean of the Hessian
    between them, of eigenvalues in :math:`[\mu, L]` (without second derivatives: by co-coercivity). So it contracts by
    :math:`\max(|1-\eta\mu|, |1-\eta L|)`, which is :math:`1-\eta\mu` exactly when :math:`\eta \le 2/(\mu+L)`. The other sample
    changes the gradient of (4), :math:`\nabla F_k(w+h) - (1-\xi/K)\nabla F_k(w)` and what the other devices broadcast, by at most
    :math:`(1+|1-\xi/K|)\,2G/d`, which is at most 4G/d just where :math:`0 \le \xi \le 2K`: that is assumed. From equal starts
    the distance :math:`h_{i+1} \le (1-\eta\mu)h_i + 4\eta G/d` sums up to the bound, a geometric series.

    At :math:`\xi = 2K` losses :math:`\tfrac\mu2h^2 \pm Gh/d` attain it: both gradients have one sign. Where the broadcast
    gradient is common (:math:`\xi \to 0`) both cancel in the first iteration, and j - 1 of them are what moves:
    :math:`\tfrac{4G}{\mu d}(1-(1-\eta\mu)^{j-1})`, attained by a kink that one sample turns round.

    Examples
    --------
    >>> round(float(sensitivity(lipschitz=1.0, strong_convexity=0.01, smoothness=20.0, step=0.05, iterations=80,
    ...     samples=179)), 7)
    0.0876428
    """
    G, mu, L, eta, j, d = broadcast(
        lipschitz=real("lipschitz", lipschitz, "[0, inf)"),
        strong_convexity=real("strong_convexity", strong_convexity, "(0, inf)"),
        smoothness=real("smoothness", smoothness, "(0, inf)"),
        step=real("step", step, "(0, inf)"),
        iterations=real("iterations", iterations, "[0, inf]"),
        samples=real("samples", samples, "[1, inf)"),
    )
    for name, value, bad, allowed in (
        ("smoothness", L, mu > L, "at least strong_convexity"),
        ("step", eta, eta > 2 / (mu + L), "at most 2/(strong_convexity + smoothness)"),
    ):
        if np.any(bad):
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ParameterError(name, float(value[index]), allowed, index)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.where(j > 0, -np.expm1(j * np.log1p(-np.minimum(eta * mu, 1.0))), 0.0)
    return np.asarray(4 * G / (mu * d) * moved)[()]


def _updates(updates: ArrayLike) -> FloatArray:
    h = real("updates", updates)
    if h.ndim != 2 or not h.size:
        raise ParameterError("updates", f"array of shape {h.shape}", "of shape (K, v), not empty")
    return h


def _similarity(similarity: ArrayLike) -> FloatArray:
    s = real("similarity", similarity, "[-1, 1]")
    if s.ndim != 1 or not s.size:
        raise ParameterError("similarity", f"array of shape {s.shape}", "of shape (K,), not empty")
    return s
