"""Federated frameworks with noise of their own: FLIP's local privacy, and IBM's reweighing."""

from __future__ import annotations

import sympy as sp

from airtight import Claim, Implementation, absolute, at_most, false, parameter, undecidable
from airtight_published_code.implementations.common import claim
from airtight_published_code.libraries.calibrated import gaussian, released

_FLIP = "flip-utils 0.13.1"
_IBM = ("IBM/federated-learning-lib 2.0.1", "481c1fbd4a4f5a67304ed6234da5dfbc331829e0")

examples = parameter("examples", 2, 100_000, integer=True, logarithmic=True, typical=(100, 1000), latex="|D|")
clip = parameter("clip", 0.01, 10.0, logarithmic=True, typical=(1.0, 1.0), latex="C")
longest = parameter("longest", 0.001, 1e6, logarithmic=True, typical=(1.0, 100.0), latex="g")
epsilon = parameter("epsilon", 0.05, 10.0, logarithmic=True, typical=(1.0, 1.0), latex=r"\epsilon")
count, other = (parameter(name, 0, 1000, integer=True, typical=(20, 40)) for name in ("count", "other"))

CLAIMS: tuple[Claim, ...] = (
    gaussian(
        "LB-FLIP-classical",
        released(
            _FLIP,
            "flip/flower/privacy.py:154-164",
            "LocalDpConfig.noise_stddev",
            "'this is a real (epsilon, delta) mechanism' (19-20); 'epsilon (float): Privacy budget.' (99), any positive value.",
            "Calibrate by the exact Gaussian curve, or refuse epsilon above 1.",
        ),
        "10",
        "0.4844805262605389",
        "1e-5",
        false(
            "The standard deviation is Delta sqrt(2 ln(1.25/delta))/eps, which is proved for eps below 1. At the default "
            "budget (10, 1e-5) it is .48448 Delta; delta is then 2.27e-5, and the epsilon at delta = 1e-5 is 10.394. The "
            "comment calls it the analytic Gaussian mechanism; that one is the exact curve's. At eps = 5 there is still more "
            "noise than needed. Pull request 833 brought the formula from Flower (IM-FL-classical).",
            "guarantee",
            true_where=r"\epsilon \le 1",
        ),
    ),
    claim(
        "LB-FLIP-sensitivity",
        released(
            _FLIP,
            "flip/flower/privacy.py:84-89, 263",
            "LocalDpConfig.sensitivity, flip_local_dp_mod",
            "'A real budget calibrates sensitivity to the local dataset (2 * clipping_norm / |D| for an "
            "average-of-examples update)' (86-87); the defaults, 1e-4 at a clip of 1, 'are not a defensible privacy budget'.",
            "Advise 2 * clipping_norm, or clip the update of every example before the average.",
        ),
        at_most(2 * sp.Min(longest / examples, clip), 2 * clip / examples),
        false(
            "The whole update is clipped, not that of an example. If one example's update is g in one data set and -g in "
            "the other, and those of the others vanish, the averages are g/|D| and -g/|D|; from g = |D| C on their clipped "
            "versions are 2C apart. At |D| = 1000, C = 1 the advised noise is a thousandth of what is needed. Only with "
            "examples that are clipped before the average, as in DP-SGD, is 2C/|D| right.",
            "guarantee",
            true_where=r"g \le C",
        ),
        statement=r"2\min(g/|D|, C) \le 2C/|D|",
        near={"longest": 1000, "examples": 1000, "clip": 1},
    ),
    claim(
        "LB-IBM-counts",
        Implementation(
            *_IBM,
            "federated-learning-lib/federated_learning_lib-2.0.1-py3-none-any.whl: ibmfl/data/data_util.py:332-394",
            "get_hist_counts; ibmfl/party/training/reweigh_local_training_handler.py:51-52, 104",
            "'Calculates noisy counts for reweighing with differential privacy (epsilon set in datahandler)'.",
            "Return unp_neg, unp_pos, p_neg and p_pos only; the aggregator reads no others.",
        ),
        at_most(sp.Integer(1), sp.exp(epsilon) * sp.Piecewise((1, sp.Eq(count, other)), (0, True))),
        false(
            "Beside the four noisy counts the dictionary holds unpriv_neg, unpriv_pos, priv_neg and priv_pos, which are the "
            "true ones, and the party's reply to the aggregator is this dictionary. The aggregator's fusion "
            "(reweigh_fusion_handler.py:87-91) sums the noisy ones and ignores the others, but has them: epsilon is infinite.",
            "guarantee",
            true_where="count = other",
        ),
        statement=r"P(\text{sent} = n \mid n) \le e^\epsilon P(\text{sent} = n \mid n')",
        unread="probabilities of an event",
        scale=absolute("probability", 1.0),
        near="any two data sets whose counts differ",
    ),
)

ITEMS = (
    undecidable(
        "LB-IBM-range",
        "IBM/federated-learning-lib 2.0.1, get_hist_counts (481c1fb)",
        "Both histograms are made without a range (370, 378), which diffprivlib then takes from the data, with a "
        "PrivacyLeakWarning. Labels 0 and 1 give the range that is meant; a group with one class alone gives another, and "
        "value_counts() then raises KeyError.",
    ),
    undecidable(
        "LB-IBM-arguments",
        "IBM/federated-learning-lib 2.0.1, get_min, get_max, get_mean, get_var, get_std (481c1fb)",
        "ibmfl/data/data_util.py documents keyword arguments of these as 'Dictionary of differential privacy arguments ... e.g., "
        "epsilon and delta' and ignores them (a comment says TODO); get_mean returns the variance. Nothing in the release "
        "passes such arguments.",
    ),
    undecidable(
        "LB-IBM-Bayes",
        "IBM/federated-learning-lib 2.0.1, NaiveBayesFLModel (481c1fb)",
        "A party sends means, variances and class counts of diffprivlib's GaussianNB, fitted with the epsilon that the user "
        "gives it. The framework adds no noise and no accounting: every further TRAIN fits anew and spends epsilon again. "
        "diffprivlib's own division of epsilon was not tried.",
    ),
)
