r"""CorBin's shared randomness for quantizers of any number of bits: two clients derive cancelling outputs from U.

Both clients know the number U, uniform on [0, 1] for each parameter. The leader sends the output at level U of its
law, the follower the one at level 1 - U (inverse distribution functions, outputs in increasing order). One bit is
CorBinQ (CB, Algorithm 2). Each output alone has the law of its quantizer, and so its privacy for an observer of one
uplink. For the server, which sees both outputs, no finite epsilon holds (:func:`coupled`), and behind secure
aggregation outputs that cancel hide nothing (see docs/federated.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError, real

_MOST_BITS = 16  # greatest number of shared bits: a law is divided among 2^16 cells


def coupled(first: ArrayLike, second: ArrayLike, *, bits: int | None = None) -> FloatArray:
    r"""The joint law of leader and follower.

    Parameters
    ----------
    first, second : array_like, shape (..., k) and (..., l)
        Laws on outputs in increasing order.
    bits : int or None
        d: the first d bits of U are shared, the others are private to each client. None: all bits are shared; 0:
        independent clients.

    Returns
    -------
    ndarray, shape (..., k, l)

    Notes
    -----
    With all of U shared the output pair (i, j) occurs at the levels in :math:`(F_{i-1}, F_i] \cap (1-G_j, 1-G_{j-1}]`.
    No coupling of the same two laws has a smaller :math:`\mathrm{E}XY` (Hoeffding 1940:
    :math:`\mathrm{Cov} = \iint H - FG`, and :math:`H \ge (F+G-1)_+`, attained here); this holds for all pairs of
    inputs at once. So no shared randomness gives a smaller error of the pair's sum for these quantizers.

    *The server.* At most k + l - 1 pairs of outputs are possible, and which ones depends on both inputs. A pair of
    outputs that is possible for one input and impossible for another has an infinite likelihood ratio.

    Examples
    --------
    >>> coupled([0.5, 0.5], [0.25, 0.75])
    array([[0.  , 0.5 ],
           [0.25, 0.25]])
    >>> coupled([0.5, 0.5], [0.25, 0.75], bits=0)
    array([[0.125, 0.375],
           [0.125, 0.375]])
    """
    p, q = _law("first", first), _law("second", second)
    lead, follow = _levels(p), 1 - _levels(q)[..., ::-1]  # the follower's output falls as the level rises
    if bits is None:
        return np.asarray(_overlap(lead, follow)[..., ::-1])
    d = checks.count("bits", bits, f"[0, {_MOST_BITS}]")
    cells = np.arange(2**d + 1) / 2**d
    lead_overlap, follow_overlap = _overlap(lead, cells), _overlap(follow, cells)
    return np.asarray(np.einsum("...ic,...jc->...ij", lead_overlap, follow_overlap)[..., ::-1] * 2**d)


def pair_mse(
    w1: ArrayLike, w2: ArrayLike, *, outputs: ArrayLike, first: ArrayLike, second: ArrayLike, bits: int | None = None
) -> FloatArray:
    """Mean squared error of the sum of the outputs of both clients.

    Parameters
    ----------
    w1, w2 : array_like, shape (...)
    outputs : array_like, shape (k,)
        The outputs of both clients, increasing.
    first, second : array_like, shape (..., k)
        The laws of the outputs at `w1` and at `w2`.
    bits : int or None
        See :func:`coupled`.

    Examples
    --------
    >>> law = [0.25, 0.75]  # one bit, alpha = 2, w = 1: alpha |s| 2 - s^2 = 4
    >>> float(pair_mse(1.0, 1.0, outputs=[-2.0, 2.0], first=law, second=law))
    4.0
    """
    y = _increasing(outputs)
    joint = coupled(first, second, bits=bits)
    target = real("w1", w1) + real("w2", w2)
    error = (y[:, None] + y[None, :] - target[..., None, None]) ** 2
    return np.asarray(np.sum(joint * error, axis=(-2, -1)))[()]


def worst_pair_mse(inputs: ArrayLike, *, outputs: ArrayLike, law: ArrayLike) -> tuple[float, float]:
    r"""Lower and upper bound of the greatest error of a pair's sum over all inputs, with all of U shared.

    Parameters
    ----------
    inputs : array_like, shape (q,)
        Increasing; the law is unbiased and linear between neighbouring inputs.
    outputs : array_like, shape (k,)
    law : array_like, shape (q, k)

    Returns
    -------
    lower, upper : float
        `lower` is attained at two of the given inputs; `upper` is not exceeded at any inputs between them.

    Notes
    -----
    The least :math:`\mathrm{E}XY` over all couplings is a convex function of the pair of laws, which is linear in
    :math:`(w_1, w_2)` on each cell of the grid of inputs. So on a cell it lies below the bilinear interpolant of its
    values at the corners. The same holds for :math:`\mathrm{E}X^2 + \mathrm{E}Y^2`. The subtracted :math:`(w_1+w_2)^2`
    lies at most :math:`(h_1^2+h_2^2)/4` below its bilinear interpolant, :math:`h_1, h_2` being the sides of the cell.

    Examples
    --------
    >>> x, A = np.linspace(-1, 1, 5), 2.0
    >>> law = np.stack([0.5 - x / (2 * A), 0.5 + x / (2 * A)], axis=1)
    >>> worst_pair_mse(x, outputs=[-A, A], law=law)
    (4.0, 4.125)
    """
    x, y, table = real("inputs", inputs), _increasing(outputs), _law("law", law)
    if table.shape != (x.size, y.size) or x.size < 2 or np.any(np.diff(x) <= 0):
        raise ParameterError(
            "law", f"shape {table.shape}", "one row for each input, and at least two increasing inputs"
        )
    errors = _pair_errors(x, y, table)
    h = np.diff(x) ** 2 / 4
    corners = np.maximum.reduce([errors[:-1, :-1], errors[1:, :-1], errors[:-1, 1:], errors[1:, 1:]])
    return float(errors.max()), float(np.max(corners + h[:, None] + h[None, :]))


def mean_pair_mse(inputs: ArrayLike, *, outputs: ArrayLike, law: ArrayLike) -> float:
    """Mean squared error of a pair's sum, averaged over two inputs that are drawn uniformly from the given ones.

    Examples
    --------
    >>> x, A = np.linspace(-1, 1, 201), 2.0
    >>> law = np.stack([0.5 - x / (2 * A), 0.5 + x / (2 * A)], axis=1)
    >>> round(mean_pair_mse(x, outputs=[-A, A], law=law), 2)  # (4 A - 2)/3 = 2, and 2/200 for the grid
    2.01
    """
    return float(_pair_errors(real("inputs", inputs), _increasing(outputs), _law("law", law)).mean())


def _pair_errors(x: FloatArray, y: FloatArray, law: FloatArray) -> FloatArray:
    """Mean squared errors of the sum for all pairs of inputs."""
    rows = [
        pair_mse(w, x, outputs=y, first=np.broadcast_to(p, law.shape), second=law) for w, p in zip(x, law, strict=True)
    ]
    return np.stack(rows)


def _levels(law: FloatArray) -> FloatArray:
    """The distribution function of a law, from 0 to 1."""
    total = np.cumsum(law, axis=-1)
    total[..., -1] = 1.0
    return np.concatenate([np.zeros((*law.shape[:-1], 1)), np.minimum(total, 1.0)], axis=-1)


def _overlap(first: FloatArray, second: FloatArray) -> FloatArray:
    """Lengths of the intersections of the intervals of two partitions."""
    low = np.maximum(first[..., :-1, None], second[..., None, :-1])
    high = np.minimum(first[..., 1:, None], second[..., None, 1:])
    return np.asarray(np.maximum(high - low, 0.0))


def _increasing(outputs: ArrayLike) -> FloatArray:
    y = np.asarray(real("outputs", outputs))
    if y.ndim != 1 or np.any(np.diff(y) <= 0):
        raise ParameterError("outputs", "an array", "a list of increasing numbers")
    return y


def _law(name: str, law: ArrayLike) -> FloatArray:
    table = np.asarray(real(name, law, "[0, 1]"))
    if not table.ndim or np.any(np.abs(table.sum(axis=-1) - 1) > 1e-9):
        raise ParameterError(name, f"shape {table.shape}", "probabilities with sum 1")
    return table
