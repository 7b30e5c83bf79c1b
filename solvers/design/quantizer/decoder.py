"""Unbiased outputs of least worst variance for the symbols of a given law, for example of a modular remainder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, ParameterError, real
from airtight.analytics.federated.few_bits import quantizer_laws


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
