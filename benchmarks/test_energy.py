"""Speed of the energy-utility problem, per device, beside re-solving the parametrised cone program."""

import resource

import numpy as np
import pytest

from airtight.solvers import energy as energy_utility
from airtight.validate.experiments.monte_carlo.fleets import wide


@pytest.mark.benchmark(group="energy-utility, closed form")
@pytest.mark.parametrize("devices", [1_000, 100_000, 1_000_000])
def test_closed_form(benchmark, devices):
    fleet = wide(devices, np.random.default_rng(0))
    found = benchmark.pedantic(energy_utility.solve, (fleet,), rounds=2)
    benchmark.extra_info["devices"] = fleet.devices
    benchmark.extra_info["accuracy"] = float(np.max(found.gap / found.scale))
    benchmark.extra_info["peak memory, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.benchmark(group="energy-utility, cvxpy + Clarabel, parametrised (100 devices)")
def test_conic(benchmark):
    fleet = wide(100, np.random.default_rng(0))
    energy_utility.solve(fleet, method="cvxpy")
    benchmark.pedantic(energy_utility.solve, (fleet,), {"method": "cvxpy"}, rounds=2)
    benchmark.extra_info["devices"] = fleet.devices
