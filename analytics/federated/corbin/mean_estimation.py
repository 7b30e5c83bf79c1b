r"""MSE of the mean update in LDP-FL, CorBin-FL and AugCorBin-FL: exact for given updates, and in the worst case.

Errors are per parameter and add up over parameters. Let :math:`x_i = w_i - c` be the offsets and :math:`A = r\alpha`.
A pair contributes :math:`(2A|s| - s^2)/n^2` with :math:`s = x_i + x_j` (ledger CB-T1*), an unpaired client
:math:`(A^2 - x_i^2)/n^2`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError, broadcast, real
from airtight.analytics.federated.corbin import quantizers, two_output_bounds
from airtight.analytics.federated.corbin.federated_system import alone


def published(clients: int, *, epsilon: ArrayLike, radius: ArrayLike = 1.0) -> FloatArray:
    r"""CB Theorem 2 as printed: :math:`\frac{r^2}{2n}((\sqrt2-1)\alpha+1)((\sqrt2+1)\alpha-1)`.

    The bound is true but loose, because it is quadratic in alpha.

    Examples
    --------
    >>> round(float(published(1, epsilon=0.1)), 2), round(float(worst(2, epsilon=0.1)) * 2, 3)
    (219.85, 38.033)
    """
    n, r, a = _scale(clients, epsilon, radius)
    root = np.sqrt(2.0)
    return np.asarray(r * r / (2 * n) * ((root - 1) * a + 1) * ((root + 1) * a - 1))[()]


def published_augmented(clients: int, *, epsilon: ArrayLike, fraction: float, radius: ArrayLike = 1.0) -> FloatArray:
    r"""CB Theorem 3, MSE of AugCorBin-FL as printed: :math:`\gamma r^2\alpha^2/n` plus 1 - gamma times Theorem 2.

    The bound is true but loose.

    Examples
    --------
    >>> bool(published_augmented(50, epsilon=1.0, fraction=0.2) >= worst(50, epsilon=1.0, independent=0.2))
    True
    """
    share = checks.scalar("fraction", fraction, "[0, 1]")
    alone_part = worst_ldp(clients, epsilon=epsilon, radius=radius)
    return np.asarray(share * alone_part + (1 - share) * published(clients, epsilon=epsilon, radius=radius))[()]


def worst_ldp(clients: int, *, epsilon: ArrayLike, radius: ArrayLike = 1.0) -> FloatArray:
    r"""Worst MSE of LDP-FL over the updates: :math:`r^2\alpha^2/n`, attained where all updates are at the center.

    Examples
    --------
    >>> round(float(worst_ldp(1, epsilon=1.0)), 4)
    4.6827
    """
    n, r, a = _scale(clients, epsilon, radius)
    return np.asarray((r * a) ** 2 / n)[()]


def worst(
    clients: int,
    *,
    epsilon: ArrayLike,
    radius: ArrayLike = 1.0,
    bits: int | None = None,
    independent: float = 0.0,
) -> FloatArray:
    r"""Worst MSE of CorBin-FL over the updates, and of AugCorBin-FL if a share of the clients quantizes alone.

    .. math:: \frac1{n^2}\Bigl[N A^2 + \frac{n-N}2\,\bigl(\max_s(2A|s|-s^2) + \tfrac{A^2}{2^{d-1}}\bigr)\Bigr],\qquad
              \max_s = \begin{cases} r^2\alpha^2 & \alpha\le2\\ 4r^2(\alpha-1) & \alpha\ge2 \end{cases}

    Parameters
    ----------
    clients : int
        n >= 1; if the number of paired clients is odd, one of them quantizes alone. Where it is drawn, and not always the
        same, the value is an upper bound.
    epsilon, radius : array_like
    bits : int or None
        d, the number of shared bits; None for the limit, where the last term is 0. With bits the value is an upper
        bound.
    independent : float
        gamma in [0, 1]: N = gamma n clients, rounded, quantize alone.

    Examples
    --------
    >>> [round(100 * float(worst(100, epsilon=e)), 4) for e in (0.1, 0.5, 1.0, 3.0)]
    [38.0333, 6.166, 2.3279, 0.6103]
    """
    n, r, a = _scale(clients, epsilon, radius)
    unpaired_clients = alone(clients, checks.scalar("independent", independent, "[0, 1]"))
    pair = np.asarray(two_output_bounds.minimax_mse(epsilon=epsilon, radius=radius))
    if bits is not None:
        pair = np.minimum(pair + quantizers.slack(epsilon=epsilon, radius=radius, bits=bits), 2 * (r * a) ** 2)
    return np.asarray((unpaired_clients * (r * a) ** 2 + (clients - unpaired_clients) / 2 * pair) / (n * n))[()]


def improvement(epsilon: ArrayLike) -> FloatArray:
    r"""Ratio of the worst MSEs of LDP-FL and CorBin-FL: :math:`\alpha^2/(2(\alpha-1)) \ge 2` for alpha >= 2, else 2.

    Examples
    --------
    >>> round(float(improvement(0.1)), 1)
    10.5
    """
    a = np.asarray(quantizers.alpha(epsilon))
    return np.where(a <= 2, 2.0, a * a / (2 * np.maximum(a - 1, 1.0)))[()]


def _scale(clients: int, epsilon: ArrayLike, radius: ArrayLike) -> tuple[float, FloatArray, FloatArray]:
    r, a = broadcast(radius=real("radius", radius, "(0, inf)"), epsilon=np.asarray(quantizers.alpha(epsilon)))
    return float(checks.count("clients", clients)), r, a


def ldp(w: ArrayLike, *, epsilon: float, center: float = 0.0, radius: float = 1.0) -> FloatArray:
    """Exact MSE of LDP-FL for given updates.

    Parameters
    ----------
    w : array_like, shape (n,) or (n, m)
        Updates of n clients, within the radius.

    Returns
    -------
    float or ndarray, shape (m,)

    Examples
    --------
    >>> float(ldp([1.0, -1.0], epsilon=np.log(3)))
    1.5...
    """
    x, A = _offsets(w, epsilon, center, radius)
    return np.asarray(np.sum(A * A - x * x, axis=0) / len(x) ** 2)[()]


def paired(
    w: ArrayLike,
    pairs: ArrayLike,
    *,
    epsilon: float,
    center: float = 0.0,
    radius: float = 1.0,
    bits: int | None = None,
) -> FloatArray:
    """Exact MSE of CorBin-FL for given updates and pairs; clients in no pair quantize alone.

    Parameters
    ----------
    w : array_like, shape (n,) or (n, m)
    pairs : array_like of int, shape (P, 2)
        Indices of the clients of each pair; no client is in two pairs.
    bits : int or None
        See :func:`airtight.analytics.federated.corbin.quantizers.pair_mse`.

    Examples
    --------
    >>> float(paired([0.5, -0.5, 0.2, 0.2], [[0, 1], [2, 3]], epsilon=np.log(3)))
    0.09...
    """
    x, A = _offsets(w, epsilon, center, radius)
    n = len(x)
    pair_indices = checks.integer("pairs", pairs, f"[0, {n - 1}]")
    if pair_indices.ndim != 2 or pair_indices.shape[1] != 2 or np.unique(pair_indices).size != pair_indices.size:
        raise ParameterError(
            "pairs", f"array of shape {pair_indices.shape}", "of shape (P, 2), with no client in two pairs"
        )
    unpaired = np.setdiff1d(np.arange(n), pair_indices)
    first, second = x[pair_indices[:, 0]], x[pair_indices[:, 1]]
    pair_errors = quantizers.pair_mse(first, second, epsilon=epsilon, radius=radius, bits=bits)
    return np.asarray((np.sum(pair_errors, axis=0) + np.sum(A * A - x[unpaired] ** 2, axis=0)) / n**2)[()]


def mean_over_pairings(w: ArrayLike, *, epsilon: float, center: float = 0.0, radius: float = 1.0) -> FloatArray:
    r"""Exact MSE of CorBin-FL (infinitely many shared bits) for given updates, averaged over uniform pairings.

    .. math:: \frac1{n^2}\Bigl[\pi\sum_{i<j}(2A|x_i+x_j| - (x_i+x_j)^2) + \lambda\sum_i(A^2-x_i^2)\Bigr]

    with :math:`\pi = 1/(n-1), \lambda = 0` for even n and :math:`\pi = \lambda = 1/n` for odd n, where one client is
    unpaired.

    Parameters
    ----------
    w : array_like, shape (n,) or (n, m)

    Notes
    -----
    Every pair is drawn with the same probability. The sum of abs(x_i + x_j) over all pairs is computed as an area
    between the counting functions of x and -x, in O(n log n).

    Examples
    --------
    >>> float(mean_over_pairings([0.5, -0.5], epsilon=np.log(3)))
    0.0
    """
    x, A = _offsets(w, epsilon, center, radius)
    n = len(x)
    # sum of abs(x_i + x_j) over all i and j: each gap of the merged values counts for the pairs (x_i, -x_j) around it
    merged = np.concatenate([x, -x])
    order = np.argsort(merged, axis=0, kind="stable")
    sorted_values = np.take_along_axis(merged, order, axis=0)
    own_counts = np.cumsum(order < n, axis=0)[:-1]
    mirrored_counts = np.arange(1, 2 * n).reshape(-1, *([1] * (x.ndim - 1))) - own_counts
    ordered_sum = np.sum(
        np.diff(sorted_values, axis=0) * (own_counts * (n - mirrored_counts) + mirrored_counts * (n - own_counts)),
        axis=0,
    )
    absolute = (ordered_sum - 2 * np.sum(np.abs(x), axis=0)) / 2
    square = (n - 2) * np.sum(x * x, axis=0) + np.sum(x, axis=0) ** 2
    pairs = np.maximum(2 * A * absolute - square, 0.0)
    if n % 2 == 0:
        return np.asarray(pairs / (n - 1) / n**2)[()]
    return np.asarray((pairs + np.sum(A * A - x * x, axis=0)) / n / n**2)[()]


def _offsets(w: ArrayLike, epsilon: float, center: float, radius: float) -> tuple[FloatArray, float]:
    weights = real("w", w)
    if weights.ndim not in (1, 2) or not weights.size:
        raise ParameterError("w", f"array of shape {weights.shape}", "of shape (n,) or (n, m), not empty")
    c, r = checks.scalar("center", center), checks.scalar("radius", radius, "(0, inf)")
    a = float(quantizers.alpha(checks.scalar("epsilon", epsilon, "(0, inf]")))
    return quantizers.offset(weights, center=c, radius=r), r * a


def best_pairing(w: ArrayLike, *, epsilon: float, center: float = 0.0, radius: float = 1.0) -> NDArray[np.int64]:
    """The pairing of least MSE for given updates (infinitely many shared bits), if the server knew them.

    It is a minimum-weight perfect matching, found by the blossom algorithm in O(n^3), for up to a few hundred clients.

    Parameters
    ----------
    w : array_like, shape (n,)
        n even.

    Returns
    -------
    ndarray of int, shape (n / 2, 2)

    Examples
    --------
    >>> best_pairing([0.5, 0.4, -0.5, -0.4], epsilon=1.0)
    array([[0, 2],
           [1, 3]])
    """
    import networkx as nx

    x, A = _offsets(w, epsilon, center, radius)
    if x.ndim != 1 or len(x) % 2:
        raise ParameterError(
            "w", f"array of shape {x.shape}", "of shape (n,) with even n, because all clients are paired"
        )
    s = np.abs(x[:, None] + x[None, :])
    cost = s * (2 * A - s)
    graph = nx.Graph()
    graph.add_weighted_edges_from((i, j, cost[i, j]) for i in range(len(x)) for j in range(i))
    return np.array(sorted(sorted(pair) for pair in nx.min_weight_matching(graph)), dtype=np.int64)
