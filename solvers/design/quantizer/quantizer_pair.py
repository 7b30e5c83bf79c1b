"""The quantizer of b bits whose outputs cancel best in pairs, by linear programming: CorBin's randomness beyond one bit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.corbin import antithetic
from airtight.analytics.federated.corbin.quantizers import alpha
from airtight.analytics.federated.few_bits import quantizer_laws

_INPUTS = 9
_INSIDE = 1e-9  # of epsilon, kept back for the rounding of a solver
_MOVES = {4: 80, 8: 60, 16: 25}
_REACHES = {4: (1.15, 1.35, 1.6), 8: (1.3, 1.7, 2.2), 16: (1.6, 2.3, 3.2)}


@dataclass(frozen=True)
class PairQuantizer:
    """One law for both clients, symmetric, unbiased, epsilon-private against one uplink.

    Attributes
    ----------
    outputs : ndarray, shape (k,)
    inputs : ndarray, shape (q,)
        Between two of them the law is linear.
    law : ndarray, shape (q, k)
    epsilon : float
        Exact, over all inputs, against one uplink; against the server that sees both there is none.
    worst_mse : float
        Of the sum of both outputs, over all inputs, from above.
    attained : float
        At two of the inputs.
    mean_mse : float
        Over uniform inputs, from a grid of 65.
    bias : float
    """

    outputs: FloatArray
    inputs: FloatArray
    law: FloatArray
    epsilon: float
    worst_mse: float
    attained: float
    mean_mse: float
    bias: float


@cache
def solve(bits: int, *, epsilon: float) -> PairQuantizer:
    r"""Least worst error of a pair's sum with 2^b outputs, places by local search.

    Parameters
    ----------
    bits : int
        In [1, 4].
    epsilon : float
        In [0.1, 10].

    Notes
    -----
    With a coupling for each pair of inputs as unknown the problem is linear in laws and couplings together, and the
    couplings that it finds are those of :func:`airtight.analytics.federated.corbin.antithetic.coupled`. One law for
    both clients is no restriction (take the mean of a pair of laws and the exchanged one, chosen by a shared coin), nor
    is its symmetry.

    *No alphabet is best.* With :math:`X = w_1 + N`, :math:`Y = w_2 - N`, N Laplace noise that both know, either uplink is
    epsilon-private and the sum has no error at all: the error goes to 0 as b grows, at every epsilon, and a bound above 0 has to
    know b. For one bit it is that of CB Theorem 1 (:func:`airtight.analytics.federated.corbin.alphabets.minimax_mse`);
    for more none is proved here.

    Examples
    --------
    >>> one, two = solve(1, epsilon=1.0), solve(2, epsilon=1.0)
    >>> round(one.worst_mse, 3), two.worst_mse < 0.56 * one.worst_mse
    (4.656, True)
    """
    from scipy.optimize import minimize

    b = checks.count("bits", bits, "[1, 4]")
    eps = checks.scalar("epsilon", epsilon, "[0.1, 10]")
    inner = eps * (1 - _INSIDE)
    A, k = float(alpha(inner)), 2**b
    if b == 1:
        x = np.array([-1.0, 1.0])
        return _judged(np.array([-A, A]), x, np.stack([0.5 - x / (2 * A), 0.5 + x / (2 * A)], axis=1))

    def worst(u: np.ndarray) -> float:
        made = _program(_places(u), inner, _INPUTS)
        return float(made.fun) if made is not None else 1e6 + float(np.sum(u * u))

    starts = [np.log(np.full(k // 2, 2 * A * reach / (k - 1))) for reach in _REACHES[k]]
    starts += [u + np.linspace(0.7, -0.7, k // 2) for u in starts]
    start = min(starts, key=worst)
    options = {"maxfev": _MOVES[k], "xatol": 1e-4, "fatol": 1e-7}
    y = _places(minimize(worst, start, method="Nelder-Mead", options=options).x)
    for kept_back in (0.0, 1e-8, 1e-7, 1e-6, 1e-5):
        made = _program(y, inner * (1 - kept_back), 2 * _INPUTS - 1)
        if made is None:
            continue
        x = np.linspace(-1.0, 1.0, 2 * _INPUTS - 1)
        law = np.maximum(made.x[: x.size * k].reshape(x.size, k), 0.0)
        found = _judged(y, x, law / law.sum(axis=1, keepdims=True))
        if found.epsilon <= eps:
            return found
    raise checks.ConvergenceError("no quantizer was found that keeps to epsilon")


def _places(u: np.ndarray) -> FloatArray:
    """Symmetric, from the logarithms of their distances, outwards."""
    half = np.cumsum(np.exp(u))
    half = half - half[0] / 2
    return np.concatenate([-half[::-1], half])


def _judged(outputs: FloatArray, inputs: FloatArray, law: FloatArray) -> PairQuantizer:
    sent = law.max(axis=0) > 1e-12
    y, law = outputs[sent], law[:, sent] / law[:, sent].sum(axis=1, keepdims=True)

    def between(count: int) -> tuple[FloatArray, FloatArray]:
        grid = np.linspace(-1.0, 1.0, count)
        return grid, np.stack([np.interp(grid, inputs, column) for column in law.T], axis=1)

    attained, worst = antithetic.worst_pair_mse(between(257)[0], outputs=y, law=between(257)[1])
    mean = antithetic.mean_pair_mse(between(65)[0], outputs=y, law=between(65)[1])
    bias = float(np.max(np.abs(law @ y - inputs)))
    return PairQuantizer(y, inputs, law, quantizer_laws.local_epsilon(law), worst, attained, mean, bias)


def _program(y: FloatArray, eps: float, q: int) -> Any:
    """The linear program on given outputs, mirror symmetry imposed; None where it has no solution.

    Unknowns: law (q x k), least probability of each output (k), worst error, couplings (k x k for each pair of inputs).
    """
    from scipy import sparse
    from scipy.optimize import linprog

    x, k = np.linspace(-1.0, 1.0, q), y.size
    i, j = np.array([(i, j) for i in range(q) for j in range(i, q) if x[i] + x[j] > -1e-12]).T
    n, cells, eye = i.size, q * k, sparse.eye
    mirrored = np.arange(cells).reshape(q, k)[::-1, ::-1].ravel()
    mirror = sparse.csr_matrix((np.ones(cells), (np.arange(cells), mirrored)), shape=(cells, cells))
    ones = np.ones((1, k))
    marginal = [  # of each coupling, one for each client
        [-sparse.kron(_chosen(place, q), eye(k)), None, None, sparse.kron(eye(n), sum_over)]
        for place, sum_over in ((i, sparse.kron(eye(k), ones)), (j, sparse.kron(ones, eye(k))))
    ]
    blank = sparse.csr_matrix
    width = (cells, k, 1, n * k * k)

    def row(height: int, *parts: Any) -> Any:
        given = [blank((height, w)) if part is None else part for part, w in zip(parts, width, strict=True)]
        return sparse.hstack(given)

    equal = sparse.vstack(
        [
            row(q, sparse.kron(eye(q), ones), None, None, None),
            row(q, sparse.kron(eye(q), y[None, :]), None, None, None),
            row(cells, eye(cells) - mirror, None, None, None),
            *(row(n * k, *parts) for parts in marginal),
        ]
    )
    least = sparse.kron(np.ones((q, 1)), eye(k))
    cost = ((y[:, None] + y[None, :]) ** 2).reshape(1, -1)
    below = sparse.vstack(
        [
            row(cells, eye(cells), -np.exp(eps) * least, None, None),
            row(cells, -eye(cells), least, None, None),
            row(n, None, None, -np.ones((n, 1)), sparse.kron(eye(n), cost)),
        ]
    )
    found = linprog(
        np.concatenate([np.zeros(cells + k), [1.0], np.zeros(n * k * k)]),
        A_ub=below.tocsr(),
        b_ub=np.concatenate([np.zeros(2 * cells), (x[i] + x[j]) ** 2]),
        A_eq=equal.tocsr(),
        b_eq=np.concatenate([np.ones(q), x, np.zeros(cells + 2 * n * k)]),
        bounds=(0, None),
        method="highs",
    )
    return found if found.status == 0 else None


def _chosen(places: np.ndarray, q: int) -> Any:
    from scipy import sparse

    return sparse.csr_matrix((np.ones(places.size), (np.arange(places.size), places)), shape=(places.size, q))
