r"""The paper's own algorithm for the weight problem: Eq. (45), (46) with bisection on nu (FDP App. C).

.. math:: w_k^{(t)} = \min\Bigl\{w_{k,\max}, \Bigl[\frac{T_{1}^{(t-1)} + T_2 + \nu}{2p_kG_k}\Bigr]^+\Bigr\},\quad
          T_1 = -\sum_{j\ne k}p_k(p_jw_j - 1)\,b_k^Tb_j,\quad T_2 = 2p_kG_k .

The paper calls the method Gauss-Seidel, but every term on the right comes from step t - 1, so it is Jacobi's method,
which can cycle without end. As printed in (36) and (46) the update also lacks the positive part (ledger FDP-L5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.errors import InfeasibleError

_BISECTIONS = 200  # most halvings of the bracket of nu; it ends sooner when no double lies inside


@dataclass(frozen=True)
class Trace:
    """The result and the course of the iteration.

    Attributes
    ----------
    w : ndarray, shape (K,)
        Last weights; may be negative where the positive part was left out.
    nu : float
    iterations : int
        All iterations; of the sequential method the sweeps of all values of nu together.
    converged : bool
        Whether the last step was below the tolerance.
    steps : ndarray
        Greatest change of a weight in each iteration.
    """

    w: FloatArray
    nu: float
    iterations: int
    converged: bool
    steps: FloatArray


def update(
    system: InferenceSystem,
    features: Features,
    upper: FloatArray,
    *,
    positive_part: bool = True,
    sequential: bool = False,
    start: FloatArray | None = None,
    tolerance: float = 1e-13,
    iterations: int = 20_000,
) -> Trace:
    """Iterate (46) from `start`.

    Parameters
    ----------
    upper : ndarray, shape (K,)
        The greatest weights w_max.
    positive_part : bool
        True takes the positive part as in (45); False omits it as printed in (36) and (46).
    sequential : bool
        True runs the method that the paper describes in words: Gauss-Seidel sweeps inside, bisection on nu outside. It
        converges. A sweep costs O(K d); each of some fifty values of nu needs its own sweeps until they converge.
    start : ndarray, optional
        First weights; 1/K each by default.
    tolerance : float
        The iteration has converged when no weight changes by more than this.
    iterations : int
        The greatest number of iterations; with `sequential`, of sweeps for each value of nu.

    Raises
    ------
    ParameterError
        Where p_k or the feature is 0, because (46) divides by it.
    InfeasibleError
        Where the greatest weights add up to less than 1.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> trace = update(*_example(), np.full(3, np.inf))
    >>> trace.w.round(4), trace.converged
    (array([0.    , 0.6562, 0.3438]), True)
    """
    p = system.participation
    matched_features = matched(system, features)
    b = matched_features.encoded @ matched_features.D.T
    square = np.sum(b * b, axis=1)
    G = matched_features.printed_square
    if np.any(p * G == 0):
        k = int(np.flatnonzero(p * G == 0)[0])
        raise ParameterError("p_k * norm(f_k)", 0.0, "positive: Eq. (46) divides by it", (k,))
    if not np.sum(upper) >= 1:
        raise InfeasibleError(f"upper: the greatest weights sum to {np.sum(upper):.6g} < 1")
    floor = 0.0 if positive_part else -np.inf
    rule = _Rule(p, b, square, G, upper, floor)
    w = np.full(p.size, 1 / p.size) if start is None else np.asarray(start, dtype=float)
    if sequential:
        return _sequential(rule, w, tolerance, iterations)
    steps = []
    for t in range(iterations):
        new_w, nu = _balanced(partial(rule.all_at_once, w), rule)
        steps.append(float(np.max(np.abs(new_w - w))))
        w = new_w
        if steps[-1] <= tolerance:
            return Trace(w, nu, t + 1, True, np.array(steps))
        if not np.all(np.isfinite(w)) or steps[-1] > 1e12:
            break
    return Trace(w, nu, len(steps), False, np.array(steps))


@dataclass(frozen=True)
class _Rule:
    """The right-hand side of (46)."""

    p: FloatArray
    b: FloatArray
    square: FloatArray
    G: FloatArray
    upper: FloatArray
    floor: float

    def all_at_once(self, w: FloatArray, nu: float) -> FloatArray:
        """The update of every device from the weights of the previous step (Jacobi)."""
        u = self.p * w - 1
        T1 = -self.p * (self.b @ (u @ self.b) - u * self.square)
        return np.clip((T1 + nu) / (2 * self.p * self.G) + 1, self.floor, self.upper)

    def one_by_one(self, w: FloatArray, nu: float) -> FloatArray:
        """The update of each device from the newest weights of all other devices (Gauss-Seidel)."""
        w = w.copy()
        pooled = (self.p * w - 1) @ self.b
        for k in range(w.size):
            own_term = (self.p[k] * w[k] - 1) * self.b[k]
            T1 = -self.p[k] * float(self.b[k] @ (pooled - own_term))
            new_weight = (T1 + nu) / (2 * self.p[k] * self.G[k]) + 1
            w[k] = min(max(new_weight, self.floor), self.upper[k])
            pooled = pooled - own_term + (self.p[k] * w[k] - 1) * self.b[k]
        return w


def _balanced(weights: Callable[[float], FloatArray], rule: _Rule) -> tuple[FloatArray, float]:
    """The weights whose sum is 1, and their nu. The sum is a nondecreasing function of nu, which is found by bisection."""
    scale = float(np.max(2 * rule.p * rule.G))
    low, high = -scale, scale
    while np.sum(weights(low)) > 1 and low > -1e300:
        low *= 4
    while np.sum(weights(high)) < 1 and high < 1e300:
        high *= 4
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if np.sum(weights(middle)) < 1 else (low, middle)
    return weights(high), high


def _sequential(rule: _Rule, w: FloatArray, tolerance: float, iterations: int) -> Trace:
    steps: list[float] = []
    state = [w]

    def converged_weights(nu: float) -> FloatArray:
        w = state[0]
        for _ in range(iterations):
            new_w = rule.one_by_one(w, nu)
            steps.append(float(np.max(np.abs(new_w - w))))
            w = new_w
            if steps[-1] <= tolerance:
                break
        state[0] = w
        return w

    w, nu = _balanced(converged_weights, rule)
    return Trace(w, nu, len(steps), steps[-1] <= tolerance, np.array(steps))
