"""
What Theorem 1 promises, and what is true
=========================================

For a reader who knows (epsilon, delta) and wants to know which neighbours, which observer, and which number.
"""

from dataclasses import replace

import numpy as np

import airtight
from airtight.analytics.privacy.over_the_air import amplification

system = airtight.InferenceSystem(
    devices=12,
    participation=0.9,
    noise_variance=0.1,
    weight=1 / 12,
    clip=3.0,
    alignment=1.0,
    receiver_noise_variance=0.1,
    dimension=784,
    delta=1e-5,
    delta_prime=1e-5,
)
system

# %%
# The theorem as printed, a closed form with a proof, and the exact value, for the paper's own neighbour: a device that is absent.

claim = amplification.published(system, form="eq23")
faces = {
    "published": claim.epsilon[0],
    "proven": amplification.proven(system).epsilon[0],
    "exact": airtight.epsilon(system)[0],
}
faces

# %%
# At the epsilon claimed the true delta is thousands of times the one claimed.

true_delta = airtight.delta(system, float(claim.epsilon[0]))[0]
assert true_delta > 1000 * claim.delta[0]
true_delta, claim.delta[0]

# %%
# It grows with the encoded dimension, which the theorem does not contain.

by_dimension = {
    r: airtight.epsilon(replace(system, dimension=r))[0]
    for r in (1, 10, 100, 1000, 10_000)
}
assert np.all(np.diff(list(by_dimension.values())) > 0)
by_dimension

# %%
# What helps: absent devices that send noise all the same. Then random participation amplifies as the paper wants, exactly.

idle = replace(system, idle_noise=True)
assert airtight.epsilon(idle)[0] < claim.epsilon[0]
airtight.epsilon(idle)[0]
