r"""Number of iterations of a local problem: UF Theorem 1 as printed, and the true bounds for gradient descent.

For mu-strongly convex, L-smooth functions and step size eta, j iterations reduce the excess :math:`F(x_j)-F^*` to a
fraction :math:`\Phi_j` of its initial value, (21), with

.. math:: (1-\eta L)^{2j} \le \Phi_j \le \rho^{2j},\qquad \rho = \max(|1-\eta\mu|, |1-\eta L|),

the lower bound for :math:`\eta < 1/L`, the upper bound for :math:`\eta < 2/L`. Quadratic functions attain both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, ParameterError, broadcast, real
from airtight.analytics.records import Record


def published_iterations(
    accuracy: ArrayLike, *, step: ArrayLike, strong_convexity: ArrayLike, smoothness: ArrayLike
) -> FloatArray:
    r"""UF Theorem 1, Eq. (22), as printed: :math:`\log\Phi/\log(\eta^2L^2/2-\eta L+1)`, for :math:`\eta > L/2`.

    The theorem is false: the number is neither an upper nor a lower bound.

    Parameters
    ----------
    accuracy : array_like
        Phi in (0, 1].
    step, strong_convexity, smoothness : array_like
        eta > 0; 0 < mu <= L.

    Returns
    -------
    ndarray
        nan where the condition of the theorem fails; negative where the printed rate exceeds 1, infinite where it
        equals 1.

    Examples
    --------
    >>> round(float(published_iterations(0.01, step=1.0, strong_convexity=0.1, smoothness=1.0)), 4)
    6.6439
    """
    phi, eta, _, L = _checked(accuracy, step, strong_convexity, smoothness)
    rate = published_rate(step=eta, smoothness=L)
    with np.errstate(divide="ignore", invalid="ignore"):
        count = np.log(phi) / np.log(rate)
    count = np.where(rate == 1, np.where(phi == 1, 0.0, np.inf), count)
    return np.where(eta > L / 2, count, np.nan)[()]


def published_rate(*, step: ArrayLike, smoothness: ArrayLike) -> FloatArray:
    r"""The factor of one iteration in (53): :math:`\eta^2L^2/2-\eta L+1 = \tfrac12+\tfrac12(1-\eta L)^2 \ge \tfrac12`.

    Examples
    --------
    >>> float(published_rate(step=1.0, smoothness=1.0))
    0.5
    """
    eta, L = broadcast(step=real("step", step, "(0, inf)"), smoothness=real("smoothness", smoothness, "(0, inf)"))
    return np.asarray(0.5 + 0.5 * (1 - eta * L) ** 2)[()]


def published_accuracy(
    iterations: ArrayLike, *, step: ArrayLike, strong_convexity: ArrayLike, smoothness: ArrayLike
) -> FloatArray:
    r"""UF Theorem 2, Eq. (41): :math:`\Phi \le (1-\mu\eta+\mu\eta^2L/2)^{j+1}`.

    For j >= 1 and :math:`\eta < 2/L` the bound is true but loose.

    Notes
    -----
    With :math:`s = \eta L`, :math:`k = \mu/L`, the factor q exceeds rho: :math:`q-(1-sk) = ks^2/2` and
    :math:`q-(s-1) = (s-2)(ks-2)/2`, both >= 0. So :math:`\rho^{2j} \le q^{2j} \le q^{j+1}`. For j = 0 the bound is
    false.

    Examples
    --------
    >>> float(published_accuracy(90, step=1.0, strong_convexity=0.1, smoothness=1.0))
    0.0093...
    """
    j = real("iterations", iterations, "[0, inf)")
    _, eta, mu, L = _checked(1.0, step, strong_convexity, smoothness)
    factor = mu * eta * (1 - eta * L / 2)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.exp((j + 1) * np.log1p(-factor)))[()]


def contraction(*, step: ArrayLike, strong_convexity: ArrayLike, smoothness: ArrayLike) -> FloatArray:
    r""":math:`\rho = \max(|1-\eta\mu|, |1-\eta L|)`, the tight factor of the gradient's norm in one iteration.

    Examples
    --------
    >>> float(contraction(step=1.0, strong_convexity=0.1, smoothness=1.0))
    0.9
    """
    _, eta, mu, L = _checked(1.0, step, strong_convexity, smoothness)
    return np.asarray(np.maximum(np.abs(1 - eta * mu), np.abs(1 - eta * L)))[()]


def worst_accuracy(
    iterations: ArrayLike, *, step: ArrayLike, strong_convexity: ArrayLike, smoothness: ArrayLike
) -> FloatArray:
    r"""The greatest :math:`\Phi_j` over all functions of the class, which is exactly :math:`\rho^{2j}`.

    Examples
    --------
    >>> float(worst_accuracy(3, step=1.0, strong_convexity=0.1, smoothness=1.0))
    0.531441...
    """
    j = real("iterations", iterations, "[0, inf)")
    _, eta, mu, L = _checked(1.0, step, strong_convexity, smoothness)
    log_rho = _log_contraction(eta, mu, L)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.where(j == 0, 1.0, np.exp(2 * j * log_rho)))[()]


def sufficient_iterations(
    accuracy: ArrayLike, *, step: ArrayLike, strong_convexity: ArrayLike, smoothness: ArrayLike
) -> FloatArray:
    r"""Number of iterations that suffices for every function: :math:`\log\Phi/(2\log\rho)`. The bound is tight.

    Returns
    -------
    ndarray
        A real number, to be rounded up. Infinite where gradient descent need not converge, :math:`\eta \ge 2/L`.

    Notes
    -----
    Let x(s) be the gradient flow from x and :math:`T(x) = x-\eta F'(x)`. :math:`F'(T(x)) = (I-\eta M)F'(x)` with M a
    mean Hessian, and :math:`\tfrac d{ds}T(x(s)) = -(I-\eta H)F'(x(s))`. So
    :math:`F(Tx)-F^* = \int\langle(I-\eta M)F', (I-\eta H)F'\rangle ds \le \rho^2\int\|F'\|^2ds = \rho^2(F(x)-F^*)`.

    Examples
    --------
    >>> float(np.ceil(sufficient_iterations(0.01, step=1.0, strong_convexity=0.1, smoothness=1.0)))
    22.0
    """
    phi, eta, mu, L = _checked(accuracy, step, strong_convexity, smoothness)
    return _iterations(phi, 2 * _log_contraction(eta, mu, L))


def descent_iterations(
    accuracy: ArrayLike, *, step: ArrayLike, strong_convexity: ArrayLike, smoothness: ArrayLike
) -> FloatArray:
    r"""Iterations by the descent lemma and the PL inequality: :math:`\log\Phi/\log(1-2\mu\eta(1-\eta L/2))`.

    The bound is true but weaker. The proof of Theorem 1 shows this bound if :math:`\|F'\|^2 \ge 2\mu(F-F^*)` replaces
    (51).

    Examples
    --------
    >>> float(np.ceil(descent_iterations(0.01, step=1.0, strong_convexity=0.1, smoothness=1.0)))
    44.0
    """
    phi, eta, mu, L = _checked(accuracy, step, strong_convexity, smoothness)
    with np.errstate(divide="ignore"):
        return _iterations(phi, np.log1p(-np.minimum(2 * mu * eta * (1 - eta * L / 2), 1.0)))


def necessary_iterations(
    accuracy: ArrayLike, *, step: ArrayLike, strong_convexity: ArrayLike, smoothness: ArrayLike
) -> FloatArray:
    r"""Number of iterations that every function needs: :math:`\log\Phi/(2\log(1-\eta L))` for :math:`\eta < 1/L`.

    For :math:`1/L \le \eta \le 1/\mu` the value is 1, because one iteration solves a function of curvature 1/eta. For
    :math:`\eta > 1/\mu` it is also 1, a lower bound that could be improved.

    Notes
    -----
    For L = 1, s = eta: :math:`F_+ \ge F-s\|g\|^2+\tfrac12\|g_+-g\|^2` and :math:`F_+ \ge \tfrac12\|g_+\|^2`, with
    weights 1 - s and s. The minimum over :math:`g_+`, with :math:`\|g\|^2 \le 2F`, is :math:`F_+ \ge (1-s)^2F`.

    Examples
    --------
    >>> float(np.ceil(necessary_iterations(0.01, step=0.5, strong_convexity=0.1, smoothness=1.0)))
    4.0
    """
    phi, eta, _, L = _checked(accuracy, step, strong_convexity, smoothness)
    with np.errstate(divide="ignore"):
        return _iterations(phi, 2 * np.log1p(-np.minimum(eta * L, 1.0)))


@dataclass(frozen=True, eq=False)
class Iterations(Record):
    """Numbers of iterations to a relative accuracy.

    Attributes
    ----------
    published : ndarray
        Theorem 1, Eq. (22), as printed; it is neither an upper nor a lower bound (:func:`published_iterations`).
    sufficient : ndarray
        Enough for every function of the class (:func:`sufficient_iterations`).
    necessary : ndarray
        No function of the class needs fewer (:func:`necessary_iterations`).
    """

    published: FloatArray
    sufficient: FloatArray
    necessary: FloatArray

    def tidy(self) -> dict[str, FloatArray]:
        """The numbers of a table."""
        return {
            "published_iterations": self.published,
            "sufficient_iterations": self.sufficient,
            "necessary_iterations": self.necessary,
        }


def iterations(
    accuracy: ArrayLike, *, step: ArrayLike, strong_convexity: ArrayLike, smoothness: ArrayLike
) -> Iterations:
    """Numbers of iterations of gradient descent to a relative accuracy (UF Theorem 1): printed, sufficient, necessary.

    Parameters
    ----------
    accuracy, step, strong_convexity, smoothness : array_like
        As for :func:`published_iterations`.

    Examples
    --------
    >>> of = iterations(0.01, step=1.0, strong_convexity=0.1, smoothness=1.0)
    >>> round(float(of.published), 2), round(float(of.sufficient), 2), float(of.necessary)
    (6.64, 21.85, 1.0)
    """
    on = {"step": step, "strong_convexity": strong_convexity, "smoothness": smoothness}
    return Iterations(
        published_iterations(accuracy, **on),
        sufficient_iterations(accuracy, **on),
        necessary_iterations(accuracy, **on),
    )


def largest_step(smoothness: ArrayLike) -> FloatArray:
    """2/L: for smaller steps gradient descent converges for every function.

    The condition eta > L/2 of the paper compares quantities of different dimensions.

    Examples
    --------
    >>> float(largest_step(4.0))
    0.5
    """
    return np.asarray(2 / real("smoothness", smoothness, "(0, inf)"))[()]


def _log_contraction(eta: FloatArray, mu: FloatArray, L: FloatArray) -> FloatArray:
    """log rho, without cancellation where rho is near 1."""

    def log_distance(x: FloatArray) -> FloatArray:
        return np.where(x < 1, np.log1p(-np.minimum(x, 1.0)), np.log(np.maximum(x - 1, 0.0)))

    with np.errstate(divide="ignore"):
        return np.maximum(log_distance(eta * mu), log_distance(eta * L))


def _iterations(phi: FloatArray, log_rate: FloatArray) -> FloatArray:
    """log phi / log rate; one iteration where the rate is 0, infinitely many where it is at least 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        count = np.log(phi) / log_rate
    count = np.where(log_rate == -np.inf, 1.0, np.where(log_rate < 0, count, np.inf))
    return np.where(phi == 1, 0.0, count)[()]


def _checked(
    accuracy: ArrayLike, step: ArrayLike, strong_convexity: ArrayLike, smoothness: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    phi, eta, mu, L = broadcast(
        accuracy=real("accuracy", accuracy, "(0, 1]"),
        step=real("step", step, "(0, inf)"),
        strong_convexity=real("strong_convexity", strong_convexity, "(0, inf)"),
        smoothness=real("smoothness", smoothness, "(0, inf)"),
    )
    if np.any(mu > L):
        worst = float(mu[mu > L].ravel()[0])
        raise ParameterError("strong_convexity", worst, "at most smoothness")
    return phi, eta, mu, L
