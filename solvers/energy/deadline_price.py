r"""The price of time in the energy-utility problem: derivatives of the best utility and of its energy by the deadline.

With :math:`U(x, t)` and :math:`E(x, t)` in compute time x and transmission time t, where the delay constraint
:math:`x + t \le T` binds:

- at an inner point of it :math:`U_x = U_t`, whose common value is the multiplier dU/dT, and the point moves with

  .. math:: x'(T) = \frac{U_{tt} - U_{xt}}{U_{xx} - 2U_{xt} + U_{tt}},\qquad t'(T) = 1 - x'(T);

- at the greatest power t stays and x'(T) = 1; with the fewest iterations x stays and t'(T) = 1.

Then :math:`dE/dT = E_xx'(T) + E_tt'(T)`. Where it does not bind both derivatives are 0. At the deadlines where the binding
constraints change, dE/dT has two values, one for each side, and at the least feasible deadline the utility has none below.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.solvers.energy import exact
from airtight.solvers.energy.energy_problem import Problem
from airtight.solvers.price import ShadowPrice

_BESIDE = 1e-7  # relative change of the deadline to either side, at which the binding constraints are looked up
_BINDS = 1e-9  # relative slack below which a constraint binds
_POLISH, _NEAR = (
    3,
    1e-3,
)  # Newton steps towards the stationary point of the edge, and their greatest size, relative to T
_SMOOTH = 1e-2  # the derivatives at a deadline and beside it differ by less where the binding constraints stay the same


@dataclass(frozen=True)
class DeadlinePrices:
    """Derivatives by the deadline from the right and from the left, shape (K,) each; nan where the plan is not optimal.

    Attributes
    ----------
    energy : tuple of ndarray
        dE/dT, W.
    utility : tuple of ndarray
        dU/dT, 1/s.
    """

    energy: tuple[FloatArray, FloatArray]
    utility: tuple[FloatArray, FloatArray]

    def of(self, device: int) -> tuple[ShadowPrice, ShadowPrice]:
        """The prices of one device, of the energy and of the utility."""
        return (
            ShadowPrice("energy", "deadline", "W", *(float(side[device]) for side in self.energy)),
            ShadowPrice("utility", "deadline", "1/s", *(float(side[device]) for side in self.utility)),
        )


def of_deadline(fleet: DeviceFleet, x: FloatArray, Z: FloatArray, *, whole: bool) -> DeadlinePrices:
    """The prices at the best compute times and rates; with `whole` the numbers of iterations stay as they are."""
    problem = Problem.of(fleet)
    if whole:
        energy, utility = _of_fixed_iterations(problem, x, Z)
        return DeadlinePrices((energy, energy), (utility, utility))
    sides = []
    derivatives = _derivatives(problem, x, Z)
    for sign in (1, -1):
        moved = replace(problem, T=problem.T * (1 + sign * _BESIDE))
        feasible = moved.x_min + moved.t_min <= moved.T
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            beside_x, beside_Z = exact.exact_cases(replace(moved, T=np.where(feasible, moved.T, problem.T)))[:2]
            beside = _derivatives(moved, beside_x, beside_Z)
        out = []
        for k, (at_deadline, moved_away) in enumerate(zip(derivatives, beside, strict=True)):
            smooth = np.abs(at_deadline - moved_away) <= _SMOOTH * np.maximum(np.abs(at_deadline), np.abs(moved_away))
            lost = (np.nan, np.inf)[k]  # there is no plan on the left: no energy, and a utility of -inf
            out.append(np.where(feasible, np.where(smooth, at_deadline, moved_away), lost))
        sides.append(out)
    return DeadlinePrices((sides[0][0], sides[1][0]), (sides[0][1], sides[1][1]))


@dataclass(frozen=True)
class _Slopes:
    """First and second derivatives of the energy and of the utility at a point, by x and t."""

    E_x: FloatArray
    E_t: FloatArray
    U_x: FloatArray
    U_t: FloatArray
    U_xx: FloatArray
    U_xt: FloatArray
    U_tt: FloatArray

    @classmethod
    def at(cls, p: Problem, x: FloatArray, Z: FloatArray) -> _Slopes:
        excess = 2 * (p.energy(x, Z) - p.half)
        E_x, E_t = p.P_cp, -p.saving(Z)
        with np.errstate(over="ignore"):
            E_tt = Z**3 * np.exp(Z) * p.inverse_gain / p.a
            learning = p.beta_1 / p.beta_2 * p.P_cp * np.exp(-p.P_cp * x / p.beta_2)
        return cls(
            E_x=E_x,
            E_t=E_t,
            U_x=learning - excess * E_x,
            U_t=-excess * E_t,
            U_xx=-learning * p.P_cp / p.beta_2 - 2 * E_x**2,
            U_xt=-2 * E_x * E_t,
            U_tt=-2 * E_t**2 - excess * E_tt,
        )

    @property
    def edge(self) -> FloatArray:
        """The second derivative of the utility by x where t = T - x."""
        return np.asarray(self.U_xx - 2 * self.U_xt + self.U_tt)


def _derivatives(p: Problem, x: FloatArray, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """dE/dT and dU/dT by the constraints that bind at a point."""
    binds = p.T - x - p.a / Z <= _BINDS * p.T
    fastest = p.Z_max * (1 - _BINDS) <= Z
    fewest = (x <= p.x_min * (1 + _BINDS)) & ~fastest
    inner = binds & ~fastest & ~fewest
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_POLISH):  # the plan is as near to the optimum as its utility is, which is flat there
            slopes = _Slopes.at(p, x, Z)
            better = x - (slopes.U_x - slopes.U_t) / slopes.edge
            near = inner & (slopes.edge < 0) & (np.abs(better - x) <= _NEAR * p.T)
            x = np.where(near, better, x)
            Z = np.where(near, np.minimum(p.a / (p.T - x), p.Z_max), Z)
        slopes = _Slopes.at(p, x, Z)
        x_T = (slopes.U_tt - slopes.U_xt) / slopes.edge
    x_T = np.where(fastest, 1.0, np.where(fewest, 0.0, x_T))
    energy = np.where(binds, slopes.E_x * x_T + slopes.E_t * (1 - x_T), 0.0)
    return energy, np.where(binds, np.where(fastest, slopes.U_x, slopes.U_t), 0.0)


def _of_fixed_iterations(problem: Problem, x: FloatArray, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    saving = problem.saving(Z)
    binds = (problem.T - x - problem.a / Z <= _BINDS * problem.T) & (problem.Z_max * (1 - _BINDS) > Z)
    excess = 2 * (problem.energy(x, Z) - problem.half)
    return np.where(binds, -saving, 0.0), np.where(binds, excess * saving, 0.0)
