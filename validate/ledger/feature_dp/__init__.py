"""papers/feature-dp (FDP), in the order of the paper; each module lists the builders of its claims in CLAIMS."""

from validate.ledger.feature_dp import corrected, mechanism, theorem1

CLAIMS = (*mechanism.CLAIMS, *theorem1.CLAIMS, *corrected.CLAIMS)
