"""The quantizer of b bits whose errors cancel best in pairs of clients, by linear programming; CorBin with b bits."""

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

_INPUTS = 9  # inputs of the law during the search, evenly spaced in [-1, 1]
_INSIDE = 1e-9  # relative reduction of epsilon, for the rounding error of the solver
_MOVES = {4: 80, 8: 60, 16: 25}  # most linear programs of the local search, by number of outputs
# greatest output of the starts, in units of alpha, by number of outputs
_REACHES = {4: (1.15, 1.35, 1.6), 8: (1.3, 1.7, 2.2), 16: (1.6, 2.3, 3.2)}


@dataclass(frozen=True)
class PairQuantizer:
    """One symmetric, unbiased law for both clients, epsilon-private against an observer of one uplink.

    Attributes
    ----------
    outputs : ndarray, shape (k,)
    inputs : ndarray, shape (q,)
        The inputs at which the law is given; it is linear between them.
    law : ndarray, shape (q, k)
    epsilon : float
        Exact over all inputs, against an observer of one uplink; a server that sees both uplinks learns more, and no
        epsilon holds there.
    worst_mse : float
        An upper bound of the error of the sum of both outputs, over all inputs.
    attained : float
        The greatest error at the inputs of a grid, a lower bound of the worst error.
    mean_mse : float
        The mean error over uniform inputs, from a grid of 65.
    bias : float
        The greatest error of the mean.
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
    r"""The least worst error of the sum of a pair of clients with 2^b outputs, whose places are found by local search.

    Parameters
    ----------
    bits : int
        In [1, 4].
    epsilon : float
        In [0.1, 10].

    Notes
    -----
    With a coupling for each pair of inputs as an unknown, the problem is linear in the law and the couplings together.
    The couplings that it finds are those of :func:`airtight.analytics.federated.corbin.antithetic.coupled`. One law
    for both clients is no restriction: for any two laws, the clients can exchange them by a shared coin, which gives
    both the mean law. For the same reason, symmetry of the law is no restriction.

    *No finite alphabet is optimal.* With :math:`X = w_1 + N`, :math:`Y = w_2 - N` and Laplace noise N that both
    clients know, each uplink is epsilon-private and the sum has no error. So the error tends to 0 as b grows, at every
    epsilon, and a positive lower bound must depend on b. For one bit it is that of CB Theorem 1
    (:func:`airtight.analytics.federated.corbin.two_output_bounds.minimax_mse`); for more bits none is proved here.

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
        return _evaluated(np.array([-A, A]), x, np.stack([0.5 - x / (2 * A), 0.5 + x / (2 * A)], axis=1))

    def worst(u: np.ndarray) -> float:
        solution = _program(_places(u), inner, _INPUTS)
        return float(solution.fun) if solution is not None else 1e6 + float(np.sum(u * u))

    starts = [np.log(np.full(k // 2, 2 * A * reach / (k - 1))) for reach in _REACHES[k]]
    starts += [u + np.linspace(0.7, -0.7, k // 2) for u in starts]
    start = min(starts, key=worst)
    options = {"maxfev": _MOVES[k], "xatol": 1e-4, "fatol": 1e-7}
    y = _places(minimize(worst, start, method="Nelder-Mead", options=options).x)
    for kept_back in (0.0, 1e-8, 1e-7, 1e-6, 1e-5):
        solution = _program(y, inner * (1 - kept_back), 2 * _INPUTS - 1)
        if solution is None:
            continue
        x = np.linspace(-1.0, 1.0, 2 * _INPUTS - 1)
        law = np.maximum(solution.x[: x.size * k].reshape(x.size, k), 0.0)
        quantizer = _evaluated(y, x, law / law.sum(axis=1, keepdims=True))
        if quantizer.epsilon <= eps:
            return quantizer
    raise checks.ConvergenceError("no quantizer was found that keeps epsilon")


def _places(u: np.ndarray) -> FloatArray:
    """Symmetric outputs from the logarithms of their distances, from the innermost outwards."""
    half = np.cumsum(np.exp(u))
    half = half - half[0] / 2
    return np.concatenate([-half[::-1], half])


def _evaluated(outputs: FloatArray, inputs: FloatArray, law: FloatArray) -> PairQuantizer:
    used = law.max(axis=0) > 1e-12
    y, law = outputs[used], law[:, used] / law[:, used].sum(axis=1, keepdims=True)

    def between(points: int) -> tuple[FloatArray, FloatArray]:
        grid = np.linspace(-1.0, 1.0, points)
        return grid, np.stack([np.interp(grid, inputs, column) for column in law.T], axis=1)

    attained, worst = antithetic.worst_pair_mse(between(257)[0], outputs=y, law=between(257)[1])
    mean = antithetic.mean_pair_mse(between(65)[0], outputs=y, law=between(65)[1])
    bias = float(np.max(np.abs(law @ y - inputs)))
    return PairQuantizer(y, inputs, law, quantizer_laws.local_epsilon(law), worst, attained, mean, bias)


def _program(y: FloatArray, eps: float, q: int) -> Any:
    """The linear program on given outputs with a mirror-symmetric law; None where it has no solution.

    The unknowns are the law (q x k), the least probability of each output (k), the worst error, and the couplings (k x
    k for each pair of inputs).
    """
    from scipy import sparse
    from scipy.optimize import linprog

    x, k = np.linspace(-1.0, 1.0, q), y.size
    i, j = np.array([(i, j) for i in range(q) for j in range(i, q) if x[i] + x[j] > -1e-12]).T
    n, cells, eye = i.size, q * k, sparse.eye
    mirrored = np.arange(cells).reshape(q, k)[::-1, ::-1].ravel()
    mirror = sparse.csr_matrix((np.ones(cells), (np.arange(cells), mirrored)), shape=(cells, cells))
    ones = np.ones((1, k))
    marginal = [  # the two marginals of each coupling equal the law at the input of the client
        [-sparse.kron(_selection_matrix(place, q), eye(k)), None, None, sparse.kron(eye(n), sum_over)]
        for place, sum_over in ((i, sparse.kron(eye(k), ones)), (j, sparse.kron(ones, eye(k))))
    ]
    blank = sparse.csr_matrix
    width = (cells, k, 1, n * k * k)

    def row(height: int, *parts: Any) -> Any:
        blocks = [blank((height, w)) if part is None else part for part, w in zip(parts, width, strict=True)]
        return sparse.hstack(blocks)

    equalities = sparse.vstack(
        [
            row(q, sparse.kron(eye(q), ones), None, None, None),
            row(q, sparse.kron(eye(q), y[None, :]), None, None, None),
            row(cells, eye(cells) - mirror, None, None, None),
            *(row(n * k, *parts) for parts in marginal),
        ]
    )
    least_probability = sparse.kron(np.ones((q, 1)), eye(k))
    cost = ((y[:, None] + y[None, :]) ** 2).reshape(1, -1)
    inequalities = sparse.vstack(
        [
            row(cells, eye(cells), -np.exp(eps) * least_probability, None, None),
            row(cells, -eye(cells), least_probability, None, None),
            row(n, None, None, -np.ones((n, 1)), sparse.kron(eye(n), cost)),
        ]
    )
    solution = linprog(
        np.concatenate([np.zeros(cells + k), [1.0], np.zeros(n * k * k)]),
        A_ub=inequalities.tocsr(),
        b_ub=np.concatenate([np.zeros(2 * cells), (x[i] + x[j]) ** 2]),
        A_eq=equalities.tocsr(),
        b_eq=np.concatenate([np.ones(q), x, np.zeros(cells + 2 * n * k)]),
        bounds=(0, None),
        method="highs",
    )
    return solution if solution.status == 0 else None


def _selection_matrix(places: np.ndarray, q: int) -> Any:
    from scipy import sparse

    return sparse.csr_matrix((np.ones(places.size), (np.arange(places.size), places)), shape=(places.size, q))
