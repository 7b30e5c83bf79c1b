r"""Published quantizers of few bits: exact laws, local epsilon and errors, for one client and for the sum of many.

Inputs w lie in [-1, 1] (offset over radius). A law has a row for each input and a column for each output. For every
mechanism here each column is monotone in w, or linear between breakpoints, so that finitely many inputs determine
epsilon and the worst error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, gammaln

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, real
from airtight.analytics.privacy.accounting.envelope import Envelope
from airtight.analytics.rounding import UNIT

_MOST = 1e4  # greatest reach, in radii, that a calibration tries
_MOST_COINS = 5000  # greatest number of coins of the other clients, which limits time and memory


def binomial(w: ArrayLike, *, epsilon: float, trials: int) -> tuple[FloatArray, FloatArray]:
    r"""The Poisson binomial mechanism with pure local privacy: output :math:`(Z/m - 1/2)/\theta`, Z heads of m coins.

    .. math:: P(\text{heads}) = \tfrac12 + \theta w,\qquad \theta = \tfrac12\tanh\frac{\epsilon}{2m}

    Parameters
    ----------
    w : array_like
        In [-1, 1].
    epsilon : float
    trials : int
        m >= 1, which gives m + 1 outputs; one trial is LDP-FL (ledger IM-PBM-1).

    Returns
    -------
    outputs : ndarray, shape (m + 1,)
    law : ndarray, shape (..., m + 1)

    Notes
    -----
    The ratio of two laws at Z is :math:`(p/q)^Z((1-p)/(1-q))^{m-Z}`, which at the inputs -1 and 1 has the maximum
    :math:`e^\epsilon` (ledger IM-PBM-2). A coin with any bias in between is an extreme coin that is turned at random.
    So the pair of inputs -1 and 1 dominates every other pair, also in compositions over rounds.

    Examples
    --------
    >>> outputs, law = binomial([-1.0, 1.0], epsilon=1.0, trials=3)
    >>> bool(np.allclose(law @ outputs, [-1, 1])), round(local_epsilon(law), 12)
    (True, 1.0)
    """
    x = real("w", w, "[-1, 1]")
    m, eps = checks.count("trials", trials, "[1, 1000]"), checks.scalar("epsilon", epsilon, "(0, 50]")
    theta, z = 0.5 * np.tanh(eps / (2 * m)), np.arange(m + 1)
    # 1/2 +- theta w as a sum of positive terms: 1/2 - theta is a small logistic value, which a difference would lose
    size, sign = np.abs(x), np.sign(x)
    heads, tails = (((1 - size) / 2 + size * expit(side * eps / m))[..., None] for side in (sign, -sign))
    log = gammaln(m + 1) - gammaln(z + 1) - gammaln(m - z + 1) + z * np.log(heads) + (m - z) * np.log(tails)
    return (z / m - 0.5) / theta, np.exp(log)


def random_levels(w: ArrayLike, *, reach: float, levels: int, keep: float) -> tuple[FloatArray, FloatArray]:
    r"""The randomized quantization mechanism: random subsets of equidistant levels, then unbiased rounding.

    The levels are equidistant on [-reach, reach]. Each inner level is kept with probability `keep`; the input is then
    rounded at random, without bias, to one of its two kept neighbours.

    Parameters
    ----------
    w : array_like
        In [-1, 1].
    reach : float
        Greater than 1; see :func:`random_reach`.
    levels : int
        At least 2; with 2 levels the mechanism is LDP-FL (ledger IM-RQM-2).
    keep : float
        q in [0, 1].

    Returns
    -------
    outputs : ndarray, shape (levels,)
    law : ndarray, shape (..., levels)

    Examples
    --------
    >>> outputs, law = random_levels(np.linspace(-1, 1, 5), reach=2.0, levels=4, keep=0.5)
    >>> bool(np.allclose(law @ outputs, np.linspace(-1, 1, 5))), bool(np.allclose(law.sum(axis=1), 1))
    (True, True)
    """
    x = real("w", w, "[-1, 1]")
    top, k = checks.scalar("reach", reach, "(1, inf)"), checks.count("levels", levels, "[2, 64]")
    q = checks.scalar("keep", keep, "[0, 1]")
    y = np.linspace(-top, top, k)
    kept = np.where((np.arange(k) == 0) | (np.arange(k) == k - 1), 1.0, q)
    law = np.zeros((*x.shape, k))
    below = np.clip(np.searchsorted(y, x, side="right") - 1, 0, k - 2)
    for a in range(k - 1):
        for b in range(a + 1, k):
            chosen = kept[a] * kept[b] * (1 - q) ** (b - a - 1)
            brackets = (a <= below) & (below < b)
            up = (x - y[a]) / (y[b] - y[a])
            law[..., b] += np.where(brackets, chosen * up, 0.0)
            law[..., a] += np.where(brackets, chosen * (1 - up), 0.0)
    return y, law


def breakpoints(outputs: ArrayLike) -> FloatArray:
    """The inputs between which the law of :func:`random_levels` is linear: its levels in [-1, 1], with 0, -1 and 1.

    Examples
    --------
    >>> breakpoints([-2.0, -0.5, 0.5, 2.0])
    array([-1. , -0.5,  0. ,  0.5,  1. ])
    """
    y = real("outputs", outputs)
    return np.unique(np.concatenate([[-1.0, 0.0, 1.0], y[np.abs(y) < 1]]))


def random_reach(*, epsilon: float, levels: int, keep: float) -> float:
    """The least reach for which :func:`random_levels` is epsilon-private over all inputs, rounded up.

    Examples
    --------
    >>> bool(abs(random_reach(epsilon=1.0, levels=2, keep=0.5) * np.tanh(0.5) - 1) < 1e-9)
    True
    """
    from scipy.optimize import brentq

    eps = checks.scalar("epsilon", epsilon, "[0.01, 20]")

    def excess(stretch: float) -> float:
        outputs, _ = random_levels(0.0, reach=1 + stretch, levels=levels, keep=keep)
        return local_epsilon(random_levels(breakpoints(outputs), reach=1 + stretch, levels=levels, keep=keep)[1]) - eps

    reach = 1 + float(brentq(excess, 1e-9, _MOST, xtol=1e-14, rtol=1e-14))
    while excess(reach - 1) > 0:
        reach = 1 + (reach - 1) * (1 + 1e-13)
    return reach


def local_epsilon(law: ArrayLike) -> float:
    """The local epsilon: the greatest log-ratio of the probabilities of one output under two inputs.

    Parameters
    ----------
    law : array_like, shape (inputs, outputs)
        Law at inputs among which every column attains its extremes.

    Returns
    -------
    float
        Infinite if an output is possible for one input and impossible for another.

    Examples
    --------
    >>> round(local_epsilon([[0.75, 0.25], [0.25, 0.75]]), 4), local_epsilon([[1.0, 0.0], [0.5, 0.5]])
    (1.0986, inf)
    """
    table = _law(law)
    high, low = table.max(axis=0), table.min(axis=0)
    if np.any((low == 0) & (high > 0)):
        return float("inf")
    possible = high > 0
    return float(np.max(np.log(high[possible]) - np.log(low[possible])))


def variance(w: ArrayLike, outputs: ArrayLike, law: ArrayLike) -> FloatArray:
    """Mean squared error of the output for each input.

    Examples
    --------
    >>> outputs, law = binomial(0.0, epsilon=1.0, trials=1)
    >>> round(float(variance(0.0, outputs, law)), 4)
    4.6827
    """
    y, table, x = real("outputs", outputs), real("law", law), real("w", w)
    return np.asarray(np.sum(table * (y - x[..., None]) ** 2, axis=-1))[()]


def worst_variance(inputs: ArrayLike, outputs: ArrayLike, law: ArrayLike) -> float:
    """The greatest variance over [-1, 1] of an unbiased law that is linear between the given inputs.

    Examples
    --------
    >>> y, table = random_levels([-1.0, 0.0, 1.0], reach=1 / np.tanh(0.5), levels=2, keep=0.0)
    >>> round(worst_variance([-1.0, 0.0, 1.0], y, table), 4)
    4.6827
    """
    x, y = real("inputs", inputs), real("outputs", outputs)
    second = _law(law) @ (y * y)
    slope = np.diff(second) / np.diff(x)
    top = np.clip(slope / 2, x[:-1], x[1:])
    return float(np.max(second[:-1] + slope * (top - x[:-1]) - top * top))


def sum_law(laws: Sequence[ArrayLike]) -> FloatArray:
    """The law of the sum of the output indices of independent clients, which secure aggregation reveals.

    Parameters
    ----------
    laws : sequence of array_like, each of shape (outputs,)
        The law of each client at its input.

    Examples
    --------
    >>> sum_law([[0.5, 0.5], [0.25, 0.75]])
    array([0.125, 0.5  , 0.375])
    """
    total = np.ones(1)
    for law in laws:
        total = np.convolve(total, _law(np.atleast_2d(law))[0])
    return total


def aggregate_delta(first: ArrayLike, second: ArrayLike, others: Sequence[ArrayLike], *, epsilon: float) -> float:
    """delta of one client behind secure aggregation for given laws of the others: the greater of both directions.

    Parameters
    ----------
    first, second : array_like, shape (outputs,)
        The law of the client under its two inputs (adjacency replace).
    others : sequence of array_like
        The laws of the others for their inputs; other inputs of theirs may be worse.
    epsilon : float

    Examples
    --------
    >>> _, law = binomial([-1.0, 1.0], epsilon=2.0, trials=3)
    >>> alone = aggregate_delta(law[0], law[1], [], epsilon=1.0)
    >>> behind = aggregate_delta(law[0], law[1], [law[0]] * 10 + [law[1]] * 10, epsilon=1.0)
    >>> alone > 10 * behind > 0
    True
    """
    odds = np.exp(checks.scalar("epsilon", epsilon, "[0, 700]"))
    others_law = sum_law(others)
    p, q = (np.convolve(others_law, _law(np.atleast_2d(law))[0]) for law in (first, second))
    return float(max(np.maximum(p - odds * q, 0).sum(), np.maximum(q - odds * p, 0).sum()))


def binomial_sum(*, epsilon: float, trials: int, clients: int) -> Envelope:
    r"""Privacy of one parameter behind secure aggregation of :func:`binomial`, for the worst inputs of the others.

    Parameters
    ----------
    epsilon : float
        Local epsilon of one uplink, which sets the bias of the coins.
    trials, clients : int
        m coins for each of n clients; (n - 1) m at most 5000.

    Returns
    -------
    Envelope
        ``delta`` and ``epsilon`` of one round, rounded up (adjacency ``replace``). ``composable`` serves several
        rounds; its bound need not be attained, because no inputs of the others are the worst at every epsilon.

    Notes
    -----
    Each coin of another client is an extreme coin that is turned at random. So the law of the others' sum is a mixture
    of the laws with k coins of the upper bias and (n - 1) m - k coins of the lower bias. A divergence is jointly
    convex, so the worst k suffices, and likewise the pair of inputs -1 and 1 of the client. Where m divides k, others
    with the inputs -1 and 1 attain it. The worst k depends on epsilon, so all are tried. The error of their laws is
    taken to be that of 8 roundings of log-factorials, which is not proved.

    Examples
    --------
    >>> behind = binomial_sum(epsilon=2.0, trials=3, clients=20)
    >>> round(float(behind.epsilon(1e-5)), 3), float(behind.epsilon(0.0)) > 1.99
    (1.077, True)
    """
    m, n = checks.count("trials", trials, "[1, 1000]"), checks.count("clients", clients, "[1, 5001]")
    N = (n - 1) * m
    if N > _MOST_COINS:
        raise checks.ParameterError("clients", clients, f"at most {_MOST_COINS} coins of others, not {N}")
    loss = checks.scalar("epsilon", epsilon, "(0, 50]") / m  # of one coin
    down, up = _coins(m, -loss), _coins(m, loss)
    pairs = []
    for k in range(N + 1):
        others = np.convolve(_coins(k, loss), _coins(N - k, -loss))
        first, second = np.convolve(others, down), np.convolve(others, up)
        pairs += [(first, second), (second, first)]
    error = (n * m + 40) * 8 * UNIT * max(1.0, float(np.log(n * m + 1)))
    return Envelope(pairs, error=error, loss_error=2 * error)


def _coins(count: int, logit: float) -> FloatArray:
    """The binomial law of the number of heads, whose log-odds are given, lest a probability near 1 loses what it lacks."""
    z = np.arange(count + 1)
    log = gammaln(count + 1) - gammaln(z + 1) - gammaln(count - z + 1)
    return np.asarray(np.exp(log + z * np.log(expit(logit)) + (count - z) * np.log(expit(-logit))))


def _law(law: ArrayLike) -> FloatArray:
    table = real("law", law, "[0, 1]")
    if table.ndim != 2 or np.any(np.abs(table.sum(axis=1) - 1) > 1e-9):
        raise checks.ParameterError("law", f"shape {table.shape}", "rows of probabilities with sum 1")
    return np.asarray(table)
