r"""Enclosures of :math:`v_k(S)`, the others' noise over several looks (theorem V1 of docs/channel.md).

The linear system is solved in balls, real or complex, so that no error bound of its solver is needed: independent of the two
proved ends of :func:`airtight.analytics.privacy.over_the_air.multi_antenna.effective_noise.others_noise`.
"""

from __future__ import annotations

from collections.abc import Sequence

import flint
import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.forms.balls.ball import Ball, Number, ball, refine


def others_noise(
    coefficients: ArrayLike,
    *,
    noise_variance: Sequence[Number],
    receiver_noise_variance: Number,
    present: Sequence[bool],
    device: int,
    digits: int = 15,
) -> Ball:
    r"""Enclosure of :math:`1/(a_k^*V^{-1}a_k)`, V the covariance of the looks without device k.

    Parameters
    ----------
    coefficients : array_like, shape (K, L)
        Real or complex doubles.
    noise_variance : sequence of number, length K
    receiver_noise_variance : number
        Positive.
    present : sequence of bool, length K
    device : int
        k; whether it is present does not matter.

    Examples
    --------
    >>> from airtight.analytics.forms.balls.ball import ends
    >>> low, high = ends(others_noise([[1.0, 2.0], [1.0, 0.5]], noise_variance=["0.1", "0.4"], receiver_noise_variance="0.2",
    ...     present=[True, True], device=0))
    >>> round(low, 12), high - low < 1e-14
    (0.073684210526, True)
    """
    a = np.asarray(coefficients, dtype=complex)
    K, L = a.shape
    others = [j for j in range(K) if present[j] and j != device]

    def compute() -> Ball:
        columns = [[flint.acb(x.real, x.imag) for x in row] for row in a.tolist()]
        sigma2, N = [ball(s) for s in noise_variance], ball(receiver_noise_variance)
        V = flint.acb_mat(
            [
                [
                    sum((columns[j][m] * columns[j][n].conjugate() * sigma2[j] for j in others), flint.acb(0))
                    + (N if m == n else 0)
                    for n in range(L)
                ]
                for m in range(L)
            ]
        )
        own = flint.acb_mat([[x] for x in columns[device]])
        try:
            u = V.solve(own)
        except ZeroDivisionError:  # too wide at this precision
            return flint.arb("nan")
        q = sum((own[m, 0].conjugate() * u[m, 0] for m in range(L)), flint.acb(0)).real
        return 1 / q

    return refine(compute, digits=digits)
