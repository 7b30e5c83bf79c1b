"""Search for a violation of a claim: at random, guided by hypothesis, downhill; then shrink what was found to few digits."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from unittest import mock

import numpy as np

from validate.claims.claim import Claim, Evidence, Point, Range, Value, Verdict, Witness

_STARTS = 4
_STEPS = 60
_COMPARED = 3


def audit(claim: Claim, *, seed: int = 0, budget: float = 3.0, samples: int = 240) -> Evidence:
    """Try to refute a claim, and prove it when that succeeds.

    Parameters
    ----------
    claim : Claim
    seed : int
        The same seed, budget permitting, gives the same evidence.
    budget : float
        Seconds after which no further point is tried.
    samples : int
        Random points at most; a quarter as many again are chosen by hypothesis, and half as many spent on descent.

    Returns
    -------
    Evidence
    """
    started = time.perf_counter()
    search = _Search(claim, np.random.default_rng([seed, *claim.id.encode()]), started + budget)
    search.at_random(samples)
    if search.best_margin >= 0:
        search.guided(samples // 4)
    if search.best_margin >= 0:
        search.downhill(samples // 2)
    witness = _witness(claim, search) if search.best_margin < 0 else None
    if witness is None:
        verdict = claim.if_survived
    elif witness.certified:
        verdict = claim.if_violated
    else:
        verdict = Verdict.UNSETTLED
    return Evidence(
        claim=claim,
        verdict=verdict,
        witness=witness,
        margin=search.best_margin,
        tightest=dict(search.best_point),
        claimed=search.best_values[0],
        actual=search.best_values[1],
        samples=search.tried,
        seconds=time.perf_counter() - started,
    )


class _Search:
    """The points tried so far, and the worst of them."""

    def __init__(self, claim: Claim, rng: np.random.Generator, deadline: float) -> None:
        self.claim, self.rng, self.deadline = claim, rng, deadline
        self.tried = 0
        self.best_margin = math.inf
        self.best_point: Point = {}
        self.best_values = (math.nan, math.nan)
        self.violations: list[tuple[float, Point]] = []
        self.seen: list[tuple[float, list[float]]] = []

    def margin(self, point: Point) -> float:
        self.tried += 1
        claimed, actual, margin = self.claim.compare(point)
        if math.isnan(margin) or math.isnan(actual):
            raise ArithmeticError(f"{self.claim.id}: nan at {dict(point)}")
        if margin < self.best_margin or not self.best_point:
            self.best_margin, self.best_point, self.best_values = margin, point, (claimed, actual)
        if margin < 0:
            self.violations.append((margin, point))
        return margin

    def at_random(self, samples: int) -> None:
        """Independent points; stops at twenty violations, one of which will shrink well."""
        for _ in range(samples):
            draws = {name: r.sample(self.rng) for name, r in self.claim.domain.items()}
            margin = self.margin({name: value for name, (_, value) in draws.items()})
            self.seen.append((margin, [u for u, _ in draws.values()]))
            if len(self.violations) >= 20 or time.perf_counter() > self.deadline:
                return

    def guided(self, examples: int) -> None:
        """Points that hypothesis chooses, which likes ends and coincidences, steered towards small margins."""
        import hypothesis
        from hypothesis import strategies as st
        from hypothesis.internal.conjecture.providers import HypothesisProvider
        from hypothesis.internal.constants_ast import Constants

        def values(allowed: Range) -> st.SearchStrategy[tuple[float, Value]]:
            inside = st.floats(0, 1).map(lambda u: (u, allowed.at(u)))
            return inside | st.sampled_from([(0.5, x) for x in allowed.extra]) if allowed.extra else inside

        @hypothesis.seed(int(self.rng.integers(2**32)))
        @hypothesis.settings(
            max_examples=max(examples, 1),
            database=None,
            deadline=None,
            phases=[hypothesis.Phase.generate, hypothesis.Phase.target],
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(st.fixed_dictionaries({name: values(r) for name, r in self.claim.domain.items()}))
        def explore(draws: dict[str, tuple[float, Value]]) -> None:
            if self.violations or time.perf_counter() > self.deadline:
                return
            margin = self.margin({name: value for name, (_, value) in draws.items()})
            self.seen.append((margin, [u for u, _ in draws.values()]))
            if math.isfinite(margin):
                hypothesis.target(-margin)

        # else the points would depend on the constants of whatever modules are loaded, and a folder .hypothesis would appear
        with mock.patch.object(HypothesisProvider, "_local_constants", Constants()):
            explore()

    def downhill(self, evaluations: int) -> None:
        """Nelder-Mead in the unit cube from the points nearest to a violation."""
        from scipy import optimize

        ranges = self.claim.domain

        def objective(u: np.ndarray) -> float:
            if self.violations or time.perf_counter() > self.deadline:
                raise StopIteration
            margin = self.margin({n: r.at(float(x)) for (n, r), x in zip(ranges.items(), u, strict=True)})
            return min(margin, 1e6)

        starts = sorted(s for s in self.seen if s[0] < math.inf)[:_STARTS]
        for _, u in starts:
            try:
                optimize.minimize(
                    objective,
                    np.array(u),
                    method="Nelder-Mead",
                    bounds=[(0, 1)] * len(u),
                    options={"maxfev": max(evaluations // _STARTS, 20), "initial_simplex": _simplex(u)},
                )
            except StopIteration:
                return


def _simplex(u: list[float]) -> np.ndarray:
    corners = np.tile(np.array(u), (len(u) + 1, 1))
    for i in range(len(u)):
        corners[i + 1, i] += 0.1 if u[i] < 0.5 else -0.1
    return corners


def _witness(claim: Claim, search: _Search) -> Witness:
    """Shrink violations, starting with the grossest, until one is proved."""
    last = None
    for _, point in sorted(search.violations, key=lambda v: v[0])[:5]:
        small = shrink(claim, point)
        proved, values = claim.proved_violated(small)
        proved = proved and all(claim.agrees(p, _floats(claim, p)) for p in (small, *_rounded(claim, search)))
        if claim.enclose is None:
            values = claim.compare(_floats(claim, small))[:2]
        last = Witness(small, values[0], values[1], proved)
        if proved:
            break
    if last is None:
        raise RuntimeError(f"{claim.id}: no violation to shrink")
    return last


def _rounded(claim: Claim, search: _Search) -> list[dict[str, Fraction]]:
    """Violations, to three digits, at which no parameter is as simple as in a witness."""
    points = []
    for _, point in search.violations[:_COMPARED]:
        exact = {
            n: Fraction(f"{float(v):.3g}") if not claim.domain[n].integer else Fraction(v) for n, v in point.items()
        }
        if all(claim.domain[name].allows(value) for name, value in exact.items()):
            points.append(exact)
    return points


def shrink(claim: Claim, point: Point) -> dict[str, Fraction]:
    """Replace each parameter in turn by the simplest value with which the claim still fails, until nothing changes."""
    current = {name: Fraction(repr(value)) for name, value in point.items()}
    for _ in range(_STEPS):
        before = dict(current)
        for name, allowed in claim.domain.items():
            for candidate in _simpler(current[name], allowed):
                trial = {**current, name: candidate}
                if claim.compare(_floats(claim, trial))[2] < 0:
                    current = trial
                    break
        if current == before:
            break
    return current


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


def _floats(claim: Claim, point: dict[str, Fraction]) -> dict[str, Value]:
    return {name: int(v) if claim.domain[name].integer else float(v) for name, v in point.items()}
