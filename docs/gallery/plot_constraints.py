"""
Weights with constraints of one's own
=====================================

One device may not weigh more than .05, two must weigh the same. The constraints are cvxpy's, the certificate is that of the
problem with them, and the price says what the next unit of epsilon is worth.
"""

from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import airtight

description = airtight.load(
    Path(airtight.__file__).parents[1] / "examples/good.toml"
)
features = description.task.features
system = replace(description.inference, adjacency="silent", decoder_gain=1.0)
K = system.devices


def house_rules(w):
    return [w[0] <= 0.05, w[1] == w[K - 1]]


cap = 4.0
free = airtight.solve_weights(system, features, epsilon_cap=cap)
ruled = airtight.solve_weights(
    system, features, epsilon_cap=cap, constraints=house_rules
)
print(
    f"error {free.exact_mse:.4f}, with the rules {ruled.exact_mse:.4f}, gap "
    f"{ruled.certificate.duality_gap:.1g}"
)
print(free.price, "|", ruled.price)
devices = np.arange(K)
plt.bar(devices - 0.2, free.w, width=0.4, label="without rules")
plt.bar(devices + 0.2, ruled.w, width=0.4, label="w_0 at most .05, w_1 = w_11")
plt.plot(
    devices,
    np.minimum(free.w_max, 0.5),
    "k_",
    markersize=14,
    label="what the cap on epsilon allows (up to .5)",
)
plt.xlabel("device")
plt.ylabel("weight")
plt.legend()
plt.show()
