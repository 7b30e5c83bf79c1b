r"""The weight problem (38) by machine: its gradient beside the printed (40), and the update (45) derived from stationarity."""

from __future__ import annotations

import sympy as sp

from airtight.analytics.forms.inference_errors import Scalar, printed_mse

nu = sp.Symbol("nu", real=True)


def multipliers(at: Scalar) -> tuple[tuple[sp.Symbol, ...], tuple[sp.Symbol, ...]]:
    """lambda_k of w_k <= w_max and mu_k of w_k >= 0."""
    K = len(at.p)
    return tuple(sp.symbols(f"lambda_1:{K + 1}")), tuple(sp.symbols(f"mu_1:{K + 1}"))


def gram(at: Scalar, k: int, j: int) -> sp.Expr:
    """f_k' W_k' D' D W_j f_j."""
    return at.f[k] * at.W[k] * at.D**2 * at.W[j] * at.f[j]


def lagrangian(at: Scalar) -> sp.Expr:
    """(39).

    Examples
    --------
    >>> at = Scalar.of(2)
    >>> sp.diff(lagrangian(at), nu)
    -w_1 - w_2 + 1
    """
    upper, lower = multipliers(at)
    greatest = sp.symbols(f"w^max_1:{len(at.p) + 1}")
    box = sum(-a * (m - w) - b * w for a, b, w, m in zip(upper, lower, at.w, greatest, strict=True))
    return printed_mse(at) + box - nu * (sum(at.w) - 1)


def derived_gradient(at: Scalar, k: int) -> sp.Expr:
    """dL/dw_k."""
    return sp.expand(sp.diff(lagrangian(at), at.w[k]))


def printed_gradient(at: Scalar, k: int, *, all_others: bool) -> sp.Expr:
    """(40): with its sum over j > k as printed, or over all j != k as in (44)."""
    upper, lower = multipliers(at)
    others = [j for j in at.devices if (j != k if all_others else j > k)]
    cross = sum((at.p[k] * at.p[j] * at.w[j] - at.p[k]) * gram(at, k, j) for j in others)
    return (2 * at.w[k] * at.p[k] - 2 * at.p[k]) * at.square(k) + cross + upper[k] - lower[k] - nu


def gradient_residual(at: Scalar, k: int, *, all_others: bool) -> sp.Expr:
    """Derived minus printed (40).

    Examples
    --------
    >>> at = Scalar.of(3)
    >>> [gradient_residual(at, k, all_others=True) for k in range(3)]
    [0, 0, 0]
    >>> gradient_residual(at, 2, all_others=False) == 0
    False
    """
    return sp.expand(derived_gradient(at, k) - printed_gradient(at, k, all_others=all_others))


def stationary_weight(at: Scalar, k: int) -> sp.Expr:
    """w_k that solves dL/dw_k = 0 between its bounds."""
    upper, lower = multipliers(at)
    return sp.solve(derived_gradient(at, k).subs({upper[k]: 0, lower[k]: 0}), at.w[k])[0]


def printed_update(at: Scalar, k: int) -> sp.Expr:
    """(43)-(45) between the bounds: (T_1 + T_2 + nu) / (2 p_k G_k)."""
    T1 = -sum(at.p[k] * (at.p[j] * at.w[j] - 1) * gram(at, k, j) for j in at.devices if j != k)
    T2 = 2 * at.p[k] * at.square(k)
    return (T1 + T2 + nu) / (2 * at.p[k] * at.square(k))


def update_residual(at: Scalar, k: int) -> sp.Expr:
    """Derived minus printed (45): 0, the update is right where no bound binds.

    Examples
    --------
    >>> [update_residual(Scalar.of(3), k) for k in range(3)]
    [0, 0, 0]
    """
    return sp.simplify(stationary_weight(at, k) - printed_update(at, k))


def hessian(at: Scalar) -> sp.Matrix:
    """Of the printed objective.

    Examples
    --------
    >>> hessian(Scalar.of(1))
    Matrix([[2*D**2*W_1**2*f_1**2*p_1]])
    """
    return sp.hessian(printed_mse(at), at.w)
