"""Statements of papers as executable claims, with what is known about their truth.

A claim about published code also names the place of the code, the promise of its documentation, and how to correct it.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

import sympy as sp

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.balls.ball import ball
from airtight.analytics.forms.balls.compiled import decided
from airtight.analytics.forms.domain import Range, exact
from airtight.analytics.forms.quantity import Quantity
from airtight.analytics.records import table
from airtight.validate.claims.relation import RATIO, Agreement, Point, Relation, Scale, one_each, relation


@dataclass(frozen=True)
class Implementation:
    """The code that a claim is about; the distribution in the claim is our own formula, written after reading the code.

    Attributes
    ----------
    repository : str
        GitHub repository ``owner/name``, or a package and its version, ``package 1.2``.
    commit : str
        The commit that was read; empty for a package with a version.
    file, function : str
    promise : str
        What the documentation says, in our words.
    mend : str
        What to change; empty where the promise is kept.
    """

    repository: str
    commit: str
    file: str
    function: str
    promise: str
    mend: str = ""

    @property
    def place(self) -> str:
        """Repository, file, function and commit, in one line.

        Examples
        --------
        >>> Implementation("a/b", "0123456789", "c.py", "f", "eps-LDP").place
        'a/b, c.py, f (0123456)'
        """
        at = f" ({self.commit[:7]})" if self.commit else ""
        return f"{self.repository}, {self.file}, {self.function}{at}"


_LONGEST = 100  # letters of an identifier
_DOUBLES_TOLERANCE = 1e-9  # default tolerance for a side that an algorithm computes in doubles


class Verdict(StrEnum):
    """Verdict on a published statement; ``other-reading``: true in the authors' reading, false in the literal one."""

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
}  # verdicts that need a witness; a witness against the literal reading does not refute the authors' reading


class Severity(StrEnum):
    """What fails where a statement is refuted.

    ``theorem``: a numbered statement, or a statement on which one rests, in the authors' own model. ``step``: a step of
    a proof, or a remark; its conclusion may be true. ``misprint``: a sign, an index, a constant or a unit that the
    context corrects. ``experiment``: a number or a figure that cannot be reproduced. For code: ``guarantee``: the
    distribution of the output violates the promise. ``rounding``: only the floating-point arithmetic violates the
    promise. ``draft``: a statement of a draft of ours, which counts as no statement of a paper.
    """

    THEOREM = "theorem"
    STEP = "step"
    MISPRINT = "misprint"
    EXPERIMENT = "experiment"
    GUARANTEE = "guarantee"
    ROUNDING = "rounding"
    DRAFT = "draft"


@dataclass(frozen=True)
class Ruling:
    """The expected verdict on a statement with its reason; see :func:`holds`, :func:`false` and the other constructors.

    Attributes
    ----------
    verdict : Verdict
    reason : str
        One sentence.
    severity : Severity or None
        None where the statement holds at least in the authors' reading.
    corrected_by : str
        Identifier of the row that states the correction.
    true_where : str
        Conditions under which a refuted statement is true, in words or LaTeX.
    exhibited : bool
        The statement says that something does not exist and is refuted by an example; the trial checks the example.
    uncorrected : str
        Why no row states a correction.
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
    """The statement is true as printed.

    Parameters
    ----------
    reason : str
        One sentence.
    """
    return Ruling(Verdict.HOLDS, reason)


def holds_under(reason: str) -> Ruling:
    """The statement is true under hypotheses that the paper does not state.

    Parameters
    ----------
    reason : str
        One sentence.
    """
    return Ruling(Verdict.HOLDS_UNDER, reason)


def defined(reason: str) -> Ruling:
    """The statement is a definition; the trial checks a consequence of it."""
    return Ruling(Verdict.DEFINITION, reason)


def false(
    reason: str, severity: str = "theorem", *, corrected_by: str = "", true_where: str = "", uncorrected: str = ""
) -> Ruling:
    """The statement is false as printed.

    Parameters
    ----------
    reason : str
        One sentence.
    severity : {"theorem", "step", "misprint", "experiment", "guarantee", "rounding"}
    corrected_by : str
        Identifier of the row that states the correction.
    true_where : str
        Conditions under which the statement is true.
    uncorrected : str
        Why no row states a correction.
    """
    return Ruling(Verdict.FALSE, reason, Severity(severity), corrected_by, true_where, uncorrected=uncorrected)


def other_reading(reason: str, *, corrected_by: str = "", true_where: str = "", shown: bool = False) -> Ruling:
    """The statement is true in a reading that the authors may intend, and false in the literal reading, which is tried.

    The reason begins with the authors' reading. With `shown`, the literal reading is refuted by an example, and the
    trial checks the example.

    Parameters
    ----------
    reason : str
        One sentence.
    corrected_by : str
        Identifier of the row that states the correction.
    true_where : str
        Conditions under which the statement is true.
    shown : bool
        Whether an example refutes the literal reading.
    """
    return Ruling(Verdict.OTHER_READING, reason, None, corrected_by, true_where, exhibited=shown)


def ill_defined(
    reason: str, severity: str = "step", *, corrected_by: str = "", true_where: str = "", uncorrected: str = ""
) -> Ruling:
    """The statement has no meaning as printed.

    Parameters
    ----------
    reason : str
        One sentence.
    severity : {"theorem", "step", "misprint", "experiment", "guarantee", "rounding"}
    corrected_by : str
        Identifier of the row that states the correction.
    true_where : str
        Conditions under which the statement is true.
    uncorrected : str
        Why no row states a correction.
    """
    return Ruling(Verdict.ILL_DEFINED, reason, Severity(severity), corrected_by, true_where, uncorrected=uncorrected)


def not_reproducible(
    reason: str, severity: str = "experiment", *, corrected_by: str = "", true_where: str = "", uncorrected: str = ""
) -> Ruling:
    """The numbers of the paper cannot be reproduced.

    Parameters
    ----------
    reason : str
        One sentence.
    severity : {"theorem", "step", "misprint", "experiment", "guarantee", "rounding"}
    corrected_by : str
        Identifier of the row that states the correction.
    true_where : str
        Conditions under which the statement is true.
    uncorrected : str
        Why no row states a correction.
    """
    return Ruling(
        Verdict.NOT_REPRODUCIBLE, reason, Severity(severity), corrected_by, true_where, uncorrected=uncorrected
    )


def exhibited(reason: str, severity: str = "step", *, corrected_by: str = "") -> Ruling:
    """The statement is false, because something that it excludes exists: an example, which the trial checks."""
    return Ruling(Verdict.FALSE, reason, Severity(severity), corrected_by, exhibited=True)


_IDENTIFIER = re.compile(r"[\w*+'-]([\w.*+'-]*[\w*+'-])?")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # of Windows, which makes no file of that name


def identifier(kind: str, name: str) -> str:
    """The identifier of a claim or a paper, which names files and folders.

    Examples
    --------
    >>> identifier("claim", "FDP-T1*")
    'FDP-T1*'
    """
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name) or _DEVICES.fullmatch(name) or len(name) > _LONGEST:
        raise ParameterError(f"id of a {kind}", name, f"at most {_LONGEST} letters, digits and . - _ + * ', to name a file")
    return name


@dataclass(frozen=True)
class Reference:
    """Another place of the same statement."""

    id: str
    paper: str
    location: str


@dataclass(frozen=True)
class Claim:
    """One numbered statement of a paper, or one of ours, in executable form.

    Attributes
    ----------
    id, location : str
        Identifier, and place in the paper.
    relation : Relation
        The claimed relation of two quantities: `at_most(actual, claimed)`, `at_least`, `equal`, or an inequality of
        SymPy.
    ruling : Ruling
        The expected verdict: `holds(why)`, `false(why, severity)` ...; by default that the claim holds.
    domain : mapping of str to Range
        The range of each parameter; missing ranges are taken from the expressions.
    given : sequence
        Further hypotheses: callables of the parameters by name, or conditions of SymPy.
    statement : str
        LaTeX. By default it is made from the expressions; a given statement is parsed and compared with them.
    where : mapping of str to sympy.Expr
        The legend: further symbols of the statement, in LaTeX, and their meaning; a function is a ``sympy.Lambda``.
    unread : str
        Why a statement cannot be compared with the expressions, or with the code.
    scale : Scale
        The scale on which the two quantities are compared.
    slack : float
        Greatest distance of a true statement from equality, on its scale (a factor for ratios). The trial must find a
        point at least this close to a violation.
    near : mapping of str to number, or str
        The paper's own parameters, or the reason why it has none. By default they are the middles of the typical
        ranges, if every parameter has a typical range.
    also : sequence of Reference
        Other places of the same statement.
    effort : float
        Factor of the number of evaluations of this claim; less than 1 for costly claims.
    tolerance : float or None
        Excess on the scale that counts as rounding error. By default 1e-9 where code computes a side, and 0 where both
        sides are expressions, because ball arithmetic decides there.
    constants : bool
        Whether both quantities are constants.
    idle : sequence of str
        Parameters on which, according to the statement, neither side depends, such as those of a map and its inverse.
    argued : str
        Place of a complete proof by hand: a function with Notes, or a section of a page (set by the :class:`Paper`).
    coq : str
        The theorem of ``general.v`` that states the claim in general, such as ``corbin_fl_general.CB_X3``. The row then is
        proved in Coq, where Coq has accepted this file (:mod:`airtight.validate.claims.in_coq`); `argued` says how the theorem
        reads the row.
    form : Relation, Quantity, sympy.Expr or None
        The same relation in expressions, for a proof, if a side is a function. The trial compares the two at all its
        points. A proof then proves the form; the claim itself has only survived the search, or is argued where a proof
        by hand says why the form is the claim. A single expression replaces the actual value, and the claimed value is
        that of the relation.
    computed : Relation or None
        The same relation as the package computes it, if both sides of `relation` are expressions. The trial compares the
        two at all its points; a proof proves `relation`.
    derivation : Derivation, a function that makes one, or None
        How the machine proves the relation, or its form, where it finds no proof by itself:
        :mod:`airtight.validate.claims.proving.derivation`.
    implementation : Implementation or None
        The code that the claim is about, if it is about code.
    chosen : bool
        Whether the domain was chosen where the statement fails, so that the share of failures has no meaning.
    paper : str
        Identifier of the paper, set by the :class:`Paper` that holds the claim.

    Examples
    --------
    >>> from airtight.analytics.forms.domain import parameter
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
    coq: str = ""
    form: Any = None
    computed: Relation | None = None
    derivation: Any = None
    implementation: Implementation | None = None
    chosen: bool = False
    paper: str = ""

    def __post_init__(self) -> None:
        identifier("claim", self.id)
        try:
            made = relation(self.relation)
        except TypeError as error:
            raise TypeError(f"{self.id}: {error}") from None
        object.__setattr__(self, "relation", made)
        if isinstance(self.form, sp.Expr | Quantity):
            object.__setattr__(self, "form", made.with_actual(self.form))
        try:
            object.__setattr__(self, "domain", {**made.domain(), **self.domain})
            self._check_names()
        except ParameterError as error:
            raise ParameterError(f"{self.id}: {error.name}", error.value, error.allowed) from None
        if not self.statement:
            object.__setattr__(self, "statement", made.latex())
        if self.slack is None:
            object.__setattr__(self, "slack", 1.0 if self.scale is RATIO else 0.0)
        self._check_numbers()

    def _check_numbers(self) -> None:
        """Check what a margin is compared with: against nan or infinity no violation is one, and any margin is near."""
        least = "[1, inf)" if self.scale.name == "ratio" else "[0, inf)"
        numbers = {"slack": (self.slack, least), "tolerance": (self.tolerance, "[0, inf)"), "effort": (self.effort, "(0, inf)")}
        for name, (value, allowed) in numbers.items():
            if value is not None:
                checks.scalar(f"{self.id}: {name}", value, allowed)

    def _check_names(self) -> None:
        """Check that every name stands for one parameter, and that this parameter has a range."""
        for checked in (self.relation, self.provable):
            expressions = [
                item for item in (checked.actual, checked.claimed, *self.given) if isinstance(item, sp.Basic)
            ]
            for name in one_each(expressions):
                if name not in self.domain:
                    raise ParameterError(
                        "symbol", name, "made with parameter(...), which gives it a range, or a key of domain"
                    )

    @property
    def expected(self) -> Verdict:
        return self.ruling.verdict

    @property
    def reason(self) -> str:
        return self.ruling.reason

    @property
    def kind(self) -> str:
        """``statement`` of a paper, ``implementation`` if the claim compares code with its own promise, or ``draft`` of ours."""
        if self.ruling.severity is Severity.DRAFT:
            return "draft"
        return "implementation" if self.implementation else "statement"

    @property
    def provable(self) -> Relation:
        """The relation that is proved or certified: the form if there is one, otherwise the relation itself."""
        expressed: Relation = self.relation if self.form is None else self.form
        return expressed

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """The quantities of the registry that are sides of the claim or of its form, each once."""
        quantities = (*self.relation.quantities, *self.provable.quantities)
        return tuple({quantity.key: quantity for quantity in quantities}.values())

    @property
    def hypotheses(self) -> list[str]:
        """The further hypotheses, as the ledger prints them: LaTeX between dollars, or the words of a function's docstring.

        Examples
        --------
        >>> from airtight.analytics.forms.domain import parameter
        >>> from airtight.validate.claims.relation import at_most
        >>> x = parameter("x", 0.0, 1.0)
        >>> Claim("SQUARE", "Lemma 1", at_most(x**2, 2 * x), given=[x > 0]).hypotheses
        ['$x > 0$']
        """
        return [_in_words(condition) if callable(condition) else f"${sp.latex(condition)}$" for condition in self.given]

    @property
    def room(self) -> float:
        """The slack as a distance on the scale, plus one per cent."""
        return self.scale.room(self.slack if self.slack is not None else 0.0)

    @property
    def allowance(self) -> float:
        """Excess on the scale that counts as rounding error: `tolerance`, else 0 for expressions and 1e-9 for code."""
        if self.tolerance is not None:
            return self.tolerance
        return 0.0 if self.relation.symbolic else _DOUBLES_TOLERANCE

    def compare(self, point: Point) -> tuple[float, float, float]:
        """Claimed value, actual value and margin at a point; the margin is negative where the claim is violated."""
        if self.relation.symbolic:
            return self.agreement(point)[0]
        claimed, actual = self.relation.values(point)
        if claimed != claimed:
            return claimed, actual, float("inf")
        if actual != actual:
            raise ArithmeticError("the actual value is nan")
        return claimed, actual, self.scale.distance(claimed, actual, self.relation.sign, point) + self.allowance

    def agreement(self, point: Point, **precision: int) -> tuple[tuple[float, float, float], Agreement]:
        """The result of `compare` for two expressions, and the comparison in ball arithmetic that it rests on."""
        compared = self.relation.agreement(point, **precision)
        return (
            compared.claimed,
            compared.actual,
            compared.margin(self.scale, self.relation.sign, point, self.allowance),
        ), compared

    def allows(self, point: Point) -> bool:
        """Whether every parameter is in its range and all further hypotheses hold."""
        return all(self.domain[name].allows(exact(value)) for name, value in point.items()) and self.admits(point)

    def admits(self, point: Mapping[str, Any]) -> bool:
        """Whether all further hypotheses hold; a hypothesis that cannot be decided counts as violated."""
        return all(_is_met(condition, point) for condition in self.given)

    def to_dict(self) -> dict[str, Any]:
        """Statement and expected verdict, for JSON."""
        severity = self.ruling.severity
        return {
            "id": self.id,
            "paper": self.paper,
            "location": self.location,
            "statement": self.statement,
            "hypotheses": self.hypotheses,
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
        """A claim with a planted error: the actual quantity is moved against the claim by the slack plus one per cent.

        A trial of it must find a violation.
        """
        return replace(self, relation=self.relation.moved(self.scale, self.room), form=None, computed=None, derivation=None)


def docstring(documented: Any) -> str:
    """The docstring of an object; from its source where Python has dropped it (PYTHONOPTIMIZE=2).

    Examples
    --------
    >>> docstring(docstring)[:26]
    'The docstring of an object'
    """
    if (kept := inspect.getdoc(documented)) or documented is None:
        return kept or ""
    try:
        tree: Any = ast.parse(textwrap.dedent(inspect.getsource(documented)))
    except (OSError, TypeError, SyntaxError):
        return ""
    node = tree if inspect.ismodule(documented) else tree.body[0]
    written = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    return (ast.get_docstring(node) or "") if written else ""


def _in_words(condition: Any) -> str:
    """The first sentence of the docstring of a hypothesis, without its "Whether"."""
    function = condition.func if isinstance(condition, partial) else condition
    said = docstring(function).partition("\n\n")[0].replace("\n", " ").strip().removesuffix(".")
    return said.removeprefix("Whether ") or f"{getattr(function, '__name__', 'a condition')}, computed by code"


def _is_met(condition: Any, point: Mapping[str, Any]) -> bool:
    """Whether a hypothesis is met; for a condition of SymPy, whether ball arithmetic proves it."""
    if callable(condition):
        return bool(condition(**point))
    return decided(condition)({name: ball(exact(value)) for name, value in point.items()}) is True


@dataclass(frozen=True)
class Item:
    """A numbered item of a paper that asserts nothing, or nothing that a computation can decide.

    Attributes
    ----------
    verdict : Verdict
        ``definition`` or ``undecidable``.
    reason : str
        The defined quantity and its place in the code, or why the item cannot be decided and which claim replaces it.
    """

    id: str
    location: str
    verdict: Verdict
    reason: str
    paper: str = ""


def definition(id: str, location: str, reason: str) -> Item:
    """An item that is only a definition.

    Parameters
    ----------
    id : str
        Identifier.
    location : str
        Place in the paper.
    reason : str
        One sentence.
    """
    return Item(id, location, Verdict.DEFINITION, reason)


def undecidable(id: str, location: str, reason: str) -> Item:
    """An item that no computation of this package can decide.

    Parameters
    ----------
    id : str
        Identifier.
    location : str
        Place in the paper.
    reason : str
        One sentence.
    """
    return Item(id, location, Verdict.UNDECIDABLE, reason)


@dataclass(frozen=True)
class Paper:
    """A paper with its claims.

    Attributes
    ----------
    id, title : str
    authors : str
    year : int
    claims : sequence of Claim
    items : sequence of Item
        The numbered items that are not claims.
    numbered : mapping of str to int
        Counts of numbered equations, theorems and so on, such as ``{"Eq.": 63}``.
    proofs : mapping of str to str
        Places of complete proofs by hand, by identifier, for claims without `argued`.
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
        identifier("paper", self.id)
        paper_and_proof = [(c.paper or self.id, c.argued or self.proofs.get(c.id, "")) for c in self.claims]
        claims = (replace(c, paper=p, argued=a) for c, (p, a) in zip(self.claims, paper_and_proof, strict=True))
        object.__setattr__(self, "claims", tuple(claims))
        object.__setattr__(self, "items", tuple(replace(i, paper=i.paper or self.id) for i in self.items))
        seen: set[str] = set()
        for name in self.names():
            if name in seen:
                raise ValueError(f"{name}: this identifier is used twice in {self.id}")
            seen.add(name)

    def to_dict(self) -> dict[str, Any]:
        """The paper and its claims, for JSON."""
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
