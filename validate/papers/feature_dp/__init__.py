"""papers/feature-dp (FDP) and its short version (FDPs), in the order of the paper."""

from airtight.validate.claims.claim import Paper
from airtight.validate.claims.proofs import proofs_beside
from airtight.validate.papers.feature_dp import (
    accuracy,
    appendices,
    computed_values,
    corrected,
    items,
    mechanism,
    observers,
    power_limit,
    scores,
    selection,
    sentences,
    theorem1,
    transmission,
    weights,
)

_CLAIMS = (
    *mechanism.CLAIMS,
    *theorem1.CLAIMS,
    *corrected.CLAIMS,
    *observers.CLAIMS,
    *transmission.CLAIMS,
    *power_limit.CLAIMS,
    *accuracy.CLAIMS,
    *scores.CLAIMS,
    *selection.CLAIMS,
    *weights.CLAIMS,
    *appendices.CLAIMS,
    *sentences.CLAIMS,
    *computed_values.CLAIMS,
)

PAPER = Paper(
    "feature-dp",
    "Over-the-Air Collaborative Inference with Feature Differential Privacy",
    "M. Seif, Y. Nie, A. J. Goldsmith, H. V. Poor",
    2024,
    [claim for claim in _CLAIMS if not claim.id.startswith("FDPs")],
    items.FULL,
    {"Eq.": 63, "Definition": 3, "Theorem": 3, "Lemma": 6, "Remark": 8, "Algorithm": 3, "Fig.": 11},
    proofs=proofs_beside(__file__),
)

SHORT = Paper(
    "feature-dp-short",
    "Collaborative Inference over Wireless Channels with Feature Differential Privacy",
    "M. Seif, Y. Nie, A. J. Goldsmith, H. V. Poor",
    2024,
    [claim for claim in _CLAIMS if claim.id.startswith("FDPs")],
    items.SHORT,
    {"Eq.": 10, "Definition": 1, "Theorem": 2, "Remark": 2, "Algorithm": 2, "Fig.": 3},
    proofs=proofs_beside(__file__),
)
