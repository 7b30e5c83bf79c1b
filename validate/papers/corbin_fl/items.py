"""Numbered items of the paper that are definitions, or that no computation here can decide."""

from __future__ import annotations

from airtight.validate.claims.claim import definition, undecidable
from airtight.validate.experiments.figures.figure import finding

ITEMS = (
    definition("CB-C1", "Conditions C1-C6", "Unbiased, private, least MSE; see CB-A1, CB-PLDP, CB-P1, CB-T1."),
    definition(
        "CB-A3",
        "Algorithm 3",
        "Rounds of CorBin-FL: `airtight.validate.experiments.training.federated_training`. Lines 1 and 5 to 23 as messages, with "
        "keys, leaders and encrypted Z: `airtight.validate.experiments.training.pair_protocol`; see CB-A3-leader, CB-A3-Z.",
    ),
    definition("CB-E6", "Eq. (6)", "Smoothed update with lambda: `Settings.smoothing`."),
    definition(
        "CB-E15",
        "App. B, Eq. (15)-(17)",
        "Second moments of a pair's outputs: `forms.binary_quantizers.pair_mse_of_law`. (17) prints a product in "
        "place of the sum of the outputs.",
    ),
    definition(
        "CB-E20",
        "App. B, Eq. (20)",
        "The minimum over alphabets at one point, one alphabet at a time; see CB-T1.",
    ),
    undecidable(
        "CB-X1",
        "Experiment 1, Fig. 1: 'the proposed mechanisms outperform LDP-FL, Gaussian and Laplace' in accuracy",
        "CIFAR-10 and ResNet18 are not available, and errors do not decide an accuracy: at epsilon = 5 Laplace has "
        "the smaller worst error (CB-X1-mse), averaged over uniform updates .32 against .34 r^2/n. On digits "
        f"(`airtight figures CB-1`), {finding('CB-1')}",
    ),
    undecidable(
        "CB-one-bit",
        "Sec. V-4, F-1: 'low communication cost due to one-bit quantization'",
        "An order of growth, O(dmk), states no constant. CB-cost gives the number of bits when the agreed key is a "
        "seed.",
    ),
    undecidable(
        "CB-X3-accuracy",
        "Experiment 3, Fig. 2(b): 'the performance does not fall significantly' at p = .5",
        "Not CB-X3, which only says that pairs never hurt. On digits, with another model (`airtight figures CB-2b`), "
        f"{finding('CB-2b')}",
    ),
    undecidable(
        "CB-X7-loss",
        "Experiment 7, Fig. 3(c): 'the accuracy loss is less than 1.5 % at epsilon = .5'",
        "A two-layer VGG on all of MNIST is not available, and no formula decides it; a dense network on 5000 of its "
        f"images (`airtight figures CB-3c`): {finding('CB-3c')}",
    ),
    undecidable(
        "CB-X5-accuracy",
        "Experiment 5, Fig. 3(a): 'accuracy almost equal' to CQ and to LDP-FL at epsilon = 50",
        f"By error it is so (CB-X5). On digits (`airtight figures CB-3a`), {finding('CB-3a')}",
    ),
    undecidable(
        "CB-X2-accuracy",
        "Experiment 2, Fig. 2(a): gains grow with the shared bits 'and saturate' at d = 5",
        f"By error it is CB-X2. On digits (`airtight figures CB-2a`), {finding('CB-2a')}",
    ),
    undecidable(
        "CB-X4-accuracy",
        "Experiment 4, Fig. 2(c): 'CorBin-FL consistently outperforms LDP-FL'",
        f"By error it is CB-X4. On digits (`airtight figures CB-2c`), {finding('CB-2c')}",
    ),
    undecidable(
        "CB-X6-accuracy",
        "Experiment 6, Fig. 3(b): best accuracies at three budgets",
        f"By error it is CB-X6. On digits (`airtight figures CB-3b`), {finding('CB-3b')}",
    ),
    undecidable(
        "CB-F1",
        "Fig. 1-3",
        "CIFAR-10, ResNet18 and VGG are not available; orderings by error are CB-X1 to CB-X7, an analogue by "
        "learning is `airtight figures CB`.",
    ),
    definition("CB-F4", "Fig. 4", "MSE surfaces, formulas: `airtight figures CB-4`; see CB-X8."),
)
