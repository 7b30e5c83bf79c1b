"""
Error against epsilon, jointly designed
=======================================

Twelve views of handwritten digits. Weight, clip and decoder gain are designed together. The plot shows the least error for
each epsilon, and a proved lower bound for designs that treat all devices alike. They differ by 0.1 to 0.4 %.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import airtight

description = airtight.load(
    Path(airtight.__file__).parents[1] / "examples/good.toml"
)
task = description.task
epsilons = [0.5, 1.0, 2.0]
found = [
    airtight.design(
        description.inference,
        task.samples,
        margin=task.margin,
        minimise="error",
        epsilon_at_most=epsilon,
        energy_at_most=100.0,
        free=["weight", "clip", "decoder_gain"],
        alike=True,
    )
    for epsilon in epsilons
]
plt.plot(epsilons, [one.error for one in found], marker="o", label="design")
plt.plot(
    epsilons,
    [one.lower_bound for one in found],
    linestyle="--",
    label="proved lower bound",
)
plt.axhline(
    found[0].nothing.error,
    color="gray",
    linestyle=":",
    label="an output that ignores y",
)
plt.xlabel("epsilon at delta = 1e-5, silent")
plt.ylim(0)
plt.ylabel("mean squared error")
plt.legend()
plt.show()
