"""papers/feature-dp (FDP), in the order of the paper; each module lists the builders of its claims in CLAIMS."""

from validate.papers.feature_dp import (
    accuracy,
    appendices,
    corrected,
    mechanism,
    power_limit,
    scores,
    selection,
    theorem1,
    transmission,
    weights,
)

CLAIMS = (
    *mechanism.CLAIMS,
    *theorem1.CLAIMS,
    *corrected.CLAIMS,
    *transmission.CLAIMS,
    *power_limit.CLAIMS,
    *accuracy.CLAIMS,
    *scores.CLAIMS,
    *selection.CLAIMS,
    *weights.CLAIMS,
    *appendices.CLAIMS,
)
