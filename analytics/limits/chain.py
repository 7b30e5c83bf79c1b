r"""Bias against variance along a chain of data sets, each of which is hard to tell from the next.

For one pair (P, P') let :math:`X_q = \int(dP-dP')^2/d(qP+(1-q)P')` and :math:`Y_q = 1/X_q - q(1-q) \ge 0`.
:func:`least_error` is the least E for which real :math:`h_0, \dots, h_s` exist with

.. math:: Y_q(h_{i+1}-h_i)^2 + q(h_{i+1}-i-1)^2 + (1-q)(h_i-i)^2 \le E \quad\text{for all } i < s,\ q \in Q .

It bounds the greatest mean squared error at the nodes 0, ..., s of any estimate of the node, in steps, when the law of
the output at each node and the next are such pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.limits.power import PowerFunction
from airtight.analytics.rounding import UNIT

_SHARES = np.linspace(0.02, 0.98, 33)  # Q, symmetric about 1/2
_FARTHEST = 1e6  # greatest Y that is used, lest rounding decide
_HALVINGS, _CLOSE = 60, 1e-9  # of the interval of E: at most, and the ratio of its ends at which they stop, less 1
_ROUNDED = 1e-13  # rounding error of a root, relative to the step and the errors so far


def distances(power: PowerFunction) -> FloatArray:
    """Lower bounds of :math:`Y_q` for pairs with this power function in both orders, at each q of Q."""
    inverse = 1 / np.maximum(power.divergence(_SHARES), 1 / _FARTHEST)
    return np.maximum(inverse * (1 - 4 * UNIT) - _SHARES * (1 - _SHARES) * (1 + 4 * UNIT), 0.0)


def least_error(distance: FloatArray, steps: IntArray) -> FloatArray:
    r"""The greatest E that is proved to be impossible, for each row of :math:`Y_q` and each number of steps.

    Parameters
    ----------
    distance : ndarray, shape (N, Q)
        Lower bounds of :math:`Y_q = Y_{1-q}`.
    steps : ndarray, shape (N,)

    Notes
    -----
    *The bound.* Let :math:`h_i` and :math:`V_i` be mean and variance of the estimate at node i. By Cauchy and Schwarz
    :math:`(h_{i+1}-h_i)^2 \le X_q\mathrm{Var}(qP_{i+1}+(1-q)P_i)`, and this variance is
    :math:`qV_{i+1}+(1-q)V_i+q(1-q)(h_{i+1}-h_i)^2`. So the mixture of the errors :math:`V_i + (h_i-i)^2` with the
    weights q and 1 - q is at least the left side above. (A lower bound of :math:`Y_q`, and a finite Q, only lower it.)

    *Which E are impossible.* With :math:`B_i = i - h_i` the conditions are
    :math:`f_q(B_i, B_{i+1}) = Y_q(1+B_i-B_{i+1})^2+qB_{i+1}^2+(1-q)B_i^2 \le E`. They are convex, and symmetric under
    :math:`i \to s-i, B \to -B`; so if any B is feasible one is that is odd about the middle. Let l(B) be the least B'
    with :math:`f_q(B,B') \le E` for all q, infinite where there is none. *l does not fall on* :math:`B \ge 0`: let
    :math:`0 \le B_1 < B_2` and B' feasible for :math:`B_2`, and :math:`\eta = B_2-B_1`. If :math:`B' \ge \eta/2`, then
    :math:`B'-\eta` is feasible for :math:`B_1`: the difference stays, and no square grows. Otherwise B' itself
    is: :math:`|1+B_1-B'| < 1+B_2-B'`, as :math:`2B' < \eta < 2+B_1+B_2`.
    If :math:`E < \max Y_q`, l(0) > 0, as :math:`f_q(0,B') \ge Y_q` for
    :math:`B' \le 0`. So from the middle outwards each :math:`B` is at least what l makes of a lower bound of the one
    before; the first is 0 (s even) or the least b with :math:`f_q(-b,b) = Y_q(1-2b)^2+b^2 \le E` (s odd). E is
    impossible where at some place there is none. Each step is rounded down, which l being monotone allows.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.privacy_curve import gaussian
    >>> pair = distances(PowerFunction.gaussian(2.0))  # two points at a distance of two: 4 times the error in steps
    >>> float(4 * least_error(pair[None], np.array([1]))[0])
    0.449...
    """
    # a constant estimate reaches the first; of an E from the second on nothing is shown
    possible, impossible = np.minimum(np.square(steps / 2.0), np.max(distance, axis=1)), np.zeros(steps.size)
    for _ in range(_HALVINGS):
        # in logarithms where something is known to be impossible
        middle = np.where(impossible > 0, np.sqrt(impossible * possible), possible / 16)
        shown = ~_feasible(distance, steps, middle)
        impossible, possible = np.where(shown, middle, impossible), np.where(shown, possible, middle)
        if np.all(possible <= impossible * (1 + _CLOSE)):
            break
    return impossible * (1 - 1e-12)


def _feasible(distance: FloatArray, steps: IntArray, error: FloatArray) -> NDArray[np.bool_]:
    """Whether no step from the middle outwards is impossible at this error."""
    bias, feasible = np.zeros(steps.size), np.ones(steps.size, dtype=bool)
    odd = steps % 2 == 1
    for step in range((int(np.max(steps)) + 1) // 2):
        active = feasible & (2 * step < steps)
        Y, b, E = distance[active], bias[active, None], error[active, None]
        # least and greatest root of a x^2 - 2 m x + c <= 0
        first = (odd[active] & (step == 0))[:, None]
        a = np.where(first, 4 * Y + 1, Y + _SHARES)
        m = np.where(first, 2 * Y, Y * (1 + b))
        c = np.where(first, Y, Y * (1 + b) ** 2 + (1 - _SHARES) * b**2) - E
        rounded = _ROUNDED * (m * m + a * (np.abs(c) + 2 * E))
        spread = np.sqrt(np.maximum(m * m - a * c + rounded, 0.0))
        least, greatest = np.max((m - spread) / a, axis=1), np.min((m + spread) / a, axis=1)
        slack = _ROUNDED * (1 + np.abs(greatest))
        feasible[active] = np.all(m * m - a * c + rounded >= 0, axis=1) & (least <= greatest + slack)
        bias[active] = np.maximum(least - slack, 0.0)
    return feasible
