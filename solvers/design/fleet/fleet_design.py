r"""The joint problem of a utility-fair fleet: iterations, power and noise for the best energy, utility or epsilon.

Copies of the global model carry Gaussian noise of multiplier :math:`\sigma/(1-\theta\mathcal E_k) \ge \sigma` (UF Eqs.
(25), (27)). So epsilon over T rounds is at most that of a Gaussian mechanism with :math:`\mu = \sqrt T/\sigma`, or
:math:`\sqrt{TK}/\sigma` for all copies together, for all deviations. Neither energy nor utility depends on
:math:`\sigma`. The remaining problem is the trade-off between the energy and the utility of all devices together.

Notes
-----
*A price of energy.* :math:`U_k - \lambda E_k` is the utility of UF Eq. (30) with :math:`\varrho-\lambda` for
:math:`\varrho`, so :mod:`airtight.solvers.energy` finds its maximum with an upper bound :math:`M_k(\lambda)`. At every
price :math:`\lambda > 0`, :math:`\sum U_k \le \sum M_k(\lambda) + \lambda B` for every plan with
:math:`\sum E_k \le B`, and :math:`\sum E_k \ge (u - \sum M_k(\lambda))/\lambda` for every plan with
:math:`\sum U_k \ge u`. The price is found as a root. The stated bound is the best one over all prices tried, so it is
valid however accurate the root is. Where the optimal plan jumps at a price, devices are moved one after the other from
the feasible plan to the better plan as long as the constraint allows it.

*Epsilon* is that of neighbours whose difference the sensitivity bounds (one device, or one sample:
:func:`airtight.analytics.federated.fair.fairness.sensitivity`), provided that the deviations that scale the noise are
public. A deviation that depends on the data reveals information itself (ledger UF-A1-variance, UF-E26-clear).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.fair import fairness
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.progress import each_reported
from airtight.analytics.records import Record
from airtight.analytics.rounding import UNIT
from airtight.solvers.design.requirements import FleetRequirements, Goal, HeardCopies
from airtight.solvers.energy import exact, utility
from airtight.solvers.energy.energy_problem import Problem
from airtight.solvers.energy.utility import EnergySolution
from airtight.solvers.errors import InfeasibleError

_HALVINGS = 60  # bisection steps in the price
_FARTHEST = 1e9  # greatest price of a joule, in units of utility
_ROUNDING, _ROOT = 1e-12, 1e-10  # relative error of a sum, and of a root
_UP = 1 + 1e-6  # margin of the limits that a message names as feasible


@dataclass(frozen=True, kw_only=True, eq=False)
class FleetDesign(Record):
    """A design of a fleet.

    Attributes
    ----------
    goal : Goal
    value, bound : float
        The optimised quantity in a round, and its bound: no design that keeps the constraints has more utility (less
        energy, less epsilon).
    iterations, power, transmit_time, energy, utility : ndarray, shape (K,)
        j, P (W), transmission time (s), E (J) and U of every device in a round.
    noise : float
        Noise multiplier of the global model; 0 where neither epsilon nor the noise is limited.
    deviation, heard : ndarray, shape (K,)
        The deviation E in the model (28), at most 1 (the model exceeds 1 where beta_1 > 1, which no deviation does), and the
        noise multiplier noise/(1 - theta E) of the copy that the device receives.
    epsilon : float
        Upper bound of epsilon of the received copies over all rounds, for all deviations.
    own_epsilon : ndarray, shape (K,)
        Epsilon of the copy of each device at its modelled deviation; at most `epsilon` where `hears` is own.
    benchmark_energy, benchmark_utility : float
        Energy and utility of all devices together with the most iterations at the greatest power.
    seconds : float
    """

    UNITS: ClassVar[Mapping[str, str]] = {"power": "W", "transmit_time": "s", "energy": "J", "benchmark_energy": "J"}

    goal: Goal
    value: float
    bound: float
    iterations: FloatArray
    power: FloatArray
    transmit_time: FloatArray
    energy: FloatArray
    utility: FloatArray
    noise: float
    deviation: FloatArray
    heard: FloatArray
    epsilon: float
    own_epsilon: FloatArray
    benchmark_energy: float
    benchmark_utility: float
    seconds: float = field(compare=False)

    @property
    def gap(self) -> float:
        """An upper bound of the distance of the value from the optimum."""
        return abs(self.bound - self.value)


def design(fleet: DeviceFleet, wanted: FleetRequirements, *, progress: bool = False) -> FleetDesign:
    """The best iterations, powers and noise.

    Parameters
    ----------
    fleet : DeviceFleet
    wanted : FleetRequirements
    progress : bool
        Whether to say on stderr every two seconds how many prices of energy are tried.

    Raises
    ------
    InfeasibleError
        When a device cannot keep its deadline, or no design was found that keeps the constraints. In the second case
        the message states, for each constraint, the nearest feasible limit with the others unchanged.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> fleet = table_1(distance=[50.0, 200.0])
    >>> best = design(fleet, FleetRequirements(energy_at_most=0.4, epsilon_at_most=2.0, rounds=10, theta=0.6))
    >>> round(best.value, 4), best.gap < 1e-6, bool(np.sum(best.energy) <= 0.4), best.epsilon <= 2.0
    (0.7601, True, True, True)
    """
    started = time.monotonic()
    utility.demand_feasible(fleet)
    market = _Market(Problem.of(fleet), fleet, each_reported(None, "prices", progress=progress))
    noise, epsilon = _noise(fleet, wanted)
    nearest_limits: dict[str, str] = {}
    if wanted.epsilon_at_most is not None and wanted.noise_at_most is not None and noise > wanted.noise_at_most:
        nearest_limits["epsilon_at_most"] = _up(_epsilon(wanted, fleet.devices, wanted.noise_at_most))
        nearest_limits["noise_at_most"] = _up(noise)
    plan, bound = market.planned(wanted, nearest_limits)
    if nearest_limits or plan is None:
        nearest = ", ".join(f"{name} = {value}" for name, value in nearest_limits.items())
        raise InfeasibleError(
            f"no design found that keeps the constraints; nearest feasible limits, if changed each alone: {nearest}"
        )
    computed = plan.iterations * fleet.iteration_time * fleet.compute_power
    deviation = np.minimum(fairness.model(computed, beta_1=fleet.beta_1, beta_2=fleet.beta_2), 1.0)
    heard = noise / (1 - wanted.theta * deviation)
    value = {Goal.UTILITY: float(np.sum(plan.utility)), Goal.ENERGY: float(np.sum(plan.energy)), Goal.EPSILON: epsilon}
    benchmark = fleet.max_iterations, fleet.max_power
    return FleetDesign(
        goal=wanted.goal,
        value=value[wanted.goal],
        bound=epsilon * (1 - _ROOT) if wanted.goal is Goal.EPSILON else bound,
        iterations=plan.iterations,
        power=plan.power,
        transmit_time=plan.transmit_time,
        energy=plan.energy,
        utility=plan.utility,
        noise=noise,
        deviation=deviation,
        heard=heard,
        epsilon=epsilon,
        own_epsilon=np.array([_epsilon(replace(wanted, hears=HeardCopies.OWN), 1, sigma) for sigma in heard]),
        benchmark_energy=float(np.sum(fleet.energy(*benchmark))),
        benchmark_utility=float(np.sum(fleet.utility(*benchmark))),
        seconds=time.monotonic() - started,
    )


def _copies(wanted: FleetRequirements, devices: int) -> float:
    """The square root of the number of received copies, rounded up.

    Gaussian mechanisms compose to one whose sensitivity is multiplied by this factor.
    """
    return math.sqrt(wanted.rounds * (devices if wanted.hears is HeardCopies.ALL else 1)) * (1 + _ROUNDING)


def _epsilon(wanted: FleetRequirements, devices: int, noise: float) -> float:
    if noise == 0:
        return math.inf
    return float(gaussian.epsilon(wanted.delta, sensitivity=_copies(wanted, devices), sigma=noise))


def _noise(fleet: DeviceFleet, wanted: FleetRequirements) -> tuple[float, float]:
    """The least noise that keeps epsilon, or the greatest allowed noise where epsilon has no limit, and its epsilon."""
    noise = wanted.noise_at_most or 0.0
    if wanted.epsilon_at_most is not None:
        sensitivity = _copies(wanted, fleet.devices)
        noise = float(gaussian.sigma(wanted.epsilon_at_most, wanted.delta, sensitivity=sensitivity))
        while _epsilon(wanted, fleet.devices, noise) > wanted.epsilon_at_most:
            noise *= 1 + _ROUNDING
    return noise, _epsilon(wanted, fleet.devices, noise)


@dataclass(frozen=True)
class _Offer:
    """A plan: what every device does at a price, and an upper bound of the total utility minus price times energy."""

    price: float
    x: FloatArray
    Z: FloatArray
    energy: FloatArray
    utility: FloatArray
    value_bound: float

    def mixed(self, offer: _Offer, rows: FloatArray) -> _Offer:
        """This plan, with the devices selected by `rows` as in the other plan."""
        x, Z, energy, utility = (
            np.where(rows, getattr(offer, name), getattr(self, name)) for name in ("x", "Z", "energy", "utility")
        )
        return _Offer(self.price, x, Z, energy, utility, self.value_bound)


class _Market:
    """The optimal plans over the price of energy; every plan computed so far contributes to the bounds."""

    def __init__(self, problem: Problem, fleet: DeviceFleet, heard: Callable[[str], None]) -> None:
        self.problem, self.fleet, self.heard = problem, fleet, heard
        self.offers: list[_Offer] = []

    def at(self, price: float) -> _Offer:
        """The best plan at a price."""
        self.heard("")
        priced = replace(self.problem, half=self.problem.half - price / 2)
        x, Z, _, bound = exact.exact_cases(priced)
        utility_bound = utility.upper_bound(priced, x, Z, bound)
        energy, utilities = self.problem.energy(x, Z), self.problem.utility(x, Z)
        rounding = _ROUNDING * float(
            np.sum(np.abs(utilities) + np.abs(energy) * (price + energy) + np.abs(utility_bound))
        )
        self.offers.append(_Offer(price, x, Z, energy, utilities, float(np.sum(utility_bound)) + rounding))
        return self.offers[-1]

    @property
    def thriftiest(self) -> _Offer:
        """The plan of least energy: fewest iterations at the rate of least energy that the deadline allows.

        The energy is convex, so this is its minimum.
        """
        p = self.problem
        Z = np.clip(p.Z_0, p.a / (p.T - p.x_min), p.Z_max)
        return _Offer(math.inf, p.x_min, Z, p.energy(p.x_min, Z), p.utility(p.x_min, Z), math.inf)

    def planned(self, wanted: FleetRequirements, nearest_limits: dict[str, str]) -> tuple[EnergySolution | None, float]:
        """The plan and its bound; where there is no plan, the nearest feasible limits are stored in `named`."""
        budget = math.inf if wanted.energy_at_most is None else wanted.energy_at_most
        demand = -math.inf if wanted.utility_at_least is None else wanted.utility_at_least
        if wanted.goal is Goal.ENERGY or demand > -math.inf:
            cheapest, energy_bound = self.cheapest(demand)
            if cheapest is not None and np.sum(cheapest.energy) <= budget:
                return cheapest, energy_bound
            if wanted.goal is Goal.ENERGY or budget == math.inf:
                nearest_limits["utility_at_least"] = _down(float(np.sum(self.offers[0].utility)))
                return None, energy_bound
            if cheapest is not None:
                nearest_limits["energy_at_most"] = _up(float(np.sum(cheapest.energy)))
        richest, utility_bound = self.richest(budget)
        if richest is None:
            nearest_limits.setdefault("energy_at_most", _up(float(np.sum(self.thriftiest.energy))))
        elif np.sum(richest.utility) < demand:
            nearest_limits["utility_at_least"] = _down(float(np.sum(richest.utility)))
        else:
            nearest_limits.pop("energy_at_most", None)
        return richest, utility_bound

    def richest(self, budget: float) -> tuple[EnergySolution | None, float]:
        """The plan of greatest utility within an energy (None if there is none), and an upper bound of the utility."""
        costly_plan, thrifty_plan = self.at(0.0), self.thriftiest
        if np.sum(thrifty_plan.energy) > budget:
            return None, math.nan
        if np.sum(costly_plan.energy) > budget:
            costly_plan, thrifty_plan = self._bracket(
                costly_plan, thrifty_plan, lambda offer: float(np.sum(offer.energy)) <= budget
            )
            gain = costly_plan.utility - thrifty_plan.utility
            thrifty_plan = _moved(thrifty_plan, costly_plan, gain, thrifty_plan.energy, costly_plan.energy, budget)
        else:
            thrifty_plan = costly_plan
        bound = min(offer.value_bound + (offer.price * budget if offer.price else 0.0) for offer in self.offers)
        return self._plan(thrifty_plan), max(bound, float(np.sum(thrifty_plan.utility)))

    def cheapest(self, demand: float) -> tuple[EnergySolution | None, float]:
        """The plan of least energy with a utility (None where there is none), and a lower bound of the energy."""
        thrifty_plan, costly_plan = self.thriftiest, self.at(0.0)
        least = float(np.sum(thrifty_plan.energy)) * (1 - _ROUNDING)
        if np.sum(thrifty_plan.utility) >= demand:
            return self._plan(thrifty_plan), least
        if np.sum(costly_plan.utility) < demand:
            return None, math.nan
        thrifty_plan, costly_plan = self._bracket(
            thrifty_plan, costly_plan, lambda offer: float(np.sum(offer.utility)) >= demand, up=True
        )
        costly_plan = _moved(
            costly_plan,
            thrifty_plan,
            costly_plan.energy - thrifty_plan.energy,
            -costly_plan.utility,
            -thrifty_plan.utility,
            -demand,
        )
        energy_bounds = [(demand - offer.value_bound) / offer.price for offer in self.offers if offer.price > 0]
        return self._plan(costly_plan), min(max([least, *energy_bounds]), float(np.sum(costly_plan.energy)))

    def _bracket(
        self, violating: _Offer, keeping: _Offer, kept: Callable[[_Offer], bool], *, up: bool = False
    ) -> tuple[_Offer, _Offer]:
        """A plan that violates the constraint and one that keeps it, on both sides of the price at which this changes.

        The constraint is kept at high prices, or with `up` at low ones.
        """
        low, high = 1e-9, 1e-9
        while (offer := self.at(high)).price < _FARTHEST and kept(offer) is up:
            violating, keeping = (violating, offer) if up else (offer, keeping)
            low, high = high, 8 * high
        violating, keeping = (offer, keeping) if up else (violating, offer if kept(offer) else keeping)
        for _ in range(_HALVINGS):
            middle = math.sqrt(low * high)
            if not low < middle < high:
                break
            offer = self.at(middle)
            if kept(offer):
                keeping = offer
            else:
                violating = offer
            low, high = (middle, high) if kept(offer) is up else (low, middle)
        return violating, keeping

    def _plan(self, offer: _Offer) -> EnergySolution:
        p = self.problem
        first_utility = self.offers[0].utility  # utility bound of the first plan, at price 0
        return utility.described(
            self.fleet, p, offer.x, offer.Z, np.zeros(offer.x.size, dtype=np.int64), first_utility, "priced"
        )


def _moved(
    kept: _Offer, other: _Offer, gain: FloatArray, spent: FloatArray, spent_instead: FloatArray, limit: float
) -> _Offer:
    """The plan `kept`, with devices moved to the other plan as long as the total spent is at most the limit.

    Devices are moved in the order of their gain, if it is positive.
    """
    cost, rows = spent_instead - spent, np.zeros(gain.size, dtype=bool)
    rounding = 4 * gain.size * UNIT * (abs(limit) + float(np.sum(np.abs(spent)) + np.sum(np.abs(spent_instead))))
    room = limit - float(np.sum(spent)) - rounding
    order = np.argsort(-gain, kind="stable")[: np.count_nonzero(gain > 0)]
    for k, price in zip(order.tolist(), cost[order].tolist(), strict=True):
        if price <= room:
            rows[k], room = True, room - price
    return kept.mixed(other, rows)


def _up(value: float) -> str:
    return f"{value * _UP if value > 0 else value / _UP:.9g}"


def _down(value: float) -> str:
    return f"{value / _UP if value > 0 else value * _UP:.9g}"
