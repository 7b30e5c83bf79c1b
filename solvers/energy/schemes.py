r"""The benchmark scheme of UF Sec. IV and its variants, and how evenly energy is spent over a fleet.

What the paper calls proportional utility fairness is, for a wide range of parameters, target tracking: at an optimum with
the delay constraint active the energy exceeds :math:`\varrho/2` by
:math:`\tfrac{\beta_1}{2\beta_2}e^{-y/\beta_2}/(1+m'/P_{cp})`, which vanishes with :math:`\beta_1/\beta_2`, deviation
factor or not.
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
    """Energy over the devices: mean and standard deviation (population), J."""

    mean: float
    std: float

    @classmethod
    def of(cls, energy: FloatArray) -> Spread:
        return cls(float(np.mean(energy)), float(np.std(energy)))


def benchmark_energy(fleet: DeviceFleet, *, power: float | None = None) -> FloatArray:
    """Energy of the benchmark as described: the greatest number of iterations, sent at the greatest power (or at `power`).

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> spread = Spread.of(benchmark_energy(table_1(distance=np.linspace(50, 200, 10))))
    >>> round(1e3 * spread.mean, 2), round(1e3 * spread.std, 2)
    (500.47, 55.55)
    """
    sent = fleet.max_power if power is None else checks.vector("power", power, fleet.devices, "(0, 1e100]")
    return fleet.energy(np.maximum(fleet.iterations_left(fleet.transmit_time(sent)), 0.0), sent)


def linear_cost_energy(fleet: DeviceFleet, price: float) -> FloatArray:
    r"""Energy when each device maximises :math:`\beta_1(1-e^{-E_{cp}/\beta_2}) - \lambda E` instead of (30).

    Parameters
    ----------
    price : float
        lambda > 0, 1/J.

    Notes
    -----
    Concave. Without the delay constraint :math:`y = \beta_2\log\frac{\beta_1}{\lambda\beta_2}` at :math:`Z_0`; on the delay edge
    :math:`\log\lambda(1+m'/P_{cp}) + y/\beta_2 = \log(\beta_1/\beta_2)`, rising in Z.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> energy = linear_cost_energy(table_1(distance=np.linspace(50, 200, 10), beta_1=0.02), 0.00124)
    >>> round(1e3 * float(energy.std()), 1)
    63.2
    """
    lam = checks.scalar("price", price, "(0, inf)")
    p = Problem.of(fleet)
    Z = np.minimum(p.Z_0, p.Z_max)
    x = np.maximum(p.beta_2 / p.P_cp * np.log(np.maximum(p.beta_1 / (lam * p.beta_2), 1e-300)), p.x_min)
    late = x + p.a / Z > p.T
    low, high = np.maximum(Z, p.a / (p.T - p.x_min)), p.Z_max.copy()
    for _ in range(100):
        middle = 0.5 * (low + high)
        y = p.P_cp * (p.T - p.a / middle)
        over = np.log(lam * (1 + p.saving(middle) / p.P_cp)) + y / p.beta_2 >= np.log(p.beta_1 / p.beta_2)
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    Z = np.where(late, high, Z)
    return p.energy(np.where(late, p.T - p.a / Z, x), Z)


def power_for_mean(fleet: DeviceFleet, mean: float) -> float:
    """The common power at which the benchmark's mean energy is as asked, J; below the fleet's greatest power.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> round(power_for_mean(table_1(distance=np.linspace(50, 200, 10)), 0.2855), 3)
    0.471
    """
    goal = checks.scalar("mean", mean, "(0, inf)")
    top = float(np.min(fleet.max_power))

    def excess(log_power: float) -> float:
        return float(np.mean(benchmark_energy(fleet, power=float(np.exp(log_power))))) - goal

    least = float(np.log(np.max(fleet.min_power)))
    return float(np.exp(brentq(excess, least, np.log(top), xtol=1e-12)))


def price_for_mean(fleet: DeviceFleet, mean: float) -> float:
    """The price at which the linear-cost scheme's mean energy is as asked, 1/J.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> round(price_for_mean(table_1(distance=np.linspace(50, 200, 10), beta_1=0.02), 0.2855), 5)
    0.00124
    """
    goal = checks.scalar("mean", mean, "(0, inf)")

    def excess(log_price: float) -> float:
        return float(np.mean(linear_cost_energy(fleet, float(np.exp(log_price))))) - goal

    return float(np.exp(brentq(excess, -40.0, 10.0, xtol=1e-12)))


@dataclass(frozen=True)
class Comparison:
    """What the proposed scheme saves against a benchmark: shares of its standard deviation and of its mean."""

    std_cut: float
    mean_cut: float
    proposed: Spread
    benchmark: Spread


def compare(fleet: DeviceFleet, benchmark: FloatArray) -> Comparison:
    """The proposed scheme (optimal utilities) against the energies of a benchmark.

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
    """The fleet in rounds of Rayleigh fading: abs(h)^2 exponential with the given mean, drawn afresh for every device.

    Rounds in which a device cannot keep its deadline keep it: check ``feasible``.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> len(faded(table_1(), 3, np.random.default_rng(0)))
    3
    """
    count, scale = checks.count("rounds", rounds), checks.scalar("mean_gain", mean_gain, "(0, inf)")
    gains = rng.exponential(scale, (count, fleet.devices))
    return [replace(fleet, channel_gain=np.maximum(row, 1e-100)) for row in gains]
