"""Numbers for the symbols of a given law: unbiased, with the least worst variance; what takes the bias of a remainder away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, ParameterError, real
from airtight.analytics.federated.few_bits import quantizer_laws


@dataclass(frozen=True)
class Decoder:
    """Numbers for the symbols of a law.

    Attributes
    ----------
    outputs : ndarray, shape (k,)
        The number for each symbol.
    worst_variance : float
        Over all inputs, the law being linear between the given ones.
    lower_bound : float
        No other unbiased numbers for this law have a smaller one at the given inputs.
    bias : float
    """

    outputs: FloatArray
    worst_variance: float
    lower_bound: float
    bias: float


def unbiased(inputs: ArrayLike, law: ArrayLike) -> Decoder:
    r"""Minimise the worst of :math:`\sum_z P(z \mid x_i)\,y_z^2 - x_i^2` over y with :math:`\sum_z P(z \mid x_i)\,y_z = x_i`.

    Parameters
    ----------
    inputs : array_like, shape (q,)
        Increasing, in [-1, 1].
    law : array_like, shape (q, k)
        Every symbol possible; k >= q.

    Raises
    ------
    ParameterError
        When no numbers are unbiased.

    Notes
    -----
    For weights mu of the inputs the sum of the weighted variances is least at a weighted least-squares solution, a lower bound;
    the best weights are sought (a concave problem). Any solution is unbiased: its own variance is what is returned.

    Examples
    --------
    >>> law = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> unbiased([-1.0, 1.0], law).outputs.round(6)
    array([-2.,  2.])
    """
    from scipy.optimize import minimize

    x, table = real("inputs", inputs, "[-1, 1]"), real("law", law, "(0, 1]")
    if table.ndim != 2 or x.shape != table.shape[:1]:
        raise ParameterError("law", f"shape {table.shape}", f"({x.size}, symbols)")

    def numbers(weight: FloatArray) -> FloatArray:
        scale = np.sqrt(weight @ table)
        return np.asarray(np.linalg.lstsq(table / scale, x, rcond=1e-15)[0] / scale)

    def variance(y: FloatArray) -> FloatArray:
        return np.asarray(table @ (y * y) - x * x)

    def loss(weight: FloatArray) -> tuple[float, FloatArray]:
        found = variance(numbers(weight)) / size
        return -float(weight @ found), -found

    start = np.full(x.size, 1 / x.size)
    size = float(start @ variance(numbers(start)))
    found = minimize(
        loss,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(1e-12, 1.0)] * x.size,
        constraints={"type": "eq", "fun": lambda mu: mu.sum() - 1, "jac": lambda mu: np.ones(x.size)},
        options={"maxiter": 300, "ftol": 1e-12},
    )
    weight = np.maximum(found.x, 1e-12) / np.maximum(found.x, 1e-12).sum()
    y = numbers(weight)
    bound, worst = float(weight @ variance(y)), quantizer_laws.worst_variance(x, y, table)
    bias = float(np.max(np.abs(table @ y - x)))
    if bias > 1e-9 * float(np.max(np.abs(y))):
        raise ParameterError("law", f"shape {table.shape}", "one with unbiased numbers")
    return Decoder(y, worst, min(bound, worst), bias)
