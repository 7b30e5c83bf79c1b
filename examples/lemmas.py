"""Three lemmas on trial: one that holds and is tight, one that is off by a factor of 2, one that divides by zero."""

import sympy as sp

from airtight import Claim, Paper, at_most, false, holds, parameter

epsilon = parameter("epsilon", 1e-3, 20.0, logarithmic=True, typical=(0.1, 1.0))
p = parameter("p", 0.01, 1.0, typical=(0.1, 0.5))
q = parameter("q", 0.0, 1.0)

amplified = sp.log(1 + p * (sp.exp(epsilon) - 1))

PAPER = Paper(
    id="lemmas",
    title="Three lemmas",
    authors="A stranger",
    year=2026,
    claims=[
        Claim("L1", "Lemma 1", at_most(amplified, epsilon), holds("Sampling never costs privacy; attained at p = 1.")),
        Claim(
            "L2", "Lemma 2", at_most(amplified, p * epsilon / 2), false("The 2 is wrong, and so is the line.", "step")
        ),
        Claim("L3", "Lemma 3", at_most(1 / (1 - 2 * q), 1 / (1 - q) ** 2), holds("As the authors say.")),
    ],
)
