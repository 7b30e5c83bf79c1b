"""
A fleet that never overspends
=============================

A hundred devices train a model over the air. The meter lets a device send while its budget of epsilon = 5 lasts; without a
meter every device keeps sending, and nobody counts what it costs. Last, the same budget spread over all rounds.
"""

import matplotlib.pyplot as plt
import numpy as np

import airtight
from airtight.validate.experiments.training import metered_training
from airtight.validate.experiments.training.training_plan import Settings

rounds, devices = 60, 100
settings = Settings(hidden=(), rounds=rounds, local_steps=5, learning_rate=0.5)
system = airtight.InferenceSystem(
    devices=devices,
    participation=0.8,
    noise_variance=0.05,
    weight=1.0,
    clip=1.0,
    alignment=1.0,
    receiver_noise_variance=0.01,
    dimension=650,
    delta=1e-5,
    adjacency="silent",
)

# %%
# A round costs a device at most 1 / V, where V is the noise of some 80 devices. The design asks for the V of every round: a
# little less noise in later rounds, whose noise is not yet forgotten. (This model forgets slowly. With a contraction of .9
# instead of .97 the last curve ends lower than with constant noise.)
budget = airtight.Meter(5.0, 1e-5, devices=1).guarantee(0).amount
# few send more often
spread = airtight.spread_budget(
    0.97 ** np.arange(rounds - 1, -1, -1), budget=budget / 0.84
)
runs = {
    "no meter": metered_training.run(system, settings),
    "a meter": metered_training.run(system, settings, budget_epsilon=5.0),
    "a meter, the budget spread": metered_training.run(
        system,
        settings,
        budget_epsilon=5.0,
        noise_factor=spread.noise / 80 / 0.05,
    ),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
for name, found in runs.items():
    left.plot(
        found.accuracy, label=f"{name}: epsilon {np.max(found.epsilon):.3g}"
    )
    right.plot(np.sum(found.senders, axis=1), label=name)
left.set(xlabel="round", ylabel="accuracy", ylim=(0, 1))
right.set(xlabel="round", ylabel="devices that send", ylim=(0, None))
left.legend()
plt.tight_layout()
plt.show()

# %%
# Nobody with a meter has spent more than 5, and the noise of those who fell silent is never counted on.
print(
    {
        name: (
            round(float(found.accuracy[-1]), 3),
            round(float(np.max(found.epsilon)), 2),
        )
        for name, found in runs.items()
    }
)
