"""
From distances to epsilon
=========================

Twelve devices stand 5 to 30 m from a server with one to eight antennas. Each inverts its own Rayleigh fading towards the first
antenna as far as its power allows, and sends its feature with noise. What does the server learn of one device, what noise
keeps epsilon at 2, and is the decoded feature then worth anything?
"""

import matplotlib.pyplot as plt
import numpy as np

import airtight
from airtight.analytics.inference import combiner, decoding
from airtight.solvers.design import channel_noise

devices, antennas = 12, [1, 2, 4, 8]
rng = np.random.default_rng(0)
system = airtight.InferenceSystem(
    devices=devices,
    participation=1.0,  # max_power decides it below
    noise_variance=0.002,
    weight=1 / devices,
    clip=1.0,
    alignment=1e-3,
    receiver_noise_variance=1e-10,  # W
    dimension=16,
    delta=1e-5,
    adjacency="silent",
)
setting = {
    "fading": "rayleigh",
    "distance": np.linspace(5, 30, devices),
    "path_loss_exponent": 2.5,
    "max_power": 1e-3,  # W
    "states": 100,
}

# %%
# The power limit decides who sends. Epsilon is that of the law of the channel: the mean of delta over its states.
channels = {M: airtight.Channel(antennas=M, **setting) for M in antennas}
sending = channels[1].with_participation(system)
print("sends:", sending.participation.round(3))
worst = {
    M: float(airtight.epsilon(sending.replace(channel=channel)).max().round(2))
    for M, channel in channels.items()
}
print("epsilon of the worst device:", worst)

# %%
# The price of an antenna: the noise that keeps epsilon at 2. More noise needs more power, so that fewer devices send.
kept = {
    M: channel_noise.calibrate(sending, channel, 2.0)
    for M, channel in channels.items()
}

# %%
# What the noise leaves of the feature, with the best combination of the antennas, beside an output that ignores them: views
# of one feature, half of which agree.
f = 0.3 * rng.standard_normal(16) + 0.1 * rng.standard_normal((devices, 16))
features = airtight.Features(
    f=f, W=np.repeat(np.eye(16)[None], devices, axis=0), D=np.eye(16)
)
nothing = decoding.constant_output(features)
error = {
    M: float(np.mean(combiner.best(kept[M].system, features, channels[M]).mse))
    for M in antennas
}
free = {
    M: float(np.mean(combiner.best(sending, features, channels[M]).mse))
    for M in antennas
}

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
left.loglog(antennas, [kept[M].value[0] for M in antennas], "o-")
left.set(
    xlabel="antennas",
    ylabel="noise variance that keeps epsilon = 2",
    xticks=antennas,
    xticklabels=antennas,
)
left.minorticks_off()
right.semilogx(
    antennas, [free[M] for M in antennas], "s:", label="the same noise for all"
)
right.semilogx(
    antennas, [error[M] for M in antennas], "o-", label="epsilon = 2"
)
right.axhline(
    nothing,
    color="grey",
    linestyle="--",
    label="an output that ignores the antennas",
)
right.set(
    xlabel="antennas",
    ylabel="mean squared error",
    ylim=(0, None),
    xticks=antennas,
    xticklabels=antennas,
)
right.minorticks_off()
right.legend(fontsize=8)
plt.tight_layout()
plt.show()
print(
    {
        M: (float(kept[M].value[0].round(5)), round(error[M], 3))
        for M in antennas
    },
    "nothing:",
    round(nothing, 3),
)
