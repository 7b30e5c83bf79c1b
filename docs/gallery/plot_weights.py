"""
Weights under a privacy cap
===========================

The least error that a cap on the exact epsilon of every device allows, beside an output that ignores what was
received: below that line a design is of some use.
"""

from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt

import airtight

description = airtight.load(
    Path(airtight.__file__).parents[1] / "examples/paper.toml"
)
features = description.task.features
system = replace(description.inference, adjacency="silent")
nothing = airtight.baseline(features)["mse"]
caps = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
for cap, label in (
    ("exact", "what the exact epsilon allows"),
    ("eq23", "what Theorem 1 would allow"),
):
    found = [
        airtight.solve_weights(
            system, features, epsilon_cap=e, cap=cap, sums_to_one=False
        )
        for e in caps
    ]
    plt.semilogx(
        caps, [one.exact_mse for one in found], marker="o", label=label
    )
plt.axhline(
    nothing, color="gray", linestyle=":", label="an output that ignores y"
)
plt.xlabel("cap on epsilon, silent")
plt.ylabel("exact MSE")
plt.legend()
plt.show()
