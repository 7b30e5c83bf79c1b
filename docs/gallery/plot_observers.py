"""
Who looks, and how long the code is
===================================

One device that takes part in one round of ten, among nineteen that always do. Hidden in the sum it is well protected
by a short code; a long one betrays the noise that it brings along.
"""

import matplotlib.pyplot as plt

import airtight

lengths = [1, 8, 64, 784, 25088]
for observer in ("participants", "others"):
    found = [
        airtight.epsilon(
            airtight.InferenceSystem(
                devices=20,
                participation=[0.1] + 19 * [1.0],
                noise_variance=0.1,
                weight=0.316,
                clip=1.0,
                alignment=1.0,
                receiver_noise_variance=0.0,
                dimension=r,
                delta=1e-5,
                delta_prime=1e-5,
                adjacency="silent",
            ),
            observer=observer,
        )[0]
        for r in lengths
    ]
    plt.plot(lengths, found, marker="o", label=observer)
plt.xscale("log")
plt.ylim(0)
plt.xlabel("encoded dimension r")
plt.ylabel("epsilon at delta = 1e-5, silent")
plt.legend(title="the server sees y and the")
plt.show()
