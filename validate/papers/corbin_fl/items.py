"""Numbered items of the paper that are definitions, or that no computation here can decide."""

from __future__ import annotations

from validate.claims.claim import definition, undecidable

ITEMS = (
    definition("CB-C1", "Conditions C1-C6", "Unbiased, private, least MSE; see CB-A1, CB-PLDP, CB-P1, CB-T1."),
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
        "CB-X1",
        "Experiment 1, Fig. 1: 'the proposed mechanisms outperform LDP-FL, Gaussian and Laplace' in accuracy",
        "CIFAR-10 and ResNet18 are not available, and errors do not decide an accuracy: at epsilon = 5 Laplace has "
        "the smaller worst error (CB-X1-mse), averaged over uniform updates .32 against .34 r^2/n. On digits "
        "(`airtight figures CB-1`) Laplace leads by about a point.",
    ),
    undecidable(
        "CB-X3-accuracy",
        "Experiment 3, Fig. 2(b): 'the performance does not fall significantly' at p = .5",
        "Not CB-X3, which only says that pairs never hurt. On digits (`airtight figures CB-2b`) it falls from .872 +- "
        ".029 to .796 +- .048: open, with another model and few seeds.",
    ),
    undecidable(
        "CB-X7-loss",
        "Experiment 7, Fig. 3(c): 'the accuracy loss is less than 1.5 % at epsilon = .5'",
        "MNIST with a two-layer VGG is not available; on 1797 digits (`airtight figures CB-3c`) it is 11.6 points. No formula "
        "decides it.",
    ),
    undecidable(
        "CB-X5-accuracy",
        "Experiment 5, Fig. 3(a): 'accuracy almost equal' to CQ and to LDP-FL at epsilon = 50",
        "By error it is so (CB-X5). On digits (`airtight figures CB-3a`) LDP-FL has .887 against .929: CorBin-FL is ahead there.",
    ),
    undecidable(
        "CB-F1",
        "Fig. 1-3",
        "CIFAR-10, ResNet18 and VGG are not available; orderings by error are CB-X1 to CB-X7, an analogue by "
        "learning is `airtight figures CB`.",
    ),
    definition("CB-F4", "Fig. 4", "MSE surfaces, formulas: `airtight figures CB-4`; see CB-X8."),
)
