"""The published claims, one small function each, in the order of the papers."""

from __future__ import annotations

from functools import cache

from validate.claims.claim import Claim, Item
from validate.papers import corbin_fl, feature_dp, utility_fairness


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


def items() -> dict[str, Item]:
    """The numbered items that are no claims: definitions, and what cannot be decided here.

    Examples
    --------
    >>> items()["FDP-D1"].verdict
    <Verdict.DEFINITION: 'definition'>
    """
    from validate.papers.definitions import ITEMS

    return {item.id: item for item in ITEMS}
