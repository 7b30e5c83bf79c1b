r"""A proven closed form in place of Theorem 3 of CorBin-FL: central privacy of a replaced update.

:mod:`airtight.analytics.federated.corbin.central_privacy` computes the value numerically; this module has a closed
formula with a proof. Like (5) it is the square root of the ratio of the number of parameters to the number of other
clients, plus a term that is linear in this ratio. It holds for any updates of the other clients.
"""

from __future__ import annotations

import math

from airtight.analytics import checks
from airtight.analytics.federated.corbin.central_privacy import Client, interval, local_epsilon

_OUTWARDS = 1e-12  # relative amount by which results are rounded up: a dozen operations of relative error 1e-15


def proven(
    others: int, parameters: int, *, epsilon: float, client: Client | str, delta: float, rounds: int = 1
) -> float:
    r"""Epsilon of a replaced update at total delta, in closed form. Adjacency ``replace``; observer of the mean.

    .. math:: \epsilon_u = \frac1{1-X^2}\left(\sqrt{\frac{8J\log(2/\delta)}{M+1}} + \frac{2J}{M+1}\right),\quad
              X = \frac{1 + \sqrt{2M\log(6J/\delta)}}{M+1} < 1,

    .. math:: M = \Bigl\lfloor Nq\Bigl(1 - \sqrt{\tfrac{2\log(6J/\delta)}{Nq}}\Bigr)\Bigr\rfloor \ge 1,\quad q = 1-\tfrac1\alpha,

    with J = mT for a paired client and
    :math:`J = \min\bigl(mT, \lfloor mT/\alpha + \sqrt{mT\log(6/\delta)/2}\rfloor\bigr)` for an unpaired or an exposed one.

    Parameters
    ----------
    others : int
        N, the number of other clients that are unpaired: gamma n - 1 for an unpaired client, gamma n for a paired one.
    parameters : int
        m.
    epsilon : float
        eps_p, in (0, inf).
    client : {"unpaired", "paired", "exposed"}
        How the client in question quantizes; a pair may share any number of bits.
    delta : float
        In (0, 1).
    rounds : int
        T, with fresh randomness; updates may be chosen with knowledge of earlier outputs.

    Returns
    -------
    float
        Rounded up. For an unpaired client at most m T eps_p; for a paired client infinite where :math:`M \ge 1` or
        X < 1 fails. 0 where J = 0.

    Notes
    -----
    *Proof.* Revealing additional variables can only raise a divergence.

    Others. Each of the N clients sends + with a probability in :math:`[\ell, 1-\ell]`, :math:`\ell = q/2`. This is a
    mixture: with probability q the client tosses a fair coin, else another coin. Reveal who tosses the fair coin, and
    the outputs of all others and of all other pairs. The noise in a parameter that remains hidden is M' fair coins, M'
    binomial (N, q), for any updates. By Chernoff's bound :math:`\Pr(M' \le (1-t)Nq) \le e^{-t^2Nq/2}`, so M' < M has
    probability at most delta/(6J). If there are more than M fair coins, reveal the excess ones.

    The client. Its output, given its partner's, is a coin with one of two biases, one for each update. Couple the two
    coins, and reveal whether they agree. If they agree, nothing is leaked; if they differ, the count of pluses moves
    by one. For an unpaired client they differ with probability at most :math:`1/\alpha`, independently in every
    parameter, so by Hoeffding's bound there are more than J such parameters with probability at most delta/6. For an exposed
    client, reveal the shared bits: given them the coins differ with the mean probability :math:`|q - q'| \le 1/\alpha`.

    The loss. Let S be the sum of the M fair coins, as signs. A count that moves by one, up or down, has by the
    symmetry of S the privacy loss :math:`f(S) = 2\,\mathrm{artanh}\frac{S+1}{M+1}`. Put
    :math:`\tau = \sqrt{2M\log(6J/\delta)}`. S exceeds tau with probability at most delta/(6J) (Hoeffding). Elsewhere
    :math:`f(S) \le g(S) := f(S_\tau)`, where :math:`S_\tau` is S truncated to :math:`[-\tau, \tau]`. On this interval
    f has a slope of at most :math:`\frac{2/(M+1)}{1-X^2}`. Since artanh is odd and S symmetric,
    :math:`E\,g(S) = E[g(S) - 2\,\mathrm{artanh}\frac{S_\tau}{M+1}] \le \frac{2/(M+1)}{1-X^2}`. Turning one coin moves
    S by 2, and g by at most :math:`c = \frac{4/(M+1)}{1-X^2}`. So the sum of g over J parameters exceeds its mean by
    :math:`\sqrt{JMc^2\log(2/\delta)/2}`, which is less than the root above, with probability at most delta/2
    (McDiarmid; for adaptive updates conditionally on the earlier outputs, because the coins and their numbers do not
    depend on the updates).

    Where J = 0, the loss is 0 unless a parameter differs, which has probability at most delta/6.

    In total, the loss exceeds :math:`\epsilon_u` with probability at most
    :math:`\frac\delta2 + 3\cdot\frac\delta6 = \delta`.

    References
    ----------
    CB Theorem 3, Eq. (5) (ledger CB-T3s, CB-T3*-closed). Its source, N. Agarwal et al., cpSGD, Theorem 1, requires
    that all other clients are at one end of their interval; this bound does not.

    Examples
    --------
    >>> round(proven(3999, 1, epsilon=1.0, client="unpaired", delta=1e-5), 3)
    0.23...
    >>> proven(9, 1, epsilon=1.0, client="paired", delta=1e-5)
    inf
    """
    m, T = checks.count("parameters", parameters), checks.count("rounds", rounds)
    eps, level = checks.scalar("epsilon", epsilon, "(0, inf)"), checks.scalar("delta", delta, "(0, 1)")
    count, mode, total = (
        checks.count("others", others, "[0, inf)"),
        checks.choice("client", client, Client),
        m * T,
    )
    low, _, share = interval(eps)
    pure, moved = math.inf, total
    if mode is Client.UNPAIRED:
        pure = float(local_epsilon(eps, total))
    if mode is not Client.PAIRED:
        expected = total * share + math.sqrt(total * (math.log(6) - math.log(level)) / 2)
        moved = min(total, math.floor(expected * (1 + _OUTWARDS)))
    if moved == 0:
        return 0.0
    fair = 2 * low * count
    tail = math.log(6 * moved) - math.log(level)
    coins = math.floor((fair - math.sqrt(2 * fair * tail)) * (1 - _OUTWARDS)) if fair > 0 else 0
    if coins < 1:
        return pure
    reach = (1 + math.sqrt(2 * coins * tail)) / (coins + 1)
    if reach * (1 + _OUTWARDS) >= 1:
        return pure
    spread = math.sqrt(8 * moved * (math.log(2) - math.log(level)) / (coins + 1))
    epsilon_bound = (spread + 2 * moved / (coins + 1)) / ((1 - reach) * (1 + reach))
    return min(pure, epsilon_bound * (1 + _OUTWARDS / (1 - reach)))
