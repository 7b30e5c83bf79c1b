"""What an audited statement consists of, and what an audit finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np

Value = float | int
Point = Mapping[str, Value]
Exact = Mapping[str, Fraction]
Pair = tuple[Any, Any]

_ROUNDING = 1e-8


class Verdict(StrEnum):
    """What is true of a published statement."""

    HOLDS = "holds"
    HOLDS_UNDER = "holds-under"
    FALSE = "false"
    ILL_DEFINED = "ill-defined"
    NOT_REPRODUCIBLE = "not-reproducible"
    DEFINITION = "definition"
    UNDECIDABLE = "undecidable"
    UNSETTLED = "unsettled"


class Relation(StrEnum):
    """How the actual value must compare with the claimed one."""

    AT_MOST = "<="
    AT_LEAST = ">="
    EQUAL = "=="


@dataclass(frozen=True)
class Range:
    """The values that one hypothesis allows a parameter.

    Attributes
    ----------
    low, high : float
        Both included; equal for a constant.
    logarithmic : bool
        Sample evenly in the logarithm.
    integer : bool
    extra : tuple of float
        Further values worth trying, such as 0 below a logarithmic range.
    """

    low: float
    high: float
    logarithmic: bool = False
    integer: bool = False
    extra: tuple[float, ...] = ()

    def at(self, u: float) -> Value:
        """The value at position u of [0, 1]."""
        u = min(max(u, 0.0), 1.0)
        between = self.low * (self.high / self.low) ** u if self.logarithmic else self.low + (self.high - self.low) * u
        value = float(min(max(between, self.low), self.high))
        return round(value) if self.integer else value

    def sample(self, rng: np.random.Generator) -> tuple[float, Value]:
        """A position and its value; ends and extra values come up often."""
        kind = rng.random()
        if kind < 0.1:
            u = float(rng.integers(2))
            return u, self.at(u)
        u = float(rng.random())
        if self.extra and kind < 0.25:
            return u, self.extra[int(rng.integers(len(self.extra)))]
        return u, self.at(u)

    def allows(self, value: Fraction) -> bool:
        """Whether a candidate witness is in the range."""
        if self.integer and value.denominator != 1:
            return False
        return self.low <= float(value) <= self.high or float(value) in self.extra


def constant(value: float) -> Range:
    """A parameter that the statement fixes."""
    return Range(value, value, integer=isinstance(value, int))


@dataclass(frozen=True)
class Claim:
    """One numbered statement of a paper, or one of ours, made executable.

    Attributes
    ----------
    id, paper, location : str
        Ledger identifier, paper, and where it stands there.
    statement : str
        LaTeX.
    expected : Verdict
        What the audit should find.
    reason : str
        One sentence why.
    domain : mapping of str to Range
        The hypotheses: what the parameters may be.
    claimed, actual : callable
        Both take the parameters by name and return a float; ``nan`` from `claimed` means that nothing is claimed there.
    relation : Relation
        What is claimed of (actual, claimed).
    enclose : callable or None
        Takes exact parameters, returns (claimed, actual) as balls: the proof of a violation.
    if_violated, if_survived : Verdict
        What a certified violation, or its absence, says of the *printed* statement. A statement that is refuted by
        exhibiting something ("there is no closed form") survives with ``if_survived = FALSE``.
    tolerance : float
        Relative; a smaller excess is rounding.
    bounded : bool
        The ball of the actual value encloses only a bound of it, on the side that makes a violation harder to prove.
    """

    id: str
    paper: str
    location: str
    statement: str
    expected: Verdict
    reason: str
    domain: Mapping[str, Range]
    claimed: Callable[..., float]
    actual: Callable[..., float]
    relation: Relation = Relation.AT_MOST
    enclose: Callable[..., Pair] | None = None
    if_violated: Verdict = Verdict.FALSE
    if_survived: Verdict = Verdict.HOLDS
    tolerance: float = 1e-9
    bounded: bool = False

    def compare(self, point: Point) -> tuple[float, float, float]:
        """Claimed and actual value at a point, and the margin: log-distance to a violation, negative beyond it."""
        claimed, actual = float(self.claimed(**point)), float(self.actual(**point))
        if math.isnan(claimed):
            return claimed, actual, math.inf
        distance = _log(claimed) - _log(actual) if claimed != actual else 0.0
        if self.relation is Relation.AT_LEAST:
            distance = -distance
        if self.relation is Relation.EQUAL:
            distance = -abs(distance)
        return claimed, actual, distance + self.tolerance

    def proved_violated(self, point: Exact) -> tuple[bool, tuple[float, float]]:
        """Whether ball arithmetic proves the violation, and the middle of both balls."""
        if self.enclose is None:
            return False, (math.nan, math.nan)
        claimed, actual = self.enclose(**point)
        match self.relation:
            case Relation.AT_MOST:
                proved = actual > claimed
            case Relation.AT_LEAST:
                proved = actual < claimed
            case Relation.EQUAL:
                proved = not actual.overlaps(claimed)
        return bool(proved), (float(claimed.mid()), float(actual.mid()))

    def agrees(self, exact: Exact, point: Point) -> bool:
        """Whether the numbers of the search lie in the balls of the proof, up to rounding: else one of them is wrong."""
        if self.enclose is None:
            return True
        claimed, actual = self.enclose(**exact)
        if not (claimed.is_finite() and actual.is_finite()):
            return True
        numbers = self.compare(point)
        if math.isnan(numbers[0]):
            return True
        if self.bounded:
            beyond = numbers[1] - float(actual.mid())
            beyond = -beyond if self.relation is Relation.AT_MOST else beyond
            return _inside(numbers[0], claimed) and beyond <= _ROUNDING * abs(numbers[1])
        return _inside(numbers[0], claimed) and _inside(numbers[1], actual)


@dataclass(frozen=True)
class Item:
    """A numbered item of a paper that asserts nothing, or nothing that a computation could decide.

    Attributes
    ----------
    verdict : Verdict
        ``definition`` or ``undecidable``.
    reason : str
        What it defines and where it stands in the code, or why it cannot be decided and what stands in for it.
    """

    id: str
    paper: str
    location: str
    verdict: Verdict
    reason: str


def _inside(value: float, enclosed: Any) -> bool:
    middle = float(enclosed.mid())
    return abs(value - middle) <= float(enclosed.rad()) + _ROUNDING * abs(middle) + 1e-15


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


@dataclass(frozen=True)
class Witness:
    """A point where a statement fails, with few-digit rational parameters."""

    point: dict[str, Fraction]
    claimed: float
    actual: float
    certified: bool

    def text(self) -> dict[str, str]:
        """The parameters as decimals where these are finite, else as fractions."""
        return {name: _decimal(value) for name, value in self.point.items()}


def _decimal(value: Fraction) -> str:
    as_float = float(value)
    return f"{as_float:.12g}" if Fraction(f"{as_float:.12g}") == value else str(value)


@dataclass(frozen=True)
class Evidence:
    """What the audit of one claim found.

    Attributes
    ----------
    verdict : Verdict
        ``unsettled`` when a violation was seen but not proved, or when its proof speaks of other numbers than the search.
    margin : float
        Least log-distance to a violation seen (negative: violated).
    tightest : dict
        Where that was.
    """

    claim: Claim
    verdict: Verdict
    witness: Witness | None
    margin: float
    tightest: dict[str, Value]
    claimed: float
    actual: float
    samples: int
    seconds: float = field(compare=False)

    @property
    def tightness(self) -> float:
        """Best ratio of the smaller to the greater side that was seen: 1 for a tight bound; nan where the claim fails."""
        return math.exp(min(self.claim.tolerance - self.margin, 0.0)) if self.margin >= 0 else math.nan

    @property
    def as_expected(self) -> bool:
        """Whether the audit confirms the ledger; a false statement needs a certified witness."""
        return self.verdict is self.claim.expected
