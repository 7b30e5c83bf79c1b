"""
What devices at a distance should do
====================================

Iterations and transmit power of greatest utility for a fleet from 50 to 200 metres, each proved: no device has more
than its gap to win.
"""

import matplotlib.pyplot as plt
import numpy as np

import airtight
from airtight.analytics.federated.fair.device import table_1

distance = np.linspace(50, 200, 31)
best = airtight.solve_energy(table_1(distance=distance))
_, (above, below) = plt.subplots(2, sharex=True)
above.plot(distance, best.iterations)
above.set_ylabel("iterations")
below.plot(distance, 1e3 * best.power)
below.set_ylabel("power (mW)")
below.set_xlabel("distance (m)")
print(f"greatest gap: {best.gap.max():.1e} J")
plt.show()
