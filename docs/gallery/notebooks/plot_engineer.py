"""
From a link budget to a plan
============================

For a reader who has devices, a channel and a deadline: what each device should do, with a proof, and what it costs.
"""

import numpy as np

from airtight.analytics.federated.fair.device import table_1
from airtight.solvers import energy
from airtight.solvers.energy import schemes

fleet = table_1(distance=np.linspace(50, 200, 10))
plan = energy.solve(fleet)
assert plan.is_optimal()
{
    "iterations": plan.iterations.round(1),
    "power (mW)": (1e3 * plan.power).round(2),
    "energy (mJ)": (1e3 * plan.energy).round(1),
}

# %%
# Beside the benchmark of the paper, and beside its own Theorem 2.

cut = schemes.compare(fleet, schemes.benchmark_energy(fleet))
lost = energy.solve(fleet, method="published").gap
assert cut.std_cut > 0 and np.nanmax(lost) >= 0
cut.std_cut, cut.mean_cut

# %%
# Weights for inference over the air, under a cap on the exact epsilon of every device,
# and whether they beat an output that ignores y.

import airtight
from airtight.solvers import weights

rng = np.random.default_rng(0)
system = airtight.InferenceSystem(
    devices=12,
    participation=0.9,
    noise_variance=0.05,
    weight=1 / 12,
    clip=3.0,
    alignment=1.0,
    receiver_noise_variance=0.1,
    dimension=4,
    delta=1e-5,
    delta_prime=1e-5,
    adjacency="silent",
)
views = airtight.Features(
    f=2 + rng.normal(size=(12, 8)), W=np.eye(4, 8), D=np.eye(8, 4)
)
best = weights.solve(system, views, epsilon_cap=2.0)
assert best.is_optimal() and best.exact_mse <= airtight.mse(system, views)
best.exact_mse, airtight.mse(system, views), float(views.target @ views.target)
