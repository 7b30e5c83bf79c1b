"""Sample-level central privacy of AugCorBin-FL (CB Eq. (2)): one update moves a little, the aggregate is seen."""

from __future__ import annotations

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.corbin import central_privacy
from airtight.analytics.federated.corbin.central_privacy import Client, interval
from airtight.analytics.federated.corbin.corner_updates import corners
from airtight.analytics.federated.corbin.count_shift import dominating
from airtight.analytics.privacy.accounting import composition_theorems

_EVERY_CORNER, _RANGES = 128, 128
_UNTRIMMED, _NEGLIGIBLE = 256, 1e-300


def epsilon(others: int, parameters: int, *, local: float, move: float, delta: float, rounds: int = 1) -> float:
    r"""Central epsilon of an unpaired client whose update moves by at most `move` radii in the 2-norm. Adjacency: ``replace``.

    Sample-level privacy (2) of the paper. One parameter is exact; more are bounded by Renyi divergences, which add up.

    Parameters
    ----------
    others, parameters, rounds : int
        N, m and T.
    local : float
        eps_p.
    move : float
        :math:`\Delta_2/r` > 0.

    Notes
    -----
    *Hypotheses.* (Ledger CB-E2*.) Order :math:`a \ge 2`; Q is the law of a parameter's sum with, P without the move; the
    client in question and the others quantize alone.

    Let one parameter move by t radii: :math:`P = Q + gD` with :math:`g = t/(2\alpha)`, D the difference of the noise law and its
    shift. With :math:`X = D/Q`, :math:`E_Q(1+gX)^a = 1 + E_Q[(1+gX)^a - 1 - agX]`, and
    :math:`h_g(x) = ((1+gx)^a-1-agx)/g^2` rises with g for x >= 0 (power series of the second derivative, a >= 2) and is at most
    :math:`a(a-1)x^2/2` for x < 0. So the order-a divergence of one parameter is at most :math:`\log(1+g^2C)/(a-1)` with C
    the mean of h at the greatest g, and the total at most :math:`C\sum g^2/(a-1) = C\Delta_2^2/(4r^2\alpha^2(a-1))`.
    C is the mean under Q of a convex function of D/Q, so jointly convex in the laws: greatest at the corners. With the move
    given, the client's own probability q of a plus lies in [low, high - g] when it rises and in [low + g, high] when it falls;
    the formula for C makes sense, and is convex in q, on all of [low, high]. So its values at both ends, with either sign of
    D, bound C also at the inner corners high - g and low + g. What the counts' laws lack counts with the greatest X, 1/low.

    Examples
    --------
    >>> epsilon(999, 1000, local=1.0, move=0.5, delta=1e-5)
    0.0...
    """
    m, T = checks.count("parameters", parameters), checks.count("rounds", rounds)
    eps, level = checks.scalar("local", local, "(0, inf)"), checks.scalar("delta", delta, "(0, 1)")
    reach = checks.scalar("move", move, "(0, inf)")
    whole = central_privacy.update_epsilon(others, m, epsilon=eps, client=Client.UNPAIRED, delta=level, rounds=T)
    if m * T == 1:
        exact = central_privacy.one_parameter(
            others, epsilon=eps, client=Client.UNPAIRED, move=min(reach, 2.0), delta=level
        )
        return min(float(exact.epsilon(level)), whole)
    share = interval(eps)[2]
    greatest = min(reach, 2.0) / 2 * share
    squares = min(reach**2, 4.0 * m) / 4 * share**2 * T
    orders = np.concatenate([np.linspace(2, 10, 17), np.geomspace(12, 2000, 40)])
    worst = _renyi_constants(others, eps, greatest, orders)
    total = worst * squares / (orders - 1)
    converted = composition_theorems.renyi_to_epsilon(orders, total, delta=level)
    return min(max(float(np.min(converted)), 0.0), whole)


def _renyi_constants(others: int, epsilon: float, greatest: float, orders: FloatArray) -> FloatArray:
    """C of the Notes of :func:`epsilon` for every order, greatest over ranges of corners."""
    low, high, _ = interval(epsilon)
    worst = np.zeros(orders.size)
    a, negligible = orders[:, None], 0.0 if others <= _UNTRIMMED else _NEGLIGIBLE
    with np.errstate(under="ignore", over="ignore", divide="ignore", invalid="ignore"):
        for first, rest in corners(others, _EVERY_CORNER, _RANGES):
            shift = dominating(first, rest, low, high, negligible=negligible)
            above, noise = shift.above, shift.base
            for q in (low, high):
                base = (1 - q) * noise + q * above
                for sign in (1, -1):
                    x, weight = sign * (above - noise)[base > 0] / base[base > 0], base[base > 0]
                    rising = (np.expm1(a * np.log1p(greatest * x)) - a * greatest * x) / greatest**2
                    value = np.where(x >= 0, rising, a * (a - 1) * x * x / 2)
                    worst = np.maximum(worst, np.nan_to_num(value @ weight, nan=np.inf, posinf=np.inf))
        if negligible:
            worst += 4 * negligible * np.exp(orders * np.log1p(greatest / low)) / greatest**2
    return worst * (1 + 1e-9)
