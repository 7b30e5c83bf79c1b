"""What the claims about published code have in common: parameters, Gaussian noise, the claim itself."""

from __future__ import annotations

from typing import Any

import sympy as sp

from airtight import Claim, Implementation, Ruling, parameter, undecidable
from airtight.analytics.forms import binary_quantizers

epsilon = parameter("epsilon", 0.05, 10.0, logarithmic=True, typical=(5.0, 7.0), latex=r"\epsilon")
x, y = (parameter(name, -1.0, 1.0, extra=(0.0,), typical=(-1.0, 1.0)) for name in ("x", "y"))  # offsets, in radii
bits = parameter("bits", 1, 10, integer=True, typical=(5, 5), latex="d")
delta = parameter("delta", 1e-12, 0.1, logarithmic=True, typical=(1e-5, 1e-5), latex=r"\delta")

s = sp.exp(epsilon)
alpha = binary_quantizers.alpha.subs(binary_quantizers.epsilon, epsilon)


def classical(epsilon: Any, delta: Any) -> sp.Expr:
    """Standard deviation of the classical Gaussian calibration at sensitivity 1."""
    return sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta)) / epsilon


def claim(id: str, implementation: Implementation, relation: Any, ruling: Ruling, **rest: Any) -> Claim:
    """A claim about code; its location is the place of the code."""
    return Claim(id, implementation.place, relation, ruling, implementation=implementation, **rest)


ITEMS = (
    undecidable(
        "IM-CB-log",
        "solidlabnetwork/CorbinFL, results.log (a956027)",
        "Accuracies over five seeds. The four scripts for MNIST stop at eps = 3, where the last cell is not reached. "
        "docs/implementations.md compares the means with our loop. No formula decides an accuracy.",
    ),
    undecidable(
        "IM-IMVU-four",
        "solidlabnetwork/CorbinFL, imvu_params, four bits (a956027)",
        "Sixteen symbols. In floating point the greatest log-ratio is 1.0243 at eps = 1, 3.2678 at eps = 3 and "
        "4.99994 at eps = 5; the script in docs/implementations.md computes these. They are not computed in balls, "
        "because the authors' tables are not copied here.",
    ),
    undecidable(
        "IM-nan",
        "dp-accounting 0.6.0, get_epsilon_gaussian; autodp 0.2.3.1, ExactGaussianMechanism",
        "Both return 0 at sigma = nan. An output that is always nan is private, but that is not what a caller who "
        "divided by 0 meant.",
    ),
    undecidable(
        "IM-AD-sampling",
        "yuxiangw/autodp, issue 33",
        "The library refuses sampling without replacement of a mechanism with add/remove adjacency. The refusal is "
        "right, and it is no law that could be tested.",
    ),
)
