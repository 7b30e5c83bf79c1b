r"""A proven closed form in place of Theorem 3 of CorBin-FL: central privacy of a replaced update, for any updates of the others.

:mod:`airtight.analytics.federated.corbin.central_privacy` computes the exact value; this module has a formula with a proof. Like
(5) it is a square root of the number of parameters over the number of others, plus a linear term.
"""

from __future__ import annotations

import math

from airtight.analytics import checks
from airtight.analytics.federated.corbin.central_privacy import Client, interval, local_epsilon

_OUTWARDS = 1e-12  # relative amount by which results are rounded up: a dozen operations of relative error 1e-15


def proven(
    others: int, parameters: int, *, epsilon: float, client: Client | str, delta: float, rounds: int = 1
) -> float:
    r"""Epsilon of a replaced update at total delta, in closed form. Adjacency: ``replace``; the server sees only the mean.

    .. math:: \epsilon_u = \frac1{1-X^2}\left(\sqrt{\frac{8J\log(2/\delta)}{M+1}} + \frac{2J}{M+1}\right),\quad
              X = \frac{1 + \sqrt{2M\log(6J/\delta)}}{M+1} < 1,

    .. math:: M = \Bigl\lfloor Nq\Bigl(1 - \sqrt{\tfrac{2\log(6J/\delta)}{Nq}}\Bigr)\Bigr\rfloor \ge 1,\quad q = 1-\tfrac1\alpha,

    with J = mT for a paired client and
    :math:`J = \min\bigl(mT, \lfloor mT/\alpha + \sqrt{mT\log(6/\delta)/2}\rfloor\bigr)` for an unpaired one.

    Parameters
    ----------
    others : int
        N, the other clients that quantize alone: gamma n - 1 for an unpaired client, gamma n for a paired one.
    parameters : int
        m.
    epsilon : float
        eps_p, in (0, inf).
    client : {"unpaired", "paired"}
        A pair may share any number of bits.
    delta : float
        In (0, 1).
    rounds : int
        T, with fresh randomness; updates may be chosen with knowledge of earlier outputs.

    Returns
    -------
    float
        Rounded up; infinite for a paired client where the hypotheses :math:`M \ge 1`, X < 1 fail. An unpaired one never
        needs more than m T eps_p.

    Notes
    -----
    *Proof.* Revealing additional variables can only raise a divergence.

    Others. Each of the N puts out + with a probability in :math:`[\ell, 1-\ell]`, :math:`\ell = q/2`: with probability q it
    tosses a fair coin, else another one. Reveal who tosses the fair coin, and what the rest and all other pairs put out: of the
    noise in a parameter M' fair coins are left, M' binomial (N, q), whatever the updates. By Chernoff's bound
    :math:`\Pr(M' \le (1-t)Nq) \le e^{-t^2Nq/2}`, so that M' < M has at most delta/(6J). Of
    more coins than M reveal those in excess.

    The client. Its output, given its partner's, is one of two coins; couple them, and reveal which of the cases the coupling
    is in: they agree, and nothing is given away, or they differ, and the count of pluses moves by one. For an unpaired
    client the second has probability at most :math:`1/\alpha`, independently in every parameter, so by Hoeffding's bound
    more than J such parameters have at most delta/6.

    The loss. Let S be the sum of the M fair coins, as signs. Moved by one either way the count has, by the symmetry of S,
    the privacy loss :math:`f(S) = 2\,\mathrm{artanh}\frac{S+1}{M+1}`. Put :math:`\tau = \sqrt{2M\log(6J/\delta)}`. S exceeds
    tau with at most delta/(6J) (Hoeffding). Elsewhere :math:`f(S) \le g(S)`, g(S) being f of S cut off at :math:`\pm\tau`.
    There f has a slope of at most :math:`\frac{2/(M+1)}{1-X^2}`. Since artanh is odd and S symmetric,
    :math:`E\,g(S) = E[g(S) - 2\,\mathrm{artanh}\frac{S_\tau}{M+1}] \le \frac{2/(M+1)}{1-X^2}`, :math:`S_\tau` being S cut off.
    One coin turned round moves S by 2, and g by at most :math:`c = \frac{4/(M+1)}{1-X^2}`. The sum of g over J parameters
    thus exceeds its mean by :math:`\sqrt{JMc^2\log(2/\delta)/2}`, which is less than the root above, with at most delta/2
    (McDiarmid; given what came before where updates are adaptive, for coins and their numbers do not depend on them).

    In all the loss exceeds :math:`\epsilon_u` with probability at most
    :math:`\frac\delta2 + 3\cdot\frac\delta6 = \delta`.

    References
    ----------
    CB Theorem 3, Eq. (5) (ledger CB-T3s, CB-T3*-closed). Its source, N. Agarwal et al., cpSGD, Theorem 1, needs others
    that are all at one end; this does not.

    Examples
    --------
    >>> round(proven(3999, 1, epsilon=1.0, client="unpaired", delta=1e-5), 3)
    0.23...
    >>> proven(9, 1, epsilon=1.0, client="paired", delta=1e-5)
    inf
    """
    m, T = checks.count("parameters", parameters), checks.count("rounds", rounds)
    eps, level = checks.scalar("epsilon", epsilon, "(0, inf)"), checks.scalar("delta", delta, "(0, 1)")
    count, kind, total = checks.count("others", others, "[0, inf)"), checks.choice("client", client, Client), m * T
    low, _, share = interval(eps)
    pure, moved = math.inf, total
    if kind is Client.UNPAIRED:
        pure = float(local_epsilon(eps, total))
        expected = total * share + math.sqrt(total * math.log(6 / level) / 2)
        moved = min(total, math.floor(expected * (1 + _OUTWARDS)))
    fair = 2 * low * count
    tail = math.log(6 * moved / level)
    coins = math.floor((fair - math.sqrt(2 * fair * tail)) * (1 - _OUTWARDS)) if fair > 0 else 0
    if coins < 1:
        return pure
    reach = (1 + math.sqrt(2 * coins * tail)) / (coins + 1)
    if reach * (1 + _OUTWARDS) >= 1:
        return pure
    spread = math.sqrt(8 * moved * math.log(2 / level) / (coins + 1))
    found = (spread + 2 * moved / (coins + 1)) / ((1 - reach) * (1 + reach))
    return min(pure, found * (1 + _OUTWARDS / (1 - reach)))
