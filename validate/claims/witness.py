"""From a violation to a witness: few digits, proved, and one near the paper's own parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from airtight.validate.claims.claim import Claim
from airtight.validate.claims.domain import Range, Value
from airtight.validate.claims.domain import exact as decimal
from airtight.validate.claims.evidence import Witness, decimal_ends
from airtight.validate.claims.relation import Exact, Point

_STEPS = 60
_COMPARED = 3
_TRIED = 5
_HALVINGS = 12


def simplest(claim: Claim, violations: Sequence[tuple[float, Point]]) -> Witness:
    """Shrink violations, starting with the grossest, until one is proved."""
    last = None
    others = _rounded(claim, [point for _, point in violations[:_COMPARED]])
    for _, point in sorted(violations, key=lambda v: v[0])[:_TRIED]:
        last = witness(claim, shrink(claim, point), others)
        if last.certified:
            break
    if last is None:
        raise ValueError(f"{claim.id}: no violation to shrink")
    return last


def witness(claim: Claim, exact: dict[str, Fraction], others: Sequence[Exact] = ()) -> Witness:
    """What the two quantities are at a point, and whether balls prove that the claim fails there.

    Where the balls come from another computation than the numbers, both have to agree at the point and at `others`.
    """
    proved, balls = claim.relation.violated(exact)
    floor = 0.0 if claim.scale.name == "ratio" else 1e-15
    proved = proved and all(claim.relation.agrees(p, floats(claim, p), floor) for p in (exact, *others))
    claimed, actual = claim.compare(taken(claim, exact))[:2]
    if balls is not None:
        claimed, actual = (float(ball.mid()) for ball in balls)
    ends = None if balls is None else (decimal_ends(balls[0]), decimal_ends(balls[1]))
    return Witness(exact, claimed, actual, ends, proved)


def near_paper(claim: Claim, violations: Sequence[tuple[float, Point]]) -> Witness | None:
    """The violation nearest to the paper's own parameters, to three digits; None where the paper names none."""
    home = own_parameters(claim)
    if home is None or not violations:
        return None
    if _fails(claim, home):
        return _told(claim, home)
    _, point = min(violations, key=lambda v: _apart(claim, v[1], home))
    point = _brought_home(claim, point, home)
    near, far = 0.0, 1.0  # shares of the way from home to the violation
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        if _fails(claim, _between(claim, home, point, middle)):
            far = middle
        else:
            near = middle
    return _told(claim, _between(claim, home, point, far) if far < 1 else point)


def _brought_home(claim: Claim, point: Point, home: Point) -> Point:
    """One parameter after the other set to the paper's own value, where the claim still fails."""
    for name in claim.domain:
        moved = {**point, name: home[name]}
        if _fails(claim, moved):
            point = moved
    return point


def _told(claim: Claim, point: Point) -> Witness | None:
    """A violation in as few digits as keep it one."""
    for digits in (2, 3, 4, 6, 9, 17):
        exact = _exact(claim, point, digits)
        if _fails(claim, taken(claim, exact)):
            return witness(claim, exact)
    return None


def own_parameters(claim: Claim) -> dict[str, Value] | None:
    """The paper's parameters: as given, or the middle of the typical ranges where every parameter has one."""
    if isinstance(claim.near, str):
        if claim.near or not claim.domain or not all(r.typical for r in claim.domain.values()):
            return None
        return {name: r.regime().at(0.5) for name, r in claim.domain.items()}
    return {name: claim.near.get(name, r.regime().at(0.5)) for name, r in claim.domain.items()}


def shrink(claim: Claim, point: Point) -> dict[str, Fraction]:
    """Replace each parameter in turn by the simplest value with which the claim still fails, until nothing changes."""
    current = {name: decimal(value) for name, value in point.items()}
    for _ in range(_STEPS):
        before = dict(current)
        for name, allowed in claim.domain.items():
            for candidate in _simpler(current[name], allowed):
                trial = {**current, name: candidate}
                if _fails(claim, taken(claim, trial)):
                    current = trial
                    break
        if current == before:
            break
    return current


def floats(claim: Claim, point: Exact) -> dict[str, Value]:
    """A point as the functions of the search take it."""
    return {name: int(v) if claim.domain[name].integer else float(v) for name, v in point.items()}


def taken(claim: Claim, point: Exact) -> Mapping[str, Any]:
    """A point as the claim takes it: expressions and conditions exactly, functions as doubles."""
    exact = claim.relation.symbolic and not any(callable(condition) for condition in claim.given)
    return point if exact else floats(claim, point)


def _fails(claim: Claim, point: Mapping[str, Any]) -> bool:
    return claim.allows(point) and claim.compare(point)[2] < 0


def _between(claim: Claim, home: Point, far: Point, share: float) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, allowed in claim.domain.items():
        a, b = allowed.position(home[name]), allowed.position(far[name])
        outside = far[name] in allowed.extra and share > 0
        found[name] = far[name] if outside else allowed.at(a + share * (b - a))
    return found


def _apart(claim: Claim, point: Point, home: Point) -> float:
    return sum((r.position(point[n]) - r.position(home[n])) ** 2 for n, r in claim.domain.items())


def _exact(claim: Claim, point: Any, digits: int) -> dict[str, Fraction]:
    return {
        name: Fraction(int(value)) if claim.domain[name].integer else Fraction(f"{float(value):.{digits}g}")
        for name, value in point.items()
    }


def _rounded(claim: Claim, points: Sequence[Point]) -> list[dict[str, Fraction]]:
    """Violations, to three digits, at which no parameter is as simple as in a witness."""
    exact = [_exact(claim, point, 3) for point in points]
    return [p for p in exact if claim.allows(taken(claim, p))]


def _simpler(value: Fraction, allowed: Range) -> list[Fraction]:
    """Simpler values than this one, the simplest first."""
    wanted = [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(2), Fraction(1, 10), Fraction(10)]
    if allowed.integer:
        wanted += [Fraction(int(value) // 2), Fraction(int(value) - 1)]
    for digits in range(1, 17):
        wanted.append(Fraction(f"{float(value):.{digits - 1}e}"))
    simpler = []
    for candidate in wanted:
        if candidate == value:
            break
        if allowed.allows(candidate):
            simpler.append(candidate)
    return simpler
