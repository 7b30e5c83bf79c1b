"""The trial of one claim: a search for a violation, and a witness made from each violation.

The search evaluates the claim at corners of the domain, at quasi-random points, and along Nelder-Mead descents. Effort
is counted in evaluations, never in seconds: the same claim, seed and effort give the same evidence on any machine at
any load. A search without a violation counts only if it came as close to a violation as the claim says is possible
(`slack`). Otherwise the search would miss an error of this size in a quantity, and the evidence reports a fault instead
of the verdict "holds".

Doubles only propose points. Where both sides are expressions, ball arithmetic decides at each point, without a
tolerance. Where balls do not separate the sides, the evidence has the number of digits to which they agree, and the
claim counts as enumerated only if SymPy finds the two values equal.

A violation becomes a witness of few digits that ball arithmetic proves. A second witness is near the paper's own
parameters.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from airtight.analytics.forms.balls.compiled import enclosed
from airtight.analytics.forms.domain import Range, Value, exact
from airtight.analytics.forms.domain import exact as decimal
from airtight.validate.claims import EFFORT, in_coq
from airtight.validate.claims.claim import Claim, Verdict
from airtight.validate.claims.evidence import Evidence, Extent, How, Witness, decimal_ends
from airtight.validate.claims.proving.boxes import Proof
from airtight.validate.claims.proving.derivation import derived
from airtight.validate.claims.proving.identity import identical
from airtight.validate.claims.relation import MOST_BITS, Exact, Point, Relation, Sign, at_point

_SHRINK_PASSES = 60  # most passes over all parameters when a violation is shrunk
_COMPARED_POINTS = 3  # violations at which the doubles are compared with independently computed balls
_SHRUNK_VIOLATIONS = 5  # violations that are shrunk until balls prove one
_BISECTIONS = 12  # of the segment from the paper's parameters to a violation: to 1/4096 of it


def simplest(claim: Claim, violations: Sequence[tuple[float, Point]]) -> Witness:
    """Shrink violations, the worst first, until balls prove one; otherwise the last witness, not certified."""
    last = None
    others = _comparison_points(claim, [point for _, point in violations[:_COMPARED_POINTS]])
    for _, point in sorted(violations, key=lambda v: v[0])[:_SHRUNK_VIOLATIONS]:
        last = witness(claim, shrink(claim, point), others)
        if last.certified:
            break
    if last is None:
        raise ValueError(f"{claim.id}: no violation to shrink")
    return last


def witness(claim: Claim, exact: dict[str, Fraction], others: Sequence[Exact] = ()) -> Witness:
    """The two quantities at a point, and whether ball arithmetic proves that the claim fails there.

    If the balls come from another computation than the doubles, the two must agree at the point and at the points
    `others`.
    """
    proved, balls = claim.relation.violated(exact)
    # on other scales than ratios a side may be 0, where only an absolute tolerance allows for rounding errors
    floor = 0.0 if claim.scale.name == "ratio" else 1e-15
    proved = proved and all(claim.relation.agrees(p, floats(claim, p), floor) for p in (exact, *others))
    claimed, actual = claim.compare(taken(claim, exact))[:2]
    if balls is not None:
        claimed, actual = (float(ball.mid()) for ball in balls)
    ends = None if balls is None else (decimal_ends(balls[0]), decimal_ends(balls[1]))
    return Witness(exact, claimed, actual, ends, proved)


def near_paper(claim: Claim, violations: Sequence[tuple[float, Point]]) -> Witness | None:
    """A violation near the paper's own parameters, in few digits; None if the paper names none."""
    own = own_parameters(claim)
    if own is None or not violations:
        return None
    if _is_violated(claim, own):
        return _few_digits(claim, own)
    _, point = min(violations, key=lambda v: _squared_distance(claim, v[1], own))
    point = _with_own_parameters(claim, point, own)
    near, far = 0.0, 1.0  # shares of the segment from the paper's parameters to the violation
    for _ in range(_BISECTIONS):
        middle = (near + far) / 2
        if _is_violated(claim, _between(claim, own, point, middle)):
            far = middle
        else:
            near = middle
    return _few_digits(claim, _between(claim, own, point, far) if far < 1 else point)


def _with_own_parameters(claim: Claim, point: Point, own: Point) -> Point:
    """Set each parameter in turn to the paper's own value, if the claim still fails with it."""
    for name in claim.domain:
        moved = {**point, name: own[name]}
        if _is_violated(claim, moved):
            point = moved
    return point


def _few_digits(claim: Claim, point: Point) -> Witness | None:
    """The witness at a violation rounded to as few digits as keep it a violation; None if no rounding does."""
    for digits in (2, 3, 4, 6, 9, 17):
        exact = _rounded_point(claim, point, digits)
        if _is_violated(claim, taken(claim, exact)):
            return witness(claim, exact)
    return None


def own_parameters(claim: Claim) -> dict[str, Value] | None:
    """The paper's parameters: `near`, or the middles of the typical ranges if every parameter has one, else None."""
    if isinstance(claim.near, str):
        if claim.near or not claim.domain or not all(r.typical for r in claim.domain.values()):
            return None
        return {name: r.regime().at(0.5) for name, r in claim.domain.items()}
    return {name: claim.near.get(name, r.regime().at(0.5)) for name, r in claim.domain.items()}


def shrink(claim: Claim, point: Point) -> dict[str, Fraction]:
    """Replace each parameter in turn by the simplest value with which the claim still fails, until nothing changes."""
    current = {name: decimal(value) for name, value in point.items()}
    for _ in range(_SHRINK_PASSES):
        before = dict(current)
        for name, allowed in claim.domain.items():
            for candidate in _simpler(current[name], allowed):
                trial = {**current, name: candidate}
                if _is_violated(claim, taken(claim, trial)):
                    current = trial
                    break
        if current == before:
            break
    return current


def floats(claim: Claim, point: Exact) -> dict[str, Value]:
    """A point with int and float coordinates, for quantities and hypotheses that are functions."""
    return {name: int(v) if claim.domain[name].integer else float(v) for name, v in point.items()}


def taken(claim: Claim, point: Exact) -> Mapping[str, Any]:
    """A point as the claim takes it: exact if all sides and hypotheses are SymPy objects, otherwise doubles."""
    exact = claim.relation.symbolic and not any(callable(condition) for condition in claim.given)
    return point if exact else floats(claim, point)


def _is_violated(claim: Claim, point: Mapping[str, Any]) -> bool:
    return claim.allows(point) and claim.compare(point)[2] < 0


def _between(claim: Claim, own: Point, far: Point, share: float) -> dict[str, Value]:
    """Interpolate between two points, in positions of the ranges; extra values are kept."""
    point: dict[str, Value] = {}
    for name, allowed in claim.domain.items():
        a, b = allowed.position(own[name]), allowed.position(far[name])
        outside = far[name] in allowed.extra and share > 0
        point[name] = far[name] if outside else allowed.at(a + share * (b - a))
    return point


def _squared_distance(claim: Claim, point: Point, own: Point) -> float:
    """Squared Euclidean distance of two points in positions of the ranges."""
    return sum((r.position(point[n]) - r.position(own[n])) ** 2 for n, r in claim.domain.items())


def _rounded_point(claim: Claim, point: Any, digits: int) -> dict[str, Fraction]:
    return {
        name: Fraction(int(value)) if claim.domain[name].integer else Fraction(f"{float(value):.{digits}g}")
        for name, value in point.items()
    }


def _comparison_points(claim: Claim, points: Sequence[Point]) -> list[dict[str, Fraction]]:
    """Points rounded to three digits, if they stay in the domain; unlike a witness they have no special coordinates."""
    exact = [_rounded_point(claim, point, 3) for point in points]
    return [p for p in exact if claim.allows(taken(claim, p))]


def _simpler(value: Fraction, allowed: Range) -> list[Fraction]:
    """Allowed values that are simpler than this one, the simplest first."""
    candidates = [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(2), Fraction(1, 10), Fraction(10)]
    if allowed.integer:
        candidates += [Fraction(int(value) // 2), Fraction(int(value) - 1)]
    for digits in range(1, 17):
        candidates.append(Fraction(f"{float(value):.{digits - 1}e}"))
    simpler = []
    for candidate in candidates:
        if candidate == value:
            break
        if allowed.allows(candidate):
            simpler.append(candidate)
    return simpler


LEAST = 32  # least number of points with a claim: with fewer, no statement is said to hold
_REGIME_POINTS = 32  # points that are spread over the typical ranges of the paper
_TAIL_DECADES = 12.0  # decades of the distance from a bound, in positions of the range, over which tails are drawn
_STARTS = 4  # Nelder-Mead descents
_ENOUGH_VIOLATIONS = 20  # the search at corners ends with this number: one of them usually shrinks to few digits
_DENOMINATOR_POINTS = 32  # points at which the sign of a denominator is computed
_IDLE_PAIRS = 160  # pairs of points: a parameter is idle if none of these exchanges of its value changes a side
_FULL_PRECISION_POINTS = 4  # undecided points of a claim at which the precision is raised to 16384 bits, which is slow
_MOST_TIES = 16  # most undecided points of an enumerated domain at which SymPy compares the two numbers
_FORM_TOLERANCE = 1e-6  # relative tolerance between an algorithm in doubles and its form
_NOISE = 1e-12  # relative: a change below this counts as rounding error of a quantity
_DRAWS_PER_POINT = 40  # most draws per requested point, for domains in which few points meet the hypotheses


class _Stopped(Exception):
    """The wall-clock limit has been reached."""


class _FirstViolation(Exception):
    """A violation has been found, and the search needs only one."""


def trial(claim: Claim, *, seed: int = 0, effort: int = EFFORT, deadline: float = math.inf) -> Evidence:
    """Search for a violation of a claim; if there is none, try to prove the claim.

    Parameters
    ----------
    claim : Claim
    seed : int
    effort : int
        Number of evaluations of the claim: an eighth at corners, half at quasi-random points, the rest in descents.
        Shrinking a violation, the typical ranges of the paper and the check for idle parameters take further
        evaluations.
    deadline : float
        Value of `time.time` at which the trial stops, with the fault ``stopped``.

    Returns
    -------
    Evidence

    Examples
    --------
    >>> from airtight.validate.claims.claim import holds
    >>> from airtight.analytics.forms.domain import parameter
    >>> from airtight.validate.claims.relation import at_most
    >>> x = parameter("x", 0.0, 1.0)
    >>> found = trial(Claim("SQUARE", "Lemma 1", at_most(x**2, x), holds("x is at most 1.")))
    >>> found.verdict.value, found.how.value, found.tightness
    ('holds', 'proved', 1.0)
    """
    return examined(claim, seed=seed, effort=effort, deadline=deadline)[0]


def examined(
    claim: Claim, *, seed: int = 0, effort: int = EFFORT, deadline: float = math.inf
) -> tuple[Evidence, Proof | None]:
    """The evidence of a trial, and the attempt at a proof of the claim or of its form, if there was one."""
    started = time.perf_counter()
    search = _Search(claim, seed, deadline)
    how, fault, error_raised = How.SEARCHED, "", False
    witness = near = extent = proof = None
    try:
        search.in_time()
        search.well_posed()
        how = search.run(effort)
        if not search.violations:
            fault = search.fault(how) or search.computed_otherwise()
            if not fault and how is How.SEARCHED and claim.ruling.survives:
                proof, fault = search.proof()
            if not fault and (claim.form is not None or proof is None or not proof.proved):
                fault = search.far_from_tight(proof)
        if search.violations:
            how, witness = How.WITNESS, simplest(claim, search.violations)
            extent = search.extent()
            near = near_paper(claim, search.violations)
            fault = fault or search.fault(how)
    except _Stopped:
        fault = "stopped"
    except Exception as error:  # claims run code of users: an error must not stop the trials of the other claims
        place = f" at {_point_text(search.last)}" if search.evaluations else ""
        fault, error_raised = f"{type(error).__name__}: {error}{place}", True
    proved = proof if proof and proof.proved else None
    proof_kind = None if proved is None else (How.IDENTITY if proved.method == "identity" else How.PROVED)
    if proof_kind and claim.form is None:
        how = proof_kind
    if claim.argued and how is How.SEARCHED and (claim.form is None or proof_kind):
        how = How.PROVED if in_coq.accepted(claim) else How.ARGUED
    evidence = Evidence(
        claim=claim,
        verdict=judged(claim, witness, fault),
        how=how,
        fault=fault,
        witness=witness,
        near_paper=near,
        margin=search.margin,
        tightest=dict(search.tightest),
        claimed=search.values[0],
        actual=search.values[1],
        extent=extent,
        evaluations=search.evaluations,
        seconds=time.perf_counter() - started,
        boxes=proved.boxes if proved and proof_kind is How.PROVED else None,
        error=error_raised,
        form=proof_kind if claim.form is not None else None,
        digits=None if search.violations else search.digits,
    )
    return evidence, proof


def noticed(claim: Claim, *, seed: int = 0, effort: int = EFFORT) -> bool:
    """Whether a trial finds a violation; it stops at the first one. For errors planted in a true claim.

    Examples
    --------
    >>> from airtight.analytics.forms.domain import parameter
    >>> from airtight.validate.claims.relation import at_most
    >>> x = parameter("x", 0.0, 1.0)
    >>> claim = Claim("SQUARE", "Lemma 1", at_most(x**2, x))
    >>> noticed(claim), noticed(claim.planted())
    (False, True)
    """
    search = _Search(claim, seed, math.inf)
    search.continues = False
    with suppress(_FirstViolation):
        search.run(effort)
    return bool(search.violations)


def judged(claim: Claim, witness: Witness | None, fault: str) -> Verdict:
    """The verdict of a trial: the ruling if the trial confirms it, otherwise what the trial found."""
    if fault or (witness is not None and not witness.certified):
        return Verdict.UNSETTLED
    if (witness is None) is claim.ruling.survives:
        return claim.expected
    return Verdict.HOLDS if witness is None else Verdict.FALSE


def _point_text(point: Point) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in point.items()) or "the only point"


class _Search:
    """The points evaluated so far, and the point with the least margin."""

    def __init__(self, claim: Claim, seed: int, deadline: float) -> None:
        self.claim, self.deadline = claim, deadline
        self.rng = np.random.default_rng([seed, *claim.id.encode()])
        self.continues = True  # whether the search continues after a violation
        self.names = list(claim.domain)
        self.evaluations = self.claiming = 0  # points evaluated; those of them at which something is claimed
        self.margin = math.inf
        self.tightest: Point = {}
        self.last: Point = {}
        self.values = (math.nan, math.nan)
        self.violations: list[tuple[float, Point]] = []
        self.seen: list[tuple[float, Point]] = []
        self.measured: list[tuple[float, float]] = []  # claimed and actual value at each point of `seen`
        self.distinct_values: tuple[list[float], list[float]] = ([], [])  # up to two different values of each side
        self.spread_margins: list[float] = []
        self.digits: int | None = None  # to which both sides agree where balls do not separate them
        self.ties: list[Point] = []  # points at which balls do not separate the sides
        self.enumerated = False  # whether all points of the domain are evaluated
        self.full_precision_count = 0  # points at which the precision was raised to MOST_BITS

    def in_time(self) -> None:
        """Stop the trial after the deadline."""
        if time.time() > self.deadline:
            raise _Stopped

    def at(self, point: Point) -> float:
        """Evaluate the claim at a point, record the result and return the margin."""
        self.in_time()
        self.last = point
        self.evaluations += 1
        claimed, actual, margin = self.compared(point)
        if math.isnan(claimed):
            return math.inf
        self.claiming += 1
        for side, value in zip(self.distinct_values, (claimed, actual), strict=True):
            if not side or (len(side) == 1 and not _same(side[0], value)):
                side.append(value)
        if margin < self.margin or not self.tightest:
            self.margin, self.tightest, self.values = margin, point, (claimed, actual)
        if margin < 0:
            self.violations.append((margin, point))
            if not self.continues:
                raise _FirstViolation
        self.seen.append((margin, point))
        self.measured.append((claimed, actual))
        return margin

    def compared(self, point: Point) -> tuple[float, float, float]:
        """Claimed value, actual value and margin, in ball arithmetic if both sides are expressions."""
        claim = self.claim
        if not claim.relation.symbolic:
            return claim.compare(point)
        values, found = claim.agreement(point)
        if found.order is None and self.full_precision_count < _FULL_PRECISION_POINTS and not self.sides_identical():
            self.full_precision_count += 1
            values, found = claim.agreement(point, most=MOST_BITS)
        if found.order is None:
            self.ties.append(point)
        if found.digits is not None:
            self.digits = found.digits if self.digits is None else min(self.digits, found.digits)
        return values

    def sides_identical(self) -> bool:
        """Whether SymPy finds both sides of an equation identical: then a higher precision cannot separate them."""
        relation = self.claim.relation
        return relation.sign is Sign.EQUAL and identical(relation.actual, relation.claimed)

    def well_posed(self) -> None:
        """Raise ZeroDivisionError if a denominator has both signs in the domain, hence a zero between two points."""
        relation = self.claim.relation
        bases = {
            power.base
            for side in (relation.actual, relation.claimed)
            if isinstance(side, sp.Expr)
            for power in side.atoms(sp.Pow)
            if power.exp.is_negative and not any(s.is_integer for s in power.base.free_symbols)
        }
        nonzero = [c.lhs - c.rhs for c in self.claim.given if isinstance(c, sp.Ne)]
        bases = {
            base for base in bases if not any(sp.expand(base - x) == 0 or sp.expand(base + x) == 0 for x in nonzero)
        }
        if not bases:
            return
        points = list(self._admitted(self._corners(), _DENOMINATOR_POINTS))
        for base in sorted(bases, key=str):
            balls = [enclosed(base, {name: exact(value) for name, value in point.items()}) for point in points]
            if any(ball > 0 for ball in balls) and any(ball < 0 for ball in balls):
                raise ZeroDivisionError(f"{base} is 0 somewhere inside the domain")

    def run(self, effort: int) -> How:
        """Evaluate all points of a small domain; otherwise corners, quasi-random points, and points of descents."""
        count = max(int(effort * self.claim.effort), LEAST)
        if math.prod(r.size for r in self.claim.domain.values()) <= count:
            self.every_point()
            return How.ENUMERATED if self.settled() else How.SEARCHED
        self.at_corners(count // 8)
        self.spread(count // 2)
        if not self.violations:
            self.downhill(count - self.evaluations)
        return How.SEARCHED

    def every_point(self) -> None:
        """Evaluate the claim at all points of a finite domain."""
        self.enumerated = True
        for values in product(*(allowed.values for allowed in self.claim.domain.values())):
            point = dict(zip(self.names, values, strict=True))
            if self.claim.admits(point):
                self.spread_margins.append(self.at(point))

    def settled(self) -> bool:
        """Whether the order of the sides is known at every point: decided by balls, or equality found by SymPy."""
        if not self.ties or self.claim.allowance or self.violations:
            return True
        relation = self.claim.relation
        if len(self.ties) > _MOST_TIES:
            return False
        for point in self.ties:
            if not identical(at_point(relation.actual, point), at_point(relation.claimed, point)):
                return False
        self.digits = None
        return True

    def at_corners(self, count: int) -> None:
        """Evaluate the claim at the paper's own parameters and at corners."""
        own = own_parameters(self.claim)
        if own is not None and self.claim.admits(own):
            self.at(own)
        for point in self._admitted(self._corners(), count):
            self.at(point)
            if len(self.violations) >= _ENOUGH_VIOLATIONS:
                return

    def _corners(self) -> Iterator[dict[str, Value]]:
        """Random points whose coordinates are often bounds or extra values or close to a bound, and sometimes equal to each
        other."""
        while True:
            point: dict[str, Value] = {}
            for name, allowed in self.claim.domain.items():
                special, upper, u = *(self.rng.random(2) < 0.5), float(self.rng.random())
                specials, from_bound = allowed.specials, 10.0 ** (-_TAIL_DECADES * u)
                tail = allowed.at(1 - from_bound if upper else from_bound)
                point[name] = specials[int(self.rng.integers(len(specials)))] if special else tail
            if len(self.names) > 1 and self.rng.random() < 0.2:
                one, other = self.rng.choice(self.names, 2, replace=False)
                a, b = self.claim.domain[one], self.claim.domain[other]
                if a.integer == b.integer and b.low <= point[one] <= b.high:
                    point[other] = point[one]
            yield point

    def spread(self, count: int) -> None:
        """Evaluate the claim at points of a scrambled Sobol sequence in the domain."""
        for point in self._admitted(self._sobol(count), count):
            self.spread_margins.append(self.at(point))

    def _sobol(self, count: int, *, regime: bool = False) -> Iterator[dict[str, Value]]:
        """Points of a scrambled Sobol sequence in the domain or the typical ranges, in blocks of powers of two."""
        from scipy.stats import qmc

        ranges = [r.regime() if regime else r for r in self.claim.domain.values()]
        sequence = qmc.Sobol(len(ranges), scramble=True, rng=self.rng)
        block = max(math.ceil(math.log2(max(count, 1))), 0)
        while True:
            for row in sequence.random_base2(block):
                yield {name: r.at(float(u)) for name, r, u in zip(self.names, ranges, row, strict=True)}
            block += sequence.num_generated > 2**block

    def _admitted(self, points: Iterator[dict[str, Value]], count: int) -> Iterator[dict[str, Value]]:
        """At most `count` of these points that meet all hypotheses; it gives up when too few of them do."""
        for drawn, point in enumerate(points):
            if count <= 0 or drawn > _DRAWS_PER_POINT * (count + 1) + 1000:
                return
            if self.claim.admits(point):
                count -= 1
                yield point

    def downhill(self, evaluations: int) -> None:
        """Minimize the margin by Nelder-Mead in the unit cube, from the points with the least margins."""
        from scipy import optimize

        ranges = self.claim.domain

        def objective(u: np.ndarray) -> float:
            point = {n: r.at(float(x)) for (n, r), x in zip(ranges.items(), u, strict=True)}
            margin = self.at(point) if self.claim.admits(point) else math.inf
            if self.violations:
                raise _FirstViolation
            return min(margin, 1e6)

        starts = sorted((s for s in self.seen if s[0] < math.inf), key=lambda s: s[0])[:_STARTS]
        for _, point in starts:
            u = np.array([r.position(point[n]) for n, r in ranges.items()])
            options = {"maxfev": max(evaluations // _STARTS, 2), "initial_simplex": _simplex(u)}
            try:
                optimize.minimize(objective, u, method="Nelder-Mead", bounds=[(0, 1)] * u.size, options=options)
            except _FirstViolation:
                return

    def extent(self) -> Extent:
        """The shares of the domain and of the paper's typical ranges on which the statement fails, and by how much."""
        factors = [self.claim.scale.factor(self.claim.allowance - m) for m, _ in self.violations]
        regime_margins: list[float] = []
        if any(r.typical for r in self.claim.domain.values()):
            regime_margins = [
                self.at(p) for p in self._admitted(self._sobol(_REGIME_POINTS, regime=True), _REGIME_POINTS)
            ]
        return Extent(
            _share(self.spread_margins) or 0.0, _share(regime_margins), float(np.median(factors)), max(factors)
        )

    def proof(self) -> tuple[Proof | None, str]:
        """An attempt at a proof of the expressions, and a fault; a counterexample is evaluated like any other point."""
        claim = self.claim
        if not claim.provable.symbolic:
            return None, ""
        if claim.form is not None and (point := self.differs(claim.form)) is not None:
            return None, f"the form is not the claim at {_point_text(point)}"
        attempt = derived(claim.provable, claim.domain, claim.given, claim.derivation)
        if attempt.counterexample is None:
            return attempt, ""
        counterexample_point = taken(claim, attempt.counterexample)
        if self.at(counterexample_point) < 0:
            return None, ""
        disagreement = "the form is not the claim" if claim.form is not None else "the proof fails, the claim does not,"
        return None, f"{disagreement} at {_point_text(counterexample_point)}"

    def computed_otherwise(self) -> str:
        """Where the package computes something else than the expressions of the claim; empty if it does nowhere."""
        point = None if self.claim.computed is None else self.differs(self.claim.computed)
        return "" if point is None else f"what is computed is not the claim at {_point_text(point)}"

    def differs(self, other: Relation) -> Point | None:
        """A point of the search at which another relation has other values than the claim, beyond rounding errors of an
        algorithm in doubles."""
        claim = self.claim
        for _, point in self.seen:
            values = claim.relation.values(point)
            rounding = _NOISE * max(abs(value) for value in values)  # next to an end a side may cancel down to its noise
            floor = rounding if claim.scale.name == "ratio" else _FORM_TOLERANCE * claim.scale.sized(point)
            pairs = zip(values, other.values(point), strict=True)
            if not all(math.isclose(a, b, rel_tol=_FORM_TOLERANCE, abs_tol=floor) for a, b in pairs):
                return point
        return None

    def fault(self, how: How) -> str:
        """Why the evaluations decide nothing; empty if they do."""
        claim = self.claim
        if not claim.domain and not claim.constants:
            return "no parameter: say constants=True"
        if self.enumerated and not self.claiming:
            return "no point of the domain meets the hypotheses, or something is claimed at none"
        if not self.enumerated and self.claiming < (LEAST if not self.violations else 1):
            return f"only {self.claiming} points at which something is claimed"
        if not claim.constants and all(len(side) == 1 for side in self.distinct_values):
            return "both quantities are constant over the domain"
        if idle := self._idle():
            return f"parameter {idle} changes neither side"
        return ""

    def far_from_tight(self, proof: Proof | None) -> str:
        """Why a claim that is not proved may be one that no error would break; empty where the search came near to one."""
        claim = self.claim
        if not claim.ruling.survives or self.margin <= claim.room:
            return ""
        factor = claim.scale.factor(self.margin - claim.allowance)
        tried = f"a proof was tried, and stays open: {proof.reason}. " if proof is not None and claim.form is None else ""
        return (
            f"no violation found, and the sides stay a factor {factor:.4g} apart (stated slack: {claim.slack:g}), so the search "
            f"alone decides nothing. {tried}State slack={_rounded_up(factor):g} if the claim is known to be that loose"
        )

    def _idle(self) -> str:
        """A parameter that changes neither side in any tried exchange of its value; empty if there is none."""
        points = [point for _, point in self.seen]
        for name in self.names:
            if name in self.claim.idle or self.claim.domain[name].size == 1:
                continue
            for k in range(min(_IDLE_PAIRS, 4 * len(points))):  # fixed strides give varied pairs without a random draw
                at = (7 * k) % len(points)
                base, other = points[at], points[(7 * k + 1 + k // 3) % len(points)]
                moved = {**base, name: other[name]}
                if other[name] == base[name] or not self.claim.admits(moved):
                    continue
                if not all(map(_same, self.measured[at], self.claim.relation.values(moved))):
                    break
            else:
                return name
        return ""


def _rounded_up(factor: float) -> float:
    """A factor in three digits, not below it."""
    rounded = float(f"{factor:.3g}")
    return rounded if rounded >= factor else float(f"{factor * 1.005:.3g}")


def _share(margins: list[float]) -> float | None:
    """Share of violations among the points at which something is claimed; None if there are no such points."""
    claiming = [m for m in margins if m < math.inf]
    return sum(m < 0 for m in claiming) / len(claiming) if claiming else None


def _same(a: float, b: float) -> bool:
    """Whether two values are equal up to rounding error, as for a computation that does not use a parameter."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b or (math.isnan(a) and math.isnan(b))
    return abs(a - b) <= _NOISE * max(abs(a), abs(b))


def _simplex(u: np.ndarray) -> np.ndarray:
    """Initial simplex of Nelder-Mead in the unit cube: u, and u moved by 0.1 inwards along each axis."""
    corners = np.tile(u, (u.size + 1, 1))
    for i in range(u.size):
        corners[i + 1, i] += 0.1 if u[i] < 0.5 else -0.1
    return corners
