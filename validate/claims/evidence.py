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
from typing import Annotated, Any, TypedDict

from airtight.analytics.forms.balls.ball import Ball
from airtight.analytics.forms.domain import Value
from airtight.analytics.records import format_value, plain, table
from airtight.analytics.tidy import Entry, Tabular
from airtight.validate.claims import EFFORT, in_coq, proof_reviews
from airtight.validate.claims.claim import REFUTED, Claim, Implementation, Item, Reference, Verdict
from airtight.validate.claims.proof_reviews import Reading
from airtight.validate.claims.sources import INSTALLED, Source
from airtight.validate.packages import SourceError, error_text

_BOUND_DIGITS = 25  # significant digits of the decimal bounds of a ball


class PointRow(TypedDict):
    """A witness: exact parameters as ``"p/q"``, and a lower and an upper decimal bound of each side."""

    point: dict[str, str]
    claimed: list[str]
    actual: list[str]


class Row(TypedDict):
    """A row of the JSON of ``verify`` and ``try``: a claim with its ruling, its verdict and what the verdict rests on."""

    id: str
    paper: str
    kind: str
    location: str
    implementation: Annotated[dict[str, Any], Implementation] | None
    statement: str
    hypotheses: list[str]
    quantities: list[str]
    expected: str
    verdict: str
    reason: str
    severity: str | None
    how: str
    argued: str | None
    proof_read: str | None
    proof_changed: str | None
    coq: str | None
    boxes: int | None
    known: str
    form: str | None
    digits: int | None
    fault: str | None
    witness: PointRow | None
    near_paper: PointRow | None
    near_reason: str | None
    claimed: float | None
    actual: float | None
    scale: str | None
    margin: float | None
    tightest: dict[str, Value] | None
    tightness: float | None
    share_violated: float | None
    share_of_regime: float | None
    median_factor: float | None
    worst_factor: float | None
    true_where: str | None
    corrected_by: str | None
    uncorrected: str | None
    also: list[Annotated[dict[str, Any], Reference]]
    certified: bool
    evaluations: int
    seconds: float


class How(StrEnum):
    """What a verdict rests on."""

    IDENTITY = "identity"
    PROVED = "proved"
    ENUMERATED = "enumerated"
    ARGUED = "argued"
    SEARCHED = "searched"
    WITNESS = "witness"


@dataclass(frozen=True)
class Witness:
    """A point at which a statement fails, with coordinates of few digits.

    Attributes
    ----------
    point : dict of str to Fraction
    claimed, actual : float
    balls : pair of pairs of str or None
        Lower and upper decimal bound of the claimed value, and of the actual value; None if there is no ball
        arithmetic.
    certified : bool
        Whether the balls prove the violation.
    """

    point: dict[str, Fraction]
    claimed: float
    actual: float
    balls: tuple[tuple[str, str], tuple[str, str]] | None
    certified: bool

    def text(self) -> dict[str, str]:
        """The parameters as decimals of at most 12 digits where these are exact, otherwise as fractions."""
        return {name: _decimal(value) for name, value in self.point.items()}

    def as_json(self) -> PointRow:
        """The exact parameters, and decimal bounds of both quantities; without balls a double, twice, which is no bound."""
        claimed, actual = self.balls or ((repr(self.claimed),) * 2, (repr(self.actual),) * 2)
        return {
            "point": {name: str(value) for name, value in self.point.items()},
            "claimed": list(claimed),
            "actual": list(actual),
        }


def decimal_ends(ball: Ball) -> tuple[str, str]:
    """Lower and upper bound of a ball as decimal strings, rounded outward.

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
    with localcontext(Context(prec=_BOUND_DIGITS, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)) as context:
        if exponent >= 0:
            return str(context.create_decimal(mantissa << exponent).normalize())
        return str(context.divide(Decimal(mantissa), Decimal(1 << -exponent)).normalize())


def _decimal(value: Fraction) -> str:
    as_float = float(value)
    return f"{as_float:.12g}" if Fraction(f"{as_float:.12g}") == value else str(value)


@dataclass(frozen=True)
class Extent:
    """The share of the domain on which a statement fails, and by how much it fails.

    Attributes
    ----------
    domain : float
        Share of the points spread over the domain at which the statement fails.
    regime : float or None
        The same share for points spread over the typical ranges of the paper; None if the paper names none.
    median, worst : float
        Median and maximum of the factors (or of the differences, on other scales) by which it fails.
    """

    domain: float
    regime: float | None
    median: float
    worst: float


@dataclass(frozen=True)
class Evidence(Tabular):
    """The evidence of one claim.

    Attributes
    ----------
    verdict : Verdict
        ``unsettled`` if a violation was found and not proved, or if there is a fault.
    how : How
    fault : str
        Why the trial decides nothing, such as a limit of time or a claim that cannot be evaluated; empty if there is no
        fault.
    witness : Witness or None
        The simplest witness.
    near_paper : Witness or None
        The witness nearest to the paper's parameters.
    margin : float
        Least margin over all evaluations, on the claim's scale: the distance to a violation, negative in a violation.
    tightest : dict
        The point with this margin.
    claimed, actual : float
        The two quantities at this point.
    extent : Extent or None
        Extent of the failure of a refuted statement.
    evaluations : int
    boxes : int or None
        Number of boxes of a proof.
    error : bool
        Whether the claim cannot be evaluated; `fault` says where.
    form : How or None
        What the closed form of the claim rests on, where the claim itself, an algorithm, has only survived a search.
    digits : int or None
        Number of decimal digits to which both sides agree at points where ball arithmetic does not separate them, the
        least over these points; None if there are no such points.
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
        """On a ratio scale the greatest ratio of the smaller to the larger side: 1 for a tight bound; nan otherwise."""
        if self.margin < 0 or self.claim.scale.name != "ratio":
            return math.nan
        return math.exp(min(self.claim.allowance - self.margin, 0.0))

    @property
    def by_hand(self) -> bool:
        """Whether a proof by hand shows the statement, or, as its reason says, what of it the machine does not prove."""
        part = self.how in (How.PROVED, How.IDENTITY) and not self.claim.coq and "by hand" in self.claim.reason
        return self.how is How.ARGUED or (part and bool(self.claim.argued))

    @property
    def in_coq(self) -> bool:
        """Whether the claim is a theorem that was written for Coq by hand."""
        return bool(self.claim.coq) and self.how in (How.PROVED, How.IDENTITY)

    @property
    def reading(self) -> Reading | None:
        """The last reading of the proof by hand on which the verdict rests, or which says what is proved in Coq."""
        return proof_reviews.of(self.claim) if self.by_hand or self.in_coq else None

    @property
    def known(self) -> str:
        """What the verdict rests on, in the words that are printed before the verdict.

        Examples
        --------
        >>> from airtight.analytics.forms.domain import parameter
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
        return f"refuted by an exhibit ({self._how_survived})" if self.verdict in REFUTED else self._how_survived

    @property
    def _how_survived(self) -> str:
        """What the absence of a violation rests on, in words."""
        if self.how is How.ENUMERATED:
            return f"enumerated at {self.evaluations} point{'s' * (self.evaluations != 1)}"
        description = self.how.value
        if self.how is How.SEARCHED:
            description = f"survived {self.evaluations} evaluations" + (f" to 1e-{self.digits}" if self.digits else "")
        if self.in_coq:
            description += " in Coq" if self.how is How.PROVED else ", and in Coq"
            description += "" if in_coq.accepted(self.claim) else ", to be compiled again"
        elif self.by_hand and self.how is not How.ARGUED:
            description += ", the rest by hand"
        if (reading := self.reading) and reading.changed:
            description += ", to be read again"
        return description + (f", form {self.form.value}" if self.form else "")

    @property
    def said(self) -> str:
        """What the verdict rests on, followed by the verdict.

        Examples
        --------
        >>> from airtight.analytics.forms.domain import parameter
        >>> from airtight.validate.claims.relation import at_most
        >>> from airtight.validate.claims.search import trial
        >>> trial(Claim("C", "here", at_most(parameter("x", 0.0, 1.0) ** 2, 1))).said
        'proved: holds'
        """
        return self.known if self.known == self.verdict.value else f"{self.known}: {self.verdict.value}"

    @property
    def leading(self) -> Witness | None:
        """The witness to show first: the one nearest to the paper's parameters; the simplest one may be degenerate."""
        return self.near_paper or self.witness

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one, without a fault; a witness without certificate leaves it unsettled."""
        return self.verdict is self.claim.expected and not self.fault

    def as_json(self) -> Row:
        """One row of the ``verify`` JSON."""
        claim, witness, reading = self.claim, self.witness, self.reading
        refuted = self.verdict in REFUTED
        return {
            "id": claim.id,
            "paper": claim.paper,
            "kind": claim.kind,
            "location": claim.location,
            "implementation": asdict(claim.implementation) if claim.implementation else None,
            "statement": claim.statement,
            "hypotheses": claim.hypotheses,
            "quantities": [quantity.key for quantity in claim.quantities],
            "expected": claim.expected.value,
            "verdict": self.verdict.value,
            "reason": claim.reason,
            "severity": claim.ruling.severity.value if refuted and claim.ruling.severity else None,
            "how": self.how.value,
            "argued": claim.argued or None,
            "proof_read": reading.read.isoformat() if reading else None,
            "proof_changed": (reading.changed or None) if reading else None,
            "coq": claim.coq or None,
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

    def tidy(self) -> dict[str, object]:
        """The numbers of a table; the two sides of the statement at its counterexample, or where it is nearest to false."""
        row = self.as_json()
        words = {name: row[name] for name in ("paper", "verdict", "how", "severity")}
        numbers = {name: row[name] for name in ("margin", "tightness", "share_violated", "median_factor", "worst_factor")}
        return {
            **words,
            "claimed": None if row["claimed"] is None else Entry(value=row["claimed"], face="published"),
            "actual": None if row["actual"] is None else Entry(value=row["actual"], face="exact"),
            **numbers,
            "evaluations": row["evaluations"],
            "certified": row["certified"],
        }

    def to_dict(self) -> dict[str, Any]:
        """The row for strict JSON: numbers that are not finite become strings."""
        row: dict[str, Any] = plain(self.as_json())
        return row

    def _repr_html_(self) -> str:
        names = ("location", "statement", "verdict", "claimed", "actual", "certified", "corrected_by")
        row = {**self.as_json(), "statement": self.claim._repr_latex_(), "verdict": self.said}
        return table(self.claim.id, [(name, format_value(row[name])) for name in names if row[name] is not None])


def item_as_json(item: Item) -> dict[str, Any]:
    """A row of the ``verify`` JSON for an item that is not a claim."""
    identity = {
        "id": item.id,
        "paper": item.paper,
        "kind": "statement",
        "location": item.location,
        "statement": "",
        "reason": item.reason,
    }
    verdicts = {"expected": item.verdict.value, "verdict": item.verdict.value, "how": "argued"}
    not_applicable = dict.fromkeys(
        (
            *("severity", "fault", "witness", "near_paper", "near_reason", "claimed", "actual", "scale", "margin"),
            *("tightest", "tightness", "share_violated", "share_of_regime", "median_factor", "worst_factor"),
            *("true_where", "corrected_by", "uncorrected", "boxes", "argued", "implementation", "form", "digits"),
            *("proof_read", "proof_changed", "coq"),
        )
    )
    verdicts["known"] = item.verdict.value
    return {
        **identity,
        **verdicts,
        **not_applicable,
        "hypotheses": [],
        "quantities": [],
        "also": [],
        "certified": False,
        "evaluations": 0,
        "seconds": 0.0,
    }


NAME = "evidence.json"  # file name, in the folder of the records of a paper


@dataclass(frozen=True)
class Shipped:
    """Evidence of an earlier audit, in the order of the papers.

    Attributes
    ----------
    seed, effort : int
    evidence : list of Evidence
        The evidence of those claims that still exist.
    """

    seed: int
    effort: int
    evidence: list[Evidence]


def text(evidence: Sequence[Evidence], *, seed: int = 0, effort: int = EFFORT) -> str:
    """The contents of the evidence file."""
    rows = {e.claim.id: {f.name: _plain(getattr(e, f.name)) for f in fields(e) if f.name != "claim"} for e in evidence}
    return json.dumps({"seed": seed, "effort": effort, "rows": rows}, indent=0) + "\n"


def shipped(source: Source = INSTALLED) -> Shipped:
    """The evidence that installed papers have beside them, ours and those of other packages.

    Raises
    ------
    SourceError
        When the evidence of another package cannot be read, or was found with another seed or effort than ours.

    Examples
    --------
    >>> shipped().evidence[0].verdict.value
    'false'
    """
    claims, evidence = source.claims(), []
    files = dict.fromkeys(source.records(paper) / NAME for paper in source.papers())
    plans = {}
    for file in (file for file in files if file.is_file()):
        try:
            contents = json.loads(file.read_text(encoding="utf-8"))
            plans[file] = (contents["seed"], contents["effort"])
            evidence += [
                Evidence(claim=claims[name], **_fields_of_row(row))
                for name, row in contents["rows"].items()
                if name in claims and source.records(claims[name].paper) == file.parent
            ]
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise SourceError(f"{file}: no evidence of claims: {error_text(error)}") from error
    (seed, effort), *others = dict.fromkeys(plans.values())
    if others:
        listed = ", ".join(f"{file}: seed {plan[0]}, effort {plan[1]}" for file, plan in plans.items())
        raise SourceError(f"evidence must be of one seed and one effort: {listed}")
    return Shipped(seed, effort, evidence)


def _plain(value: Any) -> Any:
    """A field of the evidence as a value that JSON can hold; fractions are strings."""
    if isinstance(value, Witness | Extent):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: _plain(x) for name, x in value.items()}
    return str(value) if isinstance(value, Fraction) else value


def _fields_of_row(row: dict[str, Any]) -> dict[str, Any]:
    """The fields of the evidence from a row of the file, the inverse of `_plain`."""
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
