"""
A theorem on trial
==================

For a reader who has an inequality and does not know yet whether it is true.
"""

import sympy

import airtight

p = airtight.parameter("p", 0.0, 1.0)
epsilon = airtight.parameter("epsilon", 0.0, 5.0)
amplified = sympy.log(1 + p * (sympy.exp(epsilon) - 1))

# %%
# Sampling with probability p multiplies epsilon by p: many texts say so. Try it.

lemma = airtight.Claim(
    "L1",
    "a lecture",
    airtight.at_most(amplified, p * epsilon),
    airtight.false("It is an approximation."),
)
(found,) = airtight.try_claims([lemma])
assert found.verdict.value == "false" and found.witness.certified
found.witness.text(), found.witness.claimed, found.witness.actual

# %%
# It is false, at a point of few digits, and that is proved: the two balls do not meet.
# What is true, and proved on the whole domain:

proof = airtight.prove(amplified <= epsilon)
assert proof.status.value == "proved"
proof.status

# %%
# The published theorems are tried in the same way.

(theorem,) = airtight.verify(["FDP-D2"])
theorem.verdict.value, theorem.claim.reason
