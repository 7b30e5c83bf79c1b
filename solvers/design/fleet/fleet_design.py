r"""The joint problem of a utility-fair fleet: iterations, power and the noise of the global model, for energy, utility, epsilon.

Copies of the global model carry Gaussian noise of multiplier :math:`\sigma/(1-\theta\mathcal E_k) \ge \sigma` (UF Eqs. (25),
(27)), so epsilon over T rounds is at most that of :math:`\mu = \sqrt T/\sigma`, or :math:`\sqrt{TK}/\sigma` for all copies
together, whatever the deviations; neither energy nor utility depends on :math:`\sigma`. What is left is energy against utility,
over the devices together.

Notes
-----
*A price of energy.* :math:`U_k - \lambda E_k` is the utility of UF Eq. (30) with :math:`\varrho-\lambda` for :math:`\varrho`, so
:mod:`airtight.solvers.energy` finds its maximum, with an upper bound :math:`M_k(\lambda)`. For any plan with
:math:`\sum E_k \le B` then :math:`\sum U_k \le \sum M_k(\lambda) + \lambda B`, for any with :math:`\sum U_k \ge u`:
:math:`\sum E_k \ge (u - \sum M_k(\lambda))/\lambda`, at every price :math:`\lambda > 0`. The price is a root; what the prices
tried prove is the bound given, so that the gap stands by itself. Between two plans on both sides of a jump, device after device
moves to the better one as long as the constraint allows.

*Epsilon* is that of neighbours that differ by what the sensitivity bounds (one device, or one sample:
:func:`airtight.analytics.federated.fair.fairness.sensitivity`), if the deviations that scale the noise are public: a
deviation that depends on the data speaks by itself (ledger UF-A1-variance, UF-E26-clear).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.fair import fairness
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.records import Record
from airtight.analytics.rounding import UNIT
from airtight.solvers.design.fleet.fleet_requirements import FleetRequirements, Goal, Hears
from airtight.solvers.energy import exact, utility
from airtight.solvers.energy.energy_problem import Problem
from airtight.solvers.energy.utility import EnergySolution
from airtight.solvers.errors import InfeasibleError

_HALVINGS = 60
_FARTHEST = 1e9  # price of a joule, in utility of a joule
_ROUNDING, _ROOT = 1e-12, 1e-10
_UP = 1 + 1e-6  # for what is named as feasible


@dataclass(frozen=True, kw_only=True, eq=False)
class FleetDesign(Record):
    """A design of a fleet.

    Attributes
    ----------
    goal : Goal
    value, bound : float
        Of what is sought, a round; no design that keeps the constraints has more utility (less energy, less epsilon).
    iterations, power, transmit_time, energy, utility : ndarray, shape (K,)
        j, P (W), s, E (J), U of every device, a round.
    noise : float
        Multiplier of the global model; 0 where nothing is asked of epsilon.
    deviation, heard : ndarray, shape (K,)
        The deviation of the model (28), and the multiplier of the copy that the device hears.
    epsilon : float
        Of the copies heard, over all rounds, whatever the deviations.
    own_epsilon : ndarray, shape (K,)
        Of the copy of each device at its modelled deviation, at most `epsilon` where `hears` is own.
    benchmark_energy, benchmark_utility : float
        Of most iterations at the greatest power, all devices together.
    seconds : float
    """

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
        """How far the value may be from the best."""
        return abs(self.bound - self.value)


def design(fleet: DeviceFleet, wanted: FleetRequirements) -> FleetDesign:
    """The best iterations, powers and noise.

    Parameters
    ----------
    fleet : DeviceFleet
    wanted : FleetRequirements

    Raises
    ------
    InfeasibleError
        When a device cannot keep its deadline, or with the nearest that could be kept of each constraint.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> fleet = table_1(distance=[50.0, 200.0])
    >>> found = design(fleet, FleetRequirements(energy_at_most=0.4, epsilon_at_most=2.0, rounds=10, theta=0.6))
    >>> round(found.value, 4), found.gap < 1e-6, bool(np.sum(found.energy) <= 0.4), found.epsilon <= 2.0
    (0.7601, True, True, True)
    """
    started = time.monotonic()
    utility.demand_feasible(fleet)
    market = _Market(Problem.of(fleet), fleet)
    noise, epsilon = _noise(fleet, wanted)
    named: dict[str, str] = {}
    if wanted.epsilon_at_most is not None and wanted.noise_at_most is not None and noise > wanted.noise_at_most:
        named["epsilon_at_most"] = _up(_epsilon(wanted, fleet.devices, wanted.noise_at_most))
        named["noise_at_most"] = _up(noise)
    plan, bound = market.planned(wanted, named)
    if named or plan is None:
        nearest = ", ".join(f"{name} = {value}" for name, value in named.items())
        raise InfeasibleError(
            f"no design found that keeps the constraints; nearest that can be kept, each alone: {nearest}"
        )
    deviation = fairness.model(
        plan.iterations * fleet.iteration_time * fleet.compute_power, beta_1=fleet.beta_1, beta_2=fleet.beta_2
    )
    heard = noise / (1 - wanted.theta * np.minimum(deviation, 1.0))
    value = {Goal.UTILITY: float(np.sum(plan.utility)), Goal.ENERGY: float(np.sum(plan.energy)), Goal.EPSILON: epsilon}
    most = fleet.max_iterations, fleet.max_power
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
        own_epsilon=np.array([_epsilon(replace(wanted, hears=Hears.OWN), 1, sigma) for sigma in heard]),
        benchmark_energy=float(np.sum(fleet.energy(*most))),
        benchmark_utility=float(np.sum(fleet.utility(*most))),
        seconds=time.monotonic() - started,
    )


def _copies(wanted: FleetRequirements, devices: int) -> float:
    """Square root of the number of copies heard: their noise is that of one with so many times the sensitivity."""
    return math.sqrt(wanted.rounds * (devices if wanted.hears is Hears.ALL else 1)) * (1 + _ROUNDING)


def _epsilon(wanted: FleetRequirements, devices: int, noise: float) -> float:
    if noise == 0:
        return math.inf
    return float(gaussian.epsilon(wanted.delta, sensitivity=_copies(wanted, devices), sigma=noise))


def _noise(fleet: DeviceFleet, wanted: FleetRequirements) -> tuple[float, float]:
    """The least noise that keeps epsilon (the greatest allowed, where epsilon is not given), and epsilon with it."""
    noise = wanted.noise_at_most or 0.0
    if wanted.epsilon_at_most is not None:
        sensitivity = _copies(wanted, fleet.devices)
        noise = float(gaussian.sigma(wanted.epsilon_at_most, wanted.delta, sensitivity=sensitivity))
        while _epsilon(wanted, fleet.devices, noise) > wanted.epsilon_at_most:
            noise *= 1 + _ROUNDING
    return noise, _epsilon(wanted, fleet.devices, noise)


@dataclass(frozen=True)
class _Offer:
    """What every device does at a price, and the greatest that utility less price times energy can be."""

    price: float
    x: FloatArray
    Z: FloatArray
    energy: FloatArray
    utility: FloatArray
    most: float

    def mixed(self, other: _Offer, rows: FloatArray) -> _Offer:
        """The other's for the devices `rows`."""
        x, Z, energy, gained = (
            np.where(rows, getattr(other, name), getattr(self, name)) for name in ("x", "Z", "energy", "utility")
        )
        return _Offer(self.price, x, Z, energy, gained, self.most)


class _Market:
    """Plans over the price of energy; all that were made prove something."""

    def __init__(self, problem: Problem, fleet: DeviceFleet) -> None:
        self.problem, self.fleet = problem, fleet
        self.offers: list[_Offer] = []

    def at(self, price: float) -> _Offer:
        """The best plan at a price."""
        priced = replace(self.problem, half=self.problem.half - price / 2)
        x, Z, _, bound = exact.exact_cases(priced)
        top = utility.upper_bound(priced, x, Z, bound)
        energy, gained = self.problem.energy(x, Z), self.problem.utility(x, Z)
        rounding = _ROUNDING * float(np.sum(np.abs(gained) + np.abs(energy) * (price + energy) + np.abs(top)))
        self.offers.append(_Offer(price, x, Z, energy, gained, float(np.sum(top)) + rounding))
        return self.offers[-1]

    @property
    def thriftiest(self) -> _Offer:
        """The plan of least energy: least iterations, the rate of least energy that the deadline allows; energy is convex."""
        p = self.problem
        Z = np.clip(p.Z_0, p.a / (p.T - p.x_min), p.Z_max)
        return _Offer(math.inf, p.x_min, Z, p.energy(p.x_min, Z), p.utility(p.x_min, Z), math.inf)

    def planned(self, wanted: FleetRequirements, named: dict[str, str]) -> tuple[EnergySolution | None, float]:
        """The plan and its bound; where there is none, what could be kept of the constraints goes into `named`."""
        budget = math.inf if wanted.energy_at_most is None else wanted.energy_at_most
        demand = -math.inf if wanted.utility_at_least is None else wanted.utility_at_least
        if wanted.goal is Goal.ENERGY or demand > -math.inf:
            cheapest, least = self.cheapest(demand)
            if cheapest is not None and np.sum(cheapest.energy) <= budget:
                return cheapest, least
            if wanted.goal is Goal.ENERGY or budget == math.inf:
                named["utility_at_least"] = _down(float(np.sum(self.offers[0].utility)))
                return None, least
            if cheapest is not None:
                named["energy_at_most"] = _up(float(np.sum(cheapest.energy)))
        richest, most = self.richest(budget)
        if richest is None:
            named.setdefault("energy_at_most", _up(float(np.sum(self.thriftiest.energy))))
        elif np.sum(richest.utility) < demand:
            named["utility_at_least"] = _down(float(np.sum(richest.utility)))
        else:
            named.pop("energy_at_most", None)
        return richest, most

    def richest(self, budget: float) -> tuple[EnergySolution | None, float]:
        """The plan of greatest utility within an energy, None where there is none, and what no such plan exceeds."""
        dear, thrifty = self.at(0.0), self.thriftiest
        if np.sum(thrifty.energy) > budget:
            return None, math.nan
        if np.sum(dear.energy) > budget:
            dear, thrifty = self._bracket(dear, thrifty, lambda one: float(np.sum(one.energy)) <= budget)
            gain = dear.utility - thrifty.utility
            thrifty = _moved(thrifty, dear, gain, thrifty.energy, dear.energy, budget)
        else:
            thrifty = dear
        bound = min(one.most + (one.price * budget if one.price else 0.0) for one in self.offers)
        return self._plan(thrifty), max(bound, float(np.sum(thrifty.utility)))

    def cheapest(self, demand: float) -> tuple[EnergySolution | None, float]:
        """The plan of least energy with a utility, None where there is none, and what no such plan goes below."""
        thrifty, dear = self.thriftiest, self.at(0.0)
        least = float(np.sum(thrifty.energy)) * (1 - _ROUNDING)
        if np.sum(thrifty.utility) >= demand:
            return self._plan(thrifty), least
        if np.sum(dear.utility) < demand:
            return None, math.nan
        thrifty, dear = self._bracket(thrifty, dear, lambda one: float(np.sum(one.utility)) >= demand, up=True)
        dear = _moved(dear, thrifty, dear.energy - thrifty.energy, -dear.utility, -thrifty.utility, -demand)
        proved = [(demand - one.most) / one.price for one in self.offers if one.price > 0]
        return self._plan(dear), min(max([least, *proved]), float(np.sum(dear.energy)))

    def _bracket(
        self, bad: _Offer, good: _Offer, kept: Callable[[_Offer], bool], *, up: bool = False
    ) -> tuple[_Offer, _Offer]:
        """Two plans, on both sides of the price at which the constraint is kept; towards a high price, or (`up`) a low one."""
        low, high = 1e-9, 1e-9
        while (one := self.at(high)).price < _FARTHEST and kept(one) is up:
            bad, good = (bad, one) if up else (one, good)
            low, high = high, 8 * high
        bad, good = (one, good) if up else (bad, one if kept(one) else good)
        for _ in range(_HALVINGS):
            middle = math.sqrt(low * high)
            if not low < middle < high:
                break
            one = self.at(middle)
            if kept(one):
                good = one
            else:
                bad = one
            low, high = (middle, high) if kept(one) is up else (low, middle)
        return bad, good

    def _plan(self, one: _Offer) -> EnergySolution:
        p = self.problem
        top = self.offers[0].utility  # alone, at no price
        return utility.described(self.fleet, p, one.x, one.Z, np.zeros(one.x.size, dtype=np.int64), top, "priced")


def _moved(
    kept: _Offer, other: _Offer, gain: FloatArray, spent: FloatArray, instead: FloatArray, limit: float
) -> _Offer:
    """One device after the other moved to the other plan where that gains and all together still spend no more than the limit."""
    cost, rows = instead - spent, np.zeros(gain.size, dtype=bool)
    rounding = 4 * gain.size * UNIT * (abs(limit) + float(np.sum(np.abs(spent)) + np.sum(np.abs(instead))))
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
