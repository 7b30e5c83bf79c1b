"""papers/corbin-fl (CB), in the order of the paper."""

from airtight.validate.claims.claim import Paper
from airtight.validate.claims.proofs import proofs_beside
from airtight.validate.papers.corbin_fl import (
    aggregation,
    appendices,
    computed_values,
    dropout,
    experiments,
    items,
    mean_estimation,
    protocol,
    quantizers,
    replacement,
    sentences,
    source,
)

PAPER = Paper(
    "corbin-fl",
    "CorBin-FL: A Differentially Private Federated Learning Mechanism using Common Randomness",
    "H. A. Salehi, M. J. Mia, S. S. Pradhan, M. H. Amini, F. Shirani",
    2024,
    (
        *quantizers.CLAIMS,
        *mean_estimation.CLAIMS,
        *aggregation.CLAIMS,
        *replacement.CLAIMS,
        *protocol.CLAIMS,
        *dropout.CLAIMS,
        *experiments.CLAIMS,
        *appendices.CLAIMS,
        *source.CLAIMS,
        *sentences.CLAIMS,
        *computed_values.CLAIMS,
    ),
    items.ITEMS,
    {"Eq.": 22, "Theorem": 4, "Proposition": 1, "Algorithm": 3, "Fig.": 4, "Experiment": 8},
    proofs=proofs_beside(__file__),
)
