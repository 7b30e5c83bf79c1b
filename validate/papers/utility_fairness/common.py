"""What the modules of this paper share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from validate.claims.claim import Claim, Range, Relation, Verdict

PAPER = "utility-fairness"


def definition(
    name: str,
    location: str,
    statement: str,
    reason: str,
    domain: Mapping[str, Range],
    claimed: Callable[..., float],
    actual: Callable[..., float],
) -> Claim:
    """A definition, with an identity that it must satisfy."""
    return Claim(
        id=name,
        paper=PAPER,
        location=location,
        statement=statement,
        expected=Verdict.DEFINITION,
        reason=reason,
        domain=domain,
        claimed=claimed,
        actual=actual,
        relation=Relation.EQUAL,
        if_survived=Verdict.DEFINITION,
    )


def identity(
    name: str,
    location: str,
    statement: str,
    reason: str,
    domain: Mapping[str, Range],
    claimed: Callable[..., float],
    actual: Callable[..., float],
    *,
    expected: Verdict = Verdict.HOLDS,
    tolerance: float = 1e-9,
) -> Claim:
    """An equation that holds."""
    return Claim(
        id=name,
        paper=PAPER,
        location=location,
        statement=statement,
        expected=expected,
        reason=reason,
        domain=domain,
        claimed=claimed,
        actual=actual,
        relation=Relation.EQUAL,
        if_survived=expected,
        tolerance=tolerance,
    )
