"""Numbered items of the two papers that are definitions, or that no computation here can decide."""

from __future__ import annotations

from airtight.validate.claims.claim import definition, undecidable
from airtight.validate.experiments.figures.figure import finding

FULL = (
    definition("FDP-E1", "Eq. (1), (2)", "Features and their mean f*: `Features.target`."),
    definition("FDP-E3", "Eq. (3), clipping, Algorithm 1", "Encoding: `Features.clipped`, `transmission.extract`."),
    definition(
        "FDP-E5",
        "Eq. (5), (7), (8), Algorithm 2",
        "Reception and decoding: `transmission.receive`, `infer`. The covariance printed sigma_k I_q is read as "
        "sigma_k^2 I_r.",
    ),
    definition(
        "FDP-D1",
        "Definition 1, Eq. (9)",
        "(epsilon, delta)-feature DP. It does not say whether 'removing' leaves the device's noise; hence `Adjacency`.",
    ),
    definition("FDP-D3", "Definition 3, Eq. (12), Remark 4", "The classification margin: `margin.exact_linear`."),
    undecidable("FDP-R5", "Remark 5", "An interpretation of Lemma 1 (see FDP-L1)."),
    definition("FDP-E16", "Eq. (16), Algorithm 3", "The private score: `uncertainty.private`."),
    definition("FDP-E18", "Eq. (18), (19)", "The selected sets; (18) prints u for the noisy score and zeta for eta."),
    undecidable(
        "FDP-F10-order",
        "Fig. 10, Table II: 'Scheme 2.1 outperforms Scheme 2.2', both above Scheme 1",
        "Accuracies of a network that is not available. In the table 2.1 leads 2.2 by .043 +- .011, .025 +- .011 and "
        ".008 +- .010. On digits, each scheme with the threshold or number that suits it best (`airtight figures "
        f"FDP-10 FDP-Tab2`): {finding('FDP-10')} In the table: {finding('FDP-Tab2')} "
        "Both schemes let nearly everyone take part (FDP-F10-eta; 11 of 12), and Lemma 2 charges them for the "
        "score (FDP-L2).",
    ),
    definition("FDP-R6", "Remark 6", "Laplace noise is possible: `airtight.analytics.privacy.mechanisms.laplace`."),
    undecidable(
        "FDP-R7",
        "Remark 7",
        "A remark on cost, without a number. A device sends one score against r numbers; but over the air the features of all "
        "take r uses of the channel together, and K scores take K, so that sorting costs less only where K is below r.",
    ),
    definition(
        "FDP-E24",
        "App. A, Eq. (24)",
        "(9) for the received signal; what follows from it is FDP-E25 and FDP-T1.",
    ),
    definition(
        "FDP-E28",
        "App. B, Eq. (27)-(29)",
        "The decoded signal and its MSE by definition: forms.inference_errors.expected_square.",
    ),
    definition(
        "FDP-E36",
        "App. C, Eq. (39), (44), (47), and T_2 of (37)",
        "Abbreviations and the Lagrangian: forms.weights.",
    ),
    definition(
        "FDP-E41",
        "App. C, Eq. (41), (42)",
        "Derivatives with respect to the multipliers; (41) has the opposite sign of what (39) gives, which changes no "
        "condition.",
    ),
    definition("FDP-F1", "Fig. 1, 5", "Sketches of the schemes."),
    undecidable(
        "FDP-A1",
        "Sec. IV-A 1)",
        "O(L) counts layers before the pooling, which the model of Sec. II does not have. The section speaks of the "
        "MSE of Sec. IV, which is that of the pooled feature and does not depend on L (FDP-MSE*).",
    ),
    undecidable(
        "FDP-F2",
        "Fig. 2",
        "ModelNet40, VGG11 and the training are not available; analogue on twelve views of handwritten digits "
        f"(`airtight figures FDP-2`): {finding('FDP-2')}",
    ),
    undecidable(
        "FDP-F3",
        "Fig. 3",
        "ModelNet40, VGG11 and the training are not available; analogue on twelve views of handwritten digits "
        f"(`airtight figures FDP-3`): {finding('FDP-3')}",
    ),
    undecidable(
        "FDP-F4",
        "Fig. 4",
        "Formula (17) for entropies that are not printed; `airtight figures FDP-4` uses evenly spaced ones.",
    ),
    definition("FDP-F6", "Fig. 6, 7", "Formulas (17), (20), (21): `airtight figures FDP-6 FDP-7`; see FDP-T3."),
    undecidable(
        "FDP-F8",
        "Fig. 8, 9",
        "ModelNet40, VGG11 and the training are not available; analogue on twelve views of handwritten digits "
        f"(`airtight figures FDP-8 FDP-9`): {finding('FDP-8')} With the longer code: {finding('FDP-9')}",
    ),
    undecidable(
        "FDP-F10",
        "Fig. 10, Table II",
        "ModelNet40, VGG11 and the training are not available; analogue on twelve views of handwritten digits: "
        "`airtight figures FDP-10 FDP-Tab2`.",
    ),
)

SHORT = (
    definition("FDPs-E1", "Eq. (1)-(7), Algorithms 1, 2", "As FDP Eq. (1)-(8)."),
    definition("FDPs-D1", "Definition 1, Eq. (8)", "As FDP-D1."),
    definition("FDPs-T1", "Theorem 1, Eq. (9)", "The statement of FDP-T1 with the t of FDP-T1t; see there."),
    definition("FDPs-R1", "Remark 1", "As FDP-R3."),
    definition("FDPs-R2", "Remark 2", "A margin in *mean squared* distance, where FDP-D3 has distance; see FDPs-T2."),
    undecidable(
        "FDPs-F1",
        "Fig. 1-3",
        "ModelNet40, VGG11 and the training are not available; analogue on twelve views of handwritten digits: "
        "`airtight figures FDPs-2 FDPs-3`.",
    ),
)
