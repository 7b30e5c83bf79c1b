"""Numbered items of the paper that are definitions, or that no computation here can decide."""

from __future__ import annotations

from validate.claims.claim import definition, undecidable

ITEMS = (
    definition("CB-C1", "Conditions C1-C6", "Unbiased, private, least MSE; see CB-A1, CB-PLDP-one, CB-P1, CB-T1."),
    definition("CB-A3", "Algorithm 3", "Rounds of CorBin-FL: `validate.experiments.training.federated`."),
    definition("CB-E6", "Eq. (6)", "Smoothed update with lambda: `Settings.smoothing`."),
    definition(
        "CB-E15",
        "App. B, Eq. (15)-(17)",
        "Second moments of a pair's outputs: `symbolic.quantizers.pair_mse_of_law`. (17) prints a product for the"
        " sum of the outputs.",
    ),
    definition(
        "CB-E20",
        "App. B, Eq. (20)",
        "The minimum over alphabets at one point, for one alphabet at a time; see CB-T1.",
    ),
    undecidable(
        "CB-F1",
        "Fig. 1-3",
        "CIFAR-10, ResNet18 and VGG are not available; orderings by error are CB-X1 to CB-X7, an analogue by "
        "learning is `airtight figures CB`.",
    ),
    definition("CB-F4", "Fig. 4", "MSE surfaces, formulas: `airtight figures CB-4`; see CB-X8."),
)
