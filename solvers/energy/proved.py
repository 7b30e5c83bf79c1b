"""How far a choice is from the optimum of the energy-utility problem, proved in ball arithmetic (python-flint).

The doubles of the fleet are taken as the exact numbers that they are. The choice is moved by what rounding lacks until every
constraint is proved to hold; its utility, and the least upper bound of all utilities that concavity gives there
(:meth:`airtight.analytics.forms.balls.energy_plan.Device.optimum`), are enclosed. Where the energy is below varrho/2 that
bound is not tight.
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

_BITS = 128


def gaps(fleet: DeviceFleet, found: EnergySolution) -> FloatArray:
    """What no feasible choice has more than the one found, of every device; infinite where nothing is proved.

    Returns
    -------
    ndarray, shape (K,)
        Rounded up. The one found is meant to within the rounding of its power and its iterations.

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
    rates = fleet.log_rate(found.power)
    with flint.ctx.workprec(_BITS):
        return np.array([_gap(problem, k, float(rates[k]), float(found.compute_time[k])) for k in range(rates.size)])


def _gap(problem: Problem, k: int, Z: float, x: float) -> float:
    device = _device(problem, k)
    if not (math.isfinite(x) and Z > 0):
        return math.inf
    rate = device.Z_max.lower().min(_ball(Z)).lower()
    left = (device.T - device.a / rate) * (1 - _ball(2.0**-100))
    time = left.lower().min(_ball(x)).max(device.x_min.upper()).lower()
    if not device.feasible(time, rate):
        return math.inf
    best = device.optimum(time, rate)
    above = (best.upper() - device.utility(time, rate).lower()).upper()
    return _rounded_up(above) if above.is_finite() else math.inf


def _device(problem: Problem, k: int) -> Any:
    from airtight.analytics.forms.balls.energy_plan import Device

    one = {
        name: _ball(float(getattr(problem, name)[k]))
        for name in ("a", "P_cp", "P_cir", "T", "x_min", "half", "beta_1", "beta_2")
    }
    # rho and P_max only through 1/(rho g) and the greatest rate
    gain = 1 / _ball(float(problem.inverse_gain[k]))
    greatest = (_ball(float(problem.Z_max[k])).exp() - 1) / gain
    return Device(**one, gain=gain, rho=_ball(1.0), P_max=greatest)


def _ball(x: float) -> Any:
    from airtight.analytics.forms.balls.ball import ball

    return ball(Fraction(x))


def _rounded_up(x: Any) -> float:
    return math.nextafter(float(x), math.inf)
