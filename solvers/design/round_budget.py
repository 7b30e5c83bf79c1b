r"""How to spread a budget over rounds: the noise of each round for the least final error.

Round t adds :math:`a_tV_t` to the final error, where :math:`V_t` is the noise variance that hides every device in it. It costs
device k :math:`\mu_{kt}^2 = s_{kt}^2/V_t`, where :math:`s_{kt}` is the greatest distance of two of its messages. With
:math:`y_t = 1/V_t`

.. math:: \min_y \sum_t\frac{a_t}{y_t}\quad\text{s.t.}\quad\sum_ts_{kt}^2y_t\le B_k\ \forall k,\quad 0\le y_t\le 1/V_{\min,t}

is convex. In gradient descent that contracts by c in every round :math:`a_t\propto c^{T-t}`: early noise is forgotten, and the
noise falls from round to round.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from airtight.analytics import checks, plots, tidy
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.records import Record
from airtight.analytics.rounding import UNIT
from airtight.solvers.errors import NotSettledError

if TYPE_CHECKING:
    import cvxpy
    from matplotlib.axes import Axes

_PASSES = 200
_ROUNDING = 4 * UNIT  # of a round's cost and of the sum, also as a meter rounds them up


@dataclass(frozen=True)
class RoundBudget(Record):
    """The noise of every round.

    Attributes
    ----------
    noise : ndarray, shape (T,)
        :math:`V_t`; it keeps every budget.
    error : float
        :math:`\\sum_ta_tV_t`.
    lower_bound : float
        No noise that keeps the budgets has a smaller error.
    constant_error : float
        The least error of noise that is the same in all rounds.
    prices : ndarray, shape (K,)
        By how much the error falls for a unit more of each device's :math:`B_k`.
    """

    noise: FloatArray
    error: float
    lower_bound: float
    constant_error: float
    prices: FloatArray

    def table(self, system: str = "system") -> dict[str, NDArray[Any]]:
        """The tidy table by columns: a row for each round, whose number stands before it."""
        return tidy.over({"round": np.arange(1.0, self.noise.size + 1)}, tidy.columns([(system, {"noise": self.noise})]))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the noise of every round."""
        axes, rounds = plots.axes_of(ax), np.arange(1, self.noise.size + 1)
        axes.step(rounds, self.noise, where="mid", color=plots.BLUE)
        plots.scaled(axes, "y", self.noise)
        less = 1 - self.error / self.constant_error
        return plots.finish(axes, title=f"The error is {less:.1%} below that of constant noise", x="round", y="noise variance")

    @property
    def gap(self) -> float:
        """Error less its lower bound."""
        return self.error - self.lower_bound


def spread_budget(
    influence: ArrayLike, *, budget: ArrayLike, cost: ArrayLike = 1.0, least_noise: ArrayLike = 0.0
) -> RoundBudget:
    r"""The noise of every round with which the final error is least and every budget is kept.

    Parameters
    ----------
    influence : array_like, shape (T,)
        :math:`a_t > 0`: how much of the noise of round t is left in the end.
    budget : array_like, shape (K,) or scalar
        :math:`B_k > 0`, the greatest sum of mu^2: ``airtight.Meter(...).guarantee(k).amount``.
    cost : array_like, shape (K, T), (T,) or scalar
        :math:`s_{kt}^2`, such as :math:`(w_kC_k)^2` for ``silent`` and four times this for ``replace``; 0 where the device
        does not send.
    least_noise : array_like, shape (T,) or scalar
        Noise that is there without being added, such as the receiver's.

    Returns
    -------
    RoundBudget
        The noise of every round, with the certificate of its error.

    Raises
    ------
    ParameterError
    NotSettledError
        When the solver for several budgets gives no answer.

    Notes
    -----
    *One budget.* By Cauchy and Schwarz :math:`\sum a_tV_t\cdot\sum s_t^2/V_t\ge(\sum\sqrt{a_t}s_t)^2`, with equality for
    :math:`V_t\propto s_t/\sqrt{a_t}`. With least noise it is
    :math:`V_t = \max(V_{\min,t}, \sqrt\lambda s_t/\sqrt{a_t})`, with one multiplier :math:`\lambda`.

    *Lower bound.* For any prices :math:`\lambda\ge0` and :math:`q_t = \sum_k\lambda_ks_{kt}^2`, weak duality gives
    :math:`\sum_t\min_{y_t}(a_t/y_t + q_ty_t) - \lambda^TB`. The minimum is :math:`2\sqrt{a_tq_t}` at
    :math:`y_t = \sqrt{a_t/q_t}` if that is allowed, and else :math:`a_tV_{\min,t} + q_t/V_{\min,t}`. So no solver is trusted. The
    noise is scaled up until the budgets are kept in sums that are rounded up.

    Examples
    --------
    >>> import numpy as np
    >>> influence = 0.9 ** np.arange(19, -1, -1)
    >>> budgets = spread_budget(influence, budget=0.08)
    >>> round(budgets.error, 1), round(budgets.constant_error, 1), bool(budgets.gap < 1e-9 * budgets.error)
    (2013.6, 2196.1, True)
    """
    a, s2, B, floor = _checked(influence, budget, cost, least_noise)
    unit = float(np.max(a))
    a = a / unit
    needing = np.flatnonzero(np.any(s2 > 0, axis=1))
    prices = np.zeros(len(s2))
    if needing.size == 1:
        prices[needing] = _one_price(a, s2[needing[0]], float(B[needing[0]]), floor)
    elif needing.size:
        prices[needing] = _several_prices(a, s2[needing], B[needing], floor)
    with np.errstate(divide="ignore"):
        V = np.maximum(np.sqrt(prices @ s2 / a), floor)
        V = _kept(np.where(V > 0, V, np.max(V)), s2, B, floor)
    constant = np.sqrt(max((_one_price(s2[k], s2[k], float(B[k]), floor) for k in needing), default=0.0))
    even = _kept(np.maximum(np.where(floor > 0, floor, constant), constant), s2, B, floor)
    V = min(V, even, key=lambda noise: float(a @ noise))
    return RoundBudget(
        V, unit * float(a @ V), unit * _dual(prices, a, s2, B, floor), unit * float(a @ even), unit * prices
    )


def _checked(
    influence: ArrayLike, budget: ArrayLike, cost: ArrayLike, least_noise: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """a, s^2 of shape (K, T), B of shape (K,), and the least noise of shape (T,)."""
    a = checks.real("influence", influence, "(0, inf)")
    if a.ndim != 1 or not a.size:
        raise ParameterError("influence", f"array of shape {a.shape}", "one value for every round")
    B = np.atleast_1d(checks.real("budget", budget, "(0, inf)"))
    given, least = checks.real("cost", cost, "[0, inf)"), checks.real("least_noise", least_noise, "[0, inf)")
    try:
        s2 = np.broadcast_to(given, (B.size if given.ndim < 2 else len(given), a.size)).astype(float)
        B = np.broadcast_to(B, len(s2)).astype(float)
        floor = np.broadcast_to(least, a.shape).astype(float)
    except ValueError:
        shapes = f"cost {given.shape}, budget {B.shape}, least_noise {least.shape}"
        raise ParameterError(
            "cost", shapes, f"shapes that fit {a.size} rounds and one budget for every device"
        ) from None
    if not np.all(np.any(s2 > 0, axis=0) | (floor > 0)):
        t = int(np.flatnonzero(~np.any(s2 > 0, axis=0) & (floor == 0))[0])
        raise ParameterError("cost", 0.0, f"above 0 for some device in round {t}: no noise is needed there")
    return a, s2, B, floor


def budget_problem(
    influence: ArrayLike, *, budget: ArrayLike, cost: ArrayLike = 1.0, least_noise: ArrayLike = 0.0
) -> tuple[cvxpy.Problem, dict[str, cvxpy.Variable]]:
    """The problem of :func:`spread_budget` in cvxpy, to be changed and extended; arguments as there.

    Parameters
    ----------
    influence, budget, cost, least_noise : array_like
        As of :func:`spread_budget`.

    Returns
    -------
    problem : cvxpy.Problem
        Its value is the least error. It follows cvxpy's rules for parameters (DPP): ``influence`` and ``budget``.
    variables : dict
        ``{"y": cvxpy.Variable}``, shape (T,): the reciprocals of the noise variances.

    Examples
    --------
    >>> problem, variables = budget_problem([0.5, 1.0], budget=2.0)
    >>> bool(abs(problem.solve() - spread_budget([0.5, 1.0], budget=2.0).error) < 1e-5), problem.is_dcp(dpp=True)
    (True, True)
    """
    cp: Any = import_module("cvxpy")
    a, s2, B, floor = _checked(influence, budget, cost, least_noise)
    y = cp.Variable(a.size, nonneg=True, name="y")
    weight = cp.Parameter(a.size, nonneg=True, name="influence", value=a)
    limits = [s2 @ y <= cp.Parameter(B.size, nonneg=True, name="budget", value=B)]
    limits += [y[floor > 0] <= 1 / floor[floor > 0]] if np.any(floor > 0) else []
    return cp.Problem(cp.Minimize(weight @ cp.inv_pos(y)), limits), {"y": y}


def _kept(V: FloatArray, s2: FloatArray, B: FloatArray, floor: FloatArray) -> FloatArray:
    """The noise, scaled up until every device keeps its budget."""
    for _ in range(_PASSES if np.all(np.isfinite(V)) else 0):
        excess = float(np.max(np.sum(s2 / V, axis=1) * (1 + _ROUNDING * (V.size + 16)) / B))
        if excess <= 1 and np.all(np.isfinite(V)):
            return V
        V = np.maximum(V * excess * (1 + 4 * UNIT), floor)
    raise ParameterError("budget", float(np.min(B)), "a budget that some noise keeps in double precision")


def _one_price(a: FloatArray, s2: FloatArray, budget: float, floor: FloatArray) -> float:
    r"""The price :math:`\lambda` with which the budget is spent; 0 if the least noise keeps it.

    :math:`\sum s_t^2/\max(V_{\min,t}, \sqrt{\lambda s_t^2/a_t})` falls with lambda and is known in closed form between two
    breaks, where one more round takes its least noise.
    """
    spends = s2 > 0
    a, s2, floor = a[spends], s2[spends], floor[spends]
    breaks = floor * floor * a / s2  # up to this price a round keeps its least noise
    order = np.argsort(-breaks)
    root, fixed = (
        np.sqrt(a * s2)[order],
        np.append(0.0, np.cumsum(np.divide(s2, floor, where=floor > 0, out=np.full(s2.shape, np.inf))[order])),
    )
    free = np.append(np.cumsum(root[::-1])[::-1], 0.0)
    if fixed[-1] <= budget:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        price = (free / (budget - fixed)) ** 2
    ends = np.append(np.append(np.inf, breaks[order]), 0.0)
    valid = (fixed < budget) & (price <= ends[:-1] * (1 + 1e-12)) & (price >= ends[1:] * (1 - 1e-12))
    return float(price[np.flatnonzero(valid)[0]])


def _several_prices(a: FloatArray, s2: FloatArray, B: FloatArray, floor: FloatArray) -> FloatArray:
    """The multipliers of the budgets: by a cone program, then one after the other until each budget is spent or free.

    The cone program is accurate relative to its largest multiplier; a device that alone sends in some round may have a small one.
    """
    cp: Any = import_module("cvxpy")
    scale = np.max(np.sum(s2, axis=1) / B)  # a constant noise that keeps all budgets
    rows = s2 / B[:, None] / scale
    y = cp.Variable(a.size, nonneg=True)
    kept = rows @ y <= 1
    limits = [kept, *([y[floor > 0] <= scale / floor[floor > 0]] if np.any(floor > 0) else [])]
    problem = cp.Problem(cp.Minimize(a @ cp.inv_pos(y)), limits)
    with catch_warnings():  # of inaccuracy, which the lower bound shows
        simplefilter("ignore")
        try:
            problem.solve(solver=cp.CLARABEL)
        except cp.error.SolverError:
            problem.solve(solver=cp.SCS)
    if kept.dual_value is None:
        raise NotSettledError(f"the solver of the cone program stopped: {problem.status}")
    prices = np.asarray(np.maximum(kept.dual_value, 0.0) * scale / B)
    for _ in range(_PASSES):
        before = prices.copy()
        for k in range(len(B)):
            prices[k] = 0.0
            prices[k] = _price_beside(a, s2[k], float(B[k]), floor, prices @ s2)
        if np.all(np.abs(prices - before) <= 1e-9 * prices):
            break
    return prices


def _price_beside(a: FloatArray, s2: FloatArray, budget: float, floor: FloatArray, others: FloatArray) -> float:
    """The price with which a device spends its budget beside the prices of the others; 0 if it does not spend it."""
    spends = s2 > 0
    a, s2, floor, others = a[spends], s2[spends], floor[spends], others[spends]

    def excess(root: float) -> float:
        with np.errstate(divide="ignore"):
            return float(np.sum(s2 / np.maximum(np.sqrt((others + root * root * s2) / a), floor))) - budget

    if excess(0.0) <= 0:
        return 0.0
    greatest = float(np.sum(np.sqrt(a * s2))) / budget
    if not np.isfinite(excess(0.0)):
        least = greatest
        while np.isinf(excess(least)) or excess(least) <= 0:
            least /= 4
    else:
        least = 0.0
    return float(brentq(excess, least, greatest * (1 + 1e-9), xtol=1e-300, rtol=1e-14)) ** 2


def _dual(prices: FloatArray, a: FloatArray, s2: FloatArray, B: FloatArray, floor: FloatArray) -> float:
    """The lower bound of the error at these prices, rounded down."""
    q = prices @ s2
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(np.sqrt(q / a) >= floor, 2 * np.sqrt(a * q), a * floor + q / floor)
    paid = float(prices @ B)
    return max(
        float(np.sum(inner)) - paid - 8 * UNIT * (a.size + B.size) * (float(np.sum(inner)) + paid),
        float(a @ floor) * (1 - 4 * UNIT * a.size),
    )
