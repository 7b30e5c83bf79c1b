"""Random feasible devices, everything spread over one to three decades."""

import dataclasses

import numpy as np

from analytics.federated.device import DeviceFleet, table_1


def wide(count, seed):
    rng = np.random.default_rng(seed)

    def spread(low, high):
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
    )
    keep = np.flatnonzero(fleet.feasible)
    return DeviceFleet(**{f.name: getattr(fleet, f.name)[keep] for f in dataclasses.fields(fleet)})
