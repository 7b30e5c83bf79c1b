r"""The energy-utility problem (34) of utility-fair federated learning: iterations and transmit power of every device.

In compute time x and transmission time t (a/Z in the paper's Z) the feasible set is the triangle
:math:`x \ge x_{\min},\ t \ge t_{\min},\ x + t \le T`, and

.. math:: U = \beta_1(1-e^{-P_{cp}x/\beta_2}) - \bigl(E-\tfrac\varrho2\bigr)^2 + \tfrac{\varrho^2}4,\qquad
          E = P_{cp}x + t\Bigl[\frac{e^{a/t}-1}{\rho g} + P_{cir}\Bigr].

E is convex, but U is not concave where :math:`E < \varrho/2` (ledger UF-L1). With the energy term relaxed to
:math:`-(E-\varrho/2)_+^2` it is concave, and the relaxation is lossless unless the fastest transmission cannot reach
the energy target (:func:`solve`, Notes). Every answer has a gap: an upper bound on how much greater the utility of any
feasible choice can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import checks, plots
from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.records import Record
from airtight.analytics.rounding import UNIT
from airtight.solvers.energy import deadline_price, exact, published
from airtight.solvers.energy.deadline_price import DeadlinePrices
from airtight.solvers.energy.energy_problem import Case, Problem
from airtight.solvers.errors import InfeasibleError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHUNK = 1 << 16  # devices handled at a time, so that their arrays stay in the cache
_PRICED = 1e-8  # gap, relative to the scale, up to which a plan has prices
_ROUNDED = 8 * float(UNIT)  # relative to the deadline: rounding error of the slack, a difference of three terms


class Method(StrEnum):
    """The algorithm of :func:`solve`."""

    CLOSED_FORM = "closed-form"
    CVXPY = "cvxpy"
    PUBLISHED = "published"


@dataclass(frozen=True, eq=False)
class EnergySolution(Record):
    r"""Iterations and power of every device, their utility, and a bound on its distance from the optimum.

    Attributes
    ----------
    iterations, power, rate : ndarray, shape (K,)
        j, P (W), R (bit/s).
    compute_time, transmit_time, slack : ndarray
        In seconds; slack is the unused part of the deadline. The utility is within `gap` of its optimum. This
        determines the times only up to :math:`\sqrt{2\,\mathrm{gap}/m}`, where m is the least curvature of the utility
        between the answer and the optimum, and no gap computed in doubles is more accurate than the rounding error of
        the utility.
    energy, utility : ndarray
        The energy in J, and U of Eq. (30).
    case : ndarray of str
        See :class:`Case`.
    gap : ndarray
        It is proved that no feasible choice has a utility above ``utility + gap``. With whole iterations, this bound
        is still that over real numbers of iterations.
    scale : ndarray
        The magnitude that the gap is compared with: the sum of the absolute values of the learning and the energy term
        of the utility. It has the unit of U, so that the verdict does not depend on the unit of energy.
    method : str
    fleet : DeviceFleet
    whole : bool
        Whether the numbers of iterations were to be whole.
    """

    UNITS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("compute_time", "transmit_time", "slack"), "s"),
        "power": "W",
        "rate": "bit/s",
        "energy": "J",
    }

    iterations: FloatArray
    power: FloatArray
    rate: FloatArray
    compute_time: FloatArray
    transmit_time: FloatArray
    slack: FloatArray
    energy: FloatArray
    utility: FloatArray
    case: NDArray[np.object_]
    gap: FloatArray
    scale: FloatArray
    method: str
    fleet: DeviceFleet = field(repr=False, compare=False)
    whole: bool = field(default=False, repr=False, compare=False)

    @cached_property
    def prices(self) -> DeadlinePrices:
        """What energy and utility of the best plan change by for a second more of the deadline.

        Whole numbers of iterations are held. nan for devices whose gap is above 1e-8 of the scale, and for all where the
        utility has been priced otherwise. See :mod:`airtight.solvers.energy.deadline_price`.

        Examples
        --------
        >>> from airtight.analytics.federated.fair.device import table_1
        >>> for one in solve(table_1(distance=[200.0])).prices.of(0):
        ...     print(one)
        d energy / d deadline = -0.03021 W
        d utility / d deadline = 0.3662 1/s
        """
        price = deadline_price.of_deadline(
            self.fleet, self.compute_time, self.rate * np.log(2) / self.fleet.bandwidth, whole=self.whole
        )
        unknown = ~(self.whole | (self.gap <= _PRICED * self.scale))
        return DeadlinePrices(
            *(
                (np.where(unknown, np.nan, up), np.where(unknown, np.nan, down))
                for up, down in (price.energy, price.utility)
            )
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the energy of each device in a round, computation and transmission, beside what the utility asks for."""
        axes, fleet = plots.axes_of(ax), self.fleet
        parts = {"computation": fleet.compute_energy(self.iterations), "transmission": fleet.transmit_energy(self.power)}
        plots.bars(axes, parts, {"half of the utility energy": fleet.utility_energy / 2})
        worst = int(np.argmax(self.energy))
        title = f"Device {worst} needs most: {self.energy[worst]:.3g} J of {np.sum(self.energy):.3g} J a round"
        return plots.finish(axes, title=title, x="device", y="energy (J)")

    def is_optimal(self, tolerance: float = 1e-8) -> bool:
        """Whether the gap of every device is at most the tolerance times its own scale."""
        return bool(np.all(self.gap <= tolerance * self.scale))


def solve(fleet: DeviceFleet, *, method: Method | str = Method.CLOSED_FORM, integer: bool = False) -> EnergySolution:
    r"""The iterations and the power of greatest utility for every device.

    Parameters
    ----------
    fleet : DeviceFleet
    method : {"closed-form", "cvxpy", "published"}
        "closed-form" is vectorised over devices. "cvxpy" solves the relaxed problem as an exponential cone program, one
        device after the other. "published" is Theorem 2 as printed, which is not always optimal; its gap shows it.
    integer : bool
        Whether the numbers of iterations must be whole; the transmission is then optimised again for them.

    Returns
    -------
    EnergySolution

    Raises
    ------
    InfeasibleError
        When a device cannot keep its deadline. The error names the infeasible device that needs most time and the least
        deadline that this device can keep, with whole iterations if `integer` is true.

    Notes
    -----
    Let V1 be the vertex of most iterations at the greatest power, V3 that of least iterations and power.

    *The target is in reach*, :math:`E(V_1) \ge \varrho/2`. A relaxed optimum with :math:`E < \varrho/2` away from V1
    could gain iterations, so every relaxed optimum has :math:`E \ge \varrho/2`, where the relaxed and the true utility
    agree. It has a closed form. Without the delay constraint it is :math:`Z_0 = 1+W((\rho gP_{cir}-1)/e)` (or Z_max)
    and :math:`x = \tfrac{\beta_2}{P_{cp}}(W(Ke^q)-q)` with
    :math:`K = \beta_1/2\beta_2^2,\ q = (E_{tx}-\varrho/2)/\beta_2`. When that exceeds the deadline, the optimal rate
    is the only root of (39) beyond :math:`Z_0`, clamped to the allowed rates.

    *The target is out of reach*, :math:`E(V_1) < \varrho/2`, and V3 needs no more energy than V1. E is convex, so V1
    has the greatest x and the greatest E, and both terms of U are greatest there.

    *The target is out of reach and V3 needs more energy than V1* (this needs :math:`P_{cp} < P_{cir}`). From any point
    with :math:`E \ge \varrho/2`, the segment to V1 meets :math:`E = \varrho/2` with more iterations. Where
    :math:`E < \varrho/2`, more iterations increase the utility until the deadline binds. So the optimum is on the
    delay edge, to the right of the only point where E falls below the target. This one-dimensional problem is solved
    by branch and bound: the first term of U is concave and so below its tangents; the missing energy is concave and so
    above its chords.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> best = solve(table_1(distance=[50.0, 200.0]))
    >>> best.iterations.round(2), best.gap.max() < 1e-12
    (array([98.46, 82.17]), np.True_)
    """
    checks.instance("fleet", fleet, DeviceFleet)
    method_kind = checks.choice("method", method, Method)
    whole = checks.flag("integer", integer)
    values_by_name: dict[str, NDArray[Any]] = {}
    for start in range(0, fleet.devices, _CHUNK):
        part = fleet.only(slice(start, start + _CHUNK))
        if not np.all((_rounded_up(part) if whole else part).feasible):
            demand_feasible(_rounded_up(fleet) if whole else fleet)
        solution = _solved(part, method_kind, whole, start)
        for entry in fields(solution):
            values = getattr(solution, entry.name)
            if isinstance(values, np.ndarray):
                every_device = values_by_name.setdefault(entry.name, np.empty(fleet.devices, values.dtype))
                every_device[start : start + _CHUNK] = values
    return EnergySolution(**values_by_name, method=method_kind.value, fleet=fleet, whole=whole)


def _rounded_up(fleet: DeviceFleet) -> DeviceFleet:
    """The fleet with the least number of iterations rounded up."""
    return replace(fleet, min_iterations=np.ceil(fleet.min_iterations))


def _solved(fleet: DeviceFleet, method: Method, whole: bool, first_device: int) -> EnergySolution:
    """The solution for one chunk of devices."""
    problem = Problem.of(fleet)
    if method is Method.PUBLISHED:
        x, Z, case = published.point(problem)
        bound = None
    elif method is Method.CVXPY:
        from airtight.solvers.energy import conic_energy

        x, Z, case, bound = conic_energy.solve(problem)
    else:
        x, Z, case, bound = exact.exact_cases(problem)
    utility_bound = upper_bound(problem, x, Z, bound)
    iterations = x / problem.A
    if whole:
        x, Z, iterations = exact.whole_iterations(problem, x, fleet, first_device)
    return replace(described(fleet, problem, x, Z, case, utility_bound, method.value), iterations=iterations)


def demand_feasible(fleet: DeviceFleet) -> None:
    """Raise InfeasibleError when a device of the fleet cannot keep its deadline."""
    checks.instance("fleet", fleet, DeviceFleet)
    if not np.all(fleet.feasible):
        k = int(np.argmax(np.where(fleet.feasible, -np.inf, fleet.least_deadline)))
        raise InfeasibleError(
            f"device {k}: deadline = {fleet.deadline[k]:.9g} s is too short for {fleet.min_iterations[k]:g} iterations "
            f"and the transmission at {fleet.max_power[k]:g} W; "
            f"the least feasible deadline is {fleet.least_deadline[k]:.9g} s",
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
    """The solution with compute times x and rates Z; `top` is an upper bound of the utility."""
    power = np.where(problem.Z_max == Z, fleet.max_power, np.minimum(fleet.power(Z), fleet.max_power))
    t = problem.a / Z
    utility, energy = problem.utility(x, Z), problem.energy(x, Z)
    time_left = problem.T - x - t
    return EnergySolution(
        iterations=x / problem.A,
        power=power,
        rate=fleet.bandwidth * Z / np.log(2),
        compute_time=x,
        transmit_time=t,
        slack=np.where(np.isnan(x), np.nan, np.where(time_left > _ROUNDED * problem.T, time_left, 0.0)),
        energy=energy,
        utility=utility,
        case=np.array([name.value for name in Case], dtype=object)[case],
        gap=np.where(np.isnan(utility), np.inf, np.maximum(top - utility, 0.0)),
        scale=np.abs(problem.learning(x)) + np.abs(energy * (energy - 2 * problem.half)),
        method=method,
        fleet=fleet,
    )


def upper_bound(problem: Problem, x: FloatArray, Z: FloatArray, bound: FloatArray | None) -> FloatArray:
    """An upper bound of the utility of every feasible choice.

    Where branch and bound ran, its bound counts as well. Where `bound` is None, the bound is computed at the exact
    optimum.
    """
    if bound is None:
        x, Z, _, bound = exact.exact_cases(problem)
    direct = problem.utility(x, Z) + problem.gap_bound(x, Z)
    return np.where(np.isnan(bound), direct, np.minimum(bound, direct))
