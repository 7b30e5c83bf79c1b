"""The best unbiased, locally private quantizer of b bits by linear programming, beside a bound that no alphabet beats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.corbin.quantizers import alpha
from airtight.analytics.federated.few_bits.quantizer_laws import local_epsilon
from airtight.solvers.design.quantizer.quantizer_bound import Certificate, certified, trivial

_INPUTS = 33
_FINE = 161  # outputs of the program whose multipliers make the bound
_INSIDE = 1e-9  # of epsilon, kept back for the rounding of a solver
_MOVES = {4: 70, 8: 70, 16: 12}  # programs spent on the places of so many outputs, from each start
_STARTS = 2


@dataclass(frozen=True)
class Quantizer:
    """An unbiased quantizer of [-1, 1], epsilon-private.

    Attributes
    ----------
    outputs : ndarray, shape (k,)
    inputs : ndarray, shape (q,)
        Where the law is given; between two inputs it is interpolated linearly, which keeps bias and privacy.
    law : ndarray, shape (q, k)
    worst_variance : float
        Over all of [-1, 1], from above.
    """

    outputs: FloatArray
    inputs: FloatArray
    law: FloatArray
    worst_variance: float


@dataclass(frozen=True)
class Solution:
    """A quantizer of b bits, and how good any quantizer can be.

    Attributes
    ----------
    bits : int
    quantizer : Quantizer
    worst_variance, lower_bound : float
        Of this one over all inputs, from above; of every unbiased quantizer with this epsilon and any alphabet, from below.
    epsilon : float
        Exact log-ratio of the law, at most what was asked for.
    bias : float
        Greatest error of the mean.
    certificate : Certificate or None
        Of the bound; None for one bit, whose bound is Proposition 1 of CB.
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
        """How much better a quantizer might be."""
        return self.worst_variance - self.lower_bound


def solve(bits: int, *, epsilon: float) -> Solution:
    r"""The least worst variance on [-1, 1] with 2^b outputs, their places free, and a lower bound for any alphabet.

    Parameters
    ----------
    bits : int
        In [1, 6].
    epsilon : float
        In [0.1, 10]; the law keeps to it for all inputs, not for a grid of them.

    Returns
    -------
    Solution

    Notes
    -----
    The law is given at 33 inputs and linear between them, so each column stays between its own ends: bias and privacy
    hold for every input, and the variance between two inputs is a parabola whose top is taken. The places of the
    outputs are symmetric; the search for them is local. The bound
    (:class:`airtight.solvers.design.quantizer.quantizer_bound.Certificate`) is for every alphabet, of any size,
    continuous ones included: with few bits it is not attained, and the gap is told; above epsilon = 5 its 33 inputs are
    too few, and it falls to 0. For one bit the bound is :math:`\alpha^2` itself.

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
        found, certificate = _two(inner), None
        bound = float(alpha(eps)) ** 2 * (1 - 1e-15)
    else:
        found, certificate = _placed(2**b, inner), _bound(eps)
        bound = max(float(np.nextafter(float(certificate.value), -np.inf)), 0.0)
    bias = float(np.max(np.abs(found.law @ found.outputs - found.inputs)))
    return Solution(b, found, found.worst_variance, bound, _ratio(found), bias, certificate)


def _two(eps: float) -> Quantizer:
    A = float(alpha(eps))
    x = np.array([-1.0, 1.0])
    return Quantizer(np.array([-A, A]), x, np.stack([0.5 - x / (2 * A), 0.5 + x / (2 * A)], axis=1), A * A)


@cache
def _bound(eps: float) -> Certificate:
    """The bound for any alphabet, from the multipliers of a program with many outputs; 0 where they prove nothing."""
    reach = 1.6 * float(alpha(eps)) + 0.5
    y = np.linspace(-reach, reach, _FINE)
    found = _solved(y, eps)
    if found is None:
        raise checks.ConvergenceError("the program of the bound has no solution")
    q, k = _INPUTS, y.size
    equal, below = found.eqlin.marginals, found.ineqlin.marginals
    curvature = -below[2 * q * k :]
    try:
        return certified(curvature, equal[q:], equal[:q], inputs=np.linspace(-1.0, 1.0, q), epsilon=eps)
    except checks.ConvergenceError:
        return trivial(eps)


@cache
def _placed(k: int, eps: float) -> Quantizer:
    """The best places of k outputs, symmetric: from evenly spaced ones, downhill in the logarithms of their distances."""
    from scipy.optimize import minimize

    A = float(alpha(eps))

    def places(u: np.ndarray) -> FloatArray:
        half = np.cumsum(np.exp(u))
        half = half - half[0] / 2  # the first two are as far from 0
        return np.concatenate([-half[::-1], half])

    def worst(u: np.ndarray) -> float:
        made = _program(places(u), eps)
        return made.worst_variance if made is not None else 1e6 + float(np.sum(u * u))

    steps = k // 2
    starts = []
    for reach, inner in product((1.0 + 1e-6, 1.1, 1.2, 1.35), (1 / (k - 1), 0.15, 0.4, 0.65)):
        gap = 2 * A * reach * inner  # between the two innermost outputs; the others share the rest
        step = (A * reach - gap / 2) / max(steps - 1, 1)
        starts.append(np.log([gap, *[step] * (steps - 1)]))
    starts.sort(key=worst)
    best = starts[0]
    if k in _MOVES:
        options = {"maxfev": _MOVES[k], "xatol": 1e-4, "fatol": 1e-7}
        ends = [minimize(worst, u, method="Nelder-Mead", options=options).x for u in starts[:_STARTS]]
        best = min(ends, key=worst)
    for inner in (0.0, 1e-8, 1e-7, 1e-6, 1e-5):  # the solver's feasibility is a tolerance, ours is not
        made = _program(places(best), eps * (1 - inner))
        if made is not None and _ratio(made) <= eps:
            return made
    raise checks.ConvergenceError("no quantizer was found that keeps to epsilon")


def _ratio(found: Quantizer) -> float:
    """The exact epsilon: columns are linear between the inputs, so their extremes are there."""
    return local_epsilon(found.law)


def _program(y: FloatArray, eps: float) -> Quantizer | None:
    """The best law on given outputs."""
    found = _solved(y, eps)
    if found is None:
        return None
    x = np.linspace(-1.0, 1.0, _INPUTS)
    law = found.x[: x.size * y.size].reshape(x.size, y.size)
    used = law.max(axis=0) > 1e-12  # an output that is never sent
    law, y = law[:, used] / law[:, used].sum(axis=1, keepdims=True), y[used]
    second = law @ (y * y)
    # between inputs E y^2 is linear and x^2 is not: the variance is a parabola with its top inside or at an end
    left, right, slope = x[:-1], x[1:], np.diff(second) / np.diff(x)
    top = np.clip(slope / 2, left, right)
    worst = float(np.max(second[:-1] + slope * (top - left) - top * top))
    return Quantizer(y, x, law, worst)


def _solved(y: FloatArray, eps: float) -> Any:
    """The linear program; None where it has no solution."""
    from scipy import sparse
    from scipy.optimize import linprog

    x, k = np.linspace(-1.0, 1.0, _INPUTS), y.size
    q, cells = x.size, x.size * k
    # unknowns: law (q x k), the least probability of every output (k), worst variance
    rows = sparse.kron(sparse.eye(q), np.ones((1, k)))
    mean = sparse.kron(sparse.eye(q), y[None, :])
    square = sparse.kron(sparse.eye(q), (y * y)[None, :])
    least = sparse.kron(np.ones((q, 1)), sparse.eye(k))
    zero = sparse.csr_matrix
    equal = sparse.hstack([sparse.vstack([rows, mean]), zero((2 * q, k + 1))])
    below = sparse.vstack(
        [
            sparse.hstack([sparse.eye(cells), -np.exp(eps) * least, zero((cells, 1))]),
            sparse.hstack([-sparse.eye(cells), least, zero((cells, 1))]),
            sparse.hstack([square, zero((q, k)), -np.ones((q, 1))]),
        ]
    )
    found = linprog(
        np.append(np.zeros(cells + k), 1.0),
        A_ub=below.tocsr(),
        b_ub=np.concatenate([np.zeros(2 * cells), x * x]),
        A_eq=equal.tocsr(),
        b_eq=np.concatenate([np.ones(q), x]),
        bounds=(0, None),
        method="highs",
    )
    return found if found.status == 0 else None
