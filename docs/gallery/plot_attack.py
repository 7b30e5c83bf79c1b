"""
What an attacker reaches
========================

The best attack's true positives against its false positives: whether a device's feature is in what the server
received, once and after a hundred rounds.
"""

import matplotlib.pyplot as plt
import numpy as np

import airtight

system = airtight.InferenceSystem(
    devices=12,
    participation=0.9,
    noise_variance=0.1,
    weight=1 / 12,
    clip=1.0,
    alignment=1.0,
    receiver_noise_variance=0.1,
    dimension=784,
    delta=1e-5,
    delta_prime=1e-5,
    adjacency="silent",
)
one = airtight.curve(system)
false = np.geomspace(1e-4, 1.0, 40)
for count in (1, 10, 100):
    plt.loglog(false, one.compose(count).tpr(false), label=f"{count} rounds")
plt.loglog(false, false, color="gray", linestyle=":", label="guessing")
plt.xlabel("false positives")
plt.ylabel("true positives")
plt.legend()
plt.show()
