"""What was read and is no claim."""

from __future__ import annotations

from airtight.validate.claims.claim import undecidable

ITEMS = (
    undecidable(
        "IM-CB-log",
        "solidlabnetwork/CorbinFL, results.log (a956027)",
        "Accuracies over five seeds; the four scripts for MNIST stop at eps = 3, where the last cell is not "
        "reached. Means beside "
        "our loop: docs/implementations.md. No formula decides an accuracy.",
    ),
    undecidable(
        "IM-IMVU-four",
        "solidlabnetwork/CorbinFL, imvu_params, four bits (a956027)",
        "Sixteen symbols: in floats the greatest log-ratio is 1.0243 at eps = 1, 3.2678 at eps = 3 and 4.99994 "
        "at eps = 5; the "
        "script in docs/implementations.md finds them. Not in balls: their tables stay where they are.",
    ),
    undecidable(
        "IM-nan",
        "dp-accounting 0.6.0, get_epsilon_gaussian; autodp 0.2.3.1, ExactGaussianMechanism",
        "Both return 0 at sigma = nan. An output that is always nan is private; what a caller who divided by 0 "
        "meant, is not.",
    ),
    undecidable(
        "IM-AD-sampling",
        "yuxiangw/autodp, issue 33",
        "Sampling without replacement of a mechanism with add/remove adjacency is refused: the refusal is right, "
        "and no law.",
    ),
)
