"""
Do more antennas leak?
======================

Two papers seem to contradict each other. "A multiple-antenna server amplifies privacy leakage", because it combines its antennas
once for the sum and once more for inference, so that noise of the devices is necessary (arXiv 2306.10982). "Differential privacy
can be gained as a perk even without any artificial noise", by receive beamforming and power (arXiv 2510.23463). Both are right,
about other observers. Read were the abstracts and the code of the second (HauLiang/AirFL-DP, commit b7d317c), not the theorems.
What follows is a model of what they posit, with our parameters: K devices, Rayleigh fading, a server that knows the channel, and

- ``aggregate``: who sees one combination of the antennas, zero forcing, in which every device arrives with coefficient 1;
- ``server``: who sees all antennas, and knows the others' updates, as differential privacy has it.

Neighbours differ in one device's update (``replace``), everybody takes part, delta is 1e-5. Epsilon given a channel is exact to
the digits shown. Medians are over channels, of the worst device, with an interval of 95 % that assumes nothing about their law.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from scipy.optimize import brentq

import airtight
from airtight.analytics.privacy.over_the_air.multi_antenna import (
    channel_privacy,
)

K, states = 10, 301


def system(noise, own=0.0, adjacency="replace"):
    """K devices whose sum has the receiver's noise `noise`; each adds noise of
    variance `own`.
    """
    return airtight.InferenceSystem(
        devices=K,
        participation=1.0,
        noise_variance=own,
        weight=1 / K,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=noise,
        dimension=16,
        delta=1e-5,
        adjacency=adjacency,
    )


def drawn(M):
    """Channels (states, K, M), and the zero-forcing combination of each: w* a_k
    = 1 for all k.
    """
    rng = np.random.default_rng(M)
    a = (
        rng.standard_normal((states, K, M))
        + 1j * rng.standard_normal((states, K, M))
    ) / np.sqrt(2)
    A = np.swapaxes(a, 1, 2)
    return a, (
        A
        @ np.linalg.solve(
            np.swapaxes(A, 1, 2).conj() @ A, np.ones((states, K, 1))
        )
    )[..., 0]


def median(values):
    """The median with an interval of 95 % between order statistics."""
    ordered, n = np.sort(values), len(values)
    low = int(stats.binom.ppf(0.025, n, 0.5))
    return ordered[n // 2], ordered[low - 1], ordered[n - low]


def server(M, given):
    """Epsilon of the worst device against the server, by channel; the power
    makes the sum's noise that of one look.
    """
    a, w = drawn(M)
    scale = np.linalg.norm(w, axis=1)
    return channel_privacy.epsilon_by_state(
        given, airtight.Channel(model="complex", looks=a * scale[:, None, None])
    ).max(axis=1)


# %%
# **The same sum, more antennas.** The noise of the sum is such that epsilon = 1 against ``aggregate``, whatever the number of
# antennas. One antenna, whose channels the devices invert, is all that there is to see. With more, the server sees a device
# about sqrt(K M / (M - K)) times as clearly: the superposition hides nobody, and the price is a factor of up to sqrt(K) even for
# countless antennas.
noise = brentq(lambda N: float(airtight.epsilon(system(N))[0]) - 1, 1e-3, 10)
antennas = [11, 12, 16, 32, 100]
shown = {M: median(server(M, system(noise))) for M in antennas}
print(f"one antenna: epsilon 1 for both; noise of the sum {noise:.4f}")
for M, (value, low, high) in shown.items():
    print(f"M = {M:3}: aggregate 1, server {value:.3f} [{low:.3f}, {high:.3f}]")

# %%
# **A longer combination.** The code of the second paper lengthens w beyond zero forcing's norm where the privacy budget asks for
# it. That adds noise to the sum, and epsilon falls for whoever sees the sum; the server has what it had.
for longer in (1, 2, 4):
    aggregate = float(airtight.epsilon(system(noise * longer**2))[0])
    print(
        f"|w| times {longer}: aggregate {aggregate:.4f}, server (M = 16) "
        f"{shown[16][0]:.3f}"
    )

# %%
# **Without artificial noise, against the server.** It suffices to send with less power: the noise ``N / |a_k|^2`` has to be what
# keeps epsilon = 1, and the sum then has about K M / (M - K) times that noise. With noise of the devices instead, and power
# without limit, it has K times that noise. So artificial noise is not necessary for privacy, but the least error needs it: the
# factor M / (M - K) is 11 for one antenna more than devices, and 1.1 for a hundred. Where the power may not fall, because
# the sum needs it, the first paper is right that the receiver's noise cannot meet a high requirement (the table above).
for M in antennas:
    a, w = drawn(M)
    # of the device that is seen best
    gain = np.sum(np.abs(a) ** 2, axis=2).max(axis=1)
    perk = median(noise * np.sum(np.abs(w) ** 2, axis=1) * gain)
    print(
        f"M = {M:3}: noise of the sum {perk[0]:.2f} [{perk[1]:.2f}, "
        f"{perk[2]:.2f}], {K * noise:.2f} with artificial noise"
    )

# %%
# **Which noise is counted.** Artificial noise of the others is no noise to a server with M > K antennas: it cancels them. A
# device's own is, if it is there whatever the device sends. If neighbours differ in whether the device is there (``absent``),
# its noise leaves with it, which the server sees: then artificial noise harms, and the receiver's alone protects.
for adjacency in ("replace", "absent"):
    for own in (0.0, noise / K, noise):
        value, low, high = median(server(16, system(noise, own, adjacency)))
        print(
            f"{adjacency:7} own noise {own:.3f}: server (M = 16) {value:.3f} "
            f"[{low:.3f}, {high:.3f}]"
        )

# %%
# **Inversion without a limit.** Where each device inverts its channel to one antenna, as in the feature paper, those in a fade
# shout at the others. Given a typical state epsilon is moderate; the guarantee, which averages delta over the states, is not.
# With a limit of the power the device in a fade stays silent. For a server that does not know the channel no smaller number is
# proved, only no lower end (it sees no more). All are exact for the law of these 200 states, of which one in a fade decides.
for name, keys in {
    "inverted": {},
    "inverted, power limit": {"max_power": 1.0},
    "unknown": {"known": False},
}.items():
    channel = airtight.Channel(
        model="complex", antennas=4, fading="rayleigh", states=200, **keys
    )
    one = channel.with_participation(system(noise, 0.0))
    low, high = channel_privacy.bracket(
        one, channel, device=0, observer="signal"
    )[:2]
    given = np.median(channel_privacy.epsilon_by_state(one, channel))
    print(
        f"{name:22} sends {one.participation[0]:.4f}, signal [{low:.2f}, "
        f"{high:.2f}], median given a state {given:.2f}"
    )

# %%
# In short: the first paper is right of the server that is curious, the second of everyone to whom the server passes the sum on,
# and also of the server itself if the power is low enough; then the receiver's noise costs accuracy as any other does.
figure, axes = plt.subplots(figsize=(5, 3.5))
centre, low, high = np.array(list(shown.values())).T
axes.errorbar(
    antennas,
    centre,
    yerr=[centre - low, high - centre],
    fmt="o-",
    capsize=3,
    label="server, all antennas",
)
axes.axhline(1.0, color="grey", linestyle="--", label="who sees the sum")
axes.set(
    xscale="log",
    yscale="log",
    xlabel="antennas (ten devices)",
    ylabel="epsilon at the same noise of the sum",
)
axes.set_xticks(antennas, [str(M) for M in antennas])
axes.minorticks_off()
axes.legend()
plt.tight_layout()
plt.show()
