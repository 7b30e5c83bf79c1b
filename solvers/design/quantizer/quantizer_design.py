"""The best unbiased, locally private quantizer of b bits by linear programming, and a lower bound for all alphabets.

Unbiased outputs of least worst variance for the symbols of a given law, for example of a modular remainder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError, real
from airtight.analytics.federated.corbin.quantizers import alpha
from airtight.analytics.federated.few_bits import quantizer_laws
from airtight.analytics.federated.few_bits.quantizer_laws import local_epsilon
from airtight.solvers.design.quantizer.quantizer_bound import Certificate, certified, trivial

_INPUTS = 33  # inputs at which the law is given, evenly spaced in [-1, 1]
_FINE = 161  # outputs of the program whose multipliers give the lower bound
_INSIDE = 1e-9  # relative reduction of epsilon, for the rounding error of the solver
_MOVES = {4: 80, 8: 70, 16: 12}  # most linear programs from each start, by number of outputs; none with more outputs
_STARTS = 2  # starts of the local search


@dataclass(frozen=True)
class Quantizer:
    """An unbiased, epsilon-private quantizer of [-1, 1].

    Attributes
    ----------
    outputs : ndarray, shape (k,)
    inputs : ndarray, shape (q,)
        The inputs at which the law is given; between two inputs it is interpolated linearly, which keeps bias and
        privacy.
    law : ndarray, shape (q, k)
    worst_variance : float
        An upper bound over all inputs in [-1, 1].
    """

    outputs: FloatArray
    inputs: FloatArray
    law: FloatArray
    worst_variance: float


@dataclass(frozen=True)
class Solution:
    """A quantizer of b bits, and a lower bound for all quantizers.

    Attributes
    ----------
    bits : int
    quantizer : Quantizer
    worst_variance, lower_bound : float
        An upper bound of this quantizer's variance over all inputs, and a lower bound of the worst variance of every
        unbiased quantizer with this epsilon and any alphabet.
    epsilon : float
        Exact greatest log-ratio of the law, at most the requested epsilon.
    bias : float
        Greatest error of the mean.
    certificate : Certificate or None
        The certificate of the lower bound; None for one bit, whose bound is Proposition 1 of CB.
    """

    bits: int
    quantizer: Quantizer
    worst_variance: float
    lower_bound: float
    epsilon: float
    bias: float
    certificate: Certificate | None

    @property
    def gap(self) -> float:
        """Worst variance minus lower bound."""
        return self.worst_variance - self.lower_bound


def solve(bits: int, *, epsilon: float) -> Solution:
    r"""The least worst variance on [-1, 1] with 2^b outputs at free places, and a lower bound for any alphabet.

    Parameters
    ----------
    bits : int
        In [1, 6].
    epsilon : float
        In [0.1, 10]; the law keeps it for all inputs, not only on a grid.

    Returns
    -------
    Solution

    Notes
    -----
    The law is given at 33 inputs and linear between them, so each of its columns stays between its extremes at these
    inputs. Therefore unbiasedness and privacy hold for every input. The variance between two inputs is a parabola, of
    which the maximum is taken. The places of the outputs are symmetric and found by local search. The lower bound
    (:class:`airtight.solvers.design.quantizer.quantizer_bound.Certificate`) is for alphabets of any size, including
    continuous ones. With few bits it is not attained, and `gap` states the difference. Above epsilon = 5 its 33 inputs
    are too few, and it falls to 0. For one bit the bound is :math:`\alpha^2` itself.

    Examples
    --------
    >>> one = solve(1, epsilon=1.0)
    >>> round(one.worst_variance, 3), one.gap < 1e-6
    (4.683, True)
    """
    b = checks.count("bits", bits, "[1, 6]")
    eps = checks.scalar("epsilon", epsilon, "[0.1, 10]")
    inner = eps * (1 - _INSIDE)
    if b == 1:
        quantizer, certificate = _one_bit(inner), None
        bound = float(alpha(eps)) ** 2 * (1 - 1e-15)
    else:
        quantizer, certificate = _placed(2**b, inner), _bound(eps)
        bound = max(float(np.nextafter(float(certificate.value), -np.inf)), 0.0)
    bias = float(np.max(np.abs(quantizer.law @ quantizer.outputs - quantizer.inputs)))
    return Solution(b, quantizer, quantizer.worst_variance, bound, _exact_epsilon(quantizer), bias, certificate)


def _one_bit(eps: float) -> Quantizer:
    A = float(alpha(eps))
    x = np.array([-1.0, 1.0])
    return Quantizer(np.array([-A, A]), x, np.stack([0.5 - x / (2 * A), 0.5 + x / (2 * A)], axis=1), A * A)


@cache
def _bound(eps: float) -> Certificate:
    """The lower bound for any alphabet, from the dual of a program with many outputs; 0 where it proves nothing."""
    reach = 1.6 * float(alpha(eps)) + 0.5
    y = np.linspace(-reach, reach, _FINE)
    solution = _linear_program(y, eps)
    if solution is None:
        raise checks.ConvergenceError("the linear program of the lower bound has no solution")
    q, k = _INPUTS, y.size
    equality_duals, inequality_duals = solution.eqlin.marginals, solution.ineqlin.marginals
    curvature = -inequality_duals[2 * q * k :]
    try:
        return certified(
            curvature, equality_duals[q:], equality_duals[:q], inputs=np.linspace(-1.0, 1.0, q), epsilon=eps
        )
    except checks.ConvergenceError:
        return trivial(eps)


@cache
def _placed(k: int, eps: float) -> Quantizer:
    """The best quantizer with at most k symmetric outputs found by Nelder-Mead in the logarithms of their distances.

    For small epsilon the outer and the inner outputs of the best four lie close together, at about 1 + epsilon/2 and
    1 - epsilon/4 times those of one bit. An alphabet of half as many outputs is a candidate as well, down to that of
    one bit, which always exists.
    """
    from scipy.optimize import minimize

    A = float(alpha(eps))

    def places(u: np.ndarray) -> FloatArray:
        half = np.cumsum(np.exp(u))
        half = half - half[0] / 2  # so that the two innermost outputs are symmetric about 0
        return np.concatenate([-half[::-1], half])

    def worst(u: np.ndarray) -> float:
        quantizer = _program(places(u), eps)
        return quantizer.worst_variance if quantizer is not None else 1e6 + float(np.sum(u * u))

    steps = k // 2
    starts = []
    grid = list(product((1.0 + 1e-6, 1.1, 1.2, 1.35), (1 / (k - 1), 0.15, 0.4, 0.65)))
    if k == 4 and eps < 1:
        grid += [(1 + eps / 2, (1 - eps / 4) / (1 + eps / 2)), (1 + eps / 4, (1 - eps / 4) / (1 + eps / 4))]
    for reach, inner in grid:
        gap = 2 * A * reach * inner  # between the two innermost outputs; the others share the rest
        step = (A * reach - gap / 2) / max(steps - 1, 1)
        starts.append(np.log([gap, *[step] * (steps - 1)]))
    starts.sort(key=worst)
    best = starts[0]
    if k in _MOVES:
        options = {"maxfev": _MOVES[k], "xatol": 1e-4, "fatol": 1e-7}
        candidates = [minimize(worst, u, method="Nelder-Mead", options=options).x for u in starts[:_STARTS]]
        best = min(candidates, key=worst)
    searched = _one_bit(eps) if k == 4 else _placed(k // 2, eps)
    for inner in (0.0, 1e-8, 1e-7, 1e-6, 1e-5):  # the solver keeps epsilon up to a tolerance only
        quantizer = _program(places(best), eps * (1 - inner))
        if quantizer is not None and _exact_epsilon(quantizer) <= eps:
            return min(searched, quantizer, key=lambda candidate: candidate.worst_variance)
    return searched


def _exact_epsilon(quantizer: Quantizer) -> float:
    """The exact epsilon: columns are linear between the inputs, so their extremes are at the inputs."""
    return local_epsilon(quantizer.law)


def _program(y: FloatArray, eps: float) -> Quantizer | None:
    """The quantizer with the best law on given outputs; None where there is none."""
    solution = _linear_program(y, eps)
    if solution is None:
        return None
    x = np.linspace(-1.0, 1.0, _INPUTS)
    law = solution.x[: x.size * y.size].reshape(x.size, y.size)
    used = law.max(axis=0) > 1e-12  # outputs that are never sent are dropped
    law, y = law[:, used] / law[:, used].sum(axis=1, keepdims=True), y[used]
    second_moment = law @ (y * y)
    # between two inputs E y^2 is linear in x, so the variance is a parabola with its maximum inside or at an end
    left, right, slope = x[:-1], x[1:], np.diff(second_moment) / np.diff(x)
    maximiser = np.clip(slope / 2, left, right)
    worst = float(np.max(second_moment[:-1] + slope * (maximiser - left) - maximiser * maximiser))
    return Quantizer(y, x, law, worst)


def _linear_program(y: FloatArray, eps: float) -> Any:
    """The linear program of the least worst variance on given outputs; None where it has no solution."""
    from scipy import sparse
    from scipy.optimize import linprog

    x, k = np.linspace(-1.0, 1.0, _INPUTS), y.size
    q, cells = x.size, x.size * k
    # unknowns: law (q x k), the least probability of every output (k), worst variance
    rows = sparse.kron(sparse.eye(q), np.ones((1, k)))
    mean = sparse.kron(sparse.eye(q), y[None, :])
    square = sparse.kron(sparse.eye(q), (y * y)[None, :])
    least_probability = sparse.kron(np.ones((q, 1)), sparse.eye(k))
    zero = sparse.csr_matrix
    equalities = sparse.hstack([sparse.vstack([rows, mean]), zero((2 * q, k + 1))])
    inequalities = sparse.vstack(
        [
            sparse.hstack([sparse.eye(cells), -np.exp(eps) * least_probability, zero((cells, 1))]),
            sparse.hstack([-sparse.eye(cells), least_probability, zero((cells, 1))]),
            sparse.hstack([square, zero((q, k)), -np.ones((q, 1))]),
        ]
    )
    solution = linprog(
        np.append(np.zeros(cells + k), 1.0),
        A_ub=inequalities.tocsr(),
        b_ub=np.concatenate([np.zeros(2 * cells), x * x]),
        A_eq=equalities.tocsr(),
        b_eq=np.concatenate([np.ones(q), x]),
        bounds=(0, None),
        method="highs",
    )
    return solution if solution.status == 0 else None


@dataclass(frozen=True)
class Decoder:
    """Unbiased outputs for the symbols of a law.

    Attributes
    ----------
    outputs : ndarray, shape (k,)
        The output for each symbol.
    worst_variance : float
        The greatest variance over all inputs, where the law is linear between the given inputs.
    lower_bound : float
        A lower bound of the greatest variance at the given inputs, for all unbiased outputs for this law.
    bias : float
        The greatest error of the mean at the given inputs, from rounding.
    """

    outputs: FloatArray
    worst_variance: float
    lower_bound: float
    bias: float


def unbiased(inputs: ArrayLike, law: ArrayLike) -> Decoder:
    r"""The unbiased outputs of least worst variance.

    They minimise the greatest of :math:`\sum_z P(z \mid x_i)\,y_z^2 - x_i^2` over all y with
    :math:`\sum_z P(z \mid x_i)\,y_z = x_i`.

    Parameters
    ----------
    inputs : array_like, shape (q,)
        Increasing, in [-1, 1].
    law : array_like, shape (q, k)
        Probabilities of the symbols, all positive; k >= q.

    Raises
    ------
    ParameterError
        When no outputs are unbiased for this law.

    Notes
    -----
    For any weights mu of the inputs, the weighted sum of the variances is minimised by a weighted least-squares
    solution; its minimum is a lower bound of the worst variance. The weights of the greatest lower bound solve a
    concave problem. The solution for any weights is unbiased, and the returned worst variance is that of the solution
    itself.

    Examples
    --------
    >>> law = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> unbiased([-1.0, 1.0], law).outputs.round(6)
    array([-2.,  2.])
    """
    from scipy.optimize import minimize

    x, probabilities = real("inputs", inputs, "[-1, 1]"), real("law", law, "(0, 1]")
    if probabilities.ndim != 2 or x.shape != probabilities.shape[:1]:
        raise ParameterError("law", f"shape {probabilities.shape}", f"({x.size}, symbols)")

    def outputs_for(weight: FloatArray) -> FloatArray:
        scale = np.sqrt(weight @ probabilities)
        return np.asarray(np.linalg.lstsq(probabilities / scale, x, rcond=1e-15)[0] / scale)

    def variance(outputs: FloatArray) -> FloatArray:
        return np.asarray(probabilities @ (outputs * outputs) - x * x)

    def loss(weight: FloatArray) -> tuple[float, FloatArray]:
        solution = variance(outputs_for(weight)) / size
        return -float(weight @ solution), -solution

    start = np.full(x.size, 1 / x.size)
    size = float(start @ variance(outputs_for(start)))
    solution = minimize(
        loss,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(1e-12, 1.0)] * x.size,
        constraints={"type": "eq", "fun": lambda mu: mu.sum() - 1, "jac": lambda mu: np.ones(x.size)},
        options={"maxiter": 300, "ftol": 1e-12},
    )
    weight = np.maximum(solution.x, 1e-12) / np.maximum(solution.x, 1e-12).sum()
    outputs = outputs_for(weight)
    bound, worst = float(weight @ variance(outputs)), quantizer_laws.worst_variance(x, outputs, probabilities)
    bias = float(np.max(np.abs(probabilities @ outputs - x)))
    if bias > 1e-9 * float(np.max(np.abs(outputs))):
        raise ParameterError("law", f"shape {probabilities.shape}", "one for which unbiased outputs exist")
    return Decoder(outputs, worst, min(bound, worst), bias)
