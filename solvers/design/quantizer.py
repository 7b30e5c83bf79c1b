"""The best unbiased, locally private quantizer with k outputs, by linear programming: what Proposition 1 of CB leaves out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics import checks
from analytics.checks import FloatArray
from analytics.federated.quantizers import alpha

_INPUTS = 33


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


def design(outputs: int, *, epsilon: float, reach: float | None = None) -> Quantizer:
    """Least worst variance with evenly spaced outputs on [-reach, reach].

    Parameters
    ----------
    outputs : int
        k >= 2.
    epsilon : float
        In (0, 20].
    reach : float or None
        Greatest output; None searches for the best.

    Returns
    -------
    Quantizer

    Raises
    ------
    ParameterError
        When no quantizer with this reach is unbiased and private (reach < alpha).

    Examples
    --------
    >>> round(design(2, epsilon=1.0).worst_variance, 3), design(8, epsilon=1.0).worst_variance < 4.1
    (4.683, True)
    """
    k = checks.count("outputs", outputs, "[2, 200]")
    eps = checks.scalar("epsilon", epsilon, "(0, 20]")
    A = float(alpha(eps))
    if reach is not None:
        found = _program(k, eps, checks.scalar("reach", reach, "(0, inf)"))
        if found is None:
            raise checks.ParameterError("reach", reach, f"at least alpha = {A!r}")
        return found
    candidates = [_program(k, eps, A * stretch) for stretch in (1 + 1e-9, *np.linspace(1.02, 3.0, 34))]
    return min((q for q in candidates if q is not None), key=lambda q: q.worst_variance)


def _program(k: int, eps: float, reach: float) -> Quantizer | None:
    from scipy import sparse
    from scipy.optimize import linprog

    y, x = np.linspace(-reach, reach, k), np.linspace(-1.0, 1.0, _INPUTS)
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
    if found.status != 0:
        return None
    law = found.x[:cells].reshape(q, k)
    second = law @ (y * y)
    # between inputs E y^2 is linear and x^2 is not: the variance is a parabola with its top inside or at an end
    left, right, slope = x[:-1], x[1:], np.diff(second) / np.diff(x)
    top = np.clip(slope / 2, left, right)
    worst = float(np.max(second[:-1] + slope * (top - left) - top * top))
    return Quantizer(y, x, law, worst)
