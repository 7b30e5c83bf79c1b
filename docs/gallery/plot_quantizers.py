"""
One bit, two clients
====================

The worst error of the sum of two clients' parameters, one bit each: quantizers that know nothing of each other, and
ones correlated by five shared random bits.
"""

import matplotlib.pyplot as plt
import numpy as np

from airtight.analytics.federated.corbin import quantizers

epsilon = np.geomspace(0.1, 10.0, 25)
w = np.linspace(-1, 1, 41)
first, second = np.meshgrid(w, w)
for bits, label in ((0, "independent"), (5, "correlated")):
    worst = [
        quantizers.pair_mse(first, second, epsilon=float(e), bits=bits).max()
        for e in epsilon
    ]
    plt.loglog(epsilon, worst, label=label)
plt.xlabel("epsilon of a parameter")
plt.ylabel("worst squared error of the sum, radius 1")
plt.legend()
plt.show()
