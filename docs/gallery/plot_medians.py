"""
Medians over the channel
========================

The page Channel quotes medians of epsilon for twelve devices of which one antenna shows epsilon = 1. They are computed here
from the tables of a system file, with many states and with an interval: a median of a sample is itself random, and the second
digits of medians that have been quoted before are those of one sample.
"""

import tomllib
from pathlib import Path

import numpy as np
from scipy import special
from scipy.optimize import brentq

import airtight
from airtight.analytics.privacy.over_the_air.multi_antenna import (
    channel_privacy,
)
from airtight.system_file import config

FILE = """
[inference]
devices = 12
participation = 1.0
noise_variance = 0.1
weight = {weight}
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.1
dimension = 784
delta = 1e-5
adjacency = "silent"

[inference.channel]
model = "{model}"
antennas = {antennas}
fading = "rayleigh"
states = {states}
"""
QUOTED = {
    "complex": {1: 1.000, 2: 1.22, 4: 1.81, 8: 3.08, 64: 4.17},
    "real": {1: 1.000, 2: 1.49, 4: 2.61, 8: 3.76, 64: 4.18},
}


def described(weight, model, antennas, states):
    text = FILE.format(
        weight=weight, model=model, antennas=antennas, states=states
    )
    found = config.described(tomllib.loads(text), Path("-"), channel=True)
    return found.inference.one_round, found.inference.channel


def median(system, channel):
    """The median over states and devices with an interval of 95 %; the devices
    of one state depend on each other.
    """
    given = channel_privacy.epsilon_by_state(system, channel)
    pooled = np.sort(given.ravel())
    middle = float(np.median(pooled))
    spread = float(np.std(np.mean(given <= middle, axis=1))) / np.sqrt(
        len(given)
    )
    ends = np.clip(
        0.5 + np.array([-1, 1]) * special.ndtri(0.975) * spread, 0, 1
    )
    return middle, *np.quantile(pooled, ends)


# %%
# The weight with which one antenna shows epsilon = 1.
weight = brentq(
    lambda w: float(airtight.epsilon(described(w, "complex", 1, 1)[0])[0]) - 1,
    0.01,
    3,
)

# %%
# The looks of a state, and epsilon given the state. No guarantee: that is the mean of delta, which the bad states dominate.
for model, quoted in QUOTED.items():
    for antennas, said in quoted.items():
        states = 200 if antennas == 64 else 2000
        value, low, high = median(*described(weight, model, antennas, states))
        print(
            f"{model:8} M = {antennas:2}: {value:.3f} in [{low:.3f}, "
            f"{high:.3f}] ({states} states), quoted {said:.3f}"
        )
