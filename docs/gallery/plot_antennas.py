"""
The price of an antenna
=======================

Do more antennas of the server help or harm? They average its noise, and they undo the superposition in which the devices hide
each other. With the same noise of the devices, the error falls and epsilon rises. At a fixed epsilon the devices must add noise,
and the answer depends on the receiver's noise: below a certain variance a second antenna harms, above it helps.
"""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import airtight
from airtight.solvers.design.antenna_price import turning_noise

devices, antennas, target = 12, [1, 2, 4, 8], 1.0
rng = np.random.default_rng(0)
system = airtight.InferenceSystem(
    devices=devices,
    participation=1.0,
    noise_variance=0.1,
    weight=1 / devices,
    clip=1.5,
    alignment=1.0,
    receiver_noise_variance=0.01,
    dimension=16,
    delta=1e-5,
    adjacency="silent",
)
channel = airtight.Channel(model="complex", fading="rayleigh", states=30)
f = 0.3 * rng.standard_normal(16) + 0.1 * rng.standard_normal((devices, 16))
features = airtight.Features(
    f=f, W=np.repeat(np.eye(16)[None], devices, axis=0), D=np.eye(16)
)

# %%
# Epsilon of the worst device at the given noise, and the factor on this noise that keeps epsilon = 1. ``absent`` without idle
# noise has no such factor with more than one antenna: there the device's own noise gives it away.
systems = {
    "silent": system,
    "replace": replace(system, adjacency="replace"),
    "absent": replace(system, adjacency="absent"),
    "absent, idle noise": replace(system, adjacency="absent", idle_noise=True),
}
prices = {}
for name, one in systems.items():
    prices[name] = airtight.antenna_price(
        one.replace(channel=channel),
        antennas,
        epsilon=target,
        features=features,
    )
    print(
        name,
        "epsilon",
        prices[name].epsilon.round(2),
        "noise times",
        prices[name].noise_factor.round(2),
    )

# %%
# At epsilon = 1, the error of the best combination of eight antennas over that of one, against the receiver's noise.
noises = np.geomspace(0.1, 100, 5)
ratio = [
    np.divide(*airtight.antenna_price(
        system.replace(receiver_noise_variance=N, channel=channel),
        [8, 1],
        epsilon=target,
        features=features,
    ).error_kept)
    for N in noises
]  # fmt: skip
turn = turning_noise(
    system.replace(channel=channel),
    features,
    (1, 8),
    epsilon=target,
    between=(0.1, 100.0),
    steps=5,
)
print(
    "eight antennas harm below and help above a receiver's noise between", turn
)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.5))
for name, price in prices.items():
    left.loglog(antennas, price.epsilon, "o-", label=name)
    shown = np.isfinite(price.error_kept)
    middle.semilogx(
        np.array(antennas)[shown], price.error_kept[shown], "o-", label=name
    )
left.set(xlabel="antennas", ylabel="epsilon at the same noise")
middle.axhline(
    prices["silent"].constant_output,
    color="grey",
    linestyle="--",
    label="ignoring the antennas",
)
middle.set(xlabel="antennas", ylabel="mean squared error at epsilon = 1")
for axes in (left, middle):
    axes.set_xticks(antennas, [str(M) for M in antennas])
    axes.minorticks_off()
left.legend(fontsize=7)
middle.legend(fontsize=7)
right.semilogx(noises, ratio, "o-")
right.axhline(1.0, color="grey", linestyle="--")
right.set(
    xlabel="variance of the receiver's noise",
    ylabel="error, eight antennas over one",
)
plt.tight_layout()
plt.show()
