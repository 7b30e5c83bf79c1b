r"""Privacy of device k amplified by random participation and by the others' noise: published, proven, exact.

Given the set S of the other participants the received noise has variance :math:`v_S = \gamma^2\sum_{j\in S}\sigma_j^2
+ \sigma_m^2`, and the device's own noise adds :math:`s = \gamma^2\sigma_k^2`. With
:math:`\lambda = e^\epsilon` and d the sensitivity, the exact divergence is an expectation over S:

``absent``
    :math:`p\,D_{1+(\lambda-1)/p}(N(d, v_S+s)\|N(0, v_S))` and its reverse; the others' participation is known (FDP-T1a).
``silent``, ``replace``
    :math:`p\,\delta_G(\epsilon; d/\sqrt{v_S+s})`; the whole set of participants is visible (FDP-T1b).
any, with idle noise
    the noise variance is constant: one subsampled Gaussian (FDP-T1d).

Each bounds from above what an observer with less knowledge can achieve (joint convexity).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, choice
from airtight.analytics.guarantee import Adjacency, Guarantee
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.over_the_air import concentration, observers
from airtight.analytics.privacy.over_the_air.mixtures import proven_epsilon


class TheoremForm(StrEnum):
    """Which printed t Theorem 1 is evaluated with: the theorem's own, or that of its proof, Eq. (23)."""

    THEOREM1 = "theorem1"
    EQ23 = "eq23"


@dataclass(frozen=True, eq=False)
class PublishedGuarantee(Guarantee):
    """What Theorem 1 claims.

    Attributes
    ----------
    t : float
        The deviation used.
    mean_noise : float
        Mean noise variance of the participants.
    vacuous : bool
        True when t >= mean_noise: the square root has no real value, the theorem says nothing, epsilon is infinite.
    """

    t: float
    mean_noise: float
    vacuous: bool


def published(system: InferenceSystem, *, form: TheoremForm | str = TheoremForm.THEOREM1) -> PublishedGuarantee:
    r"""FDP Theorem 1, Eq. (11), as printed. **False**, see ledger FDP-T1.

    .. math:: \epsilon_k = \log\Bigl[1 + \frac{p_k}{1-\delta'}\Bigl(e^{c_k/\sqrt{\bar\mu - t}} - 1\Bigr)\Bigr],\quad
              \tilde\delta_k = \delta' + \frac{p_k\delta}{1-\delta'},\quad
              c_k = \gamma w_k C_k\sqrt{2\log(1.25/\delta)}.

    The paper's adjacency is ``absent`` whatever the system's; its sensitivity is never doubled. Not a guarantee.

    Parameters
    ----------
    system : InferenceSystem
    form : {"theorem1", "eq23"}
        The t of the theorem, or of its proof.

    Returns
    -------
    PublishedGuarantee

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=100.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
    >>> published(system).vacuous, float(published(system, form="eq23").epsilon[0])
    (True, 108.63022...)
    """
    form = choice("form", form, TheoremForm)
    deviation = {
        TheoremForm.THEOREM1: concentration.theorem1_deviation,
        TheoremForm.EQ23: concentration.eq23_deviation,
    }[form]
    t, mean = deviation(system), concentration.mean_noise(system)
    p, delta, delta_prime = system.participation, system.delta, system.delta_prime
    vacuous = not mean > t
    if vacuous:
        epsilon = np.full(system.devices, np.inf)
    else:
        with np.errstate(over="ignore"):
            c = system.alignment * system.weight * system.clip * np.sqrt(2 * np.log(1.25 / delta))
            single = c / np.sqrt(mean - t)
        amplified = subsampling.amplified(np.minimum(single, np.finfo(float).max), p / (1 - delta_prime))
        epsilon = np.where(single < np.inf, amplified, np.inf)
    return PublishedGuarantee(
        epsilon=epsilon,
        delta=delta_prime + p * delta / (1 - delta_prime),
        adjacency=Adjacency.ABSENT,
        t=t,
        mean_noise=mean,
        vacuous=vacuous,
    )


def proven(system: InferenceSystem, *, delta: float | None = None) -> Guarantee:
    r"""A closed form that holds, at total delta, for the system's adjacency (ledger FDP-T1c).

    Without idle noise let v be a lower quantile of the others' noise, :math:`\beta = \Pr(\mu_{-k} < v)`. Then

    .. math:: \delta_k(\epsilon) \le p_k\bigl[\delta_G(\epsilon;\ d/\sqrt{\gamma^2(v + \sigma_k^2) + \sigma_m^2}) +
              \beta\bigr]

    for ``silent`` and ``replace``, and the same with the divergence of the two Gaussians for ``absent``. The quantile
    spends half of delta. With idle noise the curve is
    :func:`~airtight.analytics.privacy.mechanisms.subsampling.subsampled_gaussian_log_delta`
    (``replace``: :math:`p\,\delta_G(\epsilon; d)`).

    Parameters
    ----------
    system : InferenceSystem
    delta : float, optional
        Total delta in (0, 1); the system's by default.

    Returns
    -------
    Guarantee

    Notes
    -----
    The divergence is jointly convex, so revealing the participants only raises it; given them both neighbours are
    Gaussian. More common noise is post-processing, so the divergence falls with v; where the others' noise is below v it
    is at most 1. ``replace`` with idle noise: the observer sees whether k takes part.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> float(proven(system).epsilon[0]), float(exact_epsilon(system)[0])
    (2.16461..., 1.50151...)
    """
    total = system.delta if delta is None else checks.scalar("delta", delta, "(0, 1)")
    epsilon = proven_epsilon(system, np.arange(system.devices), total)
    return Guarantee(epsilon=epsilon, delta=np.full(system.devices, total), adjacency=system.adjacency)


def exact_delta(system: InferenceSystem, epsilon: ArrayLike, *, device: ArrayLike | None = None) -> FloatArray:
    r"""Exact delta(epsilon) of a device, worst of both directions, for the system's adjacency.

    Parameters
    ----------
    system : InferenceSystem
    epsilon : array_like
        At least 0; broadcast against the devices.
    device : int or array_like of int, optional
        Which devices; all K by default.

    Returns
    -------
    ndarray or float
        The upper end of :func:`exact_delta_bracket`, at half its cost: never below the truth.

    References
    ----------
    Ledger FDP-T1a, FDP-T1b, FDP-T1d.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> float(exact_delta(system, 1.0, device=0))
    0.000845166...
    """
    return observers.exact_delta(system, epsilon, device=device)


def exact_delta_bracket(
    system: InferenceSystem, epsilon: ArrayLike, *, device: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends of delta(epsilon), both proved.

    Their distance is some 1e-12 of delta as long as the law of the others' noise is exact (at most 4096 possible sums). Otherwise
    it is of second order in the grid's step: mostly 1e-6 to 1e-3, more where noises span many decades, and for ``absent`` more
    wherever the divergence bends sharply within a cell: there the upper end may be far above the truth.

    Parameters
    ----------
    system, epsilon, device
        See :func:`exact_delta`.

    Returns
    -------
    lower, upper : ndarray or float

    Notes
    -----
    Errors of the Gaussian divergences (:mod:`airtight.analytics.privacy.mechanisms.gaussian_pair`,
    :mod:`airtight.analytics.privacy.mechanisms.gaussian`) and of the grid
    (:mod:`airtight.analytics.distributions.weighted_sum`) are added. Noises are rounded down and sensitivities up for the upper
    end, the other way for the lower, which is right because delta falls with the noise of the others and of the
    receiver and rises with the sensitivity. The larger of both directions is taken; no order between them is assumed.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
    >>> low, high = exact_delta_bracket(system, 12.0, device=0)
    >>> bool(0 < high / low - 1 < 1e-10)
    True
    """
    return observers.exact_delta_bracket(system, epsilon, device=device)


def exact_epsilon(
    system: InferenceSystem, *, delta: float | None = None, device: ArrayLike | None = None
) -> FloatArray:
    """Least epsilon with delta(epsilon) <= delta for the system's adjacency, never below the truth.

    Parameters
    ----------
    system : InferenceSystem
    delta : float, optional
        In (0, 1); the system's by default.
    device : int or array_like of int, optional
        Which devices; all K by default.

    Returns
    -------
    ndarray or float
        Infinite where no epsilon below 1e100 reaches delta. Above the truth by what the bracket of
        :func:`exact_delta_bracket` is wide, and by 1e-11 of itself (1e-6 on a grid).

    Notes
    -----
    K devices of C distinct (p_k, sigma_k^2) cost O(C log C) merges of laws of at most 4096 values and, for each distinct
    device, some two evaluations of as many divergences, 3 microseconds each; the root is sought on fewer values first.
    Memory is that of 256 laws at a time.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
    >>> float(exact_epsilon(system, device=0))
    12.00489...
    """
    return observers.exact_epsilon(system, delta=delta, device=device)
