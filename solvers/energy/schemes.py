r"""The benchmark scheme of UF Sec. IV, its variants, and the spread of the energy over a fleet.

The proportional utility fairness of the paper is, for a wide range of parameters, the tracking of an energy target: at
an optimum with the delay constraint active, the energy exceeds :math:`\varrho/2` by
:math:`\tfrac{\beta_1}{2\beta_2}e^{-y/\beta_2}/(1+m'/P_{cp})`, which vanishes with :math:`\beta_1/\beta_2`, with or
without the deviation factor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.solvers import energy as energy_utility
from airtight.solvers.energy.energy_problem import Problem


@dataclass(frozen=True)
class Spread:
    """Mean and population standard deviation of the energy over the devices, in J."""

    mean: float
    std: float

    @classmethod
    def of(cls, energy: FloatArray) -> Spread:
        return cls(float(np.mean(energy)), float(np.std(energy)))


def benchmark_energy(fleet: DeviceFleet, *, power: float | None = None) -> FloatArray:
    """Energy of the benchmark: the greatest number of iterations, transmitted at the greatest power (or at `power`).

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> spread = Spread.of(benchmark_energy(table_1(distance=np.linspace(50, 200, 10))))
    >>> round(1e3 * spread.mean, 2), round(1e3 * spread.std, 2)
    (500.47, 55.55)
    """
    powers = fleet.max_power if power is None else checks.vector("power", power, fleet.devices, "(0, 1e100]")
    return fleet.energy(np.maximum(fleet.iterations_left(fleet.transmit_time(powers)), 0.0), powers)


def linear_cost_energy(fleet: DeviceFleet, price: float) -> FloatArray:
    r"""Energy when each device maximises :math:`\beta_1(1-e^{-E_{cp}/\beta_2}) - \lambda E` instead of (30).

    Parameters
    ----------
    price : float
        lambda > 0, 1/J.

    Notes
    -----
    The objective is concave. Without the delay constraint the optimum is
    :math:`y = \beta_2\log\frac{\beta_1}{\lambda\beta_2}` at :math:`Z_0`. On the delay edge it is the root of
    :math:`\log\lambda(1+m'/P_{cp}) + y/\beta_2 = \log(\beta_1/\beta_2)`, whose left side increases in Z.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> energy = linear_cost_energy(table_1(distance=np.linspace(50, 200, 10), beta_1=0.02), 0.00124)
    >>> round(1e3 * float(energy.std()), 1)
    63.2
    """
    price_value = checks.scalar("price", price, "(0, inf)")
    problem = Problem.of(fleet)
    Z = np.minimum(problem.Z_0, problem.Z_max)
    x = np.maximum(
        problem.beta_2 / problem.P_cp * np.log(np.maximum(problem.beta_1 / (price_value * problem.beta_2), 1e-300)),
        problem.x_min,
    )
    late = x + problem.a / Z > problem.T
    low, high = np.maximum(Z, problem.a / (problem.T - problem.x_min)), problem.Z_max.copy()
    for _ in range(100):
        middle = 0.5 * (low + high)
        y = problem.P_cp * (problem.T - problem.a / middle)
        over = np.log(price_value * (1 + problem.saving(middle) / problem.P_cp)) + y / problem.beta_2 >= np.log(
            problem.beta_1 / problem.beta_2
        )
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    Z = np.where(late, high, Z)
    return problem.energy(np.where(late, problem.T - problem.a / Z, x), Z)


def power_for_mean(fleet: DeviceFleet, mean: float) -> float:
    """The common power (W) at which the mean energy of the benchmark is `mean` (J); at most the least maximum power.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> round(power_for_mean(table_1(distance=np.linspace(50, 200, 10)), 0.2855), 3)
    0.471
    """
    target = checks.scalar("mean", mean, "(0, inf)")
    greatest_power = float(np.min(fleet.max_power))

    def excess(log_power: float) -> float:
        return float(np.mean(benchmark_energy(fleet, power=float(np.exp(log_power))))) - target

    least_log_power = float(np.log(np.max(fleet.min_power)))
    return float(np.exp(brentq(excess, least_log_power, np.log(greatest_power), xtol=1e-12)))


def price_for_mean(fleet: DeviceFleet, mean: float) -> float:
    """The price (1/J) at which the mean energy of the linear-cost scheme is `mean` (J).

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> round(price_for_mean(table_1(distance=np.linspace(50, 200, 10), beta_1=0.02), 0.2855), 5)
    0.00124
    """
    target = checks.scalar("mean", mean, "(0, inf)")

    def excess(log_price: float) -> float:
        return float(np.mean(linear_cost_energy(fleet, float(np.exp(log_price))))) - target

    return float(np.exp(brentq(excess, -40.0, 10.0, xtol=1e-12)))


@dataclass(frozen=True)
class Comparison:
    """Relative reduction of the standard deviation and of the mean of the energy by the proposed scheme."""

    std_cut: float
    mean_cut: float
    proposed: Spread
    benchmark: Spread


def compare(fleet: DeviceFleet, benchmark: FloatArray) -> Comparison:
    """Compare the energies of the proposed scheme (optimal utilities) with those of a benchmark.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> fleet = table_1(distance=np.linspace(50, 200, 10), beta_1=0.02)
    >>> cut = compare(fleet, benchmark_energy(fleet))
    >>> round(100 * cut.std_cut, 2), round(100 * cut.mean_cut, 1)
    (99.49, 49.9)
    """
    proposed, other = Spread.of(energy_utility.solve(fleet).energy), Spread.of(benchmark)
    return Comparison(1 - proposed.std / other.std, 1 - proposed.mean / other.mean, proposed, other)


def faded(fleet: DeviceFleet, rounds: int, rng: np.random.Generator, *, mean_gain: float = 1.0) -> list[DeviceFleet]:
    """The fleet in rounds of Rayleigh fading.

    abs(h)^2 is exponential with the given mean and independent over devices and rounds. The list includes rounds in
    which a device cannot keep its deadline; check ``feasible``.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> len(faded(table_1(), 3, np.random.default_rng(0)))
    3
    """
    rounds, scale = checks.count("rounds", rounds), checks.scalar("mean_gain", mean_gain, "(0, inf)")
    gains = rng.exponential(scale, (rounds, fleet.devices))
    return [replace(fleet, channel_gain=np.maximum(row, 1e-100)) for row in gains]
