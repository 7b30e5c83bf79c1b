"""The distance of a choice from the optimum of the energy-utility problem, proved in ball arithmetic (python-flint).

The doubles of the fleet are exact numbers. The choice is corrected by its rounding error until every constraint is
proved to hold. Its utility is then enclosed, and so is an upper bound of all utilities that follows from concavity
(:meth:`airtight.analytics.forms.balls.energy_plan.Device.optimum`). This bound is not tight where the energy is below
varrho/2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.solvers.energy.energy_problem import Problem
from airtight.solvers.energy.utility import EnergySolution

_BITS = 128  # precision of the ball arithmetic; doubles have 53


def gaps(fleet: DeviceFleet, solution: EnergySolution) -> FloatArray:
    """Upper bounds, per device, of how much greater the utility of a feasible choice can be.

    A bound is infinite where nothing is proved.

    Returns
    -------
    ndarray, shape (K,)
        Rounded up. Each bound holds for the choice found after a correction by the rounding error of its power and its
        iterations.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> from airtight.solvers import energy
    >>> fleet = table_1(distance=[50.0, 200.0])
    >>> bool(np.all(gaps(fleet, energy.solve(fleet)) < 1e-12))
    True
    """
    import flint

    problem = Problem.of(fleet)
    rates = fleet.log_rate(solution.power)
    with flint.ctx.workprec(_BITS):
        return np.array([_gap(problem, k, float(rates[k]), float(solution.compute_time[k])) for k in range(rates.size)])


def _gap(problem: Problem, k: int, Z: float, x: float) -> float:
    device = _device(problem, k)
    if not (math.isfinite(x) and Z > 0):
        return math.inf
    rate = device.Z_max.lower().min(_ball(Z)).lower()
    time_left = (device.T - device.a / rate) * (1 - _ball(2.0**-100))
    time = time_left.lower().min(_ball(x)).max(device.x_min.upper()).lower()
    if not device.feasible(time, rate):
        return math.inf
    utility_bound = device.optimum(time, rate)
    gap = (utility_bound.upper() - device.utility(time, rate).lower()).upper()
    return _rounded_up(gap) if gap.is_finite() else math.inf


def _device(problem: Problem, k: int) -> Any:
    from airtight.analytics.forms.balls.energy_plan import Device

    data = {
        name: _ball(float(getattr(problem, name)[k]))
        for name in ("a", "P_cp", "P_cir", "T", "x_min", "half", "beta_1", "beta_2")
    }
    # rho and P_max enter only through 1/(rho g) and the greatest rate, so rho may be set to 1
    gain = 1 / _ball(float(problem.inverse_gain[k]))
    greatest_power = (_ball(float(problem.Z_max[k])).exp() - 1) / gain
    return Device(**data, gain=gain, rho=_ball(1.0), P_max=greatest_power)


def _ball(x: float) -> Any:
    from airtight.analytics.forms.balls.ball import ball

    return ball(Fraction(x))


def _rounded_up(x: Any) -> float:
    return math.nextafter(float(x), math.inf)
