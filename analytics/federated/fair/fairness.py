r"""The deviation factor of utility-fair learning, its dependence on the compute energy, the noise that it scales (UF III).

.. warning::
   If the noise is scaled by a factor that depends on the updates, its variance leaks information about them, which
   Proposition 1 does not cover (:func:`variance_leak`). If every device gets its own noisy copy, an observer may
   collect K copies (:func:`copies_epsilon`).
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
_ROUNDING = 16 * UNIT  # relative error of the ratio of sensitivity and noise


class Repair(StrEnum):
    """How values of (26) are mapped to [0, 1]; see :func:`deviation`."""

    CLIP = "clip"
    SHIFT = "shift"
    MEAN_UPDATE = "mean-update"


def similarities(updates: ArrayLike, reference: ArrayLike) -> FloatArray:
    """Cosine of each update with the reference; nan where one of them vanishes, as w_g = 0 in the first round.

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
    r"""Eq. (26) as printed: :math:`\mathcal E_k = 1 - s_k/\max_k s_k`.

    It is in [0, 1] whenever all :math:`s_k \ge 0` and one is positive.

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

    ``clip``: :math:`1 - (s_k)_+/\max_k s_k` (all 0 if no similarity is positive). ``shift``:
    :math:`1 - (1+s_k)/(1+\max_k s_k)`, which preserves the order. ``mean-update`` is ``clip`` of the similarities with
    the mean update (:func:`mean_update_similarities`), one of which is positive unless the mean update vanishes.

    Examples
    --------
    >>> deviation([0.01, -0.5, -0.9]), deviation([0.5, -0.2, 0.1], repair="shift").round(4)
    (array([0., 1., 1.]), array([0.    , 0.4667, 0.2667]))
    """
    s = _similarity(similarity)
    repair_rule = checks.choice("repair", repair, Repair)
    top = float(np.max(s))
    if repair_rule is Repair.SHIFT:
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
    r"""Eq. (28): :math:`\beta_1e^{-E_{cp}/\beta_2}`, which is at most 1 for all energies only if :math:`\beta_1 \le 1`.

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
    r"""Minimiser beta_1 of (29) for given beta_2: :math:`\beta_1 = \mathcal E\,e^{E_{cp}/\beta_2}`, with residual 0.

    One round gives one equation for two unknowns. So the minimisers of (29) are a curve; for :math:`\mathcal E = 0`
    there is none.

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
    r"""Parameters of the model (28) by weighted least squares over a window of rounds.

    The regression is of :math:`\log\mathcal E` on :math:`E_{cp}` with the weights :math:`\mathcal E^2`.

    Parameters
    ----------
    deviation : array_like, shape (n,)
        In [0, inf); rounds with deviation 0 have weight 0.
    compute_energy : array_like, shape (n,)
        J.

    Raises
    ------
    ParameterError
        If fewer than two different energies have a positive deviation, or the deviation does not fall with the energy.
        The previous parameters should then be kept.

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

    The formula is evaluated as printed, also outside its domain. It is the classical calibration (9) at
    :math:`\epsilon(1-\mathcal E\theta)`, which is valid if this epsilon is in (0, 1) (:func:`effective_epsilon`). The
    value is negative or infinite where :math:`\mathcal E\theta \ge 1`.

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
    r""":math:`\epsilon(1-\mathcal E\theta)`, the epsilon for which (25) calibrates the noise.

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
    r"""Privacy curve of one noisy copy of the global model, (27); ``compose`` gives the copies of all devices.

    Parameters
    ----------
    deviation, epsilon, delta, theta
        See :func:`noise_scale`, which scales the noise in units of the sensitivity; :math:`\mathcal E\theta < 1` is
        required.
    neighbour : float, optional
        The deviation factor for the neighbouring data set. By default it equals `deviation`, which is a guarantee only
        if the factor does not depend on the data.
    dimension : int, optional
        v, the number of parameters; required if the factors differ.

    Returns
    -------
    PrivacyCurve
        Adjacency ``replace`` (one sample); the observer sees this copy. The curve holds for neighbours with exactly
        these two factors: a change of the variance may leak much more than a move of the model
        (:func:`variance_leak`).

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
    checks.scalar("epsilon", epsilon, "(0, inf)")
    checks.scalar("delta", delta, "(0, 1)")
    noise, neighbour_noise = (
        float(noise_scale(factor, epsilon=epsilon, delta=delta, theta=theta)) for factor in factors
    )
    if noise == neighbour_noise:
        return PrivacyCurve.of(Gaussian(1 / noise, _ONE_SAMPLE, _ROUNDING))
    if dimension is None:
        raise ParameterError("dimension", None, "given if the factors differ")
    return PrivacyCurve.of(UnequalNoise(1.0, noise, neighbour_noise, dimension, _ONE_SAMPLE))


def variance_leak(
    epsilon: ArrayLike, *, deviation_change: ArrayLike, theta: ArrayLike, dimension: ArrayLike
) -> FloatArray:
    r"""delta at epsilon when only the *variance* of the v-dimensional noise differs between neighbours, exactly.

    Neighbours with the deviation factors 0 and dE get noise of standard deviations s and :math:`s/(1-\theta\,dE)`;
    their updates are equal. Adjacency ``replace``; delta is the greater one of both directions.

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
    r"""Exact epsilon for an observer of all K copies (27) in M rounds, each with its own noise; rounded up.

    The copies are a Gaussian mechanism with the ratio :math:`\mu\sqrt{KM}`, :math:`\mu` being that of one copy.

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
    r"""Proven bound of the change of a local update by one replaced sample: :math:`\tfrac{4G}{\mu d}(1-(1-\eta\mu)^j)`.

    Algorithm 1 of the paper uses the observed value "around 0.01", which is not a bound.

    Parameters
    ----------
    lipschitz : array_like
        G, Lipschitz constant of the loss of one sample.
    strong_convexity, smoothness : array_like
        mu and L of the local loss, 0 < mu <= L.
    step, iterations, samples : array_like
        eta in (0, 2/(mu + L)], j, d.

    Raises
    ------
    ParameterError
        If mu > L or eta > 2/(mu + L): such a step may be expansive, and the proof does not apply.

    Notes
    -----
    *Hypotheses.* (Ledger UF-E7*, UF-E7*-common.) The loss of each sample is G-Lipschitz. The local loss is
    :math:`\mu`-strongly convex and L-smooth, or what is left of it without the replaced sample is, and the slopes of that
    sample, which may have a kink, are any of length G at most. :math:`0 < \eta \le 2/(\mu+L)`, and
    :math:`0 \le \xi \le 2K` in the local loss (4).

    A step on one local loss F maps x and y to points whose difference is :math:`(I - \eta H)(x - y)`, where H is the
    mean of the Hessian between them, with eigenvalues in :math:`[\mu, L]` (without second derivatives use
    co-coercivity). So it contracts by :math:`\max(|1-\eta\mu|, |1-\eta L|)`, which is :math:`1-\eta\mu` exactly when
    :math:`\eta \le 2/(\mu+L)`. The replaced sample enters the gradient of (4) in :math:`\nabla F_k(w+h)`, in
    :math:`(1-\xi/K)\nabla F_k(w)` and in the broadcast gradients. Together these change by at most
    :math:`(1+|1-\xi/K|)\,2G/d`. This is at most 4G/d exactly for :math:`0 \le \xi \le 2K`, which is assumed. From
    equal starting points the distances :math:`h_{i+1} \le (1-\eta\mu)h_i + 4\eta G/d` give the bound by a geometric
    series.

    For :math:`\xi = 2K` the losses :math:`\tfrac\mu2h^2 \pm Gh/d` attain the bound, because both gradients have the
    same sign. If the broadcast gradient is common (:math:`\xi \to 0`), the two gradients cancel in the first
    iteration, and only j - 1 iterations contribute: :math:`\tfrac{4G}{\mu d}(1-(1-\eta\mu)^{j-1})`, attained by a loss
    with a kink whose direction one sample reverses.

    In Coq: `UF_E7_star` and `UF_E7_star_common` of `formal/utility_fairness_general.v`, without second derivatives.

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
    for name, value, violated, allowed in (
        ("smoothness", L, mu > L, "at least strong_convexity"),
        ("step", eta, eta > 2 / (mu + L), "at most 2/(strong_convexity + smoothness)"),
    ):
        if np.any(violated):
            index = tuple(int(i) for i in np.argwhere(violated)[0])
            raise ParameterError(name, float(value[index]), allowed, index)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(j > 0, -np.expm1(j * np.log1p(-np.minimum(eta * mu, 1.0))), 0.0)
    return np.asarray(4 * G / (mu * d) * factor)[()]


def client_sensitivity(*, clip: ArrayLike, devices: ArrayLike) -> FloatArray:
    r"""Greatest distance by which one device moves the mean of K updates, each clipped to norm C: :math:`2C/K`.

    The neighbour replaces the update of a device, or leaves the device out and averages the K - 1 others. Without a clip the
    distance has no bound: infinite.

    Parameters
    ----------
    clip : array_like
        C > 0, the greatest norm of an update; inf for updates that are not clipped.
    devices : array_like
        K >= 2.

    Notes
    -----
    *Hypotheses.* (Ledger UF-A1-client*.) The norm of every update is at most C; the means have all K updates, or K and K - 1.

    A replaced update moves the mean by :math:`(h_k - h_k')/K`. Without device k the mean is :math:`m`, of norm at most C, with it
    :math:`m + (h_k - m)/K`. Both distances are at most 2C/K, attained at opposite vectors of norm C. A neighbour that counts as 0
    in a mean over K moves it by :math:`\|h_k\|/K \le C/K`.

    Examples
    --------
    >>> client_sensitivity(clip=[1.0, np.inf], devices=10)
    array([0.2, inf])
    """
    C, K = broadcast(clip=real("clip", clip, "(0, inf]"), devices=real("devices", devices, "[2, inf)"))
    return np.asarray(2 * C / K)[()]


def _updates(updates: ArrayLike) -> FloatArray:
    h = real("updates", updates)
    if h.ndim != 2 or not h.size:
        raise ParameterError("updates", f"array of shape {h.shape}", "of shape (K, v) and not empty")
    return h


def _similarity(similarity: ArrayLike) -> FloatArray:
    s = real("similarity", similarity, "[-1, 1]")
    if s.ndim != 1 or not s.size:
        raise ParameterError("similarity", f"array of shape {s.shape}", "of shape (K,) and not empty")
    return s
