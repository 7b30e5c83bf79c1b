"""
Two hundred rounds
===================

Epsilon grows with the number of rounds. The plot shows a safe upper bound for three kinds of neighbours.
"""

import matplotlib.pyplot as plt

import airtight

rounds = [1, 3, 10, 30, 100, 300]
for adjacency in ("silent", "replace", "absent"):
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
        adjacency=adjacency,
        # else the drop of the received power tells who stays away
        idle_noise=adjacency == "absent",
    )
    one = airtight.curve(system)
    label = adjacency + (", idle noise" if system.idle_noise else "")
    plt.loglog(
        rounds,
        [one.compose(count).epsilon(system.delta) for count in rounds],
        marker="o",
        label=label,
    )
plt.xlabel("rounds T")
plt.ylabel("epsilon at delta = 1e-5")
plt.legend(title="neighbour")
plt.show()
