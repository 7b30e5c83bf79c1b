r"""The energy-utility problem (34) of utility-fair federated learning: iterations and transmit power of every device.

In compute time x and transmission time t (a/Z in the paper's Z) the feasible set is the triangle
:math:`x \ge x_{\min},\ t \ge t_{\min},\ x + t \le T`, and

.. math:: U = \beta_1(1-e^{-P_{cp}x/\beta_2}) - \bigl(E-\tfrac\varrho2\bigr)^2 + \tfrac{\varrho^2}4,\qquad
          E = P_{cp}x + t\Bigl[\frac{e^{a/t}-1}{\rho g} + P_{cir}\Bigr].

E is convex, U is not concave where :math:`E < \varrho/2` (ledger UF-L1). Relaxed to :math:`-(E-\varrho/2)_+^2` it is, and
the relaxation
is lossless unless the energy target is out of reach for the fastest transmission (:func:`solve`, Notes). Every answer
carries a gap: an upper bound on the utility that any feasible choice could have beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.records import Record
from airtight.analytics.rounding import UNIT
from airtight.solvers.energy import exact, published
from airtight.solvers.energy.energy_problem import Case, Problem
from airtight.solvers.errors import InfeasibleError

_ROUNDED = 8 * float(UNIT)  # share of the deadline that its three terms may be rounded by


class Method(StrEnum):
    """How :func:`solve` solves."""

    CLOSED_FORM = "closed-form"
    CVXPY = "cvxpy"
    PUBLISHED = "published"


@dataclass(frozen=True, eq=False)
class EnergySolution(Record):
    r"""What every device should do, and how far from optimal that can be.

    Attributes
    ----------
    iterations, power, rate : ndarray, shape (K,)
        j, P (W), R (bit/s).
    compute_time, transmit_time, slack : ndarray
        s; slack is what the deadline leaves. The utility is within `gap` of its optimum, the times only as far as that
        determines them: to :math:`\sqrt{2\,\mathrm{gap}/m}` where m is the least curvature of the utility in between, and no gap
        computed in doubles is known to less than the rounding of the utility.
    energy, utility : ndarray
        J; U of Eq. (30).
    case : ndarray of str
        See :class:`Case`.
    gap : ndarray
        Proved: no feasible choice has a utility above ``utility + gap``. For whole iterations the bound is still that of
        real ones.
    scale : ndarray
        What the gap is relative to: the sizes of both terms of the utility, learning and energy, together; in the unit of U,
        so that the verdict does not depend on the unit of energy.
    method : str
    """

    iterations: FloatArray
    power: FloatArray
    rate: FloatArray
    compute_time: FloatArray
    transmit_time: FloatArray
    slack: FloatArray
    energy: FloatArray
    utility: FloatArray
    case: NDArray[np.str_]
    gap: FloatArray
    scale: FloatArray
    method: str

    def is_optimal(self, tolerance: float = 1e-8) -> bool:
        """Whether every device's gap is within the tolerance of its own scale."""
        return bool(np.all(self.gap <= tolerance * self.scale))


def solve(fleet: DeviceFleet, *, method: Method | str = Method.CLOSED_FORM, integer: bool = False) -> EnergySolution:
    r"""The iterations and the power of greatest utility for every device.

    Parameters
    ----------
    fleet : DeviceFleet
    method : {"closed-form", "cvxpy", "published"}
        Vectorised over devices; the relaxed problem as an exponential cone program, one device after the other; or
        Theorem 2 as printed, which is not always right: its gap says so.
    integer : bool
        Whole iterations, the transmission re-optimised for them.

    Returns
    -------
    EnergySolution

    Raises
    ------
    InfeasibleError
        When a device cannot keep its deadline; it names the device that needs most time, and the least deadline with which
        the fleet can be solved, of whole iterations if they are asked for.

    Notes
    -----
    Let V1 be the vertex of most iterations at the greatest power, V3 that of least iterations and power.

    *Target in reach*, :math:`E(V_1) \ge \varrho/2`. A relaxed optimum with :math:`E < \varrho/2` away from V1 could gain
    iterations, so every
    relaxed optimum has :math:`E \ge \varrho/2`, where relaxed and true utility agree. It is found in closed form: without
    the delay constraint,
    :math:`Z_0 = 1+W((\rho gP_{cir}-1)/e)` (or Z_max) and :math:`x = \tfrac{\beta_2}{P_{cp}}(W(Ke^q)-q)` with
    :math:`K = \beta_1/2\beta_2^2,\ q = (E_{tx}-\varrho/2)/\beta_2`; when that does not fit into the deadline, the only root
    of (39) beyond
    :math:`Z_0`, clamped to the rates allowed.

    *Target out of reach*, :math:`E(V_1) < \varrho/2`, and V3 needs no more energy than V1: E is convex, so V1 has the
    greatest x and the greatest
    E, both terms of U are greatest there.

    *Else* (needs :math:`P_{cp} < P_{cir}`): from a point with :math:`E \ge \varrho/2` the way to V1 meets
    :math:`E = \varrho/2` with more iterations, and
    where :math:`E < \varrho/2` more iterations help until the deadline binds: the optimum is on the delay edge, right of
    the only place
    where E falls below the target. One dimension is searched by branch and bound: the first term of U is below its tangents,
    the missing energy is concave and so above its chords.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> best = solve(table_1(distance=[50.0, 200.0]))
    >>> best.iterations.round(2), best.gap.max() < 1e-12
    (array([98.46, 82.17]), np.True_)
    """
    kind = checks.choice("method", method, Method)
    whole = checks.flag("integer", integer)
    demand_feasible(replace(fleet, min_iterations=np.ceil(fleet.min_iterations)) if whole else fleet)
    problem = Problem.of(fleet)
    if kind is Method.PUBLISHED:
        x, Z, case = published.point(problem)
        bound = None
    elif kind is Method.CVXPY:
        from airtight.solvers.energy import conic_energy

        x, Z, case, bound = conic_energy.solve(problem)
    else:
        x, Z, case, bound = exact.exact_cases(problem)
    top = upper_bound(problem, x, Z, bound)
    iterations = x / problem.A
    if whole:
        x, Z, iterations = exact.whole_iterations(problem, x, fleet)
    return replace(described(fleet, problem, x, Z, case, top, kind.value), iterations=iterations)


def demand_feasible(fleet: DeviceFleet) -> None:
    """Refuse a fleet of which a device cannot keep its deadline."""
    if not np.all(fleet.feasible):
        k = int(np.argmax(np.where(fleet.feasible, -np.inf, fleet.least_deadline)))
        raise InfeasibleError(
            f"device {k}: deadline = {fleet.deadline[k]:.9g} s is too short for {fleet.min_iterations[k]:g} iterations and the "
            f"transmission at {fleet.max_power[k]:g} W; the least that would do is {fleet.least_deadline[k]:.9g} s",
            least_deadline=float(fleet.least_deadline[k]),
        )


def described(
    fleet: DeviceFleet,
    problem: Problem,
    x: FloatArray,
    Z: FloatArray,
    case: IntArray,
    top: FloatArray,
    method: str,
) -> EnergySolution:
    """What compute times x and rates Z amount to; `top` is what no utility exceeds."""
    power = np.where(problem.Z_max == Z, fleet.max_power, np.minimum(fleet.power(Z), fleet.max_power))
    t = problem.a / Z
    utility, energy = problem.utility(x, Z), problem.energy(x, Z)
    left = problem.T - x - t
    return EnergySolution(
        iterations=x / problem.A,
        power=power,
        rate=fleet.bandwidth * Z / np.log(2),
        compute_time=x,
        transmit_time=t,
        slack=np.where(np.isnan(x), np.nan, np.where(left > _ROUNDED * problem.T, left, 0.0)),
        energy=energy,
        utility=utility,
        case=np.array([kind.value for kind in Case])[case],
        gap=np.where(np.isnan(utility), np.inf, np.maximum(top - utility, 0.0)),
        scale=np.abs(problem.learning(x)) + np.abs(energy * (energy - 2 * problem.half)),
        method=method,
    )


def upper_bound(problem: Problem, x: FloatArray, Z: FloatArray, bound: FloatArray | None) -> FloatArray:
    """No utility is above this; from branch and bound where that ran, else from the point or the closed form's."""
    if bound is None:
        x, Z, _, bound = exact.exact_cases(problem)
    direct = problem.utility(x, Z) + problem.gap_bound(x, Z)
    return np.where(np.isnan(bound), direct, np.minimum(bound, direct))
