r"""The MSE and the weight problem of FDP for features of any dimension: matrices with symbols for their sizes.

All that the MSE knows of features, codecs and decoder are inner products: of what is decoded,
:math:`a_{kj} = f_k^TW_k^TD^TDW_jf_j`, of that with the features, :math:`c_{kj} = f_j^TDW_kf_k`, of the features,
:math:`b_{kj} = f_k^Tf_j`, and :math:`\|D\|_F^2`; as printed also products of norms. The algebra is done in these;
:meth:`Vectors.products` says what each is for matrices of d and r rows and columns. In
:mod:`airtight.analytics.forms.inference_errors` d = r = 1, where products of norms and of numbers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import sympy as sp

from airtight.analytics.forms.domain import NONNEGATIVE, PROBABILITY, Parameter, Range
from airtight.analytics.forms.quantity import per_device

d, r = sp.symbols("d r", integer=True, positive=True)
nu = sp.Symbol("nu", real=True)


@dataclass(frozen=True)
class Vectors:
    """K devices without clipping.

    Attributes
    ----------
    p, w, s : tuple of Symbol
        Participation, weight and noise variance of each.
    decoded, mixed, target : sympy.Matrix, shape (K, K)
        Symbols for the inner products a, c and b of the module's notes; the first and the last are symmetric.
    norms : tuple of Symbol
        Products of the squared norms of D, W_k and f_k, as printed.
    frobenius, floor : Symbol
        The squared norm of D; receiver noise over gamma squared.
    """

    p: tuple[sp.Symbol, ...]
    w: tuple[sp.Symbol, ...]
    s: tuple[sp.Symbol, ...]
    decoded: sp.Matrix
    mixed: sp.Matrix
    target: sp.Matrix
    norms: tuple[sp.Symbol, ...]
    frobenius: sp.Symbol
    floor: sp.Symbol

    @classmethod
    def of(cls, K: int) -> Vectors:
        def table(letter: str, *, symmetric: bool) -> sp.Matrix:
            def entry(k: int, j: int) -> sp.Symbol:
                first, second = sorted((k, j)) if symmetric else (k, j)
                return sp.Symbol(f"{letter}_{first + 1}{second + 1}", real=True)

            return sp.Matrix(K, K, entry)

        return cls(
            p=per_device("p", K, PROBABILITY),
            w=per_device("w", K, Range(1e-6, 1e3, logarithmic=True, extra=(0.0,))),
            s=per_device("s", K, NONNEGATIVE),
            decoded=table("a", symmetric=True),
            mixed=table("c", symmetric=False),
            target=table("b", symmetric=True),
            norms=per_device("G", K, NONNEGATIVE),
            frobenius=sp.Symbol("N", nonnegative=True),
            floor=Parameter("s_m", NONNEGATIVE),
        )

    @property
    def devices(self) -> range:
        return range(len(self.p))

    @property
    def noise(self) -> sp.Expr:
        return self.frobenius * (sum(p * s for p, s in zip(self.p, self.s, strict=True)) + self.floor)

    def products(self) -> dict[sp.Symbol, sp.Expr]:
        """What the symbols are: sums over the entries of D (d, r), W_k (r, d) and f_k (d, 1), for any d and r.

        Examples
        --------
        >>> at = Vectors.of(1)
        >>> at.products()[at.target[0, 0]]
        Sum(f_1[_i_1, 0]**2, (_i_1, 0, d - 1))
        """
        D = sp.MatrixSymbol("D", d, r)
        W = [sp.MatrixSymbol(f"W_{k + 1}", r, d) for k in self.devices]
        f = [sp.MatrixSymbol(f"f_{k + 1}", d, 1) for k in self.devices]
        found = {self.frobenius: sp.Trace(D * D.T)}
        for k, j in product(self.devices, repeat=2):
            found[self.decoded[k, j]] = (f[k].T * W[k].T * D.T * D * W[j] * f[j])[0, 0]
            found[self.mixed[k, j]] = (f[j].T * D * W[k] * f[k])[0, 0]
            found[self.target[k, j]] = (f[k].T * f[j])[0, 0]
        for k in self.devices:
            found[self.norms[k]] = sp.Trace(D * D.T) * sp.Trace(W[k] * W[k].T) * (f[k].T * f[k])[0, 0]
        return found


def expected_square(at: Vectors) -> sp.Expr:
    r"""The MSE by definition: :math:`E\|\sum_k\tau_kw_kDW_kf_k - f^*\|^2` over all outcomes of tau, plus the noise.

    Examples
    --------
    >>> sp.expand(expected_square(Vectors.of(3)) - exact_mse(Vectors.of(3)))
    0
    """
    K, total = sp.Integer(len(at.p)), sp.Integer(0)
    for there in product((0, 1), repeat=len(at.p)):
        chance = sp.prod([p if here else 1 - p for here, p in zip(there, at.p, strict=True)])
        sent = [here * w for here, w in zip(there, at.w, strict=True)]
        total += chance * sum(
            sent[k] * sent[j] * at.decoded[k, j] - 2 * sent[k] * at.mixed[k, j] / K + at.target[k, j] / K**2
            for k, j in product(at.devices, repeat=2)
        )
    return total + at.noise


def exact_mse(at: Vectors) -> sp.Expr:
    """FDP-MSE*: bias, random participation, noise.

    Examples
    --------
    >>> sp.expand(exact_mse(Vectors.of(1)))
    N*p_1*s_1 + N*s_m + a_11*p_1*w_1**2 + b_11 - 2*c_11*p_1*w_1
    """
    K = sp.Integer(len(at.p))
    q = [p * w for p, w in zip(at.p, at.w, strict=True)]
    bias = sum(
        q[k] * q[j] * at.decoded[k, j] - 2 * q[k] * at.mixed[k, j] / K + at.target[k, j] / K**2
        for k, j in product(at.devices, repeat=2)
    )
    return bias + sum(p * (1 - p) * w**2 * at.decoded[k, k] for k, (p, w) in _numbered(at)) + at.noise


def printed_mse(at: Vectors) -> sp.Expr:
    """The bound of Sec. IV.

    Examples
    --------
    >>> sp.expand(printed_mse(Vectors.of(1)) - d * Vectors.of(1).noise)
    G_1*p_1*w_1**2 - 2*G_1*p_1*w_1 + G_1
    """
    total = d * at.noise + sum((w**2 * p - 2 * w * p + 1) * at.norms[k] for k, (p, w) in _numbered(at))
    for k in at.devices:
        for j in at.devices[k + 1 :]:
            both = at.p[k] * at.p[j] * at.w[k] * at.w[j] - at.p[k] * at.w[k] - at.p[j] * at.w[j] + 1
            total += both * at.decoded[k, j]
    return total


def printed_update(at: Vectors, k: int) -> sp.Expr:
    """(43)-(45) between the bounds: (T_1 + T_2 + nu) / (2 p_k G_k)."""
    T1 = -sum(at.p[k] * (at.p[j] * at.w[j] - 1) * at.decoded[k, j] for j in at.devices if j != k)
    return (T1 + 2 * at.p[k] * at.norms[k] + nu) / (2 * at.p[k] * at.norms[k])


def update_residual(at: Vectors, k: int) -> sp.Expr:
    """What solves the stationarity of (38) by machine, less (45): 0 for every d and r.

    Examples
    --------
    >>> [update_residual(Vectors.of(3), k) for k in range(3)]
    [0, 0, 0]
    """
    slope = sp.diff(printed_mse(at) - nu * (sum(at.w) - 1), at.w[k])
    return sp.simplify(sp.solve(slope, at.w[k])[0] - printed_update(at, k))


def best_weights(at: Vectors) -> list[sp.Expr]:
    r"""FDP-P38* without caps: the weights of least exact MSE.

    They solve :math:`\sum_j[p_kp_ja_{kj} + [k{=}j]\,p_k(1-p_k)a_{kk}]\,w_j = \frac{p_k}K\sum_jc_{kj}`.

    Examples
    --------
    >>> best_weights(Vectors.of(1))
    [c_11/a_11]
    """
    slopes = [sp.diff(exact_mse(at), w) for w in at.w]
    matrix, right = sp.linear_eq_to_matrix(slopes, list(at.w))
    return [sp.cancel(entry) for entry in matrix.LUsolve(right)]


def _numbered(at: Vectors) -> list[tuple[int, tuple[sp.Symbol, sp.Symbol]]]:
    return list(enumerate(zip(at.p, at.w, strict=True)))
