"""papers/utility-fairness (UF), in the order of the paper."""

from airtight.validate.claims.claim import Paper
from airtight.validate.claims.proofs import proofs_beside
from airtight.validate.papers.utility_fairness import (
    composition,
    computed_values,
    device,
    energy,
    experiments,
    fairness,
    items,
    iterations,
    learning,
    optimum,
    privacy,
    rounds,
    sentences,
)

PAPER = Paper(
    "utility-fairness",
    "Utility Fairness for the Differentially Private Federated Learning",
    "S. A. Alvi, Y. Hong, S. Durrani",
    2022,
    (
        *learning.CLAIMS,
        *privacy.CLAIMS,
        *composition.CLAIMS,
        *iterations.CLAIMS,
        *rounds.CLAIMS,
        *device.CLAIMS,
        *fairness.CLAIMS,
        *energy.CLAIMS,
        *optimum.CLAIMS,
        *experiments.CLAIMS,
        *sentences.CLAIMS,
        *computed_values.CLAIMS,
    ),
    items.ITEMS,
    {
        "Eq.": 76,
        "Definition": 5,
        "Theorem": 2,
        "Proposition": 1,
        "Lemma": 1,
        "Remark": 2,
        "Assumption": 3,
        "Algorithm": 1,
        "Fig.": 4,
    },
    proofs=proofs_beside(__file__),
)
