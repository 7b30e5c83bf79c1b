"""Random fleets for stress tests: most parameters vary over one to three decades around Table I of UF."""

from __future__ import annotations

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.fair.device import DeviceFleet, table_1


def wide(count: int, rng: np.random.Generator) -> DeviceFleet:
    """The devices among `count` random ones that can keep their deadline.

    Examples
    --------
    >>> bool(wide(100, np.random.default_rng(0)).feasible.all())
    True
    """

    def spread(low: float, high: float) -> FloatArray:
        return np.exp(rng.uniform(np.log(low), np.log(high), count))

    fleet = table_1(
        distance=rng.uniform(50, 200, count),
        channel_gain=spread(0.1, 3),
        deadline=spread(0.4, 3),
        compute_power=spread(0.01, 0.5),
        circuit_power=spread(0.001, 1),
        max_power=spread(0.01, 2),
        beta_1=spread(0.001, 1),
        beta_2=spread(0.005, 1),
        utility_energy=spread(0.02, 3),
        amplifier_efficiency=rng.uniform(0.2, 1, count),
        min_iterations=np.floor(rng.uniform(0, 20, count)),
    )
    return fleet.only(np.flatnonzero(fleet.feasible))
