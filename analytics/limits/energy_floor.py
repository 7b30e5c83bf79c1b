r"""The least transmit energy of any scheme that estimates the mean of the codes with a given error, private or not.

What the server receives tells at most so much about the target as its energy allows, whatever the code, the number of
transmissions, feedback, and however the devices work together.
"""

from __future__ import annotations

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference.distortion import worst_case
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.limits import sphere
from airtight.analytics.rounding import SMALLEST, UNIT

_SHARES: FloatArray = np.concatenate([[0.0], np.geomspace(1e-9, 1e9, 721)])  # w / d of the bound
_ROUNDS = 4  # of the search for the best w, each about the best of the last one


def information_needed(error: float, dimension: int) -> float:
    r"""Nats about a uniform unit vector that an estimate with this mean squared error holds at least, rounded down.

    .. math:: \max_{w\ge0}\;\frac{d+w}2\Bigl(1 + \frac{w(w+d+2)}{(d+w)^2} - e\Bigr) - w
              + \bigl(\tfrac d2-1\bigr)\log\bigl(1+\tfrac wd\bigr) .

    Parameters
    ----------
    error : float
        e > 0.
    dimension : int
        d >= 1.

    Notes
    -----
    *Proof.* The mutual information is the Kullback-Leibler divergence K of the joint law from one in which estimate and vector
    are independent. :func:`.sphere.by_information` bounds e from below by K for every w; this is solved for K.

    Examples
    --------
    >>> round(information_needed(0.5, 784), 2), information_needed(1.0, 784)
    (271.52, 0.0)
    """
    e, d = checks.scalar("error", error, "(0, inf)"), float(checks.count("dimension", dimension))

    def nats_at(share: FloatArray) -> FloatArray:
        w = d * share
        part = share / (1 + share)
        terms = np.array([(d + w) / 2 * (1 - e), part * (w + d + 2) / 2, -w, (d / 2 - 1) * np.log1p(share)])
        # each term is a product of at most five factors, each known to a unit
        return np.asarray(np.sum(terms, axis=0) - 16 * UNIT * np.sum(np.abs(terms), axis=0))

    return sphere.greatest(nats_at, _SHARES, _ROUNDS)


def energy_floor(system: InferenceSystem, error: float | None = None) -> float:
    r"""Energy that all devices together need at least for one query, in units of the system's signal powers; rounded down.

    Parameters
    ----------
    system : InferenceSystem
        Its devices, clips, dimension, channel gains and receiver noise count; a fading channel is refused.
    error : float, optional
        Mean squared error of the mean of the codes that is allowed for the worst codes; by default that of the system
        (:func:`.distortion.worst_case`).

    Returns
    -------
    float
        0 where the answer 0 keeps the error.

    Notes
    -----
    The server decodes from y alone: one that is told who sends, at no energy, may learn more.

    *Theorem.* With :math:`c = \sum_kC_k/K` and the information :math:`K^*(e)` of :func:`information_needed`, every scheme with
    the error E has a mean energy of at least

    .. math:: \sum_kE_k \;\ge\; \frac{2\sigma_m^2\,K^*(E/c^2)}{\sum_k|h_k|^2} .

    *Proof.* Let all devices hold the same unit vector theta, times their clips: the target is :math:`c\theta`, and theta is
    drawn uniformly. In use i of the channel the server receives :math:`y_i = \sum_kh_kx_{ki} + m_i`; inputs may depend on theta,
    on what was received before, and on common randomness U, which is independent of theta. Then :math:`I(\theta; Y, U) =
    I(\theta; Y | U) \le \sum_ih(Y_i|Y^{i-1}, U) - h(m_i) \le \sum_i\frac12\log(1 + P_i/\sigma_m^2) \le
    \sum_iP_i/(2\sigma_m^2)` with :math:`P_i = E(\sum_kh_kx_{ki})^2`. By the triangle inequality in :math:`L^2` and Cauchy and
    Schwarz :math:`\sum_iP_i \le (\sum_k|h_k|\sqrt{E_k})^2 \le \sum_k|h_k|^2\sum_kE_k`. The estimate over c is made from Y and U,
    and has the error :math:`E/c^2` at most.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=1.0, noise_variance=0.0, weight=1/12, clip=1.0, alignment=4.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5)
    >>> round(energy_floor(system, 0.5), 3)
    4.525
    """
    if system.channel is not None:
        raise ParameterError("channel", "given", "absent: the floor is proved for known, constant gains (channel_gain)")
    allowed = worst_case(system).total if error is None else checks.scalar("error", error, "(0, inf)")
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        reach = float(np.sum(system.clip)) / system.devices
        share = allowed / (reach * reach) * (1 + 4 * UNIT * (2 + system.devices))
        if not share < 1 or system.receiver_noise_variance == 0:
            return 0.0
        nats = information_needed(max(share, SMALLEST), system.dimension)  # an error may underflow
        gains = float(np.sum(np.broadcast_to(system.channel_gain, system.devices)))
        return float(2 * system.receiver_noise_variance * nats / gains * (1 - 4 * UNIT * (4 + system.devices)))
