r"""Independent dropout in CorBin-FL: laws of survivors and broken pairs, error of the mean, privacy (CB Theorem 4).

Each client drops out with probability p. The number of broken pairs, of which exactly one client survives, is
:math:`\mathrm{Bin}(n/2, 2p(1-p))`, the number of survivors :math:`\mathrm{Bin}(n, 1-p)`. Their quantiles are exact,
where the paper uses Chebyshev's inequality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from scipy import special

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.distributions.poisson_binomial import binomial
from airtight.analytics.federated.corbin import central_privacy, dropout_survivors
from airtight.analytics.federated.corbin.central_privacy import Client
from airtight.analytics.federated.corbin.federated_system import alone
from airtight.analytics.federated.corbin.quantizers import alpha, slack
from airtight.analytics.privacy.accounting.numerical_composition import Composition


@dataclass(frozen=True)
class PublishedDropout:
    """The constants and the MSE bound of Theorem 4, as printed.

    Attributes
    ----------
    gamma, gamma_prime : float
        Lower and upper bound on the number of broken pairs over n.
    theta, theta_prime : float
        Lower and upper bound on the number of survivors over n.
    mse : float
        The bound on the mean squared error; may be negative.
    """

    gamma: float
    gamma_prime: float
    theta: float
    theta_prime: float
    mse: float


def published(
    clients: int, *, dropout: float, slack: float, delta_1: float = 0.0, epsilon: float, radius: float = 1.0
) -> PublishedDropout:
    r"""CB Theorem 4 as printed, with :math:`\delta - \delta_1` = `slack`.

    .. math:: \gamma, \gamma' = p(1-p) \mp \sqrt{\tfrac{p(1-p)(1-2p(1-p))}{4(\delta-\delta_1)n}},\qquad
              \theta, \theta' = p(1-p) \mp \sqrt{\tfrac{p(1-p)}{(\delta-\delta_1)n}}

    The theorem is false: the radius of gamma is half of that of Chebyshev's inequality, and theta is centered at
    p(1-p), while the share of survivors is near 1-p.

    Examples
    --------
    >>> published(1000, dropout=0.1, slack=0.05, epsilon=1.0).theta_prime
    0.132...
    """
    n, p = checks.count("clients", clients), checks.scalar("dropout", dropout, "[0, 1)")
    s = checks.scalar("slack", slack, "(0, 1)")
    d1 = checks.scalar("delta_1", delta_1, "[0, 1)")
    r = checks.scalar("radius", radius, "(0, inf)")
    a = float(alpha(checks.scalar("epsilon", epsilon, "(0, inf]")))
    middle = p * (1 - p)
    width = np.sqrt(middle * (1 - 2 * middle) / (4 * s * n))
    reach = np.sqrt(middle / (s * n))
    gamma, gamma_prime, theta = middle - width, middle + width, middle - reach
    root = np.sqrt(2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mse = (
            gamma_prime * np.float64(r * a) ** 2 / (n * theta)
            + 8 * (r * a) ** 2 * d1
            + (1 - gamma) / (2 * n * theta) * r * r * ((root - 1) * a + 1) * ((root + 1) * a - 1)
        )
    return PublishedDropout(float(gamma), float(gamma_prime), float(theta), float(middle + reach), float(mse))


def survivors(clients: int, *, dropout: float, level: float) -> tuple[int, int]:
    """Interval between the outer quantiles of the number of survivors; it has probability at least 1 - `level`.

    Examples
    --------
    >>> survivors(1000, dropout=0.1, level=0.05)
    (881, 918)
    """
    n, p = checks.count("clients", clients), checks.scalar("dropout", dropout, "[0, 1)")
    return _interval(binomial(n, 1 - p).dense(n + 1), checks.scalar("level", level, "(0, 1)"))


def broken_pairs(clients: int, *, dropout: float, level: float) -> tuple[int, int]:
    """Interval between the outer quantiles of the number of broken pairs; `clients` must be even.

    Examples
    --------
    >>> broken_pairs(200, dropout=0.5, level=0.2)
    (44, 56)
    """
    n, p = checks.count("clients", clients), checks.scalar("dropout", dropout, "[0, 1)")
    if n % 2:
        raise ParameterError("clients", n, "even, because all clients are paired")
    law = binomial(n // 2, 2 * p * (1 - p)).dense(n // 2 + 1)
    return _interval(law, checks.scalar("level", level, "(0, 1)"))


def _interval(law: FloatArray, level: float) -> tuple[int, int]:
    """The lower and the upper quantile, each at half the level."""
    below, above = np.cumsum(law), np.cumsum(law[::-1])
    return int(np.sum(below <= level / 2)), int(law.size - 1 - np.sum(above <= level / 2))


def worst_mse(
    clients: int,
    *,
    dropout: float,
    epsilon: float,
    radius: float = 1.0,
    independent: float = 0.0,
    bits: int | None = None,
) -> float:
    r"""Worst MSE of the survivors' mean over the updates (ledger CB-T4*): exact for infinitely many bits, and for none.

    Parameters
    ----------
    clients : int
    dropout : float
        p in [0, 1).
    independent : float
        Share of clients that are unpaired.
    bits : int or None
        d, the number of shared bits; None for the limit. For 1 to 60 bits the value is an upper bound.

    Returns
    -------
    float
        Mean squared error of one parameter; a round without survivors counts as error 0.

    Notes
    -----
    *Hypotheses.* Each of n clients, n even, drops out independently with probability p; N survive; infinitely many
    bits; c = 0.

    A surviving client without partner contributes :math:`(A^2 - x^2)/N^2`, a surviving pair :math:`(2A|s| - s^2)/N^2`.
    Given that an unpaired client survives, the number of other survivors is :math:`X \sim \mathrm{Bin}(n-1, 1-p)`.
    Given that one or both clients of a pair survive, the number of survivors outside the pair is
    :math:`X \sim \mathrm{Bin}(n-2, 1-p)`. So with :math:`e_i = E(i+X)^{-2}` for this X the error of a pair is
    :math:`2p(1-p)e_1(A^2 - \overline{x^2}) + (1-p)^2e_2(2A|s|-s^2)`. For a given s the first term is greatest where
    both updates are :math:`s/2`. Then the sum of both terms is a parabola in s, the same for all pairs. In Coq:
    `CB_T4_star` of `formal/corbin_fl_general.v`, from the laws of all outputs, for any number of pairs.

    With d bits a surviving pair contributes at most :math:`A^2/2^{d-1}` more
    (:func:`airtight.analytics.federated.corbin.quantizers.slack`), and at most :math:`2A^2`, as two clients that quantize
    alone: the shared bits never make the covariance of their outputs positive.

    Examples
    --------
    >>> round(100 * worst_mse(100, dropout=0.0, epsilon=0.5), 3)
    6.166
    """
    n, p = checks.count("clients", clients), checks.scalar("dropout", dropout, "[0, 1)")
    r = checks.scalar("radius", radius, "(0, inf)")
    bits = None if bits is None else checks.count("bits", bits, "[0, 60]")
    A = r * float(alpha(checks.scalar("epsilon", epsilon, "(0, inf]")))
    single_clients = alone(n, checks.scalar("independent", independent, "[0, 1]") if bits != 0 else 1.0)
    single = single_clients * (1 - p) * _inverse_square(n - 1, p, 1) * A * A
    if single_clients == n:
        return float(single)
    broken = 2 * p * (1 - p) * _inverse_square(n - 2, p, 1)
    whole = (1 - p) ** 2 * _inverse_square(n - 2, p, 2)
    s = min(2 * r, A * whole / (broken / 4 + whole))
    pair = broken * (A * A - s * s / 4) + whole * s * (2 * A - s)
    if bits is not None:
        pair = min(pair + whole * float(slack(epsilon=epsilon, radius=r, bits=bits)), (broken + 2 * whole) * A * A)
    return float(single + (n - single_clients) / 2 * pair)


def _inverse_square(trials: int, p: float, offset: int) -> float:
    """E (offset + X)^-2 for a binomial X with success probability 1 - p."""
    law = binomial(trials, 1 - p)
    count = law.start + np.arange(law.weights.size) + offset
    return float(law.weights @ (1.0 / count**2))


def central_epsilon(
    clients: int,
    parameters: int,
    *,
    epsilon: float,
    delta: float,
    dropout: float,
    independent: float = 0.0,
    bits: int | None = None,
    rounds: int = 1,
    colluding: int = 0,
) -> float:
    r"""Central epsilon of a survivor under (Aug)CorBin-FL with dropout, worst over all updates. Adjacency: ``replace``.

    A proven upper bound. Clients drop out independently in every round, and the server may see who does. The value is
    the upper bound of :func:`airtight.analytics.federated.corbin.aggregation.aggregation` for a client that is
    assigned a partner in all rounds or in none, with any `colluding` of the others, the worst, helping the server.

    Returns
    -------
    float
        The greatest value over the paired and the unpaired clients of the system. A paired client quantizes alone in
        the rounds in which its partner drops out.

    Notes
    -----
    *Hypotheses.* (Ledger CB-T4*-privacy.) Clients drop out independently of their updates; N of the others than the
    client in question quantize alone and independently; the server sees who dropped out and the sum.

    Given the set of survivors, the divergence is that of the release with N other unpaired clients
    (:func:`airtight.analytics.federated.corbin.central_privacy.one_parameter`). The set of survivors has the same law
    for both neighbours, so delta is the mean over this law
    (:func:`airtight.analytics.federated.corbin.dropout_survivors.curve`). The value is at least the least epsilon of this
    mean: classes of N take their least number or V = 1, and chords are above the curve.

    Examples
    --------
    >>> central_epsilon(2000, 1, epsilon=1.0, delta=1e-5, dropout=0.2)
    0.23...
    """
    level, round_count = checks.scalar("delta", delta, "(0, 1)"), checks.count("rounds", rounds)
    m, eps = checks.count("parameters", parameters), checks.scalar("epsilon", epsilon, "(0, inf)")
    independent = independent if bits != 0 else 1.0  # without shared bits both clients of a pair quantize alone
    kinds = dropout_survivors.laws(clients, dropout=dropout, independent=independent, colluding=colluding)
    if dropout == 0:
        cases_of_kinds = [[(how, law.start) for _, how, law in cases] for cases in kinds.values()]
        return max(
            central_privacy.mixed_epsilon(cases, m, epsilon=eps, delta=level, bits=bits, rounds=round_count)
            for cases in cases_of_kinds
        )
    how: _Settings = {
        "epsilon": eps,
        "dropout": dropout,
        "independent": independent,
        "bits": bits,
        "rounds": round_count,
        "colluding": colluding,
    }
    if any(dropout_survivors.probability_of_impossible(clients, m, client=kind, **how) > level for kind in kinds):
        return math.inf
    curves = [dropout_survivors.curve(clients, m, client=kind, delta=level, **how) for kind in kinds]
    pure = float(central_privacy.local_epsilon(eps, m * round_count)) if list(kinds) == [Client.UNPAIRED] else math.inf
    return min(max(Composition(((curve, round_count),)).epsilon(level)[1] for curve in curves), pure)


class _Settings(TypedDict):
    epsilon: float
    dropout: float
    independent: float
    bits: int | None
    rounds: int
    colluding: int


def outside_probability(clients: int, *, dropout: float, low: float, high: float) -> float:
    """Probability that the broken pairs over n lie outside [low, high]; Theorem 4 bounds it by delta - delta_1.

    Examples
    --------
    >>> claim = published(200, dropout=0.5, slack=0.2, epsilon=1.0)
    >>> round(outside_probability(200, dropout=0.5, low=claim.gamma, high=claim.gamma_prime), 3)
    0.271
    """
    n, p = checks.count("clients", clients), checks.scalar("dropout", dropout, "[0, 1)")
    q, half = 2 * p * (1 - p), n // 2
    first, last = int(np.ceil(low * n)), int(np.floor(high * n))
    below = special.bdtr(min(first - 1, half), half, q) if first > 0 else 0.0
    return float(below + (special.bdtrc(last, half, q) if last < half else 0.0))
