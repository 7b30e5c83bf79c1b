"""The relaxed energy-utility problem as an exponential cone program in cvxpy, built once and solved by Clarabel."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import ConvergenceError, FloatArray, IntArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.solvers import cone_program
from airtight.solvers.energy.energy_problem import Case, Problem
from airtight.solvers.energy.exact import exact_cases

if TYPE_CHECKING:
    import cvxpy


def stated(
    time: float = 1.0, energy: float = 1.0
) -> tuple[cvxpy.Problem, dict[str, cvxpy.Parameter], dict[str, cvxpy.Expression]]:
    r"""The problem of one device, its parameters and its variables; solved in units of `time` (s) and `energy` (J).

    In :math:`u \ge te^{(a-Z_st)/t}` the perspective of the exponential is divided by :math:`e^{Z_s}`, where Z_s is the
    greatest rate, so that u has the magnitude of t.

    Examples
    --------
    >>> problem, _, _ = stated()
    >>> problem.is_dcp(), problem.is_dpp()
    (True, True)
    """
    import cvxpy as cp

    x, t, u, w, y = (cp.Variable(name=name) for name in "xtuwy")
    names = ["a", "Z_s", "P_cp", "circuit", "amplifier", "T", "x_min", "t_min", "half", "log_beta_1", "per_beta_2"]
    p = {name: cp.Parameter(name=name) for name in names}
    power = time / energy
    constraints = [
        cp.constraints.ExpCone(p["a"] / time - p["Z_s"] * t, t, u),
        w >= power * (p["P_cp"] * x + p["amplifier"] * u + p["circuit"] * t) - p["half"] / energy,
        w >= 0,
        y == time * p["per_beta_2"] * x,
        x >= p["x_min"] / time,
        t >= p["t_min"] / time,
        x + t <= p["T"] / time,
    ]
    objective = cp.exp(p["log_beta_1"] - 2 * np.log(energy) - y) + cp.square(w)
    return cone_program.problem(objective, constraints, energy**2), p, {"x": time * x, "t": time * t}


program = cache(stated)


def units(device: Problem) -> tuple[float, float]:
    """Units of time and energy in which the numbers of one device are near one: the deadline, and the energy target.

    Where the learning term is larger than the target's square, the unit of energy is its root.
    """
    return float(device.T[0]), float(max(device.half[0], np.sqrt(device.beta_1[0])))


def parameters(device: Problem, time: float = 1.0, energy: float = 1.0) -> dict[str, float]:
    """The values of the parameters for one device, in units of `time` and `energy`."""
    greatest_rate, power = float(device.Z_max[0]), energy / time
    values = {
        "a": device.a[0] / time,
        "Z_s": greatest_rate,
        "P_cp": device.P_cp[0] / power,
        "circuit": (device.P_cir[0] - device.inverse_gain[0]) / power,
        "amplifier": device.inverse_gain[0] * np.exp(greatest_rate) / power,
        "T": device.T[0] / time,
        "x_min": device.x_min[0] / time,
        "t_min": device.t_min[0] / time,
        "half": device.half[0] / energy,
        "log_beta_1": np.log(device.beta_1[0]) - 2 * np.log(energy),
        "per_beta_2": device.P_cp[0] / device.beta_2[0] * time,
    }
    return {name: float(value) for name, value in values.items()}


def energy_problem(
    fleet: DeviceFleet, *, device: int = 0
) -> tuple[cvxpy.Problem, dict[str, cvxpy.Expression]]:
    r"""The relaxed energy-utility problem of one device as a cvxpy problem, to be changed and extended.

    Parameters
    ----------
    fleet : DeviceFleet
    device : int

    Returns
    -------
    problem : cvxpy.Problem
        It follows cvxpy's rules for parameters (DPP); ``problem.param_dict`` holds the deadline ``T`` (s), the least compute time
        ``x_min``, half of the utility energy ``half`` (J) and more. A new value needs no new compilation.
    variables : dict
        ``x``, the compute time, and ``t``, the transmission time, in seconds: expressions of the variables, whose unit is the
        deadline.

    Notes
    -----
    The minimum m is :math:`\beta_1 + (\varrho/2)^2 - U` for the greatest utility U, wherever at the optimum the energy is at
    least :math:`\varrho/2`; elsewhere it only bounds U from above (:mod:`airtight.solvers.energy.energy_problem`).

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> from airtight.solvers.energy.utility import solve as best
    >>> fleet = table_1(distance=[50.0])
    >>> problem, variables = energy_problem(fleet)
    >>> least = problem.solve()
    >>> bool(abs(fleet.beta_1[0] + (fleet.utility_energy[0] / 2) ** 2 - least - best(fleet).utility[0]) < 1e-6)
    True
    """
    checks.instance("fleet", fleet, DeviceFleet)
    k = checks.count("device", device, f"[0, {np.size(Problem.of(fleet).T) - 1}]")
    of_device = Problem.of(fleet)[[k]]
    problem, named, variables = stated(*units(of_device))
    for name, value in parameters(of_device).items():
        named[name].value = value
    return problem, variables


def solve(problem: Problem) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """x, Z, case and bound: by the cone program where the relaxation is lossless, one device after the other.

    The other devices get the result of :func:`airtight.solvers.energy.exact.exact_cases`.
    """
    compiled, p, variables = program()
    x, Z, case, bound = exact_cases(problem)
    for k in np.flatnonzero(problem.energy(problem.x_max, problem.Z_max) >= problem.half):
        device = problem[[k]]
        time, energy = units(device)
        for name, value in parameters(device, time, energy).items():
            p[name].value = value
        try:
            cone_program.solve(compiled)
        except ConvergenceError:
            x[k] = Z[k] = np.nan
            case[k] = list(Case).index(Case.UNSOLVED)
            continue
        rate = device.a[0] / (time * float(variables["t"].value))
        Z[k] = np.clip(rate, device.a[0] / (device.T[0] - device.x_min[0]), device.Z_max[0])
        x[k] = np.clip(time * float(variables["x"].value), device.x_min[0], device.T[0] - device.a[0] / Z[k])
        x[[k]], Z[[k]] = raised(device, x[[k]], Z[[k]])
    return x, Z, case, bound


def raised(problem: Problem, x: FloatArray, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """x and Z with more iterations, then more power on the delay edge, until the energy reaches its target.

    This never lowers the utility. It is needed where the learning term is saturated: there the relaxed objective is
    flat below the energy target, but the true utility is not.
    """
    latest = problem.T - problem.a / Z
    x = np.minimum(x + np.maximum(problem.half - problem.energy(x, Z), 0.0) / problem.P_cp, np.maximum(latest, x))
    low, high = x, problem.x_max
    short = problem.energy(x, Z) < problem.half * (1 - 1e-12)
    for _ in range(100):
        middle = 0.5 * (low + high)
        target_reached = (
            problem.energy(middle, np.minimum(problem.a / (problem.T - middle), problem.Z_max)) >= problem.half
        )
        low, high = np.where(target_reached, low, middle), np.where(target_reached, middle, high)
    edge_rate = np.minimum(problem.a / (problem.T - high), problem.Z_max)
    return np.where(short, high, x), np.where(short, edge_rate, Z)
