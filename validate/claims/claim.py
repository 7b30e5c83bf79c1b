"""What a paper states, made executable, and what is known to be true of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import sympy as sp

from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.balls.ball import ball
from airtight.analytics.records import table
from airtight.validate.claims.domain import Range, exact
from airtight.validate.claims.implementation import Implementation
from airtight.validate.claims.proving.balls import decided
from airtight.validate.claims.relation import RATIO, Agreement, Point, Relation, Scale, one_each, relation

_TOLERANCE = 1e-9  # of a side that an algorithm computes in doubles


class Verdict(StrEnum):
    """What is true of a published statement; ``other-reading``: true in the authors' reading, false in the plain one."""

    HOLDS = "holds"
    HOLDS_UNDER = "holds-under"
    FALSE = "false"
    OTHER_READING = "other-reading"
    ILL_DEFINED = "ill-defined"
    NOT_REPRODUCIBLE = "not-reproducible"
    DEFINITION = "definition"
    UNDECIDABLE = "undecidable"
    UNSETTLED = "unsettled"


REFUTED = frozenset({Verdict.FALSE, Verdict.ILL_DEFINED, Verdict.NOT_REPRODUCIBLE})
FAILING = REFUTED | {
    Verdict.OTHER_READING
}  # a witness is expected; one in another reading than the authors' refutes nothing


class Severity(StrEnum):
    """What breaks where a statement is refuted.

    ``theorem``: a numbered statement, or what one rests on, in the authors' own model. ``step``: of a proof or a remark whose
    end may stand. ``misprint``: a sign, an index, a constant, a unit that the context puts right. ``experiment``: a number
    or a figure that does not come out.
    Of code: ``guarantee``: what it promises is not what its law gives. ``rounding``: missed by its arithmetic alone.
    """

    THEOREM = "theorem"
    STEP = "step"
    MISPRINT = "misprint"
    EXPERIMENT = "experiment"
    GUARANTEE = "guarantee"
    ROUNDING = "rounding"


@dataclass(frozen=True)
class Ruling:
    """The verdict on a statement, and why; see :func:`holds`, :func:`false` and the like.

    Attributes
    ----------
    verdict : Verdict
    reason : str
        One sentence.
    severity : Severity or None
        None where the statement holds, in the authors' reading at least.
    corrected_by : str
        Identifier of the row that says what is true instead.
    true_where : str
        Where a refuted statement is true, in words or LaTeX.
    exhibited : bool
        Refuted by exhibiting what the paper says does not exist: the claim tried is that the exhibit is right.
    uncorrected : str
        Why no row says what is true instead.
    """

    verdict: Verdict
    reason: str
    severity: Severity | None = None
    corrected_by: str = ""
    true_where: str = ""
    exhibited: bool = False
    uncorrected: str = ""

    @property
    def survives(self) -> bool:
        """Whether the trial is expected to find no violation."""
        return self.exhibited or self.verdict not in FAILING


def holds(reason: str) -> Ruling:
    """True as printed."""
    return Ruling(Verdict.HOLDS, reason)


def holds_under(reason: str) -> Ruling:
    """True under hypotheses that the paper does not state."""
    return Ruling(Verdict.HOLDS_UNDER, reason)


def defined(reason: str) -> Ruling:
    """A definition, checked for what it implies."""
    return Ruling(Verdict.DEFINITION, reason)


def false(
    reason: str, severity: str = "theorem", *, corrected_by: str = "", true_where: str = "", uncorrected: str = ""
) -> Ruling:
    """False as printed."""
    return Ruling(Verdict.FALSE, reason, Severity(severity), corrected_by, true_where, uncorrected=uncorrected)


def other_reading(reason: str, *, corrected_by: str = "", true_where: str = "", shown: bool = False) -> Ruling:
    """True as the authors may mean it, which the reason says first; false in the plain reading, which is tried.

    `shown`: what the plain reading excludes is exhibited, and the exhibit survives the trial.
    """
    return Ruling(Verdict.OTHER_READING, reason, None, corrected_by, true_where, exhibited=shown)


def ill_defined(
    reason: str, severity: str = "step", *, corrected_by: str = "", true_where: str = "", uncorrected: str = ""
) -> Ruling:
    """Without meaning as printed."""
    return Ruling(Verdict.ILL_DEFINED, reason, Severity(severity), corrected_by, true_where, uncorrected=uncorrected)


def not_reproducible(
    reason: str, severity: str = "experiment", *, corrected_by: str = "", true_where: str = "", uncorrected: str = ""
) -> Ruling:
    """The paper's own numbers do not come out."""
    return Ruling(
        Verdict.NOT_REPRODUCIBLE, reason, Severity(severity), corrected_by, true_where, uncorrected=uncorrected
    )


def exhibited(reason: str, severity: str = "step", *, corrected_by: str = "") -> Ruling:
    """False: what the paper says does not exist is exhibited, and the exhibit survives the trial."""
    return Ruling(Verdict.FALSE, reason, Severity(severity), corrected_by, exhibited=True)


@dataclass(frozen=True)
class Reference:
    """Another place where the same statement stands."""

    id: str
    paper: str
    location: str


@dataclass(frozen=True)
class Claim:
    """One numbered statement of a paper, or one of ours, made executable.

    Attributes
    ----------
    id, location : str
        Identifier, and where it stands in the paper.
    relation : Relation
        What is claimed of two quantities: `at_most(actual, claimed)`, `at_least`, `equal`, or an inequality of SymPy.
    ruling : Ruling
        What is known of it: `holds(why)`, `false(why, severity)` ...; that it holds, by default.
    domain : mapping of str to Range
        The hypotheses on each parameter; what is not given here is taken from the expressions.
    given : sequence
        Further hypotheses: callables of the parameters by name, or conditions of SymPy.
    statement : str
        LaTeX; made from the expressions where these are given. Else it is read back and compared with them.
    where : mapping of str to sympy.Expr
        The legend: what else stands in the statement, as LaTeX, and what it means; a function is a ``sympy.Lambda``.
    unread : str
        Why a statement cannot be compared with the expressions, or with the code.
    scale : Scale
        On which the two quantities are compared.
    slack : float
        How far from tight a true statement is at most, on its scale: a factor for ratios. The trial has to come as near.
    near : mapping of str to number, or str
        The paper's own parameters, or why there are none; by default the middle of the typical ranges, where all have one.
    also : sequence of Reference
        Where else the same statement stands.
    effort : float
        Share of the evaluations that this claim is worth, for costly ones.
    tolerance : float or None
        On the scale; a smaller excess is rounding. By default 1e-9 where a side is computed by code, and none where both
        are expressions: there balls decide.
    constants : bool
        True where both quantities are constants.
    idle : sequence of str
        Parameters on which, as the statement says, nothing depends: those of a way there and back.
    argued : str
        Where a complete proof by hand stands: a function with Notes, or a section of a page (set by the :class:`Paper`).
    form : Relation, sympy.Expr or None
        The same in expressions, for a proof, where a side is a function; the trial compares the two at all its points. What is
        proved is the form: the claim itself has survived the search. Of an expression it is the actual value, beside the
        claimed one that the relation has.
    implementation : Implementation or None
        The code that the claim is about, where it is about code.
    chosen : bool
        The domain is cut to where the statement fails, so that its share says nothing.
    paper : str
        Set by the :class:`Paper` that holds the claim.

    Examples
    --------
    >>> from airtight.validate.claims.domain import parameter
    >>> from airtight.validate.claims.relation import at_most
    >>> x = parameter("x", 0.0, 1.0)
    >>> Claim("SQUARE", "Lemma 1", at_most(x**2, x), holds("x is at most 1.")).statement
    'x^{2} \\\\le x'
    """

    id: str
    location: str
    relation: Relation
    ruling: Ruling = Ruling(Verdict.HOLDS, "As claimed.")
    domain: Mapping[str, Range] = field(default_factory=dict)
    given: Sequence[Any] = ()
    statement: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    unread: str = ""
    scale: Scale = RATIO
    slack: float | None = None
    near: Mapping[str, float] | str = ""
    also: Sequence[Reference] = ()
    effort: float = 1.0
    tolerance: float | None = None
    constants: bool = False
    idle: Sequence[str] = ()
    argued: str = ""
    form: Any = None
    implementation: Implementation | None = None
    chosen: bool = False
    paper: str = ""

    def __post_init__(self) -> None:
        try:
            made = relation(self.relation)
        except TypeError as error:
            raise TypeError(f"{self.id}: {error}") from None
        object.__setattr__(self, "relation", made)
        if isinstance(self.form, sp.Expr):
            object.__setattr__(self, "form", replace(made, actual=self.form, balls=None))
        try:
            object.__setattr__(self, "domain", {**made.domain(), **self.domain})
            self._check_names()
        except ParameterError as error:
            raise ParameterError(f"{self.id}: {error.name}", error.value, error.allowed) from None
        if not self.statement:
            object.__setattr__(self, "statement", made.latex())
        if self.slack is None:
            object.__setattr__(self, "slack", 1.0 if self.scale is RATIO else 0.0)

    def _check_names(self) -> None:
        """Every name means one parameter, and has a range."""
        for one in (self.relation, self.provable):
            told = [part for part in (one.actual, one.claimed, *self.given) if isinstance(part, sp.Basic)]
            for name in one_each(told):
                if name not in self.domain:
                    raise ParameterError("symbol", name, "a parameter(...) with a range, or in the domain")

    @property
    def expected(self) -> Verdict:
        return self.ruling.verdict

    @property
    def reason(self) -> str:
        return self.ruling.reason

    @property
    def kind(self) -> str:
        """``statement`` of a paper, or ``implementation``: code against its own promise."""
        return "implementation" if self.implementation else "statement"

    @property
    def provable(self) -> Relation:
        """What a proof or a certificate is of: the expressions, if there are any."""
        found: Relation = self.relation if self.form is None else self.form
        return found

    @property
    def room(self) -> float:
        """The slack as a distance on the scale, one per cent added."""
        return self.scale.room(self.slack if self.slack is not None else 0.0)

    @property
    def allowance(self) -> float:
        """The excess on the scale that counts as rounding: what is stated; else of doubles 1e-9, of expressions nothing."""
        if self.tolerance is not None:
            return self.tolerance
        return 0.0 if self.relation.symbolic else _TOLERANCE

    def compare(self, point: Point) -> tuple[float, float, float]:
        """Claimed and actual value at a point, and the margin: the distance to a violation, negative beyond it."""
        if self.relation.symbolic:
            return self.agreement(point)[0]
        claimed, actual = self.relation.values(point)
        if claimed != claimed:
            return claimed, actual, float("inf")
        if actual != actual:
            raise ArithmeticError("the actual value is nan")
        return claimed, actual, self.scale.distance(claimed, actual, self.relation.sign, point) + self.allowance

    def agreement(self, point: Point, **precision: int) -> tuple[tuple[float, float, float], Agreement]:
        """The same of two expressions, whose order balls decide, and how far they agree where they do not."""
        found = self.relation.agreement(point, **precision)
        return (found.claimed, found.actual, found.margin(self.scale, self.relation.sign, point, self.allowance)), found

    def allows(self, point: Point) -> bool:
        """Whether every parameter is in its range, and all further hypotheses are met."""
        return all(self.domain[name].allows(exact(value)) for name, value in point.items()) and self.admits(point)

    def admits(self, point: Mapping[str, Any]) -> bool:
        """Whether all further hypotheses are met; where that cannot be decided they count as not met."""
        return all(_met(condition, point) for condition in self.given)

    def to_dict(self) -> dict[str, Any]:
        """What is stated and how it is ruled, fit for JSON."""
        severity = self.ruling.severity
        return {
            "id": self.id,
            "paper": self.paper,
            "location": self.location,
            "statement": self.statement,
            "expected": self.expected.value,
            "severity": severity.value if severity else None,
            "reason": self.reason,
            "true_where": self.ruling.true_where or None,
            "corrected_by": self.ruling.corrected_by or None,
            "uncorrected": self.ruling.uncorrected or None,
        }

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.statement}$"

    def _repr_html_(self) -> str:
        rows = {name: value for name, value in self.to_dict().items() if value and name not in ("id", "statement")}
        return table(self.id, [("statement", self._repr_latex_()), *rows.items()])

    def planted(self) -> Claim:
        """The claim with its actual quantity moved against it by the slack and a per cent: a trial has to notice."""
        return replace(self, relation=self.relation.moved(self.scale, self.room), form=None)


def _met(condition: Any, point: Mapping[str, Any]) -> bool:
    if callable(condition):
        return bool(condition(**point))
    return decided(condition)({name: ball(exact(value)) for name, value in point.items()}) is True


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
    location: str
    verdict: Verdict
    reason: str
    paper: str = ""


def definition(id: str, location: str, reason: str) -> Item:
    """An item that only defines."""
    return Item(id, location, Verdict.DEFINITION, reason)


def undecidable(id: str, location: str, reason: str) -> Item:
    """An item that no computation here can decide."""
    return Item(id, location, Verdict.UNDECIDABLE, reason)


@dataclass(frozen=True)
class Paper:
    """A paper on trial.

    Attributes
    ----------
    id, title : str
    authors : str
    year : int
    claims : sequence of Claim
    items : sequence of Item
        What is numbered and no claim.
    numbered : mapping of str to int
        How many equations, theorems ... the paper numbers, such as ``{"Eq.": 63}``.
    proofs : mapping of str to str
        Where a complete proof by hand stands, by identifier, for claims that do not say it (`argued`).
    """

    id: str
    title: str
    authors: str
    year: int
    claims: Sequence[Claim]
    items: Sequence[Item] = ()
    numbered: Mapping[str, int] = field(default_factory=dict)
    proofs: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        told = [(c.paper or self.id, c.argued or self.proofs.get(c.id, "")) for c in self.claims]
        claims = (replace(c, paper=p, argued=a) for c, (p, a) in zip(self.claims, told, strict=True))
        object.__setattr__(self, "claims", tuple(claims))
        object.__setattr__(self, "items", tuple(replace(i, paper=i.paper or self.id) for i in self.items))
        seen: set[str] = set()
        for name in self.names():
            if name in seen:
                raise ValueError(f"{name}: stands twice in {self.id}")
            seen.add(name)

    def to_dict(self) -> dict[str, Any]:
        """The paper and its claims, fit for JSON."""
        about = {"id": self.id, "title": self.title, "authors": self.authors, "year": self.year}
        return {**about, "claims": [claim.to_dict() for claim in self.claims]}

    def _repr_html_(self) -> str:
        rulings = [(claim.id, f"{claim.location}: {claim.expected.value}") for claim in self.claims]
        return table(f"{self.title}. {self.authors}, {self.year}", rulings)

    def names(self) -> list[str]:
        """Identifiers of its claims and items."""
        return [claim.id for claim in self.claims] + [item.id for item in self.items]

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)
