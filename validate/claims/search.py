"""The trial of one claim: points spread evenly, at corners, downhill. Effort is counted in evaluations, never in seconds.

The same claim, seed and effort give the same evidence on any machine at any load. Survival counts only if the search came
as near to a violation as the claim says that one can come (`slack`): else an error of that size in the quantity would go
unnoticed, and the row says so instead of "holds".

Doubles only find points. Where both sides are expressions balls decide at each point, without a tolerance; where balls do not
tell the sides apart the evidence has the digits to which they agree, and such a claim counts as enumerated only if the two
values are shown to be one.

From a violation to a witness: few digits, proved, and one near the paper's own parameters.
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

from airtight.validate.claims import EFFORT
from airtight.validate.claims.claim import Claim, Verdict
from airtight.validate.claims.domain import Range, Value, exact
from airtight.validate.claims.domain import exact as decimal
from airtight.validate.claims.evidence import Evidence, Extent, How, Witness, decimal_ends
from airtight.validate.claims.proving.balls import enclosed
from airtight.validate.claims.proving.boxes import Proof
from airtight.validate.claims.proving.identity import identical
from airtight.validate.claims.proving.proof import prove
from airtight.validate.claims.relation import MOST_BITS, Exact, Point, Sign, at_point

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


LEAST = 32  # below so many points nothing holds
_REGIME = 32  # points inside the paper's regime
_STARTS = 4
_VIOLATIONS = 20  # corners end there: one of them will shrink well
_LOOKED = 32  # points at which a denominator is looked at
_PROBES = 160  # pairs of points between which one parameter is exchanged before it counts as idle
_PRESSED = 4  # points of a claim at which balls go on to 16384 bits
_TIES = 16  # points of a small domain at which SymPy is asked whether both sides are one number
_FORMED = 1e-6  # relative: between an algorithm in doubles and its form
_NOISE = 1e-12  # relative rounding of a quantity
_SKIPPED = 40  # draws for each point wanted, where hypotheses are rarely met


class _Stopped(Exception):
    """The wall-clock limit is reached."""


class _Enough(Exception):
    """A violation is met, and none other is looked for."""


def trial(claim: Claim, *, seed: int = 0, effort: int = EFFORT, deadline: float = math.inf) -> Evidence:
    """Try to refute a claim, and prove it when that succeeds.

    Parameters
    ----------
    claim : Claim
    seed : int
    effort : int
        Evaluations of the claim; an eighth at corners, half spread evenly, the rest downhill. Shrinking a violation, the
        paper's own regime and the check that no parameter is idle come on top.
    deadline : float
        Of `time.time`, which all machines share: the trial ends there, and says so.

    Returns
    -------
    Evidence

    Examples
    --------
    >>> from airtight.validate.claims.claim import holds
    >>> from airtight.validate.claims.domain import parameter
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
    """The trial, and the proof that it came to, of the claim or of its form; of a claim with a fault none is sought."""
    started = time.perf_counter()
    search = _Search(claim, seed, deadline)
    how, fault, broken = How.SEARCHED, "", False
    witness = near = extent = proof = None
    try:
        search.in_time()
        search.well_posed()
        how = search.run(effort)
        if not search.violations:
            fault = search.fault(how)
            if not fault and how is How.SEARCHED and claim.ruling.survives:
                proof, fault = search.proof()
        if search.violations:
            how, witness = How.WITNESS, simplest(claim, search.violations)
            extent = search.extent()
            near = near_paper(claim, search.violations)
            fault = fault or search.fault(how)
    except _Stopped:
        fault = "stopped"
    except Exception as error:  # of anyone's code: the other claims are still to be tried
        place = f" at {_shown(search.last)}" if search.evaluations else ""
        fault, broken = f"{type(error).__name__}: {error}{place}", True
    proved = proof if proof and proof.proved else None
    known = None if proved is None else (How.IDENTITY if proved.method == "identity" else How.PROVED)
    if known and claim.form is None:
        how = known
    evidence = Evidence(
        claim=claim,
        verdict=judged(claim, witness, fault),
        how=How.ARGUED if claim.argued and how is How.SEARCHED else how,
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
        boxes=proved.boxes if proved and known is How.PROVED else None,
        error=broken,
        form=known if claim.form is not None else None,
        digits=None if search.violations else search.digits,
    )
    return evidence, proved


def noticed(claim: Claim, *, seed: int = 0, effort: int = EFFORT) -> bool:
    """Whether a trial meets a violation; it ends at the first one. For errors planted in a true claim.

    Examples
    --------
    >>> from airtight.validate.claims.domain import parameter
    >>> from airtight.validate.claims.relation import at_most
    >>> x = parameter("x", 0.0, 1.0)
    >>> claim = Claim("SQUARE", "Lemma 1", at_most(x**2, x))
    >>> noticed(claim), noticed(claim.planted())
    (False, True)
    """
    search = _Search(claim, seed, math.inf)
    search.patient = False
    with suppress(_Enough):
        search.run(effort)
    return bool(search.violations)


def judged(claim: Claim, witness: Witness | None, fault: str) -> Verdict:
    """The verdict on what was met: the one that is ruled only if it was met what that one implies."""
    if fault or (witness is not None and not witness.certified):
        return Verdict.UNSETTLED
    if (witness is None) is claim.ruling.survives:
        return claim.expected
    return Verdict.HOLDS if witness is None else Verdict.FALSE


def _shown(point: Point) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in point.items()) or "the only point"


class _Search:
    """The points tried so far, and the worst of them."""

    def __init__(self, claim: Claim, seed: int, deadline: float) -> None:
        self.claim, self.deadline = claim, deadline
        self.rng = np.random.default_rng([seed, *claim.id.encode()])
        self.patient = True  # goes on after a violation
        self.names = list(claim.domain)
        self.evaluations = self.claiming = 0
        self.margin = math.inf
        self.tightest: Point = {}
        self.last: Point = {}
        self.values = (math.nan, math.nan)
        self.violations: list[tuple[float, Point]] = []
        self.seen: list[tuple[float, Point]] = []
        self.measured: list[tuple[float, float]] = []  # claimed and actual value at each of those
        self.different: tuple[list[float], list[float]] = ([], [])
        self.spread_margins: list[float] = []
        self.digits: int | None = None  # to which both sides agree where balls do not tell them apart
        self.ties: list[Point] = []  # points at which they do not
        self.whole = False  # all points of the domain were tried
        self.pressed = 0  # points at which the precision was raised as far as it goes

    def in_time(self) -> None:
        if time.time() > self.deadline:
            raise _Stopped

    def at(self, point: Point) -> float:
        """The margin at a point."""
        self.in_time()
        self.last = point
        self.evaluations += 1
        claimed, actual, margin = self.compared(point)
        if math.isnan(claimed):
            return math.inf
        self.claiming += 1
        for side, value in zip(self.different, (claimed, actual), strict=True):
            if not side or (len(side) == 1 and not _same(side[0], value)):
                side.append(value)
        if margin < self.margin or not self.tightest:
            self.margin, self.tightest, self.values = margin, point, (claimed, actual)
        if margin < 0:
            self.violations.append((margin, point))
            if not self.patient:
                raise _Enough
        self.seen.append((margin, point))
        self.measured.append((claimed, actual))
        return margin

    def compared(self, point: Point) -> tuple[float, float, float]:
        """Claimed and actual value and the margin, by balls where both sides are expressions."""
        claim = self.claim
        if not claim.relation.symbolic:
            return claim.compare(point)
        values, found = claim.agreement(point)
        if found.order is None and self.pressed < _PRESSED and not self.same():
            self.pressed += 1
            values, found = claim.agreement(point, most=MOST_BITS)
        if found.order is None:
            self.ties.append(point)
        if found.digits is not None:
            self.digits = found.digits if self.digits is None else min(self.digits, found.digits)
        return values

    def same(self) -> bool:
        """Whether SymPy finds that both sides of an equation are one expression: then more digits would show nothing."""
        relation = self.claim.relation
        return relation.sign is Sign.EQUAL and identical(relation.actual, relation.claimed)

    def well_posed(self) -> None:
        """Raise where an expression divides by what changes its sign inside the domain: between two points it is 0."""
        relation = self.claim.relation
        bases = {
            power.base
            for side in (relation.actual, relation.claimed)
            if isinstance(side, sp.Expr)
            for power in side.atoms(sp.Pow)
            if power.exp.is_negative and not any(s.is_integer for s in power.base.free_symbols)
        }
        excluded = [c.lhs - c.rhs for c in self.claim.given if isinstance(c, sp.Ne)]
        bases = {
            base for base in bases if not any(sp.expand(base - x) == 0 or sp.expand(base + x) == 0 for x in excluded)
        }
        if not bases:
            return
        points = list(self._admitted(self._corners(), _LOOKED))
        for base in sorted(bases, key=str):
            balls = [enclosed(base, {name: exact(value) for name, value in point.items()}) for point in points]
            if any(ball > 0 for ball in balls) and any(ball < 0 for ball in balls):
                raise ZeroDivisionError(f"{base} is 0 somewhere inside the domain")

    def run(self, effort: int) -> How:
        """All points of a small domain; else corners, an even spread, and the way down."""
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
        """All of a small domain of integers."""
        self.whole = True
        for values in product(*(allowed.values for allowed in self.claim.domain.values())):
            point = dict(zip(self.names, values, strict=True))
            if self.claim.admits(point):
                self.spread_margins.append(self.at(point))

    def settled(self) -> bool:
        """Whether the order of both sides is known at every point tried: where balls leave it open, SymPy finds them equal."""
        if not self.ties or self.claim.allowance or self.violations:
            return True
        relation = self.claim.relation
        if len(self.ties) > _TIES:
            return False
        for point in self.ties:
            if not identical(at_point(relation.actual, point), at_point(relation.claimed, point)):
                return False
        self.digits = None
        return True

    def at_corners(self, count: int) -> None:
        """The paper's own parameters, and points whose coordinates are ends, extra values, or those of each other."""
        home = own_parameters(self.claim)
        if home is not None and self.claim.admits(home):
            self.at(home)
        for point in self._admitted(self._corners(), count):
            self.at(point)
            if len(self.violations) >= _VIOLATIONS:
                return

    def _corners(self) -> Iterator[dict[str, Value]]:
        while True:
            point: dict[str, Value] = {}
            for name, allowed in self.claim.domain.items():
                special, u = self.rng.random() < 0.5, float(self.rng.random())
                specials = allowed.specials
                point[name] = specials[int(self.rng.integers(len(specials)))] if special else allowed.at(u)
            if len(self.names) > 1 and self.rng.random() < 0.2:
                one, other = self.rng.choice(self.names, 2, replace=False)
                a, b = self.claim.domain[one], self.claim.domain[other]
                if a.integer == b.integer and b.low <= point[one] <= b.high:
                    point[other] = point[one]
            yield point

    def spread(self, count: int) -> None:
        """Points of a scrambled Sobol sequence in the domain."""
        for point in self._admitted(self._sobol(count), count):
            self.spread_margins.append(self.at(point))

    def _sobol(self, count: int, *, regime: bool = False) -> Iterator[dict[str, Value]]:
        from scipy.stats import qmc

        ranges = [r.regime() if regime else r for r in self.claim.domain.values()]
        sequence = qmc.Sobol(len(ranges), scramble=True, rng=self.rng)
        block = max(math.ceil(math.log2(max(count, 1))), 0)
        while True:
            for row in sequence.random_base2(block):
                yield {name: r.at(float(u)) for name, r, u in zip(self.names, ranges, row, strict=True)}
            block += sequence.num_generated > 2**block

    def _admitted(self, points: Iterator[dict[str, Value]], count: int) -> Iterator[dict[str, Value]]:
        for drawn, point in enumerate(points):
            if count <= 0 or drawn > _SKIPPED * (count + 1) + 1000:
                return
            if self.claim.admits(point):
                count -= 1
                yield point

    def downhill(self, evaluations: int) -> None:
        """Nelder-Mead in the unit cube from the points nearest to a violation."""
        from scipy import optimize

        ranges = self.claim.domain

        def objective(u: np.ndarray) -> float:
            point = {n: r.at(float(x)) for (n, r), x in zip(ranges.items(), u, strict=True)}
            margin = self.at(point) if self.claim.admits(point) else math.inf
            if self.violations:
                raise _Enough
            return min(margin, 1e6)

        starts = sorted((s for s in self.seen if s[0] < math.inf), key=lambda s: s[0])[:_STARTS]
        for _, point in starts:
            u = np.array([r.position(point[n]) for n, r in ranges.items()])
            options = {"maxfev": max(evaluations // _STARTS, 2), "initial_simplex": _simplex(u)}
            try:
                optimize.minimize(objective, u, method="Nelder-Mead", bounds=[(0, 1)] * u.size, options=options)
            except _Enough:
                return

    def extent(self) -> Extent:
        """How much of the domain, and of the paper's regime, the statement fails on."""
        by = [self.claim.scale.factor(self.claim.allowance - m) for m, _ in self.violations]
        inside: list[float] = []
        if any(r.typical for r in self.claim.domain.values()):
            inside = [self.at(p) for p in self._admitted(self._sobol(_REGIME, regime=True), _REGIME)]
        return Extent(_share(self.spread_margins) or 0.0, _share(inside), float(np.median(by)), max(by))

    def proof(self) -> tuple[Proof | None, str]:
        """What came of a proof of the expressions, and what is wrong; a point at which it fails is tried like any other."""
        claim = self.claim
        if not claim.provable.symbolic:
            return None, ""
        if claim.form is not None:
            for _, point in self.seen:
                if not self.formed(point):
                    return None, f"the form is not the claim at {_shown(point)}"
        if claim.argued:  # by hand, where no machine proof was found
            return None, ""
        found = prove(claim.provable, claim.domain, claim.given)
        if found.counterexample is None:
            return found, ""
        broken = taken(claim, found.counterexample)
        if self.at(broken) < 0:
            return None, ""
        what = "the form is not the claim" if claim.form is not None else "the proof fails, the claim does not,"
        return None, f"{what} at {_shown(broken)}"

    def formed(self, point: Point) -> bool:
        """Whether the form has the values of the claim at a point, up to the rounding of an algorithm in doubles."""
        claim = self.claim
        size = 0.0 if claim.scale.name == "ratio" else claim.scale.sized(point)
        pairs = zip(claim.relation.values(point), claim.provable.values(point), strict=True)
        return all(math.isclose(a, b, rel_tol=_FORMED, abs_tol=_FORMED * size) for a, b in pairs)

    def fault(self, how: How) -> str:
        """Why what was seen says nothing; empty when it says something."""
        claim = self.claim
        if not claim.domain and not claim.constants:
            return "no parameter: say constants=True"
        if self.whole and not self.claiming:
            return "no point of the domain meets the hypotheses, or something is claimed at none"
        if not self.whole and self.claiming < (LEAST if not self.violations else 1):
            return f"only {self.claiming} points at which something is claimed"
        if not claim.constants and all(len(side) == 1 for side in self.different):
            return "both quantities are constant over the domain"
        if idle := self._idle():
            return f"parameter {idle} changes neither side"
        if not self.violations and claim.ruling.survives and self.margin > claim.room:
            factor = claim.scale.factor(self.margin - claim.allowance)
            return f"never nearer to a violation than {factor:.4g}, where a slack of {claim.slack:g} is stated"
        return ""

    def _idle(self) -> str:
        """A parameter that changes neither side at any point tried."""
        points = [point for _, point in self.seen]
        for name in self.names:
            if name in self.claim.idle or self.claim.domain[name].size == 1:
                continue
            for k in range(min(_PROBES, 4 * len(points))):
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


def _share(margins: list[float]) -> float | None:
    """How many of the points at which something is claimed violate it."""
    claiming = [m for m in margins if m < math.inf]
    return sum(m < 0 for m in claiming) / len(claiming) if claiming else None


def _same(a: float, b: float) -> bool:
    """Equal, but for the rounding of a computation that a parameter does not enter."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b or (math.isnan(a) and math.isnan(b))
    return abs(a - b) <= _NOISE * max(abs(a), abs(b))


def _simplex(u: np.ndarray) -> np.ndarray:
    corners = np.tile(u, (u.size + 1, 1))
    for i in range(u.size):
        corners[i + 1, i] += 0.1 if u[i] < 0.5 else -0.1
    return corners
