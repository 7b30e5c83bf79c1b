"""Numbered items of the papers that are definitions, or that no computation here can decide."""

from __future__ import annotations

from validate.claims.claim import Item, Verdict

_DEFINITION, _UNDECIDABLE = Verdict.DEFINITION, Verdict.UNDECIDABLE
_FDP, _SHORT, _CB, _UF = "feature-dp", "feature-dp-short", "corbin-fl", "utility-fairness"
_NO_DATA = "ModelNet40, VGG11 and the training are not available; analogue on twelve views of handwritten digits: "
"`airtight figures "


ITEMS = (
    Item("FDP-E1", _FDP, "Eq. (1), (2)", _DEFINITION, "Features and their mean f*: `Features.target`."),
    Item(
        "FDP-E3",
        _FDP,
        "Eq. (3), clipping, Algorithm 1",
        _DEFINITION,
        "Encoding: `Features.clipped`, `transmission.extract`.",
    ),
    Item(
        "FDP-E5",
        _FDP,
        "Eq. (5), (7), (8), Algorithm 2",
        _DEFINITION,
        "Reception and decoding: `transmission.receive`, `infer`. The covariance printed sigma_k I_q is read as sigma_k^2 I_r.",
    ),
    Item(
        "FDP-D1",
        _FDP,
        "Definition 1, Eq. (9)",
        _DEFINITION,
        "(epsilon, delta)-feature DP; silent about what 'removing' leaves of the device's noise, hence `Adjacency`.",
    ),
    Item(
        "FDP-D3",
        _FDP,
        "Definition 3, Eq. (12), Remark 4",
        _DEFINITION,
        "The classification margin: `margin.exact_linear`.",
    ),
    Item("FDP-R5", _FDP, "Remark 5", _UNDECIDABLE, "An interpretation of Lemma 1 (see FDP-L1)."),
    Item("FDP-E16", _FDP, "Eq. (16), Algorithm 3", _DEFINITION, "The private score: `uncertainty.private`."),
    Item(
        "FDP-E18",
        _FDP,
        "Eq. (18), (19)",
        _DEFINITION,
        "The selected sets; (18) has u for the noisy score and zeta for eta.",
    ),
    Item("FDP-R6", _FDP, "Remark 6", _DEFINITION, "Laplace noise is possible: `analytics.privacy.laplace`."),
    Item("FDP-R7", _FDP, "Remark 7", _UNDECIDABLE, "One score against r numbers: a remark on cost without a number."),
    Item(
        "FDP-E24",
        _FDP,
        "App. A, Eq. (24)",
        _DEFINITION,
        "(9) for the received signal; what follows from it is FDP-E25 and FDP-T1.",
    ),
    Item(
        "FDP-E28",
        _FDP,
        "App. B, Eq. (27)-(29)",
        _DEFINITION,
        "The decoded signal and its MSE by definition: symbolic.inference.expected_square.",
    ),
    Item(
        "FDP-E36",
        _FDP,
        "App. C, Eq. (37), (39), (44), (47)",
        _DEFINITION,
        "Abbreviations and the Lagrangian: symbolic.weights.",
    ),
    Item(
        "FDP-E41",
        _FDP,
        "App. C, Eq. (41), (42)",
        _DEFINITION,
        "Derivatives by the multipliers; (41) has the opposite sign of what (39) gives, which changes no condition.",
    ),
    Item("FDP-F1", _FDP, "Fig. 1, 5", _DEFINITION, "Sketches of the schemes."),
    Item("FDP-F2", _FDP, "Fig. 2", _UNDECIDABLE, _NO_DATA + "FDP-2`."),
    Item("FDP-F3", _FDP, "Fig. 3", _UNDECIDABLE, _NO_DATA + "FDP-3`."),
    Item(
        "FDP-F4",
        _FDP,
        "Fig. 4",
        _UNDECIDABLE,
        "Formula (17) of entropies that are not printed: `airtight figures FDP-4` for even ones.",
    ),
    Item(
        "FDP-F6",
        _FDP,
        "Fig. 6, 7",
        _DEFINITION,
        "Formulas (17), (20), (21): `airtight figures FDP-6 FDP-7`; see FDP-T3.",
    ),
    Item("FDP-F8", _FDP, "Fig. 8, 9", _UNDECIDABLE, _NO_DATA + "FDP-8 FDP-9`."),
    Item("FDP-F10", _FDP, "Fig. 10, Table II", _UNDECIDABLE, _NO_DATA + "FDP-10 FDP-Tab2`."),
    Item(
        "FDP-F11",
        _FDP,
        "Fig. 11",
        _DEFINITION,
        "w_max of (11) for two devices: `airtight figures FDP-11`; see FDP-wmax.",
    ),
    Item("FDPs-E1", _SHORT, "Eq. (1)-(7), Algorithms 1, 2", _DEFINITION, "As FDP Eq. (1)-(8)."),
    Item("FDPs-D1", _SHORT, "Definition 1, Eq. (8)", _DEFINITION, "As FDP-D1."),
    Item(
        "FDPs-T1",
        _SHORT,
        "Theorem 1, Eq. (9)",
        _DEFINITION,
        "The statement of FDP-T1 with the t of FDP-T1t; see there.",
    ),
    Item("FDPs-R1", _SHORT, "Remark 1", _DEFINITION, "As FDP-R3."),
    Item(
        "FDPs-R2",
        _SHORT,
        "Remark 2",
        _DEFINITION,
        "A margin in *mean squared* distance, where FDP-D3 has distance; see FDPs-T2.",
    ),
    Item("FDPs-F1", _SHORT, "Fig. 1-3", _UNDECIDABLE, _NO_DATA + "FDP-8 FDP-9`."),
    Item(
        "CB-C1",
        _CB,
        "Conditions C1-C6",
        _DEFINITION,
        "Unbiased, private, least MSE; see CB-A1, CB-PLDP-one, CB-P1, CB-T1.",
    ),
    Item("CB-A3", _CB, "Algorithm 3", _DEFINITION, "Rounds of CorBin-FL: `validate.experiments.training.federated`."),
    Item("CB-E6", _CB, "Eq. (6)", _DEFINITION, "Smoothed update with lambda: `Settings.smoothing`."),
    Item(
        "CB-E15",
        _CB,
        "App. B, Eq. (15)-(17)",
        _DEFINITION,
        "Second moments of a pair's outputs: `symbolic.quantizers.pair_mse_of_law`. (17) prints a product for the sum "
        "of the outputs.",
    ),
    Item(
        "CB-E20",
        _CB,
        "App. B, Eq. (20)",
        _DEFINITION,
        "The minimum over alphabets at one point, for one alphabet at a time; see CB-T1.",
    ),
    Item(
        "CB-F1",
        _CB,
        "Fig. 1-3",
        _UNDECIDABLE,
        "CIFAR-10, ResNet18 and VGG are not available; orderings by error are CB-X1 to CB-X7, an "
        "analogue by learning is `airtight figures CB`.",
    ),
    Item("CB-F4", _CB, "Fig. 4", _DEFINITION, "MSE surfaces, formulas: `airtight figures CB-4`; see CB-X8."),
    Item(
        "UF-E18",
        _UF,
        "Assumptions 1-3, Eq. (18)-(20)",
        _DEFINITION,
        "Smoothness and strong convexity; who satisfies them is UF-AS2.",
    ),
    Item("UF-E22", _UF, "Eq. (22), (56)", _DEFINITION, "The count of UF-T1, and Phi again."),
    Item(
        "UF-E35",
        _UF,
        "Eq. (34), (35), (68)",
        _DEFINITION,
        "The two problems: `DeviceFleet.utility`, solvers.energy.problem; see UF-L1.",
    ),
    Item(
        "UF-E73",
        _UF,
        "Eq. (73), (75)",
        _DEFINITION,
        "The active delay and the iterations that it leaves: symbolic.energy_utility.j_on_the_edge.",
    ),
    Item(
        "UF-F1-paper",
        _UF,
        "Fig. 1-4, as measured by the authors",
        _UNDECIDABLE,
        "One realisation on MNIST with betas that are not given; "
        "what can be compared is UF-F1 to UF-F4b and `airtight figures UF`.",
    ),
)
