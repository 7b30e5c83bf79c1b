"""The published claims, one small function each, in the order of the papers."""

from __future__ import annotations

from functools import cache

from validate.claim import Claim
from validate.ledger import corbin_fl, feature_dp, utility_fairness


@cache
def claims() -> dict[str, Claim]:
    """All claims by identifier.

    Examples
    --------
    >>> claims()["FDP-T1"].expected
    <Verdict.FALSE: 'false'>
    """
    built = [build() for module in (feature_dp, corbin_fl, utility_fairness) for build in module.CLAIMS]
    return {claim.id: claim for claim in built}
