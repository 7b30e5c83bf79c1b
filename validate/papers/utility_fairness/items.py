"""Numbered items of the paper that are definitions, or that no computation here can decide."""

from __future__ import annotations

from airtight.validate.claims.claim import definition, undecidable
from airtight.validate.experiments.figures.figure import finding

ITEMS = (
    definition(
        "UF-E18",
        "Assumptions 1-3, Eq. (18)-(20)",
        "Smoothness and strong convexity; UF-AS2 says which losses satisfy them.",
    ),
    definition(
        "UF-E17",
        "Eq. (17)",
        "A utility in words, 'proportional to the learning gain less the cost'; (30) makes it precise: see UF-E31.",
    ),
    definition("UF-E22", "Eq. (22), (56)", "The number of iterations of UF-T1, and Phi again."),
    definition(
        "UF-E35",
        "Eq. (34), (35), (68)",
        "The two problems: `DeviceFleet.utility`, airtight.solvers.energy.energy_problem; see UF-L1.",
    ),
    definition(
        "UF-E73",
        "Eq. (73), (75)",
        "The active delay constraint and the number of iterations that it allows: forms.energy_utility.j_on_the_edge.",
    ),
    undecidable(
        "UF-E29-loop",
        "Eq. (28), (29) in Algorithm 1: the factors of one round set the policies of the next",
        "The effect of the loop depends on data and network. The betas are not given, and one round does not "
        "determine them (UF-E29). On digits, with beta_2 fixed and beta_1 fitted to the last round (`airtight figures "
        "UF-1`), the loop hardly changes the loss; the mean energy rises by a tenth, and is as equal over the devices "
        "as before.",
    ),
    undecidable(
        "UF-F1-paper",
        "Fig. 1-4, as measured by the authors",
        "One realisation on MNIST with betas that are not given; what can be compared is UF-F1 to UF-F4b and "
        f"`airtight figures UF`. On digits, {finding('UF-1')}",
    ),
)
