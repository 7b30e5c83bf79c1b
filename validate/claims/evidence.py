"""Evidence: the results of the trial of a claim.

Each version ships the evidence of all claims, which `make ledger` computes, with its seed and effort.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from enum import StrEnum
from fractions import Fraction
from importlib import resources
from typing import Any

from airtight.analytics.forms.balls.ball import Ball
from airtight.analytics.records import plain, table, told
from airtight.validate.claims import EFFORT
from airtight.validate.claims.claim import REFUTED, Claim, Item, Verdict
from airtight.validate.claims.domain import Value
from airtight.validate.claims.sources import INSTALLED

_DIGITS = 25


class How(StrEnum):
    """How a verdict is known."""

    IDENTITY = "identity"
    PROVED = "proved"
    ENUMERATED = "enumerated"
    ARGUED = "argued"
    SEARCHED = "searched"
    WITNESS = "witness"


@dataclass(frozen=True)
class Witness:
    """A point of few digits where a statement fails.

    Attributes
    ----------
    point : dict of str to Fraction
    claimed, actual : float
    balls : pair of Ball or None
        Balls of the claimed and the actual value.
    certified : bool
        Whether the balls prove the violation.
    """

    point: dict[str, Fraction]
    claimed: float
    actual: float
    balls: tuple[tuple[str, str], tuple[str, str]] | None
    certified: bool

    def text(self) -> dict[str, str]:
        """The parameters as decimals where these are finite, else as fractions."""
        return {name: _decimal(value) for name, value in self.point.items()}

    def as_json(self) -> dict[str, Any]:
        """Exact parameters, and both quantities as decimal ends of balls."""
        claimed, actual = self.balls or ((repr(self.claimed),) * 2, (repr(self.actual),) * 2)
        return {
            "point": {name: str(value) for name, value in self.point.items()},
            "claimed": list(claimed),
            "actual": list(actual),
        }


def decimal_ends(ball: Ball) -> tuple[str, str]:
    """Decimal strings below and above every number in a ball.

    Examples
    --------
    >>> from airtight.analytics.forms.balls.ball import ball
    >>> decimal_ends(ball("1/2")), decimal_ends(ball("1/3"))[0][:12]
    (('0.5', '0.5'), '0.3333333333')
    """
    return _outward(ball.lower(), ROUND_FLOOR), _outward(ball.upper(), ROUND_CEILING)


def _outward(end: Ball, rounding: str) -> str:
    if not end.is_finite():
        return str(float(end))
    mantissa, exponent = (int(part) for part in end.man_exp())
    with localcontext(Context(prec=_DIGITS, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)) as context:
        if exponent >= 0:
            return str(context.create_decimal(mantissa << exponent).normalize())
        return str(context.divide(Decimal(mantissa), Decimal(1 << -exponent)).normalize())


def _decimal(value: Fraction) -> str:
    as_float = float(value)
    return f"{as_float:.12g}" if Fraction(f"{as_float:.12g}") == value else str(value)


@dataclass(frozen=True)
class Extent:
    """Where and by how much a statement fails, over points spread evenly.

    Attributes
    ----------
    domain : float
        Share of the domain's points at which it fails.
    regime : float or None
        The same share within the parameters of the paper; None where the paper names none.
    median, worst : float
        Median and maximum of the factors (or differences on the scale) by which it fails.
    """

    domain: float
    regime: float | None
    median: float
    worst: float


@dataclass(frozen=True)
class Evidence:
    """The evidence of one claim.

    Attributes
    ----------
    verdict : Verdict
        ``unsettled`` when a violation was met but not proved, when the trial was stopped, and when a survival has no meaning.
    how : How
    fault : str
        Why the trial has no result or a weaker one than expected; empty otherwise.
    witness : Witness or None
        The simplest witness.
    near_paper : Witness or None
        The witness nearest to the paper's parameters.
    margin : float
        Least distance to a violation met, on the claim's scale (negative: violated).
    tightest : dict
        Parameters at that distance, and both quantities there.
    extent : Extent or None
        Extent of the failure of a refuted statement.
    evaluations : int
    boxes : int or None
        Number of boxes of a proof.
    error : bool
        Whether the claim cannot be evaluated; `fault` says where.
    form : How or None
        How the form of the claim is known, in expressions, where the claim itself is an algorithm that survived a search.
    digits : int or None
        To how many decimal digits both sides agree at points where balls do not tell them apart; None where there are none.
    """

    claim: Claim
    verdict: Verdict
    how: How
    fault: str
    witness: Witness | None
    near_paper: Witness | None
    margin: float
    tightest: dict[str, Value]
    claimed: float
    actual: float
    extent: Extent | None
    evaluations: int
    seconds: float = field(compare=False)
    boxes: int | None = None
    error: bool = False
    form: How | None = None
    digits: int | None = None

    @property
    def tightness(self) -> float:
        """On a ratio scale the best ratio of the smaller to the greater side met: 1 for a tight bound; nan elsewhere."""
        if self.margin < 0 or self.claim.scale.name != "ratio":
            return math.nan
        return math.exp(min(self.claim.allowance - self.margin, 0.0))

    @property
    def known(self) -> str:
        """How the verdict is known, as the first word that a reader sees of it.

        Examples
        --------
        >>> from airtight.validate.claims.domain import parameter
        >>> from airtight.validate.claims.relation import at_most
        >>> from airtight.validate.claims.search import trial
        >>> x, n = parameter("x", 0.0, 1.0), parameter("n", 1, 9, integer=True)
        >>> [trial(Claim("C", "here", at_most(s**2, s))).known for s in (x, n)]
        ['proved', 'refuted']
        """
        if self.verdict is Verdict.UNSETTLED:
            return "unsettled"
        if self.how is How.WITNESS:
            return "refuted as printed" if self.verdict is Verdict.OTHER_READING else "refuted"
        return f"refuted by an exhibit ({self._shown})" if self.verdict in REFUTED else self._shown

    @property
    def _shown(self) -> str:
        """Words for how it is known that the trial met no violation."""
        if self.how is How.ENUMERATED:
            return f"enumerated at {self.evaluations} point{'s' * (self.evaluations != 1)}"
        told = self.how.value
        if self.how is How.SEARCHED:
            told = f"survived {self.evaluations} evaluations" + (f" to 1e-{self.digits}" if self.digits else "")
        return told + (f", form {self.form.value}" if self.form else "")

    @property
    def said(self) -> str:
        """How the verdict is known, and then the verdict.

        Examples
        --------
        >>> from airtight.validate.claims.domain import parameter
        >>> from airtight.validate.claims.relation import at_most
        >>> from airtight.validate.claims.search import trial
        >>> trial(Claim("C", "here", at_most(parameter("x", 0.0, 1.0) ** 2, 1))).said
        'proved: holds'
        """
        return self.known if self.known == self.verdict.value else f"{self.known}: {self.verdict.value}"

    @property
    def leading(self) -> Witness | None:
        """The witness that a reader sees first: nearest to the paper's own parameters; the simplest may be degenerate."""
        return self.near_paper or self.witness

    @property
    def as_expected(self) -> bool:
        """Whether the trial confirms the ruling; a refuted statement needs a certified witness."""
        return self.verdict is self.claim.expected and not self.fault

    def as_json(self) -> dict[str, Any]:
        """One row of the ``verify`` JSON."""
        claim, witness = self.claim, self.witness
        refuted = self.verdict in REFUTED
        return {
            "id": claim.id,
            "paper": claim.paper,
            "kind": claim.kind,
            "location": claim.location,
            "implementation": asdict(claim.implementation) if claim.implementation else None,
            "statement": claim.statement,
            "expected": claim.expected.value,
            "verdict": self.verdict.value,
            "reason": claim.reason,
            "severity": claim.ruling.severity.value if refuted and claim.ruling.severity else None,
            "how": self.how.value,
            "argued": claim.argued or None,
            "boxes": self.boxes,
            "known": self.known,
            "form": self.form.value if self.form else None,
            "digits": self.digits,
            "fault": self.fault or None,
            "witness": witness.as_json() if witness else None,
            "near_paper": self.near_paper.as_json() if self.near_paper else None,
            "near_reason": claim.near if isinstance(claim.near, str) and claim.near else None,
            "claimed": witness.claimed if witness else self.claimed,
            "actual": witness.actual if witness else self.actual,
            "scale": claim.scale.label,
            "margin": self.margin,
            "tightest": self.tightest,
            "tightness": None if math.isnan(self.tightness) else self.tightness,
            "share_violated": self.extent.domain if self.extent else None,
            "share_of_regime": self.extent.regime if self.extent else None,
            "median_factor": self.extent.median if self.extent else None,
            "worst_factor": self.extent.worst if self.extent else None,
            "true_where": claim.ruling.true_where or None,
            "corrected_by": claim.ruling.corrected_by or None,
            "uncorrected": claim.ruling.uncorrected or None,
            "also": [{"id": r.id, "paper": r.paper, "location": r.location} for r in claim.also],
            "certified": bool(witness and witness.certified),
            "evaluations": self.evaluations,
            "seconds": self.seconds,
        }

    def to_dict(self) -> dict[str, Any]:
        """The row for strict JSON: numbers that are not finite become strings."""
        found: dict[str, Any] = plain(self.as_json())
        return found

    def _repr_html_(self) -> str:
        names = ("location", "statement", "verdict", "claimed", "actual", "certified", "corrected_by")
        row = {**self.as_json(), "statement": self.claim._repr_latex_(), "verdict": self.said}
        return table(self.claim.id, [(name, told(row[name])) for name in names if row[name] is not None])


def item_as_json(item: Item) -> dict[str, Any]:
    """A row of the same shape for an item that is no claim."""
    given = {
        "id": item.id,
        "paper": item.paper,
        "kind": "statement",
        "location": item.location,
        "statement": "",
        "reason": item.reason,
    }
    verdicts = {"expected": item.verdict.value, "verdict": item.verdict.value, "how": "argued"}
    nothing = dict.fromkeys(
        (
            *("severity", "fault", "witness", "near_paper", "near_reason", "claimed", "actual", "scale", "margin"),
            *("tightest", "tightness", "share_violated", "share_of_regime", "median_factor", "worst_factor"),
            *("true_where", "corrected_by", "uncorrected", "boxes", "argued", "implementation", "form", "digits"),
        )
    )
    verdicts["known"] = item.verdict.value
    return {**given, **verdicts, **nothing, "also": [], "certified": False, "evaluations": 0, "seconds": 0.0}


NAME = "evidence.json"  # beside the papers


@dataclass(frozen=True)
class Shipped:
    """Evidence of an earlier audit, in the order of the papers.

    Attributes
    ----------
    seed, effort : int
    evidence : list of Evidence
        Of the claims that there still are.
    """

    seed: int
    effort: int
    evidence: list[Evidence]


def text(evidence: Sequence[Evidence], *, seed: int = 0, effort: int = EFFORT) -> str:
    """The file."""
    rows = {e.claim.id: {f.name: _plain(getattr(e, f.name)) for f in fields(e) if f.name != "claim"} for e in evidence}
    return json.dumps({"seed": seed, "effort": effort, "rows": rows}, indent=0) + "\n"


def shipped() -> Shipped:
    """What is installed.

    Examples
    --------
    >>> shipped().evidence[0].verdict.value
    'false'
    """
    read = json.loads(resources.files("airtight.validate.papers").joinpath(NAME).read_text(encoding="utf-8"))
    claims = INSTALLED.claims()
    found = [Evidence(claim=claims[name], **_back(row)) for name, row in read["rows"].items() if name in claims]
    return Shipped(read["seed"], read["effort"], found)


def _plain(value: Any) -> Any:
    if isinstance(value, Witness | Extent):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: _plain(x) for name, x in value.items()}
    return str(value) if isinstance(value, Fraction) else value


def _back(row: dict[str, Any]) -> dict[str, Any]:
    enums = {"verdict": Verdict(row["verdict"]), "how": How(row["how"])}
    enums |= {"form": How(row["form"])} if row.get("form") else {}
    witnesses = {name: _witness(row[name]) for name in ("witness", "near_paper")}
    return {**row, **enums, **witnesses, "extent": Extent(**row["extent"]) if row["extent"] else None}


def _witness(row: dict[str, Any] | None) -> Witness | None:
    if row is None:
        return None
    point = {name: Fraction(value) for name, value in row["point"].items()}
    balls = None if row["balls"] is None else tuple(tuple(ends) for ends in row["balls"])
    return Witness(**{**row, "point": point, "balls": balls})
