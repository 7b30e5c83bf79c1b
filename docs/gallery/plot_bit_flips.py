"""
Flipped bits
============

A digital scheme for private federated learning sends each parameter as a word of fraction bits, flips every bit at random, and
counts the bit errors of the channel as further flips (arXiv 2506.12749, "Free privacy protection for wireless federated learning:
enjoy it or suffer from it?"). The law is finite, so its privacy is exact. Read was the abstract, which promises Renyi privacy
in a distance of bits; what follows is a model of it with our parameters, and says nothing of the paper's own numbers:

- neighbours differ in one parameter of one client, by ``h`` bits of its word (``replace``);
- ``decided``: who sees the bits after the receiver's decision; ``sent``: who sees the bits that leave the device; ``received``:
  who has the channel's output. A decision is a function of the output, and the output is made from the sent bits, so epsilon
  of ``received`` lies between that of ``decided`` and that of ``sent``: data processing proves this interval.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import airtight

delta = 1e-5


def word(flip, h):
    """The curve of h bits, each flipped with probability `flip`: the number of
    bits that agree tells all that the word tells.
    """
    agree = stats.binom.pmf(np.arange(h + 1), h, 1 - flip)
    return airtight.discrete_pair(
        agree / agree.sum(), agree[::-1] / agree.sum()
    )


def renyi(flip, h):
    """The least epsilon at delta that Renyi divergences of h flipped bits
    prove, over orders up to 500.
    """
    order = np.concatenate(
        [np.linspace(1.001, 10, 2000), np.geomspace(10, 500, 2000)]
    )
    up, down = (
        order * np.log1p(-flip) + (1 - order) * np.log(flip),
        order * np.log(flip) + (1 - order) * np.log1p(-flip),
    )
    divergence = h * np.logaddexp(up, down) / (order - 1)
    return np.min(
        divergence + np.log1p(-1 / order) - np.log(delta * order) / (order - 1)
    )


# %%
# **A close value can be a distant word.** 4194303 and 4194304, one unit apart, differ in all 23 bits of a binary32 fraction. A
# guarantee for every neighbour has to take h = 23, whatever the distance of the values is.
assert (4194303 ^ 4194304).bit_count() == 23

# %%
# **Exact, and by Renyi divergences.** The bracket has proved ends. Renyi's conversion is a bound, and for one bit it is more than
# the pure epsilon log((1 - q) / q), which needs no delta at all.
for flip in (0.1, 0.3, 0.45):
    for h in (1, 6, 23):
        low, high = word(flip, h).bracket(delta=delta)[:2]
        pure = h * np.log(1 / flip - 1)
        print(
            f"q = {flip:.2f}, h = {h:2}: [{low:.6f}, {high:.6f}] at delta, "
            f"{pure:.4f} at 0, {renyi(flip, h):.4f} by Renyi"
        )

# %%
# **Which noise is counted.** The sender flips with q = .3, the channel errs with probability e. What the errors add counts
# against ``decided`` alone. A receiver that keeps its soft values, or stands closer, is in the interval up to ``sent``.
flip, h = 0.3, 23
errors = [0.0, 0.01, 0.05, 0.1, 0.2, 0.4]
sent = float(word(flip, h).epsilon(delta))
decided = [
    float(word(flip * (1 - e) + e * (1 - flip), h).epsilon(delta))
    for e in errors
]
for e, epsilon in zip(errors, decided, strict=True):
    print(
        f"e = {e:.2f}: decided {epsilon:.3f}, received in [{epsilon:.3f}, "
        f"{sent:.3f}], sent {sent:.3f}"
    )

# %%
# **Free protection alone** (q = 0): bits as +-1 in normal noise. The decided bit has a pure epsilon. The received value is a
# Gaussian mechanism, has none, and shows far more at the same delta. Against ``sent`` there is no privacy.
for sigma in (1.0, 2.0, 5.0):
    e = stats.norm.sf(1 / sigma)
    low, high = airtight.gaussian(2 / sigma).bracket(delta=delta)[:2]
    one = word(e, 1).bracket(delta=delta)
    print(
        f"sigma = {sigma}: e = {e:.4f}, decided [{one.lower:.4f}, "
        f"{one.upper:.4f}], received [{low:.4f}, {high:.4f}], sent inf"
    )

# %%
# **A whole model.** All 23 bits of d parameters may differ. Near q = 1/2 epsilon grows like the root of the number of bits.
sizes = [1, 10, 100]
for flip in (0.45, 0.49, 0.499):
    print(
        f"q = {flip}:",
        {
            d: [
                round(float(x), 3)
                for x in word(flip, 23 * d).bracket(delta=delta)[:2]
            ]
            for d in sizes
        },
    )

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
bits = np.arange(1, 24)
for flip in (0.1, 0.3, 0.45):
    (line,) = left.plot(
        bits,
        [float(word(flip, int(h)).epsilon(delta)) for h in bits],
        label=f"q = {flip}, exact",
    )
    left.plot(
        bits,
        [renyi(flip, h) for h in bits],
        ":",
        color=line.get_color(),
        label="by Renyi divergences",
    )
left.set(
    xlabel="bits that differ", ylabel="epsilon at delta = 1e-5", yscale="log"
)
left.legend(fontsize=7)
right.plot(errors, decided, "o-", label="decided bits")
right.axhline(sent, color="grey", linestyle="--", label="sent bits")
right.fill_between(
    errors, decided, sent, alpha=0.2, label="received values: in here"
)
right.set(
    xlabel="bit errors of the channel, e",
    ylabel="epsilon, q = 0.3, 23 bits",
    ylim=(0, None),
)
right.legend(fontsize=7)
plt.tight_layout()
plt.show()
