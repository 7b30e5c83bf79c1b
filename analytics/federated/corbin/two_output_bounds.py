"""All pairs of two-output quantizers, and the sense in which CorBinQ is optimal among them (CB Theorem 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, ParameterError, broadcast, real
from airtight.analytics.federated.corbin.quantizers import alpha


def pair_mse(w1: ArrayLike, w2: ArrayLike, *, low: ArrayLike, high: ArrayLike) -> FloatArray:
    r"""Least MSE of the sum of two unbiased quantizers on {low, high} over all their couplings (CB Theorem 1).

    .. math:: m = (s-2l)(l+h-s) \text{ for } s \le l+h,\quad (2h-s)(s-l-h) \text{ beyond},\qquad s = w_1+w_2

    With :math:`A = r\alpha`, the quantizers are epsilon-private for updates in [c - r, c + r] if and only if
    :math:`l \le c-A` and :math:`h \ge c+A`. On {c - A, c + A} the value is the limit of CorBinQ for infinitely many
    bits. At a single point another alphabet may have no error at
    all (ledger CB-T1); in the worst case and on average no alphabet is better than {c - A, c + A}.

    Parameters
    ----------
    w1, w2 : array_like
        In [low, high].
    low, high : array_like
        The two outputs of both quantizers, low < high.

    Examples
    --------
    >>> float(pair_mse(1.0, 1.0, low=-2.0, high=4.0)), float(pair_mse(1.0, 1.0, low=-2.0, high=2.0))
    (0.0, 4.0)
    """
    x, y, bottom, top = broadcast(w1=real("w1", w1), w2=real("w2", w2), low=real("low", low), high=real("high", high))
    for name, value in (("w1", x), ("w2", y)):
        if np.any((value < bottom) | (value > top)):
            raise ParameterError(name, float(value[(value < bottom) | (value > top)].ravel()[0]), "in [low, high]")
    s, middle = x + y, bottom + top
    return np.asarray(np.where(s <= middle, (s - 2 * bottom) * (middle - s), (2 * top - s) * (s - middle)))[()]


def minimax_mse(*, epsilon: ArrayLike, radius: ArrayLike = 1.0) -> FloatArray:
    r"""Minimax MSE of a pair over all private alphabets; CorBinQ attains it as d grows (ledger CB-T1*-minimax).

    .. math:: r^2\alpha^2 \ (\alpha \le 2),\qquad 4r^2(\alpha-1) \ (\alpha \ge 2)

    Notes
    -----
    *Hypotheses.* Both clients have the outputs l < h; each is unbiased for every update in [-r, r] (center 0) and
    :math:`\epsilon`-private; their correlation is arbitrary. :math:`A = r\alpha`, s is the sum of the updates.

    A client with update w sends h with probability :math:`(w-l)/(h-l)`. Privacy of the output h for the updates -r and
    r requires :math:`r-l \le e^\epsilon(-r-l)`, that is :math:`l \le -A`; privacy of the output l requires
    :math:`h \ge A`. The sum Q of both outputs is 2l, l + h or 2h, with mean s. For :math:`s \le l+h`,
    :math:`(Q-2l)(Q-l-h) \ge 0` on all three, so the variance of Q is at least :math:`(s-2l)(l+h-s)`. By symmetry
    (change all signs) let :math:`l+h \ge 0`. Then for :math:`-2r \le s \le 0` both factors are least at
    :math:`l = -A`, :math:`l+h = 0`, and the error is at least :math:`(s+2A)(-s) = 2A|s|-s^2`: this is the error of
    CorBinQ with infinitely many bits (CB-T1*). Its maximum over :math:`|s| \le 2r` is at :math:`|s| = A` where
    :math:`A \le 2r`, else at 2r. In Coq: `CB_T1_star_minimax` of `formal/corbin_fl_general.v`.

    Examples
    --------
    >>> float(minimax_mse(epsilon=np.log(3))), float(minimax_mse(epsilon=np.log(2)))
    (4.0..., 8.0...)
    """
    r, a = broadcast(radius=real("radius", radius, "(0, inf)"), epsilon=np.asarray(alpha(epsilon)))
    return np.asarray(np.where(a <= 2, (r * a) ** 2, 4 * r * r * (a - 1)))[()]


def average_mse(*, epsilon: ArrayLike, radius: ArrayLike = 1.0) -> FloatArray:
    r"""MSE of CorBinQ (d infinite) averaged over uniform inputs: the least average of all private alphabets.

    .. math:: \frac{4rA-2r^2}3 \qquad \text{(ledger CB-T1*-average)}

    Notes
    -----
    *Hypotheses.* As in :func:`minimax_mse`; the updates are independent and uniform on [-r, r].

    s is triangular on [-2r, 2r]: :math:`E|s| = 2r/3`, :math:`Es^2 = 2r^2/3`. With :math:`l+h = 2v`, :math:`h-l = 2B`
    the error is at least :math:`(s-2l)(l+h-s)` for :math:`s \le 2v` and the mirror image beyond. Both cases equal
    :math:`2B|s-2v| - (s-2v)^2`, with mean :math:`2BE|s-2v| - Es^2 - 4v^2`. The conditions :math:`h \ge A`,
    :math:`-l \ge A` mean :math:`B \ge A + |v|`. Further :math:`E|s-2v| \ge E|s|`, because 0 is the median of s, and
    :math:`2|v|E|s-2v| \ge 4v^2`, because :math:`E|s-2v| \ge |E(s-2v)|`. So the mean is at least :math:`2AE|s| - Es^2`. In Coq:
    `CB_T1_star_average` of `formal/corbin_fl_general.v`, for every joint law whose error has Riemann integrals, first over y,
    then over x.

    Examples
    --------
    >>> float(average_mse(epsilon=np.log(3)))
    2.0
    """
    r, a = broadcast(radius=real("radius", radius, "(0, inf)"), epsilon=np.asarray(alpha(epsilon)))
    return np.asarray((4 * r * r * a - 2 * r * r) / 3)[()]
