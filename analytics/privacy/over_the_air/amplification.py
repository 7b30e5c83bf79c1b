r"""Privacy of device k, amplified by random participation and the others' noise: published, proven and exact values.

Let S be the set of the other participants. Given S, the received noise has variance :math:`v_S = \gamma^2\sum_{j\in
S}\sigma_j^2 + \sigma_m^2`, and the noise of device k adds :math:`s = \gamma^2\sigma_k^2`. With :math:`\lambda =
e^\epsilon` and d the sensitivity, the exact divergence is the expectation over S of

``absent``
    :math:`p\,D_{1+(\lambda-1)/p}(N(d, v_S+s)\|N(0, v_S))` and its reverse; the observer knows which other devices take
    part (FDP-T1a).
``silent``, ``replace``
    :math:`p\,\delta_G(\epsilon; d/\sqrt{v_S+s})`; the observer knows all participants, k included (FDP-T1b).
any adjacency, with idle noise
    the noise variance is constant, so this is one subsampled Gaussian mechanism (FDP-T1d).

Each value is an upper bound of the divergence for an observer who knows less (joint convexity).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, choice
from airtight.analytics.guarantee import Adjacency, Guarantee
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.over_the_air import concentration, system_privacy
from airtight.analytics.privacy.over_the_air.participation_mixture.build import proven_epsilon


class TheoremForm(StrEnum):
    """The deviation t with which Theorem 1 is evaluated: as the theorem prints it, or as its proof does in Eq. (23)."""

    THEOREM1 = "theorem1"
    EQ23 = "eq23"


@dataclass(frozen=True, eq=False)
class PublishedGuarantee(Guarantee):
    """The guarantee that Theorem 1 claims.

    Attributes
    ----------
    t : float
        Deviation of the noise from its mean that the formula uses.
    mean_noise : float
        Mean noise variance of the participants.
    vacuous : bool
        True when t >= mean_noise: the square root is not a positive number, so the theorem states nothing and epsilon
        is infinite.
    """

    t: float
    mean_noise: float
    vacuous: bool


def published(system: concentration.Systems, *, form: TheoremForm | str = TheoremForm.THEOREM1) -> PublishedGuarantee:
    r"""FDP Theorem 1, Eq. (11), as printed. **False**, see ledger FDP-T1.

    .. math:: \epsilon_k = \log\Bigl[1 + \frac{p_k}{1-\delta'}\Bigl(e^{c_k/\sqrt{\bar\mu - t}} - 1\Bigr)\Bigr],\quad
              \tilde\delta_k = \delta' + \frac{p_k\delta}{1-\delta'},\quad
              c_k = \gamma w_k C_k\sqrt{2\log(1.25/\delta)}.

    The result has the paper's adjacency ``absent``, whatever the adjacency of the system, and the sensitivity is never
    doubled. It is not a valid guarantee.

    Parameters
    ----------
    system : InferenceSystem or HomogeneousSystems
        Of several systems, each number of the result is an array: one entry a system.
    form : {"theorem1", "eq23"}
        Take t from the theorem or from its proof.

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
    checks.instance("system", system, InferenceSystem, HomogeneousSystems)
    if isinstance(system, InferenceSystem):
        system = system_privacy.one_round_alone(system)
    form = choice("form", form, TheoremForm)
    deviation = {
        TheoremForm.THEOREM1: concentration.theorem1_deviation,
        TheoremForm.EQ23: concentration.eq23_deviation,
    }[form]
    t, mean = deviation(system), concentration.mean_noise(system)
    p, delta, delta_prime = system.participation, system.delta, np.asarray(system.delta_prime)
    vacuous: Any = ~np.greater(mean, t)
    with np.errstate(over="ignore"):
        single = numerator(system) / np.sqrt(np.where(vacuous, np.nan, np.subtract(mean, t)))
    amplified = subsampling.amplified(
        np.minimum(np.where(vacuous, 0.0, single), np.finfo(float).max), p / (1 - delta_prime)
    )
    return PublishedGuarantee(
        epsilon=np.where(single < np.inf, amplified, np.inf),
        delta=delta_prime + p * delta / (1 - delta_prime),
        adjacency=Adjacency.ABSENT,
        t=t,
        mean_noise=mean,
        vacuous=vacuous if vacuous.ndim else bool(vacuous),
    )


def numerator(system: concentration.Systems) -> FloatArray:
    r""":math:`c_k = \gamma w_k C_k\sqrt{2\log(1.25/\delta)}` of Eq. (11): over the noise it is epsilon of (10)."""
    delta = np.asarray(system.delta)
    return np.asarray(system.alignment * system.weight * system.clip * np.sqrt(2 * np.log(1.25 / delta)))


def proven(system: InferenceSystem, *, delta: float | None = None) -> Guarantee:
    r"""Closed-form bound, proved for the system's adjacency at total delta (ledger FDP-T1c).

    Without idle noise let v be a lower quantile of the others' noise, :math:`\beta = \Pr(\mu_{-k} < v)`. Then

    .. math:: \delta_k(\epsilon) \le p_k\bigl[\delta_G(\epsilon;\ d/\sqrt{\gamma^2(v + \sigma_k^2) + \sigma_m^2}) +
              \beta\bigr]

    for ``silent`` and ``replace``, and the same with the divergence of the two Gaussians for ``absent``. The quantile
    uses half of delta. With idle noise the privacy curve is
    :func:`~airtight.analytics.privacy.mechanisms.subsampling.subsampled_gaussian_log_delta` (``replace``:
    :math:`p\,\delta_G(\epsilon; d)`).

    Parameters
    ----------
    system : InferenceSystem
    delta : float, optional
        Total delta in (0, 1); by default that of the system.

    Returns
    -------
    Guarantee

    Notes
    -----
    The divergence is jointly convex, so revealing the participants can only raise it. Given the participants, both
    neighbours are Gaussian. Additional common noise is post-processing, so the divergence falls with v. Where the
    others' noise is below v, the divergence is at most 1. For ``replace`` with idle noise the bound is that of an
    observer who sees whether k takes part.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> float(proven(system).epsilon[0])
    2.16461...
    """
    system = system_privacy.one_round_alone(checks.instance("system", system, InferenceSystem))
    delta_target = system.delta if delta is None else checks.scalar("delta", delta, "(0, 1)")
    epsilon = proven_epsilon(system, np.arange(system.devices), delta_target)
    return Guarantee(epsilon=epsilon, delta=np.full(system.devices, delta_target), adjacency=system.adjacency)
